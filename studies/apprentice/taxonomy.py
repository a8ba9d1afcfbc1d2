"""A critic with many classes: the web's own taxonomy, as the paper's critic knew 482 classes of a directory.

Section 3.1 of the paper prunes a directory until every class has 300 examples, and takes about 300 of each. The webs
here are far smaller: half of the categories of wikispeedia have fewer than 22 pages. So a class has at least 20 pages,
and the critic learns from 10 of each, which leaves half of the smallest class to be found. Both numbers come from the
sizes of the categories alone; no crawl was looked at.

A page with several labels belongs to the first of them, a page of the topic to the first one within the topic. Pages
without a label are a category of their own. Relevance is the sum of Pr(c|u) over the classes c of the topic. The crawl
starts where that of the critic with two classes does. The pages of the sample do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from forager.learn.focus import below
from forager.registry import Spec
from forager.topics.directory.listing import Listing
from forager.topics.directory.prune import balanced, prune
from forager.types import Url
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial, learn_topic

SMALLEST = 20  # pages of a class
SAMPLED = 10  # of them to learn from
UNLABELLED = "none"


def category(labels: Sequence[str], topic: str) -> str:
    """The one category of a page with these labels."""
    return next((label for label in labels if below(label, topic)), labels[0] if labels else UNLABELLED)


def class_sample(lab: Laboratory, topic: str, seed: int) -> dict[Url, str]:
    """Pages to learn from, drawn by chance, each with its class. A topic that is small keeps a class of its own."""
    pages = {url: category(labels, topic) for url, labels in lab.web.truth.labels.items()}
    size = sum(below(name, topic) for name in pages.values())
    pruned = prune(Counter(pages.values()), min(SMALLEST, size))
    listings = (Listing(url, name) for url, name in pages.items())
    return {Url(listing.url): name for name, listing in balanced(listings, pruned, SAMPLED, seed)}


def taxonomy_trial(lab: Laboratory, trial: Trial, critic: Spec, sample: dict[Url, str]) -> Trial:
    """The same trial with a critic that learnt the classes of the sample."""
    learnt = learn_topic(lab, critic, list(sample), list(sample.values()), trial.focus, trial.seed)
    trained = trial.trained.union(sample)
    return replace(trial, critic=learnt.critic, query=learnt.query, targets=learnt.targets, trained=trained)
