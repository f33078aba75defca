"""Whether a set-up is one that `open_debate` or a fork could have made: the rules for what is typed, run again."""

import json
import re
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from server.debate.analysis.debates import build_standing
from server.debate.analysis.records import JudgeRecord
from server.debate.commands import requests
from server.debate.commands.setup.ballots import add_meter, check_challenges
from server.debate.commands.setup.debaters import MAX_DEBATERS, NO_FRAMER, check_debaters
from server.debate.commands.setup.documents import build_documents
from server.debate.commands.setup.effort import list_levels
from server.debate.commands.setup.formats import BASELINE, FINAL_BALLOTS, FORMATS, PHASES
from server.debate.commands.setup.open import (
    add_prompt_functions,
    add_visibility,
    build_breakpoints,
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
from server.debate.facts.earlier import MOST_RECALLED_BYTES
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.fact import Fact
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import WRITTEN, Framing
from server.debate.facts.text import clean, clean_line, count_bytes
from server.debate.schemas.output_schema import check_schema
from server.debate.state.labels import is_label, label_debaters
from server.debate.state.seats import find_models, seat_models
from server.debate.votes.verdict import COUNTING_RULES
from server.debate.votes.voters import find_voters

T = TypeVar("T", bound=BaseModel)

DEBATE_ID = re.compile("[2-9a-hjkmnp-z]{12}")
"""An id as this server makes them."""

MAX_PHASES = 15  # twelve of a caller's, the closing round, the deliverable and the baseline

MOST_MODELS = 2 * MAX_DEBATERS
"""Those that debates can be given, and each debater's own."""

HASH = re.compile("[0-9a-f]{64}")
NO_OPTIONS = requests.OptionsInput()
ANY_FORMAT = next(iter(FORMATS.values()))  # all debaters have a stance by now

SEAT_INPUTS: dict[str, type[BaseModel]] = {
    "judges": requests.JudgesInput,
    "moderator": requests.ModeratorInput,
    "referee": requests.OfficerInput,
    "observer": requests.ObserverInput,
    "analyst": requests.OfficerInput,
    "synthesizer": requests.OfficerInput,
    "limits": requests.LimitsInput,
}
"""The arguments that the parts of a set-up come from, with their bounds."""


def check_opened(setup: Opened) -> None:
    """Raise InvalidRequestError unless this set-up could have been made here; the text says what is wrong."""
    try:
        require(setup.format in FORMATS, f"there is no format {setup.format}.")
        check_typed_parts(setup)
        check_debaters([build_input(requests.DebaterInput, each) for each in setup.debaters], ANY_FORMAT)
        check_setup(setup if not setup.forked_from else relax_quorum(setup), NO_OPTIONS)
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
        is_format = setup.challenges.most_rounds == FORMATS[setup.format].max_allowed_rounds
        require(is_format, "challenges: their rounds are not those of its format.")
        if setup.output_schema:
            is_compact = check_schema(json.loads(setup.output_schema)) == setup.output_schema
            require(is_compact, "output_schema: it is not as it is recorded.")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        named = ".".join(map(str, first["loc"]))[:60]
        raise InvalidRequestError(f"Entry 1 (opened) opens no debate: {named}: {first['msg']}.") from None
    except (InvalidRequestError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"Entry 1 (opened) opens no debate: {error}") from None


def check_typed_parts(setup: Opened) -> None:
    """Run the validators of the arguments; what they would change was not typed."""
    for name, kind in SEAT_INPUTS.items():
        if part := getattr(setup, name):
            build_input(kind, part)
    build_documents([build_input(requests.DocumentInput, document) for document in setup.documents])
    is_known = all(document.after_round <= setup.forked_at_round for document in setup.documents)
    require(is_known, "documents: one was added after a round that it did not inherit.")
    if setup.reader and (problem := find_reader_problem(setup.documents, setup.reader)):
        raise InvalidRequestError(f"reader: {problem}.")
    same = ("instructions", "handoff", "on_window", "quorum", "ballots", "stop", "skip_if_agreed")
    typed = {name: getattr(setup, name) for name in same}
    typed |= {"pause_when": list(map(str, setup.pause_when))}
    typed |= {"seed": setup.seed, "tags": list(setup.tags), "fallback_models": list(setup.fallback_models)}
    hidden = {"hide_from_client": [*setup.hidden_from_client], "hide_from_seats": [*setup.hidden_from_seats]}
    limits = {"turn_timeout": setup.turn_timeout, "max_turn_tokens": setup.max_turn_tokens}
    limits["max_turn_words"] = setup.turn_words
    limits |= {"max_turns": setup.max_turns} if setup.max_turns else {}
    rules = setup.challenges
    limits |= {"max_challenges": rules.most, "challenge_cooldown": rules.cooldown}
    typed["challenges"] = rules.mode
    options = requests.OptionsInput.model_validate({**typed, "visibility": hidden, "limits": limits})
    require(
        build_breakpoints(options.pause_when) == setup.pause_when, "pause_when: it is not as it is recorded."
    )
    check_visibility(setup, options.visibility)
    kept = (options.instructions, tuple(options.tags), tuple(options.fallback_models))
    require(kept == (setup.instructions, setup.tags, setup.fallback_models), "its texts are not clean.")
    require(clean(setup.question) == setup.question, "its question is not clean.")


def check_visibility(setup: Opened, given: requests.VisibilityInput) -> None:
    """Check that whom it hides is a kind of seat or a seat, each once and as it is recorded.

    Forks and mirrors hide whom their debate hides, which may have had more judges.
    """
    panel = setup.judges
    if setup.forked_from or setup.mirror_of:
        panel = panel.model_copy(update={"models": ("",) * MOST_JUDGES, "reserve": ("",) * MOST_JUDGES})
    known = add_visibility(setup.model_copy(update={"judges": panel}), given)
    is_kept = (known.hidden_from_client, known.hidden_from_seats) == (
        setup.hidden_from_client,
        setup.hidden_from_seats,
    )
    require(is_kept, "visibility: it is not as it is recorded.")


def build_input(kind: type[T], part: Fact) -> T:
    """The argument that a part of a set-up comes from. Raises ValidationError where it is out of bounds."""
    given = part.model_dump(exclude_defaults=True, include=set(kind.model_fields))
    found = kind.model_validate(given)
    for name, value in given.items():
        kept = getattr(found, name)
        kept = tuple(kept) if isinstance(kept, list) else kept
        require(kept == value or name == "max_cost_usd", f"{name}: it is not clean.")
    return found


def relax_quorum(setup: Opened) -> Opened:
    """A fork with fewer judges keeps the quorum of its parent, of which as many count as there are judges."""
    panel = setup.judges
    quorum = min(panel.quorum, len(panel.models))
    return setup.model_copy(update={"judges": panel.model_copy(update={"quorum": quorum})})


def check_phases(setup: Opened) -> None:
    """Check that each phase is one that can be asked for, and that they can follow one another."""
    own = tuple(phase for phase in setup.phases if not phase.is_baseline)
    check_phase_sequence(own)
    names = {phase.name for phase in setup.phases}
    require(len(names) == len(setup.phases) <= MAX_PHASES, "its phases and seats do not fit together.")
    for phase in setup.phases:
        require(is_possible(phase), f"its phase {phase.name[:40]} is none that there is.")
    talk = [phase for phase in setup.phases if phase.is_talk]
    closes = any(phase.closes_talk for phase in talk[:-1])
    require(not closes, "its talk goes on after it was closed.")
    without = tuple(phase for phase in own if not phase.is_private)
    has_baseline = own != setup.phases
    phases = add_last_phases(without, has_ballots=setup.ballots != "none", has_baseline=has_baseline)
    require(setup.phases == phases, "its phases and seats do not fit together.")
    row = FORMATS[setup.format]
    most = max(row.max_allowed_rounds, len(setup.phases))
    most = max(most, MAX_BLOCK_ROUNDS * any(phase.block for phase in setup.phases))
    most = (
        max(most, setup.max_rounds) if setup.mirror_of else most
    )  # those of its debate may have been extended
    require(1 <= setup.max_rounds <= most, f"max_rounds={setup.max_rounds}: from 1 to {most}.")
    require(setup.brief == row.brief, "its brief is not that of its format.")


def is_possible(phase: Phase) -> bool:
    """Whether a phase is a known one with the changes that are allowed, or a custom one with an instruction."""
    if phase.is_baseline:
        return phase == BASELINE.model_copy(update={"name": phase.name})
    if phase.is_private:
        return phase == FINAL_BALLOTS.model_copy(update={"name": phase.name})
    known = PHASES.get(phase.name.rstrip(" 0123456789"))
    if phase.closes_talk and known != PHASES["closing"]:
        return False
    if known and known.participants != "debaters":
        own = {"name": phase.name, "instruction": phase.instruction, "block": phase.block}
        return known.model_copy(update=own) == phase
    is_together = phase.order == "together" and (phase.is_talk or not phase.repeats)
    has_task = known is not None or bool(phase.instruction)
    is_possible_order = phase.wants == "argument" or is_together
    return has_task and phase.participants == "debaters" and is_possible_order and may_have_messages(phase)


def check_seats(setup: Opened) -> None:
    participants = {phase.participants for phase in setup.phases}
    counts_ballots = setup.counting in COUNTING_RULES.keys() - {"judges", "moderator"}
    moderator = setup.moderator
    opens = any(phase.order == "moderated" for phase in setup.phases)
    require(
        (not setup.counting or (counts_ballots and find_voters(setup)))
        and setup.counting in ("", FORMATS[setup.format].counting)
        and bool(setup.judges.models) == ("judges" in participants)
        and bool(setup.synthesizer) == ("synthesizer" in participants)
        and (moderator.opens if moderator else False) == opens
        and (moderator is None or moderator.opens or moderator.closes)
        and all(moderator for phase in setup.phases if phase.block and phase.block.until == "moderator"),
        "its phases and seats do not fit together.",
    )


def check_models(setup: Opened) -> None:
    known = {*find_models(setup), *setup.fallback_models}
    if meter := setup.meter:
        known.add(meter.model)
        without = setup.model_copy(update={"meter": None})
        require(add_meter(without, meter.model) == setup, "its meter has nothing to do.")
    for what, rows in (("prices", setup.prices), ("windows", setup.windows)):
        models = [row.model for row in rows]
        is_fit = len(set(models)) == len(models) and known.issuperset(models)
        require(is_fit, f"{what}: they are not those of its models.")
    require(all(known), "its models are not named.")
    if framer := setup.framer:
        sides = tuple((debater.name, debater.stance) for debater in setup.debaters)
        is_fit = sides == FORMATS[setup.format].default_debaters and framer.model not in WRITTEN
        require(is_fit and 0 < len(framer.models) <= MAX_DEBATERS, "its framer does not fit.")


def check_positions(setup: Opened) -> None:
    """Check the labels, which stand for names in every text, and how positions came about."""
    is_fork = bool(setup.forked_from)
    are_labels = len(set(setup.labels)) == len(setup.labels) == len(setup.debaters)
    are_labels = are_labels and all(map(is_label, setup.labels))
    drawn = setup.labels if is_fork else label_debaters(setup, setup.debaters)
    require(are_labels and setup.labels == drawn, "its labels are not those that were drawn.")
    by_request = setup.framing in (None, Framing(problem=NO_FRAMER))
    require((is_fork or by_request) and not (setup.framer and setup.framing), "its positions have no origin.")


def check_prompt_functions(setup: Opened) -> None:
    seats = setup.prompt_functions
    require(len(set(seats)) == len(seats), "prompt_functions: one for a seat.")
    if setup.forked_from:
        require(
            {*filter(None, seats)} <= seat_models(setup).keys(),
            "prompt_functions: for a seat that is not there.",
        )
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
    is_debate = all(map(DEBATE_ID.fullmatch, origins))
    is_debate = is_debate and bool(HASH.fullmatch(setup.forked_hash))
    require(is_debate and names.issuperset(setup.forked_restanced), "it is forked from what is no debate.")


def check_memory(setup: Opened) -> None:
    """Check that what was recalled is of debates, each once, and within its bounds."""
    if setup.memory is None:
        return
    recalled = setup.memory.recalled
    texts = [text for one in recalled for text in one.texts]
    is_fit = len({*setup.memory.ids}) == len(recalled) <= setup.memory.most
    is_fit = is_fit and all(map(DEBATE_ID.fullmatch, setup.memory.ids))
    require(is_fit, "memory: it is not of debates, each once.")
    is_fit = sum(map(count_bytes, texts)) <= MOST_RECALLED_BYTES
    require(
        is_fit and all(clean_line(text) == text for text in texts), "memory: its texts are not as recorded."
    )


def check_effort(setup: Opened) -> None:
    """Check that the effort is one that could be asked for. What it chose is checked as what anybody chooses is."""
    effort = setup.effort
    if effort is None:
        return
    models = [price.model for price in effort.models]
    is_fit = all(models) and len(set(models)) == len(models) <= MOST_MODELS
    require(is_fit and len(set(effort.open)) == len(effort.open), "effort: its options or models do not fit.")
    is_less = effort.level in list_levels(effort.instead_of)[1:] if effort.instead_of else True
    require(is_less, "effort: it is not less than the one that the limits do not pay for.")


def check_team(setup: Opened) -> None:
    """Check that the choice is of models that could be chosen, and that they sit where it put them."""
    team = setup.team
    if team is None:
        return
    models = list_candidates(team)
    typed = requests.TeamInput(
        candidates=list(models), topic=team.topic, diversity=float(team.diversity or 2)
    )
    chosen, draws = (*team.chosen, *team.judges), [one.draw for one in team.candidates]
    is_fit = len(set(models)) == len(models) and all(models) and {*models}.issuperset(chosen)
    is_fit = is_fit and len(team.gains) == len(team.chosen) and len(team.judge_gains) == len(team.judges)
    is_fit = is_fit and (all(draws) or not any(draws)) and len(team.seated) + len(team.chosen) <= MAX_DEBATERS
    is_fit = is_fit and team.topic == typed.topic and len(team.judges) <= MOST_JUDGES
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
    is_fit = len(set(names)) == len(names) and models.issuperset(names)
    require(is_fit, "ledger: its standings are not those of the judges.")
    for standing in setup.ledger.standings:
        record = JudgeRecord(
            standing.judge, standing.asked, standing.consistent, standing.right, standing.wrong
        )
        is_possible = record.settled == record.consistent <= record.asked
        problem = f"ledger: the weight of {standing.judge} does not follow from its record."
        require(is_possible and build_standing(record) == standing, problem)
