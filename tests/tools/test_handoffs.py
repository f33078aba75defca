"""Speakers who choose each other: every way of reading the choice, and what a user sees of a bad one."""

from typing import Any

import pytest

from server.debate.facts.setup.options import HandoffMode
from tests.support import mcp_debates
from tests.support.client_calls import call

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("B1")]

THREE = [
    {"name": "Proponent", "stance": "agrees", "model": "first"},
    {"name": "Opponent", "stance": "disagrees"},
    {"name": "Neutral", "stance": "is neutral"},
]


async def handed(client: Any, how: HandoffMode, turns: int = 2) -> dict[str, Any]:
    """A debate of a few turns on a proposition; the first is spoken by the model `first`."""
    options = {"handoff": how, "seed": 7, "limits": {"max_turns": turns}}
    asked = {"question": "Machines should decide.", "format": "handoff", "again": True}
    return await mcp_debates.run_debate(client, **asked, debaters=THREE, options=options)


@pytest.mark.requirement("B2", "B3", "B4", "B5")
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("text", "They err less.\ntransition TO the neutral."),
        ("text", "They err less. **Transition to: Neutral**"),
        ("tool", mcp_debates.build_handoff_calls("They err less.", "NEUTRAL")),
        ("structured", {"response": "They err less.", "next_agent_name": "neutral"}),
        (
            "structured",
            'Here it is:\n```json\n{"response": "They err less.", "next_agent_name": "Neutral"}\n```',
        ),
    ],
)
async def test_a_choice_is_read(open_client: Any, how: HandoffMode, said: mcp_debates.TaskAnswer) -> None:
    async with open_client({"first": mcp_debates.build_scripted_model(argument=said)}) as client:
        ran = await handed(client, how)
        transcript = await mcp_debates.read_transcript(client, ran)
        result = await mcp_debates.read_view(client, ran, "result")
        (choice,) = await mcp_debates.read_events(client, ran, "handed_off")

    assert [turn["agent"] for turn in result["transcript"]] == ["Proponent", "Neutral"]
    assert (choice["seat"], choice["to"], choice["because"]) == ("Proponent", "Neutral", "chosen")
    assert result["transcript"][0]["text"].startswith("They err less.")
    assert ran["failures"] == []
    assert "*Proponent hands over to Neutral.*" in transcript
    assert "The talk ended: the last turn was spoken." in transcript


@pytest.mark.requirement("B2", "B5")
@pytest.mark.parametrize(
    ("how", "said", "told"),
    [
        ("text", "They err less.", 'it named nobody to speak next: no "Transition to …"'),
        ("tool", mcp_debates.build_handoff_calls("They err less.", ""), "it named nobody to speak next;"),
        (
            "structured",
            {"response": "They err less.", "next_agent_name": "Proponent"},
            "it chose itself to speak next",
        ),
    ],
)
async def test_a_choice_that_cannot_be_used_is_told_and_the_next_is_drawn_by_the_seed(
    open_modern: Any, how: HandoffMode, said: mcp_debates.TaskAnswer, told: str
) -> None:
    model = mcp_debates.build_scripted_model(argument=said)
    async with open_modern({"first": model}) as client:
        ran, again = await handed(client, how), await handed(client, how)
        transcript = await mcp_debates.read_transcript(client, ran)
        drawn = [(await mcp_debates.read_events(client, each, "handed_off"))[0] for each in (ran, again)]
        verdict = await call(client, "get_verdict", debate_id=ran["debate_id"])

    assert drawn[0]["because"] == "drawn"
    assert drawn[0]["to"] == drawn[1]["to"] != "Proponent"
    assert f"{drawn[0]['to']} was drawn (hand-off)" in ran["failures"][0]
    assert ran["failures"][0].startswith(f"Proponent: {told}")
    assert told in transcript
    assert "They err less." in transcript
    assert "hands over" not in transcript.split("## Round 2")[0]
    assert "1 choice of the next speaker could not be used; who spoke was drawn." in verdict["cautions"]
    asked = [request.prompt.summary.task for request in model.requests]
    assert asked.count("argument") == 2  # the turn was good: it is not asked for again
