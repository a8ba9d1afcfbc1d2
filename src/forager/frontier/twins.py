"""Which pages have a text that we have already: the same bytes, or nearly the same words.

A *shingle* is three words in a row. Two pages are as alike as their sets of shingles A and B: |A & B| / |A | B|, the
Jaccard similarity. A *sketch* of 64 bytes stands for such a set. It is a MinHash with one permutation: each shingle is
hashed into one of 128 bins, each bin keeps its least hash, and 4 bits of that go into the sketch. Two sets have the
same least hash in a bin with a probability that is their similarity, so the share of equal bins estimates it, with a
standard error of 0.03 at 0.9. A page with few shingles would leave bins empty. So each of its shingles is hashed
several times, in rounds; a hash of an earlier round counts as less than any of a later one.

Words of navigation and of footers do not count, because they say which site a page is of. With them, pages of a site
with a long menu and little text would all be nearly the same.

There are packages that make MinHashes, such as rensa, which takes 0.7 ms for a page. Here a page is one pass of numpy,
not a pass for each bin (`python -m bench.duplicates`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

import numpy as np

from forager.frontier.columns import Column
from forager.frontier.url_table import Hashes, HashTable
from forager.types import Page, Region, Terms

ALIKE = 0.9  # pages at least this similar are twins

# Sketches are stored, so nothing from here to _ROUNDS may change.
SKETCH, _BINS = 64, 128  # bytes of a sketch, bins of 4 bits
FEWEST = 24  # bins; about 27 different shingles fill them. A page with fewer has no sketch
_BALLS = 640  # hashes that a page throws at least: then one bin of 128 stays empty at most, in most cases
_K1, _K2, _K3, _K4 = map(np.uint64, (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93))
_HALF, _TOP, _KEPT = np.uint64(32), np.uint64(57), np.uint64(16)  # places of bits: the bin is the top 7
_BELOW_TOP = np.uint64((1 << 57) - 1)
_ROUNDS = np.arange(-(-_BALLS // FEWEST), dtype=np.uint64)[:, None]
_NOTHING = np.uint64(0xFFFF_FFFF_FFFF_FFFF)

# A page is looked for by 4 bands of 7 bins. One of them is the same for 94 % of the pages that are 0.9 similar, and for
# 99 % of those that are 0.95 similar.
_BANDS, _BAND = 4, (1 << 28) - 1
_LOOKED_AT = 8  # pages with the same band
_LAST_BITS = int("1" * _BINS, 16)  # the last bit of each bin


def sketch(page: Page) -> bytes:
    """The sketch of a page's text, the same in every process; empty if there is too little text."""
    furniture = (page.regions == Region.NAVIGATION) | (page.regions == Region.FOOTER)
    words = page.terms.values
    return sketch_of(words[np.repeat(~furniture, page.terms.lengths)] if furniture.any() else words)


def sketch_of(words: Terms) -> bytes:
    """The sketch of hashed words in their order."""
    if len(words) < FEWEST:
        return b""
    wide = words.astype(np.uint64)
    hashes = wide[:-2] * _K1
    hashes += wide[1:-1] * _K2
    hashes += wide[2:] * _K3
    hashes ^= hashes >> _HALF
    hashes *= _K4
    least = np.full(_BINS, _NOTHING)
    np.minimum.at(least, (hashes >> _TOP).view(np.intp), hashes & _BELOW_TOP)
    filled = _BINS - np.count_nonzero(least == _NOTHING)
    if filled < FEWEST:
        return b""
    if filled < _BINS:
        _fill(least, hashes)
    bits = (least >> _KEPT).astype(np.uint8) & 15
    return (bits[0::2] | bits[1::2] << 4).tobytes()


