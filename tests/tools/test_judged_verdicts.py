"""What a client is told where judges agree, divide, contradict themselves, find for nobody, or miss nothing."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from tests.support.client_calls import call
from tests.support.mcp_debates import build_scripted_model, read_verdict

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C8", "C20")]

FAMILIES = ("openai/gpt-5", "anthropic/claude", "google/gemini", "mistral/large", "deepseek/chat", "xai/grok")
SIDES = [{"name": "Ada", "stance": "keep Postgres"}, {"name": "Ben", "stance": "add Kafka"}]
JUDGES = ("one", "two", "three", "four", "five", "six")

Finding = dict[str, Any]


def find(winner: str | None, **told: Any) -> Finding:
    share = {"Ada": 0, "Ben": 0, "none": 0} | {winner or "none": 100}
    return {"winner": winner, "beliefs": share, "reasoning": "Long.", "verdict": f"It is {winner}.", **told}


OWN = find(None, recommendation="Use a managed queue.", probability=80)
HALF_SURE = find("Ada", beliefs={"Ada": 45, "Ben": 40, "none": 15})
CONTRADICTION: Sequence[Finding] = [find("Ada", verdict="Clearly Ada."), find("Ben", verdict="Clearly Ben.")]


async def judge(open_modern: Any, *panel: Finding | Sequence[Finding]) -> tuple[Any, str, str]:
    """(the verdict as data, its text, the text of its view) of a debate whose judges say this in both readings."""
    models = {}
    for name, family, said in zip(JUDGES, FAMILIES, panel, strict=False):
        readings: list[Any] = [said, said] if isinstance(said, dict) else [*said]
        models[name] = build_scripted_model(judgment=readings)
        models[name].name = family
    asked = {
        "question": "Where do jobs wait?",
        "debaters": SIDES,
        "format": "advocates",
        "models": ["p", "q"],
        "options": {"judges": {"models": [*models]}, "ballots": "none"},
    }
    talkers = {"p": ScriptedModel(name="v/p"), "q": ScriptedModel(name="w/q")}
    async with open_modern({**models, **talkers}) as client:
        started = await call(client, "start_debate", **asked, run=True, wait_seconds=30)
        found = await client.call_tool("get_verdict", {"debate_id": started["debate_id"], "wait_seconds": 30})
        view = await client.call_tool("read_debate", {"debate_id": started["debate_id"], "view": "verdict"})
    return found.structured_content, found.content[0].text, view.content[0].text


@pytest.mark.parametrize(
    ("panel", "outcome", "head"),
    [
        ([find("Ada")] * 2, "decided", "Agreed (2 of 2 judges, 2 families)"),
        ([HALF_SURE] * 2, "leaning", "Leaning (2 of 2 judges, 2 families)"),
        ([find("Ada"), OWN], "leaning", "Leaning (1 of 2 judges, 1 family)"),
        ([find("Ada"), CONTRADICTION[::-1]], "leaning", "Leaning (1 of 2 judges, 1 family)"),
        ([find("Ada"), find("Ben")], "contested", "Divided"),
        ([find("Ada"), find("Ada"), find("Ben")], "contested", "2 of 3 judges advise"),
        ([find("Ada")] * 4 + [find("Ben")] * 2, "contested", "4 of 6 judges advise"),
        ([OWN, OWN, find("Ada")], "synthesis", "None of the positions (2 of 3 judges)"),
        ([CONTRADICTION, CONTRADICTION[::-1]], "undecided", "Open"),
    ],
)
async def test_the_first_words_say_what_judges_did(
    open_modern: Any, panel: Sequence[Any], outcome: str, head: str
) -> None:
    found, text, _ = await judge(open_modern, *panel)
    assert (found["outcome"], found["answer"]["head"]) == (outcome, head)
    assert text.startswith(f"**{head}**: ")
    assert "No finding" not in text
    assert "The talk ended" not in text  # it took its course, and nobody acts on that
    assert "margin" not in text


async def test_the_words_of_every_judge_are_found_whatever_came_of_them(open_modern: Any) -> None:
    found, text, view = await judge(
        open_modern, find("Ada"), find("Ben", verdict="Ben, for scale."), OWN, CONTRADICTION
    )
    said = ["It is Ada.", "Ben, for scale.", "Use a managed queue.", "Clearly Ada.", "Clearly Ben."]
    assert found["outcome"] == "contested"
    assert all(words in text for words in said)
    assert all(words in view for words in said)
    assert [one["side"] for one in found["answer"]["findings"][:2]] == ["Ada", "Ben"]


async def test_an_error_that_both_sides_share_is_corrected_before_anybody_is_quoted(open_modern: Any) -> None:
    told = {
        "recommendation": "Keep it, and watch the disk.",
        "corrected": "A row takes 8 kB at most, not 8 MB.",
        "missed": "Backups.",
        "next": "Measure a week.",
        "would_change": "Ten thousand jobs a second.",
        "probability": 80,
    }
    found, text, _ = await judge(
        open_modern, find("Ada", **told), find("Ben", **{**told, "recommendation": "Move."})
    )
    lines = [line.split("**")[1] for line in text.splitlines() if line.startswith("**")]
    assert lines[:5] == ["Divided", "Corrected", "Next", "Also found", "Changes if"]
    assert found["answer"]["corrected"] == [{"text": told["corrected"]}]
    assert '"Move."' in text


async def test_it_is_corrected_before_the_reasons_where_judges_agree(open_modern: Any) -> None:
    told = {"recommendation": "Keep it.", "corrected": "A row takes 8 kB at most, not 8 MB."}
    _, text, _ = await judge(open_modern, find("Ada", **told), find("Ada", **told))
    lines = [line.split("**")[1] for line in text.splitlines() if line.startswith("**")]
    assert lines[:3] == ["Agreed (2 of 2 judges, 2 families)", "Corrected", "Because"]


@pytest.mark.parametrize(
    ("panel", "outcome"),
    [
        (["Ben", "Ben"], "leaning"),
        (["Ben", "Ben", "Ada"], "contested"),  # a side that is ahead only is held against them as well
        ([None, None], "synthesis"),
    ],
)
async def test_a_verdict_against_the_private_ballots_is_not_decided_and_says_so_first(
    open_modern: Any, panel: list[str | None], outcome: str
) -> None:
    def vote_for_ada(request: Request) -> str:
        summary = request.prompt.summary
        if summary.task != "ballot":
            return build_reply_text(request)
        label = next(label for label, stance in summary.positions if stance == "keep Postgres")
        shares = {name: 0 for name, _ in summary.positions} | {label: 90, "none": 10}
        return json.dumps({"position": "I hold it.", "beliefs": shares, "would_check": "x", "moved_by": None})

    models = {f"p{n}": ScriptedModel(vote_for_ada, name=f"v{n}/x") for n in (1, 2)}
    for name, family, winner in zip(JUDGES, FAMILIES, panel, strict=False):
        models[name] = build_scripted_model(judgment=find(winner) if winner else OWN)
        models[name].name = family
    async with open_modern(models) as client:
        started = await call(
            client,
            "start_debate",
            question="Where do jobs wait?",
            debaters=SIDES,
            format="advocates",
            models=["p1", "p2"],
            options={"judges": {"models": [*JUDGES[: len(panel)]]}, "ballots": "blind"},
            run=True,
            wait_seconds=30,
        )
        found = await client.call_tool("get_verdict", {"debate_id": started["debate_id"], "wait_seconds": 30})
    assert found.structured_content["outcome"] == outcome
    assert found.structured_content["cautions"][:1] == [
        "In private, before and after the talk, the debaters' models thought Ada's position the likeliest."
    ]
    assert found.content[0].text.count("In private") == 1


@pytest.mark.parametrize("format_name", ["round_robin", "settle"])
async def test_what_a_panel_without_judges_holds_in_private_stands_with_its_result(
    open_modern: Any, format_name: str
) -> None:
    models = {name: ScriptedModel(name=f"{name}/x") for name in ("v", "w")}
    panel = [{"name": "Ada", "role": "engineer"}, {"name": "Ben", "role": "buyer"}]
    asked = {"question": "Where do jobs wait?", "debaters": panel, "models": [*models]}
    async with open_modern(models) as client:
        options = {"ballots": "blind"}
        found = await call(
            client, "start_debate", **asked, format=format_name, options=options, run=True, wait_seconds=30
        )
        answer = (await read_verdict(client, found))["answer"]
    findings = answer["findings"]
    assert [one["seat"] for one in findings] == ["Ada", "Ben"]
    assert not answer["against"]  # no side won, and a moderator's decision is none
    assert all("is the easiest to undo" in one["text"] for one in findings)


@pytest.mark.requirement("N3")
async def test_that_all_models_are_of_one_family_is_said_whoever_sells_them(open_modern: Any) -> None:
    sold = ("openrouter/anthropic/claude-5", "bedrock/us.anthropic.claude-5-v1:0", "vertex_ai/claude-4")
    models = {name: ScriptedModel(name=model) for name, model in zip(("p", "q", "r"), sold, strict=True)}
    debaters = [{**side, "model": model} for side, model in zip(SIDES, ("p", "q"), strict=True)]
    asked = {
        "question": "Where do jobs wait?",
        "debaters": debaters,
        "models": ["r"],
        "format": "round_robin",
    }
    async with open_modern(models) as client:
        found = await client.call_tool("start_debate", {**asked, "run": True, "wait_seconds": 30})
    assert "one family (anthropic)" in found.content[0].text.replace("one model family", "one family")
