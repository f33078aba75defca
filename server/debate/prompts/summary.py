"""The essentials of a prompt, for a model too small to use the whole."""

from collections.abc import Mapping
from itertools import chain

from server.debate.arguments.points import format_id, list_points
from server.debate.prompts.ballots import is_blind_call
from server.debate.prompts.material import find_answered_message
from server.debate.prompts.prompt import PromptSummary
from server.debate.prompts.tail import find_handoff_mode, other_debaters, other_labels
from server.debate.prompts.transcript import is_debater_call
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import relabel, side_labels
from server.debate.state.seats import hides


def build_prompt_summary(debate: Debate, call: Call) -> PromptSummary:
    handoff_mode = find_handoff_mode(debate, call)
    labels = side_labels(debate, call.reading)
    ordered = sorted(labels, key=lambda name: debate.setup.labels.index(labels[name]))
    positions = tuple((labels[name], debate.debater(name).stance) for name in ordered)
    choices: tuple[str, ...] = ()
    if call.task == "message":
        choices = other_labels(debate, call)
    elif call.task == "opening":
        choices = debate.names
    elif handoff_mode:
        choices = other_debaters(debate, call)
    return PromptSummary(
        task=call.task,
        question=debate.setup.question,
        round=call.round,
        stance=debate.debater(call.seat).stance if call.seat in debate.names else "",
        opponent_text=find_opponent_text(debate, call),
        positions=() if call.task in ("argument", "framing", "digest") else positions,
        points=list_first_points(debate, labels) if call.task == "judgment" else (),
        choices=choices,
        handoff_mode=handoff_mode,
    )


def list_first_points(debate: Debate, labels: Mapping[str, str]) -> tuple[str, ...]:
    """The id of the first point of each debater. `labels`: of the reading, by name."""
    first: dict[str, str] = {}
    for point in list_points(debate).values():
        if debate.is_active(point.turn):
            first.setdefault(point.id.seat, format_id(point.id, labels[point.id.seat]))
    return tuple(first.values())


def find_opponent_text(debate: Debate, call: Call) -> str:
    """The message to answer, or the last argument of another seat that this seat may see; "" if none."""
    is_debater = is_debater_call(call)
    if call.task == "answer":
        message = find_answered_message(debate, call)
        return relabel(debate, message.text) if debate.is_active(message) else ""
    if is_blind_call(call):
        return ""
    hidden = debate.setup.hidden_from_seats if is_debater else ()
    hides_round = is_debater and debate.round_phase(call.round).order == "together"
    numbers = range(call.round - hides_round, 0, -1)
    turns = chain.from_iterable(reversed(debate.transcript_turns(number)) for number in numbers)
    texts = (
        turn.text
        for turn in turns
        if turn.seat != call.seat
        and turn.act == "argument"
        and debate.is_active(turn)
        and not hides(hidden, turn.seat)
    )
    return relabel(debate, next(texts, ""), call.reading)
