"""Other tools can read the archive as WARC 1.1, and it agrees with the catalogue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from hypothesis import example, given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from forager.store import Catalogue, Store
from forager.store.warc import pack, unpack
from forager.types import Exchange, Fetch, Url
from tests.store.making import archives, record
from tests.store.test_store import filled

PROJECT = UUID(int=7)
PAGES = 40


def by_warcio(folder: Path) -> list[tuple[Any, bytes]]:
    found = []
    for path in archives(folder):
        with path.open("rb") as file:
            for one in ArchiveIterator(file, check_digests="raise"):
                found.append((one, one.content_stream().read()))  # noqa: PERF401 - read before going on
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    filled(tmp_path, PAGES, warc_size=6_000).close()
    return tmp_path


def test_warcio_reads_what_the_catalogue_has(project: Path) -> None:
    found = by_warcio(project)
    responses = [one for one, _ in found if one.rec_type == "response"]
    with Catalogue(project) as catalogue:
        entries = [entry for seq in range(PAGES) for entry in catalogue.find(f"http://h{seq % 5}.test/page-{seq}")]
    kept = {entry.seq: entry.digest for entry in entries if entry.digest}
    assert [one.rec_headers["WARC-Payload-Digest"] for one in responses] == [kept[seq] for seq in sorted(kept)]
    assert len(kept) == sum(seq % 7 != 5 for seq in range(PAGES))


def test_fastwarc_reads_the_same(project: Path) -> None:
    theirs = [(one.rec_headers["WARC-Record-ID"], one.rec_type) for one, _ in by_warcio(project)]
    ours = []
    for path in archives(project):
        for one in FastIterator(str(path)):
            ours.append((one.headers["WARC-Record-ID"], one.headers["WARC-Type"]))
            if one.headers["WARC-Type"] == "response":
                assert one.verify_payload_digest()
    assert ours == theirs
    assert len(set(ours)) == len(ours)


def test_every_record_can_be_reached_by_its_offset(project: Path) -> None:
    with Catalogue(project) as catalogue:
        for entry in catalogue.pages():
            assert entry.members is not None
            assert entry.warc is not None
            with (project / f"warc/forager-{entry.warc:05}.warc.gz").open("rb") as file:
                file.seek(entry.members.at)
                one = next(iter(ArchiveIterator(file)))
                assert (one.rec_type, one.rec_headers["WARC-Target-URI"]) == ("response", entry.url)


def test_files_are_rotated_and_each_begins_with_a_warcinfo(project: Path) -> None:
    paths = archives(project)
    assert [path.name for path in paths] == [f"forager-{number:05}.warc.gz" for number in range(1, len(paths) + 1)]
    assert len(paths) > 2
    for path in paths:
        with path.open("rb") as file:
            kinds = [one.rec_type for one in ArchiveIterator(file)]
        assert kinds[0] == "warcinfo"
        assert kinds.count("warcinfo") == 1


def test_request_and_reasons_stand_beside_the_response(project: Path) -> None:
    found = [(one.rec_type, one.rec_headers, content) for one, content in by_warcio(project)][1:4]
    (_, response, body), (_, request, _), (_, metadata, why) = found
    assert [kind for kind, _, _ in found] == ["response", "request", "metadata"]
    assert b"number0" in body
    assert response["WARC-IP-Address"] == request["WARC-IP-Address"] == "192.0.2.7"
    assert response["WARC-Date"] == "2024-05-06T07:08:09.123456Z"
    assert request["WARC-Concurrent-To"] == metadata["WARC-Concurrent-To"] == response["WARC-Record-ID"]
    told = json.loads(why)
    assert (told["score"], told["topics"], told["raw"]) == (0.5, [0.75], None)


def test_moves_and_failures_are_kept_with_their_status(project: Path) -> None:
    statuses = {
        one.rec_headers["WARC-Target-URI"]: (one.http_headers.get_statuscode(), one.rec_headers["WARC-Truncated"])
        for one, _ in by_warcio(project)
        if one.rec_type == "response"
    }
    assert statuses["http://h3.test/page-3"] == ("301", "unspecified")
    assert statuses["http://h4.test/page-4"] == ("404", "unspecified")
    assert statuses["http://h1.test/page-6"] == ("200", None)
    assert "http://h0.test/page-5" not in statuses


def test_an_archive_that_was_begun_and_is_empty_is_removed(project: Path) -> None:
    before = archives(project)
    (project / f"warc/forager-{len(before) + 1:05}.warc.gz").touch()
    (project / "warc/mine.warc.gz").write_bytes(b"not ours")
    with Store(project):
        assert archives(project) == [*before, project / "warc/mine.warc.gz"]


@pytest.mark.parametrize("live", [True, False])
def test_a_charset_that_is_no_text_is_kept(live: bool) -> None:
    """A header with bytes that are no UTF-8 has surrogates in their place."""
    exchange = Exchange(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n") if live else None
    packed = pack(record(0, answer=Fetch(Url("http://h.test/"), b"x", charset="\udcff", exchange=exchange)), PROJECT)
    assert packed
    back = unpack(packed[0])
    assert back
    assert back.charset == "\udcff"


heads = st.binary(max_size=40).map(lambda line: b"HTTP/1.1 200 OK\r\nX: " + bytes(set(line) - {10, 13}) + b"\r\n\r\n")
kinds = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@example(b"body", b"", b"", "text/html\r\n\r\n", "\r\n\r\nutf-8", 200, False)
@given(st.binary(max_size=300), heads, heads, kinds, kinds, st.integers(0, 999), st.booleans())
def test_pack_and_unpack(
    body: bytes, request: bytes, response: bytes, kind: str, charset: str, status: int, live: bool
) -> None:
    exchange = Exchange(request, response, "::1") if live else None
    fetch = Fetch(Url("http://a.test/x"), body, kind, charset, status, 0.125, exchange)
    packed = pack(record(0, answer=fetch), PROJECT)
    assert packed is not None
    assert pack(record(0, answer=fetch), PROJECT) == packed
    found = unpack(packed[0])
    assert found is not None
    assert (found.url, found.body, found.status, found.seconds) == (fetch.url, body, status, 0.125)
    assert (found.content_type, found.charset, found.exchange) == (kind, charset, exchange)
