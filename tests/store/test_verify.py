"""`verify` says of a whole project that it is whole, and finds whatever does not fit, without changing anything."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from forager.cli import main
from forager.cli.mending import ALL_CHECKS
from forager.errors import ForagerError
from forager.store import Store
from forager.store.damage import row_checksum
from forager.store.rows import SEALED_COLUMNS
from forager.store.schema import DATABASE
from forager.store.verify import CHECKS, Check, Finding, Inspected, Looked, is_whole, verify
from forager.store.warc import pack
from tests.contracts.test_strategies import MAKERS
from tests.crawl.test_resuming import crawl
from tests.store.making import archives, new_url, record
from tests.store.test_damage import damage_page
from tests.store.test_opening import contents, copy_database, put_back


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished crawl of a learner, with a checkpoint."""
    folder = tmp_path_factory.mktemp("crawled") / "project"
    made, _ = crawl(folder, MAKERS["apprentice often"], None)
    with Store(folder) as store:
        store.checkpoint(store.last_seq, {"weights": made.facts.edges.scores})
    return folder


@pytest.fixture
def project(crawled: Path, tmp_path: Path) -> Path:
    shutil.copytree(crawled, tmp_path / "project")
    return tmp_path / "project"


def wrong(folder: Path) -> dict[str, list[Finding]]:
    """What is wrong, by check."""
    before = contents(folder)
    results = verify(folder)
    assert contents(folder) == before
    return {result.name: list(result.findings) for result in results if result.wrong}


def test_a_whole_project_is_whole(project: Path) -> None:
    results = verify(project)
    assert is_whole(results)
    checked = {result.name: result.checked for result in results}
    with Store(project) as store:
        records = list(store.records())
        kept = [one for one in records if one.outcome == "page"]
        assert checked["records"] == len(records)
        assert checked["URLs"] == store.known
    assert checked["links"] == len(kept)
    assert checked["answers in the archive"] == len(kept) + 1  # with the warcinfo record
    assert checked["redirects"] == sum(len(one.redirects) for one in records) > 0
    assert checked["checkpoints"] == 1


def change(folder: Path, sql: str, *given: object) -> None:
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        db.execute(sql, given)
        db.commit()


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def sealed_again(folder: Path, seq: int, column: str, value: object) -> None:
    """A row that is wrong, with a checksum that is right."""
    change(folder, f"UPDATE visit SET {column} = ? WHERE seq = ?", value, seq)
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        row = db.execute(f"SELECT {SEALED_COLUMNS} FROM visit WHERE seq = ?", (seq,)).fetchone()
        db.execute("UPDATE visit SET checksum = ? WHERE seq = ?", (row_checksum(row), seq))
        db.commit()


DAMAGES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "page": (lambda folder: damage_page(folder, 0), "answers in the archive", "record 0 "),
    "archive gone": (lambda folder: archives(folder)[0].unlink(), "files", "is missing"),
    "archive short": (lambda folder: shorten(archives(folder)[0]), "files", "bytes that were committed"),
    "links": (lambda folder: flip(folder / "links.bin", 20), "links", "links of record"),
    "links short": (lambda folder: shorten(folder / "links.bin"), "files", "links.bin has"),
    "title": (lambda folder: change(folder, "UPDATE visit SET title = 'x' WHERE seq = 2"), "records", "record 2"),
    "gap": (lambda folder: change(folder, "DELETE FROM visit WHERE seq = 3"), "records", "2 is followed by 4"),
    "parent": (lambda folder: sealed_again(folder, 4, "parent", 99_999), "records", "not known"),
    "digest": (lambda folder: sealed_again(folder, 0, "digest", "sha1:AAAA"), "answers in the archive", "digest"),
    "place": (lambda folder: sealed_again(folder, 0, "answered", 1), "answers in the archive", "holds an answer of"),
    "url": (lambda folder: change(folder, "UPDATE url SET text = text || 'x' WHERE id = 5"), "URLs", "not as written"),
    "score": (lambda folder: change(folder, "UPDATE url SET score = 7 WHERE id = 5"), "URLs", "not as written"),
    "url gone": (lambda folder: change(folder, "DELETE FROM url WHERE id = 5"), "URLs", "not as written"),
    "host": (lambda folder: change(folder, "UPDATE host SET name = 'z.test' WHERE id = 0"), "URLs", "under the host"),
    "redirect": (lambda folder: change(folder, "UPDATE redirect SET target = 1"), "redirects", "not as it was written"),
    "checkpoint": (lambda folder: flip(next((folder / "checkpoints").iterdir()), 300), "checkpoints", "is damaged"),
}  # fmt: skip


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


