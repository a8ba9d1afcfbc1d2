from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.sparse import csr_matrix

from forager.errors import ForagerError
from forager.learn.chains.crf import Crf, CrfLikelihood, discounted_reward, link_score, train
from forager.learn.chains.fitting import FitSettings
from forager.learn.chains.paths import LINK, PAGE, Paths
from forager.learn.chains.rows import Reals
from forager.store import models
from forager.types import Ids

from . import drawn

FEATURES = 3


def of(seed: int, cut: list[int], *, dual: bool, steps: int) -> tuple[Crf, Paths]:
    """A model and paths at random: alternating kinds if dual."""
    chance = np.random.default_rng(seed)
    model = drawn.crf(chance, drawn.kinds_of(chance, dual=dual), FEATURES, steps=steps)
    return model, drawn.paths(chance, cut, FEATURES, steps=steps, dual=dual)


small = given(drawn.seeds, drawn.lengths, st.booleans(), st.integers(0, 2))


def along(model: Crf, paths: Paths, path: int, until: int, *, best: bool = False) -> Reals:
    """The row of one position, taken step by step from the first of its path."""
    row = None
    for at in range(int(paths.first[path]), int(paths.first[path]) + until):
        step = paths.step[at] if paths.steps is not None and row is not None else None
        row = model.forward(row, model.unary(paths.observations[at], int(paths.kind[at])), step=step, best=best)
    assert row is not None
    alone: Reals = row[0]
    return alone


@small
@settings(max_examples=50, deadline=None)
def test_sums_over_all_state_sequences(seed: int, cut: list[int], dual: bool, steps: int) -> None:
    model, paths = of(seed, cut, dual=dual, steps=steps)
    lattice = model.lattice(paths)
    marginals, likeliest = lattice.marginals(), lattice.viterbi()
    for path, length in enumerate(cut):
        every, first = drawn.enumerate_crf(model, paths, path), int(paths.first[path])
        assert lattice.log_z[path] == pytest.approx(every.log_z)
        found = (every.sequences == likeliest[first : first + length]).all(axis=1)
        assert every.logs[found] == pytest.approx([every.logs.max()])  # equally likely ones may stand for each other
        for i in range(length):
            expected = np.exp(every.sums(model.states, i) - every.log_z)
            np.testing.assert_allclose(marginals[first + i], expected, atol=1e-9)
            so_far = drawn.enumerate_crf(model, paths, path, until=i + 1).sums(model.states, i)
            np.testing.assert_allclose(lattice.alpha[first + i], so_far, atol=1e-9)
    for step, chances in lattice.pair_marginals():
        for n, at in enumerate(step.at.tolist()):
            path = int(paths.owner[at])
            every = drawn.enumerate_crf(model, paths, path)
            for (a, y), (b, then) in ((a, b) for a in enumerate(step.source) for b in enumerate(step.target)):
                assert chances[n, a, b] == pytest.approx(every.pair(at - 1 - int(paths.first[path]), y, then), abs=1e-9)


@small
@settings(max_examples=50, deadline=None)
def test_rows_while_crawling(seed: int, cut: list[int], dual: bool, steps: int) -> None:
    model, paths = of(seed, cut, dual=dual, steps=steps)
    for path, length in enumerate(cut):
        for best in (False, True):
            every = drawn.enumerate_crf(model, paths, path)
            expected = every.sums(model.states, length - 1, best=best)
            expected -= expected.max() if best else np.logaddexp.reduce(expected)
            np.testing.assert_allclose(along(model, paths, path, length, best=best), expected, atol=1e-9)


def reward_by_definition(model: Crf, paths: Paths, path: int, goals: list[int]) -> Reals:
    """R_i(y) of the positions of one path, (n, s), nan where y is not admitted."""
    first, n = int(paths.first[path]), int(np.diff(paths.offsets)[path])
    rewards = np.full((n, model.states), np.nan)
    for i in reversed(range(n)):
        for y in range(model.states):
            if model.kinds[y] != paths.kind[first + i]:
                continue
            if i == n - 1:
                rewards[i, y] = y in goals
                continue
            g = [np.exp(drawn.crf_potential(model, paths, first + i + 1, y, then)) for then in range(model.states)]
            rewards[i, y] = sum(g[z] * rewards[i + 1, z] for z in range(model.states) if g[z] > 0) / sum(g)
    return rewards


