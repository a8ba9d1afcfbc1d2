"""CellFolder on disk: what comes back is what was kept, and what is not whole is not taken for it."""

from __future__ import annotations

import os
import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.strategies import STRATEGIES
from forager.teaching.labelled_web import LabelledWeb
from forager.types import Url
from forager_lab.cells import CellFolder, KeptCell, _behind, cell_key, code_fingerprint, web_content
from forager_lab.experiment import Cell, PathGoal, Plan, TopicGoal
from forager_lab.protocol import CrawlRecord
from tests.lab.warc import write_web

PLAN = Plan("web", TopicGoal("Birds"), ("best-first",), runs=2)
CELL = Cell("best-first:tau=0.3", 1, None)
KEY = cell_key("content", PLAN, CELL)


def record() -> CrawlRecord:
    return CrawlRecord(
        relevant=np.array([True, False, True]),
        trained=np.array([True, False, False]),
        expected=np.array([0.9, 0.1, 0.5], np.float32),
        order=(Url("http://a.test/"), Url("http://a.test/é\u2028"), Url("http://b.test/")),
        requests=5,
        misses={"dead": 2},
        seconds=0.1 + 0.2,
        labels=("Birds,Nature", "", "Birds"),
        similarity=np.array([0.5, 0.0, 0.25], np.float32),
        toward=np.array([0.1, 0.2]),
    )


def same(one: CrawlRecord, other: CrawlRecord) -> bool:
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(CrawlRecord)]
    return all(type(a) is type(b) and np.array_equal(a, b) for a, b in pairs) and all(
        a.dtype == b.dtype for a, b in pairs if isinstance(a, np.ndarray)
    )


@pytest.fixture
def cells(tmp_path: Path) -> CellFolder:
    return CellFolder(tmp_path / "new" / "folder")


def test_a_record_comes_back_as_it_was(cells: CellFolder) -> None:
    cells.write(KEY, KeptCell(record(), "abc"))
    kept = cells.read(KEY)
    assert kept is not None
    assert kept.code == "abc"
    assert same(kept.record, record())
    assert [file.name for file in cells.folder.iterdir()] == [cells.path(KEY).name]


def test_a_crawl_without_a_page_comes_back_too(cells: CellFolder) -> None:
    none = np.zeros(0)
    empty = CrawlRecord(none > 0, none > 0, none.astype(np.float32), (), 3, {}, 0.0, (), none.astype(np.float32), none)
    cells.write(KEY, KeptCell(empty, ""))
    kept = cells.read(KEY)
    assert kept is not None
    assert same(kept.record, empty)


def test_what_was_never_kept_is_none(cells: CellFolder) -> None:
    assert cells.read(KEY) is None


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_file_that_is_cut_off_is_refused(cells: CellFolder, share: float) -> None:
    cells.write(KEY, KeptCell(record(), "abc"))
    whole = cells.path(KEY).read_bytes()
    cells.path(KEY).write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ForagerError, match=rf"cell {cells.path(KEY).name} cannot be used"):
        cells.read(KEY)


def test_a_changed_byte_is_noticed(cells: CellFolder) -> None:
    cells.write(KEY, KeptCell(record(), "abc"))
    content = bytearray(cells.path(KEY).read_bytes())
    at = content.index(np.array([0.9, 0.1, 0.5], np.float32).tobytes())
    content[at] ^= 1
    cells.path(KEY).write_bytes(content)
    with pytest.raises(ForagerError, match="cannot be used"):
        cells.read(KEY)


def test_a_cell_under_the_name_of_another_is_refused(cells: CellFolder) -> None:
    other = cell_key("other content", PLAN, CELL)
    cells.write(other, KeptCell(record(), "abc"))
    shutil.copy(cells.path(other), cells.path(KEY))
    with pytest.raises(ForagerError, match="it is another one"):
        cells.read(KEY)


def test_the_name_depends_on_all_that_determines_the_crawl_and_on_nothing_else(cells: CellFolder) -> None:
    changed = [
        cell_key("other", PLAN, CELL),
        *(
            cell_key("content", replace(PLAN, **change), CELL)
            for change in ({"goal": TopicGoal("Bird")}, {"critic": "predicate"}, {"pages": 7}, {"seed": 1})
        ),
        cell_key("content", replace(PLAN, goal=PathGoal("Birds", "host")), CELL),
        cell_key("content", PLAN, replace(CELL, run=0)),
        cell_key("content", PLAN, replace(CELL, group="a")),
        cell_key("content", PLAN, replace(CELL, strategy="best-first:tau=0.4")),
        cell_key("content", PLAN, replace(CELL, strategy="best-first:tau=0.3:hard=true")),
    ]
    assert len({cells.path(key) for key in (KEY, *changed)}) == len(changed) + 1
    elsewhere = replace(PLAN, web="/elsewhere", runs=9, strategies=("random",))
    assert cells.path(cell_key("content", elsewhere, CELL)) == cells.path(KEY)
    one, other = (replace(CELL, strategy=f"x:{options}") for options in ("a=1:b=true", "b=true:a=1"))
    assert cells.path(cell_key("content", PLAN, one)) == cells.path(cell_key("content", PLAN, other))


def test_the_content_of_a_web_is_its_files_wherever_and_whenever(tmp_path: Path) -> None:
    folder = write_web(
        tmp_path / "one", {"http://a.test/": ("Birds", "<p>owl"), "http://a.test/b": ("Rocks", "<p>ore")}
    )
    before = web_content(LabelledWeb(folder))
    moved = shutil.copytree(folder, tmp_path / "two")
    for file in moved.iterdir():
        os.utime(file, (1, 1))
    assert web_content(LabelledWeb(moved)) == before
    labels = (moved / "labels.tsv").read_text()
    (moved / "labels.tsv").write_text(labels.replace("Rocks", "Birds"))
    assert web_content(LabelledWeb(moved)) != before


def test_the_code_behind_a_crawl_is_all_of_it_and_no_more() -> None:
    behind = set(_behind("forager_lab.experiment"))
    strategies = {maker.__module__ for maker in STRATEGIES.values()}
    assert {
        "forager.crawl.step",
        "forager.crawl.loop",
        "forager.web.page.tree",
        "forager_lab.oracles",
        "forager_lab.rivals.tres",
        *strategies,
    } <= behind
    assert not {name for name in behind if name.startswith("forager.cli")}
    assert not {f"forager_lab.{name}" for name in ("comparison", "matrix", "plots", "report", "results")} & behind
    assert code_fingerprint() == code_fingerprint()
