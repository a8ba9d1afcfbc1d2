"""What it costs to score the links of a page, for every strategy: python -m bench.strategies [--only a,b] [--markdown]

Each strategy first crawls 100 pages of a procedural web. The laboratory makes it, and teaches it if it is one that is
taught before a crawl. So learners have learnt and links wait; a strategy with sweeps scores the waiting links again.
Then what it learnt goes to a new process, because a process that has taught is slower in all its work, and crawls do
not teach. There it scores 150 real pages (made-up pages if there is no recorded web) and 150 pages of 80 links of the
reference web. As in a crawl, a link of a page scored before led to each page, and the page was parsed and judged just
before. All times are CPU times; the best round of a page counts. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from bench.pages import WIKISPEEDIA, after, milliseconds, reference, sample
from bench.stages import visits
from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, StopConfig
from forager.crawl.loop import Crawl
from forager.frontier.facts import Facts
from forager.registry import Spec
from forager.strategies import STRATEGIES
from forager.types import Critic, Fetch, Page, Parts, Persists, Rescores, ScoredLinks, Strategy, Visit
from forager.web.page import parse
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial, strategy_for, taught_for, topic_trial
from forager_lab.webs import open_web

WEB, TOPIC = "procedural", "Arts"
CRAWLED = 100  # pages a strategy learns from
SCORED = 150  # pages it is timed on
ROUNDS = 9


class Cost(NamedTuple):
    score_ms: float  # a real page
    reference_ms: float  # a reference page
    rescore_ms_per_1000: float | None  # links; None: it does not sweep


def crawled(lab: Laboratory, trial: Trial, name: str) -> Crawl:
    """A short crawl with a strategy that has ended."""
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
    """The time that the strategy takes in one sweep, for 1,000 waiting links."""
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
    """Makes visits to pages that the best link of a page led to."""

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


def trial_of(name: str) -> tuple[Laboratory, Trial]:
    """The laboratory and the trial in which a strategy learns."""
    lab, critic = Laboratory(open_web(WEB)), "lexical:above=all" if name == "lexical" else "naive-bayes"
    return lab, topic_trial(lab, TOPIC, Spec.parse(critic), run=0, seed=0, pages=CRAWLED, halved=True)


def learnt(name: str) -> tuple[Parts, float | None]:
    """What a strategy learns, and the cost of its sweep."""
    crawl = crawled(*trial_of(name), name)
    return crawl.strategy.parts() if isinstance(crawl.strategy, Persists) else {}, sweep_ms(crawl)


def scored(name: str, parts: Parts) -> tuple[float, float]:
    """The cost of a real page and of a reference page."""
    lab, trial = trial_of(name)
    strategy = strategy_for(lab, trial, Spec(name))
    if isinstance(strategy, Persists):
        strategy = strategy.from_parts(parts)
    real, made = (
        after(Arrivals(trial.critic, strategy, home), strategy.score, others, ROUNDS)
        for home, *others in (sample(SCORED + 1), reference(SCORED + 1))
    )
    return real, made


def measure(chosen: Sequence[str]) -> dict[str, Cost]:
    costs: dict[str, Cost] = {}
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as anew:
        for name in chosen:
            parts, sweep = anew.submit(learnt, name).result()
            costs[name] = Cost(*anew.submit(scored, name, parts).result(), sweep)
    return costs


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
