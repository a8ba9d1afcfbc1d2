"""The procedural web over real sockets: what it answers, whom it refuses, what it saw, and when it ends."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from socket import AF_INET, AddressFamily

import pytest
from aiohttp import ClientSession, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult

from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server import ADDRESS, Server
from forager_lab.webs.server.log import LoggedRequest, impolite, read_log

WEB = ProceduralWeb(WebPlan(hosts=12, pages_per_host=20))
HOMES = [str(url) for url in WEB.homes()]
HOST = HOMES[0].removeprefix("http://").rstrip("/")
PAGES = [str(url) for url, _ in WEB.labels()]
LINKED = list(dict.fromkeys(str(link) for page in PAGES[::5] for link in WEB.links(page)))


class Here(AbstractResolver):
    """Every name is the server's port on this machine."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(self, host: str, port: int = 0, family: AddressFamily = AF_INET) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host=ADDRESS, port=self._port, family=AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


@asynccontextmanager
async def client(server: Server, connections: int = 20) -> AsyncIterator[ClientSession]:
    connector = TCPConnector(limit=connections, resolver=Here(server.port))
    async with ClientSession(connector=connector, auto_decompress=False) as session:
        yield session


@asynccontextmanager
async def line(server: Server) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(ADDRESS, server.port)
    try:
        yield reader, writer
    finally:
        writer.close()


def run(work: Callable[[Server], Awaitable[None]], slowness: float = 0.0, log: Path | None = None) -> None:
    async def served() -> None:
        async with asyncio.timeout(10), Server(WEB, slowness=slowness, log=log) as server:
            await work(server)

    asyncio.run(served())


def get(path: str = "/", host: str = HOST, method: str = "GET", more: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()


async def answer(reader: asyncio.StreamReader, body: bool = True) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in head[1:] if line)
    return int(head[0].split()[1]), headers, await reader.readexactly(int(headers["content-length"]) if body else 0)


async def said(server: Server, words: bytes) -> bytes:
    """All that comes back until the server closes."""
    async with line(server) as (reader, writer):
        writer.write(words)
        return await reader.read()


# ---- the web as it is -----------------------------------------------------------------------------------------------


def test_status_headers_and_body_are_those_of_the_web() -> None:
    extras = [f"http://{HOST}/robots.txt", f"http://{HOST}/sitemap.xml", f"http://{HOST}/no/such?page=1"]
    wanted = [*extras, *PAGES[::10], *LINKED[::10]]
    seen = set()

    async def work(server: Server) -> None:
        async with client(server) as session:
            for url in wanted:
                told = WEB.respond(url)
                seen.add(told.status)
                async with session.get(url, allow_redirects=False) as response:
                    assert (response.status, await response.read()) == (told.status, told.body), url
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    assert headers == {**told.headers, "content-length": str(len(told.body))}

    run(work)
    assert seen >= {200, 302, 404}


def test_kept_pages_are_the_same_bytes() -> None:
    async def both() -> None:
        async with Server(WEB, slowness=0) as made, Server(WEB, slowness=0, cache=True) as kept:
            for url in [*PAGES[::15], f"http://{HOST}/robots.txt"]:
                host, _, path = url.removeprefix("http://").partition("/")
                words = get(f"/{path}", host, more="Connection: close\r\n")
                assert await said(made, words) == await said(kept, words)

    asyncio.run(both())


@pytest.mark.parametrize("name", [HOST, HOST.upper(), f"{HOST}:8080", f"{HOST}:", f"  {HOST}  "])
def test_host_names(name: str) -> None:
    async def work(server: Server) -> None:
        async with line(server) as (reader, writer):
            writer.write(get(host=name))
            assert (await answer(reader))[2] == WEB.respond(f"http://{HOST}/").body

    run(work)


@pytest.mark.parametrize("name", ["nobody.web.test", "127.0.0.1", "[::1]:80", "localhost:1"])
def test_a_name_that_is_no_host_is_misdirected(name: str) -> None:
    async def work(server: Server) -> None:
        async with line(server) as (reader, writer):
            writer.write(get(host=name) + get())
            assert (await answer(reader))[0] == 421
            assert (await answer(reader))[0] == 200, "the connection goes on"

    run(work)


def test_an_absolute_target_names_the_host() -> None:
    async def work(server: Server) -> None:
        async with line(server) as (reader, writer):
            writer.write(get(f"http://{HOST}/about", host="proxy") + get(f"http://{HOST}", host="proxy"))
            assert (await answer(reader))[2] == WEB.respond(f"http://{HOST}/about").body
            assert (await answer(reader))[2] == WEB.respond(f"http://{HOST}/").body

    run(work)


