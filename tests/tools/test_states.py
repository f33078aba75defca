"""Every tool in every state of a debate: both forms of a result say the same, and `next` can be called as it is."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from mcp import Client

from server.debate.facts.text import collapse_whitespace, format_dollars
from server.models import ModelError, Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from server.tools import texts
from server.tools.results import DebateListResult, SteerResult, StepResult, VerdictResult, ViewResult
from tests.support.client_calls import call
from tests.support.mcp_debates import build_scripted_model

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N17", "M4")]

SIDES = [{"name": "Ada", "stance": "ship now"}, {"name": "Ben's", "stance": "wait a week"}]
THREE = [*SIDES, {"name": "Cy", "stance": "never ship"}]


def find(winner: str | None, **more: Any) -> ScriptedModel:
    finding = {"verdict": f"It is {winner}.", "winner": winner, "reasoning": "Nobody answered.", "margin": 3}
    return build_scripted_model(judgment={**finding, **more})


def answer_unless_silent(request: Request) -> str:
    if request.seat == "Cy":
        raise ModelError("unavailable", "cannot be reached")
    return f"{request.seat} has a point."


def fail(_request: Request) -> str:
    raise ModelError("unavailable", "cannot be reached", attempts=9)


def fail_to_review(request: Request) -> str:
    if request.prompt.summary.task == "review":
        raise ModelError("unavailable", "cannot be reached")
    return build_reply_text(request)


ADVISORS = {"models": ["p"], "debaters": [], "format": "second_opinion"}
JUDGES = {"judges": {"models": ["one", "two", "three"]}}
COMMON = {"recommendation": "Half now, half later."}


def judge(*winners: str | None, **more: Any) -> dict[str, Any]:
    """The models of a panel that finds so, and of a talk between two others."""
    panel = dict(zip(("one", "two", "three"), (find(winner, **more) for winner in winners), strict=True))
    return {
        "models": {**panel, "p": ScriptedModel(), "q": ScriptedModel()},
        "asked": {"models": ["p", "q"], "options": JUDGES},
    }


STATES: dict[str, dict[str, Any]] = {
    "ready": {"asked": {"run": False}},
    "ready after a round": {"asked": {"run": False}, "then": [("step_round", {})]},
    "running": {"models": {"p": ScriptedModel(delay=30)}, "asked": {"models": ["p"], "wait_seconds": 0}},
    "waiting for a ballot": {"asked": {"models": ["caller"]}},
    "waiting for a turn": {"asked": {"models": ["caller"], "options": {"ballots": "none"}}},
    "paused on request": {
        "asked": {"run": False},
        "then": [("step_round", {}), ("intervene", {"action": "pause", "reason": "lunch"})],
    },
    "paused at a breakpoint": {"asked": {"options": {"pause_when": ["round:1"]}}},
    "paused below the quorum": {"models": {"p": ScriptedModel(fail)}, "asked": {"models": ["p"]}},
    "paused below the quorum again": {
        "models": {"p": ScriptedModel(fail)},
        "asked": {"models": ["p"]},
        "then": [("intervene", {"action": "resume"}), ("get_verdict", {})],
    },
    "paused as a side was not heard": {
        "models": {"p": ScriptedModel(answer_unless_silent)},
        "asked": {"models": ["p"], "debaters": THREE},
    },
    "paused by a budget": {"asked": {"options": {"limits": {"max_calls": 4, "on_budget": "pause"}}}},
    "leaning": {"asked": {"format": "settle"}},
    "contested": judge("Ada", "Ben's", "Ada"),
    "undecided": judge(None, None, None),
    "synthesis": judge(None, None, None, **COMMON),
    "concluded by advisors": {
        "models": {"p": ScriptedModel()},
        "asked": ADVISORS,
        "outcome": "leaning",
    },
    "concluded without a review": {
        "models": {"p": ScriptedModel(fail_to_review)},
        "asked": ADVISORS,
        "outcome": "undecided",
    },
    "concluded with a result alone": {"asked": {"format": "round_robin"}},
    "concluded with a result in a shape": {
        "asked": {"format": "round_robin", "options": {"output_schema": {"type": "object"}}}
    },
    "truncated": {
        "models": {"p": ScriptedModel(fail)},
        "asked": {"models": ["p"], "options": {"limits": {"max_calls": 9}}},
        "then": [("intervene", {"action": "resume"}), ("get_verdict", {})],
    },
}

OUTCOMES = {"decided", "leaning", "contested", "undecided", "synthesis"}
WAITING_TOOLS = {"start_debate", "step_round", "get_verdict", "submit_turn", "fork_debate"}


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_verdict", {"wait_seconds": 0}),
    ("read_debate", {"view": "state"}),
    ("read_debate", {}),
    ("find_debates", {}),
    ("step_round", {"round": 1, "wait_seconds": 0}),
    ("fork_debate", {"at_round": 0}),
    ("intervene", {"action": "inject", "text": "Mind the cost."}),
]


async def reach(client: Client, state: str) -> Any:
    """The last result of the calls that bring a debate into the state."""
    scenario = STATES[state]
    asked = {"question": "Ship it?", "debaters": SIDES, "run": True, "again": True, **scenario["asked"]}
    result = await client.call_tool("start_debate", asked)
    this = {"debate_id": result.structured_content["debate_id"]}
    for tool, arguments in scenario.get("then", ()):
        result = await client.call_tool(tool, {**this, **arguments})
    assert not result.is_error, result.content
    return result


def render(tool: str, data: dict[str, Any]) -> list[str]:
    """The texts of a result, from its structured form."""
    data = json.loads(json.dumps(data))
    match tool:
        case "get_verdict":
            return [texts.format_verdict_result(VerdictResult.model_validate(data))]
        case "intervene":
            return [texts.format_steer_result(SteerResult.model_validate(data))]
        case "read_debate":
            return [*texts.format_page(ViewResult.model_validate(data))]
        case "find_debates":
            return [texts.format_debate_list(DebateListResult.model_validate(data))]
    return [texts.format_step_result(StepResult.model_validate(data))]


def facts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """What a structured result says: (field, text) of everything that is not empty, or the usual."""
    if isinstance(value, dict):
        for key, part in value.items():
            is_own = key == "provenance" and part["recorded_here"]  # texts name who recorded what others did
            is_for_programs = key in ("written_by", "sources")
            is_next = key == "transcript_uri" and value["next"].startswith("read_debate(")  # which reads it
            if not (is_own or is_for_programs or is_next):
                yield from facts(key, part)
    elif isinstance(value, list):
        for part in value:
            yield from facts(name, part)
    elif value and (name, value) not in (("act", "argument"), ("view", "state"), ("view", "transcript")):
        words = {"working": "at work", "joined": texts.JOINED, "retracted": "retracted", "raised": "raised"}
        told = value
        if name == "cost_usd":
            told = format_dollars(Decimal(value)) if Decimal(value) else ""
        yield name, words.get(name, "true") if isinstance(value, bool) else f"{told}"


def plain(text: str) -> str:
    """Text without marks of quotations and escapes, on one line."""
    unquoted = re.sub(r"^> ?", "", text, flags=re.MULTILINE)
    return collapse_whitespace(
        unquoted.replace("\\", "").replace('"', "").replace("'", "").replace("*", "")
    ).casefold()


FILLED_IN = {"text": "Mine.", "question": "Which?", "limits": {"max_calls": 40}, "model": "scripted"}
"""What a caller writes where a call has an ellipsis."""


def parse_calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The calls that a text names, with their arguments."""
    found = []
    filled_in = dict(FILLED_IN)
    if shape := re.search(r"in JSON: (\{.*\})", text):
        ballot = json.loads(shape[1].replace("percent", "0"))
        filled_in["text"] = json.dumps(ballot | {"beliefs": ballot["beliefs"] | {"none": 100}})
    for tool, inner in re.findall(r"(\w+_\w+|intervene)\(([^)]*)\)", text):
        pairs = re.findall(r"""(\w+)=('[^']*'|"[^"]*"|\w+|…)""", inner)
        values = {
            key: filled_in[key] if value == "…" else json.loads(re.sub("^'|'$", '"', value))
            for key, value in pairs
        }
        found.append((tool, values))
    return found


