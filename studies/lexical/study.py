"""The study of the lexical method: chapter 5 of a thesis on crawling by the lexical profiles of web directories.

Topics are leaves of a directory. Each is crawled from several pages one level above it, with a few examples a level
(`forager_lab.level_trials`). What is tried is a variant: a critic, and a strategy.

    crawlers    the thesis' method, and the strategy as it comes, beside others; what needs another critic has naive
                Bayes, taught with the same pages or, marked, with the laboratory's usual sample
    contexts    4 to 10 words either side of a link
    features    each alone, in pairs, all three
    forms       the product of the levels, and sums with weights from several sources
    terms       weighed by C-value, or not
    options     what the thesis wished for, and choices of ours

Options are crawled on further topics too, those on which weights are searched: what helps on both kinds is a help. Not
crawled for: the levels that pages are given, and critics with few examples (`lexical_offline`). Crawls are cells of a
matrix (`forager_lab.matrix`), all the rest is kept in parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from forager.errors import ForagerError
from forager.learn.lexical.levels import NARROWEST, WIDEST, Settings
from forager.types import Url
from forager_lab.experiment import Cell, Plan, laboratory
from forager_lab.level_trials import PAGES, LevelGoal, level_examples
from forager_lab.matrix import KEPT, MatrixResult, Note, Tell, run_matrix
from forager_lab.protocol import CrawlRecord
from studies.apprentice.study import STEERED_BY
from studies.keeping import Kept
from studies.lexical.offline import BACKGROUND
from studies.lexical.parts import (
    FewPart,
    LevelPart,
    Precisions,
    SearchPart,
    Tables,
    code_behind,
)
from studies.lexical.weights import PLAIN, PLAIN_CRITIC, Breeding, Searched
from studies.parts import make_parts

SHORT = 100  # pages of a short crawl
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
class Variant:
    """A crawler that is tried: how tables call it, and what it is."""

    name: str
    strategy: str = "lexical"
    critic: str = "lexical"
    root: int = 0  # examples of other topics
    usual: bool = False  # the critic has the laboratory's usual sample
    everywhere: bool = False  # on the other topics too
    side: bool = False  # in fewer runs


def plain(name: str, strategy: str = "", critic: str = "", root: int = 0, *, tested: bool = False) -> Variant:
    """The thesis' method with some options set otherwise, on all topics in few runs; or on those tested, in all."""
    strategy, critic = ":".join(filter(None, (PLAIN, strategy))), ":".join(filter(None, (PLAIN_CRITIC, critic)))
    return Variant(name, strategy, critic, root, everywhere=not tested, side=not tested)


BREADTH = Variant("breadth-first", "breadth-first", PLAIN_CRITIC, everywhere=True)
THESIS = Variant("thesis", PLAIN, PLAIN_CRITIC, everywhere=True)
SHIPPED = Variant("lexical", everywhere=True)
CRAWLERS = (
    BREADTH,
    THESIS,
    SHIPPED,
    Variant("best-first, levels", "best-first", PLAIN_CRITIC),
    Variant("best-first, finer levels", "best-first", f"{PLAIN_CRITIC}:counts=finer"),
    Variant("best-first", "best-first", "naive-bayes"),
    Variant("apprentice", STEERED_BY, "naive-bayes"),
    Variant("best-first*", "best-first", "naive-bayes", usual=True),
    Variant("apprentice*", STEERED_BY, "naive-bayes", usual=True),
    Variant("oracle", "oracle", PLAIN_CRITIC),
)
CONTEXTS = {
    words: THESIS if words == Settings().context else plain(f"{words} words", f"context={words}", tested=True)
    for words in range(NARROWEST, WIDEST + 1)
}
SETS = ("context", "content", "page", "context+content", "context+page", "content+page")
FEATURES = (*(plain(names.replace("+", ", "), f"features={names}", tested=True) for names in SETS), THESIS)
WEIGHTED = replace(plain("C-values", "weighted=true"), side=False)
RARITY = replace(plain("C-values by rarity", "weighted=true", "idf=true", BACKGROUND), side=False)
OPTIONS = (
    WEIGHTED,
    RARITY,
    plain("1 parent term", "parent_terms=1"),
    plain("3 parent terms", "parent_terms=3"),
    plain("links in menus twice as far", "navigation=2.0"),
    plain("no terms of menus", critic="navigation=false"),
    plain("pages of a level told apart", "finer=true"),
    plain("proximity .5", "proximity=0.5"),
    plain("proximity 1", "proximity=1.0"),
    plain("reward 1", "reward=1.0"),
    plain("a level of other topics", critic="above=all", root=5),
    plain("not strict", critic="strict=false"),
    plain("phrases only", critic="mode=thesis"),
    plain("40 terms a level", critic="terms=40"),
    plain("640 terms a level", critic="terms=640"),
    plain("found again: first", "combine=first"),
)


