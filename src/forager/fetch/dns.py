"""From names to addresses: looked up in threads of their own, or mapped by hand.

What was found is kept for a while, so that who asks for the address of a host first and connects to it later causes one
lookup. Failures are kept too, because a dead host may have thousands of links, and each lookup can take many seconds.
But they are kept shortly if it may be our own network that is down.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fnmatch import translate
from functools import lru_cache, partial
from ipaddress import ip_address
from typing import NamedTuple, TypeAlias

from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from forager.clock import Clock
from forager.errors import ForagerError
from forager.fetch.guard import OTHER_PORTS, ForbiddenError, Guard

Lookup: TypeAlias = Callable[[str], Sequence[str]]  # may block; OSError if there is no address

AT_ONCE = 128  # lookups; the loop's own pool has 6 threads on 2 cores: a few dead hosts would stop all others
KEEP_FAILURE = 60.0  # seconds
KEEP_DOUBTFUL = 5.0  # seconds, of a failure that is perhaps our own
SEVERAL = 3  # names that fail one after the other: no name server is reached, although it looks as if none existed
MOST = 100_000  # names that are kept
DEFAULT_PORTS = (80, 443)
LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa", ".lan")


def system_lookup(host: str) -> list[str]:
    """The addresses that the system knows for a name, in its order, each once."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except UnicodeError:  # a part of the name has over 63 characters
        raise socket.gaierror(socket.EAI_NONAME, "not a possible name") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_address(host: str) -> bool:
    """Whether the host of a canonical URL is an address: a name never ends with a number."""
    return ":" in host or host.rpartition(".")[2].isdigit()


class FoundAddresses(NamedTuple):
    """The addresses of a name."""

    allowed: tuple[str, ...]
    refusal: str  # why the guard refuses the first of the others; "" if there are none


class Resolver(AbstractResolver):
    """Calls `lookup` in daemon threads. One that hangs stops neither the loop nor the end of the program."""

    def __init__(self, guard: Guard, clock: Clock, lookup: Lookup = system_lookup, keep: float = 600.0) -> None:
        self._guard, self._clock, self._lookup, self._keep = guard, clock, lookup, keep
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._found: dict[str, tuple[float, FoundAddresses]] = {}  # host -> until when it counts
        self._failed: dict[str, tuple[float, socket.gaierror]] = {}  # host -> since when
        self._failing: set[str] = set()  # since a name was found
        self._asking: dict[str, asyncio.Task[FoundAddresses]] = {}

    async def find(self, host: str) -> FoundAddresses:
        """The addresses of a name, which may be kept ones. Several callers at the same time cause one lookup."""
        self._guard.refuse_name(host)
        until, found = self._found.get(host, (0.0, None))
        if found is not None and self._clock.now() < until:
            return found
        self._raise_kept(host)
        task = self._asking.get(host)
        if task is None:
            task = self._asking[host] = asyncio.ensure_future(self._ask(host))
            task.add_done_callback(partial(self._asked, host))
        return await asyncio.shield(task)

    async def first(self, host: str) -> str:
        """The address of a name, or of an address, that is connected to first. ForbiddenError if none may be."""
        found = await self._look(host)
        if not found.allowed:
            raise ForbiddenError(found.refusal)
        return found.allowed[0]

    async def _look(self, host: str) -> FoundAddresses:
        if not is_address(host):
            return await self.find(host)
        refusal = self._guard.refusal(host)
        return FoundAddresses(() if refusal else (host,), refusal)

    def forget(self, host: str) -> None:
        """Look the name up again next time: nobody was reached where it led."""
        self._found.pop(host, None)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self.find(host)
        if not found.allowed:
            raise ForbiddenError(found.refusal)
        return [_result(host, address, port) for address in found.allowed]

    async def refuse(self, host: str, port: int) -> None:
        """Raise ForbiddenError if a proxy must not be asked for this host.

        A proxy looks the name up once more, and may see another network than we do. So one address that is refused is
        enough here, and a name that is unknown here must look like one of the public network.
        """
        try:
            found = await self._look(host)
        except socket.gaierror:
            if "." not in host or host.endswith(LOCAL_ENDINGS) or port in OTHER_PORTS:
                raise ForbiddenError(f"{host}:{port} is unknown here, and may be in a network of ours") from None
            return
        refusal = found.refusal or self._guard.port_refusal(found.allowed[0], port)
        if refusal:
            raise ForbiddenError(refusal)

    async def close(self) -> None:
        """Wait for no lookup any more."""
        for task in list(self._asking.values()):
            task.cancel()

    async def _ask(self, host: str) -> FoundAddresses:
        try:
            async with self._slots:
                addresses = await _in_thread(self._lookup, host)
        except socket.gaierror as error:
            self._keep_failure(host, error)
            raise
        refusals = [self._guard.refusal(address) for address in addresses]
        allowed = tuple(address for address, refusal in zip(addresses, refusals, strict=True) if not refusal)
        found = FoundAddresses(allowed, next(filter(None, refusals), ""))
        self._end_doubt()
        if len(self._found) >= MOST:
            self._found.clear()
        self._found[host] = (self._clock.now() + self._keep, found)
        return found

    def _asked(self, host: str, task: asyncio.Task[FoundAddresses]) -> None:
        self._asking.pop(host, None)
        if not task.cancelled():
            task.exception()  # nobody may be left to take it

    def _raise_kept(self, host: str) -> None:
        since, error = self._failed.get(host, (0.0, None))
        if error is None:
            return
        in_doubt = error.errno == socket.EAI_AGAIN or (host in self._failing and len(self._failing) >= SEVERAL)
        if self._clock.now() - since < (KEEP_DOUBTFUL if in_doubt else KEEP_FAILURE):
            raise socket.gaierror(*error.args)

    def _keep_failure(self, host: str, error: socket.gaierror) -> None:
        if len(self._failed) >= MOST:
            self._failed.clear()
            self._failing.clear()
        self._failed[host] = (self._clock.now(), error.with_traceback(None))
        self._failing.add(host)

    def _end_doubt(self) -> None:
        """A name was found. If several failed before it, they may have failed because of us: they are asked again."""
        if len(self._failing) >= SEVERAL:
            for host in self._failing:
                self._failed.pop(host, None)
        self._failing.clear()


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

    try:
        threading.Thread(target=work, name=f"dns {host}", daemon=True).start()
    except RuntimeError as error:  # the system has no more threads
        raise OSError(errno.ENOMEM, str(error)) from None
    return await found


