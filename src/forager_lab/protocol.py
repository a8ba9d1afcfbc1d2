"""The rules of a trial: what the critic learns from, where a crawl starts, which pages count.

Topic protocol: the critic learns from 40 random pages of the topic (a third of them if there are fewer than 120) and
600 random others. The crawl starts from 3 of the 40 and fetches 2R pages; R is the number of pages of the topic.
Path protocol: the pages are in groups, and each group is left out in turn. The critic learns from all pages of the
other groups. The crawl starts from the seeds of the group left out, does not leave the group, and goes on to the end.
Halved: some strategies are taught before the crawl, on the web that they will crawl. They are taught on a *ground* that
has only one half of the pages of the topic. The critic's examples come from the same half, and the whole half counts as
trained. So what a crawl finds "without the training pages" was shown to nobody. In the path protocol the ground is the
other groups.
Poor critics: the critic learns from fewer examples, or some pages of its sample have the wrong label, and it is not
told which.
Far: a halved crawl starts from 3 pages of the ground's outermost layer, which is the farthest from the topic.

Truth is the label, never the critic. A learner never sees a label that it was not trained on. The crawl is the loop
that users run, with a virtual clock, one fetch at a time, and no delay.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, ScopeConfig, StopConfig, StoreConfig
from forager.crawl.loop import Crawl
from forager.critics import make_critic
from forager.errors import ForagerError
from forager.learn.focus import below
from forager.learn.lexical.phrases import FUNCTION_WORDS
from forager.learn.sample import TopicSample
from forager.learn.tfidf import Idf, Query, Targets
from forager.paths import Ground, Teachable, hop_layers
from forager.registry import Spec
from forager.strategies import make_strategy
from forager.types import Critic, Floats, Mask, Ragged, Strategy, Terms, Url
from forager.web.scope import Scope
from forager.web.text import terms
from forager_lab.laboratory import Laboratory
from forager_lab.oracles import LAB_STRATEGIES
from forager_lab.rivals import RIVALS

POSITIVES, OTHERS, STARTS = 40, 600, 3
OTHER = "other"
NO_TERMS = np.empty(0, np.uint32)
BATCH = 256  # pages whose similarity is computed at once


@dataclass(frozen=True)
class TeachingPages:
    """The pages on which a strategy may be taught before the crawl."""

    pages: tuple[Url, ...]
    targets: frozenset[Url]
    labels: Mapping[Url, str]  # of pages that are no targets

    def ground(self, lab: Laboratory) -> Ground:
        """The pages with their links and targets, as path models learn from them."""
        return Ground.of(
            ((url, lab.graph.links(url)) for url in self.pages),
            self.targets,
            lab.pages,
            labels=self.labels,
            final=lab.web.final,
        )


class LearntTopic(NamedTuple):
    """What a sample with labels teaches."""

    critic: Critic
    query: Query  # the words of the topic and of its examples
    targets: Targets  # the examples of the topic


@dataclass(frozen=True)
class Trial:
    """Everything that one crawl needs, except the strategy."""

    focus: str
    seeds: Sequence[Url]
    relevant: frozenset[Url]  # by truth
    trained: frozenset[Url]  # the pages that the critic has seen
    critic: Critic
    query: Query  # the words of the topic and of its examples
    targets: Targets  # the examples of the topic that the critic has seen
    scope: Scope
    pages: int | None  # to fetch; None: all
    seed: int
    teaching: TeachingPages | None = None  # None: no strategy may be taught beforehand


@dataclass(frozen=True)
class CrawlRecord:
    """What a crawl fetched, page by page, and what it cost."""

    relevant: Mask  # by truth
    trained: Mask  # the critic had seen the page in training
    expected: NDArray[np.float32]  # by the critic
    order: tuple[Url, ...]
    requests: int
    misses: dict[str, int]
    seconds: float  # of the crawl alone
    labels: tuple[str, ...]  # of each page by truth, several separated by commas
    similarity: NDArray[np.float32]  # of each page to the most similar example
    toward: NDArray[np.float64]  # for each example, the mean similarity of the pages to it


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
    examples: int | None = None,
    flipped: float = 0.0,
) -> Trial:
    """A trial of the topic protocol; run and seed decide every random choice."""
    relevant = lab.web.truth.relevant(topic)
    wanted = frozenset(relevant)
    others = [url for url in lab.web.truth.labels if url not in wanted]
    draw = np.random.default_rng([seed, run])
    count = min(examples or POSITIVES, len(relevant) // 3)
    budget = 2 * len(relevant) if pages is None else pages
    if count < STARTS:
        raise ForagerError(
            f"topic {topic!r} has {len(relevant)} pages; at least {3 * STARTS} are needed to learn and to find"
        )
    teaching = None
    if halved:
        relevant = [relevant[i] for i in sorted(draw.permutation(len(relevant))[: (len(relevant) + 1) // 2])]
        met = frozenset(relevant)
        teaching = TeachingPages(tuple(url for url in lab.web.truth.labels if url in met or url not in wanted), met, {})
    positives = [relevant[i] for i in draw.choice(len(relevant), count, replace=False)]
    negatives = [others[i] for i in draw.choice(len(others), min(OTHERS, len(others)), replace=False)]
    starts = [positives[i] for i in draw.choice(count, STARTS, replace=False)]
    labels = [topic] * len(positives) + [OTHER] * len(negatives)
    sample = [*positives, *negatives]
    if flipped:
        wrong = draw.random(len(labels)) < flipped
        labels = [
            ({topic: OTHER, OTHER: topic}[label] if flip else label) for label, flip in zip(labels, wrong, strict=True)
        ]
    learnt = learn_topic(lab, critic, sample, labels, topic, seed + run)
    if far:
        starts = _outermost(lab, teaching, draw)
    trained = frozenset(sample).union(teaching.targets if teaching else ())
    return Trial(topic, starts, wanted, trained, *learnt, Scope(), budget, seed + run, teaching)


def _outermost(lab: Laboratory, teaching: TeachingPages | None, draw: np.random.Generator) -> list[Url]:
    if teaching is None:
        raise ForagerError("--far starts from the outermost layer of the ground: give --halved too")
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
    """A trial of the path protocol, with `group` left out."""
    groups = lab.web.groups(column)
    outside = [url for url, name in groups.items() if name != group]
    labels = [(lab.web.truth.labels[url] or (OTHER,))[0] for url in outside]
    learnt = learn_topic(lab, critic, outside, labels, target, seed + run)
    wanted, barred = reachable_targets(lab, target, column, group), frozenset(outside)
    scope = Scope(barred=barred)
    met = frozenset(url for url, label in zip(outside, labels, strict=True) if below(label, target))
    milestones = {url: label for url, label in zip(outside, labels, strict=True) if url not in met and label != OTHER}
    teaching = TeachingPages(tuple(outside), met, milestones)
    seeds = lab.web.seeds(group)
    return Trial(target, seeds, wanted, barred, *learnt, scope, pages, seed + run, teaching)


def reachable_targets(lab: Laboratory, target: str, column: str, group: str) -> frozenset[Url]:
    """The pages of a label that can be reached from the group's seeds without leaving the group."""
    inside = {url for url, name in lab.web.groups(column).items() if name == group}
    return frozenset(lab.web.truth.relevant(target)) & lab.graph.reachable(lab.web.seeds(group), inside)


