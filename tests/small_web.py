"""A web small enough to know by heart, and a critic that counts a word: for tests of the loop itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from forager.types import Answer, Failure, Fetch, Judgement, Page, Reason, Redirect, Url

HOME, OTHER = "http://a.test", "http://b.test"


def url(path: str) -> Url:
    return Url((HOME if path.startswith("/") else "http://") + path)


def html(text: str, *targets: str) -> str:
    links = "".join(f'<li><a href="{target}">go to {target}</a> and {text}' for target in targets)
    return f"<html><head><title>{text}</title></head><body><p>{text}</p><ul>{links}</ul></body></html>"


class SmallWeb:
    """Pages by URL; a page that is a Redirect or Failure is answered as such. Remembers what was asked, in order."""

    def __init__(self, pages: Mapping[Url, str | Redirect | Failure]) -> None:
        self.pages = pages
        self.asked: list[Url] = []

    async def fetch(self, url: Url) -> Answer:
        self.asked.append(url)
        page = self.pages.get(url, Failure(url, Reason.NOT_FOUND))
        return Fetch(url, page.encode()) if isinstance(page, str) else page

    def requests(self) -> Counter[Url]:
        return Counter(self.asked)


class WordCritic:
    """Relevance = share of the page's words that are the wanted one."""

    classes = ("relevant", "other")
    focus = ("relevant",)
    version = "word-1"

    def __init__(self, word: str = "bird") -> None:
        self.word = word

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """Nothing to learn."""

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        return [self._judge(page) for page in pages]

    def _judge(self, page: Page) -> Judgement:
        words = " ".join(page.leaves).lower().split()
        share = words.count(self.word) / max(1, len(words))
        return Judgement(share, share, np.array([share, 1 - share], np.float32), self.version)
