"""All actions, by name and by the facts that they record."""

from dataclasses import replace
from typing import Any

from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.events import Paused, Resumed
from server.debate.facts.interventions import InterventionFact
from server.debate.interventions.action import Action, Intervention, InterventionRequest
from server.debate.interventions.course import Conclude, Pause, Resume
from server.debate.interventions.extend import Extend
from server.debate.interventions.notes import Challenge, Inject, Instruct
from server.debate.interventions.outcome import Outcome
from server.debate.interventions.positions import DeclinePositions, RevisePositions
from server.debate.interventions.replace_model import ReplaceModel
from server.debate.interventions.retract import Retract
from server.debate.interventions.tags import Tag, Untag
from server.debate.interventions.weights import Threshold, Weights
from server.debate.state.debate import Debate

REGISTRY: tuple[Action[Any], ...] = (
    Pause(),
    Resume(),
    Inject(),
    Challenge(),
    Instruct(),
    Conclude(),
    Extend(),
    Weights(),
    Threshold(),
    ReplaceModel(),
    Retract(),
    Outcome(),
    Tag(),
    Untag(),
    RevisePositions(),
    DeclinePositions(),
)
BY_NAME = {action.name: action for action in REGISTRY}
BY_FACT = {fact: action for action in REGISTRY for fact in action.facts}

ACTIONS = tuple(action.name for action in REGISTRY if action.is_offered)
HOOK_ACTIONS = tuple(action.name for action in REGISTRY if action.for_hooks)
ACTIONS_WITH_TEXT = tuple(action.name for action in REGISTRY if action.is_offered and action.needs_text)
HOOK_ACTIONS_WITH_TEXT = tuple(action.name for action in REGISTRY if action.for_hooks and action.needs_text)

Steering = InterventionFact | Paused | Resumed
"""The facts that actions record. Rules record some of them, too."""


def build_intervention(debate: Debate, action: str, request: InterventionRequest) -> Intervention:
    """Return the events of an action, and a sentence that says when they take effect.

    Raises:
        InvalidRequestError: the action is not possible in this debate now.
    """
    handler = BY_NAME.get(action)
    if debate.ended and (handler is None or handler.when == "before_end"):
        problem = f"The debate is over ({debate.ended.ending})."
        raise InvalidRequestError(f"{problem} Fork it to try it otherwise. The verdict has the finding.")
    if handler is None or not handler.is_offered:
        raise InvalidRequestError(f"There is no action {action[:40]!r}. Actions: {', '.join(ACTIONS)}.")
    return handler.take(debate, request)


def find_action(fact: Steering) -> Action[Any]:
    return BY_FACT[type(fact)]


def rebuild_request(fact: Steering) -> InterventionRequest:
    request = find_action(fact).rebuild(fact)
    return replace(request, reason=fact.reason, request_id=fact.request_id)


def check_possible(debate: Debate, fact: Steering) -> None:
    """Raise InvalidRequestError unless somebody could have changed the debate so; the text is that of the refusal."""
    intervention = find_action(fact).take(debate, rebuild_request(fact))
    require(fact in intervention.events, "such a change has other consequences")
