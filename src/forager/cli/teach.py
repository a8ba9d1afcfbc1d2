"""`forager teach record`, `import`: show the crawler the way, or bring paths from elsewhere.

The dialogue goes to stderr and what came of it to stdout. A line of input is a command, on a terminal and from a pipe
alike.
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
from rich.console import Console

from forager.config import CrawlConfig, read_config
from forager.errors import ForagerError
from forager.paths import PathOutcome, ShownPath, used_once
from forager.project import read_seeds
from forager.teaching import PATHS, Imported, Teaching, View, import_paths, open_teaching, save_paths

teach = typer.Typer(no_args_is_help=True, help="Show the crawler the way.")
err = Console(stderr=True)
T = TypeVar("T")
LINKS = 20  # shown at a time
CONCERNS = 10  # lines of a kind
SETTLE = 0.01  # seconds
HELP = """\
NUMBER          follow the link with this number
words           show the links that have these words, in their text or address; /words if the first is a command
all             show all links again                 more, or an empty line: the next links
label WORDS     this page is a milestone, e.g. label course list; it is so wherever you come to it again
unlabel         it is none                           labels: those given so far
back [N]        undo the last step, or the last N    path: the steps so far
goal [WHERE]    this page is what is looked for: the path is saved
fail [WHERE]    this is not the way: the path is saved as one that failed
drop [WHERE]    forget the way here
                WHERE the next path begins: at the same start; N, page N of this path; start N; or a URL
