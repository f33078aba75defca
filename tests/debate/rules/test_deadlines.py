"""How long a round and a debate may take: who is late is left out, and it is said."""

from typing import Any

import pytest

from server.debate.commands.setup.open import open_debate
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Failed
from server.debate.facts.interventions import InterventionFact
from server.debate.machine.decide import Ask, Record, decide
from server.debate.replies.extract import build_failure
from server.debate.rules.budget import UNBOUNDED, ElapsedTime, compute_remaining
from server.debate.rules.calls import Call
from server.debate.views.state import status_reason
from server.debate.views.verdict import build_verdict
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_request,
    build_setup,
    default_script,
    simulate,
)

pytestmark = pytest.mark.requirement("D3")


def hurried(**other: Any) -> DebateSimulation:
    """A debate whose rounds have 60 seconds."""
    return simulate(
        build_setup(options={"limits": {"round_timeout": 60}, **other.pop("options", {})}, **other)
    )


def late(at: DebateSimulation, seconds: float = 60) -> tuple[Failed, ...]:
    """Who is left out when the round is so old."""
    step = decide(at.debate, elapsed=ElapsedTime(round_seconds=seconds))
    assert isinstance(step, Record)
    at.add_events(*step.events)
    return tuple(event for event in step.events if isinstance(event, Failed))


def left(at: DebateSimulation, elapsed: ElapsedTime) -> tuple[float, str]:
    step = decide(at.debate, elapsed=elapsed)
    assert isinstance(step, Ask)
    return step.deadline.seconds_left, step.deadline.description


class TestRounds:
    def test_answers_have_what_is_left_of_the_round(self) -> None:
        assert left(hurried().play_to_round(1), ElapsedTime(round_seconds=12.5)) == (
            47.5,
            "60 s of the round",
        )

    def test_nobody_is_asked_who_could_not_finish(self) -> None:
        at = hurried().play_to_round(1)
        assert left(at, ElapsedTime(round_seconds=59.75)) == (0.25, "60 s of the round")
        assert len(late(at, 59.875)) == 2

    def test_who_was_not_asked_in_time_is_not_asked_and_costs_nothing(self) -> None:
        at = hurried(format="verdict", debaters=build_debaters(3)).play_to_round(1)
        for _ in range(2):
            at.add_events(at.answer(at.pending_calls()[0]))
        (failure,) = late(at)
        assert (failure.seat, failure.cause, failure.attempts) == ("Speaker 3", "late", 0)
        assert failure.detail == "not asked: the 60 s of the round were over"
        assert at.play_on().status == "concluded"
        assert len(at.debate.turns) == 6
        # It was asked once more when the debate went on: what came in the end is no loss.
        assert not any("answer failed" in caution for caution in build_verdict(at.debate).cautions)

    def test_who_is_late_is_left_to_no_fallback_and_asked_again_in_the_next_round(self) -> None:
        options = {"fallback_models": ["other/model"]}
        at = hurried(debaters=build_debaters(3), max_rounds=3, options=options).play_to_round(2)
        first, *others = at.pending_calls()
        at.add_events(build_failure(first, "late", "scripted had not answered"), *map(at.answer, others))
        assert not at.pending_calls()
        at.play_to_round(3)
        assert [call.model for call in at.pending_calls()] == ["scripted"] * 3

    def test_judges_who_are_late_are_asked_again_when_the_debate_is_resumed(self) -> None:
        at = hurried().play_to_round(3)
        assert len(late(at)) == 2
        at.play()
        assert at.status == "paused"
        at.intervene("resume")
        assert at.play().status == "concluded"

    def test_the_limit_can_be_changed_on_the_way(self) -> None:
        at = hurried().play_to_round(1)
        at.intervene("extend", limits={"round_timeout": 90})
        assert left(at, ElapsedTime(round_seconds=60)) == (30, "90 s of the round")


