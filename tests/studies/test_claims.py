"""Claims of a paper: their verdicts follow from the figures."""

from __future__ import annotations

from studies.claims import Claim, as_found, claims_section, larger, told

from forager_lab.bootstrap import difference

STEADY = [[0.5, 0.6], [0.55, 0.62], [0.52, 0.61]]
LOWER = [[0.1, 0.2], [0.12, 0.24], [0.11, 0.21]]


def test_a_difference_is_larger_smaller_or_cannot_be_told() -> None:
    assert larger(difference(STEADY, LOWER)) is True
    assert larger(difference(LOWER, STEADY)) is False
    assert larger(difference([[0.1], [0.9], [0.2]], [[0.9], [0.1], [0.3]])) is None
    assert larger(difference([[0.9]], [[0.1]])) is None, "one value has no interval"


def test_a_difference_is_shown_with_its_sign_and_interval() -> None:
    assert as_found(difference([[0.9]], [[0.1]])) == "+.800"
    assert as_found(difference(LOWER, STEADY)).startswith("-.")
    assert " ± ." in as_found(difference(LOWER, STEADY))


def test_page_and_terminal_tell_the_same_verdicts() -> None:
    claims = [Claim("A beats B (fig. 1)", "A is above B", "+.1", True), Claim("C", "D", "nothing", None)]
    shown = claims_section(claims).table
    assert "| A beats B (fig. 1) | A is above B | +.1 | **holds** |" in shown
    assert "**cannot be told**" in shown
    assert told(claims).startswith("holds: A beats B (fig. 1)\n  if A is above B\n  found: +.1\ncannot be told: C")
