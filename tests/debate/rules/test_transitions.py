"""What cannot happen in a debate: apply refuses it, and nothing changes."""

from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from typing import Any

import pytest

from server.debate.facts.answers import DefaultPlanUsed, HandedOff, HandoffFailed, Lookup, Researched
from server.debate.facts.beliefs import Citation, Share, build_shares
from server.debate.facts.errors import IllegalEvent
from server.debate.facts.events import (
    Balloted,
    Concluded,
    Ended,
    Event,
    Failed,
    Judged,
    Paused,
    PhaseEntered,
    Resumed,
    RoundClosed,
    RoundOpened,
    Spoke,
)
from server.debate.facts.interventions import TalkConcluded
from server.debate.machine.transitions import apply, replay
from server.debate.rules.verdict import build_verdict_events
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    build_debaters,
    build_phase_entered,
    build_setup,
    build_usage,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("N8", "D2")

P, OPP = "Proponent", "Opponent"
Begin = Callable[[], DebateSimulation]


def at_round(number: int, begin: Begin = simulate, *events: Event) -> Begin:
    """A debate in a round that nobody has answered yet, and then these events."""
    return lambda: begin().play_to_round(number).add_events(*events)


def through_round(number: int, begin: Begin = simulate, *events: Event) -> Begin:
    """A debate whose round has all its answers, and then these events."""
    return lambda: begin().play_through_round(number).add_events(*events)


def judging() -> DebateSimulation:
    return simulate().play_to_round(3)


def ended() -> DebateSimulation:
    return simulate().play()


def entered(number: int = 1, **other: Any) -> PhaseEntered:
    return build_phase_entered(simulate().debate, "opening", number).model_copy(update=other)


def judged(**other: Any) -> Judged:
    fields = {"seen": 1, "seat": "judge 1", "round": 3, "slot_index": 1, "winner": P, "margin": 2}
    return Judged(**{**fields, "verdict": "So it is.", "reasoning": "", "usage": build_usage(), **other})


def missed() -> Failed:
    return Failed(seen=1, seat=P, round=1, cause="empty", detail="x")


def moderated() -> DebateSimulation:
    return simulate(build_setup(format="verdict", options={"moderator": {"opens": True, "closes": True}}))


def settling() -> DebateSimulation:
    return simulate(build_setup(format="settle"))


def handing() -> DebateSimulation:
    hands = task_script(
        {"argument": lambda c: {"response": "So.", "next_agent_name": OPP if c.seat == P else P}}
    )
    return simulate(build_setup(format="handoff"), hands)


def examined() -> DebateSimulation:
    return simulate(build_setup(options={"phases": ["cross_examination", "voting", "deliverable"]}))


def opened(**other: Any) -> RoundOpened:
    return RoundOpened(**{"seen": 1, "round": 1, "next_speakers": (P,), "usage": build_usage(), **other})


def closed(**other: Any) -> RoundClosed:
    return RoundClosed(
        **{"seen": 1, "round": 1, "summary": "x", "settled": False, "usage": build_usage(), **other}
    )


def spoke(seat: str = P, **other: Any) -> Spoke:
    return Spoke(**{"seen": 1, "seat": seat, "round": 1, "text": "x", "usage": build_usage(), **other})


def shares(choice: str, *others: str) -> tuple[Share, ...]:
    return build_shares({name: Fraction(name == choice) for name in (choice, *(others or (OPP, "")))})


def ballot(**other: Any) -> Balloted:
    return Balloted(
        **{"seen": 1, "seat": P, "round": 2, "beliefs": shares(P), "usage": build_usage(), **other}
    )


def handed(**other: Any) -> HandedOff:
    return HandedOff(**{"seat": P, "round": 1, "to": OPP, "because": "chosen", **other})


def unusable(**other: Any) -> HandoffFailed:
    return HandoffFailed(**{"seen": 1, "seat": P, "round": 1, "detail": "x", **other})


DEFAULT_PLAN = DefaultPlanUsed(round=1, next_speakers=(P, OPP), reason="no usable answer")


def concluded(**other: Any) -> Concluded:
    return Concluded(
        **{"outcome": "undecided", "winner": "", "verdict": "x", "reasoning": "", "votes": (), **other}
    )


def looked_up(seat: str, number: int = 1) -> Researched:
    return Researched(
        seen=1, seat=seat, round=number, lookups=(Lookup(tool="a/b", arguments="{}"),), usage=build_usage()
    )


def drawing() -> DebateSimulation:
    """A hand-off whose first speaker named nobody."""
    return simulate(build_setup(format="handoff")).play_through_round(1)


