"""Words, tags and candidate phrases: the same tags as textblob, and what the grammar says."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forager.errors import ForagerError
from forager.learn.lexical import tagger
from forager.learn.lexical.phrases import MOST, Phrases, within
from forager.learn.lexical.tagger import LONGEST, Tagger, cut, english

# ---- the tagger -----------------------------------------------------------------------------------------------------

PIECES = """
    The the cat cats Cat sat Running running flies quickly U.S. e.g. Mr. Dr. etc. don't can't it's boys' 3.14 1990s 12/5
    $5 state-of-the-art and/or TCP/IP Zxqing zxqed zxqly zxqous zxqal zxqify zxqs zxqis ZXQ Zxq zxq zxq-zxq n't a_b _x_
    . ! ? ... .... , ; : ( ) [ ] { } " ' “ ” ‘ ’ `` '' -- - — & @home #tag +1 x= end. end! (end) end.) end.” "end."
    word... ...word ....) wait,. Hm?! .net www.a.org http://a.org/b?c=d e@mail.org é ’s Ünï ß
"""
SPACES = (" ", "  ", "\n", "\r\n", "\n\n", "\n\n\n", "\t")

texts = st.one_of(
    st.lists(st.tuples(st.sampled_from(PIECES.split()), st.sampled_from(SPACES)), max_size=30).map(
        lambda parts: "".join(piece + space for piece, space in parts)
    ),
    st.text(st.sampled_from("aeTsn.!?,;'\"()-_&/ \n1é”’"), max_size=60),
)


@pytest.fixture(scope="module")
def textblob() -> Iterator[object]:
    """textblob's tagger, with its smileys put aside."""
    module = pytest.importorskip("textblob._text")
    kept = module.RE_EMOTICONS, module.RE_SARCASM
    module.RE_EMOTICONS = module.RE_SARCASM = re.compile("(?!)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it does not close its lexicon
        pattern = pytest.importorskip("textblob.en.taggers").PatternTagger()
        pattern.tag("A cat")
    yield pattern
    module.RE_EMOTICONS, module.RE_SARCASM = kept


@settings(deadline=None)
@given(text=texts)
@example('He said "Stop!" Then (he left.) Nothing...happened.')
@example("One.\n\n) Two")
def test_words_and_tags_are_textblobs(textblob: object, text: str) -> None:
    ours = [list(token) for sentence in english().sentences(text) for token in sentence]
    assert ours == [list(token) for token in textblob.tag(text)]  # type: ignore[attr-defined]


def test_every_word_of_the_lexicon_has_textblobs_tag(textblob: object) -> None:
    lexicon = dict(sys.modules["textblob.en"].lexicon.items())
    tags = {
        word: tag for word in lexicon if cut(word) == (word,) for _, tag in next(english().sentences(f"x {word}"))[1:]
    }
    assert len(tags) > 90_000
    assert tags == {word: lexicon[word] for word in tags}


def test_what_is_long_without_a_space_is_one_word_and_cut() -> None:
    assert cut("a," * 40) == ("a," * 39 + "a", ",")
    (sentence,) = english().sentences(f"The {'a,' * 60} cat")
    assert [word for word, _ in sentence] == ["The", ("a," * 60)[: LONGEST + 1], "cat"]


def test_neither_textblob_nor_nltk_is_imported() -> None:
    said = "import sys; from forager.learn.lexical.tagger import english; list(english().sentences('A cat.'))"
    code = f"{said}; print({{'textblob', 'nltk'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_without_textblob_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textblob", None)
    tagger.english.cache_clear()
    with pytest.raises(ForagerError, match=r"pip install 'forager\[lexical\]'"):
        english()


# ---- the grammar ----------------------------------------------------------------------------------------------------

# Words that no list has, by their tag.
WORDS = {
    "JJ": "zesty",
    "JJR": "zestier",
    "NN": "zorb",
    "NNS": "zorbs",
    "NNP": "Zorba",
    "VBN": "zonked",
    "VBG": "zipping",
}
OTHERS = {"VBZ": "zooms", "IN": "zof", "CC": "zand", "DT": "zthe", "CD": "zone", "PRP": "zit"}
SMALL = Tagger({word: tag for tag, word in (WORDS | OTHERS).items()} | {"time": "NN", "the": "DT", "other": "JJ"})
THESIS = re.compile(r"((JJR?|NN|NNS|NNP) )*(NN|NNS|NNP) ")
OURS = re.compile(
    r"((JJR?|VBN|VBG) )*((JJR?|NN|NNS|NNP) )*(NN|NNS|NNP) "
    r"|((JJR?|VBN|VBG) )*((JJR?|NN|NNS|NNP) )*(JJR?|NN|NNS|NNP|VBN) VBG "
)


