"""What a hostile kind is: a name, what it does, what a crawl must make of it, and how it answers.

A kind has hosts of its own: all names that end with its own, like `bomb-gzip.test` or `h7.mirrors.test`. So each kind
is a site, and what a crawl learns of one says nothing of another. It is written as a function that gets a `Call`. The
function gives the bytes to send, or sends them itself and gives None; then the connection ends.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from forager_lab.webs.procedural.chance import Dice, digest

TRIES = 3  # requests for a link that fails although its host answers: two retries
HOST_TRIES = 7  # requests to a host that fails, until it is given up after a patience of 15 seconds
MOST_OF_TRAP = 30  # pages that a trap may cost, if it is caught
ENDINGS = ("test", "example")  # of host names; those with the second are looked up by `addresses.lookup`

_KIND = re.compile(rf"(?:.*\.)?([a-z0-9-]+)\.(?:{'|'.join(ENDINGS)})")


# ---- what is wanted -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a crawl must make of a kind."""

    outcome: str  # of one URL: page, miss, waits, or "no page", if it does not matter how that is recorded
    reason: str = ""
    of: str = ""  # that URL, "{port}" in it is the server's; "": the first seed
    pages: tuple[int, int] = (0, 0)  # at least and at most, from all hosts of the kind
    requests: int = 2  # at most, to all its hosts; robots.txt is one of them
    urls: int = 100  # at most, that the crawl keeps in mind
    at_once: int | None = None  # requests at most, to all its hosts; None: as many as it has hosts
    of_host: Mapping[str, int] = field(default_factory=dict)  # requests at most, to single hosts

    def __str__(self) -> str:
        least, most = self.pages
        told = [f"{self.outcome} {self.reason}".rstrip()]
        if most > 1:
            told.append(f"{least} pages" if least == most else f"{least} to {most} pages")
        return ", ".join(told)


def a_page(requests: int = 2, *, pages: int | tuple[int, int] = 1, of: str = "", urls: int = 100) -> Wanted:
    """The first seed is a page; so many pages there are in all."""
    span = (pages, pages) if isinstance(pages, int) else pages
    return Wanted(outcome="page", pages=span, requests=requests, of=of, urls=urls)


def a_miss(reason: str, requests: int = 2, *, of: str = "") -> Wanted:
    """It is known why there is no page, and it is not asked for again."""
    return Wanted(outcome="miss", reason=reason, requests=requests, of=of)


def waits(reason: str, requests: int = 1 + HOST_TRIES) -> Wanted:
    """The host rests and is given up for this time; its links wait for the next crawl."""
    return Wanted(outcome="waits", reason=reason, requests=requests)


# ---- what it does ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and the connection that it came on."""

    host: str  # without port
    path: str  # with the query
    port: int  # of the server
    count: int  # requests for this URL so far, this one included
    since: float  # seconds since the first request for a page of its kind
    asked: int  # requests for pages of its kind so far, this one included
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def gone(self) -> None:
        """Wait until the client leaves."""
        while await self.reader.read(4096):
            pass

    def reset(self) -> None:
        """End the connection with a reset, at once."""
        self.writer.transport.abort()


