"""Ways into the network that the crawler runs in. Where they lead, a listener waits: nobody may ever connect to it.

The hostile server stands for the public network. It has an address that the crawl is allowed to ask (`PUBLIC`); every
other address of this machine is private. The listener has the same port at 127.0.0.1 and, if there is one, at ::1.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter

from forager_lab.webs.hostile.kinds import (
    Call,
    Reply,
    Wanted,
    a_miss,
    a_page,
    hostile,
    html,
    page,
    redirect,
    robots,
    waits,
)

PUBLIC = "127.0.0.9"
CANARY = "canary"  # the first part of paths at the listener; the second is the kind that led there

_HOSTS = """
127.0.0.1 127.0.0.1. 127.1 127.0.1 127.0x1 0177.1 0x7f.1 0x7f.0.0x0.01 0177.0.0.1 0x7F.0x0.0x0.0x1 127.000.000.001
2130706433 2130706433. 017700000001 0x7f000001 0x7F000001 0.0.0.0 0 00 0x0 127.127.127.127 127.255.255.254
%31%32%37.0.0.1 127%2e0%2E0%2e1 %30x7f.1 １２７.０.０.１ ①②⑦.0.0.1 127。0。0。1 127．0．0．1 127｡0｡0｡1 𝟭𝟮𝟳.𝟬.𝟬.𝟭
127.0.0.1%2e
[::1] [0:0:0:0:0:0:0:1] [0000::0001] [::0.0.0.1] [::] [fe80::1] [fc00::1] [fd12:3456:789a::1] [fec0::1] [ff02::1]
[::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1]
[::ffff:0:7f00:1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [64:ff9b:1::10.0.0.1] [2002:7f00:1::]
[2002:7f00:1::1] [2002:a9fe:a9fe::] [2001:0:7f00:1::] [2001:0:808:808::80ff:fffe]
10.0.0.1 10.255.255.254 172.16.0.1 172.31.255.254 192.168.0.1 192.168.1.1 100.64.0.1 198.18.0.1 192.0.2.1 224.0.0.1
255.255.255.255 0xa000001 3232235521
169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 0xa9.0xfe.43518 169.254.170.2 100.100.100.200 192.0.0.192
168.63.129.16 [fd00:ec2::254] [fd20:ce::254] [::ffff:169.254.169.254] [64:ff9b::a9fe:a9fe] metadata.google.internal
METADATA.google.internal. metadata.goog instance-data metadata.azure.internal
user:pass@127.0.0.1 example.org@127.0.0.1 example.org%40@127.0.0.1 @127.0.0.1 example.org:80@127.0.0.1 a@b@127.0.0.1
localhost LOCALHOST localhost. LocalHost loc%61lhost ｌocalhost any.localhost localhost.localdomain ip6-localhost
inside.example inside.example. many-inside.example mapped.example
"""
SPELLINGS = [
    *(f"http://{host}:{{port}}" for host in _HOSTS.split()),
    "http:127.0.0.1:{port}",
    "http:/\\127.0.0.1:{port}",
    "http:////127.0.0.1:{port}",
    "https://127.0.0.1:{port}",
    "  http://127.0.0.1:{port}",
    "ht\ttp://127.0.\n0.1:{port}",
]
INSIDE = {
    "localhost": ("127.0.0.1",),
    "any.localhost": ("127.0.0.1",),
    "localhost.localdomain": ("127.0.0.1",),
    "ip6-localhost": ("::1",),
    "inside.example": ("127.0.0.1",),
    "mapped.example": ("::ffff:127.0.0.1",),
    "many-inside.example": ("10.0.0.1", "127.0.0.1", "::1", "169.254.169.254"),
    "half-inside.example": ("127.0.0.1", PUBLIC, "::1"),
}
_asked: Counter[str] = Counter()
_asking = threading.Lock()


def lookup(host: str) -> list[str]:
    """The name server of the crawl: it knows these names and no others."""
    with _asking:
        _asked[host] += 1
        times = _asked[host]
    if host == "names-silence.example":
        time.sleep(30)
    if host == "rebinding.example":
        return [PUBLIC if times == 1 else "127.0.0.1"]
    if host.endswith(".wildcard.example"):
        return [PUBLIC]
    if host not in INSIDE:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")
    return list(INSIDE[host])


def within(call: Call, kind: str, place: str = "http://127.0.0.1:{port}", number: int = 0) -> str:
    """A URL at the listener."""
    return f"{place.format(port=call.port)}/{CANARY}/{kind}/{number}"


# ---- by links -------------------------------------------------------------------------------------------------------


@hostile(
    "private-links",
    f"links to private addresses in {len(SPELLINGS)} spellings",
    Wanted(
        outcome="miss",
        reason="forbidden-address",
        of=f"http://127.0.0.1:{{port}}/{CANARY}/private-links/0",
        pages=(2, 2),  # "http:" with something that is no "//" after it is a path on this host
        requests=3,
        urls=len(SPELLINGS) + 1,
    ),
)
def private_links(call: Call) -> Reply:
    places = enumerate(SPELLINGS) if call.path == "/" else ()
    return page(call, *(within(call, "private-links", place, n) for n, place in places))


@hostile(
    "private-base",
    "a page whose base is a private address",
    Wanted(
        outcome="miss",
        reason="forbidden-address",
        of=f"http://127.0.0.1:{{port}}/{CANARY}/private-base/1",
        pages=(1, 1),
    ),
)
def private_base(call: Call) -> Reply:
    return page(call, "1", "2", head=f"<base href='{within(call, 'private-base')}'>")


@hostile(
    "private-frames",
    "frames, maps, canonical URLs, translations, feeds and refreshes that lead inside",
    Wanted(outcome="page", pages=(1, 1), requests=2, urls=20),
)
def private_frames(call: Call) -> Reply:
    places = [within(call, "private-frames", number=n) for n in range(8)]
    head = (
        f"<link rel=canonical href={places[0]}><link rel=alternate hreflang=de href={places[1]}>"
        f"<link rel=alternate type=application/rss+xml href={places[2]}><link rel=next href={places[3]}>"
    )
    frames = f"<iframe src={places[4]}></iframe><map><area href={places[5]}></map><frame src={places[6]}>"
    body = html(f"{call.host}{call.path}", head=head).replace(b"<ul>", frames.encode() + b"<ul>")
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@hostile(
    "private-refresh",
    "a page that sends everybody inside",
    Wanted(outcome="no page", of=f"http://127.0.0.1:{{port}}/{CANARY}/private-refresh/0", pages=(0, 1), requests=2),
)
def private_refresh(call: Call) -> Reply:
    return page(call, head=f"<meta http-equiv=refresh content='0; url={within(call, 'private-refresh')}'>")


# ---- by redirects, rules and listings -------------------------------------------------------------------------------


@hostile(
    "private-redirect",
    "a redirect to a private address",
    a_miss("forbidden-address", of=f"http://127.0.0.1:{{port}}/{CANARY}/private-redirect/0"),
)
def private_redirect(call: Call) -> Reply:
    return redirect(within(call, "private-redirect"))


@hostile(
    "private-hidden",
    "redirects to spellings of private addresses",
    Wanted(
        outcome="miss",
        reason="forbidden-address",
        of=f"http://[::ffff:7f00:1]:{{port}}/{CANARY}/private-hidden/1",
        requests=5,
        urls=20,
    ),
    seeds=[f"/{n}" for n in range(4)],
)
def private_hidden(call: Call) -> Reply:
    places = ["//2130706433:{port}", "http://[::ffff:7f00:1]:{port}", "http://u:p@localhost:{port}", "//0x7f.1:{port}"]
    number = int(call.path[1:])
    return redirect(within(call, "private-hidden", places[number], number))


hostile(
    "private-robots",
    "a robots.txt that redirects to a private address",
    a_miss("forbidden-address", 1),
    robots=lambda call: redirect(within(call, "private-robots")),
    group=__name__,
)(page)
hostile(
    "private-sitemap",
    "a sitemap at a private address",
    a_page(),
    robots=lambda call: robots("User-agent: *", f"Sitemap: {within(call, 'private-sitemap')}"),
    group=__name__,
)(page)


# ---- by names -------------------------------------------------------------------------------------------------------


@hostile(
    "rebinding",
    "a name that is public at first, and private when it is looked up again",
    Wanted(
        outcome="miss",
        reason="forbidden-address",
        of="http://rebinding.example:{port}/1",
        pages=(1, 1),
        requests=3,
    ),
    seeds=["http://rebinding.example:{port}/"],
)
def rebinding(call: Call) -> Reply:
    if call.path == "/":
        return page(call, "/1")
    call.reset()
    return None


hostile(
    "half-inside",
    "a name with a public address among private ones",
    Wanted(outcome="page", pages=(1, 1)),
    seeds=["http://half-inside.example:{port}/"],
    group=__name__,
)(page)
hostile(
    "names-missing",
    "a name that does not exist",
    waits("dns", 0),
    seeds=["http://names-missing.example/"],
    group=__name__,
)(page)
hostile(
    "names-silence",
    "a name server that does not answer",
    waits("timeout", 0),
    seeds=["http://names-silence.example/"],
    group=__name__,
)(page)
