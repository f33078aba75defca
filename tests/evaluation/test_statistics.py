"""Accuracy, Brier scores, labels and intervals, and what is made of them in reports."""

import random
import re
from decimal import Decimal
from typing import Any

import pytest

from server.evaluation.plan import Plan
from server.evaluation.questions import Question
from server.evaluation.report import render_markdown
from server.evaluation.results import build_results
from server.evaluation.scores import Answer, Spending
from server.evaluation.statistics import (
    bootstrap,
    compare_arms,
    list_comparisons,
    score_arm,
)

pytestmark = pytest.mark.requirement("N20")

HOSTILE = '<script>alert(1)</script> ![x](http://evil.example/a.png) "onload=\x1b[31m\u202e'


def build_answer(credit: float, label: str = "decided", **fields: Any) -> Answer:
    spending = Spending(2, 100, 10, Decimal("0.01"), 1.5)
    return Answer((0,) if credit == 1 else (1,), credit, label, spending, **fields)


def test_an_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [1.0] * 40 + [0.0] * 20
    found = bootstrap(values, 0, 1)
    assert found == bootstrap(values, 0, 1)
    assert found.value == pytest.approx(2 / 3)
    assert found.low < found.value < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * (2 / 9 / 59) ** 0.5, rel=0.1)


@pytest.mark.parametrize(
    ("differences", "is_certain"), [([1.0], False), ([1.0] * 3, False), ([1.0] * 6, True), ([-1.0] * 6, True)]
)
def test_few_questions_that_all_go_one_way_are_not_taken_for_certain(
    differences: list[float], is_certain: bool
) -> None:
    found = bootstrap(differences, -1, 1)
    assert (found.low > 0 or found.high < 0) is is_certain
    assert -1 <= found.low < found.high <= 1
    assert found.value in (found.low, found.high)


def test_a_share_of_all_has_the_interval_of_wilson() -> None:
    assert bootstrap([1.0] * 10, 0, 1).low == pytest.approx(0.7225, abs=1e-4)
    assert bootstrap([0.0] * 10, 0, 1).high == pytest.approx(0.2775, abs=1e-4)


def test_intervals_hold_as_often_as_they_say() -> None:
    draw = random.Random(7)  # noqa: S311  (no secret)
    held = 0
    for _ in range(40):
        found = bootstrap([draw.choice([-1.0, 0.0, 0.0, 0.0, 1.0, 1.0]) for _ in range(60)], -1, 1)
        held += found.low <= 1 / 6 <= found.high
    assert held >= 36


def test_pairs_make_what_is_hard_for_both_cancel() -> None:
    first = [build_answer(float(number % 2 == 0)) for number in range(60)]
    second = [build_answer(one.credit if number > 2 else 0.0) for number, one in enumerate(first)]
    paired = compare_arms(first, second)
    assert paired.value == pytest.approx(2 / 60)
    assert paired.high - paired.low < 0.1


def test_an_arm_has_shares_of_labels_brier_and_calibration() -> None:
    answers = [
        build_answer(1, belief=0.8, confidence=0.8, is_right=True),
        build_answer(0, "leaning", belief=0.4, confidence=0.6),
        build_answer(0.5, "undecided"),
    ]
    found = score_arm(answers)
    assert found.accuracy.value == 0.5
    assert found.brier == pytest.approx((0.04 + 0.36) / 2)
    assert found.brier_items == 2
    assert {label: (one.items, one.right) for label, one in found.labels.items()} == {
        "decided": (1, 1),
        "leaning": (1, 0),
        "undecided": (1, 0.5),
    }
    assert (found.spending.calls, found.spending.cost_usd) == (6, Decimal("0.03"))
    assert found.ece == pytest.approx((0.2 + 0.6) / 2)
    unknown = score_arm([build_answer(1), Answer((), 0.5, "failed", Spending(cost_usd=None))])
    assert unknown.spending.cost_usd is None
    assert (unknown.brier, unknown.ece) == (None, None)


def test_every_debate_is_compared_with_its_vote_and_formats_with_each_other() -> None:
    assert list_comparisons(["single", "blind", "vote", "debate", "vote:oxford", "debate:oxford"]) == [
        ("debate", "vote"),
        ("debate", "blind"),
        ("debate", "single"),
        ("vote", "single"),
        ("debate:oxford", "vote:oxford"),
        ("debate:oxford", "blind"),
        ("debate:oxford", "single"),
        ("vote:oxford", "single"),
        ("debate:oxford", "debate"),
    ]


