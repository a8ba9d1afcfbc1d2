"""The apprentice with a million links waiting: python -m bench.sweeps [--waiting 1000000]

A crawl of 10,000 hosts is made up in memory, with 80 links a page and 100 features a link; clues are in a file as in a
project. Then the loop ticks while a sweep runs in a thread, and every pause between two ticks is noted. Measured are:
the seconds of a sweep; the longest pause of the loop during it, the swap included; the links scored again in a second;
the peak of resident memory. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.small_web import WordCritic
from tests.visits import page_of, visit_of

from forager.crawl.forecast import Forecaster
from forager.crawl.health import Health
from forager.crawl.state import CrawlState
from forager.crawl.step import Step
from forager.crawl.sweep import Sweep
from forager.frontier import LaneFrontier
from forager.frontier.facts import Facts
from forager.strategies.apprentice.strategy import Apprentice
from forager.types import Evidence, Judgement, Ragged, ScoredLinks, Url
from forager.web.scope import Scope

LINKS, FEATURES, HOSTS, WORDS = 80, 100, 10_000, 50_000
TICK = 0.001  # seconds


def taught() -> Apprentice:
    """An apprentice that has learnt something, so that there is something to compute."""
    rng = np.random.default_rng(1)
    strategy = Apprentice(batch=1, combine="best")
    clues = Ragged.of([rng.integers(0, WORDS, FEATURES).astype(np.uint32) for _ in range(2_000)])
    relevance = rng.random(2_000).astype(np.float32)
    strategy.observe(visit_of(page_of("http://a.test/", "<p>a page")), Evidence(clues, relevance, relevance))
    return strategy


def waiting(facts: Facts, step: Step, count: int) -> None:
    """Pages on one host, each with links to URLs never seen before."""
    rng = np.random.default_rng(2)
    facts.sow([Url("http://hub.test/")])
    for page in range(-(-count // LINKS)):
        first = len(facts.addresses)
        source = 0 if page == 0 else first - 1
        trace = facts.trace(source, source, page, 0.0)
        facts.judge(trace, Judgement(0.5, 0.5, np.empty(0, np.float32), ""))
        urls = [
            Url(f"http://www.host-{id * 7919 % HOSTS}.test/section/page-{id}.html")
            for id in range(first, first + LINKS)
        ]
        ids = facts.intern(urls)
        clues = Ragged(
            rng.integers(0, WORDS, LINKS * FEATURES).astype(np.uint32), np.arange(LINKS + 1, dtype=np.int64) * FEATURES
        )
        scored = ScoredLinks(rng.normal(size=LINKS).astype(np.float32), clues=clues)
        facts.found(source, ids, scored, step.offer(ids, scored.scores))
        facts.evidence()


async def sweep(facts: Facts, frontier: LaneFrontier, step: Step, strategy: Apprentice) -> tuple[float, float]:
    """Seconds that a sweep takes, and the longest pause of the loop meanwhile."""
    longest, going = 0.0, True

    async def tick() -> None:
        nonlocal longest
        before = time.perf_counter()
        while going:
            await asyncio.sleep(TICK)
            now = time.perf_counter()
            longest, before = max(longest, now - before - TICK), now

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0.05)
    began, longest = time.perf_counter(), 0.0
    step.swap(*await Sweep(strategy, strategy.combine.policy, facts, frontier).run())
    await asyncio.sleep(2 * TICK)
    took, going = time.perf_counter() - began, False
    await ticking
    return took, longest


def resident() -> float:
    """The most megabytes so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--waiting", type=int, default=1_000_000)
    options = parser.parse_args()
    strategy = taught()
    with tempfile.TemporaryDirectory() as folder:
        facts, frontier = Facts(strategy.combine, folder=Path(folder)), LaneFrontier(strategy.combine)
        state = CrawlState(facts, frontier, Health(0, 0.0), Forecaster(strategy))
        step = Step(state, critic=WordCritic(), strategy=strategy, scope=Scope())
        waiting(facts, step, options.waiting)
        before = resident()
        runs = [asyncio.run(sweep(facts, frontier, step, strategy)) for _ in range(3)]
        peak = resident()
    took, pause = min(runs)[0], max(longest for _, longest in runs)
    print(
        f"{len(frontier):,} links wait, {FEATURES} features each; {before:.0f} MB before a sweep, {peak:.0f} MB at most"
    )
    print(f"a sweep takes {took:.2f} s, {len(frontier) / took:,.0f} links a second; longest pause {1e3 * pause:.0f} ms")
    figures = {"waiting": len(frontier), "sweep_s": round(took, 3), "longest_pause_ms": round(1e3 * pause, 1)}
    print(json.dumps({**figures, "rss_mb": round(peak), "rss_mb_before": round(before)}))


if __name__ == "__main__":
    main()
