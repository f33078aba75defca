"""Turns that the caller writes: a debate waits for them, and takes what was asked for."""

from typing import Any

import pytest

from server.debate.commands.submit import MAX_SUBMISSION_LENGTH, build_submission
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Paused, Spoke
from server.debate.facts.setup.seats import CALLER
from server.debate.machine.decide import Wait, decide
from server.debate.views.markdown import render_transcript
from server.debate.views.state import build_state
from server.engine.database.repeats import find_repeated_turn
from tests.support.simulation import DebateSimulation, build_setup, render_finding, simulate

pytestmark = pytest.mark.requirement("N7")

TWO = [{"name": "Ada", "stance": "yes", "model": "caller"}, {"name": "Bob", "stance": "no"}]


def sitting_in(**asked: Any) -> DebateSimulation:
    """A debate that the caller takes part in as Ada, played until it waits."""
    return simulate(build_setup(**{"debaters": TWO, **asked})).play()


def submit(at: DebateSimulation, speaker: str, text: str) -> None:
    at.add_events(build_submission(at.debate, speaker, text)).play()


def refused(at: DebateSimulation, speaker: str, text: str = "So.") -> str:
    before = at.debate
    with pytest.raises(InvalidRequestError) as why:
        build_submission(at.debate, speaker, text)
    assert at.debate == before
    return str(why.value)


class TestWaiting:
    def test_a_debate_waits_for_the_callers_turn_and_says_for_whose(self) -> None:
        at = sitting_in()
        assert at.status == "waiting"
        assert decide(at.debate) == Wait("The caller is to write for Ada: call submit_turn.")
        state = build_state(at.stored())
        assert (state["status"], state["awaiting"]) == ("waiting", ["Ada"])
        reason = (
            "The caller is to write for Ada: call submit_turn. "
            "What was written by Bob is shown when the round is complete."
        )
        assert state["reason"] == reason
        assert render_transcript(at.debate, at.log).endswith(f"\n*waiting: {reason}*\n")

    def test_everybody_else_is_asked_first(self) -> None:
        at = simulate(build_setup(debaters=TWO)).play_to_round(1)
        assert [call.seat for call in at.pending_calls()] == ["Bob"]
        assert at.status == "running"
        assert [turn.seat for turn in at.play().debate.turns] == ["Bob"]

    def test_in_a_declared_order_it_waits_when_it_is_the_callers_turn(self) -> None:
        at = sitting_in(format="verdict", debaters=TWO[::-1])
        assert [turn.seat for turn in at.debate.turns] == ["Bob"]
        assert at.status == "waiting"


class TestSubmitting:
    def test_the_debate_goes_on_with_what_was_submitted(self) -> None:
        at = sitting_in()
        submit(at, "Ada", " It pays. \x00")
        assert at.debate.round_turns(1)
        (turn,) = [turn for turn in at.debate.turns if turn.seat == "Ada"]
        assert (turn.text, turn.usage.model, turn.usage.cost_usd) == ("It pays.", CALLER, "0")
        assert at.status == "waiting"
        assert at.debate.round == 2
        submit(at, "ada", "It still pays.")
        assert at.status == "concluded"

    def test_a_judge_who_reads_twice_submits_twice(self) -> None:
        at = simulate(build_setup(options={"judges": {"models": [CALLER]}})).play()
        submit(at, "judge 1", render_finding("A1"))
        assert at.status == "waiting"
        submit(at, "judge 1", render_finding("A1", reasoning="In the other order, too."))
        assert [judged.slot_index for judged in at.debate.judgments] == [1, 2]

    def test_a_finding_that_cites_no_point_of_its_winner_is_taken(self) -> None:
        at = simulate(build_setup(options={"judges": {"models": [CALLER]}})).play()
        submit(at, "judge 1", render_finding("A1", cited=[]))
        assert at.debate.judgments[0].winner == at.debate.names[0]

    def test_a_speaker_hands_over_as_it_was_asked_to(self) -> None:
        at = sitting_in(format="handoff")
        submit(at, "Ada", "It pays. Transition to Bob")
        assert at.debate.handoffs[0].because == "chosen"


