"""Answers and reviews that texts mention: exact in any language, and in words where people read them."""

from dataclasses import replace

import pytest

from server.debate.answer.count import count_panel
from server.debate.answer.mentions import drop_ids, show_mentions, store_mentions, tell_mentions
from server.debate.answer.report import compose
from server.debate.facts.advice import Opinion
from tests.support.panels import build_answer, build_error, build_review, play_panel

pytestmark = pytest.mark.requirement("C21")

ONE, TWO = "Advisor 1", "Advisor 2"
IDS = {"K7": "A1", "Q31": "A2"}
PANEL = play_panel(
    "AB", [("A", 83), ("B", 71)], [([], "", 64), ([], "", 62)], mine=Opinion(recommendation="x")
)


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("K7s Argument", "[A1]s Argument"),
        ("K7的理由比Q31好", "[A1]的理由比[A2]好"),
        ("与K7不同", "与[A1]不同"),
        ("_K7_ and **Q31**", "_[A1]_ and **[A2]**"),
        ("\u062d\u062c\u0629 K7\u0627\u0644", "\u062d\u062c\u0629 [A1]\u0627\u0644"),
        ("K7'nin, K7-ет, [K7]", "[A1]'nin, [A1]-ет, [A1]"),
        ("K72 and MK7 are cars, K is none", "K72 and MK7 are cars, K is none"),
        ("nothing to replace", "nothing to replace"),
    ],
)
def test_a_label_is_replaced_whatever_follows_it(written: str, stored: str) -> None:
    assert store_mentions(written, IDS) == stored


def test_a_seat_reads_its_own_labels_and_people_read_words() -> None:
    stored = "[A1] is wrong, as DeepSeek R1 and [R2] say. [A3]s Grund:\n- [A2] and A4 paper"
    assert show_mentions(stored, {"A1": "T5", "R2": "V88"}) == (
        "T5 is wrong, as DeepSeek R1 and V88 say. A3s Grund:\n- A2 and A4 paper"
    )
    assert tell_mentions(PANEL, stored) == (
        "The first answer is wrong, as DeepSeek R1 and the second reviewer say. Your answers Grund:\n"
        "- The second answer and A4 paper"
    )
    assert tell_mentions(PANEL, "so says [C1], not [E2] or [R40]") == (
        "so says the check, not the second reviewer or R40"
    )
    alone = play_panel("ABCDEFG", [("A", 90)], level="quick", families=[*"abcdefg"])
    assert tell_mentions(alone, "[R1] of [A7]") == "The reviewer of the 7th answer"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Keep it [R1]. Not Kafka (A2, R2)!", "Keep it. Not Kafka!"),
        ("保留它\uff08A1、R2\uff09。", "保留它。"),
        ("A1 lost it, R2 is [R1", "The first answer lost it, the second reviewer is the first reviewer"),
        ("Read it on an A4 page, at E45.", "Read it on an A4 page, at E45."),
    ],
)  # fmt: skip
def test_ids_do_not_reach_people(written: str, shown: str) -> None:
    assert drop_ids(PANEL, written) == shown


def test_a_word_of_the_matter_that_looks_like_an_id_stays() -> None:
    asked = replace(PANEL, question="Cloudflare R2 or DeepSeek R1?")
    assert drop_ids(asked, "Take R2 (R1), as A1 says.") == "Take R2 (R1), as the first answer says."
    every = " ".join(f"{letter}{number}" for letter in "ARE" for number in range(1, 5))
    assert drop_ids(replace(PANEL, question=f"C1 {every}"), "A1 [R2]") == "A1 [R2]"
    reviewed = build_review(ONE, "Take R2 from [R1].")
    found = replace(PANEL, reviewed={**PANEL.reviewed, ONE: (reviewed,)})
    assert drop_ids(found, "R2 it is, says R1.") == "R2 it is, says the first reviewer."


def test_what_the_server_composes_of_reviews_has_words_for_ids() -> None:
    review = build_review(
        ONE,
        "As [A2] says.",
        groups=((ONE, TWO),),
        follows=(ONE,),
        probability=90,
        errors=(build_error(TWO, right="[A1] is right."),),
        missing=("[A1] and [A2] forget the cost.",),
        against="[A2]: it is slow.",
    )
    answers = {seat: build_answer(seat, "Keep it.") for seat in (ONE, TWO)}
    panel = replace(
        play_panel("AA", [("A", 90)] * 2), advised=answers, reviewed={ONE: (review,), TWO: (review,)}
    )
    found = compose(panel, count_panel(panel))
    assert found.corrected[0].text == "The first answer is right."
    assert found.corrected[0].sources == ("R1",)
    assert found.missed[0].text == "The first answer and the second answer forget the cost."
    assert found.against
    assert found.against.text == "The second answer: it is slow."
