"""`forager why`: what became of a link, and what made its score, in sentences or as JSON."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from forager.cli.status import in_words
from forager.cli.terminal import JsonObject, duration, put, put_json
from forager.collection.explain import BUDGET, NEVER_WANTED, TRAP, LinkStory
from forager.crawl.folder import CONFIG
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Waypoint
from forager.types import FIRST_OF_ALL, Reason

EXPLAINED = 12  # lines of a score that are shown
NAMED = 3  # pages with the link that are named
NOT = "not"
NOT_ASKED = (Reason.ROBOTS, Reason.FORBIDDEN, Reason.TRAP)
REFUSED: Mapping[str, str] = {
    TRAP: "it is part of a trap, one of too many URLs that bring the same (forager status lists them)",
    BUDGET: "the budget of its host or site is used up: raise pages_per_host or pages_per_site under [frontier]",
    NEVER_WANTED: "the strategy never wants to follow it",
}


def why(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[not] PROJECT URL",
            help="folder of the project, which may be left out inside of it, and a URL that the crawl has found",
        ),
    ],
    as_json: JsonObject = False,
) -> None:
    """Say why a link was fetched, or why not: what became of it, the way from the seed, and what made its score.

    It finds out by itself whether the link was fetched, waits, failed or is not followed: `forager why not` says the
    same as `forager why`.
    """
    project, url = _project_and_url(words)
    story = asyncio.run(project.explain(url))
    if as_json:
        put_json(_row(story))
        return
    for title, lines in _sections(story):
        put(title)
        for line in lines:
            put(f"  {line}")


def _project_and_url(words: Sequence[str]) -> tuple[Project, str]:
    """What was typed: perhaps `not`, perhaps a project, a URL. A project may be named `not`."""
    *before, url = words
    named = before[1:] if before[:1] == [NOT] and not (len(before) == 1 and Path(NOT, CONFIG).is_file()) else before
    named = named[:1] if named[1:] == [NOT] else named
    if len(named) > 1:
        raise ForagerError(f"{len(words)} words are too many: give a project and one URL, forager why PROJECT URL")
    if not named and not Path(CONFIG).is_file():
        raise ForagerError("no project: name its folder, forager why PROJECT URL")
    return Project(named[0] if named else "."), url


# ---- for people -----------------------------------------------------------------------------------------------------


def _sections(story: LinkStory) -> Iterator[tuple[str, Sequence[str]]]:
    """Titles and lines."""
    yield f"{story.url} {_fate(story)}", [*_finding(story), *_worth(story), *_standing(story)]
    yield "the way to it", [_step(step) for step in story.way]
    lines = _rounded(story.signals[:EXPLAINED], story.score_now)
    total = [_weighed("its score, in all", story.score_now)] if story.adds_up else []
    if lines and story.place and story.adds_up:
        against = sorted((line for line in lines if line[1] < 0), key=lambda line: line[1])
        speaks = sorted((line for line in lines if line[1] >= 0), key=lambda line: -line[1])
        yield f"what holds its score down, {_by(story)}", [_weighed(*line) for line in against] or ["nothing"]
        yield "what speaks for it", [*([_weighed(*line) for line in speaks] or ["nothing"]), *total]
    elif lines:
        title = "what its score would be made of now" if story.adds_up else "what makes its score"
        yield f"{title}, {_by(story)}", [*(_weighed(*line) for line in lines), *total]


def _fate(story: LinkStory) -> str:
    reason = f"{in_words(story.reason)}{f', {story.detail}' if story.detail else ''}"
    if story.fate == "page":
        return f"was fetched: a page of relevance {story.relevance:.2f}"
    if story.fate == "passage":
        return f"was fetched, but is no page of the collection ({reason}); its links are followed"
    if story.fate == "waiting":
        return "waits: it was found, but not fetched yet"
    if story.fate == "miss":
        return f"{'is not asked for' if story.reason in NOT_ASKED else 'was asked for, but brought no page'}: {reason}"
    scope = f"the scope does not let it through ({story.reason}): see [scope] in {CONFIG}"
    return f"is not asked for: {REFUSED.get(story.reason, scope)}"


def _finding(story: LinkStory) -> Iterator[str]:
    if story.leads_to != story.url:
        yield f"it leads to {story.leads_to}; all that follows is about that URL"
    if story.score == FIRST_OF_ALL:
        yield "it is a seed: seeds are asked for before all others"
    pages, more = story.found_on[:NAMED], len(story.found_on) - NAMED
    if pages:
        named = f"{', '.join(pages)}{f' and {more:,} more' if more > 0 else ''}"
        yield f"found on {len(story.found_on):,} {'page' if len(story.found_on) == 1 else 'pages'}: {named}"


def _standing(story: LinkStory) -> Iterator[str]:
    """Why a link still waits."""
    place = story.place
    if place is None:
        return
    if place.ahead:
        yield (
            f"{place.ahead:,} of the {place.waiting:,} links that wait come before it,"
            f" {place.ahead_on_host:,} of them on its own host"
        )
    else:
        yield f"it is the first of the {place.waiting:,} links that wait"
    if place.followed:
        low, high = min(place.followed), max(place.followed)
        best = f"; the best that waits has {place.best:.2f}" if math.isfinite(place.best) else ""
        yield f"the last links that were followed had scores from {low:.2f} to {high:.2f}{best}"
    if place.rests:
        yield f"its host rests for another {duration(place.rests)}"
    if place.attempts:
        yield f"times that it was tried in vain: {place.attempts}; it will be tried again"
    yield f"no crawl runs: the last one ended because {place.stopped}" if place.stopped else "a crawl is running"


def _worth(story: LinkStory) -> Iterator[str]:
    """What was expected of it, and what came."""
    if not math.isfinite(story.score) or not math.isfinite(story.first_score):
        return
    taken = "now" if story.place else "when it was taken"
    told = f"its score was {story.first_score:.2f} when it was found, and {'is' if story.place else 'was'}"
    told = f"{told} {story.score:.2f} {taken}"
    if math.isfinite(story.expected):
        told = f"{told}: a relevance of {story.expected:.2f} {'is' if story.place else 'was'} expected"
    yield told if math.isnan(story.relevance) else f"{told}, {story.relevance:.2f} came"


def _by(story: LinkStory) -> str:
    """What the signals were taken from."""
    if not story.links_told:
        return "by the page whose link was followed"
    links = "link" if story.links_told == 1 else f"{story.links_told} newest links"
    known = f"the strategy knew {story.behind:,} pages ago" if story.behind else "is known now"
    return f"by the {links} to it and what {known}"


def _step(step: Waypoint) -> str:
    score = "seed" if math.isinf(step.score) else f"{step.score:.3f}"
    judged = "" if math.isnan(step.relevance) else f"  relevance {step.relevance:.3f}"
    return f"{step.depth:>3}  {score:>7}  {step.outcome:<8}{judged}  {step.url}  {step.title or step.reason}"


def _weighed(words: str, weight: float) -> str:
    return f"{weight:>+8.2f}  {words}"


def _rounded(lines: Sequence[tuple[str, float]], total: float) -> list[tuple[str, float]]:
    """With two digits, so that what is shown adds up to the total as it is shown: what rounding leaves over goes to the
    largest line."""
    shown = [(words, round(weight, 2)) for words, weight in lines]
    if shown and not math.isnan(total):
        at = max(range(len(shown)), key=lambda line: abs(shown[line][1]))
        words, weight = shown[at]
        shown[at] = words, round(weight + round(total, 2) - sum(weight for _, weight in shown), 2)
    return shown


# ---- for programs ---------------------------------------------------------------------------------------------------


def _row(story: LinkStory) -> dict[str, Any]:
    row = _finite({name: value for name, value in asdict(story).items() if name != "signals"})
    signals = [{"words": words, "weight": weight} for words, weight in story.signals]
    return {**row, "score_now": _finite(story.score_now), "signals": signals}


def _finite(value: Any) -> Any:
    """As JSON has it: nothing for what is no number."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
