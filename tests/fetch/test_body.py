"""Decoding stops at the limit, also if a few bytes decompress to very many."""

from __future__ import annotations

import asyncio
import gzip
import struct
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager import clock
from forager.fetch.body import (
    ACCEPT_ENCODING,
    MOST_MEMBERS,
    BadCodingError,
    BodyMemory,
    ByteSource,
    TooLargeError,
    read_body,
)
from forager.types import Reason
from tests.fetch.wire import ask, failed, fetched, raw

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

brotli = pytest.importorskip("brotli")

TEXT = b"".join(b"<p>%d words of some page " % n for n in range(20_000))


class Chunks:
    """A source of these chunks. It counts those that were taken."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks, self.taken = iter(chunks), 0

    async def readany(self) -> bytes:
        self.taken += 1
        return next(self._chunks, b"")

    def set_exception(self, exc: BaseException) -> None:
        raise AssertionError(exc)


def read(packed: bytes, encoding: str, largest: int = 10_000_000, size: int = 4096, *, cut: bool = False) -> bytes:
    chunks = [packed[at : at + size] for at in range(0, len(packed), size)]
    return asyncio.run(from_source(Chunks(chunks), encoding, largest, cut=cut))


async def from_source(source: ByteSource, encoding: str, largest: int, *, cut: bool = False) -> bytes:
    with BodyMemory(1 << 40).share() as share:
        return await read_body(source, encoding, largest, share, cut=cut)


def raw_deflate(body: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(body) + stream.flush()


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZIP ": gzip.compress,
    "deflate": zlib.compress,
    "deflate, ": raw_deflate,
    "br": lambda body: bytes(brotli.compress(body, quality=1)),
    "zstd": lambda body: zstd.compress(body),
    "identity": bytes,
    "utf-8": bytes,
    "": bytes,
    "gzip, br": lambda body: bytes(brotli.compress(gzip.compress(body), quality=1)),
    "gzip, zstd": lambda body: zstd.compress(gzip.compress(body)),
    "deflate,gzip,gzip": lambda body: gzip.compress(gzip.compress(zlib.compress(body))),
}


@pytest.mark.parametrize("size", [1, 7, 4096, 10_000_000])
@pytest.mark.parametrize("encoding", PACK)
def test_every_coding_in_chunks_of_every_size(encoding: str, size: int) -> None:
    body = TEXT if size > 7 else TEXT[:5000]
    assert read(PACK[encoding](body), encoding, size=size) == body


@given(st.binary(max_size=300_000), st.sampled_from(sorted(PACK)), st.integers(1, 100_000))
def test_any_bytes_come_back(body: bytes, encoding: str, size: int) -> None:
    assert read(PACK[encoding](body), encoding, size=size) == body


def test_what_is_offered_can_be_decoded() -> None:
    assert {name.strip() for name in ACCEPT_ENCODING.split(",")} <= PACK.keys()
    assert ACCEPT_ENCODING == "gzip, deflate, br, zstd"


@pytest.mark.parametrize("size", [1, 4096])
def test_members_of_gzip_follow_each_other_and_garbage_after_them_is_ignored(size: int) -> None:
    assert read(gzip.compress(b"one ") + gzip.compress(b"two") + b"garbage", "gzip", size=size) == b"one two"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_stream_that_breaks_off_gives_what_it_has(encoding: str) -> None:
    packed = PACK[encoding](TEXT)
    start = read(packed[: len(packed) // 2], encoding)
    assert TEXT.startswith(start)
    assert len(start) > len(TEXT) // 5  # zstd has blocks of 128 KB


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_frames_of_zstd_follow_each_other_and_garbage_after_them_is_ignored(size: int) -> None:
    skipped = b"\x53\x2a\x4d\x18" + struct.pack("<I", 5) + b"extra"
    packed = zstd.compress(b"one ") + skipped + zstd.compress(b"two") + b"garbage"
    assert read(packed, "zstd", size=size) == b"one two"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, deflate", "zstd, gzip"])
def test_what_is_not_compressed_as_said(encoding: str) -> None:
    with pytest.raises(BadCodingError):
        read(b"<p>nothing of the kind, not at all", encoding)


@pytest.mark.parametrize("encoding", sorted(PACK))
def test_the_limit_to_the_byte(encoding: str) -> None:
    packed = PACK[encoding](b"x" * 200_000)
    assert len(read(packed, encoding, 200_000)) == 200_000
    with pytest.raises(TooLargeError):
        read(packed, encoding, 199_999)
    assert read(packed, encoding, 199_999, cut=True) == b"x" * 199_999


# ---- bombs ----------------------------------------------------------------------------------------------------------


def zeros(gigabytes: int) -> bytes:
    """A raw deflate stream of so many bytes. After a full flush the same bytes mean the same again."""
    stream = zlib.compressobj(9, wbits=-15)
    megabyte = stream.compress(bytes(1_000_000)) + stream.flush(zlib.Z_FULL_FLUSH)
    return megabyte * (1000 * gigabytes)


GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
BOMBS: dict[str, Callable[[], bytes]] = {
    "deflate": lambda: zeros(2),
    "gzip": lambda: GZIP_HEAD + zeros(2),
    "br": lambda: bytes(brotli.compress(bytes(50_000_000), quality=1)),
    "zstd": lambda: zstd.compress(bytes(50_000_000)),
    "zstd ": lambda: zstd.compress(bytes(60_000)) * 1000,
    "gzip, gzip": lambda: gzip.compress(GZIP_HEAD + zeros(2)),
    "zstd, zstd": lambda: zstd.compress(zstd.compress(bytes(500_000_000))),
    "gzip, zstd": lambda: zstd.compress(GZIP_HEAD + zeros(1)),
    "zstd, br, gzip": lambda: gzip.compress(brotli.compress(zstd.compress(bytes(50_000_000)), quality=1)),
    "deflate, br": lambda: bytes(brotli.compress(zeros(1), quality=5)),
    "br, gzip": lambda: gzip.compress(bytes(brotli.compress(bytes(50_000_000), quality=1))),
}


@pytest.mark.parametrize("encoding", BOMBS)
def test_a_bomb_is_not_unfolded(encoding: str) -> None:
    bomb, largest = BOMBS[encoding](), 3_000_000
    source = Chunks(bomb[at : at + 8192] for at in range(0, len(bomb), 8192))
    tracemalloc.start()
    with pytest.raises(TooLargeError):
        asyncio.run(from_source(source, encoding, largest))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * largest + len(bomb) * 1.1
    assert source.taken <= 10  # of up to 250: the rest is not asked for


def test_what_follows_the_end_of_a_stream_is_counted() -> None:
    source = Chunks(gzip.compress(b"<p>") if not at else bytes(65_536) for at in range(10**9))
    with pytest.raises(TooLargeError):
        asyncio.run(from_source(source, "gzip", 1_000_000))
    assert source.taken < 30


def test_a_layer_counts_what_the_next_one_swallows() -> None:
    """A gzip stream inside another. The inner one ends at once, and the zeros after it are never given out."""
    stream = zlib.compressobj(9, wbits=-15)
    start = GZIP_HEAD + stream.compress(gzip.compress(b"<p>")) + stream.flush(zlib.Z_FULL_FLUSH)
    source = Chunks(start if not at else zeros(1)[:1000] for at in range(10**9))
    with pytest.raises(TooLargeError):
        asyncio.run(from_source(source, "gzip, gzip", 1_000_000))
    assert source.taken < 10


def test_members_without_number_are_not_all_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    make = zlib.decompressobj

    def counted(wbits: int) -> object:
        opened.append(wbits)
        return make(wbits)

    monkeypatch.setattr(zlib, "decompressobj", counted)
    assert read(gzip.compress(b"") * 400_000, "gzip", size=65_536) == b""
    assert 1 < len(opened) <= MOST_MEMBERS + 1


def frame(descriptor: int, *fields: bytes) -> bytes:
    """A zstd frame with a head of our own."""
    return b"\x28\xb5\x2f\xfd" + bytes([descriptor]) + b"".join(fields)


LAST_BLOCK = b"\x01\x00\x00"  # raw, and empty
RLE_BLOCK = (0xFFFF << 3 | 1 << 1).to_bytes(3, "little") + b"x"  # 65,535 times the same byte, not the last
HEADS = {
    "a window of 2 GB": frame(0x00, bytes([21 << 3]), LAST_BLOCK),
    "a window of 16 MB": frame(0x00, bytes([14 << 3]), LAST_BLOCK),
    "a window of all bits": frame(0x00, b"\xff", LAST_BLOCK),
    "a page of 2^63 bytes": frame(0xE0, struct.pack("<Q", 2**63), RLE_BLOCK),
    "a dictionary": frame(0x03, bytes([0]), struct.pack("<I", 12345), LAST_BLOCK),
    "a reserved bit": frame(0x08, bytes([0]), LAST_BLOCK),
    "a reserved block": frame(0x00, bytes([0]), b"\x07\x00\x00"),
    "a wrong checksum": frame(0x04, bytes([0]), LAST_BLOCK, b"abcd"),
}


@pytest.mark.parametrize("name", HEADS)
def test_heads_of_zstd_that_ask_too_much(name: str) -> None:
    tracemalloc.start()
    with pytest.raises(BadCodingError):
        read(HEADS[name], "zstd")
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_a_window_of_8_mb_is_read() -> None:
    assert read(frame(0x00, bytes([13 << 3]), LAST_BLOCK), "zstd") == b""


def test_frames_without_number_are_not_all_opened() -> None:
    empty = zstd.compress(b"")
    assert read(empty * MOST_MEMBERS + zstd.compress(b"x"), "zstd", size=65_536) == b"x"
    assert read(empty * 100_000 + zstd.compress(b"x"), "zstd", size=65_536) == b""


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_over_the_wire(encoding: str) -> None:
    head = f"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Encoding: {encoding}"
    failure = failed(ask(raw(head, BOMBS[encoding]()[:900_000])), Reason.TOO_LARGE)
    assert failure.status == 200


def test_a_compressed_page_over_the_wire() -> None:
    for encoding in ("gzip", "deflate", "br", "zstd"):
        head = f"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Encoding: {encoding}"
        assert fetched(ask(raw(head, PACK[encoding](TEXT)))).body == TEXT


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip"])
def test_others_have_their_turn_while_much_is_decoded(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the layer within gives out nothing yet."""
    monkeypatch.setattr(clock, "ROUND", 0.0)
    packed = bytes(8_000_000)
    for _ in encoding.split(","):
        packed = gzip.compress(packed, 0 if "," in encoding and len(packed) > 1_000_000 else 9)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def run() -> bytes:
        task = asyncio.ensure_future(others())
        try:
            return await from_source(Chunks([packed]), encoding, 10_000_000)
        finally:
            task.cancel()

    assert len(asyncio.run(run())) == 8_000_000
    assert turns > 10
