"""Webhook requests: body, signature (Standard Webhooks), connection to a checked address, result.

The connection goes to the address that was checked, with the host's name in `Host` and in the TLS handshake
(httpx's `sni_hostname`), so that DNS cannot change between check and connection. No proxy, no redirects.
"""

import base64
import hashlib
import hmac
import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import anyio
import anyio.to_thread
import httpx2

from server.debate.answer.lines import format_lines
from server.debate.facts.events import Recorded
from server.debate.machine.decide import status
from server.debate.state.debate import Debate
from server.debate.views.events import build_event_row
from server.debate.views.names import name_event
from server.debate.views.verdict import build_report
from server.debate.views.warnings import failure_lines
from server.hooks.address_policy import Resolver, is_public
from server.hooks.config import AllowedHosts, Webhook, decode_secret
from server.http import parse_retry_after
from server.settings import package_version
from storage.outbox import OutboxItem

MAX_BODY_BYTES = 512 * 1024
MAX_RETRY_AFTER = 3600.0  # seconds
MAX_FAILURE_LINES = 100

SHORT_EVENT_FIELDS = ("seq", "at", "actor", "hash", "names", "kind", "seat", "phase", "round")
"""Fields of an event whose full form would exceed `MAX_BODY_BYTES`."""


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    error: str = ""  # the cause; "" for success
    is_retryable: bool = False
    retry_after: float = 0.0  # seconds


def build_body(item: OutboxItem, debate: Debate, entry: Recorded) -> bytes:
    """The JSON to post: the event as people read it, shortened if it is very long, and its debate."""
    content: dict[str, Any] = {
        "id": item.id,
        "hook": item.reader,
        "event": build_event_row(
            debate, replace(entry, event=name_event(debate, entry.event)), name=item.event
        ),
        "debate": {
            "id": item.stream,
            "question": debate.setup.question,
            "format": debate.setup.format,
            "status": status(debate),
            "tags": list(debate.tags),
            "failures": failure_lines(debate)[:MAX_FAILURE_LINES],
            **build_answer_fields(debate, item.stream),
        },
    }
    body = json.dumps(content, ensure_ascii=False).encode()
    if len(body) <= MAX_BODY_BYTES:
        return body
    event = {name: value for name, value in content["event"].items() if name in SHORT_EVENT_FIELDS}
    return json.dumps({**content, "event": {**event, "cut": True}}, ensure_ascii=False).encode()


def build_answer_fields(debate: Debate, debate_id: str) -> dict[str, Any]:
    """The lines that every client shows of an answer, as fields and as a text to be sent on; {} without an answer."""
    answer = build_report(debate).answer
    if not answer.head:
        return {}
    return {"answer": answer.model_dump(exclude_defaults=True), "text": format_lines(answer, debate_id)}


def build_headers(delivery_id: str, timestamp: int, body: bytes, secret: str) -> dict[str, str]:
    """Headers with the signature of the Standard Webhooks specification (standardwebhooks.com), version v1.

    timestamp: Unix time in whole seconds. secret: as `decode_secret`.
    """
    message = f"{delivery_id}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.digest(decode_secret(secret), message, hashlib.sha256)).decode()
    return {
        "Content-Type": "application/json",
        "User-Agent": f"counterpoint/{package_version()}",
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
    }


load_certificates = cache(httpx2.create_ssl_context)  # takes long


async def post(
    webhook: Webhook, body: bytes, headers: Mapping[str, str], allow: AllowedHosts, resolver: Resolver
) -> DeliveryResult:
    """One attempt, limited by the webhook's timeout. Network errors become results."""
    host = webhook.host
    try:
        with anyio.fail_after(webhook.timeout):
            try:
                addresses = await resolver(host, webhook.port)
            except (OSError, UnicodeError) as error:
                reason = error.strerror or error if isinstance(error, OSError) else "it is not a host name"
                return DeliveryResult(f"{host} cannot be found ({reason})", is_retryable=True)
            may_be_private = allow.find_access(host, webhook.port) == "private"
            if not addresses or not (may_be_private or all(map(is_public, addresses))):
                return DeliveryResult(f"{host} has a private address and is not under allow.private")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without certificates, for http
            if webhook.url.startswith("https:"):
                context = await anyio.to_thread.run_sync(load_certificates)
            timeout = httpx2.Timeout(webhook.timeout, connect=webhook.timeout / len(addresses))
            async with httpx2.AsyncClient(verify=context, trust_env=False, timeout=timeout) as client:
                for address in addresses[:-1]:  # `localhost` often listens on one of two
                    with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                        return await send(client, webhook, address, body, headers)
                return await send(client, webhook, addresses[-1], body, headers)
    except TimeoutError:
        return DeliveryResult(f"there was no answer within {webhook.timeout:g} s", is_retryable=True)
    except (httpx2.HTTPError, OSError) as error:
        return DeliveryResult(f"{host} cannot be reached ({type(error).__name__})", is_retryable=True)


async def send(
    client: httpx2.AsyncClient, webhook: Webhook, address: str, body: bytes, headers: Mapping[str, str]
) -> DeliveryResult:
    """2xx is success; 429 and 5xx are retryable; the rest, redirects included, is final."""
    url = httpx2.URL(webhook.url)
    request = client.stream(
        "POST",
        url.copy_with(host=address),
        content=body,
        headers={**headers, "Host": url.netloc.decode("ascii"), "Accept-Encoding": "identity"},
        extensions={"sni_hostname": webhook.host},
    )
    async with request as response:  # its body is not read
        code = response.status_code
        if response.is_success:
            return DeliveryResult()
        is_retryable = response.is_server_error or code == httpx2.codes.TOO_MANY_REQUESTS
        delay = parse_retry_after(response.headers.get("retry-after", "")) or 0.0
        return DeliveryResult(f"it answered with HTTP {code}", is_retryable, min(delay, MAX_RETRY_AFTER))
