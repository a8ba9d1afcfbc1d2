"""The results of a matrix as two pages to read: comparison.md, and comparison-topics.md with its pictures.

The first says what to use when, with one table of all strategies; the second has every topic. They are made from the
cells and from reading.md, which somebody writes by hand. They have no dates and no paths, so that a second run with the
same cells changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from forager.errors import ForagerError
from forager_lab.bootstrap import difference
from forager_lab.left_out import LEARNT
from forager_lab.markdown import share, signed, table, with_interval
from forager_lab.matrix import KEPT, MatrixResult, Note, Tell
from forager_lab.matrix_file import ALL, PACKAGE, AdviceTable, MatrixLimits, run_file
from forager_lab.metrics import Figure, mean
from forager_lab.overview import advice, is_bound, mark, overview, works
from forager_lab.plots import Picture, harvest_curves, need_matplotlib, recall_curves
from forager_lab.report import Report, Row, count, runs_of, write_text
from forager_lab.results import GOALS, PLACES, figures

PAGE, DETAILS, READING, PICTURES = "comparison.md", "comparison-topics.md", "reading.md", "pictures"
PLACE = "R/2"  # where the summaries take the harvest
AGAINST = (("breadth-first", PLACE), ("breadth-first", "2R"), ("best-first", PLACE))

Reports: TypeAlias = Mapping[str, Report]  # by the name of the experiment

FURTHER = f"""\
Every topic has its tables and curves on [a page of its own]({DETAILS}). `default` has been measured on more topics,
with poor critics and without its parts: [default: the figures](default.md)."""
EXPLAINED = """\
All strategies of a run have the same critic, trained on the same sample, and start from the same pages; ± is the half
width of the 95 % interval of a mean over runs (Student's t). How it is measured: [the laboratory](README.md).

- *R/4 … 2R*: harvest, the share of relevant pages by truth among so many pages; R is the number of pages of the topic
- *loss cut*, *gap closed*: at R/2, 1 - loss / loss of best-first, and how much of the distance from best-first to the
  oracle is covered
- *sigma*: the largest mean similarity of all crawled pages to one of the examples (cosine of log-tf)
- differences are between runs with the same sample; over several topics (or sites) the bootstrap draws topics, so that
  a claim is also about topics that were not tried. ± is by Student's t; ▲ (better) and ▼ (worse) mean that both this
  interval and the one by bootstrap-t exclude zero
- *oracle* and *lookahead* are told the truth, which no crawler knows; the best of the others is bold"""


def compare(
    file: Path,
    *,
    webs: Sequence[Path] = (),
    kept: Path = KEPT,
    docs: Path | None = None,
    left_out: str | None = None,
    limits: MatrixLimits = ALL,
    jobs: int = 1,
    fresh: bool = False,
    seconds: bool = True,
    tell: Tell = lambda progress: None,
    note: Note = lambda line: None,
) -> MatrixResult:
    """Run the matrix of a file and write its page into the folder `docs`, or beside the file.

    `webs`: the folders in which to look for its webs, instead of those of $FORAGER_WEBS. `left_out`: see `read_matrix`.
    """
    need_matplotlib()
    matrix, done = run_file(
        file, webs=webs, kept=kept, left_out=left_out, limits=limits, jobs=jobs, fresh=fresh, tell=tell, note=note
    )
    command = repeated("matrix", file, limits, left_out)
    folder, made = file.parent if docs is None else docs, how_made(done, command, [*matrix.skipped])
    write_comparison(done, folder, made=made, given=matrix.table.advice)
    write_topics(done, folder, made=made, seconds=seconds)
    return done


def write_comparison(done: MatrixResult, folder: Path, *, made: str, given: Sequence[AdviceTable] = ()) -> Path:
    """Write the first page: what to use when, and every strategy at every kind of work."""
    kinds = works(done)
    parts = ["# Comparison", advice(given, kinds), overview(kinds), _reading(folder), FURTHER]
    return _written(folder / PAGE, [*parts, "## How it was made", made])


def write_topics(done: MatrixResult, folder: Path, *, made: str, seconds: bool = True) -> Path:
    """Write the page with every topic, and its pictures. `seconds`: also show the time of a run, which varies."""
    reports = {name: figures(experiment) for name, experiment in done.experiments.items()}
    pictures: dict[str, Picture] = {}
    sections = [_section(name, report, pictures, seconds) for name, report in reports.items()]
    parts = ["# Comparison, topic by topic", EXPLAINED, *_summaries(reports), *sections, "## How it was made", made]
    for file, picture in pictures.items():
        write_text(folder / file, picture.svg)
    return _written(folder / DETAILS, parts)


def _written(page: Path, parts: Sequence[str]) -> Path:
    write_text(page, "\n\n".join(part for part in parts if part) + "\n")
    return page


def _reading(folder: Path) -> str:
    file = folder / READING
    try:
        return file.read_text(encoding="utf-8").strip() if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ForagerError(f"{file} cannot be read: {error}") from None


def repeated(command: str, file: Path, limits: MatrixLimits, left_out: str | None) -> str:
    """The command that makes a page again."""
    package = f"--left-out {PACKAGE}" if left_out == PACKAGE else ""
    return " ".join(filter(None, ["forager lab", command, file.as_posix(), str(limits), package]))


def how_made(done: MatrixResult, command: str, skipped: Sequence[str]) -> str:
    """The command that makes a page again, the code behind its crawls, and what is not on it."""
    count = sum(done.codes.values())
    codes = ", ".join(f"{code} ({cells} cells)" for code, cells in done.codes.items())
    lines = ["```", command, "```", f"{count} cells; code that crawled them: {codes}."]
    lines += [f"\nLeft out, because it was not at hand: the web {web}." for web in skipped]
    lines += [
        f"\nLeft out of {name}, where a crawl failed: {', '.join(lost)}." for name, lost in done.incomplete.items()
    ]
    return "\n".join([*lines, *_weights_of_default(done)])


def _weights_of_default(done: MatrixResult) -> list[str]:
    """What the weights of `default` have not seen, or that they have seen it all."""
    every = [each.plan for each in done.experiments.values()]
    plans = [plan for plan in every if LEARNT in map(_bare, plan.strategies)]
    unseen = dict.fromkeys(plan.left_out.name for plan in plans if plan.left_out)
    if not plans:
        return []
    if not unseen:
        return [f"\n`{LEARNT}` has the weights of the package, which were learnt on the recorded webs too."]
    return [f"\n`{LEARNT}` has weights that have not seen its row. Left out of what they learnt: {', '.join(unseen)}."]


# ---- summaries ------------------------------------------------------------------------------------------------------


def _summaries(reports: Reports) -> list[str]:
    """For each web with topics: the harvest of each strategy on each topic, and its difference to the simplest ones.
    Topics that are crawled in another way, such as halved ones, stand apart."""
    topics = {name: report for name, report in reports.items() if not _path(report)}
    parts = []
    for way in dict.fromkeys(map(_way, topics)):
        alike = {name: report for name, report in topics.items() if _way(name) == way}
        parts += [f"Harvest at {PLACE} on {way}:", _harvest_table(alike)]
        for base, place in AGAINST:
            parts += _against(base, place, way, alike) if _has(base, alike) else []
    return parts


def _harvest_table(topics: Reports) -> str:
    rates = {
        strategy: {name: _harvest(report, strategy) for name, report in topics.items()}
        for strategy in _strategies(topics)
    }
    columns = {_topic(name): {strategy: found[name] for strategy, found in rates.items()} for name in topics}
    if len(topics) > 1:
        columns["mean"] = {strategy: mean(list(found.values())) for strategy, found in rates.items()}
    best = {title: _best(column) for title, column in columns.items()}
    rows = [
        [strategy, *(_bold(share(column[strategy]), strategy in best[title]) for title, column in columns.items())]
        for strategy in rates
    ]
    return table(["strategy", *columns], rows)


def _best(column: Mapping[str, Figure]) -> set[str]:
    """The best strategies, without the oracles. Values are compared as they are shown, so that equal ones are equal."""
    shown = {name: round(value, 3) for name, value in column.items() if value is not None and not is_bound(name)}
    return {name for name, value in shown.items() if value == max(shown.values())}


def _against(base: str, place: str, way: str, topics: Reports) -> list[str]:
    """The paired differences to one strategy: for each topic, and over all topics."""
    names = [name for name in topics if _harvest(topics[name], base) is not None]
    rows = []
    for strategy in _strategies(topics):
        if strategy != base:
            pairs = [(_runs(topics[name], strategy, place), _runs(topics[name], base, place)) for name in names]
            cells = [_difference([pair], signed) for pair in pairs]
            rows.append([strategy, *cells, *([_difference(pairs, signed)] if len(names) > 1 else [])])
    heads = ["strategy", *map(_topic, names), *(["all topics"] if len(names) > 1 else [])]
    return [f"Difference to {base} at {place} on {way}:", table(heads, rows)]


Runs: TypeAlias = Sequence[Figure]  # a value for each run


def _difference(pairs: Sequence[tuple[Runs, Runs]], written: Callable[[float], str], sign: int = 1) -> str:
    """Ours minus theirs, a pair for each topic. `sign`: -1 if less is better."""
    runs = min((len(each) for pair in pairs for each in pair), default=0)
    ours, theirs = ([[value for value in pair[side][:runs] if value is not None] for pair in pairs] for side in (0, 1))
    if not runs or any(len(row) != runs for row in (*ours, *theirs)):
        return "–"
    found = difference(ours, theirs)
    if found.student is None:
        return written(found.mean)
    return f"{written(found.mean)} ± {written(found.student).removeprefix('+')}{mark(found, sign)}"


# ---- an experiment --------------------------------------------------------------------------------------------------


def _section(name: str, report: Report, pictures: dict[str, Picture], seconds: bool) -> str:
    about = f"R = {report['relevant']:,}, {runs_of(report['runs'])}, critic {report['critic']}."
    body = (
        _path_parts(name, report, pictures, seconds) if _path(report) else _topic_parts(name, report, pictures, seconds)
    )
    return "\n\n".join([f"## {name}", about, *body])


def _topic_parts(name: str, report: Report, pictures: dict[str, Picture], seconds: bool) -> list[str]:
    heads = ["strategy", *PLACES, "loss cut", "gap closed", "sigma", *_cost_heads(seconds)]
    rows = [
        [
            row["strategy"],
            *(with_interval(row["harvest"][place], row["ci"][place]) for place in PLACES),
            share(row["loss_reduction"][PLACE]),
            share(row["gap_closed"][PLACE]),
            share(row["sigma"]),
            *_cost(row, seconds),
        ]
        for row in report["results"]
    ]
    return [table(heads, rows), add_picture(name, "harvest along the crawl", harvest_curves(report), pictures)]


def _path_parts(name: str, report: Report, pictures: dict[str, Picture], seconds: bool) -> list[str]:
    """Pages until 50 and 90 % of the targets are found, in each group and summed, and the recall curves."""
    groups = list(report["results"][0]["groups"])
    heads = ["strategy", *(f"{goal} %" for goal in GOALS), *groups, "recall at 10 %", *_cost_heads(seconds)]
    rows = [
        [
            row["strategy"],
            *(_count_with(row["pages_to"][goal], row["pages_to_ci"][goal]) for goal in GOALS),
            *(" / ".join(count(row["groups"][group]["pages_to"][goal]) for goal in GOALS) for group in groups),
            share(row["recall_at_10pct"]),
            *_cost(row, seconds),
        ]
        for row in report["results"]
    ]
    shown = [
        add_picture(f"{name} {group}", f"recall along the crawl of {group}", recall_curves(report, group), pictures)
        for group in groups
    ]
    said = "Pages fetched until 50 % and 90 % of the targets that can be reached, summed over the groups and in each:"
    return [said, table(heads, rows), *_path_differences(report, groups), *shown]


def _path_differences(report: Report, groups: Sequence[str]) -> list[str]:
    """Differences in pages. A resample draws groups, so that a claim is also about sites that were not tried."""
    rows = {row["strategy"]: row for row in report["results"]}
    bases = [base for base in dict.fromkeys(base for base, _ in AGAINST) if base in rows]
    heads = [f"{goal} %, to {base}" for base in bases for goal in GOALS]
    lines = [
        [
            strategy,
            *(
                "–"
                if strategy == base
                else _difference([(_to(row, goal, each), _to(rows[base], goal, each)) for each in groups], _pages, -1)
                for base in bases
                for goal in GOALS
            ),
        ]
        for strategy, row in rows.items()
    ]
    return ["Differences in pages, mean over the groups:", table(["strategy", *heads], lines)] if bases else []


def _to(row: Row, goal: str, group: str) -> Runs:
    runs: Runs = row["groups"][group]["pages_to_runs"][goal]
    return runs


def add_picture(name: str, said: str, picture: Picture, pictures: dict[str, Picture]) -> str:
    """Add a picture to those of a page; returns the line that shows it."""
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")
    file = f"{PICTURES}/{slug}.svg"
    pictures[file] = picture
    return f"![{name}: {said}]({file})"


def _cost_heads(seconds: bool) -> list[str]:
    return ["requests a page", *(["s a run"] if seconds else [])]


def _cost(row: Row, seconds: bool) -> list[str]:
    return [f"{row['requests_per_page']:.2f}", *([f"{row['seconds']:.1f}"] if seconds else [])]


# ---- looking up -----------------------------------------------------------------------------------------------------


def _way(name: str) -> str:
    """The web of an experiment, and how its topic is crawled, from its name: `WEB · TOPIC, HOW`."""
    web, _, rest = name.partition(" · ")
    return web + "".join(rest.partition(", ")[1:])


def _topic(name: str) -> str:
    return name.partition(" · ")[2].partition(", ")[0]


def _path(report: Report) -> bool:
    return any("groups" in row for row in report["results"])


def _bare(strategy: str) -> str:
    return strategy.partition(":")[0]


def _strategies(reports: Reports) -> list[str]:
    """All strategies, in order."""
    return list(dict.fromkeys(row["strategy"] for report in reports.values() for row in report["results"]))


def _has(strategy: str, reports: Reports) -> bool:
    return strategy in _strategies(reports)


def _row(report: Report, strategy: str) -> Row | None:
    return next((row for row in report["results"] if row["strategy"] == strategy), None)


def _harvest(report: Report, strategy: str) -> Figure:
    row = _row(report, strategy)
    return None if row is None else row["harvest"][PLACE]


def _runs(report: Report, strategy: str, place: str) -> Runs:
    row = _row(report, strategy)
    return () if row is None else row["harvest_runs"][place]


# ---- writing --------------------------------------------------------------------------------------------------------


def _bold(text: str, wanted: bool) -> str:
    return f"**{text}**" if wanted else text


def _count_with(value: Figure, half_width: Figure) -> str:
    return count(value) if value is None or not half_width else f"{count(value)} ± {count(half_width)}"


def _pages(value: float) -> str:
    return f"{value:+,.0f}"
