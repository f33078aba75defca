"""Requests for debates and forks: the arguments that tools, the terminal and scripts fill in."""

from decimal import Decimal
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from server.debate.commands.input_types import (
    BREAKPOINTS_HELP,
    Breakpoints,
    Cleaned,
    DocumentText,
    FractionText,
    MirrorChoice,
    ModelChanges,
    ModelName,
    ModelNames,
    Name,
    Rounds,
    SchemaDocument,
    Seconds,
    Seed,
    Stance,
    StanceChanges,
    Tags,
    Text,
    ThinkingTokens,
    Tokens,
    ToolNames,
    Topic,
    TurnTokens,
    Weights,
    parse_json_text,
    take_one,
)
from server.debate.commands.inputs import Input, OfficerInput
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
    name: Name
    stance: Annotated[Stance, Field(description="What it defends")] = ""
    role: Stance = ""
    system_prompt: Text = ""
    replaces_task: bool = False
    model: ModelName = ""
    max_turn_tokens: TurnTokens = 0
    turn_timeout: Seconds = 0
    tools: Annotated[ToolNames, Field(description="Research servers")] = []

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_text(cls, given: Any) -> Any:
        """Read a text: a name, with a stance after a colon; or an object as JSON text."""
        given = parse_json_text(given)
        if not isinstance(given, str):
            return given
        name, _, stance = given.partition(":")
        return {"name": name.strip(), "stance": stance.strip()}


class DocumentInput(Input):
    title: Annotated[Cleaned, Field(max_length=300)]
    text: Annotated[DocumentText, Field(max_length=MAX_DOCUMENT_LENGTH)]
    url: Annotated[Cleaned, Field(max_length=2000)] = ""
    published: Annotated[PublicationDate, Field(description="2026-05-31")] = ""
    reliability: Reliability = "unknown"

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_text(cls, given: Any) -> Any:
        """Read a text; it is named after its first words."""
        return {"title": clean_line(given)[:TITLE_LENGTH], "text": given} if isinstance(given, str) else given


Documents = Annotated[list[DocumentInput], pydantic.BeforeValidator(take_one), Field(max_length=20)]


class JudgesInput(Input):
    count: Annotated[int, Field(ge=0, le=9, description="0: one for each model, or 1")] = 0
    models: Annotated[ModelNames, Field(max_length=9)] = []
    both_orders: Annotated[bool, Field(description="Alone twice; several again if in doubt")] = True
    anonymize: bool = True
    shuffle: bool = True
    prompt: Text = ""
    replaces_task: bool = False
    quorum: Annotated[int, Field(ge=1, le=9, description="Or it pauses")] = 1
    tools: ToolNames = []

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

    name: Name
    order: Order | None = None
    repeats: Annotated[bool, Field(description="Fills rounds left")] = False
    wants: DebaterTask | None = None
    instruction: Text = ""
    messages: Annotated[bool, Field(description="May come with turns")] = False
    repeat_from: Annotated[Name, Field(description="Again from this phase")] = ""
    until: BlockUntil | None = None
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
    Field(max_length=50, description="Kinds (debaters, judges …) or seats"),
]


class VisibilityInput(Input):
    hide_from_client: SeatNames = []
    hide_from_seats: SeatNames = []


class BudgetInput(Input):
    """What a debate may spend. Everything is unlimited unless set, and can be changed while it runs."""

    max_calls: Annotated[int, Field(ge=1, le=100_000)] = 0
    max_input_tokens: Tokens = 0
    max_output_tokens: Tokens = 0
    max_cost_usd: Annotated[float, Field(ge=1e-6, le=1_000_000)] = 0
    max_seconds: Annotated[int, Field(ge=1, le=10**7)] = 0
    round_timeout: Annotated[Seconds, Field(description="Seconds")] = 0
    on_budget: Literal["conclude", "pause"] = "conclude"
    thinking_tokens: ThinkingTokens = 0


class LimitsInput(BudgetInput):
    turn_timeout: Annotated[Seconds, Field(description="Seconds")] = 300
    max_turn_tokens: TurnTokens = 0
    max_turn_words: Annotated[int, Field(ge=20, le=2000)] = 180
    max_turns: Annotated[int, Field(ge=1, le=1000)] = 0


class VotingInput(Input):
    """The rule by which votes make a consensus. A kind alone will do."""

    kind: RuleKind | None = None
    threshold: Annotated[FractionText, Field(max_length=20, description="For supermajority: 2/3")] = ""
    strict: bool = False
    of: Denominator = "seats"
    quorum: Annotated[FractionText, Field(max_length=20, description="For of=cast")] = ""
    weights: Weights = {}

    @pydantic.model_validator(mode="before")
    @classmethod
    def take_kind(cls, given: Any) -> Any:
        """Read a kind alone, or a rule as JSON text, as typed in a terminal."""
        return {"kind": read} if isinstance(read := parse_json_text(given), str) else read


