"""Words and hashed terms. All words of a page are cut and hashed together, with numpy over its code points.

A *word* is a maximal run of letters, digits and underscores of any script, folded (see `fold`) and cut after
`LONGEST` code points. A combining mark, or a zero-width joiner, belongs to the character before it, so that decomposed
text and Devanagari vowels do not fall apart; a mark without such a character is no word. Apostrophes and hyphens
separate words.

Han, Hiragana and Katakana are written without spaces: each of their code points is a word of its own. Thai, Lao, Khmer
and Burmese have no spaces either, but cutting them needs a dictionary: there a word is a whole phrase. Hangul has
spaces.

A *term* is a 32-bit hash of a word's UTF-8, eight bytes at a time:
    h = SEED;  for each chunk x:  h = (h ^ x) * K1, h ^= h >> 32;  term = (h * K2) >> 32
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from forager.types import Bag, Ids, Mask, Ragged, Terms

Bytes: TypeAlias = NDArray[np.uint8]
Parts64: TypeAlias = NDArray[np.uint64]
Number = TypeVar("Number", np.uint32, np.uint64, np.int64)
Places: TypeAlias = NDArray[np.intp]

LONGEST = 64  # code points of a word; the rest does not count

_SEED, _K1, _K2 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xC2B2AE3D27D4EB4F
_WRAP = 0xFFFF_FFFF_FFFF_FFFF
_K1_INVERSE = pow(_K1, -1, 1 << 64)
_U32 = np.uint64(32)
_LOW_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)  # masks that keep the first n bytes of a chunk

_SYMBOLS = re.compile(rf"[^\w\x00-\x7f]{{{LONGEST + 1},}}")  # all marks are among them

ROW_END = "\x1e"  # between the leaves of a page: the "record separator", which no text needs
_GAP, _LETTER, _ALONE, _MARK = 0, 1, 2, 3  # the kind of a code point: what it does to a word
_KIND, _FOLDS = 3, 4  # the bits of the kind; the bit of a code point beyond ASCII that `fold` may change
_UNKNOWN = 255  # its kind was not looked up yet
_BLOCK = 512  # code points whose kinds are looked up together, when the first of them is met

# Scripts in which each letter is a word.
_HAN = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))  # each Unicode version adds some
_KANA = ((0x3005, 0x3007), (0x3021, 0x3029), (0x3041, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D), (0x1AFF0, 0x1B16F))
_HAN_EDGES, _KANA_EDGES = ([edge for a, b in ranges for edge in (a, b + 1)] for ranges in (_HAN, _KANA))
_HANGUL = (0xAC00, 0xD7A3)
# The ranges for which unicodedata is asked. The rest is unassigned, private, or in the ranges above.
_VARIED = (
    (0, 0x3400),
    (0x4DC0, 0x4E00),
    (0xA000, 0xAC00),
    (0xD7A4, 0xD800),
    (0xF900, 0x20000),
    (0x2F800, 0x2FA20),
    (0xE0100, 0xE01F0),
)
_JOINERS = (0x200C, 0x200D)
# ASCII letters and digits become lower case, row ends and bytes beyond ASCII stay, all other bytes become 0.
_LOWERED = bytes(
    octet if octet >= 128 or bytes([octet]).isalnum() or octet in b"_" + ROW_END.encode() else 0
    for octet in bytes(range(256)).lower()
)


def fold(text: str) -> str:
    """The text in lower case, composed (NFC), without soft hyphens. "ß" stays, since `lower` is used and not
    `casefold`; the final sigma becomes sigma. Of many marks in a row the first LONGEST are kept."""
    if text.isascii():
        return text.lower()
    return _fold(_without_piles(text) if len(text) > LONGEST else text)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text.lower().replace("\xad", "")).replace("ς", "σ")


def _without_piles(text: str) -> str:
    """The text with at most LONGEST marks in a row. To compose more takes quadratic time: a million take minutes."""
    return _SYMBOLS.sub(lambda found: _thinned(found[0]), text)


def _thinned(symbols: str) -> str:
    kept, marks = [], 0
    for character in symbols:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        if marks <= LONGEST:
            kept.append(character)
    return "".join(kept)


def _has_piles(kinds: Bytes) -> bool:
    """Whether code points of these kinds have more than LONGEST marks in a row. 20 us; to search the text takes 300."""
    is_mark = kinds & np.uint8(_KIND) == _MARK
    if np.count_nonzero(is_mark) <= LONGEST:
        return False
    others = np.flatnonzero(~is_mark)
    return bool(np.diff(others, prepend=-1, append=len(kinds)).max() > LONGEST + 1)


def terms(leaves: Sequence[str]) -> Ragged:
    """The hashed words of each leaf, one row per leaf."""
    if not leaves:
        return Ragged(np.empty(0, np.uint32), np.zeros(1, np.int64))
    rows = row_terms(ROW_END.join(leaves))
    return rows if len(rows) == len(leaves) else terms([leaf.replace(ROW_END, " ") for leaf in leaves])


def row_terms(text: str) -> Ragged:
    """The hashed words of several texts, given as one string with ROW_END between them."""
    octets, starts, lengths = _cut(text)
    row_ends = (np.frombuffer(octets, np.uint8) == ord(ROW_END)).nonzero()[0]
    offsets = np.zeros(len(row_ends) + 2, np.int64)
    offsets[1:-1] = starts.searchsorted(row_ends)
    offsets[-1] = len(starts)
    return Ragged(_hash(octets, starts, lengths), offsets)


def url_terms(urls: Sequence[str]) -> Ragged:
    """The hashed words of each URL, without its scheme and with escapes decoded. Here an underscore separates words."""
    return terms([url_text(url) for url in urls])


def url_text(url: str) -> str:
    """The text of a URL that `url_terms` hashes."""
    return unescaped(url.partition("://")[2] or url).replace("_", " ")


def unescaped(url: str) -> str:
    """A URL with its escapes decoded: "%7Esvc" becomes "~svc"."""
    return unquote(url) if "%" in url else url


def words(text: str) -> list[str]:
    """The words of a text, in order: `terms([text])[0]` are their hashes."""
    return _decoded(*_cut(text))


def spelled(text: str, wanted: Terms) -> list[str]:
    """The words of this text that have these hashes; "" if it has none."""
    octets, starts, lengths = _cut(text)
    hashes = _hash(octets, starts, lengths)
    order = hashes.argsort()
    at = np.append(order, 0)[hashes.searchsorted(wanted, sorter=order)]
    starts, lengths, hashes = (np.append(each, 0)[at] for each in (starts, lengths, hashes))
    return _decoded(octets, starts, np.where(hashes == wanted, lengths, 0))


def _decoded(octets: bytes, starts: Places, lengths: Places) -> list[str]:
    spans = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
    return [octets[start:end].decode("utf-8", "surrogatepass") for start, end in spans]


def term(word: str) -> int:
    """The hash of one word, whatever its case."""
    octets = fold(word)[:LONGEST].encode("utf-8", "surrogatepass")
    h = _SEED
    for at in range(0, len(octets), 8):
        h = (h ^ int.from_bytes(octets[at : at + 8], "little")) * _K1 & _WRAP
        h ^= h >> 32
    return (h * _K2 & _WRAP) >> 32


def mix(terms: Terms, salt: NDArray[Any] | int) -> Terms:
    """A new term for each pair of a term and a small int, such as a word and its offset from a link."""
    salts = np.asarray(salt, np.int64).astype(np.uint64)
    return mixed((terms | (salts + np.uint64(1)) << _U32) * np.uint64(_K1))


def code(word: str, salt: int) -> int:
    """The code of a word and a salt, from which `mixed` makes the term: mix(term(word), salt) = mixed(code(word,
    salt))."""
    return (term(word) | salt + 1 << 32) * _K1 & _WRAP


def decoded(codes: Parts64) -> tuple[Terms, NDArray[np.int64]]:
    """The terms and the salts that these codes were made of."""
    both = codes * np.uint64(_K1_INVERSE)
    return both.astype(np.uint32), (both >> _U32).astype(np.int64) - 1


def term_part(terms: Terms) -> Parts64:
    """The part of a mix that depends on the term: mix(t, s) = mixed(term_part(t) + salt_part(s)). This saves time where
    a term is mixed with several salts, or many terms with few salts."""
    return terms * np.uint64(_K1)


def salt_part(salts: NDArray[Any]) -> Parts64:
    """The part of a mix that depends on the salt."""
    return (salts.astype(np.uint64) + np.uint64(1) << _U32) * np.uint64(_K1)


def mixed(sums: Parts64) -> Terms:
    """The terms of these sums of parts. Overwrites the array it is given."""
    sums ^= sums >> _U32
    sums *= np.uint64(_K2)
    sums >>= _U32
    return sums.astype(np.uint32)


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """The distinct values, ascending: several times as fast as np.unique."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered.take(np.flatnonzero(new))


