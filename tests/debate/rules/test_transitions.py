"""What moderators, referees, speakers who hand over, voters and synthesizers cannot do: apply refuses it."""

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
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
)
from server.debate.facts.interventions import TalkConcluded
from server.debate.machine.transitions import apply
from server.debate.seats.referee import Audited
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    build_phase_entered,
    build_setup,
    build_usage,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("N8")

P, OPP = "Proponent", "Opponent"


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


def result() -> DebateSimulation:
    return simulate(build_setup(format="round_robin"))


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


ILLEGAL: dict[str, tuple[Callable[[], DebateSimulation], Event, str]] = {
    "a round opened where nobody moderates": (
        lambda: simulate().play_to_round(1),
        opened(),
        "nobody opens rounds here",
    ),
    "a round opened before it began": (moderated, opened(round=0), "nobody opens rounds here"),
    "another round opened": (
        lambda: moderated().play_to_round(1),
        opened(round=2),
        "another round is under way",
    ),
    "a round opened twice": (
        lambda: moderated().play_to_round(1).add_events(opened()),
        opened(),
        "opened already",
    ),
    "a round opened by somebody else": (
        lambda: moderated().play_to_round(1),
        opened(seat=P),
        "of Proponent is open for it",
    ),
    "a round opened for a stranger": (
        lambda: moderated().play_to_round(1),
        opened(next_speakers=("x",)),
        "nobody here is called x",
    ),
    "a round opened for nobody": (
        lambda: moderated().play_to_round(2),
        opened(round=2, next_speakers=()),
        "nobody is to speak",
    ),
    "done before anybody spoke": (
        lambda: moderated().play_to_round(1),
        opened(next_speakers=(), done=True),
        "nobody is to speak",
    ),
    "a stand-in for a moderator who may still answer": (
        lambda: moderated().play_to_round(1),
        DEFAULT_PLAN,
        "the moderator may still answer",
    ),
    "a turn before the round was opened": (
        lambda: moderated().play_to_round(1),
        spoke(),
        "of Proponent is open for it",
    ),
    "a turn of somebody who was not called": (
        lambda: moderated().play_to_round(1).add_events(opened()),
        spoke(OPP),
        "of Opponent is open for it",
    ),
    "a closing before the turns": (
        lambda: settling().play_to_round(1),
        closed(),
        "of moderator is open for it",
    ),
    "a closing where nobody closes": (
        lambda: simulate().play_through_round(1),
        closed(),
        "of moderator is open for it",
    ),
    "a settlement without a decision": (
        lambda: settling().play_to_round(1).add_events(spoke(), spoke(OPP)),
        closed(settled=True),
        "settled without a decision",
    ),
    "an audit without a referee": (
        lambda: settling().play_through_round(1),
        Audited(seen=1, round=1, text="x", usage=build_usage()),
        "of referee is open for it",
    ),
    "a hand-off where nobody hands over": (
        lambda: simulate().play_through_round(1),
        handed(),
        "nobody hands over here",
    ),
    "a hand-off before the turn": (lambda: handing().play_to_round(1), handed(), "nobody spoke"),
    "a hand-off of another round": (lambda: handing().play_through_round(1), handed(round=2), "nobody spoke"),
    "a hand-off made twice": (
        lambda: handing().play_through_round(1).add_events(handed()),
        handed(),
        "handed over already",
    ),
    "a hand-off to somebody else than was chosen": (
        lambda: handing().play_through_round(1),
        handed(to="Neutral"),
        "not how it was handed over",
    ),
    "a draw where somebody was chosen": (
        lambda: handing().play_through_round(1),
        handed(because="drawn"),
        "not how it was handed over",
    ),
    "a choice where nobody was chosen": (drawing, handed(), "not how it was handed over"),
    "a draw of oneself": (drawing, handed(to=P, because="drawn"), "Proponent cannot speak next"),
    "a draw of a stranger": (drawing, handed(to="x", because="drawn"), "x cannot speak next"),
    "a good choice told as a bad one": (
        lambda: handing().play_through_round(1),
        unusable(),
        "the choice was a good one",
    ),
    "a bad choice told twice": (
        lambda: drawing().add_events(unusable()),
        unusable(),
        "it is recorded already",
    ),
    "a bad choice of somebody who did not speak": (drawing, unusable(seat=OPP), "nobody spoke"),
    "a speaker who was not chosen": (
        lambda: handing().play_through_round(1).add_events(handed()),
        build_phase_entered(handing().debate, "discussion", 2).model_copy(update={"order": (P,)}),
        "somebody else was chosen",
    ),
    "two speakers at a time": (
        handing,
        build_phase_entered(handing().debate, "discussion"),
        "one debater speaks at a time",
    ),
    "handing over to oneself": (
        lambda: handing().play_to_round(1),
        spoke(hands_to=P),
        "Proponent cannot speak next",
    ),
    "a message that is an argument": (
        lambda: examined().play_to_round(1),
        spoke(),
        "a message was asked for",
    ),
    "a message to oneself": (
        lambda: examined().play_to_round(1),
        spoke(act="question", to=P),
        "no message can go to Proponent",
    ),
    "an argument to one alone": (
        lambda: simulate().play_to_round(1),
        spoke(to=OPP),
        "an argument is for everybody",
    ),
    "an answer before it was asked": (
        lambda: examined().play_to_round(1),
        spoke(act="answer", to=OPP, slot_index=2),
        "of Proponent is open for it",
    ),
    "an answer to somebody else": (
        lambda: examined().play_to_round(1).play(lambda debate: len(debate.turns) == 2),
        spoke(act="answer", to=P, slot_index=2),
        "it answers another message",
    ),
    "a ballot for a stranger": (
        lambda: examined().play_to_round(2),
        ballot(beliefs=shares("x")),
        "its beliefs are not one for each position and none",
    ),
    "a ballot without a belief in each position": (
        lambda: examined().play_to_round(2),
        ballot(beliefs=shares(P, "")),
        "its beliefs are not one for each position and none",
    ),
    "a ballot that was moved by what nobody said": (
        lambda: examined().play_to_round(2),
        ballot(moved_by=Citation(seat=OPP, round=9)),
        "it was moved by a turn that was never made",
    ),
    "a second ballot": (
        lambda: examined().play_to_round(2).add_events(ballot()),
        ballot(),
        "of Proponent is open for it",
    ),
    "a ballot during the talk": (
        lambda: simulate().play_to_round(1),
        ballot(round=1),
        "of Proponent is open for it",
    ),
    "a turn during the vote": (
        lambda: examined().play_to_round(2),
        spoke(round=2),
        "of Proponent is open for it",
    ),
    "a result before it is asked for": (
        lambda: result().play_to_round(1),
        Synthesized(seen=1, round=1, text="x", usage=build_usage()),
        "of synthesizer is open for it",
    ),
    "a result made of no verdict": (
        lambda: examined().play_through_round(2),
        build_phase_entered(examined().debate, "deliverable", 3),
        "deliverable cannot follow",
    ),
    "a phase that was over": (
        lambda: examined().play_through_round(2),
        build_phase_entered(examined().debate, "cross_examination", 3),
        "cross_examination cannot follow",
    ),
    "a phase twice that does not repeat": (
        lambda: examined().play_through_round(1),
        build_phase_entered(examined().debate, "cross_examination", 2),
        "cross_examination cannot follow",
    ),
    "research by nobody who is asked": (
        lambda: simulate().play_to_round(1),
        looked_up("judge 1"),
        "is open for it",
    ),
    "research before the debate": (simulate, looked_up(P, 0), "of Proponent is open for it"),
    "a verdict before a word": (settling, concluded(), "nobody was heard who decides"),
    "a verdict before the judges": (
        lambda: simulate().play_through_round(2),
        concluded(),
        "nobody was heard who decides",
    ),
    "an end without a verdict": (
        lambda: settling().play_through_round(3),
        Ended(ending="concluded", cause="max_rounds"),
        "concluded without a verdict",
    ),
}


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
    at = result().play_through_round(3).add_events(Ended(ending="concluded", cause="max_rounds"))
    assert at.status == "concluded"


def test_a_last_word_is_welcome_only_when_the_talk_is_being_concluded() -> None:
    at = settling().play_to_round(1).add_events(spoke())
    with pytest.raises(IllegalEvent):
        at.add_events(closed())
    at.add_events(TalkConcluded(), closed())
    assert at.debate.round_summaries == (closed(),)
