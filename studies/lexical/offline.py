"""Measures of critics, without crawling: the levels they give to pages, and how well they rank with few examples.

*Levels.* A critic is taught as for a crawl and gives levels to pages that it was not shown. A table counts the pages:
rows are the level by label, columns the level that the critic gives, the last one is outside. There are two samples:
the first pages of a crawl, as in the thesis, and equally many pages of each level, so that the most frequent answer is
not right by itself.

*Few examples.* Critics are taught with so many examples a level. They rank all pages that none of them was shown, and
each has an average precision. The lexical critic gives only n + 1 different answers; `finer` ranks the pages of a level
by their score at level 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forager.critics import make_critic
from forager.learn.lexical.cvalue import TermList
from forager.learn.lexical.levels import TopicLevels
from forager.registry import Spec
from forager.strategies.lexical.links import HasLevels, with_levels
from forager.types import Critic, Judgement, Page, Url
from forager_lab.laboratory import Laboratory
from forager_lab.level_trials import LevelExamples, LevelGoal, level_by_label, level_examples, pages_by_level, path_of
from forager_lab.metrics import Figure
from forager_lab.protocol import OTHER, OTHERS
from forager_lab.quality import JudgedSample, average_precision

LevelTable: TypeAlias = NDArray[np.int64]  # (n + 1, n + 1) pages: by label, by the critic

CRAWLED, EVENLY = "crawled", "evenly"  # samples
AS_IT_IS = "as it is"
RULES: Mapping[str, tuple[str, Mapping[str, Any]]] = {  # how levels are given: a critic, and changes of its settings
    AS_IT_IS: ("lexical", {}),
    "half of the parents' boundaries": ("lexical", {"parent_share": 0.5}),
    "the parents' boundaries": ("lexical", {"parent_share": 1.0}),
    "not strict": ("lexical", {"strict": False}),
    "C-values": ("lexical", {"weighted": True}),
    "C-values by rarity": ("lexical:idf=true", {"weighted": True}),
    "terms of the thesis": ("lexical:mode=thesis:terms=0", {}),
}
BACKGROUND = 100  # pages of other topics, from which the rarity of a term is counted
EACH = 50  # pages of a level in the even sample
BATCH = 64


# ---- levels ---------------------------------------------------------------------------------------------------------


def given_levels(
    lab: Laboratory, goal: LevelGoal, *, run: int, seed: int, crawled: Sequence[Url]
) -> dict[str, dict[str, LevelTable]]:
    """A table for each rule and sample."""
    lesson = level_examples(lab.web.truth, replace(goal, root=BACKGROUND), run=run, seed=seed)
    samples = {CRAWLED: crawled, EVENLY: _evenly(lab, goal.topic, np.random.default_rng([seed, run, EACH]))}
    path, shown = path_of(goal.topic), frozenset(lesson.examples)
    critics = _critics(lab, lesson, goal.topic)
    size = len(path) + 1
    tables = {name: {sample: np.zeros((size, size), np.int64) for sample in samples} for name in RULES}
    for sample, urls in samples.items():
        unseen = [url for url in urls if url not in shown]
        for url, page in zip(unseen, lab.pages(unseen), strict=True):
            level = level_by_label(lab.web.truth.labels.get(url, ()), path)
            if page is None or level is None:
                continue
            for name, given in _given(critics, page):
                tables[name][sample][level - 1, given - 1] += 1
    return tables


def _evenly(lab: Laboratory, topic: str, draw: np.random.Generator) -> list[Url]:
    levels = pages_by_level(lab.web.truth, topic)
    return [level[at] for level in levels for at in np.sort(draw.permutation(len(level))[:EACH]).tolist()]


_Critics: TypeAlias = list[tuple[HasLevels, dict[str, TopicLevels]]]  # each with the rules that use its terms


def _critics(lab: Laboratory, lesson: LevelExamples, topic: str) -> _Critics:
    found: _Critics = []
    for spec in dict.fromkeys(spec for spec, _ in RULES.values()):
        source = with_levels(taught(lab, Spec.parse(spec), lesson, topic))
        levels = source.levels
        rules = {name: changes for name, (critic, changes) in RULES.items() if critic == spec}
        made = {
            name: TopicLevels(levels.terms, levels.weights, replace(levels.settings, **changes))
            for name, changes in rules.items()
        }
        found.append((source, made))
    return found


def _given(critics: _Critics, page: Page) -> Iterator[tuple[str, int]]:
    for source, rules in critics:
        terms = source.terms_of(page)
        for name, levels in rules.items():
            yield name, levels.page_level(terms.terms, terms.weights)


def taught(lab: Laboratory, spec: Spec, lesson: LevelExamples, topic: str, seed: int = 0) -> Critic:
    """The critic of this spec, taught with these examples."""
    critic = make_critic(spec.name, {"focus": [topic], "seed": seed}, spec.options)
    pairs = [(p, label) for p, label in zip(lab.pages(lesson.examples), lesson.labels, strict=True) if p is not None]
    critic.fit((page for page, _ in pairs), (label for _, label in pairs))
    return critic


# ---- few examples ---------------------------------------------------------------------------------------------------

LEXICAL, FINER = "lexical", "lexical, finer"
SAME: Mapping[str, str] = {  # other critics, taught with the same pages
    "naive Bayes": "naive-bayes",
    "cosine": "cosine",
    "description, examples": "description",
}
MORE = "naive Bayes, 600 others"  # besides the examples of the topic
WORDS = "description, the path"  # its names, and nothing else
FEW_CRITICS = (LEXICAL, FINER, *SAME, MORE, WORDS)


def few_examples(
    lab: Laboratory, topic: str, sizes: Sequence[int], *, draws: int, seed: int
) -> dict[str, list[list[Figure]]]:
    """The average precision of each critic: a row for each size, a value for each draw. None: too few pages."""
    found: dict[str, list[list[Figure]]] = {name: [[None] * draws for _ in sizes] for name in FEW_CRITICS}
    classes = {
        (row, draw): _TaughtAlike(lab, topic, size, draw, seed)
        for row, size in enumerate(sizes)
        if 2 * size <= len(lab.web.truth.relevant(topic))
        for draw in range(draws)
    }
    urls, by_path = list(lab.web.truth.labels), _by_path(topic)
    pages = (page for page in lab.pages(urls) if page is not None)
    while classes and (batch := list(islice(pages, BATCH))):
        terms_of = next(iter(classes.values())).levels.terms_of  # all find the same terms
        seen = [_ReadPage(*each) for each in zip(batch, map(terms_of, batch), by_path.judge(batch), strict=True)]
        for each in classes.values():
            each.judge([one for one in seen if one.page.url not in each.shown])
    for (row, draw), each in classes.items():
        for name, precision in each.precisions().items():
            found[name][row][draw] = precision
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _ReadPage:
    """A page, and what is the same of it for all examples."""

    page: Page
    terms: TermList
    by_path: Judgement


class _TaughtAlike:
    """Critics that were taught with the same examples, and what they say of pages."""

    def __init__(self, lab: Laboratory, topic: str, size: int, draw: int, seed: int) -> None:
        lesson = level_examples(lab.web.truth, LevelGoal(topic, size), run=draw, seed=seed)
        more = _with_others(lab, lesson, topic, np.random.default_rng([seed, draw, OTHERS]))
        self.shown = frozenset((*lesson.examples, *more.examples))
        self.levels = with_levels(taught(lab, Spec("lexical"), lesson, topic))
        self._critics = {name: taught(lab, Spec.parse(spec), lesson, topic) for name, spec in SAME.items()}
        self._critics[MORE] = taught(lab, Spec("naive-bayes"), more, topic)
        self._relevant, self._truth = frozenset(lab.web.truth.relevant(topic)), list[bool]()
        self._said: dict[str, list[float]] = {name: [] for name in FEW_CRITICS}

    def judge(self, pages: Sequence[_ReadPage]) -> None:
        self._truth += [each.page.url in self._relevant for each in pages]
        self._said[WORDS] += [each.by_path.relevance for each in pages]
        for name, critic in self._critics.items():
            self._said[name] += [judgement.relevance for judgement in critic.judge([each.page for each in pages])]
        path = self.levels.levels
        for each in pages:
            found = each.terms
            place = path.page_place(found.terms, found.weights)
            self._said[LEXICAL].append(-place.level)
            self._said[FINER].append(-place.finer)

    def precisions(self) -> dict[str, Figure]:
        truth = np.array(self._truth, bool)
        return {name: average_precision(JudgedSample(np.array(said), truth)) for name, said in self._said.items()}


def _by_path(topic: str) -> Critic:
    names = [name.replace("_", " ") for name in reversed(topic.split("."))]
    return make_critic("description", {"focus": [topic]}, {"sentence": ", ".join(names)})


def _with_others(lab: Laboratory, lesson: LevelExamples, topic: str, draw: np.random.Generator) -> LevelExamples:
    """Only the examples of the topic, and the usual number of pages that are not under it."""
    wanted = frozenset(lab.web.truth.relevant(topic))
    others = [url for url in lab.web.truth.labels if url not in wanted]
    examples = [url for url, label in zip(lesson.examples, lesson.labels, strict=True) if label == topic]
    chosen = [others[at] for at in draw.permutation(len(others))[:OTHERS].tolist()]
    return LevelExamples([*examples, *chosen], [topic] * len(examples) + [OTHER] * len(chosen), lesson.start)
