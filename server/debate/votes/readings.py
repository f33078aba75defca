"""The order in which a judge reads the turns of a round, and what of the talk could have decided by itself."""

from collections import Counter
from itertools import chain

from server.debate.facts.events import Spoke
from server.debate.facts.interventions import NoteAdded, TalkConcluded
from server.debate.facts.setup.seats import WRITTEN
from server.debate.state.debate import Debate
from server.debate.state.labels import SECOND_READING

LENGTH_RATIO = 2
"""How much longer than any other the turns of a winner are where their length is a caution."""


def order_turns(debate: Debate, round_number: int, reading: int) -> tuple[tuple[Spoke, ...], ...]:
    """The turns of a round, each message with its answer.

    Turns that answer each other keep the order in which they were made. Turns that were written without seeing each
    other are read in the order drawn, or, in a second reading, with the first one last; both among those that had seen
    the same notes, since a turn stands before the notes that it had not seen.
    """
    arguments = tuple((t,) for t in debate.transcript_turns(round_number) if t.act == "argument")
    exchanges = debate.round_exchanges(round_number)
    if debate.round_phase(round_number).order != "together":
        return (*arguments, *exchanges)
    written = (arguments, exchanges)
    return tuple(chain.from_iterable(order_together(debate, round_number, one, reading) for one in written))


def order_together(
    debate: Debate, round_number: int, groups: tuple[tuple[Spoke, ...], ...], reading: int
) -> tuple[tuple[Spoke, ...], ...]:
    """What was written together: in the order drawn, or in a second reading with the first last."""
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


def find_talk_caps(debate: Debate) -> list[str]:
    """What was wrong with the talk: sides without a voice, uneven numbers of turns."""
    counts = Counter(turn.seat for turn in debate.active_turns if turn.act == "argument")
    caps = []
    if counts and (unheard := [name for name in debate.names if not counts[name]]):
        caps.append(f"Never heard: {', '.join(unheard)}. Nobody argued their side.")
    everybody = all(phase.order in ("together", "declared") for phase in debate.setup.phases if phase.is_talk)
    if not caps and len({counts[name] for name in debate.names}) > 1:
        by_budget = any(made.cause == "budget" for made in debate.find_interventions(TalkConcluded))
        if everybody or by_budget:
            listed = ", ".join(f"{name} {counts[name]}" for name in debate.names)
            why = "A budget cut the talk, and turns" if by_budget else "Turns"
            caps.append(f"{why} are uneven: {listed}.")
    return caps


def find_length_caps(debate: Debate, ahead: str) -> list[str]:
    """Whether the side ahead wrote far more than any other: judges like length (Saito et al., arXiv 2310.10076)."""
    lengths = dict.fromkeys(debate.names, 0)
    for turn in debate.active_turns:
        lengths[turn.seat] += len(turn.text)
    own, longest = lengths.pop(ahead, 0), max(lengths.values())
    if own < LENGTH_RATIO * longest:
        return []
    return [
        f"{ahead} wrote {own:,} characters, and nobody else more than {longest:,}: length could have decided."
    ]


def find_speaker_models(debate: Debate) -> dict[str, set[str]]:
    """The models that wrote the turns of each debater. Who writes those of a caller is unknown."""
    models = {name: set[str]() for name in debate.names}
    for seat, model in {(turn.seat, turn.usage.model) for turn in debate.turns}:
        models[seat] |= {model} - WRITTEN
    return models
