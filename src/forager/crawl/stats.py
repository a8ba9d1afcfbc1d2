"""What a crawl has done so far, in numbers."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from forager.types import Reason
from forager.watch import CrawlFigures

RECENT = 100


@dataclass(slots=True)
class CrawlStats:
    """What a crawl has done so far."""

    pages: int = 0
    requests: int = 0
    bytes: int = 0  # of page bodies
    relevance: float = 0.0  # summed over the pages, by the critic
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))  # relevance of the latest pages
    levels: Counter[int] = field(default_factory=Counter)  # pages by their relevance in hundredths
    misses: Counter[Reason] = field(default_factory=Counter)
    passed: Counter[Reason] = field(default_factory=Counter)  # answers whose links are followed, but that are no pages
    revisits: Counter[str] = field(default_factory=Counter)  # of pages that we have: same, changed, gone
    rejected: Counter[str] = field(default_factory=Counter)  # links out of scope, by rule
    commits: int = 0
    sweeps: int = 0
    sweeps_skipped: int = 0  # because the sweep before was still running
    longest_step: float = 0.0  # seconds that one page or one commit held up the loop
    stopped: str = ""  # why, in words; "" while it runs

    @property
    def harvest(self) -> float:
        """Mean relevance of the pages, by the critic."""
        return self.relevance / self.pages if self.pages else 0.0

    @property
    def recent_harvest(self) -> float:
        """Mean relevance of the latest pages, by the critic."""
        return sum(self.recent) / len(self.recent) if self.recent else 0.0

    def count_page(self, relevance: float) -> None:
        self.pages += 1
        self.relevance += relevance
        self.recent.append(relevance)
        self.levels[round(100 * relevance)] += 1

    def figures(self, waiting: int, hosts: int, in_flight: int) -> CrawlFigures:
        """For whoever watches the crawl."""
        both = Counter(dict(self.misses)) + Counter(dict(self.passed))  # of copies, because any thread may ask
        return CrawlFigures(
            pages=self.pages,
            requests=self.requests,
            bytes=self.bytes,
            relevance=self.relevance,
            recent_harvest=self.recent_harvest,
            misses={str(reason): count for reason, count in both.items()},
            waiting=waiting,
            hosts=hosts,
            in_flight=in_flight,
            longest_pause=self.longest_step,
            commits=self.commits,
            sweeps=self.sweeps,
        )

    def note_pause(self, seconds: float) -> None:
        """Something held up the loop for so long."""
        self.longest_step = max(self.longest_step, seconds)
