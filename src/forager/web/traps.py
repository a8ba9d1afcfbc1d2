"""Parts of the web that never end and bring nothing new: calendars, session ids, sort orders, mirrors, soft 404s.

URLs of one make have a *pattern* in common. Each page that was fetched speaks for or against the patterns of its URL.
Two things speak against one:

- *Copies*: the page has a text that we have already.
- *A chain*: the page was found on a page of the pattern, it is not relevant, it brings new URLs, and all of them are of
  the pattern too.

Each such page counts one. Each other page takes two back. A relevant page with a text of its own takes all back, and
allows 5 more of both from then on. At 12 copies or a chain of 15 the pattern is capped: its URLs are followed no more.
So a pattern that goes on to bring what is wanted is not capped, however many pages it has.

The patterns of a URL, from narrow to wide:

    a.test/day/2024/5?view=week   a.test/day/#/#?view   its shape: no numbers, no long random words, no values
                                  a.test/day/#**        its stem: the shape up to the first of what was left out
                                  a.test/day/2024/*     its folder: counts the first page of each part of it
                                  a.test/day/*          the folder above, and so on
                                  *.test                its site: counts the first page of each host, and hosts that
                                                        are copies; chains of pages that only name other hosts
                                  a.test/day/**         its tree: only chains of paths that go on from each other

The wide ones need twice as much. A chain of a folder (each page names only others right in it, as in a wiki) must be 20
times as long. What the copies are copies of may lie in the same pattern. So when a pattern is capped
for its copies, parts of it that brought more new pages than copies are still followed; and parts that are rich in
relevant pages always are.

URLs that repeat a part of their path three times in a row, or have more than 30 parts, are never followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from forager.types import RELEVANT, Mask, Url
from forager.web.urls import host, site

MOST_COPIES, LONGEST_CHAIN = 12, 15  # of a shape or stem; twice as many of the others
ALLOWANCE, MOST_ALLOWED = 5, 100  # more of both, for each relevant page with a text of its own
BACK = 2  # of both, for each page that speaks for the pattern
FOLDER_CHAIN = 20  # times as long a chain of a folder: a wiki is one, too
HOST_PAGES = 3  # of a host, after which it is known whether it is a copy of another one
RICH = 8  # one page in so many is relevant
REPEATS, DEEPEST = 3, 30  # parts of a path
SHALLOW = 4  # parts of a path that are too few to look at: one that repeats itself will soon have more
LEVELS, LONGEST = 8, 300  # folders of a URL, and characters of a pattern; what goes beyond is not looked at
LOOKED_AT = 20  # of the URLs that a page brings, to see whether all are of a pattern
MOST_PATTERNS, MOST_OF_SITE = 50_000, 1_000  # that are remembered: those that grew last
MOST_CAPPED = 10_000  # and as many hosts with repeated paths

COPIES, ENDLESS, REPEATED = "copies", "endless", "repeated path"  # why a pattern is capped

_DIGIT = re.compile(r"\d")
_ESCAPES = re.compile("%(?:25)*[0-9A-F]{2}")
_NUMBERS = re.compile(  # and long words of letters and digits, such as session ids
    r"(?<![0-9A-Za-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[A-Za-z]*\d)(?:[0-9a-f]{8,}|[0-9A-F]{8,}|[0-9A-Za-z]{16,}))(?![0-9A-Za-z])|\d+"
)
_MARK = re.compile("[#%?*]")


class TrapReport(NamedTuple):
    """A pattern that is capped, and what it cost."""

    site: str
    pattern: str
    example: Url
    fetched: int  # pages
    relevant: int  # of them, with a text of their own
    copies: int  # of them
    held_back: int  # links, since the program was started
    why: str  # COPIES, ENDLESS or REPEATED


class Traps:
    """Which patterns are capped. This is a function of the pages that it saw, in their order."""

    def __init__(self) -> None:
        self._sites: dict[str, dict[str, _Pattern]] = {}  # what grew last comes last, sites and their patterns
        self._remembered = 0  # patterns of all sites
        self._capped: dict[str, dict[str, _Pattern]] = {}  # by site
        self._starts: dict[str, tuple[str, ...]] = {}  # by site: what URLs of its capped patterns begin with
        self._repeated: dict[str, _Pattern] = {}  # by host; only for the report

    # ---- pages

    def saw(
        self, url: Url, parent: Url | None, *, relevance: float, twin: bool, thin: bool, brought: Sequence[Url]
    ) -> None:
        """A page was fetched. Its link was on `parent`. `twin`: we have its text. `thin`: it has hardly any text, and
        so nobody can tell. `brought` are the URLs to follow that nobody had found before."""
        relevant = relevance >= RELEVANT and not twin
        seen = _Seen(url, parent, relevant, None if thin and not (twin or relevant) else twin, brought[:LOOKED_AT])
        home = site(host(url))
        self._sites[home] = self._sites.pop(home, {})
        enough = False
        for key, copy, chained in self._evidence(seen, home):
            pattern = self._pattern(home, key)
            why = pattern.weigh(seen, copy, chained)
            if why and enough:  # a narrower pattern was capped just now; the wider one waits and sees
                pattern.surplus = pattern.chain = 0
            elif why:
                enough = True
                self._cap(pattern, why, url, home)
        self._forget()

    def _evidence(self, seen: _Seen, home: str) -> Iterator[tuple[str, bool | None, bool]]:
        """The patterns of a page, the narrow ones first: whether it is a copy there (None: that does not count), and
        whether it is one of a chain."""
        for key in _shapes(seen.url):
            yield key, seen.copy, _is_chained(seen, key)
        new = True  # the first page of a part of the folder
        folders = _folders(seen.url)
        for folder in reversed(folders):
            known = folder in self._sites[home] or folder in self._capped.get(home, {})
            yield folder, seen.copy if new else None, folder == folders[-1] and _stays_in(seen, folder)
            new = new and not known
        yield f"*.{home}", self._host_is_copy(seen, home, folders[0]), _is_new_host(seen, home)
        tree = _tree(seen.url)
        if tree:
            yield tree, None, _goes_on(seen)

    def _host_is_copy(self, seen: _Seen, home: str, folder: str) -> bool | None:
        """Whether the host of a page is a copy of another one: if its first page is, or most of its first three."""
        pages = self._pattern(home, folder)
        if pages.fetched == 1:
            return seen.copy or None
        return 2 * pages.copies > pages.fetched if pages.fetched == HOST_PAGES else None

    def _pattern(self, home: str, key: str) -> _Pattern:
        if key in self._capped.get(home, {}):
            return self._capped[home][key]
        patterns = self._sites[home]
        pattern = patterns.pop(key, None)
        if pattern is None:
            pattern = _Pattern(key)
            self._remembered += 1
        patterns[key] = pattern
        return pattern

    def _cap(self, pattern: _Pattern, why: str, url: Url, home: str) -> None:
        pattern.why, pattern.example = why, url
        del self._sites[home][pattern.key]
        self._remembered -= 1
        self._capped.setdefault(home, {})[pattern.key] = pattern
        self._starts[home] = tuple({_start(key) for key in self._capped[home]})
        if sum(map(len, self._capped.values())) > MOST_CAPPED:
            oldest = next(iter(self._capped))
            del self._capped[oldest], self._starts[oldest]

    def _forget(self) -> None:
        """What did not grow for the longest time makes room."""
        last = next(reversed(self._sites.values()))
        while len(last) > MOST_OF_SITE:
            del last[next(iter(last))]
            self._remembered -= 1
        while self._remembered > MOST_PATTERNS:
            self._remembered -= len(self._sites.pop(next(iter(self._sites))))

    # ---- links

    def admit(self, urls: Sequence[Url]) -> Mask:
        """Which URLs may be followed. The report counts the others."""
        admitted = np.ones(len(urls), bool)
        origin, home, starts = "//", "", None  # of the last URL; most links of a page lead to one host
        for row, url in enumerate(urls):
            if self._starts and not url.startswith(origin):
                origin = url[: url.index("/", 8) + 1]
                home = site(host(url))
                starts = self._starts.get(home)
            trap = None
            if url.count("/") > SHALLOW + 2 and _is_repeated(url):
                trap = self._repeated_on(url)
            elif starts and url.startswith(starts, url.index("//") + 2):  # a fast test first
                trap = self._trap_of(url, home)
            if trap is not None:
                trap.held_back += 1
                admitted[row] = False
        return admitted

    def holds_back(self, url: Url) -> bool:
        """Whether a URL that waits may not be asked for any more."""
        return not self.admit([url])[0]

    def _trap_of(self, url: Url, home: str) -> _Pattern | None:
        """The pattern that holds a URL back. Parts of a pattern that are worth it are followed."""
        capped, others = self._capped[home], self._sites.get(home, {})
        for key in (*_shapes(url), *_folders(url), f"*.{home}", _tree(url)):
            if key in capped:
                part = others.get(_folder_within(url, key) or shape(url))
                if part is None or not part.is_worth(capped[key].why):
                    return capped[key]
        return None

    def _repeated_on(self, url: Url) -> _Pattern:
        name = host(url)
        pattern = _Pattern(f"{name}/**", why=REPEATED, example=url)
        return self._repeated.setdefault(name, pattern) if len(self._repeated) < MOST_CAPPED else pattern

    def report(self) -> list[TrapReport]:
        """The patterns that are capped, those that held back most first."""
        capped = [pattern for patterns in self._capped.values() for pattern in patterns.values()]
        found = [pattern.report() for pattern in (*capped, *self._repeated.values())]
        return sorted(found, key=lambda trap: (-trap.held_back, -trap.fetched, trap.pattern))


class _Seen(NamedTuple):
    """A page that was fetched."""

    url: Url
    parent: Url | None
    relevant: bool  # with a text of its own
    copy: bool | None  # None: nobody can tell
    brought: Sequence[Url]


@dataclass(slots=True)
class _Pattern:
    """What the pages of a pattern were like."""

    key: str
    fetched: int = 0
    relevant: int = 0
    copies: int = 0
    surplus: int = 0  # of copies
    chain: int = 0
    allowed: int = 0  # more of both
    held_back: int = 0
    why: str = ""  # "": it is not capped
    example: Url = Url("")  # noqa: RUF009 - a string; the one for which it was capped

    def weigh(self, seen: _Seen, copy: bool | None, chained: bool) -> str:
        """Count a page. Why the pattern must be capped now; "" if it need not."""
        self.fetched += 1
        self.relevant += seen.relevant
        self.copies += seen.copy or False
        if copy is not None:
            self.surplus = self.surplus + 1 if copy else max(0, self.surplus - BACK)
        is_tree = self.key.endswith("/**")
        if chained or seen.brought or is_tree:  # months of a calendar have neighbours that are known; a tree has leaves
            self.chain = self.chain + 1 if chained else max(0, self.chain - BACK)
        if seen.relevant and (copy is not None or is_tree):
            self.surplus = self.chain = 0
            self.allowed = min(self.allowed + ALLOWANCE, MOST_ALLOWED)
        if self.why:
            return ""
        times = 1 if _MARK.search(self.key.strip("*")) else 2
        if self.surplus >= times * MOST_COPIES + self.allowed:
            return COPIES
        times = FOLDER_CHAIN if self.key.endswith("/*") else times
        return ENDLESS if self.chain >= times * LONGEST_CHAIN + self.allowed else ""

    def is_worth(self, why: str) -> bool:
        """Whether it is followed although a wider pattern is capped for this reason."""
        return RICH * self.relevant >= self.fetched or (why == COPIES and 2 * self.copies < self.fetched)

    def report(self) -> TrapReport:
        counts = self.fetched, self.relevant, self.copies, self.held_back
        return TrapReport(site(host(self.example)), self.key, self.example, *counts, self.why)


# ---- patterns of a URL ----------------------------------------------------------------------------------------------


def shape(url: Url) -> str:
    """What a URL has in common with others of its make: no numbers, no long random words, no values of parameters.

    >>> shape(Url("http://a.test/day/2024/05?view=week&sid=9f86d081884c"))
    'a.test/day/#/#?sid&view'
    """
    place, _, query = _bare(url).partition("?")
    name, slash, path = place.partition("/")
    names = f"?{_names(query)}" if query else ""
    return name + slash + (_marked(path) + names)[:LONGEST]


def _bare(url: Url) -> str:
    return url[url.index("://") + 3 :]


def _marked(text: str) -> str:
    text = _ESCAPES.sub("%", text) if "%" in text else text
    return _NUMBERS.sub("#", text) if _DIGIT.search(text) else text  # most paths have none, and this is much faster


def _names(query: str) -> str:
    names = {_marked(pair.partition("=")[0]) for pair in query[: 10 * LONGEST].replace(";", "&").split("&")}
    return "&".join(sorted(names))


@lru_cache(maxsize=512)  # the same few are asked for a page and its links
def _shapes(url: Url) -> tuple[str, ...]:
    """The shape and the stem of a URL; none if nothing was left out, so that no other URL has the same."""
    whole = shape(url)
    start = whole.index("/")
    ends = [at for at in (whole.find("#", start), whole.find("?", start)) if at >= 0]
    return (whole, f"{whole[: min(ends) + 1]}**") if ends else ()


@lru_cache(maxsize=512)
def _folders(url: Url) -> tuple[str, ...]:
    """The patterns of the folders that a URL is in, from the host inwards."""
    path = _bare(url).partition("?")[0][: LONGEST + 253]  # a host has 253 characters at most
    parts = path.split("/")[:-1][:LEVELS]
    return tuple(f"{'/'.join(parts[:depth])}/*" for depth in range(1, len(parts) + 1))


def _tree(url: Url) -> str:
    """The pattern of all that is in a folder at the top of a host; "" for what is in none."""
    folders = _folders(url)
    return f"{folders[1]}*" if len(folders) > 1 else ""


def _folder_within(url: Url, key: str) -> str:
    """The widest of a URL's folders in which not all URLs of a pattern are; "" if there is none."""
    same = len(_start(key))
    return next((folder for folder in _folders(url) if len(folder) - 2 > same), "")


