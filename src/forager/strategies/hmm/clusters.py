"""What a page is like: clusters of pages, for observations of the HMM. Latent semantic indexing, then X-means.

*LSI* (Deerwester et al. 1990). X is the matrix of TF-IDF weights, a row of length 1 for each page (`similarity`), and
X ~ U S V' its largest d singular values. A page x, new or old, is the point x V, scaled to length 1, so that distances
of points are cosines of pages.

*X-means* (Pelleg & Moore 2000). Begin with one cluster. In each round cut every cluster in two by 2-means and keep the
halves where BIC says so, then let k-means settle all centroids, up to the largest k allowed. The first cut of many
equal clusters seldom pays, so a round that would keep no halves keeps those that lose least; the search ends after some
rounds without a better BIC. The round with the best one is the outcome. For R points in d dimensions and K clusters of
n_j points, each a sphere with the same variance s:

    s      = sum of squared distances to the own centroid / (d (R - K))
    log L  = sum over j of n_j log(n_j / R)  -  R d / 2 log(2 pi s)  -  d (R - K) / 2
    BIC    = log L - p / 2 log R,    p = (K - 1) + d K + 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from forager.errors import ForagerError
from forager.learn.chains.rows import Sparse
from forager.learn.chains.vocabulary import Vocabulary
from forager.learn.tfidf import Idf, TfidfRows, find
from forager.types import Bag, Floats, Ids, Parts, Ragged, Terms

WORDS = 20_000  # of the most pages, that count
FEWEST = 2  # pages a word must be on to count, if there are such words
ROUNDS = 30  # of k-means
PATIENCE = 5  # rounds of X-means without a better BIC
_NO_SPREAD = 1e-12  # the variance of points that are all the same


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    idf: Idf
    terms: Terms  # (T,) ascending
    axes: Floats  # (T, d) V
    centroids: Floats  # (K, d)

    @classmethod
    def of(cls, bags: Ragged, idf: Idf, *, dimensions: int, most: int, seed: int) -> Self:
        """Of the pages with these words, at most so many."""
        shared = Vocabulary.of(bags, least=FEWEST, most=WORDS)
        terms = (shared if len(shared) else Vocabulary.of(bags, most=WORDS)).terms
        if not len(terms):
            raise ForagerError("hmm: there is no word on the pages to learn from: give pages with text")
        pages = _counting(TfidfRows.of(bags, idf), terms)
        axes = _axes(pages, dimensions, seed)
        return cls(idf, terms, axes, x_means(_unit(pages @ axes), most, seed))

    def __len__(self) -> int:
        return len(self.centroids)

    def weighed(self, bags: Ragged) -> Sparse:
        """The words of pages that count, by their weights, (n, T): what `nearest` wants."""
        return _counting(TfidfRows.of(bags, self.idf), self.terms)

    def weighed_bag(self, bag: Bag) -> tuple[NDArray[np.intp], Floats]:
        """The same of one page: which words they are, and their weights."""
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


def _counting(weighed: TfidfRows, terms: Terms) -> Sparse:
    """X: of all words those that count."""
    at, known = find(weighed.terms, terms)
    offsets = np.searchsorted(weighed.rows[known], np.arange(weighed.count + 1))  # rows rise: no need to sort
    return csr_matrix((weighed.weights[known], at[known], offsets), (weighed.count, len(terms)))


def _axes(pages: Sparse, dimensions: int, seed: int) -> Floats:
    """V"""
    from sklearn.utils.extmath import randomized_svd  # takes a second to import

    rank = min(dimensions, *pages.shape)
    _, _, axes = randomized_svd(pages, n_components=rank, random_state=seed)
    return np.ascontiguousarray(axes.T, np.float32)


def _unit(points: Floats) -> Floats:
    """Points (n, d) of length 1, or 0 for a page without a word that counts."""
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
    """How well centroids describe points, with a penalty for their number."""
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
    """The centroids, with two in place of those that BIC would rather have cut, the surest first, at most so many; with
    two in place of one at least, if any can be cut."""
    of = _nearest(points, centroids)
    members = [points[of == number] for number in range(len(centroids))]
    halves = [_halves(own, seed + number) for number, own in enumerate(members)]
    gains = np.array([_gain(own, two) for own, two in zip(members, halves, strict=True)])
    order = np.argsort(-gains, kind="stable")[:most]
    chosen = {int(order[0]), *order[gains[order] > 0].tolist()}
    kept: Floats = np.concatenate([halves[i] if i in chosen else centroids[[i]] for i in range(len(centroids))])
    return kept


def _gain(points: Floats, halves: Floats) -> float:
    """What a cluster gains by being cut."""
    return bic(points, halves) - bic(points, points.mean(axis=0, keepdims=True)) if len(halves) == 2 else -np.inf


def _halves(points: Floats, seed: int) -> Floats:
    """Two centroids, found from their mean a step to either side in a random direction; one if all points are equal."""
    if len(points) < 2:
        return points
    direction = np.random.default_rng(seed).standard_normal(points.shape[1], np.float32)
    step = direction * points.std(axis=0)
    return _settled(points, points.mean(axis=0) + np.stack((step, -step)))


def _settled(points: Floats, centroids: Floats) -> Floats:
    """k-means from these centroids on; those that no point is nearest to are left out."""
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
    """The first of the nearest centroids to each point."""
    distance = (centroids**2).sum(axis=1) - 2 * points @ centroids.T  # and |point|^2, the same for all
    nearest: Ids = distance.argmin(axis=1).astype(np.int32)
    return nearest
