"""One visit, in the order in which it happens; the crawl, the cluster and the laboratory all go through here.

    page -> judgement -> what is known of its links -> the strategy learns -> scored links -> frontier -> kept

The step owns no network, no disk and no clock: an answer comes in, an outcome goes out, and what is worth keeping of it
is handed to `keep`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from forager.crawl.sweep import Sweep
from forager.frontier.facts import Facts
from forager.types import (
    FIRST_OF_ALL,
    Answer,
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
    ScoredLinks,
    Strategy,
    Trace,
    Url,
    Visit,
)
from forager.web.scope import Scope

Reader: TypeAlias = Callable[[Fetch], Page | Failure]  # page.parse, or a cache before it


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """An answer taken in, with all that followed from it."""

    answer: Answer
    trace: Trace
    outcome: Visit | Miss | None  # None: a redirect to go after, or a failure to be tried again
    found: int  # addresses known before; those from here on are new
    ids: Ids  # of the visit's links, or the target of a redirect
    scored: ScoredLinks | None = None


class Step:
    def __init__(
        self,
        *,
        critic: Critic,
        strategy: Strategy,
        scope: Scope,
        facts: Facts,
        frontier: Frontier,
        keep: Callable[[Taken], None] = lambda taken: None,
    ) -> None:
        self._critic, self._strategy, self._scope = critic, strategy, scope
        self._facts, self._frontier, self._keep = facts, frontier, keep
        self._learner = strategy if isinstance(strategy, Learns) else None
        self.rejected: Counter[str] = Counter()  # links the scope kept out, by rule

    def sow(self, seeds: Sequence[Url]) -> None:
        """Let the seeds wait, before everything else, in the order given."""
        self.offer(self._facts.sow(seeds), np.full(len(seeds), FIRST_OF_ALL, np.float32))

    def visit(self, page: Page, answer: Fetch, trace: Trace) -> Visit:
        """Take in a page: everything that follows from it."""
        before = len(self._facts.addresses)
        judgement = self._critic.judge([page])[0]
        admission = self._scope.admit(page.links.targets, trace.depth + 1)
        links = page.links
        if len(admission.rows) < len(links):
            self.rejected.update(admission.rejected)
            links = links.take(admission.rows)
        ids = self._facts.intern(links.targets)
        visit = Visit(page, links, judgement, trace, self._facts.known(ids))
        evidence = self._facts.judge(trace, judgement)
        if self._learner:
            self._learner.observe(visit, evidence)
        scored = self._strategy.score(visit)
        self._facts.found(trace.id, ids, scored, self.offer(ids, scored.scores))
        self._keep(Taken(answer, trace, visit, before, ids, scored))
        return visit

    def miss(self, failure: Failure, answer: Answer, trace: Trace) -> Miss:
        """Take in that there is no page, and why: `failure` may be what became of another answer."""
        miss = self.tell(Miss(failure.url, trace, failure.reason, failure.detail))
        self._keep(Taken(answer, trace, miss, len(self._facts.addresses), _NO_IDS))
        return miss

    def put_off(self, failure: Failure, trace: Trace) -> None:
        """Take in a failure for the moment: the link will be tried again."""
        self._keep(Taken(failure, trace, None, len(self._facts.addresses), _NO_IDS))

    def tell(self, miss: Miss) -> Miss:
        """Show a miss to a strategy that learns."""
        if self._learner:
            self._learner.observe(miss, self._facts.evidence())
        return miss

    def redirect(self, answer: Redirect, candidate: Candidate, trace: Trace) -> Url | Miss | None:
        """Take in a redirect: where to go on under the same lease, or what came of it. None: the target waits in a lane
        of its own, with the score of the link that led to it."""
        admission = self._scope.admit([answer.target], trace.depth)
        if not admission.rows:
            self.rejected += admission.rejected
            wrong = Failure(answer.url, Reason.BAD_REDIRECT, f"{answer.target} is out of scope")
            return self.miss(wrong, answer, trace)
        before = len(self._facts.addresses)
        target = self._facts.intern([answer.target])
        onward = self.moved(answer, target, candidate, trace)
        self._keep(Taken(answer, trace, onward if isinstance(onward, Miss) else None, before, target))
        return onward

    def moved(self, answer: Redirect, target: Ids, candidate: Candidate, trace: Trace) -> Url | Miss | None:
        """What `redirect` gives, when the target is in scope and has an id."""
        self._facts.redirect(trace.id, int(target[0]))
        if self._facts.judged(int(target[0])):
            return self.tell(Miss(answer.url, trace, Reason.DUPLICATE, f"leads to {answer.target}"))
        if self._facts.addresses.hosts[target[0]] == candidate.lane:
            self._frontier.drop(target)
            return answer.target
        self.offer(target, np.full(1, candidate.score, np.float32))
        return None

    def sweep(self) -> None:
        """Let the strategy score again all that waits, but for the seeds."""
        if isinstance(self._strategy, Rescores):
            policy = self._strategy.combine.policy
            self.swap(*Sweep(self._strategy, policy, self._facts, self._frontier).run_inline())

    def swap(self, ids: Ids, scores: Floats, links: Ids) -> None:
        """Put in what a sweep has found: new scores, and the links that have them."""
        self._frontier.reorder(ids, self._seeds_first(ids, scores))
        self._facts.keep(ids, links)

    def offer(self, ids: Ids, scores: Floats) -> Mask:
        """Offer links to the frontier; a seed found on a page stays a seed."""
        hosts = self._facts.addresses.hosts.take(ids)
        sites = self._facts.addresses.sites.take(hosts)
        is_seed = self._facts.is_seed(ids)
        kept = self._frontier.add(ids, hosts, sites, _first_where(is_seed, scores))
        return kept & ~is_seed

    def _seeds_first(self, ids: Ids, scores: Floats) -> Floats:
        return _first_where(self._facts.is_seed(ids), scores)


def _first_where(is_seed: Mask, scores: Floats) -> Floats:
    return np.where(is_seed, np.float32(FIRST_OF_ALL), scores)


_NO_IDS = np.empty(0, np.int32)
