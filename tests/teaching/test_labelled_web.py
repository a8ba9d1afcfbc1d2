"""Reading a recorded web: what is used, what is refused, and what is told."""

from __future__ import annotations

import asyncio
import gzip
from io import BytesIO
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from forager.errors import ForagerError
from forager.fetch.replay import open_recording
from forager.teaching.labelled_web import LabelledWeb
from forager.types import Failure, Fetch, Reason, Redirect, Url
from tests.lab.warc import write_warc, write_web

PAGES = {
    "http://a.test/": ("top.Arts.Music", "<title>one</title>"),
    "http://a.test/%7Ex/": ("top.Arts", "<title>two</title>"),
    "http://b.test/y": ("top.Science,top.Arts.Music.Jazz", "<title>three</title>"),
    "http://b.test/z": ("_none", "<title>four</title>"),
}
ALIASES = "linked_url\tpage_url\nhttp://a.test/index.html\thttp://a.test/\n"


def ask(web: LabelledWeb, url: str) -> Fetch | Redirect | Failure:
    return asyncio.run(web.fetcher.fetch(Url(url)))


def test_pages_aliases_and_everything_else(tmp_path: Path) -> None:
    web = LabelledWeb(write_web(tmp_path / "w", PAGES, aliases=ALIASES))
    page = ask(web, "http://a.test/~x/")
    assert isinstance(page, Fetch)
    assert (page.body, page.content_type, page.charset) == (b"<title>two</title>", "text/html", "utf-8")
    assert ask(web, "http://a.test/index.html") == Redirect(Url("http://a.test/index.html"), Url("http://a.test/"), 301)
    missing = ask(web, "http://a.test/none")
    assert isinstance(missing, Failure)
    assert (missing.reason, missing.retry_after) == (Reason.NOT_FOUND, None)
    assert web.final(Url("http://a.test/index.html")) == "http://a.test/"


def test_a_topic_is_a_prefix_of_whole_parts_below_the_common_root(tmp_path: Path) -> None:
    truth = LabelledWeb(write_web(tmp_path / "w", PAGES)).truth
    assert truth.topics() == {"Arts": 3, "Arts.Music": 2, "Arts.Music.Jazz": 1, "Science": 1}
    assert truth.relevant("Arts.Music") == ["http://a.test/", "http://b.test/y"]
    with pytest.raises(ForagerError, match=r"no topic named 'Arts\.Mus'; nearest: Arts\.Music"):
        truth.relevant("Arts.Mus")


def test_recorded_errors_and_redirects_are_answers(tmp_path: Path) -> None:
    folder = write_web(tmp_path / "w", PAGES)
    with (folder / "more.warc.gz").open("wb") as stream:
        writer = WARCWriter(stream, gzip=True)
        for name, status, headers in (
            ("gone", "404 Not Found", [("Server", "x")]),
            ("broken", "503 Busy", [("Server", "x")]),
            ("moved", "301 Moved", [("Location", "../y#z")]),
            ("lost", "302 Found", [("Server", "x")]),
        ):
            answer = StatusAndHeaders(status, headers, protocol="HTTP/1.1")
            record = writer.create_warc_record(
                f"http://a.test/{name}", "response", payload=BytesIO(b""), http_headers=answer
            )
            writer.write_record(record)
    web = LabelledWeb(folder)
    assert ask(web, "http://a.test/moved") == Redirect(Url("http://a.test/moved"), Url("http://a.test/y"), 301)
    reasons = [getattr(ask(web, f"http://a.test/{name}"), "reason", None) for name in ("gone", "broken", "lost")]
    assert reasons == [Reason.NOT_FOUND, Reason.SERVER_ERROR, Reason.BAD_REDIRECT]


def test_a_truncated_warc_is_used_as_far_as_it_is_whole(tmp_path: Path) -> None:
    pages = {f"http://a.test/{i}": ("x", f"<p>{'word ' * 200}{i * 7919}</p>") for i in range(20)}
    folder = write_web(tmp_path / "w", pages)
    file = folder / "pages.warc.gz"
    whole = file.read_bytes()
    for cut in range(1, 120, 7):  # in the last record's body, its header, the gzip header of it
        file.write_bytes(whole[: len(whole) - cut])
        web = LabelledWeb(folder)
        assert 18 <= len(web.truth.labels) <= 20
        if len(web.truth.labels) < 20:
            assert any("left out" in loss for loss in web.losses)
        bodies = [ask(web, url) for url in web.truth.labels]
        assert all(isinstance(body, Fetch) and b"</p>" in body.body for body in bodies)
    assert any("cut off: 19 whole records used, 1 lost" in loss for loss in LabelledWeb(folder).losses)


def test_a_broken_member_is_told(tmp_path: Path) -> None:
    pages = {f"http://a.test/{i}": ("x", f"<p>{'word ' * 200}{i * 7919}</p>") for i in range(20)}
    folder = write_web(tmp_path / "w", pages)
    file = folder / "pages.warc.gz"
    spoilt = bytearray(file.read_bytes())
    middle = len(spoilt) // 2
    spoilt[middle : middle + 60] = b"\x55" * 60
    file.write_bytes(spoilt)
    recording = open_recording(folder)
    assert 5 < len(recording.fetcher.places) < 15
    assert "cannot be read beyond record" in recording.losses[0]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / "labels.tsv").unlink(), "no labels.tsv"),
        (lambda f: (f / "pages.warc.gz").unlink(), r"no \*.warc.gz here"),
        (lambda f: (f / "labels.tsv").write_text(""), "labels.tsv is empty"),
        (
            lambda f: (f / "labels.tsv").write_text("url\tkind\nhttp://a.test/\tx\n"),
            "no column named label or subjects",
        ),
        (lambda f: (f / "labels.tsv").write_text("url\tlabel\nhttp://a.test/\n"), "line 2: 1 columns where 2"),
        (
            lambda f: (f / "labels.tsv").write_text("url\tlabel\nhttp://a.test/~x/\tx\nhttp://a.test/%7ex/\tx\n"),
            "are the same URL",
        ),
        (lambda f: (f / "pages.warc.gz").write_bytes(b"no gzip at all"), "no response record"),
    ],
)
def test_what_is_refused_is_said_in_one_line(tmp_path: Path, spoil: object, message: str) -> None:
    folder = write_web(tmp_path / "w", PAGES)
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(ForagerError, match=message) as caught:
        LabelledWeb(folder)
    assert "\n" not in str(caught.value)


def test_labels_without_a_page_are_told(tmp_path: Path) -> None:
    folder = write_web(tmp_path / "w", PAGES)
    with (folder / "labels.tsv").open("a") as lines:
        lines.write("http://c.test/\tx\nftp://c.test/\tx\n")
    web = LabelledWeb(folder)
    assert len(web.truth.labels) == 4
    assert web.losses == [
        "1 labels left out: their URL is not http or https",
        "1 labels left out: their page is not recorded",
    ]


def test_uncompressed_warc_is_read_too(tmp_path: Path) -> None:
    folder = write_web(tmp_path / "w", PAGES)
    (folder / "pages.warc.gz").unlink()
    write_warc(tmp_path / "x.warc.gz", {url: body for url, (_, body) in PAGES.items()})
    (folder / "pages.warc").write_bytes(gzip.decompress((tmp_path / "x.warc.gz").read_bytes()))
    assert len(LabelledWeb(folder).truth.labels) == 4
