"""No link, no name and no name server that changes its answer leads into a network that is not allowed."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace

import pytest

from forager.errors import ForagerError
from forager.fetch.connection import Limits
from forager.fetch.guard import METADATA_NAMES, AddrInfo, Guard
from forager.types import Answer, Fetch, Reason, Redirect, Url
from forager.web.urls import RULES
from tests.fetch.wire import Wire, failed, fetched, fetcher, page, visit

_REFUSED = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 169.254.0.1 169.254.169.254
172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1
203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16
:: ::1 ::7f00:1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:a9fe:a9fe ::ffff:0:127.0.0.1 64:ff9b::7f00:1
64:ff9b::8.8.8.8 64:ff9b:1::a00:1 100::1 2001::1 2001:0:7f00:1:: 2001:db8::1 2002:7f00:1:: 2002:808:808:: 3fff::1
fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 5f00::1 4000::1
"""
_PUBLIC = """
1.1.1.1 8.8.8.8 100.63.0.1 172.15.0.1 172.32.0.1 192.0.1.1 223.255.255.255 2606:4700::1111 2a00:1450::1
"""


@pytest.mark.parametrize("address", _REFUSED.split())
def test_special_addresses_are_refused(address: str) -> None:
    assert "allowed networks" in Guard().refusal(address)


@pytest.mark.parametrize("address", _PUBLIC.split())
def test_public_addresses_are_not(address: str) -> None:
    assert not Guard().refusal(address)


