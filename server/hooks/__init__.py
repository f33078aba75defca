"""Hooks: what is to be done when something happens in a debate. Rules over committed events.

Two steps, each of which any process on the database may take. *Noticing*: every entry of the journal is
looked at once, in the order it was written, and what a hook has to do about it goes into the outbox, with
the place that was looked at, in one transaction. *Delivering*: each action of each hook has a queue and
at most one worker, which claims an item, does it, and only then takes it out. So whatever is killed is
done again, and what hangs holds up its own queue and nothing else.

Debates know nothing of this, but for the word that there is something to look at.
"""

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

import anyio

from server.debate.commands.intervene import InterventionRequest
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Recorded
from server.debate.facts.state import Debate
from server.debate.rules.transitions import replay
from server.engine.debates import DebateManager
from server.engine.errors import DebateNotFoundError, StorageUnavailableError, translate_storage_errors
from server.engine.leases import is_gone
from server.engine.store import DebateSnapshot
from server.hooks.address_policy import Resolver, resolve
from server.hooks.config import Action, Hook, HooksConfig, InterventionAction, Webhook, load_hooks_config
from server.hooks.matching import collect_fields, fill_template, is_condition_match, is_event_match
from server.hooks.webhook import DeliveryResult, WebhookSender, build_body, compute_signature
from server.settings import package_version
from storage.journal import DamagedStreamError, StorageError
from storage.outbox import EntryReference, Outbox, OutboxItem

__all__ = ["HookRunner", "load_hooks_config"]

POLL_INTERVAL = 0.5
"""Seconds between looks for what other processes wrote, and for what is due again."""

MAX_ENTRIES_PER_POLL = 500
"""Entries that are looked at in one go."""

RETRY_DELAYS = (1.0, 5.0, 30.0, 120.0, 600.0, 1800.0)
"""Seconds before each attempt after the first; the last one counts for all that follow."""

MAX_ATTEMPTS = 7
"""Of an action that is no webhook, which has its own number."""

CLAIM_SECONDS = 30.0
"""Seconds that something may take beside what its webhook may."""

SHUTDOWN_SECONDS = 0.5
"""Seconds for what is due when the hall is closed. What is not done by then is done next time."""

MAX_INTERVENTIONS = 20
"""Of all hooks together, in one debate."""

MAX_LINE_LENGTH = 2000
MAX_TEXT_LENGTH = 4000
MAX_CACHED_SNAPSHOTS = 64

ACTOR_PREFIX = "hook "

