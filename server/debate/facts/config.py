"""What a debate is agreed to be: who sits at the table, in what phases they speak, what may be spent."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Participants = Literal["debaters", "judges", "synthesizer"]
DebaterTask = Literal["argument", "message", "ballot"]
Order = Literal["together", "declared", "moderated", "handoff"]
HandoffMode = Literal["structured", "tool", "text"]
Brief = Literal["advocate", "panel"]
SeatKind = Literal["debaters", "moderator", "referee", "judges", "synthesizer"]


class Fact(BaseModel):
    # defer_build: validators are built on first use, because building them all takes a tenth of the start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""What JSON can carry exactly (RFC 8785)."""


Dollars = Annotated[str, Field(pattern=r"^(\d+(\.\d+)?)?$")]
"""An exact decimal; "" where it is unknown, which is not the same as free."""


CALLER = "caller"
"""The model of a seat whose turns are written by whoever calls `submit_turn`."""

MODERATOR, REFEREE, SYNTHESIZER = "moderator", "referee", "synthesizer"
"""Seats that are no debater's, beside "judge 1" and so on."""


class Debater(Fact):
    name: str
    stance: str
    model: str
    role: str = ""
    system_prompt: str = ""
    max_turn_tokens: int = 0  # 0: the debate's
    turn_timeout: int = 0  # 0: the debate's
    tools: tuple[str, ...] = ()  # the research servers it may ask


class Document(Fact):
    title: str
    text: str
    url: str = ""


class JudgePanel(Fact):
    """The judges: one seat a model, each reading the debate once or in both orders."""

    models: tuple[str, ...]
    both_orders: bool = True
    anonymize: bool = True
    shuffle: bool = True
    prompt: str = ""
    quorum: Count = 1  # fewer judges than this with all their readings, and the debate pauses


class Moderator(Fact):
    """Who leads the talk: opens its rounds (and chooses the speakers), closes them, or both."""

    model: str
    opens: bool = False
    closes: bool = False
    prompt: str = ""
    tools: tuple[str, ...] = ()  # the research servers it may ask


class Officer(Fact):
    """A seat that is neither a debater's nor a judge's: the referee, the synthesizer."""

    model: str
    prompt: str = ""


class Phase(Fact):
    """A row of a format: who is asked for what, in what order, and whether it fills the rounds left."""

    name: str
    participants: Participants
    order: Order
    repeats: bool = False
    wants: DebaterTask = "argument"  # of debaters; judges are an audience where it is "ballot"
    instruction: str = ""  # what it is about, where the name alone does not say

    @property
    def is_talk(self) -> bool:
        return self.participants == "debaters" and self.wants != "ballot"

    @property
    def is_judgment(self) -> bool:
        return self.participants == "judges" and self.wants != "ballot"


class Limits(Fact):
    """What a debate may spend; 0 and "" for no limit."""

    max_calls: Count = 0  # requests to models, retries included
    max_input_tokens: Count = 0
    max_output_tokens: Count = 0
    max_cost_usd: Dollars = ""
    max_seconds: Count = 0  # since it was opened
    round_timeout: Count = 0  # seconds for a round; begun anew when a debate is taken up again
    on_budget: Literal["conclude", "pause"] = "conclude"

    @property
    def has_budget(self) -> bool:
        tokens = self.max_input_tokens or self.max_output_tokens
        return bool(self.max_calls or tokens or self.max_cost_usd or self.max_seconds)


class Price(Fact):
    """Of a token of a model, in dollars, as known when the debate was opened; "" where it is not."""

    model: str
    input: Dollars = ""
    output: Dollars = ""
