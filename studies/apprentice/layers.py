"""The apprentice together with a context graph, as section 1.2 of the paper wishes for.

A context graph guesses how many links a page is away from a target (strategies/context_graph.py). It is taught on the
pages of half A and the links between them. Its targets are the pages of half A that the critic calls relevant, so it is
told no label that the critic was not told. What it makes of a page u comes to the apprentice as further classes of u:
`layer.0` to `layer.4` and, where it is not sure, `layer.5`, with its confidence for their probability. So with
`vector = true` the layer is a feature <layer,level> of every link of u.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from forager.registry import Spec
from forager.strategies.context_graph import ContextGraph
from forager.types import RELEVANT, Critic, Judgement, Page, Url
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import TeachingPages, Trial, strategy_for
from studies.apprentice.crawls import OneScoreCritic
from studies.apprentice.set_ups import GRAPH, Labels


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
