"""What the path forager sees of a page and of its links: hashed features.

As the thesis has them, and a constant:

    page   words of head and body; tokens of the URL, the extension among them, and "~"; whether a pattern of elements
           repeats (`repeated`); whether a heading is one of a set
    link   words of the anchor; the 10 words before and behind it; tokens of the path of its URL, as of the page

And of ours, because other sites have the same things by other names (shapes and numbers: `crf_texts`):

    page   words of the title and of headings; shapes of title and URL; how many links, links with a number, and words
           there are, as powers of 2
    link   shapes of its anchor, and of what its URL has beyond the folder of the page; tokens of that; how it lies to
           the page (below, beside, above, across, elsewhere); whether its numbers are in the URL or title of the page,
           too; words of the heading above it; the last elements of its tag path
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from forager.chains.rows import Reals, Sparse
from forager.chains.vocabulary import Vocabulary, sums
from forager.strategies.crf_texts import Addresses, Places, Texts, numbered, path_of, tails, tokens
from forager.strategies.repeated import nesting
from forager.text import distinct, mixed, salt_part, term_part, words
from forager.types import Floats, Links, Page, Ragged, Terms, stretches

VERSION = 1  # of the features
HEADINGS = ("teaching", "courses", "research interests", "publications", "contact")

# What a word is of: it is another feature for each.
WORD, TOKEN, FLAG, TITLE, HEADING, SHAPE, URL_SHAPE = range(7)  # of pages
TOLD = (  # of links, as it is told in explanations
    *("{}", "{} near", "{} in URL", "{}", "{} in heading above"),
    *("{} (shape)", "{} in rest of URL (shape)", "{} in rest of URL"),
)
ANCHOR, NEAR, PATH, LINK_FLAG, ABOVE, LINK_SHAPE, REST_SHAPE, REST = range(7, 7 + len(TOLD))
_SALTS = salt_part(np.arange(REST + 1))

_WINDOW, _WIDEST = 10, 100  # words on either side, words of an anchor
_LONGEST = 300  # characters of a heading that count for the links below it
_32 = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Features of n rows, in any order, some perhaps more than once."""

    values: Terms  # (e,)
    rows: Places  # (e,) whose they are
    count: int  # n

    def columns(self, known: Vocabulary) -> tuple[Places, Places]:
        """Where the features are among those known, each once in a row, and the rows, ascending."""
        likely = known.likely(self.values)
        keys = distinct(self.rows.take(likely).astype(np.uint64) << _32 | self.values.take(likely))
        at, found = known.find(keys.astype(np.uint32))
        held = np.flatnonzero(found)
        return at.take(held), (keys.take(held) >> _32).astype(np.intp)

    def matrix(self, known: Vocabulary, width: int) -> Sparse:
        """(n, width): 1 where a row has a known feature."""
        at, rows = self.columns(known)
        return csr_matrix((np.ones(len(at)), (rows, at)), shape=(self.count, width))

    def sums(self, known: Vocabulary, weights: Floats) -> Reals:
        """`matrix(known) @ weights`, (n, c), without the matrix: to make one would take as long as all the rest."""
        at, rows = self.columns(known)
        return sums(Ragged(at.astype(np.uint32), np.searchsorted(rows, np.arange(self.count + 1))), weights)


@dataclass(frozen=True, slots=True)
class Features:
    ours: bool = True
    headings: frozenset[str] = frozenset(HEADINGS)

    def __call__(self, page: Page, links: Links) -> Seen:
        """Of n links of a page, rows 0 to n - 1, and of the page itself, row n."""
        at, kinds, rows = _around(page, links)
        said, said_kinds, said_rows = self._texts(page, links).cut()
        own = page.bag.terms
        values = np.concatenate((page.terms.values.take(at), said, own))
        salts = _SALTS.take(np.concatenate((kinds, said_kinds, np.full(len(own), WORD))))
        rows = np.concatenate((rows, said_rows, np.full(len(own), len(links))))
        return Seen(mixed(term_part(values) + salts), rows, len(links) + 1)

    def names(self, page: Page, links: Links, link: int) -> list[str]:
        """What each feature of one link is, in words: in the order of those it has when it is the only one."""
        alone = links.take([link])
        at, kinds, _ = _around(page, alone)
        spelt = [word for leaf in page.leaves for word in words(leaf)]
        near = [(kind, spelt[i]) for i, kind in zip(at.tolist(), kinds.tolist(), strict=True)]
        return [TOLD[kind - ANCHOR].format(word) for kind, word in near + self._texts(page, alone).told()]

    def _texts(self, page: Page, links: Links) -> Texts:
        texts = Texts(len(links), LINK_FLAG)
        heads = [page.text(heading.first_leaf, heading.last_leaf) for heading in page.headings]
        self._of_links(texts, page, links, heads)
        said = {TOKEN: tokens(page.url[page.url.find("/") + 2 :]), WORD: f"{page.keywords} {page.description}"}
        said[FLAG] = " ".join(self._flags(page, heads))
        if self.ours:
            said |= {TITLE: page.title, HEADING: " ".join(heads)}
            texts.add_shapes(SHAPE, [page.title], first=len(links))
            texts.add_shapes(URL_SHAPE, [tokens(path_of(page.url))], first=len(links))
        for kind, text in said.items():
            texts.add(kind, [text], first=len(links))
        return texts

    def _flags(self, page: Page, heads: Sequence[str]) -> list[str]:
        flags = ["page"]
        if nesting(page.tags, deepest=1):
            flags.append("repeats")
        if any(head.strip(" :.").lower() in self.headings for head in heads):
            flags.append("heading_of_set")
        if self.ours:
            with_number = len(numbered(page.links.anchors))
            counts = {"links": len(page.links), "numbered": with_number, "words": len(page.terms.values)}
            flags += [f"{name}_{count.bit_length()}" for name, count in counts.items()]
        return flags

    def _of_links(self, texts: Texts, page: Page, links: Links, heads: Sequence[str]) -> None:
        addresses = Addresses.of(page.url, links.targets)
        texts.add(PATH, addresses.paths)
        if not self.ours:
            texts.add(LINK_FLAG, ["link"] * len(links))
            return
        texts.add(REST, addresses.rests)
        last = np.array([heading.last_leaf for heading in page.headings], np.int32)
        above = np.searchsorted(last, links.first_leaf).tolist()
        texts.add(ABOVE, [heads[at - 1][:_LONGEST] if at else "" for at in above])
        flags = zip(addresses.places, tails(links.tag_paths), strict=True)
        texts.add(LINK_FLAG, [f"link {place} {tail}" for place, tail in flags])
        texts.add_shapes(LINK_SHAPE, links.anchors)
        beyond = zip(addresses.rests, addresses.paths, strict=True)
        texts.add_shapes(REST_SHAPE, [rest or path for rest, path in beyond])


def _around(page: Page, links: Links) -> tuple[Places, Places, Places]:
    """The words of each anchor and those near it: where each is in the page, its kind, and the link."""
    start = page.terms.offsets.take(links.first_leaf)
    stop = np.minimum(page.terms.offsets.take(links.last_leaf + 1), start + _WIDEST)
    first, last = np.maximum(start - _WINDOW, 0), np.minimum(stop + _WINDOW, len(page.terms.values))
    lengths = last - first
    rows, at = np.repeat(np.arange(len(links)), lengths), stretches(first, lengths)
    return at, np.where((at >= start.take(rows)) & (at < stop.take(rows)), ANCHOR, NEAR), rows
