"""Debates in the answer format, played from letters: what each seat answers, follows and says in an exchange."""

import json
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from server.debate.answer.debates import build_panel
from server.debate.answer.prompts import order_answers, order_reviews
from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.open import open_debate
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import EMBEDDED
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.state.debate import Debate
from tests.support.panels import Final, Told
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    Script,
    ScriptAnswer,
    build_usage,
    simulate,
)

MODELS = ("alpha/a", "beta/b", "gamma/c")
QUESTION = "Keep the queue in Postgres?"
REPORT = "Advice of the report\n\nSo it is."


def open_advice(
    models: Sequence[str] = MODELS[:2], *, effort: str = "standard", seed: int = 7, **fields: Any
) -> Opened:
    """A debate in the answer format. `fields`: of the request; `options` of it as a mapping."""
    options = {"effort": effort, **fields.pop("options", {})}
    request = DebateRequest.model_validate({"question": QUESTION, **fields, "options": options})
    return open_debate(request, models=models, seed=seed)


def build_script(
    find_debate: Any,
    blind: str = "AA",
    finals: Sequence[Final] = (("A", 90), ("A", 90), ("A", 90)),
    exchange: Sequence[Told] = (),
    failed: Collection[str] = (),
    replies: Mapping[str, Any] = MappingProxyType({}),
    answers: Sequence[str] = (),
) -> Script:
    """Replies by letters. `failed`: calls whose provider fails, "review.2"; `replies`: other ones, by task.

    `answers`: what reviewers write as the answer. Without it they write none, and a writer is asked.
    """

    def script(call: Call) -> ScriptAnswer:
        debate: Debate = find_debate()
        kind = {"advice": "answer"}.get(call.task, call.task)
        place = debate.names.index(call.seat) if call.seat in debate.names else 0
        if f"{kind}.{place + 1}" in failed:
            return ProviderFailure("bad_request")
        if call.task in replies:
            given = replies[call.task]
            found = given(call) if callable(given) else given
            return found if isinstance(found, str | ProviderFailure | Reply) else json.dumps(found)
        given = build_reply(debate, call, place, blind, finals, exchange)
        if answers and call.task == "review" and isinstance(given, dict):
            given["answer"] = answers[place]
        text = given if isinstance(given, str) else json.dumps(given)
        is_small = call.model == EMBEDDED
        return Reply(text, build_usage(call.model), informative=False) if is_small else text

    return script


def build_reply(
    debate: Debate,
    call: Call,
    place: int,
    blind: str,
    finals: Sequence[Final],
    exchange: Sequence[Told],
) -> dict[str, Any] | str:
    panel = build_panel(debate)
    match call.task:
        case "advice":
            return {"recommendation": f"Advice {blind[place]}", "because": "So it is.", "probability": 90}
        case "review":
            shown = order_answers(panel, call.seat, call.slot_index)
            groups: dict[str, list[str]] = {}
            for label, seat in shown.items():
                letter = blind[debate.names.index(seat)] if seat in debate.names else "A"
                groups.setdefault(letter, []).append(label)
            follows, probability = finals[place]
            named = [found[0] for letter, found in groups.items() if letter in follows]
            return {
                "groups": [*groups.values()],
                "follows": named,
                "recommendation": f"Advice {follows or 'of my own'}",
                "probability": probability,
            }
        case "exchange":
            same, moved, probability = exchange[place]
            labels = order_reviews(panel.before_exchange, call.seat)
            return {
                "recommendation": "Advice in the end",
                "same_as": [label for label, seat in labels.items() if debate.names.index(seat) in same],
                "moved_by": "Advice" if moved else "",
                "probability": probability,
            }
        case "report":
            return REPORT
        case _:
            return {"faults": [], "agrees": True}


def play_advice(setup: Opened | None = None, **script: Any) -> DebateSimulation:
    """The debate played to its end, or to where it waits."""
    return begin_advice(setup, **script).play()


def begin_advice(setup: Opened | None = None, **script: Any) -> DebateSimulation:
    played = simulate(setup or open_advice())
    played.script = build_script(lambda: played.debate, **script)
    return played
