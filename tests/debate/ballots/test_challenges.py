"""Challenges to agreement that may be hollow: when one is made, what it says, and what comes of it."""

from fractions import Fraction

import pytest

from server.debate.ballots.hollow import build_challenge, list_challenges
from server.debate.facts.beliefs import Alerted, Gap
from server.debate.facts.errors import IllegalEvent
from server.debate.facts.interventions import RoundsExtended
from server.debate.machine.transitions import apply, replay
from server.debate.records.verify import verify_record
from server.debate.views.markdown import format_details, render_transcript
from server.debate.views.verdict import build_report
from tests.support import simulation
from tests.support.hollow_debates import AGREED, FLIPPED, NAMES, hold, own_choices

pytestmark = pytest.mark.requirement("D13")


class TestChallenges:
    def test_it_stands_before_the_next_round_and_names_points(self) -> None:
        at = hold(FLIPPED, max_rounds=3).play()
        (alert, *_) = at.debate.alerts
        assert (alert.round, alert.challenged) == (1, True)
        (note, *_) = list_challenges(at.debate)
        assert (note.round, note.alert, note.to) == (2, 1, "")
        kinds = [event.kind for event in at.events]
        index = kinds.index("challenged")
        assert kinds[index - 2 : index] == ["alerted", "phase_entered"]
        prompts = [p for c, p in at.calls_made if c.round == 2 and c.task == "argument"]
        for prompt in map(simulation.render_prompt_text, prompts):
            heading = "[challenge to everybody, to be answered]"
            assert f"{heading}\n> What is said here is not what is held in private." in prompt
            assert "[A1 1.1]" in prompt
            assert "[B1 1.1]" in prompt
        assert at.status == "concluded"

    def test_it_names_no_point_of_a_turn_that_was_retracted(self) -> None:
        at = hold(FLIPPED, max_rounds=3)
        at.play(lambda debate: bool(debate.alerts))
        at.intervene("retract", to="Ada", round=1)
        (note, *_) = list_challenges(at.play().debate)
        assert "[A1 1.1]" not in note.text
        assert "[B1 1.1]" in note.text
        assert at.status == "concluded"

    def test_public_agreement_over_a_private_three_way_split_is_challenged(self) -> None:
        at = hold(own_choices(), public=AGREED, max_rounds=3).play_to_round(2)
        (alert,) = at.debate.alerts
        assert alert.gap == Gap(disbelief="0.7333", apart=2, debaters=3)
        assert alert.challenged
        calm = hold(own_choices(), max_rounds=3).play()
        assert not calm.debate.alerts  # they say what they hold

    def test_to_report_makes_an_alert_and_no_challenge(self) -> None:
        at = hold(FLIPPED, max_rounds=3, options={"challenges": "report"}).play()
        assert at.debate.alerts
        assert not any(alert.challenged for alert in at.debate.alerts)
        assert not list_challenges(at.debate)

    def test_the_number_of_challenges_is_limited_by_the_facts(self) -> None:
        at = hold(FLIPPED, max_rounds=7).play()
        assert [note.round for note in list_challenges(at.debate)] == [2, 4]  # two, with a round between them

    def test_the_talk_is_extended_where_it_would_end_before_it_is_answered(self) -> None:
        at = hold(FLIPPED, max_rounds=1).play()
        assert at.debate.talk_round_count == 2
        assert len(at.debate.find_interventions(RoundsExtended)) == 1
        assert [note.round for note in list_challenges(at.debate)] == [2]
        assert at.status == "concluded"

    def test_a_fork_at_the_round_of_an_extension_extends_the_talk_once_and_by_itself(self) -> None:
        at = hold(FLIPPED, max_rounds=1)
        parent = simulation.simulate(simulation.label_positions(at.debate.setup), at.script).play()
        (extended,) = parent.debate.find_interventions(RoundsExtended)
        child = parent.fork(extended.round, at.script)
        assert not child.debate.find_interventions(RoundsExtended)
        assert child.play().debate.find_interventions(RoundsExtended) == [extended]
        assert child.debate.talk_round_count == 2

    def test_a_settled_question_stays_open_until_it_is_answered(self) -> None:
        at = hold(FLIPPED, max_rounds=3, settled=1).play()
        assert at.debate.talk_round_count == 2
        assert at.status == "concluded"

    def test_ballots_that_converge_end_no_talk_before_it_is_answered(self) -> None:
        over = {(name, n): ("A", 97, None, None) for name in NAMES for n in (2, 3, 4)}
        options = {"stop": "on"}
        at = hold(own_choices(1) | over, max_rounds=4, options=options).play()
        assert at.debate.convergence[0].round == 2
        assert list_challenges(at.debate)[0].round == 3
        assert at.debate.talk_round_count > 3

    @pytest.mark.full
    def test_without_a_round_left_it_is_reported(self) -> None:
        phases = [{"name": "opening"}, "synthesis"]
        once = hold(FLIPPED, max_rounds=0, options={"phases": phases, "moderator": None}).play()
        assert [alert.challenged for alert in once.debate.alerts] == [True, False]
        assert once.debate.max_rounds == 2

    def test_without_a_budget_for_it_the_talk_ends_and_it_is_reported(self) -> None:
        at = hold(FLIPPED, max_rounds=1, options={"limits": {"max_calls": 14}}).play()
        assert at.debate.talk_round_count == 1
        assert [alert.challenged for alert in at.debate.alerts] == [False]
        assert at.debate.ended

    def test_its_effect_on_the_next_ballots_is_recorded(self) -> None:
        ballots = FLIPPED | {("Bob", 2): ("B", 90, "B1 2", "A new one.")}
        at = hold(ballots, max_rounds=3).play()
        effects = [(alert.round, alert.effect) for alert in at.debate.alerts if alert.effect]
        number, effect = effects[0]
        assert number == 2
        assert (effect.changed, effect.new_points, effect.voters) == (1, 1, 3)
        assert Fraction(effect.movement) == Fraction(9, 10)
        assert "After the challenge of round 2 voters moved by 0.9000 at most, 1 of 3 chose otherwise" in (
            render_transcript(at.debate, at.log)
        )

    @pytest.mark.full
    def test_it_is_made_once_wherever_the_process_was_killed(self) -> None:
        whole = hold(FLIPPED, max_rounds=3).play()
        for cut in range(1, len(whole.events), 3):
            at = simulation.DebateSimulation(
                replay(whole.events[:cut]), whole.script, events=list(whole.events[:cut])
            )
            at.play()
            assert [note.round for note in list_challenges(at.debate)] == [
                note.round for note in list_challenges(whole.debate)
            ]
            assert [alert.round for alert in at.debate.alerts] == [
                alert.round for alert in whole.debate.alerts
            ]

    def test_nothing_is_asked_before_it_stands(self) -> None:
        at = hold(FLIPPED, max_rounds=3).play_to_round(2)
        assert at.pending_calls() == ()
        assert len(build_challenge(at.debate)) == 1
        at.step()
        assert build_challenge(at.debate) == ()
        assert len(at.pending_calls()) > 0

    def test_it_is_in_records_forks_and_imports(self) -> None:
        script = hold(FLIPPED, max_rounds=3).script
        at = simulation.simulate(
            simulation.label_positions(hold(FLIPPED, max_rounds=3).debate.setup), script
        ).play()
        verify_record(at.log, range(len(at.log)))
        for number in (1, 2):
            forked = at.fork(number, script).play()
            made = [note.round for note in list_challenges(forked.debate)]
            assert made == [note.round for note in list_challenges(at.debate)] == [2, 4]
            assert forked.status == "concluded"

    def test_an_alert_that_does_not_follow_is_refused(self) -> None:
        at = hold(FLIPPED, max_rounds=3).play()
        before, alert = at.before(Alerted)
        for wrong in ({"gap": None}, {"round": 2}):
            with pytest.raises(IllegalEvent, match="does not follow"):
                apply(before, alert.model_copy(update=wrong))
        with pytest.raises(IllegalEvent, match="does not follow"):
            apply(apply(before, alert), alert)
        calm = hold(FLIPPED, max_rounds=3, options={"challenges": "report"}).play()
        before, alert = calm.before(Alerted)
        with pytest.raises(IllegalEvent, match="does not follow"):
            apply(before, alert.model_copy(update={"challenged": True}))


