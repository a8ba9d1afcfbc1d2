"""The lexical method with a path of a directory, as a user gives it: the listings of each level, and no others."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from forager.critics.lexical import LexicalCritic
from forager.project import Project
from forager.store import Catalogue
from forager.topics.topic_critic import TopicCritic, train_critic
from tests.lab.warc import write_web
from tests.shared import WEBS, needs
from tests.topics.test_topics import run

WORDS = {
    "Science.Biology.Owls": ["barn owl", "owl nest", "night hunter", "owl pellet", "tawny owl", "owl plumage"],
    "Science.Biology": ["living cell", "cell membrane", "animal species", "plant tissue", "gene pool", "bird species"],
    "Science": [
        "research paper",
        "scientific method",
        "laboratory test",
        "natural law",
        "research grant",
        "peer review",
    ],
    "Arts.Opera": ["opera house", "first aria", "stage design", "libretto writer", "opera singer", "choir master"],
}
EACH, LISTED = 6, 3  # pages of a category, and those of them that a directory lists
PATH = ("Science.Biology.Owls", "Science.Biology", "Science")


def body(topic: str, number: int) -> str:
    """A page with the phrases of its topic. It links to the next page of each topic; a listed page only of its own."""
    said = WORDS[topic][number % 6 :] + WORDS[topic][: number % 6]
    text = "".join(f"<p>The {phrase} is near the {said[0]}. We saw the {phrase} again.</p>" for phrase in said)
    links = "".join(
        f"<p>See the {WORDS[other][number % 6]}: <a href='{url(other, (number + 1) % EACH)}'>{WORDS[other][0]}</a></p>"
        "<p>one two three four five six seven eight nine ten</p>"
        for other in ([topic] if number < LISTED else WORDS)
    )
    return f"<title>{said[0]}</title>{text}{links}"


def url(topic: str, number: int) -> str:
    return f"http://a.test/{topic.rpartition('.')[2].lower()}/{number}"


PAGES = {url(topic, number): (topic, body(topic, number)) for topic in WORDS for number in range(EACH)}


def project(folder: Path, *options: str, topic: str = PATH[0], listed: tuple[str, ...] = tuple(WORDS)) -> Path:
    """A project as `forager new` makes it, for a directory that lists three pages of each of these topics."""
    web = write_web(folder / "web", PAGES)
    rows = [f"{url(each, number)}\t{each}\t\t" for each in listed for number in range(LISTED)]
    (folder / "list.tsv").write_text("\n".join(["url\tcategory\ttitle\tdescription", *rows]) + "\n")
    run("taxonomy", "import", str(folder / "list.tsv"), "--out", str(folder / "d.sqlite"))
    return made(folder, web, folder / "d.sqlite", topic, *options)


def made(folder: Path, web: Path, directory: Path, topic: str, *options: str) -> Path:
    words = ["--directory", str(directory), "--topic", topic, "--seed", url("Science", 5), "--pages", "12", *options]
    run("new", str(folder / "project"), "--strategy", "lexical", *words)
    toml = folder / "project" / "forager.toml"
    toml.write_text(toml.read_text().replace("[fetch]\n", f"[fetch]\nreplay = {json.dumps(str(web))}\n"))
    return folder / "project"


def add(project: Path, table: str) -> None:
    toml = project / "forager.toml"
    toml.write_text(f"{toml.read_text()}\n{table}\n")


def trained(project: Path) -> TopicCritic:
    return asyncio.run(train_critic(Project(project)))


def fetched(project: Path) -> set[str]:
    with Catalogue(project / "topic") as catalogue:
        return {entry.url for entry in catalogue.pages()}


def test_a_path_has_the_listings_of_its_levels_and_no_others(tmp_path: Path) -> None:
    folder = project(tmp_path)
    taught = trained(folder)
    assert taught.sizes == {topic: {"fetched": 3} for topic in PATH}
    assert fetched(folder) == {url(topic, number) for topic in PATH for number in range(LISTED)}
    critic = taught.critic
    assert isinstance(critic, LexicalCritic)
    assert critic.examples == (3, 3, 3)
    assert critic.classes == (*PATH, "other")


def test_a_crawl_for_a_path_begins_with_what_is_near_it(tmp_path: Path) -> None:
    folder = project(tmp_path)
    run("crawl", str(folder))
    with Catalogue(folder) as catalogue:
        found = [PAGES[entry.url][0] for entry in catalogue.pages()]
    assert found[0] == "Science", "the seed"
    assert set(found[1 : EACH + 1]) == {PATH[0]}, "all owls come next"
    assert "Science.Biology.Owls" in run("topic", "show", str(folder))


def test_k_is_the_most_that_a_level_has(tmp_path: Path) -> None:
    folder = project(tmp_path)
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text().replace("[topic]\n", "[topic]\nk = 3\n"))
    (tmp_path / "more.tsv").write_text(
        "\n".join(["url\tcategory", *(f"{address}\t{topic}" for address, (topic, _) in PAGES.items())]) + "\n"
    )
    run("taxonomy", "import", str(tmp_path / "more.tsv"), "--out", str(tmp_path / "d.sqlite"))
    assert trained(folder).sizes == {topic: {"fetched": 3} for topic in PATH}


def test_a_level_without_listings_is_left_empty(tmp_path: Path) -> None:
    critic = trained(project(tmp_path, listed=(PATH[0], PATH[2], "Arts.Opera"))).critic
    assert isinstance(critic, LexicalCritic)
    assert critic.examples == (3, 0, 3)


def test_if_nothing_is_listed_above_the_target_the_cure_is_told_and_works(tmp_path: Path) -> None:
    folder = project(tmp_path, topic="Arts.Opera", listed=("Arts.Opera", "Science"))
    told = run("topic", "show", str(folder), wrong=True)
    assert "no category above Arts.Opera has listings of its own" in told
    assert 'options.above = "below"' in told
    add(folder, '[critic]\nname = "lexical"\noptions.above = "all"')
    assert trained(folder).sizes == {"Arts.Opera": {"fetched": 3}, "Top": {"fetched": 3}}


def test_categories_below_the_levels_count_if_asked(tmp_path: Path) -> None:
    folder = project(tmp_path, listed=(PATH[0], "Science.Biology", "Arts.Opera"))
    add(folder, '[critic]\nname = "lexical"\noptions.above = "below"')
    toml = folder / "forager.toml"
    rows = [f"{url('Science', number)}\tScience.Physics.Optics" for number in range(LISTED)]
    rows += [f"{url(topic, number)}\t{topic}" for topic in (PATH[0], "Arts.Opera") for number in range(LISTED)]
    (tmp_path / "deep.tsv").write_text("\n".join(["url\tcategory", *rows]) + "\n")
    run("taxonomy", "import", str(tmp_path / "deep.tsv"), "--out", str(tmp_path / "d.sqlite"))
    assert toml.exists()
    assert trained(folder).sizes == {PATH[0]: {"fetched": 3}, "Science": {"fetched": 3}}


def test_another_critic_is_taught_with_the_whole_directory(tmp_path: Path) -> None:
    folder = project(tmp_path)
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text().replace('name = "lexical"', 'name = "best-first"'))
    assert trained(folder).sizes == {"Science.Biology.Owls": {"fetched": 3}, "Other": {"fetched": 9}}
    toml.write_text(toml.read_text().replace('name = "best-first"', 'name = "lexical"'))
    assert set(trained(folder).sizes) == set(PATH), "trained again, because the strategy needs another critic"


@needs("dmoz-samples")
def test_a_path_of_the_open_directory(tmp_path: Path) -> None:
    """A real cut of the Open Directory: two of its categories are a path that has listings on both levels."""
    sample = WEBS / "dmoz-samples" / "dmoz-content-example.xml"
    run("taxonomy", "import", str(sample), "--out", str(tmp_path / "d.sqlite"))
    folder = made(tmp_path, write_web(tmp_path / "web", PAGES), tmp_path / "d.sqlite", "Computers.STX")
    toml = folder / "forager.toml"
    toml.write_text(toml.read_text().replace("[topic]\n", '[topic]\npages = "text"\n'))
    taught = trained(folder)
    assert taught.sizes == {"Computers": {"title and description": 2}, "Computers.STX": {"title and description": 3}}
    run("crawl", str(folder))
