"""The least a crawler can do, to measure the others by: python -m bench.bare

3,000 pages of the reference work, breadth-first, with an aiohttp client and selectolax. No robots, no delays, no
critic, nothing stored. Two loops, which differ in what they do with a page:

    bare    what one writes with these two and the standard library: the page decoded and parsed, its text, its links
            with their anchors, urljoin and urldefrag for each
    least   the leanest we know: the hrefs alone, joined by ada-url; neither text nor anchors

20 workers share one queue and take what is next, whatever its host, so that none ever waits for a host; at most 20
connections are in use at once. The last line is one JSON object.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeAlias
from urllib.parse import urldefrag, urljoin

from ada_url import join_url
from aiohttp import ClientResponse, ClientSession, TCPConnector
from selectolax.lexbor import LexborHTMLParser

from bench.reference import PAGES, REPEATS, Client, Loopback, homes, once, served, summary

WORKERS = 20

Reader: TypeAlias = Callable[[str, ClientResponse], Awaitable[Iterable[str]]]  # the links of an answer


async def crawl(read: Reader, seeds: tuple[str, ...], most: int, port: int) -> int:
    """Pages fetched: `most`, or fewer if there are no more."""
    queue, seen, fetched = deque(seeds), set(seeds), 0

    async def work() -> None:
        nonlocal fetched
        while queue and fetched < most:
            fetched += 1
            url = queue.popleft()
            async with session.get(url) as response:
                links = await read(url, response)
            for link in links:
                if link not in seen:
                    seen.add(link)
                    queue.append(link)

    # more seeds than workers, or as many: no worker finds the queue empty at the start
    connector = TCPConnector(limit=WORKERS, resolver=Loopback(port))
    async with ClientSession(connector=connector, raise_for_status=True) as session:
        await asyncio.gather(*(work() for _ in range(WORKERS)))
    return fetched


async def text_and_links(url: str, response: ClientResponse) -> Iterable[str]:
    tree = LexborHTMLParser(await response.text())
    text, anchors = tree.body.text(separator=" ", strip=True) if tree.body else "", {}
    for node in tree.css("a[href]"):
        if href := node.attributes["href"]:
            anchors[urldefrag(urljoin(url, href)).url] = node.text(strip=True)
    assert text
    return anchors


async def hrefs(url: str, response: ClientResponse) -> Iterable[str]:
    nodes = LexborHTMLParser(await response.read()).css("a[href]")
    return [join_url(url, href) for node in nodes if (href := node.attributes["href"])]


READERS: dict[str, Reader] = {"bare": text_and_links, "least": hrefs}


def client(loop: str = "bare") -> Client:
    """For `bench.reference.measure`; the seeds are made here, not where it is timed."""
    return partial(crawl, READERS[loop], homes(), PAGES)


def main() -> None:
    print(f"{PAGES} pages, {WORKERS} connections, client and server on a core each")
    print(f"{'loop':<8}{'run':>4}{'CPU ms/page':>13}{'wall s':>9}{'pages':>8}{'MB':>7}")
    figures: dict[str, float] = {}
    with served("reference") as port:
        for loop in READERS:
            runs = []
            for number in range(1, REPEATS + 1):
                runs.append(run := once(client(loop), port))
                told = f"{run.cpu_ms_per_page:>13.3f}{run.wall:>9.2f}{run.pages:>8}{run.rss_mb:>7.0f}"
                print(f"{loop:<8}{number:>4}{told}", flush=True)
            found = summary(runs)
            figures |= {f"{loop}_ms": round(found.cpu_ms_per_page, 3)}
            figures |= {f"{loop}_ms_median": round(found.cpu_ms_median, 3)}
    print(json.dumps({**figures, "pages": PAGES}))


if __name__ == "__main__":
    main()
