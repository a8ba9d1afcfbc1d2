"""From a topic to a critic: gather the examples, teach, and say how well it went.

Examples that are URLs are fetched by an ordinary crawl of nothing but them, kept in PROJECT/topic: polite, resumable,
archived. The critic that comes of it is kept there too, and made again when the topic, its files or what people said
has changed.
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
from forager.learn.tfidf import Idf, Query, strongest
from forager.store import Catalogue, models
from forager.topics.directory_examples import from_directory
from forager.topics.examples import (
    FEWEST,
    OTHER,
    Example,
    Lesson,
    as_said,
    examples,
    from_archive,
    from_files,
    from_labels,
    from_local,
)
from forager.topics.labels import IRRELEVANT, RELEVANT, read_labels
from forager.types import Critic, Page, Parts, Persists, Url, Visit
from forager.web.urls import UrlRules

FOLDER, MODEL = "topic", "critic.npz"
KIND, VERSION = "topic", 1
RELEVANT_FROM = 0.5  # relevance
SAMPLE = 200  # pages of the focus, and of the rest, that words are taken from
WEAK, FEW = 0.8, 10  # an AUC too weak to steer by; examples below which quality is a guess

Began: TypeAlias = Callable[[Crawl, list[str]], None]
Each: TypeAlias = Callable[[Visit], None]


@dataclass(frozen=True)
class Taught:
    """A critic with what it was taught, for people."""

    critic: Critic
    query: Query
    sizes: Mapping[str, Mapping[str, int]]  # lessons by class and origin
    missing: Mapping[str, str]  # examples that brought no page, and why
    words: Mapping[str, Sequence[str]]  # the strongest of each class in focus
    quality: Quality | None

    @property
    def advice(self) -> list[str]:
        """What would help, if anything."""
        every = sum(sum(by.values()) for by in self.sizes.values())
        wanted = sum(sum(by.values()) for name, by in self.sizes.items() if in_focus(name, self.critic.focus))
        told = []
        if every and wanted == every:
            told.append("nothing says what is not wanted: give pages of other kinds (--unlike) or a directory")
        if every and wanted < FEW:
            told.append(f"only {wanted} examples: {FEW} or more make a critic that can be relied on")
        if self.quality and self.quality.roc_auc < WEAK:
            told.append(
                f"too weak to steer by, with an AUC of {self.quality.roc_auc:.2f}: give more examples, or such as "
                "have more in common"
            )
        said = sum(by.get("title and description", 0) for by in self.sizes.values())
        if said:
            told.append(f"{said} of {every} lessons are titles and descriptions only, not pages")
        return told


def focus_of(topic: TopicConfig) -> tuple[str, ...]:
    """The classes that are wanted."""
    return tuple(dict.fromkeys([*topic.examples, *topic.paths])) or (topic.name,)


async def teach(
    project: CrawlFolder,
    began: Began = lambda crawl, notes: None,
    each: Each = lambda visit: None,
    *,
    again: bool = False,
) -> Taught:
    """The critic of a project's topic: the one kept, if it is of the same topic, or a new one. Without a topic, the
    critic of the configuration."""
    topic = project.config.topic
    if topic is None:
        critic = critic_of(project.config)
        return Taught(critic, Query.of(critic.focus), {}, {}, {}, None)
    labels = _labels(project.folder, topic)
    if not (topic.examples or topic.unlike or topic.directory or labels):
        return _with_words(topic, None)
    key = _key(project, topic, labels)
    taught = None if again else _kept(project, topic, key)
    if taught is None:
        taught = await _taught(project, topic, labels, began, each)
        _keep(project, taught, key)
    return _with_words(topic, taught)


def found_by_topic(project: CrawlFolder) -> dict[str, int]:
    """Relevant pages of the collection by the wanted class that each is most likely of; empty if that is not known."""
    topic, file = project.config.topic, project.folder / FOLDER / MODEL
    if topic is None or not file.exists():
        return {}
    classes = models.load(file, kind=KIND, version=VERSION)["told"]["classes"]
    focus = focus_of(topic)
    member = np.array([[in_focus(name, [wanted]) for name in classes] for wanted in focus], np.float32)
    found = Counter(dict.fromkeys(focus, 0))
    with Catalogue(project.folder) as catalogue:
        for entry in catalogue.pages(min_relevance=RELEVANT_FROM):
            if entry.topics is not None and len(entry.topics) == len(classes):
                found[focus[int(np.argmax(member @ entry.topics))]] += 1
    return dict(found)


# ---- teaching -------------------------------------------------------------------------------------------------------


async def _taught(
    project: CrawlFolder, topic: TopicConfig, labels: Mapping[Url, str], began: Began, each: Each
) -> Taught:
    rules, archive = _rules(project.config), project.folder / FOLDER
    given, listed = examples(_named(topic), rules), list(from_directory(topic, project.folder, project.config.seed))
    online = [example for example in listed if not example.url.startswith("file:")]
    fetched = [*given, *online] if topic.pages == "fetch" else given
    if fetched:
        await CrawlFolder(archive, _fetching(project.config, fetched)).crawl(began, each)
    missing = _missing(archive, given) if given else {}
    critic, sample = _untaught(project.config, topic, labels), _Sample(focus_of(topic))
    pages, names = tee(sample.noting(_lessons(project, topic, fetched, listed, labels)))
    try:
        critic.fit((lesson.page for lesson in pages), (lesson.label for lesson in names))
    except ForagerError as error:
        raise ForagerError(f"{error}{_told_missing(missing)}") from None
    sample.check(missing)
    return sample.taught(critic, topic, missing)


def _lessons(
    project: CrawlFolder,
    topic: TopicConfig,
    fetched: Sequence[Example],
    listed: Sequence[Example],
    labels: Mapping[Url, str],
) -> Iterator[Lesson]:
    rules = _rules(project.config)
    yield from from_files(_named(topic), project.folder, rules)
    if fetched:
        yield from from_archive(project.folder / FOLDER, fetched, rules)
    yield from from_local((example for example in listed if example.url.startswith("file:")), rules)
    if topic.pages == "text":
        yield from (said for example in listed if (said := as_said(example)) is not None)
    if labels:
        yield from from_labels(project.folder, labels, rules)


def _named(topic: TopicConfig) -> dict[str, Sequence[str]]:
    return {**topic.examples, OTHER: topic.unlike} if topic.unlike else dict(topic.examples)


def _labels(folder: Path, topic: TopicConfig) -> dict[Url, str]:
    """The class that each page has by what people said of it."""
    named = {RELEVANT: focus_of(topic)[0], IRRELEVANT: OTHER}
    return {url: named.get(verdict, verdict) for url, verdict in read_labels(folder).items()}


def _fetching(config: CrawlConfig, wanted: Iterable[Example]) -> CrawlConfig:
    """A crawl of these pages and of nothing they link to; redirects are followed."""
    return msgspec.structs.replace(
        config,
        seeds=tuple(dict.fromkeys(example.url for example in wanted)),
        topic=None,
        critic=Named(name="predicate", options={"url": "."}),
        strategy=Named(name="breadth-first"),
        scope=ScopeConfig(max_depth=0),
        stop=StopConfig(),
    )


def _untaught(config: CrawlConfig, topic: TopicConfig, labels: Mapping[Url, str]) -> Critic:
    """The critic that the configuration names; or one that fits: with nothing to compare, one that needs nothing; of a
    few classes the SVM, which tells them apart best; of a directory naive Bayes, which learns many in a stream."""
    compares = "svm" if topic.unlike or OTHER in labels.values() else "description"
    named = config.critic or Named(name="naive-bayes" if topic.directory else compares)
    return make_critic(named.name, {"focus": focus_of(topic), "seed": config.seed}, named.options)


def _missing(archive: Path, given: Sequence[Example]) -> dict[str, str]:
    """Examples of the user's own that brought no page, with the reason."""
    told: dict[str, str] = {}
    with Catalogue(archive) as catalogue:
        for example in given:
            answers = catalogue.find(example.url)
            if not any(answer.outcome == "page" for answer in answers):
                told[example.url] = (answers[-1].detail or answers[-1].reason) if answers else "not asked for yet"
    return told


