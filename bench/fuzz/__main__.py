"""Read made-up input of every kind, and print a table: python -m bench.fuzz [--inputs N] [--jobs N] [--only KIND]

An input that was not read as it should be is written to a file, and the exit is 1. `--only KIND --seed N` reads one
input again, here and without limits.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import gettempdir

from bench.fuzz.inputs import MAKERS, made
from bench.fuzz.run import Defect, Tally, fuzz, rows
from bench.fuzz.targets import OPEN

INPUTS = 1_000_000
EVERY = 60.0  # seconds
SHARES = {kind: 10 if kind in ("url", "robots", "sitemap") else 6 for kind in MAKERS}  # those are quick


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=INPUTS, help="of all kinds together")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", action="append", choices=list(MAKERS), help="a kind; may be given again")
    parser.add_argument("--seed", type=int, help="read this input again")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--out", type=Path, default=Path(gettempdir(), "forager-fuzz"))
    given = parser.parse_args()
    kinds = given.only or list(MAKERS)
    if given.seed is not None:
        return again(kinds[0], given.seed) if given.only else parser.error("--seed needs --only")
    tallies = []
    for kind in kinds:
        count = -(-given.inputs * SHARES[kind] // sum(SHARES[each] for each in kinds))
        tally = fuzz(kind, range(given.first, given.first + count), given.jobs, tell=Progress(count).show)
        tallies.append(tally)
        print("\n".join(list(rows([tally]))[0 if kind == kinds[0] else 2 :]), flush=True)
        for defect in tally.defects:
            print(told(defect, given.out), file=sys.stderr, flush=True)
    print(f"\n{sum(tally.inputs for tally in tallies):,} inputs in {sum(t.seconds for t in tallies) / 60:.0f} minutes")
    return 1 if any(tally.defects for tally in tallies) else 0


class Progress:
    """Says now and then how far it is."""

    def __init__(self, count: int) -> None:
        self._count, self._next = count, EVERY

    def show(self, tally: Tally) -> None:
        if tally.seconds >= self._next:
            self._next = tally.seconds + EVERY
            print(f"{tally.kind}: {tally.inputs:,} of {self._count:,}", file=sys.stderr, flush=True)


def told(defect: Defect, folder: Path) -> str:
    """Write the input of a defect, and say how to read it again."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{defect.kind}-{defect.seed}"
    file.write_bytes(made(defect.kind, defect.seed))
    return f"{file}: {defect.what}\n  again: python -m bench.fuzz --only {defect.kind} --seed {defect.seed}"


def again(kind: str, seed: int) -> int:
    given = made(kind, seed)
    print(f"{len(given):,} bytes: {given[:300]!r}")
    with OPEN[kind]() as target:
        print(target(given))
    return 0


if __name__ == "__main__":
    sys.exit(main())
