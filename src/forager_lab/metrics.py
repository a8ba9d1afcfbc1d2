"""Figures of single crawls and means over crawls, by truth. A figure that does not apply is None."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from forager.types import Mask, Url
from forager.web.urls import host
from forager_lab.protocol import CrawlRecord

Figure: TypeAlias = float | None
PagesPerRun: TypeAlias = tuple[str, float]  # a name, and so many pages per run
NO_LABEL = "(no label)"


def harvest(relevant: Mask, pages: int) -> Figure:
    """Share of relevant pages among the first `pages`; None if the crawl is shorter."""
    return float(relevant[:pages].mean()) if 0 < pages <= len(relevant) else None


def new_harvest(record: CrawlRecord, pages: int) -> Figure:
    """The same without the pages that the critic had seen in training."""
    if not 0 < pages <= len(record.relevant):
        return None
    new = ~record.trained[:pages]
    return float(record.relevant[:pages][new].mean()) if new.any() else None


def unseen(record: CrawlRecord, relevant: int) -> tuple[Mask, int]:
    """A crawl as if the pages that taught the critic were not there, and R without its examples."""
    return record.relevant[~record.trained], relevant - len(record.toward)


def pages_to(relevant: Mask, goal: float, reachable: int) -> int | None:
    """Pages fetched until the share `goal` of the reachable targets is found; None if the crawl did not find it."""
    needed = int(np.ceil(goal * reachable))
    found = np.flatnonzero(relevant)
    return int(found[needed - 1]) + 1 if 0 < needed <= len(found) else None


def recall(relevant: Mask, pages: int, reachable: int) -> Figure:
    """Share of the reachable targets found among the first `pages`."""
    return float(relevant[:pages].sum() / reachable) if reachable else None


def harvest_area(relevant: Mask, pages: int) -> Figure:
    """Area under the harvest curve: the mean of harvest(n) over n = 1 … pages. Early finds count more."""
    if not 0 < pages <= len(relevant):
        return None
    counts = np.arange(1, pages + 1)
    return float((np.cumsum(relevant[:pages]) / counts).mean())


def expected_loss(record: CrawlRecord, pages: int) -> Figure:
    """Mean of 1 - Pr over the first `pages`; Pr is the critic's relevance. By truth the loss is 1 - harvest."""
    return float(1 - record.expected[:pages].mean()) if 0 < pages <= len(record.expected) else None


def precision(record: CrawlRecord, threshold: float, pages: int) -> Figure:
    """Share of the first `pages` whose similarity to an example is at least `threshold`."""
    return float((record.similarity[:pages] >= threshold).mean()) if 0 < pages <= len(record.similarity) else None


def new_precision(record: CrawlRecord, threshold: float) -> Figure:
    """The same over the whole crawl, without the pages that the critic had seen: an example resembles itself."""
    new = record.similarity[~record.trained]
    return float((new >= threshold).mean()) if len(new) else None


def sigma(record: CrawlRecord) -> Figure:
    """Maximum average similarity: the largest mean similarity of all crawled pages to one example."""
    return float(record.toward.max()) if len(record.toward) and len(record.order) else None


def relevant_hosts(record: CrawlRecord, pages: int) -> int:
    """Number of hosts with a relevant page among the first `pages`."""
    found = zip(record.order[:pages], record.relevant[:pages].tolist(), strict=True)
    return len({host(url) for url, hit in found if hit})


