"""How many tokens an answer may take: those of its text, and those that a model thinks before it writes.

All limits of providers include both. A cap costs nothing until it is used, so that every model gets room to think
unless litellm's table denies that it does. Budgets go by what answers take, and never by what they may take.
"""

from decimal import Decimal
from typing import NamedTuple

from server.debate.facts.setup.seats import Debater
from server.debate.prompts.prompt import Prompt
from server.debate.rules.budget import count_tokens_left
from server.debate.rules.calls import Call
from server.debate.rules.windows import ANSWER_TOKENS, describe_misfit, estimate_tokens
from server.debate.seats.registry import find_seat
from server.debate.state.debate import Debate
from server.models import ModelError, Usage

MIN_STRUCTURED_REPLY_TOKENS = 2000  # whatever the limit: a structured reply that is cut off is not usable

WIDE_FACTOR = 4  # of a room in which a model did not come to its answer
MAX_WIDE_TOKENS = 32_000


class AnswerRoom(NamedTuple):
    text: int
    thinking: int

    @property
    def tokens(self) -> int:
        return self.text + self.thinking

    def widen(self) -> "AnswerRoom":
        """More room, for a model that did not come to its answer in this one."""
        wide = max(min(self.tokens * WIDE_FACTOR, MAX_WIDE_TOKENS), self.tokens)
        text = min(self.text * WIDE_FACTOR, wide)
        return AnswerRoom(text, wide - text)


def find_rooms(debate: Debate, call: Call, prompt: Prompt) -> tuple[AnswerRoom, AnswerRoom]:
    """(the room that window and budget leave, the wider one). Raises ModelError where one is too large for the window.

    A budget shortens only the room to think. A text that is cut short would be paid for and useless.
    """
    wanted = AnswerRoom(count_text_tokens(debate, call), debate.limits.thinking_tokens)
    window, left = debate.windows.get(call.model, 0), count_tokens_left(debate, call.model)
    tokens = estimate_tokens(message.content for message in prompt.messages)

    def fit(room: AnswerRoom) -> AnswerRoom:
        if misfit := describe_misfit(call.model, window, tokens, room.text):
            raise ModelError(
                "too_long", f"{misfit}; it was not asked. Choose one with a larger window.", attempts=0
            )
        limit = max(window - tokens, ANSWER_TOKENS) if window else room.tokens
        text = min(room.text, limit)
        return AnswerRoom(text, max(min(room.tokens, limit, left) - text, 0))

    return fit(wanted), fit(wanted.widen())


def count_text_tokens(debate: Debate, call: Call) -> int:
    debater = find_debater(debate, call)
    tokens = (debater and debater.max_turn_tokens) or debate.setup.max_turn_tokens
    if call.task not in ("argument", "message", "answer"):
        tokens = max(tokens, MIN_STRUCTURED_REPLY_TOKENS)
    if call.task == "reading":
        turns = estimate_tokens(turn.text for turn in debate.round_turns(call.round))
        tokens = max(tokens, find_seat(call).answer_factor * turns)
    return tokens


def find_debater(debate: Debate, call: Call) -> Debater | None:
    return next((debater for debater in debate.setup.debaters if debater.name == call.seat), None)


def add_usage(first: Usage, second: Usage) -> Usage:
    """The usage of two requests for one answer. The cost is unknown if a request with counted tokens has none."""
    counts = ("input_tokens", "cached_tokens", "output_tokens", "thinking_tokens", "milliseconds", "attempts")
    sums = {name: getattr(first, name) + getattr(second, name) for name in counts}
    costs = [usage.cost_usd for usage in (first, second) if usage.input_tokens or usage.output_tokens]
    cost = f"{sum(map(Decimal, costs)):f}" if costs and all(costs) else ""
    sent_tokens = second.sent_tokens and first.input_tokens + second.sent_tokens
    return second.model_copy(update={**sums, "cost_usd": cost, "sent_tokens": sent_tokens})
