"""Positions that a model proposed, confirmed by the person at the client.

Whatever the answer is, or if there is none, the debate goes on: with the positions in the words of the answer, or
else with those proposed.
"""

from contextlib import suppress
from typing import Any

import anyio
from mcp.types import ElicitRequestFormParams, ElicitResult, InputRequiredResult

from server.debate.commands.positions import MAX_STANCE_LENGTH, build_revision
from server.debate.commands.requests import DebateRequest
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.state import Debate
from server.debate.views.state import framing_line
from server.engine.database.store import DebateSnapshot
from server.tools import model_choice
from server.tools.elicitation import MAX_ANSWER_SECONDS, ask, build_question, can_ask, is_asked_by_result
from server.tools.tool import ToolCall

KEY = "positions"


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

    Raises TwinError if `joins` and the caller has begun the same debate already.
    """
    asks = can_ask(call) and deadline > anyio.current_time()
    started = await call.manager.start(request, actor=call.actor, hold=asks, joins=joins)
    if not started.debate.setup.needs_framing or (request.run and not asks):
        return started
    found: DebateSnapshot | InputRequiredResult = started
    try:
        wait = max(deadline - anyio.current_time(), 0)
        found = snapshot = await call.manager.wait_for_positions(started, wait=wait, on_change=call.report)
        left = deadline - anyio.current_time()
        if asks and snapshot.debate.framed and left > 0:
            found = await confirm(call, snapshot, left)
    except BaseException:
        if request.run:  # whoever called is gone, and the debate goes on
            call.manager.run_to_end(started)
        raise
    finally:
        if not isinstance(found, InputRequiredResult):
            call.manager.release(started.id)
    return found


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
    if is_asked_by_result(call):
        call.manager.start_task(go_on_later, call, snapshot.id, seconds)
        return build_question(KEY, form, snapshot.id)
    return await take_answer(call, snapshot, await ask(call, form, seconds))


async def go_on_later(call: ToolCall, debate_id: str, seconds: float) -> None:
    """Run a debate whose client does not come back with an answer."""
    await anyio.sleep(seconds)
    call.manager.release(debate_id)
    with suppress(Exception):  # the next call reports it
        snapshot = await call.manager.load(debate_id)
        if snapshot.debate.setup.run:
            call.manager.run_to_end(snapshot)


async def find_answered(call: ToolCall, request: DebateRequest) -> DebateSnapshot | None:
    """The debate whose client comes back with an answer; None in any other call."""
    debate_id = call.params.request_state
    if not debate_id or debate_id == model_choice.STATE:
        return None
    snapshot = await call.manager.load(debate_id)
    if snapshot.debate.setup.question != request.question:  # the state comes from the client
        return None
    snapshot = await take_answer(call, snapshot, (call.params.input_responses or {}).get(KEY))
    call.manager.release(debate_id)
    return snapshot


async def take_answer(call: ToolCall, snapshot: DebateSnapshot, answer: Any) -> DebateSnapshot:
    """The debate with the positions of the answer, if it was accepted and they can be debated."""
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return snapshot
    content, debaters = answer.content or {}, snapshot.debate.setup.debaters
    given = {d.name: str(content.get(f"position_{n}") or "") for n, d in enumerate(debaters, start=1)}
    with suppress(InvalidRequestError):
        build_revision(snapshot.debate, given)
        return await call.manager.revise_positions(snapshot.id, given, actor=call.actor)
    return snapshot
