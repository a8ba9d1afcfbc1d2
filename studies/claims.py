"""What a paper claims, what was found here, and whether it holds here: a row for each claim.

Figures and verdicts are computed, never written by hand. Every claim says beforehand what must be so for it to hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forager_lab.bootstrap import Difference
from forager_lab.markdown import share, signed, table
from studies.page import Section

HEADS = ("the paper", "holds here if", "found", "verdict")
VERDICTS: Mapping[bool | None, str] = {True: "**holds**", False: "**does not hold**", None: "**cannot be told**"}
TEXT = """\
Each claim of the paper, what must be so for it to hold here, what was found, and the verdict. All of it is computed
from the figures below. *Cannot be told*: too few crawls, an interval with zero in it, or nothing here to test it on."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a paper."""

    paper: str  # what it says, with the place where it says so
    rule: str  # what must be so here for it to hold
    found: str  # the figures that decide
    holds: bool | None  # None: they cannot tell

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return self.paper, self.rule, self.found, VERDICTS[self.holds]


def larger(difference: Difference) -> bool | None:
    """Whether a mean difference is above zero, with its interval; None if zero is in the interval."""
    return difference.mean > 0 if difference.told_apart else None


def as_found(difference: Difference) -> str:
    """A mean difference with the half width of its interval, as a cell shows it."""
    return signed(difference.mean) + ("" if difference.half is None else f" ± {share(difference.half)}")


def claims_section(claims: Sequence[Claim]) -> Section:
    """The table of a page."""
    return Section(
        "claims", "Claim by claim", TEXT, table=table(HEADS, [claim.cells for claim in claims], texts=len(HEADS))
    )


def told(claims: Sequence[Claim]) -> str:
    """The claims for a terminal, three lines each."""
    blocks = [
        f"{VERDICTS[claim.holds].strip('*')}: {claim.paper}\n  if {claim.rule}\n  found: {claim.found}"
        for claim in claims
    ]
    return "\n".join(blocks)
