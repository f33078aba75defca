"""What private ballots may end: a talk that need not be held, or need not go on. No verdict gets surer by it."""

import random
from fractions import Fraction
from typing import Any

import pytest

from server.debate.ballots.convergence import choose_stop_reason
from server.debate.facts.beliefs import Converged
from server.debate.views.markdown import render_transcript
from server.debate.views.verdict import build_report
from tests.support.simulation import (
    DebateSimulation,
    build_ballot,
    build_setup,
    render_finding,
    simulate,
    task_script,
)

P, OPP = "Proponent", "Opponent"
TWO_FAMILIES = ("openai/gpt-5", "anthropic/claude-4")
stopping = pytest.mark.requirement("D12")


def talk(
    *percents: int, stop: str = "on", new_point: str = "", open_point: str = "", rounds: int = 4
) -> DebateSimulation:
    """A debate whose voters hold the first position so likely before the talk, and after each round."""

    def ballot(call: Any) -> dict[str, Any]:
        number = 0 if call.slot_index == 100 else min(call.round, len(percents) - 1)
        words = {"new_point": new_point, "open_point": open_point, "moved_by": None}
        return build_ballot("A", percent=percents[number]) | words

    options = {"ballots": "rounds", "stop": stop}
    return simulate(
        build_setup(TWO_FAMILIES, max_rounds=rounds, options=options), task_script({"ballot": ballot})
    ).play()


@stopping
def test_a_talk_ends_where_belief_is_high_and_nothing_is_open() -> None:
    at = talk(60, 70, 92)
    assert at.debate.convergence == (
        Converged(round=2, why="sure", movement="0.2200", belief="0.9200", leader=P),
    )
    assert at.debate.talk_round_count == 2
    assert at.debate.rounds[-1].because == "converged"
    assert talk(60, 70, 92, 94, open_point="Who pays?", new_point="Taxes.").debate.talk_round_count == 4
    assert talk(60, 70, 89).debate.talk_round_count == 3  # nobody moves after the second round


@stopping
def test_a_talk_ends_where_nobody_moves_and_nobody_says_anything_new() -> None:
    at = talk(60, 70, 72)
    assert at.debate.convergence == (
        Converged(round=2, why="unmoved", movement="0.0200", belief="0.7200", leader=P),
    )
    assert "The talk ends after round 2: no voter moved by more than 0.0200" in render_transcript(
        at.debate, at.log
    )
    assert talk(60, 70, 72, new_point="It costs more.").debate.talk_round_count == 4
    assert talk(60, 70, 75, 81, 87).debate.talk_round_count == 4


def report(ballot: Any) -> tuple[Converged, ...]:
    """What is said of two rounds of talk with these ballots after the first."""
    options = {"ballots": "rounds", "stop": "on"}
    at = simulate(build_setup(TWO_FAMILIES, max_rounds=3, options=options), task_script({"ballot": ballot}))
    return at.play().debate.convergence


@stopping
def test_no_voter_counts_as_certain() -> None:
    found = report(lambda c: build_ballot("A" if c.seat == P else "B", percent=100))
    assert found == (Converged(round=2, why="unmoved", movement="0.0000", belief="0.5000", leader=P),)


@stopping
def test_one_voter_that_moves_is_enough_for_another_round() -> None:
    assert report(lambda c: build_ballot("A", percent=60 + (c.seat == P) * 10 * c.round)) == ()


@stopping
@pytest.mark.parametrize(("cited", "ends"), [("A1 1", True), ("A1 2", False)])
def test_only_a_turn_of_the_last_round_that_moved_a_voter_is_new(cited: str, ends: bool) -> None:
    def ballot(call: Any) -> dict[str, Any]:
        return build_ballot("A", percent=60) | {"moved_by": cited if call.round == 2 else None}

    assert bool(report(ballot)) == ends


@stopping
def test_nothing_is_sure_where_voters_hold_none_of_the_positions() -> None:
    assert report(build_ballot(None) | {"new_point": "It costs more."}) == ()


