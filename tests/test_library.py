"""Forager as a library: the front door, the ways to run it, plug-ins by name, and the examples of the documentation."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import re
from pathlib import Path

import pytest

import forager
from forager import Crawl, CrawlConfig, ForagerError
from forager.clock import VirtualClock
from forager.config import FetchConfig, FrontierConfig, Named, StopConfig
from tests.small_web import SmallWeb, WordCritic, html, url

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {url(f"/{i}"): html("LOUD" if i % 2 else "quiet", f"/{2 * i + 1}", f"/{2 * i + 2}") for i in range(15)}


def config(**more: object) -> CrawlConfig:
    settings: dict[str, object] = {"seeds": (url("/0"),), "frontier": FrontierConfig(delay=0), **more}
    return CrawlConfig(**settings)  # type: ignore[arg-type]


def crawl(**more: object) -> Crawl:
    return Crawl(config(**more), critic=WordCritic(), fetcher=SmallWeb(PAGES), clock=VirtualClock())


def test_three_ways_to_run_give_the_same() -> None:
    by_run, iterated = crawl(), crawl()

    async def by_arun() -> object:
        return await crawl().arun()

    visits = [visit.page.url for visit in iterated]
    assert by_run.run() == iterated.stats == asyncio.run(by_arun())
    assert len(visits) == by_run.stats.pages == 15


def test_a_loop_that_is_left_leaves_nothing_running() -> None:
    made = crawl()
    for visit in made:
        if visit.page.url == url("/2"):
            break
    assert made.stats.pages == 3
    assert asyncio.run(made.arun()).pages == 15  # and goes on where it was


@pytest.mark.usefixtures("plugin")
def test_plug_ins_are_found_by_the_names_in_the_configuration() -> None:
    named = config(
        critic=Named(name="shouting", options={"threshold": 0.1}),
        strategy=Named(name="last-first"),
        stop=StopConfig(pages=6),
    )
    visits = list(Crawl(named, fetcher=SmallWeb(PAGES), clock=VirtualClock()))
    assert [visit.page.url[-2:].strip("/") for visit in visits] == ["0", "1", "3", "7", "8", "4"]  # deep before wide
    assert {visit.judgement.version for visit in visits} == {"shouting-1"}


@pytest.mark.usefixtures("plugin")
def test_a_fetcher_is_found_by_its_name_in_the_configuration() -> None:
    named = config(fetch=FetchConfig(name="echo", options={"greeting": "LOUD"}, robots=False))
    (visit,) = Crawl(named, critic=WordCritic(), clock=VirtualClock())
    assert visit.page.leaves == (f"LOUD {url('/0')}",)
    with pytest.raises(ForagerError, match="no fetcher named 'ecco'; nearest: echo"):
        Crawl(config(fetch=FetchConfig(name="ecco")), critic=WordCritic()).run()


DOOR = (
    *("Project", "Crawl", "CrawlConfig", "read_config", "Critic", "Strategy"),
    *("Page", "Visit", "Judgement", "ScoredLinks", "ForagerError"),
)


@pytest.mark.parametrize("name", DOOR)
def test_what_the_front_door_gives_has_an_example_that_runs(name: str) -> None:
    found = getattr(forager, name)
    module = importlib.import_module(found.__module__)
    (test,) = doctest.DocTestFinder(recurse=False).find(found, name, globs=vars(module))
    assert test.examples, f"{name} has no example"
    failed, tried = doctest.DocTestRunner().run(test)
    assert tried
    assert not failed


def test_the_front_door_gives_what_a_user_needs_and_nothing_else() -> None:
    assert sorted(forager.__all__) == sorted(DOOR) == dir(forager)
    with pytest.raises(AttributeError, match="no attribute 'Crwal'"):
        forager.Crwal  # noqa: B018


def test_the_examples_of_the_documentation_run(capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other, as a reader would type them."""
    text = (DOCS / "guides" / "library.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    known: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/guides/library.md", "exec"), known)
    assert "30 pages," in capsys.readouterr().out


def test_the_configuration_of_the_documentation_is_read(tmp_path: Path) -> None:
    text = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "crawl.toml").write_text(block)
    read = forager.read_config(tmp_path / "crawl.toml")
    assert (read.scope.max_depth, read.frontier.pages_per_site, read.urls.longest) == (8, 2000, 2000)
