"""Whose words reach the client, and whose enter the other seats' history."""

import json
from functools import cache
from typing import Any

import pytest

from server.debate.commands.setup.documents import add_windows
from server.debate.facts.answers import PassageRead, Researched
from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Recorded
from server.debate.facts.interventions import Challenged
from server.debate.facts.setup.limits import Window
from server.debate.seats.registry import SEAT_KINDS
from server.debate.state.debate import Debate
from server.debate.views.catalog import VIEWS, ViewSource
from server.debate.views.markdown import render_moderation, render_transcript
from server.debate.views.rounds import build_round, list_tasks
from server.debate.views.state import build_state, sum_usage, visible_turns
from server.debate.views.verdict import build_result, build_verdict
from server.debate.views.visibility import is_hidden
from server.engine.database.summaries import build_search_text
from server.web.record import build_debate
from storage.streams import Entry
from tests.support.hollow_debates import FLIPPED, hold
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

WORDS: dict[str, tuple[str, ...]] = {
    "debaters": ("It pays,", "Why not,", "Because,", "I vote so,", "costs of boats"),
    "moderator": ("Mind the facts.", "Who pays, really?", "So far so good."),
    "referee": ("B was vague.",),
    "judges": ("First reading.", "Second reading."),
    "synthesizer": ("Buy the red one.",),
}
KINDS = SEAT_KINDS

SAYING = task_script(
    {
        "argument": lambda c: f"It pays, {c.seat}.",
        "message": lambda c: {"to": "A1" if c.seat == "Opponent" else "B1", "text": f"Why not, {c.seat}?"},
        "answer": lambda c: f"Because, {c.seat}.",
        "ballot": lambda c: build_ballot("A1", f"I vote so, {c.seat}."),
        "opening": {
            "next_speakers": ["A1", "B1"],
            "briefing": "Mind the facts.",
            "new_angle": "Who pays, really?",
            "done": False,
        },
        "closing": {"summary": "So far so good.", "status": "CONTINUE"},
        "audit": "B was vague.",
        "judgment": lambda c: render_finding("A1", verdict=["First", "Second"][c.reading - 1] + " reading."),
        "deliverable": "Buy the red one.",
    }
)


@cache
def play_kept(kept: str) -> DebateSimulation:
    options = {"moderator": {"opens": True, "closes": True}, "referee": True, "synthesizer": True}
    opened = build_setup(format="full", options={**options, "visibility": json.loads(kept)})
    at = simulate(opened, SAYING).play_to_round(1)
    at.add_events(at.answer(at.pending_calls()[0]))
    lookups = ({"tool": "web/search", "arguments": "costs of boats", "result": "found"},)
    at.add_events(Researched(seen=1, seat="Proponent", round=1, lookups=lookups, usage=build_usage()))
    return at.play()


def play_debate(**visibility: Any) -> DebateSimulation:
    """A debate in which everybody there can be has said something. Each is played once."""
    return play_kept(json.dumps(visibility))


def read_passages(visibility: dict[str, Any], queries: dict[str, str]) -> DebateSimulation:
    """A debate on a document that is too long for its models, in which seats ask for passages of it."""
    text = "".join(f"Line {number} of a long report.\n" for number in range(4_000))
    documents = [{"title": "Report", "text": text}]
    setup = build_setup(documents=documents, options={"visibility": visibility})
    words = {
        "digest": {"summary": "Lines.", "quotes": []},
        "argument": lambda c: f"So.\n[read doc 1: {queries[c.seat]}]" if c.seat in queries else "Not so.",
    }
    return simulate(add_windows(setup, [Window(model="scripted", tokens=8_000)]), task_script(words)).play()


def build_events(at: DebateSimulation) -> list[dict[str, Any]]:
    stored = at.stored()
    return list(VIEWS["events"].build(ViewSource(stored.id, stored.debate, stored.entries))["events"])