def count(terms: Terms) -> tuple[Terms, Ids]:
    """The distinct terms, ascending, and how often each occurs."""
    bag = Bag.of(terms)
    return bag.terms, bag.counts


def _cut(text: str) -> tuple[bytes, Places, Places]:
    """The UTF-8 of the folded text, where in it each word starts and how long it is."""
    octets = b"\0%b%b" % (text.encode("utf-8", "surrogatepass"), bytes(8))  # with a gap before and after all words
    octets = octets.translate(_LOWERED)
    kinds: Bytes = (np.frombuffer(octets, np.uint8) > ord(ROW_END)).view(np.uint8)  # _LETTER or _GAP
    if not text.isascii():
        high = np.flatnonzero(np.frombuffer(octets, np.int8) < 0)
        high_octets = np.frombuffer(octets, np.uint8)[high]
        high_kinds = _kinds_of(high_octets.tobytes().decode("utf-8", "surrogatepass"))
        if high_kinds.max() >= _FOLDS:
            # Only leaves beyond ASCII are folded, because they are few: all 25,000 characters of a page take 0.16 ms.
            tame = _without_piles(text) if _has_piles(high_kinds) else text
            folded = ROW_END.join([leaf if leaf.isascii() else _fold(leaf) for leaf in tame.split(ROW_END)])
            if folded != text:
                return _cut(folded)
        kinds[high] = _spread(high_kinds & np.uint8(_KIND), high_octets)
    mixed = not text.isascii() and kinds.max() > _LETTER
    starts, lengths = _mixed_runs(kinds) if mixed else _runs(kinds)
    return octets, starts, _shorten(octets, starts, lengths)


