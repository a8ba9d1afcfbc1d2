"""From the archive alone a project is built again. Its crawl goes on, and asks for nothing that is archived."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from forager.cli import main
from forager.collection.recover import Recovery, recover
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Catalogue, Entry, Store
from forager.store.schema import DATABASE
from forager.store.verify import is_whole, verify
from forager.store.warc import pack
from forager.types import Answer, Exchange, Failure, Fetch, Reason, Redirect, Url
from tests.crawl.test_resuming import web
from tests.small_web import SmallWeb, url
from tests.store.making import archives, record
from tests.store.test_damage import damage_page
from tests.store.test_opening import contents, copy_database, put_back
from tests.test_older_version import STORED

TOML = """
seeds = ["http://a.test/bird-0", "http://a.test/stone-1"]
topic.keywords = ["bird"]
frontier.delay = 0
frontier.retries = 0
stop.pages = {pages}
strategy.name = "{strategy}"
store.warc_size = 9_000
"""


class WiredWeb(SmallWeb):
    """The same web, with the heads that go over a wire, so that redirects and failures are archived too."""

    def __init__(self) -> None:
        super().__init__(web().pages)

    async def fetch(self, url: Url) -> Answer:
        answer = await super().fetch(url)
        request = f"GET {url} HTTP/1.1\r\n\r\n".encode()
        if isinstance(answer, Redirect):
            head = f"HTTP/1.1 301 Moved\r\nLocation: {answer.target}\r\n\r\n"
            return replace(answer, status=301, exchange=Exchange(request, head.encode()))
        if isinstance(answer, Failure):
            return replace(answer, status=404, exchange=Exchange(request, b"HTTP/1.1 404 Not Found\r\n\r\n"))
        return replace(answer, exchange=Exchange(request, b"HTTP/1.1 200 OK\r\n\r\n", "192.0.2.1"))


def crawled(folder: Path, pages: int = 25, strategy: str = "breadth-first") -> WiredWeb:
    """A crawl up to so many pages; it goes on if there is one."""
    toml = TOML.format(pages=pages, strategy=strategy)
    if (folder / "forager.toml").exists():
        (folder / "forager.toml").write_text(toml)
    else:
        Project.create(folder, toml)
    asked = WiredWeb()
    asyncio.run(Project(folder).crawl(fetcher=asked))
    return asked


def recovered(folder: Path, *, judge: bool = True) -> Recovery:
    project = Project(folder)
    critic = asyncio.run(project.train_critic()).critic if judge else None
    return recover(project, critic)


def pages(folder: Path) -> dict[str, Entry]:
    with Catalogue(folder) as catalogue:
        return {page.url: page for page in catalogue.pages()}


def lose_catalogue(folder: Path) -> None:
    for file in (DATABASE, "links.bin"):
        (folder / file).unlink()


@pytest.mark.parametrize("strategy", ["breadth-first", "best-first", "shark", "apprentice", "pagerank"])
def test_a_crawl_goes_on_from_its_archive(tmp_path: Path, strategy: str) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "project"
    crawled(whole, 1000, strategy)
    before = set(crawled(folder, 25, strategy).asked)
    known, archive = pages(folder), {path: path.read_bytes() for path in archives(folder)}
    lose_catalogue(folder)
    found = recovered(folder)
    assert (found.pages, found.lost, found.again) == (25, [], [])
    assert found.waiting > 0
    assert {path: path.read_bytes() for path in archives(folder)} == archive
    assert is_whole(verify(folder))
    for page in pages(folder).values():
        for name in ("title", "relevance", "raw", "critic", "depth", "parent", "asked_at", "digest", "warc", "members"):
            assert getattr(page, name) == getattr(known[page.url], name), name
        assert page.score == pytest.approx(known[page.url].score, abs=1e-6)  # as the archive notes it
    later = crawled(folder, 1000, strategy).asked
    assert not before & set(later)
    assert pages(folder).keys() == pages(whole).keys()


def test_redirects_and_failures_are_known_again(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    crawled(folder, 1000)
    with Catalogue(folder) as catalogue:
        before = catalogue.status()
    lose_catalogue(folder)
    found = recovered(folder)
    assert found.redirects == 3
    assert found.failures > 0
    with Catalogue(folder) as catalogue:
        after = catalogue.status()
        assert catalogue.find(url("/stone-7"))[0].outcome == "moved"
    assert after.outcomes["page"] == before.outcomes["page"]
    assert after.reasons["not-found"] == before.reasons["not-found"]
    assert crawled(folder, 1000).asked == []


def test_an_answer_of_each_kind(tmp_path: Path) -> None:
    """What the archive tells of an answer without a page: gone for good, to be tried again, out of scope, no HTML."""
    folder = tmp_path / "project"
    (tmp_path / "project").mkdir()
    toml = TOML.format(pages=1000, strategy="breadth-first") + 'scope.within = "host"\n'
    Project.create(folder, toml)
    asked = KindsWeb()
    asyncio.run(Project(folder).crawl(fetcher=asked))
    with Catalogue(folder) as catalogue:
        before = catalogue.status().reasons
    lose_catalogue(folder)
    recovered(folder)
    with Catalogue(folder) as catalogue:
        after = catalogue.status().reasons
    assert after == {reason: count for reason, count in before.items() if reason != "dns"}
    asked = KindsWeb()
    asyncio.run(Project(folder).crawl(fetcher=asked))
    assert sorted(asked.asked) == [url("/broken"), url("/unknown")]  # the archive does not say that they are gone


def wire(head: bytes) -> Exchange:
    return Exchange(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 " + head + b"\r\n\r\n")


class KindsWeb(SmallWeb):
    def __init__(self) -> None:
        names = ("gone", "teapot", "away", "picture", "unknown", "broken")
        links = "".join(f"<a href='/{name}'>{name}</a>" for name in names)
        super().__init__({url("/bird-0"): links, url("/stone-1"): f"stone {links}"})

    async def fetch(self, url: Url) -> Answer:
        answer = await super().fetch(url)
        match url.rpartition("/")[2]:
            case "gone":
                return Failure(url, Reason.NOT_FOUND, "status 410", None, 0.0, 410, wire(b"410 Gone"))
            case "teapot":
                return Failure(url, Reason.CLIENT_ERROR, "status 418", None, 0.0, 418, wire(b"418 Teapot"))
            case "away":
                return Redirect(url, Url("http://z.test/"), 302, 0.0, wire(b"302 Found\r\nlocation:  http://z.test/"))
            case "picture":
                return Fetch(url, b"\x89PNG....", "image/png", "", 200, 0.0, wire(b"200 OK"))
            case "broken":
                return Failure(url, Reason.SERVER_ERROR, "status 500", 1.0, 0.0, 500, wire(b"500 Oh"))
            case "unknown":
                return Failure(url, Reason.DNS, "no such name")
        return answer


def test_without_a_critic_pages_keep_what_the_archive_notes(tmp_path: Path) -> None:
    crawled(tmp_path / "project")
    known = pages(tmp_path / "project")
    lose_catalogue(tmp_path / "project")
    recovered(tmp_path / "project", judge=False)
    found = pages(tmp_path / "project")
    assert {url: page.relevance for url, page in found.items()} == {url: page.relevance for url, page in known.items()}


def test_an_older_copy_is_brought_up_to_date(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    crawled(folder, 10)
    copy_database(folder, tmp_path / "copy")
    crawled(folder, 30)
    newest = pages(folder)
    put_back(folder, tmp_path / "copy")
    assert len(pages(folder)) == 10
    crawled(folder, 15)  # the user has not noticed, and goes on
    assert len(pages(folder)) == 15
    found = recovered(folder)
    assert found.returned > 0
    assert pages(folder).keys() == newest.keys()
    assert is_whole(verify(folder))
    assert not list((folder / "aside").rglob("forager-*"))
    later = crawled(folder, 1000).asked
    assert not newest.keys() & set(later)


def test_a_page_that_is_lost_is_asked_for_again_and_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    crawled(folder, 1000)
    known = pages(folder)
    lost = next(page for page in known.values() if page.warc == 1 and page.depth == 1)
    damage_page(folder, lost.seq)
    lose_catalogue(folder)
    found = recovered(folder)
    [(file, stretch)] = found.lost
    assert file == "warc/forager-00001.warc.gz"
    assert lost.url in stretch.urls
    assert crawled(folder, 1000).asked == [lost.url]
    assert pages(folder).keys() == known.keys()


def test_a_seed_that_is_lost_is_asked_for_again(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    crawled(folder, 1000)
    damage_page(folder, pages(folder)[url("/stone-1")].seq)
    lose_catalogue(folder)
    recovered(folder)
    assert crawled(folder, 1000).asked == [url("/stone-1")]


def test_nothing_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    crawled(folder, strategy="apprentice")
    before = {content for path, content in contents(folder).items() if path.name != "search.sqlite"}
    assert list((folder / "checkpoints").iterdir())
    recovered(folder)
    assert before <= set(contents(folder).values())


def test_sessions_are_kept_if_they_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    crawled(folder)
    with Catalogue(folder) as catalogue:
        id, sessions = catalogue.project, catalogue.status().sessions
    recovered(folder)
    with Catalogue(folder) as catalogue:
        assert catalogue.project == id
        assert catalogue.status().sessions == sessions
    lose_catalogue(folder)
    recovered(folder)
    with Catalogue(folder) as catalogue:
        assert catalogue.project == id  # the archive names it
        assert catalogue.status().sessions == ()


@pytest.mark.parametrize("moment", ["before anything is moved", "the old files are moved", "the links are in place"])
def test_interrupted_it_can_be_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    folder = tmp_path / "project"
    crawled(folder)
    known = pages(folder)
    stop_after = {"before anything is moved": 0, "the old files are moved": 0, "the links are in place": 1}[moment]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    done, real = list[Path](), Path.replace

    def replaced(self: Path, target: Path) -> Path:
        if self.parent.name == "recovering":
            if len(done) == stop_after:
                raise KeyboardInterrupt
            done.append(self)
        return real(self, target)

    with monkeypatch.context() as patched:
        if moment == "before anything is moved":
            patched.setattr("forager.collection.recover._put_in_place", interrupted)
        else:
            patched.setattr(Path, "replace", replaced)
        with pytest.raises(KeyboardInterrupt):
            recovered(folder)
    if moment == "before anything is moved":
        assert pages(folder).keys() == known.keys()
    else:
        with pytest.raises(ForagerError, match="forager recover"):
            Store(folder)
    recovered(folder)
    assert pages(folder).keys() == known.keys()
    assert is_whole(verify(folder))
    assert not (folder / "recovering").exists()


def test_a_project_of_version_0_1_0(tmp_path: Path) -> None:
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path, filter="data")
    known = pages(tmp_path / "project")
    lose_catalogue(tmp_path / "project")
    assert recovered(tmp_path / "project").pages == len(known)
    assert pages(tmp_path / "project").keys() == known.keys()
    assert is_whole(verify(tmp_path / "project"))


def test_the_crawl_of_a_topics_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crawled(tmp_path / "project")
    topic = tmp_path / "project" / "topic"
    (tmp_path / "examples").mkdir()
    crawled(tmp_path / "examples" / "project")
    shutil.copytree(tmp_path / "examples" / "project", topic)
    (topic / "forager.toml").unlink()
    lose_catalogue(topic)
    monkeypatch.setattr(sys, "argv", ["forager", "recover", str(topic)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "found  25 pages" in capsys.readouterr().out
    assert is_whole(verify(topic))


def test_records_within_a_damaged_page_are_not_believed(tmp_path: Path) -> None:
    """A page may hold the bytes of records. If it is damaged, nothing but their ids tells them from our own."""
    folder, asked = tmp_path / "project", WiredWeb()
    noise = random.Random(1).randbytes(20_000).hex()
    asked.pages = {**asked.pages, url("/stone-1"): f"<html><p>bird<!--{noise}-->"}
    Project.create(folder, TOML.format(pages=12, strategy="breadth-first"))
    asyncio.run(Project(folder).crawl(fetcher=asked))
    page = pages(folder)[url("/stone-1")]
    forged = record(0, answer=Fetch(Url("http://bank.test/"), b"<p>bird", exchange=wire(b"200 OK")))
    packed = pack(forged._replace(why={"seed": True, "depth": 0, "relevance": 1.0, "raw": 1.0}), UUID(int=1))
    assert packed is not None
    assert page.members is not None
    assert page.members.length > len(packed[0]) + 2_000
    with (folder / f"warc/forager-{page.warc:05}.warc.gz").open("r+b") as file:
        file.seek(page.members.at + 1_000)
        file.write(packed[0])
    lose_catalogue(folder)
    assert recovered(folder).pages == 11
    assert "http://bank.test/" not in pages(folder)


def test_without_an_archive_there_is_nothing_to_recover_from(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    crawled(folder)
    before = contents(folder)
    shutil.rmtree(folder / "warc")
    with pytest.raises(ForagerError, match="there is nothing to recover from"):
        recovered(folder)
    assert contents(folder) == {path: content for path, content in before.items() if path.parent.name != "warc"}


def test_a_project_in_use_is_left_alone(tmp_path: Path) -> None:
    crawled(tmp_path / "project")
    with Store(tmp_path / "project"), pytest.raises(ForagerError, match="in use by"):
        recovered(tmp_path / "project")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "project"
    crawled(folder)
    damage_page(folder, pages(folder)[url("/stone-1")].seq)
    lose_catalogue(folder)
    for words in ((), ("--json",)):
        monkeypatch.setattr(sys, "argv", ["forager", "recover", str(folder), *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        told = capsys.readouterr().out
        if words:
            row = json.loads(told)
            assert (row["pages"], len(row["lost"])) == (24, 1)
        else:
            assert "found  24 pages" in told
            assert "lost   1 places of the archive" in told
            assert f"forager crawl {folder} goes on from here" in told
