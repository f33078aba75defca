"""Whether `open_debate` or a fork could have made a set-up: the rules for requests, applied again."""

import json
import re
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from server.debate.analysis.debates import build_standing
from server.debate.analysis.records import JudgeRecord
from server.debate.commands import requests
from server.debate.commands.inputs import OfficerInput
from server.debate.commands.setup.advisors import add_answering
from server.debate.commands.setup.debaters import MAX_DEBATERS, NO_FRAMER, check_debaters
from server.debate.commands.setup.documents import build_documents
from server.debate.commands.setup.effort import list_levels
from server.debate.commands.setup.formats import BASELINE, FINAL_BALLOTS, FORMATS, PHASES
from server.debate.commands.setup.open import (
    add_meter,
    add_prompt_functions,
    add_visibility,
    build_breakpoints,
    check_challenges,
    check_setup,
)
from server.debate.commands.setup.phases import (
    MAX_BLOCK_ROUNDS,
    add_last_phases,
    check_phase_sequence,
    may_have_messages,
)
from server.debate.commands.setup.team import MOST_JUDGES, list_candidates
from server.debate.commands.setup.voting import check_voting
from server.debate.documents.digests import find_reader_problem
from server.debate.facts.advice import MINE
from server.debate.facts.earlier import MOST_RECALLED_BYTES
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.fact import Fact
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import SYNTHESIZER, WRITTEN, Answering, Framing
from server.debate.facts.text import clean, clean_line, count_bytes
from server.debate.schemas.output_schema import check_schema
from server.debate.seats.registry import BY_NAME
from server.debate.state.labels import is_label, label_debaters
from server.debate.state.seats import find_models, seat_models
from server.debate.votes.voters import find_voters

T = TypeVar("T", bound=BaseModel)

DEBATE_ID = re.compile("[2-9a-hjkmnp-z]{12}")
"""Ids as this server makes them."""

MAX_PHASES = 15  # twelve of a caller's, private ballots, the deliverable and the baseline

MOST_MODELS = 2 * MAX_DEBATERS
"""The candidates of a debate, and each debater's own model."""

UNFIT = "its phases and seats do not fit together."
HASH = re.compile("[0-9a-f]{64}")
ANY_FORMAT = next(iter(FORMATS.values()))  # only for checks that no longer depend on the format

OPTIONS = ("instructions", "quorum", "ballots", "stop", "skip_if_agreed", "seed", "challenges", "thinking")
OPTION_LISTS = ("pause_when", "tags", "fallback_models")
"""Options that are recorded under their own names."""

SEAT_INPUTS: dict[str, type[BaseModel]] = {
    "judges": requests.JudgesInput,
    "moderator": requests.ModeratorInput,
    "synthesizer": OfficerInput,
    "limits": requests.LimitsInput,
}
"""The arguments behind the parts of a set-up, with their bounds."""


def check_opened(setup: Opened) -> None:
    """Raise InvalidRequestError unless this set-up could have been made here; the text says what is wrong."""
    try:
        require(setup.format in FORMATS, f"there is no format {setup.format}.")
        check_typed_parts(setup)
        inputs = [build_input(requests.DebaterInput, debater) for debater in setup.debaters]
        if setup.answering:
            check_answering(setup, setup.answering, inputs)
        else:
            check_debaters(inputs, ANY_FORMAT)
        check_setup(relax_quorum(setup) if setup.forked_from else setup, requests.OptionsInput())
        check_phases(setup)
        check_seats(setup)
        check_models(setup)
        check_positions(setup)
        check_prompt_functions(setup)
        check_origin(setup)
        check_ledger(setup)
        check_memory(setup)
        check_effort(setup)
        check_team(setup)
        check_voting(setup)
        check_challenges(setup)
        if setup.output_schema:
            is_compact = check_schema(json.loads(setup.output_schema)) == setup.output_schema
            require(is_compact, "output_schema: it is not as it is recorded.")
    except ValidationError as error:
        first_error = error.errors(include_url=False)[0]
        location = ".".join(map(str, first_error["loc"]))[:60]
        raise InvalidRequestError(
            f"Entry 1 (opened) opens no debate: {location}: {first_error['msg']}."
        ) from None
    except (InvalidRequestError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"Entry 1 (opened) opens no debate: {error}") from None


