"""The links of each page, as pieces of `links.bin`. A piece that is damaged is made again from the archived page."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from forager.store.damage import DamagedError, piece_checksum
from forager.store.journal import pack_links, unpack_links
from forager.store.reading import answer_at, number
from forager.store.rows import VisitRow
from forager.types import Ids, Page, ScoredLinks
from forager.web.page import parse
from forager.web.urls import RULES, UrlRules

_AT_ONCE = 10_000  # URLs that are looked up together


def whole_links(piece: bytes, row: VisitRow) -> tuple[Ids, ScoredLinks] | None:
    """The links in a piece, if it is as it was written; None if not."""
    if len(piece) != row.links_length:
        return None
    if row.links_checksum is not None and piece_checksum(piece) != row.links_checksum:
        return None
    try:
        ids, scored = unpack_links(piece)
    except (msgspec.MsgspecError, ValueError, TypeError):
        return None
    return (ids, scored) if _fits(ids, scored) and _known(ids, row.new_to) else None


def _fits(ids: Ids, scored: ScoredLinks) -> bool:
    """Whether each column has a row for each link."""
    clues, weights = scored.clues, scored.edge_weight
    if clues is not None:
        offsets = clues.offsets
        if len(offsets) != len(ids) + 1 or offsets[0] or (np.diff(offsets) < 0).any():
            return False
        if offsets[-1] != len(clues.values):
            return False
    return len(scored.scores) == len(ids) and (weights is None or len(weights) == len(ids))


def _known(ids: Ids, count: int) -> bool:
    return not len(ids) or (ids.min() >= 0 and ids.max() < count)


class LinkPieces:
    """Gives the packed links of each page, in the order of the records."""

    def __init__(
        self, db: sqlite3.Connection, folder: Path, read: Callable[[int, int], bytes], rules: UrlRules = RULES
    ) -> None:
        self._db, self._folder, self._read, self._rules = db, folder, read, rules
        self._last = b""  # the last piece that was whole
        self.again: list[int] = []  # the records whose links were made again

    def of(self, row: VisitRow) -> bytes | None:
        """The piece of a record; made again if it is damaged; None if that is not possible either."""
        piece = self._read(row.links_at, row.links_length)
        if not piece and row.outcome != "page":
            return b""
        if self._whole(piece, row):
            self._last = piece if row.outcome == "page" else self._last
            return piece
        made = self._made_again(row) if row.outcome == "page" else None
        if made is not None:
            self.again.append(row.seq)
        return made

    def _whole(self, piece: bytes, row: VisitRow) -> bool:
        """A piece with a checksum need not be unpacked to know it."""
        if row.links_checksum is None:
            return whole_links(piece, row) is not None
        return len(piece) == row.links_length and piece_checksum(piece) == row.links_checksum

    def _made_again(self, row: VisitRow) -> bytes | None:
        try:
            answer = answer_at(self._db, self._folder, row.seq)
        except DamagedError:
            return None
        page = None if answer is None else parse(answer, self._rules)
        if not isinstance(page, Page):
            return None
        known = self._look_up(page, row.new_to)
        rows = [known[target] for target in page.links.targets if target in known]
        ids = np.array([id for id, _ in rows], np.int32)
        scores = np.array([score for _, score in rows], np.float32)
        return pack_links(ids, _like(self._last, scores))

    def _look_up(self, page: Page, below: int) -> dict[str, tuple[int, float]]:
        """The id and the first score of each target that was known by then."""
        targets, found = list(dict.fromkeys(page.links.targets)), dict[str, tuple[int, float]]()
        for start in range(0, len(targets), _AT_ONCE):
            some = targets[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            sql = f"SELECT text, id, score FROM url WHERE id < ? AND text IN ({marks})"
            found |= {text: (id, number(score)) for text, id, score in self._db.execute(sql, (below, *some))}
        return found


def _like(piece: bytes, scores: np.ndarray[tuple[int], np.dtype[np.float32]]) -> ScoredLinks:
    """These scores, with the columns that other pages have. What travelled with the links is lost."""
    before = unpack_links(piece)[1] if piece else ScoredLinks(scores)
    width = None if before.state is None else before.state.shape[1]
    return ScoredLinks(
        scores,
        None if width is None else np.zeros((len(scores), width), np.float32),
        edge_weight=None if before.edge_weight is None else np.ones(len(scores), np.float32),
    )
