"""From what a caller asks for to the set-up of a debate, or to a sentence that says what is wrong with it."""

from collections import Counter
from collections.abc import Callable, Sequence

from server.debate.commands.formats import FORMATS, PHASES, Format
from server.debate.commands.phases import apply_order, build_custom_phases
from server.debate.commands.requests import (
    DebateRequest,
    DebaterInput,
    DocumentInput,
    JudgesInput,
    ModeratorInput,
    OfficerInput,
    OptionsInput,
    build_limits,
)
from server.debate.facts.config import CALLER, Debater, Document, JudgePanel, Moderator, Officer, Phase, Price
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Opened
from server.debate.facts.state import Debate
from server.debate.facts.text import clean
from server.debate.replies.extract import normalize_name
from server.debate.rules.budget import compute_remaining
from server.debate.rules.schedule import seat_models, verdict_source
from server.debate.schemas.output_schema import check_schema

MAX_QUESTION_LENGTH = 10_000
MAX_TOTAL_DOCUMENT_LENGTH = 400_000
MANY_DEBATERS = 10
RESERVED_SEAT_NAMES = ("moderator", "referee", "synthesizer")


def open_debate(
    request: DebateRequest,
    *,
    models: Sequence[str],
    seed: int,
    find_price: Callable[[str], Price] | None = None,
) -> Opened:
    """Return the setup of the requested debate, with prices.

    `models` are assigned to the debaters in turn. Judges and officers get models that no debater has, or
    the same models in reverse order where there are none. `seed` applies where the request has none.
    `find_price` returns the price of a model in USD per token.

    Raises:
        InvalidRequestError: the debate cannot be held as requested.
    """
    row, options = find_format(request.format), request.options
    debaters = build_debaters(request.debaters, row, models)
    pool = build_model_pool(models, debaters)
    moderator = build_moderator(options, row, pool)
    phases = build_phases(options, row, moderator)
    opened = Opened(
        question=validate_question(request.question),
        format=row.name,
        phases=phases,
        debaters=debaters,
        judges=build_panel(options.judges, row, phases, pool),
        max_rounds=compute_max_rounds(request.max_rounds, row, options, phases),
        quorum=options.quorum,
        seed=options.seed or seed,
        documents=build_documents(request.documents),
        instructions=clean(options.instructions),
        turn_timeout=options.limits.turn_timeout,
        max_turn_tokens=options.limits.max_turn_tokens or row.max_turn_tokens,
        run=request.run,
        tags=tuple(map(clean, options.tags)),
        brief=row.brief,
        moderator=moderator,
        referee=build_officer(options.referee, pool),
        synthesizer=build_synthesizer(options, phases, pool),
        output_schema="" if options.output_schema is None else check_schema(options.output_schema),
        handoff=options.handoff,
        max_turns=compute_max_turns(request, row),
        fallback_models=tuple(model.strip() for model in options.fallback_models),
        limits=build_limits(options.limits),
        hidden_from_client=tuple(dict.fromkeys(options.visibility.hide_from_client)),
        hidden_from_seats=tuple(dict.fromkeys(options.visibility.hide_from_seats)),
    )
    return check_and_price_setup(opened, options, find_price)


