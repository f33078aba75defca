"""The page over HTTP: signed in with a token, by owner, and of use to no other site."""

import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from server.access.tokens import MAX_SECONDS, make_token
from tests.support.client_calls import call
from tests.support.http_servers import Running, serve_http
from tests.support.mcp_debates import run_debate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "N19")]

HTML = {"accept": "text/html"}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with serve_http(str(tmp_path / "a.db")) as started:
        yield started


async def add_token(running: Running, owner: str, *scopes: str) -> str:
    made, stored = make_token(owner, scopes or ("debate",), None)
    await running.manager.store.storage.tokens.add(stored)
    return made


@asynccontextmanager
async def open_browser(running: Running) -> AsyncIterator[httpx2.AsyncClient]:
    address = f"{running.root}/view/"
    async with httpx2.AsyncClient(base_url=address, timeout=PATIENCE, headers=HTML) as browser:
        yield browser


async def sign_in(
    running: Running, browser: httpx2.AsyncClient, token: str, **headers: str
) -> httpx2.Response:
    own = {"origin": running.root, **headers}
    return await browser.post("sign-in", data={"token": token}, headers=own)


async def open_debate(running: Running, token: str, question: str) -> str:
    async with running.connect(token=token) as client:
        return str((await call(client, "start_debate", question=question))["debate_id"])


async def test_a_person_signs_in_sees_debates_of_their_own_and_signs_out(running: Running) -> None:
    alice, bob = await add_token(running, "alice"), await add_token(running, "bob")
    hers, his = await open_debate(running, alice, "Hers?"), await open_debate(running, bob, "His?")
    async with open_browser(running) as browser:
        sent_away = await browser.get("")
        form = await browser.get("sign-in")
        entered = await sign_in(running, browser, alice)
        listed, own = await browser.get(""), await browser.get(f"debates/{hers}")
        others, unknown = await browser.get(f"debates/{his}"), await browser.get("debates/zzzzzzzzzzzz")
        records = [await browser.get(f"debates/{one}/record") for one in (hers, his, "zzzzzzzzzzzz")]
        who = await browser.get("sign-in")
        left = await browser.post("sign-out", headers={"origin": running.root})
        after = await browser.get("")

    assert (sent_away.status_code, sent_away.headers["location"]) == (303, "/view/sign-in")
    assert "name='token'" in form.text
    assert (entered.status_code, entered.headers["location"]) == (303, "./")
    assert "Hers?" in listed.text
    assert "His?" not in listed.text
    assert own.status_code == 200
    assert others.status_code == unknown.status_code == 404
    assert others.text.replace(his, "ID") == unknown.text.replace("zzzzzzzzzzzz", "ID")
    assert [one.status_code for one in records] == [200, 404, 404]
    assert "signed in as alice" in who.text
    assert left.status_code == 303
    assert after.status_code == 303


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(running: Running) -> None:
    token = await add_token(running, "alice")
    async with open_browser(running) as browser:
        plain = (await sign_in(running, browser, token)).headers["set-cookie"]
        secure = await sign_in(running, browser, token, **{"x-forwarded-proto": "https"})

    assert {"HttpOnly", "SameSite=lax", "Path=/view"} <= set(plain.split("; "))
    assert "Secure" not in plain
    assert "Secure" in secure.headers["set-cookie"].split("; ")
    assert token not in secure.headers["location"]
    assert token not in plain


@pytest.mark.parametrize("token", ["", "x", "cpt_x", "ü", "a" * 19_000])
async def test_a_token_that_is_not_good_brings_the_form_again(running: Running, token: str) -> None:
    await add_token(running, "alice")
    async with open_browser(running) as browser:
        refused = await sign_in(running, browser, token)

    assert refused.status_code == 401
    assert "This token is not good." in refused.text
    assert "set-cookie" not in refused.headers
    assert not token or token not in refused.text or token == "x"


