"""Forks: the first rounds of a debate as they were, another set-up, and a future of their own."""

from typing import Any

import pytest

from server.debate.commands.setup.estimate import estimate
from server.debate.commands.setup.open import add_prompt_functions
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Failed, Paused, Resumed
from server.debate.facts.interventions import NoteAdded, TalkConcluded
from server.debate.rules.calls import Call
from server.debate.views.markdown import render_transcript, render_verdict
from server.debate.views.state import build_state
from server.debate.views.warnings import list_setup_warnings, list_verdict_warnings
from tests.support.golden_plays.setups import PARENT_ID
from tests.support.records import build_bodies, verify_bodies
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    Script,
    ScriptAnswer,
    build_setup,
    default_script,
    label_positions,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("N9")

ORIGIN = dict.fromkeys(("forked_from", "forked_root"), PARENT_ID)
"""As a record names a parent."""

SIDES = [{"name": "Ada", "stance": "ship", "model": "one"}, {"name": "Bob", "stance": "wait"}]


def refusal(of: DebateSimulation, at_round: int, **changes: Any) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        of.fork(at_round, **changes)
    return str(caught.value)


def played(script: Script = default_script, **asked: Any) -> DebateSimulation:
    return simulate(build_setup(["scripted"], **asked), script).play()


class TestThePast:
    def test_the_rounds_taken_over_are_the_same_facts_and_the_next_is_open(self) -> None:
        parent = played()
        child = parent.fork(1)
        begun = [event for event in parent.events if getattr(event, "round", 0) == 1]
        assert child.events[1:] == begun
        assert (child.status, child.debate.round) == ("running", 1)
        assert child.play().status == "concluded"
        assert [turn.round for turn in child.debate.turns] == [1, 1, 2, 2]

    def test_it_says_where_it_is_from_and_after_which_entry(self) -> None:
        parent = played()
        opened = parent.fork(1).debate.setup
        last = max(entry.seq for entry in parent.log if getattr(entry.event, "round", 0) == 1)
        assert (opened.forked_from, opened.forked_at_round) == ("parent", 1)
        assert opened.forked_hash == parent.log[last - 1].hash

    def test_before_the_first_round_only_the_set_up_is_shared(self) -> None:
        parent = simulate().add_events(NoteAdded(text="Mind the cost.")).play()
        child = parent.fork(0)
        assert len(child.events) == 1
        assert child.debate.setup.forked_hash == parent.log[0].hash
        assert child.play().status == "concluded"

    def test_a_debate_that_is_paused_between_rounds_can_be_forked_and_the_fork_is_not(self) -> None:
        parent = simulate().play_through_round(1).add_events(Paused(reason="lunch"))
        assert parent.fork(1).status == "running"

    def test_notes_and_failures_are_taken_over(self) -> None:
        def script(call: Any) -> Any:
            failing = (call.round, call.seat, call.attempt) == (1, "Proponent", 1)
            return "" if failing else default_script(call)

        parent = (
            simulate(script=script).play_through_round(1).add_events(NoteAdded(text="And Mars?", round=1))
        )
        child = parent.play().fork(1)
        assert [note.text for note in child.debate.notes] == ["And Mars?"]
        assert len(child.debate.failures) == 1

    def test_pauses_and_what_ended_the_other_debate_are_not(self) -> None:
        parent = simulate().play_through_round(1).add_events(Paused(reason="lunch"), Resumed())
        parent.add_events(TalkConcluded(round=1)).play()
        child = parent.fork(1).play()
        kinds = [event.kind for event in child.events]
        assert not {"paused", "resumed"} & set(kinds)
        assert child.debate.talk_round_count == 2
        assert child.debate.ended is not None
        assert child.debate.ended.reason == "max_rounds: the last round was held"

    def test_a_pause_that_had_failed_seats_asked_again_is_taken_over_with_what_they_said(self) -> None:
        down = {"Proponent", "Opponent"}

        def script(call: Any) -> Any:
            return ProviderFailure("timeout") if call.seat in down else default_script(call)

        parent = simulate(script=script).play()
        assert parent.status == "paused"
        down.clear()
        parent.add_events(Resumed()).play()
        child = parent.fork(1)
        assert [type(event) for event in child.events[2:6]] == [Failed, Failed, Paused, Resumed]
        assert child.play().status == "concluded"

    @pytest.mark.requirement("N10")
    @pytest.mark.parametrize(
        ("name", "at_round"),
        [("advocates", 0), ("advocates", 1), ("advocates", 2), ("oxford", 1), ("oxford", 3)],
    )
    def test_its_estimate_has_the_calls_that_it_makes(self, name: str, at_round: int) -> None:
        options = {"ballots": "none" if name == "oxford" else "blind"}
        child = played(task_script({}), format=name, max_rounds=0, options=options).fork(at_round)
        expected = estimate(child.debate)
        assert len(child.play().calls_made) == expected.calls

    def test_one_with_its_verdict_is_estimated_without_its_judges(self) -> None:
        child = played(task_script({}), options={"output_schema": {}, "judges": {"count": 2}}).fork(3)
        assert (expected := estimate(child.debate)).calls == 1
        assert (expected.most_calls, expected.caller_turns) == (0, 0)


