"""A procedural web as the laboratory wants it: finite, labelled, grouped by host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property

from xxhash import xxh3_64_hexdigest

from forager.errors import ForagerError, unknown
from forager.teaching.labelled_web import Truth
from forager.types import Url
from forager.web.urls import host
from forager_lab.webs.procedural import ProceduralWeb, WebPlan

NAME = "procedural"
MOST = 200_000  # pages whose truth is held in memory
UNLABELLED = "_none"


class MadeWeb:
    """The groups are its hosts, the seed of a host is its home page."""

    losses: tuple[str, ...] = ()

    def __init__(self, plan: WebPlan) -> None:
        if plan.hosts * plan.pages_per_host > MOST:
            raise ForagerError(
                f"{plan.hosts} hosts of {plan.pages_per_host} pages are more than {MOST:,} to keep truth of"
            )
        self.plan, self.fetcher = plan, ProceduralWeb(plan)

    @property
    def name(self) -> str:
        return NAME

    @cached_property
    def fingerprint(self) -> str:
        """Of the plan, and of some pages, so that a web made differently has a cache of its own."""
        pages = b"".join(
            self.fetcher.respond(home).body for home, _ in zip(self.fetcher.homes(), range(8), strict=False)
        )
        return f"{NAME}-{xxh3_64_hexdigest(repr(self.plan).encode() + pages)}"

    @cached_property
    def truth(self) -> Truth:
        return Truth({url: () if label == UNLABELLED else (label,) for url, label in self.fetcher.labels()})

    def final(self, url: Url) -> Url:
        return self.fetcher.final(url) or url

    def groups(self, column: str) -> Mapping[Url, str]:
        if column != "host":
            raise unknown("column of a procedural web", column, ["host"])
        return {url: host(url) for url in self.truth.labels}

    def seeds(self, group: str) -> list[Url]:
        return [home for home in self.fetcher.homes() if host(home) == group]


def made_web(options: Mapping[str, object]) -> MadeWeb:
    """The web of a plan given by some of its numbers."""
    known = [field.name for field in fields(WebPlan)]
    for name in options:
        if name not in known:
            raise unknown("number of a procedural web", name, known)
    try:
        return MadeWeb(WebPlan(**options))  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ForagerError(f"procedural web: {error}") from None
