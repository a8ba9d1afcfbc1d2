"""How much of a document is read, and how much work it will be for the parser. Both are decided before the parser gets
it.

A tag takes about 10 us in all, so a page is read up to its 100,000th tag, and the rest is left out.

lexbor follows the HTML standard, and the standard has costs that grow with the square or the cube of a page: every
block tag looks through the open elements (200,000 nested <div>: 88 s), every attribute through those before it
(100,000: 34 s), those of a second <body> through those of the first (40,000: 5 s), every option through its list
(80,000: 27 s); every paragraph opens again all formatting elements that were never closed (a page of 200 KB: 18 GB);
formatting that ends inside of blocks is moved into them (a page of 31 KB: 33 s). And lexbor's table of the names of
elements and attributes does not grow (500,000 names: over a minute).

So the tags are counted first, in one linear pass, by a rough simulation that rather counts too much than too little.
Unclosed formatting is common on old pages and tells us nothing: there the tags of formatting and of lists of options
are dropped. A page that is still too much work is refused.

lexbor writes beyond its memory where a character reference is shorter than its characters in UTF-8. There are two of
them, and they are replaced.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LIMIT = 300_000_000  # steps; about a second
_SMALL = 64_000  # characters; less cannot contain enough attributes or nested tags to matter
_REOPEN = 500  # steps to open a formatting element again; it takes memory too
_DEEP = 64  # open elements that are searched for the one that a tag closes

_FORMATS = (
    "b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"  # <a> is not among them: a second one closes the first
)
# Both cases are spelt out: with IGNORECASE the search could not jump from "<" to "<", and it runs on many pages.
_ANY_CASE = re.sub("[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", _FORMATS)
_FORMAT_START, _FORMAT_END = (re.compile(rf"{sign}(?:{_ANY_CASE})(?=[\s/>])") for sign in ("<", "</"))
_FORMAT_PAIR = re.compile(rf"<({_FORMATS})(?:\s[^<>]*)?>[^<]*</\1(?=[\s/>])", re.IGNORECASE)  # with text only
_DROPPED = re.compile(rf"</?(?:{_FORMATS}|select)(?=[\s/>])[^<>]*>?", re.IGNORECASE)
_ATTRIBUTE = r"""[\s/]*+{}(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?+)?+"""
_ATTRIBUTE_NAME = r"[^\s/>][^\s/>=]*+"
_ATTRIBUTE_NAMES = re.compile(_ATTRIBUTE.format(f"({_ATTRIBUTE_NAME})"))
_OPTION = re.compile("<[oO][pP][tT][iI][oO][nN]")
# Text is passed over in leaps: a title of 10 MB takes 15 ms, with .*? it took 340.
_TAG = re.compile(
    r"<!--(?:[^-]++|-(?!-!?>))*+(?:--!?>)?+"
    r"|<(script|style|textarea|title|xmp)\b(?:[^<]++|<(?!/\1))*+(?:</\1)?+"
    rf"|<(/?)([a-z][^\s/>]*+)((?:{_ATTRIBUTE.format(_ATTRIBUTE_NAME)})*+)",
    re.IGNORECASE | re.DOTALL,
)
_MANY = 400  # characters; shorter attributes are not counted
_FEW_TAGS, _FEW_ENDS = 600, 100  # tags, and ends of formatting among more, that take 40 ms at worst
_FEW_OPTIONS = 3000  # take 25 ms
_FEW_NAMES = 20_000  # take 50 ms
_NAMES_STEP = 20  # pairs of names that take as long as a step
_IN_LIST, _MERGE = 9, 2  # steps of an option for each tag after <select>, of an attribute for each of the first <body>
_ADOPT, _ADOPT_LINK = 3, 24  # steps for formatting that ends inside of blocks: for each pair of open elements, for each
_MOVES = 8  # blocks that an element is moved into by one end tag
_GROWING = {"&nGt;": "\u226b\u20d2", "&nLt;": "\u226a\u20d2"}  # all that are longer in UTF-8; a test looks for others

_VOID = {"area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "wbr"}
_FORMAT_NAMES = set(_FORMATS.split("|"))
_ENDINGS = np.zeros((256, 256), bool)  # the first two letters of formatting, or one and what may follow it
for _name in _FORMAT_NAMES:
    for _second in _name[1:2] or "\t\n\f\r />":
        _ENDINGS[[[ord(_name[0])], [ord(_name[0].upper())]], [ord(_second), ord(_second.upper())]] = True
_SIBLINGS = {"select", "option", "html", "body"}
_MARKERS = {"applet", "caption", "marquee", "object", "td", "template", "th"}  # formatting from outside ends here
_BARRIERS = _MARKERS | {"html", "table", "ul", "ol", "dl", "select", "button", "svg", "math"}

# Start tags that end an element that was left open, and the elements that may lie open inside of it.
_INLINE = _FORMAT_NAMES | {"a", "span"}
_LOOSE = _INLINE | {"p", "div", "address"}
_ENDS = {
    "a": ({"a"}, set[str]()),
    "p": ({"p"}, _INLINE),
    "li": ({"li"}, _LOOSE),
    **dict.fromkeys(("dt", "dd"), ({"dt", "dd"}, _LOOSE)),
    **dict.fromkeys(("option", "optgroup"), ({"option"}, set[str]())),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), ({"h1", "h2", "h3", "h4", "h5", "h6"}, set[str]())),
    **dict.fromkeys(("td", "th"), ({"td", "th"}, _LOOSE)),
    "tr": ({"tr"}, _LOOSE | {"td", "th"}),
    **dict.fromkeys(("tbody", "thead", "tfoot"), ({"tbody", "thead", "tfoot"}, _LOOSE | {"tr", "td", "th"})),
}
_IN_TABLES = {"td", "th", "tr", "tbody", "thead", "tfoot", "caption"}  # ignored anywhere else


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How much of a page is read. What is over is left out, in document order, and counted in `Page.left_out`."""

    bytes: int = 10_000_000  # a larger page is refused
    tags: int = 100_000
    text: int = 2_000_000  # characters of all leaves together
    links: int = 5_000
    headings: int = 1_000
    title: int = 500  # characters
    description: int = 2_000  # characters; of the keywords, too


