"""The parts of a setup: seats, phases, limits, prices, and what is known of the judges."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from server.debate.facts.errors import require

Participants = Literal["debaters", "judges", "synthesizer"]
DebaterTask = Literal["argument", "message", "ballot"]
Order = Literal["together", "declared", "moderated", "handoff"]
OnWindow = Literal["refuse", "warn"]
HandoffMode = Literal["structured", "tool", "text"]
Brief = Literal["advocate", "panel"]
BallotMode = Literal["none", "blind", "rounds"]
EffortLevel = Literal["quick", "standard", "assured"]
PresetOption = Literal["debaters", "ballots", "stop", "judges", "mirror", "baseline"]
StopMode = Literal["off", "report", "on"]
CacheMode = Literal["off", "reuse"]
MirrorMode = Literal["off", "on", "if_contested"]
ChallengeMode = Literal["off", "report", "challenge"]
ClaimMode = Literal["asked", "extracted"]
BlockUntil = Literal["consensus", "convergence", "moderator", "limit"]
SeatKind = Literal["debaters", "moderator", "referee", "observer", "analyst", "judges", "synthesizer"]
AnySeatKind = SeatKind | Literal["framer", "reader", "meter"]
"""Those that a debate may hide; and those before the first round, and the one without words, which cannot be hidden."""


class Fact(BaseModel):
    # defer_build: validators are built on first use, because building them all takes a tenth of the start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""A number that JSON represents exactly (RFC 8785)."""


ExactDecimal = Annotated[str, Field(pattern=r"^(\d+(\.\d+)?)?$")]
"""A decimal of any precision; "" where there is none."""

Dollars = ExactDecimal
"""An amount; "" where unknown, which is not zero."""


CALLER = "caller"
"""The model of a seat whose turns the caller submits with `submit_turn`."""

HUMAN = "human"
"""The model of a seat whose turns a person writes, in a form of the client's or as the caller's."""

WRITTEN = frozenset({CALLER, HUMAN})
"""The models of seats that nobody calls: their turns are submitted."""

CLIENT = "client"
"""The model of a seat that the client's own model answers, which is asked while the client waits for it."""

AWAITED = WRITTEN | {CLIENT}
"""The models of seats that a debate waits for: this server alone can ask none of them."""

EMBEDDED = "local"
"""The embedded model, which is too small for decisions."""

MAX_PROMPT_LENGTH = 8_000
"""Characters of a seat's prompt, and of any other text that a caller gives for prompts."""

MODERATOR, REFEREE, OBSERVER, ANALYST = "moderator", "referee", "observer", "analyst"
SYNTHESIZER, FRAMER, READER, METER = "synthesizer", "framer", "reader", "meter"
"""Seats besides those of debaters and judges ("judge 1", …)."""

JUDGE_PREFIX = "judge "


def seat_kind(seat: str) -> AnySeatKind:
    officers: dict[str, AnySeatKind] = {
        FRAMER: "framer",
        READER: "reader",
        METER: "meter",
        MODERATOR: "moderator",
        REFEREE: "referee",
        OBSERVER: "observer",
        ANALYST: "analyst",
        SYNTHESIZER: "synthesizer",
    }
    return officers.get(seat, "judges" if seat.startswith(JUDGE_PREFIX) else "debaters")


class Debater(Fact):
    name: str
    stance: str
    model: str
    role: str = ""
    system_prompt: str = ""
    replaces_task: bool = False  # the prompt stands in place of the usual steps of the task
    max_turn_tokens: int = 0  # 0: the debate's
    turn_timeout: int = 0  # 0: the debate's
    tools: tuple[str, ...] = ()  # research servers it may use


class Framer(Fact):
    """The seat that proposes positions where nobody named debaters, and the models of who will stand for them."""

    model: str
    models: tuple[str, ...]  # given to the debaters in turn


class Framing(Fact):
    """How the positions came about for which nobody named debaters."""

    question_kind: Literal["yes_no", "open", ""] = ""  # "" where they are those of the format
    assumption: str = ""  # what is taken for given where the question leaves it open
    problem: str = ""  # why they are those of the format


def check_date(text: str) -> str:
    if not re.fullmatch(r"(\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?)?", text):
        raise ValueError(f"a date is 2026, 2026-05 or 2026-05-31, not {text[:40]!r}")
    return text


Reliability = Literal["high", "medium", "low", "unknown"]
PublicationDate = Annotated[str, AfterValidator(check_date)]
"""A day, a month or a year in ISO 8601; "" where unknown."""


