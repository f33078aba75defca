"""However much a model writes, so much of it is kept."""

import json
from typing import Any

import pytest

from server.debate.facts.answers import Extracted
from server.debate.replies.extract import Reply, build_failure
from server.debate.rules.calls import Call
from server.debate.seats.observer import Observed
from tests.support.analyst_debates import DOUBLED, build_link, extract
from tests.support.observer_debates import AGAINST_BOB, TURNS, observe
from tests.support.simulation import (
    DebateSimulation,
    build_ballot,
    build_debaters,
    build_setup,
    build_usage,
    default_script,
    render_finding,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("C8")

LONG = "x" * 60_000


def play(task: str, said: Any, **options: Any) -> DebateSimulation:
    """A debate in which whoever has this task writes at length, until the first such answer is recorded."""
    text = said if isinstance(said, str) else json.dumps(said)
    at = simulate(build_setup(debaters=build_debaters(3), options=options), task_script({task: text}))
    return at.play(lambda _: any(call.task == task for call, _ in at.calls_made))


def find_event(at: DebateSimulation, kind: str) -> Any:
    return next(event for event in at.events if event.kind == kind)


def count(event: object, *names: str) -> set[int]:
    return {len(getattr(event, name)) for name in names}


def test_of_a_turn_or_an_audit() -> None:
    assert count(find_event(play("argument", LONG), "spoke"), "text") == {12_000}
    assert count(find_event(play("audit", LONG, referee=True), "audited"), "text") == {12_000}


def test_of_a_judgment() -> None:
    fields = dict.fromkeys(("reasoning", "verdict", "would_change"), LONG)
    assert count(find_event(play("judgment", render_finding(**fields)), "judged"), *fields) == {4_000}
    common = render_finding(None, recommendation=LONG)
    assert count(find_event(play("judgment", common), "judged"), "recommendation") == {4_000}


def test_of_a_ballot() -> None:
    fields = dict.fromkeys(("position", "would_check", "new_point", "open_point"), LONG)
    at = play("ballot", build_ballot("A1") | fields, ballots="rounds")
    at.play(lambda debate: any(ballot.wave == "round" for ballot in debate.private_ballots))
    (ballot,) = [ballot for ballot in at.debate.private_ballots if ballot.wave == "round"][:1]
    assert count(ballot, *fields) == {600}


def test_of_a_frame_and_of_a_position_in_it() -> None:
    framing = {"kind": "yes_no", "positions": [f"Ship {LONG}", f"Do not ship {LONG}"], "assumption": LONG}
    at = simulate(build_setup(options={"framing": True}), task_script({"framing": json.dumps(framing)}))
    framed = find_event(at.play_to_round(1), "positions_framed")
    assert {len(debater.stance) for debater in framed.debaters} == {500}
    assert count(framed, "assumption") == {500}


def test_of_what_a_moderator_says() -> None:
    plan = {"next_speakers": ["A1"], "briefing": LONG, "new_angle": LONG, "done": False}
    opened = find_event(play("opening", plan, moderator={"opens": True}), "round_opened")
    assert count(opened, "briefing", "new_angle") == {4_000}
    closing = {"summary": LONG, "status": "SETTLED", "decision": LONG}
    closed = find_event(play("closing", closing, moderator={"closes": True}), "round_closed")
    assert count(closed, "summary", "decision") == {4_000}


def test_of_a_message_and_of_a_name_that_nobody_has() -> None:
    phases = [{"name": "opening", "messages": True}, "verdict"]
    sent = find_event(play("argument", f"So.\nMESSAGE TO B1, question: {LONG}", phases=phases), "spoke")
    assert len(sent.message.text) == 1_200
    name = json.dumps({"next_agent_name": LONG, "response": "So."})
    at = simulate(build_setup(format="handoff"), task_script({"argument": name}))
    told = find_event(at.play_to_round(2), "spoke").no_handoff
    assert f'"{LONG[:60]}"' in told


def test_of_a_result_in_prose() -> None:
    result = find_event(play("deliverable", LONG, phases=["opening", "deliverable"]), "synthesized")
    assert (len(result.text), result.cut) == (50_000, True)


def test_of_what_an_observer_sees() -> None:
    marks = [AGAINST_BOB | {"why": f"{number} {LONG}"} for number in range(42)]
    (observed,) = observe(TURNS, *marks).play().debate.find_readings(Observed)
    assert (len(observed.marks), observed.dropped) == (40, 2)
    assert {len(mark.why) for mark in observed.marks} == {400}


def test_of_what_an_analyst_reads() -> None:
    links, same = [build_link("attacks", f"B 7.{n}") for n in range(14)], [f"B 7.{n}" for n in range(14)]
    claim = DOUBLED | {"claim": LONG, "evidence": LONG, "links": links, "same_as": same}
    left = {"speaker": "A1", "words": "It may fail", "why": LONG}
    (extracted,) = extract(claim, more={"left_out": [left]}).play().debate.find_readings(Extracted)
    assert count(extracted.claims[0], "wording", "evidence") == {400}
    assert len(extracted.left_out[0].why) == 400
    assert extracted.unknown == 12 + 12


def test_of_why_it_failed() -> None:
    at = simulate().play_to_round(1)
    assert len(build_failure(at.pending_calls()[0], "timeout", LONG).detail) == 500


def test_the_longest_that_is_kept_is_not_marked_as_cut() -> None:
    def script(call: Call) -> Any:
        texts = {"argument": LONG[:12_000], "deliverable": LONG[:50_000]}
        return Reply(texts[call.task], build_usage()) if call.task in texts else default_script(call)

    at = simulate(build_setup(options={"phases": ["opening", "deliverable"]}), script).play()
    assert not find_event(at, "spoke").cut
    assert not find_event(at, "synthesized").cut
