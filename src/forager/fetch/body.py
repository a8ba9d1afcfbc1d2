"""The body of an answer: read and decoded in pieces, up to a limit, in memory that all bodies share.

A kilobyte can decompress to a gigabyte, and a coding can be applied twice. So every layer counts what it gives out,
stops at the limit, and asks its decompressor for small pieces only.

A server can also send much, and then nothing more. So a body must come on: too slow a body ends, and it ends sooner if
others wait for the memory that it holds.
"""

from __future__ import annotations

import asyncio
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from math import inf
from types import TracebackType
from typing import Any, Protocol, Self

from forager.clock import LOOP_ROUND, Clock, WallClock

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

PIECE = 65_536  # bytes asked of a decompressor at once
TURN = 4  # pieces that are decoded before others have their turn
MOST_CODINGS = 3
MOST_MEMBERS = 1000  # of a gzip or zstd stream; an empty member has 20 bytes and takes as long to set up as a page
GZIP = b"\x1f\x8b"
ZSTD, ZSTD_SKIPPED = b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"  # how frames begin; the second after a byte 0x50 to 0x5f
ZSTD_OPTIONS: dict[int, int] = {
    DecompressionParameter.window_log_max: 23
}  # 8 MB, as RFC 9659 has it for content codings
_BROTLI: Any = import_module("brotli") if find_spec("brotli") else None
if _BROTLI and not hasattr(_BROTLI.Decompressor, "can_accept_more_data"):
    _BROTLI = None  # before version 1.2 it has no limit
ACCEPT_ENCODING = "gzip, deflate, br, zstd" if _BROTLI else "gzip, deflate, zstd"


class TooLargeError(Exception):
    """More bytes than the limit, before or after decompression."""


class BadCodingError(Exception):
    """The body is not what its Content-Encoding says."""


class StalledError(asyncio.TimeoutError):
    """The body comes too slowly."""


class ByteSource(Protocol):
    """A body is read from this. aiohttp's stream is one."""

    async def readany(self) -> bytes:
        """The bytes that have come since the last call; b"" at the end."""

    def set_exception(self, exc: BaseException) -> None:
        """Who reads, now or later, gets this error."""


class BodyMemory:
    """Memory for all bodies that are being read: at most `size` bytes.

    A host may hold a quarter of it. Bodies of more than 1/256 leave a quarter of it free, so that small ones need not
    wait for large ones. A reader that would go beyond waits. The one that has waited longest may pass, as far as its
    body goes: so somebody always goes on, and many large bodies slow the reading down instead of filling the memory.

    A body must bring `rate` bytes a second, counted over `grace` seconds. While others wait for memory, it must bring
    as much in `patience` seconds, or its reader is sent away.
    """

    def __init__(
        self, size: int, clock: Clock | None = None, *, rate: int = 1_000, grace: float = 10.0, patience: float = 2.0
    ) -> None:
        self.size, self.small, self.taken = size, size // 256, 0
        self.clock: Clock = clock or WallClock()
        self.step, self.grace, self.patience = rate * grace, grace, patience
        self.readers: dict[MemoryShare, None] = {}
        self.waiting: dict[MemoryShare, None] = {}  # in the order in which they came
        self.by_host: dict[str, int] = {}  # bytes that the readers of a host hold
        self.passing: MemoryShare | None = None
        self.freed = asyncio.Event()

    def share(self, host: str = "") -> MemoryShare:
        """`with memory.share() as share: await share.take(n)`. At the end the share gives back what it took."""
        return MemoryShare(self, host)

    def send_stalled_away(self) -> None:
        """End the readers that hold memory and do not come on, because others wait for it."""
        before = self.clock.now() - self.patience
        for share in self.readers:
            if share.came < before and share.held > self.small and share not in self.waiting and share.source:
                share.source.set_exception(StalledError("body: stalled while memory was short"))
                share.source = None


class HeldMemory:
    """Holds the memory of a body that was read, until nobody has it any more."""

    __slots__ = ("_loop", "_share")

    def __init__(self, share: MemoryShare) -> None:
        self._share, self._loop = share, asyncio.get_running_loop()

    def __del__(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._share.__exit__, None, None, None)


