"""How near a page is to a sentence or to a few examples: for when you have nothing else.

    v(text)      mean of the static embeddings of its tokens, of length 1                            -> learn/embeddings
    q            v(sentence), or the mean of v over the examples, or the mean of both, of length 1
    z(u)         = q . v(first `characters` of u: title, description, text)
    relevance(u) = sigmoid(slope (z(u) - middle))

For a sentence alone, middle = .25 and slope = 20: these did well on twelve topics of an encyclopaedia, each described
in a line. With examples, middle = mean over the examples e of v(e) . q, q made without e: a typical example gets one
half. Pages that are not wanted may be given, but are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Self

import numpy as np
import xxhash

from forager.critics.combine import Combines
from forager.errors import ForagerError
from forager.learn.calibration import sigmoid
from forager.learn.embeddings import embed
from forager.learn.focus import in_focus
from forager.types import Floats, Judgement, Page, Parts

MIDDLE, SLOPE = 0.25, 20.0
OTHER = "other"


class Description(Combines):
    """Reads the first `characters` of title, description and text of a page."""

    def __init__(self, *, focus: Sequence[str] = ("wanted",), sentence: str = "", characters: int = 4_000) -> None:
        self.focus = (focus,) if isinstance(focus, str) else tuple(focus)
        self._sentence, self._characters = " ".join(sentence.split()), characters
        self._examples = np.empty((0, 0), np.float32)  # a row each
        self._aim()

    @property
    def classes(self) -> tuple[str, ...]:
        return (self.focus[0], OTHER)

    @property
    def version(self) -> str:
        return f"description-{self._digest:08x}"

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Take the pages in focus for examples; earlier examples are forgotten."""
        pairs = zip(pages, labels, strict=True)
        texts = [self._text(page) for page, label in pairs if in_focus(label, self.focus)]
        if not texts:
            raise ForagerError(f"no example of {', '.join(self.focus)}: give pages that are wanted")
        self._examples = embed(texts)
        self._aim()

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        if not len(self._target):
            raise ForagerError("this description critic knows nothing yet: give it a sentence, or fit it on examples")
        vectors = embed([self._text(page) for page in pages])
        cosines = [float(vector @ self._target) for vector in vectors]  # one product for all differs in the last bit
        relevances = [sigmoid(SLOPE * (z - self._middle)) for z in cosines]
        return [Judgement(r, r, np.array([r, 1 - r], np.float32), self.version) for r in relevances]

    def parts(self) -> Parts:
        return {"focus": list(self.focus), "sentence": self._sentence, "examples": self._examples}

    def from_parts(self, parts: Parts) -> Self:
        other = copy(self)
        other.focus, other._sentence = tuple(parts["focus"]), parts["sentence"]
        other._examples = np.asarray(parts["examples"], np.float32)
        other._aim()
        return other

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """All examples together."""
        rows = [part["examples"] for part in parts if len(part["examples"])]
        return {**self.parts(), "examples": np.concatenate(rows) if rows else self._examples}

    def _text(self, page: Page) -> str:
        return f"{page.title} {page.description} {page.text(0, len(page.leaves) - 1)}"[: self._characters]

    def _aim(self) -> None:
        """Compute q and the middle."""
        said = embed([self._sentence])[0] if self._sentence else None
        examples, self._middle = self._examples, MIDDLE
        means = examples.mean(axis=0, keepdims=True) if len(examples) else np.empty((0, 0), np.float32)
        self._target = _toward(means, said)[0] if len(means) or said is not None else np.empty(0, np.float32)
        if len(examples) > 1:
            without = (examples.sum(axis=0) - examples) / (len(examples) - 1)
            self._middle = float(np.mean(np.sum(_toward(without, said) * examples, axis=1)))
        self._digest = xxhash.xxh3_64_intdigest(self._target.tobytes()) & 0xFFFFFFFF


def _toward(means: Floats, said: Floats | None) -> Floats:
    """q for each mean: its direction, averaged with that of the sentence if there is one."""
    if not len(means):
        return np.asarray(said)[None, :]
    return _unit(_unit(means) + said) if said is not None else _unit(means)


def _unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)
