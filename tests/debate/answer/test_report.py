"""Which reports are accepted, and what the server composes where none is."""

from dataclasses import replace
from typing import Any

import pytest

from server.debate.answer.count import count_panel
from server.debate.answer.lines import Line, build_lines, format_lines, has_value, list_lines
from server.debate.answer.panel import Panel
from server.debate.answer.report import (
    choose_draft,
    compose,
    count_words,
    describe_mine,
    find_figures,
    find_lost,
    find_report,
    find_report_problem,
    find_reviewer_text,
    find_value,
    limit_words,
)
from server.debate.facts.advice import (
    MINE,
    Branch,
    Checked,
    Correction,
    Exchanged,
    Fault,
    FinalAnswer,
    Opinion,
    Sourced,
)
from tests.support.panels import build_answer, build_error, build_report, build_review, common, play_panel

pytestmark = pytest.mark.requirement("C1")

ONE, TWO = "Advisor 1", "Advisor 2"
ALIKE = (ONE, TWO)


def play_agreed(**review: Any) -> Panel:
    """Two who advise the same. `review`: what the first one writes beside."""
    played = play_panel("AA", [("A", 90), ("A", 90)])
    answers = {
        ONE: build_answer(ONE, "Keep the queue in Postgres.", because="At 1,744 jobs a second it is idle."),
        TWO: build_answer(TWO, "Keep it.", because="You write each job with its data.", probability=95),
    }
    first = build_review(
        ONE, "Keep it in the main one.", because="Jobs and data are one write.", groups=(ALIKE,), follows=ALIKE,
        probability=90, **review,
    )  # fmt: skip
    second = build_review(TWO, "Keep it there.", groups=(ALIKE,), follows=(TWO,), probability=90)
    return replace(played, advised=answers, reviewed={ONE: (first,), TWO: (second,)})


def find_problem(panel: Panel, text: str) -> str:
    return find_report_problem(panel, count_panel(panel), text)


MAJORITY = play_panel("AAB", [("A", 90), ("A", 90), ("B", 80)])
DIVIDED = play_panel("AB", [("A", 80), ("B", 80)])
LONG = " ".join(["it", *["keep"] * 360])
REFUSED = "it gives none of the advice that it is to give"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Keep it.\n\nIt is small.", ""),
        ("I would rather not say.", REFUSED),
        ("Keep it. It does 1744 of 50.", "figures that nobody stated: 50"),
        ("Keep it. It does 1.744 in 12 parts.", ""),
        (LONG[:-5], ""),
        (LONG, "it has 361 words, and 300 are allowed"),
        ("Ask for 50.", f"{REFUSED}; figures that nobody stated: 50"),
    ],
)
def test_a_report_is_accepted_if_it_gives_the_advice_and_invents_nothing(text: str, problem: str) -> None:
    assert find_problem(play_agreed(), text) == problem


def test_a_report_that_gives_the_advice_of_the_others_alone_is_not_accepted() -> None:
    others = "Move everything to Redis, since locks hurt."
    review = MAJORITY.reviewed["Advisor 3"][0].model_copy(update={"recommendation": others})
    panel = replace(MAJORITY, reviewed={**MAJORITY.reviewed, "Advisor 3": (review,)})
    assert find_problem(panel, others) == REFUSED


def test_those_who_advise_otherwise_are_quoted_below_whatever_the_writer_makes_of_them() -> None:
    text = "Advice A. Nobody is against it."
    majority = replace(MAJORITY, reports=(build_report(text),))
    found, _ = find_report(majority, count_panel(majority))
    assert (found.recommendation, found.against) == (text, Sourced(text="Advice B", sources=("R3",)))
    divided = replace(DIVIDED, reports=(build_report(text),))
    lines = build_lines(divided, count_panel(divided))
    assert [(line.head, line.text) for line in list_lines(lines)][:3] == [
        ("Divided", text),
        ("Either", "Advice A"),
        ("Or", "Advice B"),
    ]


