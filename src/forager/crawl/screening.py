"""What becomes of an answer with a body: a page of the collection, something to pass through, a redirect, or nothing.

A page may ask not to be kept (noindex), or that its links are not followed (nofollow), in its head or in a header. A
sitemap or a feed is no page, but its links are followed. A page that says little and sends its readers elsewhere at
once is a redirect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from forager.frontier import Twins
from forager.frontier.twins import sketch
from forager.store.journal import rendered_key
from forager.store.warc import digest
from forager.types import Exchange, Failure, Fetch, Likeness, Links, Page, Reason, Url
from forager.web.directives import directives, header_values

FEW_WORDS = 50  # a page with fewer that refreshes to another one is a redirect
_LENGTH = re.compile(rb"^content-length[ \t]*:[^\r\n]*", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True, eq=False)
class Screening:
    """What an answer is taken for."""

    passing: Reason | None = None  # why it is no page of the collection
    detail: str = ""
    follows: bool = True  # whether its links are followed
    onward: Url | None = None  # where it redirects to


def screen(answer: Fetch, page: Page, agent: str, now: datetime, *, declared: bool = True) -> Screening:
    """What to make of a page, by what it and its server ask of us. Without an `agent` nobody is obeyed. `declared`: a
    refresh may be a redirect."""
    if page.is_listing:
        return Screening(Reason.LISTING, f"{len(page.links)} links")
    if declared and page.refresh is not None and len(page.terms.values) < FEW_WORDS:
        return Screening(onward=page.refresh)
    headers = header_values(answer.exchange.response, "X-Robots-Tag") if agent and answer.exchange else []
    if not agent or not (headers or page.directives):
        return _PLAIN
    asked = directives(headers, page.directives, agent, now)
    passing = Reason.NOINDEX if asked.noindex else None
    return Screening(passing, "the page asks not to be kept" if passing else "", not asked.nofollow)


_PLAIN = Screening()


def likeness(came: tuple[Fetch, Page, int]) -> Likeness:
    """What a page with this id is like. Behind a page that scripts make, the body is often the same for all pages of a
    site, so there only the words count."""
    answer, page, id = came
    return Likeness(digest(answer.body).encode() if answer.rendered is None else rendered_key(id), sketch(page))


def compared(like: Likeness, twins: Twins) -> Likeness:
    """With which page of those that we have it has its text in common."""
    twin = twins.find(like.digest, like.sketch)
    return like if twin is None else like._replace(copy_of=twin.id, exact=twin.exact)


def without_body(answer: Fetch, reason: Reason, detail: str) -> Failure:
    """What is kept of an answer whose body is not."""
    exchange = _emptied(answer.exchange)
    return Failure(answer.url, reason, detail, seconds=answer.seconds, status=answer.status, exchange=exchange)


def unchanged(answer: Fetch) -> Fetch:
    """What is kept of an answer that is the same as before."""
    return replace(answer, body=b"", rendered=None, exchange=_emptied(answer.exchange))


def _emptied(exchange: Exchange | None) -> Exchange | None:
    """The head of an answer, as if it had no body."""
    if exchange is None:
        return None
    return replace(exchange, response=_LENGTH.sub(b"Content-Length: 0", exchange.response, count=1))


def parts_of(links: Links, most: int) -> list[Links]:
    """The links in parts of at most so many, because a sitemap may have tens of thousands."""
    if len(links) <= most:
        return [links]
    return [links.take(range(start, min(start + most, len(links)))) for start in range(0, len(links), most)]
