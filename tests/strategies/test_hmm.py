"""The hidden Markov model: counts by hand, the forward vector by brute force, clusters of pages with separate words."""

from __future__ import annotations

from itertools import pairwise, product
from math import log, pi, prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.learn.chains.rows import shares
from forager.learn.tfidf import Idf, Targets
from forager.paths import PageSequences, Teachable
from forager.store import models
from forager.strategies.hmm import Hmm
from forager.strategies.hmm.model import HmmChain, HmmExamples, PageClusters, bic, x_means
from forager.types import Page, Ragged, ScoredLinks
from tests.strategies.grounds import ground_of, markup, shown
from tests.visits import inlinks, page_of, visit_of

# ---- the chain


def test_counts_with_add_one() -> None:
    pages, states = np.array([7, 5, 4, 7, 6, 5], np.int32), np.array([2, 1, 0, 2, 2, 1], np.int32)
    lesson = HmmExamples.of(PageSequences(pages, states, np.array([0, 3, 6])), 3)
    cluster = np.array([9, 9, 9, 9, 0, 1, -1, 1], np.int32)  # page 6 could not be read
    chain = HmmChain.counted(lesson, cluster, 2)
    assert np.exp(chain.start).tolist() == pytest.approx([1 / 5, 1 / 5, 3 / 5])
    assert np.exp(chain.step).tolist() == [
        pytest.approx([1 / 3, 1 / 3, 1 / 3]),
        pytest.approx([2 / 4, 1 / 4, 1 / 4]),
        pytest.approx([1 / 6, 3 / 6, 2 / 6]),
    ]
    assert np.exp(chain.emit).tolist() == [
        pytest.approx([2 / 3, 1 / 3]),
        pytest.approx([1 / 4, 3 / 4]),
        pytest.approx([1 / 4, 3 / 4]),
    ]


@given(st.integers(2, 4), st.lists(st.integers(0, 2), min_size=1, max_size=4), st.integers(0, 99))
def test_the_forward_vector_sums_over_all_ways_through_the_states(k: int, seen: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    start, step, emit = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(3), k)
    chain = HmmChain(np.log(start), np.log(step), np.log(emit))
    alpha = None
    for cluster in seen:
        alpha = chain.forward(alpha, cluster)
    assert alpha is not None
    last, ahead = np.zeros(k), np.zeros(k)
    for way in product(range(k), repeat=len(seen)):
        chance = start[way[0]] * prod(step[i, j] for i, j in pairwise(way))
        last[way[-1]] += chance * prod(emit[i, c] for i, c in zip(way, seen, strict=True))
    for i, j in product(range(k), repeat=2):
        ahead[j] += last[i] / last.sum() * step[i, j]
    assert np.exp(alpha)[0] == pytest.approx(last / last.sum())
    assert np.exp(chain.ahead(alpha))[0] == pytest.approx(ahead)


# ---- clusters


def test_bic_of_points_on_a_line() -> None:
    """Points 0, 1 and 10, 11 with centroids 0.5 and 10.5: the squares sum to 4/4, s = 1 / (4 - 2)."""
    points, centroids = np.array([[0], [1], [10], [11]], np.float32), np.array([[0.5], [10.5]], np.float32)
    likelihood = 4 * log(1 / 2) - 4 / 2 * log(2 * pi / 2) - (4 - 2) / 2
    assert bic(points, centroids) == pytest.approx(likelihood - 4 / 2 * log(4))
    assert bic(points[:2], centroids) == -np.inf  # as many centroids as points


def blobs(*centres: tuple[float, float], each: int = 40) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    noise = np.random.default_rng(5).normal(0, 0.1, (len(centres), each, 2))
    return np.asarray((np.array(centres)[:, None] + noise).reshape(-1, 2), np.float32)


