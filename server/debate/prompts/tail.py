"""Pieces of the last part of a prompt that several seats share: legends, choices of the next speaker."""

from collections.abc import Iterator

from server.debate.facts.text import clean_line
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import order_sides, side_labels
from server.debate.state.seats import find_seat_prompt


def find_own_prompt(debate: Debate, call: Call) -> tuple[str, bool]:
    """(the seat's own prompt or "", whether it replaces the steps of its task) (requirements C14, C19).

    A judge's prompt is about finding for a side, and says nothing of whether pieces of advice are the same.
    """
    if call.task == "comparison":
        return "", False
    prompt, replaces = find_seat_prompt(debate.setup, call.seat)
    if call.seat in debate.setup.prompt_functions:
        prompt = debate.seat_prompts.get(call.seat, "")
    return prompt, replaces and bool(prompt)


def render_handoff_problems(debate: Debate, call: Call) -> Iterator[str]:
    for failure in debate.handoff_failures:
        if failure.round == call.round - 1:
            yield "The last speaker's choice could not be used, and you were drawn."
        own = [turn.round for turn in debate.turns if turn.seat == call.seat]
        if failure.seat == call.seat and failure.round == own[-1]:
            yield f"Your last choice of the next speaker could not be used: {clean_line(failure.detail)}."


def format_legend(debate: Debate, reading: int = 1) -> str:
    """Who is behind which label, for judges who are to know names (requirement C9); no other seat reads one."""
    return "; ".join(f"{label} is {name}" for label, name in order_sides(debate, reading).items()) + "."


def hands_over(debate: Debate, call: Call) -> bool:
    """Whether the reply names the next speaker."""
    return call.task == "argument" and debate.round_phase(call.round).order == "handoff"


def says_position(debate: Debate, call: Call) -> bool:
    """Whether the reply says whose position the debater holds now: in panels, where that may change."""
    return call.task == "argument" and debate.setup.brief == "panel" and not hands_over(debate, call)


def other_labels(debate: Debate, seat: str) -> tuple[str, ...]:
    """The labels of the debaters whom this one can address, and hand over to: in order, beginning after this one."""
    labels, place = tuple(side_labels(debate).values()), debate.names.index(seat)
    return (*labels[place + 1 :], *labels[:place])
