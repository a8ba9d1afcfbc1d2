"""The part of HTTP/1.1 that the server speaks: GET and HEAD without a body, for any Host name."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import NamedTuple

from forager_lab.webs.procedural import ProceduralWeb

LONGEST_HEAD = 16_384  # bytes; a longer one is refused
NOBODY = "-"  # stands for the host and path of a request that could not be read

_LINE = re.compile(rb"([A-Za-z-]+) ([!-~]+) HTTP/1\.([01])\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*([^\r]*)")
_NAME = re.compile(rb"([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d*)?[ \t]*")
_SCHEME = re.compile(rb"\r\nx-forwarded-proto:[ \t]*(https?)[ \t]*\r")
_CLOSE = re.compile(rb"\r\nconnection:[^\r]*\bclose\b")
_BODY = re.compile(rb"\r\n(?:content-length:[ \t]*0*[1-9]|transfer-encoding:)")
_ABSOLUTE = b"http://"


class HttpRequest(NamedTuple):
    """What the server needs of a request. A request that it refuses has the status to send, and ends the connection."""

    host: str  # in lower case, without port
    target: str  # path and query
    arrived: float  # monotonic seconds
    only_head: bool = False
    closes: bool = False
    refused: int = 0
    port: str = ""  # as the client names it, with its colon
    scheme: str = ""  # http or https if the client says so


class HttpResponse(NamedTuple):
    """The bytes to send, and how long to wait before."""

    status: int
    head: bytes  # up to the last header line; the empty line is added when it is sent
    body: bytes
    seconds: float = 0.0  # to wait before it is sent


def read_request(head: bytes, arrived: float) -> HttpRequest:
    """The request of a head, which ends with an empty line."""
    line, folded = _LINE.match(head), head.lower()
    if line is None or len(head) > LONGEST_HEAD:
        return refusal(431 if line else 400, arrived)
    method, target, minor = line.groups()
    named = _HOST.findall(folded, line.end() - 2)
    host = _NAME.fullmatch(named[0]) if len(named) == 1 else None
    if target[:7].lower() == _ABSOLUTE:  # the form used with a proxy; its host name counts, not the one of the header
        name, slash, path = target[7:].partition(b"/")
        host, target = _NAME.fullmatch(name.lower()), slash + path or b"/"
    if method not in (b"GET", b"HEAD"):
        return refusal(405, arrived)
    if host is None or target[:1] != b"/" or _BODY.search(folded):
        return refusal(400, arrived)
    closes = minor == b"0" or _CLOSE.search(folded) is not None
    said, port = _SCHEME.search(folded), (host[2] or b"").decode()
    scheme = said[1].decode() if said else ""
    return HttpRequest(host[1].decode(), target.decode(), arrived, method == b"HEAD", closes, port=port, scheme=scheme)


def refusal(status: int, arrived: float) -> HttpRequest:
    """A request that will get an error status, and is the last of its connection."""
    return HttpRequest(NOBODY, NOBODY, arrived, closes=True, refused=status)


def hopeless(part: bytes) -> bool:
    """True if these first bytes cannot become a head: they are too long, or another protocol, such as TLS."""
    return len(part) > LONGEST_HEAD or not (part[:1].isalpha() or part in (b"", b"\r"))


class Responder:
    """Makes the response to each request. With `keep`, all pages of the web are made at the start and kept."""

    def __init__(self, web: ProceduralWeb, keep: bool = False, most: int = 512 << 20) -> None:
        self._web = web
        self._kept: dict[tuple[str, str], HttpResponse] = {}
        if keep:
            self._make_pages(most)

    def _make_pages(self, room: int) -> None:
        for url, _ in self._web.labels():
            host, slash, path = url.removeprefix("http://").partition("/")
            response = self._made(host, slash + path)
            room -= len(response.body)
            if room < 0:
                return
            self._kept[host, slash + path] = response

    def to(self, request: HttpRequest) -> HttpResponse:
        """The response to a request."""
        if request.refused:
            return error(request.refused)
        return self._kept.get((request.host, request.target)) or self._made(request.host, request.target)

    def _made(self, host: str, target: str) -> HttpResponse:
        """For a name that is no host of this web 421 (misdirected), because 404 would mean a missing page."""
        status, headers, body, seconds = self._web.respond(f"http://{host}{target}")
        return HttpResponse(status, head(status, headers, body), body, seconds) if status else error(421)


def error(status: int) -> HttpResponse:
    """The response with an error status."""
    headers = {"content-type": "text/plain; charset=utf-8"} | ({"allow": "GET, HEAD"} if status == 405 else {})
    body = f"{HTTPStatus(status).phrase}\n".encode()
    return HttpResponse(status, head(status, headers, body), body)


def head(status: int, headers: dict[str, str], body: bytes) -> bytes:
    """Status line and headers. No date and no server name: the same request always gets the same bytes."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "".join(f"{line}\r\n" for line in [*lines, f"content-length: {len(body)}"]).encode()


def as_sent(request: HttpRequest, response: HttpResponse) -> bytes:
    """The bytes of a response as they are sent for this request."""
    end = b"connection: close\r\n\r\n" if request.closes else b"\r\n"
    return response.head + end if request.only_head else b"".join((response.head, end, response.body))
