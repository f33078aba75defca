import re
from contextlib import suppress
from typing import Any

import pytest

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Ended, Paused, Resumed
from server.debate.facts.interventions import Challenged, InstructionGiven, NoteAdded, TalkConcluded
from server.debate.interventions.action import Intervention, InterventionRequest
from server.debate.interventions.notes import MAX_NOTE_LENGTH
from server.debate.interventions.registry import ACTIONS, build_intervention
from server.debate.machine.transitions import replay
from server.debate.views.events import build_interventions
from server.debate.views.markdown import render_transcript
from server.debate.views.state import status_reason
from tests.support.simulation import DebateSimulation, build_debaters, build_setup, simulate

pytestmark = pytest.mark.requirement("D2", "D4", "C14")

CONCLUDE = TalkConcluded()
TEXT = "Give every cost in euros."
NOBODY = "The talk is being concluded, and no debater is asked for anything more."


def asked(
    at: DebateSimulation, action: str, *, text: str = "", to: str = "", reason: str = ""
) -> Intervention:
    return build_intervention(at.debate, action, InterventionRequest(text=text, to=to, reason=reason))


def refused(at: DebateSimulation, action: str, **asked_for: str) -> str:
    before = at.debate
    with pytest.raises(InvalidRequestError) as why:
        asked(at, action, **asked_for)
    assert at.debate == before
    return str(why.value)


def paused() -> DebateSimulation:
    return simulate().play_to_round(1).add_events(Paused(reason="lunch"))


class TestPausing:
    def test_a_pause_has_its_reason(self) -> None:
        made = asked(simulate(), "pause", reason="lunch")
        assert made.events == (Paused(reason="lunch"),)
        assert made.effect == ("Answers under way are kept; nothing more is asked until it is resumed.")

    def test_a_pause_without_a_reason_says_that_it_was_asked_for(self) -> None:
        assert asked(simulate(), "pause").events == (Paused(reason="paused on request"),)

    def test_what_is_paused_is_not_paused_again(self) -> None:
        assert refused(paused(), "pause") == "The debate is paused already: lunch"

    def test_what_is_paused_can_be_resumed(self) -> None:
        made = asked(paused(), "resume", reason="back")
        assert made.events == (Resumed(reason="back"),)
        assert made.effect.endswith("seats that failed in this round are asked again.")

    def test_what_runs_is_not_resumed(self) -> None:
        assert refused(simulate(), "resume") == "The debate is not paused. Run its next round to go on."


class TestNotes:
    def test_a_note_to_all_knows_its_round(self) -> None:
        made = asked(simulate().play_to_round(2), "inject", text=" Mind the costs. ", reason="they forget")
        assert made.events == (NoteAdded(text="Mind the costs.", round=2, to="", reason="they forget"),)
        assert made.effect == "Everybody reads it with every question put from now on."

    def test_a_note_can_be_made_before_the_first_round_and_in_a_pause(self) -> None:
        assert asked(simulate(), "inject", text="x").events == (NoteAdded(text="x", round=0),)
        assert asked(paused(), "inject", text="x").events == (NoteAdded(text="x", round=1),)

    def test_a_note_to_one_says_who_reads_it(self) -> None:
        made = asked(simulate(), "inject", text="x", to="Opponent")
        assert made.events == (NoteAdded(text="x", to="Opponent"),)
        assert made.effect == "Opponent reads it with every question put from now on."

    @pytest.mark.parametrize("text", ["", " \n"])
    def test_there_must_be_something_to_read(self, text: str) -> None:
        assert refused(simulate(), "inject", text=text) == "There is nothing to inject. Say it in `text`."

    def test_a_note_is_no_book(self) -> None:
        assert refused(simulate(), "inject", text="x" * (MAX_NOTE_LENGTH + 1)) == (
            "The text has 8,001 characters; 8,000 are allowed."
        )
        assert len(str(asked(simulate(), "inject", text="x" * MAX_NOTE_LENGTH).events)) > MAX_NOTE_LENGTH

    @pytest.mark.parametrize("to", ["Nobody", "judge 1", "opponent", "x" * 99])
    def test_there_must_be_somebody_to_read_it(self, to: str) -> None:
        assert refused(simulate(), "inject", text="x", to=to) == (
            f"Nobody here is called {to[:60]!r}. Debaters: Proponent, Opponent."
        )

    def test_a_note_that_nobody_would_read_is_refused(self) -> None:
        said = "The talk is over, and notes are for those who talk. The verdict has the finding."
        concluded = (
            simulate().play_through_round(1).add_events(CONCLUDE).play(lambda debate: debate.round == 2)
        )
        assert refused(simulate().play_to_round(3), "inject", text="x") == said
        assert refused(concluded, "inject", text="x") == said


