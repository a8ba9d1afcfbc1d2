from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from forager.errors import ForagerError
from forager.paths import PathOutcome, ShownPath, read_har

A, B = "http://a.org", "https://b.org"


def entry(
    second: int,
    url: str,
    referer: str | None = None,
    *,
    status: int = 200,
    to: str = "",
    kind: str | None = "document",
    dest: str | None = None,
    script: bool = False,
    media: str = "text/html; charset=utf-8",
    method: str = "GET",
) -> dict[str, Any]:
    """A request as browsers write it: the fields that a reader can rely on, and one that it must ignore."""
    headers = [{"name": "Accept", "value": "*/*"}]
    headers += [{"name": "Referer", "value": referer}] if referer else []
    headers += [{"name": "sec-fetch-dest", "value": dest}] if dest else []
    headers += [{"name": "X-Requested-With", "value": "XMLHttpRequest"}] if script else []
    return {
        "startedDateTime": f"2024-05-01T10:00:{second:02}.000+02:00",
        "request": {"url": url, "method": method, "headers": headers},
        "response": {"status": status, "redirectURL": to, "content": {"mimeType": media, "text": "<p>"}},
        **({"_resourceType": kind} if kind else {}),
        "timings": {"wait": 1},
    }


def read(folder: Path, *entries: dict[str, Any], goals: tuple[str, ...] = ()) -> tuple[ShownPath, ...]:
    file = folder / "browsed.har"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"log": {"version": "1.2", "entries": entries}}).encode())
    return read_har(file, goals)


def ways(paths: tuple[ShownPath, ...]) -> list[list[str]]:
    return [[step.url for step in path.steps] for path in paths]


def test_documents_in_order_of_time(tmp_path: Path) -> None:
    (path,) = read(
        tmp_path,
        entry(3, f"{A}/c", f"{A}/b"),
        entry(1, f"{A}/"),
        entry(1, f"{A}/style.css", f"{A}/", kind="stylesheet", media="text/css"),
        entry(2, f"{A}/b", f"{A}/"),
        goals=(f"{A}/c#top",),
    )
    assert [step.url for step in path.steps] == [f"{A}/", f"{A}/b", f"{A}/c"]
    assert (path.id, path.outcome) == ("browsed", PathOutcome.GOAL)
    assert {(step.anchor, step.label) for step in path.steps} == {(None, None)}


def test_the_referer_says_where_a_path_branches(tmp_path: Path) -> None:
    """b and d were opened from the first page, c from b; e was typed."""
    paths = read(
        tmp_path,
        entry(1, f"{A}/"),
        entry(2, f"{A}/b", f"{A}/"),
        entry(3, f"{A}/c", f"{A}/b"),
        entry(4, f"{A}/d", f"{A}/"),
        entry(5, f"{A}/e"),
        goals=(f"{A}/d",),
    )
    assert ways(paths) == [[f"{A}/", f"{A}/b", f"{A}/c"], [f"{A}/", f"{A}/d"], [f"{A}/e"]]
    assert [(path.id, path.outcome.value) for path in paths] == [
        ("browsed-1", "fail"),
        ("browsed-2", "goal"),
        ("browsed-3", "fail"),
    ]


def test_redirects_are_folded(tmp_path: Path) -> None:
    """The first page has its own referer. The second, after two redirects, has that of the first request."""
    paths = read(
        tmp_path,
        entry(1, f"{A}/"),
        entry(2, f"{A}/old", f"{A}/", status=301, to="/new", media="x-unknown"),
        entry(3, f"{A}/new", f"{A}/"),
        entry(4, f"{A}/go", f"{A}/new", status=302, to=f"{B}/hop"),
        entry(5, f"{B}/hop", status=307, to=f"{B}/there"),
        entry(6, f"{B}/there"),
    )
    assert ways(paths) == [[f"{A}/", f"{A}/new", f"{B}/there"]]


