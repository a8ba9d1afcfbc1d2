"""`forager judge`: a person looks at random pages of a collection and says which are wanted.

The dialogue goes to stderr and the figures to stdout, so that they can be kept. What the critic thought of a page is
not shown before the verdict: it would bias the judge.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from getpass import getuser
from itertools import combinations
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Annotated, Any

import typer

from forager.clock import WallClock
from forager.collection.review import (
    Agreement,
    Figures,
    Given,
    Interval,
    Precision,
    Share,
    Verdict,
    add_verdict,
    agreement,
    figures,
    judges,
    read_verdicts,
    sample,
    verdict_file,
)
from forager.errors import ForagerError
from forager.project import Project
from forager.store import Catalogue, Entry

LINES = 25  # of a page, shown at a time
WIDEST = 100  # columns: longer lines are hard to read
KEYS = {"r": Verdict.RELEVANT, "n": Verdict.NOT, "u": Verdict.UNSURE}
PROMPT = "r relevant, n not, u unsure, m more, b back, q quit > "


def judge(
    project: Annotated[Path, typer.Argument(help="the folder of a project")],
    count: Annotated[int, typer.Option("--sample", min=1, help="pages to judge")] = 45,
    seed: Annotated[int, typer.Option(help="another seed, other pages; all judges use the same")] = 0,
    name: Annotated[str | None, typer.Option("--judge", help="who judges; your login name if not given")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="sample from everything fetched, not only from what the critic keeps")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="print the figures only")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="for programs: one JSON object a line")] = False,
) -> None:
    """Judge random pages of a collection: precision with its interval, and the agreement of two judges."""
    folder = Project(project).folder
    who = name or _login()
    file = verdict_file(folder, who)
    with Catalogue(folder) as catalogue:
        pages = sample(catalogue, count, seed, everything=everything)
        if len(pages) < count:
            _tell(f"there are only {len(pages)} such pages: all of them are taken")
        if not report:
            Sitting(catalogue, pages, file).hold()
    given = {each: read_verdicts(verdict_file(folder, each)) for each in judges(folder)}
    if report and not given:
        raise ForagerError(f"there are no verdicts in {folder} yet: judge some pages without --report")
    told = list(given) if report else [each for each in given if each == who]
    _print_figures([figures(each, pages, given[each], everything=everything) for each in told], as_json)
    _print_agreements(given, pages, [who] if not report else list(given), as_json)


def _login() -> str:
    try:
        return getuser()
    except (KeyError, OSError):
        raise ForagerError("your login name is not known: give one with --judge NAME") from None


def _tell(line: str = "", *, end: bool = True) -> None:
    typer.echo(line, err=True, nl=end)


class Sitting:
    """One judge before one sample. Each verdict is in the file before the next page is shown."""

    def __init__(self, catalogue: Catalogue, pages: Sequence[Entry], file: Path) -> None:
        self._catalogue, self._pages, self._file = catalogue, pages, file
        self._given = read_verdicts(file)
        self._width = max(40, min(WIDEST, get_terminal_size().columns - 1))
        self._lines: list[str] = []  # of the page before us
        self._shown = 0  # lines of it

    def hold(self) -> None:
        """Until all pages are judged or the judge has had enough. It begins at the first page without a verdict."""
        done = sum(page.url in self._given for page in self._pages)
        if done:
            _tell(f"{done} of {len(self._pages)} are judged already, by {self._file}")
        at = self._next(0)
        while at < len(self._pages):
            self._show(at)
            key = self._ask()
            if key == "q":
                _tell(f"what is judged is kept in {self._file}")
                return
            if key == "b":
                at = max(0, at - 1)
            else:
                self._keep(self._pages[at], KEYS[key])
                at = self._next(at + 1)

    def _next(self, at: int) -> int:
        """The first page from here on that has no verdict."""
        return next((i for i in range(at, len(self._pages)) if self._pages[i].url not in self._given), len(self._pages))

    def _keep(self, page: Entry, verdict: Verdict) -> None:
        given = Given(page.url, verdict, WallClock().utc(), page.critic)
        add_verdict(self._file, given)
        self._given[page.url] = given

    def _show(self, at: int) -> None:
        page = self._pages[at]
        before = self._given.get(page.url)
        self._lines, self._shown = wrap(_plain(self._catalogue.text(page)), self._width) or ["(no text)"], 0
        _tell(
            f"\n{at + 1} of {len(self._pages)}  {_plain(page.url)}" + (f"  (was: {before.verdict})" if before else "")
        )
        _tell(f"{_plain(page.title) or '(no title)'}\n")
        self._more()

    def _more(self) -> None:
        part = self._lines[self._shown : self._shown + LINES]
        for line in part or ["(that was all)"]:
            _tell(f"  {line}")
        self._shown += len(part)
        rest = len(self._lines) - self._shown
        if rest:
            _tell(f"  … {rest} more line{'s' if rest > 1 else ''}")

    def _ask(self) -> str:
        """A verdict, b or q. The end of the input is q."""
        while True:
            _tell(PROMPT, end=False)
            key = _key()
            if key == "m":
                self._more()
            elif key in (*KEYS, "b", "q"):
                return key
            else:
                _tell(f"no key {_plain(key)!r}")


def _key() -> str:
    """A key on a terminal, the first character of a line elsewhere."""
    if sys.stdin.isatty():
        try:
            key = typer.getchar().lower()
        except EOFError:
            key = "q"
        _tell(key if key.isprintable() else "")
        return key
    line = sys.stdin.readline()
    _tell()
    return line.strip().lower()[:1] if line else "q"


def _plain(text: str) -> str:
    """One line without anything that a terminal would obey: pages are by strangers."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


