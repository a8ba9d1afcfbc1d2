"""Pages that are made to break a parser. They are read, or refused with a reason, with work that fits their size."""

from __future__ import annotations

from html.entities import html5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.types import Failure, Fetch, Page, Reason, Url
from forager.web.page import LIMITS, bounds, from_bytes, parse, to_bytes
from forager.web.page.bounds import PageLimits

HERE = Url("http://example.org/")


def answer_to(body: bytes, content_type: str = "text/html", charset: str = "") -> Page | Failure:
    answer = parse(Fetch(HERE, body, content_type, charset))
    if isinstance(answer, Page):
        check(answer)
    return answer


def page_of(body: bytes, charset: str = "") -> Page:
    page = answer_to(body, charset=charset)
    assert isinstance(page, Page), page
    return page


def check(page: Page) -> None:
    """What is true for every page."""
    leaves = len(page.leaves)
    assert leaves == len(page.tags) == len(page.terms) == len(page.regions)
    links = page.links
    columns = (links.targets, links.anchors, links.first_leaf, links.last_leaf, links.tag_paths, links.rels)
    assert {len(column) for column in columns} == {len(links)}
    assert (links.first_leaf >= 0).all()
    assert (links.first_leaf <= links.last_leaf).all()
    assert (links.last_leaf < leaves).all()
    assert all(0 <= heading.first_leaf <= heading.last_leaf < leaves for heading in page.headings)
    assert not any(target is None or target == page.url for target in links.targets)
    assert len(links) <= LIMITS.links
    assert len(page.title) <= LIMITS.title
    assert all(left > 0 for left in page.left_out.values())
    from_bytes(to_bytes(page))


# ---- nesting --------------------------------------------------------------------------------------------------------


def test_3000_nested_tags_keep_their_links_and_short_paths() -> None:
    page = page_of(b"".join(b"<div class=level><a href=/%d>x</a>" % n for n in range(3000)))
    assert page.links.targets == tuple(f"http://example.org/{n}" for n in range(3000))
    assert max(map(len, page.links.tag_paths)) < 1000
    assert page.links.tag_paths[-1].startswith("html body div.level ")
    assert page.links.tag_paths[-1].endswith(" div.level a")


def test_endless_nesting_is_refused() -> None:
    for body in (b"<div>" * 200_000, b"<ul><li>" * 100_000, b"<span>" * 100_000 + b"</p>" * 100_000):
        answer = answer_to(body)
        assert isinstance(answer, Failure)
        assert answer.reason == Reason.UNREADABLE


def test_nesting_hidden_behind_end_tags_that_close_nothing() -> None:
    assert bounds.steps("<div><object></div></object>" * 100_000) > bounds.LIMIT
    assert bounds.steps("<li><section>" * 100_000) > bounds.LIMIT
    assert bounds.steps("<td><div>" * 100_000) > bounds.LIMIT
    assert bounds.steps("<a><div>" * 100_000) > bounds.LIMIT
    assert bounds.steps("<div></x>" * 100_000) > bounds.LIMIT


def test_nested_anchors_do_not_multiply_their_text() -> None:
    """With the words of each, a strategy would make 20 million words of 10,000."""
    page = page_of(b"<a href=/x><object>" * 2000 + b"word " * 10_000)
    assert len(page.links) == 4
    assert page.left_out == {"links": 1996}
    assert max(map(len, page.links.anchors)) <= 1000


def test_a_few_nested_anchors_are_links() -> None:
    page = page_of(b"<a href=/x>one <object>two <a href=/y>three</a></object></a> four")
    assert (page.links.anchors, page.left_out) == (("one two three", "three"), {})


def test_nested_headings_do_not_multiply_their_text() -> None:
    page = page_of(b"<h1><div>" * 900 + b"word " * 10_000)
    assert len(page.headings) == 4
    assert page.left_out == {"headings": 896}
    assert set(map(len, page.heading_texts)) == {1000}


