"""Records that are made from a number, so that what comes back can be compared with what was stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from forager.store import NewUrl, Record, RecordOutcome
from forager.types import Answer, Exchange, Failure, Fetch, Reason, Redirect, Url

START = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
NEW_URLS = 3


def url(id: int) -> Url:
    return Url(f"http://h{id % 5}.test/page-{id}")


def new_url(id: int) -> NewUrl:
    return NewUrl(id, url(id), f"h{id % 5}.test", id / 7)


def archives(folder: Path) -> list[Path]:
    """The WARC files of a project, in order."""
    return sorted((folder / "warc").glob("*.warc.gz"))


def body(seq: int) -> bytes:
    return f"<html><title>Page {seq}</title><body>{'word ' * (seq % 50)}number{seq} été</body></html>".encode()


def text(seq: int) -> str:
    """The visible text of the page."""
    return f"Page {seq}\n{'word ' * (seq % 50)}number{seq} été"


def exchange(seq: int, length: int, status: str = "200 OK") -> Exchange:
    request = f"GET /page-{seq} HTTP/1.1\r\nHost: h.test\r\nUser-Agent: forager\r\n\r\n"
    response = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"
    return Exchange(request.encode(), response.encode(), "192.0.2.7")


def answer(seq: int) -> Answer | None:
    """In turn: fetched from the network, from a recorded web, redirected, not found, no answer at all."""
    match seq % 7:
        case 3:
            return Redirect(url(seq), url(seq + 1), 301, 0.25, exchange(seq, 0, "301 Moved Permanently"))
        case 4:
            return Failure(url(seq), Reason.NOT_FOUND, "status 404", None, 0.1, 404, exchange(seq, 9, "404 Not Found"))
        case 5:
            return Failure(url(seq), Reason.DNS, "no such name")
        case 6:
            return Fetch(url(seq), body(seq), "text/html", "utf-8", 200, 0.5)
    return Fetch(url(seq), body(seq), "text/html", "utf-8", 200, 0.5, exchange(seq, len(body(seq))))


_OUTCOMES: dict[int, tuple[RecordOutcome, str]] = {3: ("moved", ""), 4: ("miss", "not-found"), 5: ("miss", "dns")}


def record(seq: int, first_new: int | None = None, **changed: Any) -> Record:
    """Record `seq` of a crawl with one seed, in which each record finds NEW_URLS new URLs."""
    first = 1 + seq * NEW_URLS if first_new is None else first_new
    outcome, reason = _OUTCOMES.get(seq % 7, ("page", ""))
    page = outcome == "page"
    values: dict[str, Any] = {
        **{"seq": seq, "asked": seq, "answered": seq, "outcome": outcome, "reason": reason, "detail": f"detail {seq}"},
        **{"status": 200, "parent": (seq - 1) // NEW_URLS, "depth": seq % 4, "score": 0.5, "critic": "nb-1"},
        **{"relevance": (seq % 10) / 10 if page else float("nan"), "raw": 0.25 if page else float("nan")},
        **{"topics": np.array([0.75, 0.25], np.float32) if page else None, "label": "course" if page else ""},
        **{"asked_at": START + timedelta(seconds=seq), "seconds": 0.5, "title": f"Page {seq}" if page else ""},
        **{"answer": answer(seq)},
        **{"why": {"parent": url(0), "score": 0.5, "topics": np.array([0.75], np.float32), "raw": float("nan")}},
        **{"new_urls": [new_url(first + i) for i in range(NEW_URLS)], "links": bytes([seq % 251]) * (seq % 100)},
        **{"redirects": [(seq, seq + 1), (seq, seq + 2)] if outcome == "moved" else []},
    }
    return Record(**(values | changed))
