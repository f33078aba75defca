"""The connections to providers: proxies, and servers that close them."""

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from server.models.providers.connections import Connections, ResponseError, read_body
from tests.support.fixed_answers import serve_and_close
from tests.support.provider.stub import StubRequest, encode_response

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N22")]

ELSEWHERE = "http://models.example/v1/chat/completions"
LARGE = b"x" * 1_000_000


async def post(connections: Connections, url: str, body: bytes = b"{}") -> bytes:
    async with asyncio.timeout(5), connections.post(url, body, {"authorization": "Bearer k"}) as response:
        return await read_body(response)


def serve(asked: list[StubRequest], *, status: int = 200) -> AbstractAsyncContextManager[str]:
    """The address of a server that answers each request and closes the connection, without having said so."""

    def answer(request: StubRequest) -> bytes:
        asked.append(request)
        return encode_response(status, {"said": "yes"})

    return serve_and_close(answer)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(("variable", "scheme"), [("http_proxy", "http://"), ("all_proxy", "")])
async def test_requests_to_other_machines_go_through_the_proxy_of_the_environment(
    connections: Connections, monkeypatch: pytest.MonkeyPatch, variable: str, scheme: str
) -> None:
    asked: list[StubRequest] = []
    async with serve(asked) as proxy:
        monkeypatch.setenv(variable, proxy.replace("http://", f"{scheme}me:secret@"))

        assert await post(connections, ELSEWHERE) == b'{"said": "yes"}'

    assert [request.path for request in asked] == [ELSEWHERE]
    assert asked[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
    assert asked[0].headers["authorization"] == "Bearer k"


async def test_encrypted_requests_go_through_a_tunnel_of_the_proxy(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[StubRequest] = []
    async with serve(asked, status=403) as proxy:
        monkeypatch.setenv("https_proxy", proxy)

        with pytest.raises(Exception, match="403"):
            await post(connections, "https://models.example/v1")

    assert [(request.method, request.path) for request in asked] == [("CONNECT", "models.example:443")]
    assert "authorization" not in asked[0].headers


@pytest.mark.parametrize("exception", ["", "models.example"])
async def test_requests_to_this_machine_and_those_excepted_use_no_proxy(
    connections: Connections, monkeypatch: pytest.MonkeyPatch, exception: str
) -> None:
    asked: list[StubRequest] = []
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", exception)
    async with serve(asked) as base:
        assert await post(connections, f"{base}/v1") == b'{"said": "yes"}'
        with pytest.raises(OSError, match="models.example" if exception else "127.0.0.1:9"):
            await post(connections, ELSEWHERE)

    assert [request.path for request in asked] == ["/v1"]


async def test_a_connection_that_was_closed_unannounced_is_replaced(connections: Connections) -> None:
    asked: list[StubRequest] = []
    async with serve(asked) as base:
        for _ in range(5):
            assert await post(connections, base) == b'{"said": "yes"}'

    assert len(asked) == 5


async def test_an_answer_that_comes_before_all_was_sent_is_read(connections: Connections) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(encode_response(413, {"error": "too large"}))
        writer.write_eof()
        while await reader.read(65536):
            pass
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with server:
        for _ in range(3):
            with pytest.raises(ResponseError, match="too large") as failure:
                await post(connections, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", LARGE)

            assert failure.value.status_code == 413


async def test_a_redirection_is_not_followed(connections: Connections) -> None:
    asked: list[StubRequest] = []
    async with serve(asked, status=307) as base:
        with pytest.raises(ResponseError) as failure:
            await post(connections, base)

    assert failure.value.status_code == 307
    assert len(asked) == 1
