"""Custom phases: the phases that a caller lists, checked. Errors name the phase."""

from collections.abc import Sequence

from server.debate.commands.formats import PHASES, choose_unique_name
from server.debate.commands.requests import PhaseInput
from server.debate.facts.config import Order, Phase
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.text import clean


def build_custom_phases(
    requested: Sequence[PhaseInput | str], default_order: Order | None = None
) -> tuple[Phase, ...]:
    """Return the phases of a caller's list. `default_order` is for phases of argument without an order.

    Raises:
        InvalidRequestError: a phase is invalid where it stands; the text names it.
    """
    phases: list[Phase] = []
    for index, item in enumerate(requested):
        phase_input = PhaseInput(name=item) if isinstance(item, str) else item
        phase = build_custom_phase(phase_input, format_location(index, phase_input.name), default_order)
        phases.append(phase.model_copy(update={"name": choose_unique_name(phase.name, phases)}))
    check_phase_sequence(phases)
    return tuple(phases)


def format_location(index: int, name: str) -> str:
    return f"options.phases[{index}] ({name[:40]})"


def build_custom_phase(phase_input: PhaseInput, location: str, default_order: Order | None) -> Phase:
    name, instruction = " ".join(clean(phase_input.name).split()), clean(phase_input.instruction)
    if not name:
        raise InvalidRequestError(f"{location}: a phase needs a name.")
    if name not in PHASES and not instruction:
        raise InvalidRequestError(
            f"{location}: there is no such phase. Phases: {', '.join(PHASES)}. A custom phase needs an "
            "`instruction` that says what its speakers are to do."
        )
    base = PHASES.get(name) or Phase(name=name, participants="debaters", order="together")
    if base.participants != "debaters" and (phase_input.order or phase_input.wants or phase_input.repeats):
        raise InvalidRequestError(
            f"{location}: its order is fixed, and it takes place once. Leave all but `name` out."
        )
    wants = phase_input.wants or base.wants
    if wants != "argument" and phase_input.order not in (None, "together"):
        raise InvalidRequestError(
            f"{location}: messages and ballots are written together; leave `order` out."
        )
    order = phase_input.order or (default_order if base.participants == "debaters" else None) or base.order
    changes = {
        "order": order if wants == "argument" else "together",
        "repeats": phase_input.repeats,
        "wants": wants,
        "instruction": instruction,
    }
    phase = base.model_copy(update=changes)
    if phase.repeats and not phase.is_talk:
        raise InvalidRequestError(f"{location}: only a phase of talk can repeat.")
    return phase


def check_phase_sequence(phases: Sequence[Phase]) -> None:
    locations = [format_location(index, phase.name) for index, phase in enumerate(phases)]
    if not any(phase.is_talk for phase in phases):
        raise InvalidRequestError(
            "options.phases: nobody argues in these phases. Add a phase of talk, such as opening."
        )
    if not (phases[0].is_talk or phases[0].wants == "ballot"):
        raise InvalidRequestError(
            f"{locations[0]}: a debate begins with talk or a vote; there is nothing to decide yet."
        )
    repeating = [index for index, phase in enumerate(phases) if phase.repeats]
    if len(repeating) > 1:
        first = phases[repeating[0]].name
        raise InvalidRequestError(f"{locations[repeating[1]]}: only one phase can repeat, and {first} does.")
    judging = [index for index, phase in enumerate(phases) if phase.is_judgment]
    making = [index for index, phase in enumerate(phases) if phase.participants == "synthesizer"]
    for indexes, name in ((judging, "verdict"), (making, "deliverable")):
        if len(indexes) > 1:
            raise InvalidRequestError(f"{locations[indexes[1]]}: {name} can take place once.")
        later = [p for index in indexes for p in phases[index + 1 :] if p.participants != "synthesizer"]
        if later:
            raise InvalidRequestError(
                f"{locations[indexes[0]]}: {later[0].name} comes after it, and only the deliverable can. "
                f"Move {name} to the end."
            )