@pytest.mark.full
@pytest.mark.parametrize("state", STATES)
async def test_text_and_structure_say_the_same_and_what_is_next_can_be_done(
    open_modern: Any, state: str
) -> None:
    scenario = STATES[state]
    async with open_modern(scenario.get("models", {})) as client:
        last = await reach(client, state)
        this = {"debate_id": last.structured_content["debate_id"]}
        tool = scenario.get("then", [("start_debate", {})])[-1][0]
        answers: list[tuple[str, dict[str, Any], Any]] = [(tool, {}, last)]
        for name, arguments in CALLS:
            made = {**this, **arguments} if name != "find_debates" else {}
            if not (state == "ready" and name == "step_round"):
                result = await client.call_tool(name, made)
                answers += [] if result.is_error else [(name, made, result)]
        whole = await client.call_tool("read_debate", {**this, "view": "verdict"})
        folded = plain(whole.content[0].text)  # votes, ballots and all other figures
        named = []
        for name, made, result in answers:
            data = result.structured_content
            assert [part.text for part in result.content] == render(name, data)
            shown = plain("\n".join(part.text for part in result.content))
            if data.get("answer", {}).get(
                "head"
            ):  # it has ended: what was said, and all figures, are in views
                data = {name: part for name, part in data.items() if name in ("answer", "next", "votes")}
                shown += folded
            missing = [fact for fact in facts("", data) if plain(fact[1]) not in shown]
            assert missing == [], name
            following = parse_calls(data["next"])
            assert len(following) == 1, data["next"]
            assert "\n" not in data["next"]
            assert (name, made) not in following
            assert name not in ("get_verdict", "read_debate") or name not in dict(following)
            if name not in ("fork_debate", "find_debates"):
                named += [one for one in following if one not in named]

        for name, arguments in named:
            again = (await reach(client, state)).structured_content["debate_id"]
            waits = {"wait_seconds": 0} if name in WAITING_TOOLS else {}
            result = await client.call_tool(name, {**arguments, "debate_id": again, **waits})
            assert not result.is_error, (name, arguments, result.content)

    status = answers[0][2].structured_content["status"]
    assert status == ("concluded" if state in OUTCOMES else state.split(maxsplit=1)[0])
    assert answers[1][2].structured_content.get("outcome", "") == scenario.get(
        "outcome", state if state in OUTCOMES else ""
    )


