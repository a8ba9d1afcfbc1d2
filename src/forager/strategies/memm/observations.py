"""What the MEMM crawler observes of pages and links: words, each marked with its kind.

The observations of the paper as binary features (`ObservationSet.PAPER`). w runs over the keywords: the words of the
topic, and of title, headings, keywords and description of the targets.

    O1         largest cosine of the page to a target          of the page: one feature for each tenth that it reaches
    O2         largest cosine of its description to a target's of the page: one feature for each tenth that it reaches
    Ow         word w is on the page                           of the page; counted: also 2, 4, 8 times or more
    O3         a link of the page has a keyword in its URL     of the page
    O4         the URL that leads here has a keyword           of the link
    O5,w       w is in the anchor, or near it                  of the link
    O6,w       the same of the link that is followed next      of the link

A description is that of the meta data or, where there is none, the first paragraph: 50 words from the first text in a
<p> on. To the description of each target the words of the topic are added, as a directory has them. If the targets have
neither, O2 is never seen.

Our observations (`ObservationSet.OURS`): Ow; for a link the words near it, of its anchor, of its URL and of the heading
above it, keywords or not; the last words of the URL marked once more, how deep the URL is, and where it lies compared
with the page; title, headings, URL and size of the page. All numbers in anchors, URLs and titles are the same: "cs302"
is "cs000". Similarities are left out, because they cost most.

A word is one feature *here*, for the page that was fetched, and another one *ahead*, for the page that a link leads to.
Here counts what stands on the page or on a link that leaves it. Most kinds of words count on both sides.
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
from forager.strategies.link_features import (
    Codes,
    FeatureCodes,
    Indices,
    LinkTemplates,
    PageWords,
    UrlPosition,
    WordSource,
    codes_of,
    in_words,
    spellings,
)
from forager.types import Links, Mask, Page, Parts, Ragged, Terms, stretches
from forager.web.text import code, count, decoded, mixed, salt_part, term, term_part, terms, url_terms

Found: TypeAlias = tuple[Terms, int, Indices | int]  # words, their kind, and the row of each: of links, or of the page

VERSION = 3
CLOSE = 4  # words on either side of an anchor: the paper's smallest number
NEAR = 8  # the same in our observations
TENTHS = np.arange(0.1, 1.0, 0.1)
MOST_TARGETS = 250  # that a page is compared with
PARAGRAPH, SHORTEST = 50, 5  # words of a first paragraph, and of the text it begins with
TIMES = (2, 4, 8)  # that a keyword is on a page, where words are counted


class ObservationKind(NamedTuple):
    """What words of one kind say."""

    here: bool  # whether they say something of the page that was fetched
    ahead: bool  # whether they say something of the page that a link leads to
    phrase: str  # for people, with {} for the word


KINDS = tuple(
    ObservationKind(*each)
    for each in (
        (True, True, "{} in the anchor"),
        (True, True, "{} before the anchor"),
        (True, True, "{} behind the anchor"),
        (True, True, "{} in the heading above"),
        (True, True, "{} in the URL"),
        (True, True, "{} last in the URL"),
        (True, True, "{} last but one in the URL"),
        (True, True, "URL with {}"),
        (False, True, "URL {}"),
        (True, True, "{} in the anchor or near it"),
        (False, True, "a keyword in the URL"),
        (True, True, "{} in the title of the page"),
        (True, True, "{} in a heading of the page"),
        (True, True, "{} in the URL of the page"),
        (True, True, "page with {}"),
        (True, False, "{} on the page"),
        (True, False, "the page like a target by .{} or more"),
        (True, False, "the description like that of a target by .{} or more"),
        (True, False, "a keyword in the URL of a link of the page"),
        *((True, False, f"{{}} {times} times or more on the page") for times in TIMES),
    )
)
(
    ANCHOR, BEFORE, AFTER, ABOVE, URL, LAST, SECOND_LAST, DEPTH, PLACE, NEAR_ANCHOR, KEYWORD_URL,
    TITLE, HEADING, PAGE_URL, SIZE, ON_PAGE, LIKE_TARGET, LIKE_DESCRIPTION, KEYWORD_LINKS, *OFTEN,
) = range(len(KINDS))  # fmt: skip
_TEMPLATES = LinkTemplates(
    [
        (WordSource.ANCHOR_TEXT, range(6), ANCHOR),
        (WordSource.BEFORE, range(-NEAR, 0), BEFORE),
        (WordSource.AFTER, range(NEAR), AFTER),
        (WordSource.HEADING, range(4), ABOVE),
        (WordSource.URL, range(-6, 0), URL),
        (WordSource.URL, [-1], LAST),
        (WordSource.URL, [-2], SECOND_LAST),
    ]
)
_POSITION = UrlPosition(PLACE, DEPTH)
_SIZES = [[f"{what} from {(1 << size) // 2} on" for size in range(32)] for what in ("links", "words")]
_SIZE_CODES = [[code(name, SIZE) for name in sizes] for sizes in _SIZES]
_SALTS = salt_part(np.arange(len(KINDS)))
_IS_HERE, _IS_AHEAD = (np.array(each) for each in list(zip(*KINDS, strict=True))[:2])
_AHEAD = salt_part(np.array([len(KINDS) - 1]))  # added to a code to get its feature ahead


class ObservationSet(StrEnum):
    """Which observations are made."""

    OURS = "ours"
    PAPER = "all"
    WORDS = "words"  # Ow alone
    TEXT = "text"  # all but Ow


def here(codes: Codes) -> tuple[Terms, Mask]:
    """The feature of each code for the page that was fetched, and whether its kind counts there."""
    return mixed(codes.copy()), _IS_HERE.take(decoded(codes)[1])


def ahead(codes: Codes) -> tuple[Terms, Mask]:
    """The feature of each code for the page that a link leads to, and whether its kind counts there."""
    return mixed(codes + _AHEAD), _IS_AHEAD.take(decoded(codes)[1])


@dataclass(frozen=True, eq=False)
class Observer:
    """Makes the observations, the same way in training and in a crawl."""

    sets: ObservationSet
    keywords: Terms  # ascending
    targets: Targets
    described: Targets  # their descriptions
    counted: bool = False  # whether it counts how often a keyword is on a page

    def __call__(self, page: Page, links: Links) -> FeatureCodes:
        """The observations of these links of a page, and of the page."""
        if self.sets is ObservationSet.OURS:
            return self._ours(page, links)
        found: list[Found] = []
        if self.sets is not ObservationSet.TEXT:
            found = [(words, kind, len(links)) for words, kind in self._keywords_on(page)]
        if self.sets is not ObservationSet.WORDS:
            found += [*self._of_page(page, len(links)), *self._of_links(page, links)]
        codes = np.concatenate([term_part(each) + _SALTS[kind] for each, kind, _ in found])
        rows = np.concatenate([np.broadcast_to(row, len(each)) for each, _, row in found])
        return FeatureCodes.scattered(codes, rows, len(links))

    def _ours(self, page: Page, links: Links) -> FeatureCodes:
        found = PageWords.of(page, links, zero_digits=True)
        own = codes_of([(TITLE, found.title), (HEADING, found.headings), (PAGE_URL, found.url)])
        counts = (len(page.links), len(page.terms.values))
        size = [codes[count.bit_length()] for codes, count in zip(_SIZE_CODES, counts, strict=True)]
        keywords = [term_part(words) + _SALTS[kind] for words, kind in self._keywords_on(page)]
        block = np.concatenate((_TEMPLATES.codes(found), _POSITION.codes(found)))
        return FeatureCodes(block, np.concatenate((own, np.array(size, np.uint64), *keywords)))

    def _keywords_on(self, page: Page) -> Iterable[tuple[Terms, int]]:
        """Ow"""
        own = page.bag
        if not len(own.terms):
            yield own.terms, ON_PAGE
            return
        at = own.terms.searchsorted(self.keywords)
        held: Mask = own.terms.take(at, mode="clip") == self.keywords
        yield self.keywords[held], ON_PAGE
        if self.counted:
            for times, kind in zip(TIMES, OFTEN, strict=True):
                yield self.keywords[held & (own.counts.take(at, mode="clip") >= times)], kind

    def _of_page(self, page: Page, row: int) -> Iterable[Found]:
        """O1, O2 and O3"""
        yield _tenths(_largest(self.targets, page.terms.values)), LIKE_TARGET, row
        yield _tenths(_largest(self.described, description(page))), LIKE_DESCRIPTION, row
        linked = self._index.find(url_terms(page.links.targets).values)[1].any()
        yield _tenths(float(linked))[:1], KEYWORD_LINKS, row

    def _of_links(self, page: Page, links: Links) -> Iterable[Found]:
        """O5 and O6, and O4"""
        first, last = page.terms.offsets[links.first_leaf], page.terms.offsets[links.last_leaf + 1]
        start, end = np.maximum(first - CLOSE, 0), np.minimum(last + CLOSE, len(page.terms.values))
        at, near = stretches(start, end - start), np.repeat(np.arange(len(links)), end - start)
        held = self._index.find(page.terms.values[at])[1]
        yield page.terms.values[at[held]], NEAR_ANCHOR, near[held]
        urls = url_terms(links.targets)
        led = np.repeat(np.arange(len(links)), urls.lengths)[self._index.find(urls.values)[1]]
        yield np.ones(len(led), np.uint32), KEYWORD_URL, led

    @cached_property
    def _index(self) -> Vocabulary:
        return Vocabulary(self.keywords)

    def in_words(self, page: Page, links: Links, codes: Codes) -> list[str]:
        """What each code means, for people."""
        names = spellings(page, links, (*UrlPosition.names, *_SIZES[0], *_SIZES[1]))
        names |= {step: str(step) for step in range(1, len(TENTHS) + 1)}
        return in_words(codes, names, [kind.phrase for kind in KINDS])

    # ---- learning and keeping

    @classmethod
    def of(
        cls,
        sets: ObservationSet,
        topic: Sequence[str],
        targets: Sequence[Page],
        idf: Idf,
        most: int,
        seed: int,
        *,
        counted: bool = False,
    ) -> Self:
        """`topic`: its words; `most`: the number of keywords besides them."""
        drawn = np.random.default_rng(seed).permutation(len(targets))[:MOST_TARGETS]
        some = [targets[i] for i in np.sort(drawn).tolist()]
        named = np.array([term(word) for word in topic], np.uint32)
        described = [bag for page in some if len(bag := np.concatenate((named, description(page))))]
        bags = Ragged.of([page.terms.values for page in some])
        keywords = np.union1d(named, _keywords_of(targets, most))
        return cls(sets, keywords, Targets(bags, idf), Targets(Ragged.of(described), idf), counted)

    def parts(self) -> Parts:
        return {
            "sets": self.sets.value,
            "keywords": self.keywords,
            "counted": self.counted,
            **{f"text.{name}": part for name, part in self.targets.parts().items()},
            **{f"description.{name}": part for name, part in self.described.parts().items()},
        }

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        text, described = (
            Targets.from_parts({name.removeprefix(kind): part for name, part in parts.items() if name.startswith(kind)})
            for kind in ("text.", "description.")
        )
        keywords = np.asarray(parts["keywords"], np.uint32)
        return cls(ObservationSet(parts["sets"]), keywords, text, described, bool(parts["counted"]))


def description(page: Page) -> Terms:
    """The words of its description, or else of its first paragraph."""
    said = terms([page.description])[0]
    if len(said):
        return said
    lengths, starts = page.terms.lengths, page.terms.offsets
    for leaf, tag in enumerate(page.tags):
        if tag == "p" and lengths[leaf] >= SHORTEST:
            return page.terms.values[starts[leaf] : starts[leaf] + PARAGRAPH]
    return said


def _keywords_of(targets: Sequence[Page], most: int) -> Terms:
    """The `most` words of title, headings, keywords and description that most targets have. Ties: the smaller hash."""
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
    """The numbers of the tenths that a value reaches, from 1 on."""
    return np.arange(1, 1 + int((value >= TENTHS).sum()), dtype=np.uint32)
