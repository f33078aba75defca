"""The outcome of an evaluation in Markdown, from nothing but its data."""

from collections.abc import Iterable, Mapping
from typing import Any

from server.debate.facts.quoting import disarm_markup, quote_heading
from server.debate.facts.text import clean_line, format_count
from server.debate.views.state import tell_standing
from server.evaluation.advice import ADVICE_ARMS

MEANINGS = {
    "single": "one answer of one model",
    "blind": "one blind ballot of each model",
    "vote": "blind ballots for as many tokens as the debate took",
    "debate": "the verdict of a debate",
    "one": "one advisor's own answer",
    "check": "an answer, and a review of it by the same model",
    "quick": "a second opinion, quick",
    "no_exchange": "a second opinion before those who differ argue",
    "standard": "a second opinion",
}
"""What each arm is; that of a further format is named after it."""

PARTS = ("one", "no_exchange")
"""Arms that are parts of `standard`."""

MOST_LISTED = 20
"""Wrong verdicts that are listed."""

Results = Mapping[str, Any]


def render_markdown(results: Results, notes: Iterable[str] = ()) -> str:
    """`notes`: what is missing, and why."""
    parts = [f"# {describe_outcome(results)}", "", describe_setting(results), ""]
    parts += [f"> {disarm_markup(clean_line(note))}\n" for note in notes]
    if results["questions"]:
        parts += [*list_arm_lines(results), *list_difference_lines(results), *list_label_lines(results)]
        parts += [*list_calibration_lines(results), *list_model_lines(results), *list_wrong_lines(results)]
    return "\n".join(parts).rstrip() + "\n"


def describe_outcome(results: Results) -> str:
    """How often debating and the vote for the same tokens were right, and whether they differ clearly, in a line."""
    if not results["questions"]:
        return "No question was answered by every arm."
    difference, arms = results["difference"], results["arms"]
    debate, vote = (format_percentage(arms[arm]["accuracy"]) for arm in ("debate", "vote"))
    points = describe_points(difference["debate_minus_vote"], difference["low"], difference["high"])
    on = f"on {format_count(results['questions'], 'question')}"
    head = "No clear difference between debating and a vote for the same tokens"
    if difference["low"] > 0:
        head = "Debating was better than a vote for the same tokens"
    if difference["high"] < 0:
        head = "A vote for the same tokens was better than debating"
    finding = f"{head} {on}: debating was right in {debate}, the vote in {vote}, {points}"
    is_clear = difference["low"] > 0 or difference["high"] < 0
    least = f"{100 * difference['detectable']:.0f} points"
    return (
        finding
        if is_clear
        else f"{finding}. So many questions can show a difference of about {least} or more"
    )


def describe_points(value: float, low: float, high: float) -> str:
    return f"{100 * value:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"


def describe_setting(results: Results) -> str:
    models = ", ".join(map(quote_heading, results["models"]))
    judges = ", ".join(map(quote_heading, results["judges"])) or "those that a debate chooses"
    rest = f" {format_count(results['left'], 'question')} left." if results["left"] else ""
    return (
        f"Models {models}; judges {judges}; {', '.join(results['formats'])}; seed {results['seed']}."
        f"{rest}{describe_reused(results)} In brackets: 95% intervals for questions like these, by a paired bootstrap."
    )


def describe_reused(results: Results) -> str:
    """How many answers are those of other debates; "" without `cache`."""
    if results["cache"] == "off":
        return ""
    scores = [score for arm, score in results["arms"].items() if arm not in PARTS]
    answers = format_count(sum(score["reused"] for score in scores), "answer")
    tokens = sum(score["reused_tokens"] for score in scores)
    return f" Reused from other debates: {answers}; their {tokens:,} tokens are not among those below."


def format_percentage(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def format_money(cost: str | None) -> str:
    return "unknown" if cost is None else f"${float(cost):.4f}"


def list_table(heading: str, rows: Iterable[Iterable[str]]) -> list[str]:
    columns = heading.count("|") + 1
    lines = [f"| {heading} |", "|" + " --- |" * columns]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def describe_arm(arm: str) -> str:
    kind, _, name = arm.partition(":")
    if kind == "vote" and name in ADVICE_ARMS:
        return f"blind ballots for about as many tokens as {name} took"
    return f"{MEANINGS[kind]}{f' ({name})' if name else ''}"


def list_arm_lines(results: Results) -> list[str]:
    rows = [
        (
            f"`{arm}`: {describe_arm(arm)}",
            (
                f"{format_percentage(score['accuracy'])} ({format_percentage(score['accuracy_low'])} to "
                f"{format_percentage(score['accuracy_high'])})"
            ),
            format_number(score["brier"]),
            f"{score['calls']:,}",
            f"{score['input_tokens'] + score['output_tokens']:,}",
            format_money(score["cost_usd"]),
            f"{score['seconds']:,.0f} s",
        )
        for arm, score in results["arms"].items()
    ]
    return list_table("arm | right | Brier | calls | tokens | cost | time of models", rows)


def list_difference_lines(results: Results) -> list[str]:
    rows = [
        (
            f"`{difference['arm']}` less `{difference['minus']}`",
            describe_points(difference["value"], difference["low"], difference["high"]),
            "clear" if difference["low"] > 0 or difference["high"] < 0 else "not clear",
        )
        for difference in results["differences"]
    ]
    return ["## Differences", "", *list_table("arms | right | ", rows)]


def list_label_lines(results: Results) -> list[str]:
    rows = [
        (
            f"`{arm}`",
            tell_standing(label),
            str(label_score["items"]),
            format_percentage(label_score["share"]),
            format_percentage(label_score["accuracy"]),
        )
        for arm, score in results["arms"].items()
        for label, label_score in score["labels"].items()
    ]
    explanation = (
        "How often each label came up, and how often the option ahead was right. Ballots, and answers of one model, "
        "have no label."
    )
    return ["## Labels", "", explanation, "", *list_table("arm | label | questions | share | right", rows)]


def list_calibration_lines(results: Results) -> list[str]:
    rows = [
        (
            f"`{arm}`",
            format_percentage(interval["mean_confidence"]),
            format_percentage(interval["accuracy"]),
            str(interval["items"]),
        )
        for arm, score in results["arms"].items()
        for interval in score["calibration"]["bins"]
    ]
    explanation = "How sure each arm was of the option ahead, and how often that was right."
    return (
        ["## Calibration", "", explanation, "", *list_table("arm | told | right | questions", rows)]
        if rows
        else []
    )


def list_model_lines(results: Results) -> list[str]:
    rows = [
        (quote_heading(model), format_percentage(score["accuracy"]), format_number(score["brier"]))
        for model, score in results["alone"].items()
    ]
    return ["## Each model alone", "", *list_table("model | right | Brier", rows)] if rows else []


def list_wrong_lines(results: Results) -> list[str]:
    """Verdicts that were wrong, to be read: they teach more than those that were right."""
    wrong = [
        f"- {quote_heading(row['question'])}: {quote_heading(row['options'][answer['chosen'][0]])}, in place of "
        f"{quote_heading(row['options'][row['answer']])} ({tell_standing(answer['label'])}; "
        f"`counterpoint show {answer['debate_id']}`)"
        for row in results["rows"]
        for answer in [row["arms"]["debate"]]
        if answer["chosen"] and answer["chosen"] != [row["answer"]]
    ]
    if not wrong:
        return []
    ending = [f"- and {len(wrong) - MOST_LISTED} more"] if len(wrong) > MOST_LISTED else []
    return ["## Wrong verdicts", "", *wrong[:MOST_LISTED], *ending, ""]
