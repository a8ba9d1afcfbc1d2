"""robots.txt by RFC 9309, with the mistakes that Google's parser forgives, and with Crawl-delay.

A file consists of groups: user-agent lines, then rules. All groups with our product token hold for us, else all groups
with `*`; groups of the same agent are taken as one. Of the rules whose pattern matches path and query, the longest
decides; if two are equally long, `allow` does. In a pattern `*` means anything, and a `$` at the end means the end. The
rest is compared after both sides are spelled the same way, so that `%7E` is `~` but `%2F` is not `/`. Only in a query,
where `/` and `:` mean nothing, a pattern matches both spellings of them.

The work and the memory are linear in the bytes of a file, whatever it says. The rules are kept as text. Nothing is made
from them to match a URL, so a host costs little more than the lines of its file that are for us.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias
from weakref import WeakValueDictionary

from forager.clock import Clock
from forager.types import Answer, Failure, Fetch, Reason, Redirect, Url
from forager.web.directives import product_token
from forager.web.urls import RULES, UrlRules, host

LARGEST = 512_000  # bytes; the RFC asks for at least 500 KiB
LONGEST_LINE = 16_663  # bytes; what comes after is ignored, as by Google
MOST_SITEMAPS = 1_000
HOPS = 5
OLD_RULES = 30.0  # seconds for which rules of before hold at least, when they cannot be read again
DAY = 86_400.0
MEMORY = 32_000_000  # bytes, for the rules of all hosts
_LARGE = 16_384  # bytes of a file that is parsed beside the loop
_QUICK = 20_000_000  # steps of matching: some milliseconds in the worst case
_ENTRY = 500  # bytes that the objects take which hold the rules of a host

# If there is no robots.txt, everything is allowed. If it cannot be read, nothing is allowed.
_ABSENT = {Reason.NOT_FOUND, Reason.CLIENT_ERROR, Reason.NOT_HTML, Reason.BAD_REDIRECT, Reason.TOO_MANY_REDIRECTS}
_BOM = b"\xef\xbb\xbf"
_BLANK = re.compile(rb"\n\s+")
_LONG = re.compile(rb"^([^\n]{%d})[^\n]+" % LONGEST_LINE, re.MULTILINE)
_LINE = re.compile(  # a key, also with a common mistake, and the rest without a comment
    r"^\s*+(user[ -]?agent|dis{1,2}al{1,2}ow|diasllow|disallaw|allow|site-?map|crawl[ -]?delay)(?=[\s:])([^\n#]*+)",
    re.MULTILINE | re.IGNORECASE | re.ASCII,
)
_KEYS = {"u": "agent", "d": "disallow", "a": "allow", "s": "sitemap", "c": "delay"}  # by the first letter
_SEPARATOR = re.compile(r"[\s:]")
_EVERYBODY = re.compile(r"\*(?:\s|$)")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_TO_SPELL = re.compile(  # an escape, or a run of characters that need one
    r"%([0-9A-Fa-f]{2})|(?:[^A-Za-z0-9\-._~:/?#\[\]@!&'()+,;=*$%\n]|%(?![0-9A-Fa-f]{2})|\$(?!\n|\Z))+"
)
_STARS = re.compile(r"\*{2,}")
_NEEDLESS = re.compile(r"\*\$?$", re.MULTILINE)

Ask: TypeAlias = Callable[[Url], Awaitable[Answer]]
AskElsewhere: TypeAlias = Callable[[Url], Awaitable[Answer | None]]


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """What the robots.txt of one origin says to us."""

    patterns: str = ""  # a line each, the longest first; of equally long ones those that allow first
    allowing: bytes = b""  # for each pattern: 1 if it allows, 0 if it forbids
    delay: float | None = None  # seconds between requests
    sitemaps: tuple[Url, ...] = ()
    problem: Failure | None = None  # why the rules could not be read; then nothing is allowed

    def allows(self, url: Url) -> bool:
        path = _spelled(_path(url)).replace("*", "%2A").replace("$", "%24")
        if path == "/robots.txt":
            return True
        for pattern, allowing in zip(self.patterns.split("\n"), self.allowing, strict=False):
            if "*" in pattern:
                found = _matches(pattern, path)
            else:  # no path has a $, so a pattern that ends with one is not its beginning
                found = path.startswith(pattern) or (pattern[-1:] == "$" and path == pattern[:-1])
            if found:
                return bool(allowing)
        return True

    def is_quick(self, url: Url) -> bool:
        """Whether `allows` takes a few milliseconds at most. If not, call it beside the loop."""
        return len(self.patterns) * (1_000 + len(url)) <= _QUICK

    @property
    def size(self) -> int:
        """Bytes, about."""
        return len(self.patterns) + len(self.allowing) + sum(100 + len(sitemap) for sitemap in self.sitemaps)


EVERYTHING = RobotsRules()
_NOTHING = RobotsRules("", bytes([False]))


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern with stars matches. Each piece is looked for after the piece before it; its first place is the
    best, so nothing is tried twice."""
    first, *pieces = pattern.split("*")
    if not path.startswith(first):
        return False
    at, end = len(first), len(path)
    if pattern[-1] == "$":
        last = pieces.pop()[:-1]
        if not path.endswith(last):
            return False
        end -= len(last)
    for piece in pieces:
        at = path.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return at <= end


