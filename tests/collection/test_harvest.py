"""The harvest that is shown: the critic's estimate, corrected by people as far as they have looked."""

from __future__ import annotations

import asyncio
import re
from math import isnan
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from typer.testing import CliRunner

from forager.cli import app
from forager.cli.progress import CrawlView
from forager.clock import VirtualClock
from forager.collection.harvest import HarvestCorrection, harvest_correction
from forager.config import CrawlConfig
from forager.crawl.loop import Crawl
from forager.project import Project
from forager.store.verdicts import PageVerdict, VerdictUse, add_verdicts
from tests.lab.warc import write_web
from tests.small_web import SmallWeb, WordCritic, html, url

PAGES, BIRDS = 20, 12
TOML = '[critic]\nname = "predicate"\noptions.keywords = ["feather"]\n[fetch]\nreplay = "{}"\n'


def page(n: int) -> str:
    return f"http://a.test/{n}"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 pages that the critic keeps, and 8 others."""
    folder = tmp_path_factory.mktemp("harvest")
    links = "".join(f"<a href='/{n}'>x</a>" for n in range(PAGES))
    pages = {page(n): ("", f"<p>{'feather' if n < BIRDS else 'granite'} {n}</p>{links}") for n in range(PAGES)}
    project = Project.create(folder / "project", TOML.format(write_web(folder / "web", pages)), [page(0)])
    asyncio.run(project.crawl())
    return project.folder


@pytest.fixture
def folder(crawled: Path, tmp_path: Path) -> Path:
    return Path(copytree(crawled, tmp_path / "project"))


def shown(folder: Path) -> str:
    done = CliRunner().invoke(app, ["status", str(folder)])
    assert done.exit_code == 0, done.output
    return done.stdout


# ---- the correction -------------------------------------------------------------------------------------------------


def test_with_many_verdicts_it_finds_what_the_critic_gets_wrong() -> None:
    """The critic says 0.2 to 0.95; the truth has odds of a third of that."""
    draw = np.random.default_rng(0)
    said = draw.uniform(0.2, 0.95, 4000)
    true = 1 / (1 + 3 * (1 - said) / said)
    fitted = HarvestCorrection.fitted(said, draw.random(4000) < true)
    assert abs(fitted.slope - 1) < 0.15
    assert abs(fitted.bias + np.log(3)) < 0.15
    assert float(np.abs(fitted(said) - true).mean()) < 0.03


def test_the_more_verdicts_the_more_it_moves() -> None:
    def harvest(labels: int) -> float:
        return HarvestCorrection.fitted([0.9] * labels, [0.0] * labels).mean({90: 10})

    moved = [harvest(labels) for labels in (0, 1, 4, 20, 100)]
    assert moved[0] == pytest.approx(0.9)
    assert moved[1] > 0.6  # one verdict does not outweigh the critic
    assert moved[-1] < 0.1
    assert moved == sorted(moved, reverse=True)


def test_verdicts_that_agree_with_the_critic_change_little() -> None:
    said = np.repeat([0.1, 0.5, 0.9], 20)
    wanted = np.concatenate([np.arange(20) < count for count in (2, 10, 18)])
    fitted = HarvestCorrection.fitted(said, wanted)
    assert abs(fitted.mean({10: 1, 50: 1, 90: 1}) - 0.5) < 0.02


def test_no_pages_have_no_harvest() -> None:
    assert isnan(HarvestCorrection(0.5, 0.1, 3).mean({}))
    assert HarvestCorrection.fitted([], []) == HarvestCorrection()


# ---- in a project ---------------------------------------------------------------------------------------------------


def test_without_labels_it_is_called_an_estimate(folder: Path) -> None:
    assert re.search(r"\nharvest +0\.600  critic's estimate\n", shown(folder))


def test_labels_of_pages_correct_it(folder: Path) -> None:
    Project(folder).label({page(n): "irrelevant" if n < 6 else "relevant" for n in range(BIRDS)})
    found = re.search(r"\nharvest +(0\.\d+)  critic's estimate, corrected by 12 labels\n", shown(folder))
    assert found
    assert 0.25 < float(found[1]) < 0.5  # half of the 12 are wanted, of 20


def test_reviews_count_and_unsure_ones_do_not(folder: Path) -> None:
    words = ("relevant", "irrelevant", "unsure")
    said = [PageVerdict(page(n), word, "ann", None, "", VerdictUse.REVIEW) for n, word in enumerate(words)]
    add_verdicts(folder, said)
    assert harvest_correction(folder).labels == 2


def test_labels_that_the_critic_has_learnt_from_do_not_count(folder: Path) -> None:
    """They were given when another version had judged the page."""
    learnt = PageVerdict(page(1), "irrelevant", "label", None, "predicate-of-before", VerdictUse.TEACH)
    add_verdicts(folder, [learnt])
    assert harvest_correction(folder).labels == 0
    Project(folder).label({page(1): "irrelevant"})
    assert harvest_correction(folder).labels == 1


def test_pages_that_the_project_does_not_have_are_passed_over(folder: Path) -> None:
    add_verdicts(folder, [PageVerdict("http://b.test/", "relevant", "ann", None, "", VerdictUse.REVIEW)])
    assert harvest_correction(folder).labels == 0


def test_the_line_of_a_running_crawl_says_it_too() -> None:
    web = SmallWeb({url("/1"): html("bird bird bird", "/2"), url("/2"): html("bird bird bird", "/1")})
    crawl = Crawl(CrawlConfig(seeds=[url("/1")]), critic=WordCritic(), fetcher=web, clock=VirtualClock())
    crawl.run()
    assert re.search(r"harvest 0\.\d+ \(last 100: 0\.\d+; critic's estimate\)", CrawlView(crawl).line())
    correction = HarvestCorrection(1.0, -9.0, 5)
    line = CrawlView(crawl, correction=correction).line()
    assert "harvest 0.000 (last 100: 0.000; critic's estimate, corrected by 5 labels)" in line
