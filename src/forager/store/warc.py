"""The archive in WARC 1.1. Each answer has three records: response, request and metadata, each its own gzip member.

We write the records ourselves and compress them with isal at level 1: 0.1 ms for a page of 43 KB, a third of what zlib
takes at its fastest (`python -m bench.store`). Every record can be read by its offset, without those before it.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b32encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha1
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

from isal import igzip_lib

from forager.store.flat import FlatFile
from forager.store.members import ArchivedRecords, records_in
from forager.store.records import Record, stamp
from forager.types import Answer, Exchange, Fetch, Url

Packed: TypeAlias = tuple[bytes, str]  # the gzip members of an answer, and the digest of its payload

FOLDER = "warc"
ROTATE = 1_000_000_000
LEVEL = 1
SHORT = 1_500  # bytes; shorter records have level 0: a fifth of the time, a third more bytes
_NAME = re.compile(r"forager-(\d{5,})\.warc\.gz")


@dataclass(frozen=True, slots=True)
class ArchivedAnswer:
    """Where the records of an answer are: together in one file, the response first."""

    file: int
    at: int
    length: int
    digest: str  # of the payload


def name(number: int) -> str:
    """The path of a WARC file within its project."""
    return f"{FOLDER}/forager-{number:05}.warc.gz"


def digest(payload: bytes) -> str:
    """The checksum of a payload, as WARC writes it."""
    return "sha1:" + b32encode(sha1(payload).digest()).decode()


def is_there(folder: Path) -> bool:
    """Whether a project has an archive with anything in it."""
    return any(path.stat().st_size for path in (folder / FOLDER).glob("*.warc.gz"))


class WarcFiles:
    """The archive of a project: files that are filled one after the other, up to about `rotate` bytes each.

    Invariant: only the last file, and files that were begun since the last `accept`, have anything queued.
    """

    def __init__(self, folder: Path, committed: Mapping[str, int], *, project: UUID, rotate: int = ROTATE) -> None:
        self._folder, self._project, self._rotate = folder, project, rotate
        self.software = "forager"
        self._number = max(filter(None, map(number_of, committed)), default=0)
        self._open: list[FlatFile] = []
        if self._number:
            self._open.append(FlatFile(folder / name(self._number), committed[name(self._number)]))

    @property
    def end(self) -> tuple[int, int]:
        """Number and accepted length of the last file."""
        return (self._number, self._open[-1].committed) if self._open else (0, 0)

    def packing(self, record: Record) -> Callable[[], Packed | None]:
        """What makes the WARC records of an answer. Any thread may call it."""
        return partial(pack, record, self._project)

    def queue(self, record: Record, packed: Packed | None) -> ArchivedAnswer | None:
        """Queue the WARC records of an answer. None if there is nothing to keep."""
        if packed is None:
            return None
        members, summed = packed
        file = self._current(record.asked_at)
        at = file.queue(members)
        return ArchivedAnswer(self._number, at, len(members), summed)

    def packing_beside(self, answer: Answer, why: str, at: datetime) -> Callable[[], Packed | None]:
        """What makes the WARC records of an answer that belongs to no record of the crawl. Any thread may call it."""
        return partial(_packed, answer, {"aside": True, "why": why}, f"{why} {answer.url}", at, self._project)

    def queue_beside(self, packed: Packed | None, at: datetime) -> None:
        """Queue the WARC records of an answer that belongs to no record of the crawl."""
        if packed is not None:
            self._current(at).queue(packed[0])

    def _current(self, now: datetime) -> FlatFile:
        if not self._open or self._open[-1].end >= self._rotate:
            file = FlatFile(self._folder / name(self._number + 1), 0)
            file.queue(warcinfo(file.path.name, self._project, self.software, now))
            self._open.append(file)
            self._number += 1
        return self._open[-1]

    def write(self, *, sync: bool) -> None:
        for file in self._open:
            file.write(sync=sync)
        if sync and any(file.committed == 0 for file in self._open):
            sync_folder(self._folder / FOLDER)

    def accept(self) -> None:
        for file in self._open:
            file.accept()
        for file in self._open[:-1]:
            file.close()
        self._open = self._open[-1:]

    def cut(self) -> None:
        for file in self._open:
            file.cut()

    def lengths(self) -> list[tuple[str, int]]:
        """The name and the new length of each file that has something queued."""
        return [(f"{FOLDER}/{file.path.name}", file.end) for file in self._open]

    def close(self) -> None:
        for file in self._open:
            file.close()


def number_of(file: str) -> int | None:
    """The number of a WARC file, from its path within the project. None if it is no such file."""
    match = _NAME.fullmatch(file.removeprefix(f"{FOLDER}/"))
    return int(match[1]) if match and file.startswith(FOLDER) else None


def sync_folder(folder: Path) -> None:
    """Bring the names of new files to the disk: without it a power cut loses a file whose bytes are safe."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


