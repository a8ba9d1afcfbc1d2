"""A crawl that was killed goes on as if it had not been: same order, same facts, same learner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, ScopeConfig
from forager.crawl import keeper
from forager.crawl.loop import Crawl
from forager.crawl.resume import resume
from forager.store import Record, Store
from forager.store.journal import pack_links, unpack_links
from forager.types import (
    Evidence,
    Failure,
    Miss,
    Parts,
    Persists,
    Ragged,
    Reason,
    Redirect,
    ScoredLinks,
    Strategy,
    Url,
    Visit,
)
from tests.contracts.test_strategies import MAKERS, many_pages
from tests.small_web import HOME, SmallWeb, WordCritic, html, url


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that every life acknowledges something, and loses something."""
    monkeypatch.setattr("forager.store.commit.GROUP", 2)


class Killed(Exception):  # noqa: N818
    """What happens to a crawl, not what it does wrong."""


class Dying(Store):
    """Dies before it takes a certain record, and takes what was not committed with it."""

    def __init__(self, folder: Path, clock: VirtualClock, after: int | None) -> None:
        super().__init__(folder, clock=clock)
        self.after, self.dead = after, False

    def add(self, record: Record) -> None:
        if self.after == 0:
            self.dead = True
            raise Killed
        super().add(record)
        if self.after is not None:
            self.after -= 1

    def commit(self) -> int:
        return self.last_seq if self.dead else super().commit()


def web() -> SmallWeb:
    """Redirects on the host and off it, and dead links, besides the pages."""
    pages: dict[Url, str | Redirect | Failure] = dict(many_pages())
    pages[url("/bird-6")] = Redirect(url("/bird-6"), url("/bird-12"))
    pages[url("/stone-7")] = Redirect(url("/stone-7"), url("b.test/far"))
    pages[url("/bird-9")] = Redirect(url("/bird-9"), url("/bird-0"))
    pages[url("b.test/far")] = html("bird far away", "http://a.test/bird-15", "http://b.test/near")
    pages[url("b.test/near")] = html("bird near by")
    return SmallWeb(pages)


def config(**more: object) -> CrawlConfig:
    settings: dict[str, object] = {"seeds": (url("/bird-0"), url("/stone-1")), "frontier": FrontierConfig(delay=0)}
    return CrawlConfig(**settings | more)  # type: ignore[arg-type]


class Listening:
    """A strategy that notes what it is shown."""

    def __init__(self, strategy: Any, shown: list[str]) -> None:
        self._strategy, self._shown, self.combine, self.every = strategy, shown, strategy.combine, strategy.every
        self.score, self.rescore, self.parts = strategy.score, strategy.rescore, strategy.parts

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        self._shown.append(outcome.page.url if isinstance(outcome, Visit) else outcome.url)
        self._strategy.observe(outcome, evidence)

    def from_parts(self, parts: Parts) -> Listening:
        return Listening(self._strategy.from_parts(parts), self._shown)

    def merge(self, parts: Sequence[Parts]) -> Parts:
        raise NotImplementedError


def crawl(
    folder: Path, make: Callable[[], Strategy], kill_after: int | None, asked: SmallWeb | None = None, **more: object
) -> tuple[Crawl, SmallWeb]:
    """One life of the crawl, to its end or to its death."""
    clock, asked = VirtualClock(), asked or web()
    store = Dying(folder, clock, kill_after)
    made = resume(config(**more), store, critic=WordCritic(), strategy=make(), clock=clock, fetcher=asked)
    try:
        made.run()
    except Killed:
        store._let_go()  # what a kill does: nothing is committed, the files are closed
    else:
        store.close()
    return made, asked


