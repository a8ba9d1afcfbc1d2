"""Why a link has its score: the words that the crawl's own learner goes by."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from forager.crawl.build import strategy_of
from forager.crawl.folder import CrawlFolder
from forager.learn.tfidf import Query
from forager.store import Catalogue, Entry, aliases
from forager.store.journal import learnt_of
from forager.store.models import Checkpoints
from forager.types import (
    Critic,
    Explains,
    Fetch,
    Floats,
    Inlinks,
    Judgement,
    Known,
    Page,
    Persists,
    Ragged,
    Strategy,
    Trace,
    Visit,
)
from forager.web.page import parse
from forager.web.urls import UrlRules

_NOTHING = np.empty((0, 0), np.float32)


def explain(project: CrawlFolder, url: str, critic: Critic, query: Query | None = None) -> list[tuple[str, float]]:
    """The words that make the score of the link by which a URL was found, strongest first, by what the learner knew at
    its last checkpoint; nothing for a seed, or where the strategy does not explain itself.

    What travels with links is found again by scoring the pages of the way to it, from the seed on.
    """
    strategy = strategy_of(project.config, critic, query)
    if not isinstance(strategy, Explains):
        return []
    with Catalogue(project.folder) as catalogue:
        way = [step.url for step in catalogue.why(url)]
        answers = [_answer(catalogue, step) for step in way[:-1]]
        last = catalogue.last_seq
    if isinstance(strategy, Persists):
        checkpoint, _ = Checkpoints(project.folder).last(last)
        strategy = strategy.from_parts(learnt_of(checkpoint[1])) if checkpoint else strategy
    rules, led = UrlRules(project.config.urls.strip, project.config.urls.longest), aliases(project.folder, set(way[1:]))
    travelled = _NOTHING
    for answer, target in zip(answers, way[1:], strict=True):
        link = _link(*answer, travelled, target, rules, led) if answer else None
        if target == url:
            return strategy.explain(*link) if link and isinstance(strategy, Explains) else []
        travelled = _travels(strategy, *link) if link else _NOTHING
    return []


def _answer(catalogue: Catalogue, url: str) -> tuple[Entry, Fetch] | None:
    pages = [entry for entry in catalogue.find(url) if entry.outcome == "page"]
    answer = catalogue.answer(pages[-1].seq) if pages else None
    return (pages[-1], answer) if answer else None


def _link(
    entry: Entry, answer: Fetch, travelled: Floats, target: str, rules: UrlRules, led: Mapping[str, str]
) -> tuple[Visit, int] | None:
    """The visit of an archived page, and which of its links led to the target, perhaps by redirects."""
    page = parse(answer, rules)
    if not isinstance(page, Page):
        return None
    rows = [row for row, end in enumerate(page.links.targets) if led.get(end, end) == target]
    return (_visit(page, entry, travelled), rows[0]) if rows else None


def _travels(strategy: Strategy, visit: Visit, row: int) -> Floats:
    """What the strategy sends along with a link, (1, k)."""
    state = strategy.score(visit).state
    return _NOTHING if state is None else state[row : row + 1]


def _visit(page: Page, entry: Entry, travelled: Floats) -> Visit:
    """With nothing known of its links but what travelled with the one to it."""
    count, came = len(page.links), len(travelled)
    known = Known(np.full(count, np.nan, np.float32), np.zeros(count, np.int32), np.zeros(count, np.int32))
    topics = entry.topics if entry.topics is not None else np.empty(0, np.float32)
    scores = np.full(came, entry.score, np.float32)
    led = Inlinks(np.full(came, -1, np.int32), scores, travelled, Ragged.of([np.empty(0, np.uint32)] * came))
    trace = Trace(entry.id, entry.id, entry.seq, entry.depth, entry.score, led)
    return Visit(page, page.links, Judgement(entry.relevance, entry.raw, topics, entry.critic), trace, known)
