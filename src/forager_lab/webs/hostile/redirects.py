"""Redirects that lead nowhere, round and round, or where nobody should go."""

from __future__ import annotations

import asyncio

from forager_lab.webs.hostile.kinds import (
    Call,
    Reply,
    Wanted,
    a_miss,
    a_page,
    answer,
    hostile,
    page,
    raw,
    redirect,
)

HOPS = 5  # that a crawl follows


@hostile("redirect-self", "a redirect to itself", a_miss("bad-redirect"))
def to_itself(call: Call) -> Reply:
    return redirect("/")


@hostile(
    "redirect-loop",
    "two URLs that redirect to each other",
    a_miss("bad-redirect", 3, of="http://redirect-loop.test/other"),
)
def loop(call: Call) -> Reply:
    return redirect("/other" if call.path == "/" else "/")


@hostile(
    "redirect-chain",
    "a chain of redirects without end, on one host",
    a_miss("too-many-redirects", 2 + HOPS, of=f"http://redirect-chain.test/{HOPS}"),
)
def chain(call: Call) -> Reply:
    return redirect(f"/{int(call.path[1:] or 0) + 1}")


@hostile(
    "redirect-hosts",
    "a chain of redirects across 200 hosts",
    a_miss("too-many-redirects", 2 * (1 + HOPS), of=f"http://h{HOPS}.redirect-hosts.test/"),
    seeds=["http://h0.redirect-hosts.test/"],
)
def across_hosts(call: Call) -> Reply:
    number = int(call.host.partition(".")[0][1:])
    return redirect(f"http://h{number + 1}.redirect-hosts.test/") if number < 200 else page(call)


@hostile("redirect-file", "a redirect to a file of the crawler's machine", a_miss("bad-redirect"))
def to_file(call: Call) -> Reply:
    return redirect("file:///etc/passwd")


@hostile("redirect-script", "a redirect to a script", a_miss("bad-redirect"))
def to_script(call: Call) -> Reply:
    return redirect("javascript:alert(1)")


@hostile("redirect-data", "a redirect to a page in the redirect itself", a_miss("bad-redirect"))
def to_data(call: Call) -> Reply:
    return redirect("data:text/html,<p>hello")


@hostile("redirect-nowhere", "a redirect without a target", a_miss("bad-redirect"))
def nowhere(call: Call) -> Reply:
    return answer(b"", status="302 Found")


@hostile("redirect-empty", "a redirect with an empty target", a_miss("bad-redirect"))
def empty(call: Call) -> Reply:
    return redirect("")


@hostile("redirect-long", "a redirect to a URL of 15 KB", a_miss("bad-redirect"))
def long(call: Call) -> Reply:
    return redirect("/" + "x" * 15_000)


@hostile("redirect-bytes", "a redirect to a path in raw bytes", a_page(3, of="http://redirect-bytes.test/gr%FC%DFe"))
def in_bytes(call: Call) -> Reply:
    return redirect("/gr\xfc\xdfe") if call.path == "/" else page(call)


@hostile("redirect-user", "a redirect with a name and a password in it", a_page(3, of="http://redirect-user.test/in"))
def with_password(call: Call) -> Reply:
    return redirect(f"http://me:secret@{call.host}/in") if call.path == "/" else page(call)


@hostile(
    "redirect-body", "a redirect whose body has no end", a_page(3, of="http://redirect-body.test/next"), seeds=["/"]
)
async def with_body(call: Call) -> Reply:
    if call.path != "/":
        return page(call)
    await call.send(raw("HTTP/1.1 302 Found\nLocation: /next"))
    while True:
        await call.send(b"x" * 10_000)
        await asyncio.sleep(0.01)


@hostile("redirect-one", "20 links that redirect to one page", a_page(23, pages=2, of="http://redirect-one.test/one"))
def to_one(call: Call) -> Reply:
    if call.path == "/":
        return page(call, *(f"/{n}" for n in range(20)))
    return page(call) if call.path == "/one" else redirect("/one", "301 Moved Permanently")


@hostile("redirect-cookie", "a redirect to itself that sets a cookie and waits for it", a_miss("bad-redirect"))
def for_cookie(call: Call) -> Reply:
    return answer(b"", "Location: /", "Set-Cookie: seen=1", status="302 Found")


@hostile(
    "redirect-busy",
    "a redirect to a page that is busy for an hour",
    Wanted(outcome="waits", reason="busy", of="http://redirect-busy.test/busy", requests=3),
)
def to_busy(call: Call) -> Reply:
    if call.path == "/":
        return redirect("/busy")
    return answer(b"", "Retry-After: 3600", status="503 Service Unavailable")
