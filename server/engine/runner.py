"""Runs a debate: asks `decide` for the next step, calls the models, records what they answer.

`decide` returns Ask: each call is rendered and sent to the seat's model, and its reply or failure becomes an
event (`model_calls`). `DebateStore.record` checks the event by replaying it, appends it, and only then is it
part of the debate. After a conflict with another writer the calls are compared with the new state: an answer
is recorded as long as the debate still accepts it.
"""

import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from server.debate.facts.events import Event, Opened, Paused, PhaseEntered, Resumed
from server.debate.facts.state import Debate
from server.debate.rules.budget import (
    NO_ELAPSED_TIME,
    Deadline,
    ElapsedTime,
    compute_max_call_cost,
    estimate_next_call,
)
from server.debate.rules.decide import (
    Ask,
    Call,
    Record,
    TerminateWhen,
    acceptable_calls,
    decide,
    is_round_over,
)
from server.debate.rules.transitions import replay
from server.engine.daily_budget import DailyBudget, Reservation
from server.engine.errors import StorageUnavailableError
from server.engine.model_calls import ModelCaller
from server.engine.store import DebateSnapshot, DebateStore
from server.models import MAX_ATTEMPTS, OnText

ROUND_START_EVENTS = (Opened, PhaseEntered, Resumed)

RECORD_RETRY_DELAYS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between attempts to record an answer when the database cannot be written."""


class LeaseLostError(Exception):
    """Another process runs this debate now: no more calls may be made here."""


@dataclass(frozen=True, slots=True)
class Run:
    """How far a debate is to be run, and on which conditions."""

    started_at: datetime
    through_round: int | None  # None: to its end
    terminate_when: TerminateWhen | None
    may_call: Callable[[], Awaitable[bool]]  # checked before each model call


class Runner:
    """One for each process; it keeps no state of any debate.

    `find_text_callback(debate_id, seat)` returns where to send the text of a reply while it is generated, or
    None: streaming costs CPU time for each chunk.
    """

    def __init__(
        self,
        store: DebateStore,
        model_caller: ModelCaller,
        daily_budget: DailyBudget,
        find_text_callback: Callable[[str, str], OnText | None],
        record_retry_delays: Sequence[float] = RECORD_RETRY_DELAYS,
    ) -> None:
        self.store = store
        self.model_caller = model_caller
        self.daily_budget = daily_budget
        self.find_text_callback = find_text_callback
        self.record_retry_delays = record_retry_delays

    async def run(self, snapshot: DebateSnapshot, run: Run) -> DebateSnapshot:
        """Run a debate as far as requested. Returns earlier where it pauses or waits for its caller.

        Raises:
            LeaseLostError: `run.may_call` returned False.
            StorageUnavailableError: the database cannot be used.
        """
        while not has_reached(snapshot.debate, run.through_round):
            step = decide(snapshot.debate, run.terminate_when, self.compute_elapsed(snapshot, run))
            if isinstance(step, Record):
                snapshot = await self.store.record(snapshot, step.events)
            elif isinstance(step, Ask):
                snapshot = await self.call_within_daily_budget(snapshot, run)
            else:
                break
        return snapshot

    async def call_within_daily_budget(self, snapshot: DebateSnapshot, run: Run) -> DebateSnapshot:
        released = self.daily_budget.released
        remaining = await self.daily_budget.remaining()
        if remaining.calls:
            return await self.make_calls(snapshot, run)
        if self.daily_budget.reserved_requests:  # calls in flight may need fewer requests than reserved
            await released.wait()
            return await self.store.load(snapshot.id)
        reason = f"{remaining.reason}. It goes on tomorrow (UTC)."
        paused = Paused(cause="daily_budget", reason=reason, until=self.daily_budget.next_day_start())
        return await self.store.record(snapshot, (paused,))

    async def make_calls(self, snapshot: DebateSnapshot, run: Run) -> DebateSnapshot:
        """Make all calls of this round that may be in flight together; record each answer as it arrives.

        A seat whose reply could not be used is called again without waiting for the others.
        """
        send, receive = anyio.create_memory_object_stream[tuple[Call, Event]](math.inf)
        in_flight: dict[tuple[str, int], Reservation] = {}  # by slot
        try:
            async with anyio.create_task_group() as calls, send, receive:
                while True:
                    step = decide(snapshot.debate, elapsed=self.compute_elapsed(snapshot, run))
                    # While the talk is being concluded, answers in flight arrive before the next phase begins.
                    if isinstance(step, Ask) and not (snapshot.debate.is_concluding and in_flight):
                        for call, attempts, reservation in await self.reserve_calls(
                            snapshot, step, in_flight
                        ):
                            in_flight[call.slot_key] = reservation
                            calls.start_soon(
                                self.make_call, snapshot, call, attempts, step.deadline, run, send
                            )
                    if not in_flight:
                        break
                    results = [await receive.receive()]
                    while receive.statistics().current_buffer_used:
                        results.append(receive.receive_nowait())
                    done = {call.slot_key for call, _ in results}
                    is_last = in_flight.keys() <= done
                    snapshot = await self.record_answers(snapshot, results, run, with_follow_up=is_last)
                    self.daily_budget.release([in_flight.pop(slot) for slot in done])
        except ExceptionGroup as group:  # the first error stops the others
            raise group.exceptions[0] from None
        finally:
            self.daily_budget.release(in_flight.values())
        return snapshot

    async def reserve_calls(
        self, snapshot: DebateSnapshot, step: Ask, in_flight: dict[tuple[str, int], Reservation]
    ) -> list[tuple[Call, int, Reservation]]:
        """The calls to make now, each with its maximum of attempts and what is reserved of the day's budget."""
        cost = Decimal(0)
        if self.daily_budget.max_cost_usd:
            cost = compute_max_call_cost(snapshot.debate, estimate_next_call(snapshot.debate))
        own = step.max_in_flight - sum(reservation.requests for reservation in in_flight.values())
        remaining = min(own, (await self.daily_budget.remaining(cost)).calls)
        new = [call for call in step.calls if call.slot_key not in in_flight]
        return [
            (call, attempts, self.daily_budget.reserve(attempts, cost))
            for call, attempts in allocate_attempts(new, remaining)
        ]

    async def make_call(
        self,
        snapshot: DebateSnapshot,
        call: Call,
        max_attempts: int,
        deadline: Deadline,
        run: Run,
        results: MemoryObjectSendStream[tuple[Call, Event]],
    ) -> None:
        if not await run.may_call():
            raise LeaseLostError
        on_text = self.find_text_callback(snapshot.id, call.seat)
        answer = await self.model_caller.call(snapshot.debate, call, max_attempts, deadline, on_text)
        await results.send((call, answer))

    async def record_answers(
        self,
        snapshot: DebateSnapshot,
        results: Sequence[tuple[Call, Event]],
        run: Run,
        *,
        with_follow_up: bool,
    ) -> DebateSnapshot:
        """Record answers that arrived together, as far as the debate still accepts them.

        With the last answer of a round, what follows without another call is recorded in the same write.
        While calls are in flight nothing may follow: it could close the slots they are to fill.

        While the database cannot be written, paid answers are kept and recording is tried again.
        """
        delays = list(self.record_retry_delays)
        while events := filter_accepted_answers(snapshot.debate, results):
            if with_follow_up:
                debate = replay(events, snapshot.debate)
                events += follow_up_events(debate, self.compute_elapsed(snapshot, run), run)
            try:
                snapshot = await self.store.record(snapshot, events)
            except StorageUnavailableError:
                if not delays:
                    raise
                await anyio.sleep(delays.pop(0))
                continue
            if snapshot.ends_with(events[-1]):
                break
        return snapshot

    def compute_elapsed(self, snapshot: DebateSnapshot, run: Run) -> ElapsedTime:
        """Time since the debate was opened, and since its round began or this run started, the later of them."""
        limits = snapshot.debate.limits
        if not (limits.max_seconds or limits.round_timeout):
            return NO_ELAPSED_TIME
        start = next(
            entry for entry in reversed(snapshot.entries) if isinstance(entry.event, ROUND_START_EVENTS)
        )
        opened_at, round_at = (datetime.fromisoformat(entry.at) for entry in (snapshot.entries[0], start))
        now = self.store.clock()
        return ElapsedTime(
            (now - opened_at).total_seconds(), (now - max(run.started_at, round_at)).total_seconds()
        )


