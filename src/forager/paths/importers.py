"""Files of other programs: paths from HAR files and from Wikispeedia, links from a file of edges.

*HAR files* are exported by the developer tools of every browser. The requests for documents count, in order of time.
A redirect is replaced by the page it ends on. Frames, downloads and errors are left out. The Referer header says from
which page a visit was made:

    a page visited before                  the latest visit to that page
    only the origin of another site        the latest visit to a page of that origin (browsers tell other sites no more)
    nothing, or a page not visited before  no page: the address was typed in, and a new path begins

So somebody who opens two links of one page makes two paths with the same beginning. A HAR file does not say which link
was clicked: anchor texts are not known.

*Wikispeedia* is a game: get from a given article to another one by links alone. It has two files, which differ in their
number of columns. Both begin with player, time, seconds and path. In the file of games given up the target and the
reason follow. In the file of finished games the last article of the path is the target, and a rating follows. The
articles of a path are separated by `;`, and `<` is a click on the back button.

*Edges*: a line has a source, a tab and a target. The first line may be a head. Lines that begin with # are comments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote

import msgspec
import numpy as np

from forager.errors import ForagerError
from forager.paths.graph import LinkGraph
from forager.paths.shown import PathOutcome, PathStep, ShownPath, line_error, numbered_lines, read_whole
from forager.types import Mask, Url
from forager.web.urls import RULES, UrlRules

START = -1  # stands for the visit before a first page
BACK = "<"  # a click on the back button
_GIVEN_UP, _FINISHED = 6, 5  # columns of the two files of Wikispeedia
_NOT_MODIFIED = 304
_UNSAID = ("", "x-unknown")  # media types of answers from a cache
_EDGES_HEAD = ["source", "target"]


# ---- visits become paths --------------------------------------------------------------------------------------------


class Trail:
    """The visits of one person, in order, each with the visit it was made from.

    Visits form a tree: somebody who goes back and follows another link begins a new path with the same first pages. The
    same way taken again is not a new visit.
    """

    def __init__(self) -> None:
        self._urls: list[Url] = []
        self._origins: list[int] = []
        self._visits: dict[tuple[int, Url], int] = {}

    def visit(self, url: Url, origin: int = START) -> int:
        """The number of the visit to a page that was made from the visit `origin`."""
        visit = self._visits.setdefault((origin, url), len(self._urls))
        if visit == len(self._urls):
            self._urls.append(url)
            self._origins.append(origin)
        return visit

    def back(self, visit: int) -> int:
        """The visit from which this visit was made."""
        return self._origins[visit]

    def paths(self, name: str, goals: Collection[Url]) -> Iterator[ShownPath]:
        """A path to each goal, and a path to each page from which no other page was visited.

        A goal ends its path: visits made from a goal are left out.
        """
        ways_on, ended = set(self._origins), set[int]()
        last: list[tuple[int, PathOutcome]] = []
        for visit, url in enumerate(self._urls):
            if self._origins[visit] in ended:
                ended.add(visit)
            elif url in goals:
                ended.add(visit)
                last.append((visit, PathOutcome.GOAL))
            elif visit not in ways_on:
                last.append((visit, PathOutcome.FAIL))
        for number, (visit, outcome) in enumerate(last, 1):
            yield ShownPath(name if len(last) == 1 else f"{name}-{number}", self._steps(visit), outcome)

    def _steps(self, visit: int) -> tuple[PathStep, ...]:
        steps = []
        while visit != START:
            steps.append(PathStep(self._urls[visit]))
            visit = self._origins[visit]
        return tuple(reversed(steps))


# ---- HAR files ------------------------------------------------------------------------------------------------------


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
        """Is it a whole page, not a frame or a request by a script? The most reliable sign that is there decides."""
        if destination := self.request.header("sec-fetch-dest"):
            return destination == "document"
        if self.kind:
            return self.kind.lower() == "document"
        return self.is_redirect or ("html" in self._media_type and not self.request.header("x-requested-with"))

    @property
    def is_page(self) -> bool:
        """Could a crawler have fetched it? It was asked for with GET and answered with HTML."""
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
    """The paths of a HAR file, without labels. A path that ends in one of `goals` has the outcome goal, others fail."""
    wanted = {_goal(goal, rules) for goal in goals}
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
        return msgspec.json.decode(read_whole(file), type=_Har).log.entries
    except msgspec.ValidationError as error:
        raise ForagerError(f"{file} is not a HAR file: {error}; export one with a browser's developer tools") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ForagerError(f"{file} is not JSON ({error}): export it again, a HAR file is JSON") from None


def _goal(goal: str, rules: UrlRules) -> Url:
    url = rules.canonical(goal)
    if url is None:
        raise ForagerError(f"goal {goal!r} is not an http or https URL of at most {rules.longest} characters")
    return url


class _Browsing:
    """Finds out which visit led to which, from the requests of a browser in order."""

    def __init__(self, rules: UrlRules) -> None:
        self._rules = rules
        self._latest: dict[str, int] = {}  # the latest visit, by URL and by origin
        self._redirected: dict[Url, Url | None] = {}  # target of a redirect: referer of the request before it

    def trail(self, documents: Iterable[_Entry]) -> Trail:
        trail = Trail()
        for url, referer in self._pages(documents):
            if url == referer and url in self._latest:  # the page was loaded again
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
    """Scheme and host, without a slash. This is never a canonical URL, so one mapping can have both as keys."""
    return url[: url.index("/", len("https://"))]


# ---- Wikispeedia ----------------------------------------------------------------------------------------------------


def articles(urls: Iterable[Url]) -> dict[str, Url]:
    """The pages of the recorded web by the names of their articles. Names are escaped twice: as file names, as URLs."""
    return {unquote(unquote(url.rpartition("/")[2].removesuffix(".htm"))): url for url in urls}


def read_wikispeedia(file: Path, pages: Mapping[str, Url]) -> Iterator[ShownPath]:
    """A path for each branch of each game, without labels. The outcome is goal if the path ends in the target.

    A branch ends where the player went back. `pages` are the URLs of articles by name, from `articles`.
    """
    for number, text in numbered_lines(file):
        if text.startswith("#"):
            continue
        columns = text.split("\t")
        if len(columns) not in (_GIVEN_UP, _FINISHED):
            raise line_error(
                file,
                number,
                f"{len(columns)} columns: a finished game has {_FINISHED}, one given up {_GIVEN_UP}, between tabs",
            )
        clicks = columns[3].split(";")
        target = unquote(columns[4] if len(columns) == _GIVEN_UP else clicks[-1])
        try:
            trail = _trail(clicks, pages)
        except LookupError as error:
            raise line_error(file, number, f"{error.args[0]}: is it a path of this web?") from None
        goals = {pages[target]} if target in pages else set()  # some targets are not articles
        yield from trail.paths(f"game-{number}", goals)


def _trail(clicks: Iterable[str], pages: Mapping[str, Url]) -> Trail:
    trail, here = Trail(), START
    for click in clicks:
        if click != BACK:
            name = unquote(click)
            if name not in pages:
                raise LookupError(f"no page is the article {name!r}")
            here = trail.visit(pages[name], here)
        elif here == START or trail.back(here) == START:
            raise LookupError("a click goes back from the first article")
        else:
            here = trail.back(here)
    return trail


# ---- a file of edges ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class EdgeList:
    """The links of a file: the URLs in order of appearance, and the graph of the links between them."""

    urls: tuple[Url, ...]
    graph: LinkGraph
    passed_over: int  # lines with a URL that is neither http nor https

    def mask(self, urls: Collection[Url]) -> Mask:
        """True for the pages that are among `urls`."""
        wanted = frozenset(urls)
        return np.fromiter((url in wanted for url in self.urls), bool, len(self.urls))


def read_edges(file: Path, rules: UrlRules = RULES) -> EdgeList:
    """Read lines of source, tab, target. The file may be compressed with gzip."""
    ids: dict[Url, int] = {}
    known: dict[str, int] = {}  # number by URL as written: most URLs occur many times
    ends: list[int] = []
    for number, text in numbered_lines(file):
        pair = text.split("\t")
        if text.startswith("#") or (not known and pair == _EDGES_HEAD):
            continue
        if len(pair) != 2:
            raise line_error(file, number, f"{len(pair)} columns: a line is a source and a target with one tab between")
        for end in pair:
            if end not in known:
                url = _edge_url(file, number, end, rules)
                known[end] = -1 if url is None else ids.setdefault(url, len(ids))
            ends.append(known[end])
    if not ids:
        raise ForagerError(f"{file} has no links: a line is a source and a target with one tab between")
    edges = np.array(ends, np.int32).reshape(-1, 2)
    inside = (edges >= 0).all(axis=1)
    graph = LinkGraph.of(len(ids), edges[inside, 0], edges[inside, 1])
    return EdgeList(tuple(ids), graph, int((~inside).sum()))


def _edge_url(file: Path, number: int, text: str, rules: UrlRules) -> Url | None:
    """The canonical URL; None for other schemes such as ftp, which many webs link to but no crawl can fetch."""
    url = rules.canonical(text)
    if url is None and ("://" not in text or text.lower().startswith(("http://", "https://"))):
        raise line_error(file, number, f"{text[:80]!r} is not a URL of at most {rules.longest} characters")
    return url
