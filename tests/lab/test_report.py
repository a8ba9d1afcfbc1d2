"""The report, made through the command line on a tiny web and read back."""

from __future__ import annotations

import json
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from forager_lab.cli.lab import lab
from forager_lab.report import baseline_of, draw, html, knowing, main_measure, write_report

SMALL, TINY = "procedural:hosts=6:pages_per_host=150:seed=3", "procedural:hosts=3:pages_per_host=40:seed=3"
STRATEGIES = "breadth-first,random,best-first,oracle"
RUNS = ["run", "--strategies", STRATEGIES, "--runs", "2"]


class Reader(HTMLParser):
    """Headings, references, scripts, and tags left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.references: list[str] = []
        self.tags: dict[str, int] = {}
        self.ids: list[str] = []
        self._open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for key, value in attrs:
            if key in ("href", "src", "srcset", "xlink:href", "data", "action", "poster"):
                self.references.append(value or "")
            if key == "id":
                self.ids.append(value or "")
        if tag not in ("meta", "br", "link", "img"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self._open and self._open[-1] == "h2":
            self.headings.append(data)


pytestmark = pytest.mark.usefixtures("own_cache")


def made(folder: Path, *options: str) -> Path:
    done = CliRunner().invoke(lab, [*RUNS, *options, "--out", str(folder)])
    assert done.exit_code == 0, done.output
    assert str(folder / "report.html") in done.output.replace("\n", "")
    return folder


def largest_topic(web: str) -> str:
    topics = json.loads(CliRunner().invoke(lab, ["topics", "--web", web, "--json"]).stdout)
    return str(max((name for name in topics if "." in name), key=lambda name: (topics[name], name)))


@pytest.fixture(scope="module")
def topic_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("topic") / "deep" / "er", "--web", SMALL, "--topic", largest_topic(SMALL))


@pytest.fixture(scope="module")
def path_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a bound: the traps of a procedural web have no end."""
    options = ("--target", largest_topic(TINY), "--leave-out", "host", "--pages", "60")
    return made(tmp_path_factory.mktemp("path"), "--web", TINY, *options)


def figures_in(folder: Path) -> Any:
    return json.loads((folder / "figures.json").read_text())


COMMON = ["Which differences are real", "Similarity to the examples", "What was wasted", "Overlap of the crawls",
          "The critic itself", "To repeat it", "How to read it"]  # fmt: skip


def test_the_page_of_a_topic_has_all_sections_and_needs_no_other_file(topic_folder: Path) -> None:
    text = (topic_folder / "report.html").read_text()
    page = Reader(text)
    assert page.headings == ["Harvest", "Loss", *COMMON]
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)
    assert page.tags["svg"] == 4  # harvest, loss, differences, reliability
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert "url(http" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_every_picture_is_there_as_svg_and_png(topic_folder: Path) -> None:
    names = {"harvest", "loss", "differences", "reliability"}
    assert {file.stem for file in topic_folder.glob("*.svg")} == names
    assert {file.stem for file in topic_folder.glob("*.png")} == names
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in topic_folder.glob("*.png"))


def test_the_figures_of_the_page_are_those_of_the_file(topic_folder: Path) -> None:
    figures = figures_in(topic_folder)
    text = " ".join(Reader((topic_folder / "report.html").read_text()).text)
    for row in figures["results"]:
        assert row["strategy"] in text
        assert f"{row['harvest_area']['end']:.3f}".lstrip("0") in text
        assert row["loss"]["R"] == pytest.approx(1 - row["harvest"]["R"])
        assert row["pages_off_topic"] <= row["pages"]
        assert set(row["precision_end"]) == {"0.5", "0.6", "0.7", "0.8"}
        assert 0 < row["sigma"] <= 1
        assert row["relevant_hosts"]["R"] <= row["relevant_hosts"]["end"] <= 6
        assert row["requests_wasted"] == pytest.approx(row["requests_per_page"] * row["pages"] - row["pages"], rel=0.02)
    assert len(figures["pairwise"]) == 6 * 4
    assert [figures["overlap"]["R"]["of_union"][at][at] for at in range(4)] == [1] * 4
    assert figures["critic_quality"]["critics"] == 2
    assert figures["critic_quality"]["roc_auc"] > 0.5


