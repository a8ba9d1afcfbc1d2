"""The hostile server as a process.

It prints {"port": N, …} when it is ready. When its standard input closes, it prints {"intruders": N} and ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from forager_lab.webs.hostile import KINDS, HostileServer, Kind


async def serve(log: Path | None, kinds: Mapping[str, Kind]) -> None:
    """Serve these kinds until nobody wants it any more."""
    async with HostileServer(kinds, log) as server:
        print(json.dumps(asdict(server.listeners)), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        print(json.dumps({"intruders": server.intruders}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser("forager_lab.webs.hostile", description="A hostile web over HTTP on loopback.")
    parser.add_argument("--log", type=Path, help="write a line for each request to this file")
    parser.add_argument("kinds", nargs="*", help="names of kinds; none: all of them")
    given = parser.parse_args()
    asyncio.run(serve(given.log, {name: KINDS[name] for name in given.kinds or KINDS}))
