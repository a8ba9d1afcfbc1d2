"""Scores links by the levels of a topic path: for a narrow topic of a directory; needs the lexical critic.

The crawler of a thesis on lexical profiles of web directories.

The topic is a path of a directory, such as science.biology.botany; its target is level 1, its parent level 2, and so
on. A critic has the terms of each level. A link has three levels: that of the words around it (context),
that of its anchor (content), and that of its page. It scores by the product of the three, or by a weighted sum: the
lowest goes first.

Ours: a link near others that paid goes sooner, by `proximity`. Ours, and off unless asked for: links in menus and
footers have their link score multiplied by `navigation`; pages of one level are told apart (`finer`); terms that led to
good pages weigh more, by `reward`. The crawler of the thesis itself is `proximity = 0` with
a critic of `mode = "thesis"` and `terms = 0`.

    strategy     LexicalStrategy: the thesis
    links        LinkLevels, LinkScore: the levels of a link, and the number made of them
    learning     LearningLexicalStrategy: what it learns while crawling
"""

from __future__ import annotations

from typing import Literal

from forager.errors import ForagerError
from forager.learn.lexical.levels import LevelSettings
from forager.strategies.lexical.learning import LearningLexicalStrategy
from forager.strategies.lexical.links import FEATURES, LEARNT, Form, LinkLevels, LinkScore
from forager.strategies.lexical.strategy import LexicalStrategy
from forager.types import Combine, Critic, Policy

__all__ = ["LearningLexicalStrategy", "LexicalStrategy", "make_lexical"]


def make_lexical(
    *,
    critic: Critic,
    features: str = ",".join(FEATURES),
    form: Form = "product",
    a: float = LEARNT[0],
    b: float = LEARNT[1],
    c: float = LEARNT[2],
    weighted: bool | None = None,
    context: int = LevelSettings().context,
    bounded_texts: bool = False,
    parent_share: float | None = None,
    finer: bool = False,
    combine: Literal["best", "first", "latest", "mean"] = "best",
    navigation: float = 1.0,
    proximity: float = 1.0,
    near: int = 3,
    reward: float = 0.0,
    every: int = 25,
) -> LexicalStrategy:
    """The strategy with these options. It learns while crawling only if `proximity` or `reward` is above 0."""
    if navigation <= 0 or not 0 <= proximity <= 1 or reward < 0 or near < 1 or every < 1:
        told = "navigation must be above 0, proximity from 0 to 1, reward 0 or more, near and every 1 or more"
        raise ForagerError(f"lexical: {told}")
    score = LinkScore.of(features, form, (a, b, c))
    settings = {
        "weighted": weighted, "context": context, "bounded_texts": bounded_texts, "parent_share": parent_share
    }  # fmt: skip
    links = LinkLevels.of(critic, score.features, settings, finer)
    thesis = LexicalStrategy(links, score, Combine(Policy(combine)), navigation)
    if not (proximity or reward):
        return thesis
    return LearningLexicalStrategy(thesis, proximity=proximity, near=near, reward=reward, every=every)
