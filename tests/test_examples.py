"""The examples run as a user runs them: as scripts, over HTTP on this machine, in seconds."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forager import Crawl, CrawlConfig
from forager.clock import VirtualClock
from forager.config import FrontierConfig
from forager.store import Catalogue, RecordedProject
from tests.network.serving import served
from tests.small_web import SmallWeb, WordCritic, html, url

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NUMBERS = {"hosts": 20, "pages_per_host": 22, "traps": 0.0, "slow_hosts": 0.0, "seed": 3}
SEEDS = ["http://kingfield.web.test/", "http://millhouse.web.test/", "http://polygon-lore.web.test/"]
WORDS = ["summer", "handbook"]  # on about half of the pages each
PAGE = re.compile(r"^([01]\.\d\d)  (http://\S+)  ", re.MULTILINE)  # a line for a page, as the examples print it


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("server") / "log", slowness=0, **NUMBERS) as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
def settings(server: str, tmp_path: Path) -> Path:
    """The file of the examples, for the served web and without a delay."""
    text = (ROOT / "examples" / "crawl.toml").read_text(encoding="utf-8")
    text = re.sub(r"^seeds = .*$", f"seeds = {json.dumps(SEEDS)}", text, flags=re.MULTILINE)
    text = re.sub(r"keywords = \[.*\]", f"keywords = {json.dumps(WORDS)}", text)
    file = tmp_path / "crawl.toml"
    file.write_text(f'{text}resolve = {{"*" = "{server}"}}\n\n[frontier]\ndelay = 0\n', encoding="utf-8")
    return file


def run(script: str, *words: object, cache: Path | None = None) -> str:
    """What an example prints."""
    command = [sys.executable, "-W", "error::ResourceWarning", f"examples/{script}", *map(str, words)]
    environment = {**os.environ, **({"FORAGER_CACHE": str(cache)} if cache else {})}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_crawl_a_topic(server: str) -> None:
    told = run(
        "crawl_a_topic.py",
        *("--contact", "me@example.org", "--pages", 9, "--server", server),
        *("--keywords", *WORDS, "--seeds", *SEEDS),
    )
    assert len(set(PAGE.findall(told))) == 9
    assert "1.00" in {relevance for relevance, _ in PAGE.findall(told)} <= {"0.00", "1.00"}
    assert told.splitlines()[-1].startswith("9 pages, ")


def test_project_in_python(settings: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    told = run("project_in_python.py", settings, folder, "http://highpath.web.test/")
    budgets = re.findall(r"^the budget of (\d+) pages is used up$", told, re.MULTILINE)
    assert budgets == ["10", "20"]
    best = [float(relevance) for relevance, _ in PAGE.findall(told)]
    assert len(best) == 5
    assert best == sorted(best, reverse=True)
    exported = [json.loads(line) for line in (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()]
    assert told.splitlines()[-1] == f"{len(exported)} relevant pages in {folder / 'pages.jsonl'}"
    with Catalogue(folder) as catalogue:
        pages = list(catalogue.pages())
    assert len(pages) == 20
    assert {page["url"] for page in exported} == {page.url for page in pages if page.relevance >= 0.5}


def test_why_a_link(settings: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    settings.write_text(settings.read_text(encoding="utf-8") + '\n[strategy]\nname = "default"\n', encoding="utf-8")
    best = PAGE.findall(run("project_in_python.py", settings, folder, "http://highpath.web.test/"))[0][1]
    with RecordedProject(folder) as recorded, Catalogue(folder) as catalogue:
        texts = [text for chunk in recorded.urls() for text in chunk.texts]
        ends = [catalogue.why(text)[-1] for text in texts]
    waits = next(end.url for end in ends if end.outcome == "waiting" and end.depth)  # no seed
    told = run("why_a_link.py", folder, best, waits)
    assert re.findall(r"^(\w+)  (\S+)", told, re.MULTILINE) == [("page", best), ("waiting", waits)]
    ahead, waiting = map(int, re.findall(r"^  (\d+) of (\d+) links that wait come before it$", told, re.MULTILINE)[0])
    assert 0 <= ahead < waiting
    lines = re.findall(r"^  ([+-]\d+\.\d\d)  (.+)$", told.partition(f"waiting  {waits}")[2], re.MULTILINE)
    (score,) = re.findall(r"score (-?\d+\.\d\d)", told.partition(f"waiting  {waits}")[2])
    assert lines[0][1] == "a usual link"
    assert sum(float(weight) for weight, _ in lines) == pytest.approx(float(score), abs=0.01 * len(lines))


def test_critic_of_your_own(settings: Path) -> None:
    told = run("critic_of_your_own.py", settings, *WORDS)
    relevances = [float(relevance) for relevance, _ in PAGE.findall(told)]
    assert len(relevances) == 20
    assert any(0 < relevance < 1 for relevance in relevances)


def test_strategy_of_your_own(tmp_path: Path) -> None:
    told = run("strategy_of_your_own.py", cache=tmp_path)
    found = {name: int(pages) for name, pages in re.findall(r"^(\w+) +(\d+) of 150 pages", told, re.MULTILINE)}
    assert list(found) == ["BreadthFirst", "BestFirst", "MainTextFirst"]
    assert found["MainTextFirst"] > 1.5 * found["BreadthFirst"]


def test_fetcher_of_your_own(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    (folder / "nests").mkdir(parents=True)
    (tmp_path / "secret.html").write_text("<title>Outside of the folder</title>owl")
    (folder / "index.html").write_text(html("stone", "nests", "gone.html", "..%2Fsecret.html", "http://other.test/"))
    (folder / "nests" / "index.html").write_text(html("An owl nests", "../index.html"))
    told = run("fetcher_of_your_own.py", folder, "owl")
    assert PAGE.findall(told) == [
        ("0.00", "http://files.test/index.html"),
        ("1.00", "http://files.test/nests/index.html"),
    ]


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_an_example_is_small_tested_and_listed(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    told = ast.get_docstring(ast.parse(text)) or ""
    assert f"python examples/{script.name}" in told
    code = [line for line in text.partition('"""')[2].partition('"""')[2].splitlines() if line.strip()]
    assert len(code) <= 30
    assert f"`{script.name}`" in (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert f"test_{script.stem}" in globals()


def test_the_strategy_that_contributing_shows_crawls() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len([line for line in block.splitlines() if line.strip()]) <= 10
    known: dict[str, type] = {}
    exec(compile(block, "CONTRIBUTING.md", "exec"), known)
    pages = {
        url("/"): html("home", "/stone", "/bird"),
        url("/stone"): html("stone stone", "/stone-1"),
        url("/bird"): html("bird bird", "/bird-1"),
        url("/bird-1"): html("bird bird"),
        url("/stone-1"): html("stone stone"),
    }
    config = CrawlConfig(seeds=[url("/")], frontier=FrontierConfig(delay=0))
    near_first = known["NearFirst"]()
    crawl = Crawl(config, critic=WordCritic(), strategy=near_first, fetcher=SmallWeb(pages), clock=VirtualClock())
    visited = [visit.page.url for visit in crawl]
    assert visited.index(url("/bird-1")) < visited.index(url("/stone-1"))
