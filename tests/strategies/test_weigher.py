"""The default strategy, part by part against its formulas, and as a whole against itself misled."""

from __future__ import annotations

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.learn.sample import TopicSample
from forager.strategies.weigher import Weigher
from forager.strategies.weigher.combiner import Combiner, load_weights
from forager.strategies.weigher.known_links import KnownLinks, ReadLinks
from forager.strategies.weigher.meaning import LAMBDA, OUTCOME, LearntMeaning, TopicMeaning, nearest, packed, unpacked
from forager.strategies.weigher.place import (
    BESIDE,
    FEW,
    GUESS,
    SHRINK,
    LinkPlace,
    Success,
    neighbour_keys,
    path_keys,
    place_keys,
)
from forager.strategies.weigher.signals import NAMES, SOURCE, CrawlSoFar, LinkRows
from forager.strategies.weigher.telling import SENTENCES, LinkSignals, signal_of, tell
from forager.strategies.weigher.words import AROUND, LearntWords, TopicWords, words_to_learn
from forager.types import Fetch, Floats, Graph, Page, Ragged, Terms, Url, WaitingBatch
from forager.web.page import parse
from forager.web.text import terms, url_text
from tests.visits import visit_of

DRAW = np.random.default_rng(5)
HERE = Url("http://a.test/birds/")
BIRDS = ("owl nest egg", "nest of the owl", "eagle and owl", "an egg in a nest")
STONES = ("granite and slate", "slate roof", "the age of granite", "marble and slate", "gravel", "sand and gravel")


def page(text: str, url: Url = HERE) -> Page:
    found = parse(Fetch(url, text.encode()))
    assert isinstance(found, Page)
    return found


def sample(flipped: bool = False) -> TopicSample:
    texts = [*BIRDS, *STONES]
    pages = [page(f"<title>{text}</title><p>{text}, and what else there is to say of {text}.") for text in texts]
    return TopicSample.of(pages, [(text in BIRDS) != flipped for text in texts])


# ---- words


def test_the_odds_of_a_word_are_those_of_the_pages_that_have_it_shrunk() -> None:
    given = sample()
    odds = TopicWords(given)(terms(["owl slate unheard"]).values)
    bags = [set(given.bags[row].tolist()) for row in range(len(given.bags))]
    for word, told in zip(("owl", "slate"), odds.tolist(), strict=False):
        has = np.array([terms([word]).values[0] in bag for bag in bags])
        good, bad = int(has[given.wanted].sum()), int(has[~given.wanted].sum())
        q = (good + bad + 1) / (len(has) + 2)
        expected = np.log((good + 4 * q) / (4 + 4)) - np.log((bad + 4 * q) / (6 + 4))
        assert told == pytest.approx(expected, abs=1e-5)
    assert odds[0] > 1 > -0.5 > odds[1]
    assert odds[2] == 0


def test_words_that_name_the_topic_speak_for_a_link_even_without_pages() -> None:
    odds = TopicWords(TopicSample.of((), (), ("snowy owl",)))(terms(["snowy owl slate"]).values)
    assert odds.tolist() == [3.0, 3.0, 0.0]


def test_signals_of_words_are_means_over_anchor_url_context_and_heading() -> None:
    shown = page(
        "<h2>slate</h2><p>an owl sits <a href='/egg/nest'>eagle nest</a> on granite</p>"
        "<h2>egg</h2><a href='/x'>sand</a>"
    )
    links, words = shown.links, TopicWords(sample())
    urls = terms([url_text(url).partition("/")[2] for url in links.targets])
    found = np.concatenate((words.signals(shown, links, urls), words.around(shown, links)), axis=1)

    def mean(text: str) -> float:
        values = words(terms([text]).values)
        return float(values.sum() / (len(values) + 1))

    assert AROUND == 10
    before, after = "slate an owl sits", "on granite egg sand"
    expected = [
        [mean("eagle nest"), mean("egg nest"), mean(f"{before} {after}"), mean("slate")],
        [mean("sand"), mean("x"), mean(f"{before} eagle nest on granite egg"), mean("egg")],
    ]
    assert np.allclose(found, expected, atol=1e-5)


def test_words_of_links_are_learnt_by_what_came_of_them() -> None:
    learnt, seen = LearntWords(), terms(["good bad new"]).values
    for _ in range(3):
        learnt.learn(seen[:1], 1.0)
        learnt.learn(seen[1:2], 0.0)
    told = learnt.signal(seen[:, None])
    assert told[0] > 0.3
    assert told[1] < -0.3
    assert told[2] == 0
    again = LearntWords().from_parts(learnt.parts())
    assert np.array_equal(again.signal(seen[:, None]), told)


