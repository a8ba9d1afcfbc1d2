"""What `parse` finds in a page: leaves, spans, regions, links, what its head declares, its charset."""

from __future__ import annotations

import gzip
import pickle
from collections import defaultdict
from collections.abc import Iterator
from copy import copy
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import given
from hypothesis import strategies as st

from forager.types import Failure, Fetch, Heading, Links, Page, Reason, Region, Url
from forager.web import text
from forager.web.page import LONGEST_ANCHOR, from_bytes, leaf_offsets, parse, to_bytes
from forager.web.page.bounds import PageLimits
from forager.web.page.decode import decode
from forager.web.urls import RULES
from tests.shared import WEBS

HERE = Url("http://example.org/dir/page.html")


def page_of(markup: str | bytes, *, charset: str = "", content_type: str = "text/html", comments: bool = False) -> Page:
    body = markup.encode() if isinstance(markup, str) else markup
    page = parse(Fetch(HERE, body, content_type, charset), comments=comments)
    assert isinstance(page, Page), page
    return page


def body_leaves(page: Page) -> list[str]:
    """Without the empty head."""
    assert page.tags[0] == "head"
    return list(page.leaves[1:])


# ---- leaves and spans -----------------------------------------------------------------------------------------------


def test_figure_3_of_the_apprentice_paper() -> None:
    page = page_of(
        "<ul><li>two before</li><li><em>one before</em></li>"
        "<li><a href=v>HREF <font>in the anchor</font></a> <tt>one after</tt></li><li>two after</li><li>three</li></ul>"
    )
    assert len(body_leaves(page)) == 7
    link = page.links[0]
    assert page.leaves[link.first_leaf : link.last_leaf + 1] == ("HREF", "in the anchor")
    offsets = leaf_offsets(link.first_leaf, link.last_leaf, len(page.leaves))
    assert offsets[1:].tolist() == [-2, -1, 0, 0, 1, 2, 3]


def test_offsets_of_many_links_at_once() -> None:
    offsets = leaf_offsets(np.array([0, 2], np.int32), np.array([1, 2], np.int32), 4)
    assert offsets.tolist() == [[0, 0, 1, 2], [-2, -1, 0, 1]]


def test_what_a_leaf_is() -> None:
    page = page_of("a<br> <hr><img src=x><img src=x alt=' Alt '><input><table><td></td><td> </td><td>&nbsp;</table>\n")
    assert list(zip(page.tags, page.leaves, strict=True))[1:] == [
        ("body", "a"), ("br", ""), ("hr", ""), ("img", ""), ("img", "Alt"), ("input", ""),
        ("td", ""), ("td", ""), ("td", ""),
    ]  # fmt: skip


def test_scripts_and_the_like_are_empty_leaves() -> None:
    page = page_of("<style>p {}</style><script>var a = '<b>'</script><template><p>t</template><iframe>i</iframe>x")
    assert [leaf for leaf in page.leaves if leaf] == ["x"]
    assert page.tags == ("style", "script", "template", "iframe", "body")


def test_the_head_is_numbered_too() -> None:
    page = page_of("<title>T</title><meta name=a><body>x")
    assert (page.tags, page.leaves) == (("title", "meta", "body"), ("T", "", "x"))


def test_comments_are_a_switch() -> None:
    markup = "a<!-- said --><b><!-- alone --></b>"
    assert body_leaves(page_of(markup)) == ["a", ""]
    assert body_leaves(page_of(markup, comments=True)) == ["a", "said", "alone"]


def test_terms_are_those_of_the_leaves() -> None:
    page = page_of("<p>One <b>two</b> three<img alt='four five'>")
    assert [page.terms[row].tolist() for row in range(len(page.leaves))] == [
        [text.term(word) for word in text.words(leaf)] for leaf in page.leaves
    ]


def test_headings_have_spans() -> None:
    page = page_of("<h1>One <i>two</i></h1>x<h3></h3><h2>y")
    assert page.headings == (Heading(1, 1, 2), Heading(3, 4, 4), Heading(2, 5, 5))


# ---- regions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markup", "region"),
    [
        ("<nav><p>x", Region.NAVIGATION),
        ("<main><p>x", Region.MAIN),
        ("<article>x", Region.MAIN),
        ("<footer><p>x", Region.FOOTER),
        ("<aside>x", Region.NAVIGATION),
        ("<header>x", Region.NAVIGATION),
        ("<article><header>x", Region.MAIN),
        ("<main><nav>x", Region.NAVIGATION),
        ("<div role=navigation>x", Region.NAVIGATION),
        ("<div role=contentinfo>x", Region.FOOTER),
        ("<div role=main>x", Region.MAIN),
        ("<div id=mainMenu>x", Region.NAVIGATION),
        ("<ul class='site-nav wide'><li>x", Region.NAVIGATION),
        ("<table><td class=left_sidebar>x", Region.NAVIGATION),
        ("<div id=bodyContent>x", Region.MAIN),
        ("<p class=copyright>x", Region.FOOTER),
        ("<div id=canavan class=domain>x", Region.BODY),
        ("<body class='content nav'>x", Region.BODY),
        ("<p>x", Region.BODY),
    ],
)
def test_regions(markup: str, region: Region) -> None:
    page = page_of(markup)
    assert page.regions[page.leaves.index("x")] == region


