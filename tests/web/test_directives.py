"""What pages ask of robots, in headers and in <meta>."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.web.directives import Directives, directives, header_values, product_token

AGENT = "Forager/0.2 (+me@example.org)"
NOW = datetime(2030, 6, 15, 12, tzinfo=UTC)


def said(*lines: str, meta: tuple[str, ...] = ()) -> str:
    """The names of what is set, in one line."""
    found = directives(lines, meta, AGENT, NOW)
    return " ".join(name for name in ("noindex", "nofollow", "noarchive", "nosnippet", "noai") if getattr(found, name))


# The values of X-Robots-Tag, with | between them, and what they say to us.
LINES = [
    ("", ""),
    ("all", ""),
    ("index, follow", ""),
    ("noindex", "noindex"),
    ("NoIndex", "noindex"),
    ("noindex, nofollow", "noindex nofollow"),
    ("noindex,nofollow", "noindex nofollow"),
    ("noindex nofollow", "noindex nofollow"),
    ("noindex; nofollow", "noindex nofollow"),
    (" , noindex ,, ", "noindex"),
    ("none", "noindex nofollow"),
    ("index, noindex", "noindex"),  # the stricter word
    ("noarchive", "noarchive"),
    ("nocache", "noarchive"),
    ("nosnippet, noai, noimageai", "nosnippet noai"),
    ("noimageindex, notranslate, indexifembedded, nositelinkssearchbox", ""),
    ("noindexing, no index, xnoindex", ""),
    ("max-snippet: 0", "nosnippet"),
    ("max-snippet: 20, max-image-preview: large, max-video-preview: -1, nofollow", "nofollow"),
    # for one robot
    ("googlebot: noindex", ""),
    ("forager: noindex", "noindex"),
    ("FORAGER : noindex", "noindex"),
    ("forager/0.2: noindex", "noindex"),
    ("foragers: noindex", ""),
    ("*: noindex", "noindex"),
    ("robots: noindex", "noindex"),
    ("360spider: noindex", ""),
    ("googlebot: nofollow|otherbot: noindex, nofollow", ""),
    ("otherbot: noindex, nofollow|noarchive", "noarchive"),  # a line of its own is for all
    ("nofollow, otherbot: noindex, noarchive", "nofollow"),
    ("badbot: noindex, noarchive, forager: nofollow", "nofollow"),
    ("badbot: noindex, max-snippet: 0, noai", ""),
    ("forager: all|noindex", "noindex"),
    ("forager: noindex|nofollow", "noindex nofollow"),
    ("forager: max-snippet: 0", "nosnippet"),
    # dates
    ("unavailable_after: 25 Jun 2010 15:00:00 PST", "noindex"),
    ("unavailable_after: 25 Jun 2050 15:00:00 PST", ""),
    ("unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT", "noindex"),
    ("unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, nofollow", "noindex nofollow"),
    ("unavailable_after: 2010-06-25", "noindex"),
    ("unavailable_after: 2010-06-25T15:00:00Z, noarchive", "noindex noarchive"),
    ("unavailable_after: 2010-06-25 15:00:00+02:00", "noindex"),
    ("unavailable_after: 2050-06-25", ""),
    ("unavailable_after:2050-06-25, unavailable_after:2010-06-25", "noindex"),
    ("forager: unavailable_after: 25 Jun 2010 15:00:00 PST", "noindex"),
    ("otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST", ""),
    ("unavailable_after: soon, nofollow", ""),  # "soon, nofollow" could be a date
    ("unavailable_after: , nofollow", "nofollow"),
    ("unavailable_after", ""),
    ("unavailable_after: 99 Foo 2010 15:00:00", ""),
    ("unavailable_after: 25 Jun 99999999999 15:00:00", ""),
]


@pytest.mark.parametrize(("lines", "expected"), LINES)
def test_what_is_said_to_us(lines: str, expected: str) -> None:
    assert said(*lines.split("|")) == expected


@pytest.mark.parametrize(("lines", "expected"), LINES)
def test_meta_says_the_same(lines: str, expected: str) -> None:
    assert said(meta=tuple(lines.lower().split("|"))) == expected


def test_headers_and_meta_are_added_up() -> None:
    assert said("nofollow", meta=("noarchive", "noindex")) == "noindex nofollow noarchive"


def test_the_time_of_a_page_is_over_at_the_moment_that_it_names() -> None:
    line = f"unavailable_after: {NOW:%d %b %Y %H:%M:%S} GMT"
    for before, over in ((timedelta(seconds=1), False), (timedelta(0), True)):
        found = directives([line], [], AGENT, NOW - before)
        assert (found.noindex, found.unavailable_after) == (over, NOW)


def test_the_earliest_date_counts() -> None:
    found = directives(["unavailable_after: 2050-01-02"], ["unavailable_after: 2050-01-01"], AGENT, NOW)
    assert found.unavailable_after == datetime(2050, 1, 1, tzinfo=UTC)


def test_tokens() -> None:
    assert [product_token(name) for name in ("Forager/1.0 (x)", "forager", "A-b_C 2", "", "7x")] == [
        *("forager", "forager", "a-b_c", "", "")
    ]


HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: x-robots-tag: no\r\nX-Robots-Tag: noindex\r\nx-robots-tag :  caf\xe9 \r\n"
    b"X-Robots-Tag: a,\r\n\t b\r\nX-Robots-Tag:\r\nX-Robots-Tag-Not: c\r\nContent-Length: 0\r\n\r\n"
)


def test_all_values_of_a_header() -> None:
    assert header_values(HEAD, "X-Robots-Tag") == ["noindex", "café", "a, b", ""]
    assert header_values(HEAD.replace(b"\r\n", b"\n"), "x-robots-tag") == ["noindex", "café", "a, b", ""]
    assert header_values(HEAD, "content-length") == ["0"]
    assert header_values(HEAD, ".*") == header_values(b"", "x") == []


@given(st.binary(max_size=300), st.text(max_size=100), st.text(max_size=20))
def test_any_head_and_any_content_are_read(head: bytes, content: str, agent: str) -> None:
    values = header_values(b"X-Robots-Tag: " + head, "X-Robots-Tag")
    assert len(values) >= 1
    assert isinstance(directives(values, [content], agent, NOW), Directives)
