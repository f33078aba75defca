from collections.abc import Sequence
from typing import Any

import pytest

from server.debate.facts.beliefs import Vote
from server.debate.facts.events import Concluded
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.verdict import build_verdict
from server.debate.views.warnings import list_verdict_warnings
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    Script,
    ScriptAnswer,
    build_debaters,
    build_setup,
    build_usage,
    default_script,
    judge_script,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("C8")

LOST_ORDER = "found for another side when positions, labels and order were turned"
MODELS = ("openai/gpt-5", "anthropic/claude", "mistral/large", "gemini/pro", "deepseek/chat")

Readings = tuple[ScriptAnswer, ScriptAnswer]


def hold(
    *panel: Readings, models: Sequence[str] = MODELS, talk: Script = default_script, **options: Any
) -> DebateSimulation:
    """A debate of three, whose judges say this in their two readings. Its debaters are of other models."""
    answers = {
        (f"judge {number}", reading): answer
        for number, readings in enumerate(panel, start=1)
        for reading, answer in enumerate(readings, start=1)
    }
    judges = {"models": list(models[: len(panel)]), **options.pop("judges", {})}
    opened = build_setup(
        debaters=build_debaters(3, model="vendor/debater"), options={"judges": judges, **options}
    )
    judging = judge_script(answers)
    return simulate(opened, lambda call: judging(call) if call.reading else talk(call)).play_on()


def judged(*panel: Readings, **options: Any) -> Concluded:
    at = hold(*panel, **options)
    assert at.debate.verdict
    return at.debate.verdict


def twice(winner: str | None, margin: int = 2, **fields: Any) -> Readings:
    return render_finding(winner, margin, **fields), render_finding(winner, margin, **fields)


NONE, MADE = twice(None), twice(None, recommendation="First one, then the other.")


class TestVotes:
    def test_a_judge_whose_two_readings_differ_abstains(self) -> None:
        assert judged((render_finding("A1", 3), render_finding("B1", 3))).votes == (
            Vote(judge="judge 1", winner="", margin=0, abstains=LOST_ORDER),
        )

    def test_a_judge_who_finds_for_nobody_in_one_order_only_abstains(self) -> None:
        assert judged((render_finding("A1"), render_finding(None))).votes[0].abstains == LOST_ORDER

    def test_the_smaller_margin_of_two_readings_counts(self) -> None:
        assert judged((render_finding("A1", 3), render_finding("A1", 1))).votes[0].margin == 1

    def test_a_finding_for_nobody_is_a_vote_without_a_margin(self) -> None:
        assert judged(twice(None, 3)).votes == (Vote(judge="judge 1", winner="", margin=0),)

    def test_a_position_made_of_the_others_counts_where_both_readings_name_one(self) -> None:
        assert judged(MADE).votes[0].for_synthesis
        assert not judged((MADE[0], NONE[0])).votes[0].for_synthesis

    def test_a_judge_who_answers_in_one_order_only_abstains(self) -> None:
        lost = ProviderFailure("timeout")
        found = judged((render_finding("A1"), lost), twice("B1"))
        assert found.votes[0].abstains == "answered in one of the two orders only"
        alone = hold((lost, render_finding("A1")))
        assert alone.status == "paused"

    def test_a_judge_who_gives_no_usable_answer_stays_among_those_asked(self) -> None:
        unclear = ("A or B, I think", "B, perhaps")
        assert judged(twice("A1"), unclear).votes[1].abstains == "gave no usable answer"
        assert judged(twice("A1"), unclear).outcome == "leaning"
        assert judged(twice("A1"), unclear, unclear).outcome == "undecided"

    def test_a_judge_who_abstains_takes_no_side_and_stays_among_those_asked(self) -> None:
        lost = (render_finding("B1"), render_finding("C1"))
        assert judged(twice("A1"), lost).outcome == "leaning"
        assert judged(*[twice("A1")] * 2, lost).outcome == "decided"

    def test_a_model_too_small_to_judge_never_decides(self) -> None:
        def tiny(call: Call) -> ScriptAnswer:
            return (
                Reply(render_finding("A1", 3), build_usage("local"), informative=False)
                if call.reading
                else default_script(call)
            )

        at = simulate(script=tiny).play()
        assert at.debate.verdict
        assert at.debate.verdict.outcome == "undecided"
        assert at.debate.verdict.votes[0].abstains == "is too small a model to judge"
        assert any("embedded model judged" in caution for caution in list_verdict_warnings(at.debate))


