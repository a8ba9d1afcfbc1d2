"""After a kill at each of 200 random moments every acknowledged record is there exactly once, and nothing in part."""

from __future__ import annotations

import os
import random
import select
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from warcio.archiveiterator import ArchiveIterator

from forager.store import Store
from forager.store.schema import DATABASE
from forager.types import Fetch
from tests.store.making import answer, archives, new_url, record, url

KILLS = 200
FULL_CHECK = 25  # kills between two readings of the whole archive
LONGEST = 0.03  # seconds that a child may live
WARC_SIZE = 60_000  # small, so that many kills fall into a rotation


def crawl(folder: Path, seed: int, acknowledged: int) -> None:
    """The child process: it continues the project in groups of random size, and tells each acknowledged seq."""
    rng = random.Random(seed)
    store = Store(folder, durable=rng.choice(("process", "process", "power")), warc_size=WARC_SIZE)
    if store.known == 0:
        store.add_urls([new_url(0)])
    seq = store.last_seq
    while True:
        for _ in range(rng.randint(1, 64)):
            seq += 1
            store.add(record(seq))
        os.write(acknowledged, store.commit().to_bytes(8, "big"))


def run_and_kill(folder: Path, seed: int, seconds: float, *, begun: bool) -> int:
    """The last seq that the child acknowledged before it was killed, -1 if none. `begun`: the seconds count from the
    first one that it acknowledges, so that a busy machine does not matter."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            crawl(folder, seed, writing)
        finally:
            os._exit(1)  # reached only after an error, because the crawl never ends
    os.close(writing)
    if begun:
        select.select([reading], [], [], 30)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL, "the child failed before it was killed"
    with open(reading, "rb") as pipe:
        told = pipe.read()
    return int.from_bytes(told[len(told) // 8 * 8 - 8 : len(told) // 8 * 8], "big") if len(told) >= 8 else -1


class Found(NamedTuple):
    last_seq: int
    urls: int


def look(folder: Path) -> Found:
    """Open the project as a resume does, and check what can be checked without reading the archive."""
    with Store(folder, warc_size=WARC_SIZE) as store:
        found = Found(store.last_seq, store.known)
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        assert db.execute("SELECT count(*), max(seq) FROM visit").fetchone() in ((found[0] + 1, found[0]), (0, None))
        assert db.execute("SELECT count(*) FROM url").fetchone() == (found.urls,)
        lengths = dict(db.execute("SELECT name, length FROM file"))
    on_disk = [folder / "links.bin", *archives(folder)]
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in on_disk}
    assert sizes == {"links.bin": 0} | lengths
    return found


def check_all(folder: Path) -> None:
    """Check that every record, URL and archived response is there once, in order, and as it was given."""
    with Store(folder, warc_size=WARC_SIZE) as store:
        count = store.last_seq + 1
        for seq, stored in enumerate(store.records()):
            given = record(seq)
            assert (stored.seq, stored.links, stored.redirects) == (seq, given.links, tuple(given.redirects))
            assert list(stored.new_urls) == [new.id for new in given.new_urls]
        assert [text for chunk in store.urls() for text in chunk.texts] == [url(id) for id in range(store.known)]
        assert store.known == 1 + 3 * count
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        digests = db.execute("SELECT digest FROM visit WHERE warc IS NOT NULL ORDER BY seq").fetchall()
    expected = [seq for seq in range(count) if (came := answer(seq)) and (came.exchange or isinstance(came, Fetch))]
    found = archived(folder)
    assert [digest for _, digest in found] == [digest for (digest,) in digests]
    assert [target for target, _ in found] == [url(seq) for seq in expected]


def archived(folder: Path) -> list[tuple[str, str]]:
    """Target and payload digest of each response, read and verified by warcio; each has its request and reasons."""
    found: list[tuple[str, str]] = []
    kinds: dict[str, int] = dict.fromkeys(("warcinfo", "response", "request", "metadata"), 0)
    files = archives(folder)
    for path in files:
        with path.open("rb") as file:
            for one in ArchiveIterator(file, check_digests="raise"):
                kinds[one.rec_type] += 1
                one.content_stream().read()
                if one.rec_type == "response":
                    head = one.rec_headers
                    found.append((head["WARC-Target-URI"], head["WARC-Payload-Digest"]))
    assert kinds == {"warcinfo": len(files)} | dict.fromkeys(("response", "request", "metadata"), len(found))
    return found


def test_two_hundred_kills(tmp_path: Path) -> None:
    rng = random.Random(7)
    before = Found(-1, 0)
    fruitful = 0
    for kill in range(KILLS):
        acknowledged = run_and_kill(tmp_path, kill, rng.uniform(0, LONGEST), begun=kill % 4 > 0)
        found = look(tmp_path)
        assert found.last_seq >= max(acknowledged, before.last_seq), f"kill {kill} lost something acknowledged"
        fruitful += found.last_seq > before.last_seq
        if kill % FULL_CHECK == FULL_CHECK - 1:
            check_all(tmp_path)
        before = found
    assert fruitful > KILLS / 3, "most kills came before anything was written: the test shows little"
    assert len(archives(tmp_path)) > 1
