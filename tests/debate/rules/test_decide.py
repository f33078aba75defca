from collections.abc import Callable

import pytest

from server.debate.commands.setup.formats import FORMATS, PHASES
from server.debate.facts.causes import FailureCause
from server.debate.facts.events import Failed, Paused, PhaseEntered, Resumed
from server.debate.facts.interventions import TalkConcluded
from server.debate.facts.setup.phases import Phase
from server.debate.machine.decide import Record, Wait, decide, is_round_over
from server.debate.rules.calls import Call, pending_calls
from server.debate.state.debate import Debate
from server.debate.views.warnings import failure_lines
from tests.support.simulation import (
    ARGUED_FORMATS,
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    acceptable_calls,
    build_debaters,
    build_setup,
    default_script,
    simulate,
)

pytestmark = pytest.mark.requirement("C12")

CONCLUDE = TalkConcluded(reason="enough")


def rounds(at: DebateSimulation) -> list[tuple[str, int, str]]:
    return [(entered.phase, entered.round, entered.because) for entered in at.debate.rounds]


def seats_of(calls: tuple[Call, ...]) -> list[tuple[str, int]]:
    return [(call.seat, call.attempt) for call in calls]


def failing(*seats: str, cause: str = "timeout") -> Callable[[Call], ScriptAnswer]:
    """`talk`, but these seats' provider fails."""
    return lambda call: (
        ProviderFailure("timeout", f"{cause} there") if call.seat in seats else default_script(call)
    )


class TestToTheEnd:
    @pytest.mark.parametrize("name", ARGUED_FORMATS)
    def test_every_format_takes_the_rounds_it_is_given(self, name: str) -> None:
        row = FORMATS[name]
        for most in sorted({1, 2, 3, 4, min(row.max_allowed_rounds, 20)}):
            at = simulate(build_setup(format=name, max_rounds=most)).play()
            assert at.debate.talk_round_count == most
            assert at.debate.round == most + sum(not phase.is_talk for phase in row.phases)
            assert at.debate.ended
            assert at.debate.ended.cause == ("max_turns" if row.default_turns else "max_rounds")

    @pytest.mark.parametrize(
        ("most", "names"),
        [
            (2, ["argument", "closing"]),
            (3, ["argument", "argument", "closing"]),
            (4, ["argument", "argument", "argument", "closing"]),
        ],
    )
    def test_a_phase_that_repeats_leaves_room_for_the_talk_after_it(
        self, most: int, names: list[str]
    ) -> None:
        phases = (
            Phase(name="argument", participants="debaters", order="together", repeats=True),
            Phase(name="closing", participants="debaters", order="together"),
            PHASES["verdict"],
        )
        at = simulate(build_setup().model_copy(update={"phases": phases, "max_rounds": most})).play()
        assert [name for name, *_ in rounds(at)] == [*names, "verdict"]


class TestTheEndOfTheTalk:
    def test_a_predicate_is_asked_once_after_each_round_of_talk_and_never_before(self) -> None:
        seen = []

        def never(debate: Debate) -> bool:
            seen.append((debate.round, len(debate.turns)))
            return False

        simulate(build_setup(max_rounds=4), terminate_when=never).play()
        assert seen == [(1, 2), (2, 4), (3, 6)]

    def test_a_talk_that_is_to_be_concluded_asks_no_debater_any_more(self) -> None:
        at = simulate().play_to_round(1).add_events(CONCLUDE)
        assert pending_calls(at.debate) == ()
        assert isinstance(decide(at.debate), Record)
        assert at.play().debate.turns == ()

    def test_a_turn_under_way_is_still_taken_when_the_talk_is_concluded(self) -> None:
        at = simulate().play_to_round(1)
        calls = at.pending_calls()
        at.add_events(CONCLUDE)
        assert acceptable_calls(at.debate) == calls
        at.add_events(*map(at.answer, calls)).play()
        assert len(at.debate.turns) == 2
        assert at.debate.verdict


