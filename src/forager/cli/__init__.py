"""The command line: from words to calls of the library, and from results to text. It decides nothing itself.

projects    crawl, retry, pages, search, export, seeds               status     status
changes     changes                                                  why        why
topics      new, topic show, topic from-courses, label, retrain
judge       judge
teach       teach record, teach import
train       train
taxonomy    taxonomy import, list, show, prune
terms       terms
installed   doctor, strategies, critics
mending     verify, recover
progress    how far a command is        terminal   what the commands share

Other packages add commands as entry points of the group `forager.commands`, each a function or a Typer group.
"""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import entry_points
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from forager.cli import installed, mending, projects, topics
from forager.cli.changes import changes
from forager.cli.judge import judge
from forager.cli.status import status
from forager.cli.taxonomy import taxonomy
from forager.cli.teach import teach
from forager.cli.terminal import say
from forager.cli.terms import terms
from forager.cli.train import train
from forager.cli.why import why
from forager.errors import ForagerError
from forager.store import DamageWarning

GROUP = "forager.commands"
WRONG = 2  # exit code
UsageError: Any = typer.BadParameter.__mro__[1]  # Typer has a name for this one alone
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)  # what a folder answers that cannot be written

app = typer.Typer(no_args_is_help=True)


@app.callback()
def forager(
    version: Annotated[
        bool, typer.Option("--version", help="print the version", callback=installed.show_version, is_eager=True)
    ] = False,
) -> None:
    """A focused web crawler: say what you are looking for, and it brings the pages that match."""


COMMANDS: tuple[Callable[..., None], ...] = (
    *(topics.new, projects.crawl, projects.retry, status, projects.pages, why, projects.search),
    *(changes, projects.export, topics.label, topics.retrain, judge, terms, train),
    *(mending.verify, mending.recover),
    *(installed.strategies, installed.critics, installed.doctor),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(topics.topic_app, name="topic")
app.add_typer(teach, name="teach")
app.add_typer(taxonomy, name="taxonomy")
app.add_typer(projects.seeds_app, name="seeds")


def _add_plugins() -> None:
    """Add the commands of other packages. One that cannot be imported is left out, with a line that says so."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            added = point.load()
        except Exception as error:  # a plug-in may raise anything while it is imported
            problem = f"command {point.name!r} ({point.value}) cannot be imported: {type(error).__name__}: {error}"
            say(f"forager: {problem}; repair or uninstall its package")
            continue
        if isinstance(added, typer.Typer):
            app.add_typer(added, name=point.name)
        else:
            app.command(point.name)(added)


_add_plugins()


def _show_warning(message: Warning | str, category: type[Warning], *place: object) -> None:
    """A warning for users, in one line. Those for programmers are not shown."""
    if issubclass(category, DamageWarning):
        say(f"forager: {message}")


def main() -> None:
    """Exit codes: 0 done, 1 nothing was fetched, or the doctor or `verify` found a problem, 2 wrong input, 130 stopped
    at once."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a page may have letters that the terminal has not
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(prog_name="forager", standalone_mode=False)
    except ForagerError as error:
        say(f"forager: {error}")
        code = WRONG
    except UsageError as error:
        _say_usage(error)
        code = WRONG
    except typer.Abort:
        code = 1
    except OSError as error:
        if error.errno not in _NOT_ALLOWED:
            raise
        say(f"forager: {error.filename or 'a file'} cannot be used: {error.strerror}")
        code = WRONG
    raise SystemExit(code)


def _say_usage(error: Any) -> None:
    """A command that was typed wrong, in one line. Without a message its help was printed."""
    message = error.format_message().rstrip(".")
    if message:
        place = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        say(f"forager: {message[0].lower()}{message[1:]}{place}")
