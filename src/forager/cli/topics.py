"""`forager new`, `topic show`, `label`, `retrain`: say what is wanted, see what was understood, correct it."""

from __future__ import annotations

import asyncio
import json
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from forager.cli.progress import Progress, counting
from forager.collection.rejudge import rejudge
from forager.crawl.build import STRATEGY_VERSION
from forager.errors import ForagerError, unknown
from forager.learn.focus import in_focus
from forager.project import CONFIG, Project, read_seeds
from forager.store import Catalogue, models
from forager.store.journal import learnt_of
from forager.store.models import Checkpoints
from forager.strategies import strategy_names
from forager.teaching.train_strategy import CRITIC as JUDGE
from forager.teaching.train_strategy import STRATEGY as TAUGHT
from forager.teaching.train_strategy import read_report
from forager.topics.labels import add_labels, check_verdict, verdicts_of
from forager.topics.topic_critic import Taught, focus_of, teach
from forager.types import Parts
from forager.web.scope import Within
from forager.web.urls import RULES

out, err = Console(), Console(stderr=True)
Folder = Annotated[Path, typer.Argument(help="the folder of a project")]
Json = Annotated[bool, typer.Option("--json", help="for programs: one JSON object")]
PRIOR = "prior.npz"


def new(
    project: Folder,
    keywords: Annotated[str, typer.Option(help="words or phrases that a wanted page has, separated by commas")] = "",
    example: Annotated[
        list[str] | None,
        typer.Option(help="a wanted page: URL, HTML file, folder of them, or WARC file; NAME=… puts it in a class"),
    ] = None,
    examples: Annotated[Path | None, typer.Option(help="a file with an example a line")] = None,
    unlike: Annotated[list[str] | None, typer.Option(help="a page that is not wanted, given like an example")] = None,
    sentence: Annotated[str, typer.Option(help="what is wanted, in plain language")] = "",
    directory: Annotated[Path | None, typer.Option(help="a file made by `forager taxonomy import`")] = None,
    topic: Annotated[list[str] | None, typer.Option(help="a category of the directory that is wanted")] = None,
    seed: Annotated[list[str] | None, typer.Option(help="a URL to start from; may be given again")] = None,
    seeds: Annotated[Path | None, typer.Option(help="a file with a URL a line")] = None,
    contact: Annotated[str, typer.Option(help="where you can be reached: a mail address or a page")] = "",
    strategy: Annotated[str, typer.Option(help="see `forager strategies`")] = "best-first",
    apprentice_from: Annotated[Path | None, typer.Option(help="a project whose crawl has taught the strategy")] = None,
    taught: Annotated[Path | None, typer.Option(help="a folder made by `forager train`: a strategy that knows")] = None,
    within: Annotated[
        Within | None, typer.Option(help="how far from the seeds [default: anywhere; with --taught: site]")
    ] = None,
    pages_per_site: Annotated[int | None, typer.Option(help="pages to fetch of a site at most")] = None,
    pages: Annotated[int, typer.Option(help="pages to fetch")] = 1000,
) -> None:
    """Make a project: a folder with a configuration that you can edit. Say what is wanted in one way or several."""
    given = [*(example or []), *(read_seeds(examples) if examples else [])]
    if strategy not in strategy_names():
        raise unknown("strategy", strategy, strategy_names())
    wanted = _wanted(keywords, _by_class(given), unlike or [], sentence, directory, topic or [])
    chosen = _strategy_table(strategy, model=PRIOR if apprentice_from else None)
    if taught is not None:
        chosen, wanted = _taught_tables(taught, wanted)
    if not wanted:
        raise ForagerError(
            "nothing says what is wanted: give --keywords, --example, --sentence, or --directory and --topic"
        )
    found = [place for _, place in map(_split, given) if "://" in place]  # a wanted page is a good place to start
    urls = [*(seed or []), *(read_seeds(seeds) if seeds else []), *found]
    if not urls:
        raise ForagerError("no seeds: give --seed URL, or --seeds FILE with a URL a line")
    budget = f"pages_per_site = {pages_per_site}\n" if pages_per_site else ""
    toml = (
        f"{wanted}\n{chosen}\n[scope]\nwithin = {json.dumps(within or ('site' if taught else 'anywhere'))}\n\n"
        f"[frontier]\ndelay = 1.0\n{budget}\n[stop]\npages = {pages}\n\n"
        f"[fetch]\ncontact = {json.dumps(contact)}  # where the owner of a site can reach you\n"
    )
    tomllib.loads(toml)
    prior = _prior(apprentice_from, strategy) if apprentice_from else None
    made = Project.create(project, toml, urls)
    if prior is not None:
        models.save(project / PRIOR, prior, kind=strategy, version=STRATEGY_VERSION)
    for file in (taught / TAUGHT, taught / JUDGE) if taught else ():
        if file.exists():
            shutil.copyfile(file, project / file.name)
    print(f"{project} has {len(made.config.seeds)} seeds; see what was understood with: forager topic show {project}")
    print(f"then, or after editing {project / CONFIG}: forager crawl {project}")


