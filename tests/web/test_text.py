"""Words and terms: the fast cutting is compared with one that goes character by character."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forager.types import Ragged
from forager.web import text

SCRIPTS = (
    "aZ0_ é É ß İ Σς 漢字 かナ 한글 हिन्दी ไทย עִבְרִית e\u0301 \u1100\u1161\u11a8 ﬁ ½ \xad \u200d \ufe0f "
    "👩‍💻 '-.\n\x1e\x00\U0002f800"
)
TEXTS = st.text(st.one_of(st.sampled_from(SCRIPTS), st.characters(codec=None)))  # surrogates too


def is_alone(character: str) -> bool:
    if any(first <= ord(character) <= last for first, last in text._HAN):
        return True
    kana = ("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "IDEOGRAPHIC", "HANGZHOU", "HENTAIGANA", "VERTICAL KANA")
    name = unicodedata.name(character, "")
    return character.isalnum() and name.startswith(kana) and "RADICAL" not in name


def brute_force_words(string: str) -> list[str]:
    """The words of a text, by their definition, one character at a time."""
    found: list[str] = []
    joins = False  # may the next letter continue the last word?
    marks = False  # may the next mark?
    for character in text.fold(string):
        if unicodedata.category(character)[0] == "M" or character in "\u200c\u200d":
            if marks:
                found[-1] += character
        elif is_alone(character):
            found.append(character)
            joins, marks = False, True
        elif character.isalnum() or character == "_":
            if joins:
                found[-1] += character
            else:
                found.append(character)
            joins = marks = True
        else:
            joins = marks = False
    return [word[: text.LONGEST] for word in found]


@given(TEXTS)
@example(SCRIPTS)
@example("x" * 200 + "é" * 200)
def test_words_are_those_of_the_definition(string: str) -> None:
    assert text.words(string) == brute_force_words(string)


MARKS = "".join(map(chr, (0x301, 0x316, 0x344, 0x5B4, 0x93F, 0x200D, 0xF73)))  # U+0344 and U+0F73 become two


@given(st.lists(st.tuples(st.sampled_from(f"{MARKS}aé漢─ "), st.sampled_from([1, 1, 2, 63, 64, 65, 200])), max_size=6))
@example([("a", 1), ("\u0344", 64), ("b", 1)])
@example([("\u0301", 200)])
def test_piles_of_marks_are_cut(runs: list[tuple[str, int]]) -> None:
    string = "".join(character * count for character, count in runs)
    assert text.words(string) == brute_force_words(string)
    if all(count <= text.LONGEST for _, count in runs) and len(runs) < 2:
        assert text.fold(string) == unicodedata.normalize("NFC", string)


def test_a_million_marks_take_no_quadratic_time() -> None:
    """Composing them takes minutes."""
    string = "a" + "\u0301\u0316" * 500_000 + " b"
    assert len(text.fold(string)) <= text.LONGEST + 3
    assert [len(word) for word in text.words(string)] == [text.LONGEST, 1]


def test_all_marks_are_symbols() -> None:
    characters = list(map(chr, range(0x110000)))
    marks = [character for character in characters if unicodedata.category(character)[0] == "M"]
    assert text._SYMBOLS.fullmatch("".join(marks))
    assert set(filter(unicodedata.combining, characters)) <= set(marks)


@given(TEXTS)
@example(SCRIPTS)
@example("averyveryverylongwordofmorethaneightbytes")
def test_terms_are_the_hashes_of_the_words(string: str) -> None:
    assert [text.term(word) for word in text.words(string)] == text.terms([string])[0].tolist()


@given(st.lists(TEXTS, max_size=12))
def test_a_leaf_has_the_same_terms_alone_and_among_others(leaves: list[str]) -> None:
    together = text.terms(leaves)
    assert len(together) == len(leaves)
    for row, leaf in enumerate(leaves):
        assert together[row].tolist() == text.terms([leaf])[0].tolist()


@given(TEXTS)
def test_the_table_knows_what_folding_changes(string: str) -> None:
    """If `fold` may change no code point beyond ASCII, folding is ASCII lower case and nothing else."""
    beyond = "".join(character for character in string if not character.isascii())
    if not beyond or not (text._kinds_of(beyond) & text._FOLDS).any():
        ascii_lower = "".join(c.lower() if c.isascii() else c for c in string)
        assert text.fold(string) == ascii_lower


def test_the_table_says_the_same_whenever_a_character_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is filled when characters are met, some hundred at a time."""
    met = "".join(map(chr, range(0x80, 0x33FF, 7))) + "豈漢한가ｱ𠀀\U000e0100\U0010ffff\ud800"
    together = text._kinds_of(met).tolist()
    monkeypatch.setattr(text, "_kinds", cache(text._kinds.__wrapped__))
    assert [text._kinds_of(character)[0] for character in reversed(met)] == together[::-1]
    assert all(text._kind(ord(character)) == kind for character, kind in zip(met[:-2], together, strict=False))


