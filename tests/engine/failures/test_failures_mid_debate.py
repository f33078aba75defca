"""What goes wrong in the middle of a debate: lost leases, misbehaving models, a locked database."""

import asyncio
from typing import Any

import anyio
import pytest

from server.debate.commands.requests import DebaterInput
from server.models import Model, ModelError, OnText, Reply, Request, Usage
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, start_debate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D3", "N8")]


class Odd:
    """A model of somebody's own, that does what it likes."""

    def __init__(self, act: Any) -> None:
        self.act = act

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:  # noqa: ARG002
        done = self.act()
        reply: Reply = await done if asyncio.isfuture(done) else done
        return reply


async def cancelled() -> None:
    task = asyncio.ensure_future(asyncio.sleep(0))
    task.cancel()
    await task


def fail(error: BaseException) -> Reply:
    raise error


def mistaken(cause: Any, detail: str) -> Reply:
    return fail(ModelError(cause, detail))


def used(**fields: Any) -> Reply:
    return Reply("I have a point.", Usage(**{"model": "odd", **fields}))


@pytest.mark.parametrize(
    ("act", "cause", "detail"),
    [
        (lambda: asyncio.ensure_future(cancelled()), "crashed", "odd cancelled itself"),
        (lambda: fail(TimeoutError()), "timeout", "odd gave up waiting for an answer"),
        (lambda: fail(SystemExit(3)), "crashed", "odd crashed with SystemExit"),
        (lambda: fail(KeyError("x")), "crashed", "odd crashed with KeyError"),
        (lambda: mistaken("bored", "no"), "crashed", "no"),
        (lambda: mistaken("timeout", "lone \ud800 surrogate"), "timeout", "lone ? surrogate"),
        (lambda: mistaken("timeout", "x" * 1_000_000), "timeout", "x" * 500),
        (lambda: used(input_tokens=2**60), "crashed", "odd crashed with ValidationError"),
        (lambda: used(cost_usd="free"), "crashed", "odd crashed with ValidationError"),
        (lambda: None, "crashed", "odd crashed with AttributeError"),
    ],
)
async def test_whatever_a_model_does_wrong_is_a_failure_of_its_seat_alone(
    database: str, act: Any, cause: str, detail: str
) -> None:
    debaters = [DebaterInput(name=name, stance=name, model="mine") for name in ("Ada", "Ben")]
    debaters.append(DebaterInput(name="Cy", stance="neither", model="odd"))
    models: dict[str, Model] = {"mine": ScriptedModel(), "odd": Odd(act)}
    async with open_engine(database, models) as running:
        snapshot = await start_debate(running, debaters=debaters)
        with anyio.fail_after(PATIENCE):
            snapshot = await running.step(snapshot.id, wait=PATIENCE)

    assert [turn.seat for turn in snapshot.debate.turns] == ["Ada", "Ben"]
    assert [(failure.seat, failure.cause, failure.detail) for failure in snapshot.debate.failures] == [
        ("Cy", cause, detail)
    ]


async def test_debaters_who_bring_their_models_are_judged_by_none_but_these(database: str) -> None:
    debaters = [DebaterInput(name=name, stance=name, model="scripted") for name in ("Ada", "Ben")]
    async with open_engine(database, default="") as running:
        snapshot = await start_debate(running, debaters=debaters)

    assert snapshot.debate.setup.judges.models == ("scripted",)
