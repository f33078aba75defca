"""Whether `open_debate` or a fork could have made a set-up: it is asked for again, and has to come out the same.

What no request says, because the server, a parent or the debate that is mirrored knows it, has checks of its own.
"""

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from server.debate.analysis.debates import build_standing
from server.debate.analysis.records import JudgeRecord
from server.debate.commands.requests import (
    RECORDED_OPTIONS,
    DebateRequest,
    DocumentInput,
    TeamInput,
    VisibilityInput,
)
from server.debate.commands.setup.advisors import NOT_TAKEN, build_named_advisors
from server.debate.commands.setup.debaters import MAX_DEBATERS, NO_FRAMER
from server.debate.commands.setup.documents import build_documents
from server.debate.commands.setup.effort import list_levels
from server.debate.commands.setup.formats import FORMATS, PHASES, choose_unique_name
from server.debate.commands.setup.open import (
    add_meter,
    add_prompt_functions,
    add_visibility,
    build_advice_setup,
    check_setup,
    plan_debate,
)
from server.debate.commands.setup.phases import MAX_BLOCK_ROUNDS
from server.debate.commands.setup.team import MOST_JUDGES, list_candidates
from server.debate.commands.setup.voting import check_voting
from server.debate.documents.digests import find_reader_problem
from server.debate.facts.earlier import MOST_RECALLED_BYTES
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.fact import Fact
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import ANALYST, WRITTEN, Debater, Framing
from server.debate.facts.text import clean_line, count_bytes
from server.debate.state.labels import is_label, label_seats
from server.debate.state.seats import find_models, seat_models

DEBATE_ID = re.compile("[2-9a-hjkmnp-z]{12}")
"""Ids as this server makes them."""

MOST_MODELS = 2 * MAX_DEBATERS  # the candidates of a debate, and each debater's own
ANY_MODEL = ("",)  # for seats without a model, which the request leaves to nobody

UNFIT = "its phases and seats do not fit together."
HASH = re.compile("[0-9a-f]{64}")

ADDED = (
    *("documents", "labels", "limits", "max_rounds", "hidden_from_client", "hidden_from_seats", "mirror_of"),
    *(
        "has_predicate",
        "prompt_functions",
        "meter",
        "effort",
        "reader",
        "framer",
        "framing",
        "prices",
        "windows",
    ),
    *("team", "ledger", "memory", "forked_from", "forked_root", "forked_import", "forked_at_round"),
    *("forked_hash", "forked_restanced"),
)
"""Fields that a request does not say, or not alone: each is checked by itself."""


def check_opened(setup: Opened) -> None:
    """Raise InvalidRequestError unless this set-up could have been made here; the text says what is wrong."""
    try:
        require(setup.format in FORMATS, f"there is no format {setup.format}.")
        check_request(setup)
        check_documents(setup)
        check_visibility(setup)
        check_rounds(setup)
        check_models(setup)
        check_positions(setup)
        check_prompt_functions(setup)
        check_origin(setup)
        check_ledger(setup)
        check_memory(setup)
        check_effort(setup)
        check_team(setup)
        check_voting(setup)
    except ValidationError as error:
        first_error = error.errors(include_url=False)[0]
        location = ".".join(map(str, first_error["loc"]))[:60]
        raise InvalidRequestError(
            f"Entry 1 (opened) opens no debate: {location}: {first_error['msg']}."
        ) from None
    except (InvalidRequestError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"Entry 1 (opened) opens no debate: {error}") from None


def check_request(setup: Opened) -> None:
    """Check that a request opens the same set-up, with what it does not say as it is recorded."""
    row, request = FORMATS[setup.format], rebuild_request(setup)
    require(bool(setup.answering) == row.is_advice, UNFIT)
    if setup.answering:
        if setup.effort is None:
            raise InvalidRequestError(UNFIT)
        unnamed = [(f"Advisor {number}", "", "") for number in range(1, len(setup.debaters) + 1)]
        if [(debater.name, debater.stance, debater.role) for debater in setup.debaters] == unnamed:
            advisors = tuple(Debater(**debater.model_dump()) for debater in request.debaters)
        else:
            advisors = build_named_advisors(request.debaters, ANY_MODEL)
        opened = build_advice_setup(request, row, advisors, ANY_MODEL, setup.seed, setup.effort.level)
        check_setup(opened, request.options)
    else:
        opened = plan_debate(request, ANY_MODEL, setup.seed, "standard", None)
    opened = label_seats(opened.model_copy(update={name: getattr(setup, name) for name in ADDED}))
    if setup.forked_from:  # which keeps the labels of its parent
        labels = setup.answering.labels if setup.answering else setup.labels
        is_fit = len(labels) == len(opened.answering.labels if opened.answering else opened.labels)
        is_fit = is_fit and len(set(labels)) == len(labels) and all(map(is_label, labels))
        require(is_fit, "its labels are not those that were drawn.")
        opened = label_seats(opened, labels)
    different = [name for name, value in setup if value != getattr(opened, name)]
    require(not different, f"asked for again, other {' and '.join(different)} would be recorded.")


def is_copy(setup: Opened) -> bool:
    """Whether it is of a fork or a mirror, whose debate may have been extended, or have had more judges."""
    return bool(setup.forked_from or setup.mirror_of)


