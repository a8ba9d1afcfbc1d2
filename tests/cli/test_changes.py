"""`forager changes`: what people and programs see of how pages change."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from forager.cli import app
from forager.collection.feed import ATOM
from forager.store import Store
from tests.store.making import new_url, record, url
from tests.store.test_history import Answered, stored

NOW = datetime.now(UTC)
HISTORY = (  # page, outcome, reason, relevance, days ago
    (0, "page", "", 0.25, 30),
    (1, "page", "", 0.75, 29),
    (2, "page", "", 0.875, 20),
    (3, "page", "", 0.125, 10),
    (0, "same", "", 0.0, 9),
    (0, "page", "", 0.5, 6),
    (1, "miss", "not-found", 0.0, 5),
    (1, "miss", "not-found", 0.0, 4),
    (2, "moved", "", 0.0, 3),
    (4, "page", "", 0.625, 1),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "owls"
    with Store(folder) as store:
        store.add_urls([new_url(id) for id in range(6)])
        for seq, (id, outcome, reason, relevance, days) in enumerate(HISTORY):
            said = Answered(id, outcome, reason, relevance, 0)
            store.add(stored(seq, said, 0)._replace(asked_at=NOW - timedelta(days=days)))
    (folder / "forager.toml").write_text('seeds = ["http://a.test/"]\n[refresh]\nrelevance = 0.7\n')
    return folder


def changes(project: Path, *words: str) -> Result:
    done = CliRunner().invoke(app, ["changes", str(project), *words])
    assert done.exit_code == 0, done.output
    return done


def told(project: Path, *words: str) -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in changes(project, *words, "--json").stdout.splitlines()]
    return [(row["kind"], row["url"]) for row in rows]


def at(days: float) -> str:
    return f"{NOW - timedelta(days=days):%Y-%m-%d %H:%M:%S}"


def test_lines_for_people(project: Path) -> None:
    assert changes(project).stdout.splitlines() == [
        f"{at(1)}  new      0.625           {url(4)}  title 9",
        f"{at(3)}  moved    0.875           {url(2)}  -> {url(3)}  title 2",
        f"{at(5)}  gone     0.750           {url(1)}  title 1  (not found (404 or 410))",
        f"{at(6)}  changed  0.250 -> 0.500  {url(0)}  title 5",
        f"{at(10)}  new      0.125           {url(3)}  title 3",
        f"{at(20)}  new      0.875           {url(2)}  title 2",
        f"{at(29)}  new      0.750           {url(1)}  title 1",
        f"{at(30)}  new      0.250           {url(0)}  title 0",
    ]


def test_json_for_programs(project: Path) -> None:
    rows = [json.loads(line) for line in changes(project, "--json", "--limit", "4").stdout.splitlines()]
    assert rows[3] == {
        **{"at": (NOW - timedelta(days=6)).isoformat(), "kind": "changed", "url": url(0), "title": "title 5"},
        **{"relevance": 0.5, "before": 0.25, "target": None, "reason": None},
    }
    assert [row["target"] for row in rows] == [None, url(3), None, None]
    assert [row["reason"] for row in rows] == [None, None, "not-found", None]


def test_only_some(project: Path) -> None:
    assert told(project, "--since", "7d") == [("new", url(4)), ("moved", url(2)), ("gone", url(1)), ("changed", url(0))]
    assert told(project, "--since", "96h") == [("new", url(4)), ("moved", url(2))]
    assert told(project, "--since", "1w", "--kind", "gone", "--kind", "moved") == [("moved", url(2)), ("gone", url(1))]
    assert told(project, "--since", (NOW - timedelta(days=2)).isoformat()) == [("new", url(4))]
    assert told(project, "--since", f"{NOW + timedelta(days=1):%Y-%m-%d}") == []
    assert told(project, "--limit", "1") == [("new", url(4))]
    assert told(project, "--min-relevance", "0.8") == [("moved", url(2)), ("new", url(2))]
    assert told(project, "--min-relevance", "0.5", "--kind", "changed") == [("changed", url(0))]


def test_a_time_without_a_zone_is_in_utc(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    just_before = f"{NOW - timedelta(days=1, seconds=5):%Y-%m-%dT%H:%M:%S}"
    just_after = f"{NOW - timedelta(days=1, seconds=-5):%Y-%m-%dT%H:%M:%S}"
    assert told(project, "--since", just_before) == [("new", url(4))]
    assert told(project, "--since", just_after) == []


def links(feed: str) -> list[str]:
    return [link.attrib["href"] for link in ElementTree.fromstring(feed).iter(f"{{{ATOM}}}link")]


def test_a_feed_has_the_new_pages_that_are_relevant_enough(project: Path, tmp_path: Path) -> None:
    target = tmp_path / "feed.xml"
    assert changes(project, "--atom", str(target)).stdout == f"2 pages in {target}\n"
    assert links(target.read_text()) == [url(2), url(1)]
    assert links(changes(project, "--atom", "-").stdout) == [url(2), url(1)]
    assert links(changes(project, "--atom", "-", "--min-relevance", "0.6").stdout) == [url(4), url(2), url(1)]
    assert links(changes(project, "--atom", "-", "--min-relevance", "0", "--limit", "2").stdout) == [url(4), url(3)]
    assert links(changes(project, "--atom", "-", "--since", "25d").stdout) == [url(2)]
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["feed.xml"]


def test_a_feed_that_cannot_be_written_is_one_line_and_the_old_one_stays(project: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = CliRunner().invoke(app, ["changes", str(project), "--atom", str(tmp_path / "folder")])
    assert str(done.exception).startswith(f"{tmp_path / 'folder'} cannot be written: ")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder", "owls"]


def test_while_a_crawl_runs(project: Path) -> None:
    with Store(project) as store:
        store.add(record(len(HISTORY), asked=5, answered=5, outcome="page", relevance=0.9, new_urls=()))
        assert len(told(project)) == 8
        store.commit()
        assert told(project)[0] == ("new", url(5))
