"""The page about one strategy: NAME.md beside the matrix file NAME.toml, and its pictures.

What the figures mean, and what they were chosen on, is written by hand in NAME-reading.toml, a text for each section.
All else is made from the cells. There are no dates and no paths, so that a second run with the same cells changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from forager_lab import metrics
from forager_lab.bootstrap import Difference
from forager_lab.comparison import add_picture, how_made, repeated
from forager_lab.evidence.rows import (
    EvidenceRow,
    EvidenceRows,
    MedianGain,
    ahead,
    by_choice,
    family_of,
    gains,
    has_chosen,
)
from forager_lab.markdown import readings, share, signed, table, with_interval
from forager_lab.matrix import KEPT, MatrixResult, Note, Tell
from forager_lab.matrix_file import ALL, MatrixLimits, MatrixTable, run_file
from forager_lab.overview import mark
from forager_lab.plots import Picture, need_matplotlib, recall_curves
from forager_lab.report import count, write_text
from forager_lab.results import BASELINE, BOUND, GOALS, figures

SHOWN = ("R/2", "R")  # where harvest is compared
SECTIONS = {
    "harvest": "Harvest",
    "medians": "What is gained",
    "best-first": "Beside best-first, row by row",
    "others": "Beside all others",
    "paths": "Paths",
    "signals": "Without a family of signals",
    "curves": "Along the crawl",
}

INTRODUCTION = """\
All strategies of a run have the same critic, trained on the same sample, and start from the same pages. R is the number
of pages of a topic, harvest the share of relevant pages by truth among the first R/2 or R. *Chose* says that a topic
was looked at when something in the strategy was chosen. How it is measured: [the laboratory](README.md)."""
HARVEST = "Harvest at R/2 / at R: means over runs; ± is the half width of the 95 % interval (Student's t)."
MEDIANS = """\
Medians over topics of the loss of best-first that is cut, 1 - loss / loss of best-first, and of the gap between
best-first and the oracle that is closed. In brackets: of how many rows it is the median. Rows whose gap is under .05,
and rows on which a crawl ended before, are left out."""
NEW = """\
The same without the pages that taught the critic: they are taken out of the crawls, and its examples out of R."""
AGAINST = """\
{ours} minus best-first, over the runs of a row. ± is the half width of the 95 % interval, the wider one of bootstrap-t
and Student's t; ▲: the interval lies wholly above 0, ▼: wholly below."""
OTHERS = """\
On how many rows {ours} has the higher harvest at R, and on how many the interval of the difference lies wholly above 0
(*wholly ahead*) or below (*wholly behind*). With few runs the intervals are wide."""
PATHS = """\
Pages fetched until 50 % and 90 % of the targets that can be reached are found, summed over the groups; each group is
left out of training in turn."""
SIGNALS = """\
The weights are fitted without the signals of a family, and nothing is learnt from these in the crawl: see the table of
families in [default](../strategies/default.md). Medians over the same rows; the difference is to {ours} with all
signals, at R, and a claim about topics that were not tried."""
CURVES = "Share of the relevant pages found, against pages fetched; bands are 95 % intervals over runs."


def show_evidence(
    file: Path,
    *,
    webs: Sequence[Path] = (),
    kept: Path = KEPT,
    docs: Path | None = None,
    left_out: str | None = None,
    limits: MatrixLimits = ALL,
    jobs: int = 1,
    fresh: bool = False,
    tell: Tell = lambda progress: None,
    note: Note = lambda line: None,
) -> tuple[Path, MatrixResult]:
    """Run the matrix of a file, and write the page about one strategy into the folder `docs`, or beside the file."""
    need_matplotlib()
    text = readings(file.with_name(f"{file.stem}-reading.toml"), list(SECTIONS))
    matrix, done = run_file(
        file, webs=webs, kept=kept, left_out=left_out, limits=limits, jobs=jobs, fresh=fresh, tell=tell, note=note
    )
    made = how_made(done, repeated("evidence", file, limits, left_out), [*matrix.skipped])
    page = (file.parent if docs is None else docs) / f"{file.stem}.md"
    pictures: dict[str, Picture] = {}
    sections = evidence_sections(EvidenceRows.of(done, matrix.table.about), matrix.table, pictures)
    parts = [f"# {matrix.table.about}: the figures", text.get("introduction", ""), INTRODUCTION]
    for name, body in sections.items():
        parts += [f"## {SECTIONS[name]}", text.get(name, ""), body] if body else []
    for name, picture in pictures.items():
        write_text(page.parent / name, picture.svg)
    write_text(page, "\n\n".join(part.strip() for part in [*parts, "## How it was made", made] if part) + "\n")
    return page, done


