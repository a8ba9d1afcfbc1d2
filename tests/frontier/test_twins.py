from __future__ import annotations

import asyncio
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forager.fetch.replay import open_recording
from forager.frontier.twins import ALIKE, SKETCH, Twin, Twins, similarity, sketch, sketch_of
from forager.types import Fetch, Page, Terms, Url
from forager.web.page import parse
from tests.shared import WEBS, needs

SLACK = 0.22  # more than four standard errors of an estimate, wherever it lies


def text(seed: int, length: int, kinds: int = 1 << 31) -> Terms:
    return np.random.default_rng(seed).integers(1, kinds, length, dtype=np.uint32)


def edited(words: Terms, seed: int, changes: int) -> Terms:
    rng = np.random.default_rng(seed)
    words = words.copy()
    words[rng.integers(0, len(words), changes)] = rng.integers(1, 1 << 31, changes)
    return words


def shingles(words: Terms) -> set[tuple[int, ...]]:
    each = words.tolist()
    return set(zip(each, each[1:], each[2:], strict=False))


def jaccard(one: Terms, other: Terms) -> float:
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b)


def digest(words: Terms) -> bytes:
    return sha256(words.tobytes()).digest()


def page(body: str) -> Page:
    found = parse(Fetch(Url("http://a.test/"), f"<!doctype html><body>{body}".encode()))
    assert isinstance(found, Page)
    return found


def prose(seed: int, length: int) -> str:
    return " ".join(f"word{n}" for n in text(seed, length, 5_000))


# ---- sketches


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 20), st.integers(60, 3_000), st.floats(0, 0.3), st.sampled_from([20, 300, 1 << 31]))
def test_a_sketch_estimates_the_similarity(seed: int, length: int, share: float, kinds: int) -> None:
    one = text(seed, length, kinds)
    other = edited(one, seed + 1, int(share * length))
    a, b = sketch_of(one), sketch_of(other)
    assert len(a) == len(b) == SKETCH
    assert abs(similarity(a, b) - jaccard(one, other)) < SLACK


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 20), st.integers(40, 2_000), st.integers(2, 5))
def test_a_text_that_is_repeated_has_the_same_shingles(seed: int, length: int, times: int) -> None:
    """How often a shingle occurs does not count, also where that changes how many hashes there are."""
    words = text(seed, length)
    assert similarity(sketch_of(words), sketch_of(np.tile(words, times))) > jaccard(words, np.tile(words, times)) - 0.1


def test_a_sketch_is_stored_so_it_never_changes() -> None:
    assert sketch_of(np.arange(1, 1_000, dtype=np.uint32))[:12].hex() == "c2735958c46e2927803ffee8"
    assert sketch_of(np.arange(1, 100, dtype=np.uint32))[:12].hex() == "500e720328a28b685849ce48"


@pytest.mark.parametrize(
    "words", [text(1, 0), text(1, 1), text(1, 25), np.full(5_000, 7, np.uint32), text(1, 5_000, 3)]
)
def test_too_little_text_has_no_sketch(words: Terms) -> None:
    assert sketch_of(words) == b""


def test_menus_and_footers_do_not_count() -> None:
    menu = f"<nav>{prose(1, 900)}</nav><footer>{prose(2, 300)}</footer>"
    bare, framed = (sketch(page(f"{frame}<main><p>{prose(3, 200)}</main>")) for frame in ("", menu))
    assert similarity(bare, framed) > 0.95


# ---- twins


def test_the_same_bytes_are_found_whatever_the_text() -> None:
    twins = Twins()
    twins.add(7, b"one", b"")
    twins.add(8, b"two", sketch_of(text(1, 500)))
    assert twins.find(b"one", b"") == Twin(7, True, 1.0)
    assert twins.find(b"two", b"") == Twin(8, True, 1.0)
    assert twins.find(b"three", b"") is None
    assert len(twins) == 2


def test_nearly_the_same_text_is_found() -> None:
    twins, words = Twins(), text(1, 800)
    twins.add(5, b"one", sketch_of(text(2, 800)))
    twins.add(6, b"two", sketch_of(words))
    found = twins.find(b"three", sketch_of(edited(words, 3, 4)))
    assert found is not None
    assert (found.id, found.exact) == (6, False)
    assert found.similarity >= ALIKE


def test_articles_with_the_same_menu_are_different() -> None:
    menu = "".join(f"<li><a href=/{n}>{prose(n, 3)}</a>" for n in range(60))
    twins = Twins()
    for id in range(40):
        marked = f"<nav><ul>{menu}</ul></nav><p>{prose(100 + id, 60)}"  # little text, but the menu says what it is
        plain = f"<table><tr><td><ul>{menu}</ul><td><p>{prose(200 + id, 150)}</table>"  # nothing says what the menu is
        for number, body in enumerate((marked, plain)):
            assert twins.find(body.encode(), sketch(page(body))) is None
            twins.add(2 * id + number, body.encode(), sketch(page(body)))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 120), st.booleans()), min_size=2, max_size=40))
