"""A project that version 0.1.0 made: it opens, goes on as that version would have, and can be searched and exported.

`store/old/project-0.1.0.tar.gz` holds a small recorded web; a crawl of it by the apprentice, stopped after 30 pages,
with its checkpoint, index and verdicts; what version 0.1.0 exported; and the order in which that version went on.
"""

from __future__ import annotations

import asyncio
import csv
import json
import tarfile
from pathlib import Path

import pytest

from forager.collection.export import export
from forager.crawl.loop import Crawl
from forager.project import Project
from forager.store import Catalogue, SearchIndex, Store
from forager.topics.topic_critic import teach

STORED = Path(__file__).parent / "store" / "old" / "project-0.1.0.tar.gz"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def test_it_opens_and_tells_what_it_has(old: Path) -> None:
    with Catalogue(old / "project") as catalogue:
        pages = list(catalogue.pages())
        best = max(pages, key=lambda page: page.relevance)
        way = catalogue.why(best.url)
    assert len(pages) == 30
    assert way[0].depth == 0
    assert way[-1].url == best.url


def test_it_goes_on_as_the_version_before_would_have(old: Path) -> None:
    toml = old / "project" / "forager.toml"
    toml.write_text(toml.read_text().replace("pages = 30", "pages = 50"))
    notes: list[str] = []

    def began(crawl: Crawl, told: list[str]) -> None:
        notes.extend(told)

    async def go_on() -> None:
        project = Project(old / "project")
        trained = await teach(project)
        await project.crawl(began, critic=trained.critic, query=trained.query)

    asyncio.run(go_on())
    assert [note for note in notes if "stop.pages: 30 -> 50" in note]
    assert not [note for note in notes if "checkpoint" in note]
    with (old / "after.tsv").open(encoding="utf-8", newline="") as lines:
        before = [(url, outcome) for url, outcome, _ in csv.reader(lines, delimiter="\t")]
    with Store(old / "project") as store:
        urls = [text for chunk in store.urls() for text in chunk.texts]
        assert [(urls[record.asked], record.outcome) for record in store.records()] == before


def test_it_can_be_searched_and_exported(old: Path) -> None:
    with SearchIndex(old / "project") as index:
        assert [hit.url for hit in index.search("storm")] == ["http://oakcross.web.test/weather"]
    export(old / "project", old / "new.jsonl", "jsonl")
    new, before = ((old / name).read_text(encoding="utf-8").splitlines() for name in ("new.jsonl", "project.jsonl"))
    assert [json.loads(line) for line in new] == [json.loads(line) for line in before]
