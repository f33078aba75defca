"""Records from elsewhere: what people can have changed, and what follows by the time."""

from typing import Any

import pytest

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Paused, Resumed
from server.debate.facts.interventions import NoteAdded
from server.debate.interventions.action import InterventionRequest
from server.debate.interventions.notes import MAX_NOTES
from server.debate.interventions.registry import build_intervention
from server.debate.machine.decide import Record, decide
from server.debate.rules.budget import ElapsedTime
from tests.support.records import Bodies, build_bodies, play, refusal, verify_bodies
from tests.support.simulation import build_setup, label_positions, simulate

pytestmark = pytest.mark.requirement("D8", "N26")


def steer(action: str, **request: Any) -> Bodies:
    """A record that ends with the events of an action."""
    at = play(max_rounds=2).play_through_round(1)
    made = build_intervention(at.debate, action, InterventionRequest(**request)).events
    return build_bodies(at.add_events(*made).events)


@pytest.mark.parametrize(
    ("action", "request_fields", "change", "told"),
    [
        ("inject", {"text": "x"}, {"text": "x" * 8001}, "text: 8,001 characters"),
        ("inject", {"text": "x"}, {"text": ""}, "There is nothing to inject"),
        ("inject", {"text": "x"}, {"to": "Mallory"}, "nobody here is called Mallory"),
        ("inject", {"text": "x"}, {"round": 7}, "it was written in another round"),
        ("instruct", {"text": "x"}, {"to": "Mallory"}, "Nobody here is called 'Mallory'"),
        ("extend", {"rounds": 1}, {"rounds": 1000}, "1 to 20"),
        (
            "extend",
            {"limits": {"max_calls": 90}},
            {"limits": {"max_calls": 10**9}},
            "limits.max_calls must be",
        ),
        (
            "weights",
            {"weights": {"judge 1": "2"}},
            {"weights": [{"seat": "judge 1", "weight": "1/0"}]},
            "no fraction",
        ),
        (
            "weights",
            {"weights": {"judge 1": "2"}},
            {"weights": [{"seat": "Ada", "weight": "2"}]},
            "Nobody here",
        ),
        ("tag", {"text": "a, b"}, {"tags": ["a", " b"]}, "other consequences"),
        ("threshold", {"threshold": "2/3"}, {"threshold": "4/6"}, "other consequences"),
        ("threshold", {"threshold": "2/3"}, {"threshold": "9e9"}, "no fraction above 0"),
        (
            "replace_model",
            {"to": "judge 1", "model": "y"},
            {"seat": "Mallory"},
            "nobody here is called Mallory",
        ),
        ("replace_model", {"to": "judge 1", "model": "y"}, {"model": ""}, "Name in `model`"),
        (
            "replace_model",
            {"to": "judge 1", "model": "y"},
            {"price": {"model": "z"}},
            "it is another model's",
        ),
        (
            "replace_model",
            {"to": "judge 1", "model": "y"},
            {"price": {"model": "y", "input": "1"}},
            "it is known, or it is not",
        ),
        ("retract", {"to": "Opponent", "round": 1}, {"slot_index": 3}, "there is no such turn"),
        ("conclude", {}, {"cause": "budget"}, "phase_entered follows here"),
        ("pause", {}, {"cause": "quorum"}, "phase_entered follows here"),
        ("pause", {}, {"cause": "daily_budget"}, "the budget of a day ends at midnight"),
        ("pause", {}, {"seats": ["Opponent"]}, "other consequences"),
    ],
)
def test_changes_that_nobody_could_ask_for_are_refused(
    action: str, request_fields: dict[str, Any], change: dict[str, Any], told: str
) -> None:
    bodies = steer(action, **request_fields)
    assert verify_bodies(bodies).version == len(bodies)

    assert told in refusal(lambda found: found[-1].update(change), bodies)


@pytest.mark.parametrize(
    ("action", "request_fields"),
    [("threshold", {"threshold": "0.666666667"}), ("weights", {"weights": {"judge 1": "1.333333333"}})],
)
def test_shares_and_weights_with_nine_decimals_come_back(action: str, request_fields: dict[str, Any]) -> None:
    bodies = steer(action, **request_fields)

    assert verify_bodies(bodies).version == len(bodies)


def test_a_pause_until_tomorrow_is_that_of_the_day_s_budget() -> None:
    at = play().play_to_round(1)
    at.add_events(Paused(cause="daily_budget", reason="spent", until="2026-11-02T00:00:00.000Z"), Resumed())

    assert verify_bodies(build_bodies(at.play().events)) == at.debate


def test_more_than_500_notes_are_refused() -> None:
    at = play().play_to_round(1).add_events(*[NoteAdded(text="x", round=1)] * (MAX_NOTES + 1))

    assert f"Entry {3 + MAX_NOTES - 1 + 1} (note_added): there are more than" in refusal(
        lambda _: None, build_bodies(at.events)
    )


def test_the_end_of_a_time_budget_follows_from_the_times_of_the_entries() -> None:
    at = play(options={"limits": {"max_seconds": 100}}, max_rounds=3).play_through_round(1)
    step = decide(at.debate, elapsed=ElapsedTime(81.5))
    assert isinstance(step, Record)
    at.add_events(*step.events)
    ages = [float(number) for number in range(len(at.events))]

    assert verify_bodies(build_bodies(at.events), ages=[*ages[:-1], 84.0]) == at.debate
    for late in (60.0, 300.0):
        with pytest.raises(InvalidRequestError, match=r"follows here|computed again"):
            verify_bodies(build_bodies(at.events), ages=[*ages[:-1], late])


def test_a_talk_that_code_may_end_ends_or_goes_on() -> None:
    opened = label_positions(build_setup(format="verdict", max_rounds=3)).model_copy(
        update={"has_predicate": True}
    )
    for rounds in (1, 3):
        at = simulate(opened, terminate_when=lambda debate, rounds=rounds: debate.round >= rounds).play()
        assert verify_bodies(build_bodies(at.events)) == at.debate
        with_none = build_bodies(at.events)
        with_none[0]["has_predicate"] = False
        if rounds == 1:
            assert "because: computed again" in refusal(lambda _: None, with_none)
