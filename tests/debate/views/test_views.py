from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.debate.facts.beliefs import Weight
from server.debate.facts.events import Event
from server.debate.facts.interventions import WeightsChanged
from server.debate.replies.extract import Reply
from server.debate.rules.decide import Call
from server.debate.views.rounds import build_analysis, build_round
from server.debate.views.state import (
    awaited_seats,
    build_state,
    origin_line,
    sum_usage,
    visible_turns,
)
from server.debate.views.state import build_usage as build_usage_view
from server.debate.views.verdict import Panel, Verdict, build_result, build_verdict
from server.debate.views.warnings import failure_lines, find_verdict_warnings
from tests.support.simulation import (
    FUZZ_SETTINGS,
    QUESTION,
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_setup,
    build_usage,
    default_script,
    render_finding,
    simulate,
)

pytestmark = pytest.mark.requirement("D2")


def plainly(call: Call) -> ScriptAnswer:
    return render_finding() if call.reading else f"{call.seat} in {call.round}"


def over(**asked: object) -> DebateSimulation:
    return simulate(build_setup(**asked), plainly).play()  # type: ignore[arg-type]  # whatever a request may hold


class TestTranscript:
    def test_it_is_every_turn_with_round_phase_agent_and_stance(self) -> None:
        at = over()
        assert [turn.model_dump() for turn in visible_turns(at.debate)][-1:] == [
            {
                "round": 2,
                "phase": "rebuttal",
                "agent": at.debate.rounds[1].order[-1],
                "stance": at.debate.debater(at.debate.rounds[1].order[-1]).stance,
                "text": f"{at.debate.rounds[1].order[-1]} in 2",
                "act": "argument",
                "to": "",
                "retracted": False,
                "unanswered": False,
            }
        ]
        assert len(visible_turns(at.debate)) == 4

    @pytest.mark.parametrize(
        ("since", "rounds"), [(0, {1, 2}), (1, {1, 2}), (2, {2}), (3, set()), (9, set())]
    )
    def test_it_can_begin_at_a_round(self, since: int, rounds: set[int]) -> None:
        assert {turn.round for turn in visible_turns(over().debate, since)} == rounds

    def test_turns_held_together_stand_in_the_order_drawn(self) -> None:
        at = over(debaters=build_debaters(6))
        drawn = [seat for entered in at.debate.rounds[:2] for seat in entered.order]
        assert [turn.agent for turn in visible_turns(at.debate)] == drawn
        assert drawn != sorted(drawn)

    def test_turns_that_answer_one_another_stand_as_they_were_spoken(self) -> None:
        at = over(format="verdict", debaters=build_debaters(6))
        assert [turn.agent for turn in visible_turns(at.debate, 2)] == [f"Speaker {n}" for n in range(1, 7)]

    def test_the_raw_result_is_rounds_question_transcript_verdict_and_decisions(self) -> None:
        at = over()
        assert build_result(at.debate) == {
            "rounds": 2,
            "question": QUESTION,
            "transcript": [turn.model_dump(exclude_defaults=True) for turn in visible_turns(at.debate)],
            "verdict": {
                "verdict": "It is not worth it.",
                "winner": "Proponent",
                "winner_stance": "for",
                "reasoning": "Costs were never answered.",
                "outcome": "leaning",
            },
            "moderatorDecisions": [],
            "moderatorSummaries": [],
        }

    @pytest.mark.requirement("C8", "C20")
    def test_a_null_winner_is_a_synthesis_and_its_verdict_the_position_that_was_made(self) -> None:
        finding = render_finding(None, common_position="Half now, the rest in May.")
        judges = {"models": ["a/x", "b/y", "c/z"]}
        at = simulate(build_setup(options={"judges": judges}), lambda c: finding if c.reading else "x").play()
        assert build_result(at.debate)["verdict"] == {
            "verdict": "Half now, the rest in May.",
            "winner": None,
            "winner_stance": "",
            "reasoning": "Costs were never answered.",
            "outcome": "synthesis",
        }
        found = build_verdict(at.debate)
        assert (found.winner, found.winner_stance, found.ahead) == ("", "", "")
        assert found.votes[0].startswith("judge 1 (a/x): a position made of the others, margin ")
        assert (found.panel.support, found.dissent) == ("1", [])


