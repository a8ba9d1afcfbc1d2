"""The default strategy: a link is followed by all that speaks for it, with weights learnt on other webs.

words, meaning, place: one family of signals each. signals: all of them, pooled over the pages that a target was found
on. combiner: three experts who weigh them. strategy: what a crawl calls.
"""

from forager.strategies.weigher.strategy import Weigher

__all__ = ["Weigher"]
