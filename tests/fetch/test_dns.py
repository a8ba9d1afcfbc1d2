"""Names become addresses: each is looked up once, mapped by hand, or fails in a way that may pass."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from forager.clock import VirtualClock
from forager.errors import ForagerError
from forager.fetch.dns import MappedNames, Resolver
from forager.fetch.guard import Guard
from forager.types import Answer, Failure, Reason, Url
from tests.fetch.wire import QUICK, Wire, failed, fetched, fetcher, page, visit

NONAME = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
AGAIN = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


class Names:
    """A lookup that knows some names, fails for others, and notes what it is asked."""

    def __init__(self, known: dict[str, list[str] | OSError]) -> None:
        self.known, self.asked = known, list[str]()

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        found = self.known.get(host, NONAME)
        if isinstance(found, OSError):
            raise found
        return found


# ---- mapped by hand -------------------------------------------------------------------------------------------------


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


# ---- failures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [NONAME, AGAIN], ids=["no such name", "no answer"])
def test_every_failure_may_pass(error: OSError) -> None:
    """Without a network a resolver may say that no name exists. How often to try is the crawl's business."""
    failure = failed(visit("http://nowhere.example/", lookup=Names({"nowhere.example": error}))[0], Reason.DNS)
    assert failure.detail == error.strerror
    assert failure.retry_after is not None
    assert failure.status == 0


@pytest.mark.parametrize("lookup", [lambda host: [], lambda host: 1 / 0], ids=["nothing", "broken"])
def test_a_lookup_that_fails_in_any_way_is_a_failure(lookup: Any) -> None:
    failed(visit("http://strange.example/", lookup=lookup)[0], Reason.DNS)


def test_a_label_too_long_does_not_exist() -> None:
    failed(visit(f"http://{'a' * 64}.example/")[0], Reason.DNS)


def asked_again_after(
    resolver: Resolver, names: Names, clock: VirtualClock, host: str, seconds: list[float]
) -> list[bool]:
    """Whether a name is looked up anew after each of these pauses."""

    async def run() -> list[bool]:
        new = []
        for pause in seconds:
            clock.spend(pause)
            before = len(names.asked)
            with pytest.raises(socket.gaierror):
                await resolver.resolve(host)
            new.append(len(names.asked) > before)
        return new

    return asyncio.run(run())


def resolver_of(known: dict[str, list[str] | OSError]) -> tuple[Resolver, Names, VirtualClock]:
    names, clock = Names(known), VirtualClock()
    return Resolver(Guard(["127.0.0.0/8"]), clock, names), names, clock


async def resolve_all(resolver: Resolver, *hosts: str) -> None:
    for host in hosts:
        with suppress(socket.gaierror):
            await resolver.resolve(host)


def test_a_name_that_does_not_exist_is_remembered_for_a_minute() -> None:
    resolver, names, clock = resolver_of({})
    assert asked_again_after(resolver, names, clock, "dead.example", [0, 6, 53, 2]) == [True, False, False, True]


def test_a_name_server_that_does_not_answer_is_asked_again_soon() -> None:
    resolver, names, clock = resolver_of({"later.example": AGAIN})
    assert asked_again_after(resolver, names, clock, "later.example", [0, 4, 2]) == [True, False, True]


def test_if_several_names_fail_they_are_all_asked_again_soon() -> None:
    resolver, names, clock = resolver_of({})
    asyncio.run(resolve_all(resolver, "a.example", "b.example"))
    assert asked_again_after(resolver, names, clock, "a.example", [6]) == [False]
    asyncio.run(resolve_all(resolver, "c.example"))
    assert asked_again_after(resolver, names, clock, "a.example", [0, 4, 2]) == [True, False, True]


def test_when_the_network_is_back_nothing_that_failed_without_it_is_believed() -> None:
    resolver, names, clock = resolver_of({"there.example": ["127.0.0.1"]})
    asyncio.run(resolve_all(resolver, "a.example", "b.example", "c.example", "there.example"))
    names.asked.clear()
    assert asked_again_after(resolver, names, clock, "a.example", [0, 6]) == [True, False]  # now it is believed


def test_our_own_failures_are_not_remembered() -> None:
    names = Names({"a.example": OSError(errno.EMFILE, "Too many open files")})
    resolver = Resolver(Guard(["127.0.0.0/8"]), VirtualClock(), names)

    async def run() -> None:
        with pytest.raises(OSError, match="Too many open files"):
            await resolver.resolve("a.example")
        names.known["a.example"] = ["127.0.0.1"]
        assert (await resolver.resolve("a.example"))[0]["host"] == "127.0.0.1"

    asyncio.run(run())


# ---- successes ------------------------------------------------------------------------------------------------------


def test_lookups_overlap_and_answers_are_kept() -> None:
    asked: list[str] = []
    all_there = threading.Barrier(20)

    def lookup(host: str) -> list[str]:
        asked.append(host)
        all_there.wait(10)  # wait until all twenty are being looked up
        return ["127.0.0.1"]

    async def run() -> list[Answer]:
        async with Wire({"*": page()}) as wire, fetcher(lookup=lookup) as client:
            urls = [Url(f"http://h{n}.example:{wire.port}/") for n in range(20)]
            return [*await asyncio.gather(*map(client.fetch, urls)), *await asyncio.gather(*map(client.fetch, urls))]

    for answer in asyncio.run(run()):
        fetched(answer)
    assert len(asked) == 20


