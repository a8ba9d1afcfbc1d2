"""The run of the study: section 3 of the paper, on the topics of a recorded web.

A topic in a run has one critic and one start. It has a baseline crawl for each policy and kind of label (set_ups.py);
all its other crawls come from these, and in the first run the offline figures too. Each crawl is a part that is kept.
The side figures have fewer runs than the table.

The learner is taught the score that guides its baseline too: the critic's calibrated relevance, or in the set-ups with
raw labels the raw one. The raw scores of naive Bayes crowd at 0 and 1, and it may give 0 to most pages of a topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.registry import Spec
from forager.strategies.context_graph import ContextGraph
from forager.types import Strategy, Url
from forager_lab.cells import web_content
from forager_lab.experiment import laboratory
from forager_lab.laboratory import Laboratory
from forager_lab.matrix import KEPT
from forager_lab.protocol import STARTS, Trial, strategy_for, topic_trial
from forager_lab.workers import Failed, work
from studies.apprentice import crawls, critics, offline, offline_features
from studies.apprentice.crawls import (
    CrawledPages,
    CrawlInstances,
    FrozenStrategy,
    OneScoreCritic,
    crawl,
    gather,
    primed,
    taught_by,
    within,
)
from studies.apprentice.critics import LayeredCritic, class_sample, taught_graph, taxonomy_trial
from studies.apprentice.offline import offline_figures
from studies.apprentice.offline_features import feature_figures
from studies.apprentice.set_ups import (
    BASELINE,
    FIRST_RAW,
    GRAPH,
    PRINTED,
    ApprenticePlan,
    CriticKind,
    PlannedCrawl,
    SetUp,
    TopicRun,
    planned_crawls,
)
from studies.kept_parts import Key, PartsFolder, code_behind

OFFLINE = "offline"  # the part with the offline figures
FIRST = 0  # the run whose instances the offline figures are made of
RULES = 3  # raised when the same plan means other crawls: parts made by earlier rules are not used


# ---- a topic in a run -----------------------------------------------------------------------------------------------


class TopicRunCrawler:
    """Makes the crawls of a topic in a run. What they share is made when it is first needed."""

    def __init__(
        self, plan: ApprenticePlan, topic_run: TopicRun, lab: Laboratory, baselines: Mapping[str, CrawledPages]
    ) -> None:
        self.plan, self.topic_run, self.lab = plan, topic_run, lab
        self.baselines = dict(baselines)  # by name; those that are made are added
        self._instances: dict[tuple[str, CriticKind], CrawlInstances] = {}  # those asked for last: they are large

    # ---- critics

    @cached_property
    def trial(self) -> Trial:
        """Start, truth, and the critic with two classes."""
        return topic_trial(
            self.lab, self.topic_run.topic, self._critic, run=self.topic_run.run, seed=self.plan.seed
        )  # fmt: skip

    @property
    def _critic(self) -> Spec:
        return Spec.parse(self.plan.critic)

    @cached_property
    def _of_classes(self) -> dict[Url, str]:
        """The pages that the critic with many classes learns from."""
        return class_sample(self.lab, self.topic_run.topic, self.plan.seed + self.topic_run.run)

    @cached_property
    def _taxonomy(self) -> Trial:
        return taxonomy_trial(self.lab, self.trial, self._critic, self._of_classes)

    @cached_property
    def graph(self) -> ContextGraph:
        """Taught on half A."""
        return taught_graph(self.lab, self.trial, self._half)

    @cached_property
    def sampled(self) -> frozenset[Url]:
        """All pages that one of the critics learns from."""
        return self.trial.trained.union(self._of_classes)

    @cached_property
    def _half(self) -> frozenset[Url]:
        return half_of(self.lab, self.plan, self.topic_run.run)

    def classroom(self, set_up: SetUp) -> Trial:
        """The trial with one score only, the raw or the calibrated one: crawls go by it, learners are taught it."""
        trial = self._taxonomy if set_up.critic == "taxonomy" else self.trial
        if set_up.critic == "layers":
            return replace(trial, critic=LayeredCritic(trial.critic, set_up.labels, self.graph))
        return replace(trial, critic=OneScoreCritic(trial.critic, set_up.labels))

    # ---- instances

    def instances(self, set_up: SetUp) -> CrawlInstances:
        """Of the baseline of a set-up, with its labels."""
        kind = set_up.baseline, set_up.critic
        if kind not in self._instances:
            order = self.baselines[set_up.baseline].order
            self._instances = {kind: gather(self.lab, self.classroom(set_up), order)}
        return self._instances[kind]

    def of_half(self, instances: CrawlInstances) -> CrawlInstances:
        """Those whose targets are in half A."""
        inside = np.array([visit.page.url in self._half for visit in instances.visits], bool)
        return instances.take(inside[instances.targets])

    # ---- crawls

    def crawl(self, planned: PlannedCrawl) -> CrawledPages:
        """Make this crawl."""
        trial, strategy = self._trial(planned), self._strategy(planned)
        found = crawl(self.lab, trial, strategy, planned.pages, watch=planned.watch, sampled=self.sampled)
        if planned.strategy.name == BASELINE:
            self.baselines[planned.name] = found
        return found

    def _strategy(self, planned: PlannedCrawl) -> Strategy:
        lab, trial, spec = self.lab, self.classroom(planned.set_up), planned.strategy
        if spec.name == GRAPH:
            return self.graph
        if planned.taught is None:
            return strategy_for(lab, trial, spec)
        taught = self._elsewhere(planned) if planned.taught == "another topic" else self._taught(planned)
        return primed(lab, trial, spec, taught) if planned.learns_on else FrozenStrategy(taught)

    def _taught(self, planned: PlannedCrawl) -> Strategy:
        """By the instances of the baseline."""
        instances = self.instances(planned.set_up)
        lesson = self.of_half(instances) if planned.taught == "half" else instances
        return taught_by(self.lab, self.classroom(planned.set_up), planned.strategy, lesson)

    def _elsewhere(self, planned: PlannedCrawl) -> Strategy:
        """By a crawl of another topic, with a critic for that one, as far as that topic has pages."""
        topic = self.plan.other_topic(self.topic_run.topic)
        size = len(self.lab.web.truth.relevant(topic))
        there = TopicRunCrawler(self.plan, TopicRun(topic, self.topic_run.run, size), self.lab, {})
        trial = there.classroom(planned.set_up)
        learner = strategy_for(self.lab, trial, planned.strategy)
        crawl(self.lab, trial, learner, size)
        return learner

    def _trial(self, planned: PlannedCrawl) -> Trial:
        if planned.strategy.name == BASELINE and planned.set_up == SetUp(BASELINE).of_baseline:
            return self.trial  # it is taught nothing; so its record has both scores
        trial = self.classroom(planned.set_up)
        if not planned.recalls:
            return trial
        visits = self.instances(planned.set_up).visits[: planned.pages]
        return replace(trial, scope=within(self.lab, [visit.page for visit in visits]))


def half_of(lab: Laboratory, plan: ApprenticePlan, run: int) -> frozenset[Url]:
    """Half A of a run."""
    return crawls.random_half(list(lab.web.truth.labels), plan.seed, run)


def key_of(plan: ApprenticePlan, content: str, topic_run: TopicRun, part: PlannedCrawl | str) -> Key:
    """All that determines a part. A baseline is the same for any apprentice."""
    known: dict[str, Any] = {
        "web": content, "topic": topic_run.topic, "run": topic_run.run, "critic": plan.critic, "seed": plan.seed,
        "rules": RULES,
    }  # fmt: skip
    if isinstance(part, str):
        return {**known, "part": part, "instances": plan.instances, "splits": plan.splits}
    return {
        **known, "part": part.name, "pages": part.pages, "taught": part.taught, "strategy": str(part.strategy),
        "watch": part.watch, "labels": part.set_up.labels, "classes": part.set_up.critic, "learns_on": part.learns_on,
        "elsewhere": plan.other_topic(topic_run.topic) if part.taught == "another topic" else None,
    }  # fmt: skip


def make_missing(plan: ApprenticePlan, folder: PartsFolder, content: str, topic_run: TopicRun) -> int:
    """Make all parts of a topic in a run that are missing; returns how many were made."""
    lab, made = laboratory(plan.web), 0
    crawler = TopicRunCrawler(plan, topic_run, lab, {})
    for each in planned_crawls(plan, topic_run):
        key = key_of(plan, content, topic_run, each)
        kept = folder.read(key)
        if kept is None:
            folder.write(key, crawler.crawl(each).parts())
            made += 1
        elif each.strategy.name == BASELINE:
            crawler.baselines[each.name] = CrawledPages.from_parts(kept)
    key = key_of(plan, content, topic_run, OFFLINE)
    if topic_run.run == FIRST and folder.read(key) is None:
        folder.write(key, {"figures": _offline(plan, crawler)})
        made += 1
    lab.cache.write()
    return made


def _offline(plan: ApprenticePlan, crawler: TopicRunCrawler) -> Mapping[str, Any]:
    """As printed, and with calibrated labels."""
    kinds = {"raw": PRINTED[FIRST_RAW], "calibrated": SetUp(BASELINE)}
    return {name: _offline_with(plan, crawler, set_up) for name, set_up in kinds.items()}


def _offline_with(plan: ApprenticePlan, crawler: TopicRunCrawler, set_up: SetUp) -> Mapping[str, Any]:
    """Of the pages of a baseline: figures 6 to 9, and what further features add, also with a critic of many classes."""
    usual: dict[str, int] = {"most": plan.instances, "seeds": plan.splits, "seed": plan.seed}
    instances = crawler.instances(set_up)
    two = feature_figures(instances, crawler.trial.critic.classes, crawler.sampled, **usual)
    room = crawler.classroom(replace(set_up, critic="taxonomy"))
    many = gather(crawler.lab, room, crawler.baselines[set_up.baseline].order)
    taxonomy = feature_figures(many, room.critic.classes, crawler.sampled, **usual)
    return {**offline_figures(instances, **usual), "features": {"two": two, "taxonomy": taxonomy}}


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
    lab, code = laboratory(plan.web), code_behind(crawls, critics, offline, offline_features)
    kept = PartsFolder(folder, code, fresh=fresh)
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
