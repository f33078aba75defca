"""The verdict as it is shown: winner, votes, panel, dissent and cautions."""

import pytest

from server.debate.facts.beliefs import Weight
from server.debate.facts.events import Event
from server.debate.facts.interventions import WeightsChanged
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.verdict import build_verdict
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_setup,
    build_usage,
    default_script,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("D2")

VENDORS = [f"{letter}/m" for letter in "abcdefgh"]


def hold_mixed_panel(split: str, *interventions: Event) -> DebateSimulation:
    """Eight judges: two for A, two for `split`, one for none, one for B, one led by the order, one silent."""
    findings: dict[str, ScriptAnswer] = {
        **{f"judge {n}": render_finding("A") for n in (1, 2)},
        **{f"judge {n}": render_finding(split) for n in (3, 4)},
        "judge 5": render_finding(None, verdict="Neither, really."),
        "judge 6": render_finding("B", verdict="B, really."),
        "judge 8": ProviderFailure("timeout"),
    }

    def script(call: Call) -> ScriptAnswer:
        if call.seat == "judge 7":
            return render_finding("AB"[call.reading - 1])
        return findings.get(call.seat) or default_script(call)

    opened = build_setup(options={"judges": {"models": VENDORS}})
    return simulate(opened, script).play_to_round(2).add_events(*interventions).play()


@pytest.mark.requirement("C8")
class TestVerdict:
    def test_every_vote_is_told_and_the_dissent_in_its_own_words(self) -> None:
        found = build_verdict(hold_mixed_panel("A").debate)
        assert (found.outcome, found.winner) == ("leaning", "Proponent")
        assert found.votes == [
            *(
                f"judge {n} ({model}): Proponent, margin 2 of 3"
                for n, model in enumerate(VENDORS[:4], start=1)
            ),
            "judge 5 (e/m): no side",
            "judge 6 (f/m): Opponent, margin 2 of 3",
            "judge 7 (g/m) abstains: it found for another side when positions, labels and order were turned",
            "judge 8 (h/m) abstains: it gave no usable answer",
        ]
        assert found.dissent == ["judge 5: Neither, really.", "judge 6: B, really."]

    @pytest.mark.requirement("N2")
    def test_the_panel_counts_everybody_who_was_asked_in_exact_fractions(self) -> None:
        found = build_verdict(hold_mixed_panel("A").debate)
        assert found.ahead == "Proponent"
        assert found.panel.model_dump() == {
            "asked": 8,
            "voted": 5,
            "abstained": 2,
            "failed": 1,
            "support": "1/2",
            "against": "1/8",
            "voices": 1.6,
            "proven": [],
            "rule": "",
            "consensus": "Consensus (plurality) for Proponent: Proponent 4, Opponent 1, 1 abstained, "
            "1 inconsistent, 1 missing, of 8 asked.",
        }

    @pytest.mark.requirement("N2")
    def test_who_is_ahead_is_said_where_nobody_won_and_nobody_dissents_then(self) -> None:
        found = build_verdict(hold_mixed_panel("B").debate)
        assert (found.outcome, found.winner, found.winner_stance) == ("contested", "", "")
        assert (found.ahead, found.panel.support, found.panel.against) == ("Opponent", "3/8", "1/4")
        assert found.verdict.startswith("3 of 8 found for Opponent (against); 2 of 8 found for")
        assert (found.dissent, found.reasoning) == ([], "")

    @pytest.mark.requirement("N2")
    def test_the_weight_of_a_vote_is_in_the_shares(self) -> None:
        at = hold_mixed_panel("A", WeightsChanged(weights=(Weight(seat="judge 6", weight="3/2"),)))
        panel = build_verdict(at.debate).panel
        assert (panel.support, panel.against) == ("8/17", "3/17")


class TestCautions:
    def cautions(self, at: DebateSimulation) -> list[str]:
        return build_verdict(at.play().debate).cautions

    def test_a_debate_of_several_models_judged_by_another_needs_none(self) -> None:
        opened = build_setup(["a/x", "b/y"], options={"judges": {"models": ["c/z"]}})
        assert self.cautions(simulate(opened)) == []

    def test_one_model_on_every_side_is_one_voice(self) -> None:
        opened = build_setup(["a/x"], options={"judges": {"models": ["c/z"]}})
        assert self.cautions(simulate(opened)) == [
            "One model argued every side (a/x): count it as one voice."
        ]

    def test_judges_who_also_debated_lean_towards_their_own_words(self) -> None:
        said = "The judges' models also debated, and models lean towards their own words."
        assert said in self.cautions(simulate(build_setup(["a/x", "b/y"])))
        one_from_outside = {"judges": {"models": ["a/x", "c/z"]}}
        assert said not in self.cautions(simulate(build_setup(["a/x", "b/y"], options=one_from_outside)))

    def test_it_is_the_models_that_really_answered_who_are_compared(self) -> None:
        def renamed(call: Call) -> ScriptAnswer:
            return Reply(str(default_script(call)), build_usage(call.model + "-2026-11-01"))

        opened = build_setup(["a/x", "b/y"])
        assert any("also debated" in caution for caution in self.cautions(simulate(opened, renamed)))

    def test_turns_that_were_cut_are_counted(self) -> None:
        def cut(call: Call) -> ScriptAnswer:
            return Reply(str(default_script(call)), build_usage(call.model), cut=call.seat == "Opponent")

        assert "Cut at the length limit: 2 turns." in self.cautions(simulate(script=cut))

    def test_of_sides_with_the_same_words_nothing_is_agreed(self) -> None:
        def judge_ann(call: Call) -> ScriptAnswer:
            return render_finding("A") if call.task == "judgment" else default_script(call)

        outcomes = {}
        for other in ("Ship it  now.", "Wait."):
            team = [{"name": "Ann", "stance": "Ship it now."}, {"name": "Ben", "stance": other.lower()}]
            opened = build_setup(debaters=team, options={"judges": {"models": VENDORS[:2]}})
            found = build_verdict(simulate(opened, judge_ann).play().debate)
            outcomes[other] = (
                found.outcome,
                any("All debaters stood for the same" in one for one in found.cautions),
            )
        assert outcomes == {"Ship it  now.": ("leaning", True), "Wait.": ("decided", False)}

    def test_a_moderator_whose_model_also_debated_is_told_of(self) -> None:
        said = "The moderator's model also debated, and models lean towards their own words."

        def moderated_by(model: str) -> DebateSimulation:
            options = {"moderator": {"opens": False, "closes": True, "model": model}}
            return simulate(build_setup(["a/x", "b/y"], format="settle", options=options))

        assert said in self.cautions(moderated_by("b/y"))
        assert said not in self.cautions(moderated_by("c/z"))

    @pytest.mark.requirement("C22")
    def test_judges_of_turns_that_were_all_made_in_sequence_could_not_weigh_the_last(self) -> None:
        said = "Debaters spoke only one after the other: what was said last could not be answered."
        assert said in self.cautions(simulate(build_setup(format="verdict")))
        assert said not in self.cautions(simulate(build_setup(format="advocates")))
        assert said not in self.cautions(simulate(build_setup(format="full")))
        assert said not in self.cautions(simulate(build_setup(format="settle")))
