"""Reading the archive: WARC records one by one, each checked by the checksum of its gzip member.

Damage is never passed on. What cannot be read raises a `DamagedError`, and a walk over a file goes on behind it.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from isal import isal_zlib

from forager.errors import ForagerError
from forager.store.damage import DamagedError

LARGEST = 1 << 28  # bytes of a record; no answer is nearly as large
PIECE = 1 << 16  # bytes that are decompressed at a time: to 64 MB at most, whatever they are
GZIP = 31  # the window bits that stand for gzip
_MAGIC = b"\x1f\x8b\x08"
_KINDS = ("response", "request", "conversion", "metadata")  # those of an answer, in this order; most have no conversion

Buffer: TypeAlias = bytes | mmap.mmap


class Member(NamedTuple):
    """One WARC record."""

    at: int  # its place in the bytes that were read
    end: int
    kind: str
    head: dict[str, str]  # its named fields
    block: bytes


@dataclass(frozen=True, slots=True, eq=False)
class ArchivedRecords:
    """The records of an answer: response, request and metadata; and what a browser made of a page, if one did."""

    at: int
    length: int
    response: Member
    request: Member
    metadata: Member
    why: dict[str, Any]  # what the metadata record says
    conversion: Member | None = None

    @property
    def url(self) -> str:
        return self.response.head["WARC-Target-URI"]

    @property
    def digest(self) -> str:
        """Of the payload, as it was noted."""
        return self.response.head["WARC-Payload-Digest"]

    @property
    def asked_at(self) -> datetime:
        return datetime.fromisoformat(self.response.head["WARC-Date"].replace("Z", "+00:00"))

    @property
    def facts(self) -> dict[str, Any]:
        """Status, seconds and kind of the answer."""
        found: dict[str, Any] = self.why["answer"]
        return found

    @property
    def beside(self) -> bool:
        """Whether it is kept beside the pages, and no row points at it: robots.txt, a sitemap, a rendered page."""
        return self.why.get("aside") is True

    def split(self) -> tuple[bytes, bytes]:
        """The head and the body of the response."""
        end = self.response.block.find(b"\r\n\r\n") + 4
        return self.response.block[:end], self.response.block[end:]


class LostStretch(NamedTuple):
    """Bytes of a file that hold no whole answer."""

    at: int
    length: int
    urls: tuple[str, ...]  # that are named in it
    why: str

    def joined(self, after: LostStretch) -> LostStretch:
        """With the stretch that comes right after it."""
        urls = tuple(dict.fromkeys((*self.urls, *after.urls)))
        return LostStretch(self.at, after.at + after.length - self.at, urls, self.why)


def member_at(data: Buffer, at: int) -> Member:
    """The record that begins at this byte."""
    record, end = _inflate(data, at)
    head, between, block = record.partition(b"\r\n\r\n")
    first, *lines = head.decode("utf-8", "replace").split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    length = fields.get("Content-Length", "")
    if not first.startswith("WARC/") or not between or block[-4:] != b"\r\n\r\n" or str(len(block) - 4) != length:
        raise DamagedError("no WARC record")
    return Member(at, end, fields.get("WARC-Type", ""), fields, block[:-4])


def _inflate(data: Buffer, at: int) -> tuple[bytes, int]:
    """The bytes of the gzip member that begins there, and where it ends."""
    inflate, parts, size = isal_zlib.decompressobj(GZIP), [], 0
    try:
        while not inflate.eof:
            piece = data[at : at + PIECE]
            if not piece:
                raise DamagedError("it ends too early")
            parts.append(inflate.decompress(piece))
            at, size = at + len(piece), size + len(parts[-1])
            if size > LARGEST:
                raise DamagedError("no record is as large")
    except (isal_zlib.error, EOFError, ValueError, OverflowError) as error:  # type: ignore[misc]  # a stub says less
        raise DamagedError(str(error) or "no gzip member") from None
    return b"".join(parts), at - len(inflate.unused_data)


def records_in(members: bytes) -> ArchivedRecords:
    """The records of one answer, from their bytes."""
    found: list[Member] = []
    at = 0
    while at < len(members):
        found.append(member_at(members, at))
        at = found[-1].end
    return together(found)


def together(found: list[Member]) -> ArchivedRecords:
    """The records of one answer, from the records that lie one after the other."""
    kinds = {member.kind: member for member in found}
    if tuple(kinds) not in (_KINDS, tuple(kind for kind in _KINDS if kind != "conversion")) or len(kinds) < len(found):
        raise DamagedError("not a response with its request and metadata")
    response, request, metadata = kinds["response"], kinds["request"], kinds["metadata"]
    if {_refers_to(each) for each in found[1:]} != {response.head.get("WARC-Record-ID")}:
        raise DamagedError("records of different answers")
    length = metadata.end - response.at
    given = (response.at, length, response, request, metadata, _why(metadata), kinds.get("conversion"))
    return _checked(ArchivedRecords(*given))


def _checked(records: ArchivedRecords) -> ArchivedRecords:
    """The records, if all that `ArchivedRecords` gives can be had."""
    facts = records.why.get("answer")
    try:
        whole = isinstance(facts, dict) and {"status", "seconds", "live"} <= facts.keys()
        whole = whole and bool(records.url and records.digest and records.asked_at) and bool(records.split()[0])
    except (KeyError, ValueError):
        whole = False
    if not whole:
        raise DamagedError("fields are missing")
    return records


def _why(metadata: Member) -> dict[str, Any]:
    try:
        why = json.loads(metadata.block)
    except (ValueError, RecursionError):
        why = None
    if not isinstance(why, dict):
        raise DamagedError("its metadata record is no JSON object")
    return why


# ---- walking over a file --------------------------------------------------------------------------------------------


def walk(path: Path, start: int = 0, end: int | None = None) -> Iterator[ArchivedRecords | Member | LostStretch]:
    """All that lies in a file from `start` to `end`, in order: answers, other records, and what is lost."""
    try:
        with path.open("rb") as file:
            if file.seek(0, 2) <= start:
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield from _merged(_Walk(data, start, len(data) if end is None else min(end, len(data))))
    except OSError as error:
        raise ForagerError(f"{path} cannot be read: {error.strerror or error}") from error


def _merged(
    found: Iterable[ArchivedRecords | Member | LostStretch],
) -> Iterator[ArchivedRecords | Member | LostStretch]:
    """The same, with lost stretches that touch as one."""
    lost: LostStretch | None = None
    for one in found:
        if isinstance(one, LostStretch):
            lost = one if lost is None else lost.joined(one)
            continue
        if lost is not None:
            yield lost
            lost = None
        yield one
    if lost is not None:
        yield lost


class _Walk:
    def __init__(self, data: mmap.mmap, start: int, end: int) -> None:
        self._data, self._at, self._end = data, start, end
        self._open: list[Member] = []  # the records of an answer that is not complete yet

    def __iter__(self) -> Iterator[ArchivedRecords | Member | LostStretch]:
        while self._at < self._end:
            try:
                member = member_at(self._data, self._at)
                if member.end > self._end:
                    raise DamagedError("it ends too early")
            except DamagedError as error:
                yield self._lose(self._behind(self._at), str(error))
                continue
            if self._open and not _belongs(member, self._open):
                yield self._lose(member.at, "records of this answer are missing")
            self._at = member.end
            yield from self._take(member)
        if self._open:
            yield self._lose(self._end, "records of this answer are missing")

    def _take(self, member: Member) -> Iterator[ArchivedRecords | Member | LostStretch]:
        if member.kind not in _KINDS:
            yield member
            return
        self._open.append(member)
        if member.kind == "metadata" or self._open[0].kind != "response":
            try:
                yield together(self._open)
                self._open = []
            except DamagedError as error:
                yield self._lose(member.end, str(error))

    def _behind(self, at: int) -> int:
        """Where the next record may begin."""
        found = self._data.find(_MAGIC, at + 1, self._end)
        return self._end if found < 0 else found

    def _lose(self, end: int, why: str) -> LostStretch:
        """Give up what lies before `end`, with the records that belong to it."""
        start = self._open[0].at if self._open else self._at
        urls = dict.fromkeys(member.head.get("WARC-Target-URI", "") for member in self._open)
        self._open, self._at = [], end
        return LostStretch(start, end - start, tuple(url for url in urls if url), why)


def _belongs(member: Member, found: list[Member]) -> bool:
    return member.kind in _KINDS[1:] and _refers_to(member) == found[0].head.get("WARC-Record-ID")


def _refers_to(member: Member) -> str | None:
    return member.head.get("WARC-Refers-To" if member.kind == "conversion" else "WARC-Concurrent-To")
