from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.critics.naive_bayes import NaiveBayes
from forager.errors import ForagerError
from forager.learn import naive_bayes
from forager.learn.calibration import SHORT
from forager.types import Bag, Page, Parts

from .pages import drawn, of_terms, page

Sample = list[tuple[list[int], str]]  # the terms of pages, and their labels

samples = st.lists(
    st.tuples(st.lists(st.integers(0, 12), max_size=15), st.sampled_from(["a", "a.x", "b", "c.d"])),
    min_size=2,
    max_size=25,
).filter(lambda sample: {"a", "b"} <= {label for _, label in sample})


def fitted(sample: Sample, **settings: object) -> NaiveBayes:
    critic = NaiveBayes(focus=["a"], **settings)  # type: ignore[arg-type]
    critic.fit((of_terms(terms) for terms, _ in sample), (label for _, label in sample))
    return critic


def scores_by_definition(sample: Sample, terms: Sequence[int]) -> dict[str, float]:
    """log Pr(c) + sum over the page's known terms of log theta[c,t], a loop at a time."""
    vocabulary = {term for page, _ in sample for term in page}
    scores = {}
    for c in sorted({label for _, label in sample}):
        counts = Counter(term for page, label in sample if label == c for term in page)
        scores[c] = log(sum(label == c for _, label in sample) / len(sample))
        for term in terms:
            if term in vocabulary:
                scores[c] += log((1 + counts[term]) / (len(vocabulary) + counts.total()))
    return scores


