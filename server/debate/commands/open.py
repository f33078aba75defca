"""From what a caller asks for to the set-up of a debate, or to a sentence that says what is wrong with it."""

from collections import Counter
from collections.abc import Callable, Sequence

from server.debate.commands.formats import FORMATS, PHASES, Format
from server.debate.commands.phases import phases_asked, with_order
from server.debate.commands.requests import (
    DebaterAsked,
    DocumentAsked,
    JudgesAsked,
    ModeratorAsked,
    OfficerAsked,
    OptionsAsked,
    Proposal,
    limits_asked,
)
from server.debate.facts.config import CALLER, Debater, Document, Moderator, Officer, Panel, Phase, Price
from server.debate.facts.errors import Refused
from server.debate.facts.events import Opened
from server.debate.facts.state import Debate
from server.debate.facts.text import clean
from server.debate.replies.extract import plain
from server.debate.rules.budget import room
from server.debate.rules.schedule import decided_by, seated
from server.debate.schemas.output_schema import checked_schema

LONGEST_QUESTION = 10_000
ALL_DOCUMENTS = 400_000
MANY_DEBATERS = 10
OFFICES = ("moderator", "referee", "synthesizer")


def open_debate(
    proposal: Proposal, *, models: Sequence[str], seed: int, price: Callable[[str], Price] | None = None
) -> Opened:
    """The set-up of the debate proposed.

    `models` are handed out to the debaters in turn. The judges, and who else there is, get those that no
    debater has, or, where there are none, the same from the other end. `seed` is used where none was
    asked for.

    `price` says what a token of a model costs.

    Raises:
        Refused: the proposal cannot be debated as it stands.
    """
    row, options = format_named(proposal.format), proposal.options
    check_documents(proposal.documents)
    debaters = debaters_asked(proposal.debaters, row, models)
    pool = pool_of(models, debaters)
    moderator = moderator_asked(options, row, pool)
    phases = phases_of(options, row, moderator)
    turns = options.limits.max_turns or (proposal.max_rounds if row.turns else 0) or row.turns
    opened = Opened(
        question=checked_question(proposal.question),
        format=row.name,
        phases=phases,
        debaters=debaters,
        judges=panel(options.judges, row, phases, pool),
        max_rounds=rounds(proposal.max_rounds, row, options, phases),
        quorum=options.quorum,
        seed=options.seed or seed,
        documents=tuple(map(document, proposal.documents)),
        instructions=clean(options.instructions),
        turn_timeout=options.limits.turn_timeout,
        max_turn_tokens=options.limits.max_turn_tokens or row.turn_tokens,
        run=proposal.run,
        tags=tuple(map(clean, options.tags)),
        brief=row.brief,
        moderator=moderator,
        referee=officer(options.referee, pool),
        synthesizer=synthesizer(options, phases, pool),
        output_schema="" if options.output_schema is None else checked_schema(options.output_schema),
        handoff=options.handoff,
        max_turns=turns,
        fallback_models=tuple(model.strip() for model in options.fallback_models),
        limits=limits_asked(options.limits),
        hidden_from_client=tuple(dict.fromkeys(options.visibility.hide_from_client)),
        hidden_from_seats=tuple(dict.fromkeys(options.visibility.hide_from_seats)),
    )
    return checked(opened, options, price)


def checked(opening: Opened, options: OptionsAsked, price: Callable[[str], Price] | None) -> Opened:
    """The set-up with its prices.

    Raises:
        Refused: nobody judges, or stands in, who was asked for; or its budget cannot be held, or is nothing.
    """
    if options.judges and decided_by(opening) != "judges":
        raise Refused(f"{opening.format} has no judges as asked for here: leave options.judges out.")
    for seats, name, quorum in (
        (len(opening.debaters), "quorum", opening.quorum),
        (len(opening.judges.models), "judges.quorum", opening.judges.quorum),
    ):
        if seats and quorum > seats:
            raise Refused(f"options.{name}={quorum} can never be met: there are {seats}.")
    if CALLER in opening.fallback_models:
        raise Refused("The caller cannot stand in for a model: leave it out of options.fallback_models.")
    names = dict.fromkeys([*seated(opening).values(), *opening.fallback_models])
    prices = tuple(map(price, names)) if price else ()
    opened = opening.model_copy(update={"prices": prices})
    unknown = [row.model for row in prices if not row.input] if price else list(names)
    if opened.limits.max_cost_usd and unknown:
        raise Refused(
            f"max_cost_usd cannot be held: the price of {', '.join(unknown)} is unknown, and unknown is not "
            "free. Give it in the setting `prices`, or limit calls and tokens instead."
        )
    left = room(Debate(opened))
    if left.calls < min(opened.quorum, len(opened.debaters)):
        raise Refused(f"The limits leave no room for a round of talk ({left.reason}). Raise them.")
    return opened


