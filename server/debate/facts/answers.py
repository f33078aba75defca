"""What the answers of seats have in common: what they took, and the slot of a round that they fill."""

from typing import Annotated

from pydantic import AfterValidator, Field

from server.debate.facts.config import Count, Dollars, Fact
from server.debate.facts.text import clean, collapse_whitespace

UsageName = Annotated[str, AfterValidator(lambda name: collapse_whitespace(clean(name))[:200])]


class Usage(Fact):
    """What one answer took. Tokens as the provider counts them; 0 where it does not report them."""

    model: UsageName
    author: UsageName = ""  # who submitted it, of an answer of the caller; "" for answers of models
    input_tokens: Count = 0
    cached_tokens: Count = 0  # the part of input_tokens that the provider had in its cache
    output_tokens: Count = 0
    cost_usd: Dollars = ""
    milliseconds: Count = 0
    attempts: Count = 1
    sent_tokens: Count = 0  # of a prompt of which the model read only a part, at least; 0 for one read whole
    prompt_sha256: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")] = ""
    """Of what was asked, as `hash_request` has it; "" where no model was."""
    reply_id: UsageName = ""  # the provider's name of the answer, if it gives one


class SlotFact(Fact):
    """What answers, failures and research have in common: the slot of the round they are for."""

    seat: str
    round: int
    slot_index: Count = 0  # which of the seat's answers in this round
    seen: Annotated[int, Field(ge=1)]  # the version of the debate that the prompt was rendered from


class Answer(SlotFact):
    usage: Usage
