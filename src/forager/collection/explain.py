"""Why a link was fetched, or why not yet: what became of it, where it stands among those that wait, and what made its
score.

The records of the crawl are read again, as when it is resumed, but nothing is asked and nothing learnt. A score is told
by the pages that the link was found on, as the strategy itself computes it, with what the strategy had learnt at its
last checkpoint. A strategy that cannot do that is asked about the page whose link was followed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from forager.clock import WallClock
from forager.crawl.audit import OnRecord
from forager.crawl.build import link_limits_of, rules_of, scope_of, seeds_of, strategy_of
from forager.crawl.folder import CrawlFolder, has_another_strategy
from forager.crawl.resume import Playback, drop_out_of_scope
from forager.crawl.state import CrawlState
from forager.crawl.step import Step
from forager.errors import ForagerError
from forager.frontier.facts import WaitingSlice
from forager.learn.tfidf import Query
from forager.store import Catalogue, Entry, RecordedProject, ReturnedUrl, Stored, UrlColumns, Waypoint, aliases
from forager.store.journal import learnt_of
from forager.store.lock import holder
from forager.store.models import Checkpoints
from forager.types import (
    FIRST_OF_ALL,
    Critic,
    Explains,
    ExplainsRows,
    Fetch,
    Floats,
    GivesChances,
    Inlinks,
    Judgement,
    Known,
    Page,
    Parts,
    Persists,
    Ragged,
    Reason,
    Strategy,
    Trace,
    Url,
    Visit,
)
from forager.web.page import parse
from forager.web.scope import Scope
from forager.web.urls import UrlRules

FOLLOWED = 20  # links that were followed last, to compare with
TRAP, BUDGET, NEVER_WANTED = "trap", "budget", "never"  # why a link is not asked for, besides rules of the scope
LinkFate: TypeAlias = Literal["page", "passage", "miss", "waiting", "refused"]
Signals: TypeAlias = tuple[tuple[str, float], ...]  # sentences or words, and what each adds to a score


@dataclass(frozen=True, slots=True)
class WaitingPlace:
    """Where a link stands among those that wait."""

    ahead: int  # links with a better score, or the same and found earlier
    waiting: int  # links, with this one
    ahead_on_host: int
    best: float  # score of the first
    followed: tuple[float, ...]  # scores of the links that were followed last, the newest first
    rests: float  # seconds that its host still rests
    attempts: int  # how often it was tried in vain
    stopped: str  # why the last crawl has ended; "": one is running


@dataclass(frozen=True, slots=True)
class LinkStory:
    """What became of a URL that a crawl has found, and why."""

    url: str
    leads_to: str  # the same, or another one after redirects: then all the rest is about that one
    fate: LinkFate
    reason: str  # why there is no page, or why it is not asked for
    detail: str
    way: tuple[Waypoint, ...]  # from the seed
    found_on: tuple[str, ...]  # pages that link to it, the oldest first; of one that was fetched: until then
    first_score: float  # when it was found; nan: a seed
    score: float  # with which it waits, or was taken; infinite: a seed
    expected: float  # relevance, by that score; nan: the strategy does not say
    relevance: float  # of the page; nan: none
    place: WaitingPlace | None  # None: it does not wait
    signals: Signals  # what makes its score, by what is known now
    links_told: int  # links that the signals were taken from; 0: they are those of the page whose link was followed
    adds_up: bool  # whether the signals are the whole score
    behind: int  # pages that came after the strategy was last saved: what it learnt from them does not count

    @property
    def score_now(self) -> float:
        """By what is known now; nan: the signals are not the whole of it."""
        return sum(weight for _, weight in self.signals) if self.adds_up else nan


def explain(project: CrawlFolder, url: str, critic: Critic, query: Query | None = None) -> LinkStory:
    """The story of a URL. A `ForagerError` if the crawl has never found it."""
    with Catalogue(project.folder) as catalogue, RecordedProject(project.folder, rules_of(project.config)) as recorded:
        if not catalogue.knows(url):
            raise _never_found(project, url, catalogue, recorded)
        end = catalogue.leads_to(url)
        way, entries = tuple(catalogue.why(end)), [entry for entry in catalogue.find(end) if entry.outcome != "same"]
        entry = next((entry for entry in reversed(entries) if entry.outcome == way[-1].outcome), None)
        another = has_another_strategy(recorded, project.config)
        strategy = strategy_of(project.config, critic, query)
        checkpoint = None if another else Checkpoints(project.folder).last(catalogue.last_seq)[0]
        if checkpoint and isinstance(strategy, Persists):
            strategy = strategy.from_parts(learnt_of(checkpoint[1]))
        reading = _Reading(project, recorded, strategy, end, entry.seq if entry else -1)
        reading.play_back(checkpoint, sweep=not another)
        fate, reason = reading.fate(entry)
        waits = fate == "waiting"
        score = reading.score if waits or entry is None else entry.score
        told = ((), 0, False) if another or score == inf else _signals(project, catalogue, reading, strategy, end)
        return LinkStory(
            *(url, end, fate, reason, _detail(catalogue, entry) if entry and not waits else "", way),
            found_on=reading.found_on,
            first_score=reading.first_score,
            score=score,
            expected=_expected(strategy, score),
            relevance=entry.relevance if entry else nan,
            place=reading.place(catalogue, project.folder) if waits else None,
            signals=told[0],
            links_told=told[1],
            adds_up=told[2],
            behind=reading.behind if isinstance(strategy, Persists) else 0,
        )


def _expected(strategy: Strategy, score: float) -> float:
    if not isinstance(strategy, GivesChances) or not np.isfinite(score):
        return nan
    return float(strategy.chances(np.array([score], np.float32))[0])


def _detail(catalogue: Catalogue, entry: Entry) -> str:
    """More about the reason; of a copy, what it is a copy of."""
    if entry.detail or entry.reason != Reason.DUPLICATE:
        return entry.detail
    return next((f"nearly {original}" for copy, original in catalogue.copies() if copy.seq == entry.seq), "")


def _never_found(project: CrawlFolder, url: str, catalogue: Catalogue, recorded: RecordedProject) -> ForagerError:
    """With the reason if it is known, and with URLs that are spelt like it."""
    reading = _Reading(project, recorded, OnRecord(), url, -1)
    reading.play_back(None, sweep=False)
    why = reading.refusal()
    told = {"": "", TRAP: ", and would not be followed: it is part of a trap (forager status lists them)"}.get(
        why, f", and would not be followed: the scope forbids it ({why}; see [scope] in forager.toml)"
    )
    near = ", ".join(catalogue.near(url))
    return ForagerError(f"{url} was never found by this crawl{told}{near and f'; nearest: {near}'}")


# ---- the records, read again


class _Reading:
    """The state of a crawl, from its records. While they are read, it stops for a look before one of them (`seq`): what
    was known of the URL when it was asked for."""

    def __init__(self, project: CrawlFolder, recorded: RecordedProject, strategy: Strategy, url: str, seq: int) -> None:
        self._recorded, self._url, self._seq, self.known = recorded, Url(url), seq, recorded.known
        self._scope = _scope(project)
        self._clock, reader, limits = WallClock(), OnRecord(strategy.combine), link_limits_of(project.config)
        self.state = CrawlState.empty(reader, project.config.frontier, folder=Path(tempfile.gettempdir()))
        given = {"critic": reader, "scope": self._scope, "limits": limits}
        self._step = Step(self.state, strategy=reader, **given)  # type: ignore[arg-type]
        self._scores_again = Step(self.state, strategy=strategy, **given)  # type: ignore[arg-type]
        self._alone = bool(getattr(strategy, "alone", False))
        self.rows: WaitingSlice | None = None  # the links to the URL by which its score is computed
        self.found_on: tuple[str, ...] = ()
        self.first_score, self.behind = nan, 0

    def play_back(self, checkpoint: tuple[int, Parts] | None, *, sweep: bool) -> None:
        """Take all records in. With `sweep` all that waits is then scored again by the strategy, if each link can be
        scored for itself: so its scores are those that a crawl would go on with."""
        pages = 0
        for record in Playback(self, self.state, self._step, parse, self._clock):
            if checkpoint and record.seq == checkpoint[0]:
                self.state.frontier.reorder(checkpoint[1]["waiting"], checkpoint[1]["scores"])
                pages = self.state.stats.pages
        self.behind = self.state.stats.pages - pages
        drop_out_of_scope(self.state, self._scope)
        if sweep and self._alone:
            self._scores_again.sweep()
        if self.rows is None or self._id in self.state.frontier.waiting:
            self._look()

    def _look(self) -> None:
        """What is known of the URL at this moment."""
        facts, (id,) = self.state.facts, self.state.facts.addresses.find([self._url]).tolist()
        if id < 0:
            return
        self.rows, into = facts.slice(np.array([id], np.int32), self.state.frontier), facts.edges.into(id)
        sources = dict.fromkeys(facts.edges.sources[into].tolist())
        self.found_on = tuple(facts.addresses[source] for source in sources)
        self.first_score = float(facts.edges.scores[into[0]]) if len(into) else nan

    # ---- as a recorded crawl, of which no part is newer than another

    def records(self) -> Iterator[Stored]:
        for record in self._recorded.records():
            if record.new_urls.stop > self.known:
                return
            if record.seq == self._seq:
                self._look()
            yield record

    def urls(self) -> Iterator[UrlColumns]:
        return self._recorded.urls()

    def returns(self) -> dict[int, list[ReturnedUrl]]:
        return self._recorded.returns()

    def answer_of(self, seq: int) -> Fetch | None:
        return self._recorded.answer_of(seq)

    def holds(self, seq: int, *, whole: bool = False) -> bool:
        return self._recorded.holds(seq, whole=whole)

    # ---- what became of it

    @property
    def _id(self) -> int:
        return int(self.state.facts.addresses.find([self._url])[0])

    @property
    def score(self) -> float:
        return float(self.state.frontier.scores(np.array([self._id], np.int32))[0])

    def fate(self, entry: Entry | None) -> tuple[LinkFate, str]:
        """What became of the URL, and the reason if it is no page."""
        if self._id in self.state.frontier.waiting:
            held = self.refusal() if self.score < FIRST_OF_ALL else ""
            held = held or ("" if self.state.frontier.has_hope(self._id) else BUDGET)
            return ("refused", held) if held else ("waiting", "")
        if entry is None or entry.outcome == "retry":
            return "refused", self.refusal() or NEVER_WANTED
        fate: LinkFate = entry.outcome if entry.outcome in ("page", "passage") else "miss"  # type: ignore[assignment]
        return fate, entry.reason

    def refusal(self) -> str:
        """Which rule of the scope forbids the URL, or that it is a trap; "" if nothing does."""
        forbidden = self._scope.admit([self._url], 0).rejected
        return next(iter(forbidden), TRAP if self._step.is_trap(self._url) else "")

    def place(self, catalogue: Catalogue, folder: Path) -> WaitingPlace:
        frontier, hosts, id = self.state.frontier, self.state.facts.addresses.hosts, self._id
        waiting = frontier.waiting
        scores = frontier.scores(waiting)
        before = (scores > self.score) | ((scores == self.score) & (waiting < id))
        sessions = self._recorded.sessions()
        return WaitingPlace(
            ahead=int(before.sum()),
            waiting=len(waiting),
            ahead_on_host=int((before & (hosts[waiting] == hosts[id])).sum()),
            best=float(scores.max()),
            followed=tuple(catalogue.followed(FOLLOWED)),
            rests=max(0.0, frontier.rests_until(int(hosts[id])) - self._clock.now()),
            attempts=self.state.health.attempts.get(id, 0),
            stopped="" if holder(folder) or not sessions else sessions[-1].reason or "was killed",
        )


def _scope(project: CrawlFolder) -> Scope:
    config = project.config
    return scope_of(config, seeds_of(config, rules_of(config)) if config.seeds else [])


# ---- what makes its score


def _signals(
    project: CrawlFolder, catalogue: Catalogue, reading: _Reading, strategy: Strategy, url: str
) -> tuple[Signals, int, bool]:
    """What makes a score, from how many links, and whether that is all of it."""
    rows = reading.rows.batch if reading.rows else None
    if rows is not None and isinstance(strategy, ExplainsRows) and (rows.clues.lengths > 0).any():
        return tuple(strategy.explain_rows(rows)), len(rows.sources), True
    if not isinstance(strategy, Explains):
        return (), 0, False
    return tuple(_by_the_page(project, catalogue, strategy, url)), 0, isinstance(strategy, ExplainsRows)


def _by_the_page(project: CrawlFolder, catalogue: Catalogue, strategy: Strategy, url: str) -> list[tuple[str, float]]:
    """What the strategy says of the link on the page by which a URL was found; nothing for a seed. What travels with
    links is found again by scoring the pages of the way to it, from the seed on."""
    way = [step.url for step in catalogue.why(url)]
    answers = [_answer(catalogue, step) for step in way[:-1]]
    rules, led = rules_of(project.config), aliases(project.folder, set(way[1:]))
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


_NOTHING = np.empty((0, 0), np.float32)
