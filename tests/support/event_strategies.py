"""Hypothesis strategies: setups of every kind, events, and replies of models."""

import json
from typing import Any, get_args

from hypothesis import strategies as st

from server.debate.facts import events, interventions
from server.debate.facts.config import Limits
from server.debate.facts.positions import DefaultPositionsUsed
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
    "framed": build_setup(format="handoff", options={"framing": True}),
    "few turns": build_setup(format="full", debaters=build_debaters(3), options={"limits": {"max_turns": 8}}),
    "caller": build_setup(
        ["scripted", "caller"],
        format="verdict",
        options={"moderator": {"model": "caller"}, "synthesizer": True},
    ),
}
ROUNDS = st.integers(0, 4)
TEXT = st.sampled_from(["x", ""])
CAUSES = st.sampled_from(["timeout", "empty", "unreadable"])


def any_seat_name(opened: events.Opened) -> st.SearchStrategy[str]:
    names = [debater.name for debater in opened.debaters]
    return st.sampled_from(
        [*names, *judge_seats(opened), "framer", "moderator", "referee", "synthesizer", "x"]
    )


def phase_events(opened: events.Opened) -> st.SearchStrategy[events.Event]:
    """`PhaseEntered` events that are mostly valid."""
    debate = replay([opened])
    return st.builds(
        lambda name, number: build_phase_entered(debate, name, number or None),
        st.sampled_from([phase.name for phase in opened.phases]),
        ROUNDS,
    )


def any_event(opened: events.Opened) -> st.SearchStrategy[events.Event]:
    """Any event, legal or not: of every kind, with fields that may fit a debate."""
    anyone = any_seat_name(opened)
    nobody = anyone | st.just("")
    some = st.lists(anyone, max_size=3).map(tuple)
    officer = st.sampled_from(["moderator", "referee", "Proponent"])
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

    def built(kind: type[events.Event], **others: Any) -> st.SearchStrategy[events.Event]:
        known = {name: drawn for name, drawn in fields.items() if name in kind.model_fields}
        return st.builds(kind, **{**known, **others})

    labels = st.sampled_from([("A", "B"), ("A", "B", "C"), ("A", "A", "C")])
    revised = st.builds(interventions.StanceRevised, debater=anyone, stance=TEXT)
    weights = st.builds(lambda seat: (interventions.Weight(seat=seat, weight="3/2"),), anyone)
    return st.one_of(
        phase_events(opened),
        built(events.PhaseEntered, phase=st.sampled_from([*(phase.name for phase in opened.phases), "x"])),
        built(events.RoundOpened, seat=officer, slot_index=st.just(0)),
        built(events.RoundClosed, seat=officer, slot_index=st.just(1)),
        built(events.Audited, seat=officer, slot_index=st.just(0)),
        built(
            events.PositionsFramed,
            seat=st.just("framer"),
            slot_index=st.just(0),
            round=st.integers(0, 1),
            question_kind=st.sampled_from(["yes_no", "open"]),
            debaters=st.sampled_from([opened.debaters, opened.debaters[:2]]),
            labels=labels,
        ),
        built(DefaultPositionsUsed),
        built(interventions.PositionsRevised, stances=st.tuples(revised), labels=labels),
        built(events.DefaultPlanUsed),
        built(events.HandedOff, to=anyone, because=st.sampled_from(["chosen", "drawn"])),
        built(events.HandoffFailed, slot_index=st.just(0)),
        built(events.Researched, lookups=st.just((events.Lookup(tool="a/b", arguments="{}"),))),
        built(events.Balloted, slot_index=st.just(0)),
        built(events.Judged, margin=st.integers(0, 3)),
        built(events.Concluded, outcome=st.just("decided"), votes=st.just(())),
        built(events.Synthesized, text=st.just('{"result": "x"}'), slot_index=st.just(0)),
        built(events.Spoke, act=st.sampled_from(["argument", "question", "answer"])),
        built(events.Failed, cause=CAUSES, detail=x),
        built(interventions.NoteAdded),
        built(interventions.Challenged),
        built(interventions.InstructionGiven),
        built(interventions.TalkConcluded, cause=st.sampled_from(["request", "budget"])),
        built(interventions.RoundsExtended, rounds=st.integers(1, 2)),
        built(interventions.LimitsChanged, limits=st.builds(Limits, max_calls=st.integers(0, 30))),
        built(interventions.WeightsChanged, weights=weights),
        built(interventions.ThresholdChanged, threshold=st.sampled_from(["1/2", "2/3"])),
        built(interventions.ModelReplaced),
        built(interventions.TurnRetracted, turn_round=ROUNDS),
        built(events.Paused, reason=x),
        built(events.Resumed),
        built(
            events.Ended,
            ending=st.sampled_from(["concluded", "truncated"]),
            cause=st.sampled_from(get_args(events.EndCause)),
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
        "framing": {"kind": "open", "positions": draw.draw(st.lists(TEXT | st.just("y"), max_size=3))},
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