@dataclass(frozen=True)
class Scheme:
    """What is tried, on what."""

    web: str
    topics: tuple[str, ...] = TOPICS
    others: tuple[str, ...] = OTHERS
    runs: int = 5  # crawls a topic, each from a page of its own
    side_runs: int = 2  # of them those that options are tried in, and other topics
    pages: int = PAGES
    examples: int = 5
    sizes: tuple[int, ...] = (4, 8, 16)  # numbers of examples that critics are tried with
    draws: int = 3  # of each
    replays: int = 2  # crawls a topic by which weights are searched
    breeding: Breeding = field(default_factory=Breeding)
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.side_runs <= self.runs or self.pages < 2 or not self.topics or not self.others:
            raise ForagerError(
                "--side-runs must be at least 1, --runs as many, --pages 2, and --topics and --others name at least one"
            )
        if again := [topic for topic in self.topics if topic in self.others]:
            raise ForagerError(
                f"{again[0]} is among --topics and --others: weights must not be tested where they were found"
            )

    def goal(self, topic: str, root: int = 0, usual: bool = False) -> LevelGoal:
        starts = max(self.runs, STARTS)  # so that with fewer runs they are the same crawls
        return LevelGoal(topic, self.examples, starts, root, usual)

    @property
    def everywhere(self) -> tuple[str, ...]:
        return self.topics + self.others

    def search_part(self) -> SearchPart:
        goals = tuple(self.goal(topic) for topic in self.others)
        return SearchPart(goals, self.replays, self.pages, self.breeding, self.seed)

    def few_part(self, topic: str) -> FewPart:
        return FewPart(topic, self.sizes, self.draws, self.seed)

    def level_part(self, topic: str, run: int, done: MatrixResult) -> LevelPart:
        """Of the first pages of the crawl by the thesis' method."""
        record = done.experiments[plan_name(topic, THESIS)].records[Cell(THESIS.strategy, run, None)]
        return LevelPart(self.goal(topic), run, self.seed, record.order[:SHORT])

    def plans(self, variants: Sequence[Variant]) -> dict[str, Plan]:
        """A plan for each topic and kind of critic."""
        found: dict[str, Plan] = {}
        for topic in self.everywhere:
            kinds: dict[str, list[Variant]] = {}
            for each in variants:
                if each.everywhere or topic in self.topics:
                    kinds.setdefault(plan_name(topic, each), []).append(each)
            for name, alike in kinds.items():
                goal = self.goal(topic, alike[0].root, alike[0].usual)
                strategies = tuple(dict.fromkeys(each.strategy for each in alike))
                runs = self.runs if topic in self.topics and not alike[0].side else self.side_runs
                found[name] = Plan(self.web, goal, strategies, alike[0].critic, runs, self.pages, self.seed)
        return found


def plan_name(topic: str, variant: Variant) -> str:
    kinds = {"usual sample": variant.usual, "side": variant.side}
    return " · ".join([topic, variant.critic, *(kind for kind, so in kinds.items() if so)])


