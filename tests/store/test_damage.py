"""Bytes that have changed on the disk are noticed: what is whole is used, and what is lost is told. Nothing is ever
raised but an error with one line for people."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import sqlite3
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from forager.clock import VirtualClock
from forager.collection.export import export
from forager.crawl.resume import resume
from forager.errors import ForagerError
from forager.store import Catalogue, DamagedError, DamageWarning, SearchIndex, Store, Stored
from forager.store.journal import unpack_links
from forager.store.members import ArchivedRecords, LostStretch, Member, member_at, walk
from forager.store.schema import DATABASE
from forager.store.verify import is_whole, verify
from forager.store.warc import pack
from forager.types import Fetch
from tests.contracts.test_strategies import MAKERS
from tests.crawl.test_resuming import config, crawl, web
from tests.small_web import WordCritic
from tests.store.making import archives, body, record
from tests.store.test_store import filled

FLIPS = 100


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a crawl that dies has acknowledged something."""
    monkeypatch.setattr("forager.store.commit.GROUP", 2)


@contextmanager
def changed(path: Path, content: bytes) -> Iterator[None]:
    """The file with other content, for a while."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


def damages(content: bytes, rng: random.Random) -> bytes:
    """A flipped bit, a stretch of zeros or noise, or an end that is missing."""
    damaged, at = bytearray(content), rng.randrange(len(content))
    match rng.randrange(8):
        case 0:
            damaged[at : at + 64] = bytes(min(64, len(content) - at))
        case 1:
            damaged[at : at + 16] = rng.randbytes(min(16, len(content) - at))
        case 2:
            del damaged[at:]
        case _:
            damaged[at] ^= 1 << rng.randrange(8)
    return bytes(damaged)


# ---- the archive


def test_an_answer_comes_back_as_it_was_or_is_lost(tmp_path: Path) -> None:
    filled(tmp_path, 14).close()
    path, rng, seen = archives(tmp_path)[0], random.Random(3), Counter[bool]()
    pages = [seq for seq in range(14) if isinstance(record(seq).answer, Fetch)]
    for _ in range(FLIPS):
        with changed(path, damages(path.read_bytes(), rng)):
            catalogue = Catalogue(tmp_path)
            found = {seq: catalogue.answer(seq) for seq in pages}
            reasons = [catalogue.reasons(seq) for seq in pages]
            lost = [seq for seq, answer in found.items() if answer is None]
            told = pytest.warns(DamageWarning, match=f"{len(lost)} damaged records") if lost else no_warning()
            with told:
                catalogue.close()
            assert all(answer.body == body(seq) for seq, answer in found.items() if answer)
            assert [seq for seq, why in zip(pages, reasons, strict=True) if not why] == lost
            seen[bool(lost)] += 1
    assert min(seen.values()) > 5  # some flips hit the warcinfo record, or a field that says nothing


@contextmanager
def no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_a_walk_over_a_damaged_file_comes_to_its_end(tmp_path: Path) -> None:
    """Every byte is told of once, as a record or as lost."""
    filled(tmp_path, 14).close()
    path, rng, whole = archives(tmp_path)[0], random.Random(4), list(walk(archives(tmp_path)[0]))
    answers = [one.url for one in whole if isinstance(one, ArchivedRecords)]
    assert len(answers) == 12
    size = path.stat().st_size
    for _ in range(FLIPS):
        with changed(path, damages(path.read_bytes(), rng)):
            found, end = list(walk(path)), 0
            for one in found:
                assert one.at == end
                end = one.end if isinstance(one, Member) else one.at + one.length
            assert end == path.stat().st_size
            left = [one.url for one in found if isinstance(one, ArchivedRecords)]
            assert set(left) <= set(answers)
            assert len(left) >= len(answers) - 2 or end < size  # one place was hit, or the end is gone


def test_a_record_of_another_kind_inside_of_an_answer_is_told_of_once(tmp_path: Path) -> None:
    """It refers to the answer as our own records do; the answer is lost, and it is not."""
    packed = pack(record(0), UUID(int=1))
    assert packed
    members, starts, at = packed[0], list[int](), 0
    while at < len(members):
        starts.append(at)
        at = member_at(members, at).end
    second = members[starts[1] : starts[2]]
    other = gzip.compress(gzip.decompress(second).replace(b"WARC-Type: request", b"WARC-Type: another"))
    path = tmp_path / "x.warc.gz"
    path.write_bytes(members[: starts[1]] + other + members[starts[1] :])
    found = [(type(one), one.at) for one in walk(path)]
    assert found == [(LostStretch, 0), (Member, starts[1]), (LostStretch, starts[1] + len(other))]


def test_the_store_raises_one_error(tmp_path: Path) -> None:
    with filled(tmp_path, 7) as store:
        damage_page(tmp_path, 0)
        with pytest.raises(DamagedError, match=r"record 0 of .* is damaged .*forager verify") as error:
            store.answer_of(0)
        assert "\n" not in str(error.value)
        assert [store.holds(seq) for seq in (0, 2)] == [False, True]
        assert len(store.warnings) == 1


def damage_page(folder: Path, seq: int) -> None:
    """Change a byte in the archived answer of a record."""
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        at = db.execute("SELECT warc_at + 60 FROM visit WHERE seq = ?", (seq,)).fetchone()[0]
    with archives(folder)[0].open("r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x10]))


def test_search_and_export_go_on_without_lost_pages(tmp_path: Path) -> None:
    project = tmp_path / "project"
    filled(project, 14).close()
    damage_page(project, 1)
    damage_page(project, 8)
    index = SearchIndex(project)
    assert index.update() == 8
    assert [hit.seq for hit in index.search("number7")] == [7]
    assert index.search("number8") == []
    with pytest.warns(DamageWarning, match="2 damaged records"):
        index.close()
    for format in ("jsonl", "parquet", "warc"):
        with pytest.warns(DamageWarning, match="2 damaged records"):
            assert export(project, tmp_path / "out", format) == 6
    with pytest.warns(DamageWarning):
        export(project, tmp_path / "out", "jsonl")
    seqs = [json.loads(line)["seq"] for line in (tmp_path / "out").read_text().splitlines()]
    assert seqs == [0, 2, 6, 7, 9, 13]


# ---- links


def stored(folder: Path) -> tuple[list[Stored], list[str]]:
    with Store(folder, clock=VirtualClock()) as store:
        return list(store.records()), store.warnings


@pytest.mark.parametrize("name", ["breadth-first", "fish", "apprentice often", "pagerank"])
def test_a_crawl_with_damaged_links_is_resumed(tmp_path: Path, name: str) -> None:
    """The links are read again from the page: the same URLs wait as before."""
    make = MAKERS[name]
    crawl(tmp_path, make, kill_after=25)
    whole, waiting = stored(tmp_path)[0], left(tmp_path, make)
    rng, path = random.Random(5), tmp_path / "links.bin"
    for _ in range(10):
        damaged = bytearray(path.read_bytes())
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        with changed(path, bytes(damaged)):
            found, told = stored(tmp_path)
            assert [one.seq for one in found] == [one.seq for one in whole]
            again = [(one, other) for one, other in zip(found, whole, strict=True) if one.links != other.links]
            assert [line.startswith("the links of 1 pages were damaged") for line in told] == [True]
            for one, other in again:
                assert np.array_equal(unpack_links(one.links)[0], unpack_links(other.links)[0])
            assert left(tmp_path, make) == waiting


def left(folder: Path, make: Callable[[], Any]) -> list[int]:
    """The ids of what waits in a resumed crawl."""
    clock = VirtualClock()
    with Store(folder, clock=clock) as store:
        made = resume(config(), store, critic=WordCritic(), strategy=make(), clock=clock, fetcher=web())
        return sorted(made.frontier.waiting.tolist())


def test_without_links_and_without_the_page_it_is_asked_for_again(tmp_path: Path) -> None:
    crawl(tmp_path, MAKERS["breadth-first"], kill_after=25)
    whole, _ = stored(tmp_path)
    page = [one for one in whole if one.outcome == "page"][3]
    damage_page(tmp_path, page.seq)
    links = (tmp_path / "links.bin").read_bytes()
    at = links.index(page.links)
    (tmp_path / "links.bin").write_bytes(links[: at + 5] + bytes([links[at + 5] ^ 1]) + links[at + 6 :])
    found, told = stored(tmp_path)
    assert [one.seq for one in found] == [one.seq for one in whole if one.seq != page.seq]
    assert len(told) == 1
    assert f"1 records are damaged ({page.seq}): their pages are asked for again" in told[0]
    crawled, asked = crawl(tmp_path, MAKERS["breadth-first"], None)
    assert crawled.stats.stopped == "nothing is left to fetch"
    urls = [text for chunk in Store(tmp_path, clock=VirtualClock()).urls() for text in chunk.texts]
    assert asked.requests()[urls[page.asked]] == 1  # type: ignore[index]
    assert asked.requests()[urls[whole[0].asked]] == 0  # type: ignore[index]


# ---- the database


def test_a_damaged_database_never_goes_unseen(tmp_path: Path) -> None:
    """Whatever bytes of it change: all is as it was, or it is told in one line."""
    filled(tmp_path / "whole", 40).close()
    rng, seen, whole = random.Random(11), Counter[str](), told_by_store(tmp_path / "whole")
    for _ in range(2 * FLIPS):
        project = damaged_copy(tmp_path, rng)
        found = told_by_store(project)
        if isinstance(found, str):
            assert "\n" not in found
            seen["told"] += 1
        else:
            assert found == whole
            seen["the same"] += 1
    assert min(seen.values()) > FLIPS / 4


def damaged_copy(folder: Path, rng: random.Random) -> Path:
    """A copy of the project `whole` with a damaged database."""
    project = folder / "damaged"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(folder / "whole", project)
    (project / DATABASE).write_bytes(damages((project / DATABASE).read_bytes(), rng))
    return project


def told_by_store(folder: Path) -> str | list[Any]:
    """All records and URLs of a project; or the first line that says that something is wrong."""
    try:
        with Store(folder) as store:
            rows = [
                (one.seq, one.asked, one.answered, one.outcome, one.detail, one.title, one.links, one.redirects)
                for one in store.records()
            ]
            urls = [(chunk.texts, chunk.scores.tolist()) for chunk in store.urls()]
            return store.warnings[0] if store.warnings else [rows, urls]
    except ForagerError as error:
        return str(error)


def test_reading_a_damaged_database_raises_one_error(tmp_path: Path) -> None:
    filled(tmp_path / "whole", 40).close()
    rng = random.Random(12)
    for _ in range(FLIPS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamageWarning)
            assert "\n" not in read_all(damaged_copy(tmp_path, rng))


def read_all(folder: Path) -> str:
    """What is told in the end; "" if nothing is wrong."""
    try:
        with Catalogue(folder) as catalogue:
            catalogue.status()
            for page in catalogue.pages(limit=3):
                catalogue.text(page)
                catalogue.why(page.url)
                catalogue.find(page.url)
    except ForagerError as error:
        return str(error)
    return ""


def test_verify_sees_every_change_of_a_row(tmp_path: Path) -> None:
    crawl(tmp_path / "whole", MAKERS["breadth-first"], None)
    rng, seen, whole = random.Random(13), Counter[bool](), dump(tmp_path / "whole")
    assert is_whole(verify(tmp_path / "whole"))
    for _ in range(FLIPS):
        project = damaged_copy(tmp_path, rng)
        same = dump(project) == whole
        assert same or not is_whole(verify(project))
        seen[same] += 1
    assert min(seen.values()) > FLIPS / 10


def dump(folder: Path) -> list[Any] | None:
    """What the tables hold that a crawl goes by. None if they cannot be read."""
    try:
        with closing(sqlite3.connect(f"{(folder / DATABASE).as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            return [db.execute(f"SELECT * FROM {name}").fetchall() for name in ("visit", "url", "redirect", "host")]
    except (sqlite3.Error, UnicodeDecodeError):
        return None
