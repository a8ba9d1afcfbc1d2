"""robots.txt by RFC 9309, with the mistakes that Google's parser forgives, and with Crawl-delay.

A file consists of groups: user-agent lines, then rules. All groups with our product token hold for us, else all groups
with `*`; groups of the same agent are taken as one. Of the rules whose pattern matches path and query, the longest
decides; if two are equally long, `allow` does. In a pattern `*` means anything, and a `$` at the end means the end. The
rest is compared after both sides are spelled the same way, so that `%7E` is `~` but `%2F` is not `/`.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace

from forager.clock import Clock
from forager.types import Answer, Failure, Fetch, Reason, Redirect, Url
from forager.web.urls import RULES, UrlRules

LARGEST = 512_000  # bytes; the RFC asks for at least 500 KiB
HOPS = 5
DAY = 86_400.0

# If there is no robots.txt, everything is allowed. If it cannot be read, nothing is allowed.
_ABSENT = {Reason.NOT_FOUND, Reason.CLIENT_ERROR, Reason.NOT_HTML, Reason.BAD_REDIRECT, Reason.TOO_MANY_REDIRECTS}
_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n?|\n")
_TOKEN = re.compile(r"[A-Za-z_-]*")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_TO_SPELL = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~:/?#\[\]@!&'()+,;=]")
_KEYS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "agent"),
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"),
    **dict.fromkeys(("sitemap", "site-map"), "sitemap"),
    **dict.fromkeys(("crawl-delay", "crawldelay", "crawl delay"), "delay"),
    "allow": "allow",
}


@dataclass(frozen=True, slots=True)
class RobotsRule:
    """One pattern, split at its stars."""

    pieces: tuple[str, ...]
    ends: bool  # whether it ends with $
    allow: bool
    length: int  # octets of the pattern

    def matches(self, path: str) -> bool:
        """Whether the pattern matches. Each piece is looked for after the piece before it; its first place is the
        best."""
        first, *rest = self.pieces
        if not path.startswith(first):
            return False
        at = len(first)
        if not rest:
            return not self.ends or at == len(path)
        *inner, last = rest
        for piece in inner:
            found = path.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return path.endswith(last, at) if self.ends else path.find(last, at) >= 0


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """What the robots.txt of one origin says to us."""

    rules: tuple[RobotsRule, ...] = ()  # the longest first; of equally long ones `allow` first
    delay: float | None = None  # seconds between requests
    sitemaps: tuple[Url, ...] = ()
    problem: Failure | None = None  # why the rules could not be read; then nothing is allowed

    def allows(self, url: Url) -> bool:
        path = _spelled(url[url.index("/", 8) :])
        for rule in self.rules:
            if rule.matches(path):
                return rule.allow or path == "/robots.txt"
        return True


EVERYTHING = RobotsRules()
_NOTHING = (RobotsRule(("/",), ends=False, allow=False, length=1),)


class Robots:
    """The rules of each origin, read once a day.

    `fetch` asks for robots.txt, of any type, and for the beginning of a long one (`HttpFetcher.fetch_start` with
    `LARGEST`). It is called once for each hop of a redirect, so it must keep the delay between requests to a host.
    """

    def __init__(
        self,
        fetch: Callable[[Url], Awaitable[Answer]],
        agent: str,
        *,
        clock: Clock,
        urls: UrlRules = RULES,
        longest_delay: float = 60.0,
        keep: float = DAY,
        retry: float = 600.0,
        most: int = 100_000,
    ) -> None:
        self._fetch, self._agent, self._clock, self._urls = fetch, agent, clock, urls
        self._longest_delay, self._keep, self._retry, self._most = longest_delay, keep, retry, most
        self._kept: dict[str, tuple[float, RobotsRules]] = {}  # origin -> valid until, rules; the oldest first
        self._reading: dict[str, asyncio.Lock] = {}

    def known(self, url: Url) -> RobotsRules | None:
        """The rules for a URL, if they are known and still valid."""
        until, rules = self._kept.get(_origin(url), (-math.inf, None))
        return rules if self._clock.now() < until else None

    async def rules(self, url: Url) -> RobotsRules:
        """The rules for a URL. Several callers at the same time cause one request."""
        found = self.known(url)
        if found is not None:
            return found
        origin = _origin(url)
        async with self._reading.setdefault(origin, asyncio.Lock()):
            try:
                return self.known(url) or await self._read(origin)
            finally:
                self._reading.pop(origin, None)

    async def _read(self, origin: str) -> RobotsRules:
        answer = await self._follow(Url(f"{origin}/robots.txt"))
        seconds = self._keep
        if isinstance(answer, Fetch):
            rules = parse_robots(answer.body, self._agent, answer.url, self._urls)
            if rules.delay is not None:
                rules = replace(rules, delay=min(rules.delay, self._longest_delay))
        elif answer.reason in _ABSENT:
            rules = EVERYTHING
        else:
            seconds = max(self._retry, answer.retry_after or 0.0)
            rules = self._last(origin) or RobotsRules(_NOTHING, problem=answer)
        self._kept.pop(origin, None)
        while len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
        self._kept[origin] = (self._clock.now() + seconds, rules)
        return rules

    def _last(self, origin: str) -> RobotsRules | None:
        """The rules from before robots.txt became unreachable: they stay valid."""
        _, rules = self._kept.get(origin, (0.0, None))
        return rules if rules is not None and rules.problem is None else None

    async def _follow(self, url: Url) -> Fetch | Failure:
        """The answer after redirects, also to other hosts. The rules hold for the origin that was asked first."""
        for _ in range(HOPS + 1):
            answer = await self._fetch(url)
            if not isinstance(answer, Redirect):
                return answer
            url = answer.target
        return Failure(url, Reason.TOO_MANY_REDIRECTS, f"robots.txt redirects more than {HOPS} times")


@dataclass(slots=True)
class _Group:
    """All groups of one agent, while the file is read."""

    named: bool = False
    rules: list[RobotsRule] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)


def parse_robots(body: bytes, agent: str, url: Url, urls: UrlRules = RULES) -> RobotsRules:
    """What a robots.txt at `url` says to an agent. Agents are compared by product token: "Forager" of "Forager/1.0"."""
    token = _token(agent)
    groups = {token: _Group(), "*": _Group()}
    current: list[_Group] = []
    ruled = False  # a user-agent line after a rule begins a new group
    sitemaps: dict[Url, None] = {}
    for key, value in _lines(body):
        if key == "agent":
            current, ruled = ([] if ruled else current), False
            group = groups.get("*" if re.match(r"\*(?:\s|$)", value) else _token(value))
            if group is not None:
                group.named = True
                current.append(group)
        elif key == "sitemap":
            target = urls.join(url, value) if value else None
            sitemaps |= {target: None} if target else {}
        elif key == "delay":
            for group in current:
                group.delays.extend(_seconds(value))
        else:
            ruled = True
            for group in current:
                group.rules.extend(_rules(value, allow=key == "allow"))
    ours = groups[token] if groups[token].named else groups["*"]
    ordered = tuple(sorted(ours.rules, key=lambda rule: (-rule.length, not rule.allow)))
    return RobotsRules(ordered, max(ours.delays, default=None), tuple(sitemaps))


def _lines(body: bytes) -> Iterator[tuple[str, str]]:
    """The known keys with their values. A missing colon is forgiven if the line has exactly two words."""
    if len(body) >= LARGEST:  # the last line may be cut in the middle and then say something else
        body = body[: max(body.rfind(b"\n", 0, LARGEST), body.rfind(b"\r", 0, LARGEST), 0)]
    for mark in (_BOM, _BOM[:2], _BOM[:1]):
        if body.startswith(mark):
            body = body[len(mark) :]
            break
    for line in _LINE_END.split(body):
        text = line.partition(b"#")[0].decode("utf-8", "surrogateescape").strip()
        key, colon, value = text.partition(":")
        if not colon:
            words = text.split()
            key, value = words if len(words) == 2 else ("", "")
        known = _KEYS.get(key.strip().lower())
        if known:
            yield known, value.strip()


def _token(text: str) -> str:
    found = _TOKEN.match(text)
    return found[0].lower() if found else ""


def _rules(pattern: str, *, allow: bool) -> Iterator[RobotsRule]:
    if not pattern:  # "disallow:" alone forbids nothing
        return
    yield _rule(pattern, allow)
    folder, slash, file = pattern.rpartition("/")
    if allow and slash and file.startswith("index.htm"):  # as Google reads it: its folder is allowed too
        yield _rule(f"{folder}/$", allow)


def _rule(pattern: str, allow: bool) -> RobotsRule:
    ends = pattern.endswith("$")
    pieces = tuple(_spelled(piece) for piece in (pattern[:-1] if ends else pattern).split("*"))
    return RobotsRule(pieces, ends, allow, sum(map(len, pieces)) + len(pieces) - 1 + ends)


def _seconds(value: str) -> Iterator[float]:
    try:
        seconds = float(value)
    except ValueError:
        return
    if 0 <= seconds < math.inf:
        yield seconds


def _spelled(text: str) -> str:
    """The one spelling of a text: unreserved characters are not escaped, all that is no URL character is, and escapes
    are in upper case. `*` and `$` are escaped too, because in a pattern they have another meaning.
    """
    return _TO_SPELL.sub(_spell, text)


def _spell(found: re.Match[str]) -> str:
    text = found[0]
    if len(text) == 3:
        character = chr(int(text[1:], 16))
        return character if character in _UNRESERVED else text.upper()
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))


def _origin(url: Url) -> str:
    return url[: url.index("/", 8)]
