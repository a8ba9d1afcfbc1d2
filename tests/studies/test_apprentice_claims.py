"""The claims of the apprentice's paper: their verdicts follow from the figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from studies.apprentice.claims import _cut_claims as cut_claims
from studies.apprentice.claims import _recall_claims as recall_claims
from studies.apprentice.claims import _slope_claims as slope_claims
from studies.apprentice.claims import cut, less_lost, paired, topic_cuts
from studies.apprentice.courses import BEFOREHAND, PRINTED_BEST, RECALLING_PRINTED, SWITCHING_PRINTED, CrawlCourse
from studies.apprentice.crawl_sections import levels
from studies.apprentice.crawls import CrawledPages
from studies.apprentice.losses import EVERY
from studies.apprentice.offline import OFFSETS
from studies.apprentice.offline_claims import _within as within
from studies.apprentice.offline_claims import agree, over_topics, saw_tooth
from studies.apprentice.set_ups import BEST_RAW, HALVED, RECALL, SWITCHED, ApprenticePlan
from studies.apprentice.study import ApprenticeStudy

from forager.types import Url

BASE = "best-first, raw"
FREE = f"{HALVED}, {BEST_RAW}"
TOPICS = tuple("abcdef")


def crawled(marks: str) -> CrawledPages:
    good = np.array([mark == "+" for mark in marks])
    order = tuple(Url(f"http://x.test/{at}") for at in range(len(marks)))
    nothing = np.empty(0, np.float32)
    return CrawledPages(
        order, good, good.astype(np.float32), good.astype(np.float32), ~good & good, nothing, nothing, nothing > 0
    )


def study_of(*given: Mapping[str, str], runs: int = 3) -> ApprenticeStudy:
    """For each topic the crawls of every run, by name, a letter a page; the runs are alike. R is 8."""
    crawls = {
        (topic, run, name): crawled(marks)
        for topic, each in zip(TOPICS, given, strict=False)
        for name, marks in each.items()
        for run in range(runs)
    }
    plan = ApprenticePlan("w", TOPICS[: len(given)], runs=runs)
    return ApprenticeStudy(plan, "w", dict.fromkeys(plan.topics, 8), crawls, {}, [frozenset()] * runs, {}, 0)


def loss(lost: int) -> str:
    """A crawl of 8 pages that loses so many of the first four."""
    return "+" * (4 - lost) + "-" * lost + "+---"


# ---- means over topics


def test_verdicts_that_contradict_each_other_tell_nothing() -> None:
    assert [agree(each) for each in ([True, True], [True, None], [False, False], [None, False])] == [
        *(True, True, False, False)
    ]
    assert agree([True, False]) is None
    assert agree([None, None]) is None


def test_a_gain_of_about_one_percent() -> None:
    told = [over_topics([mean - 0.002, mean, mean + 0.002]) for mean in (0.01, -0.01, 0.006, 0.06)]
    assert [within(each, 0.005, 0.03) for each in told] == [True, False, True, False]
    assert within(over_topics([-0.02, 0.01, 0.05]), 0.005, 0.03) is None
    assert within(over_topics([0.01]), 0.005, 0.03) is None  # a single topic has no interval
    assert within(over_topics([None]), 0.005, 0.03) is None


def test_a_saw_tooth_sticks_out_at_even_offsets() -> None:
    even = [1.0 if d % 2 == 0 else 0.0 for d in OFFSETS]
    falling = [-abs(d) / 10 for d in OFFSETS]
    assert saw_tooth(even) == pytest.approx(1.0)
    assert saw_tooth([1 - each for each in even]) == pytest.approx(-1.0)
    assert saw_tooth(falling) == pytest.approx(0.0)


# ---- losses


def test_losses_are_paired_without_the_runs_that_chose() -> None:
    study = study_of({BASE: loss(4), FREE: loss(1)}, {BASE: loss(2), FREE: loss(2)})
    assert [topic for topic, *_ in paired(study, PRINTED_BEST, BASE, "R/2")] == ["a", "b"]
    assert [len(ours) for _, ours, _ in paired(study, replace(PRINTED_BEST, chosen_on=1), BASE, "R/2")] == [2, 2]
    assert not list(paired(study, BEFOREHAND, BASE, "R/2"))  # there is no such crawl
    assert topic_cuts(study, PRINTED_BEST, "R/2") == {"a": pytest.approx(0.75), "b": pytest.approx(0.0)}
    assert cut(study, PRINTED_BEST, "R/2", "truth") == pytest.approx(1 - 3 / 6)
    found = less_lost(study, PRINTED_BEST, BASE)
    assert found is not None
    assert found.mean == pytest.approx((0.75 + 0) / 2)


@pytest.mark.parametrize(
    ("lost", "holds"),
    [
        ((1, 1, 2, 1), [True, False, False, True]),  # cut by 75 and 50 %
        ((2, 2, 2, 2), [True, True, False, True]),
        ((0, 0, 0, 0), [True, False, True, True]),
        ((4, 4, 4, 4), [False, False, False, None]),  # neither better nor worse
    ],
)
def test_claims_on_loss_reduction(lost: tuple[int, ...], holds: list[bool | None]) -> None:
    study = study_of(*({BASE: loss(4), FREE: loss(each)} for each in lost))
    assert [claim.holds for claim in cut_claims(study, PRINTED_BEST)] == holds


def test_one_topic_that_gets_worse_for_sure_is_enough() -> None:
    study = study_of({BASE: loss(4), FREE: loss(1)}, {BASE: loss(2), FREE: loss(3)}, {BASE: loss(4), FREE: loss(1)})
    worse = cut_claims(study, PRINTED_BEST)[-1]
    assert worse.holds is False
    assert worse.found == "not better on b; told from chance: b"
    once = study_of({BASE: loss(2), FREE: loss(3)}, runs=1)
    assert cut_claims(once, PRINTED_BEST)[-1].holds is None  # a single run tells nothing for sure


def test_without_crawls_nothing_can_be_told() -> None:
    assert {claim.holds for claim in cut_claims(study_of({}), PRINTED_BEST)} == {None}
    assert {claim.holds for claim in slope_claims(study_of({}), SWITCHING_PRINTED)} == {None}


@pytest.mark.parametrize(("recall", "holds"), [(2, True), (0, False), (4, None)])
def test_the_recall_crawler_between_the_two(recall: int, holds: bool | None) -> None:
    """The baseline loses 4 of 4, the free apprentice 1. With 4 it is not better than the baseline, nor worse."""
    name = f"{RECALL}, {BEST_RAW}"
    study = study_of(*[{BASE: loss(4), FREE: loss(1), name: loss(recall)}] * 3)
    between, end = recall_claims(study, RECALLING_PRINTED, PRINTED_BEST)
    assert between.holds is holds
    assert end.holds is (recall == 4)


def test_the_slope_before_and_after_the_switch() -> None:
    """R/2 = 4. The two pages before the switch are lost; of the two after it one, and in the baseline both."""
    name = f"{SWITCHED}, {BEST_RAW}"
    study = study_of(*[{BASE: "--------", name: "----+-++"}] * 3)
    falls, less, fifth = slope_claims(study, SWITCHING_PRINTED)
    assert (falls.holds, less.holds, fifth.holds) == (True, True, False)
    assert fifth.found == "the best topic drops to .500 of it"
    at_once = study_of(*[{BASE: "--------", name: "----++++"}] * 3)
    assert slope_claims(at_once, SWITCHING_PRINTED)[2].holds is True


def test_estimates_of_waiting_links_against_the_truth() -> None:
    before, after = np.array([0.9, 0.9], np.float32), np.array([0.9, 0.1], np.float32)
    found = levels(before, after, np.array([True, False]))
    assert found == pytest.approx([0.5, 0.9, 0.5, 1.0, 0.5, (0.01 + 0.81) / 2, 0.01], abs=1e-6)
    assert levels(before[:0], after[:0], np.empty(0, bool)) == [None] * 7


def test_a_course_counts_all_pages_unless_it_says_so() -> None:
    assert CrawlCourse("x", HALVED).counting == EVERY