class MemoryShare:
    """The bytes that one reader holds, and when it came on last."""

    __slots__ = ("_host", "_kept", "_memory", "_since", "came", "held", "source")

    def __init__(self, memory: BodyMemory, host: str) -> None:
        self._memory, self._host, self.held, self._kept = memory, host, 0, False
        self.source: ByteSource | None = None  # what it reads from, until it is sent away
        self.came, self._since = inf, 0  # when the last step was done, or the first bytes came; the bytes since then

    def __enter__(self) -> Self:
        self._memory.readers[self] = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        memory = self._memory
        if self._kept:
            self._kept = False
            return
        del memory.readers[self]
        memory.taken -= self.held
        others = memory.by_host.pop(self._host, 0) - self.held
        if others:
            memory.by_host[self._host] = others
        self._let_pass()
        memory.freed.set()

    def _let_pass(self) -> None:
        if self._memory.passing is self:
            self._memory.passing = None
            self._memory.freed.set()

    def hold(self) -> HeldMemory | None:
        """At the end, keep what was taken as long as the body is there. Small bodies do not matter."""
        if self.held <= self._memory.small:
            return None
        self.source, self._kept = None, True
        held = HeldMemory(self)
        if self._memory.passing is self:  # whoever keeps many bodies gets them one after the other, but gets them
            asyncio.get_running_loop().call_later(self._memory.patience, self._let_pass)
        return held

    def receive(self, count: int) -> None:
        """Note that so many bytes have come. StalledError if they come too slowly."""
        memory, now = self._memory, self._memory.clock.now()
        self._since += count
        if self._since >= memory.step or self.came == inf:
            self.came, self._since = now, 0
        elif now - self.came > memory.grace:
            raise StalledError(f"body: fewer than {memory.step:,.0f} bytes in {memory.grace:g} seconds")

    def fits(self, count: int) -> bool:
        memory = self._memory
        if memory.passing is self:
            return True
        mine, all_taken = memory.by_host.get(self._host, 0) + count, memory.taken + count
        if mine <= memory.small:
            return all_taken <= memory.size
        return mine <= memory.size // 4 and all_taken <= memory.size - memory.size // 4

    def took(self, count: int) -> bool:
        """Take so many bytes now if they fit, and say whether they did."""
        if not self.fits(count):
            return False
        memory = self._memory
        self.held += count
        memory.taken += count
        memory.by_host[self._host] = memory.by_host.get(self._host, 0) + count
        return True

    async def take(self, count: int) -> None:
        """Take so many bytes as soon as they fit."""
        memory = self._memory
        memory.waiting[self] = None
        try:
            while not self.took(count):
                if memory.passing is None and next(iter(memory.waiting)) is self:
                    memory.passing = self
                    continue
                memory.send_stalled_away()
                memory.freed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(memory.patience / 4):
                        await memory.freed.wait()
        finally:
            del memory.waiting[self]
            self.came, self._since = memory.clock.now(), 0  # the wait was not its fault


async def read_body(source: ByteSource, encoding: str, largest: int, share: MemoryShare, *, cut: bool = False) -> bytes:
    """A whole body, decoded, in its share of the memory. TooLargeError if it is larger than the limit; with `cut` its
    beginning is given instead."""
    layers = [CodingLayer(maker(), largest) for maker in _decoders(encoding)]
    pieces: list[bytes] = []
    size = received = decoded = 0
    share.source = source
    try:
        while chunk := await source.readany():
            share.receive(len(chunk))
            received += len(chunk)  # what follows the end of a compressed stream is counted nowhere else
            if layers and received > largest:
                raise TooLargeError
            for piece in _through(chunk, layers) if layers else (chunk,):
                if layers:  # a kilobyte may become megabytes: others have their turn meanwhile
                    decoded += 1
                    if decoded % TURN == 0:
                        await LOOP_ROUND.turn()
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
    """What comes out of the last layer. A layer within that gives nothing out yet gives an empty piece."""
    if not layers:
        yield chunk
        return
    for piece in layers[0].feed(chunk):
        yield from _through(piece, layers[1:])
        if len(layers) > 1:
            yield b""


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


class ZstdDecoder:
    """Decodes zstd, also in several frames. Bytes after the last frame are ignored."""

    def __init__(self) -> None:
        self._frames_left, self._ended = MOST_MEMBERS, False
        self._stream = ZstdDecompressor(options=ZSTD_OPTIONS)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        try:
            while not self._ended:
                if self._stream.eof and not self._next_frame(chunk):
                    return
                piece = self._stream.decompress(chunk, PIECE)
                if piece:
                    yield piece
                chunk = self._stream.unused_data if self._stream.eof else b""
                if not chunk and self._stream.needs_input:
                    return
        except ZstdError as error:
            raise BadCodingError(str(error)) from None

    def _next_frame(self, rest: bytes) -> bool:
        """Begin another frame with the rest. False if there is no rest yet, or the rest is no frame."""
        skipped = rest[:1] and 0x50 <= rest[0] <= 0x5F and ZSTD_SKIPPED.startswith(rest[1:4])
        self._ended = bool(rest) and not (self._frames_left and (skipped or ZSTD.startswith(rest[:4])))
        if rest and not self._ended:
            self._stream, self._frames_left = ZstdDecompressor(options=ZSTD_OPTIONS), self._frames_left - 1
        return bool(rest) and not self._ended


_MAKERS: dict[str, Callable[[], Decoder]] = {
    "gzip": lambda: ZlibDecoder(gzip=True),
    "x-gzip": lambda: ZlibDecoder(gzip=True),
    "deflate": lambda: ZlibDecoder(gzip=False),
    "zstd": ZstdDecoder,
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
