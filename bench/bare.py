"""The least a crawler can do, to measure the others by: python -m bench.bare

3,000 pages of the reference work with an aiohttp client and selectolax: GET, parse, join every href, a set of those
seen, breadth-first. No robots, no delays, no critic, nothing stored. 20 workers share one queue and take what is next,
whatever its host, so that none ever waits for a host; at most 20 connections are in use at once.
The last line is one JSON object.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from functools import partial

from ada_url import join_url
from aiohttp import ClientSession, TCPConnector
from selectolax.lexbor import LexborHTMLParser

from bench.reference import PAGES, REPEATS, Client, Loopback, homes, once, served, summary

WORKERS = 20


async def crawl(seeds: tuple[str, ...], most: int, port: int) -> int:
    """Pages fetched: `most`, or fewer if there are no more."""
    queue, seen, fetched = deque(seeds), set(seeds), 0

    async def work() -> None:
        nonlocal fetched
        while queue and fetched < most:
            fetched += 1
            url = queue.popleft()
            async with session.get(url) as response:
                body = await response.read()
            for link in links(url, body):
                if link not in seen:
                    seen.add(link)
                    queue.append(link)

    # more seeds than workers, or as many: no worker finds the queue empty at the start
    connector = TCPConnector(limit=WORKERS, resolver=Loopback(port))
    async with ClientSession(connector=connector, raise_for_status=True) as session:
        await asyncio.gather(*(work() for _ in range(WORKERS)))
    return fetched


def links(url: str, body: bytes) -> list[str]:
    hrefs = (node.attributes["href"] for node in LexborHTMLParser(body).css("a[href]"))
    return [join_url(url, href) for href in hrefs if href]


def client() -> Client:
    """For `bench.reference.measure`; the seeds are made here, not where it is timed."""
    return partial(crawl, homes(), PAGES)


def main() -> None:
    print(f"bare loop: {PAGES} pages, {WORKERS} connections, client and server on a core each")
    print(f"{'run':>4}{'CPU ms/page':>13}{'wall s':>9}{'pages':>8}{'MB':>7}")
    runs = []
    with served("reference") as port:
        for number in range(1, REPEATS + 1):
            runs.append(run := once(client(), port))
            print(f"{number:>4}{run.cpu_ms_per_page:>13.3f}{run.wall:>9.2f}{run.pages:>8}{run.rss_mb:>7.0f}")
    found = summary(runs)
    figures = {"bare_ms": round(found.cpu_ms_per_page, 3), "bare_ms_median": round(found.cpu_ms_median, 3)}
    print(json.dumps({**figures, "pages": found.pages}))


if __name__ == "__main__":
    main()
