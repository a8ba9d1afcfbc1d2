"""The study of the apprentice as a page of docs."""

from __future__ import annotations

from pathlib import Path

from studies.apprentice.sections import sections
from studies.apprentice.study import Study
from studies.layout import runs
from studies.page import write_study

INTRODUCTION = """\
The experiments of section 3 of Chakrabarti, Punera & Subramanyam (2002), "Accelerated focused crawling through online
relevance feedback", on real pages: the topics of {web}, a closed web. {count} topics, {runs} each; a run has its own
sample for the critic and its own three pages to start from ([the protocol](README.md)). R is the number of pages of a
topic; ± is the half width of the 95 % interval of a mean over runs (Student's t). The baseline is `best-first`, the
critic `{critic}`, the apprentice
`{apprentice}`, told the critic's calibrated relevance
of each page; how the one printed in the paper does stands at the end.

The paper crawled the open web, where a page is hardly ever met again; in a closed web what is trained beforehand would
be tested on pages it was trained on. Here it sees only links to a random half A of the web's pages, and the other half
B counts; the undivided figure beside it is marked as optimistic."""


def write_page(study: Study, folder: Path) -> Path:
    """Write the pictures into the folder, and the page beside it; returns the page."""
    return write_study(folder, "The apprentice: a study", _introduction(study), sections(study), _made(study))


def _introduction(study: Study) -> str:
    plan = study.plan
    return INTRODUCTION.format(
        web=study.web, count=len(study.sizes), runs=runs(plan.runs), apprentice=plan.apprentice, critic=plan.critic
    )


def _made(study: Study) -> str:
    plan = study.plan
    command = [
        "forager lab study apprentice",
        f"--topics {','.join(plan.topics)}",
        f"--runs {plan.runs} --side-runs {plan.side_runs} --seed {plan.seed}",
        f"--apprentice {plan.apprentice} --critic {plan.critic}",
    ]
    codes = ", ".join(f"{code} ({count})" for code, count in study.codes.items())
    said = " \\\n  ".join(command)
    made = sum(study.codes.values())
    return f"```\n{said}\n```\n\n{made} parts (crawls, offline figures); code that made them: {codes}."
