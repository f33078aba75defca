"""The caller's seat: turns written by hand, from a client, with models beside it or with none at all."""

import json
from itertools import count
from typing import Any

import anyio
import pytest
from mcp.types import Implementation

from tests.support.client_calls import call, expect_tool_error, read_resource
from tests.support.gated_model import Gate
from tests.support.mcp_debates import call_next, read_verdict, read_view, run_debate
from tests.support.patience import PATIENCE
from tests.support.simulation import build_ballot

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N7")]

FINDING = json.dumps(
    {"verdict": "It is right.", "winner": "for", "reasoning": "The other side never answered.", "margin": 2}
)
ONCE = {"judges": {"both_orders": False}}
TWO = [{"name": "Me", "stance": "yes", "model": "caller"}, {"name": "Bot", "stance": "no"}]


async def by_hand(client: Any, step: dict[str, Any], until: int = 0) -> dict[str, Any]:
    """Write every turn that is awaited, round by round, up to the end of a round or of the debate."""
    readings = count(1)
    while step["status"] in ("ready", "running", "waiting") and not (until and step["round"] == until + 1):
        if step["status"] in ("ready", "running"):
            step = await call_next(client, step)
            continue
        turn = step["awaited"][0]
        text = f"{turn['speaker']} speaks in round {step['round']}."
        if turn["task"] == "judgment":
            text = FINDING.replace("never", f"in reading {next(readings)} never")
        if turn["task"] == "ballot":
            text = json.dumps(build_ballot("Proponent", percent=50 + step["round"] * 10))
        step = await call(
            client, "submit_turn", debate_id=step["debate_id"], speaker=turn["speaker"], text=text
        )
    return step


async def begun(client: Any, **more: Any) -> dict[str, Any]:
    """A debate that waits for its first turn."""
    started = await call(client, "start_debate", question="Ship it?", **{"models": ["caller"], **more})
    return started if started["status"] == "waiting" else await call_next(client, started)


@pytest.mark.requirement("M4")
async def test_a_whole_debate_is_played_by_hand_without_any_model(open_modern: Any) -> None:
    async with open_modern(default="local") as client:
        step = await by_hand(client, await begun(client))
        result = await read_view(client, step, "result")
        verdict = await call(client, "get_verdict", debate_id=step["debate_id"])
        whole = await read_verdict(client, step)

    assert step["status"] == "concluded"
    said = [(turn["round"], turn["agent"], turn["text"]) for turn in result["transcript"]]
    assert sorted(said) == [
        (number, name, f"{name} speaks in round {number}.")
        for number in (1, 2)
        for name in ("Opponent", "Proponent")
    ]
    assert (verdict["outcome"], verdict["winner"]) == ("leaning", "Proponent")
    assert verdict["answer"]["recommendation"] == "It is right."
    assert whole["beliefs"]["before"][0] == "Proponent 0.60 (2 votes)"
    assert whole["beliefs"]["after"][0] == "Proponent 0.80 (2 votes)"
    assert verdict["cautions"] == [
        "One caller wrote for Opponent and Proponent: count it as one voice.",
        "One caller wrote for Opponent and Proponent, and was judge 1: it judged its own words.",
    ]
    assert verdict["cost_usd"] == "0"


@pytest.mark.requirement("N10")
async def test_what_the_caller_writes_is_counted_as_turns_and_not_as_calls(open_modern: Any) -> None:
    one = {"max_rounds": 1, "options": {"judges": {"models": ["caller"]}, "limits": {"max_calls": 1}}}
    async with open_modern() as client:
        opened = await begun(client)
        alone = await by_hand(client, opened)
        sides = [{**side, "stance": stance} for side, stance in zip(TWO, ("for", "against"), strict=True)]
        step = await run_debate(client, debaters=sides, format="verdict", **one)
        estimate = step["estimate"]
        step = await by_hand(client, step)
        usage = await read_view(client, step, "usage")
        progress = await read_view(client, step, "tasks")

    assert opened["estimate"] == "Estimate: no calls, 10 turns of the caller."  # ballots of both, twice
    assert alone["estimate"] == ""  # it has ended, and the cost says what it took
    assert alone["answer"]["cost"] == "No calls, 10 turns of the caller."
    assert estimate.startswith("Estimate: 1 call, 3 turns of the caller, ")
    assert step["status"] == "concluded", step[
        "reason"
    ]  # of one call nothing is kept for the caller's verdict
    assert step["answer"]["cost"].startswith("1 call, 3 turns of the caller, ")
    assert (usage["total"]["calls"], usage["total"]["caller_turns"]) == (1, 3)
    assert [*usage["models"]] == ["scripted"]
    assert len(progress["tasks"]) == 4


