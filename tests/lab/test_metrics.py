"""Figures worked out on paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forager.types import Url
from forager_lab import metrics
from forager_lab.protocol import CrawlRecord


def record(hits: str, trained: str = "", expected: float = 0.5) -> CrawlRecord:
    relevant = np.array([c == "1" for c in hits], bool)
    seen = np.array([c == "1" for c in trained.ljust(len(hits), "0")], bool)
    order = tuple(Url(f"http://a.test/{i}") for i in range(len(hits)))
    none = np.zeros(0)
    return CrawlRecord(
        relevant, seen, np.full(len(hits), expected, np.float32), order, len(hits), {}, 0.0, ("",) * len(hits),
        np.zeros(len(hits), np.float32), none,
    )  # fmt: skip


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
    assert [point["loss"] for point in curve] == [0.0, 0.25]
    assert [point["loss_by_critic"] for point in curve] == [0.5, 0.5]
    # means of .75 and .25 with one degree of freedom: t = 12.706, standard error .25
    assert curve[0]["loss_by_critic_ci"] == pytest.approx(12.706 * 0.25, rel=1e-4)


def test_the_area_under_the_harvest_curve_rewards_early_finds() -> None:
    early, late = record("1100").relevant, record("0011").relevant
    assert metrics.harvest_area(early, 4) == pytest.approx((1 + 1 + 2 / 3 + 1 / 2) / 4)
    assert metrics.harvest_area(late, 4) == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4)
    assert metrics.harvest_area(early, 2) == 1
    assert metrics.harvest_area(early, 5) is None


def test_loss_by_the_critic_is_the_mean_of_what_it_doubts() -> None:
    crawl = replace(record("110"), expected=np.array([1.0, 0.5, 0.0], np.float32))
    assert metrics.expected_loss(crawl, 2) == pytest.approx(0.25)
    assert metrics.expected_loss(crawl, 3) == pytest.approx(0.5)
    assert metrics.expected_loss(crawl, 4) is None


def test_precision_counts_what_is_as_similar_as_the_threshold() -> None:
    crawl = replace(record("1100", trained="1000"), similarity=np.array([1.0, 0.5, 0.625, 0.25], np.float32))
    assert metrics.precision(crawl, 0.5, 4) == 0.75
    assert metrics.precision(crawl, 0.6, 4) == 0.5
    assert metrics.precision(crawl, 0.6, 2) == 0.5
    assert metrics.precision(crawl, 0.6, 5) is None
    assert metrics.new_precision(crawl, 0.5) == pytest.approx(2 / 3)
    assert metrics.new_precision(replace(crawl, trained=np.ones(4, bool)), 0.5) is None


def test_sigma_is_the_example_the_crawl_is_most_like() -> None:
    assert metrics.sigma(replace(record("1"), toward=np.array([0.25, 0.75, 0.5]))) == 0.75
    assert metrics.sigma(record("1")) is None


def test_hosts_are_counted_where_something_relevant_was_found() -> None:
    urls = tuple(Url(f"http://{host}.test/{at}") for at, host in enumerate("aabcb"))
    crawl = replace(record("11011"), order=urls)
    assert [metrics.relevant_hosts(crawl, pages) for pages in (1, 2, 4, 5)] == [1, 1, 2, 3]


def test_overlap_of_two_crawls() -> None:
    a, b, c = (tuple(Url(f"http://a.test/{page}") for page in pages) for pages in ("1234", "3456", "34"))
    union, smaller = metrics.overlap([a, b, c])
    assert union == pytest.approx(np.array([[1, 2 / 6, 2 / 4], [2 / 6, 1, 2 / 4], [2 / 4, 2 / 4, 1]]))
    assert smaller == pytest.approx(np.array([[1, 2 / 4, 1], [2 / 4, 1, 1], [1, 1, 1]]))
    assert metrics.overlap([(), ()])[0].tolist() == [[0, 0], [0, 0]]


def test_what_pages_were_wasted_on() -> None:
    first = replace(record("1000"), labels=("Birds", "Trade", "Trade,Rocks", ""))
    second = replace(record("01"), labels=("Trade", "Birds"))
    wasted = metrics.most_wasted([first, second], metrics.labels_of, 2)
    assert wasted == [("Trade", 1.5), ("(no label)", 0.5)]  # "(" is before "R": ties go by name
    assert metrics.most_wasted([first], metrics.host_of, 5) == [("a.test", 3.0)]
