"""How the frontier behaves as it grows: `python -m bench.frontier [--sizes 100000,1000000,10000000]`.

Every size runs in a process of its own, so that its memory is its own. Links come as a page offers them, 80 at a time,
over 10,000 hosts of very unequal size, some of them found before. An add is all that finding a link costs: hashing the
URL, looking the hash up, remembering it, writing the new URLs to a file and queueing them. Rates are per link offered.
Times are processor time, user and system, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from typing import IO, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from forager.frontier import HashTable, LaneFrontier
from forager.types import Candidate, Floats, Ids

HOSTS = 10_000
OFFERED = 80
PACE = 1 / 2000  # seconds between two pages
DELAY = 1.0
Report: TypeAlias = dict[str, float]


def resident(line: str) -> float:
    """Memory in MB, as the system counts it: VmRSS is now, VmHWM the most so far."""
    with open("/proc/self/status") as status:
        return next(int(text.split()[1]) for text in status if text.startswith(line)) / 1024


class Web:
    """Random links. Host sizes follow a zipf law; there are twice as many URLs as will be known."""

    def __init__(self, size: int) -> None:
        self._rng = np.random.default_rng(0)
        self._hosts = (self._rng.zipf(1.3, 1_000_000) % HOSTS).astype(np.int32)
        self._pages = 2 * size

    def offer(self) -> tuple[Ids, list[bytes], Floats]:
        pages = self._rng.integers(0, self._pages, OFFERED)
        hosts = self._hosts[pages % len(self._hosts)]
        urls = [
            b"http://www.host-%d.example.org/section/%d/some-page-title-%d.html" % (host, page % 97, page)
            for host, page in zip(hosts.tolist(), pages.tolist(), strict=True)
        ]
        return hosts, urls, self._rng.normal(size=OFFERED).astype(np.float32)


class Crawl:
    """What a crawl does with its frontier."""

    def __init__(self, texts: IO[bytes]) -> None:
        self.ids, self.frontier = HashTable(), LaneFrontier()
        self.texts = texts
        self.known = 0
        self.now = 0.0

    def add(self, hosts: Ids, urls: list[bytes], scores: Floats) -> None:
        hashes = np.fromiter(map(xxhash.xxh3_64_intdigest, urls), np.uint64, len(urls))
        ids = self.ids.lookup(hashes)
        rows = np.flatnonzero(ids < 0)
        if len(rows):
            new, first, inverse = np.unique(hashes[rows], return_index=True, return_inverse=True)
            fresh = np.arange(self.known, self.known + len(new), dtype=np.int32)
            self.ids.insert(new, fresh)
            ids[rows] = fresh[inverse]
            self.known += len(new)
            self.texts.write(b"".join([urls[row] for row in rows[first].tolist()]))
        self.frontier.add(ids, hosts, hosts, scores)

    def acquire(self) -> Candidate:
        while (candidate := self.frontier.acquire(self.now)) is None:
            due = self.frontier.next_due()
            assert due is not None
            self.now = max(due, self.now + PACE)
        return candidate

    def finish(self, candidate: Candidate) -> None:
        self.frontier.release(candidate, self.now, DELAY, page=True)
        self.now += PACE


def fill(crawl: Crawl, web: Web, size: int) -> Report:
    spent, slowest, offered, told = 0.0, 0.0, 0, 0
    while crawl.known < size:
        offer = web.offer()
        start = time.process_time()
        crawl.add(*offer)
        took = time.process_time() - start
        spent += took
        slowest = max(slowest, took)
        offered += OFFERED
        if crawl.known >= told + size // 5:
            told = crawl.known
            print(f"  {told:>10,} URLs, {offered / spent:>9,.0f} adds/s, {resident('VmRSS'):,.0f} MB", file=sys.stderr)
    return {"add_per_s": round(offered / spent), "worst_add_ms": round(1e3 * slowest, 1)}


def taking(crawl: Crawl, count: int) -> tuple[float, float]:
    """The seconds of so many acquires and releases, and of the longest of them."""
    times = np.empty(count)
    for turn in range(count):
        start = time.process_time()
        crawl.finish(crawl.acquire())
        times[turn] = time.process_time() - start
    return float(times.sum()), float(times.max())


def wrong(crawl: Crawl, count: int) -> int:
    """How many acquires differ from what a scan of all waiting links finds."""
    queues: NDArray[np.int32] = crawl.frontier._links.queue.view
    places = crawl.frontier._places.of
    wrong = 0
    for _ in range(count):
        waiting = crawl.frontier.waiting
        candidate = crawl.acquire()
        free = np.array([place.lane.until <= crawl.now for place in places])
        able = waiting[free[queues[waiting]]]
        scores = crawl.frontier.scores(able)
        wrong += candidate.id != int(able[scores.argmax()])  # of equal scores the first has the smallest id
        crawl.finish(candidate)
    return wrong


def measure(size: int) -> Report:
    with tempfile.TemporaryFile() as texts:
        web, crawl = Web(size), Crawl(texts)
        before = resident("VmRSS")
        report = fill(crawl, web, size)
        report["rss_mb"] = round(resident("VmRSS"))
        report["peak_mb"] = round(resident("VmHWM"))
        report["bytes_per_url"] = round((resident("VmRSS") - before) * 2**20 / crawl.known, 1)
        count = min(30_000, size // 10)
        spent, slowest = taking(crawl, count)
        report["acquire_per_s"] = round(count / spent)
        report["worst_acquire_ms"] = round(1e3 * slowest, 1)
        ids = crawl.frontier.waiting
        scores = np.random.default_rng(1).normal(size=len(ids)).astype(np.float32)
        start = time.process_time()
        crawl.frontier.reorder(ids, scores)
        report["reorder_ms"] = round(1e3 * (time.process_time() - start), 1)
        del ids, scores
        report["worst_acquire_after_ms"] = round(1e3 * taking(crawl, 2_000)[1], 1)
        report["wrong"] = wrong(crawl, 200)
        report["peak_after_reorder_mb"] = round(resident("VmHWM"))
        return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100000,1000000,10000000")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    reports: dict[str, Report] = {}
    for size in options.sizes.split(","):
        print(f"{int(size):,} URLs", file=sys.stderr)
        command = [sys.executable, "-m", "bench.frontier", "--one", size]
        reports[size] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    first, last = (list(reports.values())[at] for at in (0, -1))
    print(f"{'':>24}" + "".join(f"{int(size):>14,}" for size in reports))
    for name in first:
        print(f"{name:>24}" + "".join(f"{report[name]:>14,}" for report in reports.values()))
    ratios = {f"{verb}_ratio": round(first[f"{verb}_per_s"] / last[f"{verb}_per_s"], 2) for verb in ("add", "acquire")}
    print(json.dumps({"frontier": reports, **ratios}))


if __name__ == "__main__":
    main()
