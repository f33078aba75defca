"""Who is let in over HTTP, and how far: tokens, their scopes, and none."""

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import MCPError
from starlette.applications import Starlette

from server.access.tokens import make_token
from server.debate.facts.errors import InvalidRequestError
from server.http_server.authentication import Accounts, Authentication
from server.http_server.gate import Place
from server.settings import Settings
from tests.contract.journal_helpers import keep_busy, open_postgres_storage
from tests.support.cutting_proxy import open_proxy
from tests.support.http_servers import ACCEPT, HttpProcess, Running, build_request, send, serve_http

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]

START: dict[str, Any] = {
    "name": "start_debate",
    "arguments": {"question": "Ship it?", "options": {"framing": False}},
}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with serve_http(str(tmp_path / "a.db")) as started:
        yield started


async def add_token(running: Running, owner: str = "alice", *scopes: str, days: int | None = None) -> str:
    made, stored = make_token(owner, scopes or ("debate",), days)
    await running.manager.store.storage.tokens.add(stored)
    return made


async def ask(running: Running, token: str, method: str = "tools/list", **params: Any) -> httpx2.Response:
    headers = {"authorization": f"Bearer {token}"}
    return await send(running.address, method, headers=headers, **params)


async def test_this_machine_is_served_without_a_token_until_there_is_one(running: Running) -> None:
    assert (await send(running.address)).status_code == 200
    token = await add_token(running)
    refused = await send(running.address)

    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert (await ask(running, token)).status_code == 200


async def test_a_revoked_token_is_refused_at_once_and_opens_nothing(running: Running) -> None:
    token = await add_token(running)
    assert (await ask(running, token)).status_code == 200
    [stored] = await running.manager.store.storage.tokens.read()
    await running.manager.store.storage.tokens.revoke(stored.digest, "2026-01-01")

    assert (await ask(running, token)).status_code == 401
    assert (await send(running.address)).status_code == 401


async def test_a_header_without_a_good_token_is_refused_also_where_none_is_needed(running: Running) -> None:
    for given in ("Bearer x", "Bearer", "Basic eA==", "cpt_x", "Bearer cpt_x", f"Bearer {'x' * 20_000}"):
        refused = await send(running.address, headers={"authorization": given})

        assert refused.status_code == 401, given
        assert refused.headers["www-authenticate"].startswith("Bearer")


async def test_a_token_in_an_address_or_a_second_header_is_none(running: Running) -> None:
    token = await add_token(running)
    headers, body = build_request()
    twice = [*headers.items(), ("authorization", f"Bearer {token}"), ("authorization", f"Bearer {token}")]
    async with httpx2.AsyncClient() as client:
        address = f"{running.address}?access_token={token}"
        assert (await client.post(address, json=body, headers=headers)).status_code == 401
        assert (await client.post(running.address, json=body, headers=twice)).status_code == 401


@pytest.mark.parametrize(
    ("scopes", "method", "params", "status"),
    [
        (["read"], "tools/list", {}, 200),
        (["read"], "tools/call", {"name": "find_debates", "arguments": {}}, 200),
        (["read"], "tools/call", START, 403),
        (["debate"], "tools/call", START, 200),
        (["admin"], "tools/list", {}, 403),
        (["admin", "read"], "tools/list", {}, 200),
    ],
)
async def test_a_scope_that_is_missing_is_named(
    running: Running, scopes: list[str], method: str, params: dict[str, Any], status: int
) -> None:
    token = await add_token(running, "alice", *scopes)
    answer = await ask(running, token, method, **params)

    assert answer.status_code == status
    if status == 403:
        needed = "debate" if method == "tools/call" else "read"
        told = answer.headers["www-authenticate"]
        assert 'error="insufficient_scope"' in told
        assert f'scope="{needed}"' in told
        assert needed in answer.json()["error"]["message"]


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_client_shows_why_it_is_refused(running: Running, era: str) -> None:
    token = await add_token(running, "alice", "read")
    async with running.connect(era, token) as client:
        with pytest.raises(MCPError, match="needs the scope debate, which your token does not have"):
            await client.call_tool(START["name"], START["arguments"])


async def test_an_outage_and_a_busy_database_are_told_to_those_whose_tokens_cannot_be_checked(
    postgres_database: str, tmp_path: Path
) -> None:
    async with (
        open_proxy(postgres_database, tmp_path) as (address, proxy),
        open_postgres_storage(address, patience=1) as storage,
    ):
        accounts = Accounts(Settings(), storage, Place("127.0.0.1", 80))
        endpoint = httpx2.ASGITransport(Authentication(Starlette(), accounts))
        async with httpx2.AsyncClient(
            transport=endpoint, headers={"authorization": "Bearer cpt_x"}
        ) as client:
            async with keep_busy(storage):
                while (busy := await client.post("http://127.0.0.1/mcp")).status_code == 401:
                    pass  # a connection was just free
            proxy.close()
            away = await client.post("http://127.0.0.1/mcp")
    for refused, reason in ((busy, "is busy"), (away, "does not answer")):
        assert refused.status_code == 503
        told = refused.json()
        assert (told["jsonrpc"], told["id"], str(tmp_path) in refused.text) == ("2.0", None, False)
        assert told["error"]["message"].startswith(
            f"The database {reason}, so that no token can be checked now."
        )


