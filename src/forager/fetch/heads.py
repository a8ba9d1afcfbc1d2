"""The heads of an exchange: what they say of a body, and how they are kept.

In an archive a head must fit the body stored with it. The body is stored decoded, so Content-Encoding and
Transfer-Encoding cannot stay, and Content-Length must be that of the decoded body; their first values are kept under
the same names with `X-Crawl-` before them, as Common Crawl does. All else is as received, order and case included.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Iterable
from typing import Any

from aiohttp import ClientResponse

from forager.types import Exchange

_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]{1,40})""", re.IGNORECASE)
_ABOUT_THE_BODY = (b"content-encoding", b"transfer-encoding", b"content-length")


class Response(ClientResponse):
    """Remembers whom it came from: when a short answer is read, its connection is back in the pool already."""

    address = ""

    def start(self, connection: Any) -> Coroutine[Any, Any, ClientResponse]:
        peer = connection.transport.get_extra_info("peername") if connection.transport else None
        self.address = str(peer[0]) if peer else ""
        return super().start(connection)


def content_type(header: str) -> str:
    """The type alone, in lower case; "" if there is none."""
    return header.partition(";")[0].strip().lower()


def charset(header: str) -> str:
    found = _CHARSET.search(header)
    return found[1] if found else ""


def location(response: ClientResponse) -> str:
    """The Location as ASCII: servers put bytes of any charset there, and a byte means its escape."""
    raw = next((value for name, value in response.raw_headers if name.lower() == b"location"), b"")
    return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw) if not raw.isascii() else raw.decode()


def exchange(response: ClientResponse, length: int) -> Exchange:
    """Both heads, for a decoded body of that length; 0 where the body is not kept."""
    info = response.request_info
    sent = "".join([f"{name}: {value}\r\n" for name, value in info.headers.items()])
    request = f"{info.method} {info.url.raw_path_qs} HTTP/1.1\r\n{sent}\r\n".encode("utf-8", "surrogateescape")
    version = response.version or (1, 1)
    line = f"HTTP/{version[0]}.{version[1]} {response.status} {response.reason or ''}"
    received = _headers(response.raw_headers, length)
    status = line.rstrip().encode("utf-8", "surrogateescape")
    return Exchange(request, status + b"\r\n" + received + b"\r\n", getattr(response, "address", ""))


def _headers(raw: Iterable[tuple[bytes, bytes]], length: int) -> bytes:
    lines = [
        b"X-Crawl-%s: %s\r\n" % line if line[0].lower() in _ABOUT_THE_BODY else b"%s: %s\r\n" % line for line in raw
    ]
    lines.append(b"Content-Length: %d\r\n" % length)
    return b"".join(lines)
