"""What a session has on the disk when it is left or killed at any time, or when the disk is full or damaged."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from shutil import copyfile, copytree
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from forager.errors import ForagerError
from forager.paths import PathStep, ShownPath, load_paths
from forager.teaching import ARCHIVE, PATHS, UNFINISHED, TeachingSession
from tests.walks import START, A, content, follow, nothing, recorded, taught, to_cs1


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("teaching") / "web")


THEN = st.sampled_from([None, 1, 2, "http://b.test/"])
VERBS = st.one_of(
    st.tuples(st.just("choose"), st.integers(1, 4)),
    st.tuples(st.just("back"), st.integers(1, 2)),
    st.tuples(st.sampled_from(["goal", "fail", "drop"]), THEN),
)
State: TypeAlias = tuple[list[ShownPath], str, tuple[PathStep, ...]]


def all_of(verbs: list[tuple[str, Any]]) -> Callable[[TeachingSession], Coroutine[Any, Any, State]]:
    async def do(teaching: TeachingSession) -> State:
        for verb, argument in verbs:
            with suppress(ForagerError):
                await getattr(teaching, verb)(argument)
        return list(teaching.saved), teaching.show().path, teaching.show().steps

    return do


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(VERBS, max_size=6), min_size=1, max_size=4))
def test_a_session_left_at_any_time_is_taken_up_where_it_was(web: Path, parts: list[list[tuple[str, Any]]]) -> None:
    """In several sessions the same comes of the same verbs as in one."""
    with tempfile.TemporaryDirectory() as name:
        once = taught(Path(name) / "once", web, all_of([verb for part in parts for verb in part]))
        for number, part in enumerate(parts):
            again = taught(Path(name) / "parts", web, all_of(part), () if number else (START,))
    assert again == once


def test_a_kill_while_a_path_is_saved_saves_it_once_or_takes_it_up(tmp_path: Path, web: Path) -> None:
    async def walk(teaching: TeachingSession) -> bytes:
        await to_cs1(teaching)
        await teaching.goal()
        await follow(teaching, "people", "cs 1")
        copytree(folder, tmp_path / "before")
        copyfile(folder / UNFINISHED, tmp_path / "unfinished")
        await teaching.fail()
        return (folder / PATHS).read_bytes()

    folder = tmp_path / "f"
    saved = taught(folder, web, walk)
    first = saved.index(b"\n") + 1
    for end in range(first, len(saved) + 1):
        (tmp_path / "before" / PATHS).write_bytes(saved[:end])
        ended = end >= len(saved) - 1  # but for the end of the line it is whole
        assert taught(tmp_path / "before", web, nothing, ()) == (["/"] if ended else ["/", "/people", "/cs1"])
        assert (tmp_path / "before" / PATHS).read_bytes() == (saved if ended else saved[:first])
        copyfile(tmp_path / "unfinished", tmp_path / "before" / UNFINISHED)


def test_a_line_written_with_an_editor_gets_its_end(tmp_path: Path, web: Path) -> None:
    async def walk(teaching: TeachingSession) -> None:
        await to_cs1(teaching)
        await teaching.goal()

    folder = tmp_path / "f"
    taught(folder, web, walk)
    (folder / PATHS).write_bytes((folder / PATHS).read_bytes().rstrip().replace(b"path-1", b"path-7"))
    taught(folder, web, walk)
    assert [path.id for path in load_paths(folder / PATHS).paths] == ["path-7", "path-8"]


def test_an_archive_that_a_kill_cut_off_is_mended(tmp_path: Path, web: Path) -> None:
    async def walk(teaching: TeachingSession) -> None:
        await follow(teaching, "news", "all courses")

    folder = tmp_path / "f"
    taught(folder, web, walk)
    whole = (folder / ARCHIVE).read_bytes()
    for end in {*range(0, len(whole), 97), len(whole)}:
        (folder / ARCHIVE).write_bytes(whole[:end])
        assert taught(folder, web, nothing) == ["/", "/news", "/courses"]
        assert f"{A}/courses" in urls_in(folder / ARCHIVE)
        assert len(urls_in(folder / ARCHIVE)) == len(set(urls_in(folder / ARCHIVE)))


def urls_in(archive: Path) -> list[str]:
    """Of the responses, as warcio reads them."""
    with archive.open("rb") as stream:
        found = []
        for record in ArchiveIterator(stream, check_digests="raise"):
            record.content_stream().read()
            if record.rec_type == "response":
                found.append(record.rec_headers.get_header("WARC-Target-URI"))
    return found


def test_an_archive_damaged_in_the_middle_is_not_touched(tmp_path: Path, web: Path) -> None:
    folder = tmp_path / "f"
    taught(folder, web, nothing)
    whole = bytearray((folder / ARCHIVE).read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    (folder / ARCHIVE).write_bytes(whole)
    with pytest.raises(ForagerError, match=r"is damaged after byte \d+ .*: restore it, or move it away"):
        taught(folder, web, nothing)
    assert (folder / ARCHIVE).read_bytes() == whole


def test_a_full_disk_changes_nothing(tmp_path: Path, web: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "f"
    write = os.write

    def half(file: int, piece: bytes) -> int:
        if len(piece) > 1:
            return write(file, piece[: len(piece) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    def refuse(file: Path, content: bytes) -> None:
        raise ForagerError("takes no more")

    async def walk(teaching: TeachingSession) -> None:
        await to_cs1(teaching)
        before, view = content(folder), teaching.show()
        for name, instead in (("os.write", half), ("forager.teaching.notebook.replace_whole", refuse)):
            with monkeypatch.context() as full:
                full.setattr(name, instead)
                with pytest.raises(ForagerError, match=r"cannot be written|takes no more"):
                    await teaching.goal()
            assert (content(folder), teaching.show(), list(teaching.saved)) == (before, view, [])
        await teaching.goal()

    taught(folder, web, walk)
    assert len(load_paths(folder / PATHS).paths) == 1
