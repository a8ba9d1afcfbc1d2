"""Candidate terms: noun phrases of a page, by a grammar over parts of speech and a list of words that no term has.

    thesis   (JJ|NN)* NN
    ours     (JJ|VBN|VBG)* (JJ|NN)* (NN | (JJ|NN|VBN) VBG)

JJ stands for JJ, JJR and JJS, and for a participle with a hyphen ("object-oriented"); NN for NN, NNS, NNP and NNPS.
There are no prepositions and no determiners in it. Participles are ours, because a tagger that knows no context calls
them verbs wherever they stand: without them there are no operating systems and there is no machine learning.

A *candidate* is any run of at most `longest` words of a sentence whose tags match the whole of the grammar, so that
parts of a phrase are candidates too if they are phrases: "support vector machine" also brings "support vector", "vector
machine", "support", "vector" and "machine". f(a) counts every place where a stands, within longer candidates or alone.
Candidates are folded (see `forager.web.text`); their words are separated by one space, and may have hyphens, slashes,
& and periods in them.

A stop word ends a phrase, and so does what is not a word: punctuation, numbers, addresses. A light word, such as
"time", and a single letter may be in a phrase, but one noun or gerund of it has to be another word. No phrase goes over
the end of a leaf: a page does not say which leaves are parts of one line of text, and those of a list or table are not.

The tagger knows English only. A page is taken for another language if it says so, if it has more function words of
others than English ones, or if both the share of its words that are in the lexicon and the share of English function
words are too small. Its candidates are then its words without the most frequent ones of some languages, and
`Candidates.spoken` is False. So it is with English lists of names, which have no phrases either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain

from forager.learn.lexical.stopwords import FOREIGN_WORDS, FUNCTION_WORDS, LIGHT_WORDS, STOP_WORDS, VAGUE_WORDS
from forager.learn.lexical.tagger import Tagged, Tagger, english
from forager.web.text import fold, words

LONGEST = 6  # words of a candidate: one in 3,000 phrases has more
LONGEST_WORD = 40  # letters
MOST = 100_000  # characters of a page that are read
KNOWN, FUNCTIONAL = 0.5, 0.12  # shares of words; an English text reaches at least one of them
PIECES, PIECE = 8, 250  # of a text that are looked at, and characters of each
FEW = 20  # words that say too little of the language

# A letter for each tag: nouns, light nouns, adjectives, VBN, VBG, and whatever ends a phrase.
_NOUN, _LIGHT, _ADJECTIVE, _PARTICIPLE, _GERUND, _END = "NLJVG-"
_PHRASE = re.compile(r"(?=[LJV]*[NG])[JVG]*[JNL]*(?:[NL]|[JNLV]G)")
_FOREIGN_ALONE = frozenset(word for word in FOREIGN_WORDS - FUNCTION_WORDS if len(word) > 1)
_BREAK = (_END, "")
_RUN = re.compile(r"[NLJVG]{1,32}")  # a longer one, which is no prose, is cut: runs are remembered

_JOINTS = re.compile(r"[-‐‑–&/]")
_WORD = re.compile(r"[^\W_]+(?:[-‐‑–&/][^\W_]+)*\.?|(?:[^\W\d_]{1,3}\.)+[^\W\d_]{0,3}")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s)")
_LETTERS = re.compile(r"[^\W\d_]+")
_IDEOGRAPHS = "\u2e80"  # from here on a single character may be a word


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What may be terms of one document."""

    counts: Mapping[str, int]  # f(a), in the order in which they are first met
    spoken: bool = True  # False: in a language that the tagger does not know; these are single words


