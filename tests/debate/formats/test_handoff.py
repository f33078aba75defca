"""Speakers who choose who speaks next, and what happens where they cannot be followed."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import pytest

from server.debate.facts.answers import HandedOff, HandoffFailed
from server.debate.facts.events import Failed, Spoke
from server.debate.machine.decide import decide
from server.debate.machine.interpret import interpret
from server.debate.machine.render import render
from server.debate.prompts.prompt import FunctionCall
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.state.labels import side_labels
from server.models import Request
from tests.support.simulation import (
    DebateSimulation,
    build_debaters,
    build_setup,
    build_usage,
    render_prompt_text,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("B1")

How = Literal["text", "tool", "structured"]
READERS: tuple[How, ...] = ("text", "tool", "structured")
CAST = [
    {"name": "Ann", "stance": "for it"},
    {"name": "Anna", "stance": "against it"},
    {"name": "The Pragmatist", "stance": "it depends"},
]


def opened(**asked: Any) -> DebateSimulation:
    return simulate(build_setup(format="handoff", **asked))


def says(how: How, said: str, chosen: object) -> Reply:
    """A turn and a choice, as a model would give it that is read in this way."""
    data = json.dumps({"response": said, "next_agent_name": chosen})
    match how:
        case "text":
            return Reply(f"{said}\nTransition to {chosen}", build_usage())
        case "tool":
            return Reply("", build_usage(), function_calls=(FunctionCall("handoff", data),))
        case "structured":
            return Reply(data, build_usage())


def called(arguments: str, *, name: str = "handoff", said: str = "") -> Reply:
    return Reply(said, build_usage(), function_calls=(FunctionCall(name, arguments),))


IN_WORDS = Reply("It pays.", build_usage())
NOBODY = (None, " ", ["Anna"])


def turn(reply: Reply, cast: list[dict[str, str]] | None = None) -> Spoke:
    """The turn of the first speaker."""
    at = opened(debaters=cast or CAST).play_to_round(1)
    (call,) = at.pending_calls()
    event = interpret(at.debate, call, reply)
    assert isinstance(event, Spoke), event
    return event


def useless(reply: Reply) -> str:
    at = opened(debaters=CAST).play_to_round(1)
    (call,) = at.pending_calls()
    event = interpret(at.debate, call, reply)
    assert isinstance(event, Failed), event
    return event.detail


@pytest.mark.requirement("B2", "B3", "B4")
class TestReaders:
    @pytest.mark.parametrize("how", READERS)
    @pytest.mark.parametrize(
        ("chosen", "name"),
        [
            ("Anna", "Anna"),
            ("ANNA", "Anna"),
            ("B1", "Anna"),
            ("b1", "Anna"),
            ("against it", "Anna"),
            ("The Pragmatist", "The Pragmatist"),
            ("the pragmatist", "The Pragmatist"),
            ("It  depends", "The Pragmatist"),
            ('"Anna".', "Anna"),
            ("**Anna**", "Anna"),
        ],
    )
    def test_the_next_is_known_by_name_letter_or_stance(self, how: How, chosen: str, name: str) -> None:
        made = turn(says(how, "It pays.", chosen))
        assert (made.hands_to, made.no_handoff) == (name, "")
        assert made.text.startswith("It pays.")

    def test_the_speaker_is_told_how_to_choose_and_whom(self) -> None:
        at = opened(debaters=CAST).play_to_round(1)
        prompt = render(at.debate, at.pending_calls()[0])
        assert not [name for name in ("Ann", "Pragmatist") if name in render_prompt_text(prompt)]
        last = render_prompt_text(prompt).rpartition("\n")[2]
        assert last.startswith(
            "Call handoff with your turn and who speaks next, or answer otherwise with JSON only"
        )
        assert last.endswith(" Who may speak next: B1, C1.")
        assert prompt.summary.choices == ("B1", "C1")

    def test_a_tool_is_offered_that_is_made_from_a_typed_function(self) -> None:
        at = opened(debaters=CAST).play_to_round(1)
        (offered,) = render(at.debate, at.pending_calls()[0]).functions
        assert offered.name == "handoff"
        properties = offered.parameters["properties"]
        assert list(properties) == ["response", "next_agent_name"]
        assert properties["next_agent_name"]["enum"] == ["A1", "B1", "C1"]  # the same for all

    def test_structured_output_has_a_schema_with_the_labels_of_the_others(self) -> None:
        at = opened(debaters=CAST).play_to_round(1)
        prompt = render(at.debate, at.pending_calls()[0])
        assert prompt.schema
        assert prompt.schema["properties"]["next_agent_name"]["enum"] == ["B1", "C1"]
        assert prompt.schema["properties"]["response"]["maxLength"] == 2000
        assert prompt.schema["required"] == ["response", "next_agent_name"]

    def test_where_nobody_hands_over_nobody_is_asked_to(self) -> None:
        at = simulate(build_setup()).play_to_round(1)
        prompt = render(at.debate, at.pending_calls()[0])
        assert (prompt.functions, prompt.schema, prompt.summary.choices) == ((), None, ())


@pytest.mark.requirement("B2")
class TestText:
    @pytest.mark.parametrize(
        ("said", "name"),
        [
            ("transition to anna", "Anna"),
            ("TRANSITION TO ANN A", ""),
            ("Transitioning to Anna, who knows.", "Anna"),
            ("Transition to: Anna", "Anna"),
            ("**Transition to:** Anna", "Anna"),
            ("Transition to\nAnna", "Anna"),
            ("Transition to the Anna", "Anna"),
            ("Transition to Pragmatist", "The Pragmatist"),
            ("Transition to the against it", "Anna"),
            ("Transition to whoever is left", ""),
            ("Transition to Annabel", ""),
            ("Transition to Anna\nI mean: transition to The Pragmatist.", "The Pragmatist"),
            ('I end here ("Transition to Anna").', "Anna"),
            ("Transition to position B1", "Anna"),
            ("Transition to B1, please", "Anna"),
            ("It pays.\n\n**Transition to: Anna**", "Anna"),
            ("It pays. (Transition to B1)", "Anna"),
        ],
    )
    def test_the_last_choice_counts_in_any_case_and_amid_other_words(self, said: str, name: str) -> None:
        made = turn(Reply(said, build_usage()))
        assert made.hands_to == name
        assert made.text == said

    def test_a_name_that_begins_like_another_is_told_from_it(self) -> None:
        cast = [{"name": name, "stance": name} for name in ("Bob", "Ann", "Anna", "Ann Lee")]
        for name in ("Ann", "Anna", "Ann Lee"):
            assert turn(Reply(f"Transition to {name}.", build_usage()), cast).hands_to == name
            assert turn(says("structured", "x", name), cast).hands_to == name


class TestNames:
    def test_a_stance_that_the_speaker_shares_with_one_other_means_the_other(self) -> None:
        cast = [{"name": name, "stance": "no"} for name in ("Ann", "Bob")]
        assert turn(says("structured", "x", "no"), cast).hands_to == "Bob"

    def test_a_stance_that_several_others_defend_means_nobody(self) -> None:
        cast = [{"name": name, "stance": "no"} for name in ("Ann", "Bob", "Cleo")]
        assert turn(says("structured", "x", "no"), cast).no_handoff == (
            'it chose "no" to speak next; there are B1, C1'
        )


@pytest.mark.requirement("B2")
class TestCut:
    """A turn that was stopped at its token limit is what there is of it."""

    @pytest.mark.parametrize("how", ["tool", "structured"])
    @pytest.mark.parametrize(
        ("left_out", "said"), [(40, "It pays, because stor"), (3, "It pays, because storage is cheap.")]
    )
    def test_what_there_is_of_it_is_the_turn(self, how: How, left_out: int, said: str) -> None:
        whole = json.dumps({"response": "It pays, because storage is cheap.", "next_agent_name": "B1"})
        part = whole[:-left_out]
        reply = called(part) if how == "tool" else Reply(part, build_usage())
        made = turn(replace(reply, cut=True))
        assert (made.text, made.hands_to, made.cut) == (said, "", True)
        assert made.no_handoff == "it named nobody to speak next; there are B1, C1"

    @pytest.mark.parametrize("cut", [False, True])
    def test_without_a_word_of_it_there_is_none(self, *, cut: bool) -> None:
        cause = "Field required (it was stopped" if cut else "broken off or malformed"
        assert cause in useless(Reply('{"response', build_usage(), cut=cut))


@pytest.mark.requirement("B2", "B5")
class TestUnusable:
    @pytest.mark.parametrize("how", READERS)
    @pytest.mark.parametrize(
        ("chosen", "why"),
        [
            ("Zoe", 'it chose "Zoe" to speak next; there are B1, C1'),
            ("Ann", "it chose itself to speak next, which is not a hand-off; there are B1, C1"),
            ("A1", "it chose itself to speak next, which is not a hand-off; there are B1, C1"),
        ],
    )
    def test_a_stranger_or_oneself_cannot_be_chosen(self, how: How, chosen: str, why: str) -> None:
        made = turn(says(how, "It pays.", chosen))
        assert (made.hands_to, made.no_handoff) == ("", why)
        assert made.text.startswith("It pays.")

    @pytest.mark.parametrize(
        "reply",
        [
            IN_WORDS,
            Reply("42", build_usage()),
            called("{", said="It pays."),
            called("{}", name="search", said="It pays."),
            Reply('{"response": "It pays."}', build_usage()),
            says("tool", "It pays.", None),
            *(says("structured", "It pays.", nobody) for nobody in NOBODY),
        ],
    )
    def test_a_turn_that_names_nobody_is_a_turn_all_the_same(self, reply: Reply) -> None:
        made = turn(reply)
        assert made.hands_to == ""
        assert made.no_handoff == "it named nobody to speak next; there are B1, C1"
        assert made.text in ("It pays.", "42")

    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            (Reply('{"next_agent_name": "Anna"}', build_usage()), "response: Field required"),
            (Reply('```json\n{"response": "It', build_usage()), "the JSON of the reply is"),
            (says("structured", "  ", "Anna"), "the turn itself is empty"),
            (says("tool", "  ", "Anna"), "the turn itself is empty"),
            (called("{}"), "handoff was called wrongly: "),
            (called("[]"), "handoff was called wrongly: "),
            (called("{}", name="search"), "the turn itself is empty"),
        ],
    )
    def test_without_a_turn_the_speaker_is_asked_again(self, reply: Reply, why: str) -> None:
        assert useless(reply).startswith(why)

    def test_a_call_that_cannot_be_read_leaves_what_was_written_beside_it(self) -> None:
        made = turn(called("{", said="It pays.\nTransition to Anna"))
        assert (made.text, made.hands_to) == ("It pays.\nTransition to Anna", "Anna")

    def test_a_function_that_was_not_offered_is_no_answer(self) -> None:
        at = simulate().play_to_round(1)
        event = interpret(at.debate, at.pending_calls()[0], called("{}"))
        assert isinstance(event, Failed)
        assert event.cause == "empty"

    def test_words_beside_the_call_are_the_turn_where_the_call_has_none(self) -> None:
        made = turn(called('{"response": "", "next_agent_name": "Anna"}', said="It pays."))
        assert (made.text, made.hands_to) == ("It pays.", "Anna")


def passing(names: Mapping[str, object]) -> Any:
    """Each speaker hands over to the one given for it."""
    return task_script(
        {"argument": lambda c: {"response": f"{c.round}.", "next_agent_name": names.get(c.seat)}}
    )


@pytest.mark.requirement("B5")
class TestDrawn:
    def spoken(self, at: DebateSimulation) -> list[str]:
        return [made.seat for made in at.debate.turns]

    def test_every_choice_is_a_fact_with_its_reason(self) -> None:
        names = {"Speaker 1": "Speaker 3", "Speaker 3": "Speaker 2", "Speaker 2": "Speaker 1"}
        at = opened(debaters=build_debaters(3), max_rounds=4)
        at.script = passing(names)
        at.play()
        assert self.spoken(at) == ["Speaker 1", "Speaker 3", "Speaker 2", "Speaker 1"]
        assert at.debate.handoffs == tuple(
            HandedOff(seat=seat, round=number, to=names[seat], because="chosen")
            for number, seat in enumerate(self.spoken(at)[:3], start=1)
        )
        assert at.debate.failures == ()

    def test_models_that_do_not_choose_let_everybody_speak(self) -> None:
        def script(call: Call) -> str:
            request = Request(render(at.debate, call), call.seat, 600, 60, 7)
            return json.dumps({"response": "It pays.", "next_agent_name": request.find_next_speaker()})

        at = opened(debaters=build_debaters(3))
        at.script = script
        spoken = self.spoken(at.play())
        assert len(spoken) > 3
        order = [at.debate.names.index(name) for name in spoken]
        assert all((this + 1) % 3 == following for this, following in pairwise(order))

    def test_where_a_choice_cannot_be_used_somebody_else_is_drawn_and_both_are_recorded(self) -> None:
        at = opened(debaters=build_debaters(4))
        at.script = passing({"Speaker 1": "Speaker 1"})
        at.play_to_round(2)
        (failure,) = at.debate.handoff_failures
        (handed,) = at.debate.handoffs
        assert handed == HandedOff(seat="Speaker 1", round=1, to=handed.to, because="drawn")
        assert handed.to != "Speaker 1"
        assert failure == HandoffFailed(
            seen=failure.seen,
            seat="Speaker 1",
            round=1,
            detail="it chose itself to speak next, which is not a hand-off; "
            f"there are B1, C1, D1; {side_labels(at.debate)[handed.to]} was drawn",
        )
        assert at.debate.rounds[-1].order == (handed.to,)
        assert self.spoken(at) == ["Speaker 1"]

    def test_the_draw_is_the_seeds_and_is_made_again_alike(self) -> None:
        def drawn(seed: int) -> list[str]:
            at = simulate(build_setup(format="handoff", seed=seed, debaters=build_debaters(6)))
            at.script = passing({})
            return self.spoken(at.play())

        assert drawn(7) == drawn(7)
        assert drawn(7) != drawn(8)
        assert drawn(7)[:4] == ["Speaker 1", "Speaker 4", "Speaker 6", "Speaker 4"]
        assert all(one != other for one, other in zip(drawn(7), drawn(7)[1:], strict=False))

    def test_a_choice_that_was_recorded_without_the_next_round_is_not_made_twice(self) -> None:
        at = opened(debaters=build_debaters(3))
        at.script = passing({})
        at.play_through_round(1)
        whole = decide(at.debate)
        failed, handed, entered = whole.events  # type: ignore[union-attr]  # it is a Record
        assert decide(at.add_events(failed).debate).events == (handed, entered)  # type: ignore[union-attr]
        assert decide(at.add_events(handed).debate).events == (entered,)  # type: ignore[union-attr]


@pytest.mark.requirement("B6")
class TestBounds:
    def test_ten_turns_of_500_tokens_are_the_most_unless_asked_otherwise(self) -> None:
        made = build_setup(format="handoff")
        assert (made.max_turns, made.max_rounds, made.max_turn_tokens) == (10, 10, 500)
        asked = build_setup(format="handoff", options={"limits": {"max_turns": 30, "max_turn_tokens": 64}})
        assert (asked.max_turns, asked.max_rounds, asked.max_turn_tokens) == (30, 30, 64)
        assert build_setup(format="handoff", max_rounds=4).max_turns == 4
        both = build_setup(format="handoff", max_rounds=4, options={"limits": {"max_turns": 3}})
        assert (both.max_turns, both.max_rounds) == (3, 4)
