"""From a topic to a critic: gather the examples, train, and say how well it went.

Examples that are URLs are fetched by an ordinary crawl of these pages alone, in PROJECT/topic: polite, resumable,
archived. The trained critic is saved there too. It is trained again when the topic, its files or the labels of people
have changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import tee
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import xxhash

from forager.config import CrawlConfig, Named, ScopeConfig, StopConfig, TopicConfig
from forager.crawl.build import critic_of
from forager.crawl.folder import CrawlFolder
from forager.crawl.loop import Crawl
from forager.critics import Mixed, make_critic
from forager.errors import ForagerError
from forager.learn.calibration import Quality
from forager.learn.focus import in_focus
from forager.learn.linear import inner
from forager.learn.sample import TopicSample
from forager.learn.tfidf import Idf, Query, strongest
from forager.store import Catalogue, models
from forager.store.verdicts import IS_IRRELEVANT, IS_RELEVANT, read_labels
from forager.topics.examples import (
    FEWEST,
    OTHER,
    Example,
    LearnsFromFeedback,
    TaughtByLevels,
    TrainingPage,
    directory_examples,
    level_examples,
    page_from_description,
    pages_from_archive,
    pages_from_file_urls,
    pages_from_files,
    pages_from_labels,
    url_examples,
)
from forager.types import RELEVANT, Critic, Page, Parts, Persists, Url, Visit
from forager.web.urls import UrlRules

FOLDER, MODEL = "topic", "critic.npz"
KIND, VERSION = "topic", 3
LEVELS = "lexical"  # the strategy that goes by the levels of a path, and the critic that it needs
SAMPLE = 200  # pages of each wanted class, and of the rest, that words are taken from
WEAK, FEW = 0.8, 10  # an AUC below which the critic is too weak; examples below which the quality is a guess

Began: TypeAlias = Callable[[Crawl, list[str]], None]
Each: TypeAlias = Callable[[Visit], None]


@dataclass(frozen=True)
class TopicCritic:
    """The critic of a topic, with what it was trained on, for people to read."""

    critic: Critic
    query: Query
    sizes: Mapping[str, Mapping[str, int]]  # training pages by class and origin
    missing: Mapping[str, str]  # examples that brought no page, with the reason
    words: Mapping[str, Sequence[str]]  # the strongest words of each wanted class
    quality: Quality | None

    @property
    def advice(self) -> list[str]:
        """What would make the critic better, if anything."""
        every = sum(sum(by.values()) for by in self.sizes.values())
        wanted = sum(sum(by.values()) for name, by in self.sizes.items() if in_focus(name, self.critic.focus))
        told = []
        if every and wanted == every:
            told.append("no page says what is not wanted: give pages of other kinds (--unlike) or a directory")
        if every and wanted < FEW:
            told.append(f"only {wanted} examples: give {FEW} or more for a reliable critic")
        if self.quality and self.quality.roc_auc < WEAK:
            told.append(
                f"the critic is too weak, with an AUC of {self.quality.roc_auc:.2f}: give more examples, or examples "
                "that have more in common"
            )
        said = sum(by.get("title and description", 0) for by in self.sizes.values())
        if said:
            told.append(f"{said} of {every} training pages are titles and descriptions only")
        return told


def focus_of(topic: TopicConfig) -> tuple[str, ...]:
    """The classes that are wanted."""
    return tuple(dict.fromkeys([*topic.examples, *topic.paths])) or (topic.name,)


async def train_critic(
    project: CrawlFolder,
    began: Began = lambda crawl, notes: None,
    each: Each = lambda visit: None,
    *,
    again: bool = False,
) -> TopicCritic:
    """The critic of a project's topic: the saved one if nothing has changed since, else a newly trained one.

    `began` and `each` hear of the crawl that fetches the examples. `again` trains in any case. If the project has no
    topic, this is the critic of its configuration; one that was taught beforehand learns from the labels too.
    """
    topic = project.config.topic
    if topic is None:
        critic = critic_of(project.config)
        sizes = _learn_labels(project, critic) if learns_labels(project.config) else {}
        return TopicCritic(critic, Query.of(critic.focus), sizes, {}, {}, None)
    labels = _labels(project.folder, topic)
    if not (topic.examples or topic.unlike or topic.directory or labels):
        return _with_words(topic, None)
    key = _key(project, topic, labels)
    trained = None if again else _load(project, topic, key)
    if trained is None:
        trained = await _train(project, topic, labels, began, each)
        _save(project, trained, key)
    return _with_words(topic, trained)


def learns_labels(config: CrawlConfig) -> bool:
    """Whether the critic of a project learns from the labels of people."""
    named = config.critic
    if config.topic is not None:
        return True
    return named is not None and named.model is not None and isinstance(critic_of(config), LearnsFromFeedback)


def found_by_topic(project: CrawlFolder) -> dict[str, int]:
    """How many relevant pages of the collection are most likely of each wanted class; empty if that is not known."""
    topic, file = project.config.topic, project.folder / FOLDER / MODEL
    if topic is None or not file.exists():
        return {}
    classes = models.load(file, kind=KIND, version=VERSION)["told"]["classes"]
    focus = focus_of(topic)
    if len(focus) == 1:
        with Catalogue(project.folder) as catalogue:
            return {focus[0]: catalogue.count(min_relevance=RELEVANT)}
    member = np.array([[in_focus(name, [wanted]) for name in classes] for wanted in focus], np.float32)
    found = Counter(dict.fromkeys(focus, 0))
    with Catalogue(project.folder) as catalogue:
        for entry in catalogue.pages(min_relevance=RELEVANT):
            if entry.topics is not None and len(entry.topics) == len(classes):
                found[focus[int(np.argmax(member @ entry.topics))]] += 1
    return dict(found)


# ---- training -------------------------------------------------------------------------------------------------------


async def _train(
    project: CrawlFolder, topic: TopicConfig, labels: Mapping[Url, str], began: Began, each: Each
) -> TopicCritic:
    rules, archive = _rules(project.config), project.folder / FOLDER
    critic, sample = _untrained(project.config, topic, labels), _Sample(focus_of(topic))
    given = url_examples(_named(topic), rules)
    listed = _listed(project, topic, critic)
    online = [example for example in listed if not example.url.startswith("file:")]
    fetched = [*given, *online] if topic.pages == "fetch" else given
    if fetched:
        await CrawlFolder(archive, _fetching(project.config, fetched)).crawl(began, each)
    missing = _missing(archive, given) if given else {}
    pages, same = tee(sample.counting(_training_pages(project, topic, fetched, listed, labels)))
    try:
        critic.fit((found.page for found in pages), (found.label for found in same))
    except ForagerError as error:
        raise ForagerError(f"{error}{_list_missing(missing)}") from None
    sample.check(missing)
    return sample.describe(critic, topic, missing)


def _listed(project: CrawlFolder, topic: TopicConfig, critic: Critic) -> list[Example]:
    """The listings of the directory that the critic learns from."""
    if isinstance(critic, TaughtByLevels):
        return list(level_examples(topic, project.folder, critic, project.config.seed))
    return list(directory_examples(topic, project.folder, project.config.seed))


def _training_pages(
    project: CrawlFolder,
    topic: TopicConfig,
    fetched: Sequence[Example],
    listed: Sequence[Example],
    labels: Mapping[Url, str],
) -> Iterator[TrainingPage]:
    rules = _rules(project.config)
    yield from pages_from_files(_named(topic), project.folder, rules)
    if fetched:
        yield from pages_from_archive(project.folder / FOLDER, fetched, rules)
    yield from pages_from_file_urls((example for example in listed if example.url.startswith("file:")), rules)
    if topic.pages == "text":
        yield from (page for example in listed if (page := page_from_description(example)) is not None)
    if labels:
        yield from pages_from_labels(project.folder, labels, rules)


def _named(topic: TopicConfig) -> dict[str, Sequence[str]]:
    """The examples of each class."""
    return {**topic.examples, OTHER: topic.unlike} if topic.unlike else dict(topic.examples)


def _labels(folder: Path, topic: TopicConfig) -> dict[Url, str]:
    """The class of each page that people have labelled."""
    named = {IS_RELEVANT: focus_of(topic)[0], IS_IRRELEVANT: OTHER}
    return {url: named.get(verdict, verdict) for url, verdict in read_labels(folder).items()}


def _learn_labels(project: CrawlFolder, critic: Critic) -> dict[str, dict[str, int]]:
    """Show labelled pages to a critic that was taught beforehand. Gives how many of them there are of each kind."""
    assert isinstance(critic, LearnsFromFeedback)
    labels = read_labels(project.folder)
    pages = list(pages_from_labels(project.folder, labels, _rules(project.config))) if labels else []
    if pages:
        wanted = [found.label == IS_RELEVANT for found in pages]
        critic.feedback([found.page for found in pages], wanted)
    return {name: {"labelled": count} for name, count in Counter(found.label for found in pages).items()}


def _fetching(config: CrawlConfig, wanted: Iterable[Example]) -> CrawlConfig:
    """The configuration of a crawl that fetches these pages and no links; it follows redirects."""
    return msgspec.structs.replace(
        config,
        seeds=tuple(dict.fromkeys(example.url for example in wanted)),
        topic=None,
        critic=Named(name="predicate", options={"url": "."}),
        strategy=Named(name="breadth-first"),
        scope=ScopeConfig(max_depth=0),
        stop=StopConfig(),
    )


def _untrained(config: CrawlConfig, topic: TopicConfig, labels: Mapping[Url, str]) -> Critic:
    """The critic that the configuration names. If it names none:

    the lexical critic for a directory and the strategy that needs it; naive Bayes for any other strategy and a
    directory, because it learns many classes from a stream; the SVM if there are pages that are not
    wanted, because it separates a few classes best; else the description critic, which needs nothing to compare with.
    """
    compares = "svm" if topic.unlike or OTHER in labels.values() else "description"
    named = _critic_named(config, topic) or Named(name="naive-bayes" if topic.directory else compares)
    return make_critic(named.name, {"focus": focus_of(topic), "seed": config.seed}, named.options)


def _critic_named(config: CrawlConfig, topic: TopicConfig) -> Named | None:
    """The critic that the configuration names, or that its strategy needs."""
    needed = Named(name=LEVELS) if topic.directory and config.strategy.name == LEVELS else None
    return config.critic or needed


def _missing(archive: Path, given: Sequence[Example]) -> dict[str, str]:
    """The examples of the user that brought no page, with the reason."""
    told: dict[str, str] = {}
    with Catalogue(archive) as catalogue:
        for example in given:
            answers = catalogue.find(example.url)
            if not any(answer.outcome == "page" for answer in answers):
                told[example.url] = (answers[-1].detail or answers[-1].reason) if answers else "not fetched yet"
    return told


def _list_missing(missing: Mapping[str, str]) -> str:
    some = "; ".join(f"{url}: {why}" for url, why in list(missing.items())[:3])
    return f" ({len(missing)} examples brought no page: {some}{', …' if len(missing) > 3 else ''})" if missing else ""


class _Sample:
    """Counts the training pages as they pass, and keeps some of them to take words from."""

    def __init__(self, focus: Sequence[str]) -> None:
        self._focus, self._sizes = focus, Counter[tuple[str, str]]()
        self._kept: dict[str, list[Page]] = {}  # by wanted class; all others under OTHER
        self._draw, self._seen = np.random.default_rng(0), Counter[str]()

    def counting(self, pages: Iterable[TrainingPage]) -> Iterator[TrainingPage]:
        for found in pages:
            self._sizes[found.label, found.origin] += 1
            self._keep(found)
            yield found

    def _keep(self, found: TrainingPage) -> None:
        """Keep a fair sample of each class, in whatever order the pages come."""
        name = next((name for name in self._focus if in_focus(found.label, [name])), OTHER)
        kept = self._kept.setdefault(name, [])
        self._seen[name] += 1
        if len(kept) < SAMPLE:
            kept.append(found.page)
        elif (at := int(self._draw.integers(self._seen[name]))) < SAMPLE:
            kept[at] = found.page

    def check(self, missing: Mapping[str, str]) -> None:
        wanted = sum(count for name, count in self._seen.items() if name != OTHER)
        if wanted < FEWEST:
            raise ForagerError(
                f"{wanted} examples of wanted pages: give at least {FEWEST}, better {FEW}{_list_missing(missing)}"
            )

    def describe(self, critic: Critic, topic: TopicConfig, missing: Mapping[str, str]) -> TopicCritic:
        idf = Idf.of(page.terms.values for pages in self._kept.values() for page in pages)
        wanted = {name: pages for name, pages in self._kept.items() if name != OTHER}
        names = [*topic.keywords, *(name.rpartition(".")[2] for name in focus_of(topic) if name != TopicConfig().name)]
        kept = [(page, name != OTHER) for name, pages in self._kept.items() for page in pages]
        sample = TopicSample.of((page for page, _ in kept), (is_wanted for _, is_wanted in kept), names)
        query = Query.of(names, [page for pages in wanted.values() for page in pages], idf, sample)
        sizes: dict[str, dict[str, int]] = {}
        for (label, origin), count in sorted(self._sizes.items()):
            sizes.setdefault(label, {})[origin] = count
        words = {name: strongest(pages, idf) for name, pages in wanted.items()}
        return TopicCritic(critic, query, sizes, missing, words, getattr(critic, "quality", None))


def _with_words(topic: TopicConfig, trained: TopicCritic | None) -> TopicCritic:
    """Add the critics for keywords and for a sentence, if the topic has them."""
    parts = [trained.critic] if trained else []
    if topic.sentence:
        parts.append(make_critic("description", {"focus": focus_of(topic)}, {"sentence": topic.sentence}))
    if topic.keywords:
        parts.append(make_critic("predicate", {}, {"keywords": list(topic.keywords), "graded": True}))
    if not parts:
        raise ForagerError("the topic is empty: give examples, keywords, a sentence, or paths of a directory")
    critic = parts[0] if len(parts) == 1 else Mixed(*parts)
    if trained:
        return replace(trained, critic=critic)
    return TopicCritic(critic, Query.of([*topic.keywords, topic.sentence]), {}, {}, {}, None)


# ---- saving ---------------------------------------------------------------------------------------------------------


def _key(project: CrawlFolder, topic: TopicConfig, labels: Mapping[Url, str]) -> str:
    """A hash of everything that the critic is made from."""
    critic = _critic_named(project.config, topic)
    given = [place for places in _named(topic).values() for place in places]
    files = [place for place in (*given, topic.directory) if place and "://" not in place]
    stamps = [_stamp(project.folder / file) for file in files]
    said = [msgspec.to_builtins(topic), critic and msgspec.to_builtins(critic), sorted(labels.items()), stamps]
    return xxhash.xxh3_128_hexdigest(msgspec.json.encode(said))


def _stamp(place: Path) -> list[int]:
    try:
        found = place.stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]


def _save(project: CrawlFolder, trained: TopicCritic, key: str) -> None:
    if not isinstance(trained.critic, Persists):
        return
    idf = trained.query.idf
    parts: Parts = {
        "key": key,
        "told": {
            "words": list(trained.query.words),
            "classes": list(trained.critic.classes),
            "sizes": trained.sizes,
            "missing": dict(trained.missing),
            "strongest": {name: list(words) for name, words in trained.words.items()},
            "quality": asdict(trained.quality) if trained.quality else None,
            "unseen": idf.unseen,
        },
        "idf.terms": idf.terms,
        "idf.weights": idf.weights,
        **{f"sample.{name}": part for name, part in trained.query.sample.parts().items()},
        **{f"critic.{name}": part for name, part in trained.critic.parts().items()},
    }
    models.save(project.folder / FOLDER / MODEL, parts, kind=KIND, version=VERSION)


def _load(project: CrawlFolder, topic: TopicConfig, key: str) -> TopicCritic | None:
    """The saved critic, if it can be read and nothing that it is made from has changed."""
    file = project.folder / FOLDER / MODEL
    if not file.exists():
        return None
    try:
        parts = models.load(file, kind=KIND, version=VERSION)
    except ForagerError:  # damaged, or of another version: train it again
        return None
    if parts["key"] != key:
        return None
    critic = _untrained(project.config, topic, _labels(project.folder, topic))
    if not isinstance(critic, Persists):
        return None
    critic = critic.from_parts(inner(parts, "critic"))
    told: dict[str, Any] = parts["told"]
    idf = Idf(parts["idf.terms"], parts["idf.weights"], told["unseen"])
    query = Query.of(told["words"], idf=idf, sample=TopicSample.from_parts(inner(parts, "sample")))
    quality = Quality(**told["quality"]) if told["quality"] else None
    return TopicCritic(critic, query, told["sizes"], told["missing"], told["strongest"], quality)


def _rules(config: CrawlConfig) -> UrlRules:
    return UrlRules(config.urls.strip, config.urls.longest)
