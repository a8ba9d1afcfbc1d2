"""The study of the path models: what they fetch on the way to course pages, and to topics.

    courses       four universities of webkb, each crawled with what was learnt on the other ones and on many more; what
                  depends on chance is taught several times
    topics        of wikispeedia, halved: taught with half of the pages of a topic, tested on the other half; from pages
                  that are as far from the topic as there are any
    labelling     the states that the CRF gives to the pages of paths through a university that it has not seen
    typing        the parts of course pages, against labels by hand

Crawls are cells of a matrix (`forager_lab.matrix`), the labelling is kept in parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from forager.collection.courses import PartAccuracy
from forager.errors import ForagerError
from forager_lab.experiment import PathGoal, Plan, TopicGoal, laboratory
from forager_lab.matrix import KEPT, Done, Note, Tell, run_matrix
from forager_lab.protocol import left_out
from forager_lab.results import figures
from studies.apprentice.study import STEERED_BY
from studies.keeping import Kept
from studies.parts import make_parts
from studies.paths.course_typing import type_parts
from studies.paths.labelling import COUNTS, MANY, MODELS, Labelled, LabelPart, code_behind

TARGET, GROUPS = "course", "university"
PAPER = "memm:features=all:drawn=walks:states=5:inference=marginal"  # the MEMM as it was published
VITERBI, WORDS, TEXT = (
    PAPER.replace("marginal", "viterbi"),
    PAPER.replace("features=all", "features=words"),
    PAPER.replace("features=all", "features=text"),
)
OURS = ("memm", "memm:inference=marginal", "memm:inference=viterbi")
AGAIN = ("memm", "crf")
CRAWLERS = (
    *("breadth-first", "best-first", STEERED_BY, "context-graph", "q-value", "hmm", PAPER, VITERBI, *OURS),
    *("crf", "crf:states=single", "crf:features=thesis:reward=thesis", "oracle", "lookahead"),
)
TOPICS = ("Religion", "Music", "IT", "Science.Physics", "Science.Chemistry", "History.British_History")
ON_TOPICS = (
    *("breadth-first", "best-first", "context-graph", "q-value", "hmm", PAPER, VITERBI, WORDS, TEXT, *OURS, "crf"),
    "oracle",
)
COURSES, COURSES_AGAIN, TOPIC = "courses", "courses, taught again", "topic · "


@dataclass(frozen=True)
class Scheme:
    """What is tried, on what."""

    courses_web: str
    topics_web: str
    parts: Path  # labels by hand of the parts of course pages
    topics: tuple[str, ...] = TOPICS
    runs: int = 1  # on topics
    draws: int = 3  # times that what depends on chance is taught for courses
    seed: int = 0
    crawlers: tuple[str, ...] = CRAWLERS
    again: tuple[str, ...] = AGAIN
    on_topics: tuple[str, ...] = ON_TOPICS
    models: Mapping[str, str] = field(default_factory=lambda: MODELS)  # that name pages
    counts: tuple[int, ...] = COUNTS  # of training paths, for that

    def __post_init__(self) -> None:
        if min(self.runs, self.draws) < 1:
            raise ForagerError("--runs and --draws must be at least 1")

    def plans(self) -> dict[str, Plan]:
        goal = PathGoal(TARGET, GROUPS)
        topics = {f"{TOPIC}{topic}": TopicGoal(topic, halved=True, far=True) for topic in self.topics}
        return {
            COURSES: Plan(self.courses_web, goal, self.crawlers, runs=1, seed=self.seed),
            COURSES_AGAIN: Plan(self.courses_web, goal, self.again, runs=self.draws, seed=self.seed),
            **{
                name: Plan(self.topics_web, topic, self.on_topics, runs=self.runs, seed=self.seed)
                for name, topic in topics.items()
            },
        }

    def label_parts(self, groups: list[str]) -> list[LabelPart]:
        return [
            LabelPart(TARGET, GROUPS, group, model, count, self.seed + draw)
            for model in self.models.values()
            for count in self.counts
            for group in groups
            for draw in range(self.draws if count < MANY else 1)
        ]


@dataclass(frozen=True)
class PathStudy:
    """A scheme carried out."""

    scheme: Scheme
    done: Done
    reports: Mapping[str, Mapping[str, Any]]  # figures of each experiment
    groups: tuple[str, ...]
    labelled: Labelled
    typed: PartAccuracy
    codes: Mapping[str, int]  # fingerprints of the code that made cells and parts, with their number


def run_path_study(
    scheme: Scheme,
    folder: Path = KEPT,
    *,
    jobs: int = 1,
    fresh: bool = False,
    tell: Tell = lambda progress: None,
    note: Note = lambda line: None,
) -> PathStudy:
    """Make what is missing, by so many processes, and put all together. `fresh`: so is what other code made."""
    typed = type_parts(scheme.courses_web, scheme.parts)  # first, because its file may be wrong
    done = run_matrix(scheme.plans(), folder, jobs=jobs, fresh=fresh, tell=tell, note=note)
    if done.failed:
        raise ForagerError("; ".join(done.failed))
    groups = left_out(laboratory(scheme.courses_web), GROUPS)
    parts = scheme.label_parts(groups)
    made = make_parts(scheme.courses_web, Kept(folder, code_behind(), fresh=fresh), parts, jobs, note)
    named = {spec: name for name, spec in scheme.models.items()}
    each = [(named[part.model], part.count, LabelPart.read(found)) for part, found in zip(parts, made, strict=True)]
    labelled = {
        (model, count): reduce(add, (naming for *key, naming in each if key == [model, count]))
        for model, count in dict.fromkeys((model, count) for model, count, _ in each)
    }
    reports = {name: figures(experiment) for name, experiment in done.experiments.items()}
    codes = Counter(done.codes) + Counter(str(found["code"]) for found in made)
    return PathStudy(scheme, done, reports, tuple(groups), labelled, typed, codes)
