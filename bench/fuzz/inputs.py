"""Inputs by kind and number. The same number gives the same bytes.

An input is one of a few whole documents, or a chain of fragments of the language. Then it is changed some times: bits
flip, parts are cut out, repeated, or replaced by parts of another input.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TypeAlias
from uuid import UUID

from isal import igzip_lib
from tests.store.making import START, record

from forager.store.members import member_at
from forager.store.records import Record
from forager.store.warc import pack, warcinfo
from forager.types import Fetch

PROJECT = UUID(int=17)
RECORDS = 5
LARGEST = 300_000  # bytes of an input
_MOST_CHANGES = 6
_FRAGMENTS = Path(__file__).with_name("fragments")
_ODD = (
    *(b"\0", b"\xff", b"\r", b"\n", b"\r\n\r\n", b"\t", b" ", b"%", b"%00", b"%2e", b"\xc0\xaf", b"\xed\xa0\x80"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x80\xae", b"\xf0\x9f\x98\x80", "ﬃ\u0130\u212a\u1e9e".encode(), b"\x1b[31m"),
    *(b"0", b"-1", b"99999999999999999999", b"1e999", b"nan", b"9" * 5000, b"0x7f", b"&#x110000;", b"&nGt;", b"'\"<>"),
)

Change: TypeAlias = Callable[[Random, bytearray, Sequence[bytes]], None]


def fragments(name: str) -> list[bytes]:
    """Fragments of a language, a line each."""
    return (_FRAGMENTS / f"{name}.txt").read_bytes().removesuffix(b"\n").split(b"\n")


# ---- changes --------------------------------------------------------------------------------------------------------


def _flip(rng: Random, found: bytearray, _: Sequence[bytes]) -> None:
    for _bit in range(rng.choice((1, 1, 2, 8))):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)


def _cut_out(rng: Random, found: bytearray, _: Sequence[bytes]) -> None:
    start, end = _part(rng, found)
    del found[start:end]


def _cut_off(rng: Random, found: bytearray, _: Sequence[bytes]) -> None:
    del found[rng.randrange(len(found)) :]


def _repeat(rng: Random, found: bytearray, _: Sequence[bytes]) -> None:
    start, end = _part(rng, found)
    times = min(rng.choice((2, 2, 3, 10, 100, 2000)), LARGEST // max(end - start, 1))
    found[start:end] = found[start:end] * times


def _insert(rng: Random, found: bytearray, pieces: Sequence[bytes]) -> None:
    at = rng.randrange(len(found))
    found[at:at] = rng.choice(pieces)


def _odd(rng: Random, found: bytearray, _: Sequence[bytes]) -> None:
    at = rng.randrange(len(found))
    found[at : at + rng.choice((0, 1, 3))] = rng.choice(_ODD)


def _noise(rng: Random, found: bytearray, _: Sequence[bytes]) -> None:
    start, end = _part(rng, found)
    found[start:end] = rng.randbytes(min(end - start, 500))


def _move(rng: Random, found: bytearray, _: Sequence[bytes]) -> None:
    start, end = _part(rng, found)
    part = bytes(found[start:end])
    del found[start:end]
    at = rng.randrange(len(found) + 1)
    found[at:at] = part


_CHANGES: tuple[Change, ...] = (_flip, _flip, _cut_out, _cut_off, _repeat, _insert, _insert, _odd, _odd, _noise, _move)


def _part(rng: Random, found: bytearray) -> tuple[int, int]:
    start = rng.randrange(len(found))
    return start, min(len(found), start + int(rng.paretovariate(0.6)))


def changed(rng: Random, found: bytes, pieces: Sequence[bytes], most: int = _MOST_CHANGES) -> bytes:
    """The bytes after some changes; now and then after none."""
    left = bytearray(found)
    for _ in range(rng.randrange(most + 1)):
        if left:
            rng.choice(_CHANGES)(rng, left, pieces)
    return bytes(left[:LARGEST])


def written(rng: Random, documents: Sequence[bytes], pieces: Sequence[bytes], between: bytes = b"") -> bytes:
    """A document, the beginning of one with the end of another, or a chain of fragments."""
    match rng.randrange(4):
        case 0:
            return rng.choice(documents)
        case 1:
            first, second = rng.choice(documents), rng.choice(documents)
            return first[: rng.randrange(len(first) + 1)] + second[rng.randrange(len(second) + 1) :]
        case _:
            return between.join(rng.choices(pieces, k=int(rng.choice((3, 10, 40)) * rng.random()) + 1))


# ---- pages ----------------------------------------------------------------------------------------------------------

_PAGES = [
    b"<!doctype html><html lang=en><head><title>A page</title><base href=/b/><meta name=robots content=nofollow>"
    b"<link rel=canonical href=/c><meta name=keywords content='a, b'></head><body><h1>Head</h1><nav><a href=x>X</a>"
    b"</nav><p>Words <b>and <i>more</b> words</i><table><tr><td><a href='?q=1&amp;r=2'>cell</a></table>"
    b"<ul><li>one<li>two</ul><footer><a rel=nofollow href=//other.test/#f>other</a></footer></body></html>",
    b"<frameset cols=1,1><frame src=a><frame src=b><noframes><a href=c>c</a></noframes></frameset>",
    b"<html><body><svg><a xlink:href=/s><title>s</title></a></svg><map><area href=m></map><select><option>1<option>2"
    b"</select><script>if (a<b) '</p>'</script><template><p>t</template><iframe src=f></iframe>",
    "<p>Привет мир <a href='/путь'>ссылка</a> 日本語 e\u0301té ½ ﬁ</p>".encode(),
    "<p>Grüße</p><a href=ü>Ä</a>".encode("latin-1"),
    "<html><p>wide <a href=w>w</a></html>".encode("utf-16"),
    b"a plain text\nwith https://a.test/ in it\n",
]
_MARKUP = fragments("markup")
_KINDS = [*fragments("types"), b""]
_CHARSETS = [*[b""] * 8, *b"utf-8 latin-1 utf-16 shift_jis hex utf-7 idna gb18030".split(), b"\0"]


def page(rng: Random) -> bytes:
    """A line with the type, a line with the charset, and the body."""
    body = changed(rng, written(rng, _PAGES, _MARKUP), _MARKUP)
    head = b"%b\n%b\n" % (rng.choice(_KINDS), rng.choice(_CHARSETS))
    return (changed(rng, head, _ODD, 2) if rng.randrange(20) == 0 else head) + body


# ---- URLs -----------------------------------------------------------------------------------------------------------

_URLS = fragments("urls")
_URL_PARTS = fragments("url_parts")


def url(rng: Random) -> bytes:
    return changed(rng, written(rng, _URLS, _URL_PARTS), _URL_PARTS, 4)


# ---- robots.txt -----------------------------------------------------------------------------------------------------

_ROBOTS = [
    b"User-agent: *\nDisallow: /private/\nAllow: /private/open$\nCrawl-delay: 2\n\nUser-agent: Forager\nDisallow: /*?\n"
    b"Sitemap: https://a.test/sitemap.xml\n",
    b"\xef\xbb\xbfuser agent: forager\r\ndisalow /a*b*c$\r\n# words\r\nsite-map: s.xml\rallow:/index.html\r",
    b"<!doctype html><title>404</title><p>User-agent: *",
]
_RULES = fragments("robots")


def robots(rng: Random) -> bytes:
    return changed(rng, written(rng, _ROBOTS, _RULES, rng.choice((b"\n", b"\n", b"\r", b"\r\n", b"\0"))), _RULES)


# ---- sitemaps and feeds ---------------------------------------------------------------------------------------------

_LISTINGS = [
    b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.test/1</loc>'
    b"<image:loc>http://a.test/i.png</image:loc><lastmod>2020</lastmod></url><url><loc><![CDATA[/2?a&b]]></loc></url>"
    b"</urlset>",
    b"<sitemapindex><sitemap><loc>http://a.test/s.xml.gz</loc></sitemap></sitemapindex>",
    b'<rss version="2.0" xml:base="/f/"><channel><title>F</title><item><title>a &lt;b&gt;</title><link>i</link>'
    b"<guid isPermaLink=true>http://a.test/g</guid></item></channel></rss>",
    b'<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><entry><title type=html>&amp;lt;i></title>'
    b'<link rel="alternate" href="/e"/><id>urn:x</id></entry></feed>',
    b'<rdf:RDF xmlns:rdf="x" xmlns="http://purl.org/rss/1.0/"><item rdf:about="/r"><title>r</title></item></rdf:RDF>',
    b"http://a.test/1\nhttp://a.test/2\r\n\nhttps://b.test/%zz\n",
]
_XML = fragments("xml")
_ROOTS = [b"<urlset>", b"<rss><channel>", b"<feed><entry>", b"http://a.test/"]
_LISTING_KINDS = [b"application/xml", b"text/xml", b"application/rss+xml", b"text/plain", b"application/x-gzip", b""]


def sitemap(rng: Random) -> bytes:
    """A line with the type, a line with the charset, and the body, in one of three as gzip."""
    body = written(rng, _LISTINGS, _XML)
    if rng.randrange(3):
        body = rng.choice(_ROOTS) + body  # else nobody looks further
    body = changed(rng, body, _XML, rng.choice((0, 2, _MOST_CHANGES)))
    if rng.randrange(3) == 0:
        body = changed(rng, gzip.compress(body, 1, mtime=0) * rng.choice((1, 1, 2)), _ODD, 2)
    return b"%b\n%b\n%b" % (rng.choice(_LISTING_KINDS), rng.choice(_CHARSETS), body)


# ---- archives -------------------------------------------------------------------------------------------------------


def archived_record(seq: int) -> Record:
    """A record of a crawl; of one of four a browser has made something else."""
    made = record(seq)
    if seq % 4 == 1 and isinstance(made.answer, Fetch):
        made = made._replace(answer=replace(made.answer, rendered=b"<p>rendered %d" % seq))
    return made


def archive() -> list[bytes]:
    """The records of a WARC file as our store writes them, each a gzip member."""
    found = warcinfo("forager-00001.warc.gz", PROJECT, "forager", START)
    found += b"".join(packed[0] for seq in range(RECORDS) if (packed := pack(archived_record(seq), PROJECT)))
    members, at = [], 0
    while at < len(found):
        end = member_at(found, at).end
        members.append(found[at:end])
        at = end
    return members


_MEMBERS = archive()
_FIELDS = fragments("warc")


def warc(rng: Random) -> bytes:
    """A WARC file: records are changed before they are compressed, or the file is changed, or both."""
    members = list(_MEMBERS)
    for _ in range(rng.choice((0, 1, 1, 3))):
        at = rng.randrange(len(members))
        text = changed(rng, gzip.decompress(members[at]), [field + b"\r\n" for field in _FIELDS], 3)
        members[at] = igzip_lib.compress(_with_length(rng, text), 1, igzip_lib.COMP_GZIP)
    if rng.randrange(4) == 0:
        at = rng.randrange(len(members))
        members[at : at + 1] = rng.choice(([], [members[at]] * 2, [rng.choice(members), members[at]]))
    found = b"".join(members)
    return changed(rng, found, _MEMBERS, 2) if rng.randrange(2) else found


def _with_length(rng: Random, text: bytes) -> bytes:
    """A record whose length is right again, most of the time: else nobody looks further."""
    head, between, block = text.partition(b"\r\n\r\n")
    if not between or rng.randrange(4) == 0:
        return text
    kept = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
    block = block if block.endswith(b"\r\n\r\n") else block + b"\r\n\r\n"
    return b"\r\n".join([*kept, b"Content-Length: %d" % (len(block) - 4)]) + between + block


# ---- configuration --------------------------------------------------------------------------------------------------

_CONFIGS = [
    b'seeds = ["https://example.org/"]\n[topic]\nkeywords = ["a", "b"]\nexamples = { a = ["x.html"] }\n[strategy]\n'
    b'name = "best-first"\noptions = { a = 1 }\n[frontier]\ndelay = 1.5\n[stop]\npages = 100\n',
    b'[scope]\nwithin = "hosts"\ninclude = ["a+b"]\nmax_depth = 3\n[fetch]\ncontact = "me@example.org"\n'
    b'resolve = { "*.a.test" = "127.0.0.1:80" }\n[[fetch.headers]]\nhosts = ["a.test"]\nname = "X"\nvalue = "$Y"\n',
    b'[urls]\nstrip = ["a*"]\nlongest = 200\n[render]\npatterns = ["x"]\nseconds = 3.0\n[log]\n[refresh]\n[store]\n',
]
_TABLES = [b"\n[" + table for whole in _CONFIGS for table in whole.split(b"\n[")[1:] if not table.startswith(b"[")]
_TOML = fragments("toml")


def config(rng: Random) -> bytes:
    tables = rng.sample(_TABLES, k=rng.randrange(1, 6))
    found = b"".join(tables) if rng.randrange(2) else written(rng, _CONFIGS, _TOML, b"\n")
    return changed(rng, found, _TOML, rng.choice((0, 1, 4)))


# ---- answers on the wire --------------------------------------------------------------------------------------------

_HEADS = [
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 9\r\n\r\n<p>a page",
    b"HTTP/1.0 200 OK\r\ncontent-type: text/html\r\n\r\n<p>a page",
    b"HTTP/1.1 301 Moved\r\nLocation: /\xc3\xa9?a b\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 503 Busy\r\nRetry-After: Fri, 31 Dec 2099 23:59:59 GMT\r\nContent-Length: 4\r\n\r\nwait",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\nTrailer: X\r\n\r\n"
    b"4;a=b\r\n<p>a\r\n0\r\nX: y\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n<p>",
    b"HTTP/1.1 200 OK\r\nX-Robots-Tag: forager: noindex, unavailable_after: 25 Jun 2010\r\nSet-Cookie: a=b; Path=/\r\n"
    b"Content-Encoding: gzip\r\nContent-Type: text/html\r\n\r\n" + gzip.compress(b"<p>packed", mtime=0),
]
_HEADERS = [line + b"\r\n" for line in fragments("headers")]
_HEADERS += [b"\r\n", b"\n", b"5\r\n<p>ab\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b"<p>a page"]


def head(rng: Random) -> bytes:
    """All that a server sends."""
    found = written(rng, _HEADS, _HEADERS)
    if not found.startswith(b"HTTP/") and rng.randrange(8):
        found = rng.choice(_HEADERS[:8]) + found + b"\r\n<p>a page"  # else nobody looks further
    return changed(rng, found, _HEADERS, rng.choice((0, 2, _MOST_CHANGES)))


_CODINGS: dict[bytes, Callable[[bytes], bytes]] = {
    b"gzip": lambda body: gzip.compress(body, 1, mtime=0),
    b"deflate": lambda body: zlib.compress(body, 1),
    b"x-gzip": lambda body: gzip.compress(body[:50], 1, mtime=0) + gzip.compress(body[50:], 1, mtime=0),
    b"br": lambda body: b"\x0b\x02\x80" + body[:5] + b"\x03",  # a brotli stream of up to five letters
    b"zstd": lambda body: b"\x28\xb5\x2f\xfd\x20%c\x01\0\0" % (len(body) % 256) + body[:9],
    b"identity": bytes,
}


def body(rng: Random) -> bytes:
    """A head that is right, and a body that is coded in one or two ways and then changed."""
    content = written(rng, _PAGES, _MARKUP)
    if rng.randrange(50) == 0:
        content = bytes(3_000_000)  # more than is read
    names = rng.choices(list(_CODINGS), k=rng.choice((0, 1, 1, 2)))
    for name in names:
        content = _CODINGS[name](content)
    fields = [b"HTTP/1.1 200 OK", b"Content-Type: text/html"]
    fields += [b"Content-Encoding: " + b", ".join(names)] if names and rng.randrange(10) else []
    content = changed(rng, content, _ODD, rng.choice((0, 3)))
    if rng.randrange(2):
        fields.append(b"Transfer-Encoding: chunked")
        content = changed(rng, _chunks(rng, content), _HEADERS, rng.choice((0, 2)))
    elif rng.randrange(3):
        fields.append(b"Content-Length: %d" % max(0, len(content) + rng.choice((0, 0, 0, -1, 1, -50, 1000))))
    return b"\r\n".join([*fields, b"", content])


def _chunks(rng: Random, content: bytes) -> bytes:
    chunks, at = list[bytes](), 0
    while at < len(content) and len(chunks) < 50:
        size = rng.choice((1, 7, 300, len(content)))
        piece = content[at : at + size]
        chunks.append(b"%x%b\r\n%b\r\n" % (len(piece), rng.choice((b"", b"", b";x=y")), piece))
        at += size
    return b"".join(chunks) + b"0\r\n" + rng.choice((b"\r\n", b"\r\n", b"A: b\r\n\r\n", b""))


MAKERS: dict[str, Callable[[Random], bytes]] = {
    "page": page,
    "url": url,
    "robots": robots,
    "sitemap": sitemap,
    "warc": warc,
    "config": config,
    "head": head,
    "body": body,
}


def made(kind: str, seed: int) -> bytes:
    """The input of a kind with this number."""
    return MAKERS[kind](Random(f"{kind} {seed}"))
