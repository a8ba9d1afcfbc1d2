from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as trying
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.learn.lexical.levels import FEATURE_VERSION, LevelSettings, LinkTexts, TermMatch, TopicLevels
from forager.store import models
from forager.web.text import terms
from tests.learn.lexical.naive import Level, NaiveLevels, said, spoken, term
from tests.visits import page_of

# LS by hand: "gene" with "gene therapy" 1/4, with "gene" 1; "therapy" with "gene therapy" 1/2 + 1/4.
TARGET, PARENT, TOP = ["gene therapy", "dna"], ["gene", "cell culture"], ["science"]
PATH = TopicLevels([TARGET, PARENT, TOP])


# ---- against the definitions -----------------------------------------------------------------------------------------

weights = st.sampled_from([0.0, 0.5, 1.0, 2.25, 3.0])
level = st.dictionaries(term, weights, max_size=4).map(lambda found: sorted(found.items()))
full = level.filter(bool)
paths = st.tuples(full, st.lists(level, max_size=2), full, st.lists(level, max_size=1)).map(
    lambda found: [found[0], *found[1], found[2], *found[3]]
)
choices = st.builds(
    LevelSettings,
    weighted=st.booleans(),
    context=st.integers(4, 6),
    strict=st.booleans(),
    parent_share=st.sampled_from([0.0, 0.5, 1.0, 1.5]),
)
sides = st.lists(spoken, max_size=8).map(" ".join)


def both(levels: list[Level], chosen: LevelSettings) -> tuple[TopicLevels, NaiveLevels]:
    listed, weighed = [[t for t, _ in level] for level in levels], [[c for _, c in level] for level in levels]
    naive = NaiveLevels(levels, chosen)
    return TopicLevels(listed, weighed, chosen), naive


def close(got: Any, expected: Any) -> None:
    assert np.asarray(got) == pytest.approx(np.array(expected, np.float64).reshape(np.shape(got)), abs=1e-9)


@trying(deadline=None)
@given(paths, choices, st.lists(said, max_size=5))
def test_content_is_that_of_the_double_loop(levels: list[Level], chosen: LevelSettings, anchors: list[str]) -> None:
    path, naive = both(levels, chosen)
    expected = [naive.content(anchor) for anchor in anchors]
    close(path.content_scores(anchors), expected)
    assert path.content_levels(anchors).tolist() == [naive.best(scores) for scores in expected]


@trying(deadline=None)
@given(paths, choices, st.lists(st.tuples(sides, sides), max_size=4))
def test_context_is_that_of_the_double_loop(
    levels: list[Level], chosen: LevelSettings, around: list[tuple[str, str]]
) -> None:
    path, naive = both(levels, chosen)
    expected = [naive.context(*sides) for sides in around]
    lefts, rights = [left for left, _ in around], [right for _, right in around]
    close(path.context_scores(lefts, rights), expected)
    assert path.context_levels(lefts, rights).tolist() == [naive.best(scores) for scores in expected]


@trying(deadline=None, max_examples=50)
@given(paths, choices, st.lists(said, max_size=4), st.lists(st.tuples(sides, sides), max_size=3))
def test_bounded_texts_are_classified_as_in_appendix_6(
    levels: list[Level], chosen: LevelSettings, anchors: list[str], around: list[tuple[str, str]]
) -> None:
    path, naive = both(levels, replace(chosen, bounded_texts=True))
    expected = [naive.term_classify(anchor, naive.content(anchor)) for anchor in anchors]
    assert path.content_levels(anchors).tolist() == expected
    lefts, rights = [left for left, _ in around], [right for _, right in around]
    expected = [naive.term_classify(f"{left} {right}", naive.context(left, right)) for left, right in around]
    assert path.context_levels(lefts, rights).tolist() == expected


