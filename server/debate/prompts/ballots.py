"""The last words of a ballot: what the voter is asked, and which positions it is shown in what order.

A private ballot is a call of its own, in which a debater's model speaks for itself: without the seat's prompt and the
notes to it, and, before the talk, without a transcript. What comes before the last words is the same as for every seat.
"""

from collections.abc import Iterator

from server.debate.ballots.waves import SAMPLE_BALLOT, is_blind_ballot, is_private_ballot, name_wave
from server.debate.facts.interventions import InstructionGiven
from server.debate.facts.text import clean_line
from server.debate.prompts import wording
from server.debate.prompts.material import render_direct_messages
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from server.debate.state.labels import order_sides, side_labels
from server.debate.state.seats import current_model, phase_seats
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
