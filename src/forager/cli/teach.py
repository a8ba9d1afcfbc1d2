"""`forager teach`: show the crawler the way to wanted pages, or import paths that were recorded elsewhere.

The dialogue goes to stderr and the result to stdout. Each line of input is a command, from a terminal and from a pipe.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from forager.cli.terminal import err, plain, put, say
from forager.config import CrawlConfig, read_config
from forager.crawl.folder import read_seeds
from forager.errors import ForagerError
from forager.paths import PathOutcome, ShownPath, used_once
from forager.teaching import PATHS, ImportedPaths, PageView, TeachingSession, import_paths, open_teaching, save_paths

teach = typer.Typer(no_args_is_help=True, help="Show the crawler the way to wanted pages.")
T = TypeVar("T")
LINKS = 20  # shown at a time
CONCERNS = 10  # notes of one kind that are printed
SETTLE = 0.01  # seconds
HELP = """\
NUMBER          follow the link with this number
WORDS           show only links with these words in their text or address; /WORDS if the first word is a command
all             show all links again
more            show the next links; an empty line does the same
label WORDS     give this page a label, such as: label course list; later paths use the same label for this page
unlabel         take the label away
labels          list the labels so far
back [N]        undo the last step, or the last N steps
path            list the steps so far
goal [WHERE]    this page is the goal: save the path
fail [WHERE]    this is the wrong way: save the path as one that failed
drop [WHERE]    forget this path
                WHERE is where the next path begins: nothing: at the same start; N: at page N of this path;
                start N: at start number N; or a URL
starts          list the starts by number
quit            end; an unfinished path is saved, and the next session goes on with it"""


# ---- recording ------------------------------------------------------------------------------------------------------


@teach.command()
def record(
    folder: Annotated[Path, typer.Argument(help="folder for the paths and pages; it is made if it does not exist")],
    start: Annotated[
        list[str] | None,
        typer.Option(help="URL to start from; repeat for more", show_default="the starts of the paths in the folder"),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="configuration; its tables fetch and urls, and the delay of frontier, are used")
    ] = None,
    contact: Annotated[str, typer.Option(help="mail address or page where the owners of sites can reach you")] = "",
) -> None:
    """Walk from page to page and say which pages are the goal. `forager train` learns from these paths."""
    session = open_teaching(folder, start or [], _settings(config, contact), waits=_tell_wait)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            teaching = runner.run(stack.enter_async_context(session))
            TeachDialogue(teaching, runner.run).hold()
            _print_saved(folder / PATHS, teaching)
        finally:
            runner.run(stack.aclose())


def _settings(file: Path | None, contact: str) -> CrawlConfig:
    settings = read_config(file) if file else CrawlConfig()
    if not contact:
        return settings
    return msgspec.structs.replace(settings, fetch=msgspec.structs.replace(settings.fetch, contact=contact))


class TeachDialogue:
    """The dialogue of one person with one session: reads commands, shows pages."""

    def __init__(self, teaching: TeachingSession, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._teaching, self._run = teaching, run
        self._shown = 0  # links of the view
        self._width = max(60, get_terminal_size().columns)
        self._alone: dict[str, Callable[[], None]] = {
            "all": lambda: self._filter(""),
            "more": self._more,
            "unlabel": lambda: self._see_page(teaching.unlabel()),
            "labels": self._list_labels,
            "path": self._list_steps,
            "starts": self._list_starts,
            "help": self._help,
        }
        self._ending = {"goal": teaching.goal, "fail": teaching.fail}

    def hold(self) -> None:
        """Answer commands until the person quits or the input ends."""
        view = self._wait(self._teaching.open())
        if len(view.steps) > 1:
            say(f"going on with {view.path} at its page {len(view.steps)}; `path` lists its pages, `drop` forgets it")
        else:
            say("`help` lists the commands")
        self._see(view)
        try:
            while (line := self._ask()) not in ("quit", None):
                self._answer(line or "more")
        except KeyboardInterrupt:  # at the prompt, Ctrl-C means quit
            say()

    def _ask(self) -> str | None:
        """A line of input; None at its end."""
        view = self._teaching.show()
        say(f"{view.path}, page {len(view.steps)} > ", end="")
        line = sys.stdin.readline()
        if not (line and sys.stdin.isatty()):
            say(line.rstrip())
        return " ".join(line.split()) if line else None

    def _answer(self, line: str) -> None:
        try:
            self._obey(line)
        except ForagerError as error:
            say(str(error))
        except KeyboardInterrupt:
            say("stopped; nothing has changed")

    def _obey(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if _is_number(line):
            self._see(self._wait(self._teaching.choose(int(line))))
        elif line in self._alone:
            self._alone[line]()
        elif word == "label":
            self._label(rest)
        elif word == "back" and (not rest or _is_number(rest)):
            self._see(self._wait(self._teaching.back(int(rest or 1))))
        elif word in self._ending:
            self._end(word, rest)
        elif word == "drop":
            self._see(self._wait(self._teaching.drop(self._where(rest))))
        else:
            self._filter(line.removeprefix("/"))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work that may take time. While the person was thinking, servers may have closed connections; the event
        loop gets a moment to notice, because a request on a closed connection would be lost."""

        async def settled() -> T:
            await asyncio.sleep(SETTLE)
            return await work

        done: T = self._run(settled())
        return done

    # ---- verbs

    def _filter(self, words: str) -> None:
        view = self._teaching.filter(words)
        if not view.links:
            say(f"no link has {view.filter!r}; `all` shows all {view.count} links")
        self._list(view, 0)

    def _label(self, label: str) -> None:
        known = sorted(set(self._teaching.labels.values()))
        view = self._teaching.label(label)
        if known and view.label not in known:
            say(f"this is a new label; the others are: {', '.join(known)}")
        self._see_page(view)

    def _end(self, word: str, rest: str) -> None:
        label = self._teaching.show().label
        path = self._wait(self._ending[word](self._where(rest)))
        say(f"{path.id} is saved: {len(path.steps)} pages, {path.outcome.value}")
        if label:
            say(f"the last page of a path has no label: {label!r} is left out")
        self._see(self._teaching.show())

    def _where(self, text: str) -> int | str | None:
        """Where the next path begins."""
        first, _, number = text.partition(" ")
        if not text:
            return None
        if _is_number(text):
            return int(text)
        if first == "start" and _is_number(number):
            starts = self._teaching.starts
            if not 1 <= int(number) <= len(starts):
                raise ForagerError(f"there is no start {number}: `starts` lists the {len(starts)} starts")
            return starts[int(number) - 1]
        if "://" not in text:
            raise ForagerError(f"the next path cannot begin at {text!r}: give nothing, N, start N, or a URL")
        return text

    # ---- what the person sees

    def _see(self, view: PageView) -> None:
        self._see_page(view)
        self._list(view, 0)

    def _see_page(self, view: PageView) -> None:
        say()
        say(view.title or "(no title)", style="bold")
        say(view.url + (f"  [{view.label}]" if view.label else ""))

    def _more(self) -> None:
        view = self._teaching.show()
        if self._shown >= len(view.links):
            say("there are no more links" + ("; `all` shows those without these words too" if view.filter else ""))
        else:
            self._list(view, self._shown)

    def _list(self, view: PageView, first: int) -> None:
        part = view.links[first : first + LINKS]
        for link in part:
            say(_cut(f"{link.number:>4}  {plain(link.anchor) or '(no text)'}  {plain(link.place)}", self._width))
        self._shown = first + len(part)
        rest = len(view.links) - self._shown
        if rest:
            say(f"      … {rest} more; an empty line shows them")
        elif not view.count:
            say("      this page has no links; `back` goes back")

    def _help(self) -> None:
        for line in HELP.splitlines():
            say(line)

    def _list_labels(self) -> None:
        for label in sorted(set(self._teaching.labels.values())):
            pages = [url for url, given in self._teaching.labels.items() if given == label]
            say(f"{label}: {len(pages)} pages, e.g. {pages[0]}")
        if not self._teaching.labels:
            say("no labels yet")

    def _list_steps(self) -> None:
        for number, step in enumerate(self._teaching.show().steps, 1):
            label = f"  [{step.label}]" if step.label else ""
            anchor = f"  {step.anchor!r}" if step.anchor else ""
            say(f"{number:>4}  {step.url}{anchor}{label}")

    def _list_starts(self) -> None:
        for number, url in enumerate(self._teaching.starts, 1):
            say(f"{number:>4}  {url}")


