"""The fetcher and a real server: pages, statuses, redirects, and which hosts it reaches."""

from __future__ import annotations

import asyncio
import gzip
from email.utils import format_datetime
from pathlib import Path

import pytest

from forager.clock import VirtualClock, WallClock
from forager.errors import ForagerError
from forager.fetch.http import OWNERS, HttpFetcher
from forager.fetch.robots import parse_robots
from forager.types import Answer, Reason, Redirect, Url
from tests.fetch.wire import Wire, ask, drip, failed, fetched, fetcher, page, raw

# ---- pages ----------------------------------------------------------------------------------------------------------


def test_a_page() -> None:
    answer = fetched(ask(page(b"<p>hello", kind='Text/HTML; Charset="ISO-8859-1"')))
    assert (answer.body, answer.content_type, answer.charset, answer.status) == (
        b"<p>hello",
        "text/html",
        "ISO-8859-1",
        200,
    )
    assert answer.seconds > 0


def test_the_exchange_is_what_went_over_the_wire() -> None:
    async def run() -> tuple[Answer, list[bytes]]:
        async with Wire({"*": page(b"<p>x", "X-Odd:  Kept ", "Set-Cookie: a=b")}) as wire, fetcher() as client:
            return await client.fetch(wire.url("/a%20b?q=%C3%A9&r=*")), wire.requests

    answer, requests = asyncio.run(run())
    exchange = fetched(answer).exchange
    assert exchange
    assert [exchange.request] == requests
    assert exchange.request.startswith(b"GET /a%20b?q=%C3%A9&r=* HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"User-Agent: Forager/" in exchange.request
    assert b"/docs/guides/for-site-owners.md; crawl@example.org)\r\n" in exchange.request
    assert exchange.response == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Crawl-Content-Length: 4\r\nX-Odd: Kept\r\n"
        b"Set-Cookie: a=b\r\nContent-Length: 4\r\n\r\n"
    )
    assert exchange.address == "127.0.0.1"


def test_the_head_in_the_archive_fits_the_decoded_body() -> None:
    packed = gzip.compress(b"<p>" + b"a" * 1000)
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(packed), packed)
    head = "HTTP/1.1 200 Fine\nContent-Type: text/html\nContent-Encoding: gzip\nTransfer-Encoding: chunked"
    answer = fetched(ask(raw(head, chunked)))
    assert answer.body == b"<p>" + b"a" * 1000
    assert answer.exchange
    assert answer.exchange.response == (
        b"HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nX-Crawl-Content-Encoding: gzip\r\n"
        b"X-Crawl-Transfer-Encoding: chunked\r\nContent-Length: 1003\r\n\r\n"
    )


_KINDS = """
application/xhtml+xml text/plain text/xml;charset=utf-8 APPLICATION/XML application/rss+xml application/atom+xml
application/rdf+xml application/gzip application/x-gzip
"""


@pytest.mark.parametrize("kind", _KINDS.split())
def test_types_that_may_be_pages_feeds_or_sitemaps(kind: str) -> None:
    assert fetched(ask(page(kind=kind))).content_type == kind.partition(";")[0].lower()


def test_no_type_may_be_a_page() -> None:
    assert fetched(ask(raw("HTTP/1.0 200 OK", b"<p>x"))).content_type == ""


