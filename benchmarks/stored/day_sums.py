"""The budget of a day at 10 to 10,000 debates that spent on it, on both databases: to look at it, and to reserve."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from time import process_time

from benchmarks.table import Measurement, Samples, median
from server.compose import open_manager
from server.engine.debates import DebateManager
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from storage.contract.journal import Journal
from storage.contract.streams import Amount, StreamSummary
from tests.support.postgres import Server

COUNTS = (10, 1_000, 10_000)
OWNERS = ("local", "ann", "ben")
BATCH = 500  # streams that are written at once
WARM_UP, REPEATS = 20, 200
ONE = Amount(1, Decimal("0.01"))


async def fill_day(journal: Journal, day: str, numbers: range) -> None:
    """Streams of three owners, each of which spent one request and a cent on a day."""

    async def write(number: int) -> None:
        owner = OWNERS[number % len(OWNERS)]
        summary = StreamSummary("t", "concluded", {}, is_final=True, spending={day: ONE}, owner=owner)
        name = f"spent{number:07}"
        await journal.append(
            name, after=0, at=f"{day}T00:00:00.000Z", actor="x", bodies=[{}], summary=summary
        )

    for start in range(numbers.start, numbers.stop, BATCH):
        await asyncio.gather(*map(write, range(start, min(start + BATCH, numbers.stop))))


async def measure_day_sums() -> list[Measurement]:
    """The databases alternate, so that the load of the machine is the same for both."""
    taken: dict[tuple[str, int, str], Samples] = {}
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder=Path(folder))
        try:
            server.start()
            addresses = {"SQLite": str(Path(folder) / "a.db"), "PostgreSQL": server.create_database()}
            async with AsyncExitStack() as opened:
                managers = {
                    kind: await opened.enter_async_context(
                        open_manager(
                            Settings(db=address, daily_calls=10**6, owner_daily_calls=10**6),
                            {"fine": ScriptedModel()},
                            environ={},
                        )
                    )
                    for kind, address in addresses.items()
                }
                for before, count in pairwise((0, *COUNTS)):
                    for kind, manager in managers.items():
                        budget = manager.daily_budget
                        await fill_day(manager.store.journal, budget.day, range(before, count))
                        for what, samples in (await measure_budget(manager)).items():
                            taken[kind, count, what] = samples
        finally:
            server.stop()
    return [
        Measurement(
            f"{what}, {kind}, 10,000 debates of the day, as a multiple of 10",
            median(taken[kind, COUNTS[-1], what].wall) / median(taken[kind, COUNTS[0], what].wall),
            "x",
            1.5,
            ours=taken[kind, COUNTS[-1], what],
            bare=taken[kind, COUNTS[0], what],
            bare_name="10 debates",
            details=f"1,000 debates: {median(taken[kind, COUNTS[1], what].wall) * 1000:.2f} ms",
        )
        for kind in addresses
        for what in ("what is left of the day's budget", "a reservation of it")
    ]


async def measure_budget(manager: DebateManager) -> dict[str, Samples]:
    """Looking at the budget of a day, and reserving of it and giving back."""
    budget, debate_id = manager.daily_budget, "spent0000000"
    looks, reservations = Samples(), Samples()
    await budget.leases.acquire(debate_id)
    for repeat in range(WARM_UP + REPEATS):
        look, reservation = Samples(), Samples()
        with look.measure(process_time):
            left, _ = await budget.find_remaining("local")
        with reservation.measure(process_time):
            await budget.reserve(debate_id, Decimal(0), lambda _: ONE)
            await budget.settle(debate_id, budget.build_reservation(()))
        assert left.calls < 10**6
        if repeat >= WARM_UP:
            looks.add(look)
            reservations.add(reservation)
    return {"what is left of the day's budget": looks, "a reservation of it": reservations}
