"""`forager doctor`, `--version`, and the lists of strategies and critics."""

from __future__ import annotations

import json
import resource
import sqlite3
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from forager.cli import app
from forager.crawl import doctor
from forager.critics import CRITICS
from forager.errors import ForagerError
from forager.fetch.guard import Guard
from forager.store import lock
from forager.strategies import STRATEGIES


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def checks(*words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = run("doctor", "--json", *words)
    found = json.loads(done.stdout)
    assert found["ok"] is (done.exit_code == 0)
    return done.exit_code, {check["name"]: check for check in found["checks"]}


def test_version() -> None:
    assert run("--version").stdout == f"forager {version('forager')}\n"


def test_completion_can_be_installed() -> None:
    assert "--install-completion" in run("--help").stdout


def test_a_crawl_would_work_here(tmp_path: Path) -> None:
    code, found = checks(str(tmp_path))
    assert code == 0
    assert found["aiohttp"]["found"] == version("aiohttp")
    assert found["sqlite"]["found"] == sqlite3.sqlite_version
    assert {"extra lab", "extra lexical", "extra parquet", "extra render"} <= set(found)
    assert "extra sentence" not in found  # it is empty: older instructions name it
    assert "extra dev" not in found
    assert found["network guard"]["ok"]
    assert list(tmp_path.iterdir()) == []  # what was written is removed
    told = run("doctor", str(tmp_path))
    assert told.exit_code == 0
    assert told.stdout.splitlines()[-1] == "a crawl would work here"


def test_a_missing_extra_is_told_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def some(name: str) -> str:
        if name in ("pyarrow", "aiohttp"):
            raise PackageNotFoundError(name)
        return "0.1" if name == "numpy" else version(name)

    monkeypatch.setattr(doctor, "version", some)
    code, found = checks(str(tmp_path))
    assert code == 1
    assert found["extra parquet"] == {
        "name": "extra parquet",
        "ok": False,
        "found": "pyarrow not installed",
        "cure": "install it with pip install 'forager[parquet]'",
        "needed": False,
    }
    assert (found["aiohttp"]["ok"], found["aiohttp"]["needed"]) == (False, True)
    assert found["aiohttp"]["cure"].startswith("install it with pip install 'aiohttp>=")
    assert found["numpy"]["found"].startswith("0.1 is older than")
    assert "wrong    aiohttp" in run("doctor", str(tmp_path)).stdout
    assert "missing  extra parquet" in run("doctor", str(tmp_path)).stdout


def test_an_extra_alone_does_not_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def some(name: str) -> str:
        if name == "matplotlib":
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(doctor, "version", some)
    code, found = checks(str(tmp_path))
    assert (code, found["extra lab"]["ok"]) == (0, False)


def test_a_crawl_works_without_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(settings: object) -> str:
        raise ForagerError("to render pages, install Chromium")

    monkeypatch.setattr(doctor, "check_browser", none)
    code, found = checks(str(tmp_path))
    assert (code, found["browser"]["ok"]) == (0, False)
    assert "missing  browser          to render pages, install Chromium" in run("doctor", str(tmp_path)).stdout


@pytest.mark.parametrize(("answer", "told"), [("", "lets crawls reach 127.0.0.1"), ("no", "which is public")])
def test_a_guard_that_does_not_guard(answer: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Guard, "refusal", lambda guard, address: answer)
    code, found = checks(str(tmp_path))
    assert (code, found["network guard"]["ok"]) == (1, False)
    assert told in found["network guard"]["found"]


def test_a_folder_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks(str(tmp_path / "nowhere"))[1]["writing"]["ok"] is False
    monkeypatch.setattr(lock, "_kind", lambda folder, mounts: "nfs4")
    code, found = checks(str(tmp_path))
    assert code == 1
    assert "network file system (nfs4)" in found["writing"]["found"]


def test_few_files_and_no_full_text_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*_: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(sqlite3, "connect", without)
    code, found = checks(str(tmp_path))
    assert (code, found["sqlite fts5"]["ok"]) == (0, False)  # a crawl works, a search does not
    monkeypatch.setattr(resource, "getrlimit", lambda which: (64, 64))
    code, found = checks(str(tmp_path))
    assert (code, found["open files"]["found"]) == (1, "64 at once")
    assert "ulimit -n" in found["open files"]["cure"]


# ---- names


@pytest.mark.parametrize("command", ["strategies", "critics"])
def test_everyone_is_told_what_each_is_for_and_scripts_can_have_the_names(command: str) -> None:
    names = run(command, "--names").stdout.splitlines()
    rows = [json.loads(line) for line in run(command, "--json").stdout.splitlines()]
    assert [row["name"] for row in rows] == names == sorted(names)
    lines = run(command).stdout.splitlines()
    assert [line.split()[0] for line in lines] == names
    assert [line.partition(" ")[2].strip() for line in lines] == [row["description"] for row in rows]


@pytest.mark.parametrize("command", ["strategies", "critics"])
def test_each_description_is_one_plain_sentence_with_a_use(command: str) -> None:
    rows = {row["name"]: row["description"] for row in map(json.loads, run(command, "--json").stdout.splitlines())}
    for name in (STRATEGIES if command == "strategies" else CRITICS).keys() & rows.keys():
        told = rows[name]
        assert 40 < len(told) < 120, name
        assert told.endswith("."), name
        assert ": " in told, name  # what it does: what it is for
        assert not [letter for letter in told if letter.isdigit()], name  # no years, no equations


@pytest.mark.usefixtures("plugin")
def test_a_plugin_is_described_too() -> None:
    rows = {row["name"]: row["description"] for row in map(json.loads, run("critics", "--json").stdout.splitlines())}
    added = set(rows) - set(CRITICS)
    assert added
    assert any("cannot be imported" in rows[name] for name in added)
    assert any(rows[name] and "cannot be imported" not in rows[name] for name in added)
