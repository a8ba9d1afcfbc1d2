"""What path models cost in a crawl: python -m bench.scoring [--only memm,crf] [--runs 3]

Each model is taught as in bench.strategies and does the closed work of bench.crawl: 3,000 pages of 80 links over
sockets, with a clock on every stage. Measured is the CPU time for scoring all links of a page, averaged over the crawl.
The models and the bare loop take turns. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from bench import bare
from bench.crawl import Bench, Work
from bench.reference import once, served
from bench.strategies import learnt
from forager.crawl.build import STRATEGY_VERSION
from forager.store import models

PATH_MODELS = ("context-graph", "q-value", "hmm", "memm", "crf")


def taught(name: str, folder: Path) -> Path:
    """The file of a model, which was taught in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as anew:
        parts, _ = anew.submit(learnt, name).result()
    models.save(folder / f"{name}.npz", parts, kind=name, version=STRATEGY_VERSION)
    return folder / f"{name}.npz"


def measure(chosen: Sequence[str], runs: int) -> dict[str, dict[str, list[float]]]:
    """CPU ms a page: for scoring, and for the whole crawl."""
    found: dict[str, dict[str, list[float]]] = {name: {"score_ms": [], "crawl_ms": []} for name in chosen}
    found["bare"] = {"crawl_ms": []}
    with tempfile.TemporaryDirectory() as kept, served("reference") as port:
        bench = Bench(Path(kept))
        works = [Work("reference", strategy=name, taught=taught(name, Path(kept))) for name in chosen]
        for turn in range(runs):
            found["bare"]["crawl_ms"].append(once(bare.client(), port).cpu_ms_per_page)
            for work in works:
                _, figures = bench.run(port, work, watched=True)
                found[work.strategy]["score_ms"].append(figures["stages"]["score"])
                found[work.strategy]["crawl_ms"].append(figures["ms"])
                print(
                    f"{work.strategy:<15}{turn + 1:>4}{figures['stages']['score']:>10.3f}{figures['ms']:>10.3f}",
                    flush=True,
                )
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", help="path models, separated by commas", default=",".join(PATH_MODELS))
    options.add_argument("--runs", type=int, default=3)
    given = options.parse_args()
    print(f"{'strategy':<15}{'run':>4}{'score ms':>10}{'crawl ms':>10}")
    found = measure(given.only.split(","), given.runs)
    told = {
        name: {
            figure: {"best": round(min(each), 3), "median": round(median(each), 3)} for figure, each in figures.items()
        }
        for name, figures in found.items()
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
