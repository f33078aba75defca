"""Tokens of an issuer over HTTP: from its key server to the owner of a debate, and back to where tokens come from."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.http_servers import send, serve_http
from tests.support.key_server import AUDIENCE, open_issuer
from tests.support.mcp_debates import run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]

METADATA = "/.well-known/oauth-protected-resource"


async def test_who_has_a_token_of_the_issuer_holds_debates_of_their_own(tmp_path: Path) -> None:
    async with open_issuer() as issuer:
        options: dict[str, Any] = {"oidc_issuer": issuer.address, "oidc_audience": AUDIENCE}
        async with (
            serve_http(str(tmp_path / "a.db"), **options) as running,
            running.connect(token=issuer.sign()) as client,
        ):
            assert (await run_debate(client))["status"] == "concluded"
            assert len(await running.manager.of("alice").store.find(limit=5)) == 1
            assert not await running.manager.of("bob").store.find(limit=5)
            reader = {"authorization": f"Bearer {issuer.sign(scope='read')}"}
            start = {"name": "start_debate", "arguments": {"question": "?"}}
            assert (await send(running.address, headers=reader)).status_code == 200
            assert (await send(running.address, "tools/call", reader, **start)).status_code == 403
            nothing = {"authorization": f"Bearer {issuer.sign(scope='openid')}"}
            assert (await send(running.address, headers=nothing)).status_code == 403


async def test_a_refusal_names_where_tokens_come_from(tmp_path: Path) -> None:
    async with open_issuer() as issuer:
        options: dict[str, Any] = {"oidc_issuer": issuer.address, "oidc_audience": "debates"}
        async with serve_http(str(tmp_path / "a.db"), **options) as running, httpx2.AsyncClient() as web:
            refused = await send(running.address)
            bad = await send(running.address, headers={"authorization": f"Bearer {issuer.sign()}"})
            [address] = [part.strip('"') for part in refused.headers["www-authenticate"].split("=")[1:]]
            found = (await web.get(address)).json()
            root = (await web.get(running.root + METADATA)).json()
            proxied = (await web.get(address, headers={"x-forwarded-proto": "https"})).json()

    assert (refused.status_code, bad.status_code) == (401, 401)
    assert address == f"{running.root}{METADATA}/mcp"
    assert 'error="invalid_token"' in bad.headers["www-authenticate"]
    assert found == root
    assert found["resource"] == running.address
    assert found["authorization_servers"] == [issuer.address]
    assert found["scopes_supported"] == ["read", "debate", "admin"]
    assert proxied["resource"] == running.address.replace("http://", "https://")


async def test_an_audience_that_is_an_address_is_the_resource(tmp_path: Path) -> None:
    async with open_issuer() as issuer:
        options: dict[str, Any] = {"oidc_issuer": issuer.address, "oidc_audience": AUDIENCE}
        async with serve_http(str(tmp_path / "a.db"), **options) as running:
            told = (await send(running.address)).headers["www-authenticate"]

    assert told == f'Bearer resource_metadata="https://debates.example{METADATA}/mcp"'


async def test_an_issuer_that_cannot_be_asked_is_no_reason_to_say_that_a_token_is_bad(tmp_path: Path) -> None:
    async with open_issuer() as issuer:
        issuer.is_down = True
        options: dict[str, Any] = {"oidc_issuer": issuer.address, "oidc_audience": AUDIENCE}
        async with serve_http(str(tmp_path / "a.db"), **options) as running:
            headers = {"authorization": f"Bearer {issuer.sign()}"}
            assert (await send(running.address, headers=headers)).status_code == 503


async def test_without_an_issuer_there_is_no_metadata(tmp_path: Path) -> None:
    async with serve_http(str(tmp_path / "a.db")) as running, httpx2.AsyncClient() as web:
        assert (await web.get(f"{running.root}{METADATA}/mcp")).status_code == 404
