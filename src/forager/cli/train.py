"""`forager train MODEL …`: teach a strategy the way, from paths that were shown or a web whose targets are known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from forager.errors import ForagerError, unknown
from forager.paths import Ground, ShownPath, load_paths
from forager.project import read_seeds
from forager.registry import Spec
from forager.strategies import STRATEGIES
from forager.teaching.train_strategy import REPORT, School, save, school
from forager.teaching.training_webs import edges_ground, labelled_ground, project_ground, shown_ground
from forager.web.urls import RULES

err = Console(stderr=True)


def train(
    model: Annotated[
        str, typer.Argument(help="context-graph, q-value, hmm, memm or crf; parameters as name:key=value")
    ],
    out: Annotated[Path, typer.Option(help="the folder for what was learnt")],
    paths: Annotated[Path | None, typer.Option(help="paths that were shown: see `forager teach`")] = None,
    pages: Annotated[
        Path | None, typer.Option(help="folder of WARC files with the pages [default: where the paths are]")
    ] = None,
    web: Annotated[Path | None, typer.Option(help="folder of a recorded web: *.warc.gz with labels.tsv")] = None,
    target: Annotated[str | None, typer.Option(help="with --web: the label of what is wanted")] = None,
    project: Annotated[Path | None, typer.Option(help="a finished crawl: its relevant pages are the targets")] = None,
    relevant: Annotated[float, typer.Option(help="with --project: relevance from which a page is a target")] = 0.5,
    edges: Annotated[Path | None, typer.Option(help="a file of links, with --targets and --pages")] = None,
    targets: Annotated[Path | None, typer.Option(help="with --edges: a file with a wanted URL a line")] = None,
    folds: Annotated[int, typer.Option(help="times that a part is left out to test with; 0: do not test")] = 5,
    seed: Annotated[int, typer.Option(help="of all chance")] = 0,
) -> None:
    """Teach a strategy before a crawl; then: forager new PROJECT --taught OUT --seeds HOME-PAGES."""
    spec = Spec.parse(model)
    teachable = [name for name, maker in STRATEGIES.items() if hasattr(maker, "taught")]
    if spec.name not in teachable:
        raise unknown("model", spec.name, teachable)
    if folds == 1 or folds < 0:
        raise ForagerError(f"--folds {folds}: give 2 or more, or 0 to leave the test out")
    shown, ground = _ground(paths, pages, web, target, project, relevant, edges, targets)
    told = f"{len(shown)} paths, " if shown else ""
    _say(f"{told}{len(ground)} pages, {len(ground.graph.targets)} links, {int(ground.targets.sum())} targets")
    lesson = School(spec.name, spec.options, ground, shown, seed)
    schooled = school(lesson, count=folds, heard=_heard, told=_say)
    save(out, lesson, schooled)
    quality = schooled.quality
    if not math.isnan(quality.share):
        print(
            f"on {quality.steps} steps that it was not shown: a link to be taken scores more than another one in "
            f"{quality.share:.1%} of the cases, and is the best of its page in {quality.first:.1%}"
        )
    if schooled.critic is None:
        _say("too few targets to teach a critic: give the project a topic of its own")
    print(f"{out} has the model and {REPORT}; next: forager new PROJECT --taught {out} --seeds HOME-PAGES")


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
        raise ForagerError("give one thing to learn from: --paths, --web, --project or --edges")
    if paths is not None:
        shown = load_paths(paths)
        for concern in shown.concerns:
            _say(f"note: {concern}")
        return shown.paths, shown_ground(shown.paths, pages or paths.parent)
    if project is not None:
        return (), project_ground(project, relevant)
    if edges is not None:
        if targets is None or pages is None:
            raise ForagerError("--edges needs --targets FILE, a URL a line, and --pages FOLDER, where the pages are")
        wanted = [url for text in read_seeds(targets) if (url := RULES.canonical(text)) is not None]
        return (), edges_ground(edges, wanted, pages)
    if web is None or target is None:
        raise ForagerError("--web needs --target LABEL: see `forager lab topics`")
    return (), labelled_ground(web, target)


def _heard(iteration: int, value: float) -> None:
    if iteration % 10 == 1:
        _say(f"iteration {iteration}: likelihood {value:,.1f}")


def _say(line: str) -> None:
    err.print(line, highlight=False, markup=False, soft_wrap=True)
