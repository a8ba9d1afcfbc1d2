"""What it costs to teach the chain models: python -m bench.path_models [--sequences N] [--features M]

The sequences are made up: some of their features are noise, others tell the state. Each model is trained in its own
process. Measured are seconds of CPU, peak memory and iterations. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from multiprocessing import get_context
from typing import TypedDict

import numpy as np
from scipy.sparse import csr_matrix

from forager.learn.chains import crf, memm
from forager.learn.chains.paths import LINK, PAGE, Paths

LONGEST, A_PAGE, STATES, LABELS = 10, 100, 5, 26
TELLING = 50  # features that go with each state
SHOWN = 1_000  # paths for the CRF: people do not show more


class Cost(TypedDict):
    cpu_s: float
    peak_mb: float
    iterations: int


def seen(states: np.ndarray, count: int, features: int, rng: np.random.Generator) -> csr_matrix:
    """A_PAGE features for each position. Every fifth feature is one that goes with its state."""
    columns = rng.integers(0, features, (len(states), A_PAGE))
    telling = states[:, None] * TELLING + rng.integers(0, TELLING, (len(states), A_PAGE // 5))
    columns[:, : A_PAGE // 5] = telling % features
    offsets = np.arange(len(states) + 1) * A_PAGE
    matrix = csr_matrix((np.ones(columns.size), columns.ravel(), offsets), shape=(len(states), features))
    matrix.sum_duplicates()
    return matrix


def walks(sequences: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """States that never rise, and where each sequence ends."""
    lengths = rng.integers(2, LONGEST + 1, sequences)
    rows = np.sort(rng.integers(0, STATES, (sequences, LONGEST)), axis=1)[:, ::-1]
    states = rows[np.arange(LONGEST) < lengths[:, None]]
    return states, np.concatenate(([0], np.cumsum(lengths)))


def teach_memm(sequences: int, features: int) -> int:
    rng, done = np.random.default_rng(0), [0]
    states, offsets = walks(sequences, rng)
    paths = Paths(seen(states, STATES, features, rng), offsets)
    memm.train(paths, states, count=STATES, report=lambda iteration, value: done.append(iteration))
    return done[-1]


def teach_crf(sequences: int, features: int) -> int:
    """Dual states: LABELS states for pages and LABELS states for links; a path is page, link, page, …"""
    rng, done = np.random.default_rng(0), [0]
    pages = rng.integers(2, 6, sequences)
    offsets = np.concatenate(([0], np.cumsum(2 * pages - 1)))
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], 2 * pages - 1)
    kinds = np.where(place % 2 == 0, PAGE, LINK).astype(np.int32)
    states = rng.integers(0, LABELS, offsets[-1]) + LABELS * (kinds == LINK)
    paths = Paths(seen(states, 2 * LABELS, features, rng), offsets, kinds)
    of_states = np.repeat([PAGE, LINK], LABELS).astype(np.int32)
    crf.train(paths, states.astype(np.int32), of_states, report=lambda i, value: done.append(i))
    return done[-1]


def cost(name: str, sequences: int, features: int) -> Cost:
    start = time.process_time()
    iterations = {"memm": teach_memm, "crf": teach_crf}[name](sequences, features)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu_s": round(time.process_time() - start, 1), "peak_mb": round(peak), "iterations": iterations}


def main() -> None:
    options = argparse.ArgumentParser(description="What it costs to teach the chain models.")
    options.add_argument("--sequences", type=int, default=12_000)
    options.add_argument("--features", type=int, default=12_000)
    given = options.parse_args()
    found: dict[str, Cost] = {}
    for name, sequences in (("memm", given.sequences), ("crf", min(given.sequences, SHOWN))):
        with get_context("spawn").Pool(1) as pool:
            found[name] = pool.apply(cost, (name, sequences, given.features))
        told = "{cpu_s} s of CPU, {peak_mb} MB, {iterations} iterations".format_map(found[name])
        print(f"{name}: {sequences:,} sequences, {given.features:,} features: {told}")
    print(json.dumps({"teaching": found, **vars(given)}))


if __name__ == "__main__":
    main()