def test_anchors_and_headings_are_not_made_of_more_text_than_they_keep() -> None:
    """A leaf of 2 MB that is the first of each would be copied thousands of times."""
    page = page_of(b"<a href=/x><object><h1>" * 900 + b"x" * 1_900_000)
    assert len(page.links.anchors) > 1
    assert set(page.links.anchors) == set(page.heading_texts) == {"x" * 1000}


# ---- tags left open -------------------------------------------------------------------------------------------------


def test_no_closing_tags() -> None:
    page = page_of(b"<table>" + b"<tr><td><p>cell<ul><li><a href=/x>link<dl><dt>t<dd>d</table>" * 500)
    assert 500 <= len(page.links) < 5000  # like a browser, it opens an anchor again in later blocks
    assert set(page.links.targets) == {"http://example.org/x"}


def test_ordinary_pages_without_closing_tags_are_cheap() -> None:
    item = "<li><p>text<dt>term<dd>definition<tr><td><a href=x>y<option>o<h2>"
    assert bounds.steps(f"<table>{item * 2000}") < bounds.LIMIT


def test_unclosed_formatting_is_dropped_when_it_would_multiply() -> None:
    body = b"".join(b"<p><font color=%d>word%d <a href=/%d>x</a>" % (n, n, n) for n in range(5000))
    page = page_of(body)
    assert len(page.links) == 5000
    assert len(page.leaves) < 20_000
    assert "font" not in page.tags


@pytest.mark.parametrize("name", ["b", "font", "nobr", "strong"])
@pytest.mark.parametrize("end", ["</{0}>", "</{0}><object><{0}></object>", "</{0}><{0}>x</{0}>"])
def test_formatting_that_ends_inside_of_blocks_is_dropped(name: str, end: str) -> None:
    """Each end tag moves it into the blocks: 31 KB took 33 s."""
    start = "".join(f"<{name} class={n}><div>" for n in range(400))
    page = page_of(f"{start}{end.format(name) * 6400}<a href=/x>y</a>".encode())
    assert name not in page.tags
    assert len(page.links) == 1


def test_links_that_end_inside_of_blocks() -> None:
    """The blocks stay open: 282 KB took 15 s."""
    markup = "<a href=/x>" + "<div>" * 8 + "</a>"
    assert bounds.steps(markup * 6000) > bounds.LIMIT
    assert len(page_of((markup * 50).encode()).links) >= 50


def test_ordinary_slips_of_formatting_are_cheap() -> None:
    markup = "<ul><li><b>x<p>y</b><li><i><b>x</i></b><font color=red><p>x</font></ul></b></i><p><b>x</p></b>"
    assert bounds.steps(markup * 1000) < bounds.LIMIT / 10
    assert bounds.tame(markup * 1000) == markup * 1000


def test_closed_formatting_is_kept() -> None:
    page = page_of(b"<p><font color=1>word</font> <b>bold</b>" * 3000)
    assert page.tags.count("font") == 3000


def test_formatting_hidden_behind_markers() -> None:
    body = b"".join(b"<b id=%d><object></b></object>" % n for n in range(2000)) + b"<p>x</p>" * 2000
    assert len(page_of(body).leaves) < 10_000


def test_unclosed_comment_script_and_attribute() -> None:
    for end in (b"<!-- never", b"<script>never", b"<a href='never", b"<a", b"<![CDATA[", b"<title>never", b"<"):
        page = page_of(b"<p><a href=/x>link</a>" + end + b" closed" * 1000)
        assert page.links.targets[:1] == ("http://example.org/x",)


# ---- much of something ----------------------------------------------------------------------------------------------


def test_10_mb_of_text() -> None:
    words = LIMITS.bytes // 10
    page = page_of(b"hi world, " * words)
    assert len(page.terms.values) == 2 * LIMITS.text // 10
    assert page.left_out == {"text": 10 * words - LIMITS.text - 1}  # the last blank is no text


