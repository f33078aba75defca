"""An evaluation with the engine: what is asked, what it comes to, and what is paid when it is run again."""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.facts.advice import Advice
from server.debate.facts.errors import InvalidRequestError
from server.engine.debates import DebateManager
from server.evaluation.advice import find_option
from server.evaluation.plan import Plan
from server.evaluation.questions import Question, parse_questions
from server.evaluation.results import build_results
from server.evaluation.runner import Budget, Evaluation
from server.models import Model, ModelError, OnText, Reply, Request
from tests.support.engines import open_engine
from tests.support.patience import PATIENCE
from tests.support.population import Population

pytestmark = pytest.mark.requirement("N20")

WEAK, STRONG = "weak", "strong"


@dataclass
class Counted:
    """A model that counts what it is asked, and fails while `is_down`."""

    model: Model
    is_down: bool = False
    asked: list[Request] = field(default_factory=list)

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        self.asked.append(request)
        if self.is_down:
            raise ModelError("unavailable", "It is down.")
        return await self.model.reply(request, on_text)


def build_models(population: Population | None = None) -> dict[str, Counted]:
    return {name: Counted(model) for name, model in (population or Population()).build_models().items()}


def list_questions(count: int, population: Population | None = None) -> list[Question]:
    rows = (population or Population()).list_questions(1, count)
    return parse_questions("\n".join(map(json.dumps, rows)).encode())


def build_evaluation(manager: DebateManager, questions: list[Question], **fields: Any) -> Evaluation:
    plan = Plan((WEAK, STRONG), ("judge",), fields.pop("formats", ("advocates",)), seed=fields.pop("seed", 1))
    return Evaluation(manager, plan, questions, **fields)


async def evaluate(
    database: Path, models: dict[str, Counted], questions: list[Question], **fields: Any
) -> tuple[Evaluation, dict[str, Any]]:
    async with open_engine(database, models, default="") as manager:
        work = build_evaluation(manager, questions, **fields)
        await work.check()
        with anyio.fail_after(PATIENCE):
            await work.run()
        return work, build_results(work.plan, questions, work.answers)


def count_calls(models: dict[str, Counted]) -> int:
    return sum(len(model.asked) for model in models.values())


def test_all_arms_answer_every_question_and_the_vote_takes_as_many_tokens_as_the_debate(
    tmp_path: Path,
) -> None:
    models = build_models()
    work, found = anyio.run(evaluate, tmp_path / "a.db", models, list_questions(6))
    arms = found["arms"]
    assert found["questions"] == len(found["rows"]) == 6
    assert arms["debate"]["calls"] + arms["vote"]["calls"] == count_calls(models) == work.calls
    assert (arms["single"]["calls"], arms["blind"]["calls"]) == (6, 12)
    for row in found["rows"]:
        assert 0.8 <= row["arms"]["vote"]["tokens"] / row["arms"]["debate"]["tokens"] <= 1.25
    population = Population()
    for row in found["rows"]:
        assert row["arms"]["debate"]["chosen"] == [population.judge("judge", row["id"])]
    assert found["alone"].keys() == {WEAK, STRONG}
    assert arms["debate"]["labels"].keys() == {"leaning"}
    assert arms["debate"]["brier_items"] == 6


def test_run_again_it_pays_for_nothing_and_finds_the_same(tmp_path: Path) -> None:
    models, questions = build_models(), list_questions(2)
    _, first = anyio.run(evaluate, tmp_path / "a.db", models, questions)
    paid = count_calls(models)
    _, again = anyio.run(evaluate, tmp_path / "a.db", models, questions)
    assert again == first
    assert count_calls(models) == paid
    other_key = [Question(q.id, q.text, q.options, 1 - q.answer) for q in questions]
    _, turned = anyio.run(evaluate, tmp_path / "a.db", models, other_key)
    assert count_calls(models) == paid
    assert turned["arms"]["debate"]["accuracy"] == pytest.approx(1 - first["arms"]["debate"]["accuracy"])


def test_several_formats_are_compared_on_the_same_questions(tmp_path: Path) -> None:
    async def run() -> dict[str, Any]:
        formats = ("verdict", "oxford")
        return (await evaluate(tmp_path / "a.db", build_models(), list_questions(3), formats=formats))[1]

    found = anyio.run(run)
    assert list(found["arms"]) == ["single", "blind", "vote", "debate", "vote:oxford", "debate:oxford"]
    assert found["arms"]["debate:oxford"]["calls"] > 0
    assert {"arm": "debate:oxford", "minus": "debate"}.items() <= found["differences"][-1].items()


