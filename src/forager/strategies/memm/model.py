"""What a MEMM crawler has learnt: how it sees, which words count, and what each adds to the potentials of the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from forager.learn.chains.memm import Memm
from forager.learn.chains.rows import Reals
from forager.learn.chains.vocabulary import FeatureWeights, Vocabulary
from forager.strategies.link_features import Codes
from forager.strategies.memm.observations import VERSION, Observer, ahead, here
from forager.types import Floats, Links, Page, Parts
from forager.web.text import mixed


@dataclass(frozen=True, eq=False)
class Known:
    observer: Observer
    vocabulary: Vocabulary  # features here and ahead
    model: Memm
    codes: Codes  # words that are a known feature here or ahead

    def potentials(self, page: Page, links: Links, *, first: bool) -> Floats:
        """What is seen adds to u, for each of n links, (n, 2 * k * k): of the page, and of the page that the link leads
        to. (n, k + k * k) where the page is a first one."""
        of_links, of_page = self.observer(page, links).sums(self._weights(first))
        of_links += of_page
        return of_links

    def each(self, codes: Codes, *, first: bool) -> Floats:
        """What each code adds."""
        return self._weights(first).each(mixed(codes.copy()))

    def _weights(self, first: bool) -> FeatureWeights:
        return self._at_first if first else self._later

    @cached_property
    def _at_first(self) -> FeatureWeights:
        return self._weighed(self.model.first)

    @cached_property
    def _later(self) -> FeatureWeights:
        return self._weighed(self.model.after)

    def _weighed(self, now: Reals) -> FeatureWeights:
        """Of each word what it adds here and ahead, so that it is looked up once."""
        features, once = np.unique(mixed(self.codes.copy()), return_index=True)
        rows = []
        for side, weights in ((here, now), (ahead, self.model.after)):
            names, are = side(self.codes[once])
            places, known = self.vocabulary.find(names)
            rows.append(weights[places] * (known & are)[:, None])
        return FeatureWeights(features, np.concatenate(rows, axis=1))

    # ---- keeping

    def parts(self) -> Parts:
        return {
            "vocabulary": self.vocabulary.terms,
            "codes": self.codes,
            **{f"model.{name}": part for name, part in self.model.parts().items()},
            **{f"see.{name}": part for name, part in self.observer.parts().items()},
        }

    @classmethod
    def from_parts(cls, parts: Parts) -> Self:
        model, see = (
            {name.removeprefix(kind): part for name, part in parts.items() if name.startswith(kind)}
            for kind in ("model.", "see.")
        )
        vocabulary, codes = np.asarray(parts["vocabulary"]), np.asarray(parts["codes"])
        return cls(Observer.from_parts(see), Vocabulary(vocabulary), Memm.from_parts(model, version=VERSION), codes)