async def test_two_callers_who_write_a_side_each_are_two_voices(open_modern: Any) -> None:
    both = [{**side, "model": "caller"} for side in TWO]
    other = Implementation(name="other", version="1")
    async with open_modern() as one, open_modern(client_info=other) as two:
        step = await run_debate(one, debaters=both, options={"ballots": "none"})
        while step["status"] == "waiting":
            speaker = step["awaited"][0]["speaker"]
            turn = {"debate_id": step["debate_id"], "speaker": speaker, "text": f"In round {step['round']}."}
            step = await call(two if speaker == "Me" else one, "submit_turn", **turn)

    assert step["status"] == "concluded"
    assert not [caution for caution in step["cautions"] if "caller" in caution]


@pytest.mark.requirement("M4")
async def test_while_a_turn_is_awaited_the_debate_says_so_everywhere(open_modern: Any) -> None:
    async with open_modern() as client:
        running = await call(client, "start_debate", question="Another?")
        step = await begun(client, options={"ballots": "none"})
        found = await call(client, "find_debates", status="waiting")
        verdict = await call(client, "get_verdict", debate_id=step["debate_id"])
        state = json.loads(await read_resource(client, f"debate://{step['debate_id']}"))
        prompt = await client.call_tool("read_debate", {"debate_id": step["debate_id"], "view": "prompt"})
        none = await client.call_tool("read_debate", {"debate_id": running["debate_id"], "view": "prompt"})

    asked = "The caller is to write for Proponent, Opponent: call submit_turn."
    assert (step["status"], step["working"], step["reason"]) == ("waiting", False, asked)
    assert step["next"] == f"submit_turn(debate_id='{step['debate_id']}', speaker='Proponent', text=…)"
    assert [row["debate_id"] for row in found["debates"]] == [step["debate_id"]]
    assert (verdict["status"], verdict["next"]) == ("waiting", step["next"])
    assert (state["status"], state["awaiting"]) == ("waiting", ["Proponent", "Opponent"])
    assert [turn["speaker"] for turn in step["awaited"]] == ["Proponent", "Opponent"]
    whole = prompt.content[0].text
    assert prompt.structured_content["text"] == whole
    assert whole.startswith(f"**The rules of every turn**\n{step['rules']}\n\n**Proponent** (argument)")
    assert step["awaited"][0]["prompt"] in whole
    assert whole.count("Your position:") == 2
    assert none.content[0].text == "No turn is expected from the caller."


@pytest.mark.requirement("N1", "M4")
async def test_a_caller_is_asked_for_its_ballot_and_told_exactly_what_to_send(open_modern: Any) -> None:
    async with open_modern() as client:
        started = await run_debate(client, debaters=TWO)
        this = {"debate_id": started["debate_id"], "speaker": "Me"}
        told = await call(client, "get_verdict", debate_id=this["debate_id"], wait_seconds=0)
        refused = await expect_tool_error(client, "submit_turn", **this, text="I am for it.")
        shape = json.loads(told["next"].partition("in JSON: ")[2].removesuffix(".").replace("percent", "0"))
        shape["beliefs"] |= {"Me": 30, "Bot": 60, "none": 10}
        step, tasks = await call(client, "submit_turn", **this, text=json.dumps(shape)), []
        while step["status"] == "waiting":
            tasks.append(step["awaited"][0]["task"])
            text = json.dumps(shape) if tasks[-1] == "ballot" else f"Point {len(tasks)}."
            step = await call(client, "submit_turn", **this, text=text)
        beliefs = (await read_verdict(client, step))["beliefs"]

    assert started["reason"] == told["reason"]
    assert started["reason"].startswith("The caller is to write for Me (a private ballot): call submit_turn.")
    assert "A private ballot, apart from the debate" in started["awaited"][0]["prompt"]
    assert shape["beliefs"].keys() == {"Me", "Bot", "none"}
    assert refused.startswith("Error: This is not the private ballot that Me was asked for: ")
    assert tasks == ["argument", "argument", "ballot"]  # the same ballot again is no repeat of the first
    assert "Bot 0.35 (1 vote)" in beliefs["before"]
    assert "Me" in beliefs["against_public"]


