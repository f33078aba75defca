"""Breakpoints: a debate stops before what they wait for, can be steered there, and goes on past them."""

from typing import Any

import pytest

from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import Concluded, Paused
from server.debate.facts.setup.limits import Breakpoint
from server.debate.machine.decide import Record, decide
from server.debate.records.bounds import MAX_REASON_LENGTH
from server.debate.rules.budget import ElapsedTime
from server.debate.rules.calls import Call
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    Script,
    ScriptAnswer,
    build_ballot,
    build_debaters,
    build_setup,
    default_script,
    judge_script,
    render_finding,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("D23")

LOST = ProviderFailure("unavailable", "the provider is down")


def begin(*pause_when: str, script: Script = default_script, **fields: Any) -> DebateSimulation:
    """A debate with these breakpoints, played until it stops."""
    options = {"pause_when": pause_when, **fields.pop("options", {})}
    return simulate(build_setup(**{"max_rounds": 2, **fields, "options": options}), script).play()


def resume(at: DebateSimulation) -> DebateSimulation:
    at.intervene("resume")
    return at.play()


def stop(at: DebateSimulation) -> tuple[str, int]:
    """The breakpoints that stopped it, and the round it is in."""
    paused = at.debate.paused
    assert paused
    assert paused.cause == "pause_when"
    assert paused.reason.startswith(f"pause_when {', '.join(map(str, paused.breakpoints))}: ")
    return ", ".join(map(str, paused.breakpoints)), at.debate.round


def failing(seat: str, times: int, *, in_round: int = 0) -> Script:
    """The seat's first calls fail, in one round or any."""
    left = [times]

    def script(call: Call) -> ScriptAnswer:
        if call.seat == seat and call.round == (in_round or call.round) and left[0]:
            left[0] -= 1
            return LOST
        return default_script(call)

    return script


FORMATS = [("advocates", 2), ("verdict", 2), ("settle", 2), ("oxford", 3), ("full", 7), ("round_robin", 2)]


@pytest.mark.parametrize(("name", "last"), FORMATS)
def test_before_the_verdict_nobody_who_decides_was_asked_and_resuming_decides(name: str, last: int) -> None:
    at = begin("verdict", format=name, debaters=build_debaters(3), max_rounds=6 if name == "full" else 2)

    assert stop(at) == ("verdict", last)
    assert not at.debate.judgments
    assert at.debate.verdict is None
    assert at.debate.deliverable is None
    assert resume(at).status == "concluded"


def test_before_the_verdict_the_talk_can_be_steered_and_lengthened() -> None:
    at = begin("verdict")
    at.intervene("inject", text="Mind the costs.")
    at.intervene("extend", rounds=1)
    resume(at)

    assert stop(at) == ("verdict", 3)  # there is something new to read
    assert [turn.round for turn in at.debate.turns] == [1, 1, 2, 2, 3, 3]
    assert "Mind the costs." in at.prompts("Opponent")[-1]
    assert resume(at).status == "concluded"


def test_the_last_private_ballots_are_given_before_the_verdict_is_waited_for() -> None:
    at = begin("verdict", format="settle", options={"ballots": "blind"})
    assert stop(at)[0] == "verdict"
    assert [ballot.seat for ballot in at.debate.ballots if ballot.wave == "final"] == [*at.debate.names]


def test_who_concludes_a_paused_debate_has_passed_its_breakpoint() -> None:
    at = begin("verdict")
    at.intervene("conclude")
    assert at.play().status == "concluded"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_before_a_round_nothing_of_it_has_happened(number: int) -> None:
    at = begin(f"round:{number}")

    assert stop(at) == (f"round:{number}", number - 1)
    assert resume(at).status == "concluded"


def test_breakpoints_that_hold_at_one_place_stop_it_once() -> None:
    at = begin("round:3", "verdict", "round:3")
    assert stop(at) == ("round:3, verdict", 2)
    assert resume(at).status == "concluded"


