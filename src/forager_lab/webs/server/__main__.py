"""The server as a process, on loopback.

It prints {"port": N} when it is ready. It ends at SIGTERM, at SIGINT, or when its standard input closes, so that it
does not outlive the process that started it. With faults it prints at the end how often each has happened.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from errno import EADDRINUSE
from pathlib import Path

from forager_lab.webs.procedural import ProceduralWeb
from forager_lab.webs.server import PLANS, Server, told_to_stop
from forager_lab.webs.server.faults import fault_plan


async def serve(options: argparse.Namespace) -> None:
    """Serve until something says stop."""
    stop, loop = told_to_stop(), asyncio.get_running_loop()
    web = ProceduralWeb(replace(PLANS[options.plan](options.seed), **options.numbers))
    faults = fault_plan(**options.faults)
    settings = {"slowness": options.slowness, "log": options.log, "cache": options.cache, "faults": faults}
    async with Server(web, options.port, **settings) as server:
        print(json.dumps({"port": server.port}), flush=True)
        if not os.isatty(0):  # at a terminal Ctrl-C ends it, and reading would stop a background job
            threading.Thread(target=_stop_at_end_of_input, args=(loop, stop), daemon=True).start()
        await stop.wait()
    if options.faults:
        print(json.dumps(faults.happened), flush=True)


def _stop_at_end_of_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    with suppress(OSError):  # it was closed from the start
        while os.read(0, 4096):
            pass
    with suppress(RuntimeError):  # the loop has ended already
        loop.call_soon_threadsafe(stop.set)


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port < 1 << 16:
        raise ValueError(text)
    return port


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser("forager_lab.webs.server", description="A procedural web over HTTP on loopback.")
    parser.add_argument("--plan", choices=PLANS, default="default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=_port, default=0, help="0: any free port")
    parser.add_argument("--log", type=Path, help="write a line for each request to this file")
    parser.add_argument(
        "--slowness", type=float, default=1.0, help="multiplies the seconds that the web gives; 0: answer at once"
    )
    parser.add_argument("--cache", action="store_true", help="make all pages at the start and keep them in memory")
    parser.add_argument("--numbers", type=json.loads, default={}, help="numbers of the plan that differ, as JSON")
    parser.add_argument("--faults", type=json.loads, default={}, help="what goes wrong, as JSON: see FaultPlan")
    return parser.parse_args(words)


def main() -> int:
    """Serve; the exit code is 2 if the port cannot be used."""
    options = arguments()
    try:
        asyncio.run(serve(options))
    except OSError as error:
        used = error.errno == EADDRINUSE
        cure = f"port {options.port} is in use: choose another, or 0 for any free one" if used else str(error)
        print(cure, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