def test_the_command_repeats_it(topic_folder: Path, tmp_path: Path) -> None:
    text = " ".join(Reader((topic_folder / "report.html").read_text()).text)
    start = text.index("forager lab run")
    command = shlex.split(text[start : text.index("How to read it")])
    assert command[:5] == ["forager", "lab", "run", "--web", SMALL]
    assert command[-2:] == ["--out", str(topic_folder)]
    again = tmp_path / "again"
    done = CliRunner().invoke(lab, [*command[2:-1], str(again)])
    assert done.exit_code == 0, done.output
    for file in sorted(topic_folder.glob("*.svg")) + sorted(topic_folder.glob("*.png")):
        assert (again / file.name).read_bytes() == file.read_bytes()
    first, second = figures_in(topic_folder), figures_in(again)
    for row in [*first["results"], *second["results"]]:
        del row["seconds"]
    assert first == second


def test_the_page_of_paths_has_a_recall_curve_for_each_group(path_folder: Path) -> None:
    groups = list(figures_in(path_folder)["results"][0]["groups"])
    page = Reader((path_folder / "report.html").read_text())
    assert page.headings == ["Pages until the targets are found", "Recall", *COMMON]
    assert len(list(path_folder.glob("recall-*.svg"))) == len(groups) == 3
    assert page.tags["svg"] >= len(groups) + 1
    assert all(reference.startswith("#") for reference in page.references)


def test_many_strategies_get_a_picture_each(topic_folder: Path) -> None:
    figures = figures_in(topic_folder)
    row = figures["results"][0]
    many = {**figures, "results": [*figures["results"], *({**row, "strategy": f"mine:n={n}"} for n in range(14))]}
    assert "harvest-each" in draw(many)
    assert "harvest-each" not in draw(figures)


def test_one_strategy_alone_is_compared_with_nobody(topic_folder: Path) -> None:
    figures = figures_in(topic_folder)
    overlap = {"strategies": ["random"], "R": {}, "end": {}}
    alone = {**figures, "results": figures["results"][1:2], "pairwise": [], "overlap": overlap}
    page = Reader(html(alone, draw(alone), "forager"))
    assert "Which differences are real" not in page.headings
    assert "Overlap of the crawls" not in page.headings


def test_names_are_text_never_markup(topic_folder: Path) -> None:
    figures = figures_in(topic_folder)
    row = {**figures["results"][0], "strategy": "<script>x</script>"}
    hostile = {**figures, "topic": "<b>&", "results": [row], "pairwise": []}
    hostile["overlap"] = {"strategies": ["x"], "R": {}, "end": {}}
    page = Reader(html(hostile, draw(hostile), "<i>"))
    assert not {"script", "b", "i"} & set(page.tags)


def test_what_the_summary_looks_at(topic_folder: Path, path_folder: Path) -> None:
    figures = figures_in(topic_folder)
    assert main_measure(figures) == ("harvest", "R/2")
    assert baseline_of(figures) == "best-first"
    assert knowing(figures) == {"oracle"}
    short = [{**row, "harvest": {**row["harvest"], "R/2": None}} for row in figures["results"]]
    assert main_measure({**figures, "results": short}) == ("harvest", "R")
    paths = figures_in(path_folder)
    never = [{**row, "pages_to": {"50": None, "90": None}} for row in paths["results"]]
    assert main_measure({**paths, "results": never}) == ("recall", "10pct")


def test_a_folder_that_cannot_be_is_one_line(topic_folder: Path, tmp_path: Path) -> None:
    from forager.errors import ForagerError

    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ForagerError, match="cannot be written"):
        write_report(file / "below", figures_in(topic_folder), "forager")
