"""Waiting for a debate, with whoever is at the client asked meanwhile: its own model, and a person with a seat."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import anyio
from mcp.types import ElicitRequestFormParams, ElicitResult, InputRequiredResult

from server.debate.commands.submit import MAX_SUBMISSION_LENGTH
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.setup.seats import CLIENT, HUMAN
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.labels import name_sides
from server.debate.views.awaited import TURN_HEADING, awaited_turns, describe_task
from server.engine.database.snapshots import DebateSnapshot
from server.models.client import ClientModel
from server.tools.asking.elicitation import (
    State,
    ask,
    build_question,
    build_questions,
    can_ask,
    is_asked_by_result,
    read_answer,
    read_state,
)
from server.tools.asking.sampling import LiveClient, SamplingQueue, find_queue, offers_sampling
from server.tools.tool import ToolCall

MAX_LEGS = 8
"""How often a call asks the client: SDKs give up a call after ten."""

MAX_SHOWN_LENGTH = 3_000  # characters of what was said last, in a form

TASKS_ABOUT_SIDES = ("judgment", "message")
"""What models answer with the code word of a debater in it. A person sees names, and answers with one."""

Waiting = Callable[[float], Awaitable[DebateSnapshot]]
"""Waits for a debate for at most so many seconds."""


def build_client(call: ToolCall, debate_id: str = "") -> ClientModel | None:
    """The model that a client lends for a debate, by default for one that is about to be opened."""
    if not offers_sampling(call):
        return None
    return find_queue(call, debate_id) if is_asked_by_result(call) else LiveClient(call)


async def wait(
    call: ToolCall, snapshot: DebateSnapshot, deadline: float, waiting: Waiting, round_number: int = 0
) -> DebateSnapshot | InputRequiredResult:
    """What `waiting` returns, or a question to the client, which then repeats the call.

    `round_number`: the round that the call runs, so that the repeated one runs no other.
    """
    state = read_state(call)
    base = State(
        asks="client", debate_id=snapshot.id, round=round_number, legs=(state.legs if state else 0) + 1
    )
    if state and state.asks == "turn" and state.debate_id == snapshot.id:
        await take_turn(call, snapshot.id, state.seat, read_answer(call, "turn"))
    while True:
        found = await wait_with_model(call, snapshot.id, deadline, waiting, base)
        if isinstance(found, InputRequiredResult):
            return found
        left = deadline - anyio.current_time()
        turn = find_turn(call, found) if left > 0 and base.legs <= MAX_LEGS and can_ask(call) else None
        if turn is None:
            return found
        call.manager.asked[found.id, turn.key] = anyio.current_time()
        form = build_form(found, turn)
        if is_asked_by_result(call):
            return build_question(base.model_copy(update={"asks": "turn", "seat": turn.seat}), form)
        await take_turn(call, found.id, turn.seat, await ask(call, form, left))


async def wait_with_model(
    call: ToolCall, debate_id: str, deadline: float, waiting: Waiting, base: State
) -> DebateSnapshot | InputRequiredResult:
    """What `waiting` returns; or, in the 2026 era, what the client's own model is to answer."""
    client, left = build_client(call, debate_id), max(deadline - anyio.current_time(), 0)
    if client is None:
        return await waiting(left)
    if not isinstance(client, SamplingQueue):
        call.manager.attend(debate_id, client)
        return await waiting(left)
    if left <= 0:
        return await waiting(0)
    state = read_state(call)
    is_continued = state is not None and state.asks == "client" and state.debate_id == debate_id
    with client.open_call():
        client.take(call.params.input_responses or {}, state.batch if state and is_continued else 0)
        call.manager.attend(debate_id, client)
        found = await race(call, client, debate_id, partial(waiting, left))
        if found is not None:
            return found
        if base.legs > MAX_LEGS:
            return await waiting(0)
        requests = client.hand_out()
        return build_questions(base.model_copy(update={"batch": client.batches}), dict(requests))


async def race(
    call: ToolCall, queue: SamplingQueue, debate_id: str, follow: Callable[[], Awaitable[DebateSnapshot]]
) -> DebateSnapshot | None:
    """What `follow` returns; None if there is something to ask the client before. Raises what `follow` raises."""
    found: DebateSnapshot | None = None

    async def wait_for_debate() -> None:
        nonlocal found
        found = await follow()
        tasks.cancel_scope.cancel()

    async def wait_for_desk() -> None:
        await queue.wait_until_due()
        snapshot = await call.manager.load(debate_id)
        await queue.gather(sum(due.model == CLIENT for due in pending_calls(snapshot.debate)))
        tasks.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for_debate)
            tasks.start_soon(wait_for_desk)
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    return found


def find_turn(call: ToolCall, snapshot: DebateSnapshot) -> Call | None:
    """The turn that a person is to write, and was not asked for."""
    due = pending_calls(snapshot.debate) if snapshot.status == "waiting" else ()
    is_asked = call.manager.asked
    return next((one for one in due if one.model == HUMAN and (snapshot.id, one.key) not in is_asked), None)


def build_form(snapshot: DebateSnapshot, turn: Call) -> ElicitRequestFormParams:
    """A field for the text of a turn, below what it is about and what was said last, with names and no labels."""
    awaited = next(one for one in awaited_turns(snapshot.debate) if one.speaker == turn.seat)
    record, _, instruction = awaited.prompt.partition(f"{TURN_HEADING}\n")
    field = {"type": "string", "title": turn.seat[:60], "maxLength": MAX_SUBMISSION_LENGTH}
    if turn.task in TASKS_ABOUT_SIDES:
        instruction += "\nWhere this asks for a code word, write a name."
    shown = f"{instruction}\n\nSaid last:\n{cut_start(record.strip())}"
    message = (
        f"{turn.seat}, round {turn.round} ({describe_task(awaited)}). Decline to leave it to your assistant."
        f"\n\n{name_sides(snapshot.debate, shown, turn.reading)}"
    )
    return ElicitRequestFormParams(
        message=message,
        requested_schema={"type": "object", "properties": {"text": field}, "required": ["text"]},
    )


def cut_start(text: str) -> str:
    """The last lines of a text, as many as fit."""
    lines: list[str] = []
    for line in reversed(text.splitlines()):
        if sum(map(len, lines)) + len(line) > MAX_SHOWN_LENGTH:
            break
        lines.append(line)
    return "\n".join(reversed(lines)) or text[-MAX_SHOWN_LENGTH:]


async def take_turn(call: ToolCall, debate_id: str, seat: str, answer: object) -> None:
    """Submit what a person wrote. Whatever cannot be used is left to `submit_turn`, as if nobody had been asked."""
    if call.may_debate and isinstance(answer, ElicitResult) and answer.action == "accept":
        with suppress(InvalidRequestError):
            text = str((answer.content or {}).get("text") or "")
            await call.manager.submit(debate_id, seat, text, actor=call.actor)
