"""Code of the process that opened a debate: what it may do, and the facts about it. A replay needs no code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from server.debate.facts.answers import PredicateLost, PromptFunctionsLost, PromptsComputed
from server.debate.facts.events import CodeEvent
from server.debate.state.debate import Debate, replace
from server.debate.state.seats import seat_models

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


def find_code_problem(debate: Debate, event: CodeEvent) -> str:
    """Why such an event is not possible; "" where it is."""
    setup = debate.setup
    match event:
        case PredicateLost():
            return find_missing_code(is_there=setup.has_predicate, loss=debate.predicate_lost)
        case PromptFunctionsLost():
            return find_missing_code(is_there=bool(setup.prompt_functions), loss=debate.prompt_functions_lost)
        case PromptsComputed():
            unknown = {prompt.seat for prompt in event.prompts} - seat_models(setup).keys()
            no_seat = f"nobody here is called {min(unknown)}" if unknown else ""
            return find_missing_code(is_there=bool(setup.prompt_functions), loss=None) or no_seat
        case _:
            assert_never(event)


def find_missing_code(*, is_there: bool, loss: PredicateLost | PromptFunctionsLost | None) -> str:
    """Why the caller's code can have done nothing, or not be lost now; "" where it can."""
    if not is_there:
        return "the caller gave no such code"
    return f"it was lost in round {loss.round} already" if loss else ""


def add_code_event(debate: Debate, event: CodeEvent) -> Debate:
    match event:
        case PredicateLost():
            return replace(debate, predicate_lost=event)
        case PromptFunctionsLost():
            return replace(debate, prompt_functions_lost=event)
        case PromptsComputed():
            return replace(debate, computed_prompts=(*debate.computed_prompts, event))
        case _:
            assert_never(event)
