"""The answer format as it is held: its rounds, what fails in them, and how callers steer it."""

from itertools import permutations
from typing import Any

import pytest

from server.debate.answer.count import name_outcome
from server.debate.answer.debates import build_panel, count_debate
from server.debate.answer.lines import format_so_far
from server.debate.answer.prompts import order_answers
from server.debate.commands.setup.documents import add_windows
from server.debate.commands.setup.effort import describe_effort
from server.debate.commands.setup.estimate import estimate
from server.debate.documents.digests import describe_reading
from server.debate.facts.answers import Answer, Lookup, Researched
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Failed, PhaseEntered
from server.debate.facts.setup.limits import Window
from server.debate.facts.setup.opened import Opened
from server.debate.machine.render import render
from server.debate.machine.transitions import replay
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.rules.plan import count_expected_answers
from server.debate.state.debate import Debate
from server.debate.views.advice import describe_advice, is_answer_of
from server.debate.views.markdown import format_report
from server.debate.views.progress import estimate_line
from server.debate.views.rounds import list_tasks
from server.debate.views.verdict import build_report, build_verdict
from server.debate.views.warnings import describe_client_requests, list_setup_warnings
from tests.support.advisors import (
    MODELS,
    REPORT,
    begin_advice,
    build_reply,
    build_script,
    open_advice,
    play_advice,
)
from tests.support.golden_plays.setups import PARENT_ID
from tests.support.panels import APART, CASES, NOBODY
from tests.support.records import build_bodies, verify_bodies
from tests.support.simulation import DebateSimulation, ProviderFailure, build_usage, render_prompt_text

pytestmark = pytest.mark.requirement("M5", "N1", "N4")

TWO, THREE = open_advice(), open_advice(MODELS)
SPLIT: dict[str, Any] = {"blind": "AB", "finals": APART, "exchange": [NOBODY, NOBODY]}
"""Two who stay divided to the end."""


def list_phases(played: DebateSimulation) -> list[str]:
    return [event.phase for event in played.events if isinstance(event, PhaseEntered)]


PLAYED = (
    *("two alike, apart and after reading", "both reject both, and mean the same", "divided to the end"),
    *("one is moved", "one review fails", "two to one", "one to one to one", "quick, apart"),
    *("quick, one family, other advice", "quick, the only review fails"),
)


@pytest.mark.parametrize("name", PLAYED)
def test_a_debate_comes_to_the_outcome_of_its_case_and_follows_from_its_record(name: str) -> None:
    """All cases are counted in `tests/debate/answer/test_count.py`; these are one for each way through the rounds."""
    blind, finals, exchange, failed, changes, outcome, head = CASES[name]
    models = [f"{family}/m" for family in changes.get("families", ("alpha", "beta", "gamma"))][: len(blind)]
    setup = open_advice(models, effort=changes.get("level", "standard"))
    played = play_advice(setup, blind=blind, finals=finals, exchange=exchange, failed=failed)
    assert played.debate.verdict
    assert played.debate.ended
    assert (played.debate.verdict.outcome, name_outcome(count_debate(played.debate))) == (outcome, head)
    assert verify_bodies(build_bodies(played.events)) == played.debate


@pytest.mark.parametrize(
    ("max_rounds", "script", "phases", "calls"),
    [
        (1, {}, ["answer", "review", "report"], 5),
        (1, SPLIT, ["answer", "review", "exchange", "report"], 7),
        (0, SPLIT, ["answer", "review", "report"], 5),
        (2, SPLIT, ["answer", "review", "exchange", "exchange", "report"], 9),
    ],
)
def test_who_agree_take_two_calls_each_and_one_and_who_differ_one_more_each(
    max_rounds: int, script: dict[str, Any], phases: list[str], calls: int
) -> None:
    played = play_advice(open_advice(max_rounds=max_rounds), **script)
    assert (list_phases(played), len(played.calls_made)) == (phases, calls)


@pytest.mark.parametrize(
    ("effort", "models", "calls"),
    [
        ("quick", MODELS[:1], 2),
        ("quick", MODELS[:2], 3),
        ("quick", MODELS, 4),
        ("standard", MODELS[:1], 5),
        ("standard", MODELS, 7),
        ("assured", MODELS[:2], 8),
        ("assured", MODELS, 11),
        ("standard", ("alpha/a", "alpha/b", "beta/c", "gamma/d", "delta/e"), 7),
        ("standard", ("alpha/a", "alpha/b"), 5),
        ("standard", ("local",), 1),
    ],
)
def test_effort_and_families_decide_how_many_calls_it_takes(
    effort: str, models: tuple[str, ...], calls: int
) -> None:
    played = play_advice(open_advice(models, effort=effort), blind="AAA")
    assert len(played.calls_made) == calls
    assert played.debate.ended
    told = describe_effort(played.debate.setup)
    assert ("where they differ" in told) == (effort != "quick" and models != ("local",))
    assert verify_bodies(build_bodies(played.events)) == played.debate


def test_no_seat_is_told_who_wrote_what_or_how_sure_anybody_is() -> None:
    played = play_advice(THREE, blind="AAB")
    for seat in ("Advisor 1", "writer"):
        for prompt in played.prompts(seat):
            assert not any(name in prompt for name in (*played.debate.names, "alpha", "90"))


@pytest.mark.parametrize(
    ("task", "reply"),
    [
        ("advice", ""),
        ("advice", "I would rather not say."),
        ("review", '{"recommendation": "x", "follows": 7'),
        ("exchange", "I would rather not say."),
        ("report", ""),
        ("check", '{"recommendation": "x", "follows": 7'),
    ],
)
def test_a_seat_that_gives_nothing_usable_is_asked_once_more_and_the_debate_ends(
    task: str, reply: str
) -> None:
    played = begin_advice(open_advice(effort="assured"), **SPLIT, replies={task: reply})
    played.play()
    if played.debate.paused:  # nobody answered
        assert played.debate.paused.cause == "quorum"
        return
    assert played.debate.ended
    assert played.debate.verdict
    assert played.debate.verdict.verdict
    is_prose = task == "advice" and reply.startswith("I would")
    failures = [event for event in played.events if isinstance(event, Failed)]
    assert bool(failures) != is_prose
    assert {one["task"] for one in list_tasks(played.debate) if one["state"] == "failed"} == (
        set() if is_prose else {task}
    )
    assert verify_bodies(build_bodies(played.events)) == played.debate


