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
from server.engine.errors import translate_storage_errors
from server.engine.leases import HEARTBEAT_INTERVAL, Leases
from server.engine.model_calls import ModelCaller
from server.engine.runner import DebateSnapshot, Runner, has_reached
from server.models import OnText


class LeasedModelCaller(ModelCaller):
    def __init__(self, model_caller: ModelCaller, leases: Leases, debate_id: str) -> None:
        super().__init__(model_caller.models, model_caller.research, model_caller.leeway)
        self.leases = leases
        self.debate_id = debate_id

    async def call(
        self, debate: Debate, call: Call, max_attempts: int, deadline: Deadline, on_text: OnText | None = None
    ) -> Event:
        if not await self.leases.has_lease(self.debate_id):
            await anyio.sleep_forever()  # until whoever drives the debate is stopped, at the next beat
        return await super().call(debate, call, max_attempts, deadline, on_text)


@dataclass(slots=True)
class DriveTask:
    snapshot: DebateSnapshot
    through_round: int | None  # None: to the end
    terminate_when: TerminateWhen | None = None
    changed: anyio.Event = field(default_factory=anyio.Event)
    cancel_scope: anyio.CancelScope | None = None  # while this process has the lease
    done: bool = False
    error: Exception | None = None

    def update(self, snapshot: DebateSnapshot) -> None:
        """Take a newer state of the debate; what somebody read before it was written is not one."""
        if snapshot.debate.version >= self.snapshot.debate.version:
            self.snapshot = snapshot
            self.notify()

    def notify(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    def widen(self, through_round: int | None) -> None:
        """Go further than was first asked for, never less far."""
        if through_round is None or self.through_round is None:
            self.through_round = None
        else:
            self.through_round = max(self.through_round, through_round)

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing to drive at: it is as far as was wanted, or waits for somebody."""
        return self.snapshot.status in ("paused", "waiting") or has_reached(
            self.snapshot.debate, self.through_round
        )


OnChange = Callable[[DriveTask], Awaitable[None]]
"""Told from within the waiting request: whenever there is something new to see, and every GLANCE."""


POLL_INTERVAL = 0.2
"""Seconds between looks at a debate that another process is running."""

PROGRESS_INTERVAL = 5.0
"""Seconds between reports to who waits, when nothing new is recorded: clients give up on silence."""


class DebateDriver:
    def __init__(self, runner: Runner, clock: Callable[[], datetime], task_group: TaskGroup) -> None:
        self.runner = runner
        self.journal = runner.journal
        self.task_group = task_group
        self.leases = Leases(self.journal, clock)
        self.drive_tasks: dict[str, DriveTask] = {}
        self.predicates: dict[str, TerminateWhen] = {}
        self.task_added = anyio.Event()
        task_group.start_soon(self.maintain_leases)

    def ensure_running(self, snapshot: DebateSnapshot, through_round: int | None) -> DriveTask:
        """The work on this debate, under way: joined if there is some, begun if not."""
        work = self.drive_tasks.get(snapshot.id)
        if work:
            work.widen(through_round)
            return work
        work = DriveTask(snapshot, through_round, self.predicates.get(snapshot.id))
        self.drive_tasks[snapshot.id] = work
        self.task_group.start_soon(self.drive, work)
        self.task_added.set()
        return work

    def is_working(self, debate_id: str) -> bool:
        """Whether this process is driving the debate, or waiting to, at this moment."""
        work = self.drive_tasks.get(debate_id)
        return work is not None and not work.is_finished

    def update(self, snapshot: DebateSnapshot) -> None:
        """Show a debate that has changed to who watches the work on it."""
        if work := self.drive_tasks.get(snapshot.id):
            work.update(snapshot)

    async def drive(self, task: DriveTask) -> None:
        """Run a debate as far as its watchers want it. Ends with `work.done`, and raises nothing."""
        shared = self.runner
        questions = LeasedModelCaller(shared.model_caller, self.leases, task.snapshot.id)
        runner = Runner(self.journal, questions, shared.clock, shared.watcher, shared.daily_budget)
        try:
            while not task.is_finished and await self.acquire_lease(task):
                with anyio.CancelScope() as task.cancel_scope:
                    case = await self.runner.load(task.snapshot.id)
                    task.update(
                        await runner.run(
                            case, through_round=task.through_round, terminate_when=task.terminate_when
                        )
                    )
                task.cancel_scope = None
        except Exception as error:  # noqa: BLE001  (handed to every watcher)
            task.error = error
        finally:
            del self.drive_tasks[task.snapshot.id]
            if task.snapshot.debate.ended:
                self.predicates.pop(task.snapshot.id, None)
            task.done = True
            task.notify()
            with anyio.move_on_after(2, shield=True):
                await self.release_lease(task.snapshot.id)

    async def acquire_lease(self, task: DriveTask) -> bool:
        """Wait for the lease of a debate. False once another process has done what was wanted."""
        while True:
            with translate_storage_errors():
                if await self.leases.acquire(task.snapshot.id):
                    return True
                version = await self.journal.version(task.snapshot.id)
            if version != task.snapshot.debate.version:
                self.runner.watcher.on_commit(await self.runner.load(task.snapshot.id))
            if task.is_finished:
                return False
            await anyio.sleep(POLL_INTERVAL)

    async def release_lease(self, debate_id: str) -> None:
        if debate_id in self.drive_tasks:  # somebody wants more of it already, under the same lease
            return
        await self.leases.release(debate_id)

    async def maintain_leases(self) -> None:
        """Renew the leases of what is being driven, once a beat, and stop driving what has lost its own.

        A process that was asleep for longer than a lease lasts finds that another has taken over.
        """
        while True:
            if not self.drive_tasks:
                self.task_added = anyio.Event()
                await self.task_added.wait()
            await anyio.sleep(HEARTBEAT_INTERVAL)
            driven = {name: work.cancel_scope for name, work in self.drive_tasks.items() if work.cancel_scope}
            for name in driven.keys() - await self.leases.renew(driven):
                driven[name].cancel()

    async def wait(
        self, task: DriveTask, seconds: float, on_change: OnChange | None, *, through_round: int | None = None
    ) -> DebateSnapshot:
        """Watch work, at most so long, until it is done or has got through a round.

        Giving up, or being cancelled, does not touch the work.
        """
        with anyio.move_on_after(seconds):
            while not (task.done or has_reached(task.snapshot.debate, through_round)):
                changed = task.changed
                if on_change:
                    await on_change(task)
                with anyio.move_on_after(PROGRESS_INTERVAL):
                    await changed.wait()
        if task.error:
            raise task.error
        return task.snapshot
