"""Requests for debates and forks: the arguments that tools, the terminal and scripts fill in."""

from decimal import Decimal
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from server.debate.commands.inputs import (
    BREAKPOINTS_HELP,
    MAX_NAME_LENGTH,
    Breakpoints,
    Cleaned,
    DocumentText,
    FractionText,
    Input,
    MirrorChoice,
    ModelChanges,
    ModelName,
    ModelNames,
    Name,
    OfficerInput,
    ReplacesTask,
    Rounds,
    SchemaDocument,
    SeatTools,
    Seconds,
    Seed,
    Stance,
    StanceChanges,
    Tags,
    Text,
    ThinkingTokens,
    Tokens,
    Topic,
    TurnTokens,
    Weights,
    parse_json_text,
    take_one,
)
from server.debate.facts.beliefs import Denominator, RuleKind
from server.debate.facts.earlier import MemoryChoice
from server.debate.facts.setup.documents import PublicationDate, Reliability
from server.debate.facts.setup.limits import THINKING_TOKENS, Limits
from server.debate.facts.setup.options import (
    BallotMode,
    ChallengeMode,
    EffortLevel,
    StopMode,
    ThinkingMode,
)
from server.debate.facts.setup.phases import BlockUntil, DebaterTask, Order
from server.debate.facts.text import clean_line
from server.debate.seats.registry import SeatOptions

MAX_DOCUMENT_LENGTH = 2_000_000
DEFAULT_FORMAT, FORMAT_WITH_STANCES = "second_opinion", "advocates"
"""The formats of requests that name none: the second if debaters have stances."""

TITLE_LENGTH = 60  # for a document without a title


class DebaterInput(Input):
    name: Annotated[Name, Field(description="How others call it")]
    stance: Annotated[Stance, Field(description="What it defends")] = ""
    role: Annotated[Stance, Field(description="As whom it speaks")] = ""
    system_prompt: Annotated[Text, Field(description="What else it is told")] = ""
    replaces_task: ReplacesTask = False
    model: Annotated[ModelName, Field(description="Its own model")] = ""
    max_turn_tokens: Annotated[TurnTokens, Field(description="The most that a turn of it may have")] = 0
    turn_timeout: Annotated[Seconds, Field(description="Seconds for a turn of it")] = 0
    tools: SeatTools = []

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_text(cls, given: Any) -> Any:
        """Read a text: a name, with a stance after a colon; or an object as JSON text. A short role names it, too."""
        given = parse_json_text(given)
        if isinstance(given, dict) and given.get("name") in (None, ""):
            names = [given.get("role"), given.get("stance")]
            short = [name for name in names if isinstance(name, str) and 0 < len(name) <= MAX_NAME_LENGTH]
            return {**given, "name": short[0]} if short else given
        if not isinstance(given, str):
            return given
        name, _, stance = given.partition(":")
        return {"name": name.strip(), "stance": stance.strip()}


def take_stances(given: Any) -> Any:
    """Debaters from a mapping of names to stances."""
    if isinstance(given, dict) and not given.keys() & DebaterInput.model_fields.keys():
        return [{"name": name, "stance": stance} for name, stance in given.items()]
    return given


Debaters = Annotated[list[DebaterInput], pydantic.BeforeValidator(take_stances)]


class DocumentInput(Input):
    title: Annotated[Cleaned, Field(max_length=300, description="By default its first words")]
    text: Annotated[
        DocumentText,
        Field(max_length=MAX_DOCUMENT_LENGTH, description="What it says, whole; nothing is opened"),
    ]
    url: Annotated[Cleaned, Field(max_length=2000, description="Where it is from")] = ""
    published: Annotated[PublicationDate, Field(description="The day, such as 2026-05-31")] = ""
    reliability: Annotated[Reliability, Field(description="How far its source can be trusted")] = "unknown"

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_text(cls, given: Any) -> Any:
        """Read a text alone, too. A document without a title is named after its first words."""
        fields = {"text": given} if isinstance(given, str) else given
        if not isinstance(fields, dict) or not isinstance(text := fields.get("text"), str):
            return given
        return {**fields, "title": fields.get("title") or clean_line(text)[:TITLE_LENGTH]}


