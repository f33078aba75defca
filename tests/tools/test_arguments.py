"""Calls as models make them that have seen only the list of tools: what is taken, and what is told."""

import json
from typing import Any

import jsonschema_rs
import pytest
from mcp.types import Implementation

from server.debate.commands.requests import OptionsInput
from server.tools.arguments.synonyms import Reading
from server.tools.debates import TOOLS
from server.tools.listing import load_listed_tools
from tests.support.client_calls import call, expect_tool_error

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M4", "N17")]

Q = "Should we use one repository?"
MODEL, OTHER = "openai/gpt-5.2", "anthropic/claude-opus-4-8"
PLAN = {"title": "plan", "text": "Step 1"}
SIDES = [{"name": "Ada", "stance": "for"}, {"name": "Ben", "stance": "against"}]

Given = dict[str, Any]


def list_starts(meant: Given, *given: Given) -> list[tuple[str, Given, Given]]:
    """Calls of start_debate that mean the same, beside a question."""
    return [("start_debate", {"question": Q, **one}, {"question": Q, **meant}) for one in given]


TAKEN: list[tuple[str, Given, Given]] = [
    *(
        ("start_debate", {word: Q}, {"question": Q})
        for word in ("topic", "prompt", "query", "motion", "claim", "proposition", "task", "Question")
    ),
    *list_starts(
        {"options": {"my_answer": "Yes."}},
        *({word: "Yes."} for word in ("my_answer", "answer", "draft", "myAnswer")),
        {"options": {"my_answer": "Yes."}},
    ),
    *list_starts(
        {"options": {"limits": {"max_cost_usd": 1}}},
        *({word: 1} for word in ("max_cost_usd", "budget", "max_cost")),
        *({word: {"max_cost_usd": 1}} for word in ("limits", "options")),
    ),
    *list_starts(
        {"documents": [PLAN]},
        {"context": [PLAN]},
        {"documents": [{"name": "plan", "content": "Step 1"}]},
        {"attachments": [{"title": "plan", "body": "Step 1"}]},
    ),
    *list_starts(
        {"debaters": SIDES},
        {"debaters": [{"name": "Ada", "position": "for"}, {"name": "Ben", "side": "against"}]},
        {"debaters": ["Ada: for", "Ben: against"]},
    ),
    *list_starts(
        {"debaters": [{"name": n, "role": n} for n in ("optimist", "sceptic")]},
        {"debaters": [{"role": "optimist"}, {"persona": "sceptic"}]},
    ),
    *list_starts({"models": [MODEL]}, {"model": MODEL}),
    *list_starts({"models": [MODEL, OTHER]}, {"models": f"{MODEL}, {OTHER}"}),
    *list_starts(
        {"max_rounds": 2}, {"rounds": 2}, {"options": {"rounds": 2}}, {"options": {"max_rounds": 2}}
    ),
    *list_starts(
        {"options": {"judges": {"count": 3}}},
        *({"judges": 3}, {"num_judges": 3}, {"options": {"judges": {"number": 3}}}),
    ),
    *list_starts(
        {"format": "advocates"},
        *({"format": word} for word in ("Advocates", "debate", "pros and cons", "devils-advocate")),
    ),
    *list_starts({"format": "round_robin"}, {"mode": "round-robin"}, {"format": "panel"}),
    *list_starts({"format": "second_opinion"}, {"format": "red team"}),
    *list_starts({"options": {"effort": "assured"}}, {"effort": "high"}),
    *list_starts({"options": {"effort": "quick"}}, {"depth": "low"}),
    *list_starts({"wait_seconds": 60}, {"timeout": 60}),
    *list_starts({"documents": ["Step 1"]}, {"plan": "Step 1"}, {"code": "Step 1"}),
    *list_starts(
        {"options": {"instructions": "No new hires."}},
        *({word: "No new hires."} for word in ("constraints", "criteria", "goal")),
    ),
    ("intervene", {"id": "x", "action": "end"}, {"debate_id": "x", "action": "conclude"}),
    (
        "intervene",
        {"debate_id": "x", "type": "note", "message": "Mind the cost."},
        {"debate_id": "x", "action": "inject", "text": "Mind the cost."},
    ),
    (
        "intervene",
        {"debate_id": "x", "action": "extend", "budget": 2},
        {"debate_id": "x", "action": "extend", "limits": {"max_cost_usd": 2}},
    ),
    (
        "submit_turn",
        {"debate_id": "x", "seat": "Ada", "content": "No."},
        {"debate_id": "x", "speaker": "Ada", "text": "No."},
    ),
    (
        "fork_debate",
        {"debate_id": "x", "round": 1, "run": True},
        {"debate_id": "x", "at_round": 1, "changes": {"run": True}},
    ),
    ("find_debates", {"keyword": "cost", "max_results": 5}, {"query": "cost", "limit": 5}),
    ("find_debates", {"topic": "cost", "status": "done"}, {"query": "cost", "status": "concluded"}),
    *(
        ("read_debate", {"debate_id": "x", "view": word}, {"debate_id": "x", "view": "verdict"})
        for word in ("votes", "summary")
    ),
]

