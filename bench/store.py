"""What it costs to store a page: `python -m bench.store [--small]`. CPU milliseconds a page; the last line is JSON.

A page has 43 KB of HTML made of words by Zipf's law, 10 KB of visible text, and 80 links with 480 bytes of clues each.
All 80 lead to new URLs, which is the worst case. The WARC part and the SQLite part are also measured alone.
"""

from __future__ import annotations

import argparse
import io
import json
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import numpy as np
from fastwarc.stream_io import GzipWriter
from fastwarc.warc import WarcRecord, WarcRecordType
from isal import igzip

from forager.store import NewUrl, Record, Store
from forager.store.schema import migrate
from forager.store.warc import pack
from forager.types import Exchange, Fetch, Url

BODY, URLS, CLUES, HOSTS = 43_000, 80, 480, 997
_WHEN = datetime(2024, 1, 1, tzinfo=UTC)


def bodies(count: int) -> list[bytes]:
    rng = np.random.default_rng(0)
    words = ["".join(chr(97 + c) for c in rng.integers(0, 26, rng.integers(2, 11))) for _ in range(20_000)]
    made = []
    for _ in range(count):
        ranks = np.minimum(rng.zipf(1.25, 9_000), len(words)) - 1
        cells = (f"<li class=item><a href=/{words[r]}>{words[r]}</a></li>" if r % 9 == 0 else words[r] for r in ranks)
        made.append(" ".join(cells).encode()[:BODY])
    return made


def record(seq: int, body: bytes, links: bytes) -> Record:
    first = seq * URLS
    new = [
        NewUrl(id, f"http://host{id % HOSTS}.web.test/path/to/page-{id}.html", f"host{id % HOSTS}.web.test", 0.5)
        for id in range(first, first + URLS)
    ]
    request = (
        b"GET /path/to/page.html HTTP/1.1\r\nHost: host.web.test\r\nUser-Agent: forager/0.1 (+mailto:a@b.test)\r\n\r\n"
    )
    response = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 43000\r\n\r\n"
    fetch = Fetch(Url(new[0].text), body, "text/html", "utf-8", 200, 0.1, Exchange(request, response, "127.0.0.1"))
    why = {"parent": new[0].text, "score": 0.5, "depth": 3, "relevance": 0.7, "critic": "naive-bayes-1"}
    judged = (0.7, 0.7, np.full(20, 0.05, np.float32), "naive-bayes-1", "")
    return Record(
        *(seq, seq, seq, "page", "", "", 200, max(0, seq - 1), 3, 0.5, *judged, _WHEN, 0.1, "A title of some words"),
        *(fetch, why, new, links, ()),
    )


def best(run: Callable[[], object], rounds: int = 3) -> float:
    """The least CPU seconds of some rounds."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def stored(records: list[Record]) -> tuple[float, float, float]:
    """The CPU seconds of all `add`s and all `commit`s, and the longest commit in real time."""
    adding = committing = longest = 0.0
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
        for record in records:
            start = time.process_time()
            store.add(record)
            adding += time.process_time() - start
            if store.pending == 64:
                start, wall = time.process_time(), time.perf_counter()
                store.commit()
                committing += time.process_time() - start
                longest = max(longest, time.perf_counter() - wall)
    return adding, committing, longest


def sqlite_alone(records: list[Record]) -> float:
    """The CPU seconds to insert the new URLs of all records, 64 records a transaction."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alone.sqlite"
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        migrate(db, path)
        rows = [[(url.id, url.id % HOSTS, url.text, url.score) for url in record.new_urls] for record in records]
        start = time.process_time()
        for at in range(0, len(rows), 64):
            db.execute("BEGIN")
            for row in rows[at : at + 64]:
                db.executemany("INSERT INTO url VALUES (?, ?, ?, ?)", row)
            db.execute("COMMIT")
        taken = time.process_time() - start
        db.close()
    return taken


def fastwarc(body: bytes, level: int) -> int:
    """One response record, compressed by fastwarc itself."""
    out = io.BytesIO()
    gzip = GzipWriter(out, compression_level=level)
    one = WarcRecord()
    one.init_headers(WarcRecordType.response)
    one.set_bytes_content(body)
    one.write(gzip)
    gzip.finish()
    return len(out.getvalue())


def read_back(records: list[Record]) -> tuple[float, float]:
    """The microseconds a record and a URL that it takes to read what a resumed crawl needs."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
        for record in records:
            store.add(record)
        store.commit()
        by_record = best(lambda: sum(1 for _ in store.records())) / len(records)
        by_url = best(lambda: sum(len(chunk.texts) for chunk in store.urls())) / (len(records) * URLS)
    return by_record * 1e6, by_url * 1e6


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--small", action="store_true")
    pages = 320 if options.parse_args().small else 3_200
    made, links = bodies(50), np.random.default_rng(1).bytes(URLS * CLUES)
    records = [record(seq, made[seq % len(made)], links) for seq in range(pages)]
    project, ms = uuid4(), 1000 / len(made)
    gzips = {
        **{f"fastwarc-{n}": best(lambda n=n: [fastwarc(body, n) for body in made]) * ms for n in (1, 9)},  # type: ignore[misc]
        **{f"isal-{n}": best(lambda n=n: [igzip.compress(body, n) for body in made]) * ms for n in range(4)},  # type: ignore[misc]
        **{f"zlib-{n}": best(lambda n=n: [zlib.compress(body, n) for body in made]) * ms for n in (1, 6)},  # type: ignore[misc]
    }
    sizes = {f"isal-{n}": sum(len(igzip.compress(body, n)) for body in made) // len(made) for n in range(4)}
    warc = best(lambda: [pack(record, project) for record in records[:50]]) * ms
    sqlite = sqlite_alone(records) * 1000 / pages
    adding, committing, longest = (value * 1000 for value in stored(records))
    by_record, by_url = read_back(records)
    found = {
        "page_ms": round((adding + committing) / pages, 3),
        "add_ms": round(adding / pages, 3),
        "commit_ms": round(committing / pages, 3),
        "longest_commit_ms": round(longest, 1),
        "warc_ms": round(warc, 3),
        "sqlite_urls_ms": round(sqlite, 3),
        "gzip_ms": {name: round(value, 3) for name, value in gzips.items()},
        "gzip_bytes": sizes,
        "read_record_us": round(by_record, 1),
        "read_url_us": round(by_url, 2),
    }
    for name, value in found.items():
        print(f"{name:20} {value}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
