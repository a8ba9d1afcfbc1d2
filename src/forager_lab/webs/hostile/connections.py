"""Connections that fail, hosts that are away for a while, statuses."""

from __future__ import annotations

import asyncio

from forager_lab.webs.hostile.kinds import (
    HOST_TRIES,
    TRIES,
    Call,
    Reply,
    Wanted,
    a_miss,
    a_page,
    answer,
    constant,
    hostile,
    html,
    page,
    raw,
    waits,
)

AWAY = 5.0  # seconds that an outage lasts


# ---- connections ----------------------------------------------------------------------------------------------------


@hostile("reset", "the connection is reset after the request", waits("unreachable"))
def reset(call: Call) -> Reply:
    call.reset()
    return None


@hostile("reset-in-body", "the connection is reset in the body", a_miss("unreachable", 1 + TRIES))
async def reset_in_body(call: Call) -> Reply:
    await call.send(raw("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 1000", b"<p>only this"))
    call.reset()
    return None


@hostile("silence", "no answer at all", waits("timeout"))
async def silence(call: Call) -> Reply:
    await call.gone()
    return None


hostile(
    "silent-hosts",
    "200 hosts that never answer, asked before all others",
    Wanted(outcome="waits", reason="timeout", requests=200 * (1 + HOST_TRIES), urls=200),
    seeds=[f"http://h{n}.silent-hosts.test/" for n in range(200)],
    group=__name__,
)(silence)


@hostile("refused", "nobody listens", waits("unreachable", 0), listener="refused")
def refused(call: Call) -> Reply:
    return None


@hostile("black-hole", "packets are dropped, so that no connection is made", waits("timeout", 0), listener="hole")
def black_hole(call: Call) -> Reply:
    return None


@hostile("half-close", "the server says that it will send nothing, and goes on listening", waits("unreachable"))
async def half_close(call: Call) -> Reply:
    call.writer.write_eof()
    await call.gone()
    return None


@hostile("half-close-later", "a page, then the same, on a connection that should stay", a_page(4, pages=3))
async def half_close_later(call: Call) -> Reply:
    await call.send(page(call, "/1", "/2"))
    call.writer.write_eof()
    await call.gone()
    return None


@hostile("keep-alive-lie", "a page, and the connection ends although it should stay", a_page(4, pages=3))
async def keep_alive_lie(call: Call) -> Reply:
    await call.send(page(call, "/1", "/2"))
    return None


# ---- TLS: the server takes its greeting for a request ----------------------------------------------------------------


@hostile("tls-plain", "plain HTTP where TLS is expected", a_miss("tls"), seeds=["https://tls-plain.test/"])
def tls_plain(call: Call) -> Reply:
    return answer(b"this is no TLS", status="400 Bad Request")


@hostile("tls-refused", "TLS is refused with an alert", a_miss("tls"), seeds=["https://tls-refused.test/"])
def tls_refused(call: Call) -> Reply:
    return b"\x15\x03\x03\x00\x02\x02\x28"  # fatal: handshake failure


@hostile(
    "tls-silence",
    "the greeting of TLS is never answered",
    waits("timeout"),
    seeds=["https://tls-silence.test/"],
)
async def tls_silence(call: Call) -> Reply:
    await call.gone()
    return None


# ---- away for a while -----------------------------------------------------------------------------------------------


class _Outage:
    """Away for some seconds after so many requests; then all is well."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._until: float | None = None

    def __call__(self, call: Call) -> Reply:
        if self._until is None and call.asked > self._after:
            self._until = call.since + AWAY
        if self._until is not None and call.since < self._until:
            call.reset()
            return None
        return page(call, *(f"/{n}" for n in range(6)))


for _name, _does, _first in (
    ("outage", "the host is away for some seconds, in the middle", 3),
    ("outage-start", "the host is away for some seconds, at the start", 0),
):
    constant(_name, _does, a_page(8 + HOST_TRIES, pages=7), _Outage(_first), __name__)

hostile(
    "outage-all",
    "all hosts of a crawl are away for some seconds, in the middle",
    a_page(8 * 8 + 40, pages=8 * 7),
    seeds=[f"http://h{n}.outage-all.test/" for n in range(8)],
    alone=True,
    group=__name__,
)(_Outage(20))


@hostile("outage-502", "502 twice, then all is well", a_page(5))
def outage_502(call: Call) -> Reply:
    return page(call) if call.count > 2 else answer(b"", status="502 Bad Gateway")


@hostile("outage-503", "503 with a second to wait, then all is well", a_page(4))
def outage_503(call: Call) -> Reply:
    return page(call) if call.count > 1 else answer(b"", "Retry-After: 1", status="503 Service Unavailable")


# ---- statuses -------------------------------------------------------------------------------------------------------


@hostile(
    "busy-429",
    "a page, then 429 for each of its 50 links, with an hour to wait",
    Wanted(outcome="waits", reason="busy", of="http://busy-429.test/0", pages=(1, 1), requests=3),
)
def busy_429(call: Call) -> Reply:
    if call.path == "/":
        return page(call, *(f"/{n}" for n in range(50)))
    return answer(b"", "Retry-After: 3600", status="429 Too Many Requests")


for _name, _does, _status, _wait, _most in (
    ("busy-503", "503, with an hour to wait", "503 Service Unavailable", "3600", 2),
    ("busy-date", "503, until the year 9999", "503 Service Unavailable", "Fri, 31 Dec 9999 23:59:59 GMT", 2),
    ("busy-nonsense", "429, with a time to wait that is none", "429 Too Many Requests", "soon", 1 + HOST_TRIES),
):
    constant(_name, _does, waits("busy", _most), answer(b"", f"Retry-After: {_wait}", status=_status), __name__)

for _code, _phrase, _reason, _tries in (
    (400, "Bad Request", "client-error", 1),
    (401, "Unauthorized", "client-error", 1),
    (403, "Forbidden", "client-error", 1),
    (404, "Not Found", "not-found", 1),
    (410, "Gone", "not-found", 1),
    (500, "Internal Server Error", "server-error", TRIES),
    (501, "Not Implemented", "server-error", 1),
    (999, "Request Denied", "client-error", 1),
):
    constant(
        f"status-{_code}",
        f"{_code}, always",
        a_miss(_reason, 1 + _tries),
        answer(html(str(_code)), status=f"{_code} {_phrase}"),
        __name__,
    )

for _code, _phrase, _reason in (
    (204, "No Content", "not-html"),
    (206, "Partial Content", "protocol"),
    (300, "Multiple Choices", "bad-redirect"),
    (304, "Not Modified", "bad-redirect"),
):
    _head = f"HTTP/1.1 {_code} {_phrase}\nContent-Type: text/html\nConnection: close"
    constant(f"status-{_code}", f"{_code}, which nobody asked for", a_miss(_reason), raw(_head), __name__)


@hostile("status-502", "502, always", waits("server-error"))
async def status_502(call: Call) -> Reply:
    await asyncio.sleep(0)
    return answer(b"", status="502 Bad Gateway")