def write_in_review(blind: str, text: str) -> list[tuple[str, str]]:
    quick = play_panel(blind, [("", 0), (blind[-1], 90)], level="quick")
    review = quick.reviewed[TWO][0].model_copy(update={"text": text})
    panel = replace(quick, reviewed={TWO: (review,)})
    return [(line.head, line.text) for line in list_lines(build_lines(panel, count_panel(panel)))]


@pytest.mark.parametrize(
    ("blind", "text", "lines"),
    [
        (
            "AA", "Take advice A.\n\nWhy\nIt costs 1,744.",  # a figure that it worked out
            [("Leaning", "Take advice A."), ("", "Why\nIt costs 1,744.")],
        ),
        ("AA", "", [("Leaning", "Advice A")]),
        ("AA", "I would rather not say.", [("Leaning", "Advice A")]),
        (
            "AB", "Advice A or advice B: measure it.",
            [("Divided", "Advice A or advice B: measure it."), ("Either", "Advice B"), ("Or", "Advice A")],
        ),
    ],
)  # fmt: skip
def test_in_quick_the_answer_is_what_the_only_reviewer_wrote_or_else_composed(
    blind: str, text: str, lines: list[tuple[str, str]]
) -> None:
    assert write_in_review(blind, text)[: len(lines)] == lines


def write_in_both(*reviews: dict[str, Any]) -> Panel:
    panel = play_panel("AA", [("A", 90)] * 2)
    reviewed = {
        seat: (panel.reviewed[seat][0].model_copy(update=fields),)
        for seat, fields in zip(ALIKE, reviews, strict=True)
    }
    return replace(panel, reviewed=reviewed)


def choose_text(*reviews: dict[str, Any]) -> str:
    panel = write_in_both(*reviews)
    return find_reviewer_text(panel, count_panel(panel))


def test_the_answer_that_has_most_of_what_all_reviewers_found_stands() -> None:
    found = ("It leaks at night", "Nobody is on call", "The lease ends in May")
    whole = {"text": f"Take advice A. {'. '.join(found)}.", "missing": found}
    little = {"text": "Take advice A. The price may rise.", "missing": ("The price may rise",)}
    assert choose_text(whole, little) == whole["text"]
    assert choose_text({"text": "Take advice A."}, whole) == whole["text"]


def test_what_another_reviewer_found_and_the_answer_does_not_say_stands_below_it() -> None:
    text = "Take advice A. It leaks at night, so somebody is on call until the roof is mended."
    found = {
        "missing": (
            "It leaks at night",
            "The lease ends in May: give notice now",
            "Binlogs are kept for a day",
        ),
        "errors": (
            build_error(ONE, words="two days", right="The dump takes nine days.", matters=True),
            build_error(ONE, words="the next day", right="The dump takes nine days.", matters=True),
            build_error(ONE, words="colour", right="Grey is no colour of theirs.", matters=False),
        ),
    }
    panel = write_in_both({"text": text, "missing": ("The bank asks for a survey",)}, {"text": "", **found})
    lines = list_lines(build_lines(panel, count_panel(panel)))
    added = [(line.head, line.text) for line in lines if line.head in ("Also found", "Corrected")]
    assert len(added) == 2
    tellable = [("Also found", text) for text in found["missing"][1:]]
    assert {*added} < {*tellable, ("Corrected", "“two days”: The dump takes nine days.")}


WRONG = {"errors": (build_error(ONE, words="on Monday", right="Never on Mondays."),)}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Take advice A on Monday.", WRONG),
        ("Take advice A at 9 servers.", {"value": "12 servers"}),
        ("Take advice A: 50 %.", {"value": "40 %"}),
        ("Take it on Sundays.", {}),
    ],
    ids=["called wrong", "another value", "another share", "no advice of its side"],
)
def test_an_answer_that_others_call_wrong_or_with_another_value_will_not_do(
    text: str, fields: dict[str, Any]
) -> None:
    assert choose_text({"text": text}, {"text": "", **fields}) == ""


