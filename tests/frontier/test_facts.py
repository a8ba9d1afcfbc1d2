"""The table of URLs and the edges, compared with dictionaries and lists."""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.frontier.edges import Edges
from forager.frontier.facts import Facts
from forager.frontier.url_table import UrlTable
from forager.types import Ragged, ScoredLinks, Url
from forager.web.urls import host, site

NAMES = st.integers(0, 30).map(lambda n: Url(f"http://h{n % 4}.{'a.org' if n % 3 else 'b.co.uk'}/{n}"))


@given(st.lists(st.lists(NAMES, max_size=12), max_size=12))
def test_ids_count_up_in_the_order_of_discovery(batches: list[list[Url]]) -> None:
    addresses, known = UrlTable(), dict[Url, int]()
    for batch in batches:
        expected = [known.setdefault(url, len(known)) for url in batch]
        assert addresses.intern(batch).tolist() == expected
    assert len(addresses) == len(known)
    assert [addresses[id] for id in range(len(addresses))] == list(known)
    assert addresses.find(list(known)).tolist() == list(known.values())
    assert addresses.find([Url("http://never.org/")]).tolist() == [-1]
    assert [addresses.host(id) for id in known.values()] == [host(url) for url in known]
    hosts = dict.fromkeys(host(url) for url in known)
    assert addresses.host_count == len(hosts)
    by_site = {name: int(addresses.sites[number]) for number, name in enumerate(hosts)}
    assert all((site(a) == site(b)) == (by_site[a] == by_site[b]) for a in hosts for b in hosts)


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=8), st.integers(0, 8))
def test_ids_are_the_same_however_few_are_remembered(batches: list[list[int]], remembered: int) -> None:
    addresses, known = UrlTable(), dict[Url, int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("forager.frontier.url_table.RECENT", remembered)
        patch.setattr("forager.frontier.url_table.SHORT", 25)  # half of them are longer
        for batch in batches:
            urls = [Url(f"http://a.org/{'x' * number * 2}") for number in batch]
            assert addresses.intern(urls).tolist() == [known.setdefault(url, len(known)) for url in urls]
            assert len(addresses._recent) <= remembered
            assert all(len(url) <= 25 for url in addresses._recent)


PAGE = st.lists(st.integers(0, 9), max_size=8)
EVENT = st.one_of(st.tuples(st.just("page"), PAGE), st.tuples(st.just("moved"), st.tuples(*[st.integers(0, 9)] * 2)))


@given(st.lists(EVENT, max_size=15), st.booleans())
def test_edges_into_a_target_are_all_there_oldest_first(events: list[tuple[str, list[int]]], clued: bool) -> None:
    """A page may link to a target twice, and a target may redirect to another."""
    edges, targets, clues = Edges(), list[int](), list[list[int]]()
    for number, (kind, what) in enumerate(events):
        if kind == "page":
            rows = [[number, place] for place in range(len(what))]
            scored = ScoredLinks(
                np.arange(len(what), dtype=np.float32),
                state=np.full((len(what), 1), number, np.float32),
                clues=Ragged.of(rows) if clued else None,
            )
            appended = edges.append(number, np.array(what, np.int32), scored)
            assert appended.tolist() == list(range(len(targets), len(targets) + len(what)))
            targets += what
            clues += rows
        elif what[0] != what[1]:
            edges.redirect(*what)
            targets = [what[1] if target == what[0] else target for target in targets]
    for target in range(10):
        rows_into = [row for row, each in enumerate(targets) if each == target]
        assert edges.into(target).tolist() == rows_into
    everything = np.arange(len(targets), dtype=np.int32)
    assert edges.targets.tolist() == targets
    assert [edges.clues(everything)[row].tolist() for row in range(len(targets))] == (
        clues if clued else [[]] * len(targets)
    )
    offsets, seen, _ = edges.csr(20)
    assert offsets[-1] == len(targets)
    assert all(
        sorted(seen[offsets[page] : offsets[page + 1]]) == sorted(np.array(targets)[edges.sources == page].tolist())
        for page in range(15)
    )


def test_older_edges_that_a_redirect_brings_are_seen_by_who_asked_before() -> None:
    edges = Edges()
    for page, target in enumerate((3, 4)):
        edges.append(page, np.array([target], np.int32), ScoredLinks(np.zeros(1, np.float32)))
    assert edges.into(4).tolist() == [1]
    edges.redirect(3, 4)
    assert edges.into(4).tolist() == [0, 1]
    assert edges.into(3).tolist() == []


def test_the_clues_of_a_trace_are_those_of_its_links_however_late_they_are_read(tmp_path: Path) -> None:
    facts, kept = Facts(folder=tmp_path), np.array([True])
    ids = facts.intern([Url(f"http://a.org/{name}") for name in "uvw"])
    for source in (0, 1):
        scored = ScoredLinks(np.full(1, source, np.float32), clues=Ragged.of([[source, 7]]))
        facts.found(source, ids[2:], scored, kept)
    trace = facts.trace(2, 2, 0, 1.0)
    facts.found(2, ids[:1], ScoredLinks(np.ones(1, np.float32), clues=Ragged.of([[9]])), kept)
    for inlinks in (trace.inlinks, copy(trace.inlinks)):
        assert [inlinks.clues[row].tolist() for row in range(2)] == [[1, 7], [0, 7]]
