"""On which level of a topic path pages are, by people: how far they agree with each other and with the directory.

The annotation study of the thesis on lexical profiles (its figure 5.2), for any project whose topic is a path such as
Science.Biology.Owls. Level 1 is the target, 2 its parent, …, n the highest; a page of none of them is outside. People
see random pages of the crawl and, among them and not marked, some pages of the path's own listings. What the directory
says of a page is in `forager.topics.directory.levels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forager.collection.review import Agreement, agreement, draw
from forager.errors import ForagerError
from forager.store import Catalogue, Entry
from forager.store.verdicts import OUTSIDE, UNSURE, PageVerdict


def topic_path(focus: Sequence[str]) -> tuple[str, ...]:
    """The topics of the levels, from the deepest wanted one up."""
    parts = max(focus, key=lambda topic: topic.count("."), default="").split(".")
    if len(parts) < 2:
        raise ForagerError(
            f"{'.'.join(parts) or 'this topic'} is no path of levels: judge levels of a topic such as Science.Biology"
        )
    return tuple(".".join(parts[:length]) for length in range(len(parts), 0, -1))


def level_verdicts(path: Sequence[str]) -> tuple[str, ...]:
    """What may be said about a page."""
    return (*(str(level) for level in range(1, len(path) + 1)), OUTSIDE, UNSURE)


def level_sample(crawl: Catalogue, listed: Catalogue | None, count: int, mixed: int, seed: int = 0) -> list[Entry]:
    """Random pages of the crawl, and `mixed` others of those that were listed, in an order that tells nothing."""
    pages = draw(crawl.pages(), count, seed)
    if not pages:
        raise ForagerError(f"{crawl.folder} has no pages yet: crawl first, with forager crawl")
    known = {page.url for page in pages}
    others = draw((page for page in listed.pages() if page.url not in known), mixed, seed) if listed else []
    return draw([*pages, *others], count + mixed, seed)


def level_agreement(
    first: str, second: str, pages: Sequence[Entry], given: Mapping[str, Mapping[str, PageVerdict]], path: Sequence[str]
) -> Agreement:
    """How far two judges agree on the levels of the pages that both judged."""
    return agreement(first, second, pages, given[first], given[second], verdicts=level_verdicts(path))