def cut(markup: str, tags: int) -> str:
    """The markup up to so many tags."""
    if len(markup) <= tags or markup.count("<") <= tags:
        return markup
    at = -1
    for _ in range(tags + 1):
        at = markup.index("<", at + 1)
    return markup[:at]


def tame(markup: str) -> str | None:
    """The markup as the parser may have it: without tags of formatting and lists, if need be. None if it would take too
    long to parse."""
    if len(markup) < _SMALL:
        octets = np.frombuffer(b"%b\0\0\0\0" % markup.encode("utf-8", "surrogatepass"), np.uint8)
        markup = _without_growing(markup) if _may_grow(octets) else markup
        if _is_harmless(markup, octets):
            return markup
    else:
        markup = _without_growing(markup)
    if steps(markup) <= LIMIT:
        return markup
    plain = _DROPPED.sub("", markup)
    return plain if steps(plain) <= LIMIT else None


def _without_growing(markup: str) -> str:
    for reference, characters in _GROWING.items():
        markup = markup.replace(reference, characters)
    return markup


def _may_grow(octets: NDArray[np.uint8]) -> bool:
    """Whether a reference looks like one of those that grow. 15 us; to search for them takes 50."""
    at = (octets == ord("&")).nonzero()[0]
    at = at[octets[at + 1] == ord("n")]
    return len(at) > 0 and bool(((octets[at + 3] == ord("t")) & (octets[at + 4] == ord(";"))).any())


