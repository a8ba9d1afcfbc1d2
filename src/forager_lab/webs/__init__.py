"""Webs that the laboratory can crawl, with the truth about every page.

A web is recorded (a folder with *.warc.gz and labels.tsv) or procedural (made from a seed, see `procedural`).
`open_web` opens both, `open_answers` what can be served, `find_web` looks for one by its name, `find_webs` lists the
recorded ones in some folders. `record` makes one from a finished crawl.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Protocol

from xxhash import xxh3_64_hexdigest

from forager.errors import ForagerError, unknown
from forager.fetch.replay import Replay, open_recording
from forager.registry import Spec
from forager.store import warc
from forager.teaching.labelled_web import LabelledWeb, Truth
from forager.types import Fetcher, Url
from forager.web.urls import host
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.procedural.topics import NONE
from forager_lab.webs.recording import record as record

PROCEDURAL = "procedural"  # the name of a web that is not recorded
MOST = 200_000  # pages whose labels are kept in memory
FOLDERS = "FORAGER_WEBS"  # environment variable: folders of recorded webs


class Web(Protocol):
    """A web that can be crawled and whose truth is known."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str:
        """Changes when the web does. It names the files of its cache."""

    @property
    def fetcher(self) -> Fetcher: ...
    @property
    def truth(self) -> Truth: ...
    @property
    def losses(self) -> Sequence[str]:
        """What could not be used, a line each."""

    def final(self, url: Url) -> Url:
        """The URL that a URL leads to in the end."""

    def groups(self, column: str) -> Mapping[Url, str]:
        """The value of another column of the labels for each page."""

    def seeds(self, group: str) -> list[Url]:
        """The pages from which the crawl of a group starts."""


class LabelledProceduralWeb:
    """A procedural web of limited size with its labels. The groups are its hosts; a host's seed is its home page."""

    losses: tuple[str, ...] = ()

    def __init__(self, plan: WebPlan) -> None:
        if plan.hosts * plan.pages_per_host > MOST:
            raise ForagerError(
                f"{plan.hosts} hosts of {plan.pages_per_host} pages are too many: the laboratory keeps the labels of "
                f"at most {MOST:,} pages"
            )
        self.plan, self.fetcher = plan, ProceduralWeb(plan)

    @property
    def name(self) -> str:
        return PROCEDURAL

    @cached_property
    def fingerprint(self) -> str:
        """Made from the plan and from some pages, so that a change in how pages are made is noticed."""
        pages = b"".join(
            self.fetcher.respond(home).body for home, _ in zip(self.fetcher.homes(), range(8), strict=False)
        )
        return f"{PROCEDURAL}-{xxh3_64_hexdigest(repr(self.plan).encode() + pages)}"

    @cached_property
    def truth(self) -> Truth:
        return Truth({url: () if label == NONE else (label,) for url, label in self.fetcher.labels()})

    def final(self, url: Url) -> Url:
        return self.fetcher.final(url) or url

    def groups(self, column: str) -> Mapping[Url, str]:
        if column != "host":
            raise unknown("column of a procedural web", column, ["host"])
        return {url: host(url) for url in self.truth.labels}

    def seeds(self, group: str) -> list[Url]:
        return [home for home in self.fetcher.homes() if host(home) == group]


def open_web(name: str) -> Web:
    """The recorded web in a folder, or `procedural`, with numbers of its plan as in `procedural:hosts=100:seed=7`."""
    if is_procedural(name) and not Path(name).is_dir():
        return LabelledProceduralWeb(_plan(Spec.parse(name).options))
    return LabelledWeb(Path(name))


def open_answers(name: str) -> tuple[ProceduralWeb | Replay, Sequence[str]]:
    """What answers in a web, with or without labels, and what could not be used of it, a line each. Besides what
    `open_web` opens, that is any folder of WARC files, and a project."""
    folder = Path(name)
    if is_procedural(name) and not folder.is_dir():
        return ProceduralWeb(_plan(Spec.parse(name).options)), ()
    if not folder.is_dir():
        raise ForagerError(f"{folder}: there is no such folder; name a folder of *.warc.gz, a project or {PROCEDURAL}")
    archive = folder / warc.FOLDER  # of a project
    recording = open_recording(archive if archive.is_dir() and not any(folder.glob("*.warc*")) else folder)
    return recording.fetcher, recording.losses


def _plan(options: Mapping[str, object]) -> WebPlan:
    known = [field.name for field in fields(WebPlan)]
    for name in options:
        if name not in known:
            raise unknown("number of a procedural web", name, known)
    try:
        return WebPlan(**options)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ForagerError(f"procedural web: {error}") from None


def is_procedural(name: str) -> bool:
    """True if the name means the procedural web, with or without numbers of its plan."""
    return name.partition(":")[0] == PROCEDURAL


# ---- finding webs ---------------------------------------------------------------------------------------------------


def web_folders(given: Sequence[Path] = ()) -> list[Path]:
    """The folders in which to look for webs: those given, else those of the environment variable FORAGER_WEBS."""
    return list(given) or [Path(name) for name in os.environ.get(FOLDERS, "").split(os.pathsep) if name]


def find_web(name: str, folders: Sequence[Path]) -> str | None:
    """What `open_web` needs to open the web of this name in one of the folders; None if none of them has it."""
    if is_procedural(name):
        return name
    return next((str(folder / name) for folder in folders if (folder / name).is_dir()), None)


def find_webs(folders: Sequence[Path]) -> list[Path]:
    """The recorded webs in some folders or directly below them, sorted by name."""
    places = [place for folder in folders for place in (folder, *sorted(folder.glob("*/")))]
    return [place for place in places if (place / "labels.tsv").exists() and any(place.glob("*.warc*"))]
