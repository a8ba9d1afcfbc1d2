from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.sparse import csr_matrix, vstack

from forager.errors import ForagerError
from forager.learn.chains import memm
from forager.learn.chains.fitting import FitSettings
from forager.learn.chains.memm import Memm, MemmLikelihood, marginal_priority, viterbi_priority
from forager.learn.chains.paths import Paths
from forager.learn.chains.rows import LEAST, Reals
from forager.store import models
from forager.types import Floats, Ids

from . import drawn

FEATURES = 3


def along(model: Memm, rows: csr_matrix, *, best: bool = False) -> Reals:
    """The row at the end of one path, taken step by step."""
    row = None
    for at in range(rows.shape[0]):
        row = model.forward(row, rows[at], best=best)
    assert row is not None
    alone: Reals = row[0]
    return alone


@given(drawn.seeds, st.integers(2, 3), st.integers(1, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_rows_are_sums_and_maxima_over_all_state_sequences(seed: int, states: int, length: int, best: bool) -> None:
    chance = np.random.default_rng(seed)
    model, rows = drawn.memm(chance, states, FEATURES), drawn.observations(chance, length, FEATURES)
    every = drawn.enumerate_memm(model, rows.toarray())
    assert every.log_z == pytest.approx(0, abs=1e-9)  # chances of sequences sum to 1
    expected = every.sums(states, length - 1, best=best)
    expected -= expected.max() if best else np.logaddexp.reduce(expected)
    np.testing.assert_allclose(along(model, rows, best=best), expected, atol=1e-9)


def test_a_worked_example() -> None:
    """One feature, two states. First page with o=1: u = (ln 3, 0), so alpha = (3/4, 1/4). Then o=0 leaves constants:
    after T0 u = (0, ln 4), after T1, of which no pair was seen, u = (0, 0). So alpha = (3/4 1/5 + 1/8, 3/4 4/5 + 1/8)
    = (.275, .725), delta = (max(.15, .125), max(.6, .125)) = (.15, .6)."""
    model = Memm(np.log([[3.0, 1.0], [1.0, 1.0]]), np.array([[0, 1]], np.int32), np.log([[1.0], [4.0]]), version=1)
    rows = csr_matrix([[1.0], [0.0]])
    np.testing.assert_allclose(np.exp(model.forward(None, rows[0])), [[0.75, 0.25]])
    np.testing.assert_allclose(np.exp(along(model, rows)), [0.275, 0.725])
    np.testing.assert_allclose(np.exp(along(model, rows, best=True)), [0.25, 1])
    assert marginal_priority(along(model, rows)[None]) == pytest.approx([-0.725])
    assert viterbi_priority(along(model, rows, best=True)[None]) == pytest.approx([-1 + 0.8])


@given(drawn.seeds, st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_batch_gives_what_its_rows_give_one_by_one(seed: int, best: bool) -> None:
    chance = np.random.default_rng(seed)
    model = drawn.memm(chance, 5, FEATURES)
    own, common = drawn.observations(chance, 6, FEATURES), drawn.observations(chance, 1, FEATURES)
    previous = model.forward(None, drawn.observations(chance, 6, FEATURES), best=best)
    together = model.forward(previous, own, common, best=best)
    for i in range(6):
        np.testing.assert_allclose(together[i : i + 1], model.forward(previous[i], own[i] + common, best=best))
    shared = model.forward(previous[:1], own, best=best)
    np.testing.assert_allclose(shared, model.forward(np.repeat(previous[:1], 6, axis=0), own, best=best))
    assert model.forward(previous[:1], own[:0]).shape == (0, 5)


def two(
    chance: np.random.Generator, states: int, *, first: bool, scale: float = 1.0
) -> tuple[Memm, Floats | None, Floats]:
    """A model, the row of a page or none, and what is seen of the seven pages after it and of those after them."""
    model = drawn.memm(chance, states, FEATURES, scale=scale)
    before = None if first else scale * chance.normal(size=states)
    if before is not None:
        before = (before - np.logaddexp.reduce(before)).astype(np.float32)
    seen = scale * chance.normal(size=(7, states**2 + (states if first else states**2)))
    return model, before, seen.astype(np.float32)


def stepped(model: Memm, before: Floats | None, seen: Floats, *, best: bool) -> tuple[Reals, Reals]:
    """Both steps, one after the other, in 64 bits."""
    cut = model.states if before is None else model.states**2
    constant = model.first[-1] if before is None else model.after[-1]
    row = None if before is None else np.asarray(before, np.float64)[None]
    here = model.step(row, seen[:, :cut] + constant, best=best)
    return here, model.step(here, seen[:, cut:] + model.after[-1], best=best)


@given(drawn.seeds, st.integers(2, 6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_two_steps_at_once_are_two_steps(seed: int, states: int, first: bool) -> None:
    model, before, seen = two(np.random.default_rng(seed), states, first=first)
    (alpha, chances), (here, ahead) = model.steps(before, seen), stepped(model, before, seen, best=False)
    assert alpha.dtype == chances.dtype == np.float32
    np.testing.assert_allclose(alpha, here, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(chances.T, np.exp(ahead), rtol=1e-4)


@given(drawn.seeds, st.integers(2, 6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_two_best_steps_at_once_are_two_steps(seed: int, states: int, first: bool) -> None:
    model, before, seen = two(np.random.default_rng(seed), states, first=first)
    (delta, after), (here, ahead) = model.best_steps(before, seen), stepped(model, before, seen, best=True)
    np.testing.assert_allclose(delta, here, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(after, ahead, rtol=1e-4, atol=1e-5)


@given(drawn.seeds, st.booleans())
@settings(max_examples=20, deadline=None)
def test_what_two_steps_leave_of_a_state_has_a_logarithm(seed: int, first: bool) -> None:
    model, before, seen = two(np.random.default_rng(seed), 5, first=first, scale=100)
    alpha, chances = model.steps(before, seen)
    assert np.isfinite(alpha).all()
    assert alpha.min() == pytest.approx(np.log(LEAST))
    np.testing.assert_allclose(np.exp(alpha).sum(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(chances.sum(axis=0), 1, rtol=1e-4)
    delta, after = model.best_steps(before, seen)
    assert np.isfinite([delta, after]).all()
    assert not delta.max(axis=1).any()
    assert not after.max(axis=1).any()


@given(drawn.seeds)
@settings(max_examples=20, deadline=None)
def test_long_paths_neither_overflow_nor_lose_their_scale(seed: int) -> None:
    chance = np.random.default_rng(seed)
    model, rows = drawn.memm(chance, 5, FEATURES, scale=30), drawn.observations(chance, 200, FEATURES)
    for best in (False, True):
        row = along(model, rows, best=best)
        assert not np.isnan(row).any()
        assert np.exp(row).max() <= 1 + 1e-9
        assert (row.max() if best else np.exp(row).sum()) == pytest.approx(0 if best else 1)


@given(drawn.seeds, st.integers(2, 6))
@settings(max_examples=50, deadline=None)
def test_viterbi_orders_by_hops_then_by_share(seed: int, states: int) -> None:
    chance = np.random.default_rng(seed)
    rows = 3 * chance.normal(size=(20, states))
    rows[:5] = np.round(rows[:5])  # ties within rows
    delta = np.exp(rows)
    keys = [(int(row.argmax()), -row.max() / row.sum()) for row in delta]
    scores = viterbi_priority(rows - rows.max(axis=1, keepdims=True))
    assert (np.diff(scores[sorted(range(20), key=lambda i: keys[i])]) <= 1e-12).all()
    share = scores + [hops for hops, _ in keys]
    assert (share >= 1 / states - 1e-12).all()
    assert (share <= 1 + 1e-12).all()


def test_the_marginal_priority_is_minus_the_expected_hops() -> None:
    rows = np.array([np.log([0.5, 0.3, 0.2]), [7.0, -np.inf, 7.0]])
    assert marginal_priority(rows) == pytest.approx([-0.7, -1])


@given(drawn.seeds, drawn.lengths)
@settings(max_examples=25, deadline=None)
def test_the_likelihood_and_its_gradient(seed: int, cut: list[int]) -> None:
    chance = np.random.default_rng(seed)
    paths, states = drawn.paths(chance, cut, FEATURES), chance.integers(0, 3, sum(cut))
    likelihood = MemmLikelihood(paths, states, 3)
    weights = chance.normal(size=likelihood.size)
    value, gradient = likelihood(weights)
    first, between = likelihood.split(weights)
    model = Memm(first, likelihood.pairs, between, version=1)
    rows, by_definition = paths.observations.toarray(), 0.0
    for i, y in enumerate(states.tolist()):
        before = None if i in paths.first else int(states[i - 1])
        by_definition += np.log(drawn.memm_chance(model, rows[i], before)[y])
    assert value == pytest.approx(by_definition)
    numeric = approx_fprime(weights, lambda w: likelihood(w)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-5)


def sampled(chance: np.random.Generator, model: Memm, count: int, length: int) -> tuple[Paths, Ids]:
    """Paths whose states are drawn from the model."""
    rows = drawn.observations(chance, count * length, model.features)
    states = np.zeros(count * length, np.int32)
    for i in range(count * length):
        before = None if i % length == 0 else int(states[i - 1])
        states[i] = chance.choice(model.states, p=drawn.memm_chance(model, rows[i].toarray()[0], before))
    return Paths(rows, np.arange(count + 1) * length), states


def test_training_recovers_a_model_and_raises_the_likelihood() -> None:
    chance = np.random.default_rng(3)
    truth = drawn.memm(chance, 3, 4, scale=1.5)
    paths, states = sampled(chance, truth, 300, 5)
    heard: list[tuple[int, float]] = []
    model = memm.train(paths, states, count=3, report=lambda *told: heard.append(told))
    values = [value for _, value in heard]
    assert [iteration for iteration, _ in heard] == list(range(1, len(heard) + 1))
    assert (np.diff(values) >= 0).all()
    assert values[0] > len(states) * np.log(1 / 3)
    later, wanted = sampled(chance, truth, 100, 5)
    rows = later.observations
    both = []
    for each in (model, truth):
        alpha = each.forward(None, rows[later.waves[0]])
        for wave in later.waves[1:]:
            alpha = each.forward(alpha, rows[wave])
        both.append(np.exp(alpha))
    found, known = both
    truly = wanted[later.last]
    assert (found.argmax(axis=1) == truly).mean() > np.bincount(truly).max() / len(truly)  # than the commonest state
    assert np.abs(found - known).mean() < 0.06
    assert np.abs(1 / 3 - known).mean() > 0.15


def test_a_narrow_prior_keeps_weights_small() -> None:
    chance = np.random.default_rng(0)
    paths, states = sampled(chance, drawn.memm(chance, 3, 4, scale=2), 40, 4)
    norms = [
        float(np.square(memm.train(paths, states, count=3, settings=FitSettings(variance=v)).first).sum())
        for v in (0.001, 0.1, 10)
    ]
    assert norms[0] < norms[1] < norms[2]


def test_paths_of_single_pages_teach_the_first_weights_alone() -> None:
    paths = Paths(csr_matrix([[1.0], [0.0]]), np.array([0, 1, 2]))
    model = memm.train(paths, np.array([0, 1], np.int32), count=2)
    assert model.pairs.shape == (0, 2)
    assert np.exp(model.forward(None, paths.observations)).argmax(axis=1).tolist() == [0, 1]
    row = model.forward(model.forward(None, paths.observations[0]), vstack([paths.observations] * 2).tocsr())
    assert row.shape == (4, 2)


def test_parts_come_back_from_a_file(tmp_path: Path) -> None:
    model = drawn.memm(np.random.default_rng(1), 4, FEATURES)
    models.save(tmp_path / "m.npz", model.parts(), kind="memm", version=1)
    again = Memm.from_parts(models.load(tmp_path / "m.npz", kind="memm", version=1), version=1)
    rows = drawn.observations(np.random.default_rng(2), 5, FEATURES)
    np.testing.assert_array_equal(
        again.forward(model.forward(None, rows), rows), model.forward(again.forward(None, rows), rows)
    )


def test_what_does_not_fit_is_refused_with_the_cure() -> None:
    model = drawn.memm(np.random.default_rng(1), 5, FEATURES)
    rows = csr_matrix((2, FEATURES))
    with pytest.raises(ForagerError, match="model has 5 states, this path carries 4: retrain or start again"):
        model.forward(np.zeros((1, 4)), rows)
    with pytest.raises(ForagerError, match="no state is possible"):
        model.forward(np.full((1, 5), -np.inf), rows)
    with pytest.raises(ForagerError, match="model has 3 features, this page is described by 2"):
        model.forward(None, csr_matrix((1, 2)))
    with pytest.raises(ForagerError, match="features of version 1, pages are described by version 2: train it again"):
        Memm.from_parts(model.parts(), version=2)
    with pytest.raises(ForagerError, match="do not fit together"):
        Memm.from_parts({**model.parts(), "between": np.zeros((1, 1))}, version=1)
