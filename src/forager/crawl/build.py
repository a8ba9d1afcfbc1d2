"""From a configuration to the parts of a crawl: seeds, scope, critic, strategy, fetcher."""

from __future__ import annotations

from pathlib import Path

from forager.config import CrawlConfig
from forager.critics import make_critic
from forager.errors import ForagerError
from forager.fetch.replay import open_recording
from forager.learn.tfidf import Query
from forager.store.models import load
from forager.strategies import make_strategy
from forager.types import Critic, Fetcher, Persists, Strategy, Url
from forager.web.scope import Scope
from forager.web.urls import UrlRules

CRITIC_VERSION = 1  # of models of critics
STRATEGY_VERSION = 1  # of what strategies have learnt


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
    given = {"seed": config.seed, "critic": critic, "classes": critic.classes, "focus": critic.focus, "query": query}
    strategy = make_strategy(config.strategy.name, given, config.strategy.options)
    if config.strategy.model is None:
        return strategy
    if not isinstance(strategy, Persists):
        raise ForagerError(f"strategy {config.strategy.name!r} learns nothing that a model could hold: leave it out")
    return strategy.from_parts(load(Path(config.strategy.model), kind=config.strategy.name, version=STRATEGY_VERSION))


def fetcher_of(config: CrawlConfig, rules: UrlRules) -> Fetcher:
    if config.fetch.replay is None:
        raise ForagerError('no web to crawl: name a recorded one, [fetch] replay = "FOLDER", or give a fetcher')
    return open_recording(Path(config.fetch.replay), rules).fetcher
