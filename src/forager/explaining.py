"""Why a link has its score: the words that the crawl's own learner goes by."""

from __future__ import annotations

import numpy as np

from forager.journal import learnt
from forager.making import strategy_of
from forager.page import parse
from forager.project import Project
from forager.similarity import Query
from forager.store import Catalogue, Entry, aliases
from forager.store.checkpoints import Checkpoints
from forager.types import Critic, Explains, Inlinks, Judgement, Known, Page, Persists, Ragged, Trace, Visit
from forager.urls import UrlRules


def explain(project: Project, url: str, critic: Critic, query: Query | None = None) -> list[tuple[str, float]]:
    """The words that make the score of the link by which a URL was found, strongest first, by what the learner knew at
    its last checkpoint; nothing for a seed, or where the strategy does not explain itself."""
    strategy = strategy_of(project.config, critic, query)
    if not isinstance(strategy, Explains):
        return []
    with Catalogue(project.folder) as catalogue:
        way = catalogue.why(url)
        pages = [entry for entry in catalogue.find(way[-2].url) if entry.outcome == "page"] if len(way) > 1 else []
        answer = catalogue.answer(pages[-1].seq) if pages else None
        last = catalogue.last_seq
    if answer is None:
        return []
    if isinstance(strategy, Persists):
        checkpoint, _ = Checkpoints(project.folder).last(last)
        strategy = strategy.from_parts(learnt(checkpoint[1])) if checkpoint else strategy
    page = parse(answer, UrlRules(project.config.urls.strip, project.config.urls.longest))
    if not isinstance(page, Page) or not isinstance(strategy, Explains):
        return []
    led = aliases(project.folder, {url})  # the link may have led there by redirects
    rows = [row for row, target in enumerate(page.links.targets) if led.get(target, target) == url]
    return strategy.explain(_visit(page, pages[-1]), rows[0]) if rows else []


def _visit(page: Page, entry: Entry) -> Visit:
    """The visit of an archived page, with nothing known of its links."""
    count = len(page.links)
    known = Known(np.full(count, np.nan, np.float32), np.zeros(count, np.int32), np.zeros(count, np.int32))
    topics = entry.topics if entry.topics is not None else np.empty(0, np.float32)
    none = Inlinks(np.empty(0, np.int32), np.empty(0, np.float32), np.empty((0, 0), np.float32), Ragged.of([]))
    trace = Trace(entry.id, entry.id, entry.seq, entry.depth, entry.score, none)
    return Visit(page, page.links, Judgement(entry.relevance, entry.raw, topics, entry.critic), trace, known)
