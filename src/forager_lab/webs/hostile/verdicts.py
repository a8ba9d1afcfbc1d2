"""What a crawl has made of each kind, beside what was wanted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from forager.store import RecordedProject
from forager.types import Url
from forager.web.urls import RULES, host
from forager_lab.webs.hostile.addresses import CANARY
from forager_lab.webs.hostile.kinds import Kind, kind_of
from forager_lab.webs.server.log import LoggedRequest

NOT_ASKED = "not asked"
SLACK = 2  # requests more than wanted that are forgiven: an answer may come too late on a busy machine


class UrlEnd(NamedTuple):
    """What has become of a URL: the last that is on record."""

    outcome: str
    reason: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.outcome} {self.reason}".rstrip()


@dataclass(slots=True)
class KindReport:
    """What a crawl has made of a kind."""

    ends: dict[Url, UrlEnd] = field(default_factory=dict)
    requests: list[LoggedRequest] = field(default_factory=list)

    @property
    def pages(self) -> int:
        return sum(end.outcome == "page" for end in self.ends.values())

    @property
    def at_once(self) -> int:
        """The most requests at the same time."""
        events = sorted([(seen.arrived, 1) for seen in self.requests] + [(seen.ended, -1) for seen in self.requests])
        most = now = 0
        for _, change in events:
            now += change
            most = max(most, now)
        return most

    def of_host(self, name: str) -> int:
        return sum(seen.host == name for seen in self.requests)


def reports(folder: Path, log: Iterable[LoggedRequest]) -> dict[str, KindReport]:
    """What the crawl in a folder has made of each kind, with what the server saw."""
    found: defaultdict[str, KindReport] = defaultdict(KindReport)
    for url, end in read_ends(folder).items():
        found[owner(url)].ends[url] = end
    for seen in log:
        found[kind_of(seen.host)].requests.append(seen)
    return found


def owner(url: Url) -> str:
    """The kind that a URL belongs to: its host does, or it led into our network. "" if none."""
    _, _, _, first, *rest = [*url.split("/"), ""]
    return rest[0] if first == CANARY and len(rest) > 1 else kind_of(host(url))


def read_ends(folder: Path) -> dict[Url, UrlEnd]:
    """What has become of each URL of a crawl."""
    with RecordedProject(folder) as recorded:
        urls = [Url(text) for chunk in recorded.urls() for text in chunk.texts]
        ends = dict.fromkeys(urls, UrlEnd(NOT_ASKED))
        for record in recorded.records():
            outcome = "waits" if record.outcome == "retry" else record.outcome
            ends[urls[record.answered]] = UrlEnd(outcome, record.reason, record.detail)
    return ends


def judged(kind: Kind, found: KindReport, port: int) -> tuple[str, list[str]]:
    """What was found, in words, and what is wrong with it."""
    wanted, url = kind.wanted, RULES.canonical((kind.wanted.of or kind.seeds[0]).format(port=port))
    end = found.ends.get(url, UrlEnd("not found")) if url else UrlEnd("no URL")
    least, most = wanted.pages
    wrong = [] if _fits(end, wanted.outcome, wanted.reason) else [f"{url} is: {end} ({end.detail})"]
    wrong += [f"{found.pages} pages"] if not least <= found.pages <= most else []
    wrong += [f"{len(found.requests)} requests, at most {wanted.requests}"] * (
        len(found.requests) > wanted.requests + SLACK
    )
    wrong += [f"{len(found.ends)} URLs, at most {wanted.urls}"] * (len(found.ends) > wanted.urls)
    if wanted.at_once is not None and found.at_once > wanted.at_once:
        wrong.append(f"{found.at_once} requests at once, at most {wanted.at_once}")
    for name, most in wanted.of_host.items():
        asked = found.of_host(name)
        wrong += [f"{asked} requests to {name}, at most {most}"] * (asked > most)
    wrong += _inside(found.ends)
    told = f"{end}, {found.pages} pages" if found.pages > 1 else str(end)
    return told, wrong


def _fits(end: UrlEnd, outcome: str, reason: str) -> bool:
    same = end.outcome not in ("page", "not found") if outcome == "no page" else end.outcome == outcome
    return same and (not reason or end.reason == reason)


def _inside(ends: Mapping[Url, UrlEnd]) -> list[str]:
    """URLs that lead into our network and were not refused."""
    return [
        f"{url} is: {end} ({end.detail})"
        for url, end in ends.items()
        if url.split("/")[3:4] == [CANARY] and end.reason != "forbidden-address" and end.outcome != NOT_ASKED
    ]