def test_head_is_the_answer_without_its_body() -> None:
    async def work(server: Server) -> None:
        async with line(server) as (reader, writer):
            writer.write(get(method="HEAD") + get())
            head, whole = await answer(reader, body=False), await answer(reader)
            assert head[:2] == whole[:2]
            assert whole[2]

    run(work)


# ---- connections ----------------------------------------------------------------------------------------------------


def test_a_connection_is_kept_for_the_next_request(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        async with client(server) as session:
            for _ in range(5):
                async with session.get(HOMES[0]) as response:
                    await response.read()

    run(work, log=tmp_path / "log")
    assert [seen.connection for seen in read_log(tmp_path / "log")] == [1] * 5


@pytest.mark.parametrize("slowness", [0.0, 0.02])
def test_pipelined_requests_are_answered_in_order(slowness: float) -> None:
    paths = [url.removeprefix(f"http://{HOST}") for url in PAGES if url.startswith(f"http://{HOST}/")] * 10
    assert len(paths) > 2 * 64, "enough for the server to stop reading and go on again"

    async def work(server: Server) -> None:
        async with line(server) as (reader, writer):
            writer.write(b"".join(get(path) for path in paths))
            for path in paths:
                assert (await answer(reader))[2] == WEB.respond(f"http://{HOST}{path}").body

    run(work, slowness)


def test_requests_cut_anywhere() -> None:
    words = get("/about") + b"\r\n" + get("/", more="X: y\r\n")

    async def work(server: Server) -> None:
        async with line(server) as (reader, writer):
            for i in range(len(words)):
                writer.write(words[i : i + 1])
                await asyncio.sleep(0)
            assert (await answer(reader))[2] == WEB.respond(f"http://{HOST}/about").body
            assert (await answer(reader))[2] == WEB.respond(f"http://{HOST}/").body

    run(work)


def test_a_client_that_asks_and_does_not_read_is_no_longer_read_from() -> None:
    words = get() * 20_000

    async def work(server: Server) -> None:
        async with line(server) as (_, writer):
            writer.write(words)
            await asyncio.sleep(0.2)
            (connection,) = server.connections
            assert 64 < len(connection._waiting) <= 64 + 1 + (256 << 10) // len(get()), "what one reading brings"
            assert not connection.transport.is_reading()

    run(work, slowness=1000)


@pytest.mark.parametrize("words", [get(more="Connection: close\r\n"), get().replace(b"HTTP/1.1", b"HTTP/1.0")])
def test_the_connection_ends_when_the_client_wants(words: bytes) -> None:
    async def work(server: Server) -> None:
        told = await said(server, words + get("/about"))
        head, _, body = told.partition(b"\r\n\r\n")
        assert b"connection: close" in head
        assert body == WEB.respond(f"http://{HOST}/").body

    run(work)


def test_many_connections_at_once(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        async def one(session: ClientSession, url: str) -> None:
            async with session.get(url) as response:
                assert await response.read() == WEB.respond(url).body

        async with client(server, connections=300) as session:
            await asyncio.gather(*(one(session, url) for url in (PAGES * 2)[:300]))

    run(work, slowness=0.5, log=tmp_path / "log")
    seen = read_log(tmp_path / "log")
    assert len(seen) == 300
    assert len({request.connection for request in seen}) > 100


# ---- refusals -------------------------------------------------------------------------------------------------------

REFUSED = {
    "garbage": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "no request line": (b"hello there\r\n\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (get(more="Host: other.web.test\r\n"), 400),
    "not a host": (get(host="a b/c"), 400),
    "not a path": (get("about"), 400),
    "HTTP/2": (get().replace(b"1.1", b"2.0"), 400),
    "a body": (get(more="Content-Length: 5\r\n") + b"12345", 400),
    "chunks": (get(more="Transfer-Encoding: chunked\r\n") + b"0\r\n\r\n", 400),
    "not ASCII": (get("/\u00e9"), 400),
    "post": (get(method="POST", more="Content-Length: 200000\r\n") + b"x" * 200_000, 405),
    "options": (get("*", method="OPTIONS"), 405),
    "long head": (get(more="X: " + "y" * 20_000 + "\r\n"), 431),
    "endless head": (get()[:-2] + b"X: " + b"y" * 100_000, 431),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_and_closed(name: str) -> None:
    words, status = REFUSED[name]

    async def work(server: Server) -> None:
        told = await said(server, words + get("/about"))
        assert told.startswith(f"HTTP/1.1 {status} ".encode())
        assert told.count(b"HTTP/1.1 ") == 1, "nothing after it is answered"
        assert (b"allow: GET, HEAD" in told) == (status == 405)

    run(work)


def test_a_client_that_never_stops_talking_is_cut_off() -> None:
    async def work(server: Server) -> None:
        async with line(server) as (_, writer):
            writer.write(get()[:-2])
            with suppress(ConnectionError):
                while True:  # the time limit of the test is the proof that it ends
                    writer.write(b"X: y\r\n" * 1000)
                    await writer.drain()
                    await asyncio.sleep(0.01)
            assert not server.connections

    run(work)


def test_what_came_before_a_bad_request_is_answered() -> None:
    async def work(server: Server) -> None:
        told = await said(server, get("/about") + b"\x00\x01")
        assert told.startswith(b"HTTP/1.1 200 ")
        assert told.endswith(b"Bad Request\n")

    run(work, slowness=0.1)


# ---- slowness -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slowness", [0.5, 2.0])
def test_answers_take_their_time(slowness: float) -> None:
    url = next(url for url in PAGES if 0.1 < WEB.respond(url).seconds < 0.2)
    wanted = WEB.respond(url).seconds * slowness

    async def work(server: Server) -> None:
        async with client(server) as session:
            start = time.monotonic()
            async with session.get(url) as response:
                await response.read()
            assert time.monotonic() - start >= wanted

    run(work, slowness)


# ---- the log --------------------------------------------------------------------------------------------------------


def test_a_line_a_request(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        async with line(server) as (reader, writer):
            writer.write(get("/about?x=1") + get("/robots.txt", host=HOST.upper() + ":80") + b"?\r\n\r\n")
            await reader.read()

    before = time.monotonic()
    run(work, log=tmp_path / "log")
    seen = read_log(tmp_path / "log")
    assert [(one.connection, one.host, one.target, one.status) for one in seen] == [
        (1, HOST, "/about?x=1", WEB.respond(f"http://{HOST}/about?x=1").status),
        (1, HOST, "/robots.txt", 200),
        (1, "-", "-", 400),
    ]
    for one in seen:
        assert before <= one.arrived <= one.ended <= time.monotonic()
    text = (tmp_path / "log").read_text()
    assert text.split("\t")[0].partition(".")[2].isdigit()
    assert len(text.split("\t")[0].partition(".")[2]) == 6
    assert text == "".join(f"{LoggedRequest.read(entry)}\n" for entry in text.splitlines())


def test_the_log_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        async with client(server) as session, session.get(HOMES[0]):
            pass
        await asyncio.sleep(0.7)
        assert len(read_log(tmp_path / "log")) == 1

    run(work, log=tmp_path / "log")


def test_a_client_that_leaves_is_noted_with_all_it_asked(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        async with line(server) as (_, writer):
            writer.write(get("/about") + get("/"))
            await asyncio.sleep(0.05)
        while server.connections:
            await asyncio.sleep(0.01)

    run(work, slowness=1000, log=tmp_path / "log")
    seen = read_log(tmp_path / "log")
    assert [one.status for one in seen] == [0, 0]
    assert all(0.02 < one.ended - one.arrived < 1 for one in seen)


def test_the_end_of_an_answer_is_when_the_client_has_room_for_it(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect((ADDRESS, server.port))
            slow.sendall(get() * 1000)  # more than all buffers between us hold
            await asyncio.sleep(0.3)
        while server.connections:
            await asyncio.sleep(0.01)

    run(work, log=tmp_path / "log")
    seen = read_log(tmp_path / "log")
    assert len(seen) == 1000
    assert max(one.ended - one.arrived for one in seen if one.status == 200) > 0.2


# ---- politeness -----------------------------------------------------------------------------------------------------


def written(path: Path, *requests: tuple[float, float, int, str, str]) -> Path:
    path.write_text("".join(f"{LoggedRequest(*request, 200)}\n" for request in requests))
    return path


def test_polite_requests(tmp_path: Path) -> None:
    log = written(
        tmp_path / "log",
        (1.0, 1.1, 1, "a.test", "/robots.txt"),
        (1.05, 1.1, 2, "b.test", "/"),  # another host
        (2.1, 2.3, 1, "a.test", "/"),
        (3.298, 3.3, 3, "a.test", "/x"),  # another connection, and 2 ms of a client's clock
        (3.3, 3.3, 4, "-", "-"),
        (3.3, 3.3, 4, "-", "-"),
    )
    assert impolite(log, 1.0) == []
    assert impolite(log, 0.0) == []
    assert impolite(log, 1.0, tolerance=0) == ["a.test: /x came 0.998 s after /, less than 1 s"]


def test_impolite_requests(tmp_path: Path) -> None:
    log = written(
        tmp_path / "log",
        (5.0, 5.1, 1, "a.test", "/robots.txt"),
        (5.2, 5.3, 1, "a.test", "/moved"),  # robots.txt is a request
        (5.3, 5.4, 1, "a.test", "/here"),  # so is where a redirect leads
        (5.4, 5.5, 2, "b.test", "/"),  # where it leads to another host it is none of this one's
    )
    assert impolite(log, 0.15) == [
        "a.test: /moved came 0.100 s after /robots.txt, less than 0.15 s",
        "a.test: /here came 0.000 s after /moved, less than 0.15 s",
    ]
    assert len(impolite(log, 0.5)) == 3, "every pair, neighbours or not"
    assert impolite(log, 0.0) == []


def test_overlapping_requests_are_impolite_without_any_delay(tmp_path: Path) -> None:
    log = written(
        tmp_path / "log",
        (2.0, 2.1, 2, "a.test", "/short"),
        (1.0, 9.0, 1, "a.test", "/long"),  # lines are in order of their end
        (8.0, 8.5, 1, "a.test", "/piped"),
    )
    assert impolite(log, 0.0) == [
        "a.test: /short overlapped /long on connections 1 and 2",
        "a.test: /piped overlapped /long on connection 1",
    ]


def test_a_line_half_written_is_not_read(tmp_path: Path) -> None:
    log = written(tmp_path / "log", (1.0, 1.1, 1, "a.test", "/"))
    log.write_text(log.read_text() + "1.1\t1.2\t1\ta.te")
    assert len(read_log(log)) == 1
    assert impolite(log, 1.0) == []


def test_a_real_client_is_caught(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        async def one(path: str) -> None:
            async with session.get(f"http://{HOST}{path}") as response:
                await response.read()

        async with client(server) as session:
            await asyncio.gather(one("/"), one("/about"))
            await asyncio.sleep(0.1)
            await one("/robots.txt")

    run(work, slowness=1.0, log=tmp_path / "log")
    (only,) = impolite(tmp_path / "log", 0.1)
    assert "overlapped" in only
    assert "connections" in only
    assert len(impolite(tmp_path / "log", 5.0)) == 3


# ---- as a process ---------------------------------------------------------------------------------------------------


@contextmanager
def process(*options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    words = [sys.executable, "-m", "forager_lab.webs.server", "--slowness", "0", *options]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server, json.loads(server.stdout.readline())["port"]
        finally:
            server.kill()


def ask(port: int, words: bytes) -> bytes:
    with socket.create_connection((ADDRESS, port), timeout=5) as connection:
        connection.sendall(words)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_it_ends_when_its_input_closes(tmp_path: Path) -> None:
    plan = WebPlan.reference(seed=3)
    home = next(ProceduralWeb(plan).homes())
    host = home.removeprefix("http://").rstrip("/")
    with process("--plan", "reference", "--seed", "3", "--log", str(tmp_path / "log")) as (server, port):
        told = ask(port, get(host=host, more="Connection: close\r\n"))
        assert told.endswith(ProceduralWeb(plan).respond(home).body)
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(5) == 0
    assert [(seen.host, seen.target) for seen in read_log(tmp_path / "log")] == [(host, "/")]


def test_its_web_and_its_faults_can_be_given() -> None:
    homes = list(ProceduralWeb(WebPlan(hosts=3, seed=5)).homes())
    away = homes[0].removeprefix("http://").rstrip("/")
    there = homes[1].removeprefix("http://").rstrip("/")
    faults = json.dumps({"outages": [[0, 60.0, away]]})
    with process("--seed", "5", "--numbers", '{"hosts": 3}', "--faults", faults) as (server, port):
        assert ask(port, get(host=there, more="Connection: close\r\n")).startswith(b"HTTP/1.1 200")
        with suppress(ConnectionResetError):
            assert ask(port, get(host=away, more="Connection: close\r\n")) == b""
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.close()
        assert json.loads(server.stdout.readline()) == {"away": 1}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_at_a_signal_with_its_log_whole(number: signal.Signals, tmp_path: Path) -> None:
    with process("--log", str(tmp_path / "log")) as (server, port), socket.socket() as connection:
        connection.connect((ADDRESS, port))
        connection.sendall(get(host="nobody.test"))
        assert connection.recv(12) == b"HTTP/1.1 421"
        server.send_signal(number)
        assert server.wait(5) == 0
    assert [seen.status for seen in read_log(tmp_path / "log")] == [421]


def test_wrong_inputs_are_one_line_and_exit_code_2(tmp_path: Path) -> None:
    with socket.create_server((ADDRESS, 0)) as taken:
        port = taken.getsockname()[1]
        wrong = {"in use": ["--port", str(port)], "No such file": ["--log", str(tmp_path / "no" / "log")]}
        for words, options in wrong.items():
            command = [sys.executable, "-m", "forager_lab.webs.server", *options]
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            assert ended.returncode == 2
            assert words in ended.stderr
            assert ended.stderr.count("\n") == 1
            assert not ended.stdout