@trying(deadline=None)
@given(paths, choices, level)
def test_page_is_that_of_the_double_loop(levels: list[Level], chosen: LevelSettings, page: Level) -> None:
    path, naive = both(levels, chosen)
    listed, weighed = [t for t, _ in page], [c for _, c in page]
    close(path.page_scores(listed, weighed), naive.page(page))
    for i, terms_of_level in enumerate(naive.levels):
        assert path.boundaries[i] == pytest.approx(float(naive.boundary(i)) if terms_of_level else np.inf)
    assert path.page_level(listed, weighed) == naive.page_level(page)


@trying(deadline=None)
@given(paths, choices, st.lists(st.tuples(sides, sides), max_size=3))
def test_matches_are_what_the_scores_are_made_of(
    levels: list[Level], chosen: LevelSettings, around: list[tuple[str, str]]
) -> None:
    path, _ = both(levels, chosen)
    for left, right in around:
        scores = np.zeros(path.count)
        for match in path.context_matches(left, right):
            scores[match.level - 1] = max(scores[match.level - 1], match.value)
        close(path.context_scores([left], [right])[0], scores)
        summed = np.zeros(path.count)
        for match in path.content_matches(left):
            summed[match.level - 1] += match.value
        sizes = [max(len(level), 1) for level in path.terms[: path.count]]
        close(path.content_scores([left])[0], summed / sizes)


# ---- by hand ---------------------------------------------------------------------------------------------------------


def test_content_is_a_mean_over_the_level() -> None:
    # "gene": (1/4 + 0) / 2, (1 + 0) / 2, 0;  "gene therapy": (1 + 0) / 2, 1/4 / 2, 0
    close(PATH.content_scores(["gene", "Gene therapy", "sports"]), [[1 / 8, 1 / 2, 0], [1 / 2, 1 / 8, 0], [0, 0, 0]])
    assert PATH.content_levels(["gene", "Gene therapy", "sports"]).tolist() == [2, 1, 4]


def test_context_is_the_best_n_gram_of_either_side() -> None:
    # left: "new gene": gene with "gene therapy" 1/4, with "gene" 1. right: "therapy": 1/2 + 1/4
    close(PATH.context_scores(["a new gene"], ["therapy"]), [[3 / 4, 1, 0]])


def test_context_does_not_reach_across_the_anchor() -> None:
    assert PATH.context_scores([""], ["gene therapy"])[0, 0] == 1
    assert PATH.context_scores(["gene"], ["therapy"])[0, 0] == 3 / 4


def test_context_is_the_nearest_words() -> None:
    near = TopicLevels([TARGET, PARENT], settings=LevelSettings(context=4))
    assert near.context_levels(["dna one two three four", "dna one two three"], ["", ""]).tolist() == [3, 1]
    assert near.context_levels(["", ""], ["one two three four dna", "one two three dna"]).tolist() == [3, 1]


def test_page_is_a_mean_of_the_best() -> None:
    # terms: "gene therapy" 1, 1/4, 0; "cell therapy": 1/2 + 1/6, 1/6, 0; "football": 0
    scores = PATH.page_scores(["gene therapy", "cell therapy", "football"])
    close(scores, [(1 + 2 / 3) / 3, (1 / 4 + 1 / 6) / 3, 0])


def test_boundaries_are_means_over_the_other_levels() -> None:
    # page(level 2, 1) = (1/4 + 0) / 2, page(level 3, 1) = 0;  page(level 1, 2) = (1/4 + 0) / 2, page(level 3, 2) = 0
    close(PATH.boundaries, [1 / 16, 1 / 16, 0])


def test_a_page_below_the_boundary_is_outside() -> None:
    dna_and_others = ["dna", *(f"football {i}" for i in range(15))]
    close(PATH.page_scores(dna_and_others), [1 / 16, 0, 0])
    assert PATH.page_level(dna_and_others) == 1
    assert PATH.page_level([*dna_and_others, "football"]) == PATH.outside == 4


def test_weights_of_level_terms_for_links_and_of_both_for_pages() -> None:
    weighed = TopicLevels([TARGET, PARENT], [[2, 1], [3, 1]], LevelSettings(weighted=True))
    close(weighed.content_scores(["gene"]), [[2 / 4 / 2, 3 / 2]])
    close(weighed.context_scores(["gene"], [""]), [[2 / 4, 3]])
    close(weighed.page_scores(["gene", "football"], [5, 9]), [(5 + 2) / 2 / 4 / 2, (5 + 3) / 2 / 2])
    # page(level 2, 1): "gene" (3 + 2) / 2 / 4, "cell culture" 0; over 2
    close(weighed.boundaries, [5 / 16, 5 / 16])


