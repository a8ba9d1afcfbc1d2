"""The plan of the study and its crawls: chapter 5 of the thesis, on the topics of a recorded web.

Topics are leaves of a directory. Each is crawled from several pages one level above it, with a few examples a level
(`forager_lab.level_trials`). A crawler that is tried is a variant: a critic and a strategy.

    crawlers    the method of the thesis with its own terms, `lexical` with its defaults, and others beside them;
                strategies that need another critic have naive Bayes, taught with the same pages or, marked *, with the
                laboratory's usual sample
    contexts    4 to 10 words on either side of a link
    features    each alone, in pairs, all three
    forms       the product of the levels, and sums with weights from several sources
    terms       weighed by C-value, or not
    options     what the thesis wished for, and choices of ours

Options are crawled on other topics too, those on which weights are searched: an option that helps on both is a help.
Levels of pages and critics with few examples need no crawl (`offline`). Crawls are cells of a matrix
(`forager_lab.matrix`); the rest is kept in parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from forager.errors import ForagerError
from forager.learn.lexical.levels import NARROWEST, WIDEST, LevelSettings
from forager.registry import Spec
from forager.types import Parts, Url
from forager_lab.experiment import Cell, Plan, laboratory
from forager_lab.laboratory import Laboratory
from forager_lab.level_trials import PAGES, LevelGoal, level_examples, level_trial
from forager_lab.matrix import KEPT, MatrixResult, Note, Tell, run_matrix
from forager_lab.metrics import Figure
from forager_lab.protocol import CrawlRecord
from studies.apprentice import STEERED_BY
from studies.kept_parts import PartsFolder, code_behind, make_parts
from studies.lexical import offline, weights
from studies.lexical.offline import BACKGROUND, LevelTable, few_examples, given_levels
from studies.lexical.weights import PLAIN, PLAIN_CRITIC, FormFitness, GeneticSettings, SearchedForms, search_weights

Tables: TypeAlias = Mapping[str, Mapping[str, LevelTable]]  # by rule and sample
Precisions: TypeAlias = Mapping[str, Sequence[Sequence[Figure]]]  # by critic: a row for each number of examples

SHORT = 100  # pages of a short crawl
SEVENTEEN = 3.0  # the C that about 17 terms of a page of wikispeedia reach, as many as in the tables of the thesis
STARTS = 5
TOPICS = (
    "Science.Biology.Dinosaurs",
    "Science.Chemistry.Chemical_compounds",
    "Science.Physics.Space_transport",
    "History.British_History.British_History_15001750",
)
OTHERS = (
    "Science.Biology.Insects_Reptiles_and_Fish",
    "Science.Physics.Electricity_and_Electronics",
    "Geography.Geography_of_Asia.Asian_Countries",
    "History.British_History.British_History_17501900",
    "Design_and_Technology.Railway_transport",
)


@dataclass(frozen=True)
class CrawlerVariant:
    """A crawler that is tried: its name in tables, its strategy and its critic."""

    name: str
    strategy: str = "lexical"
    critic: str = "lexical"
    root: int = 0  # examples of other topics
    usual: bool = False  # the critic has the laboratory's usual sample
    everywhere: bool = False  # tried on the other topics too
    side: bool = False  # tried in fewer runs


def plain(name: str, strategy: str = "", critic: str = "", root: int = 0, *, tested: bool = False) -> CrawlerVariant:
    """The method of the thesis with some options changed: on all topics in few runs, or `tested` topics in all."""
    strategy, critic = ":".join(filter(None, (PLAIN, strategy))), ":".join(filter(None, (PLAIN_CRITIC, critic)))
    return CrawlerVariant(name, strategy, critic, root, everywhere=not tested, side=not tested)


BREADTH = CrawlerVariant("breadth-first", "breadth-first", PLAIN_CRITIC, everywhere=True)
THESIS = CrawlerVariant("thesis", PLAIN, PLAIN_CRITIC, everywhere=True)
SHIPPED = CrawlerVariant("lexical", everywhere=True)
CRAWLERS = (
    BREADTH,
    THESIS,
    SHIPPED,
    CrawlerVariant("best-first, levels", "best-first", PLAIN_CRITIC),
    CrawlerVariant("best-first, finer levels", "best-first", f"{PLAIN_CRITIC}:counts=finer"),
    CrawlerVariant("best-first", "best-first", "naive-bayes"),
    CrawlerVariant("apprentice", STEERED_BY, "naive-bayes"),
    CrawlerVariant("best-first*", "best-first", "naive-bayes", usual=True),
    CrawlerVariant("apprentice*", STEERED_BY, "naive-bayes", usual=True),
    CrawlerVariant("oracle", "oracle", PLAIN_CRITIC),
)
CONTEXTS = {
    words: THESIS if words == LevelSettings().context else plain(f"{words} words", f"context={words}", tested=True)
    for words in range(NARROWEST, WIDEST + 1)
}
SETS = ("context", "content", "page", "context+content", "context+page", "content+page")
FEATURES = (*(plain(names.replace("+", ", "), f"features={names}", tested=True) for names in SETS), THESIS)
WEIGHTED = replace(plain("C-values", "weighted=true"), side=False)
RARITY = replace(plain("C-values by rarity", "weighted=true", "idf=true", BACKGROUND), side=False)
WORDS_TOO = replace(plain("words too, 160 terms a level", critic="mode=all:terms=160"), side=False)
OPTIONS = (
    WEIGHTED,
    RARITY,
    WORDS_TOO,
    plain("half of the parents' boundaries", "parent_share=0.5"),
    plain("the parents' boundaries", "parent_share=1.0"),
    plain("links in menus twice as far", "navigation=2.0"),
    plain("no terms of menus", critic="navigation=false"),
    plain("pages of a level told apart", "finer=true"),
    plain("proximity .5", "proximity=0.5"),
    plain("proximity 1", "proximity=1.0"),
    plain("reward 1", "reward=1.0"),
    plain("a level of other topics", critic="above=all", root=5),
    plain("not strict", critic="strict=false"),
    plain("about 17 terms a document", critic=f"least_c={SEVENTEEN}"),
    plain("words too, all of them", critic="mode=all"),
    plain("40 terms a level", critic="terms=40"),
    plain("160 terms a level", critic="terms=160"),
    plain("texts must reach the boundary", "bounded_texts=true"),
    plain("found again: first", "combine=first"),
)


# ---- parts that are not crawls --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SearchPart:
    """The weights of the levels, searched on topics that are not tested."""

    goals: tuple[LevelGoal, ...]
    runs: int
    pages: int
    breeding: GeneticSettings
    seed: int

    def __str__(self) -> str:
        return f"weights searched on {len(self.goals)} topics"

    def make(self, lab: Laboratory) -> dict[str, Any]:
        trials = [
            level_trial(lab, goal, Spec.parse(PLAIN_CRITIC), run=run, seed=self.seed, pages=self.pages)
            for goal in self.goals
            for run in range(self.runs)
        ]
        return asdict(search_weights(lab, trials, self.pages, self.breeding, self.seed))

    @staticmethod
    def read(parts: Parts) -> SearchedForms:
        forms = {
            name: FormFitness(tuple(each["weights"]) if each["weights"] else None, each["fitness"])
            for name, each in parts["forms"].items()
        }
        return SearchedForms(forms, parts["history"], parts["tried"], parts["links"])


@dataclass(frozen=True)
class FewPart:
    """How critics with few examples of a topic rank pages."""

    topic: str
    sizes: tuple[int, ...]
    draws: int
    seed: int

    def __str__(self) -> str:
        return f"{self.topic} · few examples"

    def make(self, lab: Laboratory) -> dict[str, Any]:
        return {"precisions": few_examples(lab, self.topic, self.sizes, draws=self.draws, seed=self.seed)}

    @staticmethod
    def read(parts: Parts) -> Precisions:
        return dict(parts["precisions"])


@dataclass(frozen=True)
class LevelPart:
    """The levels that critics give to pages, with the examples of a run."""

    goal: LevelGoal
    run: int
    seed: int
    crawled: tuple[Url, ...]  # the first pages of a crawl

    def __str__(self) -> str:
        return f"{self.goal.topic} · levels · run {self.run}"

    def make(self, lab: Laboratory) -> dict[str, Any]:
        tables = given_levels(lab, self.goal, run=self.run, seed=self.seed, crawled=self.crawled)
        return {"tables": {rule: {name: t.tolist() for name, t in both.items()} for rule, both in tables.items()}}

    @staticmethod
    def read(parts: Parts) -> Tables:
        return {
            rule: {name: np.array(table, np.int64) for name, table in both.items()}
            for rule, both in parts["tables"].items()
        }


# ---- the plan and the run -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LexicalPlan:
    """What is tried, on what."""

    web: str
    topics: tuple[str, ...] = TOPICS
    others: tuple[str, ...] = OTHERS
    runs: int = 5  # crawls a topic, each from a page of its own
    side_runs: int = 2  # of them, for options and for other topics
    pages: int = PAGES
    examples: int = 5
    sizes: tuple[int, ...] = (4, 8, 16)  # few examples: so many a level
    draws: int = 3  # of the examples, for each size
    replays: int = 2  # crawls a topic, to search weights
    breeding: GeneticSettings = field(default_factory=GeneticSettings)
    least_c: float = SEVENTEEN  # where terms are cut off; pages that are shorter than articles need less
    seed: int = 0

    @property
    def options(self) -> list[CrawlerVariant]:
        """The options that are tried, with this cut-off."""
        usual, own = f"least_c={SEVENTEEN}", f"least_c={self.least_c}"
        return [replace(each, critic=each.critic.replace(usual, own)) for each in OPTIONS]

    def __post_init__(self) -> None:
        if not 1 <= self.side_runs <= self.runs or self.pages < 2 or not self.topics or not self.others:
            raise ForagerError(
                "--side-runs must be at least 1, --runs at least as many, --pages at least 2, "
                "and --topics and --others must name at least one topic each"
            )
        if again := [topic for topic in self.topics if topic in self.others]:
            raise ForagerError(
                f"{again[0]} is among --topics and --others: weights must not be tested where they were found"
            )

    def goal(self, topic: str, root: int = 0, usual: bool = False) -> LevelGoal:
        """What crawls of a topic look for, and what their critic is shown."""
        starts = max(self.runs, STARTS)  # so that fewer runs are the same crawls
        return LevelGoal(topic, self.examples, starts, root, usual)

    @property
    def everywhere(self) -> tuple[str, ...]:
        """All topics."""
        return self.topics + self.others

    def search_part(self) -> SearchPart:
        """For the other topics."""
        goals = tuple(self.goal(topic) for topic in self.others)
        return SearchPart(goals, self.replays, self.pages, self.breeding, self.seed)

    def few_part(self, topic: str) -> FewPart:
        """For one topic."""
        return FewPart(topic, self.sizes, self.draws, self.seed)

    def level_part(self, topic: str, run: int, done: MatrixResult) -> LevelPart:
        """For the first pages of the crawl by the method of the thesis."""
        record = done.experiments[experiment_name(topic, THESIS)].records[Cell(THESIS.strategy, run, None)]
        return LevelPart(self.goal(topic), run, self.seed, record.order[:SHORT])

    def matrix(self, variants: Sequence[CrawlerVariant]) -> dict[str, Plan]:
        """An experiment for each topic and kind of critic."""
        found: dict[str, Plan] = {}
        for topic in self.everywhere:
            kinds: dict[str, list[CrawlerVariant]] = {}
            for each in variants:
                if each.everywhere or topic in self.topics:
                    kinds.setdefault(experiment_name(topic, each), []).append(each)
            for name, alike in kinds.items():
                goal = self.goal(topic, alike[0].root, alike[0].usual)
                strategies = tuple(dict.fromkeys(each.strategy for each in alike))
                runs = self.runs if topic in self.topics and not alike[0].side else self.side_runs
                found[name] = Plan(self.web, goal, strategies, alike[0].critic, runs, self.pages, self.seed)
        return found


def experiment_name(topic: str, variant: CrawlerVariant) -> str:
    """The name of the experiment that has the crawls of a variant."""
    kinds = {"usual sample": variant.usual, "side": variant.side}
    return " · ".join([topic, variant.critic, *(kind for kind, so in kinds.items() if so)])


def forms(searched: SearchedForms) -> dict[str, CrawlerVariant]:
    """The variants that combine levels in these ways."""
    found: dict[str, CrawlerVariant] = {}
    for name, form in searched.forms.items():
        a, b, c = form.weights or (0, 0, 0)
        summed = plain(name, f"form=sum:a={a:.3f}:b={b:.3f}:c={c:.3f}", tested=True)
        found[name] = summed if form.weights else THESIS
    return found


@dataclass(frozen=True)
class LexicalStudy:
    """A plan that was carried out."""

    plan: LexicalPlan
    web: str
    done: MatrixResult
    searched: SearchedForms
    few: Mapping[str, Precisions]  # by topic
    levels: Mapping[tuple[str, int], Tables]  # by topic and run
    shown: Mapping[tuple[str, int], frozenset[Url]]  # examples, by topic and run
    sizes: Mapping[str, int]  # pages of each topic, without the examples
    codes: Mapping[str, int]  # fingerprints of the code that made cells and parts, with their number

    @property
    def crawls(self) -> list[tuple[str, int]]:
        """The crawls of a variant on the tested topics: topic and run."""
        return [(topic, run) for topic in self.plan.topics for run in range(self.plan.runs)]

    def record(self, variant: CrawlerVariant, topic: str, run: int) -> CrawlRecord:
        """The record of one crawl."""
        return self.done.experiments[experiment_name(topic, variant)].records[Cell(variant.strategy, run, None)]

    def found(self, variant: CrawlerVariant, topic: str, run: int, pages: int) -> int:
        """The number of relevant pages among the first so many, without the examples."""
        record, shown = self.record(variant, topic, run), self.shown[topic, run]
        relevant = zip(record.order[:pages], record.relevant[:pages].tolist(), strict=True)
        return sum(1 for url, hit in relevant if hit and url not in shown)


def run_lexical_study(
    plan: LexicalPlan,
    folder: Path = KEPT,
    *,
    jobs: int = 1,
    fresh: bool = False,
    tell: Tell = lambda progress: None,
    note: Note = lambda line: None,
) -> LexicalStudy:
    """Make the crawls and parts that are missing, by so many processes, and put all together.

    `fresh`: what other code made is made again.
    """
    if jobs < 1:
        raise ForagerError("--jobs must be at least 1")
    truth, kept = laboratory(plan.web).web.truth, PartsFolder(folder, code_behind(offline, weights), fresh=fresh)
    lessons = {
        (topic, run): level_examples(truth, plan.goal(topic), run=run, seed=plan.seed)
        for topic in plan.everywhere
        for run in range(plan.runs)
    }  # first, because names of topics may be wrong
    make = partial(make_parts, plan.web, kept, jobs=jobs, note=note)
    searched_part, *few = make([plan.search_part(), *(plan.few_part(topic) for topic in plan.topics)])
    searched = SearchPart.read(searched_part)
    matrix = plan.matrix([*CRAWLERS, *CONTEXTS.values(), *FEATURES, *forms(searched).values(), *plan.options])
    done = run_matrix(matrix, folder, jobs=jobs, fresh=fresh, tell=tell, note=note)
    if done.failed:
        raise ForagerError("; ".join(done.failed))
    level_parts = [plan.level_part(topic, run, done) for topic in plan.topics for run in range(plan.runs)]
    levels = make(level_parts)
    return LexicalStudy(
        plan,
        laboratory(plan.web).web.name,
        done,
        searched,
        {topic: FewPart.read(each) for topic, each in zip(plan.topics, few, strict=True)},
        {(part.goal.topic, part.run): LevelPart.read(each) for part, each in zip(level_parts, levels, strict=True)},
        {crawl: frozenset(lesson.examples) for crawl, lesson in lessons.items()},
        {topic: len(truth.relevant(topic)) - plan.examples for topic in plan.everywhere},
        Counter(done.codes) + Counter(part["code"] for part in (searched_part, *few, *levels)),
    )
