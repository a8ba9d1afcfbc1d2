"""What hostile robots.txt files cost beside a plain one of the same size: `python -m bench.robots`.

Each file has 512,000 bytes and is made to be much work for one of the two: reading it, or matching a URL of 2,000
characters that was chosen for it. Columns: milliseconds of CPU time and how many times as long as the plain file takes;
the longest time that a loop beside it was held up; the bytes that are kept. The last lines read such files of many
hosts. The last line is JSON.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import resource
import string
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice

from forager.clock import WallClock
from forager.fetch.robots import LARGEST, Robots, RobotsRules, parse_robots
from forager.types import Answer, Fetch, Url

HOSTS = 400
_LETTERS = string.ascii_letters + string.digits
_CHANCE = random.Random(1)
_MIXED = "".join(_CHANCE.choices(_LETTERS, k=1_990))


def lines(each: Iterable[str]) -> bytes:
    """As many of the lines as a file may have."""
    found, size = [b"user-agent: *"], 14
    for line in each:
        found.append(line.encode())
        size += len(found[-1]) + 1
        if size >= LARGEST - 100:
            break
    return b"\n".join(found)


def wrong_order() -> Iterator[str]:
    """Patterns of two pieces that both occur, but never in this order."""
    pieces = sorted({_MIXED[at : at + 2] for at in range(len(_MIXED) - 1)})
    while True:
        a, b = _CHANCE.sample(pieces, 2)
        if _MIXED.find(b, _MIXED.find(a) + 2) < 0:
            yield f"allow:/*{a}*{b}"


def deep(pieces: int, letters: str) -> Iterator[str]:
    while True:
        yield f"allow:/*{'*'.join(_CHANCE.choices(letters, k=pieces))}*-"


# The plain file first. A path, and the file that is much work for it.
FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "plain": (_MIXED, lambda: lines(f"disallow: /{n:x}" for n in count())),
    "agents, then rules": (_MIXED, lambda: agents(LARGEST)),
    "empty lines": (_MIXED, lambda: b"\n" * LARGEST),
    "one line of stars": (_MIXED, lambda: lines(["disallow: /" + "*" * 500_000])),
    "escapes": (_MIXED, lambda: lines(f"disallow: /{'é' * 400}{n}" for n in count())),
    "sitemaps": (_MIXED, lambda: lines(f"sitemap: {n}" for n in count())),
    "absent pieces": (_MIXED, lambda: lines(f"allow:/*{n:x}-" for n in count())),
    "wrong order": (_MIXED, lambda: lines(wrong_order())),
    "10 pieces": ("abcd" * 490, lambda: lines(deep(10, "abcd"))),
    "100 pieces": ("ab" * 990, lambda: lines(deep(100, "ab"))),
    "990 pieces": ("ab" * 990, lambda: lines(deep(990, "ab"))),
}


def agents(size: int) -> bytes:
    half = size // 2
    return b"user-agent: *\n" * (half // 14) + b"".join(islice((b"disallow: /%d\n" % n for n in count()), half // 18))


def seconds(work: Callable[[], object]) -> float:
    """The best of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


async def longest_pause(work: Callable[[], RobotsRules], url: Url) -> float:
    """How long the loop is held up at most while a file is read and one URL is matched as a crawl does it."""
    clock, longest, done = WallClock(), 0.0, False

    async def tick() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not done:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest, last = max(longest, now - last - 0.001), now

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0.01)
    rules = await clock.beside(lambda _: work(), None)
    if rules.is_quick(url):
        rules.allows(url)
    else:
        await clock.beside(rules.allows, url)
    done = True
    await ticking
    return longest


def measured() -> dict[str, dict[str, float]]:
    rows: dict[str, dict[str, float]] = {}
    for name, (path, make) in FILES.items():
        body, url = make(), Url(f"http://h.test/{path}")

        def read(body: bytes = body) -> RobotsRules:
            return parse_robots(body, "Forager", Url("http://h.test/robots.txt"))

        rules = read()
        row = {
            "read ms": seconds(read) * 1e3,
            "match ms": seconds(lambda rules=rules, url=url: rules.allows(url)) * 1e3,  # type: ignore[misc]
            "pause ms": asyncio.run(longest_pause(read, url)) * 1e3,
            "kept bytes": rules.size,
        }
        plain = rows.get("plain", row)
        rows[name] = {**row, **{f"{key} / plain": row[f"{key} ms"] / plain[f"{key} ms"] for key in ("read", "match")}}
    return rows


def many_hosts() -> dict[str, float]:
    """Large files of many hosts: the memory that they take, and the time."""
    body = lines(wrong_order())

    async def fetch(url: Url) -> Answer:
        return Fetch(url, body)

    async def run() -> None:
        robots = Robots(fetch, "Forager", clock=WallClock())
        for n in range(HOSTS):
            await robots.rules(Url(f"http://h{n}.test/"))

    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    asyncio.run(run())
    after, spent = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time() - start
    return {"hosts": HOSTS, "seconds": spent, "more MB at the peak": (after - before) / 1024}


def main() -> None:
    rows = measured()
    print(
        f"{'file':20} {'read ms':>9} {'/ plain':>8} {'match ms':>9} {'/ plain':>8} {'pause ms':>9} {'kept bytes':>11}"
    )
    for name, row in rows.items():
        read, match = (f"{row[f'{key} ms']:9.1f} {row[f'{key} / plain']:8.2f}" for key in ("read", "match"))
        print(f"{name:20} {read} {match} {row['pause ms']:9.1f} {row['kept bytes']:11,.0f}")
    hosts = many_hosts()
    print(f"{HOSTS} hosts with such a file: {hosts['seconds']:.1f} s, {hosts['more MB at the peak']:.0f} MB more")
    packed = len(gzip.compress(agents(LARGEST // 2), 9))
    print(f"a file of agents, then rules, has {packed} bytes as gzip")
    print(json.dumps({"files": rows, "hosts": hosts}))


if __name__ == "__main__":
    main()
