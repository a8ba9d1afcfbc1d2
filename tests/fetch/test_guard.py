"""No link, no name and no name server that changes its answer leads into a network that is not allowed."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from forager.clock import VirtualClock
from forager.errors import ForagerError
from forager.fetch.guard import METADATA_NAMES, Guard, MappedNames, Resolver
from forager.fetch.http import Limits
from forager.types import Answer, Reason, Url
from forager.web.urls import RULES
from tests.fetch.wire import Wire, failed, fetched, fetcher, page

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


# ---- at the socket --------------------------------------------------------------------------------------------------


def visit(url: str, **options: Any) -> tuple[Answer, int]:
    """The answer, and the number of connections to a server on loopback. {port} in the URL is its port."""

    async def run() -> tuple[Answer, int]:
        async with Wire({"*": page()}) as wire, fetcher(**{"allow": (), **options}) as client:
            target = RULES.canonical(url.replace("{port}", str(wire.port)))
            assert target
            answer = await client.fetch(target)
            return answer, wire.connections

    return asyncio.run(run())


_LITERALS = """
127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 0x7F.0x0.0x0.0x1 0.0.0.0 0 %31%32%37.0.0.1 ①②⑦.0.0.1
127.0.0.1. 127。0。0。1 [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::7f00:1] [::] [64:ff9b::7f00:1]
[2002:7f00:1::]
"""


@pytest.mark.parametrize("literal", _LITERALS.split())
def test_literals_in_any_notation(literal: str) -> None:
    answer, connections = visit(f"http://{literal}:{{port}}/")
    failure = failed(answer, Reason.FORBIDDEN)
    assert "allowed networks" in failure.detail
    assert failure.retry_after is None
    assert connections == 0


@pytest.mark.parametrize("literal", ["169.254.169.254", "0xa9fea9fe", "2852039166", "[fd00:ec2::254]"])
def test_metadata_services(literal: str) -> None:
    failed(visit(f"http://{literal}/latest/meta-data/")[0], Reason.FORBIDDEN)


@pytest.mark.parametrize("name", sorted(METADATA_NAMES))
def test_names_of_metadata_services_are_not_even_looked_up(name: str) -> None:
    def lookup(host: str) -> list[str]:
        raise AssertionError(host)

    failed(visit(f"http://{name}/", lookup=lookup)[0], Reason.FORBIDDEN)


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["10.0.0.1", "::1", "169.254.169.254"], ["::ffff:127.0.0.1"]],
)
def test_a_name_that_resolves_inside(addresses: list[str]) -> None:
    answer, connections = visit("http://inside.example:{port}/", lookup=lambda host: addresses)
    failed(answer, Reason.FORBIDDEN)
    assert connections == 0


def test_of_several_addresses_only_the_allowed_are_tried() -> None:
    answer, connections = visit(
        "http://both.example:{port}/", lookup=lambda host: ["10.0.0.1", "127.0.0.1"], allow=["127.0.0.0/8"]
    )
    assert fetched(answer).exchange
    assert connections == 1


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


# ---- names ----------------------------------------------------------------------------------------------------------


def test_mapped_names_are_allowed_while_their_address_is_not() -> None:
    async def run() -> tuple[list[Answer], list[bytes]]:
        async with Wire({"*": page()}) as wire:
            place = {"*.web.test": f"127.0.0.1:{wire.port}", "other.test": "127.0.0.1"}
            lookup: Callable[[str], Sequence[str]] = lambda host: ["127.0.0.1"]  # noqa: E731
            async with fetcher(allow=(), resolve=place, lookup=lookup) as client:
                urls = ["http://a.web.test/", f"http://other.test:{wire.port}/"]
                strangers = [f"http://127.0.0.1:{wire.port}/", f"http://web.test:{wire.port}/"]
                answers = [await client.fetch(Url(url)) for url in (*urls, *strangers)]
            return answers, wire.requests

    answers, requests = asyncio.run(run())
    for answer in answers[:2]:
        fetched(answer)
    for answer in answers[2:]:
        failed(answer, Reason.FORBIDDEN)
    assert b"\r\nHost: a.web.test\r\n" in requests[0]


def places(mapping: dict[str, str], host: str, port: int) -> tuple[str, int]:
    found = asyncio.run(MappedNames(mapping).resolve(host, port))
    return found[0]["host"], found[0]["port"]


def test_the_mapped_port_stands_for_the_default_port_only() -> None:
    mapping = {"*.test": "127.0.0.1:8000", "special.test": "[::1]:9000", "*.deep.test": "127.0.0.2"}
    assert places(mapping, "a.test", 80) == ("127.0.0.1", 8000)
    assert places(mapping, "a.test", 443) == ("127.0.0.1", 8000)
    assert places(mapping, "a.test", 81) == ("127.0.0.1", 81)
    assert places(mapping, "special.test", 80) == ("::1", 9000)
    assert places(mapping, "a.deep.test", 80) == ("127.0.0.2", 80)
    assert MappedNames(mapping).place("test") is None


@pytest.mark.parametrize(
    "mapping",
    [
        {"a.test": "localhost:80"},
        {"a.test": "127.0.0.1:99999"},
        {"a.test": "127.0.0.1:0"},
        {"a.test": ""},
        {"a.test": "::1:80"},
        {"127.0.0.1": "127.0.0.1:80"},
    ],
)
def test_mappings_that_are_none(mapping: dict[str, str]) -> None:
    with pytest.raises(ForagerError):
        MappedNames(mapping)


def test_a_name_that_does_not_exist() -> None:
    def lookup(host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    failure = failed(visit("http://nowhere.example/", lookup=lookup)[0], Reason.DNS)
    assert (failure.detail, failure.retry_after) == ("Name or service not known", None)


def test_a_name_server_that_does_not_answer_may_answer_later() -> None:
    def lookup(host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    assert failed(visit("http://later.example/", lookup=lookup)[0], Reason.DNS).retry_after is not None


@pytest.mark.parametrize("lookup", [lambda host: [], lambda host: 1 / 0], ids=["nothing", "broken"])
def test_a_lookup_that_fails_in_any_way_is_a_failure(lookup: Any) -> None:
    failed(visit("http://strange.example/", lookup=lookup)[0], Reason.DNS)


def test_a_label_too_long_does_not_exist() -> None:
    failed(visit(f"http://{'a' * 64}.example/")[0], Reason.DNS)


def test_failures_are_kept_for_a_while() -> None:
    asked: list[str] = []

    def lookup(host: str) -> list[str]:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "no")

    async def run() -> None:
        clock = VirtualClock()
        resolver = Resolver(Guard(), clock, lookup)
        for seconds in (0, 59, 2):
            clock.spend(seconds)
            with pytest.raises(socket.gaierror):
                await resolver.resolve("dead.example")

    asyncio.run(run())
    assert len(asked) == 2


def test_lookups_overlap_and_answers_are_kept() -> None:
    asked: list[str] = []
    all_there = threading.Barrier(20)

    def lookup(host: str) -> list[str]:
        asked.append(host)
        all_there.wait(2)  # wait until all twenty are being looked up
        return ["127.0.0.1"]

    async def run() -> list[Answer]:
        async with Wire({"*": page()}) as wire, fetcher(lookup=lookup) as client:
            urls = [Url(f"http://h{n}.example:{wire.port}/") for n in range(20)]
            return [*await asyncio.gather(*map(client.fetch, urls)), *await asyncio.gather(*map(client.fetch, urls))]

    for answer in asyncio.run(run()):
        fetched(answer)
    assert len(asked) == 20
