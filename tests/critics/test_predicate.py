from __future__ import annotations

import pytest

from forager.critics.combine import And, Mixed, Not, Or
from forager.critics.predicate import Function, Predicate
from forager.errors import ForagerError
from forager.types import Critic, Page, WeighsWords
from forager.web.text import terms

from .pages import page


def relevance(critic: Critic, *pages: Page) -> list[float]:
    return [judged.relevance for judged in critic.judge(pages)]


def test_keywords_are_whole_words_in_any_case() -> None:
    critic = Predicate(keywords=["bird"])
    told = relevance(
        critic, page("A BIRD!"), page("birds"), page("", "no", "bird-cage"), page("x", title="Bird"), page()
    )
    assert told == [1, 0, 1, 1, 0]


def test_a_phrase_stays_within_a_leaf() -> None:
    critic = Predicate(keywords=["sea bird"])
    told = relevance(
        critic, page("Sea, bird"), page("the sea", "bird"), page("sea sea bird"), page("bird sea"), page("sea")
    )
    assert told == [1, 0, 1, 0, 0]


def test_at_least_and_graded() -> None:
    pages = page("one"), page("two one"), page("one two three")
    assert relevance(Predicate(keywords=["one", "two", "three"], at_least=2), *pages) == [0, 1, 1]
    graded = relevance(Predicate(keywords=["one", "two", "three"], at_least=2, graded=True), *pages)
    assert graded == pytest.approx([0, 2 / 3, 1])


def test_all_tests_must_pass() -> None:
    critic = Predicate(regex=r"\d{4}", url=r"/courses?/", language="en")
    good = page("in 2024", url="http://a.test/course/1", language="en-GB")
    told = relevance(
        critic,
        good,
        page("in 2024", url="http://a.test/course/1", language="eng"),
        page("in 2024", url="http://a.test/", language="en"),
        page("in 99", url="http://a.test/course/1", language="en"),
    )
    assert told == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "without a test"),
        ({"regex": "("}, r"regex = '\(' is not a regular expression"),
        ({"keywords": ["!"]}, "no letter or digit"),
        ({"keywords": ["a", "b"], "at_least": 3}, "give 1 to 2"),
    ],
)
def test_wrong_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ForagerError, match=message):
        Predicate(**settings)  # type: ignore[arg-type]


def test_a_function_is_a_critic() -> None:
    critic = Function(lambda page: len(page.leaves) / 4, name="leaves")
    assert relevance(critic, page("a"), page("a", "b")) == [0.25, 0.5]
    assert critic.version == "function-leaves"
    assert relevance(Function(lambda page: page.title == "x"), page(title="x"), page()) == [1, 0]


def test_errors_name_the_function_and_the_page() -> None:
    def broken(page: Page) -> float:
        return 1 / len(page.leaves)

    with pytest.raises(ForagerError, match=r"'broken' on http://a.test/: ZeroDivisionError"):
        Function(broken).judge([page()])
    for wrong in (1.5, -0.1, float("nan")):
        with pytest.raises(ForagerError, match=r"'odd' on http://a.test/ gave .*: it must give a number from 0 to 1"):
            Function(lambda _: wrong, name="odd").judge([page()])  # noqa: B023


def test_combinations() -> None:
    low, high = Function(lambda _: 0.2, name="low"), Function(lambda _: 0.7, name="high")
    yes = Predicate(keywords=["yes"])
    here, there = page("yes"), page("no")
    assert relevance(low & high, here) == [0.2]
    assert relevance(low | high, here) == [0.7]
    assert relevance(~low, here) == [0.8]
    assert relevance(yes & high, here, there) == [0.7, 0]
    assert relevance(And(high, yes, ~low), here, there) == [0.7, 0]
    assert relevance(~(yes | low) | (yes & ~high), here, there) == pytest.approx([0.3, 0.8])
    assert relevance(Not(Or(yes)), here, there) == [0, 1]


def test_a_combination_says_yes_or_no_and_has_a_version_of_its_own() -> None:
    one, two = Predicate(keywords=["one"]), Predicate(keywords=["two"])
    (judged,) = (one | two).judge([page("one")])
    assert (one | two).classes == ("relevant", "other")
    assert judged.topics.tolist() == [1, 0]
    assert len({(one | two).version, (two | one).version, (one & two).version, (~one).version}) == 4
    with pytest.raises(ForagerError, match="'and' of no critics"):
        And()


def test_fitting_a_combination_fits_its_critics() -> None:
    seen = []

    class Asked(Function):
        def fit(self, pages: object, labels: object) -> None:
            seen.append((list(pages), list(labels)))  # type: ignore[call-overload]

    two = Asked(lambda _: 1, "a") & ~Asked(lambda _: 0, "b")
    first = page("x")
    two.fit(iter([first]), iter(["x"]))
    assert seen == [([first], ["x"])] * 2


def test_words_of_keywords_have_a_fixed_worth_and_combinations_the_mean() -> None:
    birds, cars = Predicate(keywords=["sea bird", "owl"]), Predicate(keywords=["car"])
    silent = Function(lambda page: 0.5)
    said = terms(["bird owl car tree"])[0]
    expected = {
        birds: [3, 3, 0, 0],
        Predicate(url="x"): [0, 0, 0, 0],
        birds & cars: [1.5, 1.5, 1.5, 0],
        ~birds | cars: [-1.5, -1.5, 1.5, 0],
        Mixed(birds, silent): [3, 3, 0, 0],
        silent & silent: [0, 0, 0, 0],
    }
    for critic, odds in expected.items():
        assert isinstance(critic, WeighsWords)
        assert critic.word_log_odds(said).tolist() == odds
    assert not isinstance(silent, WeighsWords)
