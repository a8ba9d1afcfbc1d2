"""Whose fault a failure is, what took too long, and how long to wait before asking again."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.fetch import failures
from forager.fetch.connection import Limits
from forager.fetch.failures import backoff, has_route, of_error, one_line
from forager.types import Answer, Failure, Reason, Url
from tests.fetch.wire import Act, Wire, ask, drip, failed, fetched, fetcher, page, raw, visit

URL = Url("http://h.test/")


def test_waits_double_up_to_the_longest() -> None:
    for attempt, middle in ((1, 10), (2, 20), (3, 40), (5, 160), (9, 2560), (10, 3600), (10_000, 3600)):
        assert 0.75 * middle <= backoff(URL, attempt) < 1.25 * middle
    assert 0.75 <= backoff(URL, 1, first=1.0) < 1.25
    assert 3.75 <= backoff(URL, 30, longest=5.0) < 6.25


def test_waits_differ_between_urls_and_attempts_and_not_between_crawls() -> None:
    waits = [backoff(Url(f"http://h.test/{n}"), 1) for n in range(1000)]
    assert len(set(waits)) == 1000
    assert 9.8 < sum(waits) / 1000 < 10.2
    assert waits == [backoff(Url(f"http://h.test/{n}"), 1) for n in range(1000)]
    assert backoff(URL, 2) != 2 * backoff(URL, 1)


@given(st.text())
def test_a_detail_is_one_short_line_that_can_be_written_anywhere(text: str) -> None:
    line = one_line(text)
    line.encode()
    assert len(line) <= 300
    assert line.isprintable() or not any(ord(character) < 32 for character in line)


# ---- faults of ours -------------------------------------------------------------------------------------------------


def test_running_out_of_files_is_our_fault_and_passes() -> None:
    async def run() -> list[Answer]:
        async with Wire({"*": page(b"x", "Connection: close")}) as wire, fetcher() as client:
            last = os.dup(0)  # the lowest that is free; all below are taken
            os.close(last)
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (last, hard))
            try:
                refused = [await client.fetch(wire.url())]
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            return [*refused, await client.fetch(wire.url())]

    refused, later = asyncio.run(run())
    failure = failed(refused, Reason.LOCAL)
    assert "Too many open files" in failure.detail
    assert failure.retry_after is not None
    assert failure.status == 0
    fetched(later)


OURS = ["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL"]


@pytest.mark.parametrize("name", OURS)
def test_what_is_used_up_here(name: str) -> None:
    """Whether it happens at the lookup or at the socket."""
    error = OSError(getattr(errno, name), "none left")

    def lookup(host: str) -> list[str]:
        raise error

    for answer in (visit("http://a.example/", lookup=lookup)[0], of_error(URL, error)):
        assert isinstance(answer, Failure)
        assert (answer.reason, answer.detail) == (Reason.LOCAL, "here: none left")
        assert answer.retry_after is not None


def test_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert "new thread" in failed(visit("http://a.example/")[0], Reason.LOCAL).detail


def test_no_more_memory() -> None:
    assert of_error(URL, MemoryError()).reason is Reason.LOCAL


@pytest.mark.parametrize("name", ["ENETUNREACH", "ENETDOWN"])
def test_a_network_that_cannot_be_reached_is_our_fault_if_no_other_can(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = OSError(getattr(errno, name), "Network is unreachable")
    for route, reason in ((False, Reason.LOCAL), (True, Reason.UNREACHABLE)):
        monkeypatch.setattr(failures, "has_route", lambda route=route: route)
        failure = of_error(URL, error)
        assert failure.reason is reason
        assert failure.retry_after is not None


def test_a_host_with_ipv6_alone_is_not_our_fault_where_there_is_only_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "has_route", lambda: True)
    for address, reason in (("'2606:4700::1', 80, 0, 0", Reason.UNREACHABLE), ("'8.8.8.8', 80", Reason.LOCAL)):
        error = OSError(errno.EADDRNOTAVAIL, f"Connect call failed ({address})")
        assert of_error(URL, error).reason is reason


def test_a_machine_without_a_network_has_no_route(monkeypatch: pytest.MonkeyPatch) -> None:
    class Alone(socket.socket):
        def connect(self, address: object) -> None:
            raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket, "socket", Alone)
    assert not has_route()


# ---- what took too long ---------------------------------------------------------------------------------------------

OK = "HTTP/1.1 200 OK\nContent-Type: text/html"
QUIET, SHORT = Limits(read=0.15, total=5), Limits(read=2, total=0.3)
SLOW: dict[str, tuple[Act, Limits, str, int]] = {
    "no answer": (drip(b""), QUIET, "head: nothing came for too long", 0),
    "half a head": (drip(b"HTTP/1.1 200 OK\r\n"), QUIET, "head: nothing came for too long", 0),
    "half a body": (drip(raw(OK, b"<p>")), QUIET, "body: nothing came for too long", 200),
    "a dripping head": (drip(b"HTTP/1.1 200 OK\r\nX: ", b"x"), QUIET, "head: it came too slowly", 0),
    "a late head": (drip(b"HTTP/1.1 200 OK\r\n"), SHORT, "total: the head was not whole", 0),
    "a dripping body": (drip(raw(OK), b"x"), SHORT, "total: the body was not whole", 200),
}


@pytest.mark.parametrize("name", SLOW)
def test_what_took_too_long_is_told(name: str) -> None:
    act, limits, detail, status = SLOW[name]
    failure = failed(ask(act, limits=limits), Reason.TIMEOUT)
    assert failure.detail.startswith(detail)
    assert failure.status == status
    assert failure.retry_after is not None


def test_connecting_took_too_long() -> None:
    """TLS with a server that says nothing."""

    async def run() -> Answer:
        async with Wire({}) as wire, fetcher(limits=Limits(connect=0.15)) as client:
            return await client.fetch(wire.url(scheme="https"))

    failure = failed(asyncio.run(run()), Reason.TIMEOUT)
    assert (failure.detail, failure.status) == ("connect: no connection in the time allowed", 0)
    assert failure.retry_after is not None


@pytest.mark.parametrize(
    ("reply", "reason", "status"),
    [
        (raw(f"{OK}\nContent-Length: 1000\nConnection: close", b"<p>only this"), Reason.UNREACHABLE, 200),
        (
            raw("HTTP/1.1 200 OK\nContent-Type: text/html\nTransfer-Encoding: chunked", b"5\r\nhello"),
            Reason.UNREACHABLE,
            200,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Ty", Reason.UNREACHABLE, 0),
        (b"", Reason.UNREACHABLE, 0),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Reason.PROTOCOL, 0),
        (raw(f"{OK}\nContent-Encoding: gzip", b"<p>not compressed"), Reason.PROTOCOL, 200),
    ],
)
def test_the_status_tells_whether_a_head_had_come(reply: bytes, reason: Reason, status: int) -> None:
    async def act(writer: asyncio.StreamWriter) -> None:
        writer.write(reply)

    assert failed(ask(act), reason).status == status


def test_a_detail_is_printable_whatever_a_host_says() -> None:
    assert one_line("text/\u202ehtml \ufeff\r\n\x1b[31m\ud800 x") == "text/html [31m x"
