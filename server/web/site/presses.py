"""The buttons of a page: what each does in the engine, and the sentence that the page shows afterwards."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.debate.facts.causes import tell_reason
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.interventions.action import InterventionRequest
from server.debate.machine.decide import next_round
from server.debate.state.seats import find_own_models
from server.debate.views.state import status_reason
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager

ACTIONS = {"note": "inject", "settle": "outcome"}
"""Interventions by the names of buttons, where these are others."""

ASKING = ("step", "resume", "conclude", "turn")
"""Buttons after which this process may ask models, if no other process runs the debate."""

STEP_WAIT = 0.5
"""Seconds to wait after a step, so that a round that cannot begin is reported at once."""


class Press(BaseModel):
    """A press of a button. A press may arrive twice: `request_id` and `round` identify it."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    action: Literal["step", "pause", "resume", "note", "challenge", "conclude", "turn", "settle"]
    request_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,100}$")]
    text: Annotated[str, Field(max_length=20_000)] = ""
    to: Annotated[str, Field(max_length=200)] = ""  # a seat; for settle: right or wrong
    round: Annotated[int, Field(ge=0, le=10**6)] = 0  # for step: the one that the page shows as the next


async def perform(manager: DebateManager, debate_id: str, press: Press, actor: str) -> str:
    """Do what a button asks for, and return a sentence on when it takes effect. A repeat does nothing.

    Raises DebateError, with the reason, if that is not possible.
    """
    snapshot = await manager.load(debate_id)
    is_open = not snapshot.debate.ended or press.action == "settle"
    require(is_open, f"The debate is over: {tell_reason(status_reason(snapshot.debate))}.")
    if press.action in ASKING and not await manager.is_run(debate_id):
        await manager.planner.check_models([*dict.fromkeys(find_own_models(snapshot.debate).values())])
    if press.action == "step":
        return await step(manager, snapshot, press.round)
    if press.action == "turn":
        _, told = await manager.submit(debate_id, press.to, press.text, actor=actor)
        return told or "It is recorded."
    request = InterventionRequest(text=press.text, to=press.to, request_id=press.request_id)
    if press.action == "settle":
        request = replace(request, text="", reason=press.text)
    _, effect = await manager.intervene(
        debate_id, ACTIONS.get(press.action, press.action), request, actor=actor
    )
    return effect


async def step(manager: DebateManager, before: DebateSnapshot, round_number: int) -> str:
    """Begin a round (0: the next one), and wait briefly for anything that keeps it from beginning."""
    after = await manager.step(before.id, expected_round=round_number, wait=STEP_WAIT)
    debate, reason = after.debate, status_reason(after.debate)
    number = round_number or next_round(before.debate)
    if debate.ended:
        return f"The debate is over: {tell_reason(reason)}."
    if debate.paused:
        raise InvalidRequestError(f"The debate is paused: {reason} Press Resume to go on.")
    if after.status == "waiting":
        return f"The debate waits: {reason}"
    if number < next_round(before.debate):
        return f"Round {number} had been run already."
    return f"Round {number} {'was run' if number < next_round(debate) else 'runs'}."