# ---- where the rules come from --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was read at a URL."""

    said: RobotsRules | Url  # a URL: there it redirects to
    since: float  # when it was read
    until: float  # when it has to be read again
    failures: int = 0  # in a row, after it was read

    @property
    def is_usable(self) -> bool:
        return isinstance(self.said, str) or self.said.problem is None

    @property
    def size(self) -> int:
        return _ENTRY + (len(self.said) if isinstance(self.said, str) else self.said.size)


class Robots:
    """The rules of each origin, read once a day.

    `fetch` asks for robots.txt, of any type, and for the beginning of a long one (`HttpFetcher.fetch_start` with
    `LARGEST`). A redirect counts for all who redirect to the same URL. If it leads to another host, `elsewhere` is
    asked instead of `fetch`. It gives None if the other host must not be asked now.

    A file that cannot be read for the moment is asked for again after `retry` seconds, later each time. Until then what
    was known before holds, for `stale` seconds at most. Of all that is known, `memory` bytes are kept.
    """

    def __init__(
        self,
        fetch: Ask,
        agent: str,
        *,
        clock: Clock,
        elsewhere: AskElsewhere | None = None,
        urls: UrlRules = RULES,
        longest_delay: float = 60.0,
        keep: float = DAY,
        retry: float = 30.0,
        longest_retry: float = 600.0,
        stale: float = 30 * DAY,
        memory: int = MEMORY,
    ) -> None:
        self._fetch, self._elsewhere = fetch, elsewhere or fetch
        self._agent, self._clock, self._urls, self._longest_delay = agent, clock, urls, longest_delay
        self._keep, self._retry, self._longest_retry, self._stale = keep, retry, longest_retry, stale
        self._kept: dict[Url, _Kept] = {}  # by the URL that was asked; the oldest first
        self._memory, self._held = memory, 0
        self._asking: WeakValueDictionary[Url, asyncio.Lock] = WeakValueDictionary()

    def known(self, url: Url) -> RobotsRules | None:
        """The rules for a URL, if they are known and still valid."""
        found = self._follow(url)
        return None if isinstance(found, str) else found

    async def rules(self, url: Url) -> RobotsRules | None:
        """The rules for a URL, after one request if they are not known. None: they are still not known, because
        robots.txt redirects. Then ask again when its host has rested. Several callers at the same time cause one
        request.
        """
        hop = self._follow(url)
        if not isinstance(hop, str):
            return hop
        lock = self._asking.setdefault(hop, asyncio.Lock())
        away = host(hop) != host(url)
        if away and lock.locked():  # who waits here holds up the host of the URL
            return None
        async with lock:
            if self._follow(url) == hop:
                answer = await (self._elsewhere if away else self._fetch)(hop)
                if answer is None:
                    return None
                said = await self._take(hop, answer)
                if not isinstance(said, str):  # also if it is not kept at all
                    return said
        return self.known(url)

    def _follow(self, url: Url) -> RobotsRules | Url:
        """The rules for a URL, or else the URL that has to be asked to learn them. The rules hold for the origin that
        was asked first."""
        hop, now = Url(f"{url[: url.index('/', 8)]}/robots.txt"), self._clock.now()
        for _ in range(HOPS + 1):
            kept = self._kept.get(hop)
            if kept is None or kept.until <= now:
                return hop
            if not isinstance(kept.said, str):
                return kept.said
            hop = kept.said
        return EVERYTHING  # a file that is further away counts as none

    async def _take(self, hop: Url, answer: Answer) -> RobotsRules | Url:
        now = self._clock.now()
        if isinstance(answer, Redirect):
            kept = _Kept(answer.target, now, now + self._keep)
        elif isinstance(answer, Fetch):
            kept = _Kept(await self._parse(answer), now, now + self._keep)
        elif answer.reason in _ABSENT:
            kept = _Kept(EVERYTHING, now, now + self._keep)
        else:
            kept = self._failed(answer, self._kept.get(hop))
        self._put(hop, kept)
        return kept.said

    async def _parse(self, answer: Fetch) -> RobotsRules:
        parse = partial(parse_robots, agent=self._agent, url=answer.url, urls=self._urls)
        body = answer.body
        rules = await self._clock.beside(parse, body) if len(body) > _LARGE else parse(body)
        return rules if rules.delay is None else replace(rules, delay=min(rules.delay, self._longest_delay))

    def _failed(self, failure: Failure, before: _Kept | None) -> _Kept:
        """What holds while a URL cannot be read: what was known before, or that nothing is allowed."""
        now, failures = self._clock.now(), before.failures + 1 if before else 1
        old = before is not None and before.since + self._stale > now and before.is_usable
        first = max(self._retry, OLD_RULES) if old else self._retry
        wait = min(self._longest_retry, first * 2.0 ** min(failures - 1, 40))
        until = now + max(wait, (failure.retry_after or 0.0) if failure.reason is Reason.BUSY else 0.0)
        if before is not None and old:
            return replace(before, until=until, failures=failures)
        problem = replace(failure, exchange=None)  # it may be long
        return _Kept(replace(_NOTHING, problem=problem), now, until, failures)

    def _put(self, hop: Url, kept: _Kept) -> None:
        self._drop(hop)
        self._kept[hop] = kept
        self._held += len(hop) + kept.size
        while self._held > self._memory and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))

    def _drop(self, hop: Url) -> None:
        kept = self._kept.pop(hop, None)
        if kept is not None:
            self._held -= len(hop) + kept.size


