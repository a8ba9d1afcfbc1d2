"""Pages that we have are asked for again when they may have changed: over real sockets, into a real project."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from forager.clock import WallClock
from forager.collection.recover import recover
from forager.config import CrawlConfig, FetchConfig, FrontierConfig, Named, RefreshConfig, ScopeConfig, StopConfig
from forager.crawl.audit import lost_urls
from forager.crawl.folder import CrawlFolder
from forager.crawl.stats import CrawlStats
from forager.store import Catalogue, RecordedProject, SearchIndex
from tests.network.test_discovery import LONG, page
from tests.network.test_fairness import Server, answer
from tests.small_web import WordCritic

SAME = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n"


class Site:
    """Hosts whose pages change, and a project that watches them."""

    def __init__(self, folder: Path, pages: dict[str, bytes], **more: object) -> None:
        self.folder, self.pages, self.more = folder, pages, more
        self.asked: list[str] = []

    def crawl(self, *, refresh: bool = False, strategy: str = "breadth-first") -> CrawlStats:
        return asyncio.run(self._crawl(refresh, strategy))

    async def _crawl(self, refresh: bool, strategy: str) -> CrawlStats:
        gone = answer("404 Not Found")
        async with Server(lambda host, path: self.pages.get(host + path, gone)) as server:
            settings: dict[str, object] = {
                "seeds": ("http://a.test/",),
                "scope": ScopeConfig(within="host"),
                "strategy": Named(name=strategy),
                "frontier": FrontierConfig(delay=0.0, delay_factor=0.0),
                "fetch": FetchConfig(contact="me@example.org", resolve={"*.test": f"127.0.0.1:{server.port}"}),
                "refresh": RefreshConfig(soonest=0.0, latest=0.0),
            }
            project = CrawlFolder(self.folder, CrawlConfig(**settings | self.more))  # type: ignore[arg-type]
            stats = await project.crawl(critic=WordCritic(), refresh=refresh)
            self.asked = [host + path for _, host, path in server.asked if path != "/robots.txt"]
            return stats

    def changes(self) -> list[tuple[str, str]]:
        with Catalogue(self.folder) as catalogue:
            return [(change.kind, change.entry.url.removeprefix("http://")) for change in catalogue.changes()]

    def text(self, url: str) -> str:
        with Catalogue(self.folder) as catalogue:
            [entry] = [entry for entry in catalogue.pages() if entry.url == f"http://{url}"]
            return catalogue.text(entry)


def tagged(body: str, tag: str) -> bytes:
    return page(body=body).replace(b"\r\n\r\n", f'\r\nETag: "{tag}"\r\n\r\n'.encode(), 1)


HOME = '<a href="/one">one</a> <a href="/two">two</a>' + LONG


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(
        tmp_path, {"a.test/": page(body=HOME), "a.test/one": page(body="1" + LONG), "a.test/two": page(body="2" + LONG)}
    )
    assert site.crawl().pages == 3
    return site


def test_what_has_changed_is_kept_again_and_its_new_links_are_followed(site: Site) -> None:
    site.pages |= {"a.test/": page(body=f'<a href="/three">three</a>{HOME}'), "a.test/three": page(body="3" + LONG)}
    del site.pages["a.test/two"]
    stats = site.crawl(refresh=True)
    assert sorted(site.asked) == ["a.test/", "a.test/one", "a.test/three", "a.test/two"]
    assert dict(stats.revisits) == {"changed": 1, "same": 1, "gone": 1}
    assert stats.pages == 4
    assert site.changes() == [
        ("new", "a.test/"),
        ("new", "a.test/one"),
        ("new", "a.test/two"),
        *sorted([("changed", "a.test/"), ("gone", "a.test/two")], key=lambda change: site.asked.index(change[1])),
        ("new", "a.test/three"),
    ]
    assert "three" in site.text("a.test/")
    assert site.text("a.test/two")  # what has gone stays in the collection


def test_what_has_gone_is_not_asked_for_again(site: Site) -> None:
    del site.pages["a.test/two"]
    site.crawl(refresh=True)
    site.crawl(refresh=True)
    assert sorted(site.asked) == ["a.test/", "a.test/one"]


def test_a_resumed_crawl_knows_of_revisits(site: Site) -> None:
    site.pages |= {"a.test/": page(body=f'<a href="/three">three</a>{HOME}'), "a.test/three": page(body="3" + LONG)}
    before = site.crawl(refresh=True)
    after = site.crawl()
    assert site.asked == []
    assert (after.pages, after.requests, after.revisits) == (before.pages, before.requests, before.revisits)
    with RecordedProject(site.folder) as recorded:
        assert lost_urls(recorded, WallClock()) == []


def test_markup_alone_is_no_change(site: Site) -> None:
    site.pages["a.test/one"] = page(body=f"<!-- made at noon --><div>1{LONG}</div>")
    assert site.crawl(refresh=True).revisits == {"same": 3}


def test_who_gives_a_tag_is_asked_with_it(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a.test/": tagged(LONG, "first")})
    site.crawl()
    site.pages["a.test/"] = SAME
    stats = site.crawl(refresh=True)
    assert dict(stats.revisits) == {"same": 1}
    requests = [body for kind, body in archived(tmp_path) if kind == "request" and b"/robots.txt" not in body]
    assert [b'If-None-Match: "first"' in body for body in requests] == [False, True]


def archived(folder: Path) -> list[tuple[str, bytes]]:
    """All records of the archive, as warcio reads them."""
    found: list[tuple[str, bytes]] = []
    for file in sorted((folder / "warc").glob("*.warc.gz")):
        with file.open("rb") as stream:
            records = ArchiveIterator(stream, no_record_parse=True)
            found += [(record.rec_type, record.content_stream().read()) for record in records]
    return found


def test_revisits_do_not_count_against_the_budget_of_pages(tmp_path: Path) -> None:
    site = Site(tmp_path, {"a.test/": page(body=HOME), "a.test/one": page(body="1" + LONG)}, stop=StopConfig(pages=2))
    assert site.crawl().pages == 2
    site.pages["a.test/one"] = page(body="one and a half" + LONG)
    stats = site.crawl(refresh=True)
    assert sorted(site.asked) == ["a.test/", "a.test/one"]
    assert stats.revisits == {"same": 1, "changed": 1}
    assert "budget of 2 pages" in stats.stopped


def test_a_page_is_not_asked_again_before_it_is_due(site: Site) -> None:
    site.more = {"refresh": RefreshConfig()}
    site.crawl(refresh=True)
    assert site.asked == []


def test_a_failure_that_may_pass_does_not_mean_that_a_page_has_gone(site: Site) -> None:
    site.more = {"frontier": FrontierConfig(delay=0.0, delay_factor=0.0, retries=0), "stop": StopConfig(seconds=2)}
    site.pages["a.test/one"] = answer("500 Internal Server Error")
    site.crawl(refresh=True)
    assert ("gone", "a.test/one") not in site.changes()
    with RecordedProject(site.folder) as recorded:
        assert {seen.url for seen in recorded.pages()} == {"http://a.test/", "http://a.test/one", "http://a.test/two"}


def test_a_page_that_moved_is_followed_to_its_new_place(site: Site) -> None:
    site.pages |= {"a.test/one": answer("301 Moved", Location="/uno"), "a.test/uno": page(body="uno" + LONG)}
    site.crawl(refresh=True)
    assert ("moved", "a.test/one") in site.changes()
    assert ("new", "a.test/uno") in site.changes()


def test_a_page_that_asks_not_to_be_kept_any_more_is_not(site: Site) -> None:
    site.pages["a.test/one"] = page('<meta name="robots" content="noindex">', body="private" + LONG)
    site.crawl(refresh=True)
    assert ("gone", "a.test/one") in site.changes()
    assert "private" not in site.text("a.test/one")


def test_learners_resume_after_revisits(site: Site) -> None:
    """A checkpoint that was made after a revisit fits the records."""
    site.pages["a.test/"] = page(body=f'<a href="/three">three</a>{HOME}')
    site.crawl(refresh=True, strategy="apprentice")
    site.pages["a.test/three"] = page(body="3" + LONG)
    again = site.crawl(refresh=True, strategy="apprentice")
    assert again.revisits["gone"] == 0


def test_the_seen_pages_say_when_they_were_seen(site: Site) -> None:
    site.crawl(refresh=True)
    with RecordedProject(site.folder) as recorded:
        pages = list(recorded.pages())
    assert [(seen.visits, seen.changes) for seen in pages] == [(1, 0)] * 3
    assert all(isinstance(seen.first, datetime) and seen.last - seen.first < timedelta(hours=1) for seen in pages)


def test_the_collection_has_each_page_once_and_as_it_was_last_seen(site: Site) -> None:
    site.pages["a.test/one"] = page(body="heron" + LONG)
    site.crawl(refresh=True)
    with Catalogue(site.folder) as catalogue, SearchIndex(site.folder) as index:
        status = catalogue.status()
        index.update()
        assert [hit.url for hit in index.search("heron")] == ["http://a.test/one"]
    assert (status.pages, sum(status.sites.values())) == (3, 3)


def test_revisits_can_be_recovered_from_the_archive(site: Site) -> None:
    site.pages["a.test/one"] = page(body="heron" + LONG)
    site.crawl(refresh=True)
    before = site.changes()
    (site.folder / "crawl.sqlite").unlink()
    config = CrawlConfig(
        seeds=("http://a.test/",), scope=ScopeConfig(within="host"), strategy=Named(name="breadth-first")
    )
    recover(CrawlFolder(site.folder, config), None)
    assert site.changes() == before
    assert "heron" in site.text("a.test/one")