def _strategy_table(name: str, options: Mapping[str, object] | None = None, model: str | None = None) -> str:
    lines = [f"name = {json.dumps(name)}", *([f"model = {json.dumps(model)}"] if model else [])]
    lines += [f"options.{key} = {json.dumps(value)}" for key, value in (options or {}).items()]
    return "\n".join(["[strategy]", *lines, ""])


def _taught_tables(folder: Path, wanted: str) -> tuple[str, str]:
    """The strategy that knows the way; and, if nothing else says what is wanted, the critic that was taught with it."""
    report = read_report(folder)
    chosen = _strategy_table(report["strategy"], report["options"], TAUGHT)
    if not wanted and report["critic"]:
        wanted = f"[critic]\nname = {json.dumps(report['critic'])}\nmodel = {json.dumps(JUDGE)}\n"
    return chosen, wanted


def _split(example: str) -> tuple[str | None, str]:
    """NAME=PLACE; a URL may have an equals sign of its own, after a slash."""
    name, equals, place = example.partition("=")
    return (name.strip(), place.strip()) if equals and "/" not in name and "\\" not in name else (None, example.strip())


def _by_class(given: list[str]) -> dict[str | None, list[str]]:
    classes: dict[str | None, list[str]] = {}
    for name, place in map(_split, given):
        classes.setdefault(name, []).append(_absolute(place))
    return classes


def _absolute(place: str) -> str:
    return place if "://" in place else str(Path(place).expanduser().resolve())


def _wanted(
    keywords: str,
    examples: dict[str | None, list[str]],
    unlike: list[str],
    sentence: str,
    directory: Path | None,
    paths: list[str],
) -> str:
    """[topic] as TOML; empty if nothing says. JSON strings and lists are TOML strings and lists."""
    words = [word.strip() for word in keywords.split(",") if word.strip()]
    if bool(paths) != bool(directory):
        raise ForagerError("--topic names a category of a --directory: give both")
    values = {
        "keywords": words,
        "sentence": sentence,
        "unlike": [_absolute(place) for place in unlike],
        "directory": str(directory.resolve()) if directory else "",
        "paths": paths,
    }
    if not (words or examples or sentence or paths):
        return ""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items() if value]
    lines += [
        f"examples.{json.dumps(name or 'wanted', ensure_ascii=False)} = {json.dumps(places, ensure_ascii=False)}"
        for name, places in examples.items()
    ]
    return "\n".join(["[topic]", *lines, ""])


def _prior(folder: Path, strategy: str) -> Parts:
    """What the crawl of another project has taught its strategy."""
    other = Project(folder)
    if other.config.strategy.name != strategy:
        raise ForagerError(
            f"{folder} was crawled with {other.config.strategy.name!r}, not with {strategy!r}: choose that one"
        )
    with Catalogue(folder) as catalogue:
        checkpoint, _ = Checkpoints(folder).last(catalogue.last_seq)
    if checkpoint is None:
        raise ForagerError(f"the crawl of {folder} has taught its strategy nothing yet: crawl it first")
    return learnt_of(checkpoint[1])


# ---- what was understood --------------------------------------------------------------------------------------------

