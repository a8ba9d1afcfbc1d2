"""The study of the apprentice (Chakrabarti, Punera & Subramanyam 2002), section 3, on the topics of a recorded web.

A topic and a run share a critic, a start and a baseline crawl; from these come all other crawls of the run and, in the
first run, the offline figures. Each is a part that is kept. The side figures have fewer runs than the table.

    baseline       best-first, 2R pages                                    figs. 4, 5; the source of all instances
    halved         trained on instances whose targets are in half A, R     figs. 10, 11; counted on half B
    whole          trained on all instances, R: optimistic                 fig. 10
    recall         as halved, within the first R pages of the baseline     fig. 12
    online         never trained beforehand, 2R                            section 3.7
    …, steered     the same with other settings, R
    switched       the baseline for R/2 pages, then the apprentice, R      figs. 13, 14
    batch-…        online with other batches, 2R                           section 3.7
    topics, …      online with further features, R                         section 3.8
    halved, …      other apprentices and labels, R/2; online, … the same, R

The learner is told the critic's calibrated relevance, the number that steers the baseline too. Naive Bayes as it is
crowds at 0 and 1 and may call most pages of a topic 0; what such labels do to the apprentice is one of the variants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.registry import Spec
from forager.types import Url
from forager_lab.cells import web_content
from forager_lab.experiment import laboratory
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import STARTS, Trial, strategy_for, topic_trial
from forager_lab.workers import Failed, work
from studies.apprentice.crawls import Calibrated, Crawled, crawl, trained, within
from studies.apprentice.instances import Instances, gather, half
from studies.apprentice.offline import offline
from studies.keeping import Kept, Key, code_behind, crawled_of, parts_of

KEPT = Path(".lab")
TOPICS = (
    "Science.Biology",
    "Geography",
    "History",
    "Everyday_life",
    "Science.Chemistry",
    "Religion",
    "Music",
    "IT",
    "Mathematics",
)
BASELINE = "best-first"
APPRENTICE = "apprentice:learner=logistic:combine=best"
STEERED_BY = "apprentice:trust=1:smoothing=proportional:length=15:combine=noisy-or:batch=25"
HALVED, WHOLE, RECALL, ONLINE, SWITCHED = "halved", "whole", "recall", "online", "switched"
STEERED = "online, steered"  # from what the page itself is worth, and by all pages that link to a target
RAW, CALIBRATED = "raw", "calibrated"  # labels
USUAL_BATCH, BATCHES = 100, (20, 300, 1000)
VARIANTS: Mapping[str, tuple[str, str]] = {  # other apprentices and their labels, tried beforehand and online
    "as printed": ("apprentice", RAW),
    "calibrated": ("apprentice", CALIBRATED),
    "smoothed": ("apprentice:smoothing=proportional:length=30:combine=best", CALIBRATED),
    "plain words": (f"{APPRENTICE}:features=words", CALIBRATED),
    "raw labels": ("", RAW),  # the one of the plan
}
FEATURES: Mapping[str, Mapping[str, object]] = {
    "topics": {"topics": 1},
    "cocitation": {"cocitation": True},
}


@dataclass(frozen=True)
class Plan:
    """What is studied, on what."""

    web: str
    topics: tuple[str, ...] = TOPICS
    apprentice: str = APPRENTICE
    critic: str = "naive-bayes"
    runs: int = 5
    side_runs: int = 2  # of the side figures
    large: int = 300  # a topic with more pages leaves time to learn on the way
    instances: int = 20_000  # offline figures are made of at most so many
    splits: int = 3  # of them, into those learnt from and those tested
    seed: int = 0

    def __post_init__(self) -> None:
        if self.runs < 1 or self.side_runs < 1 or not self.topics:
            raise ForagerError("--runs and --side-runs must be at least 1, and --topics name at least one")

    def is_large(self, pages: int) -> bool:
        return pages > self.large


@dataclass(frozen=True)
class Course:
    """A crawl of the study: how its strategy comes about, and how far it goes."""

    name: str
    pages: int
    taught: Literal["half", "all"] | None = None  # beforehand: by instances with targets in half A, or by all
    options: Mapping[str, object] = field(default_factory=dict)  # of the apprentice, beyond those of the plan
    watch: int | None = None
    labels: str = CALIBRATED  # what the learner is told of a page
    spec: str = ""  # of another apprentice than the plan's


@dataclass(frozen=True)
class Unit:
    """A topic in a run: what is done by one process."""

    topic: str
    run: int
    pages: int  # of the topic: R

    def __str__(self) -> str:
        return f"{self.topic} · run {self.run}"


def courses(plan: Plan, unit: Unit) -> list[Course]:
    """The crawls of a unit, the baseline first."""
    size = unit.pages
    found = [
        Course(BASELINE, 2 * size),
        Course(HALVED, size, "half"),
        Course(WHOLE, size, "all"),
        Course(ONLINE, 2 * size),
        Course(STEERED, size, spec=STEERED_BY),
    ]
    if unit.run >= plan.side_runs:
        return found
    start = max(1, size // 2)
    found.append(Course(RECALL, size, "half"))
    found.append(Course(SWITCHED, size, options={"batch": start, "combine": "best"}, watch=start))
    for name, (spec, labels) in VARIANTS.items():
        found.append(Course(f"{HALVED}, {name}", size // 2, "half", labels=labels, spec=spec))
        found.append(Course(f"{ONLINE}, {name}", size, labels=labels, spec=spec))
    if plan.is_large(size):
        found += [Course(f"batch-{batch}", 2 * size, options={"batch": batch}) for batch in BATCHES]
        found += [Course(name, size, options=options) for name, options in FEATURES.items()]
    return found


# ---- a unit ---------------------------------------------------------------------------------------------------------


class Bench:
    """One unit under way: what its crawls share is made when the first asks for it."""

    def __init__(self, plan: Plan, unit: Unit, lab: Laboratory, baseline: Crawled | None = None) -> None:
        self.plan, self.unit, self.lab = plan, unit, lab
        self._baseline = baseline

    @cached_property
    def trial(self) -> Trial:
        critic = Spec.parse(self.plan.critic)
        return topic_trial(self.lab, self.unit.topic, critic, run=self.unit.run, seed=self.plan.seed)

    @cached_property
    def baseline(self) -> Crawled:
        if self._baseline is not None:
            return self._baseline
        return crawl(self.lab, self.trial, strategy_for(self.lab, self.trial, Spec(BASELINE)), 2 * self.unit.pages)

    @cached_property
    def classroom(self) -> Trial:
        """The trial as learners have it, with the labels of the plan."""
        return replace(self.trial, critic=Calibrated(self.trial.critic))

    def _trial(self, course: Course) -> Trial:
        taught = self.trial if course.labels == RAW else self.classroom
        if course.name != RECALL:
            return taught
        return replace(taught, scope=within(self.lab, [visit.page for visit in self.instances.visits[: course.pages]]))

    @cached_property
    def instances(self) -> Instances:
        return gather(self.lab, self.classroom, self.baseline.order)

    @cached_property
    def raw_instances(self) -> Instances:
        return gather(self.lab, self.trial, self.baseline.order)

    def of_half(self, instances: Instances) -> Instances:
        """Those whose targets are in half A."""
        chosen = half_of(self.lab, self.plan, self.unit.run)
        inside = np.array([visit.page.url in chosen for visit in instances.visits], bool)
        return instances.take(inside[instances.targets])

    def follow(self, course: Course) -> Crawled:
        if course.name == BASELINE:
            return self.baseline
        lab, trial = self.lab, self._trial(course)
        spec = Spec.parse(course.spec or self.plan.apprentice)
        chosen = Spec(spec.name, {**spec.options, **course.options})
        if course.taught is None:
            return crawl(lab, trial, strategy_for(lab, trial, chosen), course.pages, watch=course.watch)
        instances = self.raw_instances if course.labels == RAW else self.instances
        lesson = self.of_half(instances) if course.taught == "half" else instances
        return crawl(lab, trial, trained(lab, trial, chosen, lesson), course.pages)


def half_of(lab: Laboratory, plan: Plan, run: int) -> frozenset[Url]:
    return half(list(lab.web.truth.labels), plan.seed, run)


def key_of(plan: Plan, content: str, unit: Unit, part: Course | str) -> Key:
    """All that determines a part. The baseline is the same whatever the apprentice."""
    known: dict[str, Any] = {
        "web": content, "topic": unit.topic, "run": unit.run, "critic": plan.critic, "seed": plan.seed,
    }  # fmt: skip
    if isinstance(part, str):
        return {**known, "part": part, "instances": plan.instances, "splits": plan.splits}
    strategy = BASELINE if part.name == BASELINE else str(Spec.parse(part.spec or plan.apprentice))
    return {
        **known, "part": part.name, "pages": part.pages, "taught": part.taught, "options": dict(part.options),
        "watch": part.watch, "labels": part.labels, "strategy": strategy,
    }  # fmt: skip


OFFLINE = "offline"
FIRST = 0  # the run whose instances the offline figures are made of


def do_unit(plan: Plan, kept: Kept, content: str, unit: Unit) -> int:
    """Make all parts of a unit that are missing; returns how many that were."""
    lab, made = laboratory(plan.web), 0
    todo = courses(plan, unit)
    before = kept.read(key_of(plan, content, unit, todo[0]))
    bench = Bench(plan, unit, lab, crawled_of(before) if before else None)
    for course in todo:
        key = key_of(plan, content, unit, course)
        if kept.read(key) is None:
            kept.write(key, parts_of(bench.follow(course)))
            made += 1
    key = key_of(plan, content, unit, OFFLINE)
    if unit.run == FIRST and kept.read(key) is None:
        found = offline(
            bench.instances, bench.trial.critic.classes, most=plan.instances, seeds=plan.splits, seed=plan.seed
        )
        kept.write(key, {"figures": found})
        made += 1
    lab.cache.write()
    return made


# ---- all of them ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Study:
    """A plan carried out."""

    plan: Plan
    web: str
    sizes: Mapping[str, int]  # R of each topic
    crawls: Mapping[tuple[str, int, str], Crawled]  # by topic, run and course
    offline: Mapping[str, Mapping[str, Any]]  # by topic
    halves: Sequence[frozenset[Url]]  # half A of each run
    codes: Mapping[str, int]  # fingerprints of the code that made the parts, with their number
    made: int  # parts made now


Tell: TypeAlias = Callable[[int, int, str], None]  # units done, of how many, and what was last


def run_study(
    plan: Plan, folder: Path = KEPT, *, jobs: int = 1, fresh: bool = False, tell: Tell = lambda done, of, last: None
) -> Study:
    """Make the parts that are missing, by so many processes, and put all together.

    `fresh`: what was made by other code is missing too.
    """
    if jobs < 1:
        raise ForagerError("--jobs must be at least 1")
    lab, kept = laboratory(plan.web), Kept(folder, code_behind(), fresh=fresh)
    content = web_content(lab.web)
    units = list(_units(plan, lab))
    todo = [unit for unit in units if any(kept.read(key) is None for key in _keys(plan, content, unit))]
    done, made, failed = len(units) - len(todo), 0, list[str]()
    tell(done, len(units), "")
    for unit, outcome in work(todo, partial(do_unit, plan, kept, content), jobs, _needs):
        if isinstance(outcome, Failed):
            failed.append(f"{unit} failed: {outcome.why}")
        else:
            made += outcome
        done += 1
        tell(done, len(units), str(unit))
    if failed:
        raise ForagerError("; ".join(failed))
    return _gathered(plan, lab, kept, content, units, made)


def _units(plan: Plan, lab: Laboratory) -> Iterator[Unit]:
    """Large topics first, so that at the end there is something small for every process."""
    sizes = {topic: len(lab.web.truth.relevant(topic)) for topic in plan.topics}
    for topic in sorted(sizes, key=lambda topic: -sizes[topic]):
        if sizes[topic] < 3 * STARTS:
            raise ForagerError(f"topic {topic!r} has {sizes[topic]} pages; at least {3 * STARTS} are needed")
        yield from (Unit(topic, run, sizes[topic]) for run in range(plan.runs))


def _needs(unit: Unit) -> tuple[str, int]:
    return unit.topic, unit.run


def _keys(plan: Plan, content: str, unit: Unit) -> list[Key]:
    parts: list[Course | str] = [*courses(plan, unit)]
    if unit.run == FIRST:
        parts.append(OFFLINE)
    return [key_of(plan, content, unit, part) for part in parts]


def _gathered(plan: Plan, lab: Laboratory, kept: Kept, content: str, units: Sequence[Unit], made: int) -> Study:
    crawls: dict[tuple[str, int, str], Crawled] = {}
    figures: dict[str, Mapping[str, Any]] = {}
    codes: dict[str, int] = {}
    for unit in units:
        for key in _keys(plan, content, unit):
            parts = kept.read(key)
            assert parts is not None, "it has just been made"
            codes[parts["code"]] = codes.get(parts["code"], 0) + 1
            if key["part"] == OFFLINE:
                figures[unit.topic] = parts["figures"]
            else:
                crawls[unit.topic, unit.run, key["part"]] = crawled_of(parts)
    sizes = {unit.topic: unit.pages for unit in units}
    halves = [half_of(lab, plan, run) for run in range(plan.runs)]
    return Study(
        plan,
        lab.web.name,
        {topic: sizes[topic] for topic in plan.topics},
        crawls,
        {topic: figures[topic] for topic in plan.topics},
        halves,
        dict(sorted(codes.items())),
        made,
    )
