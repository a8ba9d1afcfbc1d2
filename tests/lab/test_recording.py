"""A finished crawl becomes a web that the laboratory can use."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from forager.crawl.build import CRITIC_VERSION
from forager.critics.naive_bayes import NaiveBayes
from forager.errors import ForagerError
from forager.fetch.replay import read_table
from forager.project import Project
from forager.store import Catalogue, Store, models
from forager.teaching.labelled_web import LabelledWeb
from forager.types import Fetch, Page, Url
from forager.web.page import parse
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.recording import record
from forager_lab.webs.server import Server
from tests.lab.warc import write_web

BIRD, ROCK = "feather wing nest egg song", "granite slate lava ore dust"
PAGES = {
    Url(f"http://a.test/{i}"): (
        "Birds" if i % 2 else "Rocks",
        f"<title>page\n{i}</title><p>{BIRD if i % 2 else ROCK} {i}</p>"
        + "".join(f"<a href='/{(i * k + 1) % 30}'>x</a>" for k in (1, 2, 3, 5))
        + "<a href='/short'>x</a><a href='/gone'>x</a>",
    )
    for i in range(30)
}
ALIASES = "linked\turl\nhttp://a.test/short\thttp://a.test/longer\nhttp://a.test/longer\thttp://a.test/7\n"
CONFIG = '[critic]\nname = "naive-bayes"\nmodel = "critic.npz"\n[frontier]\ndelay = 0.0\n'
PLAN = WebPlan(hosts=12, pages_per_host=20, traps=0.0)


def forager(cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FORAGER_CACHE": str(cache), "COLUMNS": "200"}
    command = [sys.executable, "-m", "forager", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)


def trained(pages: Mapping[Url, tuple[str, str]], focus: str) -> NaiveBayes:
    critic = NaiveBayes(focus=[focus])
    read = [(parse(Fetch(url, html.encode(), "text/html", "utf-8")), label) for url, (label, html) in pages.items()]
    known = [(page, label) for page, label in read if isinstance(page, Page)]
    critic.fit((page for page, _ in known), (label for _, label in known))
    return critic


def save(critic: NaiveBayes, folder: Path) -> None:
    models.save(folder / "critic.npz", critic.parts(), kind="naive-bayes", version=CRITIC_VERSION)


@pytest.fixture
def crawled(tmp_path: Path) -> Path:
    """A project that has crawled a recorded web, with redirects and dead links, judged by classes."""
    web = write_web(tmp_path / "web", {str(url): page for url, page in PAGES.items()}, aliases=ALIASES)
    folder = tmp_path / "project"
    save(trained(PAGES, "Birds"), folder)
    toml = f"{CONFIG}[fetch]\nreplay = {json.dumps(str(web))}\n"
    asyncio.run(Project.create(folder, toml, ["http://a.test/1", "http://a.test/short", "http://a.test/gone"]).crawl())
    return folder


def test_labels_are_the_classes_of_the_critic(crawled: Path, tmp_path: Path) -> None:
    made = record(crawled, tmp_path / "new")
    web = LabelledWeb(tmp_path / "new")
    assert web.losses == []
    assert made.note == ""
    assert made.pages == len(web.truth.labels) == len(PAGES)
    assert {url: labels[0] for url, labels in web.truth.labels.items()} == {u: label for u, (label, _) in PAGES.items()}
    columns, rows = read_table(tmp_path / "new" / "labels.tsv", 5)
    assert columns == ["url", "label", "relevance", "title", "host"]
    assert rows[0][3:] == ["page 1", "a.test"]
    with Catalogue(crawled) as catalogue:
        assert [float(row[2]) for row in rows] == pytest.approx([e.relevance for e in catalogue.pages()], abs=1e-6)


def test_aliases_lead_to_the_page_itself_and_seeds_to_what_they_gave(crawled: Path, tmp_path: Path) -> None:
    made = record(crawled, tmp_path / "new")
    web = LabelledWeb(tmp_path / "new")
    assert made.aliases == 2
    assert web.final(Url("http://a.test/short")) == web.final(Url("http://a.test/longer")) == "http://a.test/7"
    assert web.seeds("a.test") == ["http://a.test/1", "http://a.test/7"]  # not the one that is gone


def test_without_the_model_there_is_still_the_relevance(crawled: Path, tmp_path: Path) -> None:
    (crawled / "critic.npz").unlink()
    made = record(crawled, tmp_path / "new")
    assert "critic.npz" in made.note
    assert made.labels == {"relevant": 15, "other": 15}


def test_judged_by_another_critic_a_page_has_no_class(crawled: Path, tmp_path: Path) -> None:
    save(trained(PAGES, "Rocks"), crawled)
    assert record(crawled, tmp_path / "new").labels == {"relevant": 15, "other": 15}


def test_the_answers_are_those_of_the_crawl(crawled: Path, tmp_path: Path) -> None:
    record(crawled, tmp_path / "new")
    fetcher = LabelledWeb(tmp_path / "new").fetcher
    for url, (_, html) in PAGES.items():
        answer = asyncio.run(fetcher.fetch(url))
        assert isinstance(answer, Fetch)
        assert answer.body == html.encode()


def test_what_cannot_be_recorded_is_refused(crawled: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with pytest.raises(ForagerError, match=r"full is not empty: name a new folder"):
        record(crawled, tmp_path / "full")
    with Store(crawled), pytest.raises(ForagerError, match="is being crawled"):
        record(crawled, tmp_path / "new")
    toml = (crawled / "forager.toml").read_text()
    save(trained(PAGES, "Birds"), tmp_path / "empty")
    asyncio.run(Project.create(tmp_path / "empty", toml, ["http://a.test/gone"]).crawl())
    with pytest.raises(ForagerError, match="holds no pages"):
        record(tmp_path / "empty", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_from_the_network_to_the_laboratory(tmp_path: Path) -> None:
    web = ProceduralWeb(PLAN)
    tops = {url: (label.partition(".")[0], web.respond(url).body.decode()) for url, label in web.labels()}
    topic = max({label.partition(".")[0] for label in web.topics()}, key=web.relevant)
    save(trained(tops, topic), tmp_path / "project")

    async def crawl() -> None:
        async with asyncio.timeout(60), Server(web, slowness=0) as server:
            toml = (
                f'{CONFIG}[stop]\npages = 120\n[fetch]\nrobots = false\ncontact = "a@web.test"\n'
                f'[fetch.resolve]\n"*.web.test" = "127.0.0.1:{server.port}"\n'
            )
            await Project.create(tmp_path / "project", toml, web.seeds(topic, 3)).crawl()

    asyncio.run(crawl())
    folder, figures = str(tmp_path / "web"), tmp_path / "figures.json"
    told = forager(tmp_path, "lab", "record", str(tmp_path / "project"), folder)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("120 pages (")
    recorded = LabelledWeb(tmp_path / "web")
    assert all(web.final(alias) == page for alias, page in recorded.fetcher.aliases.items())
    ran = forager(tmp_path, "lab", "run", "--web", folder, "--topic", topic, "--runs", "2",
                  "--strategies", "breadth-first,best-first,oracle", "--json", str(figures))  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    results = {row["strategy"]: row["harvest"]["R/2"] for row in json.loads(figures.read_text())["results"]}
    assert results["oracle"] > results["breadth-first"] > 0
