"""From a configuration to the parts of a crawl: seeds, scope, critic, strategy, and the web that is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from forager.clock import Clock, VirtualClock, WallClock
from forager.config import CrawlConfig
from forager.crawl.forecast import check_yield
from forager.crawl.step import LinkLimits
from forager.critics import make_critic
from forager.errors import ForagerError
from forager.fetch import make_fetcher, make_http, opened
from forager.fetch.http import HttpFetcher
from forager.fetch.render import Renderer, make_renderer
from forager.fetch.robots import LARGEST, Robots
from forager.learn.tfidf import Query
from forager.store.models import load
from forager.strategies import make_strategy
from forager.types import Answer, Critic, Failure, Fetch, Fetcher, Page, Persists, Strategy, Url
from forager.web.scope import Scope
from forager.web.urls import UrlRules

CRITIC_VERSION = 1  # of models of critics
STRATEGY_VERSION = 1  # of what strategies have learnt


def rules_of(config: CrawlConfig) -> UrlRules:
    """How URLs are made canonical."""
    return UrlRules(config.urls.strip, config.urls.longest)


def seeds_of(config: CrawlConfig, rules: UrlRules) -> list[Url]:
    if not config.seeds:
        raise ForagerError('no seeds: name at least one URL to start from, e.g. seeds = ["https://example.org/"]')
    seeds: list[Url] = []
    for text in config.seeds:
        url = rules.canonical(text)
        if url is None:
            raise ForagerError(f"seed {text!r} is not an http or https URL of at most {rules.longest} characters")
        seeds.append(url)
    return seeds


def scope_of(config: CrawlConfig, seeds: list[Url]) -> Scope:
    scope = config.scope
    return Scope(scope.within, seeds, scope.include, scope.exclude, scope.schemes, scope.max_depth)


def link_limits_of(config: CrawlConfig) -> LinkLimits:
    frontier = config.frontier
    scope = config.scope
    return LinkLimits(
        frontier.links_per_page, frontier.hosts_per_page, scope.nofollow, scope.declared, scope.feeds, scope.traps
    )


def critic_of(config: CrawlConfig) -> Critic:
    named = config.critic
    if named is None:
        raise ForagerError('no critic: name one, e.g. [critic] name = "predicate", options.keywords = ["…"]')
    if named.model is None:
        return make_critic(named.name, {"seed": config.seed}, named.options)
    parts = load(Path(named.model), kind=named.name, version=CRITIC_VERSION)
    critic = make_critic(named.name, {"seed": config.seed, "focus": parts.get("focus", ())}, named.options)
    if not isinstance(critic, Persists):
        raise ForagerError(f"critic {named.name!r} cannot be loaded from a model: leave `model` out")
    return critic.from_parts(parts)


def query_of(config: CrawlConfig, critic: Critic) -> Query:
    """The keywords the critic was given, or else the names of what it looks for."""
    keywords = config.critic.options.get("keywords", ()) if config.critic else ()
    return Query.of((keywords,) if isinstance(keywords, str) else keywords or critic.focus)


def strategy_of(config: CrawlConfig, critic: Critic, query: Query | None = None) -> Strategy:
    query = query or query_of(config, critic)
    known = {"critic": critic, "classes": critic.classes, "focus": critic.focus, "query": query, "sample": query.sample}
    given = {"seed": config.seed, **known}
    strategy = make_strategy(config.strategy.name, given, config.strategy.options)
    check_yield(config.stop.least_yield, strategy)
    if config.strategy.model is None:
        return strategy
    if not isinstance(strategy, Persists):
        raise ForagerError(f"strategy {config.strategy.name!r} learns nothing that a model could hold: leave it out")
    return strategy.from_parts(load(Path(config.strategy.model), kind=config.strategy.name, version=STRATEGY_VERSION))


# ---- the web


class HostRules(Protocol):
    """What a host asks of us."""

    @property
    def delay(self) -> float | None:
        """Seconds between two requests, None if it does not say."""

    @property
    def problem(self) -> Failure | None:
        """Why the rules are not known, if they are not; then nothing is allowed."""

    @property
    def sitemaps(self) -> tuple[Url, ...]: ...
    def allows(self, url: Url) -> bool: ...
    def is_quick(self, url: Url) -> bool:
        """Whether `allows` may be called on the loop."""


class Courtesy(Protocol):
    """Knows what hosts ask of us: robots.txt."""

    def known(self, url: Url) -> HostRules | None:
        """The rules for a URL if they need not be asked for now."""

    async def rules(self, url: Url) -> HostRules | None:
        """The same, after one request to the host if need be: under its lease. None: ask again when it has rested."""


Ask: TypeAlias = Callable[[Url], Awaitable[Answer]]


class Renders(Protocol):
    """Shows pages as a browser does."""

    def wants(self, fetch: Fetch, page: Page) -> bool: ...
    async def render(self, fetch: Fetch) -> Answer: ...


class Errands(Protocol):
    """What a crawl does for requests that are no links of its own: robots.txt."""

    async def elsewhere(self, url: Url, ask: Ask) -> Answer | None:
        """Ask another host than the one that is leased. None: it may not be asked now."""

    def keep(self, answer: Answer) -> None:
        """Put an answer into the archive."""


@dataclass(frozen=True, slots=True)
class OpenWeb:
    """A web that can be asked: who fetches, and who knows what hosts ask of us (None: nobody is asked)."""

    fetcher: Fetcher
    courtesy: Courtesy | None = None
    longest_delay: float = 60.0  # seconds that a slow host rests, at most
    agent: str = ""  # our name
    renderer: Renders | None = None  # a browser, for pages that scripts make


def clock_of(config: CrawlConfig) -> Clock:
    """The wall's clock; on a recorded web a virtual one, which never sleeps."""
    return WallClock() if config.fetch.replay is None else VirtualClock()


