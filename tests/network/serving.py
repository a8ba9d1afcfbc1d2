"""A small procedural web, served by a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@contextmanager
def served(log: Path, **numbers: Any) -> Iterator[int]:
    """The port of a server that lives as long as the block. The numbers are those of its WebPlan, besides slowness,
    port and outages (after how many requests, seconds, host or "")."""
    options = {"log": log, "port": numbers.pop("port", 0), "slowness": numbers.pop("slowness", 0)}
    options |= {"faults": json.dumps({"outages": numbers.pop("outages", ())}), "numbers": json.dumps(numbers)}
    command = [sys.executable, "-m", "forager_lab.webs.server", *(f"--{name}={told}" for name, told in options.items())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout
        assert server.stdin
        try:
            yield int(json.loads(server.stdout.readline())["port"])
        finally:
            server.stdin.close()
            server.wait(10)
