"""The debates that are alive in this process: start, join, wait, steer.

Work belongs to the hall, not to the request that asked for it: a request that is cancelled, times out
or is repeated only stops watching, and a second one joins the first. Nothing here is state that could
be lost; what a debate needs next is in its record, and any process can go on with it.
"""

import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Self

import anyio
from anyio.abc import TaskGroup

from server.debate.commands.intervene import Wish, conclude_now, intervention
from server.debate.commands.open import open_debate
from server.debate.commands.requests import Proposal
from server.debate.commands.submit import submission
from server.debate.facts.errors import Refused
from server.debate.facts.events import Event, Opened
from server.debate.facts.state import Debate
from server.debate.rules.budget import Elapsed
from server.debate.rules.decide import TerminateWhen, round_is_over, runs_by_itself
from server.debate.rules.schedule import talk_is_over
from server.engine.daily_budget import Daily
from server.engine.driver import Driving, OnChange
from server.engine.model_calls import Questions
from server.engine.runner import Case, Runner, Watcher
from server.models import OnText
from server.models.prices import Prices
from server.models.registry import Models, usual
from server.research import Research
from storage.journal import Journal

ID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


def new_id() -> str:
    """Short, and not to be guessed: 59 bits, without letters that look alike."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(12))


def utc_now() -> datetime:
    return datetime.now(UTC)


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
        research: Research | None,
        prices: Prices,
        daily: Daily | None,
    ) -> None:
        self.journal = journal
        self.models = models
        self.configured = tuple(configured)
        self.environ = environ
        self.prices = prices
        self.clock = clock
        self.tasks = tasks
        self.listeners: list[Callable[[Case], None]] = []
        self.texts: list[Callable[[str, str, str], None]] = []
        self.research = research
        questions = Questions(models, research)
        watcher = Watcher(self.committed, self.writing)
        self.runner = Runner(journal, questions, clock, watcher, daily)
        self.driving = Driving(self.runner, clock, tasks)

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
        research: Research | None = None,
        prices: Prices | None = None,
        daily: Daily | None = None,
    ) -> AsyncIterator[Self]:
        """`configured`: the models of debates that name none; without any, the keys in `environ` decide.

        `research`: the servers that moderators and debaters may look things up with; none if left out.
        """
        tasks = anyio.create_task_group()
        await tasks.__aenter__()
        try:
            hall = cls(
                journal,
                models,
                tasks,
                configured=configured,
                environ=environ,
                clock=clock,
                research=research,
                prices=prices or Prices(),
                daily=daily,
            )
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
        own = [debater.model for debater in proposal.debaters]
        models = proposal.models or usual(own, self.configured, self.environ)
        seed = secrets.randbelow(2**31 - 1) + 1
        setup = open_debate(proposal, models=models, seed=seed, price=self.prices.of)
        return await self.begin(setup, (), actor, terminate_when)

    async def begin(
        self, setup: Opened, past: Sequence[Event], actor: str, terminate_when: TerminateWhen | None = None
    ) -> Case:
        """As `start`, of a debate that is set up, and may have a past."""
        self.check(setup)
        debate_id = new_id()
        with anyio.CancelScope(shield=True):  # what is recorded is set going, whether or not anybody waits
            opened = await self.runner.open(debate_id, setup, actor, past)
        self.tasks.start_soon(self.models.prepare, {debater.model for debater in setup.debaters})
        if terminate_when:
            self.driving.predicates[debate_id] = terminate_when
        if setup.run:
            self.driving.ensure(opened, None)
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
        case = await self.runner.due(await self.case(debate_id))
        self.keep_promise(case)
        if case.debate.ended:
            return case
        following = next_round(case.debate)
        if expected > following:
            raise Refused(f"Round {expected} cannot run yet: pass round={following}, the next one.")
        if case.debate.paused or 0 < expected < following or case.status == "waiting":
            return case
        work = self.driving.ensure(case, following)
        return await self.driving.wait(work, wait, on_change, through_round=following)

    async def conclude(self, debate_id: str, *, actor: str, reason: str = "") -> Case:
        """End the talk and let the judges decide on what is there, unless they have it already."""

        def act(debate: Debate) -> Event | None:
            over = debate.ended or talk_is_over(debate)
            return None if over else conclude_now(debate, Wish(reason=reason)).event

        case = await self.steer(await self.runner.due(await self.case(debate_id)), act, actor)
        if case.status == "running":
            self.driving.ensure(case, None)
        return case

    async def follow(self, debate_id: str, *, wait: float, on_change: OnChange | None = None) -> Case:
        """The debate when it is over or paused, or as it stands after `wait` seconds."""
        case = await self.runner.due(await self.case(debate_id))
        self.keep_promise(case)
        work = self.driving.working.get(debate_id)
        return await self.driving.wait(work, wait, on_change) if work else case

    async def submit(
        self,
        debate_id: str,
        speaker: str,
        text: str,
        *,
        actor: str,
        wait: float = 0,
        on_change: OnChange | None = None,
    ) -> Case:
        """Record a turn that the caller has written, and let the round go on.

        Raises:
            Refused: no turn of that speaker is awaited, or the text is not what was asked for.
        """
        case = await self.steer(
            await self.case(debate_id), lambda debate: submission(debate, speaker, text), actor
        )
        number = case.debate.round
        if case.status == "running":
            through = None if runs_by_itself(case.debate) else number
            work = self.driving.ensure(case, through)
            return await self.driving.wait(work, wait, on_change, through_round=through)
        return case

    async def intervene(self, debate_id: str, action: str, wish: Wish, *, actor: str) -> tuple[Case, str]:
        """Steer a debate. Returns it, and from when on that counts.

        Raises:
            Refused: it cannot be done now.
        """
        effects: list[str] = []
        if action == "replace_model" and (model := wish.model.strip()):
            self.models.check(model, self.environ)
            wish = replace(wish, price=self.prices.of(model))

        case = await self.case(debate_id)
        age = Elapsed((self.clock() - datetime.fromisoformat(case.log[0].at)).total_seconds())

        def act(debate: Debate) -> Event:
            made = intervention(debate, action, replace(wish, elapsed=age))
            effects.append(made.takes_effect)
            return made.event

        case = await self.steer(case, act, actor)
        self.keep_promise(case)
        return case, effects[-1]

    def is_working(self, debate_id: str) -> bool:
        """Whether this process is driving the debate, or waiting to, at this moment."""
        return self.driving.is_working(debate_id)

    def check(self, setup: Opened) -> None:
        """Refuse models and research servers that cannot answer before anything is spent.

        Raises:
            Refused: one of them cannot, or lacks its key; the text says which, and what to do.
        """
        officers = (setup.moderator, setup.referee, setup.synthesizer)
        named = [*(d.model for d in setup.debaters), *setup.judges.models, *(o.model for o in officers if o)]
        named += setup.fallback_models
        for name in dict.fromkeys(named):
            self.models.check(name, self.environ)
        led = setup.moderator.tools if setup.moderator else ()
        asked = [tools for tools in (led, *(d.tools for d in setup.debaters)) if tools]
        if asked and not self.research:
            raise Refused("There are no research servers here: leave `tools` out.")
        if self.research:
            self.research.check(led)
            for debater in setup.debaters:
                self.research.check(debater.tools, debater=True)

    # How it is done ------------------------------------------------------------------------------

    async def steer(self, case: Case, act: Callable[[Debate], Event | None], actor: str) -> Case:
        """Record what `act` makes of the debate; look again whenever somebody else wrote first."""
        while event := act(case.debate):
            with anyio.CancelScope(shield=True):  # who asked may give up, and what follows is still done
                after = await self.runner.record(case, (event,), actor)
            if after.ends_with(event):
                return after
            case = after
        return case

    def keep_promise(self, case: Case) -> None:
        """A debate that is to run by itself runs, whichever process said so and whatever became of it."""
        if runs_by_itself(case.debate) and case.status == "running":
            self.driving.ensure(case, None)

    def committed(self, case: Case) -> None:
        self.driving.see(case)
        for listener in self.listeners:
            listener(case)

    def writing(self, debate_id: str, seat: str) -> OnText | None:
        def tell(piece: str) -> None:
            for listener in self.texts:
                listener(debate_id, seat, piece)

        return tell if self.texts else None


def next_round(debate: Debate) -> int:
    """The number of the round that a step would run: the one under way, or the one after it."""
    if debate.round and not round_is_over(debate):
        return debate.round
    return debate.round + 1
