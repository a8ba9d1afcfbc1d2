"""TF-IDF worked out on paper, and the batch forms against plain loops."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.learn.tfidf import Idf, Query, Targets, TfidfRows, strongest
from forager.types import Bag, Ragged
from forager.web.text import term, terms, url_terms
from tests.visits import page_of

ROWS = st.lists(st.lists(st.integers(0, 12), max_size=12), max_size=6)


def test_a_cosine_worked_out_on_paper() -> None:
    # N = 3; "cat" in 2, "dog" in 1: idf log(4/3) and log(4/2); "emu" unseen: log 4
    idf = Idf.of([terms([text])[0] for text in ("cat cat", "cat dog", "fish")])
    cat, dog, emu = log(4 / 3), log(2), log(4)
    assert idf(np.array([term("cat"), term("dog"), term("emu")], np.uint32)) == pytest.approx([cat, dog, emu])
    targets = Targets(terms(["cat dog"]), idf)
    twice = (1 + log(2)) * cat
    expected = (twice * cat) / (sqrt(twice**2 + emu**2) * sqrt(cat**2 + dog**2))
    assert targets.cosines(terms(["cat cat emu"]))[0, 0] == pytest.approx(expected, rel=1e-5)


def plain_cosine(a: list[int], b: list[int], idf: Idf) -> float:
    def vector(bag: list[int]) -> dict[int, float]:
        return {t: (1 + log(bag.count(t))) * float(idf(np.array([t], np.uint32))[0]) for t in bag}

    va, vb = vector(a), vector(b)
    norm = sqrt(sum(w * w for w in va.values())) * sqrt(sum(w * w for w in vb.values()))
    return sum(w * vb.get(t, 0) for t, w in va.items()) / norm if norm else 0.0


@given(ROWS, ROWS, ROWS)
@settings(deadline=None)
def test_batches_equal_plain_loops(sample: list[list[int]], kept: list[list[int]], bags: list[list[int]]) -> None:
    idf = Idf.of(np.array(row, np.uint32) for row in sample)
    got = Targets(Ragged.of(kept), idf).cosines(Ragged.of(bags))
    assert got.shape == (len(bags), len(kept))
    for i, bag in enumerate(bags):
        for j, target in enumerate(kept):
            assert got[i, j] == pytest.approx(plain_cosine(bag, target, idf), abs=1e-5)


@pytest.mark.parametrize("text", ["red green red", "", "blue unseen blue", "red"])
def test_a_page_whose_words_are_counted_weighs_the_same(text: str) -> None:
    """Every page of the sample has "red", which so weighs nothing."""
    idf, page = Idf.of([terms(["red green"])[0], terms(["red blue"])[0]]), terms([text])
    one, other = TfidfRows.of(page, idf), TfidfRows.of_bag(Bag.of(page[0]), idf)
    assert one.rows.tolist() == other.rows.tolist()
    assert one.terms.tolist() == other.terms.tolist()
    assert one.count == other.count
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-6)


def test_rows_have_length_one() -> None:
    weighed = TfidfRows.of(terms(["red green red", "", "blue"]), Idf.of([]))
    assert np.bincount(weighed.rows, weighed.weights**2, 3) == pytest.approx([1, 0, 1])


def test_a_query_knows_its_words_in_texts_and_urls() -> None:
    query = Query.of(["Machine_learning", "Ants"])
    assert query.words == ("machine", "learning", "ants")
    bags = terms(["machine learning ants", "", "learning LEARNING of bees", "bees"])
    assert query.counts(bags).tolist() == [3, 0, 2, 0]
    sims = query.sims(bags)
    assert sims[0] == pytest.approx(1, rel=1e-5)
    assert sims[1] == sims[3] == 0 < sims[2] < 1
    urls = url_terms(["http://ants.test/Machine_learning/%C3%A9t%C3%A9?x=1", "http://www.test/"])
    assert query.counts(urls).tolist() == [3, 0]
    assert term("été") in urls[0].tolist()
    assert term("http") not in urls.values.tolist()
    assert Query.of([]).sims(bags).tolist() == [0, 0, 0, 0]
    assert query.counts(Ragged.of([])).tolist() == []


def test_the_strongest_words_are_those_that_set_the_examples_apart() -> None:
    texts = ["the ant of the hill 1905", "the ant and the queen 1905", "the ship", "the shop 1905", "the end"]
    pages = [page_of(f"http://a.test/{n}", f"<p>{text}</p>") for n, text in enumerate(texts)]
    idf = Idf.of(page.terms.values for page in pages)
    found = strongest(pages[:2], idf)
    assert found[0] == "ant"
    assert "1905" not in found
    assert found.index("queen") < found.index("the")
