"""Runs the hooks of one process, for as long as its debate manager is open.

Two steps, each of which any process on the database may take. *Scan*: every entry is matched once, in order,
and the resulting items go into the outbox together with the position reached. *Deliver*: each action of each
hook has a queue and at most one worker, which claims an item, performs it, and then completes it. So an
interrupted delivery is repeated, and a slow one delays only its own queue.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio

from server.engine.debates import DebateManager
from server.engine.errors import translate_storage_errors
from server.engine.store import DebateSnapshot
from server.hooks.address_policy import Resolver, resolve
from server.hooks.config import HooksConfig
from server.hooks.delivery import DeliveryQueues, hook_logger
from server.hooks.scanner import EntryScanner, SnapshotCache
from server.hooks.webhook import WebhookSender
from storage.outbox import Outbox

POLL_INTERVAL = 0.5  # seconds between checks for entries of other processes and items that became due
RETRY_DELAYS = (1.0, 5.0, 30.0, 120.0, 600.0, 1800.0)  # seconds; the last one repeats
SHUTDOWN_SECONDS = 0.5  # for deliveries when the manager closes; the next process does the rest

logger = logging.getLogger(__name__)


class HookRunner:
    """Use as `async with HookRunner.open(config, manager, outbox)`, inside an open manager."""

    def __init__(self, scanner: EntryScanner, queues: DeliveryQueues) -> None:
        self._scanner = scanner
        self._queues = queues
        self._poll_lock = anyio.Lock()
        self._is_failing = False

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
        """Run hooks until the context ends.

        Raises:
            StorageUnavailableError: the database cannot be used.
        """
        if not config.hooks:
            yield
            return
        snapshots, sender = SnapshotCache(manager.load), WebhookSender(config.allow, resolver)
        scanner = EntryScanner(config, outbox, snapshots, manager.clock)
        queues = DeliveryQueues(config, manager, outbox, snapshots, sender, retry_delays)
        self = cls(scanner, queues)

        def handle_commit(snapshot: DebateSnapshot) -> None:
            snapshots.put(snapshot)
            queues.wake()

        if hook_logger.level == logging.NOTSET:  # log lines of hooks appear at every log level
            hook_logger.setLevel(logging.INFO)
        with translate_storage_errors():
            await scanner.register()
            await queues.clean_up()
        unsubscribe = manager.subscribe(handle_commit)
        manager.start_task(self._run)
        try:
            yield
        finally:
            unsubscribe()
            with anyio.move_on_after(SHUTDOWN_SECONDS, shield=True):
                await self._finish()

    async def _run(self) -> None:
        """Poll after every commit and at least every `POLL_INTERVAL`. Raises nothing."""
        while True:
            wakeup = self._queues.wakeup
            if not await self._poll():
                with anyio.move_on_after(POLL_INTERVAL):
                    await wakeup.wait()

    async def _poll(self) -> bool:
        """Scan new entries and start workers; whether there are more entries."""
        try:
            async with self._poll_lock:
                has_more = await self._scanner.scan()
                await self._queues.start_due_workers()
        except Exception:  # for example a busy database: the next poll tries again
            if not self._is_failing:
                logger.exception("Hooks could not scan the journal; retrying")
            self._is_failing = True
            return False
        self._is_failing = False
        return has_more

    async def _finish(self) -> None:
        """Scan the last entries and wait for the workers."""
        has_more = True
        while has_more or self._queues.active:
            wakeup = self._queues.wakeup
            has_more = await self._poll()
            if not has_more and self._queues.active:
                await wakeup.wait()