async def test_of_two_clients_who_submit_one_turn_at_once_one_is_told(open_modern: Any) -> None:
    told: list[str] = []
    async with open_modern() as one, open_modern() as two:
        step = await begun(one, format="verdict")

        async def submit(client: Any, text: str) -> None:
            arguments = {"debate_id": step["debate_id"], "speaker": "Proponent", "text": text}
            result = await client.call_tool("submit_turn", arguments)
            if result.is_error:
                told.append(result.content[0].text)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as both:
                both.start_soon(submit, one, "From one.")
                both.start_soon(submit, two, "From two.")
        result = await read_view(two, step, "result")

    assert len(told) == 1
    assert "No turn of 'Proponent' is awaited. Awaited: Opponent." in told[0]
    assert len(result["transcript"]) == 1


async def test_a_turn_may_be_submitted_while_a_model_still_writes_its_own(open_modern: Any) -> None:
    gate = Gate()
    async with open_modern({"bot": gate.model}, "bot") as client:
        started = await run_debate(client, debaters=TWO, wait_seconds=0, options={"ballots": "none"})
        with anyio.fail_after(PATIENCE):
            await gate.first_call.wait()
        mine = {"debate_id": started["debate_id"], "speaker": "Me", "wait_seconds": 0}
        step = await call(client, "submit_turn", **mine, text="I am first.")
        early = await expect_tool_error(client, "submit_turn", **mine, text="And again.")
        gate.release.set()
        verdict = await call(client, "get_verdict", debate_id=started["debate_id"])
        result = await read_view(client, step, "result")

    assert (step["status"], step["working"]) == ("running", True)
    assert "No turn is expected from the caller now. Run the next round to go on." in early
    assert verdict["status"] == "waiting"
    assert verdict["reason"].startswith("The caller is to write for Me: call submit_turn.")
    assert {turn["agent"] for turn in result["transcript"] if turn["round"] == 1} == {"Me", "Bot"}


@pytest.mark.parametrize(
    ("name", "more", "tasks"),
    [
        ("settle", {"max_rounds": 1}, ["ballot"] * 2 + ["argument"] * 2 + ["closing"] + ["ballot"] * 2),
        ("handoff", {"options": {"limits": {"max_turns": 2}, **ONCE}}, ["argument", "argument", "judgment"]),
        (
            "round_robin",
            {"max_rounds": 1, "options": {"referee": True}},
            ["ballot"] * 2 + ["argument"] * 2 + ["audit", "deliverable"] + ["ballot"] * 2,
        ),
        (
            "verdict",
            {"max_rounds": 1, "options": {"moderator": {}, **ONCE}},
            ["opening", "argument", "argument", "judgment"],
        ),
        (
            "verdict",
            {"options": {"phases": ["opening", "cross_examination", "voting"]}},
            ["argument"] * 2 + ["message"] * 2 + ["answer"] * 2 + ["ballot"] * 2,
        ),
    ],
)
async def test_every_seat_there_is_can_be_the_caller_s(
    open_modern: Any, name: str, more: dict[str, Any], tasks: list[str]
) -> None:
    written = {
        "closing": "SUMMARY: Clear.\nSTATUS: SETTLED\nDECISION: Ship.",
        "judgment": FINDING,
        "opening": json.dumps({"next_speakers": ["Opponent", "Proponent"], "done": False}),
        "ballot": json.dumps(build_ballot("for")),
    }
    asked = []
    async with open_modern() as client:
        step = await begun(client, format=name, run=True, **more)
        while step["status"] == "waiting":
            turn = step["awaited"][0]
            asked.append(turn["task"])
            other = "Opponent" if turn["speaker"] == "Proponent" else "Proponent"
            message = json.dumps({"to": other, "text": "Why?"})
            text = {**written, "message": message}.get(turn["task"], "Because. Transition to Opponent")
            arguments = {"debate_id": step["debate_id"], "speaker": turn["speaker"], "text": text}
            step = await call(client, "submit_turn", **arguments)

    assert step["status"] == "concluded", step
    assert asked == tasks
