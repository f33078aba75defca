"""What takes the place of an answer that nobody gave, or of code that is gone."""

from typing import Literal

from server.debate.facts.config import Fact


class DefaultPositionsUsed(Fact):
    """The positions are those of the format, because the framer gave no usable answer."""

    kind: Literal["default_positions_used"] = "default_positions_used"
    reason: str


class PredicateLost(Fact):
    """The process with the caller's predicate (`terminate_when`) is gone: from this round on it is not asked."""

    kind: Literal["predicate_lost"] = "predicate_lost"
    round: int


class PromptFunctionsLost(Fact):
    """The process with the caller's functions is gone: from this round on seats keep the prompts they had."""

    kind: Literal["prompt_functions_lost"] = "prompt_functions_lost"
    round: int
