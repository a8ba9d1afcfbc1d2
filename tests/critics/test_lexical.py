"""The lexical critic: which pages teach which level, what a level is worth, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from forager.critics import lexical
from forager.critics.lexical import OTHER, TOP, LexicalCritic
from forager.critics.predicate import Predicate
from forager.errors import ForagerError
from forager.learn.lexical.cvalue import Mode, candidates_of, rank
from forager.store import models
from forager.types import Page
from tests.critics.pages import page
from tests.visits import page_of

TARGET, PARENT, ROOT = "Science.Biology.Dinosaurs", "Science.Biology", "Science"
TEXTS = {
    TARGET: [
        "The fossil skeleton of a predatory dinosaur. A dinosaur has sharp teeth.",
        "The long tail and the neck of a sauropod dinosaur. A fossil skull was found.",
    ],
    PARENT: [
        "The cell membrane and the gene. A gene is in every living cell.",
        "The mammal species and the bird species. A species has a habitat.",
    ],
    ROOT: [
        "The scientific theory and the experiment. An experiment tests a theory.",
        "The scientific method and the laboratory. A laboratory has a telescope.",
    ],
}
ELSE = "The string quartet and the symphony orchestra. An orchestra plays a symphony."


def shown(*labels: str) -> tuple[list[Page], list[str]]:
    """The two pages of each label."""
    found = [(text, label) for label in labels for text in TEXTS[label]]
    pages = [page(text, url=f"http://a.test/{number}") for number, (text, _) in enumerate(found)]
    return pages, [label for _, label in found]


def fitted(critic: LexicalCritic | None = None, *labels: str) -> LexicalCritic:
    critic = critic or LexicalCritic(focus=[TARGET])
    critic.fit(*shown(*(labels or TEXTS)))
    return critic


# ---- what it is taught -----------------------------------------------------------------------------------------------


def test_each_level_has_the_terms_of_its_own_examples() -> None:
    critic = fitted()
    for terms, texts in zip(critic.levels.terms, TEXTS.values(), strict=True):
        lists = [rank(candidates_of(page(text))) for text in texts]
        assert set(terms) == {term for each in lists for term in each.terms}
    dinosaur = critic.levels.terms[0].index("dinosaur")
    assert critic.levels.weights[0][dinosaur] == 1  # log2(2) (2 - 1): it stands there twice, once in a longer one
    assert critic.classes == (TARGET, PARENT, ROOT, OTHER)
    assert critic.focus == (TARGET,)


def test_labels_below_the_target_are_the_target_and_others_are_counted_only() -> None:
    critic = LexicalCritic(focus=[TARGET])
    pages, labels = shown(*TEXTS)
    labels[1] += ".Sauropods"
    critic.fit(
        [*pages, page(ELSE), page(ELSE), page(ELSE)], [*labels, "Music", "Science.Chemistry", "Science.BiologyX"]
    )
    assert critic.examples == (2, 2, 2)
    assert critic.ignored == 3
    assert critic.version == fitted().version


def test_the_other_pages_of_a_directory_s_topic_are_its_own() -> None:
    critic = LexicalCritic(focus=[TARGET])
    pages, labels = shown(*TEXTS)
    critic.fit(pages, [label if label == TARGET else f"{label}.Other" for label in labels])
    assert critic.version == fitted().version


def test_the_deepest_topic_of_a_path_is_the_target() -> None:
    assert fitted(LexicalCritic(focus=[PARENT, TARGET, ROOT])).version == fitted().version
    assert LexicalCritic(focus=TARGET).path == (TARGET, PARENT, ROOT)
    with pytest.raises(ForagerError, match=r"Music is not above Science\.Biology"):
        LexicalCritic(focus=["Music", "Science.Biology"])
    with pytest.raises(ForagerError, match="without a focus"):
        LexicalCritic(focus=[])


def test_pages_elsewhere_below_a_topic_may_teach_its_level() -> None:
    pages, labels = shown(*TEXTS)
    elsewhere = {PARENT: "Science.Biology.Cells", ROOT: "Science.Physics"}
    critic = LexicalCritic(focus=[TARGET], above="below")
    critic.fit([*pages, page(ELSE)], [*(elsewhere.get(label, label) for label in labels), "Music"])
    assert critic.examples == (2, 2, 2)
    assert critic.ignored == 1
    assert critic.levels.terms == fitted().levels.terms


def test_all_other_pages_may_be_one_more_level() -> None:
    critic = LexicalCritic(focus=["Dinosaurs"], above="all")
    pages, labels = shown(TARGET, PARENT)
    critic.fit([*pages, page(ELSE)], ["Dinosaurs" if label == TARGET else "anything" for label in labels] + ["Music"])
    assert critic.classes == ("Dinosaurs", TOP, OTHER)
    assert critic.examples == (2, 3)
    assert "symphony orchestra" in critic.levels.terms[1]


def test_at_most_so_many_terms_and_pages_a_level() -> None:
    assert [len(terms) for terms in fitted(LexicalCritic(focus=[TARGET], terms=3)).levels.terms] == [3, 3, 3]
    pages, labels = shown(*TEXTS)
    once, again = LexicalCritic(focus=[TARGET], pages=1), LexicalCritic(focus=[TARGET], pages=1)
    once.fit(pages, labels)
    again.fit(pages[::-1], labels[::-1])
    assert once.examples == (2, 2, 2)
    for terms, texts in zip(once.levels.terms, TEXTS.values(), strict=True):
        assert set(terms) in [set(rank(candidates_of(page(text))).terms) for text in texts]
    assert again.version == once.version  # whatever the order, the same page


def test_the_mode_of_the_thesis_has_phrases_only() -> None:
    critic = fitted(LexicalCritic(focus=[TARGET], mode="thesis"))
    assert all(" " in term for level in critic.levels.terms for term in level)
    assert critic.terms_of(page("the long tail of a dinosaur")).terms == ("long tail",)


def test_idf_takes_from_the_weight_of_what_many_pages_have() -> None:
    """Three pages of a sample of four have "dinosaur": rarity = 1 - log 4 / log 5. The fourth is of no level."""
    critic = LexicalCritic(focus=["A.B"], idf=True)
    texts = ["a dinosaur", "a dinosaur", "a dinosaur and a skeleton", "an orchestra"]
    critic.fit([page(text, url=text) for text in texts], ["A.B", "A.B", "A", "Music"])
    assert critic.levels.weights[0].tolist() == pytest.approx([1 - np.log(4) / np.log(5)])
    plain = critic.terms_of(page("the dinosaur and the symphony"))
    assert dict(zip(plain.terms, plain.weights.tolist(), strict=True)) == pytest.approx(
        {"dinosaur": 1 - np.log(4) / np.log(5), "symphony": 1.0}
    )


def test_menus_may_be_left_unread() -> None:
    menu = page_of("http://a.test/", "<nav><p>symphony orchestra</p></nav><p>the cell membrane</p>")
    assert "symphony orchestra" in fitted().terms_of(menu).terms
    assert fitted(LexicalCritic(focus=[TARGET], navigation=False)).terms_of(menu).terms == ("cell membrane",)


def test_what_cannot_be_learnt_from_says_so() -> None:
    with pytest.raises(ForagerError, match=r"no example of Science\.Biology\.Dinosaurs: none of 4 pages"):
        fitted(None, PARENT, ROOT)
    with pytest.raises(ForagerError, match="one level"):
        LexicalCritic(focus=["Science"]).fit([page("a dinosaur")], ["Science"])
    with pytest.raises(ForagerError, match="only the target"):
        fitted(None, TARGET)
    with pytest.raises(ForagerError, match="no level of this topic path has terms"):
        LexicalCritic(focus=["A.B"]).fit([page(""), page("")], ["A.B", "A"])
    with pytest.raises(ForagerError, match="1 or more"):
        LexicalCritic(focus=[TARGET], terms=-1)


ASKED: list[Callable[[LexicalCritic], object]] = [
    lambda critic: critic.judge([page("")]),
    lambda critic: critic.levels,
    lambda critic: critic.terms_of(page("")),
    lambda critic: critic.parts(),
]


@pytest.mark.parametrize("ask", ASKED)
def test_before_it_is_taught_it_says_what_to_do(ask: Callable[[LexicalCritic], object]) -> None:
    with pytest.raises(ForagerError, match="knows nothing yet: fit it"):
        ask(LexicalCritic(focus=[TARGET]))


# ---- judging ---------------------------------------------------------------------------------------------------------


def test_relevance_falls_from_level_to_level() -> None:
    critic = fitted(LexicalCritic(focus=[TARGET], counts="levels"))
    pages = [page("a dinosaur and its neck"), page("a gene in a cell"), page("an experiment and a theory"), page(ELSE)]
    judged = critic.judge(pages)
    assert [one.relevance for one in judged] == pytest.approx([1, 2 / 3, 1 / 3, 0])
    assert [one.raw for one in judged] == [one.relevance for one in judged]
    assert np.array([one.topics for one in judged]).tolist() == np.eye(4).tolist()
    assert [critic.level_of(page) for page in pages] == [1, 2, 3, 4]
    strict = fitted(LexicalCritic(focus=[TARGET], counts="target"))
    assert [one.relevance for one in strict.judge(pages)] == [1, 0, 0, 0]


def test_finer_relevance_tells_pages_of_a_level_apart_and_keeps_the_levels() -> None:
    critic = fitted(LexicalCritic(focus=[TARGET]))
    more, less = page("a dinosaur and its neck"), page("a dinosaur, its neck and a violin concert")
    pages = [more, less, page("a gene in a cell"), page("an experiment and a theory"), page(ELSE)]
    assert [critic.level_of(page) for page in pages] == [1, 1, 2, 3, 4]
    found = [one.relevance for one in critic.judge(pages)]
    assert 1 > found[0] > found[1] > 2 / 3 >= found[2] >= 1 / 3 >= found[3] >= found[4] == 0
    for each, page_ in zip(found[:4], pages[:4], strict=True):
        terms = critic.terms_of(page_)
        score = float(critic.levels.page_scores(terms.terms, terms.weights)[0])
        assert each == pytest.approx((4 - critic.level_of(page_) - 1 / (1 + score)) / 3)


def test_a_level_without_terms_keeps_its_number() -> None:
    critic = fitted(LexicalCritic(focus=[TARGET], counts="levels"), TARGET, ROOT)
    assert critic.classes == (TARGET, PARENT, ROOT, OTHER)
    assert [one.relevance for one in critic.judge([page("an experiment and a theory")])] == pytest.approx([1 / 3])
    # a level above all that have terms is no level
    upper = fitted(LexicalCritic(focus=[TARGET], counts="levels"), TARGET, PARENT)
    assert upper.classes == (TARGET, PARENT, OTHER)
    assert upper.judge([page("a gene in a cell")])[0].relevance == pytest.approx(1 / 2)


def test_options_reach_the_levels() -> None:
    critic = fitted(LexicalCritic(focus=[TARGET], weighted=True, strict=False, parent_share=0.5, counts="levels"))
    settings = critic.levels.settings
    assert (settings.weighted, settings.strict, settings.parent_share) == (True, False, 0.5)
    lonely = page("a fossil skeleton and a fossil skull")
    whole = page("a fossil skeleton, a fossil skull, a gene and a laboratory")
    assert [one.relevance for one in critic.judge([lonely, whole])] == pytest.approx([0, 1])
    assert critic.version != fitted().version


def test_terms_of_the_thesis_are_phrases_all_of_them_or_those_above_a_cut_off() -> None:
    """In mode thesis two words that stand there once have C = 1, and C = 2 if they stand there twice."""
    labels = [label for label in TEXTS for _ in range(2)]
    pages = [page(f"{text} {TEXTS[label][0]}") for label in TEXTS for text in TEXTS[label]]  # the first text twice

    def taught(terms: int, least_c: float = 0.0) -> LexicalCritic:
        critic = LexicalCritic(focus=[TARGET], mode="thesis", terms=terms, least_c=least_c)
        critic.fit(pages, labels)
        return critic

    few, every, cut = taught(1), taught(0), taught(0, 1.5)
    assert [len(level) for level in few.levels.terms] == [1, 1, 1]
    assert all(" " in term for level in every.levels.terms for term in level)
    for whole, strongest in zip(every.levels.terms, cut.levels.terms, strict=True):
        assert set(strongest) < set(whole)
    both = page("a fossil skull, a fossil skull, and a long tail")
    assert every.terms_of(both).terms == ("fossil skull", "long tail")
    assert cut.terms_of(both).terms == ("fossil skull",), "of pages that are judged too"
    assert cut.version != every.version
    blank = LexicalCritic(focus=[TARGET])
    assert blank.from_parts(cut.parts()).terms_of(both).terms == ("fossil skull",)
    older = {name: part for name, part in every.parts().items() if name != "least_c"}
    assert blank.from_parts(older).terms_of(both).terms == every.terms_of(both).terms
    with pytest.raises(ForagerError, match="least_c"):
        LexicalCritic(focus=[TARGET], least_c=-1)


def test_the_terms_of_a_page_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    critic, read = fitted(), []

    def counted(page: Page, mode: Mode) -> object:
        read.append(page)
        return candidates_of(page, mode)

    monkeypatch.setattr(lexical, "candidates_of", counted)
    one, two = page("a dinosaur"), page("a dinosaur")
    critic.judge([one])
    critic.terms_of(one)
    critic.explain(one)
    assert read == [one]
    critic.judge([two, one])
    assert read == [one, two, one]  # a page is known by itself, not by its address


def test_it_explains_itself_and_says_when_it_went_word_by_word() -> None:
    critic = fitted()
    told = [
        ("level 1, Science.Biology.Dinosaurs: 'fossil skeleton' like 'fossil skeleton'", 1.0),
        ("level 1, Science.Biology.Dinosaurs: 'fossil skeleton' like 'fossil skull'", pytest.approx(1 / 6)),
    ]
    assert critic.explain(page("a fossil skeleton")) == told
    assert critic.explain(page(ELSE)) == [("at no level", 0.0)]
    german = page("Das Dinosaurierskelett und die Zelle", language="de")
    assert "word by word" in critic.explain(german)[0][0]
    assert 0 <= critic.judge([german])[0].relevance <= 1


def test_it_combines_with_other_critics() -> None:
    both = fitted(LexicalCritic(focus=[TARGET], counts="levels")) & Predicate(keywords=["neck"])
    assert [one.relevance for one in both.judge([page("a dinosaur and its neck"), page("a gene")])] == [1, 0]


# ---- keeping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("idf", [False, True])
def test_a_saved_critic_judges_alike(tmp_path: Path, idf: bool) -> None:
    critic = fitted(LexicalCritic(focus=[TARGET], weighted=True, idf=idf, mode="thesis"))
    models.save(tmp_path / "m.npz", critic.parts(), kind="lexical", version=1)
    blank = LexicalCritic(focus=[TARGET, ROOT], weighted=True)  # mode and idf are those it was taught with
    again = blank.from_parts(models.load(tmp_path / "m.npz", kind="lexical", version=1))
    assert again.version == critic.version
    assert (again.examples, again.ignored, again.classes) == (critic.examples, critic.ignored, critic.classes)
    probe = page("the fossil skeleton of a predatory dinosaur")
    assert again.terms_of(probe).terms == critic.terms_of(probe).terms
    with pytest.raises(ForagerError, match="knows nothing yet"):
        blank.judge([probe])


def test_a_model_of_another_path_is_refused() -> None:
    with pytest.raises(ForagerError, match=r"has the levels Science\.Biology\.Dinosaurs < .*fit it again"):
        LexicalCritic(focus=["Science.Biology.Birds"]).from_parts(fitted().parts())


def halves(critic: LexicalCritic) -> list[LexicalCritic]:
    pages, labels = shown(*TEXTS)
    made: Sequence[LexicalCritic] = [LexicalCritic(focus=[TARGET], terms=critic.most) for _ in range(2)]
    for start, half in enumerate(made):
        half.fit(pages[start::2], labels[start::2])
    return list(made)


@pytest.mark.parametrize("terms", [2, 160])
def test_halves_merge_to_the_whole(terms: int) -> None:
    whole = fitted(LexicalCritic(focus=[TARGET], terms=terms))
    merged = whole.from_parts(whole.merge([half.parts() for half in halves(whole)]))
    assert merged.version == whole.version
    assert (merged.examples, merged.ignored) == (whole.examples, whole.ignored)


def test_merging_adds_up_the_samples_of_rarity() -> None:
    parts = fitted(LexicalCritic(focus=[TARGET], idf=True)).parts()
    merged = LexicalCritic(focus=[TARGET], idf=True).merge([parts, parts])
    assert merged["sample"] == 2 * parts["sample"] == 12
    assert dict(zip(merged["common"], merged["df"].tolist(), strict=True)) == {
        term: 2 * pages for term, pages in zip(parts["common"], parts["df"].tolist(), strict=True)
    }
