"""What reads the input: a small function for each kind. It gives the outcome in a word.

What is declared is a `ForagerError`, or a value that says what is wrong. Anything else that is raised is a defect. So
is an `AssertionError`: each target also checks what always holds.
"""

from __future__ import annotations

import asyncio
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from unittest.mock import patch

import aiohttp
from tests.fetch.wire import Wire, fetcher
from tests.store.making import new_url

from bench.fuzz.inputs import PROJECT, RECORDS, archive, archived_record
from forager.clock import VirtualClock
from forager.config import read_config
from forager.errors import ForagerError
from forager.fetch import failures
from forager.fetch.connection import Limits
from forager.fetch.http import HttpFetcher
from forager.fetch.replay import open_recording
from forager.fetch.robots import parse_robots
from forager.store import Store, schema
from forager.store.catalogue import Catalogue
from forager.store.damage import DamageWarning
from forager.store.members import ArchivedRecords, LostStretch, walk
from forager.store.search import SearchIndex
from forager.store.verify import verify
from forager.store.warc import answer_in, is_genuine, pack, unpack
from forager.types import Answer, Failure, Fetch, Page, Redirect, Url
from forager.web.directives import directives, header_values
from forager.web.page import from_bytes, parse, to_bytes
from forager.web.page.listing import parse_listing
from forager.web.urls import RULES, host, site

Target: TypeAlias = Callable[[bytes], str]

BASE = Url("http://a.test/b/c.html?d")
AGENT = "Forager/1.0"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # files there cost little
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = Limits(connect=20, read=20, total=60, largest=1_000_000)
_PROBES = [Url(f"http://a.test/{path}") for path in ("", "a/index.html", "x?a=b&c=/d", "%2A%24", "a" * 1500)]
_EXPECTED = (aiohttp.ClientError, aiohttp.http_exceptions.HttpProcessingError, OSError, asyncio.TimeoutError)


# ---- what is read from bytes ----------------------------------------------------------------------------------------


def fetched(given: bytes) -> Fetch:
    """An answer from a line with its type, a line with its charset, and its body."""
    kind, charset, body = [*given.split(b"\n", 2), b"", b""][:3]
    return Fetch(BASE, body, kind.decode("latin-1"), charset.decode("latin-1"))


def read_page(given: bytes) -> str:
    found, again = parse(fetched(given)), parse(fetched(given))
    if isinstance(found, Failure):
        assert found == again
        return str(found.reason)
    assert isinstance(again, Page)
    check_page(found)
    assert to_bytes(found) == to_bytes(again) == to_bytes(from_bytes(to_bytes(found)))
    directives((), found.directives, AGENT, NOW)
    return "listing" if found.is_listing else "page"


def check_page(page: Page) -> None:
    """Numbers fit to each other, links are canonical, and text can be written down."""
    assert len(page.leaves) == len(page.tags) == len(page.terms) == len(page.regions)
    for target, first, last in zip(
        page.links.targets, page.links.first_leaf.tolist(), page.links.last_leaf.tolist(), strict=True
    ):
        assert RULES.canonical(target) == target, target
        assert 0 <= first <= last < len(page.leaves)
    "\n".join((page.title, page.description, page.language, *page.leaves, *page.links.anchors)).encode()


def read_url(given: bytes) -> str:
    text = given.decode("utf-8", "surrogateescape" if len(given) % 2 else "replace")
    found = [RULES.canonical(text), RULES.join(BASE, text), *RULES.join_all(BASE, text.split("#"))]
    for url in filter(None, found):
        assert RULES.canonical(url) == url, url
        assert RULES.join(BASE, url) == url, url
        assert url.isascii(), url
        assert site(host(url)), url
    return "a URL" if found[0] else "a reference" if found[1] else "no URL"


def read_robots(given: bytes) -> str:
    rules = parse_robots(given, AGENT, BASE)
    assert rules == parse_robots(given, AGENT, BASE)
    assert rules.size <= 2_000 + 30 * len(given), "more than the file can say"
    allowed = [rules.allows(url) for url in _PROBES]
    assert rules.delay is None or 0 <= rules.delay < float("inf")
    return "open" if all(allowed) else "closed" if not any(allowed) else "in part"


def read_sitemap(given: bytes) -> str:
    found = parse_listing(fetched(given))
    if found is None:
        return "none"
    check_page(found)
    assert to_bytes(found) == to_bytes(from_bytes(to_bytes(found)))
    return "entries" if len(found.links) else "empty"


@contextmanager
def open_config() -> Iterator[Target]:
    with TemporaryDirectory(dir=MEMORY) as folder:
        file = Path(folder, "crawl.toml")

        def read(given: bytes) -> str:
            file.write_bytes(given)
            return "accepted" if read_config(file) else ""

        yield read


# ---- archives -------------------------------------------------------------------------------------------------------


@contextmanager
def open_archive() -> Iterator[Target]:
    """A project whose archive is replaced by the input. One input of 32 is also looked at by all that reads whole
    projects, which takes long."""
    with TemporaryDirectory(dir=MEMORY) as name, warnings.catch_warnings(), asyncio.Runner() as runner:
        warnings.simplefilter("ignore", DamageWarning)
        folder = Path(name)
        file = project(folder)
        assert file.read_bytes() == b"".join(archive()), "the inputs would be of another project"

        def read(given: bytes) -> str:
            file.write_bytes(given)
            outcome = walk_over(file, len(given))
            runner.run(play(file.parent))
            if zlib.crc32(given) % 32 == 0:
                look_at(folder)
            return outcome

        yield read


