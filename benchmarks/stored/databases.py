"""A durable turn on PostgreSQL beside one on SQLite, on the same disk."""

import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from time import process_time

from benchmarks.speed.debates import CALLS_PER_DEBATE
from benchmarks.speed.turns import constant_reply, run_to_end
from benchmarks.table import Measurement, Samples, median
from server.compose import open_manager
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings
from tests.support.postgres import Server

REPEATS = 40
WARM_UP = 8  # the server plans a statement anew the first five times on each connection

FORMATS = {"verdict": "in sequence", "second_opinion": "together"}


async def measure_databases() -> list[Measurement]:
    """Turns of both databases alternate, so that the load of the machine is the same for both."""
    samples = {(name, kind): Samples() for name in FORMATS for kind in ("postgresql", "sqlite")}
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder=Path(folder))
        try:
            server.start()
            addresses = {"postgresql": server.create_database(), "sqlite": str(Path(folder) / "a.db")}
            async with AsyncExitStack() as opened:
                models = {"fine": ScriptedModel(constant_reply, record_requests=False)}
                managers = {
                    kind: await opened.enter_async_context(
                        open_manager(Settings(db=address), models, environ={})
                    )
                    for kind, address in addresses.items()
                }
                for repeat in range(WARM_UP + REPEATS):
                    for (format_name, kind), taken in samples.items():
                        debate = Samples()
                        with debate.measure(process_time, CALLS_PER_DEBATE):
                            await run_to_end(managers[kind], format_name)
                        if repeat >= WARM_UP:
                            taken.add(debate)
        finally:
            server.stop()
    return [
        Measurement(
            f"a durable turn on PostgreSQL, {name}, as a multiple of one on SQLite",
            median(samples[format_name, "postgresql"].wall) / median(samples[format_name, "sqlite"].wall),
            "x",
            2.5,
            ours=samples[format_name, "postgresql"],
            bare=samples[format_name, "sqlite"],
            bare_name="the same turn on SQLite",
        )
        for format_name, name in FORMATS.items()
    ]