def test_the_first_words_of_an_anchor_and_the_last_of_a_url_are_learnt() -> None:
    shown = page("<a href='/a/b/c/d'>one two three four five six</a>")
    kept = words_to_learn(shown, shown.links, terms([url_text(url) for url in shown.links.targets]))
    assert kept[0].tolist() == terms(["one two three four five d c b"]).values.tolist()


# ---- meaning


def test_recursive_least_squares_is_ridge_regression_on_all_outcomes() -> None:
    given = TopicMeaning(sample())
    learnt = LearntMeaning(given.weights, given.inverse)
    vectors, outcomes = DRAW.normal(size=(7, 128)).astype(np.float32), DRAW.random(7)
    for vector, outcome in zip(vectors, outcomes, strict=True):
        learnt.learn(vector, float(outcome), OUTCOME)
    x = np.column_stack((vectors.astype(np.float64), np.ones(7)))
    a = np.linalg.inv(given.inverse) + OUTCOME * x.T @ x
    b = np.linalg.inv(given.inverse) @ given.weights + OUTCOME * x.T @ (2 * outcomes - 1)
    assert np.allclose(learnt.weights, np.linalg.solve(a, b), atol=1e-6)
    assert LAMBDA > 0


def test_the_sample_says_which_meanings_are_wanted() -> None:
    meaning = TopicMeaning(sample())
    shown = page("<a href='/1'>hawk and falcon</a><a href='/2'>limestone quarry</a>")
    texts = ["", ""]
    prior, near, far, _, _ = meaning.signals(meaning.vectors(shown, shown.links, terms(texts), texts)).T
    assert prior[0] > prior[1]
    assert near[0] - far[0] > near[1] - far[1]


def test_a_page_is_judged_by_how_it_begins() -> None:
    meaning = TopicMeaning(sample())
    birds = meaning.opinion(page("<p>The eagle and the owl sit in their nest with an egg, and wait.</p>"))
    assert birds > meaning.opinion(page("<p>Granite, marble, slate and gravel come from the quarry.</p>"))
    assert 0 <= meaning.precision <= 1


def test_nearest_is_the_mean_of_the_three_largest_cosines() -> None:
    vectors, others = DRAW.normal(size=(4, 128)).astype(np.float32), DRAW.normal(size=(9, 128)).astype(np.float32)
    expected = [np.sort([float(v @ o) for o in others])[-3:].mean() for v in vectors]
    assert np.allclose(nearest(vectors @ others.T), expected, atol=1e-4)
    assert nearest(vectors @ others[:0].T).tolist() == [0.0] * 4