starts          the starts by number
quit            what is not ended is kept, and the next session goes on with it"""


# ---- recording ------------------------------------------------------------------------------------------------------


@teach.command()
def record(
    folder: Annotated[Path, typer.Argument(help="where paths and pages are kept; made if it is not there")],
    start: Annotated[
        list[str] | None,
        typer.Option(help="a URL to start from; may be given again; if none is, where the paths in the folder start"),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="a TOML file: its fetch and urls count, and the delay of its frontier")
    ] = None,
    contact: Annotated[str, typer.Option(help="where you can be reached: a mail address or a page")] = "",
) -> None:
    """Walk from page to page and say what is the goal; the ways there are what the path models learn from."""
    session = open_teaching(folder, start or [], _settings(config, contact), waits=_tell_wait)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            teaching = runner.run(stack.enter_async_context(session))
            Dialogue(teaching, runner.run).hold()
            _print_saved(folder / PATHS, teaching)
        finally:
            runner.run(stack.aclose())


def _settings(file: Path | None, contact: str) -> CrawlConfig:
    settings = read_config(file) if file else CrawlConfig()
    if not contact:
        return settings
    return msgspec.structs.replace(settings, fetch=msgspec.structs.replace(settings.fetch, contact=contact))


class Dialogue:
    """One person before one session: lines in, what is to be seen out."""

    def __init__(self, teaching: Teaching, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
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
            "help": lambda: _tell(HELP),
        }
        self._ending = {"goal": teaching.goal, "fail": teaching.fail}

    def hold(self) -> None:
        """Until somebody quits, or the input ends."""
        view = self._wait(self._teaching.open())
        if len(view.steps) > 1:
            _tell(f"going on with {view.path}, at page {len(view.steps)} of it; `path` lists them, `drop` forgets it")
        else:
            _tell("`help` lists what you can say")
        self._see(view)
        try:
            while (line := self._ask()) not in ("quit", None):
                self._answer(line or "more")
        except KeyboardInterrupt:  # at the prompt it means quit
            _tell()

    def _ask(self) -> str | None:
        """A line; None at the end of the input."""
        view = self._teaching.show()
        _tell(f"{view.path}, page {len(view.steps)} > ", end="")
        line = sys.stdin.readline()
        if not (line and sys.stdin.isatty()):
            _tell(line.rstrip())
        return " ".join(line.split()) if line else None

    def _answer(self, line: str) -> None:
        try:
            self._obey(line)
        except ForagerError as error:
            _tell(_plain(str(error)))
        except KeyboardInterrupt:
            _tell("stopped: nothing has changed")

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
        """Do what may take time. While somebody thought, servers may have closed their connections: the loop gets a
        moment to hear of it, or the next request would be lost on one of those."""

        async def settled() -> T:
            await asyncio.sleep(SETTLE)
            return await work

        done: T = self._run(settled())
        return done

    # ---- verbs

    def _filter(self, words: str) -> None:
        view = self._teaching.filter(words)
        if not view.links:
            _tell(f"no link has {view.filter!r}; `all` shows the {view.count} that there are")
        self._list(view, 0)

    def _label(self, label: str) -> None:
        known = sorted(set(self._teaching.labels.values()))
        view = self._teaching.label(label)
        if known and view.label not in known:
            _tell(f"a new label; so far there are: {_plain(', '.join(known))}")
        self._see_page(view)

    def _end(self, word: str, rest: str) -> None:
        label = self._teaching.show().label
        path = self._wait(self._ending[word](self._where(rest)))
        _tell(f"{path.id} is saved: {len(path.steps)} pages, {path.outcome.value}")
        if label:
            _tell(f"the last page of a path has no label but its outcome: {_plain(label)!r} is left out of this one")
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
                raise ForagerError(f"there is no start {number}: there are {len(starts)}, see `starts`")
            return starts[int(number) - 1]
        if "://" not in text:
            raise ForagerError(f"{text!r} is no place to begin the next path: say nothing, N, start N, or a URL")
        return text

    # ---- what is to be seen

    def _see(self, view: View) -> None:
        self._see_page(view)
        self._list(view, 0)

    def _see_page(self, view: View) -> None:
        _tell()
        _tell(_plain(view.title) or "(no title)", style="bold")
        _tell(_plain(view.url) + (f"  [{_plain(view.label)}]" if view.label else ""))

    def _more(self) -> None:
        view = self._teaching.show()
        if self._shown >= len(view.links):
            _tell("those were all links" + ("; `all` drops the filter" if view.filter else ""))
        else:
            self._list(view, self._shown)

    def _list(self, view: View, first: int) -> None:
        part = view.links[first : first + LINKS]
        for link in part:
            _tell(_cut(f"{link.number:>4}  {_plain(link.anchor) or '(no text)'}  {_plain(link.place)}", self._width))
        self._shown = first + len(part)
        rest = len(view.links) - self._shown
        if rest:
            _tell(f"      … {rest} more; an empty line shows them")
        elif not view.count:
            _tell("      no links; `back` goes back")

    def _list_labels(self) -> None:
        for label in sorted(set(self._teaching.labels.values())):
            pages = [url for url, given in self._teaching.labels.items() if given == label]
            _tell(f"{_plain(label)}: {len(pages)} pages, e.g. {_plain(pages[0])}")
        if not self._teaching.labels:
            _tell("no labels yet")

    def _list_steps(self) -> None:
        for number, step in enumerate(self._teaching.show().steps, 1):
            label = f"  [{_plain(step.label)}]" if step.label else ""
            anchor = f"  {_plain(step.anchor)!r}" if step.anchor else ""
            _tell(f"{number:>4}  {_plain(step.url)}{anchor}{label}")

    def _list_starts(self) -> None:
        for number, url in enumerate(self._teaching.starts, 1):
            _tell(f"{number:>4}  {_plain(url)}")


def _tell_wait(name: str, seconds: float) -> None:
    if seconds >= 1:
        _tell(f"{_plain(name)} is asked again in {seconds:.0f} s")


def _print_saved(file: Path, teaching: Teaching) -> None:
    _print_count(file, teaching.saved)
    _list_concerns(map(str, used_once(teaching.saved)))
    view = teaching.show()
    if len(view.steps) > 1:
        _tell(f"{view.path} has not ended, at {len(view.steps)} pages: the next session goes on with it")


# ---- importing ------------------------------------------------------------------------------------------------------


@teach.command("import")
def bring(
    files: Annotated[
        list[Path],
        typer.Argument(help="HAR files, Wikispeedia's files of paths, our own, folders of `forager teach record`"),
    ],
    out: Annotated[Path, typer.Option(help="the file of paths to write")],
    goal: Annotated[list[str] | None, typer.Option(help="a URL that paths in HAR files are to end in")] = None,
    goals: Annotated[Path | None, typer.Option(help="a file with such a URL a line")] = None,
    web: Annotated[Path | None, typer.Option(help="a folder of recorded pages, for anchors that are missing")] = None,
) -> None:
    """Paths that were recorded elsewhere, as one file to learn from; nothing is fetched."""
    wanted = [*(goal or []), *(read_seeds(goals) if goals else [])]
    with err.status("reading paths and pages"):
        imported = import_paths(files, goals=wanted, web=web)
    save_paths(out, imported.paths, files)
    _print_count(out, imported.paths)
    _print_imported(imported)


def _print_imported(imported: Imported) -> None:
    labels = ", ".join(f"{_plain(label)} {count}" for label, count in sorted(imported.labels.items()))
    print(f"labels: {labels or 'none'}")
    if imported.filled:
        print(f"{imported.filled} anchors found on recorded pages")
    if imported.doubles:
        print(f"{imported.doubles} paths were there twice")
    _list_concerns(f"the name {old!r} was taken: now it is {new!r}" for new, old in imported.renamed.items())
    _list_concerns(f"no path ends in the goal {url}" for url in imported.unmet)
    _list_concerns(map(str, imported.used_once))
    _list_concerns(map(str, imported.gaps))
    if imported.unchecked:
        _tell(f"note: {imported.unchecked} steps are from pages that are not at hand, so nobody knows their links")


def _print_count(file: Path, paths: Sequence[ShownPath]) -> None:
    goals = sum(path.outcome is PathOutcome.GOAL for path in paths)
    print(f"{len(paths)} paths in {file}: {goals} goal, {len(paths) - goals} fail")
    if paths and not goals:
        _tell("note: none of the paths arrives, so they cannot be learnt from yet: show at least one goal")


def _list_concerns(lines: Iterable[str]) -> None:
    """The first of them, and how many more there are."""
    told = iter(lines)
    for line in islice(told, CONCERNS):
        _tell(f"note: {_plain(line)}")
    rest = sum(1 for _ in told)
    if rest:
        _tell(f"note: … and {rest} more of these")


# ---- words ----------------------------------------------------------------------------------------------------------


def _tell(line: str = "", *, end: str = "\n", style: str = "") -> None:
    err.print(line, end=end, style=style or None, markup=False, highlight=False, soft_wrap=True)


def _plain(text: str) -> str:
    """One line without anything that a terminal would obey: pages are by strangers."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"
