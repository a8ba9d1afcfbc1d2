"""All that a plug-in needs: a class with the verbs of a critic, a strategy or a fetcher, and an entry point for it."""

from collections.abc import Iterable, Sequence

import numpy as np

from forager.types import LATEST, Answer, Combine, Fetch, Judgement, Page, ScoredLinks, Url, Visit
from forager.web.urls import UrlRules

ANSWER = 42


class Shouting:
    """Wants pages in capitals."""

    classes = ("relevant", "other")
    focus = ("relevant",)
    version = "shouting-1"

    def __init__(self, *, seed: int = 0, threshold: float = 0.3) -> None:
        self.seed, self.threshold = seed, threshold

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Nothing to learn."""

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        return [self._judge("".join(page.leaves)) for page in pages]

    def _judge(self, text: str) -> Judgement:
        loud = float(sum(map(str.isupper, text)) > self.threshold * len(text))
        return Judgement(loud, loud, np.array([loud, 1 - loud], np.float32), self.version)


class LastFirst:
    """Prefers the links found last."""

    @property
    def combine(self) -> Combine:
        return LATEST

    def score(self, visit: Visit) -> ScoredLinks:
        return ScoredLinks(np.full(len(visit.links), visit.trace.order, np.float32))


class Echo:
    """Answers with a page that names the URL."""

    closed = False

    def __init__(self, rules: UrlRules, *, greeting: str = "hello") -> None:
        self.rules, self.greeting = rules, greeting

    async def fetch(self, url: Url) -> Answer:
        return Fetch(url, f"<p>{self.greeting} {url}".encode())

    async def aclose(self) -> None:
        self.closed = True