def test_where_a_reviewer_advises_something_of_its_own_the_draft_is_no_measure() -> None:
    alone = play_panel("A", [("", 90)], level="quick")
    review = alone.reviewed[ONE][0].model_copy(
        update={"recommendation": "Rent nothing at all.", "text": "Advice A."}
    )
    panel = replace(alone, reviewed={ONE: (review,)})
    assert find_reviewer_text(panel, count_panel(panel)) == ""


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("1,744 and 1744 and 1.744", {"1744"}),
        ("99,9 % of 99.9", {"99.9"}),
        ("٤٠ von 40", {"40"}),
        ("0.125 and 12", set()),
        ("Postgres 9.4.1", {"9.4.1"}),
        ("1\u2019000\u2019000", {"1000000"}),
        ("13.500 rows", {"13500"}),
    ],
)
def test_a_figure_is_one_however_it_is_written(text: str, figures: set[str]) -> None:
    assert find_figures(text) == figures


def test_scripts_without_spaces_have_as_many_words_as_their_characters_are_worth() -> None:
    assert count_words("keep it 在主库里保留队列") == 2 + 3
    long = Opinion(recommendation="保" * 1_400)
    assert (count_words(long.recommendation), limit_words(long)) == (400, 480)
    assert limit_words(Opinion(recommendation="short")) == 300


def test_what_reviews_want_kept_and_nobody_calls_wrong_must_not_be_lost() -> None:
    keep = ("At 1,744 jobs a second it is idle", "You write each job with its data", "never wrong")
    panel = play_agreed(keep=keep, errors=(build_error(ONE, words="it is never wrong"),))
    count = count_panel(panel)
    assert find_lost(panel, count, "Each job is written with its data. Idle at 1744 jobs.") == []
    assert find_lost(panel, count, "It is idle; the job goes with its data, you write.")[0] == keep[0]
    assert find_lost(panel, count, "1744 jobs leave it idle, every second.")[0] == keep[1]
    bare = play_agreed(keep=("…",))
    assert find_lost(bare, count_panel(bare), "x") == []


def test_only_the_side_ahead_says_what_must_not_be_lost() -> None:
    reviewed = {
        seat: (row[0].model_copy(update={"keep": (f"what {seat} wants",)}),)
        for seat, row in MAJORITY.reviewed.items()
    }
    panel = replace(MAJORITY, reviewed=reviewed)
    assert find_lost(panel, count_panel(panel), "x") == ["what Advisor 1 wants", "what Advisor 2 wants"]


def test_the_draft_is_the_answer_of_the_side_ahead_that_most_call_the_best_then_has_the_fewest_errors() -> (
    None
):
    panel = play_agreed()
    assert choose_draft(panel, count_panel(panel))[0] == "A2"  # the surer one
    wrong = play_agreed(errors=(build_error(TWO),))
    assert choose_draft(wrong, count_panel(wrong))[0] == "A1"
    best = play_agreed(best=ONE)
    assert choose_draft(best, count_panel(best))[0] == "A1"
    assert choose_draft(DIVIDED, count_panel(DIVIDED))[0] == "A1"
    own = play_panel("AB", [("AB", 80), ("AB", 80)], [([1], "", 80), ([0], "", 80)])
    assert choose_draft(own, count_panel(own))[0] == "A1"
    assert compose(own, count_panel(own)).recommendation == "Advice after the exchange"


def test_the_server_composes_from_the_draft_and_what_reviews_correct_and_add() -> None:
    errors = (build_error(ONE, words="it is idle", right="It is busy."), build_error(TWO, right="So it is."))
    panel = play_agreed(
        errors=(*errors, build_error(ONE, matters=False)), missing=("Make handlers idempotent.", *"bcde"),
        against="It shares failures.",
    )  # fmt: skip
    found = compose(panel, count_panel(panel))
    assert (found.recommendation, found.because) == ("Keep it.", "You write each job with its data.")
    assert [row.text for row in found.corrected] == ["“it is idle”: It is busy.", "So it is."]
    assert [row.text for row in found.missed] == ["Make handlers idempotent.", "b", "c", "d"]
    assert found.against == Sourced(text="It shares failures.", sources=("R1",))


