"""Signs of hollow agreement: for each signal, pattern and limit a debate in which it fires, and its neighbour."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from server.debate.analysis.confidence import build_confidence
from server.debate.ballots.challenges import (
    SIGNAL_WORDS,
    build_challenge,
    build_signals,
    list_challenges,
    list_signal_lines,
)
from server.debate.ballots.hollow import (
    COUNTED,
    THRESHOLDS,
    find_patterns,
    find_signals,
    is_worth_a_challenge,
)
from server.debate.facts.beliefs import Alerted, Signal
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.interventions import Challenged, RoundsExtended
from server.debate.records.verify import verify_record
from server.debate.rules.decide import Call
from server.debate.rules.transitions import IllegalEvent, apply, replay
from server.debate.views.events import event_names
from server.debate.views.markdown import render_transcript, render_verdict
from server.debate.views.verdict import build_verdict
from tests.support import simulation

pytestmark = pytest.mark.requirement("D13")

NAMES = ("Ada", "Bob", "Cleo", "Dan")
DOCUMENTS = [
    {
        "title": "One",
        "text": "The build takes forty minutes on every machine. Half of that is spent in tests of the mail.",
    },
    {
        "title": "Two",
        "text": "Customers asked for a faster search in March. The search takes nine seconds on average.",
    },
]
BUILD = "“The build takes forty minutes” (doc 1)"
TESTS = "“spent in tests of the mail” (doc 1)"
SEARCH = "“Customers asked for a faster search” (doc 2)"

Ballot = tuple[str, int, Any, Any]  # choice, percent, moved_by, new_point
Turn = Callable[[Call], str] | str


def vote(call: Call, ballots: dict[tuple[str, int], Ballot], usual: Ballot) -> dict[str, Any]:
    """The ballot of a seat: 0 before the talk, else after that round."""
    number = 0 if call.slot_index == 100 else call.round
    choice, percent, moved, new = ballots.get((call.seat, number), usual)
    beliefs = {choice: percent, "none": 100 - percent}
    extra = {} if call.slot_index == 100 else {"moved_by": moved, "new_point": new, "open_point": None}
    return {"position": "So.", "beliefs": beliefs, "would_check": "It.", "moved_by": None, **extra}


def hold(
    ballots: dict[tuple[str, int], Ballot] | None = None,
    turns: dict[tuple[str, int], str] | None = None,
    *,
    usual: Ballot = ("A", 60, None, "New."),
    seats: int = 3,
    settled: int = 0,
    **fields: Any,
) -> simulation.DebateSimulation:
    """A panel of Ada (A), Bob (B) and Cleo (C), with ballots after every round, settled in a round if at all."""
    options = {
        "ballots": "rounds",
        "challenges": "challenge",
        "moderator": {"closes": True},
        **fields.pop("options", {}),
    }
    given = {"format": "settle", "max_rounds": 2, "documents": DOCUMENTS, **fields}
    team = [
        {"name": name, "stance": f"plan of {name}", "model": f"m{i}"} for i, name in enumerate(NAMES[:seats])
    ]
    opened = simulation.build_setup(debaters=team, options=options, **given)

    def close(call: Call) -> dict[str, Any]:
        over = bool(settled) and call.round >= settled
        return {"summary": "So far.", "status": "SETTLED" if over else "CONTINUE", "decision": "Do it."}

    script = simulation.task_script(
        {
            "ballot": lambda call: vote(call, ballots or {}, usual),
            "argument": lambda call: (turns or {}).get(
                (call.seat, call.round), f"[1] {call.seat} {call.round}."
            ),
            "closing": close,
        }
    )
    return simulation.simulate(opened, script)


def own_choices(rounds: int = 3) -> dict[tuple[str, int], Ballot]:
    """Everybody holds its own position, in private too."""
    letters = dict(zip(NAMES, "ABCD", strict=True))
    return {(name, n): (letters[name], 80, None, "New.") for name in NAMES for n in range(rounds + 1)}


def find(at: simulation.DebateSimulation, name: str) -> Signal:
    return next(signal for signal in find_signals(at.debate) if signal.name == name)


def patterns(at: simulation.DebateSimulation) -> tuple[str, ...]:
    return find_patterns(at.debate)


def alerted(at: simulation.DebateSimulation, number: int) -> tuple[str, ...]:
    """The patterns of the alert after a round."""
    return next((alert.patterns for alert in at.debate.alerts if alert.round == number), ())


class TestSignals:
    def test_a_gap_is_private_disbelief_in_what_one_stands_for(self) -> None:
        for percent, raised in ((70, True), (71, False)):
            kept = {key: (choice, percent, None, "New.") for key, (choice, *_) in own_choices().items()}
            at = hold(kept).play_to_round(2)
            found = find(at, "gap")
            assert (found.raised, found.part, found.whole) == (raised, 0, 3)
            assert Fraction(found.value) == 1 - Fraction(percent, 100)

    def test_who_says_what_changed_its_mind_stands_for_that_position(self) -> None:
        ballots = own_choices() | {("Bob", 2): ("A", 80, "A 1", "New.")}
        silent = hold(ballots, max_rounds=3).play_to_round(3)
        assert (find(silent, "gap").part, find(silent, "gap").raised) == (1, True)
        told = hold(ballots, {("Bob", 2): "[1] So be it [changed by A 1.1]."}, max_rounds=3).play_to_round(3)
        assert (find(told, "gap").part, find(told, "gap").raised) == (0, False)
        nobody = hold(
            ballots, {("Bob", 2): "[1] So be it [changed by Dora 1.1]."}, max_rounds=3
        ).play_to_round(3)
        assert find(nobody, "gap").part == 1

    def test_a_flip_is_unexplained_without_a_reason_that_was_new(self) -> None:
        for moved, flips in ((None, 1), ("A 1", 1), ("A 2", 0)):
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
                ballots[name, 1] = ("A", 80, "A 1", "New." if number < named else None)
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
        attack = {("Bob", 1): "[1] No [A 1.1]."}
        ignored = hold(turns=attack).play()
        assert (find(ignored, "unanswered_attacks").part, find(ignored, "unanswered_attacks").raised) == (
            1,
            True,
        )
        answered = hold(turns={**attack, ("Ada", 2): "[1] Yes [B 1.1]."}).play()
        assert (find(answered, "unanswered_attacks").part, find(answered, "unanswered_attacks").raised) == (
            0,
            False,
        )
        late = hold(turns={("Bob", 2): "[1] No [A 1.1]."}).play()
        assert find(late, "unanswered_attacks").whole == 0  # nobody could answer it any more

    def test_dissent_is_lost_where_nobody_takes_it_up(self) -> None:
        ballots = {(name, n): ("A", 80, None, "New.") for name in ("Ada", "Bob") for n in (1, 2)}
        ballots |= {("Cleo", n): ("C", 80, None, "New.") for n in (1, 2)}
        lost = hold(ballots, {("Bob", 2): "[1] Yes [supports A 1.1]."}).play()
        assert (find(lost, "lost_dissent").part, find(lost, "lost_dissent").whole) == (2, 2)
        kept = hold(ballots, {("Bob", 2): "[1] But [C 1.1]. And [C 2.1]."}).play()
        assert (find(kept, "lost_dissent").part, find(kept, "lost_dissent").raised) == (1, True)
        both = hold(
            ballots, {("Bob", 2): "[1] But [C 1.1] and [C 2.1]."}, options={"speaking": "declared"}
        ).play()
        assert find(both, "lost_dissent").whole == 2

    def test_models_that_are_one_are_one_voice(self) -> None:
        at = hold()
        apart = find(at.play_to_round(2), "dependence")
        assert (apart.part, apart.whole, apart.value, apart.raised) == (0, 3, "0.5000", False)
        team = [{"name": f"S{n}", "stance": f"plan {n}", "model": "m"} for n in range(5)]
        opened = simulation.build_setup(format="settle", debaters=team, options={"ballots": "rounds"})
        found = find(simulation.simulate(opened).play_to_round(2), "dependence")
        assert (found.part, found.raised) == (5, True)


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
        assert not is_worth_a_challenge(find_signals(self.advocates().debate))

    def test_challenges_are_refused_to_them(self) -> None:
        with pytest.raises(InvalidRequestError, match=r"advocates never do\. Formats: settle, round_robin"):
            simulation.build_setup(options={"challenges": "challenge"})
        with pytest.raises(InvalidRequestError, match="needs private ballots"):
            simulation.build_setup(format="settle", options={"challenges": "challenge", "ballots": "none"})

    def test_off_nothing_is_computed(self) -> None:
        at = self.advocates(challenges="off")
        assert build_verdict(at.debate).signals == []
        assert at.debate.alerts == ()


class TestPatterns:
    def test_quick_unanimity_is_agreement_that_was_not_there_before(self) -> None:
        agreed = {(name, n): ("A", 80, "A 1", "New.") for name in NAMES for n in (1, 2)}
        before = {("Bob", 0): ("B", 80, None, None)}
        assert "quick_unanimity" in patterns(hold({**agreed, **before}).play_to_round(2))
        assert "quick_unanimity" not in patterns(hold(agreed).play_to_round(2))  # they agreed before
        assert "quick_unanimity" not in patterns(hold(own_choices() | before).play_to_round(2))
        late = own_choices(2) | {(name, 3): ("A", 80, "A 3", "New.") for name in NAMES}
        assert "quick_unanimity" not in patterns(hold(late, max_rounds=3).play())
        assert "quick_unanimity" in patterns(hold(own_choices(), settled=1).play())  # by the moderator's word

    def test_shallow_reasoning_is_a_flip_without_a_new_reason_or_movement_without_news(self) -> None:
        for moved, holds in ((None, True), ("A 1", False)):
            ballots = own_choices() | {("Bob", 1): ("A", 80, moved, "New.")}
            assert ("shallow_reasoning" in patterns(hold(ballots).play_to_round(2))) == holds
        quiet = {key: (choice, 80, None, None) for key, (choice, *_) in own_choices().items()}
        assert "shallow_reasoning" not in patterns(hold(quiet, max_rounds=1).play())
        moved_a_little = quiet | {("Bob", 1): ("B", 79, None, None)}
        assert "shallow_reasoning" in patterns(hold(moved_a_little, max_rounds=1).play())
        named = moved_a_little | {("Cleo", 1): ("C", 80, None, "New.")}
        assert "shallow_reasoning" not in patterns(hold(named, max_rounds=1).play())

    def test_an_echo_chamber_quotes_one_thing_or_repeats(self) -> None:
        agreed = {(name, n): ("A", 80, "A 1", "New.") for name in NAMES for n in (0, 1, 2)}
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
        again = {("Ada", 2): "[1] As [repeats B 1.1].", ("Bob", 2): "[1] As [repeats A 1.1]."}
        assert "echo_chamber" in patterns(hold(own_choices(), again).play())
        once = {("Ada", 2): "[1] As [repeats B 1.1]."}
        assert "echo_chamber" not in patterns(hold(own_choices(), once).play())

    def test_groupthink_is_where_attacks_stop_or_dissent_is_silent_or_lost(self) -> None:
        first = {("Bob", 1): "[1] No [A 1.1]."}
        assert "groupthink" in patterns(hold(own_choices(), first).play())
        goes_on = {**first, ("Cleo", 2): "[1] No [A 1.1]."}
        assert "groupthink" not in patterns(hold(own_choices(), goes_on).play())
        assert "groupthink" not in patterns(
            hold(own_choices()).play()
        )  # nobody cites anything: nothing is known

    def test_groupthink_is_silence_of_those_who_hold_otherwise(self) -> None:
        ballots = own_choices() | {("Bob", 2): ("C", 80, None, "New."), ("Ada", 2): ("A", 80, None, "New.")}
        turns = {
            ("Bob", 1): "[1] So be it [changed by A 1.1].",
            ("Cleo", 2): "[1] No [attacks A 1.1]. Nor [attacks B 1.1].",
            ("Ada", 2): "[1] No [attacks C 1.1].",
        }
        assert "groupthink" in alerted(hold(ballots, turns).play(), 2)
        spoken = {**turns, ("Bob", 2): "[1] No [attacks A 1.1]. Still [supports C 1.1]."}
        assert "groupthink" not in alerted(hold(ballots, spoken).play(), 2)

    def test_groupthink_is_a_minority_of_which_nothing_is_left(self) -> None:
        ballots = {(name, n): ("A", 80, None, "New.") for name in ("Ada", "Bob") for n in (1, 2)}
        ballots |= {("Cleo", n): ("C", 80, None, "New.") for n in (1, 2)}
        attacked = {("Bob", 2): "[1] No [attacks A 1.1]."}
        assert "groupthink" in patterns(hold(ballots, attacked).play())
        taken_up = {("Bob", 2): "[1] No [attacks A 1.1]. But [cites C 1.1]."}
        assert "groupthink" not in patterns(hold(ballots, taken_up).play())


FLIPPED: dict[tuple[str, int], Ballot] = {
    (name, n): (letter if n == 0 else "A", 60, None, None)
    for name, letter in zip(NAMES, "ABCD", strict=True)
    for n in range(6)
}
"""All come over to Ada after round 1, without a reason: three of the first four signals are raised."""


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
            assert (
                "[challenge to everybody, to be answered]\n> The agreement so far may be hollow: " in prompt
            )
            assert "[A 1.1]" in prompt
            assert "[B 1.1]" in prompt
        assert at.status == "concluded"

    def test_people_read_it_with_names(self) -> None:
        at = simulation.simulate(
            simulation.label_positions(hold(FLIPPED).debate.setup), hold(FLIPPED, max_rounds=3).script
        )
        shown = render_transcript(at.play().debate, at.log)
        assert "[Ada 1.1]" in shown
        assert "Agreement may be hollow after round 1: " in shown

    def test_one_signal_is_not_enough(self) -> None:
        ballots = own_choices() | {("Bob", 1): ("A", 80, None, "New.")}
        at = hold(ballots, max_rounds=3).play_to_round(2)
        raised = [s.name for s in find_signals(at.debate) if s.raised and s.name in COUNTED]
        assert raised == ["gap", "unexplained_flips"]
        one = {
            key: (choice, 80 if choice == "A" else 40, "A 1", "New.") for key, (choice, *_) in FLIPPED.items()
        }
        calm = hold(
            own_choices() | {("Bob", 1): ("B", 30, None, "New."), ("Cleo", 1): ("C", 60, None, "New.")}
        )
        calm.play_to_round(2)
        assert [s.name for s in find_signals(calm.debate) if s.raised and s.name in COUNTED] == ["gap"]
        assert not list_challenges(calm.debate)
        assert one

    def test_to_report_makes_an_alert_and_no_challenge(self) -> None:
        at = hold(FLIPPED, max_rounds=3, options={"challenges": "report"}).play()
        assert at.debate.alerts
        assert not any(alert.challenged for alert in at.debate.alerts)
        assert not list_challenges(at.debate)

    def test_the_number_of_challenges_is_limited_by_the_facts(self) -> None:
        for most, made in ((1, 1), (2, 2), (3, 3)):
            limits = {"max_challenges": most, "challenge_cooldown": 0}
            at = hold(FLIPPED, max_rounds=5, options={"limits": limits}).play()
            assert len(list_challenges(at.debate)) == made

    def test_a_cooldown_keeps_rounds_between_them(self) -> None:
        for cooldown, rounds in ((0, [2, 3, 4, 5]), (1, [2, 4]), (2, [2, 5])):
            limits = {"max_challenges": 9, "challenge_cooldown": cooldown}
            at = hold(FLIPPED, max_rounds=5, options={"limits": limits}).play_to_round(5)
            at.play(lambda d: any(t.round == 5 for t in d.turns))
            assert [note.round for note in list_challenges(at.debate)] == rounds

    def test_the_talk_is_extended_where_it_would_end_before_it_is_answered(self) -> None:
        at = hold(FLIPPED, max_rounds=1, options={"limits": {"max_challenges": 1}}).play()
        assert at.debate.talk_round_count == 2
        assert len(at.debate.find_interventions(RoundsExtended)) == 1
        assert [note.round for note in list_challenges(at.debate)] == [2]
        assert at.status == "concluded"

    def test_a_fork_at_the_round_of_an_extension_extends_the_talk_once_and_by_itself(self) -> None:
        at = hold(FLIPPED, max_rounds=1, options={"limits": {"max_challenges": 1}})
        parent = simulation.simulate(simulation.label_positions(at.debate.setup), at.script).play()
        (extended,) = parent.debate.find_interventions(RoundsExtended)
        child = parent.fork(extended.round, at.script)
        assert not child.debate.find_interventions(RoundsExtended)
        assert child.play().debate.find_interventions(RoundsExtended) == [extended]
        assert child.debate.talk_round_count == 2

    def test_a_settled_question_stays_open_until_it_is_answered(self) -> None:
        at = hold(FLIPPED, max_rounds=3, settled=1, options={"limits": {"max_challenges": 1}}).play()
        assert at.debate.talk_round_count == 2
        assert at.status == "concluded"

    def test_without_a_round_left_it_is_reported(self) -> None:
        at = hold(FLIPPED, max_rounds=20, options={"limits": {"max_challenges": 20, "challenge_cooldown": 0}})
        at.play()
        assert at.debate.talk_round_count == 20
        assert not at.debate.alerts[-1].challenged
        phases = [{"name": "opening"}, "synthesis"]
        once = hold(FLIPPED, max_rounds=0, options={"phases": phases, "moderator": None}).play()
        assert [alert.challenged for alert in once.debate.alerts] == [True, False]
        assert once.debate.max_rounds == 2

    def test_without_a_budget_for_it_the_talk_ends_and_it_is_reported(self) -> None:
        at = hold(FLIPPED, max_rounds=1, options={"limits": {"max_calls": 14}}).play()
        assert at.debate.talk_round_count == 1
        assert [alert.challenged for alert in at.debate.alerts] == [False]
        assert at.debate.ended

    def test_a_talk_that_is_concluded_has_none(self) -> None:
        at = hold(FLIPPED, max_rounds=3).play(lambda d: len(d.turns) == 3)
        at.intervene("conclude")
        at.play()
        assert not list_challenges(at.debate)

    def test_its_effect_on_the_next_ballots_is_recorded(self) -> None:
        ballots = FLIPPED | {("Bob", 2): ("B", 90, "B 2", "A new one.")}
        at = hold(ballots, max_rounds=3, options={"limits": {"max_challenges": 1}}).play()
        effects = [(alert.round, alert.effect) for alert in at.debate.alerts if alert.effect]
        ((number, effect),) = effects
        assert number == 2
        assert (effect.changed, effect.new_points, effect.voters) == (1, 1, 3)
        assert Fraction(effect.movement) == Fraction(9, 10)
        assert "After the challenge of round 2 voters moved by 0.9000 at most, 1 of 3 chose otherwise" in (
            render_transcript(at.debate, at.log)
        )

    def test_it_is_made_once_wherever_the_process_was_killed(self) -> None:
        whole = hold(FLIPPED, max_rounds=3).play()
        for cut in range(1, len(whole.events)):
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
        index = next(i for i, event in enumerate(at.events) if isinstance(event, Alerted))
        before, alert = replay(at.events[:index]), at.events[index]
        for wrong in ({"patterns": ()}, {"round": 2}, {"signals": ()}):
            with pytest.raises(IllegalEvent, match="does not follow"):
                apply(before, alert.model_copy(update=wrong))
        with pytest.raises(IllegalEvent, match="does not follow"):
            apply(apply(before, alert), alert)
        calm = hold(FLIPPED, max_rounds=3, options={"challenges": "report"}).play()
        index = next(i for i, event in enumerate(calm.events) if isinstance(event, Alerted))
        with pytest.raises(IllegalEvent, match="does not follow"):
            apply(replay(calm.events[:index]), calm.events[index].model_copy(update={"challenged": True}))


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
    lines = list_signal_lines(rows)
    assert lines[0].startswith("gap: ")
    assert any(line.endswith("not computed: nothing to count") for line in lines)
    assert "**Signs of hollow agreement**\n- gap: " in render_verdict(at.debate)
    assert {*SIGNAL_WORDS} == {*COUNTED}


@pytest.mark.requirement("D21")
def test_an_alert_is_an_event_of_its_own_name() -> None:
    at = hold(FLIPPED, max_rounds=3).play()
    names = [event_names(at.debate, event) for event in at.events if isinstance(event, Alerted)]
    assert names[0] == ["hollow_consensus_alert"]
    assert any(isinstance(event, Challenged) for event in at.events)
