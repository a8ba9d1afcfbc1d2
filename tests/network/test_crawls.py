"""The command as a stranger runs it: a real server, real sockets, a real disk, signals, and kills."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from forager.clock import WallClock
from forager.crawl.audit import lost_urls
from forager.errors import ForagerError
from forager.store import Catalogue, RecordedProject
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server.log import read_log
from tests.network.client_log import requests_sent, too_early
from tests.network.serving import ROOT, served

HOSTS = 6
NUMBERS = {"hosts": HOSTS, "pages_per_host": 22, "traps": 0.0, "slow_hosts": 0.0, "seed": 3}
DELAY, IN_FLIGHT = 0.05, 8
COMMAND = [sys.executable, "-m", "forager"]


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """Port and request log of a web small enough to be crawled to its end."""
    log = tmp_path / "requests.log"
    with served(log, slowness=0.02, **NUMBERS) as port:
        yield port, log


def project(folder: Path, port: int, **more: object) -> Path:
    """A project that crawls the whole web, breadth-first."""
    homes = list(ProceduralWeb(WebPlan(**NUMBERS)).homes())  # type: ignore[arg-type]
    settings: dict[str, object] = {"pages": 10_000, "delay": DELAY, "robots": "true", **more}
    folder.mkdir()
    (folder / "forager.toml").write_text(
        f"seeds = {json.dumps(homes)}\n"
        '[critic]\nname = "predicate"\noptions.keywords = ["species", "planet"]\n'
        '[strategy]\nname = "breadth-first"\n'
        f"[frontier]\ndelay = {settings['delay']}\nin_flight = {IN_FLIGHT}\n"
        f"retries = {settings.get('retries', 0)}\n"
        f"patience = {settings.get('patience', 60.0)}\n"
        f"[stop]\npages = {settings['pages']}\n"
        f'[fetch]\ncontact = "me@example.org"\nrobots = {settings["robots"]}\nlongest_delay = {DELAY}\n'
        f'resolve = {{ "*.web.test" = "127.0.0.1:{port}" }}\n'
    )
    return folder


def start(folder: Path, log: Path | None = None, **more: object) -> subprocess.Popen[str]:
    """`log`: where the crawl notes what it sends."""
    command = [*COMMAND, "crawl", str(folder)]
    if log is not None:
        command = [sys.executable, "-m", "tests.network.client_log", str(log), "crawl", str(folder)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, **more)  # type: ignore[call-overload,no-any-return]


def finish(crawl: subprocess.Popen[str], timeout: float = 60) -> tuple[int, str]:
    _, said = crawl.communicate(timeout=timeout)
    return crawl.returncode, said


def pages_of(folder: Path) -> list[str]:
    with Catalogue(folder) as catalogue:
        return [entry.url for entry in catalogue.pages()]


def lost(folder: Path) -> list[str]:
    """The URLs that are neither waiting nor answered."""
    with RecordedProject(folder) as recorded:
        return [str(url) for url in lost_urls(recorded, WallClock())]


def wait_for_pages(folder: Path, count: int) -> None:
    for _ in range(6000):  # minutes, on a busy machine
        if (folder / "crawl.sqlite").exists():
            try:
                if len(pages_of(folder)) >= count:
                    return
            except (ForagerError, sqlite3.Error):  # it is being made
                pass
        time.sleep(0.02)
    raise AssertionError(f"no {count} pages in time")


def archived(folder: Path) -> Counter[str]:
    """The URL of each response with a page, as warcio reads them."""
    found: Counter[str] = Counter()
    for file in sorted((folder / "warc").glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                if record.rec_type != "response":
                    continue
                whole = (
                    record.rec_headers.get_header("WARC-Truncated") is None
                )  # of a refused type only the head is kept
                page = (record.http_headers.get_header("Content-Type") or "").startswith("text/html")
                if whole and page and record.http_headers.get_statuscode() == "200":
                    found[record.rec_headers.get_header("WARC-Target-URI")] += 1
                    record.content_stream().read()
    return found


def test_a_crawl_to_the_end_is_polite_and_its_archive_agrees_with_the_catalogue(
    web: tuple[int, Path], tmp_path: Path
) -> None:
    port, _ = web
    folder, log = project(tmp_path / "p", port), tmp_path / "sent.log"
    code, said = finish(start(folder, log))
    assert code == 0, said
    assert "nothing is left to fetch" in said
    pages = pages_of(folder)
    labelled = {url for url, _ in ProceduralWeb(WebPlan(**NUMBERS)).labels()}  # type: ignore[arg-type]
    assert len(pages) == len(set(pages)) > 0.8 * len(labelled)
    assert too_early(log, DELAY) == []
    assert too_early(log, 3 * DELAY)  # which would be impolite, and would be seen
    assert archived(folder) == Counter(pages)
    with (folder / "warc" / "forager-00001.warc.gz").open("rb") as stream:
        kinds = Counter(record.headers["WARC-Type"] for record in FastIterator(stream, parse_http=False))
    with Catalogue(folder) as catalogue:
        answered = sum(1 for entry in catalogue.pages())
        digests = {entry.digest for entry in catalogue.pages()}
    assert kinds["response"] >= answered
    assert kinds["request"] == kinds["response"]
    assert None not in digests


def test_killed_twenty_times_it_ends_with_the_same_pages_and_asks_for_none_again(
    web: tuple[int, Path], tmp_path: Path
) -> None:
    port, log = web
    chance = random.Random(5)
    before = tmp_path / "sent-before.log"
    assert finish(start(project(tmp_path / "whole", port), before))[0] == 0
    whole = pages_of(tmp_path / "whole")
    time.sleep(0.6)  # the server writes its log every half second
    first = len(read_log(log))
    folder, sent = project(tmp_path / "killed", port), tmp_path / "sent.log"
    acknowledged: list[tuple[float, set[str]]] = []
    for kill in range(20):
        crawl = start(folder, sent)
        wait_for_pages(folder, min(kill * len(whole) // 22 + 1, len(whole) - 1))
        time.sleep(chance.random() * 0.15)
        crawl.kill()
        crawl.communicate()
        acknowledged.append((time.monotonic(), set(pages_of(folder))))
        assert lost(folder) == []
    code, said = finish(start(folder, sent))
    assert code == 0, said
    assert sorted(pages_of(folder)) == sorted(whole)
    assert archived(folder) == Counter(whole)
    assert run("verify", str(folder)).returncode == 0
    time.sleep(0.6)  # the server writes its log every half second
    seen = read_log(log)[first:]
    requests = [(each.arrived, f"http://{each.host}{each.target}") for each in seen if each.target != "/robots.txt"]
    for when, urls in acknowledged:
        assert not [url for arrived, url in requests if arrived > when and url in urls]
    repeated = sum(count - 1 for count in Counter(url for _, url in requests).values())
    unacknowledged = HOSTS * 0.2 / DELAY  # what can be taken in between two commits
    print(f"{repeated} requests repeated after 20 kills")
    assert repeated <= 20 * (HOSTS + unacknowledged)
    arrived = Counter((each.host, each.target) for each in read_log(log))
    assert not arrived - requests_sent(before) - requests_sent(sent)  # the client's log has all that arrived
    assert too_early(sent, DELAY) == []


def test_ctrl_c_finishes_what_is_in_flight_and_a_second_crawl_goes_on(web: tuple[int, Path], tmp_path: Path) -> None:
    folder = project(tmp_path / "p", web[0])
    crawl = start(folder)
    wait_for_pages(folder, 10)
    crawl.send_signal(signal.SIGINT)
    code, said = finish(crawl)
    assert code == 0, said
    assert "waiting for the running requests" in said
    with Catalogue(folder) as catalogue:
        assert [session.reason for session in catalogue.status().sessions] == ["interrupted"]
    some = len(pages_of(folder))
    code, said = finish(start(folder))
    assert (code, "nothing is left to fetch" in said) == (0, True)
    assert len(pages_of(folder)) > some


def test_a_second_ctrl_c_stops_at_once(web: tuple[int, Path], tmp_path: Path) -> None:
    folder = project(tmp_path / "p", web[0], delay=2.0)
    crawl = start(folder)
    wait_for_pages(folder, 3)
    crawl.send_signal(signal.SIGINT)
    time.sleep(0.2)
    crawl.send_signal(signal.SIGINT)
    code, said = finish(crawl, timeout=10)
    assert code in (0, 130, -signal.SIGINT), said  # as a shell sees it, the last is 130 too
    assert "Traceback" not in said


def test_ctrl_c_while_every_host_rests_does_not_wait_for_them(web: tuple[int, Path], tmp_path: Path) -> None:
    folder = project(tmp_path / "p", web[0], delay=300.0, patience=600.0, robots="false")
    crawl = start(folder)
    wait_for_pages(folder, HOSTS)  # committed although nothing else happens
    crawl.send_signal(signal.SIGINT)
    assert finish(crawl, timeout=20)[0] == 0


def test_changed_settings_are_listed_and_a_budget_of_pages_is_exact(web: tuple[int, Path], tmp_path: Path) -> None:
    folder = project(tmp_path / "p", web[0], pages=7)
    assert finish(start(folder))[0] == 0
    assert len(pages_of(folder)) == 7
    text = (folder / "forager.toml").read_text().replace("pages = 7", "pages = 12")
    (folder / "forager.toml").write_text(text)
    code, said = finish(start(folder))
    assert code == 0
    assert "changed since the last time: stop.pages: 7 -> 12" in said
    assert len(pages_of(folder)) == 12


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("forager: ")]
    return line


def run(*words: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT, **more)  # type: ignore[call-overload,no-any-return]


def test_wrong_projects_are_refused_in_one_line(web: tuple[int, Path], tmp_path: Path) -> None:
    assert "is no project" in one_line(run("crawl", str(tmp_path)))
    assert "no seeds" in one_line(run("new", str(tmp_path / "n"), "--keywords", "owl"))
    missing = ["--seeds", str(tmp_path / "none.txt"), "--contact", "me@example.org"]
    assert "cannot be read" in one_line(run("new", str(tmp_path / "n"), "--keywords", "owl", *missing))
    seeded = ["--seed", "http://a.web.test/"]
    assert run("new", str(tmp_path / "n"), "--keywords", "owl", *seeded).returncode == 0
    assert "contact" in one_line(run("crawl", str(tmp_path / "n")))
    assert "already" in one_line(run("new", str(tmp_path / "n"), "--keywords", "owl", *seeded))
    folder = project(tmp_path / "p", web[0], pages=3)
    assert finish(start(folder))[0] == 0
    with sqlite3.connect(folder / "crawl.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    assert "newer" in one_line(run("crawl", str(folder)))


def test_two_crawls_of_one_project_at_once(web: tuple[int, Path], tmp_path: Path) -> None:
    folder = project(tmp_path / "p", web[0], delay=0.5)
    crawl = start(folder)
    wait_for_pages(folder, 1)
    line = one_line(run("crawl", str(folder)))
    assert str(crawl.pid) in line
    crawl.send_signal(signal.SIGINT)
    assert finish(crawl)[0] == 0


def test_a_full_disk_stops_cleanly_and_loses_nothing_acknowledged(web: tuple[int, Path], tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    import resource

    folder = project(tmp_path / "p", web[0])

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))

    line = one_line(run("crawl", str(folder), preexec_fn=small_disk))
    assert "takes no more" in line
    kept = pages_of(folder)
    assert finish(start(folder))[0] == 0
    assert set(kept) <= set(pages_of(folder))
    assert archived(folder) == Counter(pages_of(folder))


def test_the_collection_can_be_asked(web: tuple[int, Path], tmp_path: Path) -> None:
    folder = project(tmp_path / "p", web[0], pages=40)
    assert finish(start(folder))[0] == 0
    status = json.loads(run("status", str(folder), "--json").stdout)
    assert status["pages"] == 40
    listed = [json.loads(line) for line in run("pages", str(folder), "--limit", "100", "--json").stdout.splitlines()]
    assert len(listed) == 40
    deepest = max(listed, key=lambda page: int(page["depth"]))
    way = json.loads(run("why", str(folder), deepest["url"], "--json").stdout)["way"]
    assert [step["depth"] for step in way] == list(range(deepest["depth"] + 1))
    assert way[0]["score"] is None  # a seed
    word = next(word for page in listed for word in page["title"].split() if word.isalpha() and len(word) > 3)
    found = [json.loads(line) for line in run("search", str(folder), word, "--json").stdout.splitlines()]
    assert found
    assert "double quotes" in one_line(run("search", str(folder), 'a"b'))
    target = tmp_path / "out.jsonl"
    assert run("export", str(folder), str(target)).stdout.startswith("40 pages")
    assert len(target.read_text().splitlines()) == 40
    assert os.path.getsize(target) > 10_000
    assert run("seeds", "add", str(folder), "http://b.web.test/").stdout == "1 seeds added\n"
    assert run("seeds", "list", str(folder)).stdout.splitlines()[-1] == "http://b.web.test/"