def found(*leaves: str, **settings: bool | int) -> dict[str, int]:
    known = Phrases(SMALL, **settings).candidates((*leaves, "the " * 10), "en")  # type: ignore[arg-type]
    assert known.spoken
    return dict(known.counts)


def by_force(tags: list[str], grammar: re.Pattern[str], longest: int) -> Counter[str]:
    words = [(WORDS | OTHERS)[tag].lower() for tag in tags]
    return Counter(
        " ".join(words[start:end])
        for start in range(len(tags))
        for end in range(start + 1, min(start + longest, len(tags)) + 1)
        if grammar.fullmatch("".join(f"{tag} " for tag in tags[start:end]))
    )


@settings(deadline=None)
@given(
    tags=st.lists(st.sampled_from([*WORDS, *WORDS, *OTHERS]), max_size=12),
    participles=st.booleans(),
    longest=st.integers(1, 5),
)
def test_every_run_that_matches_the_grammar_is_a_candidate(tags: list[str], participles: bool, longest: int) -> None:
    text = " ".join((WORDS | OTHERS)[tag] for tag in tags)
    expected = by_force(tags, OURS if participles else THESIS, longest)
    assert found(text, participles=participles, longest=longest) == expected


def test_parts_of_phrases_are_counted_wherever_they_stand() -> None:
    leaves = ["recurrent neural network"] * 2 + ["A deep neural network.", "The neural network, a Network"]
    assert dict(Phrases().candidates(leaves).counts) == {
        "recurrent neural network": 2,
        "deep neural network": 1,
        "neural network": 4,
        "network": 5,
    }


def test_participles_before_nouns_and_gerunds_behind_them_are_ours() -> None:
    leaf = "The operating systems and machine learning, object-oriented programming by distributed computing."
    ours, thesis = (set(Phrases(participles=ours).candidates([leaf]).counts) for ours in (True, False))
    assert {"operating systems", "machine learning", "distributed computing", "object-oriented programming"} <= ours
    assert thesis == {"systems", "machine", "object-oriented programming", "programming"}


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        (["zorb, zorbs; zorb (zorbs)"], {"zorb": 2, "zorbs": 2}),  # punctuation
        (["zorb", "zorbs"], {"zorb": 1, "zorbs": 1}),  # leaves
        (["zorb\n\nzorbs"], {"zorb": 1, "zorbs": 1}),  # empty lines
        (["zorb. Zorba! zorbs"], {"zorb": 1, "zorba": 1, "zorbs": 1}),  # sentences
        (["zorb other zorb"], {"zorb": 2}),  # a stop word
        (["zorb 12 zorb"], {"zorb": 2}),  # a number
        (["zorb http://a.org/b zorb"], {"zorb": 2}),
        (["zorb — zorb _ zorb"], {"zorb": 3}),  # the tagger calls both nouns
        (["19th zorb"], {"zorb": 1}),
        (["zorb " + "q" * 41], {"zorb": 1}),
        (["zesty"], {}),  # an adjective is no phrase
        (["time"], {}),  # a light word alone
        (["zesty time, time time"], {}),
        (["zorb time, time zorb"], {"zorb time": 1, "time zorb": 1, "zorb": 2}),
        (["zorb x, x"], {"zorb x": 1, "zorb": 1}),  # a single letter
        (["ZORB Zorba's"], {"zorb zorba": 1, "zorb": 1, "zorba": 1}),
        (["A zorb is zof"], {"zorb": 1}),
    ],
)
def test_what_ends_a_phrase_and_what_is_none(leaves: list[str], expected: dict[str, int]) -> None:
    assert found(*leaves) == expected


def test_vague_words_are_good_in_names() -> None:
    counts = Phrases().candidates(["He lives in New York in a new house."]).counts
    assert "new york" in counts
    assert "new house" not in counts


def test_more_stop_words_may_be_given() -> None:
    assert set(Phrases(stop=["vector"]).candidates(["The support vector machine"]).counts) == {"support", "machine"}