def test_a_failure_stops_before_anything_else_is_asked_and_names_the_seat() -> None:
    at = begin("failure", script=failing("Proponent", 1, in_round=2))

    assert stop(at) == ("failure", 2)
    assert at.debate.paused
    assert at.debate.paused.seats == ("Proponent",)
    assert "Proponent: the provider is down" in at.debate.paused.reason
    assert resume(at).status == "concluded"
    assert [turn.seat for turn in at.debate.round_turns(2)] == [*at.debate.rounds[1].order]


def test_every_round_in_which_a_seat_fails_is_a_failure_of_its_own() -> None:
    at = begin("failure", script=failing("Speaker 1", 99), debaters=build_debaters(3))
    assert [stop(at), stop(resume(at)), resume(at).status] == [("failure", 1), ("failure", 2), "concluded"]


def test_a_bad_reply_that_is_repaired_and_a_fallback_that_answers_are_no_failures() -> None:
    repaired = begin("failure", script=lambda call: " " if call.attempt == 1 else default_script(call))
    assert repaired.status == "concluded"
    replaced = begin(
        "failure",
        script=lambda call: LOST if call.model == "scripted" else default_script(call),
        options={"fallback_models": ["other"]},
    )
    assert replaced.status == "concluded"


SPLIT: dict[tuple[str, int], ScriptAnswer] = {
    (f"judge {number}", reading): render_finding(winner)
    for number, winner in ((1, "A"), (2, "B"))
    for reading in (1, 2)
}


def test_a_contested_vote_stops_before_it_is_recorded_and_weights_still_count() -> None:
    judges = {"judges": {"count": 2, "models": ["vendor/a", "other/b"]}}
    at = begin("contested", script=judge_script(SPLIT), options=judges)

    assert stop(at) == ("contested", 3)
    assert at.debate.verdict is None
    at.intervene("weights", weights={"judge 1": "9"})
    resume(at)
    assert at.debate.verdict
    assert (at.debate.verdict.outcome, at.debate.verdict.winner) == ("leaning", "Proponent")


def test_a_vote_that_stays_contested_is_recorded_when_resumed_and_others_stop_nothing() -> None:
    judges = {"judges": {"count": 2, "models": ["vendor/a", "other/b"]}}
    at = resume(begin("contested", script=judge_script(SPLIT), options=judges))
    assert [e.outcome for e in at.events if isinstance(e, Concluded)] == ["contested"]
    assert begin("contested").status == "concluded"


def test_a_contested_vote_in_a_block_stops_before_the_next_pass() -> None:
    phases = [
        {"name": "argumentation"},
        {"name": "voting", "repeat_from": "argumentation", "until": "consensus", "limit": 2},
    ]
    split = task_script({"ballot": lambda call: build_ballot("A" if call.seat == "Proponent" else "B", "x")})
    at = begin("contested", script=split, options={"phases": phases}, max_rounds=0)

    assert stop(at) == ("contested", 2)
    assert stop(resume(at)) == ("contested", 4)
    assert resume(at).status == "concluded"


def test_a_reason_has_its_bound_however_many_fail_with_however_much_to_say() -> None:
    names = [{"name": letter * 40, "stance": letter} for letter in "abcdefghijklmnopqrstuvwxyz"]

    def script(call: Call) -> ScriptAnswer:
        lost = ProviderFailure("unavailable", f"the {call.seat[0]} is down " * 60)
        return default_script(call) if call.seat[0] in "ab" else lost

    at = begin("failure", "unheard", "verdict", script=script, debaters=names, max_rounds=1)

    assert stop(at) == ("failure, unheard", 1)
    assert at.debate.paused
    assert len(at.debate.paused.reason) < MAX_REASON_LENGTH
    assert stop(resume(at)) == ("verdict", 1)