@given(drawn.seeds, drawn.lengths, st.floats(0.05, 1), st.booleans(), st.integers(0, 2))
@settings(max_examples=50, deadline=None)
def test_the_reward_is_as_defined(seed: int, cut: list[int], gamma: float, dual: bool, steps: int) -> None:
    model, paths = of(seed, cut, dual=dual, steps=steps)
    goals = [model.kinds.tolist().index(kind) for kind in np.unique(model.kinds)]  # paths may end in either kind
    found = model.lattice(paths).reward(np.isin(np.arange(model.states), goals))
    each = []
    for path, n in enumerate(cut):
        expected = reward_by_definition(model, paths, path, goals)
        admitted = ~np.isnan(expected)
        first = int(paths.first[path])
        np.testing.assert_allclose(found[first : first + n][admitted], expected[admitted], atol=1e-9)
        weight = np.array([gamma ** (n - 1 - i) for i in range(n)])[:, None] * admitted
        each.append(
            [
                np.nansum(weight[:, y] * expected[:, y]) / weight[:, y].sum() if admitted[:, y].any() else np.nan
                for y in range(model.states)
            ]
        )
    seen = ~np.isnan(each)
    mean = [np.mean(np.array(each)[seen[:, y], y]) if seen[:, y].any() else 0 for y in range(model.states)]
    np.testing.assert_allclose(discounted_reward(model, paths, goals, gamma), mean, atol=1e-9)


def test_a_worked_reward() -> None:
    """Pages 0 goal, 1 other; links 2, 3. Link 2 goes to the goal with e^ln 3 : 1, link 3 with 1 : 1; a page goes to
    link 2 or 3 alike. Path P L P: R_3 = (1, 0), R_2 = (3/4, 1/2), R_1 = 5/8 for both pages. With gamma 1/2 the pages
    have (1 + 5/8/4) / (5/4) = .925 and (0 + 5/32) / (5/4) = .125; the links their only value."""
    edges = np.zeros((4, 4))
    edges[2, 0] = np.log(3)
    kinds = np.array([PAGE, PAGE, LINK, LINK], np.int32)
    model = Crf(kinds, np.zeros((1, 4)), edges, np.empty((0, 2), np.int32), np.empty((0, 0)), version=1)
    paths = Paths(csr_matrix((3, 1)), np.array([0, 3]), np.array([PAGE, LINK, PAGE], np.int32))
    reward = discounted_reward(model, paths, [0], gamma=0.5)
    assert reward == pytest.approx([0.925, 0.125, 0.75, 0.5])
    page = model.forward(None, model.unary(csr_matrix((1, 1)), PAGE))
    assert np.exp(page[0]) == pytest.approx([0.5, 0.5, 0, 0])
    link = model.forward(page, model.unary(csr_matrix((2, 1)), LINK))
    assert np.exp(link) == pytest.approx(np.array([[0, 0, 0.5, 0.5]] * 2))
    assert link_score(link, reward) == pytest.approx([0.625, 0.625])
    assert link_score(link.astype(np.float32), reward) == pytest.approx([0.625, 0.625])  # as links carry it
    target = model.forward(link[:1].astype(np.float32), model.unary(csr_matrix((1, 1)), PAGE))
    assert np.exp(target[0]) == pytest.approx([4 / 6, 2 / 6, 0, 0])
    a_single_page = Paths(csr_matrix((4, 1)), np.array([0, 3, 4]), np.array([PAGE, LINK, PAGE, PAGE], np.int32))
    assert discounted_reward(model, a_single_page, [0], gamma=0.5) == pytest.approx([0.9625, 0.0625, 0.75, 0.5])


