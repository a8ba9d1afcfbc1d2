"""Candidate terms: noun phrases of a page, by a grammar over parts of speech and a list of words that no term has.

    thesis   (JJ|NN)* NN
    ours     (JJ|VBN|VBG)* (JJ|NN)* (NN | (JJ|NN|VBN) VBG)

JJ stands for JJ, JJR and JJS, and for a participle with a hyphen ("object-oriented"); NN for NN, NNS, NNP and NNPS.
The grammar has no prepositions and no determiners. We added participles, because a tagger that knows no context always
calls them verbs: without them "operating system" and "machine learning" would be no terms.

A *candidate* is any run of at most `longest` words of a sentence whose tags match the grammar as a whole. So parts of a
phrase are candidates too if they are phrases: "support vector machine" also gives "support vector", "vector machine",
"support", "vector" and "machine". f(a) counts every place where a stands, within longer candidates or alone. Candidates
are folded (see `forager.web.text`). Their words are separated by one space, and may contain hyphens, slashes, & and
periods.

A stop word ends a phrase, and so does anything that is not a word: punctuation, numbers, addresses. A light word, such
as "time", and a single letter may be in a phrase, but at least one noun or gerund must be another word. A phrase ends
with its leaf: a page does not say which leaves belong to one line of text, and those of a list or table do not.

The tagger knows English only. A page is taken for another language in three cases: it says so; it has more function
words of other languages than English ones; or both the share of its words that are in the lexicon and the share of
English function words are too small. Then its candidates are its words without the most frequent words of some
languages, and `Candidates.spoken` is False. English lists of names are treated so too: they have no phrases either.

The lists of words are at the end of this file. `FUNCTION_WORDS` hold English sentences together; they also show that a
text is English. `VAGUE_WORDS` are adjectives that praise, count or compare; they may be part of a name (New York).
`IDLE_WORDS` are participles that are nearly always verbs, dates, and words that every page says of itself.
`LIGHT_WORDS` are nouns that mean something only together with others: "time" alone, but "time complexity".
`FOREIGN_WORDS` are the function words of some other languages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain

from forager.learn.lexical.tagger import Tagged, Tagger, english
from forager.web.text import fold, words

LONGEST = 6  # words of a candidate: one in 3,000 phrases has more
LONGEST_WORD = 40  # letters
MOST = 100_000  # characters of a page that are read
KNOWN, FUNCTIONAL = 0.5, 0.12  # shares of words in the lexicon, of function words; English text reaches one of them
PIECES, PIECE = 8, 250  # so many pieces of a text tell its language, of so many characters each
FEW = 20  # fewer words than this say too little about the language

# A letter for each tag: nouns, light nouns, adjectives, VBN, VBG, and all that ends a phrase.
_NOUN, _LIGHT, _ADJECTIVE, _PARTICIPLE, _GERUND, _END = "NLJVG-"
_PHRASE = re.compile(r"(?=[LJV]*[NG])[JVG]*[JNL]*(?:[NL]|[JNLV]G)")
_BREAK = (_END, "")
_RUN = re.compile(r"[NLJVG]{1,32}")  # a longer run is no prose and is cut, because runs are remembered

_JOINTS = re.compile(r"[-‐‑–&/]")
_WORD = re.compile(r"[^\W_]+(?:[-‐‑–&/][^\W_]+)*\.?|(?:[^\W\d_]{1,3}\.)+[^\W\d_]{0,3}")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s)")
_LETTERS = re.compile(r"[^\W\d_]+")
_IDEOGRAPHS = "\u2e80"  # from here on a single character may be a word


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What may be terms of one document."""

    counts: Mapping[str, int]  # f(a), in the order in which they first occur
    spoken: bool = True  # False: the tagger does not know the language, and these are single words