def test_a_region_ends_with_its_element() -> None:
    page = page_of("<nav>a</nav>b<footer>c</footer>")
    assert page.regions[1:].tolist() == [Region.NAVIGATION, Region.BODY, Region.FOOTER]


# ---- links ----------------------------------------------------------------------------------------------------------


def test_links_in_document_order_with_spans_and_anchors() -> None:
    page = page_of("<a href=1>One <b>bold</b></a> x <a href=2><img alt=Two></a><a href=3> </a><a name=no>n</a>")
    links = page.links
    assert links.targets == tuple(f"http://example.org/dir/{n}" for n in (1, 2, 3))
    assert links.anchors == ("One bold", "Two", "")
    assert links.first_leaf.tolist() == [1, 4, 5]
    assert links.last_leaf.tolist() == [2, 4, 5]


@pytest.mark.parametrize(
    "odd", ["two  blanks", "a&nbsp;b", "line\nbreak", "a&#127;b", "long " * 400, "", "a <i>b</i> c"]
)
def test_an_odd_anchor_changes_no_other(odd: str) -> None:
    plain, whole = "<a href=1>One, two</a> x <a href=2>three</a>", page_of(f"<a href=0>{odd}</a>")
    alone = whole.links.anchors[0]
    assert page_of(f"{plain}<a href=3>{odd}</a>").links.anchors == ("One, two", "three", alone)
    assert alone == " ".join(whole.text(0, len(whole.leaves)).split())[:LONGEST_ANCHOR].strip()


def test_anchors_are_the_same_whenever_they_are_asked_for() -> None:
    def fresh() -> Links:
        return page_of("<a href=1>One <b>bold</b></a> x <a href=2><img alt=Two></a><a href=3> </a>").links

    early, late = fresh(), fresh()
    assert early.anchors is early.anchors
    for links in (early, late):
        assert links.take([2, 0]).anchors == ("", "One bold")
        assert links.take([2, 0]).take([1]).targets == ("http://example.org/dir/1",)
        assert links.take([]).anchors == ()
    assert pickle.loads(pickle.dumps(fresh())).take([0]).anchors == ("One bold",)
    assert copy(fresh()).anchors == early.anchors
    assert fresh()[1].anchor == "Two"
    other = replace(fresh(), anchors=("a", "b", "c"))
    assert (other.anchors, other.take([1]).anchors) == (("a", "b", "c"), ("b",))
    assert replace(fresh(), rels=("x",) * 3).anchors == early.anchors


def test_areas_and_frames_are_links() -> None:
    page = page_of("<frameset><frame src=a.html name=x><noframes><a href=no>No</a></noframes></frameset>")
    assert page.links.targets == ("http://example.org/dir/a.html",)
    page = page_of("<map><area href=m.html alt='On the map'></map><iframe src=/i.html>junk</iframe>")
    assert page.links.targets == ("http://example.org/dir/m.html", "http://example.org/i.html")
    assert page.links.anchors == ("On the map", "")


def test_what_is_not_http_or_the_page_itself_is_left_out() -> None:
    hrefs = [
        "javascript:void(0)",
        "mailto:a@b.org",
        "ftp://x.org/",
        "#part",
        "",
        "page.html#x",
        "http://[bad",
        "data:,x",
    ]
    page = page_of("".join(f"<a href='{href}'>x</a>" for href in hrefs) + "<a href=ok>ok</a>")
    assert page.links.targets == ("http://example.org/dir/ok",)
    assert page.leaves[page.links.first_leaf[0]] == "ok"


def test_entities_in_hrefs() -> None:
    page = page_of('<a href="?a=1&amp;b=2">x</a><a href="caf&eacute;">y</a><a href=" sp ace ">z</a>')
    assert page.links.targets == (
        "http://example.org/dir/page.html?a=1&b=2",
        "http://example.org/dir/caf%C3%A9",
        "http://example.org/dir/sp%20ace",
    )


