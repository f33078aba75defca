"""The prompts of the answer format: what each seat reads, and what none is told."""

import re
from dataclasses import replace
from typing import Any

import pytest

from server.debate.answer.count import count_panel
from server.debate.answer.panel import Panel
from server.debate.answer.prompts import (
    ANSWER_TASK,
    order_answers,
    write_check_task,
    write_exchange_task,
    write_report_task,
    write_review_task,
)
from server.debate.facts.advice import Checked, Fault, Opinion
from server.debate.prompts.response_schemas import answer_schema, check_schema, exchange_schema, review_schema
from tests.support.panels import build_error, build_report, build_review, common, play_panel

pytestmark = pytest.mark.requirement("D19")

ONE, TWO = "Advisor 1", "Advisor 2"
PANEL = play_panel("AB", [("A", 83), ("B", 71)], [([], "", 64), ([], "", 62)])
QUICK = play_panel("AB", [("A", 83), ("B", 71)], level="quick")


def same(text: str) -> str:
    return text


def test_reviewers_read_all_answers_as_strangers_each_in_an_order_of_its_own() -> None:
    first = write_review_task(PANEL, ONE, 1, same)
    assert "[K7]\n> Advice A\n[Q31]\n> Advice B" in first
    assert '"groups": [["K7"], ["Q31"]]' in first
    assert "[K7]\n> Advice B\n[Q31]\n> Advice A" in write_review_task(PANEL, TWO, 1, same)
    turned, other = (write_review_task(PANEL, *which, same) for which in ((ONE, 2), (TWO, 1)))
    assert turned.partition("# Task")[0] == other.partition("# Task")[0]
    assert "Advisor 1" not in first
    assert "90" not in first  # how sure their authors are


@pytest.mark.parametrize(
    ("blind", "mine", "intro"),
    [("A", None, "One advisor"), ("AB", None, "Two"), ("AB", "A", "Three"), ("ABC", "A", "Four")],
)
def test_a_reviewer_is_told_how_many_answers_there_are(blind: str, mine: str | None, intro: str) -> None:
    own = Opinion(recommendation="Mine") if mine else None
    panel = replace(play_panel(blind, [("A", 80)]), mine=own)
    assert write_review_task(panel, ONE, 1, same).startswith(f"# Answers\n{intro}")


def test_reviewers_of_the_same_answers_look_hardest_at_different_things_and_one_alone_at_both() -> None:
    def find_lookouts(panel: Panel, seat: str, reading: int = 1) -> set[str]:
        lines = write_review_task(panel, seat, reading, same).splitlines()
        return {line for line in lines if line.startswith("- Look hardest")}

    first, second = find_lookouts(PANEL, ONE), find_lookouts(PANEL, TWO)
    assert len(first) == len(second) == 1
    assert first != second
    assert find_lookouts(PANEL, ONE, 2) == second
    assert find_lookouts(QUICK, TWO) == first | second


def test_who_reviews_alone_takes_no_side_where_answers_differ_and_others_say_what_they_advise() -> None:
    several, alone = (write_review_task(panel, TWO, 1, same) for panel in (PANEL, QUICK))
    assert "advise differently, give your advice, and say when the other would be right." in several
    assert "advise differently, take no side: say what decides" in alone


@pytest.mark.parametrize(
    ("task", "schema"),
    [
        (ANSWER_TASK, answer_schema()),
        (write_review_task(PANEL, ONE, 1, same), review_schema(["K7", "Q31"], with_answer=True)),
        (write_review_task(PANEL, ONE, 2, same), review_schema(["K7", "Q31"])),
        (write_exchange_task(PANEL, ONE, same), exchange_schema(["T5"])),
        (write_check_task("Keep it."), check_schema()),
    ],
    ids=["answer", "review", "second reading", "exchange", "check"],
)
def test_a_task_asks_for_the_fields_of_its_schema_in_their_order(task: str, schema: dict[str, Any]) -> None:
    asked = re.findall(r'^\{?"(\w+)":', task, re.MULTILINE)
    assert asked == [*schema["properties"]]


def test_reviewers_who_differ_read_the_advice_of_the_others_and_not_how_sure_they_are() -> None:
    told = write_exchange_task(replace(PANEL, exchanged=()), ONE, same)
    assert "# What you advise, after you have checked them\n[B4]\n> Advice A\n# Another who checked" in told
    assert "> Advice B" in told
    assert "71" not in told
    three = play_panel("ABC", [("A", 80), ("B", 80), ("C", 80)])
    assert "# Others who checked them advise, with" in write_exchange_task(three, TWO, same)
    again = write_exchange_task(PANEL, ONE, same)
    assert "> Advice after the exchange" in again


