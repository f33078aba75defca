"""The debates of this process: open, step, wait, intervene, submit.

Debates belong to the process, not to the request that started them: a request that is cancelled or times out
only stops waiting, and a repeated one joins the first. Nothing in memory is worth saving; what a debate needs
next follows from its entries, and any process can continue it.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Self

import anyio

from server.background_tasks import BackgroundTasks
from server.debate.commands.requests import ChangesInput, DebateRequest
from server.debate.commands.submit import build_submission
from server.debate.facts.errors import require
from server.debate.facts.events import Event, Recorded
from server.debate.facts.setup.opened import Opened
from server.debate.interventions.action import Intervention, InterventionRequest
from server.debate.interventions.positions import DeclinePositions, PositionsDeclined, RevisePositions
from server.debate.interventions.registry import BY_NAME, build_intervention
from server.debate.machine.decide import next_round
from server.debate.machine.transitions import replay
from server.debate.records.bounds import check_contribution
from server.debate.rules.budget import ElapsedTime
from server.debate.rules.caller_code import NO_CODE, CallerCode
from server.engine.database import repeats
from server.engine.database.daily_budget import NO_LIMITS, DailyBudget, DailyLimits
from server.engine.database.leases import Leases
from server.engine.database.memory import record_and_withdraw
from server.engine.database.opening import open_debate
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import DebateStore
from server.engine.driver import DebateDriver, OnChange
from server.engine.model_calls import ModelCaller
from server.engine.runner import TO_END, BeforeStep, OnDebateText, Runner
from server.engine.setups import SetupPlanner
from server.models.client import DEFAULT_TERMS, NOBODY, ClientTerms, Guest
from server.redaction import MODEL_FIELDS, redact_model
from server.signing import Signer
from server.turns import give_way
from storage import LOCAL_OWNER
from storage.storage import Storage


def utc_now() -> datetime:
    return datetime.now(UTC)


class DebateManager:
    """One for each process: `async with DebateManager(storage, planner) as manager`.

    `planner`: what debates can use. `owner_running`: see `DebateDriver`. `actor`: who asks
    for it, for the record. `wait`: the most seconds to wait for a result; `on_change`: awaited meanwhile.

    Raises:
        InvalidRequestError: what is asked for is not possible; nothing has changed.
        TwinError: with `joins`, the same actor has opened the same debate.
        DebateNotFoundError: nothing is stored under this id.
        NoModelError: a new debate names no model, and none is configured.
        StorageUnavailableError: the database cannot be used, or an entry was altered.
    """

    def __init__(
        self,
        storage: Storage,
        planner: SetupPlanner,
        *,
        clock: Callable[[], datetime] = utc_now,
        daily_limits: DailyLimits = NO_LIMITS,
        owner_limits: DailyLimits = NO_LIMITS,
        owner_running: int = 0,
        signer: Signer | None = None,
        client_terms: ClientTerms = DEFAULT_TERMS,
    ) -> None:
        self.planner, self.environ = planner, planner.environ
        self.clock, self.client_terms = clock, client_terms
        self.signing_limiter = anyio.CapacityLimiter(1)  # threads that compute hold up the event loop
        self.leases = Leases(storage.leases, clock)
        self.daily_budget = DailyBudget(storage.spending, self.leases, daily_limits, owner_limits)
        self.holder = self.leases.holder  # names this process in leases and claims
        self.store = DebateStore(storage, clock, signer)
        self.held: dict[str, anyio.Event] = {}  # debates that wait for somebody to confirm their positions
        self.asked = dict[
            tuple[str, str], float
        ]()  # when a person was asked: (debate id, key of a call or form)
        self._text_listeners, self._before_steps = list[OnDebateText](), list[BeforeStep]()
        self._tasks = tasks = BackgroundTasks()
        self.start_task, self.keep_running = tasks.start, tasks.keep_running  # until the manager closes
        caller = ModelCaller(planner.models, planner.research)
        self._turnstile = caller.turnstile
        listeners = (self._text_listeners, self._before_steps)
        runner = Runner(self.store, caller, self.daily_budget, self.leases.has_lease, *listeners)
        self._driver = driver = DebateDriver(self.store, runner, self.leases, tasks, owner_running)
        self.presence, self.failures = driver.presence, driver.failures
        self.clients, self.run_watchers = driver.clients, driver.run_watchers
        self.attend, self.await_person = driver.attend, driver.await_person
        self.is_working, self.find_holdup = driver.is_working, driver.find_holdup
        self.end_waits, self.hand_over = driver.end_waits, driver.hand_over
        self.presence.reopening_listeners.append(self.store.recent.clear)

    def of(self, owner: str) -> Self:
        """As one owner sees it: another's debate is an id that never was. Whoever works for a caller has only this.

        What it opens is theirs. Recovery, hooks and upkeep have the manager of all.
        """
        own = copy(self)
        own.store = self.store.of(owner)
        return own

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self.keep_running(self._driver.maintain_leases)
        self.keep_running(self.presence.watch)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.__aexit__()

    async def load(self, debate_id: str) -> DebateSnapshot:
        return await self.store.load(debate_id)

    async def plan(self, request: DebateRequest) -> Opened:
        """The set-up that a request asks for. Nothing is recorded, and no model is asked. Raises as `start`."""
        ledger = self.store.name_ledger(self.store.owner or LOCAL_OWNER)
        return await self.planner.plan(request, self.store.storage.ledger, ledger)

    async def start(
        self,
        request: DebateRequest,
        *,
        actor: str,
        code: CallerCode = NO_CODE,
        hold: bool = False,
        joins: repeats.Joins = False,
        guest: Guest = NOBODY,
    ) -> DebateSnapshot:
        """Open a debate, have its positions named, and run it if `request.run` is set.

        `code` is called by this process only. `hold`: not before `release`, so that positions can be confirmed.
        """
        await self._turnstile.enter(self.store.owner or LOCAL_OWNER)
        setup = await self.plan(request)
        identity = repeats.build_identity(joins, start=request)
        return await self._create(setup, (), actor, code, identity, guest, hold=hold)

    async def join(self, debate_id: str, *, run: bool) -> DebateSnapshot:
        """The debate of an earlier request: run to its end, or as far as naming its positions."""
        snapshot = await self._load_current(debate_id)
        if debate_id not in self.held:
            if run and not snapshot.debate.find_interventions(PositionsDeclined):
                self.run_to_end(snapshot)
            elif snapshot.debate.setup.needs_framing and snapshot.status == "running":
                self._driver.ensure_running(snapshot, 0)
        return snapshot

    def count_waiting(self) -> dict[str, int]:
        """By owner: debates of this process that wait until fewer of their owner's run."""
        return {owner: len(queue) for owner, queue in list(self._driver.queues.items()) if queue}

    def release(self, debate_id: str) -> None:
        """End the hold of a debate that was started with `hold`."""
        if hold := self.held.pop(debate_id, None):
            hold.set()

    async def wait_for_positions(
        self, snapshot: DebateSnapshot, *, wait: float, on_change: OnChange = None
    ) -> DebateSnapshot:
        """Wait until the positions of a debate that was just opened are named."""
        run = self._driver.runs.get(snapshot.id)
        return await self._driver.wait(run, wait, on_change, through_round=0) if run else snapshot

    async def revise_positions(
        self, debate_id: str, stances: Mapping[str, str], *, actor: str
    ) -> DebateSnapshot:
        """Put proposed positions into other words before the first round. `stances`: by debater."""
        snapshot, request = await self.load(debate_id), InterventionRequest(stances=stances)
        snapshot, _ = await self._record_with_retry(
            snapshot, lambda current: RevisePositions().take(current.debate, request), actor
        )
        return snapshot

    async def decline_positions(self, debate_id: str, *, actor: str) -> DebateSnapshot:
        """Leave a debate that was to be run, and has not begun, to whoever steps it."""
        snapshot, request = await self.load(debate_id), InterventionRequest()
        snapshot, _ = await self._record_with_retry(
            snapshot, lambda current: DeclinePositions().take(current.debate, request), actor
        )
        return snapshot

    async def fork(
        self,
        debate_id: str,
        at_round: int,
        changes: ChangesInput,
        *,
        actor: str,
        code: CallerCode = NO_CODE,
        joins: repeats.Joins = False,
        guest: Guest = NOBODY,
    ) -> DebateSnapshot:
        """Open a new debate with the first rounds of this one; run it if `changes.run` is set."""
        parent = await self.load(debate_id)
        setup, inherited_events = self.planner.plan_fork(parent, at_round, changes)
        identity = repeats.build_identity(joins, fork=debate_id, at_round=at_round, changes=changes)
        return await self._create(setup, inherited_events, actor, code, identity, guest, parent)

    async def _create(
        self,
        setup: Opened,
        inherited_events: Sequence[Event],
        actor: str,
        code: CallerCode,
        identity: repeats.RequestIdentity | None,
        guest: Guest,
        parent: DebateSnapshot | None = None,
        *,
        hold: bool = False,
    ) -> DebateSnapshot:
        """Record a debate, unless it names models or research servers that cannot be used here."""
        setup = await self.planner.complete(setup, code)
        check_contribution([setup], actor)
        await guest.approve(replay((setup, *inherited_events)))
        with anyio.CancelScope(shield=True):  # a debate that was recorded is also run
            snapshot = await open_debate(
                self.store, (setup, *inherited_events), actor, identity, made_from=parent
            )
        if code:
            self._driver.code[snapshot.id] = code
        if guest.client:
            self.attend(snapshot.id, guest.client)
        if hold and setup.needs_framing:
            self.held[snapshot.id] = anyio.Event()
        elif setup.run:
            self._driver.ensure_running(snapshot, TO_END, is_new=True)
        if setup.needs_framing:
            self._driver.ensure_running(snapshot, 0)
        return snapshot

    async def step(
        self, debate_id: str, *, expected_round: int = 0, wait: float, on_change: OnChange = None
    ) -> DebateSnapshot:
        """Run the next round, or join the one under way. `expected_round`: at most the next one, or 0."""
        snapshot = await self._load_current(debate_id)
        if snapshot.debate.ended:
            return snapshot
        round_number = next_round(snapshot.debate)
        problem = f"Round {expected_round} cannot run yet: pass round={round_number}, the next one."
        require(expected_round <= round_number, problem)
        if 0 < expected_round < round_number or not self._driver.can_run(snapshot):
            return snapshot
        snapshot = await self.store.claim(debate_id)
        run = self._driver.ensure_running(snapshot, round_number)
        return await self._driver.wait(run, wait, on_change, through_round=round_number)

    async def follow(self, debate_id: str, *, wait: float, on_change: OnChange = None) -> DebateSnapshot:
        """Wait while this or another process runs the debate."""
        deadline = anyio.current_time() + wait
        if hold := self.held.get(debate_id):
            await self.load(debate_id)  # it may be another's
            give_way()
            with anyio.move_on_after(wait):
                await hold.wait()
        wait = max(deadline - anyio.current_time(), 0)
        run = self._driver.find_run_to_end(debate_id, self.store.owner)
        snapshot = run.snapshot if run else await self._load_current(debate_id)
        if snapshot.status == "waiting" and self._driver.can_run(snapshot):  # of a round that is stepped
            self._driver.ensure_running(snapshot, snapshot.debate.round)
        if run := self._driver.runs.get(debate_id):
            return await self._driver.wait(run, wait, on_change)
        return await self._driver.wait_for_other_process(snapshot, wait, on_change)

    def run_to_end(self, snapshot: DebateSnapshot) -> None:
        """Run a debate to its end, even one that was opened to be stepped, unless it waits for somebody."""
        self.release(snapshot.id)
        if self._driver.can_run(snapshot) and not self.store.storage.is_read_only:
            self._driver.ensure_running(snapshot, TO_END)

    async def submit(
        self,
        debate_id: str,
        speaker: str,
        text: str,
        *,
        actor: str,
        wait: float = 0,
        on_change: OnChange = None,
    ) -> tuple[DebateSnapshot, str]:
        """Record a turn that the caller has written, and continue the round.

        The text is what to say of a turn that was recorded before: it is recorded once. "" for a new one.
        """

        def submit(current: DebateSnapshot) -> Intervention:
            repeated = repeats.find_repeated_turn(current.entries, current.debate, speaker, text)
            return repeated or Intervention((build_submission(current.debate, speaker, text, actor),), "")

        snapshot, told = await self._record_with_retry(await self.store.claim(debate_id), submit, actor)
        if not self._driver.can_run(snapshot):
            return snapshot, told
        through_round = TO_END if snapshot.is_unattended else snapshot.debate.round
        run = self._driver.ensure_running(snapshot, through_round)
        return await self._driver.wait(run, wait, on_change, through_round=through_round), told

    async def intervene(
        self, debate_id: str, action: str, request: InterventionRequest, *, actor: str, run: bool = True
    ) -> tuple[DebateSnapshot, str]:
        """Change the course of a debate. Returns it, and a sentence on when the change takes effect.

        A repeat with the same `request.request_id` changes nothing. Without `run` this process does not go on with it.
        """
        snapshot = await self.load(debate_id)
        if repeated := repeats.find_repeated(snapshot.entries, action, request):
            return snapshot, repeated.effect
        if action in BY_NAME and BY_NAME[action].goes_on:
            snapshot = await self.store.claim(debate_id)
        request = await self.planner.complete_replacement(request)
        age = (self.clock() - datetime.fromisoformat(snapshot.entries[0].at)).total_seconds()
        request = replace(request, elapsed=ElapsedTime(age), is_stepped=not snapshot.is_unattended)

        def intervene(current: DebateSnapshot) -> Intervention:
            repeated = repeats.find_repeated(current.entries, action, request)  # by another process, just now
            return repeated or build_intervention(current.debate, action, request)

        snapshot, effect = await self._record_with_retry(snapshot, intervene, actor)
        if run and snapshot.is_unattended:
            self.run_to_end(snapshot)
        return snapshot, effect

    async def find_runs(self) -> set[str]:
        """Ids of the debates that this or another process runs now."""
        return await self._driver.find_runs(self.store.owner)

    async def is_run(self, debate_id: str) -> bool:
        """Whether this or another process runs the debate now."""
        return self.is_working(debate_id) or debate_id in await self.find_runs()

    async def watch_states(self, debate_id: str) -> AsyncGenerator[DebateSnapshot]:
        """The debate, and each later state of it, by whichever process, until it has ended."""
        async with aclosing(self._driver.watch_states(await self.load(debate_id))) as states:
            async for snapshot in states:
                yield snapshot

    async def watch(self, debate_id: str, *, since_seq: int = 0) -> AsyncGenerator[Recorded]:
        """Every entry after this one, each once, in order, by whichever process, until the debate has ended.

        It holds what the record holds: answers of hidden seats, and those that the caller is not shown yet.
        """
        seq = max(since_seq, 0)
        async with aclosing(self.watch_states(debate_id)) as states:
            async for snapshot in states:
                for entry in snapshot.entries[seq:]:
                    seq = entry.seq
                    yield entry

    def subscribe_to_text(self, on_text: OnDebateText) -> Callable[[], None]:
        """Call `on_text` with each chunk of a reply. Replies are streamed only while somebody subscribes."""

        def filter_own(debate_id: str, seat: str, chunk: str) -> None:
            if self._driver.is_running_for(self.store.owner, debate_id):
                on_text(debate_id, seat, chunk)

        self._text_listeners.append(filter_own)
        return partial(self._text_listeners.remove, filter_own)

    def wait_before_steps(self, before_step: BeforeStep) -> Callable[[], None]:
        """Have each step of a debate wait for `before_step(debate_id)`. Returns what ends that."""
        self._before_steps.append(before_step)
        return partial(self._before_steps.remove, before_step)

    async def _load_current(self, debate_id: str) -> DebateSnapshot:
        """The debate, resumed if its pause is over, and running if it runs unattended."""
        snapshot = await self.store.resume_if_due(await self.load(debate_id))
        if snapshot.is_unattended and debate_id not in self.held:
            self.run_to_end(snapshot)
        return snapshot

    async def _record_with_retry(
        self, snapshot: DebateSnapshot, build: Callable[[DebateSnapshot], Intervention], actor: str
    ) -> tuple[DebateSnapshot, str]:
        """Record what `build` returns; it is called again each time another writer was first."""
        while built := (intervention := build(snapshot)).events:
            events = [redact_model(event, MODEL_FIELDS) for event in built]
            check_contribution(events, actor)
            with anyio.CancelScope(shield=True):  # a cancelled caller does not undo what was recorded
                snapshot = await record_and_withdraw(self.store, snapshot, events, actor)
            if snapshot.ends_with(events[-1]):
                break
        return snapshot, intervention.effect
