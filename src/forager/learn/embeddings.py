"""Vectors for texts, from static word embeddings that come inside a package: nothing is downloaded.

    v(text) = mean of the vectors of its tokens, scaled to length 1                                           `embed`

The package is wordllama. Only two of its files are read: to import it would import a web client too.

`WordVectors` are for many short texts, and fast: the vectors of words are looked up by their terms, and a word is
computed once. Of each vector the first `DIMENSIONS` are used.

    v(word) = mean of the vectors of its tokens
    v(text) = sum over its words of weight(word) v(word), scaled to length 1; zeros if it has no word
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.types import Floats, Ragged, Terms
from forager.web.text import terms, words

DIMENSIONS = 128
SLOTS = 1 << 16  # words that are remembered: 16 MB
VOCABULARY, VECTORS = "tokenizers/l2_supercat_tokenizer_config.json", "weights/l2_supercat_256.safetensors"


def embed(texts: Sequence[str]) -> Floats:
    """(texts, dimensions): a row of length 1 for each text, or zeros if it has no token."""
    tokenizer, vectors = token_vectors()
    encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    means = np.zeros((len(texts), vectors.shape[1]), np.float32)
    for row, tokens in enumerate(encoded):
        if tokens.ids:
            means[row] = vectors[tokens.ids].mean(axis=0)
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / np.where(norms > 0, norms, 1), np.float32)


@cache
def token_vectors() -> tuple[Any, Floats]:
    """The tokenizer, and a vector for each token."""
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        root = files("wordllama")
    except ImportError:
        raise ForagerError("judging by a sentence needs word embeddings: pip install 'forager[sentence]'") from None
    tokenizer = Tokenizer.from_file(str(root / VOCABULARY))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    (vectors,) = load_file(str(root / VECTORS)).values()
    return tokenizer, vectors.astype(np.float32)


# ---- many short texts -----------------------------------------------------------------------------------------------


class WordVectors:
    """Vectors of words. Of two words that share a slot, the one that was met last is remembered."""

    def __init__(self) -> None:
        self._keys = np.zeros(SLOTS, np.uint32)
        self._vectors = np.zeros((SLOTS, DIMENSIONS), np.float16)

    def of_texts(self, texts: Sequence[str], weight: Callable[[Terms], Floats]) -> Floats:
        """(texts, DIMENSIONS)"""
        return self.of_bags(terms(texts), lambda rows: [texts[row] for row in rows], weight)

    def of_bags(
        self, bags: Ragged, texts_of: Callable[[Sequence[int]], Sequence[str]], weight: Callable[[Terms], Floats]
    ) -> Floats:
        """A vector for each row of terms. `texts_of` gives the texts of some rows; it is asked when a word is new."""
        vectors = self._look_up(bags, texts_of)
        vectors *= weight(bags.values)[:, None]
        sums = np.zeros((len(bags), DIMENSIONS), np.float32)
        full = bags.lengths > 0
        if full.any():
            sums[full] = np.add.reduceat(vectors, bags.offsets[:-1][full])
        norms = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        sums /= np.where(norms > 0, norms, 1)[:, None]
        return sums

    def _look_up(self, bags: Ragged, texts_of: Callable[[Sequence[int]], Sequence[str]]) -> Floats:
        slots = bags.values & np.uint32(SLOTS - 1)
        found = self._vectors.take(slots, axis=0).astype(np.float32)
        missing = np.flatnonzero(self._keys.take(slots) != bags.values)
        if len(missing):
            rows = np.unique(np.searchsorted(bags.offsets, missing, "right") - 1)
            found[missing] = self._learn(bags.values[missing], texts_of(rows.tolist()))
        return found

    def _learn(self, wanted: Terms, texts: Sequence[str]) -> Floats:
        """The vectors of new words, which stand in these texts."""
        new = list(dict.fromkeys(words("\n".join(texts))))
        keys = terms(new).values if new else np.empty(0, np.uint32)
        if len(keys) != len(new):  # a word that is cut again in other company
            new = [word for word in new if len(terms([word]).values) == 1]
            keys = terms(new).values
        chosen = np.flatnonzero(np.isin(keys, wanted))
        vectors = word_vectors([new[at] for at in chosen]).astype(np.float16)  # the same as when it is looked up later
        keys = keys[chosen]
        slots = keys & np.uint32(SLOTS - 1)
        self._keys[slots], self._vectors[slots] = keys, vectors
        order = np.argsort(keys)
        at = np.searchsorted(keys, wanted, sorter=order)
        known = np.append(order, 0)[np.minimum(at, len(order))] if len(order) else np.zeros(len(wanted), np.intp)
        ours = np.zeros((len(wanted), DIMENSIONS), np.float32)
        if len(keys):
            right = keys[known] == wanted
            ours[right] = vectors[known[right]]
        return ours


def word_vectors(new: Sequence[str]) -> Floats:
    """(words, DIMENSIONS)"""
    tokenizer, table = token_vectors()
    encoded = tokenizer.encode_batch(list(new), add_special_tokens=False)
    lengths = np.array([len(tokens.ids) for tokens in encoded], np.int64)
    means = np.zeros((len(new), DIMENSIONS), np.float32)
    ids: NDArray[np.int64] = np.array([id for tokens in encoded for id in tokens.ids], np.int64)
    if len(ids):
        full = lengths > 0
        starts = np.cumsum(lengths) - lengths
        means[full] = np.add.reduceat(table[ids, :DIMENSIONS], starts[full]) / lengths[full][:, None]
    return means
