"""Pages made of words, for tests of critics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from forager.types import Links, Page, Ragged, Url
from forager.web.text import terms
from tests.shared import WEBS

WIKISPEEDIA = WEBS / "wikispeedia"

_NONE = np.empty(0, np.int32)
_LINKS = Links((), (), _NONE, _NONE, (), ())


def page(*leaves: str, url: str = "http://a.test/", title: str = "", language: str = "") -> Page:
    return _page(terms(leaves), leaves, url, title, language)


def of_terms(values: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.uint32]]) -> Page:
    return _page(Ragged.of([np.asarray(values, np.uint32)]), ("",), "http://a.test/", "", "")


def _page(rows: Ragged, leaves: tuple[str, ...], url: str, title: str, language: str) -> Page:
    tags, regions = ("p",) * len(leaves), np.zeros(len(leaves), np.uint8)
    return Page(Url(url), title, leaves, tags, rows, regions, _LINKS, (), "", "", None, language)


def drawn(rng: np.random.Generator, topic: int, n: int, vocabulary: int = 300) -> Page:
    """n words in bursts, as pages have them; those of topic 1 tend to come from the first tenth of the vocabulary."""
    words = rng.integers(0, vocabulary, n)
    own = rng.random(n) < (0.25 if topic else 0.1)
    words[own] = rng.integers(0, vocabulary // 10, own.sum())
    return of_terms(np.repeat(words * 7919, rng.geometric(0.3, n)).astype(np.uint32))


def wikispeedia() -> Path:
    if not (WIKISPEEDIA / "wikispeedia.warc.gz").exists():
        pytest.skip(f"the recorded web wikispeedia is not at {WIKISPEEDIA}")
    return WIKISPEEDIA
