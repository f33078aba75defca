"""What is refused before it reaches the protocol: foreign hosts and pages, large bodies, too many requests."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from server.debate.facts.errors import InvalidRequestError
from server.http_server.gate import Gate, Place
from server.http_server.limits import RequestRates
from server.http_server.serving import parse_place
from tests.support.http_servers import Running, build_request, send, serve_http
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with serve_http(str(tmp_path / "a.db"), http_origins=("https://ui.example",)) as started:
        yield started


async def test_a_loopback_server_answers_for_every_name_of_this_machine_and_for_no_other(
    running: Running,
) -> None:
    for host in ("127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:99"):
        assert (await send(running.address, headers={"host": host})).status_code == 200, host
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:80", "", "a@127.0.0.1"):
        assert (await send(running.address, headers={"host": host})).status_code == 421, host


async def test_pages_of_the_own_host_and_of_named_origins_are_let_in_and_no_others(running: Running) -> None:
    for other in ("http://evil.example", "null", "http://localhost:3000", "https://ui.example.evil.example"):
        assert (await send(running.address, headers={"origin": other})).status_code == 403, other
    assert (await send(running.address, headers={"origin": running.root})).status_code == 200
    named = await send(running.address, headers={"origin": "https://ui.example"})
    assert named.status_code == 200
    assert named.headers["access-control-allow-origin"] == "https://ui.example"


def knows(place: Place, host: str, *hosts: str) -> bool:
    async def app(*_: object) -> None: ...

    return Gate(app, place, hosts=hosts).is_own_host(host)


def test_the_names_of_a_server_follow_from_its_address_unless_they_are_set() -> None:
    everywhere, somewhere = Place("0.0.0.0", 80), Place("10.0.0.5", 80)  # noqa: S104

    assert knows(everywhere, "10.1.2.3:80")
    assert knows(everywhere, "[fe80::1]")
    assert knows(everywhere, "localhost")
    assert not knows(everywhere, "debates.example")
    assert knows(somewhere, "10.0.0.5:8080")
    assert not knows(somewhere, "10.0.0.6")
    assert not knows(somewhere, "localhost")
    assert knows(everywhere, "debates.example:443", "debates.example")
    assert knows(everywhere, "debates.example:443", "debates.example:443")
    assert not knows(everywhere, "debates.example:444", "debates.example:443")
    assert not knows(everywhere, "10.1.2.3", "debates.example")


async def test_probes_may_ask_by_any_name(running: Running) -> None:
    async with httpx2.AsyncClient() as client:
        for path in ("/healthz", "/readyz"):
            assert (await client.get(running.root + path, headers={"host": "10.2.3.4"})).status_code == 200


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_body_over_the_limit_is_refused_also_when_its_size_is_not_told(
    running: Running, is_chunked: bool
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * 1_000_000

    headers, _ = build_request()
    content = pieces() if is_chunked else b" " * 5_000_000
    async with httpx2.AsyncClient(timeout=PATIENCE) as client:
        refused = await client.post(running.address, content=content, headers=headers)
        assert refused.status_code == 413
        assert "COUNTERPOINT_MAX_BODY" in refused.json()["error"]["message"]
        headers, body = build_request()
        assert (await client.post(running.address, json=body, headers=headers)).status_code == 200


async def test_an_owner_who_asks_too_often_is_told_when_to_ask_again(tmp_path: Path) -> None:
    async with serve_http(str(tmp_path / "a.db"), owner_requests_per_minute=3) as running:
        statuses = [(await send(running.address)).status_code for _ in range(3)]
        refused = await send(running.address)
        async with httpx2.AsyncClient() as client:
            assert (await client.get(f"{running.root}/healthz")).status_code == 200

    assert statuses == [200, 200, 200]
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 20


def test_a_limit_lets_through_its_number_at_once_and_then_one_after_each_share_of_a_minute() -> None:
    now = 1_000.0
    rates = RequestRates(4, clock=lambda: now)

    assert [rates.take("a") for _ in range(5)] == [0, 0, 0, 0, 15]
    assert rates.take("b") == 0
    now += 14.5
    assert rates.take("a") == 1
    now += 0.5
    assert [rates.take("a"), rates.take("a")] == [0, 15]
    now += 3_600
    assert [rates.take("a") for _ in range(5)] == [0, 0, 0, 0, 15]


def test_owners_who_ask_no_more_are_forgotten() -> None:
    now = 0.0
    rates = RequestRates(1, clock=lambda: now)
    for number in range(10_000):
        rates.take(str(number))
    now += 61
    rates.take("another")

    assert len(rates._full_at) == 1


@pytest.mark.parametrize(
    "text", ["8080", "host", "host:", ":8080", "::1:8080", "h:99999", "h:-1", "h:x", "[::1]"]
)
def test_an_address_that_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"use HOST:PORT, such as 127\.0\.0\.1:8080"):
        parse_place(text)


def test_an_address_is_read_in_both_versions_of_the_protocol() -> None:
    assert parse_place("[::1]:8080") == Place("::1", 8080)
    assert parse_place("[::1]:8080").netloc == "[::1]:8080"
    assert parse_place("localhost:0") == Place("localhost", 0)