@pytest.mark.parametrize(
    ("bases", "target"),
    [
        ("<base href=/other/>", "http://example.org/other/x"),
        ("<base href=//else.org/a/b>", "http://else.org/a/x"),
        ("<base target=_top><base href=/1/><base href=/2/>", "http://example.org/1/x"),
        ("<base href='javascript:1'>", "http://example.org/dir/x"),
        ("<base href='http://[bad'>", "http://example.org/dir/x"),
    ],
)
def test_base(bases: str, target: str) -> None:
    assert page_of(f"{bases}<a href=x>x</a>").links.targets == (target,)


def test_tag_paths_name_ids_and_classes() -> None:
    page = page_of("<div id=main><ul class='menu  wide'><li><a href=1 class=first>x</a><li><a href=2>y</a></ul></div>")
    assert page.links.tag_paths == (
        "html body div#main ul.menu.wide li a.first",
        "html body div#main ul.menu.wide li a",
    )


def test_tag_paths_of_neighbours_share_only_what_is_around_both() -> None:
    page = page_of(
        "<div id=a><p><a href=1>x</a></p><p class=c><a href=2>y</a></p></div><div><p><a href=3>z</a></p></div>"
    )
    assert page.links.tag_paths == ("html body div#a p a", "html body div#a p.c a", "html body div p a")


@pytest.mark.parametrize("depth", range(27, 40))
def test_long_tag_paths_keep_both_ends(depth: int) -> None:
    page = page_of(
        "".join(f"<div id=d{n}>" for n in range(depth)) + "<a href=1>x</a><p><a href=2>y</a></p><a href=3>z</a>"
    )
    around = ["html", "body", *(f"div#d{n}" for n in range(depth))]
    for inner, path in zip(([], ["p"], []), page.links.tag_paths, strict=True):
        parts = around + inner
        assert path.split() == [*(parts if len(parts) <= 32 else parts[:4] + parts[-28:]), "a"]


def test_rel() -> None:
    assert page_of("<a href=1 rel='nofollow ugc'>x</a><a href=2>y</a>").links.rels == ("nofollow ugc", "")


# ---- the head -------------------------------------------------------------------------------------------------------


def test_what_the_head_declares() -> None:
    page = page_of(
        "<html lang=EN-gb><title> A\n title </title><meta name=Keywords content='a, b'>"
        "<meta name=description content=D>"
        "<meta name=description content=second><link rel='x canonical' href=/c><svg><title>no</title></svg>"
    )
    assert (page.title, page.keywords, page.description) == ("A title", "a, b", "D")
    assert (page.canonical, page.language) == ("http://example.org/c", "en-gb")


def test_language_by_meta_and_nothing_declared() -> None:
    assert page_of("<meta http-equiv=Content-Language content=DE>").language == "de"
    page = page_of("x")
    assert (page.title, page.keywords, page.description, page.canonical, page.language) == ("", "", "", None, "")


# ---- decoding -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "charset", "expected"),
    [
        ("é".encode(), "", "é"),
        ("é".encode("cp1252"), "", "é"),
        ("€".encode("cp1252"), "iso-8859-1", "€"),
        ("é".encode(), "latin1", "é"),  # valid UTF-8 is not windows-1252
        ("é".encode("cp1252"), "utf-8", "é"),  # declared as UTF-8, but it is not
        ("Привет".encode("koi8-r"), "KOI8-R", "Привет"),
        (b'<meta charset="windows-1251">' + "Привет".encode("cp1251"), "", "Привет"),
        (b'<meta charset="windows-1251">' + "Привет".encode("koi8-r"), "koi8-r", "Привет"),  # the header counts first
        (b'<meta charset="windows-1251">' + "Привет".encode("cp1251"), "utf-8", "Привет"),  # all three differ
        (b"<meta charset=koi8-r>" + "日本".encode(), "utf-8", "日本"),
        (b"<meta http-equiv=content-type content='text/html; charset=shift_jis'>" + "日本".encode("cp932"), "", "日本"),
        (b"<?xml version='1.0' encoding='gb2312'?>" + "中文".encode("gbk"), "", "中文"),
        ("\ufeffé".encode(), "koi8-r", "é"),  # a byte-order mark wins
        ("\ufeffé".encode("utf-16-le"), "", "é"),
        ("<p>é".encode("utf-16-be"), "", "é"),
        ("<p>é".encode("utf-16-le"), "utf-16", "é"),
        (b"<meta charset=utf-16>" + "é".encode(), "", "é"),
        ("é".encode(), "utf-16", "é"),  # not even two bytes wide
        (b"\xe9", "base64", "é"),
        (b"\xe9", "no-such-thing", "é"),
    ],
)
def test_charsets(body: bytes, charset: str, expected: str) -> None:
    assert decode(body, charset).endswith(expected)