class TestDebates:
    def limited(self, **limits: Any) -> DebateSimulation:
        return simulate(build_setup(options={"limits": {"max_seconds": 100, **limits}}))

    def test_the_talk_leaves_a_fifth_of_the_time_to_those_who_decide(self) -> None:
        at = self.limited().play_to_round(1)
        assert left(at, ElapsedTime()) == (80, "80 s of the talk")
        assert left(at, ElapsedTime(debate_seconds=70)) == (10, "80 s of the talk")
        at.play_to_round(3)
        assert left(at, ElapsedTime(debate_seconds=70)) == (30, "100 s of the debate")

    def test_the_nearer_end_counts(self) -> None:
        at = self.limited(round_timeout=20).play_to_round(1)
        assert left(at, ElapsedTime(debate_seconds=70, round_seconds=3)) == (10, "80 s of the talk")
        assert left(at, ElapsedTime(debate_seconds=30, round_seconds=3)) == (17, "20 s of the round")

    def too_late(self, at: DebateSimulation, elapsed: ElapsedTime) -> DebateSimulation:
        """Everybody who is asked has not answered when the time is over."""
        for call in at.pending_calls():
            at.add_events(build_failure(call, "late", "the time was over"))
        step = decide(at.debate, elapsed=elapsed)
        assert isinstance(step, Record)
        return at.add_events(*step.events)

    def test_a_talk_that_runs_out_of_time_is_judged_on_what_was_said(self) -> None:
        at = self.too_late(self.limited().play_to_round(2), ElapsedTime(debate_seconds=80))
        assert isinstance(at.events[-1], InterventionFact)
        assert at.play().status == "concluded"
        assert status_reason(at.debate) == "budget: 80 of 100 seconds spent"

    def test_time_in_which_nobody_could_finish_is_spent(self) -> None:
        at = self.limited().play_to_round(2)
        assert compute_remaining(at.debate, ElapsedTime(debate_seconds=79.75)).calls == UNBOUNDED
        assert compute_remaining(at.debate, ElapsedTime(debate_seconds=79.875)).calls == 0

    def test_before_anything_was_said_it_is_cut_short(self) -> None:
        at = self.too_late(self.limited().play_to_round(1), ElapsedTime(debate_seconds=80))
        assert (at.status, status_reason(at.debate)) == ("truncated", "budget: 80 of 100 seconds spent")

    def test_it_may_pause_instead(self) -> None:
        at = self.too_late(self.limited(on_budget="pause").play_to_round(3), ElapsedTime(debate_seconds=100))
        told = "budget: 100 of 100 seconds spent. Extend the limits."
        assert (at.status, status_reason(at.debate)) == ("paused", told)

    def test_a_debate_that_was_away_for_longer_is_not_thrown_away(self) -> None:
        at = self.limited().play_to_round(2)
        at.add_events(*(at.answer(call) for call in at.pending_calls()))
        for _ in range(3):
            step = decide(at.debate, elapsed=ElapsedTime(debate_seconds=4000))
            if isinstance(step, Record):
                at.add_events(*step.events)
        assert (at.status, status_reason(at.debate)) == (
            "paused",
            "budget: 4000 of 100 seconds spent. Extend the limits.",
        )

    def test_new_limits_that_leave_no_time_are_said_to(self) -> None:
        at = self.limited().play_to_round(3)
        told = at.intervene("extend", limits={"max_calls": 50}, elapsed=ElapsedTime(debate_seconds=400))
        assert told.startswith(
            "The new limits leave no room for another question (budget: 400 of 100 seconds"
        )


class TestQuorums:
    def failing(self, *seats: str) -> Any:
        def script(call: Call) -> ScriptAnswer:
            return ProviderFailure("timeout") if call.seat in seats else default_script(call)

        return script

    @pytest.mark.parametrize(("quorum", "status"), [(1, "concluded"), (2, "paused"), (3, "paused")])
    def test_a_round_needs_as_many_voices_as_were_agreed(self, quorum: int, status: str) -> None:
        opened = build_setup(debaters=build_debaters(3), options={"quorum": quorum})
        assert simulate(opened, self.failing("Speaker 1", "Speaker 3")).play_on().status == status

    @pytest.mark.parametrize(("quorum", "status"), [(1, "concluded"), (2, "concluded"), (3, "paused")])
    def test_a_judgment_needs_as_many_judges_as_were_agreed(self, quorum: int, status: str) -> None:
        opened = build_setup(options={"judges": {"count": 3, "quorum": quorum}})
        at = simulate(opened, self.failing("judge 2")).play()
        assert at.status == status
        if status == "paused":
            assert status_reason(at.debate).startswith(
                "2 of 3 answered in round 3 (verdict), 3 needed. judge"
            )

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"quorum": 3}, "options.quorum=3 can never be met: there are 2."),
            ({"judges": {"count": 2, "quorum": 3}}, "options.judges.quorum=3 can never be met: there are 2."),
        ],
    )
    def test_one_that_can_never_be_met_is_refused(self, options: dict[str, Any], why: str) -> None:
        with pytest.raises(InvalidRequestError) as refused:
            open_debate(build_request(options=options), models=["scripted"], seed=1)
        assert str(refused.value) == why
