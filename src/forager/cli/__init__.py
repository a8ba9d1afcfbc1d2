"""The command line: words in, library calls, tables out. It decides nothing that a library user could not."""

from __future__ import annotations

import sys

import typer

from forager.cli import projects, topics
from forager.cli.courses import from_courses
from forager.cli.judge import judge
from forager.cli.plugins import add_plugins
from forager.cli.taxonomy import taxonomy
from forager.cli.teach import teach
from forager.cli.terms import terms
from forager.cli.train import train
from forager.critics import critic_names
from forager.errors import ForagerError
from forager.strategies import strategy_names

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A focused web crawler.")
for command in (topics.new, projects.crawl, projects.status, projects.pages, projects.why, projects.search):
    app.command()(command)
app.command("export")(projects.export_pages)
app.command()(topics.label)
app.command()(topics.retrain)
app.command()(judge)
app.command()(terms)
app.command()(train)
topics.topic_app.command("from-courses")(from_courses)
app.add_typer(topics.topic_app, name="topic")
app.add_typer(teach, name="teach")
app.add_typer(taxonomy, name="taxonomy")
app.add_typer(projects.seeds_app, name="seeds")
add_plugins(app)


@app.command()
def strategies() -> None:
    """The strategies there are, built in and from plug-ins."""
    for name in strategy_names():
        print(name)


@app.command()
def critics() -> None:
    """The critics there are, built in and from plug-ins."""
    for name in critic_names():
        print(name)


def main() -> None:
    """Exit codes: 0 done, 2 wrong input, 130 stopped at once."""
    try:
        app()
    except ForagerError as error:
        print(f"forager: {error}", file=sys.stderr)
        raise SystemExit(2) from None
