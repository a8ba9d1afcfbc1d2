"""Faults of a server: what goes wrong on real networks, for a share of the requests, and outages.

Which request goes wrong depends only on the seed, the URL and how often it was asked for, so it is the same in each
run. A URL goes wrong at most the first few times: who asks again, in the end gets it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from time import monotonic

from forager_lab.webs.procedural.chance import digest, unit
from forager_lab.webs.server.http import HttpResponse, error, head


class Fault(StrEnum):
    """What goes wrong with a request."""

    RESET = "reset"  # the connection ends, and no answer comes
    SILENCE = "silence"  # the connection stays, and no answer comes
    ERROR = "error"  # 500
    BUSY = "busy"  # 429, with a second to wait
    CUT = "cut"  # the connection ends in the middle of the body
    LONGER = "longer"  # more bytes come than the head says


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which a host, or all of them, cannot be reached. It begins at a number of requests."""

    after: int
    seconds: float
    host: str = ""  # "": all


@dataclass(slots=True)
class FaultPlan:
    """What goes wrong, and when."""

    seed: int = 0
    share: float = 0.0  # of the requests, for each kind of fault
    tries: int = 2  # so often at most a URL goes wrong
    outages: Sequence[Outage] = ()
    happened: Counter[str] = field(default_factory=Counter)
    _asked: Counter[str] = field(default_factory=Counter)
    _began: dict[Outage, float] = field(default_factory=dict)
    _requests: int = 0

    def fault(self, url: str) -> Fault | None:
        """What goes wrong with the next request for a URL. None: nothing."""
        self._requests += 1
        if not self.share:
            return None
        self._asked[url] += 1
        if self._asked[url] > self.tries:
            return None
        drawn = int(unit(digest(self.seed, "fault", url, self._asked[url])) / self.share)
        kinds = list(Fault)
        if drawn >= len(kinds):
            return None
        self.happened[kinds[drawn]] += 1
        return kinds[drawn]

    def is_away(self, host: str) -> bool:
        """Whether a host cannot be reached now."""
        now, away = monotonic(), False
        for outage in self.outages:
            if self._requests >= outage.after:
                began = self._began.setdefault(outage, now)
                away = away or (outage.host in ("", host) and now < began + outage.seconds)
        self.happened["away"] += away
        return away


def faulty(fault: Fault, response: HttpResponse) -> HttpResponse:
    """The response that a fault makes of a good one."""
    if fault is Fault.ERROR:
        return error(500)
    if fault is Fault.BUSY:
        return HttpResponse(429, head(429, {"retry-after": "1"}, b""), b"")
    if fault is Fault.CUT:
        return response._replace(body=response.body[: len(response.body) // 2])
    if fault is Fault.LONGER:
        return response._replace(body=response.body + b"\n<!-- and so on -->" * 3)
    return response
