"""Positions that a model proposed, confirmed by the person at the client.

Without an answer the debate goes on with those proposed; with one, in its words. A person who declines them pays for no
debate: it is left as it is, `ready`.
"""

from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

import anyio
from mcp.types import ElicitRequestFormParams, ElicitResult, InputRequiredResult

from server.debate.commands.requests import DebateRequest
from server.debate.facts.errors import InvalidRequestError
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.revise_positions import MAX_STANCE_LENGTH, RevisePositions
from server.debate.state.debate import Debate
from server.debate.views.state import framing_line
from server.engine.database.snapshots import DebateSnapshot
from server.tools.asking.elicitation import (
    MAX_ANSWER_SECONDS,
    State,
    ask,
    build_question,
    can_ask,
    is_asked_by_result,
    read_answer,
    read_state,
)
from server.tools.asking.sampling import TIMES_ASKED
from server.tools.asking.spending import CallingGuest
from server.tools.asking.waiting import build_client, wait
from server.tools.tool import ToolCall

KEY = "positions"

REFLEX_SECONDS = 0.5
"""Within them nobody has read a form: who declines it so soon is a client without a person (headless), which answers
every form so, and was asked to run the debate. The protocol has no word by which to tell it apart. So it is a short
time: a slow client that is taken for a person costs a call of `step_round`; a person taken for a client would pay.
"""


def build_form(debate: Debate) -> ElicitRequestFormParams:
    """A field for each position that was proposed, filled in."""
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


async def start(
    call: ToolCall, request: DebateRequest, deadline: float, *, joins: bool
) -> DebateSnapshot | InputRequiredResult:
    """Open a debate; where a model names its positions, wait for them, and ask whether they are meant so.

    Raises:
        TwinError: `joins`, and the caller has begun the same debate already.
        AskFirst: the client is to answer before there is a debate.
    """
    asks = can_ask(call) and deadline > anyio.current_time()
    state, client = read_state(call), build_client(call)
    models = tuple(request.models) if state and state.asks in ("models", "spending") else ()
    guest = CallingGuest(client, call=call, deadline=deadline, models=models)
    started = await call.manager.start(request, actor=call.actor, hold=asks, joins=joins, guest=guest)
    return await settle(call, started, deadline, asks=asks)


async def settle(
    call: ToolCall, started: DebateSnapshot, deadline: float, *, asks: bool
) -> DebateSnapshot | InputRequiredResult:
    """Wait for the positions of a debate that was just opened, and ask whether they are meant so."""
    run = started.debate.setup.run
    if not (started.debate.setup.needs_framing or asks) or (run and not asks):
        return started
    found: DebateSnapshot | InputRequiredResult = started
    try:
        if started.debate.setup.needs_framing:
            found = await wait(call, started, deadline, partial(wait_for_positions, call, started))
            if isinstance(found, InputRequiredResult) and asks:
                later = TIMES_ASKED * call.manager.client_terms.seconds
                call.manager.start_task(go_on_later, call, started.id, later)
        left = deadline - anyio.current_time()
        may_ask = asks and can_ask(call) and left > 0  # also after a form about the cost
        if not isinstance(found, InputRequiredResult) and may_ask and found.debate.framed:
            found = await confirm(call, found, left)
    except BaseException:
        if run:  # whoever called is gone, and the debate goes on
            call.manager.run_to_end(started)
        raise
    finally:
        if not isinstance(found, InputRequiredResult):
            call.manager.release(started.id)
    return found


async def wait_for_positions(call: ToolCall, started: DebateSnapshot, seconds: float) -> DebateSnapshot:
    return await call.manager.wait_for_positions(started, wait=seconds, on_change=call.report)


async def join(call: ToolCall, debate_id: str, deadline: float, *, run: bool) -> DebateSnapshot:
    """The debate that an identical call has opened, with its positions if they come in time."""
    snapshot = await call.manager.join(debate_id, run=run)
    wait = max(deadline - anyio.current_time(), 0)
    return await call.manager.wait_for_positions(snapshot, wait=0 if run else wait, on_change=call.report)


async def confirm(
    call: ToolCall, snapshot: DebateSnapshot, seconds: float
) -> DebateSnapshot | InputRequiredResult:
    """Ask once whether the positions are meant so, and take over what is changed."""
    seconds, form = min(seconds, MAX_ANSWER_SECONDS), build_form(snapshot.debate)
    call.manager.asked[snapshot.id, KEY] = anyio.current_time()
    if is_asked_by_result(call):
        call.manager.start_task(go_on_later, call, snapshot.id, seconds)
        return build_question(State(asks="positions", debate_id=snapshot.id), form)
    return await take_answer(call, snapshot, await ask(call, form, seconds))


async def go_on_later(call: ToolCall, debate_id: str, seconds: float) -> None:
    """Run a debate whose client does not come back with an answer."""
    await anyio.sleep(seconds)
    call.manager.release(debate_id)
    with suppress(Exception):  # the next call reports it
        snapshot = await call.manager.load(debate_id)
        if snapshot.debate.setup.run:
            call.manager.run_to_end(snapshot)


async def find_begun(
    call: ToolCall, request: DebateRequest, deadline: float
) -> DebateSnapshot | InputRequiredResult | None:
    """The debate that this call has opened before it asked the client; None in a call that begins."""
    state = read_state(call)
    if state is None or not state.debate_id:
        return None
    snapshot = await call.manager.load(state.debate_id)
    if snapshot.debate.setup.question != request.question:  # the state comes from the client
        return None
    if state.asks == KEY:
        snapshot = await take_answer(call, snapshot, read_answer(call, KEY))
        call.manager.release(snapshot.id)
        return snapshot
    return await settle(call, snapshot, deadline, asks=snapshot.id in call.manager.held)


async def take_answer(call: ToolCall, snapshot: DebateSnapshot, answer: Any) -> DebateSnapshot:
    """The debate with the positions of the answer, if it was accepted and they can be debated.

    One that a person declined is not run.
    """
    if isinstance(answer, ElicitResult) and answer.action == "decline":
        asked_at = call.manager.asked.get((snapshot.id, KEY), -inf)
        if anyio.current_time() - asked_at >= REFLEX_SECONDS:
            with suppress(InvalidRequestError):  # it is stepped anyway, or has begun
                return await call.manager.decline_positions(snapshot.id, actor=call.actor)
        return snapshot
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return snapshot
    content, debaters = answer.content or {}, snapshot.debate.setup.debaters
    given = {d.name: str(content.get(f"position_{n}") or "") for n, d in enumerate(debaters, start=1)}
    with suppress(InvalidRequestError):
        RevisePositions().build(snapshot.debate, InterventionRequest(stances=given))
        return await call.manager.revise_positions(snapshot.id, given, actor=call.actor)
    return snapshot
