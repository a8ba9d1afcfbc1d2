"""Our tokens are those of the library `tokenizers`, and our vectors nearly those of wordllama."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from forager.learn import embeddings
from forager.learn.embeddings import (
    BUCKETS,
    BYTES,
    DIMENSIONS,
    LONGEST,
    PIECE,
    PIECES,
    SPACE,
    WAYS,
    WordVectors,
    embed,
    piece_tokens,
    text_tokens,
    token_vectors,
    word_vectors,
)
from forager.types import Fetch, Floats, Page, Terms, Url
from forager.web.page import parse
from forager.web.text import spelled, terms, words
from forager_lab.word_vectors import VECTORS, VOCABULARY, write
from tests.critics.pages import wikispeedia

ODD = "²½Ⅷ'’\"()[]{}<>/\\|@#&*-–—_=+.,;:!?…%€$°\u0301\u200d\xa0\n\t0189aAzZßéñşςΣжЖשلहि中カ가😀\x1e\ufffd"
spaced = st.lists(st.one_of(st.text(ODD + "aeinorst"), st.text(), st.text("abcdst")), max_size=8).map(" ".join)


@cache
def library() -> Any:
    return Tokenizer.from_file(str(files("wordllama") / VOCABULARY))


@cache
def names() -> list[str]:
    """Our tokens as the library writes them."""
    return [f"<0x{byte:02X}>" for byte in range(BYTES)] + [token.replace(" ", SPACE) for token in token_vectors().ranks]


def tokens_of(text: str) -> list[str]:
    return library().encode(text, add_special_tokens=False).tokens  # type: ignore[no-any-return]


def ours(rows: list[int] | tuple[int, ...]) -> list[str]:
    return [names()[row] for row in rows]


@cache
def real_texts() -> list[str]:
    with (wikispeedia() / "wikispeedia.warc.gz").open("rb") as file:
        records = islice(ArchiveIterator(file, record_types=WarcRecordType.response), 80)
        pages = [parse(Fetch(Url(record.headers["WARC-Target-URI"]), record.reader.read())) for record in records]
    return [page.text(0, len(page.leaves) - 1)[:6_000] for page in pages if isinstance(page, Page)]


@cache
def original() -> Floats:
    (vectors,) = load_file(str(files("wordllama") / VECTORS)).values()
    return np.asarray(vectors, np.float32)


def exactly(text: str, dimensions: int) -> Floats:
    ids = library().encode(text, add_special_tokens=False).ids
    return np.asarray(original()[ids, :dimensions].mean(axis=0))


def unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


# ---- tokens


@given(spaced)
@example("m² and 5². or 3²). x²y")
@example("  two  spaces   and sixteen" + 16 * " " + "end   ")
@example("▁ the mark itself ▁▁ x")
@example("<0x0A> <0x41>")
@example("tokens=====----====....||||  ssssssss aaaaaaa ababababab 1000000")
@settings(deadline=None, max_examples=200)
def test_tokens_of_texts_are_those_of_the_library(text: str) -> None:
    assert ours(text_tokens(text)) == tokens_of(text)


@given(st.text(min_size=1, max_size=300))
@settings(deadline=None)
def test_tokens_of_words_are_those_of_the_library(text: str) -> None:
    for word in words(text):
        assert ours(piece_tokens(f" {word}")) == tokens_of(word)


def test_tokens_of_real_pages_are_those_of_the_library() -> None:
    texts = real_texts()
    met = dict.fromkeys(word for text in texts for word in words(text))
    assert len(met) > 5_000
    theirs = [encoded.tokens for encoded in library().encode_batch(list(met), add_special_tokens=False)]
    assert [ours(piece_tokens(f" {word}")) for word in met] == theirs
    different = [text for text in texts if ours(text_tokens(text)) != tokens_of(text)]
    assert len(different) <= len(texts) / 100  # lines of hyphens, and the like


def test_no_token_goes_beyond_a_piece() -> None:
    assert [token for token in token_vectors().ranks if not PIECE.fullmatch(token)] == []


def test_every_token_is_what_its_characters_become() -> None:
    merged = (library().model.tokenize(token.replace(" ", SPACE)) for token in token_vectors().ranks)
    assert all(len(tokens) == 1 for tokens in merged)


@pytest.mark.parametrize("run", ["x" * 100_000, "-" * 100_000, " " * 100_000, "ж" * 100_000, "\u0301" * 100_000])
def test_long_runs_are_cut(run: str) -> None:
    assert max(map(len, PIECE.findall(run))) <= LONGEST
    assert "".join(PIECE.findall(run)) == run
    assert np.linalg.norm(embed([f"a {run} b"])) == pytest.approx(1, abs=1e-5)
    assert WordVectors(ones).of_texts([run]).shape == (1, DIMENSIONS)


def test_pieces_are_forgotten_again() -> None:
    for number in range(PIECES + 1_000):
        piece_tokens(f" x{number}")
    assert piece_tokens.cache_info().currsize == PIECES


def test_half_of_a_surrogate_pair_is_no_obstacle() -> None:
    assert np.isfinite(embed(["a \ud800 b"])).all()
    assert np.isfinite(WordVectors(ones).of_texts(["a\ud800b"])).all()


# ---- vectors


def test_the_file_is_what_wordllama_has(tmp_path: Path) -> None:
    write(tmp_path / "vectors.npz")
    stored = files("forager.learn") / embeddings.FILE
    assert (tmp_path / "vectors.npz").read_bytes() == stored.read_bytes()


def test_the_licence_of_the_vectors_lies_beside_them() -> None:
    told = (files("forager.learn") / "vectors.LICENSE").read_text("utf-8")
    assert "Copyright (c) 2024 Lee Miller" in told
    assert "The above copyright notice and this permission notice shall be included" in " ".join(told.split())


def test_cosines_are_nearly_those_of_the_numbers_before_rounding() -> None:
    some = [text[:2_000] for text in real_texts()[:60]]
    met = list(dict.fromkeys(word for text in some for word in words(text)))[:300]
    for texts, vectors in ((some, embed(some)), (met, word_vectors(met))):
        exact = unit(np.array([exactly(text, vectors.shape[1]) for text in texts]))
        rounded = unit(vectors)
        assert np.abs(exact @ exact.T - rounded @ rounded.T).max() < 0.01


# ---- many short texts


def ones(terms: Terms) -> Floats:
    return np.ones(len(terms), np.float32)


def test_a_text_is_the_weighted_sum_of_its_words() -> None:
    one, two = word_vectors(["owls", "hoot"])
    heavy = terms(["owls"]).values[0]
    (found,) = WordVectors(lambda these: np.where(these == heavy, 3, 1).astype(np.float32)).of_texts(["Owls hoot"])
    assert found == pytest.approx((3 * one + two) / np.linalg.norm(3 * one + two), abs=1e-5)


def test_words_are_looked_up_and_texts_asked_for_only_when_a_word_is_new() -> None:
    texts = ["owls hoot", "", "mice hide from owls", "owls owls"]
    bags, asked, vectors = terms(texts), list[int](), WordVectors(ones)

    def texts_of(rows: Any) -> list[str]:
        asked.extend(rows)
        return [texts[row] for row in rows]

    first = vectors.of_bags(bags, texts_of)
    assert asked == [0, 2, 3]
    assert first[1].tolist() == [0] * DIMENSIONS
    assert vectors.of_bags(bags, texts_of).tolist() == first.tolist()
    assert asked == [0, 2, 3]


def test_a_word_that_the_texts_do_not_have_counts_nothing_and_is_asked_for_again() -> None:
    bags, vectors = terms(["owls hoot"]), WordVectors(ones)
    (alone,) = vectors.of_bags(bags, lambda rows: ["owls"])
    assert alone.tolist() == WordVectors(ones).of_texts(["owls"])[0].tolist()
    (both,) = vectors.of_bags(bags, lambda rows: ["hoot"])
    assert both.tolist() == WordVectors(ones).of_texts(["owls hoot"])[0].tolist()


def test_when_a_bucket_is_full_its_words_take_turns() -> None:
    many = np.array([f"w{number}" for number in range(20_000)])
    buckets = terms([" ".join(many)]).values % BUCKETS
    full = many[buckets == np.bincount(buckets).argmax()][: WAYS + 1]
    assert len(full) == WAYS + 1
    vectors = WordVectors(ones)
    for word in (*full, *full, full[0]):
        assert vectors.of_texts([word]).tolist() == WordVectors(ones).of_texts([word]).tolist()
    together = " ".join(full)
    assert vectors.of_texts([together]).tolist() == WordVectors(ones).of_texts([together]).tolist()


@given(st.lists(st.text(max_size=20), max_size=5))
def test_words_are_spelled_as_they_stand_in_the_text(texts: list[str]) -> None:
    text = " ".join(texts)
    found = words(text)
    assert spelled(text, terms([text]).values) == found
    assert spelled(text, terms(["zebras"]).values) == ["zebras" if "zebras" in found else ""]


ALONE = """
import sys
for name in ("sklearn", "wordllama", "tokenizers", "safetensors", "huggingface_hub"):
    sys.modules[name] = None
from forager.critics.description import Description
from forager.learn.embeddings import WordVectors
import numpy as np
Description(sentence="owls and other birds")
print(WordVectors(lambda words: np.ones(len(words), np.float32)).of_texts(["owls"]).any())
"""


def test_it_needs_no_other_package() -> None:
    assert subprocess.run([sys.executable, "-c", ALONE], check=True, capture_output=True).stdout == b"True\n"
