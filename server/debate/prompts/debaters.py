"""The last words of debaters and voters: who they are, what they do now, and how the server reads a turn.

A text for each case is chosen here by what the debater has said and can read, so that no prompt says "if" or "where".

A private ballot is a call of its own, in which a debater's model speaks for itself: without the seat's prompt and the
notes to it, and, before the talk, without a transcript. What comes before the last words is the same as for every seat.
"""

from collections.abc import Iterator

from server.debate.arguments.points import format_id, split_turn
from server.debate.arguments.sources import list_sources
from server.debate.ballots.waves import SAMPLE_BALLOT, is_blind_ballot, is_private_ballot, name_wave
from server.debate.facts.interventions import InstructionGiven
from server.debate.facts.setup.phases import Phase
from server.debate.facts.text import clean_line
from server.debate.prompts import wording
from server.debate.prompts.material import other_labels, render_direct_messages, render_identity
from server.debate.prompts.transcript import find_other_argument
from server.debate.rules.calls import Call
from server.debate.rules.schedule import may_send
from server.debate.state.debate import Debate
from server.debate.state.labels import order_sides, side_labels
from server.debate.state.seats import current_model, find_tools, phase_seats
from server.debate.votes.voters import verdict_source


def list_ballot_positions(debate: Debate, call: Call) -> list[str]:
    """The debaters in the order in which a voter is shown their positions, for each voter beginning with another one.

    Voters of one model begin with different ones, as far as they go round, and begin alike in every vote. A sample
    begins with the one after that of the sample before it.
    """
    ordered = [*order_sides(debate).values()]
    is_private = is_private_ballot(call.slot_index)
    voters = debate.names if is_private else phase_seats(debate.setup, debate.round_phase(call.round))
    by_model = sorted(voters, key=lambda seat: current_model(debate, seat))
    by = (by_model.index(call.seat) + max(call.slot_index - SAMPLE_BALLOT, 0)) % len(ordered)
    return ordered[by:] + ordered[:by]


def list_ballot_lines(debate: Debate, call: Call) -> list[str]:
    """A line "LABEL. stance" for each position, in that order. Labels stay, so that prompts share what is before."""
    labels = side_labels(debate)
    return [
        f"{labels[name]}. {clean_line(debate.debater(name).stance)}"
        for name in list_ballot_positions(debate, call)
    ]


def asks_who_argued(debate: Debate, call: Call) -> bool:
    """Whether a voter says who did not argue: where no judge and no moderator decides, who would say it."""
    is_theirs = verdict_source(debate.setup) in ("ballots", "swing", "")
    return is_theirs and bool(debate.turns) and not is_blind_ballot(call.slot_index)


def render_private_steps(debate: Debate, call: Call) -> Iterator[str]:
    """What a private ballot asks before the positions: the same for every voter, but for the messages it knows."""
    if debate.setup.instructions:
        yield wording.quote_instruction(debate.setup.instructions)
    if is_blind_ballot(call.slot_index):
        before = wording.describe_before(has_documents=bool(debate.setup.documents))
        yield f"{wording.PRIVATE_BALLOT} {before} {wording.BALLOT_STEPS}"
        return
    for given in debate.find_interventions(InstructionGiven):
        if not given.to and given.round < call.round:
            yield wording.quote_instruction(given.text)
    yield from render_direct_messages(debate, call)
    role = f"You were {side_labels(debate)[call.seat]}, and do not answer as such."
    after_round = f" {wording.AFTER_ROUND}" if name_wave(debate, call.slot_index) == "round" else ""
    yield f"{wording.PRIVATE_BALLOT} {role} {wording.LATER_BALLOT} {wording.BALLOT_STEPS}{after_round}"


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
