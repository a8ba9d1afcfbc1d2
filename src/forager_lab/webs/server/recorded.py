"""A recorded web over HTTP: each answer as it was recorded, aliases as redirects, 404 for all else.

The Host header names the page, and `X-Forwarded-Proto` its scheme, because the server speaks plain HTTP only. A client
that does not send this header gets the page with http, else the one with https.
"""

from __future__ import annotations

from http.client import responses

from fastwarc.warc import ArchiveIterator

from forager.fetch.replay import RecordPlace, Replay
from forager.types import Url
from forager.web.urls import RULES, UrlRules
from forager_lab.webs.server.http import HttpRequest, HttpResponse, error, head

SCHEMES = ("http", "https")
# About the connection on which an answer came, not about the answer; the length is that of what is sent.
_NOT_SENT = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-connection", b"te", b"trailer"),
        *(b"transfer-encoding", b"upgrade", b"content-length"),
    )
)


class RecordedResponder:
    """Makes the response to each request from a recording."""

    def __init__(self, recording: Replay, rules: UrlRules = RULES) -> None:
        self._places, self._aliases, self._rules = recording.places, recording.aliases, rules

    def to(self, request: HttpRequest) -> HttpResponse:
        """The response to a request."""
        if request.refused:
            return error(request.refused)
        urls = self._meant(request)
        place = next((self._places[url] for url in urls if url in self._places), None)
        if place is not None:
            return _recorded(place)
        target = next((self._aliases[url] for url in urls if url in self._aliases), None)
        if target is None or target in urls:
            return error(404)
        return HttpResponse(301, head(301, {"location": target}, b""), b"")

    def _meant(self, request: HttpRequest) -> list[Url]:
        """The URLs that a request may mean."""
        schemes = [request.scheme] if request.scheme in SCHEMES else SCHEMES
        texts = (f"{scheme}://{request.host}{request.port}{request.target}" for scheme in schemes)
        return [url for url in map(self._rules.canonical, texts) if url is not None]


def _recorded(place: RecordPlace) -> HttpResponse:
    """The answer in a record; 500 if the record cannot be read."""
    try:
        with place.file.open("rb") as file:
            file.seek(place.offset)
            record = next(iter(ArchiveIterator(file, auto_decode="transfer")))
            body, answered = record.reader.read(), record.http_headers
    except (OSError, StopIteration):
        return error(500)
    if answered is None:  # a file without an exchange
        return HttpResponse(200, head(200, {"content-type": record.headers.get("Content-Type") or ""}, body), body)
    status = answered.status_code or 200
    kept = [(name, value) for name, value in answered.items_bytes() if name.lower() not in _NOT_SENT]
    lines = [b"HTTP/1.1 %d %s" % (status, responses.get(status, "").encode()), *(b"%s: %s" % pair for pair in kept)]
    return HttpResponse(status, b"\r\n".join((*lines, b"content-length: %d\r\n" % len(body))), body)
