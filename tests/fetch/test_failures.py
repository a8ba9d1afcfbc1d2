"""How long to wait before asking again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forager.fetch.failures import backoff, one_line
from forager.types import Url

URL = Url("http://h.test/")


def test_waits_double_up_to_the_longest() -> None:
    for attempt, middle in ((1, 10), (2, 20), (3, 40), (5, 160), (9, 2560), (10, 3600), (10_000, 3600)):
        assert 0.75 * middle <= backoff(URL, attempt) < 1.25 * middle
    assert 0.75 <= backoff(URL, 1, first=1.0) < 1.25
    assert 3.75 <= backoff(URL, 30, longest=5.0) < 6.25


def test_waits_differ_between_urls_and_attempts_and_not_between_crawls() -> None:
    waits = [backoff(Url(f"http://h.test/{n}"), 1) for n in range(1000)]
    assert len(set(waits)) == 1000
    assert 9.8 < sum(waits) / 1000 < 10.2
    assert waits == [backoff(Url(f"http://h.test/{n}"), 1) for n in range(1000)]
    assert backoff(URL, 2) != 2 * backoff(URL, 1)


@given(st.text())
def test_a_detail_is_one_short_line_that_can_be_written_anywhere(text: str) -> None:
    line = one_line(text)
    line.encode()
    assert len(line) <= 300
    assert line.isprintable() or not any(ord(character) < 32 for character in line)
