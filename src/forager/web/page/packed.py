"""A parsed page as bytes, and back, for the laboratory's cache. Strings are msgpack, arrays are as in memory."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from forager.types import Heading, Links, Page, Ragged, Url

FORMAT = 2


class _Packed(msgspec.Struct, array_like=True, frozen=True):
    version: tuple[int, int]  # FORMAT, and the features of the page
    heads: tuple[str, str, str, str, str | None, str]  # url, title, keywords, description, canonical, language
    leaves: tuple[str, ...]
    tags: str  # one word each, joined by spaces: they are two thirds of the strings of a page
    term_values: bytes
    term_offsets: bytes
    regions: bytes
    targets: tuple[str, ...]
    anchors: tuple[str, ...]
    spans: bytes
    paths: tuple[str, ...]  # the distinct ones
    path_of: bytes
    rels: tuple[str, ...]
    headings: tuple[tuple[int, int, int], ...]
    directives: tuple[str, ...]
    refresh: str | None
    feeds: tuple[str, ...]
    alternates: tuple[str, ...]
    neighbours: tuple[str, ...]
    is_listing: bool
    left_out: dict[str, int]


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Packed)


def pack(page: Page, features: int) -> bytes:
    """The bytes of a page. `features` is the version of what `parse` gives."""
    links, ids = page.links, {path: at for at, path in enumerate(dict.fromkeys(page.links.tag_paths))}
    return _ENCODER.encode(
        _Packed(
            (FORMAT, features),
            (page.url, page.title, page.keywords, page.description, page.canonical, page.language),
            page.leaves,
            " ".join(page.tags),
            _raw(page.terms.values, "<u4"),
            _raw(page.terms.offsets, "<i8"),
            _raw(page.regions, "u1"),
            links.targets,
            links.anchors,
            _raw(np.concatenate((links.first_leaf, links.last_leaf)), "<i4"),
            tuple(ids),
            _raw(np.array([ids[path] for path in links.tag_paths]), "<i4"),
            links.rels,
            tuple((heading.level, heading.first_leaf, heading.last_leaf) for heading in page.headings),
            *(page.directives, page.refresh, page.feeds, page.alternates, page.neighbours, page.is_listing),
            dict(page.left_out),
        )
    )


def unpack(packed: bytes, features: int) -> Page:
    """The page, with read-only arrays. ValueError if it was packed with other features."""
    p = _DECODER.decode(packed)
    if p.version != (FORMAT, features):
        raise ValueError(f"page packed as {p.version}, this is {(FORMAT, features)}: parse it again")
    url, title, keywords, description, canonical, language = p.heads
    terms = Ragged(np.frombuffer(p.term_values, "<u4"), np.frombuffer(p.term_offsets, "<i8"))
    headings = tuple([Heading(*heading) for heading in p.headings])
    regions = np.frombuffer(p.regions, np.uint8)
    urls: Any = p  # its strings were Urls when packed
    return Page(
        *(Url(url), title, p.leaves, tuple(p.tags.split(" ")) if p.leaves else (), terms, regions, _links(p), headings),
        *(keywords, description, None if canonical is None else Url(canonical), language),
        directives=p.directives,
        refresh=urls.refresh,
        feeds=urls.feeds,
        alternates=urls.alternates,
        neighbours=urls.neighbours,
        is_listing=p.is_listing,
        left_out=p.left_out,
    )


def _links(p: _Packed) -> Links:
    spans = np.frombuffer(p.spans, "<i4").reshape(2, -1)
    paths = tuple([p.paths[at] for at in np.frombuffer(p.path_of, "<i4").tolist()])
    targets: Any = p.targets  # they were Urls when packed
    return Links(targets, p.anchors, spans[0], spans[1], paths, p.rels)


def _raw(array: NDArray[Any], kind: str) -> bytes:
    return np.ascontiguousarray(array, kind).tobytes()
