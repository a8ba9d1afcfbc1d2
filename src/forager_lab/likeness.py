"""How like the examples of the topic the crawled pages are, by TF-IDF cosine.

cos(p,d) is taken over all terms of page p and example d, with the idf of the training sample, the same for every
strategy of a run (see forager.learn.tfidf). Of each page the largest is kept, of each example the mean over the pages:

    similarity(p) = max over d of cos(p,d)
    toward(d)     = mean over p of cos(p,d);   sigma = max over d of toward(d)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from forager.learn.tfidf import Targets
from forager.types import Floats, Ragged, Terms

BATCH = 256  # pages compared at once


@dataclass(frozen=True, slots=True, eq=False)
class Likeness:
    similarity: Floats  # (pages,)
    toward: NDArray[np.float64]  # (targets,)


def likeness(bags: Iterable[Terms], targets: Targets) -> Likeness:
    """Of the pages with these terms, in order; 0 everywhere where there is no example to be like."""
    waiting = iter(bags)
    similarity, sums, pages = [np.empty(0, np.float32)], np.zeros(len(targets)), 0
    while batch := list(islice(waiting, BATCH)):
        cosines = targets.cosines(Ragged.of(batch))
        similarity.append(cosines.max(axis=1, initial=0))
        sums += cosines.sum(axis=0, dtype=np.float64)
        pages += len(batch)
    return Likeness(np.concatenate(similarity), sums / max(1, pages))
