"""A sentence or a few examples are enough to put the right pages first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forager.critics.description import Description
from forager.errors import ForagerError
from forager.learn.embeddings import embed
from forager.store import models
from tests.critics.pages import page

BIRDS = [
    "The robin builds its nest in spring and lays five eggs; both parents feed the chicks.",
    "Eagles and hawks are birds of prey with sharp beaks, strong wings and excellent eyesight.",
    "The swallow flies to Africa in autumn; its song and its forked tail are well known.",
    "Penguins are birds that cannot fly; their feathers keep them warm in icy water.",
]
OTHERS = [
    "The bank raised its interest rates and the stock market fell by two per cent on Monday.",
    "Install the compiler, open a terminal and run the program with the name of a file.",
    "The parliament voted on the new tax law after a long debate between the two parties.",
    "Granite is an igneous rock of quartz and feldspar that forms deep under the ground.",
]


def relevance(critic: Description, texts: list[str]) -> list[float]:
    return [judgement.relevance for judgement in critic.judge([page(text) for text in texts])]


def test_rows_have_length_one_and_an_empty_text_is_near_nothing() -> None:
    vectors = embed(["birds of prey", "", "birds of prey"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 1], abs=1e-5)
    assert vectors[0].tolist() == vectors[2].tolist()


def test_a_sentence_tells_pages_apart() -> None:
    critic = Description(sentence="birds, their nests, eggs, wings and songs")
    assert min(relevance(critic, BIRDS)) > 0.5 > max(relevance(critic, OTHERS))


def test_examples_tell_pages_apart_and_others_are_not_looked_at() -> None:
    critic, alone = Description(focus=["Birds"]), Description(focus=["Birds"])
    critic.fit([page(text) for text in (*BIRDS[:3], *OTHERS)], ["Birds"] * 3 + ["Else"] * 4)
    alone.fit([page(text) for text in BIRDS[:3]], ["Birds"] * 3)
    assert relevance(critic, BIRDS[3:])[0] > max(relevance(critic, OTHERS))
    assert critic.version == alone.version
    assert critic.classes == ("Birds", "other")


def test_a_typical_example_gets_one_half() -> None:
    """Two pages: each is compared with the other, so the middle is their cosine."""
    critic = Description()
    critic.fit([page(BIRDS[0]), page(BIRDS[1])], ["wanted", "wanted"])
    one, two = embed([f"  {text}" for text in BIRDS[:2]])
    both = (one + two) / np.linalg.norm(one + two)
    expected = 1 / (1 + np.exp(-20 * (both @ one - one @ two)))
    assert relevance(critic, BIRDS[:1])[0] == pytest.approx(expected, abs=1e-3)


def test_it_comes_back_from_a_file(tmp_path: Path) -> None:
    critic = Description(focus=["Birds"], sentence="birds")
    critic.fit([page(text) for text in BIRDS], ["Birds"] * 4)
    models.save(tmp_path / "m.npz", critic.parts(), kind="description", version=1)
    again = Description().from_parts(models.load(tmp_path / "m.npz", kind="description", version=1))
    assert again.version == critic.version
    assert relevance(again, OTHERS) == relevance(critic, OTHERS)


def test_halves_of_the_examples_merge_to_the_whole() -> None:
    halves = []
    for texts in (BIRDS[:2], BIRDS[2:]):
        half = Description()
        half.fit([page(text) for text in texts], ["wanted"] * 2)
        halves.append(half.parts())
    whole = Description()
    whole.fit([page(text) for text in BIRDS], ["wanted"] * 4)
    assert relevance(Description().from_parts(whole.merge(halves)), OTHERS) == relevance(whole, OTHERS)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ForagerError, match="give it a sentence, or fit it"):
        Description().judge([page("x")])
    with pytest.raises(ForagerError, match="no example of Birds"):
        Description(focus=["Birds"]).fit([page("x")], ["Else"])
