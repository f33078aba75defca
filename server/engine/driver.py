"""Background tasks that run debates, one for each debate, under its lease.

Callers start or join a run and watch it for as long as they like; the run goes on without them. While
another process has the lease, it waits, follows what that process records, and takes over when its holder is
gone.
"""

import math
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

import anyio

from server.background_tasks import BackgroundTasks
from server.debate.machine.decide import awaits_client
from server.debate.rules.caller_code import NO_CODE, CallerCode
from server.debate.views.state import StoredDebate
from server.engine.database.errors import DatabaseUnavailableError, StorageUnavailableError
from server.engine.database.leases import HEARTBEAT_INTERVAL, LeaseLostError, Leases
from server.engine.database.presence import DatabasePresence
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import DebateStore
from server.engine.mirrors import MirrorHolder
from server.engine.runner import TO_END, Run, Runner, has_reached
from server.models.client import ClientModel
from server.models.concurrency import Share
from server.turns import give_way

POLL_INTERVAL = 0.2  # seconds between reads of a debate that another process is running
TURN_INTERVAL = 0.5  # seconds between looks whether another of an owner's debates may run
PROGRESS_INTERVAL = 5.0  # seconds between progress reports without news: clients abandon silent requests

OnChange = Callable[[DebateSnapshot], Awaitable[None]] | None
"""Awaited by the request that waits: at each new state, and at least every PROGRESS_INTERVAL."""

WatchRun = Callable[[Run], AbstractContextManager[None]]
"""Makes what is entered when this process begins to work on a debate, and left when it stops. Neither may raise."""


