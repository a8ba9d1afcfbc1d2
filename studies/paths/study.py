"""The plan of the study and its crawls: the pages that path models fetch on the way to course pages, and to topics.

    courses       four universities of webkb, each crawled by models that were taught on the others and on many more
                  pages; what depends on chance is taught several times
    topics        of wikispeedia, halved: taught with half of the pages of a topic, tested on the other half, from pages
                  as far from the topic as there are
    labelling     the states that the CRF gives to the pages of paths through a university that it has not seen
    typing        the types of the parts of course pages, against labels by hand

Crawls are cells of a matrix (`forager_lab.matrix`); the labelling is kept in parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeAlias

from forager.collection.courses import PartAccuracy, accuracy, parts_of, read_labels
from forager.errors import ForagerError
from forager_lab.experiment import PathGoal, Plan, TopicGoal, laboratory
from forager_lab.matrix import KEPT, MatrixResult, Note, Tell, run_matrix
from forager_lab.protocol import left_out
from forager_lab.results import figures
from studies.apprentice import STEERED_BY
from studies.kept_parts import PartsFolder, code_behind, make_parts
from studies.paths import labelling
from studies.paths.labelling import COUNTS, MANY, MODELS, LabelPart, NamingCounts

TARGET, GROUPS = "course", "university"
PAPER = "memm:features=all:drawn=walks:states=5:inference=marginal"  # the MEMM as it was published
VITERBI, WORDS, TEXT = (
    PAPER.replace("marginal", "viterbi"),
    PAPER.replace("features=all", "features=words"),
    PAPER.replace("features=all", "features=text"),
)
STEP = f"{PAPER}:reading=step"  # scored by a step that walks do not teach
OURS = ("memm", "memm:inference=marginal", "memm:inference=viterbi")
AGAIN = ("memm", "crf")
CRAWLERS = (
    *("breadth-first", "best-first", STEERED_BY, "context-graph", "q-value", "hmm", PAPER, VITERBI, STEP, *OURS),
    *("crf", "crf:states=single", "crf:features=thesis:reward=thesis", "oracle", "lookahead"),
)
TOPICS = ("Religion", "Music", "IT", "Science.Physics", "Science.Chemistry", "History.British_History")
ON_TOPICS = (
    *("breadth-first", "best-first", "context-graph", "q-value", "hmm", PAPER, VITERBI, WORDS, TEXT, STEP, *OURS),
    *("crf", "oracle"),
)
COURSES, COURSES_AGAIN, TOPIC = "courses", "courses, taught again", "topic · "
BEST_FIRST, BY_COSINE = "best-first", "best-first by cosine"  # the second: the baseline of the MEMM's paper
COSINE = ", by cosine"  # what its experiments are called, after the name of those they belong to


@dataclass(frozen=True)
class PathsPlan:
    """What is tried, on what."""

    courses_web: str
    topics_web: str
    parts: Path  # labels by hand of the parts of course pages
    topics: tuple[str, ...] = TOPICS
    runs: int = 1  # on topics
    draws: int = 3  # so often models that depend on chance are taught for courses
    seed: int = 0
    crawlers: tuple[str, ...] = CRAWLERS  # for courses
    again: tuple[str, ...] = AGAIN  # for courses, taught several times
    on_topics: tuple[str, ...] = ON_TOPICS
    models: Mapping[str, str] = field(default_factory=lambda: MODELS)  # those that name pages
    counts: tuple[int, ...] = COUNTS  # of the training paths of those

    def __post_init__(self) -> None:
        if min(self.runs, self.draws) < 1:
            raise ForagerError("--runs and --draws must be at least 1")

    def matrix(self) -> dict[str, Plan]:
        """The experiments: for courses, for courses taught again, and for each topic. Where best-first is among the
        strategies, it crawls once more, with the critic `cosine`."""
        goal = PathGoal(TARGET, GROUPS)
        topics = {f"{TOPIC}{topic}": TopicGoal(topic, halved=True, far=True) for topic in self.topics}
        plans = {
            COURSES: Plan(self.courses_web, goal, self.crawlers, runs=1, seed=self.seed),
            COURSES_AGAIN: Plan(self.courses_web, goal, self.again, runs=self.draws, seed=self.seed),
            **{
                name: Plan(self.topics_web, topic, self.on_topics, runs=self.runs, seed=self.seed)
                for name, topic in topics.items()
            },
        }
        return plans | {
            name + COSINE: replace(plan, strategies=(BEST_FIRST,), critic="cosine")
            for name, plan in plans.items()
            if BEST_FIRST in plan.strategies
        }

    def label_parts(self, groups: list[str]) -> list[LabelPart]:
        """One for each model, number of training paths, group and draw."""
        return [
            LabelPart(TARGET, GROUPS, group, model, count, self.seed + draw)
            for model in self.models.values()
            for count in self.counts
            for group in groups
            for draw in range(self.draws if count < MANY else 1)
        ]


Labelled: TypeAlias = Mapping[tuple[str, int], NamingCounts]  # by model and number of training paths


@dataclass(frozen=True)
class PathsStudy:
    """A plan that was carried out."""

    plan: PathsPlan
    done: MatrixResult
    reports: Mapping[str, Mapping[str, Any]]  # figures of each experiment
    groups: tuple[str, ...]
    labelled: Labelled
    typed: PartAccuracy
    codes: Mapping[str, int]  # fingerprints of the code that made cells and parts, with their number


def run_paths_study(
    plan: PathsPlan,
    folder: Path = KEPT,
    *,
    jobs: int = 1,
    fresh: bool = False,
    tell: Tell = lambda progress: None,
    note: Note = lambda line: None,
) -> PathsStudy:
    """Make the crawls and parts that are missing, by so many processes, and put all together.

    `fresh`: what other code made is made again.
    """
    typed = type_parts(plan.courses_web, plan.parts)  # first, because its file may be wrong
    done = run_matrix(plan.matrix(), folder, jobs=jobs, fresh=fresh, tell=tell, note=note)
    if done.failed:
        raise ForagerError("; ".join(done.failed))
    groups = left_out(laboratory(plan.courses_web), GROUPS)
    parts = plan.label_parts(groups)
    made = make_parts(plan.courses_web, PartsFolder(folder, code_behind(labelling), fresh=fresh), parts, jobs, note)
    named = {spec: name for name, spec in plan.models.items()}
    each = [(named[part.model], part.count, LabelPart.read(found)) for part, found in zip(parts, made, strict=True)]
    labelled = {
        (model, count): reduce(add, (naming for *key, naming in each if key == [model, count]))
        for model, count in dict.fromkeys((model, count) for model, count, _ in each)
    }
    reports = with_baselines({name: figures(experiment) for name, experiment in done.experiments.items()})
    codes = Counter(done.codes) + Counter(str(found["code"]) for found in made)
    return PathsStudy(plan, done, reports, tuple(groups), labelled, typed, codes)


def with_baselines(reports: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The figures of best-first by cosine in the reports of the experiments they belong to, after best-first."""
    merged: dict[str, Mapping[str, Any]] = {}
    for name, report in reports.items():
        if name.endswith(COSINE):
            continue
        rows = []
        for row in report["results"]:
            rows.append(row)
            if row["strategy"] == BEST_FIRST and name + COSINE in reports:
                rows += [{**other, "strategy": BY_COSINE} for other in reports[name + COSINE]["results"]]
        merged[name] = {**report, "results": rows}
    return merged


def type_parts(web: str, labels: Path) -> PartAccuracy:
    """How many parts of the labelled pages of a web get their right type."""
    try:
        with labels.open(encoding="utf-8") as lines:
            said = list(read_labels(lines, where=str(labels)))
    except OSError as error:
        raise ForagerError(f"{labels} cannot be read: {error.strerror}; name the labels with --parts FILE") from None
    pages = laboratory(web).pages(list(dict.fromkeys(label.url for label in said)))
    return accuracy([part for page in pages if page is not None for part in parts_of(page)], said)
