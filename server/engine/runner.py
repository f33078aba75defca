"""Drives one debate: ask `decide`, put the questions, record the answers. The one place that does all three.

A turn travels through here like this: `decide` says Ask; `ask` renders each call's prompt and puts it
to the seat's model; the reply, or the failure, becomes an event (`interpret`); `record` checks it by
replaying it, appends it, and only then believes it. When somebody else has written first, what they
wrote is read and the question is looked at again: an answer is recorded as long as the debate wants it.
"""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from server.debate.facts.events import Event, Opened, Paused, PhaseEntered, Recorded, Resumed, load
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
    Over,
    Record,
    TerminateWhen,
    Wait,
    acceptable_calls,
    decide,
    is_round_over,
    is_unattended,
    status,
)
from server.debate.rules.transitions import replay
from server.debate.views import markdown
from server.debate.views import state as views
from server.engine.daily_budget import DailyBudget, Reservation, spending_by_day
from server.engine.errors import DebateNotFoundError, StorageUnavailableError, translate_storage_errors
from server.engine.model_calls import ModelCaller
from server.models import MAX_ATTEMPTS, OnText
from storage.journal import ConflictError, Entry, Journal, StreamSummary

FollowUp = Callable[[Debate, ElapsedTime], Sequence[Event]]

SYSTEM_ACTOR = "counterpoint"
"""The actor of everything that nobody asked for by hand."""

ROUND_START_EVENTS = (Opened, PhaseEntered, Resumed)

ZERO_COST = Decimal(0)

