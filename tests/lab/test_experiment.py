"""The protocol on a small web on disk, from files to figures."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from forager.errors import ForagerError
from forager_lab import experiment
from forager_lab.experiment import Cell, Experiment, PathGoal, Plan, TopicGoal, conduct
from forager_lab.results import figures
from tests.lab.warc import write_web

WORDS = {
    "Nature.Birds": ["wing", "feather", "nest", "egg", "beak", "flight", "owl", "robin"],
    "Nature.Rocks": ["granite", "basalt", "quartz", "slate", "crystal", "mineral", "ore", "lava"],
    "Trade": ["price", "market", "bank", "loan", "share", "profit", "money", "stock"],
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FORAGER_CACHE", str(tmp_path_factory.mktemp("cache")))
    yield
    experiment._laboratory.cache_clear()
    experiment.trial_of.cache_clear()


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three topics of 40 pages; a page links mostly within its topic, and each host holds a third of every topic."""
    draw = np.random.default_rng(5)
    topics = list(WORDS)
    where = {(topic, i): f"http://h{i % 3}.test/{n}/{i}" for n, topic in enumerate(topics) for i in range(40)}
    pages = {}
    for (topic, i), url in where.items():
        near = [where[topic, int(j)] for j in draw.integers(0, 40, 4)]
        far = [where[topics[int(draw.integers(0, 3))], int(j)] for j in draw.integers(0, 40, 3)]
        links = "".join(
            f"<a href='{target}'>{draw.choice(WORDS[topic])}</a> " for target in [*near, *far, f"{url}/dead"]
        )
        text = " ".join(draw.choice(WORDS[topic], 40)) + " " + " ".join(draw.choice(WORDS["Trade"], 10))
        pages[url] = (f"all.{topic}", f"<title>{topic} {i}</title><p>{text}</p>{links}")
    folder = write_web(tmp_path_factory.mktemp("web") / "small", pages)
    lines = ["url\tlabel\thost", *(f"{url}\t{label}\t{url[7:9]}" for url, (label, _) in pages.items())]
    (folder / "labels.tsv").write_text("\n".join(lines) + "\n")
    seeds = [f"{where['Trade', n]}\th{n}" for n in (0, 1)] + [f"{where['Trade', n]}\th2" for n in (2, 5)]
    (folder / "seeds.tsv").write_text("url\thost\n" + "\n".join(seeds) + "\n")
    return str(folder)


def orders(done: Experiment) -> dict[Cell, tuple[str, ...]]:
    return {cell: tuple(record.order) for cell, record in done.records.items()}


ALL = ("breadth-first", "random", "best-first", "oracle", "lookahead")


def test_the_same_plan_gives_the_same_order_with_one_job_and_with_two(web: str) -> None:
    plan = Plan(web, TopicGoal("Nature.Birds"), ALL, runs=2, seed=3)
    once, again, two = conduct(plan), conduct(plan), conduct(plan, jobs=2)
    assert orders(once) == orders(again) == orders(two)
    assert all(orders(once).values())
    assert orders(conduct(Plan(web, TopicGoal("Nature.Birds"), ALL, runs=2, seed=4))) != orders(once)


def test_figures_of_a_topic(web: str) -> None:
    report = figures(conduct(Plan(web, TopicGoal("Nature.Birds"), ALL, runs=3)))
    json.dumps(report, allow_nan=False)
    assert {key: report[key] for key in ("web", "topic", "relevant", "runs")} == {
        "web": "small", "topic": "Nature.Birds", "relevant": 40, "runs": 3,
    }  # fmt: skip
    rows = {row["strategy"]: row for row in report["results"]}
    assert list(rows) == list(ALL)
    for row in rows.values():
        assert set(row["harvest"]) == set(row["ci"]) == set(row["loss_reduction"]) == {"R/4", "R/2", "R", "2R"}
        assert set(row["gap_closed"]) == {"R/2", "R"}
        assert row["pages_to"] == {"50": None, "90": None}
        assert row["recall_at_10pct"] is None
        assert row["requests_per_page"] >= 1
        assert row["curve"][-1]["pages"] == 80
    assert rows["best-first"]["loss_reduction"]["R/2"] == 0
    assert rows["best-first"]["against_best_first"]["R"]["difference"] == 0
    assert rows["oracle"]["gap_closed"]["R/2"] == 1
    assert rows["oracle"]["harvest"]["R/2"] > rows["best-first"]["harvest"]["R/2"] > rows["random"]["harvest"]["R/2"]
    assert rows["lookahead"]["harvest"]["R"] >= rows["oracle"]["harvest"]["R"]


def test_figures_of_paths_leave_each_group_out_that_has_one_seed(web: str) -> None:
    report = figures(conduct(Plan(web, PathGoal("Nature.Birds", "host"), ALL, runs=1)))
    rows = {row["strategy"]: row for row in report["results"]}
    for row in rows.values():
        assert set(row["groups"]) == {"h0", "h1"}
        parts = [group["pages_to"]["50"] for group in row["groups"].values()]
        assert row["pages_to"]["50"] == sum(parts)
        assert row["harvest"] == dict.fromkeys(("R/4", "R/2", "R", "2R"))
        assert all(group["curve"][-1]["recall"] == 1 for group in row["groups"].values())
    assert rows["lookahead"]["pages_to"]["90"] <= rows["oracle"]["pages_to"]["90"] < rows["random"]["pages_to"]["90"]
    assert report["relevant"] == sum(group["reachable"] for group in rows["oracle"]["groups"].values())


def test_a_path_crawl_stays_in_its_group(web: str) -> None:
    done = conduct(Plan(web, PathGoal("Nature.Birds", "host"), ("breadth-first",), runs=1))
    for cell, order in orders(done).items():
        assert {url[7:9] for url in order} == {cell.group}


def test_a_second_run_does_not_parse(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(web, TopicGoal("Nature.Birds"), ("breadth-first",), runs=1)
    first = conduct(plan)
    experiment._laboratory.cache_clear()

    def refuse(*_: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr("forager_lab.laboratory.parse", refuse)
    assert orders(conduct(plan)) == orders(first)


def test_seeds_come_first_and_are_training_pages(web: str) -> None:
    done = conduct(Plan(web, TopicGoal("Trade"), ("random",), runs=1))
    record = next(iter(done.records.values()))
    assert record.relevant[:3].all()
    assert record.trained[:3].all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strategies": ("best-frist",)}, "no strategy named 'best-frist'; nearest: best-first"),
        ({"strategies": ("best-first:tua=1",)}, "no parameter of BestFirst named 'tua'; nearest: tau"),
        ({"strategies": ("best-first:tau",)}, "write parameters as"),
        ({"strategies": ()}, "--strategies names none"),
        ({"critic": "naive-bays"}, "no critic named 'naive-bays'; nearest: naive-bayes"),
        ({"goal": TopicGoal("Nature.Brids")}, r"no topic named 'Nature\.Brids'; nearest: Nature\.Birds"),
        ({"goal": PathGoal("Nature.Birds", "hots")}, "no column of .* named 'hots'; nearest: host"),
        ({"runs": 0}, "must be at least 1"),
    ],
)
def test_wrong_plans_are_refused_before_anything_is_crawled(web: str, change: dict[str, object], message: str) -> None:
    settings: dict[str, object] = {"web": web, "goal": TopicGoal("Nature.Birds"), "strategies": ("breadth-first",)}
    with pytest.raises(ForagerError, match=message):
        conduct(Plan(**{**settings, **change}))  # type: ignore[arg-type]
