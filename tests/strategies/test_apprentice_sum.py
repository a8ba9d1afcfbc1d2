"""The apprentice whose score is a sum: compared with a loop over words and counts, kept, and explained."""

from __future__ import annotations

from collections import Counter
from math import log
from typing import Any

import numpy as np
import pytest

from forager.critics.predicate import Function, Predicate
from forager.strategies.apprentice import Apprentice
from forager.strategies.apprentice import strategy as apprentice
from forager.types import Critic, Evidence, Floats, Graph, Policy, Ragged, Terms, Visit, WaitingBatch
from forager.web.text import term, words
from tests.visits import page_of, visit_of

GRAPH = Graph(*(np.zeros(1, kind) for kind in (np.int64, np.int32, np.float32, np.float32, np.int32)))  # type: ignore[arg-type]
ODDS = {"wing": 2.0, "owl": 1.0, "slate": -1.5, "birds": 4.0, "http": -9.0}  # birds is on the page, but on no link
MARKUP = (
    "<p>birds and eggs</p><p><a href='wing_and/owl%20x'>the wing</a></p>"
    "<p>rocks and sand</p><p><a href='http://b.test/slate'>grey</a></p><p><a href='n'>neutral</a></p>"
)


class Weighing(Function):
    """A critic that knows the words of ODDS."""

    def __init__(self) -> None:
        super().__init__(lambda page: 0.5)

    def word_log_odds(self, terms: Terms) -> Floats:
        known = {term(word): odds for word, odds in ODDS.items()}
        return np.array([known.get(each, 0.0) for each in terms.tolist()], np.float32)


def visit(relevance: float = 0.8) -> Visit:
    return visit_of(page_of("http://a.test/", MARKUP), relevance)


def learner(critic: Critic | None = None, **options: Any) -> Apprentice:
    return Apprentice(**{"critic": critic or Weighing(), "form": "sum", "size": 1 << 12, "d_max": 1, **options})


def lesson(strategy: Apprentice, times: int) -> Evidence:
    clues = strategy.score(visit()).clues
    assert clues is not None
    relevance = np.tile(np.array([1, 0, 0], np.float32), times)
    return Evidence(Ragged.concat([clues] * times), relevance, relevance)


def trained(times: int = 10, critic: Critic | None = None, **options: Any) -> Apprentice:
    strategy = learner(critic, batch=1, **options)
    strategy.observe(visit(), lesson(strategy, times))
    return strategy


def words_of_links() -> list[list[str]]:
    """The words of the anchor and the URL of each link of MARKUP; a URL on the same host is its path alone."""
    return [words(text) for text in ("the wing wing and owl x", "grey http b test slate", "neutral n")]


def mean_odds(found: list[str]) -> float:
    known = [ODDS[word] for word in found if word in ODDS]
    return sum(known) / len(known) if known else 0.0


def features_of_links() -> list[list[tuple[str, int]]]:
    """Words with their offsets, d_max = 1."""
    texts = [
        ("birds and eggs", "the wing", "rocks and sand"),
        ("rocks and sand", "grey", "neutral"),
        ("grey", "neutral", ""),
    ]
    return [[(word, at - 1) for at, leaf in enumerate(leaves) for word in leaf.split()] for leaves in texts]


def learnt_by_definition(times: int) -> list[float]:
    """Naive Bayes with Laplace's law over the buckets: the first link is high, the others are low."""
    rows = features_of_links()
    high, low = Counter(rows[0] * times), Counter((rows[1] + rows[2]) * times)
    seen = len(high | low)
    bias = log((1 + times) / (1 + 2 * times))
    return [
        bias
        + sum(log((1 + high[f]) / (seen + high.total())) - log((1 + low[f]) / (seen + low.total())) for f in features)
        for features in rows
    ]


def swept(strategy: Apprentice, before: Apprentice) -> Floats:
    scored = before.score(visit())
    ids = np.arange(len(scored.scores), dtype=np.int32)
    assert scored.clues is not None
    assert scored.state is not None
    batch = WaitingBatch(ids, ids, ids, scored.scores, scored.state, scored.clues, Ragged.of([[]] * len(ids)))
    (scores,) = strategy.rescore([batch], GRAPH)
    return scores


# ---- the formula


def test_before_learning_it_is_the_page_and_the_words_of_the_link() -> None:
    expected = [log(4) + mean_odds(found) for found in words_of_links()]
    assert expected == pytest.approx([log(4) + 5 / 3, log(4) - 5.25, log(4)])
    assert learner().score(visit()).scores == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("times", [5, 40, 2000])
