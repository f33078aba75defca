"""Patterns of hollow agreement: for each a debate that shows it, and a neighbour that does not."""

import pytest

from server.debate.ballots.hollow import list_patterns
from tests.support import simulation
from tests.support.hollow_debates import BUILD, NAMES, SEARCH, TESTS, hold, own_choices

pytestmark = pytest.mark.requirement("D13")


def patterns(at: simulation.DebateSimulation) -> tuple[str, ...]:
    return list_patterns(at.debate)


def alerted(at: simulation.DebateSimulation, number: int) -> tuple[str, ...]:
    """The patterns of the alert after a round."""
    return next((alert.patterns for alert in at.debate.alerts if alert.round == number), ())


class TestPatterns:
    def test_quick_unanimity_is_agreement_that_was_not_there_before(self) -> None:
        agreed = {(name, n): ("A", 80, "A1 1", "New.") for name in NAMES for n in (1, 2)}
        before = {("Bob", 0): ("B", 80, None, None)}
        assert "quick_unanimity" in patterns(hold({**agreed, **before}).play_to_round(2))
        assert "quick_unanimity" not in patterns(hold(agreed).play_to_round(2))  # they agreed before
        assert "quick_unanimity" not in patterns(hold(own_choices() | before).play_to_round(2))
        late = own_choices(2) | {(name, 3): ("A", 80, "A1 3", "New.") for name in NAMES}
        assert "quick_unanimity" not in patterns(hold(late, max_rounds=3).play())
        assert "quick_unanimity" in patterns(hold(own_choices(), settled=1).play())  # by the moderator's word

    def test_shallow_reasoning_is_a_flip_without_a_new_reason_or_movement_without_news(self) -> None:
        for moved, holds in ((None, True), ("A1 1", False)):
            ballots = own_choices() | {("Bob", 1): ("A", 80, moved, "New.")}
            assert ("shallow_reasoning" in patterns(hold(ballots).play_to_round(2))) == holds
        quiet = {key: (choice, 80, None, None) for key, (choice, *_) in own_choices().items()}
        assert "shallow_reasoning" not in patterns(hold(quiet, max_rounds=1).play())
        moved_a_little = quiet | {("Bob", 1): ("B", 79, None, None)}
        assert "shallow_reasoning" in patterns(hold(moved_a_little, max_rounds=1).play())
        named = moved_a_little | {("Cleo", 1): ("C", 80, None, "New.")}
        assert "shallow_reasoning" not in patterns(hold(named, max_rounds=1).play())

    def test_an_echo_chamber_quotes_one_thing_or_repeats(self) -> None:
        agreed = {(name, n): ("A", 80, "A1 1", "New.") for name in NAMES for n in (0, 1, 2)}
        same = {(name, 1): f"[1] {BUILD} and {SEARCH}" for name in NAMES}
        assert "echo_chamber" in patterns(hold(agreed, same).play_to_round(2))
        three = f"{BUILD} and {SEARCH} and {TESTS}"
        apart = {
            ("Ada", 1): f"[1] {three}",
            ("Bob", 1): f"[1] {BUILD} and {SEARCH}",
            ("Cleo", 1): f"[1] {TESTS} and {SEARCH}",
        }
        assert "echo_chamber" not in patterns(hold(agreed, apart).play_to_round(2))
        one = {("Ada", 1): f"[1] {BUILD}", ("Bob", 1): f"[1] {TESTS}"}
        assert "echo_chamber" in patterns(hold(own_choices(), one).play_to_round(2))
        two = {("Ada", 1): f"[1] {BUILD}", ("Bob", 1): f"[1] {SEARCH}"}
        assert "echo_chamber" not in patterns(hold(own_choices(), two).play_to_round(2))
        again = {("Ada", 2): "[1] As [repeats B1 1.1].", ("Bob", 2): "[1] As [repeats A1 1.1]."}
        assert "echo_chamber" in patterns(hold(own_choices(), again).play())
        once = {("Ada", 2): "[1] As [repeats B1 1.1]."}
        assert "echo_chamber" not in patterns(hold(own_choices(), once).play())

    def test_groupthink_is_where_attacks_stop_or_dissent_is_silent_or_lost(self) -> None:
        first = {("Bob", 1): "[1] No [A1 1.1]."}
        assert "groupthink" in patterns(hold(own_choices(), first).play())
        goes_on = {**first, ("Cleo", 2): "[1] No [A1 1.1]."}
        assert "groupthink" not in patterns(hold(own_choices(), goes_on).play())
        assert "groupthink" not in patterns(
            hold(own_choices()).play()
        )  # nobody cites anything: nothing is known

    def test_groupthink_is_silence_of_those_who_hold_otherwise(self) -> None:
        ballots = own_choices() | {("Bob", 2): ("C", 80, None, "New."), ("Ada", 2): ("A", 80, None, "New.")}
        turns = {
            ("Bob", 1): "[1] So be it [changed by A1 1.1].",
            ("Cleo", 2): "[1] No [attacks A1 1.1]. Nor [attacks B1 1.1].",
            ("Ada", 2): "[1] No [attacks C1 1.1].",
        }
        assert "groupthink" in alerted(hold(ballots, turns).play(), 2)
        spoken = {**turns, ("Bob", 2): "[1] No [attacks A1 1.1]. Still [supports C1 1.1]."}
        assert "groupthink" not in alerted(hold(ballots, spoken).play(), 2)

    def test_groupthink_is_a_minority_of_which_nothing_is_left(self) -> None:
        ballots = {(name, n): ("A", 80, None, "New.") for name in ("Ada", "Bob") for n in (1, 2)}
        ballots |= {("Cleo", n): ("C", 80, None, "New.") for n in (1, 2)}
        attacked = {("Bob", 2): "[1] No [attacks A1 1.1]."}
        assert "groupthink" in patterns(hold(ballots, attacked).play())
        taken_up = {("Bob", 2): "[1] No [attacks A1 1.1]. But [cites C1 1.1]."}
        assert "groupthink" not in patterns(hold(ballots, taken_up).play())