def left_out(lab: Laboratory, column: str) -> list[str]:
    """The groups that are left out in turn: those with a single seed."""
    names = dict.fromkeys(lab.web.groups(column).values())
    found = [name for name in names if len(lab.web.seeds(name)) == 1]
    if not found:
        raise ForagerError(f"no group of column {column!r} has a seed of its own in seeds.tsv (columns url, {column})")
    return found


def learn_topic(
    lab: Laboratory, spec: Spec, urls: Sequence[Url], labels: Sequence[str], focus: str, seed: int
) -> LearntTopic:
    """Learn a topic from a sample with labels."""
    critic = make_critic(spec.name, {"focus": [focus], "seed": seed}, spec.options)
    pairs = [(page, label) for page, label in zip(lab.pages(urls), labels, strict=True) if page is not None]
    critic.fit((page for page, _ in pairs), (label for _, label in pairs))
    idf = Idf.of(page.terms.values for page, _ in pairs)
    examples = [page for page, label in pairs if below(label, focus)]
    targets = targets_of([page.terms.values for page in examples])
    seen = TopicSample.of((page for page, _ in pairs), (below(label, focus) for _, label in pairs))
    return LearntTopic(critic, Query.of([focus.replace(".", " ")], examples, idf, seen), targets)


def strategy_for(lab: Laboratory, trial: Trial, spec: Spec) -> Strategy:
    """Make the strategy of a trial; it is not yet taught. Only the oracles are told the truth."""
    given: dict[str, object] = {
        "seed": trial.seed,
        "critic": trial.critic,
        "classes": trial.critic.classes,
        "focus": [trial.focus],
        "query": trial.query,
        "sample": trial.query.sample,
    }
    if spec.name in LAB_STRATEGIES:
        given |= {"relevant": trial.relevant, "final": lab.web.final, "graph": lab.graph}
    made = make_strategy(spec.name, given, spec.options, {**RIVALS, **LAB_STRATEGIES})
    if isinstance(made, Teachable) and trial.teaching is None:
        raise ForagerError(
            f"strategy {spec.name!r} must be taught before the crawl, on the same web: give --halved, which keeps "
            "half of the topic for the test"
        )
    return made