def _kinds_of(text: str) -> Bytes:
    table, points = _kinds(), np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = table[points]
    new = points[kinds == _UNKNOWN]
    for first in (distinct(new // np.uint32(_BLOCK)) * np.uint32(_BLOCK)).tolist():
        unknown = first + np.flatnonzero(table[first : first + _BLOCK] == _UNKNOWN)
        table[unknown] = list(map(_kind, unknown.tolist()))
    return table[points] if len(new) else kinds


def _spread(kinds: Bytes, octets: Bytes) -> Bytes:
    """The kind of each byte is that of its code point. Of a code point that is a word alone, later bytes are marks."""
    is_first = (octets & 0xC0) != 0x80
    spread: Bytes = kinds[np.cumsum(is_first) - 1]
    spread[(spread == _ALONE) & ~is_first] = _MARK
    return spread


def _shorten(octets: bytes, starts: Places, lengths: Places) -> Places:
    """Lengths such that no word has more than LONGEST code points."""
    if lengths.max(initial=0) > LONGEST:
        for word in np.flatnonzero(lengths > LONGEST).tolist():
            first = int(starts[word])
            whole = octets[first : first + min(int(lengths[word]), 4 * LONGEST)].decode("utf-8", "ignore")
            lengths[word] = len(whole[:LONGEST].encode())
    return lengths


def _runs(kinds: Bytes) -> tuple[Places, Places]:
    """Where words start and how long they are: they are the runs of ones. The first and the last kind are gaps."""
    turns = (kinds[1:] != kinds[:-1]).nonzero()[0]
    before, last = turns[0::2], turns[1::2]
    return before + 1, last - before


def _mixed_runs(kinds: Bytes) -> tuple[Places, Places]:
    """The same for kinds with marks, or with code points that are words alone."""
    bare = kinds != _MARK
    base = kinds if bare.all() else _bases(kinds, bare)
    is_letter, inside = base == _LETTER, base != _GAP
    is_start = base == _ALONE
    is_start[1:] |= is_letter[1:] & ~is_letter[:-1]
    is_start &= bare
    goes_on = inside & ~is_start  # with the word before it
    starts = np.flatnonzero(is_start)
    return starts, np.flatnonzero(inside[:-1] & ~goes_on[1:]) + 1 - starts


def _bases(kinds: Bytes, bare: Mask) -> Bytes:
    """The kinds, with that of the code point before it in place of each mark."""
    return kinds[np.maximum.accumulate(np.where(bare, np.arange(len(kinds)), 0))]


def _hash(octets: bytes, starts: Places, lengths: Places) -> Terms:
    chunk_at = np.ndarray((len(octets) - 7,), "<u8", octets, strides=(1,))  # the eight bytes from each place on
    h = chunk_at[starts]
    h &= _LOW_BYTES.take(lengths, mode="clip")
    h ^= _SEED
    _stir(h)
    longer, done = (lengths > 8).nonzero()[0], 8
    while len(longer):
        more = chunk_at[starts[longer] + done]
        more &= _LOW_BYTES.take(lengths[longer] - done, mode="clip")
        more ^= h[longer]
        _stir(more)
        h[longer] = more
        done += 8
        longer = longer[lengths[longer] > done]
    h *= _K2
    h >>= _U32
    return h.astype(np.uint32)


def _stir(h: NDArray[np.uint64]) -> None:
    h *= _K1
    h ^= h >> _U32


@cache
def _kinds() -> Bytes:
    """The kind of each code point, as far as it was needed: to look up all takes a tenth of a second."""
    kinds = np.zeros(0x110000, np.uint8)
    for first, last in _HAN:
        kinds[first : last + 1] = _ALONE
    kinds[_HANGUL[0] : _HANGUL[1] + 1] = _LETTER
    for first, end in _VARIED:
        kinds[first:end] = _UNKNOWN
    return kinds


def _kind(point: int) -> int:
    character = chr(point)
    if character.isascii():
        return _LETTER if character.isalnum() or character == "_" else _GAP
    if point in _JOINERS:
        return _MARK
    if unicodedata.category(character)[0] == "M":
        return _MARK | _FOLDS
    composes = "\u1160" <= character <= "\u11ff" or not unicodedata.is_normalized(
        "NFC", character
    )  # Hangul vowels, finals
    folds = _FOLDS if composes or character.lower() != character or character in "ς\xad" else 0
    if bisect(_HAN_EDGES, point) % 2 or (character.isalnum() and bisect(_KANA_EDGES, point) % 2):
        return _ALONE | folds
    return (_LETTER if character.isalnum() else _GAP) | folds
