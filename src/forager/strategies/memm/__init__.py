"""Guesses from the path how far a target is: for ways that are alike everywhere; needs `forager train`.

Liu, Milios & Korba (2008): a MEMM over hop distance.

The hidden state T_j of a page says that a target is j links away; the last state means "that many or more". A maximum
entropy Markov model gives the chance p(s'|s,o) of the next state from the state before and the observations o, which
are words of the page and of the link. Along a path it carries alpha, the chance of each state given all observations so
far. A link scores by the states that the page behind it may be in. The model is trained before the crawl, with random
walks, links or shown paths of a web whose targets are known.

    strategy       MemmCrawler: scoring while crawling
    observations   Observer: what is observed of pages and links
    model          MemmModel: what each observation adds to the potentials
    training       MemmTrainer: sequences of pages, their observations, and the model of both
"""

from forager.strategies.memm.strategy import MemmCrawler

__all__ = ["MemmCrawler"]
