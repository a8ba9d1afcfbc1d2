"""What a page declares of itself and its neighbours: from what stands in its head to URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

import numpy as np

from forager.types import Links, Page, Url
from forager.web.urls import UrlRules

SOON = 10  # seconds; a refresh after more is a page that is to be read
_LONGEST = 10_000  # characters of a refresh that are read
_LONGEST_DIRECTIVE = 500
# As browsers read it: the comma, the name "url" and the quotes may be missing.
_REFRESH = re.compile(
    r"""\s*+(?:(?P<delay>[0-9]++)[0-9.]*+|\.[0-9.]*+)(?:\Z|\s*+[;,]\s*+|\s++)(?:url\s*+=\s*+)?+(?P<quote>["']?)(?P<rest>.*)""",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)


class Declarations(TypedDict, total=False):
    """Fields of `Page`."""

    canonical: Url | None
    directives: tuple[str, ...]
    refresh: Url | None
    feeds: tuple[Url, ...]
    alternates: tuple[Url, ...]
    neighbours: tuple[Url, ...]


def declarations(said: Mapping[str, Sequence[str]], url: Url, base: Url, rules: UrlRules) -> Declarations:
    """What a page at `url` declares, if its head says these things."""

    def targets(kind: str) -> tuple[Url, ...]:
        return _distinct(rules.join_all(base, said.get(kind, ())), but=url)

    return {
        "canonical": _canonical(rules.join_all(base, said.get("canonical", ()))),
        "directives": tuple(
            [" ".join(text[:_LONGEST_DIRECTIVE].lower().split()) for text in said.get("directives", ())]
        ),
        "refresh": _refresh(said.get("refresh", ()), url, base, rules),
        "feeds": targets("feeds"),
        "alternates": targets("alternates"),
        "neighbours": targets("neighbours"),
    }


def _distinct(urls: Iterable[Url | None], *, but: Url) -> tuple[Url, ...]:
    return tuple([url for url in dict.fromkeys(urls) if url is not None and url != but])


def _canonical(targets: Sequence[Url | None]) -> Url | None:
    """The one canonical URL that is valid. If there are two, neither can be believed."""
    valid = {target for target in targets if target is not None}
    return valid.pop() if len(valid) == 1 else None


def _refresh(texts: Iterable[str], url: Url, base: Url, rules: UrlRules) -> Url | None:
    """Where the first refresh that a browser understands leads, if it does so soon and not to the page itself."""
    for text in texts:
        found = _REFRESH.match(text[:_LONGEST])
        if found:
            quote, rest, delay = found["quote"], found["rest"], (found["delay"] or "").lstrip("0")
            target = rules.join(base, rest.partition(quote)[0] if quote else rest) if rest.strip() else url
            if target is not None:
                is_soon = len(delay) <= len(str(SOON)) and int(delay or 0) <= SOON
                return target if is_soon and target != url else None
    return None


# ---- as links -------------------------------------------------------------------------------------------------------

FEED = "feed"
DECLARED = ("canonical", "refresh", "alternate", "next")  # what `rel` says of such a link


def followable(page: Page) -> Links:
    """The links of a page, and after them what its head names: canonical URL, refresh, other languages, next and
    previous, feeds. These have no anchor, and are taken for a part of the first leaf."""
    if page.canonical is None and not (page.refresh or page.alternates or page.neighbours or page.feeds):
        return page.links
    named: list[tuple[str, Url | None]] = [("canonical", page.canonical), ("refresh", page.refresh)]
    named += [("alternate", url) for url in page.alternates] + [("next", url) for url in page.neighbours]
    named += [(FEED, url) for url in page.feeds]
    more = [(rel, url) for rel, url in named if url is not None and url != page.url]
    if not more:
        return page.links
    links, leaf = page.links, np.zeros(len(more), np.int32)
    return Links(
        (*links.targets, *(url for _, url in more)),
        (*links.anchors, *("" for _ in more)),
        np.concatenate((links.first_leaf, leaf)),
        np.concatenate((links.last_leaf, leaf)),
        (*links.tag_paths, *("html head link" for _ in more)),
        (*links.rels, *(rel for rel, _ in more)),
    )
