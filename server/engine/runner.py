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
from server.debate.rules.budget import AT_ONCE, Deadline, Elapsed, a_question, price_of
from server.debate.rules.decide import (
    Ask,
    Call,
    Over,
    Record,
    TerminateWhen,
    Wait,
    decide,
    round_is_over,
    runs_by_itself,
    status,
    wanted,
)
from server.debate.rules.transitions import replay
from server.debate.views import markdown
from server.debate.views import state as views
from server.engine.daily_budget import Daily, Kept, spent_by_day
from server.engine.errors import NoSuchDebate, Unreadable, storage_translated
from server.engine.model_calls import Questions
from server.models import MOST_ATTEMPTS, OnText
from storage.journal import Conflict, Entry, Heading, Journal

Follows = Callable[[Debate, Elapsed], Sequence[Event]]

RUNNER = "counterpoint"
"""The actor of everything that nobody asked for by hand."""

BEGINS_A_ROUND = (Opened, PhaseEntered, Resumed)

FREE = Decimal(0)

HELD_FOR = (1.0, 2.0, 4.0, 8.0)
"""Seconds between attempts to record an answer when the database cannot be written."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Case:
    """A debate under its id, with its record."""

    id: str
    debate: Debate
    log: tuple[Recorded, ...]

    @property
    def status(self) -> str:
        return status(self.debate)

    def ends_with(self, event: Event) -> bool:
        """Whether this very event was recorded last, and not one that somebody else wrote first."""
        return self.log[-1].event is event


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who is told what happens. Told, not asked: nothing here may fail or wait."""

    committed: Callable[[Case], None] = lambda _case: None
    writing: Callable[[str, str], OnText | None] = lambda _debate, _seat: None
    """Who reads along what a seat is writing. None if nobody does: streaming costs time at every piece."""


