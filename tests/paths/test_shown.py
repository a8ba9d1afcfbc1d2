from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.paths import (
    LabelUsedOnce,
    PathGap,
    PathOutcome,
    PathStep,
    ShownPath,
    gaps,
    label_set,
    load_paths,
    read_paths,
    used_once,
    write_paths,
)
from forager.types import Url
from forager.web.urls import RULES

DOC = Path(__file__).resolve().parents[2] / "docs" / "how" / "paths.md"
HOME = {"url": "http://u.edu/"}


def path(outcome: PathOutcome, *labels: str | None, name: str = "p") -> ShownPath:
    """A path with a page for each label, and a last page."""
    steps = [
        PathStep(Url(f"http://u.edu/{n}"), None if n == 0 else "on", label) for n, label in enumerate((*labels, None))
    ]
    return ShownPath(name, tuple(steps), outcome)


def line(**changes: Any) -> str:
    return json.dumps({"path": "p", "outcome": "goal", "steps": [HOME], **changes})


def saved(folder: Path, *lines: str) -> Path:
    file = folder / "paths.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


# ---- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "labels"),
    [
        (path(PathOutcome.GOAL), ["goal"]),
        (path(PathOutcome.FAIL), ["fail"]),
        (path(PathOutcome.GOAL, None, None), ["prefix(goal)", "prefix(goal)", "goal"]),
        (path(PathOutcome.FAIL, None, None), ["fail", "fail", "fail"]),
        (
            path(PathOutcome.GOAL, None, "dept", None, None, "staff", None),
            ["prefix(dept)", "dept", "prefix(staff)", "prefix(staff)", "staff", "prefix(goal)", "goal"],
        ),
        (path(PathOutcome.FAIL, None, "dept", None), ["prefix(dept)", "dept", "fail", "fail"]),
        (path(PathOutcome.FAIL, "dept", "staff"), ["dept", "staff", "fail"]),
    ],
)
def test_labels_of_all_pages(shown: ShownPath, labels: list[str]) -> None:
    assert list(shown.labels) == labels


def test_the_set_of_labels() -> None:
    paths = [path(PathOutcome.GOAL, "staff", None, "dept"), path(PathOutcome.FAIL, "dept", name="q")]
    assert label_set(paths) == ("dept", "staff", "goal", "fail", "prefix(dept)", "prefix(staff)", "prefix(goal)")
    assert {label for shown in paths for label in shown.labels} <= set(label_set(paths))


def test_a_label_used_once_is_named_with_its_place() -> None:
    paths = [path(PathOutcome.GOAL, None, "dept", "stuff"), path(PathOutcome.FAIL, "dept", name="q")]
    assert used_once(paths) == (LabelUsedOnce("stuff", "p", 3),)
    assert str(used_once(paths)[0]).startswith("label 'stuff' is used once (path 'p', step 3)")


def test_gaps_are_steps_that_the_page_before_does_not_link_to() -> None:
    a, b, c = (Url(f"http://u.edu/{name}") for name in "abc")
    links = {a: {b}, b: {a}, c: {a}}
    whole = ShownPath("whole", (PathStep(a), PathStep(b), PathStep(a)), PathOutcome.FAIL)
    torn = ShownPath("torn", (PathStep(a), PathStep(b), PathStep(c), PathStep(b)), PathOutcome.GOAL)
    found = list(gaps([whole, torn], links.__getitem__))
    assert found == [PathGap("torn", 3, b, c), PathGap("torn", 4, c, b)]
    assert str(found[0]) == "path 'torn', step 3: http://u.edu/b has no link to http://u.edu/c"


# ---- the file -------------------------------------------------------------------------------------------------------

NAMES = st.text(min_size=1, max_size=8).filter(str.strip)
LABELS = NAMES.filter(lambda label: label not in ("goal", "fail") and not label.startswith("prefix("))
URLS = st.builds(
    "{}://{}.org/{}".format,
    st.sampled_from(["http", "https"]),
    st.text("abc", min_size=1, max_size=4),
    st.text(max_size=8),
).map(RULES.canonical)


@st.composite
def shown_paths(draw: st.DrawFn) -> ShownPath:
    urls = draw(st.lists(URLS.filter(bool), min_size=1, max_size=5))
    steps = [PathStep(Url(str(url)), draw(st.none() | st.text()), draw(st.none() | LABELS)) for url in urls]
    steps[0] = PathStep(steps[0].url, None, steps[0].label)
    steps[-1] = PathStep(steps[-1].url, steps[-1].anchor, None)
    return ShownPath(draw(NAMES), tuple(steps), draw(st.sampled_from(PathOutcome)))


@given(st.lists(shown_paths(), max_size=4, unique_by=lambda shown: shown.id))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, paths: list[ShownPath]) -> None:
    file = tmp_path_factory.mktemp("paths") / "paths.jsonl"
    write_paths(file, paths)
    assert list(read_paths(file)) == paths


