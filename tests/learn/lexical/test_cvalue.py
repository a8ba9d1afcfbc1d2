"""C-values worked out by hand, and against a double loop over all candidates."""

from __future__ import annotations

from math import log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.learn.lexical.cvalue import Mode, Rarity, TermList, c_values, candidates_of, rank
from forager.learn.lexical.phrases import Candidates
from tests.visits import page_of

# A page that says "recurrent neural network" twice, "deep neural network", "neural network" and "network" once each:
#
#   a                          f   longer ones that have it, with their f          f - mean
#   recurrent neural network   2                                                   2
#   deep neural network        1                                                   1
#   neural network             4   the two above: 2, 1                             4 - 3/2 = 5/2
#   network                    5   the three above: 2, 1, 4                        5 - 7/3 = 8/3
#
# all:    log2(4) 2 = 4,         log2(4) 1 = 2,         log2(3) 5/2 = 3.962,  log2(2) 8/3 = 2.667
# thesis: log2(3) 2 = 3.170,     log2(3) 1 = 1.585,     log2(2) 5/2 = 2.5,    0
COUNTS = {"recurrent neural network": 2, "deep neural network": 1, "neural network": 4, "network": 5}
ALL = {"recurrent neural network": 4.0, "neural network": 3.962406, "network": 2.666667, "deep neural network": 2.0}
THESIS = {"recurrent neural network": 3.169925, "neural network": 2.5, "deep neural network": 1.584963}


def weights(found: TermList) -> dict[str, float]:
    return dict(zip(found.terms, found.weights.tolist(), strict=True))


@pytest.mark.parametrize(("mode", "expected"), [(Mode.ALL, ALL), (Mode.THESIS, THESIS)])
def test_the_example_worked_out_above(mode: Mode, expected: dict[str, float]) -> None:
    found = rank(Candidates(COUNTS), mode)
    assert list(found.terms) == list(expected)  # ranked
    assert weights(found) == pytest.approx(expected, abs=1e-5)


def test_the_same_from_a_page() -> None:
    said = ["recurrent neural network"] * 2 + ["a deep neural network", "the neural network", "network"]
    page = page_of("http://a.test/", "".join(f"<p>{text}</p>" for text in said))
    assert weights(rank(candidates_of(page))) == pytest.approx(ALL, abs=1e-5)


def test_a_part_that_never_stands_elsewhere_is_no_term() -> None:
    page = page_of("http://a.test/", "<p>The support vector machine.</p><p>A support vector machine.</p>")
    assert weights(rank(candidates_of(page))) == {"support vector machine": 4.0}


def test_a_phrase_that_says_itself_twice_contains_its_parts_once() -> None:
    # "york york" has "york" in it; f = 1 and 2, so C = log2(2) (2 - 1/1).
    assert c_values({"york york": 1, "york": 2})["york"] == 1.0


def test_the_longest_term_may_be_bounded() -> None:
    page = page_of("http://a.test/", "<p>The support vector machine</p>")
    assert set(candidates_of(page, longest=2).counts) == {
        *("support vector", "vector machine"),
        *("support", "vector", "machine"),
    }


def by_force(counts: dict[str, int], mode: Mode) -> dict[str, float]:
    found = {}
    for a, frequency in counts.items():
        longer = [f for b, f in counts.items() if a != b and f" {a} " in f" {b} "]
        length = len(a.split())
        mean = sum(longer) / len(longer) if longer else 0
        found[a] = log2(length + 1 if mode is Mode.ALL else length) * (frequency - mean)
    return found


phrases = st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map(" ".join)


@settings(deadline=None)
@given(counts=st.dictionaries(phrases, st.integers(1, 9), max_size=25), mode=st.sampled_from(Mode))
def test_c_values_are_those_of_a_double_loop(counts: dict[str, int], mode: Mode) -> None:
    assert c_values(counts, mode) == pytest.approx(by_force(counts, mode), abs=1e-9)


@settings(deadline=None)
@given(counts=st.dictionaries(phrases, st.integers(1, 9), max_size=25), mode=st.sampled_from(Mode))
def test_terms_are_ranked_ties_by_name_and_weigh_something(counts: dict[str, int], mode: Mode) -> None:
    found = rank(Candidates(counts), mode)
    order = list(zip((-found.weights).tolist(), found.terms, strict=True))
    assert order == sorted(order)
    assert found.weights.dtype == np.float32
    assert set(found.terms) == {term for term, value in by_force(counts, mode).items() if value > 1e-9}


# ---- several documents ----------------------------------------------------------------------------------------------


def test_a_union_takes_the_largest_weight() -> None:
    first = TermList.of({"a": 3.0, "b": 1.0})
    second = TermList.of({"b": 2.0, "c": 2.0, "d": 0.0}, spoken=False)
    union = TermList.union([first, second])
    assert union.terms == ("a", "b", "c")
    assert union.weights.tolist() == [3.0, 2.0, 2.0]
    assert union.spoken
    assert not TermList.union([second]).spoken
    assert len(TermList.union([])) == 0


def test_the_top_of_a_list() -> None:
    top = TermList.of({"a": 3.0, "b": 1.0, "c": 2.0}).top(2)
    assert top.terms == ("a", "c")
    assert top.weights.tolist() == [3.0, 2.0]


# ---- rarity ---------------------------------------------------------------------------------------------------------


def test_what_is_in_every_document_weighs_nothing_and_what_is_in_none_all() -> None:
    sample = [Candidates({"page": 9}), Candidates({"page": 1, "network": 3}), Candidates({"page": 1})]
    rarity = Rarity.of(sample)
    assert rarity("page") == pytest.approx(0)
    assert rarity("network") == pytest.approx(log(4 / 2) / log(4))  # N = 3, df = 1: one half
    assert rarity("quark") == 1
    found = rank(Candidates({"page": 7, "network": 6, "quark": 2}), rarity=rarity)
    assert weights(found) == pytest.approx({"network": 3.0, "quark": 2.0})


def test_without_a_sample_all_terms_are_as_rare() -> None:
    assert Rarity.of([])("anything") == 1


# ---- a language that the tagger does not know -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_plain_words_are_ranked_by_frequency_in_every_mode(mode: Mode) -> None:
    found = rank(Candidates({"fluss": 3, "stadt": 5, "handel": 3}, spoken=False), mode)
    assert found.terms == ("stadt", "fluss", "handel")
    assert found.weights.tolist() == [5, 3, 3]
    assert not found.spoken


def test_a_page_in_german() -> None:
    page = page_of("http://a.test/", "<html lang=de><p>Die Stadt am Fluss. Der Fluss und der Handel</p>")
    found = rank(candidates_of(page))
    assert not found.spoken
    assert found.terms == ("fluss", "handel", "stadt")
