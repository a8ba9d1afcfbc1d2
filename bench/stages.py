"""What each stage of a visit costs on 150 real pages, compared with the bare parse: python -m bench.stages

Every stage is the code of the crawl itself. CPU time is measured, the best of some rounds. Without the recorded web the
pages are made up, and the first line says so. The last line is one JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from bench.pages import WIKISPEEDIA, bare_parse, milliseconds, sample
from forager.critics.naive_bayes import NaiveBayes
from forager.errors import ForagerError
from forager.frontier import LaneFrontier
from forager.frontier.facts import Facts
from forager.learn.tfidf import Query
from forager.strategies import STRATEGIES, make_strategy
from forager.types import BEST, Critic, Page, ScoredLinks, Strategy, Visit
from forager.web import text
from forager.web.page import parse
from forager.web.scope import Scope

PAGES = 150
DOCUMENTS = 1_500  # that train the critics
SEED = 0


def critic_of(classes: int, documents: list[Page]) -> NaiveBayes:
    """A critic of so many classes over a real vocabulary. Pages are dealt out evenly: it shows cost, not quality."""
    critic = NaiveBayes(focus=["0"])
    critic.fit(documents, (str(i % classes) for i in range(len(documents))))
    return critic


def visits(pages: list[Page], critic: Critic) -> Iterator[tuple[Visit, Facts]]:
    """Each page as a strategy sees it, in a crawl of its own."""
    for page in pages:
        facts = Facts()
        ids = facts.intern(page.links.targets)
        trace = facts.trace(int(facts.sow([page.url])[0]), int(facts.intern([page.url])[0]), 0, 0.0)
        yield Visit(page, page.links, critic.judge([page])[0], trace, facts.known(ids)), facts


def bookkeeping(waiting: list[Visit]) -> None:
    """Scope, ids, what is known, frontier and edges, for a crawl that begins empty: most links are new."""
    facts, frontier = Facts(), LaneFrontier(BEST)
    facts.sow([visit.page.url for visit in waiting])
    for order, visit in enumerate(waiting):
        trace = facts.trace(order, order, order, 0.0)
        links = visit.page.links.take(Scope().admit(visit.page.links.targets, 1).rows)
        ids = facts.intern(links.targets)
        facts.known(ids)
        facts.judge(trace, visit.judgement)
        hosts = facts.addresses.hosts[ids]
        scores = np.full(len(ids), 0.5, np.float32)
        facts.found(trace.id, ids, ScoredLinks(scores), frontier.add(ids, hosts, facts.addresses.sites[hosts], scores))


def scoring(critic: Critic, waiting: list[Visit]) -> dict[str, float]:
    """Of every strategy for which this critic is enough."""
    given = {"seed": SEED, "critic": critic, "classes": critic.classes, "focus": ["0"], "query": Query.of(["science"])}
    took: dict[str, float] = {}
    for name in STRATEGIES:
        with suppress(ForagerError):
            took[f"score: {name}"] = milliseconds(_score(make_strategy(name, given, {})), waiting)
    return took


def _score(strategy: Strategy) -> Callable[[Visit], object]:
    return strategy.score


def measure() -> dict[str, float]:
    fetches = sample(PAGES)
    documents = [
        page for fetch in sample(DOCUMENTS, smallest=0, largest=10**6) if isinstance(page := parse(fetch), Page)
    ]
    pages = [page for fetch in fetches if isinstance(page := parse(fetch), Page)]
    few, many = critic_of(20, documents), critic_of(500, documents)
    waiting = [visit for visit, _ in visits(pages, few)]
    tokens = milliseconds(lambda page: text.terms(page.leaves), pages)
    whole = milliseconds(parse, fetches)
    return {
        "bare parse": milliseconds(bare_parse, fetches),
        "parse, links, leaves": whole - tokens,
        "tokens": tokens,
        "critic, 20 classes": milliseconds(lambda page: few.judge([page]), pages),
        "critic, 500 classes": milliseconds(lambda page: many.judge([page]), pages),
        **scoring(few, waiting),
        "scope, ids, frontier": milliseconds(bookkeeping, [waiting]) / len(waiting),
    }


def main() -> None:
    print(f"{PAGES} {'real' if WIKISPEEDIA.exists() else 'made-up'} pages, CPU ms a page")
    stages = measure()
    for stage, took in stages.items():
        print(f"{stage:<24}{took:8.3f} ms {took / stages['bare parse']:7.2f}x the bare parse")
    print(json.dumps({"stages": {stage: round(took, 4) for stage, took in stages.items()}}))


if __name__ == "__main__":
    main()
