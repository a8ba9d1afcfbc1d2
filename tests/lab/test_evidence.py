"""The page about one strategy: its figures are those of the cells, and what chose something stands apart."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from forager.errors import ForagerError
from forager.types import Url
from forager_lab import metrics
from forager_lab.bootstrap import difference
from forager_lab.cli.matrix import evidence as command
from forager_lab.evidence import EvidenceRow, show_evidence
from forager_lab.evidence.page import SECTIONS, evidence_sections
from forager_lab.evidence.rows import EvidenceRows, by_choice, gains
from forager_lab.experiment import Cell, Experiment, PathGoal, Plan, TopicGoal
from forager_lab.markdown import readings
from forager_lab.matrix import MatrixResult, run_matrix
from forager_lab.matrix_file import ExperimentTable, MatrixTable, read_matrix
from forager_lab.protocol import CrawlRecord
from tests.lab.test_left_out import WEB, write_weights

DOCS = Path(__file__).parents[2] / "docs" / "lab"
MATRIX = f"""
strategies = ["best-first", "default", "oracle"]
runs = 2
left_out_weights = "unseen"
chosen = ["procedural:Business"]
chosen_runs = 1
curves = ["procedural:Business"]

[[experiment]]
web = "{WEB}"
topic = ["Business", "Computing"]

[[experiment]]
web = "{WEB}"
topic = "Business"
examples = 5
strategies = ["best-first", "default"]

[[experiment]]
web = "{WEB}"
topic = ["Business", "Computing"]
strategies = ["breadth-first", "default", "lookahead"]

[[experiment]]
web = "{WEB}"
topic = "Business"
strategies = ["best-first", "default", "default:without=words", "oracle"]

[[experiment]]
web = "{WEB}"
target = "Business"
leave_out = "host"
strategies = ["best-first", "default"]
runs = 1
pages = 8
"""
# topics, runs, strategies; poor; two more strategies on two topics; one without a family; six hosts
CELLS = 2 * 2 * 3 + 2 * 2 + 2 * 2 * 2 + 2 + 6 * 2

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a matrix file, its weights, its cells and its page."""
    folder = tmp_path_factory.mktemp("evidence")
    (folder / "ours.toml").write_text(MATRIX, encoding="utf-8")
    (folder / "ours-reading.toml").write_text('introduction = "By hand."\nothers = "It | wins."\n', encoding="utf-8")
    write_weights(folder / "kept" / "unseen" / "procedural.json")
    write_weights(folder / "kept" / "unseen" / "without-words" / "procedural.json", -1)
    page, done = show_evidence(folder / "ours.toml", kept=folder / "kept")
    assert (page, done.crawled, list(done.failed)) == (folder / "ours.md", CELLS, [])
    return folder


@pytest.fixture(scope="module")
def done(folder: Path) -> MatrixResult:
    """The cells, as they were kept."""
    again = run_matrix(read_matrix(folder / "ours.toml", kept=folder / "kept").plans, folder / "kept")
    assert again.crawled == 0
    return again


