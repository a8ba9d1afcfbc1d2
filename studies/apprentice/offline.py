"""Measures of what the words around a link say of its target, without crawling: figures 6 to 9.

*Accuracy.* The learner is the apprentice's own naive Bayes over two buckets. An instance is positive if the relevance
of its target is above the split that the learner chose, and it is called positive if Pr(high) > 1/2. The learner learns
from the instances of one half of the targets and is tested on those of the other half.

*Information gain* of a feature f = <t,d>, in bits, with H the entropy and C the bucket (low or high) of an instance:

    gain(f) = H(C) - Pr(f) H(C | f) - Pr(not f) H(C | not f)

f is the event that word t stands at offset d of the link, once or more. Each offset has the mean and the sum over the
features that occur in at least 5 instances. Links to the same target are alike, so some gain comes by chance. To see
how much, the same figures are made with the buckets shuffled among the targets.

*Mass* of an offset: its share of all words within d_max, sum over t of n(t,d) / n. *Tags*: which element the leaf at an
offset is or sits in, and whether it has a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.learn.naive_bayes import HashedNaiveBayes, split_of
from forager.strategies.apprentice.features import ContextWindow, LinkContext, WordFeature
from forager.types import Floats, Ids, Mask, Ragged, Terms
from forager_lab.metrics import Figure
from studies.apprentice.crawls import CrawlInstances, split_by_target

D_MAX = 8  # the widest window
MOST = 100  # words on either side of an anchor, as the apprentice has it
SIZE = 1 << 22  # of the learner's tables: features hardly ever fall together
SHUFFLES = 5  # of the buckets among the targets, to see what comes by chance
FEWEST = 5  # instances a feature must occur in, for its gain to count
KINDS: tuple[WordFeature, ...] = ("offset", "words", "distance", "path")
OFFSETS = tuple(range(-D_MAX, D_MAX + 1))
USUAL = 5  # d_max of the apprentice
SPREAD = 0.5  # what a word counts at the next offsets, where it is spread
SIDE_BY_SIDE = LinkContext("offset", USUAL, MOST, rows=True)
NAMED = 8  # tags that have a name in the figure

Reals: TypeAlias = NDArray[np.float64]
Figures: TypeAlias = dict[str, Any]  # plain values only


def offline_figures(instances: CrawlInstances, *, most: int, seeds: int, seed: int) -> Figures:
    """Figures 6 to 9, and what belongs to them, on a sample of the instances of one crawl."""
    sample = instances.sample(most, seed)
    words = WindowFeatures.of(sample)
    high = sample.relevance > split_of(sample.relevance)
    return {
        "instances": len(instances),
        "sample": len(sample),
        "targets": len(np.unique(sample.targets)),
        "positive": float(high.mean()),
        "medians": [_median(sample.relevance[~high]), _median(sample.relevance[high])],
        "accuracy": {
            kind: [as_list(mean_accuracy(words.within(kind, d), sample, seeds)) for d in range(D_MAX + 1)]
            for kind in KINDS
        },
        "spread": as_list(mean_accuracy(features(sample, SIDE_BY_SIDE), sample, seeds, spread=SPREAD)),
        "window": [window_chosen(words, sample, seed) for seed in range(seeds)],
        "gain": gains(words, high),
        "chance": chance_gains(words, high, sample.targets, seed),
        **leaves_around(sample),
    }


def _median(values: Floats) -> Figure:
    return float(np.median(values)) if len(values) else None


# ---- accuracy -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InstanceAccuracy:
    """The share of tested instances that the learner got right: of negative ones, of positive ones, of all."""

    negative: float
    positive: float
    all: float


def accuracy(clues: Ragged, relevance: Floats, learnt: Mask, *, spread: float = 0.0) -> InstanceAccuracy | None:
    """Learn from some instances and test on the others. None if one side lacks one of the two kinds.

    `spread`: what a word counts at the next offsets; these must stand side by side in the table.
    """
    learner = HashedNaiveBayes(SIZE, spread=spread)
    learner.learn(clues.take(np.flatnonzero(learnt)), relevance[learnt])
    model = learner.linear()
    if model is None or learner.split is None:
        return None
    told = model(clues.take(np.flatnonzero(~learnt))) > 0
    high = relevance[~learnt] > learner.split
    if high.all() or not high.any():
        return None
    right = told == high
    return InstanceAccuracy(float(right[~high].mean()), float(right[high].mean()), float(right.mean()))


def mean_accuracy(
    clues: Ragged, instances: CrawlInstances, seeds: int, *, spread: float = 0.0
) -> InstanceAccuracy | None:
    """The mean over so many splits of the targets."""
    relevance = instances.relevance
    found = [accuracy(clues, relevance, split_by_target(instances, seed), spread=spread) for seed in range(seeds)]
    known = [(each.negative, each.positive, each.all) for each in found if each is not None]
    return InstanceAccuracy(*np.mean(known, axis=0).tolist()) if known else None


def window_chosen(words: WindowFeatures, instances: CrawlInstances, seed: int) -> Figures | None:
    """The window that is best within the instances to learn from, split once more by target, and what it is worth.

    `d_max`: the most accurate window, of equal ones the narrowest. `accuracy` and `usual`: of this window and of the
    usual one on the instances to test on, which had no part in the choice.
    """
    learnt = split_by_target(instances, seed)
    inner = instances.take(learnt)
    tried = split_by_target(inner, seed + 1)
    rows = np.flatnonzero(learnt)
    found = [accuracy(words.within("offset", d).take(rows), inner.relevance, tried) for d in range(D_MAX + 1)]
    known = [-1.0 if each is None else each.all for each in found]
    best = int(np.argmax(known))
    told = [accuracy(words.within("offset", d), instances.relevance, learnt) for d in (best, USUAL)]
    if max(known) < 0 or None in told:
        return None
    return {"d_max": best, "accuracy": as_list(told[0]), "usual": as_list(told[1])}


def as_list(found: InstanceAccuracy | None) -> list[float] | None:
    """Negative, positive, all: as it is kept."""
    return [found.negative, found.positive, found.all] if found else None


def balanced(found: Sequence[float] | None) -> Figure:
    """Of such a list: the mean of the accuracy on negatives and of that on positives."""
    return None if found is None else (found[0] + found[1]) / 2


# ---- features -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class WindowFeatures:
    """The features of each instance in the widest window, by kind, with their offsets."""

    offsets: Ids  # (e,)
    kinds: Mapping[WordFeature, Ragged]

    @classmethod
    def of(cls, instances: CrawlInstances) -> WindowFeatures:
        """Of these instances, a row for each."""
        windows = [
            ContextWindow.of(visit.page.terms, visit.links.take(links.tolist()), D_MAX, MOST).offsets
            for visit, links in instances.by_source()
        ]
        kinds = {kind: features(instances, LinkContext(kind, D_MAX, MOST)) for kind in KINDS}
        return cls(np.concatenate([np.empty(0, np.int32), *windows]), kinds)

    def within(self, kind: WordFeature, d_max: int) -> Ragged:
        """The features of a narrower window."""
        return kept(self.kinds[kind], np.abs(self.offsets) <= d_max)


def features(instances: CrawlInstances, around: LinkContext) -> Ragged:
    """The features of each instance, in a row each."""
    return Ragged.concat([around(visit).take(links) for visit, links in instances.by_source()])


def kept(rows: Ragged, where: Mask) -> Ragged:
    """The rows with only the values where the mask is true."""
    before = np.concatenate(([0], np.cumsum(where)))
    return Ragged(rows.values[where], before[rows.offsets])


# ---- information gain -----------------------------------------------------------------------------------------------


def information_gain(with_high: Reals, with_low: Reals, high: int, low: int) -> Reals:
    """In bits, for features that occur in so many of the high and of the low instances."""
    count, present = high + low, with_high + with_low
    absent = count - present
    whole = float(entropy(np.array([high / count]))[0])
    given = entropy(with_high / np.maximum(present, 1)) * present / count
    without = entropy((high - with_high) / np.maximum(absent, 1)) * absent / count
    return whole - given - without


def entropy(share: Reals) -> Reals:
    """Of two events, in bits."""
    inside = np.clip(share, 1e-15, 1 - 1e-15)
    return -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))


def gains(words: WindowFeatures, high: Mask) -> dict[str, list[float]]:
    """For each offset: mean and sum of the gain, and the number of features."""
    plain_words = words.kinds["words"]
    rows = np.repeat(np.arange(len(plain_words), dtype=np.uint64), plain_words.lengths)
    places = [words.offsets == d for d in OFFSETS]
    found = [gains_of_terms(plain_words.values[at], rows[at], high)[1] for at in places]
    return {
        "mean": [float(each.mean()) if len(each) else 0.0 for each in found],
        "sum": [float(each.sum()) for each in found],
        "features": [float(len(each)) for each in found],
    }


def gains_of_terms(terms: Terms, rows: NDArray[np.uint64], high: Mask) -> tuple[Terms, Reals]:
    """The terms that occur in enough instances, each with its gain; `rows` are the instances they occur in."""
    once = np.unique(terms.astype(np.uint64) << np.uint64(32) | rows)  # a word counts once an instance
    distinct, at = np.unique(once >> np.uint64(32), return_inverse=True)
    in_high = high[(once & np.uint64(0xFFFFFFFF)).astype(np.intp)]
    present = np.bincount(at).astype(np.float64)
    with_high = np.bincount(at, in_high).astype(np.float64)
    enough = present >= FEWEST
    counts = int(high.sum()), int((~high).sum())
    gain = information_gain(with_high[enough], (present - with_high)[enough], *counts)
    return distinct[enough].astype(np.uint32), gain


def chance_gains(words: WindowFeatures, high: Mask, targets: NDArray[np.int64], seed: int) -> dict[str, list[float]]:
    """The gain that remains if the buckets are shuffled: the median of several shuffles, because a single one may give
    the bucket to a target that every page links to."""
    found = [gains(words, shuffled(high, targets, seed + at)) for at in range(SHUFFLES)]
    return {name: np.median([each[name] for each in found], axis=0).tolist() for name in found[0]}


def shuffled(high: Mask, targets: NDArray[np.int64], seed: int) -> Mask:
    """The buckets given to other targets, so that words say nothing of them."""
    _, first, at = np.unique(targets, return_index=True, return_inverse=True)
    anew: Mask = np.random.default_rng([seed, len(first)]).permutation(high[first])[at]
    return anew


# ---- leaves ---------------------------------------------------------------------------------------------------------


def leaves_around(instances: CrawlInstances) -> Figures:
    """For each offset: its mass, the share of leaves in each element, and the share of leaves without a word."""
    mass, wordless, leaves = np.zeros(len(OFFSETS)), np.zeros(len(OFFSETS)), np.zeros(len(OFFSETS))
    tags: list[Counter[str]] = [Counter() for _ in OFFSETS]
    for visit, links in instances.by_source():
        bounds, names = visit.page.terms.offsets, np.array(visit.page.tags)
        lengths = np.diff(bounds)
        first, last = visit.links.first_leaf[links], visit.links.last_leaf[links]
        for at, offset in enumerate(OFFSETS):
            if offset == 0:
                mass[at] += (bounds[last + 1] - bounds[first]).sum()
                continue
            there = (first if offset < 0 else last) + offset
            there = there[(there >= 0) & (there < len(lengths))]
            mass[at] += lengths[there].sum()
            wordless[at] += (lengths[there] == 0).sum()
            leaves[at] += len(there)
            tags[at].update(names[there].tolist())
    return {
        "mass": (mass / max(1.0, mass.sum())).tolist(),
        "wordless": (wordless / np.maximum(leaves, 1)).tolist(),
        "tags": _shares(tags, leaves),
    }


def _shares(tags: Sequence[Counter[str]], leaves: Reals) -> dict[str, list[float]]:
    """The share of leaves at each offset that the most frequent elements have, `a` included."""
    together: Counter[str] = sum(tags, Counter())
    ranked = sorted(together, key=lambda name: (-together[name], name))[:NAMED]
    return {
        name: [count[name] / max(1.0, number) for count, number in zip(tags, leaves.tolist(), strict=True)]
        for name in ranked
    }
