"""The phases of a debate, from its format or the caller, and its number of rounds. Errors name the phase."""

from collections.abc import Sequence

from server.debate.commands.requests import DEFAULT_FORMAT, OptionsInput, PhaseInput
from server.debate.commands.setup.formats import (
    BASELINE,
    FINAL_BALLOTS,
    OFFERED_PHASES,
    PHASES,
    Format,
    choose_unique_name,
)
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.quoting import disarm_markup
from server.debate.facts.setup.phases import Block, Order, Phase, count_passes
from server.debate.facts.setup.seats import Moderator
from server.debate.facts.text import clean_line

DEFAULT_PASSES = 3  # of a block of phases


def build_custom_phases(
    inputs: Sequence[PhaseInput], default_order: Order | None = None
) -> tuple[Phase, ...]:
    """Return the phases of a caller's list. `default_order` is for phases of argument without an order.

    Raises:
        InvalidRequestError: a phase is invalid at its position; the text names it.
    """
    phases: list[Phase] = []
    for index, phase_input in enumerate(inputs):
        phase = build_custom_phase(phase_input, format_location(index, phase_input.name), default_order)
        phases.append(phase.model_copy(update={"name": choose_unique_name(phase.name, phases)}))
        if first_name := clean_line(phase_input.repeat_from):
            block = Block(
                first=first_name,
                until=phase_input.until or "limit",
                limit=phase_input.limit or DEFAULT_PASSES,
            )
            phases[-1] = phases[-1].model_copy(update={"block": block})
        else:
            problem = f"{format_location(index, phase_input.name)}: `until` and `limit` need `repeat_from`."
            require(not (phase_input.until or phase_input.limit), problem)
    check_phase_sequence(phases)
    return tuple(phases)


def format_location(index: int, name: str) -> str:
    return f"options.phases[{index}] ({name[:40]})"


def build_custom_phase(phase_input: PhaseInput, location: str, default_order: Order | None) -> Phase:
    name, instruction = clean_line(phase_input.name), phase_input.instruction
    require(name, f"{location}: a phase needs a name.")
    require(disarm_markup(name) == name, f"{location}: its name must be no link and no mark-up.")
    problem = f"{location}: there is no such phase. Phases: {OFFERED_PHASES}."
    advice = "A custom phase needs an `instruction` that says what its speakers are to do."
    require(name in PHASES or instruction, f"{problem} {advice}")
    base = PHASES.get(name) or Phase(name=name, participants="debaters", order="together")
    is_debaters = base.participants == "debaters"
    require(
        not base.is_advice or (is_debaters and phase_input.wants),
        f"{location}: this phase belongs to {DEFAULT_FORMAT}, which takes no list of phases. "
        "Leave it out, or give a phase of your own another name.",
    )
    problem = f"{location}: its order is fixed, and it takes place once. Leave all but `name` out."
    require(is_debaters or not (phase_input.order or phase_input.wants or phase_input.repeats), problem)
    changes: dict[str, object] = {"instruction": instruction, "repeats": phase_input.repeats}
    changes["messages"] = phase_input.messages
    wants = changes["wants"] = phase_input.wants or base.wants
    if wants == "argument":
        changes["order"] = phase_input.order or (default_order if is_debaters else None) or base.order
    else:
        is_together = phase_input.order in (None, "together")
        require(is_together, f"{location}: messages and ballots are written together; leave `order` out.")
        changes["order"] = "together"
    phase = base.model_copy(update=changes)
    problem = (
        f"{location}: messages come with arguments, and not where speakers hand over; leave `messages` out."
    )
    require(may_have_messages(phase), problem)
    require(phase.is_talk or not phase.repeats, f"{location}: only a phase of talk can repeat.")
    return phase


def may_have_messages(phase: Phase) -> bool:
    """Whether a phase with messages beside its turns can have them."""
    return not phase.messages or (phase.is_talk and phase.wants == "argument" and phase.order != "handoff")


def add_last_phases(phases: Sequence[Phase], *, has_ballots: bool, has_baseline: bool) -> tuple[Phase, ...]:
    """The phases with one for the last private ballots, if nothing else follows the talk, and with the baseline.

    Raises:
        InvalidRequestError: no votes decide, so there is nothing to compare a baseline with.
    """
    new_phases = []
    if has_ballots and phases[-1].is_talk:
        new_phases.append(rename_phase(FINAL_BALLOTS, phases))
    if has_baseline:
        problem = "options.baseline compares a vote with a verdict by votes, and there is none: leave it out."
        require(any(phase.is_judgment or phase.is_vote for phase in phases), problem)
        new_phases.append(rename_phase(BASELINE, phases))
    return (*phases, *new_phases)


def rename_phase(phase: Phase, previous: Sequence[Phase]) -> Phase:
    return phase.model_copy(update={"name": choose_unique_name(phase.name, previous)})


