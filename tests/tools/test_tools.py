"""The tools as a client sees them, in both protocol eras."""

import re
from typing import Any

import pytest

from server.models.fakes.scripted import ScriptedModel
from tests.support.client_calls import byte_count, call, expect_tool_error, read_resource, result_text
from tests.support.mcp_debates import call_next, opened, read_events, run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("M1")]


@pytest.mark.requirement("M4")
async def test_a_debate_is_stepped_to_its_verdict_by_tools_alone(open_client: Any) -> None:
    async with open_client() as client:
        started = await call(client, "start_debate", question="Ship it?")
        phases = []
        step = started
        while step["status"] in ("ready", "running"):
            step = await call(client, "step_round", debate_id=started["debate_id"])
            phases.append((step["round"], step["phase"], len(step["turns"])))
        verdict = await call(client, "get_verdict", debate_id=started["debate_id"])

    assert phases == [(1, "opening", 2), (2, "rebuttal", 2), (3, "", 0)]
    assert verdict["outcome"] == "leaning"
    assert verdict["winner_stance"] in ("for", "against")
    assert verdict["votes"]


@pytest.mark.requirement("M4")
@pytest.mark.requirement("N8")
async def test_a_call_returns_in_time_and_the_debate_goes_on(open_modern: Any) -> None:
    async with open_modern(default="scripted?delay=0.2") as client:
        started = await run_debate(client, wait_seconds=0)
        assert (started["status"], started["working"]) == ("running", True)
        assert "get_verdict" in started["next"]

        verdict = await call(client, "get_verdict", debate_id=started["debate_id"])

    assert verdict["status"] == "concluded"


@pytest.mark.requirement("N8")
async def test_a_retry_that_names_its_round_gets_the_stored_one(open_modern: Any) -> None:
    model = ScriptedModel()
    async with opened(open_modern, {"mine": model}, "mine") as (client, debate_id):
        first = await call(client, "step_round", debate_id=debate_id, round=1)
        again = await call(client, "step_round", debate_id=debate_id, round=1)

    assert first["turns"] == again["turns"]
    assert (
        sorted(request.prompt.summary.task for request in model.requests) == ["argument"] * 2 + ["ballot"] * 2
    )


async def test_tools_and_resources_find_a_debate_by_the_beginning_of_its_id_and_the_latest(
    open_modern: Any,
) -> None:
    async with opened(open_modern) as (client, debate_id):
        for found in (debate_id[:4], "latest"):
            assert (await call(client, "step_round", debate_id=found))["debate_id"] == debate_id
            steered = await call(client, "intervene", debate_id=found, action="tag", text=found)
            assert steered["debate_id"] == debate_id
            assert (await call(client, "read_debate", debate_id=found))["debate_id"] == debate_id
            assert await read_resource(client, f"debate://{found}/transcript") == await read_resource(
                client, f"debate://{debate_id}/transcript"
            )
        assert "There is no debate" in await expect_tool_error(client, "get_verdict", debate_id=debate_id[:3])


UNKNOWN_STANCE = (
    "`debaters[0].stance` must be text.\n`debaters[0].weight` is unknown. There are: name, stance,"
)
INVALID_STARTS: list[tuple[dict[str, Any], str]] = [
    ({"question": "  "}, "There is no question"),
    ({"question": "x" * 300_000}, "300,000 characters; 10,000 are allowed"),
    ({"question": None}, "`question` is missing: what is to be answered, in a sentence."),
    ({"format": "duel"}, "Formats: second_opinion, advocates"),
    ({"options": {"colour": "red"}}, "`options.colour` is unknown. There are: moderator, judges,"),
    ({"debaters": [{"name": "a", "stance": 1, "weight": 2}]}, UNKNOWN_STANCE),
    (
        {"debaters": [{"model": "a"}]},
        "`debaters[0].name` is missing: how others call it, in an object {name,",
    ),
    ({"debaters": "Ada, Ben"}, "`debaters` must be a list of objects {name, stance, role,"),
    ({"models": 3}, "`models` must be a list of texts."),
    ({"options": []}, "`options` must be an object {moderator, judges,"),
    ({"options": {"judges": {"modles": 2}}}, "unknown. Did you mean models? There are: count, models"),
    (
        {"options": {"referee": {"modle": ""}}},
        "`options.referee.modle` is unknown. Did you mean model? There",
    ),
    (
        {"options": {"referee": 3}},
        "must be true or false or an object {model, prompt, replaces_task, tools}.",
    ),
    ({"options": {"phases": [3]}}, "`options.phases[0]` must be the name of a phase, or an object such as"),
    ({"options": {"phases": ["x" * 41]}}, "`options.phases[0].name` may have 40 characters at most."),
    (
        {"options": {"phases": [{"order": "moderated"}]}},
        "`options.phases[0].name` is missing: of a known phase, or an own one, in",
    ),
    (
        {"options": {"phases": [{"name": "opening", "ordr": 1}]}},
        "[0].ordr` is unknown. Did you mean order? There",
    ),
    ({"run": "perhaps"}, "`run` must be true or false."),
    ({"models": [None] * 9}, "`models[4]` must be text.\nAnd 4 more."),
    ({"models": ["m"] * 27}, "may have 26 entries at most, and has 27."),
    ({"models": ["m" * 201]}, "may have 200 characters at most."),
    ({"options": {"team": {"topic": "x" * 61}}}, "`options.team.topic` may have 60 characters at most."),
    ({"models": ["two words"]}, "is not a model name"),
    ({"models": ["openai/gpt-5.2"]}, "OPENAI_API_KEY"),
    ({"max_rounds": 99}, "There can be 4 exchanges at most"),
    (
        {"options": {"output_schema": {"$ref": "https://example.org/s.json"}}},
        '"https://example.org/s.json" leads',
    ),
    ({"options": {"output_schema": "a list"}}, "`options.output_schema` must be an object, or one as JSON"),
    ({"options": {"effort": "wild"}}, "`options.effort` must be one of quick, standard, assured."),
    ({"options": {"pause_when": ["end"]}}, "'end' is not a breakpoint"),
    ({"options": {"pause_when": ["round:0"]}}, "verdict, failure, contested, unheard, round:N"),
    (
        {"options": {"voting": {"treshold": "2/3"}}},
        "`options.voting.treshold` is unknown. Did you mean threshold?",
    ),
    ({"options": {"voting": '{"kind": "most"}'}}, "unanimous"),
    ({"options": {"voting": "most"}}, "unanimous"),
    ({"format": "verdict", "options": {"voting": {"of": "cast"}}}, "of=cast needs a quorum"),
    ({"format": "verdict", "options": {"voting": {"threshold": "2"}}}, 'at most 1, such as "2/3"'),
    ({"x" * 9000: 1}, "x` is unknown"),
    ({f"x{number}": 1 for number in range(20_000)}, "The arguments have more than 10,000 values."),
    ({"options": {"judges": [[]] * 20_000}}, "The arguments have more than 10,000 values."),
    (
        {"options": {f"x{number}": 1 for number in range(2_000)}},
        "These are 2,000 errors. There are: question,",
    ),
]