def test_who_asks_for_the_same_name_at_once_causes_one_lookup() -> None:
    go = threading.Event()
    asked: list[str] = []

    def lookup(host: str) -> list[str]:
        asked.append(host)
        go.wait(10)
        return ["127.0.0.1"]

    async def run() -> None:
        resolver = Resolver(Guard(["127.0.0.0/8"]), VirtualClock(), lookup)
        tasks = [asyncio.ensure_future(resolver.find("a.example")) for _ in range(5)]
        await asyncio.sleep(0.01)
        tasks[0].cancel()  # who gives up takes nothing from the others
        go.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [getattr(each, "allowed", None) for each in found] == [None, *[("127.0.0.1",)] * 4]

    asyncio.run(run())
    assert asked == ["a.example"]


def test_a_name_that_leads_inside_is_looked_up_once() -> None:
    names = Names({"inside.example": ["10.0.0.1"]})

    async def run() -> list[Answer]:
        async with fetcher(lookup=names) as client:
            return [await client.fetch(Url(f"http://inside.example/{n}")) for n in range(3)]

    for answer in asyncio.run(run()):
        failed(answer, Reason.FORBIDDEN)
    assert names.asked == ["inside.example"]


def test_after_nobody_was_reached_the_name_is_looked_up_again() -> None:
    """The host may have moved."""
    names = Names({"moved.example": ["127.0.0.1"]})

    async def run() -> list[Answer]:
        async with Wire({"*": page()}) as wire:
            port = wire.port
        async with fetcher(lookup=names) as client:
            return [await client.fetch(Url(f"http://moved.example:{port}/")) for _ in range(2)]

    for answer in asyncio.run(run()):
        failed(answer, Reason.UNREACHABLE)
    assert len(names.asked) == 2


# ---- where a request goes -------------------------------------------------------------------------------------------


def locate(url: str, **options: Any) -> str | Failure:
    async def run() -> str | Failure:
        async with fetcher(**options) as client:
            return await client.locate(Url(url))

    return asyncio.run(run())


def test_the_address_is_known_before_and_looked_up_once() -> None:
    names = Names({"a.example": ["10.0.0.1", "127.0.0.1", "127.0.0.2"]})

    async def run() -> tuple[str | Failure, list[Answer]]:
        async with Wire({"*": page(b"x", "Connection: close")}) as wire, fetcher(lookup=names) as client:
            url = Url(f"http://a.example:{wire.port}/")
            return await client.locate(url), [await client.fetch(url) for _ in range(3)]

    address, answers = asyncio.run(run())
    assert address == "127.0.0.1"  # the first that may be connected to
    for answer in answers:
        exchange = fetched(answer).exchange
        assert exchange
        assert exchange.address == address
    assert names.asked == ["a.example"]


def test_an_address_is_its_own() -> None:
    names = Names({"name-1": ["127.0.0.1"], "h.example1": ["127.0.0.3"]})
    assert locate("http://127.0.0.9:8000/", lookup=names) == "127.0.0.9"
    assert locate("http://[::1]/", lookup=names, allow=["::1"]) == "::1"
    assert names.asked == []
    assert locate("http://name-1/", lookup=names) == "127.0.0.1"
    assert locate("http://h.example1/", lookup=names) == "127.0.0.3"


def test_mapped_names_and_proxies_have_no_address() -> None:
    names = Names({})
    assert locate("http://a.web.test/", lookup=names, resolve={"*.web.test": "127.0.0.1"}) == ""
    assert locate("http://a.example/", lookup=names, proxy="http://127.0.0.1:9") == ""
    assert names.asked == []


def test_what_cannot_be_located() -> None:
    names = Names({"inside.example": ["10.0.0.1"], "later.example": AGAIN})
    for url in ("http://inside.example/", "http://10.0.0.1/", "http://[::1]/", "http://metadata.google.internal/"):
        refused = locate(url, lookup=names)
        assert isinstance(refused, Failure)
        assert (refused.reason, refused.retry_after) == (Reason.FORBIDDEN, None)
    for url in ("http://gone.example/", "http://later.example/"):
        refused = locate(url, lookup=names)
        assert isinstance(refused, Failure)
        assert refused.reason is Reason.DNS
        assert refused.retry_after is not None


def test_a_lookup_that_hangs_ends_with_the_connect_timeout() -> None:
    go = threading.Event()

    def lookup(host: str) -> list[str]:
        go.wait(10)
        return ["127.0.0.1"]

    refused = locate("http://slow.example/", lookup=lookup, limits=replace(QUICK, connect=0.1))
    go.set()
    assert isinstance(refused, Failure)
    assert (refused.reason, refused.detail[:8]) == (Reason.TIMEOUT, "connect:")