@pytest.mark.parametrize("address", ["", "localhost", "127.1", "0x7f.1", "1.2.3.4.5"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert "no IP address" in Guard().refusal(address)


def test_a_network_named_is_allowed_and_no_other() -> None:
    guard = Guard(["127.0.0.0/8", "fd00::/8", "10.1.2.3"])
    assert not any(map(guard.refusal, ["127.0.0.1", "fd12::1", "10.1.2.3"]))
    assert all(map(guard.refusal, ["10.1.2.4", "::1", "::ffff:127.0.0.1", "192.168.0.1"]))


def test_an_allowed_tunnel_does_not_allow_what_it_leads_to() -> None:
    guard = Guard(["64:ff9b::/96", "2002::/16"])
    assert not guard.refusal("64:ff9b::8.8.8.8")
    assert not guard.refusal("2002:808:808::")
    assert "which holds 127.0.0.1 is loopback" in guard.refusal("64:ff9b::7f00:1")
    assert "which holds 10.0.0.1 is private" in guard.refusal("2002:a00:1::")


def test_a_network_that_is_none() -> None:
    with pytest.raises(ForagerError, match="write it like"):
        Guard(["localhost"])


def test_ports_of_other_services_are_refused_and_a_network_named_has_all_its_ports() -> None:
    guard = Guard(["8.8.4.0/24"])
    assert not any(guard.port_refusal("8.8.8.8", port) for port in (80, 81, 443, 3000, 8000, 8080, 8443, 65_535))
    for port in (0, 21, 22, 23, 25, 53, 110, 143, 465, 587, 993, 6000, 6379, 6667, 11211):
        assert f"port {port} is not for web pages" in guard.port_refusal("8.8.8.8", port)
        assert guard.port_refusal("2606:4700::1111", port)
        assert not guard.port_refusal("8.8.4.4", port)


# ---- tricks ---------------------------------------------------------------------------------------------------------

# Each leads to an address of special use, most of them to loopback, where a server listens at {port}.
_HOSTS = {
    "IPv4": """
        127.0.0.1 127.0.0.1. 127.1 127.0.1 127.0x1 0177.1 0x7f.1 0x7f.0.0x0.01 0177.0.0.1 0x7F.0x0.0x0.0x1
        127.000.000.001 2130706433 2130706433. 017700000001 0x7f000001 0x7F000001 0.0.0.0 0 00 0x0 127.127.127.127
        127.255.255.254
    """,
    "IPv4 in other characters": """
        %31%32%37.0.0.1 127%2e0%2E0%2e1 %30x7f.1 １２７.０.０.１ ①②⑦.0.0.1 127。0。0。1 127．0．0．1 127｡0｡0｡1 𝟭𝟮𝟳.𝟬.𝟬.𝟭
        127.0.0.1%2e
    """,
    "IPv6": """
        [::1] [0:0:0:0:0:0:0:1] [0000::0001] [::0.0.0.1] [::] [fe80::1] [fc00::1] [fd12:3456:789a::1] [fec0::1]
        [ff02::1] [100::1] [2001:db8::1]
    """,
    "IPv4 in IPv6": """
        [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1]
        [::ffff:0:7f00:1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [64:ff9b:1::10.0.0.1]
        [2002:7f00:1::] [2002:7f00:1::1] [2002:a9fe:a9fe::] [2001:0:7f00:1::] [2001:0:808:808::80ff:fffe]
    """,
    "private networks": """
        10.0.0.1 10.255.255.254 172.16.0.1 172.31.255.254 192.168.0.1 192.168.1.1 100.64.0.1 198.18.0.1 192.0.2.1
        224.0.0.1 255.255.255.255 0xa000001 3232235521
    """,
    "metadata": """
        169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 0xa9.0xfe.43518 169.254.170.2 100.100.100.200
        192.0.0.192 168.63.129.16 [fd00:ec2::254] [fd20:ce::254] [::ffff:169.254.169.254] [64:ff9b::a9fe:a9fe]
        metadata.google.internal METADATA.google.internal. metadata.goog instance-data metadata.azure.internal
    """,
    "credentials": """
        user:pass@127.0.0.1 example.org@127.0.0.1 example.org%40@127.0.0.1 @127.0.0.1 example.org:80@127.0.0.1
        a@b@127.0.0.1 example.org%23@127.0.0.1
    """,
    "names": """
        localhost LOCALHOST localhost. LocalHost loc%61lhost ｌocalhost any.localhost localhost.localdomain
        ip6-localhost only-in-etc-hosts inside.example inside.example. one-of-many.example mapped.example
    """,
}
_TRICKS = [f"http://{host}:{{port}}/" for hosts in _HOSTS.values() for host in hosts.split()] + [
    "http:127.0.0.1:{port}/",
    "http:/\\127.0.0.1:{port}/",
    "http:////127.0.0.1:{port}/",
    "https://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@example.org/",
    "  http://127.0.0.1:{port}/  ",
    "ht\ttp://127.0.\n0.1:{port}/",
    "http://example.org@127.0.0.1:{port}?@example.org/",
]
_INSIDE = {
    "mapped.example": ["::ffff:127.0.0.1"],
    "one-of-many.example": ["10.0.0.1", "127.0.0.1", "::1", "169.254.169.254"],
}


def inside(host: str) -> list[str]:
    """A name server whose every name leads inside."""
    return _INSIDE.get(host, ["127.0.0.1"])


def test_at_least_sixty_tricks_and_none_reaches_the_server() -> None:
    assert len(_TRICKS) >= 60

    async def run() -> tuple[dict[str, Answer], int]:
        async with Wire({"*": page()}) as wire, fetcher(allow=(), lookup=inside) as client:
            answers = {}
            for trick in _TRICKS:
                url = RULES.canonical(trick.replace("{port}", str(wire.port)))
                assert url, trick
                answers[trick] = await client.fetch(url)
                located = await client.locate(url)
                assert getattr(located, "reason", None) is Reason.FORBIDDEN, (trick, located)
            return answers, wire.connections

    answers, connections = asyncio.run(run())
    assert {
        trick: answer for trick, answer in answers.items() if getattr(answer, "reason", None) != "forbidden-address"
    } == {}
    assert all(getattr(answer, "retry_after", 0) is None for answer in answers.values())
    assert connections == 0


def test_the_server_is_there_for_those_tricks() -> None:
    """The same with loopback allowed: where a trick leads there, the server is reached."""

    async def run() -> tuple[int, int]:
        async with Wire({"*": page()}) as wire, fetcher(lookup=inside) as client:
            tricks = [trick for trick in _TRICKS if not trick.startswith("https")]
            urls = [RULES.canonical(trick.replace("{port}", str(wire.port))) for trick in tricks]
            answers = [await client.fetch(url) for url in urls if url and "127.0.0.1:" in url]
            return len(answers), sum(isinstance(answer, Fetch) for answer in answers)

    tried, reached = asyncio.run(run())
    assert tried == reached > 30


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("http://127.0.0.1@example.org/", "example.org"),
        ("http://127.0.0.1:80@example.org/", "example.org"),
        ("http://example.org#@127.0.0.1/", "example.org"),
        ("http://example.org/@127.0.0.1/", "example.org"),
        ("http://example.org?@127.0.0.1/", "example.org"),
        ("http://example.org\\@127.0.0.1/", "example.org"),
        ("http://user:pass@example.org:8000/", "example.org:8000"),
    ],
)
def test_where_an_at_sign_leads(text: str, host: str) -> None:
    url = RULES.canonical(text)
    assert url
    assert url.startswith(f"http://{host}/")


@pytest.mark.parametrize(
    "text", ["http://[fe80::1%25eth0]/", "http://[::1%25lo]/", "http://127.0.0.1.1/", "http://[::1/"]
)
def test_what_is_no_url_is_not_asked(text: str) -> None:
    assert RULES.canonical(text) is None


@pytest.mark.parametrize("text", ["http://[fe80::1%25lo]:{port}/", "http://127.1:{port}/", "http://0x7f.1:{port}/"])
def test_what_is_not_canonical_is_refused_too(text: str) -> None:
    async def run() -> tuple[Answer, int]:
        async with Wire({"*": page()}) as wire, fetcher(allow=(), lookup=inside) as client:
            return await client.fetch(Url(text.replace("{port}", str(wire.port)))), wire.connections

    answer, connections = asyncio.run(run())
    assert getattr(answer, "reason", None) in (Reason.FORBIDDEN, Reason.PROTOCOL)
    assert connections == 0


