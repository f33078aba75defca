"""The facts of a debate. A debate is the list of these, and nothing else.

Each kind of event means one thing and has only the fields of that thing.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from server.debate.facts.advice import AdviceEvent, Percent
from server.debate.facts.answers import (
    MESSAGE_SLOT,
    Answer,
    Contest,
    DefaultPlanUsed,
    Digested,
    DirectMessage,
    HandedOff,
    HandoffFailed,
    Measured,
    MessageAct,
    PassageRead,
    PredicateLost,
    PromptFunctionsLost,
    PromptsComputed,
    Reading,
    Researched,
    SlotFact,
    Usage,
)
from server.debate.facts.beliefs import (
    Agreed,
    Alerted,
    Belief,
    Citation,
    Converged,
    Criterion,
    Shares,
    Vote,
    Wave,
    find_choice,
)
from server.debate.facts.causes import EndCause, FailureCause, PauseCause, format_end_cause
from server.debate.facts.earlier import EarlierWithdrawn, Moment
from server.debate.facts.escalation import EscalationEvent
from server.debate.facts.fact import Count, Fact
from server.debate.facts.interventions import InterventionFact
from server.debate.facts.setup.limits import Breakpoint
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.phases import AdviceTask
from server.debate.facts.setup.seats import FRAMER, MODERATOR, SYNTHESIZER, Debater

OfficerTask = Literal["blind_answer", "framing", "digest", "opening", "closing", "comparison", "deliverable"]
ReaderTask = Literal["reading", "measurement"]
SpeakerTask = Literal["argument", "message", "answer", "ballot", "judgment"]
Task = OfficerTask | ReaderTask | AdviceTask | SpeakerTask
"""What a seat is asked for. `opening` and `closing` of a round are the moderator's, a `reading` that of a seat of
`debate.seats`."""

Act = MessageAct | Literal["argument", "answer"]
Outcome = Literal["decided", "leaning", "contested", "synthesis", "undecided"]


class PhaseEntered(Fact):
    """A round begins. Its turns are read in `order`, which may be drawn from the seed."""

    kind: Literal["phase_entered"] = "phase_entered"
    phase: str
    round: int
    order: tuple[str, ...]
    because: EndCause | Literal[""] = ""  # why the talk ended, in the rounds after it
    detail: str = ""


class BlockEnded(Fact):
    """A block of phases is not held again. `block`: its first phase; `passes`: how often it was held, even in part."""

    kind: Literal["block_ended"] = "block_ended"
    block: str
    round: int
    passes: int
    cause: EndCause


class AnsweredBlind(Answer):
    """What a model answered to the question before positions were made of such answers, without seeing another one."""

    kind: Literal["answered_blind"] = "answered_blind"
    seat: str = FRAMER
    text: str
    cut: bool = False  # the reply was longer than it may be, and was shortened


class PositionsFramed(Answer):
    """What the debate is about: the kind of question, and who stands for which answer to it."""

    kind: Literal["positions_framed"] = "positions_framed"
    seat: str = FRAMER
    question_kind: Literal["yes_no", "open"]
    debaters: tuple[Debater, ...]
    labels: tuple[str, ...]
    assumption: str = ""  # what is taken for given where the question leaves it open


NO_POSITION = "none"
"""What a debater says it holds where that is none of the positions. No debater is called so."""


class Spoke(Answer):
    """One contribution of a debater: an argument, a message, or the answer to a message."""

    kind: Literal["spoke"] = "spoke"
    text: str
    cut: bool = False  # the reply was longer than a turn may be, and was shortened
    act: Act = "argument"
    to: str = ""  # the addressee of a message or of its answer
    holds: str = ""  # whose position it says it holds, in a panel; `NO_POSITION`; "" where it does not say
    hands_to: str = ""  # the next speaker, where speakers choose
    no_handoff: str = ""  # why the choice is not usable
    message: DirectMessage | None = None  # sent with it, where the phase allows that
    contests: tuple[Contest, ...] = ()  # what it says against what was read in its turns

    def find_message(self) -> "Spoke":
        """The message that came with it, as what its debater says."""
        changes = {**dict(self.message or ()), "slot_index": MESSAGE_SLOT, "message": None, "contests": ()}
        return self.model_copy(update=changes)


class RoundOpened(Answer):
    """The moderator's choice of who speaks in this round, in what order, and on what."""

    kind: Literal["round_opened"] = "round_opened"
    seat: str = MODERATOR
    next_speakers: tuple[str, ...]
    briefing: str = ""
    new_angle: str = ""
    done: bool = False  # this round is the last


class RoundClosed(Answer):
    """The moderator's summary of a round, and whether the question is settled."""

    kind: Literal["round_closed"] = "round_closed"
    seat: str = MODERATOR
    slot_index: Count = 1
    summary: str
    settled: bool
    decision: str = ""
    unargued: tuple[str, ...] = ()  # debaters who did not argue for their position so far
    informative: bool = True  # False: the model is too small for its decision to mean anything


