"""Section 3.8 without crawling: what further features say of a link's target beside the words around it.

    words        <t,d>
    names        and the name of the best class of the source u
    prefixes     and what stands above that class in its path
    vector       all classes c of u with Pr(c|u) >= .01, each with its level, instead of the best one
    cocitation   <high,d> and <low,d> of the judged links to other pages around the link

Only links that were found before their target was fetched are instances here, so nothing that is known of the targets
of a page can be the judgement that is to be predicted. Targets that the critic learnt from are left out.

Which features tell most? By information gain (offline.py), over all features that occur in at least 5 instances.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from forager.learn.naive_bayes import split_of
from forager.strategies.apprentice.features import LinkContext
from forager.types import Mask, Ragged, Terms, Url
from studies.apprentice.crawls import CrawlInstances
from studies.apprentice.offline import MOST, USUAL, Figures, as_list, features, gains_of_terms, mean_accuracy

BEST = 100  # features that tell most


def contexts(classes: Sequence[str]) -> Mapping[str, LinkContext]:
    """What is compared."""
    words = LinkContext("offset", USUAL, MOST, tuple(classes))
    return {
        "words": words,
        "names": replace(words, topics=1, prefixes=False),
        "prefixes": replace(words, topics=1),
        "vector": replace(words, vector=True),
        "cocitation": replace(words, cocitation=True),
    }


def unknown_targets(instances: CrawlInstances, sampled: Collection[Url]) -> CrawlInstances:
    """The instances that were found before their target was fetched, without targets that a critic learnt from."""
    new = np.array([visit.page.url not in sampled for visit in instances.visits], bool)
    return instances.take((instances.targets > instances.sources) & new[instances.targets])


def feature_figures(
    instances: CrawlInstances, classes: Sequence[str], sampled: Collection[Url], *, most: int, seeds: int, seed: int
) -> Figures:
    """Accuracy with each kind of features, and how many of the best features are names of classes."""
    sample = unknown_targets(instances, sampled).sample(most, seed)
    around = contexts(classes)
    rows = {name: features(sample, context) for name, context in around.items()}
    high = sample.relevance > split_of(sample.relevance)
    return {
        "classes": len(classes),
        "instances": len(sample),
        "accuracy": {name: as_list(mean_accuracy(clues, sample, seeds)) for name, clues in rows.items()},
        "class names among the best": names_among_best(rows["words"], rows["prefixes"], high),
    }


def names_among_best(words: Ragged, named: Ragged, high: Mask) -> int:
    """Of the features with the largest gain, how many are names of classes or of what is above them.

    In `named` each row is that of `words`, followed by the names.
    """
    inner = np.arange(len(named.values)) - np.repeat(named.offsets[:-1], named.lengths)
    of_classes: Terms = np.unique(named.values[inner >= np.repeat(words.lengths, named.lengths)])
    instances = np.repeat(np.arange(len(named), dtype=np.uint64), named.lengths)
    terms, gain = gains_of_terms(named.values, instances, high)
    best = terms[np.argsort(-gain, kind="stable")[:BEST]]
    return int(np.isin(best, of_classes).sum())
