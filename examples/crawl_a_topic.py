"""Crawl the live web for a topic. Links on relevant pages are followed first.

python examples/crawl_a_topic.py --contact you@example.org --keywords owl nest --seeds https://example.org/birds
"""

from argparse import ArgumentParser

from forager import Crawl, CrawlConfig
from forager.config import FetchConfig, StopConfig
from forager.critics import Predicate

options = ArgumentParser(description="Crawl the live web for a topic.")
options.add_argument("--contact", required=True, help="your mail address or page; the servers see it")
options.add_argument("--keywords", nargs="+", required=True, help="a page with one of these words is relevant")
options.add_argument("--seeds", nargs="+", required=True, help="the addresses to start from")
options.add_argument("--pages", type=int, default=100, help="how many pages to fetch")
options.add_argument("--server", help="ask this address for every host, e.g. 127.0.0.1:8000 (to try it offline)")
given = options.parse_args()

config = CrawlConfig(
    seeds=given.seeds,
    stop=StopConfig(pages=given.pages),
    fetch=FetchConfig(contact=given.contact, resolve={"*": given.server} if given.server else {}),
)
crawl = Crawl(config, critic=Predicate(keywords=given.keywords))
for visit in crawl:
    print(f"{visit.judgement.relevance:.2f}  {visit.page.url}  {visit.page.title}")
print(f"{crawl.stats.pages} pages, {crawl.stats.requests} requests; {crawl.stats.stopped}")
