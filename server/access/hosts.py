"""Names of hosts, as requests and settings have them, and which of them are this machine."""

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def find_host_name(host: str) -> str:
    """The name in a `Host` header, without its port; "" for what is none."""
    try:
        parts = urlsplit(f"//{host}")
        has_more = parts.path or parts.query or parts.fragment or "@" in parts.netloc
        name = "" if has_more or parts.port == 0 else parts.hostname  # `port` raises, too
    except ValueError:
        return ""
    return name or ""


def is_this_machine(host: str) -> bool:
    """Whether a host, with or without a port, is nobody else's way to this machine."""
    name = find_host_name(host) or host.strip("[]").lower()
    address = parse_address(name)
    return address.is_loopback if address else name == "localhost" or name.endswith(".localhost")


def find_public_host(hosts: Iterable[str]) -> str:
    """The first that is not this machine's own; "" for none."""
    return next((host for host in hosts if not is_this_machine(host)), "")