def test_one_byte_more_is_too_large() -> None:
    answer = answer_to(b" " * (LIMITS.bytes + 1))
    assert isinstance(answer, Failure)
    assert answer.reason == Reason.TOO_LARGE


def test_a_word_without_end() -> None:
    assert len(page_of(b"x" * 5_000_000).terms.values) == 1


def test_attribute_bombs_are_refused() -> None:
    many = b" ".join(b"a%d=1" % n for n in range(100_000))
    quoted = b"".join(b'a%d=">"' % n for n in range(100_000))
    for attributes in (many, quoted):
        answer = answer_to(b"<p><a href=/x " + attributes + b">link</a>")
        assert isinstance(answer, Failure)
        assert answer.reason == Reason.UNREADABLE


def test_attributes_of_a_second_body_are_compared_with_those_of_the_first() -> None:
    for name in ("html", "body"):
        tags = (f"<{name} " + " ".join(f"a{n}x{k}" for k in range(20)) + ">" for n in range(2000))
        answer = answer_to("".join(tags).encode())  # took 5 s
        assert isinstance(answer, Failure)
        assert answer.reason == Reason.UNREADABLE


def test_long_attributes_are_no_bomb() -> None:
    value = b"{'a': 1, 'b': [2, 3]} " * 20_000
    assert len(page_of(b'<div data-state="' + value + b'"><a href=/x>y</a>').links) == 1


def test_long_classes_do_not_multiply_in_paths() -> None:
    page = page_of(b"<body class='" + b"x" * 100_000 + b"'>" + b"<p><a href=/x>y</a>" * 5000)
    assert max(map(len, page.links.tag_paths)) < 200


def test_200_000_links() -> None:
    page = page_of(b"<a href=/x>y</a>" * 200_000)
    assert len(page.links) == LIMITS.links
    assert page.left_out == {"links": 45_000, "markup": 150_000 * 16}  # after 100,000 tags


def test_sections_and_what_is_no_page_do_not_use_up_the_links() -> None:
    limits = PageLimits(links=2)
    markup = b"<a href=#a>x</a><a href=#b>x</a><a href=1>x</a><a href=#c>x</a><a href=2>x</a><a href=3>x</a>"
    page = parse(Fetch(HERE, markup), limits=limits)
    assert isinstance(page, Page)
    assert page.links.targets == ("http://example.org/1", "http://example.org/2")
    assert page.left_out == {"links": 1}


def test_a_limit_that_is_just_reached_leaves_nothing_out() -> None:
    markup = b"<title>abcde</title><h1>f</h1><a href=1>g</a>"
    limits = PageLimits(bytes=len(markup), tags=6, text=7, links=1, headings=1, title=5)
    page = parse(Fetch(HERE, markup), limits=limits)
    assert isinstance(page, Page)
    assert (page.title, page.leaves[-2:], len(page.links), len(page.headings)) == ("abcde", ("f", "g"), 1, 1)
    assert page.left_out == {}


@pytest.mark.parametrize(
    ("over", "left_out"),
    [
        ({"tags": 4}, {"markup": 15}),
        ({"tags": 5}, {"markup": 4}),
        ({"text": 6}, {"text": 1}),
        ({"text": 0}, {"text": 7}),
        ({"links": 0}, {"links": 1}),
        ({"headings": 0}, {"headings": 1}),
        ({"title": 3}, {}),
    ],
)
def test_each_limit_alone(over: dict[str, int], left_out: dict[str, int]) -> None:
    markup = b"<title>abcde</title><h1>f</h1><a href=1>g</a>"
    page = parse(Fetch(HERE, markup), limits=PageLimits(**over))
    assert isinstance(page, Page)
    assert page.left_out == left_out
    check(page)