class TeamInput(Input):
    size: Annotated[int, Field(ge=0, le=26, description="0: one for each debater")] = 0
    candidates: Annotated[ModelNames, Field(max_length=200, description="Empty: `models`")] = []
    topic: Annotated[Topic, Field(description="A tag of settled debates")] = ""
    diversity: Annotated[float, Field(ge=0, le=1)] = 1

    @pydantic.field_validator("size")
    @classmethod
    def check_size(cls, size: int) -> int:
        if size == 1:
            raise ValueError("must be 2 or more, or 0 for one for each debater")
        return size


class CommonOptions(Input):
    moderator: ModeratorInput | None = None
    judges: JudgesInput | None = None
    team: Annotated[TeamInput | None, Field(description="Chosen by the ledger")] = None
    synthesizer: Annotated[bool | OfficerInput | None, Field(description="Writes a result")] = None
    output_schema: SchemaDocument | None = None
    effort: Annotated[EffortLevel | None, Field(description="Presets what is left out here")] = None
    thinking: ThinkingMode | None = None
    ballots: BallotMode | None = None
    skip_if_agreed: bool = False
    mirror: MirrorChoice = False
    stop: StopMode | None = None
    challenges: Annotated[ChallengeMode, Field(description="To hollow agreement")] = "report"
    baseline: Annotated[bool, Field(description="Then a blind vote for as many tokens")] = False
    voting: Annotated[VotingInput | None, Field(description="By which votes are a consensus")] = None
    speaking: Order | None = None
    phases: Annotated[list[PhaseInput], Field(max_length=12, description="Own ones")] = []
    cache: Annotated[Literal["off", "reuse"], Field(description="reuse: same answers, for development")] = (
        "off"
    )
    memory: MemoryChoice = "off"
    quorum: Annotated[int, Field(ge=1, le=26, description="Or it pauses")] = 2
    fallback_models: Annotated[ModelNames, Field(max_length=5, description="On failure")] = []
    pause_when: Annotated[Breakpoints, Field(description=BREAKPOINTS_HELP)] = []
    # Created with each request: an instance created here would build its validator at import.
    limits: LimitsInput = Field(default_factory=LimitsInput)
    visibility: VisibilityInput = Field(default_factory=VisibilityInput)
    instructions: Annotated[Text, Field(description="For seats without a prompt")] = ""
    framing: bool = True
    my_answer: Annotated[Text, Field(description="What you were about to say, to be checked")] = ""
    seed: Seed = 0
    tags: Tags = []


RECORDED_OPTIONS = {"cache", "instructions", "quorum", "skip_if_agreed"}
"""Options that a debate records as they are, in the field of `Opened` with the same name."""


class OptionsInput(SeatOptions, CommonOptions):
    """All options: those of the seats that read rounds stand behind the others."""


class DebateRequest(Input):
    """A debate as a caller asks for it; everything but the question can be left out."""

    question: Cleaned
    format: str = ""
    debaters: Annotated[list[DebaterInput], Field(description="Empty: advisors")] = []
    documents: Annotated[Documents, Field(description="Quoted to all")] = []
    models: Annotated[
        ModelNames, Field(max_length=26, description="For seats in turn; empty: as configured")
    ] = []
    max_rounds: Rounds = 0
    options: OptionsInput = Field(default_factory=OptionsInput)
    run: Annotated[bool, Field(description="To the verdict")] = False

    @property
    def chosen_format(self) -> str:
        """Its format; if it names none, the one for debaters with stances, or the default."""
        argues = any(debater.stance for debater in self.debaters) or not self.options.framing
        return self.format or (FORMAT_WITH_STANCES if argues else DEFAULT_FORMAT)


class ChangesInput(Input):
    """What a fork does differently from its parent; everything else is inherited."""

    models: ModelChanges = {}
    stances: StanceChanges = {}
    judges: JudgesInput | None = None
    moderator: ModelName = ""
    documents: Annotated[Documents, Field(description="Added")] = []
    max_rounds: Rounds = 0
    instructions: Text | None = None
    pause_when: Breakpoints | None = None
    seed: Seed = 0
    run: Annotated[bool, Field(description="To the verdict")] = False


def build_limits(requested: LimitsInput) -> Limits:
    cost = f"{Decimal(str(requested.max_cost_usd)):f}" if requested.max_cost_usd else ""
    fields = requested.model_dump(include=set(Limits.model_fields)) | {"max_cost_usd": cost}
    return Limits(**fields | {"thinking_tokens": requested.thinking_tokens or THINKING_TOKENS})
