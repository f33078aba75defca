"""Background tasks that run debates, one for each debate, under its lease.

Callers start or join a task and watch it for as long as they like; the task goes on without them. While
another process has the lease, the task waits, follows what that process records, and takes over when its
owner is gone.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import anyio
from anyio.abc import TaskGroup

from server.debate.rules.decide import TerminateWhen
from server.engine.leases import HEARTBEAT_INTERVAL, Leases
from server.engine.runner import LeaseLostError, Run, Runner, has_reached
from server.engine.store import DebateSnapshot, DebateStore

POLL_INTERVAL = 0.2
"""Seconds between reads of a debate that another process is running."""

PROGRESS_INTERVAL = 5.0
"""Seconds between progress reports while nothing new is recorded: clients abandon silent requests."""

OnChange = Callable[[DebateSnapshot], Awaitable[None]]
"""Awaited by the request that waits: at each new state, and at least every PROGRESS_INTERVAL."""


@dataclass(slots=True)
class DriveTask:
    """The background task of one debate, as its watchers see it."""

    snapshot: DebateSnapshot
    through_round: int | None  # None: to the end
    terminate_when: TerminateWhen | None = None
    changed: anyio.Event = field(default_factory=anyio.Event)  # set, and replaced, at each change
    cancel_scope: anyio.CancelScope | None = None  # while this process has the lease
    done: bool = False
    error: Exception | None = None

    def update(self, snapshot: DebateSnapshot) -> None:
        """Take a newer state; older ones may arrive late and are dropped."""
        if snapshot.debate.version >= self.snapshot.debate.version:
            self.snapshot = snapshot
            self.notify()

    def notify(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    def extend_to(self, through_round: int | None) -> None:
        """Run further than first requested, never less far."""
        if through_round is None or self.through_round is None:
            self.through_round = None
        else:
            self.through_round = max(self.through_round, through_round)

    @property
    def is_finished(self) -> bool:
        """Whether the debate is as far as requested, or waits for somebody."""
        return self.snapshot.status in ("paused", "waiting") or has_reached(
            self.snapshot.debate, self.through_round
        )


class DebateDriver:
    def __init__(self, store: DebateStore, runner: Runner, leases: Leases, task_group: TaskGroup) -> None:
        self.store = store
        self.runner = runner
        self.leases = leases
        self.task_group = task_group
        self.drive_tasks: dict[str, DriveTask] = {}
        self.predicates: dict[str, TerminateWhen] = {}  # by debate id, of this process only
        self.task_added = anyio.Event()

    def ensure_running(self, snapshot: DebateSnapshot, through_round: int | None) -> DriveTask:
        """The task of this debate: the one there is, extended, or a new one."""
        task = self.drive_tasks.get(snapshot.id)
        if task:
            task.extend_to(through_round)
            return task
        task = DriveTask(snapshot, through_round, self.predicates.get(snapshot.id))
        self.drive_tasks[snapshot.id] = task
        self.task_group.start_soon(self.drive, task)
        self.task_added.set()
        return task

    def is_working(self, debate_id: str) -> bool:
        """Whether this process runs the debate now, or waits for its lease."""
        task = self.drive_tasks.get(debate_id)
        return task is not None and not task.is_finished

    def update(self, snapshot: DebateSnapshot) -> None:
        """Pass a new state of a debate to the watchers of its task."""
        if task := self.drive_tasks.get(snapshot.id):
            task.update(snapshot)

    async def drive(self, task: DriveTask) -> None:
        """Run a debate as far as requested. Raises nothing: errors are kept in `task.error`."""
        debate_id = task.snapshot.id
        may_call = partial(self.leases.has_lease, debate_id)
        try:
            while not task.is_finished and await self.acquire_lease(task):
                with anyio.CancelScope() as task.cancel_scope:
                    run = Run(self.store.clock(), task.through_round, task.terminate_when, may_call)
                    with suppress(LeaseLostError):
                        task.update(await self.runner.run(await self.store.load(debate_id), run))
                task.cancel_scope = None
        except Exception as error:  # noqa: BLE001  (raised again in every watcher)
            task.error = error
        finally:
            del self.drive_tasks[debate_id]
            if task.snapshot.debate.ended:
                self.predicates.pop(debate_id, None)
            task.done = True
            task.notify()
            with anyio.move_on_after(2, shield=True):
                await self.leases.release(debate_id)

    async def acquire_lease(self, task: DriveTask) -> bool:
        """Wait for the lease of a debate. False once another process has done what was requested."""
        while not await self.leases.acquire(task.snapshot.id):
            await self.store.refresh(task.snapshot)
            if task.is_finished:
                return False
            await anyio.sleep(POLL_INTERVAL)
        return True

    async def maintain_leases(self) -> None:
        """Renew the leases of running debates once a heartbeat, and stop those whose lease is lost."""
        while True:
            if not self.drive_tasks:
                self.task_added = anyio.Event()
                await self.task_added.wait()
            await anyio.sleep(HEARTBEAT_INTERVAL)
            scopes = {name: task.cancel_scope for name, task in self.drive_tasks.items() if task.cancel_scope}
            for name in scopes.keys() - await self.leases.renew(scopes):
                scopes[name].cancel()

    async def wait(
        self, task: DriveTask, seconds: float, on_change: OnChange | None, *, through_round: int | None = None
    ) -> DebateSnapshot:
        """Watch a task for at most so many seconds, until it is done or a round is over.

        A watcher that times out or is cancelled does not affect the task.
        """
        with anyio.move_on_after(seconds):
            while not (task.done or has_reached(task.snapshot.debate, through_round)):
                changed = task.changed
                if on_change:
                    await on_change(task.snapshot)
                with anyio.move_on_after(PROGRESS_INTERVAL):
                    await changed.wait()
        if task.error:
            raise task.error
        return task.snapshot

    async def wait_for_other_process(
        self, snapshot: DebateSnapshot, seconds: float, on_change: OnChange | None
    ) -> DebateSnapshot:
        """Watch a debate for at most so many seconds while another process runs it; never takes it over."""
        version, report_at = 0, 0.0
        with anyio.move_on_after(seconds):
            while snapshot.status == "running" and await self.leases.is_held_elsewhere(snapshot.id):
                if on_change and (snapshot.debate.version != version or anyio.current_time() >= report_at):
                    version, report_at = snapshot.debate.version, anyio.current_time() + PROGRESS_INTERVAL
                    await on_change(snapshot)
                await anyio.sleep(POLL_INTERVAL)
                snapshot = await self.store.refresh(snapshot)
        return snapshot
