"""How soon a person in a terminal reads the first words, the first unchecked answer and the answer."""

import sys
import tempfile
from time import perf_counter

from anyio import to_thread

from benchmarks.processes.children import OUR_SERVER, provider_environment, start_stub
from benchmarks.table import Measurement, Samples, median, shorten
from tests.support.processes.terminals import TerminalProgram

FIRST, REST = 0.2, 0.8
"""Seconds until a model's first words, and from then to the end of its reply."""

REPEATS = shorten(5)
WAVES = 3  # answers, reviews, the final answer
SIGNS = {"first word": "weigh", "first unchecked answer": "Advice A", "answer": "How sure"}
"""What is on the screen at each station: words of the stub's reasons, of its advice, and the server's."""

LIMITS = {"first word": FIRST, "first unchecked answer": FIRST + REST, "answer": WAVES * (FIRST + REST)}
ASKED = ("debate", "Should we begin small?", "--format", "second_opinion", "--model", "openai/fine")


def watch(environ: dict[str, str]) -> dict[str, float]:
    """Seconds from the start of the program to each station."""
    started, stations = perf_counter(), dict[str, float]()
    program = TerminalProgram([sys.executable, *OUR_SERVER, *ASKED], environ, 120, 50)
    while program.read(0.01):
        for name, sign in SIGNS.items():
            if name not in stations and sign in program.shown:
                stations[name] = perf_counter() - started
    program.process.wait()
    return stations


async def measure_first_words() -> list[Measurement]:
    samples = {name: Samples() for name in SIGNS}
    async with start_stub(FIRST, REST) as url:
        for repeat in range(REPEATS + 1):
            with tempfile.TemporaryDirectory() as folder:
                stations = await to_thread.run_sync(watch, provider_environment(folder, url))
            for name in SIGNS:
                if repeat:  # the first run compiles modules
                    samples[name].wall.append(stations[name])
    return [
        Measurement(
            f"spawn to the {name} in a terminal, the model's {LIMITS[name]:.1f} s left out",
            median(one.wall) - LIMITS[name],
            "s",
            1.0,
            ours=one,
        )
        for name, one in samples.items()
    ]