def evidence_sections(found: EvidenceRows, given: MatrixTable, pictures: dict[str, Picture]) -> dict[str, str]:
    """The sections by name; "" for what the matrix has no rows for. Pictures are added to `pictures`."""
    return {
        "harvest": _harvest(found, given),
        "medians": _medians(found, given),
        "best-first": _against(found),
        "others": _others(found),
        "paths": _paths(found),
        "signals": _signals(found),
        "curves": _curves(found, given, pictures),
    }


# ---- the sections ---------------------------------------------------------------------------------------------------


def _harvest(found: EvidenceRows, given: MatrixTable) -> str:
    shown = (BASELINE, found.ours, BOUND)
    rows = [
        [row.web, row.topic, "yes" if has_chosen(row, given) else "", f"{row.relevant:,}", str(len(row.runs)),
         *(_rates(row, strategy) for strategy in shown)]
        for row in found.main
    ]  # fmt: skip
    return _titled(HARVEST, ["web", "topic", "chose", "R", "runs", *shown], rows)


def _rates(row: EvidenceRow, strategy: str) -> str:
    values = [row.harvests(strategy, place) for place in SHOWN]
    return " / ".join(with_interval(metrics.mean(runs), metrics.half_width(runs)) for runs in values)


def _medians(found: EvidenceRows, given: MatrixTable) -> str:
    new = [replace(row, new=True) for row in found.main]
    heads = ["web", "which", "topics", "loss cut at R/2", "gap closed at R/2", "gap closed at R"]
    tables = [
        _titled(said, heads, list(_median_rows(rows, found.ours, given)))
        for said, rows in ((MEDIANS, found.main), (NEW, new))
    ]
    return "\n\n".join(filter(None, tables))


def _median_rows(rows: Sequence[EvidenceRow], ours: str, given: MatrixTable) -> Iterator[list[str]]:
    for web in dict.fromkeys(row.web for row in rows):
        for group, its in by_choice([row for row in rows if row.web == web], given).items():
            if its:
                of = gains(its, ours)
                yield [web, group, str(of.rows), *map(_median, (of.loss_cut, of.gap_half, of.gap))]


def _median(of: MedianGain) -> str:
    return f"{share(of.value)} ({of.rows})"


def _against(found: EvidenceRows) -> str:
    """The rows with a good critic, then those with each kind of poor one."""
    groups = {"Good critics": list(found.main)}
    for row in found.poor:
        groups.setdefault(f"Poor critics, {row.poor}", []).append(row)
    parts = [_against_table(f"{title}:", rows, found.ours) for title, rows in groups.items() if rows]
    return "\n\n".join([AGAINST.format(ours=f"`{found.ours}`"), *parts]) if parts else ""


def _against_table(title: str, rows: Sequence[EvidenceRow], ours: str) -> str:
    differences = [[row.ahead(ours, BASELINE, place) for place in SHOWN] for row in rows]
    lines = [
        [row.web, row.topic, str(len(row.runs)), *map(_difference, its)]
        for row, its in zip(rows, differences, strict=True)
    ]
    counts = [
        f"{place}: above 0 on {_count(column, _above)}, wholly on {_count(column, _wholly_above)}, wholly below on "
        f"{_count(column, _wholly_below)} of {_count(column, lambda each: True)} rows"
        for place, column in zip(SHOWN, zip(*differences, strict=True), strict=True)
    ]
    return f"{title}\n\n{table(['web', 'topic', 'runs', *SHOWN], lines)}\n\nAt {'; at '.join(counts)}."


