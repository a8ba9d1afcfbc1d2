"""`forager status`: a table for people, and JSON with the same figures."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from forager.cli import app
from forager.cli.status import IN_WORDS, in_words
from forager.store import Catalogue, Store
from forager.store.schema import open_database
from forager.store.status import FORECAST, ForecastNote, read_forecast, read_status
from forager.strategies import STRATEGIES
from forager.types import Reason
from forager.web.urls import site
from tests.crawl.test_forecast import Hopeful
from tests.lab.warc import write_web

WORDS = ("rock", "nest")
LINKS = {0: (1, 2, 3, 90), 1: (4, 5, 91), 2: (6,), 3: (7,)}
CONFIG = """
seeds = ["http://www.a.test/0", "http://b.test/0"]
[critic]
name = "predicate"
options.keywords = ["nest"]
[strategy]
name = "best-first"
[frontier]
delay = 0
[stop]
pages = {pages}
[fetch]
replay = "web"
"""


def run(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sessions: five pages, then the rest."""
    folder = tmp_path_factory.mktemp("status")
    pages = {
        f"http://{host}/{n}": (
            "",
            f"{host} {n} {'nest' if n % 2 else 'rock'}" + "".join(f"<a href='/{k}'>x</a>" for k in links),
        )
        for host in ("www.a.test", "b.test")
        for n, links in ((n, LINKS.get(n, ())) for n in range(8))
    }
    write_web(folder / "web", pages)
    for budget in (5, 100):
        (folder / "forager.toml").write_text(CONFIG.format(pages=budget))
        run("crawl", str(folder))
    return folder


def test_a_person_reads_it(project: Path) -> None:
    told = run("status", str(project))
    assert f"{project}: no crawl runs; forager crawl {project} goes on" in told
    assert re.search(r"pages +16  8 of them relevant \(0.5 or more\)\nharvest +0\.500  critic's estimate\n", told)
    assert re.search(r"requests +20  without", told)
    assert re.search(r"waiting +0  of 20 URLs on 2 hosts\n", told)
    assert re.search(r"forecast +none  the scores of this strategy are no chances\n", told)
    assert re.search(r"requests that brought no page\n  not found \(404 or 410\) +4\n", told)
    assert re.search(r"sites with most pages\n  a.test +8\n  b.test +8\n", told)
    assert re.search(r"on disk\n(  .+ MB\n)+", told)
    assert re.search(r"\n    1  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC +\d:\d\d:\d\d +5 pages  the budget of 5 pages", told)
    assert re.search(r"\n    2  .* +11 pages  nothing is left to fetch\n", told)
    assert not re.search(r"[{}']|Holder|datetime", told.replace("critic's", ""))  # no Python


def test_programs_get_the_same_figures(project: Path) -> None:
    row = json.loads(run("status", str(project), "--json"))
    assert row["pages"] == 16
    assert (row["relevant"], row["requests"]) == (8, 20)
    assert row["outcomes"] == {"page": 16, "miss": 4}
    assert row["reasons"] == {"not-found": 4}
    assert (row["urls"], row["waiting"], row["hosts"], row["harvest"]) == (20, 0, 2, 0.5)
    assert row["sites"] == {"a.test": 8, "b.test": 8}
    assert row["running"] is None
    assert row["topics"] == {}
    assert (row["forecast"], row["corrected_harvest"], row["labels"]) == (None, None, 0)
    assert row["bytes"]
    assert row["disk"]["crawl.sqlite"] > 0
    assert [(each["pages"], each["reason"]) for each in row["sessions"]] == [
        (5, "the budget of 5 pages is used up"),
        (11, "nothing is left to fetch"),
    ]
    assert set(row["sessions"][0]) == {"began", "ended", "version", "reason", "pages", "answers"}


