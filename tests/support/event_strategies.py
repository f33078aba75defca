"""Hypothesis strategies: setups of every kind, events, and replies of models."""

import json
from typing import Any, get_args

from hypothesis import strategies as st

from server.debate.facts import events, interventions
from server.debate.facts.config import Limits
from server.debate.facts.state import judge_seats
from server.debate.rules.decide import Call
from server.debate.rules.transitions import replay
from tests.support.simulation import (
    ProviderFailure,
    Script,
    ScriptAnswer,
    build_debaters,
    build_phase_entered,
    build_setup,
    build_usage,
    default_script,
    render_finding,
)

SCHEMA = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}

SETUPS: dict[str, events.Opened] = {
    "second opinion": build_setup(debaters=build_debaters(3), max_rounds=2, options={"judges": {"count": 2}}),
    "verdict": build_setup(format="verdict", max_rounds=3),
    "moderated": build_setup(
        format="verdict", options={"moderator": {"opens": True, "closes": True}, "referee": True}
    ),
    "settle": build_setup(format="settle"),
    "settled by a moderator who opens": build_setup(format="settle", options={"speaking": "moderated"}),
    "handoff": build_setup(format="handoff", max_rounds=4),
    "full": build_setup(format="full", debaters=build_debaters(3)),
    "round robin": build_setup(format="round_robin", options={"output_schema": SCHEMA}),
    "votes": build_setup(options={"phases": ["opening", "voting", "cross_examination", "voting"]}),
    "oxford": build_setup(format="oxford"),
    "few turns": build_setup(format="full", debaters=build_debaters(3), options={"limits": {"max_turns": 8}}),
    "caller": build_setup(
        ["scripted", "caller"],
        format="verdict",
        options={"moderator": {"model": "caller"}, "synthesizer": True},
    ),
}
ROUNDS = st.integers(0, 4)
SEEN = st.integers(1, 4)
TEXT = st.sampled_from(["x", ""])
USAGE = st.just(build_usage())
CAUSES = st.sampled_from(["timeout", "empty", "unreadable"])


def any_seat_name(opened: events.Opened) -> st.SearchStrategy[str]:
    names = [debater.name for debater in opened.debaters]
    return st.sampled_from([*names, *judge_seats(opened), "moderator", "referee", "synthesizer", "x"])


def phase_events(opened: events.Opened, any_seat: st.SearchStrategy[str]) -> st.SearchStrategy[events.Event]:
    """`PhaseEntered` events, mostly valid."""
    debate = replay([opened])
    names = [phase.name for phase in opened.phases]
    valid = st.builds(
        lambda name, number: build_phase_entered(debate, name, number or None), st.sampled_from(names), ROUNDS
    )
    return valid | st.builds(
        events.PhaseEntered,
        phase=st.sampled_from([*names, "x"]),
        round=ROUNDS,
        order=st.lists(any_seat, max_size=3).map(tuple),
    )


def moderation_events(any_seat: st.SearchStrategy[str]) -> st.SearchStrategy[events.Event]:
    """Events of a moderator, a referee and hand-offs."""
    officer = st.sampled_from(["moderator", "referee", "Proponent"])
    return st.one_of(
        st.builds(
            events.RoundOpened,
            round=ROUNDS,
            next_speakers=st.lists(any_seat, max_size=3).map(tuple),
            done=st.booleans(),
            usage=USAGE,
            seat=officer,
            seen=SEEN,
        ),
        st.builds(
            events.RoundClosed,
            round=ROUNDS,
            summary=TEXT,
            settled=st.booleans(),
            decision=TEXT,
            usage=USAGE,
            seat=officer,
            seen=SEEN,
        ),
        st.builds(
            events.DefaultPlanUsed,
            round=ROUNDS,
            next_speakers=st.lists(any_seat, max_size=3).map(tuple),
            reason=TEXT,
        ),
        st.builds(events.Audited, round=ROUNDS, text=TEXT, usage=USAGE, seat=officer, seen=SEEN),
        st.builds(
            events.HandedOff,
            seat=any_seat,
            round=ROUNDS,
            to=any_seat,
            because=st.sampled_from(["chosen", "drawn"]),
        ),
        st.builds(events.HandoffFailed, seat=any_seat, round=ROUNDS, detail=TEXT, seen=SEEN),
        st.builds(
            events.Researched,
            seat=any_seat,
            round=ROUNDS,
            lookups=st.just((events.Lookup(tool="a/b", arguments="{}"),)),
            usage=USAGE,
            seen=SEEN,
            slot_index=st.integers(0, 2),
        ),
    )


