"""What a server may send that is no page, or has no end. Every answer is a value, in limited time and memory."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from forager.fetch.connection import Limits
from forager.types import Answer, Reason
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
    "two lengths that agree": raw(f"{OK}\nContent-Length: 5\nContent-Length: 5", b"abcde"),
    "a list of lengths": raw(f"{OK}\nContent-Length: 5, 5", b"abcde"),
    "a length with a sign": raw(f"{OK}\nContent-Length: +5", b"abcde"),
    "a length beyond all": raw(f"{OK}\nContent-Length: {'9' * 30}", b"abcde"),
    "length and chunks": raw(f"{OK}\nContent-Length: 3\nTransfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n"),
    "chunks and length": raw(f"{OK}\nTransfer-Encoding: chunked\nContent-Length: 3", b"5\r\nhello\r\n0\r\n\r\n"),
    "length no number": raw(f"{OK}\nContent-Length: many\nConnection: close", b"abcde"),
    "header without a colon": raw(f"{OK}\nnonsense line here", b"x"),
    "long header line": raw(f"{OK}\nX-Long: {'x' * 200_000}", b"x"),
    "many headers": raw(OK + "".join(f"\nX-{n}: y" for n in range(5000)), b"x"),
    "gzip that is none": raw(f"{OK}\nContent-Encoding: gzip", b"<p>not compressed"),
    "zstd that is none": raw(f"{OK}\nContent-Encoding: zstd", b"<p>not compressed"),
    "br that is none": raw(f"{OK}\nContent-Encoding: br", b"<p>not compressed at all, no"),
    "codings without end": raw(f"{OK}\nContent-Encoding: {'gzip,' * 50}gzip", b"x"),
    "101 without being asked": raw("HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\nConnection: upgrade", b"x"),
}


@pytest.mark.parametrize("name", NO_HTTP)
def test_what_is_no_http(name: str) -> None:
    failure = failed(ask(NO_HTTP[name]), Reason.PROTOCOL)
    assert failure.detail
    assert failure.retry_after is None


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


# ---- a length that is wrong -----------------------------------------------------------------------------------------


async def pieces(reply: bytes, size: int, writer: asyncio.StreamWriter) -> None:
    for at in range(0, len(reply), size):
        writer.write(reply[at : at + size])
        await writer.drain()
        await asyncio.sleep(0.002)


TOO_LONG = {
    "text": b" and more",
    "text and a line end": b"\r\n\r\nand more\r\n\r\n",
    "another answer": page(b"<p>of no request"),
    "a byte": b"!",
    "much": b"x" * 200_000,
}


@pytest.mark.parametrize("name", TOO_LONG)
@pytest.mark.parametrize("head", ["\nContent-Length: 4\nConnection: close", "\nContent-Length: 4"])
def test_what_follows_the_stated_length_is_not_ours(head: str, name: str) -> None:
    """The page has the stated length, whether the rest comes in the same packet or later. The connection is not used
    again."""
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"

    async def run() -> tuple[list[Answer], int]:
        reply = raw(f"{OK}{head}", b"<p>x" + TOO_LONG[name])
        acts: dict[str, Act | bytes] = {"/1": reply, "/2": early + reply, "/3": partial(pieces, reply[:300], 7)}
        async with Wire({**acts, "/next": page(b"<p>next")}) as wire, fetcher() as client:
            answers = []
            for path in acts:
                answers.append(await client.fetch(wire.url(path)))
                await asyncio.sleep(0.05)  # as a crawl does; meanwhile the rest comes
                answers.append(await client.fetch(wire.url("/next")))
            return answers, wire.connections

    answers, connections = asyncio.run(run())
    assert [fetched(answer).body for answer in answers] == [b"<p>x", b"<p>next"] * 3
    assert connections == 4  # the good answers between bad ones left theirs open


def test_what_follows_the_last_chunk_is_not_ours() -> None:
    reply = raw(f"{OK}\nTransfer-Encoding: chunked", b"4\r\n<p>x\r\n0\r\n\r\nand more")
    assert fetched(ask(reply)).body == b"<p>x"


def test_an_answer_to_no_request_is_not_taken_for_the_next() -> None:
    """It comes while the connection rests."""

    async def act(writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"<p>first"))
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(page(b"<p>of no request"))
        await writer.drain()
        await asyncio.sleep(5)

    async def run() -> list[Answer]:
        async with Wire({"/first": act, "/next": page(b"<p>next")}) as wire, fetcher() as client:
            first = await client.fetch(wire.url("/first"))
            await asyncio.sleep(0.15)
            return [first, await client.fetch(wire.url("/next"))]

    assert [fetched(answer).body for answer in asyncio.run(run())] == [b"<p>first", b"<p>next"]


def test_what_goes_wrong_in_the_middle_of_a_body_is_told_at_once() -> None:
    """Not after the time for the whole answer."""

    async def act(writer: asyncio.StreamWriter) -> None:
        writer.write(raw(f"{OK}\nTransfer-Encoding: chunked", b"4\r\n<p>x\r\n"))
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(b"no chunk\r\n")
        await asyncio.sleep(60)

    limits = Limits(read=60, total=60)
    failure = failed(asyncio.run(asyncio.wait_for(_one(act, limits), 20)), Reason.PROTOCOL)
    assert failure.status == 200


async def _one(act: Act, limits: Limits) -> Answer:
    async with Wire({"*": act}) as wire, fetcher(limits=limits) as client:
        return await client.fetch(wire.url())


ENDLESS = {
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "empty lines": (b"", b"\r\n" * 10_000),
    "header lines": (b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n" * 50),
    "a header line": (b"HTTP/1.1 200 OK\r\nX-More: ", b"and more " * 500),
    "header lines of the largest size": (b"HTTP/1.1 200 OK\r\n", b"X-More: %s\r\n" % (b"x" * 16_000)),
    "a status line": (b"HTTP/1.1 200 ", b"OK" * 5000),
    "trailers": (raw(f"{OK}\nTransfer-Encoding: chunked", b"4\r\n<p>x\r\n0\r\n"), b"X-More: and more\r\n" * 50),
    "a trailer": (raw(f"{OK}\nTransfer-Encoding: chunked", b"4\r\n<p>x\r\n0\r\nX: "), b"and more " * 500),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_heads_without_end(name: str) -> None:
    limits = Limits(read=60, total=60)
    answer = asyncio.run(asyncio.wait_for(_one(drip(*ENDLESS[name], 0.001), limits), 30))
    assert failed(answer, Reason.PROTOCOL).retry_after is None


@pytest.mark.parametrize("start", [b"5;", b"0"], ids=["a chunk extension", "a chunk size"])
def test_chunk_heads_without_end_end_with_the_time(start: bytes) -> None:
    act = drip(raw(f"{OK}\nTransfer-Encoding: chunked", start), b"0" * 1000, 0.001)
    failed(ask(act, limits=Limits(read=2, total=0.3)), Reason.TIMEOUT)


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
