"""`forager new`, `topic`, `label` and `retrain`: say what is wanted, see what was understood, correct it."""

from __future__ import annotations

import asyncio
import json
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from getpass import getuser
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from forager.cli.progress import Progress, counting
from forager.cli.terminal import JsonLines, JsonObject, ProjectFolder, err, put, put_json, say
from forager.collection.courses import CourseKeyword, keywords
from forager.collection.courses.export import read_courses
from forager.collection.rejudge import rejudge
from forager.config import MOST
from forager.crawl.build import STRATEGY_VERSION
from forager.crawl.folder import CONFIG, read_seeds
from forager.errors import ForagerError, unknown
from forager.learn.focus import in_focus
from forager.project import Project
from forager.store import Catalogue, models
from forager.store.journal import learnt_of
from forager.store.models import Checkpoints
from forager.store.verdicts import (
    NAMELESS,
    is_judge_name,
    parse_labels,
)
from forager.strategies import strategy_names
from forager.teaching.train_strategy import CRITIC as CRITIC_FILE
from forager.teaching.train_strategy import STRATEGY as STRATEGY_FILE
from forager.teaching.train_strategy import read_report
from forager.topics.topic_critic import TopicCritic, learns_labels, train_critic
from forager.types import Parts
from forager.web.scope import Within
from forager.web.urls import RULES

PRIOR = "prior.npz"
PROJECT_TOML = """\
{% for name, values in tables.items() %}
[{{ name }}]
{% for key, value in values.items() %}
{{ key }} = {{ value | toml }}
{% endfor %}

{% endfor %}
[scope]
within = {{ within | toml }}

[frontier]
delay = 1.0
{% if pages_per_site %}
pages_per_site = {{ pages_per_site }}
{% endif %}

[stop]
pages = {{ pages }}

[fetch]
contact = {{ contact | toml }}  # where the owner of a site can reach you
"""
KEYWORDS_TOML = """\
[topic]
keywords = [
{% for keyword in keywords %}
  {{ keyword | toml }},
{% endfor %}
]
"""

TomlTable: TypeAlias = dict[str, object]


# ---- a new project --------------------------------------------------------------------------------------------------


def new(
    project: Annotated[Path, typer.Argument(help="folder to make")],
    keywords: Annotated[str, typer.Option(help="words or phrases of wanted pages, separated by commas")] = "",
    example: Annotated[
        list[str] | None,
        typer.Option(
            help="wanted page: URL, HTML file, folder of such files, or WARC file; repeat for more; "
            "NAME=… puts it in the class NAME"
        ),
    ] = None,
    examples: Annotated[Path | None, typer.Option(help="file with an example on each line")] = None,
    unlike: Annotated[
        list[str] | None, typer.Option(help="page that is not wanted, given like an example; repeat for more")
    ] = None,
    sentence: Annotated[str, typer.Option(help="what is wanted, in a sentence")] = "",
    directory: Annotated[
        Path | None, typer.Option(help="directory of topics, made by `forager taxonomy import`")
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(help="wanted category of the directory, as in Science.Biology; repeat for more")
    ] = None,
    seed: Annotated[list[str] | None, typer.Option(help="URL to start from; repeat for more")] = None,
    seeds: Annotated[Path | None, typer.Option(help="file with a URL to start from on each line")] = None,
    contact: Annotated[str, typer.Option(help="mail address or page where the owners of sites can reach you")] = "",
    strategy: Annotated[str, typer.Option(help="how links are chosen; `forager strategies` lists them")] = "default",
    apprentice_from: Annotated[
        Path | None, typer.Option(help="crawled project; its strategy has learnt, and the new one begins with that")
    ] = None,
    taught: Annotated[Path | None, typer.Option(help="folder made by `forager train`: a trained strategy")] = None,
    within: Annotated[
        Within | None, typer.Option(help="how far links may lead", show_default="anywhere; with --taught: site")
    ] = None,
    pages_per_site: Annotated[
        int | None, typer.Option(help="at most so many pages from one site", min=1, max=MOST)
    ] = None,
    pages: Annotated[int, typer.Option(help="stop after so many pages", min=1, max=MOST)] = 1000,
) -> None:
    """Make a project: a folder with a configuration that you can edit.

    Say what is wanted with one or more of --keywords, --example, --sentence, --directory with --topic, or --taught.
    """
    given = [*(example or []), *(read_seeds(examples) if examples else [])]
    if strategy not in strategy_names():
        raise unknown("strategy", strategy, strategy_names())
    wanted = _topic_table(keywords, _by_class(given), unlike or [], sentence, directory, topic or [])
    tables = {"topic": wanted} if wanted else {}
    if taught is not None:
        tables |= _taught_tables(taught, wanted)
    else:
        tables["strategy"] = _like(apprentice_from, strategy) if apprentice_from else _named(strategy, "")
    if not ("topic" in tables or "critic" in tables):
        raise ForagerError(
            "nothing says what is wanted: give --keywords, --example, --sentence, or --directory and --topic"
        )
    found = [place for _, place in map(_split, given) if "://" in place]  # a wanted page is a good place to start
    urls = [*(seed or []), *(read_seeds(seeds) if seeds else []), *found]
    if not urls:
        raise ForagerError("no seeds: give --seed URL, or --seeds FILE with a URL on each line")
    values = {"tables": tables, "within": within or ("site" if taught else "anywhere"), "contact": contact}
    toml = _fill(PROJECT_TOML, **values, pages_per_site=pages_per_site, pages=pages)
    prior = _prior(apprentice_from) if apprentice_from else None
    made = Project.create(project, toml, urls)
    if prior is not None:
        models.save(project / PRIOR, prior, kind=strategy, version=STRATEGY_VERSION)
    for file in (taught / STRATEGY_FILE, taught / CRITIC_FILE) if taught else ():
        if file.exists():
            shutil.copyfile(file, project / file.name)
    put(f"{project} has {len(made.config.seeds)} seeds; to see what was understood: forager topic show {project}")
    put(f"then, or after editing {project / CONFIG}: forager crawl {project}")


