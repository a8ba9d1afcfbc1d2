"""A session with somebody who shows the way: a state machine without a terminal.

    open -> at a page, the last step of a walk
    choose, back -> at another page          filter, label, unlabel -> at the same page
    goal, fail -> the walk is a path that was shown; the next begins
    drop -> the walk is forgotten; the next begins

Every verb either does all of what it says, and it is on the disk when the verb returns, or raises `ForagerError` and
all is as it was. So a session may be left, or killed, at any time.
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
from forager.teaching.notebook import Notebook, Walk
from forager.teaching.pages import ARCHIVE, Archive, Pages, Waits, polite_web
from forager.types import Failure, Page, Url
from forager.web.urls import UrlRules

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice:
    """A link that may be followed."""

    number: int  # from 1, in the order of the page; a filter does not change it
    anchor: str
    target: Url
    place: str  # where that is, for people: without the host that the page itself is on


@dataclass(frozen=True, slots=True)
class View:
    """What there is to be seen, complete."""

    path: str  # name of the path being walked
    steps: tuple[PathStep, ...]  # the last is this page
    title: str
    links: tuple[Choice, ...]  # those that the filter lets through
    count: int  # of all links of the page
    filter: str

    @property
    def url(self) -> Url:
        return self.steps[-1].url

    @property
    def label(self) -> str | None:
        return self.steps[-1].label


def _one_at_a_time(
    verb: Callable[Concatenate[Teaching, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Teaching, P], Coroutine[Any, Any, T]]:
    @wraps(verb)
    async def in_turn(teaching: Teaching, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async with teaching._turn:
            return await verb(teaching, *args, **kwargs)

    return in_turn


class Teaching:
    """Made by `open_teaching`; `open` comes first.

    After `goal`, `fail` and `drop` the next walk begins where `then` says: at the first page of the one that ended, if
    nothing is said; at one of its pages, by number from 1, with the way to it; or at another URL.

    Verbs that wait for a page wait for each other too: whoever clicks twice is obeyed in order.
    """

    def __init__(self, notebook: Notebook, pages: Pages, starts: Sequence[Url], rules: UrlRules) -> None:
        self._notebook, self._pages, self._rules = notebook, pages, rules
        self._labels = notebook.labels
        self.starts = starts or notebook.starts
        self._view: View | None = None
        self._links: tuple[Choice, ...] = ()
        self._turn = asyncio.Lock()

    @property
    def saved(self) -> Sequence[ShownPath]:
        """The paths that have ended, in this session and before."""
        return self._notebook.saved

    @property
    def labels(self) -> Mapping[Url, str]:
        """The milestone that each page is. A page that is come to again has its label again."""
        return self._labels

    # ---- at a page

    @_one_at_a_time
    async def open(self) -> View:
        """Go on with the walk that was left unfinished, if it has left its first page; or begin at the first start."""
        walk = self._notebook.walk
        if walk is not None and len(walk.steps) > 1:
            return await self._go_on(walk)
        if not self.starts:
            raise ForagerError("no page to start from: give at least one, with --start URL")
        steps, page = await self._start(self.starts[0])
        return self._enter(self._notebook.note(Walk(self._notebook.next_name(), steps)), page)

    def show(self) -> View:
        if self._view is None:
            raise ForagerError("the session is not open yet: `open` it first")
        return self._view

    def filter(self, words: str = "") -> View:
        """Show the links that have each of these words in their anchor or place; without any, all."""
        wanted = words.lower().split()
        found = tuple(
            link for link in self._links if all(word in f"{link.anchor} {link.place}".lower() for word in wanted)
        )
        self._view = replace(self.show(), links=found, filter=" ".join(wanted))
        return self._view

    @_one_at_a_time
    async def choose(self, number: int) -> View:
        """Follow a link."""
        view = self.show()
        if not 1 <= number <= len(self._links):
            raise ForagerError(f"there is no link {number} on this page, which has {len(self._links)}")
        link = self._links[number - 1]
        page = await self._page(link.target, {"path": view.path, "from": view.url, "anchor": link.anchor})
        if page.url == view.url:
            raise ForagerError(f"{link.target} leads back to this page: choose another link")
        view = self.show()  # it may have been labelled meanwhile
        step = PathStep(page.url, link.anchor, self._labels.get(page.url))
        return self._enter(self._notebook.note(Walk(view.path, (*view.steps, step))), page)

    @_one_at_a_time
    async def back(self, count: int = 1) -> View:
        """Undo the last steps: they will not be in the path."""
        view = self.show()
        if not 1 <= count < len(view.steps):
            raise ForagerError(f"there are {len(view.steps) - 1} pages before this one, so {count} is no way back")
        return await self._go_on(Walk(view.path, view.steps[:-count]))

    def label(self, label: str) -> View:
        """Make this page a milestone, here and wherever it is come to again."""
        label = " ".join(label.split())
        if not label:
            raise ForagerError("the label is blank: say what this page is, e.g. course list")
        view = self._relabelled(label)
        self._labels[view.url] = label
        return view

    def unlabel(self) -> View:
        """This page is no milestone after all."""
        view = self._relabelled(None)
        self._labels.pop(view.url, None)
        return view

    def _relabelled(self, label: str | None) -> View:
        view = self.show()
        steps = (*view.steps[:-1], replace(view.steps[-1], label=label))
        ShownPath(view.path, (*steps, PathStep(view.url)), PathOutcome.FAIL)  # raises what is wrong with a label
        self._notebook.note(Walk(view.path, steps))
        self._view = replace(view, steps=steps)
        return self._view

    # ---- from one walk to the next

    @_one_at_a_time
    async def goal(self, then: int | str | None = None) -> ShownPath:
        """This page is what was looked for."""
        return await self._end(PathOutcome.GOAL, then)

    @_one_at_a_time
    async def fail(self, then: int | str | None = None) -> ShownPath:
        """This is not the way."""
        return await self._end(PathOutcome.FAIL, then)

    @_one_at_a_time
    async def drop(self, then: int | str | None = None) -> View:
        """Forget the way to this page."""
        steps, page = await self._next(then)
        return self._enter(self._notebook.note(Walk(self.show().path, steps)), page)

    async def _end(self, outcome: PathOutcome, then: int | str | None) -> ShownPath:
        if len(self.show().steps) < 2:
            raise ForagerError("a path of one page shows no way: follow a link first")
        steps, page = await self._next(then)
        view = self.show()
        last = replace(view.steps[-1], label=None)  # it is goal or fail, and nothing else
        path = ShownPath(view.path, (*view.steps[:-1], last), outcome)
        self._enter(self._notebook.end(path, steps), page)
        return path

    async def _next(self, then: int | str | None) -> tuple[tuple[PathStep, ...], Page]:
        """The way to where the next walk begins, and the page there."""
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

    async def _go_on(self, walk: Walk) -> View:
        page = await self._page(walk.steps[-1].url, {"path": walk.id})
        return self._enter(self._notebook.note(walk), page)

    # ---- pages

    def _enter(self, walk: Walk, page: Page) -> View:
        """Be at a page; the walk that leads there is written down already."""
        self._links = tuple(choices(page))
        self._view = View(walk.id, walk.steps, page.title, self._links, len(self._links), "")
        return self._view

    async def _page(self, url: Url, why: Mapping[str, Any]) -> Page:
        found = await self._pages.read(url, why)
        if isinstance(found, Failure):
            told = f"{found.reason} {found.detail}".rstrip()
            raise ForagerError(f"{url} brought no page ({told}): choose another one, or try again later")
        return found


def choices(page: Page) -> list[Choice]:
    """The links of a page without repetitions, and without blank ones to what another link names."""
    pairs = dict.fromkeys(zip(page.links.targets, page.links.anchors, strict=True))
    named = {target for target, anchor in pairs if anchor}
    kept = [(target, anchor) for target, anchor in pairs if anchor or target not in named]
    origin = page.url[: page.url.index("/", 8)]
    return [
        Choice(number, anchor, target, target.removeprefix(origin) if target.startswith(f"{origin}/") else target)
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
) -> AsyncIterator[Teaching]:
    """A session in a folder, which is made if it is not there. Without starts those of the paths in it are taken.

    Of the configuration [fetch], [urls] and the delay in [frontier] count. `waits` hears of hosts that must rest.
    """
    config = config or CrawlConfig()
    rules = UrlRules(config.urls.strip, config.urls.longest)
    clock: Clock = WallClock() if config.fetch.replay is None else VirtualClock()
    urls = [_canonical(start, rules) for start in starts]
    rested = not (folder / ARCHIVE).exists()
    async with polite_web(config, rules, clock, rested=rested, waits=waits) as web:
        refuse_network(folder)
        with closing(Notebook(folder, rules, WallClock().utc())) as notebook:
            pages = Pages(Archive(folder, rules, clock), web, rules)
            yield Teaching(notebook, pages, urls, rules)
