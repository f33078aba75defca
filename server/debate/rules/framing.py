"""What a debate is about: the positions of a debate for which nobody named debaters.

Before the first round the models answer the question, each without seeing another answer. Then the seat `framer` makes
positions of the answers. Its reply has the debaters and their labels, which take the place of those of the format.
Where it gives no usable answer, the debate pauses: for and against are no positions on "which of three".
"""

from collections.abc import Sequence

from server.debate.facts.earlier import EarlierWithdrawn
from server.debate.facts.events import PositionsFramed
from server.debate.facts.interventions import PositionsRevised
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import Debater, Framing
from server.debate.rules.budget import find_round_shortfall
from server.debate.rules.course import build_phase_entered
from server.debate.state.debate import Debate, replace

SIDES = 2
"""The first debaters of a format, whose places the positions take; those after them defend no side."""

MAX_POSITIONS = 5


def seat_positions(setup: Opened, question_kind: str, positions: Sequence[str]) -> tuple[Debater, ...]:
    """The debaters who stand for these positions, and those of the format who defend no side."""
    assert setup.framer is not None
    sides, neutral_debaters = setup.debaters[:SIDES], setup.debaters[SIDES:]
    names = [side.name for side in sides]
    if question_kind == "open":
        names = [f"Debater {number}" for number in range(1, len(positions) + 1)]
    seats = [
        *zip(names, positions, strict=True),
        *((debater.name, debater.stance) for debater in neutral_debaters),
    ]
    models = setup.framer.models
    return tuple(
        Debater(name=name, stance=stance, model=models[index % len(models)])
        for index, (name, stance) in enumerate(seats)
    )


def find_position_limit(debate: Debate) -> int:
    """How many positions there may be, so that the budget allows the first round of their debate after this call."""
    phase = next(phase for phase in debate.setup.phases if phase.is_talk)
    for count in range(MAX_POSITIONS, SIDES, -1):
        positions = [str(number) for number in range(count)]
        debaters = seat_positions(debate.setup, "open", positions)
        framed_debate = replace(
            debate, changed_setup=debate.setup.model_copy(update={"debaters": debaters, "framing": Framing()})
        )
        if not find_round_shortfall(
            framed_debate, build_phase_entered(framed_debate, phase, None), calls_before=1
        ):
            return count
    return SIDES


def find_framing_problem(setup: Opened, event: PositionsFramed) -> str:
    """Why the positions cannot be those of this debate; "" if they can."""
    count = len(event.debaters) - len(setup.debaters[SIDES:])
    most_positions = SIDES if event.question_kind == "yes_no" else MAX_POSITIONS
    positions = [debater.stance for debater in event.debaters[:count]]
    has_labels = len(event.labels) == len(set(event.labels)) == len(event.debaters)
    is_allowed = SIDES <= count <= most_positions and has_labels
    if not is_allowed or event.debaters != seat_positions(setup, event.question_kind, positions):
        return "these are not the seats of this debate"
    return ""


def apply_positions(setup: Opened, event: PositionsFramed) -> Opened:
    framing = Framing(question_kind=event.question_kind, assumption=event.assumption)
    changes = {"debaters": event.debaters, "labels": event.labels, "framing": framing}
    return setup.model_copy(update=changes)


def can_revise_positions(debate: Debate) -> bool:
    """Whether positions were proposed, and nobody was asked to speak for them yet."""
    return debate.framed is not None and not debate.rounds


def find_revision_problem(debate: Debate, event: PositionsRevised) -> str:
    """Why positions cannot be changed to these words; "" if they can."""
    if not can_revise_positions(debate):
        return "no positions wait to be confirmed"
    are_known = all(revision.debater in debate.names and revision.stance for revision in event.stances)
    return (
        ""
        if are_known and len(set(event.labels)) == len(debate.names)
        else "these are no positions of this debate"
    )


def revise_positions(setup: Opened, event: PositionsRevised) -> Opened:
    stances = {revision.debater: revision.stance for revision in event.stances}
    debaters = tuple(
        debater.model_copy(update={"stance": stances.get(debater.name, debater.stance)})
        for debater in setup.debaters
    )
    return setup.model_copy(update={"debaters": debaters, "labels": event.labels})


def withdraw_earlier(setup: Opened, event: EarlierWithdrawn) -> Opened:
    """The set-up of a debate that recalled one which is gone; unchanged where it did not."""
    memory = setup.memory and setup.memory.withdraw(event.debate_id, event.cause)
    return setup.model_copy(update={"memory": memory})
