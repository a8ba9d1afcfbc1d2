"""What a page declares: its canonical URL, directives, refresh, feeds, other languages, neighbours, base, and its title
as text."""

from __future__ import annotations

import pytest

from forager.types import Fetch, Page, Url
from forager.web.page import parse

HERE = Url("http://example.org/dir/page.html")


def page_of(markup: str) -> Page:
    page = parse(Fetch(HERE, markup.encode()))
    assert isinstance(page, Page), page
    return page


def test_a_page_that_declares_nothing() -> None:
    page = page_of("<title>T</title><p>x")
    assert (page.directives, page.refresh, page.feeds, page.alternates, page.neighbours) == ((), None, (), (), ())
    assert (page.is_listing, page.left_out, page.canonical) == (False, {}, None)


# ---- canonical ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markup", "canonical"),
    [
        ("<link rel=canonical href=/c>", "http://example.org/c"),
        ("<link rel=CANONICAL href=c?utm_source=x#y>", "http://example.org/dir/c"),
        ("<base href=/b/><link rel=canonical href=c>", "http://example.org/b/c"),
        ("<link rel=canonical href=c><base href=/b/>", "http://example.org/b/c"),
        ("<link rel=canonical href=//else.org>", "http://else.org/"),
        ("<link rel=canonical href=page.html>", HERE),
        ("<link rel=canonical href=/c><link rel=canonical href=http://example.org/c#x>", "http://example.org/c"),
        ("<link rel=canonical href=/c><link rel=canonical href=/d>", None),  # which one?
        ("<link rel=canonical href='mailto:a@b.c'><link rel=canonical href=/d>", "http://example.org/d"),
        ("<link rel=canonical href=ftp://x.org/>", None),
        ("<link rel=canonical href='http://[bad'>", None),
        ("<link rel=canonical><link rel=canonical href=''><link rel=canonical href=/d>", "http://example.org/d"),
        ("<body><link rel=canonical href=/c>", None),
        ("<div>x</div><link rel=canonical href=/c>", None),
        ("<link rel=canonical href=/c><body><link rel=canonical href=/d>", "http://example.org/c"),
        ("<svg><link rel=canonical href=/c></svg>", None),
        ("<template><link rel=canonical href=/c></template>", None),
        ("<a rel=canonical href=/c>x</a>", None),
    ],
)
def test_canonical(markup: str, canonical: str | None) -> None:
    assert page_of(markup).canonical == canonical


# ---- directives -----------------------------------------------------------------------------------------------------


def test_directives_of_robots_and_of_forager() -> None:
    page = page_of(
        "<meta name=Robots content=' NoIndex,\n NOFOLLOW '><meta name=googlebot content=none>"
        "<meta name=forager content=nofollow><body><meta name=robots content=noarchive><meta name=robots>"
    )
    assert page.directives == ("noindex, nofollow", "nofollow", "noarchive")


def test_directives_are_bounded() -> None:
    page = page_of("<meta name=robots content='noindex'>" * 1000)
    assert page.directives == ("noindex",) * 10


# ---- refresh --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/x", "http://example.org/x"),
        ("0; URL='/x'", "http://example.org/x"),
        ('0;url="/x"', "http://example.org/x"),
        ("0;url='/x' or so", "http://example.org/x"),
        ("0;url='/x", "http://example.org/x"),
        ("0, URL=x", "http://example.org/dir/x"),
        ("  5  ;  url  =  x  ", "http://example.org/dir/x"),
        ("0 url=x", "http://example.org/dir/x"),
        ("0 /x", "http://example.org/x"),
        ("0;/x", "http://example.org/x"),
        ("0;'/x'", "http://example.org/x"),
        ("0;urlx", "http://example.org/dir/urlx"),
        ("3.7;url=/x", "http://example.org/x"),
        (".5;url=/x", "http://example.org/x"),
        ("10;url=/x", "http://example.org/x"),
        ("0010;url=/x", "http://example.org/x"),
        ("0;url=//else.org/", "http://else.org/"),
        ("11;url=/x", None),
        (f"{'9' * 5000};url=/x", None),
        ("5", None),
        ("0;", None),
        ("0;url=", None),
        ("0;url=''", None),
        ("0;url=page.html#top", None),  # itself
        ("0x;url=/x", None),
        ("-1;url=/x", None),
        ("url=/x", None),
        ("0;url=javascript:alert(1)", None),
        ("0;url=mailto:a@b.c", None),
        ("", None),
    ],
)
def test_refresh(content: str, target: str | None) -> None:
    escaped = content.replace('"', "&quot;")
    assert page_of(f'<meta http-equiv=Refresh content="{escaped}">').refresh == target


def test_the_first_refresh_that_is_understood_counts() -> None:
    def refresh(*contents: str) -> Url | None:
        return page_of("".join(f"<meta http-equiv=refresh content='{content}'>" for content in contents)).refresh

    assert refresh("soon", "0;url=/x", "0;url=/y") == "http://example.org/x"
    assert refresh("60", "0;url=/y") is None
    assert refresh("60;url=/x", "0;url=/y") is None