class Phrases:
    """Finds the candidates of documents."""

    def __init__(
        self,
        tagger: Tagger | None = None,
        *,
        longest: int = LONGEST,
        participles: bool = True,
        stop: Collection[str] = (),
    ) -> None:
        """`participles`: our grammar; without them, the thesis'. `stop`: more stop words. No tagger: `english`."""
        self._tagger = tagger or english()
        self._longest, self._participles, self._stop = longest, participles, STOP_WORDS.union(stop)
        self._part = lru_cache(1 << 16)(self._letter_and_word)
        self._spans = lru_cache(1 << 10)(self._phrases_among)

    def candidates(self, leaves: Sequence[str], language: str = "") -> Candidates:
        """Those of a page, by the text of its leaves and the language that it declares."""
        texts = within(leaves, MOST)
        if not (language or "en").startswith("en") or not self.speaks(texts):
            return Candidates(_plain_words(texts), spoken=False)
        return Candidates(Counter(self._phrases(texts)))

    def speaks(self, texts: Sequence[str]) -> bool:
        """Whether these are in the tagger's language, as far as one can see."""
        found = _LETTERS.findall(sample(" ".join(texts)))
        lowered = [word.lower() for word in found]
        functional, foreign = (sum(map(those.__contains__, lowered)) for those in (FUNCTION_WORDS, _FOREIGN_ALONE))
        known = sum(map(self._known, found, lowered))
        if foreign > max(1, functional, FUNCTIONAL * len(found)) or known == 0 < len(found):
            return False
        return len(found) < FEW or known >= KNOWN * len(found) or functional >= FUNCTIONAL * len(found)

    def _known(self, word: str, lowered: str) -> bool:
        return self._tagger.knows(lowered) or self._tagger.knows(word)

    def _phrases(self, texts: Sequence[str]) -> Iterator[str]:
        """Each candidate, as often as it stands there."""
        sentences = chain.from_iterable(map(self._tagger.sentences, texts))
        parts = [part for sentence in sentences for part in (*map(self._part, sentence), _BREAK)]
        letters, words = "".join([letter for letter, _ in parts]), [word for _, word in parts]
        for run in _RUN.finditer(letters):
            at = run.start()
            for start, end in self._spans(run[0]):
                yield " ".join(words[at + start : at + end])

    def _phrases_among(self, letters: str) -> list[tuple[int, int]]:
        """From where to where a run of letters has phrases in it."""
        return [
            (start, end)
            for start in range(len(letters))
            for end in range(start + 1, min(start + self._longest, len(letters)) + 1)
            if _PHRASE.fullmatch(letters, start, end)
        ]

    def _letter_and_word(self, token: Tagged) -> tuple[str, str]:
        word, tag = fold(token[0]), token[1]
        return self._letter(word, tag) if self._fits(word, tag) else _END, word

    def _letter(self, word: str, tag: str) -> str:
        if tag.startswith("NN"):
            return _LIGHT if word in LIGHT_WORDS or len(word.rstrip(".")) == 1 else _NOUN
        if tag.startswith("JJ") or (tag in ("VBN", "VBG") and "-" in word):
            return _ADJECTIVE
        if self._participles and tag in ("VBN", "VBG"):
            return _PARTICIPLE if tag == "VBN" else _GERUND
        return _END

    def _fits(self, word: str, tag: str) -> bool:
        """Whether a term may have the word in it."""
        if len(word) > LONGEST_WORD or not _WORD.fullmatch(word) or _ORDINAL.fullmatch(word):
            return False
        if word in VAGUE_WORDS and tag.startswith("NNP"):
            return True
        parts = _JOINTS.split(word.rstrip("."))
        return word not in self._stop and any(part not in self._stop and not part.isnumeric() for part in parts)


def within(texts: Sequence[str], most: int) -> Sequence[str]:
    """As many of the texts as have `most` characters in all, the last of them perhaps cut."""
    for at, before in enumerate(accumulate(map(len, texts), initial=0)):
        if before > most:
            return [*texts[: at - 1], texts[at - 1][: most - before]]
    return texts


def sample(text: str) -> str:
    """Some pieces of a text, from all over it, or all of it if it is short."""
    step = len(text) // PIECES
    if step <= PIECE:
        return text
    return " ".join([text[at : at + PIECE] for at in range(0, step * PIECES, step)])


def _plain_words(texts: Sequence[str]) -> Counter[str]:
    return Counter(
        word
        for word in words("\n".join(texts))
        if word not in STOP_WORDS and word not in FOREIGN_WORDS
        if (len(word) > 1 or word >= _IDEOGRAPHS) and not word.replace("_", "").isdigit()
    )
