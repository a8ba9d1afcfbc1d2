from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.learn.counts import TermCounter, TermCounts
from forager.types import Ragged

terms = st.lists(
    st.one_of(st.integers(0, 5), st.integers(2**32 - 3, 2**32 - 1), st.integers(0, 2**32 - 1)), max_size=12
)
pages = st.lists(st.tuples(terms, st.sampled_from("gfedcba")), max_size=30)

ALL = 10**9


def counted(sample: list[tuple[list[int], str]], chunk: int) -> TermCounts[str]:
    counter = TermCounter[str](chunk=chunk)
    for page, label in sample:
        counter.add(np.array(page, np.uint32), label)
    return counter.counts(ALL)


def pairs(counts: TermCounts[str]) -> dict[tuple[int, str], int]:
    classes, seen, lengths = counts.gather(np.arange(len(counts.terms)))
    rows = np.repeat(counts.terms, lengths)
    return {(int(t), counts.classes[c]): int(n) for t, c, n in zip(rows, classes, seen, strict=True)}


@given(pages, st.sampled_from([1, 5, 1000]))
@settings(max_examples=100, deadline=None)
def test_counts_of_a_stream_are_those_of_a_loop(sample: list[tuple[list[int], str]], chunk: int) -> None:
    counts = counted(sample, chunk)
    assert pairs(counts) == Counter((term, label) for page, label in sample for term in page)
    assert counts.classes == tuple(sorted({label for _, label in sample}))
    for i, name in enumerate(counts.classes):
        assert counts.pages[i] == sum(label == name for _, label in sample)
        assert counts.tokens[i] == sum(len(page) for page, label in sample if label == name)
    occurring = Counter(term for page, _ in sample for term in page)
    assert dict(zip(counts.terms.tolist(), counts.totals().tolist(), strict=True)) == occurring
    assert (np.diff(counts.terms.astype(np.int64)) > 0).all()


@given(pages)
@settings(max_examples=60, deadline=None)
def test_rows_count_as_pages(sample: list[tuple[list[int], str]]) -> None:
    counter, whole = TermCounter[str]("gz"), counted(sample, 1000)
    counter.add_rows(Ragged.of([page for page, _ in sample]), [label for _, label in sample])
    rows = counter.counts()
    assert rows.classes == tuple(sorted({*whole.classes, *"gz"}))  # named beforehand, with or without a page
    assert pairs(rows) == pairs(whole)
    assert dict(zip(rows.classes, rows.pages.tolist(), strict=True)) == {
        name: sum(label == name for _, label in sample) for name in rows.classes
    }


@given(pages, pages)
@settings(max_examples=60, deadline=None)
def test_absorbing_adds(one: list[tuple[list[int], str]], two: list[tuple[list[int], str]]) -> None:
    counter = TermCounter[str]()
    counter.absorb(counted(one, 1000))
    counter.absorb(counted(two, 1000))
    merged, whole = counter.counts(ALL), counted(one + two, 1000)
    assert merged.classes == whole.classes
    for name in ("pages", "tokens", "terms", "offsets", "entries"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(whole, name))


def test_a_count_stops_where_its_bits_end() -> None:
    counts = TermCounts(
        ("a", "b"),
        np.array([1, 1]),
        np.array([1, 1]),
        np.array([7], np.uint32),
        np.array([0, 1]),
        np.array([2**31 - 1], np.uint32),
    )
    counter = TermCounter[str]()
    counter.absorb(counts)
    counter.absorb(counts)
    assert pairs(counter.counts(ALL)) == {(7, "a"): 2**31 - 1}