def test_weights_change_nothing_unless_asked() -> None:
    weighed = TopicLevels([TARGET, PARENT, TOP], [[2, 1], [3, 1], [7]])
    close(weighed.content_scores(["gene"]), PATH.content_scores(["gene"]))
    close(weighed.page_scores(["gene"], [5]), PATH.page_scores(["gene"]))
    close(weighed.boundaries, PATH.boundaries)


# ---- which level -----------------------------------------------------------------------------------------------------


def test_ties_go_to_the_level_nearest_the_target() -> None:
    same = TopicLevels([["dna", "gene"], ["gene", "dna"], ["gene", "food"]])
    assert same.content_levels(["gene", "dna", "food"]).tolist() == [1, 1, 3]
    assert same.context_levels(["gene", "food gene"], ["", ""]).tolist() == [1, 1]
    assert same.page_level(["gene"]) == 1


def test_equal_sums_in_another_order_are_a_tie() -> None:
    tied = ["a gene", "gene a b", "a b c gene"]  # LS with "gene": 3/4, 1/7, 13/22
    path = TopicLevels([tied[::-1], tied, ["food"]])
    near, far, _ = path.content_scores(["gene"])[0].tolist()
    assert near < far, "by rounding alone"
    assert path.content_levels(["gene"]).tolist() == [1]


def test_what_fits_nothing_is_outside() -> None:
    assert PATH.content_levels(["", "sports", "…"]).tolist() == [4, 4, 4]
    assert PATH.context_levels(["", "sports"], ["", "of all kinds"]).tolist() == [4, 4]
    assert PATH.page_level([]) == PATH.page_level(["sports"]) == 4


def test_no_links_at_all() -> None:
    assert PATH.content_levels([]).tolist() == []
    assert PATH.context_levels([], []).tolist() == []
    assert PATH.context_scores([], []).shape == (0, 3)


def test_a_level_without_terms_keeps_its_number() -> None:
    gap = TopicLevels([TARGET, [], TOP, [], []])
    assert (gap.count, gap.outside) == (3, 4)
    assert gap.content_levels(["dna", "science", "gene", "sports"]).tolist() == [1, 3, 1, 4]
    assert gap.content_scores(["gene"]).tolist() == [[1 / 8, 0, 0]]
    assert gap.boundaries.tolist() == [0, np.inf, 0]
    assert gap.page_level(["science"]) == 3


def test_a_text_below_its_boundary_is_further_outside() -> None:
    levels = [["red apple"], ["apple", "green pear"], ["green pear"]]  # boundaries 3/16, 7/8, 1/4
    plain, bounded = TopicLevels(levels), TopicLevels(levels, settings=LevelSettings(bounded_texts=True))
    # "apple": 3/4, 1/2, 0;  "pear": 0, 3/4 / 2, 3/4;  "green": 0, 1/4 / 2, 1/4
    anchors = ["apple", "pear", "green", "bread", ""]
    assert plain.content_levels(anchors).tolist() == [1, 3, 3, 4, 4]
    assert bounded.content_levels(anchors).tolist() == [1, 3, 3, 5, 5]
    assert plain.context_levels(["apple"], [""]).tolist() == bounded.context_levels(["apple"], [""]).tolist() == [2]
    # "apple green": 1/6, (1/4 + 1/6) / 2, 1/6: all below
    assert (plain.content_levels(["apple green"])[0], bounded.content_levels(["apple green"])[0]) == (2, 5)
    assert bounded.page_level(["bread"]) == plain.page_level(["bread"]) == 4, "pages stay as they are"