def forms(searched: Searched) -> dict[str, Variant]:
    """The variants that combine levels in these ways."""
    found: dict[str, Variant] = {}
    for name, form in searched.forms.items():
        a, b, c = form.weights or (0, 0, 0)
        summed = plain(name, f"form=sum:a={a:.3f}:b={b:.3f}:c={c:.3f}", tested=True)
        found[name] = summed if form.weights else THESIS
    return found


@dataclass(frozen=True)
class LexicalStudy:
    """A scheme carried out."""

    scheme: Scheme
    web: str
    done: MatrixResult
    searched: Searched
    few: Mapping[str, Precisions]  # by topic
    levels: Mapping[tuple[str, int], Tables]  # by topic and run
    shown: Mapping[tuple[str, int], frozenset[Url]]  # examples, by topic and run
    sizes: Mapping[str, int]  # pages of each topic that may be found, examples not counted
    codes: Mapping[str, int]  # fingerprints of the code that made cells and parts, with their number

    @property
    def crawls(self) -> list[tuple[str, int]]:
        """The crawls of a variant on the tested topics."""
        return [(topic, run) for topic in self.scheme.topics for run in range(self.scheme.runs)]

    def record(self, variant: Variant, topic: str, run: int) -> CrawlRecord:
        return self.done.experiments[plan_name(topic, variant)].records[Cell(variant.strategy, run, None)]

    def found(self, variant: Variant, topic: str, run: int, pages: int) -> int:
        """Relevant pages among the first so many, examples not counted."""
        record, shown = self.record(variant, topic, run), self.shown[topic, run]
        relevant = zip(record.order[:pages], record.relevant[:pages].tolist(), strict=True)
        return sum(1 for url, hit in relevant if hit and url not in shown)


def run_lexical_study(
    scheme: Scheme,
    folder: Path = KEPT,
    *,
    jobs: int = 1,
    fresh: bool = False,
    tell: Tell = lambda progress: None,
    note: Note = lambda line: None,
) -> LexicalStudy:
    """Make what is missing, by so many processes, and put all together. `fresh`: so is what other code made."""
    if jobs < 1:
        raise ForagerError("--jobs must be at least 1")
    truth, kept = laboratory(scheme.web).web.truth, Kept(folder, code_behind(), fresh=fresh)
    lessons = {
        (topic, run): level_examples(truth, scheme.goal(topic), run=run, seed=scheme.seed)
        for topic in scheme.everywhere
        for run in range(scheme.runs)
    }  # first, because names of topics may be wrong
    make = partial(make_parts, scheme.web, kept, jobs=jobs, note=note)
    weights, *few = make([scheme.search_part(), *(scheme.few_part(topic) for topic in scheme.topics)])
    searched = SearchPart.read(weights)
    plans = scheme.plans([*CRAWLERS, *CONTEXTS.values(), *FEATURES, *forms(searched).values(), *OPTIONS])
    done = run_matrix(plans, folder, jobs=jobs, fresh=fresh, tell=tell, note=note)
    if done.failed:
        raise ForagerError("; ".join(done.failed))
    told = [scheme.level_part(topic, run, done) for topic in scheme.topics for run in range(scheme.runs)]
    levels = make(told)
    return LexicalStudy(
        scheme,
        laboratory(scheme.web).web.name,
        done,
        searched,
        {topic: FewPart.read(each) for topic, each in zip(scheme.topics, few, strict=True)},
        {(part.goal.topic, part.run): LevelPart.read(each) for part, each in zip(told, levels, strict=True)},
        {crawl: frozenset(lesson.examples) for crawl, lesson in lessons.items()},
        {topic: len(truth.relevant(topic)) - scheme.examples for topic in scheme.everywhere},
        Counter(done.codes) + Counter(part["code"] for part in (weights, *few, *levels)),
    )
