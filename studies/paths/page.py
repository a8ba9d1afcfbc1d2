"""The page of the study, section by section.

The texts in the code say what is shown, how it is defined and what the papers reported. What the figures mean is
written by hand, in docs/lab/paths-reading.toml.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from forager.collection.courses import FoundBy, PartAccuracy, PartType
from forager_lab.metrics import Figure, mean
from forager_lab.plots import recall_curves
from forager_lab.results import GOALS, THRESHOLDS
from studies.apprentice import STEERED_BY
from studies.page import Section, how_made, runs_text, share, table, write_study
from studies.paths.labelling import ARRIVING, MANY, TESTED
from studies.paths.study import (
    BEST_FIRST,
    BY_COSINE,
    COURSES,
    COURSES_AGAIN,
    OURS,
    PAPER,
    STEP,
    TEXT,
    TOPIC,
    VITERBI,
    WORDS,
    Labelled,
    PathsStudy,
)

INTRODUCTION = """\
Methods that are taught before the crawl how a target is reached, and learn no more during it: the context graph
(Diligenti et al. 2000), the reinforcement spider (Rennie & McCallum 1999), the HMM (Liu, Janssen & Milios 2006), the
MEMM (Liu, Milios & Korba 2008) and the CRF path forager. Beside them are methods that do not know the way
(breadth-first, best-first, the apprentice) and two that know the truth: `oracle` (of each link's target) and
`lookahead` (of the whole web).
How it is measured: [the laboratory](README.md); what each one computes: [strategies](../strategies/README.md)."""
PICTURED = ("breadth-first", "best-first", "q-value", "memm", "crf", "oracle", "lookahead")
COMPARED = (
    *((PAPER, BY_COSINE), (PAPER, BEST_FIRST), (PAPER, VITERBI), (PAPER, STEP)),
    *((OURS[0], BY_COSINE), (OURS[0], BEST_FIRST), (OURS[1], OURS[2])),
)
SETS = (PAPER, WORDS, TEXT)
NAMES = {
    PAPER: "MEMM as published",
    VITERBI: "the same, Viterbi",
    WORDS: "the same, words",
    TEXT: "the same, text",
    STEP: "the same, a step ahead",
    BY_COSINE: "`best-first`, critic `cosine`",
    STEERED_BY: "apprentice",
}
LABELLING_REPORTED = (
    "goal precision .896, recall .924; all states .792, .825; trained on 122 paths of 7 universities, 26 labels."
)
TYPING_REPORTED = 0.65  # of headings

Topics: TypeAlias = Mapping[str, Mapping[str, Any]]  # figures of each


def write_paths_page(study: PathsStudy, folder: Path) -> Path:
    """Write the pictures into the folder, and the page beside it; returns the page."""
    topics = {name.removeprefix(TOPIC): report for name, report in study.reports.items() if name.startswith(TOPIC)}
    sections = [
        courses(study.reports[COURSES]),
        again(study.reports[COURSES_AGAIN]),
        labelling(study.labelled, study.groups, study.plan.draws),
        harvests(topics, study.plan.runs),
        similarities(topics, study.plan.runs),
        course_parts(study.typed),
    ]
    return write_study(folder, "The path models: a study", INTRODUCTION, sections, _made(study))


def _made(study: PathsStudy) -> str:
    plan = study.plan
    courses_web, topics_web = Path(plan.courses_web).name, Path(plan.topics_web).name
    command = [
        f"python -m studies paths --courses $WEBS/{courses_web} --web $WEBS/{topics_web}",
        f"--topics {','.join(plan.topics)}",
        f"--runs {plan.runs} --draws {plan.draws} --seed {plan.seed}",
    ]
    names = "\n".join(f"- {name}: `{spec}`" for spec, name in NAMES.items() if spec != BY_COSINE)
    return how_made(command, "crawls and other parts", study.codes, names)


def courses(report: Mapping[str, Any]) -> Section:
    """Pages until half and most of the courses, university by university."""
    groups = list(report["results"][0]["groups"])
    rows = [
        [
            _named(row["strategy"]),
            *(_count(row["pages_to"][goal]) for goal in GOALS),
            share(row["recall_at_10pct"]),
            *(_both(row["groups"][group]["pages_to"]) for group in groups),
        ]
        for row in report["results"]
    ]
    chosen = {**report, "results": [row for row in report["results"] if row["strategy"] in PICTURED]}
    text = (
        "Four universities. Each is crawled from the home page of its department to the end, by models that were "
        "taught on the other three and on pages of many more. Pages fetched until 50 % and 90 % of the course pages "
        "that can be reached, summed over the four; the share found after a tenth of the site, mean of the four; then "
        "the pages for each university."
    )
    heads = ["strategy", *(f"to {goal} %" for goal in GOALS), "after 10 %", *groups]
    pictures = {f"recall-{group}": recall_curves(chosen, group).svg for group in groups}
    return Section("courses", "Course pages of a university that was not seen", text, "", pictures, table(heads, rows))


def again(report: Mapping[str, Any]) -> Section:
    """Pages until half and most of the courses, for models that were taught several times."""
    rows = []
    for row in report["results"]:
        found = [group["pages_to_runs"] for group in row["groups"].values()]
        sums = [{goal: _sum(each[goal][run] for each in found) for goal in GOALS} for run in range(report["runs"])]
        rows.append([_named(row["strategy"]), *map(_both, [*sums, row["pages_to"]])])
    text = (
        "The links and paths that teach are drawn by chance. Here they are drawn several times: for each draw, pages "
        "to 50 % / 90 % summed over the four; then the mean."
    )
    heads = ["strategy", *(f"draw {run + 1}" for run in range(report["runs"])), "mean"]
    return Section("again", "Taught again", text, table=table(heads, rows))


def labelling(labelled: Labelled, groups: Sequence[str], draws: int) -> Section:
    """How well the CRF names pages."""
    rows = []
    for (model, count), naming in labelled.items():
        told = naming.told / naming.paths if naming.paths else None
        figures = (*naming.of_label("goal"), *naming.of_all(), naming.accuracy, told)
        rows.append([model, f"{count:,}", *map(share, figures)])
    goal, every = ["goal: precision", "recall"], ["all states: precision", "recall"]
    head = ["states", "paths", *goal, *every, "pages named rightly", "paths told rightly"]
    text = (
        f"The CRF names the pages of {TESTED} paths through a university that it has not seen, of which "
        f"{round(ARRIVING * TESTED)} end in a goal; summed over {', '.join(name.capitalize() for name in groups)} and "
        f"{draws} draws of paths, or one draw of {MANY:,} paths and more. All paths are drawn from the links of the "
        "web and start at the department's page. *All states*: the mean over the labels of the test paths. *Paths told "
        "rightly*: the last page is likelier a goal than a fail if and only if it is a goal."
    )
    return Section("labelling", "Names of pages", text, LABELLING_REPORTED, table=table(head, rows))


def harvests(topics: Topics, count: int) -> Section:
    """The share of relevant pages on each topic."""
    names = [row["strategy"] for row in next(iter(topics.values()))["results"]]
    rows = [
        [
            _named(name),
            *(share(_of(report, name)["harvest_new"]["R"]) for report in topics.values()),
            share(mean([_of(report, name)["harvest_new"]["R"] for report in topics.values()])),
        ]
        for name in names
    ]
    text = (
        "The models are taught with half of the pages of a topic. A crawl starts from three pages of the outermost "
        "layer around that half. Share of relevant pages, by truth, among the first R pages, without those of the half "
        f"that taught; mean of {runs_text(count)}."
    )
    return Section("topics", "Topics of one web, halved", text, table=table(["strategy", *topics, "mean"], rows))


def similarities(topics: Topics, count: int) -> Section:
    """The measures of the MEMM's paper."""
    names = [row["strategy"] for row in next(iter(topics.values()))["results"]]
    names = [
        name for name in names if name in ("breadth-first", BEST_FIRST, BY_COSINE, "oracle") or name.startswith("memm")
    ]
    heads = ["topic", "strategy", *(f"at {least}" for least in THRESHOLDS), "sigma"]
    rows = [
        [topic, _named(name), *(share(row["precision_new"][str(least)]) for least in THRESHOLDS), share(row["sigma"])]
        for topic, report in topics.items()
        for name, row in ((name, _of(report, name)) for name in names)
    ]
    text = (
        "The measures of the MEMM's paper: the share of the pages crawled, without those that taught, whose similarity "
        "to one of the examples is at least so large (cosine of log-tf, without function words); and sigma, the "
        f"largest mean similarity of all pages to one example; 2R pages, mean of {runs_text(count)}. "
        + " ".join([*_wins(topics, names), *_best_set(topics, names)])
    )
    paper = (
        "better than best-first on 8 of 10 topics, marginal better than Viterbi on 7 of 10, all features best on 8 of "
        "10, words alone once, text with description, URL and anchor once."
    )
    return Section("similarity", "The MEMM by similarity", text, paper, table=table(heads, rows))


def _wins(topics: Topics, names: Sequence[str]) -> Iterator[str]:
    for ours, other in COMPARED:
        if ours in names and other in names:
            won = sum(_sigma(report, ours) > _sigma(report, other) for report in topics.values())
            yield f"By sigma {_named(ours)} is above {_named(other)} on {won} of {len(topics)} topics."


def _best_set(topics: Topics, names: Sequence[str]) -> Iterator[str]:
    if all(name in names for name in SETS):
        best = [max(SETS, key=lambda name: _sigma(report, name)) for report in topics.values()]
        told = ", ".join(f"{_named(name)} on {best.count(name)}" for name in SETS)
        yield f"Of the sets of features the best by sigma is {told}."


def course_parts(found: PartAccuracy) -> Section:
    """How many parts of course pages get their right type."""
    pages = len({outcome.label.url for outcome in found.outcomes})
    sorts = [("headings", FoundBy.HEADING), ("anchors", FoundBy.ANCHOR), ("both", None)]
    counts = [sum(sort in (None, outcome.label.found) for outcome in found.outcomes) for _, sort in sorts]
    rows = [
        [name, f"{count}", share(found.share(sort)), share(found.share(sort, typed=True))]
        for (name, sort), count in zip(sorts, counts, strict=True)
    ]
    by_type = [
        [kind.value, str(tally.labelled), share(tally.precision), share(tally.recall)]
        for kind, tally in found.by_type.items()
        if kind is not PartType.NONE
    ]
    text = (
        f"{len(found.outcomes)} headings and anchors of {pages} course pages of Cornell, Washington and Wisconsin, "
        "labelled by reading what stands under or behind them (`data/course-parts.tsv`); the words and rules were "
        "chosen on pages of other universities. *right*: the share that has the type of the label; *with a type*: "
        "the same, without the labels none."
    )
    tables = [
        table(["", "labels", "right", "with a type"], rows),
        table(["type", "labels", "precision", "recall"], by_type),
    ]
    return Section(
        "typing", "Parts of course pages", text, f"about {TYPING_REPORTED:.0%} by headings.", table="\n\n".join(tables)
    )


def _named(strategy: str) -> str:
    return NAMES.get(strategy, f"`{strategy}`")


def _sum(values: Iterable[Figure]) -> Figure:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _of(report: Mapping[str, Any], strategy: str) -> Mapping[str, Any]:
    row: Mapping[str, Any] = next(row for row in report["results"] if row["strategy"] == strategy)
    return row


def _sigma(report: Mapping[str, Any], strategy: str) -> float:
    return float(_of(report, strategy)["sigma"] or 0.0)


def _both(pages_to: Mapping[str, Figure]) -> str:
    return " / ".join(_count(pages_to[goal]) for goal in GOALS)


def _count(value: Figure) -> str:
    return "–" if value is None else f"{value:,.0f}"
