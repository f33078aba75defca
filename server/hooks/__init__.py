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

from server.debate.commands.intervene import Wish
from server.debate.facts.errors import Refused
from server.debate.facts.events import Recorded
from server.debate.facts.state import Debate
from server.debate.rules.transitions import replay
from server.engine.debates import Hall
from server.engine.errors import NoSuchDebate, Unreadable, storage_translated
from server.engine.leases import is_gone
from server.engine.runner import Case
from server.hooks.address_policy import Resolve, resolve
from server.hooks.config import Action, Hook, Intervene, Rules, Webhook, load
from server.hooks.matching import filled, hears, meets, seen
from server.hooks.webhook import Outcome, Poster, body, signature
from server.settings import release
from storage.journal import Damaged, StorageError
from storage.outbox import Item, Noted, Outbox

__all__ = ["Hooks", "load"]

PULSE = 0.5
"""Seconds between looks for what other processes wrote, and for what is due again."""

SIGHT = 500
"""Entries that are looked at in one go."""

PAUSES = (1.0, 5.0, 30.0, 120.0, 600.0, 1800.0)
"""Seconds before each attempt after the first; the last one counts for all that follow."""

ATTEMPTS = 7
"""Of an action that is no webhook, which has its own number."""

CLAIM = 30.0
"""Seconds that something may take beside what its webhook may."""

LAST_MOMENT = 0.5
"""Seconds for what is due when the hall is closed. What is not done by then is done next time."""

MOST_INTERVENTIONS = 20
"""Of all hooks together, in one debate."""

LONGEST_LINE = 2000
LONGEST_TEXT = 4000
REMEMBERED = 64

ACTOR = "hook "

