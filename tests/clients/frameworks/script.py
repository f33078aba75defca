"""What the scripted model of each framework does. It runs in the framework's environment, without our packages."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

TOOL = "start_debate"
ARGUMENTS: dict[str, Any] = {
    "question": "Ship on Friday?",
    "run": True,
    "debaters": [{"name": "Ada", "stance": "now"}, {"name": "Ben", "stance": "later"}],
    "options": {
        "judges": {"models": ["alpha/judge", "beta/judge", "gamma/judge", "delta/judge", "omega/judge"]}
    },
}
VERDICT = "A quokka verdict."  # of the judges who agree
MAX_CALLS = 8


class Server(NamedTuple):
    """How a framework starts our server. `patience`: seconds for a call, of those that have a limit by default."""

    command: str
    arguments: list[str]
    environment: dict[str, str]
    patience: float


def read_server() -> Server:
    return Server(**json.loads(os.environ["COUNTERPOINT_SERVER"]))


def choose_arguments(shown: Sequence[str]) -> dict[str, Any] | None:
    """The arguments of the next call, always the same: again after an error or a time-out, and again with a verdict.

    None when the verdict was shown twice. `shown`: the results so far, as the model sees them.
    """
    is_done = sum(VERDICT in text for text in shown) > 1 or len(shown) == MAX_CALLS
    return None if is_done else ARGUMENTS


def print_results(shown: Sequence[str], tools: Mapping[str, Any] | None = None) -> None:
    """What the model was shown, and what its provider would be told of each tool, or whether that is strict."""
    json.dump({"shown": list(shown), "tools": dict(tools or {})}, sys.stdout)