WRITTEN = ("Advice A.\n\nIt is one machine.", "Advice A.\n\nIt is small, at 1,744 a second.")
MAJORITY = {"blind": "AAB", "finals": [("A", 90), ("A", 90), ("B", 90)], "answers": ("Advice A.",) * 3}


def test_who_agree_need_no_writer_and_the_answer_of_the_reviewer_with_most_of_what_others_found_stands() -> (
    None
):
    def review(call: Call) -> dict[str, Any]:
        place = played.debate.names.index(call.seat)
        given = build_reply(played.debate, call, place, "AA", [("A", 90)] * 2, [])
        assert isinstance(given, dict)
        missing = ["It is small, at 1,744 a second."] if place == 0 else ["Nobody says who is on call."]
        return {**given, "answer": WRITTEN[place], "missing": missing}

    played = begin_advice(replies={"review": review})
    played.play()
    assert list_phases(played) == ["answer", "review"]
    assert len(played.calls_made) == 4
    verdict = build_verdict(played.debate)
    assert (verdict.answer.head, verdict.verdict, verdict.reasoning) == (
        "Agreed",
        "Advice A.",
        "It is small, at 1,744 a second.",
    )
    titles, texts = zip(
        *(describe_advice(played.debate, one) for one in played.debate.advice[2:]), strict=True
    )
    assert titles == ("Advisor 1 reviews the answers", "Advisor 2 reviews the answers, and writes the answer")
    assert [WRITTEN[place] in texts[place] for place in (0, 1)] == [True, False]
    assert verify_bodies(build_bodies(played.events)) == played.debate


@pytest.mark.parametrize(
    ("setup", "script", "phases"),
    [
        (TWO, {"answers": ("I would rather not say.",) * 2}, ["answer", "review", "report"]),
        (TWO, {"answers": ("", WRITTEN[1])}, ["answer", "review"]),
        (TWO, {"answers": WRITTEN, **SPLIT}, ["answer", "review", "exchange", "report"]),
        (TWO, {"answers": WRITTEN, "blind": "AB", "finals": [("A", 90)] * 2}, ["answer", "review"]),
        (open_advice(MODELS, max_rounds=0), MAJORITY, ["answer", "review", "report"]),
    ],
    ids=[
        "no answer that will do",
        "one is enough",
        "they differ",
        "they agree after reading",
        "two of three",
    ],
)
def test_a_writer_is_asked_where_no_answer_of_the_reviewers_will_do(
    setup: Opened, script: dict[str, Any], phases: list[str]
) -> None:
    assert list_phases(begin_advice(setup, **script).play()) == phases


@pytest.mark.parametrize("report", ["Advice A.\n\nIt is two machines.", ""], ids=["corrected", "no writer"])
def test_in_assured_the_answer_of_a_reviewer_is_checked_and_a_writer_corrects_it(report: str) -> None:
    fault = {"words": "It is one machine", "right": "It is two machines", "matters": True}
    script: dict[str, Any] = {"check": {"faults": [fault], "agrees": False}, "report": report}
    played = begin_advice(open_advice(effort="assured"), answers=(WRITTEN[0],) * 2, replies=script)
    played.play()
    assert list_phases(played) == ["answer", "review", "check"]
    assert "# The first version\n> Advice A.\n> \n> It is one machine." in played.prompts("writer")[0]
    answer = build_verdict(played.debate).answer
    told = report.partition("\n\n")[2] or "It is one machine."
    corrections = [] if report else ["“It is one machine”: It is two machines"]
    assert (answer.because, [one.text for one in answer.corrected]) == (told, corrections)
    assert answer.problem == ""
    assert verify_bodies(build_bodies(played.events)) == played.debate


@pytest.mark.parametrize("action", ["inject", "instruct"])
def test_a_note_that_no_reviewer_has_read_is_read_by_a_writer(action: str) -> None:
    played = begin_advice(open_advice(options={"pause_when": ["verdict"]}), answers=WRITTEN)
    played.play()
    assert played.debate.paused
    played.intervene(action, text="We have sold Postgres.")
    played.intervene("resume")
    played.play()
    assert list_phases(played) == ["answer", "review", "report"]
    assert "We have sold Postgres." in played.prompts("writer")[0]


def test_where_several_are_divided_and_the_writer_fails_no_side_writes_the_answer() -> None:
    played = begin_advice(**SPLIT, answers=WRITTEN, replies={"report": ""}).play()
    answer = build_verdict(played.debate).answer
    assert (answer.written_by, answer.recommendation) == ("server", "2 answers that differ.")


def test_what_reviewers_wrote_before_a_retraction_is_no_answer() -> None:
    played = begin_advice(THREE, blind="AAA", answers=(*WRITTEN, "Advice A.")).play_to_round(2)
    played.add_events(played.answer(played.pending_calls()[0]))
    played.intervene("retract", to="Advisor 3", round=1)
    played.play()
    assert next(review.text for row in build_panel(played.debate).reviewed.values() for review in row) == ""
    assert build_verdict(played.debate).verdict == "Advice A."


def test_a_report_that_is_not_accepted_is_asked_for_once_more_with_the_reason_and_then_composed() -> None:
    replies = ["Advice: keep it.\n\nIt does 1744 a second.", "Advice: keep it.\n\nIt is small."]
    played = play_advice(replies={"report": lambda call: replies[call.attempt - 1]})
    assert "figures that nobody stated: 1744" in played.prompts("writer")[1]
    verdict = build_verdict(played.debate)
    assert (verdict.answer.written_by, verdict.reasoning) == ("writer", "It is small.")
    composed = play_advice(replies={"report": replies[0]})
    verdict = build_verdict(composed.debate)
    assert (verdict.answer.written_by, verdict.verdict) == ("server", "Advice A")
    assert verdict.answer.problem == "figures that nobody stated: 1744"


