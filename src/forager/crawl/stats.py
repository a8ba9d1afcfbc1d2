"""What a crawl has done so far, in numbers."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from forager.types import Miss, Reason, Visit

RECENT = 100


@dataclass(slots=True)
class Tally:
    """What a crawl has done so far."""

    pages: int = 0
    requests: int = 0
    bytes: int = 0  # of page bodies
    relevance: float = 0.0  # summed over the pages, by the critic
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))  # relevance of the latest pages
    misses: Counter[Reason] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)  # links out of scope, by rule
    sweeps: int = 0
    sweeps_skipped: int = 0  # because the one before was not done
    longest_step: float = 0.0  # seconds the loop was held up by one page or commit
    stopped: str = ""  # why, in words; "" while it runs

    @property
    def harvest(self) -> float:
        """Mean relevance of the pages, by the critic."""
        return self.relevance / self.pages if self.pages else 0.0

    @property
    def recent_harvest(self) -> float:
        return sum(self.recent) / len(self.recent) if self.recent else 0.0

    def count(self, outcome: Visit | Miss | None) -> None:
        if isinstance(outcome, Visit):
            self.count_page(outcome.judgement.relevance)
        elif isinstance(outcome, Miss):
            self.misses[outcome.reason] += 1

    def count_page(self, relevance: float) -> None:
        self.pages += 1
        self.relevance += relevance
        self.recent.append(relevance)
