"""Browsing paths from HAR files, which the developer tools of every browser export.

Of all requests those for documents count, in order of time; redirects are folded into the page they end on, and frames,
downloads and errors are left out. Which page a visit was made from is said by the Referer header:

    a page visited before                   the latest visit to it
    an origin alone, that of another site   the latest visit to a page of that origin: browsers tell strangers no more
    nothing, or a page that is not there    none: the address was typed, and a path begins

So opening two links of one page gives two paths that share their beginning. The file does not say what was clicked:
anchor texts are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec

from forager.errors import ForagerError
from forager.paths.lines import whole
from forager.paths.shown import ShownPath
from forager.paths.trail import START, Trail
from forager.types import Url
from forager.web.urls import RULES, UrlRules

_NOT_MODIFIED = 304
_UNSAID = ("", "x-unknown")  # media types of answers from a cache


class _Header(msgspec.Struct):
    name: str
    value: str


class _Request(msgspec.Struct):
    url: str
    method: str = "GET"
    headers: list[_Header] = []

    def header(self, name: str) -> str:
        return next((header.value for header in self.headers if header.name.lower() == name), "")


class _Content(msgspec.Struct):
    media_type: str | None = msgspec.field(name="mimeType", default=None)


class _Response(msgspec.Struct):
    status: int = 0
    redirect: str | None = msgspec.field(name="redirectURL", default=None)
    content: _Content = msgspec.field(default_factory=_Content)


class _Entry(msgspec.Struct):
    started: Annotated[datetime, msgspec.Meta(tz=True)] = msgspec.field(name="startedDateTime")
    request: _Request
    response: _Response = msgspec.field(default_factory=_Response)
    kind: str | None = msgspec.field(name="_resourceType", default=None)

    @property
    def is_redirect(self) -> bool:
        return 300 <= self.response.status < 400 and bool(self.response.redirect)

    @property
    def is_document(self) -> bool:
        """A page of its own, not a frame or a script's request; by the surest sign there is."""
        if destination := self.request.header("sec-fetch-dest"):
            return destination == "document"
        if self.kind:
            return self.kind.lower() == "document"
        return self.is_redirect or ("html" in self._media_type and not self.request.header("x-requested-with"))

    @property
    def is_page(self) -> bool:
        """What a crawler could have had: asked for by its address, and answered with HTML."""
        answered = 200 <= self.response.status < 300 or self.response.status == _NOT_MODIFIED
        return answered and self.request.method == "GET" and ("html" in self._media_type or self._media_type in _UNSAID)

    @property
    def _media_type(self) -> str:
        return (self.response.content.media_type or "").lower()


class _Log(msgspec.Struct):
    entries: list[_Entry]


class _Har(msgspec.Struct):
    log: _Log


def read_har(file: Path, goals: Iterable[str] = (), rules: UrlRules = RULES) -> tuple[ShownPath, ...]:
    """The paths of a file, without labels. Those that end in one of `goals` arrive, all others fail."""
    wanted = {_url(goal, rules) for goal in goals}
    entries = _entries(file)
    documents = sorted((entry for entry in entries if entry.is_document), key=lambda entry: entry.started)
    trail = _Browsing(rules).trail(documents)
    paths = tuple(trail.paths(file.name.removesuffix(".gz").removesuffix(".har"), wanted))
    if not paths:
        raise ForagerError(
            f'{file} has no page among its {len(entries)} requests: keep the log while browsing ("preserve log"), '
            "and export all of it"
        )
    return paths


def _entries(file: Path) -> list[_Entry]:
    try:
        return msgspec.json.decode(whole(file), type=_Har).log.entries
    except msgspec.ValidationError as error:
        raise ForagerError(f"{file} is not a HAR file: {error}; export one with a browser's developer tools") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ForagerError(f"{file} is not JSON ({error}): export it again, a HAR file is JSON") from None


def _url(goal: str, rules: UrlRules) -> Url:
    url = rules.canonical(goal)
    if url is None:
        raise ForagerError(f"goal {goal!r} is not an http or https URL of at most {rules.longest} characters")
    return url


class _Browsing:
    """Which visit led to which, while the requests of a browser go by."""

    def __init__(self, rules: UrlRules) -> None:
        self._rules = rules
        self._latest: dict[str, int] = {}  # visit by URL, and by origin
        self._redirected: dict[Url, Url | None] = {}  # where a redirect leads: the referer of who was redirected

    def trail(self, documents: Iterable[_Entry]) -> Trail:
        trail = Trail()
        for url, referer in self._pages(documents):
            if url == referer and url in self._latest:  # loaded again by itself
                continue
            visit = trail.visit(url, self._origin_of(url, referer))
            self._latest[url] = self._latest[_origin(url)] = visit
        return trail

    def _pages(self, documents: Iterable[_Entry]) -> Iterator[tuple[Url, Url | None]]:
        for entry in documents:
            url = self._rules.canonical(entry.request.url)
            if url is None:
                continue
            before = self._redirected.pop(url, None)
            referer = self._rules.canonical(entry.request.header("referer")) or before
            if entry.is_redirect:
                target = self._rules.join(url, entry.response.redirect or "")
                if target is not None:
                    self._redirected[target] = referer
            elif entry.is_page:
                yield url, referer

    def _origin_of(self, url: Url, referer: Url | None) -> int:
        if referer is None:
            return START
        origin = _origin(referer)
        if referer == f"{origin}/" and origin != _origin(url):
            return self._latest.get(origin, START)
        return self._latest.get(referer, START)


def _origin(url: Url) -> str:
    """Scheme and host, without a slash: never a canonical URL, so both may be keys of one mapping."""
    return url[: url.index("/", len("https://"))]