def check_typed_parts(setup: Opened) -> None:
    """Run the validators of the arguments. A value that they would change did not come from a request."""
    for name, kind in SEAT_INPUTS.items():
        if part := getattr(setup, name):
            build_input(kind, part)
    check_officers(setup)
    build_documents([build_input(requests.DocumentInput, document) for document in setup.documents])
    is_known = all(document.after_round <= setup.forked_at_round for document in setup.documents)
    require(is_known, "documents: one was added after a round that it did not inherit.")
    if setup.reader and (problem := find_reader_problem(setup.documents, setup.reader)):
        raise InvalidRequestError(f"reader: {problem}.")
    limits = {"turn_timeout": setup.turn_timeout, "max_turn_tokens": setup.max_turn_tokens}
    limits |= {"max_turn_words": setup.turn_words}
    limits |= {"max_turns": setup.max_turns} if setup.max_turns else {}
    visibility = {
        "hide_from_client": [*setup.hidden_from_client],
        "hide_from_seats": [*setup.hidden_from_seats],
    }
    options = requests.OptionsInput.model_validate(
        {name: getattr(setup, name) for name in OPTIONS}
        | {name: [*map(str, getattr(setup, name))] for name in OPTION_LISTS}
        | {"visibility": visibility, "limits": limits}
    )
    is_kept = build_breakpoints(options.pause_when) == setup.pause_when
    require(is_kept, "pause_when: it is not as it is recorded.")
    check_visibility(setup, options.visibility)
    texts = (options.instructions, tuple(options.tags), tuple(options.fallback_models))
    require(texts == (setup.instructions, setup.tags, setup.fallback_models), "its texts are not clean.")
    require(clean(setup.question) == setup.question, "its question is not clean.")


def check_officers(setup: Opened) -> None:
    """Check that each officer can be requested, appears once, and is in order."""
    for officer in setup.officers:
        require(officer.seat in BY_NAME, f"officers: there is no {officer.seat[:40]}.")
        kind = BY_NAME[officer.seat].input
        build_input(kind, officer)
        extra_fields = officer.model_dump(exclude_defaults=True).keys() - kind.model_fields.keys()
        require(extra_fields == {"seat"}, f"officers: {officer.seat} has what nobody can ask for.")
    seats = [officer.seat for officer in setup.officers]
    require(seats == [seat for seat in BY_NAME if seat in seats], "officers: each once, and in order.")
    is_own = setup.synthesizer is None or setup.synthesizer.seat == SYNTHESIZER
    require(is_own, "synthesizer: it is another seat.")


def check_visibility(setup: Opened, request: requests.VisibilityInput) -> None:
    """Check that the hidden seats are kinds or seats, each once and in the recorded form.

    Forks and mirrors hide what their debate hides, which may have had more judges.
    """
    panel = setup.judges
    if setup.forked_from or setup.mirror_of:
        panel = panel.model_copy(update={"models": ("",) * MOST_JUDGES})
    setup = setup.model_copy(update={"judges": panel})
    require(add_visibility(setup, request) == setup, "visibility: it is not as it is recorded.")