@pytest.mark.parametrize("kind", ["image/png", "application/pdf", "text/css", "video/mp4", "application/zip"])
def test_other_types_are_not_read(kind: str) -> None:
    """The body never ends, so reading all of it would end in a timeout."""
    endless = drip(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 99999999\r\n\r\n".encode())
    failure = failed(ask(endless), Reason.NOT_HTML)
    assert failure.detail == kind
    assert failure.status == 200


def test_of_any_type_the_start_is_read_when_asked_so() -> None:
    async def run() -> Answer:
        async with Wire({"*": page(b"0123456789", kind="image/png")}) as wire, fetcher() as client:
            return await client.fetch_start(wire.url(), 4)

    assert fetched(asyncio.run(run())).body == b"0123"


def test_connections_are_used_again_after_pages_redirects_and_failures() -> None:
    replies = {
        "/page": page(),
        "/moved": page(b"moved", "Location: /page", status="301 Moved"),
        "/missing": page(b"x" * 30_000, status="404 Not Found"),
        "/image": page(b"x" * 30_000, kind="image/gif"),
    }

    async def run() -> Wire:
        async with Wire(replies) as wire, fetcher() as client:
            for path in (*replies, "/page"):
                await client.fetch(wire.url(path))
        return wire

    wire = asyncio.run(run())
    assert (len(wire.requests), wire.connections) == (5, 1)


def test_many_hosts_at_once_one_connection_each() -> None:
    async def run() -> tuple[list[Answer], Wire]:
        async with Wire({"*": page()}) as wire, fetcher(resolve={"*.web.test": f"127.0.0.1:{wire.port}"}) as client:
            urls = [Url(f"http://h{host}.web.test/{n}") for host in range(150) for n in range(2)]
            return await asyncio.gather(*map(client.fetch, urls)), wire

    answers, wire = asyncio.run(run())
    assert [fetched(answer).status for answer in answers] == [200] * 300
    assert wire.connections == 150


def test_cookies_are_neither_kept_nor_sent() -> None:
    async def run() -> Wire:
        async with Wire({"*": page(b"x", "Set-Cookie: a=b; Path=/")}) as wire, fetcher() as client:
            for _ in range(2):
                await client.fetch(wire.url())
        return wire

    assert b"ookie" not in asyncio.run(run()).requests[1]


# ---- statuses -------------------------------------------------------------------------------------------------------

STATUSES = {
    "204 No Content": (Reason.NOT_HTML, False),
    "205 Reset Content": (Reason.NOT_HTML, False),
    "206 Partial Content": (Reason.PROTOCOL, False),
    "300 Multiple Choices": (Reason.BAD_REDIRECT, False),
    "304 Not Modified": (Reason.BAD_REDIRECT, False),
    "400 Bad Request": (Reason.CLIENT_ERROR, False),
    "401 Unauthorized": (Reason.CLIENT_ERROR, False),
    "403 Forbidden": (Reason.CLIENT_ERROR, False),
    "404 Not Found": (Reason.NOT_FOUND, False),
    "408 Request Timeout": (Reason.TIMEOUT, True),
    "410 Gone": (Reason.NOT_FOUND, False),
    "429 Too Many Requests": (Reason.BUSY, True),
    "451 Unavailable For Legal Reasons": (Reason.CLIENT_ERROR, False),
    "500 Oops": (Reason.SERVER_ERROR, True),
    "501 Not Implemented": (Reason.SERVER_ERROR, False),
    "502 Bad Gateway": (Reason.SERVER_ERROR, True),
    "503 Service Unavailable": (Reason.SERVER_ERROR, True),
    "999 Denied": (Reason.CLIENT_ERROR, False),
}


@pytest.mark.parametrize("status", STATUSES)
def test_statuses(status: str) -> None:
    reason, again = STATUSES[status]
    failure = failed(ask(page(b"", status=status)), reason)
    assert failure.status == int(status[:3])
    assert failure.exchange
    assert failure.exchange.response.startswith(f"HTTP/1.1 {status}\r\n".encode())
    assert (failure.retry_after is not None) == again
    if again:
        assert 7.5 <= (failure.retry_after or 0) < 12.5


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("9" * 500, 3600.0),
        ("Sat, 01 Jan 2000 00:02:00 GMT", 120.0),
        ("Sat, 01 Jan 2000 00:02:00 -0000", 120.0),
        ("Fri, 31 Dec 1999 00:00:00 GMT", 0.0),
    ],
)
@pytest.mark.parametrize("status", ["429 Slow Down", "503 Service Unavailable"])
def test_retry_after(header: str, seconds: float, status: str) -> None:
    answer = ask(page(b"", f"Retry-After: {header}", status=status), clock=VirtualClock())
    assert not isinstance(answer, Redirect)
    assert getattr(answer, "reason", None) is Reason.BUSY
    assert getattr(answer, "retry_after", None) == seconds


