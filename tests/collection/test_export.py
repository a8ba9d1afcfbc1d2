"""A collection as others read it."""

from __future__ import annotations

import json
import sys
from datetime import UTC
from pathlib import Path

import pytest
from pyarrow import parquet
from warcio.archiveiterator import ArchiveIterator

from forager.collection.export import export
from forager.errors import ForagerError
from tests.store.making import record, text
from tests.store.test_store import filled

COUNT = 30
PAGES = [seq for seq in range(COUNT) if record(seq).outcome == "page"]
RELEVANT = [seq for seq in PAGES if seq % 10 >= 5]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    filled(tmp_path / "project", COUNT, warc_size=5_000).close()
    return tmp_path / "project"


def test_json_lines(project: Path, tmp_path: Path) -> None:
    target = tmp_path / "pages.jsonl"
    told: list[int] = []
    written = export(project, target, "jsonl", min_relevance=0.5, classes=["good", "bad"], tell=told.append)
    assert written == len(RELEVANT)
    rows = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [row["seq"] for row in rows] == RELEVANT
    assert told == list(range(1, len(RELEVANT) + 1))
    given = record(RELEVANT[0])
    first = rows[0]
    assert (first["title"], first["text"], first["relevance"]) == (given.title, text(given.seq), given.relevance)
    assert first["topics"] == {"good": 0.75, "bad": 0.25}
    assert first["fetched_at"] == given.asked_at.isoformat()
    assert first["parent"] == f"http://h{given.parent % 5}.test/page-{given.parent}"


def test_warc_has_only_the_relevant_pages(project: Path, tmp_path: Path) -> None:
    target = tmp_path / "pages.warc.gz"
    assert export(project, target, "warc", min_relevance=0.5) == len(RELEVANT)
    found = []
    with target.open("rb") as file:
        for one in ArchiveIterator(file, check_digests="raise"):
            one.content_stream().read()
            found.append((one.rec_type, one.rec_headers["WARC-Target-URI"]))
    assert [target for kind, target in found if kind == "response"] == [
        f"http://h{seq % 5}.test/page-{seq}" for seq in RELEVANT
    ]
    kinds = [kind for kind, _ in found]
    assert kinds == ["warcinfo", *("response", "request", "metadata") * len(RELEVANT)]


def test_parquet(project: Path, tmp_path: Path) -> None:
    target = tmp_path / "pages.parquet"
    assert export(project, target, "parquet") == len(PAGES)
    rows = parquet.read_table(target).to_pylist()
    assert [row["seq"] for row in rows] == PAGES
    assert rows[1]["fetched_at"].astimezone(UTC) == record(PAGES[1]).asked_at
    assert rows[1]["topics"] == [0.75, 0.25]


def test_parquet_without_pyarrow_tells_the_cure(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ForagerError, match=r"pip install 'forager\[parquet\]'"):
        export(project, tmp_path / "x.parquet", "parquet")
    assert list(tmp_path.iterdir()) == [project]


def test_wrong_formats_and_places_are_told(project: Path, tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="no format named 'json'"):
        export(project, tmp_path / "x", "json")
    with pytest.raises(ForagerError, match="cannot be written"):
        export(project, tmp_path / "no" / "x", "jsonl")
    with pytest.raises(ForagerError, match="holds no crawl yet"):
        export(tmp_path, tmp_path / "x", "jsonl")
