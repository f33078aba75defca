"""The phases of a debate: its format's, or a list of the caller's, checked. Errors name the phase."""

from collections.abc import Sequence
from itertools import chain, count

from server.debate.commands.formats import PHASES
from server.debate.commands.requests import PhaseInput
from server.debate.facts.config import Order, Phase
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.text import clean


def build_custom_phases(
    requested: Sequence[PhaseInput | str], default_order: Order | None = None
) -> tuple[Phase, ...]:
    """The phases of a caller's list. `order`: how debaters speak in those that do not say it themselves.

    Raises:
        Refused: one of them cannot be held there; the text names it.
    """
    phases: list[Phase] = []
    for index, one in enumerate(requested):
        wish = PhaseInput(name=one) if isinstance(one, str) else one
        before = [phase.name for phase in phases]
        phases.append(
            build_custom_phase(wish, format_phase_location(index, wish.name), before, default_order)
        )
    check_phase_sequence(phases)
    return tuple(phases)


def format_phase_location(index: int, name: str) -> str:
    return f"options.phases[{index}] ({name[:40]})"


def build_custom_phase(
    phase_input: PhaseInput, location: str, previous_names: Sequence[str], default_order: Order | None
) -> Phase:
    name, instruction = " ".join(clean(phase_input.name).split()), clean(phase_input.instruction)
    if not name:
        raise InvalidRequestError(f"{location}: a phase needs a name.")
    known = PHASES.get(name)
    if known is None and not instruction:
        raise InvalidRequestError(
            f"{location}: there is no such phase. Phases: {', '.join(PHASES)}. A phase of your own needs an "
            "`instruction` that says what its speakers are to do."
        )
    base = known or Phase(name=name, participants="debaters", order="together")
    if base.participants != "debaters" and (phase_input.order or phase_input.wants or phase_input.repeats):
        raise InvalidRequestError(
            f"{location}: its order cannot be changed, and it is held once. Leave all but `name` out."
        )
    wants = phase_input.wants or base.wants
    argued = (default_order or base.order) if base.participants == "debaters" else base.order
    phase = base.model_copy(
        update={
            "name": build_unique_name(name, previous_names),
            "order": phase_input.order or (argued if wants == "argument" else "together"),
            "repeats": phase_input.repeats,
            "wants": wants,
            "instruction": instruction or base.instruction,
        }
    )
    if phase.wants != "argument" and phase_input.order not in (None, "together"):
        raise InvalidRequestError(
            f"{location}: messages and ballots are written together; leave `order` out."
        )
    if phase.repeats and not phase.is_talk:
        raise InvalidRequestError(f"{location}: only a phase of talk can repeat.")
    return phase


def build_unique_name(name: str, previous_names: Sequence[str]) -> str:
    """The name, with a number where a phase before has it."""
    names = chain([name], (f"{name} {number}" for number in count(2)))
    return next(other for other in names if other not in previous_names)


def check_phase_sequence(phases: Sequence[Phase]) -> None:
    places = [format_phase_location(index, phase.name) for index, phase in enumerate(phases)]
    if not any(phase.is_talk for phase in phases):
        raise InvalidRequestError(
            f"{places[0]}: nobody argues in these phases. Add one of talk, such as opening."
        )
    if not phases[0].is_talk:
        raise InvalidRequestError(
            f"{places[0]}: a debate begins with talk; there is nothing to decide on yet."
        )
    repeating = [index for index, phase in enumerate(phases) if phase.repeats]
    if len(repeating) > 1:
        first = phases[repeating[0]].name
        raise InvalidRequestError(f"{places[repeating[1]]}: only one phase can repeat, and {first} does.")
    for asks, last in (("judges", "verdict"), ("synthesizer", "deliverable")):
        indexes = [index for index, phase in enumerate(phases) if phase.participants == asks]
        if len(indexes) > 1:
            raise InvalidRequestError(f"{places[indexes[1]]}: {last} can be held once.")
        for index in indexes:
            later = [phase for phase in phases[index + 1 :] if phase.participants != "synthesizer"]
            if later:
                raise InvalidRequestError(
                    f"{places[index]}: {later[0].name} stands after it, and nothing but the deliverable can. "
                    f"Move {last} to the end."
                )


def apply_order(phases: Sequence[Phase], order: Order) -> tuple[Phase, ...]:
    """The same phases; where debaters argue, they speak in this order."""
    return tuple(
        phase.model_copy(update={"order": order}) if phase.is_talk and phase.wants == "argument" else phase
        for phase in phases
    )
