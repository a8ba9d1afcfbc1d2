"""What a crawl is worth, by truth. Every figure says what it is of; what does not apply is None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import stdtrit

from forager.lab.protocol import Record
from forager.types import Mask

Figure: TypeAlias = float | None


def harvest(relevant: Mask, pages: int) -> Figure:
    """Share of relevant pages among the first so many; None if the crawl did not get so far."""
    return float(relevant[:pages].mean()) if 0 < pages <= len(relevant) else None


def new_harvest(record: Record, pages: int) -> Figure:
    """The same without the pages the critic had seen in training."""
    if not 0 < pages <= len(record.relevant):
        return None
    new = ~record.trained[:pages]
    return float(record.relevant[:pages][new].mean()) if new.any() else None


def pages_to(relevant: Mask, goal: float, reachable: int) -> int | None:
    """Pages fetched until a share of the reachable targets is found; None if it never was."""
    needed = int(np.ceil(goal * reachable))
    found = np.flatnonzero(relevant)
    return int(found[needed - 1]) + 1 if 0 < needed <= len(found) else None


def recall(relevant: Mask, pages: int, reachable: int) -> Figure:
    """Share of the reachable targets found among the first so many pages."""
    return float(relevant[:pages].sum() / reachable) if reachable else None


def mean(values: Sequence[Figure]) -> Figure:
    """None if any is None: a mean over some of the runs would be a mean over the lucky ones."""
    given = [value for value in values if value is not None]
    return float(np.mean(given)) if given and len(given) == len(values) else None


def half_width(values: Sequence[Figure]) -> Figure:
    """Half the width of the 95 % interval of the mean, by Student's t; None for a single run."""
    given = [value for value in values if value is not None]
    if len(given) < 2 or len(given) != len(values):
        return None
    spread = np.std(given, ddof=1) / np.sqrt(len(given))
    return float(stdtrit(len(given) - 1, 0.975) * spread)


def loss_reduction(harvest: Figure, baseline: Figure) -> Figure:
    """1 - loss/loss of the baseline, loss = 1 - harvest."""
    if harvest is None or baseline is None or baseline == 1:
        return None
    return 1 - (1 - harvest) / (1 - baseline)


def gap_closed(harvest: Figure, baseline: Figure, oracle: Figure) -> Figure:
    """How much of the way from the baseline to the oracle; None where that way is under .05."""
    if harvest is None or baseline is None or oracle is None or oracle - baseline < 0.05:
        return None
    return (harvest - baseline) / (oracle - baseline)


def paired(ours: Sequence[Figure], theirs: Sequence[Figure]) -> Mapping[str, Figure]:
    """The mean difference over runs with the same samples, with its half width."""
    if len(ours) != len(theirs) or None in ours or None in theirs:
        return {"difference": None, "ci": None}
    differences = [a - b for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    return {"difference": mean(differences), "ci": half_width(differences)}


def curve(records: Sequence[Record], points: int = 100) -> list[dict[str, Figure]]:
    """Harvest and the critic's expected loss along the crawl, means over the runs, at up to so many places."""
    return [_point(records, n) for n in _places(records, points)]


def recall_curve(records: Sequence[Record], reachable: int, points: int = 100) -> list[dict[str, Figure]]:
    """Share of the reachable targets found along the crawl, means over the runs."""
    return [
        {"pages": n, "recall": mean([recall(record.relevant, n, reachable) for record in records])}
        for n in _places(records, points)
    ]


def _places(records: Sequence[Record], points: int) -> list[int]:
    longest = max((len(record.relevant) for record in records), default=0)
    return list(dict.fromkeys(np.linspace(1, longest, min(points, longest)).round().astype(int).tolist()))


def _point(records: Sequence[Record], pages: int) -> dict[str, Figure]:
    reached = [record for record in records if len(record.relevant) >= pages]
    rates = [harvest(record.relevant, pages) for record in reached]
    losses = [float((1 - record.expected[:pages]).sum()) for record in reached]
    return {"pages": pages, "harvest": mean(rates), "ci": half_width(rates), "expected_loss": mean(losses)}
