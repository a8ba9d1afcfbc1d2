"""The set-ups of the study: which crawls there are, and which baseline each is compared with.

A *set-up* is an apprentice and the labels that it is taught. Its baseline has the same policy (what becomes of a link
that is found again) and goes by the same scores: with raw labels both sides see the critic's raw scores only, with
calibrated ones the calibrated only. Every crawl is compared at R/4, R/2 and R pages, by truth and by the critic.

    best-first …   a baseline, 2R pages                                    figs. 4, 5; the source of the instances
    halved         trained on instances with targets in half A, R pages    figs. 10, 11; counted on half B
    whole          trained on all instances, R pages: optimistic           fig. 10
    recall         as halved, within the first R pages of the baseline     fig. 12
    online         never trained beforehand, R pages                       section 3.7
    …, steered     the same with other settings, R pages
    switched       the baseline for R/2 pages, then the apprentice, R      figs. 13, 14
    batch-…        online with other batches, R pages                      section 3.7
    topics, …      online with further features, R pages                   section 3.8
    halved, …      other set-ups, R pages; online, … the same
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from forager.errors import ForagerError
from forager.registry import Spec
from forager.strategies.apprentice.strategy import DEFAULTS

Labels: TypeAlias = Literal["raw", "calibrated"]

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
HALVED, WHOLE, RECALL, ONLINE, SWITCHED = "halved", "whole", "recall", "online", "switched"
STEERED = "online, steered"  # starts from the relevance of the page itself, combines all pages that link to a target
RAW: Labels = "raw"
CALIBRATED: Labels = "calibrated"
BASELINE = "best-first"  # with the best of the pages that link to a target, and calibrated scores
USUAL_BATCH, BATCHES = 100, (20, 300, 1000)
FEATURES: Mapping[str, Mapping[str, object]] = {
    "topics": {"topics": 1},
    "cocitation": {"cocitation": True},
}


@dataclass(frozen=True)
class SetUp:
    """An apprentice and its labels."""

    spec: str
    labels: Labels = CALIBRATED

    @property
    def policy(self) -> str:
        """What becomes of a link that is found again."""
        spec = Spec.parse(self.spec)
        usual = DEFAULTS[spec.options.get("form", "printed")].combine if spec.name == "apprentice" else "best"  # type: ignore[index]
        return str(spec.options.get("combine", usual))

    @property
    def baseline(self) -> str:
        """The name of the baseline with the same policy and the same scores."""
        return baseline_name(self.policy, self.labels)


def baseline_name(policy: str, labels: Labels) -> str:
    """The usual baseline has the plain name."""
    told = ([policy] if policy != "best" else []) + ([labels] if labels != CALIBRATED else [])
    return ", ".join([BASELINE, *told])


VARIANTS: Mapping[str, SetUp] = {  # other set-ups, tried beforehand and online; "": the apprentice of the plan
    "printed, first, raw": SetUp("apprentice:combine=first", RAW),
    "printed, best, raw": SetUp("apprentice:combine=best", RAW),
    "printed, first": SetUp("apprentice:combine=first"),
    "printed, best": SetUp("apprentice:combine=best"),
    "smoothed": SetUp("apprentice:smoothing=proportional:length=30:combine=best"),
    "plain words": SetUp(f"{APPRENTICE}:features=words"),
    "logistic, raw": SetUp(APPRENTICE, RAW),
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

    def set_up(self, name: str) -> SetUp:
        """The set-up of the crawl of this name."""
        if name == STEERED:
            return SetUp(STEERED_BY)
        return VARIANTS.get(name.partition(", ")[2], SetUp(self.apprentice))

    def baseline_of(self, name: str) -> str:
        """The name of the baseline with which the crawl of this name is compared."""
        return self.set_up(name).baseline


@dataclass(frozen=True)
class PlannedCrawl:
    """A crawl of the study: what its strategy is, how it is trained, and how far it goes."""

    name: str
    pages: int
    set_up: SetUp
    taught: Literal["half", "all"] | None = None  # beforehand: by instances with targets in half A, or by all
    options: Mapping[str, object] = field(default_factory=dict)  # of the strategy, beyond those of the set-up
    watch: int | None = None

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
    """The crawls of a topic in a run, each baseline once and before all others, the usual one first."""
    found = _main_crawls(plan, topic_run.pages)
    if topic_run.run < plan.side_runs:
        found += _side_crawls(plan, topic_run.pages)
    wanted = {each.set_up.baseline: each.set_up for each in found}
    theirs = {BASELINE: SetUp(f"{BASELINE}:combine=best")} | {
        name: SetUp(f"{BASELINE}:combine={set_up.policy}", set_up.labels) for name, set_up in wanted.items()
    }
    return [*(PlannedCrawl(name, 2 * topic_run.pages, set_up) for name, set_up in theirs.items()), *found]


def _main_crawls(plan: ApprenticePlan, size: int) -> list[PlannedCrawl]:
    usual = plan.set_up(ONLINE)
    return [
        PlannedCrawl(HALVED, size, usual, "half"),
        PlannedCrawl(WHOLE, size, usual, "all"),
        PlannedCrawl(ONLINE, size, usual),
        PlannedCrawl(STEERED, size, plan.set_up(STEERED)),
    ]


def _side_crawls(plan: ApprenticePlan, size: int) -> list[PlannedCrawl]:
    usual, start = plan.set_up(ONLINE), max(1, size // 2)
    found = [
        PlannedCrawl(RECALL, size, usual, "half"),
        PlannedCrawl(SWITCHED, size, usual, options={"batch": start}, watch=start),
    ]
    for name, set_up in VARIANTS.items():
        found.append(PlannedCrawl(f"{HALVED}, {name}", size, set_up, "half"))
        found.append(PlannedCrawl(f"{ONLINE}, {name}", size, set_up))
    if plan.is_large(size):
        found += [PlannedCrawl(f"batch-{batch}", size, usual, options={"batch": batch}) for batch in BATCHES]
        found += [PlannedCrawl(name, size, usual, options=options) for name, options in FEATURES.items()]
    return found
