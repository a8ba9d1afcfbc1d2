from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from forager.errors import ForagerError
from forager.paths import LinkGraph, read_edges
from forager.types import Url
from tests.paths.webs import Edge, mask, web, webs
from tests.shared import WEBS, needs


@given(webs())
def test_a_graph_has_each_edge_once(drawn: tuple[int, list[Edge], list[int]]) -> None:
    pages, edges, left_out = drawn
    graph = web(pages, edges)
    assert list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)) == sorted(set(edges))
    kept = graph.without(mask(pages, *left_out))
    assert list(zip(kept.sources.tolist(), kept.targets.tolist(), strict=True)) == [
        (u, v) for u, v in sorted(set(edges)) if u not in left_out and v not in left_out
    ]
    assert len(kept) == len(graph) == pages


def test_children_of_several_pages() -> None:
    graph = web(4, [(0, 1), (0, 2), (2, 3)])
    rows, children = graph.children(np.array([2, 1, 0, 2], np.int32))
    assert list(zip(rows.tolist(), children.tolist(), strict=True)) == [(0, 3), (2, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("offsets", "targets"), [([0, 2], [0]), ([1, 1], [0]), ([0, 2, 1], [0]), ([0, 1], [1]), ([0, 1], [-1])]
)
def test_arrays_that_are_no_graph(offsets: list[int], targets: list[int]) -> None:
    with pytest.raises(ValueError, match="must"):
        LinkGraph(np.array(offsets, np.int64), np.array(targets, np.int32))
    with pytest.raises(ValueError, match=r"edges must join pages 0\.\.1"):
        web(2, [(0, 2)])


def test_a_file_of_edges(tmp_path: Path) -> None:
    file = tmp_path / "edges.tsv.gz"
    lines = ["source\ttarget", "# comment", "", "http://a.org/x\thttp://A.org/y", "ftp://a.org/z\thttp://a.org/y"]
    lines += ["http://a.org/y\thttp://a.org/x", "http://a.org/x#part\thttp://a.org/y"]
    file.write_bytes(gzip.compress("\r\n".join(lines).encode()))
    edges = read_edges(file)
    assert edges.urls == ("http://a.org/x", "http://a.org/y")
    assert list(zip(edges.graph.sources.tolist(), edges.graph.targets.tolist(), strict=True)) == [(0, 1), (1, 0)]
    assert edges.passed_over == 1
    assert edges.mask([Url("http://a.org/y"), Url("http://else.org/")]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("http://a.org/", "line 2: 1 columns: a line is a source and a target with one tab between"),
        ("http://a.org/\thttp://b.org/\t3", "line 2: 3 columns"),
        ("http://a.org/\tpage.html", "line 2: 'page.html' is not a URL"),
        ("http://a.org/\thttp://", "line 2: 'http://' is not a URL"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "edges.tsv"
    file.write_text(f"http://a.org/\thttp://b.org/\n{line}\n")
    with pytest.raises(ForagerError, match=f"^{re.escape(str(file))}, {message}"):
        read_edges(file)


def test_a_file_without_links(tmp_path: Path) -> None:
    (tmp_path / "edges.tsv").write_text("source\ttarget\n")
    with pytest.raises(ForagerError, match="has no links"):
        read_edges(tmp_path / "edges.tsv")


@needs("wikispeedia")
def test_the_edges_of_wikispeedia() -> None:
    edges = read_edges(WEBS / "wikispeedia" / "edges.tsv.gz")
    assert (len(edges.urls), len(edges.graph.targets), edges.passed_over) == (5_232, 136_421, 0)


@needs("webkb")
def test_the_edges_of_webkb_have_some_that_are_not_http() -> None:
    edges = read_edges(WEBS / "webkb" / "edges.tsv.gz")
    assert len(edges.graph.targets) + edges.passed_over == 15_609
    assert edges.passed_over == 12
