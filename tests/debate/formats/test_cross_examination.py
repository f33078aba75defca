"""Cross-examination: one message each, answered by whom it is for, between the two and those who judge."""

from typing import Any

import pytest

from server.debate.facts.events import Failed, Spoke
from server.debate.machine.interpret import interpret
from server.debate.machine.render import render
from server.debate.prompts.material import MAX_DIRECT_MESSAGES
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.views.markdown import render_transcript
from server.debate.views.rounds import build_round, list_tasks
from server.debate.views.state import visible_turns
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    ScriptAnswer,
    build_debaters,
    build_setup,
    build_usage,
    render_prompt_text,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("D5")

ONE, TWO, THREE = (f"Speaker {n}" for n in (1, 2, 3))
RING = {ONE: TWO, TWO: THREE, THREE: ONE}


def examined(
    to: dict[str, str] | None = None, *, phases: list[Any] | None = None, **options: Any
) -> DebateSimulation:
    """Three debaters who write to each other: each to the next, unless told otherwise."""
    whom = to or RING
    made = build_setup(
        debaters=build_debaters(3),
        options={"phases": phases or ["opening", "cross_examination", "synthesis", "verdict"], **options},
    )
    script = task_script(
        {
            "message": lambda c: {"to": whom[c.seat], "kind": "critique", "text": f"Why, asks {c.seat[-1]}?"},
            "answer": lambda c: f"So, {c.seat[-1]} to {c.message_author[-1]}.",
        }
    )
    return simulate(made, script)


def said(at: DebateSimulation, number: int = 2) -> list[tuple[str, str, str]]:
    return [(turn.act, turn.seat, turn.to) for turn in at.debate.transcript_turns(number)]


def reads(said_: str) -> Spoke | Failed:
    at = examined().play_to_round(2)
    event = interpret(at.debate, at.pending_calls()[0], Reply(said_, build_usage()))
    assert isinstance(event, Spoke | Failed)
    return event


class TestTheRound:
    def test_everybody_writes_one_message_and_each_is_answered_by_whom_it_is_for(self) -> None:
        at = examined().play()
        assert sorted(said(at)) == sorted(
            [("critique", asker, asked) for asker, asked in RING.items()]
            + [("answer", asked, asker) for asker, asked in RING.items()]
        )
        assert [call.task for call, _ in at.calls_made if call.round == 2] == ["message"] * 3 + ["answer"] * 3

    def test_an_answer_follows_its_message_in_every_view(self) -> None:
        at = examined().play()
        pairs = said(at)
        for asked, answered in zip(pairs[::2], pairs[1::2], strict=True):
            assert (answered[1], answered[2]) == (asked[2], asked[1])
        rows = [(row["act"], row["agent"], row["to"]) for row in build_round(at.debate, 2)["turns"]]
        assert rows == pairs
        assert [(turn.act, turn.agent, turn.to) for turn in visible_turns(at.debate, 2)][:6] == pairs
        assert '### Speaker 1 ("stance 1"), critique to Speaker 2\n\n[Speaker 1 2.1]\n> Why, asks 1?\n' in (
            render_transcript(at.debate, at.log)
        )
        assert '### Speaker 2 ("stance 2"), answer to Speaker 1\n\n[Speaker 2 2.2]\n> So, 2 to 1.\n' in (
            render_transcript(at.debate, at.log)
        )

    def test_who_is_asked_twice_answers_twice_each_time_the_one_message(self) -> None:
        at = examined({ONE: TWO, THREE: TWO, TWO: ONE}).play()
        answers = [
            (c, render_prompt_text(p)) for c, p in at.calls_made if c.task == "answer" and c.seat == TWO
        ]
        assert {call.message_author for call, _ in answers} == {ONE, THREE}
        for call, prompt in answers:
            other = {ONE: THREE, THREE: ONE}[call.message_author]
            author = ("A1", "C1")[call.message_author == THREE]
            said_by = f"{author} to you, critique:\n[{author} 2.1]\n> Why, asks {call.message_author[-1]}?"
            assert said_by in prompt
            assert f"asks {other[-1]}?" not in prompt
        assert ("answer", TWO, ONE) in said(at)
        assert ("answer", TWO, THREE) in said(at)

    def test_a_message_that_never_came_is_not_answered(self) -> None:
        def script(call: Call) -> ScriptAnswer:
            silent = (call.task, call.seat) == ("message", THREE)
            return ProviderFailure("timeout") if silent else examined().script(call)

        at = examined()
        at.script = script
        at.play()
        assert at.status == "concluded"
        assert len(said(at)) == 4
        assert not [act for act, seat, _ in said(at) if (act, seat) == ("answer", ONE)]

    def test_an_answer_that_never_came_leaves_the_message(self) -> None:
        def script(call: Call) -> ScriptAnswer:
            return ProviderFailure("timeout") if call.task == "answer" else examined().script(call)

        at = examined()
        at.script = script
        assert at.play().status == "concluded"
        assert [act for act, *_ in said(at)] == ["critique"] * 3
        assert [row["task"] for row in list_tasks(at.debate) if row["state"] == "failed"] == ["answer"] * 3

    def test_the_limit_on_turns_holds_for_messages_and_answers(self) -> None:
        at = examined(limits={"max_turns": 7}).play()
        assert [act for act, *_ in said(at)].count("answer") == 1
        assert len(at.debate.turns) == 7
        assert at.debate.rounds[-1].because == "max_turns"


