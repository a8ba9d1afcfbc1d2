"""Judge again, with a critic that knows more, what a crawl has fetched; and let its learner learn it all again.

The crawl is gone through record by record as when it is resumed, but each page is read from the archive, judged by the
new critic, shown to a strategy that begins anew, and its links are scored again. What comes of it replaces what was
stored, in groups: interrupted, it may simply be started again.
"""

from __future__ import annotations

from collections.abc import Callable

from forager.clock import Clock, VirtualClock, WallClock
from forager.crawl.build import strategy_of
from forager.crawl.journal import Journal, pack_links, unpack_links
from forager.crawl.loop import Crawl
from forager.crawl.step import Reader
from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.project import Project
from forager.store import Rejudged, Store, Stored
from forager.store.search import FILE as SEARCH
from forager.types import Answer, Critic, Failure, Fetch, Learns, Page, Reason, Rescores, Trace, Url
from forager.web.page import parse
from forager.web.urls import UrlRules

GROUP = 64  # pages stored together


def rejudge(
    project: Project, critic: Critic, query: Query | None = None, tell: Callable[[int], None] = lambda pages: None
) -> int:
    """Judge all pages of a project again; `tell` hears how many are done. Returns how many there are."""
    config = project.config
    rules = UrlRules(config.urls.strip, config.urls.longest)

    def read(answer: Fetch) -> Page | Failure:
        return parse(answer, rules)

    with Store(project.folder, durable=config.store.durable, clock=WallClock()) as store:
        if store.last_seq < 0:
            raise ForagerError(f"{project.folder} holds no pages yet: there is nothing to judge again")
        store.forget_learners()  # and the search index, which has the old relevance
        (project.folder / SEARCH).unlink(missing_ok=True)
        clock = VirtualClock()
        anew = _Anew(store, clock, tell)
        crawl = Crawl(
            config,
            critic=critic,
            strategy=strategy_of(config, critic, query),
            fetcher=_Nowhere(),
            clock=clock,
            keeper=anew,
            folder=project.folder,
        )
        anew.restore(crawl, read)
        anew.finish()
    return crawl.tally.pages


class _Anew(Journal):
    """A journal that takes nothing but the answers from the records."""

    def __init__(self, store: Store, clock: Clock, tell: Callable[[int], None]) -> None:
        super().__init__(store, clock)
        self._judged: list[Rejudged] = []
        self._tell = tell

    def finish(self) -> None:
        """Store the last group; and what waits has the scores of the newest model."""
        self._put()
        assert self._crawl
        if isinstance(self._crawl.strategy, Rescores):
            self._crawl.step.sweep()
        self.end()

    def _trace_again(self, crawl: Crawl, record: Stored) -> Trace:
        return crawl.facts.trace(record.asked, record.answered, record.seq, record.score)

    def _apply_page(self, crawl: Crawl, record: Stored, trace: Trace, read: Reader, *, fresh: bool) -> None:
        ids, _ = unpack_links(record.links)
        page = self._page_again(record, read)
        judgement = crawl.critic.judge([page])[0]
        visit = self._visit_again(crawl, page, ids, judgement, trace)
        evidence = crawl.facts.judge(trace, judgement)
        if isinstance(crawl.strategy, Learns):
            crawl.strategy.observe(visit, evidence)
        scored = crawl.strategy.score(visit)
        crawl.facts.found(trace.id, ids, scored, crawl.step.offer(ids, scored.scores))
        crawl.tally.count_page(judgement.relevance)
        crawl.sweep_if_due()
        said = (judgement.relevance, judgement.raw, judgement.topics, judgement.version)
        self._judged.append(Rejudged(record.seq, *said, scored.label or "", pack_links(ids, scored)))
        if len(self._judged) >= GROUP:
            self._put()

    def _put(self) -> None:
        assert self._crawl
        self._store.rejudge(self._judged)
        self._judged = []
        self._tell(self._crawl.tally.pages)


class _Nowhere:
    """A fetcher for a crawl that asks for nothing."""

    async def fetch(self, url: Url) -> Answer:
        return Failure(url, Reason.UNREACHABLE)