def test_what_reviews_call_wrong_in_the_words_that_people_read_is_corrected_even_if_it_changes_nothing() -> (
    None
):
    words = (
        build_error(ONE, words="not there", matters=False),
        build_error(TWO, words="job with its data", matters=False),
    )
    panel = play_agreed(errors=words)
    assert [row.text for row in compose(panel, count_panel(panel)).corrected] == [
        "“job with its data”: It is not."
    ]
    wrong = play_agreed(
        errors=(build_error(TWO, words="Keep it"), build_error(TWO, words="Keep it")), best=TWO
    )
    composed = compose(wrong, count_panel(wrong))
    assert composed.recommendation == "Keep it in the main one."  # of the review: the draft's is refuted
    assert len(composed.corrected) == 1


@pytest.mark.parametrize(
    ("text", "value", "is_said"),
    [
        ("Buying is better.", "buying: 58 %", False),
        ("In 14 days.", "4 days", False),
        ("Yes.", "", True),
        ("30 % or so.", "30 % / 80 %", False),
        ("Hire a new team in Boston.", "New York", False),
        ("Hire a team in new  york.", "New York.", True),
        ("Do it within 60 days.", "60 % (50 to 70)", False),
        ("At 60%, so do it.", "60 % (50 to 70)", True),
        ("At 60 percent.", "60 %", True),
        ("At 160 %, or 1.60 %.", "60 %", False),
        ("It takes 4.5 of them.", "4", False),
        ("Keep 4.", "4", True),
    ],
)
def test_a_value_is_said_once(text: str, value: str, *, is_said: bool) -> None:
    assert has_value(text, value) == is_said


def test_a_composed_majority_names_the_advice_of_the_others_as_what_is_against_it() -> None:
    found = compose(MAJORITY, count_panel(MAJORITY))
    assert (found.recommendation, found.against) == ("Advice A", Sourced(text="Advice B", sources=("R3",)))


def say(seat: str, **fields: Any) -> Exchanged:
    return Exchanged(**{**common(seat, 3), "recommendation": f"Advice of {seat}", **fields})


def test_a_composed_division_has_what_decides_and_the_advice_of_each() -> None:
    plain = compose(DIVIDED, count_panel(DIVIDED))
    assert plain.recommendation == "2 answers that differ."
    assert [one.advice for one in plain.branches] == ["Advice A", "Advice B"]
    cases = (Branch(condition="one database", advice="bigint"), Branch(condition="[A2] holds", advice="UUID"))
    told = {ONE: say(ONE, decides="How many databases?", branches=cases, next="Ask."), TWO: say(TWO)}
    argued = replace(DIVIDED, exchanged=(told,))
    found = compose(argued, count_panel(argued))
    assert (found.recommendation, found.next) == ("How many databases?", "Ask.")
    assert [(one.condition, one.sources) for one in found.branches] == [
        ("one database", ("E1",)),
        ("the second answer holds", ("E1",)),
    ]
    quick = play_panel("AB", [("", 0), ("B", 90)], level="quick")
    assert [one.advice for one in compose(quick, count_panel(quick)).branches] == ["Advice B", "Advice A"]
    decided = {TWO: (quick.reviewed[TWO][0].model_copy(update={"differ_in": "How many?"}),)}
    told_by_review = replace(quick, reviewed=decided)
    assert compose(told_by_review, count_panel(told_by_review)).recommendation == "How many?"


