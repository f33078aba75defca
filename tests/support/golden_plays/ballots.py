"""Debates with private ballots: of every wave, challenged, and agreed beforehand."""

from typing import Any

from server.debate.commands.setup.open import add_meter
from server.debate.facts.events import Event
from server.debate.rules.calls import Call
from tests.support.golden_plays.setups import build_setup
from tests.support.simulation import build_ballot, simulate, task_script


def play_ballots() -> list[Event]:
    """A debate with private ballots of every wave, of which those after the second round end the talk."""

    def ballot(call: Call) -> dict[str, Any]:
        moved = {"moved_by": "B 1", "new_point": None, "open_point": "Żółć?" if call.round == 1 else None}
        return build_ballot("A", "日本語で待つ", percent=60 if call.slot_index == 100 else 91) | moved

    options = {"ballots": "rounds", "stop": "on"}
    opened = build_setup(["openai/gpt-5", "anthropic/claude-4"], max_rounds=4, options=options)
    return simulate(opened, task_script({"ballot": ballot})).play().events


def play_alike() -> list[Event]:
    """A debate that ends where all hold the same alike: one position is measured against another's."""

    def ballot(call: Call) -> dict[str, Any]:
        said = (
            "Żółć und 日本語 kosten zu viel."
            if call.seat == "Opponent"
            else "Zu viel kosten Żółć und 日本語."
        )
        return build_ballot("A", said, percent=60 + 6 * call.round) | {
            "new_point": "Żółć.",
            "open_point": None,
        }

    options = {"ballots": "rounds", "stop": "on"}
    opened = build_setup(["openai/gpt-5", "anthropic/claude-4"], max_rounds=4, options=options)
    return simulate(add_meter(opened, "vendor/embed"), task_script({"ballot": ballot})).play().events


def play_hollow() -> list[Event]:
    """In private all come over to one position, in public nobody; after a challenge in a round more one goes back."""

    def ballot(call: Call) -> dict[str, Any]:
        is_back = call.seat == "Opponent" and call.round > 1
        choice = "A" if call.seat == "Proponent" or (call.slot_index == 101 and not is_back) else "B"
        extra = {"moved_by": None, "new_point": "Żółć." if call.round > 1 else None, "open_point": None}
        return build_ballot(choice, "日本語で", percent=60) | extra

    def argue(call: Call) -> dict[str, Any]:
        return {"response": f"[1] {call.seat}, 日本語.", "holds": "A" if call.seat == "Proponent" else "B"}

    options = {"challenges": "challenge", "ballots": "rounds"}
    opened = build_setup(["vendor/a", "vendor/b"], format="settle", max_rounds=1, options=options)
    return simulate(opened, task_script({"ballot": ballot, "argument": argue})).play().events
