"""The body of an answer, decoded piece by piece, never further than the limit.

A kilobyte can unfold to a gigabyte, and a coding can be applied twice; so every layer counts what it gives out and
stops at the limit, and asks its decompressor for small pieces only.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from forager.fetch.room import Share

PIECE = 65_536  # bytes asked of a decompressor at once
MOST_CODINGS = 3
MOST_MEMBERS = 1000  # of a gzip stream; an empty one has 20 bytes and costs as much as a page to set up
GZIP = b"\x1f\x8b"
_BROTLI: Any = import_module("brotli") if find_spec("brotli") else None
if _BROTLI and not hasattr(_BROTLI.Decompressor, "can_accept_more_data"):
    _BROTLI = None  # before 1.2 it could not be told where to stop
ACCEPT_ENCODING = "gzip, deflate, br" if _BROTLI else "gzip, deflate"


class TooLargeError(Exception):
    """More bytes than the limit, before or after decompression."""


class BadCodingError(Exception):
    """The body is not what its Content-Encoding says."""


class Source(Protocol):
    """What a body is read from; aiohttp's stream is one."""

    async def readany(self) -> bytes:
        """What has come since; b"" at the end."""


async def read_body(source: Source, encoding: str, largest: int, share: Share, *, cut: bool = False) -> bytes:
    """All of a body, decoded, in its share of the room. TooLargeError beyond the limit; with `cut` the start is given
    instead."""
    layers = [Layer(maker(), largest) for maker in _decoders(encoding)]
    pieces: list[bytes] = []
    size = received = 0
    try:
        while chunk := await source.readany():
            received += len(chunk)  # counted too: what follows the end of a compressed stream comes out nowhere
            if layers and received > largest:
                raise TooLargeError
            for piece in _through(chunk, layers) if layers else (chunk,):
                if not share.took(len(piece)):
                    await share.take(len(piece))
                pieces.append(piece)
                size += len(piece)
                if size > largest:
                    raise TooLargeError
    except TooLargeError:
        if not cut:
            raise
    return b"".join(pieces)[:largest]


def _through(chunk: bytes, layers: list[Layer]) -> Iterator[bytes]:
    if not layers:
        yield chunk
        return
    for piece in layers[0].feed(chunk):
        yield from _through(piece, layers[1:])


class Decoder(Protocol):
    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """What can be decoded so far, in pieces."""


class Layer:
    """One content coding, with its own count: a layer may give out much that the next one swallows."""

    def __init__(self, decoder: Decoder, largest: int) -> None:
        self._decoder, self._left = decoder, largest

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        for piece in self._decoder.feed(chunk):
            self._left -= len(piece)
            yield piece
            if self._left < 0:
                raise TooLargeError


class Zlib:
    """gzip, also of several members, or deflate, with or without the zlib header that it should have.

    A stream that breaks off gives what it has, as in browsers; what follows the last member is ignored.
    """

    def __init__(self, *, gzip: bool) -> None:
        self._members_left, self._ended = (MOST_MEMBERS if gzip else 0), False
        self._stream: Any = zlib.decompressobj(31) if gzip else None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        if self._stream is None:
            self._stream = zlib.decompressobj(15 if chunk[0] & 0x0F == 8 else -15)
        try:
            while not self._ended:
                if self._stream.eof and not self._next_member(chunk):
                    return
                piece = self._stream.decompress(chunk, PIECE)
                if piece:
                    yield piece
                chunk = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
                if not chunk and len(piece) < PIECE:  # a full piece: there may be more without new input
                    return
        except zlib.error as error:
            raise BadCodingError(str(error)) from None

    def _next_member(self, rest: bytes) -> bool:
        """Begin another member with what follows; False if nothing has come yet, or nothing more will."""
        self._ended = bool(rest) and not (self._members_left and GZIP.startswith(rest[:2]))
        if rest and not self._ended:
            self._stream, self._members_left = zlib.decompressobj(31), self._members_left - 1
        return bool(rest) and not self._ended


class Brotli:
    def __init__(self) -> None:
        self._stream = _BROTLI.Decompressor()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        try:
            while not self._stream.is_finished():
                piece = self._stream.process(chunk, output_buffer_limit=PIECE)
                chunk = b""
                if piece:
                    yield piece
                elif self._stream.can_accept_more_data():
                    return
        except _BROTLI.error as error:
            raise BadCodingError(str(error)) from None


_MAKERS: dict[str, Callable[[], Decoder]] = {
    "gzip": lambda: Zlib(gzip=True),
    "x-gzip": lambda: Zlib(gzip=True),
    "deflate": lambda: Zlib(gzip=False),
    **({"br": Brotli} if _BROTLI else {}),
}


def _decoders(encoding: str) -> list[Callable[[], Decoder]]:
    """Of a Content-Encoding, the last applied first. What is no coding ("utf-8", "none") is ignored, as in browsers."""
    if not encoding:
        return []
    names = [name.strip().lower() for name in encoding.split(",")]
    known = [_MAKERS[name] for name in reversed(names) if name in _MAKERS]
    if len(known) > MOST_CODINGS:
        raise BadCodingError(f"{len(known)} content codings, at most {MOST_CODINGS} are undone")
    return known