@lru_cache(maxsize=512)
def _start(key: str) -> str:
    """What all URLs of a pattern begin with."""
    return _MARK.split(key, maxsplit=1)[0]


# ---- chains ---------------------------------------------------------------------------------------------------------


def _is_chained(seen: _Seen, key: str) -> bool:
    """Whether a page was found on one of the pattern, and brings only URLs of it, not all of them inside of it."""
    if seen.relevant or seen.parent is None or not seen.brought or key not in _shapes(seen.parent):
        return False
    inside = _inside(seen.url)
    if all(url.startswith(inside) for url in seen.brought):
        return False
    return all(key in _shapes(url) for url in seen.brought)


def _stays_in(seen: _Seen, folder: str) -> bool:
    """Whether a page was found in its own folder, and brings only URLs right in it."""
    if seen.relevant or seen.parent is None or not seen.brought:
        return False
    return all(_folders(url)[-1] == folder for url in (seen.parent, *seen.brought))


def _is_new_host(seen: _Seen, home: str) -> bool:
    """Whether a page was found on another host of its site, and brings only URLs of still others."""
    if seen.relevant or seen.parent is None or not seen.brought:
        return False
    hosts = {host(url) for url in (seen.parent, *seen.brought)}
    return host(seen.url) not in hosts and all(site(name) == home for name in hosts)


def _goes_on(seen: _Seen) -> bool:
    """Whether the path of a page goes on from that of the page it was found on, and brings only paths that go on from
    its own."""
    if seen.relevant or seen.parent is None or not seen.brought:
        return False
    here = _inside(seen.url)
    return here.startswith(_inside(seen.parent)) and all(url.startswith(here) for url in seen.brought)


def _inside(url: Url) -> str:
    """The folder that a page stands for: its path if that could be one, or else the folder it is in."""
    path = url.partition("?")[0]
    above, _, last = path.rpartition("/")
    return f"{path}/" if last and "." not in last else f"{above}/"


def _is_repeated(url: Url) -> bool:
    """Whether a part of the path stands there three times in a row, or the path is too deep. Numbers may repeat."""
    parts = url.partition("?")[0].split("/")[3:]
    if len(parts) > DEEPEST or len(set(parts)) > len(parts) - REPEATS + 1:
        return len(parts) > DEEPEST
    for size in range(1, len(parts) // REPEATS + 1):
        run = 0
        for one, other in zip(parts, parts[size:], strict=False):
            run = run + 1 if one == other and not (size == 1 and one.isdigit()) else 0
            if run == size * (REPEATS - 1):
                return True
    return False