def test_the_report_is_checked_by_another_family_than_wrote_it() -> None:
    played = play_advice(open_advice(effort="assured"))
    models = {event.seat: event.usage.model for event in played.events if isinstance(event, Answer)}
    assert (models["writer"], models["checker"]) == MODELS[:2]


def test_a_report_that_was_cut_at_its_limit_is_asked_for_once_more() -> None:
    cut = Reply(REPORT, build_usage("alpha/a"), cut=True)
    played = play_advice(replies={"report": lambda call: cut if call.attempt == 1 else REPORT})
    assert [event.detail for event in played.events if isinstance(event, Failed)] == [
        "it is not complete (it was stopped at its token limit)"
    ]
    assert build_verdict(played.debate).answer.written_by == "writer"


LOST = "Advice of the report\n\nFor another reason."
KEPT = "Advice of the report\n\nSo it is."
LAST = "Advice in the end\n\nNot so."


def keep_words(_: Call) -> dict[str, Any]:
    """A review of two answers that agree, which wants their reason kept."""
    labels = [*open_advice().answering.labels[:2]]  # type: ignore[union-attr]
    return {
        "recommendation": "Advice A",
        "because": "So it is.",
        "keep": ["So it is"],
        "groups": [labels],
        "follows": labels[:1],
        "probability": 90,
    }


def play_writer(*reports: Any, **fields: Any) -> DebateSimulation:
    """A debate whose reviews want words kept, and whose writer writes these reports, one in each slot."""
    check = fields.pop("check", {"faults": [], "agrees": True})
    replies = {"review": keep_words, "report": lambda call: reports[call.slot_index], "check": check}
    return play_advice(open_advice(**fields), replies=replies)


@pytest.mark.parametrize(
    ("second", "because"),
    [
        (KEPT, "So it is."),
        ("Advice of the report\n\nFor a third reason.", "For a third reason."),
        ("no words of it", "For another reason."),
        (ProviderFailure("bad_request"), "For another reason."),
    ],
)
def test_a_report_that_lost_what_was_to_be_kept_stands_unless_a_second_one_comes(
    second: Any, because: str
) -> None:
    played = play_writer(LOST, second)
    assert (
        "# What it lost of what reviews want kept\n> So it is\nBring that back.\n"
        in played.prompts("writer")[1]
    )
    assert "> For another reason." in played.prompts("writer")[1]
    verdict = build_verdict(played.debate)
    assert (verdict.answer.written_by, verdict.reasoning) == ("writer", because)
    told = "Writer gave no second report (the first one stands, without all that reviews want kept): "
    is_missing = because == "For another reason."
    assert [caution.startswith(told) for caution in verdict.cautions] == [True] * is_missing
    assert bool(played.debate.failures) == is_missing
    assert [is_answer_of(played.debate, one) for one in build_panel(played.debate).reports] == [
        *([] if is_missing else [False]),
        True,
    ]
    assert verify_bodies(build_bodies(played.events)) == played.debate


def test_a_second_report_that_lost_more_than_the_first_is_not_taken() -> None:
    def keep_two(call: Call) -> dict[str, Any]:
        return {**keep_words(call), "keep": ["So it is", "Because"]}

    reports = ("Advice A\n\nBecause", LOST)
    replies = {"review": keep_two, "report": lambda call: reports[call.slot_index]}
    played = play_advice(replies=replies)
    assert build_verdict(played.debate).verdict == "Advice A"
    assert [is_answer_of(played.debate, one) for one in build_panel(played.debate).reports] == [True, False]


def test_a_report_that_lost_words_stands_where_the_budget_pays_for_no_second_one() -> None:
    played = play_writer(LOST, KEPT, options={"limits": {"max_calls": 5}})
    assert played.debate.ended
    verdict = build_verdict(played.debate)
    assert (verdict.answer.written_by, verdict.reasoning) == ("writer", "For another reason.")


def test_a_report_is_written_once_more_for_what_it_lost_and_again_for_what_the_check_found() -> None:
    check = {"faults": [{"words": "So it is", "right": "Not so.", "matters": True}], "agrees": False}
    played = play_writer(LOST, KEPT, LAST, effort="assured", check=check)
    again = played.prompts("writer")[2]
    assert '> "So it is": Not so.' in again
    assert "> So it is." in again.partition("# The first version")[2]
    assert "# What it lost" not in again
    assert build_verdict(played.debate).verdict == "Advice in the end"
    assert verify_bodies(build_bodies(played.events)) == played.debate


def test_a_check_that_finds_a_fault_brings_a_second_version_or_stands_below_the_first() -> None:
    check = {"faults": [FAULT], "agrees": False}
    again, first = "Advice of the report, not on Monday\n\nSo it is.", KEPT
    assured = open_advice(effort="assured")
    played = play_advice(
        assured, replies={"check": check, "report": lambda call: again if call.slot_index else first}
    )
    assert played.debate.verdict
    assert played.debate.verdict.verdict == "Advice of the report, not on Monday"
    failing = play_advice(
        assured, replies={"check": check, "report": lambda call: "no" if call.slot_index else first}
    )
    lines = build_verdict(failing.debate).answer
    assert [row.text for row in lines.corrected] == ["“the report”: Not on Monday."]
    assert verify_bodies(build_bodies(failing.events)) == failing.debate


def play_again(whole: DebateSimulation, stop: int, **script: Any) -> DebateSimulation:
    """What another process makes of the first facts of a debate."""
    events = whole.events[:stop]
    again = DebateSimulation(replay(events), events=[*events])
    again.script = build_script(lambda: again.debate, **script)
    return again.play()


