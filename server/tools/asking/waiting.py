"""Waits for a debate, and meanwhile asks the client's model and a person with a seat for their turns."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import anyio
from mcp.types import ElicitRequestFormParams, ElicitResult

from server.debate.commands.submit import MAX_SUBMISSION_LENGTH
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.quoting import quote_verbatim
from server.debate.facts.setup.phases import ADVICE_TASKS
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
    is_asked_by_result,
    may_ask,
    read_answer,
    read_state,
)
from server.tools.asking.sampling import LiveClient, SamplingQueue, get_queue, offers_sampling
from server.tools.tool import ToolCall

MAX_LEGS = 8
"""How often a call may ask the client: SDKs give up a call after ten times."""

MAX_SHOWN_LENGTH = 3_000  # characters of what was said last, in a form

TASKS_ABOUT_SIDES = ("judgment", "message")
"""Tasks whose answers name a debater: models write a label, a person writes the name."""

Waiting = Callable[[float], Awaitable[DebateSnapshot]]
"""Waits for a debate for at most so many seconds."""


def build_client(call: ToolCall, debate_id: str = "") -> ClientModel | None:
    """The model that a client lends for a debate; without an id, for a debate that is about to be opened."""
    if not offers_sampling(call):
        return None
    return get_queue(call, debate_id) if is_asked_by_result(call) else LiveClient(call)


async def wait(
    call: ToolCall, snapshot: DebateSnapshot, waiting: Waiting, round_number: int = 0
) -> DebateSnapshot:
    """What `waiting` returns. Raises AskFirst if the client has to answer before.

    `round_number`: the round that the call runs, so that the repeated one runs no other.
    """
    state = read_state(call)
    base = State(
        asks="client", debate_id=snapshot.id, round=round_number, legs=(state.legs if state else 0) + 1
    )
    if state and state.asks == "turn" and state.debate_id == snapshot.id:
        await submit_answer(call, snapshot.id, state.seat, read_answer(call, "turn"))
    while True:
        snapshot = await wait_with_model(call, snapshot.id, waiting, base)
        turn = choose_turn(call, snapshot) if base.legs <= MAX_LEGS and may_ask(call) else None
        if turn is None:
            return snapshot
        call.manager.asked[snapshot.id, turn.key] = anyio.current_time()
        asking = base.model_copy(update={"asks": "turn", "seat": turn.seat})
        answer = await ask(call, build_form(snapshot, turn), asking)
        await submit_answer(call, snapshot.id, turn.seat, answer)


async def wait_with_model(call: ToolCall, debate_id: str, waiting: Waiting, base: State) -> DebateSnapshot:
    """What `waiting` returns. Raises AskFirst in the 2026 era, with requests to the client's own model."""
    client, seconds = build_client(call, debate_id), call.seconds_left
    if client is None:
        return await waiting(seconds)
    if not isinstance(client, SamplingQueue):
        call.manager.attend(debate_id, client)
        return await waiting(seconds)
    if seconds <= 0:
        return await waiting(0)
    state = read_state(call)
    is_continued = state is not None and state.asks == "client" and state.debate_id == debate_id
    with client.open_call():
        client.accept(call.params.input_responses or {}, state.batch if state and is_continued else 0)
        call.manager.attend(debate_id, client)
        snapshot = await race(call, client, debate_id, partial(waiting, seconds))
        if snapshot is not None:
            return snapshot
        if base.legs > MAX_LEGS:
            return await waiting(0)
        requests = client.hand_out()
        raise build_question(base.model_copy(update={"batch": client.batches}), dict(requests))


async def race(
    call: ToolCall, queue: SamplingQueue, debate_id: str, follow: Callable[[], Awaitable[DebateSnapshot]]
) -> DebateSnapshot | None:
    """What `follow` returns; None if there are requests to the client before. Raises what `follow` raises."""
    snapshot: DebateSnapshot | None = None

    async def wait_for_debate() -> None:
        nonlocal snapshot
        snapshot = await follow()
        tasks.cancel_scope.cancel()

    async def wait_for_questions() -> None:
        await queue.wait_until_due()
        snapshot = await call.manager.load(debate_id)
        await queue.gather(sum(call_due.model == CLIENT for call_due in pending_calls(snapshot.debate)))
        tasks.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for_debate)
            tasks.start_soon(wait_for_questions)
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    return snapshot


def choose_turn(call: ToolCall, snapshot: DebateSnapshot) -> Call | None:
    """The next turn that a person has to write, and has not been asked for yet."""
    calls = pending_calls(snapshot.debate) if snapshot.status == "waiting" else ()
    is_asked = call.manager.asked
    return next(
        (turn for turn in calls if turn.model == HUMAN and (snapshot.id, turn.key) not in is_asked), None
    )


def build_form(snapshot: DebateSnapshot, turn: Call) -> ElicitRequestFormParams:
    """A form with a field for the text of a turn, below its instruction and the last words, with names for labels.

    Labels of answers stay, as models read them: nobody is told whose an answer is.
    """
    awaited = next(row for row in awaited_turns(snapshot.debate) if row.speaker == turn.seat)
    record, _, instruction = awaited.prompt.partition(f"{TURN_HEADING}\n")
    field = {"type": "string", "title": turn.seat[:60], "maxLength": MAX_SUBMISSION_LENGTH}
    if turn.task in TASKS_ABOUT_SIDES:
        instruction += "\nWhere this asks for a label, write a name."
    if turn.task in ADVICE_TASKS:
        question = (
            record if len(record) <= MAX_SHOWN_LENGTH else quote_verbatim(snapshot.debate.setup.question)
        )
        text = f"{question.strip()}\n\n{instruction}"
    else:
        said = f"{instruction}\n\nSaid last:\n{cut_start(record.strip())}"
        text = name_sides(snapshot.debate, said, turn.reading)
    head = (
        f"{turn.seat}, round {turn.round} ({describe_task(awaited)}). Decline to leave it to your assistant."
    )
    message = f"{head}\n\n{text}"
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


async def submit_answer(call: ToolCall, debate_id: str, seat: str, answer: object) -> None:
    """Submit what a person wrote. A text that cannot be used is ignored: the turn is left to `submit_turn`."""
    if call.may_debate and isinstance(answer, ElicitResult) and answer.action == "accept":
        with suppress(InvalidRequestError):
            text = str((answer.content or {}).get("text") or "")
            await call.manager.submit(debate_id, seat, text, actor=call.actor)
