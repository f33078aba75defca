"""The debates that are alive in this process: start, join, wait, steer.

Work belongs to the hall, not to the request that asked for it: a request that is cancelled, times out
or is repeated only stops watching, and a second one joins the first. Nothing here is state that could
be lost; what a debate needs next is in its record, and any process can go on with it.

Two processes may share a database. A lease names the one that is putting a debate's questions, so that
no answer is paid for twice; the other waits, watches the record, and takes over when the first is gone.
"""

import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Self

import anyio
from anyio.abc import TaskGroup

from server.debate.events import Event
from server.debate.interventions import conclude_now, intervention
from server.debate.opening import Proposal, open_debate
from server.debate.refused import Refused
from server.debate.rules import TerminateWhen, round_is_over
from server.debate.state import Debate
from server.errors import storage_translated
from server.models import OnText
from server.models.choice import Models, NoModel, defaults, missing_key
from server.owners import is_gone, new_owner
from server.runner import Case, Runner, Watcher, reached
from server.work import OnChange, Work
from storage.journal import Journal

LEASE = 3.0
"""Seconds after which a debate can be taken over whose process is gone, or hangs, out of sight."""

BEAT = 1.0
"""Seconds between renewals of the leases, and the longest a dead one is waited for on top of LEASE."""

LOOK = 0.2
"""Seconds between looks at a debate that another process is running."""

GLANCE = 5.0
"""Seconds between reports to who waits, when nothing new is recorded: clients give up on silence."""

ID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"