@pytest.mark.requirement("N8", "N18")
class TestSentAgain:
    """A turn whose result was lost is not taken for the next one."""

    def test_what_was_recorded_is_told_and_not_recorded_again(self) -> None:
        at = sitting_in()
        submit(at, "Ada", "It pays.")
        told = "Ada has submitted this in round 1: it is recorded once."
        more = " Awaited now is another answer; where it is the same, say so in other words."
        assert sent_again(at, " ada", "It pays. \n") == told + more
        assert sent_again(at, "Ada", "It still pays.") == ""
        assert sent_again(at, "Bob", "It pays.") == ""
        submit(at, "Ada", "It still pays.")
        assert sent_again(at, "Ada", "It still pays.") == told.replace("round 1", "round 2")
        assert sent_again(at, "Ada", "It pays.") == ""

    def test_a_finding_is_not_taken_for_the_second_reading(self) -> None:
        at = simulate(build_setup(options={"judges": {"models": [CALLER]}})).play()
        submit(at, "judge 1", render_finding("A1"))
        assert "Awaited now is another answer" in sent_again(at, "judge 1", render_finding("A1"))
        assert sent_again(at, "judge 1", render_finding("A1", reasoning="Turned, too.")) == ""

    def test_a_finding_that_a_retraction_made_void_may_be_found_again(self) -> None:
        at = simulate(build_setup(options={"judges": {"models": [CALLER]}})).play()
        submit(at, "judge 1", render_finding("A1"))
        at.intervene("retract", to="Proponent", round=1)
        assert sent_again(at, "judge 1", render_finding("A1")) == ""


def sent_again(at: DebateSimulation, speaker: str, text: str) -> str:
    repeated = find_repeated_turn(at.stored().entries, at.debate, speaker, text)
    return repeated.effect if repeated else ""


class TestRefused:
    def test_only_who_is_awaited_can_speak(self) -> None:
        at = sitting_in()
        assert refused(at, "Bob") == "No turn of 'Bob' is awaited. Awaited: Ada."
        assert refused(at, "x" * 99) == f"No turn of {'x' * 60!r} is awaited. Awaited: Ada."
        assert refused(simulate().play_to_round(1), "Proponent") == (
            "No turn is expected from the caller now. Run the next round to go on."
        )
        assert refused(simulate(build_setup(debaters=TWO)), "Ada").startswith(
            "No turn is expected from the caller now."
        )

    def test_nobody_speaks_after_the_end(self) -> None:
        assert (
            refused(simulate().play(), "Ada") == "The debate is over (concluded), and nobody speaks any more."
        )

    @pytest.mark.parametrize("reason", ["lunch", "lunch."])
    def test_nobody_speaks_in_a_pause(self, reason: str) -> None:
        at = sitting_in().add_events(Paused(reason=reason))
        assert refused(at, "Ada") == "The debate is paused: lunch. Resume it first."

    @pytest.mark.parametrize("text", ["", " \n", "\x00"])
    def test_there_must_be_something_said(self, text: str) -> None:
        assert refused(sitting_in(), "Ada", text) == "The text is empty. Write in `text` what Ada says."

    def test_a_turn_is_no_book(self) -> None:
        assert refused(sitting_in(), "Ada", "x" * (MAX_SUBMISSION_LENGTH + 1)) == (
            "The turn has 50,001 characters; 50,000 are allowed."
        )
        event = build_submission(sitting_in().debate, "Ada", "x" * MAX_SUBMISSION_LENGTH)
        assert isinstance(event, Spoke)
        assert event.cut

    def test_what_was_not_asked_for_is_refused_with_what_was_wrong(self) -> None:
        at = simulate(build_setup(options={"judges": {"models": [CALLER]}})).play()
        assert refused(at, "judge 1", "Hard to say.") == (
            "This is not what judge 1 was asked for: the reply is prose: answer with JSON, and with "
            "one of Proponent, Opponent or null. Submit it again."
        )
        assert refused(at, "judge 1", render_finding("Z")) == (
            'This is not what judge 1 was asked for: "winner" names no position: it must be one of Proponent, '
            "Opponent, or null. Submit it again."
        )
        assert at.debate.failures == ()