def check_answering(setup: Opened, answering: Answering, inputs: Sequence[requests.DebaterInput]) -> None:
    """Check that phases, labels, writer and checker follow from the advisors and the effort.

    A fork keeps the labels of its parent, even if it adds documents.
    """
    row = FORMATS[setup.format]
    if not row.is_advice or setup.effort is None:
        raise InvalidRequestError(UNFIT)
    usual = [(f"Advisor {number}", "", "") for number in range(1, len(inputs) + 1)]
    if [(debater.name, debater.stance, debater.role) for debater in inputs] != usual:
        check_debaters(inputs, row)
        is_named = all(debater.name != MINE for debater in inputs)
        require(is_named, "an advisor is called as the caller's answer.")
    without = setup.model_copy(update={"answering": None})
    expected = add_answering(without, row, answering.mine, setup.effort.level)
    if setup.forked_from and expected.answering:
        parent_answering = expected.answering.model_copy(update={"labels": answering.labels})
        expected = expected.model_copy(update={"answering": parent_answering, "labels": setup.labels})
    require(expected == setup, "its advisors, phases and labels do not fit together.")


def build_input(kind: type[T], part: Fact) -> T:
    """The argument behind a part of a set-up. Raises ValidationError if it is out of bounds."""
    fields = part.model_dump(exclude_defaults=True, include=set(kind.model_fields))
    argument = kind.model_validate(fields)
    for name, value in fields.items():
        argument_value = getattr(argument, name)
        argument_value = tuple(argument_value) if isinstance(argument_value, list) else argument_value
        require(argument_value == value or name == "max_cost_usd", f"{name}: it is not clean.")
    return argument


def relax_quorum(setup: Opened) -> Opened:
    """A set-up whose quorum is at most its number of judges: a fork with fewer judges keeps its parent's quorum."""
    panel = setup.judges
    quorum = min(panel.quorum, len(panel.models))
    return setup.model_copy(update={"judges": panel.model_copy(update={"quorum": quorum})})


def check_phases(setup: Opened) -> None:
    """Check that each phase can be requested, and that they can follow one another."""
    usual_phases = tuple(phase for phase in setup.phases if not phase.is_baseline)
    if not setup.answering:
        check_phase_sequence(usual_phases)
    names = {phase.name for phase in setup.phases}
    require(len(names) == len(setup.phases) <= MAX_PHASES, UNFIT)
    for phase in setup.phases:
        require(is_possible(phase), f"its phase {phase.name[:40]} is none that there is.")
    without_ballots = tuple(phase for phase in usual_phases if not phase.is_private)
    has_baseline = usual_phases != setup.phases
    phases = add_last_phases(without_ballots, has_ballots=setup.ballots != "none", has_baseline=has_baseline)
    require(setup.phases == phases, UNFIT)
    row = FORMATS[setup.format]
    limit = max(row.max_allowed_rounds, len(setup.phases))
    limit = max(limit, MAX_BLOCK_ROUNDS * any(phase.block for phase in setup.phases))
    if setup.mirror_of:
        limit = max(limit, setup.max_rounds)  # those of its debate may have been extended
    require(bool(setup.answering) or setup.max_rounds > 0, "max_rounds=0: from 1 on.")
    require(0 <= setup.max_rounds <= limit, f"max_rounds={setup.max_rounds}: from 1 to {limit}.")
    require(setup.brief == row.brief, "its brief is not that of its format.")


def is_possible(phase: Phase) -> bool:
    """Whether a phase is a known one with allowed changes, or a custom one with an instruction."""
    if phase.is_baseline:
        return phase == BASELINE.model_copy(update={"name": phase.name})
    if phase.is_advice:
        return phase.name in PHASES and phase.wants == PHASES[phase.name].wants
    if phase.is_private:
        return phase == FINAL_BALLOTS.model_copy(update={"name": phase.name})
    known_phase = PHASES.get(phase.name.rstrip(" 0123456789"))
    if known_phase and known_phase.participants != "debaters":
        changes = {"name": phase.name, "instruction": phase.instruction, "block": phase.block}
        return known_phase.model_copy(update=changes) == phase
    is_together = phase.order == "together" and (phase.is_talk or not phase.repeats)
    has_task = known_phase is not None or bool(phase.instruction)
    is_possible_order = phase.wants == "argument" or is_together
    return has_task and phase.participants == "debaters" and is_possible_order and may_have_messages(phase)