@pytest.mark.parametrize("header", ["soon", "-5", "1e3", "", "Sat, 99 Jan 2000 00:00:00 GMT", "²"])
def test_a_retry_after_that_cannot_be_read_is_as_none(header: str) -> None:
    failure = failed(ask(page(b"", f"Retry-After: {header}", status="429 Slow Down")), Reason.BUSY)
    assert 7.5 <= (failure.retry_after or 0) < 12.5


def test_a_retry_after_as_date_is_of_the_clock_given() -> None:
    date = format_datetime(WallClock().utc().replace(microsecond=0), usegmt=True)
    failure = failed(ask(page(b"", f"Retry-After: {date}", status="503 Busy")), Reason.BUSY)
    assert failure.retry_after == 0


# ---- asked again ----------------------------------------------------------------------------------------------------


async def conditional(writer: asyncio.StreamWriter, request: bytes) -> None:
    fresh = b'If-None-Match: "v1"\r\n' in request or b"If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT\r\n" in request
    same = b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n'
    writer.write(same if fresh else page(b"<p>new", 'ETag: "v1"'))


@pytest.mark.parametrize(
    ("etag", "modified", "status", "sent"),
    [
        ('"v1"', "", 304, 1),
        (' "v1" ', "Sat, 01 Jan 2000 00:00:00 GMT", 304, 2),
        ("", "Sat, 01 Jan 2000 00:00:00 GMT", 304, 1),
        ('"v0"', "", 200, 1),
        ("", "", 200, 0),
        ('"v1"\r\nX-Evil: yes', "caf\xe9", 200, 0),
        ("x" * 5000, "\x00", 200, 0),
    ],
)
def test_a_page_is_asked_for_again(etag: str, modified: str, status: int, sent: int) -> None:
    async def run() -> tuple[Answer, bytes]:
        async with Wire({}) as wire, fetcher() as client:

            async def act(writer: asyncio.StreamWriter) -> None:
                await conditional(writer, wire.requests[-1])

            wire.replies["*"] = act
            return await client.fetch_again(wire.url("/x"), etag, modified), wire.requests[-1]

    answer, request = asyncio.run(run())
    again = fetched(answer)
    assert (again.status, again.body) == (status, b"" if status == 304 else b"<p>new")
    assert request.count(b"If-") == sent
    assert b"X-Evil" not in request
    assert again.exchange
    assert again.exchange.request == request
    assert again.exchange.response.startswith(f"HTTP/1.1 {status}".encode())


def test_who_was_not_told_what_we_have_cannot_say_that_it_is_the_same() -> None:
    failed(ask(b"HTTP/1.1 304 Not Modified\r\n\r\n"), Reason.BAD_REDIRECT)


# ---- redirects ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/there?b=1#part", "http://h.web.test/there?b=1"),
        ("there", "http://h.web.test/a/there"),
        ("//other.test", "http://other.test/"),
        ("HTTPS://Other.TEST:443/%7euser/../x", "https://other.test/x"),
        ("/caf\xc3\xa9", "http://h.web.test/caf%C3%A9"),  # bytes of UTF-8
        ("/caf\xe9", "http://h.web.test/caf%E9"),  # a byte of Latin-1
        ("http://b\xc3\xbccher.test/", "http://xn--bcher-kva.test/"),
        ("/a b", "http://h.web.test/a%20b"),
        ("http://2130706433/", "http://127.0.0.1/"),
    ],
)
def test_a_redirect_is_an_answer(status: int, location: str, target: str) -> None:
    answer = _mapped(raw(f"HTTP/1.1 {status} Moved\nLocation: {location}\nContent-Length: 0"), "http://h.web.test/a/b")
    assert isinstance(answer, Redirect), answer
    assert (answer.target, answer.status) == (target, status)
    assert answer.exchange
    assert b"Location: " in answer.exchange.response