log = logging.getLogger(__name__)
told = logging.getLogger("counterpoint.hooks")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One action of one hook about one event."""

    id: str
    hook: Hook
    case: Case
    debate: Debate  # as it stood then
    entry: Recorded

    def fill(self, template: str, longest: int) -> str:
        fields = seen(self.case.id, self.debate, self.entry)
        return filled(template, {**fields, "hook": self.hook.name}, longest)


class Hooks:
    """Open it in an open hall: `async with Hooks.open(rules, hall, outbox)`."""

    def __init__(
        self, rules: Rules, hall: Hall, outbox: Outbox, pauses: Sequence[float], resolver: Resolve
    ) -> None:
        self.rules = rules
        self.hooks = {hook.name: hook for hook in rules.hooks}
        self.hall = hall
        self.outbox = outbox
        self.pauses = pauses
        self.poster = Poster(rules.allow, resolver)
        self.owner = hall.driving.leases.owner
        self.since: dict[str, int] = {}
        self.position = 0
        self.kept = 0  # the position that the outbox knows of
        self.cases: OrderedDict[str, Case] = OrderedDict()  # the last ones seen, to save reading them
        self.working: set[tuple[str, int]] = set()
        self.changed = anyio.Event()
        self.looking = anyio.Lock()
        self.intervening = anyio.Lock()
        self.troubled = False

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        rules: Rules,
        hall: Hall,
        outbox: Outbox,
        *,
        pauses: Sequence[float] = PAUSES,
        resolver: Resolve = resolve,
    ) -> AsyncIterator[None]:
        """Run hooks for as long as the hall is open.

        Raises:
            Unreadable: the database cannot be used.
        """
        if not rules.hooks:
            yield
            return
        self = cls(rules, hall, outbox, pauses, resolver)
        if told.level == logging.NOTSET:  # who asks for a line wants to see it
            told.setLevel(logging.INFO)
        with storage_translated():
            await self.begin()
        hall.listeners.append(self.committed)
        hall.tasks.start_soon(self.run)
        try:
            yield
        finally:
            hall.listeners.remove(self.committed)
            with anyio.move_on_after(LAST_MOMENT, shield=True):
                await self.finish()

    async def begin(self) -> None:
        marks = {name: await self.outbox.register(name) for name in self.hooks}
        self.since = {name: mark.since for name, mark in marks.items()}
        self.position = self.kept = min(mark.position for mark in marks.values())
        for owner in await self.outbox.owners():
            if is_gone(owner):
                await self.outbox.release(owner)
        if count := await self.outbox.forget(self.now() - self.rules.max_age_hours * 3600):
            log.warning("%d deliveries of hooks were given up: they waited too long", count)

    def committed(self, case: Case) -> None:
        self.remember(case)
        self.wake()

    def wake(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    def now(self) -> float:
        return self.hall.clock().timestamp()

    # Noticing ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Look whenever there may be something to do. Raises nothing."""
        while True:
            changed = self.changed
            if not await self.look():
                with anyio.move_on_after(PULSE):
                    await changed.wait()

    async def look(self) -> bool:
        """Notice what is new and start on what is due; whether there is more that is new."""
        try:
            async with self.looking:
                more = await self.notice()
                for queue in await self.outbox.due(self.now()):
                    self.start(*queue)
        except Exception:  # a busy database now is no reason to stop
            if not self.troubled:
                log.exception("What hooks have to do could not be looked up; it is tried again")
            self.troubled = True
            return False
        self.troubled = False
        return more

    async def notice(self) -> bool:
        noted = await self.outbox.entries(self.position, limit=SIGHT)
        if not noted and self.position == self.kept:
            return False
        items: list[Item] = []
        now = self.now()  # one for all, so that what is due is ordered by position
        for debate_id, entries in groupby(sorted(noted, key=lambda one: one.stream), lambda one: one.stream):
            items += await self.wanted(debate_id, list(entries), now)
        until = noted[-1].position if noted else self.position
        if items or not noted:  # a place where nothing was found is kept once it is quiet
            await self.outbox.put(list(self.hooks), until, sorted(items, key=lambda item: item.position))
            self.kept = until
        self.position = max(until, self.position)
        return len(noted) == SIGHT

    async def wanted(self, debate_id: str, noted: Sequence[Noted], now: float) -> list[Item]:
        """What is to be done about entries of one debate, which are in order."""
        listening = [hook for hook in self.rules.hooks if noted[0].begun > self.since[hook.name]]
        if not listening:
            return []
        try:
            case = await self.case(debate_id, noted[-1].seq)
        except Unreadable as error:
            if is_passing(error):
                raise
            log.warning("Hooks pass over debate %s: %s", debate_id, error)
            return []
        items = []
        for one in noted:
            entry = case.log[one.seq - 1]
            hooks = [hook for hook in listening if hears(hook.on, entry.event)]
            if hooks and self.is_recent(entry):
                fields = seen(debate_id, at(case, one.seq), entry)
                for hook in hooks:
                    if meets(hook.when, fields):
                        items += self.items(hook, debate_id, one, entry, now)
        return items

    def items(self, hook: Hook, debate_id: str, noted: Noted, entry: Recorded, now: float) -> list[Item]:
        """One for each action. What a hook has done moves no hook to intervene: that would never end."""
        return [
            Item(
                delivery_id(hook.name, debate_id, noted.seq, slot),
                *(hook.name, slot, debate_id, noted.seq, noted.position),
                due=now,
            )
            for slot, action in enumerate(hook.do)
            if not (action.intervene and entry.actor.startswith(ACTOR))
        ]

    def is_recent(self, entry: Recorded) -> bool:
        return self.hall.clock() - datetime.fromisoformat(entry.at) <= timedelta(
            hours=self.rules.max_age_hours
        )

    async def case(self, debate_id: str, seq: int) -> Case:
        """The debate with at least so many entries."""
        case = self.cases.get(debate_id)
        if case is None or case.debate.version < seq:
            case = await self.hall.case(debate_id)
            self.remember(case)
        return case

    def remember(self, case: Case) -> None:
        self.cases[case.id] = case
        self.cases.move_to_end(case.id)
        if len(self.cases) > REMEMBERED:
            self.cases.popitem(last=False)

    # Delivering ----------------------------------------------------------------------------------

    def start(self, name: str, slot: int) -> None:
        """Put a worker on a queue of this file, unless there is one."""
        hook = self.hooks.get(name)
        if hook and slot < len(hook.do) and (name, slot) not in self.working:
            self.working.add((name, slot))
            self.hall.tasks.start_soon(self.work, hook, slot)

    async def work(self, hook: Hook, slot: int) -> None:
        """Empty a queue. Raises nothing."""
        action = hook.do[slot]
        seconds = CLAIM + (action.webhook.timeout if action.webhook else 0)
        try:
            while item := await self.outbox.claim(
                hook.name, slot, self.owner, now=self.now(), seconds=seconds
            ):
                await self.settle(hook, action, item)
        except Exception:  # its claim runs out, and it is done again
            log.exception("Hook %s stopped; it goes on soon", hook.name)
            await anyio.sleep(PULSE)
        finally:
            self.working.discard((hook.name, slot))
            self.wake()

    async def settle(self, hook: Hook, action: Action, item: Item) -> None:
        """Do one thing, and take it out of the outbox, or put it off."""
        try:
            outcome = await self.deliver(hook, action, item)
        except BaseException:
            with anyio.move_on_after(LAST_MOMENT / 2, shield=True):
                await self.outbox.put_off(item, self.owner)
            raise
        tried = item.attempts + 1
        most = action.webhook.attempts if action.webhook else ATTEMPTS
        if outcome.failed and outcome.again and tried < most:
            wait = max(outcome.wait, self.pauses[min(tried, len(self.pauses)) - 1])
            await self.outbox.put_off(replace(item, due=self.now() + wait, attempts=tried), self.owner)
            return
        if outcome.failed:
            log.warning(
                "Hook %s gave up on entry %d of debate %s, attempt %d: %s",
                *(hook.name, item.seq, item.stream, tried, outcome.failed),
            )
        await self.outbox.done(item, self.owner)

    async def deliver(self, hook: Hook, action: Action, item: Item) -> Outcome:
        try:
            case = await self.case(item.stream, item.seq)
            entry = case.log[item.seq - 1]
            delivery = Delivery(item.id, hook, case, at(case, item.seq), entry)
            if action.webhook:
                return await self.post(delivery, action.webhook)
            if action.intervene:
                return await self.intervene(delivery, action.intervene)
            told.info("%s", delivery.fill(action.log or "", LONGEST_LINE))
        except Unreadable as error:
            return Outcome(str(error), again=True)
        except Exception as error:
            log.exception("Hook %s broke on entry %d of debate %s", hook.name, item.seq, item.stream)
            return Outcome(type(error).__name__, again=True)
        return Outcome()

    async def post(self, delivery: Delivery, webhook: Webhook) -> Outcome:
        content = body(delivery.id, delivery.hook.name, delivery.case.id, delivery.debate, delivery.entry)
        secret = self.hall.environ[webhook.secret_env]
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"counterpoint/{release()}",
            "X-Counterpoint-Delivery": delivery.id,
            "X-Counterpoint-Signature": signature(secret, int(self.now()), content),
        }
        return await self.poster.post(webhook, content, headers)

    async def intervene(self, delivery: Delivery, wanted: Intervene) -> Outcome:
        """Steer the debate, unless that was done before the process that did it was killed."""
        actor = ACTOR + delivery.hook.name
        debate_id = delivery.case.id
        async with self.intervening:
            case = await self.hall.case(debate_id)
            done = [entry for entry in case.log if entry.actor.startswith(ACTOR)]
            if any(delivery.id in getattr(entry.event, "reason", "") for entry in done):
                return Outcome()
            if len(done) >= MOST_INTERVENTIONS:
                return Outcome(f"hooks have intervened {len(done)} times, and no more is allowed")
            try:
                wish = Wish(
                    text=delivery.fill(wanted.text, LONGEST_TEXT),
                    to=delivery.fill(wanted.to, LONGEST_LINE),
                    reason=f"entry {delivery.entry.seq}, delivery {delivery.id}",
                )
                await self.hall.intervene(debate_id, wanted.action, wish, actor=actor)
            except (Refused, NoSuchDebate) as error:
                return Outcome(str(error))
        return Outcome()

    # Closing -------------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Notice what was written last, and do what can be done at once."""
        more = True
        while more or self.working:
            changed = self.changed
            more = await self.look()
            if not more and self.working:
                await changed.wait()


def delivery_id(hook: str, debate_id: str, seq: int, slot: int) -> str:
    """The same for the same thing, whichever process does it and however often."""
    return hashlib.sha256(json.dumps([hook, debate_id, seq, slot]).encode()).hexdigest()[:32]


def at(case: Case, seq: int) -> Debate:
    """The debate as it stood when an entry had been written."""
    if seq == case.debate.version:
        return case.debate
    return replay(entry.event for entry in case.log[:seq])


def is_passing(error: Unreadable) -> bool:
    """Whether reading again may help. It does not where the record was altered, or is of another release."""
    return isinstance(error.__cause__, StorageError) and not isinstance(error.__cause__, Damaged)
