"""The report of an experiment: one HTML file that needs no other, its pictures as SVG and PNG, and figures.json."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forager.errors import ForagerError
from forager.registry import Spec
from forager_lab import plots
from forager_lab.curves import commands, document, heading, paragraph, table
from forager_lab.markup import STYLE, Shaded, definitions, figures_table, matrix, note, plot, subheading
from forager_lab.metrics import Figure
from forager_lab.oracles import LAB_STRATEGIES
from forager_lab.pairs import against
from forager_lab.plots import Picture
from forager_lab.report import count, runs_of, share, with_half
from forager_lab.results import BASELINE, GOALS, PLACES, THRESHOLDS

Report = Mapping[str, Any]  # the figures of an experiment, with `critic_quality`
Pictures = Mapping[str, Picture]
SAID = {
    "harvest": "harvest at {at}",
    "pages_to": "pages to find {at} % of the targets",
    "recall": "recall after 10 % of the pages",
}


def write_report(folder: Path, report: Report, command: str) -> Path:
    """Write all files; the page is the last."""
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


def draw(report: Report) -> dict[str, Picture]:
    """All pictures, by the name of their files."""
    found: dict[str, Picture] = {}
    if _is_path(report):
        found |= {f"recall-{_slug(name)}": plots.recall_curves(report, name) for name in _groups(report)}
    else:
        found["harvest"] = plots.harvest_curves(report)
        if len(report["results"]) > plots.BANDED:
            found["harvest-each"] = plots.harvest_panels(report)
        found["loss"] = plots.loss_curves(report)
    measure, at = contest(report)
    baseline = baseline_of(report)
    if any(pair["difference"] is not None for pair in against(report["pairwise"], baseline, measure, at)):
        said = f"{_said(measure, at)}: difference to {baseline}"
        found["differences"] = plots.differences(report, baseline, measure, at, said)
    if report.get("critic_quality"):
        found["reliability"] = plots.reliability(report["critic_quality"])
    return found


def html(report: Report, pictures: Pictures, command: str) -> str:
    title = f"{report['web']} · {report['topic']}"
    curves = _recall(report, pictures) if _is_path(report) else _harvest(report, pictures)
    parts = [
        *_in_short(report), *curves, *_differences(report, pictures), *_similarity(report), *_waste(report),
        *_overlap(report), *_critic(report, pictures), heading("To repeat it"), commands([command]), *_reading(report),
    ]  # fmt: skip
    return document(title, parts).replace("</head>", f"<style>{STYLE}</style></head>", 1)


# ---- what the sections rest on --------------------------------------------------------------------------------------


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
    names = _names(report)
    return BASELINE if BASELINE in names else names[0]


def contest(report: Report) -> tuple[str, str]:
    """The measure by which strategies are compared at a glance: the first that all of them have."""
    rows = report["results"]
    if _is_path(report):
        whole = [goal for goal in reversed(GOALS) if all(row["pages_to"][goal] is not None for row in rows)]
        return ("pages_to", whole[0]) if whole else ("recall", "10pct")
    order = ("R/2", "R", "R/4", "2R")
    return "harvest", next((at for at in order if all(row["harvest"][at] is not None for row in rows)), "R/4")


def _value(row: Mapping[str, Any], measure: str, at: str) -> Figure:
    found = row["recall_at_10pct"] if measure == "recall" else row[measure][at]
    return None if found is None else float(found)


def _said(measure: str, at: str) -> str:
    return SAID[measure].format(at=at)


def _shown(value: Figure, measure: str) -> str:
    return count(value) if measure == "pages_to" else share(value)


# ---- sections -------------------------------------------------------------------------------------------------------


def _in_short(report: Report) -> list[str]:
    about = (
        f"{len(report['results'])} strategies, {runs_of(report['runs'])}, critic {report['critic']}, "
        f"R = {report['relevant']:,} pages to find, seed {report['seed']}."
    )
    return [paragraph(about), *map(paragraph, _leader(report))]


def _leader(report: Report) -> list[str]:
    """Who was best of those that do not know the truth, and who cannot be told apart from it."""
    measure, at = contest(report)
    values = {row["strategy"]: _value(row, measure, at) for row in report["results"]}
    told = knowing(report)
    rivals = {name: value for name, value in values.items() if name not in told and value is not None}
    if len(rivals) < 2:
        return []
    pick = min if measure == "pages_to" else max
    best = pick(rivals, key=lambda name: rivals[name])
    close = [
        pair["name"] for pair in against(report["pairwise"], best, measure, at)
        if pair["name"] in rivals and pair["verdict"] == "not told apart"
    ]  # fmt: skip
    shown = _shown(rivals[best], measure)
    first = f"By {_said(measure, at)} {best} did best of the strategies that do not know the truth: {shown}."
    others = f"Not told apart from it: {', '.join(close)}." if close else "All others are told apart from it."
    return [f"{first} {others}"]


def _harvest(report: Report, pictures: Pictures) -> list[str]:
    places = ", ".join(f"{place} = {pages:,}" for place, pages in report["places"].items())
    said = (
        f"Share of relevant pages by truth among the pages fetched so far, mean over runs, with 95 % bands. {places}."
    )
    parts = [heading("Harvest"), plot(pictures["harvest"].inline("harvest"), said)]
    if "harvest-each" in pictures:
        parts.append(
            plot(pictures["harvest-each"].inline("each"), "Each strategy with its 95 % band, the others in grey.")
        )
    head = ["strategy", *PLACES, *(f"new {place}" for place in PLACES), "area to R", "area"]
    rows = [
        [
            row["strategy"],
            *(with_half(row["harvest"][place], row["ci"][place]) for place in PLACES),
            *(share(row["harvest_new"][place]) for place in PLACES),
            share(row["harvest_area"]["R"]), share(row["harvest_area"]["end"]),
        ]
        for row in report["results"]
    ]  # fmt: skip
    return [*parts, figures_table(head, rows, knowing=knowing(report)), *_loss(report, pictures)]


def _loss(report: Report, pictures: Pictures) -> list[str]:
    said = "The critic's expected loss, the mean of 1 − Pr so far. The loss by truth is what the harvest leaves to 1."
    head = ["strategy", *(f"truth {at}" for at in PLACES), *(f"critic {at}" for at in PLACES),
            "cut R/2", "cut R", "gap R/2", "gap R"]  # fmt: skip
    rows = [
        [
            row["strategy"],
            *(share(row["loss"][place]) for place in PLACES),
            *(with_half(row["loss_by_critic"][place], row["loss_by_critic_ci"][place]) for place in PLACES),
            *(share(row[figure][place]) for figure in ("loss_reduction", "gap_closed") for place in ("R/2", "R")),
        ]
        for row in report["results"]
    ]  # fmt: skip
    shown = figures_table(head, rows, knowing=knowing(report))
    return [heading("Loss"), plot(pictures["loss"].inline("loss"), said), shown]


def _recall(report: Report, pictures: Pictures) -> list[str]:
    head = ["strategy", *(f"{goal} %" for goal in GOALS), "recall at 10 %", *_groups(report)]
    rows = [
        [
            row["strategy"],
            *(_pages(row["pages_to"][goal], row["pages_to_ci"][goal]) for goal in GOALS),
            share(row["recall_at_10pct"]),
            *(" / ".join(count(group["pages_to"][goal]) for goal in GOALS) for group in row["groups"].values()),
        ]
        for row in report["results"]
    ]
    known = report["results"][0]["groups"]
    return [
        heading("Pages until the targets are found"),
        figures_table(head, rows, knowing=knowing(report)),
        note(
            "Pages fetched until 50 % and 90 % of the targets that can be reached are found, summed over the groups, "
            "and for each group; share of the targets found after a tenth of the pages of a group, mean over groups."
        ),
        heading("Recall"),
        *(
            plot(pictures[f"recall-{_slug(name)}"].inline(_slug(name)),
                 f"{name}: {group['reachable']} targets can be reached among {group['pages']:,} pages.")
            for name, group in known.items()
        ),
    ]  # fmt: skip


def _pages(value: Figure, half: Figure) -> str:
    return f"{count(value)}±{count(half)}" if half else count(value)


def _differences(report: Report, pictures: Pictures) -> list[str]:
    if not report["pairwise"]:
        return []
    parts = [heading("Which differences are real")]
    if "differences" in pictures:
        said = "Mean of the paired differences. Thick: 95 % interval by Student's t; thin: by bootstrap-t."
        parts.append(plot(pictures["differences"].inline("differences"), said))
    for measure, at in dict.fromkeys((pair["measure"], pair["at"]) for pair in report["pairwise"]):
        parts += [subheading(_said(measure, at)), _verdicts(report, measure, at)]
    said = (
        "Row minus column. Green: the row is better, red: worse; both intervals exclude zero, and over all pairs of a "
        "table about one in twenty of the coloured ones may be chance. Grey: not told apart by so few runs, which does "
        "not mean equal."
    )
    return [*parts, note(said)]


def _verdicts(report: Report, measure: str, at: str) -> str:
    names = _names(report)
    columns = {
        name: {pair["name"]: pair for pair in against(report["pairwise"], name, measure, at)} for name in names
    }  # fmt: skip
    return matrix(names, [[_verdict(columns[theirs].get(ours), measure) for theirs in names] for ours in names])


def _verdict(pair: Mapping[str, Any] | None, measure: str) -> Shaded:
    if pair is None or pair["difference"] is None:
        return Shaded("" if pair is None else "–", "open")
    value, places = pair["difference"], 0 if measure == "pages_to" else 3
    shown = f"{value:+,.{places}f}".replace("0.", ".", 1) if round(value, places) else "0"
    both = (("bootstrap-t", pair["ci"]), ("Student", pair["student_ci"]))
    halves = [f"{said} ±{half:.{places}f}" for said, half in both if half is not None]
    hint = f"{pair['name']}: {', '.join([*halves, pair['verdict']])}"
    return Shaded(shown, {"not told apart": "open"}.get(pair["verdict"], pair["verdict"]), hint=hint)


def _similarity(report: Report) -> list[str]:
    head = ["strategy", *(f"≥ {least}" for least in THRESHOLDS), *(f"new ≥ {least}" for least in THRESHOLDS), "sigma"]
    rows = [
        [
            row["strategy"],
            *(share(row[figure][str(least)]) for figure in ("precision", "precision_new") for least in THRESHOLDS),
            share(row["sigma"]),
        ]
        for row in ({**row, "precision": row["precision_end"]} for row in report["results"])
    ]
    said = (
        "Share of all pages fetched whose TF-IDF cosine to one of the examples is at least so large; new: without the "
        "pages the critic was trained on, which are most like themselves. Sigma: the largest mean cosine of all pages "
        "to one example."
    )
    return [heading("Similarity to the examples"), figures_table(head, rows, knowing=knowing(report)), note(said)]


def _waste(report: Report) -> list[str]:
    rows = report["results"]
    reasons = sorted({reason for row in rows for reason in row["misses"]})
    head = ["strategy", "pages", "off topic", "requests without a page", *reasons, "requests a page",
            "relevant hosts at R", "at the end", "seconds"]  # fmt: skip
    cells = [
        [
            row["strategy"], *(count(row[figure]) for figure in ("pages", "pages_off_topic", "requests_wasted")),
            *(count(row["misses"].get(reason, 0.0)) for reason in reasons), f"{row['requests_per_page']:.2f}",
            *(f"{row['relevant_hosts'][at]:.1f}" for at in ("R", "end")), f"{row['seconds']:.1f}",
        ]
        for row in rows
    ]  # fmt: skip
    parts = [
        heading("What was wasted"), figures_table(head, cells, knowing=knowing(report)),
        note("Means over the crawls."), subheading("Labels of the pages off topic, pages a crawl"),
        _frequent(rows, "off_topic_labels"),
    ]  # fmt: skip
    if any(len(row["off_topic_hosts"]) > 1 for row in rows):
        parts += [subheading("Their hosts, pages a crawl"), _frequent(rows, "off_topic_hosts")]
    return parts


def _frequent(rows: Sequence[Mapping[str, Any]], kind: str) -> str:
    """What each strategy's pages off topic most often were, with the pages a crawl."""
    shown = [
        " · ".join(f"{name} {pages:.0f}" if pages >= 10 else f"{name} {pages:.1f}" for name, pages in row[kind])
        for row in rows
    ]
    return table(
        ["strategy", "most frequent"], [[row["strategy"], text] for row, text in zip(rows, shown, strict=True)]
    )