class Balloted(Answer):
    """What a debater, or a judge of the audience, holds of the positions in private. The choice follows from it."""

    kind: Literal["balloted"] = "balloted"
    wave: Wave = "vote"
    beliefs: Shares  # one for each position, and for none of them; together exactly one
    position: str = ""  # in a sentence
    moved_by: Citation | None = None  # what moved it most; None for nothing, or before the talk
    would_check: str = ""  # the one fact that it would check
    new_point: str = ""  # after a round: what was said in it that had not been said before; "" for nothing
    open_point: str = ""  # after a round: what nobody answered yet and the outcome depends on; "" for nothing
    unargued: tuple[str, ...] = ()  # debaters who did not argue for their position, if voters alone decide
    informative: bool = True  # False: the model is too small for its beliefs to mean anything

    @property
    def choice(self) -> str:
        """A debater's name; "" where it abstains."""
        return find_choice(self.beliefs)


JUDGE_ADVICE = ("recommendation", "corrected", "missed", "would_change", "next")
"""The texts of a judge that say what to do, beside its finding."""


class Judged(Answer):
    """One reading of the debate by a judge; its texts have the labels of that reading.

    `slot_index`: 1 in the recorded order, 2 with positions, labels and order turned.
    """

    kind: Literal["judged"] = "judged"
    winner: str  # a debater's name; "" for none
    margin: Annotated[int, Field(ge=0, le=3)]  # 0 (none) to 3 (clear), from the beliefs
    verdict: str
    reasoning: str
    beliefs: tuple[Belief, ...] = ()  # together 100; () where the judge gave none
    criteria: tuple[Criterion, ...] = ()
    recommendation: str = ""  # what the judge advises; without a winner it is the finding
    probability: Percent = 0  # that it is right; 0 where the judge did not say
    corrected: str = ""  # an error that all sides share, and what is right
    missed: str = ""  # what nobody said and the answer needs
    unargued: tuple[str, ...] = ()  # debaters who did not argue for their position
    would_change: str = ""
    next: str = ""  # what to check first
    cited: tuple[Citation, ...] = ()  # the points that it names, each once
    unknown_citations: Count = 0  # ids of nothing that it named
    informative: bool = True  # False: the model is too small for its judgment to mean anything


class Compared(Answer):
    """Which advice of judges that is none of the positions comes to the same, as one judge's model says.

    `groups`: the number of its group for each such reading, in the order of judges and readings.
    """

    kind: Literal["compared"] = "compared"
    groups: tuple[Count, ...]


class Synthesized(Answer):
    """The result in the shape that the caller asked for: prose, or JSON that satisfies the schema."""

    kind: Literal["synthesized"] = "synthesized"
    seat: str = SYNTHESIZER
    text: str
    cut: bool = False
    informative: bool = True


class Failed(SlotFact):
    """A call without a usable answer. It is counted and shown, and never becomes a vote."""

    kind: Literal["failed"] = "failed"
    cause: FailureCause
    detail: str
    usage: Usage | None = None  # what the unusable answer cost, where there was one
    attempts: int = 1  # requests made
    model: str = ""  # the one that was called


class Concluded(Fact):
    """The verdict."""

    kind: Literal["concluded"] = "concluded"
    outcome: Outcome
    winner: str  # a debater's name; "" where nobody won
    verdict: str
    reasoning: str
    votes: tuple[Vote, ...]


class Paused(Fact):
    """The debate stops until it is resumed."""

    kind: Literal["paused"] = "paused"
    cause: PauseCause = "request"
    breakpoints: tuple[Breakpoint, ...] = ()  # those that held, where the cause is "pause_when"
    seats: tuple[str, ...] = ()  # those without a turn or an answer, where they are the cause
    reason: str
    until: Moment | Literal[""] = ""  # when it resumes unattended; "" where somebody has to resume it
    request_id: str = ""  # as of interventions


class Resumed(Fact):
    """The debate continues."""

    kind: Literal["resumed"] = "resumed"
    reason: str = ""
    request_id: str = ""  # as of interventions


class Ended(Fact):
    """The end of the debate: concluded with a result, or truncated without one."""

    kind: Literal["ended"] = "ended"
    ending: Literal["concluded", "truncated"]
    cause: EndCause
    detail: str = ""

    @property
    def reason(self) -> str:
        return format_end_cause(self.cause, self.detail)


TalkEvent = RoundOpened | Spoke | Reading | RoundClosed
FramingEvent = AnsweredBlind | PositionsFramed
AnswerEvent = (
    FramingEvent | Digested | TalkEvent | Balloted | Measured | Judged | Compared | Synthesized | AdviceEvent
)
SlotEvent = AnswerEvent | Researched | Failed | HandoffFailed  # what fills a slot of a round, or fails to

CodeEvent = PredicateLost | PromptsComputed | PromptFunctionsLost
BallotEvent = Converged | Alerted
RoundEvent = PhaseEntered | BlockEnded | DefaultPlanUsed | HandedOff | BallotEvent
EndEvent = Concluded | Paused | Resumed | Ended
CourseEvent = CodeEvent | RoundEvent | PassageRead | Agreed | EscalationEvent | EarlierWithdrawn | EndEvent
Event = Opened | CourseEvent | SlotEvent | InterventionFact
"""Every fact. `machine.kinds` has the classes of readings and interventions, too, and reads them from the journal."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as the journal has it."""

    seq: int
    at: str  # UTC, ISO 8601
    actor: str
    hash: str
    event: Event
    restored: bool = False  # it came with a file, and happened elsewhere
