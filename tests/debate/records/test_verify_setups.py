"""Records from elsewhere: set-ups that somebody could have asked for, and those that nobody could."""

from collections.abc import Callable
from typing import Any

import pytest

from server.debate.commands.fork import build_fork
from server.debate.commands.requests import ChangesInput, JudgesInput
from server.debate.commands.setup.formats import PHASES
from server.debate.records.bounds import TEXT_LENGTHS
from tests.support.records import build_bodies, record, refusal, verify_bodies
from tests.support.simulation import (
    build_debaters,
    build_setup,
    label_positions,
    render_finding,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("D8", "N26")


@pytest.mark.parametrize(
    "change",
    [
        lambda opened: opened.update(debaters=opened["debaters"][:1]),
        lambda opened: opened["debaters"][0].update(name="judge 1"),
        lambda opened: opened["debaters"][0].update(name="Ada\nEve"),
        lambda opened: opened["debaters"][0].update(name="A" * 41),
        lambda opened: opened["debaters"][0].update(turn_timeout=9999),
        lambda opened: opened["debaters"][0].update(stance=" for"),
        lambda opened: opened.update(question=""),
        lambda opened: opened.update(question=" Why? "),
        lambda opened: opened.update(instructions=" x"),
        lambda opened: opened.update(format="poetry"),
        lambda opened: opened.update(brief="panel"),
        lambda opened: opened.update(seed=2**40),
        lambda opened: opened.update(quorum=9),
        lambda opened: opened.update(turn_timeout=0),
        lambda opened: opened.update(turn_words=10**6),
        lambda opened: opened.update(max_turn_tokens=10**6),
        lambda opened: opened.update(max_rounds=1000),
        lambda opened: opened.update(max_rounds=0),
        lambda opened: opened.update(tags=["x"] * 21),
        lambda opened: opened.update(fallback_models=["x"] * 6),
        lambda opened: opened.update(fallback_models=["caller"]),
        lambda opened: opened.update(labels=["Walnut", "Walnut"]),
        lambda opened: opened.update(labels=["Should", "Writes"]),
        lambda opened: opened.update(framing={"question_kind": "open"}),
        lambda opened: opened.update(framer={"model": "caller", "models": ["x"]}),
        lambda opened: opened.update(prices=[{"model": "other", "input": "1", "output": "1"}]),
        lambda opened: opened.update(windows=[{"model": "scripted", "tokens": 9}] * 2),
        lambda opened: opened["judges"].update(models=[""]),
        lambda opened: opened["judges"].update(models=["x"] * 10),
        lambda opened: opened["limits"].update(max_calls=10**9),
        lambda opened: opened.update(documents=[{"title": "x", "text": "y" * 1_500_000}] * 3),
        lambda opened: opened.update(documents=[{"title": "x", "text": "y", "after_round": 1}]),
        lambda opened: opened.update(documents=[{"title": "x", "text": "y", "published": "now"}]),
        lambda opened: opened.update(output_schema="{ }"),
        lambda opened: opened.update(output_schema="[" * 19_000),
        lambda opened: opened.update(output_schema='{"pattern": "(?=a)"}'),
        lambda opened: opened.update(phases=[]),
        lambda opened: opened["phases"].append(opened["phases"][0]),
        lambda opened: opened["phases"].reverse(),
        lambda opened: opened["phases"][0].update(name="party"),
        lambda opened: opened["phases"][0].update(wants="message"),
        lambda opened: opened["phases"][0].update(name="opening\n# Question"),
        lambda opened: opened["phases"][1].update(order="declared"),
        lambda opened: opened["judges"].update(models=[]),
        lambda opened: opened.update(synthesizer={"model": "x"}),
        lambda opened: opened.update(moderator={"model": "x"}),
        lambda opened: opened["phases"][0].update(order="moderated"),
        lambda opened: opened.update(hidden_from_client=["Nobody"]),
        lambda opened: opened.update(hidden_from_client=["judge 2"]),
        lambda opened: opened.update(hidden_from_client=["framer"]),
        lambda opened: opened.update(hidden_from_seats=["proponent"]),
        lambda opened: opened.update(hidden_from_seats=["judges", "judges"]),
        lambda opened: opened.update(counting="lottery"),
        lambda opened: opened.update(counting="swing"),
        lambda opened: opened.update(officers=[{"seat": "referee", "model": "x"}] * 2),
        lambda opened: opened.update(officers=[{"seat": "referee", "model": "x", "shown": True}]),
        lambda opened: opened.update(officers=[{"seat": "limits", "model": "x"}]),
        lambda opened: opened.update(phases=opened["phases"][:1], judges={"models": [], "prompt": "Hm."}),
        lambda opened: opened.update(voting={"kind": "majority", "threshold": "2/3"}),
        lambda opened: opened.update(weights=[{"seat": "nobody", "weight": "2"}]),
        lambda opened: opened.update(thinking="off", mirror="on", synthesizer={"seat": "x", "model": "x"}),
    ],
)
def test_a_set_up_that_nobody_could_have_opened_is_refused(
    change: Callable[[dict[str, Any]], object],
) -> None:
    bodies = record(format="verdict", max_rounds=1)[:1]

    assert "Entry 1 (opened)" in refusal(lambda found: change(found[0]), bodies)


@pytest.mark.parametrize("change", [{"format": "verdict"}, {"effort": None}])
def test_a_second_opinion_of_another_format_or_without_an_effort_is_refused(change: dict[str, Any]) -> None:
    bodies = record(format="second_opinion", models=["a", "b"])[:1]

    told = refusal(lambda found: found[0].update(change), bodies)
    assert "its phases and seats do not fit together" in told


@pytest.mark.parametrize(
    ("asked", "field", "value"),
    [
        ({"format": "oxford"}, "phases", lambda phases: phases[:-1]),
        ({"format": "second_opinion"}, "ballots", lambda _: "blind"),
        ({"format": "second_opinion"}, "phases", lambda phases: [*phases[:1], *phases[2:]]),
        ({"format": "second_opinion"}, "labels", lambda labels: labels[::-1]),
    ],
)
def test_a_set_up_that_comes_out_otherwise_when_it_is_asked_for_again_is_refused(
    asked: dict[str, Any], field: str, value: Callable[[Any], Any]
) -> None:
    bodies = record(**asked, models=["a", "b"])[:1]

    told = refusal(lambda found: found[0].update({field: value(found[0][field])}), bodies)
    assert f"asked for again, other {field}" in told or "do not fit together" in told


def test_named_advisors_come_back_unless_one_is_called_as_the_answer_of_the_caller() -> None:
    named = [{"name": "Ada", "role": "a critic"}, {"name": "Bob", "role": "a user"}]
    bodies = record(format="second_opinion", models=["a", "b"], debaters=named)

    assert verify_bodies(bodies).names == ("Ada", "Bob")
    told = refusal(lambda found: found[0]["debaters"][0].update(name="You"), bodies[:1])
    assert "that is the name of the caller's own answer" in told


@pytest.mark.parametrize("labels", [["K73", "K73"], ["Should", "Writes"], ["K73"]])
def test_labels_of_a_fork_that_nobody_could_have_drawn_are_refused(labels: list[str]) -> None:
    at = simulate(label_positions(build_setup(format="verdict", max_rounds=2))).play()
    setup, past = build_fork("k3x9w2m4p7qr", at.debate, [*at.log], 1, ChangesInput())
    bodies = build_bodies([setup, *past])

    assert "its labels" in refusal(lambda found: found[0].update(labels=labels), bodies)


def test_a_set_up_that_hides_nobody_there_is_says_so() -> None:
    bodies = record(format="verdict", max_rounds=1)[:1]

    told = refusal(lambda found: found[0].update(hidden_from_seats=["judge 99"]), bodies)
    assert "there is no 'judge 99'. Kinds and seats: debaters," in told


def test_a_fork_with_fewer_judges_hides_those_of_its_debate() -> None:
    options = {"judges": {"models": ["a", "b", "c"]}, "visibility": {"hide_from_client": ["judge 3"]}}
    opened = build_setup(format="verdict", max_rounds=1, options=options)
    at = simulate(label_positions(opened)).play()
    log, changes = [*at.log], ChangesInput(judges=JudgesInput(models=["a"]))
    setup, past = build_fork("k3x9w2m4p7qr", at.debate, log, 1, changes)

    assert setup.hidden_from_client == ("judge 3",)
    assert verify_bodies(build_bodies([setup, *past])).setup.hidden_from_client == ("judge 3",)


@pytest.mark.parametrize(
    "voting",
    [
        {"threshold": "0.666666667"},
        {"kind": "majority", "of": "cast", "quorum": "0.333333333"},
        {"weights": {"judge 1": "999.999999999"}},
    ],
)
def test_shares_and_weights_with_nine_decimals_come_back(voting: dict[str, Any]) -> None:
    opened = record(format="verdict", options={"voting": voting})[:1]

    assert build_bodies([verify_bodies(opened).setup]) == opened


LONG = "a" * 39 + "1"


@pytest.mark.parametrize(
    ("names", "last"),
    [
        ([LONG, LONG], f"{LONG} 2"),
        (["audience_vote", "opening", "audience_vote 2", "audience_vote"], "audience_vote 3"),
    ],
)
def test_phases_whose_names_end_in_numbers_come_back(names: list[str], last: str) -> None:
    phases = [name if name in PHASES else {"name": name, "instruction": "Go on."} for name in names]
    opened = record(options={"phases": phases})[:1]

    assert verify_bodies(opened).setup.phases[len(names) - 1].name == last


def test_a_debate_with_26_debaters_and_every_option_comes_back() -> None:
    options = {
        "judges": {"models": ["a", "b"], "prompt": "Ask.", "tools": ["wiki"], "quorum": 2},
        "moderator": {"opens": True, "prompt": "Lead."},
        "referee": {"model": "c"},
        "limits": {"max_cost_usd": 0.5, "max_turns": 40, "turn_timeout": 9, "max_turn_words": 20},
        "phases": ["opening", {"name": "party", "instruction": "Dance.", "order": "moderated"}, "verdict"],
        "visibility": {"hide_from_client": ["judges"]},
        "seed": 9,
        "tags": ["x"],
    }
    opened = build_setup(
        debaters=build_debaters(26), max_rounds=2, options={**options, "limits": {"max_turns": 40}}
    )
    at = simulate(label_positions(opened), task_script({"judgment": lambda _: render_finding("B")})).play()

    assert verify_bodies(build_bodies(at.events)) == at.debate


def test_every_text_of_several_lines_is_a_field() -> None:
    for kind, lengths in TEXT_LENGTHS.items():
        fields = {name for sub in (kind, *kind.__subclasses__()) for name in sub.model_fields}
        fields |= {
            name
            for sub in kind.__subclasses__()
            for each in sub.__subclasses__()
            for name in each.model_fields
        }
        assert set(lengths) <= fields
