from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.learn.lexical.incidence import Incidence, similarities
from forager.learn.lexical.profiles import MOST_WORDS, Profiles, first_words, last_words
from forager.types import Ragged
from forager.web.text import term as hash_of
from forager.web.text import terms
from tests.learn.lexical.naive import ls, profile, said, spoken

CORE, DNA, DATABASE = "microarray core facility", "DNA microarray facility", "microarray database"


def test_profiles_of_the_published_examples() -> None:
    assert Profiles.of([CORE, DNA, DATABASE, "machine learning"]).sizes.tolist() == [6, 6, 3, 3]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (CORE, DNA, 1 / 2 + 2 / 12),  # .67: the head, and two words of six n-grams each
        (CORE, DATABASE, 1 / 9),  # .11
        (DNA, "machine learning", 0.0),
        (DATABASE, DATABASE, 1.0),
        (DATABASE, "database", 1 / 2 + 1 / 4),
        (DATABASE, "database microarray", 2 / 6),  # both words, but not the pair and not the head
        (DNA, "microarray facility", 1 / 2 + 3 / 9),
    ],
)
def test_lexical_similarity(one: str, other: str, expected: float) -> None:
    assert similarities([one], [other])[0, 0] == pytest.approx(expected, abs=1e-12)
    assert similarities([other], [one])[0, 0] == pytest.approx(expected, abs=1e-12)


def test_the_published_table_of_similarities() -> None:
    table = similarities([CORE, DNA], [DNA, DATABASE, "machine learning"]).round(2)
    assert table[0, 0] == 0.67
    assert table[0, 1] == 0.11
    assert table[1, 2] == 0.0


@settings(deadline=None)
@given(st.lists(said, max_size=8), st.lists(said, max_size=8))
def test_similarities_are_those_of_a_double_loop(texts: list[str], among: list[str]) -> None:
    expected = [[float(ls(one.split(), other.split())) for other in among] for one in texts]
    got = similarities(texts, among)
    assert got.shape == (len(texts), len(among))
    assert got == pytest.approx(np.array(expected).reshape(got.shape), abs=1e-12)


@settings(deadline=None)
@given(st.lists(st.lists(spoken, max_size=14).map(" ".join), max_size=8))
def test_a_profile_is_a_set(texts: list[str]) -> None:
    """n-grams that occur again count once."""
    assert Profiles.of(texts).sizes.tolist() == [len(profile(text.split())) for text in texts]


def test_repeated_words_by_hand() -> None:
    # new york new york: new, york, new york, york new, new york new, york new york, and all four
    assert Profiles.of(["new york new york", "a a a a", "", "?!"]).sizes.tolist() == [7, 4, 0, 0]


def test_case_hyphens_and_punctuation_do_not_matter() -> None:
    assert similarities(["Full-Text Search!"], ["full text search"])[0, 0] == 1.0


def test_hashed_words_are_as_good_as_text() -> None:
    texts = [CORE, "", "the DNA"]
    assert (similarities(terms(texts), [CORE, DNA]) == similarities(texts, [CORE, DNA])).all()


def test_nothing_to_compare() -> None:
    assert similarities([], []).shape == (0, 0)
    assert similarities(["dna"], []).shape == (1, 0)
    assert similarities([""], [""]).tolist() == [[0.0]]


def test_of_a_long_text_the_first_words_count() -> None:
    long = [f"w{i}" for i in range(MOST_WORDS + 40)]
    got = similarities([" ".join(long)], [long[MOST_WORDS - 1], long[MOST_WORDS]])[0]
    assert got.tolist() == [0.5 + 1 / (MOST_WORDS * (MOST_WORDS + 1) // 2 + 1), 0.0]


@pytest.mark.parametrize("words", [0, 1, 2, 5])
def test_first_and_last_words(words: int) -> None:
    rows = [[], [1, 2, 3], [4], [5, 6]]
    assert [row.tolist() for row in _rows(first_words(Ragged.of(rows), words))] == [row[:words] for row in rows]
    lasts = [row[len(row) - min(words, len(row)) :] for row in rows]
    assert [row.tolist() for row in _rows(last_words(Ragged.of(rows), words))] == lasts


@settings(deadline=None)
@given(st.lists(st.lists(spoken, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=6), said, said)
def test_promising_n_grams_hold_the_best_of_every_term(among: list[str], one: str, other: str) -> None:
    model, windows = Incidence.of(among), terms([one, other])
    runs = model.promising(windows)
    flat = [*one.split(), *other.split()]
    pairs = zip(runs.starts.tolist(), runs.lengths.tolist(), strict=True)
    chosen = [flat[start : start + length] for start, length in pairs]
    every = [*profile(one.split()), *profile(other.split())]
    assert {tuple(run) for run in chosen} <= set(every), "none lies across the two sides"
    for term in among:
        best = max((ls(run, term.split()) for run in every), default=0)
        assert max((ls(run, term.split()) for run in chosen), default=0) == best


def test_few_n_grams_are_promising() -> None:
    """Those that begin and end with words of one and the same term."""
    model = Incidence.of(["gene therapy", "food market"])
    runs = model.promising(terms(["about gene of the market therapy"]))
    found = zip(runs.starts.tolist(), runs.lengths.tolist(), strict=True)
    assert sorted(found) == [(1, 1), (1, 5), (4, 1), (5, 1)]
    runs = model.promising(terms(["gene of gene therapy for gene therapy gene"]))
    chosen = sorted(zip(runs.starts.tolist(), runs.lengths.tolist(), strict=True))
    assert (0, 3) not in chosen, "gene … gene, without gene therapy at its beginning"
    assert (2, 4) in chosen


def test_heads_are_the_last_words() -> None:
    assert Profiles.of(["", CORE, "dna"]).heads.tolist()[1:] == [hash_of("facility"), hash_of("dna")]


def _rows(ragged: Ragged) -> list[np.ndarray[tuple[int], np.dtype[np.uint32]]]:
    return [ragged[i] for i in range(len(ragged))]