def _is_harmless(markup: str, octets: NDArray[np.uint8]) -> bool:
    """Whether small markup is no problem even with all formatting unclosed. Quick for most pages."""
    at = (octets == ord("<")).nonzero()[0]  # 8 us; str.count takes 27
    tags = len(at)
    if tags > _FEW_TAGS and _format_ends(octets, at) > _FEW_ENDS:
        others = _FORMAT_PAIR.sub("", markup)
        if len(_FORMAT_END.findall(others)) > _FEW_ENDS:
            return False
    if tags > _FEW_OPTIONS and len(_OPTION.findall(markup)) > _FEW_OPTIONS:
        return False
    if tags * tags // 4 * _REOPEN <= LIMIT:  # if every other tag were one; counting end tags takes 0.05 ms
        return True
    formats = min(tags - markup.count("</"), tags // 2)  # the worst case
    if formats * (tags - formats) * _REOPEN <= LIMIT:
        return True
    return len(_FORMAT_START.findall(markup)) * tags * _REOPEN <= LIMIT


def _format_ends(octets: NDArray[np.uint8], at: NDArray[np.intp]) -> int:
    """About how many of the tags at these places end formatting, rather more: by the first two letters. 15 us; to
    search for them takes 60."""
    ends = at[octets[at + 1] == ord("/")]
    return int(np.count_nonzero(_ENDINGS[octets[ends + 2], octets[ends + 3]]))


def steps(markup: str) -> int:
    """An estimate of the parser's elementary steps. Counting stops beyond LIMIT."""
    tags = _TAG.findall(markup)
    opened, formats, siblings, total = _Open(), _Formats(), _Siblings(), _names(tags) ** 2 // _NAMES_STEP
    for at, (_, closing, written, attributes) in enumerate(tags):
        if not written:
            continue
        name = written.lower()
        if len(attributes) > _MANY:
            total += len(_ATTRIBUTE_NAMES.findall(attributes)) ** 2
        if closing:
            if opened.close(name):
                elements = len(opened.names) + formats.most
                total += elements * _ADOPT_LINK if name == "a" else elements * elements * _ADOPT
        elif name not in _VOID:
            opened.open(name)
            total += siblings.see(name, attributes, at) if name in _SIBLINGS else 0
        formats.see(name, bool(closing))
        total += len(opened.names) + formats.active * _REOPEN
        if total > LIMIT:
            break
    return total


def _names(tags: list[tuple[str, str, str, str]]) -> int:
    """How many names elements and attributes have. Zero if they are few."""
    said = ">".join([tag[3] for tag in tags if tag[3]])
    attributes = len(set(_ATTRIBUTE_NAMES.findall(said))) if len(said) > 2 * _FEW_NAMES else 0
    elements = len({tag[2] for tag in tags}) if len(tags) > _FEW_NAMES else 0
    return max(attributes, elements) if max(attributes, elements) > _FEW_NAMES else 0


class _Open:
    """The open elements, roughly. An end tag closes the nearest element of its name that no barrier hides. Blocks that
    are open inside of a link or of formatting stay open."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._tables = 0

    def open(self, name: str) -> None:
        if name in _IN_TABLES and not self._tables:
            return
        if name in _ENDS:
            self._close_implied(*_ENDS[name])
        self._tables += name == "table"
        self.names.append(name)

    def close(self, name: str) -> bool:
        """Gives whether this is formatting, or a link, that ends inside of blocks."""
        names, blocks, is_format = self.names, 0, name == "a" or name in _FORMAT_NAMES
        for at in range(len(names) - 1, max(len(names) - 1 - _DEEP, -1), -1):
            if names[at] == name:
                if not (is_format and blocks):
                    self._cut(at)
                elif blocks <= _MOVES:
                    del names[at]
                return is_format and blocks > 0
            if names[at] in (_MARKERS if is_format else _BARRIERS):
                break
            blocks += names[at] not in _INLINE
        return is_format

    def _close_implied(self, ended: set[str], inside: set[str]) -> None:
        for at in range(len(self.names) - 1, max(len(self.names) - 1 - _DEEP, -1), -1):
            if self.names[at] in ended:
                self._cut(at)
                return
            if self.names[at] not in inside:
                return

    def _cut(self, at: int) -> None:
        self._tables -= self.names[at:].count("table")
        del self.names[at:]


class _Siblings:
    """Options of lists, and attributes of <html> and <body>: those of a second one go to the first. With each new one
    the parser looks through all before it; through all that is in a list, if it is an option."""

    def __init__(self) -> None:
        self._list: int | None = None  # where the first one begins; how far lists reach is hard to tell
        self._attributes = 0

    def see(self, name: str, attributes: str, at: int) -> int:
        """The steps that a tag takes, the one at this place."""
        if name == "select":
            self._list = at if self._list is None else self._list
        elif name == "option":
            return 0 if self._list is None else (at - self._list) * _IN_LIST
        elif attributes:
            more = len(_ATTRIBUTE_NAMES.findall(attributes))
            self._attributes += more
            return self._attributes * more * _MERGE
        return 0


class _Formats:
    """The formatting elements that were not closed, by name. Inside a table cell those outside of it do not count."""

    def __init__(self) -> None:
        self.active = self.most = 0
        self._counts: dict[str, int] = {}
        self._outside: list[tuple[str, dict[str, int]]] = []

    def see(self, name: str, closing: bool) -> None:
        if name in _FORMAT_NAMES:
            self._count(name, -1 if closing else 1)
        elif name in _MARKERS:
            self._mark(name, closing)

    def _count(self, name: str, change: int) -> None:
        count = self._counts.get(name, 0)
        if count + change >= 0:
            self._counts[name] = count + change
            self.active += change
            self.most = max(self.most, self.active)

    def _mark(self, name: str, closing: bool) -> None:
        if self._outside and self._outside[-1][0] == name:  # a cell also ends where the next begins
            self.active -= sum(self._counts.values())
            self._counts = self._outside.pop()[1]
        if not closing:
            self._outside.append((name, self._counts))
            self._counts = {}
