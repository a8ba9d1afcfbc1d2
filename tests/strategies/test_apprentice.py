"""The apprentice on visits made by hand: before and after it has learnt, in sweeps, kept and merged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.store import models
from forager.strategies.apprentice import Apprentice
from forager.strategies.apprentice import strategy as apprentice
from forager.strategies.apprentice.windows import WindowChoice
from forager.types import (
    NEVER,
    Evidence,
    Explains,
    Floats,
    Graph,
    Learns,
    Miss,
    Persists,
    Ragged,
    Reason,
    Rescores,
    ScoredLinks,
    Visit,
    WaitingBatch,
)
from tests.visits import page_of, visit_of

SIZE = 1 << 12
GRAPH = Graph(*(np.zeros(1, kind) for kind in (np.int64, np.int32, np.float32, np.float32, np.int32)))  # type: ignore[arg-type]
NOTHING = Evidence(Ragged.of([]), np.empty(0, np.float32), np.empty(0, np.float32))
MARKUP = "<p>birds and eggs</p><p><a href=wing>wing</a></p><p>rocks and sand</p><p><a href=slate>slate</a></p>"


def visit(relevance: float = 0.5, markup: str = MARKUP) -> Visit:
    return visit_of(page_of("http://example.org/", markup), relevance)


def learner(**options: Any) -> Apprentice:
    return Apprentice(**{"size": SIZE, "d_max": 1, "batch": 2, **options})


def clues_of(strategy: Apprentice, seen: Visit) -> Ragged:
    clues = strategy.score(seen).clues
    assert clues is not None
    return clues


def lesson(strategy: Apprentice, times: int = 10, relevance: Sequence[float] = (1, 0)) -> Evidence:
    """Many times: the link beside birds led to a relevant page, the link beside rocks to an irrelevant one."""
    clues = Ragged.concat([clues_of(strategy, visit())] * times)
    return Evidence(clues, np.tile(np.array(relevance, np.float32), times), np.full(2 * times, 0.5, np.float32))


def trained(**options: Any) -> Apprentice:
    strategy = learner(**options)
    for _ in range(2):
        strategy.observe(visit(), lesson(strategy))
    return strategy


def waiting(scored: ScoredLinks) -> WaitingBatch:
    count = len(scored.scores)
    ids = np.arange(count, dtype=np.int32)
    state = np.zeros((count, 0), np.float32) if scored.state is None else scored.state
    assert scored.clues is not None
    return WaitingBatch(ids, ids, ids, scored.scores, state, scored.clues, Ragged.of([[]] * count))


def swept(strategy: Apprentice, scored: ScoredLinks) -> Floats:
    (scores,) = strategy.rescore([waiting(scored)], GRAPH)
    return scores


def test_it_can_do_everything_a_learner_can() -> None:
    assert all(isinstance(learner(), verb) for verb in (Learns, Rescores, Persists, Explains))
    assert learner(batch=300).every == 300


# ---- before it has learnt


def test_before_learning_a_link_is_as_good_as_its_page() -> None:
    strategy = learner()
    scored = strategy.score(visit(0.8))
    assert scored.scores == pytest.approx([log(4)] * 2)
    assert np.array_equal(swept(strategy, scored), scored.scores)
    assert np.isfinite(strategy.score(visit(1.0)).scores).all()
    assert np.isfinite(strategy.score(visit(0.0)).scores).all()
    ((name, weight),) = strategy.explain(visit(0.8), 0)
    assert (name, round(weight, 6)) == ("relevance of the page", round(log(4), 6))


@pytest.mark.parametrize("combine", ["mean", "noisy-or"])
def test_scores_are_probabilities_where_they_are_combined_as_such(combine: str) -> None:
    assert learner(combine=combine).score(visit(0.8)).scores == pytest.approx([0.8] * 2)
    scores = trained(combine=combine).score(visit()).scores
    assert 1 >= scores[0] > 0.9 > 0.1 > scores[1] >= 0


def test_a_page_below_tau_is_not_expanded_and_stays_so() -> None:
    strategy = trained(tau=0.3)
    scored = strategy.score(visit(0.2))
    assert scored.scores.tolist() == [NEVER, NEVER]
    assert swept(strategy, scored).tolist() == [NEVER, NEVER]
    assert np.isfinite(strategy.score(visit(0.3)).scores).all()


# ---- learning


@pytest.mark.parametrize("kind", ["naive-bayes", "logistic", "linear"])
@pytest.mark.parametrize("features", ["offset", "words", "distance", "path"])
def test_learns_which_words_lead_there(kind: str, features: str) -> None:
    strategy = trained(learner=kind, features=features)
    good, bad = strategy.score(visit()).scores
    assert good > bad
    other = visit(markup="<p>birds</p><p><a href=x>x</a></p><p>of</p><p>sand</p><p><a href=y>y</a></p>")
    if features in ("offset", "words"):
        unseen = strategy.score(other).scores
        assert unseen[0] > unseen[1]


def test_log_odds_by_hand() -> None:
    """Ten links of each kind. The high link has birds -1, and -1, eggs -1, wing 0; the low one rocks, and, sand, slate.
    With d_max = 1 the words between the links belong to both: rocks 1, and 1, sand 1."""
    strategy = trained()
    scores = strategy.score(visit()).scores
    # |T| = 10: "and at -1" is of both; N(high) = 20 * 7 = 140, N(low) = 20 * 4 = 80
    high, low = (1 + 20) / (10 + 140), 1 / (10 + 80)
    shared = log(high / ((1 + 20) / (10 + 80)))
    assert scores[0] == pytest.approx(6 * log(high / low) + shared, rel=1e-5)
    low_only = log((1 / (10 + 140)) / (21 / (10 + 80)))
    assert scores[1] == pytest.approx(3 * low_only + shared, rel=1e-5)


def test_trains_when_a_batch_of_pages_is_full() -> None:
    strategy = learner(batch=3)
    before = strategy.score(visit()).scores
    miss = Miss(visit().page.url, visit().trace, Reason.NOT_FOUND)
    for outcome in (visit(), miss, visit(), miss):
        strategy.observe(outcome, lesson(strategy))
        assert np.array_equal(strategy.score(visit()).scores, before)
    strategy.observe(visit(), NOTHING)
    assert not np.array_equal(strategy.score(visit()).scores, before)


def test_trains_early_rather_than_hoard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apprentice, "ROOM", 300)
    strategy = learner(batch=1000)
    for _ in range(20):
        strategy.observe(visit(), lesson(strategy))
        assert len(strategy.parts()["waiting_features"]) <= 300
    good, bad = strategy.score(visit()).scores
    assert good > bad


def test_keeps_to_the_prior_while_all_links_are_alike() -> None:
    strategy = learner()
    for _ in range(4):
        strategy.observe(visit(), lesson(strategy, relevance=(0, 0)))
    assert strategy.score(visit(0.8)).scores == pytest.approx([log(4)] * 2)


def test_score_is_pure() -> None:
    strategy = trained(topics=1, classes=("a", "b"), cocitation=True)
    one, other = strategy.score(visit()), strategy.score(visit())
    assert np.array_equal(one.scores, other.scores)
    assert one.clues is not None
    assert other.clues is not None
    assert np.array_equal(one.clues.values, other.clues.values)


def test_trust_adds_what_the_baseline_believes() -> None:
    plain, trusting = trained(), trained(trust=2.0)
    added = trusting.score(visit(0.8)).scores - plain.score(visit(0.8)).scores
    assert added == pytest.approx([2 * log(4)] * 2, rel=1e-5)


def test_active_learning_takes_the_largest_surprises() -> None:
    """Four instances with |u - v| = .1, .9, .2, .8. Half of them are learnt from."""
    evidence = Evidence(
        Ragged.of([[1], [2], [3], [4]]),
        np.array([0.9, 0.1, 0.7, 0.2], np.float32),
        np.array([1.0, 1.0, 0.5, 1.0], np.float32),
    )
    chosen = apprentice.most_surprising(evidence, 0.5)
    assert [row.tolist() for row in (chosen.clues[0], chosen.clues[1])] == [[2], [4]]
    assert chosen.relevance == pytest.approx([0.1, 0.2])
    assert apprentice.most_surprising(evidence, 0.01).clues.values.tolist() == [2]
    strategy = learner(active=0.5)
    strategy.observe(visit(), evidence)
    strategy.observe(visit(), NOTHING)
    assert strategy.parts()["counts"].sum() == 2


# ---- sweeps


@pytest.mark.parametrize("options", [{}, {"trust": 1.0}, {"combine": "noisy-or"}, {"learner": "logistic"}])
def test_a_sweep_gives_what_scoring_again_would(options: dict[str, Any]) -> None:
    early, strategy = learner(**options).score(visit(0.3)), trained(**options)
    assert np.array_equal(swept(strategy, early), strategy.score(visit(0.3)).scores)


@pytest.mark.parametrize("kind", ["naive-bayes", "logistic"])
def test_a_sweep_keeps_to_what_was_known_when_it_began(kind: str) -> None:
    strategy = trained(learner=kind)
    scored = strategy.score(visit())
    sweep = strategy.rescore([waiting(scored)], GRAPH)
    for _ in range(2):
        strategy.observe(visit(), lesson(strategy, relevance=(0, 1)))
    (scores,) = sweep
    assert np.array_equal(scores, scored.scores)
    assert not np.array_equal(strategy.score(visit()).scores, scored.scores)


# ---- keeping


@pytest.mark.parametrize("kind", ["naive-bayes", "logistic", "linear"])
def test_goes_on_from_a_file_as_if_nothing_had_happened(kind: str, tmp_path: Path) -> None:
    strategy = trained(learner=kind)
    strategy.observe(visit(), lesson(strategy))  # half a batch waits
    models.save(tmp_path / "model", strategy.parts(), kind="apprentice", version=1)
    again = learner(learner=kind).from_parts(models.load(tmp_path / "model", kind="apprentice", version=1))
    assert np.array_equal(again.score(visit()).scores, strategy.score(visit()).scores)
    for each in (strategy, again):
        each.observe(visit(), lesson(strategy, relevance=(0.4, 0.6)))
    assert np.array_equal(again.score(visit()).scores, strategy.score(visit()).scores)
    json.dumps({name: part for name, part in strategy.parts().items() if not isinstance(part, np.ndarray)})


def test_from_parts_leaves_the_one_it_is_called_on_alone() -> None:
    fresh = learner()
    other = fresh.from_parts(trained().parts())
    other.observe(visit(), lesson(other))
    assert fresh.score(visit(0.8)).scores == pytest.approx([log(4)] * 2)
    assert fresh.parts()["pages"] == 0


def test_halves_merge_to_the_whole() -> None:
    whole, one, other = trained(), trained(), trained()
    for each, outcomes in ((whole, 4), (one, 2), (other, 2)):
        for _ in range(outcomes):
            each.observe(visit(), lesson(each))
    merged = learner().from_parts(whole.merge([one.parts(), other.parts()]))
    twice = trained()
    for _ in range(6):
        twice.observe(visit(), lesson(twice))
    assert np.array_equal(merged.parts()["counts"], twice.parts()["counts"])
    assert np.array_equal(merged.score(visit()).scores, twice.score(visit()).scores)


def test_what_no_half_has_learnt_is_learnt_by_the_whole() -> None:
    halves = [learner(batch=10), learner(batch=10)]
    for half in halves:
        half.observe(visit(), lesson(half))
    merged = learner(batch=3).from_parts(learner(batch=3).merge([half.parts() for half in halves]))
    merged.observe(visit(), NOTHING)
    assert np.array_equal(merged.score(visit()).scores, trained().score(visit()).scores)


def test_parts_of_another_kind_are_refused() -> None:
    with pytest.raises(ForagerError, match="learnt with naive-bayes on offset"):
        learner(features="words").from_parts(trained().parts())


def test_wrong_parameters() -> None:
    for wrong in ({"size": 1000}, {"batch": 0}, {"active": 0.0}, {"d_max": -1}, {"most": 0}):
        with pytest.raises(ForagerError, match="apprentice: "):
            learner(**wrong)


# ---- explaining


@pytest.mark.parametrize("options", [{}, {"trust": 1.0}, {"length": 10.0}, {"learner": "logistic"}])
def test_explains_by_words_and_offsets_what_adds_up_to_the_score(options: dict[str, Any]) -> None:
    strategy = trained(**options)
    told = strategy.explain(visit(0.3), 0)
    weights = [weight for _, weight in told]
    assert sum(weights) == pytest.approx(strategy.score(visit(0.3)).scores[0], rel=1e-4)
    assert [abs(weight) for weight in weights] == sorted((abs(weight) for weight in weights), reverse=True)
    by_name = dict(told)
    assert by_name["birds at -1"] > 0
    assert by_name["wing at 0"] > 0
    assert dict(strategy.explain(visit(0.3), 1))["sand at -1"] < 0


def test_explains_topics_and_neighbours() -> None:
    strategy = trained(topics=1, classes=("Birds.Song", "other"), cocitation=True, d_max=9)
    seen = replace(visit(0.9), known=replace(visit().known, relevance=np.array([np.nan, 0.9], np.float32)))
    names = {name for name, _ in strategy.explain(seen, 0)}
    assert {"topic Birds", "topic Birds.Song", "relevant link at 2"} <= names


# ---- words at neighbouring offsets, and the width of the window


def test_a_word_counts_beside_its_place() -> None:
    """Birds were learnt at -1 only. At -2 they tell something if what they count is spread."""
    there = visit(markup="<p>birds</p><p>of</p><p><a href=x>x</a></p>")
    told = {}
    for spread in (0.0, 0.5):
        strategy = trained(spread=spread, d_max=2)
        told[spread] = dict(strategy.explain(there, 0))["birds at -2"]
    assert told[0.0] == 0 < told[0.5]
    again = learner(spread=0.5, d_max=2).from_parts(strategy.parts())
    assert np.array_equal(again.score(there).scores, strategy.score(there).scores)
    with pytest.raises(ForagerError, match="side by side"):
        learner(d_max=2).from_parts(strategy.parts())


def far_lesson(strategy: Apprentice, seed: int, tells: str) -> Evidence:
    """Links of which either the anchor or a word two leaves away tells where they lead; the other word is chance."""
    draw = np.random.default_rng(seed)
    high = np.arange(20) % 2
    rows = []
    for good in high.tolist():
        chance = int(draw.integers(2))
        anchor, far = (good, chance) if tells == "anchor" else (chance, good)
        page = f"<p>{('stone', 'bird')[far]}</p><p>x</p><p><a href=v>{('rock', 'wing')[anchor]}</a></p>"
        rows.append(clues_of(strategy, visit(markup=page)))
    return Evidence(Ragged.concat(rows), high.astype(np.float32), np.full(20, 0.5, np.float32))


def choosing(tells: str) -> Apprentice:
    strategy = learner(choose_window=True, d_max=2, batch=1)
    for seed in range(8):
        strategy.observe(visit(), far_lesson(strategy, seed, tells))
    return strategy


def test_the_window_is_chosen_by_links_not_yet_learnt_from() -> None:
    """A word that tells is seen by the widest window alone; where only the anchor tells, none is better than 0."""
    wide, narrow = choosing("far").parts(), choosing("anchor").parts()
    assert wide["windows_seen"].tolist() == [70, 70]  # the first batch had nothing to predict it with
    accuracy = wide["windows_right"].sum(axis=1)
    assert accuracy[2] > accuracy[1]
    assert accuracy[2] > 130
    assert narrow["windows_right"].sum(axis=1)[0] > 130
    chosen = WindowChoice(2)
    chosen.right[:], chosen.seen[:] = [[60, 60], [70, 10], [50, 60]], 70
    assert chosen.best == 0
    chosen.right[2] = 60
    assert chosen.best == 2  # of equal ones the widest


def test_a_chosen_window_is_used_explained_swept_and_kept() -> None:
    strategy, seen = choosing("far"), visit(markup="<p>bird</p><p>x</p><p><a href=v>wing</a></p>")
    widest = strategy.score(seen).scores[0]
    strategy._window = 1
    scored = strategy.score(seen)
    assert scored.scores[0] < widest  # the bird is out of sight
    told = strategy.explain(seen, 0)
    assert sum(weight for _, weight in told) == pytest.approx(scored.scores[0], rel=1e-4)
    assert np.array_equal(swept(strategy, scored), scored.scores)
    fresh = learner(choose_window=True, d_max=2, batch=1)
    again = fresh.from_parts(strategy.parts())
    assert again._window == choosing("far")._window == 2
    assert fresh.merge([strategy.parts(), again.parts()])["windows_seen"].tolist() == [140, 140]


@pytest.mark.parametrize(
    "wrong", [{"spread": -1.0}, {"spread": 0.5, "learner": "logistic"}, {"choose_window": True, "d_max": 20}]
)
def test_wrong_windows(wrong: dict[str, Any]) -> None:
    with pytest.raises(ForagerError, match="apprentice: "):
        learner(**wrong)


def test_labels_may_be_calibrated() -> None:
    clues = Ragged.of([[1], [2]] * 6)
    raw = np.array([0.0, 1.0] * 6, np.float32)
    evidence = Evidence(clues, raw, raw, calibrated=1 - raw)
    learners = [Apprentice(batch=1, labels="raw"), Apprentice(batch=1, labels="calibrated")]
    for learner in learners:
        learner.observe(visit_of(page_of("http://a.test/", "<p>a page")), evidence)
    counted = [learner.parts()["counts"][:, [1, 2]].tolist() for learner in learners]
    assert counted == [[[6, 0], [0, 6]], [[0, 6], [6, 0]]]
