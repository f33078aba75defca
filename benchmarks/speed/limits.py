"""Providers that refuse what is too much at once, or slow down under it, with limits as they are by default."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import perf_counter

from benchmarks.processes.children import OUR_SERVER, Server, ask_stub, provider_environment, start_stub
from benchmarks.processes.references import TOGETHER
from benchmarks.speed.debates import CALLS_PER_DEBATE, LATENCY, run_debate
from benchmarks.table import Measurement, Samples, format_amount

DEBATES = 50
CHAIN = CALLS_PER_DEBATE * LATENCY  # of a debate in sequence
CAPACITIES = (3, 12, 30, 100)
MAX_TIME = 1.3  # times the ideal
MAX_REFUSED = 15  # percent

WORKERS = 12
POWERS = ((1.0, "with the number"), (2.0, "with its square"), (4.0, "with its fourth power"))
FIXED_LIMITS = (6, 9, 12, 15, 24)
SLOW_LATENCY = 0.3
SLOW_DEBATES = 30
ROUNDS = 20  # of three debaters and a judge: 61 calls


async def measure_limits() -> list[Measurement]:
    """Debates at once through a provider that answers 429 above a number of requests."""
    lines = []
    for capacity in CAPACITIES:
        lines += await measure_refusals(f"a provider that takes {capacity} at once", capacity)
    lines += await measure_refusals("the same with Retry-After: 1, 12 at once", 12, retry_after="1")
    lines += await measure_refusals("12 at once, then 6, then 24", 12, changes=(6, 24))
    return [*lines, await measure_two_providers(), await measure_recovery()]


async def measure_refusals(
    name: str, capacity: int, *, retry_after: str = "", changes: Sequence[int] = ()
) -> list[Measurement]:
    debates = DEBATES if capacity > 3 else 20
    options = ("--capacity", str(capacity), "--retry-after", retry_after, "--forget")
    samples = Samples()
    async with start_stub(LATENCY, *options) as url, start_server(url) as server:
        with samples.measure(server.read_cpu):
            running = [asyncio.create_task(run_debate(server, "verdict")) for _ in range(debates)]
            for changed in changes:
                await asyncio.sleep(2)
                await ask_stub(url, f"/set/capacity/{changed}")
            await asyncio.gather(*running)
        asked = await ask_stub(url)
    lost = debates * CALLS_PER_DEBATE - (asked["requests"] - asked["refused"])
    how = f"{asked['refused']} of {asked['requests']} requests refused, {lost} answers lost"
    refused = Measurement(
        f"{name}: requests refused", 100 * asked["refused"] / asked["requests"], "%", MAX_REFUSED
    )
    if changes:
        return [
            Measurement(f"{name}: {debates} debates", samples.wall[0], "s", ours=samples, details=how),
            refused,
        ]
    ideal = max(debates * CALLS_PER_DEBATE * LATENCY / capacity, CHAIN)
    time = Measurement(
        f"{name}: {debates} debates, to the ideal",
        samples.wall[0] / ideal,
        goal=MAX_TIME,
        ours=samples,
        details=f"ideal {format_amount(ideal)} s; {how}",
    )
    return [time, refused]


@asynccontextmanager
async def start_server(url: str, **variables: str) -> AsyncIterator[Server]:
    """A server with a new database, which has asked nobody yet."""
    with tempfile.TemporaryDirectory() as folder:
        environ = provider_environment(folder, url) | variables
        async with Server.start(*OUR_SERVER, environ=environ) as server:
            await server.initialize()
            yield server


async def measure_two_providers() -> Measurement:
    """Half of the debates through a provider that takes 6 at once, half through one that takes 24."""
    samples, options = {6: Samples(), 24: Samples()}, ("--retry-after", "", "--forget", "--capacity")
    async with (
        start_stub(LATENCY, *options, "6") as tight,
        start_stub(LATENCY, *options, "24") as wide,
        start_server(tight, MISTRAL_API_BASE=wide, MISTRAL_API_KEY="key-of-loopback") as server,
    ):

        async def run_half(capacity: int, model: str) -> None:
            with samples[capacity].measure(server.read_cpu):
                await asyncio.gather(
                    *(run_debate(server, "verdict", models=[model]) for _ in range(DEBATES // 2))
                )

        await asyncio.gather(run_half(6, "openai/fine"), run_half(24, "mistral/fine"))
    ratios = {
        capacity: taken.wall[0] / max(DEBATES // 2 * CALLS_PER_DEBATE * LATENCY / capacity, CHAIN)
        for capacity, taken in samples.items()
    }
    how = ", ".join(f"{capacity} at once {ratio:.2f} x" for capacity, ratio in ratios.items())
    return Measurement(
        "two providers at once, the worse to its ideal", max(ratios.values()), goal=MAX_TIME, details=how
    )


async def measure_recovery() -> Measurement:
    """One debate at a time, after many at once through a provider that took 2 and now takes all."""
    samples = Samples()
    options = ("--capacity", "2", "--retry-after", "", "--forget")
    async with start_stub(LATENCY, *options) as url, start_server(url) as server:
        await asyncio.gather(*(run_debate(server, "verdict") for _ in range(10)))
        await ask_stub(url, "/set/capacity/0")
        for _ in range(10):
            with samples.measure(server.read_cpu):
                await run_debate(server, "second_opinion")
    chain = LATENCY * len(TOGETHER)
    return Measurement(
        "one debate at a time after that, the last of ten, to the longest chain",
        samples.wall[-1] / chain,
        goal=MAX_TIME,
        ours=samples,
        details=f"the first {samples.wall[0] / chain:.2f} x",
    )


async def measure_slow_providers() -> list[Measurement]:
    """A provider that slows down above 12 at once: answers a second, against the best of several fixed limits."""
    lines = []
    for power, name in POWERS:
        rates = {limit: await measure_rate(power, limit) for limit in FIXED_LIMITS}
        best = max(rates, key=lambda limit: rates[limit])
        adapted = await measure_rate(power, 0)
        fixed = ", ".join(f"{limit}: {rate:.1f}" for limit, rate in rates.items())
        lines.append(
            Measurement(
                f"a provider that slows down {name} above {WORKERS} at once, to the best fixed limit",
                adapted / rates[best],
                goal=0.9,
                at_least=True,
                details=f"answers a second {adapted:.1f}; with fixed limits {fixed}",
            )
        )
    return lines


async def measure_rate(power: float, limit: int) -> float:
    """Answers a second of 30 debates, after the first third of them: without the search for the limit."""
    options = ("--workers", str(WORKERS), "--power", str(power), "--forget")
    async with (
        start_stub(SLOW_LATENCY, *options) as url,
        start_server(url, COUNTERPOINT_PROVIDER_CONCURRENCY=str(limit)) as server,
    ):
        running = [
            asyncio.create_task(run_debate(server, "verdict", max_rounds=ROUNDS)) for _ in range(SLOW_DEBATES)
        ]
        total = SLOW_DEBATES * (3 * ROUNDS + 1)
        begun_at, begun = await wait_for_requests(url, total // 3)
        ended_at, ended = await wait_for_requests(url, total * 9 // 10)
        await asyncio.gather(*running)
    return (ended - begun) / (ended_at - begun_at)


async def wait_for_requests(url: str, number: int) -> tuple[float, int]:
    """When a stub had received so many requests, and how many they were."""
    while True:
        received = int((await ask_stub(url))["requests"])
        if received >= number:
            return perf_counter(), received
        await asyncio.sleep(0.05)