log = logging.getLogger(__name__)


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    """Short, and not to be guessed: 59 bits, without letters that look alike."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(12))


class Hall:
    """Open it once a process: `async with Hall.open(journal, models) as hall`."""

    def __init__(
        self,
        journal: Journal,
        models: Models,
        tasks: TaskGroup,
        *,
        configured: Sequence[str],
        environ: Mapping[str, str],
        clock: Callable[[], datetime],
    ) -> None:
        self.journal = journal
        self.models = models
        self.configured = tuple(configured)
        self.environ = environ
        self.clock = clock
        self.owner = new_owner()
        self.tasks = tasks
        self.working: dict[str, Work] = {}
        self.predicates: dict[str, TerminateWhen] = {}
        self.listeners: list[Callable[[Case], None]] = []
        self.texts: list[Callable[[str, str, str], None]] = []
        self.busy = anyio.Event()
        self.runner = Runner(journal, models, clock, Watcher(self.committed, self.writing))

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        journal: Journal,
        models: Models,
        *,
        configured: Sequence[str] = (),
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], datetime] = utc_now,
    ) -> AsyncIterator[Self]:
        """`configured`: the models of debates that name none; without any, the keys in `environ` decide."""
        tasks = anyio.create_task_group()
        await tasks.__aenter__()
        try:
            hall = cls(journal, models, tasks, configured=configured, environ=environ, clock=clock)
            tasks.start_soon(hall.keep_leases)
            yield hall
        finally:
            # Closed by hand: left to `async with`, it would wrap what the caller raises into a group.
            tasks.cancel_scope.cancel()
            await tasks.__aexit__(None, None, None)

    # What callers ask for ------------------------------------------------------------------------

    async def start(
        self, proposal: Proposal, *, actor: str, terminate_when: TerminateWhen | None = None
    ) -> Case:
        """Open a debate, and set it going if it is to run by itself.

        `terminate_when` is asked after each round of talk, by this process only.

        Raises:
            Refused: the proposal cannot be debated as it stands.
            NoModel: there is no model to debate with.
            Unreadable: the database cannot be written.
        """
        models = proposal.models or self.usual_models(proposal)
        setup = open_debate(proposal, models=models, seed=secrets.randbelow(2**31 - 1) + 1)
        for name in dict.fromkeys([*(d.model for d in setup.debaters), *setup.judges.models]):
            self.check_model(name)
        debate_id = new_id()
        opened = await self.runner.open(debate_id, setup, actor)
        self.tasks.start_soon(self.models.prepare, {debater.model for debater in setup.debaters})
        if terminate_when:
            self.predicates[debate_id] = terminate_when
        if setup.run:
            self.ensure(opened, None)
        return opened

    async def case(self, debate_id: str) -> Case:
        """A debate as it stands.

        Raises:
            NoSuchDebate: the id names none.
            Unreadable: its record was altered or cannot be read.
        """
        return await self.runner.load(debate_id)

    async def step(
        self, debate_id: str, *, expected: int = 0, wait: float, on_change: OnChange | None = None
    ) -> Case:
        """Run the next round, or join the one that runs. Waits at most `wait` seconds.

        Raises:
            Refused: `expected` is neither past, present nor next.
        """
        case = await self.case(debate_id)
        self.keep_promise(case)
        if case.debate.ended:
            return case
        following = next_round(case.debate)
        if expected > following:
            raise Refused(f"Round {expected} cannot run yet: pass round={following}, the next one.")
        if case.debate.paused or 0 < expected < following:
            return case
        return await self.wait(self.ensure(case, following), wait, on_change, through_round=following)

    async def conclude(self, debate_id: str, *, actor: str, reason: str = "") -> Case:
        """End the talk and let the judges decide on what is there, unless they have it already."""
        case = await self.case(debate_id)
        if not (case.debate.ended or case.debate.concluding or judging(case.debate)):
            case = await self.steer(case, lambda debate: conclude_now(debate, reason).event, actor)
        if not (case.debate.ended or case.debate.paused):
            self.ensure(case, None)
        return case

    async def follow(self, debate_id: str, *, wait: float, on_change: OnChange | None = None) -> Case:
        """The debate when it is over or paused, or as it stands after `wait` seconds."""
        case = await self.case(debate_id)
        self.keep_promise(case)
        work = self.working.get(debate_id)
        return await self.wait(work, wait, on_change) if work else case

    async def intervene(
        self, debate_id: str, action: str, *, text: str = "", to: str = "", reason: str = "", actor: str
    ) -> tuple[Case, str]:
        """Steer a debate. Returns it, and from when on that counts.

        Raises:
            Refused: it cannot be done now.
        """
        effects: list[str] = []

        def act(debate: Debate) -> Event:
            made = intervention(debate, action, text=text, to=to, reason=reason)
            effects.append(made.takes_effect)
            return made.event

        case = await self.steer(await self.case(debate_id), act, actor)
        if action == "conclude":
            self.ensure(case, None)
        self.keep_promise(case)
        return case, effects[-1]

    def is_working(self, debate_id: str) -> bool:
        """Whether this process is driving the debate, or waiting to, at this moment."""
        work = self.working.get(debate_id)
        return work is not None and not work.finished

    def usual_models(self, proposal: Proposal) -> Sequence[str]:
        """What debates run on that name no models; the debaters' own where nothing is set up."""
        own = [debater.model for debater in proposal.debaters]
        everyone_has_one = bool(own) and all(own)
        try:
            found = defaults(self.configured, self.environ)
        except NoModel:
            if everyone_has_one:
                return own
            raise
        # The embedded model, there by itself, is no better judge than those who brought their own.
        return own if everyone_has_one and found == ("local",) and not self.configured else found

    def check_model(self, name: str) -> None:
        """Refuse a model that cannot answer before anything is spent on the others."""
        self.models.check(name)
        if variable := missing_key(name, self.environ):
            raise Refused(
                f"The model {name} needs a key, and {variable} is not set where the server runs. "
                "Set it there, or name other models."
            )

    # How it is done ------------------------------------------------------------------------------

    async def steer(self, case: Case, act: Callable[[Debate], Event], actor: str) -> Case:
        """Record what `act` makes of the debate; look again whenever somebody else wrote first."""
        while True:
            event = act(case.debate)
            after = await self.runner.record(case, (event,), actor)
            if after.ends_with(event):
                return after
            case = after

    def keep_promise(self, case: Case) -> None:
        """A debate that was to run by itself runs, whichever process said so and whatever became of it."""
        if case.debate.setup.run and not case.debate.ended and not case.debate.paused:
            self.ensure(case, None)

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

    async def drive(self, work: Work) -> None:
        """Run a debate as far as its watchers want it. Ends with `work.done`, and raises nothing."""
        try:
            while not work.finished and await self.turn_comes(work):
                with anyio.CancelScope() as work.driving:
                    case = await self.runner.load(work.case.id)
                    work.see(
                        await self.runner.run(
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
            now = self.clock().timestamp()
            with storage_translated():
                holder = await self.journal.lease(work.case.id, self.owner, now=now, seconds=LEASE)
                if holder == self.owner:
                    return True
                if is_gone(holder):
                    await self.journal.release(work.case.id, holder)
                    continue
                version = await self.journal.version(work.case.id)
            if version != work.case.debate.version:
                self.committed(await self.runner.load(work.case.id))
            if work.finished:
                return False
            await anyio.sleep(LOOK)

    async def give_back(self, debate_id: str) -> None:
        if debate_id in self.working:  # somebody wants more of it already, under the same lease
            return
        try:
            await self.journal.release(debate_id, self.owner)
        except Exception:  # it runs out by itself: nobody renews it any more
            log.exception("The lease of %s could not be released", debate_id)

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
            try:
                now = self.clock().timestamp()
                kept = await self.journal.renew(self.owner, driven, now=now, seconds=LEASE)
            except Exception:  # the next beat tries again; without a lease, answers may be paid for twice
                log.exception("The leases could not be renewed")
                continue
            for name in driven.keys() - kept:
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

    def committed(self, case: Case) -> None:
        work = self.working.get(case.id)
        if work:
            work.see(case)
        for listener in self.listeners:
            listener(case)

    def writing(self, debate_id: str, seat: str) -> OnText | None:
        if not self.texts:
            return None

        def tell(piece: str) -> None:
            for listener in self.texts:
                listener(debate_id, seat, piece)

        return tell


def judging(debate: Debate) -> bool:
    return debate.phase is not None and debate.phase.asks == "judges"


def next_round(debate: Debate) -> int:
    """The number of the round that a step would run: the one under way, or the one after it."""
    if debate.round and not round_is_over(debate):
        return debate.round
    return debate.round + 1
