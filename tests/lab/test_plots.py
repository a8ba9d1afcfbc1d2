"""Pictures: told apart by eye, the same bytes every time, readable by day and by night."""

from __future__ import annotations

import builtins
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager_lab import plots
from forager_lab.plots import COLOURS, DARK, KNOWN, PAPER, strokes

NAMES = [*KNOWN, "best-first:tau=0.3", "plug-in <b> $x$"]


def report(names: list[str]) -> dict[str, Any]:
    def row(name: str, at: int) -> dict[str, Any]:
        level = (at + 1) / (len(names) + 1)
        points = [
            {"pages": n, "harvest": level, "ci": 0.05, "loss_by_critic": 1 - level, "loss_by_critic_ci": None}
            for n in (1, 10, 20)
        ]
        group = {"curve": [{"pages": n, "recall": level, "ci": None} for n in (1, 10)]}
        return {"strategy": name, "curve": points, "groups": {"north & west": group}}

    pair = {"measure": "harvest", "at": "R/2", "first": names[0], "second": names[1], "difference": 0.1,
            "ci": None, "student_ci": 0.05, "verdict": "better"}  # fmt: skip
    return {"results": [row(name, at) for at, name in enumerate(names)], "places": {"R": 10, "2R": 40},
            "pairwise": [pair]}  # fmt: skip


QUALITY = {"reliability": [{"pages": 5, "given": 0.1, "relevant": 0.2}, {"pages": 500, "given": 0.9, "relevant": 0.8}]}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_colour_can_be_seen_by_day_and_by_night() -> None:
    assert all(contrast(colour, paper) >= 3 for colour in COLOURS for paper in (PAPER, DARK))


def test_no_two_strategies_look_alike_and_the_known_ones_never_change() -> None:
    alone = [f"mine:n={n}" for n in range(18)]
    found = strokes([*alone, *KNOWN])
    assert len(set(found.values())) == len(found) == 38
    assert {name: found[name] for name in KNOWN} == KNOWN
    assert list(found) == [*alone, *KNOWN]
    assert len({stroke.colour for stroke in strokes(alone[:10]).values()}) == 10
    assert len(strokes([f"mine:n={n}" for n in range(50)])) == 50


@given(st.lists(st.floats(0, 1), min_size=1, max_size=25))
def test_names_at_the_ends_keep_their_order_and_do_not_touch(wanted: list[float]) -> None:
    wanted.sort()
    places = plots.spread(wanted, 0.04)
    assert all(later - earlier >= 0.04 - 1e-9 for earlier, later in pairwise(places))
    assert places[0] >= -1e-9
    assert places[-1] <= 1 + 1e-9


def test_names_far_apart_stay_where_they_are() -> None:
    assert plots.spread([0.1, 0.5, 0.9], 0.04) == pytest.approx([0.1, 0.5, 0.9])
    assert plots.spread([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
    assert plots.spread([1.0, 1.0], 0.1) == pytest.approx([0.9, 1.0])


def test_pictures_are_svg_and_png_and_the_same_every_time() -> None:
    shown = report(NAMES[:3])
    first, again = plots.harvest_curves(shown), plots.harvest_curves(shown)
    assert first == again
    assert first.png.startswith(b"\x89PNG")
    assert "dc:date" not in first.svg
    ET.fromstring(first.svg)


@pytest.mark.parametrize(
    "picture",
    [
        lambda: plots.harvest_curves(report(NAMES)),
        lambda: plots.loss_curves(report(NAMES)),
        lambda: plots.harvest_panels(report(NAMES)),
        lambda: plots.recall_curves(report(NAMES), "north & west"),
        lambda: plots.differences(report(NAMES), NAMES[1], "harvest", "R/2", "difference"),
        lambda: plots.reliability(QUALITY),
    ],
)  # fmt: skip
def test_a_picture_in_a_page_stands_alone(picture: Any) -> None:
    drawn = picture().inline("mine")
    tree = ET.fromstring(drawn)
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(set(ids)) == len(ids)
    assert all(name and name.startswith("mine-") for name in ids)
    for element in tree.iter():
        for key, value in element.attrib.items():
            if key.endswith("href"):
                assert value.startswith("#mine-")
                assert value[1:] in ids
    assert "<style" not in drawn
    assert "fill: #ffffff" not in drawn
    assert "var(--ink)" in drawn
    assert tree.get("width") is None
    assert tree.get("viewBox")


def test_all_names_are_written() -> None:
    svg = plots.harvest_curves(report(NAMES)).svg
    texts = {element.text for element in ET.fromstring(svg).iter() if element.tag.endswith("text")}
    assert set(NAMES) <= texts
    assert {"R"} <= texts
    assert "2R" not in texts  # the crawl did not get so far


def test_bands_only_where_they_can_be_told_apart() -> None:
    few, many = (plots.harvest_curves(report(NAMES[:n])).svg for n in (plots.BANDED, plots.BANDED + 1))
    assert few.count("fill-opacity: 0.16") == plots.BANDED
    assert "fill-opacity: 0.16" not in many


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return genuine(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ForagerError, match=r"install forager\[lab\]"):
        plots.harvest_curves(report(NAMES))