@given(TEXTS)
@example(SCRIPTS)
def test_folding_twice_changes_nothing(string: str) -> None:
    assert text.fold(text.fold(string)) == text.fold(string)


def test_composed_and_decomposed_are_one_word() -> None:
    assert text.words("Été") == text.words("E\u0301te\u0301") == ["été"]


def test_marks_do_not_cut_words() -> None:
    assert text.words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert text.words("inter\xadnational") == ["international"]


def test_a_mark_on_nothing_is_no_word() -> None:
    assert text.words("\u0301 👩‍💻\ufe0f ok") == ["ok"]


def test_scripts_without_spaces_are_cut_at_every_character() -> None:
    assert text.words("東京でrust言語") == ["東", "京", "で", "rust", "言", "語"]
    assert text.words("한국어 위키") == ["한국어", "위키"]


def test_apostrophes_and_hyphens_separate() -> None:
    assert text.words("l'eau don't well-known snake_case") == ["l", "eau", "don", "t", "well", "known", "snake_case"]


def test_case_and_final_sigma_do_not_matter() -> None:
    assert text.words("ΟΔΥΣΣΕΥΣ Οδυσσεύς") == ["οδυσσευσ", "οδυσσεύσ"]
    assert text.term("Rust") == text.term("rust") == text.term("RUST")


def test_words_are_cut_when_too_long() -> None:
    assert text.words("x" * 1_000_000) == ["x" * text.LONGEST]
    assert text.term("x" * 1_000_000) == text.term("x" * text.LONGEST)


def test_hashes_of_many_words_hardly_collide() -> None:
    words = [f"{stem}{n}" for stem in ("a", "word", "averylongstemindeed") for n in range(30_000)]
    distinct = len(np.unique(text.terms(words).values))
    assert distinct >= len(words) - 8  # with 32 bits 0.9 collisions are expected


def test_no_leaves_and_empty_leaves() -> None:
    assert len(text.terms([])) == 0
    assert text.terms(["", " ", "."]).offsets.tolist() == [0, 0, 0, 0]
    assert text.words("") == []


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20), st.integers(-100, 100))
def test_mix_depends_on_both_and_is_elementwise(values: list[int], salt: int) -> None:
    terms = np.array(values, np.uint32)
    mixed = text.mix(terms, salt)
    assert mixed.dtype == np.uint32
    assert mixed.tolist() == text.mix(terms, np.full(len(values), salt)).tolist()
    assert mixed.tolist() == [int(text.mix(terms[i : i + 1], salt)[0]) for i in range(len(values))]


def test_mix_of_many_pairs_hardly_collides() -> None:
    terms = text.terms([" ".join(f"w{n}" for n in range(8_000))]).values
    mixed = np.concatenate([text.mix(terms, offset) for offset in range(-5, 6)])
    assert len(np.unique(mixed)) >= len(mixed) - 8


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(-(2**20), 2**31))))
def test_a_mix_is_the_sum_of_its_parts(pairs: list[tuple[int, int]]) -> None:
    terms, salts = np.array([term for term, _ in pairs], np.uint32), np.array([salt for _, salt in pairs], np.int64)
    parts = text.term_part(terms) + text.salt_part(salts)
    np.testing.assert_array_equal(text.mixed(parts), text.mix(terms, salts))


@given(st.text(max_size=20), st.integers(0, 2**31))
def test_a_code_is_a_mix_before_it_is_mixed_and_can_be_read_again(word: str, salt: int) -> None:
    codes, term = np.array([text.code(word, salt)], np.uint64), text.term(word)
    terms, salts = text.decoded(codes)
    assert (terms.tolist(), salts.tolist()) == ([term], [salt])
    assert text.mixed(codes).tolist() == text.mix(np.array([term], np.uint32), salt).tolist()


@given(st.lists(st.integers(0, 9)))
def test_count(values: list[int]) -> None:
    distinct, counts = text.count(np.array(values, np.uint32))
    assert dict(zip(distinct.tolist(), counts.tolist(), strict=True)) == {v: values.count(v) for v in values}


def test_rows_can_be_joined_again() -> None:
    rows = text.terms(["one two", "", "three"])
    assert isinstance(rows, Ragged)
    assert rows.span(0, 2).tolist() == [text.term(word) for word in ("one", "two", "three")]


@given(st.lists(st.text(alphabet="aB \x1eΣσÉe\u0301İ漢\xad中ß", max_size=6), max_size=8))
def test_leaves_do_not_touch_each_other(leaves: list[str]) -> None:
    together = text.terms(leaves)
    assert [together[row].tolist() for row in range(len(leaves))] == [text.terms([leaf])[0].tolist() for leaf in leaves]