def _told_missing(missing: Mapping[str, str]) -> str:
    some = "; ".join(f"{url}: {why}" for url, why in list(missing.items())[:3])
    return f" ({len(missing)} examples brought no page: {some}{', …' if len(missing) > 3 else ''})" if missing else ""


class _Sample:
    """Counts the lessons as they pass, and keeps some of them to take words from."""

    def __init__(self, focus: Sequence[str]) -> None:
        self._focus, self._sizes = focus, Counter[tuple[str, str]]()
        self._kept: dict[str, list[Page]] = {}  # by class in focus; the rest under OTHER
        self._draw, self._seen = np.random.default_rng(0), Counter[str]()

    def noting(self, lessons: Iterable[Lesson]) -> Iterator[Lesson]:
        for lesson in lessons:
            self._sizes[lesson.label, lesson.origin] += 1
            self._keep(lesson)
            yield lesson

    def _keep(self, lesson: Lesson) -> None:
        """A fair sample of each class, whatever comes in whatever order."""
        name = next((name for name in self._focus if in_focus(lesson.label, [name])), OTHER)
        kept = self._kept.setdefault(name, [])
        self._seen[name] += 1
        if len(kept) < SAMPLE:
            kept.append(lesson.page)
        elif (at := int(self._draw.integers(self._seen[name]))) < SAMPLE:
            kept[at] = lesson.page

    def check(self, missing: Mapping[str, str]) -> None:
        wanted = sum(count for name, count in self._seen.items() if name != OTHER)
        if wanted < FEWEST:
            raise ForagerError(
                f"{wanted} examples of what is wanted: give at least {FEWEST}, better {FEW}{_told_missing(missing)}"
            )

    def taught(self, critic: Critic, topic: TopicConfig, missing: Mapping[str, str]) -> Taught:
        idf = Idf.of(page.terms.values for pages in self._kept.values() for page in pages)
        wanted = {name: pages for name, pages in self._kept.items() if name != OTHER}
        names = [*topic.keywords, *(name.rpartition(".")[2] for name in focus_of(topic) if name != TopicConfig().name)]
        query = Query.of(names, [page for pages in wanted.values() for page in pages], idf)
        sizes: dict[str, dict[str, int]] = {}
        for (label, origin), count in sorted(self._sizes.items()):
            sizes.setdefault(label, {})[origin] = count
        words = {name: strongest(pages, idf) for name, pages in wanted.items()}
        return Taught(critic, query, sizes, missing, words, getattr(critic, "quality", None))


