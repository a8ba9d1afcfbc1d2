"""The page on the lexical method: the section on options, each against the thesis' method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forager_lab.bootstrap import Difference, PairVerdict, difference, discoveries
from forager_lab.plots import differences
from studies.layout import Section, table
from studies.lexical.counts import Score, average, counts, ends, number
from studies.lexical.study import OPTIONS, THESIS, LexicalStudy, Variant
from studies.lexical.weights import PLAIN, PLAIN_CRITIC

MEASURE, END = "share", "end"
PAPER = (
    "wished for and not tried: vocabulary of the parents, menus counting less, nearness to links that paid, "
    "IDF-normalised C-values, more weight for terms that led to good pages."
)


def options(study: LexicalStudy) -> Section:
    places = ends(study)
    found = {(each.name, pages): _compared(study, each, pages) for each in OPTIONS for pages in places}
    real = dict(zip(found, discoveries([each.p for each in found.values()]).tolist(), strict=True))
    verdicts = {key: _verdict(found[key], told) for key, told in real.items()}
    usual = _means(study, THESIS)
    rows = [["as in the thesis", "", usual[0], "", usual[1], "", *[""] * (2 * len(places))]]
    for variant in OPTIONS:
        keys = [(variant.name, pages) for pages in places]
        told = [cell for key in keys for cell in (_interval(found[key]), str(verdicts[key]))]
        rows.append([variant.name, _spec(variant), *_cells(study, variant), *told])
    last = [(each.name, places[-1]) for each in OPTIONS]
    pairs = [_pair(key[0], found[key], verdicts[key]) for key in last]
    report = {"pairwise": pairs, "results": [{"strategy": each.name} for each in OPTIONS]}
    picture = differences(report, THESIS.name, MEASURE, END, "share of the pages to find, minus that of the thesis")
    late = [f"{what}, {pages} pages" for pages in places for what in ("difference", "verdict")]
    head = ["", "", "tested", "crawls", "others", "crawls", *late]
    return Section("options", "Options of ours", _text(study), PAPER, {"options": picture.svg}, table(head, rows))


def _verdict(compared: Difference, told: bool) -> PairVerdict:
    return PairVerdict.OPEN if not told else PairVerdict.BETTER if compared.mean > 0 else PairVerdict.WORSE


def _text(study: LexicalStudy) -> str:
    scheme = study.scheme
    return (
        f"The method of the thesis with one thing changed. *Tested* are the topics above, *others* those on which "
        f"weights were searched, {scheme.side_runs} crawls a topic. Mean relevant pages found in {scheme.pages} pages; "
        "crawls with more / as many / fewer than with nothing changed; the difference in the share of the pages to "
        "find, with the half width of its 95 % interval over all topics, as if they had been drawn by chance. A "
        "verdict is given only where it holds with a false discovery rate of 5 % over all of these comparisons. In "
        f"the picture, which is of {scheme.pages} pages, thick lines are Student's t, thin ones bootstrap-t."
    )


def _spec(variant: Variant) -> str:
    changed = [
        spec.removeprefix(base).removeprefix(":")
        for spec, base in ((variant.strategy, PLAIN), (variant.critic, PLAIN_CRITIC))
    ]
    return " ".join(f"{kind}: `{told}`" for kind, told in zip(("strategy", "critic"), changed, strict=True) if told)


def _counts(study: LexicalStudy, variant: Variant, topics: Sequence[str], pages: int | None = None) -> list[list[int]]:
    return counts(study, variant, topics, pages or study.scheme.pages, study.scheme.side_runs)


def _means(study: LexicalStudy, variant: Variant) -> list[str]:
    return [number(average(_counts(study, variant, topics))) for topics in (study.scheme.topics, study.scheme.others)]


def _cells(study: LexicalStudy, variant: Variant) -> list[str]:
    cells: list[str] = []
    for topics in (study.scheme.topics, study.scheme.others):
        ours, base = (_counts(study, each, topics) for each in (variant, THESIS))
        cells += [number(average(ours)), str(Score.of(ours, base))]
    return cells


def _compared(study: LexicalStudy, variant: Variant, pages: int) -> Difference:
    """In shares of what there is to find, so that all topics count alike."""
    topics = study.scheme.everywhere
    ours, base = (
        [
            [count / study.sizes[topic] for count in row]
            for topic, row in zip(topics, _counts(study, each, topics, pages), strict=True)
        ]
        for each in (variant, THESIS)
    )
    return difference(ours, base, seed=study.scheme.seed)


def _interval(found: Difference) -> str:
    halves = [half for half in (found.bootstrap, found.student) if half is not None]
    return f"{found.mean:+.3f}" + (f" ± {max(halves):.3f}" if halves else "")


def _pair(name: str, found: Difference, verdict: PairVerdict) -> dict[str, Any]:
    return {
        "measure": MEASURE, "at": END, "first": name, "second": THESIS.name, "difference": found.mean,
        "ci": found.bootstrap, "student_ci": found.student, "verdict": str(verdict),
    }  # fmt: skip
