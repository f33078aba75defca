"""The last words of a debater: who it is, what it does now, and how the server reads its points.

A text for each case is chosen here by what the debater has said and can read, so that no prompt says "if" or "where".
"""

from collections.abc import Iterator

from server.debate.arguments.points import format_id, split_turn
from server.debate.arguments.sources import list_sources
from server.debate.ballots.waves import is_blind_ballot
from server.debate.facts.setup.phases import Phase
from server.debate.prompts import wording
from server.debate.prompts.material import other_labels, render_identity
from server.debate.prompts.transcript import find_other_argument
from server.debate.rules.calls import Call
from server.debate.rules.schedule import may_send
from server.debate.state.debate import Debate
from server.debate.state.labels import side_labels
from server.debate.state.seats import find_tools


def render_debater_steps(debate: Debate, call: Call) -> Iterator[str]:
    """Who a debater is, and what it is to do now."""
    yield from render_identity(debate, call)
    if call.task == "argument":
        yield from render_turn_steps(debate, call)
    else:
        asked = wording.MESSAGE if call.task == "message" else wording.ANSWER
        yield f"{asked} {wording.BETWEEN_TWO}"


def render_turn_steps(debate: Debate, call: Call) -> Iterator[str]:
    phase, example = debate.round_phase(call.round), find_example(debate, call)
    is_neutral = debate.debater(call.seat).stance.casefold() == "neutral"
    kind = name_kind(phase)
    if is_neutral:
        yield wording.NEUTRAL_STEPS
    elif kind != "synthesis":
        brief = debate.setup.brief
        is_panel_opening = brief == "panel" and not example
        yield wording.PANEL_OPENING if is_panel_opening else wording.BRIEFS[brief].format(example=example)
    if steps := wording.PHASE_STEPS.get(kind):
        is_first = phase.order == "handoff" and not example
        yield wording.FIRST_IN_DISCUSSION if is_first else steps
    elif not (phase.instruction or is_neutral):
        yield choose_case_steps(
            has_spoken=any(turn.seat == call.seat for turn in debate.turns), example=example
        )
    left = debate.max_rounds - debate.talk_round_count
    length = "" if phase.order == "handoff" else f" {wording.LENGTH.format(words=debate.setup.turn_words)}"
    yield f"{wording.CANDOUR}{length} {wording.describe_rest(left)}"
    if may_send(debate, call.seat):
        others = other_labels(debate, call.seat)
        yield wording.MESSAGE_STEPS.format(example=others[0], others=", ".join(others))


def choose_case_steps(*, has_spoken: bool, example: str) -> str:
    """What a turn consists of. `example`: the id of a point of somebody else that it can answer, or ""."""
    if not example:
        return wording.CASE_STEPS
    return wording.REBUTTAL_STEPS if has_spoken else f"{wording.CASE_STEPS} {wording.ANSWER_OTHERS}"


def name_kind(phase: Phase) -> str:
    """The name of a phase without the number of one that is held again."""
    return phase.name.rstrip(" 0123456789")


def find_example(debate: Debate, call: Call) -> str:
    """The id of a point that somebody else made and that this seat can read; "" for none."""
    turn = None if is_blind_ballot(call.slot_index) else find_other_argument(debate, call)
    return format_id(split_turn(debate, turn).points[0].id, side_labels(debate)[turn.seat]) if turn else ""


def render_turn_grammar(debate: Debate, call: Call) -> Iterator[str]:
    """How the server reads a turn."""
    phase = debate.round_phase(call.round)
    if phase.order != "handoff" and name_kind(phase) not in wording.PHASE_STEPS:
        yield wording.POINTS
    if (example := find_example(debate, call)) and name_kind(phase) != "synthesis":
        yield wording.RELATIONS.format(example=example)
    if list_sources(debate) or find_tools(debate.setup, call.seat, call.task):
        yield wording.QUOTES
