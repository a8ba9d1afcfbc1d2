"""Heads of answers: malformed, endless, slow, broken off."""

from __future__ import annotations

import asyncio

from forager_lab.webs.hostile.kinds import (
    TRIES,
    Act,
    Call,
    Reply,
    a_miss,
    a_page,
    constant,
    drip,
    hostile,
    html,
    page,
    raw,
    waits,
)

OK = "HTTP/1.1 200 OK\nContent-Type: text/html"
CHUNKED = f"{OK}\nTransfer-Encoding: chunked"

NO_HTTP = {
    "head-none": ("a page without a head, as in HTTP/0.9", b"<html><body>what is a status line?</body></html>"),
    "head-garbage": ("bytes that mean nothing", bytes(range(128, 256)) * 10),
    "head-tls": ("a TLS alert on a plain port", b"\x15\x03\x01\x00\x02\x02\x28"),
    "head-ssh": ("the greeting of an SSH server", b"SSH-2.0-OpenSSH_9.6\r\n"),
    "head-status": ("a status that is no number", b"HTTP/1.1 abc OK\r\n\r\n"),
    "chunk-size": ("a chunk size that is no number", raw(CHUNKED, b"zz\r\nhello\r\n0\r\n\r\n")),
    "chunk-longer": ("a chunk that is longer than it says", raw(CHUNKED, b"2\r\nhello\r\n0\r\n\r\n")),
    "length-twice": (
        "two lengths that differ",
        raw(f"{OK}\nContent-Length: 3\nContent-Length: 5\nConnection: close", b"abcde"),
    ),
    "length-same": ("the same length twice", raw(f"{OK}\nContent-Length: 5\nContent-Length: 5", b"abcde")),
    "length-list": ("a list of lengths", raw(f"{OK}\nContent-Length: 5, 5", b"abcde")),
    "length-sign": ("a length with a sign", raw(f"{OK}\nContent-Length: +5", b"abcde")),
    "length-beyond": ("a length of thirty digits", raw(f"{OK}\nContent-Length: {'9' * 30}", b"abcde")),
    "length-words": ("a length in words", raw(f"{OK}\nContent-Length: many\nConnection: close", b"abcde")),
    "length-chunks": ("a length, and chunks", raw(f"{CHUNKED}\nContent-Length: 3", b"5\r\nhello\r\n0\r\n\r\n")),
    "chunks-length": (
        "chunks, and a length before them",
        raw(f"{OK}\nContent-Length: 3\nTransfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n"),
    ),
    "header-colon": ("a header without a colon", raw(f"{OK}\nnonsense line here", b"x")),
    "header-long": ("a header line of 200 KB", raw(f"{OK}\nX-Long: {'x' * 200_000}", b"x")),
    "header-many": ("5,000 header lines", raw(OK + "".join(f"\nX-{n}: y" for n in range(5000)), b"x")),
    "coding-gzip": ("gzip that is none", raw(f"{OK}\nContent-Encoding: gzip", b"<p>not compressed")),
    "coding-zstd": ("zstd that is none", raw(f"{OK}\nContent-Encoding: zstd", b"<p>not compressed")),
    "coding-br": ("br that is none", raw(f"{OK}\nContent-Encoding: br", b"<p>not compressed at all, no")),
    "coding-many": ("51 codings, one upon the other", raw(f"{OK}\nContent-Encoding: {'gzip,' * 50}gzip", b"x")),
    "status-101": (
        "another protocol that nobody asked for",
        raw("HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\nConnection: upgrade", b"x"),
    ),
}
for _name, (_does, _reply) in NO_HTTP.items():
    constant(_name, _does, a_miss("protocol"), _reply, __name__)

ENDLESS = {
    "endless-interim": ("interim answers without end", b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "endless-lines": ("empty lines without end", b"", b"\r\n" * 10_000),
    "endless-headers": ("header lines without end", b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n" * 50),
    "endless-header": ("a header line without end", b"HTTP/1.1 200 OK\r\nX-More: ", b"and more " * 500),
    "endless-large": ("large header lines without end", b"HTTP/1.1 200 OK\r\n", b"X-More: %s\r\n" % (b"x" * 16_000)),
    "endless-status": ("a status line without end", b"HTTP/1.1 200 ", b"OK" * 5000),
    "endless-trailers": (
        "trailers without end",
        raw(CHUNKED, b"4\r\n<p>x\r\n0\r\n"),
        b"X-More: and more\r\n" * 50,
    ),
}
for _name, (_does, _start, _piece) in ENDLESS.items():
    constant(_name, _does, a_miss("protocol"), drip(_start, _piece), __name__)

for _name, _does, _start in (
    ("chunk-extension", "a chunk extension without end", b"5;"),
    ("chunk-endless", "the size of a chunk without end", b"0"),
):
    constant(_name, _does, a_miss("timeout", 1 + TRIES), drip(raw(CHUNKED, _start), b"0" * 1000, 0.02), __name__)

constant(
    "head-slow",
    "a byte of the head every 0.2 seconds",
    waits("timeout"),
    drip(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x", 0.2),
    __name__,
)


def _then_close(sent: bytes) -> Act:
    async def act(call: Call) -> Reply:
        await call.send(sent)
        return None

    return act


BROKEN_OFF = {
    "broken-at-once": ("the connection ends before the head", waits("unreachable"), b""),
    "broken-in-head": ("the connection ends in the head", waits("unreachable"), b"HTTP/1.1 200 OK\r\nContent-Ty"),
    "broken-in-body": (
        "the connection ends in the body",
        a_miss("unreachable", 1 + TRIES),
        raw(f"{OK}\nContent-Length: 1000\nConnection: close", b"<p>only this"),
    ),
    "broken-in-chunk": (
        "the connection ends in a chunk",
        a_miss("unreachable", 1 + TRIES),
        raw(CHUNKED, b"ff\r\nhello"),
    ),
    "broken-between": (
        "the connection ends between chunks",
        a_miss("unreachable", 1 + TRIES),
        raw(CHUNKED, b"5\r\nhello\r\n"),
    ),
}
for _name, (_does, _wanted, _sent) in BROKEN_OFF.items():
    constant(_name, _does, _wanted, _then_close(_sent), __name__)


@hostile("interim", "interim answers, then a page", a_page())
def interim(call: Call) -> Reply:
    return b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + page(call)


@hostile("old-protocol", "a page in HTTP/1.0, without a length", a_page())
def old_protocol(call: Call) -> Reply:
    return raw("HTTP/1.0 200 OK\nContent-Type: text/html", html("old-protocol"))


@hostile("byte-by-byte", "a page of which each byte is a packet", a_page())
async def byte_by_byte(call: Call) -> Reply:
    for byte in page(call):
        await call.send(bytes([byte]))
        await asyncio.sleep(0.0005)
    await call.gone()
    return None


@hostile("unasked", "a page, then an answer to no request", a_page(3, pages=2))
async def unasked(call: Call) -> Reply:
    await call.send(page(call, "/next"))
    if call.path == "/":
        await asyncio.sleep(0.02)
        await call.send(page(call, "/of-no-request"))
    await call.gone()
    return None