@pytest.mark.parametrize(
    ("reply", "act"),
    [
        *((f'{{"to": "B1", "kind": "{kind}", "text": "Why?"}}', kind) for kind in ("question", "proposal", "critique")),
        ('{"to": "B1", "text": "Why?"}', "question"),
    ],
)  # fmt: skip
def test_it_is_a_question_a_proposal_or_a_critique(reply: str, act: str) -> None:
    event = reads(reply)
    assert isinstance(event, Spoke)
    assert event.act == act


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        *(
            (f'{{"to": "{to}", "text": "Why?"}}', '"to" must name one other debater: B1, C1')
            for to in ("Zoe", "A1", ONE, "", "everybody")
        ),
        ("Why, B?", "the reply holds no JSON object"),
        ('{"to": "B1", "text": " "}', "text: Value error, must not be empty"),
        ('{"to": "B1", "kind": "shout", "text": "x"}', "kind: Input should be 'question', 'proposal' or"),
    ],
)
def test_what_cannot_be_read_or_is_for_nobody_says_why(reply: str, why: str) -> None:
    event = reads(reply)
    assert isinstance(event, Failed)
    assert event.detail.startswith(why)


def test_a_debater_is_told_whom_it_can_write_to() -> None:
    at = examined().play_to_round(2)
    prompt = render(at.debate, at.pending_calls()[0])
    assert "The others: B1, C1." in render_prompt_text(prompt)
    assert prompt.schema
    assert prompt.schema["properties"]["to"]["enum"] == ["B1", "C1"]


class TestPrivacy:
    def test_messages_are_read_by_the_two_and_by_those_who_judge(self) -> None:
        at = examined(moderator={"closes": True, "opens": False}, referee=True, synthesizer=True).play()
        for asker, asked in RING.items():
            question, answer = f"> Why, asks {asker[-1]}?", f"> So, {asked[-1]} to {asker[-1]}."
            for seat in (ONE, TWO, THREE):
                late = [render_prompt_text(p) for c, p in at.calls_made if c.seat == seat and c.round == 3]
                assert all((question in prompt) == (seat in (asker, asked)) for prompt in late)
                assert all((answer in prompt) == (seat in (asker, asked)) for prompt in late)
            for seat in ("judge 1", "moderator", "referee", "synthesizer"):
                late = [render_prompt_text(p) for c, p in at.calls_made if c.seat == seat and c.round > 2]
                assert late
                assert all(question in prompt and answer in prompt for prompt in late)

    def test_nobody_reads_a_message_of_the_same_round_before_writing_its_own(self) -> None:
        at = examined().play()
        assert not any(", asks " in render_prompt_text(p) for c, p in at.calls_made if c.task == "message")

    def test_judges_read_letters_and_each_message_with_its_answer_in_both_orders(self) -> None:
        at = examined(judges={"both_orders": True}).play()
        first, second = at.prompts("judge 1")
        for prompt, one, two in ((first, "A1", "B1"), (second, "C1", "A1")):
            asked = f"[{one} to {two}, critique]\n[{one} 2.1]\n> Why, asks 1?"
            assert f"{asked}\n\n[{two} to {one}, answer]\n[{two} 2.2]\n> So, 2 to 1." in prompt
            assert not any(name in prompt for name in RING)
        order = [f"asks {seat[-1]}?" for seat in at.debate.rounds[1].order]
        assert sorted(order, key=first.index) == order
        assert sorted(order, key=second.index) == order[1:] + order[:1]

    def test_the_last_100_messages_are_remembered(self) -> None:
        asking = ["cross_examination"] * 3
        made = build_setup(debaters=build_debaters(26), options={"phases": [*asking, "synthesis"]})
        to_one = task_script(
            {"message": lambda c: {"to": "A1" if c.seat != ONE else "B1", "text": f"{c.round}?"}}
        )
        last = simulate(made, to_one).play().prompts(ONE)[-1]
        last = last.rpartition("\n\n")[2]
        assert last.count(" to you, ") + last.count("You to ") == MAX_DIRECT_MESSAGES == 100
        assert "> 1?" not in last
        assert "> 3?" in last
