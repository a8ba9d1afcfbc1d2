"""People's verdicts: one file, nothing lost, and the files of earlier versions count as before.

old_verdicts/ was written by `forager label` and `forager judge` of version 0.1, before there was verdicts.tsv.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree

import pytest

from forager.errors import ForagerError
from forager.store.verdicts import (
    FILE,
    PageVerdict,
    VerdictUse,
    add_verdicts,
    check_judge_name,
    check_label,
    parse_labels,
    read_labels,
    read_reviews,
)
from forager.web.urls import RULES

OLD = Path(__file__).parent / "old_verdicts"
NOW = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
HEAD = "url\tverdict\tjudge\ttime\tcritic\tuse\n"
HOME, FIELD = "http://glaze-press.web.test/", "http://oakcross.web.test/"


def said(url: str, verdict: str, judge: str = "ann", use: VerdictUse = VerdictUse.REVIEW) -> PageVerdict:
    return PageVerdict(url, verdict, judge, NOW, "nb-1", use)


def taught(url: str, verdict: str, judge: str = "ann") -> PageVerdict:
    return said(url, verdict, judge, VerdictUse.TEACH)


def words(folder: Path) -> dict[str, dict[str, str]]:
    return {who: {url: each.verdict for url, each in given.items()} for who, given in read_reviews(folder).items()}


def test_a_line_has_all_that_is_known_and_the_last_one_counts(tmp_path: Path) -> None:
    for verdict in ("irrelevant", "relevant"):
        add_verdicts(tmp_path, [PageVerdict("http://a.test/", verdict, "ann", NOW, "nb\t1", VerdictUse.REVIEW)])
    lines = (tmp_path / FILE).read_text().splitlines()
    assert lines[0] == HEAD.strip()
    assert lines[2] == "http://a.test/\trelevant\tann\t2024-05-06T07:08:09+00:00\tnb 1\treview"
    kept = PageVerdict("http://a.test/", "relevant", "ann", NOW, "nb 1", VerdictUse.REVIEW)
    assert read_reviews(tmp_path) == {"ann": {"http://a.test/": kept}}


def test_each_judge_has_a_verdict_of_their_own_and_labels_do_not_mix_with_reviews(tmp_path: Path) -> None:
    add_verdicts(tmp_path, [said(HOME, "relevant", "bob"), said(HOME, "unsure"), said(FIELD, "irrelevant")])
    add_verdicts(tmp_path, [taught(HOME, "irrelevant"), taught(FIELD, "Birds.Owls"), taught(HOME, "relevant", "bob")])
    assert words(tmp_path) == {"ann": {HOME: "unsure", FIELD: "irrelevant"}, "bob": {HOME: "relevant"}}
    assert list(words(tmp_path)) == ["ann", "bob"]
    assert read_labels(tmp_path) == {HOME: "relevant", FIELD: "Birds.Owls"}


def test_not_is_read_as_irrelevant(tmp_path: Path) -> None:
    rows = [f"{HOME}\tnot\tann\t{NOW.isoformat()}\tnb-1\t{use}\n" for use in ("review", "teach")]
    (tmp_path / FILE).write_text(HEAD + "".join(rows))
    assert words(tmp_path) == {"ann": {HOME: "irrelevant"}}
    assert read_labels(tmp_path) == {HOME: "irrelevant"}


@pytest.mark.parametrize("left", ["url\tver", HEAD + "http://a.test/1\tnot\tann\t20"])
def test_a_line_cut_off_by_a_kill_goes(tmp_path: Path, left: str) -> None:
    (tmp_path / FILE).write_text(left)
    assert read_reviews(tmp_path) == {}
    assert read_labels(tmp_path) == {}
    add_verdicts(tmp_path, [said("http://a.test/2", "unsure")])
    assert words(tmp_path) == {"ann": {"http://a.test/2": "unsure"}}
    assert len((tmp_path / FILE).read_text().splitlines()) == 2


WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from forager.store.verdicts import PageVerdict, VerdictUse, add_verdicts
for i in range(40):
    url, now = f"http://a.test/{i}", datetime.now(UTC)
    add_verdicts(Path(sys.argv[1]), [PageVerdict(url, "unsure", sys.argv[2], now, "", VerdictUse.REVIEW)])
"""


