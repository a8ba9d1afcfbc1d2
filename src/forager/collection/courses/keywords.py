"""The words of a subject, from many courses: what to look for in forums, videos or an encyclopedia.

Terms come from a course's name, from its syllabus, and from the headings and anchors of its assignments and lectures.
A term is two or three words in a row without stop words among them, or a single word with stop words around it.

    f(a) = sum over the courses of 2 [a in the name] + [a in the syllabus] + [a in such a heading or anchor]
    C(a) = log2(|a| + 1) (f(a) - mean of f(b) over the longer terms b that contain a)          |a| = number of words

So a term ranks high only if many courses share it, "scheduling" counts only where it stands alone, and "vector machine"
only where it is not a part of "support vector machine".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import TypeAlias

from forager.collection.courses.naming import singular
from forager.collection.courses.numbers import DEPARTMENTS
from forager.collection.courses.part_types import PLAIN, WORDS, PartType
from forager.collection.courses.record import Course
from forager.web.text import words

MOST_WORDS = 3  # of a term
IN_NAME = 2
LONGEST = 20_000  # characters of a course's syllabus, and of its headings, that are read
MOST_TERMS = 400_000  # in memory while counting; when there are more, the rarer half is dropped

Term: TypeAlias = tuple[str, ...]

_TOLD = (PartType.ASSIGNMENTS, PartType.LECTURES)
_ADDRESS = re.compile(r"\S*(?:://|@|\w\.\w)\S*")  # of a page, a person, a newsgroup, a file
_CUTS = re.compile(r"[^\w\s'’-]+|\s[-–—]+\s|\d+")
_STOP = """
    a about above after again all allow allows also although an and any are as at be because been before being below
    between both but by can could did do does doing done down during each either enough etc every few for from further
    get give given had has have having he her here hers him his how however i if in instead into is it its itself just
    know least less like made make makes many may me might more most much must my need needed neither new no nor not now
    of off often on once one only or other others our out over own per please possible quite rather same see several
    shall she should since so some such take taken than that the their them then there these they this those through
    thus to too toward towards two three four five six under until up upon us use used uses using various very via was
    way we well were what when where whether which while who whom whose why will with within without would yet you your
    advanced aim aims application applications assume assumed background base based basic basics begin chapter concept
    concepts cover covered covering covers cr credit credits development different discuss discussed discussion due
    emphasis emphasize enrolled equivalent example expected experience explore familiar familiarity focus following
    foundation foundations fundamental fundamentals good guidelines home hour include included includes including
    instruction intended interest intro introduce introduced introduces introduction introductory issue knowledge learn
    learning level list lots material meet meets method methods office oriented page permission phone prepare present
    presented primarily principle principles provide provides read related require required requirement requires review
    room section seminar set study studied subject taught teach teaching technique techniques topic type undergraduate
    graduate understand understanding unit various week work worked working part solving am pm mwf tth tuth mw tr html
    http www com edu org ps pdf postscript ii iii iv vol ed eds
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
    october november december jan feb mar apr jun jul aug sep sept oct nov dec
    """


@dataclass(frozen=True, slots=True)
class CourseKeyword:
    """A term, with its rank."""

    term: str
    score: float  # C
    courses: int  # that have it


def keywords(courses: Iterable[Course], most: int = 30) -> list[CourseKeyword]:
    """The best terms, best first. A term of one course alone counts only if there is no other course."""
    f: Counter[Term] = Counter()
    spread: Counter[Term] = Counter()
    seen = 0
    for course in courses:
        said = _said(course)
        seen += 1
        f.update(said)
        spread.update(said.keys())
        if len(f) > MOST_TERMS:
            f = Counter(dict(f.most_common(MOST_TERMS // 2)))
            spread = Counter({term: spread[term] for term in f})
    shared = {term: weight for term, weight in f.items() if spread[term] > 1 or seen == 1}
    scored = sorted(((-score, term) for term, score in _scores(shared)))
    return [CourseKeyword(" ".join(term), -score, spread[term]) for score, term in scored[:most]]


def _said(course: Course) -> Counter[Term]:
    """f of one course."""
    said = Counter(dict.fromkeys(_terms(course.name), IN_NAME))
    said.update(set(_terms(_joined(part.text for part in course.parts if part.type is PartType.SYLLABUS))))
    said.update(set(_terms(_joined(part.name for part in course.parts if part.type in _TOLD))))
    return said


def _joined(texts: Iterable[str]) -> str:
    return " | ".join(texts)[:LONGEST]


def _terms(text: str) -> Iterator[Term]:
    for stretch in _CUTS.split(_ADDRESS.sub(" | ", text)):
        run: list[str] = []
        for word in [*words(stretch), ""]:
            if len(word) > 1 and word not in STOP and singular(word) not in STOP:
                run.append(word)
            else:
                yield from [tuple(run)] if len(run) == 1 else _within(run, 2)
                run = []


def _within(run: Sequence[str], fewest: int = 1) -> Iterator[Term]:
    for first in range(len(run)):
        for end in range(first + fewest, min(first + MOST_WORDS, len(run)) + 1):
            yield tuple(run[first:end])


def _scores(f: dict[Term, int]) -> Iterator[tuple[Term, float]]:
    longer: dict[Term, list[int]] = defaultdict(list)
    for term, weight in f.items():
        for inner in set(_within(term, 2)) - {term}:
            longer[inner].append(weight)
    for term, weight in f.items():
        around = longer.get(term)
        score = log2(len(term) + 1) * (weight - (sum(around) / len(around) if around else 0))
        if score > 0:
            yield term, score


def _stop_words() -> frozenset[str]:
    """Words of English, and words that courses of every subject use."""
    listed = (phrases for said in WORDS.values() for phrases in (said.always, said.head, said.alone))
    named = {phrase.strip() for phrases in listed for phrase in phrases.split(",")} - {"software"}
    return frozenset([*_STOP.split(), *PLAIN.split(), *DEPARTMENTS.split("|"), *named])


STOP = _stop_words()
