"""Lexical similarity of many texts with the terms of a model.

    LS(s,t) = |P(h_s) ∩ P(h_t)| / (|P(h_s)| + |P(h_t)|)  +  |P(s) ∩ P(t)| / (|P(s)| + |P(t)|)
            = [h_s = h_t] / 2  +  |P(s) ∩ P(t)| / (|P(s)| + |P(t)|)

P(t) is the set of n-grams of t, and h_t its head (`forager.learn.lexical.profiles`).

Let N(g,t) = 1 where term t has the n-gram g, and M(s,g) = 1 where text s has it. Then |P(s) ∩ P(t)| = (M N)(s,t), a
product of two sparse matrices. M needs columns only for the n-grams of the model, because others add nothing. Two texts
with the same head share the head itself. So LS is 0 wherever M N is 0, and only the entries of that product are
computed.

A context is compared by its best n-gram. If a term does not have the first word of an n-gram, take that word away: what
the two share stays the same, |P| shrinks, and no matching head is lost. The same holds for the last word. So the best
n-gram for a term begins and ends with words of that term, and only few n-grams do. If the first word occurs again at
the end, taking it away loses only n-grams of two words and more that begin with it. So if no term has the first two
words, the rest is as good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import csr_matrix

from forager.learn.chains.rows import Reals, Sparse
from forager.learn.lexical.profiles import Places, Profiles, Texts, rows_of, spans
from forager.learn.tfidf import find
from forager.types import Mask, Ragged, Terms


@dataclass(frozen=True, slots=True, eq=False)
class SimilarPairs:
    """Pairs of a text and a term with LS > 0."""

    texts: Places  # (e,) ascending
    terms: Places  # (e,)
    values: Reals  # (e,) LS


@dataclass(frozen=True, slots=True, eq=False)
class WindowNgrams:
    """n-grams of some windows of text, and where they occur."""

    starts: Places  # (r,) among the words of all windows
    lengths: Places  # (r,) in words
    ends: Places  # (r,) the first and the last word, as a row of `Incidence.both`
    windows: Places  # (o,) the window of each occurrence
    which: Places  # (o,) the n-gram of each occurrence


@dataclass(frozen=True, slots=True, eq=False)
class NgramTree:
    """All n-grams of some terms, as nodes of a tree.

    The first v nodes are the v words; node v + i is the n-gram `steps[i] // v` followed by the word `steps[i] % v`.
    """

    words: Terms  # ascending
    steps: Places  # ascending

    @classmethod
    def of(cls, terms: Ragged) -> Self:
        distinct, at = np.unique(terms.values, return_inverse=True)
        steps, count = [np.zeros(0, np.int64)], len(distinct)
        ends = terms.offsets[1:][rows_of(terms)]
        starts, nodes, length = np.arange(len(at)), at, 1
        while len(starts):
            longer = starts + length < ends[starts]
            starts = starts[longer]
            made, nodes = np.unique(nodes[longer] * len(distinct) + at[starts + length], return_inverse=True)
            steps.append(made)
            nodes, count, length = nodes + count, count + len(made), length + 1
        return cls(distinct, np.concatenate(steps))

    def __len__(self) -> int:
        return len(self.words) + len(self.steps)

    def pair(self, first: Places, second: Places) -> Places:
        """A number for each pair of words, given by their numbers. If the pair is a node, `steps` has this number."""
        return first * len(self.words) + second

    def nodes(self, texts: Ragged) -> Ragged:
        """The nodes that each text has, ascending."""
        rows, found = rows_of(texts), [np.zeros(0, np.int64)]
        found += [rows[starts] * len(self) + nodes for starts, nodes in self._walk(texts)]
        keys = np.unique(np.concatenate(found))
        offsets = np.searchsorted(keys, np.arange(len(texts) + 1) * len(self))
        return Ragged((keys % max(len(self), 1)).astype(np.uint32), offsets)

    def _walk(self, texts: Ragged) -> Iterator[tuple[Places, Places]]:
        """Where n-grams of the tree start, and which nodes they are: single words first, then pairs, …"""
        at, known = find(texts.values, self.words)
        ends = texts.offsets[1:][rows_of(texts)]
        starts, length = np.flatnonzero(known), 0
        nodes = at[starts]
        while len(starts):
            yield starts, nodes
            length += 1
            longer = starts + length < ends[starts]
            starts, nodes = starts[longer], nodes[longer]
            step, there = find(self.pair(nodes, at[starts + length]), self.steps)
            there &= known[starts + length]
            starts, nodes = starts[there], len(self.words) + step[there]


@dataclass(frozen=True, slots=True, eq=False)
class Incidence:
    """The terms of a model, ready to be compared with texts."""

    terms: Profiles
    grams: NgramTree
    having: Sparse  # N: (nodes, terms)
    cells: Places  # ascending: node * terms + term wherever N is 1
    ends: Places  # ascending: the pairs of words that one term has, also a word with itself
    both: Ragged  # for each such pair, the terms that have it

    @classmethod
    def of(cls, texts: Texts) -> Self:
        terms = Profiles.of(texts)
        grams = NgramTree.of(terms.words)
        nodes = grams.nodes(terms.words)
        cells = np.sort(nodes.values.astype(np.int64) * len(terms) + rows_of(nodes))
        return cls(terms, grams, _matrix(nodes, len(grams)).T.tocsr(), cells, *_ends(grams, nodes))

    def similar(self, given: Profiles) -> SimilarPairs:
        """All pairs of a given text and a term with LS > 0."""
        shared = _matrix(self.grams.nodes(given.words), len(self.grams)) @ self.having
        texts = np.repeat(np.arange(len(given)), np.diff(shared.indptr))
        return self._similar(given, texts, shared.indices, shared.data)

    def similar_runs(self, windows: Ragged, runs: WindowNgrams) -> SimilarPairs:
        """Pairs of an n-gram and a term that has its first and its last word."""
        given = Profiles.of(spans(windows, runs.starts, runs.lengths))
        found = self.both.take(runs.ends)
        texts, terms = rows_of(found), found.values.astype(np.int64)
        nodes = self.grams.nodes(given.words).take(texts)
        pairs = rows_of(nodes)
        _, there = find(nodes.values * np.int64(len(self.terms)) + terms[pairs], self.cells)
        return self._similar(given, texts, terms, np.bincount(pairs[there], minlength=len(texts)))

    def _similar(self, given: Profiles, texts: Places, terms: Places, shared: Places | Reals) -> SimilarPairs:
        values = shared / (given.sizes[texts] + self.terms.sizes[terms])
        values += 0.5 * (given.heads[texts] == self.terms.heads[terms])
        return SimilarPairs(texts, terms, values)

    def promising(self, windows: Ragged) -> WindowNgrams:
        """n-grams of the windows. For each term one with the largest LS is among them. A single word is there once."""
        at, known = find(windows.values, self.grams.words)
        places = np.flatnonzero(known)
        words, first, which = np.unique(at[places], return_index=True, return_inverse=True)
        starts, lengths, ends = self._longer(windows, at, known)
        rows = rows_of(windows)
        return WindowNgrams(
            np.concatenate((places[first], starts)),
            np.concatenate((np.ones(len(words), np.int64), lengths)),
            np.concatenate((find(self.grams.pair(words, words), self.ends)[0], ends)),
            rows[np.concatenate((places, starts))],
            np.concatenate((which, len(words) + np.arange(len(starts)))),
        )

    def _longer(self, windows: Ragged, at: Places, known: Mask) -> tuple[Places, Places, Places]:
        """Start, length and ends of the promising n-grams of two and more words."""
        until = windows.offsets[1:][rows_of(windows)]
        opens = np.zeros(len(at), bool)  # the first two words are an n-gram of the model
        opens[:-1] = known[1:] & find(self.grams.pair(at[:-1], at[1:]), self.grams.steps)[1]
        starts, found = np.flatnonzero(known), [np.zeros((3, 0), np.int64)]
        for further in range(1, int(windows.lengths.max(initial=0))):
            starts = starts[starts + further < until[starts]]
            first, last = at[starts], at[starts + further]
            ends, together = find(self.grams.pair(first, last), self.ends)
            kept = together & known[starts + further] & (opens[starts] | (first != last))
            found.append(np.stack((starts[kept], np.full(np.count_nonzero(kept), further + 1), ends[kept])))
        starts, lengths, ends = np.concatenate(found, axis=1)
        return starts, lengths, ends


def similarities(given: Texts, terms: Texts) -> Reals:
    """LS of each given text with each term, (given, terms)."""
    model, profiles = Incidence.of(terms), Profiles.of(given)
    pairs = model.similar(profiles)
    table = np.zeros((len(profiles), len(model.terms)))
    table[pairs.texts, pairs.terms] = pairs.values
    return table


def _matrix(nodes: Ragged, columns: int) -> Sparse:
    """(rows, columns): 1 where a row has the node."""
    return csr_matrix((np.ones(len(nodes.values)), nodes.values, nodes.offsets), (len(nodes), columns))


def _ends(grams: NgramTree, nodes: Ragged) -> tuple[Places, Ragged]:
    """The pairs of words that some term has, ascending, and for each pair the terms that have it."""
    is_word = nodes.values < len(grams.words)
    terms = rows_of(nodes)[is_word]
    offsets = np.searchsorted(terms, np.arange(len(nodes) + 1))
    words = Ragged(nodes.values[is_word], offsets)
    others = words.take(terms)  # for each word of a term all words of that term
    pairs = grams.pair(np.repeat(words.values, others.lengths).astype(np.int64), others.values.astype(np.int64))
    order = np.argsort(pairs, kind="stable")
    distinct, first = np.unique(pairs[order], return_index=True)
    having = np.repeat(terms, others.lengths)[order].astype(np.uint32)
    return distinct, Ragged(having, np.append(first, len(order)))