def test_several_people_may_write_at_once(tmp_path: Path) -> None:
    names = ("ann", "bob", "eve")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in names]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert {who: len(given) for who, given in read_reviews(tmp_path).items()} == dict.fromkeys(names, 40)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEAD}{HOME}\tperhaps\tann\t2024-05-06\tx\treview\n", "line 2 is no verdict .*'perhaps' is not one of"),
        (f"{HEAD}{HOME}\tunsure\tann\tyesterday\tx\treview\n", "line 2 is no verdict"),
        (f"{HEAD}{HOME}\tunsure\tann\t2024-05-06\tx\tjoke\n", "line 2 is no verdict"),
        (f"{HEAD}\n{HOME}\tnot\n", r"line 3 is no verdict \(2 columns\)"),
        ("url,verdict,time,critic\n", "line 1: the head must be url verdict judge time critic use"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_an_unreadable_line_is_told_with_its_number(tmp_path: Path, text: str | bytes, message: str) -> None:
    (tmp_path / FILE).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ForagerError, match=message):
        read_reviews(tmp_path)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="cannot be written: No such file"):
        add_verdicts(tmp_path / "nowhere", [said(HOME, "relevant")])


# ---- files of earlier versions


def test_old_files_are_read(tmp_path: Path) -> None:
    old = copytree(OLD, tmp_path / "old")
    assert read_labels(old) == {HOME: "relevant", FIELD: "irrelevant"}
    assert words(old) == {
        "ann": {
            "http://oakcross.web.test/puppetry": "relevant",
            FIELD: "irrelevant",
            "http://oakcross.web.test/weather": "unsure",
            "http://migration-almanac.web.test/terms": "relevant",
        }
    }
    first = read_reviews(old)["ann"][FIELD]
    assert (first.critic, first.at) == ("predicate-ab1eeac4", datetime(2026, 11, 17, 19, 3, 3, tzinfo=UTC))


def test_old_files_count_as_the_beginning_of_the_new_one_and_are_never_changed(tmp_path: Path) -> None:
    old = copytree(OLD, tmp_path / "old")
    before = {file: file.read_bytes() for file in old.rglob("*.tsv")}
    add_verdicts(old, [taught(FIELD, "relevant"), said(FIELD, "unsure"), said(HOME, "relevant", "bob")])
    add_verdicts(old, [taught("http://a.test/", "Rocks")])
    assert read_labels(old) == {HOME: "relevant", FIELD: "relevant", "http://a.test/": "Rocks"}
    assert words(old)["ann"] | {FIELD: "unsure"} == words(old)["ann"]
    assert len(words(old)["ann"]) == 4
    assert words(old)["bob"] == {HOME: "relevant"}
    assert {file: file.read_bytes() for file in before} == before


def test_an_old_file_of_labels_may_be_written_by_hand(tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_text(f"url\tverdict\n{HOME}\trelevant\n\n{FIELD}\tOwls")
    assert read_labels(tmp_path) == {HOME: "relevant", FIELD: "Owls"}
    (tmp_path / "labels.tsv").write_text(f"url\tverdict\n{HOME}\n")
    with pytest.raises(ForagerError, match="line 2: no verdict"):
        read_labels(tmp_path)
    assert read_reviews(tmp_path) == {}


# ---- what users write


def test_labels_as_a_user_writes_them() -> None:
    lines = ["# mine", "", "http://a.test relevant", "http://b.test/\tBirds of prey\tsure", "http://a.test/ irrelevant"]
    assert parse_labels(lines, RULES, "x") == {"http://a.test/": "irrelevant", "http://b.test/": "Birds of prey"}
    with pytest.raises(ForagerError, match="x, line 1: 'nonsense' is not a URL with a verdict"):
        parse_labels(["nonsense"], RULES, "x")


def test_words_and_names_that_are_not_allowed() -> None:
    assert check_label("Birds", ["Birds"]) == "Birds"
    for word in ("unsure", "not", "Brids"):
        with pytest.raises(ForagerError, match="no verdict named"):
            check_label(word, ["Birds"])
    assert check_judge_name("ann.b@c-d_e+1") == "ann.b@c-d_e+1"
    for name in ("../ann", "", "a b", ".ann", "ann\tbob"):
        with pytest.raises(ForagerError, match="cannot be the name of a judge"):
            check_judge_name(name)
