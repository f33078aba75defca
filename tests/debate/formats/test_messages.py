"""Messages beside turns: sent with one, read by two and the judges, answered when all have spoken or marked as not."""

from typing import Any

import pytest

from server.debate.arguments.points import list_points
from server.debate.facts.answers import MESSAGE_SLOT, DirectMessage
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import Failed, Spoke
from server.debate.machine.transitions import apply, replay
from server.debate.rules.calls import Call
from server.debate.views.events import build_interventions
from server.debate.views.markdown import render_transcript
from server.debate.views.state import visible_turns
from server.debate.views.verdict import build_result
from tests.support import simulation

pytestmark = pytest.mark.requirement("D29")

TEAM = [{"name": name, "stance": f"plan of {name}"} for name in ("Ada", "Bob", "Cleo")]
TURN = "We should start now.\n\nMESSAGE TO B1, question: What does your plan cost?"
ASK, REPLY = "What does your plan cost?", "Seven thousand."


def debate(
    turns: dict[str, Any] | None = None, answer: Any = REPLY, phases: Any = None, **options: Any
) -> simulation.DebateSimulation:
    """A debate of Ada (A), Bob (B) and Cleo (C); Ada asks Bob in round 1 unless `turns` says otherwise."""
    usual = [{"name": "opening", "messages": True}, {"name": "rebuttal", "messages": True}, "verdict"]
    opened = simulation.build_setup(debaters=TEAM, options={"phases": phases or usual, **options})
    said = {"Ada": TURN} if turns is None else turns

    def argue(call: Call) -> Any:
        text = said.get(call.seat, "No message.")
        return text(call) if callable(text) else text if call.round == 1 else "As before."

    return simulation.simulate(opened, simulation.task_script({"argument": argue, "answer": answer}))


def prompts(at: simulation.DebateSimulation, task: str, seat: str = "", round_number: int = 0) -> list[str]:
    return [
        simulation.render_prompt_text(prompt)
        for call, prompt in at.calls_made
        if call.task == task and seat in ("", call.seat) and round_number in (0, call.round)
    ]


def test_a_message_is_sent_with_a_turn_and_answered_when_all_have_spoken() -> None:
    at = debate().play()
    first = at.debate.turns[0]
    assert first.text == "We should start now."
    assert first.message == DirectMessage(act="question", to="Bob", text=ASK)
    (answer,) = [turn for turn in at.debate.turns if turn.act == "answer"]
    assert (answer.seat, answer.to, answer.text, answer.round) == ("Bob", "Ada", REPLY, 1)
    tasks = [(call.seat, call.task) for call, _ in at.calls_made if call.round == 1]
    assert tasks == [("Ada", "argument"), ("Bob", "argument"), ("Cleo", "argument"), ("Bob", "answer")]
    (prompt,) = prompts(at, "answer")
    assert all(part in prompt for part in (f"> {ASK}", "A1 to you, question:", "> We should start now."))
    assert at.status == "concluded"


def test_only_the_two_and_the_judges_read_it() -> None:
    at = debate().play()
    for seat, told in (("Ada", True), ("Bob", True), ("Cleo", False)):
        (prompt,) = prompts(at, "argument", seat, 2)
        assert (ASK in prompt) == told
        assert (REPLY in prompt) == told
    judges = prompts(at, "judgment")
    assert all(ASK in prompt and REPLY in prompt for prompt in judges)
    assert "[A1 to B1, question]" in judges[0]
    assert "[C1 to A1, question]" in judges[1]
    assert "With turns of round 1 messages were sent" in judges[0]
    assert judges[0].index("> No message.") < judges[0].index(f"> {ASK}") < judges[0].index(f"> {REPLY}")


def test_a_message_that_nobody_answers_is_said_to_be_unanswered() -> None:
    at = debate(answer=simulation.ProviderFailure("timeout")).play()
    assert at.status == "concluded"
    assert isinstance(next(event for event in at.events if isinstance(event, Failed)), Failed)
    judge = prompts(at, "judgment")[0]
    assert "[A1 to B1, question, never answered]" in judge
    assert "never answered" in render_transcript(at.debate, at.log)
    (row,) = [row for row in build_result(at.debate)["transcript"] if row.get("act") == "question"]
    assert row["unanswered"]
    assert not any(turn.unanswered for turn in visible_turns(debate().play().debate))


def test_a_message_under_way_is_not_said_to_be_unanswered() -> None:
    at = debate().play(lambda d: len(d.turns) == 3)
    assert [turn.unanswered for turn in visible_turns(at.debate)] == [False] * 4


@pytest.mark.parametrize(
    "line",
    [
        "MESSAGE TO B1, question: What does your plan cost?",
        "**MESSAGE TO Bob, question:** What does your plan cost?",
        "> message",
        "- MESSAGE TO b1: Question - What does your plan cost?",
    ],
)
def test_it_is_read_in_several_spellings_of_the_line(line: str) -> None:
    at = debate({"Ada": f"We should start now.\n{line}"}).play_through_round(1)
    message = at.debate.turns[0].message
    assert (message is None) == (line == "> message")
    assert message is None or message.text == ASK


