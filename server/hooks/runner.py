"""Runs the hooks of one process, for as long as its debate manager is open.

Two steps, each of which any process on the database may take. *Scan*: every entry is matched once, in order,
and the resulting items go into the outbox together with the position reached. Of the processes with the same hooks one
does that, which has a lease for as long as there is something to scan; before a debate goes on, the process that runs
it scans too, if hooks intervene. What two have scanned is stored once. *Deliver*: each action of each
hook has a queue, and at most one worker among all processes, which has the lease of the queue. It performs the
first item and then completes it, and goes on to the next; an item to be tried again holds up those behind it. So
deliveries keep their order, an interrupted one is repeated, and a slow one delays only its own queue.
"""

import hashlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio

from server.debate.facts.errors import InvalidRequestError
from server.debate.interventions.action import InterventionRequest
from server.engine.database.errors import (
    DebateNotFoundError,
    StorageUnavailableError,
    translate_storage_errors,
)
from server.engine.database.leases import HEARTBEAT_INTERVAL, HOOK_PREFIX
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.hooks.address_policy import Resolver, resolve
from server.hooks.config import Action, Hook, HooksConfig
from server.hooks.matching import collect_fields, fill_template
from server.hooks.scanner import (
    ACTOR_PREFIX,
    EntryScanner,
    PastDebates,
    is_recent,
)
from server.hooks.webhook import DeliveryResult, build_body, build_headers, post
from storage.errors import StorageError
from storage.outbox import Outbox, OutboxItem

POLL_INTERVAL = 0.5  # seconds between checks for entries of other processes and items that became due
SETTLE_SECONDS = 5.0  # that a step of a debate waits for interventions
SETTLE_POLL_INTERVAL = 0.05  # seconds between checks for interventions made by another process
SHUTDOWN_SECONDS = 0.5  # for deliveries when the manager closes; the next process does the rest
HOOK_LEASE_SECONDS = (
    5.0  # until another process scans or delivers in place of one that died on another machine
)
RELEASE_SECONDS = 0.25  # to give a lease up when the process ends during a delivery
ERROR_PAUSE = 0.5  # seconds
RETRY_DELAYS = (1.0, 5.0, 30.0, 120.0, 600.0, 1800.0)  # seconds; the last one repeats
MAX_ATTEMPTS = 7  # for logs and interventions; a webhook has its own number
MAX_INTERVENTIONS = 20  # by all hooks together, in one debate
MAX_LINE_LENGTH = 2000
MAX_TEXT_LENGTH = 4000

logger = logging.getLogger(__name__)
hook_logger = logging.getLogger("counterpoint.hooks")


@asynccontextmanager
async def run_hooks(
    config: HooksConfig,
    manager: DebateManager,
    outbox: Outbox,
    *,
    retry_delays: Sequence[float] = RETRY_DELAYS,
    resolver: Resolver = resolve,
) -> AsyncIterator[None]:
    """Run hooks until the context ends, inside an open manager. May raise StorageUnavailableError at the start."""
    if not config.hooks:
        yield
        return
    past = PastDebates(manager.store.load_past)
    scanner = EntryScanner(config, outbox, past, manager.clock)
    runner = HookRunner(config, manager, outbox, past, scanner, resolver, retry_delays)
    if hook_logger.level == logging.NOTSET:  # log lines of hooks appear at every log level
        hook_logger.setLevel(logging.INFO)
    with translate_storage_errors():
        await scanner.register()
        await runner.drop_overdue()
    endings = [manager.store.subscribe(runner.handle_commit)]
    if any(action.intervene for hook in config.hooks for action in hook.do):
        endings.append(manager.wait_before_steps(runner.settle))
    manager.presence.reopening_listeners.append(runner.forget_journal)
    manager.keep_running(runner.run)
    manager.keep_running(runner.maintain_leases)
    try:
        yield
    finally:
        for end in endings:
            end()
        with anyio.move_on_after(SHUTDOWN_SECONDS, shield=True):
            await runner.finish()


