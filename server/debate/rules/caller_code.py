"""Code of the process that opened a debate: what it may do, and the facts about it. A replay needs no code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from server.debate.state.debate import Debate

TerminateWhen = Callable[[Debate], bool]
"""A pure, total predicate, called after each round of talk: whether the talk ends."""

PromptFunction = Callable[[Debate, str], str]
"""A pure, total function, called before each round: what the prompt of this seat says, in place of a fixed text."""


@dataclass(frozen=True, slots=True)
class CallerCode:
    """Code of the process that opened a debate. It ends with that process; what it returned is recorded."""

    terminate_when: TerminateWhen | None = None
    prompts: Mapping[str, PromptFunction] = field(default_factory=dict)
    """By seat; "" for every seat that has no prompt of its own."""

    def __bool__(self) -> bool:
        return bool(self.terminate_when or self.prompts)


NO_CODE = CallerCode()
