"""`forager judge`: a person looks at random pages of a collection and says which ones are wanted.

The dialogue goes to stderr and the figures to stdout, so that a program can read them. The command does not show what
the critic thinks of a page, because that would influence the judge.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from getpass import getuser
from itertools import combinations
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Annotated, Any

import typer

from forager.cli.terminal import JsonLines, ProjectFolder, plain, put, put_json, say
from forager.clock import WallClock
from forager.collection import (
    Agreement,
    JudgeReport,
    Precision,
    Proportion,
    agreement,
    judge_report,
    level_agreement,
    level_sample,
    sample,
    topic_path,
)
from forager.collection.review import Interval
from forager.config import MOST
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Catalogue, Entry
from forager.store.verdicts import (
    FILE,
    IS_IRRELEVANT,
    IS_RELEVANT,
    OUTSIDE,
    UNSURE,
    PageVerdict,
    VerdictUse,
    add_verdicts,
    check_judge_name,
    read_level_verdicts,
    read_reviews,
)
from forager.topics.directory import DIRECTORY, Directory, directory_levels
from forager.topics.topic_critic import FOLDER as EXAMPLES
from forager.topics.topic_critic import focus_of

LINES = 25  # of a page, shown at a time
WIDEST = 100  # columns: longer lines are hard to read
KEYS = {"r": IS_RELEVANT, "n": IS_IRRELEVANT, "u": UNSURE}
SHOWN = {IS_RELEVANT: "relevant", IS_IRRELEVANT: "not", UNSURE: "unsure"}  # the words of this command
PROMPT = "r relevant, n not, u unsure, m more, b back, q quit > "


def judge(
    project: ProjectFolder,
    count: Annotated[int, typer.Option("--sample", min=1, max=MOST, help="how many pages to judge")] = 45,
    seed: Annotated[
        int, typer.Option(min=0, max=MOST, help="another seed gives other pages; all judges must use the same")
    ] = 0,
    name: Annotated[str | None, typer.Option("--judge", help="your name", show_default="your login name")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="sample from all fetched pages, not only from the relevant ones")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="ask nothing, print the figures of all judges")] = False,
    levels: Annotated[
        bool, typer.Option("--levels", help="say on which level of the topic's path each page is; samples all pages")
    ] = False,
    listed: Annotated[
        int, typer.Option("--listed", min=0, max=MOST, help="with --levels: mix in so many pages of the directory")
    ] = 0,
    other: Annotated[
        Path | None, typer.Option("--with", help="with --levels: a file of verdicts from elsewhere, to compare with")
    ] = None,
    as_json: JsonLines = False,
) -> None:
    """Measure a collection: look at random pages, and say which are relevant.

    Prints the precision with its 95 % interval, and how far two judges agree. With --levels: how far judges agree with
    each other and with the directory on the levels of pages.

    The critic does not learn from these verdicts; use `forager label` for that.
    """
    folder = Project(project).folder
    who = check_judge_name(name or _login())
    if levels:
        judge_levels(Project(project), LevelJudging(who, count, listed, seed, other, report), as_json)
        return
    given = read_reviews(folder)
    with Catalogue(folder) as catalogue:
        pages = sample(catalogue, count, seed, everything=everything)
        if len(pages) < count:
            say(f"there are only {len(pages)} such pages: the sample has all of them")
        if not report:
            JudgeDialogue(catalogue, pages, who, given.get(who, {})).run()
            given = read_reviews(folder)
    if report and not given:
        raise ForagerError(f"there are no verdicts in {folder} yet: judge some pages without --report")
    judges = list(given) if report else [each for each in given if each == who]
    _print_reports([judge_report(each, pages, given[each], everything=everything) for each in judges], as_json)
    _print_agreements(given, pages, list(given) if report else [who], as_json)


def _login() -> str:
    try:
        return getuser()
    except (KeyError, OSError):
        raise ForagerError("your login name is not known: give a name with --judge NAME") from None


@dataclass(frozen=True, slots=True)
class JudgeKeys:
    """What is asked: the keys with their verdicts, the verdicts in the words of this command, and what they are for."""

    verdicts: Mapping[str, str]
    shown: Mapping[str, str]
    prompt: str
    use: VerdictUse


RELEVANCE = JudgeKeys(KEYS, SHOWN, PROMPT, VerdictUse.REVIEW)


class JudgeDialogue:
    """One judge looks at one sample. Each verdict is saved before the next page is shown."""

    def __init__(
        self,
        catalogue: Catalogue,
        pages: Sequence[Entry],
        judge: str,
        given: Mapping[str, PageVerdict],
        keys: JudgeKeys = RELEVANCE,
        text_of: Callable[[Entry], str] | None = None,
    ) -> None:
        """`text_of` gives the text of a page, if it is not always that of the catalogue."""
        self._catalogue, self._pages, self._judge, self._keys = catalogue, pages, judge, keys
        self._text_of = text_of or catalogue.text
        self._given = {url: each.verdict for url, each in given.items()}
        self._file = catalogue.folder / FILE
        self._width = max(40, min(WIDEST, get_terminal_size().columns - 1))
        self._lines: list[str] = []  # of the page that is shown
        self._shown = 0  # lines of it

    def run(self) -> None:
        """Begin at the first page without a verdict, and go on until all pages have one or the judge quits."""
        done = sum(page.url in self._given for page in self._pages)
        if done:
            say(f"{done} of {len(self._pages)} are judged already, see {self._file}")
        at = self._next(0)
        while at < len(self._pages):
            self._show(at)
            key = self._ask()
            if key == "q":
                say(f"your verdicts are saved in {self._file}")
                return
            if key == "b":
                at = max(0, at - 1)
            else:
                self._save(self._pages[at], self._keys.verdicts[key])
                at = self._next(at + 1)

    def _next(self, at: int) -> int:
        """The first page from here on that has no verdict."""
        return next((i for i in range(at, len(self._pages)) if self._pages[i].url not in self._given), len(self._pages))

    def _save(self, page: Entry, verdict: str) -> None:
        now = WallClock().utc()
        given = PageVerdict(page.url, verdict, self._judge, now, page.critic, self._keys.use)
        add_verdicts(self._catalogue.folder, [given])
        self._given[page.url] = verdict

    def _show(self, at: int) -> None:
        page = self._pages[at]
        before = self._given.get(page.url)
        self._lines, self._shown = wrap(plain(self._text_of(page)), self._width) or ["(no text)"], 0
        say()
        say(
            f"{at + 1} of {len(self._pages)}  {page.url}"
            + (f"  (was: {self._keys.shown.get(before, before)})" if before else "")
        )
        say(page.title or "(no title)")
        say()
        self._more()

    def _more(self) -> None:
        part = self._lines[self._shown : self._shown + LINES]
        for line in part or ["(that was all)"]:
            say(f"  {line}")
        self._shown += len(part)
        rest = len(self._lines) - self._shown
        if rest:
            say(f"  … {rest} more line{'s' if rest > 1 else ''}")

    def _ask(self) -> str:
        """The key of a verdict, b or q. The end of the input counts as q."""
        while True:
            say(self._keys.prompt, end="")
            key = _key()
            if key == "m":
                self._more()
            elif key in (*self._keys.verdicts, "b", "q"):
                return key
            else:
                say(f"no key {key!r}")


def _key() -> str:
    """A key on a terminal; elsewhere the first character of a line."""
    if sys.stdin.isatty():
        try:
            key = typer.getchar().lower()
        except EOFError:
            key = "q"
        say(key if key.isprintable() else "")
        return key
    line = sys.stdin.readline()
    say()
    return line.strip().lower()[:1] if line else "q"


# ---- levels ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LevelJudging:
    """What is wanted of a judge of levels."""

    judge: str
    count: int  # pages of the crawl
    listed: int  # pages of the directory among them
    seed: int
    other: Path | None  # verdicts from elsewhere
    report: bool  # ask nothing


def judge_levels(project: Project, wanted: LevelJudging, as_json: bool) -> None:
    """Ask on which levels pages are, and print how far all judges agree, and each with the directory."""
    topic, folder = project.config.topic, project.folder
    path = topic_path(focus_of(topic) if topic else ())
    archive = folder / EXAMPLES
    with Catalogue(folder) as crawl, Catalogue(archive) if archive.exists() else nullcontext() as listed:
        pages = level_sample(crawl, listed, wanted.count, wanted.listed, wanted.seed)
        if not wanted.report:
            crawled = {page.url for page in crawl.pages()}

            def text_of(page: Entry) -> str:
                return (crawl if page.url in crawled or listed is None else listed).text(page)

            before = read_level_verdicts(folder / FILE).get(wanted.judge, {})
            JudgeDialogue(crawl, pages, wanted.judge, before, _level_keys(path), text_of).run()
    given = _level_judges(folder / FILE, wanted.other)
    if not given:
        raise ForagerError(f"there are no verdicts on levels in {folder} yet: judge some pages without --report")
    if topic and topic.directory:
        with Directory(folder / topic.directory) as directory:
            given[DIRECTORY] = directory_levels(directory, path, (page.url for page in pages))
    for first, second in combinations(given, 2):
        found = level_agreement(first, second, pages, given, path)
        if as_json:
            put_json(agreement_row(found))
        else:
            print_agreement(found)


def _level_keys(path: Sequence[str]) -> JudgeKeys:
    keys = {str(level): str(level) for level in range(1, min(len(path), 9) + 1)} | {"o": OUTSIDE, "u": UNSURE}
    for level, name in enumerate(path, 1):
        say(f"{level}  {name}")
    prompt = f"1 to {len(path)} level, o outside, u unsure, m more, b back, q quit > "
    return JudgeKeys(keys, {}, prompt, VerdictUse.LEVEL)


def _level_judges(file: Path, other: Path | None) -> dict[str, dict[str, PageVerdict]]:
    """The verdicts of all judges. A judge of the other file who is in both is named after that file, too."""
    given = read_level_verdicts(file)
    if other is None:
        return given
    if not other.is_file():
        raise ForagerError(f"there is no file {other}: name the {FILE} of another judge")
    more = read_level_verdicts(other)
    return given | {f"{name} ({other})" if name in given else name: said for name, said in more.items()}


# ---- figures --------------------------------------------------------------------------------------------------------


def _print_reports(rows: Sequence[JudgeReport], as_json: bool) -> None:
    for row in rows:
        if as_json:
            put_json(_report_row(row))
            continue
        kept, found = row.kept, row.found
        judged = kept.judged + (row.left_out.judged if row.left_out else 0)
        put(f"{row.judge}: {judged} of {row.sample} pages judged")
        _print_precision("precision of what the critic keeps", kept)
        if row.left_out is not None and found is not None:
            _print_precision("wanted among what it leaves out", row.left_out)
            put(f"  wanted pages that it keeps: {_share(found)}")
        if row.elsewhere:
            put(f"  {row.elsewhere} more verdicts are on pages outside this sample (--sample, --seed, --all)")


def _print_precision(name: str, precision: Precision) -> None:
    put(f"  {name}: {_share(precision.sure)}")
    if precision.unsure:
        put(f"    {precision.unsure} unsure; as no {_share(precision.least)}, as yes {_share(precision.most)}")


def _share(share: Proportion) -> str:
    interval = share.interval
    if interval is None:
        return "none judged"
    return f"{share.hits} of {share.of} = {share.value:.3f} ({_interval(interval)})"


def _interval(interval: Interval) -> str:
    return f"95 % interval {interval[0]:.3f} to {interval[1]:.3f}"


def _print_agreements(
    given: Mapping[str, Mapping[str, PageVerdict]], pages: Sequence[Entry], wanted: Sequence[str], as_json: bool
) -> None:
    for first, second in combinations(given, 2):
        if first not in wanted and second not in wanted:
            continue
        found = agreement(first, second, pages, given[first], given[second])
        if as_json:
            put_json(agreement_row(found))
        else:
            print_agreement(found)


def print_agreement(found: Agreement) -> None:
    both = f"{found.first} and {found.second}: "
    if not found.raw.of:
        put(f"{both}no page judged by both")
        return
    put(f"{both}agree on {_share(found.raw)}")
    if found.kappa is None or found.interval is None:
        put("  kappa: none, because both gave the same verdict on every page")
    else:
        put(f"  Cohen's kappa {found.kappa:.3f} ({_interval(found.interval)}, by the large-sample standard error)")
    for each in found.disagreements:
        put(f"  {_said(each.first):<8} {_said(each.second):<8} {each.url}  {each.title}")


def _said(verdict: str) -> str:
    return SHOWN.get(verdict, verdict)


def _report_row(row: JudgeReport) -> dict[str, Any]:
    found: dict[str, Any] = {"judge": row.judge, "sample": row.sample, "kept": _precision_row(row.kept)}
    if row.left_out is not None and row.found is not None:
        found |= {"left_out": _precision_row(row.left_out), "found": _share_row(row.found)}
    return found | {"elsewhere": row.elsewhere}


def _precision_row(precision: Precision) -> dict[str, Any]:
    counts = {"relevant": precision.relevant, "not": precision.irrelevant, "unsure": precision.unsure}
    shares = {"sure": precision.sure, "unsure_as_no": precision.least, "unsure_as_yes": precision.most}
    return counts | {name: _share_row(share) for name, share in shares.items()}


def _share_row(share: Proportion) -> dict[str, Any]:
    return {"hits": share.hits, "of": share.of, "value": share.value, "interval": share.interval}


def agreement_row(found: Agreement) -> dict[str, Any]:
    return {
        "judges": [found.first, found.second],
        "raw": _share_row(found.raw),
        "kappa": found.kappa,
        "interval": found.interval,
        "interval_by": "large-sample standard error",
        "disagreements": [
            {"url": each.url, "title": each.title, "verdicts": [_said(each.first), _said(each.second)]}
            for each in found.disagreements
        ],
    }
