"""New pages as a feed that any reader takes, whatever strangers have written into titles."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.collection.feed import ATOM, atom_feed
from forager.store import Catalogue, Entry
from tests.store.test_store import filled

PROJECT = "6f1f4a52-6d7e-4f0e-8d3c-8a3f5b1c2d3e"
FOUND = datetime(2026, 11, 17, 8, 30, 1, 999, UTC)
NAN = float("nan")


def page(url: str, title: str, relevance: float = 0.75, parent: str | None = "http://a.test/", seq: int = 1) -> Entry:
    asked = ("page", "", "", 200, parent, None if parent is None else 0, 1, 0.5, relevance, 0.5)
    return Entry(seq, seq, url, *asked, None, "nb", "", FOUND, 0.1, title, None, None, None)


def texts(element: ElementTree.Element, name: str) -> list[str]:
    return [each.text or "" for each in element.findall(f"{{{ATOM}}}{name}")]


def test_a_feed_has_what_atom_wants() -> None:
    pages = [
        page("http://a.test/1?a=1&b=2", "Owls <of> the \"north\" & 'south' \u200fאב"),
        page("http://a.test/2", " "),
    ]
    written = atom_feed(PROJECT, "owls: new pages", pages)
    assert written.isascii()
    feed = ElementTree.fromstring(written)
    assert feed.tag == f"{{{ATOM}}}feed"
    assert texts(feed, "id") == [f"urn:uuid:{PROJECT}"]
    assert texts(feed, "title") == ["owls: new pages"]
    assert texts(feed, "updated") == ["2026-11-17T08:30:01Z"]
    assert len(feed.findall(f"{{{ATOM}}}author/{{{ATOM}}}name")) == 1
    first, second = feed.findall(f"{{{ATOM}}}entry")
    assert texts(first, "title") == ["Owls <of> the \"north\" & 'south' אב"]
    assert texts(second, "title") == ["http://a.test/2"]
    assert texts(first, "published") == texts(first, "updated") == ["2026-11-17T08:30:01Z"]
    assert [link.attrib for link in first.findall(f"{{{ATOM}}}link")] == [
        {"rel": "alternate", "href": "http://a.test/1?a=1&b=2"}
    ]
    assert texts(first, "summary") == ["relevance 0.750; found on http://a.test/"]


def test_ids_stay_and_belong_to_project_and_url() -> None:
    def ids(project: str, *urls: str) -> list[str]:
        feed = ElementTree.fromstring(atom_feed(project, "x", [page(url, url) for url in urls]))
        return [id for entry in feed.findall(f"{{{ATOM}}}entry") for id in texts(entry, "id")]

    a, b = ids(PROJECT, "http://a.test/1", "http://a.test/2")
    assert ids(PROJECT, "http://a.test/2", "http://a.test/1") == [b, a]
    assert a != b != ids(str(UUID(int=1)), "http://a.test/2")[0]
    assert UUID(a).version == 5


def test_a_feed_without_pages() -> None:
    feed = ElementTree.fromstring(atom_feed(PROJECT, "none yet", []))
    assert datetime.fromisoformat(texts(feed, "updated")[0]).tzinfo is not None


@given(st.text(), st.text(), st.none() | st.text(), st.floats(0, 1) | st.just(NAN))
def test_whatever_titles_hold_it_is_xml(title: str, name: str, parent: str | None, relevance: float) -> None:
    written = atom_feed(PROJECT, name, [page("http://a.test/[/b]1", title, relevance, parent)])
    feed = ElementTree.fromstring(written)
    [entry] = feed.findall(f"{{{ATOM}}}entry")
    [shown] = texts(entry, "title")
    assert shown.isprintable()
    kept = [letter for letter in title if letter.isprintable() and not letter.isspace()]
    assert [letter for letter in shown if not letter.isspace()] == (kept or list("http://a.test/[/b]1"))


@pytest.mark.parametrize("evil", ["]]>", "<!--", "&#0;", "\x00\x0b\x1f\x7f\x85\ufffe\uffff", "\ud800", "<?xml?>"])
def test_signs_that_end_other_documents(evil: str) -> None:
    ElementTree.fromstring(atom_feed(PROJECT, evil, [page("http://a.test/?]]>&amp;<", evil, parent=evil)]))


def test_pages_of_a_project(tmp_path: Path) -> None:
    filled(tmp_path, 9).close()
    with Catalogue(tmp_path) as catalogue:
        pages = list(catalogue.pages(order="newest"))
        feed = ElementTree.fromstring(atom_feed(catalogue.project, "p", pages))
    assert [link.attrib["href"] for link in feed.iter(f"{{{ATOM}}}link")] == [page.url for page in pages]
