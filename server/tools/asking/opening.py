"""What a person at the client is asked before a debate begins, each once: its models, a high cost, its positions.

They name models if none is set up, and confirm the positions that a model proposed. If nobody answers about the cost,
the debate is opened: the limits of the debate and of the day still hold. Without an answer about positions it goes on
with those that were proposed; with an answer, with its words. If the person declines them, the debate stays `ready` and
costs nothing more.
"""

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from math import inf
from typing import Any, TypeVar

import anyio
from mcp.types import ElicitRequestFormParams, ElicitResult

from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.estimate import estimate
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.setup.seats import CALLER
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.positions import MAX_STANCE_LENGTH, RevisePositions
from server.debate.state.debate import Debate
from server.debate.views.progress import estimate_line
from server.debate.views.state import framing_line
from server.engine.database.snapshots import DebateSnapshot
from server.models.client import Guest
from server.models.registry import MAX_NAME_LENGTH, NoModelError
from server.tools.asking.elicitation import MAX_ANSWER_SECONDS, State, ask, may_ask, read_answer, read_state
from server.tools.asking.sampling import MAX_ASKS
from server.tools.asking.waiting import build_client, wait
from server.tools.tool import AskFirst, ToolCall

MODELS = "models"
MAX_LENGTH = 10 * MAX_NAME_LENGTH

R = TypeVar("R", bound=DebateRequest)


def build_model_form(error: NoModelError) -> ElicitRequestFormParams:
    """A form with one field, filled in with the models on this machine. Keys are never asked for."""
    field = {
        "type": "string",
        "title": "Models",
        "description": "For the seats in turn, separated by commas",
        "maxLength": MAX_LENGTH,
    }
    message = (
        f"No model is set up. Here {error.found}. Debate with these?"
        if error.proposal
        else "No model is set up. Which models shall debate? Their keys have to be set where the server runs; "
        f'"local" is the embedded model, and "{CALLER}" leaves the turns to your assistant.'
    )
    default = {"default": ", ".join(error.proposal)} if error.proposal else {}
    return ElicitRequestFormParams(
        message=message,
        requested_schema={
            "type": "object",
            "properties": {MODELS: {**field, **default}},
            "required": [MODELS],
        },
    )


def add_named_models(call: ToolCall, request: R) -> R:
    """The request with the models that a person named for this call, if any."""
    state = read_state(call)
    if state and state.models:
        return request.model_copy(update={"models": state.models})
    answer = read_answer(call, MODELS) if state and state.asks == MODELS else None
    return add_models(request, answer) or request


async def ask_for_models(call: ToolCall, request: R, error: NoModelError) -> R:
    """The request with the models that the person names. Raises `error` if nobody names any, AskFirst."""
    state = read_state(call)
    if (state and state.asks == MODELS) or not may_ask(call):
        raise error
    answered = add_models(request, await ask(call, build_model_form(error), State(asks="models")))
    if answered is None:
        raise error
    return answered


def add_models(request: R, answer: Any) -> R | None:
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return None
    text = str((answer.content or {}).get(MODELS) or "")[:MAX_LENGTH]
    names = [name.strip() for name in text.split(",") if name.strip()]
    return request.model_copy(update={"models": names}) if names else None


FIELD = "start"


@dataclass(frozen=True, kw_only=True)
class CallingGuest(Guest):
    """Whoever opens a debate by calling a tool. `models`: those that a person named in this call."""

    call: ToolCall
    models: tuple[str, ...] = ()

    async def approve(self, debate: Debate) -> None:
        """Raises InvalidRequestError for a debate that is impossible or declined, AskFirst with a question."""
        await super().approve(debate)
        call, limit = self.call, self.call.manager.client_terms.confirm_cost_usd
        _, max_cost = estimate(debate).cost_usd
        if not limit or Decimal(max_cost or 0) <= limit:
            return
        if (state := read_state(call)) and state.asks == "spending":
            check_answer(debate, read_answer(call, "spending"))
        elif may_ask(call):
            state = State(asks="spending", models=[*self.models])
            check_answer(debate, await ask(call, build_cost_form(debate, limit), state))


def build_cost_form(debate: Debate, limit: Decimal) -> ElicitRequestFormParams:
    message = f"{estimate_line(debate)} That may be more than ${limit:f}. Start this debate?"
    field = {"type": "boolean", "title": "Start it", "default": True}
    return ElicitRequestFormParams(
        message=message, requested_schema={"type": "object", "properties": {FIELD: field}}
    )


def check_answer(debate: Debate, answer: object) -> None:
    """Raises InvalidRequestError if a person declined."""
    if not isinstance(answer, ElicitResult) or answer.action == "cancel":
        return
    if answer.action == "decline" or (answer.content or {}).get(FIELD) is False:
        reason = "The person at the client declined the cost, and the debate was not started."
        raise InvalidRequestError(
            f"{reason} {estimate_line(debate)} Ask for less: options.effort=quick, fewer rounds or other models."
        )


POSITIONS = "positions"

REFLEX_SECONDS = 0.5
"""A form that is declined sooner was declined by a headless client, which declines every form and still wants the
debate to run. The protocol offers no way to tell. The time is short on purpose: a slow client taken for a person costs
one more call of `step_round`, while a person taken for a client would pay for a debate that they declined.
"""


