"""The features of a link: the words around it, with where they stand. All links of a page in one batch.

Number the leaves of u from left to right. The anchor of (u,v) covers the leaves l..r: their words are at offset d = 0.
A leaf m < l is at d = m - l, a leaf m > r at d = m - r. With |d| <= d_max the feature of a word t is one of

    offset    <t,d>
    words     t            plain words of the same window
    distance  <t,x>        x words before (negative) or after the anchor
    path      <t,l,d>      l steps along the tree from t to the link

The tree is not kept, only the path of each link from the root. So `path` treats a leaf as if it hung where the nearest
link hangs. It treats steps of equal name, id and classes as the same step: siblings of one kind are at l = 0.

Leaves may be long, so the number of words is limited: at most `most` words before an anchor count, and at most `most`
words of it and `most` words after those. The words of a page are one flat array, so each window is a slice of it.

Other features, if wanted: the names of the best classes of u, with or without the prefixes of their paths; all classes
c of u with Pr(c|u) >= .01 as <c,level>, the level being the number of LEVELS that the probability reaches; <high,d> and
<low,d> for the links to other pages within d_max whose target has been judged, high if its relevance is .5 or more. Two
links lead to the same page if their URLs are equal, or if both were judged and all that is known of them is equal: so
it is where a URL redirects to the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh32_intdigest

from forager.learn.linear import row_sums
from forager.strategies.apprentice.windows import ALWAYS, tagged
from forager.strategies.link_features import PageWords, side_by_side, texts_of
from forager.types import RELEVANT, Floats, Ids, Known, Links, Page, Ragged, Terms, Visit, WeighsWords, stretches
from forager.web.text import ROW_END, mix, mixed, salt_part, term_part, words

WordFeature: TypeAlias = Literal["offset", "words", "distance", "path"]
Positions: TypeAlias = NDArray[np.int64]
Number = TypeVar("Number", np.int32, np.uint64)

_TOPIC, _NEIGHBOUR, _PATH, _VECTOR, _ROW = (1 << bit for bit in range(20, 25))  # larger than all offsets and distances
LEVELS = np.array([0.01, 0.1, 0.5], np.float32)  # of the probability of a class
_JUDGED = np.array([xxh32_intdigest(b"low"), xxh32_intdigest(b"high")], np.uint32)


@dataclass(frozen=True, slots=True)
class LinkContext:
    """Gives the features of links, of the kind that was chosen."""

    kind: WordFeature = "offset"
    d_max: int = 5
    most: int = 100
    classes: tuple[str, ...] = ()
    topics: int = 0  # number of the best classes of the page to name
    cocitation: bool = False
    vector: bool = False  # all classes of the page with the level of their probability
    rows: bool = False  # the offsets of a word are neighbours in the table: feature <t,d> is feature <t,0> plus d
    places: bool = False  # features say how far away they stand, see windows.py
    prefixes: bool = True  # the best classes are named with all that stands above them

    def __call__(self, visit: Visit) -> Ragged:
        """A row of features for each link."""
        rows = [self._words(visit.page, visit.links)]
        if self.topics:
            rows.append(_repeated([feature for _, feature in self._classes(visit)], len(visit.links)))
        if self.cocitation:
            judged, offsets, ends = self._neighbours(visit)
            rows.append(Ragged(mix(_JUDGED[judged], _NEIGHBOUR + offsets), ends))
        if self.vector:
            rows.append(_repeated([feature for _, feature in self._levels(visit)], len(visit.links)))
        if self.places:
            rows[1:] = [Ragged(tagged(each.values, ALWAYS), each.offsets) for each in rows[1:]]
        return side_by_side(rows)

    def names(self, visit: Visit, link: int) -> list[str]:
        """What each feature of one link means, for people, in the order of its row."""
        alone = Links.take(visit.links, [link])
        window = ContextWindow.of(visit.page.terms, alone, self.d_max, self.most)
        leaves, place = window.leaves, window.distances if self.kind == "distance" else window.offsets
        first, last = (int(leaves[i]) if len(leaves) else 0 for i in (0, -1))
        spelt = [word for leaf in visit.page.leaves[first : last + 1] for word in words(leaf)]
        skipped = int(window.begin[0] - visit.page.terms.offsets[first]) if len(leaves) else 0
        named = zip(spelt[skipped:], place.tolist(), strict=False)  # words after the window are left out
        told = [word if self.kind == "words" else f"{word} at {where}" for word, where in named]
        if self.topics:
            told += [f"topic {name}" for name, _ in self._classes(visit)]
        if self.cocitation:
            judged, offsets, ends = self._neighbours(visit)
            span = slice(*ends[link : link + 2].tolist())
            pairs = zip(judged[span].tolist(), offsets[span].tolist(), strict=True)
            told += [f"{'relevant' if high else 'irrelevant'} link at {where}" for high, where in pairs]
        if self.vector:
            told += [name for name, _ in self._levels(visit)]
        return told

    def _words(self, page: Page, links: Links) -> Ragged:
        window, terms = ContextWindow.of(page.terms, links, self.d_max, self.most), page.terms.values
        if self.kind == "distance":
            found = mix(terms.take(window.at), window.distances)
        elif self.kind == "words":
            found = terms.take(window.at)
        elif self.rows and self.kind == "offset":
            found = mix(terms.take(window.at), _ROW) + window.offsets.astype(np.uint32)
        else:
            parts = term_part(terms).take(window.at)  # computed once: a word is in the windows of several links
            parts += window.each(_salts(window.reach))
            found = mixed(parts)
        if self.kind == "path":
            found = mix(found, _PATH + tree_steps(links, window))
        if self.places:
            found = tagged(found, np.abs(window.offsets))
        return Ragged(found, window.ends)

    def _classes(self, visit: Visit) -> list[tuple[str, int]]:
        best = np.argsort(-visit.judgement.topics, kind="stable")[: self.topics].tolist()
        first = 0 if self.prefixes else -1
        return list(dict.fromkeys(pair for at in best for pair in _prefixes(self.classes[at])[first:]))

    def _levels(self, visit: Visit) -> list[tuple[str, int]]:
        """The classes of the page that are not quite out of the question, each with its level."""
        chances = visit.judgement.topics
        level = np.searchsorted(LEVELS, chances, side="right")
        at = np.flatnonzero(level)
        names = np.array([_prefixes(self.classes[i])[-1][1] for i in at.tolist()], np.uint32)
        told = [f"topic {self.classes[i]} at {LEVELS[level[i] - 1]:g} or more" for i in at.tolist()]
        return list(zip(told, mix(names, _VECTOR + level[at]).tolist(), strict=True))

    def _neighbours(self, visit: Visit) -> tuple[Ids, Ids, Positions]:
        """For each link the judged links to other pages within d_max: whether they are good, offsets, row ends."""
        first, last, relevance = visit.links.first_leaf, visit.links.last_leaf, visit.known.relevance
        target, known = _numbered(visit.links.targets), _numbered(_as_known(visit.known))
        judged = np.flatnonzero(~np.isnan(relevance))
        begin = np.searchsorted(last[judged], first - self.d_max)  # links are ordered by both their ends
        end = np.searchsorted(first[judged], last + self.d_max, side="right")
        counts = np.maximum(end - begin, 0)
        others = judged[stretches(begin, counts)]
        mine = np.repeat(np.arange(len(first)), counts)
        offsets = np.minimum(last[others] - first[mine], 0) + np.maximum(first[others] - last[mine], 0)
        # another link to the same page would tell what is to be predicted
        kept = (target[others] != target[mine]) & (known[others] != known[mine])
        ends = np.concatenate(([0], np.cumsum(np.bincount(mine[kept], minlength=len(first)))))
        return (relevance[others[kept]] >= RELEVANT).astype(np.int32), offsets[kept].astype(np.int32), ends


@dataclass(frozen=True, slots=True)
class LinkWordOdds:
    """What a critic makes of the words of links, those of the anchor and of the URL: the mean of their log-odds.

    Words of which the critic knows nothing do not count. Without a critic all is 0.
    """

    critic: WeighsWords | None

    def __call__(self, visit: Visit) -> Floats:
        """(n,) for each link"""
        if self.critic is None or not len(visit.links):
            return np.zeros(len(visit.links), np.float32)
        odds, found = self._odds(self.critic, visit.page, visit.links)
        means = row_sums(odds, found)
        means /= np.maximum(row_sums((odds != 0).astype(np.float32), found), 1)
        return means

    def told(self, visit: Visit, link: int) -> dict[str, float]:
        """What each word of one link adds to the mean."""
        if self.critic is None:
            return {}
        alone = Links.take(visit.links, [link])
        odds, _ = self._odds(self.critic, visit.page, alone)
        spelt = [word for text in texts_of(visit.page, alone).split(ROW_END)[3:5] for word in words(text)]
        told: dict[str, float] = {}
        for word, each in zip(spelt, (odds / np.float32(max(1, int((odds != 0).sum())))).tolist(), strict=True):
            if each:
                told[word] = told.get(word, 0.0) + each
        return told

    @staticmethod
    def _odds(critic: WeighsWords, page: Page, links: Links) -> tuple[Floats, Ragged]:
        """The log-odds of all words of the links, and the words, a row for each link."""
        found = PageWords.of(page, links, zero_digits=False).of_links
        distinct, place = np.unique(found.values, return_inverse=True)  # links of a page share most words of their URLs
        return critic.word_log_odds(distinct)[place], found


@dataclass(frozen=True, slots=True, eq=False)
class ContextWindow:
    """The words around each link: e words in all, link after link.

    The words of one offset stand together. So the window of a link is given by where each offset starts and stops.
    """

    terms: Ragged  # of the page, a row for each leaf
    starts: Positions  # (links,) the first word of the anchor, among the words of the page
    stops: Positions  # (links,) the word after the anchor
    begin: Positions  # (links,) the first word of the window
    counts: Positions  # (links, 2 reach + 1) number of words at each offset, from -reach to reach
    ends: Positions  # (links + 1,) where the words of each link begin and end

    @classmethod
    def of(cls, terms: Ragged, links: Links, d_max: int, most: int) -> ContextWindow:
        first, last = links.first_leaf, links.last_leaf
        reach = min(d_max, len(terms))  # no offset is larger than the page
        leaves = _offsets(reach, reach + 1)[:, None] + first  # the first leaf of each offset, and the end
        leaves[reach + 1 :] += last - first
        edges = terms.offsets.take(leaves, mode="clip")  # an offset outside the page is empty
        starts, stops = edges[reach].copy(), edges[reach + 1].copy()
        np.maximum(edges, starts - most, out=edges)
        np.minimum(edges, np.minimum(stops, starts + most) + most, out=edges)
        ends = np.zeros(len(links) + 1, np.int64)
        np.add.accumulate(edges[-1] - edges[0], out=ends[1:])
        return cls(terms, starts, stops, edges[0], (edges[1:] - edges[:-1]).T, ends)

    @property
    def at(self) -> Positions:
        """(e,) the position of each word among the words of the page."""
        return stretches(self.begin, self.lengths)

    @property
    def lengths(self) -> Positions:
        return self.ends[1:] - self.ends[:-1]

    @property
    def rows(self) -> Positions:
        """(e,) the link each word belongs to."""
        return np.repeat(np.arange(len(self.begin)), self.lengths)

    @property
    def leaves(self) -> Positions:
        """(e,) the leaf each word stands in."""
        return np.repeat(np.arange(len(self.terms)), self.terms.lengths).take(self.at)

    @property
    def offsets(self) -> Ids:
        """(e,) the offset of that leaf from the link."""
        return self.each(_offsets(self.reach, self.reach).astype(np.int32))

    @property
    def reach(self) -> int:
        """The largest offset."""
        return int(self.counts.shape[1]) // 2

    def each(self, of_offsets: NDArray[Number]) -> NDArray[Number]:
        """(e,) for each word the value of its offset."""
        spread = np.empty(self.counts.shape, of_offsets.dtype)
        spread[:] = of_offsets
        return spread.ravel().repeat(self.counts.ravel())

    @property
    def distances(self) -> Positions:
        """(e,) the distance of each word from the anchor in words, 0 within it."""
        at, rows = self.at, self.rows
        before, after = at - self.starts[rows], at - self.stops[rows] + 1
        distances: Positions = np.minimum(before, 0) + np.maximum(after, 0)
        return distances


def tree_steps(links: Links, window: ContextWindow) -> Ids:
    """For each word of the window the number of steps along the tree from it to its link, by the paths of links."""
    paths, kinds = list(dict.fromkeys(links.tag_paths)), _numbered(links.tag_paths)
    lengths, shared = _shared_steps(paths)
    leaves, rows = window.leaves, window.rows
    ahead = np.searchsorted(links.first_leaf, leaves)  # the first link that starts at this leaf or after it
    ahead, behind = np.minimum(ahead, len(links) - 1), np.maximum(ahead - 1, 0)
    nearer = leaves - links.last_leaf[behind] < links.first_leaf[ahead] - leaves
    nearest, own = kinds[np.where(nearer, behind, ahead)], kinds[rows]
    return (lengths[nearest] + lengths[own] - 2 * shared[nearest, own]).astype(np.int32)


def _numbered(values: Sequence[Hashable]) -> Positions:
    """A number for each value, the same for equal ones, from 0 in the order of their first occurrence."""
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(value, len(number)) for value in values], np.int64)


def _as_known(known: Known) -> list[Hashable]:
    """All that is known of each target. Of a redirect it is what is known of the page that it leads to."""
    columns = (known.relevance, known.inlinks, known.relevant_inlinks)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _shared_steps(paths: Sequence[str]) -> tuple[Ids, Ids]:
    """The length of each path, and how many first steps each pair of paths shares."""
    cut = [path.split() for path in paths]
    lengths = np.array([len(path) for path in cut], np.int32)
    names = {name: i for i, name in enumerate(dict.fromkeys(name for path in cut for name in path))}
    table = np.full((len(cut), int(lengths.max(initial=0))), -1, np.int32)
    for row, path in enumerate(cut):
        table[row, : len(path)] = [names[name] for name in path]
    same = (table[:, None, :] == table[None, :, :]) & (table >= 0)[:, None, :]
    return lengths, np.cumprod(same, axis=2, dtype=np.int32).sum(axis=2, dtype=np.int32)


@lru_cache(maxsize=8)  # almost always the same: few pages have fewer leaves than d_max
def _offsets(before: int, behind: int) -> Positions:
    """-before, …, behind."""
    return np.arange(-before, behind + 1)


@lru_cache(maxsize=8)
def _salts(reach: int) -> NDArray[np.uint64]:
    """What each offset adds to the hashes of its words."""
    return salt_part(_offsets(reach, reach))


def _repeated(features: Sequence[int], count: int) -> Ragged:
    values: Terms = np.tile(np.array(features, np.uint32), count)
    return Ragged(values, np.arange(count + 1) * len(features))


@cache
def _prefixes(name: str) -> tuple[tuple[str, int], ...]:
    """The path of a class and all paths above it, each with its feature."""
    parts = name.split(".")
    paths = [".".join(parts[: depth + 1]) for depth in range(len(parts))]
    hashed = mix(np.array([xxh32_intdigest(path.encode()) for path in paths], np.uint32), _TOPIC)
    return tuple(zip(paths, hashed.tolist(), strict=True))
