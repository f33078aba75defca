"""Signs of hollow agreement: for each signal and limit a debate in which it fires, and its neighbour."""

from fractions import Fraction
from itertools import cycle, islice
from typing import Any

import pytest

from server.debate.analysis.confidence import build_confidence
from server.debate.ballots.challenges import build_signals, describe_signs
from server.debate.ballots.hollow import (
    THRESHOLDS,
    describe_counts,
    is_worth_a_challenge,
    measure_signals,
)
from server.debate.facts.beliefs import Signal
from server.debate.facts.errors import InvalidRequestError
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.markdown import render_verdict
from server.debate.views.verdict import build_verdict
from tests.support import simulation
from tests.support.hollow_debates import BUILD, FLIPPED, NAMES, SEARCH, TESTS, hold, own_choices

pytestmark = pytest.mark.requirement("D13")


def find(at: simulation.DebateSimulation, name: str) -> Signal:
    return next(signal for signal in measure_signals(at.debate) if signal.name == name)


class TestSignals:
    def test_a_gap_is_private_disbelief_in_what_one_stands_for(self) -> None:
        for percent, raised in ((70, True), (71, False)):
            kept = {key: (choice, percent, None, "New.") for key, (choice, *_) in own_choices().items()}
            at = hold(kept).play_to_round(2)
            found = find(at, "gap")
            assert (found.raised, found.part, found.whole) == (raised, 0, 3)
            assert Fraction(found.value) == 1 - Fraction(percent, 100)

    def test_who_says_what_changed_its_mind_stands_for_that_position(self) -> None:
        ballots = own_choices() | {("Bob", 2): ("A", 80, "A1 1", "New.")}
        silent = hold(ballots, max_rounds=3).play_to_round(3)
        assert (find(silent, "gap").part, find(silent, "gap").raised) == (1, True)
        told = hold(ballots, {("Bob", 2): "[1] So be it [changed by A1 1.1]."}, max_rounds=3).play_to_round(3)
        assert (find(told, "gap").part, find(told, "gap").raised) == (0, False)
        nobody = hold(
            ballots, {("Bob", 2): "[1] So be it [changed by Dora 1.1]."}, max_rounds=3
        ).play_to_round(3)
        assert find(nobody, "gap").part == 1

    def test_a_flip_is_unexplained_without_a_reason_that_was_new(self) -> None:
        for moved, flips in ((None, 1), ("A1 1", 1), ("A1 2", 0)):
            ballots = own_choices() | {("Bob", 2): ("A", 80, moved, "New.")}
            at = hold(ballots, max_rounds=3).play_to_round(3)
            found = find(at, "unexplained_flips")
            assert (found.part, found.whole, found.raised) == (flips, 3, bool(flips))

    def test_three_in_ten_is_the_threshold_of_flips(self) -> None:
        ballots = own_choices() | {("Bob", 1): ("A", 80, None, "New.")}
        at = hold(ballots, seats=4).play_to_round(2)
        assert (find(at, "unexplained_flips").value, find(at, "unexplained_flips").raised) == (
            "0.2500",
            False,
        )

    def test_nothing_new_counts_where_agreement_rises(self) -> None:
        for named, raised in ((0, True), (1, True), (2, False)):
            ballots = own_choices()
            for number, name in enumerate(NAMES):
                ballots[name, 1] = ("A", 80, "A1 1", "New." if number < named else None)
            at = hold(ballots, seats=4).play_to_round(2)
            found = find(at, "nothing_new")
            assert (found.part, found.whole, found.raised) == (4 - named, 4, raised)
        steady = {key: (choice, 80, None, None) for key, (choice, *_) in own_choices().items()}
        assert (find(hold(steady).play_to_round(2), "nothing_new").value) == "0.0000"

    def test_overlap_is_of_the_passages_that_were_found(self) -> None:
        same = {("Ada", 1): f"[1] {BUILD}", ("Bob", 1): f"[1] {BUILD}"}
        other = {("Ada", 1): f"[1] {BUILD}", ("Bob", 1): f"[1] {TESTS}"}
        wrong = {("Ada", 1): f"[1] {BUILD}", ("Bob", 1): f"[1] {BUILD.replace('forty', 'fifty')}"}
        assert find(hold(turns=same).play_to_round(2), "overlap").raised
        assert find(hold(turns=same).play_to_round(2), "overlap").value == "1.0000"
        assert (find(hold(turns=other).play_to_round(2), "overlap").value) == "0.0000"
        assert find(hold(turns=wrong).play_to_round(2), "overlap").value == ""

    def test_one_in_five_is_the_threshold_of_overlap(self) -> None:
        lists = {("Ada", 1): f"[1] {BUILD} [2] {TESTS} [3] {SEARCH}"}
        more = "“The search takes nine seconds on” (doc 2)"
        for bob, value in ((f"[1] {BUILD}", "0.3333"), (f"[1] {BUILD} and {more}", "0.2500")):
            found = find(hold(turns={**lists, ("Bob", 1): bob}).play_to_round(2), "overlap")
            assert (found.value, found.raised) == (value, True)
        three = {**lists, ("Bob", 1): f"[1] {BUILD}", ("Cleo", 1): f"[1] {more}"}
        found = find(hold(turns=three).play_to_round(2), "overlap")
        assert (found.value, found.raised, found.part, found.whole) == ("0.1111", False, 1, 4)

    def test_an_attack_is_unanswered_until_its_target_speaks_to_it(self) -> None:
        attack = {("Bob", 1): "[1] No [A1 1.1]."}
        ignored = hold(turns=attack).play()
        assert (find(ignored, "unanswered_attacks").part, find(ignored, "unanswered_attacks").raised) == (
            1,
            True,
        )
        answered = hold(turns={**attack, ("Ada", 2): "[1] Yes [B1 1.1]."}).play()
        assert (find(answered, "unanswered_attacks").part, find(answered, "unanswered_attacks").raised) == (
            0,
            False,
        )
        late = hold(turns={("Bob", 2): "[1] No [A1 1.1]."}).play()
        assert find(late, "unanswered_attacks").whole == 0  # nobody could answer it any more

    def test_dissent_is_lost_where_nobody_takes_it_up(self) -> None:
        ballots = {(name, n): ("A", 80, None, "New.") for name in ("Ada", "Bob") for n in (1, 2)}
        ballots |= {("Cleo", n): ("C", 80, None, "New.") for n in (1, 2)}
        lost = hold(ballots, {("Bob", 2): "[1] Yes [supports A1 1.1]."}).play()
        assert (find(lost, "lost_dissent").part, find(lost, "lost_dissent").whole) == (2, 2)
        taken_back = hold(ballots, {("Bob", 2): "[1] Yes [supports A1 1.1]."}).play_to_round(2)
        taken_back.intervene("retract", to="Cleo", round=1)
        assert find(taken_back.play(), "lost_dissent").whole == 1
        kept = hold(ballots, {("Bob", 2): "[1] But [C1 1.1]. And [C1 2.1]."}).play()
        assert (find(kept, "lost_dissent").part, find(kept, "lost_dissent").raised) == (1, True)
        both = hold(
            ballots, {("Bob", 2): "[1] But [C1 1.1] and [C1 2.1]."}, options={"speaking": "declared"}
        ).play()
        assert find(both, "lost_dissent").whole == 2

    @pytest.mark.parametrize("count", [2, 3, 5])
    @pytest.mark.parametrize(
        ("models", "value", "raised"),
        [
            (("m",), "0.9000", True),
            (("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-4.1", "gpt-4o"), "0.7000", False),
            (("gpt-5", "claude-opus-5", "gemini-3", "qwen3", "mistral-large"), "0.5000", False),
            (("human",), "0.5000", False),  # people are voices of their own
        ],
        ids=["one-model", "one-family", "apart", "people"],
    )
    def test_dependence_is_that_of_two_debaters_however_many_there_are(
        self, models: tuple[str, ...], value: str, raised: bool, count: int
    ) -> None:
        names = list(islice(cycle(models), count))
        team = [{"name": f"S{n}", "stance": f"plan {n}", "model": name} for n, name in enumerate(names)]
        opened = simulation.build_setup(format="settle", debaters=team, options={"ballots": "rounds"})
        found = find(simulation.simulate(opened).play_to_round(2), "dependence")
        assert (found.value, found.raised) == (value, raised)
        assert (found.part, found.whole) == (count if models == ("m",) else 0, count)

    def test_debaters_are_shown_as_the_voices_that_they_amount_to(self) -> None:
        team = [{"name": f"S{n}", "stance": f"plan {n}", "model": "m"} for n in range(5)]
        opened = simulation.build_setup(format="settle", debaters=team, options={"ballots": "rounds"})
        debate = simulation.simulate(opened).play_to_round(2).debate
        told = describe_counts(debate, measure_signals(debate)[-1])
        assert told == "5 of 5 debaters who share a model, 1.1 independent voices"

    def test_models_are_those_that_answered_whatever_they_were_asked_as(self) -> None:
        team = [{"name": f"S{n}", "stance": f"plan {n}", "model": f"router/{n}"} for n in range(5)]
        opened = simulation.build_setup(format="settle", debaters=team, options={"ballots": "rounds"})

        def script(call: Call) -> simulation.ScriptAnswer:
            usual = str(simulation.default_script(call))
            return Reply(usual, simulation.build_usage("gpt-5")) if call.task == "argument" else usual

        at = simulation.simulate(opened, script)
        assert find(at.play_to_round(1), "dependence").part == 0
        assert find(at.play_to_round(2), "dependence").part == 5