WEIGHTS = {"debate_id": "x", "action": "weights"}


WRONG_INPUT: list[tuple[str, dict[str, Any], str]] = [
    *(("start_debate", {"question": "Q", **wrong}, told) for wrong, told in INVALID_STARTS),
    ("step_round", {"debate_id": "x", "round": "two"}, "`round` must be a whole number."),
    ("step_round", {"debate_id": "x", "round": -1}, "`round` must be at least 0."),
    ("step_round", {"debate_id": ""}, "`debate_id` must not be empty."),
    ("step_round", {"debate_id": "none"}, "find_debates"),
    ("get_verdict", {"debate_id": "x", "wait_seconds": 3600}, "must be at most 600."),
    ("get_verdict", {"debate_id": "x", "wait_seconds": 10**400}, "must be at most 600."),
    ("get_verdict", {"debate_id": "../../etc"}, "There is no debate"),
    ("intervene", {"debate_id": "x"}, "`action` is missing: one of pause, resume"),
    ("intervene", {"debate_id": "x", "action": None}, "`action` is missing: one of pause, resume"),
    ("intervene", {"debate_id": "none", "action": "pause"}, "There is no debate"),
    ("read_debate", {"debate_id": "none", "view": "soul"}, "Views: transcript"),
    ("find_debates", {"colour": None}, "`colour` is unknown"),
    ("find_debates", {"status": "sleepy"}, "One of: any, ready, running"),
    ("find_debates", {"cursor": "zz"}, "Leave it out"),
    (
        "intervene",
        {**WEIGHTS, "weights": [{"voter": ["judge 1"], "weight": 2}]},
        "list of {voter, weight}.",
    ),
    ("intervene", {**WEIGHTS, "weights": [{"voter": {}, "weight": {}}]}, "list of {voter, weight}."),
]


async def test_wrong_input_is_told_what_to_do_and_the_server_lives(open_modern: Any) -> None:
    async with open_modern() as client:
        for tool, arguments, told in WRONG_INPUT:
            text = await expect_tool_error(client, tool, **arguments)
            assert told in text
            assert not re.search("pydantic|Input|constrained|validation error|type=|input_value", text)
            assert byte_count(text) < 1000
        assert (await call(client, "find_debates"))["debates"] == []
        opened = await call(client, "start_debate", question="Q?")
        asked = {"debate_id": opened["debate_id"], "round": 3}
        assert "pass round=1" in await expect_tool_error(client, "step_round", **asked)


async def test_null_is_taken_for_left_out(open_modern: Any) -> None:
    options = {"judges": {"count": None, "both_orders": None}, "limits": None, "seed": None}
    debaters = [{"name": name, "stance": name, "role": None} for name in ("Ada", "Ben")]
    given = {"question": "Q?", "debaters": debaters, "options": options, "models": None, "run": None}
    async with open_modern() as client:
        debate_id = (await call(client, "start_debate", **given))["debate_id"]
        step = await call(client, "step_round", debate_id=debate_id, round=None, wait_seconds=None)

    assert {turn["agent"] for turn in step["turns"]} == {"Ada", "Ben"}