def test_the_highest_score_must_reach_its_own_boundary_or_not() -> None:
    """Level 2 has the highest score, but shares so much with the others that this says little."""
    levels = [["red apple"], ["apple", "green pear"], ["green pear"]]
    page = ["apple", "bread", "butter", "cheese"]
    strict, lenient = TopicLevels(levels), TopicLevels(levels, settings=LevelSettings(strict=False))
    # "apple": level 1 1/2 + 1/4, level 2 1, over 4 terms. Boundaries: 1 (3/4 / 2 + 0) / 2; 2 (3/4 + 1) / 2
    close(strict.page_scores(page), [3 / 16, 1 / 4, 0])
    close(strict.boundaries, [3 / 16, 7 / 8, 1 / 4])
    assert strict.page_level(page) == 4
    assert lenient.page_level(page) == 1


def test_a_page_at_the_target_speaks_of_its_parents_too() -> None:
    """Genetically modified food: a page about food alone is not about it."""
    levels = [["food label", "food"], [], ["gene", "dna"], ["science food"]]
    # boundaries: level 3 shares nothing, 0; level 4 (LS with "science food": food 3/4, food label 1/6; gene, dna 0)
    close(TopicLevels(levels).boundaries[[2, 3]], [0, (11 / 12 / 2 + 0) / 2])
    page = ["food label", "food", "gene"]  # at level 3: 1/3, at level 4: (1/6 + 3/4) / 3

    def at(terms: list[str], share: float) -> int:
        return TopicLevels(levels, settings=LevelSettings(parent_share=share)).page_level(terms)

    assert at(page, 0) == at(page, 1) == at(page, 4 / 3) == 1
    assert at(page, 1.4) == 3, "as a page about genes"
    assert at(["food label", "food", "bread"], 0) == 1
    assert at(["food label", "food", "bread"], 0.1) == 4, "no word of genes, which share nothing with the others"
    shared = [["food", "rice"], ["food", "gene", "dna"]]  # boundary of level 2: 1/2
    lax, strict = TopicLevels(shared), TopicLevels(shared, settings=LevelSettings(parent_share=1.0))
    assert lax.page_level(["rice", "rice food", "food"]) == strict.page_level(["rice", "rice food", "food"]) == 1
    assert lax.page_level(["rice", "rice dish", "food"]) == 1
    assert strict.page_level(["rice", "rice dish", "food"]) == 3, "one shared word does not suffice"


# ---- terms as they come ----------------------------------------------------------------------------------------------


def test_a_term_counts_once_a_level_with_its_largest_weight() -> None:
    path = TopicLevels([["DNA", "dna", "gene", "Dna"], ["food", "", "?"]], [[2, 5, 1, 3], [1, 9, 9]])
    assert path.terms == (("DNA", "gene"), ("food",))
    assert [weights.tolist() for weights in path.weights] == [[5, 1], [1]]


def test_terms_of_a_page_without_words_do_not_count() -> None:
    assert PATH.page_scores(["gene", "?"]).tolist() == PATH.page_scores(["gene"]).tolist()


def test_matches_name_the_terms() -> None:
    assert PATH.content_matches("Gene") == [
        TermMatch("Gene", "gene", 2, 1.0),
        TermMatch("Gene", "gene therapy", 1, 0.25),
    ]
    assert PATH.context_matches("the gene the gene", "")[0] == TermMatch("gene", "gene", 2, 1.0)
    assert [match.text for match in PATH.context_matches("the gene the gene", "")].count("gene") == 2
    page = PATH.page_matches(["cell therapy", "science"])
    assert [(match.text, match.term, match.level) for match in page[:2]] == [
        ("science", "science", 3),
        ("cell therapy", "gene therapy", 1),
    ]


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ([], "no level of this topic path has terms"),
        ([[], []], "no level of this topic path has terms"),
        ([["!"], ["?"]], "no level of this topic path has terms"),
        ([["dna"]], "one level has no other to compare with"),
        ([["dna"], []], "only the target of this topic path has terms"),
        ([[], ["dna"], ["gene"]], "level 1 of this topic path, the target, has no terms"),
    ],
)
def test_paths_that_are_too_short(levels: list[list[str]], told: str) -> None:
    with pytest.raises(ForagerError, match=told) as caught:
        TopicLevels(levels)
    assert "\n" not in str(caught.value)