def test_after_learning_it_is_the_sum_by_definition(times: int) -> None:
    n, learnt = 3 * times, learnt_by_definition(times)
    expected = [
        log(4) + mean_odds(found) + n / (n + 2000) * z for found, z in zip(words_of_links(), learnt, strict=True)
    ]
    assert trained(times).score(visit()).scores == pytest.approx(expected, rel=1e-4)


def test_what_was_learnt_counts_half_after_2000_instances_and_ever_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same lesson with other weights: n/(n + HALF) is all that HALF changes."""
    given = learner().score(visit()).scores
    weighed = trained(40).score(visit()).scores - given
    monkeypatch.setattr(apprentice, "HALF", 0)
    full = trained(40).score(visit()).scores - given
    assert weighed == pytest.approx(full * 120 / 2120, rel=1e-3)


@pytest.mark.parametrize("kind", ["logistic", "linear"])
def test_the_other_learners_are_weighed_too(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = learner(learner=kind).score(visit()).scores
    weighed = trained(40, learner=kind).score(visit()).scores - given
    monkeypatch.setattr(apprentice, "HALF", 0)
    full = trained(40, learner=kind).score(visit()).scores - given
    assert np.abs(full).max() > 0.1
    assert weighed == pytest.approx(full * 120 / 2120, rel=1e-2, abs=1e-4)


def test_a_critic_without_words_leaves_the_page_and_what_was_learnt() -> None:
    silent = Function(lambda page: 0.5)
    assert learner(silent).score(visit()).scores == pytest.approx([log(4)] * 3)
    assert Apprentice(form="sum").score(visit()).scores == pytest.approx([log(4)] * 3)
    good, *bad = trained(critic=silent).score(visit()).scores
    assert good > max(bad)


def test_keywords_are_words_that_count() -> None:
    scores = learner(Predicate(keywords=["owl"])).score(visit()).scores
    assert scores == pytest.approx([log(4) + 3, log(4), log(4)])


def test_its_options_differ_from_the_printed_ones_unless_given() -> None:
    printed, summed = Apprentice(), learner()
    assert (printed.every, printed.combine.policy, printed.trust) == (100, Policy.FIRST, 0)
    assert (summed.every, summed.combine.policy, summed.trust) == (25, Policy.BEST, 1)
    own = learner(batch=7, combine="noisy-or", trust=0.0)
    assert (own.every, own.combine.policy, own.trust) == (7, Policy.NOISY_OR, 0)


def test_the_printed_form_does_not_ask_the_critic() -> None:
    assert Apprentice(critic=Weighing()).score(visit()).scores == pytest.approx([log(4)] * 3)


# ---- sweeps, keeping, explaining


def test_a_sweep_gives_what_scoring_again_would() -> None:
    assert np.array_equal(swept(trained(), learner()), trained().score(visit()).scores)


def test_parts_keep_the_weight() -> None:
    strategy = trained(40)
    again = learner(batch=1).from_parts({name: np.array(part) for name, part in strategy.parts().items()})
    assert np.array_equal(again.score(visit()).scores, strategy.score(visit()).scores)
    merged = learner(batch=1).from_parts(strategy.merge([trained(20).parts(), trained(20).parts()]))
    assert merged.score(visit()).scores == pytest.approx(strategy.score(visit()).scores, rel=1e-5)


@pytest.mark.parametrize("link", [0, 1, 2])
def test_explains_by_three_parts_that_add_up(link: int) -> None:
    for strategy in (learner(), trained()):
        told = strategy.explain(visit(), link)
        assert sum(weight for _, weight in told) == pytest.approx(strategy.score(visit()).scores[link], rel=1e-4)
        assert [abs(weight) for _, weight in told] == sorted((abs(weight) for _, weight in told), reverse=True)


def test_explains_in_words() -> None:
    untrained, told = dict(learner().explain(visit(), 0)), dict(trained().explain(visit(), 0))
    assert untrained.keys() == {"relevance of the page", "the critic on wing", "the critic on owl"}
    assert told["relevance of the page"] == pytest.approx(log(4))
    assert told["the critic on wing"] == pytest.approx(2 * 2.0 / 3)  # it stands in the anchor and in the URL
    assert told["the critic on owl"] == pytest.approx(1.0 / 3)
    assert told["learnt: birds at -1"] > 0
    assert told["learnt: links in general"] < 0