def order(folder: Path) -> list[tuple[str, str]]:
    with Store(folder, clock=VirtualClock()) as store:
        urls = [text for chunk in store.urls() for text in chunk.texts]
        return [(urls[record.asked], record.outcome) for record in store.records()]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_killed_again_and_again_it_fetches_the_same_pages_in_the_same_order(
    tmp_path: Path, make: Callable[[], Strategy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "CHECKPOINT", 4)
    whole, _ = crawl(tmp_path / "whole", make, None)
    for life in range(40):
        made, _ = crawl(tmp_path / "killed", make, kill_after=3 + life % 9)
        if made.stats.stopped:
            break
    assert life > 3
    assert made.stats.stopped == whole.stats.stopped
    assert order(tmp_path / "killed") == order(tmp_path / "whole")
    assert made.stats.misses == whole.stats.misses
    assert (made.stats.pages, made.stats.relevance) == (whole.stats.pages, whole.stats.relevance)


def test_a_learner_that_is_always_killed_early_gets_a_checkpoint_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages are counted from the last checkpoint, not from the beginning of a life."""
    monkeypatch.setattr(keeper, "CHECKPOINT", 11)
    make, seen = MAKERS["apprentice often"], []
    for _ in range(12):
        made, _ = crawl(tmp_path, make, kill_after=5)
        with Store(tmp_path, clock=VirtualClock()) as store:
            found = store.last_checkpoint()
            seen.append(found[0] if found else -1)
        if made.stats.stopped:
            break
    assert len(set(seen)) >= 3  # none at first, then one after the other


def test_what_comes_before_a_checkpoint_is_not_learnt_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the checkpoint is: the strategy that comes back is the one that was saved, and is shown what came later
    and nothing else."""
    monkeypatch.setattr(keeper, "CHECKPOINT", 1)
    make = MAKERS["apprentice often"]
    whole, _ = crawl(tmp_path / "whole", make, None)
    for after in range(3, 60, 3):
        folder = tmp_path / str(after)
        crawl(folder, make, kill_after=after)
        with Store(folder, clock=VirtualClock()) as store:
            checkpoint, shown = store.last_checkpoint(), list[str]()
            assert checkpoint is not None
            learner = Listening(make(), shown)
            resume(config(), store, critic=WordCritic(), strategy=learner, clock=VirtualClock(), fetcher=web())
            later = [record for record in store.records() if record.seq > checkpoint[0]]
            assert len(shown) == sum(record.outcome in ("page", "miss") for record in later)
        made, _ = crawl(folder, make, None)
        assert learnt(made) == learnt(whole), f"killed after {after} records"


def learnt(made: Crawl) -> dict[str, object]:
    assert isinstance(made.strategy, Persists)
    return {name: np.asarray(part).tolist() for name, part in made.strategy.parts().items()}


def test_attempts_are_counted_over_lives(tmp_path: Path) -> None:
    busy = url("/stone-10")
    asked = SmallWeb({**web().pages, busy: Failure(busy, Reason.BUSY, "later", retry_after=5.0)})
    for life in range(40):
        made, _ = crawl(tmp_path, MAKERS["breadth-first"], 2 + life % 3, asked)
        if made.stats.stopped:
            break
    assert made.stats.misses[Reason.BUSY] == 1
    assert order(tmp_path).count((busy, "retry")) == FrontierConfig().retries
    assert order(tmp_path).count((busy, "miss")) == 1


def test_budgets_of_hosts_and_sites_hold_over_lives(tmp_path: Path) -> None:
    limits = FrontierConfig(delay=0, pages_per_host=20)
    for life in range(40):
        made, _ = crawl(tmp_path, MAKERS["breadth-first"], 4 + life % 3, frontier=limits)
        if made.stats.stopped:
            break
    assert life > 3
    pages = [where for where, outcome in order(tmp_path) if outcome == "page"]
    assert sum(where.startswith(HOME) for where in pages) == 20


def test_a_resumed_crawl_rests_before_it_asks(tmp_path: Path) -> None:
    """The life before may have asked a moment ago."""
    slow = FrontierConfig(delay=3)
    crawl(tmp_path, MAKERS["breadth-first"], 5, frontier=slow)
    clock = VirtualClock()
    with Store(tmp_path, clock=clock) as store:
        given = {"critic": WordCritic(), "strategy": MAKERS["breadth-first"](), "clock": clock, "fetcher": web()}
        made = resume(config(frontier=slow), store, **given)  # type: ignore[arg-type]
    assert made.frontier.acquire(2.9) is None
    assert made.frontier.acquire(3.0) is not None


def test_a_finished_crawl_asks_for_nothing_more(tmp_path: Path) -> None:
    crawl(tmp_path, MAKERS["breadth-first"], None)
    again, asked = crawl(tmp_path, MAKERS["breadth-first"], None)
    assert asked.asked == []
    assert again.stats.stopped == "nothing is left to fetch"


def test_seeds_may_be_added_and_a_narrower_scope_applies_to_what_waits(tmp_path: Path) -> None:
    crawl(tmp_path, MAKERS["breadth-first"], kill_after=8)
    new = url("b.test/near")
    made, asked = crawl(
        tmp_path,
        MAKERS["breadth-first"],
        None,
        seeds=(url("/bird-0"), new),
        scope=ScopeConfig(include=("bird", "near")),
    )
    assert asked.asked[0] == new  # seeds first
    assert not any("stone" in asked_for for asked_for in asked.asked)
    assert made.stats.pages > 20


@given(
    st.integers(0, 5).flatmap(
        lambda n: st.tuples(
            hnp.arrays(np.int32, n),
            hnp.arrays(np.float32, n, elements=st.floats(width=32, allow_nan=False)),
            st.none() | hnp.arrays(np.float32, (n, 2), elements=st.floats(width=32, allow_nan=False)),
            st.none() | st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=3), min_size=n, max_size=n),
            st.none() | hnp.arrays(np.uint32, 3),
            st.none() | st.text(max_size=3),
        )
    )
)
def test_links_round_trip(given_: tuple[object, ...]) -> None:
    ids, scores, state, clues, common, label = given_
    scored = ScoredLinks(scores, state, None if clues is None else Ragged.of(clues), common, None, label)  # type: ignore[arg-type]
    back, again = unpack_links(pack_links(ids, scored))  # type: ignore[arg-type]
    assert np.array_equal(back, ids)  # type: ignore[arg-type]
    assert np.array_equal(again.scores, scored.scores)
    for one, other in ((again.state, scored.state), (again.common, scored.common)):
        assert (one is None) == (other is None)
        assert one is None or other is None or np.array_equal(one, other)
    if scored.clues is not None:
        assert again.clues is not None
        assert np.array_equal(again.clues.values, scored.clues.values)
        assert np.array_equal(again.clues.offsets, scored.clues.offsets)
    assert again.label == scored.label