@dataclass(slots=True, eq=False)
class HookRunner:
    """The workers of this process. A queue is an action of a hook; its index is that in `hook.do`."""

    config: HooksConfig
    manager: DebateManager
    outbox: Outbox
    past: PastDebates
    scanner: EntryScanner
    resolver: Resolver
    retry_delays: Sequence[float]
    active: set[tuple[str, int]] = field(default_factory=set)  # queues with a worker
    wakeup: anyio.Event = field(default_factory=anyio.Event)  # set when there may be work, or less of it
    poll_lock: anyio.Lock = field(default_factory=anyio.Lock)
    intervention_lock: anyio.Lock = field(default_factory=anyio.Lock)
    is_failing: bool = False
    is_registered: bool = True
    has_turn: bool = False  # to scan
    asks_again_at: float = 0.0  # for the turn, after another process had it

    def now(self) -> float:
        return self.manager.clock().timestamp()

    def wake(self) -> None:
        self.wakeup.set()
        self.wakeup = anyio.Event()

    def handle_commit(self, _snapshot: DebateSnapshot) -> None:
        self.wake()

    async def run(self) -> None:
        """Poll after every commit and at least every `POLL_INTERVAL`."""
        while True:
            wakeup = self.wakeup
            if not await self.poll():
                with anyio.move_on_after(POLL_INTERVAL):
                    await wakeup.wait()

    async def maintain_leases(self) -> None:
        """Renew the leases of queues with a worker once a heartbeat."""
        while True:
            await anyio.sleep(HEARTBEAT_INTERVAL)
            if names := [lease_name(*queue) for queue in self.active]:
                await self.manager.leases.renew(names, HOOK_LEASE_SECONDS)

    async def poll(self, *, at_once: bool = False) -> bool:
        """Scan new entries and start workers; whether there are more entries.

        `at_once`: scan even if that is another process's turn.
        """
        try:
            async with self.poll_lock:
                await self.register_again()
                has_more = (at_once or await self.takes_turn()) and await self.scanner.scan()
                await self.start_due_workers()
        except (StorageError, StorageUnavailableError):  # the journal logs it; the next poll tries again
            return False
        except Exception:
            if not self.is_failing:
                logger.exception("Hooks could not scan the journal; retrying")
            self.is_failing = True
            return False
        self.is_failing = False
        return has_more

    async def takes_turn(self) -> bool:
        """Whether there is something to scan, and this process is to do it."""
        if anyio.current_time() < self.asks_again_at or not await self.scanner.has_news():
            return False
        had_turn, leases = self.has_turn, self.manager.leases
        self.has_turn = await leases.keep(name_scan(self.config), HOOK_LEASE_SECONDS)
        if not (had_turn and self.has_turn):
            await self.scanner.catch_up()
        if not self.has_turn:
            self.asks_again_at = anyio.current_time() + POLL_INTERVAL
        return self.has_turn

    async def settle(self, debate_id: str) -> None:
        """Wait until the hooks have intervened for what is recorded of a debate, `SETTLE_SECONDS` at most."""
        with anyio.move_on_after(SETTLE_SECONDS):
            while await self.poll(at_once=True):
                pass
            while await self.is_intervening(debate_id):
                wakeup = self.wakeup
                with anyio.move_on_after(SETTLE_POLL_INTERVAL):
                    await wakeup.wait()
            return
        logger.warning("Debate %s goes on before hooks have intervened: they take too long", debate_id)

    async def is_intervening(self, debate_id: str) -> bool:
        """Whether an intervention in a debate is still to be made, by whichever process."""
        try:
            queues = await self.outbox.find_queues(debate_id)
        except StorageError:  # the next step of the debate will say so
            return False
        actions = {
            (hook.name, index): action for hook in self.config.hooks for index, action in enumerate(hook.do)
        }
        return any(actions[queue].intervene for queue in queues if queue in actions)

    def forget_journal(self) -> None:
        """Another database is used now, in which the hooks are new."""
        self.is_registered = False

    async def register_again(self) -> None:
        if not self.is_registered:
            self.past.clear()
            self.has_turn, self.asks_again_at = False, 0.0
            await self.scanner.register()
            self.is_registered = True

    async def finish(self) -> None:
        """Scan the last entries and wait for the workers. Another process may scan from then on."""
        has_more = True
        while has_more or self.active:
            wakeup = self.wakeup
            has_more = await self.poll()
            if not has_more and self.active:
                await wakeup.wait()
        await self.manager.leases.release(name_scan(self.config))

    async def drop_overdue(self) -> None:
        if count := await self.outbox.delete_overdue(self.now() - self.config.max_age_hours * 3600):
            logger.warning("Dropped %d hook deliveries that were overdue", count)

    async def start_due_workers(self) -> None:
        """Start a worker for every queue whose first item is due, unless it has one in any process."""
        hooks = {hook.name: hook for hook in self.config.hooks}
        queues = [
            queue for queue in await self.outbox.find_due_queues(self.now()) if queue not in self.active
        ]
        holders = await self.manager.leases.find_holders() if queues else {}
        for name, index in queues:
            hook = hooks.get(name)
            is_free = holders.get(lease_name(name, index), self.manager.holder) == self.manager.holder
            if hook and 0 <= index < len(hook.do) and is_free:
                self.active.add((name, index))
                self.manager.start_task(self.run_worker, hook, index)

    async def run_worker(self, hook: Hook, index: int) -> None:
        leases, lease = self.manager.leases, lease_name(hook.name, index)
        try:
            while await leases.acquire(lease, HOOK_LEASE_SECONDS):
                item = await self.outbox.find_first(hook.name, index, self.now())
                if item is None:
                    break
                await self.process(hook, item)
        except Exception as error:  # the item is delivered again
            if not isinstance(error, StorageError | StorageUnavailableError):  # which the journal logs
                logger.exception("The worker of hook %s stopped; it restarts", hook.name)
            await anyio.sleep(ERROR_PAUSE)
        finally:
            with anyio.move_on_after(RELEASE_SECONDS, shield=True):
                await leases.release(lease)
            self.active.discard((hook.name, index))
            self.wake()

    async def process(self, hook: Hook, item: OutboxItem) -> None:
        """Attempt a delivery, then complete or reschedule its item."""
        action = hook.do[item.queue_index]
        result = await self.deliver(hook, action, item)
        attempts = item.attempts + 1
        max_attempts = action.webhook.attempts if action.webhook else MAX_ATTEMPTS
        if result.error and result.is_retryable and attempts < max_attempts:
            delay = self.retry_delays[min(attempts, len(self.retry_delays)) - 1]
            due_at = self.now() + max(result.retry_after, delay)
            await self.outbox.reschedule(replace(item, due_at=due_at, attempts=attempts))
            return
        if result.error:
            logger.warning(
                "Hook %s gave up on entry %d of debate %s, attempt %d: %s",
                *(hook.name, item.seq, item.stream, attempts, result.error),
            )
        await self.outbox.complete(item)

    async def deliver(self, hook: Hook, action: Action, item: OutboxItem) -> DeliveryResult:
        try:
            snapshot = await self.past.load(item.stream, item.seq)
            entry = snapshot.entries[item.seq - 1]
            debate = self.past.find(lease_name(hook.name, item.queue_index), snapshot, item.seq)
            if not is_recent(entry, self.manager.clock(), self.config.max_age_hours):
                return DeliveryResult("it is older than max_age_hours")
            if action.webhook:
                body = build_body(item, debate, entry)
                secret = self.manager.environ[action.webhook.secret_env]
                headers = build_headers(item.id, int(self.now()), body, secret)
                return await post(action.webhook, body, headers, self.config.allow, self.resolver)
            fields = {
                **collect_fields(item.stream, snapshot.owner, debate, entry, item.event),
                "hook": (hook.name,),
            }
            if action.intervene:
                request = InterventionRequest(
                    text=fill_template(action.intervene.text, fields, MAX_TEXT_LENGTH),
                    to=fill_template(action.intervene.to, fields, MAX_LINE_LENGTH),
                    reason=f"entry {item.seq}",
                    request_id=item.id,
                )
                return await self.intervene(hook, item.stream, action.intervene.action, request)
            hook_logger.info("%s", fill_template(action.log or "", fields, MAX_LINE_LENGTH))
        except (DebateNotFoundError, StorageUnavailableError) as error:
            return DeliveryResult(str(error), is_retryable=isinstance(error, StorageUnavailableError))
        except Exception as error:
            logger.exception("Hook %s failed on entry %d of debate %s", hook.name, item.seq, item.stream)
            return DeliveryResult(type(error).__name__, is_retryable=True)
        return DeliveryResult()

    async def intervene(
        self, hook: Hook, debate_id: str, action: str, request: InterventionRequest
    ) -> DeliveryResult:
        """Intervene. It is done once, even if a process died before it completed the item."""
        async with self.intervention_lock:
            snapshot = await self.manager.load(debate_id)
            if snapshot.is_foreign:
                return DeliveryResult("this installation did not record the debate")
            entries = [entry for entry in snapshot.entries if entry.actor.startswith(ACTOR_PREFIX)]
            is_repeat = any(getattr(entry.event, "request_id", "") == request.request_id for entry in entries)
            if not is_repeat and len(entries) >= MAX_INTERVENTIONS:
                return DeliveryResult(f"hooks have intervened {len(entries)} times, the maximum for a debate")
            try:
                await self.manager.intervene(debate_id, action, request, actor=ACTOR_PREFIX + hook.name)
            except (InvalidRequestError, DebateNotFoundError) as error:
                return DeliveryResult(str(error))
        return DeliveryResult()


def lease_name(hook_name: str, queue_index: int) -> str:
    """The name of a queue's lease. No debate has such an id."""
    return f"{HOOK_PREFIX}{hook_name} {queue_index}"


def name_scan(config: HooksConfig) -> str:
    """The name of the lease of who scans for these hooks. No queue has it."""
    hooks = "".join(hook.model_dump_json() for hook in config.hooks)
    return f"{HOOK_PREFIX}* {hashlib.sha256(hooks.encode()).hexdigest()[:16]}"
