from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.sparse import csr_matrix

from forager.errors import ForagerError
from forager.learn.chains.crf import Crf
from forager.learn.chains.crf_training import Likelihood, train
from forager.learn.chains.fitting import Settings
from forager.learn.chains.paths import LINK, PAGE, Paths
from forager.types import Ids

from . import drawn

FEATURES = 3


def admitted(chance: np.random.Generator, paths: Paths, kinds: list[int]) -> Ids:
    """A state for each position, of its kind."""
    return np.array([chance.choice(np.flatnonzero(np.equal(kinds, kind))) for kind in paths.kind], np.int32)


@given(drawn.seeds, drawn.lengths, st.booleans(), st.integers(0, 2))
@settings(max_examples=25, deadline=None)
def test_the_likelihood_and_its_gradient(seed: int, cut: list[int], dual: bool, steps: int) -> None:
    chance = np.random.default_rng(seed)
    kinds = drawn.kinds_of(chance, dual=dual)
    paths = drawn.paths(chance, cut, FEATURES, steps=steps, dual=dual)
    states = admitted(chance, paths, kinds).astype(np.int64)
    likelihood = Likelihood(paths, states, np.array(kinds, np.int32))
    weights = chance.normal(size=likelihood.size)
    value, gradient = likelihood(weights)
    model, by_definition = likelihood.model(weights), 0.0
    for path in range(len(cut)):
        every, own = drawn.enumerate_crf(model, paths, path), states[paths.offsets[path] : paths.offsets[path + 1]]
        by_definition += float(every.logs[(every.sequences == own).all(axis=1)][0]) - every.log_z
    assert value == pytest.approx(by_definition)
    numeric = approx_fprime(weights, lambda w: likelihood(w)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-5)


def sampled(chance: np.random.Generator, model: Crf, cut: list[int], *, steps: int, dual: bool) -> tuple[Paths, Ids]:
    """Paths whose states are drawn from the model, by enumeration."""
    paths = drawn.paths(chance, cut, model.features, steps=steps, dual=dual)
    states = []
    for path in range(len(cut)):
        every = drawn.enumerate_crf(model, paths, path)
        states.append(every.sequences[chance.choice(len(every.logs), p=np.exp(every.logs - every.log_z))])
    return paths, np.concatenate(states).astype(np.int32)


@pytest.mark.parametrize("steps", [0, 2])
def test_training_recovers_a_model_and_raises_the_likelihood(steps: int) -> None:
    chance = np.random.default_rng(8)
    kinds = [PAGE, PAGE, PAGE] if steps else [PAGE, PAGE, LINK, LINK]
    truth = drawn.crf(chance, kinds, 4, steps=steps, scale=2)
    paths, states = sampled(chance, truth, [3, 5, 4] * 50, steps=steps, dual=not steps)
    heard: list[float] = []
    model = train(paths, states, truth.kinds, heard=lambda _, value: heard.append(value))
    assert len(heard) > 3
    assert (np.diff(heard) >= 0).all()
    later, wanted = sampled(chance, truth, [4] * 60, steps=steps, dual=not steps)
    right = (model.lattice(later).viterbi() == wanted).mean()
    possible = (truth.lattice(later).viterbi() == wanted).mean()
    chance_level = 1 / 3 if steps else 1 / 2
    assert possible > chance_level + 0.2
    assert right > possible - 0.08


def test_a_state_that_is_not_admitted_learns_nothing_there() -> None:
    """Feature 0 is seen on pages only, feature 1 on links only. Link 2 leads to page 1, link 3 to page 0."""
    kinds, of_states = np.array([0, 1, 0, 0, 1, 0, 0], np.int32), np.array([PAGE, PAGE, LINK, LINK], np.int32)
    seen = csr_matrix(np.where(kinds[:, None] == [PAGE, LINK], 1.0, 0.0))
    paths = Paths(seen, np.array([0, 3, 6, 7]), kinds)
    model = train(paths, np.array([0, 2, 1, 1, 3, 0, 0], np.int32), of_states)
    assert (model.weights[0, 2:] == 0).all()
    assert (model.weights[1, :2] == 0).all()
    assert (model.weights[0, :2] != 0).all()
    assert (model.edges[:2, :2] == 0).all()
    assert (model.edges[2:, 2:] == 0).all()
    assert model.edges[2, 1] > 0 > model.edges[2, 0]  # learnt, not forbidden
    with pytest.raises(ForagerError, match="position 3 is a page labelled with state 2, a link-state: label it with a"):
        train(paths, np.array([0, 2, 1, 2, 3, 0, 0], np.int32), of_states)


def test_a_narrow_prior_keeps_weights_small() -> None:
    chance = np.random.default_rng(0)
    truth = drawn.crf(chance, [PAGE, PAGE], 3, scale=2)
    paths, states = sampled(chance, truth, [4] * 20, steps=0, dual=False)
    norms = [
        float(np.square(train(paths, states, truth.kinds, settings=Settings(variance=v)).weights).sum())
        for v in (0.001, 0.1, 10)
    ]
    assert norms[0] < norms[1] < norms[2]