class TestUsage:
    def test_costs_are_summed_as_exact_decimals(self) -> None:
        used = [build_usage(cost=cost) for cost in ("0.1", "0.2", "0.0000000001", "1000000")]
        assert sum_usage(used).model_dump() == {
            "calls": 4,
            "caller_turns": 0,
            "input_tokens": 400,
            "cached_tokens": 240,
            "output_tokens": 80,
            "cost_usd": "1000000.3000000001",
            "calls_of_unknown_cost": 0,
        }

    def test_an_unknown_cost_is_never_0(self) -> None:
        assert sum_usage([build_usage(cost="")]).cost_usd == ""
        assert sum_usage([]).cost_usd == ""
        assert sum_usage([build_usage(cost="0")]).cost_usd == "0"

    def test_a_sum_with_unknown_costs_says_how_many_there_are(self) -> None:
        used = sum_usage([build_usage(cost="0.25"), build_usage(cost=""), build_usage(cost="")])
        assert (used.cost_usd, used.calls_of_unknown_cost) == ("0.25", 2)

    @given(st.lists(st.decimals(0, 10**6, allow_nan=False, places=12), min_size=1, max_size=20))
    @FUZZ_SETTINGS
    def test_no_sum_is_rounded_or_written_with_an_exponent(self, costs: list[Decimal]) -> None:
        total = sum_usage([build_usage(cost=f"{cost:f}") for cost in costs]).cost_usd
        assert int(Decimal(total) * 10**12) == sum(int(cost * 10**12) for cost in costs)
        assert "E" not in total

    def test_it_can_be_told_by_model(self) -> None:
        at = simulate(build_setup(["a/x", "b/y"])).play()
        used = build_usage_view(at.debate)
        assert {model: sums["calls"] for model, sums in used["models"].items()} == {"a/x": 2, "b/y": 4}
        assert used["total"] == sum_usage(at.debate.usage).model_dump()


@pytest.mark.requirement("D3")
class TestFailures:
    def failing(self) -> DebateSimulation:
        def script(call: Call) -> ScriptAnswer:
            if call.seat == "Speaker 3":
                return ProviderFailure("timeout", "no answer in 120 s")
            return "" if (call.seat, call.round) == ("Speaker 2", 2) else plainly(call)

        return simulate(build_setup(debaters=build_debaters(4)), script).play_on()

    def test_they_are_counted_by_seat_and_cause(self) -> None:
        assert sorted(failure_lines(self.failing().debate)) == [
            "Speaker 2 (scripted): the model said nothing (empty, 2 times)",
            "Speaker 3 (scripted): no answer in 120 s (timeout, 3 times)",
        ]

    def test_the_verdict_warns_of_them(self) -> None:
        assert "5 answers failed; see failures." in build_verdict(self.failing().debate).cautions

    def test_the_state_the_analysis_and_the_round_show_them(self) -> None:
        at = self.failing()
        state = build_state(at.stored())
        assert {seat["name"]: (seat["turns"], seat["failures"]) for seat in state["debaters"]} == {
            "Speaker 1": (2, 0),
            "Speaker 2": (1, 2),
            "Speaker 3": (0, 3),
            "Speaker 4": (2, 0),
        }
        assert len(state["failures"]) == 2
        assert [row["failures"] for row in build_analysis(at.debate)["rounds"]] == [
            2,
            3,
            0,
        ]
        assert (
            build_round(at.debate, 1)["failures"]
            == [{"seat": "Speaker 3", "slot_index": 0, "cause": "timeout", "detail": "no answer in 120 s"}]
            * 2
        )


def debater_row(**fields: object) -> dict[str, object]:
    return {"role": "", "model": "scripted", "turns": 2, "failures": 0, **fields}


SEATS = [
    debater_row(name="Ada", stance="yes", role="economist"),
    debater_row(name="Bob", stance="no"),
]