def _fill(template: str, **values: object) -> str:
    """A TOML file from its template, checked."""
    from jinja2 import Environment  # slow to import

    environment = Environment(trim_blocks=True, keep_trailing_newline=True)
    environment.filters["toml"] = _toml
    toml = environment.from_string(template).render(values)
    tomllib.loads(toml)
    return toml


def _toml(value: object) -> str:
    """A value in TOML. JSON writes strings, numbers and lists in the same way."""
    return json.dumps(value, ensure_ascii=False)


def _named(name: str, model: str, options: Mapping[str, object] | None = None) -> TomlTable:
    """The table of a strategy or critic."""
    chosen: TomlTable = {"name": name, "model": model} if model else {"name": name}
    return chosen | {f"options.{key}": value for key, value in (options or {}).items()}


def _taught_tables(folder: Path, wanted: TomlTable) -> dict[str, TomlTable]:
    """The trained strategy; and the critic that was trained with it, if there is no topic."""
    report = read_report(folder)
    tables = {"strategy": _named(report["strategy"], STRATEGY_FILE, report["options"])}
    if not wanted and report["critic"]:
        return {"critic": _named(report["critic"], CRITIC_FILE), **tables}
    return tables


def _split(example: str) -> tuple[str | None, str]:
    """Class and place of an example NAME=PLACE. A URL may have an equals sign too, but after a slash."""
    name, equals, place = example.partition("=")
    return (name.strip(), place.strip()) if equals and "/" not in name and "\\" not in name else (None, example.strip())


def _by_class(given: list[str]) -> dict[str | None, list[str]]:
    classes: dict[str | None, list[str]] = {}
    for name, place in map(_split, given):
        classes.setdefault(name, []).append(_absolute(place))
    return classes


def _absolute(place: str) -> str:
    return place if "://" in place else str(Path(place).expanduser().resolve())


def _topic_table(
    keywords: str,
    examples: dict[str | None, list[str]],
    unlike: list[str],
    sentence: str,
    directory: Path | None,
    paths: list[str],
) -> TomlTable:
    """The table [topic]; empty if nothing says what is wanted."""
    words = [word.strip() for word in keywords.split(",") if word.strip()]
    if bool(paths) != bool(directory):
        raise ForagerError("--topic names a category of a --directory: give both")
    if not (words or examples or sentence or paths):
        return {}
    values: TomlTable = {
        "keywords": words,
        "sentence": sentence,
        "unlike": [_absolute(place) for place in unlike],
        "directory": str(directory.resolve()) if directory else "",
        "paths": paths,
        **{f"examples.{_toml(name or 'wanted')}": places for name, places in examples.items()},
    }
    return {key: value for key, value in values.items() if value}


def _like(folder: Path, strategy: str) -> TomlTable:
    """The table of a strategy that begins with what it learnt in another project, so with the same options."""
    theirs = Project(folder).config.strategy
    if theirs.name != strategy:
        raise ForagerError(f"{folder} was crawled with {theirs.name!r}, not with {strategy!r}: choose that strategy")
    return _named(strategy, PRIOR, theirs.options)


def _prior(folder: Path) -> Parts:
    """What the strategy of another project has learnt in its crawl."""
    with Catalogue(folder) as catalogue:
        checkpoint, _ = Checkpoints(folder).last(catalogue.last_seq)
    if checkpoint is None:
        raise ForagerError(f"the strategy of {folder} has learnt nothing yet: crawl it first")
    return learnt_of(checkpoint[1])


# ---- topics ---------------------------------------------------------------------------------------------------------

topic_app = typer.Typer(no_args_is_help=True, help="What a project looks for.")