class TestTheCost:
    def test_what_the_other_debate_paid_for_is_not_counted_again(self) -> None:
        parent = played()
        child = parent.fork(1)
        assert child.debate.usage == ()
        child.play()
        assert len(child.debate.usage) == len(parent.debate.usage) - 2
        assert build_state(child.stored())["usage"]["calls"] == len(child.debate.usage)
        assert f"{len(child.debate.usage)} calls" in render_verdict(child.debate)

    def test_the_verdict_and_the_transcript_say_where_the_past_is_from(self) -> None:
        child = played().fork(1).play()
        assert "Forked from parent after round 1;" in render_verdict(child.debate)
        assert "Forked from parent after round 1;" in render_transcript(child.debate, child.log)
        assert "before its first round" in render_verdict(played().fork(0).play().debate)
        assert "Forked" not in render_verdict(played().debate)


class TestChanges:
    def test_seats_get_other_models_from_the_next_round_on(self) -> None:
        parent = played(debaters=SIDES)
        child = parent.fork(1, models={"Ada": "two", " Bob ": "three"}).play()
        models = {(turn.seat, turn.round): turn.usage.model for turn in child.debate.turns}
        assert models == {("Ada", 1): "one", ("Bob", 1): "scripted", ("Ada", 2): "two", ("Bob", 2): "three"}

    def test_judges_keep_what_is_not_named(self) -> None:
        panel = {"models": ["x"], "anonymize": False, "both_orders": False, "prompt": "Be brief."}
        parent = played(options={"judges": panel})
        judges = parent.fork(1, judges={"count": 2}).debate.setup.judges
        assert (judges.models, judges.anonymize, judges.both_orders) == (("x", "x"), False, False)
        assert judges.prompt == "Be brief."
        judges = parent.fork(
            1, judges={"models": ["y"], "both_orders": True, "prompt": ""}
        ).debate.setup.judges
        assert (judges.models, judges.both_orders, judges.prompt) == (("y",), True, "")

    @pytest.mark.parametrize(
        "phases", [["opening", "rebuttal", "verdict"], ["opening", "rebuttal", "audience_vote"]]
    )
    def test_of_fewer_judges_no_more_have_to_answer_than_there_are(self, phases: list[str]) -> None:
        def correct_oneself(call: Call) -> ScriptAnswer:
            return "" if call.seat == "judge 1" and call.attempt == 1 else default_script(call)

        parent = played(options={"judges": {"count": 3, "quorum": 3}, "phases": phases})
        child = parent.fork(1, correct_oneself, judges={"count": 2})
        assert child.debate.setup.judges.quorum == 2
        assert child.play().status == "concluded"

    def test_weights_and_prompts_of_judges_whom_it_does_not_have_are_left_out(self) -> None:
        options = {"judges": {"count": 3}, "voting": {"weights": {"judge 1": "2", "judge 3": "2"}}}
        opened = add_prompt_functions(build_setup(options=options), ["judge 3", ""])
        setup = simulate(label_positions(opened)).fork(0, judges={"count": 2}).debate.setup
        assert ([weight.seat for weight in setup.weights], setup.prompt_functions) == (["judge 1"], ("",))
        assert verify_bodies(build_bodies([setup.model_copy(update=ORIGIN)])).setup.weights == setup.weights

    @pytest.mark.parametrize(
        ("changes", "who"),
        [({"judges": {"models": ["caller"]}}, "a judge"), ({"models": {"Proponent": "human"}}, "Proponent")],
    )
    def test_a_mirror_that_was_asked_for_cannot_be_held_with_people(
        self, changes: dict[str, Any], who: str
    ) -> None:
        parent = simulate(label_positions(build_setup(options={"mirror": True})))
        assert f"can ask nobody for {who}. Give models to those seats" in refusal(parent, 0, **changes)
        parent = simulate(label_positions(build_setup(["a", "b"], options={"effort": "assured"})))
        setup = parent.fork(0, **changes).debate.setup
        assert (parent.debate.setup.mirror, setup.mirror) == ("if_decided", "off")
        assert verify_bodies(build_bodies([setup.model_copy(update=ORIGIN)])).setup.mirror == "off"

    def test_a_recorded_fork_whose_quorum_is_of_more_judges_pauses_for_none_that_are_not_there(self) -> None:
        def correct_oneself(call: Call) -> ScriptAnswer:
            return "" if call.seat == "judge 1" and call.attempt == 1 else default_script(call)

        opened = build_setup()
        panel = opened.judges.model_copy(update={"quorum": 3})
        recorded = simulate(opened.model_copy(update={"judges": panel}), correct_oneself)
        assert recorded.play().status == "concluded"

    def test_the_rest_of_the_set_up_can_change(self) -> None:
        parent = played(documents=[{"title": "a", "text": "A"}], options={"instructions": "Be brief."})
        changes: dict[str, Any] = {
            "documents": [{"title": "b", "text": "B"}],
            "max_rounds": 3,
            "instructions": "Be kind.",
            "seed": 9,
            "run": True,
        }
        opened = parent.fork(1, **changes).debate.setup
        assert [document.title for document in opened.documents] == ["a", "b"]
        assert (opened.max_rounds, opened.instructions, opened.seed, opened.run) == (3, "Be kind.", 9, True)
        assert parent.fork(1).debate.setup.seed == parent.debate.setup.seed

    def test_more_rounds_go_on_where_the_other_debate_ended(self) -> None:
        parent = played()
        child = parent.fork(2, max_rounds=3).play()
        assert (parent.debate.talk_round_count, child.debate.talk_round_count) == (2, 3)

    def test_more_rounds_are_more_turns_where_a_round_is_one(self) -> None:
        parent = played(format="handoff", max_rounds=4)
        assert parent.fork(4, max_rounds=6).play().debate.talk_round_count == 6

    def test_another_stance_is_told_of_wherever_it_matters(self) -> None:
        parent = played(debaters=SIDES)
        child = parent.fork(1, stances={"Bob": "wait a year"}).play()
        told = "Up to round 1, Bob argued for another stance, before the fork."
        assert told in list_setup_warnings(child.debate.setup, 2)
        assert told in list_verdict_warnings(child.debate)
        assert child.debate.turns[0] == parent.debate.turns[0]
        assert child.fork(2).debate.setup.forked_restanced == ("Bob",)
        assert parent.fork(0, stances={"Bob": "wait a year"}).debate.setup.forked_restanced == ()

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"models": {"Eve": "x"}}, "changes.models: nobody is called 'Eve'. Debaters: Ada, Bob."),
            ({"models": {"Ada": " "}}, "changes.models: nothing is given for Ada."),
            ({"stances": {"ada": "x"}}, "changes.stances: nobody is called 'ada'."),
            ({"moderator": "x"}, "This debate has no moderator"),
            ({"max_rounds": 5}, "changes.max_rounds=5 is out of range: 1 to 4 rounds of talk, of which 1"),
            ({"documents": [{"title": "b", "text": "B" * 1_500_000}] * 3}, "4,500,001 characters"),
        ],
    )
    def test_what_cannot_be_changed_is_refused(self, changes: dict[str, Any], told: str) -> None:
        parent = played(debaters=SIDES, documents=[{"title": "a", "text": "A"}])
        assert told in refusal(parent, 1, **changes)

    @pytest.mark.requirement("C21")
    @pytest.mark.parametrize("name", ["advocates", "second_opinion"])
    def test_a_label_stands_for_one_thing_also_where_the_changes_of_a_fork_hold_it(self, name: str) -> None:
        parent = simulate(label_positions(build_setup(["one/a", "two/b"], format=name))).play_through_round(1)
        label = parent.debate.setup.labels[0]
        holding: dict[str, Any] = {"documents": [{"title": "Log", "text": f"The {label.lower()} broke."}]}
        assert refusal(parent, 1, **holding).startswith(
            f"{label} stands for a seat in the rounds that are taken"
        )
        labels = parent.fork(0, **holding).debate.setup.labels
        assert label not in labels
        assert len({*labels}) == 2
        assert parent.fork(1).debate.setup.labels == parent.debate.setup.labels

    @pytest.mark.parametrize("at_round", [0, 1])
    def test_other_models_of_advisors_also_write_and_check(self, at_round: int) -> None:
        parent = simulate(build_setup(["a", "b"], format="second_opinion", options={"effort": "assured"}))
        child = parent.play_through_round(1).fork(at_round, models={"Advisor 1": "c", "Advisor 2": "d"})
        before, after = parent.debate.setup.answering, child.debate.setup.answering
        assert before
        assert after
        assert ((before.writer, before.checker), (after.writer, after.checker)) == (("a", "b"), ("c", "d"))
        assert before.labels == after.labels

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"stances": {"Advisor 1": "yes"}}, "Advisors have roles and no stances"),
            ({"judges": {"models": ["k"], "shuffle": False}}, "has no use for changes.judges.shuffle"),
        ],
    )
    def test_what_a_second_opinion_does_not_have_is_refused(self, changes: dict[str, Any], told: str) -> None:
        options = {"judges": {"models": ["j"]}}
        parent = simulate(build_setup(["a", "b"], format="second_opinion", options=options))
        assert told in refusal(parent.play_through_round(1), 0, **changes)

    def test_fewer_rounds_than_are_taken_over_are_refused(self) -> None:
        told = refusal(played(max_rounds=3), 2, max_rounds=1)
        assert "out of range: 2 to 4 rounds of talk, of which 2 are taken over" in told

    def test_a_format_of_another_release_keeps_to_its_own_rounds(self) -> None:
        opened = build_setup().model_copy(update={"format": "brawl"})
        assert "1 to 3 rounds" in refusal(simulate(opened).play(), 1, max_rounds=4)

    def test_judges_are_refused_where_there_are_none_and_after_they_were_heard(self) -> None:
        assert "has no judges here" in refusal(played(format="settle"), 1, judges={"count": 2})
        parent = played(options={"synthesizer": True})
        assert "fork before them" in refusal(parent, 3, judges={"count": 2})