@asynccontextmanager
async def open_web(config: CrawlConfig, clock: Clock, errands: Errands) -> AsyncIterator[OpenWeb]:
    """The web that a configuration names, for as long as the block lasts.

    That is the network, or a recorded web if `fetch.replay` names one, or what the fetcher `fetch.name` brings. All but
    a recorded web are asked for their robots.txt.
    """
    fetch, rules = config.fetch, rules_of(config)
    name = fetch.name or ("http" if fetch.replay is None else "replay")
    fetcher = make_fetcher(name, {"fetch": fetch, "rules": rules, "clock": clock}, fetch.options)
    if isinstance(fetcher, HttpFetcher):
        fetcher.holds_bodies = True  # a crawl lets go of an answer when it is stored
    async with opened(fetcher), AsyncExitStack() as stack:
        if fetch.replay is not None or not fetch.robots:
            renderer = make_renderer(config.render, fetch, rules=rules, clock=clock, allowed=_anything)
            yield OpenWeb(fetcher, longest_delay=fetch.longest_delay, renderer=await _enter(stack, renderer))
            return
        http = fetcher if isinstance(fetcher, HttpFetcher) else make_http(fetch, rules, clock)
        if http is not fetcher:
            await stack.enter_async_context(http)
        robots = _robots(http, fetch.longest_delay, rules, clock, errands)

        async def allowed(url: Url) -> bool:
            found = await robots.rules(url)
            return found is not None and found.problem is None and found.allows(url)

        renderer = make_renderer(config.render, fetch, rules=rules, clock=clock, allowed=allowed)
        yield OpenWeb(fetcher, robots, fetch.longest_delay, http.agent, await _enter(stack, renderer))


async def _anything(url: Url) -> bool:
    return True


async def _enter(stack: AsyncExitStack, renderer: Renderer | None) -> Renderer | None:
    return None if renderer is None else await stack.enter_async_context(renderer)


def _robots(http: HttpFetcher, longest_delay: float, rules: UrlRules, clock: Clock, errands: Errands) -> Robots:
    """robots.txt of all hosts. When to ask again after a failure is decided by how the host is (`crawl.health`)."""

    async def ask(url: Url) -> Answer:
        answer = await http.fetch_start(url, LARGEST)
        errands.keep(answer)
        return answer

    async def elsewhere(url: Url) -> Answer | None:
        return await errands.elsewhere(url, ask)

    return Robots(ask, http.agent, clock=clock, elsewhere=elsewhere, urls=rules, longest_delay=longest_delay, retry=0.0)
