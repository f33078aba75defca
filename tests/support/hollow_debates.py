"""Panels with ballots after every round, in which agreement is hollow or real as the ballots say."""

from typing import Any

from server.debate.rules.calls import Call
from tests.support import simulation

NAMES = ("Ada", "Bob", "Cleo", "Dan")

DOCUMENTS = [
    {
        "title": "One",
        "text": "The build takes forty minutes on every machine. Half of that is spent in tests of the mail.",
    },
    {
        "title": "Two",
        "text": "Customers asked for a faster search in March. The search takes nine seconds on average.",
    },
]
BUILD = "“The build takes forty minutes” (doc 1)"
TESTS = "“spent in tests of the mail” (doc 1)"
SEARCH = "“Customers asked for a faster search” (doc 2)"
Ballot = tuple[str, int, Any, Any]  # choice, percent, moved_by, new_point


def vote(call: Call, ballots: dict[tuple[str, int], Ballot], usual: Ballot) -> dict[str, Any]:
    """The ballot of a seat: 0 before the talk, else after that round."""
    number = 0 if call.slot_index == 100 else call.round
    choice, percent, moved, new = ballots.get((call.seat, number), usual)
    beliefs = {choice: percent, "none": 100 - percent}
    extra = {} if call.slot_index == 100 else {"moved_by": moved, "new_point": new, "open_point": None}
    return {"position": "So.", "beliefs": beliefs, "would_check": "It.", "moved_by": None, **extra}


def hold(
    ballots: dict[tuple[str, int], Ballot] | None = None,
    turns: dict[tuple[str, int], str] | None = None,
    public: dict[tuple[str, int], str] | None = None,
    *,
    usual: Ballot = ("A", 60, None, "New."),
    seats: int = 3,
    settled: int = 0,
    **fields: Any,
) -> simulation.DebateSimulation:
    """A panel of Ada (A), Bob (B) and Cleo (C), with ballots after every round, settled in a round if at all.

    `public`: whose position a seat says it holds, by round; its own where nothing is given.
    """
    options = {
        "ballots": "rounds",
        "challenges": "challenge",
        "moderator": {"closes": True},
        **fields.pop("options", {}),
    }
    given = {"format": "settle", "max_rounds": 2, "documents": DOCUMENTS, **fields}
    team = [
        {"name": name, "stance": f"plan of {name}", "model": f"m{i}"} for i, name in enumerate(NAMES[:seats])
    ]
    opened = simulation.build_setup(debaters=team, options=options, **given)

    def close(call: Call) -> dict[str, Any]:
        over = bool(settled) and call.round >= settled
        return {"summary": "So far.", "status": "SETTLED" if over else "CONTINUE", "decision": "Do it."}

    script = simulation.task_script(
        {
            "ballot": lambda call: vote(call, ballots or {}, usual),
            "argument": lambda call: {
                "response": (turns or {}).get((call.seat, call.round), f"[1] {call.seat} {call.round}."),
                "holds": (public or {}).get((call.seat, call.round), "ABCD"[NAMES.index(call.seat)]),
            },
            "closing": close,
        }
    )
    return simulation.simulate(opened, script)


def own_choices(rounds: int = 3) -> dict[tuple[str, int], Ballot]:
    """Everybody holds its own position, in private too."""
    letters = dict(zip(NAMES, "ABCD", strict=True))
    return {(name, n): (letters[name], 80, None, "New.") for name in NAMES for n in range(rounds + 1)}


FLIPPED: dict[tuple[str, int], Ballot] = {
    (name, n): (letter if n == 0 else "A", 60, None, None)
    for name, letter in zip(NAMES, "ABCD", strict=True)
    for n in range(6)
}
"""In private all come over to Ada after round 1, without a reason; in public each holds on to its own position."""

AGREED = {(name, number): "A" for name in NAMES for number in range(1, 6)}
"""In public all hold the position of Ada."""
