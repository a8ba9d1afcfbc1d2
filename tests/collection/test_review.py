"""People judge a collection: the same sample for all, nothing lost, figures worked out on paper."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from forager.cli.judge import judge
from forager.collection.review import Precision, Proportion, Z, cohen, draw, sample
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Catalogue, Entry
from forager.store.verdicts import FILE, read_labels, read_reviews
from tests.lab.warc import write_web

BIRDS, ROCKS = 12, 8
LONG = " ".join(f"egg{i}" for i in range(600))
PAGES = {
    f"http://a.test/{i}": (
        "",
        f"<title>Page {i} \x1b[31mred</title><p>{'feather' if i < BIRDS else 'granite'} {LONG if i == 0 else i}</p>"
        + "".join(f"<a href='/{(i * k + 1) % (BIRDS + ROCKS)}'>x</a>" for k in (1, 2, 3)),
    )
    for i in range(BIRDS + ROCKS)
}
TOML = '[critic]\nname = "predicate"\noptions.keywords = ["feather"]\n[fetch]\nreplay = "{}"\n'


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of 12 pages that the critic keeps and 8 that it does not."""
    folder = tmp_path_factory.mktemp("judging")
    web = write_web(folder / "web", PAGES)
    project = Project.create(folder / "project", TOML.format(web), ["http://a.test/0"])
    asyncio.run(project.crawl())
    return project.folder


@pytest.fixture
def folder(crawled: Path, tmp_path: Path) -> Path:
    return Path(copytree(crawled, tmp_path / "project"))


def run(folder: Path, answers: str = "", *words: str) -> Result:
    """The command with these answers, a line each."""
    app = typer.Typer()
    app.command()(judge)
    lines = "".join(f"{answer}\n" for answer in answers)
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, [str(folder), *words], input=lines, catch_exceptions=False)


def shown(result: Result) -> list[str]:
    """The URLs in the order they were shown."""
    return [line.split()[3] for line in result.stderr.splitlines() if " of " in line and "http" in line.split()[3]]


# ---- the sample


def entries(crawled: Path) -> list[Entry]:
    with Catalogue(crawled) as catalogue:
        return list(catalogue.pages())


def test_the_sample_depends_on_seed_and_urls_alone(crawled: Path) -> None:
    pages = entries(crawled)
    drawn = [page.url for page in draw(pages, 7, 3)]
    assert [page.url for page in draw(reversed(pages), 7, 3)] == drawn
    assert len(set(drawn)) == 7
    assert [page.url for page in draw(pages, 20, 3)][:7] == drawn  # a larger one begins with the smaller one
    assert [page.url for page in draw(pages, 7, 4)] != drawn
    assert len(draw(pages, 1000, 3)) == BIRDS + ROCKS


def test_every_page_has_the_same_chance(crawled: Path) -> None:
    pages, seeds = entries(crawled), 2000
    count = Counter(page.url for seed in range(seeds) for page in draw(pages, 5, seed))
    expected = seeds * 5 / len(pages)
    # chi² of 19 degrees of freedom is above 43.8 once in a thousand seeds; the seeds are fixed
    assert sum((count[page.url] - expected) ** 2 / expected for page in pages) < 43.8


def test_only_what_the_critic_keeps_unless_all_is_wanted(crawled: Path) -> None:
    with Catalogue(crawled) as catalogue:
        assert len(sample(catalogue, 100)) == BIRDS
        assert len(sample(catalogue, 100, everything=True)) == BIRDS + ROCKS


# ---- figures, on paper


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"), [(8, 10, 0.4902, 0.9433), (0, 10, 0, 0.2775), (10, 10, 0.7225, 1), (1, 1, 0.2065, 1)]
)
def test_wilson(hits: int, of: int, low: float, high: float) -> None:
    assert Proportion(hits, of).interval == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("of", [1, 2, 3, 10, 45, 200, 1000])
def test_wilson_is_the_formula(of: int) -> None:
    for hits in range(of + 1):
        p, found = hits / of, Proportion(hits, of).interval
        half = Z * sqrt(p * (1 - p) / of + Z**2 / (4 * of**2))
        low, high = ((p + Z**2 / (2 * of) + side * half) / (1 + Z**2 / of) for side in (-1, 1))
        assert found == pytest.approx((low, high), abs=1e-8)
    assert (Proportion(0, of).interval or (1,))[0] == 0.0  # without rounding at the ends
    assert (Proportion(of, of).interval or (0,))[-1] == 1.0


@given(st.integers(1, 500), st.data())
def test_wilson_encloses_the_share(of: int, data: st.DataObject) -> None:
    share = Proportion(data.draw(st.integers(0, of)), of)
    assert share.interval
    assert share.value is not None
    assert 0 <= share.interval[0] <= share.value <= share.interval[1] <= 1


def test_nothing_judged_has_no_share() -> None:
    assert (Proportion(0, 0).value, Proportion(0, 0).interval) == (None, None)