def test_who_argues_reads_what_others_found_wrong_in_what_it_follows_under_its_own_labels() -> None:
    errors = (
        build_error(ONE, words="Advice A", right="Not as [A2] has it."),
        build_error(TWO, right="No matter here.", matters=False),
        build_error(right="Both forget the law."),
    )
    other = build_review(TWO, "As [A2] says.", errors=errors, missing=("[A1] has no price.",), follows=(TWO,))
    panel = replace(PANEL, exchanged=(), reviewed={**PANEL.reviewed, TWO: (other,)})
    told = write_exchange_task(panel, ONE, same)
    assert "# What the answers advise\n[K7]\n> Advice A\n[Q31]\n> Advice B\n" in told
    assert "[V88]\n> As Q31 says.\n" in told
    assert '> Error in K7: "Advice A" (changes what to do): Not as Q31 has it.\n' in told
    assert "> Error (changes what to do): Both forget the law.\n> Missing: K7 has no price.\n" in told
    assert "No matter here" not in told
    turned = write_exchange_task(panel, TWO, same)
    assert "# What the answers advise\n[K7]\n> Advice B\n[Q31]\n> Advice A\n" in turned
    assert "[B4]\n> As K7 says.\n" in turned
    assert "> Error in K7: No matter here.\n" in turned  # its own review, whole


def test_a_second_reading_that_came_alone_is_argued_about_under_its_own_labels() -> None:
    first, second = PANEL.reviewed[ONE][0], build_review(ONE, "As [A2] says.", slot_index=2)
    read = {ONE: (second,), TWO: PANEL.reviewed[TWO]}
    told = write_exchange_task(replace(PANEL, exchanged=(), reviewed=read), ONE, same)
    assert "[B4]\n> As K7 says.\n" in told
    both = {**read, TWO: (first, second.model_copy(update={"missing": ("The price.",)}))}
    assert "> Missing: The price." in write_exchange_task(
        replace(PANEL, exchanged=(), reviewed=both), ONE, same
    )


def test_a_retracted_answer_changes_no_label_of_the_others() -> None:
    assert order_answers(replace(PANEL, advised={TWO: PANEL.advised[TWO]}), ONE) == {"Q31": TWO}


def test_the_writer_revises_the_draft_and_reads_all_else_under_ids() -> None:
    errors = (build_error(ONE, words="Advice A", right="It is B."), build_error(TWO, matters=False))
    review = build_review(ONE, "Advice A", errors=errors, keep=("Advice B",), missing=("C",), follows=(ONE,))
    panel = replace(PANEL, reviewed={**PANEL.reviewed, ONE: (review,)})
    told = write_report_task(panel, count_panel(panel), str.upper)
    assert told.startswith("# Draft (A2)\n> ADVICE B")
    assert "# Other answers\n[A1]\n> ADVICE A" in told
    assert '> ERROR IN A1: "ADVICE A" (CHANGES WHAT TO DO): IT IS B.' in told
    assert "> ERROR IN A2: IT IS NOT.\n> KEEP: ADVICE B\n> MISSING: C" in told
    assert "[E1, by the author of R1]\n> ADVICE: ADVICE AFTER" in told
    assert "two advisors, divided" in told
    assert "They are divided (R1 and R2)." in told
    assert told.endswith("At most 300 words.")


@pytest.mark.parametrize(
    ("panel", "case"),
    [
        (play_panel("AA", [("A", 90), ("A", 90)]), "They advise the same (R1 and R2). Give that advice."),
        (
            play_panel("AAB", [("A", 90), ("A", 90), ("B", 90)]),
            "R1 and R2 advise the same. Give that advice, and say when that of R3 would be right.",
        ),
        (play_panel("ABC", [("A", 90), ("B", 90), ("C", 90)]), "3 advisors, no two for the same"),
        (play_panel("A", [("A", 90)]), "one advisor."),
    ],
)
def test_the_writer_is_told_the_count(panel: Panel, case: str) -> None:
    assert case in write_report_task(panel, count_panel(panel), same)


def test_the_writer_of_a_second_version_reads_the_first_and_what_was_wrong_in_it() -> None:
    faults = (
        Fault(words="Keep it", right="Not on Monday.", matters=True),
        Fault(words="x", right="no matter"),
    )
    panel = replace(
        PANEL,
        reports=(build_report("Advice A\n\nIt is small."),),
        check=Checked(**common("checker", 5), faults=faults),
    )
    told = write_report_task(panel, count_panel(panel), same)
    assert "# The first version\n> Advice A\n> \n> It is small." in told
    assert '[C1]\n> "Keep it": Not on Monday.\nRevise the first version.' in told
    assert "no matter" not in told
    assert write_check_task("Keep it.\n\nNow.").startswith("# Answer\n> Keep it.\n> \n> Now.\n\n# Task")


def test_the_callers_answer_has_an_id_after_all_others() -> None:
    panel = replace(PANEL, mine=Opinion(recommendation="Mine"))
    assert "[A3]\n> Mine" in write_report_task(panel, count_panel(panel), same)
    assert "[T5]\n> Mine" in write_review_task(panel, ONE, 1, same)
