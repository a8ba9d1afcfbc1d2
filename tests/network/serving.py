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
def served(log: Path, *, slowness: float = 0, port: int = 0, outages: Any = (), **numbers: object) -> Iterator[int]:
    """The port of a server that lives as long as the block. `outages`: after how many requests, seconds, host or "";
    the other numbers are those of its WebPlan."""
    options = {"port": port, "slowness": slowness, "numbers": json.dumps(numbers)}
    words = [f"--{name}={value}" for name, value in options.items()]
    faults = f"--faults={json.dumps({'outages': outages})}"
    command = [sys.executable, "-m", "forager_lab.webs.server", "--log", str(log), *words, faults]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout
        assert server.stdin
        try:
            yield int(json.loads(server.stdout.readline())["port"])
        finally:
            server.stdin.close()
            server.wait(10)
