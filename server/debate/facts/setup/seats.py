"""The seats of a set-up: who debates, judges and helps, and the models that no provider has."""

from typing import Annotated, Literal

from pydantic import Field

from server.debate.facts.fact import Count, Fact

SeatKind = Literal["debaters", "moderator", "judges", "synthesizer"]
"""Those that a debate may hide, beside the seats of `debate.seats`, whose kinds are their names."""

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

MODERATOR, ANALYST = "moderator", "analyst"
SYNTHESIZER, FRAMER, READER, METER = "synthesizer", "framer", "reader", "meter"
WRITER, CHECKER = "writer", "checker"
"""Seats besides those of debaters and judges ("judge 1", …; "voter 1", … in an audience)."""


def is_judge(seat: str) -> bool:
    """Whether it is the seat of a judge or of a voter in an audience. Debaters cannot have such names."""
    return seat.startswith(("judge ", "voter "))


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


class JudgePanel(Fact):
    """The judges: one seat for each model. `both_orders`: order and labels are turned, for one or between several."""

    models: tuple[str, ...]
    both_orders: bool = True
    anonymize: bool = True
    shuffle: bool = True
    prompt: str = ""
    replaces_task: bool = False
    quorum: Count = 1  # with fewer complete judges, the debate pauses
    tools: tuple[str, ...] = ()  # research servers that each of them may use


class Moderator(Fact):
    """The moderator opens rounds (and chooses the speakers), closes them, or both."""

    model: str
    opens: bool = False
    closes: bool = False
    prompt: str = ""
    replaces_task: bool = False
    tools: tuple[str, ...] = ()  # research servers it may use


class Answering(Fact):
    """What the answer format has beside its advisors, who sit where debaters do."""

    labels: tuple[str, ...]  # of answers, then of reviews, in prompts
    writer: str = ""  # the model that writes the report; "" where the server composes it
    checker: str = ""  # the model that checks it
    mine: str = ""  # the caller's own answer, which is reviewed with the others


class Officer(Fact):
    """A seat that reads each round and steers nothing, or the synthesizer."""

    seat: str
    model: str
    prompt: str = ""
    replaces_task: bool = False
    tools: tuple[str, ...] = ()  # research servers it may use
    shown: bool = False  # whether judges read what it says, where that is a choice


class Meter(Fact):
    """The model that embeds positions of voters, so that it can be told whether they are alike."""

    model: str


class SeatPrompt(Fact):
    """What a function of the caller's code wrote for a seat."""

    seat: str
    text: Annotated[str, Field(max_length=MAX_PROMPT_LENGTH)]
