"""A recorded web whose records are damaged: a fetcher never raises."""

from __future__ import annotations

import asyncio
from pathlib import Path

from forager.fetch.replay import open_recording
from forager.types import Failure, Fetch, Reason, Url

URL = Url("http://a.test/")


def response(head: bytes) -> bytes:
    block = b"HTTP/1.1 200 OK\r\n%b\r\n\r\n<p>a page" % head
    fields = [b"WARC/1.1", b"WARC-Type: response", b"WARC-Target-URI: " + URL.encode()]
    fields += [b"Content-Type: application/http", b"Content-Length: %d" % len(block)]
    return b"\r\n".join([*fields, b"", block, b"", b""])


def test_a_record_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "x.warc"
    file.write_bytes(response(b"Content-Type: text/html"))
    fetcher = open_recording(tmp_path).fetcher
    assert isinstance(asyncio.run(fetcher.fetch(URL)), Fetch)
    for content in (response(b"X: " + b"x" * 100_000), b"", None):
        file.unlink() if content is None else file.write_bytes(content)
        answer = asyncio.run(fetcher.fetch(URL))
        assert isinstance(answer, Failure)
        assert (answer.reason, answer.retry_after) == (Reason.UNREADABLE, None)
        assert answer.detail.startswith("its record in x.warc cannot be read")
        assert answer.detail.isprintable()