class TestWhoIsAskedWhen:
    def test_every_question_has_a_key_of_its_own(self) -> None:
        at = simulate(script=lambda call: "" if call.attempt == 1 else default_script(call)).play()
        keys = [call.key for call, _ in at.calls_made]
        assert len(keys) == len(set(keys)) == 12

    def test_a_question_is_always_put_with_the_same_seed(self) -> None:
        def seeds(seed: int) -> list[int]:
            return [call.seed for call, _ in simulate(build_setup(seed=seed)).play().calls_made]

        assert seeds(7) == seeds(7)
        assert set(seeds(7)).isdisjoint(seeds(8))
        assert len(set(seeds(7))) == 6
        assert all(0 <= seed < 2**31 for seed in seeds(7))


@pytest.mark.requirement("D3")
class TestBadReplies:
    def test_a_seat_that_says_nothing_is_asked_once_more(self) -> None:
        def silent_once(call: Call) -> ScriptAnswer:
            return "" if (call.seat, call.round, call.attempt) == ("Opponent", 1, 1) else default_script(call)

        at = simulate(script=silent_once).play()
        assert [(f.seat, f.cause) for f in at.debate.failures] == [("Opponent", "empty")]
        assert len(at.debate.turns) == 4

    def test_two_bad_replies_are_a_failure_of_that_seat_for_the_round(self) -> None:
        def never_json(call: Call) -> ScriptAnswer:
            return "I like A." if call.reading == 2 else default_script(call)

        at = simulate(script=never_json).play()
        assert [(f.slot_index, f.cause) for f in at.debate.failures] == [(2, "unreadable")] * 2
        assert at.status == "paused"

    def test_a_failing_provider_is_not_asked_again(self) -> None:
        at = simulate(build_setup(debaters=build_debaters(3)), failing("Speaker 2")).play_through_round(1)
        assert [call.seat for call, _ in at.calls_made] == ["Speaker 1", "Speaker 2", "Speaker 3"]
        assert len(at.debate.turns) == 2


class TestPauses:
    @pytest.mark.requirement("N8")
    def test_answers_under_way_are_welcome_in_a_pause(self) -> None:
        at = simulate().play_to_round(1)
        calls = at.pending_calls()
        at.add_events(Paused(reason="lunch"))
        assert acceptable_calls(at.debate) == calls
        at.add_events(*map(at.answer, calls))
        assert len(at.debate.turns) == 2
        assert acceptable_calls(at.debate) == ()

    def test_too_few_voices_pause_the_debate_and_the_reason_says_who_failed_and_why(self) -> None:
        at = simulate(build_setup(debaters=build_debaters(3)), failing("Speaker 1", "Speaker 3")).play()
        assert at.status == "paused"
        assert decide(at.debate) == Wait(
            "1 of 3 answered in round 1 (opening), 2 needed. Speaker 1 and Speaker 3: timeout there"
        )

    def test_a_quorum_that_can_still_be_met_pauses_nothing(self) -> None:
        at = simulate(build_setup(debaters=build_debaters(3))).play_to_round(1)
        at.script = failing("Speaker 1")
        at.add_events(at.answer(at.pending_calls()[0]))
        assert seats_of(at.pending_calls()) == [("Speaker 2", 1), ("Speaker 3", 1)]

    def test_too_few_voices_pause_at_once_though_others_are_still_out(self) -> None:
        at = simulate().play_to_round(1)
        at.script = failing("Proponent")
        first, second = at.pending_calls()
        at.add_events(at.answer(first))
        assert isinstance(decide(at.debate), Record)
        at.step()
        assert at.debate.paused
        assert acceptable_calls(at.debate) == (second,)

    def test_one_reading_of_two_is_not_lost_for_the_other(self) -> None:
        def one_of_each(call: Call) -> ScriptAnswer:
            return ProviderFailure("timeout") if call.reading == 2 else default_script(call)

        at = simulate(build_setup(options={"judges": {"count": 2}}), one_of_each).play()
        assert at.debate.paused
        assert at.debate.paused.reason.startswith("0 of 2 answered in round 3 (verdict), 1 needed. judge ")
        at.add_events(Resumed())
        assert seats_of(at.pending_calls()) == [("judge 2", 1)]
        at.script = default_script
        assert at.play().status == "concluded"
        assert len(at.debate.judgments) == 2

    def test_resuming_asks_those_who_failed_again_and_nobody_else(self) -> None:
        at = simulate(script=failing("Opponent")).play()
        at.add_events(Resumed())
        assert seats_of(at.pending_calls()) == [("Opponent", 1)]
        at.script = default_script
        assert at.play().status == "concluded"
        assert len(at.debate.turns) == 4
        assert len(at.debate.failures) == 1

    def test_a_talk_that_is_concluded_needs_no_quorum(self) -> None:
        at = simulate(script=failing("Opponent")).play().add_events(CONCLUDE).play()
        assert at.status == "concluded"
        assert len(at.debate.turns) == 1


