"""Weighs all that speaks for a link, and learns while it crawls: what a user gets who names no strategy.

    f(v)     = signals of the words at the link and of what they mean, of the page it is on, of the places it stands in
               and leads to, and of the company it keeps                       words, meaning, place, signals
    score(v) = log-odds that v is relevant, by three experts over f(v)         combiner

The weights of the signals were learnt on other webs and topics, so that they serve from the first page on. While the
crawl goes on they are adapted to it, as far as that predicts its pages better. And where all this predicts worse than
the relevance of the page that a link is on, the strategy goes by that, as best-first does.

How relevant a page is, it learns from the critic r and from how the page begins, o (meaning), each by how well it has
told the sample apart, p and q being their average precisions there:

    logit = (1 - s) logit r + s o                  s / (1 - s) = (q / (1 - q)) / (p / (1 - p))

If neither finds the wanted pages of the sample much better than chance does, most of its labels are wrong, and so is
what the words and their meaning say by them. Then the strategy goes by the critic's order alone, as best-first does:

    in doubt if the odds of max(p, q) < CHANCE n+ / n-               n+ of the sample's pages are wanted, n- are not
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Self

import numpy as np

from forager.errors import ForagerError
from forager.learn.linear import inner
from forager.learn.sample import TopicSample
from forager.strategies.weigher.combiner import Combiner, load_weights
from forager.strategies.weigher.known_links import KnownLinks
from forager.strategies.weigher.meaning import TopicMeaning
from forager.strategies.weigher.place import LinkPlace, Success, host_key, logit, neighbour_keys, path_keys
from forager.strategies.weigher.signals import NAMES, WIDTH, CrawlSoFar, LinkRows
from forager.strategies.weigher.telling import tell
from forager.strategies.weigher.words import LearntWords, TopicWords
from forager.types import (
    BEST,
    Critic,
    Evidence,
    Floats,
    Graph,
    Ids,
    Miss,
    Parts,
    Ragged,
    Region,
    ScoredLinks,
    Terms,
    Visit,
    Waiting,
    WaitingBatch,
)

CHANCE = 1.9  # the odds are 0.9 to 1.6 times n+ / n- if 30 % of the labels are flipped; 2.2 and more if all are right
_EDGE = np.isin(list(Region), (Region.NAVIGATION, Region.FOOTER))


class Weigher:
    """state = what is known of the link when it is found; clue = its vector, its places and its words

    `weights` is a file to use instead of the package's own weights. `adapt` = false: they stay as they are; `guard` =
    false: it never goes by the page alone.
    """

    combine = BEST
    alone = True  # the new score of a link needs only its own rows
    top = 1_000  # links that are scored again in most sweeps

    def __init__(
        self,
        *,
        sample: TopicSample,
        critic: Critic | None = None,
        every: int = 5,
        weights: str = "",
        adapt: bool = True,
        guard: bool = True,
    ) -> None:
        if every < 1:
            raise ForagerError("every: pages between two sweeps, at least 1")
        self.every = every
        self._words, self._meaning = TopicWords(sample), TopicMeaning(sample)
        self._share = _share(self._meaning.precision, critic)
        self._known = KnownLinks(self._words, self._meaning)
        self._so_far = CrawlSoFar(Success(), self._meaning.learnt, LearntWords())
        self._so_far.words.learn_sample(sample)
        wary = guard and _in_doubt(sample, self._meaning.precision, critic)
        self._combiner = Combiner(load_weights(weights), adapt=adapt, guard=guard, wary=wary)

    # ---- learning

    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        inlinks, so_far = outcome.trace.inlinks, self._so_far
        rows = LinkRows.of(inlinks.state, inlinks.clues, inlinks.sources, _ONE)
        followed = bool(rows.keys.any())  # not a seed
        if isinstance(outcome, Miss):
            if followed:
                so_far.learn_miss(rows)
            return
        relevance = self._relevance(outcome)
        if followed:
            self._combiner.learn(so_far.signals(rows)[0], relevance)
            so_far.learn(rows, relevance, self._meaning.opening(outcome.page))
        else:
            so_far.learn_seed(outcome.page.url, relevance)
        so_far.learn_known(outcome.trace.id, outcome.known.relevance)

    def _relevance(self, visit: Visit) -> float:
        """How relevant a page is, by the critic and by how it begins."""
        said = (1 - self._share) * logit(visit.judgement.relevance)
        if self._share:
            said += self._share * self._meaning.opinion(visit.page)
        return float(1 / (1 + np.exp(-said)))

    # ---- scoring

    def score(self, visit: Visit) -> ScoredLinks:
        rows = self._rows(visit)
        scores = self._combiner(self._so_far.signals(rows))
        clues = np.concatenate((rows.packed, rows.keys, rows.words), axis=1)
        offsets = np.arange(len(scores) + 1, dtype=np.int64) * WIDTH
        return ScoredLinks(scores, state=rows.found, clues=Ragged(clues.ravel(), offsets))

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        so_far, combiner = self._so_far.snapshot(), self._combiner.snapshot()
        for batch in waiting:
            starts = np.flatnonzero(np.append(True, batch.ids[1:] != batch.ids[:-1]))
            rows = LinkRows.of(batch.state, batch.clues, batch.sources, starts)
            signals = so_far.signals(rows)
            scores = combiner(signals)
            self._saw(batch.ids[starts], signals, scores)
            yield np.repeat(scores, rows.counts)

    def _saw(self, ids: Ids, signals: Floats, scores: Floats) -> None:
        """For those who want to learn from what waits."""

    def _rows(self, visit: Visit) -> LinkRows:
        page, links, n = visit.page, visit.links, len(visit.links)
        read = self._known(page, links)
        paths, beside = path_keys(links.tag_paths, page.url), neighbour_keys(visit.trace.id, n)
        keys = np.concatenate((read.keys, paths[:, None], beside[:, None]), axis=1)
        of_page = np.array([logit(visit.judgement.relevance), self._meaning.opinion(page)], np.float32)
        words, meaning = read.signals[:, :2], read.signals[:, 2:]
        around, standing = self._words.around(page, links), self._standing(visit, keys)
        found = np.concatenate((np.tile(of_page, (n, 1)), words, around, meaning, standing), axis=1)
        return LinkRows(found, read.vectors, keys, read.words, np.full(n, visit.trace.id, np.int32), np.arange(n))

    def _standing(self, visit: Visit, keys: Terms) -> Floats:
        """(links, 7): inlinks, relevant inlinks, menu, edge, same host, depth, links."""
        known, n, here = visit.known, len(visit.links), np.uint32(host_key(visit.page.url))
        same = keys[:, LinkPlace.HOST] == here
        pages = max(1.0, float(self._so_far.success.seen(LinkPlace.HOST, np.array([here], np.uint32))[0]))
        columns = (
            np.log1p(known.inlinks),
            np.log((known.relevant_inlinks + 0.5) / (known.inlinks - known.relevant_inlinks + 1.0)),
            np.where(same, np.minimum(1, known.inlinks / pages), 0),
            _EDGE.take(visit.page.regions[visit.links.first_leaf]),
            same,
            np.full(n, np.log1p(visit.trace.depth + 1)),
            np.full(n, np.log1p(n)),
        )
        return np.stack(columns, axis=1).astype(np.float32)

    def chances(self, scores: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-scores)), np.float32)

    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """The link as it is seen from this page alone."""
        return self._tell(self._so_far.signals(self._rows(visit))[link])

    def explain_rows(self, rows: WaitingBatch) -> list[tuple[str, float]]:
        (signals,) = self._so_far.signals(LinkRows.of(rows.state, rows.clues, rows.sources, _ONE))
        return self._tell(signals)

    def _tell(self, signals: Floats) -> list[tuple[str, float]]:
        combiner, usual = self._combiner, self._combiner.usual
        score, bias = combiner(np.stack((signals, usual))).tolist()
        return tell(NAMES, signals, usual, combiner.added(signals).tolist(), bias=bias, score=score)

    # ---- keeping

    def parts(self) -> Parts:
        so_far = self._so_far
        learnt = {"place": so_far.success.parts(), "meaning": so_far.meaning.parts(), "words": so_far.words.parts()}
        learnt["combiner"] = self._combiner.parts()
        return {f"{name}.{key}": part for name, parts in learnt.items() for key, part in parts.items()}

    def from_parts(self, parts: Parts) -> Self:
        other, so_far = copy(self), self._so_far
        other._so_far = CrawlSoFar(
            so_far.success.from_parts(inner(parts, "place")),
            so_far.meaning.from_parts(inner(parts, "meaning")),
            so_far.words.from_parts(inner(parts, "words")),
        )
        other._combiner = self._combiner.from_parts(inner(parts, "combiner"))
        return other

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """Counts add up. What else each has learnt is averaged, by the pages that it has learnt from."""
        pages = np.array([max(1, int(part["place.pages"])) for part in parts], np.float64)
        merged = dict(parts[int(np.argmax(pages))])
        for name in ("place.sums", "place.counts", "place.pages", "place.total", "words.good", "words.bad"):
            merged[name] = sum(part[name] for part in parts)
        for name in ("words.goods", "words.bads"):
            merged[name] = float(sum(part[name] for part in parts))
        for name in ("meaning.weights", "meaning.inverse", "combiner.v", "combiner.loss", "combiner.calibration"):
            merged[name] = np.average([np.asarray(part[name], np.float64) for part in parts], axis=0, weights=pages)
        return merged


def _share(precision: float, critic: Critic | None) -> float:
    """s. A critic of which nothing is known is believed."""
    quality = getattr(critic, "quality", None)
    if quality is None:
        return 0.0
    ours, theirs = _odds(precision), _odds(quality.average_precision)
    return ours / (ours + theirs)


def _in_doubt(sample: TopicSample, precision: float, critic: Critic | None) -> bool:
    """Whether most labels of the sample are wrong. Of a sample with one side nothing is known."""
    wanted, quality = int(sample.wanted.sum()), getattr(critic, "quality", None)
    others = len(sample.wanted) - wanted
    if not wanted or not others:
        return False
    best = max(precision, quality.average_precision) if quality else precision
    return _odds(best) < CHANCE * wanted / others


def _odds(chance: float) -> float:
    chance = min(max(chance, 0.01), 0.99)
    return chance / (1 - chance)


_ONE = np.zeros(1, np.intp)
