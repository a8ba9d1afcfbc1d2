"""How the hosts are, and our own network. What fails for the moment is put off: the host rests, and its links wait.

A failure is *the host's* if no answer came at all (name not found, no connection, silence), or if the answer is about
the host (429, 502, 503, 504). Then the host rests: 2 s, 4 s, 8 s … up to an hour, or as long as it asks. Its links keep
waiting. A failure counts against the *link* only if the host was well before it: so a link that never works is a miss
after some tries, and a host that is away costs no link. A host that stays silent longer than `patience` is given up
until the crawl is started again; its links still wait then.

If hosts that have answered before fall silent together, and nobody answers any more, the fault is *our network's*. Then
nothing is counted against anybody. One link at a time is tried, at growing intervals, until something answers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from forager.fetch.failures import backoff
from forager.types import Failure, Reason

FIRST_REST, LONGEST_REST = 2.0, 3600.0  # seconds; of a host that fails
STRANGER = 300.0  # seconds; a host that has never answered is given up after so long, and so is the network
TOGETHER = 3  # hosts that fall silent one after the other before we doubt our network
FIRST_PROBE, LONGEST_PROBE = 2.0, 60.0  # seconds between two tries while the network is down
ANSWERLESS = frozenset((Reason.DNS, Reason.TIMEOUT, Reason.UNREACHABLE, Reason.TLS, Reason.LOCAL))
# Misses that another try may turn into pages.
MAY_PASS = frozenset(
    (
        *(Reason.DNS, Reason.TIMEOUT, Reason.UNREACHABLE, Reason.TLS, Reason.SERVER_ERROR, Reason.BUSY),
        *(Reason.PROTOCOL, Reason.LOCAL),
    )
)
ABOUT_THE_HOST = frozenset((429, 502, 503, 504))


def is_silent(failure: Failure) -> bool:
    """Whether no answer came at all."""
    return failure.status == 0 and failure.reason in ANSWERLESS


class Setback(NamedTuple):
    """What follows from a failure that may pass."""

    rest: float  # seconds, of the host; inf: it is given up
    wait: float  # seconds, of the link
    attempt: int  # failures of the link so far that count
    final: bool = False  # they are too many


@dataclass(slots=True)
class HostHealth:
    """One host."""

    answered: bool = False  # ever
    failures: int = 0  # in a row
    since: float = inf  # when the first of them was
    given_up: bool = False


@dataclass(slots=True)
class Network:
    """Our own network, judged by who answers."""

    down_since: float | None = None
    reason: str = ""  # of the last failure, in words
    probe_at: float = -inf  # no try before, while it is down
    _gap: float = FIRST_PROBE
    _heard: set[int] = field(default_factory=set)  # hosts that have answered in this session
    _silent: set[int] = field(default_factory=set)  # hosts that were silent since anybody answered
    _in_a_row: int = 0  # failures since anybody answered

    @property
    def ever_up(self) -> bool:
        """Whether anybody has answered in this session."""
        return bool(self._heard)

    def heard(self, host: int) -> None:
        """Somebody has answered."""
        self._heard.add(host)
        self._silent.clear()
        self._in_a_row, self._gap, self.down_since = 0, FIRST_PROBE, None

    def silent(self, host: int, failure: Failure, now: float) -> None:
        """Somebody has not answered."""
        self._silent.add(host)
        self._in_a_row += 1
        self.reason = failure.detail or str(failure.reason)
        if self.down_since is None:
            if failure.reason is Reason.LOCAL or self._all_silent():
                self.down_since, self.probe_at = now, now + self._gap
        elif now >= self.probe_at:  # a try has failed; requests that began before and fail now say nothing new
            self._gap = min(1.5 * self._gap, LONGEST_PROBE)
            self.probe_at = now + self._gap

    def _all_silent(self) -> bool:
        """Whether nobody is heard any more of those who were. If nobody ever was, any three failures will do."""
        once_heard = len(self._silent & self._heard)
        return self._in_a_row >= TOGETHER and once_heard >= min(TOGETHER, len(self._heard))


class Health:
    """All hosts of a crawl, by number, and how often each link has failed."""

    def __init__(self, retries: int, patience: float) -> None:
        """A link may fail `retries` times more than once. `patience`: seconds of silence until a host is given up."""
        self._retries, self._patience = retries, patience
        self._hosts: dict[int, HostHealth] = {}
        self.attempts: Counter[int] = Counter()  # failures that count, by id of the link
        self.network = Network()

    def answered(self, host: int) -> None:
        """The host has answered, and not with a failure of its own."""
        self._host(host).answered = True
        self.network.heard(host)
        known = self._hosts[host]
        known.failures, known.since = 0, inf

    def setback(self, failure: Failure, host: int, id: int | None, now: float) -> Setback:
        """What follows from a failure that may pass. `id`: of the link; None if it was not the link that was asked."""
        if not is_silent(failure):
            self.network.heard(host)
        elif not failure.reached:
            self.network.silent(host, failure, now)
            if self.network.down_since is not None:
                gap = self.network.probe_at - now
                return Setback(gap, gap, 0 if id is None else self.attempts[id])
        known = self._host(host)
        was_well = known.failures == 0
        rest = self._rest(known, failure, now, of_link=id is not None)
        if id is None or not (was_well or rest == 0.0):
            return Setback(rest, rest + 1.0, 0 if id is None else self.attempts[id])  # others of the host come first
        self.attempts[id] += 1
        attempt = self.attempts[id]
        wait = max(rest, backoff(failure.url, attempt))
        return Setback(rest, wait, attempt, final=attempt > self._retries)

    def _rest(self, known: HostHealth, failure: Failure, now: float, *, of_link: bool) -> float:
        """How long the host should rest; 0 if the failure is not its own. What is no failure `of_link` is."""
        if not is_silent(failure):
            known.answered = True
            if of_link and failure.reason is not Reason.BUSY and failure.status not in ABOUT_THE_HOST:
                known.failures, known.since = 0, inf
                return 0.0
        known.failures += 1
        known.since = min(known.since, now)
        patience = self._patience if known.answered else min(self._patience, STRANGER)
        if now - known.since > patience:
            known.given_up = True
            return inf
        asked = (failure.retry_after or 0.0) if failure.reason is Reason.BUSY else 0.0
        return max(asked, backoff(failure.url, known.failures, FIRST_REST, LONGEST_REST))

    def recall(self, host: int, id: int, attempt: int, *, answered: bool) -> None:
        """Take in a failure of an earlier session: how often it counted against the link."""
        if attempt:
            self.attempts[id] = attempt
        known = self._host(host)
        known.answered = known.answered or answered

    @property
    def given_up(self) -> list[int]:
        """The hosts that were given up in this session."""
        return [host for host, known in self._hosts.items() if known.given_up]

    def spent(self, now: float) -> bool:
        """Whether the network has been down for too long."""
        down = self.network.down_since
        patience = self._patience if self.network.ever_up else min(self._patience, STRANGER)
        return down is not None and now - down > patience

    def _host(self, number: int) -> HostHealth:
        known = self._hosts.get(number)
        if known is None:
            known = self._hosts[number] = HostHealth()
        return known
