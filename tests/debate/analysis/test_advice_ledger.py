"""What the ledger learns from second opinions of which it is known how they turned out, and what it makes of it."""

from fractions import Fraction
from typing import Any

import pytest

from server.debate.analysis.confidence import describe_outcome
from server.debate.analysis.debates import build_extract, list_debate_judgments
from server.debate.analysis.judgments import Judgment, Reading
from server.debate.analysis.records import (
    AdviceStatistics,
    calibrate_advice,
    count_advice_record,
    summarize_advice,
)
from server.debate.facts.errors import InvalidRequestError
from server.debate.interventions.registry import find_action
from server.debate.records.setup import check_opened
from server.debate.views.verdict import build_verdict
from tests.support.advisors import MODELS, open_advice, play_advice
from tests.support.panels import APART, NOBODY
from tests.support.records import build_bodies, verify_bodies
from tests.support.simulation import (
    DebateSimulation,
    build_debaters,
    build_setup,
    judge_script,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("N21", "N3")

ONE, TWO = "alpha/a", "beta/b"
SURE = Fraction(9, 10)


def settle(
    played: DebateSimulation, to: str, **fields: Any
) -> list[tuple[str, str, list[tuple[int, str, bool]]]]:
    """(model, what is right, its readings) of each row."""
    played.intervene("outcome", to=to, **fields)
    return [
        (one.judge, one.gold, [(row.number, row.choice, row.choice == one.gold) for row in one.readings])
        for one in list_debate_judgments(played.debate)
    ]


def test_each_answer_and_each_review_is_right_or_wrong_by_itself() -> None:
    moved = play_advice(open_advice(), blind="AB", finals=[("A", 90), ("A", 80)])
    assert settle(moved, "right") == [
        (ONE, "Advisor 1", [(1, "Advisor 1", True), (2, "Advisor 1", True)]),
        (TWO, "Advisor 1", [(1, "Advisor 2", False), (2, "Advisor 1", True)]),
    ]
    assert build_verdict(moved.debate).settled == "Turned out right: the answer of Advisor 1."
    assert settle(moved, "advisor 2")[1][2] == [(1, "Advisor 2", True), (2, "Advisor 1", False)]
    assert verify_bodies(build_bodies(moved.events)) == moved.debate


def test_of_an_answer_that_was_wrong_nothing_is_known_of_the_others() -> None:
    moved = play_advice(open_advice(), blind="AB", finals=[("A", 90), ("A", 80)])
    assert settle(moved, "wrong", reason="It broke.") == [
        (ONE, "", [(1, "Advisor 1", False), (2, "Advisor 1", False)]),
        (TWO, "", [(2, "Advisor 1", False)]),
    ]
    assert describe_outcome(moved.debate) == 'What was found turned out wrong. "It broke."'
    fact = moved.debate.outcome
    assert fact
    assert find_action(fact).describe(fact) == ("", "what was found turned out wrong")
    assert settle(moved, "none")[1][2] == [(1, "Advisor 2", False), (2, "Advisor 1", False)]
    assert verify_bodies(build_bodies(moved.events)) == moved.debate


def test_advice_that_is_nobodys_answer_can_turn_out_right() -> None:
    script = {"blind": "AB", "finals": [("AB", 80)] * 2, "exchange": [([1], "", 80), ([0], "", 80)]}
    combined = play_advice(open_advice(), **script)
    assert settle(combined, "right")[0][2] == [(1, "Advisor 1", False), (2, "*Advisor 1", True)]
    assert describe_outcome(combined.debate) == "Turned out right: the advice of Advisor 1."
    fact = combined.debate.outcome
    assert fact
    assert find_action(fact).describe(fact) == ("", "the advice of Advisor 1 turned out right")
    with pytest.raises(
        InvalidRequestError,
        match=r"Advisors: Advisor 1, Advisor 2\. What reviewers advise themselves: the advice of Advisor 1\.",
    ):
        combined.intervene("outcome", to="somebody")
    settle(combined, "The answer of Advisor 2.")
    assert describe_outcome(combined.debate) == "Turned out right: the answer of Advisor 2."
    settle(combined, "the advice of advisor 1.")
    assert describe_outcome(combined.debate) == "Turned out right: the advice of Advisor 1."
    assert verify_bodies(build_bodies(combined.events)) == combined.debate


def test_what_is_divided_is_neither_right_nor_wrong_and_a_caller_is_not_rated() -> None:
    divided = play_advice(open_advice(), blind="AB", finals=APART, exchange=[NOBODY, NOBODY])
    with pytest.raises(
        InvalidRequestError, match=r"the advisor whose own answer it is, or none. Advisors: Advisor 1"
    ):
        divided.intervene("outcome", to="wrong")
    written = play_advice(open_advice(("local",)), blind="A")
    assert settle(written, "none") == []
    one_model = play_advice(open_advice((MODELS[0],)))
    assert len(settle(one_model, "right")) == 1


def advise(number: int, model: str, *, apart: bool, after: bool) -> Judgment:
    choices = [("right" if is_right else "wrong") for is_right in (apart, after)]
    readings = tuple(Reading(n, choice, None) for n, choice in enumerate(choices, start=1))
    return Judgment(f"item {number}", model, "right", readings, role="advisor")


def test_whether_reading_others_helps_is_counted() -> None:
    rows = [advise(n, ONE, apart=n < 4, after=n < 7) for n in range(10)]
    rows.append(Judgment("another", ONE, "right", (Reading(1, "right"),), role="advisor"))
    rows.append(Judgment("another", TWO, "right", (Reading(1, "right"),)))
    assert summarize_advice(rows) == [AdviceStatistics(ONE, 11, 5, 10, 7)]
    assert [row.credit for row in rows[3:5]] == [2, 0]
    assert Judgment("x", ONE, "right", (Reading(2, "right"),), role="advisor").credit == 1


@pytest.mark.parametrize(("items", "low", "high"), [(19, None, None), (20, 0.4, 0.7), (40, 0.3, 0.65)])
def test_from_twenty_settled_items_on_advice_has_a_calibrated_figure(
    items: int, low: float | None, high: float | None
) -> None:
    rows = [
        Judgment(
            f"item {n}",
            model,
            "right",
            (Reading(1, "right"), Reading(2, "right" if n % 2 else "wrong", SURE)),
            role="advisor",
        )
        for n in range(items)
        for model in (ONE, TWO)
    ]
    records = [count_advice_record(model, rows) for model in (ONE, TWO)]
    extract = build_extract(records, calibrate_advice(rows))
    setup = open_advice().model_copy(update={"ledger": extract})
    check_opened(setup)
    played = play_advice(setup)
    verdict = build_verdict(played.debate)
    if low is None or high is None:
        assert verdict.confidence.value is None
        assert "Not measured on your questions yet." in verdict.answer.how_sure
    else:
        assert verdict.confidence.value is not None
        assert low < verdict.confidence.value < high  # each said 90 %, and was right in half
        told = f"On your settled questions their advice was right: {ONE} {items // 2} of {items}, {TWO}"
        assert told in verdict.answer.how_sure
        unread = build_verdict(play_advice(setup, failed={"review.2"}).debate).confidence.value
        assert unread is not None
        assert unread <= verdict.confidence.value
    divided = play_advice(setup, blind="AB", finals=APART, exchange=[NOBODY, NOBODY])
    assert build_verdict(divided.debate).confidence.value is None


def test_judges_who_review_have_rows_for_what_they_advise() -> None:
    played = play_advice(
        open_advice(options={"judges": {"models": ["gamma/c", "delta/d"]}}), finals=[("A", 90)]
    )
    assert [readings for _, _, readings in settle(played, "right")] == [
        [(1, "Advisor 1", True)],
        [(1, "Advisor 1", True)],
        [(2, "Advisor 1", True)],
        [(2, "Advisor 1", True)],
    ]


def test_in_other_formats_too_a_finding_that_was_wrong_says_nothing_of_other_positions() -> None:
    at = simulate(
        build_setup(debaters=build_debaters(2), options={"judges": {"models": ["x/j", "y/k", "z/l"]}}),
        judge_script(
            {
                (f"judge {n}", reading): render_finding(None if n == 3 else "A")
                for n in (1, 2, 3)
                for reading in (1, 2)
            }
        ),
    ).play()
    winner = at.debate.verdict.winner if at.debate.verdict else ""
    assert [(model, gold) for model, gold, _ in settle(at, "wrong")] == [("x/j", ""), ("y/k", "")]
    assert [model for model, *_ in settle(at, "right")] == ["x/j", "y/k", "z/l"]
    assert at.debate.outcome
    assert at.debate.outcome.truth == winner