def check_seats(setup: Opened) -> None:
    participants = {phase.participants for phase in setup.phases}
    moderator, counting = setup.moderator, setup.counting
    is_advice = FORMATS[setup.format].is_advice
    require(bool(setup.answering) == is_advice, UNFIT)
    require(counting in ("", FORMATS[setup.format].counting), "its format does not count votes so.")
    require(not counting or find_voters(setup), "nobody casts the votes that are counted.")
    for name, is_there in (("judges", setup.judges.models), ("synthesizer", setup.synthesizer)):
        require(is_there or name not in participants, f"a phase asks the {name}, and there is none.")
        require(not is_there or name in participants, f"no phase asks the {name}.")
    is_asked = any(phase.order == "moderated" for phase in setup.phases)
    is_awaited = any(phase.block and phase.block.until == "moderator" for phase in setup.phases)
    require(moderator or not is_awaited, "a block waits for the moderator, and there is none.")
    opens = bool(moderator and moderator.opens)
    require(opens or not is_asked, "nobody opens the rounds of a moderated phase.")
    require(is_asked or not opens, "its moderator opens rounds, and no phase is moderated.")
    require(moderator is None or moderator.opens or moderator.closes, "its moderator does nothing.")


def check_models(setup: Opened) -> None:
    known_models = {*find_models(setup), *setup.fallback_models}
    if meter := setup.meter:
        known_models.add(meter.model)
        without = setup.model_copy(update={"meter": None})
        require(add_meter(without, meter.model) == setup, "its meter has nothing to do.")
    for field, rows in (("prices", setup.prices), ("windows", setup.windows)):
        models = [row.model for row in rows]
        is_fit = len(set(models)) == len(models) and known_models.issuperset(models)
        require(is_fit, f"{field}: they are not those of its models.")
    require(all(known_models), "its models are not named.")
    if framer := setup.framer:
        sides = tuple((debater.name, debater.stance) for debater in setup.debaters)
        is_fit = sides == FORMATS[setup.format].default_debaters and framer.model not in WRITTEN
        require(is_fit and 0 < len(framer.models) <= MAX_DEBATERS, "its framer does not fit.")


def check_positions(setup: Opened) -> None:
    """Check the labels, and the origin of the positions."""
    is_fork = bool(setup.forked_from)
    if setup.answering:
        return
    are_labels = len(set(setup.labels)) == len(setup.labels) == len(setup.debaters)
    are_labels = are_labels and all(map(is_label, setup.labels))
    is_drawn = is_fork or setup.labels == label_debaters(setup, setup.debaters)
    require(are_labels and is_drawn, "its labels are not those that were drawn.")
    has_origin = is_fork or bool(setup.mirror_of) or setup.framing in (None, Framing(problem=NO_FRAMER))
    require(has_origin and not (setup.framer and setup.framing), "its positions have no origin.")


def check_prompt_functions(setup: Opened) -> None:
    seats = setup.prompt_functions
    require(len(set(seats)) == len(seats), "prompt_functions: one for a seat.")
    if setup.forked_from:
        is_there = {*filter(None, seats)} <= seat_models(setup).keys()
        require(is_there, "prompt_functions: for a seat that is not there.")
    else:
        add_prompt_functions(setup, seats)


def check_origin(setup: Opened) -> None:
    is_alone = not setup.forked_from and setup.mirror == "off"
    is_mirror = bool(DEBATE_ID.fullmatch(setup.mirror_of)) and is_alone
    require(is_mirror or not setup.mirror_of, "it is the mirror of what is no debate.")
    texts = (setup.forked_root, setup.forked_import, setup.forked_hash)
    if not setup.forked_from:
        is_unmarked = not (any(texts) or setup.forked_at_round or setup.forked_restanced)
        require(is_unmarked, "it is forked from nothing.")
        return
    names = {debater.name for debater in setup.debaters}
    origins = (setup.forked_from, setup.forked_root, setup.forked_import or setup.forked_root)
    is_debate = all(map(DEBATE_ID.fullmatch, origins)) and bool(HASH.fullmatch(setup.forked_hash))
    require(is_debate and names.issuperset(setup.forked_restanced), "it is forked from what is no debate.")


