"""The outcome of an evaluation as plain data: what `--json` prints, and all that reports are made of."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.debate.commands.requests import DEFAULT_FORMAT
from server.evaluation.advice import ADVICE_ARMS
from server.evaluation.plan import WAYS, Plan
from server.evaluation.questions import Question
from server.evaluation.scores import Answer, Spending
from server.evaluation.statistics import (
    ArmScore,
    Interval,
    compare_arms,
    list_comparisons,
    score_arm,
)

Answers = Mapping[tuple[str, str], Mapping[str, Answer]]
"""By question and debate of the plan, those of each arm."""


def build_results(plan: Plan, questions: Sequence[Question], answers: Answers) -> dict[str, Any]:
    """Scores of all arms on the questions that every debate has answered, comparisons, and a row for each question."""
    complete = [q for q in questions if all((q.id, name) in answers for name in plan.debates)]
    rows = {question.id: merge_formats(plan, answers, question) for question in complete}
    arms = list_arms(plan)
    columns = {arm: [rows[q.id][arm] for q in complete] for arm in (*arms, *list_models(plan))}
    pairs = list_comparisons(arms) if complete else []
    differences = [
        {"arm": one, "minus": other, **dump_interval(compare_arms(columns[one], columns[other]))}
        for one, other in pairs
    ]
    first = differences[0] if differences else dict.fromkeys(("value", "low", "high", "detectable"))
    return {
        "questions": len(complete),
        "left": len(questions) - len(complete),
        "models": list(plan.models),
        "judges": list(plan.judges),
        "formats": list(plan.formats),
        "seed": plan.seed,
        "cache": plan.cache,
        "arms": {arm: dump_score(score_arm(columns[arm])) for arm in arms} if complete else {},
        "alone": {
            name.removeprefix("alone "): dump_score(score_arm(columns[name])) for name in list_models(plan)
        }
        if complete
        else {},
        "difference": {
            "debate_minus_vote": first["value"],
            "low": first["low"],
            "high": first["high"],
            "detectable": first["detectable"],
        },
        "differences": differences,
        "rows": [dump_row(question, rows[question.id], arms) for question in complete],
    }


def list_arms(plan: Plan) -> list[str]:
    """Debate and vote of the first format have those names; of others the format follows after a colon.

    The arms of a second opinion have a vote each, for as many tokens.
    """
    more = [f"{arm}:{name}" for name in plan.voting_formats[1:] for arm in ("vote", "debate")]
    more += [arm for name in list_advice_arms(plan) for arm in (f"vote:{name}", name)]
    return ["single", "blind", "vote", "debate", *more]


def list_advice_arms(plan: Plan) -> tuple[str, ...]:
    return ADVICE_ARMS if DEFAULT_FORMAT in plan.formats else ()


def list_models(plan: Plan) -> list[str]:
    return [f"alone {model}" for model in dict.fromkeys(plan.models)] if len(set(plan.models)) > 1 else []


def merge_formats(plan: Plan, answers: Answers, question: Question) -> dict[str, Answer]:
    """The answers of all arms to a question; those that no format changes are from the first."""
    first_format, *other_formats = plan.voting_formats
    answers_by_arm = dict(answers[question.id, first_format])
    missing = answers_by_arm["single"]
    for name in list_models(plan):  # no answer, where a model gave none
        answers_by_arm.setdefault(name, Answer((), 1 / len(question.options), "", missing.spending))
    for name in other_formats:
        answers_of_format = answers[question.id, name]
        answers_by_arm |= {f"{arm}:{name}": answers_of_format[arm] for arm in ("vote", "debate")}
    if arms := list_advice_arms(plan):
        advice = {arm: answer for way in WAYS for arm, answer in answers[question.id, way].items()}
        answers_by_arm |= {
            f"vote:{arm}": find_vote(answers_by_arm, advice[arm].spending.tokens) for arm in arms
        } | advice
    return answers_by_arm


def find_vote(answers: Mapping[str, Answer], tokens: int) -> Answer:
    """The vote by so many of the first ballots that it took about as many tokens."""
    votes = [answer for arm, answer in answers.items() if arm.startswith("vote ")]
    return min(votes or [answers["vote"]], key=lambda vote: abs(vote.spending.tokens - tokens))


def dump_interval(interval: Interval) -> dict[str, Any]:
    names = ("value", "low", "high", "detectable")
    return {name: round4(getattr(interval, name)) for name in names}


def round4(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def dump_spending(spending: Spending) -> dict[str, Any]:
    cost = spending.cost_usd
    return {
        "calls": spending.calls,
        "input_tokens": spending.input_tokens,
        "output_tokens": spending.output_tokens,
        "cost_usd": None if cost is None else f"{cost:f}",
        "seconds": round(spending.seconds, 3),
        "reused": spending.reused,
        "reused_tokens": spending.reused_tokens,
    }


def dump_score(score: ArmScore) -> dict[str, Any]:
    decided = score.labels.get("decided")
    return {
        "accuracy": round4(score.accuracy.value),
        "accuracy_low": round4(score.accuracy.low),
        "accuracy_high": round4(score.accuracy.high),
        "brier": round4(score.brier),
        "brier_items": score.brier_items,
        "decided_share": round(decided.items / score.questions, 4)
        if decided
        else 0.0
        if score.labels
        else None,  # ballots and answers of one model decide nothing
        "decided_accuracy": round(decided.right / decided.items, 4) if decided else None,
        "labels": {
            label: {
                "items": found.items,
                "share": round(found.items / score.questions, 4),
                "accuracy": round(found.right / found.items, 4),
            }
            for label, found in score.labels.items()
        },
        **dump_spending(score.spending),
        "calibration": {
            "ece": round4(score.ece),
            "bins": [
                {
                    "low": one.low,
                    "high": one.high,
                    "items": round(one.number),
                    "mean_confidence": round4(one.mean_belief),
                    "accuracy": round4(one.accuracy),
                }
                for one in score.bins
            ],
        },
    }


def dump_row(question: Question, answers: Mapping[str, Answer], arms: Sequence[str]) -> dict[str, Any]:
    return {
        "id": question.id,
        "question": question.text,
        "options": list(question.options),
        "answer": question.answer,
        "arms": {
            arm: {
                "chosen": list(answer.chosen),
                "credit": round4(answer.credit),
                "label": answer.label,
                "belief": round4(answer.belief),
                "confidence": round4(answer.confidence),
                "calls": answer.spending.calls,
                "tokens": answer.spending.tokens,
                **({"debate_id": answer.debate_id} if answer.debate_id else {}),
            }
            for arm, answer in answers.items()
            if arm in arms
        },
    }