def _others(found: EvidenceRows) -> str:
    lines = []
    for rival, rows in found.rivals().items():
        known = [row.ahead(found.ours, rival, "R") for row in rows]
        runs = [min(len(row.records(name)) for name in (found.ours, rival)) for row in rows]
        few = str(min(runs)) if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"
        told = [_count(known, test) for test in (lambda each: True, _above, _wholly_above, _wholly_below)]
        lines.append([rival, *map(str, told), few])
    heads = ["strategy", "rows", "ahead", "wholly ahead", "wholly behind", "runs of a row"]
    return _titled(OTHERS.format(ours=f"`{found.ours}`"), heads, lines)


def _paths(found: EvidenceRows) -> str:
    heads = ["strategy", *(f"{goal} %" for goal in GOALS), "recall after 10 % of the pages"]
    parts = []
    for each in found.paths:
        rows = [
            [row["strategy"], *(count(row["pages_to"][goal]) for goal in GOALS), share(row["recall_at_10pct"])]
            for row in figures(each)["results"]
        ]
        parts.append(_titled(f"{each.web}, {each.plan.goal.focus}:", heads, rows))
    return "\n\n".join([PATHS, *parts]) if parts else ""


def _signals(found: EvidenceRows) -> str:
    rows = list(found.ablated)
    names = dict.fromkeys(name for row in rows for name in row.strategies if name == found.ours or family_of(name))
    lines = []
    for name in names:
        its = [row for row in rows if name in row.strategies]
        of, apart = gains(its, name), "" if name == found.ours else _difference(ahead(its, name, found.ours, "R"))
        lines.append([family_of(name) or "none", str(of.rows), _median(of.loss_cut), _median(of.gap), apart])
    topics = ", ".join(dict.fromkeys(f"{row.web} {row.topic}" for row in rows))
    said = f"{SIGNALS.format(ours=f'`{found.ours}`')} Rows: {topics}."
    heads = ["family left out", "rows", "loss cut at R/2", "gap closed at R", "difference at R"]
    return _titled(said, heads, lines)


def _curves(found: EvidenceRows, given: MatrixTable, pictures: dict[str, Picture]) -> str:
    lines = []
    for row in (row for row in found.main if row.key in given.curves):
        shown = [name for name in (BASELINE, found.ours, BOUND) if name in row.strategies]
        curves = {name: {"curve": metrics.recall_curve(row.records(name), row.relevant)} for name in shown}
        title = f"{row.web} {row.topic}"
        report = {"results": [{"strategy": name, "groups": {title: curve}} for name, curve in curves.items()]}
        drawn = recall_curves(report, title)
        lines.append(add_picture(f"{found.ours} {title}", "relevant pages found along the crawl", drawn, pictures))
    return "\n\n".join([CURVES, *lines]) if lines else ""


# ---- writing --------------------------------------------------------------------------------------------------------


def _titled(said: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"{said}\n\n{table(heads, rows)}" if rows else ""


def _difference(found: Difference | None) -> str:
    if found is None:
        return "–"
    return signed(found.mean) + ("" if found.half is None else f" ± {share(found.half)}{mark(found)}")


def _count(found: Sequence[Difference | None], test: Callable[[Difference], bool]) -> int:
    return sum(1 for each in found if each is not None and test(each))


def _above(found: Difference) -> bool:
    return found.mean > 0


def _wholly_above(found: Difference) -> bool:
    return found.told_apart and found.mean > 0


def _wholly_below(found: Difference) -> bool:
    return found.told_apart and found.mean < 0
