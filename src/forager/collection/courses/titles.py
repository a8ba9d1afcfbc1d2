"""What a course is called: its number and its name, out of the title and the first headings of its page."""

from __future__ import annotations

import re
from itertools import islice

from forager.collection.courses.headings import headings
from forager.collection.courses.kinds import Kind
from forager.collection.courses.naming import named
from forager.collection.courses.numbers import number_in_url, number_of, without_number
from forager.types import Page

NUMBERED, NAMED = 2, 5  # headings in which number and name are looked for
LONGEST = 120  # characters of a name

_TERM = r"(?:fall|autumn|winter|spring|summer)"
_NOISE = re.compile(
    rf"\b{_TERM}\b(?:\s+(?:semester|quarter|term|session))?(?:\s+i{{1,2}}\b)?[\s,]*['’]?(?:\d{{2,4}}(?:\s*[-/]\s*\d{{2,4}})?\b)?"
    rf"|\b(?:19|20)\d\d\b\s*(?:{_TERM}\b)?"
    r"|\bwelcome\s+to(?:\s+the)?\b"
    r"|\b(?:the\s+)?(?:official\s+)?(?:course|class)?\s*(?:home|web|main)[\s-]*(?:page|site)s?\b(?:\s+(?:for|of))?"
    r"|\b(?:course|class)\s+(?:description|information|info|outline|overview|pages?|materials?|syllabus)\b(?:\s+for\b)?"
    r"|\b(?:syllabus|semester|quarter|sections?\s+\S+)\b(?:\s+for\b)?|^\s*(?:course|class)\s*:",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"\([\W\d]*\)")  # brackets around what was cut out
_EDGES = " -–—:;,./|<>*#'\"!=~_&"
_NO_NAME = re.compile(
    r"\b(?:universit|college|department|dept\b|institute|school of|last (?:modified|updated))|©", re.I
)
_GENERAL = re.compile(
    r"\b(?:pages?|home|course|class|general|specific|administrative|information|items?|index|html?|no|title|welcome|the"
    r"|to|for|of|on|line|online|available|new|what|contents?)\b|\W|\d",
    re.IGNORECASE,
)


def course_number(page: Page) -> str:
    """As "CS 302"; "" if neither its title, nor its first headings, nor its URL has one."""
    return next(filter(None, map(number_of, _said(page, NUMBERED))), "") or number_in_url(page.url)


def course_name(page: Page) -> str:
    """Without number, term and "home page"; the whole title if nothing else is left."""
    return next(filter(None, map(_name, _said(page, NAMED))), page.title[:LONGEST])


def _said(page: Page, count: int) -> list[str]:
    return [page.title, *(heading.text for heading in islice(headings(page), count))]


def _name(text: str) -> str:
    bare = _EMPTY.sub(" ", _NOISE.sub(" ", without_number(text[: 2 * LONGEST])))
    bare = " ".join(bare.split()).strip(_EDGES)
    if bare.count("(") != bare.count(")"):
        bare = " ".join(re.sub(r"[()]", " ", bare).split()).strip(_EDGES)
    if len(_GENERAL.sub("", bare)) < 4 or _NO_NAME.search(bare) or named(bare) not in (None, Kind.NONE):
        return ""
    return bare[:LONGEST]
