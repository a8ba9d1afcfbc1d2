"""Weights of the default strategy without a family of signals: python -m forager_lab.ablation FILE --webs DIR

FILE is a matrix file with strategies like `default:without=meaning`. The weights that these need are fitted to what
pretraining has noted (`--noted`, in the folder of left-out weights), as those of `default` are, so nothing is crawled:

    f = 0 for the signals of the family, in all that was noted          so W and every w_k are 0 there
    x = (f - mean) / scale, with an endless scale                       so what is learnt in a crawl cannot use them

Without the family `source` there is no expert that goes by the source alone, either: see `left_out`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from forager.errors import ForagerError
from forager.registry import Spec
from forager_lab.families import columns
from forager_lab.left_out import LEARNT, WITHOUT
from forager_lab.matrix import KEPT
from forager_lab.matrix_file import read_matrix
from forager_lab.pretraining import Noted, fit, read_noted, write

NOTED = "noted.npz"
ENDLESS = 1e9

AllNoted = Mapping[tuple[str, str], Noted]


def unseen(noted: AllNoted, name: str) -> dict[tuple[str, str], Noted]:
    """What was noted elsewhere than on a web, or a topic of it: WEB, or WEB-TOPIC."""
    return {key: of for key, of in noted.items() if name not in (key[0], "-".join(key))}


def fit_without(noted: AllNoted, family: str) -> dict[str, object]:
    """Weights that know nothing of a family."""
    gone = columns(family)
    weights = fit({key: _blind(of, gone) for key, of in noted.items()})
    scale = weights["scale"]
    assert isinstance(scale, list)
    return {**weights, "scale": [ENDLESS if at in gone else each for at, each in enumerate(scale)]}


def _blind(noted: Noted, gone: Sequence[int]) -> Noted:
    signals = noted.signals.copy()
    signals[:, gone] = 0
    return replace(noted, signals=signals)


def wanted(file: Path, webs: Sequence[Path], kept: Path) -> list[tuple[str, str, Path]]:
    """What a matrix needs: the name of what is left out, the family, and the file for the weights."""
    found: dict[tuple[str, str, Path], None] = {}
    for plan in read_matrix(file, webs, kept=kept).plans.values():
        for strategy in map(Spec.parse, plan.strategies):
            weights = plan.left_out.file(strategy) if plan.left_out else None
            if plan.left_out and weights and strategy.name == LEARNT and WITHOUT in strategy.options:
                found[plan.left_out.name, str(strategy.options[WITHOUT]), weights] = None
    return list(found)


def write_ablated(file: Path, webs: Sequence[Path], kept: Path) -> list[Path]:
    """Write all weights without a family that a matrix needs."""
    todo = wanted(file, webs, kept)
    noted: dict[Path, AllNoted] = {}
    for done, (name, family, weights) in enumerate(todo, 1):
        source = weights.parent.parent / NOTED
        if not source.exists():
            raise ForagerError(f"{source}: there is no such file; `make left-out WEBS=DIR` makes it")
        if source not in noted:
            noted[source] = read_noted(source)
        write(fit_without(unseen(noted[source], name), family), weights)
        print(f"{done} of {len(todo)}: {weights}", file=sys.stderr)
    return [weights for *_, weights in todo]


def main() -> None:
    said = argparse.ArgumentParser(description="Fit weights of the default strategy without a family of signals.")
    said.add_argument("file", type=Path, help="a matrix file with strategies like default:without=meaning")
    said.add_argument("--webs", type=Path, action="append", default=[], help="a folder that holds recorded webs")
    said.add_argument("--keep", type=Path, default=KEPT, help="the folder of finished crawls")
    given = said.parse_args()
    try:
        write_ablated(given.file, given.webs, given.keep)
    except ForagerError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