def test_a_process_that_ends_anywhere_is_followed_by_one_that_comes_to_the_same() -> None:
    script: dict[str, Any] = {**SPLIT, "exchange": [NOBODY, ([0], "Advice", 80)]}
    whole = play_advice(open_advice(effort="assured"), **script)
    for stop in range(2, len(whole.events)):
        again = play_again(whole, stop, **script)
        assert (again.debate.verdict, again.debate.ended) == (whole.debate.verdict, whole.debate.ended)


def test_a_process_that_ends_between_two_versions_of_a_report_is_followed_by_one_that_comes_to_the_same() -> (
    None
):
    reports = (LOST, KEPT, LAST)
    replies = {
        "review": keep_words,
        "report": lambda call: reports[call.slot_index],
        "check": {"faults": [{"words": "So it is", "right": "Not so.", "matters": True}], "agrees": False},
    }
    whole = play_advice(open_advice(effort="assured"), replies=replies)
    assert build_verdict(whole.debate).verdict == "Advice in the end"
    for stop in range(10, 16):
        again = play_again(whole, stop, replies=replies)
        assert [type(event) for event in again.events] == [type(event) for event in whole.events]
        assert again.debate.verdict == whole.debate.verdict
        assert len(again.calls_made) == sum(isinstance(event, Answer) for event in whole.events[stop:])


def test_answers_arrive_in_any_order() -> None:
    script = {"blind": "AAB", "finals": [("A", 90), ("A", 90), ("B", 80)], "exchange": [NOBODY] * 3}
    verdicts = set()
    for order in permutations(range(3)):
        played = begin_advice(THREE, **script)
        played.arrival_order = lambda calls, order=order: [  # type: ignore[misc]
            calls[index] for index in order if index < len(calls)
        ]
        verdicts.add(str(played.play().debate.verdict))
    assert len(verdicts) == 1


def test_the_others_are_reviewed_where_one_of_three_answers_fails() -> None:
    played = play_advice(THREE, blind="AAA", failed={"answer.3"})
    assert played.debate.verdict
    assert played.debate.verdict.outcome == "leaning"
    missing, why = build_verdict(played.debate).cautions
    assert missing == "The answer of Advisor 3 is missing."
    assert why.startswith("Advisor 3 gave no answer: ")


FAULT = {"words": "the report", "right": "Not on Monday.", "matters": True}


def fail_later_reports(call: Call) -> str:
    return "no words of it" if call.slot_index else KEPT


def advise_at_the_second_try(call: Call) -> str:
    return "{" if call.attempt == 1 else '{"recommendation": "Keep it."}'


@pytest.mark.parametrize(
    ("effort", "script", "told"),
    [
        ("assured", {}, []),
        (
            "assured",
            {"replies": {"check": "fine"}},
            ["Checker gave no check (nobody has checked the answer): the reply holds"],
        ),
        (
            "assured",
            {"replies": {"report": "no words of it"}},
            [
                "Writer gave no report (the server composed the answer of the reviews, and nobody checked it): "
            ],
        ),
        (
            "assured",
            {"replies": {"check": {"faults": [FAULT]}, "report": fail_later_reports}},
            ["Writer gave no second report (what the check found stands under Corrected): it gives none"],
        ),
        (
            "assured",
            {"replies": {"check": {"faults": [], "agrees": False}}},
            ["Who checked the answer would not act on it, and names no fault that matters."],
        ),
        (
            "assured",
            {"replies": {"exchange": "no JSON"}, "blind": "AB", "finals": APART},
            [
                f"Advisor {n} gave no exchange (what it advised before counts): the reply holds"
                for n in (1, 2)
            ],
        ),
        (
            "standard",
            {"replies": {"report": "nothing"}},
            ["Writer gave no report (the server composed the answer of the reviews): "],
        ),
        ("standard", {"failed": {"review.2"}}, ["Advisor 2 gave no review: "]),
        ("standard", {"replies": {"advice": advise_at_the_second_try}}, []),
    ],
)
def test_it_says_which_of_its_steps_failed_and_what_follows(
    effort: str, script: dict[str, Any], told: list[str]
) -> None:
    verdict = build_verdict(play_advice(open_advice(effort=effort), **script).debate)
    found = verdict.answer.keep_in_mind
    assert len(found) == len(told)
    assert all(map(str.startswith, found, told))
    assert found == verdict.cautions or effort == "standard"


def test_quick_says_that_nobody_wrote_a_report() -> None:
    verdict = build_verdict(play_advice(open_advice(effort="quick")).debate)
    assert verdict.cautions == ["Only one advisor has checked the answers, its own among them."]


def test_readings_that_are_missing_or_contradict_each_other_are_named() -> None:
    played = play_advice(open_advice(effort="assured"), failed={"review.2"})
    assert "Both reviews of Advisor 2 are missing." in build_verdict(played.debate).cautions

    def turn_over(call: Call) -> dict[str, Any] | str:
        labels = order_answers(build_panel(at.debate), call.seat, call.slot_index)
        one_first = sorted(labels, key=lambda label: labels[label])
        is_second = call.seat == "Advisor 1" and call.slot_index > 1
        groups = [[label] for label in one_first]
        return {"groups": groups, "follows": [one_first[is_second]], "recommendation": "x", "probability": 80}

    at = begin_advice(open_advice(effort="assured"), blind="AB", replies={"review": turn_over})
    at.play()
    told = "Advisor 1 followed different answers in its two readings, and has no vote."
    assert told in build_verdict(at.debate).answer.keep_in_mind
    assert not any(one.startswith("Advisor 1") for one in build_verdict(at.debate).dissent)


