"""A project: a folder with a configuration and a crawl in it that can be stopped and taken up again.

forager.toml   the configuration          seeds.txt       seeds, one a line, besides those of the configuration
crawl.sqlite   facts and catalogue        links.bin, warc/, checkpoints/
search.sqlite  can be rebuilt             forager.lock    held while a crawl runs
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from forager.clock import Clock, VirtualClock, WallClock
from forager.config import CrawlConfig, read_config
from forager.crawl.build import critic_of, strategy_of
from forager.crawl.journal import Journal
from forager.crawl.loop import Courtesy, Crawl
from forager.crawl.stats import Tally
from forager.errors import ForagerError
from forager.fetch.http import HttpFetcher, Limits
from forager.fetch.replay import open_recording
from forager.fetch.robots import LARGEST, Robots
from forager.learn.tfidf import Query
from forager.store import Store
from forager.types import Critic, Failure, Fetch, Fetcher, Page, Visit
from forager.web.page import parse
from forager.web.urls import RULES, UrlRules

CONFIG, SEEDS = "forager.toml", "seeds.txt"


class Project:
    def __init__(self, folder: Path, config: CrawlConfig | None = None) -> None:
        """A folder with a configuration in it; or one that needs none, because it is given."""
        self.folder = folder
        if config is None:
            if not (folder / CONFIG).is_file():
                raise ForagerError(f"{folder} is no project: it has no {CONFIG}; make one with `forager new {folder}`")
            config = read_config(folder / CONFIG)
        self.config = msgspec.structs.replace(config, seeds=(*config.seeds, *self._more_seeds()))
        self._rules = UrlRules(config.urls.strip, config.urls.longest)

    def _more_seeds(self) -> list[str]:
        return read_seeds(self.folder / SEEDS) if (self.folder / SEEDS).exists() else []

    def add_seeds(self, urls: Sequence[str]) -> int:
        """Seeds for the next crawl; how many were new."""
        rules = self._rules
        known = {rules.canonical(seed) for seed in self.config.seeds}
        for url in urls:
            if rules.canonical(url) is None:
                raise ForagerError(f"{url!r} is not an http or https URL: nothing was added")
        new = [url for url in dict.fromkeys(urls) if rules.canonical(url) not in known]
        if not new:
            return 0
        with (self.folder / SEEDS).open("a", encoding="utf-8") as file:
            file.writelines(f"{url}\n" for url in new)
        return len(new)

    async def crawl(
        self,
        began: Callable[[Crawl, list[str]], None] = lambda crawl, notes: None,
        each: Callable[[Visit], None] = lambda visit: None,
        *,
        critic: Critic | None = None,
        query: Query | None = None,
    ) -> Tally:
        """Crawl until something stops it. `began` hears of the crawl, of settings changed since the last time, and of
        what could not be used of a learner's checkpoints.
        Critic and query are those of the configuration, unless they are given."""
        clock: Clock = WallClock() if self.config.fetch.replay is None else VirtualClock()
        durable, size = self.config.store.durable, self.config.store.warc_size
        critic = critic or critic_of(self.config)  # before anything is written, because it may be wrong
        strategy = strategy_of(self.config, critic, query)
        with Store(self.folder, durable=durable, clock=clock, warc_size=size) as store:
            async with self._web(clock) as (fetcher, courtesy):
                journal = Journal(store, clock)
                crawl = Crawl(
                    self.config,
                    critic=critic,
                    strategy=journal.learner(strategy),
                    fetcher=fetcher,
                    clock=clock,
                    courtesy=courtesy,
                    keeper=journal,
                    folder=self.folder,
                    rest_until=clock.now() + self.config.frontier.delay if store.last_seq >= 0 else float("-inf"),
                )
                journal.restore(crawl, self._read)
                began(crawl, [*store.warnings, *changes_since(store, self.config)])
                session = store.begin_session(msgspec.json.encode(self.config).decode(), version("forager"))
                try:
                    async with aclosing(crawl.visits()) as visits:
                        async for visit in visits:
                            each(visit)
                except asyncio.CancelledError:
                    crawl.tally.stopped = "stopped at once"
                    raise
                finally:
                    store.end_session(session, crawl.tally.stopped or "failed")
                    journal.end()
        return crawl.tally

    def _read(self, answer: Fetch) -> Page | Failure:
        return parse(answer, self._rules)

    @asynccontextmanager
    async def _web(self, clock: Clock) -> AsyncIterator[tuple[Fetcher, Courtesy | None]]:
        fetch, rules = self.config.fetch, self._rules
        if fetch.replay is not None:
            yield open_recording(Path(fetch.replay), rules).fetcher, None
            return
        limits = Limits(connect=fetch.connect, read=fetch.read, total=fetch.total, largest=fetch.largest)
        async with HttpFetcher(
            fetch.contact, limits=limits, allow=fetch.allow, resolve=fetch.resolve, rules=rules, clock=clock
        ) as fetcher:
            ask = partial(fetcher.fetch_start, largest=LARGEST)
            robots = Robots(ask, fetcher.agent, clock=clock, urls=rules, longest_delay=fetch.longest_delay)
            yield fetcher, robots if fetch.robots else None


def read_seeds(file: Path) -> list[str]:
    """One URL a line; empty lines and what follows a # at the start of one are passed over."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ForagerError(f"{file} cannot be read: {error}") from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def new_project(folder: Path, toml: str, seeds: Sequence[str]) -> Project:
    """A folder with this configuration and these seeds. Nothing that is there is overwritten."""
    if (folder / CONFIG).exists():
        raise ForagerError(f"{folder} has a {CONFIG} already: choose another folder, or edit that file")
    for url in seeds:
        if RULES.canonical(url) is None:
            raise ForagerError(f"seed {url!r} is not an http or https URL: nothing was made")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG).write_text(toml, encoding="utf-8")
    except OSError as error:
        raise ForagerError(f"{folder} cannot be written: {error.strerror}") from None
    project = Project(folder)
    project.add_seeds(seeds)
    return Project(folder)


def empty_folder(folder: Path) -> Path:
    """The folder, made if need be. One that holds anything is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        full = any(folder.iterdir())
    except OSError as error:
        raise ForagerError(f"{folder} cannot be used: {error.strerror}") from None
    if full:
        raise ForagerError(f"{folder} is not empty: name a new folder, or remove it")
    return folder


def changes_since(store: Store, config: CrawlConfig) -> list[str]:
    """The settings that differ from those of the session before, one line each."""
    sessions = store.sessions()
    if not sessions:
        return []
    before = dict(_flat(msgspec.json.decode(sessions[-1].config)))
    now = dict(_flat(msgspec.to_builtins(config)))
    keys = sorted({*before, *now})
    changed = [key for key in keys if before.get(key) != now.get(key)]
    return [f"changed since the last time: {key}: {before.get(key)!r} -> {now.get(key)!r}" for key in changed]


def _flat(table: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", list(value) if isinstance(value, tuple) else value
