"""The state of a crawl: all that it knows at one moment.

The state is a function of the crawl's records in their order. A new crawl begins with an empty state; a resumed one
plays its records back into an empty state and goes on from there (`forager.crawl.resume`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from forager.config import FrontierConfig
from forager.crawl.forecast import Forecaster
from forager.crawl.health import Health
from forager.crawl.stats import CrawlStats
from forager.frontier import Budgets, LaneFrontier, Twins
from forager.frontier.facts import Facts
from forager.types import Learns, Strategy
from forager.web.traps import Traps


@dataclass(frozen=True, slots=True, eq=False)
class CrawlState:
    """Facts, order, how the hosts are, what to expect, which pages are alike and which URLs are traps, and figures."""

    facts: Facts
    frontier: LaneFrontier
    health: Health
    forecaster: Forecaster
    twins: Twins = field(default_factory=Twins)
    traps: Traps = field(default_factory=Traps)
    stats: CrawlStats = field(default_factory=CrawlStats)

    @classmethod
    def empty(
        cls,
        strategy: Strategy,
        limits: FrontierConfig = FrontierConfig(),  # noqa: B008 - frozen
        *,
        rest_until: float = float("-inf"),
        folder: Path | None = None,
    ) -> Self:
        """The state of a crawl by this strategy that has done nothing yet.

        No lane is asked before `rest_until`. What need not be in memory lies in `folder` while the crawl runs.
        """
        budgets = Budgets(limits.pages_per_host, limits.pages_per_site)
        return cls(
            Facts(strategy.combine, evidence=isinstance(strategy, Learns), folder=folder),
            LaneFrontier(strategy.combine, budgets=budgets, rest_until=rest_until),
            Health(limits.retries, limits.patience),
            Forecaster(strategy),
        )
