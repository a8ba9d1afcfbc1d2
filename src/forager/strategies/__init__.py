"""Strategies decide which link to follow next: one file or one package each.

Other packages add their own strategies as entry points of the group `forager.strategies`.
"""

from collections.abc import Mapping
from typing import cast

from forager import registry
from forager.strategies.apprentice import Apprentice
from forager.strategies.backlink import Backlink
from forager.strategies.best_first import BestFirst
from forager.strategies.breadth_first import BreadthFirst
from forager.strategies.context_graph import ContextGraph
from forager.strategies.crf import PathForager
from forager.strategies.distiller import Distiller
from forager.strategies.fish import FishSearch
from forager.strategies.hmm import Hmm
from forager.strategies.infospiders import InfoSpiders
from forager.strategies.intelligent import Intelligent
from forager.strategies.lexical import make_lexical
from forager.strategies.memm import MemmCrawler
from forager.strategies.pagerank import PageRank
from forager.strategies.q_value import QValue
from forager.strategies.random import Random
from forager.strategies.shark import SharkSearch
from forager.strategies.weigher import Weigher
from forager.types import Strategy

GROUP = "forager.strategies"
STRATEGIES: Mapping[str, registry.Maker] = {
    "breadth-first": BreadthFirst,
    "random": Random,
    "best-first": BestFirst,
    "backlink": Backlink,
    "pagerank": PageRank,
    "fish": FishSearch,
    "shark": SharkSearch,
    "distiller": Distiller,
    "infospiders": InfoSpiders,
    "intelligent": Intelligent,
    "context-graph": ContextGraph,
    "q-value": QValue,
    "hmm": Hmm,
    "memm": MemmCrawler,
    "crf": PathForager,
    "lexical": make_lexical,
    "apprentice": Apprentice,
    "default": Weigher,
}


def strategy_names() -> list[str]:
    """The names of all strategies, with those of plug-ins."""
    return registry.names(STRATEGIES, GROUP)


def make_strategy(
    name: str,
    given: Mapping[str, object],
    params: Mapping[str, object],
    also: Mapping[str, registry.Maker] | None = None,
) -> Strategy:
    """The strategy with this name and these parameters.

    Of `given` it gets the values that it asks for. `also` are makers that only this caller knows.
    """
    maker = registry.find("strategy", name, builtin={**STRATEGIES, **(also or {})}, group=GROUP)
    return cast(Strategy, registry.make(maker, given, params))


__all__ = [
    "GROUP",
    "STRATEGIES",
    "Apprentice",
    "Backlink",
    "BestFirst",
    "BreadthFirst",
    "ContextGraph",
    "Distiller",
    "FishSearch",
    "Hmm",
    "InfoSpiders",
    "Intelligent",
    "MemmCrawler",
    "PageRank",
    "PathForager",
    "QValue",
    "Random",
    "SharkSearch",
    "make_lexical",
    "make_strategy",
    "strategy_names",
]
