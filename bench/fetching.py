"""What one request costs in the fetcher of the network: python -m bench.fetching [--runs 5]

CPU milliseconds a page of `HttpFetcher.fetch` alone, client and server on a core each: 3,000 pages of the reference
work on 20 hosts, one worker a host. Nothing is parsed or stored. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from functools import partial

from bench.reference import PAGES, SEED, Run, once, served
from forager.fetch.http import HttpFetcher
from forager.types import Fetch, Url
from forager.web.urls import host
from forager_lab.webs.procedural import ProceduralWeb
from forager_lab.webs.server import PLANS

HOSTS = 20


def addresses() -> list[list[Url]]:
    """The pages of the work, a list a host."""
    by_host: defaultdict[str, list[Url]] = defaultdict(list)
    for url, _ in ProceduralWeb(PLANS["reference"](SEED)).labels():
        by_host[host(url)].append(url)
    return sorted(by_host.values(), key=len, reverse=True)[:HOSTS]


async def fetch_all(by_host: list[list[Url]], port: int) -> int:
    """All of them, one after the other of each host; how many there were."""
    async with HttpFetcher("bench@web.test", resolve={"*.web.test": f"127.0.0.1:{port}"}) as fetcher:

        async def one_host(urls: list[Url]) -> int:
            return sum([isinstance(await fetcher.fetch(url), Fetch) for url in urls])

        return sum(await asyncio.gather(*map(one_host, by_host)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    by_host = [urls[: PAGES // HOSTS] for urls in addresses()]
    runs: list[Run] = []
    with served("reference") as port:
        for _ in range(parser.parse_args().runs):
            runs.append(run := once(partial(fetch_all, by_host), port))
            print(f"{run.cpu_ms_per_page:8.3f} ms/page {run.pages:>6} pages {run.rss_mb:6.0f} MB", flush=True)
    print(json.dumps({"fetch_ms": round(min(run.cpu_ms_per_page for run in runs), 4)}))


if __name__ == "__main__":
    main()
