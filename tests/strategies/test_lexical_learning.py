"""What the lexical strategy learns while crawling: where links paid, and which terms led to good pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.crawl.sweep import NO_GRAPH
from forager.errors import ForagerError
from forager.learn.lexical.levels import LevelSettings, TopicLevels
from forager.strategies.lexical import LearningLexicalStrategy, make_lexical
from forager.strategies.lexical import learning as lexical_learning
from forager.strategies.lexical.learning import LinkOutcomes, OutcomeMemory, TermLifts, keys_of, link_clues, words_of
from forager.types import Evidence, Ragged, WaitingBatch
from forager.web.text import terms
from tests.strategies.test_lexical import ByTitle, page
from tests.visits import visit_of

NOTHING = Evidence(Ragged.of([]), np.zeros(0, np.float32), np.zeros(0, np.float32))


def told(rows: Ragged, relevance: Sequence[float]) -> Evidence:
    found = np.array(relevance, np.float32)
    return Evidence(rows, found, found)


def learner(**options: float) -> LearningLexicalStrategy:
    made = make_lexical(critic=ByTitle(), context=4, **options)  # type: ignore[arg-type]
    assert isinstance(made, LearningLexicalStrategy)
    return made


# ---- places ----------------------------------------------------------------------------------------------------------

judged = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 9)), st.sampled_from([0.0, 0.25, 1.0]), max_size=12
)


@given(judged, st.integers(0, 3), st.integers(0, 9), st.integers(1, 4))
def test_what_is_near_is_what_a_loop_finds(
    judged: dict[tuple[int, int], float], on: int, number: int, near: int
) -> None:
    others = [r for (u, m), r in judged.items() if u == on and 0 < abs(m - number) <= near]
    keys = np.array([u << 32 | m for u, m in judged], np.int64)
    outcomes = LinkOutcomes.of(keys, np.array(list(judged.values()), np.float32))
    found = outcomes.near(np.array([on << 32 | number]), near)
    assert found.tolist() == pytest.approx([sum(others) / (1 + len(others))])


def test_clues_say_where_a_link_stands_and_what_its_anchor_says() -> None:
    anchors = terms(["gene therapy", "", " ".join(f"w{i}" for i in range(40))])
    rows = link_clues(7, anchors, words=True)
    assert rows.lengths.tolist() == [4, 2, 18]
    assert keys_of(rows).tolist() == [7 << 32, 7 << 32 | 1, 7 << 32 | 2]
    said = words_of(rows)
    assert [said[i].tolist() for i in range(3)] == [anchors[0].tolist(), [], anchors[2][:16].tolist()]
    assert link_clues(7, anchors, words=False).lengths.tolist() == [2, 2, 2]
    assert keys_of(Ragged.of([[], [3, 1]])).tolist() == [-1, 3 << 32 | 1]
    assert len(link_clues(7, anchors.take(np.zeros(0, np.intp)), words=True)) == 0


def test_only_the_newest_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical_learning, "REMEMBERED", 3)
    places = OutcomeMemory()
    for number in range(20):
        places.learn(np.array([number]), np.array([1], np.float32))
        assert places._count < 6
    assert places.parts()["places"].tolist() == [17, 18, 19]


# ---- proximity -------------------------------------------------------------------------------------------------------


def test_a_link_near_one_that_paid_comes_sooner() -> None:
    """Link 1 of 4 led to a page of relevance 1, link 3 to one of relevance 0: x = 1/2 for link 0 by link 1, …"""
    strategy = learner(proximity=0.5, near=1)
    scored = strategy.score(visit_of(page(), known=[np.nan, 1.0, np.nan, 0.0]))
    assert scored.state is not None
    assert scored.state[:, 3].tolist() == [2, 12, 8, 4]  # before
    assert scored.scores.tolist() == pytest.approx([-2 * 0.75, -12, -8 * (1 - 0.5 / 3), -4])


def test_what_turns_out_later_counts_in_the_next_sweep() -> None:
    """The scores are the same as if the outcome had been known from the start."""
    strategy = learner(proximity=0.5, near=1)
    visit = visit_of(page(), id=9)
    scored = strategy.score(visit)
    assert scored.clues is not None
    assert scored.state is not None
    assert scored.scores.tolist() == [-2, -12, -8, -4]
    at = np.array([1, 3])
    strategy.observe(visit, told(scored.clues.take(at), [1.0, 0.0]))
    ids = np.arange(5, dtype=np.int32)
    seed = Ragged.of([[]])
    batch = WaitingBatch(
        ids,
        ids,
        ids,
        np.append(scored.scores, np.float32(np.inf)),
        np.vstack((scored.state, np.zeros((1, 4), np.float32))),
        Ragged.concat([scored.clues, seed]),
        Ragged.of([[]] * 5),
    )
    again = list(strategy.rescore([batch], NO_GRAPH))
    known = strategy.score(visit_of(page(), known=[np.nan, 1.0, np.nan, 0.0])).scores
    assert [each.tolist() for each in again] == [[*known.tolist(), np.inf]]
    sure = strategy.rescore([batch], NO_GRAPH)
    strategy.observe(visit, told(scored.clues.take(np.array([0, 2])), [1.0, 1.0]))
    assert next(sure).tolist() == [*known.tolist(), np.inf]  # a sweep uses what was known when it began


# ---- terms -----------------------------------------------------------------------------------------------------------

PATH = TopicLevels([["dna"], ["gene"]], [[2], [3]], LevelSettings(context=4))


def test_lifts_by_hand() -> None:
    """dna led once to a good page; gene led once to a good and twice to a bad one: p = 1/2."""
    lifts = TermLifts(PATH, 1.0)
    lifts.learn(terms(["dna", "gene", "gene", "gene", "music"]), np.array([1, 1, 0, 0, 0], np.float32))
    assert lifts.led.tolist() == [1, 3]
    assert lifts.paid.tolist() == [1, 1]
    assert lifts.lifts.tolist() == [1, 1]  # not yet weighed
    lifts.weigh()
    expected = [(1 + 2.5) / (1 + 5) / 0.5, (1 + 2.5) / (3 + 5) / 0.5]
    assert lifts.lifts.tolist() == pytest.approx(expected)
    plain, weighed = lifts.levels(), TermLifts(TopicLevels(PATH.terms, PATH.weights, LevelSettings(weighted=True)), 2.0)
    assert np.concatenate(plain.weights).tolist() == pytest.approx(expected)
    assert plain.settings.weighted
    weighed.learn(terms(["dna", "gene", "gene", "gene"]), np.array([1, 1, 0, 0], np.float32))
    weighed.weigh()
    products = [2 * expected[0] ** 2, 3 * expected[1] ** 2]
    assert np.concatenate(weighed.levels().weights).tolist() == pytest.approx(products)


def test_lifts_are_bounded_and_need_something_that_paid() -> None:
    lifts = TermLifts(PATH, 9.0)
    lifts.learn(terms(["gene"] * 50), np.zeros(50, np.float32))
    lifts.weigh()
    assert lifts.lifts.tolist() == [1, 1]
    lifts.learn(terms(["dna"] * 50), np.ones(50, np.float32))
    lifts.weigh()
    assert lifts.lifts.tolist() == pytest.approx([3, 1 / 3])


def test_terms_that_led_to_good_pages_change_the_level_of_links() -> None:
    """The anchor "dna gene" is at level 2 by its head, until dna has led to good pages and gene to bad ones."""
    strategy = learner(reward=2.0, every=2)
    visit = visit_of(page(), id=1)
    before = strategy.score(visit)
    assert before.clues is not None
    one = link_clues(1, terms(["dna", "gene"]), words=True)
    many = one.take(np.array([0, 1] * 40))
    strategy.observe(visit, told(many, [1.0, 0.0] * 40))
    assert strategy.score(visit).scores.tolist() == before.scores.tolist()  # not before `every` pages
    strategy.observe(visit, NOTHING)
    weights = dict(zip(strategy.links.words.terms[0], strategy.links.words.weights[0].tolist(), strict=True))
    assert weights["dna"] > 1
    assert dict(zip(strategy.links.words.terms[1], strategy.links.words.weights[1].tolist(), strict=True))["gene"] < 1
    assert strategy.links.path.settings == LevelSettings(context=4)  # pages are judged as before


# ---- keeping ---------------------------------------------------------------------------------------------------------


def taught(evidence: Sequence[tuple[str, float]]) -> LearningLexicalStrategy:
    strategy = learner(proximity=0.5, reward=1.0, every=1)
    rows = link_clues(1, terms([anchor for anchor, _ in evidence]), words=True)
    strategy.observe(visit_of(page()), told(rows, [relevance for _, relevance in evidence]))
    return strategy


def test_what_was_learnt_is_kept() -> None:
    strategy = taught([("dna", 1.0), ("gene", 0.0), ("gene therapy", 1.0)])
    again = learner(proximity=0.5, reward=1.0, every=1).from_parts(strategy.parts())
    assert again.score(visit_of(page())).scores.tolist() == strategy.score(visit_of(page())).scores.tolist()
    assert {name: np.asarray(part).tolist() for name, part in again.parts().items()} == {
        name: np.asarray(part).tolist() for name, part in strategy.parts().items()
    }
    with pytest.raises(ForagerError, match="5 terms"):
        make_lexical(critic=OnePath(), reward=1.0).from_parts(strategy.parts())  # type: ignore[attr-defined]


class OnePath(ByTitle):
    def __init__(self) -> None:
        super().__init__()
        self.levels = PATH


def test_terms_learnt_in_shards_merge_to_the_whole() -> None:
    evidence = [("dna", 1.0), ("gene", 0.0), ("gene therapy", 1.0), ("science", 0.0)]
    whole = taught(evidence)
    merged = whole.from_parts(whole.merge([taught(evidence[:2]).parts(), taught(evidence[2:]).parts()]))
    assert merged.parts()["led"].tolist() == pytest.approx(whole.parts()["led"].tolist())
    assert merged.parts()["lifts"].tolist() == pytest.approx(whole.parts()["lifts"].tolist())
    assert len(merged.parts()["places"]) == 0
