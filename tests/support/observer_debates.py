"""Debates of Bob (A) and Ada (B) in whose first round an observer marks rhetoric."""

from typing import Any

from tests.support import simulation

BOB, ADA = ("Bob", "wait"), ("Ada", "rewrite it")
TEAM = [{"name": name, "stance": stance} for name, stance in (BOB, ADA)]


def allege(**fields: Any) -> dict[str, Any]:
    usual = {"pattern": "ad hominem", "speaker": "B1", "words": "", "of": None, "original_words": None}
    return {**usual, "why": "It goes against him.", **fields}


def observe(
    turns: dict[str, str], *marks: dict[str, Any], rounds: int = 1, **options: Any
) -> simulation.DebateSimulation:
    """A debate of Bob (A) and then Ada (B) in which the observer alleges these marks in round 1."""
    opened = simulation.build_setup(
        format="verdict", debaters=TEAM, max_rounds=rounds, options={"observer": True, **options}
    )
    script = simulation.task_script(
        {
            "argument": lambda call: turns[call.seat] if call.round == 1 else turns.get("later", "More."),
            "observation": lambda call: {"marks": list(marks) if call.round == 1 else []},
        }
    )
    return simulation.simulate(opened, script)


TURNS = {"Bob": "Two years are too long.", "Ada": "Bob never shipped anything. Six weeks suffice."}
AGAINST_BOB = allege(words="Bob never shipped anything.")
