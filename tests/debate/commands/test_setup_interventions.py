"""What somebody who watches a debate can change about it: rounds, weights, models, what stands."""

from typing import Any

import pytest

from server.debate.facts.causes import FailureCause
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import Resumed
from server.debate.facts.interventions import ModelReplaced, TurnRetracted
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.registry import build_intervention
from server.debate.machine.render import render
from server.debate.machine.transitions import apply
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import judge_seats
from server.debate.state.seats import current_model
from server.debate.views.events import build_interventions
from server.debate.views.markdown import render_transcript
from server.debate.views.state import build_state, visible_turns
from server.debate.views.verdict import build_verdict
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_setup,
    default_script,
    render_finding,
    render_prompt_text,
    simulate,
)

pytestmark = pytest.mark.requirement("D4")


def refused(at: DebateSimulation, action: str, **wish: Any) -> str:
    with pytest.raises(InvalidRequestError) as why:
        build_intervention(at.debate, action, InterventionRequest(**wish))
    return str(why.value)


def judges_find(*letters: str | None) -> Any:
    """A script whose judges find for these, in their order."""

    def script(call: Call) -> ScriptAnswer:
        if call.task != "judgment":
            return default_script(call)
        return render_finding(letters[int(call.seat.removeprefix("judge ")) - 1])

    return script


def failing(cause: FailureCause, **which: str) -> Any:
    """A script in which the calls with these attributes fail."""

    def script(call: Call) -> ScriptAnswer:
        fails = all(getattr(call, name) == value for name, value in which.items())
        return ProviderFailure(cause) if fails else default_script(call)

    return script


def last_prompt(at: DebateSimulation, seat: str) -> str:
    return at.prompts(seat)[-1]


class TestMoreRounds:
    def test_a_debate_goes_on_for_as_many_rounds_more(self) -> None:
        at = simulate(build_setup(max_rounds=2)).play_through_round(1)
        assert "2 rounds more, 4 in all" in at.intervene("extend", rounds=2)
        at.play()
        assert [entered.phase for entered in at.debate.rounds] == ["opening", *["rebuttal"] * 3, "verdict"]
        assert build_state(at.stored())["max_rounds"] == 4

    def test_in_the_last_round_it_still_counts(self) -> None:
        at = simulate(build_setup(max_rounds=1)).play_to_round(1)
        at.intervene("extend", rounds=1)
        assert at.play().debate.talk_round_count == 2

    def test_a_round_of_hand_offs_is_a_turn_more(self) -> None:
        opened = build_setup(format="handoff", options={"limits": {"max_turns": 3}})
        at = simulate(opened).play_through_round(1)
        at.intervene("extend", rounds=2)
        assert len(at.play().debate.turns) == 5

    def test_a_talk_that_is_over_cannot_be_extended(self) -> None:
        assert "The talk is over" in refused(simulate().play_to_round(3), "extend", rounds=1)

    @pytest.mark.parametrize("rounds", [0, 21])
    def test_by_how_much_has_bounds(self, rounds: int) -> None:
        assert "1 to 20" in refused(simulate().play_to_round(1), "extend", rounds=rounds)

    def test_phases_that_do_not_repeat_take_no_more_rounds(self) -> None:
        at = simulate(build_setup(options={"phases": ["opening", "rebuttal", "verdict"]})).play_to_round(1)
        assert "No phase" in refused(at, "extend", rounds=1)
        past = simulate(build_setup(format="full")).play_to_round(4)
        assert "No phase" in refused(past, "extend", rounds=1)