# ---- reading a file -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Group:
    """All groups of one agent, while the file is read."""

    named: bool = False
    allowed: dict[str, None] = field(default_factory=dict)  # as they are written
    forbidden: dict[str, None] = field(default_factory=dict)
    delay: float | None = None


def parse_robots(body: bytes, agent: str, url: Url, urls: UrlRules = RULES) -> RobotsRules:
    """What a robots.txt at `url` says to an agent. Agents are compared by product token: "Forager" of "Forager/1.0"."""
    token = product_token(agent)
    groups = {token or "*": _Group(), "*": _Group()}
    current: dict[str, _Group] = {}
    ruled = False  # a user-agent line after a rule begins a new group
    sitemaps: dict[Url, None] = {}
    for key, value in _lines(body):
        if key == "agent":
            current, ruled = ({} if ruled else current), False
            name = "*" if _EVERYBODY.match(value) else product_token(value)
            if name in groups:
                current[name] = groups[name]
                current[name].named = True
        elif key == "sitemap":
            target = urls.join(url, value) if value and len(sitemaps) < MOST_SITEMAPS else None
            sitemaps |= {target: None} if target else {}
        elif key == "delay":
            for group in current.values():
                group.delay = _longer(group.delay, value)
        else:
            ruled = True
            for group in current.values():
                (group.allowed if key == "allow" else group.forbidden)[value] = None
    ours = groups[token] if token and groups[token].named else groups["*"]
    return RobotsRules(*_ordered(ours), ours.delay, tuple(sitemaps))


