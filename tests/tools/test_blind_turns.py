"""While a turn of the caller's is awaited, what others wrote at the same time is nowhere to be read."""

import json
from typing import Any

import pytest

from server.models import ModelError, Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.client_calls import call, result_text
from tests.support.mcp_debates import read_everything, read_transcript, read_view
from tests.support.simulation import build_ballot

pytestmark = pytest.mark.requirement("N7", "C17")

SECRET = "zebra"
"""A word of the models' answers of a round that the caller takes part in."""

ME, BOT, TOM = (
    {"name": "Me", "stance": "yes", "model": "caller"},
    {"name": "Bot", "stance": "no", "model": "bot"},
    {"name": "Tom", "stance": "later", "model": "bot"},
)
NO_BALLOTS = {"ballots": "none"}
JUDGES = {"models": ["caller", "bot"], "both_orders": False}
TABLES: dict[str, dict[str, Any]] = {
    "private": {"debaters": [ME, BOT, TOM]},
    "argument": {"debaters": [ME, BOT, TOM], "options": {"ballots": "none"}},
    "message": {
        "debaters": [ME, BOT, TOM],
        "options": {"phases": ["cross_examination", "voting"], "ballots": "none"},
    },
    "ballot": {"debaters": [ME, BOT, TOM], "options": {"phases": ["voting", "opening"]}},
    "judgment": {
        "debaters": [BOT, TOM],
        "max_rounds": 1,
        "options": {"phases": ["opening", "verdict"], "judges": JUDGES},
    },
}
OWN = {
    "private": json.dumps(build_ballot("Me")),
    "argument": "It pays.",
    "message": json.dumps({"to": "Bot", "text": "Why?"}),
    "ballot": json.dumps(build_ballot("Me")),
    "judgment": json.dumps({"verdict": "It is so.", "winner": "Bot", "reasoning": "Shown.", "margin": 2}),
}


def build_bot(task: str) -> ScriptedModel:
    finding = {"verdict": f"A {SECRET}.", "winner": "Tom", "reasoning": f"Of a {SECRET}.", "margin": 3}

    def answer(request: Request) -> str:
        asked = request.prompt.summary.task
        word = SECRET if asked == ("ballot" if task == "private" else task) else "horse"
        return {
            "message": json.dumps({"to": "Tom" if request.seat == "Bot" else "Bot", "text": f"A {word}?"}),
            "ballot": json.dumps(build_ballot("Tom", f"A {word}.")),
            "judgment": json.dumps(finding),
        }.get(asked, f"A {word} of {request.seat}.")

    return ScriptedModel(answer)


@pytest.mark.full
@pytest.mark.anyio
@pytest.mark.parametrize("task", TABLES)
async def test_it_is_in_nothing_that_a_client_can_read_before_the_caller_s_own_is_in(
    open_modern: Any, task: str
) -> None:
    asked = {"question": "Ship it?", "run": True, "models": ["bot"], "options": {}, **TABLES[task]}
    asked["options"] = {**asked["options"], "framing": False}
    async with open_modern({"bot": build_bot(task)}) as client:
        started = await client.call_tool("start_debate", asked)
        step = started.structured_content
        assert step["status"] == "waiting", step
        this = {"debate_id": step["debate_id"]}
        stepped = await client.call_tool("step_round", this)
        others = [
            str(result.content) + json.dumps(result.structured_content) for result in (started, stepped)
        ]
        others += await read_everything(client, step["debate_id"])
        found = (await call(client, "find_debates", query=SECRET))["debates"]
        tally = (await read_view(client, step, "result")).get("ballots", {"votes": {}})
        counted = (await read_view(client, step, "analysis"))["debaters"]["Bot"]["words"]
        mine = {**this, "speaker": step["awaited"][0]["speaker"], "text": OWN[task]}
        step = await call(client, "submit_turn", **mine)
        if task == "private":  # shown when the debate has ended
            for text in ("It pays.", "It pays still.", OWN[task]):
                others += await read_everything(client, step["debate_id"])
                step = await call(client, "submit_turn", **{**mine, "text": text})
        later = await read_everything(client, step["debate_id"])

    assert not [text for text in others if SECRET in text]
    assert (found, tally["votes"]) == ([], {})
    assert (counted > 0) == (task == "judgment")  # only then it has spoken before
    shown = (
        "are shown when the debate has ended" if task == "private" else "is shown when the round is complete"
    )
    assert shown in result_text(started)
    assert any(SECRET in text for text in later)


@pytest.mark.anyio
async def test_an_own_turn_is_hidden_from_the_caller_s_other_seats(open_modern: Any) -> None:
    sides = [{**side, "model": "caller"} for side in (ME, BOT)]
    async with open_modern() as client:
        step = await call(
            client, "start_debate", question="Ship it?", debaters=sides, run=True, options=NO_BALLOTS
        )
        mine = {"debate_id": step["debate_id"], "speaker": "Me", "text": f"A {SECRET}."}
        submitted = await call(client, "submit_turn", **mine)
        before = await read_everything(client, step["debate_id"])
        both = await call(client, "submit_turn", **{**mine, "speaker": "Bot", "text": "No."})
        transcript = await read_transcript(client, step)

    assert submitted["turns"] == []
    assert submitted["reason"].endswith("What was written by Me is shown when the round is complete.")
    assert not [text for text in before if SECRET in text]
    assert both["round"] == 2
    assert SECRET in transcript


@pytest.mark.anyio
async def test_what_is_told_of_an_answer_that_could_not_be_used_is_hidden_too(open_modern: Any) -> None:
    def answer(request: Request) -> str:
        if request.seat == "Tom":
            raise ModelError("refused", f"it would not say {SECRET}")
        return "No."

    asked = {"question": "Ship it?", "run": True, "models": ["bot"], "debaters": [ME, BOT, TOM]}
    asked["options"] = NO_BALLOTS
    async with open_modern({"bot": ScriptedModel(answer)}) as client:
        step = await call(client, "start_debate", **asked)
        before = [json.dumps(step), *await read_everything(client, step["debate_id"])]
        later = await call(
            client, "submit_turn", debate_id=step["debate_id"], speaker="Me", text="It pays.", wait_seconds=0
        )

    assert not [text for text in before if SECRET in text]
    assert "Tom (bot): not shown before the caller's own answer is in (refused)" in step["failures"]
    assert SECRET in json.dumps(later["failures"])
