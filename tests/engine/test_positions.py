"""Positions that a model names: recorded before the first round, and paid for once whatever happens."""

from typing import Any

import anyio
import pytest

from server.debate.facts.errors import InvalidRequestError
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, start_debate
from tests.support.gated_model import Gate
from tests.support.mcp_debates import build_scripted_model, find_prompts
from tests.support.patience import PATIENCE
from tests.support.polling import wait_before_next_poll

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N24", "N8")]

WHICH = "Which database should we use for events?"
DATABASES = ["Use PostgreSQL", "Use Kafka", "Use EventStoreDB"]
ASKED: dict[str, Any] = {"question": WHICH, "options": {"framing": True}}


def build_framer() -> ScriptedModel:
    return build_scripted_model(framing={"kind": "open", "positions": DATABASES})


async def test_a_process_that_ends_before_the_first_round_loses_nothing(database: str) -> None:
    first, second = build_framer(), build_framer()
    async with open_engine(database, first) as manager:
        snapshot = await start_debate(manager, **ASKED)
        snapshot = await manager.wait_for_positions(snapshot, wait=PATIENCE)
        assert snapshot.debate.round == 0

    async with open_engine(database, second) as manager:
        snapshot = await manager.step(snapshot.id, wait=PATIENCE)

    assert [debater.stance for debater in snapshot.debate.setup.debaters] == DATABASES
    assert len(snapshot.debate.round_turns(1)) == 3
    assert find_prompts(second, "framing") == []


async def test_a_process_that_ends_during_the_call_repeats_that_call_alone(database: str) -> None:
    gate = Gate()
    async with open_engine(database, gate.model) as manager:
        snapshot = await start_debate(manager, **ASKED)
        await gate.wait_for_call()
    model = build_framer()
    async with open_engine(database, model) as manager:
        snapshot = await manager.step(snapshot.id, wait=PATIENCE)

    assert len(find_prompts(model, "framing")) == 1
    assert [entry.event.kind for entry in snapshot.entries[:4]] == [
        "opened",
        "answered_blind",
        "positions_framed",
        "phase_entered",
    ]


async def test_a_debate_that_runs_by_itself_goes_on_when_it_was_held_for_an_answer(database: str) -> None:
    async with open_engine(database, build_framer()) as manager:
        snapshot = await start_debate(manager, **ASKED, run=True, hold=True)
        snapshot = await manager.wait_for_positions(snapshot, wait=PATIENCE)
        assert not manager.is_working(snapshot.id)

    async with open_engine(database, build_framer(), recover=True) as manager:
        with anyio.fail_after(PATIENCE):
            while (await manager.load(snapshot.id)).status == "running":
                await wait_before_next_poll()
        assert (await manager.load(snapshot.id)).status == "concluded"


async def test_two_who_step_at_once_name_them_once(database: str) -> None:
    model = build_framer()
    async with open_engine(database, model) as manager:
        snapshot = await start_debate(manager, **ASKED)
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(lambda: manager.step(snapshot.id, wait=PATIENCE))

    assert len(find_prompts(model, "framing")) == 1


async def test_the_models_of_later_seats_are_checked_before_anything_is_paid(database: str) -> None:
    model = build_framer()
    async with open_engine(database, model) as manager:
        with pytest.raises(InvalidRequestError, match="anthropic/claude"):
            await start_debate(manager, **ASKED, models=["mine", "mine", "mine", "anthropic/claude"])

    assert model.requests == []