class TestTheEndOfARound:
    def test_a_round_that_lacks_voices_is_not_over(self) -> None:
        at = simulate().play_to_round(1)
        at.script = failing("Proponent", "Opponent")
        at.add_events(*map(at.answer, at.pending_calls()))
        assert at.pending_calls() == ()
        assert not is_round_over(at.debate)

    def test_a_verdict_that_was_recorded_without_the_end_is_not_given_twice(self) -> None:
        at = simulate().play_through_round(3)
        step = decide(at.debate)
        assert isinstance(step, Record)
        agreed, verdict, end = step.events
        assert decide(at.add_events(agreed).debate) == Record((verdict, end))
        assert decide(at.add_events(verdict).debate) == Record((end,))


class TestReadingOrder:
    def entered(self, at: DebateSimulation) -> list[PhaseEntered]:
        return list(at.debate.rounds)

    @pytest.mark.requirement("C9")
    def test_the_order_of_reading_is_drawn_for_each_round_recorded_and_reproducible(self) -> None:
        def orders(seed: int) -> list[tuple[str, ...]]:
            at = simulate(build_setup(seed=seed, debaters=build_debaters(6), max_rounds=4)).play()
            return [entered.order for entered in self.entered(at)]

        assert orders(7) == orders(7)
        assert orders(7) != orders(8)
        assert len(set(orders(7))) == 5
        for order in orders(7)[:4]:
            assert sorted(order) == [f"Speaker {n}" for n in range(1, 7)]


def pause_after(cause: FailureCause, *details: str, quorum: int) -> tuple[str, list[str]]:
    """Why a debate of six pauses whose first seats fail with these details, and the lines of its failures."""
    at = simulate(build_setup(debaters=build_debaters(6), options={"quorum": quorum})).play_to_round(1)
    for call, detail in zip(at.pending_calls(), details, strict=False):
        at.add_events(Failed(seen=1, seat=call.seat, round=1, cause=cause, detail=detail))
    step = decide(at.debate)
    assert isinstance(step, Record)
    assert isinstance(step.events[0], Paused)
    return step.events[0].reason, failure_lines(at.debate)


@pytest.mark.requirement("D3")
def test_the_reason_of_a_pause_names_a_few_failures_and_counts_the_rest() -> None:
    reason, _ = pause_after("timeout", *(f"no answer {number}" for number in range(1, 6)), quorum=2)
    assert reason.endswith("Speaker 3: no answer 3; and 2 more")


@pytest.mark.requirement("D3")
@pytest.mark.parametrize(
    ("count", "who"),
    [(3, "Speaker 1, Speaker 2 and Speaker 3"), (5, "Speaker 1, Speaker 2, Speaker 3 and 2 more")],
)
def test_the_reason_of_a_pause_says_once_what_several_failed_by(count: int, who: str) -> None:
    reason, lines = pause_after("unauthorized", *["the key is wrong"] * count, quorum=5)
    assert reason.endswith(f" needed. {who}: the key is wrong")
    assert lines == [f"{who}: the key is wrong (unauthorized, {count} times)"]


def test_a_provider_that_is_down_is_said_once_though_each_seat_hears_other_words() -> None:
    said = [f"m: it is down. {'It was not asked. ' * (n > 1)}Try {n} minutes later" for n in (1, 2, 3)]
    reason, lines = pause_after("unavailable", *said, quorum=4)
    assert reason.count("it is down") == 1
    assert "Try 1 minutes later" in reason
    assert len(lines) == 1
