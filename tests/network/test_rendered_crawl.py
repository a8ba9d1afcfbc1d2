"""A crawl with a browser: pages that scripts make are judged, archived, searched and learnt from as they are shown."""

from __future__ import annotations

import asyncio
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from forager.clock import WallClock
from forager.config import CrawlConfig, FetchConfig, FrontierConfig, RefreshConfig, RenderConfig
from forager.crawl.audit import lost_urls
from forager.crawl.folder import CrawlFolder
from forager.crawl.stats import CrawlStats
from forager.store import Catalogue, RecordedProject, SearchIndex
from tests.fetch.test_render import needs_browser
from tests.network.test_discovery import LONG, Crawled, page
from tests.network.test_fairness import Server, answer
from tests.small_web import WordCritic

MADE = """
<script>
  document.title = "heron";
  document.body.innerHTML = "<p>" + "The heron stands in the reeds. ".repeat(20) + '<a href="/next">next</a>';
</script>
"""


def asks(port: int) -> str:
    """A page whose script asks this machine, and shows what it gets."""
    return f"""
    <p id=p>waiting</p><script>
      fetch("http://127.0.0.1:{port}/secret").then(
        (answer) => answer.text().then((text) => (p.textContent = text)),
        () => (p.textContent = "refused ".repeat(40)));
    </script>"""


@needs_browser
def test_a_page_made_by_a_script_is_found(tmp_path: Path) -> None:
    pages = {"a.test/": page(body=MADE), "a.test/next": page(body=LONG)}
    crawled = Crawled(tmp_path, pages, render=RenderConfig(empty=True))
    assert crawled.kept == ["a.test/", "a.test/next"]
    assert b"The heron" not in crawled.archived("http://a.test/")[0].replace(b'"The heron', b"")  # as it came
    with Catalogue(tmp_path) as catalogue, SearchIndex(tmp_path) as index:
        index.update()
        assert [hit.url for hit in index.search("reeds")] == ["http://a.test/"]
        assert "The heron stands" in catalogue.text(catalogue.find("http://a.test/")[0])
    with RecordedProject(tmp_path) as recorded:
        assert lost_urls(recorded, WallClock()) == []
    [shown] = conversions(tmp_path)
    assert b"The heron stands in the reeds. The heron" in shown


@needs_browser
def test_a_script_does_not_reach_this_machine(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with Server(lambda host, path: answer(body="secret")) as canary:
            pages = {"a.test/": page(body=asks(canary.port))}
            await asyncio.to_thread(Crawled, tmp_path, pages, render=RenderConfig(hosts=("a.test",)))
            return [path for _, _, path in canary.asked]

    assert asyncio.run(run()) == []
    with Catalogue(tmp_path) as catalogue:
        assert "refused" in catalogue.text(catalogue.find("http://a.test/")[0])


def conversions(folder: Path) -> list[bytes]:
    found: list[bytes] = []
    for file in sorted((folder / "warc").glob("*.warc.gz")):
        with file.open("rb") as stream:
            records = ArchiveIterator(stream, check_digests="raise")
            found += [record.content_stream().read() for record in records if record.rec_type == "conversion"]
    return found


@needs_browser
def test_a_page_whose_script_brings_something_else_has_changed(tmp_path: Path) -> None:
    """The body is the same. What the script asks for is not."""
    said = {"text": "heron"}

    def respond(host: str, path: str) -> bytes:
        script = 'fetch("/data").then((a) => a.text()).then((t) => (document.body.textContent = (t + " ").repeat(60)))'
        pages = {"/": page(body=f"<script>{script}</script>"), "/data": answer(body=said["text"])}
        return pages.get(path, answer("404 Not Found"))

    async def run(refresh: bool) -> CrawlStats:
        async with Server(respond) as server:
            config = CrawlConfig(
                seeds=("http://a.test/",),
                frontier=FrontierConfig(delay=0.0, delay_factor=0.0),
                fetch=FetchConfig(contact="me@example.org", resolve={"*.test": f"127.0.0.1:{server.port}"}),
                render=RenderConfig(empty=True),
                refresh=RefreshConfig(soonest=0.0, latest=0.0),
            )
            return await CrawlFolder(tmp_path, config).crawl(critic=WordCritic(), refresh=refresh)

    asyncio.run(run(refresh=False))
    said["text"] = "stork"
    assert asyncio.run(run(refresh=True)).revisits == {"changed": 1}
