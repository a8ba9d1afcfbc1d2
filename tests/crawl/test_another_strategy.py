"""A crawl may go on with another strategy: what waits is scored again, as if the new one had always been there."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from forager.config import CrawlConfig, FrontierConfig, Named, StopConfig
from forager.crawl.folder import CrawlFolder
from forager.crawl.loop import Crawl
from forager.strategies import strategy_names
from tests.contracts.test_strategies import many_pages
from tests.crawl.test_audit import lost
from tests.small_web import SmallWeb, WordCritic, url

TAUGHT = {"context-graph", "crf", "hmm", "memm", "q-value", "lexical"}  # they need a model, or an extra
NAMES = sorted(set(strategy_names()) - TAUGHT - {"sample", "broken", "short-first"})


class Project(CrawlFolder):
    """A crawl of a small web, by a strategy that can be named, under a clock that does not sleep."""

    def __init__(self, folder: Path, strategy: str, pages: int | None = None) -> None:
        settings = {"frontier": FrontierConfig(delay=0, in_flight=1), "stop": StopConfig(pages=pages)}
        seeds = (url("/bird-0"), url("/stone-1"))
        super().__init__(folder, CrawlConfig(seeds=seeds, strategy=Named(name=strategy), **settings))  # type: ignore[arg-type]

    def run(self) -> tuple[Crawl, list[str]]:
        crawls, asked = list[Crawl](), SmallWeb(many_pages())
        given = {"critic": WordCritic(), "fetcher": asked}
        asyncio.run(self.crawl(lambda crawl, notes: crawls.append(crawl), **given))  # type: ignore[arg-type]
        return crawls[0], [str(place) for place in asked.asked]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Crawls of ten pages by strategies that carry nothing, state, clues, and both."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("best-first", "shark", "apprentice")}
    for name, folder in folders.items():
        Project(folder, name, 10).run()
    return folders


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", ["best-first", "shark", "apprentice"])
def test_the_strategy_may_change(begun: dict[str, Path], tmp_path: Path, before: str, name: str) -> None:
    folder = tmp_path / "p"
    shutil.copytree(begun[before], folder)
    made, asked = Project(folder, name, 20).run()
    assert made.stats.pages == 20 or "nothing is left" in made.stats.stopped
    assert asked
    assert lost(folder) == []
    again, asked_again = Project(folder, name, 25).run()
    assert not set(asked) & set(asked_again)
    assert again.stats.pages >= made.stats.pages


def test_the_scores_are_those_of_the_new_strategy(begun: dict[str, Path], tmp_path: Path) -> None:
    """Breadth-first for ten pages, then best-first: what waits has the scores that best-first gives."""
    first = Project(tmp_path, "breadth-first", 10).run()[0]
    assert set(first.frontier.scores(first.frontier.waiting).tolist()) == {0.0}
    made = Project(tmp_path, "best-first", 10).run()[0]
    waiting = made.frontier.waiting
    assert len(set(made.frontier.scores(waiting).tolist())) > 1
    same = Project(tmp_path, "best-first", 10).run()[0]  # and they are kept
    assert same.frontier.scores(waiting).tolist() == made.frontier.scores(waiting).tolist()
