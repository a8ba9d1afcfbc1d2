"""What a page asks of robots: `X-Robots-Tag` headers and `<meta name=robots>`.

Both have the same form: directives with commas between them, in any case. In a header, `name:` before a directive means
that this one and those after it are for the robot of that name only. What is said to all robots and what is said to us
is added up, so that the stricter word holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain, islice

_TOKEN = re.compile(r"[A-Za-z_-]*")
_NAME = re.compile(r"\s*([\w*./-]+)\s*:(.*)", re.DOTALL)
_SEPARATOR = re.compile(r"[,;]")
_FOLD = re.compile(r"\r?\n[ \t]+")
_EVERYBODY = {"", "*", "robots"}
_UNAVAILABLE = "unavailable_after"
_VALUED = {_UNAVAILABLE, "max-snippet", "max-image-preview", "max-video-preview"}  # these have a colon, but no robot
_LONGEST, _LONGEST_DATE = 2_000, 100  # characters of a line and of a date that are read
_MOST = 100  # lines that are read


@dataclass(frozen=True, slots=True)
class Directives:
    """What a page asks of us."""

    noindex: bool = False  # not to keep it; also if its time is over
    nofollow: bool = False  # not to follow its links
    noarchive: bool = False  # not to show a copy of it
    nosnippet: bool = False  # not to show a part of its text
    noai: bool = False  # not to train models with it
    unavailable_after: datetime | None = None  # not to keep it from then on; the earliest date that is given


def directives(header_lines: Iterable[str], meta_contents: Iterable[str], agent: str, now: datetime) -> Directives:
    """The directives for an agent, from the values of X-Robots-Tag and the contents of <meta name=robots>."""
    words: set[str] = set()
    dates: list[datetime] = []
    ours = _EVERYBODY | {product_token(agent)}
    for line in islice(chain(header_lines, meta_contents), _MOST):
        for name, directive, value in _parts(line[:_LONGEST]):
            if name in ours:
                words.update(directive.split())
                dates.extend(_dates(value) if directive == _UNAVAILABLE else ())
                words |= {"nosnippet"} if (directive, value.strip()) == ("max-snippet", "0") else set()
    end = min(dates, default=None)
    none = "none" in words
    return Directives(
        noindex=none or "noindex" in words or (end is not None and end <= now),
        nofollow=none or "nofollow" in words,
        noarchive=not words.isdisjoint(("noarchive", "nocache")),
        nosnippet="nosnippet" in words,
        noai="noai" in words,
        unavailable_after=end,
    )


def header_values(head: bytes, name: str) -> list[str]:
    """The values of a header in the head of an answer, as it stands on the wire, in their order."""
    found = re.findall(
        rb"^%b[ \t]*:[ \t]*([^\r\n]*(?:\r?\n[ \t]+[^\r\n]+)*)" % re.escape(name.encode()), head, re.M | re.I
    )
    return [_FOLD.sub(" ", value.decode("latin-1")).strip() for value in found]


def product_token(agent: str) -> str:
    """The name of a robot without version and contact, in lower case: "forager" of "Forager/1.0 (+me@example.org)"."""
    found = _TOKEN.match(agent)
    return found[0].lower() if found else ""


def _parts(line: str) -> Iterator[tuple[str, str, str]]:
    """Each directive of a line, with the token of the robot it is for ("" for all) and its value."""
    robot = ""
    parts = iter(_SEPARATOR.split(line.lower()))
    for part in parts:
        named = _NAME.fullmatch(part)
        if named and named[1] not in _VALUED:
            robot, part = (named[1] if named[1] in _EVERYBODY else product_token(named[1]) or "?"), named[2]
            named = _NAME.fullmatch(part)
        directive, value = (named[1], named[2]) if named else (part, "")
        if directive == _UNAVAILABLE and value.strip().isalpha():  # "fri, 25 jun 2010": the comma is one of the date
            value += f", {next(parts, '')}"
        yield robot, directive, value


def _dates(text: str) -> Iterator[datetime]:
    """The date in a text, if it is one, as HTTP or ISO 8601 writes it. Without a zone it is UTC."""
    text = text.strip()[:_LONGEST_DATE]
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = read(text.upper())
            yield date if date.tzinfo else date.replace(tzinfo=UTC)
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
        return