def check_blocks(phases: Sequence[Phase]) -> None:
    """Check that blocks of phases begin where they can, and hold what they need."""
    start = 0  # where a block may begin
    for index, end in enumerate(phases):
        if (block := end.block) is None:
            continue
        location = format_location(index, end.name)
        names = [phase.name for phase in phases[start : index + 1]]
        choices = f"it goes back to one of: {', '.join(names)}"
        require(block.first in names, f"{location}: repeat_from={block.first[:40]!r}; {choices}.")
        block_phases = phases[start + names.index(block.first) : index + 1]
        start = index + 1
        unrepeatable = [
            phase.name for phase in block_phases if not (phase.is_talk or phase.wants == "ballot")
        ]
        require(not unrepeatable, f"{location}: {', '.join(unrepeatable)} cannot be repeated.")
        repeating = [phase.name for phase in block_phases if phase.repeats]
        problem = f"{location}: `repeats` is for a phase alone, and {', '.join(repeating)} is in a block."
        require(not repeating, problem)
        require(any(phase.is_talk for phase in block_phases), f"{location}: nobody argues in this block.")
        votes = any(phase.wants == "ballot" for phase in block_phases)
        problem = f"{location}: until=consensus needs a vote in the block: voting or audience_vote."
        require(votes or block.until != "consensus", problem)
        problem = f"{location}: until=convergence looks at ballots after its turns, and nobody argues in {end.name}."
        require(end.is_talk or block.until != "convergence", problem)


def check_phase_sequence(phases: Sequence[Phase]) -> None:
    check_blocks(phases)
    locations = [format_location(index, phase.name) for index, phase in enumerate(phases)]
    problem = "options.phases: nobody argues in these phases. Add a phase of talk, such as opening."
    require(any(phase.is_talk for phase in phases), problem)
    problem = f"{locations[0]}: a debate begins with talk or a vote; there is nothing to decide yet."
    require(phases[0].is_talk or phases[0].wants == "ballot", problem)
    if len(repeating := [index for index, phase in enumerate(phases) if phase.repeats]) > 1:
        first_name = phases[repeating[0]].name
        raise InvalidRequestError(
            f"{locations[repeating[1]]}: only one phase can repeat, and {first_name} does."
        )
    judging = [index for index, phase in enumerate(phases) if phase.is_judgment]
    making = [index for index, phase in enumerate(phases) if phase.participants == "synthesizer"]
    for indexes, name in ((judging, "verdict"), (making, "deliverable")):
        if len(indexes) > 1:
            raise InvalidRequestError(f"{locations[indexes[1]]}: {name} can take place once.")
        for later in phases[indexes[0] + 1 :] if indexes else ():
            problem = f"{locations[indexes[0]]}: {later.name} comes after it, and only the deliverable can."
            require(later.participants == "synthesizer", f"{problem} Move {name} to the end.")


MAX_BLOCK_ROUNDS = 20  # of talk, where phases are repeated


def build_phases(options: OptionsInput, row: Format, moderator: Moderator | None) -> tuple[Phase, ...]:
    """The phases as requested, or the format's."""
    opens = moderator is not None and moderator.opens
    order = "moderated" if opens else options.speaking
    if options.phases:
        phases = build_custom_phases(options.phases, order)
    else:
        changes = {"order": order} if order else {}
        phases = tuple(
            phase.model_copy(update=changes) if phase.is_talk and phase.wants == "argument" else phase
            for phase in row.phases
        )
    is_moderated = any(phase.order == "moderated" for phase in phases)
    require(
        opens or not is_moderated, "A phase with order=moderated needs options.moderator with opens=true."
    )
    needs_moderator = any(phase.block and phase.block.until == "moderator" for phase in phases)
    problem = "A block with until=moderator needs options.moderator."
    require(moderator or not needs_moderator, problem)
    problem = "options.moderator opens rounds, and every phase has another `order`: leave one out."
    require(is_moderated or not opens, problem)
    has_schema = options.output_schema is not None
    if options.synthesizer is False:
        require(not has_schema, "options.output_schema needs the synthesizer, which is off: leave one out.")
        phases = tuple(phase for phase in phases if phase.participants != "synthesizer")
    elif options.synthesizer is not None or has_schema:
        has_deliverable = any(phase.participants == "synthesizer" for phase in phases)
        phases = phases if has_deliverable else (*phases, PHASES["deliverable"])
    return phases


def compute_max_rounds(request: int, row: Format, options: OptionsInput, phases: Sequence[Phase]) -> int:
    """Return the number of rounds of talk: as requested, else as many as the turns or the phases need."""
    counts_turns = bool(row.default_turns)
    rounds = request or (counts_turns and options.limits.max_turns) or row.default_rounds
    if options.phases and not request:
        talk = [phase for phase in phases if phase.is_talk]
        rounds = sum(count_passes(phases, phase) for phase in talk) + any(phase.repeats for phase in talk)
    has_block = any(phase.block for phase in phases)
    maximum = max(row.max_allowed_rounds, len(options.phases), MAX_BLOCK_ROUNDS * has_block)
    name = "options.limits.max_turns" if counts_turns and not request else "max_rounds"
    range_text = f"1 to {maximum}, or 0 for its default of {row.default_rounds}"
    require(0 <= rounds <= maximum, f"{name}={rounds} is out of range for {row.name}: {range_text}.")
    return rounds
