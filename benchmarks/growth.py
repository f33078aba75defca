"""What a turn and a call cost in a long debate: the CPU time of this process, at turn 10, 100 and 500."""

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.debates import FINDING, TURN_TEXT
from benchmarks.measurements import Measurement, format_spread, median
from server.compose import open_manager
from server.debate.commands.open import open_debate
from server.debate.commands.requests import DebateRequest
from server.debate.facts.events import Usage
from server.debate.replies.extract import Reply
from server.debate.views.catalog import find_view
from server.engine.database.store import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import load_view_source
from server.models import OnText, Request
from server.settings import Settings
from server.tools.pages import build_page
from server.tools.results import build_step_result, build_tool_result, build_verdict_result
from server.tools.texts import format_step_result, format_verdict_result

TURN_COUNT = 520
STATIONS = (10, 100, 500)  # the turns at which the cost is read
SPAN = 8  # turns before and after a station over which it is averaged
REPEATS = 3
MAX_CALL_MS = 5
CALL_REPEATS = 20


class QuickModel:
    """Does not read its prompt, so that what is measured is not the model."""

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:  # noqa: ARG002
        usage = Usage(model="fine", input_tokens=1000, output_tokens=300, cost_usd="0")
        return Reply(FINDING.replace("Ada", "D0") if request.prompt.schema else TURN_TEXT, usage)


async def measure_growth() -> list[Measurement]:
    lines = []
    for seats in (2, 26):
        runs = []
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(db=str(Path(folder) / "a.db"))
            async with open_manager(settings, {"fine": QuickModel()}, environ={}) as manager:
                for _ in range(REPEATS):
                    snapshot, clock = await run_long_debate(manager, seats)
                    runs.append(clock)
                calls = await measure_calls(manager, snapshot.id, seats)
        first = median([compute_turn_cost(clock, STATIONS[0]) for clock in runs])
        for station in STATIONS:
            costs = [compute_turn_cost(clock, station) for clock in runs]
            prompt = f"{format_spread(costs)}; {median(costs) / first:.1f} x turn {STATIONS[0]}"
            lines.append(
                Measurement(
                    f"CPU of turn {station}, {seats} debaters", median(costs) * 1000, "ms", details=prompt
                )
            )
        lines += calls
    return lines


async def run_long_debate(manager: DebateManager, seats: int) -> tuple[DebateSnapshot, dict[int, float]]:
    """A debate run to its end, and the CPU time at which each of its turns was recorded."""
    debaters = [{"name": f"D{number}", "stance": f"way {number}"} for number in range(seats)]
    request = DebateRequest.model_validate(
        {"question": "Which way?", "format": "verdict", "debaters": debaters, "run": True}
    )
    setup = open_debate(request, models=["fine"], seed=1)
    # Longer than any format allows; extended debates are.
    setup = setup.model_copy(update={"max_rounds": TURN_COUNT // seats})
    clock: dict[int, float] = {}

    def read_clock(snapshot: DebateSnapshot) -> None:
        clock.setdefault(len(snapshot.debate.turns), process_time())

    unsubscribe = manager.subscribe(read_clock)
    snapshot = await manager.store.open((setup,), "benchmark")
    manager.run_to_end(snapshot)
    snapshot = await manager.follow(snapshot.id, wait=600)
    unsubscribe()
    assert len(snapshot.debate.turns) == TURN_COUNT, snapshot.debate.failures
    return snapshot, clock


def compute_turn_cost(clock: dict[int, float], station: int) -> float:
    """Seconds of CPU time of a turn, averaged over those around it."""
    return (clock[station + SPAN] - clock[station - SPAN]) / (2 * SPAN)


async def measure_calls(manager: DebateManager, debate_id: str, seats: int) -> list[Measurement]:
    """What tools do about a debate of 520 turns that is over, from the request to both forms of the result."""

    async def get_verdict() -> None:
        snapshot = await manager.follow(debate_id, wait=45)
        build_tool_result(await build_verdict_result(manager, snapshot), format_verdict_result)

    async def step_round() -> None:
        snapshot = await manager.step(debate_id, wait=45)
        build_tool_result(await build_step_result(manager, snapshot, "step_round"), format_step_result)

    async def read_debate() -> None:
        view = find_view("transcript")
        await build_page(manager, await load_view_source(manager, debate_id, view), view, 0)

    calls: tuple[Callable[[], Awaitable[Any]], ...] = (get_verdict, step_round, read_debate)
    return [
        await measure_call(f"CPU of {call.__name__} at {TURN_COUNT} turns, {seats} debaters", call)
        for call in calls
    ]


async def measure_call(name: str, call: Callable[[], Awaitable[Any]]) -> Measurement:
    times = []
    for _ in range(CALL_REPEATS):
        started = process_time()
        await call()
        times.append(process_time() - started)
    return Measurement(name, median(times) * 1000, "ms", MAX_CALL_MS, details=format_spread(times))