class TestWeightsAndThreshold:
    def test_a_judge_who_counts_double_outweighs_another(self) -> None:
        opened = build_setup(options={"judges": {"count": 2, "both_orders": False}})
        assert simulate(opened, judges_find("A1", "B1")).play().debate.verdict.outcome == "contested"  # type: ignore[union-attr]
        at = simulate(opened, judges_find("A1", "B1")).play_through_round(1)
        at.intervene("weights", weights={"judge 1": "2"})
        found = build_verdict(at.play().debate)
        assert (found.outcome, found.winner) == ("leaning", "Proponent")
        assert found.votes[0] == "judge 1 (scripted): Proponent, margin 2 of 3, weight 2"

    def test_a_threshold_of_two_thirds_is_exact(self) -> None:
        opened = build_setup(options={"judges": {"count": 3, "both_orders": False}})
        for share, outcome in (("2/3", "leaning"), ("0.67", "contested")):
            at = simulate(opened, judges_find("A1", "A1", "B1")).play_through_round(1)
            at.intervene("threshold", threshold=share)
            assert build_verdict(at.play().debate).outcome == outcome

    def test_below_a_half_the_position_must_still_be_ahead_alone(self) -> None:
        opened = build_setup(
            debaters=build_debaters(3), options={"judges": {"count": 2, "both_orders": False}}
        )
        at = simulate(opened, judges_find("A1", "B1")).play_through_round(1)
        at.intervene("threshold", threshold="1/3")
        assert build_verdict(at.play().debate).outcome == "contested"

    @pytest.mark.parametrize(
        ("weights", "why"),
        [
            ({}, "Say in `weights`"),
            ({"Nobody": "1"}, "Nobody here is called 'Nobody'. Voters: judge 1."),
            ({"judge 1": "0"}, "no fraction above 0"),
            ({"judge 1": "-1"}, "no fraction above 0"),
            ({"judge 1": "heavy"}, "no fraction above 0"),
            ({"judge 1": "1001"}, "at most 1000"),
            ({"judge 1": "1/0"}, "no fraction"),
            ({"judge 1": "1e999999999"}, "no fraction"),
            ({"judge 1": "1" * 30}, "no fraction"),
        ],
    )
    def test_what_is_no_weight_is_refused(self, weights: dict[str, str], why: str) -> None:
        assert why in refused(simulate().play_to_round(1), "weights", weights=weights)

    def test_only_votes_that_make_the_verdict_can_be_weighed(self) -> None:
        assert "Voters: judge 1." in refused(simulate().play_to_round(1), "weights", weights={"Opponent": 2})
        moderated = simulate(build_setup(format="settle")).play_to_round(1)
        assert "No votes are counted" in refused(moderated, "weights", weights={"Opponent": 2})
        assert "No votes are counted" in refused(moderated, "threshold", threshold="2/3")

    def test_votes_that_were_counted_are_weighed_no_more(self) -> None:
        at = simulate(build_setup(options={"synthesizer": True})).play_to_round(4)
        assert at.debate.verdict
        assert "the votes were counted" in refused(at, "weights", weights={"judge 1": 2})
        assert "the votes were counted" in refused(at, "threshold", threshold="2/3")

    def test_what_is_no_threshold_is_refused(self) -> None:
        assert "at most 1" in refused(simulate().play_to_round(1), "threshold", threshold="3/2")


class TestAnotherModel:
    def test_a_seat_is_asked_of_its_new_model_from_the_next_question_on(self) -> None:
        at = simulate().play_through_round(1)
        assert "next question" in at.intervene("replace_model", to="Opponent", model="vendor/new")
        at.play_to_round(2)
        assert {call.seat: call.model for call in at.pending_calls()} == {
            "Proponent": "scripted",
            "Opponent": "vendor/new",
        }

    def test_a_seat_that_failed_in_this_round_is_asked_again(self) -> None:
        at = simulate(script=failing("unauthorized", model="scripted")).play()
        assert at.status == "paused"
        at.intervene("replace_model", to="Opponent", model="vendor/new")
        at.intervene("replace_model", to="Proponent", model="vendor/new")
        at.add_events(Resumed())
        assert {(call.seat, call.model, call.attempt) for call in at.pending_calls()} == {
            ("Proponent", "vendor/new", 1),
            ("Opponent", "vendor/new", 1),
        }

    def test_a_seat_and_a_model_have_to_be_named(self) -> None:
        assert "Seats: Proponent, Opponent, judge 1" in refused(
            simulate(), "replace_model", to="x", model="m"
        )
        assert "Name in `model`" in refused(simulate(), "replace_model", to="Opponent", model=" ")


