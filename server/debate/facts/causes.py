"""Why calls fail, talks end and debates pause."""

from typing import Literal

FailureCause = Literal[
    "timeout",  # no answer in time
    "late",  # the time of the round or of the debate ran out
    "rate_limited",  # the provider asks for fewer requests
    "unavailable",  # the provider is down or cannot be reached
    "unauthorized",  # the key is missing or wrong, or its account has no credit left
    "bad_request",  # the provider rejects the request: unknown model
    "too_long",  # the prompt does not fit the model's window
    "truncated",  # the model was shown only a part of the prompt
    "refused",  # a content filter
    "empty",  # the reply has no text
    "thought_too_long",  # its tokens were spent on thinking
    "unreadable",  # the reply is not what was asked for
    "crashed",  # the model's own code raised
]

PROVIDER_CAUSES: frozenset[FailureCause] = frozenset({"unauthorized", "unavailable", "rate_limited"})
"""What a provider says of itself, whichever seat asked it: one thing to mend, and said once."""

EndCause = Literal[
    "max_rounds",
    "max_turns",
    "settled",  # by the moderator
    "moderator_done",  # the moderator opened a round as the last one
    "terminate_when",  # the caller's predicate
    "converged",  # private ballots say that nothing more comes of it
    "consensus",  # a vote in a block of phases
    "block_limit",  # a block was held as often as it may be
    "phases_held",  # every phase was held
    "request",  # somebody concluded the talk
    "budget",
]
"""Why a block of phases, the talk or the whole debate ended."""

END_SENTENCES: dict[EndCause, str] = {
    "max_rounds": "the last round was held",
    "max_turns": "the last turn was spoken",
    "settled": "the moderator settled it",
    "moderator_done": "the moderator ended the talk",
    "terminate_when": "its condition for ending was met",
    "consensus": "a vote found consensus",
    "converged": "the private ballots say that nothing more comes of it",
    "block_limit": "its phases were held as often as they may be",
    "phases_held": "every phase was held",
    "request": "concluded on request",
    "budget": "the budget is spent",
}

PauseCause = Literal[
    "request",
    "quorum",
    "unheard",  # a debater without a turn
    "budget",
    "daily_budget",
    "pause_when",  # a breakpoint of the debate
]


def format_end_cause(cause: EndCause | Literal[""], detail: str = "") -> str:
    """The reason that results have: the cause, which clients compare, then why; the detail where there is one."""
    return detail or (f"{cause}: {END_SENTENCES[cause]}" if cause else "")


def tell_reason(reason: str) -> str:
    """A reason as people read it: without the cause, which is for programs."""
    sentence = reason.partition(": ")[2]
    return sentence if sentence in END_SENTENCES.values() else reason


PAUSED_ON_REQUEST = "paused on request"
"""The reason of a pause for which nobody gave one."""
