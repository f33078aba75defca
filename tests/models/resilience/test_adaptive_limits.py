"""Limits that adapt, on providers that are simulated: throughput against what would be ideal, and what was refused."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
import pytest

from server.models import ModelError, Request
from server.models.concurrency import FIRST_LIMIT
from server.models.fakes.scripted import ScriptedModel
from server.models.resilience import Guard, GuardedModel
from tests.contract.model import build_argument_request
from tests.support import guarded_requests as guarded

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D9")]

LATENCY = 1.0


@dataclass
class Provider:
    """Answers after `latency(requests in flight)` seconds, and refuses what is above `allowed` at once."""

    clock: guarded.FakeClock = field(default_factory=guarded.FakeClock)
    allowed: float = float("inf")
    latency: Callable[[int], float] = lambda _: LATENCY
    in_flight: int = 0
    most_in_flight: int = 0
    refused: int = 0
    answered: list[str] = field(default_factory=list)

    async def answer(self, request: Request) -> str:
        if self.in_flight >= self.allowed:
            self.refused += 1
            raise ModelError("rate_limited", "acme/m: too many.", may_be_repeated=True)
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        try:
            await self.clock.sleep(self.latency(self.in_flight))
        finally:
            self.in_flight -= 1
        self.answered.append(request.group)
        return "Because."

    async def run_debates(self, debates: int, rounds: int, seats: int, concurrency: int = 0) -> float:
        """Seconds until all rounds of all debates are answered; a round waits for the one before it."""
        guard = Guard(provider_concurrency=concurrency, now=self.clock.now, sleep=self.clock.sleep)
        model = GuardedModel("acme/m", "acme", ScriptedModel(self.answer), guard)

        async def run_debate(name: str) -> None:
            request = replace(build_argument_request(timeout=10_000), group=name)
            for _ in range(rounds):
                async with anyio.create_task_group() as seated:
                    for _ in range(seats):
                        seated.start_soon(model.reply, request)

        async with anyio.create_task_group() as tasks:
            for number in range(debates):
                tasks.start_soon(partial(run_debate, str(number)))
            await self.clock.run_to_end()
        return self.clock.time


@pytest.fixture(autouse=True)
def seed() -> None:
    random.seed(7)  # of the jitter


@pytest.mark.parametrize(("debates", "goal"), [(8, 1.0), (50, 1.5)])
async def test_debates_at_once_hardly_wait_where_the_provider_takes_them_all(
    debates: int, goal: float
) -> None:
    taken = await Provider().run_debates(debates, 4, 3)

    assert taken <= goal * 4 * LATENCY


@pytest.mark.parametrize("allowed", [2, 5, 12, 40])
async def test_what_a_provider_refuses_is_little_and_no_answer_is_lost(allowed: int) -> None:
    provider = Provider(allowed=allowed)
    taken = await provider.run_debates(50, 10, 1)

    assert len(provider.answered) == 500
    assert taken <= 1.3 * 500 / allowed * LATENCY
    assert provider.refused <= 0.15 * (500 + provider.refused)


@pytest.mark.parametrize("power", [1.0, 1.5], ids=["queueing", "thrashing"])
async def test_where_a_provider_slows_down_the_limit_is_about_the_best(power: float) -> None:
    workers = 12

    def latency(in_flight: int) -> float:
        return LATENCY * float(max(in_flight / workers, 1.0) ** power)

    async def measure(concurrency: int) -> float:
        return await Provider(latency=latency).run_debates(50, 24, 1, concurrency)

    best = min([await measure(fixed) for fixed in (workers, workers + 1)])
    adapted = await measure(0)

    assert adapted <= 1.3 * best  # the search for it included


async def test_a_provider_that_takes_more_again_is_given_more_again() -> None:
    provider = Provider(allowed=3)
    await provider.run_debates(30, 3, 1)
    provider.allowed, provider.most_in_flight = float("inf"), 0
    await provider.run_debates(30, 40, 1)

    assert provider.most_in_flight >= 20


async def test_a_fixed_limit_is_kept_whatever_the_provider_does() -> None:
    provider = Provider(allowed=3)
    await provider.run_debates(10, 3, 1, concurrency=6)

    assert provider.most_in_flight == 3
    assert len(provider.answered) == 30


async def test_no_debate_waits_for_the_whole_round_of_another() -> None:
    provider = Provider()
    guard = Guard(provider_concurrency=1, now=provider.clock.now, sleep=provider.clock.sleep)
    model = GuardedModel("acme/m", "acme", ScriptedModel(provider.answer), guard)

    async with anyio.create_task_group() as tasks:
        for name, seats in (("large", 26), ("small", 2)):
            for _ in range(seats):
                tasks.start_soon(model.reply, replace(build_argument_request(timeout=1000), group=name))
        await provider.clock.run_to_end()

    assert provider.answered[:5].count("small") == 2
    assert Counter(provider.answered) == {"large": 26, "small": 2}


async def test_a_request_that_is_always_refused_fails_and_does_not_hammer_the_provider() -> None:
    provider = Provider(allowed=0)
    guard = Guard(now=provider.clock.now, sleep=provider.clock.sleep)
    model = GuardedModel("acme/m", "acme", ScriptedModel(provider.answer), guard)
    failures: list[ModelError] = []

    async def ask() -> None:
        with pytest.raises(ModelError) as failure:
            await model.reply(build_argument_request(timeout=1000))
        failures.append(failure.value)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await provider.clock.run_to_end()

    assert failures[0].cause == "rate_limited"
    assert provider.refused < 12
    assert provider.clock.time > 5


async def test_who_is_cancelled_while_it_waits_leaves_the_queue() -> None:
    provider = Provider(clock=guarded.FakeClock())
    guard = Guard(now=provider.clock.now, sleep=provider.clock.sleep)
    model = GuardedModel("acme/m", "acme", ScriptedModel(provider.answer), guard)
    request = build_argument_request(timeout=1000)

    async with anyio.create_task_group() as tasks:
        for _ in range(FIRST_LIMIT):
            tasks.start_soon(model.reply, request)
        await guarded.let_tasks_run()
        async with anyio.create_task_group() as given_up:
            for _ in range(5):
                given_up.start_soon(model.reply, request)
            await guarded.let_tasks_run()
            given_up.cancel_scope.cancel()
        tasks.start_soon(model.reply, request)
        await provider.clock.run_to_end()

    assert len(provider.answered) == FIRST_LIMIT + 1
    assert guard.limit("acme").in_use == 0
