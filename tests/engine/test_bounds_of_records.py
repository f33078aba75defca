"""What this release records it also imports: figures are within the bounds of a record, whatever a model says."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.debate.facts.errors import InvalidRequestError
from server.debate.interventions.action import InterventionRequest
from server.debate.records.bounds import MAX_ATTEMPTS as MOST_RECORDED
from server.engine.database.memory import MAX_LOOKED_AT
from server.engine.transfer import export_debate, parse_export, restore_debate
from server.models import MAX_ATTEMPTS, ModelError, OnText, Reply, Request, Usage
from server.models.embeddings import TEXTS_AT_ONCE
from server.models.fakes.scripted import ScriptedModel
from server.models.resilience import MAX_REFUSALS, Guard, GuardedModel
from tests.support.engines import open_engine, run_debate, start_debate
from tests.support.guarded_requests import FakeClock
from tests.support.simulation import build_request

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D8")]

MOST_REQUESTS = (MAX_REFUSALS + 1) * MAX_ATTEMPTS
"""For one answer: each time it is refused as one too many, the last of its attempts may be the first refused."""


async def come_back(folder: Path, model: Any) -> list[dict[str, Any]]:
    """The entries of a debate with this model, exported, imported elsewhere, and exported again to the same bytes."""
    async with open_engine(folder / "a.db", model) as here:
        snapshot = await run_debate(here)
        written = json.dumps(await export_debate(here, snapshot.id)).encode()
    async with open_engine(folder / "b.db") as elsewhere:
        await restore_debate(elsewhere, parse_export(written))
        again = json.dumps(await export_debate(elsewhere, snapshot.id)).encode()
    assert again == written
    return list(json.loads(written)["entries"])


class Refused:
    """A provider that takes no more requests until each seat has asked as often as anybody does."""

    def __init__(self) -> None:
        self.model = ScriptedModel()
        self.refusals = Counter[str]()

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        if self.refusals[request.seat] < MAX_REFUSALS:
            self.refusals[request.seat] += 1
            raise ModelError("rate_limited", "too many", attempts=MAX_ATTEMPTS, may_be_repeated=True)
        reply = await self.model.reply(request, on_text)
        return replace(reply, usage=reply.usage.model_copy(update={"attempts": MAX_ATTEMPTS}))


async def test_an_answer_after_as_many_refusals_as_there_may_be_is_imported_again(tmp_path: Path) -> None:
    clock = FakeClock(auto_advance=True)
    guarded = GuardedModel("mine", "provider", Refused(), Guard(concurrency=1, sleep=clock.sleep))
    entries = await come_back(tmp_path, guarded)

    attempts = [entry["body"]["usage"]["attempts"] for entry in entries if entry["body"].get("usage")]
    assert max(attempts) == MOST_REQUESTS


def test_no_answer_takes_more_requests_than_a_record_allows() -> None:
    parts = -(-MAX_LOOKED_AT // TEXTS_AT_ONCE)
    twice = 2  # where another model answers to the name by now

    assert twice * parts * MOST_REQUESTS <= MOST_RECORDED


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"attempts": MOST_RECORDED + 1}, "usage.attempts: from 1"),
        ({"cost_usd": "0." + "1" * 300}, "cost_usd: one clean line"),
        ({"sent_tokens": 1, "input_tokens": 9}, "usage.sent_tokens: there were more"),
        ({"reused_from": "k3x9w2m4p7qr#17"}, "usage.reused_from: n"),
        ({"model": "caller"}, "is no seat of the caller's"),
    ],
)
async def test_what_no_record_may_hold_is_a_failure_of_the_model_that_says_it(
    tmp_path: Path, said: dict[str, Any], told: str
) -> None:
    class Boaster(ScriptedModel):
        async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
            reply = await super().reply(request, on_text)
            usage = {**reply.usage.model_dump(), "input_tokens": 5, "output_tokens": 5, **said}
            return replace(reply, usage=Usage(**usage)) if request.seat == "Proponent" else reply

    entries = await come_back(tmp_path, Boaster())

    failed = [entry["body"] for entry in entries if entry["body"]["kind"] == "failed"]
    assert {(each["seat"], each["cause"]) for each in failed} == {("Proponent", "crashed")}
    assert all(told in each["detail"] for each in failed)


async def test_a_failure_after_too_many_requests_can_be_recorded(tmp_path: Path) -> None:
    class Tireless(ScriptedModel):
        async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
            if request.seat == "Proponent":
                raise ModelError("unavailable", "gone", attempts=10**9)
            return await super().reply(request, on_text)

    entries = await come_back(tmp_path, Tireless())

    failed = [entry["body"] for entry in entries if entry["body"]["kind"] == "failed"]
    assert failed
    assert all("cannot be recorded: attempts: from 0" in each["detail"] for each in failed)


@pytest.mark.parametrize(
    ("asked", "actor", "told"),
    [
        ({"reason": "r" * 2_501}, "test", "reason: 2,501 characters, and 2,500 are allowed."),
        ({"request_id": "r" * 101}, "test", "request_id: 101 characters, and 100 are allowed."),
        ({}, "a\nb", "actor: it has to be one clean line."),
    ],
)
async def test_what_no_record_may_hold_is_refused_to_whoever_steers(
    tmp_path: Path, asked: dict[str, Any], actor: str, told: str
) -> None:
    async with open_engine(tmp_path / "a.db", ScriptedModel()) as manager:
        snapshot = await start_debate(manager)
        with pytest.raises(InvalidRequestError, match=re.escape(told)):
            await manager.intervene(snapshot.id, "pause", InterventionRequest(**asked), actor=actor)
        assert await manager.load(snapshot.id) == snapshot


async def test_what_no_record_may_hold_begins_no_debate(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "a.db", ScriptedModel()) as manager:
        with pytest.raises(InvalidRequestError, match="actor: it has to be one clean line"):
            await manager.start(build_request(), actor="")