def section(folder: Path, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## )", (folder / "ours.md").read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None, title
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of all rows of all tables, with their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [line.strip("| ").split(" | ") if line.count(" |  |") == 0 else _with_empty(line) for line in lines]


def _with_empty(line: str) -> list[str]:
    return [cell.strip() for cell in line[2:-2].split("|")]


def written(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:.2f}"


def test_harvest_is_that_of_the_cells(folder: Path, done: MatrixResult) -> None:
    head, business, computing = rows(section(folder, "Harvest"))
    assert head == ["web", "topic", "chose", "R", "runs", "best-first", "default", "oracle"]
    assert business[:3] == ["procedural", "Business", "yes"]
    assert computing[1:3] == ["Computing", ""]
    experiment = done.experiments[f"{WEB} · Business"]
    relevant = experiment.relevant[None]
    assert business[3:5] == [str(relevant), "2"]
    for name, shown in zip(("best-first", "default", "oracle"), business[5:], strict=True):
        records = [experiment.records[Cell(name, run, None)] for run in range(2)]
        means = [np.mean([r.relevant[: round(share * relevant)].mean() for r in records]) for share in (0.5, 1)]
        assert re.findall(r"(\S+) ± ", shown) == [written(float(mean)) for mean in means]


def test_medians_stand_apart_for_what_chose_something(folder: Path, done: MatrixResult) -> None:
    text = section(folder, "What is gained")
    whole, new = (rows(part) for part in text.split("The same without the pages that taught the critic"))
    groups = [
        "all topics",
        "topics that chose",
        "their samples from number 2 on, which chose nothing",
        "topics that chose nothing",
    ]
    for table in (whole, new):
        assert [row[1] for row in table] == ["which", *groups]
        assert [row[2] for row in table] == ["topics", "2", "1", "1", "1"]
    assert whole != new
    main = [EvidenceRow(done.experiments[f"{WEB} · {topic}"]) for topic in ("Business", "Computing")]
    cuts = [row.loss_cut("default", "R/2") for row in main]
    assert whole[1][3] == f"{written(median(cut for cut in cuts if cut is not None))} (2)"
    later = replace(main[0].experiment, records={c: r for c, r in main[0].experiment.records.items() if c.run == 1})
    cut = EvidenceRow(later).loss_cut("default", "R/2")
    assert cut is not None
    assert whole[3][3] == f"{written(cut)} (1)"


def test_differences_have_intervals_and_are_counted(folder: Path, done: MatrixResult) -> None:
    text = section(folder, "Beside best-first, row by row")
    good, poor = text.split("Poor critics, 5 examples:")
    assert "Good critics:" in good
    assert [row[1] for row in rows(good)] == ["topic", "Business", "Computing"]
    assert [row[1] for row in rows(poor)] == ["topic", "Business"]
    row = EvidenceRow(done.experiments[f"{WEB} · Computing"])
    ours, theirs = (
        [float(rate) for rate in row.harvests(name, "R") if rate is not None] for name in ("default", "best-first")
    )
    expected = difference([ours], [theirs])
    assert rows(good)[2][4].startswith(("+" if expected.mean >= 0 else "") + written(expected.mean) + " ± ")
    assert re.search(r"\nAt R/2: above 0 on \d, wholly on \d, wholly below on \d of 2 rows; at R: above 0 on \d", good)


def test_all_others_are_beside_it_but_no_oracle_and_not_itself(folder: Path) -> None:
    text = section(folder, "Beside all others")
    assert text.startswith("\nIt | wins.\n")
    assert [row[:2] for row in rows(text)] == [["strategy", "rows"], ["best-first", "2"], ["breadth-first", "2"]]
    assert all(int(row[2]) <= 2 and row[5] == "2" for row in rows(text)[1:])


def test_paths_and_families_and_curves_are_there(folder: Path, done: MatrixResult) -> None:
    paths = rows(section(folder, "Paths"))
    assert [row[0] for row in paths] == ["strategy", "best-first", "default"]
    families = rows(section(folder, "Without a family of signals"))
    assert [row[0] for row in families] == ["family left out", "none", "words"]
    experiment = done.experiments[f"{WEB} · Business (3)"]
    orders = [experiment.records[Cell(name, 0, None)].order for name in ("default", "default:without=words")]
    assert orders[0] != orders[1]  # by other weights
    assert families[1][4] == ""
    assert families[2][4] not in ("", "–")
    pictures = re.findall(r"!\[.*\]\((pictures/.*\.svg)\)", section(folder, "Along the crawl"))
    assert pictures == ["pictures/default-procedural-business.svg"]
    assert "best-first" in (folder / pictures[0]).read_text(encoding="utf-8")


def test_all_rows_are_as_long_as_their_head(folder: Path) -> None:
    page = (folder / "ours.md").read_text(encoding="utf-8").replace("It | wins.", "")
    for block in re.findall(r"(?:^\|.*\n)+", page, re.M):
        assert len({line.count("|") for line in block.splitlines()}) == 1, block


def test_it_says_what_the_weights_have_not_seen_and_how_it_was_made(folder: Path) -> None:
    page = (folder / "ours.md").read_text(encoding="utf-8")
    assert page.startswith("# default: the figures\n\nBy hand.\n\n")
    assert "has weights that have not seen its row. Left out of what they learnt: procedural." in page
    assert f"{CELLS} cells; code that crawled them: " in page
    assert re.search(r"^forager lab evidence \S*/ours\.toml$", page, re.M)


def test_a_rerun_crawls_nothing_and_changes_nothing(folder: Path, tmp_path: Path) -> None:
    page, done = show_evidence(folder / "ours.toml", kept=folder / "kept", docs=tmp_path)
    assert done.crawled == 0
    for file in (page, *tmp_path.rglob("*.svg")):
        assert file.read_bytes() == (folder / file.relative_to(tmp_path)).read_bytes()


def test_the_command_writes_a_part(folder: Path, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(command)
    line = [str(folder / "ours.toml"), "--jobs", "1", "--keep", str(folder / "kept"), "--docs", str(tmp_path)]
    result = CliRunner().invoke(app, [*line, "--runs", "1", "--only", "Computing"])
    assert result.exit_code == 0, result.output
    assert f"0 cells crawled, 5 kept from earlier; {tmp_path / 'ours.md'}" in result.stdout
    page = (tmp_path / "ours.md").read_text(encoding="utf-8")
    assert "ours.toml --runs 1 --only Computing\n" in page
    assert "| procedural | Computing |" in page
    assert "Business" not in page.split("## How it was made")[0]
    assert "## Paths" not in page


def test_a_text_for_a_section_that_is_none_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "ours.toml").write_bytes((folder / "ours.toml").read_bytes())
    (tmp_path / "ours-reading.toml").write_text('harvst = "?"\n', encoding="utf-8")
    with pytest.raises(ForagerError, match=r"no section in .* named 'harvst'"):
        show_evidence(tmp_path / "ours.toml", kept=folder / "kept")


# ---- what is counted ------------------------------------------------------------------------------------------------


def crawl(relevant: str, trained: str = "") -> CrawlRecord:
    """Of pages like "+-": relevant or not. `trained`: "t" where the critic knew the page. It had one example."""
    found = np.array([mark == "+" for mark in relevant])
    known = np.array([mark == "t" for mark in trained.ljust(len(relevant))])
    none = np.zeros(len(found), np.float32)
    order = tuple(Url(f"http://a.test/{at}") for at in range(len(found)))
    return CrawlRecord(found, known, none, order, len(found), {}, 0.0, ("",) * len(found), none, np.zeros(1))


def row(topic: str, ours: list[str], baseline: list[str], oracle: list[str], trained: str = "") -> EvidenceRow:
    """R = 4"""
    crawls = {"default": ours, "best-first": baseline, "oracle": oracle}
    records = {
        Cell(name, run, None): crawl(text, trained) for name, texts in crawls.items() for run, text in enumerate(texts)
    }
    plan = Plan("w", TopicGoal(topic), tuple(crawls), runs=len(ours))
    return EvidenceRow(Experiment(plan, "w", {None: 4}, {None: 9}, records))


def test_medians_leave_out_rows_without_a_gap_and_short_crawls() -> None:
    apart = row("a", ["++--"], ["+---"], ["++++"])
    level = row("b", ["++++"], ["++++"], ["++++"])
    short = row("c", ["+++"], ["---"], ["+++"])
    found = gains([apart, level, short], "default")
    assert (found.rows, found.loss_cut.rows, found.gap_half.rows, found.gap.rows) == (3, 2, 2, 1)
    assert found.gap.value == pytest.approx((0.5 - 0.25) / (1 - 0.25))
    assert found.loss_cut.value == pytest.approx(1.0)  # .5 to 1 and 0 to 1; where nothing is lost nothing can be cut


def test_pages_that_taught_the_critic_count_neither_as_found_nor_in_r() -> None:
    known = replace(row("a", ["+-++-+"], ["-----+"], ["++++++"], trained="t"), new=True)
    assert known.harvests("default", "R") == [2 / 3]  # of "-++", as R is 3
    assert metrics.unseen(crawl("+-", "t"), 4)[1] == 3


def test_samples_that_chose_are_apart_and_a_web_may_be_named_whole() -> None:
    both = [row("a", ["++++", "----"], ["----"] * 2, ["++++"] * 2), row("b", ["++++"], ["----"], ["++++"])]
    table = MatrixTable(experiment=(ExperimentTable(web="w"),), chosen=("w:a",), chosen_runs=1)
    groups = list(by_choice(both, table).values())
    assert [[each.key for each in group] for group in groups] == [["w:a", "w:b"], ["w:a"], ["w:a"], ["w:b"]]
    assert (groups[1][0].harvest("default", "R"), groups[2][0].harvest("default", "R")) == (0.5, 0)
    whole = list(by_choice(both, replace_chosen(table, ("w",))).values())
    assert [len(group) for group in whole] == [2, 2, 1, 0]  # b has no second sample


def replace_chosen(table: MatrixTable, chosen: tuple[str, ...]) -> MatrixTable:
    return MatrixTable(experiment=table.experiment, chosen=chosen, chosen_runs=table.chosen_runs)


def test_a_topic_counts_once_in_the_main_rows_and_against_each_other_strategy() -> None:
    one = row("a", ["++++"] * 2, ["----"] * 2, ["++++"] * 2).experiment
    two = replace(one, plan=replace(one.plan, strategies=("random", "best-first", "default", "default:without=past")))
    found = EvidenceRows.of(MatrixResult({"1": one, "2": two}, {}, {}, 0, []), "default")
    assert [each.experiment for each in found.main] == [one]
    assert {name: len(its) for name, its in found.rivals().items()} == {"best-first": 1, "random": 1}
    assert [each.experiment for each in found.ablated] == [two]


def test_pages_to_the_targets_are_summed_over_the_groups() -> None:
    records = {Cell("default", 0, "a"): crawl("-+-+"), Cell("default", 0, "b"): crawl("+---")}
    plan = Plan("w", PathGoal("Birds", "group"), ("default",), runs=1)
    path = Experiment(plan, "w", {"a": 2, "b": 1}, {"a": 10, "b": 10}, records)
    found = EvidenceRows.of(MatrixResult({"path": path}, {}, {}, 0, []), "default")
    sections = evidence_sections(found, MatrixTable(experiment=(ExperimentTable(web="w"),)), {})
    assert {name for name, text in sections.items() if text} == {"paths"}
    assert rows(sections["paths"])[1] == ["default", "3", "5", ".500"]


# ---- the project's own file -----------------------------------------------------------------------------------------


def test_the_projects_own_file_names_rows_that_it_has(tmp_path: Path) -> None:
    for web in ("wikispeedia", "uic", "webkb"):
        (tmp_path / web).mkdir()
    found = read_matrix(DOCS / "default.toml", [tmp_path])
    known = {f"{Path(plan.web).name}:{plan.goal.focus}" for plan in found.plans.values()}
    webs = {key.partition(":")[0] for key in known}
    assert not found.skipped
    assert {key for key in found.table.chosen if key not in known | webs} == set()
    assert {key for key in found.table.curves if key not in known} == set()
    unseen = {plan.left_out.name for plan in found.plans.values() if plan.left_out}
    assert {name for name in unseen if not name.startswith("wikispeedia-")} == {"uic", "webkb", "procedural"}
    assert all(plan.left_out for plan in found.plans.values())
    readings(DOCS / "default-reading.toml", list(SECTIONS))