@given(drawn.seeds, st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_batch_gives_what_its_rows_give_one_by_one(seed: int, best: bool, single: bool) -> None:
    chance = np.random.default_rng(seed)
    kinds, kind = ([PAGE] * 4, PAGE) if single else ([PAGE, LINK, LINK, PAGE], LINK)
    model = drawn.crf(chance, kinds, FEATURES, steps=2 * single)
    pages = model.unary(drawn.observations(chance, 6, FEATURES))
    links = drawn.observations(chance, 6, FEATURES)
    step = drawn.observations(chance, 6, 2) if single else None
    previous = model.forward(None, pages, best=best)
    together = model.forward(previous, model.unary(links, kind), step=step, best=best)
    shared = model.forward(previous[:1], model.unary(links, kind), step=step, best=best)
    for i in range(6):
        one, unary = None if step is None else step[i], model.unary(links[i], kind)
        alone = model.forward(previous[i], unary, step=one, best=best)
        np.testing.assert_allclose(together[i : i + 1], alone)
        np.testing.assert_allclose(shared[i], model.forward(previous[0], unary, step=one, best=best)[0])
    assert model.forward(previous[:1], model.unary(links[:0], kind)).shape == (0, 4)


@given(drawn.seeds, st.booleans())
@settings(max_examples=20, deadline=None)
def test_long_paths_do_not_overflow(seed: int, dual: bool) -> None:
    chance = np.random.default_rng(seed)
    model = drawn.crf(chance, drawn.kinds_of(chance, dual=dual), FEATURES, scale=30)
    paths = drawn.paths(chance, [201, 7], FEATURES, dual=dual)
    lattice = model.lattice(paths)
    np.testing.assert_allclose(lattice.marginals().sum(axis=1), 1)
    assert np.isfinite(lattice.log_z).all()
    reward = discounted_reward(model, paths, [int(np.flatnonzero(model.of(PAGE))[0])])
    assert ((reward >= 0) & (reward <= 1 + 1e-9)).all()
    alpha, delta = along(model, paths, 0, 201), along(model, paths, 0, 201, best=True)
    assert np.exp(alpha).sum() == pytest.approx(1)
    assert delta.max() == 0
    assert int(delta.argmax()) == lattice.viterbi()[200]


def test_positions_of_both_kinds_may_stand_side_by_side() -> None:
    """One path begins with a page, the other with a link: a step then looks at all states, and masks decide."""
    chance = np.random.default_rng(5)
    model = drawn.crf(chance, [PAGE, LINK, PAGE, LINK], FEATURES)
    kinds = np.array([PAGE, LINK, PAGE, LINK, PAGE, LINK], np.int32)
    paths = Paths(drawn.observations(chance, 6, FEATURES), np.array([0, 3, 6]), kinds)
    lattice = model.lattice(paths)
    for path in range(2):
        every, at = drawn.enumerate_crf(model, paths, path), slice(3 * path, 3 * path + 3)
        assert lattice.log_z[path] == pytest.approx(every.log_z)
        assert lattice.viterbi()[at].tolist() == every.best.tolist()
        expected = reward_by_definition(model, paths, path, [0, 1])
        found = lattice.reward(np.array([True, True, False, False]))[at]
        np.testing.assert_allclose(found[~np.isnan(expected)], expected[~np.isnan(expected)])


def test_parts_come_back_from_a_file(tmp_path: Path) -> None:
    for steps in (0, 2):
        model, paths = of(1, [3, 4], dual=steps == 0, steps=steps)
        models.save(tmp_path / "crf.npz", model.parts(), kind="crf", version=1)
        again = Crf.from_parts(models.load(tmp_path / "crf.npz", kind="crf", version=1), version=1)
        np.testing.assert_array_equal(again.lattice(paths).alpha, model.lattice(paths).alpha)


def test_what_does_not_fit_is_refused_with_the_cure() -> None:
    model, paths = of(1, [3], dual=True, steps=0)
    s, rows = model.states, csr_matrix((1, FEATURES))
    with pytest.raises(ForagerError, match=f"model has {s} states, this path carries 7: retrain or start again"):
        model.forward(np.zeros((1, 7)), model.unary(rows))
    with pytest.raises(ForagerError, match="described by 2"):
        model.unary(csr_matrix((1, 2)))
    with pytest.raises(ForagerError, match="no state of this model is of kind 9"):
        model.unary(rows, 9)
    with pytest.raises(ForagerError, match="no state of this model is of kind 9"):
        model.lattice(Paths(rows, np.array([0, 1]), np.array([9], np.int32)))
    with pytest.raises(ForagerError, match="version 1, pages are described by version 3: train it again"):
        Crf.from_parts(model.parts(), version=3)
    with pytest.raises(ForagerError, match="do not fit together"):
        Crf.from_parts({**model.parts(), "edges": np.zeros((1, 1))}, version=1)
    with pytest.raises(ForagerError, match="gamma 0"):
        discounted_reward(model, paths, [0], gamma=0)
    for nowhere in ([], [int(np.flatnonzero(model.of(LINK))[0])]):
        with pytest.raises(ForagerError, match="name a goal state of the kind that paths end with"):
            discounted_reward(model, paths, nowhere)


# ---- training


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
    likelihood = CrfLikelihood(paths, states, np.array(kinds, np.int32))
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
    model = train(paths, states, truth.kinds, report=lambda _, value: heard.append(value))
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
        float(np.square(train(paths, states, truth.kinds, settings=FitSettings(variance=v)).weights).sum())
        for v in (0.001, 0.1, 10)
    ]
    assert norms[0] < norms[1] < norms[2]