@pytest.mark.requirement("D3")
class TestFallbackModels:
    def test_a_seat_whose_model_fails_is_asked_of_the_next_one_and_stays_with_it(self) -> None:
        opened = build_setup(models=["a/dead", "b/alive"], options={"fallback_models": ["c/spare"]})
        at = simulate(opened, failing("unavailable", model="a/dead")).play()
        assert at.status == "concluded"
        asked = [(call.round, call.model) for call, _ in at.calls_made if call.seat == "Proponent"]
        assert asked == [(1, "a/dead"), (1, "c/spare"), (2, "c/spare")]
        cautions = " ".join(build_verdict(at.debate).cautions)
        assert "2 of 3 models answered: a/dead could not be reached 1 time." in cautions

    def test_two_bad_replies_are_a_failure_of_the_model_too(self) -> None:
        opened = build_setup(models=["a/mute", "b/alive"], options={"fallback_models": ["c/spare"]})
        at = simulate(opened, lambda c: "" if c.model == "a/mute" else default_script(c)).play_through_round(
            1
        )
        asked = [(call.model, call.attempt) for call, _ in at.calls_made if call.seat == "Proponent"]
        assert asked == [("a/mute", 1), ("a/mute", 2), ("c/spare", 1)]

    def test_a_seat_gives_up_when_nobody_is_left_to_ask(self) -> None:
        opened = build_setup(options={"fallback_models": ["x/one", "x/two"]})
        at = simulate(opened, failing("timeout", seat="Opponent")).play()
        asked = [call.model for call, _ in at.calls_made if call.seat == "Opponent"]
        assert asked == ["scripted", "x/one", "x/two"]
        assert at.status == "paused"

    def test_when_the_cause_is_gone_the_first_model_has_its_turn_again(self) -> None:
        opened = build_setup(options={"fallback_models": ["x/one"]})
        at = simulate(opened, failing("timeout", seat="Opponent")).play()
        at.add_events(Resumed())
        assert [(call.seat, call.model) for call in pending_calls(at.debate)] == [("Opponent", "scripted")]

    def test_nobody_stands_in_for_the_caller(self) -> None:
        opened = build_setup(models=["caller"], options={"fallback_models": ["x/one"]})
        assert {call.model for call in pending_calls(simulate(opened).play_to_round(1).debate)} == {"caller"}


class TestChallenges:
    def test_a_challenge_stands_in_the_record_for_all_to_see_whoever_has_to_answer_it(self) -> None:
        at = simulate().play_through_round(1)
        assert "Opponent is to answer it" in at.intervene("challenge", text="Name one case.", to="Opponent")
        at.play_to_round(2).step()
        for seat in ("Proponent", "Opponent"):
            assert "[challenge to B1, to be answered]\n> Name one case." in last_prompt(at, seat)
        assert "### Challenge to Opponent" in render_transcript(at.debate, at.log)


class TestRetractions:
    def test_a_retracted_turn_is_in_no_prompt_from_then_on_and_in_the_record_for_ever(self) -> None:
        at = simulate(
            script=lambda c: render_finding() if c.task == "judgment" else f"{c.seat} lies."
        ).play_through_round(1)
        assert "struck through" in at.intervene("retract", to="Opponent", round=1, reason="it made that up")
        at.play()
        for call, prompt in at.calls_made:
            label = "A1" if call.reading == 2 else "B1"
            assert (call.round == 1) or f"[{label}: retracted]" in render_prompt_text(prompt)
            assert "> Opponent lies." not in render_prompt_text(prompt).partition("# Round 2")[0]
        assert "retracted\n\n> ~~Opponent lies.~~" in render_transcript(at.debate, at.log)
        assert [turn.retracted for turn in visible_turns(at.debate) if turn.round == 1].count(True) == 1

    def test_nobody_is_told_to_answer_it(self) -> None:
        at = simulate(
            build_setup(format="verdict"),
            lambda c: render_finding() if c.task == "judgment" else f"{c.seat} says.",
        )
        at.play_through_round(1)
        at.intervene("retract", to="Opponent", round=1)
        at.play_to_round(2).step()
        assert at.calls_made[-1][1].summary.opponent_text == ""

    def test_each_turn_is_retracted_once(self) -> None:
        at = simulate().play_through_round(1)
        at.intervene("retract", to="Opponent", round=1)
        assert "it spoke in round 1" in refused(at, "retract", to="Opponent", round=1)

    def test_votes_on_a_turn_that_is_retracted_meanwhile_are_paid_for_and_asked_for_again(self) -> None:
        at = simulate(build_setup(options={"judges": {"count": 2}})).play_to_round(3)
        first, second, *_ = at.pending_calls()
        late = at.answer(second)
        at.add_events(at.answer(first))
        at.intervene("retract", to="Opponent", round=1)
        at.add_events(late)
        assert (at.debate.judgments, len(at.debate.superseded), len(at.debate.usage)) == ((), 2, 6)
        assert [call.seat for call in at.pending_calls()] == ["judge 1", "judge 2"]
        assert at.play().status == "concluded"

    def test_what_was_not_said_cannot_be_retracted(self) -> None:
        assert "no turn of 'Nobody' in round 1" in refused(
            simulate().play_through_round(1), "retract", to="Nobody", round=1
        )

    def test_a_verdict_that_rests_on_it_is_not_undone(self) -> None:
        opened = build_setup(options={"output_schema": {}})
        at = simulate(opened, failing("timeout", task="deliverable")).play()
        assert at.debate.verdict
        assert "The verdict was made with that turn" in refused(at, "retract", to="Opponent", round=1)


