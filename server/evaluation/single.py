"""One debate about one question, with what was said: for programs that bring their own questions and keep score."""

from dataclasses import dataclass, replace
from decimal import Decimal

from server.compose import open_manager
from server.debate.rules.budget import compute_spending
from server.debate.views.markdown import render_verdict, round_lines
from server.evaluation.plan import Plan
from server.evaluation.questions import Question
from server.evaluation.runner import Evaluation
from server.models.prices import PriceTable
from server.models.registry import find_default_models
from server.settings import Settings


class DebateStoppedError(RuntimeError):
    """A debate could not be held to its end; asked for again, it goes on where it is."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`chosen`: the index of the winning option; None where none won. `confidence`: in the option ahead.

    `rounds` and `verdict` are Markdown, with the words of models quoted. `calls` and `cost_usd`: of the whole debate,
    also where an earlier run paid for it; the cost is None where a price is unknown.
    """

    debate_id: str
    chosen: int | None
    outcome: str
    confidence: float | None
    rounds: tuple[str, ...]
    verdict: str
    calls: int
    cost_usd: Decimal | None


async def hold_debate(settings: Settings, plan: Plan, question: Question) -> Finding:
    """Hold the debate about a question in the plan's first format, or join the one that an earlier run began.

    `plan.models`: () for those of the settings. `question.answer` is not looked at.

    Raises:
        InvalidRequestError: a model, the format or the question is not possible.
        DebateStoppedError: the debate could not go on; the text says why.
    """
    async with open_manager(settings) as manager:
        plan = replace(plan, models=plan.models or find_default_models(settings.models, manager.environ))
        work = Evaluation(manager, plan, [question], PriceTable(settings.prices).find_price)
        await work.check()
        await work.run()
        key = (question.id, plan.formats[0])
        if key not in work.answers:
            raise DebateStoppedError(work.stopped[key])
        answer = work.answers[key]["debate"]
        debate = (await manager.load(answer.debate_id)).debate
    spending = compute_spending(debate)
    return Finding(
        debate_id=answer.debate_id,
        chosen=answer.chosen[0] if answer.chosen else None,
        outcome=answer.label,
        confidence=answer.confidence,
        rounds=tuple(
            "\n".join([f"## Round {entered.round}: {entered.phase}", *round_lines(debate, entered.round)])
            for entered in debate.rounds
        ),
        verdict=render_verdict(debate),
        calls=spending.calls,
        cost_usd=None if answer.spending.cost_usd is None else spending.cost_usd,
    )