def test_what_nobody_reviewed_is_shown_as_it_was_given() -> None:
    both = play_panel("AB", [], reviewed={})
    assert [one.advice for one in compose(both, count_panel(both)).branches] == ["Advice A", "Advice B"]
    one = play_panel("AB", [], failed={"answer.2"})
    assert compose(one, count_panel(one)).recommendation == "Advice A"
    none = play_panel("AB", [], failed={"answer.1", "answer.2"})
    assert compose(none, count_panel(none)).recommendation == ""
    lines = build_lines(none, count_panel(none), problem="Advisor 1 timed out.", cost="2 calls.")
    assert format_lines(lines) == "**No answer**: Advisor 1 timed out.\n**Cost**: 2 calls."


def test_faults_that_the_check_found_stand_below_a_report_that_was_not_written_again() -> None:
    check = Checked(
        **common("checker", 5),
        faults=(Fault(words="Keep it", right="Not on Monday.", matters=True), Fault(words="x", right="y")),
    )
    panel = replace(play_agreed(), reports=(build_report(),), check=check)
    found, author = find_report(panel, count_panel(panel))
    assert (author, found.corrected) == (
        "writer",
        (Sourced(text="“Keep it”: Not on Monday.", sources=("C1",)),),
    )
    again = replace(
        panel, reports=(build_report(), build_report("Keep it, but not on Monday.", slot_index=2))
    )
    assert find_report(again, count_panel(again))[0].corrected == ()
    unchecked = replace(panel, check=None)
    written = FinalAnswer(recommendation="Keep it.", because="It is small.")
    assert find_report(unchecked, count_panel(unchecked)) == (written, "writer")
    assert find_report(play_agreed(), count_panel(panel))[1] == "server"


@pytest.mark.parametrize(
    ("because", "errors", "premise"),
    [
        ("It is small.", (), "Postgres has no limit of 100 jobs."),
        ("Postgres does not have that limit: no 100 jobs.", (), ""),
        ("It is small.", (build_error(TWO, words="no limit of 100"),), ""),
    ],
)
def test_what_is_false_in_the_question_is_said_where_the_writer_lost_it(
    because: str, errors: tuple[Correction, ...], premise: str
) -> None:
    played = play_agreed(errors=errors, best=TWO)
    told = played.advised[TWO].model_copy(update={"premise": "Postgres has no limit of 100 jobs."})
    panel = replace(
        played, advised={**played.advised, TWO: told}, reports=(build_report(f"Keep it.\n\n{because}"),)
    )
    assert find_report(panel, count_panel(panel))[0].premise == premise


def give_values(panel: Panel, *values: str) -> Panel:
    """The panel whose reviews, in the order of their seats, give these values."""
    reviewed = {
        seat: (review.model_copy(update={"value": value}),)
        for value, (seat, (review,)) in zip(values, panel.reviewed.items(), strict=True)
    }
    return replace(panel, reviewed=reviewed)


def find_panel_value(panel: Panel) -> str:
    return find_value(panel, count_panel(panel))


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (("60 %", "70 %"), "65% (60 to 70)"),
        (("60 %", "60%"), "60%"),
        (("Postgres", "postgres"), "Postgres"),
        (("2027", "2028"), "2027"),
        (("", "2028"), "2028"),
        (("60 %", ""), "60%"),
        (("", ""), ""),
    ],
)
def test_the_value_is_that_of_the_side_ahead(values: tuple[str, str], found: str) -> None:
    assert find_panel_value(give_values(play_agreed(), *values)) == found


@pytest.mark.parametrize(
    ("draft", "errors", "found"),
    [
        ("3 months", (), "3 months"),
        ("", (), "12 weeks"),
        ("3 months", (build_error(TWO, words="it takes 3 months"),), "12 weeks"),
    ],
)
def test_who_advise_the_same_give_one_value_that_of_the_draft_unless_it_is_called_wrong(
    draft: str, errors: tuple[Correction, ...], found: str
) -> None:
    played = play_agreed(errors=errors, best=TWO)
    told = played.advised[TWO].model_copy(update={"value": draft})
    panel = replace(played, advised={**played.advised, TWO: told})
    assert find_panel_value(give_values(panel, "12 weeks", "three months")) == found
    assert find_panel_value(give_values(panel, "14 weeks", "14 weeks")) == "14 weeks"


