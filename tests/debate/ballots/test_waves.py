"""Private ballots: when they are asked for, what of them is kept, and what the verdict says of who moved."""

from typing import Any

import pytest

from server.debate.ballots.waves import BLIND_BALLOT
from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.estimate import estimate
from server.debate.commands.setup.open import open_debate
from server.debate.facts.beliefs import Citation
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Balloted
from server.debate.facts.interventions import TurnRetracted
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import list_tasks
from server.debate.views.verdict import build_verdict
from tests.support.private_ballots import MODES, OPP, VOTING_FORMAT, P, count_waves, hold, waves
from tests.support.simulation import (
    ARGUED_FORMATS,
    ProviderFailure,
    build_ballot,
    build_request,
    build_setup,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("N1")

SIDES = [{"name": P, "stance": "ship"}, {"name": OPP, "stance": "wait"}]


@pytest.mark.parametrize(
    ("name", "mode"),
    [*((name, "rounds") for name in ARGUED_FORMATS), *(("verdict", mode) for mode in MODES[:2])],
)
def test_the_estimate_and_the_ballots_of_every_format_are_as_planned(name: str, mode: str) -> None:
    at = hold(mode, format=name)
    expected = estimate(at.debate).calls
    at.play()
    assert (at.status, len(at.calls_made)) == ("concluded", expected)
    voters = len(at.debate.names)
    between = at.debate.talk_round_count - 1
    found = count_waves(at)
    found.pop("vote", 0)
    final = 0 if name == VOTING_FORMAT else voters
    planned = {"blind": voters, "round": voters * between * (mode == "rounds"), "final": final}
    assert found == {wave: count for wave, count in planned.items() if count and mode != "none"}


def test_blind_ballots_and_openings_are_asked_for_at_once_and_the_last_ones_with_the_judges() -> None:
    at = hold().play_to_round(1)
    tasks = [(call.seat, call.task) for call in at.pending_calls()]
    assert tasks == [(P, "ballot"), (OPP, "ballot"), (P, "argument"), (OPP, "argument")]
    at.play_to_round(3)
    assert [call.task for call in at.pending_calls()] == ["judgment"] * 2 + ["ballot"] * 2


def test_a_failed_ballot_holds_nothing_up_and_costs_nobody_its_turn() -> None:
    """Bad replies are no reason for another model, which would then speak in the debater's place."""
    lost = task_script({"ballot": lambda c: "Hard to say." if c.seat == P else build_ballot("A1")})
    at = hold(script=lost, options={"fallback_models": ["spare"]}).play()
    assert at.status == "concluded"
    assert {turn.usage.model for turn in at.debate.turns} == {"scripted"}
    assert [ballot.seat for ballot in at.debate.ballots] == [OPP, OPP]
    failed = [task for task in list_tasks(at.debate) if task["state"] == "failed"]
    assert {(task["task"], task["seat"]) for task in failed} == {("ballot", P)}
    assert len(failed) == 4
    assert (
        build_verdict(at.debate).beliefs.before[0].startswith("Proponent 0.57 ")
    )  # a silent voter holds all alike

    down = task_script({"ballot": ProviderFailure("unavailable")})
    assert hold(script=down).play().status == "concluded"


def test_who_was_never_asked_to_speak_is_not_unheard_because_its_ballot_failed() -> None:
    lost = task_script(
        {
            "opening": {"next_speakers": ["A1"], "done": False},
            "ballot": lambda c: "?" if c.seat == OPP else build_ballot("A1"),
        }
    )
    at = hold(script=lost, format="verdict", options={"moderator": {"opens": True}}).play()
    assert at.status == "concluded"


def test_a_retracted_turn_takes_back_the_ballots_that_read_it_and_no_blind_one() -> None:
    options = {"stop": "off"}
    at = hold("rounds", max_rounds=3, options=options).play(lambda debate: len(debate.private_ballots) == 4)
    at.add_events(TurnRetracted(seat=P, turn_round=1, slot_index=0, round=1))
    assert waves(at) == [(1, "blind")]
    assert {call.task for call in at.pending_calls()} == {"ballot"}
    at.play()
    assert waves(at) == [(1, "blind"), (1, "round"), (2, "round"), (4, "final")]


def test_a_talk_that_is_concluded_is_followed_by_the_last_ballots() -> None:
    at = hold("rounds", format="settle", max_rounds=3).play(lambda debate: len(debate.turns) == 3)
    at.intervene("conclude")
    at.play()
    assert at.status == "concluded"
    assert waves(at) == [(1, "blind"), (1, "round"), (3, "final")]
    assert at.debate.rounds[-1].phase == "ballots"


def test_ballots_after_the_last_round_are_not_asked_for_twice() -> None:
    at = hold("rounds", format="settle", script=task_script({"closing": SETTLED}), max_rounds=3).play()
    assert waves(at) == [(1, "blind"), (1, "round")]
    assert [entered.phase for entered in at.debate.rounds] == ["argumentation"]
    at = hold("rounds", format="settle", script=task_script({"closing": SETTLED}), max_rounds=3)
    at.play(lambda debate: len(debate.private_ballots) == 4)
    at.add_events(TurnRetracted(seat=P, turn_round=1, slot_index=0, round=1)).play()
    assert waves(at) == [(1, "blind"), (1, "round")]


def test_no_ballots_follow_the_turns_of_a_round_that_uses_up_the_turns() -> None:
    at = hold("rounds", format="settle", max_rounds=3, options={"limits": {"max_turns": 4}}).play()
    assert waves(at) == [(1, "blind"), (1, "round"), (3, "final")]


SETTLED = {"summary": "Agreed.", "status": "SETTLED", "decision": "Buy."}


def test_a_fork_keeps_the_blind_ballots_of_the_rounds_that_it_inherits() -> None:
    at = hold().play()
    fork = at.fork(1).play()
    assert waves(fork) == [(1, "blind"), (3, "final")]
    assert [call.task for call, _ in fork.calls_made].count("ballot") == 2
    again = at.fork(0).play()
    assert [call.task for call, _ in again.calls_made].count("ballot") == 4
    restanced = at.fork(1, stances={P: "buy one"}).play()
    assert build_verdict(restanced.debate).beliefs.before == []


def test_a_budget_is_held_with_ballots_and_keeps_those_of_the_end_back() -> None:
    for limit in (7, 8, 9):
        options = {"ballots": "blind", "limits": {"max_calls": limit}}
        if limit < 8:  # four of round 1, and two readings and two ballots kept back
            with pytest.raises(InvalidRequestError, match="do not allow one round"):
                build_setup(options=options)
            continue
        at = simulate(build_setup(options=options)).play()
        assert at.status == "concluded"
        assert len(at.calls_made) <= limit
        assert count_waves(at) == {"blind": 2, "final": 2}


def test_a_ballot_says_which_wave_it_is_of_and_no_other() -> None:
    at = hold().play_to_round(1)
    event = at.answer(at.pending_calls()[0])
    assert isinstance(event, Balloted)
    with pytest.raises(Exception, match="another wave"):
        at.add_events(event.model_copy(update={"wave": "final"}))
    with pytest.raises(Exception, match="not asked for"):
        at.add_events(event.model_copy(update={"new_point": "Costs."}))
    event = at.play_to_round(3).answer(at.pending_calls()[-1])
    assert isinstance(event, Balloted)
    with pytest.raises(Exception, match="a turn that was never made"):
        at.add_events(event.model_copy(update={"moved_by": Citation(seat=P, round=3)}))


def test_what_needs_ballots_asks_for_them() -> None:
    request = build_request(format="verdict", options={"stop": "on"})
    wanted = request.model_copy(update={"options": request.options.model_copy(update={"ballots": None})})
    assert open_debate(wanted, models=["m"], seed=1).ballots == "blind"


@pytest.mark.parametrize(
    ("models", "asked", "expected"),
    [
        (["m"], {}, "blind"),
        (["m"], {"format": "verdict"}, "none"),
        (["local"], {}, "none"),
        (["local", "m"], {}, "blind"),
        (["local"], {"options": {"ballots": "blind"}}, "blind"),
    ],
)
def test_a_second_opinion_asks_for_blind_ballots_unless_no_model_can_give_one(
    models: list[str], asked: dict[str, Any], expected: str
) -> None:
    request = DebateRequest.model_validate({"question": "Ship it?", "debaters": SIDES, **asked})
    assert open_debate(request, models=models, seed=1).ballots == expected


@pytest.mark.requirement("N10")
@pytest.mark.parametrize(
    ("options", "calls", "expected"), [({}, 10, "blind"), ({}, 9, "none"), ({"ballots": "blind"}, 9, "blind")]
)
def test_limits_that_do_not_pay_for_ballots_pay_for_the_talk_unless_ballots_are_asked_for(
    options: dict[str, Any], calls: int, expected: str
) -> None:
    asked = {
        "question": "Ship it?",
        "debaters": SIDES,
        "options": {**options, "limits": {"max_calls": calls}},
    }
    setup = open_debate(DebateRequest.model_validate(asked), models=["m"], seed=1)
    assert setup.ballots == expected
    end = simulate(setup, task_script({})).play()
    assert end.debate.verdict is not None
    assert len(end.debate.turns) == (2 if expected == "blind" and calls < 10 else 4)


def test_ballots_that_are_not_asked_for_cannot_end_a_debate() -> None:
    request = build_request(format="verdict", options={"ballots": "none", "stop": "on"})
    with pytest.raises(InvalidRequestError, match="need private ballots"):
        open_debate(request, models=["m"], seed=1)


@pytest.mark.requirement("N4")
def test_a_debate_of_positions_is_not_skipped() -> None:
    request = build_request(format="verdict", options={"skip_if_agreed": True})
    with pytest.raises(InvalidRequestError, match="skip_if_agreed is for answers that models give apart"):
        open_debate(request, models=["m"], seed=1)


def test_the_verdict_says_who_moved_by_how_much_and_because_of_what() -> None:
    def ballot(call: Any) -> dict[str, Any]:
        if call.slot_index == BLIND_BALLOT:
            return build_ballot("A1" if call.seat == P else "B1", percent=70)
        return build_ballot("A1", percent=90) | {"moved_by": "A1 2"}

    at = hold(script=task_script({"ballot": ballot})).play()
    found = build_verdict(at.debate).beliefs
    assert found.before == ["Proponent 0.35 (1 vote)", "Opponent 0.35 (1 vote)", "none 0.30 (0 votes)"]
    assert found.after == ["Proponent 0.90 (2 votes)", "none 0.10 (0 votes)", "Opponent 0.00 (0 votes)"]
    assert found.moved == [
        "Proponent moved within Proponent by 0.20, because of Proponent, round 2",
        "Opponent moved from Opponent to Proponent by 0.90, because of Proponent, round 2",
    ]
    assert (found.against_public, found.changed) == ([OPP], "yes")
    shown = render_transcript(at.debate, at.log)
    assert '*Opponent is privately for Proponent (90%), moved by Proponent, round 2: "' in shown
    assert "- the talk changed what they hold likeliest: yes\n" in shown
    assert "- in private not for what they argued: Opponent\n" in shown


def test_a_vote_before_the_talk_says_what_voters_held_before() -> None:
    def ballot(call: Any) -> dict[str, Any]:
        return build_ballot("A1" if call.round == 1 else "B1")

    phases = ["voting", "opening", "voting"]
    found = build_verdict(
        hold("none", task_script({"ballot": ballot}), options={"phases": phases}).play().debate
    ).beliefs
    assert (found.before[0], found.after[0]) == ("Proponent 0.80 (2 votes)", "Opponent 0.80 (2 votes)")
    assert found.changed == "yes"


def test_another_model_that_answers_for_a_voter_is_no_change_of_mind() -> None:
    def ballot(call: Any) -> dict[str, Any]:
        return build_ballot("A1" if call.slot_index == BLIND_BALLOT else "B1")

    options = {"stop": "on"}
    at = hold("rounds", task_script({"ballot": ballot}), max_rounds=3, options=options).play_to_round(2)
    at.intervene("replace_model", to=P, model="vendor/new")
    at.play()
    moved = build_verdict(at.debate).beliefs.moved
    assert (
        moved[0] == "Proponent moved from Proponent to Opponent by 0.80, because of another model: vendor/new"
    )
    assert at.debate.talk_round_count == 3  # its movement is not known after round 2
