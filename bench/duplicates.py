"""What recognising copies and traps costs: `python -m bench.duplicates`.

Columns: microseconds of CPU time, the best of seven. Pages have 600 words of random text and 100 links. The last line
is JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np

from forager.frontier.twins import SKETCH, Twins, sketch_of
from forager.types import Url
from forager.web.traps import Traps

PAGES = 100_000
_CHANCE = np.random.default_rng(1)


def microseconds(work: Callable[[], object], times: int = 200) -> float:
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        for _ in range(times):
            work()
        best = min(best, time.process_time() - start)
    return round(best / times * 1e6, 1)


def filled() -> tuple[Twins, float]:
    """Many pages, and what one of them takes to be looked for and added."""
    twins = Twins()
    start = time.process_time()
    for id in range(PAGES):
        digest, sketch = id.to_bytes(20, "big"), _CHANCE.bytes(SKETCH)
        twins.find(digest, sketch)
        twins.add(id, digest, sketch)
    return twins, round((time.process_time() - start) / PAGES * 1e6, 1)


def crowded() -> Twins:
    """Pages that share all their bands."""
    twins, bands = Twins(), _CHANCE.bytes(16)
    for id in range(10_000):
        twins.add(id, id.to_bytes(20, "big"), bands + _CHANCE.bytes(SKETCH - 16))
    return twins


def see(traps: Traps, make: str, count: int = 30) -> None:
    for n in range(count):
        traps.saw(Url(make.format(n)), None, relevance=0.0, twin=True, thin=False, brought=())


def main() -> None:
    rows: dict[str, float] = {}
    for count in (40, 200, 600, 2_000, 20_000):
        words = _CHANCE.integers(0, 1 << 32, count, dtype=np.uint32)
        rows[f"sketch of {count:,} words"] = microseconds(lambda words=words: sketch_of(words))  # type: ignore[misc]
    twins, rows["find and add a page"] = filled()
    rows[f"find among {PAGES:,}"] = microseconds(lambda: twins.find(b"new", _CHANCE.bytes(SKETCH)))
    crowd = crowded()
    some = crowd._sketches.view[77].tobytes()[:16] + bytes(SKETCH - 16)
    rows["find among 10,000 in one bucket"] = microseconds(lambda: crowd.find(b"new", some))
    own = [Url(f"https://www.a.test/section/{n}/article-{n * 37}") for n in range(80)]
    links = [*own, *(Url(f"https://other{n}.test/x") for n in range(20))]
    traps = Traps()
    rows["admit 100 links, nothing is capped"] = microseconds(lambda: traps.admit(links))
    see(traps, "https://b.test/view?id={}")
    rows["admit, another site has a trap"] = microseconds(lambda: traps.admit(links))
    see(traps, "https://www.a.test/view?id={}")
    rows["admit, this site has another trap"] = microseconds(lambda: traps.admit(links))
    see(traps, "https://www.a.test/section/{0}/article-{0}")
    rows["admit, 80 links are of a trap"] = microseconds(lambda: traps.admit(links))
    brought = own[:20]
    page = Url("https://www.c.test/section/5/article-7")
    rows["saw a page"] = microseconds(
        lambda: traps.saw(page, brought[0], relevance=0.1, twin=False, thin=False, brought=brought)
    )
    for name, value in rows.items():
        print(f"{name:40} {value:8.1f}")
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