class DebateDriver:
    def __init__(
        self,
        store: DebateStore,
        runner: Runner,
        leases: Leases,
        tasks: BackgroundTasks,
        owner_running: int = 0,
    ) -> None:
        """`owner_running`: how many debates of an owner run at a time, at most; 0: any number."""
        self.store = store
        self.runner = runner
        self.leases = leases
        self.tasks = tasks
        self.runs: dict[str, Run] = {}  # by debate id
        self.mirrors = MirrorHolder(store, runner.compute_elapsed, self.ensure_running)
        self.code: dict[str, CallerCode] = {}  # by debate id, of this process only
        self.failures: dict[str, Exception] = {}  # what ended the last run of a debate, if something did
        self.clients: dict[str, ClientModel] = {}  # by debate id: those that wait for it, or have done so
        self.run_watchers: list[WatchRun] = []
        self.run_added = anyio.Event()
        self.owner_running = owner_running
        self.queues = defaultdict[str, list[Run]](list)  # runs that wait for their turn, by owner
        self.is_ending = False
        self._questions = set[anyio.CancelScope]()  # that somebody waits for an answer to
        self.presence = DatabasePresence(store.storage, self.stop_all)
        self.presence.loss_listeners.append(self.notify_all)
        self.presence.return_listeners.append(self.forget_troubles)
        store.listeners.append(self.update)

    def update(self, snapshot: DebateSnapshot) -> None:
        if run := self.runs.get(snapshot.id):
            run.update(snapshot)

    def ensure_running(self, snapshot: DebateSnapshot, through_round: float, *, is_new: bool = False) -> Run:
        """The run of this debate: the one there is, which never gets shorter, or a new one.

        `is_new`: it was just opened here, so that nobody has run it yet.
        """
        if run := self.runs.get(snapshot.id):
            run.through_round = max(run.through_round, through_round)
            return run
        self.failures.pop(snapshot.id, None)
        run = Run(snapshot, through_round, self.code.get(snapshot.id, NO_CODE))
        run.client = self.clients.get(snapshot.id)
        self.runs[snapshot.id] = run
        self.tasks.start(self.drive, run, is_new)
        self.run_added.set()
        return run

    def attend(self, debate_id: str, client: ClientModel) -> None:
        """Have the model of a client answer for the seats of a debate that want one, as long as it is lent."""
        self.clients[debate_id] = client
        if run := self.runs.get(debate_id):
            run.client = client
            run.news.set()

    def can_run(self, snapshot: DebateSnapshot) -> bool:
        """Whether a debate can go on now: it waits for nobody, or only for the model of a client that is here."""
        if snapshot.status != "waiting":
            return snapshot.status == "running"
        client = self.clients.get(snapshot.id)
        return client is not None and client.is_lent and awaits_client(snapshot.debate)

    def find_run_to_end(self, debate_id: str, owner: str | None) -> Run | None:
        """The run of this debate, if it is under way and goes on to the end: what it knows is current.

        `owner`: only one of theirs, if not None.
        """
        run = self.runs.get(debate_id) if self.is_running_for(owner, debate_id) else None
        return run if run and run.through_round == TO_END and not run.is_finished else None

    def is_running_for(self, owner: str | None, debate_id: str) -> bool:
        """Whether there is a run of this debate here, and it is one of this owner's, if not None."""
        run = self.runs.get(debate_id)
        return run is not None and owner in (None, run.snapshot.owner)

    async def find_runs(self, owner: str | None) -> set[str]:
        """Ids of the debates that this or another process runs now."""
        holders, own = await self.leases.find_holders(owner), self.leases.holder
        other_ids = {debate_id for debate_id, holder in holders.items() if holder != own}
        own_ids = {debate_id for debate_id in self.runs if self.is_running_for(owner, debate_id)}
        return other_ids | {debate_id for debate_id in own_ids if not self.runs[debate_id].is_finished}

    def is_working(self, debate_id: str) -> bool:
        """Whether this process runs the debate now, or waits for its lease."""
        run = self.runs.get(debate_id)
        return run is not None and not run.is_finished

    def find_holdup(self, stored: StoredDebate) -> str:
        """What keeps a debate that is run here from going on, other than missing answers; "" for nothing."""
        run = self.runs.get(stored.id)
        if run and run.trouble:
            return "Waiting for the database"
        loading = self.runner.model_caller.find_loading(stored.debate)
        return f"Loading {loading}, which takes seconds" if loading else ""

    def notify_all(self) -> None:
        for run in self.runs.values():
            run.notify()

    def end_waits(self) -> None:
        """Have everybody who waits for a debate take what there is, from now on: this process is about to end."""
        self.is_ending = True
        self.notify_all()
        for scope in self._questions:
            scope.cancel()

    async def hand_over(self) -> None:
        """Ask models nothing more, record the answers that are on their way, and leave all debates to other processes.

        Those who wait for one follow it there. Returns when this process runs none.
        """
        self.runner.is_draining = True
        self.runner.model_caller.models.guard.is_draining = True
        self.notify_all()  # who waits for a turn waits no more
        for run in self.runs.values():
            if run.lease_scope and not run.is_asking:
                run.lease_scope.cancel()
        while held := [run for run in self.runs.values() if run.lease_scope]:
            await held[0].changed.wait()

    @contextmanager
    def await_person(self) -> Iterator[None]:
        """Wait inside for what somebody answers; it is left, without an error, as soon as waits end."""
        give_way()
        with anyio.CancelScope() as scope:
            if self.is_ending:
                scope.cancel()
            self._questions.add(scope)
            try:
                yield
            finally:
                self._questions.discard(scope)

    def forget_troubles(self) -> None:
        """The database is there again, so the errors of its absence no longer hold: what waited is recorded now."""
        self.failures.clear()
        for run in self.runs.values():
            run.trouble = None

    async def stop_all(self) -> None:
        """Stop all runs, because their database is lost, and drop the answers that they wait for."""
        for run in self.runs.values():
            run.error = self.presence.loss
            run.task_scope.cancel()
        while self.runs:
            await next(iter(self.runs.values())).changed.wait()
        self.code.clear()
        self.leases.expires_at.clear()

    async def drive(self, run: Run, is_new: bool) -> None:
        """Run a debate as far as requested. Raises nothing: errors are kept in `run.error`.

        A database that cannot be used now ends no run: nobody might go on with the debate when it is back.
        """
        debate_id = run.snapshot.id
        delays = self.runner.build_retry_delays()
        try:
            with run.task_scope:
                while not run.is_finished:
                    try:
                        await self.drive_under_lease(run, is_new)
                    except DatabaseUnavailableError as error:
                        run.hold_up(error)
                        await anyio.sleep(next(delays))
                    else:
                        delays = self.runner.build_retry_delays()
                    is_new = False
        except Exception as error:  # noqa: BLE001  (raised again in every watcher)
            run.error = self.failures[debate_id] = error
        finally:
            # Before the lease is released: whoever asks for the debate from now on gets a new run.
            del self.runs[debate_id]
            if run.snapshot.debate.ended:
                self.code.pop(debate_id, None)
                self.clients.pop(debate_id, None)
            run.done = True
            run.notify()
            with anyio.move_on_after(2, shield=True):
                await self.leases.release(debate_id)
            self.announce_end()
            if run.snapshot.debate.ended:  # after the last write
                self.store.storage.checkpoint_soon()

    async def drive_under_lease(self, run: Run, is_new: bool) -> None:
        """Run a debate for as long as this process has its lease; follow it for a moment while another has it."""
        debate_id = run.snapshot.id
        if not await self.acquire(run):
            await anyio.sleep(POLL_INTERVAL)
            await self.store.refresh(run.snapshot)
            run.trouble = None
            return
        try:
            with anyio.CancelScope() as run.lease_scope, suppress(LeaseLostError), ExitStack() as watching:
                run.started_at = self.store.clock()
                if not is_new:  # whoever had the lease before may have recorded something
                    run.update(await self.store.load(debate_id))
                run.trouble = None
                for watch in self.run_watchers:
                    watching.enter_context(watch(run))
                await self.runner.run(run)
                await self.mirrors.hold(run)
        finally:
            run.lease_scope = None
            if self.runner.is_draining:
                with anyio.move_on_after(2, shield=True):
                    await self.leases.release(debate_id)
                run.notify()

    async def acquire(self, run: Run) -> bool:
        """Whether this process has the lease of a debate now, after waiting until its owner may have another one run.

        A process that is about to end takes none. A mirror needs no turn of its own. Only the first in line looks
        whether it may run, so this process never lets too many run. Two processes that look at the same moment may
        each let one begin.
        """
        owner, debate_id, limit = run.snapshot.owner, run.snapshot.id, self.owner_running
        if self.runner.is_draining:
            return False
        if not limit or run.snapshot.debate.setup.mirror_of:
            return await self.leases.acquire(debate_id)
        queue = self.queues[owner]
        queue.append(run)
        try:
            while not (run.is_finished or self.runner.is_draining):
                # Taken before the look: what changes during it must not be waited for.
                change = run.changed
                if queue[0] is run:
                    running = await self.leases.find_holders(owner)
                    if debate_id in running or len(running) < limit:
                        return await self.leases.acquire(debate_id)
                with anyio.move_on_after(TURN_INTERVAL):
                    await change.wait()
            return False
        finally:
            queue.remove(run)
            self.announce_end()

    def announce_end(self) -> None:
        """Have the first run in each line look again whether it may begin."""
        for queue in filter(None, self.queues.values()):
            queue[0].notify()

    async def maintain_leases(self) -> None:
        """Renew the leases of running debates once a heartbeat, and stop those whose lease is lost."""
        while True:
            if not self.runs:
                self.run_added = anyio.Event()
                await self.run_added.wait()
            await self.share_limits()
            await anyio.sleep(HEARTBEAT_INTERVAL)
            scopes = {name: run.lease_scope for name, run in self.runs.items() if run.lease_scope}
            for name in scopes.keys() - await self.leases.renew(scopes):
                scopes[name].cancel()

    async def share_limits(self) -> None:
        """Take a fair part of the limits of providers: other processes that run debates share them."""
        with suppress(StorageUnavailableError):  # the next heartbeat tries again
            runners = await self.leases.find_runners()
            share = Share(runners.index(self.leases.holder), len(runners))
            self.runner.model_caller.models.guard.set_share(share)

    async def wait(
        self, run: Run, seconds: float, on_change: OnChange, *, through_round: float = TO_END
    ) -> DebateSnapshot:
        """Watch a run for at most so many seconds, until it is done or a round is over.

        A watcher that times out or is cancelled does not affect the run. Raises what stopped the run, or what
        holds it up at the end of the time; a lost database is told at once.
        """
        give_way()
        with anyio.move_on_after(seconds):
            while not (run.done or self.presence.loss or has_reached(run.snapshot.debate, through_round)):
                if self.is_ending:
                    break
                change = run.changed  # before anything is awaited: what comes meanwhile ends the wait at once
                if on_change:
                    await on_change(run.snapshot)
                with anyio.move_on_after(PROGRESS_INTERVAL):
                    await change.wait()
        await self.runner.model_caller.turnstile.enter(run.snapshot.owner)
        if error := run.error or self.presence.loss:
            raise error
        if run.trouble and not has_reached(run.snapshot.debate, through_round):
            raise run.trouble
        return run.snapshot

    async def watch_states(self, snapshot: DebateSnapshot) -> AsyncGenerator[DebateSnapshot]:
        """A debate, and each later state of it, by whichever process, until it has ended.

        Raises:
            StorageUnavailableError: the database is gone, or cannot be read.
        """
        latest, changed = snapshot, anyio.Event()

        def update(newer: DebateSnapshot) -> None:
            nonlocal latest
            if newer.id == latest.id and newer.debate.version > latest.debate.version:
                latest = newer
                changed.set()

        self.store.listeners.append(update)
        try:
            while True:
                current = latest
                yield current
                while latest is current and not current.debate.ended:
                    changed = anyio.Event()
                    with anyio.move_on_after(POLL_INTERVAL):
                        await changed.wait()
                    if latest is current:
                        self.store.check_presence()
                        await self.store.refresh(current)  # calls `update` if another process has written
                if latest is current:
                    return
        finally:
            self.store.listeners.remove(update)

    async def wait_for_other_process(
        self, snapshot: DebateSnapshot, seconds: float, on_change: OnChange
    ) -> DebateSnapshot:
        """Watch a debate for at most so many seconds while another process runs it; never takes it over."""
        give_way()
        version, report_at, own = snapshot.debate.version, -math.inf, self.leases.holder
        with anyio.move_on_after(seconds):
            while snapshot.status == "running" or awaits_client(snapshot.debate):
                if self.is_ending or (await self.leases.find_holders()).get(snapshot.id, own) == own:
                    break
                if on_change and (snapshot.debate.version != version or anyio.current_time() >= report_at):
                    version, report_at = snapshot.debate.version, anyio.current_time() + PROGRESS_INTERVAL
                    await on_change(snapshot)
                await anyio.sleep(POLL_INTERVAL)
                snapshot = await self.store.refresh(snapshot)
        return snapshot
