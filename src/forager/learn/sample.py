"""The pages that a topic was learnt from, as a strategy can use them: what they are called, how they begin, which words
they have, whether they are wanted, and the links between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from forager.types import Mask, Page, Parts, Ragged, Url
from forager.web.text import distinct

OPENING = 1_000  # characters of a page that tell what it is about
SENTENCE = 40  # characters of a leaf that is more than a name
ANCHOR = 200  # characters of an anchor that are kept
MOST = 50_000  # links that are kept


@dataclass(frozen=True, slots=True, eq=False)
class TopicSample:
    """Pages with a verdict. Without pages, `words` say what is wanted."""

    titles: tuple[str, ...]
    openings: tuple[str, ...]  # the first text of each page
    bags: Ragged  # the distinct terms of each page
    wanted: Mask
    words: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()  # of the links from one of the pages to another
    links: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 2), np.int32))  # from, to

    @classmethod
    def of(cls, pages: Iterable[Page], wanted: Iterable[bool], words: Sequence[str] = ()) -> TopicSample:
        titles, openings, bags, verdicts, urls, links = [], [], [], [], [], []
        for page, verdict in zip(pages, wanted, strict=True):
            titles.append(page.title)
            openings.append(opening(page))
            bags.append(distinct(page.terms.values))
            verdicts.append(bool(verdict))
            urls.append(str(page.url))
            links.append(dict(zip(page.links.targets, page.links.anchors, strict=True)))
        told = (tuple(titles), tuple(openings), Ragged.of(bags), np.array(verdicts, bool), tuple(words), tuple(urls))
        return cls(*told, *_between(urls, links))

    def parts(self) -> Parts:
        told = {name: list(getattr(self, name)) for name in ("titles", "openings", "words", "urls", "anchors")}
        pages = {"values": self.bags.values, "offsets": self.bags.offsets, "wanted": self.wanted}
        return {"told": told, **pages, "links": self.links}

    @classmethod
    def from_parts(cls, parts: Parts) -> TopicSample:
        told, bags = parts["told"], Ragged(parts["values"], parts["offsets"])
        texts = {name: tuple(told[name]) for name in told}
        return cls(bags=bags, wanted=parts["wanted"], links=parts["links"], **texts)


def _between(urls: Sequence[str], links: Sequence[Mapping[Url, str]]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The links from one of the pages to another: anchors; from and to."""
    at = {url: page for page, url in enumerate(urls)}
    found = [
        (anchor[:ANCHOR], page, at[target])
        for page, of_page in enumerate(links)
        for target, anchor in of_page.items()
        if at.get(target, page) != page
    ][:MOST]
    ends = np.array([(start, end) for _, start, end in found], np.int32).reshape(-1, 2)
    return tuple(anchor for anchor, _, _ in found), ends


def opening(page: Page) -> str:
    """How a page begins."""
    return " ".join([page.leaves[leaf][:OPENING] for leaf in opening_leaves(page)])[:OPENING]


def opening_leaves(page: Page) -> list[int]:
    """The leaves that a page begins with: sentences, not menus."""
    chosen, length = [], 0
    for at, leaf in enumerate(page.leaves):
        if len(leaf) > SENTENCE:
            chosen.append(at)
            length += len(leaf)
            if length > OPENING:
                break
    return chosen
