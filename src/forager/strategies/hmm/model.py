"""What the HMM has learnt: a chain of states, clusters of pages, and targets that pages are compared with.

*The chain*, with k states and C clusters, is counted from pages whose states are known, with add-one:

    pi(i)      = (1 + paths that begin in i) / (k + paths)
    a(i,j)     = (1 + steps from i to j) / (k + steps from i)
    b(i,c)     = (1 + pages of i in cluster c) / (C + pages of i)

Rows are log-alpha of one page, (1, k) (forager/learn/chains/rows.py).

*Clusters* of pages come from latent semantic indexing, then X-means.

*LSI* (Deerwester et al. 1990). X is the matrix of TF-IDF weights, a row of length 1 for each page, and X ~ U S V' its
largest d singular values. A page x, new or old, becomes the point x V, scaled to length 1. So distances of points are
cosines of pages.

*X-means* (Pelleg & Moore 2000). Begin with one cluster. In each round cut every cluster in two by 2-means, keep the
halves where BIC is better with them, then let k-means move all centroids, up to the largest k allowed. The first cut of
many equal clusters is seldom better. So a round that would keep no halves keeps the two that lose least, and the search
ends after some rounds without a better BIC. The result is the round with the best BIC. For R points in d dimensions and
K clusters of n_j points, each a sphere with the same variance s:

    s      = sum of squared distances to the own centroid / (d (R - K))
    log L  = sum over j of n_j log(n_j / R)  -  R d / 2 log(2 pi s)  -  d (R - K) / 2
    BIC    = log L - p / 2 log R,    p = (K - 1) + d K + 1
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.errors import ForagerError
from forager.learn.chains.rows import Reals, Sparse, log_sum, rescaled
from forager.learn.chains.vocabulary import Vocabulary
from forager.learn.tfidf import Idf, TfidfRows, find
from forager.paths import PageSequences
from forager.types import Bag, Floats, Ids, Parts, Ragged, Terms

WORDS = 20_000  # the number of words that count: those on the most pages
FEWEST = 2  # pages that a word must be on to count, if there are such words
ROUNDS = 30  # of k-means
PATIENCE = 5  # rounds of X-means without a better BIC
_SPARE, _POWER = 10, 7  # dimensions more than are wanted, and products with X'X, in the search for the axes
_NO_SPREAD = 1e-12  # variance of points that are all the same


@dataclass(frozen=True, eq=False)
class HmmModel:
    """The chain, the clusters, and the targets."""

    chain: HmmChain
    clusters: PageClusters
    examples: Ragged  # the words of each target

    def observed(self, bag: Bag) -> tuple[int, float]:
        """The cluster of a page, and max over the targets d of cos(u,d). Only words that count are used."""
        at, weights = self.clusters.weighed_bag(bag)
        point, cosines = np.split(weights @ self._axes_and_targets.take(at, axis=0), [self.clusters.axes.shape[1]])
        return int(self.clusters.nearest_to(point[None])[0]), min(float(cosines.max()), 1.0)

    @cached_property
    def _axes_and_targets(self) -> Floats:
        """For each word its coordinates on the axes, then its weight in each target: so both are looked up at once."""
        targets = self.clusters.weighed(self.examples).toarray().T
        return np.hstack((self.clusters.axes, targets)).astype(np.float32)

    def parts(self) -> Parts:
        examples = {"example_terms": self.examples.values, "example_offsets": self.examples.offsets}
        return {**self.chain.parts(), **self.clusters.parts(), **examples}

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        examples = Ragged(np.asarray(parts["example_terms"]), np.asarray(parts["example_offsets"]))
        return cls(HmmChain.from_parts(parts), PageClusters.from_parts(parts), examples)


# ---- the chain ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class HmmExamples:
    """Pages with known states, and the steps between them."""

    pages: Ids  # a page may occur several times and then counts as often
    states: Ids  # of each of them
    first: Ids  # the states in which paths begin
    steps: tuple[Ids, Ids]  # the states before and after each step
    count: int  # k

    @classmethod
    def of(cls, sequences: PageSequences, count: int) -> Self:
        begins = np.zeros(len(sequences.states), bool)
        begins[sequences.offsets[:-1]] = True
        after = np.flatnonzero(~begins)
        states = sequences.states
        return cls(sequences.pages, states, states[begins], (states[after - 1], states[after]), count)


@dataclass(frozen=True, slots=True, eq=False)
class HmmChain:
    """The chances of the HMM, as logarithms."""

    start: Reals  # (k,) log pi
    step: Reals  # (k, k) log a
    emit: Reals  # (k, C) log b

    @classmethod
    def counted(cls, examples: HmmExamples, cluster: Ids, clusters: int) -> Self:
        """`cluster`: the cluster of each page of the ground, -1 if it could not be read."""
        own = cluster[examples.pages]
        read = own >= 0
        start = _add_one(np.zeros_like(examples.first), examples.first, (1, examples.count))[0]
        step = _add_one(*examples.steps, (examples.count, examples.count))
        return cls(start, step, _add_one(examples.states[read], own[read], (examples.count, clusters)))

    def forward(self, before: Reals | None, cluster: int) -> Reals:
        """log alpha of a page, (1, k), from log alpha of the page before it on the path; None if it is the first."""
        expected = self.start[None] if before is None else self.ahead(before)
        return rescaled(expected + self.emit[:, cluster], best=False)

    def ahead(self, alpha: Reals) -> Reals:
        """log P of the next page, (1, k), before anything is seen of it."""
        return log_sum(alpha[:, :, None] + self.step, axis=1)

    def parts(self) -> Parts:
        return {"start": self.start, "step": self.step, "emit": self.emit}

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        return cls(*(np.asarray(parts[name], np.float64) for name in ("start", "step", "emit")))


def _add_one(rows: Ids, columns: Ids, shape: tuple[int, int]) -> Reals:
    """The log of (1 + count of each pair of row and column) / sum of its row."""
    counts = np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape)
    logs: Reals = np.log1p(counts) - np.log(shape[1] + counts.sum(axis=1, keepdims=True))
    return logs


# ---- clusters of pages ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PageClusters:
    """K clusters of pages by T words, in d dimensions."""

    idf: Idf
    terms: Terms  # (T,) ascending
    axes: Floats  # (T, d) V
    centroids: Floats  # (K, d)

    @classmethod
    def of(cls, bags: Ragged, idf: Idf, *, dimensions: int, most: int, seed: int) -> Self:
        """At most `most` clusters of the pages with these words."""
        shared = Vocabulary.of(bags, least=FEWEST, most=WORDS)
        terms = (shared if len(shared) else Vocabulary.of(bags, most=WORDS)).terms
        if not len(terms):
            raise ForagerError("hmm: there is no word on the pages to learn from: give pages with text")
        pages = _matrix(TfidfRows.of(bags, idf), terms)
        axes = _axes(pages, dimensions, seed)
        return cls(idf, terms, axes, x_means(_unit(pages @ axes), most, seed))

    def __len__(self) -> int:
        return len(self.centroids)

    def weighed(self, bags: Ragged) -> Sparse:
        """The weights of the words that count, (n, T) for n pages: the input of `nearest`."""
        return _matrix(TfidfRows.of(bags, self.idf), self.terms)

    def weighed_bag(self, bag: Bag) -> tuple[NDArray[np.intp], Floats]:
        """The same for one page: the numbers of its words among the T, and their weights."""
        weighed = TfidfRows.of_bag(bag, self.idf)
        at, known = find(weighed.terms, self.terms)
        return at[known], weighed.weights[known]

    def nearest(self, pages: Sparse) -> Ids:
        """The cluster of each page."""
        return self.nearest_to(pages @ self.axes)

    def nearest_to(self, points: Floats) -> Ids:
        """The cluster of each point, (n, d)."""
        return _nearest(_unit(points), self.centroids)

    def parts(self) -> Parts:
        idf = {"idf_terms": self.idf.terms, "idf_weights": self.idf.weights, "idf_unseen": self.idf.unseen}
        return {**idf, "lsi_terms": self.terms, "lsi_axes": self.axes, "centroids": self.centroids}

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        idf = Idf(
            np.asarray(parts["idf_terms"]), np.asarray(parts["idf_weights"]), float(np.asarray(parts["idf_unseen"]))
        )
        return cls(idf, *(np.asarray(parts[name]) for name in ("lsi_terms", "lsi_axes", "centroids")))


def _matrix(weighed: TfidfRows, terms: Terms) -> Sparse:
    """X, with the words that count."""
    at, known = find(weighed.terms, terms)
    offsets = np.searchsorted(weighed.rows[known], np.arange(weighed.count + 1))  # rows rise: no need to sort
    return csr_matrix((weighed.weights[known], at[known], offsets), (weighed.count, len(terms)))


def _axes(pages: Sparse, dimensions: int, seed: int) -> Floats:
    """V, nearly: some random rows, multiplied with X and its transpose until the largest axes stand out (Halko,
    Martinsson & Tropp 2011)."""
    rank = min(dimensions, *pages.shape)
    basis = np.random.default_rng(seed).normal(size=(pages.shape[1], min(rank + _SPARE, *pages.shape)))
    for _ in range(_POWER):
        basis, _ = np.linalg.qr(pages.T @ (pages @ basis))
    _, _, turned = np.linalg.svd(pages @ basis, full_matrices=False)
    return np.ascontiguousarray(basis @ turned[:rank].T, np.float32)


def _unit(points: Floats) -> Floats:
    """The points (n, d) scaled to length 1. A page without a word that counts stays at 0."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(lengths > 0, lengths, 1), np.float32)


