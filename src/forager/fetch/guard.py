"""From names to addresses, and which addresses may be connected to.

A page can name any address, and a name can resolve to any address. But links must not reach into the network that the
crawler runs in.

The rule: an address is refused if it, or an IPv4 address embedded in it, is of special use, unless a network named in
`allow` contains it. `Guard.socket` checks the address to which a socket is about to be connected. So neither an address
in a URL, nor a name that resolves to another address the second time, gets past the check.

Names are looked up in threads of their own, or mapped by hand. The connector keeps the addresses that were found. Here
only failures are kept for a while, because a dead host may have thousands of links, and each lookup can take many
seconds.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import translate
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, TypeAlias

from aiohttp.abc import AbstractResolver, ResolveResult

from forager.clock import Clock
from forager.errors import ForagerError

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
AddrInfo: TypeAlias = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]
Lookup: TypeAlias = Callable[[str], Sequence[str]]  # may block; OSError if there is no address

# Spelled out, because `ipaddress.is_global` has changed between patch releases of one Python version.
SPECIAL_V4 = {
    IPv4Network("0.0.0.0/8"): "this network",
    IPv4Network("10.0.0.0/8"): "private",
    IPv4Network("100.64.0.0/10"): "shared by a carrier",
    IPv4Network("127.0.0.0/8"): "loopback",
    IPv4Network("168.63.129.16/32"): "a cloud's metadata service",
    IPv4Network("169.254.0.0/16"): "link-local, where clouds have their metadata service",
    IPv4Network("172.16.0.0/12"): "private",
    IPv4Network("192.0.0.0/24"): "for protocols",
    IPv4Network("192.0.2.0/24"): "for documentation",
    IPv4Network("192.88.99.0/24"): "a 6to4 relay",
    IPv4Network("192.168.0.0/16"): "private",
    IPv4Network("198.18.0.0/15"): "for benchmarks",
    IPv4Network("198.51.100.0/24"): "for documentation",
    IPv4Network("203.0.113.0/24"): "for documentation",
    IPv4Network("224.0.0.0/4"): "multicast",
    IPv4Network("240.0.0.0/4"): "reserved",
}
GLOBAL_V6 = IPv6Network("2000::/3")  # all that has been given out; every other address is special
SPECIAL_V6 = {
    IPv6Network("::1/128"): "loopback",
    IPv6Network("::/128"): "unspecified",
    IPv6Network("::ffff:0:0/96"): "IPv4 in IPv6",
    IPv6Network("::/96"): "IPv4 in IPv6",
    IPv6Network("64:ff9b::/96"): "IPv4 through NAT64",
    IPv6Network("64:ff9b:1::/48"): "IPv4 through NAT64",
    IPv6Network("2001::/23"): "for protocols",
    IPv6Network("2001:db8::/32"): "for documentation",
    IPv6Network("2002::/16"): "6to4",
    IPv6Network("3fff::/20"): "for documentation",
    IPv6Network("fc00::/7"): "private",
    IPv6Network("fe80::/10"): "link-local",
    IPv6Network("ff00::/8"): "multicast",
}
EMBEDDING_IPV4 = (IPv6Network("::ffff:0:0/96"), IPv6Network("::/96"), IPv6Network("64:ff9b::/96"))
METADATA_NAMES = frozenset(
    (
        *("metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "instance-data"),
        *("instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.platformequinix.com"),
    )
)


class ForbiddenError(OSError):
    """An address is refused. An OSError, because a connector expects that of a socket."""

    def __init__(self, detail: str) -> None:
        super().__init__(errno.EACCES, detail)
        self.detail = detail


class Guard:
    """Refuses addresses of special use, but not those in `allow`, a list of networks like "127.0.0.0/8"."""

    def __init__(self, allow: Sequence[str] = ()) -> None:
        self._allowed = tuple(_network(text) for text in allow)

    def refusal(self, address: str) -> str:
        """Why an address may not be connected to, and what to do about it. "" if it may."""
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return f"{address!r} is no IP address"
        for each in (found, *_embedded(found)):
            use = special_use(each)
            if use and not any(each in network for network in self._allowed):
                inside = f", which holds {each}" if each != found else ""
                return f'{found}{inside} is {use}; to crawl it add "{_name(each)}" to the allowed networks'
        return ""

    def refuse_name(self, host: str) -> None:
        """Raise ForbiddenError for the name of a metadata service. Called before the name is looked up."""
        if host.lower().rstrip(".") in METADATA_NAMES:
            raise ForbiddenError(f"{host} is a cloud's metadata service; to crawl it map the name to an address")

    def socket(self, info: AddrInfo) -> socket.socket:
        """The socket factory of a connector. It is called last before a connection, with the address it goes to."""
        family, kind, protocol, _, address = info
        refusal = self.refusal(str(address[0]))
        if refusal:
            raise ForbiddenError(refusal)
        return socket.socket(family, kind, protocol)


def special_use(address: Address) -> str:
    """What an address is reserved for. "" if it belongs to the public network."""
    if isinstance(address, IPv4Address):
        return next((use for network, use in SPECIAL_V4.items() if address in network), "")
    use = next((use for network, use in SPECIAL_V6.items() if address in network), "")
    return use or ("" if address in GLOBAL_V6 else "reserved")


def _embedded(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that packets to this IPv6 address may reach."""
    if isinstance(address, IPv4Address):
        return
    if any(address in network for network in EMBEDDING_IPV4) and int(address) > 1:
        yield IPv4Address(int(address) & 0xFFFFFFFF)
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo


def _network(text: str) -> Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise ForagerError(f'{text!r} in allow is no network; write it like "127.0.0.0/8" or "fd00::/8"') from None


def _name(address: Address) -> str:
    return f"{address}/{address.max_prefixlen}"


# ---- from names to addresses

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
