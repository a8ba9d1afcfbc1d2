"""How long naive Bayes takes to train and to judge, and how large it is: `python -m bench.critics [--small]`.

The pages are artificial: their words follow Zipf's law over a million words, and half of the rarer words on a page are
of its class alone. A page of 3,000 words has about 1,300 different ones. The last line is JSON.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from forager.critics.naive_bayes import NaiveBayes
from forager.store import models
from forager.types import Links, Page, Ragged, Terms, Url

VOCABULARY = 1_000_000
ZIPF = 1.08
COMMON = 2_000  # the most frequent words, which belong to no class
TRAINING_WORDS, PAGE_WORDS = 1_000, 3_000

_NOTHING = np.empty(0, np.int32)
_LINKS = Links((), (), _NOTHING, _NOTHING, (), ())


def words(rng: np.random.Generator, n: int, topic: int, topics: int) -> Terms:
    """A page's terms: ranks by the inverse of Zipf's distribution, hashed."""
    upper = 1 - rng.random(n) * (1 - VOCABULARY ** (1 - ZIPF))
    rank = (upper ** (1 / (1 - ZIPF))).astype(np.uint64)
    own = (rank > COMMON) & (rng.random(n) < 0.5)
    rank[own] = rank[own] // topics * topics + topic
    rank = (rank ^ (rank >> np.uint64(7))) * np.uint64(0x9E3779B97F4A7C15)
    rank = (rank ^ (rank >> np.uint64(29))) * np.uint64(0xD6E8FEB86659FD93)
    terms: Terms = (rank >> np.uint64(32)).astype(np.uint32)
    return terms


def page(terms: Terms) -> Page:
    leaf = Ragged(terms, np.array([0, len(terms)], np.int64))
    return Page(Url("http://a.test/"), "", ("",), ("p",), leaf, np.zeros(1, np.uint8), _LINKS, (), "", "", None, "")


def pages(classes: int, docs: int, mean_words: int, seed: int = 0) -> Iterator[Page]:
    """Page i is of class i mod classes; lengths are log-normal."""
    rng = np.random.default_rng(seed)
    for i in range(docs):
        n = int(mean_words * rng.lognormal(-0.32, 0.8)) + 1
        yield page(words(rng, n, i % classes, classes))


def labels(classes: int, docs: int) -> Iterator[str]:
    return (f"topic.{i % classes:03}" for i in range(docs))


@cache
def nb_with(classes: int, docs: int) -> NaiveBayes:
    """A critic of so many classes, trained on so many pages; the first tenth of the classes, at least one, in focus."""
    focus = [f"topic.{i:03}" for i in range(max(1, classes // 10))]
    critic = NaiveBayes(focus=focus)
    critic.fit(pages(classes, docs, TRAINING_WORDS), labels(classes, docs))
    return critic


def judge_ms(critic: NaiveBayes, rounds: int = 3) -> float:
    """CPU milliseconds to judge one page of 3,000 words, the best of some rounds."""
    rng, topics = np.random.default_rng(1), len(critic.classes)
    judged = [page(words(rng, PAGE_WORDS, i % topics, topics)) for i in range(200)]
    critic.judge(judged[:20])
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        critic.judge(judged)
        best = min(best, time.process_time() - start)
    return 1e3 * best / len(judged)


def measure(classes: int, docs: int) -> dict[str, float]:
    """Everything about one size, in this process."""
    start = time.process_time()
    for _ in pages(classes, docs, TRAINING_WORDS):
        pass
    made = time.process_time() - start
    start = time.process_time()
    critic = nb_with(classes, docs)
    trained = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    parts = critic.parts()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        start = time.perf_counter()
        models.save(path, parts, kind="naive-bayes", version=1)
        saved = time.perf_counter() - start
        size = path.stat().st_size
        start = time.perf_counter()
        critic.from_parts(models.load(path, kind="naive-bayes", version=1))
        loaded = time.perf_counter() - start
    return {
        "classes": classes,
        "docs": docs,
        "train_s": round(trained - made, 1),  # of the CPU, without making the pages up
        "train_peak_mb": round(peak),
        "terms": len(parts["terms"]),
        "pairs": len(parts["entries"]),
        "file_mb": round(size / 2**20, 1),
        "ram_mb": round(critic.size / 2**20, 1),
        "save_s": round(saved, 2),
        "load_s": round(loaded, 2),
        "judge_ms": round(judge_ms(critic), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of the pages")
    parser.add_argument("--one", nargs=2, type=int, metavar=("CLASSES", "DOCS"), help="one size, in this process")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*given.one)))
        return
    sizes = [(20, 600), (500, 15_000)] if given.small else [(20, 6_000), (500, 150_000)]
    results = []
    for classes, docs in sizes:  # a process each, so that the peak of memory is its own
        command = [sys.executable, "-m", "bench.critics", "--one", str(classes), str(docs)]
        results.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        for name, value in results[-1].items():
            print(f"{name:14} {value:>14,}")
        print()
    print(json.dumps({"bench": "critics", "results": results}))


if __name__ == "__main__":
    main()