@pytest.mark.parametrize("seed", range(5))
def test_x_means_finds_how_many_blobs_there_are(seed: int) -> None:
    """Each cluster is in one blob. A blob may be cut in two, because clusters are never joined again."""
    centres = [(0.0, 0.0), (5.0, 0.0), (0.0, 6.0), (9.0, 9.0), (-7.0, 4.0)]
    found = x_means(blobs(*centres), 20, seed)
    distances = np.linalg.norm(found[:, None] - np.array(centres), axis=2)
    assert set(distances.argmin(axis=1).tolist()) == set(range(5))
    assert distances.min(axis=1).max() < 0.3
    assert len(found) <= 6
    assert len(x_means(blobs(*centres), 3, seed)) <= 3
    assert len(x_means(blobs((1.0, 1.0)), 20, seed)) == 1


def test_x_means_of_equal_points_or_a_single_one() -> None:
    assert x_means(np.ones((9, 2), np.float32), 5, 0).tolist() == [[1, 1]]
    assert x_means(np.ones((1, 2), np.float32), 5, 0).tolist() == [[1, 1]]


WORDS = {"apple": 10, "pear": 11, "plum": 12, "iron": 20, "zinc": 21, "lead": 22}


def bag(text: str) -> list[int]:
    return [WORDS[word] for word in text.split()]


def test_pages_of_the_same_words_are_in_a_cluster_and_so_are_new_ones() -> None:
    fruit = ["apple pear", "pear plum", "plum apple", "apple pear plum"] * 5
    metal = ["iron zinc", "zinc lead", "lead iron", "iron zinc lead"] * 5
    bags = Ragged.of([bag(text) for text in fruit + metal])
    clusters = PageClusters.of(bags, Idf.of([]), dimensions=2, most=2, seed=1)
    of = clusters.nearest(clusters.weighed(bags)).tolist()
    assert of[:20] == [of[0]] * 20
    assert of[20:] == [1 - of[0]] * 20
    new = clusters.weighed(Ragged.of([bag("plum"), bag("lead lead iron"), [77, 10]]))
    assert clusters.nearest(new).tolist() == [of[0], 1 - of[0], of[0]]


def test_axes_are_those_of_the_largest_singular_values() -> None:
    bags = Ragged.of([bag(text) for text in ("apple pear", "apple apple plum", "pear iron", "zinc iron plum", "plum")])
    clusters = PageClusters.of(bags, Idf.of(bags[row] for row in range(5)), dimensions=2, most=1, seed=0)
    pages = clusters.weighed(bags).toarray()
    _, _, axes = np.linalg.svd(pages)
    assert clusters.terms.tolist() == sorted(bag("apple pear plum iron"))  # zinc is on one page only
    assert pages @ clusters.axes @ clusters.axes.T == pytest.approx(pages @ axes[:2].T @ axes[:2], abs=1e-5)


def test_a_page_is_weighed_by_all_its_words_and_has_those_that_count() -> None:
    bags = Ragged.of([bag("apple apple pear"), bag("apple zinc"), bag("pear iron")])
    idf = Idf.of(bags[row] for row in range(3))
    found = PageClusters.of(bags, idf, dimensions=2, most=1, seed=0).weighed(bags).toarray()
    common, rare = log(4 / 3), log(4 / 2)  # on two pages of three, or on one
    twice, length = (1 + log(2)) * common, (common**2 + rare**2) ** 0.5
    assert found.tolist() == [
        pytest.approx([twice / (twice**2 + common**2) ** 0.5, common / (twice**2 + common**2) ** 0.5]),
        pytest.approx([common / length, 0]),
        pytest.approx([0, common / length]),
    ]


def test_a_page_without_words_is_in_some_cluster() -> None:
    clusters = PageClusters.of(Ragged.of([[1, 2], [1, 3]]), Idf.of([]), dimensions=9, most=3, seed=0)
    assert clusters.nearest(clusters.weighed(Ragged.of([[]]))).tolist() == [0]