def decision_events(any_seat: st.SearchStrategy[str]) -> st.SearchStrategy[events.Event]:
    """Ballots, judgments, verdicts and results."""
    nobody = any_seat | st.just("")
    return st.one_of(
        st.builds(
            events.Balloted,
            seat=any_seat,
            round=ROUNDS,
            choice=nobody,
            reasoning=TEXT,
            usage=USAGE,
            seen=SEEN,
        ),
        st.builds(
            events.Judged,
            seat=any_seat,
            round=ROUNDS,
            slot_index=st.integers(0, 3),
            winner=nobody,
            margin=st.integers(0, 3),
            verdict=st.just("x"),
            reasoning=st.just("x"),
            usage=USAGE,
            seen=SEEN,
        ),
        st.builds(
            events.Concluded,
            outcome=st.just("decided"),
            winner=nobody,
            verdict=st.just("x"),
            reasoning=st.just("x"),
            votes=st.just(()),
        ),
        st.builds(events.Synthesized, round=ROUNDS, text=st.just('{"result": "x"}'), usage=USAGE, seen=SEEN),
    )


def intervention_events(any_seat: st.SearchStrategy[str]) -> st.SearchStrategy[events.Event]:
    """Everything that somebody may do to a debate."""
    texts = [
        st.builds(kind, round=ROUNDS, text=st.just("x"), to=any_seat | st.just(""))
        for kind in (interventions.NoteAdded, interventions.Challenged, interventions.InstructionGiven)
    ]
    return st.one_of(
        *texts,
        st.builds(interventions.TalkConcluded, round=ROUNDS, cause=st.sampled_from(["request", "budget"])),
        st.builds(interventions.RoundsExtended, round=ROUNDS, rounds=st.integers(1, 2)),
        st.builds(
            interventions.LimitsChanged, round=ROUNDS, limits=st.builds(Limits, max_calls=st.integers(0, 30))
        ),
        st.builds(
            interventions.WeightsChanged,
            weights=st.builds(lambda seat: (interventions.Weight(seat=seat, weight="3/2"),), any_seat),
        ),
        st.builds(interventions.ThresholdChanged, threshold=st.sampled_from(["1/2", "2/3"])),
        st.builds(interventions.ModelReplaced, seat=any_seat, model=st.just("x")),
        st.builds(
            interventions.TurnRetracted, seat=any_seat, turn_round=ROUNDS, slot_index=st.integers(0, 2)
        ),
    )


def any_event(opened: events.Opened) -> st.SearchStrategy[events.Event]:
    """Any event, legal or not."""
    anyone = any_seat_name(opened)
    return st.one_of(
        phase_events(opened, anyone),
        moderation_events(anyone),
        decision_events(anyone),
        st.builds(
            events.Spoke,
            seat=anyone,
            round=ROUNDS,
            text=st.just("x"),
            usage=USAGE,
            seen=SEEN,
            slot_index=st.integers(0, 3),
            act=st.sampled_from(["argument", "question", "answer"]),
            to=anyone | st.just(""),
            hands_to=anyone | st.just(""),
        ),
        st.builds(
            events.Failed,
            seat=anyone,
            round=ROUNDS,
            cause=CAUSES,
            detail=st.just("x"),
            slot_index=st.integers(0, 2),
            seen=SEEN,
        ),
        intervention_events(anyone),
        st.builds(events.Paused, reason=st.just("x")),
        st.builds(events.Resumed),
        st.builds(
            events.Ended,
            ending=st.sampled_from(["concluded", "truncated"]),
            cause=st.sampled_from(get_args(events.EndCause)),
            detail=TEXT,
        ),
        st.just(opened),
    )


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
        "ballot": {"choice": choice},
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
