"""The plan of the study and its crawls: section 3 of the paper, on the topics of a recorded web.

A topic in a run has one critic, one start and one baseline crawl. All its other crawls come from these, and in the
first run the offline figures too. Each crawl is a part that is kept. The side figures have fewer runs than the table.

    baseline       best-first, 2R pages                                    figs. 4, 5; the source of all instances
    halved         trained on instances with targets in half A, R pages    figs. 10, 11; counted on half B
    whole          trained on all instances, R pages: optimistic           fig. 10
    recall         as halved, within the first R pages of the baseline     fig. 12
    online         never trained beforehand, 2R pages                      section 3.7
    …, steered     the same with other settings, R pages
    switched       the baseline for R/2 pages, then the apprentice, R      figs. 13, 14
    batch-…        online with other batches, 2R pages                     section 3.7
    topics, …      online with further features, R pages                   section 3.8
    halved, …      other apprentices and labels, R/2 pages; online, … the same, R pages

The learner is taught the critic's calibrated relevance, the number that guides the baseline too. The raw scores of
naive Bayes crowd at 0 and 1, and it may give 0 to most pages of a topic; one of the variants shows what such labels do
to the apprentice.
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
from forager_lab.matrix import KEPT
from forager_lab.protocol import STARTS, Trial, strategy_for, topic_trial
from forager_lab.workers import Failed, work
from studies.apprentice import crawls, offline
from studies.apprentice.crawls import CalibratedCritic, CrawledPages, CrawlInstances, crawl, gather, trained, within
from studies.apprentice.offline import offline_figures
from studies.kept_parts import Key, PartsFolder, code_behind

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
STEERED = "online, steered"  # starts from the relevance of the page itself, combines all pages that link to a target
OFFLINE = "offline"  # the part with the offline figures
FIRST = 0  # the run whose instances the offline figures are made of
RAW, CALIBRATED = "raw", "calibrated"  # labels
USUAL_BATCH, BATCHES = 100, (20, 300, 1000)
VARIANTS: Mapping[str, tuple[str, str]] = {  # other apprentices and their labels, tried beforehand and online
    "as printed": ("apprentice", RAW),
    "calibrated": ("apprentice", CALIBRATED),
    "smoothed": ("apprentice:smoothing=proportional:length=30:combine=best", CALIBRATED),
    "plain words": (f"{APPRENTICE}:features=words", CALIBRATED),
    "raw labels": ("", RAW),  # the apprentice of the plan
}
FEATURES: Mapping[str, Mapping[str, object]] = {
    "topics": {"topics": 1},
    "cocitation": {"cocitation": True},
}


@dataclass(frozen=True)
class ApprenticePlan:
    """What is studied, on what."""

    web: str
    topics: tuple[str, ...] = TOPICS
    apprentice: str = APPRENTICE
    critic: str = "naive-bayes"
    runs: int = 5
    side_runs: int = 2  # of the side figures
    large: int = 300  # a topic with more pages leaves time to learn on the way
    instances: int = 20_000  # offline figures are made of at most so many
    splits: int = 3  # of them, into those to learn from and those to test on
    seed: int = 0

    def __post_init__(self) -> None:
        if self.runs < 1 or self.side_runs < 1 or not self.topics:
            raise ForagerError("--runs and --side-runs must be at least 1, and --topics must name at least one")

    def is_large(self, pages: int) -> bool:
        """Whether a topic of so many pages leaves time to learn on the way."""
        return pages > self.large


@dataclass(frozen=True)
class PlannedCrawl:
    """A crawl of the study: what its strategy is, how it is trained, and how far it goes."""

    name: str
    pages: int
    taught: Literal["half", "all"] | None = None  # beforehand: by instances with targets in half A, or by all
    options: Mapping[str, object] = field(default_factory=dict)  # of the apprentice, beyond those of the plan
    watch: int | None = None
    labels: str = CALIBRATED  # what the learner is taught of a page
    spec: str = ""  # of another apprentice than the plan's


@dataclass(frozen=True)
class TopicRun:
    """A topic in a run. One process makes all its crawls."""

    topic: str
    run: int
    pages: int  # of the topic: R

    def __str__(self) -> str:
        return f"{self.topic} · run {self.run}"


def planned_crawls(plan: ApprenticePlan, topic_run: TopicRun) -> list[PlannedCrawl]:
    """The crawls of a topic in a run, the baseline first."""
    size = topic_run.pages
    found = [
        PlannedCrawl(BASELINE, 2 * size),
        PlannedCrawl(HALVED, size, "half"),
        PlannedCrawl(WHOLE, size, "all"),
        PlannedCrawl(ONLINE, 2 * size),
        PlannedCrawl(STEERED, size, spec=STEERED_BY),
    ]
    if topic_run.run >= plan.side_runs:
        return found
    start = max(1, size // 2)
    found.append(PlannedCrawl(RECALL, size, "half"))
    found.append(PlannedCrawl(SWITCHED, size, options={"batch": start, "combine": "best"}, watch=start))
    for name, (spec, labels) in VARIANTS.items():
        found.append(PlannedCrawl(f"{HALVED}, {name}", size // 2, "half", labels=labels, spec=spec))
        found.append(PlannedCrawl(f"{ONLINE}, {name}", size, labels=labels, spec=spec))
    if plan.is_large(size):
        found += [PlannedCrawl(f"batch-{batch}", 2 * size, options={"batch": batch}) for batch in BATCHES]
        found += [PlannedCrawl(name, size, options=options) for name, options in FEATURES.items()]
    return found


# ---- a topic in a run -----------------------------------------------------------------------------------------------


class TopicRunCrawler:
    """Makes the crawls of a topic in a run. What they share is made when it is first needed."""

    def __init__(
        self, plan: ApprenticePlan, topic_run: TopicRun, lab: Laboratory, baseline: CrawledPages | None = None
    ) -> None:
        self.plan, self.topic_run, self.lab = plan, topic_run, lab
        self._baseline = baseline

    @cached_property
    def trial(self) -> Trial:
        """Critic, start and truth."""
        critic = Spec.parse(self.plan.critic)
        return topic_trial(self.lab, self.topic_run.topic, critic, run=self.topic_run.run, seed=self.plan.seed)

    @cached_property
    def baseline(self) -> CrawledPages:
        """The baseline crawl."""
        if self._baseline is not None:
            return self._baseline
        return crawl(self.lab, self.trial, strategy_for(self.lab, self.trial, Spec(BASELINE)), 2 * self.topic_run.pages)

    @cached_property
    def classroom(self) -> Trial:
        """The trial for learners: its raw scores are calibrated."""
        return replace(self.trial, critic=CalibratedCritic(self.trial.critic))

    @cached_property
    def instances(self) -> CrawlInstances:
        """Of the baseline crawl, with calibrated labels."""
        return gather(self.lab, self.classroom, self.baseline.order)

    @cached_property
    def raw_instances(self) -> CrawlInstances:
        """Of the baseline crawl, with raw labels."""
        return gather(self.lab, self.trial, self.baseline.order)

    def of_half(self, instances: CrawlInstances) -> CrawlInstances:
        """Those whose targets are in half A."""
        chosen = half_of(self.lab, self.plan, self.topic_run.run)
        inside = np.array([visit.page.url in chosen for visit in instances.visits], bool)
        return instances.take(inside[instances.targets])

    def crawl(self, planned: PlannedCrawl) -> CrawledPages:
        """Make this crawl."""
        if planned.name == BASELINE:
            return self.baseline
        lab, trial = self.lab, self._trial(planned)
        spec = Spec.parse(planned.spec or self.plan.apprentice)
        chosen = Spec(spec.name, {**spec.options, **planned.options})
        if planned.taught is None:
            return crawl(lab, trial, strategy_for(lab, trial, chosen), planned.pages, watch=planned.watch)
        instances = self.raw_instances if planned.labels == RAW else self.instances
        lesson = self.of_half(instances) if planned.taught == "half" else instances
        return crawl(lab, trial, trained(lab, trial, chosen, lesson), planned.pages)

    def _trial(self, planned: PlannedCrawl) -> Trial:
        taught = self.trial if planned.labels == RAW else self.classroom
        if planned.name != RECALL:
            return taught
        return replace(taught, scope=within(self.lab, [visit.page for visit in self.instances.visits[: planned.pages]]))


def half_of(lab: Laboratory, plan: ApprenticePlan, run: int) -> frozenset[Url]:
    """Half A of a run."""
    return crawls.random_half(list(lab.web.truth.labels), plan.seed, run)


def key_of(plan: ApprenticePlan, content: str, topic_run: TopicRun, part: PlannedCrawl | str) -> Key:
    """All that determines a part. The baseline is the same for any apprentice."""
    known: dict[str, Any] = {
        "web": content, "topic": topic_run.topic, "run": topic_run.run, "critic": plan.critic, "seed": plan.seed,
    }  # fmt: skip
    if isinstance(part, str):
        return {**known, "part": part, "instances": plan.instances, "splits": plan.splits}
    strategy = BASELINE if part.name == BASELINE else str(Spec.parse(part.spec or plan.apprentice))
    return {
        **known, "part": part.name, "pages": part.pages, "taught": part.taught, "options": dict(part.options),
        "watch": part.watch, "labels": part.labels, "strategy": strategy,
    }  # fmt: skip


def make_missing(plan: ApprenticePlan, folder: PartsFolder, content: str, topic_run: TopicRun) -> int:
    """Make all parts of a topic in a run that are missing; returns how many were made."""
    lab, made = laboratory(plan.web), 0
    planned = planned_crawls(plan, topic_run)
    before = folder.read(key_of(plan, content, topic_run, planned[0]))
    crawler = TopicRunCrawler(plan, topic_run, lab, CrawledPages.from_parts(before) if before else None)
    for each in planned:
        key = key_of(plan, content, topic_run, each)
        if folder.read(key) is None:
            folder.write(key, crawler.crawl(each).parts())
            made += 1
    key = key_of(plan, content, topic_run, OFFLINE)
    if topic_run.run == FIRST and folder.read(key) is None:
        classes = crawler.trial.critic.classes
        found = offline_figures(
            crawler.instances, classes, most=plan.instances, seeds=plan.splits, seed=plan.seed
        )  # fmt: skip
        folder.write(key, {"figures": found})
        made += 1
    lab.cache.write()
    return made


# ---- all of them ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ApprenticeStudy:
    """A plan that was carried out."""

    plan: ApprenticePlan
    web: str
    sizes: Mapping[str, int]  # R of each topic
    crawls: Mapping[tuple[str, int, str], CrawledPages]  # by topic, run and name
    offline: Mapping[str, Mapping[str, Any]]  # by topic
    halves: Sequence[frozenset[Url]]  # half A of each run
    codes: Mapping[str, int]  # fingerprints of the code that made the parts, with their number
    made: int  # parts made now


Tell: TypeAlias = Callable[[int, int, str], None]  # topics in runs that are done, of how many, and the last one


def run_apprentice_study(
    plan: ApprenticePlan,
    folder: Path = KEPT,
    *,
    jobs: int = 1,
    fresh: bool = False,
    tell: Tell = lambda done, of, last: None,
) -> ApprenticeStudy:
    """Make the parts that are missing, by so many processes, and put all together.

    `fresh`: parts that other code made are made again.
    """
    if jobs < 1:
        raise ForagerError("--jobs must be at least 1")
    lab, kept = laboratory(plan.web), PartsFolder(folder, code_behind(crawls, offline), fresh=fresh)
    content = web_content(lab.web)
    every = list(_topic_runs(plan, lab))
    todo = [each for each in every if any(kept.read(key) is None for key in _keys(plan, content, each))]
    done, made, failed = len(every) - len(todo), 0, list[str]()
    tell(done, len(every), "")
    for each, outcome in work(todo, partial(make_missing, plan, kept, content), jobs, _needs):
        if isinstance(outcome, Failed):
            failed.append(f"{each} failed: {outcome.why}")
        else:
            made += outcome
        done += 1
        tell(done, len(every), str(each))
    if failed:
        raise ForagerError("; ".join(failed))
    return _gathered(plan, lab, kept, content, every, made)


def _topic_runs(plan: ApprenticePlan, lab: Laboratory) -> Iterator[TopicRun]:
    """Large topics first, so that at the end there is something small for every process."""
    sizes = {topic: len(lab.web.truth.relevant(topic)) for topic in plan.topics}
    for topic in sorted(sizes, key=lambda topic: -sizes[topic]):
        if sizes[topic] < 3 * STARTS:
            raise ForagerError(f"topic {topic!r} has {sizes[topic]} pages; at least {3 * STARTS} are needed")
        yield from (TopicRun(topic, run, sizes[topic]) for run in range(plan.runs))


def _needs(topic_run: TopicRun) -> tuple[str, int]:
    return topic_run.topic, topic_run.run


def _keys(plan: ApprenticePlan, content: str, topic_run: TopicRun) -> list[Key]:
    parts: list[PlannedCrawl | str] = [*planned_crawls(plan, topic_run)]
    if topic_run.run == FIRST:
        parts.append(OFFLINE)
    return [key_of(plan, content, topic_run, part) for part in parts]


def _gathered(
    plan: ApprenticePlan, lab: Laboratory, folder: PartsFolder, content: str, every: Sequence[TopicRun], made: int
) -> ApprenticeStudy:
    found: dict[tuple[str, int, str], CrawledPages] = {}
    figures: dict[str, Mapping[str, Any]] = {}
    codes: dict[str, int] = {}
    for each in every:
        for key in _keys(plan, content, each):
            parts = folder.read(key)
            assert parts is not None, "it has just been made"
            codes[parts["code"]] = codes.get(parts["code"], 0) + 1
            if key["part"] == OFFLINE:
                figures[each.topic] = parts["figures"]
            else:
                found[each.topic, each.run, key["part"]] = CrawledPages.from_parts(parts)
    sizes = {each.topic: each.pages for each in every}
    halves = [half_of(lab, plan, run) for run in range(plan.runs)]
    return ApprenticeStudy(
        plan,
        lab.web.name,
        {topic: sizes[topic] for topic in plan.topics},
        found,
        {topic: figures[topic] for topic in plan.topics},
        halves,
        dict(sorted(codes.items())),
        made,
    )
