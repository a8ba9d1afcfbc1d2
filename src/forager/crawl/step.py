"""One step of a crawl, in the order in which things happen. This is the only place where that order stands.

    judge -> what is known of the links -> the strategy learns -> it scores the links -> they are offered -> kept

Live crawls, resumed ones and re-judged ones all go through here. A page from the web brings only itself. A page from
the records also brings the judgement and the scores that are stored, and these are used instead of new ones.

A step owns no network, no disk and no clock. All that changes is in the `CrawlState`. What was taken in goes to `keep`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np

from forager.crawl.health import Setback
from forager.crawl.state import CrawlState
from forager.crawl.sweep import Sweep, swept
from forager.store.records import ReturnedUrl
from forager.types import (
    FIRST_OF_ALL,
    RELEVANT,
    Answer,
    Candidate,
    Critic,
    Failure,
    Fetch,
    Floats,
    Ids,
    Judgement,
    Learns,
    Likeness,
    Links,
    Mask,
    Miss,
    Page,
    Reason,
    Redirect,
    Rescores,
    ScoredLinks,
    Strategy,
    Taken,
    Trace,
    Url,
    Visit,
)
from forager.web.page.declared import DECLARED, FEED, followable
from forager.web.scope import Scope
from forager.web.traps import LOOKED_AT

HOPS = 5  # redirects followed one after the other
NOT_ASKED = {Reason.ROBOTS, Reason.FORBIDDEN, Reason.TRAP}  # of misses that cost no request
Reader: TypeAlias = Callable[[Fetch], Page | Failure]  # page.parse, or a cache before it


@dataclass(frozen=True, slots=True)
class LinkLimits:
    """Which of a page's links are followed, besides what the scope says. A page of strangers may have any number."""

    links: int = 2_500  # the first ones
    new_hosts: int = 250  # links to more hosts that were never seen before are left out
    nofollow: bool = False  # links with rel=nofollow are left out
    declared: bool = True  # what the head of a page names is followed too: its canonical URL, other languages …
    feeds: bool = True  # and its feeds
    traps: bool = True  # links of patterns that bring the same again and again are left out


@dataclass(frozen=True, eq=False)
class Arrival:
    """A page to take in, with what is stored of it if it comes from the records."""

    read: Callable[[], tuple[Fetch, Page]]  # called when somebody has to look at the page, and only once
    trace: Trace
    ids: Ids | None = None  # of the links that were followed; None: the scope chooses them now
    judgement: Judgement | None = None  # None: the critic judges the page now
    scored: ScoredLinks | None = None  # None: the strategy scores the links now
    learnt: bool = False  # the strategy has learnt from it already
    passing: Reason | None = None  # why it is no page of the collection, although its links are followed
    links: Links | None = None  # to choose from; None: those of the page
    kept: Answer | None = None  # what is kept of the answer; None: all of it
    likeness: Likeness | None = None  # None: nobody has looked
    parent: int | None = None  # id of the page whose link was followed, -1 for a seed; None: the trace says it
    brought: range | None = None  # ids of the URLs that were first found here; None: those that get an id now
    unfinished: bool = False  # it is one part of an answer, and others follow

    @cached_property
    def _came(self) -> tuple[Fetch, Page]:
        return self.read()

    @property
    def answer(self) -> Fetch:
        return self._came[0]

    @property
    def page(self) -> Page:
        return self._came[1]