LEADS_ON = (
    *("ready", "ready after a round", "paused on request", "paused at a breakpoint", "paused by a budget"),
    "paused below the quorum again",
)


@pytest.mark.parametrize("state", LEADS_ON)
async def test_the_first_call_of_each_hint_leads_to_the_end(open_modern: Any, state: str) -> None:
    async with open_modern(STATES[state].get("models", {})) as client:
        await reach(client, state)
        (row,) = (await call(client, "find_debates"))["debates"]
        step = await call(client, "get_verdict", debate_id=row["debate_id"], wait_seconds=0)
        for _ in range(12):
            if step["status"] in ("concluded", "truncated"):
                break
            name, arguments = parse_calls(step["next"])[0]
            step = await call(client, name, **arguments)

    assert step["status"] == "concluded", step["next"]


async def test_a_debate_that_waits_for_tomorrow_says_until_when(open_modern: Any) -> None:
    async with open_modern(settings={"daily_calls": 3}) as client:
        step = await call(client, "start_debate", question="Ship it?", debaters=SIDES, run=True)
        verdict = await call(client, "get_verdict", debate_id=step["debate_id"])
    assert (step["status"], verdict["status"]) == ("paused", "paused")
    assert re.fullmatch(r"get_verdict\(debate_id='\w+'\), after 20\S+T00:00:00\S*Z", step["next"])
    assert re.fullmatch(r"step_round\(debate_id='\w+'\), after 20\S+Z", verdict["next"])


async def test_answers_that_nobody_reviewed_are_kept_by_the_fork_that_is_named(open_modern: Any) -> None:
    model = ScriptedModel(fail_to_review)
    async with open_modern({"p": model}) as client:
        step = await call(client, "start_debate", question="Ship it?", run=True, **ADVISORS)
        assert (step["status"], step["answer"]["head"]) == ("concluded", "Open")
        assert step["next"].endswith(", at_round=1), which keeps the answers and has them reviewed")
        model.script = None
        model.requests.clear()
        [(name, arguments)] = parse_calls(step["next"])
        fork = await call(client, name, **arguments, wait_seconds=5)
        while fork["status"] in ("ready", "running"):
            fork = await call(client, "step_round", debate_id=fork["debate_id"])

    assert (fork["status"], fork["answer"]["head"]) == ("concluded", "Leaning")
    tasks = [request.prompt.summary.task for request in model.requests]
    assert tasks == ["review", "review"]


@pytest.mark.requirement("N8")
async def test_every_server_tells_what_is_run_from_what_is_ready(open_modern: Any) -> None:
    async with open_modern({"slow": ScriptedModel(delay=30)}) as one, open_modern() as two:
        ready = (await call(one, "start_debate", question="First?"))["debate_id"]
        asked = {"question": "Second?", "models": ["slow"], "run": True, "wait_seconds": 0}
        running = (await call(one, "start_debate", **asked))["debate_id"]
        for client in (one, two):
            expected = {"ready": [ready], "running": [running], "any": [running, ready], "paused": []}
            for status, ids in expected.items():
                rows = (await call(client, "find_debates", status=status))["debates"]
                assert [row["debate_id"] for row in rows] == ids
                assert {row["debate_id"]: row["status"] for row in rows}.items() <= {
                    ready: "ready",
                    running: "running",
                }.items()
            rows = (await call(client, "find_debates", status="ready", query="first"))["debates"]
            assert [row["debate_id"] for row in rows] == [ready]
            for debate_id, status in ((ready, "ready"), (running, "running")):
                state = await call(client, "read_debate", debate_id=debate_id, view="state")
                assert (state["status"], state["working"]) == (status, status == "running")
                assert state["data"]["status"] == status
