"""Debates in which everybody says who speaks in which round, and judges find for the first side."""

from server.debate.rules.calls import Call
from tests.support.simulation import DebateSimulation, ScriptAnswer, build_setup, render_finding, simulate


def plainly(call: Call) -> ScriptAnswer:
    return render_finding() if call.reading else f"{call.seat} in {call.round}"


def over(**asked: object) -> DebateSimulation:
    return simulate(build_setup(**asked), plainly).play()  # type: ignore[arg-type]  # whatever a request may hold
