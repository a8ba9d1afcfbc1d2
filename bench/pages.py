"""Real pages for the benches, and what each stage of parsing costs: python -m bench.pages"""

from __future__ import annotations

import gc
import os
import random
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from fastwarc.warc import ArchiveIterator, WarcRecordType
from selectolax.lexbor import LexborHTMLParser

from forager.types import Fetch, Page
from forager.web import text
from forager.web.page import from_bytes, parse, to_bytes
from forager.web.page.bounds import tame
from forager.web.page.decode import decode
from forager.web.page.tree import TreeWalk
from forager.web.urls import RULES, UrlRules
from forager_lab.webs.procedural import ProceduralWeb, WebPlan

S = TypeVar("S")
T = TypeVar("T")

WIKISPEEDIA = Path(os.environ.get("FORAGER_WEBS", "webs")) / "wikispeedia/wikispeedia.warc.gz"  # if it is there


def sample(n: int = 150, warc: Path = WIKISPEEDIA, smallest: int = 35_000, largest: int = 52_000) -> list[Fetch]:
    """The first n pages of that size in the WARC. If there is no WARC, pages that are made up."""
    if not warc.exists():
        return [synthetic(seed) for seed in range(n)]
    pages: list[Fetch] = []
    with warc.open("rb") as stream:
        for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
            body, url = record.reader.read(), RULES.canonical(record.headers["WARC-Target-URI"])
            if url and smallest < len(body) < largest:
                pages.append(Fetch(url, body, "text/html", record.http_charset or ""))
            if len(pages) == n:
                break
    return pages


def synthetic(seed: int, links: int = 80, host: str = "example.org") -> Fetch:
    """A page of about 43 KB with a menu, paragraphs with links in them, a table and a footer."""
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 10))) for _ in range(800)]

    def words(k: int) -> str:
        return " ".join(chance.choices(vocabulary, k=k))

    def link() -> str:
        return f'<a href="/p/{chance.randrange(10**6)}.html" title="{words(2)}">{words(2)}</a>'

    quarter = links // 4
    menu = "".join(f"<li>{link()}</li>" for _ in range(quarter))
    body = "".join(f"<p>{words(60)} <b>{words(2)}</b> {link()} {words(30)}</p>\n" for _ in range(links - 2 * quarter))
    rows = "".join(f"<tr><td>{words(3)}</td><td>{link()}</td></tr>\n" for _ in range(quarter))
    markup = (
        f"<html lang=en><head><title>{words(4)}</title></head><body><ul id=menu>{menu}</ul>"
        f"<div id=content><h1>{words(3)}</h1>{body}<table>{rows}</table></div><div id=footer>{words(20)}</div>"
    )
    url = RULES.canonical(f"http://{host}/p/{seed}.html")
    assert url is not None
    return Fetch(url, markup.encode())


def reference(n: int = 150) -> list[Fetch]:
    """Pages of the reference web: 43 KB, 80 links."""
    web = ProceduralWeb(WebPlan.reference())
    pages, waiting = [], list(islice(web.homes(), 20))
    for url in waiting:  # the list grows meanwhile
        response = web.respond(url)
        if response.status == 200:
            pages.append(Fetch(url, response.body))
            waiting += web.links(url)[len(pages) % 7 :: 5]
        if len(pages) == n:
            break
    return pages


def link_targets(pages: Sequence[Page], hrefs: Sequence[list[str]]) -> None:
    """Join the links of all pages once, with rules that have seen none of them, as in a crawl."""
    rules = UrlRules()
    for page, found in zip(pages, hrefs, strict=True):
        rules.join_all(page.url, found)


def bare_parse(fetch: Fetch) -> LexborHTMLParser:
    """The least work there is: the tree is made, and nothing is read from it."""
    return LexborHTMLParser(fetch.body)


def milliseconds(work: Callable[[T], object], over: Sequence[T], rounds: int = 7) -> float:
    """CPU time for one of them. Of each the best of some rounds counts, because a shared machine is slow for a moment
    in every round; then the mean is taken. Objects that were made before cost the garbage collector nothing."""
    return after(lambda each: each, work, over, rounds)


def after(made: Callable[[S], T], work: Callable[[T], object], over: Sequence[S], rounds: int = 7) -> float:
    """The same for work on what `made` gives. To make it does not count."""
    best = [float("inf")] * len(over)
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        gc.collect()
        for at, each in enumerate(over):
            given = made(each)
            start = time.process_time()
            work(given)
            best[at] = min(best[at], time.process_time() - start)
    gc.unfreeze()
    return sum(best) / len(over) * 1e3


def main() -> None:
    for name, fetches in (("recorded", sample()), ("reference", reference())):
        report(name, fetches)


def report(name: str, fetches: list[Fetch]) -> None:
    contents = [decode(fetch.body, fetch.charset) for fetch in fetches]
    trees = [LexborHTMLParser(content) for content in contents]
    hrefs = [[link[0] for link in TreeWalk().over(tree.root).links] for tree in trees if tree.root]
    pages = [page for fetch in fetches if isinstance(page := parse(fetch), Page)]
    packed = [to_bytes(page) for page in pages]
    rows = {
        "bare selectolax parse": milliseconds(bare_parse, fetches),
        "decode": milliseconds(lambda fetch: decode(fetch.body, fetch.charset), fetches),
        "bounds": milliseconds(tame, contents),
        "walk": milliseconds(lambda tree: tree.root and TreeWalk().over(tree.root), trees),
        "link targets, first seen": milliseconds(lambda _: link_targets(pages, hrefs), [None]) / len(pages),
        "tokens": milliseconds(lambda page: text.terms(page.leaves), pages),
        "parse()": milliseconds(parse, fetches),
        "to_bytes": milliseconds(to_bytes, pages),
        "from_bytes": milliseconds(from_bytes, packed),
    }
    rows["parse() without tokens"] = rows["parse()"] - rows["tokens"]
    size = sum(len(fetch.body) for fetch in fetches) / len(fetches) / 1000
    leaves, links = (sum(len(getattr(page, part)) for page in pages) / len(pages) for part in ("leaves", "links"))
    print(f"{name}: {len(pages)} pages of {size:.0f} KB, {leaves:.0f} leaves, {links:.0f} links")
    for stage, took in rows.items():
        print(f"{stage:<26}{took:7.3f} ms {took / rows['bare selectolax parse']:6.2f}x")


if __name__ == "__main__":
    main()
