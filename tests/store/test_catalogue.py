"""What the catalogue tells of a project."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from forager.errors import ForagerError
from forager.store import Catalogue, NewUrl, Record, Store
from forager.store.damage import DamageWarning
from tests.store.making import answer, new_url, record, text, url
from tests.store.test_store import filled

COUNT = 40


@pytest.fixture
def project(tmp_path: Path) -> Path:
    filled(tmp_path, COUNT).close()
    return tmp_path


def test_pages_by_relevance(project: Path) -> None:
    with Catalogue(project) as catalogue:
        best = list(catalogue.pages(order="relevance", limit=5))
        enough = list(catalogue.pages(min_relevance=0.5))
        assert sorted(page.seq for page in catalogue.pages(order="newest", limit=3)) == [35, 36, 37]
    assert [page.relevance for page in best] == sorted((page.relevance for page in best), reverse=True)
    assert best[0].relevance == 0.9
    expected = [seq for seq in range(COUNT) if record(seq).outcome == "page" and seq % 10 >= 5]
    assert [page.seq for page in enough] == expected


def test_an_unknown_order_is_told(project: Path) -> None:
    with Catalogue(project) as catalogue, pytest.raises(ForagerError, match="no order named 'relevence'"):
        catalogue.pages(order="relevence")


def test_reading_beside_a_running_crawl(tmp_path: Path) -> None:
    with filled(tmp_path, 8) as store, Catalogue(tmp_path) as catalogue:
        assert catalogue.last_seq == 7
        store.add(record(8))
        assert catalogue.last_seq == 7
        store.commit()
        assert catalogue.last_seq == 8
        assert catalogue.status().running is not None


def test_find_gives_every_answer(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.add_urls([new_url(id) for id in range(5)])
        store.add(record(0, 5, asked=2, answered=2, outcome="retry", reason="busy", answer=answer(5)))
        store.add(record(1, 8, asked=2, answered=3))
    with Catalogue(tmp_path) as catalogue:
        found = catalogue.find(url(2))
        assert [(entry.outcome, entry.reason, entry.url) for entry in found] == [
            ("retry", "busy", url(2)),
            ("page", "", url(3)),
        ]
        assert catalogue.answer(1) is not None
        assert catalogue.reasons(1)["score"] == 0.5
        assert catalogue.reasons(0) == {}
        with pytest.raises(ForagerError, match="was not found by this crawl"):
            catalogue.find("http://nowhere.test/")


def way_record(seq: int, id: int, parent: int, depth: int, score: float, new: list[NewUrl]) -> Record:
    asked = {"asked": id, "answered": id, "outcome": "page", "title": f"title {id}"}
    return record(seq, None, parent=parent, depth=depth, score=score, new_urls=new, **asked)


def test_why_tells_the_way_from_the_seed(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.add_urls([new_url(0)])
        store.add(way_record(0, 0, -1, 0, float("inf"), [new_url(1), new_url(2)]))
        store.add(way_record(1, 2, 0, 1, 0.8, [new_url(3)]))
        store.add(way_record(2, 3, 2, 2, 0.9, [new_url(4)]))
    with Catalogue(tmp_path) as catalogue:
        way = catalogue.why(url(3))
        waiting = catalogue.why(url(4))
        assert [step.url for step in catalogue.why(url(0))] == [url(0)]
    assert [(step.url, step.score, step.depth) for step in way] == [
        (url(0), float("inf"), 0),
        (url(2), 0.8, 1),
        (url(3), 0.9, 2),
    ]
    assert [step.title for step in way] == ["title 0", "title 2", "title 3"]
    assert waiting[:3] == way
    assert (waiting[3].outcome, waiting[3].depth, waiting[3].score) == ("waiting", 3, 4 / 7)


def test_status(project: Path) -> None:
    with Store(project) as store:
        store.end_session(store.begin_session("", "1.0"), "done")
    with Catalogue(project) as catalogue:
        status = catalogue.status()
    given = [record(seq) for seq in range(COUNT)]
    assert status.outcomes == {kind: sum(r.outcome == kind for r in given) for kind in ("page", "miss", "moved")}
    assert status.reasons == {"not-found": 6, "dns": 5}
    assert (status.urls, status.hosts, status.running) == (1 + 3 * COUNT, 5, None)
    judged = [r.relevance for r in given if not math.isnan(r.relevance)]
    assert status.relevance == pytest.approx(sum(judged) / len(judged))
    assert [session.reason for session in status.sessions] == ["done"]
    assert status.bytes["links.bin"] == (project / "links.bin").stat().st_size
    assert status.pages == len(judged)


def test_texts(project: Path) -> None:
    with Catalogue(project) as catalogue:
        assert [catalogue.text(page) for page in catalogue.pages(limit=2)] == [text(seq) for seq in (0, 1)]


def test_an_archive_that_is_gone_is_told(project: Path) -> None:
    (project / "warc/forager-00001.warc.gz").unlink()
    catalogue = Catalogue(project)
    assert catalogue.answer(0) is None
    assert catalogue.reasons(1) == {}
    assert [catalogue.text(page) for page in catalogue.pages(limit=2)] == ["", ""]
    with pytest.warns(DamageWarning, match="2 damaged records of .* forager verify"):
        catalogue.close()
