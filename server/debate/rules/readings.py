"""The order in which a judge reads the turns of a round, first and second time."""

from itertools import chain

from server.debate.facts.events import Spoke
from server.debate.facts.interventions import NoteAdded
from server.debate.facts.labels import SECOND_READING
from server.debate.facts.state import Debate


def order_turns(debate: Debate, round_number: int, reading: int) -> tuple[tuple[Spoke, ...], ...]:
    """The turns of a round, each message with its answer.

    Turns that answer each other keep the order in which they were made. Turns that were written without seeing each
    other are read in the order drawn, or, in a second reading, with the first one last; both among those that had seen
    the same notes, since a turn stands before the notes that it had not seen.
    """
    phase = debate.round_phase(round_number)
    if phase.wants == "message":
        groups = debate.round_exchanges(round_number)
    else:
        groups = tuple((turn,) for turn in debate.transcript_turns(round_number))
    if phase.order != "together":
        return groups
    notes = [
        version
        for note, version in debate.round_notes(round_number)
        if not (isinstance(note, NoteAdded) and note.to)
    ]
    parts: dict[int, list[tuple[Spoke, ...]]] = {}
    for group in groups:
        parts.setdefault(sum(version <= group[0].seen for version in notes), []).append(group)
    turned = int(reading == SECOND_READING)
    return tuple(chain.from_iterable((*part[turned:], *part[:turned]) for _, part in sorted(parts.items())))


def find_fixed_ends(debate: Debate) -> list[str]:
    """Which ends of the talk, "first" or "last", have a turn of the same debater in both readings."""
    ends = []
    for end, rounds, index in (("first", debate.talk_rounds, 0), ("last", debate.talk_rounds[::-1], -1)):
        held = next((number for number in rounds if debate.round_turns(number)), None)
        orders = [order_turns(debate, held, reading) for reading in (1, SECOND_READING)] if held else []
        ends += [end] if len({order[index][index].seat for order in orders}) == 1 else []
    return ends
