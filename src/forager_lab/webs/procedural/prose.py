"""Sentences and titles. The text of a page is one lookup in one table of phrases, so it is cheap.

A sentence has four phrases: a start with the subject, a verb, an object, a tail. Subjects and objects are noun phrases
of a topic. The verbs are in the past or modal, so that they agree with any subject.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forager_lab.webs.procedural.chance import below, digest, stream
from forager_lab.webs.procedural.topics import TopicTree, topic_tree
from forager_lab.webs.procedural.vocabulary import ADJECTIVES, DEPARTMENT, GENERAL, OFFICE, OPENERS, TAILS, VERBS, split

PHRASES = 256  # noun phrases a topic
WINDOW = 72  # of them that one page uses: a page repeats itself, and 40 pages do not show every word
MEAN_SENTENCE = 82  # bytes, with what separates it from the next

_TOPICAL_TITLES = split(
    "The {a} {w}|Notes on the {w}|{w} and {v}|{A} {g} of {w}|{w} in summer|On the {w}|The {w} {g}|{v} without {w}|"
    "Before the {w}|The {g} behind the {w}|{w}|All about the {w}|The {v} and the {a} {w}|{a} {w}",
    "|",
)
_VAGUE_TITLES = split(
    "The {a} {g}|{A} {g} of the {a} {h}|{g} and {h}|From the {g}|The {g} nobody expected|One {a} {g}|Our {a} {g}|"
    "The {a} {g} and the {h}|What the {g} tells us|{g} number {n}",
    "|",
)


class Prose:
    """The phrases of a topic tree. A manner is what a sentence is about: a leaf, or one of three that are no topic."""

    def __init__(self, topics: TopicTree) -> None:
        self.topics = topics
        self.general = len(topics)
        self.department = self.general + 1
        self.office = self.general + 2
        nouns = [phrase for leaf in range(self.general) for phrase in _noun_phrases(topics, leaf)]
        for offset, words in enumerate((GENERAL, DEPARTMENT, OFFICE)):
            nouns += _plain_phrases([word.replace("_", " ") for word in words], self.general + offset)
        starts = [_start(phrase, i) for i, phrase in enumerate(nouns)]
        self._table = np.array([*starts, *nouns, *(f" {verb} " for verb in VERBS), *TAILS], dtype=object)
        self._nouns = len(starts)
        self._verbs = 2 * len(starts)
        self._tails = self._verbs + len(VERBS)

    def sentences(self, manners: NDArray[np.int64], key: int) -> NDArray[Any]:
        """A row of four phrases for each of the manners."""
        bits = stream(key, 4 * len(manners)).reshape(4, -1)
        base = manners * PHRASES
        shift = key % PHRASES
        rows = np.empty((len(manners), 4), np.int64)
        rows[:, 0] = base + (shift + below(bits[0], WINDOW)) % PHRASES
        rows[:, 1] = self._verbs + below(bits[1], len(VERBS))
        rows[:, 2] = self._nouns + base + (shift + below(bits[2], WINDOW)) % PHRASES
        rows[:, 3] = self._tails + below(bits[3], len(TAILS))
        found: NDArray[Any] = self._table[rows]
        return found

    def title(self, leaf: int, bits: int, topical: float = 0.52) -> str:
        """A title; with probability `topical` it names something of the topic."""
        bits, vague = bits >> 10, (bits & 1023) >= topical * 1024
        bits, form = divmod(bits, 97)
        bits, a = divmod(bits, len(ADJECTIVES))
        bits, g = divmod(bits, len(GENERAL))
        words: dict[str, object] = {
            "a": ADJECTIVES[a],
            "g": GENERAL[g],
            "h": GENERAL[(g * 7 + form) % len(GENERAL)],
            "n": a + 2,
        }
        words["A"] = article(GENERAL[g])
        if vague or leaf >= self.general:
            text = _VAGUE_TITLES[form % len(_VAGUE_TITLES)].format(**words)
        else:
            bits, w = divmod(bits, 1 << 12)
            words |= {"w": self.word(leaf, w), "v": self.word(leaf, bits & 4095)}
            text = _TOPICAL_TITLES[form % len(_TOPICAL_TITLES)].format(**words)
        return text[0].upper() + text[1:]

    def word(self, leaf: int, bits: int) -> str:
        """A word or phrase of the leaf, or sometimes of its parent."""
        kind, at = bits % 5, bits // 5
        own = self.topics.middle_words[leaf] if kind == 0 else self.topics.words[leaf]
        return own[at % len(own)]


def _start(phrase: str, i: int) -> str:
    if i % 2:
        return f"{OPENERS[i * 7 % len(OPENERS)]} {phrase}"
    return phrase[0].upper() + phrase[1:]


def article(word: str) -> str:
    """The article that fits the word, "a" or "an"."""
    return "an" if word[0] in "aeio" else "a"


def _form(word: str, bits: int) -> str:
    adjective, noun = ADJECTIVES[(bits >> 4) % len(ADJECTIVES)], GENERAL[(bits >> 12) % len(GENERAL)]
    forms = (f"the {word}", f"the {adjective} {word}", f"the {noun} of the {word}", f"the {word} and the {noun}")
    return (*forms, f"{article(noun)} {noun} about {word}", f"the {adjective} {word}")[bits % 6]


def _noun_phrases(topics: TopicTree, leaf: int) -> list[str]:
    """Most are of the leaf, some of its parents and of a sibling, because related topics share words."""
    phrases = []
    for i in range(PHRASES):
        bits = digest(leaf, i)
        kind, near = bits % 100, (bits >> 8) % 4
        own, sibling = topics.words[leaf], topics.words[topics.sibling(leaf, bits >> 40)]
        # going slowly through the words gives each window of phrases only a part of them
        word = own[(i * len(own) // PHRASES + near) % len(own)]
        if kind >= 88:
            word = sibling[(bits >> 16) % len(sibling)]
        elif kind >= 52:
            kin = topics.middle_words[leaf] if kind < 74 else topics.top_words[leaf]
            word = kin[(bits >> 16) % len(kin)]
        phrases.append(_form(word, bits >> 24))
    return phrases


def _plain_phrases(words: list[str], manner: int) -> list[str]:
    return [_form(words[(i * len(words) // PHRASES)], digest(manner, i)) for i in range(PHRASES)]


@lru_cache(maxsize=8)
def prose_of(branching: tuple[int, int, int]) -> Prose:
    """The phrases of a tree. They do not depend on the seed, so webs with the same tree share one table."""
    return Prose(topic_tree(branching))
