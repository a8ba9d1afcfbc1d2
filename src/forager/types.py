"""The words every room shares: values and the verbs they pass through. No I/O, no clock, no chance.

The life of a link in these words: a `Fetcher` answers a `Candidate`'s URL with a `Fetch`, which is parsed to a
`Page`; a `Critic` gives it a `Judgement`; together with the `Trace` of how we got here and what is `Known` of the
targets they make a `Visit`, whose links a `Strategy` turns into `ScoredLinks`; those wait in the `Frontier` until one
of them is the next `Candidate`.

Values are frozen and complete when made. An *id* is a small int that stands for a URL within one crawl, given in order
of discovery; arrays of n rows are aligned with the n links of the visit they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Any, NamedTuple, NewType, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Url = NewType("Url", str)  # canonical; urls.py is the only place one is made
Floats: TypeAlias = NDArray[np.float32]
Ids: TypeAlias = NDArray[np.int32]  # also counts and positions
Terms: TypeAlias = NDArray[np.uint32]  # hashed words or features
Mask: TypeAlias = NDArray[np.bool_]
ReportIteration: TypeAlias = Callable[[int, float], None]  # told the number of a training iteration, and its likelihood
Parts: TypeAlias = Mapping[str, Any]  # arrays and JSON values: what models.py can save

NEVER = float("-inf")  # the score of a link that must not be followed
FIRST_OF_ALL = float("inf")  # the score of a seed; no strategy gives it
RELEVANT = 0.5  # a page at least this relevant counts as relevant


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Rows of unequal length in one flat array: row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: Terms
    offsets: NDArray[np.int64]  # (rows + 1,), offsets[0] == 0

    @classmethod
    def of(cls, rows: Sequence[Sequence[int] | Terms]) -> Self:
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        values = [np.asarray(row, np.uint32) for row in rows if len(row)]
        flat = np.concatenate(values) if values else np.empty(0, np.uint32)
        return cls(flat, np.concatenate(([0], np.cumsum(lengths))))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Terms:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def span(self, first: int, last: int) -> Terms:
        """The values of rows first..last, both included."""
        return self.values[self.offsets[first] : self.offsets[last + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def take(self, rows: NDArray[np.integer[Any]]) -> Ragged:
        """The given rows, in the given order."""
        starts = self.offsets[rows]
        return Ragged.cut(self.values, starts, self.offsets[rows + 1] - starts)

    @staticmethod
    def cut(values: Terms, starts: NDArray[np.integer[Any]], lengths: NDArray[np.integer[Any]]) -> Ragged:
        """Stretches of a flat array, a row each."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.add.accumulate(lengths, out=offsets[1:])
        return Ragged(values.take(stretches(starts, lengths)), offsets)

    @staticmethod
    def concat(parts: Sequence[Ragged]) -> Ragged:
        if not parts:
            return Ragged.of([])
        ends = np.cumsum([0, *(part.offsets[-1] for part in parts)])
        shifted = [part.offsets[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return Ragged(np.concatenate([p.values for p in parts]), np.concatenate([np.zeros(1, np.int64), *shifted]))


def stretches(starts: NDArray[np.integer[Any]], lengths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """start, start + 1, … as many as its length says, for each start, one after the other."""
    ends = np.add.accumulate(lengths, dtype=np.int64)
    places: NDArray[np.int64] = (starts - ends + lengths).repeat(lengths)
    places += np.arange(len(places))
    return places


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """The words of a text without their order: each term once, ascending, and how often it occurs."""

    terms: Terms
    counts: Ids

    @classmethod
    def of(cls, terms: Terms) -> Bag:
        """np.unique in half the time."""
        ordered = np.sort(terms)
        new = np.empty(len(ordered) + 1, bool)
        new[0] = new[-1] = True  # one more, where the last ends
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:-1])
        at = new.nonzero()[0]
        return cls(ordered.take(at[:-1]), (at[1:] - at[:-1]).astype(np.int32))


# ---- a page ---------------------------------------------------------------------------------------------------------


class Region(IntEnum):
    """What part of the page a leaf lies in, by landmark elements and by common ids and classes."""

    BODY = 0  # nothing says
    NAVIGATION = 1
    MAIN = 2
    FOOTER = 3


@dataclass(frozen=True, slots=True)
class Link:
    """One link, for people and explanations; strategies work on the columns of `Links`."""

    target: Url
    anchor: str
    first_leaf: int
    last_leaf: int
    tag_path: str
    rel: str


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The links of a page in document order, a column each; a target may occur more than once."""

    targets: tuple[Url, ...]
    anchors: tuple[str, ...]
    first_leaf: Ids  # the anchor covers the leaves first..last; an empty anchor is a leaf of its own
    last_leaf: Ids
    tag_paths: tuple[str, ...]  # "html body div#main ul.menu.wide li a": names with id and classes from the root
    rels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, row: int) -> Link:
        first, last = int(self.first_leaf[row]), int(self.last_leaf[row])
        return Link(self.targets[row], self.anchors[row], first, last, self.tag_paths[row], self.rels[row])

    def take(self, rows: Sequence[int]) -> Links:
        """The given rows, in the given order."""
        at = np.asarray(rows, np.intp)
        targets, anchors = tuple(self.targets[i] for i in rows), tuple(self.anchors[i] for i in rows)
        paths, rels = tuple(self.tag_paths[i] for i in rows), tuple(self.rels[i] for i in rows)
        return Links(targets, anchors, self.first_leaf[at], self.last_leaf[at], paths, rels)


@dataclass(frozen=True, slots=True)
class Heading:
    level: int  # 1..6
    first_leaf: int
    last_leaf: int


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """A parsed page. A leaf is a text node with a visible character, or an element without children.

    >>> from forager.types import Fetch, Url
    >>> from forager.web.page import parse
    >>> page = parse(Fetch(Url("http://a.test/"), b"<title>Owls</title><p>An owl <a href='/nest'>nests</a>."))
    >>> page.title, page.leaves, page.links.targets
    ('Owls', ('Owls', 'An owl', 'nests', '.'), ('http://a.test/nest',))
    """

    url: Url
    title: str
    leaves: tuple[str, ...]  # the text of each leaf; an image's alt text; "" where there is none
    tags: tuple[str, ...]  # the element each leaf is, or directly sits in
    terms: Ragged  # the hashed words of each leaf
    regions: NDArray[np.uint8]  # a Region for each leaf
    links: Links
    headings: tuple[Heading, ...]
    keywords: str  # of <meta name=keywords>
    description: str  # of <meta name=description>
    canonical: Url | None  # of <link rel=canonical>
    language: str  # as declared, lower case, "" if not
    directives: tuple[str, ...] = ()  # of <meta name=robots> and <meta name=forager>, lower case
    refresh: Url | None = None  # where <meta http-equiv=refresh> leads, if it does so soon
    feeds: tuple[Url, ...] = ()  # RSS and Atom, of <link rel=alternate type=…>
    alternates: tuple[Url, ...] = ()  # the page in other languages, of <link rel=alternate hreflang=…>
    neighbours: tuple[Url, ...] = ()  # of <link rel=next> and <link rel=prev>
    is_listing: bool = False  # a sitemap or a feed
    left_out: Mapping[str, int] = field(default_factory=dict)  # what was over a limit: "links", "text" …

    def __repr__(self) -> str:
        return f"Page({self.url!r}, {self.title!r}, {len(self.leaves)} leaves, {len(self.links)} links)"

    @cached_property
    def bag(self) -> Bag:
        """Its words, counted when first asked for: critics and strategies want the same."""
        return Bag.of(self.terms.values)

    @cached_property
    def heading_texts(self) -> list[str]:
        """The first 1,000 characters of each heading. Headings may lie in each other, and would multiply their text."""
        spans = [(head.first_leaf, min(head.last_leaf, head.first_leaf + 200) + 1) for head in self.headings]
        return [" ".join([leaf[:1000] for leaf in self.leaves[first:end] if leaf])[:1000] for first, end in spans]

    def text(self, first: int, last: int) -> str:
        """The text of leaves first..last, both included."""
        return " ".join([leaf for leaf in self.leaves[first : last + 1] if leaf])


# ---- answers of the web ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exchange:
    """The two heads of an HTTP exchange, as they would stand on the wire, for the archive."""

    request: bytes  # request line and headers, with the empty line
    response: bytes  # status line and headers, with the empty line; no transfer or content encoding
    address: str = ""  # of the server


@dataclass(frozen=True, slots=True, eq=False)
class Fetch:
    """An answer with a body."""

    url: Url
    body: bytes
    content_type: str = "text/html"
    charset: str = ""  # as the header names it, "" if it does not
    status: int = 200
    seconds: float = 0.0  # how long it took
    exchange: Exchange | None = None  # None: not from the network
    rendered: bytes | None = None  # the page as a browser shows it, as HTML in UTF-8; None: none has
    held: object = field(default=None, compare=False, repr=False)  # what gives back memory when nobody has it any more


@dataclass(frozen=True, slots=True)
class Redirect:
    """The answer "elsewhere". Whether and when to go there is the loop's business."""

    url: Url
    target: Url
    status: int = 302
    seconds: float = 0.0
    exchange: Exchange | None = None


class Reason(StrEnum):
    """Why a request brought no page."""

    NOT_FOUND = "not-found"
    CLIENT_ERROR = "client-error"  # another 4xx
    SERVER_ERROR = "server-error"
    BUSY = "busy"  # 429, or 503 with a time to wait
    NOT_HTML = "not-html"
    ROBOTS = "robots"  # robots.txt does not let us
    FORBIDDEN = "forbidden-address"  # a private, loopback, link-local or metadata address
    DNS = "dns"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    PROTOCOL = "protocol"  # what came was no HTTP
    TOO_LARGE = "too-large"
    UNREADABLE = "unreadable"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    BAD_REDIRECT = "bad-redirect"
    DUPLICATE = "duplicate"  # the same as a page we have, or a redirect to it
    NOINDEX = "noindex"  # the page, or its server, asks not to be kept
    LISTING = "listing"  # a sitemap or a feed: its links are followed, but it is no page
    TRAP = "trap"  # one of too many URLs of a pattern that brings the same again and again
    LOCAL = "local"  # the fault is here: no more files may be opened, no more memory


@dataclass(frozen=True, slots=True)
class Failure:
    url: Url
    reason: Reason
    detail: str = ""  # one line for people
    retry_after: float | None = None  # seconds; None: asking again would not help
    seconds: float = 0.0
    status: int = 0  # 0: there was no answer
    exchange: Exchange | None = None
    reached: bool = False  # somebody was there, though no answer may have come


Answer: TypeAlias = Fetch | Redirect | Failure


# ---- judging, scoring, learning -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What a critic says of a page.

    >>> import numpy as np
    >>> said = Judgement(relevance=0.9, raw=0.8, topics=np.array([0.9, 0.1], np.float32), version="mine-1")
    >>> said.relevance
    0.9
    """

    relevance: float  # calibrated probability that the page is wanted
    raw: float  # the same before calibration
    topics: Floats  # (c,) probabilities, aligned with the critic's classes
    version: str  # of the critic


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What the crawl knows of each link's target at the moment the page is scored."""

    relevance: Floats  # (n,) nan = not judged
    inlinks: Ids  # (n,) pages seen to link to it, this one not counted
    relevant_inlinks: Ids  # (n,) those of them that are RELEVANT

    def take(self, rows: Sequence[int]) -> Known:
        at = np.asarray(rows, np.intp)
        return Known(self.relevance[at], self.inlinks[at], self.relevant_inlinks[at])


@dataclass(frozen=True, slots=True, eq=False)
class Inlinks:
    """The links by which a URL was found, at most 8, the best kept; row 0 is the one that was followed."""

    sources: Ids  # (p,) ids of the pages
    scores: Floats  # (p,) as given when they were found
    state: Floats  # (p, k), k = 0 where the strategy carries none
    clues: Ragged  # p rows


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """How we came to ask for a URL."""

    id: int
    asked: int  # the id whose link was followed: another one after a redirect
    order: int  # number of this request, from 0
    depth: int  # links from a seed along the path followed
    score: float  # at the time it was taken
    inlinks: Inlinks  # no rows: a seed


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Visit:
    """A page that was fetched and judged, with the links that may be followed and how we came to it.

    >>> from forager import Crawl, CrawlConfig
    >>> from forager.clock import VirtualClock
    >>> from forager.critics import Predicate
    >>> class OnePage:  # a fetcher
    ...     async def fetch(self, url):
    ...         return Fetch(url, b"<p>An owl <a href='/nest'>nests</a>")
    >>> config = CrawlConfig(seeds=["http://a.test/"])
    >>> crawl = Crawl(config, critic=Predicate(keywords=["owl"]), fetcher=OnePage(), clock=VirtualClock())
    >>> visit = next(iter(crawl))
    >>> visit.page.url, visit.judgement.relevance, visit.links.anchors, visit.trace.depth
    ('http://a.test/', 1.0, ('nests',), 0)
    """

    page: Page
    links: Links  # those of page.links that the scope lets through, with a row in `known` each
    judgement: Judgement
    trace: Trace
    known: Known

    def take(self, rows: Sequence[int]) -> Visit:
        """With some of the links."""
        return Visit(self.page, self.links.take(rows), self.judgement, self.trace, self.known.take(rows))

    def __repr__(self) -> str:
        return f"Visit({self.page.url!r}, relevance {self.judgement.relevance:.3f}, depth {self.trace.depth})"


@dataclass(frozen=True, slots=True, eq=False)
class Miss:
    """A request that brought no page."""

    url: Url
    trace: Trace
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Links of which both ends have been judged since the last time, whichever end came first."""

    clues: Ragged  # m rows, as the strategy gave them when it scored the link
    relevance: Floats  # (m,) raw, of the target
    source_relevance: Floats  # (m,) raw, of the page the link is on
    calibrated: Floats | None = None  # (m,) calibrated, of the target; None: as the raw one


@dataclass(frozen=True, slots=True, eq=False)
class ScoredLinks:
    """A strategy's answer to a visit, a row for each of its n links.

    >>> import numpy as np
    >>> ScoredLinks(np.array([0.7, NEVER, 0.1], np.float32)).scores.tolist()[1]  # the second is never followed
    -inf
    """

    scores: Floats  # (n,) larger is sooner; NEVER is never
    state: Floats | None = None  # (n, k) travels with the link and comes back in the target's Trace
    clues: Ragged | None = None  # n rows of features: come back as Evidence and in Waiting
    common: Terms | None = None  # features of the page, kept once for all its links
    edge_weight: Floats | None = None  # (n,) weight of the edge in Graph, 1 if not given
    label: str | None = None  # what the strategy takes this page for


class Likeness(NamedTuple):
    """What a page is compared by with others, and which page it is a copy of."""

    digest: bytes  # of its body
    sketch: bytes  # of its words; b"" if it has few
    copy_of: int | None = None  # id of a page with the same text, or nearly the same
    exact: bool = False  # it has the same bytes


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """An answer that a crawl has taken in, with all that followed from it."""

    answer: Answer
    trace: Trace
    outcome: Visit | Miss | None  # None: a redirect to go after, a failure to be tried again, a page as before
    found: int  # URLs known before; ids from here on are new
    ids: Ids  # of the visit's links, or of the target of a redirect
    scored: ScoredLinks | None = None
    passing: Reason | None = None  # why a visit is no page of the collection, although its links are followed
    rest: float = 0.0  # seconds that the host rests after a failure that may pass; inf: for the rest of the session
    attempt: int = 0  # how often the link has failed so far, if that counts
    likeness: Likeness | None = None  # None: nobody has looked
    unfinished: bool = False  # it is one part of an answer, and others follow


@dataclass(frozen=True, slots=True, eq=False)
class WaitingBatch:
    """Some of the links that wait, each with what its parent gave it.

    Where the strategy's policy is best, mean or noisy-or, a URL found on several pages has a row for each of them, the
    newest 8; their new scores become one by that policy. Otherwise it has the row of the parent that is kept.
    """

    ids: Ids  # (b,) ascending; the same for links to the same URL
    sources: Ids  # (b,) id of the page it was found on, -1 for a seed
    hosts: Ids  # (b,)
    scores: Floats  # (b,)
    state: Floats  # (b, k)
    clues: Ragged  # b rows
    common: Ragged  # b rows: those of the source


Waiting: TypeAlias = Iterable[WaitingBatch]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """What the crawl has seen of the web, over ids: row i of a CSR matrix is the links of page i."""

    offsets: NDArray[np.int64]  # (n + 1,)
    targets: Ids  # (e,)
    weights: Floats  # (e,)
    relevance: Floats  # (n,) nan = not judged
    hosts: Ids  # (n,)


class Policy(StrEnum):
    """What becomes of a waiting link's score when it is found again."""

    FIRST = "first"
    BEST = "best"
    LATEST = "latest"
    MEAN = "mean"
    NOISY_OR = "noisy-or"  # 1 - (1 - a)(1 - b); scores are probabilities


@dataclass(frozen=True, slots=True)
class Combine:
    """Score, state and clue are replaced together; the columns of state in `largest` keep their maximum besides."""

    policy: Policy
    largest: tuple[int, ...] = ()


FIRST, BEST, LATEST = Combine(Policy.FIRST), Combine(Policy.BEST), Combine(Policy.LATEST)
MEAN, NOISY_OR = Combine(Policy.MEAN), Combine(Policy.NOISY_OR)


# ---- verbs ----------------------------------------------------------------------------------------------------------


class Critic(Protocol):
    """Says whether a page is what we look for. It never sees the network, the disk or the clock.

    A critic that takes long pages for relevant:

    >>> import numpy as np
    >>> class LongPages:
    ...     classes, focus, version = ("long",), ("long",), "long-1"
    ...     def fit(self, pages, labels):
    ...         pass  # it has nothing to learn
    ...     def judge(self, pages):
    ...         lengths = [sum(map(len, page.leaves)) for page in pages]
    ...         chances = [min(1.0, length / 5000) for length in lengths]
    ...         return [Judgement(p, p, np.array([p], np.float32), self.version) for p in chances]
    """

    @property
    def classes(self) -> tuple[str, ...]: ...
    @property
    def focus(self) -> tuple[str, ...]:
        """What is wanted: a class is in focus if it is one of these or below one."""

    @property
    def version(self) -> str: ...
    def fit(self, pages: Iterable[Page], labels: Iterable[str]) -> None: ...
    def judge(self, pages: Sequence[Page]) -> list[Judgement]: ...


@runtime_checkable
class WeighsWords(Protocol):
    """A critic that can also say what a single word is worth, as on a link whose target has not been fetched."""

    def word_log_odds(self, terms: Terms) -> Floats:
        """How much each term speaks for a wanted page, as log-odds: below 0 it speaks against it, and 0 says nothing.
        Shrunk towards 0 where little is known of a term; 0 for a term that the critic does not know."""


class Strategy(Protocol):
    """Says which links to follow first. It never sees the network, the disk or the clock.

    If it needs chance, it draws it from its seed and the URL. A strategy that likes short addresses:

    >>> import numpy as np
    >>> class ShortFirst:
    ...     combine = BEST  # a link that is found again keeps its best score
    ...     def score(self, visit):
    ...         return ScoredLinks(np.array([-len(url) for url in visit.links.targets], np.float32))
    """

    @property
    def combine(self) -> Combine: ...
    def score(self, visit: Visit) -> ScoredLinks:
        """Score all links of the visit in one batch. Pure: the same visit, the same answer."""


@runtime_checkable
class Learns(Protocol):
    def observe(self, outcome: Visit | Miss, evidence: Evidence) -> None:
        """Learn from an outcome. Always called before `score` of the same visit."""


@runtime_checkable
class Rescores(Protocol):
    @property
    def every(self) -> int:
        """Pages between two sweeps."""

    def rescore(self, waiting: Waiting, graph: Graph) -> Iterator[Floats]:
        """New scores for all that waits: an array for each batch, in order.

        It is called between two steps; what it returns may be gone through in another thread while `observe` goes on,
        so there it should rely on nothing that `observe` changes in place.

        A strategy whose new score of a link depends on the link's own row alone, not on the graph and not on what else
        waits, may say so by an attribute `alone = True`: while a sweep goes on beside the loop, a link about to be
        asked for is then scored again first, and the graph it is given may be empty. If it says besides how many links
        at the `top` matter, most sweeps take only these.
        """


@runtime_checkable
class GivesChances(Protocol):
    """A strategy whose scores say how likely a link leads to a relevant page. Of others nothing can be forecast."""

    def chances(self, scores: Floats) -> Floats:
        """The chance of a link with each of these scores, from 0 to 1; a larger score has no smaller chance."""


@runtime_checkable
class Persists(Protocol):
    def parts(self) -> Parts: ...
    def from_parts(self, parts: Parts) -> Self:
        """A learner of the same settings that knows what `parts` knows."""

    def merge(self, parts: Sequence[Parts]) -> Parts:
        """What several shards have learnt, as one: counts add, weights average."""


@runtime_checkable
class Explains(Protocol):
    def explain(self, visit: Visit, link: int) -> list[tuple[str, float]]:
        """The words that made the score of one link of the visit, strongest first."""


@runtime_checkable
class ExplainsRows(Protocol):
    """Explains a link by what travelled with it from all pages that it was found on, as `rescore` sees it."""

    def explain_rows(self, rows: WaitingBatch) -> list[tuple[str, float]]:
        """Sentences with what each adds to the score of a link, strongest first; together they are the score. All rows
        lead to the same URL."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A link taken from the frontier: a lease on its lane, held in memory only."""

    id: int
    lane: int
    score: float


class Frontier(Protocol):
    """What waits, best first, one at a time per lane. A lane is an opaque int: the host at first."""

    def add(self, ids: Ids, lanes: Ids, sites: Ids, scores: Floats) -> Mask:
        """Offer links in order of discovery; True where the link is now the one kept for its id."""

    def again(self, ids: Ids, lanes: Ids, sites: Ids, scores: Floats) -> None:
        """Let links that are done wait again."""

    def acquire(self, now: float, *, strangers: bool = True, floor: float = NEVER) -> Candidate | None:
        """The highest score over the lanes that may be asked now; ties go to the smaller id. None if it is below the
        `floor`. Without `strangers` only lanes that have answered when they were last asked are looked at."""

    def release(
        self, candidate: Candidate, now: float, delay: float, *, page: bool, answered: bool | None = None
    ) -> None:
        """Give the lane back; it rests for `delay`. `page`: the answer counts against the budgets. `answered`: whether
        the lane has answered; None: that is as before."""

    def retry(self, candidate: Candidate, due: float) -> None:
        """Let the link of a lease not yet released wait again, to be taken not before `due`."""

    def drop(self, ids: Ids) -> None:
        """Take links out of waiting, for ever."""

    def next_due(self, *, strangers: bool = True) -> float | None:
        """When `acquire` should next be tried if it gave None; None: nothing will come by waiting."""

    @property
    def waiting(self) -> Ids:
        """Ids of all that waits, ascending."""

    def scores(self, ids: Ids) -> Floats: ...

    def reorder(self, ids: Ids, scores: Floats) -> None:
        """New scores for these waiting links, in one step."""


class Fetcher(Protocol):
    async def fetch(self, url: Url) -> Answer: ...


@runtime_checkable
class FetchesAgain(Protocol):
    """A fetcher that can ask whether a page has changed."""

    async def fetch_again(self, url: Url, etag: str, modified: str) -> Answer:
        """The page if it has changed since an answer with these headers; else a `Fetch` with status 304."""


@runtime_checkable
class Locates(Protocol):
    """A fetcher that knows where hosts are."""

    async def locate(self, url: Url) -> str | Failure:
        """The address that will be asked for a URL. "" if requests to it need not be limited."""