async def test_an_address_may_try_so_many_tokens_a_minute(tmp_path: Path) -> None:
    async with serve_http(str(tmp_path / "a.db"), owner_requests_per_minute=2) as running:
        token = await add_token(running, "alice")
        async with open_browser(running) as browser:
            tried = [await sign_in(running, browser, one) for one in ("x", "y", token)]

    assert [one.status_code for one in tried] == [401, 401, 429]
    assert 0 < int(tried[2].headers["retry-after"]) <= 30
    assert "You ask too often." in tried[2].text


async def test_a_form_that_is_too_large_is_refused(running: Running) -> None:
    async with open_browser(running) as browser:
        assert (await sign_in(running, browser, "a" * 30_000)).status_code == 413


async def test_who_has_signed_out_or_whose_token_has_ended_is_not_let_in_by_the_cookie(
    running: Running,
) -> None:
    token, moment = await add_token(running, "alice"), [time.time()]
    running.server.service.accounts.page_sessions.clock = lambda: moment[0]
    async with open_browser(running) as browser:
        cookies = [
            (await sign_in(running, browser, token)).headers["set-cookie"].partition(";")[0] for _ in range(2)
        ]
        browser.cookies.clear()

        async def look(number: int) -> int:
            return (
                await browser.get("list", headers={"cookie": cookies[number], "accept": "*/*"})
            ).status_code

        before = [await look(0), await look(1)]
        await browser.post("sign-out", headers={"origin": running.root, "cookie": cookies[0]})
        after = [await look(0), await look(1)]
        moment[0] += MAX_SECONDS
        late = await look(1)

    assert (before, after, late) == ([200, 200], [401, 200], 401)


async def press(browser: httpx2.AsyncClient, debate_id: str, **headers: str) -> httpx2.Response:
    content = {"action": "note", "request_id": "press-0001", "text": "Look closer."}
    return await browser.post(f"debates/{debate_id}/presses", json=content, headers=headers)


async def test_buttons_take_the_scope_to_debate_and_a_page_of_this_host(running: Running) -> None:
    writer, reader = await add_token(running, "alice"), await add_token(running, "alice", "read")
    debate_id = await open_debate(running, writer, "Ship it?")
    own = {"origin": running.root}
    async with open_browser(running) as browser:
        await sign_in(running, browser, reader)
        assert (await browser.get(f"debates/{debate_id}")).status_code == 200
        assert (await press(browser, debate_id, **own)).status_code == 403
        await sign_in(running, browser, writer)
        assert (await press(browser, debate_id)).status_code == 403
        assert (await press(browser, debate_id, origin="http://evil.example")).status_code == 403
        assert (await press(browser, debate_id, **own)).status_code == 200


async def test_a_question_takes_the_scope_to_debate_and_belongs_to_its_owner(running: Running) -> None:
    writer, reader = await add_token(running, "alice"), await add_token(running, "alice", "read")
    other, own = await add_token(running, "bob"), {"origin": running.root}
    question = {"question": "Ship it?", "models": ["scripted"]}
    key = {"provider": "openai", "key": "sk-0123456789abcdefghij"}
    async with open_browser(running) as browser:
        await sign_in(running, browser, reader)
        refusals = [
            await browser.post(path, json=question, headers=own) for path in ("debates", "estimate", "keys")
        ]
        for refusal in (*refusals, await browser.get("choices")):
            assert refusal.status_code == 403
            assert "the scope debate" in refusal.json()["error"]
        await sign_in(running, browser, writer)
        for headers in ({}, {"origin": "http://evil.example"}):
            assert (await browser.post("debates", json=question, headers=headers)).status_code == 403
        assert (await browser.get("list", headers={"accept": "*/*"})).json()["list"]["rows"] == []
        assert (await browser.get("choices")).json()["keys"] == []
        assert (await browser.post("keys", json=key, headers=own)).status_code == 409
        assert (await browser.post("estimate", json=question, headers=own)).status_code == 200
        too_large = question | {"documents": ["x" * 5_000_000]}
        assert (await browser.post("debates", json=too_large, headers=own)).status_code == 413
        started = await browser.post("debates", json=question, headers=own)
        address = f"debates/{started.json()['debate_id']}"
        assert (await browser.get(address)).status_code == 200
        await sign_in(running, browser, other)
        for path in (address, f"{address}/record", f"{address}/page.html"):
            assert (await browser.get(path)).status_code == 404
        settle = {"action": "settle", "request_id": "press-0001", "to": "right"}
        assert (await browser.post(f"{address}/presses", json=settle, headers=own)).status_code == 404


