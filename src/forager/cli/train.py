"""`forager train`: train a strategy before a crawl, on shown paths or on a web whose targets are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forager.cli.terminal import Seed, put, say
from forager.crawl.folder import read_seeds
from forager.errors import ForagerError, unknown
from forager.paths import Ground, ShownPath, load_paths
from forager.registry import Spec
from forager.teaching.train_strategy import (
    REPORT,
    StrategyTraining,
    paths_in_words,
    quality_in_words,
    save_strategy,
    train_strategy,
    trainable_strategies,
)
from forager.teaching.training_webs import edges_ground, labelled_ground, project_ground, shown_ground
from forager.types import RELEVANT
from forager.web.urls import RULES


def train(
    model: Annotated[
        str, typer.Argument(help="context-graph, q-value, hmm, memm or crf; with settings: NAME:KEY=VALUE")
    ],
    out: Annotated[Path, typer.Option(help="folder to write: the trained strategy and a report")],
    paths: Annotated[Path | None, typer.Option(help="file of paths, made by `forager teach`")] = None,
    pages: Annotated[
        Path | None,
        typer.Option(help="folder of WARC files with the pages", show_default="the folder of --paths"),
    ] = None,
    web: Annotated[Path | None, typer.Option(help="folder of a recorded web, with *.warc.gz and labels.tsv")] = None,
    target: Annotated[str | None, typer.Option(help="with --web: the label of the wanted pages")] = None,
    project: Annotated[Path | None, typer.Option(help="crawled project; its relevant pages are the targets")] = None,
    relevant: Annotated[
        float, typer.Option(help="with --project: the least relevance of a target", min=0, max=1)
    ] = RELEVANT,
    edges: Annotated[Path | None, typer.Option(help="file of links; needs --targets and --pages")] = None,
    targets: Annotated[Path | None, typer.Option(help="with --edges: file with a wanted URL on each line")] = None,
    folds: Annotated[
        int, typer.Option(help="test by leaving out each of so many parts once; 0: no test", min=0, max=1000)
    ] = 5,
    seed: Seed = 0,
) -> None:
    """Train a strategy before a crawl, with one of --paths, --web, --project or --edges.

    Use it with: forager new PROJECT --taught OUT --seeds FILE
    """
    spec = Spec.parse(model)
    if spec.name not in trainable_strategies():
        raise unknown("model", spec.name, trainable_strategies())
    if folds == 1:
        raise ForagerError("--folds 1: give 2 or more, or 0 for no test")
    shown, ground = _ground(paths, pages, web, target, project, relevant, edges, targets)
    for line in paths_in_words(shown) if shown else ():
        say(line)
    say(f"{len(ground)} pages, {len(ground.graph.targets)} links, {int(ground.targets.sum())} targets")
    training = StrategyTraining(spec.name, spec.options, ground, shown, seed)
    trained = train_strategy(training, count=folds, heard=_heard, told=say)
    save_strategy(out, training, trained)
    if trained.quality.steps:
        put(quality_in_words(trained.quality))
    if trained.critic is None:
        say("there are too few targets to train a critic: give the project a topic")
    put(f"{out} has the model and {REPORT}; next: forager new PROJECT --taught {out} --seeds FILE")


def _ground(
    paths: Path | None,
    pages: Path | None,
    web: Path | None,
    target: str | None,
    project: Path | None,
    relevant: float,
    edges: Path | None,
    targets: Path | None,
) -> tuple[tuple[ShownPath, ...], Ground]:
    if sum(source is not None for source in (paths, web, project, edges)) != 1:
        raise ForagerError("give exactly one of --paths, --web, --project and --edges")
    if paths is not None:
        shown = load_paths(paths)
        for concern in shown.concerns:
            say(f"note: {concern}")
        return shown.paths, shown_ground(shown.paths, pages or paths.parent)
    if project is not None:
        return (), project_ground(project, relevant)
    if edges is not None:
        if targets is None or pages is None:
            raise ForagerError(
                "--edges needs --targets FILE, with a URL on each line, and --pages FOLDER, with the pages"
            )
        wanted = [url for text in read_seeds(targets) if (url := RULES.canonical(text)) is not None]
        return (), edges_ground(edges, wanted, pages)
    if web is None or target is None:
        raise ForagerError("--web also needs --target LABEL; `forager lab topics` lists the labels")
    return (), labelled_ground(web, target)


def _heard(iteration: int, value: float) -> None:
    if iteration % 10 == 1:
        say(f"iteration {iteration}: likelihood {value:,.1f}")