# ---- figures --------------------------------------------------------------------------------------------------------


def _print_figures(rows: Sequence[Figures], as_json: bool) -> None:
    for row in rows:
        if as_json:
            print(json.dumps(_figures_row(row)))
            continue
        kept, found = row.kept, row.found
        judged = kept.judged + (row.left_out.judged if row.left_out else 0)
        print(f"{row.judge}: {judged} of {row.sample} pages judged")
        _print_precision("precision of what the critic keeps", kept)
        if row.left_out is not None and found is not None:
            _print_precision("wanted among what it leaves out", row.left_out)
            print(f"  wanted pages that it keeps: {_share(found)}")
        if row.elsewhere:
            print(f"  {row.elsewhere} more verdicts are on pages outside this sample (--sample, --seed, --all)")


def _print_precision(name: str, precision: Precision) -> None:
    print(f"  {name}: {_share(precision.sure)}")
    if precision.unsure:
        print(f"    {precision.unsure} unsure; as no {_share(precision.least)}, as yes {_share(precision.most)}")


def _share(share: Share) -> str:
    interval = share.interval
    if interval is None:
        return "none judged"
    return f"{share.hits} of {share.of} = {share.value:.3f} ({_interval(interval)})"


def _interval(interval: Interval) -> str:
    return f"95 % interval {interval[0]:.3f} to {interval[1]:.3f}"


def _print_agreements(
    given: Mapping[str, Mapping[str, Given]], pages: Sequence[Entry], wanted: Sequence[str], as_json: bool
) -> None:
    for first, second in combinations(given, 2):
        if first not in wanted and second not in wanted:
            continue
        found = agreement(first, second, pages, given[first], given[second])
        if as_json:
            print(json.dumps(_agreement_row(found)))
        else:
            _print_agreement(found)


def _print_agreement(found: Agreement) -> None:
    print(f"{found.first} and {found.second}: ", end="")
    if not found.raw.of:
        print("no page judged by both")
        return
    print(f"agree on {_share(found.raw)}")
    if found.kappa is None or found.interval is None:
        print("  kappa: none, both gave one and the same verdict throughout")
    else:
        print(f"  Cohen's kappa {found.kappa:.3f} ({_interval(found.interval)}, by the large-sample standard error)")
    for each in found.disagreements:
        print(f"  {each.first:<8} {each.second:<8} {_plain(each.url)}  {_plain(each.title)}")


def _figures_row(row: Figures) -> dict[str, Any]:
    found: dict[str, Any] = {"judge": row.judge, "sample": row.sample, "kept": _precision_row(row.kept)}
    if row.left_out is not None and row.found is not None:
        found |= {"left_out": _precision_row(row.left_out), "found": _share_row(row.found)}
    return found | {"elsewhere": row.elsewhere}


def _precision_row(precision: Precision) -> dict[str, Any]:
    counts = {"relevant": precision.relevant, "not": precision.irrelevant, "unsure": precision.unsure}
    shares = {"sure": precision.sure, "unsure_as_no": precision.least, "unsure_as_yes": precision.most}
    return counts | {name: _share_row(share) for name, share in shares.items()}


def _share_row(share: Share) -> dict[str, Any]:
    return {"hits": share.hits, "of": share.of, "value": share.value, "interval": share.interval}


def _agreement_row(found: Agreement) -> dict[str, Any]:
    return {
        "judges": [found.first, found.second],
        "raw": _share_row(found.raw),
        "kappa": found.kappa,
        "interval": found.interval,
        "interval_by": "large-sample standard error",
        "disagreements": [
            {"url": each.url, "title": each.title, "verdicts": [each.first, each.second]}
            for each in found.disagreements
        ],
    }