async def test_the_cookie_is_no_way_to_the_protocol(running: Running) -> None:
    token = await add_token(running, "alice")
    async with open_browser(running) as browser:
        entered = await sign_in(running, browser, token)
    session_id = entered.headers["set-cookie"].partition(";")[0].removeprefix("counterpoint=")
    async with httpx2.AsyncClient(cookies={"counterpoint": session_id}) as web:
        assert (await web.post(running.address, json={})).status_code == 401
        for used, place in ((session_id, "authorization"), (token, "cookie")):
            value = f"Bearer {used}" if place == "authorization" else f"counterpoint={used}"
            path = running.address if place == "authorization" else f"{running.root}/view/list"
            assert (await web.post(path, json={}, headers={place: value})).status_code == 401
        assert (
            await web.get(f"{running.root}/view/?token={token}", headers={"cookie": ""})
        ).status_code == 401


async def test_without_tokens_this_machine_looks_without_signing_in(running: Running) -> None:
    async with running.connect() as client, open_browser(running) as browser:
        ran = await run_debate(client)
        listed = await browser.get("")
        shown = await browser.get(f"debates/{ran['debate_id']}")
        from_root = await browser.get(running.root + "/")

    assert "Ship it?" in listed.text
    assert shown.status_code == 200
    assert from_root.headers["location"] == "/view/"


async def test_the_page_hears_of_changes_and_its_stream_ends_with_the_server(running: Running) -> None:
    token = await add_token(running, "alice")
    debate_id = await open_debate(running, token, "Ship it?")
    async with open_browser(running) as browser, running.connect(token=token) as client:
        await sign_in(running, browser, token)
        async with browser.stream("GET", "events") as stream:
            lines = stream.aiter_lines()
            with anyio.fail_after(PATIENCE):
                while not (await anext(lines)).startswith("data: "):
                    pass
                await call(client, "step_round", debate_id=debate_id)
                while debate_id not in await anext(lines):
                    pass
                running.server.service.close_streams()
                async for _ in lines:
                    pass


async def test_without_credentials_every_path_of_the_page_looks_the_same(running: Running) -> None:
    token = await add_token(running, "alice")
    debate_id = await open_debate(running, token, "Ship it?")
    async with open_browser(running) as browser:
        answers: list[Any] = [
            await browser.get(path)
            for path in (f"debates/{debate_id}", "debates/zzzzzzzzzzzz", "list", "nothing")
        ]
        data = [
            await browser.get(path, headers={"accept": "*/*"})
            for path in (f"debates/{debate_id}/record", "x")
        ]

    assert {(one.status_code, one.headers["location"], one.text) for one in answers} == {
        (303, "/view/sign-in", "")
    }
    assert {(one.status_code, one.text) for one in data} == {(401, '{"error":"Sign in again."}')}


async def test_the_form_may_load_nothing_and_send_only_here(running: Running) -> None:
    async with open_browser(running) as browser:
        form = await browser.get("sign-in")

    policy = form.headers["content-security-policy"]
    assert re.search(r"default-src 'none'; style-src 'sha256-[^']+'; .*form-action 'self'", policy)
    assert (
        form.headers["referrer-policy"] == "same-origin"
    )  # with none, browsers would say no origin of a form
