"""A web of schools, and path foragers that were taught on all schools but one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from forager.paths import NO_STATE, Ground, PathOutcome, PathStep, ShownPath, visit_with
from forager.strategies.crf import PathForager
from forager.strategies.crf.model import CrfModel
from forager.strategies.crf.training import States
from forager.types import Page, Url
from tests.visits import page_of

STATES: tuple[States, ...] = ("dual", "single")
both = pytest.mark.parametrize("states", STATES)

NAMES, COURSES, PEOPLE = "abcdefg", 4, 6
NEW = "g"  # never taught
TO_LIST = "Every course"


def body(title: str, text: str, links: Mapping[str, str]) -> str:
    items = "".join(f'<li><a href="{target}">{anchor}</a> one two</li>' for target, anchor in links.items())
    return f"<title>{title}</title><h1>{title}</h1><p>{text}</p><ul>{items}</ul>"


def school(name: str) -> dict[str, str]:
    courses = {f"/courses/cs{i}": f"CS {i} lectures" for i in range(COURSES)}
    people = {f"/people/{i}": f"Doctor {i}" for i in range(PEOPLE)}
    lists = {
        "/": body(f"{name} university", "welcome", {"/people": "People", "/teaching": TO_LIST}),
        "/teaching": body("Teaching", "courses of this year", courses),
        "/people": body("People", "staff of the department", people),
    }
    told = {path: body(f"CS {path[-1]} course", "homework exam syllabus", {"/": "Home"}) for path in courses}
    return lists | told | {path: body(f"Doctor {path[-1]}", "research papers", {"/": "Home"}) for path in people}


PAGES = {
    Url(f"http://www.{name}.edu{path}"): page_of(f"http://www.{name}.edu{path}", text)
    for name in NAMES
    for path, text in school(name).items()
}


def schools(names: str, unread: str = "") -> Ground:
    """A ground of some schools. Pages that end in `unread` cannot be read."""

    def read(urls: Sequence[Url]) -> Iterator[Page | None]:
        return (PAGES[url] if not unread or not url.endswith(unread) else None for url in urls)

    chosen = {url: page for url, page in PAGES.items() if url.split(".")[1] in names}
    pages = ((url, page.links.targets) for url, page in chosen.items())
    labels = {url: "staff" for url in chosen if "/people/" in url}
    return Ground.of(pages, {url for url in chosen if "/courses/" in url}, read, labels=labels)


def way(name: str, *paths: str, goal: bool = True, label: str | None = None) -> ShownPath:
    """A path through a school. The page before the last may have a label."""
    steps = [PathStep(Url(f"http://www.{name}.edu{path}")) for path in paths]
    if label:
        steps[-2] = replace(steps[-2], label=label)
    return ShownPath(f"{name} {' '.join(paths)}", tuple(steps), PathOutcome.GOAL if goal else PathOutcome.FAIL)


def to_course(name: str, number: int = 1, label: str | None = None) -> ShownPath:
    return way(name, "/", "/teaching", f"/courses/cs{number}", label=label)


def to_nobody(name: str, number: int = 1) -> ShownPath:
    return way(name, "/", "/people", f"/people/{number}", goal=False)


LESSON = [path for name in NAMES[:-1] for path in (to_course(name, label="list"), to_nobody(name))]


def forager(**options: Any) -> PathForager:
    return PathForager(**{"goals": 60, "fails": 60, "variance": 1.0, **options})


_TAUGHT: dict[tuple[States, bool], PathForager] = {}


def taught(states: States = "dual", *, by_ways: bool = True) -> PathForager:
    """A strategy taught with paths, shown or drawn, of all schools but the last."""
    if (states, by_ways) not in _TAUGHT:
        _TAUGHT[states, by_ways] = forager(states=states).taught(schools(NAMES[:-1]), LESSON if by_ways else ())
    return _TAUGHT[states, by_ways]


def page_at(path: str, name: str = NEW) -> Page:
    return PAGES[Url(f"http://www.{name}.edu{path}")]


def scores(strategy: PathForager, path: str) -> dict[str, float]:
    page = page_at(path)
    return dict(zip(page.links.anchors, strategy.score(visit_with(page, NO_STATE)).scores.tolist(), strict=True))


def known(strategy: PathForager) -> CrfModel:
    assert strategy.model is not None
    return strategy.model
