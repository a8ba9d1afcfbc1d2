"""The folder of a crawl that can be stopped and resumed: its configuration, its seeds, and its store.

forager.toml   the configuration          seeds.txt       seeds, one a line, besides those of the configuration
crawl.sqlite   facts and catalogue        links.bin, warc/, checkpoints/
search.sqlite  can be rebuilt             lock            held while a crawl runs
traps.json     the traps found so far     forecast.json   what to expect
log/           what happened              told.json       what a webhook was told
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import aclosing
from datetime import datetime
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, TypeAlias

import msgspec

from forager.clock import Clock, WallClock
from forager.config import CrawlConfig, read_config
from forager.crawl.anew import score_anew
from forager.crawl.build import clock_of, critic_of, rules_of, strategy_of
from forager.crawl.health import MAY_PASS
from forager.crawl.loop import Crawl
from forager.crawl.resume import resume
from forager.crawl.stats import CrawlStats
from forager.errors import ForagerError, unknown
from forager.files import writing
from forager.learn.tfidf import Query
from forager.store import ReturnedUrl, SeenPage, Store
from forager.store.recorded import StoredCrawl
from forager.store.status import ForecastNote, write_forecast, write_traps
from forager.types import Critic, Fetcher, Reason, Visit
from forager.watch import open_log, serve_metrics
from forager.web.urls import RULES

Began: TypeAlias = Callable[[Crawl, list[str]], None]  # told the crawl, and notes for people
Each: TypeAlias = Callable[[Visit], None]  # told each page

CONFIG, SEEDS = "forager.toml", "seeds.txt"
NOTED = 30.0  # seconds between two notes of what a crawl knows


class CrawlFolder:
    """A folder with a crawl in it. What people use is `forager.Project`, which adds topics and collections."""

    def __init__(self, folder: str | Path, config: CrawlConfig | None = None) -> None:
        """A folder with a configuration in it; or one that needs none, because it is given."""
        self.folder = folder = Path(folder)
        if config is None:
            if not (folder / CONFIG).is_file():
                raise ForagerError(f"{folder} is no project: it has no {CONFIG}; make one with `forager new {folder}`")
            config = read_config(folder / CONFIG)
        self.config = msgspec.structs.replace(config, seeds=(*config.seeds, *self._more_seeds()))
        self._rules = rules_of(config)

    @classmethod
    def create(cls, folder: str | Path, toml: str, seeds: Sequence[str] = ()) -> Self:
        """A folder with this configuration and these seeds. Nothing that is there is overwritten."""
        folder = Path(folder)
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
        cls(folder).add_seeds(seeds)
        return cls(folder)

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
        place = self.folder / SEEDS
        with writing(place), place.open("a", encoding="utf-8") as file:
            file.writelines(f"{url}\n" for url in new)
        return len(new)

    def retry(self, reasons: Collection[str] = (), hosts: Collection[str] = ()) -> int:
        """Let URLs that brought no page wait again, for the next crawl; how many there are.

        `reasons`: those of the misses; if none is given, those that may have passed. `hosts`: names, or patterns with a
        star; if none is given, all.
        """
        for reason in reasons:
            if reason not in set(Reason):
                raise unknown("reason", reason, set(Reason))
        wanted = set(reasons) or MAY_PASS
        with self._store(clock_of(self.config)) as store:
            again = [
                ReturnedUrl(miss.id, miss.score, "retry")
                for miss in store.misses()
                if miss.reason in wanted and (not hosts or any(fnmatchcase(miss.host, host) for host in hosts))
            ]
            store.ask_again(again)
        return len(again)

    async def crawl(
        self,
        began: Began = lambda crawl, notes: None,
        each: Each = lambda visit: None,
        *,
        critic: Critic | None = None,
        query: Query | None = None,
        fetcher: Fetcher | None = None,
        scored: Callable[[int], None] = lambda pages: None,
        refresh: bool = False,
    ) -> CrawlStats:
        """Crawl until something stops it, from where the crawl was stopped before. With `refresh`, pages that may have
        changed are asked for again first.

        `began` is told the crawl, and notes: the settings that changed since the last time, and checkpoints that could
        not be used. `each` is told every page. Critic, query and fetcher come from the configuration if not given. If
        the strategy is another one than the last time, all pages are scored again first; `scored` is told how many.
        """
        clock = clock_of(self.config)
        critic = critic or critic_of(self.config)  # before anything is written, because it may be wrong
        strategy = strategy_of(self.config, critic, query)
        with self._store(clock) as store, open_log(self.folder, self.config) as log:
            if store.last_seq >= 0 and has_another_strategy(store, self.config):
                new = strategy_of(self.config, critic, query)
                given = (self.config, store)
                score_anew(*given, critic=critic, strategy=new, folder=self.folder, judge=False, tell=scored)
            crawl = resume(
                *(self.config, store),
                critic=critic,
                strategy=strategy,
                clock=clock,
                fetcher=fetcher,
                folder=self.folder,
                log=log,
            )
            if refresh:
                crawl.revisit(self._due(store, clock.utc()), store.answer_of)
            with serve_metrics(self.config.log.metrics, crawl.figures):
                notes = [*store.warnings, *changes_since(store, self.config)]
                for note in notes:
                    log.warning("note", said=note)
                began(crawl, notes)
                await self._run(crawl, store, each)
        return crawl.stats

    def _due(self, store: Store, now: datetime) -> list[SeenPage]:
        """The pages that should be looked at again by now, those that have waited longest first."""
        limits = self.config.refresh
        due = ((page.due(limits.soonest, limits.latest), page) for page in store.pages())
        return [page for _, page in sorted(pair for pair in due if pair[0] <= now)]

    async def _run(self, crawl: Crawl, store: Store, each: Each) -> None:
        """Crawl, as one session of the store."""
        now, log, clock = version("forager"), crawl.log, WallClock()
        session = store.begin_session(msgspec.json.encode(self.config).decode(), now)
        log.info("session began", version=now, pages=crawl.stats.pages, waiting=len(crawl.frontier))
        try:
            async with aclosing(crawl.visits()) as visits:
                noted = clock.now()
                async for visit in visits:
                    each(visit)
                    if clock.now() - noted >= NOTED:
                        noted = clock.now()
                        self._note(crawl)
        except asyncio.CancelledError:
            crawl.stats.stopped = "stopped at once"
            raise
        finally:
            reason = crawl.stats.stopped or "failed"
            self._note(crawl)
            store.end_session(session, reason)
            log.info("session ended", pages=crawl.stats.pages, requests=crawl.stats.requests, reason=reason)
            if crawl.stats.stopped:  # else a step has failed, and the strategy may know what is not stored
                crawl.checkpoint()

    def _note(self, crawl: Crawl) -> None:
        """Note traps and forecast, for `forager status`."""
        forecaster = crawl.state.forecaster
        try:
            write_traps(self.folder, crawl.state.traps.report())
            write_forecast(self.folder, ForecastNote(forecaster.forecast(crawl.frontier), forecaster.why_not))
        except ForagerError as error:
            crawl.log.warning("not noted", error=str(error))

    def _store(self, clock: Clock) -> Store:
        settings = self.config.store
        return Store(
            self.folder,
            durable=settings.durable,
            clock=clock,
            warc_size=settings.warc_size,
            rules=rules_of(self.config),
        )


def read_seeds(file: Path) -> list[str]:
    """One URL a line; empty lines and what follows a # at the start of one are passed over."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ForagerError(f"{file} cannot be read: {error}") from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


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


def has_another_strategy(store: StoredCrawl, config: CrawlConfig) -> bool:
    """Whether the last session had another strategy, or other parameters of it. What it gave to links that wait means
    nothing to the one of now."""
    sessions = store.sessions()
    before = msgspec.json.decode(sessions[-1].config).get("strategy") if sessions else None
    return before is not None and before != msgspec.to_builtins(config.strategy)


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