def test_words_of_a_single_page_count_if_there_are_no_others() -> None:
    clusters = PageClusters.of(Ragged.of([[1, 2], [3]]), Idf.of([]), dimensions=9, most=1, seed=0)
    assert clusters.terms.tolist() == [1, 2, 3]
    with pytest.raises(ForagerError, match="no word on the pages"):
        PageClusters.of(Ragged.of([[], []]), Idf.of([]), dimensions=9, most=1, seed=0)


# ---- the strategy

LAYERS = ("exam homework grade", "course list fall", "department people office")


def web() -> dict[str, str | None]:
    """Six ways from a department over a list to a course. All have the same words, and each has one word of its own."""
    pages: dict[str, str | None] = {}
    for way in range(6):
        for hops, words in enumerate(LAYERS):
            onward = {f"p{hops - 1}{way}": ""} if hops else {}
            pages[f"p{hops}{way}"] = markup(f"{words} {words} own{way}", onward)
    return pages


TARGETS = [f"p0{way}" for way in range(6)]


def taught(**settings: int | str) -> Hmm:
    return Hmm(**{"states": 3, "paths": 200, **settings}).taught(ground_of(web(), *TARGETS))  # type: ignore[arg-type]


def page(words: str) -> Page:
    return page_of("http://b.test/", f'<p>{words}</p><a href="x"></a><a href="y"></a>')


def scored(strategy: Hmm, words: str, parent: ScoredLinks | None = None) -> ScoredLinks:
    came = inlinks([parent.state[0].tolist()]) if parent is not None and parent.state is not None else None
    return strategy.score(visit_of(page(words), parents=came))


def test_hops_go_down_along_a_path() -> None:
    strategy = taught()
    department = scored(strategy, LAYERS[2])
    listed = scored(strategy, LAYERS[1], department)
    course = scored(strategy, LAYERS[0], listed)
    assert [visit.label for visit in (department, listed, course)] == ["T2", "T1", "T0"]
    assert -1 <= department.scores[0] <= -0.5  # its links lead to lists: one link to go
    assert 0 <= listed.scores[0] <= 0.5
    assert listed.scores[0] == listed.scores[1]


def test_what_travels_is_the_forward_vector_of_the_page() -> None:
    strategy = taught()
    first = scored(strategy, LAYERS[2])
    second = scored(strategy, LAYERS[1], first)
    assert strategy._model is not None
    chain, clusters = strategy._model.chain, strategy._model.clusters
    alpha = None
    for words in (LAYERS[2], LAYERS[1]):
        weighed = clusters.weighed(Ragged.of([page(words).terms.values]))
        alpha = chain.forward(alpha, int(clusters.nearest(weighed)[0]))
    assert second.state is not None
    assert alpha is not None
    assert second.state.shape == (2, 3)
    assert second.state[1] == pytest.approx(alpha[0], abs=1e-5)


def test_the_way_to_a_page_matters_and_not_its_words_alone() -> None:
    strategy = taught()
    vague = "exam homework grade course list fall department people office"
    after_department = scored(strategy, vague, scored(strategy, LAYERS[2]))
    after_list = scored(strategy, vague, scored(strategy, LAYERS[1], scored(strategy, LAYERS[2])))
    assert after_department.state is not None
    assert after_list.state is not None
    hops = np.arange(3)
    assert float(shares(after_list.state[:1])[0] @ hops) < float(shares(after_department.state[:1])[0] @ hops)


def test_where_states_are_equal_similarity_decides() -> None:
    strategy = taught()
    assert strategy._model is not None
    before = scored(strategy, LAYERS[2])
    plain, alike = scored(strategy, "course list", before), scored(strategy, "course list fall own1", before)
    assert strategy._model.examples.lengths.tolist() == [7] * 6
    targets = Targets(strategy._model.examples, strategy._model.clusters.idf)
    expected = float(targets.cosines(Ragged.of([page("course list fall own1").terms.values])).max()) / 2
    assert plain.scores[0] == 0
    assert alike.scores[0] == pytest.approx(expected)
    assert alike.scores[0] > 0


