"""What a server may send that is no page, or has no end. Every answer is a value, in limited time and memory."""

from __future__ import annotations

import asyncio

import pytest

from forager.fetch.http import Limits
from forager.types import Fetch, Reason
from tests.fetch.wire import QUICK, Act, Wire, ask, drip, failed, fetched, fetcher, page, raw

# ---- what comes is no HTTP ------------------------------------------------------------------------------------------

OK = "HTTP/1.1 200 OK\nContent-Type: text/html"
NO_HTTP = {
    "HTTP/0.9": b"<html><body>what is a status line?</body></html>",
    "garbage": bytes(range(128, 256)) * 10,
    "TLS alert": b"\x15\x03\x01\x00\x02\x02\x28",
    "SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
    "status no number": b"HTTP/1.1 abc OK\r\n\r\n",
    "chunk size no number": raw(f"{OK}\nTransfer-Encoding: chunked", b"zz\r\nhello\r\n0\r\n\r\n"),
    "chunk longer than it says": raw(f"{OK}\nTransfer-Encoding: chunked", b"2\r\nhello\r\n0\r\n\r\n"),
    "two lengths": raw(f"{OK}\nContent-Length: 3\nContent-Length: 5\nConnection: close", b"abcde"),
    "length no number": raw(f"{OK}\nContent-Length: many\nConnection: close", b"abcde"),
    "header without a colon": raw(f"{OK}\nnonsense line here", b"x"),
    "long header line": raw(f"{OK}\nX-Long: {'x' * 200_000}", b"x"),
    "many headers": raw(OK + "".join(f"\nX-{n}: y" for n in range(5000)), b"x"),
    "gzip that is none": raw(f"{OK}\nContent-Encoding: gzip", b"<p>not compressed"),
    "br that is none": raw(f"{OK}\nContent-Encoding: br", b"<p>not compressed at all, no"),
    "codings without end": raw(f"{OK}\nContent-Encoding: {'gzip,' * 50}gzip", b"x"),
    "101 without being asked": raw("HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\nConnection: upgrade", b"x"),
}


@pytest.mark.parametrize("name", NO_HTTP)
def test_what_is_no_http(name: str) -> None:
    failure = failed(ask(NO_HTTP[name]), Reason.PROTOCOL)
    assert failure.detail
    assert failure.retry_after is None


def test_headers_without_end() -> None:
    failed(ask(drip(b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n" * 50, 0.005)), Reason.PROTOCOL)
    failed(ask(drip(b"HTTP/1.1 200 OK\r\nX-More: ", b"and more " * 500, 0.005)), Reason.PROTOCOL)


def test_interim_answers_are_passed_over() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    assert fetched(ask(early + page(b"<p>now"))).body == b"<p>now"


BROKEN_OFF = {
    "at once": b"",
    "in the head": b"HTTP/1.1 200 OK\r\nContent-Ty",
    "in the body": raw(f"{OK}\nContent-Length: 1000\nConnection: close", b"<p>only this"),
    "in a chunk": raw(f"{OK}\nTransfer-Encoding: chunked", b"ff\r\nhello"),
    "between chunks": raw(f"{OK}\nTransfer-Encoding: chunked", b"5\r\nhello\r\n"),
}


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_what_breaks_off_may_be_asked_again(name: str) -> None:
    async def act(writer: asyncio.StreamWriter) -> None:
        writer.write(BROKEN_OFF[name])

    failure = failed(ask(act), Reason.UNREACHABLE)
    assert failure.retry_after is not None


def test_a_reset_is_unreachable() -> None:
    async def act(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")
        await writer.drain()
        writer.transport.abort()

    assert failed(ask(act), Reason.UNREACHABLE).retry_after is not None


def test_a_lost_connection_is_not_asked_again_behind_our_back() -> None:
    async def run() -> Wire:
        async with Wire({"*": raw("")}) as wire, fetcher() as client:
            failed(await client.fetch(wire.url()), Reason.UNREACHABLE)
        return wire

    assert len(asyncio.run(run()).requests) == 1


def test_bodies_of_no_stated_length_end_with_the_connection() -> None:
    assert fetched(ask(raw(OK, b"<p>all of it"))).body == b"<p>all of it"


@pytest.mark.parametrize("end", ["\nConnection: close", ""])
def test_what_follows_the_stated_length_is_not_ours(end: str) -> None:
    """If the rest comes in the same packet, the parser refuses the whole answer. Else the page has the stated
    length."""
    answer = ask(raw(f"{OK}\nContent-Length: 4{end}", b"<p>x and more"))
    assert fetched(answer).body == b"<p>x" if isinstance(answer, Fetch) else failed(answer, Reason.PROTOCOL)


# ---- time -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "act",
    [drip(b""), drip(b"HTTP/1.1 200 OK\r\n"), drip(raw(f"{OK}\nContent-Length: 1000", b"<p>"))],
    ids=["no answer", "half a head", "a promised body"],
)
def test_silence_ends_with_the_read_timeout(act: Act) -> None:
    failure = failed(ask(act, limits=Limits(read=0.15, total=5)), Reason.TIMEOUT)
    assert 0.1 < failure.seconds < 1
    assert failure.retry_after is not None


@pytest.mark.parametrize(
    "act", [drip(raw(OK), b"x"), drip(b"HTTP/1.1 200 OK\r\nX: ", b"x")], ids=["a dripping body", "a dripping head"]
)
def test_a_drip_ends_with_the_total_timeout(act: Act) -> None:
    failure = failed(ask(act, limits=Limits(read=0.2, total=0.3)), Reason.TIMEOUT)
    assert 0.25 < failure.seconds < 1


def test_cancelling_is_the_one_thing_raised() -> None:
    async def run() -> None:
        async with Wire({"*": drip(b"")}) as wire, fetcher() as client:
            task = asyncio.create_task(client.fetch(wire.url()))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


# ---- size -----------------------------------------------------------------------------------------------------------


def test_a_length_over_the_limit_is_not_read() -> None:
    endless = drip(raw(f"{OK}\nContent-Length: 5000000"))
    assert "5,000,000" in failed(ask(endless), Reason.TOO_LARGE).detail


def test_a_body_without_end_is_cut_at_the_limit() -> None:
    failure = failed(ask(drip(raw(OK), b"x" * 100_000, 0.001)), Reason.TOO_LARGE)
    assert failure.status == 200


def test_the_largest_body_is_a_page_and_one_byte_more_is_not() -> None:
    body = b"x" * QUICK.largest
    assert len(fetched(ask(page(body))).body) == QUICK.largest
    failed(ask(raw(OK, body + b"x")), Reason.TOO_LARGE)
