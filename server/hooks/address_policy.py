"""Resolves hosts and decides which addresses webhooks may use."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from server.background_tasks import start_thread

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host and port. Raises OSError if there are none, UnicodeError for what is no name of a host."""

NAT64_PREFIX = ip_network("64:ff9b::/96")
"""RFC 6052: IPv4 addresses in IPv6-only networks."""

NEVER_PUBLIC = tuple(
    map(
        ip_network,
        (
            "168.63.129.16/32",  # Azure's metadata service, at an address that looks public
            "192.0.0.0/24",  # protocol assignments; Oracle's metadata service
            "192.88.99.0/24",  # relays of 6to4
            "::/96",  # IPv4-compatible
            "::ffff:0:0:0/96",  # IPv4-translated
            "64:ff9b:1::/48",  # NAT64 of one's own network, with an IPv4 address anywhere inside
            "3fff::/20",  # documentation
            "5f00::/16",  # segment routing
            "fec0::/10",  # site-local
        ),
    )
)
"""What Python's tables take for global, in one release or another, and no webhook has a reason to use."""

METADATA_HOSTS = frozenset(
    {"metadata", "metadata.goog", "metadata.google.internal", "metadata.azure.internal", "instance-data"}
)
"""Names of metadata services, whatever they resolve to."""


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order of preference. Raises OSError if it is unknown, UnicodeError if no name.

    Uses a daemon thread, so that a name server that does not answer cannot delay the end of the process.
    """
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    rows = await asyncio.wrap_future(start_thread(look_up, f"resolve {host}"))
    return list(dict.fromkeys(str(address[0]) for *_, address in rows))


def parse_address(host: str) -> IPv4Address | IPv6Address | None:
    """An IP address, without its zone (`%eth0`); None for a name."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None


def is_public(host: str) -> bool:
    """Whether a host is an address that, with every IPv4 address inside it, is public and unicast."""
    addresses = [parse_address(host)]
    if isinstance(address := addresses[0], IPv6Address):  # mapped, 6to4, NAT64; Teredo is never global
        nat64 = IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64_PREFIX else None
        addresses += filter(None, (address.ipv4_mapped, address.sixtofour, nat64))
    return all(
        each is not None
        and each.is_global
        and not each.is_multicast
        and not any(each in network for network in NEVER_PUBLIC if network.version == each.version)
        for each in addresses
    )


def is_metadata_host(host: str) -> bool:
    name = host.lower().rstrip(".")
    return name in METADATA_HOSTS or name.endswith(".metadata.google.internal")
