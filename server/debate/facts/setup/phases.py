"""The phases of a set-up, and the blocks in which they repeat."""

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from pydantic import Field

from server.debate.facts.fact import Fact

Participants = Literal["debaters", "judges", "synthesizer", "writer", "checker"]
AdviceTask = Literal["advice", "review", "exchange", "report", "check"]
DebaterTask = Literal["argument", "message", "ballot"]
Order = Literal["together", "declared", "moderated", "handoff"]
ADVICE_TASKS: tuple[AdviceTask, ...] = get_args(AdviceTask)
BlockUntil = Literal["consensus", "convergence", "moderator", "limit"]


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
    wants: DebaterTask | AdviceTask = "argument"  # of debaters; judges are an audience where it is "ballot"
    instruction: str = ""  # for custom phases: what the seats do in it
    block: Block | None = None  # the block that ends with it
    messages: bool = False  # with a turn, a debater may send a message to another, who answers it
    is_private: bool = False  # its ballots decide nothing: they are compared with those before the talk
    is_baseline: bool = False  # its ballots decide nothing: they are a vote for the price of the debate

    @property
    def is_talk(self) -> bool:
        return self.participants == "debaters" and self.wants in ("argument", "message")

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
        return self.participants == "judges" and self.wants == "argument"

    @property
    def is_advice(self) -> bool:
        """Whether it is a phase of the answer format."""
        return self.wants in ADVICE_TASKS


def find_block(phases: Sequence[Phase], phase: Phase) -> tuple[Phase, ...]:
    """The phases that are repeated together with this one; () where it is in no block."""
    names = [each.name for each in phases]
    index = names.index(phase.name)
    for end, each in enumerate(phases):
        if each.block and (start := names.index(each.block.first)) <= index <= end:
            return tuple(phases[start : end + 1])
    return ()


def count_passes(phases: Sequence[Phase], phase: Phase) -> int:
    """How often a phase is held at most because of its block."""
    block = find_block(phases, phase)
    return block[-1].block.limit if block and block[-1].block else 1
