"""From what a caller asks for to the set-up of a debate, or to a sentence that says what is wrong with it."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from server.debate.events import Debater, Document, Opened, Panel
from server.debate.formats import FORMATS, Format
from server.debate.refused import Refused
from server.debate.text import clean

LONGEST_QUESTION = 10_000
LONGEST_TEXT = 8_000
LONGEST_DOCUMENT = 200_000
ALL_DOCUMENTS = 400_000
MANY_DEBATERS = 10

Name = Annotated[str, Field(max_length=40)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
ModelName = Annotated[str, Field(max_length=200)]


class Asked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DebaterAsked(Asked):
    name: Name
    stance: Annotated[str, Field(max_length=500, description="The position it defends")]
    role: Annotated[str, Field(max_length=500)] = ""
    system_prompt: Text = ""
    model: ModelName = ""


class DocumentAsked(Asked):
    title: Annotated[str, Field(max_length=300)]
    text: Annotated[str, Field(max_length=LONGEST_DOCUMENT)]
    url: Annotated[str, Field(max_length=2000)] = ""


class JudgesAsked(Asked):
    count: Annotated[int, Field(ge=0, le=9, description="0: one per model given, or 1")] = 0
    models: Annotated[list[ModelName], Field(max_length=9)] = []
    both_orders: Annotated[bool | None, Field(description="default: the format's")] = None
    anonymize: bool = True
    shuffle: bool = True
    prompt: Text = ""


class LimitsAsked(Asked):
    turn_timeout: Annotated[int, Field(ge=1, le=3600, description="seconds per answer")] = 120
    max_turn_tokens: Annotated[int, Field(ge=16, le=32_000)] = 2000


class OptionsAsked(Asked):
    judges: JudgesAsked = JudgesAsked()
    limits: LimitsAsked = LimitsAsked()
    instructions: Annotated[str, Field(max_length=LONGEST_TEXT, description="for every seat")] = ""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1, description="0: drawn")] = 0
    tags: Annotated[list[Annotated[str, Field(max_length=60)]], Field(max_length=20)] = []


class Proposal(Asked):
    """A debate as a caller asks for it; everything but the question can be left out."""

    question: str
    format: str = "second_opinion"
    debaters: list[DebaterAsked] = []
    documents: list[DocumentAsked] = []
    models: list[ModelName] = []
    max_rounds: int = 0
    options: OptionsAsked = OptionsAsked()
    run: bool = False


FOR_AND_AGAINST = (
    DebaterAsked(name="Proponent", stance="for"),
    DebaterAsked(name="Opponent", stance="against"),
)


def open_debate(proposal: Proposal, *, models: Sequence[str], seed: int) -> Opened:
    """The set-up of the debate proposed.

    `models` are handed out to the debaters in turn. The judges get those that no debater has, or, where
    there are none, the same from the other end. `seed` is used where none was asked for.

    Raises:
        Refused: the proposal cannot be debated as it stands.
    """
    row = format_named(proposal.format)
    question = checked_question(proposal.question)
    check_documents(proposal.documents)
    asked = proposal.debaters or list(FOR_AND_AGAINST)
    check_debaters(asked)
    options = proposal.options
    debaters = tuple(
        Debater(
            name=d.name.strip(),
            stance=clean(d.stance),
            role=clean(d.role),
            system_prompt=clean(d.system_prompt),
            model=d.model.strip() or models[index % len(models)],
        )
        for index, d in enumerate(asked)
    )
    debating = {debater.model for debater in debaters}
    spare = [model for model in models if model not in debating]
    return Opened(
        question=question,
        format=row.name,
        phases=row.phases,
        debaters=debaters,
        judges=panel(options.judges, row, spare or list(reversed(models))),
        max_rounds=rounds(proposal.max_rounds, row),
        quorum=row.quorum,
        seed=options.seed or seed,
        documents=tuple(
            Document(title=clean(document.title), text=clean(document.text), url=clean(document.url))
            for document in proposal.documents
        ),
        instructions=clean(options.instructions),
        turn_timeout=options.limits.turn_timeout,
        max_turn_tokens=options.limits.max_turn_tokens,
        run=proposal.run,
        tags=tuple(clean(tag) for tag in options.tags),
    )


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


def check_debaters(debaters: Sequence[DebaterAsked]) -> None:
    if len(debaters) < 2:  # noqa: PLR2004  (a debate)
        raise Refused("A debate needs two debaters or more. Add one, or leave `debaters` out for two.")
    if len(debaters) > 26:  # noqa: PLR2004  (positions are letters)
        raise Refused(f"{len(debaters)} debaters are too many; 26 are allowed.")
    for debater in debaters:
        if not debater.name.strip() or not debater.name.isprintable():
            raise Refused(f"A debater's name must be a line of text, and {debater.name!r} is not.")
        if not clean(debater.stance):
            raise Refused(f"{debater.name} has no stance. Say in `stance` which position it defends.")
        if debater.name.strip().casefold().startswith("judge "):
            raise Refused(f"A debater cannot be called {debater.name!r}: the judges are called so.")
    names = Counter(debater.name.strip().casefold() for debater in debaters)
    doubled = [debater.name for debater in debaters if names[debater.name.strip().casefold()] > 1]
    if doubled:
        raise Refused(f"Names must be unique, and {', '.join(doubled)} are the same. Rename all but one.")


def panel(asked: JudgesAsked, row: Format, models: Sequence[str]) -> Panel:
    count = asked.count or len(asked.models) or 1
    pool = asked.models or models
    return Panel(
        models=tuple(pool[index % len(pool)] for index in range(count)),
        both_orders=row.both_orders if asked.both_orders is None else asked.both_orders,
        anonymize=asked.anonymize,
        shuffle=asked.shuffle,
        prompt=clean(asked.prompt),
    )


def rounds(asked: int, row: Format) -> int:
    if asked < 0 or asked > row.most_rounds:
        raise Refused(
            f"max_rounds={asked} is out of range for {row.name}: 1 to {row.most_rounds}, "
            f"or 0 for its own {row.rounds}."
        )
    return asked or row.rounds


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
            f"{len(setup.debaters)} debaters: with {MANY_DEBATERS} or more, judges lose track of who "
            "answered whom."
        )
    if families == 1:
        told.append(
            "All debaters are of one model family: their errors are alike, so agreement says less. "
            "Models of two or more families make a better debate."
        )
    return told
