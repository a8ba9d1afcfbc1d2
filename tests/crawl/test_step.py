"""What a visit does to the facts, on a web small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig, ScopeConfig, StopConfig
from forager.crawl.loop import Crawl
from forager.errors import ForagerError
from forager.strategies import BreadthFirst
from forager.types import (
    BEST,
    FIRST,
    LATEST,
    Combine,
    Evidence,
    Failure,
    Miss,
    Policy,
    Ragged,
    Reason,
    Redirect,
    ScoredLinks,
    Strategy,
    Visit,
)
from tests.small_web import SmallWeb, WordCritic, html, url


class Recorder:
    """Gives each link its place on the page as clue and state, and keeps what it is shown."""

    def __init__(self, combine: Combine = FIRST, scores: dict[str, float] | None = None) -> None:
        self.combine = combine
        self.scores = scores or {}
        self.shown: list[tuple[Visit | Miss, Evidence]] = []

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        self.shown.append((outcome, evidence))

    def score(self, visit: Visit) -> ScoredLinks:
        places = np.arange(len(visit.links), dtype=np.float32)
        order = visit.trace.order
        given = [self.scores.get(f"{visit.page.url[-1]}>{target[-1]}", 0.0) for target in visit.links.targets]
        clues = Ragged.of([[order * 10 + int(place)] for place in places])
        return ScoredLinks(np.array(given, np.float32), state=places[:, None] + 10 * order, clues=clues)

    def evidence(self) -> list[tuple[int, float]]:
        return [
            (int(clue), round(float(relevance), 4))
            for _, evidence in self.shown
            for clue, relevance in zip(evidence.clues.values, evidence.relevance, strict=True)
        ]


def crawl(web: SmallWeb, strategy: Strategy, **settings: object) -> tuple[Crawl, list[Visit]]:
    config = CrawlConfig(**{"seeds": (url("/a"),), "frontier": FrontierConfig(delay=0), **settings})  # type: ignore[arg-type]
    made = Crawl(config, critic=WordCritic(), strategy=strategy, fetcher=web, clock=VirtualClock())
    return made, list(made)


def order_of(visits: list[Visit]) -> str:
    return "".join(visit.page.url[-1] for visit in visits)


DIAMOND = {
    url("/a"): html("bird bird", "/b", "/c"),
    url("/b"): html("stone", "/d", "/a"),
    url("/c"): html("bird", "/d"),
    url("/d"): html("bird nest"),
}


def test_breadth_first_is_the_order_of_discovery() -> None:
    web = SmallWeb(DIAMOND)
    made, visits = crawl(web, BreadthFirst())
    assert order_of(visits) == "abcd"
    assert [visit.trace.depth for visit in visits] == [0, 1, 1, 2]
    assert max(web.requests().values()) == 1
    assert made.stats.stopped == "nothing is left to fetch"


def test_every_link_with_two_known_ends_is_evidence_exactly_once() -> None:
    """a>b, a>c, b>d, c>d by the time the target is judged; b>a afterwards, because a was judged before b was seen."""
    recorder = Recorder()
    _, visits = crawl(SmallWeb(DIAMOND), recorder)
    truth = {visit.page.url[-1]: round(visit.judgement.raw, 4) for visit in visits}
    assert sorted(recorder.evidence()) == sorted(
        [(0, truth["b"]), (1, truth["c"]), (10, truth["d"]), (11, truth["a"]), (20, truth["d"])]
    )
    # what was found late comes with the next outcome: b>a with the visit of c
    assert [int(clue) for clue in recorder.shown[2][1].clues.values] == [11, 1]


def test_evidence_of_a_miss_that_was_learnt_already_does_not_come_again() -> None:
    recorder = Recorder()
    made, visits = crawl(SmallWeb(DIAMOND), recorder, stop=StopConfig(pages=2))  # b>a waits for the next outcome
    made.step.tell(Miss(url("/x"), visits[-1].trace, Reason.NOT_FOUND), learnt=True)
    assert len(recorder.shown) == 2
    assert not len(made.facts.evidence().clues)


def test_known_counts_pages_not_links() -> None:
    web = SmallWeb({**DIAMOND, url("/a"): html("bird bird", "/b", "/b", "/c")})
    _, visits = crawl(web, BreadthFirst())
    at_c = visits[2]  # links to d, which b (not relevant) links to
    assert order_of(visits) == "abcd"
    assert at_c.known.inlinks.tolist() == [1]
    assert at_c.known.relevant_inlinks.tolist() == [0]
    assert np.isnan(at_c.known.relevance).all()
    back = visits[1].known  # b links to d, unknown, and to a, judged
    assert np.isnan(back.relevance[0])
    assert back.relevance[1] == np.float32(visits[0].judgement.relevance)


@pytest.mark.parametrize(
    ("combine", "state", "score"),
    [
        (FIRST, 10, 1.0),  # b was first to link to d
        (BEST, 20, 3.0),  # c gave it the better score
        (LATEST, 20, 3.0),
        (Combine(Policy.MEAN), 20, 2.0),
    ],
)
def test_state_belongs_to_the_parent_whose_score_was_kept(combine: Combine, state: int, score: float) -> None:
    recorder = Recorder(combine, {"b>d": 1.0, "c>d": 3.0, "a>b": 9.0, "a>c": 9.0})
    _, visits = crawl(SmallWeb(DIAMOND), recorder)
    trace = visits[-1].trace
    assert order_of(visits) == "abcd"
    assert trace.inlinks.state[0, 0] == state
    assert trace.score == score
    assert sorted(trace.inlinks.scores.tolist()) == [1.0, 3.0]


def test_the_largest_state_is_kept_besides() -> None:
    recorder = Recorder(Combine(Policy.BEST, largest=(0,)), {"b>d": 3.0, "c>d": 1.0, "a>b": 9.0, "a>c": 9.0})
    _, visits = crawl(SmallWeb(DIAMOND), recorder)
    trace = visits[-1].trace
    assert trace.score == 3.0
    assert trace.inlinks.clues[0].tolist() == [10]  # by way of b …
    assert trace.inlinks.state[0, 0] == 20  # … with the state that c gave


def test_a_redirect_on_the_same_host_is_followed_at_once() -> None:
    """The links to the alias count as links to the page, for evidence, for what is known, for the trace."""
    web = SmallWeb(
        {
            url("/a"): html("bird", "/alias", "/b"),
            url("/alias"): Redirect(url("/alias"), url("/c")),
            url("/b"): html("stone", "/alias", "/c"),
            url("/c"): html("bird bird"),
        }
    )
    recorder = Recorder()
    made, visits = crawl(web, recorder)
    assert order_of(visits) == "acb"
    assert made.stats.requests == 4
    assert visits[1].trace.depth == 1
    assert visits[1].trace.inlinks.clues[0].tolist() == [0]
    assert not np.isnan(visits[2].known.relevance).any()
    relevance = round(visits[1].judgement.raw, 4)
    assert (0, relevance) in recorder.evidence()
    assert max(web.requests().values()) == 1


def test_a_redirect_to_a_page_we_have_is_a_miss() -> None:
    web = SmallWeb(
        {url("/a"): html("bird", "/b", "/x"), url("/b"): html("bird"), url("/x"): Redirect(url("/x"), url("/b"))}
    )
    made, visits = crawl(web, Recorder())
    assert order_of(visits) == "ab"
    assert made.stats.misses == {Reason.DUPLICATE: 1}


def test_a_redirect_to_another_host_waits_there_with_the_links_trace() -> None:
    far = url("b.test/f")
    web = SmallWeb(
        {
            url("/a"): html("bird", "/x", "/y"),
            url("/x"): Redirect(url("/x"), far),
            url("/y"): html("y"),
            far: html("far"),
        }
    )
    recorder = Recorder(BEST, {"a>x": 5.0, "a>y": 4.0})
    _, visits = crawl(web, recorder)
    assert order_of(visits) == "afy"
    trace = visits[1].trace
    assert (trace.depth, trace.score) == (1, 5.0)
    assert trace.inlinks.clues[0].tolist() == [0]


def test_rings_and_chains_of_redirects_end() -> None:
    ring = {url("/x"): Redirect(url("/x"), url("/y")), url("/y"): Redirect(url("/y"), url("/x"))}
    chain = {url(f"/{i}"): Redirect(url(f"/{i}"), url(f"/{i + 1}")) for i in range(20)}
    web = SmallWeb({url("/a"): html("bird", "/x", "/0"), **ring, **chain})
    made, visits = crawl(web, Recorder())
    assert order_of(visits) == "a"
    assert made.stats.misses == {Reason.BAD_REDIRECT: 1, Reason.TOO_MANY_REDIRECTS: 1}
    assert made.stats.requests == 1 + 2 + 6


def test_a_chain_of_redirects_over_hosts_ends_too() -> None:
    chain = {url(f"h{i}.test/"): Redirect(url(f"h{i}.test/"), url(f"h{i + 1}.test/")) for i in range(200)}
    web = SmallWeb({url("/a"): html("bird", "http://h0.test/"), **chain})
    made, _ = crawl(web, Recorder(), scope=ScopeConfig(max_depth=2))
    assert made.stats.misses == {Reason.TOO_MANY_REDIRECTS: 1}
    assert made.stats.requests == 1 + 6


def test_the_target_of_a_redirect_on_the_host_comes_next_whatever_it_is_worth() -> None:
    web = SmallWeb(
        {
            url("/a"): html("bird", "/x", "/y", "/z"),
            url("/x"): Redirect(url("/x"), url("/z")),
            url("/y"): html("y"),
            url("/z"): html("z"),
        }
    )
    for combine in (FIRST, BEST, LATEST):
        _, visits = crawl(web, Recorder(combine, {"a>x": 5.0, "a>y": 4.0, "a>z": 1.0}))
        assert order_of(visits) == "azy"
        assert visits[1].trace.score == 5.0  # of the link that led there


def test_redirects_out_of_scope_are_not_followed() -> None:
    web = SmallWeb({url("/a"): html("bird", "/x"), url("/x"): Redirect(url("/x"), url("b.test/f"))})
    made, _ = crawl(web, Recorder(), scope=ScopeConfig(within="host"))
    assert made.stats.misses == {Reason.BAD_REDIRECT: 1}
    assert made.stats.rejected == {"host": 1}
    assert url("b.test/f") not in web.asked


def test_a_failure_for_the_moment_is_tried_again_when_due() -> None:
    web = SmallWeb(
        {url("/a"): html("bird", "/x", "/b"), url("/x"): Failure(url("/x"), Reason.SERVER_ERROR, "busy", 30.0),
         url("/b"): html("stone")}
    )  # fmt: skip
    recorder = Recorder(BEST, {"a>x": 9.0})
    made, _ = crawl(web, recorder, frontier=FrontierConfig(delay=0, retries=2))
    assert [asked[-1] for asked in web.asked] == ["a", "x", "b", "x", "x"]
    assert made.stats.misses == {Reason.SERVER_ERROR: 1}
    assert [type(outcome).__name__ for outcome, _ in recorder.shown] == ["Visit", "Visit", "Miss"]


def test_budgets_and_stops() -> None:
    made, visits = crawl(SmallWeb(DIAMOND), BreadthFirst(), stop=StopConfig(pages=2))
    assert (order_of(visits), made.stats.stopped) == ("ab", "the budget of 2 pages is used up")
    made, visits = crawl(SmallWeb(DIAMOND), BreadthFirst(), frontier=FrontierConfig(delay=0, pages_per_host=3))
    assert order_of(visits) == "abc"
    made, visits = crawl(
        SmallWeb(DIAMOND), BreadthFirst(), frontier=FrontierConfig(delay=10), stop=StopConfig(seconds=15)
    )
    assert (order_of(visits), made.stats.stopped) == ("ab", "the budget of 15 seconds is used up")


def test_depth_limit_counts_what_it_rejects() -> None:
    made, visits = crawl(SmallWeb(DIAMOND), BreadthFirst(), scope=ScopeConfig(max_depth=1))
    assert order_of(visits) == "abc"
    assert made.stats.rejected == {"depth": 3}


def test_a_page_cannot_bring_any_number_of_links_or_hosts() -> None:
    """The first ones are followed, the others are counted. Known hosts do not count."""
    far = [f"http://h{number}.test/{page}" for number in range(9) for page in "pq"]
    web = SmallWeb({url("/a"): html("bird", "http://h7.test/", *far, "/b"), url("http://h7.test/"): html("bird", *far)})
    limits = FrontierConfig(delay=0, links_per_page=18, hosts_per_page=3)
    made, _ = crawl(web, BreadthFirst(), frontier=limits)
    asked = [place.removeprefix("http://") for place in web.asked]
    assert asked[1:] == [
        "h7.test/",
        *(f"h{host}.test/{page}" for host in (0, 1) for page in "pq"),
        "h7.test/p",
        "h7.test/q",
    ]
    assert made.stats.rejected["links of a page"] == 2
    assert made.stats.rejected["new hosts of a page"] == 18 - 7


def test_links_with_nofollow_are_left_out_if_asked() -> None:
    page = "<p>bird <a href='/b' rel='external NoFollow'>b</a> <a href='/c'>c</a>"
    for obeyed in (True, False):
        web = SmallWeb({url("/a"): page})
        made, _ = crawl(web, BreadthFirst(), scope=ScopeConfig(nofollow=obeyed))
        assert web.asked == [url("/a"), *([] if obeyed else [url("/b")]), url("/c")]
        assert made.stats.rejected["nofollow"] == obeyed


@pytest.mark.parametrize("seeds", [(), ("not a url",), ("ftp://a.test/",)])
def test_seeds_must_be_there_and_be_urls(seeds: tuple[str, ...]) -> None:
    with pytest.raises(ForagerError, match="seed"):
        crawl(SmallWeb({}), BreadthFirst(), seeds=seeds)