def test_an_origin_alone_stands_for_the_latest_page_of_it(tmp_path: Path) -> None:
    paths = read(
        tmp_path,
        entry(1, f"{A}/"),
        entry(2, f"{A}/list", f"{A}/"),
        entry(3, f"{B}/x", f"{A}/"),
        entry(4, f"{A}/other", f"{A}/"),
    )
    assert ways(paths) == [[f"{A}/", f"{A}/list", f"{B}/x"], [f"{A}/", f"{A}/other"]]


def test_the_same_way_again_is_no_new_path(tmp_path: Path) -> None:
    paths = read(
        tmp_path,
        entry(1, f"{A}/"),
        entry(2, f"{A}/b", f"{A}/"),
        entry(3, f"{A}/b", f"{A}/", status=304),
        entry(4, f"{A}/b", f"{A}/b"),
        entry(5, f"{A}/c", f"{A}/b", status=304, media="x-unknown"),  # answered from the cache
    )
    assert ways(paths) == [[f"{A}/", f"{A}/b", f"{A}/c"]]


def test_a_goal_ends_its_path(tmp_path: Path) -> None:
    paths = read(
        tmp_path,
        entry(1, f"{A}/"),
        entry(2, f"{A}/goal", f"{A}/"),
        entry(3, f"{A}/behind", f"{A}/goal"),
        entry(4, f"{A}/farther", f"{A}/behind"),
        goals=(f"{A}/goal", f"{A}/farther"),
    )
    assert ways(paths) == [[f"{A}/", f"{A}/goal"]]
    assert paths[0].outcome is PathOutcome.GOAL


@pytest.mark.parametrize(
    "other",
    [
        entry(2, f"{A}/x", f"{A}/", dest="iframe"),
        entry(2, f"{A}/x", f"{A}/", kind="xhr"),
        entry(2, f"{A}/x", f"{A}/", kind=None, dest="empty"),
        entry(2, f"{A}/x", f"{A}/", kind=None, media="application/json"),
        entry(2, f"{A}/x", f"{A}/", kind=None, script=True),
        entry(2, f"{A}/x", f"{A}/", media="application/pdf"),
        entry(2, f"{A}/x", f"{A}/", status=404),
        entry(2, f"{A}/x", f"{A}/", status=0),
        entry(2, f"{A}/x", f"{A}/", method="POST"),
        entry(2, "chrome://settings/", f"{A}/"),
    ],
)
def test_what_is_no_page_is_left_out(tmp_path: Path, other: dict[str, Any]) -> None:
    assert ways(read(tmp_path, entry(1, f"{A}/"), other)) == [[f"{A}/"]]


def test_browsers_that_do_not_name_the_kind(tmp_path: Path) -> None:
    paths = read(
        tmp_path,
        entry(1, f"{A}/", kind=None, dest="document"),
        entry(2, f"{A}/moved", f"{A}/", kind=None, status=302, to=f"{A}/b", media=""),
        entry(3, f"{A}/b", kind=None),
    )
    assert ways(paths) == [[f"{A}/", f"{A}/b"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html>", r"broken\.har is not JSON .*: export it again"),
        ("{}", "is not a HAR file: .*missing required field `log`.*developer tools"),
        ('{"log": {"entries": [{"startedDateTime": "noon"}]}}', r"is not a HAR file: .*entries\[0\]\.startedDateTime"),
        ('{"log": {"entries": []}}', "has no page among its 0 requests: keep the log while browsing"),
    ],
)
def test_files_that_are_no_har(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "broken.har").write_text(text)
    with pytest.raises(ForagerError, match=message):
        read_har(tmp_path / "broken.har")


def test_a_goal_must_be_a_url(tmp_path: Path) -> None:
    with pytest.raises(ForagerError, match=re.escape("goal 'b.org' is not an http or https URL")):
        read(tmp_path, entry(1, f"{A}/"), goals=("b.org",))