Documents = Annotated[list[DocumentInput], pydantic.BeforeValidator(take_one), Field(max_length=20)]


class JudgesInput(Input):
    count: Annotated[int, Field(ge=0, le=9, description="How many; 0: one a model, or 1")] = 0
    models: Annotated[ModelNames, Field(max_length=9, description="Their models")] = []
    both_orders: Annotated[bool, Field(description="One judge reads twice; several again where in doubt")] = (
        True
    )
    anonymize: Annotated[bool, Field(description="They read labels in place of names")] = True
    shuffle: Annotated[bool, Field(description="They read the sides in an order of chance")] = True
    prompt: Annotated[Text, Field(description="What else they are told, such as criteria")] = ""
    replaces_task: ReplacesTask = False
    quorum: Annotated[int, Field(ge=1, le=9, description="How many must answer, or it pauses")] = 1
    tools: SeatTools = []

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_count_or_models(cls, given: Any) -> Any:
        """Read a number of judges, a model, or several."""
        if (isinstance(given, str) and given.strip().isdecimal()) or type(given) is int:
            return {"count": given}
        return {"models": given} if isinstance(given, str | list) else given


class ModeratorInput(OfficerInput):
    opens: Annotated[bool | None, Field(description="Opens rounds, chooses speakers")] = None
    closes: Annotated[bool | None, Field(description="Sums up, may settle it")] = None


class PhaseInput(Input):
    """A known phase with changes, or a custom one with an instruction."""

    name: Annotated[Name, Field(description="Of a known phase, or an own one")]
    order: Annotated[Order | None, Field(description="Who speaks when")] = None
    repeats: Annotated[bool, Field(description="Fills the rounds that are left")] = False
    wants: Annotated[DebaterTask | None, Field(description="What each is asked for")] = None
    instruction: Annotated[Text, Field(description="What each is asked to do")] = ""
    messages: Annotated[bool, Field(description="Messages to others may come with turns")] = False
    repeat_from: Annotated[Name, Field(description="Again from this phase")] = ""
    until: Annotated[BlockUntil | None, Field(description="What ends the repetition")] = None
    limit: Annotated[int, Field(ge=2, le=20, description="Times in all; 0: 3")] = 0

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_name(cls, given: Any) -> Any:
        """Read a name alone as a phase without changes."""
        if isinstance(given, str):
            return {"name": given}
        if not isinstance(given, dict | PhaseInput):
            raise ValueError("must be the name of a phase, or an object such as {name, instruction}")  # noqa: TRY004  (pydantic expects it)
        return given


SeatNames = Annotated[
    list[Annotated[str, Field(max_length=60)]],
    pydantic.BeforeValidator(take_one),
    Field(max_length=50, description="Whose texts: kinds (debaters, judges …) or seats"),
]


class VisibilityInput(Input):
    hide_from_client: SeatNames = []
    hide_from_seats: SeatNames = []


class BudgetInput(Input):
    """What a debate may spend. Everything is unlimited unless set, and can be changed while it runs."""

    max_calls: Annotated[int, Field(ge=1, le=100_000, description="Calls of models")] = 0
    max_input_tokens: Annotated[Tokens, Field(description="The most tokens that models read")] = 0
    max_output_tokens: Annotated[Tokens, Field(description="The most tokens that models write")] = 0
    max_cost_usd: Annotated[
        float, Field(ge=1e-6, le=1_000_000, description="The most it may cost, in dollars")
    ] = 0
    max_seconds: Annotated[int, Field(ge=1, le=10**7, description="How long it may take")] = 0
    round_timeout: Annotated[Seconds, Field(description="Seconds for a round")] = 0
    on_budget: Annotated[
        Literal["conclude", "pause"], Field(description="What it does where a limit is reached")
    ] = "conclude"
    thinking_tokens: Annotated[ThinkingTokens, Field(description="Room for a model's thoughts in a call")] = 0


