"""What a path model sees of pages and links: hashed words, each of a kind.

The paper's observations, as binary features (`Sets.PAPER`); w runs over the keywords, which are the words of the topic
and of title, headings, keywords and description of the targets:

    O1         largest cosine of the page to a target          of the page: one feature for each tenth that it reaches
    O2         cosine of its description to those of targets   of the page: the same
    Ow         word w is on the page                           of the page
    O3         a link of the page has a keyword in its URL     of the page
    O4         the URL that leads here has a keyword           of the link
    O5,w       w is in the anchor, or near it                  of the link
    O6,w       the same of the link that is followed next      of the link

Ours (`Sets.OURS`): Ow; words near a link, of its anchor, of its URL and of the heading above it, not only keywords; the
last words of the URL once more, how deep it is, and how it lies to that of the page; title, headings, URL and size of
the page. Numbers in anchors, URLs and titles are alike ("cs302" is "cs000"). Similarities, which cost most, are left
out.

A word is another feature here, for the page that was fetched (which it is on, or a link leaves), and ahead, for the
page that a link leads to. Most kinds of words are seen on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from forager.learn.chains.vocabulary import Vocabulary
from forager.learn.tfidf import Idf, Targets
from forager.strategies import link_features as seen
from forager.strategies.link_features import Codes, Lies, Places, Plan, Reading, Seen, coded, in_words
from forager.types import Links, Mask, Page, Parts, Ragged, Terms, stretches
from forager.web.text import code, count, decoded, mixed, salt_part, term, term_part, terms, url_terms

Found: TypeAlias = tuple[Terms, int, Places | int]  # words, what they are of, and the links that have them, or the page

VERSION = 2
CLOSE = 4  # words on either side of an anchor: the paper's least
NEAR = 8  # the same, of ours
TENTHS = np.arange(0.1, 1.0, 0.1)
MOST_TARGETS = 250  # that a page is compared with


class Kind(NamedTuple):
    """What a word is of."""

    here: bool  # whether it says something of the page that was fetched
    ahead: bool  # and of the page that a link leads to
    told: str


KINDS = (
    Kind(True, True, "{} in the anchor"),
    Kind(True, True, "{} before the anchor"),
    Kind(True, True, "{} behind the anchor"),
    Kind(True, True, "{} in the heading above"),
    Kind(True, True, "{} in the URL"),
    Kind(True, True, "{} last in the URL"),
    Kind(True, True, "{} last but one in the URL"),
    Kind(True, True, "URL with {}"),
    Kind(False, True, "URL {}"),
    Kind(True, True, "{} in the anchor or near it"),
    Kind(False, True, "a keyword in the URL"),
    Kind(True, True, "{} in the title of the page"),
    Kind(True, True, "{} in a heading of the page"),
    Kind(True, True, "{} in the URL of the page"),
    Kind(True, True, "page with {}"),
    Kind(True, False, "{} on the page"),
    Kind(True, False, "the page like a target by .{} or more"),
    Kind(True, False, "the description like that of a target by .{} or more"),
    Kind(True, False, "a keyword in the URL of a link of the page"),
)
(
    ANCHOR, BEFORE, BEHIND, ABOVE, ADDRESS, LAST, SECOND_LAST, DEPTH, LIES, ANCHORED, LED_BY,
    ENTITLED, HEADED, ADDRESSED, SIZED, HELD, ALIKE, DESCRIBED, LINKING,
) = range(len(KINDS))  # fmt: skip
_PLAN = Plan(
    [
        (seen.SAID, range(6), ANCHOR),
        (seen.BEFORE, range(-NEAR, 0), BEFORE),
        (seen.BEHIND, range(NEAR), BEHIND),
        (seen.ABOVE, range(4), ABOVE),
        (seen.ADDRESS, range(-6, 0), ADDRESS),
        (seen.ADDRESS, [-1], LAST),
        (seen.ADDRESS, [-2], SECOND_LAST),
    ]
)
_LIES = Lies(LIES, DEPTH)
_SIZES = [[f"{what} from {(1 << size) // 2} on" for size in range(32)] for what in ("links", "words")]
_SIZE = [[code(name, SIZED) for name in sizes] for sizes in _SIZES]
_SALTS = salt_part(np.arange(len(KINDS)))
_IS_HERE, _IS_AHEAD = (np.array(each) for each in list(zip(*KINDS, strict=True))[:2])
_AHEAD = salt_part(np.array([len(KINDS) - 1]))  # what is added to a code ahead


class Sets(StrEnum):
    """Which observations are made."""

    OURS = "ours"
    PAPER = "all"
    WORDS = "words"  # Ow alone
    TEXT = "text"  # all but Ow


def here(codes: Codes) -> tuple[Terms, Mask]:
    """The feature that each word is for the page that was fetched, and whether it is one."""
    return mixed(codes.copy()), _IS_HERE.take(decoded(codes)[1])


def ahead(codes: Codes) -> tuple[Terms, Mask]:
    """The same for the page that a link leads to."""
    return mixed(codes + _AHEAD), _IS_AHEAD.take(decoded(codes)[1])


@dataclass(frozen=True, eq=False)
class Observer:
    """Sees pages and links as in training."""

    sets: Sets
    keywords: Terms  # ascending
    targets: Targets
    described: Targets

    def __call__(self, page: Page, links: Links) -> Seen:
        """Of links of a page, and of the page."""
        if self.sets is Sets.OURS:
            return self._ours(page, links)
        found: list[Found] = [] if self.sets is Sets.TEXT else [(self._held(page), HELD, len(links))]
        if self.sets is not Sets.WORDS:
            found += [*self._of_page(page, len(links)), *self._of_links(page, links)]
        codes = np.concatenate([term_part(each) + _SALTS[kind] for each, kind, _ in found])
        rows = np.concatenate([np.broadcast_to(row, len(each)) for each, _, row in found])
        return Seen.scattered(codes, rows, len(links))

    def _ours(self, page: Page, links: Links) -> Seen:
        reading = Reading.of(page, links, alike=True)
        own = coded([(ENTITLED, reading.title), (HEADED, reading.headings), (ADDRESSED, reading.address)])
        counts = (len(page.links), len(page.terms.values))
        size = [codes[count.bit_length()] for codes, count in zip(_SIZE, counts, strict=True)]
        held = term_part(self._held(page)) + _SALTS[HELD]
        block = np.concatenate((_PLAN.codes(reading), _LIES.codes(reading)))
        return Seen(block, np.concatenate((own, np.array(size, np.uint64), held)))

    def _held(self, page: Page) -> Terms:
        """The keywords on a page."""
        own = page.bag.terms
        if not len(own):
            return own
        held: Mask = own.take(own.searchsorted(self.keywords), mode="clip") == self.keywords
        return self.keywords[held]

    def _of_page(self, page: Page, row: int) -> Iterable[Found]:
        """O1, O2 and O3"""
        yield _tenths(_largest(self.targets, page.terms.values)), ALIKE, row
        yield _tenths(_largest(self.described, terms([page.description])[0])), DESCRIBED, row
        linked = self._index.find(url_terms(page.links.targets).values)[1].any()
        yield _tenths(float(linked))[:1], LINKING, row

    def _of_links(self, page: Page, links: Links) -> Iterable[Found]:
        """O5 and O6, and O4"""
        first, last = page.terms.offsets[links.first_leaf], page.terms.offsets[links.last_leaf + 1]
        start, end = np.maximum(first - CLOSE, 0), np.minimum(last + CLOSE, len(page.terms.values))
        at, near = stretches(start, end - start), np.repeat(np.arange(len(links)), end - start)
        held = self._index.find(page.terms.values[at])[1]
        yield page.terms.values[at[held]], ANCHORED, near[held]
        addresses = url_terms(links.targets)
        led = np.repeat(np.arange(len(links)), addresses.lengths)[self._index.find(addresses.values)[1]]
        yield np.ones(len(led), np.uint32), LED_BY, led

    @cached_property
    def _index(self) -> Vocabulary:
        return Vocabulary(self.keywords)

    def told(self, page: Page, links: Links, codes: Codes) -> list[str]:
        """Codes in words."""
        names = seen.spelt(page, links, (*Lies.names, *_SIZES[0], *_SIZES[1]))
        names |= {step: str(step) for step in range(1, len(TENTHS) + 1)}
        return in_words(codes, names, [kind.told for kind in KINDS])

    # ---- learning and keeping

    @classmethod
    def of(cls, sets: Sets, topic: Iterable[str], targets: Sequence[Page], idf: Idf, most: int, seed: int) -> Self:
        """`topic`: words of it; `most`: keywords besides them."""
        drawn = np.random.default_rng(seed).permutation(len(targets))[:MOST_TARGETS]
        some = [targets[i] for i in np.sort(drawn).tolist()]
        described = [bag for page in some if len(bag := terms([page.description])[0])]
        bags = Ragged.of([page.terms.values for page in some])
        keywords = np.union1d(np.array([term(word) for word in topic], np.uint32), _keywords_of(targets, most))
        return cls(sets, keywords, Targets(bags, idf), Targets(Ragged.of(described), idf))

    def parts(self) -> Parts:
        return {
            "sets": self.sets.value,
            "keywords": self.keywords,
            **{f"text.{name}": part for name, part in self.targets.parts().items()},
            **{f"description.{name}": part for name, part in self.described.parts().items()},
        }

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        text, described = (
            Targets.from_parts({name.removeprefix(kind): part for name, part in parts.items() if name.startswith(kind)})
            for kind in ("text.", "description.")
        )
        return cls(Sets(parts["sets"]), np.asarray(parts["keywords"], np.uint32), text, described)


def _keywords_of(targets: Sequence[Page], most: int) -> Terms:
    """Of title, headings, keywords and description; those that most targets have, the smaller hash in a tie."""
    said = [terms([page.title, page.keywords, page.description, *page.heading_texts]).values for page in targets]
    if not said:
        return np.empty(0, np.uint32)
    found, times = count(np.concatenate([np.unique(each) for each in said]))
    return np.sort(found[np.argsort(-times, kind="stable")[:most]])


def _largest(targets: Targets, bag: Terms) -> float:
    """max over d of cos(bag, d)"""
    if not len(targets) or not len(bag):
        return 0.0
    return float(targets.cosines(Ragged(bag, np.array([0, len(bag)], np.int64))).max())


def _tenths(value: float) -> Terms:
    """The steps that it reaches, from 1 on."""
    return np.arange(1, 1 + int((value >= TENTHS).sum()), dtype=np.uint32)