def build_positions_form(debate: Debate) -> ElicitRequestFormParams:
    """A form with a field for each proposed position, filled in."""
    properties = {
        f"position_{number}": {
            "type": "string",
            "title": debater.name,
            "default": debater.stance,
            "maxLength": MAX_STANCE_LENGTH,
        }
        for number, debater in enumerate(debate.setup.debaters, start=1)
    }
    message = (
        f"{framing_line(debate.setup)} These positions will be debated. Change those that you mean otherwise."
    )
    return ElicitRequestFormParams(
        message=message, requested_schema={"type": "object", "properties": properties}
    )


async def start(call: ToolCall, request: DebateRequest, *, joins: bool) -> DebateSnapshot:
    """Open a debate. If a model names its positions, wait for them, and have the person confirm them.

    Raises TwinError if `joins` and the caller has begun the same debate already, AskFirst.
    """
    asks = may_ask(call)
    state, client = read_state(call), build_client(call)
    models = tuple(request.models) if state and state.asks in ("models", "spending") else ()
    guest = CallingGuest(client, call=call, models=models)
    snapshot = await call.manager.start(request, actor=call.actor, hold=asks, joins=joins, guest=guest)
    return await settle(call, snapshot, asks=asks)


async def settle(call: ToolCall, snapshot: DebateSnapshot, *, asks: bool) -> DebateSnapshot:
    """Wait for the positions of a debate that was just opened, and have the person confirm them. Raises AskFirst."""
    setup = snapshot.debate.setup
    if not (setup.needs_framing or asks) or (setup.run and not asks):
        return snapshot
    delay = MAX_ASKS * call.manager.client_terms.seconds

    async def wait_for_positions(seconds: float) -> DebateSnapshot:
        return await call.manager.wait_for_positions(snapshot, wait=seconds, on_change=call.report)

    try:
        framed = await wait(call, snapshot, wait_for_positions) if setup.needs_framing else snapshot
        if asks and may_ask(call) and framed.debate.framed:  # also after a form about the cost
            delay = min(call.seconds_left, MAX_ANSWER_SECONDS)
            call.manager.asked[snapshot.id, POSITIONS] = anyio.current_time()
            state = State(asks="positions", debate_id=snapshot.id)
            answer = await ask(call, build_positions_form(framed.debate), state)
            framed = await apply_answer(call, framed, answer)
    except AskFirst:
        call.manager.start_task(run_later, call, snapshot.id, delay)
        raise
    except BaseException:
        if setup.run:  # the caller is gone, but the debate goes on
            call.manager.run_to_end(snapshot)
        call.manager.release(snapshot.id)
        raise
    call.manager.release(snapshot.id)
    return framed


async def join(call: ToolCall, debate_id: str, *, run: bool) -> DebateSnapshot:
    """The debate that an identical call opened, with its positions if they come in time."""
    snapshot = await call.manager.join(debate_id, run=run)
    seconds = 0 if run else call.seconds_left
    return await call.manager.wait_for_positions(snapshot, wait=seconds, on_change=call.report)


async def run_later(call: ToolCall, debate_id: str, seconds: float) -> None:
    """Run a debate after a delay, in case the client does not come back with an answer."""
    await anyio.sleep(seconds)
    call.manager.release(debate_id)
    with suppress(Exception):  # the next call reports it
        snapshot = await call.manager.load(debate_id)
        if snapshot.debate.setup.run:
            call.manager.run_to_end(snapshot)


async def resume(call: ToolCall, request: DebateRequest) -> DebateSnapshot | None:
    """The debate that this call opened before it asked the client; None in a first call."""
    state = read_state(call)
    if state is None or not state.debate_id:
        return None
    snapshot = await call.manager.load(state.debate_id)
    if snapshot.debate.setup.question != request.question:  # the state comes from the client
        return None
    if state.asks == POSITIONS:
        snapshot = await apply_answer(call, snapshot, read_answer(call, POSITIONS))
        call.manager.release(snapshot.id)
        return snapshot
    return await settle(call, snapshot, asks=snapshot.id in call.manager.held)


async def apply_answer(call: ToolCall, snapshot: DebateSnapshot, answer: Any) -> DebateSnapshot:
    """The debate, with the positions of an accepted answer if they can be debated. A declined debate is not run."""
    if isinstance(answer, ElicitResult) and answer.action == "decline":
        asked_at = call.manager.asked.get((snapshot.id, POSITIONS), -inf)
        if anyio.current_time() - asked_at >= REFLEX_SECONDS:
            with suppress(InvalidRequestError):  # the debate has begun, or is stepped by the caller
                return await call.manager.decline_positions(snapshot.id, actor=call.actor)
        return snapshot
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return snapshot
    content, debaters = answer.content or {}, snapshot.debate.setup.debaters
    stances = {d.name: str(content.get(f"position_{n}") or "") for n, d in enumerate(debaters, start=1)}
    with suppress(InvalidRequestError):
        RevisePositions().build(snapshot.debate, InterventionRequest(stances=stances))
        return await call.manager.revise_positions(snapshot.id, stances, actor=call.actor)
    return snapshot