def check_memory(setup: Opened) -> None:
    """Check that the recalled debates appear once each and are within bounds."""
    if setup.memory is None:
        return
    earlier_debates = setup.memory.recalled
    texts = [text for earlier in earlier_debates for text in earlier.texts]
    is_fit = len({*setup.memory.ids}) == len(earlier_debates) <= setup.memory.most
    is_fit = is_fit and all(map(DEBATE_ID.fullmatch, setup.memory.ids))
    require(is_fit, "memory: it is not of debates, each once.")
    is_fit = sum(map(count_bytes, texts)) <= MOST_RECALLED_BYTES and texts == [*map(clean_line, texts)]
    require(is_fit, "memory: its texts are not as recorded.")


def check_effort(setup: Opened) -> None:
    """Check that the effort could be requested. Its choices are checked like anybody's."""
    effort = setup.effort
    if effort is None:
        return
    models = [price.model for price in effort.models]
    is_fit = all(models) and len(set(models)) == len(models) <= MOST_MODELS
    require(is_fit and len(set(effort.open)) == len(effort.open), "effort: its options or models do not fit.")
    is_less = effort.level in list_levels(effort.instead_of)[1:] if effort.instead_of else True
    require(is_less, "effort: it is not less than the one that the limits do not pay for.")


def check_team(setup: Opened) -> None:
    """Check that the chosen models were candidates, and that they have the seats chosen for them."""
    team = setup.team
    if team is None:
        return
    models = list_candidates(team)
    request = requests.TeamInput(
        candidates=list(models), topic=team.topic, diversity=float(team.diversity or 2)
    )
    chosen_models, draws = (*team.chosen, *team.judges), [candidate.draw for candidate in team.candidates]
    is_fit = len(set(models)) == len(models) and all(models) and {*models}.issuperset(chosen_models)
    is_fit = is_fit and len(team.gains) == len(team.chosen) and len(team.judge_gains) == len(team.judges)
    is_fit = is_fit and (all(draws) or not any(draws)) and len(team.seated) + len(team.chosen) <= MAX_DEBATERS
    is_fit = is_fit and team.topic == request.topic and len(team.judges) <= MOST_JUDGES
    require(is_fit, "team: the choice does not fit its candidates.")
    if setup.framer:
        require(setup.framer.models == team.chosen, "team: the positions are not given to those chosen.")
    elif not setup.forked_from:
        seats = [debater.model for debater in setup.debaters]
        is_fit = sorted(seats) == sorted((*team.seated, *team.chosen))
        require(is_fit, "team: those chosen do not sit in this debate.")


def check_ledger(setup: Opened) -> None:
    """Check that each standing is of a model that may judge, and that its weight follows from its record."""
    if setup.ledger is None:
        return
    names = [standing.judge for standing in setup.ledger.standings]
    models = {*setup.judges.models, *setup.fallback_models}
    models |= {*find_models(setup)} if setup.answering else set()
    is_fit = len(set(names)) == len(names) and models.issuperset(names)
    require(is_fit, "ledger: its standings are not those of the judges.")
    for standing in setup.ledger.standings:
        record = JudgeRecord(
            standing.judge, standing.asked, standing.consistent, standing.right, standing.wrong
        )
        is_possible = record.settled == record.consistent <= record.asked
        problem = f"ledger: the weight of {standing.judge} does not follow from its record."
        require(is_possible and build_standing(record) == standing, problem)