def build_found(better: str = "debate", text: str = "Ship it?", count: int = 30) -> dict[str, Any]:
    questions = [Question(str(n), text, ("yes", text[:80]), 0) for n in range(count)]
    answers = {}
    for number, question in enumerate(questions):
        good = build_answer(1.0, belief=0.9, confidence=0.9, is_right=True, debate_id="k3x9w2m4p7qr")
        poor = build_answer(
            float(number % 3 == 0), "leaning", belief=0.5, confidence=0.7, debate_id="k3x9w2m4p7qr"
        )
        arms = dict.fromkeys(("single", "blind", "vote", "debate", "alone m", "alone n"), poor)
        if better:
            arms[better] = good
        answers[question.id, "advocates"] = arms
    return build_results(Plan(("m", "n"), ("<b>j</b>",)), questions, answers)


def test_the_contract_of_the_data_is_kept() -> None:
    found = build_found()
    assert found.keys() >= {"questions", "arms", "difference", "rows"}
    assert found["arms"].keys() == {"single", "blind", "vote", "debate"}
    wanted = {
        "accuracy",
        "decided_share",
        "decided_accuracy",
        "calls",
        "input_tokens",
        "output_tokens",
        "cost_usd",
    }
    assert all(score.keys() >= wanted for score in found["arms"].values())
    assert found["difference"].keys() == {"debate_minus_vote", "low", "high", "detectable"}
    assert found["difference"]["debate_minus_vote"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["alone"].keys() == {"m", "n"}
    assert found["rows"][0]["arms"]["debate"]["debate_id"] == "k3x9w2m4p7qr"


def test_the_first_line_has_both_shares_and_how_large_a_difference_so_many_questions_can_show() -> None:
    clear = render_markdown(build_found()).splitlines()[0]
    assert "debating was right in 100.0%, the vote in 33.3%, +66.7 points" in clear
    assert "can show" not in clear
    unclear = render_markdown(build_found("")).splitlines()[0]
    assert "So many questions can show a difference of about" in unclear


def test_what_can_be_shown_is_what_four_of_five_samples_show() -> None:
    draw, shown = random.Random(3), 0  # noqa: S311  (no secret)
    samples = [[draw.choice([-1.0, 0.0, 0.0, 1.0, 1.0]) for _ in range(60)] for _ in range(50)]
    least = sum(bootstrap(values, -1, 1).detectable for values in samples[:5]) / 5
    for values in samples:
        shifted = [value - 0.2 + least for value in values]
        shown += bootstrap(shifted, -2, 2).low > 0
    assert 35 <= shown <= 42


def test_what_has_no_label_decides_nothing() -> None:
    found = build_found()
    assert found["arms"]["debate"]["decided_share"] == 1
    plain = build_results(
        Plan(("m",)),
        [Question("0", "Ship it?", ("yes", "no"), 0)],
        {("0", "advocates"): dict.fromkeys(("single", "blind", "vote", "debate"), build_answer(1, ""))},
    )
    assert plain["arms"]["single"]["labels"] == {}
    assert (plain["arms"]["single"]["decided_share"], plain["arms"]["single"]["decided_accuracy"]) == (
        None,
        None,
    )


def test_a_report_says_which_arm_is_better_or_that_it_is_not_clear() -> None:
    assert render_markdown(build_found()).startswith(
        "# Debating was better than a vote for the same tokens on 30"
    )
    assert render_markdown(build_found("vote")).startswith(
        "# A vote for the same tokens was better than debating"
    )
    assert render_markdown(build_found("")).startswith("# No clear difference between debating and a vote")
    nothing = build_results(Plan(("m",)), [], {})
    assert render_markdown(nothing, ["Stopped."]).startswith("# No question was answered by every arm.")
    assert "Stopped." in render_markdown(nothing, ["Stopped."])


def test_hostile_texts_are_only_words() -> None:
    found = build_found("", text=HOSTILE, count=3)
    markdown = render_markdown(found, [HOSTILE])
    assert "\\<script" in markdown
    assert re.search(r"(?<!\\)<script", markdown) is None
    assert "](http" not in markdown
    assert "\x1b" not in markdown
    assert "\u202e" not in markdown
