"""Resolves hosts and decides which addresses webhooks may use."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host and port. Raises OSError if there are none."""

NAT64_PREFIX = ip_network("64:ff9b::/96")
"""RFC 6052: IPv4 addresses in IPv6-only networks."""


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order of preference.

    Uses a daemon thread, so that a name server that does not answer cannot delay the end of the process.

    Raises:
        OSError: the host is unknown or not a valid name.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[list[str]] = loop.create_future()

    def set_result(addresses: list[str], error: OSError | None) -> None:
        if done.done():
            return
        if error:
            done.set_exception(error)
        else:
            done.set_result(addresses)

    def look_up() -> None:
        found: list[str] = []
        error: OSError | None = None
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found = list(dict.fromkeys(str(address[0]) for *_, address in rows))
        except OSError as failed:
            error = failed
        except UnicodeError:
            error = OSError("it is not a host name")
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(set_result, found, error)

    threading.Thread(target=look_up, name=f"resolve {host}", daemon=True).start()
    return await done


def is_address(host: str) -> bool:
    """Whether a host is an IP address."""
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def is_public(address: str) -> bool:
    """Whether an address, and every IPv4 address inside it, is a public unicast address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(one.is_global and not one.is_multicast for one in (parsed, *embedded_ipv4_addresses(parsed)))


def embedded_ipv4_addresses(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses inside an IPv6 address: mapped, 6to4, NAT64. Teredo is never global."""
    if isinstance(address, IPv4Address):
        return []
    inner = [address.ipv4_mapped, address.sixtofour]
    if address in NAT64_PREFIX:
        inner.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [one for one in inner if one is not None]
