"""What became of a soak: the web, the project and the log of the server compared with each other.

lost       every URL that can be reached is a page if the web has one there, else a miss for the right reason
twice      no page is kept twice; a good answer is asked for again only if a kill or a time-out came between
impolite   no two requests to a host overlap, or are closer than the delay, also across kills
flat       memory and CPU time per page do not rise with the pages: slopes with 95 % intervals
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from fastwarc.warc import ArchiveIterator, WarcRecordType
from scipy import stats

from forager.clock import WallClock
from forager.crawl.audit import lost_urls
from forager.store import RecordedProject, Stored
from forager.types import Failure, Redirect, Url
from forager.web.page import parse
from forager.web.urls import RULES
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server.faults import Fault, fault_plan
from forager_lab.webs.server.log import LoggedRequest, impolite, read_log

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
PAGE, MOVED, LISTING, RETRY = (
    "page",
    "moved",
    "passage",
    "retry",
)  # what can become of a URL, besides the reasons of misses
LEADS_NOWHERE_NEW = {"bad-redirect", "duplicate"}  # misses of redirects
ROBOTS = "/robots.txt"
MOST_BYTES, MOST_RISE = 4_096, 0.10  # that a page may take in memory; by how much pages may become slower in a run
UNIT = 100_000  # pages
TAIL = 0.95  # of the pages


class Kill(NamedTuple):
    """The crawl was killed."""

    at: float  # monotonic seconds
    seq: int  # of the last record that was acknowledged
    pages: int
    lost: list[str]


class Sample(NamedTuple):
    """What a process of the crawl had used when the crawl had so many pages."""

    process: int
    pages: int
    requests: int
    cpu: float  # seconds
    memory: int  # bytes


class Line(NamedTuple):
    """One promise, what was found, and what is wrong with it."""

    what: str
    found: str
    wrong: list[str]


def report(
    project: Path,
    log: Path,
    web: WebPlan,
    faults: Mapping[str, Any],
    delay: float,
    kills: Sequence[Kill],
    happened: Mapping[str, int],
    code: int,
) -> list[Line]:
    """A line for each promise."""
    should, records = asyncio.run(expected(ProceduralWeb(web))), list(records_of(project))
    became = {url: record for url, record in records if record.outcome != RETRY}
    slow = {url for url, record in records if record.outcome == RETRY and record.reason == "timeout"}
    pages = Counter(url for url, record in records if record.outcome == PAGE)
    wrong = list(differences(should, became))
    requests, told = read_log(log), ", ".join(f"{name} {count}" for name, count in sorted(happened.items()))
    missing = [f"no {kind} happened" for kind in ("away", *Fault) if faults["share"] and not happened.get(kind)]
    again, explained = repeated(requests, faults, kills, became, slow)
    warc, rude = archived_twice(project, pages), impolite(log, delay)
    checked = verified(project)
    return [
        Line("the crawl has ended by itself", f"exit code {code}", [f"exit code {code}"] if code else []),
        Line("faults", told, missing),
        Line("pages of the web that were fetched", f"{sum(what == PAGE for what in should.values())}", []),
        Line("lost: URLs without the right end", f"{len(wrong)} of {len(should)}", wrong),
        Line(f"lost: after each of {len(kills)} kills", _sum(kill.lost for kill in kills), _all(k.lost for k in kills)),
        Line("lost: forager verify", "whole" if not checked else "not whole", checked),
        Line("twice: pages kept more than once", f"{len(warc)} of {len(pages)}", warc),
        Line("twice: good answers asked for again", f"{len(again)} ({explained} explained)", again),
        Line("impolite: requests too close", f"{len(rude)} of {len(requests)}", rude),
        *flat(read_samples(project / "samples.tsv")),
    ]


# ---- lost


def lost(recorded: RecordedProject) -> list[str]:
    return [f"{url} is neither waiting nor answered" for url in lost_urls(recorded, WallClock())]


async def expected(web: ProceduralWeb) -> dict[str, str]:
    """What should become of every URL that can be reached, found by walking through the web itself."""

    @cache
    def closed(host: str) -> tuple[str, ...]:
        lines = web.respond(f"http://{host}{ROBOTS}").body.decode().splitlines()
        return tuple(line.split(": ")[1] for line in lines if line.startswith("Disallow: "))

    found: dict[str, str] = {}
    waiting = [*web.homes(), *(Url(f"{home}sitemap.xml") for home in web.homes())]
    while waiting:
        url = waiting.pop()
        if url in found:
            continue
        host, path = url.removeprefix("http://").split("/", 1)
        if f"/{path}".startswith(closed(host)):
            found[url] = "robots"
            continue
        found[url], links = await _at(web, url)
        waiting += [link for link in map(RULES.canonical, links) if link is not None and link not in found]
    return found


async def _at(web: ProceduralWeb, url: Url) -> tuple[str, Sequence[Url]]:
    """What the web has at a URL, and where that leads."""
    links = web.links(url)
    if links:  # which every page has
        return PAGE, links
    answer = await web.fetch(url)
    if isinstance(answer, Redirect):
        return MOVED, [answer.target]
    if isinstance(answer, Failure):
        return str(answer.reason), []
    page = parse(answer)
    assert not isinstance(page, Failure)
    return LISTING, page.links.targets


def records_of(project: Path) -> Iterator[tuple[str, Stored]]:
    """All records in order, each with the URL that it is about."""
    with RecordedProject(project) as recorded:
        texts = [text for chunk in recorded.urls() for text in chunk.texts]
        for record in recorded.records():
            yield texts[record.answered], record


def differences(should: Mapping[str, str], became: Mapping[str, Stored]) -> Iterator[str]:
    for url, what in should.items():
        record = became.get(url)
        if record is None:
            yield f"{url} should be {what}, and was not answered"
        elif not _is(what, record):
            yield f"{url} should be {what}, and is {record.outcome} {record.reason}".rstrip()
    for url in became.keys() - should.keys():
        yield f"{url} is {became[url].outcome} {became[url].reason}, and nothing leads there"


def _is(what: str, record: Stored) -> bool:
    if what == MOVED:
        return record.outcome == MOVED or record.reason in LEADS_NOWHERE_NEW
    return record.outcome == what or (record.outcome == "miss" and record.reason == what)


def verified(project: Path) -> list[str]:
    """What `forager verify` finds."""
    command = [sys.executable, "-m", "forager", "verify", str(project)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    return [] if told.returncode == 0 else [line for line in (told.stdout + told.stderr).splitlines() if line]


# ---- twice


def archived_twice(project: Path, pages: Mapping[str, int]) -> list[str]:
    """Pages that are kept more than once in catalogue or archive, or only in one of them."""
    archived: Counter[str] = Counter()
    for file in sorted((project / "warc").glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=True):
                page = record.http_headers.status_code == 200 and record.http_content_type == "text/html"
                if page and "WARC-Truncated" not in record.headers:
                    archived[record.headers["WARC-Target-URI"]] += 1
    urls = sorted(pages.keys() | archived.keys())
    return [
        f"{url}: {pages.get(url, 0)} times in the catalogue, {archived[url]} times in the archive"
        for url in urls
        if not pages.get(url, 0) == archived[url] == 1
    ]


def repeated(
    requests: Sequence[LoggedRequest],
    faults: Mapping[str, Any],
    kills: Sequence[Kill],
    became: Mapping[str, Stored],
    slow: Container[str],
) -> tuple[list[str], int]:
    """Requests for what had been answered well, unless a kill or a time-out of the crawl explains them; and how many
    are explained. `slow`: URLs for which the crawl had waited too long. What went wrong with each request follows from
    the plan of the faults."""
    plan, good = fault_plan(**faults), dict[str, LoggedRequest]()
    wrong, explained = list[str](), 0
    for seen in requests:
        url, before = f"http://{seen.host}{seen.target}", good.get(f"http://{seen.host}{seen.target}")
        if seen.target == ROBOTS:
            continue
        if before is not None:
            lost_by = [kill for kill in kills if before.arrived < kill.at < seen.arrived]
            if url in slow or any(url not in became or became[url].seq > kill.seq for kill in lost_by):
                explained += 1
            else:
                wrong.append(f"{url} was answered {seen.arrived - before.ended:.1f} s before it was asked for again")
        fault = plan.fault(f"{seen.host}{seen.target}")
        if fault in (None, Fault.LONGER) and 0 < seen.status < 500:
            good[url] = seen
    return wrong, explained


# ---- flat


def read_samples(file: Path) -> list[Sample]:
    if not file.exists():
        return []
    rows = [line.split("\t") for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [Sample(int(row[0]), int(row[1]), int(row[2]), float(row[3]), int(row[4])) for row in rows]


def flat(samples: Sequence[Sample]) -> list[Line]:
    """How memory and CPU time change with the pages. The figures of a process count from its third sample on: at first
    it asks every host for robots.txt. The end does not count, where few pages come because links that failed wait.
    Requests that bring no page become more in the course of a crawl; what they take is taken out."""
    some = [sample for sample in samples if sample.pages <= TAIL * samples[-1].pages]
    steps = [(a, b) for a, b in pairwise(some) if a.process == b.process and a.pages < b.pages]
    late = [(a, b) for (before, _), (a, b) in pairwise(steps) if before.process == a.process]
    if len(late) < 10:
        return []
    pages = np.array([b.pages - a.pages for a, b in late], float)
    others = np.array([b.requests - a.requests for a, b in late], float) - pages  # requests that brought no page
    at, one = np.array([b.pages for _, b in late], float) / UNIT, np.ones(len(late))
    time = slope(np.array([1e3 * (b.cpu - a.cpu) for a, b in late]) / pages, [at, one, others / pages])
    memory = slope(np.array([b.memory for _, b in late]) / UNIT, [at, one])
    first, rises = time.others[0], time.low * float(at[-1] - at[0])
    peak = max(sample.memory for sample in samples) / 1e6
    return [
        Line(
            f"flat: CPU ms of a page, per {UNIT:,} pages",
            f"{first:.2f} {time}",
            [f"rises by {rises:.2f} ms at least in the run"] if rises > MOST_RISE * first else [],
        ),
        Line(
            f"flat: bytes of memory a page ({peak:.0f} MB at most)",
            f"{memory.at:+.0f} [{memory.low:+.0f}, {memory.high:+.0f}]",
            [f"{memory.low:.0f} bytes a page at least"] if memory.low > MOST_BYTES else [],
        ),
    ]


class Slope(NamedTuple):
    """How much something grows with the first of its causes, with the ends of the 95 % interval."""

    at: float
    low: float
    high: float
    others: list[float]  # the same for the other causes

    def __str__(self) -> str:
        return f"{self.at:+.3g} [{self.low:+.3g}, {self.high:+.3g}]"


def slope(found: Numbers, causes: Sequence[Numbers]) -> Slope:
    """By least squares."""
    known = np.column_stack(causes)
    inverse = np.linalg.pinv(known.T @ known)
    factors = inverse @ known.T @ found
    free = len(found) - known.shape[1]
    error = float(np.sqrt(((found - known @ factors) ** 2).sum() / free * inverse[0, 0]))
    half = float(stats.t.ppf(0.975, free)) * error
    return Slope(float(factors[0]), float(factors[0]) - half, float(factors[0]) + half, factors[1:].tolist())


def _all(lists: Iterator[list[str]]) -> list[str]:
    return [one for some in lists for one in some]


def _sum(lists: Iterator[list[str]]) -> str:
    return str(sum(map(len, lists)))
