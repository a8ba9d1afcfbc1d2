"""How a strategy is tried on a web whose truth is known. A learner never sees a label it was not trained on.

Topic webs: the critic learns 40 random pages of the topic (a third if there are fewer than 120) and 600 random others;
the crawl starts from 3 of those 40 and fetches 2R pages, R being the number of pages of the topic.
Path webs: the critic learns all pages of the other groups; the crawl starts from the seeds of the group left out, stays
out of the others, and goes on to the end.
Halved: what is taught beforehand on the web it will crawl learns on a *ground* without half of the pages of the topic;
the other half, from which the critic's examples come too, counts as trained, so that what a crawl finds "without the
training pages" is what nobody was shown. In path webs the ground is the other groups.
Far: a halved crawl starts from 3 pages of the ground's outermost layer, as far from the topic as there are any.
Truth is the label, never the critic. The crawl is the shipping loop: virtual clock, one fetch in flight, delay 0.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, StopConfig
from forager.crawl.loop import Crawl
from forager.critics import make_critic
from forager.errors import ForagerError
from forager.learn.focus import below
from forager.learn.tfidf import Idf, Query, Targets
from forager.paths import Ground, Teachable, hop_layers
from forager.registry import Spec
from forager.strategies import make_strategy
from forager.types import Critic, Mask, Ragged, Strategy, Url
from forager.web.scope import Scope
from forager_lab.laboratory import Laboratory
from forager_lab.likeness import likeness
from forager_lab.oracles import LAB_STRATEGIES

POSITIVES, OTHERS, STARTS = 40, 600, 3
OTHER = "other"
NO_TERMS = np.empty(0, np.uint32)


@dataclass(frozen=True)
class Teaching:
    """What a strategy may be taught on before the crawl."""

    pages: tuple[Url, ...]
    targets: frozenset[Url]
    labels: Mapping[Url, str]  # of pages that are no targets

    def ground(self, lab: Laboratory) -> Ground:
        return Ground.of(
            ((url, lab.graph.links(url)) for url in self.pages),
            self.targets,
            lab.pages,
            labels=self.labels,
            final=lab.web.final,
        )


@dataclass(frozen=True)
class Trial:
    """Everything about one crawl but the strategy."""

    focus: str
    seeds: Sequence[Url]
    relevant: frozenset[Url]  # by truth
    trained: frozenset[Url]  # what the critic has seen
    critic: Critic
    query: Query  # the words of the topic and of the examples the critic has seen
    targets: Targets  # those examples
    scope: Scope
    pages: int | None  # to fetch; None: all there are
    seed: int
    teaching: Teaching | None = None  # None: nothing may be taught, because all that there is will be crawled


@dataclass(frozen=True)
class Record:
    """What a crawl fetched, page by page, and what it cost."""

    relevant: Mask  # by truth
    trained: Mask  # the critic had seen it
    expected: NDArray[np.float32]  # by the critic
    order: tuple[Url, ...]
    requests: int
    misses: dict[str, int]
    seconds: float  # of the crawl alone
    labels: tuple[str, ...]  # of each page by truth, several separated by commas
    similarity: NDArray[np.float32]  # of each page to the example it is most like
    toward: NDArray[np.float64]  # for each example the mean over the pages of their similarity to it


def topic_trial(
    lab: Laboratory,
    topic: str,
    critic: Spec,
    *,
    run: int,
    seed: int,
    pages: int | None = None,
    halved: bool = False,
    far: bool = False,
) -> Trial:
    relevant = lab.web.truth.relevant(topic)
    wanted = frozenset(relevant)
    others = [url for url in lab.web.truth.labels if url not in wanted]
    draw = np.random.default_rng([seed, run])
    count = POSITIVES if len(relevant) >= 3 * POSITIVES else len(relevant) // 3
    budget = 2 * len(relevant) if pages is None else pages
    if count < STARTS:
        raise ForagerError(
            f"topic {topic!r} has {len(relevant)} pages; at least {3 * STARTS} are needed to learn and to find"
        )
    teaching = None
    if halved:
        relevant = [relevant[i] for i in sorted(draw.permutation(len(relevant))[: (len(relevant) + 1) // 2])]
        met = frozenset(relevant)
        teaching = Teaching(tuple(url for url in lab.web.truth.labels if url in met or url not in wanted), met, {})
    positives = [relevant[i] for i in draw.choice(len(relevant), count, replace=False)]
    negatives = [others[i] for i in draw.choice(len(others), min(OTHERS, len(others)), replace=False)]
    starts = [positives[i] for i in draw.choice(count, STARTS, replace=False)]
    labels = [topic] * len(positives) + [OTHER] * len(negatives)
    sample = [*positives, *negatives]
    made, query, targets = _learnt(lab, critic, sample, labels, topic, seed + run)
    if far:
        starts = _outermost(lab, teaching, draw)
    trained = frozenset(sample).union(teaching.targets if teaching else ())
    return Trial(topic, starts, wanted, trained, made, query, targets, Scope(), budget, seed + run, teaching)


def _outermost(lab: Laboratory, teaching: Teaching | None, draw: np.random.Generator) -> list[Url]:
    if teaching is None:
        raise ForagerError("--far starts from the outermost layer of what is taught on: give --halved too")
    ground = teaching.ground(lab)
    layer = hop_layers(ground.graph, ground.targets)
    pages = np.flatnonzero(layer == layer.max())
    return [ground.urls[page] for page in draw.choice(pages, min(STARTS, len(pages)), replace=False)]


def path_trial(
    lab: Laboratory,
    target: str,
    column: str,
    group: str,
    critic: Spec,
    *,
    run: int,
    seed: int,
    pages: int | None = None,
) -> Trial:
    groups = lab.web.groups(column)
    outside = [url for url, name in groups.items() if name != group]
    labels = [(lab.web.truth.labels[url] or (OTHER,))[0] for url in outside]
    made, query, targets = _learnt(lab, critic, outside, labels, target, seed + run)
    wanted, barred = reachable_targets(lab, target, column, group), frozenset(outside)
    scope = Scope(barred=barred)
    met = frozenset(url for url, label in zip(outside, labels, strict=True) if below(label, target))
    milestones = {url: label for url, label in zip(outside, labels, strict=True) if url not in met and label != OTHER}
    teaching = Teaching(tuple(outside), met, milestones)
    seeds = lab.web.seeds(group)
    return Trial(target, seeds, wanted, barred, made, query, targets, scope, pages, seed + run, teaching)


def reachable_targets(lab: Laboratory, target: str, column: str, group: str) -> frozenset[Url]:
    """The pages of a label that can be reached from the group's seeds without leaving it."""
    inside = {url for url, name in lab.web.groups(column).items() if name == group}
    return frozenset(lab.web.truth.relevant(target)) & lab.graph.reachable(lab.web.seeds(group), inside)