def _tell_wait(name: str, seconds: float) -> None:
    if seconds >= 1:
        say(f"waiting {seconds:.0f} s before the next request to {name}")


def _print_saved(file: Path, teaching: TeachingSession) -> None:
    _print_count(file, teaching.saved)
    _list_concerns(map(str, used_once(teaching.saved)))
    view = teaching.show()
    if len(view.steps) > 1:
        say(f"{view.path} is not finished and has {len(view.steps)} pages: the next session goes on with it")


# ---- importing ------------------------------------------------------------------------------------------------------


@teach.command("import")
def bring(
    files: Annotated[
        list[Path],
        typer.Argument(help="HAR files, files of Wikispeedia, files of paths, or folders of `forager teach record`"),
    ],
    out: Annotated[Path, typer.Option(help="file of paths to write")],
    goal: Annotated[list[str] | None, typer.Option(help="URL in which paths of HAR files end; repeat for more")] = None,
    goals: Annotated[Path | None, typer.Option(help="file with such a URL on each line")] = None,
    web: Annotated[Path | None, typer.Option(help="folder of recorded pages, to fill in missing anchors")] = None,
) -> None:
    """Collect paths that were recorded elsewhere in one file. Nothing is fetched."""
    wanted = [*(goal or []), *(read_seeds(goals) if goals else [])]
    with err.status("reading paths and pages"):
        imported = import_paths(files, goals=wanted, web=web)
    save_paths(out, imported.paths, files)
    _print_count(out, imported.paths)
    _print_imported(imported)


def _print_imported(imported: ImportedPaths) -> None:
    labels = ", ".join(f"{label} {count}" for label, count in sorted(imported.labels.items()))
    put(f"labels: {labels or 'none'}")
    if imported.filled:
        put(f"{imported.filled} anchors found on recorded pages")
    if imported.doubles:
        put(f"{imported.doubles} paths were in the files twice")
    _list_concerns(f"the name {old!r} was taken: this path is now {new!r}" for new, old in imported.renamed.items())
    _list_concerns(f"no path ends in the goal {url}" for url in imported.unmet)
    _list_concerns(map(str, imported.used_once))
    _list_concerns(map(str, imported.gaps))
    if imported.unchecked:
        say(f"note: {imported.unchecked} steps could not be checked, because their pages were not recorded")


def _print_count(file: Path, paths: Sequence[ShownPath]) -> None:
    goals = sum(path.outcome is PathOutcome.GOAL for path in paths)
    put(f"{len(paths)} paths in {file}: {goals} goal, {len(paths) - goals} fail")
    if paths and not goals:
        say("note: no path ends in a goal, so nothing can be learnt from them yet: show at least one goal")


def _list_concerns(lines: Iterable[str]) -> None:
    """Print the first lines, and how many more there are."""
    told = iter(lines)
    for line in islice(told, CONCERNS):
        say(f"note: {line}")
    rest = sum(1 for _ in told)
    if rest:
        say(f"note: … and {rest} more of these")


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"