def test_long_things_of_the_head_are_cut() -> None:
    long = b" very long" * 100_000
    page = page_of(
        b"<html lang='%b'><title>%b</title><meta name=keywords content='%b'><meta name=description content='%b'>"
        b"<meta name=robots content='%b'><a rel='%b' href=1>x</a>" % ((long,) * 6)
    )
    assert page.title == ("very long " * 50).strip()
    assert (len(page.keywords), len(page.description), len(page.language)) == (1999, 1999, 35)
    assert len(page.directives[0]) <= 500
    assert len(page.links.rels[0]) <= 200


def test_plain_text_has_limits_too() -> None:
    page = parse(Fetch(HERE, b"word " * 10, "text/plain"), limits=PageLimits(text=9))
    assert isinstance(page, Page)
    assert (page.leaves, page.left_out) == (("word word",), {"text": 40})


def test_thousands_of_options_lose_their_list() -> None:
    """Each option would look at all options of its list: 40,000 take 5 s."""
    page = page_of(b"<p>A list: <select>" + b"<option>x" * 40_000 + b"</select> <a href=/x>y</a>")
    assert page.tags.count("option") == 40_000
    assert len(page.links) == 1
    assert "select" not in page.links.tag_paths[0]


def test_ordinary_lists_keep_their_options() -> None:
    markup = "<select>" + "<option>x</option>" * 250 + "</select>"
    assert bounds.tame(markup * 15) == markup * 15


def test_many_names_are_refused() -> None:
    """The parser's table of names does not grow: 500,000 take more than a minute."""
    for body in (
        b"".join(b"<x%d>y</x%d>" % (n, n) for n in range(90_000)),
        b"".join(b"<p a%d=1>" % n for n in range(90_000)),
    ):
        assert bounds.steps(body.decode()) > bounds.LIMIT
    hidden = "".join(f"<p x=><i y{n}=>" for n in range(90_000))  # a name is no value of the attribute before
    assert bounds.steps(hidden) > bounds.LIMIT


def test_references_that_grow_never_reach_the_parser() -> None:
    """lexbor writes beyond its memory where a reference is shorter than its characters: the process dies."""
    growing = {f"&{name}" for name, characters in html5.items() if len(characters.encode()) > len(name) + 1}
    assert growing == set(bounds._GROWING)
    for filler in ("", "&not; &amp; ", "x" * bounds._SMALL):
        for reference, characters in bounds._GROWING.items():
            assert bounds.tame(f"<p>{filler}{reference}") == f"<p>{filler}{characters}"
    assert page_of(b"<p>" + b"&nGt;&nLt;" * 50_000).leaves[-1] == "\u226b\u20d2\u226a\u20d2" * 50_000


def test_paths_of_a_page_have_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forager.web.page.tree._PATH_BUDGET", 200)
    paths = page_of(b"<div><p><a href=/x id=i>y</a></div>" * 50).links.tag_paths
    assert (paths[0], paths[-1]) == ("html body div p a#i", "a#i")


# ---- bytes ----------------------------------------------------------------------------------------------------------


def test_a_few_nul_bytes_are_read_over() -> None:
    page = page_of(b"<p>\0one <a hr\0ef=/x href=/y>t\0wo</a>\0\0")
    assert page.links.targets == ("http://example.org/y",)


def test_a_hole_in_a_file_is_read_over() -> None:
    assert len(page_of(b"<p><a href=/x>y</a>" + b"\0" * 20_000).links) == 1


def test_nothing_but_nul_bytes_is_refused() -> None:
    for body in (b"\0" * 100_000, b" \n" + b"\0" * 100 + b"\n"):
        answer = answer_to(body)
        assert isinstance(answer, Failure)
        assert answer.reason == Reason.UNREADABLE


def test_nul_bytes_throughout_are_refused() -> None:
    answer = answer_to(bytes(range(256)) * 2 + b"\0\1" * 5000)
    assert isinstance(answer, Failure)
    assert answer.reason == Reason.UNREADABLE


