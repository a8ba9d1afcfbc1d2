"""What pages and hosts tell of other pages, and what they ask of us: over real sockets, into a real project."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from forager.clock import WallClock
from forager.config import CrawlConfig, FetchConfig, FrontierConfig, Named, ScopeConfig
from forager.crawl.audit import lost_urls
from forager.crawl.folder import CrawlFolder
from forager.crawl.stats import CrawlStats
from forager.store import Catalogue, RecordedProject
from forager.types import Reason
from tests.network.test_fairness import Server, answer
from tests.small_web import WordCritic

TEXT = "A bird and its nest, seen from afar. " * 20
LONG = f"<p>{TEXT}"


def page(head: str = "", body: str = LONG) -> bytes:
    return answer(body=f"<html><head><title>bird</title>{head}</head><body>{body}</body></html>")


def xml(body: str, kind: str = "application/xml") -> bytes:
    return answer(body=body, Content_Type=kind).replace(b"Content-Type: text/html\r\n", b"")


def packed(body: str) -> bytes:
    raw = gzip.compress(body.encode())
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/gzip\r\nContent-Length: %d\r\n\r\n" % len(raw) + raw


class Crawled:
    """One crawl of hosts that answer by path, to its end."""

    def __init__(self, folder: Path, pages: dict[str, bytes], **more: object) -> None:
        self.folder, self.pages = folder, pages
        self.stats, self.asked = asyncio.run(self._run(more))

    async def _run(self, more: dict[str, object]) -> tuple[CrawlStats, list[str]]:
        gone = answer("404 Not Found")
        async with Server(lambda host, path: self.pages.get(host + path, gone)) as server:
            settings: dict[str, object] = {
                "seeds": ("http://a.test/",),
                "scope": ScopeConfig(within="host"),
                "strategy": Named(name="breadth-first"),
                "frontier": FrontierConfig(delay=0.0, delay_factor=0.0),
                "fetch": FetchConfig(contact="me@example.org", resolve={"*.test": f"127.0.0.1:{server.port}"}),
            }
            project = CrawlFolder(self.folder, CrawlConfig(**settings | more))  # type: ignore[arg-type]
            stats = await project.crawl(critic=WordCritic())
            return stats, [f"{host}{path}" for _, host, path in server.asked if path != "/robots.txt"]

    @property
    def kept(self) -> list[str]:
        with Catalogue(self.folder) as catalogue:
            return sorted(entry.url.removeprefix("http://") for entry in catalogue.pages())

    def archived(self, url: str) -> list[bytes]:
        """The bodies that the archive has of a URL, as warcio reads them."""
        found = []
        for file in sorted((self.folder / "warc").glob("*.warc.gz")):
            with file.open("rb") as stream:
                for record in ArchiveIterator(stream, check_digests="raise"):
                    body = record.content_stream().read()
                    if record.rec_type == "response" and record.rec_headers["WARC-Target-URI"] == url:
                        found.append(body)
        return found

    def lost(self) -> list[str]:
        with RecordedProject(self.folder) as recorded:
            return [str(url) for url in lost_urls(recorded, WallClock())]


@pytest.fixture
def crawl(tmp_path: Path) -> Callable[..., Crawled]:
    def run(pages: dict[str, bytes], **more: object) -> Crawled:
        made = Crawled(tmp_path / "p", pages, **more)
        assert made.lost() == []
        return made

    return run


def links(*targets: str) -> str:
    return LONG + "".join(f"<a href='{target}'>{target}</a> " for target in targets)


# ---- what pages ask of us


@pytest.mark.parametrize("way", ["meta", "header"])
def test_a_page_that_asks_not_to_be_kept_is_not_kept_but_its_links_are_followed(
    crawl: Callable[..., Crawled], way: str
) -> None:
    shy = page("<meta name=robots content='NoIndex'>" if way == "meta" else "", links("/c"))
    if way == "header":
        shy = shy.replace(b"\r\n\r\n", b"\r\nX-Robots-Tag: noindex\r\n\r\n", 1)
    done = crawl({"a.test/": page(body=links("/b")), "a.test/b": shy, "a.test/c": page()})
    assert done.kept == ["a.test/", "a.test/c"]
    assert done.stats.passed == {Reason.NOINDEX: 1}
    assert done.archived("http://a.test/b") == [b""]
    assert done.asked == ["a.test/", "a.test/b", "a.test/c"]


@pytest.mark.parametrize("content", ["nofollow", "none", "noindex, nofollow"])
def test_links_are_not_followed_if_a_page_asks_for_that(crawl: Callable[..., Crawled], content: str) -> None:
    done = crawl({"a.test/": page(f"<meta name=robots content='{content}'>", links("/b")), "a.test/b": page()})
    assert done.asked == ["a.test/"]
    assert done.kept == (["a.test/"] if content == "nofollow" else [])


def test_what_is_said_to_others_is_not_said_to_us(crawl: Callable[..., Crawled]) -> None:
    for_another = page("<meta name=otherbot content=noindex>").replace(
        b"\r\n\r\n", b"\r\nX-Robots-Tag: otherbot: noindex\r\n\r\n", 1
    )
    assert crawl({"a.test/": for_another}).kept == ["a.test/"]


def test_nobody_is_obeyed_on_hosts_of_ones_own(crawl: Callable[..., Crawled], tmp_path: Path) -> None:
    async def run() -> CrawlStats:
        async with Server(lambda host, path: page("<meta name=robots content=noindex>")) as server:
            fetch = FetchConfig(contact="me@example.org", robots=False, resolve={"*.test": f"127.0.0.1:{server.port}"})
            config = CrawlConfig(seeds=["http://a.test/"], fetch=fetch, strategy=Named(name="breadth-first"))
            return await CrawlFolder(tmp_path, config).crawl(critic=WordCritic())

    assert asyncio.run(run()).pages == 1


# ---- where pages send us


def test_a_page_that_only_sends_on_is_a_redirect(crawl: Callable[..., Crawled]) -> None:
    sends = page("<meta http-equiv=refresh content='0;url=/b'>", "Moved. <a href='/b'>Here</a>")
    done = crawl({"a.test/": sends, "a.test/b": page()})
    assert done.kept == ["a.test/b"]


def test_pages_that_send_each_other_on_end(crawl: Callable[..., Crawled]) -> None:
    ring = {f"a.test/{n}": page(f"<meta http-equiv=refresh content='0;url=/{(n + 1) % 3}'>", "x") for n in range(3)}
    chain = {f"a.test/c{n}": page(f"<meta http-equiv=refresh content='0;url=/c{n + 1}'>", "x") for n in range(20)}
    done = crawl({"a.test/": page(body=links("/0", "/c0")), **ring, **chain})
    assert done.kept == ["a.test/"]
    assert done.stats.misses == {Reason.BAD_REDIRECT: 1, Reason.TOO_MANY_REDIRECTS: 1}


def test_what_the_head_of_a_page_names_is_followed(crawl: Callable[..., Crawled]) -> None:
    head = (
        "<link rel=canonical href='/canonical'><link rel=alternate hreflang=de href='/de'><link rel=next href='/2'>"
        "<link rel=alternate type='application/rss+xml' href='/feed'><base href='http://a.test/deep/'>"
    )
    body = LONG + "<map><area href='/area'></map><iframe src='/frame'></iframe><a href='below'>b</a>"
    others = ["canonical", "de", "2", "area", "frame", "deep/below"]
    feed = "<rss><channel><title>t</title><item><title>A bird</title><link>/item</link></item></channel></rss>"
    pages = {f"a.test/{place}": page(body=f"<p>{place} {TEXT}{place}") for place in [*others, "item"]}
    done = crawl({"a.test/": page(head, body), "a.test/feed": xml(feed, "application/rss+xml"), **pages})
    assert done.kept == sorted(["a.test/", *pages])
    assert done.stats.passed == {Reason.LISTING: 1}
    off = ScopeConfig(within="host", declared=False, feeds=False)
    few = Crawled(done.folder.parent / "few", done.pages, scope=off)
    assert few.kept == ["a.test/", "a.test/area", "a.test/deep/below", "a.test/frame"]


# ---- sitemaps


def test_sitemaps_that_robots_txt_names_are_read(crawl: Callable[..., Crawled]) -> None:
    robots = answer(body="User-agent: *\nSitemap: http://a.test/index.xml\nSitemap: http://b.test/far.xml")
    index = (
        "<sitemapindex><sitemap><loc>/one.xml.gz</loc></sitemap><sitemap><loc>/two.txt</loc></sitemap></sitemapindex>"
    )
    one = f"<urlset>{''.join(f'<url><loc>http://a.test/p{n}</loc></url>' for n in range(30))}</urlset>"
    pages = {f"a.test/p{n}": page(body=f"<p>number {n} {TEXT} {n}{n}") for n in range(31)}
    served = {
        **{"a.test/": page(), "a.test/robots.txt": robots, "a.test/index.xml": xml(index)},
        **{"a.test/one.xml.gz": packed(one), "a.test/two.txt": xml("http://a.test/p30\n", "text/plain"), **pages},
    }
    done = crawl(served)
    assert done.kept == sorted(["a.test/", *pages])
    assert done.stats.passed == {Reason.LISTING: 3}
    assert done.archived("http://a.test/robots.txt") == [robots.partition(b"\r\n\r\n")[2]]
    none = Crawled(done.folder.parent / "none", served, scope=ScopeConfig(within="host", sitemaps="none"))
    assert none.kept == ["a.test/"]


def test_a_long_sitemap_is_taken_in_part_by_part_and_none_of_it_twice(
    crawl: Callable[..., Crawled], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forager.crawl.asking.PART", 7)
    robots = answer(body="User-agent: *\nSitemap: http://a.test/s.xml")
    entries = "".join(f"<url><loc>http://a.test/gone{n}</loc></url>" for n in range(100))
    done = crawl({"a.test/": page(), "a.test/robots.txt": robots, "a.test/s.xml": xml(f"<urlset>{entries}</urlset>")})
    assert done.stats.misses == {Reason.NOT_FOUND: 100}
    assert len(set(done.asked)) == len(done.asked) == 102
    again = Crawled(done.folder, done.pages)
    assert again.asked == []
