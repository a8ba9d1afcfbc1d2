"""The whole way on real recorded webs, against references that share no code with it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from forager.web.urls import RULES
from forager_lab import experiment
from forager_lab.experiment import Cell, PathGoal, Plan, TopicGoal, conduct
from forager_lab.results import figures
from forager_lab.webs import open_web
from tests.shared import WEBS, needs


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FORAGER_CACHE", str(tmp_path))
    experiment._laboratory.cache_clear()
    yield
    experiment._laboratory.cache_clear()
    experiment.trial_of.cache_clear()


def plain_breadth_first(edges: Path, seeds: list[str], pages: int) -> list[str]:
    """A queue over the list of edges that comes with the recorded web."""
    links: dict[str, list[str]] = {}
    with gzip.open(edges, "rt") as lines:
        for line in lines:
            source, target = (RULES.canonical(text) or "" for text in line.rstrip("\n").split("\t"))
            links.setdefault(source, []).append(target)
    order, known = list(seeds), set(seeds)
    for url in order:  # grows while it is read
        if len(order) >= 4 * pages:
            break
        new = [target for target in dict.fromkeys(links.get(url, [])) if target not in known]
        order.extend(new)
        known.update(new)
    return order[:pages]


@needs("wikispeedia")
def test_breadth_first_visits_the_pages_a_plain_queue_would() -> None:
    """Parser, URLs, frontier and loop together give the order of the data set's own edges, page by page."""
    web = str(WEBS / "wikispeedia")
    plan = Plan(web, TopicGoal("Science.Biology"), ("breadth-first",), runs=1, pages=150)
    order = conduct(plan).records[Cell("breadth-first", 0, None)].order
    assert list(order) == plain_breadth_first(WEBS / "wikispeedia" / "edges.tsv.gz", list(order[:3]), 150)


@needs("wikispeedia")
def test_best_first_beats_breadth_first_on_a_real_topic() -> None:
    plan = Plan(str(WEBS / "wikispeedia"), TopicGoal("Music"), ("breadth-first", "best-first"), runs=2, pages=100)
    breadth, best = (
        np.mean([record.relevant.mean() for cell, record in conduct(plan).records.items() if cell.strategy == name])
        for name in plan.strategies
    )
    assert best > breadth


@needs("webkb")
def test_the_bounds_on_the_four_universities() -> None:
    """Known from another program: for half of the courses the one-step oracle needs 305 pages, the look-ahead 134;
    37 + 38 + 76 + 85 courses can be reached."""
    plan = Plan(
        str(WEBS / "webkb"), PathGoal("course", "university"), ("oracle", "lookahead"), 'predicate:keywords=["course"]',
        runs=1, pages=250,
    )  # fmt: skip
    rows = {row["strategy"]: row for row in figures(conduct(plan))["results"]}
    reached = {name: group["reachable"] for name, group in rows["oracle"]["groups"].items()}
    assert reached == {"cornell": 37, "texas": 38, "washington": 76, "wisconsin": 85}
    assert rows["oracle"]["pages_to"]["50"] == pytest.approx(305, abs=5)
    assert rows["lookahead"]["pages_to"]["50"] == pytest.approx(134, abs=5)
    assert rows["lookahead"]["pages_to"]["90"] == pytest.approx(268, abs=5)


@needs("wikispeedia")
def test_no_two_labelled_urls_fall_together() -> None:
    assert len(open_web(str(WEBS / "wikispeedia")).truth.labels) == 5232
