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

from server.debate.commands.intervene import InterventionRequest, build_intervention, conclude_now
from server.debate.commands.open import open_debate
from server.debate.commands.requests import DebateRequest
from server.debate.commands.submit import build_submission
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Event, Opened
from server.debate.facts.state import Debate
from server.debate.rules.budget import ElapsedTime
from server.debate.rules.decide import TerminateWhen, is_round_over, is_unattended
from server.debate.rules.schedule import is_talk_over
from server.engine.daily_budget import DailyBudget
from server.engine.driver import DebateDriver, OnChange
from server.engine.model_calls import ModelCaller
from server.engine.runner import DebateSnapshot, Runner, Watcher
from server.models import OnText
from server.models.prices import PriceTable
from server.models.registry import ModelRegistry, resolve_models
from server.research import Research
from storage.journal import Journal

ID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


def new_id() -> str:
    """Short, and not to be guessed: 59 bits, without letters that look alike."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(12))


def utc_now() -> datetime:
    return datetime.now(UTC)


class DebateManager:
    """Open it once a process: `async with Hall.open(journal, models) as hall`."""

    def __init__(
        self,
        journal: Journal,
        models: ModelRegistry,
        task_group: TaskGroup,
        *,
        configured_models: Sequence[str],
        environ: Mapping[str, str],
        clock: Callable[[], datetime],
        research: Research | None,
        prices: PriceTable,
        daily_budget: DailyBudget | None,
    ) -> None:
        self.journal = journal
        self.models = models
        self.configured_models = tuple(configured_models)
        self.environ = environ
        self.prices = prices
        self.clock = clock
        self.task_group = task_group
        self.listeners: list[Callable[[DebateSnapshot], None]] = []
        self.text_listeners: list[Callable[[str, str, str], None]] = []
        self.research = research
        questions = ModelCaller(models, research)
        watcher = Watcher(self.publish, self.build_text_callback)
        self.runner = Runner(journal, questions, clock, watcher, daily_budget)
        self.driver = DebateDriver(self.runner, clock, task_group)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        journal: Journal,
        models: ModelRegistry,
        *,
        configured_models: Sequence[str] = (),
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], datetime] = utc_now,
        research: Research | None = None,
        prices: PriceTable | None = None,
        daily_budget: DailyBudget | None = None,
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
                configured_models=configured_models,
                environ=environ,
                clock=clock,
                research=research,
                prices=prices or PriceTable(),
                daily_budget=daily_budget,
            )
            yield hall
        finally:
            # Closed by hand: left to `async with`, it would wrap what the caller raises into a group.
            tasks.cancel_scope.cancel()
            await tasks.__aexit__(None, None, None)

    # What callers ask for ------------------------------------------------------------------------

    async def start(
        self, request: DebateRequest, *, actor: str, terminate_when: TerminateWhen | None = None
    ) -> DebateSnapshot:
        """Open a debate, and set it going if it is to run by itself.

        `terminate_when` is asked after each round of talk, by this process only.

        Raises:
            Refused: the proposal cannot be debated as it stands.
            NoModel: there is no model to debate with.
            Unreadable: the database cannot be written.
        """
        own = [debater.model for debater in request.debaters]
        models = request.models or resolve_models(own, self.configured_models, self.environ)
        seed = secrets.randbelow(2**31 - 1) + 1
        setup = open_debate(request, models=models, seed=seed, find_price=self.prices.find_price)
        return await self.create(setup, (), actor, terminate_when)

    async def create(
        self,
        setup: Opened,
        inherited_events: Sequence[Event],
        actor: str,
        terminate_when: TerminateWhen | None = None,
    ) -> DebateSnapshot:
        """As `start`, of a debate that is set up, and may have a past."""
        self.check(setup)
        debate_id = new_id()
        with anyio.CancelScope(shield=True):  # what is recorded is set going, whether or not anybody waits
            opened = await self.runner.open(debate_id, setup, actor, inherited_events)
        self.task_group.start_soon(self.models.prepare, {debater.model for debater in setup.debaters})
        if terminate_when:
            self.driver.predicates[debate_id] = terminate_when
        if setup.run:
            self.driver.ensure_running(opened, None)
        return opened

    async def load(self, debate_id: str) -> DebateSnapshot:
        """A debate as it stands.

        Raises:
            NoSuchDebate: the id names none.
            Unreadable: its record was altered or cannot be read.
        """
        return await self.runner.load(debate_id)

    async def step(
        self, debate_id: str, *, expected_round: int = 0, wait: float, on_change: OnChange | None = None
    ) -> DebateSnapshot:
        """Run the next round, or join the one that runs. Waits at most `wait` seconds.

        Raises:
            Refused: `expected` is neither past, present nor next.
        """
        case = await self.runner.resume_if_due(await self.load(debate_id))
        self.ensure_unattended_run(case)
        if case.debate.ended:
            return case
        following = next_round(case.debate)
        if expected_round > following:
            raise InvalidRequestError(
                f"Round {expected_round} cannot run yet: pass round={following}, the next one."
            )
        if case.debate.paused or 0 < expected_round < following or case.status == "waiting":
            return case
        work = self.driver.ensure_running(case, following)
        return await self.driver.wait(work, wait, on_change, through_round=following)

    async def conclude(self, debate_id: str, *, actor: str, reason: str = "") -> DebateSnapshot:
        """End the talk and let the judges decide on what is there, unless they have it already."""

        def build_event(debate: Debate) -> Event | None:
            over = debate.ended or is_talk_over(debate)
            return None if over else conclude_now(debate, InterventionRequest(reason=reason)).event

        case = await self.record_with_retry(
            await self.runner.resume_if_due(await self.load(debate_id)), build_event, actor
        )
        if case.status == "running":
            self.driver.ensure_running(case, None)
        return case

    async def follow(
        self, debate_id: str, *, wait: float, on_change: OnChange | None = None
    ) -> DebateSnapshot:
        """The debate when it is over or paused, or as it stands after `wait` seconds."""
        case = await self.runner.resume_if_due(await self.load(debate_id))
        self.ensure_unattended_run(case)
        work = self.driver.drive_tasks.get(debate_id)
        return await self.driver.wait(work, wait, on_change) if work else case

    async def submit(
        self,
        debate_id: str,
        speaker: str,
        text: str,
        *,
        actor: str,
        wait: float = 0,
        on_change: OnChange | None = None,
    ) -> DebateSnapshot:
        """Record a turn that the caller has written, and let the round go on.

        Raises:
            Refused: no turn of that speaker is awaited, or the text is not what was asked for.
        """
        case = await self.record_with_retry(
            await self.load(debate_id), lambda debate: build_submission(debate, speaker, text), actor
        )
        number = case.debate.round
        if case.status == "running":
            through = None if is_unattended(case.debate) else number
            work = self.driver.ensure_running(case, through)
            return await self.driver.wait(work, wait, on_change, through_round=through)
        return case

    async def intervene(
        self, debate_id: str, action: str, request: InterventionRequest, *, actor: str
    ) -> tuple[DebateSnapshot, str]:
        """Steer a debate. Returns it, and from when on that counts.

        Raises:
            Refused: it cannot be done now.
        """
        effects: list[str] = []
        if action == "replace_model" and (model := request.model.strip()):
            self.models.check(model, self.environ)
            request = replace(request, price=self.prices.find_price(model))

        case = await self.load(debate_id)
        age = ElapsedTime((self.clock() - datetime.fromisoformat(case.entries[0].at)).total_seconds())

        def build_event(debate: Debate) -> Event:
            made = build_intervention(debate, action, replace(request, elapsed=age))
            effects.append(made.effect)
            return made.event

        case = await self.record_with_retry(case, build_event, actor)
        self.ensure_unattended_run(case)
        return case, effects[-1]

    def is_working(self, debate_id: str) -> bool:
        """Whether this process is driving the debate, or waiting to, at this moment."""
        return self.driver.is_working(debate_id)

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
            raise InvalidRequestError("There are no research servers here: leave `tools` out.")
        if self.research:
            self.research.check(led)
            for debater in setup.debaters:
                self.research.check(debater.tools, for_debater=True)

    # How it is done ------------------------------------------------------------------------------

    async def record_with_retry(
        self, snapshot: DebateSnapshot, build_event: Callable[[Debate], Event | None], actor: str
    ) -> DebateSnapshot:
        """Record what `act` makes of the debate; look again whenever somebody else wrote first."""
        while event := build_event(snapshot.debate):
            with anyio.CancelScope(shield=True):  # who asked may give up, and what follows is still done
                after = await self.runner.record(snapshot, (event,), actor)
            if after.ends_with(event):
                return after
            snapshot = after
        return snapshot

    def ensure_unattended_run(self, snapshot: DebateSnapshot) -> None:
        """A debate that is to run by itself runs, whichever process said so and whatever became of it."""
        if is_unattended(snapshot.debate) and snapshot.status == "running":
            self.driver.ensure_running(snapshot, None)

    def publish(self, snapshot: DebateSnapshot) -> None:
        self.driver.update(snapshot)
        for listener in self.listeners:
            listener(snapshot)

    def build_text_callback(self, debate_id: str, seat: str) -> OnText | None:
        def notify_listeners(chunk: str) -> None:
            for listener in self.text_listeners:
                listener(debate_id, seat, chunk)

        return notify_listeners if self.text_listeners else None


def next_round(debate: Debate) -> int:
    """The number of the round that a step would run: the one under way, or the one after it."""
    if debate.round and not is_round_over(debate):
        return debate.round
    return debate.round + 1
