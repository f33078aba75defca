"""The seats of a set-up: who debates, judges and helps, and the models that no provider has."""

from typing import Annotated, Literal

from pydantic import Field

from server.debate.facts.fact import Count, Fact

SeatKind = Literal["debaters", "moderator", "referee", "observer", "analyst", "judges", "synthesizer"]
AnySeatKind = SeatKind | Literal["framer", "reader", "meter"]
"""Those that a debate may hide; and those before the first round, and the one without words, which cannot be hidden."""

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


class SeatPrompt(Fact):
    """What a function of the caller's code wrote for a seat."""

    seat: str
    text: Annotated[str, Field(max_length=MAX_PROMPT_LENGTH)]
