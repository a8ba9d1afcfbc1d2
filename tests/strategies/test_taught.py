"""The material that strategies are taught with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.strategies.taught import TrainingMaterial, check_made, only_unmet
from forager.types import NEVER, ScoredLinks, Visit
from tests.strategies.grounds import ground_of, markup, shown
from tests.visits import page_of, visit_of

GROUND = ground_of(
    {
        "a": markup("", {"b": "x"}),
        "b": markup("", {"c": "x", "http://elsewhere.test/": "x"}),
        "c": markup("", {}),
        "d": markup("", {"a": "x"}),
    },
    "c",
)
A, B, C, D = range(4)


def edges(material: TrainingMaterial) -> set[tuple[int, int]]:
    return set(zip(material.graph.sources.tolist(), material.graph.targets.tolist(), strict=True))


def test_without_paths_the_whole_ground_teaches() -> None:
    material = TrainingMaterial.of(GROUND, [])
    assert edges(material) == {(A, B), (B, C), (D, A)}
    assert material.pages.tolist() == [A, B, C, D]
    assert material.targets.tolist() == [False, False, True, False]
    assert material.shown == ()


def test_shown_steps_are_links_and_ends_that_arrived_are_targets() -> None:
    material = TrainingMaterial.of(GROUND, [shown("a d"), shown("b a", goal=False)])
    assert edges(material) == {(A, B), (B, C), (D, A), (A, D), (B, A)}
    assert material.pages.tolist() == [A, B, D]
    assert material.targets.tolist() == [False, False, True, True]
    assert [run.tolist() for run in material.shown] == [[A, D], [B, A]]


def test_a_page_outside_the_ground_cuts_a_path() -> None:
    material = TrainingMaterial.of(GROUND, [shown("nowhere a d nowhere nowhere b c"), shown("a nowhere")])
    assert [run.tolist() for run in material.shown] == [[A, D], [B, C], [A]]
    assert edges(material) == {(A, B), (B, C), (D, A), (A, D)}
    assert material.targets.tolist() == [False, False, True, False]  # where the second path arrived is not known


def test_paths_through_another_web_are_refused() -> None:
    with pytest.raises(ForagerError, match="show paths through that web"):
        TrainingMaterial.of(GROUND, [shown("x y")])


def test_what_was_made_otherwise_is_refused() -> None:
    check_made("hmm", {"made": "5 states"}, "5 states")
    with pytest.raises(
        ForagerError, match="hmm: this was taught with 4 states, the settings ask for 5 states: use the same"
    ):
        check_made("hmm", {"made": "4 states"}, "5 states")


# ---- links to pages that were judged are not scored -----------------------------------------------------------------

NAN = float("nan")
PAGE = page_of(
    "http://a.test/", "".join(f'<a href="/{name}">{name * length}</a>' for length, name in enumerate("abcd"))
)
SEEN_ON = (5, 6, 7, 8)


@dataclass
class Fake:
    """Scores each link by its target and by what is known of it."""

    carries: bool = True
    asked: list[Visit] = field(default_factory=list)

    @only_unmet
    def score(self, visit: Visit) -> ScoredLinks:
        """What it is worth."""
        self.asked.append(visit)
        values = np.array([ord(target[-1]) for target in visit.links.targets], np.float32)
        counts = np.stack((visit.known.inlinks, visit.known.relevant_inlinks), axis=1)
        state = np.column_stack((values, counts)).astype(np.float32) if self.carries else None
        return ScoredLinks(values * (1 + visit.known.inlinks), state=state, label="a list")


def visited(known: Sequence[float]) -> Visit:
    return visit_of(PAGE, 0.7, known=known, seen_on=SEEN_ON, seen_on_relevant=(1, 2, 3, 4), depth=3)


@pytest.mark.parametrize(
    "known", [(NAN, 0.9, NAN, 0.0), (0.5, NAN, NAN, NAN), (NAN, NAN, NAN, 1.0), (0.1, 0.2, 0.3, NAN)]
)
def test_the_others_get_what_they_get_alone(known: tuple[float, ...]) -> None:
    whole, some = (Fake().score(visited(given)) for given in ([NAN] * 4, known))
    assert whole.state is not None
    assert some.state is not None
    for row, relevance in enumerate(known):
        met = not np.isnan(relevance)
        assert some.scores[row] == (NEVER if met else ord("abcd"[row]) * (1 + SEEN_ON[row]))
        assert some.state[row].tolist() == ([0, 0, 0] if met else whole.state[row].tolist())
    assert some.scores.dtype == some.state.dtype == np.float32


def test_only_the_others_are_seen_of_the_links() -> None:
    fake, visit = Fake(), visited((NAN, 0.9, NAN, 0.0))
    fake.score(visit)
    (asked,) = fake.asked
    assert asked.links.targets == (PAGE.links.targets[0], PAGE.links.targets[2])
    assert asked.links.anchors == (PAGE.links.anchors[0], PAGE.links.anchors[2])
    assert np.isnan(asked.known.relevance).tolist() == [True, True]
    assert asked.known.inlinks.tolist() == [5, 7]
    assert asked.known.relevant_inlinks.tolist() == [1, 3]
    assert (asked.page, asked.judgement, asked.trace) == (visit.page, visit.judgement, visit.trace)


def test_a_visit_of_which_nothing_was_met_passes_as_it_is() -> None:
    fake, visit = Fake(), visited([NAN] * 4)
    scored = fake.score(visit)
    assert fake.asked[0] is visit
    assert scored.scores.tolist() == [ord(name) * (1 + count) for name, count in zip("abcd", SEEN_ON, strict=True)]


def test_where_all_were_met_nothing_is_worth_following() -> None:
    fake = Fake()
    scored = fake.score(visited([0.0, 0.5, 1.0, 0.9]))
    assert len(fake.asked[0].links) == 0
    assert scored.scores.tolist() == [NEVER] * 4
    assert scored.state is not None
    assert scored.state.tolist() == [[0, 0, 0]] * 4


def test_a_page_without_links_has_no_scores() -> None:
    page = page_of("http://a.test/", "<p>nothing")
    assert Fake().score(visit_of(page)).scores.tolist() == []


@pytest.mark.parametrize("known", [[NAN] * 4, [NAN, 0.9, NAN, NAN], [0.9] * 4])
def test_what_carries_nothing_carries_nothing(known: list[float]) -> None:
    assert Fake(carries=False).score(visited(known)).state is None


@pytest.mark.parametrize("known", [[NAN] * 4, [NAN, 0.9, NAN, NAN], [0.9] * 4])
def test_what_the_page_is_taken_for_is_kept(known: list[float]) -> None:
    assert Fake().score(visited(known)).label == "a list"


def test_it_is_still_called_by_its_name() -> None:
    assert (Fake.score.__name__, Fake.score.__doc__) == ("score", "What it is worth.")