def test_no_more_than_so_many_characters_are_read() -> None:
    leaves = ["the cat " * (MOST // 8 - 1), "dogs eat mice", "a bird"]
    assert set(Phrases().candidates(leaves).counts) == {"cat", "dogs"}  # the last eight characters are "dogs eat"


@settings(deadline=None)
@given(texts=st.lists(st.text("ab", max_size=5), max_size=6), most=st.integers(0, 20))
def test_within_cuts_the_tail(texts: list[str], most: int) -> None:
    kept = within(texts, most)
    assert "".join(kept) == "".join(texts)[:most]
    assert [text for text in kept if text] == [text for text in _cut_by_hand(texts, most) if text]


def _cut_by_hand(texts: list[str], most: int) -> Iterator[str]:
    for text in texts:
        yield text[:most]
        most = max(0, most - len(text))


# ---- languages ------------------------------------------------------------------------------------------------------

ENGLISH = (
    "The city lies on the river and has about three hundred thousand inhabitants. In the Middle Ages it was a free city"
    " that lived on the salt trade. Today it is known for its university and the old town."
)
FOREIGN = {
    "de": "Die Stadt liegt am Fluss und hat etwa dreihunderttausend Einwohner. Im Mittelalter war sie eine freie"
    " Reichsstadt, die vom Handel mit Salz lebte. Heute ist sie wegen ihrer Universität und der Altstadt bekannt.",
    "fr": "La ville se trouve au bord du fleuve et compte environ trois cent mille habitants. Au Moyen Âge, elle était"
    " une ville libre qui vivait du commerce du sel. Elle est connue pour son université et pour la vieille ville.",
    "es": "La ciudad está situada a orillas del río y tiene unos trescientos mil habitantes. En la Edad Media era una"
    " ciudad libre que vivía del comercio de la sal. Hoy es conocida por su universidad y por el casco antiguo.",
    "nl": "De stad ligt aan de rivier en heeft ongeveer driehonderdduizend inwoners. In de middeleeuwen was het een"
    " vrije stad die van de handel in zout leefde. Ze is bekend om haar universiteit en de goed bewaarde binnenstad.",
    "fi": "Kaupunki sijaitsee joen rannalla ja siinä on noin kolmesataatuhatta asukasta. Keskiajalla se oli vapaa"
    " kaupunki, joka eli suolakaupasta. Nykyään se tunnetaan yliopistostaan ja vanhasta kaupungistaan.",
    "ru": "Город расположен на берегу реки, в нём живёт около трёхсот тысяч человек. В средние века это был вольный"
    " город, живший торговлей солью. Сегодня город известен своим университетом.",
    "zh": "这座城市位于河边，约有三十万居民。中世纪时它是一座靠盐业贸易为生的自由城市。",
}


def test_english_is_spoken() -> None:
    known = Phrases().candidates([ENGLISH])
    assert known.spoken
    assert {"salt trade", "university"} <= set(known.counts)


@pytest.mark.parametrize("language", FOREIGN)
def test_other_languages_are_noticed_and_taken_word_by_word(language: str) -> None:
    known = Phrases().candidates([FOREIGN[language]])
    assert not known.spoken
    assert known.counts
    assert not any(" " in word for word in known.counts)


def test_plain_words_are_without_the_most_frequent_ones_of_their_language() -> None:
    counts = Phrases().candidates([FOREIGN["de"]]).counts
    assert "reichsstadt" in counts
    assert not {"die", "und", "am"} & set(counts)
    assert Phrases().candidates([FOREIGN["zh"]]).counts["城"] == 2


@pytest.mark.parametrize(
    ("declared", "spoken"), [("en", True), ("en-gb", True), ("", True), ("de", False), ("fr-ca", False)]
)
def test_a_page_that_says_its_language_is_believed(declared: str, spoken: bool) -> None:
    assert Phrases().candidates([ENGLISH], declared).spoken is spoken


def test_english_is_not_believed_without_english_words() -> None:
    assert not Phrases().candidates([FOREIGN["de"]], "en").spoken


def test_a_few_words_are_english_if_one_of_them_is() -> None:
    assert Phrases().candidates(["Zxqa zxqb department zxqc"]).spoken
    assert not Phrases().candidates(["Zxqa zxqb"]).spoken
    assert Phrases().candidates(["12 34", ""]).spoken


def test_a_menu_in_english_does_not_hide_a_page_in_german() -> None:
    menu = ["Home", "About us", "Contact", "News", "Search"]
    assert not Phrases().candidates([*menu, *[FOREIGN["de"]] * 8]).spoken
