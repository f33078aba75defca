"""Results as they arrive: each form complete by itself, and short, whatever was said and by how many."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ruamel.yaml import YAML

from server.models import ModelError, Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.client_calls import byte_count, call, read_text, result_text
from tests.support.mcp_debates import run_debate
from tests.support.paths import ROOT

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N17", "M4")]

HOSTILE = ["\U0001f4a5", '"\\\n', "\u2028\u202e<b>"]
"""Texts that grow when they are written as JSON or as UTF-8, or that look like ours."""

COMMON = {"debate_id", "status", "working", "reason", "next", "transcript_uri"}


def measure(result: Any) -> tuple[int, int]:
    """(characters of the structured result in JSON, bytes of the text)."""
    return len(json.dumps(result.structured_content)), sum(byte_count(part.text) for part in result.content)


def crowd(piece: str) -> list[dict[str, str]]:
    """As many debaters as there may be, with long names and stances."""
    name = (piece if piece.isprintable() else "N") * 36
    return [{"name": f"{name[:36]} {n}", "stance": f"{n}" + (piece * 490)[:490]} for n in range(1, 27)]


@pytest.mark.full
@pytest.mark.requirement("N8")
@pytest.mark.parametrize("piece", HOSTILE)
async def test_every_result_is_short_at_26_debaters_who_write_4000_characters(
    open_modern: Any, piece: str
) -> None:
    long = (piece * 4_000)[:4_000]

    def answer(request: Request) -> str:
        if request.prompt.summary.task != "judgment":
            return long
        return json.dumps({"winner": None, "verdict": long, "reasoning": long, "margin": 2})

    judges = {"models": [f"mine?{number}" for number in range(9)]}
    models = {name: ScriptedModel(answer) for name in ("mine", *judges["models"])}
    async with open_modern(models, "mine") as client:
        asked = {"question": (piece * 9_000)[:9_000], "debaters": crowd(piece), "options": {"judges": judges}}
        started = await client.call_tool("start_debate", {**asked, "format": "verdict"})
        this = {"debate_id": started.structured_content["debate_id"]}
        stepped = await client.call_tool("step_round", this)
        steered = await client.call_tool("intervene", {**this, "action": "inject", "text": long})
        while stepped.structured_content["status"] == "ready":
            stepped = await client.call_tool("step_round", this)
        found = await client.call_tool("get_verdict", this)
        listed = await client.call_tool("find_debates", {})
        transcript = await read_text(client, this["debate_id"])
        page = await client.call_tool("read_debate", this)

    assert found.structured_content["status"] == "concluded"
    for result in (started, stepped, steered, found, listed):
        data, text = measure(result)
        assert data < 16_000
        assert text < 4_000
        for line in (*result.structured_content.get("left_out", ()), *result_text(result).splitlines()):
            assert not line.startswith("Shortened here") or "Whole: read_debate(" in line
    assert found.structured_content["left_out"]
    assert len(json.dumps(page.structured_content)) < 40_000
    assert len(json.dumps(page.content[0].text)) < 40_000
    assert len(transcript) > 100_000


@pytest.mark.full
@pytest.mark.requirement("D3")
@pytest.mark.parametrize("silent", [24, 26])
async def test_many_failures_leave_room_for_the_talk_and_advice(open_modern: Any, silent: int) -> None:
    def answer(request: Request) -> str:
        if int(request.seat.split()[-1]) > 26 - silent:
            raise ModelError("unavailable", f"{request.seat}: " + "猫" * 900)
        return "猫" * 2000

    async with open_modern({"mine": ScriptedModel(answer)}, "mine") as client:
        debate_id = (await call(client, "start_debate", question="Q?", debaters=crowd("猫")))["debate_id"]
        step = await client.call_tool("step_round", {"debate_id": debate_id})
        verdict = await client.call_tool("get_verdict", {"debate_id": debate_id})

    assert len(step.structured_content.get("turns", ())) == 26 - silent
    assert step.structured_content["failures"]
    for result in (step, verdict):
        assert measure(result)[1] < 4_000
        assert "Shortened here:" in result_text(result)
        assert result_text(result).endswith(f"Next: {result.structured_content['next']}.")
    assert result_text(verdict).startswith("No verdict yet. Debate")


async def test_the_results_of_the_last_step_and_of_a_run_hold_all_of_the_verdict(open_modern: Any) -> None:
    async with open_modern() as client:
        ran = await run_debate(client)
        stepped = await call(client, "step_round", debate_id=ran["debate_id"])
        found = await call(client, "get_verdict", debate_id=ran["debate_id"])

    assert found["votes"]
    assert found["cost_usd"]
    for result in (ran, stepped):
        assert {name: result[name] for name in found} == found


async def test_every_result_names_the_transcript_and_no_block_is_a_link(open_modern: Any) -> None:
    async with open_modern() as client:
        started = await client.call_tool("start_debate", {"question": "Q?", "options": {"framing": False}})
        this = {"debate_id": started.structured_content["debate_id"]}
        answers = [
            started,
            await client.call_tool("intervene", {**this, "action": "inject", "text": "Mind the cost."}),
            await client.call_tool("step_round", this),
            await client.call_tool("get_verdict", {**this, "wait_seconds": 0}),
            await client.call_tool("read_debate", this),
            await client.call_tool("fork_debate", {**this, "at_round": 1}),
        ]

    for answer in answers:
        uri = f"debate://{answer.structured_content['debate_id']}/transcript"
        assert answer.structured_content["transcript_uri"] == uri
        assert set(answer.structured_content) >= COMMON
        assert {part.type for part in answer.content} == {"text"}
        assert f"Transcript: {uri}" in answer.content[-1].text


PLAY: dict[str, Any] = YAML(typ="safe").load((ROOT / "packaging" / "demo.yaml").read_text(encoding="utf-8"))
"""A second opinion of usual length: 200 words of report."""


def play(request: Request) -> str:
    summary = request.prompt.summary
    if summary.task == "report":
        return json.dumps(PLAY["report"])
    place = int(request.seat.split()[-1]) - 1
    if summary.task == "advice":
        return json.dumps([*PLAY["answers"].values()][place])
    one, two = summary.choices if place == 0 else reversed(summary.choices)
    texts = json.dumps([*PLAY["reviews"].values()][place])
    labelled = texts.replace("{one}", one).replace("{two}", two)
    return labelled.replace('"one"', f'"{one}"').replace('"two"', f'"{two}"')


@pytest.mark.parametrize("models", [["a/x", "b/y"], ["a/x"]])
async def test_an_answer_takes_900_tokens_in_both_forms_and_has_nothing_twice(
    open_modern: Any, models: list[str]
) -> None:
    """A token is 4.0 characters of these results, by o200k_base."""
    asked = {"question": PLAY["question"], "models": models, "run": True}
    async with open_modern({name: ScriptedModel(play, name=name) for name in models}) as client:
        ran = await client.call_tool("start_debate", asked)
        this = {"debate_id": ran.structured_content["debate_id"]}
        stepped = await client.call_tool("step_round", this)
        found = await client.call_tool("get_verdict", this)

    for result in (ran, stepped, found):
        data, text = result.structured_content, result_text(result)
        assert len(json.dumps(data, ensure_ascii=False, separators=(",", ":"))) + len(text) < 900 * 4.0
        values = [*walk_values(data)]
        assert [value for value in values if value in ("", [], {})] == []
        sentences = [value for value in values if isinstance(value, str) and value.count(" ") > 2]
        assert sorted(sentences) == sorted(set(sentences))
        assert data["next"] in text
        assert data["transcript_uri"] not in text  # the next call reads it


def walk_values(value: Any) -> Iterator[Any]:
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in inner:
        yield from walk_values(part)
