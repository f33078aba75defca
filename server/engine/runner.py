"""Runs a debate: asks `decide` for the next step, calls the models, records what they answer.

`decide` returns Ask: each call is rendered and sent to the seat's model, and its reply or failure becomes an
event (`model_calls`). `DebateStore.record` checks the event by replaying it, appends it, and only then is it
part of the debate. After a conflict with another writer the calls are compared with the new state: an answer
is recorded as long as the debate still accepts it.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import chain, repeat
from typing import assert_never

import anyio

from server.debate.facts.answers import PromptsComputed
from server.debate.facts.events import Event, Paused, PhaseEntered, Resumed
from server.debate.facts.setup.opened import Opened
from server.debate.machine.decide import Ask, Over, Record, Step, Wait, awaits_client, decide, is_round_over
from server.debate.machine.transitions import replay
from server.debate.rules import budget
from server.debate.rules.caller_code import NO_CODE, CallerCode
from server.debate.rules.calls import Call, acceptable_slots
from server.debate.rules.escalation import Mirror
from server.debate.state.debate import Debate
from server.engine.database.cache import AnswerReuse
from server.engine.database.daily_budget import DailyBudget, sum_amounts
from server.engine.database.errors import DatabaseUnavailableError, ForeignRecordError
from server.engine.database.leases import LeaseLostError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import DebateStore
from server.engine.model_calls import CallTerms, ModelCaller
from server.models import MAX_ATTEMPTS
from server.models.client import ClientModel
from server.redaction import redact_model
from storage.streams import Amount

OnDebateText = Callable[[str, str, str], None]
"""Called with (debate id, seat, chunk) while a reply is generated, unless it is a ballot. Must not raise or block."""

Result = tuple[Call, Event | None]
"""A call, and what came of it; None where nobody was asked."""

BeforeStep = Callable[[str], Awaitable[None]]
"""Awaited with the id of a debate before each of its steps. Must not raise."""

TO_END = math.inf  # the round through which a debate is run that runs to its end
RESERVATION_POLL_INTERVAL = 0.2  # seconds between looks at what other processes have reserved
RETRY_DELAYS = (0.5, 1.0, 2.0)  # seconds; the last one repeats while the database cannot be used


@dataclass(slots=True)
class Run:
    """A debate that is run as far as requested, as its runner and its watchers see it."""

    snapshot: DebateSnapshot
    through_round: float = TO_END
    code: CallerCode = NO_CODE
    started_at: datetime | None = None  # when this process got the lease
    lease_scope: anyio.CancelScope | None = None  # while it has it
    task_scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)  # of all that the run does
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # set, and replaced, at each change
    done: bool = False
    error: Exception | None = None
    trouble: Exception | None = None  # why it cannot go on, or record answers, now
    client: ClientModel | None = None  # the model of a client that waits for the debate, or has done so
    reuse: AnswerReuse | None = None  # of answers, where that is asked for
    news: asyncio.Event = field(default_factory=asyncio.Event)  # set to have it look what can be asked now
    is_asking: bool = False  # whether answers are on their way to it, or are being recorded

    def update(self, snapshot: DebateSnapshot) -> None:
        """Take a newer state; older ones may arrive late and are dropped."""
        if snapshot is not self.snapshot and snapshot.debate.version >= self.snapshot.debate.version:
            self.snapshot = snapshot
            self.notify()

    def notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def hold_up(self, trouble: Exception) -> None:
        """Remember what holds the run up now. Those who wait are told once, when it begins."""
        is_news, self.trouble = self.trouble is None, trouble
        if is_news:
            self.notify()

    @property
    def is_finished(self) -> bool:
        """Whether the debate is as far as requested, or waits for somebody."""
        is_far_enough, status = has_reached(self.snapshot.debate, self.through_round), self.snapshot.status
        return is_far_enough or status == "paused" or (status == "waiting" and not self.asks_client)

    @property
    def asks_client(self) -> bool:
        """Whether answers of a client's own model are due, and one can be asked."""
        return self.client is not None and self.client.is_lent and awaits_client(self.snapshot.debate)