def test_paths_come_one_at_a_time(tmp_path: Path) -> None:
    stream = read_paths(saved(tmp_path, line(), "", "not JSON"))
    assert next(stream).id == "p"
    with pytest.raises(ForagerError, match=r"paths\.jsonl, line 3: not JSON"):
        next(stream)


def test_urls_are_made_canonical_and_an_outcome_said_twice_is_one(tmp_path: Path) -> None:
    steps = [{"url": "HTTP://U.edu:80/a/../b#top"}, {"url": "http://u.edu/c", "anchor": "c", "label": "goal"}]
    (shown,) = read_paths(saved(tmp_path, line(steps=steps)))
    assert shown.steps == (PathStep(Url("http://u.edu/b")), PathStep(Url("http://u.edu/c"), "c"))


def test_a_compressed_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "paths.jsonl.gz"
    file.write_bytes(gzip.compress(b"\xef\xbb\xbf" + line().encode() + b"\r\n"))
    assert [shown.id for shown in read_paths(file)] == ["p"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{'path': 1}", "not JSON .*: each line is one object"),
        ("[1, 2]", "Expected `object`, got `array`.*a line is {path, outcome, steps"),
        ('{"path": "p", "outcome": "goal"}', "missing required field `steps`"),
        (line(colour="red"), "unknown field `colour`"),
        (line(path=" "), "no name: give it one"),
        (line(steps=[]), "path 'p' has no steps: list its pages"),
        (line(outcome="won"), "path 'p' has the outcome 'won': write goal or fail"),
        (line(steps=[HOME, {"url": "ftp://u.edu/"}]), "path 'p', step 2: 'ftp://u.edu/' is not an http or https URL"),
        (line(steps=[HOME, {"url": "staff.html"}]), "step 2: 'staff.html' is not an http or https URL"),
        (line(steps=[{**HOME, "anchor": "x"}]), "step 1: no link leads to a first page"),
        (line(steps=[{**HOME, "label": " "}, HOME]), "step 1: the label is blank"),
        (line(steps=[{**HOME, "label": "goal"}, HOME]), "step 1: the label 'goal' has a meaning of its own"),
        (line(steps=[{**HOME, "label": "prefix(a)"}, HOME]), r"the label 'prefix\(a\)' has a meaning of its own"),
        (line(steps=[HOME, {**HOME, "label": "staff"}]), "the last page is labelled goal by the outcome, not 'staff'"),
        (line(steps=[HOME, {**HOME, "label": "fail"}]), "the label 'fail' has a meaning"),
        (line(path="first"), "path 'first' is in line 1 already"),
    ],
)
def test_what_is_wrong_with_a_line_is_said_with_its_number(tmp_path: Path, text: str, message: str) -> None:
    file = saved(tmp_path, line(path="first"), text)
    with pytest.raises(ForagerError, match=rf"^{re.escape(str(file))}, line 2: .*{message}"):
        list(read_paths(file))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match=r"nowhere cannot be read: No such file"):
        list(read_paths(tmp_path / "nowhere"))
    with pytest.raises(ForagerError, match="cannot be read: Is a directory"):
        list(read_paths(tmp_path))
    (tmp_path / "latin").write_bytes(b'{"path": "\xe9"}\n')
    with pytest.raises(ForagerError, match="latin, line 1: not UTF-8"):
        list(read_paths(tmp_path / "latin"))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(line().encode())[:-12])
    with pytest.raises(ForagerError, match=r"cut\.gz is damaged .*: get it again"):
        list(read_paths(tmp_path / "cut.gz"))
    (tmp_path / "long").write_bytes(b" " * (1 << 21))
    with pytest.raises(ForagerError, match="long, line 1: longer than 1,048,576 bytes"):
        list(read_paths(tmp_path / "long"))


def test_a_file_to_learn_from_has_a_goal(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match="none of 2 paths has the outcome goal: show at least one that arrives"):
        load_paths(saved(tmp_path, line(outcome="fail"), line(path="q", outcome="fail")))
    with pytest.raises(ForagerError, match="has no paths"):
        load_paths(saved(tmp_path))


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    text = DOC.read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "paths.jsonl").write_text(example, encoding="utf-8")
    shown = load_paths(tmp_path / "paths.jsonl")
    assert [path.outcome for path in shown.paths] == ["goal", "goal", "fail"]
    said = [re.findall(r"`([^`]+)`", row) for row in text.splitlines() if row.startswith(("| `cornell", "| `texas"))]
    assert said == [[path.id, *path.labels] for path in shown.paths]
    assert [concern.label for concern in shown.concerns] == ["people"]
    exec(compile(code.replace('"paths.jsonl"', repr(str(tmp_path / "paths.jsonl"))), str(DOC), "exec"), {})
