"""`forager verify` and `recover`: does a project hold together, and what to do if it does not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import typer

from forager.cli.progress import StatusLine, counting
from forager.cli.terminal import JsonObject, ProjectFolder, err, put, put_json, say
from forager.collection.recover import Recovery, archive_size
from forager.collection.recover import recover as build_again
from forager.config import Named, ScopeConfig
from forager.crawl.audit import accounted_for
from forager.crawl.folder import CONFIG, CrawlFolder
from forager.crawl.loop import Crawl
from forager.errors import ForagerError
from forager.learn.tfidf import Query
from forager.project import Project
from forager.store.verify import CHECKS, Check, CheckResult, is_whole
from forager.store.verify import verify as check_all
from forager.topics.topic_critic import FOLDER as TOPIC
from forager.types import Critic

SHOWN = 5  # findings of a check that are printed
SOME = 10  # lost pages that are printed
WRONG = 1  # exit code
ALL_CHECKS = (*CHECKS, Check("URLs accounted for", accounted_for))


def verify(project: ProjectFolder, as_json: JsonObject = False) -> None:
    """Check that archive, catalogue and links of a project agree, also while it is being crawled. Changes nothing.

    Exits with 1 if something is wrong.
    """
    with StatusLine(err) as status:
        results = check_all(project, ALL_CHECKS, lambda name, done: status.update(lambda: f"checking {name}: {done:,}"))
    if as_json:
        put_json({"whole": is_whole(results), "checks": [_check_row(result) for result in results]})
    else:
        _print_checks(results)
    if not is_whole(results):
        raise typer.Exit(WRONG)


def _check_row(result: CheckResult) -> dict[str, Any]:
    findings = [{"what": found.what, "cure": found.cure} for found in result.findings]
    return {"check": result.name, "checked": result.checked, "wrong": result.wrong, "findings": findings}


def _print_checks(results: list[CheckResult]) -> None:
    wide = max(len(result.name) for result in results)
    put(f"{'checked':<{wide}}  {'how many':>10}  {'wrong':>8}")
    for result in results:
        put(f"{result.name:<{wide}}  {result.checked:>10,}  {f'{result.wrong:,}' if result.wrong else '-':>8}")
    for result in results:
        for found in result.findings[:SHOWN]:
            put(found.what)
            put(f"  -> {found.cure}")
        if result.wrong > SHOWN:
            put(f"  and {result.wrong - SHOWN:,} more of this kind; --json lists up to {len(result.findings)}")
    put("the project is whole" if is_whole(results) else "something is wrong")


def recover(project: ProjectFolder, as_json: JsonObject = False) -> None:
    """Build the catalogue of a project again from its archive, if crawl.sqlite is lost, damaged or too old.

    The pages are read, judged and scored again. What lies in aside/ of the archive is taken in. The old files are moved
    to aside/, and nothing is deleted.
    """
    if _of_examples(project):
        opened, critic, query = _examples(project), None, None
    else:
        opened = Project(project)
        critic, query = asyncio.run(_critic(opened))
    with counting(err, "reading the archive", archive_size(project)) as tell:
        found = build_again(opened, critic, query, tell)
    if as_json:
        put_json(_recovery_row(found))
    else:
        _print_recovery(project, found)


def _of_examples(folder: Path) -> bool:
    """Whether this is the crawl of a topic's examples, which has no configuration of its own."""
    return folder.resolve().name == TOPIC and not (folder / CONFIG).exists() and (folder.parent / CONFIG).exists()


def _examples(folder: Path) -> CrawlFolder:
    """The crawl of a topic's examples. Its seeds are in the archive."""
    alone = {"topic": None, "critic": Named(name="predicate", options={"url": "."}), "scope": ScopeConfig(max_depth=0)}
    config = Project(folder.parent).config
    return CrawlFolder(folder, msgspec.structs.replace(config, seeds=(), strategy=Named(name="breadth-first"), **alone))


async def _critic(project: Project) -> tuple[Critic | None, Query | None]:
    """The critic of the project, if it can be had without the network, and what it looks for."""

    def began(crawl: Crawl, notes: list[str]) -> None:
        if len(crawl.frontier):
            raise ForagerError("its examples must be fetched first")

    try:
        trained = await project.train_critic(began)
    except ForagerError as error:
        say(f"there is no critic ({error}): pages keep the judgements that the archive notes")
        return None, None
    return trained.critic, trained.query


def _recovery_row(found: Recovery) -> dict[str, Any]:
    return {
        **{"pages": found.pages, "redirects": found.redirects, "failures": found.failures, "beside": found.beside},
        **{"urls": found.urls, "waiting": found.waiting, "returned": found.returned},
        "lost": [{"file": file, "at": lost.at, "length": lost.length, "urls": lost.urls} for file, lost in found.lost],
        **{"again": found.again, "notes": found.notes},
    }


def _print_recovery(folder: Path, found: Recovery) -> None:
    put(
        f"found  {found.pages:,} pages, {found.redirects:,} redirects, {found.failures:,} failures; {found.urls:,} URLs"
    )
    if found.returned:
        put(f"       of them in {found.returned} files that had been moved aside")
    size = sum(lost.length for _, lost in found.lost)
    put(f"lost   {len(found.lost):,} places of the archive ({size:,} bytes)" if found.lost else "lost   nothing")
    for file, lost in found.lost[:SOME]:
        put(f"       {file} from {lost.at:,}: {lost.length:,} bytes ({lost.why}) {' '.join(lost.urls)}")
    put(f"waits  {found.waiting:,} links")
    if found.again:
        put(f"       {len(found.again):,} of them because their pages are lost: {' '.join(found.again[:SOME])}")
    for note in found.notes:
        put(note)
    put(f"forager crawl {folder} goes on from here")
