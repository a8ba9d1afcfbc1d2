"""Rows of logarithms over the states of a model: what a path carries from page to page.

A row of log-alpha is rescaled so that its alphas sum to 1, a row of delta so that its maximum is 0. Neither changes
anything that is asked of a row (which state, with what share), and neither grows with the path. A state that a position
does not admit has potential 0, that is a logarithm of -inf; each position admits one at least.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.errors import ForagerError
from forager.types import Floats

Reals: TypeAlias = NDArray[np.float64]
Sparse: TypeAlias = Any  # scipy.sparse.csr_matrix
Carried: TypeAlias = Floats | Reals  # (n, k), or (1, k): the same for all n

LEAST = np.finfo(np.float32).tiny  # a chance that has a logarithm

CURE = "retrain or start again from the seeds"
_IMPOSSIBLE = f"this path carries a row in which no state is possible: {CURE}"


def log_sum(logs: Reals, axis: int = -1) -> Reals:
    """log sum exp along an axis that holds a finite value everywhere."""
    top = logs.max(axis=axis, keepdims=True)
    summed: Reals = np.log(np.exp(logs - top).sum(axis=axis)) + top.squeeze(axis)
    return summed


def rescaled(rows: Reals, *, best: bool) -> Reals:
    """alphas that sum to 1, or, with `best`, deltas of which the largest is 1; both as logarithms."""
    return rows - (rows.max(axis=-1) if best else log_sum(rows))[:, None]


def shares(rows: Carried) -> Reals:
    """What part of its row each state has, (n, k): alpha(y) / sum of alpha."""
    logs = np.asarray(rows, np.float64)
    return np.exp(logs - log_sum(logs)[:, None])


def carried(rows: Carried, states: int) -> Reals:
    """The rows that paths carry, if they can be of a model with so many states."""
    logs = np.atleast_2d(np.asarray(rows, np.float64))
    if logs.shape[1] != states:
        raise ForagerError(f"model has {states} states, this path carries {logs.shape[1]}: {CURE}")
    if np.isnan(logs).any() or not np.isfinite(logs.max(axis=1, initial=-np.inf)).all():
        raise ForagerError(_IMPOSSIBLE)
    return logs


def finite(row: Floats) -> Floats:
    """A row that a link carried, if all of it is finite."""
    if not math.isfinite(row.sum()):
        raise ForagerError(_IMPOSSIBLE)
    return row


def observed(observations: Sparse, features: int) -> Sparse:
    """Observations, if they can be of a model with so many features."""
    if observations.shape[1] != features:
        raise ForagerError(
            f"model has {features} features, this page is described by {observations.shape[1]}: "
            "retrain, or describe pages as in training"
        )
    return observations