class TestConcluding:
    def test_a_talk_can_be_concluded_once_something_was_said(self) -> None:
        made = asked(simulate().play_through_round(1), "conclude", reason="enough")
        assert made.events == (TalkConcluded(round=1, reason="enough"),)
        assert made.effect == ("Answers under way are kept; then the debate ends on what was said.")

    def test_a_reason_that_reads_like_a_spent_budget_is_a_request_all_the_same(self) -> None:
        at = simulate().play_through_round(1)
        at.add_events(*asked(at, "conclude", reason="budget: because I felt like it").events).play()
        assert at.debate.ended == Ended(ending="concluded", cause="request")
        assert status_reason(at.debate) == "request: concluded on request"

    def test_where_nothing_was_said_there_is_nothing_to_judge(self) -> None:
        said = "Nobody has spoken yet: there is nothing to judge. Run its next round first."
        assert refused(simulate(), "conclude") == refused(simulate().play_to_round(1), "conclude") == said

    def test_what_is_with_the_judges_is_not_concluded(self) -> None:
        said = "The talk is over already. The verdict has the finding."
        assert refused(simulate().play_through_round(1).add_events(CONCLUDE), "conclude") == said
        assert refused(simulate().play_to_round(3), "conclude") == said


@pytest.mark.parametrize(
    "action", [action for action in ACTIONS if action not in ("outcome", "tag", "untag")]
)
def test_nothing_is_done_to_a_debate_that_is_over(action: str) -> None:
    assert refused(simulate().play(), action, text="x") == (
        "The debate is over (concluded). Fork it to try it otherwise. The verdict has the finding."
    )


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("pausing", [False, True])
def test_what_is_not_refused_can_happen(pausing: bool, number: int) -> None:
    at = simulate(build_setup(debaters=build_debaters(3))).play_through_round(number)
    if pausing:
        at.add_events(Paused(reason="lunch"))
    for action in ACTIONS:
        with suppress(InvalidRequestError):
            made = asked(at, action, text="x", to="Speaker 2")
            assert replay(made.events, at.debate).version == at.debate.version + 1


def test_a_talk_that_is_over_for_another_reason_is_over_during_a_vote_too() -> None:
    opened = build_setup(options={"phases": ["opening", "voting", "rebuttal", "voting"]})
    asking = simulate(opened).play_to_round(2)
    assert asked(asking, "inject", text="x").effect.startswith("Everybody reads it")
    at = simulate(opened, terminate_when=lambda _: True).play_to_round(2)
    assert refused(at, "conclude") == "The talk is over already. The verdict has the finding."
    assert refused(at, "inject", text="x").startswith("The talk is over, and notes are for those who talk.")


def concluded_in_the_first_round(opened: DebateSimulation) -> DebateSimulation:
    """With a turn that is still on its way."""
    at = opened.play_to_round(1)
    return at.add_events(at.answer(at.pending_calls()[0]), CONCLUDE)


@pytest.mark.parametrize(
    ("action", "to"), [("challenge", ""), ("challenge", "Opponent"), ("inject", "Opponent")]
)
def test_nobody_is_challenged_who_will_not_be_asked_again(action: str, to: str) -> None:
    at = concluded_in_the_first_round(simulate())
    with pytest.raises(InvalidRequestError, match=NOBODY):
        at.intervene(action, text="Prove it.", to=to)


