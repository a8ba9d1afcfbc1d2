"""Links by their levels, worked out by hand on a path of three levels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from forager.critics.combine import Mixed, Not
from forager.critics.lexical import LexicalCritic
from forager.critics.predicate import Predicate
from forager.errors import ForagerError
from forager.learn.lexical.cvalue import TermList
from forager.learn.lexical.levels import LevelSettings, TopicLevels
from forager.registry import make
from forager.strategies.lexical import LearningLexicalStrategy, LexicalStrategy, make_lexical
from forager.strategies.lexical.links import LinkScore
from forager.types import Learns, Page, Persists, Policy, Rescores
from tests.critics.pages import page as plain_page
from tests.visits import page_of, visit_of

TERMS = [["gene therapy", "dna"], ["gene", "cell culture"], ["science"]]


class ByTitle(Predicate):
    """A critic with a path of three levels. The only term of a page is its title."""

    def __init__(self, settings: LevelSettings | None = None, spoken: bool = True) -> None:
        super().__init__(keywords=["gene"])
        self.levels, self.spoken = TopicLevels(TERMS, [[2, 1], [1, 1], [5]], settings), spoken

    def terms_of(self, page: Page) -> TermList:
        return TermList.of({page.title: 2.0}, spoken=self.spoken)


def page(title: str = "gene therapy") -> Page:
    """Four links with four or more words between them. The last one is in a menu."""
    return page_of(
        "http://a.test/",
        f"""<title>{title}</title><p>one two three dna <a href="/1">gene</a> one two three four five
        <a href="/2">science</a> one two three four five <a href="/3">music</a> one two cell culture</p>
        <p>five four three two one</p><nav><a href="/4">gene therapy</a></nav>""",
    )


# context: dna is a term of level 1, cell culture of level 2, nothing stands near "science", or near the menu
# content: gene is a term of level 2, science of level 3, music of none, gene therapy of level 1
CONTEXT, CONTENT = [1, 4, 2, 4], [2, 3, 4, 1]


def scores(title: str = "gene therapy", **options: object) -> list[float]:
    strategy = make_lexical(critic=ByTitle(), context=4, **options)  # type: ignore[arg-type]
    found: list[float] = strategy.score(visit_of(page(title))).scores.tolist()
    return found


# ---- as in the thesis ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("title", "level"), [("gene therapy", 1), ("cell culture", 2), ("science", 3), ("music", 4)])
def test_the_product_of_the_three_levels(title: str, level: int) -> None:
    assert scores(title) == [-level * x * y for x, y in zip(CONTEXT, CONTENT, strict=True)]


def test_the_weighted_sum_of_the_three_levels() -> None:
    expected = [-(0.627 * x + 0.062 * y + 0.311 * 2) for x, y in zip(CONTEXT, CONTENT, strict=True)]
    assert scores("cell culture", form="sum") == pytest.approx(expected)
    other = [-(0.2 * x + 0.3 * y + 0.5 * 2) for x, y in zip(CONTEXT, CONTENT, strict=True)]
    assert scores("cell culture", form="sum", a=0.2, b=0.3, c=0.5) == pytest.approx(other)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("content", CONTENT),
        ("context", CONTEXT),
        ("page", [2, 2, 2, 2]),
        ("content,context", [2, 12, 8, 4]),
        ("content+page", [4, 6, 8, 2]),
        ("page, context", [2, 8, 4, 8]),
        ("page,context,content", [4, 24, 16, 8]),
    ],
)
def test_any_of_the_features(features: str, expected: list[int]) -> None:
    assert scores("cell culture", features=features) == [-level for level in expected]


def test_a_sum_of_some_features() -> None:
    expected = [-(0.627 * x + 0.311 * 2) for x in CONTEXT]
    assert scores("cell culture", features="context,page", form="sum") == pytest.approx(expected)


def test_equal_sums_are_equal_scores() -> None:
    """Ties go to the link found earlier, so rounding must not break a tie."""
    weights = (627, 62, 311)
    levels = np.array(list(product(range(1, 8), repeat=3)), np.float32)
    exact = levels.astype(int) @ np.array(weights)
    made = LinkScore(form="sum", weights=(0.627, 0.062, 0.311))(levels)
    assert np.unique(exact, return_inverse=True)[1].tolist() == np.unique(made, return_inverse=True)[1].tolist()


def test_the_levels_travel_with_the_link() -> None:
    levels = [[x, y, 3] for x, y in zip(CONTEXT, CONTENT, strict=True)]
    for proximity in (0.0, 1.0):
        state = make_lexical(critic=ByTitle(), context=4, proximity=proximity).score(visit_of(page("science"))).state
        assert state is not None
        assert state[:, :3].tolist() == levels


def test_an_empty_anchor_or_context_is_outside() -> None:
    bare = page_of("http://a.test/", '<title>dna</title>one two three four <a href="/1"><img src="x"></a>')
    assert make_lexical(critic=ByTitle(), context=4).score(visit_of(bare)).scores.tolist() == [-16]


def test_a_longer_context_reaches_further() -> None:
    state = make_lexical(critic=ByTitle(), context=10).score(visit_of(page())).state
    assert state is not None
    assert state[:, 0].tolist() == [1, 1, 2, 2]


def test_found_again_the_best_counts_or_as_chosen() -> None:
    assert make_lexical(critic=ByTitle()).combine.policy is Policy.BEST
    assert make_lexical(critic=ByTitle(), combine="mean").combine.policy is Policy.MEAN


# ---- from the critic -------------------------------------------------------------------------------------------------


def test_settings_are_those_of_the_critic_unless_given() -> None:
    critic = ByTitle(LevelSettings(weighted=True, context=6, parent_share=0.5, strict=False))
    same = make_lexical(critic=critic)
    assert same.links.path is critic.levels
    other = make_lexical(critic=critic, weighted=False, parent_share=0, context=8).links.path
    assert other.settings == LevelSettings(weighted=False, context=8, parent_share=0, strict=False)
    assert other.terms == critic.levels.terms
    assert [each.tolist() for each in other.weights] == [[2, 1], [1, 1], [5]]


def test_c_values_can_change_a_level() -> None:
    """gene is like "gene therapy" (LS 1/4, C 2) and "gene" (LS 1, C 1): at level 1 it has 1/4, at level 2 1/2."""
    anchor = page_of("http://a.test/", '<a href="/1">gene</a>')
    heavy = ByTitle(LevelSettings(weighted=True))
    assert make_lexical(critic=heavy, features="content").score(visit_of(anchor)).scores.tolist() == [-2]
    heavy.levels = TopicLevels(TERMS, [[9, 1], [1, 1], [5]], LevelSettings(weighted=True))
    assert make_lexical(critic=heavy, features="content").score(visit_of(anchor)).scores.tolist() == [-1]
    assert make_lexical(critic=heavy, features="content", weighted=False).score(visit_of(anchor)).scores.tolist() == [
        -2
    ]


def test_it_finds_the_lexical_critic_in_a_mix() -> None:
    critic = ByTitle()
    for wrapped in (Mixed(Predicate(keywords=["x"]), critic), Not(Mixed(critic)), critic & Predicate(keywords=["x"])):
        assert make_lexical(critic=wrapped).links.critic is critic


def test_a_trained_critic_and_its_strategy_agree_on_pages() -> None:
    critic = LexicalCritic(focus=["Science.Genes"])
    critic.fit([plain_page("a gene therapy"), plain_page("the science")], ["Science.Genes", "Science"])
    found = plain_page("another gene therapy")
    strategy = make(make_lexical, {"critic": critic, "seed": 1}, {"features": "page"})
    assert strategy.page_level(found) == critic.level_of(found) == 1


def test_other_critics_and_wrong_options_are_refused() -> None:
    for critic in (Predicate(keywords=["x"]), Mixed(Predicate(keywords=["x"]))):
        with pytest.raises(ForagerError, match=r'set \[critic\] name = "lexical"'):
            make_lexical(critic=critic)
    with pytest.raises(ForagerError, match="fit it"):
        make_lexical(critic=LexicalCritic(focus=["A.B"]))
    for wrong in (
        {"features": "anchor"},
        {"features": ""},
        {"form": "sum", "a": -1.0},
        {"form": "sum", "c": float("nan")},
        {"form": "sum", "features": "content", "b": 0.0},
        {"context": 3},
        {"navigation": 0.0},
        {"proximity": 2.0},
        {"reward": -1.0},
        {"near": 0},
    ):
        with pytest.raises(ForagerError):
            make(make_lexical, {"critic": ByTitle()}, wrong)


def test_it_says_which_words_made_the_levels() -> None:
    told = make_lexical(critic=ByTitle(), context=4).explain(visit_of(page("cell culture")), 0)
    assert told == [
        ("words around it at level 1: 'dna' like 'dna'", 1.0),
        ("anchor at level 2: 'gene' like 'gene'", 1.0),
        ("page at level 2: 'cell culture' like 'cell culture'", 1.0),
    ]
    assert make_lexical(critic=ByTitle(spoken=False), context=4).explain(visit_of(page("gene")), 2) == [
        ("words around it at level 2: 'cell culture' like 'cell culture'", 1.0),
        ("page, word by word, at level 2: 'gene' like 'gene'", 1.0),
        ("anchor at no level", 0.0),
    ]
    assert make_lexical(critic=ByTitle(), features="content").explain(visit_of(page()), 3)[0][0].startswith("anchor")


# ---- ours ------------------------------------------------------------------------------------------------------------


def test_links_in_menus_may_count_less() -> None:
    assert scores(navigation=3.0) == [-2, -12, -8, -12]


def test_pages_of_a_level_may_be_told_apart() -> None:
    critic = ByTitle()
    for title in ("dna", "science"):
        found = critic.terms_of(page(title))
        score = float(critic.levels.page_scores(found.terms, found.weights)[0])
        level = critic.levels.page_level(found.terms, found.weights)
        state = make_lexical(critic=critic, context=4, finer=True).score(visit_of(page(title))).state
        assert state is not None
        assert state[0, 2] == pytest.approx(level - score / (1 + score))
    assert score == 0  # no word of the target: no difference
    told = make_lexical(critic=critic, context=4, finer=True).explain(visit_of(page("dna")), 0)
    assert any(line.startswith("page at level 1") for line, _ in told)


def test_it_learns_unless_asked_not_to() -> None:
    plain, learning = make_lexical(critic=ByTitle(), proximity=0.0), make_lexical(critic=ByTitle())
    assert type(plain) is LexicalStrategy
    assert isinstance(learning, LearningLexicalStrategy)
    for verbs in (Learns, Rescores, Persists):
        assert not isinstance(plain, verbs)
        assert isinstance(learning, verbs)
