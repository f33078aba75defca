"""One request to a webhook: signed, to an address that was checked, and what its answer means.

The request goes to the address itself, with the host's name in `Host` and in the TLS handshake (its
certificate has to be for that name): between the check and the connection nobody can point the name at
another address. That is httpx's own `sni_hostname`; no proxy, no redirect, no connection kept for later.
"""

import hashlib
import hmac
import json
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
import httpx2

from server.debate.facts.events import Recorded
from server.debate.facts.state import Debate
from server.debate.rules.decide import status
from server.debate.views.audit import event_row
from server.hooks.address_policy import Resolver, is_public
from server.hooks.config import AllowedHosts, Webhook
from server.http import parse_retry_after

MAX_BODY_BYTES = 512 * 1024
"""Bytes. A debate's documents can be longer, and who wants them can ask for them."""

MAX_RETRY_AFTER = 3600.0
"""Seconds that a server may ask us to wait."""

HTTP_OK, HTTP_REDIRECT, HTTP_CLIENT_ERROR, HTTP_SERVER_ERROR = 200, 300, 400, 500
HTTP_TOO_MANY_REQUESTS = 429


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    error: str = ""  # why; "" when it worked
    is_retryable: bool = False  # it may work later
    retry_after: float = 0.0  # the seconds it was asked to wait


def build_body(delivery_id: str, hook_name: str, debate_id: str, debate: Debate, entry: Recorded) -> bytes:
    """What is sent of an event: the whole of it, unless that is very long."""
    told: dict[str, Any] = {
        "id": delivery_id,
        "hook": hook_name,
        "event": event_row(entry),
        "debate": {
            "id": debate_id,
            "question": debate.setup.question,
            "format": debate.setup.format,
            "status": status(debate),
            "tags": list(debate.setup.tags),
        },
    }
    made = json.dumps(told, ensure_ascii=False).encode()
    if len(made) <= MAX_BODY_BYTES:
        return made
    kept = ("seq", "at", "actor", "hash", "names", "kind", "seat", "round")
    told["event"] = {name: value for name, value in told["event"].items() if name in kept} | {"cut": True}
    return json.dumps(told, ensure_ascii=False).encode()


def compute_signature(secret: str, timestamp: int, content: bytes) -> str:
    """HMAC-SHA256 over the time, a full stop and the body."""
    made = hmac.new(secret.encode(), f"{timestamp}.".encode() + content, hashlib.sha256)
    return f"t={timestamp},v1={made.hexdigest()}"


class WebhookSender:
    """Posts to webhooks. One a process, for the sake of the certificates, which take long to read."""

    def __init__(self, allow: AllowedHosts, resolver: Resolver) -> None:
        self.allow = allow
        self.resolver = resolver
        self.ssl_context: ssl.SSLContext | None = None

    async def post(self, webhook: Webhook, content: bytes, headers: Mapping[str, str]) -> DeliveryResult:
        """One attempt, which takes no longer than the webhook's timeout. Raises nothing that it can name."""
        try:
            with anyio.fail_after(webhook.timeout):
                addresses = await self.resolver(webhook.host, webhook.port)
                private = self.allow.is_private(webhook.host, webhook.port)
                if not addresses or not (private or all(map(is_public, addresses))):
                    return DeliveryResult(
                        f"{webhook.host} has an address that is private, and is not allowed to"
                    )
                return await self.try_addresses(webhook, addresses, content, headers)
        except TimeoutError:
            return DeliveryResult(f"there was no answer within {webhook.timeout:g} s", is_retryable=True)
        except OSError as error:
            return DeliveryResult(
                f"{webhook.host} cannot be found ({error.strerror or error})", is_retryable=True
            )
        except httpx2.HTTPError as error:
            return DeliveryResult(
                f"{webhook.host} cannot be reached ({type(error).__name__})", is_retryable=True
            )

    async def try_addresses(
        self, webhook: Webhook, addresses: Sequence[str], content: bytes, headers: Mapping[str, str]
    ) -> DeliveryResult:
        """The first of the addresses that lets us in: `localhost` has two, and often one server."""
        # Of plain http nothing is read: that context trusts nobody.
        trusted = (
            await self.load_ssl_context() if webhook.url.startswith("https:") else build_empty_ssl_context()
        )
        patience = httpx2.Timeout(webhook.timeout, connect=webhook.timeout / len(addresses))
        client = httpx2.AsyncClient(verify=trusted, trust_env=False, follow_redirects=False, timeout=patience)
        async with client:
            for address in addresses[:-1]:
                with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                    return await send(client, webhook, address, content, headers)
            return await send(client, webhook, addresses[-1], content, headers)

    async def load_ssl_context(self) -> ssl.SSLContext:
        if self.ssl_context is None:
            self.ssl_context = await anyio.to_thread.run_sync(httpx2.create_ssl_context)
        return self.ssl_context


def build_empty_ssl_context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def send(
    client: httpx2.AsyncClient, webhook: Webhook, address: str, content: bytes, headers: Mapping[str, str]
) -> DeliveryResult:
    url = httpx2.URL(webhook.url)
    sending = client.stream(
        "POST",
        url.copy_with(host=address),
        content=content,
        headers={**headers, "Host": url.netloc.decode("ascii"), "Accept-Encoding": "identity"},
        extensions={"sni_hostname": webhook.host},
    )
    async with sending as response:  # nobody reads its body
        return classify_status(response.status_code, response.headers.get("retry-after", ""))


def classify_status(status_code: int, retry_after: str) -> DeliveryResult:
    """What the status of an answer says. A redirect is a refusal: it could lead anywhere."""
    if HTTP_OK <= status_code < HTTP_REDIRECT:
        return DeliveryResult()
    again = status_code >= HTTP_SERVER_ERROR or status_code == HTTP_TOO_MANY_REQUESTS
    wait = min(parse_retry_after(retry_after) or 0.0, MAX_RETRY_AFTER) if again else 0.0
    return DeliveryResult(f"it answered with HTTP {status_code}", is_retryable=again, retry_after=wait)