RECORD_RETRY_DELAYS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between attempts to record an answer when the database cannot be written."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DebateSnapshot:
    """A debate under its id, with its record."""

    id: str
    debate: Debate
    entries: tuple[Recorded, ...]

    @property
    def status(self) -> str:
        return status(self.debate)

    def ends_with(self, event: Event) -> bool:
        """Whether this very event was recorded last, and not one that somebody else wrote first."""
        return self.entries[-1].event is event


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who is told what happens. Told, not asked: nothing here may fail or wait."""

    on_commit: Callable[[DebateSnapshot], None] = lambda _case: None
    text_callback: Callable[[str, str], OnText | None] = lambda _debate, _seat: None
    """Who reads along what a seat is writing. None if nobody does: streaming costs time at every piece."""


class Runner:
    def __init__(
        self,
        journal: Journal,
        model_caller: ModelCaller,
        clock: Callable[[], datetime],
        watcher: Watcher = Watcher(),
        daily_budget: DailyBudget | None = None,
    ) -> None:
        self.journal = journal
        self.model_caller = model_caller
        self.clock = clock
        self.watcher = watcher
        self.daily_budget = daily_budget or DailyBudget(journal, clock)

    async def open(
        self, debate_id: str, setup: Opened, actor: str, inherited_events: Sequence[Event] = ()
    ) -> DebateSnapshot:
        """Begin a debate, with a past if it has one.

        Raises:
            IllegalEvent: that past cannot be its own; nothing was written.
            Unreadable: the database cannot be written.
        """
        events = (setup, *inherited_events)
        debate = replay(events)
        with translate_storage_errors():
            entries = await self.journal.append(
                debate_id,
                after=0,
                at=self.now(),
                actor=actor,
                bodies=[serialize_event(event) for event in events],
                summary=build_stream_summary(debate, events, ()),
            )
        case = DebateSnapshot(debate_id, debate, tuple(parse_entry(entry) for entry in entries))
        self.watcher.on_commit(case)
        return case

    async def load(self, debate_id: str) -> DebateSnapshot:
        """The debate as the journal has it, its chain checked.

        Raises:
            NoSuchDebate: nothing is recorded under this id.
            Unreadable: the record was altered or cannot be read.
        """
        with translate_storage_errors():
            entries = await self.journal.read(debate_id)
            if not entries:
                raise DebateNotFoundError(debate_id)
            history = tuple(parse_entry(entry) for entry in entries)
            return DebateSnapshot(debate_id, replay(entry.event for entry in history), history)

    async def run(
        self,
        snapshot: DebateSnapshot,
        *,
        through_round: int | None = None,
        terminate_when: TerminateWhen | None = None,
    ) -> DebateSnapshot:
        """Drive a debate to the end of a round, or to its own end where none is given.

        Returns earlier where the debate pauses.
        """
        since = self.clock()
        # A predicate of the caller's may raise, which must not cost an answer: it is asked apart.
        follows = no_follow_up if terminate_when else partial(follow_up_events, through_round=through_round)
        while not has_reached(snapshot.debate, through_round):
            match decide(snapshot.debate, terminate_when, self.compute_elapsed(snapshot, since)):
                case Record(events):
                    snapshot = await self.record(snapshot, events)
                case Ask():
                    landed, tomorrow = self.daily_budget.released, self.daily_budget.next_day_start()
                    left = await self.daily_budget.remaining()
                    if left.calls:
                        snapshot = await self.ask(snapshot, since, follows)
                    elif self.daily_budget.reserved_requests:  # they may come to less than is kept for them
                        await landed.wait()
                        snapshot = await self.load(snapshot.id)
                    else:
                        told = f"{left.reason}. It goes on tomorrow (UTC)."
                        snapshot = await self.record(snapshot, (Paused(reason=told, until=tomorrow),))
                case Wait() | Over():
                    return snapshot
        return snapshot

    async def ask(
        self, snapshot: DebateSnapshot, run_started_at: datetime, follow_up: FollowUp
    ) -> DebateSnapshot:
        """Put the questions of this round, all that can be put at once; record each answer as it arrives.

        A seat whose reply was bad is asked again without waiting for the others. What follows from the
        last answer by itself is recorded with it: that saves a write a round. Never sooner: where a talk
        is being concluded the next round follows at once, and would cost the answers still on their way.
        """
        send, receive = anyio.create_memory_object_stream[tuple[Call, Event]](math.inf)
        asked: dict[tuple[str, int], Reservation] = {}  # the seats whose answer is on its way
        try:
            async with anyio.create_task_group() as questions, send, receive:
                while True:
                    # Turns of a talk that is being concluded arrive before anybody is asked to decide.
                    step = decide(snapshot.debate, elapsed=self.compute_elapsed(snapshot, run_started_at))
                    if isinstance(step, Ask) and not (snapshot.debate.is_concluding and asked):
                        each = (
                            compute_max_call_cost(snapshot.debate, estimate_next_call(snapshot.debate))
                            if self.daily_budget.max_cost_usd
                            else ZERO_COST
                        )
                        on_their_way = sum(kept.requests for kept in asked.values())
                        left = min(
                            step.max_in_flight - on_their_way, (await self.daily_budget.remaining(each)).calls
                        )
                        for call, most in allocate_attempts(
                            [c for c in step.calls if c.slot_key not in asked], left
                        ):
                            asked[call.slot_key] = self.daily_budget.reserve(most, each)
                            questions.start_soon(self.call_model, snapshot, call, most, step.deadline, send)
                    if not asked:
                        break
                    arrived = [await receive.receive()]
                    while receive.statistics().current_buffer_used:
                        arrived.append(receive.receive_nowait())
                    done = {call.slot_key for call, _ in arrived}
                    follows_now = follow_up if asked.keys() <= done else no_follow_up
                    snapshot = await self.record_answers(snapshot, arrived, run_started_at, follows_now)
                    self.daily_budget.release([asked.pop(answers) for answers in done])
        except ExceptionGroup as group:  # only the recording above can raise, and one at a time
            raise group.exceptions[0] from None
        finally:
            self.daily_budget.release(asked.values())
        return snapshot

    async def call_model(
        self,
        snapshot: DebateSnapshot,
        call: Call,
        max_attempts: int,
        deadline: Deadline,
        results: MemoryObjectSendStream[tuple[Call, Event]],
    ) -> None:
        on_text = self.watcher.text_callback(snapshot.id, call.seat)
        answer = await self.model_caller.call(snapshot.debate, call, max_attempts, deadline, on_text)
        await results.send((call, answer))

    async def record_answers(
        self,
        snapshot: DebateSnapshot,
        results: Sequence[tuple[Call, Event]],
        run_started_at: datetime,
        follow_up: FollowUp,
    ) -> DebateSnapshot:
        """Record what came in together, as far as the debate wants it.

        A conflict may have changed that. A database that cannot be written now may be in a moment: what
        has been paid for is held on to, while the other questions of the round go on.
        """
        pauses = list(RECORD_RETRY_DELAYS)
        while events := filter_wanted_answers(snapshot.debate, results):
            events += follow_up(
                replay(events, snapshot.debate), self.compute_elapsed(snapshot, run_started_at)
            )
            try:
                snapshot = await self.record(snapshot, events)
            except StorageUnavailableError:
                if not pauses:
                    raise
                await anyio.sleep(pauses.pop(0))
                continue
            if snapshot.ends_with(events[-1]):
                break
        return snapshot

    async def record(
        self, snapshot: DebateSnapshot, events: Sequence[Event], actor: str = SYSTEM_ACTOR
    ) -> DebateSnapshot:
        """Check, commit, then believe. If somebody wrote first, believe them instead.

        Raises:
            IllegalEvent: a bug of ours; nothing was written.
            Unreadable: the database cannot be written.
        """
        after, at = replay(events, snapshot.debate), self.now()
        soon = (Recorded(0, at, actor, "", event) for event in events)
        try:
            with translate_storage_errors():
                entries = await self.journal.append(
                    snapshot.id,
                    after=snapshot.debate.version,
                    at=at,
                    actor=actor,
                    bodies=[serialize_event(event) for event in events],
                    summary=build_stream_summary(after, events, (*snapshot.entries, *soon)),
                )
        except ConflictError:
            snapshot = await self.load(snapshot.id)
        else:
            new = [
                Recorded(entry.seq, entry.at, entry.actor, entry.hash, event)
                for entry, event in zip(entries, events, strict=True)
            ]
            snapshot = replace(snapshot, debate=after, entries=(*snapshot.entries, *new))
        self.watcher.on_commit(snapshot)
        return snapshot

    def compute_elapsed(self, snapshot: DebateSnapshot, run_started_at: datetime) -> ElapsedTime:
        """How late it is for a debate taken up at that time; no time where nothing depends on it."""
        limits = snapshot.debate.limits
        if not (limits.max_seconds or limits.round_timeout):
            return NO_ELAPSED_TIME
        begun = next(
            entry for entry in reversed(snapshot.entries) if isinstance(entry.event, ROUND_START_EVENTS)
        )
        opened, round_begun = (datetime.fromisoformat(entry.at) for entry in (snapshot.entries[0], begun))
        now = self.clock()
        return ElapsedTime(
            (now - opened).total_seconds(), (now - max(run_started_at, round_begun)).total_seconds()
        )

    async def resume_if_due(self, snapshot: DebateSnapshot) -> DebateSnapshot:
        """The debate, resumed if it was paused until a time that has come.

        Raises:
            Unreadable: the database cannot be written.
        """
        while (paused := snapshot.debate.paused) and "" < paused.until <= self.now():
            snapshot = await self.record(snapshot, (Resumed(reason="the time it was paused until has come"),))
        return snapshot

    def now(self) -> str:
        return self.clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")


def allocate_attempts(calls: Sequence[Call], remaining_requests: int) -> Iterator[tuple[Call, int]]:
    """The questions that so many requests are enough for, each with how many it may come to."""
    for waiting, call in zip(range(len(calls), 0, -1), calls, strict=True):
        if remaining_requests < 1:
            return
        attempts = min(max(remaining_requests // waiting, 1), MAX_ATTEMPTS)
        remaining_requests -= attempts
        yield call, attempts


def filter_wanted_answers(debate: Debate, results: Sequence[tuple[Call, Event]]) -> list[Event]:
    """The answers to questions that are open, whichever attempt they were put in."""
    wanted_now = {(call.round, call.slot_key) for call in acceptable_calls(debate)}
    return [event for call, event in results if (call.round, call.slot_key) in wanted_now]


def no_follow_up(_debate: Debate, _elapsed: ElapsedTime) -> Sequence[Event]:
    return ()


def follow_up_events(debate: Debate, elapsed: ElapsedTime, through_round: int | None) -> Sequence[Event]:
    """What is to be recorded next without asking anybody, if it is wanted."""
    if has_reached(debate, through_round):
        return ()
    step = decide(debate, elapsed=elapsed)
    return step.events if isinstance(step, Record) else ()


def has_reached(debate: Debate, through_round: int | None) -> bool:
    """Whether there is nothing more to do for who wanted the debate up to this round, or to its end."""
    if debate.ended:
        return True
    if through_round is None or debate.round < through_round:
        return False
    return debate.round > through_round or is_round_over(debate)


def parse_entry(entry: Entry) -> Recorded:
    return Recorded(entry.seq, entry.at, entry.actor, entry.hash, load(entry.body))


def serialize_event(event: Event) -> dict[str, Any]:
    return event.model_dump(mode="json")


def build_stream_summary(
    debate: Debate, events: Sequence[Event], entries: Sequence[Recorded]
) -> StreamSummary:
    """What lists show.

    The words for searches are renewed where a round begins or ends: a turn alone is not worth
    rewriting the index.
    """
    answers = not any(event.kind in {"opened", "phase_entered", "concluded", "ended"} for event in events)
    return StreamSummary(
        title=debate.setup.question,
        status=status(debate),
        details={
            "format": debate.setup.format,
            "round": debate.round,
            "outcome": debate.verdict.outcome if debate.verdict else "",
            "winner": views.winner_stance(debate),
            "tags": list(debate.setup.tags),
            "forked_from": debate.setup.forked_from,
            "runs_by_itself": is_unattended(debate),
            "paused_until": debate.paused.until if debate.paused else "",
            "spending": spending_by_day(
                entries,
                debate.setup.forked_at_round,
                compute_max_call_cost(debate, estimate_next_call(debate)),
            ),
        },
        search_text=None if answers else markdown.build_search_text(debate),
    )
