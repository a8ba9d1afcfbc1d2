"""Words with their parts of speech, sentence by sentence: textblob's PatternTagger without textblob's imports.

That tagger knows no context. A word has the tag (Penn Treebank) that the lexicon gives it. At the start of a sentence a
word may also have the tag of its lower case. A word that is not in the lexicon is a name (NNP) if it is capitalised, a
number (CD) if it is made of digits; else its ending decides, and without a known ending it is a noun (NN). So a tag can
be remembered with the word, and one file of textblob is enough. To import textblob would take more than a second and
import nltk too.

A text is cut at white space. Then quotation marks become words of their own, and so does each punctuation mark at
either end of a piece, except the period of an abbreviation. "n't" is cut off. A sentence ends with . ! ? or ..., or
with an empty line; marks that close a quotation or bracket after these still belong to the sentence.

Words and tags are those that textblob gives, with two exceptions: smileys are cut into their characters, and a piece of
more than `LONGEST` characters without a space is taken for one word and shortened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from forager.errors import ForagerError

Tagged: TypeAlias = tuple[str, str]  # a word as it is written, and its tag

LONGEST = 100  # characters; longer pieces between two spaces are not cut into words
REMEMBERED = 1 << 16  # so many words, and so many pieces of text between two spaces

_LEXICON = "en/en-lexicon.txt"
_PUNCTUATION = tuple(",;:!?()[]{}`'\"@#$^&*+-|=~_")
_QUOTES = str.maketrans({quote: f" {quote} " for quote in "“”‘’'\""})
_ENDS = frozenset(["...", ".", "!", "?"])
_CLOSES = _ENDS | {"”", "’", ")"}
_EMPTY_LINES = re.compile(r"(?:\r?\n){2,}")
_NUMBER = re.compile(r"[0-9\-,.:/%$]+")
_ABBREVIATION = re.compile(
    r"(?:[A-Za-z]\.)+"  # T. U.S. e.g.
    r"|[A-Z][bcdfghj-np-tv-xz|]+\."  # Mr. St.
    r"|(?:adj|adv|al|cf|comp|conf|def|ed|esp|etc|ex|fig|gen|id|int|Med|Mil|orig|pl|pred|pres|ref|vs)\."
)

# The last line with a fitting ending decides.
_ENDINGS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("ing",), "VBG"),
    (("ly",), "RB"),
    (("s",), "NNS"),  # but see _NO_PLURAL
    (("able", "al", "ful", "ible", "ient", "ish", "ive", "less", "tic", "ous"), "JJ"),
    (("ed",), "VBN"),
    (("ate", "ify", "ise", "ize"), "VBP"),
)
_NO_PLURAL = ("is", "ous", "ss")


class Tagger:
    """Gives the words of a text their tags."""

    def __init__(self, lexicon: Mapping[str, str]) -> None:
        """`lexicon`: word -> tag."""
        self._lexicon = lexicon
        self._tagged = lru_cache(REMEMBERED)(self._cut_and_look_up)
        self._first = lru_cache(REMEMBERED)(self._look_up_first)

    def knows(self, word: str) -> bool:
        return word in self._lexicon

    def sentences(self, text: str) -> Iterator[list[Tagged]]:
        """The sentences of a text, none of them empty."""
        if "\n" not in text:
            return self._sentences(text)
        return (sentence for paragraph in _EMPTY_LINES.split(text) for sentence in self._sentences(paragraph))

    def _sentences(self, text: str) -> Iterator[list[Tagged]]:
        pieces = text.split()
        if len(text) > LONGEST and max(map(len, pieces), default=0) > LONGEST:
            pieces = [piece[: LONGEST + 1] for piece in pieces]  # shortened, because pieces are remembered
        tagged = list(chain.from_iterable(map(self._tagged, pieces)))
        start, count = 0, len(tagged)
        for end in [at for at, (word, _) in enumerate(tagged, 1) if word in _ENDS]:
            if end > start:
                while end < count and tagged[end][0] in _CLOSES:
                    end += 1
                yield [self._first(tagged[start]), *tagged[start + 1 : end]]
                start = end
        if start < count:
            yield [self._first(tagged[start]), *tagged[start + 1 :]]

    def _cut_and_look_up(self, piece: str) -> tuple[Tagged, ...]:
        return tuple((word, self._lexicon.get(word) or _by_form(word)) for word in cut(piece))

    def _look_up_first(self, tagged: Tagged) -> Tagged:
        """The same word at the beginning of a sentence."""
        word, tag = tagged
        return (word, tag if word in self._lexicon else self._lexicon.get(word.lower()) or tag)


@cache
def english() -> Tagger:
    """The tagger over textblob's lexicon of 94,000 words, read once."""
    found = find_spec("textblob")
    if found is None or not found.submodule_search_locations:
        raise ForagerError("finding terms needs a lexicon of English: pip install 'forager[lexical]'")
    file = Path(found.submodule_search_locations[0]) / _LEXICON
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        raise ForagerError(f"textblob has no {_LEXICON} here: pip install --force-reinstall textblob") from None
    return Tagger(dict(line.split(" ")[:2] for line in lines if line.strip() and not line.startswith(";;;")))


def cut(piece: str) -> tuple[str, ...]:
    """The words and punctuation marks of a piece of text between two spaces."""
    if piece.isalpha() or len(piece) > LONGEST:
        return (piece,)
    if piece[-1] in ",;:)" and piece[:-1].isalpha():
        return piece[:-1], piece[-1]
    spaced = piece.replace("n't", " n't").translate(_QUOTES)
    return tuple(word for part in spaced.split() for word in _without_punctuation(part))


def _without_punctuation(part: str) -> Iterator[str]:
    """First the punctuation marks at the start, one by one, then the word itself, then the marks at the end."""
    while part.startswith(_PUNCTUATION):
        yield part[0]
        part = part[1:]
    behind: list[str] = []
    while part.endswith((*_PUNCTUATION, ".")):
        if part.endswith(_PUNCTUATION):
            mark, rest = part[-1], part[:-1]
        elif part.endswith("..."):
            mark, rest = "...", part[:-3].rstrip(".")
        elif _ABBREVIATION.fullmatch(part):
            break
        else:
            mark, rest = ".", part[:-1]
        behind.append(mark)
        part = rest
    if part:
        yield part
    yield from reversed(behind)


def _by_form(word: str) -> str:
    """The tag of a word that is not in the lexicon."""
    if word.istitle():
        return "NNP"
    if _NUMBER.fullmatch(word):
        return "CD"
    tag = "NN"
    for endings, meant in _ENDINGS:
        if word.endswith(endings) and not (meant == "NNS" and word.endswith(_NO_PLURAL)):
            tag = meant
        if meant == "JJ" and "-" in word:
            tag = meant
    return tag
