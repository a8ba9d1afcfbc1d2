"""The figures of an experiment as a text table, and as a report: one HTML file that needs no other file.

The report comes with its pictures as SVG and PNG and with figures.json. Its words are in templates/report.html.j2.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from forager.errors import ForagerError
from forager.registry import Spec
from forager_lab import plots
from forager_lab.metrics import Figure
from forager_lab.oracles import LAB_STRATEGIES
from forager_lab.plots import Picture
from forager_lab.results import BASELINE, GOALS, PLACES, THRESHOLDS, pairs_with

Report: TypeAlias = Mapping[str, Any]  # the figures of an experiment; for the HTML report with `critic_quality`
Row: TypeAlias = Mapping[str, Any]  # the figures of a strategy
Pictures: TypeAlias = Mapping[str, Picture]
MEASURES = {
    "harvest": "harvest at {at}",
    "pages_to": "pages to find {at} % of the targets",
    "recall": "recall after 10 % of the pages",
}
CAPTIONS = {
    "harvest-each": "Each strategy with its 95 % band, the others in grey.",
    "loss": "The critic's expected loss: the mean of 1 − Pr so far. By truth the loss is 1 − harvest.",
    "differences": "Mean of the paired differences. Thick: 95 % interval by Student's t; thin: by bootstrap-t.",
    "reliability": "On the diagonal the critic's relevance is a probability; above it the critic is too careful, "
    "below too sure.",
}


# ---- the text table -------------------------------------------------------------------------------------------------

_COST_COLUMNS = ("req/p", "s")  # requests per page, seconds per run
_TOPIC_COLUMNS = (*PLACES, "cut", "gap", *_COST_COLUMNS)  # loss cut against best-first and gap closed, at R/2


def text_table(report: Report) -> str:
    """Topic protocol: harvest at R/4 … 2R. Path protocol: pages until 50 and 90 % of the targets are found."""
    rows = report["results"]
    path = any("groups" in row for row in rows)
    title = f"{report['web']} · {report['topic']} · R = {report['relevant']} · {runs_of(report['runs'])} · "
    title += "pages fetched until 50 % / 90 % of the targets" if path else "harvest after … pages"
    heads = ["strategy", *(_path_columns(rows[0]) if path else _TOPIC_COLUMNS)]
    cells = [[row["strategy"], *(_path_cells(row) if path else _topic_cells(row)), *_cost_cells(row)] for row in rows]
    return "\n".join([title, *_aligned([heads, *cells])])


def _aligned(rows: list[list[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _topic_cells(row: Row) -> list[str]:
    rates = [with_half(row["harvest"][place], row["ci"][place]) for place in PLACES]
    return [*rates, share(row["loss_reduction"]["R/2"]), share(row["gap_closed"]["R/2"])]


def _path_columns(row: Row) -> list[str]:
    return [*(f"{goal} %" for goal in GOALS), *row["groups"], "recall", *_COST_COLUMNS]  # recall at 10 % of the site


def _path_cells(row: Row) -> list[str]:
    sums = [count(row["pages_to"][goal]) for goal in GOALS]
    groups = ["/".join(count(group["pages_to"][goal]) for goal in GOALS) for group in row["groups"].values()]
    return [*sums, *groups, share(row["recall_at_10pct"])]


def _cost_cells(row: Row) -> list[str]:
    return [f"{row['requests_per_page']:.2f}", f"{row['seconds']:.1f}"]


def runs_of(count: int) -> str:
    """Written as in "1 run" or "5 runs"."""
    return "1 run" if count == 1 else f"{count} runs"


def with_half(value: Figure, half_width: Figure) -> str:
    """A share with the half width of its interval, if there is one."""
    return share(value) if half_width is None else f"{share(value)}±{share(half_width)}"


def share(value: Figure) -> str:
    """Three digits, without the leading zero."""
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def count(value: Figure) -> str:
    """A number without decimals, or a dash."""
    return "–" if value is None else f"{value:,.0f}"


# ---- writing files --------------------------------------------------------------------------------------------------


def write_report(folder: Path, report: Report, command: str) -> Path:
    """Write pictures, figures.json and report.html into a folder; `command` is the command that repeats the run."""
    pictures = draw(report)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, picture in pictures.items():
            (folder / f"{name}.svg").write_text(picture.svg, encoding="utf-8")
            (folder / f"{name}.png").write_bytes(picture.png)
        (folder / "figures.json").write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        page = folder / "report.html"
        page.write_text(html(report, pictures, command), encoding="utf-8")
    except OSError as error:
        raise ForagerError(f"{folder}: the report cannot be written: {error.strerror}") from None
    return page


def write_text(file: Path, text: str) -> None:
    """Write a file beside and rename it, so that a reader sees the old or the new file, never half of one."""
    beside = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(file)
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}") from None


def render(template: str, **values: object) -> str:
    """The page of a template of this package. Values are escaped, except those of type Markup."""
    return _templates().get_template(template).render(**values)


@cache
def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("forager_lab"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters.update(count=count, runs_of=runs_of, share=share, slug=_slug, with_half=with_half)
    found.filters["prefixed"] = lambda names, prefix: [prefix + name for name in names]
    return found


# ---- pictures -------------------------------------------------------------------------------------------------------


def draw(report: Report) -> dict[str, Picture]:
    """All pictures of a report, by the names of their files."""
    found: dict[str, Picture] = {}
    if _is_path(report):
        found |= {f"recall-{_slug(name)}": plots.recall_curves(report, name) for name in _groups(report)}
    else:
        found["harvest"] = plots.harvest_curves(report)
        if len(report["results"]) > plots.BANDED:
            found["harvest-each"] = plots.harvest_panels(report)
        found["loss"] = plots.loss_curves(report)
    measure, at = main_measure(report)
    baseline = baseline_of(report)
    if any(pair["difference"] is not None for pair in pairs_with(report["pairwise"], baseline, measure, at)):
        said = f"{_measure(measure, at)}: difference to {baseline}"
        found["differences"] = plots.differences(report, baseline, measure, at, said)
    if report.get("critic_quality"):
        found["reliability"] = plots.reliability(report["critic_quality"])
    return found


# ---- what the sections need -----------------------------------------------------------------------------------------


def _is_path(report: Report) -> bool:
    return bool(report["protocol"] == "path")


def _groups(report: Report) -> list[str]:
    return list(report["results"][0]["groups"])


def _names(report: Report) -> list[str]:
    return [row["strategy"] for row in report["results"]]


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "none"


def knowing(report: Report) -> frozenset[str]:
    """The strategies that are told the truth: bounds, not competitors."""
    return frozenset(name for name in _names(report) if Spec.parse(name).name in LAB_STRATEGIES)


def baseline_of(report: Report) -> str:
    """The strategy that the others are compared with: best-first, or the first one."""
    names = _names(report)
    return BASELINE if BASELINE in names else names[0]


def main_measure(report: Report) -> tuple[str, str]:
    """The measure for the summary, and where it is taken: the first choice that all strategies have a figure for."""
    rows = report["results"]
    if _is_path(report):
        whole = [goal for goal in reversed(GOALS) if all(row["pages_to"][goal] is not None for row in rows)]
        return ("pages_to", whole[0]) if whole else ("recall", "10pct")
    order = ("R/2", "R", "R/4", "2R")
    return "harvest", next((at for at in order if all(row["harvest"][at] is not None for row in rows)), "R/4")


def _value(row: Row, measure: str, at: str) -> Figure:
    found = row["recall_at_10pct"] if measure == "recall" else row[measure][at]
    return None if found is None else float(found)


def _measure(measure: str, at: str) -> str:
    return MEASURES[measure].format(at=at)


# ---- the page -------------------------------------------------------------------------------------------------------


def html(report: Report, pictures: Pictures, command: str) -> str:
    """The report as one HTML file."""
    return render(
        "report.html.j2",
        title=f"{report['web']} · {report['topic']}",
        report=report,
        leader=_leader(report),
        names=_names(report),
        knowing=knowing(report),
        is_path=_is_path(report),
        goals=list(GOALS),
        places=list(PLACES),
        thresholds=[str(least) for least in THRESHOLDS],
        reasons=sorted({reason for row in report["results"] for reason in row["misses"]}),
        shown=_captioned(report, pictures),
        verdicts=_verdicts(report),
        command=command,
    )


def _leader(report: Report) -> str:
    """The best strategy of those that do not know the truth, and those that cannot be told apart from it."""
    measure, at = main_measure(report)
    told = knowing(report)
    values = {row["strategy"]: _value(row, measure, at) for row in report["results"]}
    rivals = {name: value for name, value in values.items() if name not in told and value is not None}
    if len(rivals) < 2:
        return ""
    pick = min if measure == "pages_to" else max
    best = pick(rivals, key=lambda name: rivals[name])
    close = [
        pair["name"] for pair in pairs_with(report["pairwise"], best, measure, at)
        if pair["name"] in rivals and pair["verdict"] == "not told apart"
    ]  # fmt: skip
    shown = count(rivals[best]) if measure == "pages_to" else share(rivals[best])
    first = f"By {_measure(measure, at)} {best} is the best of the strategies that do not know the truth: {shown}."
    others = f"Not told apart from it: {', '.join(close)}." if close else "All others are told apart from it."
    return f"{first} {others}"


@dataclass(frozen=True, slots=True)
class InlinePicture:
    """A picture inside the page. The caption is also its name for readers who cannot see it."""

    svg: Markup
    caption: str


def _captioned(report: Report, pictures: Pictures) -> dict[str, InlinePicture]:
    """The pictures with their captions. Within the page, the ids of a picture begin with its name."""
    captions = {**CAPTIONS, "harvest": _harvest_caption(report)}
    if _is_path(report):
        for name, group in report["results"][0]["groups"].items():
            said = f"{name}: {group['reachable']} targets can be reached among {group['pages']:,} pages."
            captions[f"recall-{_slug(name)}"] = said
    found = {}
    for name, picture in pictures.items():
        label = f'<svg role="img" aria-label="{escape(captions[name])}" '
        found[name] = InlinePicture(Markup(picture.inline(name).replace("<svg ", label, 1)), captions[name])
    return found


def _harvest_caption(report: Report) -> str:
    said = "Share of relevant pages by truth among the pages fetched so far: mean over runs, with 95 % bands."
    return f"{said} {', '.join(f'{place} = {pages:,}' for place, pages in report['places'].items())}."


@dataclass(frozen=True, slots=True)
class VerdictCell:
    """How the strategy of a row compares with that of a column."""

    text: str
    kind: str = "open"  # better, worse or open
    hint: str = ""


def _verdicts(report: Report) -> dict[str, list[list[VerdictCell]]]:
    """For each measure a row of cells for each strategy, against all strategies."""
    names, found = _names(report), {}
    for measure, at in dict.fromkeys((pair["measure"], pair["at"]) for pair in report["pairwise"]):
        columns = {
            name: {pair["name"]: pair for pair in pairs_with(report["pairwise"], name, measure, at)} for name in names
        }  # fmt: skip
        found[_measure(measure, at)] = [
            [_verdict(columns[theirs].get(ours), measure) for theirs in names] for ours in names
        ]
    return found


def _verdict(pair: Mapping[str, Any] | None, measure: str) -> VerdictCell:
    if pair is None or pair["difference"] is None:
        return VerdictCell("" if pair is None else "–")
    value, places = pair["difference"], 0 if measure == "pages_to" else 3
    shown = f"{value:+,.{places}f}".replace("0.", ".", 1) if round(value, places) else "0"
    both = (("bootstrap-t", pair["ci"]), ("Student", pair["student_ci"]))
    halves = [f"{said} ±{half:.{places}f}" for said, half in both if half is not None]
    hint = f"{pair['name']}: {', '.join([*halves, pair['verdict']])}"
    return VerdictCell(shown, {"not told apart": "open"}.get(pair["verdict"], pair["verdict"]), hint)
