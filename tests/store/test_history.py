"""How pages change: what the catalogue tells of it, and when a page is due again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from math import isnan, sqrt
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.store import Catalogue, ChangeKind, PageChange, Record, SeenPage, Store
from forager.store.schema import open_to_read
from forager.types import Redirect
from tests.store.making import START, exchange, new_url, record, url

DAY = 86_400.0
PAGES = 4


class Answered(NamedTuple):
    """What a record of a random history says."""

    id: int
    outcome: str
    reason: str
    relevance: float
    wait: int  # seconds since the record before; a clock may be set back


OUTCOMES = [
    *([("page", "")] * 3 + [("same", "")] * 2),
    *(("miss", "not-found"), ("miss", "duplicate"), ("moved", ""), ("moved onto", "duplicate"), ("passage", "noindex")),
    ("retry", "timeout"),
]
histories = st.lists(
    st.builds(
        lambda id, outcome, relevance, wait: Answered(id, outcome[0], outcome[1], relevance / 8, wait),
        *(st.integers(0, PAGES - 1), st.sampled_from(OUTCOMES), st.integers(0, 8), st.integers(-2, 1000)),
    ),
    max_size=30,
)


def stored(seq: int, said: Answered, seconds: int) -> Record:
    page, onto = said.outcome == "page", said.outcome == "moved onto"  # a redirect to a page that we have
    moves = onto or said.outcome == "moved"
    answer = Redirect(url(said.id), url(said.id + 1), 301, 0.1, exchange(seq, 0, "301 Moved")) if moves else None
    values: dict[str, Any] = {
        **{"asked": said.id, "answered": said.id, "outcome": "miss" if onto else said.outcome, "reason": said.reason},
        **{"asked_at": START + timedelta(seconds=seconds), "title": f"title {seq}" if page else ""},
        **{"relevance": said.relevance if page else float("nan"), "status": 301 if moves else 200, "links": b""},
        **{"answer": answer, "new_urls": (), "redirects": [(said.id, said.id + 1)] if moves else []},
    }
    return record(seq, **values)


def write(folder: Path, history: Sequence[Answered]) -> list[Record]:
    """A project with this history."""
    seconds, records = 0, list[Record]()
    for seq, said in enumerate(history):
        seconds += said.wait
        records.append(stored(seq, said, seconds))
    with Store(folder) as store:
        store.add_urls([new_url(id) for id in range(PAGES + 1)])
        for each in records:
            store.add(each)
    return records


# ---- what became of pages


def expected_changes(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    """Kind, seq, relevance before, title and target of each change, by following each page from record to record."""
    there: dict[int, bool] = {}
    last: dict[int, Record] = {}
    found: list[tuple[Any, ...]] = []
    for each in records:
        id, before = each.answered, last.get(each.answered)
        relevance = before.relevance if before else None
        if each.outcome == "page":
            found.append(("changed" if before else "new", each.seq, relevance, each.title, ""))
            last[id] = each
        elif each.outcome in ("miss", "moved", "passage") and there.get(id) and before:
            moved = bool(each.redirects)
            found.append(
                ("moved" if moved else "gone", each.seq, relevance, before.title, url(id + 1) if moved else "")
            )
        if each.outcome != "retry":
            there[id] = each.outcome in ("page", "same")
    return found


def told(change: PageChange) -> tuple[Any, ...]:
    before = None if isnan(change.before) else change.before
    return change.kind, change.entry.seq, before, change.title, change.target


@settings(max_examples=60)
@given(histories, st.integers(-1, 30), st.integers(0, 8_000))
def test_changes_are_those_that_following_each_page_finds(
    history: Sequence[Answered], after: int, seconds: int
) -> None:
    # A page that was never fetched cannot be unchanged.
    history = [each for at, each in enumerate(history) if each.outcome != "same" or _was_page(history[:at], each.id)]
    since = START + timedelta(seconds=seconds)
    with TemporaryDirectory() as folder:
        records = write(Path(folder), history)
        expected = expected_changes(records)
        with Catalogue(Path(folder)) as catalogue:
            assert [told(change) for change in catalogue.changes()] == expected
            assert [told(change) for change in catalogue.changes(newest=True)] == expected[::-1]
            assert [told(change) for change in catalogue.changes(after=after)] == [e for e in expected if e[1] > after]
            later = [e for e in expected if records[e[1]].asked_at >= since]
            assert [told(change) for change in catalogue.changes(since=since)] == later
        check_seen(Path(folder), records)


def _was_page(history: Sequence[Answered], id: int) -> bool:
    return any(each.id == id and each.outcome == "page" for each in history)


def kinds(folder: Path, *outcomes: str) -> list[ChangeKind]:
    """What is told of one page with these answers."""
    reasons = dict(OUTCOMES)
    write(folder, [Answered(0, outcome, reasons[outcome], 0.5, 10) for outcome in outcomes])
    with Catalogue(folder) as catalogue:
        return [change.kind for change in catalogue.changes()]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    {
        "page same same page": "new changed",
        "page miss miss miss": "new gone",
        "page miss page miss": "new gone changed gone",
        "page retry miss retry": "new gone",
        "page passage same": "new gone",
        "page moved": "new moved",
        "page moved onto": "new moved",
        "miss moved retry passage": "",
    }.items(),
)
def test_a_page_is_told_to_be_gone_once(tmp_path: Path, outcomes: str, expected: str) -> None:
    words = outcomes.replace("moved onto", "moved_onto").split()
    assert kinds(tmp_path, *(word.replace("_", " ") for word in words)) == expected.split()


def test_changes_of_a_large_project_are_found_by_index(tmp_path: Path) -> None:
    """What each page was before is looked up, not searched for: reading a million pages must not take for ever."""
    write(tmp_path, [])
    with Catalogue(tmp_path) as catalogue:
        plans: list[str] = []
        catalogue._db.set_trace_callback(plans.append)
        list(catalogue.changes(after=5, newest=True))
        [statement] = plans
    db = open_to_read(tmp_path)
    steps = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
    db.close()
    assert len(steps) > 5
    assert not [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step]


# ---- pages that were seen


def check_seen(folder: Path, records: Sequence[Record]) -> None:
    with Store(folder) as store:
        found = [(p.id, p.url, p.seq, p.visits, p.changes, p.first, p.last) for p in store.pages()]
    assert found == expected_seen(records)


def expected_seen(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    found = []
    for id in range(PAGES):
        answers = [each for each in records if each.answered == id and each.outcome != "retry"]
        seen = [each for each in answers if each.outcome in ("page", "same")]
        pages = [each for each in seen if each.outcome == "page"]
        if pages and answers[-1].outcome in ("page", "same"):
            first, last = min(each.asked_at for each in seen), answers[-1]
            found.append((id, url(id), pages[-1].seq, len(seen) - 1, len(pages) - 1, first, last.asked_at))
    return found


# ---- when a page is due


def seen(visits: int, changes: int, days: float) -> SeenPage:
    said: dict[str, Any] = {"url": url(0), "visits": visits, "changes": changes, "first": START}
    said["last"] = START + timedelta(days=days)
    return SeenPage(*(said.get(name, 0) for name in SeenPage._fields))


def wait(page: SeenPage, soonest: float = 0.0, latest: float = 1000 * DAY) -> float:
    """Days."""
    return (page.due(soonest, latest) - page.last).total_seconds() / DAY


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0, 2.0])
def test_the_estimated_rate_is_right_on_average(rate: float) -> None:
    """Of pages that change as a Poisson process does, looked at once a day. It is right to 5 %, where counting the
    changes that were seen is wrong by up to half, because two changes on one day look like one."""
    chance, visits = random.Random(17), 60
    estimates, counted = list[float](), list[float]()
    for _ in range(2_000):
        next_change, found = chance.expovariate(rate), 0
        for day in range(1, visits + 1):
            if next_change < day:
                found += 1
                while next_change < day:
                    next_change += chance.expovariate(rate)
        estimates.append(1 / wait(seen(visits, found, visits)) if found else 0.0)
        counted.append(found / visits)
    assert fmean(estimates) == pytest.approx(rate, rel=0.05)
    if rate >= 1:
        assert fmean(counted) < 0.7 * rate


@given(
    st.integers(0, 1000).flatmap(lambda visits: st.tuples(st.just(visits), st.integers(0, visits))),
    *(st.floats(0, 3650), st.floats(0, 365 * DAY), st.floats(1, 1e6)),
)
def test_a_page_is_due_between_soonest_and_latest(
    history: tuple[int, int], days: float, soonest: float, times: float
) -> None:
    latest = min(soonest * times, 365 * DAY)
    waited = (seen(*history, days).due(soonest, latest) - seen(*history, days).last).total_seconds()
    assert soonest - 1e-3 <= waited <= latest + 1e-3


def test_pages_that_change_more_are_due_sooner_and_others_later() -> None:
    waits = [wait(seen(10, changes, 10)) for changes in range(11)]
    assert waits == sorted(waits, reverse=True)
    assert wait(seen(10, 0, 10)) == 20  # unchanged: not longer than twice as long as it was watched
    assert wait(seen(0, 0, 0), DAY, 16 * DAY) == sqrt(16)  # seen once: between the bounds
