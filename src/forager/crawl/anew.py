"""Score again what a crawl has fetched, because its strategy or its critic is another one than before.

The records of the crawl are played back as when it is resumed. But each page is read from the archive, shown to a
strategy that begins anew, and its links are scored again; with `judge`, it is judged again first. The results replace
what was stored, in groups. If it is interrupted, simply start it again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from forager.clock import VirtualClock, WallClock
from forager.config import CrawlConfig
from forager.crawl.build import rules_of, scope_of, seeds_of
from forager.crawl.keeper import StoreKeeper
from forager.crawl.resume import Playback
from forager.crawl.state import CrawlState
from forager.crawl.step import Step
from forager.store import Rejudged, Store
from forager.store.journal import rejudged_of
from forager.types import Critic, Strategy, Taken, Visit
from forager.web.page import parse

GROUP = 64  # pages stored together


def score_anew(
    config: CrawlConfig,
    store: Store,
    *,
    critic: Critic,
    strategy: Strategy,
    folder: Path,
    judge: bool,
    tell: Callable[[int], None] = lambda pages: None,
) -> int:
    """Score all pages of a store again. `tell` is told how many are done. Gives how many there are."""
    store.forget_learners()
    state = CrawlState.empty(strategy, config.frontier, folder=folder)
    rules = rules_of(config)
    judged: list[Rejudged] = []

    def keep(taken: Taken) -> None:
        if isinstance(taken.outcome, Visit) and taken.scored:
            judged.append(rejudged_of(taken.trace.order, taken.outcome.judgement, taken.ids, taken.scored))

    def put() -> None:
        store.rejudge(judged)
        judged.clear()
        tell(state.stats.pages)

    step = Step(state, critic=critic, strategy=strategy, scope=scope_of(config, seeds_of(config, rules)), keep=keep)
    for _ in Playback(store, state, step, partial(parse, rules=rules), WallClock(), anew=True, judged_anew=judge):
        if len(judged) >= GROUP:
            put()
    put()
    state.forecaster.forget()  # it has seen the scores of before
    step.sweep()  # what waits gets the scores of the newest model
    StoreKeeper(store, state, strategy, VirtualClock()).checkpoint(now=True)
    return state.stats.pages
