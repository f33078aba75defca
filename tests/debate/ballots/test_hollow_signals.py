"""Signs of hollow agreement: for each a panel in which it fires, and its neighbour in which it does not."""

from fractions import Fraction
from typing import Any

import pytest

from server.debate.ballots.hollow import THRESHOLDS, SignalRow, build_signals
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import Spoke
from server.debate.machine.transitions import apply, replay
from server.debate.views.markdown import format_details, render_transcript
from server.debate.views.verdict import build_report, build_verdict
from tests.support import simulation
from tests.support.hollow_debates import (
    AGREED,
    BUILD,
    FLIPPED,
    NAMES,
    SEARCH,
    TESTS,
    Ballot,
    hold,
    own_choices,
)

pytestmark = pytest.mark.requirement("D13")

ALL_FOR_ADA: dict[tuple[str, int], Ballot] = {
    (name, n): ("A", 80, "A1 1", "New.") for name in NAMES for n in (0, 1, 2)
}


def find(at: simulation.DebateSimulation, name: str) -> SignalRow | None:
    return next((row for row in build_signals(at.debate) if row.name == name), None)


def is_raised(at: simulation.DebateSimulation, name: str) -> bool:
    row = find(at, name)
    return row is not None and row.raised


class TestGap:
    def test_it_is_private_disbelief_in_what_one_says_one_holds(self) -> None:
        for percent, raised in ((70, True), (71, False)):
            kept = {key: (choice, percent, None, "New.") for key, (choice, *_) in own_choices().items()}
            row = find(hold(kept).play_to_round(2), "gap")
            assert row is not None
            assert (row.raised, row.counts[:6]) == (raised, "0 of 3")
            assert Fraction(row.value) == 1 - Fraction(percent, 100)

    def test_what_counts_is_what_a_debater_said_last(self) -> None:
        for said, apart in (("A", 2), ("B", 1), ("none", 2), ("Nobody here", 1)):
            at = hold(own_choices(), public=AGREED | {("Bob", 2): said}, max_rounds=3).play_to_round(3)
            row = find(at, "gap")
            assert row is not None
            assert row.counts.startswith(f"{apart} of 3") or said == "Nobody here"

    def test_who_says_nothing_of_its_position_is_not_counted(self) -> None:
        at = hold(FLIPPED, max_rounds=2)
        script = at.script

        def say(call: Any) -> Any:
            return "[1] In prose, as people write." if call.task == "argument" else script(call)

        prose = simulation.simulate(at.debate.setup, say).play()
        assert find(prose, "gap") is None
        assert not prose.debate.alerts
        assert {turn.holds for turn in prose.debate.turns} == {""}

    def test_others_and_people_read_who_has_come_over(self) -> None:
        at = hold(own_choices(), public=AGREED, max_rounds=2).play()
        prompts = [simulation.render_prompt_text(p) for c, p in at.calls_made if c.round == 2]
        assert any("[B1: plan of Bob, now for A1]" in prompt for prompt in prompts)
        assert not any("[A1: plan of Ada, now for" in prompt for prompt in prompts)
        assert '### Bob ("plan of Bob"), now for Ada' in render_transcript(at.debate, at.log)

    def test_a_broken_object_is_asked_for_again_and_a_turn_names_who_there_is(self) -> None:
        at = hold()
        script, tried = at.script, set[str]()

        def say(call: Any) -> Any:
            if call.task == "argument" and call.seat not in tried:
                tried.add(call.seat)
                return '{"response": "[1] It brea'
            return script(call)

        again = simulation.simulate(at.debate.setup, say).play_to_round(2)
        assert len(again.debate.turns) == 3
        index = next(n for n, event in enumerate(again.events) if isinstance(event, Spoke))
        with pytest.raises(IllegalEvent, match="nobody stands for Zoe"):
            apply(replay(again.events[:index]), again.events[index].model_copy(update={"holds": "Zoe"}))


