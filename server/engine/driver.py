"""Driving debates: one piece of work for each that is wanted further, under its lease.

Two processes may share a database. A lease names the one that is putting a debate's questions, so that
no answer is paid for twice; the other waits, watches the record, and takes over when the first is gone.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

import anyio
from anyio.abc import TaskGroup

from server.debate.facts.events import Event
from server.debate.facts.state import Debate
from server.debate.rules.budget import Deadline
from server.debate.rules.decide import Call, TerminateWhen
from server.engine.errors import storage_translated
from server.engine.leases import BEAT, Leases
from server.engine.model_calls import Questions
from server.engine.runner import Case, Runner, reached
from server.models import OnText


class Leased(Questions):
    def __init__(self, questions: Questions, leases: Leases, debate_id: str) -> None:
        super().__init__(questions.models, questions.research, questions.leeway)
        self.leases = leases
        self.debate_id = debate_id

    async def answer(
        self, debate: Debate, call: Call, attempts: int, until: Deadline, on_text: OnText | None = None
    ) -> Event:
        if not await self.leases.holds(self.debate_id):
            await anyio.sleep_forever()  # until whoever drives the debate is stopped, at the next beat
        return await super().answer(debate, call, attempts, until, on_text)


@dataclass(slots=True)
class Work:
    case: Case
    through_round: int | None  # None: to the end
    terminate_when: TerminateWhen | None = None
    changed: anyio.Event = field(default_factory=anyio.Event)
    driving: anyio.CancelScope | None = None  # while this process has the lease
    done: bool = False
    error: Exception | None = None

    def see(self, case: Case) -> None:
        """Take a newer state of the debate; what somebody read before it was written is not one."""
        if case.debate.version >= self.case.debate.version:
            self.case = case
            self.tell()

    def tell(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    def widen(self, through_round: int | None) -> None:
        """Go further than was first asked for, never less far."""
        if through_round is None or self.through_round is None:
            self.through_round = None
        else:
            self.through_round = max(self.through_round, through_round)

    @property
    def finished(self) -> bool:
        """Whether there is nothing to drive at: it is as far as was wanted, or waits for somebody."""
        return self.case.status in ("paused", "waiting") or reached(self.case.debate, self.through_round)


OnChange = Callable[[Work], Awaitable[None]]
"""Told from within the waiting request: whenever there is something new to see, and every GLANCE."""


LOOK = 0.2
"""Seconds between looks at a debate that another process is running."""

GLANCE = 5.0
"""Seconds between reports to who waits, when nothing new is recorded: clients give up on silence."""


class Driving:
    def __init__(self, runner: Runner, clock: Callable[[], datetime], tasks: TaskGroup) -> None:
        self.runner = runner
        self.journal = runner.journal
        self.tasks = tasks
        self.leases = Leases(self.journal, clock)
        self.working: dict[str, Work] = {}
        self.predicates: dict[str, TerminateWhen] = {}
        self.busy = anyio.Event()
        tasks.start_soon(self.keep_leases)

    def ensure(self, case: Case, through_round: int | None) -> Work:
        """The work on this debate, under way: joined if there is some, begun if not."""
        work = self.working.get(case.id)
        if work:
            work.widen(through_round)
            return work
        work = Work(case, through_round, self.predicates.get(case.id))
        self.working[case.id] = work
        self.tasks.start_soon(self.drive, work)
        self.busy.set()
        return work

    def is_working(self, debate_id: str) -> bool:
        """Whether this process is driving the debate, or waiting to, at this moment."""
        work = self.working.get(debate_id)
        return work is not None and not work.finished

    def see(self, case: Case) -> None:
        """Show a debate that has changed to who watches the work on it."""
        if work := self.working.get(case.id):
            work.see(case)

    async def drive(self, work: Work) -> None:
        """Run a debate as far as its watchers want it. Ends with `work.done`, and raises nothing."""
        shared = self.runner
        questions = Leased(shared.questions, self.leases, work.case.id)
        runner = Runner(self.journal, questions, shared.clock, shared.watcher, shared.daily)
        try:
            while not work.finished and await self.turn_comes(work):
                with anyio.CancelScope() as work.driving:
                    case = await self.runner.load(work.case.id)
                    work.see(
                        await runner.run(
                            case, through_round=work.through_round, terminate_when=work.terminate_when
                        )
                    )
                work.driving = None
        except Exception as error:  # noqa: BLE001  (handed to every watcher)
            work.error = error
        finally:
            del self.working[work.case.id]
            if work.case.debate.ended:
                self.predicates.pop(work.case.id, None)
            work.done = True
            work.tell()
            with anyio.move_on_after(2, shield=True):
                await self.give_back(work.case.id)

    async def turn_comes(self, work: Work) -> bool:
        """Wait for the lease of a debate. False once another process has done what was wanted."""
        while True:
            with storage_translated():
                if await self.leases.take(work.case.id):
                    return True
                version = await self.journal.version(work.case.id)
            if version != work.case.debate.version:
                self.runner.watcher.committed(await self.runner.load(work.case.id))
            if work.finished:
                return False
            await anyio.sleep(LOOK)

    async def give_back(self, debate_id: str) -> None:
        if debate_id in self.working:  # somebody wants more of it already, under the same lease
            return
        await self.leases.give_back(debate_id)

    async def keep_leases(self) -> None:
        """Renew the leases of what is being driven, once a beat, and stop driving what has lost its own.

        A process that was asleep for longer than a lease lasts finds that another has taken over.
        """
        while True:
            if not self.working:
                self.busy = anyio.Event()
                await self.busy.wait()
            await anyio.sleep(BEAT)
            driven = {name: work.driving for name, work in self.working.items() if work.driving}
            for name in driven.keys() - await self.leases.renew(driven):
                driven[name].cancel()

    async def wait(
        self, work: Work, seconds: float, on_change: OnChange | None, *, through_round: int | None = None
    ) -> Case:
        """Watch work, at most so long, until it is done or has got through a round.

        Giving up, or being cancelled, does not touch the work.
        """
        with anyio.move_on_after(seconds):
            while not (work.done or reached(work.case.debate, through_round)):
                changed = work.changed
                if on_change:
                    await on_change(work)
                with anyio.move_on_after(GLANCE):
                    await changed.wait()
        if work.error:
            raise work.error
        return work.case