def check_and_price_setup(
    setup: Opened, options: OptionsInput, find_price: Callable[[str], Price] | None
) -> Opened:
    """The set-up with its prices.

    Raises:
        Refused: nobody judges, or stands in, who was asked for; or its budget cannot be held, or is nothing.
    """
    if options.judges and verdict_source(setup) != "judges":
        raise InvalidRequestError(
            f"{setup.format} has no judges as asked for here: leave options.judges out."
        )
    for seats, name, quorum in (
        (len(setup.debaters), "quorum", setup.quorum),
        (len(setup.judges.models), "judges.quorum", setup.judges.quorum),
    ):
        if seats and quorum > seats:
            raise InvalidRequestError(f"options.{name}={quorum} can never be met: there are {seats}.")
    if CALLER in setup.fallback_models:
        raise InvalidRequestError(
            "The caller cannot stand in for a model: leave it out of options.fallback_models."
        )
    names = dict.fromkeys([*seat_models(setup).values(), *setup.fallback_models])
    prices = tuple(map(find_price, names)) if find_price else ()
    opened = setup.model_copy(update={"prices": prices})
    unknown = [row.model for row in prices if not row.input] if find_price else list(names)
    if opened.limits.max_cost_usd and unknown:
        raise InvalidRequestError(
            f"max_cost_usd cannot be held: the price of {', '.join(unknown)} is unknown, and unknown is not "
            "free. Give it in the setting `prices`, or limit calls and tokens instead."
        )
    left = compute_remaining(Debate(opened))
    if left.calls < min(opened.quorum, len(opened.debaters)):
        raise InvalidRequestError(
            f"The limits leave no room for a round of talk ({left.reason}). Raise them."
        )
    return opened


def build_model_pool(models: Sequence[str], debaters: Sequence[Debater]) -> list[str]:
    """Whom the judges, and who else there is, are asked of."""
    debating = {debater.model for debater in debaters}
    return [model for model in models if model not in debating] or list(reversed(models))


def build_debaters(
    requested: Sequence[DebaterInput], debate_format: Format, models: Sequence[str]
) -> tuple[Debater, ...]:
    requested = requested or [
        DebaterInput(name=name, stance=stance) for name, stance in debate_format.default_debaters
    ]
    check_debaters(requested, debate_format)
    return tuple(
        Debater(
            name=d.name.strip(),
            stance=clean(d.stance) or clean(d.role) or d.name.strip(),
            role=clean(d.role) if clean(d.stance) else "",
            system_prompt=clean(d.system_prompt),
            model=d.model.strip() or models[index % len(models)],
            max_turn_tokens=d.max_turn_tokens,
            turn_timeout=d.turn_timeout,
            tools=tuple(d.tools),
        )
        for index, d in enumerate(requested)
    )


def build_moderator(options: OptionsInput, debate_format: Format, pool: Sequence[str]) -> Moderator | None:
    """The moderator there is to be. One who is asked for and not told what to do opens the rounds."""
    asked = options.moderator or ModeratorInput()
    moderated = options.speaking == "moderated"
    if options.moderator is None and not (debate_format.has_closing_moderator or moderated):
        return None
    closes = debate_format.has_closing_moderator if asked.closes is None else asked.closes
    opens = (moderated or not closes) if asked.opens is None else asked.opens
    if not (opens or closes):
        raise InvalidRequestError(
            "options.moderator neither opens nor closes rounds: set one of them, or leave it out."
        )
    if moderated and not opens:
        raise InvalidRequestError(
            "options.speaking=moderated needs a moderator who opens the rounds: set opens=true."
        )
    if opens and options.speaking not in (None, "moderated"):
        raise InvalidRequestError(
            f"A moderator who opens the rounds chooses who speaks: leave options.speaking={options.speaking} "
            "out, or set options.moderator.opens=false."
        )
    if asked.tools and not opens:
        raise InvalidRequestError(
            "options.moderator.tools are for opening a round: set options.moderator.opens=true."
        )
    model = asked.model.strip() or pool[0]
    return Moderator(
        model=model, opens=opens, closes=closes, prompt=clean(asked.prompt), tools=tuple(asked.tools)
    )


def build_phases(
    options: OptionsInput, debate_format: Format, moderator: Moderator | None
) -> tuple[Phase, ...]:
    opens = moderator is not None and moderator.opens
    order = "moderated" if opens else options.speaking
    if options.phases:
        phases = build_custom_phases(options.phases, order)
    else:
        phases = apply_order(debate_format.phases, order) if order else debate_format.phases
    moderated = any(phase.order == "moderated" for phase in phases)
    if moderated and not opens:
        raise InvalidRequestError("A phase with order=moderated needs options.moderator with opens=true.")
    if opens and not moderated:
        raise InvalidRequestError(
            "options.moderator opens rounds, and every phase has another `order`: leave one out."
        )
    named = any(phase.participants == "synthesizer" for phase in phases)
    if options.synthesizer is False:
        if options.output_schema is not None:
            raise InvalidRequestError(
                "options.output_schema is the shape of the synthesizer's result, and the synthesizer is off. "
                "Leave one of the two out."
            )
        return tuple(phase for phase in phases if phase.participants != "synthesizer")
    asked = options.synthesizer is not None or options.output_schema is not None
    return (*phases, PHASES["deliverable"]) if asked and not named else phases


