"""Figures worked out on paper."""

from __future__ import annotations

import numpy as np
import pytest

from forager.lab import metrics
from forager.lab.protocol import Record
from forager.types import Url


def record(hits: str, trained: str = "", expected: float = 0.5) -> Record:
    relevant = np.array([c == "1" for c in hits], bool)
    seen = np.array([c == "1" for c in trained.ljust(len(hits), "0")], bool)
    order = tuple(Url(f"http://a.test/{i}") for i in range(len(hits)))
    return Record(relevant, seen, np.full(len(hits), expected, np.float32), order, len(hits), {}, 0.0)


def test_harvest_is_none_where_the_crawl_did_not_get_so_far() -> None:
    hits = record("1101").relevant
    assert metrics.harvest(hits, 2) == 1.0
    assert metrics.harvest(hits, 4) == 0.75
    assert metrics.harvest(hits, 5) is None
    assert metrics.harvest(hits, 0) is None


def test_new_harvest_leaves_training_pages_out_of_both_counts() -> None:
    assert metrics.new_harvest(record("1101", trained="1000"), 4) == pytest.approx(2 / 3)
    assert metrics.new_harvest(record("11", trained="11"), 2) is None


def test_pages_to_a_share_of_the_targets() -> None:
    hits = record("0100110000").relevant  # found on pages 2, 5 and 6 of 4 reachable targets
    assert metrics.pages_to(hits, 0.25, 4) == 2
    assert metrics.pages_to(hits, 0.5, 4) == 5
    assert metrics.pages_to(hits, 0.7, 4) == 6  # 2.8 of 4: three are needed
    assert metrics.pages_to(hits, 0.9, 4) is None
    assert metrics.recall(hits, 5, 4) == 0.5


def test_mean_and_interval() -> None:
    assert metrics.mean([0.2, 0.4]) == pytest.approx(0.3)
    assert metrics.mean([0.2, None]) is None
    # t(2 degrees, .975) = 4.303; standard deviation of 1, 2, 3 is 1
    assert metrics.half_width([1.0, 2.0, 3.0]) == pytest.approx(4.3027 / np.sqrt(3), rel=1e-4)
    assert metrics.half_width([1.0]) is None


def test_loss_reduction_and_gap_closed() -> None:
    assert metrics.loss_reduction(0.8, 0.6) == pytest.approx(0.5)
    assert metrics.loss_reduction(0.4, 0.6) == pytest.approx(-0.5)
    assert metrics.loss_reduction(0.4, 1.0) is None
    assert metrics.gap_closed(0.7, 0.6, 1.0) == pytest.approx(0.25)
    assert metrics.gap_closed(0.7, 0.96, 1.0) is None


def test_paired_comparison_sees_what_separate_intervals_do_not() -> None:
    ours, theirs = [0.30, 0.50, 0.70], [0.25, 0.44, 0.65]
    comparison = metrics.paired(ours, theirs)
    assert comparison["difference"] == pytest.approx(0.16 / 3)
    assert comparison["ci"] is not None
    assert comparison["ci"] < 0.16 / 3  # excludes zero
    separate = metrics.half_width(ours)
    assert separate is not None
    assert separate > 0.16 / 3
    assert metrics.paired(ours, []) == {"difference": None, "ci": None}


def test_the_curve_sums_the_critics_loss() -> None:
    curve = metrics.curve([record("10", expected=0.75), record("11", expected=0.25)])
    assert [point["harvest"] for point in curve] == [1.0, 0.75]
    assert [point["expected_loss"] for point in curve] == [0.5, 1.0]
