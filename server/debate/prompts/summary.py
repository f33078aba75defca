"""The essentials of a prompt, for a model too small to use the whole."""

from collections.abc import Mapping

from server.debate.answer.count import count_panel
from server.debate.answer.debates import build_panel
from server.debate.answer.prompts import order_answers, order_reviews
from server.debate.answer.report import show_report
from server.debate.arguments.points import format_id, list_points
from server.debate.ballots.waves import is_blind_ballot
from server.debate.facts.setup.phases import ADVICE_TASKS
from server.debate.prompts.material import find_answered_message, hands_over, other_labels, says_position
from server.debate.prompts.prompt import PromptSummary
from server.debate.prompts.transcript import find_other_argument
from server.debate.rules.calls import WITHOUT_POSITIONS, Call
from server.debate.state.debate import Debate
from server.debate.state.labels import order_sides, side_labels, turn_text
from server.debate.votes.panel import list_own_readings


def build_prompt_summary(debate: Debate, call: Call, task: str) -> PromptSummary:
    """`task`: its name for people."""
    if call.task in ADVICE_TASKS:
        return build_advice_summary(debate, call)
    labels = side_labels(debate, call.reading)
    sides = order_sides(debate, call.reading)
    positions = tuple((label, debate.debater(name).stance) for label, name in sides.items())
    choices: tuple[str, ...] = ()
    if call.task == "comparison":
        choices = tuple(f"R{number}" for number, _ in enumerate(list_own_readings(debate), start=1))
    elif call.task == "opening":
        choices = tuple(labels.values())
    elif call.task == "message" or hands_over(debate, call):
        choices = other_labels(debate, call.seat)
    elif says_position(debate, call):
        choices = (labels[call.seat],)
    return PromptSummary(
        task=task,
        question=debate.setup.question,
        round=call.round,
        stance=debate.debater(call.seat).stance if call.seat in debate.names else "",
        opponent_text=find_opponent_text(debate, call),
        positions=() if call.task in ("argument", "digest", *WITHOUT_POSITIONS) else positions,
        points=list_first_points(debate, labels) if call.task == "judgment" else (),
        choices=choices,
    )


def build_advice_summary(debate: Debate, call: Call) -> PromptSummary:
    """What a seat of the answer format is asked, with the labels or ids that its reply may name."""
    panel = build_panel(debate)
    choices: tuple[str, ...] = ()
    if call.task == "review":
        choices = tuple(order_answers(panel, call.seat, call.slot_index))
    elif call.task == "exchange":
        choices = tuple(order_reviews(panel, call.seat))
    text = show_report(panel, count_panel(panel)) if call.task == "check" else ""
    return PromptSummary(
        task=call.task,
        question=debate.setup.question,
        round=call.round,
        opponent_text=text,
        choices=choices,
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
    if call.task == "answer":
        message = find_answered_message(debate, call)
        return message.text if debate.is_active(message) else ""
    turn = None if is_blind_ballot(call.slot_index) else find_other_argument(debate, call)
    return turn_text(debate, turn.text if turn else "", call.reading)