class LimitsInput(BudgetInput):
    turn_timeout: Annotated[Seconds, Field(description="Seconds for a turn")] = 300
    max_turn_tokens: Annotated[TurnTokens, Field(description="The most tokens of a turn")] = 0
    max_turn_words: Annotated[int, Field(ge=20, le=2000, description="Words that a turn is asked for")] = 180
    max_turns: Annotated[int, Field(ge=1, le=1000, description="The most turns in all")] = 0


class VotingInput(Input):
    """The rule by which votes make a consensus. A kind alone will do."""

    kind: Annotated[RuleKind | None, Field(description="Which votes win")] = None
    threshold: Annotated[
        FractionText, Field(max_length=20, description="The share, for supermajority, such as 2/3")
    ] = ""
    strict: Annotated[bool, Field(description="More than that share is needed")] = False
    of: Annotated[Denominator, Field(description="Of all seats, or of the votes cast")] = "seats"
    quorum: Annotated[
        FractionText, Field(max_length=20, description="The share that must vote, with of=cast")
    ] = ""
    weights: Annotated[Weights, Field(description="What each vote counts, such as 3/2")] = {}

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_kind(cls, given: Any) -> Any:
        """Read a kind alone, or a rule as JSON text, as typed in a terminal."""
        return {"kind": read} if isinstance(read := parse_json_text(given), str) else read


class TeamInput(Input):
    size: Annotated[int, Field(ge=0, le=26, description="How many; 0: one for each debater")] = 0
    candidates: Annotated[
        ModelNames,
        Field(max_length=200, description="Models to choose from. Empty: `models`"),
    ] = []
    topic: Annotated[Topic, Field(description="A tag of settled debates")] = ""
    diversity: Annotated[float, Field(ge=0, le=1, description="How much other families count")] = 1

    @pydantic.field_validator("size")
    @classmethod
    def check_size(cls, size: int) -> int:
        if size == 1:
            raise ValueError("must be 2 or more, or 0 for one for each debater")
        return size


class CommonOptions(Input):
    moderator: Annotated[ModeratorInput | None, Field(description="Leads the rounds: true, or its model")] = (
        None
    )
    judges: Annotated[JudgesInput | None, Field(description="How many judges, or their models")] = None
    team: Annotated[TeamInput | None, Field(description="Models chosen by what the ledger knows of them")] = (
        None
    )
    synthesizer: Annotated[
        bool | OfficerInput | None, Field(description="Writes one result from what was said")
    ] = None
    output_schema: SchemaDocument | None = None
    effort: Annotated[
        EffortLevel | None, Field(description="How much is asked; presets what is left out here")
    ] = None
    thinking: Annotated[ThinkingMode | None, Field(description="How long models think first")] = None
    ballots: Annotated[BallotMode | None, Field(description="When debaters vote in private")] = None
    skip_if_agreed: Annotated[bool, Field(description="No debate where blind ballots agree")] = False
    mirror: MirrorChoice = False
    stop: Annotated[StopMode | None, Field(description="End when private ballots no longer move")] = None
    challenges: Annotated[
        ChallengeMode, Field(description="What is done about agreement without reasons")
    ] = "report"
    baseline: Annotated[bool, Field(description="Compare it with a blind vote for as many tokens")] = False
    voting: Annotated[VotingInput | None, Field(description="By which votes it is a consensus")] = None
    speaking: Annotated[Order | None, Field(description="Who speaks when, in all phases")] = None
    phases: Annotated[
        list[PhaseInput], Field(max_length=12, description="Other phases than those of the format")
    ] = []
    cache: Annotated[
        Literal["off", "reuse"], Field(description="reuse: the same answers again, for development")
    ] = "off"
    memory: MemoryChoice = "off"
    quorum: Annotated[int, Field(ge=1, le=26, description="How many must answer, or it pauses")] = 2
    fallback_models: Annotated[ModelNames, Field(max_length=5, description="Asked where a model fails")] = []
    pause_when: Annotated[Breakpoints, Field(description=f"Where it waits for you: {BREAKPOINTS_HELP}")] = []
    # Created with each request: an instance created here would build its validator at import.
    limits: LimitsInput = Field(default_factory=LimitsInput, description="The most that it may spend")
    visibility: VisibilityInput = Field(default_factory=VisibilityInput, description="Who reads what")
    instructions: Annotated[Text, Field(description="What all are told, such as criteria")] = ""
    framing: Annotated[bool, Field(description="A model proposes positions where none are given")] = True
    my_answer: Annotated[
        Text,
        Field(
            description="The answer or plan that you are about to give, whole, to have it checked: the result says "
            "first whether it stands"
        ),
    ] = ""
    seed: Seed = 0
    tags: Tags = []