def client_text(at: DebateSimulation) -> str:
    """All that a client can read of what was said, but for the verdict itself."""
    rounds = [build_round(at.debate, entered.round) for entered in at.debate.rounds]
    prompt_text = [event for event in build_events(at) if event["kind"] != "concluded"]
    state = build_state(at.stored()) | {"verdict": ""}
    result = {k: v for k, v in build_result(at.debate).items() if k not in ("verdict", "answer")}
    transcript, _, _ = render_transcript(at.debate, at.log).partition("\n## Verdict\n")
    return json.dumps([rounds, prompt_text, state, result, transcript])


class TestClients:
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_kind_of_seat_can_be_hidden_from_clients(self, kind: str) -> None:
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
        assert "> It pays, Opponent." not in self.prompt_text(at, "Proponent")
        assert "> It pays, Proponent." in self.prompt_text(at, "Proponent")
        for seat in ("moderator", "referee", "judge 1", "synthesizer"):
            assert "> It pays, Opponent." in self.prompt_text(at, seat)

    @pytest.mark.parametrize(
        ("kind", "words"), [("moderator", "> So far so good."), ("referee", "> B was vague.")]
    )
    def test_moderator_and_referee_can_be_hidden_from_all_others(self, kind: str, words: str) -> None:
        at = play_debate(hide_from_seats=[kind])
        for seat in {"Proponent", "Opponent", "moderator", "referee", "judge 1", "synthesizer"} - {kind}:
            assert words not in self.prompt_text(at, seat)
            assert words in self.prompt_text(play_debate(), seat)
        assert words in self.prompt_text(at, kind)


def store_entry(entry: Recorded) -> Entry:
    return Entry(entry.seq, entry.at, entry.actor, entry.event.model_dump(mode="json"), entry.hash)


def every_view(at: DebateSimulation) -> str:
    """What each view, the search and the page have, but for the verdict and for what is given to code whole."""
    stored = at.stored()
    source = ViewSource(stored.id, stored.debate, stored.entries, is_whole=True)
    shown = {name: view.build(source) for name, view in VIEWS.items() if name not in ("family", "receipt")}
    texts = [render_transcript(at.debate, at.log).partition("\n## Verdict\n")[0]]
    texts += [build_search_text(at.debate, at.debate.answers)]
    texts += [json.dumps(build_debate(source, [store_entry(entry) for entry in at.log]))]
    return json.dumps([shown, texts])