def test_advice_that_is_no_answers_has_the_value_of_its_own_seats() -> None:
    own = play_panel("AB", [("AB", 80), ("AB", 80)], [([1], "", 80), ([0], "", 80)])
    advised = {seat: one.model_copy(update={"value": "2 years"}) for seat, one in own.advised.items()}
    panel = replace(give_values(own, "12 weeks", "three months"), advised=advised)
    assert find_panel_value(panel) == "12 weeks"


def test_who_is_moved_counts_with_its_new_value_and_sides_that_differ_stand_side_by_side() -> None:
    asked = play_panel("AB", [("A", 80), ("B", 80)], [([], "", 80), ([0], "a point", 80)])
    told = give_values(asked, "30 %", "80 %")
    assert find_panel_value(replace(told, exchanged=())) == "30 % / 80 %"
    assert find_panel_value(told) == "30%"
    moved = told.exchanged[0][TWO].model_copy(update={"value": "40 %"})
    assert find_panel_value(replace(told, exchanged=({**told.exchanged[0], TWO: moved},))) == "35% (30 to 40)"
    answers = {seat: build_answer(seat, "x", value=one) for seat, one in ((ONE, "30 %"), (TWO, "80 %"))}
    assert find_panel_value(play_panel("AB", [], reviewed={}, advised=answers)) == "30 % / 80 %"


def test_the_callers_answer_stands_falls_or_is_corrected() -> None:
    mine = Opinion(recommendation="Keep it.")

    def judge(follows: tuple[str, ...], errors: Any = ()) -> str:
        panel = replace(play_agreed(), mine=mine)
        groups = ((*follows,), tuple(seat for seat in (ONE, TWO, MINE) if seat not in follows))
        review = build_review(ONE, "x", groups=groups, follows=follows, probability=90, errors=errors)
        panel = replace(panel, reviewed={ONE: (review,), TWO: (review,)})
        return describe_mine(panel, count_panel(panel))

    assert judge((ONE, TWO, MINE)) == "It stands."
    assert judge((MINE,), (build_error(MINE),)) == "It stands, with corrections."
    assert judge((ONE, TWO)) == "It does not stand."
    apart = replace(DIVIDED, mine=mine)
    assert describe_mine(apart, count_panel(apart)) == "It does not stand: no reviewer advises it."
    reviews = {
        seat: (review.model_copy(update={"follows": (MINE,) if seat == TWO else review.follows}),)
        for seat, (review,) in DIVIDED.reviewed.items()
    }
    split = replace(apart, reviewed=reviews)
    assert describe_mine(split, count_panel(split)) == "The reviewers are divided about it."
    assert describe_mine(DIVIDED, count_panel(DIVIDED)) == ""


def test_what_is_wrong_in_the_callers_answer_stands_below_whether_it_stands_and_nowhere_else() -> None:
    wrong = build_error(MINE, words="Redis is durable", right="Its last minutes are lost.", matters=False)
    errors = (wrong, build_error(TWO, words="on its own", right="Not with its data."))
    panel = replace(play_agreed(errors=errors), mine=Opinion(recommendation="Move it: Redis is durable."))
    lines = build_lines(panel, count_panel(panel))

    assert [(line.head, line.text) for line in list_lines(lines)][:3] == [
        ("Your answer", "It does not stand."),
        ("Wrong in it", "“Redis is durable”: Its last minutes are lost."),
        ("Agreed", lines.recommendation),
    ]
    assert [row.text for row in lines.corrected] == ["“on its own”: Not with its data."]


