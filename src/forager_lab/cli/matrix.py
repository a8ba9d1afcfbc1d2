"""`forager lab matrix` and `forager lab evidence`: run the experiments of a file, with the progress on stderr."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer
from rich.console import Console

if TYPE_CHECKING:
    from forager_lab.matrix import MatrixResult, MatrixStatus

EVERY = 5.0  # seconds between two plain lines
STOPPED = 130  # exit code after Ctrl-C, as in a shell

err = Console(stderr=True)


WebFolders = Annotated[
    list[Path] | None,
    typer.Option(
        "--webs",
        metavar="DIR",
        help="a folder that holds recorded webs; repeat it for several. A web that the file names is looked for "
        "there, then beside the file (default: the folders of the environment variable FORAGER_WEBS)",
    ),
]
Jobs = Annotated[int, typer.Option(help="number of processes")]
Kept = Annotated[Path, typer.Option(help="the folder of finished crawls; a run that was stopped goes on from there")]
LeftOutFolder = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="the folder of weights of the default strategy that have not seen a web or a topic, instead of the one "
        "that the file names in the folder of finished crawls; `none`: the weights of the package, which have seen all",
    ),
]
Runs = Annotated[int | None, typer.Option(min=1, help="at most so many runs of each experiment")]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="only experiments with this in their name, as in `uic · news`; repeat it"),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="crawl again what an earlier version of the code crawled")]


def matrix(
    file: Annotated[
        Path, typer.Argument(help="the file that names the experiments; its keys are explained in docs/lab")
    ] = Path("docs/lab/matrix.toml"),
    webs: WebFolders = None,
    jobs: Jobs = 2,
    keep: Kept = Path(".lab"),
    docs: Annotated[
        Path | None, typer.Option(help="the folder for comparison.md and its pictures (default: that of the file)")
    ] = None,
    left_out: LeftOutFolder = None,
    runs: Runs = None,
    only: Only = None,
    fresh: Fresh = False,
    seconds: Annotated[bool, typer.Option(help="show the seconds of a run, which differ from time to time")] = True,
) -> None:
    """Run all experiments of a file and write a page that compares the strategies.

    Finished crawls are kept, and are not crawled again. A web that is not found is left out.
    """
    from forager_lab.comparison import PAGE, compare
    from forager_lab.matrix_file import MatrixLimits

    with MatrixProgress(err, keep) as progress:
        done = compare(
            file, webs=webs or (), kept=keep, docs=docs, left_out=left_out, limits=MatrixLimits(runs, only or ()),
            jobs=jobs, fresh=fresh, seconds=seconds, tell=progress.tell, note=progress.note,
        )  # fmt: skip
    _tell_end(done, (docs or file.parent) / PAGE)


def evidence(
    file: Annotated[
        Path, typer.Argument(help="the file that names the experiments; the page gets its name, with .md")
    ] = Path("docs/lab/default.toml"),
    webs: WebFolders = None,
    jobs: Jobs = 2,
    keep: Kept = Path(".lab"),
    docs: Annotated[
        Path | None, typer.Option(help="the folder for the page and its pictures (default: that of the file)")
    ] = None,
    left_out: LeftOutFolder = None,
    runs: Runs = None,
    only: Only = None,
    fresh: Fresh = False,
) -> None:
    """Run all experiments of a file and write a page about one strategy, `default` unless the file names another.

    It has the harvest on every topic, medians of what is gained, every other strategy beside it, and what each family
    of signals is worth. Finished crawls are kept, and are shared with `forager lab matrix`.
    """
    from forager_lab.evidence import show_evidence
    from forager_lab.matrix_file import MatrixLimits

    with MatrixProgress(err, keep) as progress:
        page, done = show_evidence(
            file, webs=webs or (), kept=keep, docs=docs, left_out=left_out, limits=MatrixLimits(runs, only or ()),
            jobs=jobs, fresh=fresh, tell=progress.tell, note=progress.note,
        )  # fmt: skip
    _tell_end(done, page)


def _tell_end(done: MatrixResult, page: Path) -> None:
    kept = sum(done.codes.values()) - done.crawled
    print(f"{done.crawled} cells crawled, {max(0, kept)} kept from earlier; {page}")
    if done.failed:
        err.print(f"{len(done.failed)} cells failed:", *done.failed, sep="\n", highlight=False, markup=False)
        raise typer.Exit(1)


class MatrixProgress:
    """Shows how far a matrix is: a bar on a terminal, elsewhere a plain line from time to time.

    If the user stops the run, it says what is kept.
    """

    def __init__(self, console: Console, keep: Path) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._console, self._keep = console, keep
        self._told = float("-inf")
        columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        about = TextColumn("{task.fields[left]}  {task.fields[last]}", markup=False)
        self._bar = Progress(*columns, about, console=console, disable=not console.is_terminal)
        self._cells = self._bar.add_task("", total=None, left="", last="getting ready")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if kind is KeyboardInterrupt:
            self.note(f"stopped; what is finished is kept in {self._keep}, and the same command goes on from there")
            raise typer.Exit(STOPPED) from None

    def note(self, line: str) -> None:
        """Print a line for the user."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def tell(self, status: MatrixStatus) -> None:
        """Show how far the matrix is."""
        left = f"about {_time(status.left)} left"
        self._bar.update(self._cells, completed=status.done, total=status.total, left=left, last=status.last)
        failed = f", {status.failed} failed" if status.failed else ""
        now, over = time.monotonic(), status.done + status.failed == status.total
        if not self._console.is_terminal and (over or now - self._told >= EVERY):
            self._told = now
            self.note("; ".join(filter(None, [f"{status.done}/{status.total} cells{failed}", left, status.last])))


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