class TestAdvocates:
    def advocates(self, **options: Any) -> simulation.DebateSimulation:
        return simulation.simulate(
            simulation.build_setup(max_rounds=2, options={"ballots": "blind", **options})
        ).play()

    def test_what_needs_a_change_of_mind_in_public_is_not_computed_and_that_is_said(self) -> None:
        rows = build_verdict(self.advocates().debate).signals
        told = {row.name: row.counts for row in rows if not row.value}
        for name in ("gap", "unexplained_flips", "nothing_new"):
            assert told[name] == "not computed: advocates do not change their mind in public"
        assert not is_worth_a_challenge(measure_signals(self.advocates().debate))

    def test_challenges_are_refused_to_them(self) -> None:
        with pytest.raises(InvalidRequestError, match=r"advocates never do\. Formats: settle, round_robin"):
            simulation.build_setup(options={"challenges": "challenge"})
        with pytest.raises(InvalidRequestError, match="needs private ballots"):
            simulation.build_setup(format="settle", options={"challenges": "challenge", "ballots": "none"})

    def test_off_nothing_is_computed(self) -> None:
        at = self.advocates(challenges="off")
        assert build_verdict(at.debate).signals == []
        assert at.debate.alerts == ()


def test_signals_never_move_the_confidence() -> None:
    options = {"ballots": "blind", "judges": {"models": ["x", "y"]}}
    made = [
        simulation.simulate(
            simulation.build_setup(max_rounds=2, options=options | {"challenges": mode})
        ).play()
        for mode in ("off", "report")
    ]
    off, on = (build_verdict(at.debate) for at in made)
    assert (off.confidence, off.outcome, off.panel) == (on.confidence, on.outcome, on.panel)
    assert build_confidence is not None


def test_each_signal_is_a_row_with_its_threshold_and_counts() -> None:
    at = hold(FLIPPED, max_rounds=3).play()
    rows = build_signals(at.debate)
    assert [row.name for row in rows] == list(THRESHOLDS)
    gap = rows[0].model_dump()
    assert gap.keys() == {"name", "raised", "value", "threshold", "counts"}
    assert (gap["raised"], gap["threshold"]) == (True, "0.3000")
    assert gap["counts"] == "2 of 3 debaters who choose otherwise in private"
    _, lines = describe_signs(rows, [])
    assert lines[0].startswith("gap: ")
    assert any(line.endswith("not computed: nothing to count") for line in lines)
    assert "**Signs of hollow agreement: gap" in render_verdict(at.debate)
