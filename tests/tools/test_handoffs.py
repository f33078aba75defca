"""Speakers who choose each other: what a user sees of the choice."""

from typing import Any

import pytest

from tests.support import mcp_debates

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("B1")]

THREE = [
    {"name": "Proponent", "stance": "agrees", "model": "first"},
    {"name": "Opponent", "stance": "disagrees"},
    {"name": "Neutral", "stance": "is neutral"},
]


async def handed(client: Any) -> dict[str, Any]:
    """A debate of a few turns on a proposition; the first is spoken by the model `first`."""
    options = {"handoff": "text", "seed": 7, "limits": {"max_turns": 2}}
    asked = {"question": "Machines should decide.", "format": "handoff", "again": True}
    return await mcp_debates.run_debate(client, **asked, debaters=THREE, options=options)


async def test_a_choice_is_read(open_modern: Any) -> None:
    said = "They err less. **Transition to: Neutral**"
    async with open_modern({"first": mcp_debates.build_scripted_model(argument=said)}) as client:
        ran = await handed(client)
        transcript = await mcp_debates.read_transcript(client, ran)
        result = await mcp_debates.read_view(client, ran, "result")
        (choice,) = await mcp_debates.read_events(client, ran, "handed_off")

    assert [turn["agent"] for turn in result["transcript"]] == ["Proponent", "Neutral"]
    assert (choice["seat"], choice["to"], choice["because"]) == ("Proponent", "Neutral", "chosen")
    assert result["transcript"][0]["text"].startswith("They err less.")
    assert ran["failures"] == []
    assert "*Proponent hands over to Neutral.*" in transcript
    assert "The talk ended: the last turn was spoken." in transcript
