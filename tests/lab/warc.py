"""Small recorded webs on disk, written with warcio so that our reader is tried on another library's files."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


def write_warc(file: Path, pages: Mapping[str, str], headers: Mapping[str, str] | None = None) -> None:
    """One response record a page; `headers` are sent with each."""
    sent = list({"Content-Type": "text/html; charset=utf-8", **(headers or {})}.items())
    with file.open("wb") as stream:
        writer = WARCWriter(stream, gzip=True)
        for url, body in pages.items():
            answer = StatusAndHeaders("200 OK", sent, protocol="HTTP/1.1")
            writer.write_record(
                writer.create_warc_record(url, "response", payload=BytesIO(body.encode()), http_headers=answer)
            )


def write_web(folder: Path, pages: Mapping[str, tuple[str, str]], **tables: str) -> Path:
    """A web of {url: (label, html)}, with further tables such as aliases="…" by name."""
    folder.mkdir(parents=True, exist_ok=True)
    write_warc(folder / "pages.warc.gz", {url: body for url, (_, body) in pages.items()})
    lines = ["url\tlabel", *(f"{url}\t{label}" for url, (label, _) in pages.items())]
    (folder / "labels.tsv").write_text("\n".join(lines) + "\n")
    for name, text in tables.items():
        (folder / f"{name}.tsv").write_text(text)
    return folder