def test_links_may_be_counted_in_place_of_walks() -> None:
    """Six pages in each layer. Each page of the two upper layers has a link to the layer below."""
    strategy = taught(counted="links")
    assert strategy._model is not None
    chain = strategy._model.chain
    assert np.exp(chain.start).tolist() == pytest.approx([1 / 3] * 3)
    assert np.exp(chain.step).tolist() == [
        pytest.approx([1 / 3, 1 / 3, 1 / 3]),
        pytest.approx([7 / 9, 1 / 9, 1 / 9]),
        pytest.approx([1 / 9, 7 / 9, 1 / 9]),
    ]


def test_shown_paths_are_the_sequences() -> None:
    paths = [shown("p20 p10 p00"), shown("p10 p25", goal=False)]
    strategy = Hmm(states=3).taught(ground_of(web()), paths)
    assert strategy._model is not None
    chain = strategy._model.chain  # p10 is one link from the goal; p25 has no way to it: 2 or more
    assert np.exp(chain.start).tolist() == pytest.approx([1 / 5, 2 / 5, 2 / 5])
    assert np.exp(chain.step).tolist() == [
        pytest.approx([1 / 3, 1 / 3, 1 / 3]),
        pytest.approx([2 / 5, 1 / 5, 2 / 5]),
        pytest.approx([1 / 4, 2 / 4, 1 / 4]),
    ]


def test_only_so_many_targets_are_compared_with() -> None:
    strategy = taught(examples=2)
    assert strategy._model is not None
    assert len(strategy._model.examples) == 2


def test_the_same_seed_learns_the_same() -> None:
    one, other = taught(seed=4).parts(), taught(seed=4).parts()
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_pages_that_cannot_be_read_are_passed_over() -> None:
    broken = ground_of(web() | {"broken": None}, *TARGETS, "broken")
    strategy = Hmm(states=3, paths=200).taught(broken)
    assert scored(strategy, LAYERS[2]).label == "T2"
    with pytest.raises(ForagerError, match="no target that can be read"):
        Hmm().taught(ground_of({"a": markup("x", {"b": ""}), "b": None}, "b"))


def test_a_path_of_another_model_is_refused() -> None:
    with pytest.raises(ForagerError, match="model has 3 states, this path carries 4"):
        taught().score(visit_of(page("x"), parents=inlinks([[0, 0, 0, 0]])))


def test_teaching_makes_another_strategy() -> None:
    untaught = Hmm(states=3)
    assert isinstance(untaught, Teachable)
    untaught.taught(ground_of(web(), *TARGETS))
    assert scored(untaught, "exam").scores.tolist() == [0, 0]
    assert untaught.explain(visit_of(page("exam")), 0) == []


def test_it_explains_how_far_it_is() -> None:
    told = taught().explain(visit_of(page(LAYERS[2])), 0)
    assert told[0][0] == "1 links to go"
    assert sum(weight for _, weight in told[:3]) == pytest.approx(1)
    assert told[3][0] == "similarity of the page to a target"


def test_what_it_knows_can_be_kept(tmp_path: Path) -> None:
    strategy, file = taught(), tmp_path / "model"
    models.save(file, strategy.parts(), kind="hmm", version=1)
    again = Hmm(states=3).from_parts(models.load(file, kind="hmm", version=1))
    before = scored(strategy, LAYERS[2])
    for words in LAYERS:
        one, other = scored(strategy, words, before), scored(again, words, before)
        assert np.array_equal(one.scores, other.scores)
        assert one.state is not None
        assert other.state is not None
        assert np.array_equal(one.state, other.state)
    assert strategy.merge([strategy.parts(), strategy.parts()])["taught"]
    with pytest.raises(ForagerError, match=r"3 states, the settings ask for .* 5 states"):
        Hmm().from_parts(strategy.parts())


@pytest.mark.parametrize(
    "wrong", [{"states": 1}, {"paths": 0}, {"dimensions": 0}, {"clusters": 0}, {"examples": 0}], ids=str
)
def test_settings_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ForagerError, match="hmm"):
        Hmm(**wrong)  # type: ignore[arg-type]
