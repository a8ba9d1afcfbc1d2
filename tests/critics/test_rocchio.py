from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from forager.critics.rocchio import Rocchio, _Rule
from forager.errors import ForagerError

from .examples import Sample, fitted
from .pages import of_terms, page

SAMPLE: Sample = [([1, 1, 2], "a"), ([1, 3], "a"), ([2, 4], "b"), ([4], "b")]
TWICE, ONCE = log(5 / 3), log(5 / 2)  # idf of a term on 2 pages of 4, on 1


def test_worked_example() -> None:
    critic = Rocchio(focus=["a"], beta=1, gamma=0.5, calibrate=False)
    fitted(critic, SAMPLE)
    tf = 1 + log(2)
    one, two = tf / sqrt(tf**2 + 1), 1 / sqrt(tf**2 + 1)  # .861 .509, terms 1 and 2 of the first page
    three, four = (
        TWICE / sqrt(TWICE**2 + ONCE**2),
        ONCE / sqrt(TWICE**2 + ONCE**2),
    )  # .487 .873, terms 1 and 3 of the second
    q1, q2, q3 = (one + three) / 2, two / 2 - 0.5 * sqrt(0.5) / 2, four / 2  # .674 .077 .437; term 4 would be below 0
    length = sqrt(q1**2 + q2**2 + q3**2)  # .807
    judged = critic.judge([of_terms(terms) for terms in ([1], [2], [3], [4], [])])
    assert [each.raw for each in judged] == pytest.approx([q1 / length, q2 / length, q3 / length, 0, 0], abs=1e-6)
    assert judged[0].relevance == judged[0].raw == pytest.approx(0.835, abs=1e-3)
    assert judged[0].topics.sum() == pytest.approx(1)


def test_the_words_of_a_query_join_the_centroid() -> None:
    texts = ["sea bird", "land bird", "sea shell", "old car", "new car"]
    plain, asked = Rocchio(focus=["a"], calibrate=False), Rocchio(focus=["a"], words=["land"], calibrate=False)
    for critic in (plain, asked):
        critic.fit(map(page, texts), ["a", "a", "b", "b", "b"])
    (before,), (after,) = (critic.judge([page("land")]) for critic in (plain, asked))
    assert after.raw > before.raw + 0.1
    (other,) = asked.judge([page("car")])
    assert other.raw == 0


def test_a_query_of_words_never_seen_changes_nothing() -> None:
    plain, asked = Rocchio(focus=["a"]), Rocchio(focus=["a"], words=["zeppelin"])
    for critic in (plain, asked):
        fitted(critic, SAMPLE)
    assert plain.version == asked.version


@pytest.mark.parametrize(("wanted", "others"), [(7, 9), (2, 5), (1, 4)])
def test_cosines_left_out_are_those_of_a_loop(wanted: int, others: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((wanted + others, 12)) * (rng.random((wanted + others, 12)) < 0.4) + 1e-3
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    truth, query = np.arange(wanted + others) < wanted, rng.random(12) / 20
    rule = _Rule(0.5, 1.0, 0.8)
    _, found = rule.learn(csr_matrix(rows), csr_matrix(rows), query, truth)
    for i in range(wanted + others):
        keep = np.arange(len(rows)) != i
        yes, no = rows[truth & keep], rows[~truth & keep]
        mean = yes.mean(axis=0) if len(yes) else 0
        centroid = np.maximum(0, 0.5 * query + mean - 0.8 * no.mean(axis=0))
        length = np.linalg.norm(centroid)
        expected = rows[i] @ centroid / length if length else np.nan
        assert found[i] == pytest.approx(expected, nan_ok=True)


def test_feedback_moves_the_centroid() -> None:
    critic = Rocchio(focus=["a"], calibrate=False)
    fitted(critic, [([1, 2], "a"), ([1, 3], "a"), ([4, 5], "b"), ([4, 6], "b")])
    asked = of_terms([7, 8])
    assert critic.judge([asked])[0].raw == 0
    critic.feedback([of_terms([1, 7])], [True])
    once = critic.judge([asked])[0].raw
    critic.feedback([of_terms([7, 9])], [False])
    assert once > critic.judge([asked])[0].raw
    assert once > 0.1


@pytest.mark.parametrize("wrong", [{"alpha": -1}, {"gamma": -0.1}, {"beta": 0}])
def test_wrong_settings(wrong: dict[str, float]) -> None:
    with pytest.raises(ForagerError, match="give none below 0, and beta above it"):
        Rocchio(focus=["a"], **wrong)  # type: ignore[arg-type]