class Phrases:
    """Finds the candidates of documents."""

    def __init__(
        self,
        tagger: Tagger | None = None,
        *,
        longest: int = LONGEST,
        participles: bool = True,
        stop: Collection[str] = (),
    ) -> None:
        """`participles`: our grammar, not the thesis'. `stop`: more stop words. The usual tagger is `english`."""
        self._tagger = tagger or english()
        self._longest, self._participles, self._stop = longest, participles, STOP_WORDS.union(stop)
        self._part = lru_cache(1 << 16)(self._letter_and_word)
        self._spans = lru_cache(1 << 10)(self._phrases_among)

    def candidates(self, leaves: Sequence[str], language: str = "") -> Candidates:
        """The candidates of a page, from the text of its leaves and the language that it declares."""
        texts = within(leaves, MOST)
        if not (language or "en").startswith("en") or not self.speaks(texts):
            return Candidates(_plain_words(texts), spoken=False)
        return Candidates(Counter(self._phrases(texts)))

    def speaks(self, texts: Sequence[str]) -> bool:
        """Whether these texts seem to be in the tagger's language."""
        found = _LETTERS.findall(sample(" ".join(texts)))
        lowered = [word.lower() for word in found]
        functional, foreign = (sum(map(those.__contains__, lowered)) for those in (FUNCTION_WORDS, _FOREIGN_ALONE))
        known = sum(map(self._known, found, lowered))
        if foreign > max(1, functional, FUNCTIONAL * len(found)) or known == 0 < len(found):
            return False
        return len(found) < FEW or known >= KNOWN * len(found) or functional >= FUNCTIONAL * len(found)

    def _known(self, word: str, lowered: str) -> bool:
        return self._tagger.knows(lowered) or self._tagger.knows(word)

    def _phrases(self, texts: Sequence[str]) -> Iterator[str]:
        """Each candidate, as often as it occurs."""
        sentences = chain.from_iterable(map(self._tagger.sentences, texts))
        parts = [part for sentence in sentences for part in (*map(self._part, sentence), _BREAK)]
        letters, words = "".join([letter for letter, _ in parts]), [word for _, word in parts]
        for run in _RUN.finditer(letters):
            at = run.start()
            for start, end in self._spans(run[0]):
                yield " ".join(words[at + start : at + end])

    def _phrases_among(self, letters: str) -> list[tuple[int, int]]:
        """Start and end of each phrase in a run of letters."""
        return [
            (start, end)
            for start in range(len(letters))
            for end in range(start + 1, min(start + self._longest, len(letters)) + 1)
            if _PHRASE.fullmatch(letters, start, end)
        ]

    def _letter_and_word(self, token: Tagged) -> tuple[str, str]:
        word, tag = fold(token[0]), token[1]
        return self._letter(word, tag) if self._fits(word, tag) else _END, word

    def _letter(self, word: str, tag: str) -> str:
        if tag.startswith("NN"):
            return _LIGHT if word in LIGHT_WORDS or len(word.rstrip(".")) == 1 else _NOUN
        if tag.startswith("JJ") or (tag in ("VBN", "VBG") and "-" in word):
            return _ADJECTIVE
        if self._participles and tag in ("VBN", "VBG"):
            return _PARTICIPLE if tag == "VBN" else _GERUND
        return _END

    def _fits(self, word: str, tag: str) -> bool:
        """Whether a term may contain the word."""
        if len(word) > LONGEST_WORD or not _WORD.fullmatch(word) or _ORDINAL.fullmatch(word):
            return False
        if word in VAGUE_WORDS and tag.startswith("NNP"):
            return True
        parts = _JOINTS.split(word.rstrip("."))
        return word not in self._stop and any(part not in self._stop and not part.isnumeric() for part in parts)


def within(texts: Sequence[str], most: int) -> Sequence[str]:
    """The first `most` characters of the texts; the last text may be cut."""
    for at, before in enumerate(accumulate(map(len, texts), initial=0)):
        if before > most:
            return [*texts[: at - 1], texts[at - 1][: most - before]]
    return texts


def sample(text: str) -> str:
    """Some pieces from all over a text, or the whole text if it is short."""
    step = len(text) // PIECES
    if step <= PIECE:
        return text
    return " ".join([text[at : at + PIECE] for at in range(0, step * PIECES, step)])


def _plain_words(texts: Sequence[str]) -> Counter[str]:
    return Counter(
        word
        for word in words("\n".join(texts))
        if word not in STOP_WORDS and word not in FOREIGN_WORDS
        if (len(word) > 1 or word >= _IDEOGRAPHS) and not word.replace("_", "").isdigit()
    )


# ---- words ----------------------------------------------------------------------------------------------------------


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


FUNCTION_WORDS = _listed("""
    a about above across after again against ago all almost alone along already also although always am among amongst an
    and another any anybody anyone anything anyway anywhere are aren around as aside at away back be became because
    become becomes been before behind being below beneath beside besides between beyond both but by can cannot could
    couldn despite did didn do does doesn doing don done down due during each either else elsewhere enough etc even ever
    every everybody everyone everything everywhere except far few for from further furthermore get gets getting give
    given gives go goes going gone got had hadn has hasn have haven having he hence her here hers herself him himself
    his how however i if in indeed inside instead into is isn it its itself just keep kept know known latter least less
    let like likely ll made make makes making many may maybe me meanwhile might mine more moreover most mostly much must
    my myself namely near nearly neither never nevertheless next no nobody none nor not nothing now nowhere of off often
    on once one ones only onto or other others otherwise ought our ours ourselves out outside over own per perhaps
    please put quite rather re really s said same say says see seem seemed seems seen self several shall she should
    shouldn since so some somebody somehow someone something sometime sometimes somewhere soon still such t take taken
    takes taking than that the their theirs them themselves then there thereby therefore these they this those though
    through throughout thus to together too toward towards under underneath unless unlike until up upon us use used uses
    using ve versus very via was wasn we well went were weren what whatever when whenever where whereas whereby wherever
    whether which whichever while who whoever whole whom whose why will with within without won would wouldn yes yet you
    your yours yourself yourselves
""")