def test_with_one_answer_it_pauses_and_can_be_concluded_on_that() -> None:
    played = play_advice(TWO, failed={"answer.2"})
    assert played.debate.paused
    assert played.debate.paused.cause == "quorum"
    played.intervene("conclude")
    played.play()
    assert played.debate.verdict
    assert played.debate.verdict.outcome == "undecided"
    assert build_verdict(played.debate).verdict == "Advice A"


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_it_can_be_concluded_in_every_round_on_what_is_there(number: int) -> None:
    played = begin_advice(TWO, **SPLIT).play_to_round(number)
    if number == 1:
        with pytest.raises(InvalidRequestError, match="Nobody has spoken yet"):
            played.intervene("conclude")
        played.add_events(played.answer(played.pending_calls()[0]))
    played.intervene("conclude")
    played.play()
    assert played.debate.ended
    assert played.debate.ended.cause == "request"
    assert played.debate.verdict
    assert played.debate.verdict.verdict
    assert verify_bodies(build_bodies(played.events)) == played.debate


def test_a_retracted_answer_leaves_groups_and_votes() -> None:
    played = begin_advice(THREE, blind="ABB", finals=[("B", 90)] * 3).play_to_round(2)
    played.intervene("retract", to="Advisor 1", round=1)
    played.play()
    assert [*build_panel(played.debate).answers] == ["Advisor 2", "Advisor 3"]
    titles = [describe_advice(played.debate, event)[0] for event in played.debate.advice[:2]]
    assert titles == ["Advisor 1 gives the first answer (retracted)", "Advisor 2 gives the second answer"]
    assert not any("Advice A" in prompt for prompt in played.prompts("writer"))
    assert verify_bodies(build_bodies(played.events)) == played.debate


def test_who_followed_a_retracted_answer_follows_those_that_it_found_the_same() -> None:
    played = begin_advice(TWO).play_to_round(3)
    played.intervene("retract", to="Advisor 1", round=1)
    told = "Advice A, as A1 says.\n\nSo it is [A1]."
    played.script = build_script(lambda: played.debate, replies={"report": told})
    played.play()
    assert {*count_debate(played.debate).sides.held.values()} == {"Advisor 2"}
    answer = build_verdict(played.debate).answer
    assert (answer.head, answer.recommendation) == ("Leaning", "Advice A, as the first answer says.")
    assert verify_bodies(build_bodies(played.events)) == played.debate


def test_where_every_answer_is_retracted_it_ends_without_one() -> None:
    played = begin_advice(open_advice(MODELS[:1], effort="quick"), blind="A").play_to_round(2)
    played.intervene("retract", to="Advisor 1", round=1)
    played.play()
    assert played.debate.ended
    assert played.debate.ended.ending == "truncated"
    verdict = build_verdict(played.debate)
    assert (verdict.answer.head, verdict.outcome) == ("No answer", "")
    told = "**No answer**: it ended before anybody had given one that counts.\n"
    assert told in format_report(build_report(played.debate))
    assert verify_bodies(build_bodies(played.events)) == played.debate


def test_notes_and_instructions_are_read_from_the_next_question_on() -> None:
    played = begin_advice(TWO).play_to_round(2)
    played.intervene("inject", text="The budget is small.")
    played.intervene("inject", text="For two alone.", to="Advisor 2")
    played.intervene("instruct", text="Name prices.")
    played.play()
    assert all("> The budget is small." in prompt for prompt in played.prompts("Advisor 1")[1:])
    assert "> Name prices." in played.prompts("writer")[0]
    assert "For two alone" not in "".join(played.prompts("Advisor 1"))
    assert "For two alone" in "".join(played.prompts("Advisor 2"))


def test_advisors_follow_instructions_and_look_things_up_before_they_answer() -> None:
    tools = [{"name": "Ada", "role": "a lawyer", "tools": ["web"]}, {"name": "Ben", "role": "a nurse"}]
    setup = open_advice(debaters=tools, options={"instructions": "Name prices."})
    played = begin_advice(setup).play_to_round(1)
    call = next(call for call in played.pending_calls() if call.seat == "Ada")
    found = Lookup(tool="web/search", arguments="{}", result="It costs 1,744 a month.")
    played.add_events(
        Researched(seat="Ada", round=1, seen=call.seen, lookups=(found,), usage=build_usage("alpha/a"))
    ).play()
    asked = played.prompts("Ada")[0]
    assert "> Name prices." in asked
    assert "You may first look things up with your tools (web)" in asked
    assert "> It costs 1,744 a month." in asked
    assert played.debate.ended


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "Estimate: 4 to 8 calls, 6 to 100 s"),
        ({"max_rounds": 0}, "Estimate: 4 to 6 calls, 6 to 80 s"),
        ({"effort": "quick"}, "Estimate: 3 calls, 6 to 40 s"),
        ({"effort": "assured"}, "Estimate: 7 to 14 calls, 9 s to 3 min"),
        ({"options": {"output_schema": {"type": "object"}}}, "Estimate: 5 to 9 calls"),
        ({"models": ("caller", "alpha/a")}, "Estimate: 2 to 5 calls, 2 turns of the caller"),
    ],
)
def test_the_estimate_names_both_ends(fields: dict[str, Any], told: str) -> None:
    models = fields.pop("models", MODELS[:2])
    debate = Debate(open_advice(models, **fields))
    assert estimate_line(debate).startswith(told)


@pytest.mark.parametrize(
    ("effort", "at_round", "told"),
    [
        ("quick", 1, "Estimate: 1 call, "),
        ("standard", 1, "Estimate: 2 to 6 calls, 3 to 80 s"),
        ("standard", 2, "Estimate: 1 to 4 calls, 3 to 60 s"),
        ("standard", 3, "Estimate: 1 to 2 calls, "),  # after the exchange
        ("assured", 3, "Estimate: 2 to 6 calls"),  # a second exchange may follow
        ("assured", 5, "Estimate: 1 to 2 calls"),  # after the report
    ],
)
def test_a_fork_is_estimated_without_what_it_inherits(effort: str, at_round: int, told: str) -> None:
    fork = play_advice(open_advice(effort=effort), **SPLIT).fork(at_round)
    assert estimate_line(fork.debate).startswith(told)