class TestRounds:
    def test_a_round_that_is_not_over_is_refused_with_the_last_one_that_is(self) -> None:
        assert refusal(simulate(), 1) == "Round 1 is not over, and none is yet. Pass at_round=0."
        at = simulate().play_to_round(2)
        assert refusal(at, 2) == "Round 2 is not over, and 1 is the last that is. Pass at_round=1, or less."
        told = "Round 9 is not over, and 3 is the last that is. Pass at_round=2, or less."
        assert refusal(played(), 9) == told  # after 3 nothing would come

    def test_a_round_after_which_nothing_comes_is_refused(self) -> None:
        assert refusal(played(), 3) == "Nothing would come after round 3. Pass at_round=2, or less."
        settled = task_script({"closing": {"summary": "x", "status": "SETTLED", "decision": "Yes."}})
        told = refusal(played(settled, format="settle"), 1)
        assert told == "Nothing would come after round 1. Pass at_round=0."
        told = refusal(played(format="settle", max_rounds=2), 2)
        assert (
            told == "Nothing would come after round 2. Raise changes.max_rounds, or pass at_round=1, or less."
        )

    def test_a_round_that_rests_on_a_verdict_is_refused(self) -> None:
        told = "Round 4 rests on what a fork does not take over: deliverable cannot follow. Pass at_round=3, or less."
        assert refusal(played(options={"synthesizer": True}), 4) == told

    def test_a_round_that_was_cut_short_is_refused(self) -> None:
        parent = simulate(build_setup(format="verdict")).play_to_round(2)
        (first,) = parent.pending_calls()
        parent.add_events(parent.answer(first), TalkConcluded(round=2)).play()
        assert parent.status == "concluded"
        second = next(name for name in parent.debate.names if name != first.seat)
        told = f"Round 2 was cut short: {second} did not answer. Pass at_round=1, or less."
        assert refusal(parent, 2) == told
        assert parent.fork(1).play().status == "concluded"

    def test_a_round_that_was_cut_short_after_failures_is_refused_with_why_they_failed(self) -> None:
        def fail_in_round_2(call: Call) -> ScriptAnswer:
            return ProviderFailure("timeout") if call.round == 2 else default_script(call)

        parent = played(fail_in_round_2)
        assert parent.status == "paused"
        parent.add_events(TalkConcluded(round=2)).script = default_script
        assert parent.play().status == "concluded"
        told = refusal(parent, 2)
        assert told.startswith("Round 2 was cut short: 0 of 2 answered in round 2 (rebuttal), 2 needed.")
        assert told.endswith(" Pass at_round=1, or less.")

    def test_a_round_that_was_cut_short_before_its_moderator_opened_it_is_refused(self) -> None:
        parent = simulate(build_setup(["scripted"], options={"speaking": "moderated"})).play_to_round(2)
        parent.script = task_script({"opening": lambda _: ProviderFailure("timeout")})
        (opening,) = parent.pending_calls()
        parent.add_events(parent.answer(opening), TalkConcluded(round=2)).play()
        assert parent.status == "concluded"
        told = "Round 2 was cut short: nobody said who speaks in it. Pass at_round=1, or less."
        assert refusal(parent, 2) == told
