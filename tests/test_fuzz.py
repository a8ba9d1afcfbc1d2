"""A small part of the made-up input is read with every run of the tests; and the fuzzer notices what it should."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path

import pytest
from bench.fuzz.__main__ import told
from bench.fuzz.inputs import MAKERS, made
from bench.fuzz.run import MEGABYTE, WARM_UP, Defect, FuzzLimits, Tally, fuzz, read_all, rows
from bench.fuzz.targets import OPEN, Target

from forager.errors import ForagerError

INPUTS = 150
SOON = FuzzLimits(seconds=0.1, memory=300 * MEGABYTE, hang=120.0)
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("kind", MAKERS)
def test_made_up_input_is_read_or_refused(kind: str) -> None:
    tally = read_all(kind, range(INPUTS), OPEN[kind], FuzzLimits(seconds=60), lambda seed: None)
    assert tally.defects == []
    assert tally.inputs == INPUTS
    assert len(tally.outcomes) > 1


def test_a_number_always_gives_the_same_input() -> None:
    """In another process, too."""
    script = "from hashlib import sha256; from bench.fuzz.inputs import MAKERS, made\n"
    script += "print([sha256(made(kind, seed)).hexdigest() for kind in MAKERS for seed in range(20)])"
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True, text=True)
    inputs = [made(kind, seed) for kind in MAKERS for seed in range(20)]
    assert run.stdout.strip() == str([sha256(given).hexdigest() for given in inputs])
    assert len(set(inputs)) > len(inputs) / 2


def fuzzed(target: Target, limits: FuzzLimits = SOON) -> Tally:
    """What comes of 20 inputs of this target."""
    return fuzz("url", range(WARM_UP, WARM_UP + 20), limits=limits, opener=lambda: nullcontext(target))


def on_one(act: Callable[[], None]) -> Target:
    """A target that does this with one input."""
    seventh = made("url", WARM_UP + 7)

    def target(given: bytes) -> str:
        if given == seventh:
            act()
        return "fine"

    return target


def fail() -> None:
    raise KeyError("x\ny")


def spin() -> None:
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (fail, r"KeyError at test_fuzz.py:\d+: 'x\\ny'"),
        (lambda: bytearray(400 * MEGABYTE), r"MemoryError at test_fuzz.py:\d+: "),
        (spin, r"took \d\.\d s"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"the process ended with -9"),
        (lambda: os._exit(0), r"the process ended with 0"),
    ],
    ids=["error", "memory", "slow", "crash", "exit"],
)
def test_a_defect_is_noticed_and_the_rest_is_read(act: Callable[[], None], what: str) -> None:
    tally = fuzzed(on_one(act))
    assert [(defect.kind, defect.seed) for defect in tally.defects] == [("url", WARM_UP + 7)]
    assert re.fullmatch(what, tally.defects[0].what), tally.defects[0].what
    assert tally.inputs == 20


def test_who_hangs_is_killed() -> None:
    tally = fuzzed(on_one(lambda: time.sleep(600)), FuzzLimits(hang=5.0))
    assert tally.defects == [Defect("url", WARM_UP + 7, "was not read in 5 s")]
    assert tally.inputs == 20


def test_a_refusal_is_no_defect() -> None:
    def refuse() -> None:
        raise ForagerError("wrong: mend it")

    tally = fuzzed(on_one(refuse))
    assert tally.outcomes == {"fine": 19, "refused": 1}
    assert list(rows([tally]))[2].startswith("| url | 20 | ")


def test_the_input_of_a_defect_is_kept(tmp_path: Path) -> None:
    line = told(Defect("robots", 5, "it fell"), tmp_path)
    assert line.startswith(f"{tmp_path / 'robots-5'}: it fell\n")
    assert "--only robots --seed 5" in line
    assert (tmp_path / "robots-5").read_bytes() == made("robots", 5)
