"""Learners that are kept from learning, to compare them with: never shown an outcome, or shown those of other pages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forager.types import Evidence, Learns, Miss, Strategy, Visit


def never_shown(strategy: Strategy) -> Strategy:
    """The same strategy; all that it could learn from passes it by."""
    vars(strategy)["observe"] = lambda outcome, evidence: None
    return strategy


def misled(strategy: Strategy, seed: int) -> Strategy:
    """The same strategy, but every page seems as relevant as some page seen so far, drawn by chance."""
    assert isinstance(strategy, Learns)
    draw, learn, seen = np.random.default_rng(seed), strategy.observe, list[tuple[float, float]]()

    def observe(outcome: Visit | Miss, evidence: Evidence) -> None:
        if isinstance(outcome, Visit):
            seen.append((outcome.judgement.relevance, outcome.judgement.raw))
            relevance, raw = seen[int(draw.integers(len(seen)))]
            known = replace(outcome.known, relevance=draw.permutation(outcome.known.relevance))
            outcome = replace(outcome, judgement=replace(outcome.judgement, relevance=relevance, raw=raw), known=known)
        if len(evidence.clues):
            drawn = np.array(seen, np.float32)[draw.integers(len(seen), size=len(evidence.clues))]
            evidence = replace(evidence, relevance=drawn[:, 1], calibrated=drawn[:, 0])
        learn(outcome, evidence)

    vars(strategy)["observe"] = observe
    return strategy
