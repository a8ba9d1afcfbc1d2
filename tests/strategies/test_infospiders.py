"""InfoSpiders: inputs, draws, energy, learning and death, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.learn.tfidf import Idf, Query
from forager.strategies import BreadthFirst
from forager.strategies.infospiders import (
    ANCESTOR,
    FALL,
    INPUTS,
    NOISE,
    OWNER,
    WINDOW,
    Agent,
    InfoSpiders,
    Population,
    born_on,
    keyword_inputs,
)
from forager.types import (
    NEVER,
    Evidence,
    Floats,
    Graph,
    Ids,
    Miss,
    Page,
    Ragged,
    Reason,
    Terms,
    Url,
    Visit,
    WaitingBatch,
)
from forager.web.text import term
from tests.contracts.test_strategies import crawl
from tests.visits import inlinks, page_of, visit_of

NOTHING = Evidence(Ragged.of([]), np.empty(0, np.float32), np.empty(0, np.float32))
HERE = "http://a.test/here"


def hashed(*words: str) -> Terms:
    return np.array([term(word) for word in words], np.uint32)


def page(*parts: str, url: str = HERE) -> Page:
    """A page: parts in brackets are links with that anchor, other parts are text."""
    links = iter(range(len(parts)))
    marked = (f'<a href="/{next(links)}">{part[1:-1]}</a>' if part.startswith("[") else part for part in parts)
    return page_of(url, f"<body>{' '.join(marked)}</body>")


def spiders(*words: str, **settings: float) -> InfoSpiders:
    chosen = {"keywords": max(1, len(words)), **settings}
    return InfoSpiders(query=Query.of(words), **chosen)  # type: ignore[arg-type]


def led_by(state: Floats) -> Visit:
    """A visit to an irrelevant page, found by a link with this state."""
    return visit_of(page("[on]"), 0.0, parents=inlinks([state.tolist()]))


def waiting(scores: Floats, state: Floats) -> WaitingBatch:
    ids: Ids = np.arange(len(scores), dtype=np.int32)
    return WaitingBatch(ids, ids, ids, scores, state, Ragged.of([[]] * len(ids)), Ragged.of([[]] * len(ids)))


def swept(spiders: InfoSpiders, scores: Floats, state: Floats) -> Floats:
    empty: Ids = np.empty(0, np.int32)
    graph = Graph(np.zeros(1, np.int64), empty, np.empty(0, np.float32), np.empty(0, np.float32), empty)
    return next(spiders.rescore([waiting(scores, state)], graph))


def missed(visit: Visit) -> Miss:
    return Miss(Url("http://a.test/gone"), visit.trace, Reason.NOT_FOUND)


# ---- what an agent sees


def test_inputs_by_hand() -> None:
    told = page("bird", "[nest]", "bird", "[a bird]", "egg", "[x]", "[x]", "[x]", "[x]", "[x]")
    seen = keyword_inputs(told, told.links, hashed("bird", "egg", "fish"))
    # before link 0, between 0 and 1, in the anchor of 1
    bird = [1 + 1 + 1 / 2, 1 / 2 + 1 + 1, 1 / 3 + 1 / 2 + 1 / 2, 1 / 4 + 1 / 3 + 1 / 3, 1 / 5 + 1 / 4 + 1 / 4, 2 / 5, 0]
    egg = [1 / 2, 1, 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]
    assert seen.dtype == np.float32
    assert np.allclose(seen.T, np.array([bird, egg, [0] * 7]))


def test_links_out_of_scope_still_count_for_the_distance() -> None:
    told = page("bird", *["[x]"] * 4)
    assert keyword_inputs(told, told.links.take([1, 3]), hashed("bird")).tolist() == [[1 / 2], [1 / 4]]


def test_pages_without_links_or_words_are_seen_too() -> None:
    alone = page("bird and egg")
    assert keyword_inputs(alone, alone.links, hashed("bird")).shape == (0, 1)
    bare = page("[]", "[]")
    assert keyword_inputs(bare, bare.links, hashed("bird", "egg")).tolist() == [[0, 0], [0, 0]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["bird", "egg", "stone", "[bird]", "[egg bird]", "[stone]"]), max_size=30))
def test_inputs_are_what_walking_from_each_word_to_each_link_gives(parts: list[str]) -> None:
    told = page(*parts)
    links = [at for at, part in enumerate(parts) if part.startswith("[")]
    expected = np.zeros((len(links), 2))
    for at, part in enumerate(parts):
        for row, link in enumerate(links):
            met = sum(1 for other in links if min(at, link) <= other <= max(at, link))
            for column, word in enumerate(("bird", "egg")):
                expected[row, column] += part.count(word) / met if met <= WINDOW else 0
    assert np.allclose(keyword_inputs(told, told.links, hashed("bird", "egg")), expected)


# ---- the draw


def test_the_best_is_drawn_as_often_as_softmax_says() -> None:
    told = visit_of(page("[bird bird bird]", *["[x]"] * 5, "[bird]", *["[x]"] * 5))
    draws = 1_500
    first, second = np.zeros(12), np.zeros(12)
    for seed in range(draws):
        order = np.argsort(-spiders("bird", seed=seed, beta=3.0).score(told).scores)
        first[order[0]] += 1
        second[order[1]] += order[0] == 0
    expected = np.tanh(keyword_inputs(told.page, told.links, hashed("bird"))[:, 0])
    chance = np.exp(3 * expected) / np.exp(3 * expected).sum()
    assert np.abs(first / draws - chance).max() < 4 * np.sqrt(0.25 / draws)
    rest = chance[1:] / chance[1:].sum()  # the second draw is made without the first
    assert np.abs(second[1:] / first[0] - rest).max() < 4 * np.sqrt(0.25 / first[0])


def test_noise_depends_on_seed_url_and_agent() -> None:
    told = visit_of(page("[a]", "[b]"))
    one = spiders("bird", seed=1)
    assert one.score(told).scores.tolist() == one.score(told).scores.tolist()
    assert one.score(told).scores[0] != one.score(told).scores[1]
    assert one.score(told).scores[0] != spiders("bird", seed=2).score(told).scores[0]
    one.population = Population.of([replace(one.population.richest, name=5)])
    assert one.score(told).scores[0] != spiders("bird", seed=1).score(told).scores[0]


def test_state_is_agent_energy_noise_and_inputs() -> None:
    scored = spiders("bird", "egg", beta=2.0, theta=3.0).score(visit_of(page("[bird]", "[x]")))
    assert scored.state is not None
    assert scored.state[:, OWNER].tolist() == [ANCESTOR, ANCESTOR]
    assert scored.state[:, 1].tolist() == [1.5, 1.5]
    assert scored.state[:, INPUTS:].tolist() == [[1, 0], [0.5, 0]]
    expected = 2 * np.tanh(scored.state[:, INPUTS] / np.sqrt(2)) + scored.state[:, NOISE]
    assert scored.scores == pytest.approx(expected)


# ---- energy


def test_energy_is_earned_and_split_with_a_child() -> None:
    crowd = spiders("bird", cost=0.1, theta=2.0, mutation=0.0)
    crowd.observe(visit_of(page("bird"), 0.9), NOTHING)
    assert crowd.population.richest.energy == pytest.approx(1.8)  # 1 + 0.9 - 0.1
    crowd.observe(missed(visit_of(page("bird"))), NOTHING)
    assert crowd.population.richest.energy == pytest.approx(1.7)
    told = visit_of(page("egg nest nest", "[on]"), 0.8)
    crowd.observe(told, NOTHING)  # 2.4
    child = crowd.population.agents[born_on(Url(HERE))]
    assert {name: agent.energy for name, agent in crowd.population.agents.items()} == pytest.approx(
        {ANCESTOR: 1.2, child.name: 1.2}
    )
    assert child.keywords.tolist() == [term("nest")]
    assert child.weights.tolist() == [1, 0]
    assert crowd.population.agents[ANCESTOR].keywords.tolist() == [term("bird")]


def test_parent_and_child_are_both_on_the_page_and_the_better_has_the_link() -> None:
    crowd = spiders("bird", theta=0.2, beta=50.0)
    told = visit_of(page("nest nest nest", "[nest]", *["[x]"] * 9, "[bird bird bird]"), 0.9)
    crowd.observe(told, NOTHING)
    scored = crowd.score(told)
    assert scored.state is not None
    assert scored.state[[0, -1], OWNER].tolist() == [born_on(Url(HERE)), ANCESTOR]


def test_a_child_takes_an_empty_place_first_and_no_word_twice() -> None:
    parent = Agent.first(Query.of(["bird", "egg"]), 3, 4.0)
    noise = np.array([0.5, -0.5, 9, 0.25], np.float32)
    half, child = parent.split(7, hashed("bird", "bird", "bird", "nest", "nest", "owl"), Idf.of([]), noise)
    assert (half.energy, child.energy, child.name) == (2.0, 2.0, 7)
    assert child.keywords.tolist() == hashed("bird", "egg", "nest").tolist()
    root = np.sqrt(0.5)
    assert child.weights.tolist() == pytest.approx([root + 0.5, root - 0.5, root, 0.25])
    assert half.keywords.tolist() == [*hashed("bird", "egg").tolist(), 0]


def test_the_population_is_bounded_and_nobody_hoards() -> None:
    crowd = spiders("bird", theta=1.0, most=3)
    for number in range(50):
        crowd.observe(visit_of(page("bird nest", url=f"http://a.test/{number}"), 1.0), NOTHING)
        assert len(crowd.population) <= 3
        assert all(0 <= agent.energy <= 1.0 for agent in crowd.population.agents.values())
    assert len(crowd.population) == 3


def test_the_last_agent_does_not_die() -> None:
    crowd = spiders("bird", cost=3.0)
    for _ in range(3):
        crowd.observe(visit_of(page("stone"), 0.0), NOTHING)
    assert [agent.energy for agent in crowd.population.agents.values()] == [0.0]


def with_a_death(**settings: float) -> tuple[InfoSpiders, Floats, Floats]:
    """Both agents have found a link. Then the child, which has little energy, dies of an irrelevant page."""
    crowd = spiders("bird", cost=0.5, **settings)
    ancestor = crowd.population.richest
    crowd.population = Population.of([ancestor, replace(ancestor, name=9, energy=0.2)])
    by_ancestor, by_child = (
        crowd._state(agent, visit_of(page("[bird]"))) for agent in crowd.population.agents.values()
    )
    state = np.concatenate((by_ancestor, by_child))
    scores = swept(crowd, np.zeros(2, np.float32), state)
    crowd.observe(led_by(state[1]), NOTHING)
    assert set(crowd.population.agents) == {ANCESTOR}
    return crowd, scores, state


def test_links_of_the_dead_fall_to_the_bottom_once() -> None:
    crowd, scores, state = with_a_death()
    after = swept(crowd, scores, state)
    assert after[0] == scores[0]
    assert after[1] == pytest.approx(scores[1] - FALL)
    assert swept(crowd, after, state).tolist() == after.tolist()


def test_links_of_the_dead_may_be_dropped_instead() -> None:
    crowd, scores, state = with_a_death(abandon=True)
    assert swept(crowd, scores, state).tolist() == [scores[0], NEVER]


def test_the_richest_adopts_what_the_dead_have_found() -> None:
    crowd, _, state = with_a_death()
    before = crowd.population.agents[ANCESTOR]
    found = led_by(state[1])
    crowd.observe(found, NOTHING)
    after = crowd.population.agents[ANCESTOR]
    assert after.energy == pytest.approx(before.energy - 0.5)
    assert after.weights.tolist() == before.weights.tolist()  # another agent scored the link: nothing to learn
    scored = crowd.score(found)
    assert scored.state is not None
    assert scored.state[0, OWNER] == ANCESTOR


# ---- learning


def test_q_learning_by_hand() -> None:
    crowd = spiders("bird", mu=0.5, eta=0.1)
    state = crowd._state(crowd.population.richest, visit_of(page("[bird]")))[0]  # x = 1, w = 1, b = 0
    outcome = visit_of(page("[bird bird]"), 0.6, parents=inlinks([state.tolist()]))
    crowd.observe(outcome, NOTHING)
    estimate, target = np.tanh(1), 0.6 + 0.5 * np.tanh(2)
    step = 0.1 * (target - estimate) * (1 - estimate**2) / 2  # |(x,1)|^2 = 2
    assert crowd.population.agents[ANCESTOR].weights.tolist() == pytest.approx([1 + step, step])


def test_a_miss_is_a_page_without_benefit_and_links() -> None:
    crowd = spiders("bird", eta=0.1)
    state = crowd._state(crowd.population.richest, visit_of(page("[bird]")))[0]
    crowd.observe(missed(led_by(state)), NOTHING)
    estimate = np.tanh(1)
    step = 0.1 * (0 - estimate) * (1 - estimate**2) / 2
    assert crowd.population.agents[ANCESTOR].weights.tolist() == pytest.approx([1 + step, step])


def test_a_sweep_uses_what_was_learnt_but_not_what_is_learnt_meanwhile() -> None:
    crowd = spiders("bird", eta=0.5)
    scored = crowd.score(visit_of(page("[bird]")))
    assert scored.state is not None
    assert swept(crowd, scored.scores, scored.state) == pytest.approx(scored.scores)
    empty: Ids = np.empty(0, np.int32)
    graph = Graph(np.zeros(1, np.int64), empty, np.empty(0, np.float32), np.empty(0, np.float32), empty)
    begun = crowd.rescore([waiting(scored.scores, scored.state)], graph)
    crowd.observe(missed(led_by(scored.state[0])), NOTHING)
    assert next(begun) == pytest.approx(scored.scores)
    assert swept(crowd, scored.scores, scored.state) < scored.scores


# ---- parts


def test_parts_round_trip_and_of_other_settings_do_not() -> None:
    crowd = InfoSpiders(query=Query.of(["bird"]), theta=0.3)
    _, visits = crawl(crowd)
    again = InfoSpiders(query=Query.of(["bird"]), theta=0.3).from_parts(crowd.parts())
    assert len(crowd.population) > 1
    assert list(again.population.agents) == sorted(crowd.population.agents)
    for visit in visits:
        assert again.score(visit).scores.tolist() == crowd.score(visit).scores.tolist()
    with pytest.raises(ForagerError, match="set keywords = 24"):
        spiders("bird").from_parts(crowd.parts())


def test_merging_is_a_union_of_the_richest_and_the_mean_of_those_in_both() -> None:
    def shard(*agents: tuple[int, float, float]) -> InfoSpiders:
        made = spiders("bird", most=3)
        weights = ((name, energy, np.array([weight, 0], np.float32)) for name, energy, weight in agents)
        made.population = Population.of([Agent(name, energy, hashed("bird"), w) for name, energy, w in weights])
        return made

    one, other = shard((0, 1.0, 1.0), (4, 0.1, 5.0)), shard((0, 2.0, 2.0), (7, 0.5, 7.0), (8, 0.4, 8.0))
    merged = one.from_parts(one.merge([one.parts(), other.parts()])).population.agents
    assert {name: (agent.energy, agent.weights[0]) for name, agent in merged.items()} == {
        0: (1.5, 1.5),
        7: (0.5, 7.0),
        8: (0.4, 8.0),
    }


def test_settings_without_sense_are_refused() -> None:
    with pytest.raises(ForagerError, match="most"):
        spiders("bird", most=0)


# ---- a whole crawl


def test_scoring_changes_nothing() -> None:
    crowd = InfoSpiders(query=Query.of(["bird"]), theta=0.3)
    _, visits = crawl(crowd)
    before = crowd.parts()
    for visit in visits:
        assert crowd.score(visit).scores.tolist() == crowd.score(visit).scores.tolist()
    assert all(np.array_equal(before[name], after) for name, after in crowd.parts().items())


@pytest.mark.parametrize("cost", [0.0, 0.05, 0.6])
def test_a_crawl_reaches_all_that_can_be_reached_however_many_die(cost: float) -> None:
    _, all_of_it = crawl(BreadthFirst())
    _, visits = crawl(InfoSpiders(query=Query.of(["bird"]), cost=cost, theta=0.5, every=5))
    assert {visit.page.url for visit in visits} == {visit.page.url for visit in all_of_it}


def test_it_finds_birds_sooner_than_breadth_first() -> None:
    _, plain = crawl(BreadthFirst())
    _, visits = crawl(InfoSpiders(query=Query.of(["bird"])))
    early = [sum("bird" in visit.page.url for visit in found[:20]) for found in (plain, visits)]
    assert early[1] > early[0]
