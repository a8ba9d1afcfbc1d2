"""Bodies of answers: bombs, bodies without end, slow ones, cut ones, and lengths and codings that are wrong."""

from __future__ import annotations

import asyncio
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from forager_lab.webs.hostile.heads import CHUNKED, OK
from forager_lab.webs.hostile.kinds import (
    TRIES,
    Call,
    Fixed,
    Reply,
    Wanted,
    a_miss,
    a_page,
    answer,
    drip,
    hostile,
    html,
    page,
    raw,
)

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdCompressor
else:
    from backports.zstd import ZstdCompressor

BOMB = 100  # megabytes that a bomb becomes
_START = b"<!doctype html><title>bomb</title><p>"
_MEGABYTE = b"0" * 1_000_000


# ---- bombs ----------------------------------------------------------------------------------------------------------


def _exploding() -> Iterator[bytes]:
    yield _START
    for _ in range(BOMB):
        yield _MEGABYTE


def _gzipped(pieces: Iterator[bytes], bits: int = 31) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return b"".join([*(packer.compress(piece) for piece in pieces), packer.flush()])


def _zstd() -> bytes:
    packer = ZstdCompressor(level=1)
    return b"".join([*(packer.compress(piece) for piece in _exploding()), packer.flush()])


def _brotli() -> bytes:
    if not find_spec("brotli"):
        return b"x" * 20_000_000  # then it is not offered, and not decoded; the body itself is too large
    packer = import_module("brotli").Compressor(quality=1)
    pieces = [packer.process(piece) for piece in _exploding()]
    return b"".join([*pieces, packer.finish()])


@cache
def gzip_bomb() -> bytes:
    return _gzipped(_exploding())


_BOMBS: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "bomb-gzip": ("gzip", "gzip", gzip_bomb),
    "bomb-deflate": ("deflate", "deflate", lambda: _gzipped(_exploding(), 15)),
    "bomb-raw-deflate": ("deflate without its head", "deflate", lambda: _gzipped(_exploding(), -15)),
    "bomb-br": ("br", "br", _brotli),
    "bomb-zstd": ("zstd", "zstd", _zstd),
    "bomb-twice": ("gzip in gzip", "gzip, gzip", lambda: _gzipped(iter([gzip_bomb()]))),
    "bomb-mixed": ("deflate in gzip in deflate", "deflate, gzip, deflate", lambda: _mixed()),
}


def _mixed() -> bytes:
    return _gzipped(iter([_gzipped(iter([_gzipped(_exploding(), 15)]))]), 15)


for _name, (_how, _coding, _make) in _BOMBS.items():
    _act = Fixed(_make, f"Content-Encoding: {_coding}")
    hostile(_name, f"{BOMB} MB that are little as {_how}", a_miss("too-large"), group=__name__)(_act)


def _members() -> bytes:
    """A page, then empty gzip members."""
    return _gzipped(iter([html("bomb-members.test/")])) + _gzipped(iter([b""])) * 100_000


hostile("bomb-members", "a page, then 100,000 empty gzip members", a_page(), group=__name__)(
    Fixed(_members, "Content-Encoding: gzip")
)


# ---- without end ----------------------------------------------------------------------------------------------------


hostile("body-endless", "a body without end", a_miss("too-large"), group=__name__)(
    drip(raw(OK, _START), b"and on " * 10_000, 0.0)
)
hostile("chunks-endless", "chunks without end", a_miss("too-large"), group=__name__)(
    drip(raw(CHUNKED), b"ffff\r\n%s\r\n" % (b"x" * 0xFFFF), 0.0)
)
hostile("chunks-tiny", "a body without end, in chunks of a byte", a_miss("timeout", 1 + TRIES), group=__name__)(
    drip(raw(CHUNKED), b"1\r\nx\r\n" * 500, 0.05)
)
hostile("length-huge", "a body of five gigabytes, as it says", a_miss("too-large"), group=__name__)(
    drip(raw(f"{OK}\nContent-Length: 5000000000"))
)


# ---- slow -----------------------------------------------------------------------------------------------------------


hostile("body-drip", "a byte of the body every 0.2 seconds", a_miss("timeout", 1 + TRIES), group=__name__)(
    drip(raw(OK, _START), b"x", 0.2)
)
hostile("body-stall", "half of a body, then silence", a_miss("timeout", 1 + TRIES), group=__name__)(
    drip(raw(f"{OK}\nContent-Length: 20000", b"x" * 10_000))
)
hostile("error-stall", "an error with a body that never comes", a_miss("not-found"), group=__name__)(
    drip(raw("HTTP/1.1 404 Not Found\nContent-Length: 20000"))
)


@hostile(
    "body-room",
    "16 hosts that send 4 MB each and then nothing more",
    Wanted(outcome="miss", reason="timeout", requests=16 * (1 + TRIES)),
    seeds=[f"http://h{n}.body-room.test/" for n in range(16)],
    heavy=True,
)
async def body_room(call: Call) -> Reply:
    await call.send(raw(f"{OK}\nContent-Length: 9000000"), *[b"x" * 100_000] * 40)
    await call.gone()
    return None


# ---- cut, or with a wrong length ------------------------------------------------------------------------------------


@hostile("length-short", "a page that is longer than its length says", a_page())
def length_short(call: Call) -> Reply:
    return page(call) + b"<p>and this, which is not ours"


@hostile("length-pages", "two pages as one answer", a_page())
def length_pages(call: Call) -> Reply:
    return page(call) + answer(html("of no request"))


@hostile("length-long", "a page that is shorter than its length says", a_miss("unreachable", 1 + TRIES))
async def length_long(call: Call) -> Reply:
    body = html("length-long")
    await call.send(raw(f"{OK}\nContent-Length: {len(body) + 100}", body))
    return None


@hostile("gzip-cut", "a page in gzip that is cut off", a_page())
def gzip_cut(call: Call) -> Reply:
    packed = _gzipped(iter([html("gzip-cut", words=2_000)]))
    return answer(packed[: len(packed) // 2], "Content-Encoding: gzip")


@hostile("mended", "a page that is cut off the first time, and whole the second time", a_page(3))
async def mended(call: Call) -> Reply:
    if call.count > 1:
        return page(call)
    await call.send(raw(f"{OK}\nContent-Length: 1000", b"<p>only this"))
    return None


# ---- codings and charsets -------------------------------------------------------------------------------------------


@hostile("coding-charset", "a coding that is a charset", a_page())
def coding_charset(call: Call) -> Reply:
    return page(call, headers=["Content-Encoding: utf-8"])


@hostile("coding-unknown", "a coding that nobody knows", a_page())
def coding_unknown(call: Call) -> Reply:
    return page(call, headers=["Content-Encoding: rot13"])


@hostile("charset-codec", "a charset that is a codec of Python and no charset", a_page())
def charset_codec(call: Call) -> Reply:
    return answer(html("charset-codec"), kind="text/html; charset=zlib")


@hostile("charset-wrong", "UTF-8 that is called UTF-16", a_page())
def charset_wrong(call: Call) -> Reply:
    return answer(html("charset-wrong"), kind="text/html; charset=utf-16")


@hostile("type-missing", "a page without a type", a_page())
def type_missing(call: Call) -> Reply:
    body = html("type-missing")
    return raw(f"HTTP/1.1 200 OK\nContent-Length: {len(body)}", body)


@hostile("type-film", "an endless film", a_miss("not-html"))
async def type_film(call: Call) -> Reply:
    await call.send(raw("HTTP/1.1 200 OK\nContent-Type: video/mp4"))
    while True:
        await call.send(b"\0" * 100_000)
        await asyncio.sleep(0)
