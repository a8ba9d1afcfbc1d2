"""The numbers of courses, as universities write them: "CS 302", "COS226", "6.001", "15-411", "G22.2233", "22C:18"."""

from __future__ import annotations

import re

# Departments whose codes count in small letters and with a single digit too: "cs6", "Math 3".
DEPARTMENTS = (
    "cs|cse|csc|csci|cmsc|cmpsci|cmps|cmpt|cosc|cos|cps|cis|ics|eecs|ecs|ece|ee|cpsc|comp|math|stat|phys|chem|bio|econ"
    "|computer science"
)
# Words before a number that are not a department.
_OTHERS = (
    "room|rm|fall|spring|summer|winter|html|iso|part|unix|ada|lab|hw|ps|test|quiz|week|exam|mwf|mw|tth|tr|pc|vax|ibm"
    "|win|mips|rfc|pdp|mp|bldg|tel|fax|ext|page|vol|no|am|pm|may|june|july|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov"
    "|dec|due|section|sec|chapter|unit|version|po|box|phone|x"
)
_GAP = r"[ \t]?[-.:]?[ \t]?"
_MORE = r"(?:[ \t]?/[ \t]?\d{1,4}[A-Z]?|-\d\b)?(?:[ \t]?\([A-Z]\d\))?"  # other numbers, sections of the same course
_NUMBERS = re.compile(
    rf"\b((?i:{DEPARTMENTS})){_GAP}(\d{{1,4}}[A-Za-z]{{0,2}})\b{_MORE}"
    rf"|\b(?!(?i:{_OTHERS})\b)([A-Z]{{2,6}}|[A-Z] ?&? ?[A-Z]){_GAP}(\d{{2,4}}[A-Z]{{0,2}})\b{_MORE}"
    r"|\b(\d{2}-\d{3}|\d{1,2}\.\d{3}|[A-Z]\d{2}\.\d{4}|\d{2}[A-Z]:\d{2,3}|(?:\d{2}:)?\d{3}:\d{3}|[A-Z]\d{3})\b"
)
_IN_PATH = re.compile(rf"~?(?:{DEPARTMENTS})[-_.]?\d", re.IGNORECASE)
_YEAR = re.compile(r"(?:19[6-9]|20[0-4])\d")
LOOKED_AT = 300  # characters


def number_of(text: str) -> str:
    """The first number of a course in a text, as "CS 302"; "" if there is none."""
    for found in _NUMBERS.finditer(text[:LOOKED_AT]):
        if _is_number(found):
            code, digits = found[1] or found[3], found[2] or found[4]
            return f"{_code(code)} {digits.upper()}" if code else found[5]
    return ""


def without_number(text: str) -> str:
    """The text without the numbers of courses."""
    return _NUMBERS.sub(lambda found: " " if _is_number(found) else found[0], text[:LOOKED_AT]) + text[LOOKED_AT:]


def number_in_url(url: str) -> str:
    """The number in the last part of a path that has one: ".../~prof/cs302/home.html"."""
    parts = url.partition("://")[2].split("/")[1:]
    return next(filter(None, (number_of(part) for part in reversed(parts) if _IN_PATH.match(part))), "")


def same_course(one: str, other: str) -> bool:
    """Whether two numbers may belong to one course. The digits decide, because departments are written in many ways."""
    return not one or not other or _digits(one) == _digits(other)


def _is_number(found: re.Match[str]) -> bool:
    return bool(found[1]) or not _YEAR.fullmatch(found[4] or "")


def _code(written: str) -> str:
    return written.title() if len(written) > 6 else re.sub(r"[\s&]", "", written).upper()


def _digits(number: str) -> str:
    return re.sub(r"\D", "", number)