@dataclass
class Runner:
    """One for each process; it keeps no state of any debate.

    `may_call(debate_id)` is asked before each model call. Without `text_listeners`, replies are not streamed:
    that costs CPU time for each chunk. `before_steps`: waited for before a round begins, before its first calls and
    before what ends it.
    """

    store: DebateStore
    model_caller: ModelCaller
    daily_budget: DailyBudget
    may_call: Callable[[str], Awaitable[bool]]
    text_listeners: Sequence[OnDebateText] = ()
    before_steps: Sequence[BeforeStep] = ()
    retry_delays: Sequence[float] = RETRY_DELAYS
    is_draining: bool = False  # whether models are asked nothing more: others go on with what runs here

    async def run(self, run: Run) -> None:
        """Run a debate as far as requested, or until it pauses or waits for its caller.

        Raises:
            LeaseLostError: another process runs it.
            ForeignRecordError: something else has written to it.
        """
        self.model_caller.prepare(run.snapshot.debate)
        cache = self.store.cache
        if cache and run.snapshot.debate.setup.cache == "reuse":
            run.reuse = AnswerReuse(cache, run.snapshot.id, run.snapshot.owner)
        while not has_reached(run.snapshot.debate, run.through_round):
            if run.snapshot.is_foreign:
                raise ForeignRecordError(run.snapshot.id)
            for before_step in self.before_steps:
                await before_step(run.snapshot.id)
                run.update(await self.store.refresh(run.snapshot))
            elapsed = self.compute_elapsed(run)
            step = decide(run.snapshot.debate, run.code, elapsed, asks_client=run.asks_client)
            match step:
                case Record():
                    events = [redact_model(e) if isinstance(e, PromptsComputed) else e for e in step.events]
                    run.update(await self.store.record(run.snapshot, events))
                case Ask():
                    await self.call_within_daily_budget(run)
                case Mirror() | Wait() | Over():
                    break
                case _:
                    assert_never(step)

    async def call_within_daily_budget(self, run: Run) -> None:
        release = self.daily_budget.released
        if await self.make_calls(run) or not self.daily_budget.is_limited:
            return
        remaining, reservations = await self.daily_budget.find_remaining(run.snapshot.owner)
        # Calls in flight, of any process, may need fewer requests than reserved, or have just done so.
        if remaining.calls or reservations.requests:
            with anyio.move_on_after(RESERVATION_POLL_INTERVAL):
                await release.wait()
            run.update(await self.store.refresh(run.snapshot))
        else:
            reason = f"{remaining.reason}. It goes on tomorrow (UTC)."
            midnight = f"{self.store.clock().date() + timedelta(days=1)}T00:00:00.000Z"
            pause = Paused(cause="daily_budget", reason=reason, until=midnight)
            run.update(await self.store.record(run.snapshot, (pause,)))

    async def make_calls(self, run: Run) -> bool:
        """Make all calls of this round that may be in flight together; record each answer as it arrives.

        A seat whose reply could not be used is called again without waiting for the others. Returns whether any
        call was made: the day's budget may allow none.
        """
        results: list[Result] = []  # that have arrived, each with news
        in_flight: dict[tuple[str, int], Amount] = {}  # what is reserved, by slot
        has_called = False

        async def make_call(
            snapshot: DebateSnapshot, call: Call, attempts: int, deadline: budget.Deadline
        ) -> None:
            if not await self.may_call(snapshot.id):
                raise LeaseLostError
            is_streamed = self.text_listeners and call.task != "ballot"  # which is private
            on_text = partial(self.send_text, snapshot.id, call.seat) if is_streamed else None
            terms = CallTerms(attempts, deadline, snapshot.owner, on_text, run.client, run.reuse)
            results.append((call, await self.model_caller.call(snapshot.debate, call, terms)))
            run.news.set()

        await self.model_caller.turnstile.enter(run.snapshot.owner)
        try:
            async with anyio.create_task_group() as calls:
                while True:
                    snapshot, step = run.snapshot, self.find_calls(run)
                    # While the talk is being concluded, answers in flight arrive before the next phase begins.
                    is_held = in_flight and snapshot.debate.is_concluding
                    if isinstance(step, Ask) and snapshot.is_own and not (is_held or self.is_draining):
                        for call, amount in await self.reserve_calls(snapshot, step, in_flight):
                            in_flight[call.slot_key] = amount
                            calls.start_soon(make_call, snapshot, call, amount.requests, step.deadline)
                    run.is_asking = bool(in_flight)
                    if not in_flight:
                        break
                    has_called = True
                    await run.news.wait()
                    await self.model_caller.turnstile.enter(run.snapshot.owner)
                    run.news.clear()
                    arrived, results[:] = [*results], []  # one write for all
                    for call, _ in arrived:
                        del in_flight[call.slot_key]
                    await self.record_answers(run, arrived, in_flight.values())
                    self.daily_budget.announce_release()
        except ExceptionGroup as group:  # the first error stops the others
            raise group.exceptions[0] from None
        finally:
            run.is_asking = False
        if self.is_draining:
            raise LeaseLostError
        return has_called

    def find_calls(self, run: Run) -> Step:
        """The next step, as long as it needs no code of the caller."""
        elapsed = self.compute_elapsed(run)
        return decide(run.snapshot.debate, elapsed=elapsed, asks_client=run.asks_client)

    async def reserve_calls(
        self, snapshot: DebateSnapshot, step: Ask, in_flight: Mapping[tuple[str, int], Amount]
    ) -> list[tuple[Call, Amount]]:
        """The calls to make now, each with what it may take of the day's budget.

        None while the database cannot be used and answers are in flight, which are waited for: they are paid. Without
        any it raises DatabaseUnavailableError.
        """
        calls = [call for call in step.calls if call.slot_key not in in_flight]
        limit = step.max_in_flight - sum_amounts(in_flight.values()).requests
        debate, cost = snapshot.debate, Decimal(0)
        if self.daily_budget.is_cost_limited:
            cost = budget.compute_max_call_cost(debate, budget.estimate_next_call(debate))
        choices: list[tuple[Call, Amount]] = []

        def choose(allowed: int) -> Amount:
            remaining = min(limit, allowed)
            for index, call in enumerate(calls):
                if remaining < 1:
                    break
                attempts = min(max(remaining // (len(calls) - index), 1), MAX_ATTEMPTS)
                remaining -= attempts
                choices.append((call, Amount(attempts, attempts * cost)))
            return sum_amounts(amount for _, amount in choices)

        try:
            self.store.check_presence()
            if calls:
                await self.daily_budget.reserve(snapshot.id, cost, choose)
        except DatabaseUnavailableError:
            if not in_flight:
                raise
            return []
        return choices

    async def record_answers(
        self, run: Run, results: Sequence[Result], in_flight: Collection[Amount]
    ) -> None:
        """Record answers that arrived together, as far as the debate still accepts them.

        With the last answer of a round, what follows without another call is recorded in the same write.
        While calls are in flight nothing may follow: it could close the slots they are to fill.

        While the database cannot be written, paid answers are kept and recording is tried again. `in_flight`: what
        stays reserved for other calls.
        """
        delays = self.build_retry_delays()
        reservation = self.daily_budget.build_reservation(in_flight)
        while True:
            # Whichever attempt an answer belongs to, its slot has to be open in this round.
            debate = run.snapshot.debate
            open_keys = {(debate.round, slot.key) for slot in acceptable_slots(debate)}
            events = [event for call, event in results if event and (call.round, call.slot_key) in open_keys]
            debate = replay(events, debate)
            # Code of the caller may raise, which must not cost an answer.
            is_held = in_flight or self.before_steps or run.code
            # What follows is written with the last answer of a round: no crash can come between them.
            if events and not (is_held or has_reached(debate, run.through_round)):
                step = decide(debate, elapsed=self.compute_elapsed(run))
                if isinstance(step, Record):
                    events += step.events
                    debate = replay(step.events, debate)
            try:
                if events:
                    recording = self.store.record(
                        run.snapshot, events, debate_after=debate, reserved=reservation
                    )
                    run.update(await recording)
                else:
                    await self.daily_budget.settle(run.snapshot.id, reservation)
            except DatabaseUnavailableError as error:
                run.hold_up(error)
                await anyio.sleep(next(delays))
                continue
            run.trouble = None
            if not events:
                return
            if run.snapshot.ends_with(events[-1]):
                if run.reuse:
                    await run.reuse.keep(run.snapshot.entries[-len(events) :])
                return

    def build_retry_delays(self) -> Iterator[float]:
        """Seconds to wait while the database cannot be used."""
        return chain(self.retry_delays, repeat(self.retry_delays[-1]))

    def send_text(self, debate_id: str, seat: str, chunk: str) -> None:
        for listener in self.text_listeners:
            listener(debate_id, seat, chunk)

    def compute_elapsed(self, run: Run) -> budget.ElapsedTime:
        """Time since the debate was opened, and since its round began or this run started, the later of them."""
        entries, limits = run.snapshot.entries, run.snapshot.debate.limits
        if not (limits.max_seconds or limits.round_timeout):
            return budget.NO_ELAPSED_TIME
        starts = (Opened, PhaseEntered, Resumed)
        start = next(entry for entry in reversed(entries) if isinstance(entry.event, starts))
        opened_at, round_at = (datetime.fromisoformat(entry.at) for entry in (entries[0], start))
        now, run_at = self.store.clock(), run.started_at or round_at
        return budget.ElapsedTime(
            (now - opened_at).total_seconds(), (now - max(run_at, round_at)).total_seconds()
        )


def has_reached(debate: Debate, through_round: float) -> bool:
    """Whether a debate is over, or as far as wanted: for round 0, whether its positions are known."""
    if debate.ended or debate.round != through_round:
        return debate.ended is not None or debate.round > through_round
    return is_round_over(debate) if debate.round else not debate.setup.needs_framing
