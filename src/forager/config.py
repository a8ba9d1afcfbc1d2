"""One typed configuration, read from one TOML file or made in Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, field

from forager.tables import Table, broken_pattern, read_table
from forager.web.scope import Within

if TYPE_CHECKING:
    Seeds: TypeAlias = Sequence[str]  # in Python any sequence will do
else:
    Seeds = tuple[str, ...]

YEAR = 31_536_000.0  # seconds
MOST = 10**15  # of anything that is counted
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=YEAR, extra={"unit": "seconds"})]
Timeout: TypeAlias = Annotated[float, Meta(ge=0.01, le=86_400, extra={"unit": "seconds"})]  # 0 would mean: for ever
Whole: TypeAlias = Annotated[int, Meta(ge=0, le=MOST)]
Positive: TypeAlias = Annotated[int, Meta(ge=1, le=MOST)]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65_535)]


class Named(Table, frozen=True):
    """A critic or strategy by its name, with its own parameters in `options`."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    model: str | None = None  # the file of a trained one; of a strategy also a project whose crawl has taught it


class TopicConfig(Table, frozen=True):
    """What is looked for, given in any mix of ways."""

    name: str = "wanted"  # of the class of examples without a name of their own
    keywords: tuple[str, ...] = ()
    sentence: str = ""
    examples: dict[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # by class: URLs, HTML files, folders of them, WARC files
    unlike: tuple[str, ...] = ()  # pages that are not wanted, given in the same ways
    directory: str | None = None  # the file of an imported one
    paths: tuple[str, ...] = ()  # categories of it that are wanted
    k: Positive = 300  # pages that a class of the directory has, about; for the lexical critic the most of a level
    pages: Literal["fetch", "text"] = "fetch"  # of the directory: fetched, or only titles and descriptions


class ScopeConfig(Table, frozen=True):
    within: Within = "anywhere"  # the hosts of the seeds, their sites, or only the seeds themselves
    include: tuple[str, ...] = ()  # regular expressions, searched in the whole URL
    exclude: tuple[str, ...] = ()
    schemes: tuple[Literal["http", "https"], ...] = ("http", "https")
    max_depth: Whole | None = None
    nofollow: bool = False  # links with rel=nofollow are not followed
    sitemaps: Literal["none", "seeds", "all"] = "seeds"  # of which hosts the sitemaps in robots.txt are read
    declared: bool = True  # what the head of a page names is followed: its canonical URL, other languages, next, last
    feeds: bool = True  # RSS and Atom feeds that a page names are read
    traps: bool = True  # URL patterns that bring the same again and again are capped

    def fault(self) -> str:
        return broken_pattern(include=self.include, exclude=self.exclude)


class FrontierConfig(Table, frozen=True):
    delay: Seconds = 1.0  # between two requests to a host
    delay_factor: Annotated[float, Meta(ge=0, le=1000)] = 2.0  # a host also rests so many times as long as it took
    pages_per_host: Positive | None = None
    pages_per_site: Positive | None = None
    links_per_page: Positive = 2_500  # followed, the first ones of a page
    hosts_per_page: Positive = 250  # new ones that a page may bring
    retries: Annotated[int, Meta(ge=0, le=1000)] = 4  # of a link that fails although its host answers
    patience: Seconds = 21_600.0  # with a silent host, until its links are given up; with the network, until we stop
    in_flight: Annotated[int, Meta(ge=1, le=10_000)] | None = None  # None: 64, on a recorded web 1
    choosy: Annotated[float, Meta(ge=0, le=1000)] = 2.0  # how much longer a crawl may take for better links; 0: not
    per_address: Annotated[int, Meta(ge=1, le=10_000)] | None = None  # requests at once to an IP address; None: 4


class StopConfig(Table, frozen=True):
    pages: Positive | None = None
    seconds: Seconds | None = None
    bytes: Positive | None = None  # of page bodies
    least_yield: Annotated[float, Meta(ge=0, le=1)] | None = field(default=None, name="yield")  # see crawl.forecast


class UrlsConfig(Table, frozen=True):
    strip: tuple[str, ...] = ()  # parameters to strip besides the known tracking and session ones
    longest: Annotated[int, Meta(ge=20, le=100_000)] = 2_000


class HeaderConfig(Table, frozen=True):
    """A header that is sent to some hosts, such as a token. $NAME in the value comes from the environment."""

    hosts: tuple[str, ...]  # names or patterns: "*.example.org"
    name: str
    value: str


class LoginConfig(Table, frozen=True):
    """A form that is sent before anything else is asked of some hosts. $NAME in a field comes from the environment."""

    hosts: tuple[str, ...]
    url: str  # where the form is sent
    fields: dict[str, str]


class FetchConfig(Table, frozen=True):
    name: str | None = None  # of a fetcher; None: the network, or the recorded web that `replay` names
    options: dict[str, Any] = field(default_factory=dict)  # parameters of that fetcher
    replay: str | None = None  # the folder of a recorded web, instead of the network
    contact: str = ""  # a mail address or page where whoever crawls can be reached
    robots: bool = True
    longest_delay: Seconds = 60.0  # the most that a crawl-delay in robots.txt is believed
    connect: Timeout = 15.0
    read: Timeout = 20.0  # of silence
    total: Timeout = 60.0
    largest: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 10_000_000  # bytes of a body, decompressed
    allow: tuple[str, ...] = ()  # networks that are refused otherwise: private, loopback, link-local …
    resolve: dict[str, str] = field(default_factory=dict)  # names to addresses: "*.web.test" = "127.0.0.1:8000"
    tls: Literal["verify", "any"] = "verify"  # any: certificates are not checked
    cookies: bool = False  # keep the cookies that hosts set
    proxy: str = ""  # http://…, socks5://…; $NAME in it comes from the environment
    headers: tuple[HeaderConfig, ...] = ()
    logins: tuple[LoginConfig, ...] = ()


class RenderConfig(Table, frozen=True):
    """Which pages a browser renders before they are parsed. Needs the extra `render`."""

    hosts: tuple[str, ...] = ()  # names or patterns: "*.example.org"
    patterns: tuple[str, ...] = ()  # regular expressions, searched in the whole URL
    empty: bool = False  # also pages without text or links, if they have scripts
    browser: str = ""  # the program; "": the one that is found
    seconds: Annotated[float, Meta(ge=0.1, le=600)] = 15.0  # for a page
    requests: Annotated[int, Meta(ge=1, le=10_000)] = 100  # that a page may make
    at_once: Annotated[int, Meta(ge=1, le=64)] = 2  # pages

    def fault(self) -> str:
        return broken_pattern(patterns=self.patterns)


class RefreshConfig(Table, frozen=True):
    """When pages are asked for again by `forager crawl --refresh`, and who is told of new ones."""

    soonest: Seconds = 3_600.0  # between two visits of a page
    latest: Seconds = 2_592_000.0
    webhook: str = ""  # a URL that is sent each new relevant page; $NAME in it comes from the environment
    relevance: Annotated[float, Meta(ge=0, le=1)] = 0.5  # of pages that are told

    def fault(self) -> str:
        late = f"latest: {self.latest:g} is less than soonest, which is {self.soonest:g}: give {self.soonest:g} or more"
        return late if self.latest < self.soonest else ""


class StoreConfig(Table, frozen=True):
    durable: Literal["process", "power"] = "process"  # what a commit survives: SIGKILL, or a power cut as well
    warc_size: Annotated[int, Meta(ge=1_000, le=10**13)] = 1_000_000_000  # bytes after which a new file is begun
    duplicates: Literal["once", "all"] = "once"  # once: of pages with the same or nearly the same text one is kept


class LogConfig(Table, frozen=True):
    """The log file of a project."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    json: bool = False  # one JSON object a line
    size: Annotated[int, Meta(ge=10_000, le=10**12)] = 10_000_000  # bytes after which a new file is begun
    files: Annotated[int, Meta(ge=2, le=1000)] = 5  # that are kept
    metrics: Port | None = None  # a port on loopback where Prometheus can ask for figures


class CrawlConfig(Table, frozen=True):
    """All settings of a crawl. Each table has defaults; only the seeds must be given.

    >>> config = CrawlConfig(seeds=["https://example.org/"], stop=StopConfig(pages=100))
    >>> config.frontier.delay, config.strategy.name
    (1.0, 'default')
    """

    seeds: Seeds = ()
    seed: Whole = 0  # of all chance
    topic: TopicConfig | None = None
    critic: Named | None = None
    strategy: Named = Named(name="default")
    scope: ScopeConfig = ScopeConfig()
    frontier: FrontierConfig = FrontierConfig()
    stop: StopConfig = StopConfig()
    urls: UrlsConfig = UrlsConfig()
    fetch: FetchConfig = FetchConfig()
    render: RenderConfig = RenderConfig()
    refresh: RefreshConfig = RefreshConfig()
    store: StoreConfig = StoreConfig()
    log: LogConfig = LogConfig()


def read_config(path: Path) -> CrawlConfig:
    """The configuration in a TOML file. Paths in it are relative to the file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "crawl.toml")
    ...     _ = file.write_text('seeds = ["https://example.org/"]')
    ...     read_config(file).seeds
    ('https://example.org/',)
    """
    config = read_table(path, CrawlConfig)
    replace, here = msgspec.structs.replace, path.parent
    if config.fetch.replay is not None:
        config = replace(config, fetch=replace(config.fetch, replay=str(here / config.fetch.replay)))
    if config.critic is not None and config.critic.model is not None:
        config = replace(config, critic=replace(config.critic, model=str(here / config.critic.model)))
    if config.strategy.model is not None:
        config = replace(config, strategy=replace(config.strategy, model=str(here / config.strategy.model)))
    return config