def pool_of(models: Sequence[str], debaters: Sequence[Debater]) -> list[str]:
    """Whom the judges, and who else there is, are asked of."""
    debating = {debater.model for debater in debaters}
    return [model for model in models if model not in debating] or list(reversed(models))


def document(asked: DocumentAsked) -> Document:
    return Document(title=clean(asked.title), text=clean(asked.text), url=clean(asked.url))


def debaters_asked(asked: Sequence[DebaterAsked], row: Format, models: Sequence[str]) -> tuple[Debater, ...]:
    asked = asked or [DebaterAsked(name=name, stance=stance) for name, stance in row.debaters]
    check_debaters(asked, row)
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
        for index, d in enumerate(asked)
    )


def moderator_asked(options: OptionsAsked, row: Format, pool: Sequence[str]) -> Moderator | None:
    """The moderator there is to be. One who is asked for and not told what to do opens the rounds."""
    asked = options.moderator or ModeratorAsked()
    moderated = options.speaking == "moderated"
    if options.moderator is None and not (row.closes or moderated):
        return None
    closes = row.closes if asked.closes is None else asked.closes
    opens = (moderated or not closes) if asked.opens is None else asked.opens
    if not (opens or closes):
        raise Refused("options.moderator neither opens nor closes rounds: set one of them, or leave it out.")
    if moderated and not opens:
        raise Refused("options.speaking=moderated needs a moderator who opens the rounds: set opens=true.")
    if opens and options.speaking not in (None, "moderated"):
        raise Refused(
            f"A moderator who opens the rounds chooses who speaks: leave options.speaking={options.speaking} "
            "out, or set options.moderator.opens=false."
        )
    if asked.tools and not opens:
        raise Refused("options.moderator.tools are for opening a round: set options.moderator.opens=true.")
    model = asked.model.strip() or pool[0]
    return Moderator(
        model=model, opens=opens, closes=closes, prompt=clean(asked.prompt), tools=tuple(asked.tools)
    )


def phases_of(options: OptionsAsked, row: Format, moderator: Moderator | None) -> tuple[Phase, ...]:
    opens = moderator is not None and moderator.opens
    order = "moderated" if opens else options.speaking
    if options.phases:
        phases = phases_asked(options.phases, order)
    else:
        phases = with_order(row.phases, order) if order else row.phases
    moderated = any(phase.order == "moderated" for phase in phases)
    if moderated and not opens:
        raise Refused("A phase with order=moderated needs options.moderator with opens=true.")
    if opens and not moderated:
        raise Refused("options.moderator opens rounds, and every phase has another `order`: leave one out.")
    named = any(phase.asks == "synthesizer" for phase in phases)
    if options.synthesizer is False:
        if options.output_schema is not None:
            raise Refused(
                "options.output_schema is the shape of the synthesizer's result, and the synthesizer is off. "
                "Leave one of the two out."
            )
        return tuple(phase for phase in phases if phase.asks != "synthesizer")
    asked = options.synthesizer is not None or options.output_schema is not None
    return (*phases, PHASES["deliverable"]) if asked and not named else phases


def officer(asked: bool | OfficerAsked | None, pool: Sequence[str]) -> Officer | None:
    if not asked:
        return None
    given = asked if isinstance(asked, OfficerAsked) else OfficerAsked()
    return Officer(model=given.model.strip() or pool[0], prompt=clean(given.prompt))


def synthesizer(options: OptionsAsked, phases: Sequence[Phase], pool: Sequence[str]) -> Officer | None:
    there = any(phase.asks == "synthesizer" for phase in phases)
    return officer(options.synthesizer or True, pool) if there else None


def format_named(name: str) -> Format:
    if name not in FORMATS:
        raise Refused(f"There is no format {name[:60]!r}. Formats: {', '.join(FORMATS)}.")
    return FORMATS[name]


def checked_question(text: str) -> str:
    question = clean(text)
    if not question:
        raise Refused("There is no question. Pass `question`: what the debate is to answer, in a sentence.")
    if len(question) > LONGEST_QUESTION:
        raise Refused(
            f"The question has {len(question):,} characters; {LONGEST_QUESTION:,} are allowed. "
            "Put long material into `documents` and ask the question in a sentence."
        )
    return question


def check_documents(documents: Sequence[DocumentAsked]) -> None:
    total = sum(len(document.text) for document in documents)
    if total > ALL_DOCUMENTS:
        raise Refused(
            f"The documents have {total:,} characters together; {ALL_DOCUMENTS:,} are allowed. "
            "Pass the parts that matter."
        )


