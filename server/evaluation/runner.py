"""Holds the debates of an evaluation, several at once, within a budget. What is recorded is not paid for again."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import anyio

from server.debate.commands.setup.estimate import Estimate, estimate
from server.debate.commands.setup.open import open_debate
from server.debate.facts.errors import InvalidRequestError, require
from server.debate.facts.setup.limits import Limits, check_prices_known
from server.debate.facts.setup.seats import AWAITED
from server.debate.interventions.action import InterventionRequest
from server.debate.rules.budget import compute_spending
from server.debate.state.debate import Debate
from server.debate.views.state import status_reason, tell_standing
from server.engine.database.repeats import TwinError
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.evaluation.advice import read_advice
from server.evaluation.plan import ACTOR, WAYS, Plan, build_request, check_formats
from server.evaluation.questions import Question
from server.evaluation.scores import Answer, read_answers

MOST_STOPPED = 3
"""Debates in a row that cannot go on: then the next ones could not either, and are not begun."""

FOLLOW_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Budget:
    """What an evaluation may take in all, earlier runs of it included; 0 for any amount."""

    calls: int = 0
    cost_usd: Decimal = Decimal(0)


@dataclass
class Evaluation:
    """The debates about some questions. `answers`: by question and debate of the plan, those of its arms.

    `stopped`: why debates are not over, by question and debate. `on_change`: called after each entry.
    """

    manager: DebateManager
    plan: Plan
    questions: Sequence[Question]
    budget: Budget = field(default_factory=Budget)
    at_once: int = 4
    on_change: Callable[["Evaluation"], None] | None = None
    answers: dict[tuple[str, str], dict[str, Answer]] = field(default_factory=dict)
    stopped: dict[tuple[str, str], str] = field(default_factory=dict)
    spent: dict[str, tuple[int, Decimal]] = field(default_factory=dict)  # by debate
    reserved: dict[tuple[str, str], tuple[int, Decimal]] = field(default_factory=dict)
    budget_reason: str = ""
    failures_in_a_row: int = 0

    @property
    def jobs(self) -> list[tuple[Question, str]]:
        return [(question, name) for question in self.questions for name in self.plan.debates]

    @property
    def calls(self) -> int:
        return sum(calls for calls, _ in self.spent.values())

    @property
    def cost_usd(self) -> Decimal:
        return sum((cost for _, cost in self.spent.values()), Decimal(0))

    async def check(self) -> list[Estimate]:
        """What the debates are expected to take, one by one. Nothing is recorded.

        Raises:
            InvalidRequestError: a model, a format, a question or the budget is not possible.
        """
        check_formats(self.plan.formats)
        models = (*self.plan.models, *self.plan.judges)
        names = ", ".join(sorted(AWAITED & {*models}))
        require(not names, f"{names} cannot answer so many questions by hand: leave it out.")
        await self.manager.planner.check_models(models)
        if self.budget.cost_usd:
            limits = Limits(max_cost_usd=f"{self.budget.cost_usd:f}")
            check_prices_known(limits, models, map(self.manager.planner.find_price, dict.fromkeys(models)))
        return [self.estimate(question, name) for question, name in self.jobs]

    def estimate(self, question: Question, name: str) -> Estimate:
        try:
            request = build_request(self.plan, question, name)
            setup = open_debate(
                request, models=request.models, seed=1, find_price=self.manager.planner.find_price
            )
        except InvalidRequestError as error:
            raise InvalidRequestError(f'Question "{question.id}": {error}') from None
        return estimate(Debate(setup))

    async def run(self) -> None:
        """Hold the debates that are missing, as far as the budget allows."""
        limiter = anyio.CapacityLimiter(self.at_once)
        end_subscription = self.manager.store.subscribe(self.on_commit)
        try:
            async with anyio.create_task_group() as tasks:
                for question, name in self.jobs:
                    await limiter.acquire_on_behalf_of((question.id, name))
                    if not self.admit(question, name):
                        limiter.release_on_behalf_of((question.id, name))
                        break
                    tasks.start_soon(self.hold, question, name, limiter)
        finally:
            end_subscription()

    def admit(self, question: Question, name: str) -> bool:
        """Whether a debate may begin: the most that it is expected to take is left, and others could go on."""
        if self.failures_in_a_row >= MOST_STOPPED:
            return False
        expected = self.estimate(question, name)
        cost, most_calls = Decimal(expected.cost_usd[1] or 0), max(expected.calls, expected.most_calls)
        calls = self.calls + sum(calls for calls, _ in self.reserved.values()) + most_calls
        total = self.cost_usd + sum((cost for _, cost in self.reserved.values()), Decimal(0)) + cost
        if calls > (self.budget.calls or math.inf):
            self.budget_reason = f"the budget of {self.budget.calls} calls does not pay for another debate"
        elif self.budget.cost_usd and total > self.budget.cost_usd:
            self.budget_reason = f"the budget of ${self.budget.cost_usd} does not pay for another debate"
        self.reserved[question.id, name] = (most_calls, cost)
        return not self.budget_reason

    async def hold(self, question: Question, name: str, limiter: anyio.CapacityLimiter) -> None:
        """Hold a debate to its end, or as far as it goes, and read its answers."""
        key = (question.id, name)
        try:
            snapshot = await self.open(question, name)
            del self.reserved[key]
            self.on_commit(snapshot)
            while snapshot.status == "running":
                self.manager.run_to_end(snapshot)
                snapshot = await self.manager.follow(snapshot.id, wait=FOLLOW_SECONDS)
                snapshot = await self.go_on_without_unheard(snapshot)
            if snapshot.debate.ended:
                if name in WAYS:
                    self.answers[key] = read_advice(name, question, snapshot.debate, snapshot.id)
                else:
                    self.answers[key] = read_answers(self.plan, question, snapshot.debate, snapshot.id)
                self.failures_in_a_row = 0
            else:
                self.stopped[key] = (
                    f"debate {snapshot.id} is {tell_standing(snapshot.status)}: {status_reason(snapshot.debate)}"
                )
                self.failures_in_a_row += 1
            if self.on_change:
                self.on_change(self)
        finally:
            limiter.release_on_behalf_of(key)

    async def open(self, question: Question, name: str) -> DebateSnapshot:
        """The debate of an earlier run, going on where it is paused, or a new one."""
        try:
            request = build_request(self.plan, question, name)
            return await self.manager.start(request, actor=ACTOR, joins="ever")
        except TwinError as twin:
            snapshot = await self.manager.store.claim(twin.debate_id)
            return await self.resume(snapshot) if snapshot.debate.paused else snapshot

    async def go_on_without_unheard(self, snapshot: DebateSnapshot) -> DebateSnapshot:
        """A debater that was never heard is asked once more; then the debate goes on without it."""
        pause = snapshot.debate.paused
        return await self.resume(snapshot) if pause and pause.cause == "unheard" else snapshot

    async def resume(self, snapshot: DebateSnapshot) -> DebateSnapshot:
        request = InterventionRequest(reason="the evaluation goes on")
        return (await self.manager.intervene(snapshot.id, "resume", request, actor=ACTOR))[0]

    def on_commit(self, snapshot: DebateSnapshot) -> None:
        if snapshot.entries[0].actor != ACTOR:
            return
        spending = compute_spending(snapshot.debate)
        self.spent[snapshot.id] = (spending.calls, spending.cost_usd)
        if self.on_change:
            self.on_change(self)
