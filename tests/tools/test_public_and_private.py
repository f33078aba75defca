"""What a client is told where what debaters say is not what they hold."""

import json
from typing import Any

import pytest

from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from tests.support.client_calls import call
from tests.support.mcp_debates import read_verdict, read_view

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D13")]

PLANS = {"Ada": "keep Postgres", "Ben": "add Kafka", "Cleo": "buy a queue"}
DOCUMENT = {"title": "Report", "text": "The build takes forty minutes on every machine that we have."}


def agree_in_public(request: Request) -> str:
    """Says that it holds Ada's position, and chooses its own in private."""
    summary, schema = request.prompt.summary, request.prompt.schema or {}
    if summary.task == "argument":
        labels = schema["properties"]["holds"]["enum"]
        return json.dumps({"response": "[1] Ada has it right.", "holds": labels[0]})
    if summary.task == "ballot":
        own = next(label for label, stance in summary.positions if stance == PLANS[request.seat])
        shares = {label: 5 for label, _ in summary.positions} | {own: 85, "none": 5}
        fields = dict.fromkeys(("moved_by", "new_point", "open_point"))
        return json.dumps({"position": "Mine.", "beliefs": shares, "would_check": "x", **fields})
    if summary.task == "closing":
        return json.dumps({"summary": "All agree.", "status": "SETTLED", "decision": "Keep Postgres."})
    return build_reply_text(request)


def build_team(count: int) -> list[dict[str, str]]:
    team = [{"name": name, "stance": stance, "model": name.lower()} for name, stance in PLANS.items()]
    return team[:count]


async def hold(client: Any, **asked: Any) -> dict[str, Any]:
    started: dict[str, Any] = await call(
        client,
        "start_debate",
        question="Where do jobs wait?",
        **{"debaters": build_team(3), "models": ["ada", "ben"], **asked},
        run=True,
        wait_seconds=30,
    )
    return started


@pytest.mark.parametrize("form", ["settle", "round_robin"])
async def test_agreement_in_public_over_a_split_in_private_is_told_in_the_first_lines(
    open_modern: Any, form: str
) -> None:
    models = {name.lower(): ScriptedModel(agree_in_public, name=f"{name}/x") for name in PLANS}
    async with open_modern(models) as client:
        started = await hold(client, format=form)
        found = await client.call_tool("get_verdict", {"debate_id": started["debate_id"], "wait_seconds": 30})
        view = await read_verdict(client, started)
    told = "What is said is not what is held: 2 of 3 debaters choose otherwise in private than they say"
    assert told in found.structured_content["cautions"][0]
    assert told in found.content[0].text
    assert view["signals"][0]["raised"]


async def test_it_is_challenged_by_itself_and_the_question_stays_open(open_modern: Any) -> None:
    models = {name.lower(): ScriptedModel(agree_in_public, name=f"{name}/x") for name in PLANS}
    async with open_modern(models) as client:
        started = await hold(client, format="settle", options={"challenges": "challenge"})
        transcript = await client.call_tool("read_debate", {"debate_id": started["debate_id"]})
        state = await read_view(client, started, "state")
    assert state["rounds_of_talk"] == 2
    assert "What is said here is not what is held in private." in transcript.content[0].text


async def test_two_advocates_who_quote_one_document_are_no_echo(open_modern: Any) -> None:
    def quote(request: Request) -> str:
        if request.prompt.summary.task == "argument":
            return f"[1] “The build takes forty minutes on every machine” (doc 1): {request.seat}."
        return build_reply_text(request)

    models = {name.lower(): ScriptedModel(quote, name=f"{name}/x") for name in PLANS}
    async with open_modern(models) as client:
        started = await hold(client, format="advocates", debaters=build_team(2), documents=[DOCUMENT])
        found = await client.call_tool("get_verdict", {"debate_id": started["debate_id"], "wait_seconds": 30})
        view = await read_verdict(client, started)
    assert view["claims"]["checked_quotes"] > 0
    assert (view["signals"], view["alerts"]) == ([], [])
    assert "echo" not in found.content[0].text


@pytest.mark.requirement("N3")
@pytest.mark.parametrize("form", ["settle", "round_robin", "oxford"])
async def test_that_all_models_are_of_one_family_is_said_whoever_sells_them(
    open_modern: Any, form: str
) -> None:
    sold = ("openrouter/anthropic/claude-5", "bedrock/us.anthropic.claude-5-v1:0", "vertex_ai/claude-4")
    models = {name.lower(): ScriptedModel(name=model) for name, model in zip(PLANS, sold, strict=True)}
    async with open_modern(models, "ada") as client:
        started = await hold(client, format=form, debaters=build_team(2), models=["cleo"])
        found = await client.call_tool("get_verdict", {"debate_id": started["debate_id"], "wait_seconds": 30})
    assert "one family (anthropic)" in found.content[0].text.replace("one model family", "one family")
