"""What the words at a link mean, beside what the pages of the sample mean, and what the pages meant that came so far.

e is the vector of the words of anchor and URL (forager.learn.embeddings), with 1 appended for the bias; x and y = +-1
are the vectors of titles and openings of the sample's pages and whether they are wanted.

    prior(e)   = w0.e     w0 = argmin over w of sum of c (w.x - y)^2 + lambda |w|^2;  c = sqrt(n- / n+) if wanted, or 1
    near(e)    = mean cosine of e with the 3 nearest titles of wanted pages;  far(e): of other pages
    like(e)    = the same with the 3 nearest openings of wanted pages;  unlike(e): of other pages
    learnt(e)  = w.e      begins as w0 with the links between the pages of the sample added, then follows each outcome
                          y = 2 r - 1 by recursive least squares of weight c, for the link and for how the page begins:

        k = P e / (1/c + e.P e);   w += k (y - w.e);   P -= k (P e)^T             P begins as that of w
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from forager.learn.calibration import average_precision
from forager.learn.embeddings import DIMENSIONS, WordVectors
from forager.learn.linear import Reals
from forager.learn.logistic import logistic
from forager.learn.sample import TopicSample, opening
from forager.learn.tfidf import Idf
from forager.strategies.link_features import side_by_side
from forager.strategies.weigher.words import grouped, link_texts, spans
from forager.types import Floats, Links, Mask, Page, Parts, Ragged, Terms

LAMBDA = 40.0
OUTCOME = 4.0  # a link that was followed counts as much as so many pages of the sample
LINK = 2.0  # and so does a link between its pages
NEAREST = 3
COMPARED = 100  # pages of each side
SCALE = 127.0  # a vector travels with its link in bytes
SURE = 7.0  # log-odds are not larger
USUAL = (2.0, 0.0)  # slope and bias of which little is known
PACKED = DIMENSIONS // 4  # numbers of 32 bits


class TopicMeaning:
    """Vectors of links, and what the sample says of them."""

    def __init__(self, sample: TopicSample) -> None:
        self._read: tuple[Page, Floats] | None = None  # the last page, and the vector of its opening
        rare = Idf.of(sample.bags[row] for row in range(len(sample.bags)))
        self._vectors = WordVectors(lambda words: np.sqrt(np.maximum(rare(words), 0)))
        titles, openings = (self._of_texts(texts) for texts in (sample.titles, sample.openings))
        named = self._of_texts([" ".join(sample.words)] if sample.words else [])
        wanted = np.concatenate((sample.wanted, np.ones(len(named), bool)))
        titles, first = np.concatenate((titles, named)), len(openings)
        both, verdicts = np.concatenate((titles, openings)), np.append(wanted, wanted[:first])
        self.weights, self.inverse = _fit(both, verdicts)
        led, came = self._links(sample)
        self.learnt = LearntMeaning(*_fit(np.concatenate((both, led)), np.append(verdicts, came), len(both)))
        *self._platt, self.precision = self._judge_sample(openings, wanted[:first])
        sides = ((titles, wanted), (openings, wanted[:first]))
        pages = [each[side][:COMPARED] for each, good in sides for side in (good, ~good)]
        self._pages, self._ends = np.concatenate(pages), np.cumsum([len(each) for each in pages])[:-1]

    def _links(self, sample: TopicSample) -> tuple[Floats, Mask]:
        """The vectors of the links to each page of the sample, and whether it is wanted."""
        urls, pages = link_texts(sample.urls), sample.links[:, 1]
        vectors = self._of_texts([f"{anchor} {urls[page]}" for anchor, page in zip(sample.anchors, pages, strict=True)])
        led = list(grouped(pages))
        means = [vectors[links].mean(axis=0) for _, links in led]
        return np.array(means, np.float32).reshape(-1, DIMENSIONS), sample.wanted[[page for page, _ in led]]

    def _of_texts(self, texts: Sequence[str]) -> Floats:
        return self._vectors.of_texts(texts)

    def _judge_sample(self, openings: Floats, wanted: Mask) -> tuple[float, float, float]:
        """Slope and bias that make log-odds of w0.x for openings, and its average precision. Each page is judged as if
        it had been left out of the fit."""
        if not 0 < wanted.sum() < len(wanted):
            return (*USUAL, 0.0)
        x, y = _with_bias(openings), np.where(wanted, 1.0, -1.0)
        h = _importance(wanted) * np.einsum("ij,jk,ik->i", x, self.inverse, x)
        z = (x @ self.weights - h * y) / np.maximum(1 - h, 0.1)
        both = np.column_stack((z, np.ones(len(z))))
        slope, bias = logistic(both, wanted.astype(np.float64), np.full(2, 0.1), prior=np.array(USUAL))
        return float(slope), float(bias), average_precision(z, wanted)

    def opinion(self, page: Page) -> float:
        """Log-odds that a page is wanted, by how it begins."""
        slope, bias = self._platt
        z = self.opening(page) @ self.weights[:-1] + self.weights[-1]
        return float(np.clip(slope * z + bias, -SURE, SURE))

    def opening(self, page: Page) -> Floats:
        """The vector of how a page begins. It is asked for several times for each page of a crawl."""
        if self._read is None or self._read[0] is not page:
            self._read = page, self._of_texts([opening(page)])[0]
        return self._read[1]

    def vectors(self, page: Page, links: Links, urls: Ragged, texts: Sequence[str]) -> Floats:
        """(links, DIMENSIONS) of anchor and URL together. `urls`, `texts`: the words of the URLs."""
        start, end = spans(page, links)
        both = side_by_side([Ragged.cut(page.terms.values, start, end - start), urls])
        first, last, leaves = links.first_leaf, links.last_leaf, page.leaves

        def texts_of(rows: Sequence[int]) -> list[str]:
            return [f"{' '.join(leaves[first[row] : last[row] + 1])} {texts[row]}" for row in rows]

        return self._vectors.of_bags(both, texts_of)

    def signals(self, vectors: Floats) -> Floats:
        """(n, 5): prior, near, far, like, unlike."""
        prior = vectors @ self.weights[:-1].astype(np.float32) + np.float32(self.weights[-1])
        cosines = np.split(vectors @ self._pages.T, self._ends, axis=1)
        return np.stack((prior, *map(nearest, cosines)), axis=1)


class LearntMeaning:
    """What the links meant that were followed, and what came of it."""

    def __init__(self, weights: Reals, inverse: Reals) -> None:
        self.weights, self.inverse = weights.copy(), inverse.copy()

    def learn(self, vector: Floats, relevance: float, c: float) -> None:
        e = np.append(vector.astype(np.float64), 1.0)
        pe = self.inverse @ e
        k = pe / (1.0 / c + e @ pe)
        self.weights = self.weights + k * (2.0 * relevance - 1.0 - self.weights @ e)
        self.inverse = self.inverse - np.outer(k, pe)

    def signal(self, vectors: Floats) -> Floats:
        """learnt(e)"""
        return np.asarray(vectors @ self.weights[:-1].astype(np.float32) + np.float32(self.weights[-1]), np.float32)

    def parts(self) -> Parts:
        return {"weights": self.weights, "inverse": self.inverse}

    def from_parts(self, parts: Parts) -> Self:
        return type(self)(np.asarray(parts["weights"], np.float64), np.asarray(parts["inverse"], np.float64))


def nearest(cosines: Floats) -> Floats:
    """(n,) the mean of the largest of each row (n, pages); 0 if there are none."""
    few = min(NEAREST, cosines.shape[1])
    if not few:
        return np.zeros(len(cosines), np.float32)
    return np.asarray(np.partition(cosines, -few, axis=1)[:, -few:].sum(axis=1) / np.float32(few))


def packed(vectors: Floats) -> Terms:
    """(n, PACKED): a byte for each number."""
    return np.ascontiguousarray(np.rint(vectors * SCALE).astype(np.int8)).view(np.uint32)


def unpacked(clues: Terms) -> Floats:
    """What `packed` was given, nearly."""
    return np.ascontiguousarray(clues).view(np.int8).astype(np.float32) * np.float32(1 / SCALE)


def _fit(vectors: Floats, wanted: Mask, pages: int | None = None) -> tuple[Reals, Reals]:
    """w0 and P. What follows the first `pages` is links."""
    x, c = _with_bias(vectors), _importance(wanted)
    if pages is not None:
        c[pages:] *= LINK
    inverse: Reals = np.linalg.inv((x * c[:, None]).T @ x + LAMBDA * np.eye(x.shape[1])).astype(np.float64)
    return inverse @ (x.T @ (c * np.where(wanted, 1.0, -1.0))), inverse


def _importance(wanted: Mask) -> Reals:
    """c"""
    good = int(wanted.sum())
    return np.where(wanted, np.sqrt(max(1, len(wanted) - good) / max(1, good)), 1.0)


def _with_bias(vectors: Floats) -> Reals:
    return np.concatenate((vectors.astype(np.float64), np.ones((len(vectors), 1))), axis=1)
