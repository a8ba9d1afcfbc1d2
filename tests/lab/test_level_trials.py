"""Trials by the levels of a topic path: who is an example of what, where crawls start, and what is remembered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from forager.errors import ForagerError
from forager.registry import Spec
from forager.strategies.lexical.links import HasLevels
from forager.teaching.labelled_web import Truth
from forager.types import Judgement, Page, Url
from forager_lab import experiment, level_trials
from forager_lab.cells import cell_key
from forager_lab.experiment import Cell, Plan, TopicGoal, conduct, survey, trial_of
from forager_lab.level_trials import (
    CriticWithMemory,
    LevelCriticWithMemory,
    LevelGoal,
    level_by_label,
    level_examples,
    level_trial,
    pages_by_level,
    path_of,
)
from forager_lab.protocol import OTHER, crawl_trial, topic_trial
from forager_lab.results import figures
from tests.small_web import WordCritic
from tests.visits import page_of

WEB = "procedural:hosts=10:pages_per_host=30:links=12:length=1500"
TOPIC = "Business.Finance"
PATH = ("A.B.C", "A.B", "A")


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORAGER_CACHE", str(tmp_path_factory.mktemp("cache")))
        experiment._laboratory.cache_clear()
        trial_of.cache_clear()
        yield
    experiment._laboratory.cache_clear()
    trial_of.cache_clear()


def urls(names: str) -> list[Url]:
    return [Url(f"http://x.test/{name}") for name in names]


def truth_of(**labels: str) -> Truth:
    """A truth with the given number of pages of each label. In `AB=4` the letters are parts of the label; `_`: none."""
    pages: dict[Url, tuple[str, ...]] = {}
    for name, count in labels.items():
        given = () if name == "_" else (".".join(name),)
        pages |= {Url(f"http://x.test/{name}/{at}"): given for at in range(int(count))}
    return Truth(pages)


TRUTH = truth_of(ABC="6", ABCD="3", ABX="12", AX="7", Z="9", _="5")


# ---- levels ---------------------------------------------------------------------------------------------------------


def test_the_path_goes_from_the_target_up() -> None:
    assert path_of("A.B.C") == PATH
    assert path_of("A") == ("A",)


@pytest.mark.parametrize(
    ("labels", "level"),
    [
        (("A.B.C",), 1),
        (("A.B.C.D",), 1),
        (("A.B",), 2),
        (("A.B.X",), 2),
        (("A.BC",), 3),  # whole parts count
        (("Z",), 4),
        (("Z", "A.X", "A.B.X"), 2),  # the lowest of several
        ((), None),
    ],
)
def test_a_page_is_of_the_lowest_level_it_is_under(labels: Sequence[str], level: int | None) -> None:
    assert level_by_label(labels, PATH) == level


def test_every_labelled_page_is_of_one_level() -> None:
    assert [len(level) for level in pages_by_level(TRUTH, "A.B.C")] == [9, 12, 7, 9]


# ---- lessons --------------------------------------------------------------------------------------------------------


def test_examples_are_of_their_levels() -> None:
    lesson = level_examples(TRUTH, LevelGoal("A.B.C", examples=4), run=0, seed=0)
    assert list(lesson.labels) == [topic for topic in PATH for _ in range(4)]
    assert len(set(lesson.examples)) == 12
    for url, label in zip(lesson.examples, lesson.labels, strict=True):
        assert level_by_label(TRUTH.labels[url], PATH) == PATH.index(label) + 1


def test_no_start_is_an_example_of_any_run() -> None:
    goal = LevelGoal("A.B.C", examples=5, starts=3)
    lessons = [level_examples(TRUTH, goal, run=run, seed=0) for run in range(7)]
    starts = [lesson.start for lesson in lessons]
    assert len(set(starts[:3])) == 3
    assert starts[3:] == [*starts[:3], starts[0]]
    assert not {*starts} & {url for lesson in lessons for url in lesson.examples}
    assert all(level_by_label(TRUTH.labels[start], PATH) == 2 for start in starts)


def test_each_run_and_each_seed_has_its_own_examples() -> None:
    goal = LevelGoal("A.B.C", examples=4)
    drawn = [level_examples(TRUTH, goal, run=run, seed=seed).examples for seed in (0, 1) for run in (0, 1)]
    assert len({tuple(examples) for examples in drawn}) == 4
    assert level_examples(TRUTH, goal, run=1, seed=1).examples == drawn[-1]


def test_examples_of_the_outside_change_no_others() -> None:
    plain, more = (level_examples(TRUTH, LevelGoal("A.B.C", root=root), run=2, seed=0) for root in (0, 7))
    count = len(plain.examples)
    assert more.examples[:count] == plain.examples
    assert list(more.labels[count:]) == [OTHER] * 7
    assert all(TRUTH.labels[url] == ("Z",) for url in more.examples[count:])
    assert more.start == plain.start


def test_what_has_nothing_above_it_has_the_outside() -> None:
    truth = truth_of(A="8", Z="9", _="4")
    lesson = level_examples(truth, LevelGoal("A", examples=3, starts=2), run=0, seed=0)
    assert list(lesson.labels) == ["A"] * 3 + [OTHER] * 3
    assert truth.labels[lesson.start] == ("Z",)


def test_a_level_without_pages_has_no_examples() -> None:
    lesson = level_examples(truth_of(ABC="6", ABX="12"), LevelGoal("A.B.C", examples=2), run=0, seed=0)
    assert list(lesson.labels) == ["A.B.C"] * 2 + ["A.B"] * 2


def test_wrong_input_says_so() -> None:
    with pytest.raises(ForagerError, match="at least 1"):
        LevelGoal("A", examples=0)
    with pytest.raises(ForagerError, match="topic"):
        level_examples(TRUTH, LevelGoal("A.Y"), run=0, seed=0)
    with pytest.raises(ForagerError, match="9 pages, and 12 of the level above: too few"):
        level_examples(TRUTH, LevelGoal("A.B.C", examples=8, starts=5), run=0, seed=0)


# ---- trials ---------------------------------------------------------------------------------------------------------


def test_a_trial_has_nothing_but_its_lesson() -> None:
    lab, goal = experiment.laboratory(WEB), LevelGoal(TOPIC, examples=3)
    lesson = level_examples(lab.web.truth, goal, run=1, seed=4)
    trial = level_trial(lab, goal, Spec("naive-bayes"), run=1, seed=4)
    assert list(trial.seeds) == [lesson.start]
    assert trial.trained == frozenset(lesson.examples)
    assert trial.relevant == frozenset(lab.web.truth.relevant(TOPIC))
    assert set(trial.critic.classes) == {TOPIC, "Business"}
    assert (trial.pages, trial.teaching) == (400, None)
    assert len(trial.targets) == 3


def test_the_usual_sample_is_that_of_the_topic_protocol() -> None:
    lab, goal = experiment.laboratory(WEB), LevelGoal(TOPIC, examples=3)
    usual = level_trial(lab, replace(goal, usual=True), Spec("naive-bayes"), run=1, seed=0, pages=9)
    wanted = topic_trial(lab, TOPIC, Spec("naive-bayes"), run=1, seed=0)
    assert usual.trained == wanted.trained
    assert usual.critic.version == wanted.critic.version
    assert list(usual.seeds) == [level_examples(lab.web.truth, goal, run=1, seed=0).start]
    assert usual.pages == 9


def test_an_experiment_by_levels() -> None:
    plan = Plan(WEB, LevelGoal(TOPIC, examples=3), ("breadth-first", "lexical"), "lexical", runs=2, pages=12)
    assert survey(plan).expected(plan, None) == 12
    assert survey(replace(plan, pages=None)).expected(replace(plan, pages=None), None) == 400
    done = conduct(plan)
    assert [len(record.order) for record in done.records.values()] == [12] * 4
    for run in (0, 1):
        starts = {done.records[Cell(name, run, None)].order[0] for name in plan.strategies}
        assert starts == {level_examples(experiment.laboratory(WEB).web.truth, plan.goal, run=run, seed=0).start}  # type: ignore[arg-type]
    report = figures(done)
    assert (report["protocol"], report["topic"], report["relevant"]) == ("topic", TOPIC, 20)


def test_cells_of_other_goals_keep_their_names() -> None:
    cell, plan = Cell("best-first", 0, None), Plan("w", TopicGoal("Birds"), ("best-first",))
    assert cell_key("c", plan, cell)["goal"] == {"topic": "Birds"}
    by_level = cell_key("c", replace(plan, goal=LevelGoal("Birds")), cell)["goal"]
    assert by_level == {"topic": "Birds", "examples": 5, "starts": 5, "root": 0}


# ---- remembering ----------------------------------------------------------------------------------------------------


class Counting(WordCritic):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Url] = []

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        self.asked += [page.url for page in pages]
        return super().judge(pages)


def test_a_page_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    critic = Counting()
    remembered = CriticWithMemory(critic)
    a, b, c = (page_of(url, f"<p>bird {url[-1]}</p>") for url in urls("abc"))
    assert [judged.relevance for judged in remembered.judge([a, b, a])] == [0.5] * 3
    assert critic.asked == [a.url, b.url]
    monkeypatch.setattr(level_trials, "REMEMBERED", 2)
    remembered.judge([c])  # a is forgotten
    remembered.judge([b, c])
    assert critic.asked == [a.url, b.url, c.url]
    remembered.judge([a])
    assert critic.asked == [a.url, b.url, c.url, a.url]
    assert (remembered.classes, remembered.focus, remembered.version) == (critic.classes, critic.focus, critic.version)


def test_a_crawl_is_the_same_with_a_critic_that_remembers() -> None:
    lab, goal = experiment.laboratory(WEB), LevelGoal(TOPIC, examples=3)
    trial = level_trial(lab, goal, Spec("lexical"), run=0, seed=0, pages=25)
    assert isinstance(trial.critic, LevelCriticWithMemory)
    assert isinstance(trial.critic, HasLevels)
    bare = replace(trial, critic=trial.critic._critic)
    for spec in (Spec("lexical"), Spec.parse("lexical:weighted=true:proximity=0.5")):
        ours, theirs, again = (crawl_trial(lab, each, spec) for each in (trial, bare, trial))
        assert ours.order == theirs.order == again.order
        assert np.array_equal(ours.expected, theirs.expected)