@pytest.mark.requirement("N17")
async def test_an_obvious_shape_is_taken_for_what_it_means(open_modern: Any) -> None:
    plan = {"title": "The plan", "text": "The plan"}
    given: dict[str, Any] = {"documents": "The plan", "options": {"moderator": True, "synthesizer": True}}
    meant: dict[str, Any] = {"documents": [plan], "options": {"moderator": {}, "synthesizer": {}}}
    async with open_modern() as client:
        opened = []
        for asked in (given, meant):
            started = await call(client, "start_debate", question="Q?", again=True, **asked)
            [fact] = await read_events(client, started, "opened")
            opened.append({name: fact[name] for name in fact.keys() - {"at", "hash", "seed", "labels"}})

    assert opened[0] == opened[1]


@pytest.mark.requirement("N17")
async def test_an_id_is_found_however_a_model_writes_it(open_modern: Any) -> None:
    async with open_modern() as client:
        debate_id = (await call(client, "start_debate", question="Q?"))["debate_id"]
        for written in (" {}\n", "'{}'", "`{}`", "<{}>", "debate://{}", "DEBATE://{}/verdict"):
            for given in (debate_id, debate_id.upper()):
                found = await call(client, "read_debate", debate_id=written.format(given), view="")
                assert (found["debate_id"], found["view"]) == (debate_id, "transcript")


@pytest.mark.requirement("N17")
async def test_pairs_may_be_a_mapping_and_the_address_of_a_debate_its_id(open_modern: Any) -> None:
    async with open_modern({"mine": ScriptedModel()}, "mine") as client:
        debate_id = (await call(client, "start_debate", question="Q?"))["debate_id"]
        for weights in ({"judge 1": 1.5}, [{"voter": "judge 1", "weight": "3/2"}]):
            address = f"debate://{debate_id}/transcript?since=2"
            await call(client, "intervene", debate_id=address, action="weights", weights=weights)
        log = (await call(client, "read_debate", debate_id=f"debate://{debate_id}", view="interventions"))[
            "data"
        ]["log"]
        changed = []
        for changes in (
            {"models": {"Proponent": "mine"}},
            {"models": [{"debater": "Proponent", "model": "mine"}]},
        ):
            fork = await call(
                client, "fork_debate", debate_id=debate_id, at_round=0, changes=changes, again=True
            )
            changed.append(fork["positions"])

    assert len({row["text"] for row in log}) == 1
    assert changed[0] == changed[1]


async def test_every_error_begins_alike_and_a_spent_wait_is_none(open_modern: Any) -> None:
    async with open_modern() as client:
        told = [
            await expect_tool_error(client, "no_tool"),
            await expect_tool_error(client, "start_debate"),
            await expect_tool_error(client, "step_round", debate_id="none"),
        ]
        waits = [
            await call(
                client, "start_debate", question="Q?", run=True, wait_seconds=0, models=["scripted?delay=9"]
            )
        ]
        waits.append(await call(client, "get_verdict", debate_id=waits[0]["debate_id"], wait_seconds=0))
        waits.append(await call(client, "step_round", debate_id=waits[0]["debate_id"], wait_seconds=0))

    assert all(text.startswith("Error: ") and text.count("Error") == 1 for text in told)
    assert "There is no tool" in told[0]
    assert {result["status"] for result in waits} == {"running"}


async def test_a_list_of_debates_has_as_many_as_asked_for_and_says_how_to_go_on(open_modern: Any) -> None:
    async with open_modern() as client:
        for question in ("First?", "Second?", "Third?"):
            await call(client, "start_debate", question=question)
        page = await call(client, "find_debates", limit=2, status="ready")
        rest = await call_next(client, page)
        too_many = await expect_tool_error(client, "find_debates", limit=101)

    assert [row["question"] for row in page["debates"]] == ["Third?", "Second?"]
    assert page["next"].startswith("find_debates(status='ready', limit=2, cursor=")
    assert [row["question"] for row in rest["debates"]] == ["First?"]
    assert "cursor" not in rest["next"]
    assert too_many == "Error: `limit` must be at most 100."


@pytest.mark.requirement("N17")
async def test_a_part_of_a_debate_is_read_in_the_view_that_has_parts_or_refused(open_modern: Any) -> None:
    async with open_modern() as client:
        ran = await run_debate(client, question="Ship it?", format="verdict")
        this = {"debate_id": ran["debate_id"]}
        first = await call(client, "read_debate", **this, round=1)
        assert first == await call(client, "read_debate", **this, view="round", round=1)
        assert (first["view"], first["data"]["round"]) == ("round", 1)
        assert (await call(client, "read_debate", **this, since_seq=3))["view"] == "events"
        assert (await call(client, "read_debate", **this, since_round=1))["view"] == "transcript"
        for asked in ({"view": "state", "round": 1}, {"round": 1, "since_seq": 3}):
            refused = await client.call_tool("read_debate", {**this, **asked})
            assert refused.is_error
            assert "`round` is for view='round'" in result_text(refused)
