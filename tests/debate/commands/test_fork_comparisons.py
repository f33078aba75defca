"""Forks beside the debates they come from: what they share, and forks of debates that were steered."""

import json
from typing import Any

import pytest

from server.debate.facts.interventions import TurnRetracted
from server.debate.facts.setup.opened import Opened
from server.debate.machine.transitions import replay
from server.debate.rules.calls import Call
from server.debate.views.compare import build_comparison, render_comparison
from server.debate.views.events import build_interventions
from tests.support.simulation import (
    DebateSimulation,
    Script,
    build_setup,
    default_script,
    render_finding,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("N9", "D4")

SIDES = [{"name": "Ada", "stance": "ship", "model": "one"}, {"name": "Bob", "stance": "wait"}]
TWO_JUDGES = {"judges": {"models": ["x/one", "x/two"]}}
THREE_JUDGES = {"judges": {"models": ["a/x", "b/y", "c/z"]}}


def played(script: Script = default_script, **asked: Any) -> DebateSimulation:
    return simulate(build_setup(**asked), script).play()


def side_by_side(
    one: DebateSimulation, other: DebateSimulation, names: str = "parent fork"
) -> dict[str, Any]:
    first, second = names.split()
    return build_comparison(one.stored(first), other.stored(second))


class TestComparing:
    def test_a_fork_beside_what_it_is_a_fork_of(self) -> None:
        parent = played(debaters=SIDES)
        child = parent.fork(
            1, task_script({"judgment": json.loads(render_finding("B", 3))}), judges={"models": ["another"]}
        ).play()
        found = side_by_side(parent, child)
        assert (found["relation"], found["shared_rounds"], found["agree"]) == ("fork", 1, "no")
        assert found["provenance"] == "verified"
        assert [(d["field"], d["other"]) for d in found["differences"]] == [("judges.models", "another")]
        assert (found["one"]["winner_stance"], found["one"]["margin"]) == ("ship", 2)
        assert (found["other"]["winner_stance"], found["other"]["margin"]) == ("wait", 3)
        assert found["other"]["models"]["judge 1"] == "another"
        assert (found["one"]["usage"]["calls"], found["other"]["usage"]["calls"]) == (6, 4)
        assert found["summary"] == (
            "fork is a fork of parent; they share round 1. They come to different findings."
        )
        told = render_comparison(found)
        assert '- judges.models: "scripted" | "another"' in told
        assert '- concluded: Leaning "wait", margin 3 of 3' in told

    def test_the_other_way_round(self) -> None:
        parent = played()
        child = parent.fork(2).play()
        found = side_by_side(child, parent, "fork parent")
        assert (found["relation"], found["shared_rounds"], found["agree"]) == ("parent", 2, "yes")
        assert "They come to the same finding." in found["summary"]
        assert found["differences"] == []

    def test_two_forks_of_one_debate(self) -> None:
        parent = played(debaters=SIDES)
        one = parent.fork(1, stances={"Ada": "ship today"}).play()
        found = side_by_side(one, parent.fork(1), "one other")
        assert (found["relation"], found["shared_rounds"], found["agree"]) == ("sibling", 1, "open")
        assert found["provenance"] == ""
        assert found["summary"] == (
            "Both are forks of parent; they share round 1. There is no verdict to compare yet."
        )
        assert "- running: no verdict" in render_comparison(found)

    def test_debates_that_have_nothing_to_do_with_each_other(self) -> None:
        found = side_by_side(
            played(documents=[{"title": "plan", "text": "P" * 900}]),
            played(format="settle", options={"referee": True}),
        )
        assert (found["relation"], found["shared_rounds"], found["provenance"]) == ("", 0, "")
        assert found["summary"].startswith("Neither is a fork of the other.")
        differing = {difference["field"] for difference in found["differences"]}
        assert {"format", "documents.plan.text", "referee.model", "moderator.closes"} <= differing
        assert all(len(difference["one"].encode()) <= 300 for difference in found["differences"])
        assert found["other"]["models"]["moderator"] == "scripted"

    def test_a_fork_whose_beginning_is_not_in_the_other_record_is_told_of(self) -> None:
        child = played().fork(1).play()
        found = side_by_side(played(), child)
        assert found["provenance"] == "verified"
        altered = child.events[0].model_copy(update={"forked_hash": "0" * 64})
        assert isinstance(altered, Opened)
        child.debate = replay([altered, *child.events[1:]])
        found = side_by_side(played(), child)
        assert found["provenance"] == "broken"
        assert "is not in the record of the other debate" in render_comparison(found)

    def test_the_shared_past_ends_where_the_records_part(self) -> None:
        parent = played()
        early = parent.fork(1, lambda call: f"Else, {call.key}.").play_through_round(2)
        grandchild = early.fork(2)
        assert side_by_side(early, parent.fork(2), "one other")["shared_rounds"] == 1
        found = side_by_side(parent, grandchild, "grandparent fork")
        assert (found["relation"], found["shared_rounds"]) == ("", 1)


def in_force(at: DebateSimulation) -> dict[str, Any]:
    return dict(build_interventions(at.stored())["settings"])


def test_rounds_are_shared_whoever_sits_on_the_bench_of_the_fork() -> None:
    parent = simulate(build_setup(options=TWO_JUDGES)).play_through_round(1)
    parent.intervene("replace_model", to="judge 2", model="x/three")
    parent.intervene("replace_model", to="Opponent", model="x/four")
    child = parent.fork(1, judges={"count": 1}, models={"Opponent": "x/five"})
    found = side_by_side(parent.play(), child.play())
    assert (found["shared_rounds"], found["provenance"]) == (1, "verified")
    assert found["one"]["models"]["Opponent"] == "x/four"
    assert found["other"]["models"] == {"Proponent": "scripted", "Opponent": "x/five", "judge 1": "x/one"}


def test_rounds_stay_shared_when_the_other_debate_is_steered_before_its_next() -> None:
    parent = simulate().play_through_round(1)
    child = parent.fork(1)
    parent.intervene("inject", text="News.")
    parent.intervene("pause")
    assert side_by_side(parent, child)["shared_rounds"] == 1


def test_a_seat_that_is_not_there_has_no_weight() -> None:
    parent = simulate(build_setup(options=TWO_JUDGES)).play_through_round(1)
    parent.intervene("weights", weights={"judge 1": "3", "judge 2": "1/2"})
    parent.intervene("weights", weights={"judge 2": "2"})
    child = parent.fork(1, judges={"count": 1})
    assert in_force(child)["weights"] == {"judge 1": "3"}
    assert len(child.debate.interventions) == 1
    assert in_force(parent.fork(1))["weights"] == {"judge 1": "3", "judge 2": "2"}


def test_a_judge_of_another_model_is_another_judge_and_not_weighed() -> None:
    parent = simulate(build_setup(options=TWO_JUDGES)).play_through_round(1)
    parent.intervene("weights", weights={"judge 1": "3", "judge 2": "1/2"})
    child = parent.fork(1, judges={"models": ["x/one", "x/other"]})
    assert in_force(child)["weights"] == {"judge 1": "3"}


def test_a_turn_that_was_retracted_later_stays_retracted() -> None:
    parent = simulate().play_through_round(2)
    parent.intervene("retract", to="Opponent", round=1, reason="made up")
    child = parent.fork(1)
    grandchild = child.play_through_round(2).fork(1)
    for at in (child, grandchild):
        assert [at.debate.is_active(turn) for turn in at.debate.round_turns(1)].count(False) == 1
        (made,) = [event for event in at.events if isinstance(event, TurnRetracted)]
        assert (made.round, made.reason) == (1, "made up")
    assert side_by_side(parent, child)["shared_rounds"] == 1
    assert parent.fork(0).debate.interventions == ()


@pytest.mark.requirement("C20")
def contested(ahead: str) -> DebateSimulation:
    """Two of three judges name a side, without a winner."""
    texts = {"judge 1": ahead, "judge 2": ahead, "judge 3": "B" if ahead == "A" else "A"}

    def judge(call: Call) -> str:
        return render_finding(texts[call.seat], 1)

    return played(task_script({"judgment": judge}), debaters=SIDES, options=THREE_JUDGES)


def test_debates_without_winners_are_compared_by_what_was_found() -> None:
    nobody = played(task_script({"judgment": {"winner": None}}), debaters=SIDES, options=THREE_JUDGES)
    found = side_by_side(contested("A"), contested("A"), "one other")
    assert found["agree"] == "yes"
    assert found["summary"].endswith(
        'Neither has a winner: Divided in one, Divided in other; "ship" is ahead in both.'
    )
    assert '- concluded: Divided, ahead is "ship"' in render_comparison(found)
    found = side_by_side(contested("A"), contested("B"), "one other")
    assert found["agree"] == "no"
    assert found["summary"].endswith('ahead is "ship" in one, "wait" in other.')
    found = side_by_side(contested("A"), nobody, "one other")
    assert found["agree"] == "no"
    assert found["summary"].endswith('; ahead is "ship" in one, none in other.')
    found = side_by_side(nobody, nobody, "one other")
    assert found["agree"] == "open"
    assert found["summary"].endswith("Neither found for a position: Open in one, Open in other.")
    assert side_by_side(played(debaters=SIDES), nobody)["agree"] == "no"


def test_decisions_and_results_are_compared_where_nobody_can_win() -> None:
    def settled(decision: str) -> DebateSimulation:
        closing = f"SUMMARY: So.\nSTATUS: SETTLED\nDECISION: {decision}"
        return played(task_script({"closing": closing}), format="settle")

    found = side_by_side(settled("Files."), settled("Kafka."))
    assert (found["one"]["found"], found["one"]["finding"], found["agree"]) == ("decision", "Files.", "no")
    assert side_by_side(settled("Files."), settled("Files."))["agree"] == "yes"
    found = side_by_side(played(format="round_robin"), played(format="round_robin"))
    assert (found["one"]["found"], found["agree"]) == ("result", "yes")
    assert found["summary"].endswith("They come to the same finding.")
    assert "- concluded: \"{'result': 'It is not worth it.'}\"" in render_comparison(found)


def test_a_synthesis_is_compared_by_the_position_that_was_made() -> None:
    def made(position: str) -> DebateSimulation:
        finding = json.loads(render_finding(None, recommendation=position))
        return played(task_script({"judgment": finding}), options=THREE_JUDGES)

    half, nobody = (
        made("Half now."),
        played(task_script({"judgment": {"winner": None}}), options=THREE_JUDGES),
    )
    assert side_by_side(half, made("Half now."))["agree"] == "yes"
    assert side_by_side(half, made("Half in May."))["agree"] == "no"
    found = side_by_side(half, nobody)
    assert (found["agree"], found["one"]["position"], found["other"]["position"]) == ("no", "Half now.", "")
    assert '- concluded: A combination "Half now."\n' in render_comparison(found)


def test_all_that_a_setup_may_hold_is_compared_by_what_was_chosen() -> None:
    plain = build_setup(debaters=SIDES)
    page = {"title": "News", "text": "Rain."}
    recalled = {"debate_id": "k3x9w2m4p7qr", "head": "0" * 64, "at": "2026-12-01T10:00:00.000Z"}
    full = Opened.model_validate(
        plain.model_dump()
        | {
            "documents": [page, page | {"text": "Sun."}],
            "prices": [{"model": "one", "input": "0.1"}],
            "windows": [{"model": "one", "tokens": 4000}],
            "weights": [{"seat": "Ada", "weight": "3/2"}],
            "pause_when": [{"condition": "round", "round": 2}, {"condition": "verdict"}],
            "effort": {"level": "quick", "models": [{"model": "one"}]},
            "reader": {"model": "one", "sections": [], "words": 9, "passage_characters": 0},
            "ledger": {
                "standings": [
                    {"judge": "one", "asked": 2, "consistent": 2, "right": 1, "wrong": 1, "weight": "9/100"}
                ]
            },
            "team": {"candidates": [{"model": "one"}], "chosen": ["one"], "gains": ["0.1"]},
            "memory": {"most": 3, "recalled": [recalled | {"question": "Rain?", "outcome": "leaning"}]},
        }
    )

    found = build_comparison(simulate(plain).stored("one"), simulate(full).stored("other"))

    assert {d["field"]: d["other"] for d in found["differences"]} == {
        "documents.News.text": "Rain.",
        "documents.News (2).text": "Sun.",
        "documents.News.reliability": "unknown",
        "documents.News (2).reliability": "unknown",
        "weights.Ada": "3/2",
        "pause_when": "round:2, verdict",
        "team.chosen": "one",
        "team.diversity": "1",
        "memory.most": "3",
        "memory.recalled": "k3x9w2m4p7qr",
    }
