"""What an answer has seen: the version of the debate that its prompt was rendered from."""

import pytest

from server.debate.commands.submit import build_submission
from server.debate.facts.answers import Answer
from server.debate.facts.events import Failed
from server.debate.facts.interventions import NoteAdded
from tests.support.simulation import ProviderFailure, build_setup, simulate

pytestmark = pytest.mark.requirement("N8")


def test_every_answer_and_failure_carries_the_version_that_its_prompt_showed() -> None:
    at = simulate(
        build_setup(format="full"),
        lambda call: ProviderFailure("timeout") if call.key.startswith("1.Opponent") else "So.",
    ).play()
    answers = [event for event in at.events if isinstance(event, Answer | Failed)]
    assert sorted((event.seat, event.round, event.seen) for event in answers) == sorted(
        (call.seat, call.round, call.seen) for call, _ in at.calls_made
    )


def test_answers_of_one_group_saw_the_same_version_whatever_was_recorded_meanwhile() -> None:
    at = simulate().play_to_round(1)
    first, second = at.pending_calls()
    at.add_events(at.answer(first), NoteAdded(text="Mind the cost.", round=1), at.answer(second))
    assert [turn.seen for turn in at.debate.turns] == [2, 2]


def test_a_submitted_turn_saw_the_version_at_its_submission() -> None:
    at = simulate(build_setup(["caller"])).play_to_round(1).add_events(NoteAdded(text="x", round=1))
    event = build_submission(at.debate, "Proponent", "Because.")
    assert isinstance(event, Answer)
    assert event.seen == at.debate.version == 3
