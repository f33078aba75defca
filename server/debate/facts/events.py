"""Everything that can happen in a debate. A debate is the list of these, and nothing else.

Events only grow: a new field has a default, so that every journal ever written can be replayed
(`tests/golden`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, TypeAdapter

from server.debate.facts.config import (
    MODERATOR,
    REFEREE,
    SYNTHESIZER,
    Brief,
    Count,
    Debater,
    Document,
    Dollars,
    Fact,
    HandoffMode,
    JudgePanel,
    Limits,
    Moderator,
    Officer,
    Phase,
    Price,
    SeatKind,
)
from server.debate.facts.text import clean, collapse_whitespace

Task = Literal[
    "argument", "message", "answer", "ballot", "judgment", "opening", "closing", "audit", "deliverable"
]
"""What a seat can be asked for: `opening` and `closing` of a round are the moderator's."""

Action = Literal[
    "inject", "challenge", "conclude", "extend", "weights", "threshold", "replace_model", "retract"
]
Act = Literal["argument", "question", "proposal", "critique", "answer"]
Ending = Literal["concluded", "truncated"]
Outcome = Literal["decided", "leaning", "contested", "undecided"]
Cause = Literal[
    "timeout",  # no answer in time
    "late",  # the time of the round, or of the debate, was over first
    "rate_limited",  # the provider wants fewer requests
    "unavailable",  # the provider is down, or cannot be reached
    "unauthorized",  # the key is missing or wrong
    "bad_request",  # the provider refuses the request: unknown model, context too long
    "refused",  # a content filter
    "empty",  # nothing was said
    "unreadable",  # something was said, but not what was asked for
    "crashed",  # the model's own code raised
]


class Usage(Fact):
    """What one answer took. Tokens as the provider counts them; 0 where it does not say."""

    model: Annotated[
        str, AfterValidator(lambda name: collapse_whitespace(clean(name))[:200])
    ]  # that really answered
    input_tokens: Count = 0
    cached_tokens: Count = 0  # the part of input_tokens that the provider had in its cache
    output_tokens: Count = 0
    cost_usd: Dollars = ""
    milliseconds: Count = 0
    attempts: Count = 1


class Opened(Fact):
    """The whole set-up, format included: a later release cannot change what was agreed."""

    kind: Literal["opened"] = "opened"
    question: str
    format: str
    phases: tuple[Phase, ...]
    debaters: tuple[Debater, ...]
    judges: JudgePanel
    max_rounds: int
    seed: int
    documents: tuple[Document, ...] = ()
    instructions: str = ""
    quorum: int = 2  # fewer voices than this in a round of talk, and the debate pauses
    turn_timeout: int = 120  # seconds for one answer, retries included
    max_turn_tokens: int = 2000  # a ceiling, with room for models that think first
    run: bool = False  # the server runs it to the verdict by itself
    tags: tuple[str, ...] = ()
    brief: Brief = "advocate"  # advocates never concede in public; a panel's members may change their mind
    moderator: Moderator | None = None
    referee: Officer | None = None
    synthesizer: Officer | None = None
    output_schema: str = ""  # of the synthesizer's result: a JSON Schema, as JSON
    handoff: HandoffMode = "structured"  # how the choice of the next speaker is read
    max_turns: int = 0  # of the whole talk; 0 for as many as its rounds have
    fallback_models: tuple[str, ...] = ()  # asked in turn where a seat's own model fails
    limits: Limits = Limits()
    prices: tuple[
        Price, ...
    ] = ()  # of every model that may be asked, where a limit or an estimate needs them
    hidden_from_client: tuple[SeatKind, ...] = ()
    hidden_from_seats: tuple[SeatKind, ...] = ()
    forked_from: str = ""  # the debate whose first rounds this one begins with
    forked_at_round: Count = 0  # how many rounds these are
    forked_hash: str = ""  # of the last of its entries that were taken over
    forked_restanced: tuple[str, ...] = ()  # who defended something else in those rounds


class PhaseEntered(Fact):
    """A round begins. `order` is the one in which its turns are read, drawn from the seed if so agreed."""

    kind: Literal["phase_entered"] = "phase_entered"
    phase: str
    round: int
    order: tuple[str, ...]
    because: str = ""


class Spoke(Fact):
    kind: Literal["spoke"] = "spoke"
    seat: str
    round: int
    text: str
    usage: Usage
    cut: bool = False  # the reply was longer than a turn may be, and was shortened
    slot_index: int = 0  # which of the seat's answers in this round it is
    act: Act = "argument"
    to: str = ""  # whom a message is for; whose message an answer answers
    hands_to: str = ""  # who is to speak next, where speakers choose that
    no_handoff: str = ""  # why the choice could not be used


class Failed(Fact):
    """A question that got no usable answer. Counted, shown, and never taken for a vote."""

    kind: Literal["failed"] = "failed"
    seat: str
    round: int
    cause: Cause
    detail: str
    slot_index: int = 0
    usage: Usage | None = None  # what the useless answer cost, where there was one
    attempts: int = 1  # how often it was tried before it was given up
    handoff: bool = False  # the turn was good; only its choice of the next speaker was not
    model: str = ""  # that was asked