NAMED = {"debaters": [{"name": "Ada", "role": "engineer"}, {"name": "Ben", "role": "lawyer"}]}


@pytest.mark.parametrize(
    ("models", "fields", "other"),
    [
        (MODELS[:2], {}, "quick 3 calls"),
        (MODELS[:2], {}, "assured 7 to 14 calls"),
        (MODELS[:2], {"effort": "assured"}, "standard 4 to 8 calls"),
        (MODELS[:2], {"effort": "assured", "max_rounds": 0}, "standard 4 to 6 calls"),
        (MODELS[:1], {}, "quick 2 calls"),
        (MODELS[:1], {"effort": "quick"}, "standard 4 to 8 calls"),
        (MODELS[:1], NAMED, "quick 3 calls"),
    ],
)
def test_other_efforts_are_estimated_with_the_rounds_and_seats_that_they_would_have(
    models: tuple[str, ...], fields: dict[str, Any], other: str
) -> None:
    assert other in estimate_line(Debate(open_advice(models, **fields))).partition("Other efforts: ")[2]


def test_who_has_only_the_embedded_model_is_told_how_to_get_an_answer_that_counts() -> None:
    [told] = list_setup_warnings(open_advice(("local",)), 1)
    assert told.startswith("Only the embedded model takes part")
    assert "counterpoint keys set anthropic" in told


def test_it_says_before_the_end_what_was_answered_and_by_whom_nothing_was_checked() -> None:
    played = begin_advice(TWO, **SPLIT).play_to_round(2)
    assert build_verdict(played.debate).answer.so_far == ["Advice A", "Advice B"]
    assert format_so_far(build_verdict(played.debate).answer).endswith('- "Advice A"\n- "Advice B"')
    assert build_verdict(played.play().debate).answer.so_far == []
    assert format_so_far(build_verdict(played.debate).answer) == ""


def test_those_who_stay_divided_dissent_from_each_other_and_held_before_what_they_answered_apart() -> None:
    played = play_advice(TWO, **SPLIT)
    verdict = build_verdict(played.debate)
    assert verdict.dissent == ["Advisor 1: Advice in the end", "Advisor 2: Advice in the end"]
    assert {*verdict.confidence.model_dump()} == {"basis", "beliefs"}
    assert verdict.beliefs.before == [
        "Advisor 1: its own answer, 90%", "Advisor 2: its own answer, 90%",
    ]  # fmt: skip
    moved = play_advice(TWO, blind="AB", finals=APART, exchange=[NOBODY, ([0], "Advice", 80)])
    verdict = build_verdict(moved.debate)
    assert verdict.beliefs.after[1] == "Advisor 2: the answer of Advisor 1, 80%"
    assert verdict.beliefs.moved == ['Advisor 2 moved to the answer of Advisor 1, because of "Advice"']
    assert verdict.dissent == []
    assert verdict.confidence.reference["n"] == 419


def test_the_result_is_written_in_the_shape_asked_for_after_the_report() -> None:
    schema = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
    setup = open_advice(options={"output_schema": schema})
    played = play_advice(setup, replies={"deliverable": {"result": "Keep it."}})
    assert list_phases(played) == ["answer", "review", "report", "deliverable"]
    assert build_verdict(played.debate).deliverable == '{"result":"Keep it."}'
    assert "> Advice of the report" in played.prompts("synthesizer")[0]
    assert verify_bodies(build_bodies(played.events)) == played.debate


@pytest.mark.parametrize("at_round", [0, 1, 2])
def test_a_fork_takes_over_rounds_and_asks_for_the_rest(at_round: int) -> None:
    played = play_advice(TWO)
    fork = played.fork(at_round, max_rounds=2)
    fork.script = build_script(lambda: fork.debate)
    fork.play()
    assert fork.debate.ended
    assert fork.debate.verdict == played.debate.verdict
    assert len(fork.calls_made) == (5, 3, 1)[at_round]
    opened = fork.events[0].model_copy(update={"forked_from": PARENT_ID, "forked_root": PARENT_ID})
    assert verify_bodies(build_bodies([opened, *fork.events[1:]])).verdict == fork.debate.verdict


@pytest.mark.parametrize("at_round", [0, 1])
@pytest.mark.parametrize(
    ("models", "judges", "changes", "reviewers"),
    [
        (("local", "beta/b"), [], {"models": {"Advisor 1": "gamma/c"}}, 2),
        (("alpha/a", "beta/b"), [], {"models": {"Advisor 1": "local"}}, 1),
        (("alpha/a", "beta/b"), ["m/1"], {"judges": {"models": ["m/1", "m/2", "m/3"]}}, 3),
        (("alpha/a", "beta/b"), ["m/1", "m/2", "m/3"], {"judges": {"models": ["m/1"]}}, 1),
    ],
)
def test_a_fork_has_a_label_for_each_of_its_reviewers(
    at_round: int, models: tuple[str, ...], judges: list[str], changes: dict[str, Any], reviewers: int
) -> None:
    parent = begin_advice(open_advice(models, options={"judges": {"models": judges}}), blind="AB")
    fork = parent.play_through_round(1).fork(at_round, **changes)

    def review_apart(call: Call) -> Any:
        place = build_panel(fork.debate).reviewers.index(call.seat)
        return build_reply(fork.debate, call, place, "AB", [*APART, APART[1]], [])

    told = {"recommendation": "Advice in the end", "same_as": [], "probability": 70}
    replies = {"review": review_apart, "exchange": told}
    fork.script = build_script(lambda: fork.debate, blind="AB", replies=replies)
    fork.play()
    before, after = build_panel(parent.debate).labels, build_panel(fork.debate).labels
    assert len({*after}) == len(after) == 3 + reviewers
    assert after[: len(before)] == before[: len(after)]
    assert ("exchange" in list_phases(fork)) == (reviewers > 1)
    opened = fork.events[0].model_copy(update={"forked_from": PARENT_ID, "forked_root": PARENT_ID})
    assert verify_bodies(build_bodies([opened, *fork.events[1:]])).verdict == fork.debate.verdict


