"""An evaluation whose debates take turns from other debates: what is asked anew, what is told, and what it costs."""

import json
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.evaluation.plan import Plan
from server.evaluation.questions import Question, parse_questions
from server.evaluation.report import render_markdown
from server.evaluation.results import build_results
from server.evaluation.runner import Budget, Evaluation
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine
from tests.support.patience import PATIENCE
from tests.support.population import Population

pytestmark = pytest.mark.requirement("D22", "N20")

DEBATERS, JUDGE, OTHER = ("weak", "strong"), "judge", "other judge"
COUNT = 3
REUSING = Plan(DEBATERS, (JUDGE,), cache="reuse")


def build_models() -> dict[str, ScriptedModel]:
    population = Population()
    models = population.build_models()
    models[OTHER] = ScriptedModel(partial(population.reply, JUDGE), name=OTHER)
    return {name: replace(model, record_requests=True) for name, model in models.items()}


def list_questions() -> list[Question]:
    return parse_questions("\n".join(map(json.dumps, Population().list_questions(1, COUNT))).encode())


def evaluate(
    database: Path, models: dict[str, ScriptedModel], plan: Plan, budget: Budget | None = None
) -> tuple[Evaluation, dict[str, Any]]:
    async def run() -> Evaluation:
        async with open_engine(database, models, default="") as manager:
            work = Evaluation(manager, plan, list_questions(), budget or Budget())
            await work.check()
            with anyio.fail_after(PATIENCE):
                await work.run()
            return work

    work = anyio.run(run)
    return work, build_results(plan, work.questions, work.answers)


def list_asked(models: dict[str, ScriptedModel]) -> list[tuple[str, str]]:
    return [(name, one.prompt.summary.task) for name, model in models.items() for one in model.requests]


def test_another_judge_hears_the_same_turns_and_only_what_is_asked_is_counted_and_told(
    tmp_path: Path,
) -> None:
    first, second = build_models(), build_models()
    _, before = evaluate(tmp_path / "db", first, REUSING)
    work, after = evaluate(tmp_path / "db", second, replace(REUSING, judges=(OTHER,)))

    assert {task for name, task in list_asked(second) if name in DEBATERS} == {"ballot"}
    assert {name for name, task in list_asked(second) if task == "judgment"} == {OTHER}
    spoken, asked = before["arms"]["debate"], after["arms"]["debate"]
    turns = sum(task == "argument" for _, task in list_asked(first))
    assert (spoken["reused"], asked["reused"]) == (0, turns)
    assert asked["calls"] == spoken["calls"] - turns
    assert asked["calls"] + after["arms"]["vote"]["calls"] == len(list_asked(second)) == work.calls
    heard, tokens = (score["input_tokens"] + score["output_tokens"] for score in (spoken, asked))
    assert 0 < tokens == heard - asked["reused_tokens"]
    assert Decimal(asked["cost_usd"]) <= Decimal(spoken["cost_usd"])
    for measured in ("accuracy", "labels", "brier"):  # the other judge finds what the first one found
        assert asked[measured] == spoken[measured]
    told = (
        f"Reused from other debates: {turns} answers; their {asked['reused_tokens']:,} tokens "
        "are not among those below."
    )
    assert turns > 1
    assert told in render_markdown(after)
    assert "Reused from other debates: 0 answers" in render_markdown(before)
    assert "Reused" not in render_markdown(before | {"cache": "off"})


def test_a_budget_pays_for_what_is_asked_only_and_a_later_run_goes_on(tmp_path: Path) -> None:
    evaluate(tmp_path / "db", build_models(), REUSING)
    plan, models = replace(REUSING, judges=(OTHER,)), build_models()
    stopped, found = evaluate(tmp_path / "db", models, plan, Budget(40))
    assert found["left"] == COUNT - found["questions"] > 0
    assert stopped.budget_reason == "the budget of 40 calls does not pay for another debate"
    work, whole = evaluate(tmp_path / "db", models, plan)
    assert (whole["questions"], work.calls) == (COUNT, len(list_asked(models)))
