"""What the path forager sees of a page and of its links: hashed words, each of a kind.

As the thesis has them, and a constant:

    page   words of head and body; tokens of the URL, the extension among them, and "~"; whether a pattern of elements
           repeats (`repeated`); whether a heading is one of a set
    link   the first 10 words of the anchor; the 10 words before and behind it; the last 10 tokens of its URL, as of
           the page

Ours, because other sites have the same things by other names, and because fewer words take less time:

    page   the same, without the host, and of patterns only those of up to three elements; words of the title and of
           headings; how many links, digits in their URLs, and words there are, as powers of 2
    link   6 words of the anchor, 8 before and behind it, the last 6 of its URL, and of these the last two once more;
           how deep it is, and how it lies to that of the page; 4 words of the heading above; the end of the tag path

In ours numbers in anchors, URLs and titles are alike: "cs412" is "cs000".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from forager.strategies import link_features as seen
from forager.strategies.crf.repeated import listed, nesting
from forager.strategies.link_features import Codes, Lies, Plan, Reading, Seen, coded, in_words, spelt, zeroed
from forager.types import Links, Page
from forager.web.text import code, salt_part, term_part

VERSION = 2  # of the features
HEADINGS = ("teaching", "courses", "research interests", "publications", "contact")

TOLD = (
    *("{} on the page", "{} in the head of the page", "{} in the URL of the page", "{}"),
    *("{} in the title of the page", "{} in a heading of the page"),
    *("{}", "{} near", "{} in URL", "{} last in URL", "{} last but one in URL", "{} in heading above"),
    *("URL {}", "URL with {}", "element {}", "any link"),
)
(
    WORD, HEAD, TOKEN, FLAG, TITLE, HEADING,
    ANCHOR, NEAR, PATH, LAST, SECOND_LAST, ABOVE, LIES, DEPTH, TAIL, LINK,
) = range(len(TOLD))  # fmt: skip

_THESIS = (
    (seen.WITHIN, range(10), ANCHOR),
    (seen.BEFORE, range(-10, 0), NEAR),
    (seen.BEHIND, range(10), NEAR),
    (seen.ADDRESS, range(-10, 0), PATH),
)
_OURS = (
    (seen.SAID, range(6), ANCHOR),
    (seen.BEFORE, range(-8, 0), NEAR),
    (seen.BEHIND, range(8), NEAR),
    (seen.ABOVE, range(4), ABOVE),
    (seen.ADDRESS, range(-6, 0), PATH),
    (seen.ADDRESS, [-1], LAST),
    (seen.ADDRESS, [-2], SECOND_LAST),
)
_PLANS = {False: Plan(_THESIS), True: Plan(_OURS)}
_LIES, _LINK = Lies(LIES, DEPTH), np.uint64(code("link", LINK))
_SALTS = salt_part(np.arange(len(TOLD)))
_ATTRIBUTES = re.compile(r"[#.]\S*")


@dataclass(frozen=True, slots=True)
class Features:
    ours: bool = True
    headings: frozenset[str] = frozenset(HEADINGS)

    def __call__(self, page: Page, links: Links) -> Seen:
        """Of links of a page, and of the page."""
        reading = Reading.of(page, links, alike=self.ours)
        block = [_PLANS[self.ours].codes(reading), np.full((1, len(links)), _LINK)]
        if self.ours:
            tails = np.array([_tail(path) for path in links.tag_paths], np.uint64)
            block += [_LIES.codes(reading), tails[None]]
        return Seen(np.concatenate(block), self._of_page(page, reading))

    def _of_page(self, page: Page, reading: Reading) -> Codes:
        more = [(TITLE, reading.title), (HEADING, reading.headings)] if self.ours else [(TOKEN, reading.host)]
        own = coded([(HEAD, reading.meta), (TOKEN, reading.address), *more])
        flags = np.array([_flag(flag) for flag in self._flags(page)], np.uint64)
        return np.concatenate((own, flags, term_part(page.bag.terms) + _SALTS[WORD]))

    def _flags(self, page: Page) -> Iterator[str]:
        yield "any page"
        if listed(page.tags) if self.ours else nesting(page.tags, deepest=1):
            yield "repeated structure"
        if any(head.strip(" :.").lower() in self.headings for head in page.heading_texts):
            yield "a heading of the set"
        if self.ours:
            numbered = zeroed("".join(page.links.targets)).count("0")
            counts = {"links": len(page.links), "digits in links": numbered, "words": len(page.terms.values)}
            for what, count in counts.items():
                yield f"{what} from {(1 << count.bit_length()) // 2} on"

    def told(self, page: Page, links: Links, codes: Codes) -> list[str]:
        """Codes in words."""
        names = spelt(page, links, [*Lies.names, *map(tail, links.tag_paths), *self._flags(page), "link"])
        return in_words(codes, names, TOLD)


@lru_cache(maxsize=256)
def _flag(name: str) -> int:
    return code(name, FLAG)


@lru_cache(maxsize=4096)
def _tail(path: str) -> int:
    return code(tail(path), TAIL)


def tail(path: str) -> str:
    """The last three elements of a tag path, without ids and classes."""
    return _ATTRIBUTES.sub("", " ".join(path.rsplit(" ", 3)[-3:]))
