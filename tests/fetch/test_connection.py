"""Answers are read whole, in whatever packets they come and however little memory there is."""

from __future__ import annotations

import asyncio
import gzip
from itertools import pairwise
from random import Random

import pytest
from aiohttp.http_exceptions import HttpProcessingError
from hypothesis import given
from hypothesis import strategies as st

from forager.clock import WallClock
from forager.config import CrawlConfig, FetchConfig
from forager.crawl.asking import LaneErrands
from forager.crawl.build import open_web
from forager.crawl.state import CrawlState
from forager.fetch.connection import LONGEST_HEAD, AnswerReader, Limits
from forager.fetch.http import HttpFetcher
from forager.strategies import BreadthFirst
from forager.types import Answer, Failure, Reason, Url
from tests.fetch.wire import Wire, fetched, fetcher, page, raw

OK = "HTTP/1.1 200 OK\nContent-Type: text/html"
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"


class Line(asyncio.Transport):
    """A transport that only knows whether it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


async def read(packets: list[bytes], **limits: int) -> tuple[int, bytes, bool]:
    """Status and body of what comes in these packets, and whether the connection can be used again. When it is closed,
    nothing more comes."""
    reader, line = AnswerReader(asyncio.get_running_loop()), Line()
    reader.connection_made(line)
    reader.set_response_params(read_until_eof=True, auto_decompress=False, **limits)
    for packet in packets:
        if not line.closed:
            reader.data_received(packet)
    message, payload = await reader.read()
    while 100 <= message.code < 200:
        message, payload = await reader.read()
    body = b""
    while chunk := await payload.readany():
        body += chunk
    return message.code, body, not line.closed and not reader.should_close


def packed(reply: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(reply) + 1) for cut in cuts), len(reply)]
    return [reply[start:end] for start, end in pairwise(places) if start < end]


@given(
    st.binary(max_size=300),
    st.binary(max_size=60) | st.just(page(b"another")) | st.just(b"\r\n"),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2),
    st.lists(st.integers(0, 1000), max_size=12),
)
def test_any_body_in_any_packets_with_anything_after_it(
    body: bytes, more: bytes, chunked: bool, bare: bool, early: int, cuts: list[int]
) -> None:
    if chunked:
        chunks = [body[at : at + 50] for at in range(0, len(body), 50)]
        reply = raw(f"{OK}\nTransfer-Encoding: chunked") + b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in chunks)
        reply += b"0\r\n\r\n"
    else:
        reply = raw(f"{OK}\nContent-Length: {len(body)}") + body
    if bare and not chunked:  # line ends without carriage returns, as some servers have them
        head, _, rest = reply.partition(b"\r\n\r\n")
        reply = head.replace(b"\r\n", b"\n") + b"\n\n" + rest
    packets = packed(EARLY * early + reply + more, cuts)
    status, found, again = asyncio.run(read(packets))
    assert (status, found) == (200, body)
    assert not again or not more.strip(b"\r\n")


@given(st.binary(max_size=400), st.lists(st.integers(0, 1000), max_size=6))
def test_any_bytes_are_an_answer_or_an_error(reply: bytes, cuts: list[int]) -> None:
    async def run() -> None:
        task = asyncio.ensure_future(read(packed(reply, cuts)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()  # it may wait for more
        (told,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(told, tuple | HttpProcessingError | asyncio.CancelledError), told

    asyncio.run(run())


def test_a_long_head_is_read_and_a_longer_one_is_not() -> None:
    lines = [f"X-{n}: {'x' * 1000}" for n in range(LONGEST_HEAD // 1100)]
    reply = page(b"<p>x", *lines)
    packets = [reply[at : at + 1000] for at in range(0, len(reply), 1000)]
    limits = {"max_line_size": 16_384, "max_field_size": 16_384, "max_headers": 10_000}
    assert asyncio.run(read(packets, **limits))[:2] == (200, b"<p>x")
    reply = page(b"<p>x", *lines, *lines)
    packets = [reply[at : at + 1000] for at in range(0, len(reply), 1000)]
    with pytest.raises(HttpProcessingError, match="a head of more than 262,144 bytes"):
        asyncio.run(read(packets, **limits))


def test_large_bodies_in_little_memory() -> None:
    body = Random(1).randbytes(1_500_000)
    chunks = [body[at : at + 70_001] for at in range(0, len(body), 70_001)]
    in_chunks = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    replies = {
        "/length": page(body),
        "/close": raw(OK, body),
        "/both": page(body, "Connection: close"),
        "/chunks": raw(f"{OK}\nTransfer-Encoding: chunked\nConnection: close", in_chunks),
        "/gzip": raw(f"{OK}\nContent-Encoding: gzip", gzip.compress(body, 1)),
    }

    async def run() -> list[Answer]:
        limits = Limits(memory=2_000_000)
        async with (
            Wire(replies) as wire,
            fetcher(limits=limits, resolve={"*.test": f"127.0.0.1:{wire.port}"}) as client,
        ):
            urls = [Url(f"http://h{n}.test{path}") for n in range(4) for path in replies]
            return await asyncio.gather(*map(client.fetch, urls))

    assert all(fetched(answer).body == body for answer in asyncio.run(run()))


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_a_wrong_chunk_after_the_end_of_a_packet_is_told_at_once(cut: int) -> None:
    """The end of the chunk before wakes the reader, who would wait for more until the time is up."""
    begun = raw(f"{OK}\nTransfer-Encoding: chunked", b"1\r\nx" + b"\r\n"[:cut])

    async def reply(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(begun)
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(b"\r\n"[cut:] + b"wrong\r\n")
        await writer.drain()
        writer.close()

    async def run() -> Answer:
        server = await asyncio.start_server(reply, "127.0.0.1", 0)
        url = Url(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        async with server, fetcher(limits=Limits(total=300, read=300)) as client:
            return await asyncio.wait_for(client.fetch(url), 60)

    answer = asyncio.run(run())
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.PROTOCOL


def test_a_large_body_holds_its_memory_for_those_who_let_go_of_it() -> None:
    async def run() -> list[bool]:
        async with Wire({"/": page(bytes(900_000))}) as wire, fetcher() as client:
            client.holds_bodies = True
            answer = await client.fetch(wire.url())
            held = [client._memory.taken > 0]
            del answer
            await asyncio.sleep(0)
            return [*held, client._memory.taken > 0]

    assert asyncio.run(run()) == [True, False]


def test_a_crawl_lets_go_of_its_answers() -> None:
    async def run() -> bool:
        config = CrawlConfig(seeds=("http://a.test/",), fetch=FetchConfig(contact="me@example.org"))
        state = CrawlState.empty(BreadthFirst())
        errands = LaneErrands(state, WallClock(), 0.0, lambda answer: None)
        async with open_web(config, WallClock(), errands) as web:
            return isinstance(web.fetcher, HttpFetcher) and web.fetcher.holds_bodies

    assert asyncio.run(run())