def _lines(body: bytes) -> Iterator[tuple[str, str]]:
    """The known keys with their values. A missing colon is forgiven if the line has exactly two words."""
    if len(body) >= LARGEST:  # the last line may be cut in the middle and then say something else
        body = body[: max(body.rfind(b"\n", 0, LARGEST), body.rfind(b"\r", 0, LARGEST), 0)]
    for mark in (_BOM, _BOM[:2], _BOM[:1]):
        if body.startswith(mark):
            body = body[len(mark) :]
            break
    body = _LONG.sub(rb"\1", _BLANK.sub(b"\n", body.replace(b"\r", b"\n")))
    for found in _LINE.finditer(body.decode("utf-8", "surrogateescape")):
        key, rest = found[1], found[2].strip()
        if rest.startswith(":"):
            yield _KEYS[key[0].lower()], rest[1:].strip()
        elif rest and " " not in key and not _SEPARATOR.search(rest):
            yield _KEYS[key[0].lower()], rest


def _longer(delay: float | None, value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return delay
    return max(seconds, delay or 0.0) if 0 <= seconds < math.inf else delay


def _ordered(group: _Group) -> tuple[str, bytes]:
    """The patterns in the order in which they decide, each once, and whether they allow."""
    patterns = [f"+{pattern}" for pattern in _patterns(group.allowed, allowed=True)]
    patterns += [f"-{pattern}" for pattern in _patterns(group.forbidden)]
    patterns.sort(key=len, reverse=True)  # equally long ones stay as they are
    plain = _NEEDLESS.sub("", _STARS.sub("*", "\n".join(patterns)))  # these stars count, but say nothing
    first: dict[str, bool] = {}
    for pattern in plain.split("\n") if plain else ():
        first.setdefault(pattern[1:], pattern[0] == "+")
    return "\n".join(first), bytes(first.values())


def _patterns(values: Iterable[str], *, allowed: bool = False) -> Iterator[str]:
    """The patterns that rules stand for. A rule without a value says nothing."""
    for pattern in filter(None, _spelled("\n".join(values)).split("\n")):
        yield pattern
        if "?" in pattern:
            path, _, query = pattern.partition("?")
            yield f"{path}?{query.replace('/', '%2F').replace(':', '%3A')}"
            yield f"{path}?{query.replace('%2F', '/').replace('%3A', ':')}"
        if allowed and "/index.htm" in pattern:
            folder, _, file = pattern.rpartition("/")
            if file.startswith("index.htm"):  # as Google reads it: its folder is allowed too
                yield f"{folder}/$"


def _path(url: Url) -> str:
    at = url.find("/", 8)
    return url[at:] if at >= 0 else "/"


def _spelled(text: str) -> str:
    """The one spelling of a text: unreserved characters are not escaped, all that is no URL character is, and escapes
    are in upper case. `*`, and `$` at the end of a line, are left: in a pattern they have another meaning."""
    return _TO_SPELL.sub(_spell, text)


def _spell(found: re.Match[str]) -> str:
    text, digits = found[0], found[1]
    if digits is None:
        return f"%{text.encode('utf-8', 'surrogateescape').hex('%').upper()}"
    character = chr(int(digits, 16))
    return character if character in _UNRESERVED else text.upper()
