"""Files that a server calls HTML are refused; pages in any charset, and pages with slips, are read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import struct
import zlib

import pytest

from forager.types import Failure, Fetch, Page, Reason, Url
from forager.web.page import parse
from forager.web.page.decode import _CODECS

HERE = Url("http://example.org/")
LATIN = "Wenn Ägypten über Öl müde wird, fühlt's: «café à la crème», ŕúžový €."
CYRILLIC = "Съешь же ещё этих мягких французских булок, да выпей чаю. Привет, мир: «Ёлка»."
SAMPLES = {
    "utf-16-le utf-16-be": LATIN,
    "utf-8 gb18030": "Wörter, слова, λέξεις, 文字, ことば, 낱말, ערב, كلمة.",
    "cp1252 cp1254 cp1257 cp1258 iso8859-15 iso8859-14 iso8859-3 iso8859-4 iso8859-10 iso8859-13": LATIN,
    "mac-roman iso8859-16 iso8859-2 cp1250": LATIN,
    "cp1251 koi8-r koi8-u mac-cyrillic cp866 iso8859-5": CYRILLIC,
    "cp1253 iso8859-7": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Καλημέρα κόσμε.",
    "cp1255 iso8859-8": "דג סקרן שט בים מאוכזב ולפתע מצא חברה. שלום עולם.",
    "cp1256 iso8859-6": "نص حكيم له سر قاطع وذو شأن عظيم مكتوب. مرحبا بالعالم.",
    "cp874": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน",
    "big5hkscs": "天地玄黃，宇宙洪荒。日月盈昃，辰宿列張。寒來暑往，秋收冬藏。",
    "cp932 euc_jp iso2022_jp": "いろはにほへと、ちりぬるを。私は東京に住んでいます。カタカナ、ひらがな、漢字。",
    "cp949": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
}
PAGES = {codec: sample for codecs, sample in SAMPLES.items() for codec in codecs.split()}


def answer_to(body: bytes, content_type: str = "text/html", charset: str = "") -> Page | Failure:
    return parse(Fetch(HERE, body, content_type, charset))


def test_there_is_a_sample_for_every_codec() -> None:
    assert set(_CODECS.values()) <= set(PAGES)


@pytest.mark.parametrize(("codec", "kind"), [(codec, kind) for codec in PAGES for kind in ("text/html", "text/plain")])
def test_pages_in_every_charset_are_pages(codec: str, kind: str) -> None:
    """Declared, not declared and wrongly declared; short and long."""
    label = next(label for label, named in _CODECS.items() if named == codec)
    for times in (1, 300):
        markup = f"<html><title>T</title><p>{PAGES[codec] * times}" if kind == "text/html" else PAGES[codec] * times
        body = markup.encode(codec, "ignore")
        declared = answer_to(body, kind, label)
        assert isinstance(declared, Page)
        assert declared.leaves[-1] == body.decode(codec).rpartition("<p>")[2].strip()
        for charset in ("", "utf-8", "iso-8859-1") if kind == "text/html" or "16" not in codec else ():
            assert isinstance(answer_to(body, kind, charset), Page)


def a_zip() -> bytes:
    return b"PK\3\4" + zlib.compress(b"x" * 1000)


FILES = {
    "pdf": b"%PDF-1.7\n%\xe2\xe3",
    "postscript": b"%!PS-Adobe",
    "rtf": b"{\\rtf1\\ansi",
    "old office": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0",
    "png": b"\x89PNG\r\n\x1a\n",
    "gif": b"GIF89a",
    "jpeg": b"\xff\xd8\xff\xe0",
    "webp": b"RIFF\x10\0\0\0WEBPVP8 ",
    "bmp": b"BM\x36\x10\0\0\0\0\0\0\x36",
    "tiff": b"II*\0\x08",
    "tiff, other end": b"MM\0*\0\0",
    "ico": b"\0\0\1\0\1\0",
    "mp4": b"\0\0\0\x18ftypmp42",
    "webm": b"\x1aE\xdf\xa3\x9f",
    "ogg": b"OggS\0\2",
    "flac": b"fLaC\0\0\0\x22",
    "mp3": b"ID3\3\0\0\0",
    "wav": b"RIFF\x10\0\0\0WAVEfmt ",
    "midi": b"MThd\0\0\0\6",
    "zip": a_zip(),
    "gzip": gzip.compress(b"x"),
    "bzip2": bz2.compress(b"x"),
    "xz": lzma.compress(b"x"),
    "zstd": b"\x28\xb5\x2f\xfd\4",
    "7z": b"7z\xbc\xaf\x27\x1c",
    "rar": b"Rar!\x1a\7\1\0",
    "tar": b"a.txt".ljust(257, b"\0") + b"ustar\x0000",
    "elf": b"\x7fELF\2\1",
    "exe": b"MZ\x90\0\3\0\0\0",
    "class": b"\xca\xfe\xba\xbe\0\0\0\x34",
    "wasm": b"\0asm\1\0\0\0",
    "woff": b"wOFF\0\1\0\0",
    "woff2": b"wOF2OTTO",
    "ttf": b"\0\1\0\0\0\x0f",
    "otf": b"OTTO\0\x0b",
    "sqlite": b"SQLite format 3\0\x10",
    "hdf5": b"\x89HDF\r\n",
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("content_type", ["text/html", "text/plain", "application/xhtml+xml"])
def test_files_that_are_called_pages(kind: str, content_type: str) -> None:
    answer = answer_to(FILES[kind] + b"<html><p>x", content_type)
    assert isinstance(answer, Failure)
    assert answer.reason == Reason.NOT_HTML


@pytest.mark.parametrize(
    "text",
    [
        "BMW builds cars.",
        "MZ is Mainz.",
        "OTTO von Bismarck",
        "The ftyp box",
        "RIFF raff and more",
        "ID3 trees",
        "PKWARE",
        "7zip",
        "BZh9",
        "PACK your bags",
        "II*a",
        "GIF89 is a year",
        "MThd",
        "wOFF",
        "FLV files",
    ],
)
def test_texts_that_begin_like_files(text: str) -> None:
    assert isinstance(answer_to(text.encode(), "text/plain"), Page)


@pytest.mark.parametrize("size", [300, 3_000, 5_000, 100_000])
@pytest.mark.parametrize("start", [b"", b"<", b"<html><p>x</p>", b"\xff\xfe", b"\xfe\xff", b"<\0"])
def test_random_bytes_are_no_page(size: int, start: bytes) -> None:
    body = start + random.Random(size).randbytes(size if len(start) != 2 else 5 * size)  # UTF-16 needs more to tell
    for content_type in ("text/html", "text/plain"):
        answer = answer_to(body, content_type)
        assert isinstance(answer, Failure)
        assert answer.reason == Reason.UNREADABLE


def test_compressed_and_structured_files_without_a_beginning_are_no_pages() -> None:
    text = b"".join(b"%d words and more words " % n for n in range(5000))
    for body in (zlib.compress(text)[2:], lzma.compress(text)[20:], struct.pack("<5000I", *range(5000))):
        answer = answer_to(b"X" + body)
        assert isinstance(answer, Failure)
        assert answer.reason == Reason.UNREADABLE


@pytest.mark.parametrize("slip", [b"\0", b"\0" * 5000, b"\1\2", b"\x1b[0m", b"\xff\xfe", b"\x0e\x0f", b"\7" * 8])
@pytest.mark.parametrize("length", [1, 500])
def test_pages_with_slips_are_pages(slip: bytes, length: int) -> None:
    page = answer_to(b"<p>" + b"Words. " * length + slip + b" <a href=/x>y</a>")
    assert isinstance(page, Page)
    assert len(page.links) == 1


@pytest.mark.parametrize("text", ["\x1b$BF|K\\8l\x1b(B " * 200, "\x1b[31mred\x1b[0m\n" * 200, "a\fb\vc\x85"])
def test_escapes_are_text(text: str) -> None:
    assert isinstance(answer_to(text.encode("latin1"), "text/plain"), Page)
    assert isinstance(answer_to(f"<pre>{text}".encode("latin1")), Page)