UNLISTED: list[tuple[str, Given, Given]] = [
    *list_starts({"documents": [PLAN]}, {"documents": PLAN}),
    *list_starts({"debaters": SIDES[:1]}, {"debaters": {"Ada": "for"}}),
    *list_starts({"options": {"limits": {"max_calls": 9}}}, {"options": '{"limits": {"max_calls": 9}}'}),
    *list_starts({"models": ["scripted"]}, {"models": "scripted"}),
    *list_starts(
        {"options": {"judges": {"count": 3}}}, {"options": {"judges": 3}}, {"options": {"judges": "3"}}
    ),
    *list_starts({"options": {"judges": {"models": ["mine"]}}}, {"options": {"judges": "mine"}}),
    *list_starts(
        {"options": {"judges": {"models": ["mine", "own"]}}}, {"options": {"judges": ["mine", "own"]}}
    ),
    *list_starts(
        {"options": {"moderator": {"model": "mine"}, "referee": {"model": "own"}}},
        {"options": {"moderator": "mine", "referee": "own"}},
    ),
    *list_starts(
        {"options": {"tags": ["a"], "fallback_models": ["own"]}},
        {"options": {"tags": "a", "fallback_models": "own"}},
    ),
    *list_starts({"documents": ["The plan"]}, {"documents": "The plan"}),
    *list_starts(
        {"options": {"pause_when": ["verdict"], "visibility": {"hide_from_client": ["judges"]}}},
        {"options": {"pause_when": "verdict", "visibility": {"hide_from_client": "judges"}}},
    ),
    *list_starts({"debaters": SIDES}, {"debaters": [json.dumps(side) for side in SIDES]}),
    *list_starts(
        {"options": {"limits": {"max_calls": 40}, "judges": {"count": 2}}},
        {"options": {"limits": '{"max_calls": 40}', "judges": '{"count": 2}'}},
    ),
    *list_starts(
        {},
        dict.fromkeys(("format", "debaters", "models", "documents", "max_rounds", "run"), ""),
        {"options": dict.fromkeys(OptionsInput.model_fields.keys() - {"framing"}, "")},
    ),
]
"""Shapes that are read, and that the listed schema leaves out."""


def read(tool: str, given: dict[str, Any]) -> Reading:
    reading = Reading(TOOLS[tool].arguments, load_listed_tools()[tool].input_schema["properties"])
    reading.take(given)
    return reading


@pytest.mark.parametrize(("tool", "given", "meant"), [*TAKEN, *UNLISTED])
def test_what_can_only_mean_one_thing_is_taken_for_it(
    tool: str, given: dict[str, Any], meant: dict[str, Any]
) -> None:
    model = TOOLS[tool].arguments

    assert model.model_validate(read(tool, given).arguments) == model.model_validate(meant)


@pytest.mark.parametrize(("tool", "given"), [row[:2] for row in TAKEN])
def test_a_host_that_checks_calls_lets_through_what_is_taken(tool: str, given: dict[str, Any]) -> None:
    """But for required arguments by other names, of which such a host says that they are missing."""
    schema = load_listed_tools()[tool].input_schema
    problems = [problem.message for problem in jsonschema_rs.validator_for(schema).iter_errors(given)]

    assert [problem for problem in problems if "is a required property" not in problem] == []