# ---- X-means --------------------------------------------------------------------------------------------------------


def x_means(points: Floats, most: int, seed: int) -> Floats:
    """The centroids, (K, d) with K <= most."""
    centroids: Floats = points.mean(axis=0, keepdims=True)
    best, outcome, worse = bic(points, centroids), centroids, 0
    while len(centroids) < most and worse < PATIENCE:
        cut = _settled(points, _cut(points, centroids, most - len(centroids), seed))
        if len(cut) <= len(centroids):
            break
        centroids, score, worse = cut, bic(points, cut), worse + 1
        if score > best:
            best, outcome, worse = score, centroids, 0
    return outcome


def bic(points: Floats, centroids: Floats) -> float:
    """BIC: how well centroids describe points, less a penalty for their number."""
    count, dimensions = points.shape
    clusters = len(centroids)
    if count <= clusters:
        return -np.inf
    of = _nearest(points, centroids)
    sizes = np.bincount(of, minlength=clusters)
    squares = float(((points - centroids[of]).astype(np.float64) ** 2).sum())
    variance = max(squares / (dimensions * (count - clusters)), _NO_SPREAD)
    shares = float((sizes[sizes > 0] * np.log(sizes[sizes > 0] / count)).sum())
    likelihood = shares - count * dimensions / 2 * np.log(2 * np.pi * variance) - dimensions * (count - clusters) / 2
    return float(likelihood - (clusters + dimensions * clusters) / 2 * np.log(count))