class TestCaps:
    """What makes a verdict of a unanimous panel no more than leaning."""

    ALL = (twice("A1", 3),) * 3

    def test_nothing_does_in_a_debate_without_a_weakness(self) -> None:
        assert judged(*self.ALL).outcome == "decided"

    def test_a_talk_in_which_the_same_spoke_last_in_both_readings(self) -> None:
        assert judged(*self.ALL, speaking="declared").outcome == "leaning"
        assert (
            judged(*self.ALL, phases=["opening", "argumentation", "synthesis", "verdict"]).outcome
            == "decided"
        )

    @pytest.mark.parametrize("silent", ["Speaker 1", "Speaker 3"])
    @pytest.mark.parametrize("rounds", [{1}, {1, 2}])
    def test_a_side_that_was_heard_less_than_the_others(self, silent: str, rounds: set[int]) -> None:
        def talk(call: Call) -> ScriptAnswer:
            is_lost = call.seat == silent and call.round in rounds
            return ProviderFailure("unavailable") if is_lost else default_script(call)

        assert build_verdict(hold(*self.ALL, talk=talk).debate).outcome == "leaning"

    def test_judges_of_the_family_that_argued_for_the_winner_alone(self) -> None:
        own = [{"name": "Own", "stance": "a", "model": "openai/gpt-4o"}]
        others = [{"name": "Other", "stance": "b", "model": "vendor/debater"}]
        judges = {"judges": {"models": ["openai/gpt-5", "openai/o3", "openai/gpt-4.1", "openai/o1"]}}
        for winner, is_capped in (("A1", True), ("B1", False)):
            readings: dict[tuple[str, int], ScriptAnswer] = {
                (f"judge {n}", reading): render_finding(winner, 3) for n in range(1, 5) for reading in (1, 2)
            }
            opened = build_setup(debaters=own + others, options=judges)
            found = build_verdict(simulate(opened, judge_script(readings)).play().debate)
            assert ("the model family that argued for it" in " ".join(found.cautions)) == is_capped

    @pytest.mark.parametrize(("times", "outcome"), [(1, "decided"), (40, "leaning")])
    def test_a_winner_who_wrote_twice_as_much_as_any_other(self, times: int, outcome: str) -> None:
        def talk(call: Call) -> ScriptAnswer:
            return "A word. " * (times if call.seat == "Speaker 1" else 1)

        assert build_verdict(hold(*self.ALL, talk=talk).debate).outcome == outcome


class TestWords:
    def test_the_verdict_is_told_by_the_first_judge_who_voted_as_the_panel_did(self) -> None:
        found = judged(
            (render_finding("A1", verdict="A, first."), render_finding("B1", verdict="A, second.")),
            (
                render_finding("B1", verdict="B, turned back."),
                render_finding("B1", verdict="B, first.", reasoning="B was right."),
            ),
            (render_finding("B1", verdict="B, third."), render_finding("B1", verdict="B, fourth.")),
        )
        assert (found.winner, found.verdict, found.reasoning) == ("Speaker 2", "B, first.", "B was right.")

    def test_a_synthesis_is_told_as_the_position_that_was_made(self) -> None:
        assert judged(*[MADE] * 3).verdict == "First one, then the other."

    def test_who_votes_for_a_position_dissents_from_one_that_was_made_of_all(self) -> None:
        found = build_verdict(hold(*[MADE] * 4, twice("A1", verdict="It is A.")).debate)
        assert (found.outcome, found.dissent) == ("synthesis", ["judge 5: It is A."])

    def test_where_nobody_won_the_count_tells_it_and_no_judge_does(self) -> None:
        found = judged(*[twice("B1", verdict="It is B.")] * 2, twice("A1", verdict="It is A."))
        assert (found.outcome, found.reasoning) == ("contested", "")
        assert found.verdict == ("2 of 3 found for B1 (stance 2); 1 of 3 found for A1 (stance 1).")

    def test_a_judge_who_found_for_none_or_for_one_made_of_the_others_is_counted_as_such(self) -> None:
        assert judged(twice("A1"), NONE, MADE).verdict == (
            "1 of 3 found for A1 (stance 1); 1 of 3 found for no position; "
            "1 of 3 found for a position of their own."
        )

    def test_without_a_vote_that_counts_the_verdict_says_why(self) -> None:
        found = judged(
            (render_finding("A1"), render_finding("B1")), (render_finding("A1"), ProviderFailure("timeout"))
        )
        assert found.reasoning == ""
        assert found.verdict == f"judge 1 {LOST_ORDER}; judge 2 gave no usable answer."
