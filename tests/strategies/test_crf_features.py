"""What the path forager sees, by hand: each kind of feature on small pages, and odd pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.chains.vocabulary import Vocabulary
from forager.strategies.crf_features import (
    ABOVE,
    ANCHOR,
    FLAG,
    HEADING,
    LINK_FLAG,
    LINK_SHAPE,
    NEAR,
    PATH,
    REST,
    REST_SHAPE,
    SHAPE,
    TITLE,
    TOKEN,
    URL_SHAPE,
    WORD,
    Features,
    Seen,
)
from forager.strategies.crf_texts import Addresses, tails, tokens
from forager.text import mix, term
from forager.types import Page, Url
from tests.visits import page_of

OURS, THESIS = Features(), Features(ours=False)
NAMED = {"below", "beside", "above", "across", "elsewhere"}

COURSE = page_of(
    "http://cs.test/~svc/teaching/cs412/",
    '<title>CS 412: Notes</title><meta name="keywords" content="logic"><meta name="description" content="A course">'
    "<h1>Courses:</h1><p>far b10 b9 b8 b7 b6 b5 b4 b3 b2 b1 "
    '<a href="hw_3.ps">CS-412 Exercise 3</a> a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 far</p>'
    '<h2>Other pages</h2><ul id="x" class="y z"><li><a href="/~svc/">Up</a></li></ul>',
)


def hashed(kind: int, *words: str) -> set[int]:
    return set(mix(np.array([term(word) for word in words], np.uint32), kind).tolist())


def of_row(seen: Seen, row: int) -> set[int]:
    return set(seen.values[seen.rows == row].tolist())


def of_page(features: Features, page: Page) -> set[int]:
    return of_row(features(page, page.links), len(page.links))


# ---- as the thesis has them -----------------------------------------------------------------------------------------


def test_a_link_in_the_thesis() -> None:
    """Its anchor, ten words on either side, its path in tokens with the extension, and a constant."""
    near = [f"{side}{far}" for side in "ab" for far in range(1, 11)]
    expected = hashed(ANCHOR, "cs", "412", "exercise", "3") | hashed(NEAR, *near) | hashed(LINK_FLAG, "link")
    expected |= hashed(PATH, "_", "_svc", "teaching", "cs412", "hw", "3", "ps")
    seen = THESIS(COURSE, COURSE.links)
    assert of_row(seen, 0) == expected
    assert seen.count == 3
    behind = hashed(NEAR, *(f"a{far}" for far in range(4, 11)), "far", "other", "pages") | hashed(ANCHOR, "up")
    assert of_row(seen, 1) == behind | hashed(PATH, "_", "_svc") | hashed(LINK_FLAG, "link")


def test_a_page_in_the_thesis() -> None:
    """Words of head and body, tokens of the URL, and that it has a heading of the set."""
    near = [f"{side}{far}" for side in "ab" for far in range(1, 11)]
    said = ["cs", "412", "notes", "logic", "a", "course", "courses", "far", "exercise", "3", "other", "pages", "up"]
    expected = hashed(WORD, *said, *near) | hashed(FLAG, "page", "heading_of_set")
    assert of_page(THESIS, COURSE) == expected | hashed(TOKEN, "cs", "test", "_", "_svc", "teaching", "cs412")


@pytest.mark.parametrize(
    ("heading", "known"),
    [("Courses", True), ("research interests.", True), ("Courses of 1996", False), ("Staff", False)],
)
def test_headings_of_the_set(heading: str, known: bool) -> None:
    page = page_of("http://a.test/", f"<h3>{heading}</h3><p>Courses</p>")
    assert (hashed(FLAG, "heading_of_set") <= of_page(THESIS, page)) == known
    assert hashed(FLAG, "heading_of_set") <= of_page(Features(headings=frozenset([heading.lower().strip(".")])), page)


@pytest.mark.parametrize(("items", "repeats"), [(5, False), (6, True)])
def test_repeated_structure(items: int, repeats: bool) -> None:
    page = page_of("http://a.test/", "<ul>" + "<li>name <b>number</b></li>" * items + "</ul>")
    for features in (OURS, THESIS):
        assert (hashed(FLAG, "repeats") <= of_page(features, page)) == repeats


def test_a_page_has_the_same_features_whichever_links_are_asked_for() -> None:
    whole, one = OURS(COURSE, COURSE.links), OURS(COURSE, COURSE.links.take([1]))
    assert of_row(one, 0) == of_row(whole, 1)
    assert of_row(one, 1) == of_row(whole, 2)


# ---- and of ours ----------------------------------------------------------------------------------------------------


def test_a_link_of_ours() -> None:
    more = hashed(LINK_SHAPE, "cs000", "exercise0") | hashed(REST_SHAPE, "hw0") | hashed(REST, "hw", "3", "ps")
    more |= hashed(ABOVE, "courses") | hashed(LINK_FLAG, "link", "beside", "body_p_a", "own_number", "number")
    assert of_row(OURS(COURSE, COURSE.links), 0) == of_row(THESIS(COURSE, COURSE.links), 0) | more
    up = hashed(ABOVE, "other", "pages") | hashed(LINK_FLAG, "link", "above", "ul_li_a")
    assert of_row(OURS(COURSE, COURSE.links), 1) == of_row(THESIS(COURSE, COURSE.links), 1) | up


def test_a_page_of_ours() -> None:
    """2 links are 10 in binary, 1 of them with a number is 1; 33 words are 100001."""
    more = hashed(TITLE, "cs", "412", "notes") | hashed(HEADING, "courses", "other", "pages")
    more |= hashed(SHAPE, "cs000") | hashed(URL_SHAPE, "cs000") | hashed(FLAG, "links_2", "numbered_1", "words_6")
    assert len(COURSE.terms.values) == 33
    assert of_page(OURS, COURSE) == of_page(THESIS, COURSE) | more


@pytest.mark.parametrize(
    ("anchor", "shapes"),
    [
        ("CS412", ["cs000"]),
        ("CS 412", ["cs000"]),
        ("cs-412", ["cs000"]),
        ("CS.412", ["cs000"]),
        ("CS  412", ["000"]),  # two blanks are more than one: nothing is joined
        ("412", ["000"]),
        ("6.001 Sp96", ["0", "000", "sp00"]),
        ("Algorithms", []),
    ],
)
def test_shapes(anchor: str, shapes: list[str]) -> None:
    links = replace(COURSE.links.take([1]), anchors=(anchor,))
    told = OURS.names(COURSE, links, 0)
    assert [name.removesuffix(" (shape)") for name in told if name.endswith(" (shape)")] == shapes
    assert told.count("number") + told.count("own_number") == len(shapes)


@pytest.mark.parametrize(
    ("page", "anchor", "flag"),
    [
        ("<title>CS 412</title>", "cs412 homework", "own_number"),
        ("<title>CS 413</title>", "cs412 homework", "number"),
        ("<title>Notes</title>", "page 7", "own_number"),  # of the URL of the page
        ("<title>Notes</title>", "page", None),
    ],
)
def test_a_number_of_the_page_or_another(page: str, anchor: str, flag: str | None) -> None:
    made = page_of("http://a.test/page7/", f'{page}<a href="next">{anchor}</a>')
    told = OURS.names(made, made.links, 0)
    assert [name for name in told if name in ("number", "own_number")] == ([flag] if flag else [])


def test_what_the_url_of_a_link_has_beyond_the_folder() -> None:
    """Where it lies elsewhere its whole path has shapes."""
    page = page_of("http://a.test/2/x.html", '<a href="y/cs1.html">i</a><a href="/z/cs1.html">j</a>')
    near, far = (OURS.names(page, page.links, link) for link in (0, 1))
    assert [name for name in near if "rest" in name] == [
        *(f"{word} in rest of URL" for word in ("y", "cs1", "html")),
        "cs0 in rest of URL (shape)",
    ]
    assert [name for name in far if "rest" in name] == ["cs0 in rest of URL (shape)"]


PLACES = {
    "http://a.test/x/y/p.html": {
        "http://a.test/x/y/z/q.html": "below",
        "http://a.test/x/y/z/": "below",
        "http://a.test/x/y/q.html": "beside",
        "http://a.test/x/y/": "above",
        "http://a.test/x/": "above",
        "http://a.test/x/q.html": "above",
        "http://a.test/": "above",
        "http://a.test/w/": "across",
        "http://a.test/x/z/q.html": "across",
        "http://a.test/x/yy/": "across",
        "http://www.a.test/x/y/q.html": "elsewhere",
        "https://a.test/x/y/q.html": "elsewhere",
        "http://a.test.com/x/y/q.html": "elsewhere",
    },
    "http://a.test/xy/p": {"http://a.test/x/": "across", "http://a.test/xy/z/": "below"},
    "http://b.test/": {"http://b.test/q": "beside", "http://b.test/q/": "below", "http://a.test/": "elsewhere"},
}


@pytest.mark.parametrize("page", PLACES)
def test_how_a_link_lies_to_the_page(page: str) -> None:
    there = PLACES[page]
    assert dict(zip(there, Addresses.of(Url(page), [Url(url) for url in there]).places, strict=True)) == there
    one = page_of(page, "".join(f'<a href="{url}">x</a>' for url in there))
    told = [NAMED & set(OURS.names(one, one.links, link)) for link in range(len(there))]
    assert told == [{place} for place in there.values()]
    assert not NAMED & set(THESIS.names(one, one.links, 0))


def test_tokens_and_tails() -> None:
    assert tokens("a.test/~svc/old_notes.html").split() == ["a.test/", "_", "_svc/old", "notes.html"]
    assert tails(["html body div#main.wide ul.x li a", "a", "html body div#main.wide ul.x li a"]) == [
        "ul_li_a",
        "a",
        "ul_li_a",
    ]


def test_the_heading_above() -> None:
    """The last one that ends before the link; a link in a heading has the one before it; a long one in part."""
    long = "word " * 60 + "tail"
    page = page_of(
        "http://a.test/",
        '<a href="a">a</a><h1>One</h1><a href="b">b</a><h2>Two <a href="c">c</a></h2><a href="d">d</a>'
        f'<h2>{long}</h2><a href="e">e</a>',
    )
    told = [
        [name.partition(" ")[0] for name in OURS.names(page, page.links, link) if "above" in name] for link in range(5)
    ]
    assert told == [[], ["one"], ["one"], ["two", "c"], ["word"] * 60]


def test_a_huge_anchor_counts_in_part() -> None:
    anchor = " ".join(f"w{i}" for i in range(300))
    page = page_of("http://a.test/", f'<p>before <a href="x">{anchor}</a> behind</p>')
    row = of_row(THESIS(page, page.links), 0)
    near = hashed(NEAR, "before", *(f"w{i}" for i in range(100, 110)))
    expected = hashed(ANCHOR, *(f"w{i}" for i in range(100))) | near
    assert row == expected | hashed(PATH, "x") | hashed(LINK_FLAG, "link")


# ---- odd pages ------------------------------------------------------------------------------------------------------


def test_a_page_with_nothing_on_it() -> None:
    page = page_of("http://a.test/", "<p></p>")
    seen = OURS(page, page.links)
    assert seen.count == 1
    counts = hashed(FLAG, "page", "links_0", "numbered_0", "words_0")
    assert of_row(seen, 0) == counts | hashed(TOKEN, "a", "test")
    assert of_page(THESIS, page) == hashed(FLAG, "page") | hashed(TOKEN, "a", "test")


def test_an_anchor_without_text() -> None:
    page = page_of("http://a.test/", '<p>one <a href="x"><img src="y"></a> two</p>')
    assert hashed(NEAR, "one", "two") <= of_row(THESIS(page, page.links), 0)


@given(
    st.text(max_size=30) | st.text(st.sampled_from("a1 9.-_٣é\u0301\u0338\u20e3İς\ud800\udc00\x1e\xad漢"), max_size=30)
)
@settings(max_examples=200, deadline=None)
def test_every_feature_of_a_link_has_its_name(text: str) -> None:
    """Whatever an anchor, a title and an address say."""
    page = replace(COURSE, title=text, keywords=text, url=Url(f"http://a.test/{text}"))
    links = replace(COURSE.links.take([0]), anchors=(text,), targets=(Url(f"http://a.test/{text}/{text}"),))
    page = replace(page, url=Url(page.url.replace("\n", "")), links=links)
    links = replace(links, targets=(Url(links.targets[0].replace("\n", "")),))
    for features in (OURS, THESIS):
        seen, names = features(page, links), features.names(page, links, 0)
        values = seen.values[seen.rows == 0].tolist()
        assert len(values) == len(names)
        assert values == [spelt(name) for name in names]


def spelt(name: str) -> int:
    """The feature that a name stands for."""
    ends = {
        " in rest of URL (shape)": REST_SHAPE,
        " (shape)": LINK_SHAPE,
        " in rest of URL": REST,
        " in heading above": ABOVE,
        " in URL": PATH,
        " near": NEAR,
    }
    kind, word = next(((kind, name.removesuffix(end)) for end, kind in ends.items() if name.endswith(end)), (-1, name))
    flags = NAMED | {"link", "number", "own_number", "body_p_a"}
    return min(hashed(kind if kind >= 0 else LINK_FLAG if word in flags else ANCHOR, word))


# ---- sums -----------------------------------------------------------------------------------------------------------

FEATURES = [0, 1, 4095, 4096, 4097, 2**20, 2**31, 2**32 - 4096, 2**32 - 1]  # some begin alike


def seen_of(cells: Iterable[tuple[int, int]], count: int) -> Seen:
    pairs = np.array(list(cells), np.int64).reshape(-1, 2)
    return Seen(pairs[:, 0].astype(np.uint32), pairs[:, 1], count)


@given(
    st.lists(st.tuples(st.sampled_from(FEATURES), st.integers(0, 6)), max_size=40),
    st.lists(st.sampled_from(FEATURES), unique=True),
    st.integers(0, 1000),
)
@settings(deadline=None)
def test_sums_without_the_matrix(cells: Sequence[tuple[int, int]], terms: list[int], seed: int) -> None:
    known, seen = Vocabulary(np.array(sorted(terms), np.uint32)), seen_of(cells, 8)
    dense = np.array([[(term, row) in cells for term in sorted(terms)] for row in range(8)], float).reshape(8, -1)
    weights = np.random.default_rng(seed).normal(size=(len(terms), 3)).astype(np.float32)
    np.testing.assert_array_equal(seen.matrix(known, len(terms)).toarray(), dense)
    np.testing.assert_allclose(seen.sums(known, weights), dense @ weights, atol=1e-5)
    np.testing.assert_allclose(seen.sums(known, weights), seen.matrix(known, len(terms)) @ weights, atol=1e-5)
    assert seen.matrix(known, len(terms) + 2).shape == (8, len(terms) + 2)


def test_sums_of_very_many_rows() -> None:
    """More than 16 bits can number; the upper half has another feature."""
    seen = seen_of(((4096 if row < 35_000 else 8192, row) for row in range(0, 70_000, 2)), 70_000)
    sums = seen.sums(Vocabulary(np.array([4096, 8192], np.uint32)), np.array([[2.0], [3.0]], np.float32))
    assert sums[:, 0].tolist() == [2.0, 0.0] * 17_500 + [3.0, 0.0] * 17_500
