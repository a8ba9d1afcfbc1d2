"""Sitemaps and feeds: what they list, also if they are written wrongly, and that none is too much work."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.types import Fetch, Page, Url
from forager.web.page import parse
from forager.web.page.listing import LARGEST, LONGEST_TITLE, MOST, parse_listing

HERE = Url("http://a.test/map/")


def listing(body: str | bytes, kind: str = "application/xml", charset: str = "") -> Page | None:
    page = parse_listing(Fetch(HERE, body.encode() if isinstance(body, str) else body, kind, charset))
    if page is not None:
        check(page)
    return page


def check(page: Page) -> None:
    """What is true for every listing."""
    links, count = page.links, len(page.links)
    assert len(page.leaves) == len(page.tags) == len(page.terms) == len(page.regions) == count
    columns = (links.targets, links.anchors, links.first_leaf, links.last_leaf, links.tag_paths, links.rels)
    assert {len(column) for column in columns} == {count}
    assert page.leaves == links.anchors
    assert links.first_leaf.tolist() == links.last_leaf.tolist() == list(range(count))
    assert not any(target is None or target == page.url for target in links.targets)


def entries(body: str | bytes, kind: str = "application/xml", charset: str = "") -> list[tuple[str, str]]:
    """The entries, without the part of the URL that all have in common."""
    page = listing(body, kind, charset)
    assert page is not None
    return [
        (target.removeprefix("http://a.test"), anchor)
        for target, anchor in zip(page.links.targets, page.links.anchors, strict=True)
    ]


def hrefs(body: str | bytes, kind: str = "application/xml", charset: str = "") -> str:
    return " ".join(href for href, _ in entries(body, kind, charset))


# ---- sitemaps -------------------------------------------------------------------------------------------------------

SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="/style.xsl"?>
<!-- made by <urlset> -->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc>http://a.test/1</loc><lastmod>2020-01-01</lastmod><priority>0.8</priority></url>
  <url>
    <loc>
      http://a.test/2?a=1&amp;b=2
    </loc>
    <image:image><image:loc>http://a.test/picture.png</image:loc></image:image>
  </url>
  <!-- <url><loc>http://a.test/gone</loc></url> -->
  <url><loc><![CDATA[http://a.test/3?a=1&b=2]]></loc></url>
  <url><loc>http://other.test/4</loc></url>
</urlset>"""
ALL = "/1 /2?a=1&b=2 /3?a=1&b=2 http://other.test/4"


def test_a_sitemap() -> None:
    page = listing(SITEMAP)
    assert page is not None
    assert hrefs(SITEMAP) == ALL
    assert page.links.tag_paths[0] == "urlset url loc"
    assert (page.url, page.title) == (HERE, "")


def test_an_index_of_sitemaps() -> None:
    body = "<sitemapindex><sitemap><loc>/one.xml.gz</loc></sitemap><sitemap><loc>two.xml</loc></sitemap></sitemapindex>"
    assert hrefs(body) == "/one.xml.gz /map/two.xml"


@pytest.mark.parametrize("kind", ["application/xml", "application/gzip", "application/octet-stream", "text/html"])
def test_gzip_in_the_body(kind: str) -> None:
    packed = gzip.compress(SITEMAP.encode())
    assert hrefs(packed, kind) == ALL
    assert hrefs(gzip.compress(b"http://a.test/1\nhttp://a.test/2"), kind) == "/1 /2"
    halves = SITEMAP.encode()[:600], SITEMAP.encode()[600:]
    assert hrefs(b"".join(map(gzip.compress, halves)), kind) == ALL
    assert hrefs(packed + b"rubbish", kind) == ALL
    assert hrefs(packed[:-20], kind).startswith("/1")  # cut off, or damaged at the end
    assert listing(packed[:15], kind) is None


