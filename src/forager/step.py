"""One visit, in the order in which it happens; the crawl, the cluster and the laboratory all go through here.

    answer -> page -> judgement -> what is known of its links -> the strategy learns -> scored links -> frontier

The step owns no network, no disk and no clock: an answer comes in, an outcome goes out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from forager.frontier.facts import Facts
from forager.scope import Scope
from forager.types import (
    FIRST_OF_ALL,
    Candidate,
    Critic,
    Failure,
    Fetch,
    Floats,
    Frontier,
    Ids,
    Learns,
    Mask,
    Miss,
    Page,
    Reason,
    Redirect,
    Rescores,
    Strategy,
    Trace,
    Url,
    Visit,
)

Reader: TypeAlias = Callable[[Fetch], Page | Failure]  # page.parse, or a cache before it


class Step:
    def __init__(
        self, *, read: Reader, critic: Critic, strategy: Strategy, scope: Scope, facts: Facts, frontier: Frontier
    ) -> None:
        self._read, self._critic, self._strategy, self._scope = read, critic, strategy, scope
        self._facts, self._frontier = facts, frontier
        self._learner = strategy if isinstance(strategy, Learns) else None
        self.rejected: Counter[str] = Counter()  # links the scope kept out, by rule
        self.labels: dict[int, str] = {}  # what the strategy took pages for

    def sow(self, seeds: Sequence[Url]) -> None:
        """Let the seeds wait, before everything else, in the order given."""
        self._add(self._facts.sow(seeds), np.full(len(seeds), FIRST_OF_ALL, np.float32))

    def visit(self, answer: Fetch, trace: Trace) -> Visit | Miss:
        """Take in an answer with a body: everything that follows from one page."""
        page = self._read(answer)
        if isinstance(page, Failure):
            return self.miss(page, trace)
        judgement = self._critic.judge([page])[0]
        admission = self._scope.admit(page.links.targets, trace.depth + 1)
        self.rejected += admission.rejected
        links = page.links.take(admission.rows)
        ids = self._facts.intern(links.targets)
        visit = Visit(page, links, judgement, trace, self._facts.known(ids))
        evidence = self._facts.judge(trace, judgement)
        if self._learner:
            self._learner.observe(visit, evidence)
        scored = self._strategy.score(visit)
        if scored.label is not None:
            self.labels[trace.id] = scored.label
        self._facts.found(trace.id, ids, scored, self._add(ids, scored.scores))
        return visit

    def miss(self, failure: Failure, trace: Trace) -> Miss:
        """Take in an answer that brought no page."""
        miss = Miss(failure.url, trace, failure.reason, failure.detail)
        if self._learner:
            self._learner.observe(miss, self._facts.evidence())
        return miss

    def redirect(self, answer: Redirect, candidate: Candidate, trace: Trace) -> Url | Miss | None:
        """Take in a redirect: where to go on under the same lease, or what came of it. None: the target waits in a lane
        of its own, with the score of the link that led to it."""
        admission = self._scope.admit([answer.target], trace.depth)
        if not admission.rows:
            self.rejected += admission.rejected
            return self.miss(Failure(answer.url, Reason.BAD_REDIRECT, f"{answer.target} is out of scope"), trace)
        target = self._facts.intern([answer.target])
        self._facts.redirect(trace.id, int(target[0]))
        if self._facts.judged(int(target[0])):
            return self.miss(Failure(answer.url, Reason.DUPLICATE, f"leads to {answer.target}"), trace)
        if self._facts.addresses.hosts[target[0]] == candidate.lane:
            self._frontier.drop(target)
            return answer.target
        self._add(target, np.full(1, candidate.score, np.float32))
        return None

    def sweep(self) -> None:
        """Let the strategy score again all that waits, but for the seeds."""
        if isinstance(self._strategy, Rescores):
            waiting = self._facts.waiting(self._frontier)
            scores = list(self._strategy.rescore(waiting, self._facts.graph()))
            ids = self._frontier.waiting
            self._frontier.reorder(ids, self._seeds_first(ids, np.concatenate([np.empty(0, np.float32), *scores])))

    def _add(self, ids: Ids, scores: Floats) -> Mask:
        """Offer links to the frontier; a seed found on a page stays a seed."""
        hosts = self._facts.addresses.hosts[ids]
        sites = self._facts.addresses.sites[hosts]
        return self._frontier.add(ids, hosts, sites, self._seeds_first(ids, scores)) & ~self._facts.is_seed(ids)

    def _seeds_first(self, ids: Ids, scores: Floats) -> Floats:
        return np.where(self._facts.is_seed(ids), np.float32(FIRST_OF_ALL), scores)
