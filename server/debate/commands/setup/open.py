"""Turns a request into the set-up of a debate, or refuses it with an error that says what to change."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from server.debate.ballots.waves import may_converge
from server.debate.commands import requests
from server.debate.commands.requests import DebateRequest, OptionsInput
from server.debate.commands.setup.advisors import (
    EXCHANGES,
    add_answering,
    build_named_advisors,
    build_reviewing_judges,
    check_advice_options,
    choose_advisors,
    drop_defaults,
)
from server.debate.commands.setup.debaters import build_debaters, build_framing
from server.debate.commands.setup.documents import build_documents
from server.debate.commands.setup.effort import (
    PRESETS,
    apply_effort,
    asks_for_ballots,
    build_effort,
    list_levels,
    mix_families,
)
from server.debate.commands.setup.formats import FORMATS, Format
from server.debate.commands.setup.phases import add_last_phases, build_phases, compute_max_rounds
from server.debate.commands.setup.seats import (
    MIRROR_MODES,
    build_moderator,
    build_officer,
    build_officers,
    build_panel,
    check_escalation,
    rank_judges,
)
from server.debate.commands.setup.team import add_team, order_models
from server.debate.commands.setup.voting import add_voting
from server.debate.facts.earlier import Memory
from server.debate.facts.errors import require, require_length
from server.debate.facts.setup.ledger import Team
from server.debate.facts.setup.limits import Breakpoint, Price, check_prices_known
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.options import EffortLevel
from server.debate.facts.setup.phases import Phase
from server.debate.facts.setup.seats import FRAMER, SYNTHESIZER, WRITTEN, Debater, Meter, Officer
from server.debate.replies.extract import normalize_name
from server.debate.rules.budget import count_first_calls, find_first_round, find_round_shortfall
from server.debate.rules.course import build_phase_entered
from server.debate.rules.plan import pays_for_all
from server.debate.schemas.output_schema import check_schema
from server.debate.seats.registry import SEAT_KINDS
from server.debate.state.debate import Debate, judge_seats
from server.debate.state.labels import label_seats
from server.debate.state.seats import count_framing_calls, find_models, find_seat_prompt, seat_models

MAX_QUESTION_LENGTH = 10_000

TOKENS_FOR_WORD = 6
"""Tokens allowed for each word asked for: enough for any language, and for a model that writes more."""


def open_debate(
    request: DebateRequest,
    *,
    models: Sequence[str],
    seed: int,
    find_price: Callable[[str], Price] | None = None,
    effort: EffortLevel = "standard",
    embeddings: str = "",
    team: Team | None = None,
) -> Opened:
    """Return the set-up of the requested debate, with prices.

    `models` are assigned to the debaters in turn. Judges and officers get models that no debater has, or the same
    ones in reverse order. `seed` and `effort` apply if the request has none; a lower effort is chosen if the limits
    do not pay for it. `find_price`: in USD per token. `embeddings`: the model that compares the positions of voters;
    "" for none. `team`: chosen from these models.

    Raises:
        InvalidRequestError: the debate cannot be held as requested.
    """
    request = request.model_copy(update={"format": request.chosen_format})
    names = ", ".join(FORMATS)
    require(request.format in FORMATS, f"There is no format {request.format[:60]!r}. Formats: {names}.")
    if FORMATS[request.format].is_advice:
        request = request.model_copy(update={"options": drop_defaults(request.options)})
    requested_effort = request.options.effort
    for level in [requested_effort] if requested_effort else list_levels(effort):
        setup = plan_debate(request, models, seed, level, team)
        setup = add_prices(add_meter(setup, embeddings), find_price)
        if pays_for_all(Debate(setup)):
            break
    if setup.effort and level != (requested_effort or effort):
        lowered_effort = setup.effort.model_copy(update={"instead_of": effort})
        setup = setup.model_copy(update={"effort": lowered_effort})
    first_phase = find_first_round(setup)
    entry = build_phase_entered(Debate(setup), first_phase, None)
    reason = find_round_shortfall(Debate(setup), entry, calls_before=count_framing_calls(setup))
    cost = f"One round takes {count_first_calls(Debate(setup), entry)} calls with its verdict"
    require(not reason, f"The limits do not allow one round of talk ({reason}). {cost}. Raise them.")
    return setup


def plan_debate(
    request: DebateRequest, models: Sequence[str], seed: int, level: EffortLevel, team: Team | None
) -> Opened:
    setup = build_setup(request, models, seed, level, team)
    check_setup(setup, request.options)
    setup = add_visibility(setup, request.options.visibility)
    setup = add_voting(setup, request.options.voting)
    check_challenges(setup)
    return setup


def build_setup(
    request: DebateRequest, models: Sequence[str], seed: int, level: EffortLevel, team: Team | None
) -> Opened:
    row, options, limits = FORMATS[request.format], request.options, request.options.limits
    models = arrange_models(request, models, level, team)
    if row.is_advice:
        named = request.debaters
        advisors = build_named_advisors(named, models) if named else choose_advisors(models, level)
        return build_advice_setup(request, row, advisors, models, seed, level)
    unused = f"{row.name} does not check options.my_answer. Leave it out, or pass format={requests.DEFAULT_FORMAT!r}."
    require(not options.my_answer, unused)
    debaters = build_debaters(request.debaters, row, models)
    debating = tuple(dict.fromkeys(debater.model for debater in debaters))
    pool = [model for model in models if model not in debating] or models[::-1]
    moderator = build_moderator(options, row, pool)
    ballots = (options.ballots or "blind") if asks_for_ballots(options) else "none"
    phases = build_phases(options, row, moderator)
    phases = add_last_phases(phases, has_ballots=ballots != "none", has_baseline=options.baseline)
    able = (team and team.judges) or rank_judges(models, debating)
    panel = build_panel(options.judges or requests.JudgesInput(), phases, able)
    setup = Opened(
        **build_common_fields(request, row, seed),
        phases=phases,
        debaters=debaters,
        judges=panel,
        max_rounds=compute_max_rounds(request.max_rounds, row, options, phases),
        moderator=moderator,
        officers=build_officers(options, pool),
        synthesizer=build_synthesizer(options, phases, pool),
        ballots=ballots,
        mirror=MIRROR_MODES[options.mirror],
        effort=build_effort(request, level, (*debating, *models)),
        stop=options.stop or "off",
        challenges=options.challenges,
        counting="" if options.phases else row.counting,
        max_turns=limits.max_turns or (row.default_turns and (request.max_rounds or row.default_turns)),
        **build_framing(request, models, panel),
    )
    setup = apply_effort(add_team(setup, team), level)
    return label_seats(setup)


def build_advice_setup(
    request: DebateRequest,
    row: Format,
    advisors: tuple[Debater, ...],
    models: Sequence[str],
    seed: int,
    level: EffortLevel,
) -> Opened:
    """The set-up of the answer format, whose debaters are advisors."""
    options = request.options
    check_advice_options(options, row)
    phases = build_phases(options, row, None)
    max_rounds = request.max_rounds if "max_rounds" in request.model_fields_set else None
    limit = row.max_allowed_rounds
    require(
        max_rounds is None or max_rounds <= limit,
        f"There can be {limit} exchanges at most, and 0 means none: max_rounds={max_rounds} is too much.",
    )
    common = build_common_fields(request, row, seed)
    setup = Opened(
        **common | {"quorum": min(options.quorum, len(advisors))},
        phases=phases,
        debaters=advisors,
        judges=build_reviewing_judges(options),
        max_rounds=EXCHANGES[level] if max_rounds is None else max_rounds,
        synthesizer=build_synthesizer(options, phases, models),
        effort=build_effort(request, level, (*(advisor.model for advisor in advisors), *models)),
    )
    return add_answering(setup, row, options.my_answer, level)


def arrange_models(
    request: DebateRequest, models: Sequence[str], level: EffortLevel, team: Team | None
) -> Sequence[str]:
    """The models in the order in which seats get them."""
    if team:
        return order_models(team, request)
    return mix_families(models) if PRESETS[level].is_thorough else models


def build_common_fields(request: DebateRequest, row: Format, seed: int) -> dict[str, Any]:
    """What any format records of a request in the same way."""
    options, limits = request.options, request.options.limits
    return {
        "question": request.question,
        "format": row.name,
        "labels": (),  # drawn when the seats are known
        "seed": options.seed or seed,
        "documents": build_documents(request.documents),
        "turn_timeout": limits.turn_timeout,
        "turn_words": limits.max_turn_words,
        "max_turn_tokens": limits.max_turn_tokens
        or row.max_turn_tokens
        or limits.max_turn_words * TOKENS_FOR_WORD,
        "run": request.run,
        "tags": tuple(options.tags),
        "brief": row.brief,
        "output_schema": "" if options.output_schema is None else check_schema(options.output_schema),
        "thinking": options.thinking or "",
        "fallback_models": tuple(options.fallback_models),
        "limits": requests.build_limits(limits),
        "pause_when": build_breakpoints(options.pause_when),
        "memory": Memory.ask(options.memory),
        **options.model_dump(include=requests.RECORDED_OPTIONS),
    }


def build_synthesizer(options: OptionsInput, phases: Sequence[Phase], pool: Sequence[str]) -> Officer | None:
    has_deliverable = any(phase.participants == "synthesizer" for phase in phases)
    return build_officer(SYNTHESIZER, options.synthesizer, pool) if has_deliverable else None


def add_visibility(setup: Opened, request: requests.VisibilityInput) -> Opened:
    """The set-up with the hidden seats, each by its kind or its name.

    Raises:
        InvalidRequestError: there is no such seat, or its name is not known yet.
    """
    debaters = () if setup.needs_framing else (debater.name for debater in setup.debaters)
    seats = [*SEAT_KINDS, *debaters, *judge_seats(setup)]
    seats_by_name = {normalize_name(seat): seat for seat in seats}
    hidden_seats: dict[str, tuple[str, ...]] = {}
    for option, field in (
        ("hide_from_client", "hidden_from_client"),
        ("hide_from_seats", "hidden_from_seats"),
    ):
        names: list[str] = getattr(request, option)
        unknown_names = [name for name in names if normalize_name(name) not in seats_by_name]
        hint = " Name `debaters` to hide one of them." if setup.needs_framing else ""
        problem = f"options.visibility.{option}: there is no {', '.join(map(repr, unknown_names))}."
        require(not unknown_names, f"{problem} Kinds and seats: {', '.join(seats)}.{hint}")
        hidden_seats[field] = tuple(dict.fromkeys(seats_by_name[normalize_name(name)] for name in names))
    return setup.model_copy(update=hidden_seats)


def check_setup(setup: Opened, options: OptionsInput) -> None:
    require(setup.question, "There is no question. Write what is to be answered, in a sentence.")
    advice = "Put long material into a document, and ask the question in a sentence."
    require_length("The question has", len(setup.question), MAX_QUESTION_LENGTH, advice)
    debaters, judges = len(setup.debaters), len(setup.judges.models)
    problem = f"{setup.format} has no judges with these phases: leave options.judges out."
    require(judges or not options.judges, problem)
    problem = (
        "options.skip_if_agreed is for answers that models give apart, and here they argue: leave it out."
    )
    require(setup.answering or not setup.skip_if_agreed, problem)
    problem = "options.stop=on and blocks with until=convergence need private ballots: leave options.ballots=none out."
    require(setup.ballots != "none" or not may_converge(setup), problem)
    check_escalation(setup)
    quorum, never = setup.judges.quorum, "can never be met: there are"
    require(setup.quorum <= debaters, f"options.quorum={setup.quorum} {never} {debaters}.")
    require(not judges or quorum <= judges, f"options.judges.quorum={quorum} {never} {judges}.")
    check_breakpoints(setup)
    problem = "The caller cannot be a fallback for a model: leave it out of options.fallback_models."
    require(WRITTEN.isdisjoint(setup.fallback_models), problem)


def check_challenges(setup: Opened) -> None:
    """Raises InvalidRequestError if challenges are asked for but impossible."""
    if setup.challenges != "challenge":
        return
    panels = ", ".join(row.name for row in FORMATS.values() if row.brief == "panel")
    problem = "options.challenges=challenge is for seats that may change their mind in public, and advocates never do"
    require(setup.brief == "panel", f"{problem}. Formats: {panels}. Or pass report.")
    require(
        setup.ballots != "none",
        "options.challenges=challenge needs private ballots: leave options.ballots out.",
    )


def add_meter(setup: Opened, model: str) -> Opened:
    """The set-up with an embedding model, if ballots after its rounds may end the talk."""
    is_needed = bool(model) and may_converge(setup) and setup.ballots != "none"
    return setup.model_copy(update={"meter": Meter(model=model)}) if is_needed else setup


def add_prompt_functions(setup: Opened, seats: Collection[str]) -> Opened:
    """The set-up of a debate whose caller's code writes the prompts of these seats; "": of all seats without one.

    Raises:
        InvalidRequestError: there is no such seat, its name is not known yet, or it has a fixed prompt.
    """
    known_seats = seat_models(setup).keys() - {FRAMER}
    if setup.needs_framing:
        known_seats -= {debater.name for debater in setup.debaters}
    for seat in seats:
        is_known = not seat or seat in known_seats
        hint = (
            f"prompts: nobody is called {seat!r} as far as is known. Seats: {', '.join(sorted(known_seats))}."
        )
        require(is_known, f"{hint} Name `debaters` to give them prompts.")
        fixed_prompt = find_seat_prompt(setup, seat)[0] if seat else setup.instructions
        where = f"{seat} has a prompt" if seat else "there are instructions"
        require(not fixed_prompt, f"A function writes them, and {where} in the request: leave one out.")
    return setup.model_copy(update={"prompt_functions": tuple(seats)})


def build_breakpoints(names: Iterable[str]) -> tuple[Breakpoint, ...]:
    """Each of them once, in the order given."""
    return tuple(dict.fromkeys(map(Breakpoint.parse, names)))


def check_breakpoints(setup: Opened) -> None:
    """Raises InvalidRequestError for a share of limits that are not set."""
    shares = [str(point) for point in setup.pause_when if point.condition == "budget"]
    problem = f"pause_when {', '.join(shares)} needs a limit to take a share of: set one in options.limits."
    require(setup.limits.has_budget or not shares, problem)


def add_prices(setup: Opened, find_price: Callable[[str], Price] | None) -> Opened:
    """The set-up with the prices of its models.

    Raises:
        InvalidRequestError: a cost limit needs a price that is unknown.
    """
    measuring = (setup.meter.model,) if setup.meter else ()
    models = tuple(dict.fromkeys((*find_models(setup), *setup.fallback_models, *measuring)))
    prices = tuple(map(find_price, models)) if find_price else ()
    check_prices_known(setup.limits, models, prices)
    effort = setup.effort
    if effort and find_price:
        model_prices = tuple(find_price(price.model) for price in effort.models)
        effort = effort.model_copy(update={"models": model_prices})
    return setup.model_copy(update={"prices": prices, "effort": effort})
