"""What the server of the procedural web costs a page, beside the same on aiohttp.web: python -m bench.server

CPU of the server process, on a core of its own, while 20 connections ask for every page of the reference work twice.
The last line is one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

from aiohttp import web

from bench.reference import CLIENT_CORE, SEED, SERVER_CORE, pin, started
from forager_lab.webs.procedural import ProceduralWeb, WebPlan
from forager_lab.webs.server import ADDRESS

CONNECTIONS = 20
ROUNDS = 2
MADE, KEPT = ["--plan", "reference", "--slowness", "0"], ["--plan", "reference", "--slowness", "0", "--cache"]
SERVERS = {
    "protocol, pages kept": ["forager_lab.webs.server", *KEPT],
    "protocol, pages made": ["forager_lab.webs.server", *MADE],
    "protocol, kept, log": ["forager_lab.webs.server", *KEPT, "--log", os.devnull],
    "aiohttp.web, pages kept": ["bench.server", "aiohttp"],
}


def reference_web() -> ProceduralWeb:
    return ProceduralWeb(WebPlan.reference(seed=SEED))


# ---- the other server -----------------------------------------------------------------------------------------------


async def on_aiohttp() -> None:
    """Every page in memory, one route, no access log: as little as aiohttp.web can be made to do."""
    source = reference_web()
    kept = {(host, "/" + path): source.respond(url).body for url, host, path in addresses(source)}

    async def answer(request: web.Request) -> web.Response:
        body = kept[request.host, request.path_qs]
        return web.Response(body=body, headers={"content-type": "text/html; charset=utf-8"})

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, ADDRESS, 0)
    await site.start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


def addresses(source: ProceduralWeb) -> list[tuple[str, str, str]]:
    parts = [(url, *url.removeprefix("http://").split("/", 1)) for url, _ in source.labels()]
    return [(url, host, path) for url, host, path in parts]


# ---- asking ---------------------------------------------------------------------------------------------------------


def ask(port: int, wanted: list[tuple[str, str]]) -> None:
    """All connections ask, then all are read from, so that the server always has something to do."""
    with ExitStack() as stack:
        lines = [stack.enter_context(closing(HTTPConnection(ADDRESS, port))) for _ in range(CONNECTIONS)]
        for first in range(0, len(wanted), CONNECTIONS):
            busy = list(zip(lines, wanted[first : first + CONNECTIONS], strict=False))
            for line, (host, path) in busy:
                line.request("GET", f"/{path}", headers={"Host": host})
            for line, (host, path) in busy:
                answer = line.getresponse()
                if answer.status != 200 or not answer.read():
                    raise RuntimeError(f"{host}/{path}: status {answer.status}")


def cpu_of(process: subprocess.Popen[bytes]) -> float:
    """Seconds of CPU another process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(module: list[str], wanted: list[tuple[str, str]]) -> float:
    """CPU ms a page."""
    with started([sys.executable, "-m", *module], SERVER_CORE) as server:
        assert server.stdout is not None
        port = json.loads(server.stdout.readline())["port"]
        ask(port, wanted[:CONNECTIONS])
        before = cpu_of(server)
        for _ in range(ROUNDS):
            ask(port, wanted)
        return (cpu_of(server) - before) / (ROUNDS * len(wanted)) * 1e3


def main() -> None:
    pin(CLIENT_CORE)
    wanted = [(host, path) for _, host, path in addresses(reference_web())]
    print(f"{ROUNDS * len(wanted)} pages over {CONNECTIONS} connections, CPU of the server")
    figures = {}
    for name, module in SERVERS.items():
        figures[name] = round(measure(module, wanted), 4)
        print(f"{name:<26}{figures[name]:8.3f} ms/page")
    print(json.dumps({"server_ms": figures}))


if __name__ == "__main__":
    if sys.argv[1:] == ["aiohttp"]:
        asyncio.run(on_aiohttp())
    else:
        main()