def test_settings_and_weights_that_are_wrong() -> None:
    for context in (3, 11):
        with pytest.raises(ForagerError, match="from 4 to 10"):
            LevelSettings(context=context)
    with pytest.raises(ForagerError, match="parent_share"):
        LevelSettings(parent_share=-1)
    with pytest.raises(ForagerError, match="level 2 has 1 terms and 2 weights"):
        TopicLevels([["dna"], ["gene"]], [[1], [1, 2]])
    with pytest.raises(ForagerError, match="2 levels, and weights for 1"):
        TopicLevels([["dna"], ["gene"]], [[1]])
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(ForagerError, match="level 1 has a weight"):
            TopicLevels([["dna"], ["gene"]], [[wrong], [1]])
    with pytest.raises(ForagerError, match="2 terms and 1 weights"):
        PATH.page_level(["dna", "gene"], [1])
    with pytest.raises(ValueError, match="left side"):
        PATH.context_levels(["dna", "gene"], ["dna"])


# ---- kept and read again ---------------------------------------------------------------------------------------------


def test_kept_parts_give_the_same_levels(tmp_path: Path) -> None:
    chosen = LevelSettings(weighted=True)
    path = TopicLevels([TARGET, [], PARENT, []], [[2, 1.5], [], [3, 1], []], chosen)
    models.save(tmp_path / "path.npz", path.parts(), kind="levels", version=1)
    again = TopicLevels.from_parts(models.load(tmp_path / "path.npz", kind="levels", version=1), chosen)
    assert again.terms == path.terms
    assert again.settings == chosen
    assert (again.boundaries == path.boundaries).all()
    assert (again.content_scores(["gene", "therapy"]) == path.content_scores(["gene", "therapy"])).all()


def test_parts_of_another_version_are_refused() -> None:
    with pytest.raises(ForagerError, match="version 99"):
        TopicLevels.from_parts({**PATH.parts(), "feature_version": 99})
    with pytest.raises(ForagerError, match="do not fit together"):
        TopicLevels.from_parts({**PATH.parts(), "weights": np.ones(2, np.float32)})
    assert TopicLevels.from_parts(PATH.parts()).parts()["feature_version"] == FEATURE_VERSION


# ---- links of a page -------------------------------------------------------------------------------------------------


def test_the_words_around_the_links_of_a_page() -> None:
    markup = "<p>one two <b>three</b> <a href=x>four five</a> six <a href=y><img></a> seven</p>"
    found = page_of("http://a.org/", markup)
    texts = LinkTexts.of(found, found.links, 2)
    for got, expected in (
        (texts.anchors, ["four five", ""]),
        (texts.lefts, ["two three", "five six"]),
        (texts.rights, ["six seven", "seven"]),
    ):
        assert got.values.tolist() == terms(expected).values.tolist()
        assert got.offsets.tolist() == terms(expected).offsets.tolist()


def test_links_of_a_page_are_at_the_levels_of_their_texts() -> None:
    found = page_of(
        "http://a.org/", "<p>the science of <a href=x>gene therapy</a> for all <a href=y>here</a> : dna</p>"
    )
    texts = LinkTexts.of(found, found.links, PATH.settings.context)
    assert PATH.content_levels(texts.anchors).tolist() == PATH.content_levels(found.links.anchors).tolist() == [1, 4]
    lefts, rights = ["the science of", "science of gene therapy for all"], ["for all here dna", "dna"]
    expected = PATH.context_scores(lefts, rights)
    assert PATH.context_scores(texts.lefts, texts.rights).tolist() == expected.tolist()
    assert PATH.context_levels(texts.lefts, texts.rights).tolist() == [1, 1]


def test_a_page_without_links() -> None:
    found = page_of("http://a.org/", "<p>dna</p>")
    texts = LinkTexts.of(found, found.links, 6)
    assert PATH.content_levels(texts.anchors).tolist() == PATH.context_levels(texts.lefts, texts.rights).tolist() == []
