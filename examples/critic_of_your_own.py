"""A critic of your own. It says how relevant a page is: here, how much of its text is words of the topic.

python examples/critic_of_your_own.py examples/crawl.toml owl nest egg feather
"""

import re
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from forager import Crawl, Judgement, Page, read_config


class WordShare:
    """A page is relevant for certain if one of twenty words is a word of the topic."""

    classes = focus = ("wanted",)  # the classes of pages that it knows, and those that you look for
    version = "word-share-1"  # every judgement carries it; change it when the critic changes

    def __init__(self, words: Iterable[str]) -> None:
        self.words = {word.lower() for word in words}

    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None:
        """It has nothing to learn. A critic that learns does it here, from pages and their classes."""

    def judge(self, pages: Sequence[Page]) -> list[Judgement]:
        return [self.judge_text(" ".join(page.leaves)) for page in pages]

    def judge_text(self, text: str) -> Judgement:
        found = re.findall(r"\w+", text.lower())
        relevance = min(1.0, 20 * sum(word in self.words for word in found) / max(1, len(found)))
        return Judgement(relevance, relevance, np.array([relevance], np.float32), self.version)


crawl = Crawl(read_config(Path(sys.argv[1])), critic=WordShare(sys.argv[2:]))
for visit in islice(crawl, 20):
    print(f"{visit.judgement.relevance:.2f}  {visit.page.url}  {visit.page.title}")
