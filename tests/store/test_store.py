"""What is stored comes back in order, and only what was acknowledged."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from forager.clock import VirtualClock
from forager.errors import ForagerError
from forager.store import Record, Store, StoreFull
from forager.store.commit import LARGE, LARGE_WAIT, MOST_BYTES, TOGETHER
from forager.store.warc import ArchivedAnswer, Packed
from forager.types import Exchange, Fetch
from tests.store.making import NEW_URLS, answer, new_url, record, url


def filled(folder: Path, count: int, **options: int) -> Store:
    store = Store(folder, **options)  # type: ignore[arg-type]
    store.add_urls([new_url(0)])
    for seq in range(count):
        store.add(record(seq))
    store.commit()
    return store


def test_records_come_back_as_they_went_in(tmp_path: Path) -> None:
    filled(tmp_path, 30).close()
    with Store(tmp_path) as store:
        found = list(store.records())
        assert store.last_seq == 29
    assert [stored.seq for stored in found] == list(range(30))
    for stored in found:
        given = record(stored.seq)
        for name in ("asked", "answered", "outcome", "reason", "detail", "status", "parent", "depth", "score"):
            assert getattr(stored, name) == getattr(given, name)
        for name in ("critic", "label", "asked_at", "seconds", "title", "links"):
            assert getattr(stored, name) == getattr(given, name)
        assert math.isnan(stored.relevance) if math.isnan(given.relevance) else stored.relevance == given.relevance
        assert stored.redirects == tuple(given.redirects)
        assert list(stored.new_urls) == [new.id for new in given.new_urls]
        assert (stored.topics is None) == (given.topics is None)
        if given.topics is not None:
            np.testing.assert_array_equal(stored.topics, given.topics)


def test_records_after_one(tmp_path: Path) -> None:
    with filled(tmp_path, 12) as store:
        assert [stored.seq for stored in store.records(after=8)] == [9, 10, 11]
        assert [stored.redirects for stored in store.records(after=9)] == [((10, 11), (10, 12)), ()]


def test_urls_come_back_in_columns(tmp_path: Path) -> None:
    with filled(tmp_path, 20) as store:
        chunks, hosts = list(store.urls(chunk=7)), store.hosts()
        assert store.known == 1 + 20 * NEW_URLS
    texts = [text for chunk in chunks for text in chunk.texts]
    assert texts == [url(id) for id in range(61)]
    assert [chunk.first for chunk in chunks] == list(range(0, 61, 7))
    names = [hosts[host] for chunk in chunks for host in chunk.hosts]
    assert names == [new_url(id).host for id in range(61)]
    np.testing.assert_array_equal(np.concatenate([c.scores for c in chunks]), np.arange(61, dtype=np.float32) / 7)


def test_hosts_are_numbered_in_order_of_discovery(tmp_path: Path) -> None:
    with filled(tmp_path, 5) as store:
        assert store.hosts() == [f"h{i}.test" for i in range(5)]
    with Store(tmp_path) as store:
        store.add(record(5))
    with Store(tmp_path) as store:
        assert store.hosts() == [f"h{i}.test" for i in range(5)]


@pytest.mark.parametrize("seq", range(7))
def test_an_answer_is_read_back_from_the_archive(tmp_path: Path, seq: int) -> None:
    with filled(tmp_path, 7) as store:
        found, given = store.answer_of(seq), answer(seq)
    if not isinstance(given, Fetch):
        assert found is None
    else:
        assert found is not None
        fields = ("url", "body", "content_type", "charset", "status", "seconds", "exchange")
        assert [getattr(found, name) for name in fields] == [getattr(given, name) for name in fields]


def test_a_body_may_hold_anything(tmp_path: Path) -> None:
    bytes_ = b"\r\n\r\nWARC/1.1\r\n\0\xff" * 3
    fetch = Fetch(
        url(0), bytes_, "text/html", "", 200, 0.0, Exchange(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200\r\n\r\n")
    )
    with Store(tmp_path) as store:
        store.add(record(0, 0, answer=fetch))
        store.commit()
        found = store.answer_of(0)
    assert found is not None
    assert found.body == bytes_


def test_what_was_not_committed_is_not_there(tmp_path: Path) -> None:
    with filled(tmp_path, 3) as store:
        store.add(record(3))
        assert store.pending == 1
        assert store.last_seq == 2
        assert [stored.seq for stored in store.records()] == [0, 1, 2]


def test_closing_commits(tmp_path: Path) -> None:
    with filled(tmp_path, 3) as store:
        store.add(record(3))
    with Store(tmp_path) as store:
        assert store.last_seq == 3


def test_gaps_are_refused(tmp_path: Path) -> None:
    with filled(tmp_path, 3) as store:
        with pytest.raises(ValueError, match="3 comes next"):
            store.add(record(4))
        with pytest.raises(ValueError, match="10 comes next"):
            store.add(record(3, 11))
        store.add(record(3))
        assert store.commit() == 3


def test_a_group_is_due_when_full_or_old(tmp_path: Path) -> None:
    clock = VirtualClock()
    with Store(tmp_path, clock=clock) as store:
        assert not store.due(clock.now() + 1000)
        store.add(record(0, 0))
        clock.spend(0.19)
        assert not store.due(clock.now())
        clock.spend(0.02)
        assert store.due(clock.now())
        store.commit()
        assert not store.due(clock.now() + 1000)
        for seq in range(1, 65):
            assert not store.due(clock.now())
            store.add(record(seq, store.known))
        assert store.due(clock.now())


def test_sessions(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        killed = store.begin_session("seeds = []", "1.0")
        store.add(record(0, 0))
    with Store(tmp_path) as store:
        second = store.begin_session("seeds = ['a']", "1.1")
        store.add(record(1, store.known))
        store.end_session(second, "the budget is used up")
        first, last = store.sessions()
        assert [stored.session for stored in store.records()] == [killed, second]
    assert (first.ended, first.reason, first.config) == (None, "", "seeds = []")
    assert (last.reason, last.version) == ("the budget is used up", "1.1")
    assert last.ended is not None
    assert last.ended >= last.began


def test_power_durability_stores_the_same(tmp_path: Path) -> None:
    with Store(tmp_path, durable="power") as store:
        for seq in range(5):
            store.add(record(seq, store.known))
        assert store.commit() == 4
    with Store(tmp_path) as store:
        assert len(list(store.records())) == 5


def test_a_file_shorter_than_committed_is_told(tmp_path: Path) -> None:
    filled(tmp_path, 5).close()
    with (tmp_path / "links.bin").open("r+b") as file:
        file.truncate(2)
    with pytest.raises(ForagerError, match=r"links\.bin has 2 of the 10 bytes it should"):
        Store(tmp_path)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ForagerError, match="cannot be used"):
        Store(tmp_path / "file" / "project")


def test_a_damaged_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "crawl.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(ForagerError, match=r"is damaged \(file is not a database\).*forager recover"):
        Store(tmp_path)


def test_a_record_is_of_the_session_it_was_added_in(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.add(record(0, 0))
        session = store.begin_session("seeds = []", "1.0")
        store.add(record(1, store.known))
        store.commit()
        assert [stored.session for stored in store.records()] == [-1, session]


class NeverDone:
    """In the place of a thread: it packs when somebody waits for it."""

    def submit(self, pack: Callable[[], Packed | None]) -> Any:
        return SimpleNamespace(result=pack, done=lambda: False)


def test_large_bodies_that_are_packed_in_a_thread_do_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path) as store:
        queued: list[int] = []
        queue = store._warc.queue

        def noted(record: Record, packed: Packed | None) -> ArchivedAnswer | None:
            queued.append(record.seq)
            return queue(record, packed)

        monkeypatch.setattr(store._warc, "queue", noted)
        monkeypatch.setattr(store, "_packer", NeverDone())
        large = Fetch(url(0), bytes(MOST_BYTES // 2))
        for seq in range(2):
            store.add(record(seq, store.known, answer=large))
        assert queued == []
        store.add(record(2, store.known, answer=large))
        assert queued == [0, 1]
        store.commit()
        assert [stored.seq for stored in store.records()] == [0, 1, 2]
        assert store.answer_of(2).body == large.body  # type: ignore[union-attr]


def test_a_group_waits_a_while_for_the_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = VirtualClock()
    with Store(tmp_path, clock=clock) as store:
        monkeypatch.setattr(store, "_packer", NeverDone())
        store.add(record(0, 0, answer=Fetch(url(0), bytes(LARGE))))
        assert not store.due(clock.now() + LARGE_WAIT / 2)
        assert store.due(clock.now() + LARGE_WAIT)


def test_a_record_that_finds_the_disk_full_is_not_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(record: Record, packed: Packed | None) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with Store(tmp_path) as store:
        with monkeypatch.context() as patch:
            patch.setattr(store._warc, "queue", full)
            for seq in range(TOGETHER):
                store.add(record(seq, store.known))
            known = store.known
            with pytest.raises(StoreFull):
                store.add(record(TOGETHER, known))
            assert (store.pending, store.known) == (TOGETHER, known)
        store.add(record(TOGETHER, known))
        assert store.commit() == TOGETHER
        assert [stored.seq for stored in store.records()] == list(range(TOGETHER + 1))


@pytest.mark.parametrize("moment", ["before", "after"])
def test_interrupted_around_the_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    store = filled(tmp_path, 3)
    for seq in range(3, 9):
        store.add(record(seq))
    transact = store._transact

    def interrupted() -> None:
        if moment == "after":
            transact()
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "_transact", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.commit()
    store.close()
    with Store(tmp_path) as store:
        expected = 8 if moment == "after" else 2
        assert store.last_seq == expected
        assert [stored.links for stored in store.records()] == [record(seq).links for seq in range(expected + 1)]
        assert store.answer_of(expected) is not None
