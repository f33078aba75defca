"""Who is let in to the pages of `counterpoint view`: only a request with the token, for this very host."""

import itertools
import socket
from collections.abc import AsyncIterator

import anyio
import pytest

from server.debate.facts.errors import DebateError
from server.models.fakes.scripted import ScriptedModel
from server.web.site.serving import MAX_CONNECTIONS, AccessGuard, Site, open_port
from tests.support.engines import open_engine, start_debate
from tests.support.patience import PATIENCE
from tests.support.sites import Guest, open_site

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]

PATHS = ("", "list", "events", "choices", "debates/{id}", "debates/{id}/record", "debates/{id}/page.html")


@pytest.fixture
async def guest(database: str) -> AsyncIterator[Guest]:
    async with open_site(database, ScriptedModel()) as opened:
        yield opened


async def test_no_address_answers_without_the_token(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager)).id
    origin, token = guest.site.guard.origin, guest.site.guard.token
    assert len(token) * 6 >= 128  # bits, six a letter
    for wrong in ("", token[:-1], f"{token}x", token.swapcase(), token[::-1], "%00", "é", "%2e%2e"):
        for path in PATHS:
            response = await guest.client.get(f"{origin}/{wrong}/{path.format(id=debate_id)}")
            assert (response.status_code, token in response.text) == (403, False)
    for elsewhere in (f"/?token={token}", f"/x/{token}/", f"//{token}/list"):
        assert (await guest.client.get(f"{origin}{elsewhere}")).status_code == 403
    authorised = await guest.client.get(origin, headers={"authorization": f"Bearer {token}", "cookie": token})
    assert authorised.status_code == 403


async def test_another_host_is_refused_even_with_the_token(guest: Guest) -> None:
    port = guest.site.guard.origin.rpartition(":")[2]
    for host in ("evil.example", "evil.example:{port}", "127.0.0.1", "localhost:{port}", "127.0.0.1:1", ""):
        response = await guest.get(host=host.format(port=port))
        assert (response.status_code, guest.site.guard.token in response.text) == (421, False)


async def test_a_request_for_another_site_or_for_two_hosts_is_refused(guest: Guest) -> None:
    port, token = int(guest.site.guard.origin.rpartition(":")[2]), guest.site.guard.token
    own = f"Host: 127.0.0.1:{port}\r\n"
    heads = (
        f"GET http://evil.example/{token}/ HTTP/1.1\r\n{own}",
        f"GET /{token}/ HTTP/1.1\r\n{own}Host: evil.example\r\n",
    )
    for head in (*heads, f"GET /{token}/ HTTP/1.0\r\n"):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(f"{head}Connection: close\r\n\r\n".encode())
            with anyio.fail_after(PATIENCE):
                assert (await stream.receive()).split()[1] in (b"400", b"403", b"421")


async def test_a_press_from_another_page_is_refused_and_does_nothing(guest: Guest) -> None:
    debate_id = (await start_debate(guest.manager)).id
    origins = ("", "null", "https://evil.example", "http://127.0.0.1:1", "http://127.0.0.1", "file://")
    types = ("application/json", "text/plain", "application/x-www-form-urlencoded")
    for origin, content_type in itertools.product(origins, types):
        body = b'{"action":"pause","request_id":"press-0001"}'
        response = await guest.send(debate_id, body, origin=origin, content_type=content_type)
        assert response.status_code == 403
    assert (await guest.manager.load(debate_id)).status == "running"


async def test_what_another_page_asks_to_read_is_refused_where_the_browser_says_so(guest: Guest) -> None:
    assert (await guest.get("list", origin="https://evil.example")).status_code == 403
    own = await guest.get("list", origin=guest.site.guard.origin)
    assert own.status_code == 200
    assert not [name for name in own.headers if name.startswith("access-control")]


async def test_every_answer_keeps_the_address_to_itself(guest: Guest) -> None:
    paths = ["", "list", "debates/zzzz", "nothing", "../etc/passwd"]
    for response in [
        await guest.get(path, **host) for path in paths for host in ({}, {"host": "evil.example"})
    ]:
        headers = response.headers
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["content-security-policy"].startswith("default-src 'none'; ")
        assert headers["content-security-policy"].endswith("frame-ancestors 'none'")
        assert "set-cookie" not in headers


async def test_paths_lead_to_no_file(guest: Guest) -> None:
    for path in (
        "..%2f..%2fetc%2fpasswd",
        "debates/..%2f..%2fsite.js",
        "site.js",
        "debates/%2e%2e/list",
        ".git/config",
    ):
        response = await guest.get(path)
        assert response.status_code == 404, path
        assert "root:" not in response.text


async def test_other_methods_are_refused(guest: Guest) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        address = guest.site.build_address() + "list"
        assert (await guest.client.request(method, address)).status_code == 403
        own = await guest.client.request(method, address, headers={"origin": guest.site.guard.origin})
        assert own.status_code == 405


async def test_the_address_without_its_last_slash_leads_to_the_list(guest: Guest) -> None:
    response = await guest.client.get(guest.site.build_address()[:-1])
    assert (response.status_code, response.headers["location"]) == (307, guest.site.build_address())


async def test_connections_on_which_nothing_is_asked_make_room(guest: Guest) -> None:
    place = guest.site.listener.getsockname()
    idle = [await anyio.connect_tcp(*place) for _ in range(MAX_CONNECTIONS)]
    assert (await guest.get()).status_code == 200
    for one in idle:
        await one.aclose()


async def test_tokens_differ_and_the_browser_leaves_out_port_80(database: str) -> None:
    async with open_engine(database) as manager:
        with open_port(0) as one, open_port(0) as two:
            sites = [Site(manager, listener, actor="page") for listener in (one, two)]
            assert sites[0].guard.token != sites[1].guard.token
    assert AccessGuard(sites[0].guard.app, token="t", port=80).address == "http://127.0.0.1/t/"


async def test_the_port_is_open_on_this_machine_only_and_a_taken_one_is_refused() -> None:
    with open_port(0) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        assert listener.proto == socket.IPPROTO_TCP  # by which asyncio knows that it can send at once
        with pytest.raises(DebateError, match=f"Port {port} cannot be used: address already in use"):
            open_port(port)
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.1", port))


async def test_a_client_that_sends_no_request_holds_up_nobody(guest: Guest) -> None:
    port = int(guest.site.guard.origin.rpartition(":")[2])
    async with await anyio.connect_tcp("127.0.0.1", port) as silent:
        await silent.send(b"GET /")
        assert (await guest.get("list")).status_code == 200


async def test_a_websocket_finds_nothing(guest: Guest) -> None:
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-key": "x" * 24,
        "sec-websocket-version": "13",
    }
    assert (await guest.client.get(f"{guest.site.guard.origin}/", headers=upgrade)).status_code == 403
    with pytest.raises(RuntimeError, match="websocket"):
        await guest.site.guard({"type": "websocket"}, None, None)  # type: ignore[arg-type]
