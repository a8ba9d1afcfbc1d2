"""One suite over every strategy: those built in, those of the laboratory, and the sketches of tests/stubs.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig
from forager.crawl.loop import Crawl
from forager.critics import Predicate, make_critic
from forager.learn.tfidf import Query
from forager.strategies import STRATEGIES, make_strategy
from forager.types import (
    Critic,
    Evidence,
    Explains,
    Fetch,
    GivesChances,
    Inlinks,
    Judgement,
    Known,
    Learns,
    Links,
    Page,
    Persists,
    Ragged,
    Rescores,
    ScoredLinks,
    Strategy,
    Trace,
    Url,
    Visit,
)
from forager.web.page import parse
from forager_lab.laboratory import build_graph
from forager_lab.oracles import Lookahead, Oracle
from forager_lab.rivals import RIVALS
from tests import stubs
from tests.small_web import SmallWeb, WordCritic, html, url

PAGES = 60


def bird(number: int) -> bool:
    return number % 3 == 0


def many_pages() -> dict[Url, str]:
    """Page i links to 2i, 2i+1 and 7i+3 (mod 60); every third is about birds and says so in its name."""
    name = {i: f"/{'bird' if bird(i) else 'stone'}-{i}" for i in range(PAGES)}
    text = {i: "bird nest and egg" if bird(i) else "granite and slate" for i in range(PAGES)}
    return {
        url(name[i]): html(text[i], *(name[j % PAGES] for j in (2 * i, 2 * i + 1, 7 * i + 3)), "/dead")
        for i in range(PAGES)
    }


def truth() -> dict[str, object]:
    pages = many_pages()
    urls = list(pages)
    found = [parse(Fetch(where, text.encode())) for where, text in pages.items()]
    links = [page.links.targets for page in found if isinstance(page, Page)]
    graph = build_graph(urls, links, lambda url: url)
    return {"relevant": [u for u in urls if "bird" in u], "final": lambda url: url, "graph": graph}


def levels() -> Critic:
    """A critic that judges by the levels of a topic path: the lexical strategy needs one."""
    critic = make_critic("lexical", {"focus": ["nature.birds"]}, {})
    texts = {"nature.birds": "bird nest and egg", "nature": "granite and slate"}
    pages = [page for text in texts.values() if isinstance(page := parse(Fetch(url("/x"), text.encode())), Page)]
    critic.fit(pages, list(texts))
    return critic


def registered(name: str, **params: object) -> Callable[[], Strategy]:
    query = Query.of(["bird"])
    given = {
        "seed": 3,
        "critic": levels() if name == "lexical" else WordCritic(),
        "classes": WordCritic.classes,
        "focus": WordCritic.focus,
        "query": query,
        "sample": query.sample,
    }
    return lambda: make_strategy(name, given, params, RIVALS)


MAKERS: dict[str, Callable[[], Strategy]] = {
    **{name: registered(name) for name in STRATEGIES},
    # these sweep and learn several times, even in so small a web
    "pagerank often": registered("pagerank", every=7, hot=True),
    "distiller often": registered("distiller", every=7),
    "intelligent often": registered("intelligent", every=7),
    "apprentice often": registered("apprentice", batch=5),
    "apprentice, all parents": registered("apprentice", batch=5, combine="noisy-or", trust=1.0, topics=1),
    "apprentice by regression": registered("apprentice", batch=5, combine="best", learner="logistic", cocitation=True),
    "apprentice, the sum": registered("apprentice", form="sum", batch=5),
    "apprentice, the sum with words": lambda: make_strategy(
        "apprentice", {"critic": Predicate(keywords=["bird"])}, {"form": "sum", "batch": 5}
    ),
    "lexical, learning": registered("lexical", proximity=1.0, reward=1.0, every=5),
    **{name: registered(name) for name in RIVALS},
    "sb often": registered("sb", every=1, theta=0.9),
    "tres by rewards": registered("tres", every=1, q=False),
    "deep-deep often": registered("deep-deep", switch=3, temperature=0.5, memory=10),
    "host-bandit, drawn": registered("host-bandit", lam=0.9, decay=10, value="both"),
    "oracle": lambda: make_strategy("oracle", truth(), {}, {"oracle": Oracle}),
    "lookahead": lambda: make_strategy("lookahead", truth(), {}, {"lookahead": Lookahead}),
    "stub shark": stubs.Shark,
    "stub apprentice": stubs.Apprentice,
    "stub pagerank": stubs.PageRank,
    "stub infospiders": stubs.InfoSpiders,
    "stub crf": stubs.Crf,
}
every_strategy = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def crawl(strategy: Strategy, web: SmallWeb | None = None) -> tuple[Crawl, list[Visit]]:
    config = CrawlConfig(seeds=(url("/bird-0"), url("/stone-1")), frontier=FrontierConfig(delay=0))
    made = Crawl(
        config, critic=WordCritic(), strategy=strategy, fetcher=web or SmallWeb(many_pages()), clock=VirtualClock()
    )
    return made, list(made)


def visit(links: Sequence[int] | None = None) -> Visit:
    """A visit made by hand: the first page, as a seed."""
    where = url("/bird-0")
    page = parse(Fetch(where, many_pages()[where].encode()))
    assert isinstance(page, Page)
    chosen: Links = page.links if links is None else page.links.take(links)
    count = len(chosen)
    known = Known(np.full(count, np.nan, np.float32), np.zeros(count, np.int32), np.zeros(count, np.int32))
    none = Inlinks(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros((0, 0), np.float32), Ragged.of([]))
    judgement: Judgement = WordCritic().judge([page])[0]
    return Visit(page, chosen, judgement, Trace(0, 0, 0, 0, 0.0, none), known)


def same(one: ScoredLinks, other: ScoredLinks) -> bool:
    def arrays(scored: ScoredLinks) -> list[NDArray[Any] | None]:
        clues = scored.clues
        flat = [None, None] if clues is None else [clues.values, clues.offsets]
        return [scored.scores, scored.state, scored.common, *flat]

    pairs = zip(arrays(one), arrays(other), strict=True)
    return one.label == other.label and all(
        (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs
    )


@every_strategy
def test_score_has_a_row_for_each_link_and_no_nan(make: Callable[[], Strategy]) -> None:
    for scored, count in ((make().score(visit()), 3), (make().score(visit([])), 0), (make().score(visit([2])), 1)):
        assert scored.scores.shape == (count,)
        assert scored.scores.dtype == np.float32
        assert not np.isnan(scored.scores).any()
        assert not np.isposinf(scored.scores).any()
        for given in (scored.state, scored.clues, scored.edge_weight):
            assert given is None or len(given) == count


@every_strategy
def test_score_is_pure(make: Callable[[], Strategy]) -> None:
    strategy = make()
    assert same(strategy.score(visit()), strategy.score(visit()))
    crawl(strategy)
    assert same(strategy.score(visit()), strategy.score(visit()))


@every_strategy
def test_it_works_before_learning_and_reaches_every_page_it_will_follow(make: Callable[[], Strategy]) -> None:
    _, visits = crawl(make())
    assert len({v.page.url for v in visits}) == len(visits) > 10


@every_strategy
def test_same_seed_same_crawl(make: Callable[[], Strategy]) -> None:
    one, other = SmallWeb(many_pages()), SmallWeb(many_pages())
    first, _ = crawl(make(), one)
    second, _ = crawl(make(), other)
    assert one.asked == other.asked
    assert first.stats == second.stats


@every_strategy
def test_chances_are_chances_and_grow_with_the_score(make: Callable[[], Strategy]) -> None:
    strategy = make()
    if isinstance(strategy, GivesChances):
        chances = strategy.chances(np.array([-20, -2, 0, 2, 20], np.float32))
        assert (np.diff(chances) > 0).all()
        assert ((chances >= 0) & (chances <= 1)).all()


def test_the_default_strategy_gives_chances() -> None:
    strategy = MAKERS["default"]()
    assert isinstance(strategy, GivesChances)
    assert strategy.chances(np.zeros(1, np.float32)) == 0.5  # its scores are log-odds


@every_strategy
def test_optional_verbs_are_whole(make: Callable[[], Strategy]) -> None:
    """Half an optional protocol would be silently ignored by the loop."""
    strategy = make()
    for protocol, verbs in (
        (Learns, ["observe"]),
        (Rescores, ["rescore", "every"]),
        (Persists, ["parts", "from_parts", "merge"]),
        (Explains, ["explain"]),
        (GivesChances, ["chances"]),
    ):
        has = [hasattr(strategy, verb) for verb in verbs]
        assert all(has) or not any(has), verbs
        assert isinstance(strategy, protocol) == all(has)


@every_strategy
def test_parts_round_trip(make: Callable[[], Strategy]) -> None:
    strategy = make()
    if not isinstance(strategy, Persists):
        pytest.skip("learns nothing that is kept")
    crawl(strategy)
    parts = strategy.parts()
    json.dumps({name: value for name, value in parts.items() if not isinstance(value, np.ndarray)})
    again = strategy.from_parts({name: np.array(value) for name, value in parts.items()})
    assert same(again.score(visit()), strategy.score(visit()))


def test_halves_of_the_evidence_merge_to_the_whole() -> None:
    clues = Ragged.of([[1, 2], [3], [2, 2], [7]])
    relevance = np.array([1, 0, 1, 0], np.float32)

    def told(rows: list[int]) -> stubs.Apprentice:
        learner = stubs.Apprentice()
        at = np.array(rows, np.intp)
        outcome = visit()
        learner.observe(outcome, Evidence(clues.take(at), relevance[at], relevance[at]))
        return learner

    whole, halves = told([0, 1, 2, 3]), [told([0, 1]), told([2, 3])]
    merged = whole.from_parts(whole.merge([half.parts() for half in halves]))
    assert np.array_equal(merged.counts, whole.counts)
    assert merged.instances == whole.instances == 4


def test_best_first_and_the_bounds_find_birds_sooner_than_breadth_first() -> None:
    found = {
        name: [("bird" in v.page.url) for v in crawl(MAKERS[name]())[1]]
        for name in ("breadth-first", "best-first", "oracle", "lookahead")
    }
    early = {name: sum(hits[:20]) for name, hits in found.items()}
    assert early["breadth-first"] < early["oracle"] <= early["lookahead"]
    assert {sum(hits) for hits in found.values()} == {20}
