"""The phases of a debate: its format's, or a list of the caller's, checked. Errors name the phase."""

from collections.abc import Sequence
from itertools import chain, count

from server.debate.commands.formats import PHASES
from server.debate.commands.requests import PhaseAsked
from server.debate.facts.config import Order, Phase
from server.debate.facts.errors import Refused
from server.debate.facts.text import clean


def phases_asked(asked: Sequence[PhaseAsked | str], order: Order | None = None) -> tuple[Phase, ...]:
    """The phases of a caller's list. `order`: how debaters speak in those that do not say it themselves.

    Raises:
        Refused: one of them cannot be held there; the text names it.
    """
    phases: list[Phase] = []
    for index, one in enumerate(asked):
        wish = PhaseAsked(name=one) if isinstance(one, str) else one
        before = [phase.name for phase in phases]
        phases.append(phase_asked(wish, where(index, wish.name), before, order))
    check_order(phases)
    return tuple(phases)


def where(index: int, name: str) -> str:
    return f"options.phases[{index}] ({name[:40]})"


def phase_asked(wish: PhaseAsked, place: str, before: Sequence[str], order: Order | None) -> Phase:
    name, instruction = " ".join(clean(wish.name).split()), clean(wish.instruction)
    if not name:
        raise Refused(f"{place}: a phase needs a name.")
    known = PHASES.get(name)
    if known is None and not instruction:
        raise Refused(
            f"{place}: there is no such phase. Phases: {', '.join(PHASES)}. A phase of your own needs an "
            "`instruction` that says what its speakers are to do."
        )
    base = known or Phase(name=name, asks="debaters", order="together")
    if base.asks != "debaters" and (wish.order or wish.wants or wish.repeats):
        raise Refused(f"{place}: its order cannot be changed, and it is held once. Leave all but `name` out.")
    wants = wish.wants or base.wants
    argued = (order or base.order) if base.asks == "debaters" else base.order
    phase = base.model_copy(
        update={
            "name": numbered(name, before),
            "order": wish.order or (argued if wants == "argument" else "together"),
            "repeats": wish.repeats,
            "wants": wants,
            "instruction": instruction or base.instruction,
        }
    )
    if phase.wants != "argument" and wish.order not in (None, "together"):
        raise Refused(f"{place}: messages and ballots are written together; leave `order` out.")
    if phase.repeats and not phase.is_talk:
        raise Refused(f"{place}: only a phase of talk can repeat.")
    return phase


def numbered(name: str, before: Sequence[str]) -> str:
    """The name, with a number where a phase before has it."""
    names = chain([name], (f"{name} {number}" for number in count(2)))
    return next(other for other in names if other not in before)


def check_order(phases: Sequence[Phase]) -> None:
    places = [where(index, phase.name) for index, phase in enumerate(phases)]
    if not any(phase.is_talk for phase in phases):
        raise Refused(f"{places[0]}: nobody argues in these phases. Add one of talk, such as opening.")
    if not phases[0].is_talk:
        raise Refused(f"{places[0]}: a debate begins with talk; there is nothing to decide on yet.")
    repeating = [index for index, phase in enumerate(phases) if phase.repeats]
    if len(repeating) > 1:
        first = phases[repeating[0]].name
        raise Refused(f"{places[repeating[1]]}: only one phase can repeat, and {first} does.")
    for asks, last in (("judges", "verdict"), ("synthesizer", "deliverable")):
        indexes = [index for index, phase in enumerate(phases) if phase.asks == asks]
        if len(indexes) > 1:
            raise Refused(f"{places[indexes[1]]}: {last} can be held once.")
        for index in indexes:
            later = [phase for phase in phases[index + 1 :] if phase.asks != "synthesizer"]
            if later:
                raise Refused(
                    f"{places[index]}: {later[0].name} stands after it, and nothing but the deliverable can. "
                    f"Move {last} to the end."
                )


def with_order(phases: Sequence[Phase], order: Order) -> tuple[Phase, ...]:
    """The same phases; where debaters argue, they speak in this order."""
    return tuple(
        phase.model_copy(update={"order": order}) if phase.is_talk and phase.wants == "argument" else phase
        for phase in phases
    )
