"""Limits that adapt, on providers that are simulated: throughput against what would be ideal, and what was refused."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
import pytest

from server.models import ModelError, Request
from server.models.fakes.scripted import ScriptedModel
from server.models.resilience import Guard, GuardedModel
from tests.contract.model import build_argument_request
from tests.support import guarded_requests as guarded

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D9")]

LATENCY = 1.0
JITTER = 0.2  # of every latency, to both sides


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
    answer_times: list[float] = field(default_factory=list)
    guard: Guard = field(init=False)

    def __post_init__(self) -> None:
        self.renew()

    def renew(self, concurrency: int = 0) -> None:
        """What knows nothing of this provider yet."""
        self.guard = Guard(provider_concurrency=concurrency, now=self.clock.now, sleep=self.clock.sleep)

    async def answer(self, request: Request) -> str:
        if self.in_flight >= self.allowed:
            self.refused += 1
            raise ModelError("rate_limited", "acme/m: too many.", may_be_repeated=True)
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        try:
            await self.clock.sleep(self.latency(self.in_flight) * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311
        finally:
            self.in_flight -= 1
        self.answered.append(request.group)
        self.answer_times.append(self.clock.time)
        return "Because."

    async def run_debate(self, name: str, rounds: int, seats: int) -> None:
        """Each round waits for the one before it."""
        model = GuardedModel("acme/m", "acme", ScriptedModel(self.answer, record_requests=False), self.guard)
        request = replace(build_argument_request(timeout=10_000), group=name)
        for _ in range(rounds):
            async with anyio.create_task_group() as seated:
                for _ in range(seats):
                    seated.start_soon(model.reply, request)

    async def run_debates(self, debates: int, rounds: int, seats: int) -> float:
        """Seconds until all rounds of all debates are answered."""
        began = self.clock.time
        async with anyio.create_task_group() as tasks:
            for number in range(debates):
                tasks.start_soon(partial(self.run_debate, str(number), rounds, seats))
            await self.clock.run_to_end()
        return self.clock.time - began


@pytest.fixture(autouse=True)
def seed() -> None:
    random.seed(7)  # of the jitter


@pytest.mark.full
@pytest.mark.parametrize(("debates", "goal"), [(8, 1.2), (50, 2.0)])
async def test_debates_at_once_hardly_wait_where_the_provider_takes_them_all(
    debates: int, goal: float
) -> None:
    taken = await Provider().run_debates(debates, 4, 3)

    assert taken <= goal * 4 * LATENCY * (1 + JITTER)


@pytest.mark.full
@pytest.mark.parametrize(
    ("allowed", "goal", "rounds", "seats"),
    [(3, 1.1, 10, 1), (12, 1.1, 3, 3), (30, 1.3, 10, 1), (100, 1.5, 3, 3)],
)
async def test_what_a_provider_refuses_is_little_and_no_answer_is_lost(
    allowed: int, goal: float, rounds: int, seats: int
) -> None:
    provider, answers = Provider(allowed=allowed), 50 * rounds * seats
    taken = await provider.run_debates(50, rounds, seats)

    assert len(provider.answered) == answers
    assert taken <= goal * LATENCY * max(answers / allowed, rounds)
    assert provider.refused <= 0.15 * (answers + provider.refused)


@pytest.mark.full
@pytest.mark.parametrize(
    ("power", "workers"), [(1.0, 12), (2.0, 30), (4.0, 12)], ids=["queueing", "thrashing", "collapsing"]
)
async def test_where_a_provider_slows_down_the_limit_is_about_the_best(power: float, workers: int) -> None:
    provider = Provider(latency=lambda in_flight: LATENCY * float(max(in_flight / workers, 1.0) ** power))
    await provider.run_debates(50, 60, 1)
    times = provider.answer_times[1000:-50]  # without the search for it, and while all debates run
    best = workers / LATENCY  # no fixed limit gets more answers a second than all workers do

    assert len(times) / (times[-1] - times[0]) >= 0.85 * best


@pytest.mark.full
async def test_a_limit_that_falls_and_rises_midway_is_followed() -> None:
    provider = Provider(allowed=30)

    async def change() -> None:
        for at, allowed in ((5, 6), (40, 30)):
            await provider.clock.sleep(at - provider.clock.time)
            provider.allowed = allowed

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(change)
        taken = await provider.run_debates(50, 20, 1)

    ideal = 40 + (1000 - 5 * 30 - 35 * 6) / 30
    assert len(provider.answered) == 1000
    assert taken <= 1.4 * ideal
    assert provider.refused <= 0.15 * (1000 + provider.refused)


async def test_a_small_debate_waits_for_its_turn_and_not_for_the_rounds_of_large_ones() -> None:
    provider = Provider()
    provider.renew(concurrency=4)
    durations: list[float] = []

    async def run_small() -> None:
        for _ in range(5):
            began = provider.clock.time
            await provider.run_debate("small", 1, 2)
            durations.append(provider.clock.time - began)

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(provider.run_debate, f"large {number}", 4, 26)
        tasks.start_soon(run_small)
        await provider.clock.run_to_end()

    # A round of the large ones takes 78 / 4 latencies; four debates share four places.
    assert len(durations) == 5
    assert max(durations) <= 4 * LATENCY


async def test_a_fixed_limit_is_kept_whatever_the_provider_does() -> None:
    provider = Provider(allowed=3)
    provider.renew(concurrency=6)
    await provider.run_debates(10, 3, 1)

    assert provider.most_in_flight == 3
    assert len(provider.answered) == 30


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
