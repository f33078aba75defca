"""Steering debates over MCP while a model is being asked; budgets, fallbacks, and wrong arguments."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client

from server.models.fakes.scripted import ScriptedModel
from tests.support.client_calls import call, expect_tool_error, result_text
from tests.support.gated_model import Gate
from tests.support.mcp_debates import read_events, read_view
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D4", "N10", "D3", "N8")]

SIDES = [{"name": "Ada", "stance": "ship", "model": "slow"}, {"name": "Bob", "stance": "wait"}]
PLAIN = [{"name": "Ada", "stance": "ship"}, {"name": "Bob", "stance": "wait"}]
MOST_WORDS = ("Traceback", "pydantic", "Input should", "Extra inputs", "validation error")


class InFlight:
    """A debate whose first debater is being asked."""

    def __init__(self, client: Client, gate: Gate, step: dict[str, Any]) -> None:
        self.client = client
        self.gate = gate
        self.step = step

    async def intervene(self, action: str, **given: Any) -> str:
        arguments = {"debate_id": self.step["debate_id"], "action": action, **given}
        result = await self.client.call_tool("intervene", arguments)
        assert not result.is_error, result_text(result)
        return result_text(result)

    async def turns(self, least: int = 1) -> list[dict[str, Any]]:
        """What was said, when so much of it was recorded after the model was let go."""
        self.gate.release.set()
        with anyio.fail_after(PATIENCE):
            while len(spoken := await read_events(self.client, self.step, "spoke")) < least:
                await wait_before_next_poll()
        return spoken


@asynccontextmanager
async def in_flight(open_modern: Any, **options: Any) -> AsyncIterator[InFlight]:
    gate = Gate()
    models = {"slow": gate.model, "mine": ScriptedModel()}
    judged = {"judges": {"models": ["mine"]}, **options}
    async with open_modern(models, "mine") as client:
        step = await call(
            client, "start_debate", question="Ship?", format="verdict", debaters=SIDES, options=judged
        )
        await call(client, "step_round", debate_id=step["debate_id"], wait_seconds=0)
        with anyio.fail_after(PATIENCE):
            await gate.first_call.wait()
        yield InFlight(client, gate, step)


STEERED: list[tuple[str, dict[str, Any], str]] = [
    ("extend", {"rounds": 1, "limits": {"max_calls": 30}}, "limits are in force from the next question on"),
    ("replace_model", {"to": "Ada", "model": "mine"}, "An answer under way is kept."),
    ("inject", {"text": "News."}, "Everybody reads it with every question put from now on."),
]


@pytest.mark.parametrize(("action", "given", "effect"), STEERED)
async def test_the_answer_on_its_way_is_kept_and_it_says_from_when_on_it_counts(
    open_modern: Any, action: str, given: dict[str, Any], effect: str
) -> None:
    async with in_flight(open_modern) as debate:
        told = await debate.intervene(action, reason="to try it", **given)
        assert effect in told
        assert "Estimate: " in told
        assert "Other efforts" not in told  # the effort was chosen when it was opened
        first, second = await debate.turns(2)
        row, *_ = (await read_view(debate.client, debate.step, "interventions"))["log"]

    assert (first["seat"], first["text"]) == ("Ada", "Ada has a point.")
    assert second["seat"] == "Bob"
    assert (row["action"], row["reason"]) == (action, "to try it")
    assert row["actor"].startswith("client")


@pytest.mark.both_databases
async def test_paused_the_answer_on_its_way_is_kept_and_nobody_else_is_asked(open_modern: Any) -> None:
    async with in_flight(open_modern) as debate:
        assert "nothing more is asked until it is resumed" in await debate.intervene("pause", reason="lunch")
        spoken = await debate.turns()
        tasks = (await read_view(debate.client, debate.step, "tasks"))["tasks"]
        assert [turn["seat"] for turn in spoken] == ["Ada"]
        assert [task["seat"] for task in tasks if task["state"] == "done"] == ["Ada"]

        assert "goes on with its next round" in await debate.intervene("resume")
        step = await call(debate.client, "step_round", debate_id=debate.step["debate_id"])
        assert [turn["agent"] for turn in step["turns"]] == ["Ada", "Bob"]


async def test_concluded_the_answer_on_its_way_is_kept_and_judged(open_modern: Any) -> None:
    async with in_flight(open_modern) as debate:
        await debate.intervene("replace_model", to="Ada", model="mine")
        why = await expect_tool_error(
            debate.client, "intervene", debate_id=debate.step["debate_id"], action="conclude"
        )
        assert "Nobody has spoken yet" in why
        await debate.turns(2)
        assert "are kept; then the debate ends" in await debate.intervene("conclude")
        verdict = await call(debate.client, "get_verdict", debate_id=debate.step["debate_id"])
    assert (verdict["status"], verdict["reason"]) == ("concluded", "request: concluded on request")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"action": "fly"}, "There is no action 'fly'. Actions: pause, resume, "),
    ({"action": "extend", "rounds": -1}, "`rounds` must be at least 0"),
    ({"action": "extend", "limits": {"max_calls": "x"}}, "`limits.max_calls` must be a whole number"),
    ({"action": "extend", "limits": {"nope": 1}}, "`limits.nope` is unknown. There are: max_calls,"),
    ({"action": "extend", "limits": {"on_budget": "stop"}}, "must be one of conclude, pause"),
    (
        {"action": "weights", "weights": [{"judge": "judge 1"}]},
        "`weights` must be a list of {voter, weight}.",
    ),
    ({"action": "weights", "weights": [{"voter": "x", "weight": 1}] * 2}, "`weights` names 'x' twice."),
    ({"action": "threshold", "threshold": "1/" + "9" * 50}, "`threshold` may have 20 characters at most."),
    ({"action": "resume"}, "The debate is not paused. Run its next round to go on."),
    ({"action": "pause", "reasn": "lunch"}, "`reasn` is unknown."),
]


async def test_what_cannot_be_done_is_answered_in_sentences(open_modern: Any) -> None:
    async with open_modern() as client:
        step = await call(client, "start_debate", question="Ship?", debaters=PLAIN)
        for wrong, why in WRONG:
            told = await expect_tool_error(client, "intervene", debate_id=step["debate_id"], **wrong)
            assert why in told
            assert not any(word in told for word in MOST_WORDS), told
        assert (await read_view(client, step, "interventions"))["log"] == []
