"""What replies mean in the answer format: whatever can be understood, and nothing that nobody wrote."""

import json
from typing import Any

import pytest

from server.debate.answer.prompts import order_answers, order_reviews
from server.debate.answer.texts import show_exchange
from server.debate.facts.advice import Branch, Correction, Exchanged
from server.debate.replies.advice import read_answer, read_check, read_exchange, read_report, read_review
from tests.support.panels import build_answer, common, play_panel

pytestmark = pytest.mark.requirement("B4")

ONE, TWO = "Advisor 1", "Advisor 2"
PANEL = play_panel(
    "AB",
    [("A", 80), ("B", 80)],
    advised={
        ONE: build_answer(ONE, "Keep the queue in Postgres.", because="It does 1,744 jobs a second."),
        TWO: build_answer(TWO, "Move it out.", because="Vacuum can\u2019t keep up — ever."),
    },
)
SEATS = order_answers(PANEL, TWO)  # the second reviewer reads them turned


def review(**fields: Any) -> dict[str, Any]:
    given = {"recommendation": "Keep it.", "follows": ["Q31"], **fields}
    return read_review(PANEL, SEATS, f"First a note.\n{json.dumps(given)}", takes_prose=False)


def test_who_reviews_writes_an_answer_without_the_labels_that_it_read() -> None:
    given = {
        "recommendation": "Keep it.",
        "follows": ["Q31"],
        "answer": "# Verdict\n\nKeep it (K7).\n \nAs Q31 says, it is idle.",
    }
    assert review(**given)["text"] == "Keep it.\n\nAs the first answer says, it is idle."
    assert read_review(PANEL, SEATS, "Keep it.", takes_prose=True)["text"] == ""


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("No\n\nIt is idle.", "No\n\nIt is idle."),
        ("35 %\n\nIt is idle.", "35 %\n\nIt is idle."),
        ("Here is the answer:\n\nNo.", "No."),
        ("No.\\n\\nIt is idle.", "No.\n\nIt is idle."),
        ('{"answer": "No."}', ""),
        ("No" * 3_001, ""),
        ({"text": "No."}, ""),
    ],
    ids=["short", "a value", "title", "escaped twice", "JSON", "cut", "object"],
)
def test_the_answer_of_a_reviewer_is_what_people_can_read(written: Any, kept: str) -> None:
    assert review(recommendation="No, keep it.", value="35 %", answer=written)["text"] == kept


def test_line_breaks_inside_a_text_of_json_lose_no_review() -> None:
    given = '{"recommendation": "Keep it.", "follows": ["Q31"], "answer": "Keep it.\n\nIt is idle."}'
    read = read_review(PANEL, SEATS, given, takes_prose=False)
    assert read["text"] == "Keep it.\n\nIt is idle."


def test_an_answer_without_json_is_an_answer() -> None:
    assert read_answer("Do keep it.") == {"recommendation": "Do keep it.", "probability": 50}
    for nothing in ("[]", "null", "None."):
        with pytest.raises(ValueError, match="no JSON object"):
            read_answer(nothing)
    with pytest.raises(ValueError, match="is empty"):
        read_answer('{"recommendation": " "}')
    with pytest.raises(ValueError, match="broken off"):
        read_answer('{"because": "It sends mail twi')


def test_the_last_object_of_an_answer_counts_and_fields_come_in_many_shapes() -> None:
    told = '{"Recommendation": "Yes.", "Changes If": ["a", "b"], "value": 7, "next": true, "probability": "93 %"}'
    read = read_answer(f'{{"recommendation": "No."}} then {told}')
    assert (read["recommendation"], read["changes_if"], read["value"], read["next"]) == (
        "Yes.",
        "a\nb",
        "7",
        "",
    )
    assert read["probability"] == 93


@pytest.mark.parametrize(
    ("given", "percent"),
    [
        *((0.8, 80), (1, 1), (1.0, 100), ("1.0", 100), ("0,75", 75), (140, 100), ("0.4 %", 0), (0, 0)),
        *((True, 50), (None, 50), ("likely", 50), ([80], 50)),
    ],
)
def test_probabilities_are_percent_or_shares(given: Any, percent: int) -> None:
    assert read_answer(json.dumps({"recommendation": "x", "probability": given}))["probability"] == percent


