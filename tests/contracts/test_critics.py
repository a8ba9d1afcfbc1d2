"""One suite over every critic: those built in, a function, and combinations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from forager.critics import CRITICS, make_critic
from forager.critics.predicate import Function, Predicate
from forager.errors import ForagerError
from forager.store import models
from forager.types import Critic, Fetch, Judgement, Page, Persists, Url, WeighsWords
from forager.web.page import parse
from forager.web.text import terms

GIVEN = {"focus": ["science"], "seed": 3}
PARAMS: dict[str, dict[str, object]] = {
    "predicate": {"keywords": ["cell", "atom"], "graded": True},
    "lexical": {"above": "all"},
}

WORDS = {
    "science.biology": "the cell and the gene of a bird or a plant in nature",
    "science.physics": "the atom and the force of a wave or a particle in nature",
    "music": "the song and the opera of a singer or a band in concert",
    "sport": "the match and the goal of a player or a team in league",
}


def nested() -> Critic:
    learnt = make_critic("naive-bayes", GIVEN, {})
    return ~(Predicate(keywords=["opera"]) | Function(lambda page: len(page.leaves) > 40, name="long")) & learnt


MAKERS: dict[str, Callable[[], Critic]] = {
    **{name: lambda name=name: make_critic(name, GIVEN, PARAMS.get(name, {})) for name in CRITICS},  # type: ignore[misc]
    "function": lambda: Function(lambda page: min(1, len(page.leaves) / 10), name="length"),
    "combination": nested,
}


def page_of(label: str, rng: np.random.Generator, n: int) -> Page:
    words = WORDS[label].split()
    text = "".join(f"<p>{' '.join(rng.choice(words, 8))}</p>" for _ in range(n))
    parsed = parse(Fetch(Url(f"http://a.test/{label}/{n}"), f"<title>{label}</title>{text}".encode()))
    assert isinstance(parsed, Page)
    return parsed


def sample(n: int, seed: int) -> tuple[list[Page], list[str]]:
    rng = np.random.default_rng(seed)
    labels = [list(WORDS)[i % len(WORDS)] for i in range(n)]
    return [page_of(label, rng, int(rng.integers(1, 9))) for label in labels], labels


def empty() -> Page:
    parsed = parse(Fetch(Url("http://a.test/empty"), b""))
    assert isinstance(parsed, Page)
    return parsed


@pytest.fixture(params=MAKERS)
def critic(request: pytest.FixtureRequest) -> Critic:
    return MAKERS[request.param]()


@pytest.fixture
def fitted(critic: Critic) -> Critic:
    critic.fit(*sample(80, seed=0))
    return critic


def alike(one: list[Judgement], two: list[Judgement]) -> None:
    for a, b in zip(one, two, strict=True):
        assert (a.relevance, a.raw, a.version) == (b.relevance, b.raw, b.version)
        np.testing.assert_array_equal(a.topics, b.topics)


def test_judgements_are_probabilities(fitted: Critic) -> None:
    judged = fitted.judge([*sample(20, seed=1)[0], empty()])
    for each in judged:
        assert 0 <= each.relevance <= 1
        assert 0 <= each.raw <= 1
        assert each.topics.shape == (len(fitted.classes),)
        assert each.topics.dtype == np.float32
        assert (each.topics >= 0).all()
        assert each.topics.sum() == pytest.approx(1, abs=1e-5)
        assert each.version == fitted.version != ""


def test_judging_is_pure(fitted: Critic) -> None:
    pages = sample(10, seed=2)[0]
    before = [page.terms.values.copy() for page in pages]
    alike(fitted.judge(pages), fitted.judge(pages))
    for page, values in zip(pages, before, strict=True):
        np.testing.assert_array_equal(page.terms.values, values)


def test_a_batch_is_its_pages_one_by_one(fitted: Critic) -> None:
    pages = [*sample(10, seed=3)[0], empty()]
    alike(fitted.judge(pages), [judged for page in pages for judged in fitted.judge([page])])
    assert fitted.judge([]) == []


def test_the_same_training_makes_the_same_critic(critic: Critic) -> None:
    critic.fit(*sample(80, seed=0))
    once, pages = critic.version, sample(10, seed=4)[0]
    judged = critic.judge(pages)
    training = sample(80, seed=0)
    critic.fit(iter(training[0]), iter(training[1]))  # a stream will do, and what was learnt before is forgotten
    assert critic.version == once
    alike(critic.judge(pages), judged)


def test_before_training_a_critic_judges_or_says_what_to_do(critic: Critic) -> None:
    try:
        judged = critic.judge([empty()])
    except ForagerError as error:
        assert "fit" in str(error)  # noqa: PT017
    else:
        assert 0 <= judged[0].relevance <= 1
    assert critic.version


@pytest.mark.parametrize("name", CRITICS)
def test_topic_pages_come_first(name: str) -> None:
    critic = make_critic(name, GIVEN, PARAMS.get(name, {}))
    critic.fit(*sample(80, seed=0))
    pages, labels = sample(40, seed=5)
    relevance = np.array([judged.relevance for judged in critic.judge(pages)])
    science = np.array([label.startswith("science") for label in labels])
    assert relevance[science].mean() > relevance[~science].mean() + 0.3


@pytest.mark.parametrize("name", CRITICS)
def test_parts_survive_the_disk(name: str, tmp_path: Path) -> None:
    critic = make_critic(name, GIVEN, PARAMS.get(name, {}))
    if not isinstance(critic, Persists):
        pytest.skip(f"{name} learns nothing that could be saved")
    critic.fit(*sample(80, seed=0))
    models.save(tmp_path / "model.npz", critic.parts(), kind=name, version=1)
    blank = make_critic(name, GIVEN, PARAMS.get(name, {}))
    assert isinstance(blank, Persists)
    again = blank.from_parts(models.load(tmp_path / "model.npz", kind=name, version=1))
    pages = sample(10, seed=6)[0]
    alike(again.judge(pages), critic.judge(pages))
    assert again.classes == critic.classes


# ---- single words

WEIGHING = ["naive-bayes", "svm", "rocchio", "predicate", "combination"]


def test_these_critics_say_what_words_are_worth() -> None:
    assert [name for name, make in MAKERS.items() if isinstance(make(), WeighsWords)] == WEIGHING


@pytest.mark.parametrize("name", WEIGHING)
def test_a_word_of_the_topic_is_worth_more_than_another(name: str) -> None:
    critic = MAKERS[name]()
    assert isinstance(critic, WeighsWords)
    said = terms(["cell opera zeppelin"])[0]
    before = critic.word_log_odds(said)  # whether or not it has learnt
    assert before.shape == (3,)
    assert before[2] == 0
    critic.fit(*sample(80, seed=0))
    odds = critic.word_log_odds(said)
    assert odds.dtype == np.float32
    assert np.isfinite(odds).all()
    assert odds[0] > max(0, odds[1])
    assert odds[2] == 0
    assert np.array_equal(critic.word_log_odds(said[[2, 0, 0]]), odds[[2, 0, 0]])
    assert critic.word_log_odds(said[:0]).shape == (0,)