def test_a_second_opinion_is_evaluated_in_all_its_ways_each_beside_a_vote_for_its_tokens(
    tmp_path: Path,
) -> None:
    models, questions = build_models(), list_questions(6)

    async def run() -> dict[str, Any]:
        formats = ("advocates", "second_opinion")
        return (await evaluate(tmp_path / "a.db", models, questions, formats=formats))[1]

    found = anyio.run(run)
    arms, names = found["arms"], ("one", "check", "quick", "no_exchange", "standard")
    assert [arm for arm in arms if f"vote:{arm}" in arms] == [*names]
    assert sum(arms[arm]["calls"] for arm in ("vote", "debate", "check", "quick", "standard")) == count_calls(
        models
    )
    assert [arms[arm]["calls"] for arm in ("one", "check", "quick")] == [6, 12, 18]

    population, differ = Population(), 0
    for row in found["rows"]:
        told = row["arms"]
        alone = population.answer_alone(WEAK, row["id"], 0), population.answer_alone(WEAK, row["id"], 1)
        assert told["one"]["chosen"][0] in alone
        for arm in names:
            vote, spent = told[f"vote:{arm}"]["tokens"], told[arm]["tokens"]
            most = told["vote"]["tokens"]  # as many ballots as there are
            assert abs(vote - min(spent, most)) <= told["single"]["tokens"]
        ends = {population.judge(name, row["id"]) for name in (WEAK, STRONG)}
        if len(ends) == 1:
            assert told["standard"]["chosen"] in ([*ends], [])
            assert told["standard"] | {"debate_id": ""} == told["no_exchange"] | {"debate_id": ""}
        else:
            differ += 1
            assert told["standard"]["calls"] == told["no_exchange"]["calls"] + 2
    assert differ


@pytest.mark.parametrize(
    ("value", "recommendation", "chosen"),
    [
        ("B", "", "Option B"),
        ("a: A dog", "", "Option A"),
        ("**C.**", "", "Option C"),
        ("A cat", "", "Option B"),
        ("D", "It is C.", ""),
        ("", "It is a cat, as it mews.", "Option B"),
        ("", "A cat or a dog.", ""),
        ("", "A catalogue.", ""),
        ("", "", ""),
    ],
)
def test_the_option_of_an_advice_is_the_one_that_it_names(
    value: str, recommendation: str, chosen: str
) -> None:
    question = Question("q", "Which one?", ("A dog", "A cat", "A bird"), 0)
    assert find_option(question, Advice(recommendation=recommendation, value=value)) == chosen


def test_a_budget_of_calls_begins_no_debate_that_it_does_not_pay_for(tmp_path: Path) -> None:
    models, questions = build_models(), list_questions(6)

    async def run(calls: int) -> tuple[Evaluation, dict[str, Any]]:
        return await evaluate(tmp_path / "a.db", models, questions, budget=Budget(calls), at_once=1)

    work, found = anyio.run(run, 50)
    assert 0 < found["questions"] < 6
    assert found["left"] == 6 - found["questions"]
    assert count_calls(models) <= 50
    assert work.budget_reason == "the budget of 50 calls does not pay for another debate"
    work, found = anyio.run(run, 10_000)
    assert (found["questions"], work.budget_reason) == (6, "")
    assert work.calls == count_calls(models)


def test_a_budget_of_money_needs_prices(tmp_path: Path) -> None:
    async def run(budget: Budget) -> None:
        await evaluate(tmp_path / "a.db", build_models(), list_questions(1), budget=budget)

    with pytest.raises(InvalidRequestError, match="the price of weak, strong, judge is unknown"):
        anyio.run(run, Budget(cost_usd=Decimal(1)))


def test_a_model_that_is_down_stops_it_and_it_goes_on_when_run_again(tmp_path: Path) -> None:
    models, questions = build_models(), list_questions(8)
    for model in models.values():
        model.is_down = True
    work, found = anyio.run(evaluate, tmp_path / "a.db", models, questions)
    assert found["questions"] == 0
    assert 3 <= len(work.stopped) < 8
    assert "paused" in next(iter(work.stopped.values()))
    for model in models.values():
        model.is_down = False
    work, found = anyio.run(evaluate, tmp_path / "a.db", models, questions)
    assert (found["questions"], work.stopped) == (8, {})


def test_what_cannot_be_evaluated_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    async def refuse(plan: Plan, questions: list[Question]) -> str:
        async with open_engine(tmp_path / "a.db", models, default="") as manager:
            with pytest.raises(InvalidRequestError) as caught:
                await Evaluation(manager, plan, questions).check()
            return str(caught.value)

    models, questions = build_models(), list_questions(1)
    cases = [
        (Plan((WEAK,), ("openai/gpt-5",)), "OPENAI_API_KEY is not set"),
        (Plan(("no such model",)), "is not a model name"),
        (Plan((WEAK,), ("caller",)), "caller cannot answer so many questions by hand"),
        (Plan((WEAK,), formats=("settle",)), "chooses no option by votes"),
        (Plan((WEAK,), formats=("second_opinion",)), "Name one beside it: advocates"),
        (Plan((WEAK,), rounds=20), 'Question "1-0": max_rounds=20 is out of range'),
    ]
    for plan, expected in cases:
        assert expected in anyio.run(refuse, plan, questions)
    assert count_calls(models) == 0


def test_two_processes_share_the_work_and_pay_once(tmp_path: Path) -> None:
    models, alone, questions = build_models(), build_models(), list_questions(2)

    async def run_both() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        async def run() -> None:
            found.append((await evaluate(tmp_path / "a.db", models, questions))[1])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            tasks.start_soon(run)
        return found

    one, other = anyio.run(run_both)
    _, expected = anyio.run(evaluate, tmp_path / "b.db", alone, questions)
    assert count_calls(models) == count_calls(alone)
    assert one["arms"].keys() == other["arms"].keys()
    assert one["difference"] == other["difference"] == expected["difference"]
