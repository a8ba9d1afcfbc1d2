from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest

from forager import critics, registry
from forager.clock import VirtualClock
from forager.config import FetchConfig
from forager.critics import CRITICS, make_critic
from forager.critics.naive_bayes import NaiveBayes
from forager.errors import ForagerError
from forager.fetch import fetcher_names, make_fetcher, make_http, opened
from forager.fetch.http import HttpFetcher
from forager.types import Fetch, Inlinks, Judgement, Known, Page, Ragged, Trace, Url, Visit
from forager.web.urls import RULES

from .critics.pages import page


@pytest.mark.usefixtures("plugin")
def test_a_plugged_in_critic_is_made_like_one_of_ours() -> None:
    assert {"naive-bayes", "predicate", "shouting", "broken", "nothing"} <= set(critics.critic_names())
    critic = make_critic("shouting", {"seed": 1, "focus": ["x"]}, {"threshold": 0.5})
    loud, quiet = critic.judge([page("BUY NOW"), page("good day")])
    assert (loud.relevance, quiet.relevance) == (1, 0)


@pytest.mark.usefixtures("plugin")
def test_a_plugged_in_strategy_is_found() -> None:
    maker = registry.find("strategy", "last-first", builtin={}, group="forager.strategies")
    strategy = registry.make(maker, {"seed": 1}, {})
    here = page("x")
    known = Known(np.empty(0, np.float32), np.empty(0, np.int32), np.empty(0, np.int32))
    no_links = Inlinks(np.empty(0, np.int32), np.empty(0, np.float32), np.empty((0, 0), np.float32), Ragged.of([]))
    judged = Judgement(1, 1, np.array([1, 0], np.float32), "x")
    assert (
        strategy.score(Visit(here, here.links, judged, Trace(0, 0, 7, 0, 0.0, no_links), known)).scores.tolist() == []
    )


WEB = {"fetch": FetchConfig(contact="me@example.org"), "rules": RULES, "clock": VirtualClock()}


@pytest.mark.usefixtures("plugin")
def test_a_plugged_in_fetcher_is_made_like_one_of_ours() -> None:
    assert fetcher_names() == ["echo", "http", "replay"]
    fetcher = make_fetcher("echo", WEB, {"greeting": "good day"})

    async def ask() -> object:
        async with opened(fetcher) as open_fetcher:
            return await open_fetcher.fetch(Url("http://a.test/"))

    answer = asyncio.run(ask())
    assert isinstance(answer, Fetch)
    assert answer.body == b"<p>good day http://a.test/"
    assert fetcher.closed  # type: ignore[attr-defined]
    assert isinstance(make_fetcher("http", WEB, {}), HttpFetcher)  # what is built in cannot be replaced
    with pytest.raises(ForagerError, match="parameter 'greeting' of Echo is 3"):
        make_fetcher("echo", WEB, {"greeting": 3})


def test_the_settings_of_a_configuration_are_all_that_a_fetcher_needs() -> None:
    assert "; me@example.org)" in make_http(FetchConfig(contact="me@example.org"), RULES, VirtualClock()).agent


def test_wrong_fetchers_are_told() -> None:
    with pytest.raises(ForagerError, match="no fetcher named 'htp'; nearest: http"):
        make_fetcher("htp", WEB, {})
    with pytest.raises(ForagerError, match="no recorded web to crawl"):
        make_fetcher("replay", WEB, {})
    with pytest.raises(ForagerError, match="contact '' is neither"):
        make_fetcher("http", {**WEB, "fetch": FetchConfig()}, {})


@pytest.mark.usefixtures("plugin")
def test_a_broken_plug_in_harms_no_other() -> None:
    with pytest.raises(
        ForagerError, match=r"critic 'broken' of package 'forager-sample' .* cannot be imported: .*missing_"
    ):
        make_critic("broken", {}, {})
    with pytest.raises(
        ForagerError, match=r"'nothing' of package 'forager-sample' .* is no class or function but a int"
    ):
        make_critic("nothing", {}, {})
    assert make_critic("shouting", {}, {}).version == "shouting-1"


@pytest.mark.usefixtures("plugin")
def test_what_is_built_in_cannot_be_replaced() -> None:
    assert registry.find("critic", "naive-bayes", builtin=CRITICS, group=critics.GROUP) is NaiveBayes


def test_an_unknown_name_brings_the_nearest() -> None:
    with pytest.raises(ForagerError, match="no critic named 'naive-bays'; nearest: naive-bayes"):
        make_critic("naive-bays", {}, {})


class Maker:
    def __init__(
        self,
        focus: Sequence[str],
        *,
        seed: int = 0,
        rate: float = 0.1,
        on: bool = True,
        name: str | None = None,
        mode: Literal["a", "b"] = "a",
        pages: Sequence[Page] = (),
    ) -> None:
        self.told = (list(focus), seed, rate, on, name, mode, pages)


GIVEN = {"focus": ["x"], "seed": 7, "clock": "not asked for"}


def test_a_maker_gets_what_it_asks_for() -> None:
    assert registry.make(Maker, GIVEN, {}).told == (["x"], 7, 0.1, True, None, "a", ())
    params = {"seed": 8, "rate": 1, "on": False, "name": "n", "mode": "b"}
    assert registry.make(Maker, GIVEN, params).told == (["x"], 8, 1.0, False, "n", "b", ())


def test_a_maker_may_take_anything() -> None:
    def taking(seed: int, **rest: object) -> tuple[int, dict[str, object]]:
        return seed, rest

    assert registry.make(taking, GIVEN, {"colour": "red"}) == (7, {"colour": "red"})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rte": 1}, "no parameter of Maker named 'rte'; nearest: rate"),
        ({"seed": "seven"}, "parameter 'seed' of Maker is 'seven': Expected `int`, got `str`"),
        ({"seed": 1.5}, "Expected `int`, got `float`"),
        ({"seed": True}, "Expected `int`, got `bool`"),
        ({"rate": "fast"}, "Expected `float`, got `str`"),
        ({"on": 1}, "Expected `bool`, got `int`"),
        ({"name": 3}, r"Expected `str \| null`, got `int`"),
        ({"mode": "c"}, "Invalid enum value 'c'"),
        ({"focus": "x"}, "Expected `array`, got `str`"),
        ({"focus": ["x", 3]}, "Expected `str`, got `int`"),
    ],
)
def test_wrong_parameters(params: dict[str, object], message: str) -> None:
    with pytest.raises(ForagerError, match=message):
        registry.make(Maker, GIVEN, params)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ForagerError, match="Maker needs 'focus': give it"):
        registry.make(Maker, {}, {})


def test_the_parameters_of_our_critics_are_checked() -> None:
    with pytest.raises(ForagerError, match="parameter 'held_out' of NaiveBayes is 'many'"):
        make_critic("naive-bayes", {"focus": ["x"]}, {"held_out": "many"})
    with pytest.raises(ForagerError, match="NaiveBayes needs 'focus'"):
        make_critic("naive-bayes", {}, {})
