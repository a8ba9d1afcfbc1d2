"""The critics of the study beside the usual one: one that knows many classes, and one that tells layers, too.

*Taxonomy.* The paper's critic knew 482 classes of a directory. Here it learns the web's own taxonomy. Section 3.1
prunes the directory until every class has 300 examples, and takes about 300 of each. The webs here are far smaller:
half of the categories of wikispeedia have fewer than 22 pages. So a class has at least 20 pages, and the critic learns
from 10 of each, which leaves half of the smallest class to be found. Both numbers come from the sizes of the categories
alone; no crawl was looked at. A page with several labels belongs to the first of them, a page of the topic to the first
one within the topic. Pages without a label are a category of their own. Relevance is the sum of Pr(c|u) over the
classes c of the topic. The crawl starts where that of the usual critic does. The pages of the sample do not count.

*Layers.* Section 1.2 wishes for the apprentice together with a context graph, which guesses how many links a page is
away from a target (strategies/context_graph.py). It is taught on the pages of half A and the links between them. Its
targets are the pages of half A that the critic calls relevant, so it is told no label that the critic was not told.
What it makes of a page u comes to the apprentice as further classes of u: `layer.0` to `layer.4` and, where it is not
sure, `layer.5`, with its confidence for their probability. So with `vector = true` the layer is a feature <layer,level>
of every link of u.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from forager.learn.focus import below
from forager.registry import Spec
from forager.strategies.context_graph import ContextGraph
from forager.topics.directory.listing import Listing
from forager.topics.directory.prune import balanced, prune
from forager.types import RELEVANT, Critic, Judgement, Page, Url
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import TeachingPages, Trial, learn_topic, strategy_for
from studies.apprentice.crawls import OneScoreCritic
from studies.apprentice.set_ups import GRAPH, Labels

SMALLEST = 20  # pages of a class
SAMPLED = 10  # of them to learn from
UNLABELLED = "none"


# ---- many classes ---------------------------------------------------------------------------------------------------


def category(labels: Sequence[str], topic: str) -> str:
    """The one category of a page with these labels."""
    return next((label for label in labels if below(label, topic)), labels[0] if labels else UNLABELLED)


def class_sample(lab: Laboratory, topic: str, seed: int) -> dict[Url, str]:
    """Pages to learn from, drawn by chance, each with its class. A topic that is small keeps a class of its own."""
    pages = {url: category(labels, topic) for url, labels in lab.web.truth.labels.items()}
    size = sum(below(name, topic) for name in pages.values())
    pruned = prune(Counter(pages.values()), min(SMALLEST, size))
    listings = (Listing(url, name) for url, name in pages.items())
    return {Url(listing.url): name for name, listing in balanced(listings, pruned, SAMPLED, seed)}


def taxonomy_trial(lab: Laboratory, trial: Trial, critic: Spec, sample: Mapping[Url, str]) -> Trial:
    """The same trial with a critic that learnt the classes of the sample."""
    learnt = learn_topic(lab, critic, list(sample), list(sample.values()), trial.focus, trial.seed)
    trained = trial.trained.union(sample)
    return replace(trial, critic=learnt.critic, query=learnt.query, targets=learnt.targets, trained=trained)


# ---- layers ---------------------------------------------------------------------------------------------------------


def taught_graph(lab: Laboratory, trial: Trial, half: Collection[Url]) -> ContextGraph:
    """A context graph that has seen these pages only."""
    inside = tuple(url for url in lab.web.truth.labels if url in half)
    pages = [page for page in lab.pages(inside) if page is not None]
    told = trial.critic.judge(pages)
    wanted = frozenset(page.url for page, each in zip(pages, told, strict=True) if each.relevance >= RELEVANT)
    teaching = TeachingPages(inside, wanted, {})
    graph = strategy_for(lab, replace(trial, teaching=teaching), Spec(GRAPH))
    assert isinstance(graph, ContextGraph)
    return graph.taught(teaching.ground(lab))


class LayeredCritic(OneScoreCritic):
    """A critic with one score, whose classes are followed by the layers of a context graph."""

    def __init__(self, critic: Critic, score: Labels, graph: ContextGraph) -> None:
        super().__init__(critic, score)
        self._graph = graph

    @property
    def classes(self) -> tuple[str, ...]:
        return (*super().classes, *(f"layer.{layer}" for layer in range(self._graph.layers + 2)))

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        return [self._layered(page, told) for page, told in zip(pages, super().judge(pages), strict=True)]

    def _layered(self, page: Page, told: Judgement) -> Judgement:
        layer, confidence = self._graph.layer(page)
        layers = np.zeros(self._graph.layers + 2, np.float32)
        layers[layer] = confidence
        return replace(told, topics=np.concatenate((told.topics, layers)))
