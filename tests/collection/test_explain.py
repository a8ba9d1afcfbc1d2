"""Why a link was fetched or not: its story through a real small project, against what a resumed crawl would do."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from forager.cli import app
from forager.clock import WallClock
from forager.collection.explain import LinkStory
from forager.crawl.build import rules_of, strategy_of
from forager.crawl.resume import resume
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Catalogue, Store
from forager.types import Failure, Reason, Redirect, Url
from tests.small_web import SmallWeb, html, url

BIRDS = "bird feather nest egg and song of every bird in the wood, told at some length"
STONES = "stone granite slate lava and ore of every quarry in the hills, told at some length"
TOML = """
seeds = ["http://b.test/busy", "http://a.test/"]
topic.keywords = ["bird", "nest"]
strategy.name = "default"
strategy.options.every = 1000  # sweeps come sooner or later, and the order of the crawl with them
frontier.delay = 0
frontier.in_flight = 1
scope.feeds = false
stop.pages = 20
"""
APPRENTICE, BREADTH_FIRST = (
    TOML.replace('"default"', f'"{name}"').replace("strategy.options", "# strategy.options")
    for name in ("apprentice", "breadth-first")
)
HOME = url("/")


def numbered(kind: str, count: int) -> list[str]:
    return [f"/{kind}-{number}" for number in range(count)]


def pages() -> dict[Url, str | Redirect | Failure]:
    """Birds link to birds and to stones, and the other way round. Some links fail, each in its own way."""
    birds, stones = numbered("bird", 12), numbered("stone", 12)
    made: dict[Url, str | Redirect | Failure] = {
        HOME: html(
            BIRDS, "/bird-0", "/stone-0", "/old", "/gone", "/private", "/copy", "http://b.test/behind", "/bird-1"
        )
    }
    for number in range(12):
        birds_next, stones_next = birds[number + 1 : number + 4], stones[number + 1 : number + 4]
        made[url(birds[number])] = html(f"{BIRDS} bird {number}", *birds_next, *stones_next[:1], birds[number - 1])
        made[url(stones[number])] = html(f"{STONES} stone {number}", *stones_next, *birds_next[:1])
    made[url("/old")] = Redirect(url("/old"), url("/bird-0"))
    made[url("/private")] = Failure(url("/private"), Reason.ROBOTS)
    made[url("/copy")] = made[url("/bird-0")]
    made[url("b.test/busy")] = Failure(url("b.test/busy"), Reason.BUSY, "status 503", 4000.0, status=503)
    return made


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project.create(tmp_path_factory.mktemp("why") / "project", TOML)
    stats = asyncio.run(project.crawl(fetcher=SmallWeb(pages())))
    assert stats.stopped == "the budget of 20 pages is used up"
    return project.folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that has asked for everything but what rests."""
    toml = TOML.replace("stop.pages = 20", "stop.pages = 100\nfrontier.patience = 0")
    project = Project.create(tmp_path_factory.mktemp("whole") / "project", toml)
    asyncio.run(project.crawl(fetcher=SmallWeb(pages())))
    return project.folder


def story(folder: Path, place: str) -> LinkStory:
    return asyncio.run(Project(folder).explain(place))


def waiting(folder: Path) -> tuple[list[str], np.ndarray[Any, Any]]:
    """What a resumed crawl would ask for, best first, after scoring it once more."""
    project = Project(folder)
    trained = asyncio.run(project.train_critic())
    strategy = strategy_of(project.config, trained.critic, trained.query)
    with Store(folder, clock=WallClock(), rules=rules_of(project.config)) as store:
        crawl = resume(project.config, store, critic=trained.critic, strategy=strategy, clock=WallClock())
        crawl.step.sweep()
        frontier, names = crawl.frontier, crawl.state.facts.addresses
        ids = frontier.waiting
        scores = frontier.scores(ids)
        order = np.lexsort((ids, -scores))
        return [names[int(id)] for id in ids[order]], scores[order]


# ---- what waits