def test_three_charsets_in_disagreement() -> None:
    body = b"<meta charset=shift_jis><p>" + "Grüße".encode("cp1252")
    assert "Gr" in page_of(body, charset="utf-8").leaves[-1]


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe<\0p\0>\0\x00\xd8x\0",  # a lone surrogate
        b"\xfe\xff\0<\0p\0>\xd8\0\xd8\0\0",  # two, and half a character
        b"\xed\xa0\x80<p>x",  # a surrogate in UTF-8
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"&#xd800;&#0;&#x110000;&#99999999999;&notanentity;&amp",
    ],
)
def test_broken_unicode(body: bytes) -> None:
    page = page_of(body)
    "".join(page.leaves).encode()  # no surrogate came through


@pytest.mark.parametrize("body", [b"", b" ", b"\n\n", b"<html>", b"<body></body>", b"<!doctype html>", b"</p>"])
def test_nothing_in_it(body: bytes) -> None:
    assert len(page_of(body).links) == 0


def test_framesets_within_framesets() -> None:
    page = page_of(b"<frameset><frame src=/a><frameset><frame src=/b></frameset><frame></frameset>")
    assert page.links.targets == ("http://example.org/a", "http://example.org/b")


# ---- chance ---------------------------------------------------------------------------------------------------------

TAGS = [
    "a",
    "b",
    "p",
    "div",
    "td",
    "tr",
    "table",
    "li",
    "ul",
    "h1",
    "font",
    "object",
    "script",
    "style",
    "title",
    "nav",
]
TAGS += ["select", "option", "svg", "math", "template", "frame", "body", "html", "form", "noscript", "textarea"]
PIECES = st.one_of(
    st.sampled_from([f"<{tag}>" for tag in TAGS] + [f"</{tag}>" for tag in TAGS]),
    st.sampled_from(
        ["<a href=/x>", "<a href='y z'>", "<base href=/b/>", "<!--", "-->", "<![CDATA[", "<?xml", "<a href"]
    ),
    st.sampled_from(
        ["<img alt=' w '>", "<area href=/m>", "<iframe src=/f>", "<meta charset=koi8-r>", "&nbsp;", "&lt;a"]
    ),
    st.sampled_from(
        ["<div id=menu>", "<p class='main content'>", "<html lang=x>", "<link rel=canonical href=/c>", "\0"]
    ),
    st.text(max_size=5),
)


@given(st.lists(PIECES, max_size=60))
@settings(max_examples=300)
def test_tag_soup(pieces: list[str]) -> None:
    answer_to("".join(pieces).encode("utf-8", "surrogatepass"))


@given(
    st.binary(max_size=300), st.sampled_from(["text/html", "", "text/plain"]), st.sampled_from(["", "utf-8", "utf-16"])
)
@settings(max_examples=300)
def test_random_bytes(body: bytes, content_type: str, charset: str) -> None:
    answer_to(body, content_type, charset)


@given(
    st.text(), st.sampled_from(["utf-8", "utf-16", "cp1252", "shift_jis", "iso-2022-jp", "gb18030", "big5", "latin1"])
)
def test_any_text_in_any_charset(string: str, charset: str) -> None:
    answer_to(string.encode(charset, "ignore"), charset=charset)


ENDS = "".join(f"</{name}>" for name in ("script", "style", "textarea", "title", "xmp")) + "-->"  # of hidden text


@given(st.lists(PIECES, max_size=60), st.lists(PIECES, max_size=60))
def test_more_markup_never_takes_fewer_steps(pieces: list[str], more: list[str]) -> None:
    """Without quotes and after a ">", what follows cannot change how the first part is read."""
    first, second = ("".join(part).replace("'", "").replace('"', "") for part in (pieces, more))
    before = bounds.steps(f"{first}>")
    assert 0 <= before <= bounds.steps(f"{first}>{second}")
    assert before < bounds.steps(f"{first}>{ENDS}<div>")
