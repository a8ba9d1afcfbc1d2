"""The features of the path forager by hand: each kind on small pages, and odd pages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.strategies.crf.features import (
    ABOVE,
    ANCHOR,
    DEPTH,
    FLAG,
    HEAD,
    HEADING,
    LAST,
    LINK,
    NEAR,
    PATH,
    PHRASES,
    PLACE,
    SECOND_LAST,
    TAGS,
    TITLE,
    TOKEN,
    WORD,
    CrfFeatures,
    tail,
)
from forager.strategies.link_features import FeatureCodes
from forager.types import Page, Url
from forager.web.text import code, decoded
from tests.visits import page_of

OURS, THESIS = CrfFeatures(), CrfFeatures(ours=False)

COURSE = page_of(
    "http://cs.test/~svc/teaching/cs412/",
    '<title>CS 412: Notes</title><meta name="keywords" content="logic"><meta name="description" content="A course">'
    "<h1>Courses:</h1><p>far b10 b9 b8 b7 b6 b5 b4 b3 b2 b1 "
    '<a href="hw_3.ps">CS-412 Exercise 3</a> a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 far</p>'
    '<h2>Other pages</h2><ul id="x" class="y z"><li><a href="/~svc/">Up</a></li></ul>',
)


def coded(kind: int, *words: str) -> set[int]:
    return {code(word, kind) for word in words}


def of_row(seen: FeatureCodes, row: int) -> set[int]:
    codes, rows = seen.once()
    return set(codes[rows == row].tolist())


def of_page(features: CrfFeatures, page: Page) -> set[int]:
    return of_row(features(page, page.links), len(page.links))


def told(features: CrfFeatures, page: Page, link: int) -> list[str]:
    codes, rows = features(page, page.links).once()
    return features.in_words(page, page.links, codes[rows == link])


# ---- as the thesis has them -----------------------------------------------------------------------------------------


def test_a_link_in_the_thesis() -> None:
    """The words of its anchor, ten words on either side, the words of its URL with the extension, and a constant."""
    near = [f"{side}{far}" for side in "ab" for far in range(1, 11)]
    expected = coded(ANCHOR, "cs", "412", "exercise", "3") | coded(NEAR, *near) | coded(LINK, "link")
    expected |= coded(PATH, "_", "_svc", "teaching", "cs412", "hw", "3", "ps")
    seen = THESIS(COURSE, COURSE.links)
    assert of_row(seen, 0) == expected
    assert seen.links.shape[1] == 2
    behind = coded(NEAR, *(f"a{far}" for far in range(4, 11)), "far", "other", "pages") | coded(ANCHOR, "up")
    assert of_row(seen, 1) == behind | coded(PATH, "_", "_svc") | coded(LINK, "link")


def test_a_page_in_the_thesis() -> None:
    """Words of head and body, words of the URL, and the flag for a heading of the set."""
    near = [f"{side}{far}" for side in "ab" for far in range(1, 11)]
    said = ["cs", "412", "notes", "courses", "far", "exercise", "3", "other", "pages", "up"]
    expected = coded(WORD, *said, *near) | coded(HEAD, "logic", "a", "course")
    expected |= coded(FLAG, "any page", "a heading of the set")
    assert of_page(THESIS, COURSE) == expected | coded(TOKEN, "cs", "test", "_", "_svc", "teaching", "cs412")


@pytest.mark.parametrize(
    ("heading", "known"),
    [("Courses", True), ("research interests.", True), ("Courses of 1996", False), ("Staff", False)],
)
def test_headings_of_the_set(heading: str, known: bool) -> None:
    page, flag = page_of("http://a.test/", f"<h3>{heading}</h3><p>Courses</p>"), coded(FLAG, "a heading of the set")
    assert (flag <= of_page(THESIS, page)) == known
    assert flag <= of_page(CrfFeatures(headings=frozenset([heading.lower().strip(".")])), page)


@pytest.mark.parametrize(("items", "repeats"), [(5, False), (6, True)])
def test_repeated_structure(items: int, repeats: bool) -> None:
    page = page_of("http://a.test/", "<ul>" + "<li>name <b>number</b></li>" * items + "</ul>")
    for features in (OURS, THESIS):
        assert (coded(FLAG, "repeated structure") <= of_page(features, page)) == repeats


def test_a_page_has_the_same_features_whichever_links_are_asked_for() -> None:
    whole, one = OURS(COURSE, COURSE.links), OURS(COURSE, COURSE.links.take([1]))
    assert of_row(one, 0) == of_row(whole, 1)
    assert of_row(one, 1) == of_row(whole, 2)


# ---- our own --------------------------------------------------------------------------------------------------------


def test_a_link_of_ours() -> None:
    """Digits are zeroed except in the words around; six words of the anchor count, and the last six of the URL."""
    near = [f"{side}{far}" for side in "ab" for far in range(1, 9)]
    expected = coded(ANCHOR, "cs", "000", "exercise", "0") | coded(NEAR, *near) | coded(ABOVE, "courses")
    expected |= coded(PATH, "_svc", "teaching", "cs000", "hw", "0", "ps") | coded(LAST, "ps") | coded(SECOND_LAST, "0")
    expected |= coded(PLACE, "in the folder", "in the folder, +3 words") | coded(DEPTH, "7 words")
    assert of_row(OURS(COURSE, COURSE.links), 0) == expected | coded(TAGS, "body p a") | coded(LINK, "link")
    up = (
        coded(ANCHOR, "up")
        | coded(NEAR, *(f"a{far}" for far in range(6, 11)), "far", "other", "pages")
        | coded(ABOVE, "other", "pages")
    )
    up |= coded(PATH, "_", "_svc") | coded(LAST, "_svc") | coded(SECOND_LAST, "_")
    up |= coded(PLACE, "on the site", "on the site, -2 words") | coded(DEPTH, "2 words")
    assert of_row(OURS(COURSE, COURSE.links), 1) == up | coded(TAGS, "ul li a") | coded(LINK, "link")


def test_a_page_of_ours() -> None:
    """2 links count as "2 or more", 4 digits in them as "4 or more", 33 words as "32 or more"."""
    near = [f"{side}{far}" for side in "ab" for far in range(1, 11)]
    said = ["cs", "412", "notes", "courses", "far", "exercise", "3", "other", "pages", "up"]
    expected = coded(WORD, *said, *near) | coded(HEAD, "logic", "a", "course")
    expected |= coded(TOKEN, "_", "_svc", "teaching", "cs000") | coded(HEADING, "courses", "other", "pages")
    expected |= coded(TITLE, "cs", "000", "notes") | coded(FLAG, "any page", "a heading of the set")
    assert len(COURSE.terms.values) == 33
    counts = coded(FLAG, "links from 2 on", "digits in links from 4 on", "words from 32 on")
    assert of_page(OURS, COURSE) == expected | counts


@pytest.mark.parametrize(
    ("path", "last"),
    [("html body div#main.wide ul.x li a", "ul li a"), ("a", "a"), ("p a.x", "p a"), ("", "")],
)
def test_the_last_elements_of_a_tag_path(path: str, last: str) -> None:
    assert tail(path) == last


def test_the_heading_above() -> None:
    """The last heading that ends before the link. A link in a heading has the heading before. Four words count."""
    page = page_of(
        "http://a.test/",
        '<a href="a">a</a><h1>One</h1><a href="b">b</a><h2>Two <a href="c">c</a></h2><a href="d">d</a>'
        '<h2>of this four words count</h2><a href="e">e</a>',
    )
    above = [{name.partition(" ")[0] for name in told(OURS, page, link) if "above" in name} for link in range(5)]
    assert above == [set(), {"one"}, {"one"}, {"two", "c"}, {"of", "this", "four", "words"}]


def test_a_huge_anchor_counts_in_part() -> None:
    anchor = " ".join(f"w{i}" for i in range(300))
    page = page_of("http://a.test/", f'<p>before <a href="x">{anchor}</a> behind</p>')
    expected = coded(ANCHOR, *(f"w{i}" for i in range(10))) | coded(NEAR, "before", "behind")
    assert of_row(THESIS(page, page.links), 0) == expected | coded(PATH, "x") | coded(LINK, "link")


# ---- odd pages ------------------------------------------------------------------------------------------------------


def test_a_page_with_nothing_on_it() -> None:
    page = page_of("http://a.test/", "<p></p>")
    seen = OURS(page, page.links)
    assert seen.links.shape[1] == 0
    counts = coded(FLAG, "any page", "links from 0 on", "digits in links from 0 on", "words from 0 on")
    assert of_row(seen, 0) == counts
    assert of_page(THESIS, page) == coded(FLAG, "any page") | coded(TOKEN, "a", "test")


def test_an_anchor_without_text() -> None:
    page = page_of("http://a.test/", '<p>one <a href="x"><img src="y"></a> two</p>')
    assert coded(NEAR, "one", "two") <= of_row(THESIS(page, page.links), 0)


@given(
    st.text(max_size=30) | st.text(st.sampled_from("a1 9.-_٣é\u0301\u0338\u20e3İς\ud800\udc00\x1e\xad漢"), max_size=30)
)
@settings(max_examples=200, deadline=None)
def test_every_feature_of_a_link_has_its_name(text: str) -> None:
    """For any text in anchor, title and URL."""
    target = Url(f"http://a.test/{text}/{text}".replace("\x1e", ""))
    links = replace(COURSE.links.take([0]), anchors=(text,), targets=(target,))
    page = replace(COURSE, title=text, keywords=text, url=target, links=links)
    for features in (OURS, THESIS):
        codes, rows = features(page, links).once()
        names = features.in_words(page, links, codes)
        assert len(names) == len(codes) == len(rows)
        for name, own, kind in zip(names, codes.tolist(), decoded(codes)[1].tolist(), strict=True):
            before, after = PHRASES[kind].split("{}") if "{}" in PHRASES[kind] else (name, "")
            word = "link" if kind == LINK else name.removeprefix(before).removesuffix(after)
            assert own == code(word, kind), name


def test_a_page_of_which_no_link_is_asked_for() -> None:
    codes, rows = OURS(COURSE, COURSE.links.take([])).once()
    assert set(rows.tolist()) == {0}
    assert set(codes.tolist()) == of_page(OURS, COURSE)
