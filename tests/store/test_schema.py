"""Old projects open, newer ones are refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.store import Catalogue, SearchIndex, Store
from forager.store.journal import pack_links
from forager.store.schema import DATABASE, STEPS, VERSION
from forager.types import ScoredLinks
from tests.store.making import new_url, record, text

OLD = Path(__file__).parent / "old"
LINKS = [pack_links(np.array(ids, np.int32), ScoredLinks(np.zeros(len(ids), np.float32))) for ids in ([1, 2], [3, 0])]


def old_project(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        db.executescript((OLD / "version_1.sql").read_text(encoding="utf-8"))
    (folder / "links.bin").write_bytes(LINKS[0] + LINKS[1])
    return folder


def tables(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {name: [row[1:5] for row in db.execute(f"PRAGMA table_info({name})")] for name in names}


def test_an_old_project_is_brought_up_to_date(tmp_path: Path) -> None:
    with Store(old_project(tmp_path)) as store:
        found = list(store.records())
        assert [(stored.title, stored.links, stored.redirects) for stored in found] == [
            ("Old page 0", LINKS[0], ()),
            ("Old page 1", LINKS[1], ()),
        ]
        assert [list(stored.new_urls) for stored in found] == [[1, 2], [3]]
        assert [session.ended for session in store.sessions()] == [None]
        store.add(record(2, 4))
        assert store.commit() == 2
    with SearchIndex(tmp_path) as index:
        assert index.update() == 3
        assert [hit.url for hit in index.search("old AND 1")] == ["http://old.test/1"]


def test_texts_that_were_kept_apart_go(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / DATABASE)) as db:
        for step in STEPS[:3]:
            step(db)
        db.execute("INSERT INTO file VALUES ('texts.bin', 5)")
        db.execute("PRAGMA user_version = 3")
        db.commit()
    (tmp_path / "texts.bin").write_bytes(b"texts")
    with Store(tmp_path) as store:
        store.add_urls([new_url(0)])
        store.add(record(0))
    with Catalogue(tmp_path) as catalogue:
        assert [catalogue.text(page) for page in catalogue.pages()] == [text(0)]
        assert "texts.bin" not in catalogue.status().bytes
    assert not (tmp_path / "texts.bin").exists()


def test_old_and_new_projects_have_the_same_tables(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    Store(old_project(old)).close()
    Store(new).close()
    assert tables(old) == tables(new)


def test_an_old_project_is_read_as_it_is(tmp_path: Path) -> None:
    """What only reads does not change it; a crawl does."""
    before = (old_project(tmp_path) / DATABASE).read_bytes()
    with Catalogue(tmp_path) as catalogue:
        assert [page.title for page in catalogue.pages()] == ["Old page 0", "Old page 1"]
    assert (tmp_path / DATABASE).read_bytes() == before


@pytest.mark.parametrize("opening", [Store, Catalogue])
def test_a_newer_project_is_refused_in_one_line(tmp_path: Path, opening: type[Store | Catalogue]) -> None:
    Store(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / DATABASE)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(ForagerError, match="newer forager") as error:
        opening(tmp_path)
    assert "\n" not in str(error.value)


def test_a_folder_without_a_crawl_is_told(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="holds no crawl yet"):
        Catalogue(tmp_path)
    assert list(tmp_path.iterdir()) == []
