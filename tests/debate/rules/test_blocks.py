"""Blocks of phases are held again until consensus, the moderator's word or their limit, and the record says which."""

from collections.abc import Callable
from typing import Any

import pytest

from server.debate.ballots.waves import is_talk_over
from server.debate.commands.requests import DebateRequest
from server.debate.commands.setup.open import open_debate
from server.debate.facts.errors import IllegalEvent, InvalidRequestError
from server.debate.facts.events import BlockEnded, Ended, PhaseEntered
from server.debate.facts.setup.opened import Opened
from server.debate.machine.decide import Record, decide
from server.debate.machine.transitions import replay
from server.debate.rules.calls import Call
from server.debate.views.markdown import render_transcript
from tests.support.simulation import (
    DebateSimulation,
    Script,
    build_ballot,
    build_debaters,
    build_setup,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("D24")

TALK = ["opening", "argumentation"]


def block(name: str = "voting", first: str = "argumentation", **fields: Any) -> dict[str, Any]:
    return {"name": name, "repeat_from": first, **fields}


def open_block(*phases: Any, **fields: Any) -> Opened:
    options = {"phases": list(phases), **fields.pop("options", {})}
    return build_setup(**{"debaters": build_debaters(3), "options": options, **fields})


def voting(*choices: str) -> Script:
    """Everybody votes for the letter of the pass; "-" is a vote for oneself."""
    count: dict[int, int] = {}

    def ballot(call: Call) -> dict[str, Any]:
        number = count.setdefault(call.round, len(count))
        choice = choices[min(number, len(choices) - 1)]
        own = chr(ord("A") + int(call.seat[-1]) - 1)
        return build_ballot(own if choice == "-" else choice, "So it is.")

    return task_script({"ballot": ballot})


def held(at: DebateSimulation) -> list[str]:
    return [entered.phase for entered in at.debate.rounds]


def ends(at: DebateSimulation) -> list[tuple[str, int, str]]:
    return [(event.block, event.passes, event.cause) for event in at.events if isinstance(event, BlockEnded)]


def ended(at: DebateSimulation) -> str:
    assert isinstance(at.debate.ended, Ended)
    return at.debate.ended.cause


CONSENSUS = block(until="consensus", limit=3)


@pytest.mark.parametrize(
    ("votes", "passes", "cause"),
    [
        (("A",), 1, "consensus"),
        (("-", "B"), 2, "consensus"),
        (("-", "-", "C"), 3, "consensus"),
        (("-",), 3, "block_limit"),
        (("?",), 3, "block_limit"),
    ],
)
def test_a_block_is_held_until_a_vote_finds_consensus_or_to_its_limit(
    votes: tuple[str, ...], passes: int, cause: str
) -> None:
    at = simulate(open_block("opening", "argumentation", CONSENSUS, "verdict"), voting(*votes)).play()

    assert at.status == "concluded"
    assert held(at) == ["opening", *["argumentation", "voting"] * passes, "verdict"]
    assert ends(at) == [("argumentation", passes, cause)]
    assert ended(at) == cause
    assert replay(at.events) == at.debate
    times = "1 time" if passes == 1 else f"{passes} times"
    assert f"*The phases from argumentation on were held {times}" in render_transcript(at.debate, at.log)


@pytest.mark.parametrize(("votes", "last"), [("A", 3), ("-", 7)])
def test_no_record_holds_a_block_once_more_when_it_is_over(votes: str, last: int) -> None:
    at = simulate(open_block("opening", "argumentation", CONSENSUS, "verdict"), voting(votes))
    at.play_through_round(last)
    if votes == "A":
        at.add_events(BlockEnded(block="argumentation", round=last, passes=1, cause="consensus"))
    again = PhaseEntered(phase="argumentation", round=last + 1, order=at.debate.names)
    with pytest.raises(IllegalEvent):
        at.add_events(again)


def test_an_earlier_vote_is_no_consensus_of_the_block() -> None:
    phases = ["voting", "argumentation", block("voting", until="consensus", limit=2)]
    at = simulate(open_block(*phases), voting("A", "-", "-")).play()

    assert held(at) == ["voting", *["argumentation", "voting 2"] * 2]
    assert ends(at) == [("argumentation", 2, "block_limit")]


def test_a_block_in_the_middle_ends_and_the_talk_goes_on() -> None:
    phases = ["argumentation", block(until="consensus", limit=4), "synthesis", "verdict"]
    at = simulate(open_block(*phases), voting("-", "A")).play()

    assert held(at) == [*["argumentation", "voting"] * 2, "synthesis", "verdict"]
    assert ends(at) == [("argumentation", 2, "consensus")]
    assert ended(at) == "phases_held"


def closing(settled_in: set[int]) -> Callable[[Call], dict[str, Any]]:
    def answer(call: Call) -> dict[str, Any]:
        status = "SETTLED" if call.round in settled_in else "CONTINUE"
        return {"summary": "So far.", "status": status, "decision": "Do it." if status == "SETTLED" else ""}

    return answer


@pytest.mark.requirement("A2")
@pytest.mark.parametrize(
    ("settled", "passes", "cause"),
    [({1}, 1, "settled"), ({2}, 1, "settled"), ({3}, 2, "settled"), (set(), 3, "block_limit")],
)
def test_the_moderator_ends_a_block_and_not_the_pass(settled: set[int], passes: int, cause: str) -> None:
    phases = ["argumentation", block("rebuttal", until="moderator", limit=3), "synthesis", "verdict"]
    opened = open_block(*phases, options={"moderator": {"closes": True, "opens": False}})
    at = simulate(opened, task_script({"closing": closing(settled)})).play()

    assert held(at) == [*["argumentation", "rebuttal"] * passes, "synthesis", "verdict"]
    assert ends(at) == [("argumentation", passes, cause)]


@pytest.mark.requirement("C3")
def test_a_moderator_who_opens_rounds_ends_a_block_with_done() -> None:
    def opening(call: Call) -> dict[str, Any]:
        plan = {"next_speakers": ["A", "B", "C"], "briefing": None, "new_angle": None}
        return {**plan, "done": call.round == 2}

    phases = [block("argumentation", until="moderator", limit=5), "verdict"]
    at = simulate(
        open_block(*phases, options={"moderator": {"opens": True}}), task_script({"opening": opening})
    )
    at.play()

    assert held(at) == ["argumentation", "argumentation", "verdict"]
    assert (ends(at), ended(at)) == ([("argumentation", 2, "moderator_done")], "moderator_done")
    assert all(
        "held again until you say that it is enough, by done" in text for text in at.prompts("moderator")
    )


def test_a_question_that_is_settled_ends_the_talk_where_the_block_waits_for_something_else() -> None:
    opened = open_block(*TALK, CONSENSUS, options={"moderator": {"closes": True, "opens": False}})
    at = simulate(opened, task_script({"closing": closing({2})}, voting("-"))).play()

    assert held(at) == ["opening", "argumentation", "voting"]
    assert ends(at) == [("argumentation", 1, "settled")]


@pytest.mark.requirement("C12")
def test_what_ends_the_talk_ends_its_blocks() -> None:
    at = simulate(open_block(*TALK, CONSENSUS, "verdict", max_rounds=2), voting("-")).play()
    assert (held(at)[-2:], ends(at)) == (["voting", "verdict"], [("argumentation", 1, "max_rounds")])

    at = simulate(open_block(*TALK, CONSENSUS, "verdict"), voting("-")).play_to_round(4)
    at.intervene("conclude")
    assert held(at.play()) == ["opening", "argumentation", "voting", "argumentation", "voting", "verdict"]
    assert ends(at) == [("argumentation", 2, "request")]

    at = simulate(open_block(*TALK, CONSENSUS, "verdict"), voting("-"))
    at.terminate_when = lambda debate: len(debate.turns) == 9
    assert ends(at.play()) == [("argumentation", 2, "terminate_when")]


@pytest.mark.requirement("N10")
def test_no_pass_begins_that_cannot_be_paid_for_with_its_vote() -> None:
    limits = {"limits": {"max_calls": 17}}  # 3 + 6 + 2 readings, and not another 6
    at = simulate(open_block(*TALK, CONSENSUS, "verdict", options=limits), voting("-")).play()
    assert len(at.calls_made) == 17
    assert ends(at) == [("argumentation", 2, "budget")]
    limits = {"limits": {"max_calls": 16}}
    at = simulate(open_block(*TALK, CONSENSUS, "verdict", options=limits), voting("-")).play()
    assert len(at.calls_made) == 11
    assert ends(at) == [("argumentation", 1, "budget")]


@pytest.mark.requirement("D4")
def test_during_a_vote_that_may_be_followed_by_more_talk_the_talk_is_not_over() -> None:
    at = simulate(open_block(*TALK, CONSENSUS, "verdict"), voting("-")).play_to_round(3)
    assert not is_talk_over(at.debate)
    at.intervene("challenge", text="And the costs?")
    at.intervene("conclude")
    assert held(at.play()) == [*TALK, "voting", "verdict"]


@pytest.mark.requirement("N9")
def test_a_fork_goes_on_with_the_block_where_it_was() -> None:
    at = simulate(open_block(*TALK, CONSENSUS, "verdict"), voting("-")).play()
    forked = at.fork(5, voting("A")).play()
    assert held(forked) == [*TALK, "voting", "argumentation", "voting", "argumentation", "voting", "verdict"]
    assert ends(at.fork(7).play()) == [("argumentation", 3, "block_limit")]
    cut = simulate(open_block(*TALK, CONSENSUS, "verdict"), voting("-")).play_to_round(4)
    cut.intervene("conclude")
    assert ends(cut.play()) == [("argumentation", 2, "request")]
    assert ends(cut.fork(3, voting("-")).play()) == [("argumentation", 3, "block_limit")]
    cut = simulate(open_block(*TALK, CONSENSUS, "verdict"), voting("-")).play_to_round(3)
    cut.intervene("conclude")
    assert ends(cut.play().fork(3, voting("-")).play()) == [("argumentation", 3, "block_limit")]


@pytest.mark.parametrize(
    ("phases", "why"),
    [
        (["opening", block("verdict", "opening")], "verdict cannot be repeated"),
        (
            ["opening", block("rebuttal", "later")],
            "repeat_from='later'; it goes back to one of: opening, rebuttal",
        ),
        (
            ["opening", block("rebuttal", "opening", until="consensus")],
            "until=consensus needs a vote in the block",
        ),
        (["opening", "voting", block("audience_vote", "voting"), "verdict"], "nobody argues in this block"),
        (
            ["opening", block("rebuttal", "opening", until="moderator")],
            "until=moderator needs options.moderator",
        ),
        (
            ["opening", block("rebuttal", "opening"), block("argumentation", "rebuttal")],
            "repeat_from='rebuttal'; it goes back to one of: argumentation",
        ),
        (
            ["opening", {"name": "rebuttal", "repeats": True}, block("voting", "opening")],
            "`repeats` is for a phase",
        ),
        (["opening", {"name": "rebuttal", "limit": 4}], "`until` and `limit` need `repeat_from`"),
        ([block("opening", "opening", limit=20), block("rebuttal", "rebuttal", limit=20)], "out of range"),
    ],
)
def test_blocks_that_cannot_be_held_are_refused_with_the_phase(phases: list[Any], why: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        open_block(*phases)
    assert why in str(refused.value)


def test_a_block_whose_end_is_recorded_is_not_held_again_after_a_restart() -> None:
    at = simulate(open_block(*TALK, block(limit=2), "verdict"), voting("-")).play_through_round(5)
    decided = decide(at.debate)
    assert isinstance(decided, Record)
    (end,) = (event for event in decided.events if isinstance(event, BlockEnded))
    at.add_events(end).play()
    assert (held(at), len(ends(at))) == (["opening", *["argumentation", "voting"] * 2, "verdict"], 1)


def converging(*moves: int) -> Script:
    """Everybody holds A at a percentage for each round, from before the talk on; while it changes, something is new."""

    def ballot(call: Call) -> dict[str, Any]:
        number = 0 if call.slot_index == 100 else call.round
        percent = moves[min(number, len(moves) - 1)]
        moved = number and percent != moves[min(number - 1, len(moves) - 1)]
        after = {"new_point": "New." if moved else None, "open_point": "Open."}
        return build_ballot("A", "So it is.", percent=percent) | (after if number else {})

    return task_script({"ballot": ballot})


@pytest.mark.parametrize(
    ("moves", "passes", "cause"),
    [
        ((60, 60), 2, "converged"),  # not before the second round
        ((60, 70, 80, 80), 3, "converged"),
        ((50, 60, 70, 75, 80), 4, "block_limit"),
    ],
)
def test_a_block_is_held_until_the_ballots_after_it_converge(
    moves: tuple[int, ...], passes: int, cause: str
) -> None:
    again = block("rebuttal", "rebuttal", until="convergence", limit=4)
    opened = open_block(again, "synthesis", "verdict", format="verdict", options={"ballots": "blind"})
    at = simulate(opened, converging(*moves)).play()
    assert ends(at) == [("rebuttal", passes, cause)]
    assert held(at) == ["rebuttal"] * passes + ["synthesis", "verdict"]
    assert replay(at.events) == at.debate


def test_convergence_needs_ballots_after_turns_that_are_looked_at() -> None:
    with pytest.raises(InvalidRequestError, match="looks at ballots after its turns"):
        open_block("argumentation", block(until="convergence"), options={"ballots": "blind"})
    again = block("argumentation", until="convergence")
    with pytest.raises(InvalidRequestError, match="need private ballots"):
        open_block(again, "verdict", options={"ballots": "none"})


def test_a_block_until_convergence_asks_for_the_ballots_that_it_needs() -> None:
    request = {
        "phases": ["opening", block("rebuttal", "rebuttal", until="convergence"), "verdict"],
        "framing": False,
    }
    asked = DebateRequest.model_validate({"question": "So?", "options": request})
    opened = open_debate(asked, models=["scripted"], seed=1)
    assert opened.ballots == "blind"
    at = simulate(opened).play()
    waves = [ballot.wave for ballot in at.debate.private_ballots]
    assert waves.count("round") >= 2
    assert at.status == "concluded"
