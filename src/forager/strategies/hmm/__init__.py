"""Guesses how far a target is, by a hidden Markov model: a yardstick for memm and crf; needs `forager train`.

Liu, Janssen & Milios (2006).

The hidden state T_i of a page says that a target is i links away; the last state means "that many or more". What is
seen of a page is the cluster it belongs to: latent semantic indexing turns its words into a point, and X-means finds
the clusters of points. The chances to begin in a state, to go from state to state, and to see a cluster in a state are
counted, with add-one, over paths of a web whose targets are known. Along a path the crawler carries the forward vector
alpha. A link scores by the likeliest state of the page behind it, and then by how similar its page is to a target.

    strategy     Hmm: scoring while crawling, and what it is taught with
    model        HmmModel: the chain of states, the clusters of pages, and the targets that pages are compared with
"""

from forager.strategies.hmm.strategy import Hmm

__all__ = ["Hmm"]
