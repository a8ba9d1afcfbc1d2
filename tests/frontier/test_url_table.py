"""The table of hashes is a dict, only faster."""

from __future__ import annotations

from itertools import groupby, islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from forager.frontier import HashTable, url_table
from forager.frontier.url_table import Hashes, UrlTable, _secret_hash
from forager.types import Url

# Few low bits and many high bits: buckets overflow into the next ones, and from the last into the first.
CLOSE = st.builds(lambda low, high: low | high << 56, st.sampled_from([0, 1, 254, 255, 511]), st.integers(0, 255))
HASHES = st.sampled_from([0, 2**64 - 1]) | CLOSE | st.integers(0, 2**64 - 1)


def hashed(values: list[int]) -> Hashes:
    return np.array(values, np.uint64)


@given(st.lists(st.lists(HASHES, max_size=60), max_size=12))
@settings(max_examples=150, deadline=None)
def test_knows_what_a_dict_knows(batches: list[list[int]]) -> None:
    table, known = HashTable(), dict[int, int]()
    for batch in batches:
        assert table.lookup(hashed(batch)).tolist() == [known.get(value, -1) for value in batch]
        new = [value for value in dict.fromkeys(batch) if value not in known]
        ids = range(len(known), len(known) + len(new))
        table.insert(hashed(new), np.array(ids, np.int32))
        known.update(zip(new, ids, strict=True))
    assert table.lookup(hashed(list(known))).tolist() == list(known.values())
    assert len(table) == len(known)


SOME = st.sampled_from([0, 4, 200])


@given(st.lists(CLOSE.filter(bool), max_size=120, unique=True), SOME, SOME)
@settings(deadline=None)
def test_one_by_one_or_together_is_the_same(hashes: list[int], inserted: int, looked_up: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        table = url_table.HashBuckets(256)
        patch.setattr(url_table, "FEW", inserted)
        table.insert(hashed(hashes), np.arange(1, len(hashes) + 1, dtype=np.int32))
        patch.setattr(url_table, "FEW", looked_up)
        assert table.lookup(hashed(hashes)).tolist() == list(range(len(hashes)))


def test_growing_forgets_nothing_and_is_done_in_steps() -> None:
    rng = np.random.default_rng(1)
    hashes = np.unique(rng.integers(1, 2**64, 60_000, dtype=np.uint64))
    strangers = np.setdiff1d(rng.integers(1, 2**64, 1_000, dtype=np.uint64), hashes)
    rng.shuffle(hashes)
    ids = np.arange(len(hashes), dtype=np.int32)
    table, halfway = HashTable(), 0
    for start in range(0, len(hashes), 80):
        end = start + 80
        table.insert(hashes[start:end], ids[start:end])
        halfway += table._old is not None
        some = rng.integers(0, min(end, len(hashes)), 50)
        assert table.lookup(hashes[some]).tolist() == some.tolist()
    assert halfway > 20  # both tables were in use in several of these steps
    assert (table.lookup(hashes) == ids).all()
    assert (table.lookup(strangers) == -1).all()


def test_takes_all_at_once() -> None:
    hashes = np.arange(200_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # the first is 0
    table = HashTable()
    table.insert(hashes, np.arange(len(hashes), dtype=np.int32))
    assert (table.lookup(hashes) == np.arange(len(hashes))).all()


def test_hash_zero_is_a_hash() -> None:
    table = HashTable()
    assert table.lookup(hashed([0, 5])).tolist() == [-1, -1]
    table.insert(hashed([5, 0]), np.array([3, 4], np.int32))
    assert table.lookup(hashed([0, 256, 5])).tolist() == [4, -1, 3]


def longest_run(table: HashTable) -> int:
    """Of full buckets, one after the other: so many are looked at for one URL, at most."""
    full = table._table.hashes[:, -1] != 0
    return max((len(list(run)) for is_full, run in groupby(full.tolist()) if is_full), default=0)


def test_links_that_a_stranger_chooses_do_not_fall_into_one_bucket() -> None:
    """They all have the same low bits under a hash that anybody can compute."""
    urls = (Url(f"http://a.test/{number}") for number in range(1_000_000))
    chosen = list(islice((url for url in urls if xxh3_64_intdigest(url.encode()) & 0xFF == 7), 1_500))
    names = UrlTable()
    for start in range(0, len(chosen), 80):
        names.intern(chosen[start : start + 80])
    assert names.intern(chosen).tolist() == list(range(1_500))
    assert longest_run(names._ids) < 40  # 187 with a hash without a secret


def test_a_fixed_hash_of_strings_is_not_relied_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    one, other = _secret_hash(), _secret_hash()
    urls = [Url(f"http://a.test/{number}") for number in range(100)]
    assert [one(url) for url in urls] == [one(url) for url in urls]
    assert not {one(url) for url in urls} & {other(url) for url in urls}
    assert len({one(url) for url in urls}) == 100
