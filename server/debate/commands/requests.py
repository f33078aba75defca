"""A debate as a caller asks for it: what the tool, the command line and scripts fill in."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.debate.facts.config import DebaterTask, HandoffMode, Limits, Order, SeatKind

MAX_TEXT_LENGTH = 8_000
MAX_DOCUMENT_LENGTH = 200_000

Name = Annotated[str, Field(max_length=40)]
Text = Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]
Stance = Annotated[str, Field(max_length=500)]
ModelName = Annotated[str, Field(max_length=200)]
ToolNames = Annotated[list[Annotated[str, Field(max_length=120)]], Field(max_length=20)]
TurnTokens = Annotated[int, Field(ge=16, le=32_000)]
Seconds = Annotated[int, Field(ge=1, le=3600)]


class Input(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DebaterInput(Input):
    name: Name
    stance: Annotated[str, Field(max_length=500, description="The position it defends")] = ""
    role: Annotated[str, Field(max_length=500)] = ""
    system_prompt: Text = ""
    model: ModelName = ""
    max_turn_tokens: TurnTokens = 0
    turn_timeout: Seconds = 0
    tools: ToolNames = []


class DocumentInput(Input):
    title: Annotated[str, Field(max_length=300)]
    text: Annotated[str, Field(max_length=MAX_DOCUMENT_LENGTH)]
    url: Annotated[str, Field(max_length=2000)] = ""


class JudgesInput(Input):
    count: Annotated[int, Field(ge=0, le=9)] = 0  # 0: one per model given, or 1
    models: Annotated[list[ModelName], Field(max_length=9)] = []
    both_orders: bool | None = None  # None: the format's
    anonymize: bool = True
    shuffle: bool = True
    prompt: Text = ""
    quorum: Annotated[int, Field(ge=1, le=9)] = 1


class OfficerInput(Input):
    """A seat that is neither a debater's nor a judge's: the referee, the synthesizer."""

    model: ModelName = ""
    prompt: Text = ""


class ModeratorInput(OfficerInput):
    opens: bool | None = None
    closes: bool | None = None
    tools: ToolNames = []


class PhaseInput(Input):
    """A phase of the known ones, altered, or one of the caller's own with an instruction."""

    name: Name
    order: Order | None = None
    repeats: bool = False
    wants: DebaterTask | None = None
    instruction: Text = ""


class VisibilityInput(Input):
    hide_from_client: list[SeatKind] = []
    hide_from_seats: list[SeatKind] = []


class LimitsInput(Input):
    turn_timeout: Annotated[Seconds, Field(description="s")] = 120
    round_timeout: Seconds = 0
    max_turn_tokens: TurnTokens = 0
    max_turns: Annotated[int, Field(ge=1, le=1000)] = 0
    max_calls: Annotated[int, Field(ge=1, le=100_000)] = 0
    max_input_tokens: Annotated[int, Field(ge=1, le=10**12)] = 0
    max_output_tokens: Annotated[int, Field(ge=1, le=10**12)] = 0
    max_cost_usd: Annotated[float, Field(gt=0, le=1_000_000)] = 0
    max_seconds: Annotated[int, Field(ge=1, le=10**7)] = 0
    on_budget: Literal["conclude", "pause"] = "conclude"


class OptionsInput(Input):
    moderator: ModeratorInput | None = None
    judges: JudgesInput | None = None
    referee: bool | OfficerInput = False
    synthesizer: bool | OfficerInput | None = None
    output_schema: Annotated[dict[str, Any] | None, Field(description="JSON Schema")] = None
    speaking: Order | None = None
    handoff: HandoffMode = "structured"
    phases: Annotated[list[PhaseInput | Name], Field(max_length=12, description="or names")] = []
    quorum: Annotated[int, Field(ge=1, le=26)] = 2
    fallback_models: Annotated[list[ModelName], Field(max_length=5)] = []
    limits: LimitsInput = LimitsInput()
    visibility: VisibilityInput = VisibilityInput()
    instructions: Annotated[
        str, Field(max_length=MAX_TEXT_LENGTH, description="for seats without prompt")
    ] = ""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    tags: Annotated[list[Annotated[str, Field(max_length=60)]], Field(max_length=20)] = []


class DebateRequest(Input):
    """A debate as a caller asks for it; everything but the question can be left out."""

    question: str
    format: str = "second_opinion"
    debaters: list[DebaterInput] = []
    documents: list[DocumentInput] = []
    models: list[ModelName] = []
    max_rounds: int = 0
    options: OptionsInput = OptionsInput()
    run: bool = False


class ChangesInput(Input):
    """What a fork does otherwise than the debate it is made of; everything else stays."""

    models: Annotated[dict[Name, ModelName], Field(max_length=26, description="{debater: model}")] = {}
    stances: Annotated[dict[Name, Stance], Field(max_length=26, description="{debater: stance}")] = {}
    judges: Annotated[JudgesInput | None, Field(description="as options.judges")] = None
    moderator: Annotated[ModelName, Field(description="its model")] = ""
    documents: Annotated[list[DocumentInput], Field(max_length=20, description="added")] = []
    max_rounds: Annotated[int, Field(ge=0)] = 0
    instructions: Text | None = None
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    run: bool = False


def build_limits(requested: LimitsInput) -> Limits:
    return Limits(
        max_calls=requested.max_calls,
        max_input_tokens=requested.max_input_tokens,
        max_output_tokens=requested.max_output_tokens,
        max_cost_usd=f"{Decimal(str(requested.max_cost_usd)):f}" if requested.max_cost_usd else "",
        max_seconds=requested.max_seconds,
        round_timeout=requested.round_timeout,
        on_budget=requested.on_budget,
    )
