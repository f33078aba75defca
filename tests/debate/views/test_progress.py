"""How far a debate is: what is answered and failed, of what is expected, and who is asked."""

from itertools import pairwise

import pytest

from server.debate.facts.interventions import TalkConcluded
from server.debate.rules.calls import Call
from server.debate.views.progress import Progress, build_progress, describe_progress, describe_work
from tests.support.advisors import begin_advice
from tests.support.simulation import (
    ARGUED_FORMATS,
    ScriptAnswer,
    build_debaters,
    build_setup,
    default_script,
    simulate,
)

pytestmark = pytest.mark.requirement("M4")


def sentence(*answered: str, failed: str = "", asked: str = "", before: Progress | None = None) -> str:
    now = Progress(
        answered=frozenset((1, seat, 0) for seat in answered),
        failed=frozenset((1, seat, 0) for seat in failed.split()),
        asked=tuple(asked.split()),
        expected=26,
    )
    nothing = Progress(frozenset(), frozenset(), (), 26)
    return describe_progress(now, before or nothing)


def test_a_report_is_a_sentence() -> None:
    assert sentence("Ada") == "Ada answered. 1 of 26"
    assert sentence("Ben", "Ada") == "Ada and Ben answered. 2 of 26"
    assert sentence(*"ABCD") == "A, B, C and D answered. 4 of 26"
    assert sentence(*"ABCDEF", failed="Zoe") == "A, B, C and 3 more answered, Zoe failed. 7 of 26"
    assert sentence(asked="Ada Ben") == "Waiting for Ada and Ben. 0 of 26"
    assert sentence("Ada", asked="Ben") == "Waiting for Ben. Ada answered. 1 of 26"
    assert sentence() == "0 of 26"


def test_the_first_report_tells_no_old_news() -> None:
    now = Progress(frozenset({(1, "Ada", 0)}), frozenset(), ("Ben",), 6)

    assert describe_progress(now, None) == "Waiting for Ben. 1 of 6"


@pytest.mark.requirement("N13")
def test_a_report_says_what_goes_on_who_is_asked_with_which_model_and_what_comes_then() -> None:
    played = begin_advice().play_to_round(1)
    reports = [build_progress(played.debate)]
    while calls := played.pending_calls():
        played.add_events(played.answer(calls[0]))
        while not (played.pending_calls() or played.debate.ended):
            played.step()
        reports.append(build_progress(played.debate))

    both = "Advisor 1 (alpha/a) and Advisor 2 (beta/b)"
    assert [describe_progress(now, before) for before, now in pairwise([reports[0], *reports])] == [
        f"Answering: waiting for {both}, then reviews. 0 of 4",
        "Answering: waiting for Advisor 2 (beta/b), then reviews. Advisor 1 answered. 1 of 4",
        f"Reviewing: waiting for {both}. Advisor 2 answered. 2 of 4",
        "Reviewing: waiting for Advisor 2 (beta/b). Advisor 1 answered. 3 of 4",
        "Writing the report: waiting for writer (alpha/a). Advisor 2 answered. 4 of 5",
        "Writer answered. 5 of 5",
    ]


def test_a_concluded_talk_says_whose_answers_it_still_waits_for() -> None:
    played = begin_advice().play_to_round(1)
    played.add_events(played.answer(played.pending_calls()[0]), TalkConcluded())

    assert describe_work(build_progress(played.debate)) == "Concluding: waiting for Advisor 2 (beta/b)"
    assert build_progress(played.play().debate).phase == ""


@pytest.mark.requirement("N22")
def test_a_report_names_what_holds_a_debate_up() -> None:
    nobody, ada = (Progress(frozenset(), frozenset(), asked, 6) for asked in ((), ("Ada",)))

    assert describe_progress(nobody, None, "Loading litellm") == "Loading litellm. 0 of 6"
    assert describe_progress(ada, nobody, "Loading litellm") == "Loading litellm. 0 of 6"


@pytest.mark.parametrize("format_name", ARGUED_FORMATS)
def test_a_debate_of_any_format_takes_as_many_answers_as_expected(format_name: str) -> None:
    at = simulate(build_setup(format=format_name, debaters=build_debaters(3)))
    reports = [build_progress(at.debate)]
    while at.step():
        reports.append(build_progress(at.debate))

    done = [report.done for report in reports]
    assert done == sorted(done)
    assert {report.expected for report in reports} == {done[-1]}
    assert reports[-1].asked == ()


def test_a_failed_answer_is_over_when_nobody_is_asked_for_it_again() -> None:
    def stay_silent(call: Call) -> ScriptAnswer:
        return "" if call.seat == "Speaker 1" else default_script(call)

    at = simulate(build_setup(debaters=build_debaters(2)), stay_silent).play_to_round(1)
    at.add_events(at.answer(at.pending_calls()[0]))
    repeated = build_progress(at.debate)
    at.play()

    assert (repeated.done, repeated.asked) == (0, ("Speaker 1", "Speaker 2"))
    assert {key[:2] for key in build_progress(at.debate).failed} == {(1, "Speaker 1")}
    assert (1, "Speaker 2", 0) in build_progress(at.debate).answered