def test_labels_become_ids_in_texts_and_seats_in_fields() -> None:
    read = review(
        because="K7 forgets what Q31s Grund ist.", groups=[["K7"], ["Q31"]], missing="Q31 too", best="K7"
    )
    assert SEATS == {"K7": TWO, "Q31": ONE}
    assert read["because"] == "[A2] forgets what [A1]s Grund ist."
    assert read["follows"] == (ONE,)
    assert read["groups"] == ((TWO,), (ONE,))
    assert read["missing"] == ("[A1] too",)
    assert read["best"] == TWO


@pytest.mark.parametrize(
    ("groups", "read"),
    [
        ([["K7", "Q31"]], ((TWO, ONE),)),
        ({"1": ["K7", "Q31"]}, ((TWO, ONE),)),
        ([["K7"], ["K7", "Q31"]], ((TWO,), (ONE,))),  # the first mention counts
        ([["Z99"], "Q31"], ((ONE,), (TWO,))),  # the unknown is dropped, the missing is alone
        ("no groups", ((TWO,), (ONE,))),
        (None, ((TWO,), (ONE,))),
    ],
)
def test_every_answer_is_in_one_group(groups: Any, read: tuple[tuple[str, ...], ...]) -> None:
    assert review(groups=groups)["groups"] == read


def test_words_that_no_answer_holds_are_dropped_and_counted() -> None:
    read = review(
        errors=[
            {
                "answers": ["K7"],
                "words": "Vacuum can't keep up - ever",
                "right": "It does.",
                "matters": "true",
            },
            {"answers": ["Q31"], "words": "Postgres is a toy", "right": "It is none."},
            {"words": "no correction"},
            "no object",
        ],
        keep=["it does 1,744 jobs A SECOND", {"text": "never written"}],
    )
    assert read["errors"] == (
        Correction(answers=(TWO,), words="Vacuum can't keep up - ever", right="It does.", matters=True),
        Correction(answers=(ONE,), words="", right="It is none.", matters=False),
    )
    assert read["keep"] == ("it does 1,744 jobs A SECOND",)
    assert read["unfound"] == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '{"recommendation": "x"}',
            '"follows" is missing: list the labels of the answers whose advice yours is, or none',
        ),
        ('{"follows": [], "recommendation": ""}', '"recommendation" is empty'),
        ('{"follows": []}', 'has no "recommendation"'),
        ("I think so.", "holds no JSON object"),
    ],
)
def test_a_review_needs_advice_and_whose_it_is(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem.replace("[", r"\[")):
        read_review(PANEL, SEATS, text, takes_prose=False)


def test_a_person_may_write_prose() -> None:
    read = read_review(PANEL, SEATS, "Keep it, as Q31 says.", takes_prose=True)
    assert (read["recommendation"], read["follows"]) == ("Keep it, as [A1] says.", ())
    assert read_exchange(PANEL, ONE, "Keep it.", takes_prose=True)["moved"] is False


def exchange(**fields: Any) -> dict[str, Any]:
    return read_exchange(PANEL, ONE, json.dumps({"recommendation": "Keep it.", **fields}), takes_prose=False)


def test_an_exchange_says_what_moved_whom() -> None:
    label = next(iter(order_reviews(PANEL, ONE)))
    assert label not in order_answers(PANEL, ONE)
    read = exchange(
        kind="Fact",
        moved_by="advice B",
        same_as=[label],
        reply=f"{label} is right",
        branches=[{"if": "a", "do": "b"}],
    )
    assert (read["difference"], read["moved"], read["moved_by"], read["same_as"]) == (
        "fact",
        True,
        "advice B",
        (TWO,),
    )
    quoted = exchange(moved_by=f"as {label} says: Advice B", value="55 %")
    assert (quoted["moved_by"], quoted["value"]) == ("", "55 %")
    assert (read["reply"], read["branches"]) == ("[R2] is right", (Branch(condition="a", advice="b"),))
    unexplained = exchange(kind="taste", moved_by="what nobody wrote")
    assert (unexplained["difference"], unexplained["moved"], unexplained["moved_by"]) == ("", True, "")
    with pytest.raises(ValueError, match="holds no JSON"):
        read_exchange(PANEL, ONE, "prose", takes_prose=False)


