from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from forager.critics.cosine import Cosine
from forager.learn.tfidf import Idf, Targets
from forager.types import Ragged

from .examples import Sample, fitted, topical
from .pages import of_terms

SAMPLE: Sample = [([1, 1, 2], "a"), ([1, 3], "a"), ([2, 4], "b"), ([4], "b")]
TWICE, ONCE, UNSEEN = log(5 / 3), log(5 / 2), log(5)  # idf of a term on 2 pages of 4, on 1, on none


def test_worked_example() -> None:
    critic = Cosine(focus=["a"], calibrate=False)
    fitted(critic, SAMPLE)
    tf = 1 + log(2)
    first = tf / sqrt(tf**2 + 1)  # .861; both terms of the first target have the same idf
    second = ONCE / sqrt(TWICE**2 + ONCE**2)  # .874
    judged = critic.judge([of_terms(page) for page in ([1], [3], [4], [1, 99], [1, 3], [])])
    expected = [first, second, 0, first * TWICE / sqrt(TWICE**2 + UNSEEN**2), 1, 0]
    assert [one.relevance for one in judged] == pytest.approx(expected, abs=1e-6)
    assert expected[:2] == pytest.approx([0.861, 0.874], abs=1e-3)
    assert judged[0].topics.tolist() == pytest.approx([first, 1 - first])


def test_it_is_the_cosine_of_similarity() -> None:
    pages, labels = topical(60)
    critic = Cosine(focus=["a"])
    critic.fit(pages, labels)
    idf = Idf.of(page.terms.values for page in pages)
    wanted = [page.terms.values for page, label in zip(pages, labels, strict=True) if label == "a"]
    others = topical(40, seed=1)[0]
    expected = Targets(Ragged.of(wanted), idf).cosines(Ragged.of([page.terms.values for page in others])).max(axis=1)
    np.testing.assert_allclose([one.raw for one in critic.judge(others)], expected, rtol=1e-5)


def test_a_target_is_not_compared_with_itself_when_it_is_calibrated() -> None:
    pages, labels = topical(60)
    critic = Cosine(focus=["a"])
    critic.fit(pages, labels)
    quality, again = critic.quality, critic.judge(pages)
    assert quality is not None
    assert all(one.raw == pytest.approx(1, abs=1e-5) for one, label in zip(again, labels, strict=True) if label == "a")
    assert quality.roc_auc < 0.99


def test_classes_in_focus_share_by_their_best_cosine_and_the_others_by_their_pages() -> None:
    critic = Cosine(focus=["a"], calibrate=False)
    fitted(critic, [([1, 2], "a.x"), ([3, 4], "a.y"), ([5], "b"), ([6], "b"), ([7], "c")])
    (judged,) = critic.judge([of_terms([1, 3, 8])])
    x, y, b, c = judged.topics.tolist()
    assert x == pytest.approx(y) == pytest.approx(judged.relevance / 2)
    assert b == pytest.approx(2 * c) == pytest.approx((1 - judged.relevance) * 2 / 3)


def test_targets_are_a_sample_chosen_by_the_seed() -> None:
    pages, labels = topical(200)
    kept = []
    for seed in (1, 1, 2):
        critic = Cosine(focus=["a"], most=20, seed=seed)
        critic.fit(pages, labels)
        kept.append((critic.version, critic.parts()["held_labels"].count("a")))
    assert kept[0] == kept[1]
    assert kept[0][0] != kept[2][0]
    assert kept[0][1] == kept[2][1] == 10