def build_officer(requested: bool | OfficerInput | None, pool: Sequence[str]) -> Officer | None:
    if not requested:
        return None
    given = requested if isinstance(requested, OfficerInput) else OfficerInput()
    return Officer(model=given.model.strip() or pool[0], prompt=clean(given.prompt))


def build_synthesizer(options: OptionsInput, phases: Sequence[Phase], pool: Sequence[str]) -> Officer | None:
    there = any(phase.participants == "synthesizer" for phase in phases)
    return build_officer(options.synthesizer or True, pool) if there else None


def find_format(name: str) -> Format:
    if name not in FORMATS:
        raise InvalidRequestError(f"There is no format {name[:60]!r}. Formats: {', '.join(FORMATS)}.")
    return FORMATS[name]


def validate_question(text: str) -> str:
    question = clean(text)
    if not question:
        raise InvalidRequestError(
            "There is no question. Pass `question`: what the debate is to answer, in a sentence."
        )
    if len(question) > MAX_QUESTION_LENGTH:
        raise InvalidRequestError(
            f"The question has {len(question):,} characters; {MAX_QUESTION_LENGTH:,} are allowed. "
            "Put long material into `documents` and ask the question in a sentence."
        )
    return question


def build_documents(
    requested: Sequence[DocumentInput], existing: Sequence[Document] = ()
) -> tuple[Document, ...]:
    """Return `existing` and the requested documents, refused where they are too long together."""
    documents = [Document(title=clean(d.title), text=clean(d.text), url=clean(d.url)) for d in requested]
    together = (*existing, *documents)
    total = sum(len(document.text) for document in together)
    if total > MAX_TOTAL_DOCUMENT_LENGTH:
        raise InvalidRequestError(
            f"The documents have {total:,} characters together; {MAX_TOTAL_DOCUMENT_LENGTH:,} are allowed. "
            "Pass the parts that matter."
        )
    return together


def check_debaters(debaters: Sequence[DebaterInput], debate_format: Format) -> None:
    if len(debaters) < 2:  # noqa: PLR2004  (a debate)
        raise InvalidRequestError(
            "A debate needs two debaters or more. Add one, or leave `debaters` out for two."
        )
    if len(debaters) > 26:  # noqa: PLR2004  (positions are letters)
        raise InvalidRequestError(f"{len(debaters)} debaters are too many; 26 are allowed.")
    for debater in debaters:
        if not debater.name.strip() or not debater.name.isprintable():
            raise InvalidRequestError(
                f"A debater's name must be a line of text, and {debater.name!r} is not."
            )
        check_stance_or_role(debater, debate_format)
        name = normalize_name(debater.name)
        if not name:
            raise InvalidRequestError(
                f"A debater cannot be called {debater.name!r}: there is nothing to address it by."
            )
        if name.startswith("judge ") or name in RESERVED_SEAT_NAMES:
            raise InvalidRequestError(
                f"A debater cannot be called {debater.name!r}: another seat is called so."
            )
    names = Counter(normalize_name(debater.name) for debater in debaters)
    doubled = [debater.name for debater in debaters if names[normalize_name(debater.name)] > 1]
    if doubled:
        raise InvalidRequestError(
            f"Names must be unique, and {', '.join(doubled)} are the same. Rename all but one."
        )


