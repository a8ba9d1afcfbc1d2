"""Headers, cookies and logins: they go to the hosts they are for, and to nobody else; secrets are written nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import pytest
from yarl import URL

from forager.clock import VirtualClock, WallClock
from forager.config import FetchConfig, HeaderConfig, LoginConfig
from forager.errors import ForagerError
from forager.fetch import make_http
from forager.fetch.http import HttpFetcher
from forager.fetch.login import LARGEST_SITE, MOST_COOKIES, MOST_SITES, SiteCookies
from forager.fetch.secrets import from_environment, host_filter
from forager.types import Answer, Failure, Reason, Redirect, Url
from forager.web.urls import RULES
from tests.fetch.wire import CONTACT, Wire, failed, fetched, page

SECRET = "hush-hush"


class Site(Wire):
    """A server that reads the bodies of forms."""

    def __init__(self, replies: dict[str, Any]) -> None:
        super().__init__(replies)
        self.forms: list[dict[str, list[str]]] = []

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head)
        lines = [line.partition(b": ") for line in head.lower().split(b"\r\n")]
        length = next((int(value) for name, _, value in lines if name == b"content-length"), 0)
        path = head.split(b" ")[1].decode()
        if head.startswith(b"POST"):
            self.forms.append(parse_qs((await reader.readexactly(length)).decode()))
            path = f"POST {path}"
        reply: Any = self.replies.get(path) or self.replies.get("*") or page(b"", status="404 Not Found")
        writer.write(reply(head) if callable(reply) else reply)
        await writer.drain()
        return True

    def to(self, host: str) -> list[bytes]:
        return [request for request in self.requests if b"\r\nHost: " + host.encode() + b"\r\n" in request]


def with_site(
    replies: dict[str, Any], deed: Callable[[HttpFetcher], Awaitable[Any]], **settings: Any
) -> tuple[Any, Site]:
    """Do something with a fetcher whose every host is one server. Settings are those of a configuration."""
    clock = settings.pop("clock", None) or WallClock()

    async def run() -> tuple[Any, Site]:
        async with Site(replies) as site:
            mapped = {"*": f"127.0.0.1:{site.port}"}
            async with make_http(FetchConfig(contact=CONTACT, resolve=mapped, **settings), RULES, clock) as client:
                return await deed(client), site

    return asyncio.run(run())


async def each(client: HttpFetcher, *urls: str) -> list[Answer]:
    return [await client.fetch(Url(url)) for url in urls]


def exchanges(answers: list[Answer]) -> bytes:
    """All that an archive would have of these answers."""
    heads = [answer.exchange for answer in answers]
    assert all(heads)
    return b"".join(head.request + head.response for head in heads if head)


# ---- secrets --------------------------------------------------------------------------------------------------------


def test_secrets_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWL", SECRET)
    assert from_environment("a $OWL, ${OWL}s and $$5", "key") == f"a {SECRET}, {SECRET}s and $5"
    assert from_environment("plain", "key") == "plain"


@pytest.mark.parametrize("text", ["$NOT_SET_ANYWHERE", "${NOT_SET_ANYWHERE}", "$EMPTY"])
def test_a_name_that_is_not_set_is_one_line(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    with pytest.raises(ForagerError, match=r"^\[fetch\] proxy: the environment variable \w+ is not set$"):
        make_http(FetchConfig(contact=CONTACT, proxy=text), RULES, VirtualClock())


@pytest.mark.parametrize("text", ["100$", "$5", "a $ b"])
def test_a_dollar_sign_alone_is_told(text: str) -> None:
    with pytest.raises(ForagerError, match=r"\$\$ for a dollar sign"):
        from_environment(text, "key")


def test_hosts_by_name_and_pattern() -> None:
    fits = host_filter(["Example.org", "*.example.org", "api.*.test"])
    assert all(map(fits, ["example.org", "EXAMPLE.ORG", "a.example.org", "a.b.example.org", "api.x.test"]))
    assert not any(map(fits, ["badexample.org", "example.org.evil.test", "api.test", "", "example.orgs"]))
    assert not host_filter([])("example.org")


# ---- headers --------------------------------------------------------------------------------------------------------


def test_a_header_goes_to_its_hosts_and_its_value_into_no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    headers = (
        HeaderConfig(hosts=("*.mine.test",), name="X-Token", value="key $TOKEN"),
        HeaderConfig(hosts=("a.mine.test",), name="Authorization", value="Bearer $TOKEN"),
    )
    urls = ["http://a.mine.test/1", "http://b.mine.test/2", "http://mine.test.evil.test/3", "http://mine.test/4"]
    answers, site = with_site({"*": page()}, lambda client: each(client, *urls), headers=headers)
    assert f"X-Token: key {SECRET}\r\nAuthorization: Bearer {SECRET}\r\n".encode() in site.to("a.mine.test")[0]
    assert f"X-Token: key {SECRET}\r\n".encode() in site.to("b.mine.test")[0]
    assert b"uthorization" not in site.to("b.mine.test")[0]
    for host in ("mine.test.evil.test", "mine.test"):
        assert SECRET.encode() not in site.to(host)[0]
    kept = exchanges(answers)
    assert SECRET.encode() not in kept
    assert b"X-Token: [left out]\r\nAuthorization: [left out]\r\n" in kept


def test_a_redirect_takes_no_header_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    headers = (HeaderConfig(hosts=("mine.test",), name="X-Token", value="$TOKEN"),)
    away = page(b"", "Location: http://other.test/x", status="302 Found")

    async def deed(client: HttpFetcher) -> Answer:
        (answer,) = await each(client, "http://mine.test/")
        assert isinstance(answer, Redirect)
        return await client.fetch(answer.target)

    answer, site = with_site({"/": away, "*": page()}, deed, headers=headers)
    fetched(answer)
    assert SECRET.encode() not in site.to("other.test")[0]


@pytest.mark.parametrize("name", ["", "X Token", "X-Token\r\nY", "Host", "user-agent", "Transfer-Encoding", "é"])
def test_headers_that_cannot_be_set(name: str) -> None:
    with pytest.raises(ForagerError, match="not the name of a header that can be set"):
        with_site({}, each, headers=(HeaderConfig(hosts=("a.test",), name=name, value="x"),))


def test_values_of_one_line_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", f"{SECRET}\r\nX-Evil: yes")
    with pytest.raises(ForagerError, match="control character") as told:
        with_site({}, each, headers=(HeaderConfig(hosts=("a.test",), name="X", value="$TOKEN"),))
    assert SECRET not in str(told.value)


# ---- cookies --------------------------------------------------------------------------------------------------------


def sets(*cookies: str) -> bytes:
    return page(b"<p>x", *(f"Set-Cookie: {cookie}" for cookie in cookies))


def test_cookies_stay_on_their_site_and_out_of_the_archive() -> None:
    replies = {"/all": sets(f"all={SECRET}; Domain=mine.co.uk"), "/here": sets("here=1", "path=1; Path=/deep")}
    replies |= {"/wide": sets("wide=1; Domain=co.uk"), "/other": sets("alien=1; Domain=victim.co.uk"), "*": page()}
    urls = [f"http://a.mine.co.uk/{path}" for path in ("all", "here", "wide", "other", "then", "deep/er")]
    urls += ["http://b.mine.co.uk/x", "http://victim.co.uk/x", "http://mine.co.uk.evil.test/x"]
    answers, site = with_site(replies, lambda client: each(client, *urls), cookies=True)
    sent = [_cookies(request) for request in site.requests]
    assert sent[0] == set()
    assert sent[4] == {f"all={SECRET}", "here=1", "wide=1"}
    assert sent[5] == {f"all={SECRET}", "here=1", "wide=1", "path=1"}
    assert sent[6] == {f"all={SECRET}", "wide=1"}
    assert sent[7:] == [set(), set()]  # although one is set for all of co.uk
    kept = exchanges(answers)
    assert SECRET.encode() not in kept
    assert b"Set-Cookie: [left out]\r\n" in kept
    assert b"Cookie: [left out]\r\n" in kept


def _cookies(request: bytes) -> set[str]:
    lines = [line for line in request.decode().split("\r\n") if line.startswith("Cookie: ")]
    return {pair for line in lines for pair in line.removeprefix("Cookie: ").split("; ")}


def test_without_being_asked_for_no_cookie_is_kept_and_the_archive_has_what_came() -> None:
    answers, site = with_site({"*": sets("a=b")}, lambda client: each(client, "http://a.test/1", "http://a.test/2"))
    assert not any(map(_cookies, site.requests))
    assert b"Set-Cookie: a=b\r\n" in exchanges(answers)


def test_a_page_that_sets_a_cookie_and_leads_to_itself() -> None:
    """With cookies it may be asked again, and then is a page; without, it would lead to itself for ever."""

    def gate(head: bytes) -> bytes:
        if b"Cookie: seen=1" in head:
            return page(b"<p>in")
        return page(b"", "Location: /gate", "Set-Cookie: seen=1", status="302 Found")

    urls = ["http://a.test/gate"] * 2
    answers, _ = with_site({"/gate": gate}, lambda client: each(client, *urls), cookies=True)
    assert failed(answers[0], Reason.BAD_REDIRECT).retry_after is not None
    assert fetched(answers[1]).body == b"<p>in"
    answers, _ = with_site({"/gate": gate}, lambda client: each(client, *urls))
    assert [failed(answer, Reason.BAD_REDIRECT).retry_after for answer in answers] == [None, None]


def test_cookies_are_limited_in_number_and_size() -> None:
    async def run() -> None:
        jar = SiteCookies(lambda host: True)
        here = URL("http://a.test/")
        jar.update_cookies_from_headers(["session=1"], here)
        jar.update_cookies_from_headers([f"c{n}=1" for n in range(MOST_COOKIES - 1)], here)
        assert len(jar.filter_cookies(here)) == MOST_COOKIES
        jar.update_cookies_from_headers(["one=more"], here)  # then only the new ones stay
        assert list(jar.filter_cookies(here)) == ["one"]
        jar.update_cookies_from_headers(["large=" + "x" * 5_000], here)
        jar.update_cookies_from_headers([f"d{n}=1" for n in range(1000)], here)
        assert len(jar.filter_cookies(here)) <= MOST_COOKIES
        fill = "x" * 4_000
        jar.update_cookies_from_headers([f"e{n}={fill}" for n in range(LARGEST_SITE // 4_000 + 1)], here)
        assert list(jar.filter_cookies(here)) == []
        jar.update_cookies_from_headers(["first=1"], here)
        for n in range(MOST_SITES):
            jar.update_cookies_from_headers(["x=1"], URL(f"http://s{n}.test/"))
        assert list(jar.filter_cookies(here)) == []  # the site that was longest unused is forgotten
        assert list(jar.filter_cookies(URL(f"http://s{MOST_SITES - 1}.test/"))) == ["x"]

    asyncio.run(run())


# ---- logins ---------------------------------------------------------------------------------------------------------

FORM = page(
    b"<form action=/search><input name=q></form><form method=post><input type=hidden name=token value='t&amp;1'>"
    b"<input name=user><input type=password name=password><input type=submit name=go value=Go></form>"
)
LOGIN = LoginConfig(
    hosts=("www.mine.test", "*.mine.test"), url="http://id.mine.test/login", fields={"user": "me", "password": "$PW"}
)
ENTER = page(b"", "Location: /home", f"Set-Cookie: sid={SECRET}1; Domain=mine.test", status="302 Found")


def guarded(head: bytes) -> bytes:
    """A page for those who are logged in."""
    return page(b"<p>inside") if b"Cookie: sid=" in head else page(b"", status="403 Forbidden")


SITE: dict[str, Any] = {"/login": FORM, "POST /login": ENTER, "*": guarded}


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", f"{SECRET}2")


def test_the_form_is_sent_before_anything_else_and_once() -> None:
    urls = ["http://www.mine.test/a", "http://www.mine.test/b", "http://wiki.mine.test/c", "http://other.test/d"]

    async def deed(client: HttpFetcher) -> list[Answer]:
        return list(await asyncio.gather(*(client.fetch(Url(url)) for url in urls)))

    answers, site = with_site(SITE, deed, logins=(LOGIN,))
    for answer in answers[:3]:
        assert fetched(answer).body == b"<p>inside"
    failed(answers[3], Reason.CLIENT_ERROR)
    assert site.forms == [{"user": ["me"], "password": [f"{SECRET}2"], "token": ["t&1"]}]
    starts = [request.split(b" HTTP")[0] for request in site.to("id.mine.test")]
    assert starts == [b"GET /login", b"POST /login"]
    assert SECRET.encode() not in exchanges(answers)
    assert not _cookies(site.to("other.test")[0])


def test_robots_txt_comes_after_the_form_too() -> None:
    answer, site = with_site(
        SITE, lambda client: client.fetch_start(Url("http://www.mine.test/robots.txt"), 1000), logins=(LOGIN,)
    )
    fetched(answer)
    assert len(site.forms) == 1


@pytest.mark.parametrize(
    "page_of_form", [page(b"<p>no form"), page(b"", status="404 Not Found"), page(kind="image/png")]
)
def test_a_form_that_is_not_found_is_sent_as_it_is_written(page_of_form: bytes) -> None:
    answers, site = with_site(
        {**SITE, "/login": page_of_form}, lambda client: each(client, "http://www.mine.test/a"), logins=(LOGIN,)
    )
    fetched(answers[0])
    assert site.forms == [{"user": ["me"], "password": [f"{SECRET}2"]}]


REFUSED = {
    "a status": (page(b"no", status="401 Unauthorized"), "status 401"),
    "the form again": (FORM, "the form came back"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_login_that_is_refused_is_told_and_tried_again_after_ten_minutes(name: str) -> None:
    reply, told = REFUSED[name]
    clock = VirtualClock()

    async def deed(client: HttpFetcher) -> list[Answer]:
        answers = await each(client, "http://www.mine.test/a", "http://www.mine.test/b")
        clock.spend(601)
        return answers + await each(client, "http://www.mine.test/c")

    answers, site = with_site({**SITE, "POST /login": reply}, deed, logins=(LOGIN,), clock=clock)
    for answer in answers:
        assert isinstance(answer, Failure)
        assert (answer.reason, answer.retry_after) == (Reason.CLIENT_ERROR, 600)
        assert answer.detail.startswith("login at id.mine.test: ")
        assert told in answer.detail
    assert [answer.url[-1] for answer in answers] == ["a", "b", "c"]
    assert len(site.forms) == 2
    assert not site.to("www.mine.test")


def test_a_login_whose_host_is_away_may_be_tried_again_sooner() -> None:
    async def run() -> Answer:
        async with Wire({}) as wire:
            port = wire.port
        login = LoginConfig(hosts=("www.mine.test",), url=f"http://id.mine.test:{port}/login", fields={})
        settings = FetchConfig(contact=CONTACT, resolve={"*": "127.0.0.1"}, logins=(login,))
        async with make_http(settings, RULES, WallClock()) as client:
            return await client.fetch(Url("http://www.mine.test/"))

    answer = asyncio.run(run())
    assert isinstance(answer, Failure)
    assert answer.reason is Reason.UNREACHABLE
    assert (answer.retry_after or 0) < 60


def test_who_is_no_longer_known_logs_in_again_but_not_too_often() -> None:
    clock, known = VirtualClock(), [b"sid=" + SECRET.encode() + b"1"]

    def check(head: bytes) -> bytes:
        return page(b"<p>inside") if known[0] in head else page(b"", status="403 Forbidden")

    async def deed(client: HttpFetcher) -> list[Answer]:
        answers = await each(client, "http://www.mine.test/1")
        known[0] = b"nobody"
        answers += await each(client, "http://www.mine.test/2")  # too soon: it is a page that we may not see
        clock.spend(601)
        answers += await each(client, "http://www.mine.test/3")
        known[0] = b"sid="
        return answers + await each(client, "http://www.mine.test/3")

    answers, site = with_site({**SITE, "*": check}, deed, logins=(LOGIN,), clock=clock)
    fetched(answers[0])
    assert getattr(answers[1], "retry_after", 0) is None
    assert getattr(answers[2], "retry_after", None) is not None
    assert "log in again" in getattr(answers[2], "detail", "")
    fetched(answers[3])
    assert len(site.forms) == 2


def test_a_login_that_is_no_url() -> None:
    with pytest.raises(ForagerError, match="is not an http or https URL"):
        with_site({}, each, logins=(LoginConfig(hosts=("a.test",), url="login", fields={}),))


def test_a_password_that_is_not_set() -> None:
    login = LoginConfig(hosts=("a.test",), url="http://a.test/", fields={"password": "$NOT_SET_ANYWHERE"})
    with pytest.raises(ForagerError, match=r"^\[\[fetch.logins\]\] fields.password: .* is not set$"):
        with_site({}, each, logins=(login,))
