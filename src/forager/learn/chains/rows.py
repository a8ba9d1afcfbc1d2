"""Rows of logarithms over the states of a model: what a path carries from page to page.

A row of log-alpha is rescaled so that its alphas sum to 1, a row of delta so that its maximum is 0. So rows do not grow
with the path, and what is asked of a row (which state, with what share) stays the same. A state that a position does
not admit has potential 0 and so the logarithm -inf; each position admits at least one state.
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

LEAST = np.finfo(np.float32).tiny  # smaller chances are taken for this one, so that they have a logarithm

CURE = "retrain or start again from the seeds"
_IMPOSSIBLE = f"this path carries a row in which no state is possible: {CURE}"


def log_sum(logs: Reals, axis: int = -1) -> Reals:
    """log sum exp along an axis; there must be a finite value everywhere along it."""
    top = logs.max(axis=axis, keepdims=True)
    summed: Reals = np.log(np.exp(logs - top).sum(axis=axis)) + top.squeeze(axis)
    return summed


def rescaled(rows: Reals, *, best: bool) -> Reals:
    """As logarithms: alphas that sum to 1 or, with `best`, deltas of which the largest is 1."""
    return rows - (rows.max(axis=-1) if best else log_sum(rows))[:, None]


def shares(rows: Carried) -> Reals:
    """The share of each state in its row, (n, k): alpha(y) / sum of alpha."""
    logs = np.asarray(rows, np.float64)
    return np.exp(logs - log_sum(logs)[:, None])


def carried(rows: Carried, states: int) -> Reals:
    """The rows that paths carry, if a model with so many states can have made them."""
    logs = np.atleast_2d(np.asarray(rows, np.float64))
    if logs.shape[1] != states:
        raise ForagerError(f"model has {states} states, this path carries {logs.shape[1]}: {CURE}")
    if np.isnan(logs).any() or not np.isfinite(logs.max(axis=1, initial=-np.inf)).all():
        raise ForagerError(_IMPOSSIBLE)
    return logs


def finite(row: Floats) -> Floats:
    """A row that a link carried, if all its numbers are finite."""
    if not math.isfinite(row.sum()):
        raise ForagerError(_IMPOSSIBLE)
    return row


def observed(observations: Sparse, features: int) -> Sparse:
    """The observations, if they are of a model with so many features."""
    if observations.shape[1] != features:
        raise ForagerError(
            f"model has {features} features, this page is described by {observations.shape[1]}: "
            "retrain, or describe pages as in training"
        )
    return observations