def test_twins_are_those_of_brute_force(pages: list[tuple[int, int, bool]]) -> None:
    """Pages are edited copies of a few texts. Where the true similarity is not near the threshold, all pairs compared
    give the same answer."""
    twins, kept = Twins(), dict[int, Terms]()
    for id, (base, changes, short) in enumerate(pages):
        words = edited(text(base, 60 if short else 700), id, changes // 10 if short else changes)
        found = twins.find(digest(words), sketch_of(words))
        likeness = {other: jaccard(words, known) for other, known in kept.items()}
        best = max(likeness.values(), default=0.0)
        if found is not None:
            assert found.exact == (digest(words) in {digest(known) for known in kept.values()})
            assert likeness[found.id] > ALIKE - SLACK
        else:
            assert best < 0.99
            twins.add(id, digest(words), sketch_of(words))
            kept[id] = words


def test_almost_all_twins_are_found() -> None:
    twins, missed = Twins(), 0
    for id in range(300):
        twins.add(id, b"%d" % id, sketch_of(text(id, 400)))
    for id in range(300):
        words = edited(text(id, 400), id + 1, 4)
        missed += jaccard(words, text(id, 400)) >= 0.95 and twins.find(b"other", sketch_of(words)) is None
    assert missed <= 6


def test_pages_that_share_their_bands_do_not_hide_each_other() -> None:
    twins, rng = Twins(), np.random.default_rng(1)
    bands = rng.bytes(16)
    sketches = [bands + rng.bytes(48) for _ in range(8)]
    for id, one in enumerate(sketches):
        assert twins.find(b"%d" % id, one) is None
        twins.add(id, b"%d" % id, one)
    assert [twins.find(b"other", one) for one in sketches] == [Twin(id, False, 1.0) for id in range(8)]


def test_a_search_looks_at_few_pages_however_many_share_a_band(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def counted(one: bytes, other: bytes) -> float:
        nonlocal looks
        looks += 1
        return similarity(one, other)

    monkeypatch.setattr("forager.frontier.twins.similarity", counted)
    twins, rng = Twins(), np.random.default_rng(1)
    bands = sketch_of(text(1, 500))[:16]
    for id in range(500):
        twins.add(id, b"%d" % id, bands + rng.bytes(48))
    assert twins.find(b"other", bands + rng.bytes(48)) is None
    assert 0 < looks <= 32


def test_the_answer_is_a_function_of_what_was_added() -> None:
    """Two in different processes have other secrets, and give the same answers."""
    one, other = Twins(), Twins()
    found = []
    for twins in (one, other):
        answers = []
        for id in range(200):
            words = edited(text(id % 20, 300), id, id % 7)
            answers.append(twins.find(digest(words), sketch_of(words)))
            if answers[-1] is None or id % 3:
                twins.add(id, digest(words), sketch_of(words))
        found.append(answers)
    assert found[0] == found[1]
    assert None in found[0]


def test_a_sketch_of_another_length_is_none() -> None:
    twins, whole = Twins(), sketch_of(text(1, 500))
    twins.add(1, b"one", whole[:-1])
    twins.add(2, b"two", whole + b"0")
    assert twins.find(b"three", whole) is None
    assert twins.find(b"one", whole[:5]) == Twin(1, True, 1.0)


@needs("uic")
def test_real_pages_that_are_called_twins_are_alike() -> None:
    web = open_recording(WEBS / "uic").fetcher
    twins, texts, likeness = Twins(), dict[int, Terms](), list[float]()
    urls = [url for url in web.places if "//engineering.uic.edu/" in url or "//cs.uic.edu/" in url][:300]
    for id, url in enumerate(urls):
        answer = asyncio.run(web.fetch(url))
        read = parse(answer) if isinstance(answer, Fetch) else None
        if not isinstance(answer, Fetch) or not isinstance(read, Page):
            continue
        found = twins.find(sha256(answer.body).digest(), sketch(read))
        texts[id] = read.terms.values[np.repeat(np.isin(read.regions, (1, 3), invert=True), read.terms.lengths)]
        if found is None:
            twins.add(id, sha256(answer.body).digest(), sketch(read))
        elif not found.exact:
            likeness.append(jaccard(texts[id], texts[found.id]))
    assert len(texts) > 200
    assert 0 < len(likeness) < 0.2 * len(texts)
    assert min(likeness) > 0.8