def allocate_attempts(calls: Sequence[Call], remaining_requests: int) -> Iterator[tuple[Call, int]]:
    """The calls that so many requests suffice for, each with its maximum of attempts."""
    for waiting, call in zip(range(len(calls), 0, -1), calls, strict=True):
        if remaining_requests < 1:
            return
        attempts = min(max(remaining_requests // waiting, 1), MAX_ATTEMPTS)
        remaining_requests -= attempts
        yield call, attempts


def filter_accepted_answers(debate: Debate, results: Sequence[tuple[Call, Event]]) -> list[Event]:
    """The answers whose slot is open in this round, whichever attempt they belong to."""
    accepted = {(call.round, call.slot_key) for call in acceptable_calls(debate)}
    return [event for call, event in results if (call.round, call.slot_key) in accepted]


def follow_up_events(debate: Debate, elapsed: ElapsedTime, run: Run) -> Sequence[Event]:
    """What is to be recorded next without a call, if the run goes that far.

    Nothing where the caller has a predicate: it may raise, which must not cost an answer.
    """
    if run.terminate_when or has_reached(debate, run.through_round):
        return ()
    step = decide(debate, elapsed=elapsed)
    return step.events if isinstance(step, Record) else ()


def has_reached(debate: Debate, through_round: int | None) -> bool:
    """Whether a debate is as far as wanted: through a round, or at its end where None is given."""
    if debate.ended:
        return True
    if through_round is None or debate.round < through_round:
        return False
    return debate.round > through_round or is_round_over(debate)
