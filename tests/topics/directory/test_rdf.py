"""Dumps of the Open Directory, whole and damaged."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.topics.directory import Category, DirectoryItem, ImportProgress, Listing, Relation, SkipReason, read_source
from forager.topics.directory import rdf as rdf_module
from tests.shared import WEBS, needs

SAMPLES = WEBS / "dmoz-samples"
HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<RDF xmlns:r="http://www.w3.org/TR/RDF/"'
    ' xmlns:d="http://purl.org/dc/elements/1.0/" xmlns="http://dmoz.org/rdf/">\n'
)
FOOT = "</RDF>\n"


def page(number: int, title: str = "", topic: str | None = "Top/Arts/Music") -> str:
    belongs = "" if topic is None else f"    <topic>{topic}</topic>\n"
    return (
        f'  <ExternalPage about="http://a.test/{number}">\n    <d:Title>{title or f"Page {number}"}</d:Title>\n'
        f"    <d:Description>About  {number} &amp; more</d:Description>\n{belongs}  </ExternalPage>\n"
    )


def topic(name: str, inside: str = "") -> str:
    return f'  <Topic r:id="{name}">\n    <catid>1</catid>\n{inside}  </Topic>\n'


def read(
    folder: Path, text: str | bytes, *, strict: bool = False, name: str = "dump.rdf.u8"
) -> tuple[list[DirectoryItem], ImportProgress]:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    progress = ImportProgress(strict=strict)
    return list(read_source(file, progress)), progress


def listings(items: list[DirectoryItem]) -> list[Listing]:
    return [item for item in items if isinstance(item, Listing)]


def test_pages_and_topics_in_order(tmp_path: Path) -> None:
    text = HEAD + topic("Top/Arts/Music") + page(1) + page(2, "B &lt;b&gt;") + topic("Top/Arts/Film_2.0") + FOOT
    items, progress = read(tmp_path, text)
    assert items == [
        Category("Arts.Music"),
        Listing("http://a.test/1", "Arts.Music", "Page 1", "About 1 & more"),
        Listing("http://a.test/2", "Arts.Music", "B <b>", "About 2 & more"),
        Category("Arts.Film_2_0"),
    ]
    assert progress.bytes == len(text)
    assert not progress.skipped


def test_a_page_without_a_topic_belongs_to_the_one_before(tmp_path: Path) -> None:
    items, _ = read(tmp_path, HEAD + topic("Top/Home") + page(1, topic=None) + topic("Top/News") + page(2, topic=None))
    assert [item.category for item in listings(items)] == ["Home", "News"]


def test_relations_of_the_structure(tmp_path: Path) -> None:
    inside = (
        "<d:Title>Arts</d:Title><d:Description>All the &lt;b&gt;arts&lt;/b&gt;</d:Description>"
        '<narrow1 r:resource="Top/Arts/Music"></narrow1><narrow r:resource="Top/Arts/Film"/>'
        '<symbolic2 r:resource="Type:Top/Arts/Graphic_Design/Typography"/><related r:resource="Kids_and_Teens/Arts"/>'
        '<altlang r:resource="Euskara:Top/World/Euskara/Kultura"/><related r:resource="Top/Arts/Film:Noir"/>'
    )
    alias = '<Alias r:id="Type:Top/X"><d:Title>Type</d:Title><Target r:resource="Top/X"/></Alias>'
    items, _ = read(tmp_path, HEAD + topic("Top/Arts", inside) + alias + topic("Top/Empty") + FOOT)
    assert items == [
        Category(
            "Arts",
            "All the <b>arts</b>",
            (
                Relation("narrow", "Arts.Music"),
                Relation("narrow", "Arts.Film"),
                Relation("symbolic", "Arts.Graphic_Design.Typography", "Type"),
                Relation("related", "Kids_and_Teens.Arts"),
                Relation("altlang", "World.Euskara.Kultura", "Euskara"),
                Relation("related", "Arts.Film:Noir"),
            ),
        ),
        Category("Empty"),
    ]


def test_gzip_and_other_prefixes(tmp_path: Path) -> None:
    text = (
        '<x:RDF xmlns:x="u:1" xmlns:rdf="u:2" xmlns:dc="u:3" xmlns="u:4">\n<Topic rdf:id="Top/A"/>\n'
        '<ExternalPage rdf:about="http://a.test/"><dc:Title>T</dc:Title><topic>Top/A</topic></ExternalPage></x:RDF>'
    )
    items, progress = read(tmp_path, gzip.compress(text.encode()), name="content.rdf.u8.gz")
    assert items == [Category("A"), Listing("http://a.test/", "A", "T")]
    assert progress.bytes == len(text)


def test_a_cut_gzip_is_told(tmp_path: Path) -> None:
    text = gzip.compress((HEAD + page(1) * 1000).encode())
    with pytest.raises(ForagerError, match=r"is damaged .* get it again"):
        read(tmp_path, text[:-50])


WRONG = {
    "an ampersand": "AT&T",
    "a control character": "one\x03two",
    "an open tag": "<b>bold",
    "an unknown entity": "caf&eacute;",
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_malformed_page_is_skipped_and_its_place_told(tmp_path: Path, kind: str) -> None:
    title = WRONG[kind]
    text = HEAD + page(1) + page(2, title) + page(3) + FOOT
    items, progress = read(tmp_path, text)
    assert [item.url[-1] for item in listings(items)] == ["1", "3"]
    assert progress.skipped == {SkipReason.MALFORMED: 1}
    (fault,) = progress.faults
    assert fault.source.endswith("dump.rdf.u8")
    lines = text.splitlines(keepends=True)
    assert title in lines[fault.line - 1]
    before = len("".join(lines[: fault.line - 1]).encode())
    assert before <= fault.byte < before + len(lines[fault.line - 1].encode())
    with pytest.raises(ForagerError, match=rf"dump.rdf.u8 line {fault.line}, byte {fault.byte}: .* leave out --strict"):
        read(tmp_path, text, strict=True)


def test_the_byte_of_bad_utf_8(tmp_path: Path) -> None:
    text = (HEAD + page(1) + page(2, "caf# été") + page(3)).encode().replace(b"#", b"\xe9")
    items, progress = read(tmp_path, text)
    assert [item.url[-1] for item in listings(items)] == ["1", "3"]
    assert progress.faults[0].byte == text.index(b"\xe9")
    assert progress.faults[0].line == text[: progress.faults[0].byte].count(b"\n") + 1


def test_blocks_without_an_end(tmp_path: Path) -> None:
    open_block = page(2).replace("</ExternalPage>", "")
    text = HEAD + page(1) + open_block + topic("Top/A") + page(3) + page(4)[:-5]
    items, progress = read(tmp_path, text)
    assert [item.url[-1] for item in listings(items)] == ["1", "3"]
    assert [fault.byte for fault in progress.faults] == [
        text.index("<ExternalPage", text.index("Page 1")),
        text.rindex("<Ext"),
    ]
    assert {fault.what for fault in progress.faults} == {"the block has no end"}


def test_a_comment_left_open_swallows_no_other_block(tmp_path: Path) -> None:
    text = HEAD + page(1) + page(2, "<!-- open") + page(3) + page(4, "close -->") + page(5) + FOOT
    items, progress = read(tmp_path, text)
    assert [item.url[-1] for item in listings(items)] == ["1", "3", "4", "5"]
    assert progress.skipped[SkipReason.MALFORMED] == 1


def test_what_is_well_formed_and_no_listing(tmp_path: Path) -> None:
    text = HEAD + page(1).replace("http://a", "ftp://a") + page(2, topic=None) + page(3, topic="Top") + topic("") + FOOT
    items, progress = read(tmp_path, text, strict=True)
    assert items == []
    assert progress.skipped == {SkipReason.NOT_HTTP: 1, SkipReason.NO_CATEGORY: 2}


def test_a_block_without_end_is_not_kept_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdf_module, "CHUNK", 64)
    monkeypatch.setattr(rdf_module, "LONGEST", 1000)
    file = tmp_path / "dump.rdf"
    file.write_text(HEAD + page(1) + '<Topic r:id="Top/A">' + "x" * 5000 + page(2) + FOOT)
    held: list[int] = []
    progress = ImportProgress(each=lambda progress: held.append(0 if progress.faults else progress.bytes))
    items = list(read_source(file, progress))
    assert [item.url[-1] for item in listings(items)] == ["1", "2"]
    assert progress.skipped[SkipReason.MALFORMED] == 1
    assert max(held) < len(HEAD + page(1)) + 1200  # given up long before its end


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    chunk=st.integers(20, 700),
    titles=st.lists(st.sampled_from(["good", "née", "AT&T", "a\x01b", "<i>", "<!--", "]]>", "x -->"]), max_size=12),
)
def test_chunks_of_any_size_give_the_same(tmp_path: Path, chunk: int, titles: list[str]) -> None:
    """Where a file is cut into chunks does not matter, and one parser a block is the reference."""
    text = HEAD + "".join(topic(f"Top/T{i}") + page(i, title) for i, title in enumerate(titles)) + FOOT
    whole, told = read(tmp_path, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rdf_module, "CHUNK", chunk)
        pieces, told_again = read(tmp_path, text)
    assert pieces == whole
    assert told_again.faults == told.faults
    good = [i for i, title in enumerate(titles) if title in ("good", "née", "x -->")]
    assert [item.url for item in listings(whole)] == [f"http://a.test/{i}" for i in good]


# ---- cuts of the real thing


@needs("dmoz-samples")
def test_the_content_sample() -> None:
    progress = ImportProgress(strict=True)
    items = list(read_source(SAMPLES / "content_sample.rdf.u8", progress))
    assert len(listings(items)) == 6
    assert not progress.skipped
    last = listings(items)[-1]
    assert (last.url, last.category) == ("http://www.shoonch.com/", "World.Armenian.Առողջություն")
    assert listings(items)[-2].category == "Arts.Animation.Cartoons.Titles.P.PB_&_J_Otter"


@needs("dmoz-samples")
def test_the_structure_sample() -> None:
    world, arts = read_source(SAMPLES / "structure_sample.rdf.u8", ImportProgress(strict=True))
    assert world == Category("World", "", (Relation("narrow", "Arts"), Relation("related", "Kids_and_Teens")))
    assert isinstance(arts, Category)
    assert len(arts.relations) == 16
    assert arts.description.startswith('<img src="/img/moz/mzcolor.gif"')


@needs("dmoz-samples")
def test_the_example_without_topics_in_its_pages() -> None:
    file = SAMPLES / "dmoz-content-example.xml"
    items = list(read_source(file, ImportProgress(strict=True)))
    assert len(listings(items)) == len(re.findall("<ExternalPage", file.read_text())) == 70
    assert {item.category for item in listings(items) if "sourceforge" in item.url} == {"Computers.STX"}