VAGUE_WORDS = _listed("""
    able actual additional adequate afraid alike amazing ample appropriate apparent available aware awful bad best
    better brief careful careless certain clear close considerable convenient correct crucial current dear decent
    different difficult easier easiest easy enormous entire essential excellent extra famous first former frequent fun
    funny glad good great greater greatest happy helpful huge important incredible interested interesting last late
    later latest likewise little longer longest lovely necessary new newer newest nice notable noteworthy numerous
    obvious occasional odd ok okay ordinary overall particular past possible present pretty previous prior probable
    ready recent related relevant remarkable respective responsible second serious significant similar so-called
    specific strange striking subsequent substantial sufficient suitable superb sure surprising terrible third tiny true
    typical ultimate unable unlikely unusual usual valuable various vast weird welcome wonderful worse worst worth
    worthy wrong
""")

IDLE_WORDS = _listed("""
    accompanying accordingly according added allowed allowing apply asked asking based bearing becoming began begin
    beginning begun believe belonging bringing brought called calling came carried carrying caused causing chosen come
    comes coming compared concerning considered considering consisted consisting contained containing continued
    continuing corresponding created creating dealing depending described describing designated discussed discussing
    ending enabling especially exceeding expected explained extending facing feel felt finding followed following found
    gave giving grown held helped helping holding hoping identifying included including increased increasing indicated
    indicating intended involved involving joining keeping knowing lasting leaving led lets located looked looking lost
    lying meant met mentioned moved moving named needed needing obtained occurred occurring offered offering passed paid
    performed placed played playing prepared presented presenting produced producing provided providing putting raised
    ranging reached received receiving referred regarding relating remained remaining reported representing required
    requiring resulting running saw saying seeing sent setting showed showing shown sitting spanning spent standing
    started starting stated stating stood stopped suggested suggesting supposed surrounding surviving talking telling
    thinking thought told took tried trying turned turning understood updated viewed wanted wanting went willing wish
    working

    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    january february march april june july august september october november december jan feb apr jun jul aug sep sept
    oct nov yesterday today tomorrow tonight am pm edt pst pdt gmt

    click clicking copyright homepage html http https mailto nbsp url webmaster www
""")

LIGHT_WORDS = _listed("""
    amount aspect aspects bit bunch case cases couple day days deal degree dozen end example examples fact facts fall
    half hour hours hundred hundreds instance instances kind kinds lot lots matter means million millions minute minutes
    moment month months number numbers pair part parts people person piece place plenty point points purpose purposes
    question questions reason reasons rest result results sake seconds sense set side sides sort sorts stuff thing
    things thousand thousands time times top total type types use variety version way ways week weeks year years
    afternoon evening morning night sun sat mar dec
    comment comments contact ftp home index link links navigation page pages site sites web website websites
""")

STOP_WORDS = FUNCTION_WORDS | VAGUE_WORDS | IDLE_WORDS

FOREIGN_WORDS = _listed("""
    aber als am an auch auf aus bei bis das dass dem den der des die diese dieser durch ein eine einem einen einer eines
    er es für hat ich ihr im ist kann mit nach nicht noch nur oder sein sich sie sind so über um und uns unter vom von
    vor war was werden wie wir wird wurde wurden zu zum zur

    au aux avec car ce ces cette comme dans de des du elle en est et être il ils je la le les leur leurs lui mais ne nos
    notre nous on ont ou où par pas plus pour qu que qui sa sans se ses son sont sous sur tout tous un une vos votre
    vous

    al como con cuando del desde donde el ella ellos entre era es esta este esto ha hay la las lo los más me mi muy no
    para pero por que se según ser si sin sobre son su sus también tan tiene todo todos un una uno unos y ya

    ai alla alle anche che chi ci come con cui da dai dal dalla degli dei del dell della delle di e è era fra gli ha
    hanno i il in io la le lo loro ma nei nel nell nella nelle non o per più quale quando quella quello questa questo se
    si sono su sua sui sul sulla suo tra un una uno

    ao aos as até com da das de do dos e ela ele em entre essa esse está eu foi isso já mais mas na nas não nem no nos o
    os ou para pela pelo por quando que são se sem ser seu seus sua suas também tem um uma

    aan als bij dan dat de deze die dit door een en er haar had heeft het hij hun ik in is kan maar meer met naar niet
    nog of om onder ook op over te tot uit van veel voor was wat werd wordt worden zich zij zijn zo

    af at att av blev blir de dem den denna der det detta dig du eller en er et ett från för før fra har hon hun i ikke
    inte jag jeg kan med men mellan mellem når och og om på sig sin ska skal som till til ut var vi vid är

    ale dla do i jak jest jego jej już które który lub ma na nie o od po przez przy się są tak to tylko w we z za że

    без был была были было быть в вы да для до его ее если есть же за и из или их к как ко ли на не но о об он она они
    оно от по при с со так также то только у что это эта этот я
""")

_FOREIGN_ALONE = frozenset(word for word in FOREIGN_WORDS - FUNCTION_WORDS if len(word) > 1)
