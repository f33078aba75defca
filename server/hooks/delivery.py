"""Performs hook actions: claims items from the outbox, then logs, posts or intervenes."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import anyio

from server.debate.commands.intervene import InterventionRequest
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Recorded
from server.debate.facts.state import Debate
from server.engine.debates import DebateManager
from server.engine.errors import DebateNotFoundError, StorageUnavailableError
from server.hooks.config import Action, Hook, HooksConfig, InterventionAction, Webhook
from server.hooks.matching import collect_fields, fill_template
from server.hooks.scanner import ACTOR_PREFIX
from server.hooks.snapshots import SnapshotCache, debate_at
from server.hooks.webhook import DeliveryResult, WebhookSender, build_body, build_headers
from storage.outbox import Outbox, OutboxItem

MAX_ATTEMPTS = 7
"""For logs and interventions; a webhook has its own number."""

CLAIM_SECONDS = 30.0
"""The duration of a claim, in addition to the webhook's timeout."""

RESCHEDULE_SECONDS = 0.25
"""Time to drop a claim when the process ends during a delivery."""

ERROR_PAUSE = 0.5  # seconds

MAX_INTERVENTIONS = 20
"""By all hooks together, in one debate."""

MAX_LINE_LENGTH = 2000
MAX_TEXT_LENGTH = 4000

logger = logging.getLogger(__name__)
hook_logger = logging.getLogger("counterpoint.hooks")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One action of one hook for one entry."""

    id: str
    hook: Hook
    debate_id: str
    debate: Debate  # after that entry
    entry: Recorded

    def fill(self, template: str, max_length: int) -> str:
        fields = collect_fields(self.debate_id, self.debate, self.entry)
        return fill_template(template, {**fields, "hook": self.hook.name}, max_length)


class DeliveryQueues:
    """At most one worker for each queue. A queue is an action of a hook; its index is that in `hook.do`.

    on_idle: called whenever a worker has stopped.
    """

    def __init__(
        self,
        config: HooksConfig,
        manager: DebateManager,
        outbox: Outbox,
        snapshots: SnapshotCache,
        sender: WebhookSender,
        retry_delays: Sequence[float],
        on_idle: Callable[[], None],
    ) -> None:
        self._hooks = {hook.name: hook for hook in config.hooks}
        self._manager = manager
        self._owner = manager.owner
        self._outbox = outbox
        self._snapshots = snapshots
        self._sender = sender
        self._retry_delays = retry_delays
        self._on_idle = on_idle
        self._intervention_lock = anyio.Lock()
        self.active: set[tuple[str, int]] = set()

    def _now(self) -> float:
        return self._manager.clock().timestamp()

    async def start_due_workers(self) -> None:
        """Start a worker for every queue with due items, unless it has one."""
        for name, index in await self._outbox.due_queues(self._now()):
            hook = self._hooks.get(name)
            if hook and index < len(hook.do) and (name, index) not in self.active:
                self.active.add((name, index))
                self._manager.start_task(self._run_worker, hook, index)

    async def _run_worker(self, hook: Hook, index: int) -> None:
        action = hook.do[index]
        seconds = CLAIM_SECONDS + (action.webhook.timeout if action.webhook else 0)
        try:
            while item := await self._outbox.claim(
                hook.name, index, self._owner, now=self._now(), seconds=seconds
            ):
                await self._process(hook, action, item)
        except Exception:  # the claim expires, and the item is delivered again
            logger.exception("The worker of hook %s stopped; it restarts", hook.name)
            await anyio.sleep(ERROR_PAUSE)
        finally:
            self.active.discard((hook.name, index))
            self._on_idle()

    async def _process(self, hook: Hook, action: Action, item: OutboxItem) -> None:
        """Attempt a delivery, then complete or reschedule its item."""
        try:
            result = await self._deliver(hook, action, item)
        except BaseException:
            with anyio.move_on_after(RESCHEDULE_SECONDS, shield=True):
                await self._outbox.reschedule(item, self._owner)
            raise
        attempts = item.attempts + 1
        max_attempts = action.webhook.attempts if action.webhook else MAX_ATTEMPTS
        if result.error and result.is_retryable and attempts < max_attempts:
            delay = self._retry_delays[min(attempts, len(self._retry_delays)) - 1]
            due_at = self._now() + max(result.retry_after, delay)
            await self._outbox.reschedule(replace(item, due_at=due_at, attempts=attempts), self._owner)
            return
        if result.error:
            logger.warning(
                "Hook %s gave up on entry %d of debate %s, attempt %d: %s",
                *(hook.name, item.seq, item.stream, attempts, result.error),
            )
        await self._outbox.complete(item, self._owner)

    async def _deliver(self, hook: Hook, action: Action, item: OutboxItem) -> DeliveryResult:
        try:
            snapshot = await self._snapshots.get(item.stream, item.seq)
            entry = snapshot.entries[item.seq - 1]
            delivery = Delivery(item.id, hook, item.stream, debate_at(snapshot, item.seq), entry)
            if action.webhook:
                return await self._post(delivery, action.webhook)
            if action.intervene:
                return await self._intervene(delivery, action.intervene)
            hook_logger.info("%s", delivery.fill(action.log or "", MAX_LINE_LENGTH))
        except StorageUnavailableError as error:
            return DeliveryResult(str(error), is_retryable=True)
        except Exception as error:
            logger.exception("Hook %s failed on entry %d of debate %s", hook.name, item.seq, item.stream)
            return DeliveryResult(type(error).__name__, is_retryable=True)
        return DeliveryResult()

    async def _post(self, delivery: Delivery, webhook: Webhook) -> DeliveryResult:
        body = build_body(
            delivery.id, delivery.hook.name, delivery.debate_id, delivery.debate, delivery.entry
        )
        secret = self._manager.environ[webhook.secret_env]
        return await self._sender.post(
            webhook, body, build_headers(delivery.id, int(self._now()), body, secret)
        )

    async def _intervene(self, delivery: Delivery, action: InterventionAction) -> DeliveryResult:
        """Intervene, unless a process that died before completing the item has done so."""
        debate_id = delivery.debate_id
        async with self._intervention_lock:
            snapshot = await self._manager.load(debate_id)
            made = [entry for entry in snapshot.entries if entry.actor.startswith(ACTOR_PREFIX)]
            if any(getattr(entry.event, "delivery_id", "") == delivery.id for entry in made):
                return DeliveryResult()
            if len(made) >= MAX_INTERVENTIONS:
                return DeliveryResult(f"hooks have intervened {len(made)} times, the maximum for a debate")
            request = InterventionRequest(
                text=delivery.fill(action.text, MAX_TEXT_LENGTH),
                to=delivery.fill(action.to, MAX_LINE_LENGTH),
                reason=f"entry {delivery.entry.seq}",
                delivery_id=delivery.id,
            )
            actor = ACTOR_PREFIX + delivery.hook.name
            try:
                await self._manager.intervene(debate_id, action.action, request, actor=actor)
            except (InvalidRequestError, DebateNotFoundError) as error:
                return DeliveryResult(str(error))
        return DeliveryResult()
