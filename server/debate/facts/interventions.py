"""The events by which somebody changes the course of a debate, one for each thing that can be changed.

Those that only an action of `debate.interventions` reads are in its file.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

from server.debate.facts.beliefs import Weight
from server.debate.facts.fact import Count, Fact
from server.debate.facts.setup.limits import Limits, Price


class InterventionFact(Fact):
    """What every intervention has in common. Whatever is below the actions knows those here alone."""

    kind: str
    steers: ClassVar[bool] = True  # False: debaters argue as they would have without it
    round: Count = 0  # the round it was made in; 0 before the first
    reason: str = ""
    request_id: str = ""  # a repeated request does nothing; a hook's is that of its delivery


class TextIntervention(InterventionFact):
    """A text for the seats. `to`: a debater's name, "" for all."""

    title: ClassVar[str]
    text: str
    to: str = ""


class StanceRevised(Fact):
    """What a debater stands for from now on."""

    debater: str
    stance: str


class PositionsRevised(InterventionFact):
    """Positions in other words, before the first round, by who was asked to confirm those proposed."""

    kind: Literal["positions_revised"] = "positions_revised"
    steers = False
    stances: tuple[StanceRevised, ...]  # those that change
    labels: tuple[str, ...]  # of all debaters


class NoteAdded(TextIntervention):
    """A note for the debaters. `to`: one of them, "" for all."""

    kind: Literal["note_added"] = "note_added"
    title = "Note"


class Challenged(TextIntervention):
    """A note that debaters have to answer."""

    kind: Literal["challenged"] = "challenged"
    alert: Count = 0  # the round after which an alert brought it; 0: somebody did
    title = "Challenge"


class InstructionGiven(TextIntervention):
    """An instruction for the seats from the next round on. `to`: any seat, "" for all."""

    kind: Literal["instruction_given"] = "instruction_given"
    title = "Instruction"


class TalkConcluded(InterventionFact):
    """The end of the talk: the verdict follows from what was said so far."""

    kind: Literal["talk_concluded"] = "talk_concluded"
    steers = False
    cause: Literal["request", "budget"] = "request"


class RoundsExtended(InterventionFact):
    """More rounds of talk."""

    kind: Literal["rounds_extended"] = "rounds_extended"
    rounds: int  # how many more
    alert: Count = 0  # the round after which an alert brought it; 0: somebody did


class LimitsChanged(InterventionFact):
    """New limits of the debate."""

    kind: Literal["limits_changed"] = "limits_changed"
    steers = False
    limits: Limits  # all that are in force from now on


class WeightsChanged(InterventionFact):
    """New weights of votes."""

    kind: Literal["weights_changed"] = "weights_changed"
    steers = False
    weights: tuple[Weight, ...]  # those that change


class ThresholdChanged(InterventionFact):
    """A new share of the weight that a position needs to win."""

    kind: Literal["threshold_changed"] = "threshold_changed"
    steers = False
    threshold: str  # of the votes' weight, a fraction such as "2/3"


class ModelReplaced(InterventionFact):
    """A new model for a seat."""

    kind: Literal["model_replaced"] = "model_replaced"
    seat: str
    model: str
    price: Price | None = None  # of that model
    window: Count = 0  # of that model, in tokens; 0 where unknown


class TurnRetracted(InterventionFact):
    """A turn is left out of every later prompt. The record keeps it."""

    kind: Literal["turn_retracted"] = "turn_retracted"
    seat: str
    turn_round: int
    slot_index: int


class OutcomeRecorded(InterventionFact):
    """What turned out right, learnt after the end. The latest counts; `reason`: how it is known.

    In the answer format a side is the advisor whose answer it is, or "*" and the reviewer whose own advice it is.
    """

    kind: Literal["outcome_recorded"] = "outcome_recorded"
    steers = False
    truth: str  # a debater's name, or a side; "" where none was right
    wrong: bool = False  # what was found is wrong, and nothing is known of the other sides


class Tagged(InterventionFact):
    """Words under which the debate is found; also after its end."""

    kind: Literal["tagged"] = "tagged"
    steers = False
    tags: tuple[str, ...]  # those that are new


class Untagged(InterventionFact):
    """Tags that no longer hold."""

    kind: Literal["untagged"] = "untagged"
    steers = False
    tags: tuple[str, ...]


def collect_tags(first_tags: Sequence[str], interventions: Iterable[InterventionFact]) -> tuple[str, ...]:
    """The tags that a debate has, those that it began with first."""
    tags = [*first_tags]
    for event in interventions:
        if isinstance(event, Tagged):
            tags += event.tags
        elif isinstance(event, Untagged):
            tags = [tag for tag in tags if tag not in event.tags]
    return tuple(tags)
