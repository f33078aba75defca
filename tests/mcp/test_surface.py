"""What a client is told about the server before it calls anything."""

import json
import re
from typing import Any
from urllib.parse import unquote

import pytest
from mcp import Client
from mcp.types import PromptReference, ResourceTemplateReference

from server.mcp.server import ICON
from server.tools.listing import APPS, TASKS
from tests.support.client_calls import call
from tests.support.mcp_debates import run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M4")]

ROUND = ResourceTemplateReference(type="ref/resource", uri="debate://{debate_id}/rounds/{round}")


def test_the_icon_is_a_picture_under_an_address_of_the_uri_syntax() -> None:
    media_type, _, picture = ICON.partition(",")

    assert re.fullmatch(r"(?:[A-Za-z0-9\-._~:/?#@!$&'()*+,;=]|%[0-9A-F]{2})+", ICON)
    assert media_type == "data:image/svg+xml"
    assert unquote(picture).startswith("<svg xmlns=")
    assert unquote(picture).endswith("</svg>")


async def test_only_what_there_is_is_offered(open_client: Any, era: str) -> None:
    async with open_client() as client:
        offered = client.server_capabilities.model_dump(exclude_none=True)

    extensions = offered.pop("extensions", {})
    assert set(offered) == {"tools", "resources", "prompts", "completions"}
    assert set(extensions) == ({APPS, TASKS} if era == "auto" else {APPS})


async def test_a_hint_is_sent_whether_it_is_true_or_false(open_modern: Any) -> None:
    async with open_modern() as client:
        sent = [json.loads(tool.model_dump_json(by_alias=True)) for tool in (await client.list_tools()).tools]

    hints = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    for tool in sent:
        assert {tool["annotations"][hint] for hint in hints} <= {True, False}, tool["name"]


async def complete_rounds(
    client: Client, debate_id: str, value: str = "", argument: str = "round"
) -> list[str]:
    chosen = {"debate_id": debate_id} if debate_id else None
    found = await client.complete(ROUND, {"name": argument, "value": value}, context_arguments=chosen)
    return found.completion.values


async def test_the_rounds_that_were_held_complete_an_address(open_modern: Any) -> None:
    async with open_modern() as client:
        debate_id = (await run_debate(client))["debate_id"]
        new = (await call(client, "start_debate", question="Another?"))["debate_id"]

        assert await complete_rounds(client, debate_id) == ["1", "2", "3"]
        assert await complete_rounds(client, debate_id, "2") == ["2"]
        assert await complete_rounds(client, debate_id, argument="since") == ["1", "2", "3"]
        assert await complete_rounds(client, new) == []
        assert await complete_rounds(client, "nobody") == []
        assert await complete_rounds(client, "") == []
        prompt = PromptReference(type="ref/prompt", name="round")
        assert (await client.complete(prompt, {"name": "round", "value": ""})).completion.values == []