def test_credentials_in_a_url_are_not_sent() -> None:
    async def run() -> list[bytes]:
        async with Wire({"*": page()}) as wire, fetcher() as client:
            fetched(await client.fetch(Url(f"http://user:pass@127.0.0.1:{wire.port}/@x")))
            return wire.requests

    (request,) = asyncio.run(run())
    assert request.startswith(b"GET /@x HTTP/1.1\r\n")
    assert b"uthorization" not in request


@pytest.mark.parametrize("name", sorted(METADATA_NAMES))
def test_names_of_metadata_services_are_not_even_looked_up(name: str) -> None:
    def lookup(host: str) -> list[str]:
        raise AssertionError(host)

    failed(visit(f"http://{name}/", lookup=lookup)[0], Reason.FORBIDDEN)


@pytest.mark.parametrize("host", ["localhost", "localhost.", socket.gethostname()])
def test_names_that_the_system_alone_knows(host: str) -> None:
    answer, connections = visit(f"http://{host}:{{port}}/")
    assert getattr(answer, "reason", None) in (Reason.FORBIDDEN, Reason.DNS)
    assert connections == 0


def test_of_several_addresses_only_the_allowed_have_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    made = Guard.socket

    def noted(guard: Guard, info: AddrInfo) -> socket.socket:
        tried.append(info[4][0])
        return made(guard, info)

    monkeypatch.setattr(Guard, "socket", noted)
    addresses = ["10.0.0.1", "::1", "127.0.0.1", "169.254.169.254"]
    answer, connections = visit("http://many.example:{port}/", lookup=lambda host: addresses, allow=["127.0.0.0/8"])
    fetched(answer)
    assert (tried, connections) == (["127.0.0.1"], 1)


def test_ports_are_refused_before_there_is_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_socket(*given: object) -> None:
        raise AssertionError(given)

    monkeypatch.setattr("forager.fetch.guard.socket", SimpleNamespace(socket=no_socket))
    for host in ("8.8.8.8", "public.example"):
        for port in (22, 25, 6379):
            answer, _ = visit(f"http://{host}:{port}/", lookup=lambda host: ["8.8.8.8"])
            assert f"port {port}" in failed(answer, Reason.FORBIDDEN).detail


def test_a_redirect_inside_is_an_answer_and_not_a_way_in() -> None:
    async def run() -> tuple[list[Answer], list[Answer], list[bytes]]:
        async with Wire({}) as wire:
            places = ["http://127.0.0.1:{port}/x", "//2130706433:{port}/x", "http://[::ffff:7f00:1]:{port}/x"]
            places += ["http://u:p@localhost:{port}/x", "http://169.254.169.254/latest/meta-data/"]
            targets = [place.replace("{port}", str(wire.port)) for place in places]
            wire.replies |= {f"/{n}": page(b"", f"Location: {to}", status="302 Found") for n, to in enumerate(targets)}
            mapped = {"*.web.test": f"127.0.0.1:{wire.port}"}
            async with fetcher(allow=(), resolve=mapped, lookup=inside) as client:
                answers = [await client.fetch(Url(f"http://h.web.test/{n}")) for n in range(len(places))]
                onward = [await client.fetch(answer.target) for answer in answers if isinstance(answer, Redirect)]
                return answers, onward, wire.requests

    answers, onward, requests = asyncio.run(run())
    assert len(onward) == len(answers) == 5
    for answer in onward:
        failed(answer, Reason.FORBIDDEN)
    assert not any(b" /x " in request or b"meta-data" in request for request in requests)


def test_a_name_that_changes_its_mind() -> None:
    """Rebinding: the address of the first lookup is allowed, that of the second is not. Each new socket is checked."""
    replies = iter([["127.0.0.1"], ["10.0.0.1"], ["127.0.0.1"]])

    async def run() -> tuple[list[Answer], int]:
        limits = Limits(connect=2, keep_alive=0.01, keep_names=0)
        reply = page(b"x", "Connection: close")
        async with (
            Wire({"*": reply}) as wire,
            fetcher(allow=["127.0.0.0/8"], lookup=lambda host: next(replies), limits=limits) as client,
        ):
            url = Url(f"http://rebinding.example:{wire.port}/")
            answers = []
            for _ in range(3):
                answers.append(await client.fetch(url))
                await asyncio.sleep(0.02)
            return answers, wire.connections

    answers, connections = asyncio.run(run())
    fetched(answers[0])
    assert "10.0.0.1 is private" in failed(answers[1], Reason.FORBIDDEN).detail
    fetched(answers[2])
    assert connections == 2