def test_who_did_what_and_what_is_in_force_can_be_read() -> None:
    at = simulate().play_through_round(1)
    at.intervene("extend", rounds=1, reason="more")
    at.intervene("weights", weights={"judge 1": "3/2"})
    at.intervene("threshold", threshold="2/3")
    at.intervene("replace_model", to="Opponent", model="x/new")
    at.intervene("retract", to="Opponent", round=1)
    at.intervene("challenge", text="Why?")
    found = build_interventions(at.stored())
    assert found["settings"] | {"actions": (), "limits": {}} == {
        "limits": {},
        "paused": False,
        "pause_when": [],
        "concluding": False,
        "max_rounds": 3,
        "weights": {"judge 1": "3/2"},
        "threshold": "2/3",
        "voting": None,
        "models": {"Proponent": "scripted", "Opponent": "x/new", "judge 1": "scripted"},
        "retracted": [{"seat": "Opponent", "round": 1}],
        "actions": (),
    }
    assert [(row["action"], row["text"]) for row in found["log"]] == [
        ("extend", "1 round more"),
        ("weights", "judge 1: 3/2"),
        ("threshold", "2/3"),
        ("replace_model", "x/new"),
        ("retract", "the turn of round 1"),
        ("challenge", "Why?"),
    ]
    assert found["log"][0]["reason"] == "more"


def test_a_retraction_of_what_was_never_said_is_no_event_of_this_debate() -> None:
    at = simulate().play_through_round(1)
    for event in (
        TurnRetracted(seat="Opponent", turn_round=1, slot_index=5),
        ModelReplaced(seat="Nobody", model="x/new"),
    ):
        with pytest.raises(IllegalEvent):
            apply(at.debate, event)


def test_a_retracted_message_is_not_shown_to_who_answers_it() -> None:
    opened = build_setup(options={"phases": ["opening", "cross_examination", "verdict"]})
    at = simulate(opened).play_to_round(2)
    at.add_events(*(at.answer(call) for call in at.pending_calls()))
    asker = at.debate.round_turns(2)[0]
    at.intervene("retract", to=asker.seat, round=2)
    (prompt,) = (
        render_prompt_text(render(at.debate, call)) for call in at.pending_calls() if call.seat == asker.to
    )
    assert asker.text not in prompt
    assert "It was retracted" in prompt
    assert at.play().status == "concluded"


def test_a_fork_seats_the_moderator_it_asks_for_where_another_was_seated_on_the_way() -> None:
    at = simulate(build_setup(format="settle")).play_to_round(1)
    at.intervene("replace_model", to="moderator", model="vendor/new")
    at.play_through_round(1)
    assert current_model(at.fork(1).debate, "moderator") == "vendor/new"
    assert current_model(at.fork(1, moderator="vendor/other").debate, "moderator") == "vendor/other"


def test_a_fork_with_fewer_judges_forgets_the_model_of_one_who_left() -> None:
    at = simulate(build_setup(options={"judges": {"count": 2}})).play_through_round(1)
    at.intervene("replace_model", to="judge 2", model="vendor/new")
    child = at.fork(1, judges={"count": 1}).debate
    assert (judge_seats(child.setup), child.round) == (("judge 1",), 1)


def test_a_fork_takes_over_no_outcome() -> None:
    at = simulate().play()
    at.intervene("outcome", to="Proponent")
    assert at.debate.outcome
    assert at.fork(1).debate.outcome is None
