from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forager.frontier import Column

STEPS = st.lists(
    st.tuples(st.just("extend"), st.integers(0, 900)) | st.tuples(st.just("resize"), st.integers(0, 5000)), max_size=8
)


@given(STEPS)
def test_a_column_is_a_list(steps: list[tuple[str, int]]) -> None:
    column, expected = Column(np.int32, fill=-1), list[int]()
    for verb, number in steps:
        if verb == "extend":
            column.extend(np.arange(number))
            expected += range(number)
        else:
            column.resize(number)
            expected = (expected + [-1] * number)[:number]
        assert len(column) == len(expected)
        assert column.view.tolist() == expected


def test_rows_may_be_wide() -> None:
    column = Column(np.float32, width=3)
    column.extend([[1, 2, 3]])
    column.resize(5000)
    assert column.view.shape == (5000, 3)
    assert column.view[0].tolist() == [1, 2, 3]
    assert not column.view[1:].any()


def test_what_is_written_into_the_view_stays() -> None:
    column = Column(np.uint8)
    column.resize(10)
    column.view[4] = 7
    column.resize(100_000)
    assert column.view[4] == 7
    assert int(column.view.sum()) == 7


def test_rows_made_ahead_hold_the_fill_and_rows_alike_are_put_after_the_last() -> None:
    column = Column(np.int32, fill=-1)
    column.cover(3)
    assert len(column) >= 3
    assert (column.view == -1).all()
    column.view[2] = 5
    column.cover(len(column) + 1)
    assert column.view[2] == 5
    last = len(column)
    column.cover(1)
    column.repeat(8, 2)
    assert column.view[last:].tolist() == [8, 8]