class Runner:
    def __init__(
        self,
        journal: Journal,
        questions: Questions,
        clock: Callable[[], datetime],
        watcher: Watcher = Watcher(),
        daily: Daily | None = None,
    ) -> None:
        self.journal = journal
        self.questions = questions
        self.clock = clock
        self.watcher = watcher
        self.daily = daily or Daily(journal, clock)

    async def open(self, debate_id: str, setup: Opened, actor: str, past: Sequence[Event] = ()) -> Case:
        """Begin a debate, with a past if it has one.

        Raises:
            IllegalEvent: that past cannot be its own; nothing was written.
            Unreadable: the database cannot be written.
        """
        events = (setup, *past)
        debate = replay(events)
        with storage_translated():
            entries = await self.journal.append(
                debate_id,
                after=0,
                at=self.now(),
                actor=actor,
                bodies=[body(event) for event in events],
                heading=heading(debate, events, ()),
            )
        case = Case(debate_id, debate, tuple(recorded(entry) for entry in entries))
        self.watcher.committed(case)
        return case

    async def load(self, debate_id: str) -> Case:
        """The debate as the journal has it, its chain checked.

        Raises:
            NoSuchDebate: nothing is recorded under this id.
            Unreadable: the record was altered or cannot be read.
        """
        with storage_translated():
            entries = await self.journal.read(debate_id)
            if not entries:
                raise NoSuchDebate(debate_id)
            history = tuple(recorded(entry) for entry in entries)
            return Case(debate_id, replay(entry.event for entry in history), history)

    async def run(
        self, case: Case, *, through_round: int | None = None, terminate_when: TerminateWhen | None = None
    ) -> Case:
        """Drive a debate to the end of a round, or to its own end where none is given.

        Returns earlier where the debate pauses.
        """
        since = self.clock()
        # A predicate of the caller's may raise, which must not cost an answer: it is asked apart.
        follows = nothing if terminate_when else partial(what_follows, through_round=through_round)
        while not reached(case.debate, through_round):
            match decide(case.debate, terminate_when, self.elapsed(case, since)):
                case Record(events):
                    case = await self.record(case, events)
                case Ask():
                    landed, tomorrow = self.daily.landed, self.daily.tomorrow()
                    left = await self.daily.room()
                    if left.calls:
                        case = await self.ask(case, since, follows)
                    elif self.daily.in_flight:  # they may come to less than is kept for them
                        await landed.wait()
                        case = await self.load(case.id)
                    else:
                        told = f"{left.reason}. It goes on tomorrow (UTC)."
                        case = await self.record(case, (Paused(reason=told, until=tomorrow),))
                case Wait() | Over():
                    return case
        return case

    async def ask(self, case: Case, since: datetime, follows: Follows) -> Case:
        """Put the questions of this round, all that can be put at once; record each answer as it arrives.

        A seat whose reply was bad is asked again without waiting for the others. What follows from the
        last answer by itself is recorded with it: that saves a write a round. Never sooner: where a talk
        is being concluded the next round follows at once, and would cost the answers still on their way.
        """
        send, receive = anyio.create_memory_object_stream[tuple[Call, Event]](math.inf)
        asked: dict[tuple[str, int], Kept] = {}  # the seats whose answer is on its way
        try:
            async with anyio.create_task_group() as questions, send, receive:
                while True:
                    # Turns of a talk that is being concluded arrive before anybody is asked to decide.
                    step = decide(case.debate, elapsed=self.elapsed(case, since))
                    if isinstance(step, Ask) and not (case.debate.concluding and asked):
                        each = price_of(case.debate, a_question(case.debate)) if self.daily.cost_usd else FREE
                        on_their_way = sum(kept.requests for kept in asked.values())
                        left = min(step.at_most - on_their_way, (await self.daily.room(each)).calls)
                        for call, most in shared([c for c in step.calls if c.answers not in asked], left):
                            asked[call.answers] = self.daily.keep(most, each)
                            questions.start_soon(self.put, case, call, most, step.deadline, send)
                    if not asked:
                        break
                    arrived = [await receive.receive()]
                    while receive.statistics().current_buffer_used:
                        arrived.append(receive.receive_nowait())
                    done = {call.answers for call, _ in arrived}
                    follows_now = follows if asked.keys() <= done else nothing
                    case = await self.record_answers(case, arrived, since, follows_now)
                    self.daily.land([asked.pop(answers) for answers in done])
        except ExceptionGroup as group:  # only the recording above can raise, and one at a time
            raise group.exceptions[0] from None
        finally:
            self.daily.land(asked.values())
        return case

    async def put(
        self,
        case: Case,
        call: Call,
        attempts: int,
        until: Deadline,
        answers: MemoryObjectSendStream[tuple[Call, Event]],
    ) -> None:
        on_text = self.watcher.writing(case.id, call.seat)
        answer = await self.questions.answer(case.debate, call, attempts, until, on_text)
        await answers.send((call, answer))

    async def record_answers(
        self, case: Case, arrived: Sequence[tuple[Call, Event]], since: datetime, follows: Follows
    ) -> Case:
        """Record what came in together, as far as the debate wants it.

        A conflict may have changed that. A database that cannot be written now may be in a moment: what
        has been paid for is held on to, while the other questions of the round go on.
        """
        pauses = list(HELD_FOR)
        while events := still_wanted(case.debate, arrived):
            events += follows(replay(events, case.debate), self.elapsed(case, since))
            try:
                case = await self.record(case, events)
            except Unreadable:
                if not pauses:
                    raise
                await anyio.sleep(pauses.pop(0))
                continue
            if case.ends_with(events[-1]):
                break
        return case

    async def record(self, case: Case, events: Sequence[Event], actor: str = RUNNER) -> Case:
        """Check, commit, then believe. If somebody wrote first, believe them instead.

        Raises:
            IllegalEvent: a bug of ours; nothing was written.
            Unreadable: the database cannot be written.
        """
        after, at = replay(events, case.debate), self.now()
        soon = (Recorded(0, at, actor, "", event) for event in events)
        try:
            with storage_translated():
                entries = await self.journal.append(
                    case.id,
                    after=case.debate.version,
                    at=at,
                    actor=actor,
                    bodies=[body(event) for event in events],
                    heading=heading(after, events, (*case.log, *soon)),
                )
        except Conflict:
            case = await self.load(case.id)
        else:
            new = [
                Recorded(entry.seq, entry.at, entry.actor, entry.hash, event)
                for entry, event in zip(entries, events, strict=True)
            ]
            case = replace(case, debate=after, log=(*case.log, *new))
        self.watcher.committed(case)
        return case

    def elapsed(self, case: Case, since: datetime) -> Elapsed:
        """How late it is for a debate taken up at that time; no time where nothing depends on it."""
        limits = case.debate.limits
        if not (limits.max_seconds or limits.round_timeout):
            return AT_ONCE
        begun = next(entry for entry in reversed(case.log) if isinstance(entry.event, BEGINS_A_ROUND))
        opened, round_begun = (datetime.fromisoformat(entry.at) for entry in (case.log[0], begun))
        now = self.clock()
        return Elapsed((now - opened).total_seconds(), (now - max(since, round_begun)).total_seconds())

    async def due(self, case: Case) -> Case:
        """The debate, resumed if it was paused until a time that has come.

        Raises:
            Unreadable: the database cannot be written.
        """
        while (paused := case.debate.paused) and "" < paused.until <= self.now():
            case = await self.record(case, (Resumed(reason="the time it was paused until has come"),))
        return case

    def now(self) -> str:
        return self.clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shared(calls: Sequence[Call], left: int) -> Iterator[tuple[Call, int]]:
    """The questions that so many requests are enough for, each with how many it may come to."""
    for waiting, call in zip(range(len(calls), 0, -1), calls, strict=True):
        if left < 1:
            return
        attempts = min(max(left // waiting, 1), MOST_ATTEMPTS)
        left -= attempts
        yield call, attempts


def still_wanted(debate: Debate, arrived: Sequence[tuple[Call, Event]]) -> list[Event]:
    """The answers to questions that are open, whichever attempt they were put in."""
    wanted_now = {(call.round, call.answers) for call in wanted(debate)}
    return [event for call, event in arrived if (call.round, call.answers) in wanted_now]


def nothing(_debate: Debate, _elapsed: Elapsed) -> Sequence[Event]:
    return ()


def what_follows(debate: Debate, elapsed: Elapsed, through_round: int | None) -> Sequence[Event]:
    """What is to be recorded next without asking anybody, if it is wanted."""
    if reached(debate, through_round):
        return ()
    step = decide(debate, elapsed=elapsed)
    return step.events if isinstance(step, Record) else ()


def reached(debate: Debate, through_round: int | None) -> bool:
    """Whether there is nothing more to do for who wanted the debate up to this round, or to its end."""
    if debate.ended:
        return True
    if through_round is None or debate.round < through_round:
        return False
    return debate.round > through_round or round_is_over(debate)


def recorded(entry: Entry) -> Recorded:
    return Recorded(entry.seq, entry.at, entry.actor, entry.hash, load(entry.body))


def body(event: Event) -> dict[str, Any]:
    return event.model_dump(mode="json")


def heading(debate: Debate, events: Sequence[Event], log: Sequence[Recorded]) -> Heading:
    """What lists show.

    The words for searches are renewed where a round begins or ends: a turn alone is not worth
    rewriting the index.
    """
    answers = not any(event.kind in {"opened", "phase_entered", "concluded", "ended"} for event in events)
    return Heading(
        title=debate.setup.question,
        status=status(debate),
        details={
            "format": debate.setup.format,
            "round": debate.round,
            "outcome": debate.verdict.outcome if debate.verdict else "",
            "winner": views.winner_stance(debate),
            "tags": list(debate.setup.tags),
            "forked_from": debate.setup.forked_from,
            "runs_by_itself": runs_by_itself(debate),
            "paused_until": debate.paused.until if debate.paused else "",
            "spent": spent_by_day(log, debate.setup.forked_at_round, price_of(debate, a_question(debate))),
        },
        words=None if answers else markdown.words(debate),
    )