def _some(addresses: Sequence[str]) -> Sequence[str]:
    if not addresses:
        raise socket.gaierror(socket.EAI_NONAME, "no address")
    return addresses


class MappedPlace(NamedTuple):
    """Where requests for a name go."""

    address: str
    port: int | None  # None: that of the URL
    plain: bool = False  # they go there in plain HTTP, whatever the URL says


class MappedNames(AbstractResolver):
    """Names that are mapped by hand: `{"*.web.test": "127.0.0.1:8000"}`. Exact names go before patterns, longer ones
    before shorter ones. A URL whose host is an address is never mapped.

    The port of a mapping replaces the default port of the scheme. A URL that names a port keeps it. If the mapping is
    a server of plain HTTP, `"http://127.0.0.1:8000"`, all URLs of the name go there, also those with https or a port.
    """

    def __init__(self, mapping: Mapping[str, str]) -> None:
        ordered = sorted(mapping.items(), key=lambda pair: ("*" in pair[0], -len(pair[0])))
        self._places = tuple((_pattern(name), _place(name, address)) for name, address in ordered)
        self.place = lru_cache(maxsize=10_000)(self._place)

    def _place(self, host: str) -> MappedPlace | None:
        """Where a host name without port leads. None if no pattern matches it."""
        if is_address(host):  # a connection to it would ask nobody, neither us nor the guard
            return None
        return next((place for pattern, place in self._places if pattern.fullmatch(host)), None)

    def as_sent(self, where: URL) -> tuple[URL, dict[str, str]]:
        """The URL that is asked for instead, and headers that tell the server what was wanted."""
        place = self.place(where.raw_host or "")
        if place is None or not place.plain:
            return where, {}
        return where.with_scheme("http"), {"X-Forwarded-Proto": where.scheme}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        place = self.place(host)
        if place is None:
            raise socket.gaierror(socket.EAI_NONAME, "not a mapped name")
        own = place.port if place.plain or port in DEFAULT_PORTS else None
        return [_result(host, place.address, own or port)]

    async def close(self) -> None:
        """There is nothing to close."""


def _pattern(name: str) -> re.Pattern[str]:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return re.compile(translate(name.lower()))
    raise ForagerError(f"{name} is an address, and only names can be mapped; to crawl it, allow its network") from None


def _place(name: str, text: str) -> MappedPlace:
    found = re.fullmatch(r"(http://)?(?:\[([0-9a-fA-F:]+)\]|([0-9.]+))(?::([0-9]{1,5}))?/?", text)
    try:
        address = str(ip_address((found[2] or found[3]) if found else ""))
        port = int(found[4]) if found and found[4] else None
        if port is not None and not 0 < port < 65536:
            raise ValueError
    except ValueError:
        raise ForagerError(
            f'{name} is mapped to {text!r}; write an address with or without a port, like "127.0.0.1:8000"'
        ) from None
    plain = found is not None and found[1] is not None
    return MappedPlace(address, port or (80 if plain else None), plain)


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