class Lookup(Fact):
    """One call of a research tool, and what came of it."""

    tool: str  # server/tool
    arguments: str  # JSON, as the model wrote it
    result: str = ""
    failed: str = ""  # why there is no result
    cut: bool = False  # the result was longer than is kept
    milliseconds: Count = 0


class Researched(Fact):
    """A seat looked something up before it answers; its question stays open."""

    kind: Literal["researched"] = "researched"
    seat: str
    round: int
    lookups: tuple[Lookup, ...]
    usage: Usage | None = None  # None where a server could not be reached, and no model was asked
    slot_index: int = 0


class RoundOpened(Fact):
    """The moderator's choice of who speaks in this round, in what order, and on what."""

    kind: Literal["round_opened"] = "round_opened"
    round: int
    next_speakers: tuple[str, ...]
    briefing: str = ""
    new_angle: str = ""
    done: bool = False  # this round is the last
    usage: Usage | None = None  # None where the moderator gave no usable answer
    because: str = ""  # why it is not the moderator's own choice
    seat: str = MODERATOR


class RoundClosed(Fact):
    """The moderator's summary of a round, and whether the question is settled."""

    kind: Literal["round_closed"] = "round_closed"
    round: int
    summary: str
    settled: bool
    usage: Usage
    decision: str = ""
    informative: bool = True  # False: the model is too small for its decision to mean anything
    seat: str = MODERATOR


class Audited(Fact):
    """What the referee says about the arguments of a round. It steers nothing."""

    kind: Literal["audited"] = "audited"
    round: int
    text: str
    usage: Usage
    cut: bool = False
    seat: str = REFEREE


class HandedOff(Fact):
    """Who speaks next, and why: chosen by the speaker, or drawn where that choice could not be used."""

    kind: Literal["handed_off"] = "handed_off"
    seat: str
    round: int
    to: str
    because: Literal["chosen", "drawn"]


class Balloted(Fact):
    """A debater's private vote on the positions."""

    kind: Literal["balloted"] = "balloted"
    seat: str
    round: int
    choice: str  # a debater's name; "" abstains
    reasoning: str
    usage: Usage
    informative: bool = True


class Judged(Fact):
    """One judge's reading of the debate: 1 in the order of the record, 2 with every round reversed."""

    kind: Literal["judged"] = "judged"
    seat: str
    round: int
    slot_index: int
    winner: str  # a debater's name; "" for a synthesis
    margin: int  # 0 (none) to 3 (clear)
    verdict: str
    reasoning: str
    usage: Usage
    informative: bool = True  # False: the model is too small for its judgment to mean anything


class Vote(Fact):
    """What a judge's readings come to."""

    judge: str
    winner: str  # a debater's name; "" for a synthesis
    margin: int
    abstains: str = ""  # why it does not count; "" when it does
    weight: str = "1"  # an exact fraction


class Concluded(Fact):
    kind: Literal["concluded"] = "concluded"
    outcome: Outcome
    winner: str  # a debater's name; "" where nobody won
    verdict: str
    reasoning: str
    votes: tuple[Vote, ...]


class Synthesized(Fact):
    """The result in the shape that was asked for."""

    kind: Literal["synthesized"] = "synthesized"
    round: int
    text: str  # prose; JSON that satisfies the schema where there is one
    usage: Usage
    cut: bool = False
    informative: bool = True
    seat: str = SYNTHESIZER


class Weight(Fact):
    """How much a voter's vote counts: an exact fraction, such as "3/2"."""

    seat: str
    weight: str


class Intervened(Fact):
    kind: Literal["intervened"] = "intervened"
    action: Action
    text: str = ""
    round: int = 0  # the round it was made in; 0 before the first
    to: str = ""  # a debater's name, "" for everybody; the seat whose model or turn it is about
    reason: str = ""
    rounds: int = 0  # extend: how many more
    model: str = ""  # replace_model
    price: Price | None = None  # of that model
    weights: tuple[Weight, ...] = ()  # those that change
    threshold: str = ""  # of the votes' weight, a fraction such as "2/3"
    retracted: tuple[int, int] = (0, 0)  # (round, which of the seat's turns in it)
    limits: Limits | None = None  # extend: those in force from now on


Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$")]
"""A time as it is written here: UTC, ISO 8601, so that times can be compared as text."""


class Paused(Fact):
    kind: Literal["paused"] = "paused"
    reason: str
    until: Moment | Literal[""] = ""  # when it goes on by itself; "" where somebody has to resume it


class Resumed(Fact):
    kind: Literal["resumed"] = "resumed"
    reason: str = ""


class Ended(Fact):
    kind: Literal["ended"] = "ended"
    ending: Ending
    reason: str


Event = Annotated[
    Opened
    | PhaseEntered
    | RoundOpened
    | Spoke
    | HandedOff
    | Researched
    | Failed
    | Audited
    | RoundClosed
    | Balloted
    | Judged
    | Concluded
    | Synthesized
    | Intervened
    | Paused
    | Resumed
    | Ended,
    Field(discriminator="kind"),
]
_event: TypeAdapter[Event] = TypeAdapter(Event)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as the journal has it."""

    seq: int
    at: str  # UTC, ISO 8601
    actor: str
    hash: str
    event: Event


def load(body: Mapping[str, Any]) -> Event:
    """Read one event back from a journal.

    Raises:
        pydantic.ValidationError: no event of this release looks like that.
    """
    return _event.validate_python(body)