def _fill(least: Hashes, hashes: Hashes) -> None:
    """Fill the empty bins: by more rounds if there are few hashes. Bins that are still empty take what the next has."""
    hashes.sort()
    hashes = hashes[np.append(True, hashes[1:] != hashes[:-1])]
    rounds = _ROUNDS[1 : -(-_BALLS // len(hashes))]
    if len(rounds):
        thrown = ((hashes ^ hashes >> _HALF) * (rounds * _K2 | np.uint64(1))).ravel()
        again = np.full(_BINS, _NOTHING)
        marks = np.repeat(rounds << _TOP, len(hashes))
        np.minimum.at(again, (thrown >> _TOP).view(np.intp), thrown & _BELOW_TOP | marks)
        np.minimum(least, again, out=least)  # a hash of the first round has no mark
    empty = least == _NOTHING
    if empty.any():
        full, wanting = (~empty).nonzero()[0], empty.nonzero()[0]
        least[wanting] = least[full[full.searchsorted(wanting) % len(full)]]


def similarity(one: bytes, other: bytes) -> float:
    """How similar two pages are, estimated from their sketches: 0 to 1."""
    differ = int.from_bytes(one, "little") ^ int.from_bytes(other, "little")
    differ |= differ >> 2
    unequal = ((differ | differ >> 1) & _LAST_BITS).bit_count()
    return max(0.0, 1 - unequal / _BINS * 16 / 15)  # of bins that have nothing in common one in 16 is equal


class Twin(NamedTuple):
    """A page that we have, with the text of another."""

    id: int
    exact: bool  # the same bytes
    similarity: float  # estimated; 1 if exact


class Twins:
    """Finds the twin of a page among those that were added.

    It is a function of what was added, in that order. A digest leads to the first page that had it. So does each band
    of a sketch; later pages with the same band are chained to the first one, the newest first, and a search looks at 8
    of them. So it looks at 32 pages at most, whatever strangers write on their pages. A page takes 170 bytes, and up to
    340 while the table of keys grows.
    """

    def __init__(self) -> None:
        self._rows = HashTable()  # keys -> row of the first page
        self._ids = Column(np.int32)
        self._sketches = Column(np.uint8, width=SKETCH)
        self._next = Column(np.int32, width=_BANDS)  # row with the same band; 0: none, because row 0 is always first
        # If strangers could foresee the keys, they could write pages that all fall into one bucket of the table.
        self._secret = secrets.token_bytes(16)

    def __len__(self) -> int:
        return len(self._ids)

    def find(self, digest: bytes, sketch: bytes) -> Twin | None:
        """The twin of a page with this digest of its body and this sketch: the same bytes if there is such a page, else
        the most similar text. Of several, the one that was added first."""
        same, *heads = self._rows.lookup(self._keys(digest, sketch)).tolist()
        if same >= 0:
            return Twin(int(self._ids.view[same]), True, 1.0)
        rows = {row for band, head in enumerate(heads) for row in islice(self._chain(band, head), _LOOKED_AT)}
        found = [(similarity(self._sketches.view[row].tobytes(), sketch), -row) for row in rows]
        likeness, row = max(found, default=(0.0, 0))
        return Twin(int(self._ids.view[-row]), False, likeness) if likeness >= ALIKE else None

    def add(self, id: int, digest: bytes, sketch: bytes) -> None:
        """A page that is kept. `find` has said that it has no twin, or nobody has asked."""
        row, keys = len(self), self._keys(digest, sketch)
        heads = self._rows.lookup(keys)
        new = keys[heads < 0]
        self._rows.insert(new, np.full(len(new), row, np.int32))
        self._ids.extend([id])
        self._sketches.repeat(np.frombuffer(sketch, np.uint8) if len(keys) > 1 else 0, 1)
        self._next.repeat(0, 1)
        for band, head in enumerate(heads[1:].tolist()):
            if head >= 0:
                self._next.view[row, band] = self._next.view[head, band]
                self._next.view[head, band] = row

    def _chain(self, band: int, row: int) -> Iterator[int]:
        """The rows with the same band as the first of them; none if that is -1."""
        while row >= 0:
            yield row
            row = int(self._next.view[row, band]) or -1

    def _keys(self, digest: bytes, sketch: bytes) -> Hashes:
        """Hashes of the digest and of each band, with the secret. A sketch of another length is none."""
        words = np.frombuffer(sketch, "<u4", _BANDS).tolist() if len(sketch) == SKETCH else []
        bands = [(word & _BAND | band << 28).to_bytes(4, "little") for band, word in enumerate(words)]
        hashed = [blake2b(key, key=self._secret, digest_size=8).digest() for key in (digest, *bands)]
        return np.frombuffer(b"".join(hashed), np.uint64)