def check_debaters(debaters: Sequence[DebaterAsked], row: Format) -> None:
    if len(debaters) < 2:  # noqa: PLR2004  (a debate)
        raise Refused("A debate needs two debaters or more. Add one, or leave `debaters` out for two.")
    if len(debaters) > 26:  # noqa: PLR2004  (positions are letters)
        raise Refused(f"{len(debaters)} debaters are too many; 26 are allowed.")
    for debater in debaters:
        if not debater.name.strip() or not debater.name.isprintable():
            raise Refused(f"A debater's name must be a line of text, and {debater.name!r} is not.")
        check_position(debater, row)
        name = plain(debater.name)
        if not name:
            raise Refused(f"A debater cannot be called {debater.name!r}: there is nothing to address it by.")
        if name.startswith("judge ") or name in OFFICES:
            raise Refused(f"A debater cannot be called {debater.name!r}: another seat is called so.")
    names = Counter(plain(debater.name) for debater in debaters)
    doubled = [debater.name for debater in debaters if names[plain(debater.name)] > 1]
    if doubled:
        raise Refused(f"Names must be unique, and {', '.join(doubled)} are the same. Rename all but one.")


def check_position(debater: DebaterAsked, row: Format) -> None:
    if clean(debater.stance):
        return
    if row.stances:
        raise Refused(f"{debater.name} has no stance. Say in `stance` which position it defends.")
    if not (clean(debater.role) or clean(debater.system_prompt)):
        raise Refused(f"{debater.name} has no role. Say in `role`, or `stance`, what it speaks for.")


def panel(wish: JudgesAsked | None, row: Format, phases: Sequence[Phase], models: Sequence[str]) -> Panel:
    asked = wish or JudgesAsked()
    judged = any(phase.asks == "judges" for phase in phases)
    count = (asked.count or len(asked.models) or 1) if judged else 0
    pool = asked.models or models
    return Panel(
        models=tuple(pool[index % len(pool)] for index in range(count)),
        both_orders=row.both_orders if asked.both_orders is None else asked.both_orders,
        anonymize=asked.anonymize,
        shuffle=asked.shuffle,
        prompt=clean(asked.prompt),
        quorum=asked.quorum,
    )


def rounds(asked: int, row: Format, options: OptionsAsked, phases: Sequence[Phase]) -> int:
    """How many rounds of talk there are to be: as asked, else as many as the turns or the phases need."""
    usual = (options.limits.max_turns if row.turns else 0) or row.rounds
    if options.phases:
        usual = sum(phase.is_talk for phase in phases) + any(phase.repeats for phase in phases)
    most = max(row.most_rounds, len(options.phases))
    if not 0 <= (asked or usual) <= most:
        name = "options.limits.max_turns" if row.turns and not asked else "max_rounds"
        raise Refused(
            f"{name}={asked or usual} is out of range for {row.name}: 1 to {most}, "
            f"or 0 for its own {row.rounds}."
        )
    return asked or usual


def warnings(setup: Opened, families: int) -> list[str]:
    """What a caller should know before spending money. `families`: how many kinds of model debate."""
    row = FORMATS.get(setup.format)  # a debate of another release may be in a format of its own
    told = []
    if row and setup.max_rounds > row.warn_above:
        told.append(
            f"{setup.max_rounds} rounds: above {row.warn_above}, models tend to drift towards agreement "
            "and cost grows faster than insight."
        )
    if len(setup.debaters) >= MANY_DEBATERS:
        told.append(
            f"{len(setup.debaters)} debaters: {MANY_DEBATERS} or more overwhelm a single moderator or judge, "
            "who loses track of who answered whom. Group them, or debate in parts."
        )
    if left_out := unheld(setup):
        few = "1 round is" if setup.max_rounds == 1 else f"{setup.max_rounds} rounds are"
        told.append(f"{few} too few for every phase: {', '.join(left_out)} left out.")
    if setup.forked_restanced:
        told.append(restanced(setup))
    if not decided_by(setup) and not setup.synthesizer:
        told.append("Nobody decides at the end of these phases: the result is what was said.")
    if families == 1 and any(debater.model != CALLER for debater in setup.debaters):
        told.append(
            "All debaters are of one model family: their errors are alike, so agreement says less. "
            "Models of two or more families make a better debate."
        )
    return told


def restanced(setup: Opened) -> str:
    names = ", ".join(setup.forked_restanced)
    return (
        f"What {names} said up to round {setup.forked_at_round} was said for another stance, before the fork."
    )


def unheld(setup: Opened) -> list[str]:
    """The phases of talk that the rounds do not reach."""
    talk = [phase.name for phase in setup.phases if phase.is_talk]
    return talk[setup.max_rounds :]
