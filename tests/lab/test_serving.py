"""Recorded webs over HTTP under their own names: what is answered, and what a crawl makes of it."""

from __future__ import annotations

import asyncio
import random
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FetchConfig, FrontierConfig, Named, ScopeConfig, StopConfig, StoreConfig
from forager.crawl.loop import Crawl
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Catalogue
from forager.types import Failure, Fetch, Reason, Redirect, Url
from forager_lab.webs import open_answers
from forager_lab.webs.server import Server
from forager_lab.webs.server.log import read_log
from tests.fetch.wire import fetcher
from tests.lab.warc import write_web
from tests.small_web import WordCritic, html

HOSTS = ("http://a.test", "https://b.test", "https://c.test", "http://d.test", "https://e.test")
PLAIN = ScopeConfig(declared=False, feeds=False, sitemaps="none", traps=False)


def small_web(folder: Path, pages: int = 60) -> Path:
    """Random links over http and https; some lead to an alias, some to nothing."""
    draw = random.Random(5)
    urls = [f"{HOSTS[n % len(HOSTS)]}/{n}" for n in range(pages)]
    linked = [
        *urls,
        *(f"{url}/index.html" for url in urls[::4]),
        *(f"https://gone.test/{n}" for n in range(9)),
        "http://b.test/1",
    ]
    web = {url: ("x", html("bird " * draw.randrange(9) + "stone", *draw.sample(linked, 8))) for url in urls}
    aliases = "".join(f"{url}/index.html\t{url}\n" for url in urls[::4]) + "http://b.test/1\thttps://b.test/1\n"
    return write_web(folder, web, aliases="linked\turl\n" + aliases)


def settings(**fetch: Any) -> CrawlConfig:
    return CrawlConfig(
        seeds=["http://a.test/0"],
        strategy=Named(name="best-first"),  # without sweeps, which come sooner or later beside real requests
        frontier=FrontierConfig(delay=0, delay_factor=0, in_flight=1),
        scope=PLAIN,
        store=StoreConfig(duplicates="all"),
        fetch=FetchConfig(contact="me@example.org", **fetch),
        stop=StopConfig(pages=40),
    )


async def order(crawl: Crawl) -> list[Url]:
    return [visit.page.url async for visit in crawl.visits()]


@pytest.mark.parametrize("robots", [True, False])
def test_a_crawl_over_http_fetches_what_the_laboratory_does_in_the_same_order(tmp_path: Path, robots: bool) -> None:
    recording = open_answers(str(small_web(tmp_path)))[0]
    replayed = asyncio.run(order(Crawl(settings(), critic=WordCritic(), fetcher=recording, clock=VirtualClock())))

    async def crawled() -> tuple[list[Url], Crawl]:
        async with asyncio.timeout(30), Server(recording, log=tmp_path / "log") as server:
            crawl = Crawl(settings(robots=robots, resolve={"*": f"http://{server.place}"}), critic=WordCritic())
            return await order(crawl), crawl

    visited, crawl = asyncio.run(crawled())
    assert visited == replayed
    assert len({url.partition(":")[0] for url in visited}) == 2  # both schemes
    assert crawl.stats.misses[Reason.NOT_FOUND] > 0
    statuses = {line.status for line in read_log(tmp_path / "log")}
    assert statuses == {200, 301, 404}


# ---- answers --------------------------------------------------------------------------------------------------------


def write_answers(file: Path, *answers: tuple[str, str, dict[str, str], bytes]) -> None:
    with file.open("wb") as stream:
        writer = WARCWriter(stream, gzip=True)
        for url, status, headers, body in answers:
            told = StatusAndHeaders(status, list(headers.items()), protocol="HTTP/1.1")
            writer.write_record(writer.create_warc_record(url, "response", payload=BytesIO(body), http_headers=told))


HTML = {"Content-Type": "text/html; charset=latin-1"}


def ask(folder: Path, work: Callable[[Server], Awaitable[Any]], **options: Any) -> Any:
    async def asked() -> Any:
        async with asyncio.timeout(20), Server(open_answers(str(folder))[0], **options) as server:
            return await work(server)

    return asyncio.run(asked())