def _with_words(topic: TopicConfig, taught: Taught | None) -> Taught:
    """Add what was told in words: keywords and a sentence."""
    parts = [taught.critic] if taught else []
    if topic.sentence:
        parts.append(make_critic("description", {"focus": focus_of(topic)}, {"sentence": topic.sentence}))
    if topic.keywords:
        parts.append(make_critic("predicate", {}, {"keywords": list(topic.keywords), "graded": True}))
    if not parts:
        raise ForagerError("an empty topic: give examples, keywords, a sentence, or paths of a directory")
    critic = parts[0] if len(parts) == 1 else Mixed(*parts)
    if taught:
        return replace(taught, critic=critic)
    return Taught(critic, Query.of([*topic.keywords, topic.sentence]), {}, {}, {}, None)


# ---- keeping --------------------------------------------------------------------------------------------------------


def _key(project: CrawlFolder, topic: TopicConfig, labels: Mapping[Url, str]) -> str:
    """Changes with everything that the critic is made of."""
    critic, given = project.config.critic, [place for places in _named(topic).values() for place in places]
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


def _keep(project: CrawlFolder, taught: Taught, key: str) -> None:
    if not isinstance(taught.critic, Persists):
        return
    idf = taught.query.idf
    parts: Parts = {
        "key": key,
        "told": {
            "words": list(taught.query.words),
            "classes": list(taught.critic.classes),
            "sizes": taught.sizes,
            "missing": dict(taught.missing),
            "strongest": {name: list(words) for name, words in taught.words.items()},
            "quality": asdict(taught.quality) if taught.quality else None,
            "unseen": idf.unseen,
        },
        "idf.terms": idf.terms,
        "idf.weights": idf.weights,
        **{f"critic.{name}": part for name, part in taught.critic.parts().items()},
    }
    models.save(project.folder / FOLDER / MODEL, parts, kind=KIND, version=VERSION)


def _kept(project: CrawlFolder, topic: TopicConfig, key: str) -> Taught | None:
    """What was taught before, if it can be read and is what would be taught now."""
    file = project.folder / FOLDER / MODEL
    if not file.exists():
        return None
    try:
        parts = models.load(file, kind=KIND, version=VERSION)
    except ForagerError:  # damaged, or of another version: what it was taught with is all there
        return None
    if parts["key"] != key:
        return None
    critic = _untaught(project.config, topic, _labels(project.folder, topic))
    if not isinstance(critic, Persists):
        return None
    critic = critic.from_parts({name[7:]: part for name, part in parts.items() if name.startswith("critic.")})
    told: dict[str, Any] = parts["told"]
    query = Query.of(told["words"], idf=Idf(parts["idf.terms"], parts["idf.weights"], told["unseen"]))
    quality = Quality(**told["quality"]) if told["quality"] else None
    return Taught(critic, query, told["sizes"], told["missing"], told["strongest"], quality)


def _rules(config: CrawlConfig) -> UrlRules:
    return UrlRules(config.urls.strip, config.urls.longest)
