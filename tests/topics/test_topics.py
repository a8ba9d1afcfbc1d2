"""From examples to a critic, and from what people say of pages to a better one, through the command line."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from forager.cli import app
from forager.crawl.build import strategy_of
from forager.critics import Predicate
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Catalogue
from forager.topics.topic_critic import train_critic
from tests.lab.warc import write_warc, write_web

BIRD, ROCK = "feather wing nest egg song beak", "granite slate lava ore vein quartz"
COUNT = 60


def body(i: int) -> str:
    text = f"{BIRD} {BIRD.split()[i % 6]}" if bird(i) else f"{ROCK} {ROCK.split()[i % 6]}"
    return f"<title>{i}</title><p>{text} and the rest {text} {text} {text} {text}</p>" + "".join(
        f"<li>{BIRD if bird(t) else ROCK} <a href='/{t}'>{'birds' if bird(t) else 'rocks'}</a>"
        for t in ((i * k + 1) % COUNT for k in (2, 3, 5))
    )


def bird(i: int) -> bool:
    return i % 3 == 0


PAGES = {f"http://a.test/{i}": ("Birds" if bird(i) else "Rocks", body(i)) for i in range(COUNT)}
BIRDS = [url for url, (label, _) in PAGES.items() if label == "Birds"]
ROCKS = [url for url, (label, _) in PAGES.items() if label == "Rocks"]


@pytest.fixture
def web(tmp_path: Path) -> Path:
    return write_web(tmp_path / "web", PAGES, aliases="linked\turl\nhttp://old.test/\thttp://a.test/3\n")


def made(folder: Path, web: Path, *words: str, strategy: str = "best-first") -> Path:
    """A project that crawls the recorded web."""
    run("new", str(folder), "--seed", "http://a.test/0", "--strategy", strategy, "--pages", "50", *words)
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text().replace("[fetch]\n", f"[fetch]\nreplay = {json.dumps(str(web))}\n"))
    return folder


def run(*words: str, wrong: bool = False) -> str:
    done = CliRunner().invoke(app, list(words))
    if wrong:
        assert isinstance(done.exception, ForagerError), done.output
        return str(done.exception)
    if done.exception is not None:
        raise done.exception
    return done.output


def of(option: str, places: list[str]) -> list[str]:
    return [word for place in places for word in (option, place)]


def relevance(folder: Path) -> dict[str, float]:
    with Catalogue(folder) as catalogue:
        return {entry.url: entry.relevance for entry in catalogue.pages()}


def test_examples_and_counter_examples_make_a_critic(tmp_path: Path, web: Path) -> None:
    words = [*of("--example", BIRDS[:12]), *of("--unlike", ROCKS[:12])]
    folder = made(tmp_path / "project", web, *words)
    shown = json.loads(run("topic", "show", str(folder), "--json").splitlines()[-1])
    assert shown["classes"] == {"other": {"fetched": 12}, "wanted": {"fetched": 12}}
    assert set(shown["words"]["wanted"][:6]) == set(BIRD.split())
    assert shown["quality"]["roc_auc"] > 0.95
    assert shown["critic"].startswith("svm-")
    assert shown["advice"] == []
    run("crawl", str(folder))
    judged = relevance(folder)
    assert min(judged[url] for url in judged if url in BIRDS) > 0.5 > max(judged[u] for u in judged if u in ROCKS)


def test_the_critic_is_kept_until_the_topic_changes(tmp_path: Path, web: Path) -> None:
    folder = made(tmp_path / "project", web, *of("--example", BIRDS[:6]), *of("--unlike", ROCKS[:6]))
    first = asyncio.run(train_critic(Project(folder)))
    kept = folder / "topic" / "critic.npz"
    stamp = kept.stat().st_mtime_ns
    again = asyncio.run(train_critic(Project(folder)))
    assert again.critic.version == first.critic.version
    assert (again.sizes, again.words, again.query.words) == (first.sizes, first.words, first.query.words)
    assert kept.stat().st_mtime_ns == stamp
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text().replace(ROCKS[0], ROCKS[20]))
    assert asyncio.run(train_critic(Project(folder))).critic.version != first.critic.version


def test_examples_come_from_files_folders_and_warcs_too(tmp_path: Path, web: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    for i in (0, 3, 6):
        (pages / f"{i}.html").write_text(body(i))
    write_warc(tmp_path / "some.warc.gz", {url: PAGES[url][1] for url in BIRDS[4:8]})
    (tmp_path / "rock.html").write_text(body(1))
    places = ["--example", str(pages), "--example", str(tmp_path / "some.warc.gz"), "--example", "http://old.test/"]
    folder = made(
        tmp_path / "project", web, *places, "--unlike", str(tmp_path / "rock.html"), *of("--unlike", ROCKS[:4])
    )
    taught = asyncio.run(train_critic(Project(folder)))
    assert taught.sizes == {"other": {"fetched": 4, "file": 1}, "wanted": {"fetched": 1, "file": 3, "warc": 4}}
    assert any("only 8 examples" in line for line in taught.advice)


def test_several_topics_at_once(tmp_path: Path, web: Path) -> None:
    words = [*of("--example", [f"Birds={u}" for u in BIRDS[:5]]), *of("--example", [f"Rocks={u}" for u in ROCKS[:5]])]
    (tmp_path / "sea.html").write_text("<p>the sea, and waves of salt water with the rest")
    folder = made(tmp_path / "project", web, *words, "--unlike", str(tmp_path / "sea.html"))
    critic = asyncio.run(train_critic(Project(folder))).critic
    assert critic.focus == ("Birds", "Rocks")
    run("crawl", str(folder))
    status = json.loads(run("status", str(folder), "--json"))
    assert status["topics"]["Birds"] > 10
    assert status["topics"]["Rocks"] > 10
    assert status["topics"]["Birds"] + status["topics"]["Rocks"] <= status["pages"]


def test_keywords_mix_with_examples(tmp_path: Path, web: Path) -> None:
    folder = made(
        tmp_path / "project", web, "--keywords", "song", *of("--example", BIRDS[:6]), *of("--unlike", ROCKS[:6])
    )
    taught = asyncio.run(train_critic(Project(folder)))
    assert taught.critic.version.startswith("mixed-")
    assert "song" in taught.query.words


def test_labels_teach_the_critic_and_everything_is_judged_again(tmp_path: Path, web: Path) -> None:
    """A critic that was taught the wrong way round is put right by labels."""
    folder = made(tmp_path / "project", web, *of("--example", BIRDS[:3]), *of("--unlike", ROCKS[:3]))
    run("crawl", str(folder))
    before = relevance(folder)
    verdicts = tmp_path / "verdicts.txt"
    lines = [f"{url} irrelevant" for url in before if url in BIRDS] + [f"{u}\trelevant" for u in before if u in ROCKS]
    verdicts.write_text("# mine\n" + "\n".join(lines) + "\n")
    assert f"{len(lines)} pages labelled" in run("label", str(folder), "--file", str(verdicts))
    run("label", str(folder), BIRDS[0], "irrelevant")
    rows = [line.split("\t") for line in (folder / "verdicts.tsv").read_text().splitlines()]
    assert rows[-1][:2] == [BIRDS[0], "irrelevant"]
    assert {row[-1] for row in rows[1:]} == {"teach"}
    assert {row[4][:4] for row in rows[1:]} == {"svm-"}
    assert f"{len(before)} pages judged again" in run("retrain", str(folder))
    after = relevance(folder)
    assert list(after) == list(before)
    assert all(after[url] < before[url] for url in after if url in BIRDS)
    assert all(after[url] > before[url] for url in after if url in ROCKS)
    with closing(sqlite3.connect(folder / "crawl.sqlite")) as db:
        versions = {row[0] for row in db.execute("SELECT DISTINCT critic FROM visit WHERE outcome = 'page'")}
        earlier = dict(db.execute("SELECT u.text, e.relevance FROM earlier e JOIN visit v USING (seq) JOIN url u"
                                  " ON u.id = v.answered"))  # fmt: skip
    assert len(versions) == 1
    assert earlier == pytest.approx(before)
    assert run("search", str(folder), "granite").count("http") > 0
    run("crawl", str(folder))  # goes on with the new critic
    assert list(relevance(folder)) == list(after)  # there is no more of this web


def test_what_waits_is_ordered_by_the_new_judgements(tmp_path: Path, web: Path) -> None:
    folder = made(tmp_path / "project", web, *of("--example", BIRDS[:6]), *of("--unlike", ROCKS[:6]))
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text().replace("pages = 50", "pages = 20"))
    run("crawl", str(folder))
    crawled = relevance(folder)
    lines = [f"{url} {'relevant' if url in ROCKS else 'irrelevant'}" for url in crawled]
    (tmp_path / "all.txt").write_text("\n".join(lines))
    run("label", str(folder), "--file", str(tmp_path / "all.txt"))
    toml.write_text(toml.read_text().replace("unlike = ", "unlike_was = ").replace("pages = 20", "pages = 30"))
    assert "unlike_was" in run("retrain", str(folder), wrong=True)
    toml.write_text(toml.read_text().replace("unlike_was = ", "unlike = "))
    run("retrain", str(folder))
    run("crawl", str(folder))
    with Catalogue(folder) as catalogue:
        later = [catalogue.why(url)[-1].score for url in relevance(folder) if url not in crawled]
    assert len(later) == 10
    assert max(later) > 0.5


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing says what is wanted"),
        (["--topic", "Arts"], "--topic names a category of a --directory"),
        (["--keywords", "a", "--strategy", "best-frist"], "nearest: best-first"),
        (["--keywords", "a", "--apprentice-from", "nowhere"], "is no project"),
        (["--example", "ftp://x.test/"], "is not an http or https URL"),
    ],
)
def test_wrong_words_for_a_new_project(tmp_path: Path, words: list[str], told: str) -> None:
    assert told in run("new", str(tmp_path / "project"), "--seed", "http://a.test/", *words, wrong=True)
    assert not (tmp_path / "project").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([*of("--example", BIRDS[:2]), *of("--unlike", ROCKS[:3])], "give at least 3"),
        (
            [*of("--example", [f"http://gone.test/{i}" for i in range(4)]), *of("--unlike", ROCKS[:3])],
            "brought no page",
        ),
        (["--example", "/no/such/file.html", *of("--unlike", ROCKS[:3])], "cannot be read"),
    ],
)
def test_examples_that_teach_nothing(tmp_path: Path, web: Path, words: list[str], told: str) -> None:
    folder = made(tmp_path / "project", web, *words)
    assert told in run("topic", "show", str(folder), wrong=True)


def test_wrong_labels(tmp_path: Path, web: Path) -> None:
    folder = made(tmp_path / "project", web, *of("--example", BIRDS[:6]), *of("--unlike", ROCKS[:6]))
    run("crawl", str(folder))
    assert "nearest: relevant" in run("label", str(folder), BIRDS[0], "relevent", wrong=True)
    assert "was not found by this crawl" in run("label", str(folder), "http://a.test/none", "relevant", wrong=True)
    assert "give a URL and a verdict" in run("label", str(folder), wrong=True)
    (tmp_path / "bad.txt").write_text("http://a.test/0 relevant\nnonsense\n")
    assert "line 2" in run("label", str(folder), "--file", str(tmp_path / "bad.txt"), wrong=True)
    assert "no verdict named 'unsure'" in run("label", str(folder), BIRDS[0], "unsure", wrong=True)
    assert not (folder / "verdicts.tsv").exists()


def test_a_sentence_or_examples_alone_will_do(tmp_path: Path, web: Path) -> None:
    told = made(tmp_path / "told", web, "--sentence", "birds with feathers and wings that lay eggs in a nest")
    run("crawl", str(told))
    judged = relevance(told)
    assert min(judged[url] for url in judged if url in BIRDS) > max(judged[url] for url in judged if url in ROCKS)
    shown = made(tmp_path / "shown", web, *of("--example", BIRDS[:5]))
    taught = asyncio.run(train_critic(Project(shown)))
    assert taught.critic.version.startswith("description-")
    assert any("--unlike" in line for line in taught.advice)


def directory_of(folder: Path) -> Path:
    """A directory of the pages of the web, with titles and descriptions, and of some that are gone."""
    rows = [f"{url}\tLife.Animals.Birds\tTitle\t{BIRD}" for url in BIRDS]
    rows += [f"{url}\tEarth.Rocks\tTitle\t{ROCK}" for url in ROCKS]
    rows += [f"http://gone.test/{i}\tLife.Plants\tA plant\tleaf root flower" for i in range(4)]
    (folder / "list.tsv").write_text("\n".join(["url\tcategory\ttitle\tdescription", *rows]) + "\n")
    run("taxonomy", "import", str(folder / "list.tsv"), "--out", str(folder / "d.sqlite"))
    return folder / "d.sqlite"


def test_a_path_in_a_directory_is_told_from_all_others(tmp_path: Path, web: Path) -> None:
    listed = directory_of(tmp_path)
    folder = made(tmp_path / "project", web, "--directory", str(listed), "--topic", "Life.Animals.Birds")
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text().replace("[topic]\n", "[topic]\nk = 30\n"))
    taught = asyncio.run(train_critic(Project(folder)))
    assert taught.sizes == {
        "Earth.Rocks": {"fetched": 30},
        "Life.Animals.Birds": {"fetched": 20},  # fewer than k, and still a class of its own
        "Other": {"title and description": 4},
    }
    assert taught.critic.focus == ("Life.Animals.Birds",)
    assert any("titles and descriptions only" in line for line in taught.advice)
    toml.write_text(toml.read_text().replace("[topic]\n", '[topic]\npages = "text"\n'))
    said = asyncio.run(train_critic(Project(folder)))
    assert {origin for by in said.sizes.values() for origin in by} == {"title and description"}


def test_a_folder_tree_of_pages_is_a_directory_too(tmp_path: Path, web: Path) -> None:
    for i in range(12):
        file = tmp_path / "tree" / ("Birds" if bird(i) else "Rocks") / f"{i}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body(i))
    run("taxonomy", "import", str(tmp_path / "tree"), "--out", str(tmp_path / "d.sqlite"))
    folder = made(tmp_path / "project", web, "--directory", str(tmp_path / "d.sqlite"), "--topic", "Birds")
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text().replace("[topic]\n", "[topic]\nk = 4\n"))
    assert asyncio.run(train_critic(Project(folder))).sizes == {"Birds": {"file": 4}, "Rocks": {"file": 4}}


def test_a_category_that_does_not_exist(tmp_path: Path, web: Path) -> None:
    listed = directory_of(tmp_path)
    folder = made(tmp_path / "project", web, "--directory", str(listed), "--topic", "Life.Animals.Brids")
    assert "Life.Animals.Birds" in run("topic", "show", str(folder), wrong=True)


def test_why_names_the_words_and_another_project_may_go_on_with_what_was_learnt(tmp_path: Path, web: Path) -> None:
    words = [*of("--example", BIRDS[:8]), *of("--unlike", ROCKS[:8])]
    folder = made(tmp_path / "project", web, *words, strategy="apprentice")
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text().replace('name = "apprentice"', 'name = "apprentice"\noptions.batch = 10'))
    run("crawl", str(folder))
    with Catalogue(folder) as catalogue:
        found = [entry.url for entry in catalogue.pages() if entry.parent is not None]
    assert " at -1\n" in run("why", str(folder), found[-1])
    weights = [signal["weight"] for signal in json.loads(run("why", str(folder), found[-1], "--json"))["signals"]]
    assert weights == sorted(weights, key=abs, reverse=True) != []
    other = made(tmp_path / "other", web, "--keywords", "egg", "--apprentice-from", str(folder), strategy="apprentice")
    strategy = strategy_of(Project(other).config, Predicate(keywords=["egg"]))
    assert strategy.parts()["instances"].sum() > 50  # type: ignore[attr-defined]
    assert Project(other).config.strategy.options["batch"] == 10  # what was learnt fits only the same options
    run("crawl", str(other))
    assert "was crawled with 'apprentice'" in run(
        "new",
        str(tmp_path / "x"),
        "--keywords",
        "a",
        "--seed",
        "http://a.test/",
        "--apprentice-from",
        str(folder),
        wrong=True,
    )


def test_damaged_models_are_made_again_or_passed_over(tmp_path: Path, web: Path) -> None:
    words = [*of("--example", BIRDS[:8]), *of("--unlike", ROCKS[:8])]
    folder = made(tmp_path / "project", web, *words, strategy="apprentice")
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text().replace("pages = 50", "pages = 20"))
    run("crawl", str(folder))
    version = asyncio.run(train_critic(Project(folder))).critic.version
    kept = folder / "topic" / "critic.npz"
    kept.write_bytes(kept.read_bytes()[:-100])
    assert asyncio.run(train_critic(Project(folder))).critic.version == version
    checkpoint = next((folder / "checkpoints").glob("*.npz"))
    checkpoint.write_bytes(b"nonsense")
    toml.write_text(toml.read_text().replace("pages = 20", "pages = 30"))
    told = CliRunner().invoke(app, ["crawl", str(folder)])
    assert told.exception is None
    assert "is damaged" in told.output
    assert "changed since the last time: stop.pages: 20 -> 30" in told.output
    assert len(relevance(folder)) == 30


def test_all_examples_of_one_class_cannot_teach_a_critic_that_compares(tmp_path: Path, web: Path) -> None:
    folder = made(tmp_path / "project", web, *of("--example", BIRDS[:6]))
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text() + '\n[critic]\nname = "naive-bayes"\n')
    assert "give pages that are not wanted, too" in run("topic", "show", str(folder), wrong=True)


def test_why_names_the_words_of_a_link_that_was_redirected(tmp_path: Path) -> None:
    pages = {
        "http://a.test/0": ("Birds", "<p>feather <a href='/old'>birds</a>"),
        "http://a.test/new": ("Birds", "<p>nest and egg"),
    }
    moved = write_web(tmp_path / "moved", pages, aliases="linked\turl\nhttp://a.test/old\thttp://a.test/new\n")
    folder = made(tmp_path / "project", moved, "--keywords", "feather", strategy="apprentice")
    run("crawl", str(folder))
    assert "relevance of the page" in run("why", str(folder), "http://a.test/new")