def rebuild_request(setup: Opened) -> DebateRequest:
    """The request for a set-up, with everything that its format or an effort might choose.

    Raises ValidationError for what no request may hold.
    """
    judges, moderator, synthesizer = setup.judges, setup.moderator, setup.synthesizer
    voting = setup.voting.model_dump() if setup.voting else {}
    weights = {"weights": {each.seat: each.weight for each in setup.weights}} if setup.weights else {}
    options = {
        **{
            name: getattr(setup, name)
            for name in (*RECORDED_OPTIONS, "seed", "challenges", "ballots", "stop")
        },
        **{name: [*map(str, getattr(setup, name))] for name in ("pause_when", "tags", "fallback_models")},
        **{officer.seat: describe(officer) for officer in setup.officers},
        "claims": "extracted" if setup.find_officer(ANALYST) else "asked",
        "judges": describe(judges) if judges.models else None,
        "moderator": moderator
        and describe(moderator) | {"opens": moderator.opens, "closes": moderator.closes},
        "synthesizer": describe(synthesizer) if synthesizer else False,
        "output_schema": setup.output_schema or None,
        "thinking": setup.thinking or None,
        "mirror": {"on": True, "off": False}.get(setup.mirror, setup.mirror),
        "baseline": any(phase.is_baseline for phase in setup.phases),
        "voting": voting | weights or None,
        "my_answer": setup.answering.mine if setup.answering else "",
        "limits": setup.limits.model_dump(exclude_defaults=True)
        | {
            "turn_timeout": setup.turn_timeout,
            "max_turn_tokens": setup.max_turn_tokens,
            "max_turn_words": setup.turn_words,
            "max_turns": setup.max_turns or None,
        },
    }
    phases = [phase for phase in setup.phases if not (phase.is_private or phase.is_baseline)]
    if phases[-1:] == [PHASES["deliverable"]]:
        phases.pop()  # the synthesizer brings it
    if setup.counting:  # only the phases of a format are counted so
        options["speaking"] = next((phase.order for phase in phases if phase.is_talk), None)
    else:
        options["phases"] = [describe_phase(phase, phases[:index]) for index, phase in enumerate(phases)]
    if setup.answering:
        options = {name: value for name, value in options.items() if name not in NOT_TAKEN}
    request = {
        "question": setup.question,
        "format": setup.format,
        "debaters": [*map(describe, setup.debaters)],
        "max_rounds": 1 if is_copy(setup) else setup.max_rounds,
        "options": options,
        "run": setup.run,
    }
    return DebateRequest.model_validate(request)


def describe_phase(phase: Phase, previous: Sequence[Phase]) -> dict[str, Any]:
    """A phase as a request names it: without the number that it got because another had its name."""
    name = phase.name.rpartition(" ")[0]
    is_numbered = choose_unique_name(name, previous) == phase.name
    is_numbered = is_numbered and PHASES.get(name, phase).participants == phase.participants
    name = name if is_numbered else phase.name
    fields = {"name": name, "instruction": phase.instruction, "messages": phase.messages}
    if phase.participants == "debaters":
        fields |= {"order": phase.order, "wants": phase.wants, "repeats": phase.repeats}
    if block := phase.block:
        fields |= {"repeat_from": block.first, "until": block.until, "limit": block.limit}
    return fields


def describe(part: Fact) -> dict[str, Any]:
    """A seat as a request names it."""
    return part.model_dump(exclude_defaults=True, exclude={"seat"})


def check_documents(setup: Opened) -> None:
    inputs = [
        DocumentInput.model_validate(document.model_dump(exclude={"after_round"}))
        for document in setup.documents
    ]
    asked = tuple(document.model_copy(update={"after_round": 0}) for document in setup.documents)
    require(build_documents(inputs) == asked, "documents: they are not as they are recorded.")
    is_known = all(document.after_round <= setup.forked_at_round for document in setup.documents)
    require(is_known, "documents: one was added after a round that it did not inherit.")
    if setup.reader and (problem := find_reader_problem(setup.documents, setup.reader)):
        raise InvalidRequestError(f"reader: {problem}.")


def check_visibility(setup: Opened) -> None:
    """Check that the hidden seats are kinds or seats, each once and in the recorded form."""
    if is_copy(setup):
        panel = setup.judges.model_copy(update={"models": ("",) * MOST_JUDGES})
        setup = setup.model_copy(update={"judges": panel})
    request = VisibilityInput(
        hide_from_client=[*setup.hidden_from_client], hide_from_seats=[*setup.hidden_from_seats]
    )
    require(add_visibility(setup, request) == setup, "visibility: it is not as it is recorded.")


def check_rounds(setup: Opened) -> None:
    limit = max(FORMATS[setup.format].max_allowed_rounds, len(setup.phases))
    limit = max(limit, MAX_BLOCK_ROUNDS * any(phase.block for phase in setup.phases))
    limit = max(limit, setup.max_rounds) if setup.mirror_of else limit
    fewest = 0 if setup.answering else 1
    problem = f"max_rounds={setup.max_rounds}: from {fewest} to {limit}."
    require(fewest <= setup.max_rounds <= limit, problem)


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
    """Check the origin of the positions."""
    has_origin = is_copy(setup) or setup.framing in (None, Framing(problem=NO_FRAMER))
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
    request = TeamInput(candidates=list(models), topic=team.topic, diversity=float(team.diversity or 2))
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