@pytest.mark.parametrize(
    "line",
    [
        "MESSAGE TO A1, question: To myself?",
        "MESSAGE TO Dora, question: Who?",
        "MESSAGE TO B1, threat: Beware.",
        "MESSAGE TO B1, question:",
        "A MESSAGE TO B1, question: no line of its own",
    ],
)
def test_a_line_that_is_no_message_stays_in_the_turn(line: str) -> None:
    at = debate({"Ada": f"We should start now.\n{line}"}).play_through_round(1)
    assert at.debate.turns[0].message is None
    assert at.debate.turns[0].text.endswith(line)


def test_one_message_a_round_is_sent_and_it_is_cut() -> None:
    text = f"Start.\nMESSAGE TO B1, critique: {'x' * 3000}\nMESSAGE TO C1, question: And you?"
    at = debate({"Ada": text}).play_through_round(1)
    message = at.debate.turns[0].message
    assert message
    assert (len(message.text), message.act) == (1200, "critique")
    assert at.debate.turns[0].text == "Start.\n\nMESSAGE TO C1, question: And you?"


def test_a_turn_that_is_only_a_message_is_asked_for_again() -> None:
    at = debate({"Ada": "MESSAGE TO B1, question: Why?"}).play()
    assert [(f.seat, f.cause) for f in at.debate.failures][:1] == [("Ada", "unreadable")]


def test_without_messages_in_its_phase_nobody_is_told_of_them_and_the_line_is_a_part_of_the_turn() -> None:
    at = debate(phases=["opening", "verdict"]).play()
    assert "MESSAGE TO" not in prompts(at, "argument", "Ada")[0]
    assert at.debate.turns[0].text == TURN
    assert at.debate.turns[0].message is None
    assert "MESSAGE TO B1, question" in prompts(debate().play(), "argument", "Ada")[0]


def test_in_rounds_in_turn_and_led_rounds_they_are_answered_after_the_turns() -> None:
    declared = debate(phases=[{"name": "argumentation", "messages": True, "repeats": True}, "verdict"]).play()
    tasks = [call.task for call, _ in declared.calls_made if call.round == 1]
    assert tasks == ["argument", "argument", "argument", "answer"]
    assert ASK not in prompts(declared, "argument", "Cleo", 1)[0]

    def speak(call: Call) -> str:
        return f"Turn {call.slot_index}.\nMESSAGE TO B1, question: Number {call.slot_index}?"

    script = {
        "opening": {"next_speakers": ["A1", "A1", "B1"], "briefing": None, "new_angle": None, "done": False}
    }
    led = debate(
        {"Ada": speak},
        phases=[{"name": "argumentation", "messages": True}, "verdict"],
        moderator={"opens": True},
    )
    led.script = simulation.task_script(
        {**script, "argument": lambda c: speak(c) if c.seat == "Ada" else "So."}
    )
    led.play_through_round(1)
    sent = [turn.message.text for turn in led.debate.turns if turn.message]
    assert sent == ["Number 0?"]
    assert led.debate.turns[1].text.endswith("MESSAGE TO B1, question: Number 1?")
    assert led.debate.turns[-1].act == "answer"


def test_a_retracted_turn_takes_its_message_with_it() -> None:
    at = debate().play_to_round(2)
    at.intervene("retract", to="Ada", round=1)
    at.play()
    judge = prompts(at, "judgment")[0]
    assert ASK not in judge
    assert ASK not in prompts(at, "argument", "Bob", 2)[0]
    assert build_interventions(at.stored())["settings"]["retracted"] == [{"seat": "Ada", "round": 1}]


def test_messages_are_points_that_only_the_two_can_cite() -> None:
    at = debate().play()
    ids = {(point.seat, point.round, point.point) for point in list_points(at.debate)}
    assert ("Ada", 1, 1) in ids
    assert ("Ada", 1, MESSAGE_SLOT + 1) in ids
    assert ("Bob", 1, MESSAGE_SLOT + 2) in ids


def test_a_message_counts_for_budgets_and_turn_limits() -> None:
    at = debate(limits={"max_calls": 40}).play()
    assert at.status == "concluded"
    with pytest.raises(InvalidRequestError, match="too few for the 6 calls of another round"):
        debate(limits={"max_calls": 5})
    short = debate(limits={"max_calls": 8}).play()
    assert short.status == "concluded"
    assert len(short.calls_made) == 6


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        ({"name": "discussion", "messages": True}, "hand over"),
        ({"name": "cross_examination", "messages": True}, "come with arguments"),
        ({"name": "voting", "messages": True}, "come with arguments"),
        ({"name": "verdict", "messages": True}, "its order is fixed|come with arguments"),
    ],
)
def test_a_phase_that_cannot_have_messages_is_refused(phase: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidRequestError, match=told):
        simulation.build_setup(options={"phases": ["opening", phase]})


def test_a_record_with_a_message_that_could_not_be_sent_is_refused() -> None:
    at = debate().play()
    before, turn = at.before(Spoke)
    for to in ("Ada", "Dora"):
        wrong = turn.model_copy(update={"message": DirectMessage(act="question", to=to, text="?")})
        with pytest.raises(IllegalEvent, match="no such message"):
            apply(before, wrong)
    index = next(i for i, event in enumerate(at.events) if isinstance(event, Spoke) and event.act == "answer")
    answered = at.events[index].model_copy(update={"message": turn.message})
    with pytest.raises(IllegalEvent, match="no such message"):
        apply(replay(at.events[:index]), answered)