def test_who_was_never_heard_stops_once_with_its_own_reason() -> None:
    at = begin("unheard", script=failing("Speaker 2", 99), debaters=build_debaters(3))

    assert stop(at) == ("unheard", 1)
    assert at.debate.paused
    assert "never heard: Speaker 2" in at.debate.paused.reason
    assert resume(at).status == "concluded"


def test_whom_the_moderator_never_called_on_is_unheard_before_the_verdict() -> None:
    plan = {"next_speakers": ["A"], "briefing": None, "new_angle": None, "done": False}
    options = {"moderator": {"opens": True}}
    at = begin("unheard", format="verdict", script=task_script({"opening": plan}), options=options)

    assert stop(at) == ("unheard", 2)
    assert at.debate.paused
    assert at.debate.paused.seats == ("Opponent",)
    assert resume(at).status == "concluded"


def test_a_share_of_a_limit_is_not_passed_unasked() -> None:
    at = begin("budget:0.5", options={"limits": {"max_calls": 10}})  # 2 + 2 + 2

    assert stop(at) == ("budget:0.5", 3)
    assert at.debate.paused
    assert "4 of 10 calls spent, and 2 calls to come" in at.debate.paused.reason
    at.intervene("extend", limits={"max_calls": 11})
    assert resume(at).status == "concluded"  # more would have been needed, but it was resumed all the same


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_input_tokens": 300_000}, "input tokens"),
        ({"max_output_tokens": 100_000}, "output tokens"),
        ({"max_seconds": 100}, "seconds"),
    ],
)
def test_every_limit_has_its_share(limits: dict[str, int], said: str) -> None:
    setup = build_setup(options={"pause_when": ["budget:0.001"], "limits": limits})
    step = decide(simulate(setup).play_to_round(1).debate, elapsed=ElapsedTime(1.0))

    assert isinstance(step, Record)
    [paused] = step.events
    assert isinstance(paused, Paused)
    assert f"{said} spent" in paused.reason


@pytest.mark.parametrize(
    "text", ["verdict", "failure", "contested", "unheard", "round:1", "round:12", "budget:0.8", "budget:1"]
)
def test_what_callers_write_is_what_they_are_shown(text: str) -> None:
    assert str(Breakpoint.parse(f" {text} ")) == text


NO_BREAKPOINTS = (
    *("", "end", "Verdict", "verdict:1", "round", "round:0", "round:x", "round:-1", "round:1.5", "round:²"),
    *("budget", "budget:0", "budget:0.0", "budget:2", "budget:80%", "budget:1e-3"),
)


@pytest.mark.parametrize("text", NO_BREAKPOINTS)
def test_what_is_no_breakpoint_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a breakpoint: verdict, failure, contested, unheard, round:N"):
        Breakpoint.parse(text)


def test_a_share_of_no_limit_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match=r"budget:0.8 needs a limit"):
        begin("verdict", "budget:0.8")


def test_a_fork_stops_where_its_parent_does_or_where_it_is_told_to() -> None:
    at = begin("round:2", "verdict")
    resume(at)
    assert stop(at.fork(1).play()) == ("round:2, verdict"[:7], 1)
    assert stop(at.fork(1, pause_when=["verdict"]).play()) == ("verdict", 2)
    assert at.fork(1, pause_when=[]).play().status == "concluded"
    with pytest.raises(InvalidRequestError, match="needs a limit"):
        at.fork(1, pause_when=["budget:0.5"])


def test_a_pause_whose_breakpoints_are_not_its_cause_is_impossible() -> None:
    at = begin("verdict")
    point = at.debate.setup.pause_when
    resume(at)
    fresh = simulate(build_setup())
    impossible = (
        Paused(reason="x", breakpoints=point),
        Paused(reason="x", cause="pause_when"),
        Paused(reason="x", cause="pause_when", breakpoints=point, seats=("Nobody",)),
    )
    for event in impossible:
        with pytest.raises(IllegalEvent):
            fresh.add_events(event)
