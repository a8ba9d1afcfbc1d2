"""Judge again, with a critic that knows more, what a crawl has fetched; and let its strategy learn it all again.

The records of the crawl are played back as when it is resumed. But each page is read from the archive, judged by the
new critic, shown to a strategy that begins anew, and its links are scored again. The results replace what was stored,
in groups. If it is interrupted, simply start it again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

from forager.clock import VirtualClock, WallClock
from forager.crawl.build import rules_of, scope_of, seeds_of, strategy_of
from forager.crawl.folder import CrawlFolder
from forager.crawl.keeper import StoreKeeper
from forager.crawl.resume import Playback
from forager.crawl.state import CrawlState
from forager.crawl.step import Step
from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.store import DamageWarning, Rejudged, Store
from forager.store.journal import rejudged_of
from forager.store.search import FILE as SEARCH
from forager.types import Critic, Taken, Visit
from forager.web.page import parse

GROUP = 64  # pages stored together


def rejudge(
    project: CrawlFolder, critic: Critic, query: Query | None = None, tell: Callable[[int], None] = lambda pages: None
) -> int:
    """Judge all pages of a project again. `tell` is told how many are done. Gives how many there are."""
    config = project.config
    strategy = strategy_of(config, critic, query)
    with Store(project.folder, durable=config.store.durable, clock=WallClock()) as store:
        if store.last_seq < 0:
            raise ForagerError(f"{project.folder} holds no pages yet: there is nothing to judge again")
        store.forget_learners()
        (project.folder / SEARCH).unlink(missing_ok=True)  # the index has the old relevance
        state = CrawlState.empty(strategy, config.frontier, folder=project.folder)
        scope = scope_of(config, seeds_of(config, rules_of(config)))
        judged: list[Rejudged] = []

        def keep(taken: Taken) -> None:
            if isinstance(taken.outcome, Visit) and taken.scored:
                judged.append(rejudged_of(taken.trace.order, taken.outcome.judgement, taken.ids, taken.scored))

        def put() -> None:
            store.rejudge(judged)
            judged.clear()
            tell(state.stats.pages)

        step = Step(state, critic=critic, strategy=strategy, scope=scope, keep=keep)
        for _ in Playback(store, state, step, partial(parse, rules=rules_of(config)), WallClock(), anew=True):
            if len(judged) >= GROUP:
                put()
        put()
        step.sweep()  # what waits gets the scores of the newest model
        StoreKeeper(store, state, strategy, VirtualClock()).checkpoint(now=True)
        for line in store.warnings:
            warnings.warn(line, DamageWarning, stacklevel=2)
    return state.stats.pages