@pytest.mark.parametrize(
    "head",
    [
        "HTTP/1.1 301 Moved",
        "HTTP/1.1 302 Moved\nLocation:",
        "HTTP/1.1 302 Moved\nLocation: mailto:me@example.org",
        "HTTP/1.1 302 Moved\nLocation: javascript:void(0)",
        "HTTP/1.1 302 Moved\nLocation: http://",
        "HTTP/1.1 302 Moved\nLocation: http://[::1",
        f"HTTP/1.1 302 Moved\nLocation: /{'long' * 3000}",
        "HTTP/1.1 302 Moved\nLocation: /a/b#elsewhere",  # it redirects to itself
        "HTTP/1.1 302 Moved\nLocation: /a/b?PHPSESSID=1",
    ],
)
def test_redirects_that_lead_nowhere(head: str) -> None:
    failed(_mapped(raw(f"{head}\nContent-Length: 0"), "http://h.web.test/a/b"), Reason.BAD_REDIRECT)


def test_a_loop_of_two_is_two_answers() -> None:
    replies = {path: page(b"", f"Location: {to}", status="302 Found") for path, to in (("/a", "/b"), ("/b", "/a"))}

    async def run() -> list[Answer]:
        async with Wire(replies) as wire, fetcher() as client:
            return [await client.fetch(wire.url(path)) for path in replies]

    assert [answer.target[-2:] for answer in asyncio.run(run()) if isinstance(answer, Redirect)] == ["/b", "/a"]


def _mapped(reply: bytes, url: str) -> Answer:
    async def run() -> Answer:
        async with Wire({"*": reply}) as wire, fetcher(resolve={"*.test": f"127.0.0.1:{wire.port}"}) as client:
            return await client.fetch(Url(url))

    return asyncio.run(run())


# ---- whom we reach --------------------------------------------------------------------------------------------------


def test_nobody_listens() -> None:
    async def run() -> Answer:
        async with Wire({}) as wire:
            url = wire.url()
        async with fetcher() as client:
            return await client.fetch(url)

    assert failed(asyncio.run(run()), Reason.UNREACHABLE).retry_after is not None


def test_tls_to_who_does_not_speak_it() -> None:
    async def run() -> Answer:
        async with Wire({}, greeting=page(b"plain")) as wire, fetcher() as client:
            return await client.fetch(wire.url(scheme="https"))

    failed(asyncio.run(run()), Reason.TLS)


@pytest.mark.parametrize("contact", ["", "  ", "nobody", "me@", "a@b.org\r\nX: y", "see (my page)"])
def test_no_fetcher_without_a_contact(contact: str) -> None:
    with pytest.raises(ForagerError, match="give one, like contact = "):
        HttpFetcher(contact)


def test_who_gives_a_mail_address_is_named_with_a_page_for_owners_of_sites() -> None:
    agent = HttpFetcher(" me@example.org ").agent
    assert agent.startswith("Forager/")
    assert agent.endswith(f" (+{OWNERS}; me@example.org)")
    assert (Path(__file__).parents[2] / OWNERS.partition("/main/")[2]).exists()
    rules = parse_robots(b"User-agent: forager\nDisallow: /", agent, Url("http://a.test/robots.txt"))
    assert not rules.allows(Url("http://a.test/page"))


def test_a_page_is_a_contact_too() -> None:
    assert HttpFetcher("https://example.org/crawler").agent.endswith(" (+https://example.org/crawler)")


def test_a_closed_fetcher_says_so() -> None:
    assert "async with" in failed(asyncio.run(fetcher().fetch(Url("http://127.0.0.1/"))), Reason.PROTOCOL).detail