class Document(Fact):
    title: str
    text: str
    url: str = ""
    published: PublicationDate = ""
    reliability: Reliability = "unknown"  # of where it comes from, as the caller declares it
    after_round: Count = 0  # the last round of the parent, where a fork added it


class Section(Fact):
    """A part of a document, in characters."""

    document: Annotated[int, Field(ge=1)]  # its place among the documents of the set-up
    start: Count
    end: Count


class Reader(Fact):
    """The seat that reads documents too long for the windows of the others, and digests them by sections."""

    model: str
    sections: tuple[Section, ...]  # each document that is digested as a whole, in order
    words: Annotated[int, Field(ge=1)]  # of the digest of a section, at most
    passage_characters: Count  # that all passages together may have

    def has_digest(self, document: int) -> bool:
        return any(section.document == document for section in self.sections)


class JudgePanel(Fact):
    """The judges: one seat for each model. Each reads the debate once or in both orders."""

    models: tuple[str, ...]
    both_orders: bool = True
    anonymize: bool = True
    shuffle: bool = True
    prompt: str = ""
    replaces_task: bool = False
    quorum: Count = 1  # with fewer complete judges, the debate pauses
    reserve: tuple[str, ...] = ()  # asked too, where the judges leave the question open
    tools: tuple[str, ...] = ()  # research servers that each of them may use


class Moderator(Fact):
    """The moderator opens rounds (and chooses the speakers), closes them, or both."""

    model: str
    opens: bool = False
    closes: bool = False
    prompt: str = ""
    replaces_task: bool = False
    tools: tuple[str, ...] = ()  # research servers it may use


class Officer(Fact):
    """The referee, the analyst or the synthesizer."""

    model: str
    prompt: str = ""
    replaces_task: bool = False
    tools: tuple[str, ...] = ()  # research servers it may use


class Observer(Officer):
    """The seat that marks rhetoric. Judges read what it alleges only where that was asked for."""

    shown: bool = False


class Meter(Fact):
    """The model that embeds positions of voters, so that it can be told whether they are alike."""

    model: str


class Challenges(Fact):
    """What follows from signs of hollow agreement."""

    mode: ChallengeMode = "report"
    most: Count = 2  # challenges in the debate
    cooldown: Count = 1  # rounds from a challenge to the round after which the next one may be made
    most_rounds: Count = 0  # of talk, with those that a challenge adds


class SeatPrompt(Fact):
    """What a function of the caller's code wrote for a seat."""

    seat: str
    text: Annotated[str, Field(max_length=MAX_PROMPT_LENGTH)]


class Block(Fact):
    """Phases that are held again together. It is a part of the last of them."""

    first: str  # the phase that it begins with
    until: BlockUntil
    limit: Annotated[int, Field(ge=1, le=20)]  # how often it is held at most


class Phase(Fact):
    """A phase of a debate: who answers what, in what order, and whether it takes all remaining rounds."""

    name: str
    participants: Participants
    order: Order
    repeats: bool = False
    wants: DebaterTask = "argument"  # of debaters; judges are an audience where it is "ballot"
    instruction: str = ""  # for custom phases: what the seats do in it
    block: Block | None = None  # the block that ends with it
    messages: bool = False  # with a turn, a debater may send a message to another, who answers it
    closes_talk: bool = False  # held after the last round of talk, unless that one was written together
    is_private: bool = False  # its ballots decide nothing: they are compared with those before the talk
    is_baseline: bool = False  # its ballots decide nothing: they are a vote for the price of the debate

    @property
    def is_talk(self) -> bool:
        return self.participants == "debaters" and self.wants != "ballot"

    @property
    def is_vote(self) -> bool:
        """Whether its ballots are votes, and are counted."""
        return self.wants == "ballot" and not (self.is_private or self.is_baseline)

    @property
    def is_written_together(self) -> bool:
        """Whether debaters argue without seeing each other's turns."""
        return self.is_talk and self.order == "together" and self.wants == "argument"

    @property
    def is_judgment(self) -> bool:
        return self.participants == "judges" and self.wants != "ballot"


def find_block(phases: Sequence[Phase], phase: Phase) -> tuple[Phase, ...]:
    """The phases that are repeated together with this one; () where it is in no block."""
    names = [each.name for each in phases]
    here = names.index(phase.name)
    for end, last in enumerate(phases):
        if last.block and (start := names.index(last.block.first)) <= here <= end:
            return tuple(phases[start : end + 1])
    return ()


def count_passes(phases: Sequence[Phase], phase: Phase) -> int:
    """How often a phase is held at most because of its block."""
    block = find_block(phases, phase)
    return block[-1].block.limit if block and block[-1].block else 1


