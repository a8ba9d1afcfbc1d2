"""Follows ways that you have shown, step by step to a goal: needs `forager teach` and `forager train`.

The path forager, a thesis by Sajjanhar (2008): how pages follow one another up to a goal.

A conditional random field gives a label to each page and each link of a path. The labels are milestones, goal, fail,
and prefix(c) for pages on the way to c. In *dual states* each label c is a page-state, and a link-state for links to
such pages. A path is P1 L2 P3 …, and a position allows only states of its own kind:

    Pr(y|x) = e^(sum over i of W.f(y_i-1,y_i,x,i)) / Z(x)       W by maximum likelihood under a Gaussian prior

Each state has a reward, learnt from the training paths: the chance to end in goal from there, discounted by gamma for
each position to go. A link scores the expected reward of its states, given the path to it.

    strategy     PathForager: scoring while crawling, and what it is taught with
    model        CrfModel: the trained chain, one step at a time along a path
    training     CrfTrainer: weights and rewards
    examples     CrfExamples: labelled paths as rows of features
    features     CrfFeatures: what is seen of pages and links
"""

from forager.strategies.crf.strategy import PathForager

__all__ = ["PathForager"]