def test_a_sitemap_in_plain_text() -> None:
    assert hrefs("\ufeffhttp://a.test/1\r\n\r\n  HTTP://A.TEST/2  \r\n", "text/plain; charset=utf-8") == "/1 /2"


@pytest.mark.parametrize(
    "body", ["", "\n\n", "See http://a.test/1", "http://a.test/1\nand more", "http://a.test/1 and more", "/1\n/2"]
)
def test_other_plain_text_is_no_listing(body: str) -> None:
    assert listing(body, "text/plain") is None


def test_lines_of_urls_that_are_not_called_text_are_no_listing() -> None:
    assert listing("http://a.test/1\nhttp://a.test/2", "text/html") is None


# What is wrong with a sitemap, and what is still found.
WRONG = {
    "<urlset><url><loc>/1?a=1&b=2&copy=3</loc></url></urlset>": "/1?a=1&b=2&copy=3",  # & is not escaped
    "<urlset><url><loc>/1<url><loc>/2<url><loc>/no": "/1 /2",  # nothing is closed, and the end is missing
    "<urlset><url><loc>/1</LOC></url><URL><LOC>/2</LOC></URL>": "/1 /2",
    "<sm:urlset xmlns:sm='x'><sm:url><sm:loc>/1</sm:loc></sm:url></sm:urlset>": "/1",
    "<urlset><url><loc></loc></url><url><loc/></url><url><loc> </loc></url><url><loc>/1</loc></url>": "/1",
    "<urlset><url><loc>mailto:x@a.test</loc></url><url><loc>/1</loc></url>": "/1",
    "<urlset><url><loc>http://a.test/map/</loc></url><url><loc>/1</loc></url>": "/1",  # the listing itself
    "\n\n  <?xml version='1.0'?>\n<urlset ><url><loc >/1</loc></url>": "/1",
    "<urlset><location>/no</location><url><loc>/1</loc></url>": "/1",
    "<urlset><loc>/&#49;&#x32;&#0;&#xD800;&#x110000;&unknown;</loc>": "/12%EF%BF%BD%EF%BF%BD%EF%BF%BD&unknown;",
    "<urlset><url><loc>/1<!-- one --></loc></url><!-- <loc>/no</loc>": "/1",  # a comment to the end
    "<urlset><loc><![CDATA[ /1 ]]></loc><![CDATA[<loc>/no</loc>]]><loc><![CDATA[/2]]><a><loc><![CDATA[/no": "/1 /2",
    "<!DOCTYPE urlset SYSTEM 'x.dtd'><urlset><url><loc>/1</loc></url>": "/1",
    "<!DOCTYPE x [<!ENTITY a '/no'><!ENTITY b SYSTEM 'file:///etc/passwd'>]><urlset><loc>/1</loc><loc>&a;&b;</loc>": (
        "/1 /map/&a;&b;"
    ),
}


@pytest.mark.parametrize(("body", "expected"), WRONG.items())
def test_wrong_xml_gives_what_it_has(body: str, expected: str) -> None:
    assert hrefs(body) == expected


def test_charsets() -> None:
    body = "<?xml version='1.0' encoding='windows-1251'?><urlset><url><loc>/ж</loc></url></urlset>"
    assert hrefs(body.encode("cp1251")) == "/%D0%B6"
    assert hrefs(body.replace("windows-1251", "utf-8"), charset="utf-8") == "/%D0%B6"
    assert hrefs(body.encode("utf-16")) == "/%D0%B6"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{}",
        "<!doctype html><html><body><urlset><loc>/1</loc></urlset></body></html>",
        "<html><head><link rel=alternate type=application/rss+xml href=/feed></head></html>",
        "<?xml version='1.0'?><svg><title>x</title></svg>",
        "<rdf:RDF xmlns:foaf='http://xmlns.com/foaf/0.1/'><item><link>/1</link></item></rdf:RDF>",
        "<urlsets><loc>/1</loc></urlsets>",
        "<!-- <urlset>",
        "<?xml <urlset>",
        "\0" * 100,
    ],
)
def test_other_bodies_are_no_listing(body: str) -> None:
    assert listing(body) is None