def test_answers_come_as_they_were_recorded(tmp_path: Path) -> None:
    write_answers(
        tmp_path / "x.warc.gz",
        ("https://a.test/", "200 OK", HTML | {"ETag": '"7"'}, b"<p>caf\xe9"),
        ("https://a.test/chunks", "200 OK", HTML | {"Transfer-Encoding": "chunked"}, b"5\r\nhello\r\n0\r\n\r\n"),
        ("https://a.test/moved", "302 Found", HTML | {"Location": "/"}, b"moved"),
        ("https://a.test/gone", "410 Gone", HTML, b"no more"),
        ("https://a.test/broken", "503 Busy", HTML | {"Retry-After": "7"}, b""),
        ("https://a.test/robots.txt", "200 OK", {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /x"),
        ("http://a.test:8080/port", "200 OK", HTML, b"<p>port"),
        ("http://a.test/both", "200 OK", HTML, b"<p>http"),
        ("https://a.test/both", "200 OK", HTML, b"<p>https"),
    )
    (tmp_path / "aliases.tsv").write_text("linked\turl\nhttp://a.test/\thttps://a.test/\n")
    paths = ("/", "/chunks", "/moved", "/gone", "/broken", "/missing", "/both")
    urls = [*(f"https://a.test{path}" for path in paths), *(f"http://a.test{path}" for path in ("/", "/both", "/gone"))]

    async def work(server: Server) -> list[object]:
        async with fetcher(resolve={"*.test": f"http://{server.place}"}) as client:
            robots = [await client.fetch_start(Url(f"https://{host}.test/robots.txt"), 999) for host in "ab"]
            return [*robots, *[await client.fetch(Url(url)) for url in (*urls, "http://a.test:8080/port")]]

    rules, none, *came = ask(tmp_path, work)
    assert rules.body == b"User-agent: *\nDisallow: /x"
    assert (none.reason, none.status) == (Reason.NOT_FOUND, 404)
    home, chunks, moved, gone, broken, missing, both, alias, plain, only_https, port = came
    assert (home.body, home.charset) == (b"<p>caf\xe9", "latin-1")
    assert b'ETag: "7"' in home.exchange.response
    assert chunks.body == b"hello"
    assert isinstance(moved, Redirect)
    assert (moved.target, moved.status) == ("https://a.test/", 302)
    assert isinstance(gone, Failure)
    assert gone.status == 410
    assert (broken.status, broken.retry_after) == (503, 7.0)
    assert missing.status == only_https.status == 404
    assert (both.body, plain.body, port.body) == (b"<p>https", b"<p>http", b"<p>port")
    assert isinstance(alias, Redirect)
    assert alias.target == "https://a.test/"


def test_without_a_scheme_the_page_that_there_is_comes(tmp_path: Path) -> None:
    write_answers(tmp_path / "x.warc.gz", ("https://a.test/", "200 OK", HTML, b"<p>https"))
    (tmp_path / "aliases.tsv").write_text("linked\turl\nhttp://a.test/\thttps://a.test/\n")

    async def work(server: Server) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.0\r\nHost: a.test\r\n\r\n")
        try:
            return await reader.read()
        finally:
            writer.close()

    answer = ask(tmp_path, work)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"<p>https")


def test_a_url_with_an_address_is_not_mapped_and_stays_guarded() -> None:
    async def run() -> object:
        listener = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        async with listener, fetcher(allow=(), resolve={"*": "http://127.0.0.1:9"}) as client:
            return await client.fetch(Url(f"http://127.0.0.1:{port}/"))

    answer = asyncio.run(run())
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.FORBIDDEN


def test_only_this_machine_is_served(tmp_path: Path) -> None:
    web = open_answers("procedural:hosts=2")[0]
    for address in ("0.0.0.0", "192.0.2.1", "::", "example.org"):
        with pytest.raises(ForagerError, match="not an address of this machine"):
            Server(web, address=address)
    with pytest.raises(ForagerError, match="there is no such folder"):
        open_answers(str(tmp_path / "nothing"))


# ---- the command ----------------------------------------------------------------------------------------------------


@contextmanager
def served(*words: str) -> Iterator[tuple[dict[str, Any], subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "forager", "lab", "serve", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            told = iter(process.stdout.readline, "")
            lines = []
            for line in told:
                lines.append(line)
                if line.startswith("exclude"):
                    break
            yield tomllib.loads("".join(lines)), process
        finally:
            process.kill()


def test_the_command_serves_a_web_to_a_project_until_it_is_interrupted(tmp_path: Path) -> None:
    web, log = small_web(tmp_path / "web"), tmp_path / "log"
    config = '[critic]\nname = "predicate"\noptions.keywords = ["bird"]\n[frontier]\ndelay = 0\ndelay_factor = 0\n'
    with served(str(web), "--log", str(log)) as (told, process):
        place = told["fetch"]["resolve"]["*"]
        toml = f'{config}[fetch]\ncontact = "a@web.test"\nresolve = {{ "*" = "{place}" }}\n[stop]\npages = 20\n'
        toml += f"[scope]\nexclude = ['{told['scope']['exclude'][0]}']\n"
        asyncio.run(Project.create(tmp_path / "project", toml, ["http://a.test/0"]).crawl())
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1]
        assert process.returncode == 0, said
    with Catalogue(tmp_path / "project") as catalogue:
        urls = {entry.url for entry in catalogue.pages()}
    assert len(urls) == 20
    requests = len(read_log(log))
    assert f"stopped after {requests} requests" in said
    # What the crawl has archived is a web, too.
    again = open_answers(str(tmp_path / "project"))[0]
    page = asyncio.run(again.fetch(Url(sorted(urls)[0])))
    assert isinstance(page, Fetch)
    assert page.body


def test_a_port_in_use_is_told_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = [sys.executable, "-m", "forager", "lab", "serve", "procedural:hosts=2"]
        port = str(taken.getsockname()[1])
        ran = subprocess.run([*words, "--port", port], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode != 0
    assert ran.stderr.startswith(f"forager: cannot listen on 127.0.0.1:{port}")
    assert ran.stderr.count("\n") == 1