def check_stance_or_role(debater: DebaterInput, debate_format: Format) -> None:
    if clean(debater.stance):
        return
    if debate_format.requires_stances:
        raise InvalidRequestError(f"{debater.name} has no stance. Say in `stance` which position it defends.")
    if not (clean(debater.role) or clean(debater.system_prompt)):
        raise InvalidRequestError(
            f"{debater.name} has no role. Say in `role`, or `stance`, what it speaks for."
        )


def build_panel(
    judges_input: JudgesInput | None, debate_format: Format, phases: Sequence[Phase], models: Sequence[str]
) -> JudgePanel:
    asked = judges_input or JudgesInput()
    judged = any(phase.participants == "judges" for phase in phases)
    count = (asked.count or len(asked.models) or 1) if judged else 0
    pool = asked.models or models
    return JudgePanel(
        models=tuple(pool[index % len(pool)] for index in range(count)),
        both_orders=debate_format.both_orders if asked.both_orders is None else asked.both_orders,
        anonymize=asked.anonymize,
        shuffle=asked.shuffle,
        prompt=clean(asked.prompt),
        quorum=asked.quorum,
    )


def compute_max_turns(request: DebateRequest, debate_format: Format) -> int:
    """Return the number of turns of the whole debate, or 0 where only its rounds are limited."""
    default = debate_format.default_turns
    return request.options.limits.max_turns or (request.max_rounds if default else 0) or default


def compute_max_rounds(
    requested: int, debate_format: Format, options: OptionsInput, phases: Sequence[Phase]
) -> int:
    """How many rounds of talk there are to be: as asked, else as many as the turns or the phases need."""
    usual = (options.limits.max_turns if debate_format.default_turns else 0) or debate_format.default_rounds
    if options.phases:
        usual = sum(phase.is_talk for phase in phases) + any(phase.repeats for phase in phases)
    most = max(debate_format.max_allowed_rounds, len(options.phases))
    if not 0 <= (requested or usual) <= most:
        name = "options.limits.max_turns" if debate_format.default_turns and not requested else "max_rounds"
        raise InvalidRequestError(
            f"{name}={requested or usual} is out of range for {debate_format.name}: 1 to {most}, "
            f"or 0 for its own {debate_format.default_rounds}."
        )
    return requested or usual


def find_setup_warnings(setup: Opened, family_count: int) -> list[str]:
    """What a caller should know before spending money. `families`: how many kinds of model debate."""
    row = FORMATS.get(setup.format)  # a debate of another release may be in a format of its own
    told = []
    if row and setup.max_rounds > row.warn_above_rounds:
        told.append(
            f"{setup.max_rounds} rounds: above {row.warn_above_rounds}, models tend to drift towards agreement "
            "and cost grows faster than insight."
        )
    if len(setup.debaters) >= MANY_DEBATERS:
        told.append(
            f"{len(setup.debaters)} debaters: {MANY_DEBATERS} or more overwhelm a single moderator or judge, "
            "who loses track of who answered whom. Group them, or debate in parts."
        )
    if left_out := find_unreached_phases(setup):
        few = "1 round is" if setup.max_rounds == 1 else f"{setup.max_rounds} rounds are"
        told.append(f"{few} too few for every phase: {', '.join(left_out)} left out.")
    if setup.forked_restanced:
        told.append(describe_stance_changes(setup))
    if not verdict_source(setup) and not setup.synthesizer:
        told.append("Nobody decides at the end of these phases: the result is what was said.")
    if family_count == 1 and any(debater.model != CALLER for debater in setup.debaters):
        told.append(
            "All debaters are of one model family: their errors are alike, so agreement says less. "
            "Models of two or more families make a better debate."
        )
    return told


def describe_stance_changes(setup: Opened) -> str:
    names = ", ".join(setup.forked_restanced)
    return (
        f"What {names} said up to round {setup.forked_at_round} was said for another stance, before the fork."
    )


def find_unreached_phases(setup: Opened) -> list[str]:
    """The phases of talk that the rounds do not reach."""
    talk = [phase.name for phase in setup.phases if phase.is_talk]
    return talk[setup.max_rounds :]
