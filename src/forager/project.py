"""A project: a folder with a topic, a crawl that can be stopped and resumed, and the collection that it brings home."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from forager.collection import Herald
from forager.collection.courses.export import COURSES, export_courses
from forager.collection.explain import LinkStory, explain
from forager.collection.export import export
from forager.collection.rejudge import rejudge
from forager.crawl.build import rules_of
from forager.crawl.folder import Began, CrawlFolder, Each
from forager.crawl.loop import Crawl
from forager.crawl.stats import CrawlStats
from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.store import Catalogue, Entry, Hit, ProjectStatus, SearchIndex, Store, Waypoint
from forager.store.verdicts import NAMELESS, PageVerdict, VerdictUse, add_verdicts, check_label
from forager.topics.topic_critic import TopicCritic, focus_of, train_critic
from forager.types import Critic, Fetcher

Tell = Callable[[int], None]  # told how many pages are done


def _nobody(pages: int) -> None:
    """Nobody wants to know."""


class Project(CrawlFolder):
    """A folder with a topic, a crawl and its collection. The command line calls nothing but this and its rooms.

    >>> from tempfile import TemporaryDirectory
    >>> settings = '[topic]\\nkeywords = ["owl", "nest"]\\n[fetch]\\ncontact = "you@example.org"'
    >>> with TemporaryDirectory() as folder:
    ...     project = Project.create(Path(folder, "owls"), settings, ["https://example.org/birds"])
    ...     project.config.seeds
    ('https://example.org/birds',)

    `project.run()` crawls, and goes on where it was stopped. Then there are pages:

    >>> stats = project.run()  # doctest: +SKIP
    >>> for page in project.pages(min_relevance=0.5):  # doctest: +SKIP
    ...     print(page.relevance, page.url, page.title)
    >>> project.export("owls.jsonl")  # doctest: +SKIP
    """

    # ---- crawling

    async def train_critic(
        self,
        began: Began = lambda crawl, notes: None,
        each: Each = lambda visit: None,
        *,
        again: bool = False,
    ) -> TopicCritic:
        """The critic of the topic: the saved one, or a newly trained one if the topic has changed, or if `again`."""
        return await train_critic(self, began, each, again=again)

    async def _run(self, crawl: Crawl, store: Store, each: Each) -> None:
        async with Herald(self.folder, self.config.refresh, crawl.log):
            await super()._run(crawl, store, each)

    async def crawl(
        self,
        began: Began = lambda crawl, notes: None,
        each: Each = lambda visit: None,
        *,
        critic: Critic | None = None,
        query: Query | None = None,
        fetcher: Fetcher | None = None,
        scored: Tell = _nobody,
        refresh: bool = False,
    ) -> CrawlStats:
        """Crawl until something stops it, from where the crawl was stopped before. Without a `critic` the project's
        topic is trained first. For the rest see `CrawlFolder.crawl`."""
        if critic is None:
            trained = await self.train_critic()
            critic, query = trained.critic, query or trained.query
        return await super().crawl(
            began, each, critic=critic, query=query, fetcher=fetcher, scored=scored, refresh=refresh
        )

    def run(self, each: Each = lambda visit: None, *, refresh: bool = False) -> CrawlStats:
        """`crawl`, for programs without an event loop."""
        return asyncio.run(self.crawl(each=each, refresh=refresh))

    # ---- the collection

    def status(self) -> ProjectStatus:
        """What the crawl has done so far, also while it runs."""
        with Catalogue(self.folder) as catalogue:
            return catalogue.status()

    def pages(
        self, min_relevance: float | None = None, *, order: str = "oldest", limit: int | None = None
    ) -> Iterator[Entry]:
        """The pages, or those at least so relevant. `order`: oldest, newest, relevance, score or url."""
        with Catalogue(self.folder) as catalogue:
            yield from catalogue.pages(min_relevance=min_relevance, order=order, limit=limit)

    def why(self, url: str) -> list[Waypoint]:
        """The way from a seed to a URL, with the score of each link."""
        with Catalogue(self.folder) as catalogue:
            return catalogue.why(url)

    async def explain(self, url: str) -> LinkStory:
        """What became of a URL that was found, and why: what made its score, and why it still waits if it does."""
        trained = await self.train_critic()
        return explain(self, self._rules.canonical(url) or url, trained.critic, trained.query)

    def search(self, words: str, limit: int = 20, tell: Tell = _nobody) -> list[Hit]:
        """The pages with these words, the best first. The index is brought up to date before."""
        with SearchIndex(self.folder) as index:
            index.update(tell)
            return list(index.search(words, limit))

    def export(
        self,
        target: str | Path,
        format: str = "jsonl",
        *,
        min_relevance: float | None = None,
        tell: Tell = _nobody,
    ) -> int:
        """Write the pages to a file: `jsonl`, `warc`, `parquet` or `courses`. Gives how many there are."""
        if format == COURSES:
            return export_courses(self, Path(target), min_relevance=min_relevance)
        return export(self.folder, Path(target), format, min_relevance=min_relevance, tell=tell)

    # ---- correcting the critic

    def label(self, verdicts: Mapping[str, str], judge: str = "") -> None:
        """Say of fetched pages that they are `relevant`, `irrelevant`, or of a wanted class. `retrain` learns from it.
        `judge` is the name of who says so."""
        rules, now, given = rules_of(self.config), datetime.now(UTC), []
        classes = focus_of(self.config.topic) if self.config.topic else ()
        with Catalogue(self.folder) as catalogue:
            for text, verdict in verdicts.items():
                url = rules.canonical(text)
                if url is None:
                    raise ForagerError(f"{text!r} is not an http or https URL: no label was saved")
                check_label(verdict, classes)
                critics = [entry.critic for entry in catalogue.find(url)]  # a URL that was never found is an error
                said = critics[-1] if critics else ""
                given.append(PageVerdict(url, verdict, judge or NAMELESS, now, said, VerdictUse.TEACH))
        add_verdicts(self.folder, given)

    async def retrain(self, tell: Tell = _nobody) -> int:
        """Train the critic again, with the labels, and judge all pages again. Gives how many there are."""
        trained = await self.train_critic(again=True)
        return rejudge(self, trained.critic, trained.query, tell)