def test_a_vector_survives_its_way_in_bytes() -> None:
    vectors: Floats = DRAW.normal(size=(5, 128)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert np.abs(unpacked(packed(vectors)) - vectors).max() <= 0.5 / 127 + 1e-6


@pytest.mark.parametrize(("relevance", "better"), [(1.0, True), (0.0, False)])
def test_a_page_that_came_teaches_by_how_it_begins(relevance: float, better: bool) -> None:
    """The link to it has no words."""
    meaning = TopicMeaning(sample())
    so_far = CrawlSoFar(Success(), meaning.learnt, LearntWords())
    opening = meaning.opening(page("<p>Granite and basalt are broken in a quarry, piece by piece, for the roads."))
    (before,) = so_far.meaning.signal(opening[None])
    rows = LinkRows.of(np.zeros((1, 0), np.float32), Ragged.of([[]]), np.zeros(1, np.int32), np.zeros(1, np.intp))
    so_far.learn(rows, relevance, opening)
    (after,) = so_far.meaning.signal(opening[None])
    assert after > before + 0.01 if better else after < before - 0.01


# ---- places


def rates(success: Success, place: LinkPlace, keys: Terms) -> Floats:
    """The signals of one place, for keys that all places share."""
    return success.signals(np.repeat(keys[:, None], len(LinkPlace), axis=1))[:, place]


def test_the_rate_of_a_place_is_shrunk_to_that_of_the_crawl() -> None:
    success, keys = Success(), np.array([7, 9], np.uint32)
    for relevance in (1.0, 0.5):
        success.learn(LinkPlace.HOST, keys[:1], relevance)
        success.count(relevance)
    b = (1.5 + FEW * GUESS) / (2 + FEW)
    rate = (1.5 + SHRINK * b) / (2 + SHRINK)
    odds = np.log(rate / (1 - rate)) - np.log(b / (1 - b))
    assert rates(success, LinkPlace.HOST, keys).tolist() == pytest.approx([odds, 0.0], abs=1e-5)
    assert rates(success, LinkPlace.FOLDER, keys).tolist() == pytest.approx([0.0, 0.0], abs=1e-5)


def test_places_are_host_folder_and_path() -> None:
    targets = ["http://a.test/x/1", "http://a.test/x/2", "http://b.test/x/1"]
    paths = ["html body ul li a", "html body ul li a", "html body p a"]
    here, there = (path_keys(paths, source) for source in ("http://a.test/", "http://b.test/"))
    keys = np.column_stack((place_keys(targets), here))
    same = keys[:, None] == keys[None]
    assert same[0, 1].all()
    assert not same[0, 2].any()
    assert here[0] != there[0]


# ---- links that were read before


def linking(*links: tuple[str, str]) -> Page:
    return page("".join(f"<p><a href='{path}'>{anchor}</a>" for path, anchor in links))


def same_links(one: ReadLinks, other: ReadLinks) -> bool:
    """Products of matrices differ in the last digits with the number of rows."""
    exact = all(np.array_equal(getattr(one, column), getattr(other, column)) for column in ("vectors", "keys", "words"))
    return exact and np.allclose(one.signals, other.signals, atol=1e-6)


def known_links() -> KnownLinks:
    return KnownLinks(TopicWords(sample()), TopicMeaning(sample()))


def test_links_are_looked_up_as_they_were_read() -> None:
    known, menu = known_links(), (("/owls", "owl nest"), ("/slate", "slate"))
    first = linking(*menu)
    known(first, first.links)
    second = linking(("/owls", "eagle"), menu[1], ("/new", "sand"), menu[0], menu[0])
    assert same_links(known(second, second.links), known_links()(second, second.links))
    assert len(known._at) == 4


def test_too_many_links_are_forgotten_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forager.strategies.weigher.known_links.MOST", 4)
    known = known_links()
    for at in range(5):
        shown = linking(*((f"/{at + step}", f"word{at + step}") for step in range(3)))
        assert same_links(known(shown, shown.links), known_links()(shown, shown.links))
        assert len(known._at) <= 4
    many = linking(*((f"/{at}", f"word{at}") for at in range(9)))
    assert same_links(known(many, many.links), known_links()(many, many.links))


# ---- experts


def links(n: int) -> Floats:
    return DRAW.normal(size=(n, len(NAMES))).astype(np.float32)


def trained(w: float, source: float, pages: int = 300, *, webs: int = 1) -> Combiner:
    """After a crawl in which the source alone decides. The weight of the source is -w with the first learnt expert,
    and w with others."""
    learnt = {f"web {at}": {"w": [0.0] * len(NAMES), "b": 0.0} for at in range(webs)}
    for at, web in enumerate(learnt.values()):
        web["w"][SOURCE] = w if at else -w  # type: ignore[index]
    plain = {"mean": [0.0] * len(NAMES), "scale": [1.0] * len(NAMES), "source": [0.0, source], "webs": learnt}
    combiner = Combiner(plain)
    for signals in links(pages):
        combiner.learn(signals, float(signals[SOURCE] > 0))
    return combiner


def test_where_the_weights_mislead_it_goes_by_the_source() -> None:
    combiner = trained(2.0, 1.0, pages=60)
    assert combiner.trust[1] < 0.01
    signals = links(200)
    assert np.corrcoef(combiner(signals), signals[:, SOURCE])[0, 1] > 0.9


def test_of_two_webs_it_goes_by_the_one_that_is_like_this_one() -> None:
    combiner = trained(2.0, 0.0, pages=30, webs=2)
    assert combiner.trust[1] < 0.01 < combiner.trust[2]
    signals = links(200)
    assert np.corrcoef(combiner(signals), signals[:, SOURCE])[0, 1] > 0.9


def test_what_the_crawl_shows_is_learnt_beside_the_weights() -> None:
    combiner = trained(0.0, 0.0)
    assert combiner.trust[-1] > 0.9
    signals = links(200)
    assert np.corrcoef(combiner(signals), signals[:, SOURCE])[0, 1] > 0.8


def test_without_leave_to_adapt_the_weights_stay_as_they_are() -> None:
    still = Combiner(load_weights(), adapt=False, guard=False)
    before = still.trust.tolist()
    for signals in links(100):
        still.learn(signals, 1.0)
    assert still.trust[[0, -1]].tolist() == [0.0, 0.0]
    assert before[1:-1] == [1 / (len(before) - 2)] * (len(before) - 2)
    assert not still.v.any()


def test_what_each_signal_adds_sums_to_the_difference_in_score() -> None:
    combiner = trained(0.05, 0.3, pages=40, webs=2)
    one, other = links(2) / 10
    difference = float(combiner(one[None])[0] - combiner(other[None])[0])
    assert float((combiner.added(one) - combiner.added(other)).sum()) == pytest.approx(difference, abs=1e-3)


def test_experts_know_after_a_rest_what_they_knew_before() -> None:
    combiner = trained(1.0, 1.0, pages=50)
    again = trained(1.0, 1.0, pages=0).from_parts(combiner.parts())
    assert np.array_equal(again.trust, combiner.trust)
    assert np.array_equal(again.v, combiner.v)


# ---- samples with wrong labels


def labelled(wrong: bool) -> TopicSample:
    """20 pages of each kind, of which about a third is wanted; with wrong labels, of both kinds alike."""
    texts = [*BIRDS * 5, *STONES[:5] * 4]
    wanted = [at % 3 == 0 if wrong else at < 13 for at in range(len(texts))]
    return TopicSample.of(
        [page(f"<title>{text}</title><p>{text}, and more of {text}, for long.") for text in texts], wanted
    )


def test_where_labels_tell_nothing_it_goes_by_the_critic_alone() -> None:
    shown = page("<a href='/1'>owl nest</a><a href='/2'>slate roof</a>")
    for wrong in (True, False):
        strategy = Weigher(sample=labelled(wrong))
        one, other = strategy.score(visit_of(shown, 0.9)).scores.tolist()
        assert (one == other) is wrong
        assert bool(strategy._combiner.trust[0] == 1) is wrong
        worse = strategy.score(visit_of(shown, 0.1)).scores
        assert worse[0] < one


def test_without_the_guard_it_believes_any_labels() -> None:
    assert Weigher(sample=labelled(wrong=True), guard=False)._combiner.trust[0] == 0


# ---- the whole


def test_weights_for_other_signals_are_refused_with_the_cure(tmp_path: object) -> None:
    with pytest.raises(ForagerError, match="make pretrain"):
        Weigher(sample=sample(), weights=f"{tmp_path}/none.json")
    with pytest.raises(ForagerError, match="at least 1"):
        Weigher(sample=sample(), every=0)


# ---- telling


def told(signals: dict[str, float], added: dict[str, float], **given: float) -> list[tuple[str, float]]:
    values, weights = ([given.get(name, 0.0) for name in NAMES] for given in (signals, added))
    score = given.get("score", given["bias"] + sum(weights))
    link, usual = np.array(values, np.float32), np.zeros(len(NAMES), np.float32)
    return tell(NAMES, link, usual, weights, bias=given["bias"], score=score)


def test_every_signal_has_a_sentence_and_every_sentence_a_signal() -> None:
    assert {signal_of(name) for name in NAMES} == set(SENTENCES)


@pytest.mark.parametrize("value", [-9.0, 0.0, 0.3, 2.0])
def test_sentences_are_short_and_plain_whatever_the_signals_are(value: float) -> None:
    link = LinkSignals(dict.fromkeys(NAMES, value), dict.fromkeys(NAMES, 0.0))
    for say in SENTENCES.values():
        assert 10 < len(say(link)) < 100
        assert "nan" not in say(link)


def test_pooled_signals_are_one_line_and_small_ones_are_told_together() -> None:
    added = {"source, largest": -0.5, "source, mean": 1.7, "host": 0.5, "host pages": 0.3, "edge, mean": 0.04}
    lines = told({"source, largest": 2.6, "source, mean": 2.6}, {**added, "depth, mean": -0.01}, bias=-1.5)
    assert [words for words, _ in lines] == [
        "a usual link",
        "the page it is on is relevant (critic: 0.93)",
        "no page of its host has come so far",
        f"other signals ({len(set(SENTENCES.values())) - 2} small ones)",
    ]
    assert [weight for _, weight in lines] == pytest.approx([-1.5, 1.2, 0.8, 0.03])


def test_what_is_cut_off_has_a_line_so_that_all_add_up() -> None:
    lines = told({}, {"source, largest": 20.0}, bias=-1.5, score=8.0)
    assert lines[-1][1] == pytest.approx(-10.5)
    assert sum(weight for _, weight in lines) == pytest.approx(8.0)


def test_the_pages_of_a_host_are_counted_as_they_came() -> None:
    success, key = Success(), np.array([7], np.uint32)
    for relevance in (1.0, 1.0, 0.0, 1.0, 0.0):
        success.learn(LinkPlace.HOST, key, relevance)
        success.count(relevance)
    signals = {
        "host": float(rates(success, LinkPlace.HOST, key)[0]),
        "host pages": float(np.log1p(success.seen(LinkPlace.HOST, key))[0]),
        "base": float(np.log(success.base / (1 - success.base))),
    }
    lines = told(signals, {"host": 1.0}, bias=0.0)
    assert lines[1][0] == "pages of its host so far: 3 of 5 were relevant"


def test_a_link_is_explained_by_its_rows_as_it_is_scored_by_them() -> None:
    strategy = Weigher(sample=sample())
    shown = page(f"<title>owls</title><p>{BIRDS[0]}<a href='/x'>owl nest</a> and <a href='/x'>slate</a>")
    scored = strategy.score(visit_of(shown, 0.9))
    assert scored.state is not None
    assert scored.clues is not None
    zeros, none = np.zeros(2, np.int32), Ragged.of([[], []])
    rows = WaitingBatch(zeros, zeros, zeros, scored.scores, scored.state, scored.clues, none)
    graph = Graph(np.zeros(1, np.int64), zeros[:0], scored.scores[:0], scored.scores[:0], zeros[:0])
    (both,) = strategy.rescore([rows], graph)
    for lines, score in (
        (strategy.explain_rows(rows), both[0]),
        (strategy.explain(visit_of(shown, 0.9), 1), scored.scores[1]),
    ):
        assert sum(weight for _, weight in lines) == pytest.approx(float(score), abs=1e-4)
    assert both[0] != pytest.approx(float(scored.scores[1]), abs=1e-2)
    assert strategy.chances(np.zeros(1, np.float32)) == 0.5


# ---- links between the pages of the sample


def linked_sample() -> TopicSample:
    """Two pages that link to each other, to themselves, and to pages that are not in the sample."""
    texts = {
        "owl": "<a href='/stones/slate'>roof tiles</a> <a href='/birds/owl'>here</a> <a href='/x'>owl</a>",
        "slate": "<a href='/birds/owl'>night hunter</a>",
    }
    urls = [Url("http://a.test/birds/owl"), Url("http://a.test/stones/slate")]
    pages = [page(f"<title>{name}</title>{text}", url) for (name, text), url in zip(texts.items(), urls, strict=True)]
    return TopicSample.of(pages, [True, False])


def test_a_sample_knows_the_links_between_its_pages_also_after_a_rest() -> None:
    for given in (linked_sample(), TopicSample.from_parts(linked_sample().parts())):
        assert given.anchors == ("roof tiles", "night hunter")
        assert given.links.tolist() == [[0, 1], [1, 0]]
        assert given.urls == ("http://a.test/birds/owl", "http://a.test/stones/slate")


def test_words_of_links_between_pages_of_the_sample_are_learnt() -> None:
    learnt = LearntWords()
    learnt.learn_sample(linked_sample())
    hunter, tiles, owl, unheard = (
        float(learnt.signal(np.array([[word]], np.uint32))[0]) for word in terms(["hunter tiles owl granite"]).values
    )
    assert hunter > 0 > tiles
    assert owl > 0  # of the URL
    assert unheard == 0


def test_what_links_between_pages_of_the_sample_mean_is_learnt() -> None:
    given = linked_sample()
    plain = TopicMeaning(TopicSample(given.titles, given.openings, given.bags, given.wanted))
    linked = TopicMeaning(given)
    words = linked._of_texts(["night hunter", "roof tiles"])
    assert np.array_equal(plain.learnt.signal(words), plain.signals(words)[:, 0])
    better, worse = linked.learnt.signal(words) - plain.learnt.signal(words)
    assert better > 0 > worse


def test_links_beside_each_other_share_what_came_of_them() -> None:
    keys = neighbour_keys(3, 12)
    assert len(set(keys.tolist())) == 12 / BESIDE
    assert not set(keys.tolist()) & set(neighbour_keys(4, 12).tolist())
    so_far = CrawlSoFar(Success(), TopicMeaning(sample()).learnt, LearntWords())
    came = np.full(12, np.nan, np.float32)
    came[[0, 1]] = 1.0
    so_far.learn_known(3, came)
    beside = rates(so_far.success, LinkPlace.NEIGHBOURS, keys)
    assert (beside[:BESIDE] > 0).all()
    assert (beside[BESIDE:] == 0).all()