class TestState:
    def test_it_says_how_the_debate_stands(self) -> None:
        asked = {
            "debaters": [
                {"name": "Ada", "stance": "yes", "role": "economist"},
                {"name": "Bob", "stance": "no"},
            ],
            "options": {"tags": ["x"]},
        }
        at = over(**asked)
        assert build_state(at.stored()) == {
            "debate_id": "d-1",
            "question": QUESTION,
            "format": "second_opinion",
            "status": "concluded",
            "reason": "max_rounds",
            "phase": "verdict",
            "round": 3,
            "rounds_of_talk": 2,
            "max_rounds": 2,
            "framing": "",
            "debaters": SEATS,
            "judges": ["judge 1: scripted"],
            "awaiting": [],
            "outcome": "leaning",
            "winner": "Ada",
            "winner_stance": "yes",
            "verdict": "It is not worth it.",
            "moderator_summary": "",
            "final_decision": "",
            "settled": False,
            "turns": 4,
            "failures": [],
            "notes": 0,
            "usage": sum_usage(at.debate.usage).model_dump(),
            "tags": ["x"],
            "mirror_of": "",
            "forked_from": "",
            "forked_at_round": 0,
            "opened_at": "2026-12-01T10:00:01.000Z",
            "changed_at": "2026-12-01T10:00:13.000Z",
            "entries": 13,
        }

    def test_a_debate_that_was_just_opened_is_empty(self) -> None:
        at = simulate()
        state = build_state(at.stored())
        assert (state["status"], state["phase"], state["round"], state["awaiting"]) == ("running", "", 0, [])
        assert (state["outcome"], state["winner"], state["verdict"], state["reason"]) == ("", "", "", "")

    def test_it_says_who_is_awaited(self) -> None:
        at = simulate().play_to_round(1)
        assert build_state(at.stored())["awaiting"] == ["Proponent", "Opponent"]
        at.play_to_round(3)
        assert awaited_seats(at.debate) == ["judge 1"]


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
    def test_it_is_empty_as_long_as_there_is_none(self) -> None:
        assert build_verdict(simulate().debate) == Verdict()

    def test_it_names_the_winner_and_the_stance(self) -> None:
        found = build_verdict(over().debate)
        assert (found.outcome, found.winner, found.winner_stance) == ("leaning", "Proponent", "for")
        assert found.votes == ["judge 1 (scripted): Proponent, margin 2 of 3"]
        assert found.dissent == []

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
        assert found.verdict.startswith("No finding: 3 of 8 found for Opponent (against); 2 of 8 found for")
        assert (found.dissent, found.reasoning) == ([], "")

    def test_a_debate_that_nobody_votes_on_has_an_empty_panel(self) -> None:
        options = {"moderator": {"opens": False, "closes": True}}
        found = build_verdict(simulate(build_setup(format="settle", options=options)).play().debate)
        assert (found.outcome, found.ahead, found.panel) == ("undecided", "", Panel())
        assert not any("voter" in caution or "judge" in caution for caution in found.cautions)

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

    def test_who_was_never_heard_is_named(self) -> None:
        def silent(call: Call) -> ScriptAnswer:
            return ProviderFailure("timeout") if call.seat == "Speaker 2" else default_script(call)

        never = "Never heard: Speaker 2. Nobody argued their side."
        assert never in self.cautions(simulate(build_setup(debaters=build_debaters(3)), silent).play_on())
        assert not any("Never heard" in said for said in self.cautions(simulate()))

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
        assert said not in self.cautions(simulate(build_setup(format="second_opinion")))
        assert said not in self.cautions(simulate(build_setup(format="full")))
        assert said not in self.cautions(simulate(build_setup(format="settle")))

    def test_where_no_judge_was_heard_nothing_is_said_of_judges(self) -> None:
        at = simulate()
        assert any("judges' models" in caution for caution in self.cautions(at))
        assert find_verdict_warnings(simulate().debate) == []


@pytest.mark.requirement("N5")
def test_where_a_debate_comes_from_is_said_in_a_sentence() -> None:
    assert origin_line("", "", 0) == ""
    assert origin_line("", "k3x9w2m4p7qr", 2).startswith("Forked from k3x9w2m4p7qr")
    assert origin_line("k3x9w2m4p7qr", "", 0).startswith("The mirror of k3x9w2m4p7qr: the same debate")
