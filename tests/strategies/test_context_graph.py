"""The context graph: a web of three pages, worked out by hand."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.paths import Teachable
from forager.store import models
from forager.strategies.context_graph import ContextGraph
from forager.types import Page, ScoredLinks
from tests.strategies.grounds import ground_of, markup, shown
from tests.visits import page_of, visit_of

WEB: dict[str, str | None] = {
    "target": markup("apple apple pear", {}),
    "list": markup("pear", {"target": "menu"}),
    "stone": markup("stone", {}),  # leads nowhere: in no layer, but counts for idf
}
# n(0,.): apple 2, pear 1; n(1,.): pear 1, menu 1; |T| = 3
THETA = {"apple": (3 / 6, 1 / 5), "pear": (2 / 6, 2 / 5), "menu": (1 / 6, 2 / 5)}


def taught(**settings: float) -> ContextGraph:
    return ContextGraph(**{"layers": 1, **settings}).taught(ground_of(WEB, "target"))  # type: ignore[arg-type]


def page(words: str) -> Page:
    return page_of("http://b.test/", f'<p>{words}</p><a href="x"></a><a href="y"></a>')


def placed(strategy: ContextGraph, words: str) -> list[float]:
    """The layer and the confidence of a page."""
    return list(strategy.layer(page(words)))


def scored(strategy: ContextGraph, words: str) -> ScoredLinks:
    return strategy.score(visit_of(page(words)))


def test_all_links_of_a_page_have_its_confidence_less_its_layer() -> None:
    apple = scored(taught(), "apple stone")
    assert apple.scores.tolist() == pytest.approx([5 / 7] * 2)
    assert apple.label == "layer 0"
    menu = scored(taught(), "menu menu")
    assert menu.scores.tolist() == pytest.approx([(4 / 25) / (4 / 25 + 1 / 36) - 1] * 2)
    assert menu.label == "layer 1"


def test_a_page_that_is_not_sure_waits_behind_the_last_layer() -> None:
    assert scored(taught(), "pear").scores[0] == pytest.approx(6 / 11 - 1)
    unsure = scored(taught(threshold=0.6), "pear")
    assert unsure.scores[0] == pytest.approx(6 / 11 - 2)
    assert unsure.label == "other"


def test_a_page_without_a_word_that_counts_is_of_no_layer() -> None:
    assert scored(taught(), "stone").label == "other"
    assert scored(taught(), "").label == "other"


def test_layers_without_pages_are_never_chosen() -> None:
    strategy = taught(layers=4)
    assert [strategy.layer(page(words))[0] for words in ("apple", "menu", "stone")] == [0, 1, 5]
    assert strategy.layer(page("apple"))[1] == pytest.approx(5 / 7)


def test_a_page_is_its_terms_of_largest_tf_idf() -> None:
    strategy = taught(terms=1)  # target: apple 2; list: menu, of greater idf than pear; |T| = 2
    assert placed(strategy, "apple pear menu menu") == pytest.approx([1, (2 / 3) ** 2 / ((2 / 3) ** 2 + 1 / 16)])
    assert strategy.layer(page("pear"))[0] == 2  # a word that counts, but is the strongest of no page


def test_only_words_of_the_layers_of_the_vocabulary_count() -> None:
    strategy = taught(vocabulary=0)  # apple, pear
    assert strategy.layer(page("menu"))[0] == 2
    assert placed(strategy, "apple") == pytest.approx([0, (3 / 5) / (3 / 5 + 1 / 3)])


def test_layers_are_links_to_the_nearest_target() -> None:
    far = {**WEB, "home": markup("welcome", {"list": "plum"}), "root": markup("entrance", {"home": "quince"})}
    strategy = ContextGraph(layers=3, vocabulary=3, threshold=0).taught(ground_of(far, "target"))
    assert [strategy.layer(page(w))[0] for w in ("apple", "menu", "welcome plum", "entrance quince")] == [0, 1, 2, 3]


def test_shown_paths_make_the_layers() -> None:
    ground = ground_of({**WEB, "search": markup("query", {}), "unseen": markup("fig", {"target": "fig"})})
    strategy = ContextGraph(layers=1).taught(ground, [shown("search target"), shown("stone search", goal=False)])
    assert strategy.layer(page("query"))[0] == 1
    assert strategy.layer(page("apple"))[0] == 0
    assert strategy.layer(page("fig"))[0] == 2  # was not on the paths


def test_pages_that_cannot_be_read_are_passed_over() -> None:
    broken = ground_of({**WEB, "broken": None}, "target", "broken")
    strategy = ContextGraph(layers=1).taught(broken)
    assert placed(strategy, "apple stone") == pytest.approx([0, 5 / 7])
    with pytest.raises(ForagerError, match="no target that can be read"):
        ContextGraph().taught(ground_of({**WEB, "broken": None}, "broken"))


def test_teaching_makes_another_strategy() -> None:
    untaught = ContextGraph(layers=1)
    assert isinstance(untaught, Teachable)
    untaught.taught(ground_of(WEB, "target"))
    assert untaught.score(visit_of(page("apple"))).scores.tolist() == [-2, -2]
    assert untaught.explain(visit_of(page("apple")), 0) == []


def test_it_explains_a_layer_by_words() -> None:
    told = taught().explain(visit_of(page("apple pear pear stone")), 0)
    assert [word for word, _ in told] == ["apple", "pear"]
    expected = [log(THETA["apple"][0] / THETA["apple"][1]), 2 * log(THETA["pear"][0] / THETA["pear"][1])]
    assert [weight for _, weight in told] == pytest.approx(expected)


def test_what_it_knows_can_be_kept(tmp_path: Path) -> None:
    strategy, file = taught(layers=4), tmp_path / "model"
    models.save(file, strategy.parts(), kind="context-graph", version=1)
    again = ContextGraph().from_parts(models.load(file, kind="context-graph", version=1))
    for words in ("apple", "menu pear", "stone"):
        assert np.array_equal(scored(again, words).scores, scored(strategy, words).scores)
    assert strategy.merge([strategy.parts(), strategy.parts()])["taught"]
    with pytest.raises(ForagerError, match=r"layers 0 to 4, 40 terms a page, the settings ask for .* layers 0 to 3"):
        ContextGraph(layers=3).from_parts(strategy.parts())


@pytest.mark.parametrize("wrong", [{"layers": 0}, {"terms": 0}, {"vocabulary": -1}, {"threshold": 1.5}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ForagerError, match="context-graph"):
        ContextGraph(**wrong)  # type: ignore[arg-type]
