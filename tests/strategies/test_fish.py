"""Fish-Search: widths, depths and slow hosts, on visits made by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from forager.clock import VirtualClock
from forager.config import CrawlConfig, FrontierConfig
from forager.crawl.loop import Crawl
from forager.errors import ForagerError
from forager.strategies import fish
from forager.strategies.fish import FishSearch
from forager.types import NEVER, Evidence, Miss, Page, Ragged, Reason, Trace, Url
from tests.small_web import SmallWeb, WordCritic, html, url
from tests.visits import inlinks, page_of, visit_of

NO_EVIDENCE = Evidence(Ragged.of([]), np.zeros(0, np.float32), np.zeros(0, np.float32))


def page(links: int = 5, host: str = "a.test") -> Page:
    anchors = "".join(f'<a href="http://{host}/{i}">x</a>' for i in range(links))
    return page_of("http://a.test/", f"<body>{anchors}</body>")


def timeout(host: str, reason: Reason = Reason.TIMEOUT) -> Miss:
    return Miss(Url(f"http://{host}/x"), Trace(1, 1, 1, 1, 0.0, inlinks([[1]])), reason)


def told(strategy: FishSearch, *misses: Miss) -> FishSearch:
    for miss in misses:
        strategy.observe(miss, NO_EVIDENCE)
    return strategy


@pytest.mark.parametrize(
    ("relevance", "scores", "depth"),
    [
        (0.5, [1, 1, 1, 0, 0], 4),  # a relevant page: 1.5 x 2 links, the full depth
        (0.49, [0.5, 0.5, 0, 0, 0], 1),  # another page: 2 links, its own depth 2 less 1
    ],
)
def test_the_first_links_are_better_and_relevant_pages_restore_the_depth(
    relevance: float, scores: list[float], depth: int
) -> None:
    scored = FishSearch(width=2, depth=4).score(visit_of(page(), relevance, parents=inlinks([[2]])))
    assert scored.scores.tolist() == scores
    assert scored.state is not None
    assert scored.state.tolist() == [[depth]] * 5


@pytest.mark.parametrize("relevance", [0.1, 0.9])
def test_a_page_at_depth_0_is_not_expanded(relevance: float) -> None:
    assert set(FishSearch().score(visit_of(page(), relevance, parents=inlinks([[0]]))).scores.tolist()) == {NEVER}
    assert NEVER not in FishSearch().score(visit_of(page(), relevance, parents=inlinks([[1]]))).scores


def test_a_seed_has_the_whole_depth() -> None:
    state = FishSearch(depth=3).score(visit_of(page(), 0.1)).state
    assert state is not None
    assert state[0, 0] == 2


def test_a_school_dies_after_so_many_pages_without_food() -> None:
    """A chain of six pages: depth 2 reaches the page two links away; a relevant page sets the depth to 2 again."""

    def fetched(relevant: int) -> list[str]:
        chain = {url(f"/{i}" if i else "/"): html("bird" if i == relevant else "stone", f"/{i + 1}") for i in range(6)}
        web = SmallWeb(chain)
        config = CrawlConfig(seeds=(url("/"),), frontier=FrontierConfig(delay=0))
        list(
            Crawl(
                config,
                critic=WordCritic(),
                strategy=FishSearch(depth=2, threshold=0.2),
                fetcher=web,
                clock=VirtualClock(),
            )
        )
        return [asked.removeprefix(url("/")) for asked in web.asked]

    assert fetched(relevant=9) == ["", "1", "2"]
    assert fetched(relevant=1) == ["", "1", "2", "3", "4"]  # depths 2, 1, 2, 1, 0


def test_links_to_a_slow_host_are_dropped() -> None:
    strategy = told(FishSearch(timeouts=2), timeout("slow.test"), timeout("a.test", Reason.DNS), timeout("a.test"))
    assert strategy.score(visit_of(page(2, "slow.test"), 0.9)).scores.tolist() == [1, 1]
    told(strategy, timeout("slow.test"))
    assert strategy.score(visit_of(page(2, "slow.test"), 0.9)).scores.tolist() == [NEVER, NEVER]
    assert strategy.score(visit_of(page(2, "a.test"), 0.9)).scores.tolist() == [1, 1]


def test_slow_hosts_are_kept_and_shards_add_them_up() -> None:
    one, other = told(FishSearch(), timeout("slow.test"), timeout("b.test")), told(FishSearch(), timeout("slow.test"))
    saved = json.loads(json.dumps(one.parts()))
    assert one.from_parts(saved).parts() == one.parts()
    merged = one.merge([one.parts(), other.parts()])
    assert dict(zip(merged["hosts"], merged["times"], strict=True)) == {"slow.test": 2, "b.test": 1}
    assert one.from_parts(merged).parts() == merged


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fish, "REMEMBERED", 3)
    strategy = told(FishSearch(), *(timeout(f"{i}.test") for i in range(9)))
    assert strategy.parts()["hosts"] == ["6.test", "7.test", "8.test"]


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ForagerError, match="depth and timeouts at least 1"):
        FishSearch(depth=0)