class TestVerdicts:
    """What a reader of the verdict alone is told of alerts."""

    def test_it_says_what_was_found_in_each_round_and_what_the_challenge_did(self) -> None:
        found = build_report(hold(FLIPPED, max_rounds=2).play().debate)
        first, second = found.alerts
        gap = (
            "What is said is not what is held: 2 of 3 debaters choose otherwise in private than they say, and what "
            "they say has 20% of their belief on average."
        )
        assert first == f"Round 1: {gap} The next round has a challenge to answer."
        assert second == (
            f"Round 2: {gap} After the challenge of round 2 voters moved by 0.0000 at most, 0 of 3 chose otherwise "
            "than before, and 0 name a new point."
        )
        assert all(f"- {alert}" in format_details(found) for alert in found.alerts)

    def test_a_settled_question_over_a_gap_says_so_first(self) -> None:
        """With the ballots that panels have by default, before the talk and after it."""
        options = {"ballots": None, "challenges": "report", "effort": "standard"}
        held = {key: (choice, 90, None, "New.") for key, (choice, *_) in own_choices().items()}
        found = build_report(hold(held, public=AGREED, settled=1, options=options).play().debate)
        assert found.outcome == "leaning"
        assert 'Do it." What is said is not what is held: 2 of 3 debaters' in found.headline
        honest = build_report(hold(held, settled=1, options=options).play().debate)
        assert "What is said" not in honest.headline
