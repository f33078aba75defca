"""Whose words reach the client, and whose enter the other seats' history."""

import json
from typing import Any, get_args

import pytest

from server.debate.facts.config import SeatKind
from server.debate.facts.events import Researched
from server.debate.views.catalog import VIEWS, ViewSource
from server.debate.views.markdown import render_moderation, render_transcript
from server.debate.views.rounds import build_round, list_tasks
from server.debate.views.state import build_state, sum_usage, visible_turns
from server.debate.views.verdict import build_result, build_verdict
from tests.support.simulation import (
    DebateSimulation,
    build_ballot,
    build_setup,
    build_usage,
    render_finding,
    render_prompt_text,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("C17")

WORDS: dict[SeatKind, tuple[str, ...]] = {
    "debaters": ("It pays,", "Why not,", "Because,", "I vote so,", "costs of boats"),
    "moderator": ("Mind the facts.", "Who pays, really?", "So far so good."),
    "referee": ("B was vague.",),
    "judges": ("First reading.", "Second reading."),
    "synthesizer": ("Buy the red one.",),
}
KINDS: tuple[SeatKind, ...] = get_args(SeatKind)

SAYING = task_script(
    {
        "argument": lambda c: f"It pays, {c.seat}.",
        "message": lambda c: {"to": "A" if c.seat == "Opponent" else "B", "text": f"Why not, {c.seat}?"},
        "answer": lambda c: f"Because, {c.seat}.",
        "ballot": lambda c: build_ballot("A", f"I vote so, {c.seat}."),
        "opening": {
            "next_speakers": ["A", "B"],
            "briefing": "Mind the facts.",
            "new_angle": "Who pays, really?",
            "done": False,
        },
        "closing": {"summary": "So far so good.", "status": "CONTINUE"},
        "audit": "B was vague.",
        "judgment": lambda c: render_finding("A", verdict=["First", "Second"][c.reading - 1] + " reading."),
        "deliverable": "Buy the red one.",
    }
)


def play_debate(**visibility: Any) -> DebateSimulation:
    """A debate in which everybody there can be has said something."""
    opened = build_setup(
        format="full",
        options={
            "moderator": {"opens": True, "closes": True},
            "referee": True,
            "synthesizer": True,
            "visibility": visibility,
        },
    )
    at = simulate(opened, SAYING).play_to_round(1)
    at.add_events(at.answer(at.pending_calls()[0]))
    lookups = ({"tool": "web/search", "arguments": "costs of boats", "result": "found"},)
    at.add_events(Researched(seen=1, seat="Proponent", round=1, lookups=lookups, usage=build_usage()))
    return at.play()


def build_events(at: DebateSimulation) -> list[dict[str, Any]]:
    stored = at.stored()
    return list(VIEWS["events"].build(ViewSource(stored.id, stored.debate, stored.entries))["events"])


def client_text(at: DebateSimulation) -> str:
    """All that a client can read of what was said, but for the verdict itself."""
    rounds = [build_round(at.debate, entered.round) for entered in at.debate.rounds]
    prompt_text = [event for event in build_events(at) if event["kind"] != "concluded"]
    state = build_state(at.stored()) | {"verdict": ""}
    result = {k: v for k, v in build_result(at.debate).items() if k != "verdict"}
    transcript, _, _ = render_transcript(at.debate, at.log).partition("\n## Verdict: ")
    return json.dumps([rounds, prompt_text, state, result, transcript])


class TestClients:
    def test_everything_is_shown_by_default(self) -> None:
        text_ = client_text(play_debate())
        for words in WORDS.values():
            assert all(word in text_ for word in words)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_kind_of_seat_can_be_hidden_from_clients(self, kind: SeatKind) -> None:
        text_ = client_text(play_debate(hide_from_client=[kind]))
        for other, words in WORDS.items():
            for word in words:
                assert (word in text_) == (other != kind), word

    def test_hidden_turns_are_counted(self) -> None:
        at, plain = play_debate(hide_from_client=list(KINDS)), play_debate()
        assert visible_turns(at.debate) == []
        assert list_tasks(at.debate) == list_tasks(plain.debate)
        assert sum_usage(at.debate.usage) == sum_usage(plain.debate.usage)
        rows = build_events(at)
        assert [row["seq"] for row in rows] == list(range(1, len(at.log) + 1))
        spoke = next(row for row in rows if row["kind"] == "spoke")
        assert spoke.keys() == {"seq", "at", "actor", "hash", "names", "kind", "seat", "round", "usage"}

    def test_the_verdict_is_always_shown(self) -> None:
        found = build_verdict(play_debate(hide_from_client=list(KINDS)).debate)
        assert (found.outcome, found.winner) == ("leaning", "Proponent")
        assert found.deliverable == ""
        assert found.dissent == []

    def test_markdown_omits_hidden_seats(self) -> None:
        at = play_debate(hide_from_client=["moderator", "referee"])
        for number in range(1, at.debate.round + 1):
            assert render_moderation(at.debate, number) == ""
        assert "### Moderator" in render_moderation(play_debate().debate, 1)


class TestSeats:
    def prompt_text(self, at: DebateSimulation, seat: str) -> str:
        return "\n".join(
            render_prompt_text(prompt)
            for call, prompt in at.calls_made
            if call.seat == seat and call.round > 1
        )

    def test_debaters_can_be_hidden_from_each_other_but_not_from_judges(self) -> None:
        at = play_debate(hide_from_seats=["debaters"])
        assert "> It pays, B." not in self.prompt_text(at, "Proponent")
        assert "> It pays, A." in self.prompt_text(at, "Proponent")
        for seat in ("moderator", "referee", "judge 1", "synthesizer"):
            assert "> It pays, B." in self.prompt_text(at, seat)

    @pytest.mark.parametrize(
        ("kind", "words"), [("moderator", "> So far so good."), ("referee", "> B was vague.")]
    )
    def test_moderator_and_referee_can_be_hidden_from_all_others(self, kind: str, words: str) -> None:
        at = play_debate(hide_from_seats=[kind])
        for seat in {"Proponent", "Opponent", "moderator", "referee", "judge 1", "synthesizer"} - {kind}:
            assert words not in self.prompt_text(at, seat)
            assert words in self.prompt_text(play_debate(), seat)
        assert words in self.prompt_text(at, kind)

    def test_seats_see_each_other_by_default(self) -> None:
        for seat in ("Proponent", "moderator", "judge 1"):
            assert "> It pays, B." in self.prompt_text(play_debate(), seat)
