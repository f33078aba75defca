"""How the positions of a debate come about for which nobody named debaters."""

from typing import Literal

from server.debate.facts.config import Fact


class Framer(Fact):
    """The seat that proposes positions where nobody named debaters, and the models of who will stand for them."""

    model: str
    models: tuple[str, ...]  # given to the debaters in turn


class Framing(Fact):
    """How the positions came about."""

    question_kind: Literal["yes_no", "open", ""] = ""  # "" where they are those of the format
    assumption: str = ""  # what is taken for given where the question leaves it open
    problem: str = ""  # why they are those of the format


class DefaultPositionsUsed(Fact):
    """The positions are those of the format, because the framer gave no usable answer."""

    kind: Literal["default_positions_used"] = "default_positions_used"
    reason: str