Reply: TypeAlias = bytes | None
Act: TypeAlias = Callable[[Call], "Reply | Awaitable[Reply]"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to be hostile."""

    name: str
    group: str
    does: str  # in one sentence
    wanted: Wanted
    act: Act
    robots: Act
    seeds: tuple[str, ...]  # URLs; "{port}" is the server's
    heavy: bool = False  # it takes seconds of computing
    alone: bool = False  # it is crawled for itself
    listener: str = ""  # where its hosts are, if not at the port of all others: "refused" or "hole"


KINDS: dict[str, Kind] = {}


def hostile(
    name: str,
    does: str,
    wanted: Wanted,
    *,
    robots: Act | bytes | None = None,
    seeds: Iterable[str] = (),
    heavy: bool = False,
    alone: bool = False,
    listener: str = "",
    group: str = "",
) -> Callable[[Act], Act]:
    """Register the function below as a kind, under the group that its module is. A seed is a URL, or a path on
    NAME.test. Without `robots` there is no robots.txt."""
    rules = robots if callable(robots) else always(NO_ROBOTS if robots is None else robots)
    places = tuple(seed if "//" in seed else f"http://{name}.test{seed}" for seed in seeds or ("/",))

    def register(act: Act) -> Act:
        if name in KINDS:
            raise ValueError(f"two kinds are named {name}")
        of = (group or act.__module__).rpartition(".")[2]
        KINDS[name] = Kind(name, of, does, wanted, act, rules, places, heavy, alone, listener)
        return act

    return register


def constant(name: str, does: str, wanted: Wanted, reply: bytes | Act, group: str) -> None:
    """Register a kind that always answers the same."""
    hostile(name, does, wanted, group=group)(reply if callable(reply) else always(reply))


def kind_of(host: str) -> str:
    """The name of the kind that a host belongs to, without its port. "" if it is no hostile host."""
    found = _KIND.fullmatch(host.rpartition(":")[0] or host)
    return found[1] if found and found[1] in KINDS else ""


# ---- answers --------------------------------------------------------------------------------------------------------


def always(reply: bytes) -> Act:
    """The same answer to every call."""

    def act(call: Call) -> Reply:
        return reply

    return act


def answer(body: bytes = b"", *headers: str, status: str = "200 OK", kind: str = "text/html") -> bytes:
    """A well-formed answer that leaves the connection open."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def raw(text: str, body: bytes = b"") -> bytes:
    """The lines of a head as they are. Without a Content-Length the connection ends after it."""
    return text.strip().replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body


class Fixed:
    """Answers with a body that is made once, before anybody asks: it may take long."""

    def __init__(self, make: Callable[[], bytes], *headers: str, kind: str = "text/html") -> None:
        self._make, self._headers, self._kind = make, headers, kind
        self._answer = b""

    def prepare(self) -> None:
        self._answer = self._answer or answer(self._make(), *self._headers, kind=self._kind)

    def __call__(self, call: Call) -> Reply:
        self.prepare()
        return self._answer


def drip(start: bytes, piece: bytes = b"", pause: float = 0.001) -> Act:
    """Sends a beginning, then a piece after each pause, without end. With an empty piece: nothing more."""

    async def act(call: Call) -> Reply:
        await call.send(start)
        if not piece:
            await call.gone()
        while not call.writer.is_closing():
            await call.send(piece)
            await asyncio.sleep(pause)
        return None

    return act


def redirect(target: str, status: str = "302 Found") -> bytes:
    return answer(b"", f"Location: {target}", status=status)


def robots(*lines: str) -> bytes:
    return answer("\n".join(lines).encode() + b"\n", kind="text/plain")


def html(name: str, *links: str, head: str = "", words: int = 60) -> bytes:
    """A page with a text of its own, and links."""
    listed = "".join(f"<li><a href='{link}'>{made_up(link, 2)}</a></li>\n" for link in links)
    text = f"<h1>{made_up(name, 3)}</h1>\n<p>{made_up(name, words)}</p>\n<ul>\n{listed}</ul>"
    return f"<!doctype html>\n<html><head><title>{name}</title>{head}</head>\n<body>{text}</body></html>".encode()


def made_up(name: str, count: int) -> str:
    """So many words that no language has, always the same ones for a name."""
    dice = Dice(digest(0, "hostile", name))
    return " ".join("".join(dice.pick(_SYLLABLES) for _ in range(2 + dice.below(3))) for _ in range(count))


def page(call: Call, *links: str, head: str = "", headers: Iterable[str] = ()) -> bytes:
    """A page of the host and path that were asked for."""
    return answer(html(f"{call.host}{call.path}", *links, head=head), *headers)


_SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in ("a", "e", "i", "o", "u")]
NO_ROBOTS = answer(b"nothing here", status="404 Not Found", kind="text/plain")
