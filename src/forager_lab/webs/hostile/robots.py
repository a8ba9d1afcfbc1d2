"""robots.txt as a weapon: files that multiply, stall, lead elsewhere, or cannot be read."""

from __future__ import annotations

import asyncio
import zlib

from forager_lab.webs.hostile.kinds import (
    HOST_TRIES,
    NO_ROBOTS,
    Call,
    Fixed,
    Reply,
    Wanted,
    a_miss,
    a_page,
    answer,
    drip,
    hostile,
    page,
    raw,
    redirect,
    robots,
    waits,
)

LARGEST = 512_000  # bytes of the file that are read
_TEXT = "HTTP/1.1 200 OK\nContent-Type: text/plain"


def _page(call: Call) -> Reply:
    return page(call)


def _multiplying() -> bytes:
    """Some hundred bytes: thousands of times the same agent, then thousands of rules, which hold for each of them."""
    text = b"User-agent: *\n" * 18_000 + b"Disallow: /x\n" * 18_000
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    once = packer.compress(text) + packer.flush()
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(once) + packer.flush()


hostile(
    "robots-multiply",
    "a robots.txt of a few hundred bytes whose rules multiply",
    a_page(),
    robots=Fixed(_multiplying, "Content-Encoding: gzip, gzip", kind="text/plain"),
    group=__name__,
)(_page)


def _stars() -> bytes:
    line = "Disallow: /" + "*a" * 8_000 + "b$\n"
    return b"User-agent: *\n" + line.encode() * (LARGEST // len(line))


hostile(
    "robots-stars",
    "512 KB of patterns full of stars",
    a_page(),
    robots=Fixed(_stars, kind="text/plain"),
    seeds=["/" + "a" * 1_500],
    heavy=True,
    group=__name__,
)(_page)


def _rules() -> bytes:
    lines = [f"Disallow: /{n:x}/{'x' * 40}\n" for n in range(LARGEST // 60)]
    return "".join(["User-agent: *\n", *lines]).encode()


hostile(
    "robots-large",
    "60 hosts, each with 500 KB of rules",
    Wanted(outcome="page", pages=(60, 60), requests=120),
    robots=Fixed(_rules, kind="text/plain"),
    seeds=[f"http://h{n}.robots-large.test/" for n in range(60)],
    heavy=True,
    group=__name__,
)(_page)

hostile(
    "robots-endless",
    "a robots.txt without end",
    a_page(),
    robots=drip(raw(_TEXT), b"Disallow: /private\n" * 1_000, 0.0),
    group=__name__,
)(_page)


def _bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [packer.compress(b"# nothing\n" * 100_000) for _ in range(50)]
    return b"".join([*pieces, packer.flush()])


hostile(
    "robots-bomb",
    "50 MB of comments in gzip",
    a_page(),
    robots=Fixed(_bomb, "Content-Encoding: gzip", kind="text/plain"),
    group=__name__,
)(_page)
hostile(
    "robots-binary",
    "a robots.txt of bytes that mean nothing",
    a_page(),
    robots=answer(bytes(range(256)) * 1_000, kind="application/octet-stream"),
    group=__name__,
)(_page)
hostile(
    "robots-html",
    "a robots.txt that is a page",
    a_page(),
    robots=answer(b"<html><body>Disallow: / is what I would say.</body></html>"),
    group=__name__,
)(_page)
hostile(
    "robots-closed",
    "a robots.txt that allows nothing",
    a_miss("robots", 1),
    robots=robots("User-agent: *", "Disallow: /"),
    group=__name__,
)(_page)
hostile(
    "robots-delay",
    "a Crawl-delay of thirty years",
    a_page(4, pages=3),
    robots=robots("User-agent: *", "Crawl-delay: 1e9"),
    group=__name__,
)(lambda call: page(call, "/1", "/2"))
hostile(
    "robots-403",
    "a robots.txt that we may not read",
    a_page(),
    robots=answer(b"", status="403 Forbidden"),
    group=__name__,
)(_page)
hostile(
    "robots-503",
    "503 for robots.txt, always",
    waits("server-error", HOST_TRIES),
    robots=answer(b"", status="503 Service Unavailable"),
    group=__name__,
)(_page)
hostile(
    "robots-busy",
    "503 for robots.txt, with an hour to wait",
    waits("busy", 1),
    robots=answer(b"", "Retry-After: 3600", status="503 Service Unavailable"),
    group=__name__,
)(_page)
hostile(
    "robots-silence",
    "no answer for robots.txt",
    waits("timeout", HOST_TRIES),
    robots=drip(b""),
    group=__name__,
)(_page)
hostile(
    "robots-slow",
    "a byte of robots.txt every 0.2 seconds",
    waits("timeout", HOST_TRIES),
    robots=drip(raw(_TEXT), b"#", 0.2),
    group=__name__,
)(_page)


def _reset(call: Call) -> Reply:
    call.reset()
    return None


hostile(
    "robots-reset",
    "the connection is reset when robots.txt is asked for",
    waits("unreachable", HOST_TRIES),
    robots=_reset,
    group=__name__,
)(_page)


@hostile(
    "robots-mended",
    "503 for robots.txt twice, then all is well",
    a_page(5),
    robots=lambda call: NO_ROBOTS if call.count > 2 else answer(b"", status="503 Service Unavailable"),
)
async def robots_mended(call: Call) -> Reply:
    await asyncio.sleep(0)
    return page(call)


# ---- elsewhere ------------------------------------------------------------------------------------------------------


def _to_victim(call: Call) -> Reply:
    if call.host.startswith("victim."):
        return robots("User-agent: *", "Disallow: /private")
    return redirect("http://victim.robots-victim.test/robots.txt")


hostile(
    "robots-victim",
    "100 hosts whose robots.txt is a redirect to one victim",
    Wanted(outcome="page", pages=(100, 100), requests=205, of_host={"victim.robots-victim.test": 3}),
    robots=_to_victim,
    seeds=[f"http://h{n}.robots-victim.test/" for n in range(100)],
    group=__name__,
)(_page)
hostile(
    "robots-loop",
    "a robots.txt that redirects to itself",
    a_page(),
    robots=redirect("/robots.txt"),
    group=__name__,
)(_page)


def _round(call: Call) -> Reply:
    other = "b" if call.host.startswith("a.") else "a"
    return redirect(f"http://{other}.robots-round.test/robots.txt")


hostile(
    "robots-round",
    "two hosts whose robots.txt redirect to each other",
    Wanted(outcome="page", pages=(2, 2), requests=8),
    robots=_round,
    seeds=["http://a.robots-round.test/", "http://b.robots-round.test/"],
    group=__name__,
)(_page)


def _chain(call: Call) -> Reply:
    number = int(call.host.partition(".")[0][1:])
    return redirect(f"http://h{number + 1}.robots-chain.test/robots.txt")


hostile(
    "robots-chain",
    "a chain of robots.txt across hosts without end",
    a_page(12),
    robots=_chain,
    seeds=["http://h0.robots-chain.test/"],
    group=__name__,
)(_page)
hostile(
    "robots-error-stall",
    "an error for robots.txt, with a body that never comes",
    a_page(),
    robots=drip(raw("HTTP/1.1 404 Not Found\nContent-Length: 20000")),
    group=__name__,
)(_page)
