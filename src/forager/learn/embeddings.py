"""Vectors for texts, from static word embeddings in a file of the package: nothing is downloaded.

    v(text) = mean of the vectors of its tokens, scaled to length 1                                           `embed`

The vectors are those of WordLlama; vectors.LICENSE says whose they are, and `make vectors` writes the file. A number of
a vector is a byte times the scale of its row.

The tokens of a text are found by byte-pair encoding, as in Llama 2. The text begins with a space. At first every
character is a token. Of all neighbours that make a token together, those of the lowest rank become one, the leftmost
first, until there are none left. A character that is no token falls into its bytes. The file has the 256 bytes first,
then the tokens by rank.

No token goes beyond a run of letters, a digit, or a run of other characters, with spaces before it. So texts are cut
into these *pieces*, and the tokens of a piece are remembered, because most pieces return. Only here the tokens differ
from those of the library `tokenizers`: runs of more than `LONGEST` characters or 16 spaces are cut, and "<s>", "</s>"
and "<unk>" mean nothing.

`WordVectors` are for many short texts, and fast: the vectors of words are looked up by their terms, and a word is
computed once. Of each vector the first `DIMENSIONS` are used.

    v(word) = mean of the vectors of its tokens
    v(text) = sum over its words of weight(word) v(word), scaled to length 1; zeros if it has no word
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from forager.types import Floats, Ragged, Terms
from forager.web.text import ROW_END, spelled, terms

FILE = "vectors.npz"
DIMENSIONS = 128
BUCKETS, WAYS = 1 << 14, 4  # words that are remembered, so many in a bucket: 32 MB
PIECES = 1 << 14  # pieces that are remembered: about 4 MB
LONGEST = 64  # characters of a piece: the time to find its tokens grows with the square
SPACE = "\u2581"  # a space, as tokens are written
BYTES = 256  # rows of the file that are bytes
NO_TOKEN = 1 << 30
PIECE = re.compile(rf" {{0,16}}(?:[^\W\d_²]{{1,{LONGEST}}}|\d|(?:[^\w ]|[_²]){{1,{LONGEST}}})| {{1,16}}")


class TokenVectors(NamedTuple):
    """What the file has."""

    ranks: dict[str, int]  # of each token; it is also its row
    numbers: NDArray[np.int8]  # (rows, 256)
    scales: Floats  # (rows,)
    short: NDArray[np.int8]  # (rows, DIMENSIONS)


def embed(texts: Sequence[str]) -> Floats:
    """(texts, dimensions): a row of length 1 for each text, or zeros if it has no token."""
    _, numbers, scales, _ = token_vectors()
    sums = np.zeros((len(texts), numbers.shape[1]), np.float32)
    for row, text in enumerate(texts):
        if tokens := text_tokens(text):
            sums[row] = scales[tokens] @ numbers[tokens].astype(np.float32)
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(norms > 0, norms, 1), np.float32)


@cache
def token_vectors() -> TokenVectors:
    with (files("forager.learn") / FILE).open("rb") as file, np.load(file) as parts:
        tokens = parts["tokens"].tobytes().decode().replace(SPACE, " ").split("\n")
        ranks = {token: rank for rank, token in enumerate(tokens, BYTES)}
        numbers = parts["numbers"]
        return TokenVectors(ranks, numbers, parts["scales"], np.ascontiguousarray(numbers[:, :DIMENSIONS]))


def text_tokens(text: str) -> list[int]:
    """The rows of the tokens of a text."""
    pieces = PIECE.findall(f" {text}".replace(SPACE, " ")) if text else []
    return list(chain.from_iterable(map(piece_tokens, pieces)))


@lru_cache(PIECES)
def piece_tokens(piece: str) -> tuple[int, ...]:
    """The rows of the tokens of a piece, or of a space and a word."""
    ranks = token_vectors().ranks
    rank = ranks.get
    if (whole := rank(piece)) is not None:  # every token is what byte-pair encoding makes of its characters
        return (whole,)
    parts = list(piece)
    pairs = [rank(a + b, NO_TOKEN) for a, b in pairwise(parts)]  # of each part with the next one
    while (lowest := min(pairs, default=NO_TOKEN)) != NO_TOKEN:
        at = pairs.index(lowest)
        parts[at] += parts.pop(at + 1)
        del pairs[at]
        if at:
            pairs[at - 1] = rank(parts[at - 1] + parts[at], NO_TOKEN)
        if at < len(pairs):
            pairs[at] = rank(parts[at] + parts[at + 1], NO_TOKEN)
    return tuple(chain.from_iterable([ranks[p]] if p in ranks else p.encode("utf-8", "surrogatepass") for p in parts))


# ---- many short texts -----------------------------------------------------------------------------------------------


class WordVectors:
    """Vectors of words. When a bucket is full, the word that came into it first is forgotten."""

    def __init__(self, weight: Callable[[Terms], Floats]) -> None:
        self._weight = weight
        self._keys = np.zeros((BUCKETS, WAYS), np.uint32)
        self._next = np.zeros(BUCKETS, np.uint8)  # the way that is written next
        self._vectors = np.zeros((BUCKETS * WAYS, DIMENSIONS), np.float32)  # with the weights of their words

    def of_texts(self, texts: Sequence[str]) -> Floats:
        """(texts, DIMENSIONS)"""
        return self.of_bags(terms(texts), lambda rows: [texts[row] for row in rows])

    def of_bags(self, bags: Ragged, texts_of: Callable[[Sequence[int]], Sequence[str]]) -> Floats:
        """A vector for each row of terms. `texts_of` gives the texts of some rows; it is asked when a word is new."""
        sums = _summed(np.ones(len(bags.values), np.float32), self._look_up(bags, texts_of), bags.offsets)
        norms = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        sums /= np.where(norms > 0, norms, 1)[:, None]
        return sums

    def _look_up(self, bags: Ragged, texts_of: Callable[[Sequence[int]], Sequence[str]]) -> Floats:
        buckets = bags.values & np.uint32(BUCKETS - 1)
        same = self._keys.take(buckets, axis=0) == bags.values[:, None]
        way = same.argmax(axis=1)
        found = self._vectors.take(buckets * np.uint32(WAYS) + way, axis=0)
        missing = np.flatnonzero(~same[np.arange(len(way)), way])
        if len(missing):
            rows = np.unique(np.searchsorted(bags.offsets, missing, "right") - 1)
            found[missing] = self._learn(bags.values[missing], texts_of(rows.tolist()))
        return np.asarray(found)

    def _learn(self, wanted: Terms, texts: Sequence[str]) -> Floats:
        """The vectors of new words, which stand in these texts; zeros for those that do not."""
        words = spelled(ROW_END.join(texts), wanted)
        there = [at for at, word in enumerate(words) if word]
        vectors = np.zeros((len(wanted), DIMENSIONS), np.float32)
        vectors[there] = word_vectors([words[at] for at in there]) * self._weight(wanted[there])[:, None]
        self._remember(*np.unique(wanted[there], return_index=True), vectors[there])
        return vectors

    def _remember(self, keys: Terms, first: NDArray[np.intp], vectors: Floats) -> None:
        buckets = keys & np.uint32(BUCKETS - 1)
        way = self._next[buckets]
        self._keys[buckets, way], self._vectors[buckets * np.uint32(WAYS) + way] = keys, vectors[first]
        self._next[buckets] = (way + 1) % WAYS


def word_vectors(words: Sequence[str]) -> Floats:
    """(words, DIMENSIONS)"""
    table = token_vectors()
    tokens = [piece_tokens(f" {word}") for word in words]
    lengths, rows = np.array(list(map(len, tokens)), np.int64), np.array(list(chain.from_iterable(tokens)), np.intp)
    shares = np.asarray(table.scales.take(rows) / lengths.repeat(lengths), np.float32)
    return _summed(shares, table.short.take(rows, axis=0).astype(np.float32), np.append(0, lengths.cumsum()))


def _summed(weights: Floats, vectors: Floats, offsets: NDArray[np.int64]) -> Floats:
    """The weighted sums of the vectors from one offset to the next. Several times as fast as np.add.reduceat."""
    n, ends = len(vectors), offsets.astype(np.int32)
    rows = csr_array((weights, np.arange(n, dtype=np.int32), ends), shape=(len(ends) - 1, n))
    return np.asarray(rows @ vectors)
