from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from forager.critics.corpus import CorpusMaker
from forager.critics.rocchio import Rocchio
from forager.critics.svm import LinearSvm
from forager.errors import ForagerError

from .examples import fitted, relevances, several, topical
from .pages import of_terms


def test_judging_is_what_scikit_learn_decides() -> None:
    pages, labels = topical(80)
    critic = LinearSvm(focus=["a"], penalty=2, seed=7)
    critic.fit(pages, labels)
    corpus = CorpusMaker(("a",), 10_000, 7).gathered(pages, labels)
    columns = corpus.frequent_columns(50_000)
    machine = LinearSVC(C=2, class_weight="balanced", random_state=7, tol=1e-9, max_iter=100_000)
    machine.fit(columns.rows([held.bag for held in corpus.held]), [held.label == "a" for held in corpus.held])
    others = topical(50, seed=1)[0]
    decided = machine.decision_function(columns.rows([page.bag for page in others]))
    raw = np.array([one.raw for one in critic.judge(others)])
    np.testing.assert_allclose(np.log(raw / (1 - raw)), decided, atol=1e-4)


def test_easy_classes_are_told_apart() -> None:
    critic = LinearSvm(focus=["a"])
    critic.fit(*several(120))
    pages, labels = several(80, seed=1)
    judged = critic.judge(pages)
    assert [critic.classes[int(one.topics.argmax())] for one in judged] == labels
    wanted = np.array([name.startswith("a.") for name in labels])
    assert relevances(judged)[wanted].min() > 0.8
    assert relevances(judged)[~wanted].max() < 0.2


def test_only_terms_of_two_pages_and_the_most_frequent_have_a_weight() -> None:
    sample = [([1, 2, 3], "a"), ([1, 2, 4], "a"), ([1, 5, 6], "b"), ([1, 5, 7], "b"), ([1, 5], "b")]
    all_of, few = LinearSvm(focus=["a"]), LinearSvm(focus=["a"], terms=2)
    for critic in (all_of, few):
        fitted(critic, sample)
    assert all_of.parts()["columns"].tolist() == [1, 2, 5]
    assert few.parts()["columns"].tolist() == [1, 5]


def test_pages_without_a_word_in_common_and_without_words() -> None:
    critic = LinearSvm(focus=["a"])
    fitted(critic, [([1], "a"), ([2], "b")])
    assert critic.parts()["columns"].tolist() == [1, 2]
    with pytest.raises(ForagerError, match="have no words: give pages with text"):
        fitted(critic, [([], "a"), ([], "b")])


def test_a_page_of_unknown_words_is_judged_by_the_bias() -> None:
    critic = LinearSvm(focus=["a"])
    critic.fit(*topical(60))
    empty, unknown = critic.judge([of_terms([]), of_terms([4_000_000_000])])
    assert empty.relevance == unknown.relevance
    assert 0 < empty.relevance < 1


def test_a_fitting_that_is_stopped_early_does_not_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forager.critics.svm.ROUNDS", 1)
    critic = LinearSvm(focus=["a"], penalty=100)
    critic.fit(*topical(80))
    assert critic.quality is not None


@pytest.mark.parametrize("wrong", [{"penalty": 0}, {"terms": 0}])
def test_wrong_settings(wrong: dict[str, int]) -> None:
    with pytest.raises(ForagerError, match="give more than 0 of both"):
        LinearSvm(focus=["a"], **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("maker", [LinearSvm, Rocchio])
def test_a_word_is_worth_what_a_page_of_it_adds_to_the_odds(maker: type[LinearSvm | Rocchio]) -> None:
    critic = maker(focus=["a"])
    critic.fit(*topical(80))
    some = np.array([7919 * 3, 7919 * 20, 7919 * 60, 4_000_000_000], np.uint32)
    *pages, empty = critic.judge([of_terms([word]) for word in some.tolist()] + [of_terms([])])
    log_odds = [np.log(one.relevance / (1 - one.relevance)) for one in (*pages, empty)]
    assert critic.word_log_odds(some) == pytest.approx(np.array(log_odds[:-1]) - log_odds[-1], abs=1e-4)
    assert critic.word_log_odds(some)[-1] == 0
