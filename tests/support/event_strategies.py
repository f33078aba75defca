"""Hypothesis strategies: setups of every kind, events, and replies of models."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any, get_args

from hypothesis import strategies as st

from server.debate.facts import interventions
from server.debate.facts.answers import (
    DefaultPlanUsed,
    HandedOff,
    HandoffFailed,
    Lookup,
    PredicateLost,
    PromptFunctionsLost,
    PromptsComputed,
    Researched,
)
from server.debate.facts.beliefs import Agreed, Citation, Share, Weight, build_shares
from server.debate.facts.causes import EndCause
from server.debate.facts.events import (
    AnsweredBlind,
    Balloted,
    BlockEnded,
    Concluded,
    Ended,
    Event,
    Failed,
    Judged,
    Paused,
    PhaseEntered,
    PositionsFramed,
    Resumed,
    RoundClosed,
    RoundOpened,
    Spoke,
    Synthesized,
)
from server.debate.facts.setup.limits import Breakpoint, Limits
from server.debate.facts.setup.opened import Opened
from server.debate.facts.setup.seats import SeatPrompt
from server.debate.interventions.registry import BY_FACT
from server.debate.machine.transitions import replay
from server.debate.rules.calls import Call
from server.debate.seats.registry import SEATS
from server.debate.state.debate import judge_seats
from tests.support.simulation import (
    ProviderFailure,
    Script,
    ScriptAnswer,
    build_ballot,
    build_debaters,
    build_phase_entered,
    build_setup,
    build_usage,
    default_script,
    render_finding,
)

SCHEMA = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}

SETUPS: dict[str, Opened] = {
    "second opinion": build_setup(debaters=build_debaters(3), max_rounds=2, options={"judges": {"count": 2}}),
    "verdict": build_setup(format="verdict", max_rounds=3),
    "moderated": build_setup(
        format="verdict",
        options={"moderator": {"opens": True, "closes": True}, "referee": True, "observer": True},
    ),
    "settle": build_setup(format="settle"),
    "settled by a moderator who opens": build_setup(format="settle", options={"speaking": "moderated"}),
    "handoff": build_setup(format="handoff", max_rounds=4),
    "full": build_setup(format="full", debaters=build_debaters(3)),
    "round robin": build_setup(format="round_robin", options={"output_schema": SCHEMA}),
    "votes": build_setup(options={"phases": ["opening", "voting", "cross_examination", "voting"]}),
    "oxford": build_setup(format="oxford"),
    "a rule of consensus": build_setup(
        debaters=build_debaters(3),
        options={
            "phases": ["opening", "voting", "verdict"],
            "voting": {"kind": "majority", "weights": {"judge 1": "3/2"}},
        },
    ),
    "framed": build_setup(format="handoff", options={"framing": True}),
    "few turns": build_setup(format="full", debaters=build_debaters(3), options={"limits": {"max_turns": 8}}),
    "breakpoints": build_setup(
        format="verdict",
        max_rounds=2,
        options={
            "pause_when": ["verdict", "failure", "contested", "unheard", "round:2", "budget:0.5"],
            "limits": {"max_calls": 20},
        },
    ),
    "caller": build_setup(
        ["scripted", "caller"],
        format="verdict",
        options={"moderator": {"model": "caller"}, "synthesizer": True},
    ),
}
ROUNDS = st.integers(0, 4)
TEXT = st.sampled_from(["x", ""])
LABELS = st.sampled_from([("A", "B"), ("A", "B", "C"), ("A", "A", "C")])
BREAKPOINTS = [
    Breakpoint(condition="verdict"),
    Breakpoint(condition="failure"),
    Breakpoint(condition="unheard"),
]
CAUSES = st.sampled_from(["timeout", "empty", "unreadable"])


def any_seat_name(opened: Opened) -> st.SearchStrategy[str]:
    names = [debater.name for debater in opened.debaters]
    return st.sampled_from(
        [*names, *judge_seats(opened), "framer", "moderator", "referee", "synthesizer", "x"]
    )


def phase_events(opened: Opened) -> st.SearchStrategy[Event]:
    """`PhaseEntered` events that are mostly valid."""
    debate = replay([opened])
    return st.builds(
        lambda name, number: build_phase_entered(debate, name, number or None),
        st.sampled_from([phase.name for phase in opened.phases]),
        ROUNDS,
    )


Build = Callable[..., st.SearchStrategy[Event]]


def find_builder(opened: Opened) -> Build:
    """A function that draws events of a kind, with fields of usual names that may fit a debate, and given others."""
    anyone = any_seat_name(opened)
    nobody = anyone | st.just("")
    some = st.lists(anyone, max_size=3).map(tuple)
    x = st.just("x")
    fields: dict[str, st.SearchStrategy[Any]] = {
        "round": ROUNDS,
        "seen": st.integers(1, 4),
        "usage": st.just(build_usage()),
        "slot_index": st.integers(0, 3),
        **dict.fromkeys(("seat", "hands_to"), anyone),
        **dict.fromkeys(("to", "winner", "choice"), nobody),
        **dict.fromkeys(("order", "next_speakers"), some),
        **dict.fromkeys(("done", "settled"), st.booleans()),
        **dict.fromkeys(("text", "reasoning", "summary", "verdict", "model"), x),
        **dict.fromkeys(("decision", "reason", "detail"), TEXT),
    }

    def build(kind: type[Event], **others: Any) -> st.SearchStrategy[Event]:
        known = {name: drawn for name, drawn in fields.items() if name in kind.model_fields}
        return st.builds(kind, **{**known, **others})

    return build


def nobody_or_debater(opened: Opened) -> st.SearchStrategy[str]:
    return st.sampled_from([*(debater.name for debater in opened.debaters), ""])


def share_beliefs(opened: Opened, name: str) -> tuple[Share, ...]:
    """All of the belief in one position, or in none of them."""
    names = (*(debater.name for debater in opened.debaters), "")
    return build_shares({each: Fraction(each == name) for each in names})


def slot_events(opened: Opened, build: Build) -> list[st.SearchStrategy[Event]]:
    officer = st.sampled_from(["moderator", "referee", *(seat.name for seat in SEATS), "Proponent"])
    return [
        build(RoundOpened, seat=officer, slot_index=st.just(0)),
        build(RoundClosed, seat=officer, slot_index=st.just(1)),
        build(
            AnsweredBlind,
            seat=st.just("framer"),
            slot_index=st.integers(0, 2),
            round=st.integers(0, 1),
            text=st.just("An answer."),
        ),
        build(
            PositionsFramed,
            seat=st.just("framer"),
            slot_index=st.just(0),
            round=st.integers(0, 1),
            question_kind=st.sampled_from(["yes_no", "open"]),
            debaters=st.sampled_from([opened.debaters, opened.debaters[:2]]),
            labels=LABELS,
        ),
        build(HandoffFailed, slot_index=st.just(0)),
        build(Researched, lookups=st.just((Lookup(tool="a/b", arguments="{}"),))),
        build(
            Balloted,
            slot_index=st.sampled_from([0, 100, 101]),
            beliefs=nobody_or_debater(opened).map(lambda name: share_beliefs(opened, name)),
            moved_by=st.none() | st.builds(Citation, seat=any_seat_name(opened), round=ROUNDS),
        ),
        build(Judged, margin=st.integers(0, 3)),
        *(build(seat.fact, seat=officer, slot_index=st.just(0)) for seat in SEATS),
        build(Synthesized, text=st.just('{"result": "x"}'), slot_index=st.just(0)),
        build(Spoke, act=st.sampled_from(["argument", "question", "answer"])),
        build(Failed, cause=CAUSES, detail=st.just("x")),
    ]


def course_events(opened: Opened, build: Build) -> list[st.SearchStrategy[Event]]:
    names = [*(phase.name for phase in opened.phases), "x"]
    causes = st.sampled_from(get_args(EndCause))
    return [
        phase_events(opened),
        build(PhaseEntered, phase=st.sampled_from(names)),
        build(DefaultPlanUsed),
        build(BlockEnded, block=st.sampled_from(names), passes=st.integers(0, 3), cause=causes),
        build(PredicateLost),
        build(PromptFunctionsLost),
        build(
            PromptsComputed,
            prompts=st.builds(lambda seat: (SeatPrompt(seat=seat, text="x"),), any_seat_name(opened)),
        ),
        build(HandedOff, to=any_seat_name(opened), because=st.sampled_from(["chosen", "drawn"])),
        build(Agreed, consensus=st.just("majority")),
        build(Concluded, outcome=st.just("decided"), votes=st.just(())),
        build(Paused, reason=st.just("x")),
        build(
            Paused,
            reason=st.just("x"),
            cause=st.sampled_from(["pause_when", "request"]),
            breakpoints=st.lists(st.sampled_from(BREAKPOINTS), max_size=2).map(tuple),
            seats=st.lists(any_seat_name(opened), max_size=2).map(tuple),
        ),
        build(Resumed),
        build(Ended, ending=st.sampled_from(["concluded", "truncated"]), cause=causes),
        st.just(opened),
    ]


def intervention_events(opened: Opened, build: Build) -> list[st.SearchStrategy[Event]]:
    anyone = any_seat_name(opened)
    revised = st.builds(interventions.StanceRevised, debater=anyone, stance=TEXT)
    weights = st.builds(lambda seat: (Weight(seat=seat, weight="3/2"),), anyone)
    fields: dict[type[Event], dict[str, Any]] = {
        interventions.PositionsRevised: {"stances": st.tuples(revised), "labels": LABELS},
        interventions.TalkConcluded: {"cause": st.sampled_from(["request", "budget"])},
        interventions.RoundsExtended: {"rounds": st.integers(1, 2)},
        interventions.LimitsChanged: {"limits": st.builds(Limits, max_calls=st.integers(0, 30))},
        interventions.WeightsChanged: {"weights": weights},
        interventions.ThresholdChanged: {"threshold": st.sampled_from(["1/2", "2/3"])},
        interventions.TurnRetracted: {"turn_round": ROUNDS},
        interventions.Tagged: {"tags": st.tuples(TEXT)},
        interventions.Untagged: {"tags": st.tuples(TEXT)},
    }
    return [build(fact, **fields.get(fact, {})) for fact in BY_FACT if fact not in (Paused, Resumed)]


def any_event(opened: Opened) -> st.SearchStrategy[Event]:
    """Any event, legal or not: of every kind, with fields that may fit a debate."""
    build = find_builder(opened)
    parts = (slot_events, course_events, intervention_events)
    return st.one_of([event for part in parts for event in part(opened, build)])


EVENTS_BY_SETUP = {name: any_event(opened) for name, opened in SETUPS.items()}

BAD_ANSWERS: tuple[ScriptAnswer, ...] = (
    "",
    "{}",
    "No.",
    ProviderFailure("timeout"),
    "Transition to x",
    '{"status": "SETTLED"}',
)
CHOICES = st.sampled_from(["A", "B", "a stranger", None])


def valid_answer(draw: st.DataObject, call: Call) -> ScriptAnswer:
    """A reply of the requested shape with a drawn choice."""
    choice = draw.draw(CHOICES)
    data: dict[str, Any] = {
        "framing": {"kind": "open", "positions": draw.draw(st.lists(TEXT | st.just("y"), max_size=3))},
        "ballot": build_ballot(choice),
        "message": {"to": choice or "A", "text": "Why?"},
        "opening": {"next_speakers": [choice] if choice else [], "done": draw.draw(st.booleans())},
        "closing": {
            "summary": "x",
            "status": draw.draw(st.sampled_from(["SETTLED", "CONTINUE"])),
            "decision": "y",
        },
        "argument": {"response": "x", "next_agent_name": choice},
    }
    if call.task == "judgment":
        return render_finding(choice)
    return json.dumps(data[call.task]) if call.task in data else default_script(call)


def any_answer(draw: st.DataObject) -> Script:
    """Replies as of `default_script` or of the requested shape; one in six is bad."""

    def script(call: Call) -> ScriptAnswer:
        kind = draw.draw(st.integers(0, 5))
        if kind == 0:
            return draw.draw(st.sampled_from(BAD_ANSWERS))
        return valid_answer(draw, call) if kind < 3 else default_script(call)

    return script
