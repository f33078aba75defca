"""What telemetry costs a turn: the engine by turns with a collector and without, until all is sent."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import process_time

from benchmarks.processes.children import COLLECTOR, start_child
from benchmarks.speed.debates import CALLS_PER_DEBATE
from benchmarks.speed.turns import constant_reply, run_to_end
from benchmarks.table import Measurement, Samples, median
from server.compose import open_manager
from server.models.fakes.scripted import ScriptedModel
from server.settings import Settings

REPEATS = 9
DEBATES = 30


async def measure_telemetry() -> list[Measurement]:
    with_it, without = Samples(), Samples()
    async with start_child(*COLLECTOR) as address:
        sending = {"OTEL_EXPORTER_OTLP_ENDPOINT": address}
        os.environ |= sending  # where the SDK reads it; what is off is off by the manager's own environment
        for repeat in range(REPEATS + 1):
            for environ, samples in ((sending, with_it), ({}, without)):
                await measure_debates(environ, samples if repeat else Samples())
    added = [one - other for one, other in zip(with_it.cpu, without.cpu, strict=True)]
    return [
        Measurement(
            "engine, CPU that telemetry adds to a turn",
            median(added) * 1000,
            "ms",
            0.2,
            ours=with_it,
            bare=without,
            bare_name="the same turns without a collector",
        )
    ]


async def measure_debates(environ: Mapping[str, str], samples: Samples) -> None:
    """Of a manager from its opening to its end, when the last spans and metrics are sent."""
    models = {"fine": ScriptedModel(constant_reply, record_requests=False)}
    with tempfile.TemporaryDirectory() as folder, samples.measure(process_time, DEBATES * CALLS_PER_DEBATE):
        async with open_manager(Settings(db=str(Path(folder) / "a.db")), models, environ=environ) as manager:
            for _ in range(DEBATES):
                await run_to_end(manager, "verdict")