RECORDED_OPTIONS = {"cache", "instructions", "quorum", "skip_if_agreed"}
"""Options that a debate records as they are, in the field of `Opened` with the same name."""


class OptionsInput(SeatOptions, CommonOptions):
    """All options: those of the seats that read rounds stand behind the others."""


class DebateRequest(Input):
    """A debate as a caller asks for it; everything but the question can be left out."""

    question: Annotated[
        Cleaned,
        Field(description="What to answer, decide or review, in words that need no other context"),
    ]
    format: str = ""
    debaters: Annotated[
        Debaters,
        Field(description="Only to argue sides: names, with stances or roles. Without it, models answer"),
    ] = []
    documents: Annotated[
        Documents,
        Field(description="What they must read: the plan, code or sources as text. Paths are not opened"),
    ] = []
    models: Annotated[
        ModelNames, Field(max_length=26, description="Who answers; leave it out for those configured")
    ] = []
    max_rounds: Rounds = 0
    options: OptionsInput = Field(
        default_factory=OptionsInput, description='For few calls; read_debate(view="options") has all'
    )
    run: Annotated[
        bool, Field(description="true: to the answer in this call; else round by round with step_round")
    ] = False

    @property
    def chosen_format(self) -> str:
        """Its format; if it names none, the one for debaters with stances, or the default."""
        argues = any(debater.stance for debater in self.debaters) or not self.options.framing
        return self.format or (FORMAT_WITH_STANCES if argues else DEFAULT_FORMAT)


class ChangesInput(Input):
    """What a fork does differently from its parent; everything else is inherited."""

    models: Annotated[ModelChanges, Field(description="Other models for debaters")] = {}
    stances: Annotated[StanceChanges, Field(description="Other stances for debaters")] = {}
    judges: Annotated[JudgesInput | None, Field(description="Other judges: how many, or their models")] = None
    moderator: Annotated[ModelName, Field(description="Another model for the moderator")] = ""
    documents: Annotated[Documents, Field(description="Read in addition")] = []
    max_rounds: Rounds = 0
    instructions: Annotated[Text | None, Field(description="What all seats are told from here on")] = None
    pause_when: Annotated[
        Breakpoints | None, Field(description=f"Where it waits for you: {BREAKPOINTS_HELP}")
    ] = None
    seed: Seed = 0
    run: Annotated[bool, Field(description="true: to the verdict in this call")] = False


def build_limits(requested: LimitsInput) -> Limits:
    cost = f"{Decimal(str(requested.max_cost_usd)):f}" if requested.max_cost_usd else ""
    fields = requested.model_dump(include=set(Limits.model_fields)) | {"max_cost_usd": cost}
    return Limits(**fields | {"thinking_tokens": requested.thinking_tokens or THINKING_TOKENS})
