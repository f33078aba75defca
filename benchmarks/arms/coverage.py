"""Whether `counterpoint evaluate` finds the better arm, and its intervals hold as often as they say.

Usage: python -m benchmarks arms [--repeats N] [--questions N]

Three tables of models (`population`): in the first debating helps, in the second it persuades of what is wrong, in the
third it makes little difference. Each is evaluated again and again on new questions, with the product's own engine.
The true difference is that over the questions of all repetitions.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio

from benchmarks.arms.population import Population
from server.compose import open_manager
from server.evaluation.plan import Plan
from server.evaluation.questions import parse_questions
from server.evaluation.results import build_results
from server.evaluation.runner import Evaluation
from server.models.prices import PriceTable
from server.settings import Settings

TABLES = {
    "debating helps": Population(),
    "debating misleads": Population(insight=0.55, insight_on_traps=0.1, traps=0.15),
    "about equal": Population(insight=0.75, insight_on_traps=0.15),
}


async def evaluate_once(
    population: Population, repetition: int, questions: int
) -> tuple[float, float, float, float]:
    """(difference, low, high, tokens of the votes by those of the debates) of one evaluation."""
    lines = "\n".join(map(json.dumps, population.list_questions(repetition, questions)))
    parsed = parse_questions(lines.encode())
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=str(Path(folder) / "debates.db"), models=())
        async with open_manager(settings, population.build_models(), environ={}) as manager:
            plan = Plan(tuple(population.models), ("judge",))
            work = Evaluation(manager, plan, parsed, PriceTable().find_price, at_once=8)
            await work.run()
    found = build_results(plan, parsed, work.answers)
    assert found["questions"] == questions, work.stopped
    difference = found["difference"]
    debate, vote = (
        found["arms"][arm]["input_tokens"] + found["arms"][arm]["output_tokens"] for arm in ("debate", "vote")
    )
    return difference["debate_minus_vote"], difference["low"], difference["high"], vote / debate


async def measure(
    population: Population, repeats: int, questions: int
) -> list[tuple[float, float, float, float]]:
    return [await evaluate_once(population, number, questions) for number in range(repeats)]


def report(name: str, rows: Sequence[tuple[float, float, float, float]]) -> str:
    true = sum(row[0] for row in rows) / len(rows)
    held = sum(low <= true <= high for _, low, high, _ in rows)
    clear = [(low > 0, high < 0) for _, low, high, _ in rows]
    debate, vote = sum(one for one, _ in clear), sum(other for _, other in clear)
    ratios = [ratio for *_, ratio in rows]
    return (
        f"{name:<20} {100 * true:+6.1f} points  intervals hold in {held} of {len(rows)}  debating clearly better in "
        f"{debate}, the vote in {vote}  tokens {min(ratios):.2f} to {max(ratios):.2f}"
    )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks arms")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--questions", type=int, default=60)
    given = parser.parse_args(arguments)
    for name, population in TABLES.items():
        print(report(name, anyio.run(measure, population, given.repeats, given.questions)), flush=True)
