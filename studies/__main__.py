"""python -m studies apprentice|lexical|paths: repeat the experiments of a paper, and write a page about them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from forager.errors import ForagerError
from forager_lab.cli.matrix import STOPPED, MatrixProgress
from forager_lab.matrix import KEPT
from forager_lab.plots import need_matplotlib
from studies.apprentice import ApprenticePlan, apprentice_claims, run_apprentice_study, write_apprentice_page
from studies.claims import told
from studies.lexical import LexicalPlan, run_lexical_study, write_lexical_page
from studies.paths import PathsPlan, run_paths_study, write_paths_page

DOCS = Path("docs/lab")
COURSE_PARTS = Path("data/course-parts.tsv")
APPRENTICE_TOPICS, LEXICAL_TOPICS, LEXICAL_OTHERS, PATHS_TOPICS = (
    ",".join(names) for names in (ApprenticePlan.topics, LexicalPlan.topics, LexicalPlan.others, PathsPlan.topics)
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Repeat the experiments of a paper on recorded webs, and write a page about them.",
)
err = Console(stderr=True)

WebOption = Annotated[str, typer.Option(metavar="DIR", help="folder of a recorded web with topics, as wikispeedia")]
CoursesOption = Annotated[str, typer.Option(metavar="DIR", help="folder of a recorded web of universities, as webkb")]
OutOption = Annotated[Path, typer.Option(help="folder of the pictures; the page is written beside it, as OUT.md")]
JobsOption = Annotated[int, typer.Option(help="number of processes")]
TopicsOption = Annotated[str, typer.Option(help="topics, separated by commas")]
SeedOption = Annotated[int, typer.Option(help="seed of all random choices")]
KeepOption = Annotated[Path, typer.Option(help="folder of the finished crawls and parts")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="make again what other code made")]


@app.command()
def apprentice(
    web: WebOption,
    out: OutOption = DOCS / "apprentice",
    jobs: JobsOption = 2,
    topics: TopicsOption = APPRENTICE_TOPICS,
    runs: Annotated[int, typer.Option(help="runs with different samples")] = ApprenticePlan.runs,
    side_runs: Annotated[int, typer.Option(help="runs of the side figures")] = ApprenticePlan.side_runs,
    spec: Annotated[
        str, typer.Option("--apprentice", help="the apprentice; parameters as name:key=value")
    ] = ApprenticePlan.apprentice,
    critic: Annotated[str, typer.Option(help="what judges the pages")] = ApprenticePlan.critic,
    seed: SeedOption = 0,
    keep: KeepOption = KEPT,
    fresh: FreshOption = False,
) -> None:
    """The apprentice: the claims of its paper one by one, figures 4 to 14, and loss reduction. Finished crawls are
    kept."""
    need_matplotlib()
    plan = ApprenticePlan(web, _names(topics), spec, critic, runs, min(side_runs, runs), seed=seed)
    try:
        found = run_apprentice_study(plan, keep, jobs=jobs, fresh=fresh, tell=_tell)
    except KeyboardInterrupt:
        err.print(_stopped(keep))
        raise typer.Exit(STOPPED) from None
    page = write_apprentice_page(found, out)
    print(told(apprentice_claims(found)))
    print(f"{found.made} parts made, {sum(found.codes.values()) - found.made} kept from earlier; {page}")


@app.command()
def lexical(
    web: WebOption,
    out: OutOption = DOCS / "lexical",
    jobs: JobsOption = 2,
    topics: TopicsOption = LEXICAL_TOPICS,
    others: Annotated[str, typer.Option(help="topics to search weights on, and to try options on")] = LEXICAL_OTHERS,
    runs: Annotated[int, typer.Option(help="crawls a topic, each from a page of its own")] = LexicalPlan.runs,
    side_runs: Annotated[
        int, typer.Option(help="options, and the other topics, have so many crawls a topic")
    ] = LexicalPlan.side_runs,
    pages: Annotated[int, typer.Option(help="pages of a crawl")] = LexicalPlan.pages,
    seed: SeedOption = 0,
    keep: KeepOption = KEPT,
    fresh: FreshOption = False,
) -> None:
    """The lexical method: chapter 5 of its thesis. Finished crawls are kept."""
    need_matplotlib()
    plan = LexicalPlan(web, _names(topics), _names(others), runs, min(side_runs, runs), pages, seed=seed)
    with MatrixProgress(err, keep) as progress:
        found = run_lexical_study(plan, keep, jobs=jobs, fresh=fresh, tell=progress.tell, note=progress.note)
    print(f"{found.done.crawled} cells crawled now; {write_lexical_page(found, out)}")


@app.command()
def paths(
    courses: CoursesOption,
    web: WebOption,
    parts: Annotated[Path, typer.Option(help="file of labels by hand, of the parts of course pages")] = COURSE_PARTS,
    out: OutOption = DOCS / "paths",
    jobs: JobsOption = 2,
    topics: TopicsOption = PATHS_TOPICS,
    runs: Annotated[int, typer.Option(help="crawls a topic, each with another half of it")] = PathsPlan.runs,
    draws: Annotated[
        int, typer.Option(help="for courses, how often a model that depends on chance is taught")
    ] = PathsPlan.draws,
    seed: SeedOption = 0,
    keep: KeepOption = KEPT,
    fresh: FreshOption = False,
) -> None:
    """The path models: context graph, reinforcement spider, HMM, MEMM and CRF. Finished crawls are kept."""
    need_matplotlib()
    plan = PathsPlan(courses, web, parts, _names(topics), runs, draws, seed=seed)
    with MatrixProgress(err, keep) as progress:
        found = run_paths_study(plan, keep, jobs=jobs, fresh=fresh, tell=progress.tell, note=progress.note)
    print(f"{found.done.crawled} cells crawled now; {write_paths_page(found, out)}")


def _stopped(keep: Path) -> str:
    return f"stopped; what is finished is kept in {keep}, and the same command goes on from there"


def _tell(done: int, of: int, last: str) -> None:
    err.print(f"{done}/{of} runs of topics done{f': {last}' if last else ''}", highlight=False, markup=False)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def main() -> None:
    """Exit codes: 0 done, 2 wrong input, 130 stopped."""
    try:
        app()
    except ForagerError as error:
        print(f"studies: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