class TestPatterns:
    def test_quick_unanimity_is_agreement_that_was_not_there_before(self) -> None:
        before: dict[tuple[str, int], Ballot] = {("Bob", 0): ("B", 80, None, None)}
        assert is_raised(hold(ALL_FOR_ADA | before).play_to_round(2), "quick_unanimity")
        assert not is_raised(hold(ALL_FOR_ADA).play_to_round(2), "quick_unanimity")  # they agreed before
        assert not is_raised(hold(own_choices()).play_to_round(2), "quick_unanimity")
        late = own_choices(2) | {(name, 3): ("A", 80, "A1 3", "New.") for name in NAMES}
        assert find(hold(late, max_rounds=3).play(), "quick_unanimity") is None

    def test_shallow_reasoning_is_a_flip_without_a_reason_that_was_new(self) -> None:
        for moved, raised in ((None, True), ("A1 1", True), ("A1 2", False)):
            ballots = own_choices() | {("Bob", 2): ("A", 80, moved, "New.")}
            at = hold(ballots, max_rounds=3).play_to_round(3)
            assert is_raised(at, "shallow_reasoning") == raised
        one_of_four = own_choices() | {("Bob", 1): ("A", 80, None, "New.")}
        row = find(hold(one_of_four, seats=4).play_to_round(2), "shallow_reasoning")
        assert row is not None
        assert (row.value, row.raised) == ("0.2500", False)

    def test_an_echo_chamber_agrees_on_the_same_passages(self) -> None:
        lists = {("Ada", 1): f"[1] {BUILD} [2] {TESTS} [3] {SEARCH}"}
        more = "“The search takes nine seconds on” (doc 2)"
        for bob, value in ((f"[1] {BUILD}", "0.3333"), (f"[1] {BUILD} and {more}", "0.2500")):
            row = find(hold(ALL_FOR_ADA, {**lists, ("Bob", 1): bob}).play_to_round(2), "echo_chamber")
            assert row is not None
            assert (row.value, row.raised) == (value, True)
        apart = {**lists, ("Bob", 1): f"[1] {BUILD}", ("Cleo", 1): f"[1] {more}"}
        row = find(hold(ALL_FOR_ADA, apart).play_to_round(2), "echo_chamber")
        assert row is not None
        assert (row.value, row.raised, row.counts[:6]) == ("0.1111", False, "1 of 4")
        wrong = {("Ada", 1): f"[1] {BUILD}", ("Bob", 1): f"[1] {BUILD.replace('forty', 'fifty')}"}
        assert find(hold(ALL_FOR_ADA, wrong).play_to_round(2), "echo_chamber") is None

    def test_those_who_differ_are_no_echo_whatever_they_quote(self) -> None:
        same = {("Ada", 1): f"[1] {BUILD}", ("Bob", 1): f"[1] {BUILD}"}
        assert find(hold(own_choices(), same).play_to_round(2), "echo_chamber") is None

    def test_groupthink_leaves_a_minority_without_an_answer(self) -> None:
        ballots: dict[tuple[str, int], Ballot] = {
            (name, n): (choice, 80, None, "New.")
            for name, choice in (("Ada", "A"), ("Bob", "A"), ("Cleo", "C"))
            for n in (1, 2)
        }
        lost = hold(ballots, {("Bob", 2): "[1] Yes [supports A1 1.1]."}).play()
        row = find(lost, "groupthink")
        assert row is not None
        assert (row.raised, row.counts[:6]) == (True, "2 of 2")
        order = {"speaking": "declared"}
        both = {("Cleo", 1): "One.", ("Cleo", 2): "[1] So [C1 1.1].", ("Bob", 2): "[1] But [C1 1.1]."}
        row = find(hold(ballots, both, options=order).play(), "groupthink")
        assert row is not None
        assert row.counts.startswith("1 of 2")
        assert find(hold(ballots).play(), "groupthink") is None  # nobody cites anything: nothing is known


class TestAdvocates:
    def test_two_who_quote_one_document_are_no_echo(self) -> None:
        """They do not change their mind in public, and no sign of it is computed."""
        script = simulation.task_script({"argument": lambda _: f"[1] As it says: {BUILD}"})
        options = {"ballots": "blind"}
        documents = hold().debate.setup.documents
        opened = simulation.build_setup(max_rounds=2, options=options)
        at = simulation.simulate(opened.model_copy(update={"documents": documents}), script).play()
        found = build_report(at.debate)
        assert (found.signals, found.alerts) == ([], [])
        assert "Public against private" not in format_details(found)

    def test_challenges_are_refused_to_them(self) -> None:
        with pytest.raises(InvalidRequestError, match=r"advocates never do\. Formats: settle, round_robin"):
            simulation.build_setup(options={"challenges": "challenge"})
        with pytest.raises(InvalidRequestError, match="needs private ballots"):
            simulation.build_setup(format="settle", options={"challenges": "challenge", "ballots": "none"})


def test_off_nothing_is_computed() -> None:
    at = hold(FLIPPED, options={"challenges": "off"}).play()
    assert build_verdict(at.debate).signals == []
    assert at.debate.alerts == ()


def test_each_sign_is_a_row_with_its_threshold_and_counts() -> None:
    at = hold(FLIPPED, public=AGREED, max_rounds=2).play()
    rows = build_verdict(at.debate).signals
    assert {row.name for row in rows} <= {*THRESHOLDS}
    assert rows[0].name == "gap"
    assert rows[0].model_dump().keys() == {"name", "raised", "value", "threshold", "counts"}
    assert "- shallow_reasoning: 0.6667 raised (from 0.3000 on): 2 of 3 debaters" in format_details(
        build_report(at.debate)
    )
