"""The page as an MCP App, as the server offers it: who is told of it, what it is made of, and what its tool shows."""

import json
import re
from functools import partial
from typing import Any

import pytest
from mcp import Client
from mcp.client import advertise

from server.tools.listing import APPS
from tests.support.client_calls import call, expect_tool_error
from tests.support.mcp_debates import read_all_events, run_debate
from tests.support.servers import OpenClient

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N12", "N19")]

HOST: dict[str, Any] = {"extensions": [advertise(APPS, {"mimeTypes": ["text/html;profile=mcp-app"]})]}
SHOWN_BESIDE = {"start_debate", "step_round", "get_verdict"}


async def list_tools(client: Client) -> dict[str, dict[str, Any]]:
    """As they are sent."""
    listed = await client.list_tools()
    return {
        tool.name: tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed.tools
    }


async def read_content(client: Client, address: str) -> dict[str, Any]:
    (content,) = (await client.read_resource(address)).contents
    return content.model_dump(by_alias=True, mode="json")


async def test_only_a_host_of_apps_is_listed_the_tool_of_the_page(open_client: OpenClient) -> None:
    async with open_client() as client:
        plain = await list_tools(client)
    async with open_client(**HOST) as client:
        told = await list_tools(client)

    watch = told.pop("watch_debate")
    assert watch["_meta"]["ui"] == {"visibility": ["app"]}
    assert watch["annotations"]["readOnlyHint"]
    assert told == plain
    assert len(plain) == 8
    assert {name for name, tool in plain.items() if "_meta" in tool} == SHOWN_BESIDE


async def test_tools_name_the_page_in_both_ways_and_it_is_there(open_modern: OpenClient) -> None:
    async with open_modern() as client:
        shown = [tool["_meta"] for name, tool in (await list_tools(client)).items() if name in SHOWN_BESIDE]
        (address,) = {
            named for meta in shown for named in (meta["ui"]["resourceUri"], meta["ui/resourceUri"])
        }
        content = await read_content(client, address)
        listed = (await client.list_resources()).resources

    assert re.fullmatch(r"ui://counterpoint/debate-[0-9a-f]{16}\.html", address)
    assert content["mimeType"] == "text/html;profile=mcp-app"
    assert content["_meta"]["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}
    assert content["text"].startswith("<!doctype html>")
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", content["text"])
    assert address not in [resource.uri for resource in listed]


async def test_watching_gives_what_is_new(open_modern: OpenClient) -> None:
    async with open_modern() as client:
        this = {
            "debate_id": (await call(client, "start_debate", question="Ship it?", format="verdict"))[
                "debate_id"
            ]
        }
        first = await call(client, "watch_debate", **this)
        await call(client, "step_round", **this)
        seq = len(first["debates"][0]["entries"])
        later = await call(client, "watch_debate", since_seq=seq, **this)
        entries = later["debates"][0]["entries"]
        nothing = await call(client, "watch_debate", since_seq=seq + len(entries), **this)
        beyond = await call(client, "watch_debate", since_seq=10_000, **this)

    assert [entry["seq"] for entry in entries] == [*range(seq + 1, seq + len(entries) + 1)]
    assert (first["status"], later["status"]) == ("ready", "ready")
    assert (nothing["debates"], nothing["more"]) == ([], False)
    assert len(beyond["debates"][0]["entries"]) == seq + len(entries)


async def test_a_long_debate_comes_in_parts(open_modern: OpenClient) -> None:
    documents = [{"title": "All", "text": "word " * 100_000}]
    async with open_modern() as client:
        this = {"debate_id": (await run_debate(client, format="verdict", documents=documents))["debate_id"]}
        entries: list[dict[str, Any]] = []
        parts, more = 0, True
        while more:
            part = await call(client, "watch_debate", since_seq=len(entries), **this)
            entries += part["debates"][0]["entries"]
            parts, more = parts + 1, part["more"]
        events = await read_all_events(client, this["debate_id"])

    assert parts > 1
    assert [entry["seq"] for entry in entries] == [event["seq"] for event in events]


async def test_watching_runs_nothing_and_says_what_is_wrong(open_modern: OpenClient) -> None:
    async with open_modern() as client:
        opened = await call(client, "start_debate", question="Ship it?")
        for _ in range(3):
            assert (await call(client, "watch_debate", debate_id=opened["debate_id"]))["status"] == "ready"
        missing = await expect_tool_error(client, "watch_debate", debate_id="2" * 12)
        wrong = await expect_tool_error(client, "watch_debate", debate_id=opened["debate_id"], since=3)

    assert "There is no debate" in missing
    assert "`since` is unknown" in wrong


async def test_no_secret_is_in_what_the_page_is_shown(
    open_modern: OpenClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-proj-0123456789abcdefABCDEF"
    monkeypatch.setenv("SOME_API_KEY", secret)
    async with open_modern() as client:
        address = (await list_tools(client))["start_debate"]["_meta"]["ui/resourceUri"]
        content = await read_content(client, address)
        opened = await call(client, "start_debate", question="Ship it?")
        shown = await call(client, "watch_debate", debate_id=opened["debate_id"])

    assert secret not in content["text"] + json.dumps(shown)


async def test_a_page_without_an_id_is_told_of_the_newest_debate_on_its_question(
    open_modern: OpenClient,
) -> None:
    async with open_modern(**HOST) as client:
        ask = partial(call, client, "watch_debate", question=" Ship\nit? ")
        assert await ask() == {}
        opened = [
            (await call(client, "start_debate", question=question, again=True))["debate_id"]
            for question in ("Ship it?", "Ship it?", "Another one?")
        ]
        assert await ask() == {"debate_id": opened[1]}
        assert await call(client, "watch_debate") == {}