def test_a_slip_in_declared_utf8_costs_one_character() -> None:
    body = ("ä" * 100).encode() + b"\xff" + ("ö" * 100).encode()
    assert decode(body, "utf-8") == "ä" * 100 + "\ufffd" + "ö" * 100


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "content_type", "reason"),
    [
        (b"%PDF-1.4", "text/html", Reason.NOT_HTML),
        (b"{}", "application/json", Reason.NOT_HTML),
        (b"just text", "", Reason.NOT_HTML),
        (b"a\0b\0" * 1000 + b"\1\0\2\0", "text/html", Reason.UNREADABLE),
    ],
)
def test_refused(body: bytes, content_type: str, reason: Reason) -> None:
    answer = parse(Fetch(HERE, body, content_type))
    assert isinstance(answer, Failure)
    assert answer.reason == reason
    assert answer.detail


def test_too_large_is_refused() -> None:
    answer = parse(Fetch(HERE, b"x" * 101), limits=PageLimits(bytes=100))
    assert isinstance(answer, Failure)
    assert (answer.reason, answer.detail) == (Reason.TOO_LARGE, "101 bytes, at most 100 are read")


def test_types_that_are_accepted() -> None:
    for content_type in ("TEXT/HTML; charset=utf-8", "application/xhtml+xml", "", "text/xml"):
        assert page_of("<html><p>x", content_type=content_type).leaves[-1] == "x"


def test_plain_text_is_one_leaf_unless_it_is_html() -> None:
    page = page_of("One <b>two\n", content_type="text/plain")
    assert (page.leaves, page.tags, len(page.links)) == (("One <b>two",), ("body",), 0)
    assert len(page_of("\n<HTML><a href=x>y</a>", content_type="text/plain").links) == 1


# ---- packing --------------------------------------------------------------------------------------------------------


def assert_same(one: Page, other: Page) -> None:
    for name in {field.name for field in fields(Page)} - {"terms", "regions", "links"}:
        assert getattr(one, name) == getattr(other, name)
        assert type(getattr(one, name)) is type(getattr(other, name))
    for name in ("targets", "anchors", "tag_paths", "rels"):
        assert getattr(one.links, name) == getattr(other.links, name)
    for a, b in (
        (one.terms.values, other.terms.values),
        (one.terms.offsets, other.terms.offsets),
        (one.regions, other.regions),
        (one.links.first_leaf, other.links.first_leaf),
        (one.links.last_leaf, other.links.last_leaf),
    ):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@given(st.text(st.sampled_from("<>/abdivp h1 href='x'=\"é漢 "), max_size=200))
def test_packed_pages_come_back(markup: str) -> None:
    page = page_of(markup)
    assert_same(page, from_bytes(to_bytes(page)))


def test_a_page_of_another_version_is_refused() -> None:
    packed = bytearray(to_bytes(page_of("x")))
    at = packed.index(b"\x92\x02\x02") + 2
    packed[at] = 99
    with pytest.raises(ValueError, match="parse it again"):
        from_bytes(bytes(packed))


# ---- real pages -----------------------------------------------------------------------------------------------------


def recorded(web: str, every: int) -> Iterator[tuple[str, Fetch]]:
    warc = WEBS / web / f"{web}.warc.gz"
    if not warc.exists():
        pytest.skip(f"no recorded web at {warc}")
    with warc.open("rb") as stream:
        for at, record in enumerate(ArchiveIterator(stream, record_types=WarcRecordType.response)):
            if at % every == 0:
                written = record.headers["WARC-Target-URI"]
                url, kind = RULES.canonical(written), record.http_headers.get("Content-Type") or ""
                assert url is not None
                yield written, Fetch(url, record.reader.read(), kind, record.http_charset or "")


def pairs(path: Path) -> Iterator[tuple[str, str]]:
    if path.exists():
        raw = path.read_bytes()
        for line in (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode().splitlines():
            one, other = line.split("\t")[:2]
            yield one, other


@pytest.mark.parametrize(("web", "every", "tolerated"), [("wikispeedia", 40, 0), ("webkb", 20, 3)])
def test_recorded_pages_have_the_recorded_links(web: str, every: int, tolerated: int) -> None:
    """`tolerated`: webkb's list of edges has one URL with a double slash that browsers read in another way."""
    edges: dict[str, set[str]] = defaultdict(set)
    for source, target in pairs(WEBS / web / "edges.tsv.gz"):
        edges[source].add(target)
    aliases = {RULES.canonical(linked): RULES.canonical(real) for linked, real in pairs(WEBS / web / "aliases.tsv")}
    missing = []
    for written, fetch in recorded(web, every):
        page = parse(fetch)
        assert isinstance(page, Page), page
        assert_same(page, from_bytes(to_bytes(page)))
        found = {aliases.get(target, target) for target in page.links.targets} | {*page.links.targets, page.url, None}
        missing += [target for target in edges[written] if RULES.canonical(target) not in found]
    assert len(missing) <= tolerated, missing
