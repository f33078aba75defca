"""Errors about arguments that somebody made to be repeated."""

from typing import Any

import pytest
from mcp import MCPError

from server.debate.facts.text import remove_invisible
from tests.support.client_calls import call, result_text

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8")]

HOSTILE = {"long": "Z" * 100_000, "unseen": "\x1b[31mZ\u202e\u200b" * 300, "a type": "DebaterInput"}


def build_calls(bad: str) -> list[tuple[str, dict[str, Any]]]:
    asked: dict[str, Any] = {"question": "Ship it?", "again": True}
    options: list[dict[str, Any]] = [
        {bad: 1},
        {"output_schema": {"type": bad}},
        {"output_schema": {"$ref": bad}},
        {"phases": [{"name": bad}]},
        {"limits": {"max_cost_usd": bad}},
        {"judges": {"tools": [bad]}},
        {"pause_when": [bad]},
    ]
    debate: dict[str, Any] = {"debate_id": "{id}"}
    steering: list[dict[str, Any]] = [
        {"action": bad},
        {"action": "inject", "text": "x", "to": bad},
        {"action": "replace_model", "to": "Proponent", "model": f"{bad} "},
        {"action": "weights", "weights": [{"voter": bad, "weight": bad}]},
        {"action": "extend", "limits": {bad: 1}},
        {"action": "retract", "to": bad, "round": 1},
    ]
    return [
        *[("start_debate", asked | {"options": option}) for option in options],
        ("start_debate", asked | {"format": bad}),
        ("start_debate", asked | {"models": [f"{bad} "]}),
        ("start_debate", asked | {bad: 1}),
        ("start_debate", asked | {"debaters": [{"name": "Ada", bad: "x"}, {"name": "Ben"}]}),
        *[("intervene", debate | fields) for fields in steering],
        ("step_round", {"debate_id": bad}),
        ("read_debate", debate | {"view": bad}),
        ("find_debates", {"cursor": bad}),
        ("submit_turn", debate | {"speaker": bad, "text": "x"}),
        ("fork_debate", debate | {"at_round": 0, "changes": {bad: 1}}),
        (bad, {}),
    ]


@pytest.mark.parametrize("kind", HOSTILE)
async def test_an_error_shows_a_little_of_what_is_wrong_and_nothing_unseen(
    open_modern: Any, kind: str
) -> None:
    bad, told = HOSTILE[kind], []
    async with open_modern() as client:
        debate_id = (await call(client, "start_debate", question="Q?", options={"framing": False}))[
            "debate_id"
        ]
        for tool, arguments in build_calls(bad):
            given = arguments | ({"debate_id": debate_id} if arguments.get("debate_id") == "{id}" else {})
            answer = await client.call_tool(tool, given)
            assert answer.is_error, (tool, str(arguments)[:80])
            told.append(result_text(answer))
        paths = ("", f"{debate_id}/", f"{debate_id}/transcript?since=", f"{debate_id}/rounds/", "[")
        for path in paths:
            with pytest.raises(MCPError) as refused:
                await client.read_resource(f"debate://{path}{bad}")
            told.append(f"{refused.value.error.message} {refused.value.error.data}")

    assert [text for text in told if len(text.encode()) > 3_100 or remove_invisible(text) != text] == []
