"""What can go wrong with a request, as values: a reason, a line for people, and when to ask again if that may help."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp
import xxhash
from aiohttp.http_exceptions import ContentLengthError, HttpProcessingError

from forager.errors import plain
from forager.fetch.body import StalledError
from forager.fetch.guard import ForbiddenError
from forager.types import Failure, Reason, Url

FIRST_WAIT = 10.0  # seconds
LONGEST_WAIT = 3600.0
CONNECT = "connect:"  # how the detail of a time-out begins if nobody was reached
_NEVER = {501, 505}  # the statuses of 5xx after which asking again does not help
_USED_UP = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}  # files and memory
_NO_ROUTE = {errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL}  # the last if only other hosts have IPv6
_TO_IPV6 = re.compile(r"\('[0-9a-fA-F]*:")
_TLS_ENDS = (ssl.SSLEOFError, ssl.SSLSyscallError, ssl.SSLZeroReturnError)  # the connection broke off


def backoff(url: Url, attempt: int, first: float = FIRST_WAIT, longest: float = LONGEST_WAIT) -> float:
    """Seconds to wait after the given number of failed attempts (1 or more).

    min(longest, first · 2^(attempt-1)) · s, with s in [0.75, 1.25) from a hash of URL and attempt. So links that failed
    together are not asked again together, and the same crawl has the same times.
    """
    spread = 0.75 + xxhash.xxh64_intdigest(f"{attempt} {url}".encode()) / 2**65
    return min(longest, first * 2.0 ** min(attempt - 1, 40)) * spread


def retry_after(header: str, now: datetime, longest: float = LONGEST_WAIT) -> float | None:
    """Seconds to wait by a Retry-After, at most `longest`. None if it is neither a number nor an HTTP date."""
    text = header.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text), longest)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return min(max(0.0, (date - now).total_seconds()), longest)


def of_status(status: int, asked_wait: float | None) -> tuple[Reason, bool]:
    """The reason for a status from 400 on, and whether asking again may help."""
    if status in (404, 410):
        return Reason.NOT_FOUND, False
    if status == 429 or (status == 503 and asked_wait is not None):
        return Reason.BUSY, True
    if status == 408:
        return Reason.TIMEOUT, True
    if 500 <= status < 600:
        return Reason.SERVER_ERROR, status not in _NEVER
    return Reason.CLIENT_ERROR, False


def of_error(url: Url, error: Exception, status: int = 0) -> Failure:
    """The failure for an exception of the client. `status` is that of the answer, if its head had come."""
    reason, detail, again = _explained(error, in_body=status != 0)
    reached = status != 0 or (reason is Reason.TIMEOUT and not detail.startswith(CONNECT))
    return Failure(url, reason, one_line(detail), backoff(url, 1) if again else None, status=status, reached=reached)


def one_line(text: str) -> str:
    """The text in one line of at most 300 characters, without the caret by which the parser of heads marks a
    mistake."""
    return " ".join(plain(text).split())[:300].removesuffix(" ^")


def _explained(error: Exception, *, in_body: bool) -> tuple[Reason, str, bool]:
    """The reason, the detail, and whether asking again may help."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ForbiddenError):
            return Reason.FORBIDDEN, cause.detail, False
        if _is_ours(cause):
            return Reason.LOCAL, f"here: {_words(cause)}", True
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, _TLS_ENDS):
            return Reason.TLS, _words(cause), False
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        ours = not isinstance(error, aiohttp.ClientHttpProxyError) or error.status == 407
        return Reason.LOCAL if ours else Reason.UNREACHABLE, f"the proxy: {_words(causes[-1])}", True
    if isinstance(error, asyncio.TimeoutError):
        return Reason.TIMEOUT, _too_long(error, in_body=in_body), True
    if isinstance(error, aiohttp.ClientConnectorDNSError | socket.gaierror):
        return Reason.DNS, _words(causes[1] if causes[1:] else error), True
    if _broke_off(error, causes):
        return Reason.UNREACHABLE, _words(causes[-1]), True
    return Reason.PROTOCOL, _words(causes[-1] if isinstance(causes[-1], HttpProcessingError) else error), False


def _too_long(error: Exception, *, in_body: bool) -> str:
    """What took too long: connecting, the head of the answer, its body, or all together."""
    if isinstance(error, StalledError):
        return str(error)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return f"{CONNECT} no connection in the time allowed"
    what = "body" if in_body else "head"
    if isinstance(error, aiohttp.SocketTimeoutError):
        return f"{what}: nothing came for too long"
    return f"total: the {what} was not whole in the time allowed"


def _is_ours(error: BaseException) -> bool:
    """Whether the fault is here, so that another host would fail as well."""
    if isinstance(error, socket.gaierror):  # its numbers are of another kind
        return error.errno == socket.EAI_MEMORY
    if not isinstance(error, OSError):
        return isinstance(error, MemoryError)
    if error.errno in _USED_UP:
        return True
    if error.errno == errno.EADDRNOTAVAIL and not _TO_IPV6.search(str(error)):  # no port is left
        return True
    return error.errno in _NO_ROUTE and not has_route()


def has_route() -> bool:
    """Whether this machine has a way to the public network at all. Without one every host is out of reach; with one it
    is only this host. A host with IPv6 alone is out of reach of a machine with IPv4 alone. Nothing is sent."""
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 80))
            return True
    return False


def _broke_off(error: Exception, causes: list[BaseException]) -> bool:
    """Whether the connection failed or ended early, and what came until then was HTTP."""
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        return not any(isinstance(cause, HttpProcessingError) for cause in causes)
    if isinstance(error, aiohttp.ClientPayloadError):
        last = causes[-1]
        return isinstance(last, ContentLengthError | OSError) or "Not enough data" in str(last)
    return False


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes. aiohttp keeps the cause of a connector's error in `os_error`."""
    seen: BaseException | None = error
    for _ in range(8):
        if seen is None:
            return
        yield seen
        seen = getattr(seen, "os_error", None) or seen.__cause__


def _words(error: BaseException) -> str:
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server closed the connection"
    text = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)
    return str(text) if text else type(error).__name__
