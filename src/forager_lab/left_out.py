"""Weights of the default strategy that have not seen what they are tested on.

`default` comes with weights that were learnt on the recorded webs. On these webs its figures would flatter it. So
`python -m forager_lab.pretraining --left-out DIR` writes weights from which one web or one topic was left out, and a
matrix file with `left_out_weights` gives each row the file that has not seen it:

    DIR/WEB.json                        nothing of the web
    DIR/WEB-TOPIC.json                  not the topic, but others of the web
    DIR/without-FAMILY/WEB-TOPIC.json   the same, without a family of signals: for `default:without=FAMILY`

A kept crawl depends on what is in the file, not on where it is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from xxhash import xxh3_128

from forager.errors import ForagerError
from forager.registry import Spec
from forager_lab.families import columns

LEARNT = "default"  # the strategy that has weights
WITHOUT = "without"
CURE = "make them with `make left-out WEBS=DIR` (`make ablated WEBS=DIR` for those without a family)"


@dataclass(frozen=True)
class UnseenWeights:
    """Where the weights are that have not seen a web or a topic."""

    folder: Path
    name: str  # of what they have not seen: WEB, or WEB-TOPIC

    def file(self, strategy: Spec) -> Path | None:
        """The file of weights for a strategy; None if it has none, or names its own."""
        if strategy.name != LEARNT or "weights" in strategy.options:
            return None
        family = strategy.options.get(WITHOUT)
        if family is None:
            return self.folder / f"{self.name}.json"
        columns(str(family))  # is there such a family?
        return self.folder / f"{WITHOUT}-{family}" / f"{self.name}.json"

    def fingerprint(self, strategy: Spec) -> str | None:
        """A hash of the weights that a strategy will have, without their date; None if it has no file here.

        Weights that have seen what they should not are refused.
        """
        file = self.file(strategy)
        if file is None:
            return None
        try:
            weights = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ForagerError(f"no weights that have not seen {self.name} in {file}: {CURE}") from None
        except (OSError, ValueError) as error:
            raise ForagerError(f"{file}: no weights can be read from it ({error}): {CURE}") from None
        seen = [topic for topic in weights.get("learnt from", ()) if self.name in _names(topic)]
        if seen:
            raise ForagerError(f"{file}: these weights have learnt from {seen[0]}, so they are not left out: {CURE}")
        weights.pop("date", None)
        return xxh3_128(json.dumps(weights, sort_keys=True).encode()).hexdigest()


def _names(topic: str) -> tuple[str, str]:
    """What a file of weights may be called that has not seen a topic, from how weights name it: "WEB TOPIC"."""
    web, _, name = topic.partition(" ")
    return web, f"{web}-{name}"


def strategy_spec(text: str, left_out: UnseenWeights | None) -> Spec:
    """A strategy as its maker wants it, with the weights that it should have."""
    spec = Spec.parse(text)
    options = dict(spec.options)
    family = options.pop(WITHOUT, None) if spec.name == LEARNT else None
    if left_out is None:
        if family is not None:
            raise ForagerError(f"{text}: only a matrix file with left_out_weights has weights without a family")
        return spec
    file = left_out.file(spec)
    if file is not None:
        options["weights"] = str(file)
    if family == "source":
        options["guard"] = False  # it goes by the source alone
    return Spec(spec.name, options)
