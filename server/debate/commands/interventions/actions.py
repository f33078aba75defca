"""The actions of callers by name: the function of each, and the parameters that it uses."""

from collections.abc import Callable
from typing import Any, NamedTuple

from server.debate.commands.interventions.course import conclude, extend, pause, resume
from server.debate.commands.interventions.notes import challenge, inject, instruct
from server.debate.commands.interventions.outcome import OUTCOME, record_outcome
from server.debate.commands.interventions.request import Change, InterventionRequest
from server.debate.commands.interventions.seats import replace_model, retract
from server.debate.commands.interventions.tags import tag, untag
from server.debate.commands.interventions.votes import set_threshold, set_weights
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Event
from server.debate.facts.text import clean
from server.debate.state.debate import Debate


class Intervention(NamedTuple):
    events: tuple[Event, ...]
    effect: str


class Handler(NamedTuple):
    build: Callable[[Debate, InterventionRequest], Change]
    parameters: tuple[str, ...] = ()  # the fields of a request that it uses, besides `reason`
    after_end: bool = False  # whether it is possible when the debate has ended


HANDLERS: dict[str, Handler] = {
    "pause": Handler(pause),
    "resume": Handler(resume),
    "inject": Handler(inject, ("text", "to")),
    "challenge": Handler(challenge, ("text", "to")),
    "instruct": Handler(instruct, ("text", "to")),
    "conclude": Handler(conclude),
    "extend": Handler(extend, ("rounds", "limits")),
    "weights": Handler(set_weights, ("weights",)),
    "threshold": Handler(set_threshold, ("threshold",)),
    "replace_model": Handler(replace_model, ("to", "model")),
    "retract": Handler(retract, ("to", "round")),
    OUTCOME: Handler(record_outcome, ("to",), after_end=True),
    "tag": Handler(tag, ("text",), after_end=True),
    "untag": Handler(untag, ("text",), after_end=True),
}
ACTIONS = tuple(HANDLERS)
TEXT_ACTIONS = tuple(name for name, handler in HANDLERS.items() if "text" in handler.parameters)
HOOK_ACTIONS = tuple(
    name for name, handler in HANDLERS.items() if {*handler.parameters} <= {"text", "to"} and name != OUTCOME
)
"""The actions that need nothing but words, so that a hook can be configured to make them, while a debate runs."""


def build_intervention(debate: Debate, action: str, request: InterventionRequest) -> Intervention:
    """Return the events of an action, and a sentence that says when they take effect.

    Raises:
        InvalidRequestError: the action is not possible in this debate now.
    """
    handler = HANDLERS.get(action)
    if debate.ended and not (handler and handler.after_end):
        over = f"The debate is over ({debate.ended.ending})."
        raise InvalidRequestError(
            f"{over} Call fork_debate to try it otherwise, or call get_verdict for the finding."
        )
    if handler is None:
        raise InvalidRequestError(f"There is no action {action[:40]!r}. Actions: {', '.join(ACTIONS)}.")
    events, effect = handler.build(debate, request)
    made: dict[str, Any] = {"request_id": request.request_id}
    if reason := clean(request.reason):
        made["reason"] = reason
    if action not in ("pause", "resume"):
        made["round"] = debate.round
    return Intervention(tuple(event.model_copy(update=made) for event in events), effect)