OPEN = "of Proponent is open for it"
BELIEFS = "its beliefs are not one for each position and none"

ILLEGAL: dict[str, tuple[Begin, Event, str]] = {
    "opened twice": (simulate, build_setup(), "opened already"),
    "a round left out": (simulate, entered(2), "follow one another"),
    "a round entered twice": (at_round(1), entered(), "follow one another"),
    "an unknown phase": (simulate, entered(phase="shouting"), "no phase shouting"),
    "a stranger in the order": (simulate, entered(order=(P, OPP, "Stranger")), "order"),
    "a debater left out of the order": (simulate, entered(order=(P,)), "order"),
    "a turn before the first round": (simulate, spoke(round=0), OPEN),
    "a turn of another round": (at_round(1), spoke(round=2), "for round 2 in round 1"),
    "a second turn in a round": (at_round(1, simulate, spoke()), spoke(), OPEN),
    "a stranger's turn": (at_round(1), spoke("Stranger"), "of Stranger is open for it"),
    "a debater at the judges' table": (judging, spoke(round=3), OPEN),
    "a turn of a seat that gave up": (at_round(1, simulate, missed(), missed()), spoke(), OPEN),
    "a third failure": (at_round(1, simulate, missed(), missed()), missed(), OPEN),
    "a judgment by a debater": (at_round(1), judged(seat=P, round=1, slot_index=0), OPEN),
    "a reading given twice": (at_round(3, simulate, judged()), judged(), "of judge 1 is open for it"),
    "a third reading": (judging, judged(slot_index=3), "of judge 1 is open for it"),
    "a judgment for a stranger": (judging, judged(winner="Stranger"), "nobody here is called Stranger"),
    "a verdict for a stranger": (judging, concluded(winner="Stranger"), "does not follow from the votes"),
    "a second verdict": (
        lambda: judging().add_events(*build_verdict_events(judging().debate)),
        concluded(),
        "a verdict already",
    ),
    "a second pause": (at_round(1, simulate, Paused(reason="a")), Paused(reason="b"), "paused already"),
    "a resumption of what runs": (at_round(1), Resumed(), "not paused"),
    "a turn after the end": (ended, spoke(), "after the end"),
    "a second end": (ended, Ended(ending="concluded", cause="max_rounds"), "after the end"),
    "a round opened where nobody moderates": (at_round(1), opened(), "nobody opens rounds here"),
    "another round opened": (at_round(1, moderated), opened(round=2), "another round is under way"),
    "a round opened twice": (at_round(1, moderated, opened()), opened(), "opened already"),
    "a round opened by somebody else": (at_round(1, moderated), opened(seat=P), OPEN),
    "a round opened for a stranger": (at_round(1, moderated), opened(next_speakers=("x",)), "called x"),
    "a round opened for nobody": (
        at_round(2, moderated), opened(round=2, next_speakers=()), "nobody is to speak",
    ),
    "done before anybody spoke": (
        at_round(1, moderated), opened(next_speakers=(), done=True), "nobody is to speak",
    ),
    "a stand-in for a moderator who may still answer": (
        at_round(1, moderated), DEFAULT_PLAN, "the moderator may still answer",
    ),
    "a turn before the round was opened": (at_round(1, moderated), spoke(), OPEN),
    "a settlement without a decision": (
        at_round(1, settling, spoke(), spoke(OPP)), closed(settled=True), "settled without a decision",
    ),
    "a hand-off where nobody hands over": (through_round(1), handed(), "nobody hands over here"),
    "a hand-off before the turn": (at_round(1, handing), handed(), "nobody spoke"),
    "a hand-off of another round": (through_round(1, handing), handed(round=2), "nobody spoke"),
    "a hand-off made twice": (through_round(1, handing, handed()), handed(), "handed over already"),
    "a hand-off to somebody else than was chosen": (
        through_round(1, handing), handed(to="Neutral"), "not how it was handed over",
    ),
    "a draw where somebody was chosen": (
        through_round(1, handing), handed(because="drawn"), "not how it was handed over",
    ),
    "a draw of oneself": (drawing, handed(to=P, because="drawn"), "Proponent cannot speak next"),
    "a draw of a stranger": (drawing, handed(to="x", because="drawn"), "x cannot speak next"),
    "a good choice told as a bad one": (through_round(1, handing), unusable(), "the choice was a good one"),
    "a bad choice told twice": (
        lambda: drawing().add_events(unusable()), unusable(), "it is recorded already",
    ),
    "a bad choice of somebody who did not speak": (drawing, unusable(seat=OPP), "nobody spoke"),
    "a speaker who was not chosen": (
        through_round(1, handing, handed()),
        build_phase_entered(handing().debate, "discussion", 2).model_copy(update={"order": (P,)}),
        "somebody else was chosen",
    ),
    "two speakers at a time": (
        handing, build_phase_entered(handing().debate, "discussion"), "one debater speaks at a time",
    ),
    "handing over to oneself": (at_round(1, handing), spoke(hands_to=P), "Proponent cannot speak next"),
    "a message that is an argument": (at_round(1, examined), spoke(), "a message was asked for"),
    "a message to oneself": (
        at_round(1, examined), spoke(act="question", to=P), "no message can go to Proponent",
    ),
    "an argument to one alone": (at_round(1), spoke(to=OPP), "an argument is for everybody"),
    "an answer to somebody else": (
        lambda: at_round(1, examined)().play(lambda debate: len(debate.turns) == 2),
        spoke(act="answer", to=P, slot_index=2),
        "it answers another message",
    ),
    "a ballot for a stranger": (at_round(2, examined), ballot(beliefs=shares("x")), BELIEFS),
    "a ballot without a belief in each position": (
        at_round(2, examined), ballot(beliefs=shares(P, "")), BELIEFS,
    ),
    "a ballot that was moved by what nobody said": (
        at_round(2, examined),
        ballot(moved_by=Citation(seat=OPP, round=9)),
        "it was moved by a turn that was never made",
    ),
    "a result made of no verdict": (
        through_round(2, examined),
        build_phase_entered(examined().debate, "deliverable", 3),
        "deliverable cannot follow",
    ),
    "a phase twice that does not repeat": (
        through_round(1, examined),
        build_phase_entered(examined().debate, "cross_examination", 2),
        "cross_examination cannot follow",
    ),
    "research by nobody who is asked": (at_round(1), looked_up("judge 1"), "is open for it"),
    "a verdict before the judges": (through_round(2), concluded(), "nobody was heard who decides"),
    "an end without a verdict": (
        through_round(3, settling),
        Ended(ending="concluded", cause="max_rounds"),
        "concluded without a verdict",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ILLEGAL)
def test_what_cannot_happen_is_refused_and_nothing_changes(case: str) -> None:
    prepared, event, why = ILLEGAL[case]
    at_hand = prepared().debate
    before = deepcopy(at_hand)

    with pytest.raises(IllegalEvent, match=why):
        apply(at_hand, event)

    assert at_hand == before


def test_a_stand_in_is_welcome_when_the_moderator_has_given_up() -> None:
    at = moderated().play_to_round(1)
    at.script = task_script({"opening": ProviderFailure("timeout")})
    at.add_events(at.answer(at.pending_calls()[0]), DEFAULT_PLAN)
    assert [call.seat for call in at.pending_calls()] == [P]


def test_a_debate_where_nobody_decides_may_end_without_a_verdict() -> None:
    at = simulate(build_setup(format="round_robin")).play_through_round(3)
    at.add_events(Ended(ending="concluded", cause="max_rounds"))
    assert at.status == "concluded"


def test_a_last_word_is_welcome_only_when_the_talk_is_being_concluded() -> None:
    at = settling().play_to_round(1).add_events(spoke())
    with pytest.raises(IllegalEvent):
        at.add_events(closed())
    at.add_events(TalkConcluded(), closed())
    assert at.debate.round_summaries == (closed(),)


@pytest.mark.parametrize("event", [entered(), spoke(), concluded(), TalkConcluded()], ids=lambda e: e.kind)
def test_nothing_happens_before_a_debate_is_opened(event: Event) -> None:
    with pytest.raises(IllegalEvent, match="before the debate was opened"):
        apply(None, event)


def test_no_events_are_no_debate() -> None:
    with pytest.raises(IllegalEvent, match="without events"):
        replay([])


def test_turns_are_read_in_the_order_of_the_round_whoever_came_first() -> None:
    at = simulate(build_setup(debaters=build_debaters(3)))
    at.add_events(PhaseEntered(phase="opening", round=1, order=("Speaker 2", "Speaker 3", "Speaker 1")))
    at.add_events(spoke("Speaker 1"), spoke("Speaker 2"), spoke("Speaker 3"))
    assert [turn.seat for turn in at.debate.round_turns(1)] == ["Speaker 2", "Speaker 3", "Speaker 1"]
    assert [turn.seat for turn in at.debate.turns] == ["Speaker 1", "Speaker 2", "Speaker 3"]