# ---- feeds ----------------------------------------------------------------------------------------------------------

RSS2 = """<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>Owls &amp; more</title><link>http://a.test/</link><atom:link rel="self" href="http://a.test/map/"/>
<image><title>Logo</title><link>http://a.test/logo</link></image>
<item><title>First &#8211; of all</title><link>http://a.test/1?a=1&amp;b=2</link><guid>http://a.test/not</guid></item>
<item><title><![CDATA[<b>Second</b> &amp; last]]></title><atom:link href="/not"/><media:title>No</media:title>
  <content:encoded><![CDATA[<title>No</title><link href="/not"><item>]]></content:encoded>
  <guid isPermaLink="true">http://a.test/2</guid></item>
<item><title>Nowhere</title><guid isPermaLink="false">http://a.test/not</guid></item>
<item><title>Nowhere</title><guid>tag:a.test:1</guid></item>
<item><description>No title</description><link>3</link></item>
</channel></rss>"""


def test_rss_2() -> None:
    page = listing(RSS2)
    assert page is not None
    assert page.title == "Owls & more"
    assert entries(RSS2) == [("/1?a=1&b=2", "First – of all"), ("/2", "Second & last"), ("/map/3", "")]


def test_rss_0_91() -> None:
    body = """<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/x.dtd">
    <rss version="0.91"><channel><title>T</title><item><title>One</title><link>/1</link></item></channel></rss>"""
    assert entries(body) == [("/1", "One")]


@pytest.mark.parametrize("space", ["http://purl.org/rss/1.0/", "http://my.netscape.com/rdf/simple/0.9/"])
def test_rss_in_rdf(space: str) -> None:
    body = f"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="{space}">
    <channel rdf:about="/"><title>T</title><link>/</link>
    <items><rdf:Seq><rdf:li resource="/1"/></rdf:Seq></items></channel>
    <item rdf:about="http://a.test/1"><title>One</title></item>
    <item rdf:about="http://a.test/x"><title>Two</title><link>/2</link></item></rdf:RDF>"""
    assert entries(body) == [("/1", "One"), ("/2", "Two")]


ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://a.test/blog/"><title>Blog</title>
<link href="http://a.test/"/><link rel="self" href="http://a.test/map/"/>
<entry><title type="html">A &amp;lt;b&amp;gt; &amp;amp; &lt;i&gt;c&lt;/i&gt;</title><link rel="edit" href="/edit"/>
  <link rel='alternate' type="text/html" href='one'/><link href="/later"/><id>urn:1</id></entry>
<entry><id>http://a.test/id</id><title>No link</title></entry>
<entry><link href="/2?a=1&amp;b=2"/><title>Two</title></entry></feed>"""


def test_atom() -> None:
    page = listing(ATOM)
    assert page is not None
    assert page.title == "Blog"
    assert entries(ATOM) == [("/blog/one", "A <b> & c"), ("/2?a=1&b=2", "Two")]
    prefixed = ATOM.replace("</", "</atom:").replace("<e", "<atom:e").replace("<l", "<atom:l").replace("<t", "<atom:t")
    assert entries(prefixed.replace("<feed", "<atom:feed")) == entries(ATOM)


def test_a_feed_without_entries_is_a_listing() -> None:
    assert entries("<rss><channel><title>T</title></channel></rss>") == []


def test_words_of_titles_are_terms() -> None:
    page = listing(RSS2)
    html = parse(Fetch(HERE, "<p>First – of all".encode()))
    assert page is not None
    assert isinstance(html, Page)
    assert page.terms[0].tolist() == html.terms.values.tolist()


# ---- hostile ones ---------------------------------------------------------------------------------------------------