def test_breakpoints_hold_it_before_an_exchange_and_before_the_report() -> None:
    played = play_advice(open_advice(options={"pause_when": ["contested", "verdict"]}), **SPLIT)
    assert list_phases(played) == ["answer", "review"]
    played.intervene("resume")
    played.play()
    assert list_phases(played) == ["answer", "review", "exchange"]
    played.intervene("resume")
    assert played.play().debate.paused  # the votes came out contested
    played.intervene("resume")
    assert played.play().debate.ended


@pytest.mark.parametrize(
    ("calls", "phases"),
    [
        (7, ["answer", "review", "exchange", "report"]),
        (6, ["answer", "review", "report"]),
        (5, ["answer", "review", "report"]),
        (4, ["answer", "review"]),
    ],
)
def test_a_short_budget_drops_the_exchange_first(calls: int, phases: list[str]) -> None:
    played = play_advice(open_advice(options={"limits": {"max_calls": calls}}), **SPLIT)
    assert list_phases(played) == phases
    told = "The limits did not pay for this: exchange, report."
    assert (told in build_verdict(played.debate).cautions) == (calls == 4)
    assert verify_bodies(build_bodies(played.events)) == played.debate


def test_a_budget_that_does_not_pay_for_standard_pays_for_quick_or_is_refused() -> None:
    low = open_advice(options={"effort": None, "limits": {"max_calls": 3}})
    assert low.effort
    assert low.effort.level == "quick"
    with pytest.raises(InvalidRequestError, match="do not allow one round"):
        open_advice(options={"effort": None, "limits": {"max_calls": 1}})


def test_a_budget_that_is_to_pause_pauses_before_the_exchange_is_paid_for() -> None:
    limits = {"max_calls": 5, "on_budget": "pause"}
    played = play_advice(open_advice(options={"limits": limits}), **SPLIT)
    assert played.debate.paused
    assert played.debate.paused.cause == "budget"
    played.intervene("extend", limits={"max_calls": 20})
    played.intervene("resume")
    assert played.play().debate.ended


def test_judges_review_in_place_of_the_advisors_each_twice() -> None:
    setup = open_advice(options={"judges": {"models": ["gamma/c", "delta/d"]}})
    played = play_advice(setup, finals=[("A", 90)])
    reviewers = [call.seat for call, _ in played.calls_made if call.task == "review"]
    assert reviewers == ["judge 1", "judge 2"] * 2
    assert played.debate.verdict
    assert [vote.judge for vote in played.debate.verdict.votes] == ["judge 1", "judge 2"]
    assert verify_bodies(build_bodies(played.events)) == played.debate


def test_one_review_is_enough_where_it_finds_nothing_and_that_was_asked_for() -> None:
    setup = open_advice(options={"skip_if_agreed": True})
    agreed = play_advice(setup)
    assert (len(agreed.calls_made), agreed.debate.verdict and agreed.debate.verdict.outcome) == (3, "leaning")
    unsure = play_advice(setup, finals=[("A", 60), ("A", 60)])
    assert len(unsure.calls_made) == 5
    for played in (agreed, unsure):
        assert verify_bodies(build_bodies(played.events)) == played.debate


@pytest.mark.parametrize(("models", "last"), [(MODELS[:2], 2), (MODELS, 3)])
def test_the_reviews_of_the_others_count_where_the_one_that_may_be_enough_fails(
    models: tuple[str, ...], last: int
) -> None:
    setup = open_advice(models, options={"skip_if_agreed": True})
    for order in (iter, reversed):
        played = begin_advice(setup, blind="AAA", failed={f"review.{last}"})
        played.arrival_order = lambda calls, order=order: [*order(calls)]  # type: ignore[misc]
        played.play()
        usual = play_advice(open_advice(models), blind="AAA", failed={f"review.{last}"})
        assert build_panel(played.debate).readers == tuple(f"Advisor {n}" for n in range(1, last))
        assert played.debate.verdict == usual.debate.verdict
        assert played.debate.verdict
        assert played.debate.verdict.outcome == "leaning"
        assert list_phases(played) == ["answer", "review", "report"]
        assert verify_bodies(build_bodies(played.events)) == played.debate


def test_no_review_is_called_missing_where_the_first_of_a_judge_was_enough() -> None:
    judges = {"models": ["gamma/c", "delta/d"]}
    played = begin_advice(open_advice(options={"skip_if_agreed": True, "judges": judges}))
    labels = [*open_advice().answering.labels[:2]]  # type: ignore[union-attr]
    reply = {"groups": [labels], "follows": labels, "recommendation": "Advice A", "probability": 90}
    played.script = build_script(lambda: played.debate, replies={"review": reply})
    played.play()
    assert len(played.calls_made) == 3
    assert not any("missing" in cap for cap in count_debate(played.debate).caps)


def test_the_callers_answer_is_reviewed_with_the_others_and_the_result_says_whether_it_stands() -> None:
    setup = open_advice(options={"my_answer": "Keep it, I think."})
    played = play_advice(setup)
    assert sum("> Keep it, I think." in prompt for prompt in played.prompts("Advisor 1")) == 1
    assert build_verdict(played.debate).answer.mine == "It stands."
    against = play_advice(setup, blind="BB", finals=[("B", 90), ("B", 90)])
    assert build_verdict(against.debate).answer.mine == "It does not stand."
    assert len(played.calls_made) == 5
    assert verify_bodies(build_bodies(played.events)) == played.debate