topic_app = typer.Typer(no_args_is_help=True, help="What a project looks for.")


@topic_app.command()
def show(
    project: Folder,
    again: Annotated[bool, typer.Option(help="teach the critic again, whatever was kept")] = False,
    as_json: Json = False,
) -> None:
    """What the critic will look for, before anything is crawled. Examples that are URLs are fetched, once."""
    taught = asyncio.run(taught_with_progress(Project(project), again=again))
    if as_json:
        print(json.dumps(_described(taught)))
        return
    critic = taught.critic
    print(f"critic    {critic.version}, wants: {', '.join(critic.focus)}")
    for name, origins in taught.sizes.items():
        mark = "*" if in_focus(name, critic.focus) else " "
        told = ", ".join(f"{count} {origin}" for origin, count in origins.items())
        print(f"{mark} {sum(origins.values()):>7,}  {name}  ({told})")
    for name, words in taught.words.items():
        print(f"words of {name}: {', '.join(words)}")
    if not taught.words:
        print(f"words     {', '.join(taught.query.words)}")
    if taught.quality:
        quality = taught.quality
        print(f"quality   ROC AUC {quality.roc_auc:.3f}, average precision {quality.average_precision:.3f}, unseen")
    for url, why in taught.missing.items():
        print(f"no page   {url}: {why}")
    for line in taught.advice:
        err.print(f"note: {line}", highlight=False, markup=False)


def _described(taught: Taught) -> dict[str, Any]:
    return {
        "critic": taught.critic.version,
        "focus": list(taught.critic.focus),
        "classes": {name: dict(origins) for name, origins in taught.sizes.items()},
        "words": {name: list(words) for name, words in taught.words.items()},
        "query": list(taught.query.words),
        "quality": asdict(taught.quality) if taught.quality else None,
        "missing": dict(taught.missing),
        "advice": taught.advice,
    }


async def taught_with_progress(project: Project, *, again: bool = False) -> Taught:
    """The critic of a project; what it has to fetch is shown."""
    if project.config.topic is None:
        return await teach(project)
    with Progress(err, title="examples: ") as progress:
        return await teach(project, lambda crawl, notes: progress.began(crawl), progress.each, again=again)


# ---- corrections ----------------------------------------------------------------------------------------------------


def label(
    project: Folder,
    url: Annotated[str, typer.Argument(help="a page of the collection")] = "",
    verdict: Annotated[str, typer.Argument(help="relevant, irrelevant, or one of the wanted classes")] = "",
    file: Annotated[Path | None, typer.Option(help="a URL and a verdict a line")] = None,
) -> None:
    """Say whether a page is wanted; `forager retrain` then learns from it."""
    found = Project(project)
    if file is not None:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ForagerError(f"{file} cannot be read: {error}") from None
    elif url and verdict:
        lines = [f"{url}\t{verdict}"]
    else:
        raise ForagerError("give a URL and a verdict (relevant or irrelevant), or --file FILE")
    verdicts = verdicts_of(lines, RULES, str(file or "the command"))
    classes = focus_of(found.config.topic) if found.config.topic else ()
    with Catalogue(project) as catalogue:
        for each, said in verdicts.items():
            check_verdict(said, classes)
            catalogue.find(each)  # a URL that the crawl never found is an error
    add_labels(project, verdicts, datetime.now(UTC))
    print(f"{len(verdicts)} pages labelled; forager retrain {project} learns from them")


def retrain(project: Folder) -> None:
    """Teach the critic again with what was labelled, and judge again what was fetched; the strategy learns anew."""
    found = Project(project)
    if found.config.topic is None:
        raise ForagerError(
            f"{project} has no [topic]: its critic learns from no examples, so there is nothing to retrain"
        )
    taught = asyncio.run(taught_with_progress(found))
    with Catalogue(project) as catalogue:
        pages = catalogue.status().pages
    with counting(err, "judging again", pages) as tell:
        done = rejudge(found, taught.critic, taught.query, tell)
    print(f"{done} pages judged again by {taught.critic.version}")
    for line in taught.advice:
        err.print(f"note: {line}", highlight=False, markup=False)
