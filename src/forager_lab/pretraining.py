"""Learns the weights of the default strategy on recorded webs: python -m forager_lab.pretraining --webs DIR OUT

Crawls of many topics are watched. At some of the sweeps the signals of links that wait are noted, of those at the top
and of some others, with the truth of where they lead. A logistic regression on all of them gives weights W, in which
every web counts the same, and every topic of a web. Then each web has its own, which are drawn to these, so that what
a web cannot teach (an encyclopaedia has one host) is as on the others:

    W    minimises  sum of c log-loss(b + W.x, y) + ALL |W|^2                x = (f - mean) / scale
    w_k  minimises  the same over web k alone     + ONE |w_k - W|^2

The first crawls go by the weights that there are. With `--rounds 2` others follow that go by those just learnt.
`--without` leaves a web or a topic out, for figures on what was not learnt from: `--without uic`, `--without
wikispeedia:Music`. With `--left-out DIR` a file is written for each web and each topic that is left out of the same
crawls, DIR/uic.json and DIR/wikispeedia-Music.json. With `--noted FILE` what was noted is kept; if the file is there,
nothing is crawled, and all weights are fitted to what it has.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from forager.crawl.loop import Crawl
from forager.errors import ForagerError
from forager.learn.linear import Reals
from forager.learn.logistic import logistic
from forager.registry import Spec
from forager.strategies.weigher import Weigher
from forager.strategies.weigher.signals import NAMES, SOURCE
from forager.types import Floats, Ids, Url
from forager_lab.experiment import laboratory
from forager_lab.laboratory import Laboratory
from forager_lab.protocol import Trial, open_crawl, topic_trial
from forager_lab.workers import Failed, work

TOPICS: Mapping[str, Sequence[str]] = {
    "wikispeedia": (
        *("Science.Biology", "Geography", "Religion", "Music", "IT", "Mathematics", "Art", "Business_Studies"),
        *("Science.Physics", "Science.Chemistry", "Language_and_literature", "Citizenship", "Design_and_Technology"),
        *("Everyday_life", "History", "People"),
    ),
    "uic": (
        *("news", "it_library", "admissions_student", "engineering_science", "health", "admin_hr"),
        *("arts_humanities_social", "business_law"),
    ),
    "webkb": ("student", "faculty"),
    "procedural": ("Arts.Music", "Business.Finance"),
}
EVERY = 2  # sweeps of which one is noted
TOP, OTHERS = 40, 40  # links that are noted
ALL, ONE = 3e-4, 5e-4


@dataclass(frozen=True)
class TopicCrawl:
    """A topic of a web, to be watched."""

    web: str
    topic: str
    run: int
    place: str  # of the web
    weights: str  # a file; "": those of the package


@dataclass(frozen=True, eq=False)
class Noted:
    """Signals of links that waited, and whether they led to a page of the topic."""

    signals: Floats  # (n, NAMES)
    wanted: Reals  # (n,)


class WatchedWeigher(Weigher):
    """Notes what waits."""

    top = 0  # of all that waits, not of the best alone

    def watch(self, crawl: Crawl, lab: Laboratory, trial: Trial) -> None:
        self.crawl, self.lab, self.trial = crawl, lab, trial
        self.noted: list[Noted] = []
        self.sweeps, self.draw = 0, np.random.default_rng(trial.seed)

    def _saw(self, ids: Ids, signals: Floats, scores: Floats) -> None:
        self.sweeps += 1
        if self.sweeps % EVERY:
            return
        top = np.argsort(-scores, kind="stable")[:TOP]
        rows = np.union1d(top, self.draw.choice(len(ids), min(OTHERS, len(ids)), replace=False))
        urls = [self.lab.web.final(Url(self.crawl.facts.addresses[id])) for id in ids[rows].tolist()]
        there = np.array([url in self.lab.web.truth.labels for url in urls], bool)
        wanted = np.array([url in self.trial.relevant for url in urls], np.float64)
        self.noted.append(Noted(signals[rows][there], wanted[there]))


def watch(task: TopicCrawl) -> Noted:
    """Crawl a topic, and note what waits."""
    lab = laboratory(task.place)
    trial = topic_trial(lab, task.topic, Spec.parse("naive-bayes"), run=task.run, seed=0)
    strategy = WatchedWeigher(sample=trial.query.sample, critic=trial.critic, weights=task.weights)
    crawl = open_crawl(lab, trial, strategy)
    strategy.watch(crawl, lab, trial)
    crawl.run()
    lab.cache.write()
    return joined(strategy.noted)


def joined(noted: Iterable[Noted]) -> Noted:
    every = list(noted)
    signals = np.concatenate([np.empty((0, len(NAMES)), np.float32), *(each.signals for each in every)])
    return Noted(signals, np.concatenate([np.empty(0), *(each.wanted for each in every)]))


def importance(noted: Mapping[tuple[str, str], Noted]) -> Reals:
    """c of each link, topic after topic."""
    topics = {web: sum(1 for other, _ in noted if other == web) for web, _ in noted}
    each = [np.full(len(of.wanted), 1 / topics[web] / max(1, len(of.wanted))) for (web, _), of in noted.items()]
    every = np.concatenate([np.empty(0), *each])
    return np.asarray(every / every.sum())


def fit(noted: Mapping[tuple[str, str], Noted]) -> dict[str, object]:
    """The weights, as the strategy reads them."""
    every, c = joined(noted.values()).signals.astype(np.float64), importance(noted)
    mean = c @ every
    scale = np.sqrt(c @ (every - mean) ** 2) + 1e-3
    none = np.zeros(len(NAMES) + 1)
    pooled = _fit(noted, mean, scale, ALL, none)
    webs = dict.fromkeys(web for web, _ in noted)
    own = {web: _fit({key: of for key, of in noted.items() if key[0] == web}, mean, scale, ONE, pooled) for web in webs}
    one = np.column_stack((every[:, SOURCE], np.ones(len(every))))
    a1, a0 = logistic(one, joined(noted.values()).wanted, np.full(2, 1e-9), weight=c)
    return {
        "names": list(NAMES),
        "mean": _rounded(mean),
        "scale": _rounded(scale),
        "source": _rounded(np.array([a0, a1])),
        "webs": {web: {"w": _rounded(w[:-1]), "b": round(float(w[-1]), 5)} for web, w in own.items()},
        "learnt from": {f"{web} {topic}": len(of.wanted) for (web, topic), of in noted.items()},
        "date": datetime.now(UTC).date().isoformat(),
    }


def _fit(noted: Mapping[tuple[str, str], Noted], mean: Reals, scale: Reals, pull: float, prior: Reals) -> Reals:
    """Weights that are drawn to a prior, and the bias at the end, which is not."""
    every = joined(noted.values())
    x = np.column_stack(((every.signals - mean) / scale, np.ones(len(every.wanted))))
    pulls = np.append(np.full(len(NAMES), 2 * pull), 0.0)
    return logistic(x, every.wanted, pulls, prior=prior, weight=importance(noted))


def _rounded(values: Reals) -> list[float]:
    return [round(float(value), 5) for value in values]


def tasks(webs: Path, runs: int, without: Sequence[str], weights: str) -> Iterator[TopicCrawl]:
    for web, topics in TOPICS.items():
        place = web if web == "procedural" else str(webs / web)
        for topic in topics:
            if web not in without and f"{web}:{topic}" not in without:
                yield from (TopicCrawl(web, topic, run, place, weights) for run in range(runs))


def gather(todo: Sequence[TopicCrawl], jobs: int) -> dict[tuple[str, str], Noted]:
    """What was noted of each topic."""
    found: dict[tuple[str, str], list[Noted]] = {(task.web, task.topic): [] for task in todo}
    for done, (task, noted) in enumerate(work(todo, watch, jobs, lambda task: (task.web, task.topic)), 1):
        if isinstance(noted, Failed):
            raise RuntimeError(f"{task} failed: {noted.why}\n{noted.trace}")
        found[task.web, task.topic].append(noted)
        print(f"{done} of {len(todo)}: {task.web} {task.topic}, {len(noted.wanted)} links", file=sys.stderr)
    return {topic: joined(noted) for topic, noted in found.items()}


def write(weights: dict[str, object], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(weights, indent=1) + "\n", encoding="utf-8")


def write_left_out(noted: Mapping[tuple[str, str], Noted], folder: Path) -> None:
    """Weights that have not seen a web, or a topic, for each of them."""
    for web in {web for web, _ in noted}:
        if others := {key: of for key, of in noted.items() if key[0] != web}:
            write(fit(others), folder / f"{web}.json")
    for web, topic in noted:
        if others := {key: of for key, of in noted.items() if key != (web, topic)}:
            write(fit(others), folder / f"{web}-{topic}.json")


def main() -> None:
    said = argparse.ArgumentParser(description="Learn the weights of the default strategy on recorded webs.")
    said.add_argument("--webs", type=Path, required=True, help="the folder that holds wikispeedia, uic and webkb")
    said.add_argument("--runs", type=int, default=1, help="crawls of each topic")
    said.add_argument("--rounds", type=int, default=1, help="the later ones go by the weights of those before")
    said.add_argument("--without", action="append", default=[], help="a web, or WEB:TOPIC, that is left out")
    said.add_argument("--left-out", type=Path, help="a folder for weights that have not seen a web or a topic")
    said.add_argument("--noted", type=Path, help="a file for what was noted; if it is there, nothing is crawled")
    said.add_argument("--weights", default="", help="a file of weights to begin with")
    said.add_argument("--jobs", type=int, default=2)
    said.add_argument("out", type=Path)
    given = said.parse_args()
    todo, noted = list(tasks(given.webs, given.runs, given.without, given.weights)), dict[tuple[str, str], Noted]()
    if given.noted and given.noted.exists():
        noted, given.rounds = read_noted(given.noted, given.without), 0
        write(fit(noted), given.out)
    for _ in range(given.rounds):
        new = gather(todo, given.jobs)
        noted = {topic: joined([noted[topic], of]) if topic in noted else of for topic, of in new.items()}
        write(fit(noted), given.out)
        todo = [replace(task, weights=str(given.out.resolve())) for task in todo]
    if given.noted and given.rounds:
        write_noted(noted, given.noted)
    if given.left_out:
        write_left_out(noted, given.left_out)


# ---- what was noted, on disk ----------------------------------------------------------------------------------------


def write_noted(noted: Mapping[tuple[str, str], Noted], file: Path) -> None:
    """Keep what was noted, so that other weights can be fitted to it without a crawl."""
    parts = {f"{at} {field.name}": getattr(of, field.name) for at, of in enumerate(noted.values())
             for field in fields(Noted)}  # fmt: skip
    topics = np.array([f"{web}:{topic}" for web, topic in noted], str)
    file.parent.mkdir(parents=True, exist_ok=True)
    partly = file.with_suffix(".part")
    with partly.open("wb") as out:
        np.savez_compressed(out, topics=topics, names=np.array(NAMES, str), **parts)
    partly.replace(file)


def read_noted(file: Path, without: Sequence[str] = ()) -> dict[tuple[str, str], Noted]:
    """What `write_noted` kept. `without`: webs, or WEB:TOPIC, that are left out."""
    try:
        with np.load(file, allow_pickle=False) as kept:
            if kept["names"].tolist() != list(NAMES):
                raise ForagerError(f"{file}: other signals were noted there; delete it, and learn again")
            topics = [str(text).partition(":") for text in kept["topics"].tolist()]
            every = [Noted(*(kept[f"{at} {field.name}"] for field in fields(Noted))) for at in range(len(topics))]
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise ForagerError(f"{file}: nothing that was noted can be read from it ({error}); delete it") from None
    named = {(web, topic): of for (web, _, topic), of in zip(topics, every, strict=True)}
    return {key: of for key, of in named.items() if key[0] not in without and ":".join(key) not in without}


if __name__ == "__main__":
    main()
