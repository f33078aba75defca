"""What is hidden from the client is in nothing it can ask for; what is hidden from seats is in no prompt."""

import json
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client

from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.client_calls import call
from tests.support.mcp_debates import build_scripted_model, call_next, read_everything, read_view
from tests.support.simulation import build_ballot

pytestmark = pytest.mark.requirement("C17")

HIDDEN: dict[str, tuple[str, ...]] = {
    "debaters": ("zebra argument", "zebra question", "zebra reply", "zebra ballot"),
    "moderator": ("quokka briefing", "quokka angle", "quokka summary"),
    "referee": ("walrus audit",),
    "observer": ("vicuna reason",),
    "analyst": ("yak wording", "yak doubt"),
    "judges": ("ibex dissent",),
    "synthesizer": ("okapi result",),
}
"""What each kind of seat says in the debate below, and nobody else."""


def debater(request: Request) -> str:
    others = [name for name in ("Ada", "Ben") if name != request.seat]
    return {
        "argument": "A zebra argument.",
        "message": json.dumps({"to": others[0], "text": "A zebra question?"}),
        "answer": "A zebra reply.",
        "ballot": json.dumps(build_ballot("Ada", "A zebra ballot.")),
    }[request.prompt.summary.task]


def observer(request: Request) -> str:
    ada = request.prompt.summary.positions[0][0]
    mark = {"pattern": "rebuttal", "speaker": ada, "words": "A zebra", "why": "A vicuna reason."}
    return json.dumps({"marks": [mark]})


def analyst(request: Request) -> str:
    said = {"speaker": request.prompt.summary.positions[0][0], "words": "A zebra"}
    claims = [{**said, "claim": "A yak wording."}]
    return json.dumps({"claims": claims, "left_out": [{**said, "why": "A yak doubt."}]})


def seats() -> dict[str, ScriptedModel]:
    finding = {"verdict": "Found.", "winner": "Ada", "reasoning": "Because.", "margin": 2}
    return {
        "debater": ScriptedModel(debater),
        "moderator": build_scripted_model(
            opening={
                "next_speakers": ["Ada", "Ben"],
                "briefing": "A quokka briefing.",
                "new_angle": "quokka angle",
            },
            closing={"summary": "A quokka summary.", "status": "CONTINUE"},
        ),
        "referee": build_scripted_model(audit="A walrus audit."),
        "observer": ScriptedModel(observer),
        "analyst": ScriptedModel(analyst),
        **{
            name: replace(build_scripted_model(judgment=finding), name=f"{name}/judge")
            for name in ("x", "y", "z")
        },
        "other": build_scripted_model(judgment={**finding, "winner": "Ben", "verdict": "An ibex dissent."}),
        "synthesizer": build_scripted_model(deliverable="An okapi result."),
    }


async def debated(client: Client, **visibility: list[str]) -> tuple[dict[str, Any], list[str]]:
    """A debate with every kind of seat in it, and all that was returned on the way."""
    returned: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        returned.append(message or "")

    options = {
        "moderator": {"model": "moderator", "opens": True, "closes": True},
        "referee": {"model": "referee"},
        "observer": {"model": "observer"},
        "claims": "extracted",
        "analyst": {"model": "analyst"},
        "synthesizer": {"model": "synthesizer"},
        "judges": {"models": ["x", "y", "z", "other"]},
        "phases": ["argumentation", "cross_examination", "voting", "verdict"],
        "visibility": visibility,
    }
    debaters = [
        {"name": name, "stance": stance, "model": "debater"}
        for name, stance in (("Ada", "now"), ("Ben", "later"))
    ]
    step = await call(client, "start_debate", question="Ship it?", debaters=debaters, options=options)
    while step["status"] in ("ready", "running"):
        step = await call_next(client, step)
        returned.append(json.dumps(step))
        result = await client.call_tool(
            "step_round", {"debate_id": step["debate_id"], "round": step["round"]}, progress_callback=hear
        )
        returned += [str(part) for part in result.content]
    assert step["status"] == "concluded", step
    return step, returned


SEATS_TOGETHER = (("debaters", "referee", "judges"), ("moderator", "observer", "analyst", "synthesizer"))
"""Each kind is hidden once and shown once, but for observer and analyst, who quote debaters."""


@pytest.mark.full
@pytest.mark.anyio
@pytest.mark.parametrize("hidden", SEATS_TOGETHER)
async def test_what_is_hidden_from_the_client_is_nowhere(open_modern: Any, hidden: tuple[str, ...]) -> None:
    words = [word for secrets in HIDDEN.values() for word in secrets]
    async with open_modern(seats(), "debater") as client:
        step, returned = await debated(client, hide_from_client=[*hidden])
        texts = [*returned, *await read_everything(client, step["debate_id"])]
        found = {word: (await call(client, "find_debates", query=word))["debates"] for word in words}

    for kind, secrets in HIDDEN.items():
        is_hidden = kind in hidden or ("debaters" in hidden and kind in ("observer", "analyst"))
        assert [any(secret in text for text in texts) for secret in secrets] == [not is_hidden] * len(secrets)
        assert not (kind in hidden and any(found[secret] for secret in secrets))


@pytest.mark.anyio
async def test_an_outcome_is_shown_whatever_is_hidden(open_modern: Any) -> None:
    async with open_modern(seats(), "debater") as client:
        step, _ = await debated(client, hide_from_client=list(HIDDEN))
        verdict = await call(client, "get_verdict", debate_id=step["debate_id"])
        state = await read_view(client, step, "state")
        usage = await read_view(client, step, "usage")

    assert (verdict["winner"], verdict["answer"]["recommendation"]) == ("Ada", "Found.")
    assert len(verdict["votes"]) == 4
    assert state["turns"] == 6
    assert usage["total"]["calls"] == state["usage"]["calls"] > 10


@pytest.mark.anyio
async def test_what_is_hidden_can_be_proven_all_the_same(open_modern: Any) -> None:
    async with open_modern(seats(), "debater") as client:
        step, _ = await debated(client, hide_from_client=["debaters"])
        rows = (await read_view(client, step, "events"))["events"]
        receipt = await read_view(client, step, "receipt")

    assert rows[-1]["hash"] == receipt["head"]
    spoken = [row for row in rows if row["kind"] == "spoke"]
    assert {row["seat"] for row in spoken} == {"Ada", "Ben"}
    assert all(
        set(row) == {"seq", "at", "actor", "hash", "names", "kind", "seat", "round", "usage"}
        for row in spoken
    )
