"""Pruning is the loop of its definition, only faster; samples are balanced and repeatable."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.topics.directory import Listing, balanced, prune
from tests.shared import WEBS, needs


def parent(name: str) -> str:
    return name.rpartition(".")[0]


def naive(counts: dict[str, int], k: int, root: str, which: int) -> dict[str, list[str]]:
    """The definition, word by word: class -> the categories whose examples it has. `which` picks among small leaves."""
    held = {root: [root]} | {name: [name] for name in counts}
    for name in counts:
        while name != root:
            name = parent(name)
            held.setdefault(name, [])
    size = {name: sum(counts.get(each, 0) for each in names) for name, names in held.items()}
    while True:
        inner = {parent(name) for name in held if name != root}
        small = sorted(name for name in held if name not in inner and name != root and size[name] < k)
        if not small:
            break
        leaf = small[which % len(small)]
        held[parent(leaf)] += held.pop(leaf)
        size[parent(leaf)] += size[leaf]
    classes: dict[str, list[str]] = {}
    for name, names in held.items():
        leaf = name
        while leaf in inner or not leaf:
            leaf = f"{leaf}.Other".lstrip(".")
        classes.setdefault(leaf, []).extend(names)
    return classes


NAMES = st.lists(st.sampled_from(["A", "B", "Other"]), min_size=0, max_size=4).map(".".join)


@given(st.dictionaries(NAMES, st.integers(0, 9)), st.integers(1, 15), st.sampled_from(["", "A"]), st.integers(0, 9))
def test_it_is_the_loop_of_the_definition(counts: dict[str, int], k: int, root: str, which: int) -> None:
    counts = {name: count for name, count in counts.items() if not root or name == root or name.startswith("A.")}
    pruned = prune(counts, k, root)
    expected = naive(counts, k, root, which)
    leaf_of = {name: leaf for leaf, names in expected.items() for name in names}
    assert {name: pruned.leaf_of[name] for name in leaf_of} == leaf_of
    sizes = {leaf: sum(counts.get(name, 0) for name in names) for leaf, names in expected.items()}
    assert pruned.sizes == {leaf: size for leaf, size in sizes.items() if size}
    assert sum(pruned.sizes.values()) == sum(counts.values())


def test_a_small_directory_on_paper() -> None:
    """k = 5. Guitar and Harp go to Music, which has 1 + 3 + 2 = 6 and stays; Film goes to Arts, which has Music below
    it and so an Other leaf of 1 + 4; Golf goes to Sports and that to the root, which has an Other leaf."""
    counts = {
        "Arts": 1,
        "Arts.Music": 1,
        "Arts.Music.Guitar": 3,
        "Arts.Music.Harp": 2,
        "Arts.Film": 4,
        "Sports.Golf": 2,
    }
    pruned = prune(counts, 5)
    assert pruned.sizes == {"Arts.Music": 6, "Arts.Other": 5, "Other": 2}
    assert pruned.leaf_of == {
        "": "Other",
        **{"Arts": "Arts.Other", "Arts.Film": "Arts.Other", "Sports": "Other", "Sports.Golf": "Other"},
        **{"Arts.Music": "Arts.Music", "Arts.Music.Guitar": "Arts.Music", "Arts.Music.Harp": "Arts.Music"},
    }
    assert prune(counts, 1).sizes == {
        **{"Arts.Film": 4, "Arts.Music.Guitar": 3, "Arts.Music.Harp": 2, "Arts.Music.Other": 1, "Arts.Other": 1},
        **{"Sports.Golf": 2},
    }
    assert prune(counts, 100).sizes == {"Other": 13}


def test_names_that_only_begin_alike_are_not_below() -> None:
    assert prune({"Art": 1, "Arts": 9, "Art.X": 1}, 2).sizes == {"Art": 2, "Arts": 9}


def test_a_deep_directory() -> None:
    name = ".".join("abcdefghij" * 500)
    assert prune({name: 3}, 5).sizes == {"Other": 3}
    assert prune({name: 5}, 5).sizes == {name: 5}


def test_wrong_parameters() -> None:
    with pytest.raises(ForagerError, match="must have at least 1 example"):
        prune({"A": 1}, 0)
    with pytest.raises(ForagerError, match="B is not below A"):
        prune({"B": 1}, 1, "A")


@needs("dmoz-samples")
def test_paths_and_counts_of_the_real_directory() -> None:
    """ODP239: how many documents lie in each of 2,285 categories; the loop is tried on one of the 14 topmost."""
    samples = WEBS / "dmoz-samples"
    lines = (samples / "subTopics.txt").read_text(encoding="utf-8").splitlines()[1:]
    paths = {number: path.replace(" > ", ".") for number, path in (line.split("\t") for line in lines)}
    placed = Counter(line.split("\t")[0] for line in (samples / "STRel.txt").read_text().splitlines()[1:])
    counts: Counter[str] = Counter()
    for number, count in placed.items():
        counts[paths[number]] += count
    pruned = prune(counts, 20)
    assert sum(pruned.sizes.values()) == sum(counts.values()) == 25_580
    assert all(size >= 20 for name, size in pruned.sizes.items() if not name.endswith("Other"))
    science = {name: count for name, count in counts.items() if name.startswith("Science.")}
    expected = naive(science, 20, "Science", 0)
    assert prune(science, 20, "Science").sizes == {
        leaf: size for leaf, names in expected.items() if (size := sum(science.get(name, 0) for name in names))
    }


# ---- balanced samples

COUNTS = {"A.X": 40, "A.Y": 7, "A": 3, "B": 2}
LISTINGS = [Listing(f"http://a.test/{name}/{i}", name) for name, count in COUNTS.items() for i in range(count)]


def test_at_most_k_of_each_class() -> None:
    pruned = prune(COUNTS, 5)
    taken = list(balanced(LISTINGS, pruned, 5, seed=1))
    assert Counter(name for name, _ in taken) == {"A.X": 5, "A.Y": 5, "A.Other": 3, "Other": 2}
    assert all(pruned.leaf_of[listing.category] == name for name, listing in taken)
    assert len({listing.url for _, listing in taken}) == 15
    assert taken == list(balanced(LISTINGS, pruned, 5, seed=1))
    assert taken != list(balanced(LISTINGS, pruned, 5, seed=2))


def test_every_listing_of_a_class_has_the_same_chance() -> None:
    pruned, seeds = prune(COUNTS, 5), 4000
    count = Counter(item.url for seed in range(seeds) for _, item in balanced(LISTINGS, pruned, 5, seed))
    large = [count[listing.url] for listing in LISTINGS if listing.category == "A.X"]
    expected = seeds * 5 / 40
    # chi² of 39 degrees of freedom is above 72.1 once in a thousand; the seeds are fixed
    assert sum((each - expected) ** 2 / expected for each in large) < 72.1
