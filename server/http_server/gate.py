"""Which hosts and origins are answered: a page of another site must not reach the server through somebody's browser.

A page that points its own name at this server (DNS rebinding) sends that name as `Host`; what other pages send carries
their `Origin`. Clients that are no browsers send none.
"""

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass

from mcp.types import INTERNAL_ERROR
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.access.hosts import LOOPBACK, find_host_name, parse_address
from server.web.connections import PROTECTIVE_HEADERS, add_headers

MCP_PATH = "/mcp"

FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")

HEADERS = PROTECTIVE_HEADERS | {"referrer-policy": "same-origin"}
"""Of every response that does not say otherwise."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens. `host`: a name or a numeric address."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine can connect."""
        address = self.find_address()
        return address.is_loopback if address else self.host == "localhost"

    @property
    def netloc(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def find_address(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        return parse_address(self.host)


class Gate:
    """Lets requests for known hosts, from no or known origins, in to `app`; `open_paths` for any.

    `hosts`: names, each with its port or for all ports. Without any: the name of the place; for a loopback address the
    names of this machine, and for all addresses of a machine every numeric one, under which no page can hide.
    `origins`: other than the host's own, as browsers send them.
    """

    def __init__(
        self,
        app: ASGIApp,
        place: Place,
        *,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
        open_paths: Collection[str] = (),
    ) -> None:
        self.app, self.open_paths = app, open_paths
        address = place.find_address()
        is_anywhere = address is not None and address.is_unspecified
        self.hosts = {host.lower() for host in hosts or ((*LOOPBACK,) if is_anywhere else (place.host,))}
        if not hosts and place.is_loopback:
            self.hosts |= {*LOOPBACK}
        self.takes_numbers = is_anywhere and not hosts
        self.origins = {origin.lower().rstrip("/") for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                add_headers(message, HEADERS)
            await send(message)

        refusal = None if scope["path"] in self.open_paths else self.find_refusal(scope)
        await (refusal or self.app)(scope, receive, send_guarded)

    def find_refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self.is_own_host(hosts[0].lower()):
            text = "This server does not answer for that host. COUNTERPOINT_HTTP_HOSTS names those it does."
            return refuse(421, text, scope)
        if len(origins) > 1 or not all(
            self.is_known_origin(each.lower(), hosts[0].lower()) for each in origins
        ):
            text = "Pages of that origin may not use this server. COUNTERPOINT_HTTP_ORIGINS names others."
            return refuse(403, text, scope)
        return None

    def is_own_host(self, host: str) -> bool:
        name = find_host_name(host)
        return bool(name) and (
            name in self.hosts
            or host in self.hosts
            or (self.takes_numbers and parse_address(name) is not None)
        )

    def is_known_origin(self, origin: str, host: str) -> bool:
        """Behind a proxy that ends TLS the scheme is not known here."""
        return origin in self.origins or origin in (f"http://{host}", f"https://{host}")


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy says that it passed a request on: behind one, everybody comes from this machine."""
    return any(name in headers for name in FORWARDED)


def refuse(status: int, text: str, scope: Scope | None = None) -> JSONResponse:
    """`scope`: of a request that may be one of MCP, whose clients show no text but that of an error of JSON-RPC."""
    if scope is None or scope["path"] != MCP_PATH:
        return JSONResponse({"error": text}, status)
    error = {"code": INTERNAL_ERROR, "message": text}  # the code that clients make of a status themselves
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status)
