"""Helpers for requests through a `Guard`: a manual clock, held models, collected results."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from anyio.abc import TaskGroup

from server.models import FailureCause, ModelError, Reply, Request
from server.models.fakes.scripted import ScriptedModel
from server.models.resilience import FAILURE_THRESHOLD, Guard, GuardedModel
from tests.contract.model import build_argument_request
from tests.support.patience import PATIENCE

SETTLED = 40  # passes of the loop in which a request gets from its answer to the next one's sleep


class ChangeNotifier:
    """Lets a test wait for a condition without polling."""

    def __init__(self) -> None:
        self._change = anyio.Event()

    def notify(self) -> None:
        self._change.set()
        self._change = anyio.Event()

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE):
            while not condition():
                await self._change.wait()


class FakeClock(ChangeNotifier):
    """A clock that a test advances. With `auto_advance`, sleeping takes no time at all."""

    def __init__(self, *, auto_advance: bool = False) -> None:
        super().__init__()
        self.auto_advance = auto_advance
        self.time = 0.0
        self._sleepers: list[tuple[float, anyio.Event]] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        if self.auto_advance:
            await anyio.lowlevel.checkpoint()
            return
        wake = anyio.Event()
        self._sleepers.append((self.time + seconds, wake))
        self.notify()
        await wake.wait()

    def advance(self, seconds: float) -> None:
        self.time += seconds
        for until, wake in self._sleepers:
            if until <= self.time:
                wake.set()
        self._sleepers = [(until, wake) for until, wake in self._sleepers if until > self.time]

    async def run_to_end(self) -> None:
        """Advance from one sleeper to the next, as long as there are any once all tasks have run."""
        await let_tasks_run(SETTLED)
        while self._sleepers:
            self.advance(min(until for until, _ in self._sleepers) - self.time)
            await let_tasks_run(SETTLED)

    async def wait_for_sleepers(self, count: int) -> None:
        await self.wait_until(lambda: len(self._sleepers) == count)


class HeldScript(ChangeNotifier):
    """A script whose replies wait for `release`. Records the seats of its requests, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.requested_seats: list[str] = []
        self.release = anyio.Event()

    async def answer(self, request: Request) -> str:
        self.requested_seats.append(request.seat)
        self.notify()
        await self.release.wait()
        return "Because."


class RequestResults(ChangeNotifier):
    """Replies and failures of concurrent requests, by seat."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: dict[str, Reply] = {}
        self.failures: dict[str, ModelError] = {}

    async def collect(self, model: GuardedModel, seat: str, timeout_seconds: float = 20) -> None:
        try:
            self.replies[seat] = await model.reply(
                replace(build_argument_request(timeout=timeout_seconds), seat=seat)
            )
        except ModelError as error:
            self.failures[seat] = error
        self.notify()

    def start(self, tasks: TaskGroup, model: GuardedModel, seats: Iterable[object]) -> None:
        for seat in seats:
            tasks.start_soon(self.collect, model, str(seat))


def build_model(
    guard: Guard, script: Callable[[Request], str | Awaitable[str]], provider: str = "acme"
) -> GuardedModel:
    return GuardedModel(f"{provider}/m", provider, ScriptedModel(script), guard)


async def let_tasks_run(passes: int = 20) -> None:
    """Yield until every task that can proceed has done so."""
    for _ in range(passes):
        await anyio.lowlevel.checkpoint()


def failing_script(cause: FailureCause) -> Callable[[Request], str]:
    def script(_: Request) -> str:
        raise ModelError(cause, f"acme/m: {cause}.")

    return script


async def expect_failure(model: GuardedModel, timeout_seconds: float = 20) -> ModelError:
    with anyio.fail_after(PATIENCE), pytest.raises(ModelError) as failure:
        await model.reply(build_argument_request(timeout=timeout_seconds))
    return failure.value


async def open_breaker(model: GuardedModel) -> None:
    for _ in range(FAILURE_THRESHOLD):
        await expect_failure(model)


@asynccontextmanager
async def open_tasks() -> AsyncIterator[TaskGroup]:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            yield tasks


async def cancel_request(model: GuardedModel, held_script: HeldScript, request_count: int) -> None:
    """Send a request and cancel it once the script has received `request_count` requests."""
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(model.reply, build_argument_request())
            await held_script.wait_until(lambda: len(held_script.requested_seats) == request_count)
            tasks.cancel_scope.cancel()