@pytest.mark.parametrize(
    "options",
    [
        {"moderator": True},
        {"referee": True},
        {"observer": True},
        {"ballots": "rounds"},
        {"mirror": True},
        {"baseline": True},
        {"challenges": "challenge"},
        {"speaking": "declared"},
        {"phases": ["opening"]},
        {"judges": {"count": 3}},
        {"voting": {"kind": "majority"}},
        {"judges": {"models": ["x/y"], "both_orders": False}},
        {"visibility": {"hide_from_client": ["debaters"]}},
        {"claims": "extracted"},
    ],
)
def test_what_belongs_to_arguments_is_refused_with_the_format_that_takes_it(options: dict[str, Any]) -> None:
    name = next(iter(options))
    given = {name: {}} if name == "moderator" else options
    with pytest.raises(InvalidRequestError, match=f"options.{name}.*format='advocates'"):
        open_advice(options=given)


def test_an_answer_to_be_checked_is_refused_by_formats_that_check_none() -> None:
    with pytest.raises(
        InvalidRequestError, match=r"does not check options.my_answer.*format='second_opinion'"
    ):
        open_advice(format="verdict", options={"my_answer": "Keep it."})


def test_debaters_with_roles_advise_and_debaters_with_stances_are_advocates() -> None:
    roles = [{"name": "Ada", "role": "a lawyer"}, {"name": "Ben", "role": "a nurse"}]
    played = play_advice(open_advice(debaters=roles))
    assert "Your role: a lawyer" in played.prompts("Ada")[0]
    assert verify_bodies(build_bodies(played.events)) == played.debate
    stances = [{"name": "Ada", "stance": "keep it"}, {"name": "Ben", "stance": "move it"}]
    assert open_advice(debaters=stances).format == "advocates"
    with pytest.raises(InvalidRequestError, match="Advisors have roles and no stances"):
        open_advice(debaters=stances, format="second_opinion")
    with pytest.raises(InvalidRequestError, match="There can be 6 advisors, not 7"):
        open_advice(debaters=[{"name": f"A{n}", "role": "x"} for n in range(7)])
    with pytest.raises(InvalidRequestError, match="cannot be called 'you'"):
        open_advice(debaters=[{"name": "You", "role": "x"}, roles[0]])
    with pytest.raises(InvalidRequestError, match="There can be 4 exchanges at most"):
        open_advice(max_rounds=5)


def test_quotes_of_documents_are_looked_up_before_others_read_them() -> None:
    documents = [{"title": "Report", "text": "The queue is idle on most days of the week."}]
    said = {
        "recommendation": "Keep it: “queue is idle on most days” (doc 1), “it is broken every single day” (doc 1).",
        "probability": 90,
    }
    played = begin_advice(open_advice(documents=documents), replies={"advice": said}).play_to_round(2)
    prompt = render_prompt_text(render(played.debate, played.pending_calls()[0]))
    assert "days” (doc 1) [checked]" in prompt
    assert "day” (doc 1) [not found in doc 1]" in prompt


def open_long_advice(**fields: Any) -> Opened:
    """A debate on a document that is too long for its models."""
    documents = [{"title": "Book", "text": "All bridges are closed in winter. " * 4_000}]
    plain = open_advice(documents=documents, **fields)
    return add_windows(plain, [Window(model=model, tokens=8_000) for model in MODELS[:2]])


def test_sections_of_long_documents_are_part_of_the_estimate() -> None:
    opened = open_long_advice()
    assert opened.reader is not None
    sections = len(opened.reader.sections)
    plain = Debate(opened.model_copy(update={"reader": None}))
    assert count_expected_answers(Debate(opened)) == count_expected_answers(plain) + sections
    fewest, most = estimate(Debate(opened)), estimate(plain)
    assert (fewest.calls, fewest.most_calls) == (most.calls + sections, most.most_calls + sections)
    digested = {"digest": {"summary": "It is about bridges.", "quotes": []}}
    fork = play_advice(opened, replies=digested).fork(1)
    assert estimate(fork.debate).calls == 2


def test_who_read_only_a_digest_of_the_documents_is_at_most_leaning_and_that_is_said() -> None:
    opened = open_long_advice()
    played = play_advice(opened, replies={"digest": {"summary": "It is about bridges.", "quotes": []}})
    assert len(played.calls_made) == 5 + len(opened.reader.sections)  # type: ignore[union-attr]
    verdict = build_verdict(played.debate)
    assert (verdict.outcome, verdict.answer.head) == ("leaning", "Leaning")
    cap, reading = verdict.cautions
    assert cap == "Whoever checked the answers read only a digest of the documents."
    assert reading.startswith("Doc 1 (135,999 characters) was too long for Advisor 1, Advisor 2: they read")
    assert "passage" not in reading + describe_reading(opened)
    assert verify_bodies(build_bodies(played.events)) == played.debate


@pytest.mark.parametrize("before_it_came", [True, False])
def test_a_report_that_was_written_before_a_retraction_is_shown_to_nobody(before_it_came: bool) -> None:
    """Its draft may be what was retracted, and what it says may be known of nobody else."""

    def advise(call: Call) -> dict[str, Any]:
        figures = "It takes 1,744 a second." if call.seat == "Advisor 1" else "It is small."
        return {"recommendation": "Advice A", "because": figures, "probability": 90}

    replies = {"advice": advise, "report": "Advice A, at 1,744."}
    played = begin_advice(open_advice(effort="assured"), replies=replies).play_to_round(3)
    report = played.answer(played.pending_calls()[0])
    if not before_it_came:
        played.add_events(report)
    played.intervene("retract", to="Advisor 1", round=1)
    if before_it_came:
        played.add_events(report)
    played.play()
    answer = build_verdict(played.debate).answer
    assert (answer.written_by, answer.recommendation) == ("server", "Advice A")
    assert not played.prompts("checker")
    assert verify_bodies(build_bodies(played.events)) == played.debate


def test_how_often_the_clients_own_model_is_asked_is_said_before() -> None:
    told = describe_client_requests(open_advice(("client", MODELS[0])))
    assert told.startswith("Your client's own model gets about 3 requests")


def test_objects_in_which_nothing_is_set_ask_for_nothing() -> None:
    """Forms of clients send every option."""
    assert open_advice(options={"voting": {}, "team": {}, "judges": {}}) == open_advice()