# ---- writing --------------------------------------------------------------------------------------------------------


def warcinfo(file: str, project: UUID, software: str, now: datetime) -> bytes:
    """The first record of a file: who wrote it."""
    fields = f"software: {software}\r\nformat: WARC File Format 1.1\r\nisPartOf: {project}\r\n"
    fields += "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
    head = f"WARC-Filename: {file}\r\nContent-Type: application/warc-fields\r\n"
    return _member("warcinfo", _urn(project, file), _date(now), head, fields.encode())


def pack(record: Record, project: UUID) -> Packed | None:
    """The gzip members for one answer, and the digest of its payload. The same record gives the same bytes.
    None if there is nothing to keep."""
    return _packed(record.answer, record.why, str(record.seq), record.asked_at, project)


def _packed(
    answer: Answer | None, why: Mapping[str, Any], name: str, asked_at: datetime, project: UUID
) -> tuple[bytes, str] | None:
    exchange = _exchange(answer)
    if answer is None or exchange is None:
        return None
    body = answer.body if isinstance(answer, Fetch) else b""
    cut = "" if isinstance(answer, Fetch) else _CUT
    summed, at = digest(body), _date(asked_at)
    urn = _urn(project, f"{name} {at} response")  # a project put back from a copy may give a number twice
    target = f"WARC-Target-URI: {answer.url}\r\n"
    place = f"{target}WARC-IP-Address: {exchange.address}\r\n" if exchange.address else target
    response = f"{place}WARC-Payload-Digest: {summed}\r\n{_HTTP_RESPONSE}{cut}"
    beside = f"WARC-Concurrent-To: {urn}\r\n"
    ids = [_urn(project, f"{urn} {kind}") for kind in ("request", "metadata")]
    shown = answer.rendered if isinstance(answer, Fetch) else None
    reasons = _json({**why, "answer": _facts(answer)})
    return (
        _member("response", urn, at, response, exchange.response, body)
        + _member("request", ids[0], at, place + beside + _HTTP_REQUEST, exchange.request)
        + (b"" if shown is None else _conversion(project, urn, at, target, shown))
        + _member("metadata", ids[1], at, target + beside + _JSON, reasons)
    ), summed


def _conversion(project: UUID, urn: str, at: str, target: str, shown: bytes) -> bytes:
    """What a browser made of a page."""
    head = f"{target}WARC-Refers-To: {urn}\r\nContent-Type: text/html; charset=utf-8\r\n"
    return _member("conversion", _urn(project, f"{urn} conversion"), at, head, shown)


_HTTP_RESPONSE = "Content-Type: application/http; msgtype=response\r\n"
_HTTP_REQUEST = "Content-Type: application/http; msgtype=request\r\n"
_JSON = "Content-Type: application/json\r\n"
_CUT = "WARC-Truncated: unspecified\r\n"  # the body of a failure is not kept
_PHRASES = {int(status): status.phrase for status in HTTPStatus}
_VARIANT = {digit: f"{int(digit, 16) & 0x3 | 0x8:x}" for digit in "0123456789abcdef"}  # UUIDs have two fixed bits here


