"""The features of links: compared with a loop over the links, and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.strategies.link_features import (
    FeatureCodes,
    LinkTemplates,
    PageWords,
    UrlPosition,
    WordSource,
    spellings,
    texts_of,
    zeroed,
)
from forager.types import Page, Url
from forager.web.text import ROW_END, code, decoded, mixed, term, words
from tests.visits import page_of

PAGE = page_of(
    "http://cs.test/~svc/cs412/x.html",
    '<title>CS 412</title><a href="http://b.test/">first</a><h1>One two three</h1>'
    '<p>b3 b2 b1 <a href="hw%20_3.ps">Exercise 3 of many</a> a1 a2</p>'
    '<h2>Four <a href="/~svc/">Up 7</a></h2><p><a href="../"><img src="i"></a></p>',
)


def told(plan: LinkTemplates, page: Page, *, zero_digits: bool = False) -> list[list[str]]:
    """The words of each link, in order, and the kind of each."""
    reading = PageWords.of(page, page.links, zero_digits=zero_digits)
    names, (found, kinds) = spellings(page, page.links, ()), decoded(plan.codes(reading))
    rows = [zip(column, of, strict=True) for column, of in zip(found.T.tolist(), kinds.T.tolist(), strict=True)]
    return [[f"{names[word]} {kind}" for word, kind in row if word] for row in rows]


# ---- sources of words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stretch", "places", "expected"),
    [
        (WordSource.BEFORE, [-2, -1], [["cs 5", "412 5"], ["b2 5", "b1 5"], ["a2 5", "four 5"], ["up 5", "7 5"]]),
        (WordSource.AFTER, [0, 1], [["one 5", "two 5"], ["a1 5", "a2 5"], [], []]),
        (WordSource.ANCHOR, [0, 1], [["first 5"], ["exercise 5", "3 5"], ["up 5", "7 5"], []]),
        (WordSource.ANCHOR_TEXT, range(9), [["first 5"], ["exercise 5", "3 5", "of 5", "many 5"], ["up 5", "7 5"], []]),
        (WordSource.HEADING, [0, 2], [[], ["one 5", "three 5"], ["one 5", "three 5"], ["four 5", "7 5"]]),
        (WordSource.URL, [-1], [["test 5"], ["ps 5"], ["_svc 5"], ["_svc 5"]]),
        (WordSource.URL, [-5, -4, -3], [["http 5"], ["_svc 5", "cs412 5", "hw 5"], [], []]),
    ],
)
def test_so_many_words_of_a_stretch(stretch: WordSource, places: list[int], expected: list[list[str]]) -> None:
    assert told(LinkTemplates([(stretch, places, 5)]), PAGE) == expected


def test_numbers_are_alike_in_texts_and_not_on_the_page() -> None:
    plan = LinkTemplates([(WordSource.ANCHOR_TEXT, [1], 0), (WordSource.ANCHOR, [1], 1), (WordSource.URL, [-2], 2)])
    assert told(plan, PAGE, zero_digits=True)[1] == ["0 0", "3 1", "0 2"]
    assert told(plan, PAGE)[1] == ["3 0", "3 1", "3 2"]


parts = st.sampled_from(["", "a", "b1 ", "c d e", "f\x1eg", "é"])
blocks = st.lists(st.tuples(parts, parts, parts), max_size=6)


@given(
    blocks,
    st.lists(
        st.tuples(
            st.sampled_from(
                [WordSource.BEFORE, WordSource.AFTER, WordSource.ANCHOR, WordSource.ANCHOR_TEXT, WordSource.URL]
            ),
            st.integers(-4, 4),
        )
    ),
)
@settings(deadline=None)
def test_a_plan_reads_as_one_would_link_by_link(
    made: list[tuple[str, str, str]], rows: list[tuple[WordSource, int]]
) -> None:
    """For any page. A position outside of its source gives no word."""
    page = page_of(
        "http://a.test/x/",
        "".join(f'<p>{text}<a href="/{at}/">{said}</a>{by}' for at, (text, said, by) in enumerate(made)),
    )
    every = [word for leaf in page.leaves for word in words(leaf)]
    starts = page.terms.offsets.tolist()

    def read(link: int, stretch: WordSource, place: int) -> str | None:
        begin, end = starts[page.links.first_leaf[link]], starts[page.links.last_leaf[link] + 1]
        if stretch in (WordSource.BEFORE, WordSource.AFTER):
            around, at = (every[:begin], begin + place) if stretch == WordSource.BEFORE else (every, end + place)
            return around[at] if (0 if stretch == WordSource.BEFORE else end) <= at < len(around) else None
        if stretch == WordSource.URL:
            return str(link) if place == -1 else None
        within = (
            words(page.links.anchors[link].replace(ROW_END, " "))
            if stretch == WordSource.ANCHOR_TEXT
            else every[begin:end]
        )
        return within[place] if 0 <= place < len(within) else None

    plan = (
        LinkTemplates([(stretch, [place], 1) for stretch, place in rows])
        if rows
        else LinkTemplates([(WordSource.ANCHOR, [0], 1)])
    )
    wanted = rows or [(WordSource.ANCHOR, 0)]
    expected = [[read(link, *each) for each in wanted] for link in range(len(page.links))]
    assert told(plan, page) == [[f"{word} 1" for word in row if word is not None] for row in expected]


# ---- texts ----------------------------------------------------------------------------------------------------------


def test_texts_of_a_page_and_its_links() -> None:
    reading = PageWords.of(PAGE, PAGE.links, zero_digits=False)
    assert reading.title.tolist() == [term("cs"), term("412")]
    assert reading.host.tolist() == [term("cs"), term("test")]
    assert reading.url.tolist() == [term(word) for word in ("_", "_svc", "cs412", "x", "html")]
    assert reading.depths.tolist() == [3, 6, 2, 2]  # http, b and test; _, _svc, cs412, hw, 3 and ps
    assert reading.headings.tolist() == [term(word) for word in ("one", "two", "three", "four", "up", "7")]
    assert len(reading.meta) == 0


odd = st.text(st.sampled_from("a1 %20_~\x1e/é٣\ud800"), max_size=9)
addresses = st.lists(st.sampled_from(["a", "%1e", "%", "%e9", "~", "_", "/", "\ud800"]), max_size=5).map("".join)


@given(odd, odd, odd, odd, addresses, addresses)
@settings(deadline=None)
def test_no_text_runs_into_another(
    title: str, keywords: str, description: str, anchor: str, one: str, other: str
) -> None:
    links = replace(PAGE.links.take([0, 1]), anchors=(anchor, "b"), targets=(Url(one), Url(other)))
    page = replace(PAGE, title=title, keywords=keywords, description=description)
    assert texts_of(page, links).count(ROW_END) == 7  # between title, meta data, host, two anchors and three URLs
    reading = PageWords.of(page, links, zero_digits=False)
    assert reading.title.tolist() == [term(word) for word in words(title.replace(ROW_END, " "))]
    assert reading.url.tolist() == [term(word) for word in ("_", "_svc", "cs412", "x", "html")]


def test_either_scheme_is_the_same_site() -> None:
    page = page_of("https://a.test/x/", '<a href="http://a.test/x/y">1</a><a href="https://b.test/">2</a>')
    texts = texts_of(page, page.links).split(ROW_END)
    assert texts[-3:] == ["/x/y", "https://b.test/", "/x/"]


def test_digits_become_zeros_and_nothing_else_does() -> None:
    assert zeroed("cs412 é٣ \ud800 90") == "cs000 é٣ \ud800 00"


# ---- where URLs lie -------------------------------------------------------------------------------------------------

LYING = {
    "http://a.test/x/y/z.html": ("in the folder", "in the folder, +0 words", "4 words"),
    "http://a.test/x/y/": ("in the folder", "in the folder, -2 words", "2 words"),
    "http://a.test/x/y/z/1/2/3/4/5/6/7/8/9/10/11/12/13": (
        "in the folder",
        "in the folder, +4 words",
        "15 words or more",
    ),
    "http://a.test/x/yy/": ("on the site", "on the site, -2 words", "2 words"),
    "http://a.test/": ("on the site", "on the site, -3 words", "0 words"),
    "http://www.a.test/x/y/": ("elsewhere", "elsewhere, +2 words", "6 words"),
    "https://a.test/x/y/": ("in the folder", "in the folder, -2 words", "2 words"),
    "https://a.test/w": ("on the site", "on the site, -3 words", "1 words"),
    "http://a.test.com/": ("elsewhere", "elsewhere, +0 words", "4 words"),
}


def test_how_links_lie() -> None:
    page = page_of("http://a.test/x/y/p.html", "".join(f'<a href="{url}">x</a>' for url in LYING))
    found, kinds = decoded(UrlPosition(3, 8).codes(PageWords.of(page, page.links, zero_digits=True)))
    names = {term(name): name for name in UrlPosition.names}
    told = [tuple(names[word] for word in column) for column in found.T.tolist()]
    assert dict(zip(page.links.targets, told, strict=True)) == LYING
    assert kinds.T.tolist() == [[3, 3, 8]] * len(LYING)


# ---- codes of rows --------------------------------------------------------------------------------------------------

cells = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 2), st.integers(0, 3)), max_size=20)


@given(cells)
def test_each_code_once_in_a_row(made: list[tuple[str, int, int]]) -> None:
    """Three links and a page."""
    codes = np.array([code(word, kind) for word, kind, _ in made], np.uint64)
    seen = FeatureCodes.scattered(codes, np.array([row for *_, row in made], np.int64), 3)
    found, rows = seen.once()
    assert rows.tolist() == sorted(rows.tolist())
    pairs = list(zip(found.tolist(), rows.tolist(), strict=True))
    assert sorted(pairs) == sorted({(code(word, kind), row) for word, kind, row in made})


def test_where_there_is_no_word_there_is_no_code() -> None:
    plan = LinkTemplates([(WordSource.ANCHOR, [0, 5], 1)])
    codes = plan.codes(PageWords.of(PAGE, PAGE.links, zero_digits=False))
    found, rows = FeatureCodes(codes, np.empty(0, np.uint64)).once()
    assert rows.tolist() == [0, 1, 2]
    assert (
        mixed(found.copy()).tolist()
        == mixed(np.array([code(word, 1) for word in ("first", "exercise", "up")], np.uint64)).tolist()
    )


def test_the_words_of_a_link_are_those_of_its_anchor_and_of_its_url() -> None:
    found = PageWords.of(PAGE, PAGE.links, zero_digits=False).of_links
    names = spellings(PAGE, PAGE.links, ())
    assert [" ".join(names[word] for word in found[row].tolist()) for row in range(len(found))] == [
        "first http b test",
        "exercise 3 of many _ _svc cs412 hw 3 ps",
        "up 7 _ _svc",
        "_ _svc",
    ]
    assert len(PageWords.of(PAGE, PAGE.links.take([]), zero_digits=False).of_links) == 0