def taught_for(lab: Laboratory, trial: Trial, spec: Spec) -> Strategy:
    """Make the strategy of a trial and teach it if it needs that."""
    made = strategy_for(lab, trial, spec)
    if isinstance(made, Teachable) and trial.teaching is not None:
        return cast(Strategy, made.taught(trial.teaching.ground(lab)))
    return made


def open_crawl(lab: Laboratory, trial: Trial, strategy: Strategy) -> Crawl:
    """The crawl of a trial, as users run it, but with a virtual clock, one fetch at a time, and no delay."""
    config = CrawlConfig(
        seeds=tuple(trial.seeds),
        frontier=FrontierConfig(delay=0, delay_factor=0),
        scope=ScopeConfig(declared=False, feeds=False, sitemaps="none", traps=False),
        store=StoreConfig(duplicates="all"),
        stop=StopConfig(pages=trial.pages),
        seed=trial.seed,
    )
    return Crawl(
        config,
        critic=trial.critic,
        strategy=strategy,
        fetcher=lab.web.fetcher,
        scope=trial.scope,
        clock=VirtualClock(),
        read=lab.cache.read,
    )


def crawl_trial(lab: Laboratory, trial: Trial, spec: Spec) -> CrawlRecord:
    """Crawl once with a strategy."""
    crawl = open_crawl(lab, trial, taught_for(lab, trial, spec))
    start = time.perf_counter()
    visits = [(visit.page.url, visit.judgement.relevance) for visit in crawl]
    seconds = time.perf_counter() - start
    order = tuple(url for url, _ in visits)
    alike = similarity_to((page.terms.values if page else NO_TERMS for page in lab.pages(order)), trial.targets)
    return CrawlRecord(
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


# ---- similarity to the examples -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ExampleSimilarity:
    """How similar crawled pages p are to the examples d of the topic.

    cos(p,d) is that of vectors with 1 + log n(t,p) for each term t that is no function word. There is no idf: with one
    hardly any two articles of an encyclopaedia reach .5, the lowest threshold of the MEMM's paper, which names none.
    """

    similarity: Floats  # (pages,): max over d of cos(p,d)
    toward: NDArray[np.float64]  # (examples,): mean over p of cos(p,d); its maximum is sigma


def targets_of(examples: Sequence[Terms]) -> Targets:
    """Examples with these terms, to compare pages with."""
    stop = np.unique(terms([" ".join(sorted(FUNCTION_WORDS))])[0])
    return Targets(Ragged.of(list(examples)), Idf(stop, np.zeros(len(stop), np.float32), unseen=1.0))


def similarity_to(bags: Iterable[Terms], targets: Targets) -> ExampleSimilarity:
    """The similarity of the pages with these terms, in order; 0 everywhere if there is no example."""
    waiting = iter(bags)
    similarity, sums, pages = [np.empty(0, np.float32)], np.zeros(len(targets)), 0
    while batch := list(islice(waiting, BATCH)):
        cosines = targets.cosines(Ragged.of(batch))
        similarity.append(cosines.max(axis=1, initial=0))
        sums += cosines.sum(axis=0, dtype=np.float64)
        pages += len(batch)
    return ExampleSimilarity(np.concatenate(similarity), sums / max(1, pages))
