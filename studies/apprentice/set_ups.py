"""The set-ups of the study: which crawls there are, and which baseline each is compared with.

A *set-up* is an apprentice, the labels that it is taught, and the critic. Its baseline has the same policy (what
becomes of a link that is found again) and goes by the same scores: with raw labels both sides see the critic's raw
scores only, with calibrated ones the calibrated only. Every crawl is compared at R/4, R/2 and R pages, by truth and by
the critic.

The critic has *two* classes, the topic and the rest; or those of the web's *taxonomy*; or two, and beside them the
*layers* of a context graph, which do not change what is relevant (critics.py).

    best-first …   a baseline, 2R pages                                    figs. 4, 5; the source of the instances
    halved …       trained on instances with targets in half A, R pages    figs. 10, 11; counted on half B
    whole          trained on all instances, R pages: optimistic           fig. 10
    recall …       as halved, within the first R pages of the baseline     fig. 12
    online …       never trained beforehand, R pages                       section 3.7
    switched …     the baseline for R/2 pages, then the apprentice, R      figs. 13, 14
    primed …       begins with what it learnt in an earlier crawl, and goes on learning, R pages; section 2.2

The name of a crawl says how it is made, and after a comma the set-up, if that is not the apprentice of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from forager.errors import ForagerError
from forager.registry import Spec
from forager.strategies.apprentice.strategy import DEFAULTS

Labels: TypeAlias = Literal["raw", "calibrated"]
CriticKind: TypeAlias = Literal["two", "taxonomy", "layers"]
Lesson: TypeAlias = Literal["half", "all", "another topic"]

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
APPRENTICE = "apprentice:learner=logistic:combine=best"
STEERED_BY = "apprentice:trust=1:smoothing=proportional:length=15:combine=noisy-or:batch=25"
RAW: Labels = "raw"
CALIBRATED: Labels = "calibrated"
BASELINE = "best-first"  # with the best of the pages that link to a target, and calibrated scores
HALVED, WHOLE, RECALL, ONLINE, SWITCHED = "halved", "whole", "recall", "online", "switched"
PRIMED, PRIMED_ELSEWHERE = "primed", "primed elsewhere"  # by half A of an earlier crawl; by a crawl of another topic
LESSONS: Mapping[str, Lesson | None] = {
    **dict.fromkeys((HALVED, RECALL, PRIMED), "half"),
    WHOLE: "all",
    PRIMED_ELSEWHERE: "another topic",
    ONLINE: None,
}
GRAPH = "context-graph"  # the context graph alone, taught on half A
STEERED = f"{ONLINE}, steered"  # starts from the relevance of the page itself, combines all pages that link to a target
SUM_BY = "apprentice:form=sum"
SUMMED = f"{ONLINE}, sum"  # the sum of all that is known beforehand and of what is learnt
USUAL_BATCH, BATCHES = 100, (20, 300, 1000)
FIRST_RAW, BEST_RAW = "printed, first", "printed, best"  # the apprentice as the paper prints it
VECTOR, LAYERS = "vector", "layers"
TAXONOMY = "taxonomy"


@dataclass(frozen=True)
class SetUp:
    """An apprentice, its labels, and the critic."""

    spec: str
    labels: Labels = CALIBRATED
    critic: CriticKind = "two"

    @property
    def policy(self) -> str:
        """What becomes of a link that is found again."""
        spec = Spec.parse(self.spec)
        usual = DEFAULTS[spec.options.get("form", "printed")].combine if spec.name == "apprentice" else "best"  # type: ignore[index]
        return str(spec.options.get("combine", usual))

    @property
    def baseline(self) -> str:
        """The name of the baseline with the same policy and the same scores."""
        told = [self.policy] if self.policy != "best" else []
        told += [self.labels] if self.labels != CALIBRATED else []
        told += [TAXONOMY] if self.critic == "taxonomy" else []
        return ", ".join([BASELINE, *told])

    @property
    def of_baseline(self) -> SetUp:
        critic: CriticKind = "taxonomy" if self.critic == "taxonomy" else "two"
        return SetUp(f"{BASELINE}:combine={self.policy}", self.labels, critic)


PRINTED = {  # nothing of them was chosen here
    BEST_RAW: SetUp("apprentice:combine=best", RAW),
    FIRST_RAW: SetUp("apprentice:combine=first", RAW),
}


def variants(ours: str) -> dict[str, SetUp]:
    """Other learners, labels and windows, tried beforehand and online; `ours` is the apprentice of the plan."""
    return {
        "printed, best, calibrated": SetUp("apprentice:combine=best"),
        "smoothed": SetUp("apprentice:smoothing=proportional:length=30:combine=best"),
        "plain words": SetUp(f"{ours}:features=words"),
        "raw": SetUp(ours, RAW),
        "window chosen": SetUp("apprentice:combine=best:choose_window=true:d_max=8", RAW),
        "spread over d": SetUp("apprentice:combine=best:spread=0.5", RAW),
    }


def further(ours: str) -> dict[str, SetUp]:
    """Batches and further features, on topics that leave time to learn on the way."""
    classes: tuple[tuple[str, CriticKind], ...] = (("", "two"), (f"{TAXONOMY}, ", "taxonomy"))
    return {
        **{f"batch {batch}": SetUp(f"{ours}:batch={batch}") for batch in BATCHES},
        "cocitation": SetUp(f"{ours}:cocitation=true"),
        TAXONOMY: SetUp(ours, critic="taxonomy"),
        **{f"{before}topics": SetUp(f"{ours}:topics=1", critic=critic) for before, critic in classes},
        **{f"{before}{VECTOR}": SetUp(f"{ours}:vector=true", critic=critic) for before, critic in classes},
        LAYERS: SetUp(f"{ours}:vector=true", critic="layers"),
    }


@dataclass(frozen=True)
class ApprenticePlan:
    """What is studied, on what."""

    web: str
    topics: tuple[str, ...] = TOPICS
    apprentice: str = APPRENTICE
    critic: str = "naive-bayes"
    runs: int = 5
    side_runs: int = 5  # of the side figures
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

    def other_topic(self, topic: str) -> str:
        """The topic whose crawl is the earlier one where an apprentice begins with what it learnt elsewhere."""
        return self.topics[(self.topics.index(topic) + 1) % len(self.topics)]

    @cached_property
    def set_ups(self) -> dict[str, SetUp]:
        """All of them by name; the apprentice of the plan has none."""
        ours = self.apprentice
        own = {"": SetUp(ours), "steered": SetUp(STEERED_BY), "sum": SetUp(SUM_BY)}
        return {**own, **PRINTED, **variants(ours), **further(ours)}

    def set_up(self, name: str) -> SetUp:
        """The set-up of the crawl of this name."""
        return self.set_ups[name.partition(", ")[2]]

    def baseline_of(self, name: str) -> str:
        """The name of the baseline with which the crawl of this name is compared."""
        return self.set_up(name).baseline


@dataclass(frozen=True)
class PlannedCrawl:
    """A crawl of the study: what its strategy is, how it is trained, and how far it goes."""

    name: str
    pages: int
    set_up: SetUp
    taught: Lesson | None = None  # beforehand: by instances with targets in half A, by all, or in another topic's crawl
    learns_on: bool = False  # after it was taught
    options: Mapping[str, object] = field(default_factory=dict)  # of the strategy, beyond those of the set-up
    watch: int | None = None
    recalls: bool = False  # stays within the first pages of the baseline

    @property
    def strategy(self) -> Spec:
        spec = Spec.parse(self.set_up.spec)
        return Spec(spec.name, {**spec.options, **self.options})


@dataclass(frozen=True)
class TopicRun:
    """A topic in a run. One process makes all its crawls."""

    topic: str
    run: int
    pages: int  # of the topic: R

    def __str__(self) -> str:
        return f"{self.topic} · run {self.run}"


def planned_crawls(plan: ApprenticePlan, topic_run: TopicRun) -> list[PlannedCrawl]:
    """The crawls of a topic in a run: those of a baseline together, the baseline first; the usual baseline first."""
    found = _main_crawls(plan, topic_run.pages)
    if topic_run.run < plan.side_runs:
        found += _side_crawls(plan, topic_run.pages)
    wanted = {BASELINE: SetUp(BASELINE)} | {each.set_up.baseline: each.set_up for each in found}
    ordered = []
    for name, set_up in wanted.items():
        theirs = sorted((each for each in found if each.set_up.baseline == name), key=lambda each: each.set_up.critic)
        taught = name == BASELINE or any(each.taught for each in theirs)
        reach = (2 if taught else 1) * topic_run.pages
        ordered += [PlannedCrawl(name, reach, set_up.of_baseline), *theirs]
    return ordered


def _crawl(plan: ApprenticePlan, how: str, size: int, of: str = "") -> PlannedCrawl:
    """A crawl of a kind, with a set-up given by its name."""
    name, set_up, start = f"{how}, {of}" if of else how, plan.set_ups[of], max(1, size // 2)
    if how == SWITCHED:
        return PlannedCrawl(name, size, set_up, options={"batch": start}, watch=start)
    return PlannedCrawl(
        name, size, set_up, LESSONS[how], learns_on=how in (PRIMED, PRIMED_ELSEWHERE), recalls=how == RECALL
    )


def _main_crawls(plan: ApprenticePlan, size: int) -> list[PlannedCrawl]:
    wanted = [(how, of) for of in ("", *PRINTED) for how in (HALVED, ONLINE)]
    wanted += [(WHOLE, ""), (ONLINE, "steered"), (ONLINE, "sum")]
    return [_crawl(plan, how, size, of) for how, of in wanted]


def _side_crawls(plan: ApprenticePlan, size: int) -> list[PlannedCrawl]:
    ours = plan.apprentice
    wanted = [(how, of) for of in ("", BEST_RAW) for how in (RECALL, SWITCHED)]
    wanted += [(how, of) for of in variants(ours) for how in (HALVED, ONLINE)]
    if plan.is_large(size):
        wanted += [(ONLINE, of) for of in further(ours) if of != LAYERS]
        wanted += [(HALVED, of) for of in (VECTOR, LAYERS, TAXONOMY, f"{TAXONOMY}, {VECTOR}")]
        wanted += [(PRIMED, "")] + [(PRIMED_ELSEWHERE, "")] * (len(plan.topics) > 1)
    found = [_crawl(plan, how, size, of) for how, of in wanted]
    if plan.is_large(size):
        found.append(PlannedCrawl(GRAPH, size, SetUp(GRAPH), "half"))
    return found
