"""Reads the dumps of the Open Directory, `content.rdf.u8` and `structure.rdf.u8`: gigabytes in constant memory.

Real dumps are not well-formed XML: some places have control characters, bad UTF-8 or bare ampersands, and there an XML
parser would stop. So the file is cut at `<Topic` and `<ExternalPage`, and each block is parsed alone; a malformed block
loses only itself. For speed, many blocks are parsed at once, and one by one only where that fails. The namespaces are
those that the root declares.

A page without a `<topic>` belongs to the Topic before it. Aliases are ignored, because they repeat what `symbolic`
says. A block inside a comment counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError, fromstring
from xml.parsers.expat import ExpatError, ParserCreate

from forager.files import open_bytes
from forager.topics.directory.listing import (
    Category,
    DirectoryItem,
    ImportProgress,
    Listing,
    Relation,
    SkipReason,
    SourceFault,
    dotted,
    one_line,
)
from forager.web.urls import RULES

CHUNK = 1 << 18
LONGEST = 8 << 20  # bytes of a block, so that one without an end does not fill the memory
RELATIONS = frozenset({"narrow", "related", "symbolic", "altlang"})
_BLOCK = re.compile(rb"<(ExternalPage|Topic)(?=[\s>/])")
_ALONE = re.compile(rb"<[^<>]*/>")  # a block of one tag
_ROOT = re.compile(rb"<(?:\w+:)?RDF(\s[^>]*)>")
_NAMESPACES = b' xmlns:r="http://www.w3.org/TR/RDF/" xmlns:d="http://purl.org/dc/elements/1.0/"'


@dataclass(frozen=True, slots=True)
class RdfBlock:
    """A Topic or ExternalPage, as it stands in the file."""

    text: bytes
    line: int
    byte: int
    whole: bool  # whether it has an end


def read_rdf(file: Path, progress: ImportProgress) -> Iterator[DirectoryItem]:
    """Its pages as listings and its Topics as categories, in the order of the file."""
    with open_bytes(file) as stream:
        yield from _Dump(str(file), progress).items(stream)


class _Dump:
    def __init__(self, source: str, progress: ImportProgress) -> None:
        self._source, self._progress = source, progress
        self._head = b"<f" + _NAMESPACES + b">"
        self._topic = ""  # of the Topic last seen

    def items(self, stream: BinaryIO) -> Iterator[DirectoryItem]:
        for blocks in self._batches(stream):
            for element in self._elements(blocks):
                item = self._page(element) if _local(element.tag) == "ExternalPage" else self._category(element)
                if item is not None:
                    yield item

    # ---- cutting

    def _batches(self, stream: BinaryIO) -> Iterator[list[RdfBlock]]:
        """The blocks of the file, several at a time. The last block of a chunk waits for the next chunk."""
        held, byte, line = b"", 0, 1
        while chunk := stream.read(CHUNK):
            self._progress.advance(len(chunk))
            found = held + chunk
            if byte == 0:
                self._declare(found)
            starts = [match.start() for match in _BLOCK.finditer(found)]
            end = starts[-1] if starts else max(0, len(found) - len(b"<ExternalPage "))
            if len(found) - end > LONGEST:
                end = len(found)
            yield self._blocks(found[:end], starts, byte, line)
            held, byte, line = found[end:], byte + end, line + found.count(b"\n", 0, end)
        yield self._blocks(held, [match.start() for match in _BLOCK.finditer(held)], byte, line)

    def _blocks(self, found: bytes, starts: list[int], byte: int, line: int) -> list[RdfBlock]:
        blocks, counted = [], 0
        for start, after in pairwise([*(start for start in starts if start < len(found)), len(found)]):
            line, counted = line + found.count(b"\n", counted, start), start
            blocks.append(_block(found[start:after], line, byte + start))
        return blocks

    def _declare(self, found: bytes) -> None:
        """Use the namespaces of the root, if they can be parsed."""
        root = _ROOT.search(found)
        if root is None:
            return
        head = b"<f" + root[1] + b">"
        try:
            fromstring(head + b"</f>")
        except ParseError:
            return
        self._head = head

    # ---- parsing

    def _elements(self, blocks: list[RdfBlock]) -> Iterator[Element]:
        if all(block.whole for block in blocks):
            try:
                together = fromstring(self._wrapped(b"\n".join(block.text for block in blocks)))
            except ParseError:
                pass
            else:
                if len(together) == len(blocks):  # else a block has swallowed others, for instance in an open comment
                    yield from together
                    return
        for block in blocks:
            element = self._alone(block)
            if element is not None:
                yield element

    def _wrapped(self, text: bytes) -> bytes:
        return b"".join((self._head, text, b"</f>"))

    def _alone(self, block: RdfBlock) -> Element | None:
        if not block.whole:
            self._progress.fault(SourceFault(self._source, block.line, block.byte, "the block has no end"))
            return None
        try:
            return fromstring(self._wrapped(block.text))[0]
        except ParseError as error:
            at = self._place(block)
            line = block.line + block.text.count(b"\n", 0, at)
            what = str(error).partition(":")[0]
            self._progress.fault(SourceFault(self._source, line, block.byte + at, what))
            return None

    def _place(self, block: RdfBlock) -> int:
        """The place in a block where the parser stops."""
        parser = ParserCreate(namespace_separator=" ")
        try:
            parser.Parse(self._wrapped(block.text), True)
        except ExpatError:
            return min(len(block.text), max(0, parser.ErrorByteIndex - len(self._head)))
        return 0

    # ---- meaning

    def _page(self, element: Element) -> Listing | None:
        texts = {_local(child.tag): one_line(child.text) for child in element}
        category = _category_name(texts.get("topic") or self._topic)
        url = RULES.canonical(_attribute(element, "about"))
        if url is None:
            self._progress.skip(SkipReason.NOT_HTTP)
            return None
        if not category:
            self._progress.skip(SkipReason.NO_CATEGORY)
            return None
        return Listing(url, category, texts.get("Title", ""), texts.get("Description", ""))

    def _category(self, element: Element) -> Category | None:
        self._topic = _attribute(element, "id")
        relations, description = [], ""
        for child in element:
            kind = _local(child.tag).rstrip("0123456789")
            if kind in RELATIONS:
                relations.append(_relation(kind, _attribute(child, "resource")))
            elif kind == "Description":
                description = one_line(child.text)
        name = _category_name(self._topic)
        return Category(name, description, tuple(relations)) if name else None


def _block(text: bytes, line: int, byte: int) -> RdfBlock:
    """The block at the beginning of a text that has no other block."""
    alone = _ALONE.match(text)
    if alone:
        return RdfBlock(alone[0], line, byte, True)
    close = b"</ExternalPage>" if text.startswith(b"<E") else b"</Topic>"
    end = text.find(close)
    return RdfBlock(text, line, byte, False) if end < 0 else RdfBlock(text[: end + len(close)], line, byte, True)


@lru_cache(maxsize=1024)  # the pages of a category follow one another
def _category_name(path: str) -> str:
    parts = path.split("/")
    return dotted(parts[1:] if parts[0] == "Top" else parts)


def _relation(kind: str, resource: str) -> Relation:
    """From `Label:Top/A/B` for kinds with labels; names of categories may have colons too."""
    label, colon, target = resource.partition(":")
    if kind in ("symbolic", "altlang") and colon and "/" not in label:
        return Relation(kind, _category_name(target), label)
    return Relation(kind, _category_name(resource))


def _attribute(element: Element, name: str) -> str:
    return next((value for key, value in element.attrib.items() if _local(key) == name), "")


@lru_cache(maxsize=1024)
def _local(tag: str) -> str:
    """A name without its namespace."""
    return tag.rpartition("}")[2]
