"""A round with a limit in seconds, driven: who is late is broken off, and the others count."""

from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from server.compose import open_manager
from server.engine.database.snapshots import DebateSnapshot
from server.models import ModelError, Request
from server.models.fakes.scripted import ScriptedModel, ScriptOutput, build_reply_text
from server.settings import Settings
from tests.support.engines import start_debate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D3")]

NAMES = ("Ada", "Bob", "Cid")


class Slow:
    """Answers, except that Cid never does; Ada takes so long that little of the round is left."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.now = datetime(2026, 12, 1, tzinfo=UTC)
        self.broken_off = 0
        self.model = ScriptedModel(self.script)

    def clock(self) -> datetime:
        return self.now

    async def script(self, request: Request) -> ScriptOutput:
        if request.seat == "Ada":
            self.now += timedelta(seconds=self.seconds)
        if request.seat == "Cid":
            try:
                await anyio.sleep_forever()
            finally:
                self.broken_off += 1
                self.now += timedelta(seconds=1)
        return build_reply_text(request)


async def run(database: str, slow: Slow, **limits: Any) -> DebateSnapshot:
    debaters = [{"name": name, "stance": f"as {name} says"} for name in NAMES]
    settings = Settings(db=database, models=("slow",))
    async with open_manager(settings, {"slow": slow.model}, environ={}, clock=slow.clock) as manager:
        fields: dict[str, Any] = {
            "format": "verdict",
            "debaters": debaters,
            "max_rounds": 2,
            "options": {"limits": limits},
        }
        snapshot = await start_debate(manager, run=True, **fields)
        return await manager.follow(snapshot.id, wait=PATIENCE)


async def test_an_answer_that_is_on_its_way_when_the_round_is_over_is_broken_off(database: str) -> None:
    slow = Slow(59.8)
    snapshot = await run(database, slow, round_timeout=60)
    assert snapshot.debate.paused
    assert (snapshot.debate.paused.cause, snapshot.debate.paused.seats) == ("unheard", ("Cid",))
    assert [turn.seat for turn in snapshot.debate.turns] == ["Ada", "Bob"]
    assert [(f.seat, f.cause, f.attempts, f.detail) for f in snapshot.debate.failures] == [
        ("Cid", "late", 1, "slow had not answered when the 60 s of the round were over")
    ]
    assert slow.broken_off == 1


async def test_a_model_that_times_out_with_its_round_is_late(database: str) -> None:
    slow = Slow(0)

    async def script(request: Request) -> ScriptOutput:
        if request.seat == "Cid":
            raise ModelError("timeout", "no answer", attempts=2)
        return build_reply_text(request)

    slow.model = ScriptedModel(script)
    snapshot = await run(database, slow, round_timeout=60)
    assert [(f.seat, f.cause, f.attempts) for f in snapshot.debate.failures] == [("Cid", "late", 2)]


async def test_when_the_time_of_the_talk_is_over_it_is_judged_on_what_was_said(database: str) -> None:
    slow = Slow(79.8)
    snapshot = await run(database, slow, max_seconds=100)
    assert snapshot.status == "concluded"
    assert snapshot.debate.ended
    assert snapshot.debate.ended.reason.startswith("budget: ")
    assert [turn.seat for turn in snapshot.debate.turns] == ["Ada", "Bob"]
    assert slow.broken_off == 1
