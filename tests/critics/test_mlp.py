from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from forager.critics.corpus import CorpusMaker
from forager.critics.mlp import Mlp, loss_and_slope
from forager.errors import ForagerError
from forager.types import Page

from .examples import relevances, several, topical


def of_scikit_learn(
    pages: list[Page], labels: list[str], judged: list[Page]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    corpus = CorpusMaker(("a",), 4_000, 7).gathered(pages, labels)
    columns = corpus.frequent_columns(8_000)
    net = MLPClassifier((16,), solver="lbfgs", alpha=0.1, max_iter=30, random_state=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        net.fit(columns.rows([held.bag for held in corpus.held]), [held.label for held in corpus.held])
    return net.predict_proba(columns.rows([page.bag for page in judged]))  # type: ignore[no-any-return]


@pytest.mark.parametrize("made", [topical, several])
def test_judging_is_nearly_what_scikit_learn_predicts(made: Callable[..., tuple[list[Page], list[str]]]) -> None:
    """Not exactly, because the two begin with other weights."""
    pages, labels = made(60)
    others = made(40, seed=1)[0]
    critic = Mlp(focus=["a"], calibrate=False, seed=7)
    critic.fit(pages, labels)
    judged = np.array([one.topics for one in critic.judge(others)])
    expected = of_scikit_learn(pages, labels, others)
    assert np.abs(judged - expected).mean() < 0.05
    assert np.abs(judged - expected[:, ::-1]).mean() > 0.2


def test_the_slope_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(0)
    x, truth = csr_matrix(rng.random((7, 5)) * (rng.random((7, 5)) < 0.6)), np.eye(3)[rng.integers(0, 3, 7)]
    layers = [rng.normal(size=shape) for shape in ((5, 4), (4,), (4, 3), (3,))]
    _, slope = loss_and_slope(x, truth, 0.3, layers)
    for layer, by in zip(layers, slope, strict=True):
        for at in np.ndindex(layer.shape):
            lost = []
            for step in (1e-6, -1e-6):
                layer[at] += step
                lost.append(loss_and_slope(x, truth, 0.3, layers)[0])
                layer[at] -= step
            assert (lost[0] - lost[1]) / 2e-6 == pytest.approx(by[at], abs=1e-6)


def test_easy_classes_are_told_apart() -> None:
    critic = Mlp(focus=["a"])
    critic.fit(*several(120))
    pages, labels = several(80, seed=1)
    judged = critic.judge(pages)
    right = [critic.classes[int(one.topics.argmax())] == name for one, name in zip(judged, labels, strict=True)]
    assert np.mean(right) > 0.95
    wanted = np.array([name.startswith("a.") for name in labels])
    assert relevances(judged)[wanted].mean() > 0.8
    assert relevances(judged)[~wanted].mean() < 0.2


def test_the_seed_makes_the_net() -> None:
    versions = []
    for seed in (1, 1, 2, -1, 1 << 40):  # whatever seed a crawl has
        critic = Mlp(focus=["a"], seed=seed)
        critic.fit(*topical(40))
        versions.append(critic.version)
    assert versions[0] == versions[1]
    assert len(set(versions)) == 4


def test_a_class_with_a_single_page_is_no_obstacle() -> None:
    pages, labels = several(40)
    critic = Mlp(focus=["a"])
    critic.fit([*pages, several(3, seed=5)[0][2]], [*labels, "d"])
    assert critic.classes == ("a.x", "a.y", "b", "c", "d")
    for one in critic.judge(pages):
        assert np.isfinite(one.topics).all()


@pytest.mark.parametrize("wrong", [{"hidden": 0}, {"steps": 0}, {"terms": 0}, {"decay": -0.1}])
def test_wrong_settings(wrong: dict[str, float]) -> None:
    with pytest.raises(ForagerError, match="give at least 1 of the first three, and a decay not below 0"):
        Mlp(focus=["a"], **wrong)  # type: ignore[arg-type]