def test_a_note_for_all_is_still_read_by_who_decides() -> None:
    at = concluded_in_the_first_round(simulate())
    at.intervene("inject", text="The budget was halved.")
    assert "The budget was halved." in at.play().prompts("judge 1")[-1]


def test_debaters_who_are_still_to_vote_can_be_told_something() -> None:
    phases = ["opening", "voting"]
    at = concluded_in_the_first_round(simulate(build_setup(options={"phases": phases})))
    assert "Opponent reads it" in at.intervene("inject", text="News.", to="Opponent")


def test_what_is_resumed_goes_on_at_once_where_it_was_promised_to_be_decided() -> None:
    pause = Paused(reason="lunch")
    told = "seats that failed in this round are asked again."
    at = concluded_in_the_first_round(simulate()).add_events(pause)
    assert at.intervene("resume") == f"It goes on at once; {told}"
    assert simulate().play_to_round(1).add_events(pause).intervene("resume") == (
        f"It goes on with its next round, or at once where answers are on their way; {told}"
    )


def rounds_with_text(at: DebateSimulation, seat: str) -> list[int]:
    """The rounds whose prompts hold the text as an instruction."""
    return [
        call.round
        for call, prompt in at.calls_made
        if call.seat == seat and f"\nTo be followed:\n> {TEXT}\n" in prompt.messages[-1].content
    ]


def test_every_seat_is_given_the_instruction_from_the_next_round_on() -> None:
    at = simulate(build_setup(format="verdict", max_rounds=3)).play_to_round(2)
    assert (
        at.intervene("instruct", text=TEXT, reason="clarity")
        == "Every seat follows it from the next round on."
    )
    at.play()
    assert rounds_with_text(at, "Proponent") == rounds_with_text(at, "Opponent") == [3]
    assert rounds_with_text(at, "judge 1") == [4, 4]


@pytest.mark.parametrize("seat", ["Opponent", "judge 1"])
def test_an_instruction_for_one_seat_is_given_to_no_other(seat: str) -> None:
    at = simulate(build_setup(format="verdict"))
    assert at.intervene("instruct", text=TEXT, to=seat) == f"{seat} follows it from the next round on."
    at.play()
    assert {call.seat for call, _ in at.calls_made if rounds_with_text(at, call.seat)} == {seat}


def test_an_instruction_is_shown_with_the_other_interventions() -> None:
    at = simulate().play_through_round(1)
    at.intervene("instruct", text=TEXT, reason="clarity")
    (row,) = build_interventions(at.stored())["log"]
    assert (row["action"], row["text"], row["reason"]) == ("instruct", TEXT, "clarity")
    assert f"### Instruction to everybody\n\n> {TEXT}" in render_transcript(at.debate, at.log)


