"""What a MEMM crawler has learnt: how it observes, which words count, and what each word adds to the potentials."""

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
class MemmModel:
    """A trained MEMM of k states, with the observer and the words it was trained with."""

    observer: Observer
    vocabulary: Vocabulary  # the known features, here and ahead
    memm: Memm
    codes: Codes  # words with a known feature here or ahead

    def potentials(self, page: Page, links: Links, *, first: bool) -> Floats:
        """What the observations add to the potentials u for each of n links, (n, 2 * k * k): those of the page, then
        those of the page that the link leads to. (n, k + k * k) if the page is the first of its path."""
        of_links, of_page = self.observer(page, links).sums(self._weights(first))
        of_links += of_page
        return of_links

    def each(self, codes: Codes, *, first: bool) -> Floats:
        """What each code adds to the potentials."""
        return self._weights(first).each(mixed(codes.copy()))

    def _weights(self, first: bool) -> FeatureWeights:
        return self._at_first if first else self._later

    @cached_property
    def _at_first(self) -> FeatureWeights:
        return self._weighed(self.memm.first)

    @cached_property
    def _later(self) -> FeatureWeights:
        return self._weighed(self.memm.after)

    def _weighed(self, now: Reals) -> FeatureWeights:
        """What each word adds here and ahead, in one table: so a word is looked up once."""
        features, once = np.unique(mixed(self.codes.copy()), return_index=True)
        rows = []
        for side, weights in ((here, now), (ahead, self.memm.after)):
            found, counts = side(self.codes[once])
            places, known = self.vocabulary.find(found)
            rows.append(weights[places] * (known & counts)[:, None])
        return FeatureWeights(features, np.concatenate(rows, axis=1))

    # ---- keeping

    def parts(self) -> Parts:
        return {
            "vocabulary": self.vocabulary.terms,
            "codes": self.codes,
            **{f"model.{name}": part for name, part in self.memm.parts().items()},
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