async def test_a_session_is_of_use_to_its_own_token_alone(running: Running) -> None:
    alice, bob = await add_token(running, "alice"), await add_token(running, "bob")
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    async with httpx2.AsyncClient() as client:
        opened = await client.post(
            running.address, json=body, headers={**ACCEPT, "authorization": f"Bearer {alice}"}
        )
        session = {**ACCEPT, "mcp-session-id": opened.headers["mcp-session-id"]}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        statuses = [
            (
                await client.post(
                    running.address, json=listing, headers={**session, "authorization": f"Bearer {token}"}
                )
            ).status_code
            for token in (alice, bob)
        ]
    assert statuses == [200, 404]


async def test_requests_are_counted_by_owner(tmp_path: Path) -> None:
    async with serve_http(str(tmp_path / "a.db"), owner_requests_per_minute=2) as running:
        alice, bob = await add_token(running, "alice"), await add_token(running, "bob")
        statuses = [(await ask(running, alice)).status_code for _ in range(3)]
        statuses += [(await ask(running, await add_token(running, "alice"))).status_code]
        statuses += [(await ask(running, bob)).status_code]

    assert statuses == [200, 200, 429, 429, 200]


async def test_this_machine_alone_may_do_without_tokens(running: Running) -> None:
    storage = running.manager.store.storage
    others = [
        Accounts(Settings(), storage, Place(host, 80))
        for host in ("0.0.0.0", "::", "10.0.0.5", "example.org", "localhost.example.org")  # noqa: S104
    ]
    for accounts in others:
        with pytest.raises(InvalidRequestError, match="counterpoint token new OWNER"):
            await accounts.require_safe()
    for host in ("127.0.0.1", "127.8.0.1", "::1", "localhost"):
        await Accounts(Settings(), storage, Place(host, 80)).require_safe()
    await add_token(running)
    for accounts in others:
        await accounts.require_safe()


async def test_a_proxy_in_front_does_not_open_this_machine_to_all(running: Running) -> None:
    storage, here = running.manager.store.storage, Place("127.0.0.1", 80)
    named = (("debates.example.org",), ("localhost:8080", "10.0.0.5"), ("[fd00::1]:80",))
    for hosts in named:
        told = f"names {re.escape(hosts[-1])}.*counterpoint token new OWNER"
        with pytest.raises(InvalidRequestError, match=told):
            await Accounts(Settings(http_hosts=hosts), storage, here).require_safe()
    await add_token(running)
    for hosts in named:
        await Accounts(Settings(http_hosts=hosts), storage, here).require_safe()


async def test_what_a_proxy_passes_on_is_served_only_with_a_token(running: Running) -> None:
    proxied = [{name: "203.0.113.7"} for name in ("x-forwarded-for", "forwarded", "via", "x-real-ip")]
    async with httpx2.AsyncClient() as web:
        for headers in proxied:
            refused = await send(running.address, headers=headers)
            assert refused.status_code == 403, headers
            assert "counterpoint token new OWNER" in refused.json()["error"]["message"]
            assert (await web.get(f"{running.root}/view/list", headers=headers)).status_code == 403
    token = await add_token(running)
    for headers in proxied:
        headers["authorization"] = f"Bearer {token}"
        assert (await send(running.address, headers=headers)).status_code == 200


async def test_a_file_of_tokens_that_cannot_be_read_lets_nobody_in(tmp_path: Path) -> None:
    (tmp_path / "tokens.json").write_text("{", encoding="utf-8")
    async with serve_http(str(tmp_path / "a.db"), tokens=str(tmp_path / "tokens.json")) as running:
        assert (await send(running.address)).status_code == 401
        refused = await ask(running, "cpt_x")

    assert refused.status_code == 503
    assert str(tmp_path) not in refused.text


async def test_a_token_is_made_used_and_revoked_while_a_server_runs_and_is_in_no_log(tmp_path: Path) -> None:
    database = str(tmp_path / "a.db")
    environ = {"COUNTERPOINT_LOG_LEVEL": "DEBUG"}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "counterpoint", *arguments],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"COUNTERPOINT_DB": database},
        )
        return done.stdout

    served = HttpProcess(database, environ=environ)
    try:
        token = run("token", "new", "alice", "--scope", "debate", "--days", "3").splitlines()[-1]
        headers = {"authorization": f"Bearer {token}"}
        assert (await send(served.address)).status_code == 401
        assert (await send(served.address, headers=headers)).status_code == 200
        assert (await send(served.address, headers={"authorization": f"Bearer {token}x"})).status_code == 401
        run("token", "revoke", run("token", "list").split()[0])
        assert (await send(served.address, headers=headers)).status_code == 401
    finally:
        served.tell()
    code, log = served.end()
    assert code == 143
    assert token not in log
    assert token[4:] not in log
    for file in ("a.db", "a.db-wal"):
        path = tmp_path / file
        assert not path.exists() or token.encode() not in path.read_bytes()
