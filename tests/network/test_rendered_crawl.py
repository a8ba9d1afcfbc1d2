"""A crawl with a browser: pages that scripts make are judged, archived, searched and learnt from as they are shown."""

from __future__ import annotations

import asyncio
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from forager.clock import WallClock
from forager.config import RenderConfig
from forager.crawl.audit import lost_urls
from forager.store import Catalogue, RecordedProject, SearchIndex
from tests.fetch.test_render import needs_browser
from tests.network.test_discovery import LONG, Crawled, page
from tests.network.test_fairness import Server, answer

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
