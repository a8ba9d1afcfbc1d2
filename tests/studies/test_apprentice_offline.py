"""What the words around links say of their targets, and what further features add: arithmetic by hand, no leak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from studies.apprentice.crawls import CrawlInstances, gather
from studies.apprentice.offline import (
    OFFSETS,
    WindowFeatures,
    accuracy,
    gains,
    information_gain,
    kept,
    leaves_around,
    shuffled,
    window_chosen,
)
from studies.apprentice.offline_features import contexts, feature_figures, names_among_best, unknown_targets

from forager.registry import Spec
from forager.strategies.apprentice.features import LinkContext
from forager.types import Ragged, Url, Visit
from forager_lab.experiment import laboratory
from forager_lab.protocol import open_crawl, strategy_for, topic_trial
from tests.visits import page_of, visit_of

WEB = "procedural:hosts=6:pages_per_host=25:links=20:length=2000:redirects=0.3"  # a third of the links are redirects

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def instances() -> CrawlInstances:
    """Of a best-first crawl of a small web with many redirects."""
    lab = laboratory(WEB)
    trial = topic_trial(lab, "Business", Spec("naive-bayes"), run=0, seed=0, pages=60)
    order = [visit.page.url for visit in open_crawl(lab, trial, strategy_for(lab, trial, Spec("best-first")))]
    return gather(lab, trial, order)


# ---- arithmetic -----------------------------------------------------------------------------------------------------


def test_information_gain_by_hand() -> None:
    """4 high, 4 low. A feature in all high ones and no others tells all: 1 bit. One in 2 and 2 tells nothing. One in 2
    high ones only: H = 1, with it 0, without it (2 high, 4 low) H(1/3) = .9183 in 6 of 8: gain 1 - .6887."""
    found = information_gain(np.array([4.0, 2.0, 2.0]), np.array([0.0, 2.0, 0.0]), 4, 4)
    assert found == pytest.approx([1.0, 0.0, 1 - 0.75 * 0.9182958], abs=1e-6)


def test_gain_at_an_offset_counts_a_word_once_an_instance_and_needs_five() -> None:
    """Word 1 at offset 0 of the five high ones, twice in the first; word 2 at offset 1 of four: too few to count."""
    words = Ragged.of([[1, 1, 2], [1, 2], [1, 2], [1, 2], [1], [3], [3], [3], [3], [3]])
    offsets = np.array([0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0], np.int32)
    high = np.arange(10) < 5
    found = gains(WindowFeatures(offsets, {"words": words}), high)
    at = OFFSETS.index(0)
    assert found["features"][at] == 2  # words 1 and 3
    assert found["sum"][at] == pytest.approx(2.0)
    assert found["mean"][at] == pytest.approx(1.0)
    assert found["features"][at + 1] == found["sum"][at + 1] == found["mean"][at + 1] == 0


def test_accuracy_by_hand() -> None:
    """Feature 1 was seen in high ones, 2 in low ones. Of the tested, a high one has 2 and is told wrong."""
    learnt = [([1], 1.0)] * 6 + [([2], 0.0)] * 6
    tested = [([1], 0.9), ([2], 0.8), ([2], 0.1), ([2], 0.2), ([1], 0.0)]
    clues = Ragged.of([row for row, _ in learnt + tested])
    relevance = np.array([score for _, score in learnt + tested], np.float32)
    found = accuracy(clues, relevance, np.arange(len(relevance)) < 12)
    assert found is not None
    assert (found.negative, found.positive, found.all) == pytest.approx((2 / 3, 1 / 2, 3 / 5))


def test_accuracy_needs_both_kinds() -> None:
    clues, learnt = Ragged.of([[1]] * 20), np.arange(20) < 10
    assert accuracy(clues, np.zeros(20, np.float32), learnt) is None
    assert accuracy(clues, np.array([0, 1] * 5 + [0] * 10, np.float32), learnt) is None


def test_rows_lose_the_values_that_are_not_wanted() -> None:
    rows = kept(Ragged.of([[1, 2], [], [3], [4, 5, 6]]), np.array([1, 0, 0, 1, 0, 1], bool))
    assert [rows[at].tolist() for at in range(4)] == [[1], [], [], [4, 6]]


def test_buckets_dealt_anew_belong_to_targets() -> None:
    targets = np.repeat(np.arange(50), 4)
    high = targets < 20
    anew = shuffled(high, targets, seed=1)
    assert anew.sum() == high.sum()
    assert (anew != high).any()
    assert all(len(set(anew[targets == each].tolist())) == 1 for each in range(50))


def test_words_and_elements_around_a_link() -> None:
    """Leaves: "one two", img, "a", the link "go", "after that", br."""
    page = page_of("http://x.test/", "<p>one two<img src=i><b>a</b><a href=/v>go</a>after that<br></p>")
    visit = visit_of(page)
    alone = CrawlInstances([visit], np.array([0]), np.array([0]), np.array([0]))
    found = leaves_around(alone)
    at = {d: OFFSETS.index(d) for d in OFFSETS}
    assert [found["mass"][at[d]] for d in (-3, -2, -1, 0, 1, 2)] == pytest.approx([2 / 6, 0, 1 / 6, 1 / 6, 2 / 6, 0])
    assert [found["wordless"][at[d]] for d in (-3, -2, -1, 1, 2)] == [0, 1, 0, 0, 1]
    assert found["tags"]["b"][at[-1]] == found["tags"]["img"][at[-2]] == 1
    assert found["tags"]["p"][at[0]] == 0


# ---- windows --------------------------------------------------------------------------------------------------------


def window_instances(tells: int) -> tuple[WindowFeatures, CrawlInstances]:
    """Eighty instances with a target each. A word at one offset tells where they lead; one at every other is noise."""
    draw = np.random.default_rng(0)
    high = np.arange(80) % 2
    rows = [[10 * d + (good if d == tells else int(draw.integers(2))) for d in range(4)] for good in high.tolist()]
    clues = Ragged.of(rows)
    offsets = np.tile(np.arange(4, dtype=np.int32), 80)
    visits = [_judged(float(good)) for good in high.tolist()]
    at = np.arange(80)
    return WindowFeatures(offsets, {"offset": clues, "words": clues}), CrawlInstances(visits, at, at * 0, at)


def _judged(relevance: float) -> Visit:
    return visit_of(page_of("http://x.test/", "<p>x</p>"), relevance)


@pytest.mark.parametrize("tells", [0, 2])
def test_the_window_is_chosen_among_what_is_learnt_from(tells: int) -> None:
    found = window_chosen(*window_instances(tells), seed=0)
    assert found is not None
    assert found["d_max"] == tells
    assert found["accuracy"][2] > 0.9


# ---- further features -----------------------------------------------------------------------------------------------


def test_class_names_among_the_best_features_are_counted() -> None:
    """Ten instances, half of them high. Class 90 tells all, class 91 nothing; word 1 is on every page."""
    words = Ragged.of([[1]] * 10)
    named = Ragged.of([[1, 90, 91] if row < 5 else [1, 91] for row in range(10)])
    assert names_among_best(words, named, np.arange(10) < 5) == 2  # all three features are among the best hundred
    many = Ragged.of([[*range(1, 201)] if row < 5 else [*range(201, 301)] for row in range(10)])
    told = Ragged.of([[*many[row].tolist(), 990 if row % 2 else 991] for row in range(10)])
    assert names_among_best(many, told, np.arange(10) < 5) == 0  # a hundred words tell all, a class of chance nothing


def test_targets_that_are_known_or_were_learnt_from_are_left_out(instances: CrawlInstances) -> None:
    sampled = {instances.visits[at].page.url for at in instances.targets[::7].tolist()}
    found = unknown_targets(instances, sampled)
    assert 0 < len(found) < len(instances)
    assert (found.targets > found.sources).all()
    assert not {instances.visits[at].page.url for at in found.targets.tolist()} & sampled


def test_every_kind_of_feature_is_measured(instances: CrawlInstances) -> None:
    classes = ("Business", "other")
    found = feature_figures(instances, classes, (), most=500, seeds=1, seed=0)
    assert found["accuracy"].keys() == contexts(classes).keys()
    assert found["classes"] == 2
    assert all(len(each) == 3 for each in found["accuracy"].values() if each)


def test_no_feature_knows_the_judgement_of_its_own_target(instances: CrawlInstances) -> None:
    """By brute force: another judgement of the target, wherever the page links to it, leaves all features as they are.
    There are links to the same URL, and links to URLs that redirect to the same page."""
    lab = laboratory(WEB)
    around = LinkContext("offset", 5, 100, ("Business", "other"), topics=1, cocitation=True, vector=True)
    twins = {"same URL": 0, "redirect": 0}
    for at, visit in enumerate(instances.visits):
        ends = [lab.web.final(url) for url in visit.links.targets]
        plain = around(visit)
        for link in instances.links[instances.sources == at].tolist():
            alike = np.array([end == ends[link] for end in ends])
            other = around(with_judgement(visit, alike))
            assert plain[link].tolist() == other[link].tolist()
            if not np.isnan(visit.known.relevance[link]):
                same = [visit.links.targets[row] == visit.links.targets[link] for row in np.flatnonzero(alike)]
                twins["same URL"] += sum(same) > 1
                twins["redirect"] += not all(same)
    assert min(twins.values()) > 10, twins


def with_judgement(visit: Visit, of: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Visit:
    """The same visit, where these targets were judged the other way round."""
    relevance = np.where(of, 1 - visit.known.relevance, visit.known.relevance).astype(np.float32)
    return replace(visit, known=replace(visit.known, relevance=relevance))


def test_judged_neighbours_do_change_features(instances: CrawlInstances) -> None:
    """The brute force above would be blind if co-citation saw nothing."""
    around = LinkContext("offset", 5, 100, cocitation=True)
    changed: Sequence[bool] = [
        around(visit).values.tolist() != around(with_judgement(visit, np.ones(len(visit.links), bool))).values.tolist()
        for visit in instances.visits
    ]
    assert sum(changed) > len(changed) / 2


def test_what_is_known_of_a_target_is_counted_as_in_a_crawl(instances: CrawlInstances) -> None:
    """By brute force: pages seen before that link to it, and the relevant ones of them."""
    lab = laboratory(WEB)
    seen: list[tuple[set[Url], bool]] = []
    fetched = {visit.page.url for visit in instances.visits}
    for visit in instances.visits[:25]:
        for row, url in enumerate(visit.links.targets):
            end = lab.web.final(url)
            wanted = [good for linked, good in seen if end in linked] if end in fetched else []
            assert (visit.known.inlinks[row], visit.known.relevant_inlinks[row]) == (len(wanted), sum(wanted))
        linked = {lab.web.final(url) for url in visit.links.targets}
        seen.append((linked, visit.judgement.relevance >= 0.5))
