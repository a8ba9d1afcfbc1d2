"""Guesses what can be gained behind a link: for sites that are built alike; needs `forager train`.

The reinforcement spider of Rennie & McCallum (1999).

The value of a link of the ground is what lies behind it, discounted by distance:

    Q(u,v)     = sum over targets t of gamma^(links on the shortest way from v to t)

Values are cut into a few bins with about the same number of links (forager/paths/layers.py). A link is described by
words, each marked with the place where it stands: title and headings of u, anchor text, the words near the anchor,
directories and file name in the URL of v. Naive Bayes learns Pr(bin | words) from all links with both ends in the
ground. A link that leaves the ground has no known value and is not used. While crawling, with mean(b) the mean value of
the links in bin b:

    score(u,v) = sum over bins b of Pr(b | words of (u,v)) mean(b)

The value of a link does not depend on the pages fetched before, so no state travels with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.counts import TermCounter
from forager.learn.naive_bayes import DenseNaiveBayes
from forager.paths import Ground, ShownPath, ValueBins, bins, page_values
from forager.strategies.link_features import side_by_side
from forager.strategies.taught import TrainingMaterial, check_made, only_unmet
from forager.types import BEST, Floats, Links, Page, Parts, Ragged, ReportIteration, ScoredLinks, Terms, Url, Visit
from forager.web.text import mix, term, terms, url_terms, words

FEATURES = 1  # version of the description of a link
HEAD, ANCHOR, NEAR, ADDRESS = range(4)  # places of words
PLACES = ("title or heading", "anchor", "near", "URL")


class QValue:
    """Links by their expected value, which naive Bayes tells from the words around them."""

    combine = BEST

    def __init__(self, *, gamma: float = 0.5, values: int = 3, near: int = 10, deepest: int = 8) -> None:
        """`values`: number of bins; `near`: words on either side of an anchor; `deepest`: distance in links up to which
        targets count."""
        if not 0 < gamma < 1 or not 2 <= values <= 255 or near < 0 or deepest < 0:
            raise ForagerError(
                "q-value: gamma must lie between 0 and 1, values from 2 to 255, near and deepest must be at least 0"
            )
        self.gamma, self.values, self.near, self.deepest = gamma, values, near, deepest
        self._made = f"features of version {FEATURES}, {near} words near a link"
        self._model: DenseNaiveBayes | None = None
        self._means: Floats = np.empty(0, np.float32)  # of the bins, ascending

    # ---- learning

    def taught(self, ground: Ground, shown: Sequence[ShownPath] = (), heard: ReportIteration | None = None) -> Self:
        material = TrainingMaterial.of(ground, shown)
        binned = self._binned(material)
        bin_of = np.full(len(ground), -1, np.int32)
        bin_of[material.graph.targets] = binned.members  # one for each page v: Q(u,v) is the same for all u
        counter = TermCounter(range(len(binned.means)))
        for number, page in zip(material.pages.tolist(), ground.pages(material.pages.tolist()), strict=True):
            if page is not None:
                ends = ground.ends(page)
                known = np.where((ends >= 0) & (ends != number), bin_of[ends], -1)
                rows = np.flatnonzero(known >= 0)
                own, head = self.described(page, page.links.take(rows.tolist()))
                everywhere = Ragged(np.tile(head, len(rows)), np.arange(len(rows) + 1) * len(head))
                counter.add_rows(side_by_side([own, everywhere]), known[rows].tolist())
        new = copy(self)
        new._model, new._means = DenseNaiveBayes.of(counter.counts(), even=False), binned.means
        return new

    def _binned(self, material: TrainingMaterial) -> ValueBins:
        value = page_values(material.graph, material.targets, self.gamma, self.deepest)[material.graph.targets]
        if not value.any():
            raise ForagerError(
                "q-value: no link of the web to learn on leads to a target: give targets that are linked"
            )
        return bins(value, self.values)

    # ---- scoring

    @only_unmet
    def score(self, visit: Visit) -> ScoredLinks:
        if self._model is None:
            return ScoredLinks(np.zeros(len(visit.links), np.float32))
        own, head = self.described(visit.page, visit.links)
        return ScoredLinks((self._model.posteriors(own, head) @ self._means).astype(np.float32))

    def described(self, page: Page, links: Links) -> tuple[Ragged, Terms]:
        """The words of each link, and the words of title and headings, which are the same for all links of the page."""
        own = [Ragged(mix(rows.values, place), rows.offsets) for place, rows in self._texts(page, links)]
        return side_by_side(own), mix(_head(page), HEAD)

    def _texts(self, page: Page, links: Links) -> list[tuple[int, Ragged]]:
        """The words of each link in each place but title and headings."""
        begin, end = page.terms.offsets[links.first_leaf], page.terms.offsets[links.last_leaf + 1]
        before, behind = np.maximum(begin - self.near, 0), np.minimum(end + self.near, len(page.terms.values))
        spans = ((ANCHOR, begin, end), (NEAR, before, begin), (NEAR, end, behind))
        said = [(place, Ragged.cut(page.terms.values, start, stop - start)) for place, start, stop in spans]
        return [*said, (ADDRESS, url_terms([_path(url) for url in links.targets]))]

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """The words and their weights: above 0 they speak for the highest bin of values, below 0 for the lowest."""
        if self._model is None:
            return []
        page, links = visit.page, visit.links.take([link])
        spelt = {
            term(word): word for text in (page.title, *page.leaves, _path(links.targets[0])) for word in words(text)
        }
        told: dict[str, float] = {}
        for place, said in (*((place, rows[0]) for place, rows in self._texts(page, links)), (HEAD, _head(page))):
            logs = self._model.weights(mix(said, place))
            for hashed, weight in zip(said.tolist(), (logs[:, -1] - logs[:, 0]).tolist(), strict=True):
                name = f"{spelt.get(hashed, '…')} ({PLACES[place]})"
                told[name] = told.get(name, 0.0) + weight
        return sorted(told.items(), key=lambda item: -abs(item[1]))

    # ---- keeping

    def parts(self) -> Parts:
        if self._model is None:
            return {"made": self._made, "taught": False}
        return {"made": self._made, "taught": True, "means": self._means, **self._model.parts()}

    def from_parts(self, parts: Parts) -> Self:
        check_made("q-value", parts, self._made)
        new = copy(self)
        if np.asarray(parts["taught"]):
            new._model, new._means = DenseNaiveBayes.from_parts(parts), np.asarray(parts["means"], np.float32)
        return new

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """All shards carry the same model."""
        return parts[0]


def _head(page: Page) -> Terms:
    """The words of title and headings."""
    headings = (page.terms.span(heading.first_leaf, heading.last_leaf) for heading in page.headings)
    return np.concatenate([terms([page.title])[0], *headings])


def _path(url: Url) -> str:
    """Directories and file name, behind "://", where `url_terms` expects them."""
    return f"://{url.partition('://')[2].partition('/')[2]}"
