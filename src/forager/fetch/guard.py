"""Which addresses may be connected to.

A page can name any address, and a name can lead to any address. But links must not reach into the network that the
crawler runs in.

The rule: an address is refused if it, or an IPv4 address embedded in it, is of special use, unless a network named in
`allow` contains it. `Guard.socket` checks the address to which a socket is about to be connected. So neither an address
in a URL, nor a name that resolves to another address the second time, gets past the check. Ports of other services than
the web are refused too, as browsers do: what a URL says could be a command to a mail or database server.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, TypeAlias

from forager.errors import ForagerError

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
AddrInfo: TypeAlias = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]

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
    IPv6Network("::ffff:0:0:0/96"): "IPv4 translated to IPv6",
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
EMBEDDING_IPV4 = tuple(  # in their last 32 bits
    map(IPv6Network, ("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/48"))
)
METADATA_NAMES = frozenset(
    (
        *("metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "instance-data"),
        *("instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.platformequinix.com"),
    )
)
# The "bad ports" of the Fetch standard, and two databases that take lines of text as commands.
OTHER_PORTS = frozenset(
    (
        *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104),
        *(109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526),
        *(530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659),
        *(4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
        *(6379, 11211),
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
            if use and not self._allows(each):
                inside = f", which holds {each}" if each != found else ""
                return f'{found}{inside} is {use}; to crawl it add "{_name(each)}" to the allowed networks'
        return ""

    def port_refusal(self, address: str, port: int) -> str:
        """The same for a port. Where a network is allowed, all its ports are."""
        if port not in OTHER_PORTS or self._allows(found := ip_address(address.partition("%")[0])):
            return ""
        return f'port {port} is not for web pages; to crawl it add "{_name(found)}" to the allowed networks'

    def _allows(self, address: Address) -> bool:
        return any(address in network for network in self._allowed)

    def refuse_name(self, host: str) -> None:
        """Raise ForbiddenError for the name of a metadata service. Called before the name is looked up."""
        if host.lower().rstrip(".") in METADATA_NAMES:
            raise ForbiddenError(f"{host} is a cloud's metadata service; to crawl it map the name to an address")

    def socket(self, info: AddrInfo) -> socket.socket:
        """The socket factory of a connector. It is called last before a connection, with the address it goes to."""
        family, kind, protocol, _, address = info
        refusal = self.refusal(str(address[0])) or self.port_refusal(str(address[0]), address[1])
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