def test_unsure_is_counted_apart() -> None:
    found = Precision.of(["relevant"] * 6 + ["irrelevant"] * 2 + ["unsure"] * 2)
    assert [share.value for share in (found.sure, found.least, found.most)] == [0.75, 0.6, 0.8]


def test_kappa_on_paper() -> None:
    """po .7, pe .5·.6 + .5·.4 = .5, kappa .4; A = .4·.34² + .3·.46² = .10972, B = .36 (.1·1.1² + .2·.9²) = .10188,
    C = (.4 - .5·.6)² = .01; error = √(.2016/50)/.5 = .126996."""
    kappa, error = cohen(np.array([[20.0, 5], [10, 15]]))
    assert kappa == pytest.approx(0.4)
    assert error == pytest.approx(0.126996, abs=1e-6)


def test_the_error_of_kappa_is_that_of_resampling() -> None:
    """Over tables drawn anew from the same shares, kappa spreads as much as the formula says."""
    table, chance = np.array([[40.0, 8, 3], [6, 30, 5], [2, 1, 25]]), np.random.default_rng(1)
    _, error = cohen(table)
    drawn = chance.multinomial(int(table.sum()), (table / table.sum()).ravel(), 4000).reshape(-1, 3, 3)
    spread = np.std([cohen(each.astype(float))[0] or 0 for each in drawn])
    assert error == pytest.approx(spread, rel=0.06)


def test_kappa_at_the_ends() -> None:
    assert cohen(np.diag([5.0, 5, 0])) == (1, 0)
    assert cohen(np.diag([9.0, 0, 0]))[0] is None
    assert cohen(np.zeros((3, 3)))[0] is None
    assert cohen(np.array([[0.0, 5], [5, 0]]))[0] == -1


# ---- old verdict files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("url\tverdict\ttime\tcritic\nhttp://a.test/\tperhaps\t2024-05-06\tx\n", "line 2 is no verdict"),
        ("url\tverdict\ttime\tcritic\n\nhttp://a.test/\tnot\n", "line 3 is no verdict"),
        ("url,verdict,time,critic\n", "line 1: the head"),
    ],
)
def test_an_unreadable_line_is_told_with_its_number(folder: Path, text: str, message: str) -> None:
    (folder / "judgements").mkdir()
    (folder / "judgements" / "ann.tsv").write_text(text)
    for words in (["--judge", "ann"], ["--report"]):
        with pytest.raises(ForagerError, match=message):
            run(folder, "r", *words)


# ---- the command


def test_a_sitting(folder: Path) -> None:
    result = run(folder, "rrxnu", "--sample", "4", "--judge", "ann")
    assert result.exit_code == 0
    assert "1 of 4  http://a.test/" in result.stderr
    assert "no key 'x'" in result.stderr
    assert len(set(shown(result))) == 4
    assert "ann: 4 of 4 pages judged" in result.stdout
    assert "precision of what the critic keeps: 2 of 3 = 0.667 (95 % interval 0.208 to 0.939)" in result.stdout
    assert "1 unsure; as no 2 of 4 = 0.500" in result.stdout
    assert "relevance" not in result.stderr
    assert "\x1b" not in result.stderr
    given = read_reviews(folder)["ann"]
    assert [given[url].verdict for url in shown(result)] == ["relevant", "relevant", "irrelevant", "unsure"]
    assert read_labels(folder) == {}  # the critic learns nothing from it
    assert {one.critic for one in given.values()} == {page.critic for page in entries(folder)}


def test_a_sitting_goes_on_where_it_was(folder: Path) -> None:
    whole = shown(run(folder, "r" * 6, "--sample", "6", "--judge", "whole"))
    first = run(folder, "rnq", "--sample", "6", "--judge", "ann")
    killed = run(folder, "r", "--sample", "6", "--judge", "ann")  # the input ends
    last = run(folder, "rrr", "--sample", "6", "--judge", "ann")
    assert "2 of 6 pages judged" in first.stdout
    assert [*shown(first)[:2], *shown(killed)[:1], *shown(last)] == whole
    assert "3 of 6 are judged already" in last.stderr
    assert "5 of 6 = 0.833" in last.stdout
    again = run(folder, "", "--sample", "6", "--judge", "ann")
    assert shown(again) == []
    assert again.stdout == last.stdout


def test_back_corrects_the_verdict_before(folder: Path) -> None:
    result = run(folder, "rbnr", "--sample", "2", "--judge", "ann")
    first, second = shown(result)[0], shown(result)[1]
    assert shown(result) == [first, second, first, second]
    assert "(was: relevant)" in result.stderr
    given = read_reviews(folder)["ann"]
    assert (given[first].verdict, given[second].verdict) == ("irrelevant", "relevant")