logger = logging.getLogger(__name__)
hook_logger = logging.getLogger("counterpoint.hooks")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One action of one hook about one event."""

    id: str
    hook: Hook
    snapshot: DebateSnapshot
    debate: Debate  # as it stood then
    entry: Recorded

    def fill(self, template: str, max_length: int) -> str:
        fields = collect_fields(self.snapshot.id, self.debate, self.entry)
        return fill_template(template, {**fields, "hook": self.hook.name}, max_length)


class HookRunner:
    """Open it in an open hall: `async with Hooks.open(rules, hall, outbox)`."""

    def __init__(
        self,
        config: HooksConfig,
        manager: DebateManager,
        outbox: Outbox,
        retry_delays: Sequence[float],
        resolver: Resolver,
    ) -> None:
        self.config = config
        self.hooks_by_name = {hook.name: hook for hook in config.hooks}
        self.manager = manager
        self.outbox = outbox
        self.retry_delays = retry_delays
        self.webhook_sender = WebhookSender(config.allow, resolver)
        self.owner = manager.owner
        self.start_positions: dict[str, int] = {}
        self.position = 0
        self.saved_position = 0  # the position that the outbox knows of
        self.snapshots: OrderedDict[str, DebateSnapshot] = (
            OrderedDict()
        )  # the last ones seen, to save reading them
        self.active_queues: set[tuple[str, int]] = set()
        self.wakeup = anyio.Event()
        self.poll_lock = anyio.Lock()
        self.intervention_lock = anyio.Lock()
        self.is_failing = False

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        config: HooksConfig,
        manager: DebateManager,
        outbox: Outbox,
        *,
        retry_delays: Sequence[float] = RETRY_DELAYS,
        resolver: Resolver = resolve,
    ) -> AsyncIterator[None]:
        """Run hooks for as long as the hall is open.

        Raises:
            Unreadable: the database cannot be used.
        """
        if not config.hooks:
            yield
            return
        self = cls(config, manager, outbox, retry_delays, resolver)
        if hook_logger.level == logging.NOTSET:  # who asks for a line wants to see it
            hook_logger.setLevel(logging.INFO)
        with translate_storage_errors():
            await self.prepare()
        unsubscribe = manager.subscribe(self.on_commit)
        manager.start_task(self.run)
        try:
            yield
        finally:
            unsubscribe()
            with anyio.move_on_after(SHUTDOWN_SECONDS, shield=True):
                await self.finish()

    async def prepare(self) -> None:
        marks = {name: await self.outbox.register(name) for name in self.hooks_by_name}
        self.start_positions = {name: mark.start for name, mark in marks.items()}
        self.position = self.saved_position = min(mark.position for mark in marks.values())
        for owner in await self.outbox.owners():
            if is_gone(owner):
                await self.outbox.release_claims(owner)
        if count := await self.outbox.delete_overdue(self.now() - self.config.max_age_hours * 3600):
            logger.warning("%d deliveries of hooks were given up: they waited too long", count)

    def on_commit(self, snapshot: DebateSnapshot) -> None:
        self.cache_snapshot(snapshot)
        self.wake()

    def wake(self) -> None:
        self.wakeup.set()
        self.wakeup = anyio.Event()

    def now(self) -> float:
        return self.manager.now().timestamp()

    # Noticing ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Look whenever there may be something to do. Raises nothing."""
        while True:
            changed = self.wakeup
            if not await self.poll():
                with anyio.move_on_after(POLL_INTERVAL):
                    await changed.wait()

    async def poll(self) -> bool:
        """Notice what is new and start on what is due; whether there is more that is new."""
        try:
            async with self.poll_lock:
                more = await self.scan_entries()
                for queue in await self.outbox.due_queues(self.now()):
                    self.start_worker(*queue)
        except Exception:  # a busy database now is no reason to stop
            if not self.is_failing:
                logger.exception("What hooks have to do could not be looked up; it is tried again")
            self.is_failing = True
            return False
        self.is_failing = False
        return more

    async def scan_entries(self) -> bool:
        noted = await self.outbox.entries_after(self.position, limit=MAX_ENTRIES_PER_POLL)
        if not noted and self.position == self.saved_position:
            return False
        items: list[OutboxItem] = []
        now = self.now()  # one for all, so that what is due is ordered by position
        for debate_id, entries in groupby(sorted(noted, key=lambda one: one.stream), lambda one: one.stream):
            items += await self.find_items(debate_id, list(entries), now)
        until = noted[-1].position if noted else self.position
        if items or not noted:  # a place where nothing was found is kept once it is quiet
            await self.outbox.put(
                list(self.hooks_by_name), until, sorted(items, key=lambda item: item.position)
            )
            self.saved_position = until
        self.position = max(until, self.position)
        return len(noted) == MAX_ENTRIES_PER_POLL

    async def find_items(
        self, debate_id: str, references: Sequence[EntryReference], now: float
    ) -> list[OutboxItem]:
        """What is to be done about entries of one debate, which are in order."""
        listening = [
            hook for hook in self.config.hooks if references[0].stream_start > self.start_positions[hook.name]
        ]
        if not listening:
            return []
        try:
            case = await self.load_snapshot(debate_id, references[-1].seq)
        except StorageUnavailableError as error:
            if is_transient(error):
                raise
            logger.warning("Hooks pass over debate %s: %s", debate_id, error)
            return []
        items = []
        for one in references:
            entry = case.entries[one.seq - 1]
            hooks = [hook for hook in listening if is_event_match(hook.on, entry.event)]
            if hooks and self.is_recent(entry):
                fields = collect_fields(debate_id, debate_at(case, one.seq), entry)
                for hook in hooks:
                    if is_condition_match(hook.when, fields):
                        items += self.build_items(hook, debate_id, one, entry, now)
        return items

    def build_items(
        self, hook: Hook, debate_id: str, reference: EntryReference, entry: Recorded, now: float
    ) -> list[OutboxItem]:
        """One for each action. What a hook has done moves no hook to intervene: that would never end."""
        return [
            OutboxItem(
                build_delivery_id(hook.name, debate_id, reference.seq, slot),
                *(hook.name, slot, debate_id, reference.seq, reference.position),
                due_at=now,
            )
            for slot, action in enumerate(hook.do)
            if not (action.intervene and entry.actor.startswith(ACTOR_PREFIX))
        ]

    def is_recent(self, entry: Recorded) -> bool:
        return self.manager.now() - datetime.fromisoformat(entry.at) <= timedelta(
            hours=self.config.max_age_hours
        )

    async def load_snapshot(self, debate_id: str, seq: int) -> DebateSnapshot:
        """The debate with at least so many entries."""
        case = self.snapshots.get(debate_id)
        if case is None or case.debate.version < seq:
            case = await self.manager.load(debate_id)
            self.cache_snapshot(case)
        return case

    def cache_snapshot(self, snapshot: DebateSnapshot) -> None:
        self.snapshots[snapshot.id] = snapshot
        self.snapshots.move_to_end(snapshot.id)
        if len(self.snapshots) > MAX_CACHED_SNAPSHOTS:
            self.snapshots.popitem(last=False)

    # Delivering ----------------------------------------------------------------------------------

    def start_worker(self, hook_name: str, queue_index: int) -> None:
        """Put a worker on a queue of this file, unless there is one."""
        hook = self.hooks_by_name.get(hook_name)
        if hook and queue_index < len(hook.do) and (hook_name, queue_index) not in self.active_queues:
            self.active_queues.add((hook_name, queue_index))
            self.manager.start_task(self.drain_queue, hook, queue_index)

    async def drain_queue(self, hook: Hook, queue_index: int) -> None:
        """Empty a queue. Raises nothing."""
        action = hook.do[queue_index]
        seconds = CLAIM_SECONDS + (action.webhook.timeout if action.webhook else 0)
        try:
            while item := await self.outbox.claim(
                hook.name, queue_index, self.owner, now=self.now(), seconds=seconds
            ):
                await self.process_item(hook, action, item)
        except Exception:  # its claim runs out, and it is done again
            logger.exception("Hook %s stopped; it goes on soon", hook.name)
            await anyio.sleep(POLL_INTERVAL)
        finally:
            self.active_queues.discard((hook.name, queue_index))
            self.wake()

    async def process_item(self, hook: Hook, action: Action, item: OutboxItem) -> None:
        """Do one thing, and take it out of the outbox, or put it off."""
        try:
            outcome = await self.deliver(hook, action, item)
        except BaseException:
            with anyio.move_on_after(SHUTDOWN_SECONDS / 2, shield=True):
                await self.outbox.reschedule(item, self.owner)
            raise
        tried = item.attempts + 1
        most = action.webhook.attempts if action.webhook else MAX_ATTEMPTS
        if outcome.error and outcome.is_retryable and tried < most:
            wait = max(outcome.retry_after, self.retry_delays[min(tried, len(self.retry_delays)) - 1])
            await self.outbox.reschedule(replace(item, due_at=self.now() + wait, attempts=tried), self.owner)
            return
        if outcome.error:
            logger.warning(
                "Hook %s gave up on entry %d of debate %s, attempt %d: %s",
                *(hook.name, item.seq, item.stream, tried, outcome.error),
            )
        await self.outbox.complete(item, self.owner)

    async def deliver(self, hook: Hook, action: Action, item: OutboxItem) -> DeliveryResult:
        try:
            case = await self.load_snapshot(item.stream, item.seq)
            entry = case.entries[item.seq - 1]
            delivery = Delivery(item.id, hook, case, debate_at(case, item.seq), entry)
            if action.webhook:
                return await self.post(delivery, action.webhook)
            if action.intervene:
                return await self.intervene(delivery, action.intervene)
            hook_logger.info("%s", delivery.fill(action.log or "", MAX_LINE_LENGTH))
        except StorageUnavailableError as error:
            return DeliveryResult(str(error), is_retryable=True)
        except Exception as error:
            logger.exception("Hook %s broke on entry %d of debate %s", hook.name, item.seq, item.stream)
            return DeliveryResult(type(error).__name__, is_retryable=True)
        return DeliveryResult()

    async def post(self, delivery: Delivery, webhook: Webhook) -> DeliveryResult:
        content = build_body(
            delivery.id, delivery.hook.name, delivery.snapshot.id, delivery.debate, delivery.entry
        )
        secret = self.manager.environ[webhook.secret_env]
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"counterpoint/{package_version()}",
            "X-Counterpoint-Delivery": delivery.id,
            "X-Counterpoint-Signature": compute_signature(secret, int(self.now()), content),
        }
        return await self.webhook_sender.post(webhook, content, headers)

    async def intervene(self, delivery: Delivery, action: InterventionAction) -> DeliveryResult:
        """Steer the debate, unless that was done before the process that did it was killed."""
        actor = ACTOR_PREFIX + delivery.hook.name
        debate_id = delivery.snapshot.id
        async with self.intervention_lock:
            case = await self.manager.load(debate_id)
            done = [entry for entry in case.entries if entry.actor.startswith(ACTOR_PREFIX)]
            if any(getattr(entry.event, "delivery_id", "") == delivery.id for entry in done):
                return DeliveryResult()
            if len(done) >= MAX_INTERVENTIONS:
                return DeliveryResult(f"hooks have intervened {len(done)} times, and no more is allowed")
            try:
                wish = InterventionRequest(
                    text=delivery.fill(action.text, MAX_TEXT_LENGTH),
                    to=delivery.fill(action.to, MAX_LINE_LENGTH),
                    reason=f"entry {delivery.entry.seq}",
                    delivery_id=delivery.id,
                )
                await self.manager.intervene(debate_id, action.action, wish, actor=actor)
            except (InvalidRequestError, DebateNotFoundError) as error:
                return DeliveryResult(str(error))
        return DeliveryResult()

    # Closing -------------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Notice what was written last, and do what can be done at once."""
        more = True
        while more or self.active_queues:
            changed = self.wakeup
            more = await self.poll()
            if not more and self.active_queues:
                await changed.wait()


def build_delivery_id(hook_name: str, debate_id: str, seq: int, queue_index: int) -> str:
    """The same for the same thing, whichever process does it and however often."""
    return hashlib.sha256(json.dumps([hook_name, debate_id, seq, queue_index]).encode()).hexdigest()[:32]


def debate_at(snapshot: DebateSnapshot, seq: int) -> Debate:
    """The debate as it stood when an entry had been written."""
    if seq == snapshot.debate.version:
        return snapshot.debate
    return replay(entry.event for entry in snapshot.entries[:seq])


def is_transient(error: StorageUnavailableError) -> bool:
    """Whether reading again may help. It does not where the record was altered, or is of another release."""
    return isinstance(error.__cause__, StorageError) and not isinstance(error.__cause__, DamagedStreamError)
