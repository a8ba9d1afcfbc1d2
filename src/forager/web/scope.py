"""Which links may be followed at all. This depends only on the link and its depth, and is asked before scoring."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from forager.errors import ForagerError
from forager.types import Url
from forager.web.urls import host, site

Within: TypeAlias = Literal["anywhere", "host", "site", "list"]
_GROUP_NUMBER = re.compile(r"\\[1-9]|\(\?\(")
ScopeRule: TypeAlias = tuple[str, Callable[[Url], bool]]  # its name, and whether a URL passes it


@dataclass(frozen=True, slots=True)
class Admission:
    """Which links of a page the scope admits."""

    rows: list[int]  # of the links that may be followed
    rejected: Counter[str]  # how many of the others each rule rejected; the first rule that does counts


@dataclass(frozen=True)
class Scope:
    """Admits links that stay `within` the hosts, the sites or the list of the seeds, that match a pattern of `include`
    if there is one, and that match no pattern of `exclude`. Patterns are regular expressions, searched in the whole
    URL."""

    within: Within = "anywhere"
    seeds: Collection[Url] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ("http", "https")
    max_depth: int | None = None  # number of links from a seed
    barred: Collection[Url] = frozenset()  # single URLs never to follow
    _rules: tuple[ScopeRule, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rules", tuple(self._make_rules()))

    def admit(self, targets: Sequence[Url], depth: int) -> Admission:
        """Which of these targets may be followed. They are `depth` links away from a seed."""
        if self.max_depth is not None and depth > self.max_depth:
            return Admission([], Counter({"depth": len(targets)} if targets else {}))
        if not self._rules:
            return Admission(list(range(len(targets))), Counter())
        rows: list[int] = []
        rejected: Counter[str] = Counter()
        for row, url in enumerate(targets):
            rule = next((name for name, passes in self._rules if not passes(url)), None)
            if rule is None:
                rows.append(row)
            else:
                rejected[rule] += 1
        return Admission(rows, rejected)

    def _make_rules(self) -> Iterable[ScopeRule]:
        if set(self.schemes) < {"http", "https"}:
            yield "scheme", lambda url: url.partition(":")[0] in self.schemes
        if self.within == "host":
            hosts = frozenset(host(url) for url in self.seeds)
            yield "host", lambda url: host(url) in hosts
        elif self.within == "site":
            sites = frozenset(site(host(url)) for url in self.seeds)
            yield "site", lambda url: site(host(url)) in sites
        elif self.within == "list":
            listed = frozenset(self.seeds)
            yield "list", lambda url: url in listed
        if self.barred:
            yield "barred", lambda url: url not in self.barred
        if self.exclude:
            excluded = _any_of("exclude", self.exclude)
            yield "exclude", lambda url: not excluded(url)
        if self.include:
            included = _any_of("include", self.include)
            yield "include", lambda url: bool(included(url))


def _any_of(key: str, patterns: Sequence[str]) -> Callable[[Url], object]:
    """Finds one of these patterns in a URL. One search for all is faster, but flags, names and numbers of groups belong
    to a pattern alone."""
    try:
        each = [re.compile(pattern) for pattern in patterns]
    except re.error as error:
        raise ForagerError(f"scope.{key}: {error.pattern!r} is not a regular expression: {error}") from None
    if not any(_GROUP_NUMBER.search(pattern) for pattern in patterns):
        with suppress(re.error):
            return re.compile("|".join(f"(?:{pattern})" for pattern in patterns)).search
    return lambda url: any(pattern.search(url) for pattern in each)
