"""`forager lab matrix`: a matrix of experiments from a file, with what it is doing on stderr."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from forager_lab.comparison import PAGE, compare
from forager_lab.matrix import KEPT, Progress

EVERY = 5.0  # seconds between two plain lines
STOPPED = 130

err = Console(stderr=True)


def matrix(
    file: Annotated[Path, typer.Argument(help="the experiments; see docs/lab")] = Path("docs/lab/matrix.toml"),
    jobs: Annotated[int, typer.Option(help="processes")] = 2,
    keep: Annotated[Path, typer.Option(help="folder of the finished cells")] = KEPT,
    docs: Annotated[Path | None, typer.Option(help=f"folder for {PAGE} [default: that of the file]")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="crawl again what was made by other code")] = False,
    seconds: Annotated[bool, typer.Option(help="show the time of a run, which no rerun repeats")] = True,
) -> None:
    """Crawl all cells that are not kept from earlier, and write the comparison."""
    with MatrixProgress(err) as progress:
        try:
            done = compare(
                file, kept=keep, docs=docs, jobs=jobs, fresh=fresh, seconds=seconds, tell=progress.tell,
                note=progress.note,
            )  # fmt: skip
        except KeyboardInterrupt:
            progress.note(f"stopped; what is finished is kept in {keep}, and the same command goes on from there")
            raise typer.Exit(STOPPED) from None
    kept = sum(done.codes.values()) - done.crawled
    print(f"{done.crawled} cells crawled, {max(0, kept)} kept from earlier; {(docs or file.parent) / PAGE}")
    if done.failed:
        err.print(f"{len(done.failed)} cells failed:", *done.failed, sep="\n", highlight=False, markup=False)
        raise typer.Exit(1)


class MatrixProgress:
    """A bar on a terminal, a plain line now and then elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told = float("-inf")
        columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        about = TextColumn("{task.fields[left]}  {task.fields[last]}", markup=False)
        self._bar = Bar(*columns, about, console=console, disable=not console.is_terminal)
        self._cells = self._bar.add_task("", total=None, left="", last="getting ready")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def note(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def tell(self, progress: Progress) -> None:
        left = "" if progress.left is None else f"about {_time(progress.left)} left"
        self._bar.update(self._cells, completed=progress.done, total=progress.total, left=left, last=progress.last)
        failed = f", {progress.failed} failed" if progress.failed else ""
        now, over = time.monotonic(), progress.done + progress.failed == progress.total
        if not self._console.is_terminal and (over or now - self._told >= EVERY):
            self._told = now
            self.note("; ".join(filter(None, [f"{progress.done}/{progress.total} cells{failed}", left, progress.last])))


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
