"""With `durable = "power"`, nothing that was acknowledged is lost by a power cut, at whatever moment it comes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from forager.store import Store, commit
from forager.store.aside import FlatFiles
from forager.store.flat import FlatFile
from forager.types import Fetch
from tests.store.making import answer, new_url, record, url
from tests.store.simulated_disk import (
    Keeps,
    Recorder,
    Step,
    after_cut,
    everything,
    nothing,
    on_disk,
    rebuild,
    recording_python,
    recording_sqlite,
    some,
)
from tests.store.test_kill import check_all

WARC_SIZE = 4_000  # so that files are begun
PARTS = 50  # moments at which some of the unsynced steps are there
GROUPS = (3, 1, 5, 2)  # records in each commit of a life


def lives(recorder: Recorder, folder: Path, durable: str = "power") -> None:
    """Two sessions of a crawl. SQLite copies its log into the file every few pages, so that cuts fall there too."""
    seq = -1
    for _ in range(2):
        store = Store(folder, durable=durable, warc_size=WARC_SIZE)  # type: ignore[arg-type]
        store._db.execute("PRAGMA wal_autocheckpoint = 12")
        if store.known == 0:
            store.add_urls([new_url(0)])
        for count in GROUPS:
            for _ in range(count):
                seq += 1
                store.add(record(seq))
            recorder.acknowledged(store.commit())
        store.close()


def recorded(root: Path, patch: pytest.MonkeyPatch, durable: str = "power") -> list[Step]:
    root.mkdir()
    recorder = Recorder(root)
    with recording_sqlite(recorder), recording_python(recorder, patch):
        lives(recorder, root / "project", durable)
    assert after_cut(recorder.steps, everything) == on_disk(root), "something was done that was not seen"
    return recorder.steps


def acknowledged(steps: list[Step]) -> int:
    return max((step.at for step in steps if step.what == "acknowledged"), default=-1)


def problem(found: dict[str, bytes | None], last: int, root: Path) -> str:
    """What is lost of the records up to `last`, if anything is. The rest may be there or not, but whole."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    rebuild(found, root)
    try:
        with Store(root / "project", warc_size=WARC_SIZE) as store:
            if store.last_seq < last:
                return f"{last - store.last_seq} acknowledged records are gone"
            for stored in store.records():
                given, came = record(stored.seq), answer(stored.seq)
                assert (stored.links, stored.redirects) == (given.links, tuple(given.redirects))
                back = store.answer_of(stored.seq)
                assert (back is not None) == isinstance(came, Fetch)
                assert back is None or (isinstance(came, Fetch) and back.body == came.body)
            assert not [line for line in store.warnings if "damaged" in line]
            assert [text for chunk in store.urls() for text in chunk.texts] == [url(id) for id in range(store.known)]
            for seq in range(store.last_seq + 1, store.last_seq + 3):  # and it goes on
                if store.known == 0:
                    store.add_urls([new_url(0)])
                store.add(record(seq))
        check_all(root / "project")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def first_problem(steps: list[Step], counts: Iterable[int], keeps: Callable[[int], Keeps], root: Path) -> str:
    """Cut the power after so many steps. States that were seen before are passed over."""
    seen: set[int] = set()
    for count in counts:
        last, found = acknowledged(steps[:count]), after_cut(steps[:count], keeps(count))
        state = hash((last, *sorted((path, content or b"") for path, content in found.items())))
        if state not in seen:
            seen.add(state)
            wrong = problem(found, last, root)
            if wrong:
                return f"after step {count} of {len(steps)} ({steps[count - 1].what} {steps[count - 1].path}): {wrong}"
    assert len(seen) > 20
    return ""


@pytest.fixture(autouse=True)
def another_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power cut the computer has been started again."""
    real, boots = FlatFiles._fit, iter(range(1, 100_000))

    def started_again(self: FlatFiles, *given: Any) -> None:
        monkeypatch.setattr("forager.store.aside.BOOT", UUID(int=next(boots)))
        real(self, *given)

    monkeypatch.setattr(FlatFiles, "_fit", started_again)


def test_whatever_was_not_synced_may_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = recorded(tmp_path / "disk", monkeypatch)
    assert first_problem(steps, range(len(steps) + 1), lambda count: nothing, tmp_path / "after") == ""


def test_whatever_was_not_synced_may_be_there_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = recorded(tmp_path / "disk", monkeypatch)
    counts = random.Random(1).sample(range(len(steps) + 1), PARTS)
    assert first_problem(steps, counts, lambda count: some(random.Random(count)), tmp_path / "after") == ""


def no_file_syncs(patch: pytest.MonkeyPatch) -> None:
    write = FlatFile.write
    patch.setattr(FlatFile, "write", lambda self, *, sync: write(self, sync=False))


def no_folder_syncs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("forager.store.commit.sync_folder", lambda folder: None)


def no_folder_syncs_of_new_archives(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("forager.store.warc.sync_folder", lambda folder: None)


def no_database_syncs(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(commit._SYNCHRONOUS, "power", "NORMAL")


@pytest.mark.parametrize(
    "without", [no_file_syncs, no_folder_syncs, no_folder_syncs_of_new_archives, no_database_syncs]
)
def test_a_sync_that_is_missing_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: Callable[[pytest.MonkeyPatch], None]
) -> None:
    """The test above would fail without it."""
    with monkeypatch.context() as patched:
        without(patched)
        steps = recorded(tmp_path / "disk", patched)
    assert first_problem(steps, range(len(steps) + 1), lambda count: nothing, tmp_path / "after") != ""
