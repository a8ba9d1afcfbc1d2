"""The features of the path forager: words of a page and of its links, each marked with its kind.

The features of the thesis, and a constant:

    page   words of head and body; words of the URL with the extension, and "~"; whether a pattern of elements repeats;
           whether a heading is one of a set
    link   the first 10 words of the anchor; the 10 words before and after it; the last 10 words of its URL, cut like
           the URL of the page

Our features. Other sites use other names for the same things, and fewer words take less time:

    page   the same, but without the host, and only patterns of up to three elements; words of the title and of
           headings; the number of links, of digits in their URLs, and of words, as powers of 2
    link   6 words of the anchor; 8 words before and after it; the last 6 words of its URL, the last two of them marked
           once more; how deep the URL is, and where it lies compared with the page; 4 words of the heading above; the
           end of the tag path

In our features all numbers in anchors, URLs and titles are the same: "cs412" is "cs000".

*Repeated structure*: does a page show the same pattern of elements again and again, as lists and tables do?

A page is the sequence of the elements of its leaves, s_1 … s_n. All its factors (runs of elements in a row) of 2^k
elements get names by doubling, as in the making of a suffix array (Karp, Miller & Rosenberg 1972). Two factors are
equal if both their halves are equal:

    name_0(i) = name of s_i        name_k+1(i) = name of (name_k(i), name_k(i + 2^k))

A pattern of p elements, 2^k <= p < 2^(k+1), *repeats* if some factor of 2^k elements occurs `times` times in succession
at distances of p, and not between. So p = 2^k asks for equal copies. With a larger p less than half of a copy may
differ, as in the records of a list. *Nested* patterns: the shortest patterns that repeat are folded, all copies into
one, and the shorter sequence is examined again. For example, if two copies are enough, "a b b b c, a b b c,
a b b b b c" is "a b c" three times. The number of rounds that find something is the depth of the nesting.

A round sorts n names at most log2 n times. So a page costs at most n log^2 n, whatever is on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.strategies.link_features import (
    Codes,
    FeatureCodes,
    LinkTemplates,
    PageWords,
    UrlPosition,
    WordSource,
    codes_of,
    in_words,
    spellings,
    zeroed,
)
from forager.types import Links, Page
from forager.web.text import code, salt_part, term_part

VERSION = 2  # of the features
HEADINGS = ("teaching", "courses", "research interests", "publications", "contact")

PHRASES = (  # for people, one for each kind
    *("{} on the page", "{} in the head of the page", "{} in the URL of the page", "{}"),
    *("{} in the title of the page", "{} in a heading of the page"),
    *("{}", "{} near", "{} in URL", "{} last in URL", "{} last but one in URL", "{} in heading above"),
    *("URL {}", "URL with {}", "element {}", "any link"),
)
(
    WORD, HEAD, TOKEN, FLAG, TITLE, HEADING,
    ANCHOR, NEAR, PATH, LAST, SECOND_LAST, ABOVE, PLACE, DEPTH, TAGS, LINK,
) = range(len(PHRASES))  # fmt: skip

_THESIS = (
    (WordSource.ANCHOR, range(10), ANCHOR),
    (WordSource.BEFORE, range(-10, 0), NEAR),
    (WordSource.AFTER, range(10), NEAR),
    (WordSource.URL, range(-10, 0), PATH),
)
_OURS = (
    (WordSource.ANCHOR_TEXT, range(6), ANCHOR),
    (WordSource.BEFORE, range(-8, 0), NEAR),
    (WordSource.AFTER, range(8), NEAR),
    (WordSource.HEADING, range(4), ABOVE),
    (WordSource.URL, range(-6, 0), PATH),
    (WordSource.URL, [-1], LAST),
    (WordSource.URL, [-2], SECOND_LAST),
)
_TEMPLATES = {False: LinkTemplates(_THESIS), True: LinkTemplates(_OURS)}
_POSITION, _LINK = UrlPosition(PLACE, DEPTH), np.uint64(code("link", LINK))
_SALTS = salt_part(np.arange(len(PHRASES)))
_ATTRIBUTES = re.compile(r"[#.]\S*")


@dataclass(frozen=True, slots=True)
class CrfFeatures:
    """Gives the features of pages and links: ours, or those of the thesis."""

    ours: bool = True
    headings: frozenset[str] = frozenset(HEADINGS)

    def __call__(self, page: Page, links: Links) -> FeatureCodes:
        """The features of these links of a page, and of the page."""
        found = PageWords.of(page, links, zero_digits=self.ours)
        block = [_TEMPLATES[self.ours].codes(found), np.full((1, len(links)), _LINK)]
        if self.ours:
            tails = np.array([_tail_code(path) for path in links.tag_paths], np.uint64)
            block += [_POSITION.codes(found), tails[None]]
        return FeatureCodes(np.concatenate(block), self._of_page(page, found))

    def _of_page(self, page: Page, found: PageWords) -> Codes:
        more = [(TITLE, found.title), (HEADING, found.headings)] if self.ours else [(TOKEN, found.host)]
        own = codes_of([(HEAD, found.meta), (TOKEN, found.url), *more])
        flags = np.array([_flag_code(flag) for flag in self._flags(page)], np.uint64)
        return np.concatenate((own, flags, term_part(page.bag.terms) + _SALTS[WORD]))

    def _flags(self, page: Page) -> Iterator[str]:
        """What holds for the page as a whole."""
        yield "any page"
        if has_list(page.tags) if self.ours else nesting(page.tags, deepest=1):
            yield "repeated structure"
        if any(head.strip(" :.").lower() in self.headings for head in page.heading_texts):
            yield "a heading of the set"
        if self.ours:
            digits = zeroed("".join(page.links.targets)).count("0")
            counts = {"links": len(page.links), "digits in links": digits, "words": len(page.terms.values)}
            for what, count in counts.items():
                yield f"{what} from {(1 << count.bit_length()) // 2} on"

    def in_words(self, page: Page, links: Links, codes: Codes) -> list[str]:
        """What each code means, for people."""
        names = spellings(page, links, [*UrlPosition.names, *map(tail, links.tag_paths), *self._flags(page), "link"])
        return in_words(codes, names, PHRASES)


@lru_cache(maxsize=256)
def _flag_code(name: str) -> int:
    return code(name, FLAG)


@lru_cache(maxsize=4096)
def _tail_code(path: str) -> int:
    return code(tail(path), TAGS)


def tail(path: str) -> str:
    """The last three elements of a tag path, without ids and classes."""
    return _ATTRIBUTES.sub("", " ".join(path.rsplit(" ", 3)[-3:]))


# ---- repeated structure ---------------------------------------------------------------------------------------------

TIMES = 6  # copies that make a list: three in four of webkb's lists have so many, and two in five of other pages
DEEPEST = 2  # rounds: no feature asks for more
SMALL = 1 << 15  # numbers below it fit into 16 bits, which numpy sorts by radix

_FIRST = 300  # leaves that `has_list` looks at
_LETTERS = "".join(map(chr, range(_FIRST)))
_LIST = re.compile("|".join(rf"({'.' * size})\{size}{{{TIMES - 1}}}" for size in (1, 2, 3)), re.DOTALL)

Names: TypeAlias = NDArray[np.integer[Any]]


class RepeatedPatterns(NamedTuple):
    """Patterns that repeat: each has `period` elements and repeats from `first` up to `end`."""

    first: Names
    period: Names
    end: Names


class _Factors(NamedTuple):
    """All factors of one length."""

    order: Names  # where they begin: equal ones together, from left to right
    differs: NDArray[np.bool_]  # whether each but the first differs from the one before it in `order`


def nesting(tags: Sequence[str], times: int = TIMES, deepest: int = DEEPEST) -> int:
    """The depth of the nesting of patterns that repeat, at most `deepest`; 0 if nothing repeats."""
    if deepest == 1 and times <= TIMES and has_list(tags):
        return 1
    numbers = {tag: number for number, tag in enumerate(dict.fromkeys(tags))}
    kind = np.int16 if len(tags) < SMALL else np.int64
    sequence: Names = np.fromiter(map(numbers.__getitem__, tags), kind, len(tags))
    for depth in range(deepest):
        repeats = shortest_repeats(sequence, times)
        if repeats is None:
            return depth
        if depth + 1 < deepest:
            sequence = folded(sequence, repeats)
    return deepest


def has_list(tags: Sequence[str]) -> bool:
    """Do the first leaves show a pattern of up to three elements TIMES times? Most lists do. This sorts nothing."""
    first = tags[:_FIRST]
    letters = dict(zip(dict.fromkeys(first), _LETTERS, strict=False))
    return _LIST.search("".join([letters[tag] for tag in first])) is not None


def shortest_repeats(sequence: Names, times: int = TIMES) -> RepeatedPatterns | None:
    """The patterns that repeat for the smallest k that has any; None if nothing repeats."""
    factors, length = _sorted(sequence), 1
    while length * times <= len(sequence) and not factors.differs.all():  # a factor that occurs once cannot repeat
        found = _repeats(factors, length, times)
        if len(found.first):
            return found
        factors, length = _doubled(factors, length), 2 * length
    return None


def _sorted(names: Names) -> _Factors:
    order = np.argsort(names, kind="stable")
    return _Factors(order, np.diff(names[order]) != 0)


def _doubled(factors: _Factors, length: int) -> _Factors:
    name = np.empty(len(factors.order), np.int64)
    name[factors.order] = np.concatenate(([0], np.cumsum(factors.differs)))
    return _sorted(name[:-length] * len(name) + name[length:])


def _repeats(factors: _Factors, length: int, times: int) -> RepeatedPatterns:
    """The patterns of `length` to `2 length - 1` elements that repeat."""
    distance = np.diff(factors.order)
    distance[factors.differs] = 0
    changes = np.concatenate(([0], np.cumsum(distance[1:] != distance[:-1])))
    steady = changes[times - 2 :] == changes[: len(changes) - times + 2]  # the next times - 2 distances are the same
    distance = distance[: len(steady)]
    at = np.flatnonzero(steady & (distance >= length) & (distance < 2 * length))
    first, period = factors.order[at], distance[at]
    return RepeatedPatterns(first, period, first + (times - 1) * period + length)


def folded(sequence: Names, repeats: RepeatedPatterns) -> Names:
    """The sequence with one copy of each pattern that repeats."""
    edges = np.bincount(repeats.first + repeats.period, minlength=len(sequence) + 1)
    edges -= np.bincount(repeats.end, minlength=len(sequence) + 1)
    left: Names = sequence[np.cumsum(edges[:-1]) == 0]
    return left
