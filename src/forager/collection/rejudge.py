"""Judge again, with a critic that knows more, what a crawl has fetched; and let its strategy learn it all again."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from forager.clock import WallClock
from forager.crawl.anew import score_anew
from forager.crawl.build import rules_of, strategy_of
from forager.crawl.folder import CrawlFolder
from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.store import DamageWarning, Store
from forager.store.search import FILE as SEARCH
from forager.types import Critic


def rejudge(
    project: CrawlFolder, critic: Critic, query: Query | None = None, tell: Callable[[int], None] = lambda pages: None
) -> int:
    """Judge all pages of a project again. `tell` is told how many are done. Gives how many there are."""
    config = project.config
    strategy = strategy_of(config, critic, query)
    with Store(project.folder, durable=config.store.durable, clock=WallClock(), rules=rules_of(config)) as store:
        if store.last_seq < 0:
            raise ForagerError(f"{project.folder} holds no pages yet: there is nothing to judge again")
        (project.folder / SEARCH).unlink(missing_ok=True)  # the index has the old relevance
        given = (config, store)
        pages = score_anew(*given, critic=critic, strategy=strategy, folder=project.folder, judge=True, tell=tell)
        for line in store.warnings:
            warnings.warn(line, DamageWarning, stacklevel=2)
    return pages
