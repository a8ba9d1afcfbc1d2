"""A strategy of your own, beside two others in the laboratory. It says which links to follow first.

python examples/strategy_of_your_own.py
"""

import numpy as np

from forager import Crawl, CrawlConfig, ScoredLinks, Strategy, Visit
from forager.clock import VirtualClock
from forager.config import FrontierConfig, StopConfig
from forager.registry import Spec
from forager.strategies import BestFirst, BreadthFirst
from forager.types import BEST, Region
from forager_lab.experiment import laboratory
from forager_lab.protocol import topic_trial


class MainTextFirst:
    """A link is as good as its page; in a menu or a footer, half as good."""

    combine = BEST  # a link that is found on several pages keeps its best score

    def score(self, visit: Visit) -> ScoredLinks:
        regions = visit.page.regions[visit.links.first_leaf]
        aside = (regions == Region.NAVIGATION) | (regions == Region.FOOTER)
        return ScoredLinks(np.where(aside, 0.5, 1.0).astype(np.float32) * np.float32(visit.judgement.relevance))


lab = laboratory("procedural:hosts=20:links=20")  # a web that is computed: the truth about every page is known
trial = topic_trial(lab, "Science", Spec("naive-bayes"), run=0, seed=0)  # trains a critic and draws seeds
config = CrawlConfig(seeds=trial.seeds, frontier=FrontierConfig(delay=0), stop=StopConfig(pages=150))
strategies: list[Strategy] = [BreadthFirst(), BestFirst(), MainTextFirst()]
for strategy in strategies:
    crawl = Crawl(config, critic=trial.critic, strategy=strategy, fetcher=lab.web.fetcher, clock=VirtualClock())
    found = sum(visit.page.url in trial.relevant for visit in crawl)
    print(f"{type(strategy).__name__:16}{found} of {crawl.stats.pages} pages are about Science")
