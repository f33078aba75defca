"""The outcome of an evaluation as plain data: what `--json` prints, and all that reports are made of."""

from collections.abc import Mapping, Sequence
from typing import Any

from server.evaluation.plan import Plan
from server.evaluation.questions import Question
from server.evaluation.scores import Answer, Spending
from server.evaluation.statistics import ArmScore, Interval, compare_arms, list_comparisons, score_arm

Answers = Mapping[tuple[str, str], Mapping[str, Answer]]
"""By question and format, those of each arm."""


def build_results(plan: Plan, questions: Sequence[Question], answers: Answers) -> dict[str, Any]:
    """Scores of all arms on the questions that every format has answered, comparisons, and a row for each question."""
    complete = [q for q in questions if all((q.id, name) in answers for name in plan.formats)]
    rows = {question.id: merge_formats(plan, answers, question) for question in complete}
    arms = list_arms(plan)
    columns = {arm: [rows[q.id][arm] for q in complete] for arm in (*arms, *list_models(plan))}
    pairs = list_comparisons(arms) if complete else []
    differences = [
        {"arm": one, "minus": other, **dump_interval(compare_arms(columns[one], columns[other]))}
        for one, other in pairs
    ]
    first = differences[0] if differences else {"value": None, "low": None, "high": None}
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
        },
        "differences": differences,
        "rows": [dump_row(question, rows[question.id], arms) for question in complete],
    }


def list_arms(plan: Plan) -> list[str]:
    """Debate and vote of the first format have those names; of others the format follows after a colon."""
    more = [f"{arm}:{name}" for name in plan.formats[1:] for arm in ("vote", "debate")]
    return ["single", "blind", "vote", "debate", *more]


def list_models(plan: Plan) -> list[str]:
    return [f"alone {model}" for model in dict.fromkeys(plan.models)] if len(set(plan.models)) > 1 else []


def merge_formats(plan: Plan, answers: Answers, question: Question) -> dict[str, Answer]:
    """The answers of all arms to a question; those that no format changes are from the first."""
    first, *others = plan.formats
    found = dict(answers[question.id, first])
    missing = found["single"]
    for name in list_models(plan):  # no answer, where a model gave none
        found.setdefault(name, Answer((), 1 / len(question.options), "undecided", missing.spending))
    for name in others:
        more = answers[question.id, name]
        found |= {f"{arm}:{name}": more[arm] for arm in ("vote", "debate")}
    return found


def dump_interval(found: Interval) -> dict[str, Any]:
    return {"value": round4(found.value), "low": round4(found.low), "high": round4(found.high)}


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
        "decided_share": round(decided.items / score.questions, 4) if decided else 0.0,
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


def dump_row(question: Question, found: Mapping[str, Answer], arms: Sequence[str]) -> dict[str, Any]:
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
                "tokens": answer.spending.input_tokens + answer.spending.output_tokens,
                **({"debate_id": answer.debate_id} if answer.debate_id else {}),
            }
            for arm, answer in found.items()
            if arm in arms
        },
    }