def _urn(project: UUID, name: str) -> str:
    """The id of a record: uuid5(project, name). No UUID object is made, because that takes four times as long."""
    x = sha1(project.bytes + name.encode()).hexdigest()
    return f"<urn:uuid:{x[:8]}-{x[8:12]}-5{x[13:16]}-{_VARIANT[x[16]]}{x[17:20]}-{x[20:32]}>"


def _date(moment: datetime) -> str:
    return stamp(moment).replace("+00:00", "Z")


def _member(kind: str, urn: str, date: str, head: str, *block: bytes) -> bytes:
    """One record as a gzip member. `head` has the fields of its own, one a line."""
    first = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {urn}\r\nWARC-Date: {date}\r\n{head}"
    last = f"Content-Length: {sum(map(len, block))}\r\n\r\n"
    record = b"".join(((first + last).encode(), *block, b"\r\n\r\n"))
    return igzip_lib.compress(record, 0 if len(record) < SHORT else LEVEL, igzip_lib.COMP_GZIP)


def _exchange(answer: Answer | None) -> Exchange | None:
    """The heads as they were sent. For a page from a recorded web, heads as they might have been."""
    if not isinstance(answer, Fetch) or answer.exchange is not None:
        return answer.exchange if answer else None
    _, _, rest = answer.url.partition("://")
    host, _, path = rest.partition("/")
    return Exchange(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode(), _response_head(answer))


def _response_head(answer: Fetch) -> bytes:
    phrase, length = _PHRASES.get(answer.status, ""), len(answer.body)
    kind = answer.content_type or "application/octet-stream"
    if answer.charset:
        kind += f"; charset={answer.charset}"
    kind = " ".join(kind.split())  # in one line
    head = f"HTTP/1.1 {answer.status} {phrase}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    return head.encode("utf-8", "surrogateescape")


def _facts(answer: Answer) -> dict[str, Any]:
    """What `unpack` must know, besides the bytes, to give the answer back as it was."""
    facts: dict[str, Any] = {"status": answer.status, "seconds": answer.seconds, "live": answer.exchange is not None}
    if isinstance(answer, Fetch):
        facts |= {"content_type": answer.content_type, "charset": answer.charset}
    return facts


def _json(value: Mapping[str, Any]) -> bytes:
    """JSON that every reader accepts: without NaN and infinity, and with escapes for bytes that were no UTF-8."""
    try:
        return _encode(value).encode("utf-8", "backslashreplace")
    except ValueError:
        finite = json.loads(
            json.dumps(value, default=_plain), parse_constant=lambda name: name.replace("NaN", "") or None
        )
        return json.dumps(finite, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _plain(value: object) -> Any:
    """A value of numpy as JSON has it; any other value as text."""
    tolist = getattr(value, "tolist", None)
    return tolist() if tolist else str(value)


_encode = json.JSONEncoder(ensure_ascii=False, default=_plain, allow_nan=False).encode  # made once for all pages


# ---- reading --------------------------------------------------------------------------------------------------------


def unpack(members: bytes) -> Fetch | None:
    """The answer in the bytes of its records. None if it had no body. A `DamagedError` if they are not whole."""
    return answer_in(records_in(members))


def answer_in(records: ArchivedRecords) -> Fetch | None:
    """The answer as it came. None if it had no body."""
    facts = records.facts
    if "content_type" not in facts:
        return None
    head, body = records.split()
    exchange = Exchange(records.request.block, head, records.response.head.get("WARC-IP-Address", ""))
    return Fetch(
        Url(records.url),
        body,
        facts["content_type"],
        facts.get("charset", ""),
        facts["status"],
        facts["seconds"],
        exchange if facts["live"] else None,
        None if records.conversion is None else records.conversion.block,
    )


def is_genuine(records: ArchivedRecords, project: UUID) -> bool:
    """Whether this project has written them: only it can give these ids. A page may hold bytes that look like records.
    Projects before version 0.2 gave other ids."""
    return records.metadata.head.get("WARC-Record-ID") == _urn(
        project, f"{records.response.head.get('WARC-Record-ID')} metadata"
    )


def reasons(members: bytes) -> dict[str, Any]:
    """Why the page was fetched, and how it was judged: what the metadata record says."""
    return records_in(members).why
