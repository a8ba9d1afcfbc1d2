"""The command as a person runs it: a process, its exit code, one line on stderr when the input is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.warc import write_web

BIRD = "feather wing nest egg"
PAGES = {
    f"http://a.test/{i}": (
        "Birds" if i % 2 else "Rocks",
        f"<title>{i}</title><p>{BIRD if i % 2 else 'granite slate lava ore'} {i}</p>"
        + "".join(f"<a href='/{(i * k + 1) % 40}'>x</a>" for k in (2, 3, 5)),
    )
    for i in range(40)
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_web(tmp_path_factory.mktemp("webs") / "small", PAGES)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def forager(cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FORAGER_CACHE": str(cache), "COLUMNS": "200"}
    command = [sys.executable, "-m", "forager", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)


def test_lab_run_prints_a_table_and_writes_json(web: Path, cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    names = "breadth-first,best-first,best-first:tau=0.5,oracle"
    done = forager(cache, "lab", "run", "--web", str(web), "--topic", "Birds", "--strategies", names,
                   "--runs", "2", "--jobs", "2", "--pages", "30", "--json", str(file))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "harvest after" in done.stdout
    report = json.loads(file.read_text())
    assert [row["strategy"] for row in report["results"]] == names.split(",")
    assert report["results"][-1]["harvest"]["R/4"] == 1


def test_lab_webs_and_topics(web: Path, cache: Path) -> None:
    assert "small" in forager(cache, "lab", "webs", str(web.parent)).stdout
    assert json.loads(forager(cache, "lab", "topics", "--web", str(web), "--json").stdout) == {"Birds": 20, "Rocks": 20}


def test_crawl_of_a_recorded_web_by_configuration(web: Path, cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(
        f'seeds = ["http://a.test/1"]\n[critic]\nname = "predicate"\noptions.keywords = ["feather"]\n'
        f'[stop]\npages = 10\n[fetch]\nreplay = "{web}"\n'
    )
    done = forager(cache, "crawl", str(file), "--json")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 10
    assert rows[0] == {"url": "http://a.test/1", "title": "1", "relevance": 1.0, "depth": 0, "score": None, "order": 0}
    assert "10 pages in" in done.stderr
    assert "the budget of 10 pages is used up" in done.stderr


def test_names_are_listed(cache: Path) -> None:
    assert {"breadth-first", "random", "best-first"} <= set(forager(cache, "strategies").stdout.split())
    assert {"naive-bayes", "predicate"} <= set(forager(cache, "critics").stdout.split())


WRONG = {
    "no labels": ("lab run --web {bare} --topic x --strategies random", "no labels.tsv"),
    "no such folder": ("lab run --web {web}x --topic x --strategies random", "there is no such folder"),
    "no such topic": ("lab run --web {web} --topic Brids --strategies random", "nearest: Birds"),
    "no such strategy": ("lab run --web {web} --topic Birds --strategies randon", "nearest: random"),
    "two goals": ("lab run --web {web} --topic Birds --target x --strategies random", "give either --topic"),
    "broken toml": ("crawl {broken}", "is not valid TOML"),
    "unknown key": ("crawl {strange}", "no key named 'sedes'; nearest: seeds"),
    "no web here": ("lab webs {bare}", "no recorded web"),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_input_gives_one_line_and_a_non_zero_exit(
    web: Path, cache: Path, tmp_path: Path, words: str, message: str
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "pages.warc.gz").write_bytes((web / "pages.warc.gz").read_bytes())
    (tmp_path / "broken.toml").write_text("seeds = [")
    (tmp_path / "strange.toml").write_text("sedes = []")
    named = {"bare": bare, "web": web, "broken": tmp_path / "broken.toml", "strange": tmp_path / "strange.toml"}
    done = forager(cache, *words.format(**named).split())
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("forager: ")]
    assert len(lines) == 1
    assert message in lines[0]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_truncated_warc_is_used_and_the_loss_told(web: Path, cache: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.mkdir()
    (cut / "labels.tsv").write_bytes((web / "labels.tsv").read_bytes())
    (cut / "pages.warc.gz").write_bytes((web / "pages.warc.gz").read_bytes()[:-150])
    done = forager(cache, "lab", "run", "--web", str(cut), "--topic", "Birds", "--strategies", "random", "--runs", "1")
    assert done.returncode == 0, done.stderr
    assert "pages.warc.gz is cut off: 39 whole records used, 1 lost" in done.stderr
