"""Small webs to teach a strategy on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from forager.paths import Ground, PathOutcome, PathStep, ShownPath
from forager.types import Page, Url
from tests.visits import page_of


def url(name: str) -> Url:
    return Url(f"http://a.test/{name}")


def markup(words: str, links: Mapping[str, str]) -> str:
    """A paragraph, and links with their anchor texts."""
    return f"<p>{words}</p>" + "".join(f'<a href="{target}">{anchor}</a>' for target, anchor in links.items())


def ground_of(pages: Mapping[str, str | None], *targets: str) -> Ground:
    """A ground from the markup of each page by name; None for a page that cannot be read."""
    read = {url(name): page_of(url(name), text) if text is not None else None for name, text in pages.items()}

    def reading(urls: Sequence[Url]) -> Iterator[Page | None]:
        return (read[where] for where in urls)

    linked = ((where, page.links.targets if page else ()) for where, page in read.items())
    return Ground.of(linked, [url(name) for name in targets], reading)


def shown(names: str, *, goal: bool = True) -> ShownPath:
    """A path through pages. `names`: separated by blanks."""
    steps = tuple(PathStep(url(name)) for name in names.split())
    return ShownPath(names, steps, PathOutcome.GOAL if goal else PathOutcome.FAIL)