def test_a_link_that_waits_has_the_score_and_the_rank_of_a_resumed_crawl(crawled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    shutil.copytree(crawled, folder)
    names, scores = waiting(folder)
    assert len(names) >= 5
    for rank in (0, len(names) // 2, len(names) - 1):
        told = story(crawled, names[rank])
        assert told.fate == "waiting"
        assert told.place is not None
        assert (told.place.ahead, told.place.waiting) == (rank, len(names))
        assert told.score == pytest.approx(float(scores[rank]), abs=1e-4)
        assert told.place.best == pytest.approx(float(scores[0]), abs=1e-4)
        assert told.place.stopped == "the budget of 20 pages is used up"


def test_what_is_told_adds_up_to_the_score_over_all_pages_with_the_link(crawled: Path, tmp_path: Path) -> None:
    shutil.copytree(crawled, tmp_path / "p")
    names, _ = waiting(tmp_path / "p")
    stories = [story(crawled, name) for name in names]
    firsts = first_scores(tmp_path / "p")
    assert max(told.links_told for told in stories) > 1
    for told in stories:
        if told.score == np.inf:
            continue
        assert told.adds_up
        assert told.signals[0][0] == "a usual link"
        assert sum(weight for _, weight in told.signals) == pytest.approx(told.score, abs=1e-4)
        assert told.links_told == len(told.found_on)
        assert told.first_score == pytest.approx(firsts[told.url], abs=1e-6)


def first_scores(folder: Path) -> dict[str, float]:
    with Store(folder, clock=WallClock()) as store:
        return {
            text: float(score) for part in store.urls() for text, score in zip(part.texts, part.scores, strict=True)
        }


def test_of_links_with_the_same_score_the_one_found_earlier_comes_first(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "p", BREADTH_FIRST)
    asyncio.run(project.crawl(fetcher=SmallWeb(pages())))
    names, scores = waiting(project.folder)
    assert scores[1] == scores[-1]
    told = [story(project.folder, name).place for name in names]
    assert [place and place.ahead for place in told] == list(range(len(names)))


def test_a_host_that_rests_is_told(crawled: Path) -> None:
    for place in ("http://b.test/behind", "http://b.test/busy"):
        told = story(crawled, place)
        assert told.fate == "waiting"
        assert told.place is not None
        assert 3000 < told.place.rests <= 4000
    assert re.search(r"its host rests for another 1:0\d:\d\d", run("why", str(crawled), "http://b.test/behind"))
    other = story(crawled, waiting_name(crawled)).place
    assert other is not None
    assert other.rests == 0


# ---- what was asked for


def test_a_page_is_told_as_it_was_known_when_it_was_taken(crawled: Path) -> None:
    with Catalogue(crawled) as catalogue:
        entries = list(catalogue.pages())
    found_later = False
    for entry in (entry for entry in entries if entry.parent):
        linked = [page for page in entries if f'href="{entry.url[13:]}"' in str(pages()[Url(page.url)])]
        earlier = {page.url for page in linked if page.seq < entry.seq}
        found_later = found_later or len(earlier) < len(linked)
        told = story(crawled, entry.url)
        assert (told.fate, told.relevance, told.place) == ("page", entry.relevance, None)
        assert told.score == entry.score
        assert told.expected == pytest.approx(1 / (1 + np.exp(-entry.score)))
        if entry.url != url("/bird-0"):  # to which a redirect led
            assert set(told.found_on) == earlier
            assert told.links_told == min(8, len(earlier))
        assert told.score_now == pytest.approx(sum(weight for _, weight in told.signals))
    assert found_later


def test_a_seed_needs_no_score(crawled: Path) -> None:
    told = story(crawled, HOME)
    assert (told.fate, told.score, told.signals) == ("page", np.inf, ())
    assert "it is a seed" in run("why", str(crawled), HOME)


def test_misses_copies_and_redirects_say_what_was_wrong(whole: Path) -> None:
    assert (story(whole, url("/gone")).fate, story(whole, url("/gone")).reason) == ("miss", "not-found")
    assert "is not asked for: robots.txt does not let us" in run("why", str(whole), url("/private"))
    moved = story(whole, url("/old"))
    assert (moved.fate, moved.leads_to) == ("page", url("/bird-0"))
    assert f"it leads to {url('/bird-0')}" in run("why", str(whole), url("/old"))
    copy = story(whole, url("/copy"))
    assert (copy.fate, copy.reason) == ("miss", "duplicate")
    assert url("/bird-0") in copy.detail


# ---- what is not followed


def test_a_scope_that_was_narrowed_and_a_budget_that_is_used_up_are_told(crawled: Path, tmp_path: Path) -> None:
    shutil.copytree(crawled, tmp_path / "p")
    name = waiting(tmp_path / "p")[0][-2]
    toml = tmp_path / "p" / "forager.toml"
    toml.write_text(f"{TOML}\nscope.exclude = ['{name[13:]}$']\n")
    told = story(tmp_path / "p", name)
    assert (told.fate, told.reason, told.place) == ("refused", "exclude", None)
    assert "the scope does not let it through (exclude)" in run("why", str(tmp_path / "p"), name)
    other, before = story(tmp_path / "p", "http://b.test/behind").place, story(crawled, "http://b.test/behind").place
    assert other is not None
    assert before is not None
    assert other.waiting == before.waiting - 1
    toml.write_text(f"{TOML}\nfrontier.pages_per_host = 5\n")
    assert story(tmp_path / "p", name).reason == "budget"
    assert "pages_per_host" in run("why", str(tmp_path / "p"), name)


def test_a_url_that_was_never_found_gets_one_line_with_the_nearest(crawled: Path, tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match=r"never found by this crawl; nearest: .*http://a\.test/bird-1\b"):
        story(crawled, url("/brid-1"))
    with pytest.raises(ForagerError, match=r"never found by this crawl, .*trap"):
        story(crawled, url("/x/x/x/x/x/x/x"))
    shutil.copytree(crawled, tmp_path / "p")
    (tmp_path / "p" / "forager.toml").write_text(f'{TOML}\nscope.within = "host"\n')
    with pytest.raises(ForagerError, match=r"the scope forbids it \(host"):
        story(tmp_path / "p", "http://elsewhere.test/")


# ---- other strategies


def test_after_another_strategy_was_chosen_nothing_is_told_of_the_score(crawled: Path, tmp_path: Path) -> None:
    shutil.copytree(crawled, tmp_path / "p")
    toml = tmp_path / "p" / "forager.toml"
    toml.write_text(APPRENTICE)
    name = waiting_name(crawled)
    assert story(tmp_path / "p", name).signals == ()


def test_a_strategy_without_rows_is_asked_about_the_page(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "p", APPRENTICE)
    asyncio.run(project.crawl(fetcher=SmallWeb(pages())))
    told = story(project.folder, waiting_name(project.folder))
    assert told.signals
    assert (told.links_told, told.adds_up) == (0, False)
    assert "what makes its score, by the page whose link was followed" in run("why", str(project.folder), told.url)


def waiting_name(folder: Path) -> str:
    with Catalogue(folder) as catalogue:
        return next(place for place in map(url, numbered("stone", 12)[::-1]) if waits(catalogue, place))


def waits(catalogue: Catalogue, place: str) -> bool:
    return catalogue.knows(place) and catalogue.why(place)[-1].outcome == "waiting"


def test_pages_after_the_last_checkpoint_are_told(crawled: Path, tmp_path: Path) -> None:
    shutil.copytree(crawled, tmp_path / "p", ignore=shutil.ignore_patterns("*.npz"))
    told = story(tmp_path / "p", waiting_name(crawled))
    assert told.behind == 20
    assert "what the strategy knew 20 pages ago" in run("why", str(tmp_path / "p"), told.url)
    assert story(crawled, told.url).behind == 0


# ---- the command


def run(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None:
        raise done.exception
    return done.output


def test_the_lines_add_up_to_the_score_as_they_are_shown(crawled: Path) -> None:
    name = waiting_name(crawled)
    shown = run("why", "not", str(crawled), name)
    *lines, (total, _) = re.findall(r"^ {2,}([+-]\d+\.\d\d)  (.*)$", shown, re.MULTILINE)
    assert len(lines) > 1
    assert sum(float(weight) for weight, _ in lines) == pytest.approx(float(total), abs=1e-6)
    assert f"{float(total):.2f} now" in shown
    assert "waits: it was found, but not fetched yet" in shown
    assert "what holds its score down" in shown


def test_not_may_be_typed_anywhere_and_the_project_left_out(crawled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = waiting_name(crawled)
    usual = run("why", str(crawled), name)
    assert run("why", "not", str(crawled), name) == run("why", str(crawled), "not", name) == usual
    with pytest.raises(ForagerError, match="too many"):
        run("why", str(crawled), name, "again", name)
    monkeypatch.chdir(crawled.parent)
    with pytest.raises(ForagerError, match="no project"):
        run("why", "not", name)
    monkeypatch.chdir(crawled)
    assert run("why", name) == run("why", "not", name) == usual


def test_a_project_may_be_named_not(crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(crawled, tmp_path / "not")
    monkeypatch.chdir(tmp_path)
    assert "was fetched" in run("why", "not", HOME)
    assert "was fetched" in run("why", "not", "not", HOME)


def test_programs_get_one_object(crawled: Path) -> None:
    name = waiting_name(crawled)
    row, told = json.loads(run("why", str(crawled), name, "--json")), story(crawled, name)
    assert (row["fate"], row["url"], row["relevance"]) == ("waiting", name, None)
    assert row["place"]["ahead"] == told.place.ahead if told.place else False
    assert [(line["words"], line["weight"]) for line in row["signals"]] == list(told.signals)
    assert row["way"][0] == {**row["way"][0], "url": HOME, "score": None}