def test_only_so_many_entries_and_so_long_titles() -> None:
    body = "<urlset>" + "".join(f"<loc>/{n}</loc>" for n in range(MOST + 10))
    assert len(entries(body)) == MOST
    assert len(entries("http://a.test/1\n" * (MOST + 10), "text/plain")) == MOST
    (entry,) = entries(f"<rss><item><link>/1</link><title>{'long ' * 10_000}</title></item></rss>")
    assert len(entry[1]) == LONGEST_TITLE


def test_a_bomb_is_read_to_the_limit() -> None:
    bomb = gzip.compress(b"<urlset><loc>/1</loc>" + b" " * 3 * LARGEST + b"<loc>/2</loc>")
    assert len(bomb) < LARGEST / 100
    assert hrefs(bomb) == "/1"
    short = parse_listing(Fetch(HERE, b"http://a.test/1\nhttp://a.test/2", "text/plain"), largest=30)
    assert short is not None
    assert short.links.targets == ("http://a.test/1",)  # the second is cut off
    assert listing(gzip.compress(b"") * 10_000 + gzip.compress(SITEMAP.encode())) is None


def test_a_listing_of_nothing_is_not_read_to_its_end() -> None:
    """10 MB of it, which is 10 KB of gzip, took four seconds."""
    real = "<item><link>/1</link></item>"
    assert hrefs(f"<rss>{'<' * 900_000}{real}</rss>") == "/1"
    assert hrefs(f"<rss>{'<' * 1_000_000}{real}</rss>") == ""
    assert hrefs(f"<rss>{'<item>' * (MOST - 2)}{real}</rss>") == "/1"
    assert hrefs(f"<rss>{'<item>' * MOST}{real}</rss>") == ""
    assert hrefs(f"<rss><item>{'<guid>' * 5 * MOST}{real}</rss>") == ""


LAUGHS = "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 10))


def test_entities_do_not_expand() -> None:
    body = f"<!DOCTYPE x [<!ENTITY l0 'ha'>{LAUGHS}]><rss><item><link>/1</link><title>&l9;</title></item></rss>"
    assert entries(body) == [("/1", "&l9;")]


# What an expression that goes back and tries again would do for hours. Each makes a megabyte.
TEDIOUS = [
    *(
        "<",
        "<loc",
        "<loc ",
        "<loc>",
        "<loc><![CDATA[",
        "<!--",
        "<!-- -->",
        "<![CDATA[]]>",
        "<![CDATA[",
        "<!",
        "&",
        "&#",
    ),
    *(
        "<a",
        "<a:",
        "<a>",
        "</loc>",
        "<item>",
        "<item><link href='",
        "<link href='",
        "<entry><title>",
        "<title><",
        "]]>",
    ),
]


@pytest.mark.parametrize("tedious", TEDIOUS)
@pytest.mark.parametrize("start", ["<urlset>", "<feed><entry>", ""])
def test_tedious_listings_are_read(start: str, tedious: str) -> None:
    listing(start + tedious * (300_000 // len(tedious)))


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"<urlset>", b"<rss><item>", b"<feed><entry><link ", b"\x1f\x8b\x08"]),
)
def test_any_bytes_are_read(body: bytes, start: bytes) -> None:
    for kind in ("application/xml", "text/plain"):
        listing(start + body, kind)


def test_slices_cut_nothing_in_two() -> None:
    tags = "".join(f"<url><loc>/{n}</loc></url>" for n in range(5))
    for length in range(99_990 - len(tags), 100_000):  # a slice ends at each character of the tags
        assert hrefs(f"<urlset>{' ' * length}{tags}") == "/0 /1 /2 /3 /4"


@given(st.lists(st.sampled_from(RSS2.replace(">", ">|").split("|")), max_size=30))
def test_any_tags_in_any_order_are_read(tags: list[str]) -> None:
    listing("<rss>" + "".join(tags))
    listing("<urlset>" + "".join(tags))
