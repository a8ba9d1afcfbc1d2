"""A small procedural web, served by a process of its own until its standard input closes.

python -m tests.network.serving LOGFILE [name=value …]      the numbers of its WebPlan, slowness, port,
                                                            share (of faults), outages ([[after, seconds, host], …])
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server import Server
from forager_lab.webs.server.faults import FaultPlan, Outage

ROOT = Path(__file__).parents[2]


@contextmanager
def served(log: Path, **numbers: object) -> Iterator[int]:
    """The port of a server that lives as long as the block."""
    words = [f"{name}={json.dumps(value)}" for name, value in numbers.items()]
    command = [sys.executable, "-m", "tests.network.serving", str(log), *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout
        assert server.stdin
        try:
            yield int(json.loads(server.stdout.readline())["port"])
        finally:
            server.stdin.close()
            server.wait(10)


async def _serve(log: Path, given: dict[str, Any]) -> None:
    slowness, port = given.pop("slowness", 0), given.pop("port", 0)
    outages = [Outage(*outage) for outage in given.pop("outages", ())]
    faults = FaultPlan(share=given.pop("share", 0.0), outages=outages)
    async with Server(ProceduralWeb(WebPlan(**given)), port, log=log, slowness=slowness, faults=faults) as server:
        print(json.dumps({"port": server.port}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    given = {name: json.loads(value) for name, _, value in (word.partition("=") for word in sys.argv[2:])}
    asyncio.run(_serve(Path(sys.argv[1]), given))