def test_the_lines_of_a_writer_are_its_text_and_then_the_servers() -> None:
    report = build_report("No. Keep the queue.\n\nWhy\nIt is small.\n- one write")
    panel = replace(play_agreed(errors=(build_error(ONE),)), reports=(report,))
    lines = build_lines(panel, count_panel(panel), cost="5 calls.")
    assert [(line.head, line.is_lead) for line in list_lines(lines)] == [
        ("Agreed", True), ("", False), ("How sure", False), ("Cost", False),
    ]  # fmt: skip
    text = format_lines(lines)
    assert text.startswith(
        '**Agreed**: "No. Keep the queue."\n> Why\n> It is small.\n> - one write\n**How sure**: '
    )
    assert text.endswith("Not measured on your questions yet.\n**Cost**: 5 calls.")
    assert format_lines(lines, "9he6z6pfzrh5") == f"{text} Debate 9he6z6pfzrh5"


def test_the_lines_of_a_composed_answer_say_what_to_do_first_and_leave_out_what_there_is_not() -> None:
    panel = play_agreed(errors=(build_error(TWO),), against="It shares failures.")
    told = panel.advised[ONE].model_copy(update={"next": "Measure one week:\n- oldest job\n- dead rows"})
    panel = replace(panel, advised={**panel.advised, ONE: told})
    lines = build_lines(panel, count_panel(panel))
    assert [line.head for line in list_lines(lines)] == [
        "Agreed", "Next", "Because", "Corrected", "Against it", "How sure",
    ]  # fmt: skip
    assert "**Next**:\n> Measure one week:\n> - oldest job\n> - dead rows\n" in format_lines(lines)


def test_the_value_stands_before_a_recommendation_that_does_not_name_it() -> None:
    panel = play_agreed(value="93 %")
    count = count_panel(panel)
    lines = build_lines(replace(panel, reports=(build_report("Keep it: it will come."),)), count)
    assert list_lines(lines)[0].text == "93%: Keep it: it will come."
    told = build_lines(replace(panel, reports=(build_report("Keep it: it will come, at 93 %."),)), count)
    assert (told.value, list_lines(told)[0].text) == ("93%", "Keep it: it will come, at 93 %.")
    named = play_agreed(value="Version 7")
    written = build_lines(replace(named, reports=(build_report("Keep the seventh."),)), count_panel(named))
    composed = build_lines(named, count_panel(named))
    assert (written.value, list_lines(written)[0].text) == ("Version 7", "Keep the seventh.")
    assert list_lines(composed)[0].text.startswith("Version 7: ")
    both = play_panel("AB", [], reviewed={})
    open_lines = build_lines(both, count_panel(both))
    assert list_lines(open_lines)[1] == Line("Either", "Advice A")


def test_an_answer_that_its_author_has_left_is_no_case_of_those_who_are_divided() -> None:
    apart = [("", 80), ("", 80)]
    panel = play_panel("AB", apart, [((), "", 70), ((), "", 70)])
    composed = compose(panel, count_panel(panel))
    assert composed.recommendation == "2 answers that differ."
    assert [branch.sources for branch in composed.branches] == [("R1",), ("R2",)]
    unread = play_panel("AB", [("", 80)], [], {"review.2"})
    left = compose(unread, count_panel(unread))
    assert [branch.sources for branch in left.branches] == [("R1",), ("A2",)]


def test_reviews_that_contradict_themselves_leave_one_answer_that_they_do_not_settle() -> None:
    first = play_panel("AB", [("A", 90), ("A", 90)], readings=2)
    read = {
        seat: (one, one.model_copy(update={"slot_index": 2, "follows": ("Advisor 2",)}))
        for seat, (one, *_) in first.reviewed.items()
    }
    panel = play_panel("AB", [("A", 90), ("A", 90)], readings=2, reviewed=read)
    answer = build_lines(panel, count_panel(panel))

    assert answer.recommendation == "The reviews do not settle it."
    assert [line.head for line in list_lines(answer)][1:3] == ["One answer", "How sure"]
