"""Positions of voters are embedded by the model that a setting names, once, and recorded for good."""

import json
from pathlib import Path

import pytest

from server.debate.machine.transitions import replay
from server.debate.records.verify import verify_record
from server.engine.database.snapshots import DebateSnapshot
from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D12")]

POSITIONS = {"Proponent": "It costs a year and saves two.", "Opponent": "It saves two and costs a year."}


def reply(request: Request) -> str:
    """All choose the first position ever more; something is new in each round."""
    if request.prompt.summary.task == "ballot":
        first, second = sorted(request.prompt.summary.positions, key=lambda position: position[1])
        percent = min(60 + 6 * request.prompt.summary.round, 84)
        beliefs = {first[0]: percent, second[0]: 100 - percent, "none": 0}
        words = {"position": POSITIONS[request.seat], "would_check": "", "new_point": "Taxes."}
        return json.dumps({"beliefs": beliefs, "moved_by": None, "open_point": None, **words})
    if request.prompt.summary.task == "judgment":
        return json.dumps({"winner": None, "verdict": "Even.", "reasoning": "So."})
    return "[1] A point."


async def hold(tmp_path: Path, embeddings: str, **asked: object) -> DebateSnapshot:
    options = {"ballots": "rounds", "stop": "on", **asked}
    async with open_engine(tmp_path / "db", ScriptedModel(reply), embeddings=embeddings) as manager:
        return await run_debate(manager, max_rounds=4, options=options)


async def test_positions_are_embedded_once_and_the_talk_ends(tmp_path: Path) -> None:
    ended = await hold(tmp_path, "scripted")
    assert ended.debate.talk_round_count == 2
    (measured,) = ended.debate.measurements
    assert (measured.usage.model, measured.usage.input_tokens) == ("scripted", 14)
    assert [found.why for found in ended.debate.convergence] == ["alike"]
    assert measured.usage in ended.debate.usage
    assert replay(entry.event for entry in ended.entries) == ended.debate
    verify_record(ended.entries, range(len(ended.entries)))


async def test_positions_are_embedded_for_each_owner(tmp_path: Path) -> None:
    options = {"ballots": "rounds", "stop": "on"}
    async with open_engine(tmp_path / "db", ScriptedModel(reply), embeddings="scripted") as manager:
        runs = [
            await run_debate(manager.of(owner), max_rounds=4, options=options)
            for owner in ("alice", "bob", "bob")
        ]
    assert [one.debate.measurements[0].usage.input_tokens for one in runs] == [14, 14, 0]


async def test_a_model_that_cannot_be_asked_is_recorded_and_ends_nothing(tmp_path: Path) -> None:
    ended = await hold(tmp_path, "nobody/none")
    assert ended.status == "concluded"
    assert ended.debate.talk_round_count == 4
    assert {failed.seat for failed in ended.debate.failures} == {"meter"}
    assert ended.debate.measurements == ()


async def test_without_the_setting_nothing_is_measured(tmp_path: Path) -> None:
    ended = await hold(tmp_path, "")
    assert ended.debate.setup.meter is None
    assert ended.debate.talk_round_count == 4
