"""The types of course parts against labels by hand: on pages that the words and rules were not chosen on."""

from __future__ import annotations

from pathlib import Path

from forager.collection.courses import FoundBy, PartAccuracy, PartType, accuracy, parts_of, read_labels
from forager.errors import ForagerError
from forager_lab.experiment import laboratory
from studies.layout import Section, share, table

THESIS = 0.65  # of headings


def type_parts(web: str, labels: Path) -> PartAccuracy:
    """The parts of the labelled pages, out of a recorded web."""
    try:
        with labels.open(encoding="utf-8") as lines:
            said = list(read_labels(lines, where=str(labels)))
    except OSError as error:
        raise ForagerError(f"{labels} cannot be read: {error.strerror}; name the labels with --parts FILE") from None
    pages = laboratory(web).pages(list(dict.fromkeys(label.url for label in said)))
    return accuracy([part for page in pages if page is not None for part in parts_of(page)], said)


def typing_section(found: PartAccuracy) -> Section:
    pages = len({outcome.label.url for outcome in found.outcomes})
    sorts = [("headings", FoundBy.HEADING), ("anchors", FoundBy.ANCHOR), ("both", None)]
    counts = [sum(sort in (None, outcome.label.found) for outcome in found.outcomes) for _, sort in sorts]
    rows = [
        [name, f"{count}", share(found.share(sort)), share(found.share(sort, typed=True))]
        for (name, sort), count in zip(sorts, counts, strict=True)
    ]
    by_type = [
        [kind.value, str(tally.labelled), share(tally.precision), share(tally.recall)]
        for kind, tally in found.by_type.items()
        if kind is not PartType.NONE
    ]
    text = (
        f"{len(found.outcomes)} headings and anchors of {pages} course pages of Cornell, Washington and Wisconsin, "
        "labelled by reading what stands under or behind them (`data/course-parts.tsv`); the words and rules were "
        "chosen on pages of other universities. *right*: the share that has the type of the label, *with a type*: of "
        "those that are not none."
    )
    tables = [
        table(["", "labels", "right", "with a type"], rows),
        table(["type", "labels", "precision", "recall"], by_type),
    ]
    return Section(
        "typing", "Parts of course pages", text, f"about {THESIS:.0%} by headings.", table="\n\n".join(tables)
    )