def _overlap(report: Report) -> list[str]:
    found = report["overlap"]
    names = found["strategies"]
    if len(names) < 2:
        return []
    parts = [heading("Overlap of the crawls")]
    for place, said in (("R", "after R pages"), ("end", "at the end")):
        for kind, of in (("of_union", "their union"), ("of_smaller", "the smaller crawl")):
            cells = [[Shaded(share(value), "share", value) for value in row] for row in found[place][kind]]
            parts += [subheading(f"Share of {of} that both fetched, {said}"), matrix(names, cells)]
    return parts


def _critic(report: Report, pictures: Pictures) -> list[str]:
    quality = report.get("critic_quality")
    if not quality:
        return []
    figures = ("roc_auc", "average_precision", "brier", "calibration_error")
    cells = [with_half(quality[figure], quality["ci"][figure]) for figure in figures]
    head = ["critic", "ROC AUC", "average precision", "Brier score", "calibration error", "pages judged", "relevant"]
    shown = figures_table(head, [[report["critic"], *cells, count(quality["pages"]), count(quality["relevant"])]])
    said = (
        "On the diagonal the critic's relevance is a probability; above it the critic is too careful, below too sure."
    )
    return [
        heading("The critic itself"),
        paragraph("How well the critic tells pages apart that it never saw in training; means over its trainings."),
        shown,
        plot(pictures["reliability"].inline("reliability"), said, small=True),
    ]


def _reading(report: Report) -> list[str]:
    shared = [
        ("±, bands", "half width of the 95 % interval of the mean over runs, by Student's t; none for a single run"),
        ("grey rows", "strategies that are told the truth: bounds, not competitors"),
        ("off topic", "pages fetched that are not relevant by their label; truth is the label, never the critic"),
    ]
    topic = [
        ("new", "without the pages the critic was trained on, in both counts"),
        ("area", "mean of the harvest after 1, 2, 3 … pages, up to R or to the end: early finds count more"),
        ("cut", "loss reduction against best-first, 1 − loss / loss of best-first"),
        ("gap", "how much of the way from best-first to the oracle; – where that way is under .05"),
    ]
    return [heading("How to read it"), definitions(shared if _is_path(report) else [*topic, *shared])]