@pytest.mark.parametrize(
    ("text", "to", "problem"),
    [
        ("", "", "nothing to instruct"),
        ("x" * 8001, "", "8,001 characters"),
        ("x", "Nobody", "Nobody here is called 'Nobody'"),
    ],
)
def test_an_instruction_needs_a_text_of_fair_length_and_a_seat(text: str, to: str, problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        simulate().intervene("instruct", text=text, to=to)


@pytest.mark.requirement("N8")
@pytest.mark.parametrize(
    ("length", "problem"),
    [
        (8000, "All notes together have 208,000 characters; 200,000 are allowed"),
        (1, "The debate has 500 notes, the most that are allowed"),
    ],
)
def test_notes_are_limited_in_number_and_in_sum(length: int, problem: str) -> None:
    at, kinds = simulate(), (NoteAdded, Challenged, InstructionGiven)
    at.add_events(*(kinds[number % 3](text="x" * length) for number in range(min(500, 200_000 // length))))
    with pytest.raises(InvalidRequestError, match=problem):
        at.intervene("inject", text="x" * length)


@pytest.mark.requirement("N9")
@pytest.mark.parametrize(("changes", "kept"), [({}, [TEXT]), ({"instructions": "Be brief."}, [])])
def test_instructions_of_a_fork_replace_those_of_before(changes: dict[str, Any], kept: list[str]) -> None:
    parent = simulate()
    parent.intervene("instruct", text=TEXT)
    parent.play_through_round(1)
    given = parent.fork(1, **changes).debate.find_interventions(InstructionGiven)
    assert [made.text for made in given] == kept


@pytest.mark.requirement("N10")
@pytest.mark.parametrize("rounds", [0, 1])
@pytest.mark.parametrize(
    ("most", "told"),
    [
        (3, "The new limits leave no room for another question (budget: 4 of 3 calls spent, and 1 call "),
        (6, "The new limits leave no room for another question (budget: 4 of 6 calls spent, and 1 call "),
        (7, "The new limits are in force from the next question on. Resume the debate now."),
    ],
)
def test_limits_that_leave_no_room_are_said_to_leave_none(most: int, told: str, rounds: int) -> None:
    limits = {"limits": {"max_calls": 6, "on_budget": "pause"}, "judges": {"both_orders": False}}
    at = simulate(build_setup(format="verdict", max_rounds=9, options=limits)).play()
    assert at.status == "paused"
    effect = at.intervene("extend", rounds=rounds, limits={"max_calls": most})
    assert told in effect
    assert ("Resume" in effect) == (most == 7)


class TestTags:
    pytestmark = pytest.mark.requirement("N28")

    def test_they_hold_until_they_are_taken_away(self) -> None:
        at = simulate(build_setup(options={"tags": ["first"]}))
        assert at.intervene("tag", text="billing, first, urgent") == (
            "Searches find it by billing, urgent now."
        )
        held = [at.debate.tags]
        assert at.intervene("untag", text="first\nurgent") == "It no longer has first, urgent."
        assert at.play().debate.ended
        held.append(at.debate.tags)
        at.intervene("tag", text="later")
        held.append(at.debate.tags)
        assert held == [("first", "billing", "urgent"), ("billing",), ("billing", "later")]

    def test_the_log_says_which(self) -> None:
        at = simulate()
        at.intervene("tag", text="billing, urgent")
        at.intervene("untag", text="urgent")
        made = build_interventions(at.stored())["log"]
        assert [(row["action"], row["text"]) for row in made] == [
            ("tag", "billing, urgent"),
            ("untag", "urgent"),
        ]

    def test_what_changes_nothing_is_not_recorded(self) -> None:
        at = simulate(build_setup(options={"tags": ["billing"]}))
        assert at.intervene("tag", text="billing") == "It has these tags already."
        assert len(at.events) == 1

    def test_a_fork_begins_with_those_of_its_parent(self) -> None:
        at = simulate().play()
        at.intervene("tag", text="billing")
        fork = at.fork(1)
        assert fork.debate.tags == ("billing",)
        assert fork.debate.interventions == ()

    @pytest.mark.parametrize(
        ("action", "text", "problem"),
        [
            ("tag", " , ", "Name the tags in `text`"),
            ("tag", "x" * 61, "A tag has"),
            ("tag", ",".join(map(str, range(21))), "20 tags at most, and these would make 21"),
            ("untag", "billing", "It has no tag 'billing'. It has no tags."),
        ],
    )
    def test_what_is_no_tag_is_refused(self, action: str, text: str, problem: str) -> None:
        with pytest.raises(InvalidRequestError, match=re.escape(problem)):
            simulate().intervene(action, text=text)

    def test_a_missing_one_is_told_beside_those_there_are(self) -> None:
        at = simulate(build_setup(options={"tags": ["urgent"]}))
        with pytest.raises(InvalidRequestError, match=r"no tag 'billing'\. Its tags: urgent"):
            at.intervene("untag", text="urgent, billing")
