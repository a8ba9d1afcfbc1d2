"""What people say about pages of a project: PROJECT/verdicts.tsv, one line for each verdict.

    url       the page
    verdict   relevant, irrelevant, unsure, or the name of a wanted class; `not` is read as irrelevant; for use
              level: the number of a level of the topic's path, outside, or unsure
    judge     who said it
    time      when, in UTC
    critic    the version of the critic that had judged the page
    use       teach: the critic learns from it (`forager label`)
              review: it measures the collection (`forager judge`), and the critic never sees it
              level: on which level of a topic path the page is (`forager judge --levels`); likewise

Lines are only added at the end. If a judge has several lines about one page, the last one counts. A last line without
its end was cut off by a kill: nobody reads it, and the next writer removes it.

Projects of earlier versions have labels.tsv (use: teach) and judgements/JUDGE.tsv (use: review). They are read as if
they stood at the beginning of verdicts.tsv, and they are never changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from filelock import FileLock

from forager.errors import ForagerError, unknown
from forager.types import Url
from forager.web.urls import UrlRules

FILE = "verdicts.tsv"
COLUMNS = ("url", "verdict", "judge", "time", "critic", "use")
OLD_LABELS, OLD_REVIEWS = "labels.tsv", "judgements"  # a file and a folder of earlier versions
OLD_REVIEW_COLUMNS = ("url", "verdict", "time", "critic")
IS_RELEVANT, IS_IRRELEVANT, UNSURE, OUTSIDE = "relevant", "irrelevant", "unsure", "outside"
REVIEW_VERDICTS = (IS_RELEVANT, IS_IRRELEVANT, UNSURE)
NAMELESS = "label"  # the judge of a label, if nobody is named
_SYNONYMS = {"not": IS_IRRELEVANT}
_NAME = re.compile(r"[\w@+-][\w@+.-]*")
_LEVEL = re.compile(r"[1-9][0-9]?")
_SEPARATORS = str.maketrans("\t\r\n", "   ")


class VerdictUse(StrEnum):
    """What a verdict is for."""

    TEACH = "teach"
    REVIEW = "review"
    LEVEL = "level"


@dataclass(frozen=True, slots=True)
class PageVerdict:
    """What one judge says about one page."""

    url: str
    verdict: str
    judge: str
    at: datetime | None  # UTC; None if an old file does not say it
    critic: str  # version of the critic that had judged the page
    use: VerdictUse


def is_judge_name(name: str) -> bool:
    """Whether verdicts can be given under this name."""
    return _NAME.fullmatch(name) is not None


def check_judge_name(name: str) -> str:
    """The name, if verdicts can be given under it."""
    if not is_judge_name(name):
        raise ForagerError(f"{name!r} cannot be the name of a judge: use letters, digits, . _ @ + or -")
    return name


def add_verdicts(project: Path, verdicts: Iterable[PageVerdict]) -> None:
    """Add lines to the file of a project; they are on the disk when this returns. Several people may do it at once."""
    file = project / FILE
    lines = "".join(map(_line, verdicts))
    try:
        with file.open("a+b") as stream, FileLock(file.with_suffix(".lock"), mode=0o644):
            stream.seek(0)
            whole = stream.read().rfind(b"\n") + 1
            stream.truncate(whole)
            stream.write((lines if whole else "\t".join(COLUMNS) + "\n" + lines).encode())
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise ForagerError(f"{file} cannot be written: {error.strerror}; the last verdict is not saved") from None


def read_labels(project: Path) -> dict[Url, str]:
    """The verdict on each page that the critic is to learn from. The last line about a page counts."""
    return {
        Url(found.url): found.verdict
        for found in (*_old_labels(project / OLD_LABELS), *_read(project / FILE))
        if found.use is VerdictUse.TEACH
    }


def read_reviews(project: Path) -> dict[str, dict[str, PageVerdict]]:
    """The verdicts that measure the collection: by judge, in the order of their names, and by URL."""
    reviews: dict[str, dict[str, PageVerdict]] = {}
    for file in sorted((project / OLD_REVIEWS).glob("*.tsv")):
        if is_judge_name(file.stem):
            reviews[file.stem] = {found.url: found for found in _old_reviews(file)}
    for found in _read(project / FILE):
        if found.use is VerdictUse.REVIEW:
            reviews.setdefault(found.judge, {})[found.url] = found
    return dict(sorted(reviews.items()))


def read_level_verdicts(file: Path) -> dict[str, dict[str, PageVerdict]]:
    """What judges say about levels, in the verdicts of a project or in such a file from elsewhere: by judge and URL."""
    given: dict[str, dict[str, PageVerdict]] = {}
    for found in _read(file):
        if found.use is VerdictUse.LEVEL:
            given.setdefault(found.judge, {})[found.url] = found
    return dict(sorted(given.items()))


def read_verdicts(project: Path) -> list[PageVerdict]:
    """All verdicts, of every use. The last line of a judge about a page counts."""
    labels = (found for found in (*_old_labels(project / OLD_LABELS), *_read(project / FILE)))
    taught = {(found.judge, found.url): found for found in labels if found.use is VerdictUse.TEACH}
    return [*taught.values(), *(found for given in read_reviews(project).values() for found in given.values())]


# ---- what a user writes ---------------------------------------------------------------------------------------------


def parse_labels(lines: Iterable[str], rules: UrlRules, where: str) -> dict[Url, str]:
    """Labels as a user writes them: a URL and a verdict on each line, with a tab or spaces between them."""
    found: dict[Url, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        text, _, verdict = line.strip().partition("\t") if "\t" in line else line.strip().partition(" ")
        url = rules.canonical(text)
        if url is None or not verdict.strip():
            raise ForagerError(
                f"{where}, line {number}: {line.strip()!r} is not a URL with a verdict; no label was saved"
            )
        found[url] = verdict.split("\t")[0].strip()
    return found


def check_label(verdict: str, classes: Iterable[str]) -> str:
    """The verdict, if a critic with these wanted classes can learn from it."""
    known = (IS_RELEVANT, IS_IRRELEVANT, *classes)
    if verdict not in known:
        raise unknown("verdict", verdict, known)
    return verdict


# ---- lines ----------------------------------------------------------------------------------------------------------


def _line(given: PageVerdict) -> str:
    time = given.at.isoformat(timespec="seconds") if given.at else ""
    fields = (given.url, given.verdict, given.judge, time, given.critic, given.use)
    return "\t".join(field.translate(_SEPARATORS) for field in fields) + "\n"


def _read(file: Path) -> Iterator[PageVerdict]:
    for where, (url, verdict, judge, time, critic, use) in _rows(file, COLUMNS):
        try:
            found = PageVerdict(url, _word(verdict), judge, _moment(time), critic, VerdictUse(use))
        except ValueError as error:
            raise _broken(where, error, COLUMNS) from None
        if found.use is VerdictUse.REVIEW and found.verdict not in REVIEW_VERDICTS:
            raise _broken(where, f"{verdict!r} is not one of {', '.join(REVIEW_VERDICTS)}", COLUMNS)
        if found.use is VerdictUse.LEVEL and not (verdict in (OUTSIDE, UNSURE) or _LEVEL.fullmatch(verdict)):
            raise _broken(where, f"{verdict!r} is not the number of a level, {OUTSIDE} or {UNSURE}", COLUMNS)
        yield found


def _old_reviews(file: Path) -> Iterator[PageVerdict]:
    for where, (url, verdict, time, critic) in _rows(file, OLD_REVIEW_COLUMNS):
        if _word(verdict) not in REVIEW_VERDICTS:
            raise _broken(where, f"{verdict!r} is not one of {', '.join(REVIEW_VERDICTS)}", OLD_REVIEW_COLUMNS)
        try:
            yield PageVerdict(url, _word(verdict), file.stem, _moment(time), critic, VerdictUse.REVIEW)
        except ValueError as error:
            raise _broken(where, error, OLD_REVIEW_COLUMNS) from None


def _old_labels(file: Path) -> Iterator[PageVerdict]:
    """Earlier versions took lines with URL and verdict alone, and a last line without its end."""
    for number, line in enumerate(_text(file).splitlines()[1:], 2):
        url, verdict, *_ = (*line.split("\t"), "", "")
        if line.strip() and not verdict:
            raise ForagerError(f"{file}, line {number}: no verdict; a line has a URL, a tab and a verdict")
        if line.strip():
            yield PageVerdict(url, _word(verdict), NAMELESS, None, "", VerdictUse.TEACH)


def _rows(file: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """The lines of a table after its head, each with the place it stands at; without a last line that was cut off."""
    lines = _text(file).split("\n")[:-1]
    if lines and tuple(lines[0].rstrip("\r").split("\t")) != columns:
        raise ForagerError(f"{file} line 1: the head must be {' '.join(columns)}, separated by tabs")
    for number, line in enumerate(lines[1:], 2):
        if line.strip():
            fields, where = line.rstrip("\r").split("\t"), f"{file} line {number}"
            if len(fields) != len(columns):
                raise _broken(where, f"{len(fields)} columns", columns)
            yield where, fields


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ForagerError(f"{file} cannot be read: {error}") from None


def _word(verdict: str) -> str:
    return _SYNONYMS.get(verdict, verdict)


def _moment(time: str) -> datetime | None:
    return datetime.fromisoformat(time) if time else None


def _broken(where: str, problem: object, columns: tuple[str, ...]) -> ForagerError:
    cure = f"a line has {', '.join(columns)}, separated by tabs: correct or remove it"
    return ForagerError(f"{where} is no verdict ({problem}): {cure}")