@pytest.mark.parametrize("name", DAMAGES)
def test_whatever_does_not_fit_is_found(project: Path, name: str) -> None:
    damage, check, told = DAMAGES[name]
    damage(project)
    found = wrong(project)
    assert told in found[check][0].what
    assert found[check][0].cure


def add_to_archive(folder: Path, why: dict[str, object]) -> str:
    """An answer that no row points at."""
    given = record(0, why=why)
    packed = pack(given, UUID(int=3))
    assert packed is not None
    path = archives(folder)[-1]
    with path.open("ab") as file:
        file.write(packed[0])
    change(folder, "UPDATE file SET length = ? WHERE name = ?", path.stat().st_size, f"warc/{path.name}")
    assert given.answer is not None
    return given.answer.url


def test_answers_that_no_row_points_at_are_told(project: Path) -> None:
    url = add_to_archive(project, {"depth": 1})
    [found] = wrong(project)["answers in the archive"]
    assert f"no row points at the answer of {url}" in found.what


def test_answers_that_are_kept_beside_the_pages_are_right(project: Path) -> None:
    before = verify(project)
    add_to_archive(project, {"aside": True})
    after = verify(project)
    assert is_whole(after)
    checked = [{one.name: one.checked for one in results}["answers in the archive"] for results in (before, after)]
    assert checked[1] == checked[0] + 1


def test_an_older_copy_and_what_was_moved_aside_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forager.store.commit.GROUP", 2)
    folder = tmp_path / "project"
    crawl(folder, MAKERS["breadth-first"], 30)
    copy_database(folder, tmp_path / "copy")
    crawl(folder, MAKERS["breadth-first"], None)
    assert is_whole(verify(folder))
    put_back(folder, tmp_path / "copy")
    [found] = wrong(folder)["files"]
    assert "it is an older copy" in found.what
    Store(folder).close()
    told = wrong(folder)["files"]
    assert told
    assert all("was moved aside" in one.what and "forager recover" in one.cure for one in told)


def test_without_its_database_it_is_not_whole(project: Path) -> None:
    (project / DATABASE).unlink()
    [found] = wrong(project)["database"]
    assert "forager recover" in found.cure


def test_a_folder_without_a_project_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="holds no crawl yet"):
        verify(tmp_path)


def test_while_a_crawl_runs(project: Path) -> None:
    """Each check sees the project as it was at the beginning, however much is written meanwhile."""
    with Store(project, warc_size=3_000) as store:
        seen: list[str] = []

        def tell(name: str, done: int) -> None:
            if name not in seen:
                seen.append(name)
                for _ in range(3):
                    seq = store.last_seq + store.pending + 1
                    store.add(record(seq, store.known, answered=store.known, asked=store.known))
                store.commit()
                store.add(record(store.last_seq + 1, store.known))
                store._pack()
                store._files.write(sync=False)  # a group that is not acknowledged yet
                store.commit()

        before = store.last_seq
        results = verify(project, tell=tell)
        assert len(seen) == len(CHECKS)
        assert store.last_seq > before + 20
    assert is_whole(results)


def test_other_rooms_can_add_checks(project: Path) -> None:
    def every_third(inspected: Inspected) -> Looked:
        for id in range(inspected.urls):
            yield Finding(f"URL {id}", "ask again") if id % 3 == 0 else None

    [result] = verify(project, [Check("invariant", every_third)])
    assert result.wrong == len(range(0, result.checked, 3))


@pytest.mark.parametrize("damaged", [False, True])
def test_the_command(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], damaged: bool
) -> None:
    if damaged:
        damage_page(project, 0)
    for words in ((), ("--json",)):
        monkeypatch.setattr(sys, "argv", ["forager", "verify", str(project), *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out = capsys.readouterr().out
        assert (ended.value.code or 0) == int(damaged)
        if words:
            told = json.loads(out)
            assert told["whole"] is not damaged
            assert [check["wrong"] for check in told["checks"]].count(0) == len(ALL_CHECKS) - damaged
        else:
            assert ("the project is whole" in out) is not damaged
            assert ("record 0 (http://a.test/" in out) is damaged


def test_seeds_alone_are_whole(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.add_urls([new_url(0)])
    assert is_whole(verify(tmp_path))
