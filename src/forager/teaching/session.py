"""A session in which a person shows the way: a state machine without a terminal.

    open -> at a page, the last step of the path so far
    choose, back -> at another page          filter, label, unlabel -> at the same page
    goal, fail -> the path is saved; the next one begins
    drop -> the path is forgotten; the next one begins

Every verb either does all that it says, and saves it to the disk before it returns; or it raises `ForagerError` and
changes nothing. So a session may be left or killed at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from forager.clock import Clock, VirtualClock, WallClock
from forager.config import CrawlConfig
from forager.errors import ForagerError
from forager.paths import PathOutcome, PathStep, ShownPath
from forager.store.lock import refuse_network
from forager.teaching.notebook import Notebook, UnfinishedPath
from forager.teaching.pages import ARCHIVE, SessionArchive, SessionPages, Waits, polite_web
from forager.types import Failure, Page, Url
from forager.web.urls import UrlRules

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NumberedLink:
    """A link that the person may follow, with its number."""

    number: int  # from 1, in the order of the page; the same with and without a filter
    anchor: str
    target: Url
    place: str  # the address for people: without the host, if it is the host of the page


@dataclass(frozen=True, slots=True)
class PageView:
    """All that a person sees of a page."""

    path: str  # name of the path
    steps: tuple[PathStep, ...]  # the last is this page
    title: str
    links: tuple[NumberedLink, ...]  # those that pass the filter
    count: int  # all links of the page
    filter: str

    @property
    def url(self) -> Url:
        return self.steps[-1].url

    @property
    def label(self) -> str | None:
        return self.steps[-1].label


def _one_at_a_time(
    verb: Callable[Concatenate[TeachingSession, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[TeachingSession, P], Coroutine[Any, Any, T]]:
    @wraps(verb)
    async def in_turn(teaching: TeachingSession, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async with teaching._turn:
            return await verb(teaching, *args, **kwargs)

    return in_turn


class TeachingSession:
    """Made by `open_teaching`. Call `open` first.

    After `goal`, `fail` and `drop` the next path begins where `then` says. None: at the first page of the path that
    ended. A number from 1: at that page of it, with the steps before it. A string: at that URL.

    Verbs that fetch pages run one after the other, in the order of the calls.
    """

    def __init__(self, notebook: Notebook, pages: SessionPages, starts: Sequence[Url], rules: UrlRules) -> None:
        self._notebook, self._pages, self._rules = notebook, pages, rules
        self._labels = notebook.labels
        self.starts = starts or notebook.starts
        self._view: PageView | None = None
        self._links: tuple[NumberedLink, ...] = ()
        self._turn = asyncio.Lock()

    @property
    def saved(self) -> Sequence[ShownPath]:
        """The paths that have ended, in this session and in earlier ones."""
        return self._notebook.saved

    @property
    def labels(self) -> Mapping[Url, str]:
        """The label of each page that has one. A page that is visited again keeps its label."""
        return self._labels

    # ---- at a page

    @_one_at_a_time
    async def open(self) -> PageView:
        """Go on with the unfinished path if it has two pages or more; else begin at the first start."""
        unfinished = self._notebook.unfinished
        if unfinished is not None and len(unfinished.steps) > 1:
            return await self._go_on(unfinished)
        if not self.starts:
            raise ForagerError("no page to start from: give at least one, with --start URL")
        steps, page = await self._start(self.starts[0])
        return self._enter(self._notebook.note(UnfinishedPath(self._notebook.next_name(), steps)), page)

    def show(self) -> PageView:
        """The page that is shown now."""
        if self._view is None:
            raise ForagerError("the session is not open yet: call `open` first")
        return self._view

    def filter(self, words: str = "") -> PageView:
        """Show only the links that have all these words in their anchor or address; without words, all links."""
        wanted = words.lower().split()
        found = tuple(
            link for link in self._links if all(word in f"{link.anchor} {link.place}".lower() for word in wanted)
        )
        self._view = replace(self.show(), links=found, filter=" ".join(wanted))
        return self._view

    @_one_at_a_time
    async def choose(self, number: int) -> PageView:
        """Follow a link."""
        view = self.show()
        if not 1 <= number <= len(self._links):
            raise ForagerError(f"there is no link {number}: this page has {len(self._links)}")
        link = self._links[number - 1]
        page = await self._page(link.target, {"path": view.path, "from": view.url, "anchor": link.anchor})
        if page.url == view.url:
            raise ForagerError(f"{link.target} leads back to this page: choose another link")
        view = self.show()  # it may have got a label meanwhile
        step = PathStep(page.url, link.anchor, self._labels.get(page.url))
        return self._enter(self._notebook.note(UnfinishedPath(view.path, (*view.steps, step))), page)

    @_one_at_a_time
    async def back(self, count: int = 1) -> PageView:
        """Undo the last steps: the path does not keep them."""
        view = self.show()
        if not 1 <= count < len(view.steps):
            raise ForagerError(f"cannot go back {count}: there are {len(view.steps) - 1} pages before this one")
        return await self._go_on(UnfinishedPath(view.path, view.steps[:-count]))

    def label(self, label: str) -> PageView:
        """Give this page a label, here and in later paths."""
        label = " ".join(label.split())
        if not label:
            raise ForagerError("the label is empty: say what this page is, e.g. course list")
        view = self._relabelled(label)
        self._labels[view.url] = label
        return view

    def unlabel(self) -> PageView:
        """Take the label of this page away."""
        view = self._relabelled(None)
        self._labels.pop(view.url, None)
        return view

    def _relabelled(self, label: str | None) -> PageView:
        view = self.show()
        steps = (*view.steps[:-1], replace(view.steps[-1], label=label))
        ShownPath(view.path, (*steps, PathStep(view.url)), PathOutcome.FAIL)  # raises if the label is not allowed
        self._notebook.note(UnfinishedPath(view.path, steps))
        self._view = replace(view, steps=steps)
        return self._view

    # ---- from one path to the next

    @_one_at_a_time
    async def goal(self, then: int | str | None = None) -> ShownPath:
        """Save the path: this page is the goal."""
        return await self._end(PathOutcome.GOAL, then)

    @_one_at_a_time
    async def fail(self, then: int | str | None = None) -> ShownPath:
        """Save the path as one that does not lead to the goal."""
        return await self._end(PathOutcome.FAIL, then)

    @_one_at_a_time
    async def drop(self, then: int | str | None = None) -> PageView:
        """Forget the path to this page."""
        steps, page = await self._next(then)
        return self._enter(self._notebook.note(UnfinishedPath(self.show().path, steps)), page)

    async def _end(self, outcome: PathOutcome, then: int | str | None) -> ShownPath:
        if len(self.show().steps) < 2:
            raise ForagerError("a path needs two pages or more: follow a link first")
        steps, page = await self._next(then)
        view = self.show()
        last = replace(view.steps[-1], label=None)  # the last page is goal or fail, and has no other label
        path = ShownPath(view.path, (*view.steps[:-1], last), outcome)
        self._enter(self._notebook.end(path, steps), page)
        return path

    async def _next(self, then: int | str | None) -> tuple[tuple[PathStep, ...], Page]:
        """The first steps of the next path, and the page where it begins."""
        if isinstance(then, str):
            return await self._start(_canonical(then, self._rules))
        steps, number = self.show().steps, 1 if then is None else then
        last = max(1, len(steps) - 1)
        if not 1 <= number <= last:
            raise ForagerError(f"the next path cannot begin at page {number}: give one of this path, 1 to {last}")
        kept = tuple(replace(step, label=self._labels.get(step.url)) for step in steps[:number])
        return kept, await self._page(kept[-1].url, {"start": kept[0].url})

    async def _start(self, url: Url) -> tuple[tuple[PathStep, ...], Page]:
        page = await self._page(url, {"start": url})
        return (PathStep(page.url, None, self._labels.get(page.url)),), page

    async def _go_on(self, unfinished: UnfinishedPath) -> PageView:
        page = await self._page(unfinished.steps[-1].url, {"path": unfinished.id})
        return self._enter(self._notebook.note(unfinished), page)

    # ---- pages

    def _enter(self, unfinished: UnfinishedPath, page: Page) -> PageView:
        """Show a page; the path that leads there is saved already."""
        self._links = tuple(choices(page))
        self._view = PageView(unfinished.id, unfinished.steps, page.title, self._links, len(self._links), "")
        return self._view

    async def _page(self, url: Url, why: Mapping[str, Any]) -> Page:
        found = await self._pages.read(url, why)
        if isinstance(found, Failure):
            told = f"{found.reason} {found.detail}".rstrip()
            raise ForagerError(f"{url} brought no page ({told}): choose another one, or try again later")
        return found


def choices(page: Page) -> list[NumberedLink]:
    """The links of a page, each once. A link without text is left out if another one to the same page has a text."""
    pairs = dict.fromkeys(zip(page.links.targets, page.links.anchors, strict=True))
    named = {target for target, anchor in pairs if anchor}
    kept = [(target, anchor) for target, anchor in pairs if anchor or target not in named]
    origin = page.url[: page.url.index("/", 8)]
    return [
        NumberedLink(number, anchor, target, target.removeprefix(origin) if target.startswith(f"{origin}/") else target)
        for number, (target, anchor) in enumerate(kept, 1)
    ]


def _canonical(text: str, rules: UrlRules) -> Url:
    url = rules.canonical(text)
    if url is None:
        raise ForagerError(f"{text!r} is not an http or https URL of at most {rules.longest} characters")
    return url


@asynccontextmanager
async def open_teaching(
    folder: Path,
    starts: Sequence[str] = (),
    config: CrawlConfig | None = None,
    *,
    waits: Waits = lambda host, seconds: None,
) -> AsyncIterator[TeachingSession]:
    """A session in a folder, which is made if it does not exist. Without starts, it uses those of the paths there.

    It uses [fetch], [urls] and the delay in [frontier] of the configuration. `waits` hears of hosts that must rest.
    """
    config = config or CrawlConfig()
    rules = UrlRules(config.urls.strip, config.urls.longest)
    clock: Clock = WallClock() if config.fetch.replay is None else VirtualClock()
    urls = [_canonical(start, rules) for start in starts]
    rested = not (folder / ARCHIVE).exists()
    async with polite_web(config, rules, clock, rested=rested, waits=waits) as web:
        refuse_network(folder)
        with closing(Notebook(folder, rules, WallClock().utc())) as notebook:
            pages = SessionPages(SessionArchive(folder, rules, clock), web, rules)
            yield TeachingSession(notebook, pages, urls, rules)