REFUSED: list[tuple[str, Given, str]] = [
    *(
        ("start_debate", {"question": Q, **given}, told)
        for given, told in (
            ({"judges": {"cuont": 2}}, '`judges` belongs in `options`: options={"judges": …}.'),
            (
                {"judges": 2, "options": {"judges": 3}},
                '`judges` belongs in `options`: options={"judges": …}.',
            ),
            (
                {"tools": ["web"]},
                '`tools` belongs in `options.moderator`: options={"moderator": {"tools": …}} or',
            ),
            (
                {"debaters": [{"name": "Ada", "rounds": 2}]},
                "`debaters[0].rounds` belongs at the top: max_rounds=….",
            ),
            ({"topic": "Another?"}, "`topic` is another word for `question`, which is given as well."),
            ({"my_answer": ["a", "b"]}, "`my_answer` must be text."),
            ({"max_cost_usd": 0}, "`max_cost_usd` must be more than 0."),
            (
                {"my_answer": "Ada.", "options": {"my_answer": "Bob."}},
                "`my_answer` is given in `options` as well. Leave one of them out.",
            ),
            (
                {"positions": ["for", "against"]},
                'is unknown: pass debaters=[{"name": …, "stance": …}], one for each',
            ),
            ({"options": ["Postgres", "MySQL"]}, "or name them in `question`."),
            ({"advisors": [MODEL]}, "is unknown: pass models=[…], one for each"),
            ({"temperature": 0.2}, "is unknown: models are asked as they are set up. Leave it out."),
            ({"documents": ["docs/plan.md"]}, "nothing is opened: pass what it says as `text`"),
            ({"files": [{"path": "docs/plan.md"}]}, "nothing is opened: pass what it says as `text`"),
            (
                {"documents": [{"title": "plan", "url": "https://example.org"}]},
                "`documents[0].text` is missing: what it says, whole",
            ),
            ({"budjet": 1}, "`budjet` is unknown. There are: question, documents, my_answer"),
            (
                {"wait": True},
                "`wait_seconds` must be a number, not a boolean.\nTaken: `wait` as `wait_seconds`.",
            ),
            ({"urls": ["https://example.org"]}, "`urls` is unknown: nothing is opened: pass what they"),
            ({"roles": ["CFO"]}, "`roles` is unknown: pass models=[…], one for each, or debaters="),
            ({"output_format": "json"}, "options.output_schema asks for a result of your shape"),
            ({"async": True}, "`async` is unknown: wait_seconds=0 returns at once"),
            ({"debaters": ["Stay", "Move"]}, "To have it argue a side, pass {name, stance}."),
            ({"options": {"memory": "all"}}, "`options.memory` must be one of off, own or a whole number."),
        )
    ),
    ("intervene", {"debate_id": "x", "action": "pause", "rationale": "cost"}, "There are: debate_id, action"),
    ("read_debate", {"debate_id": "x", "page": 2}, "`page` is unknown: pass `offset`"),
    ("step_round", {"debate_id": "x", "rounds": 1}, "`rounds` is unknown: each call runs one round."),
    ("read_debate", {}, "`debate_id` is missing: start_debate returns it"),
]


async def test_what_is_refused_is_refused_with_what_to_do(open_modern: Any) -> None:
    async with open_modern() as client:
        for tool, given, told in REFUSED:
            assert told in await expect_tool_error(client, tool, **given)


async def test_a_result_says_what_was_taken_for_what_and_nothing_where_all_was_as_listed(
    open_modern: Any,
) -> None:
    async with open_modern() as client:
        result = await client.call_tool("start_debate", {"topic": Q, "tag": "infra", "effort": "high"})
        said = "Taken: `topic` as `question`; `effort` 'high' as 'assured'; `tag` as `options.tags`."
        assert result.structured_content["taken"] == result.content[-1].text == said
        listed = await call(client, "start_debate", question=Q, effort="quick", max_cost_usd=1)
        assert listed["taken"] == ""


async def test_all_options_are_described_with_their_types_for_tools_and_as_a_resource(
    open_modern: Any,
) -> None:
    async with open_modern() as client:
        page = await call(client, "read_debate", view="options")
        resource = (await client.read_resource("debate://options")).contents[0].text

    assert page["text"] == resource
    assert (
        "- `options.judges.both_orders` (boolean): One judge reads twice; several again where in doubt. Default: true"
        in resource
    )
    assert "- `options.phases[].wants` (argument, message, ballot): What each is asked for" in resource
    assert "  - oxford: an audience votes before and after" in resource
    assert "# fork_debate\n\n- `debate_id` (string, required): " in resource


@pytest.mark.requirement("N13")
async def test_a_page_has_as_much_as_is_asked_for_or_as_the_client_shows(open_modern: Any) -> None:
    codex = Implementation(name="codex-mcp-client", version="1")
    async with open_modern() as client, open_modern(client_info=codex) as narrow:
        debate_id = (await call(client, "start_debate", question=Q))["debate_id"]
        short = await call(client, "read_debate", debate_id=debate_id, view="state", limit=100)
        assert len(short["text"]) == short["next_offset"] == 100
        assert "view='state', offset=100, limit=100)" in short["next"]
        whole, part = [await call(one, "read_debate", view="options") for one in (client, narrow)]
        assert (whole["next_offset"], len(json.dumps(part)) < 12_000) == (0, True)
        assert whole["text"].startswith(part["text"])
