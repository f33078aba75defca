"""The turns that the caller must write."""

import json
from typing import Annotated

from pydantic import BaseModel, Field

from server.debate.ballots.waves import is_private_ballot
from server.debate.facts.setup.seats import WRITTEN
from server.debate.machine.decide import status
from server.debate.machine.render import render_parts
from server.debate.rules.calls import Call, pending_calls
from server.debate.seats.registry import name_task
from server.debate.state.debate import Debate, judge_seats
from server.debate.votes.voters import list_first_readings

MOST_POSITIONS = 4
"""How many positions the example of a ballot names."""

TURN_HEADING = "# Your turn"
"""Separates, in the prompt of a caller's turn, the record from the task."""


class AwaitedTurn(BaseModel):
    """A turn that the caller must write with `submit_turn`."""

    speaker: str
    task: str
    reading: Annotated[str, Field(description="Of a judge: 1 of 2, then 2 of 2; 1 if it may be all")] = ""
    prompt: Annotated[str, Field(description="Of the turn that is to be written next")] = ""


def list_written_calls(debate: Debate) -> list[Call]:
    """The calls that are due for seats whose turns are written by hand."""
    return [call for call in pending_calls(debate) if call.model in WRITTEN]


def awaited_seats(debate: Debate) -> list[str]:
    return list(dict.fromkeys(call.seat for call in pending_calls(debate)))


def awaited_turns(debate: Debate) -> list[AwaitedTurn]:
    """The turns that are written by hand; the debate waits until `submit_turn` brings them.

    Their prompts are complete except for the rules that all prompts of a debate share (`render_rules`).
    """
    turns = []
    for call in list_written_calls(debate) if status(debate) == "waiting" else ():
        record, instruction = render_parts(debate, call)
        turns.append(
            AwaitedTurn(
                speaker=call.seat,
                task=name_task(call),
                reading=name_reading(debate, call),
                prompt=f"{record}\n\n{TURN_HEADING}\n{instruction}",
            )
        )
    return turns


def name_reading(debate: Debate, call: Call) -> str:
    """Which reading of a judge it is: "1 of 2", "2 of 2"; "1" where it may be the only one."""
    if call.task != "judgment" or not debate.setup.judges.both_orders:
        return ""
    at_first = list_first_readings(judge_seats(debate.setup), both_orders=True)[call.seat]
    if len(at_first) > 1:
        return f"{call.reading} of 2"
    return "1" if call.reading in at_first else "2 of 2"


def describe_awaited_text(debate: Debate) -> str:
    """The content of the next turn's text if it is a private ballot; "" for other turns."""
    if not is_private_ballot(list_written_calls(debate)[0].slot_index):
        return ""
    positions = [
        *debate.names[:MOST_POSITIONS],
        *(["…"] if len(debate.names) > MOST_POSITIONS else []),
        "none",
    ]
    beliefs = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: percent" for name in positions)
    return f' with what is held in private, in JSON: {{"beliefs": {{{beliefs}}}, "position": "a sentence"}}'


def describe_task(turn: AwaitedTurn) -> str:
    return f"{turn.task}, reading {turn.reading}" if turn.reading else turn.task


def has_written(debate: Debate) -> bool:
    """Whether the caller has written a turn of this debate, and so has seen its rules."""
    return any(answer.usage.model in WRITTEN and debate.is_own(answer) for answer in debate.answers)
