"""Who we are to a host: headers of our own, cookies, and forms that log us in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from http.cookies import BaseCookie, SimpleCookie
from typing import Protocol

from aiohttp import CookieJar, DummyCookieJar
from selectolax.lexbor import LexborHTMLParser
from yarl import URL

from forager.clock import Clock
from forager.errors import ForagerError
from forager.fetch.failures import backoff
from forager.fetch.secrets import HostFilter, from_environment, host_filter
from forager.types import Answer, Failure, Fetch, Reason, Url
from forager.web.page.bounds import tame
from forager.web.urls import RULES, host, site

AGAIN = 600.0  # seconds between two logins
MOST_SITES, MOST_COOKIES = 2_000, 50  # that have cookies; cookies of a site
LONGEST_COOKIE, LARGEST_SITE = 4_096, 16_384  # characters of a cookie with its attributes, of all values of a site
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_OURS = frozenset(("host", "connection", "content-length", "transfer-encoding", "accept-encoding", "user-agent"))


class HeaderSettings(Protocol):
    """A header for some hosts. $NAME in the value comes from the environment."""

    @property
    def hosts(self) -> Sequence[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str: ...


class LoginSettings(Protocol):
    """A form that is sent to `url` before these hosts are asked. $NAME in a field comes from the environment."""

    @property
    def hosts(self) -> Sequence[str]: ...
    @property
    def url(self) -> str: ...
    @property
    def fields(self) -> Mapping[str, str]: ...


class HostHeaders:
    """The headers of our own that a host is sent."""

    def __init__(self, settings: Sequence[HeaderSettings]) -> None:
        self._rows = [(host_filter(row.hosts), row.name, _header(row)) for row in settings]
        self.names = frozenset(row.name.lower().encode() for row in settings)
        self.of = lru_cache(maxsize=10_000)(self._of)

    def _of(self, name: str) -> dict[str, str]:
        return {header: value for matches, header, value in self._rows if matches(name)}


def _header(row: HeaderSettings) -> str:
    key = f"[[fetch.headers]] {row.name!r}"
    if not _NAME.fullmatch(row.name) or row.name.lower() in _OURS:
        raise ForagerError(f"{key} is not the name of a header that can be set")
    value = from_environment(row.value, key)
    if not value.isprintable():
        raise ForagerError(f"{key}: the value has a line end or another control character; remove it")
    return value


class SiteCookies(DummyCookieJar):
    """Cookies in memory, of the hosts that `keeps` names. Each site has a jar of its own: its cookies are sent to no
    other, whatever domain they claim."""

    def __init__(self, keeps: HostFilter) -> None:
        super().__init__()
        self.keeps = keeps
        self._jars: dict[str, CookieJar] = {}  # the one that was used last is last

    def update_cookies_from_headers(self, headers: Sequence[str], response_url: URL) -> None:
        name = response_url.raw_host or ""
        if not self.keeps(name):
            return
        jar = self._jars.pop(site(name), None)
        jar = self._jars[site(name)] = CookieJar(unsafe=True) if jar is None else jar
        short = [header for header in headers if len(header) <= LONGEST_COOKIE]
        for _ in range(2):  # if there are too many, only the new ones stay; if those are too many, none
            jar.update_cookies_from_headers(short, response_url)
            if len(jar) <= MOST_COOKIES and sum(len(cookie.value) for cookie in jar) <= LARGEST_SITE:
                break
            jar.clear()
        if len(self._jars) > MOST_SITES:
            del self._jars[next(iter(self._jars))]

    def filter_cookies(self, request_url: URL) -> BaseCookie[str]:
        name = request_url.raw_host or ""
        jar = self._jars.get(site(name)) if self.keeps(name) else None
        return SimpleCookie() if jar is None else jar.filter_cookies(request_url)


class HostLogin:
    """One form, and when it was sent."""

    def __init__(self, settings: LoginSettings) -> None:
        url = RULES.canonical(settings.url)
        if url is None:
            raise ForagerError(f"[[fetch.logins]] url = {settings.url!r} is not an http or https URL")
        self.url, self.matches = url, host_filter(settings.hosts)
        self.fields = {n: from_environment(v, f"[[fetch.logins]] fields.{n}") for n, v in settings.fields.items()}
        self.lock = asyncio.Lock()
        self.since: float | None = None  # when it let us in
        self.problem: tuple[float, Failure] | None = None  # until when it is not tried again, and why


class Logins:
    """Sends forms with `send(url, fields)`, and reads the pages they are on with `send(url, None)`."""

    def __init__(
        self,
        settings: Sequence[LoginSettings],
        clock: Clock,
        send: Callable[[Url, Mapping[str, str] | None], Awaitable[Answer]],
    ) -> None:
        self._logins, self._clock, self._send = [HostLogin(row) for row in settings], clock, send
        self.of = lru_cache(maxsize=10_000)(self._of)
        self._forms = frozenset(host(login.url).partition(":")[0] for login in self._logins)

    def keeps(self, name: str) -> bool:
        """Whether cookies of a host are kept: where a form is sent, and where it lets us in."""
        return name in self._forms or self.of(name) is not None

    def _of(self, name: str) -> HostLogin | None:
        return next((login for login in self._logins if login.matches(name)), None)

    async def enter(self, url: Url, name: str) -> Failure | None:
        """Log in where the host of a URL asks for it. What went wrong, if something did."""
        login = self.of(name)
        if login is None or login.since is not None:
            return None
        async with login.lock:
            if login.since is not None:
                return None
            if login.problem is None or login.problem[0] <= self._clock.now():
                await self._log_in(login)
            return None if login.problem is None else replace(login.problem[1], url=url)

    def left(self, answer: Answer, name: str) -> Answer:
        """After an answer: if the host no longer knows us, log in again before the next request, and let this one be
        repeated."""
        login = self.of(name)
        if login is None or answer.status not in (401, 403) or not isinstance(answer, Failure):
            return answer
        if login.since is None or self._clock.now() - login.since < AGAIN:
            return answer
        login.since = None
        return replace(answer, detail=f"{answer.detail}: we log in again", retry_after=backoff(answer.url, 1))

    async def _log_in(self, login: HostLogin) -> None:
        page = await self._send(login.url, None)
        hidden = _hidden(page.body, login.fields) if isinstance(page, Fetch) else None
        answer = await self._send(login.url, {**(hidden or {}), **login.fields})
        wrong = _refusal(answer, login)
        now, where = self._clock.now(), host(login.url)
        if not wrong:
            login.since, login.problem = now, None
            return
        reason = answer.reason if isinstance(answer, Failure) else Reason.CLIENT_ERROR
        again = getattr(answer, "retry_after", None) or AGAIN
        login.problem = (now + again, Failure(login.url, reason, f"login at {where}: {wrong}", again))


def _refusal(answer: Answer, login: HostLogin) -> str:
    """Why an answer to a form does not let us in. "" if it does."""
    if isinstance(answer, Failure) and (answer.status == 0 or answer.status >= 400):
        return answer.detail
    if isinstance(answer, Fetch) and _hidden(answer.body, login.fields) is not None:
        return "the form came back; are the fields right?"
    return ""


def _hidden(page: bytes, fields: Mapping[str, str]) -> dict[str, str] | None:
    """The hidden fields of the form on a page that has the given fields. None if there is no such form."""
    markup = tame(page.decode("utf-8", "replace"))
    for form in LexborHTMLParser(markup or "").css("form"):
        inputs = [(node.attributes.get("name") or "", node.attributes) for node in form.css("input, select, textarea")]
        if fields.keys() <= {name for name, _ in inputs}:
            return {
                name: node.get("value") or "" for name, node in inputs if name and (node.get("type") or "") == "hidden"
            }
    return None
