"""The last words of a ballot: which positions it is shown in what order."""

from server.debate.facts.labels import side_labels
from server.debate.facts.state import Debate, phase_seats
from server.debate.facts.text import clean_line
from server.debate.rules.decide import Call
from server.debate.rules.schedule import current_model


def list_ballot_positions(debate: Debate, call: Call) -> list[str]:
    """The debaters in the order in which a voter is shown their positions, for each voter beginning with another one.

    Voters of one model begin with different ones, as far as they go round, and begin alike in every vote.
    """
    labels = side_labels(debate)
    ordered = sorted(labels, key=lambda name: debate.setup.labels.index(labels[name]))
    voters = phase_seats(debate.setup, debate.round_phase(call.round))
    by_model = sorted(voters, key=lambda seat: current_model(debate, seat))
    by = by_model.index(call.seat) % len(ordered)
    return ordered[by:] + ordered[:by]


def list_ballot_lines(debate: Debate, call: Call) -> list[str]:
    """A line "LABEL. stance" for each position, in that order. Labels stay, so that prompts share what is before."""
    labels = side_labels(debate)
    return [
        f"{labels[name]}. {clean_line(debate.debater(name).stance)}"
        for name in list_ballot_positions(debate, call)
    ]