def left_out(lab: Laboratory, column: str) -> list[str]:
    """The groups that are crawled in turn: those entered by a single page."""
    names = dict.fromkeys(lab.web.groups(column).values())
    found = [name for name in names if len(lab.web.seeds(name)) == 1]
    if not found:
        raise ForagerError(f"no group of column {column!r} has a seed of its own in seeds.tsv (columns url, {column})")
    return found


def _learnt(
    lab: Laboratory, spec: Spec, urls: Sequence[Url], labels: Sequence[str], focus: str, seed: int
) -> tuple[Critic, Query, Targets]:
    """What can be known of a topic from a sample with labels."""
    critic = make_critic(spec.name, {"focus": [focus], "seed": seed}, spec.options)
    pairs = [(page, label) for page, label in zip(lab.pages(urls), labels, strict=True) if page is not None]
    critic.fit((page for page, _ in pairs), (label for _, label in pairs))
    idf = Idf.of(page.terms.values for page, _ in pairs)
    examples = [page for page, label in pairs if below(label, focus)]
    targets = Targets(Ragged.of([page.terms.values for page in examples]), idf)
    return critic, Query.of([focus.replace(".", " ")], examples, idf), targets


def strategy_for(lab: Laboratory, trial: Trial, spec: Spec) -> Strategy:
    """A strategy as the trial makes it; only the laboratory's own ones are told the truth. Not yet taught."""
    given: dict[str, object] = {
        "seed": trial.seed,
        "critic": trial.critic,
        "classes": trial.critic.classes,
        "focus": [trial.focus],
        "query": trial.query,
    }
    if spec.name in LAB_STRATEGIES:
        given |= {"relevant": trial.relevant, "final": lab.web.final, "graph": lab.graph}
    made = make_strategy(spec.name, given, spec.options, LAB_STRATEGIES)
    if isinstance(made, Teachable) and trial.teaching is None:
        raise ForagerError(
            f"strategy {spec.name!r} is taught beforehand, on the web it will crawl: leave half of the topic for the "
            "test with --halved"
        )
    return made


def taught_for(lab: Laboratory, trial: Trial, spec: Spec) -> Strategy:
    """The same, ready to crawl."""
    made = strategy_for(lab, trial, spec)
    if isinstance(made, Teachable) and trial.teaching is not None:
        return cast(Strategy, made.taught(trial.teaching.ground(lab)))
    return made


def crawl_trial(lab: Laboratory, trial: Trial, spec: Spec) -> Record:
    """Crawl once with a strategy."""
    config = CrawlConfig(
        seeds=tuple(trial.seeds), frontier=FrontierConfig(delay=0), stop=StopConfig(pages=trial.pages), seed=trial.seed
    )
    crawl = Crawl(
        config,
        critic=trial.critic,
        strategy=taught_for(lab, trial, spec),
        fetcher=lab.web.fetcher,
        scope=trial.scope,
        clock=VirtualClock(),
        read=lab.cache.read,
    )
    start = time.perf_counter()
    visits = [(visit.page.url, visit.judgement.relevance) for visit in crawl]
    seconds = time.perf_counter() - start
    order = tuple(url for url, _ in visits)
    alike = likeness((page.terms.values if page else NO_TERMS for page in lab.pages(order)), trial.targets)
    return Record(
        relevant=np.array([url in trial.relevant for url in order], bool),
        trained=np.array([url in trial.trained for url in order], bool),
        expected=np.array([relevance for _, relevance in visits], np.float32),
        order=order,
        requests=crawl.stats.requests,
        misses={str(reason): count for reason, count in crawl.stats.misses.items()},
        seconds=seconds,
        labels=tuple(",".join(lab.web.truth.labels.get(url, ())) for url in order),
        similarity=alike.similarity,
        toward=alike.toward,
    )
