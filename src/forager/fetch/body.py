"""The body of an answer: read and decoded in pieces, up to a limit, in memory that all bodies share.

A kilobyte can decompress to a gigabyte, and a coding can be applied twice. So every layer counts what it gives out,
stops at the limit, and asks its decompressor for small pieces only.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Protocol, Self

PIECE = 65_536  # bytes asked of a decompressor at once
MOST_CODINGS = 3
MOST_MEMBERS = 1000  # of a gzip stream; an empty member has 20 bytes and takes as long to set up as a page
GZIP = b"\x1f\x8b"
_BROTLI: Any = import_module("brotli") if find_spec("brotli") else None
if _BROTLI and not hasattr(_BROTLI.Decompressor, "can_accept_more_data"):
    _BROTLI = None  # before version 1.2 it has no limit
ACCEPT_ENCODING = "gzip, deflate, br" if _BROTLI else "gzip, deflate"


class TooLargeError(Exception):
    """More bytes than the limit, before or after decompression."""


class BadCodingError(Exception):
    """The body is not what its Content-Encoding says."""


class ByteSource(Protocol):
    """A body is read from this. aiohttp's stream is one."""

    async def readany(self) -> bytes:
        """The bytes that have come since the last call; b"" at the end."""


class BodyMemory:
    """Memory for all bodies that are being read: at most `size` bytes.

    A reader that would go beyond waits, unless it began before all others. So somebody always goes on, and many large
    bodies slow the reading down instead of filling the memory.
    """

    def __init__(self, size: int) -> None:
        self.size, self.taken = size, 0
        self.readers: dict[MemoryShare, None] = {}  # in the order in which they began
        self.freed = asyncio.Event()

    def share(self) -> MemoryShare:
        """`with memory.share() as share: await share.take(n)`. At the end the share gives back what it took."""
        return MemoryShare(self)


class MemoryShare:
    """The bytes that one reader holds."""

    __slots__ = ("_held", "_memory")

    def __init__(self, memory: BodyMemory) -> None:
        self._memory, self._held = memory, 0

    def __enter__(self) -> Self:
        self._memory.readers[self] = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self._memory.readers[self]
        self._memory.taken -= self._held
        self._memory.freed.set()

    def fits(self, count: int) -> bool:
        return self._memory.taken + count <= self._memory.size or next(iter(self._memory.readers)) is self

    def took(self, count: int) -> bool:
        """Take so many bytes now if they fit, and say whether they did."""
        if not self.fits(count):
            return False
        self._held += count
        self._memory.taken += count
        return True

    async def take(self, count: int) -> None:
        """Take so many bytes as soon as they fit."""
        while not self.took(count):
            self._memory.freed.clear()
            await self._memory.freed.wait()


async def read_body(source: ByteSource, encoding: str, largest: int, share: MemoryShare, *, cut: bool = False) -> bytes:
    """A whole body, decoded, in its share of the memory. TooLargeError if it is larger than the limit; with `cut` its
    beginning is given instead."""
    layers = [CodingLayer(maker(), largest) for maker in _decoders(encoding)]
    pieces: list[bytes] = []
    size = received = 0
    try:
        while chunk := await source.readany():
            received += len(chunk)  # what follows the end of a compressed stream is counted nowhere else
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


def _through(chunk: bytes, layers: list[CodingLayer]) -> Iterator[bytes]:
    if not layers:
        yield chunk
        return
    for piece in layers[0].feed(chunk):
        yield from _through(piece, layers[1:])


class Decoder(Protocol):
    """Undoes one content coding."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """All that can be decoded so far, in pieces."""


class CodingLayer:
    """One content coding with its own count, because the next layer may give out less than this one."""

    def __init__(self, decoder: Decoder, largest: int) -> None:
        self._decoder, self._left = decoder, largest

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        for piece in self._decoder.feed(chunk):
            self._left -= len(piece)
            yield piece
            if self._left < 0:
                raise TooLargeError


class ZlibDecoder:
    """Decodes gzip, also with several members, and deflate, with or without the zlib header that it should have.

    A stream that breaks off gives what it has, as in browsers. Bytes after the last member are ignored.
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
                if not chunk and len(piece) < PIECE:  # after a full piece there may be more without new input
                    return
        except zlib.error as error:
            raise BadCodingError(str(error)) from None

    def _next_member(self, rest: bytes) -> bool:
        """Begin another member with the rest. False if there is no rest yet, or the rest is no member."""
        self._ended = bool(rest) and not (self._members_left and GZIP.startswith(rest[:2]))
        if rest and not self._ended:
            self._stream, self._members_left = zlib.decompressobj(31), self._members_left - 1
        return bool(rest) and not self._ended


class BrotliDecoder:
    """Decodes br."""

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
    "gzip": lambda: ZlibDecoder(gzip=True),
    "x-gzip": lambda: ZlibDecoder(gzip=True),
    "deflate": lambda: ZlibDecoder(gzip=False),
    **({"br": BrotliDecoder} if _BROTLI else {}),
}


def _decoders(encoding: str) -> list[Callable[[], Decoder]]:
    """The decoders for a Content-Encoding, the last applied first. Names that are no coding ("utf-8", "none") are
    ignored, as in browsers."""
    if not encoding:
        return []
    names = [name.strip().lower() for name in encoding.split(",")]
    known = [_MAKERS[name] for name in reversed(names) if name in _MAKERS]
    if len(known) > MOST_CODINGS:
        raise BadCodingError(f"{len(known)} content codings, at most {MOST_CODINGS} are undone")
    return known