def _cut(points: Floats, centroids: Floats, most: int, seed: int) -> Floats:
    """The centroids, with two in place of each cluster that is better cut by BIC: the largest gains first, at most
    `most`. If no cluster gains, the one that loses least is cut."""
    of = _nearest(points, centroids)
    members = [points[of == number] for number in range(len(centroids))]
    halves = [_halves(own, seed + number) for number, own in enumerate(members)]
    gains = np.array([_gain(own, two) for own, two in zip(members, halves, strict=True)])
    order = np.argsort(-gains, kind="stable")[:most]
    chosen = {int(order[0]), *order[gains[order] > 0].tolist()}
    kept: Floats = np.concatenate([halves[i] if i in chosen else centroids[[i]] for i in range(len(centroids))])
    return kept


def _gain(points: Floats, halves: Floats) -> float:
    """How much BIC a cluster gains if it is cut."""
    return bic(points, halves) - bic(points, points.mean(axis=0, keepdims=True)) if len(halves) == 2 else -np.inf


def _halves(points: Floats, seed: int) -> Floats:
    """Two centroids by 2-means, from the mean plus and minus a random step; one centroid if all points are equal."""
    if len(points) < 2:
        return points
    direction = np.random.default_rng(seed).standard_normal(points.shape[1], np.float32)
    step = direction * points.std(axis=0)
    return _settled(points, points.mean(axis=0) + np.stack((step, -step)))


def _settled(points: Floats, centroids: Floats) -> Floats:
    """The centroids after k-means from these ones. A centroid with no nearest point is left out."""
    before = np.empty(0, np.intp)
    for _ in range(ROUNDS):
        of = np.unique(_nearest(points, centroids), return_inverse=True)[1]
        if np.array_equal(of, before):
            break
        before, sizes = of, np.bincount(of)
        members = csr_matrix((np.ones(len(of), np.float32), (of, np.arange(len(of)))), (len(sizes), len(of)))
        centroids = (members @ points / sizes[:, None]).astype(np.float32)
    return centroids


def _nearest(points: Floats, centroids: Floats) -> Ids:
    """The number of the centroid nearest to each point; of equals the first."""
    distance = (centroids**2).sum(axis=1) - 2 * points @ centroids.T  # |point|^2 is left out: it is the same for all
    nearest: Ids = distance.argmin(axis=1).astype(np.int32)
    return nearest
