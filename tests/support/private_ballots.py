"""Debates of two sides with private ballots, and the waves in which these were cast."""

from collections import Counter
from typing import Any

from tests.support.simulation import DebateSimulation, Script, build_setup, simulate, task_script

P, OPP = "Proponent", "Opponent"
VOTING_FORMAT, MODES = "full", ("none", "blind", "rounds")


def hold(mode: str = "blind", script: Script | None = None, **asked: Any) -> DebateSimulation:
    options = {"ballots": mode, **asked.pop("options", {})}
    return simulate(build_setup(options=options, **asked), script or task_script({}))


def waves(at: DebateSimulation) -> list[tuple[int, str]]:
    """The round and the wave of each ballot, each once."""
    return sorted({(ballot.round, ballot.wave) for ballot in at.debate.private_ballots})


def count_waves(at: DebateSimulation) -> dict[str, int]:
    return dict(Counter(ballot.wave for ballot in at.debate.ballots))