@topic_app.command()
def show(
    project: ProjectFolder,
    again: Annotated[bool, typer.Option(help="train the critic again, even if nothing has changed")] = False,
    as_json: JsonObject = False,
) -> None:
    """Show what the critic looks for. Examples that are URLs are fetched once; nothing else is crawled."""
    trained = asyncio.run(critic_with_progress(Project(project), again=again))
    if as_json:
        put_json(_critic_row(trained))
        return
    critic = trained.critic
    put(f"critic    {critic.version}, wants: {', '.join(critic.focus)}")
    for name, origins in trained.sizes.items():
        mark = "*" if in_focus(name, critic.focus) else " "
        counts = ", ".join(f"{count} {origin}" for origin, count in origins.items())
        put(f"{mark} {sum(origins.values()):>7,}  {name}  ({counts})")
    for name, words in trained.words.items():
        put(f"words of {name}: {', '.join(words)}")
    if not trained.words:
        put(f"words     {', '.join(trained.query.words)}")
    if trained.quality:
        quality = trained.quality
        put(f"quality   ROC AUC {quality.roc_auc:.3f}, average precision {quality.average_precision:.3f}, unseen")
    for url, reason in trained.missing.items():
        put(f"no page   {url}: {reason}")
    _say_advice(trained)


def _critic_row(trained: TopicCritic) -> dict[str, Any]:
    return {
        "critic": trained.critic.version,
        "focus": list(trained.critic.focus),
        "classes": {name: dict(origins) for name, origins in trained.sizes.items()},
        "words": {name: list(words) for name, words in trained.words.items()},
        "query": list(trained.query.words),
        "quality": asdict(trained.quality) if trained.quality else None,
        "missing": dict(trained.missing),
        "advice": trained.advice,
    }


def _say_advice(trained: TopicCritic) -> None:
    for line in trained.advice:
        say(f"note: {line}")


async def critic_with_progress(project: Project, *, again: bool = False) -> TopicCritic:
    """The critic of a project; shows how far the fetching of its examples is."""
    if project.config.topic is None:
        return await train_critic(project)
    with Progress(err, title="examples: ") as progress:
        return await train_critic(project, lambda crawl, notes: progress.began(crawl), progress.each, again=again)


@topic_app.command()
def from_courses(
    source: Annotated[Path, typer.Argument(help="project that has found courses, or a file of course records")],
    label: Annotated[str | None, typer.Option(help="label of the course pages", show_default="goal")] = None,
    most: Annotated[int, typer.Option(help="at most so many keywords", min=1, max=MOST)] = 30,
    out: Annotated[Path | None, typer.Option(help="TOML file to write: a topic of these keywords")] = None,
    as_json: JsonLines = False,
) -> None:
    """List keywords from the names, syllabuses and headings of courses, best first."""
    found = keywords(read_courses(source, label=label), most)
    if not found:
        raise ForagerError(f"the courses of {source} have no term in common: give more courses")
    for keyword in found:
        if as_json:
            put_json(asdict(keyword))
        else:
            put(f"{keyword.score:8.1f}  {keyword.courses:>6}  {keyword.term}")
    if out is not None:
        _write_keywords(out, found)


def _write_keywords(out: Path, found: Sequence[CourseKeyword]) -> None:
    toml = _fill(KEYWORDS_TOML, keywords=[keyword.term for keyword in found])
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(toml)
    except FileExistsError:
        raise ForagerError(f"{out} exists: name another file, or remove it") from None
    except OSError as error:
        raise ForagerError(f"{out} cannot be written: {error.strerror}") from None


# ---- corrections ----------------------------------------------------------------------------------------------------


def label(
    project: ProjectFolder,
    url: Annotated[str, typer.Argument(help="page of the collection")] = "",
    verdict: Annotated[str, typer.Argument(help="relevant, irrelevant, or the name of a wanted class")] = "",
    file: Annotated[Path | None, typer.Option(help="file with a URL and a verdict on each line")] = None,
) -> None:
    """Say whether a page is wanted. `forager retrain` learns from it."""
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
    labels = parse_labels(lines, RULES, str(file or "the command"))
    found.label({str(each): said for each, said in labels.items()}, judge=_judge_of_labels())
    put(f"{len(labels)} pages labelled; forager retrain {project} learns from them")


def _judge_of_labels() -> str:
    """The login name, if there is one that can be used."""
    try:
        name = getuser()
    except (KeyError, OSError):
        return NAMELESS
    return name if is_judge_name(name) else NAMELESS


def retrain(project: ProjectFolder) -> None:
    """Train the critic again with your labels, and judge all fetched pages again. The strategy learns anew."""
    found = Project(project)
    if not learns_labels(found.config):
        raise ForagerError(f"{project} has no [topic], so its critic does not learn: there is nothing to retrain")
    trained = asyncio.run(critic_with_progress(found))
    with Catalogue(project) as catalogue:
        pages = catalogue.status().pages
    with counting(err, "judging again", pages) as tell:
        done = rejudge(found, trained.critic, trained.query, tell)
    put(f"{done} pages judged again by {trained.critic.version}")
    _say_advice(trained)
