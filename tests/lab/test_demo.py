"""The demo as a person runs it: a real crawl over HTTP, a report, and nothing left behind, however it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from forager.store import Catalogue
from forager_lab.demo import Curve, chart, over_last, so_far
from forager_lab.report import render

PROGRAM = [sys.executable, "-m", "forager"]
SECONDS = 90  # a busy machine is slow


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*PROGRAM, "demo", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def server_of(told: str) -> int:
    found = re.search(r"\(process (\d+)\)", told)
    assert found, told
    return int(found[1])


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def harvests(told: str) -> list[float]:
    line = next(line for line in told.splitlines() if "by truth" in line)
    return [float(share) for share in re.findall(r"([\d.]+) %", line)]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """Folder, stdout and stderr of a demo that has ended."""
    folder = tmp_path_factory.mktemp("demo")
    with start("--folder", str(folder), "--pages", "60") as process:
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            raise
    assert process.returncode == 0, err
    return folder, out, err


def test_our_strategy_brings_home_most(done: tuple[Path, str, str]) -> None:
    _, out, _ = done
    breadth_first, best_first, ours = harvests(out)
    assert ours >= best_first >= breadth_first
    assert ours > 25


def test_no_server_is_left_behind(done: tuple[Path, str, str]) -> None:
    assert not runs(server_of(done[2]))


def test_all_collections_have_the_pages_of_the_budget(done: tuple[Path, str, str]) -> None:
    for strategy in ("breadth-first", "best-first", "default"):
        with Catalogue(done[0] / strategy) as catalogue:
            assert catalogue.status().pages == 60
            assert catalogue.status().sessions[-1].reason == "the budget of 60 pages is used up"


def test_the_commands_it_names_work(done: tuple[Path, str, str]) -> None:
    _, out, _ = done
    named = [line.strip() for line in out.partition("type next:")[2].splitlines() if line.strip()]
    assert [re.search(r"forager (\w+)", line)[1] for line in named] == ["search", "why", "pages", "lab"]  # type: ignore[index]
    for line in named:
        words = re.sub(r"^\S*forager |^\S+ -m forager ", "", line)
        ran = subprocess.run(
            f"{sys.executable} -m forager {words}", shell=True, capture_output=True, text=True, timeout=60, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.strip(), line


def test_the_report_shows_a_curve_for_each_and_needs_nothing_else(done: tuple[Path, str, str]) -> None:
    html = (done[0] / "report.html").read_text()
    tree = LexborHTMLParser(html)
    charts = tree.css("svg")
    assert len(charts) == 2
    for each in charts:
        assert [len((line.attributes["points"] or "").split()) for line in each.css("polyline")] == [60, 60, 60]
        names = [title.text().partition(":")[0] for title in each.css("polyline title")]
        assert names == ["breadth-first", "best-first", "default"]
    assert not tree.css("script, link, img, iframe, [src], [href]")
    assert "url(" not in html
    assert "@import" not in html
    figures, relevant, way = tree.css("table")
    assert "by truth" in figures.text()
    assert len(relevant.css("tbody tr")) == 10
    assert way.css("tbody tr")[0].css("td")[1].text() == "seed"
    assert "made up" in tree.css("p")[0].text()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with start("--folder", str(tmp_path)) as process:
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert err == f"forager: {tmp_path} is not empty: name a new folder, or remove it\n"
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_ctrl_c_ends_everything(tmp_path: Path) -> None:
    with start("--folder", str(tmp_path), "--pages", "2000") as process:
        assert process.stderr
        told = ""
        while "(process" not in told:
            line = process.stderr.readline()
            assert line, told
            told += line
        server = server_of(told)
        assert runs(server)
        time.sleep(1.5)  # in the middle of the first crawl
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert err.endswith("forager: the demo was stopped\n")
    assert "Traceback" not in err
    assert not runs(server)


# ---- the parts of the report


def test_running_means() -> None:
    assert so_far([1, 0, 1, 1]) == [1, 1 / 2, 2 / 3, 3 / 4]
    assert over_last([1, 0, 1, 1], 2) == [1, 1 / 2, 1 / 2, 1]
    assert so_far([]) == over_last([], 3) == []


def test_a_chart_of_any_length_has_few_points_and_its_last_one() -> None:
    svg = LexborHTMLParser(chart([Curve("long", [0.0] * 9_999 + [1.0]), Curve("none", [])], "what it shows"))
    line = svg.css("polyline")[0]
    points = (line.attributes["points"] or "").split()
    assert len(svg.css("polyline")) == 1
    assert len(points) <= 420
    assert points[-1] == "628.0,12.0"  # the upper right corner


def test_what_a_page_says_of_itself_stays_text() -> None:
    evil = '<script>alert("x")</script>'
    told: dict[str, object] = dict.fromkeys(("title", "about_web", "topic", "seeds", "examples", "others"), evil)
    tables: dict[str, object] = {name: [[evil]] for name in ("figures", "most_relevant", "way")}
    charts = [chart([Curve(evil, [0.5])], evil)]
    html = render("demo.html.j2", **told, **tables, strategies=[evil], charts=charts, commands=[evil])
    assert not LexborHTMLParser(html).css("script")
    assert LexborHTMLParser(html).css("td")[0].text() == evil