def test_none_and_a_missing_word_are_cases_where_advice_stands_behind_them() -> None:
    rows = [{"if": "none", "do": "four nights"}, {"do": "ten nights"}, {"if": "never", "do": "none"}]
    read = exchange(branches=rows)
    assert read["branches"] == (
        Branch(condition="none", advice="four nights"),
        Branch(condition="", advice="ten nights"),
    )
    assert exchange(branches=rows[:1])["branches"] == (Branch(condition="", advice="four nights"),)
    unsaid = exchange(branches=[{"if": "n/a", "do": "a"}, {"if": "null", "do": "b"}])
    assert [branch.condition for branch in unsaid["branches"]] == ["", ""]
    shown = show_exchange(Exchanged.model_validate(read | common(ONE, 3)))
    assert shown.splitlines()[1:] == ["If none: four nights", "Or ten nights"]


@pytest.mark.parametrize("nothing", ["none", "None.", "n/a", "nothing", ["none"]])
def test_a_field_that_says_that_there_is_nothing_is_empty(nothing: Any) -> None:
    stayed = exchange(moved_by=nothing, value=nothing, against=nothing)
    assert (stayed["moved"], stayed["moved_by"], stayed["value"], stayed["against"]) == (False, "", "", "")
    answer = read_answer(json.dumps({"recommendation": "No.", "premise": nothing, "assumed": nothing}))
    assert (answer["recommendation"], answer["premise"], answer["assumed"]) == ("No.", "", "")
    reviewed = review(missing=nothing, keep=nothing, errors={"answers": ["K7"], "right": nothing})
    assert (reviewed["missing"], reviewed["keep"], reviewed["errors"]) == ((), (), ())
    assert reviewed["unfound"] == 1  # the error's words, which it has not
    assert read_answer('{"recommendation": "Bet on it.", "value": "A draw."}')["value"] == "A draw."


def test_a_report_is_plain_text_without_a_title_and_ids() -> None:
    assert read_report(PANEL, "## Answer\n\nKeep it, as A1 says.\n\n**Why**\nIt is small [R1, A2].\n") == {
        "text": "Keep it, as the first answer says.\n\n**Why**\nIt is small."
    }
    for reply in ('{"recommendation": "Keep it."}', 'Here you go:\n{"recommendation": "Keep it."}'):
        with pytest.raises(ValueError, match="plain text was asked for"):
            read_report(PANEL, reply)


@pytest.mark.parametrize(
    "reply",
    [
        "Advice A.\n\nIt is small.",
        "Verdict\n\nAdvice A.\n\nIt is small.",
        "**Verdict:**\n\nAdvice A.\n\nIt is small.",
        "Verdict\n=======\n \nAdvice A.\n\nIt is small.",
        "Here is the final answer:\n\nAdvice A.\n \t\nIt is small.",
        "```markdown\nAdvice A.\n\nIt is small.\n```",
    ],
)
def test_a_report_begins_with_the_advice_whatever_stands_around_it(reply: str) -> None:
    assert read_report(PANEL, reply) == {"text": "Advice A.\n\nIt is small."}


@pytest.mark.parametrize(
    "first", ["Advice A", "No.", "**Do not.**", "Wait: ask somebody who knows the whole case first"]
)
def test_a_short_verdict_is_no_title(first: str) -> None:
    assert read_report(PANEL, f"{first}\n\nIt is small.")["text"].startswith(first)


def test_a_check_finds_faults_in_the_words_of_the_report() -> None:
    faults = [
        {"words": "keep IT", "right": "Move it.", "matters": True},
        {"words": "not there", "right": "x"},
        {"words": "Keep it"},
    ]
    read = read_check(json.dumps({"faults": faults}), "Keep it, now.")
    assert [fault.words for fault in read["faults"]] == ["keep IT"]
    assert read["agrees"] is False
    assert read_check('{"agrees": true}', "")["faults"] == ()
    with pytest.raises(ValueError, match="true or false"):
        read_check('{"faults": null, "agrees": null}', "")
    with pytest.raises(ValueError, match='has no "faults"'):
        read_check('{"fine": 1, "good": 2}', "")
