"""The MEMM as a crawler: what it sees, what travels with a link, and that both are the chain model's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager import models
from forager.chains import memm
from forager.chains.rows import shares
from forager.chains.vocabulary import Vocabulary
from forager.errors import ForagerError
from forager.paths import Ground, Outcome, ShownPath, Step, visit_with
from forager.similarity import Idf, Query
from forager.strategies.memm import MemmCrawler
from forager.strategies.memm_observations import (
    A_IN,
    A_OUT,
    ANCHOR_IN,
    ANCHOR_OUT,
    B_IN,
    B_OUT,
    C_IN,
    C_OUT,
    DESCRIPTION,
    H_IN,
    H_OUT,
    HEAD,
    HEAD_IN,
    L_IN,
    L_OUT,
    LED,
    LINKED,
    RELATION,
    SIZE,
    SIZE_IN,
    TEXT,
    TITLE,
    TITLE_IN,
    U_IN,
    U_OUT,
    URL,
    URL_IN,
    WORD,
    Observer,
    Sets,
)
from forager.text import mix, term, terms, url_text
from forager.types import Page, Ragged, Terms, Url
from tests.visits import page_of

NAMES = ("a", "b", "c", "d", "e", "f")
COURSES, PEOPLE = 4, 6
TEACHING = "Every course"


def markup(title: str, text: str, links: dict[str, str]) -> str:
    items = "".join(f'<li><a href="{target}">{anchor}</a> one two three four</li>' for target, anchor in links.items())
    return f"<title>{title}</title><h1>{title}</h1><p>{text}</p><ul>{items}</ul>"


def school(name: str) -> dict[Url, str]:
    root = f"http://www.{name}.edu"
    courses = {f"/courses/cs{i}": f"CS {i} lectures" for i in range(COURSES)}
    people = {f"/people/{i}": f"Doctor {i}" for i in range(PEOPLE)}
    pages = {
        "/": markup(f"{name} university", "welcome", {"/people": "People", "/teaching": TEACHING}),
        "/teaching": markup("Teaching", "courses of this year", courses),
        "/people": markup("People", "staff of the department", people),
    }
    pages |= {
        f"/courses/cs{i}": markup(f"CS {i} course", "homework exam syllabus", {"/": "Home"}) for i in range(COURSES)
    }
    pages |= {f"/people/{i}": markup(f"Doctor {i}", "research papers", {"/": "Home"}) for i in range(PEOPLE)}
    return {Url(root + path): text for path, text in pages.items()}


PAGES = {url: page_of(url, text) for name in NAMES for url, text in school(name).items()}


def read(urls: Sequence[Url]) -> Iterator[Page | None]:
    return (PAGES.get(url) for url in urls)


def ground(*names: str) -> Ground:
    chosen = {url: page for url, page in PAGES.items() if url.split(".")[1] in names}
    pages = ((url, page.links.targets) for url, page in chosen.items())
    return Ground.of(pages, {url for url in chosen if "/courses/" in url}, read)


def crawler(**options: object) -> MemmCrawler:
    return MemmCrawler(query=Query.of(["course"]), **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def taught() -> MemmCrawler:
    return crawler().taught(ground(*NAMES[:-1]))


def scores(strategy: MemmCrawler, path: str) -> dict[str, float]:
    page = PAGES[Url(f"http://www.f.edu{path}")]
    scored = strategy.score(visit_with(page, np.empty((0, 0), np.float32)))
    return dict(zip(page.links.anchors, scored.scores.tolist(), strict=True))


@pytest.mark.parametrize("inference", ["discounted", "marginal", "viterbi"])
def test_the_way_learnt_on_some_sites_is_known_on_another(inference: str) -> None:
    strategy = crawler(inference=inference).taught(ground(*NAMES[:-1]))
    home = scores(strategy, "/")
    assert home[TEACHING] > home["People"]
    assert min(scores(strategy, "/teaching").values()) > max(home.values())


def test_walks_down_the_layers_teach_how_near_a_page_is() -> None:
    """All walks begin far away, and never see a link that leads nowhere: what they teach is how a path goes on."""
    strategy = crawler(drawn="walks", states=5, count=300).taught(ground(*NAMES[:-1]))
    assert strategy._known is not None
    state, hops = np.empty((0, 0), np.float32), []
    for path, anchor in (("/people/1", "Home"), ("/", TEACHING), ("/teaching", "CS 1 lectures")):
        page = PAGES[Url(f"http://www.f.edu{path}")]
        here, _, travels = strategy._forward(strategy._known, visit_with(page, state))
        row = page.links.anchors.index(anchor)
        state = travels[row : row + 1]
        hops.append(float(shares(here)[row] @ np.arange(5)))
    assert hops[0] > hops[1] > hops[2]


@pytest.mark.parametrize("features", ["all", "text", "words"])
def test_each_set_of_features_can_be_taught(features: str) -> None:
    strategy = crawler(features=features).taught(ground(*NAMES[:-1]))
    home = scores(strategy, "/")
    same = home[TEACHING] == home["People"]
    assert same == (features == "words"), "words of the page alone cannot tell its links apart"


def test_few_shown_paths_teach_too() -> None:
    ways = {Outcome.GOAL: ("/", "/teaching", "/courses/cs1"), Outcome.FAIL: ("/", "/people", "/people/1")}
    shown = [
        ShownPath(f"{name} {end}", tuple(Step(Url(f"http://www.{name}.edu{path}")) for path in way), end)
        for name in NAMES[:3]
        for end, way in ways.items()
    ]
    home = scores(crawler().taught(ground(*NAMES[:3]), shown), "/")
    assert home[TEACHING] > home["People"]


def test_what_travels_is_the_chain_of_the_model(taught: MemmCrawler) -> None:
    """Two pages, with the rows made here from their features, position by position."""
    known = taught._known
    assert known is not None
    home, listed = PAGES[Url("http://www.f.edu/")], PAGES[Url("http://www.f.edu/teaching")]
    first = taught.score(visit_with(home, np.empty((0, 0), np.float32)))
    assert first.state is not None
    row = home.links.anchors.index(TEACHING)
    second = taught.score(visit_with(listed, first.state[row : row + 1]))

    def features(*parts: Terms) -> object:
        return known.vocabulary.rows(Ragged.of([np.concatenate(parts)]))

    see, k = known.observer, taught.states
    page, leaving, arriving, common = seen(see, home)
    alpha = known.model.forward(None, features(page, leaving[row]))
    for link in range(len(listed.links)):
        page, out, into, shared = seen(see, listed)
        here = known.model.forward(alpha, features(page, arriving[row], common, out[link]))
        ahead = known.model.forward(here, features(into[link], shared))
        value = shares(ahead)[0, : k - 1] @ taught.gamma ** np.arange(k - 1)
        assert second.scores[link] == pytest.approx(value, rel=1e-4)


def without(strategy: MemmCrawler, *features: int) -> MemmCrawler:
    """One that has learnt nothing of some features."""
    known = strategy._known
    assert known is not None
    kept = ~np.isin(known.vocabulary.terms, features)
    assert kept.sum() == len(kept) - len(features)
    rows = np.append(kept, True)
    model = memm.Memm(known.model.first[rows], known.model.pairs, known.model.between[rows], known.model.version)
    new = copy(strategy)
    new._known = replace(known, vocabulary=Vocabulary(known.vocabulary.terms[kept]), model=model)
    return new


@pytest.mark.parametrize("inference", ["discounted", "marginal", "viterbi"])
@pytest.mark.parametrize("seed", [True, False])
def test_a_score_is_explained_by_what_it_were_without_each_word(inference: str, seed: bool) -> None:
    strategy = crawler(inference=inference).taught(ground(*NAMES[:-1]))
    home = PAGES[Url("http://www.f.edu/")]
    visit = visit_with(home, np.empty((0, 0), np.float32))
    if not seed:
        travels = strategy.score(visit).state
        assert travels is not None
        visit = visit_with(home, travels[1:])
    link = home.links.anchors.index(TEACHING)
    told = strategy.explain(visit, link)
    assert strategy._known is not None
    figures, score = dict(told), strategy.score(visit).scores[link]
    for words, features in {
        "every in the anchor": (one("every", A_OUT), one("every", A_IN)),
        "welcome before the anchor": (one("welcome", B_OUT), one("welcome", B_IN)),
        "university in the title of the page": (one("university", TITLE), one("university", TITLE_IN)),
        "URL: beside": (one("beside", RELATION),),
    }.items():
        less = without(strategy, *features).score(visit).scores[link]
        assert figures[words] == pytest.approx(score - less, abs=1e-6), words
    chances = told[: strategy.states]
    here, _, _ = strategy._forward(strategy._known, visit)
    assert [figure for _, figure in chances] == pytest.approx(shares(here)[link])
    assert chances[0][0] == "0 links to go from the page"
    assert chances[-1][0] == "3 links to go from the page, or more"
    moved = [abs(figure) for _, figure in told[strategy.states :]]
    assert moved == sorted(moved, reverse=True)
    assert not any("…" in words for words, _ in told)


def test_the_papers_observations_are_explained_too() -> None:
    strategy = crawler(features="all").taught(ground(*NAMES[:-1]))
    page = PAGES[Url("http://www.f.edu/teaching")]
    told = dict(strategy.explain(visit_with(page, np.empty((0, 0), np.float32)), 0))
    assert told.keys() >= {"cs in the anchor or near it", "cs on the page", "the page like a target by .1 or more"}
    assert min(told["cs in the anchor or near it"], told["cs on the page"]) > 0


def test_what_has_learnt_nothing_explains_nothing() -> None:
    assert crawler().explain(visit_with(PAGES[Url("http://www.f.edu/")], np.empty((0, 0), np.float32)), 0) == []


def test_a_marginal_score_is_minus_the_expected_hops(taught: MemmCrawler) -> None:
    rows = np.log(np.array([[0.7, 0.2, 0.1, 1e-300]]))
    assert taught._priority(rows)[0] == pytest.approx(0.7 + 0.3 * 0.2 + 0.09 * 0.1)
    assert crawler(inference="marginal")._priority(rows)[0] == pytest.approx(-0.4)
    assert crawler(inference="viterbi")._priority(rows)[0] == pytest.approx(memm.viterbi_priority(rows)[0])


def test_a_long_path_neither_overflows_nor_vanishes(taught: MemmCrawler) -> None:
    state = np.empty((0, 0), np.float32)
    home = PAGES[Url("http://www.f.edu/")]
    for _ in range(100):
        scored = taught.score(visit_with(home, state))
        assert scored.state is not None
        assert np.isfinite(scored.state).all()
        state = scored.state[:1]


def test_it_is_kept_whole(taught: MemmCrawler, tmp_path) -> None:  # type: ignore[no-untyped-def]
    models.save(tmp_path / "m", taught.parts(), kind="memm", version=1)
    again = crawler().from_parts(models.load(tmp_path / "m", kind="memm", version=1))
    assert scores(again, "/") == scores(taught, "/")
    with pytest.raises(ForagerError, match="set it alike, or teach it again"):
        crawler(states=5).from_parts(taught.parts())
    with pytest.raises(ForagerError, match="teach it again"):
        crawler(features="all").from_parts(taught.parts())


def test_wrong_options_and_grounds_are_told() -> None:
    with pytest.raises(ForagerError, match="states must be at least 2"):
        crawler(states=1)
    unlinked = Ground.of([(Url("http://x.edu/"), ()), (Url("http://y.edu/"), ())], {Url("http://x.edu/")}, read)
    with pytest.raises(ForagerError, match="give targets that are linked"):
        crawler().taught(unlinked)


# ---- observations ---------------------------------------------------------------------------------------------------


def observer(sets: Sets) -> Observer:
    target = page_of("http://a.test/t", "<title>Course syllabus</title><p>homework exam</p>")
    return Observer.of(sets, ["teaching"], [target], Idf.of([]), 10, 0)


def seen(see: Observer, page: Page) -> tuple[Terms, list[Terms], list[Terms], Terms]:
    """Features of a page, leaving and arriving ones of each of its links, and what all links have in common."""
    features, n = see.said(page, page.links).by_rows(), len(page.links)
    rows = [features[row] for row in range(2 * n + 2)]
    return rows[n], rows[:n], rows[n + 1 : -1], rows[-1]


def one(word: str, place: int) -> int:
    return int(mix(np.array([term(word)], np.uint32), place)[0])


def test_the_papers_observations_by_hand() -> None:
    """Keywords are teaching, course and syllabus; "exam" is only in the text of the target."""
    see = observer(Sets.PAPER)
    page = page_of(
        "http://b.test/", '<p>exam teaching</p> one two three four five <a href="/syllabus">the course</a> six'
    )
    own, leaving, arriving, common = seen(see, page)
    assert one("teaching", WORD) in own
    assert one("exam", WORD) not in own
    flag = [int(mix(np.zeros(1, np.uint32), place)[0]) for place in (LINKED, LED, TEXT, DESCRIPTION)]
    assert flag[0] in own  # a link has a keyword in its URL
    assert flag[2] in own  # "exam" and "course" are in the target: the cosine reaches a tenth
    assert flag[3] not in own  # nothing is said of the page
    assert set(arriving[0].tolist()) == {flag[1], one("course", ANCHOR_IN)}
    assert not len(common)
    assert leaving[0].tolist() == [one("course", ANCHOR_OUT)]


def test_ours_takes_numbers_alike() -> None:
    see = observer(Sets.OURS)
    pages = [page_of("http://b.test/", f'<a href="/cs{number}.html">CS {number}</a>') for number in (101, 2)]
    alike = [set(seen(see, page)[1][0].tolist()) for page in pages]
    assert alike[0] == alike[1]


LISTED = """<title>Teaching 1996</title><p>before the first heading <a href="//c.test/~ann/cv.PDF?x=1">Ann ２３</a> gap
<h2>Courses of 1996</h2><ul><li><a href="/a/cs_101/notes%20x.html">CS101 a a</a>
<li><a href="/a/b/page1/">two 22</a></ul>
<h2>Else</h2><p><a href="/">home</a> after <a href="/a/b/see?u=http://d.test/e_f/7">see</a>"""


def test_ours_by_hand() -> None:
    """All features of a page and its links, word by word and text by text."""
    page = page_of("http://b.test/a/b/index.html", LISTED)
    words = [word for leaf in page.leaves for word in re.findall(r"\w+", leaf.lower())]
    assert [term(word) for word in words] == page.terms.values.tolist()
    relations = [
        "ext_pdf depth2 elsewhere home",
        "ext_html depth3 across",
        "ext_folder depth4 below",
        "ext_folder depth1 above",
        "ext_none depth3 below",  # by the "/" of its query
    ]
    urls = ["/~ann/cv.pdf?x=0", "/a/cs 0/notes%0x.html", "/a/b/page0/", "/", "d.test/e f/0"]
    lasts = ["cv.pdf?x=0", "notes%0x.html", "page0", "", "0"]
    anchors, above = ["ann 0", "cs0 a a", "two 0", "home", "see"], ["", "courses of 0", "courses of 0", "else", "else"]
    own, leaving, arriving, common = seen(observer(Sets.OURS), page)

    def features(said: dict[int, str]) -> list[int]:
        return sorted({one(word, place) for place, text in said.items() for word in re.findall(r"\w+", text)})

    for link in range(5):
        first, last = page.terms.offsets[[page.links.first_leaf[link], page.links.last_leaf[link] + 1]]
        sides = " ".join(words[max(first - 10, 0) : first]), " ".join(words[last : last + 10])
        said = (anchors[link], *sides, above[link], urls[link], lasts[link])
        out, into = (A_OUT, B_OUT, C_OUT, H_OUT, U_OUT, L_OUT), (A_IN, B_IN, C_IN, H_IN, U_IN, L_IN)
        assert sorted(leaving[link].tolist()) == features(dict(zip(out, said, strict=True))), link
        assert sorted(arriving[link].tolist()) == features(
            dict(zip(into, said, strict=True)) | {RELATION: relations[link]}
        )
    size = f"links2 words{int(np.log2(len(words) + 1))}"
    about = ("teaching 0", "courses of 0 else", "b.test/a/b/index.html", size)
    assert sorted(common.tolist()) == features(dict(zip((TITLE_IN, HEAD_IN, URL_IN, SIZE_IN), about, strict=True)))
    of_page = features(dict(zip((TITLE, HEAD, URL, SIZE), about, strict=True)))
    assert sorted(own.tolist()) == sorted([*of_page, one("teaching", WORD)])


PARTS = st.sampled_from(["a", "b_c", "x.y", "%41b", "%C3%A9", "~d", "7", "?u=", "http:", ""])


@given(st.lists(st.lists(PARTS, min_size=1, max_size=5).map("/".join), min_size=1, max_size=4))
def test_words_of_urls_are_those_of_the_path_and_of_its_last_part(paths: list[str]) -> None:
    """However they are cut: escapes undone, a URL within a URL alone."""
    page = page_of("http://b.test/", "".join(f'<a href="http://c.test/{path}">one</a> ' for path in paths))
    _, leaving, _, _ = seen(observer(Sets.OURS), page)
    assert len(page.links) == len(paths)
    for target, found in zip(page.links.targets, leaving, strict=True):
        path = re.sub("[0-9]+", "0", target[target.find("/", 8) :])
        last = path.rstrip("/").rpartition("/")[2]
        expected = {place: terms([url_text(text)])[0] for place, text in ((U_OUT, path), (L_OUT, last))}
        of_urls = {int(feature) for place, said in expected.items() for feature in mix(said, place)}
        others = {one(word, place) for word in ("one",) for place in (A_OUT, B_OUT, C_OUT)}
        assert set(found.tolist()) - others == of_urls - others


def test_words_alone_see_nothing_of_links() -> None:
    see = observer(Sets.WORDS)
    page = page_of("http://b.test/", '<p>teaching</p><a href="/syllabus">course</a>')
    own, leaving, arriving, common = seen(see, page)
    assert set(own.tolist()) == {one("teaching", WORD), one("course", WORD)}
    assert [*map(len, leaving), *map(len, arriving), len(common)] == [0, 0, 0]
