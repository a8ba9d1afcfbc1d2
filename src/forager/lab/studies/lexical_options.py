"""The page on the lexical method: the section on options, each against the thesis' method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forager.lab.bootstrap import Difference, Verdict, difference, discoveries
from forager.lab.plots import differences
from forager.lab.studies.layout import Section, table
from forager.lab.studies.lexical import OPTIONS, THESIS, LexicalStudy, Variant
from forager.lab.studies.lexical_counts import Score, average, counts, number
from forager.lab.studies.lexical_weights import PLAIN, PLAIN_CRITIC

MEASURE, END = "share", "end"
PAPER = (
    "wished for and not tried: vocabulary of the parents, menus counting less, nearness to links that paid, "
    "IDF-normalised C-values, more weight for terms that led to good pages."
)


def options(study: LexicalStudy) -> Section:
    found = {each.name: _compared(study, each) for each in OPTIONS}
    real = discoveries([each.p for each in found.values()])
    usual = _means(study, THESIS)
    rows, pairs = [["as in the thesis", "", usual[0], "", usual[1], "", "", ""]], []
    for variant, told, compared in zip(OPTIONS, real.tolist(), found.values(), strict=True):
        verdict = Verdict.OPEN if not told else Verdict.BETTER if compared.mean > 0 else Verdict.WORSE
        rows.append([variant.name, _spec(variant), *_cells(study, variant), _interval(compared), str(verdict)])
        pairs.append(_pair(variant.name, compared, verdict))
    report = {"pairwise": pairs, "results": [{"strategy": each.name} for each in OPTIONS]}
    picture = differences(report, THESIS.name, MEASURE, END, "share of the pages to find, minus that of the thesis")
    head = ["", "", "tested", "crawls", "others", "crawls", "difference", "verdict"]
    return Section("options", "Options of ours", _text(study), PAPER, {"options": picture.svg}, table(head, rows))


def _text(study: LexicalStudy) -> str:
    scheme = study.scheme
    return (
        f"The method of the thesis with one thing changed, {scheme.pages} pages. *Tested* are the topics above, "
        f"*others* those on which weights were searched, {scheme.side_runs} crawls a topic. Mean relevant pages found; "
        "crawls with more / as many / fewer than with nothing changed; the difference in the share of the pages to "
        "find, with the half width of its 95 % interval over all topics, as if they had been drawn by chance. A "
        "verdict is given only where it holds with a false discovery rate of 5 % over all options. In the picture "
        "thick lines are Student's t, thin ones bootstrap-t."
    )


def _spec(variant: Variant) -> str:
    changed = [
        spec.removeprefix(base).removeprefix(":")
        for spec, base in ((variant.strategy, PLAIN), (variant.critic, PLAIN_CRITIC))
    ]
    return " ".join(f"{kind}: `{told}`" for kind, told in zip(("strategy", "critic"), changed, strict=True) if told)


def _counts(study: LexicalStudy, variant: Variant, topics: Sequence[str]) -> list[list[int]]:
    return counts(study, variant, topics, study.scheme.pages, study.scheme.side_runs)


def _means(study: LexicalStudy, variant: Variant) -> list[str]:
    return [number(average(_counts(study, variant, topics))) for topics in (study.scheme.topics, study.scheme.others)]


def _cells(study: LexicalStudy, variant: Variant) -> list[str]:
    cells: list[str] = []
    for topics in (study.scheme.topics, study.scheme.others):
        ours, base = (_counts(study, each, topics) for each in (variant, THESIS))
        cells += [number(average(ours)), str(Score.of(ours, base))]
    return cells


def _compared(study: LexicalStudy, variant: Variant) -> Difference:
    """In shares of what there is to find, so that all topics count alike."""
    topics = study.scheme.everywhere
    ours, base = (
        [
            [count / study.sizes[topic] for count in row]
            for topic, row in zip(topics, _counts(study, each, topics), strict=True)
        ]
        for each in (variant, THESIS)
    )
    return difference(ours, base, seed=study.scheme.seed)


def _interval(found: Difference) -> str:
    halves = [half for half in (found.bootstrap, found.student) if half is not None]
    return f"{found.mean:+.3f}" + (f" ± {max(halves):.3f}" if halves else "")


def _pair(name: str, found: Difference, verdict: Verdict) -> dict[str, Any]:
    return {
        "measure": MEASURE, "at": END, "first": name, "second": THESIS.name, "difference": found.mean,
        "ci": found.bootstrap, "student_ci": found.student, "verdict": str(verdict),
    }  # fmt: skip