def overlap(orders: Sequence[Sequence[Url]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each pair of crawls the share of common URLs: of their union, and of the smaller crawl."""
    index = {url: at for at, url in enumerate(dict.fromkeys(url for order in orders for url in order))}
    fetched = np.zeros((len(orders), len(index)))
    for row, order in enumerate(orders):
        fetched[row, [index[url] for url in order]] = 1
    shared, sizes = fetched @ fetched.T, fetched.sum(axis=1)
    union = sizes[:, None] + sizes[None, :] - shared
    return shared / np.maximum(union, 1), shared / np.maximum(np.minimum.outer(sizes, sizes), 1)


def most_wasted(
    records: Sequence[CrawlRecord], name: Callable[[CrawlRecord, int], Iterable[str]], most: int
) -> list[PagesPerRun]:
    """The most frequent names (labels or hosts) of pages off topic, with their pages per run, most frequent first."""
    counts = Counter(
        each for record in records for at in np.flatnonzero(~record.relevant).tolist() for each in name(record, at)
    )
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(each, count / len(records)) for each, count in ranked[:most]]


def labels_of(record: CrawlRecord, at: int) -> list[str]:
    """The labels of a page of the record, by its index."""
    return record.labels[at].split(",") if record.labels[at] else [NO_LABEL]


def host_of(record: CrawlRecord, at: int) -> list[str]:
    """The host of a page of the record, by its index, as a list."""
    return [host(record.order[at])]


def mean(values: Sequence[Figure]) -> Figure:
    """The mean; None if any value is None, because a mean over some of the runs would favour the lucky ones."""
    given = [value for value in values if value is not None]
    return float(np.mean(given)) if given and len(given) == len(values) else None


def half_width(values: Sequence[Figure]) -> Figure:
    """Half the width of the 95 % interval of the mean, by Student's t; None for a single run."""
    given = [value for value in values if value is not None]
    if len(given) < 2 or len(given) != len(values):
        return None
    spread = np.std(given, ddof=1) / np.sqrt(len(given))
    return float(stdtrit(len(given) - 1, 0.975) * spread)


def loss_reduction(harvest: Figure, baseline: Figure) -> Figure:
    """1 - loss / loss of the baseline, where loss = 1 - harvest."""
    if harvest is None or baseline is None or baseline == 1:
        return None
    return 1 - (1 - harvest) / (1 - baseline)


def gap_closed(harvest: Figure, baseline: Figure, oracle: Figure) -> Figure:
    """How much of the distance from the baseline to the oracle is covered; None if that distance is under .05."""
    if harvest is None or baseline is None or oracle is None or oracle - baseline < 0.05:
        return None
    return (harvest - baseline) / (oracle - baseline)


def paired(ours: Sequence[Figure], theirs: Sequence[Figure]) -> Mapping[str, Figure]:
    """The mean difference over runs with the same samples, and its half width."""
    if len(ours) != len(theirs) or None in ours or None in theirs:
        return {"difference": None, "ci": None}
    differences = [a - b for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    return {"difference": mean(differences), "ci": half_width(differences)}


def curve(records: Sequence[CrawlRecord], points: int = 100) -> list[dict[str, Figure]]:
    """Harvest, loss by truth and loss by critic along the crawl: means over the runs, at up to `points` places."""
    return [_point(records, n) for n in _places(records, points)]


def recall_curve(records: Sequence[CrawlRecord], reachable: int, points: int = 100) -> list[dict[str, Figure]]:
    """Share of the reachable targets found along the crawl: means over the runs."""
    found = {n: [recall(record.relevant, n, reachable) for record in records] for n in _places(records, points)}
    return [{"pages": n, "recall": mean(values), "ci": half_width(values)} for n, values in found.items()]


def _places(records: Sequence[CrawlRecord], points: int) -> list[int]:
    longest = max((len(record.relevant) for record in records), default=0)
    return list(dict.fromkeys(np.linspace(1, longest, min(points, longest)).round().astype(int).tolist()))


def _point(records: Sequence[CrawlRecord], pages: int) -> dict[str, Figure]:
    reached = [record for record in records if len(record.relevant) >= pages]
    rates = [harvest(record.relevant, pages) for record in reached]
    sums = [float((1 - record.expected[:pages]).sum()) for record in reached]
    losses = [expected_loss(record, pages) for record in reached]
    rate = mean(rates)
    return {
        "pages": pages,
        "harvest": rate,
        "ci": half_width(rates),
        "expected_loss": mean(sums),  # the sum over the pages, as papers often draw it
        "loss": None if rate is None else 1 - rate,
        "loss_by_critic": mean(losses),
        "loss_by_critic_ci": half_width(losses),
    }