def test_a_refresh_follows_the_base_and_may_stand_in_the_body() -> None:
    assert (
        page_of("<base href=/b/><body><meta http-equiv=refresh content='0;url=x'>").refresh == "http://example.org/b/x"
    )


def test_a_refresh_for_want_of_scripts_does_not_count() -> None:
    assert page_of("<noscript><meta http-equiv=refresh content='0;url=/x'></noscript>").refresh is None


# ---- feeds, other languages, neighbours -----------------------------------------------------------------------------


def test_feeds_languages_and_neighbours() -> None:
    page = page_of(
        "<link rel=alternate type=application/rss+xml href=/rss><link rel='ALTERNATE nofollow' "
        "type=' Application/Atom+XML ' hreflang=en href=atom><link rel=alternate type=application/rss+xml href=/rss#x>"
        "<link rel=alternate hreflang=de href=/de><link rel=alternate hreflang=x-default href=page.html>"
        "<link rel='alternate stylesheet' href=/css><link rel=alternate media=handheld href=/m>"
        "<link rel=next href=?p=3><link rel=Prev href=?p=1><link rel=previous href=?p=1><link rel=stylesheet href=/s>"
        "<link rel=next><link rel=next href='mailto:x'>"
    )
    assert page.feeds == ("http://example.org/rss", "http://example.org/dir/atom")
    assert page.alternates == ("http://example.org/de",)
    assert page.neighbours == ("http://example.org/dir/page.html?p=3", "http://example.org/dir/page.html?p=1")
    assert len(page.links) == 0


def test_they_are_bounded() -> None:
    page = page_of(
        "".join(
            f"<link rel=alternate type=application/rss+xml href=f{n}><link rel=alternate hreflang=x href=l{n}>"
            f"<link rel=next href=n{n}>"
            for n in range(500)
        )
    )
    assert (len(page.feeds), len(page.alternates), len(page.neighbours)) == (10, 50, 10)
    assert page.feeds[-1] == "http://example.org/dir/f9"


# ---- what is a link -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markup", "targets"),
    [
        ("<a href=1>x</a>", ["1"]),
        ("<svg><a xlink:href=1><text>x</text></a><a href=2>y</a></svg>", ["1", "2"]),
        ("<svg><a xlink:href=1 href=2>x</a></svg>", ["2"]),
        ("<a xlink:href=1>x</a>", []),
        ("<map><area shape=default href=1><area nohref><area href=2 nohref alt=x></map>", ["1", "2"]),
        ("<area href=1>", ["1"]),
        ("<iframe src=1 srcdoc='<a href=2>x</a>'></iframe><iframe srcdoc='<a href=3>x</a>'></iframe>", ["1"]),
        ("<iframe src=about:blank></iframe>", []),
        ("<frameset><frame src=1><frame src=2></frameset>", ["1", "2"]),
        ("<form action=1 method=get><input type=submit formaction=2></form>", []),
        ("<noscript><a href=1>x</a></noscript><template><a href=2>x</a></template>", ["1"]),
        ("<base href=#top><a href=#x>x</a><a href=1>y</a>", ["1"]),
        ("<img src=1><script src=2></script><link rel=next href=3><object data=4></object>", []),
    ],
)
def test_what_is_a_link(markup: str, targets: list[str]) -> None:
    assert page_of(markup).links.targets == tuple(f"http://example.org/dir/{target}" for target in targets)


@pytest.mark.parametrize(
    ("bases", "target"),
    [
        ("<base href=''><base href=/2/>", "http://example.org/dir/x"),  # the first counts
        ("<base href='http://[bad'><base href=/2/>", "http://example.org/dir/x"),
        ("<base href='file:///C:/site/'>", "http://example.org/dir/x"),
        ("<base href='data:text/html,y'>", "http://example.org/dir/x"),
        (f"<base href='/{'y/' * 5000}'>", "http://example.org/dir/x"),
        ("<base href='\\\\else.org\\a\\b'>", "http://else.org/a/x"),
        ("<base href='http://u:p@else.org:80/a/../b/'>", "http://else.org/b/x"),
    ],
)
def test_odd_bases(bases: str, target: str) -> None:
    assert page_of(f"{bases}<a href=x>x</a>").links.targets == (target,)


def test_a_section_of_another_base_is_a_link_to_it() -> None:
    assert page_of("<base href=/other><a href=#part>x</a>").links.targets == ("http://example.org/other",)


# ---- the title as text ----------------------------------------------------------------------------------------------


def test_a_title_has_no_control_characters() -> None:
    page = page_of("<title>\x1b[31mRed\x07 &#27;]0;x&#155;y\x7f\u0085 a\u2028b\tc</title>")
    assert page.title == "[31mRed ]0;xy a b c".replace("xy", "x\u203ay")  # &#155; is a quote of windows-1252
    assert page.title.isprintable()


def test_other_signs_of_a_title_stay() -> None:
    assert page_of("<title>\u202ea\u200fb\u00adc\U0001f600</title>").title == "\u202ea\u200fb\u00adc\U0001f600"


def test_keywords_and_description_are_clean_too() -> None:
    page = page_of("<meta name=keywords content='a\x1b\n b'><meta name=description content='\x00c\x9bd'>")
    assert (page.keywords, page.description) == ("a b", "\ufffdcd")