def softmax(scores: dict[str, float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    odds = np.exp(np.array(list(scores.values())) - max(scores.values()))
    return odds / odds.sum()  # type: ignore[no-any-return]


def test_worked_example() -> None:
    """China (Manning, Raghavan & Schütze, example 13.1): 3 pages of 8 words with c, 1 of 3 words without; 6 terms."""
    critic = NaiveBayes(focus=["china"], calibrate=False)
    texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
    critic.fit(map(page, texts), ["china", "china", "china", "other"])
    (judged,) = critic.judge([page("Chinese Chinese Chinese Tokyo Japan")])
    china = 3 / 4 * ((5 + 1) / (8 + 6)) ** 3 * ((0 + 1) / (8 + 6)) ** 2  # 0.000301
    other = 1 / 4 * ((1 + 1) / (3 + 6)) ** 3 * ((1 + 1) / (3 + 6)) ** 2  # 0.000135
    assert judged.raw == pytest.approx(china / (china + other), rel=1e-6)
    assert judged.raw == judged.relevance == pytest.approx(0.6898, abs=1e-4)
    assert critic.classes == ("china", "other")
    np.testing.assert_allclose(judged.topics, [0.6898, 0.3102], atol=1e-4)


def test_terms_never_seen_are_ignored() -> None:
    critic = fitted([([1, 2], "a"), ([2, 3], "b")])
    known, more = critic.judge([of_terms([1, 2]), of_terms([1, 2, 99, 99, 0xFFFFFFFF])])
    assert known.relevance == more.relevance


@given(samples, st.lists(st.integers(0, 15), max_size=20), st.sampled_from([0, 8, 1 << 20]))
@settings(max_examples=150, deadline=None)
def test_probabilities_are_those_of_the_definition(sample: Sample, terms: list[int], dense: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive_bayes, "DENSE", dense)
        critic = fitted(sample, calibrate=False)
    (judged,) = critic.judge([of_terms(terms)])
    expected = scores_by_definition(sample, terms)
    assert critic.classes == tuple(expected)
    np.testing.assert_allclose(judged.topics, softmax(expected), rtol=2e-4, atol=1e-6)
    assert judged.raw == pytest.approx(
        sum(p for c, p in zip(expected, softmax(expected), strict=True) if c[0] == "a"), rel=1e-4
    )


@given(samples, st.data())
@settings(max_examples=100, deadline=None)
def test_leaving_a_page_out_is_training_without_it(sample: Sample, data: st.DataObject) -> None:
    left_out = data.draw(st.integers(0, len(sample) - 1))
    terms, label = sample[left_out]
    rest = sample[:left_out] + sample[left_out + 1 :]
    critic = fitted(sample, calibrate=False)
    model = critic._trained.model  # type: ignore[union-attr]
    bag = Bag.of(np.array(terms, np.uint32))
    scores, length = model.scores_without(bag, critic.classes.index(label))
    vocabulary = {term for page, _ in rest for term in page}
    assert length == sum(term in vocabulary for term in terms)
    for name, expected in scores_by_definition(rest, terms).items():
        assert scores[critic.classes.index(name)] == pytest.approx(expected, abs=1e-5)


@given(samples, samples)
@settings(max_examples=50, deadline=None)
def test_merge_of_halves_is_the_whole(one: Sample, two: Sample) -> None:
    whole, halves = fitted(one + two), [fitted(half).parts() for half in (one, two)]
    merged = whole.from_parts(whole.merge(halves))
    same(merged.parts(), whole.parts())
    assert merged.version == whole.version


def same(one: Parts, two: Parts) -> None:
    assert one.keys() == two.keys()
    for name, part in one.items():
        if isinstance(part, np.ndarray):
            np.testing.assert_array_equal(part, two[name], name)
        else:
            assert part == two[name], name


def topical(n: int, seed: int = 0, words: int = 120) -> tuple[list[Page], list[str]]:
    rng = np.random.default_rng(seed)
    topics = rng.random(n) < 0.3
    lengths = rng.lognormal(np.log(words), 0.8, n).astype(int) + 1
    return [drawn(rng, int(t), length) for t, length in zip(topics, lengths, strict=True)], [
        "ab"[1 - t] for t in topics * 1
    ]


def log_loss(relevances: Sequence[float], labels: Sequence[str]) -> float:
    told = [r if label == "a" else 1 - r for r, label in zip(relevances, labels, strict=True)]
    return -float(np.mean(np.log(np.maximum(told, 1e-15))))


def test_calibration_improves_the_log_loss_of_new_pages() -> None:
    critic = NaiveBayes(focus=["a"])
    critic.fit(*topical(400))
    pages, labels = topical(1500, seed=1)
    judged = critic.judge(pages)
    raw, calibrated = (log_loss([getattr(j, name) for j in judged], labels) for name in ("raw", "relevance"))
    assert calibrated < raw / 2
    assert critic.calibration.startswith("fitted to")
    quality = critic.quality
    assert quality is not None
    assert quality.positives + quality.negatives == 400
    assert quality.log_loss == pytest.approx(calibrated, abs=0.1)
    assert quality.log_loss < quality.raw_log_loss


def test_relevance_does_not_saturate_and_ties_are_rare() -> None:
    critic = NaiveBayes(focus=["a"])
    critic.fit(*topical(300, words=1000))
    relevance = np.array([j.relevance for j in critic.judge(topical(500, seed=2, words=1000)[0])], np.float32)
    assert np.mean((relevance == 0) | (relevance == 1)) < 0.01
    assert len(np.unique(relevance)) > 0.98 * len(relevance)


def test_topics_sum_to_the_relevance_over_the_focus() -> None:
    rng = np.random.default_rng(0)
    labels = [["a", "a.x", "ab", "c"][i % 4] for i in range(80)]
    critic = NaiveBayes(focus=["a"])
    critic.fit([drawn(rng, label[0] == "a", 50) for label in labels], labels)
    for judged in critic.judge([drawn(rng, i % 2, 80) for i in range(20)]):
        assert judged.topics[:2].sum() == pytest.approx(judged.relevance, rel=1e-5)  # "ab" is not below "a"
        assert judged.topics.sum() == pytest.approx(1, rel=1e-5)


def test_at_equal_length_the_order_is_that_of_the_odds() -> None:
    critic = NaiveBayes(focus=["a"])
    critic.fit(*topical(200))
    rng = np.random.default_rng(5)
    known = np.unique(critic.parts()["terms"])
    judged = critic.judge([of_terms(rng.choice(known, 10)) for _ in range(200)])
    assert np.array_equal(np.argsort([j.raw for j in judged]), np.argsort([j.relevance for j in judged]))


def test_too_few_pages_held_out_fall_back_to_the_default() -> None:
    critic = fitted([([1, 1, 2], "a"), ([1, 2, 2], "b")] * 3)
    assert critic.calibration == "default: 3 wanted pages and 3 others teach too little"
    assert critic.quality is None
    (judged,) = critic.judge([of_terms([1] * 10)])
    z = log(judged.raw / (1 - judged.raw))
    bias = critic.parts()["calibration"]["bias"]
    assert judged.relevance == pytest.approx(1 / (1 + exp(-8 * z / (10 + SHORT) - bias)), rel=1e-4)


def test_with_five_wanted_pages_and_many_others_even_odds_lie_between_the_two_sides() -> None:
    rng = np.random.default_rng(3)
    pages = [drawn(rng, i < 5, 200) for i in range(205)]
    critic = NaiveBayes(focus=["a"])
    critic.fit(pages, ["a" if i < 5 else "b" for i in range(205)])
    assert critic.quality is None
    wanted, others = (
        [judged.relevance for judged in critic.judge([drawn(rng, side, 200) for _ in range(20)])]
        for side in (True, False)
    )
    assert np.median(wanted) > 0.5 > np.median(others)


def test_the_sample_held_out_is_bounded_and_balanced() -> None:
    critic = NaiveBayes(focus=["a"], held_out=40)
    critic.fit(*topical(300))
    assert Counter(critic.parts()["held_labels"]) == {"a": 20, "b": 20}
    assert critic.quality is not None


def test_the_rarest_terms_go_where_pairs_are_too_many() -> None:
    sample = [([1, 1, 1, 2, 3], "a"), ([1, 1, 2, 2, 4], "b")]
    parts = fitted(sample, max_pairs=5).parts()
    assert parts["terms"].tolist() == [1, 2]  # 3 and 4 occur once each
    assert parts["tokens"].tolist() == [4, 4]


def test_another_focus_needs_no_training() -> None:
    pages, labels = topical(200)
    one, two = NaiveBayes(focus=["a"]), NaiveBayes(focus=["b"])
    one.fit(pages, labels)
    two.fit(pages, labels)
    turned = two.from_parts(one.parts())
    assert turned.version == two.version
    assert asdict(turned.quality) == asdict(two.quality)  # type: ignore[arg-type]
    assert one.judge(pages[:1])[0].raw == pytest.approx(1 - turned.judge(pages[:1])[0].raw)


def test_the_version_names_the_content() -> None:
    assert fitted([([1], "a"), ([2], "b")]).version == fitted([([2], "b"), ([1], "a")]).version
    assert fitted([([1], "a"), ([2], "b")]).version != fitted([([1], "a"), ([3], "b")]).version


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "no pages to train on"),
        (["a", "a.x"], "give pages that are not wanted"),
        (["c", "d"], "no class at or below a focus named 'a'; nearest: c, d"),
    ],
)
def test_what_cannot_be_learnt_from(labels: list[str], message: str) -> None:
    with pytest.raises(ForagerError, match=message):
        NaiveBayes(focus=["a"]).fit([of_terms([1])] * len(labels), labels)


def test_a_focus_is_needed() -> None:
    with pytest.raises(ForagerError, match="without a focus"):
        NaiveBayes(focus=[])


def test_a_failed_fit_leaves_the_old_model() -> None:
    critic = fitted([([1], "a"), ([2], "b")])
    version = critic.version
    with pytest.raises(ForagerError):
        critic.fit([], [])
    assert critic.version == version


@given(samples, st.lists(st.integers(0, 15), max_size=10))
@settings(max_examples=100, deadline=None)
def test_words_are_worth_what_the_definition_says(sample: Sample, terms: list[int]) -> None:
    wanted = Counter(term for page, label in sample if label in ("a", "a.x") for term in page)
    others = Counter(term for page, label in sample if label not in ("a", "a.x") for term in page)
    n = wanted.total() + others.total()
    said = fitted(sample).word_log_odds(np.array(terms, np.uint32))
    for term, odds in zip(terms, said.tolist(), strict=True):
        if not (wanted + others)[term] or not wanted.total() or not others.total():
            assert odds == 0
            continue
        more = (wanted.total() / n + wanted[term]) / (others.total() / n + others[term])
        assert odds == pytest.approx(log(more * others.total() / wanted.total()), abs=1e-5)
