"""Scrapy as it comes, on the reference work: python -m bench.stock_scrapy --python ENVIRONMENT/bin/python

CPU milliseconds a page of a spider that follows every link a LinkExtractor finds, robots.txt obeyed, 20 requests at
once, nothing stored, in turns with the two loops of bench.bare. Scrapy is no dependency of ours: `--python` names an
interpreter that has it. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

RUNS, CORE = 3, 0


def spider(port: int, pages: int, homes: list[str]) -> dict[str, float]:
    """Run in an interpreter that has Scrapy, and nothing of ours."""
    import scrapy  # type: ignore[import-not-found]
    from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]
    from scrapy.linkextractors import LinkExtractor  # type: ignore[import-not-found]
    from scrapy.resolver import CachingThreadedResolver  # type: ignore[import-not-found]
    from twisted.internet import defer, tcp  # type: ignore[import-not-found]

    connect = tcp.Client.__init__
    tcp.Client.__init__ = lambda self, host, _, *rest, **named: connect(self, "127.0.0.1", port, *rest, **named)
    CachingThreadedResolver.getHostByName = lambda self, name, timeout=None: defer.succeed("127.0.0.1")
    extractor = LinkExtractor()

    class Spider(scrapy.Spider):  # type: ignore[misc]
        name, start_urls = "stock", homes

        def parse(self, response: Any) -> Any:
            for link in extractor.extract_links(response):
                yield response.follow(link)

    many = {"CONCURRENT_REQUESTS": 20, "CONCURRENT_REQUESTS_PER_DOMAIN": 20, "DOWNLOAD_DELAY": 0}
    plain = {"LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": True}
    running = CrawlerProcess({**many, **plain, "CLOSESPIDER_PAGECOUNT": pages})
    crawler = running.create_crawler(Spider)
    running.crawl(crawler)
    began = time.process_time()
    running.start()
    fetched = crawler.stats.get_value("response_received_count")
    return {"pages": fetched, "ms": 1e3 * (time.process_time() - began) / fetched}


def main() -> None:
    from bench import bare
    from bench.reference import PAGES, homes, once, served

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, required=True, help="an interpreter that has Scrapy")
    python = parser.parse_args().python
    found: dict[str, list[float]] = {"bare": [], "least": [], "scrapy": []}
    with served("reference") as port:
        command = [str(python), __file__, str(port), str(PAGES), *homes()]
        for _ in range(RUNS):
            for loop in bare.READERS:
                found[loop].append(once(bare.client(loop), port).cpu_ms_per_page)
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found["scrapy"].append(json.loads(told.splitlines()[-1])["ms"])
            print({name: round(each[-1], 2) for name, each in found.items()}, flush=True)
    figures = {f"{name}_ms": round(min(each), 3) for name, each in found.items()}
    print(json.dumps({**figures, **{f"{name}_ms_median": round(median(each), 3) for name, each in found.items()}}))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {CORE})
        print(json.dumps(spider(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
    else:
        main()