def test_a_strategy_that_gives_chances_has_a_forecast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STRATEGIES, "hopeful", Hopeful)
    links = "".join(f"<a href='/{n}-{'bird' if n < 60 else 'stone'}'>x</a>" for n in range(400))
    names = ["0", *(f"{n}-{'bird' if n < 60 else 'stone'}" for n in range(400))]
    pages = {f"http://b.test/{name}": ("", f"{'nest' if 'bird' in name else 'rock'} {name}") for name in names[1:]}
    write_web(tmp_path / "web", {"http://b.test/0": ("", f"nest {links}"), **pages})
    seeds = CONFIG.replace('"http://www.a.test/0", "http://b.test/0"', '"http://b.test/0"').format(pages=110)
    (tmp_path / "forager.toml").write_text(seeds.replace('"best-first"', '"hopeful"'))
    run("crawl", str(tmp_path))
    told = run("status", str(tmp_path))
    assert re.search(r"\nforecast +\d+  relevant pages in the next 291 fetches \(\d+ to \d+, 80 %\)\n", told)
    found = re.search(
        r"\nfound +(\d+)%  of the relevant pages within reach \(\d+% to \d+%, 80 %\), as of 110 fetches", told
    )
    assert found
    assert int(found[1]) >= 60  # all 61 are
    row = json.loads(run("status", str(tmp_path), "--json"))["forecast"]
    assert (row["made"], row["fetches"], row["found"]) == (110, 291, 61)
    assert row["low"] < row["expected"] < row["high"] < 60
    assert row["share_low"] < row["share"] < row["share_high"]


def test_a_damaged_note_is_no_forecast(project: Path, tmp_path: Path) -> None:
    (tmp_path / FORECAST).write_text("{")
    assert read_forecast(tmp_path) == ForecastNote()
    assert read_forecast(tmp_path / "nowhere") == ForecastNote()


def test_what_waits_is_counted_in_the_middle(project: Path, tmp_path: Path) -> None:
    (tmp_path / "web").symlink_to(project / "web")
    (tmp_path / "forager.toml").write_text(CONFIG.format(pages=1))
    run("crawl", str(tmp_path))
    with Catalogue(tmp_path) as catalogue:
        status = catalogue.status()
    assert (status.urls, status.waiting) == (6, 5)  # two seeds, and four links of the first


def test_a_running_crawl_and_a_killed_one(tmp_path: Path) -> None:
    (tmp_path / "forager.toml").write_text(CONFIG.format(pages=1))
    with Store(tmp_path) as store:
        store.begin_session("{}", "0.2.0")
        told = run("status", str(tmp_path))
        assert re.search(r": a crawl runs: process \d+ since \d{4}-\d\d-\d\d ", told)
        assert re.search(r"\n    1  .* +0 pages  runs\n", told)
    assert re.search(r"\n    1  .*  +\?  +0 pages  was killed\n", run("status", str(tmp_path)))


def test_every_reason_has_words() -> None:
    assert set(IN_WORDS) == set(Reason)
    assert all(words.isprintable() for words in IN_WORDS.values())
    assert in_words("dns") == "the name has no address"
    assert in_words("of a later version") == "of a later version"


HOSTS = st.sampled_from(["a.org", "b.org", "co.uk", "x.co.uk", "y.co.uk", "github.io", "z.github.io"])
NAMES = st.tuples(st.sampled_from(["", "www.", "m.", "1.2."]), HOSTS).map("".join)


@given(st.dictionaries(NAMES, st.integers(1, 5), max_size=25))
@settings(max_examples=30, deadline=None)
def test_the_sites_with_most_pages_are_those_with_most_pages(hosts: dict[str, int]) -> None:
    """Against a plain count of all sites."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("forager.store.status.MOST_SITES", 3)
        counts: Counter[str] = Counter()
        for name, pages in hosts.items():
            counts[site(name)] += pages
        expected = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
        assert list(sites_of(hosts).items()) == expected


def sites_of(hosts: dict[str, int]) -> dict[str, int]:
    with TemporaryDirectory() as folder:
        db = open_database(Path(folder), synchronous="OFF", fresh=True)
        visits = 0
        db.execute("BEGIN")
        for number, (name, pages) in enumerate(hosts.items()):
            db.execute("INSERT INTO host VALUES (?, ?)", (number, name))
            for _ in range(pages):
                db.execute("INSERT INTO url VALUES (?, ?, '', 0)", (visits, number))
                row = (visits, visits, visits, datetime(2026, 1, 1, tzinfo=UTC).isoformat())
                db.execute(
                    "INSERT INTO visit (seq, session, asked, answered, outcome, reason, detail, status, parent, depth,"
                    " relevance, critic, label, asked_at, seconds, title, new_from, new_to, links_at, links_length)"
                    " SELECT ?, 1, ?, ?, 'page', '', '', 200, -1, 0, 1, '', '', ?, 0, '', 0, 0, 0, 0",
                    row,
                )
                visits += 1
        db.execute("COMMIT")
        try:
            return dict(read_status(db, Path(folder)).sites)
        finally:
            db.close()
