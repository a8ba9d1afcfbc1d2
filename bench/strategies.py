"""What it costs to score the links of a page, for every strategy: python -m bench.strategies [--only a,b] [--markdown]

Each strategy first crawls 100 pages of a procedural web, made as the laboratory makes it (and taught, if it is one that
is taught beforehand), so that learners have learnt and links wait. Then it scores 150 real pages (made-up ones where
there is no recorded web) and the pages of 80 links of the reference web. As in a crawl, a link led to each of them, of
a page that was scored before, and it was parsed and judged just before. A strategy that sweeps also scores again what
waits after its crawl. All by CPU; a page counts with its best round. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from bench.pages import WIKISPEEDIA, after, milliseconds, reference, sample
from bench.stages import visits
from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, StopConfig
from forager.crawl import Crawl
from forager.frontier.facts import Facts
from forager.lab.laboratory import Laboratory, open_web
from forager.lab.protocol import Trial, taught_for, topic_trial
from forager.lab.spec import Spec
from forager.page import parse
from forager.strategies import STRATEGIES
from forager.types import Critic, Fetch, Page, Rescores, ScoredLinks, Strategy, Visit

WEB, TOPIC = "procedural", "Arts"
CRAWLED = 100  # pages a strategy learns from
SCORED = 150  # pages it is timed on
ROUNDS = 9


class Cost(NamedTuple):
    score_ms: float  # a real page
    reference_ms: float  # a reference page
    rescore_ms_per_1000: float | None  # links; None: it does not sweep


def crawled(lab: Laboratory, trial: Trial, name: str) -> Crawl:
    """A short crawl with a strategy, at its end."""
    stop, frontier = StopConfig(pages=trial.pages), FrontierConfig(delay=0)
    crawl = Crawl(
        CrawlConfig(seeds=tuple(trial.seeds), frontier=frontier, stop=stop, seed=trial.seed),
        critic=trial.critic,
        strategy=taught_for(lab, trial, Spec(name)),
        fetcher=lab.web.fetcher,
        scope=trial.scope,
        clock=VirtualClock(),
        read=lab.cache.read,
    )
    crawl.run()
    return crawl


def sweep_ms(crawl: Crawl) -> float | None:
    """Of one sweep over what waits, for 1,000 links: the strategy's share of it."""
    strategy, waiting = crawl.strategy, [crawl.facts.slice(crawl.frontier.waiting, crawl.frontier).batch]
    links = sum(len(batch.ids) for batch in waiting)
    if not isinstance(strategy, Rescores) or not links:
        return None
    graph = crawl.facts.graph()
    return milliseconds(lambda batches: list(strategy.rescore(batches, graph)), [waiting], ROUNDS) / links * 1e3


def _parsed(fetch: Fetch) -> Page:
    page = parse(fetch)
    assert isinstance(page, Page)
    return page


class Arrivals:
    """Pages that the best link of a page led to."""

    def __init__(self, critic: Critic, strategy: Strategy, home: Fetch) -> None:
        self._critic, self._strategy = critic, strategy
        self._home, _ = next(visits([_parsed(home)], critic))
        scored = strategy.score(self._home)
        best = [int(scored.scores.argmax())]
        self._link = ScoredLinks(scored.scores[best], None if scored.state is None else scored.state[best])

    def __call__(self, fetch: Fetch) -> Visit:
        page, facts = _parsed(fetch), Facts(self._strategy.combine)
        home = facts.trace(int(facts.sow([self._home.page.url])[0]), 0, 0, 0.0)
        facts.judge(home, self._home.judgement)
        ids = facts.intern([page.url, *page.links.targets])
        facts.found(home.id, ids[:1], self._link, np.ones(1, bool))
        trace = facts.trace(int(ids[0]), int(ids[0]), 1, float(self._link.scores[0]))
        return Visit(page, page.links, self._critic.judge([page])[0], trace, facts.known(ids[1:]))


def measure(chosen: Sequence[str]) -> dict[str, Cost]:
    lab = Laboratory(open_web(WEB))
    (home, *fetched), (made_home, *made) = sample(SCORED + 1), reference(SCORED + 1)
    costs: dict[str, Cost] = {}
    for critic, names in groupby(sorted(chosen, key=_critic), key=_critic):
        trial = topic_trial(lab, TOPIC, Spec.parse(critic), run=0, seed=0, pages=CRAWLED, halved=True)
        for name in names:
            crawl = crawled(lab, trial, name)
            real_ms, made_ms = (
                after(Arrivals(trial.critic, crawl.strategy, first), crawl.strategy.score, others, ROUNDS)
                for first, others in ((home, fetched), (made_home, made))
            )
            costs[name] = Cost(real_ms, made_ms, sweep_ms(crawl))
    return {name: costs[name] for name in chosen}


def _critic(strategy: str) -> str:
    return "lexical:above=all" if strategy == "lexical" else "naive-bayes"


def table(costs: dict[str, Cost], markdown: bool) -> str:
    heads = ["strategy", "ms a real page", "ms a reference page", "ms to sweep 1,000 links"]
    rows = [[name, *("-" if ms is None else f"{ms:.3f}" for ms in cost)] for name, cost in costs.items()]
    if markdown:
        return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---", *["---:"] * len(Cost._fields)], *rows])
    widest = max(map(len, costs))
    return "\n".join(f"{row[0]:<{widest}}{row[1]:>18}{row[2]:>22}{row[3]:>26}" for row in [heads, *rows])


def main() -> None:
    options = argparse.ArgumentParser(description="What it costs to score a page, for every strategy.")
    options.add_argument("--markdown", action="store_true", help="print the table as markdown")
    options.add_argument("--only", help="strategies, separated by commas", default=",".join(STRATEGIES))
    given = options.parse_args()
    markdown, costs = given.markdown, measure(given.only.split(","))
    print(
        f"{SCORED} {'real' if WIKISPEEDIA.exists() else 'made-up'} pages, {SCORED} reference pages of 80 links, CPU\n"
    )
    print(table(costs, markdown), end="\n\n")
    rounded = {
        name: {field: None if ms is None else round(ms, 4) for field, ms in cost._asdict().items()}
        for name, cost in costs.items()
    }
    print(json.dumps({"strategies": rounded}))


if __name__ == "__main__":
    main()
