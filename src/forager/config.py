"""One typed configuration, read from one TOML file or made in Python."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from forager.errors import ForagerError, unknown
from forager.web.scope import Within

if TYPE_CHECKING:
    Seeds: TypeAlias = Sequence[str]  # in Python any sequence will do
else:
    Seeds = tuple[str, ...]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file: every key has a type, an unknown key is an error."""


class Named(Table, frozen=True):
    """A critic or strategy by its name, with its own parameters in `options`."""

    name: str
    options: dict[str, Any] = {}
    model: str | None = None  # the file of a trained one; of a strategy also a project whose crawl has taught it


class TopicConfig(Table, frozen=True):
    """What is looked for, given in any mix of ways."""

    name: str = "wanted"  # of the class of examples without a name of their own
    keywords: tuple[str, ...] = ()
    sentence: str = ""
    examples: dict[str, tuple[str, ...]] = {}  # by class: URLs, HTML files, folders of them, WARC files
    unlike: tuple[str, ...] = ()  # pages that are not wanted, given in the same ways
    directory: str | None = None  # the file of an imported one
    paths: tuple[str, ...] = ()  # categories of it that are wanted
    k: int = 300  # pages that a class of the directory has, about
    pages: Literal["fetch", "text"] = "fetch"  # of the directory: fetched, or only titles and descriptions


class ScopeConfig(Table, frozen=True):
    within: Within = "anywhere"  # the hosts of the seeds, their sites, or only the seeds themselves
    include: tuple[str, ...] = ()  # regular expressions, searched in the whole URL
    exclude: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ("http", "https")
    max_depth: int | None = None


class FrontierConfig(Table, frozen=True):
    delay: float = 1.0  # seconds between two requests to a host
    pages_per_host: int | None = None
    pages_per_site: int | None = None
    retries: int = 2  # of a request that failed for the moment
    in_flight: int | None = None  # requests at once, each to another host; None: 64, on a recorded web 1


class StopConfig(Table, frozen=True):
    pages: int | None = None
    seconds: float | None = None
    bytes: int | None = None  # of page bodies


class UrlsConfig(Table, frozen=True):
    strip: tuple[str, ...] = ()  # parameters to strip besides the known tracking and session ones
    longest: int = 2_000


class FetchConfig(Table, frozen=True):
    name: str | None = None  # of a fetcher; None: the network, or the recorded web that `replay` names
    options: dict[str, Any] = {}  # parameters of that fetcher
    replay: str | None = None  # the folder of a recorded web, instead of the network
    contact: str = ""  # a mail address or page where whoever crawls can be reached
    robots: bool = True
    longest_delay: float = 60.0  # seconds; the most that a crawl-delay in robots.txt is believed
    connect: float = 15.0  # seconds
    read: float = 20.0  # seconds of silence
    total: float = 60.0  # seconds
    largest: int = 10_000_000  # bytes of a body, decompressed
    allow: tuple[str, ...] = ()  # networks that are refused otherwise: private, loopback, link-local …
    resolve: dict[str, str] = {}  # names to addresses: "*.web.test" = "127.0.0.1:8000"


class StoreConfig(Table, frozen=True):
    durable: Literal["process", "power"] = "process"  # what a commit survives: SIGKILL, or a power cut as well
    warc_size: int = 1_000_000_000  # bytes after which a new WARC file is begun


class CrawlConfig(Table, frozen=True):
    """All settings of a crawl. Each table has defaults; only the seeds must be given.

    >>> config = CrawlConfig(seeds=["https://example.org/"], stop=StopConfig(pages=100))
    >>> config.frontier.delay, config.strategy.name
    (1.0, 'best-first')
    """

    seeds: Seeds = ()
    seed: int = 0  # of all chance
    topic: TopicConfig | None = None
    critic: Named | None = None
    strategy: Named = Named(name="best-first")
    scope: ScopeConfig = ScopeConfig()
    frontier: FrontierConfig = FrontierConfig()
    stop: StopConfig = StopConfig()
    urls: UrlsConfig = UrlsConfig()
    fetch: FetchConfig = FetchConfig()
    store: StoreConfig = StoreConfig()


def read_config(path: Path) -> CrawlConfig:
    """The configuration in a TOML file. Paths in it are relative to the file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "crawl.toml")
    ...     _ = file.write_text('seeds = ["https://example.org/"]')
    ...     read_config(file).seeds
    ('https://example.org/',)
    """
    config = _convert(read_toml(path), path)
    replace, here = msgspec.structs.replace, path.parent
    if config.fetch.replay is not None:
        config = replace(config, fetch=replace(config.fetch, replay=str(here / config.fetch.replay)))
    if config.critic is not None and config.critic.model is not None:
        config = replace(config, critic=replace(config.critic, model=str(here / config.critic.model)))
    if config.strategy.model is not None:
        config = replace(config, strategy=replace(config.strategy, model=str(here / config.strategy.model)))
    return config


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ForagerError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ForagerError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ForagerError(f"{path} is not valid TOML: {error}") from None


def _convert(tables: dict[str, Any], path: Path) -> CrawlConfig:
    try:
        return msgspec.convert(tables, CrawlConfig)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `$")
        where = place.strip("`.")
        strange = re.search(r"unknown field `(.+)`", text)
        if strange is None:
            raise ForagerError(f"{path}: {where or 'the file'}: {text[:1].lower()}{text[1:]}") from None
        nearest = unknown("key", strange[1], _keys(where))
        raise ForagerError(f"{path}: {f'in [{where}], ' if where else ''}{nearest}") from None


def _keys(where: str) -> tuple[str, ...]:
    """The keys that the table at a dotted place may have."""
    table: Any = CrawlConfig
    for name in filter(None, where.split(".")):
        kinds = {field.name: field.type for field in msgspec.structs.fields(table)}[name]
        table = next(kind for kind in getattr(kinds, "__args__", (kinds,)) if isinstance(kind, type))
    return tuple(field.encode_name for field in msgspec.structs.fields(table))