class TestSingleSeats:
    """A seat that is named is hidden alone, and what is made of the words of all seats of its kind with it."""

    def test_the_readings_of_one_judge_are_in_no_view(self) -> None:
        at = play_debate(hide_from_client=["judge 1"])
        assert "First reading." not in client_text(at)
        assert "It pays, Proponent." in client_text(at)
        assert build_verdict(at.debate).votes == build_verdict(play_debate().debate).votes

    def test_what_is_made_of_all_debaters_is_hidden_with_one(self) -> None:
        options = {"ballots": "rounds", "visibility": {"hide_from_client": ["Ada"]}}
        open_, hidden = (build_verdict(hold(FLIPPED, options=given).play().debate) for given in ({}, options))
        assert open_.claims.total
        assert open_.signals
        assert open_.alerts
        assert open_.beliefs.moved
        plain = build_verdict(
            hold(FLIPPED, options={"visibility": {"hide_from_client": ["debaters"]}}).play().debate
        )
        for name in ("claims", "signals", "alerts", "beliefs", "rhetoric"):
            assert getattr(hidden, name) == getattr(plain, name)

    @pytest.mark.parametrize("seat", ["Ada", "debaters"])
    def test_signs_of_hollow_agreement_are_in_no_view_where_a_debater_is_hidden(self, seat: str) -> None:
        shown, hidden = (
            hold(FLIPPED, options={"visibility": {"hide_from_client": seats}}).play()
            for seats in ([], [seat])
        )
        for words in (
            "shallow",
            "is not what is held:",
            "is not what is held in private",
            "The next round has a challenge",
            "A1 1.1]",
        ):
            assert words in every_view(shown), words
            assert words not in every_view(hidden), words
        kinds = [row["kind"] for row in build_events(hidden)]
        assert "alerted" in kinds
        assert "challenged" in kinds

    def test_a_challenge_that_somebody_made_is_shown_where_a_debater_is_hidden(self) -> None:
        at = hold(FLIPPED, options={"visibility": {"hide_from_client": ["Ada"]}}).play_to_round(1)
        at.add_events(Challenged(round=1, text="What does it cost?"))
        assert "What does it cost?" in render_transcript(at.debate, at.log)
        assert "What does it cost?" in json.dumps(build_events(at))

    def test_the_query_of_a_hidden_debater_is_hidden_with_its_turns(self) -> None:
        passage = PassageRead(
            round=1, seat="Proponent", slot_index=0, document=1, query="pension costs", found="nothing"
        )
        for seats, is_shown in (
            ((), True),
            (("Proponent",), False),
            (("Opponent",), True),
            (("debaters",), False),
        ):
            setup = build_setup(options={"visibility": {"hide_from_client": list(seats)}})
            assert is_hidden(Debate(setup), passage) != is_shown

    def test_one_debater_can_be_hidden_from_the_others_but_not_from_judges(self) -> None:
        at, prompt_text = play_debate(hide_from_seats=["Opponent"]), TestSeats().prompt_text
        assert "> It pays, Opponent." not in prompt_text(at, "Proponent")
        assert "> It pays, Proponent." in prompt_text(at, "Opponent")
        assert "> It pays, Opponent." in prompt_text(at, "Opponent")
        assert "> It pays, Opponent." in prompt_text(at, "judge 1")

    @pytest.mark.parametrize("seats", [[], ["Proponent"], ["debaters"]])
    def test_a_passage_is_hidden_from_debaters_with_the_seat_that_asked_for_it(
        self, seats: list[str]
    ) -> None:
        at = read_passages({"hide_from_seats": seats}, {"Proponent": "1234"})
        assert [passage.found for passage in at.debate.passages]
        for seat, is_shown in (("Proponent", True), ("Opponent", not seats), ("judge 1", True)):
            assert ('asked for: "1234"' in TestSeats().prompt_text(at, seat)) == is_shown
            assert ("Line 1234 of a" in TestSeats().prompt_text(at, seat)) == is_shown

    @pytest.mark.parametrize(
        ("hidden", "shown"), [(["Proponent"], ["2345"]), (["judges"], ["1234", "2345"]), (["debaters"], [])]
    )
    def test_clients_are_told_what_was_asked_for_by_whom_they_may_hear(
        self, hidden: list[str], shown: list[str]
    ) -> None:
        at = read_passages({"hide_from_client": hidden}, {"Proponent": "1234", "Opponent": "2345"})
        told = render_transcript(at.debate, at.log)
        assert [query for query in ("1234", "2345") if f'"{query}"' in told] == shown

    def test_a_name_is_found_in_any_case_and_an_unknown_one_refused_with_those_there_are(self) -> None:
        setup = build_setup(
            options={"visibility": {"hide_from_client": "PROPONENT", "hide_from_seats": ["Judges"]}}
        )
        assert (setup.hidden_from_client, setup.hidden_from_seats) == (("Proponent",), ("judges",))
        with pytest.raises(
            InvalidRequestError, match=r"there is no 'Plato'\. Kinds and seats: debaters, .*Opponent"
        ):
            build_setup(options={"visibility": {"hide_from_client": ["Plato"]}})
        with pytest.raises(InvalidRequestError, match="another seat has this name"):
            build_setup(debaters=[{"name": "Judges", "stance": "so"}, {"name": "B1", "stance": "not so"}])