@stopping
def test_never_before_the_second_round_and_only_if_it_was_asked_for() -> None:
    assert talk(99, 99, 99).debate.talk_round_count == 2
    unasked = talk(60, 70, 92, stop="off").debate
    assert (unasked.talk_round_count, unasked.convergence) == (4, ())


@stopping
@pytest.mark.parametrize(
    ("action", "asked"),
    [("extend", {"rounds": 1}), ("inject", {"text": "It rains."}), ("challenge", {"text": "And the cost?"})],
)
def test_whoever_asks_for_more_or_adds_a_text_gets_another_round(action: str, asked: dict[str, Any]) -> None:
    def ballot(_: Any) -> dict[str, Any]:
        return build_ballot("A", percent=99)

    options = {"ballots": "rounds", "stop": "on"}
    at = simulate(build_setup(max_rounds=4, options=options), task_script({"ballot": ballot})).play_to_round(
        2
    )
    at.intervene(action, **asked)
    at.play()
    assert at.debate.talk_round_count == 3


@stopping
def test_a_debate_that_may_end_early_asks_for_ballots_only_where_they_could_end_it() -> None:
    at = simulate(build_setup(max_rounds=4, options={"ballots": "blind", "stop": "on"}))
    at.script = task_script(
        {"ballot": lambda c: build_ballot("A", percent=40 + 10 * c.round) | {"new_point": "It rains."}}
    )
    at.play()
    assert [(ballot.round, ballot.wave) for ballot in at.debate.private_ballots[::2]] == [
        (1, "blind"),
        (2, "round"),
        (3, "round"),
        (5, "final"),
    ]


@stopping
def test_nothing_ends_without_everybodys_ballot() -> None:
    def ballot(call: Any) -> Any:
        return "?" if call.seat == P and call.round > 1 else build_ballot("A", percent=99)

    options = {"ballots": "rounds", "stop": "on"}
    at = simulate(build_setup(max_rounds=3, options=options), task_script({"ballot": ballot})).play()
    assert at.debate.talk_round_count == 3


@stopping
@pytest.mark.parametrize(
    ("belief", "movement", "new", "opened", "reason"),
    [
        ("9/10", "1", True, False, "sure"),
        ("899/1000", "1", True, False, ""),
        ("9/10", "1", True, True, ""),
        ("1/2", "49/1000", False, True, "unmoved"),
        ("1/2", "1/20", False, False, ""),
        ("1/2", "0", True, False, ""),
    ],
)
def test_the_thresholds_are_exact(belief: str, movement: str, new: bool, opened: bool, reason: str) -> None:
    found = choose_stop_reason(
        Fraction(belief), Fraction(movement), is_anything_new=new, is_anything_open=opened
    )
    assert found == reason
    assert choose_stop_reason(Fraction(1, 2), None, is_anything_new=False, is_anything_open=False) == ""


@stopping
@pytest.mark.parametrize("seed", range(4))
def test_conformity_alone_raises_no_confidence(seed: int) -> None:
    """Debaters who come to agree only because others do: what they hold blind, and what judges find, stays the same.

    A stop may come earlier; the judges decide alike.
    """
    chance = random.Random(seed)  # noqa: S311
    blind = {P: chance.choice([55, 70, 85, 96]), OPP: chance.choice([55, 70, 85, 96])}
    sides = {P: "A", OPP: chance.choice("AB")}
    finding = chance.choice("AB")

    def play(conformity: int) -> DebateSimulation:
        def ballot(call: Any) -> dict[str, Any]:
            if call.slot_index == 100:
                return build_ballot(sides[call.seat], percent=blind[call.seat])
            return build_ballot("A", percent=min(blind[call.seat] + conformity * call.round, 99))

        options = {"ballots": "rounds", "stop": "on"}
        script = task_script({"ballot": ballot, "judgment": lambda _: render_finding(finding)})
        return simulate(build_setup(TWO_FAMILIES, max_rounds=4, options=options), script).play()

    alone, conforming = play(0), play(20)
    found, other = build_report(alone.debate), build_report(conforming.debate)
    assert (other.outcome, other.winner, other.confidence) == (found.outcome, found.winner, found.confidence)
    assert conforming.debate.talk_round_count <= alone.debate.talk_round_count or alone.debate.convergence
