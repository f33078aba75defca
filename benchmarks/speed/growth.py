"""What a turn and a call cost in a long debate: CPU time at turn 10 and 500, and of calls on 520 stored turns."""

import tempfile
from hashlib import sha256
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.processes.children import OUR_SERVER, Server, build_environment
from benchmarks.speed.turns import FINDING, TURN_TEXT
from benchmarks.table import Measurement, Samples, median, shorten
from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.open import open_debate
from server.debate.facts.answers import Usage
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.models import OnText, Reply, Request
from server.settings import Settings

TURN_COUNT = shorten(520, 78)
STATIONS = (10, shorten(500, 60))  # the turns at which the cost is read
SPAN = 8  # turns before and after a station over which it is averaged
REPEATS = shorten(3)
CALL_REPEATS = shorten(30)
MAX_CALL_MS = 5


class QuickModel:
    """Does not read its prompt, so that what is measured is not the model. Notes how long prompts are."""

    def __init__(self) -> None:
        self.prompt_lengths: list[int] = []

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:  # noqa: ARG002
        self.prompt_lengths.append(sum(len(message.content) for message in request.prompt.messages))
        usage = Usage(model="fine", input_tokens=1000, output_tokens=300, cost_usd="0")
        return Reply(FINDING.replace("Ada", "D0") if request.prompt.schema else TURN_TEXT, usage)


async def measure_growth() -> list[Measurement]:
    lines = []
    for seats in (2, 26):
        with tempfile.TemporaryDirectory() as folder:
            database, model, clocks = str(Path(folder) / "a.db"), QuickModel(), []
            async with open_manager(Settings(db=database), {"fine": model}, environ={}) as manager:
                for _ in range(REPEATS):
                    model.prompt_lengths.clear()
                    debate_id, clock = await run_long_debate(manager, seats)
                    clocks.append(clock)
            lines += build_turn_rows(clocks, model.prompt_lengths, seats)
            lines += await measure_calls(database, debate_id, seats)
    return lines


async def run_long_debate(manager: DebateManager, seats: int) -> tuple[str, dict[int, tuple[float, float]]]:
    """A debate run to its end: its id, and the CPU time and the time at which each of its turns was recorded."""
    debaters = [{"name": f"D{number}", "stance": f"way {number}"} for number in range(seats)]
    request = DebateRequest.model_validate(
        {"question": "Which way?", "format": "verdict", "debaters": debaters, "run": True}
    )
    setup = open_debate(request, models=["fine"], seed=1)
    # Longer than any format allows; extended debates are.
    setup = setup.model_copy(update={"max_rounds": TURN_COUNT // seats})
    clock: dict[int, tuple[float, float]] = {}

    def read_clock(snapshot: DebateSnapshot) -> None:
        clock.setdefault(len(snapshot.debate.turns), (process_time(), perf_counter()))

    unsubscribe = manager.store.subscribe(read_clock)
    snapshot = await manager.store.open((setup,), "benchmark")
    manager.run_to_end(snapshot)
    snapshot = await manager.follow(snapshot.id, wait=600)
    unsubscribe()
    assert len(snapshot.debate.turns) == TURN_COUNT, snapshot.debate.failures
    return snapshot.id, clock


def build_turn_rows(
    clocks: list[dict[int, tuple[float, float]]], prompt_lengths: list[int], seats: int
) -> list[Measurement]:
    costs: dict[int, Samples] = {}
    for station in STATIONS:
        costs[station] = Samples()
        for clock in clocks:
            (cpu, wall), (cpu_before, wall_before) = clock[station + SPAN], clock[station - SPAN]
            costs[station].cpu.append((cpu - cpu_before) / (2 * SPAN))
            costs[station].wall.append((wall - wall_before) / (2 * SPAN))
    bytes_cost = {station: measure_bytes(prompt_lengths[station]) for station in STATIONS}
    first, last = (median(costs[n].cpu) - median(bytes_cost[n].cpu) for n in (STATIONS[0], STATIONS[-1]))
    name = (
        f"turn {STATIONS[-1]} against turn {STATIONS[0]}, {seats} debaters, without the bytes of the prompt"
    )
    return [Measurement(name, last / first, "x", 2)]


def measure_bytes(length: int) -> Samples:
    """The least that a prompt of so many characters takes: its parts joined, encoded and hashed."""
    samples = Samples()
    parts = [TURN_TEXT] * max(length // len(TURN_TEXT), 1)
    for _ in range(20):
        with samples.measure(process_time):
            sha256("\n".join(parts).encode()).hexdigest()
    return samples


async def measure_calls(database: str, debate_id: str, seats: int) -> list[Measurement]:
    """Calls over stdio on a debate of 520 turns that is over; the first of each, which loads it, is left out."""
    environ = build_environment(COUNTERPOINT_DB=database, COUNTERPOINT_MODELS="scripted")
    calls: dict[str, dict[str, Any]] = {
        "get_verdict": {},
        "step_round": {},
        "read_debate": {"view": "transcript"},
    }
    lines = []
    async with Server.start(*OUR_SERVER, environ=environ) as server:
        await server.initialize()
        bare = Samples()
        for _ in range(CALL_REPEATS):
            with bare.measure(server.read_cpu):
                await server.request("ping")
        for tool, arguments in calls.items():
            ours = Samples()
            for repeat in range(CALL_REPEATS + 2):
                taken = Samples()
                with taken.measure(server.read_cpu):
                    await server.call_tool(tool, debate_id=debate_id, **arguments)
                if repeat >= 2:
                    ours.add(taken)
            name = f"{tool} at {TURN_COUNT} turns, {seats} debaters, CPU in the server"
            line = Measurement(
                name, median(ours.cpu) * 1000, "ms", MAX_CALL_MS, ours=ours, bare=bare, bare_name="`ping`"
            )
            line.details = f"{server.response_bytes:,} bytes"
            lines.append(line)
    return lines