class Step:
    """Takes answers in, one at a time."""

    def __init__(
        self,
        state: CrawlState,
        *,
        critic: Critic,
        strategy: Strategy,
        scope: Scope,
        limits: LinkLimits = LinkLimits(),  # noqa: B008 - frozen
        keep: Callable[[Taken], None] | None = None,
    ) -> None:
        self._state, self._facts, self._frontier, self._stats = state, state.facts, state.frontier, state.stats
        self._critic, self._strategy, self._scope, self.limits, self._keep = critic, strategy, scope, limits, keep
        self._learner = strategy if isinstance(strategy, Learns) else None
        self._rescorer = strategy if isinstance(strategy, Rescores) else None

    def sow(self, seeds: Sequence[Url]) -> None:
        """Let the seeds wait, before everything else, in the order given."""
        self.offer(self._facts.sow(seeds), np.full(len(seeds), FIRST_OF_ALL, np.float32))

    def ask_again(self, urls: Sequence[ReturnedUrl]) -> None:
        """Let URLs that were answered wait again. What was counted against them is forgotten."""
        if not urls:
            return
        ids = np.array([url.id for url in urls], np.int32)
        hosts = self._facts.addresses.hosts.take(ids)
        scores = np.array([url.score for url in urls], np.float32)
        self._frontier.again(ids, hosts, self._facts.addresses.sites.take(hosts), scores)
        for url in urls:
            self._state.health.attempts.pop(url.id, None)

    @property
    def learns(self) -> bool:
        return self._learner is not None

    # ---- a page

    def take_in(self, arrival: Arrival) -> Visit | None:
        """Take in a page, with everything that follows from it. Gives the visit if the strategy had to score it.

        A page that we have already has changed. Its judgement is a new one, and its new links are followed; but it is
        not learnt from twice, and counts once.
        """
        facts, trace = self._facts, arrival.trace
        before, again = len(facts.addresses), self._is_again(arrival)
        judgement = arrival.judgement or self._critic.judge([arrival.page])[0]
        links, ids = self._links_of(arrival)
        known = facts.known(ids)

        @cache
        def visit() -> Visit:
            shown = links if links is not None else self._followed(arrival.page, ids)
            return Visit(arrival.page, shown, judgement, trace, known)

        if arrival.passing or again:
            facts.note(trace, judgement)
            self._count(arrival.passing)
        else:
            evidence = facts.judge(trace, judgement)
            if self._learner and not arrival.learnt:
                self._learner.observe(visit(), evidence)
            self._stats.count_page(judgement.relevance)
        scored = arrival.scored or self._strategy.score(visit())
        facts.found(trace.id, ids, scored, self.offer(ids, scored.scores))
        if arrival.likeness and not again:
            self._remember(arrival, judgement.relevance, arrival.brought or range(before, len(facts.addresses)))
        if not (again or arrival.unfinished):
            relevant = not arrival.passing and judgement.relevance >= RELEVANT
            self._state.forecaster.saw(trace.score, relevant=relevant)
        if arrival.scored:
            return None
        if self._keep:
            kept = arrival.kept or arrival.answer
            self._keep(
                Taken(
                    *(kept, trace, visit(), before, ids, scored),
                    passing=arrival.passing,
                    likeness=arrival.likeness,
                    unfinished=arrival.unfinished,
                )
            )
        return visit()

    def _is_again(self, arrival: Arrival) -> bool:
        """Whether we have the page already."""
        return not arrival.passing and self._facts.judged(arrival.trace.id)

    def _count(self, passing: Reason | None) -> None:
        if passing:
            self._stats.passed[passing] += 1
        else:
            self._stats.revisits["changed"] += 1

    def _remember(self, arrival: Arrival, relevance: float, brought: range) -> None:
        """Note what a page is like, so that copies of it and traps are recognised."""
        likeness = arrival.likeness
        assert likeness is not None
        if likeness.copy_of is None and not arrival.passing:
            self._state.twins.add(arrival.trace.id, likeness.digest, likeness.sketch)
        parent = _parent(arrival.trace) if arrival.parent is None else arrival.parent
        self.saw(arrival.trace.id, parent, likeness, relevance, brought)

    def saw(self, id: int, parent: int, likeness: Likeness, relevance: float = 0.0, brought: range = range(0)) -> None:
        """Note what came of a URL, so that traps are recognised. `brought`: ids of the URLs first found there."""
        if self.limits.traps:
            names, copy = self._facts.addresses, likeness.copy_of is not None
            self._state.traps.saw(
                names[id],
                names[parent] if parent >= 0 else None,
                relevance=relevance,
                twin=copy,
                thin=not likeness.sketch,
                brought=[names[new] for new in brought[:LOOKED_AT]],
            )

    def is_trap(self, url: Url) -> bool:
        """Whether a URL is one of too many that bring the same."""
        return self.limits.traps and self._state.traps.holds_back(url)

    def _links_of(self, arrival: Arrival) -> tuple[Links | None, Ids]:
        """The links to follow, with their ids. A stored page has the ids; its links are looked up if somebody asks."""
        if arrival.ids is not None:
            return None, arrival.ids
        links = self._in_scope(arrival)
        return links, self._facts.intern(links.targets)

    def _in_scope(self, arrival: Arrival) -> Links:
        """The links of a new page that may be followed."""
        links = followable(arrival.page) if arrival.links is None else arrival.links
        admission = self._scope.admit(links.targets, arrival.trace.depth + 1)
        rows = self._within_limits(links, admission.rows)
        if self._is_again(arrival):
            known = self._facts.addresses.find([links.targets[row] for row in rows]) >= 0
            rows = [row for row, is_known in zip(rows, known.tolist(), strict=True) if not is_known]
        if len(rows) == len(links):
            return links
        self._stats.rejected.update(admission.rejected)
        return links.take(rows)

    def _within_limits(self, links: Links, rows: list[int]) -> list[int]:
        """The rows that the limits let through; what they leave out is counted."""
        limits, before = self.limits, rows
        if limits.nofollow:
            rows = [row for row in rows if "nofollow" not in links.rels[row].lower().split()]
            self._stats.rejected["nofollow"] += len(before) - len(rows)
        if not (limits.declared and limits.feeds):
            unwanted = {*(() if limits.declared else DECLARED), *(() if limits.feeds else (FEED,))}
            rows = [row for row in rows if links.rels[row] not in unwanted]
        if limits.traps and rows:
            admitted = self._state.traps.admit([links.targets[row] for row in rows])
            if not admitted.all():
                self._stats.rejected["trap"] += len(rows) - int(admitted.sum())
                rows = [row for row, good in zip(rows, admitted.tolist(), strict=True) if good]
        if len(rows) > limits.links:
            self._stats.rejected["links of a page"] += len(rows) - limits.links
            rows = rows[: limits.links]
        if len(rows) > limits.new_hosts:
            known = self._facts.addresses.within_new_hosts([links.targets[row] for row in rows], limits.new_hosts)
            self._stats.rejected["new hosts of a page"] += len(rows) - len(known)
            rows = [rows[at] for at in known]
        return rows

    def _followed(self, page: Page, ids: Ids) -> Links:
        """The links of a stored page that were followed. They are some of all its links, in the same order."""
        links, rows, row = followable(page), list[int](), 0
        for id in ids.tolist():
            row = links.targets.index(self._facts.addresses[id], row) + 1
            rows.append(row - 1)
        return links.take(rows)

    # ---- no page

    def miss(self, failure: Failure, answer: Answer, trace: Trace, likeness: Likeness | None = None) -> Miss:
        """Take in that there is no page, and why. The failure may be what became of another answer. `likeness`: of a
        copy."""
        miss = self.tell(Miss(failure.url, trace, failure.reason, failure.detail))
        if likeness:
            self.saw(trace.id, _parent(trace), likeness)
        if self._keep:
            self._keep(Taken(answer, trace, miss, len(self._facts.addresses), _NO_IDS, likeness=likeness))
        return miss

    def put_off(self, failure: Failure, trace: Trace, setback: Setback) -> None:
        """Take in a failure that may pass: the link will be tried again."""
        if self._keep:
            known = len(self._facts.addresses)
            self._keep(Taken(failure, trace, None, known, _NO_IDS, rest=setback.rest, attempt=setback.attempt))

    def same(self, answer: Fetch, trace: Trace) -> None:
        """Take in that a page is as it was."""
        self._stats.revisits["same"] += 1
        self._put(answer, trace, None, _NO_IDS)

    def tell(self, miss: Miss, *, learnt: bool = False) -> Miss:
        """Count a miss, and show it to a strategy that learns, unless it has learnt from it already. It learns nothing
        from a page that has gone."""
        if self._facts.judged(miss.trace.id):
            self._stats.revisits["gone"] += 1
            return miss
        evidence = self._facts.evidence()
        if self._learner and not learnt:
            self._learner.observe(miss, evidence)
        self._stats.misses[miss.reason] += 1
        if miss.reason not in NOT_ASKED:
            self._state.forecaster.saw(miss.trace.score, relevant=False)
        return miss

    def redirect(self, answer: Redirect, candidate: Candidate, trace: Trace) -> Miss | None:
        """Take in a redirect. The target waits, on the same host before all others. A miss if it cannot be followed, or
        if we have the page."""
        wrong = self._refuse(answer, trace)
        if wrong is not None:
            return self.miss(wrong, answer, trace)
        before = len(self._facts.addresses)
        target = self._facts.intern([answer.target])
        outcome = self.moved(answer, target, candidate, trace)
        self._put(answer, trace, outcome, target, before)
        return outcome

    def _refuse(self, answer: Redirect, trace: Trace) -> Failure | None:
        """Why a redirect is not followed, if it is not."""
        if self._facts.hops(trace.id) >= HOPS:
            return Failure(answer.url, Reason.TOO_MANY_REDIRECTS, f"more than {HOPS}")
        if self.is_trap(answer.target):
            return Failure(answer.url, Reason.TRAP, f"leads to {answer.target}")
        admission = self._scope.admit([answer.target], trace.depth)
        if not admission.rows:
            self._stats.rejected += admission.rejected
            return Failure(answer.url, Reason.BAD_REDIRECT, f"{answer.target} is out of scope")
        return None

    def moved(
        self, answer: Redirect, target: Ids, candidate: Candidate, trace: Trace, *, learnt: bool = False
    ) -> Miss | None:
        """What `redirect` gives, when the target may be followed and has an id."""
        id = int(target[0])
        if not self._facts.redirect(trace.id, id):
            return self.tell(Miss(answer.url, trace, Reason.BAD_REDIRECT, "leads back to itself"), learnt=learnt)
        if self._facts.judged(id):
            return self.tell(Miss(answer.url, trace, Reason.DUPLICATE, f"leads to {answer.target}"), learnt=learnt)
        if self._facts.addresses.hosts[id] == candidate.lane:
            self._facts.put_ahead(id, trace.score)
        self.offer(target, np.full(1, trace.score, np.float32))
        self._frontier.reorder(target, _first_where(self._facts.comes_first(target), self._frontier.scores(target)))
        return None

    def _put(self, answer: Answer, trace: Trace, outcome: Miss | None, ids: Ids, before: int | None = None) -> None:
        if self._keep:
            self._keep(Taken(answer, trace, outcome, len(self._facts.addresses) if before is None else before, ids))

    # ---- order

    @property
    def due_to_rescore(self) -> Rescores | None:
        """After a page: the strategy, if it is time for a sweep. Sweeps come at fixed numbers of pages, so that a
        resumed crawl has them at the same ones."""
        due = self._rescorer is not None and self._stats.pages % self._rescorer.every == 0
        return self._rescorer if due else None

    def sweep(self) -> None:
        """Let the strategy score again what waits, except the seeds."""
        if self._rescorer:
            policy, ids = self._strategy.combine.policy, swept(self._rescorer, self._frontier, self._stats.pages)
            self.swap(*Sweep(self._rescorer, policy, self._facts, self._frontier, ids).run_inline())
            self._stats.sweeps += 1

    def swap(self, ids: Ids, scores: Floats, links: Ids) -> None:
        """Put in what a sweep has found: new scores, and the links that have them."""
        self._frontier.reorder(ids, _first_where(self._facts.comes_first(ids), scores))
        self._facts.keep(ids, links)

    def offer(self, ids: Ids, scores: Floats) -> Mask:
        """Offer links to the frontier. A seed that is found on a page stays a seed."""
        hosts = self._facts.addresses.hosts.take(ids)
        sites = self._facts.addresses.sites.take(hosts)
        first = self._facts.comes_first(ids)
        kept = self._frontier.add(ids, hosts, sites, _first_where(first, scores))
        return kept & ~first


def _parent(trace: Trace) -> int:
    """The id of the page whose link was followed, -1 for a seed."""
    return int(trace.inlinks.sources[0]) if len(trace.inlinks.sources) else -1


def _first_where(first: Mask, scores: Floats) -> Floats:
    return np.where(first, np.float32(FIRST_OF_ALL), scores)


_NO_IDS = np.empty(0, np.int32)