def project(folder: Path) -> Path:
    """Make a project with the records of the inputs. Gives its archive."""
    with patch.object(schema, "uuid4", lambda: PROJECT), Store(folder, clock=VirtualClock()) as store:
        store.add_urls([new_url(0)])
        for seq in range(RECORDS):
            store.add(archived_record(seq))
    (file,) = (folder / "warc").glob("*.warc.gz")
    return file


def walk_over(file: Path, size: int) -> str:
    """Every byte is told of once, as a record or as lost."""
    end = lost = 0
    for one in walk(file):
        assert one.at == end
        if isinstance(one, ArchivedRecords):
            end = one.at + one.length
            answer_in(one)
            is_genuine(one, PROJECT)
        elif isinstance(one, LostStretch):
            end, lost = one.at + one.length, lost + 1
        else:
            end = one.end
    assert end == size
    return f"{lost} lost" if lost < 2 else "more lost"


async def play(folder: Path) -> None:
    """The archive as a recorded web."""
    recording = declared(lambda: open_recording(folder))
    for url in recording.fetcher.places if recording else ():
        await recording.fetcher.fetch(url)


def look_at(folder: Path) -> None:
    """All that reads whole projects."""
    verify(folder)
    with Catalogue(folder) as catalogue:
        for page in catalogue.pages():
            catalogue.text(page)
            catalogue.answer(page.seq)
            catalogue.reasons(page.seq)
    with SearchIndex(folder) as index:
        index.update()
    (folder / "search.sqlite").unlink(missing_ok=True)


# ---- answers on the wire --------------------------------------------------------------------------------------------


class Line:
    """A server that sends the input, and a fetcher that asks for it. What the fetcher hides, and what goes wrong beside
    it, is kept."""

    def __init__(self, wire: Wire, client: HttpFetcher) -> None:
        self._wire, self._client, self._url = wire, client, wire.url("/a")
        self.hidden: list[BaseException] = []
        asyncio.get_running_loop().set_exception_handler(self._note)

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.hidden.append(context.get("exception") or RuntimeError(context["message"]))

    def explain(self, error: Exception, *, in_body: bool) -> Any:
        if not isinstance(error, _EXPECTED):
            self.hidden.append(error)
        return failures_explained(error, in_body=in_body)

    async def ask(self, given: bytes) -> Answer:
        async def send(writer: asyncio.StreamWriter) -> None:
            for piece in pieces(given):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)

        self._wire.replies["*"] = send
        self._wire.requests.clear()
        answer = await self._client.fetch(self._url)
        if self.hidden:
            raise self.hidden.pop()
        return answer


failures_explained = failures._explained


def pieces(given: bytes) -> list[bytes]:
    """The input in one to three packets."""
    cuts = sorted(zlib.crc32(given, number) % (len(given) + 1) for number in range(zlib.crc32(given) % 3))
    return [given[start:end] for start, end in zip([0, *cuts], [*cuts, len(given)], strict=True)]


@contextmanager
def open_line() -> Iterator[Target]:
    with asyncio.Runner() as runner:

        async def enter() -> tuple[Wire, HttpFetcher]:
            return await Wire({}).__aenter__(), await fetcher(limits=LIMITS).__aenter__()

        async def leave() -> None:
            await client.aclose()
            await wire.__aexit__(None, None, None)

        wire, client = runner.run(enter())
        runner.get_loop().run_until_complete(asyncio.sleep(0))
        line = runner.run(_line(wire, client))
        with patch.object(failures, "_explained", line.explain):
            yield lambda given: check_answer(runner.run(line.ask(given)))
        runner.run(leave())


async def _line(wire: Wire, client: HttpFetcher) -> Line:
    return Line(wire, client)


def check_answer(answer: Answer) -> str:
    """What came can be archived and comes back as it was. A failure is told in one line."""
    if isinstance(answer, Failure):
        assert answer.detail.isprintable(), answer.detail
    exchange = answer.exchange
    if exchange is not None:
        directives(header_values(exchange.response, "X-Robots-Tag"), (), AGENT, NOW)
        packed = pack(archived_record(0)._replace(answer=answer), PROJECT)
        assert packed
        kept = unpack(packed[0])
        assert repr(kept) == repr(answer if isinstance(answer, Fetch) else None)
    if isinstance(answer, Redirect):
        assert RULES.canonical(answer.target) == answer.target
        return "redirect"
    return str(answer.reason) if isinstance(answer, Failure) else "an answer"


OPEN: dict[str, Callable[[], AbstractContextManager[Target]]] = {
    "page": lambda: nullcontext(read_page),
    "url": lambda: nullcontext(read_url),
    "robots": lambda: nullcontext(read_robots),
    "sitemap": lambda: nullcontext(read_sitemap),
    "warc": open_archive,
    "config": open_config,
    "head": open_line,
    "body": open_line,
}


def declared(call: Callable[[], Any]) -> Any:
    """What it gives, None after a declared error."""
    try:
        return call()
    except ForagerError:
        return None
