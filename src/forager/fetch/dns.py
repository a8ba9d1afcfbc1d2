"""From names to addresses: lookups in their own threads, and names that are mapped by hand.

The connector keeps the addresses that were found. Here only failures are kept for a while, because a dead host may have
thousands of links, and each lookup can take many seconds.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fnmatch import translate
from functools import lru_cache
from ipaddress import ip_address
from typing import TypeAlias

from aiohttp.abc import AbstractResolver, ResolveResult

from forager.clock import Clock
from forager.errors import ForagerError
from forager.fetch.guard import Guard

Lookup: TypeAlias = Callable[[str], Sequence[str]]  # may block; OSError if there is no address

AT_ONCE = 128  # lookups; the loop's own pool has 6 threads on 2 cores: a few dead hosts would stop all others
KEEP_FAILURE = 60.0  # seconds
MOST_FAILURES = 10_000
DEFAULT_PORTS = (80, 443)


def system_lookup(host: str) -> list[str]:
    """The addresses that the system knows for a name, in its order, each once."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except UnicodeError:  # a part of the name has over 63 characters
        raise socket.gaierror(socket.EAI_NONAME, "not a possible name") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Resolver(AbstractResolver):
    """Calls `lookup` in daemon threads. One that hangs stops neither the loop nor the end of the program."""

    def __init__(self, guard: Guard, clock: Clock, lookup: Lookup = system_lookup) -> None:
        self._guard, self._clock, self._lookup = guard, clock, lookup
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._failed: dict[str, tuple[float, OSError]] = {}  # host -> until when it counts, and the error

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self._guard.refuse_name(host)
        until, error = self._failed.get(host, (0.0, None))
        if error is not None and self._clock.now() < until:
            raise socket.gaierror(*error.args)
        try:
            async with self._slots:
                addresses = await _in_thread(self._lookup, host)
        except OSError as failure:
            self._remember(host, failure)
            raise
        return [_result(host, address, port) for address in addresses]

    def _remember(self, host: str, error: OSError) -> None:
        if len(self._failed) >= MOST_FAILURES:
            self._failed.clear()
        self._failed[host] = (self._clock.now() + KEEP_FAILURE, error.with_traceback(None))

    async def close(self) -> None:
        """There is nothing to close."""


async def _in_thread(lookup: Lookup, host: str) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Sequence[str]] = loop.create_future()

    def tell(setter: Callable[..., None], outcome: object) -> None:
        if not found.done():
            setter(outcome)

    def work() -> None:
        try:
            outcome: tuple[Callable[..., None], object] = (found.set_result, _some(lookup(host)))
        except Exception as error:
            outcome = (found.set_exception, error if isinstance(error, OSError) else OSError(str(error)))
        with suppress(RuntimeError):  # the loop was closed meanwhile, so nobody waits
            loop.call_soon_threadsafe(tell, *outcome)

    threading.Thread(target=work, name=f"dns {host}", daemon=True).start()
    return await found


def _some(addresses: Sequence[str]) -> Sequence[str]:
    if not addresses:
        raise socket.gaierror(socket.EAI_NONAME, "no address")
    return addresses


class MappedNames(AbstractResolver):
    """Names that are mapped by hand: `{"*.web.test": "127.0.0.1:8000"}`. Exact names go before patterns, longer ones
    before shorter ones.

    The port of a mapping replaces the default port of the scheme. A URL that names a port keeps it.
    """

    def __init__(self, mapping: Mapping[str, str]) -> None:
        ordered = sorted(mapping.items(), key=lambda pair: ("*" in pair[0], -len(pair[0])))
        self._places = tuple((_pattern(name), _place(name, address)) for name, address in ordered)
        self.place = lru_cache(maxsize=10_000)(self._place)

    def _place(self, host: str) -> tuple[str, int | None] | None:
        """Address and port for a host name without port. None if no pattern matches it."""
        return next((place for pattern, place in self._places if pattern.fullmatch(host)), None)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        place = self.place(host)
        if place is None:
            raise socket.gaierror(socket.EAI_NONAME, "not a mapped name")
        address, own = place
        return [_result(host, address, own if own and port in DEFAULT_PORTS else port)]

    async def close(self) -> None:
        """There is nothing to close."""


def _pattern(name: str) -> re.Pattern[str]:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return re.compile(translate(name.lower()))
    raise ForagerError(f"{name} is an address, and only names can be mapped; to crawl it, allow its network") from None


def _place(name: str, text: str) -> tuple[str, int | None]:
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:]+)\]|([0-9.]+))(?::([0-9]{1,5}))?", text)
    try:
        address = str(ip_address((found[1] or found[2]) if found else ""))
        port = int(found[3]) if found and found[3] else None
        if port is not None and not 0 < port < 65536:
            raise ValueError
    except ValueError:
        raise ForagerError(
            f'{name} is mapped to {text!r}; write an address with or without a port, like "127.0.0.1:8000"'
        ) from None
    return address, port


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