def test_a_sitting_goes_on_with_the_file_of_an_earlier_version(folder: Path) -> None:
    pages = shown(run(folder, "q", "--sample", "3", "--judge", "whole"))
    everything = shown(run(folder, "rrr", "--sample", "3", "--judge", "other"))
    old = folder / "judgements" / "ann.tsv"
    old.parent.mkdir()
    old.write_text(f"url\tverdict\ttime\tcritic\n{pages[0]}\tnot\t2024-05-06T07:08:09+00:00\tx\n")
    result = run(folder, "nr", "--sample", "3", "--judge", "ann")
    assert "1 of 3 are judged already" in result.stderr
    assert shown(result) == everything[1:]
    assert "1 of 3 = 0.333" in result.stdout
    assert old.read_text().count("\n") == 2
    back = run(folder, "bq", "--sample", "4", "--judge", "ann")
    assert "(was: relevant)" in back.stderr
    assert f"{FILE}" in back.stderr


def test_long_texts_are_cut_and_more_is_shown_on_demand(folder: Path) -> None:
    result = run(folder, "r" * BIRDS, "--judge", "ann")
    assert f"there are only {BIRDS} such pages" in result.stderr
    assert "egg9 " in result.stderr
    assert "egg599" not in result.stderr
    place = shown(result).index("http://a.test/0")
    more = run(folder, "r" * place + "mmmmq", "--judge", "bob")
    assert "egg599" in more.stderr
    assert "(that was all)" in more.stderr
    assert all(len(line) <= 84 for line in more.stderr.splitlines() if "egg" in line)


def test_two_judges(folder: Path) -> None:
    """Ann says r r r n n, Bob r r n n u: they agree on 3 of 5, by chance on .6·.4 + .4·.4 = .4, kappa (.6-.4)/.6."""
    pages = shown(run(folder, "rrrnn", "--sample", "5", "--judge", "ann"))
    both = run(folder, "rrnnu", "--sample", "5", "--judge", "bob")
    assert list(read_reviews(folder)) == ["ann", "bob"]
    assert "ann and bob: agree on 3 of 5 = 0.600" in both.stdout
    assert "Cohen's kappa 0.333" in both.stdout
    assert f"relevant not      {pages[2]}" in both.stdout
    assert f"not      unsure   {pages[4]}" in both.stdout
    rows = [json.loads(line) for line in run(folder, "", "--sample", "5", "--report", "--json").stdout.splitlines()]
    ann, bob, together = rows
    assert (ann["judge"], ann["kept"]["sure"]["value"], ann["elsewhere"]) == ("ann", 0.6, 0)
    assert (bob["kept"]["unsure"], bob["kept"]["unsure_as_no"]["hits"]) == (1, 2)
    assert together["kappa"] == pytest.approx(1 / 3)
    assert [each["verdicts"] for each in together["disagreements"]] == [["relevant", "not"], ["not", "unsure"]]
    smaller = [json.loads(line) for line in run(folder, "", "--sample", "2", "--report", "--json").stdout.splitlines()]
    assert (smaller[0]["elsewhere"], smaller[2]["kappa"]) == (3, None)


def test_a_sample_of_everything_says_what_the_critic_misses(folder: Path) -> None:
    """Every page is said to be wanted: of 20 the critic keeps 12."""
    (row,) = run(folder, "r" * 20, "--all", "--judge", "ann", "--json").stdout.splitlines()
    found = json.loads(row)
    assert (found["found"]["hits"], found["found"]["of"]) == (BIRDS, BIRDS + ROCKS)
    assert (found["kept"]["relevant"], found["left_out"]["relevant"]) == (BIRDS, ROCKS)
    told = run(folder, "", "--all", "--report").stdout
    assert "wanted among what it leaves out: 8 of 8 = 1.000" in told
    assert "wanted pages that it keeps: 12 of 20 = 0.600" in told


def wrong(folder: Path) -> Iterator[tuple[Path, list[str], str]]:
    yield folder / "nowhere", [], "is no project"
    yield folder, ["--report"], "there are no verdicts"
    yield folder, ["--judge", "../ann"], "cannot be the name of a judge"
    fresh = Project.create(folder / "fresh", TOML.format("x"), ["http://a.test/"]).folder
    yield fresh, [], "holds no crawl yet"


def test_wrong_input_is_told_in_one_line(folder: Path) -> None:
    for project, words, message in wrong(folder):
        with pytest.raises(ForagerError, match=message):
            run(project, "r", *words)


@pytest.mark.parametrize(
    ("seed", "words", "message"),
    [("http://a.test/19", [], "none of the 1 pages"), ("http://b.test/", ["--all"], "has no pages yet")],
)
def test_an_empty_collection_is_told(folder: Path, seed: str, words: list[str], message: str) -> None:
    web = Project(folder).config.fetch.replay
    project = Project.create(folder / "empty", TOML.format(web) + "[stop]\npages = 1\n", [seed])
    asyncio.run(project.crawl())
    with pytest.raises(ForagerError, match=message):
        run(project.folder, "r", *words)