class Limits(Fact):
    """The limits of a debate; 0 and "" for none."""

    max_calls: Count = 0  # requests to models, retries included
    max_input_tokens: Count = 0
    max_output_tokens: Count = 0
    max_cost_usd: Dollars = ""
    max_seconds: Count = 0  # since the debate was opened
    round_timeout: Count = 0  # seconds for a round; starts again when the debate is resumed
    on_budget: Literal["conclude", "pause"] = "conclude"

    @property
    def has_budget(self) -> bool:
        tokens = self.max_input_tokens or self.max_output_tokens
        return bool(self.max_calls or tokens or self.max_cost_usd or self.max_seconds)


BreakpointCondition = Literal["verdict", "failure", "contested", "unheard", "round", "budget"]


BREAKPOINT_FORMS = "verdict, failure, contested, unheard, round:N (1 or more), budget:S (a share such as 0.8)"


class Breakpoint(Fact):
    """What pauses a debate before it goes on."""

    condition: BreakpointCondition
    round: Count = 0  # the round that is about to begin, for "round"
    share: ExactDecimal = ""  # of a limit, for "budget"

    @classmethod
    def parse(cls, text: str) -> "Breakpoint":
        """A breakpoint as callers write it: "verdict", "round:2", "budget:0.8". Raises ValueError."""
        condition, _, detail = text.strip().partition(":")
        if text.strip() in ("verdict", "failure", "contested", "unheard"):
            return cls.model_validate({"condition": condition})
        if condition == "round" and re.fullmatch("0*[1-9][0-9]{0,8}", detail):
            return cls(condition="round", round=int(detail))
        if (
            condition == "budget"
            and re.fullmatch(r"[01](\.[0-9]{1,9})?", detail)
            and 0 < Decimal(detail) <= 1
        ):
            return cls(condition="budget", share=detail)
        raise ValueError(f"{text[:40]!r} is no breakpoint: {BREAKPOINT_FORMS}")

    def __str__(self) -> str:
        """As callers write it: "verdict", "round:2", "budget:0.8"."""
        return ":".join(filter(None, (self.condition, str(self.round or "") or self.share)))


class Price(Fact):
    """USD for a token of a model, as known when the debate was opened; "" where unknown."""

    model: str
    input: Dollars = ""
    output: Dollars = ""


class Effort(Fact):
    """How much is asked of a debate, by a preset over the options that nobody gave."""

    level: EffortLevel
    open: tuple[PresetOption, ...] = ()  # the options that were left to the preset
    instead_of: EffortLevel | Literal[""] = ""  # the level that the limits do not pay for
    models: tuple[Price, ...] = ()  # those that seats are drawn from, with their prices


class Window(Fact):
    """How many tokens a model can read and write together, as known when the debate was opened."""

    model: str
    tokens: Count


SignedDecimal = Annotated[str, Field(pattern=r"^-?\d{1,6}(\.\d{1,6})?$")]


class Standing(Fact):
    """The record of a model as a judge, and the weight of its votes that follows from it."""

    judge: str  # the model
    asked: Count  # items, in both orders
    consistent: Count  # with the same side in both
    right: Count
    wrong: Count
    weight: Annotated[str, Field(pattern=r"^\d{1,4}/100$")]
    is_proven: bool = False


class LedgerExtract(Fact):
    """What a debate uses of the ledger of judges, recorded at the start, so that a replay needs no ledger.

    The standings are of the models that may judge.
    """

    position: Count  # of the last change of the ledger
    standings: tuple[Standing, ...] = ()  # of models with a record
    calibrated_items: Count = 0  # settled items that the calibration was learnt on; 0 where there are too few
    scale: SignedDecimal = "1"
    intercept: SignedDecimal = "0"

    def find_weight(self, model: str) -> Fraction | None:
        """The weight of a model's votes; None where it has no record."""
        return next((Fraction(one.weight) for one in self.standings if one.judge == model), None)

    def is_proven(self, model: str) -> bool:
        return any(one.judge == model and one.is_proven for one in self.standings)


def check_prices_known(limits: Limits, models: Iterable[str], prices: Iterable[Price]) -> None:
    """A cost limit needs the price of every model: an unknown price is not zero.

    Raises:
        InvalidRequestError: a price is unknown, and the cost is limited.
    """
    known = {price.model for price in prices if price.input}
    unknown = [model for model in dict.fromkeys(models) if model not in known]
    require(
        not (limits.max_cost_usd and unknown),
        f"max_cost_usd cannot be held: the price of {', '.join(unknown)} is unknown, and unknown is not "
        "free. Give it in the setting `prices`, choose another model, or limit calls and tokens instead.",
    )
