"""Requests behind a guard: a clock that stands still, models that hold back, what became of whom."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

import anyio
import pytest
from anyio.abc import TaskGroup

from server.models import Cause, ModelError, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from server.models.resilience.concurrency import Guard, Guarded
from tests.contract.model import argue

PATIENCE = 5


class Changing:
    """What a test waits for without asking again and again."""

    def __init__(self) -> None:
        self._changed = anyio.Event()

    def changed(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, holds: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE):
            while not holds():
                await self._changed.wait()


class Clock(Changing):
    """Time that passes only when a test says so, or with every pause where it `flows`."""

    def __init__(self, *, flows: bool = False) -> None:
        super().__init__()
        self.flows = flows
        self.time = 0.0
        self._sleeping: list[tuple[float, anyio.Event]] = []

    def now(self) -> float:
        return self.time

    async def pause(self, seconds: float) -> None:
        if self.flows:
            await anyio.lowlevel.checkpoint()
            return
        woken = anyio.Event()
        self._sleeping.append((self.time + seconds, woken))
        self.changed()
        await woken.wait()

    def pass_(self, seconds: float) -> None:
        self.time += seconds
        for until, woken in self._sleeping:
            if until <= self.time:
                woken.set()
        self._sleeping = [(until, woken) for until, woken in self._sleeping if until > self.time]

    async def until_asleep(self, many: int) -> None:
        await self.until(lambda: len(self._sleeping) == many)


class Held(Changing):
    """A model whose answers are on their way until they are let go; those asked, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.go = anyio.Event()

    async def answer(self, request: Request) -> str:
        self.asked.append(request.seat)
        self.changed()
        await self.go.wait()
        return "Because."


class Outcomes(Changing):
    """What became of requests that were put at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: dict[str, Reply] = {}
        self.failures: dict[str, ModelError] = {}

    async def of(self, model: Guarded, seat: str, allowed: float = 20) -> None:
        try:
            self.replies[seat] = await model.reply(replace(argue(timeout=allowed), seat=seat))
        except ModelError as error:
            self.failures[seat] = error
        self.changed()


def behind(
    guard: Guard, script: Callable[[Request], str | Awaitable[str]], provider: str = "acme"
) -> Guarded:
    return Guarded(f"{provider}/m", provider, ScriptedModel(script), guard)


async def settled() -> None:
    """Everybody who can go on has gone on."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


def put(tasks: TaskGroup, outcomes: Outcomes, model: Guarded, seats: Iterable[object]) -> None:
    for seat in seats:
        tasks.start_soon(outcomes.of, model, str(seat))


def fails(cause: Cause) -> Callable[[Request], str]:
    def script(_: Request) -> str:
        raise ModelError(cause, f"acme/m: {cause}.")

    return script


async def failure_of(model: Guarded, allowed: float = 20) -> ModelError:
    with anyio.fail_after(PATIENCE), pytest.raises(ModelError) as failure:
        await model.reply(argue(timeout=allowed))
    return failure.value


def was_not_asked(failure: ModelError) -> bool:
    return failure.attempts == 0


async def cancelled(model: Guarded, held: Held, number: int) -> None:
    """Ask, and give up when that many have been asked."""
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(model.reply, argue())
            await held.until(lambda: len(held.asked) == number)
            tasks.cancel_scope.cancel()
