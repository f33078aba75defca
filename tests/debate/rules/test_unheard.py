"""A side without a voice pauses the debate before its next round: the rest would be paid for in vain."""

from collections.abc import Callable
from typing import Any

import pytest

from server.debate.facts.events import Paused
from server.debate.machine.decide import is_round_over
from server.debate.rules.calls import Call
from server.debate.views.state import status_reason
from server.debate.views.verdict import build_verdict
from tests.support.simulation import (
    DebateSimulation,
    ProviderFailure,
    Script,
    ScriptAnswer,
    build_debaters,
    build_setup,
    default_script,
    simulate,
)

pytestmark = pytest.mark.requirement("D3")

LOST = ProviderFailure("unavailable", "the provider is down")


def failing(where: Callable[[Call], bool], otherwise: Script = default_script) -> Script:
    def script(call: Call) -> ScriptAnswer:
        return LOST if where(call) else otherwise(call)

    return script


def lost(*seats: str) -> Script:
    """These seats fail whatever they are asked, as long as their model is the first one."""
    return failing(lambda call: call.seat in seats and call.model == "scripted")


def open_panel(**fields: Any) -> Any:
    return build_setup(**{"debaters": build_debaters(3), "max_rounds": 4, **fields})


def spoken(at: DebateSimulation, seat: str) -> list[int]:
    return [turn.round for turn in at.debate.turns if turn.seat == seat]


@pytest.mark.parametrize("name", ["advocates", "verdict", "round_robin", "oxford", "full"])
def test_a_seat_that_was_never_heard_pauses_the_debate_before_the_next_round(name: str) -> None:
    at = simulate(open_panel(format=name), lost("Speaker 2")).play()

    first = 2 if name == "oxford" else 1
    assert (at.status, at.debate.round, spoken(at, "Speaker 1")) == ("paused", first, [first])
    paused = at.debate.paused
    assert paused
    assert (paused.cause, paused.seats) == ("unheard", ("Speaker 2",))
    assert not is_round_over(at.debate)
    for said in ("never heard: Speaker 2: the provider is down", "replace_model", "resume"):
        assert said in status_reason(at.debate)


def test_another_model_speaks_in_the_round_that_was_missed() -> None:
    at = simulate(open_panel(), lost("Speaker 2")).play()
    at.intervene("replace_model", to="Speaker 2", model="other")
    at.intervene("resume")

    assert at.play().status == "concluded"
    assert spoken(at, "Speaker 2") == [1, 2, 3, 4]


def test_resumed_the_seat_is_asked_once_more_and_the_debate_goes_on_without_it() -> None:
    at = simulate(open_panel(), lost("Speaker 2")).play()
    before = len(at.calls_made)
    at.intervene("resume")
    asked = at.pending_calls()

    assert [(call.seat, call.round) for call in asked] == [("Speaker 2", 1)]
    assert at.play().status == "concluded"
    assert [type(event) for event in at.events].count(Paused) == 1
    assert at.debate.held_round_count == 4
    assert len(at.calls_made) > before + 1
    assert "Never heard: Speaker 2. Nobody argued their side." in build_verdict(at.debate).cautions


def test_each_seat_without_a_voice_pauses_it_once() -> None:
    at = simulate(open_panel(options={"quorum": 1}), lost("Speaker 1", "Speaker 3")).play()
    assert at.debate.paused
    assert at.debate.paused.seats == ("Speaker 1", "Speaker 3")
    assert at.play_on().status == "concluded"
    assert [type(event) for event in at.events].count(Paused) == 1


def test_a_seat_that_is_not_to_speak_yet_is_not_missed() -> None:
    plan = '{"next_speakers": ["Speaker 1", "Speaker 2"], "briefing": null, "new_angle": null, "done": false}'
    script = failing(lambda call: call.seat == "Speaker 3")
    options = {"moderator": {"opens": True}}
    at = simulate(
        open_panel(format="verdict", options=options),
        lambda call: plan if call.task == "opening" else script(call),
    )

    assert at.play().status == "concluded"


def test_a_seat_that_was_heard_before_it_failed_pauses_nothing() -> None:
    at = simulate(open_panel(), failing(lambda call: (call.seat, call.round) == ("Speaker 2", 2))).play()

    assert at.status == "concluded"


def test_after_the_only_round_the_judges_wait_too() -> None:
    at = simulate(open_panel(max_rounds=1), lost("Speaker 3")).play()

    assert (at.status, at.debate.judgments) == ("paused", ())


@pytest.mark.requirement("D4")
def test_a_talk_that_is_concluded_meanwhile_is_decided_on_what_was_said() -> None:
    at = simulate(open_panel(), lost("Speaker 2")).play()
    at.intervene("conclude")

    assert at.play().status == "concluded"
    assert at.debate.held_round_count == 1


@pytest.mark.requirement("N9")
def test_a_fork_goes_on_without_the_seat_where_its_parent_did() -> None:
    at = simulate(open_panel(), lost("Speaker 2")).play()
    assert at.fork(1, lost("Speaker 2")).play().status == "paused"
    at.intervene("resume")
    at.play()

    assert at.fork(2, lost("Speaker 2")).play().status == "concluded"
