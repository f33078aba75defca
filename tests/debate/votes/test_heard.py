"""A debater who refuses, argues for another side or says nothing of its own counts as not heard."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from server.debate.facts.errors import IllegalEvent
from server.debate.facts.events import RoundClosed
from server.debate.machine.transitions import apply
from server.debate.replies.extract import Reply
from server.debate.rules.calls import Call
from server.debate.state.labels import side_labels
from server.debate.views.verdict import build_verdict
from server.debate.votes.readings import list_unargued
from tests.support.simulation import (
    DebateSimulation,
    ScriptAnswer,
    build_ballot,
    build_setup,
    build_usage,
    default_script,
    render_finding,
    render_prompt_text,
    simulate,
    task_script,
)

pytestmark = pytest.mark.requirement("C22", "D3")

MODELS = ("openai/gpt-5", "anthropic/claude", "mistral/large")
SIDES = [
    {"name": "Ada", "stance": "keep it", "model": "v/one"},
    {"name": "Ben", "stance": "replace it", "model": "w/two"},
]
NOT_HEARD = "Not heard: Ben did not argue for its position, say {} judges."


def hold(said: Sequence[Any], judges: int = 3, **options: Any) -> DebateSimulation:
    """A debate of Ada and Ben. `said`: by judge, which debaters it calls unargued, by name, in each of its readings."""

    def script(call: Call) -> ScriptAnswer:
        if not call.reading:
            return default_script(call)
        named = said[int(call.seat[-1]) - 1]
        labels = side_labels(at.debate, call.reading)
        listed = [labels.get(name, name) for name in named] if isinstance(named, list) else named
        return render_finding("A1", 3, unargued=listed)

    setup = build_setup(debaters=SIDES, options={"judges": {"models": list(MODELS[:judges])}, **options})
    at = simulate(setup, script)
    return at.play()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ([["Ben"]] * 3, "3 of 3"),
        ([["Ben"], ["Ben"], []], "2 of 3"),
        ([["Ben"], [], []], ""),
        ([[], None, "none"], ""),
        (["B1 argued well", ["B1, if at all"], [7]], ""),
    ],
)
def test_more_than_half_of_the_judges_have_to_say_so(said: Sequence[Any], told: str) -> None:
    found = build_verdict(hold(said).debate)
    assert found.outcome == ("leaning" if told else "decided")
    assert [line for line in found.cautions if line.startswith("Not heard")] == (
        [NOT_HEARD.format(told)] if told else []
    )
    assert not told or NOT_HEARD.format(told) in found.headline


def test_one_judge_alone_is_no_count() -> None:
    cautions = build_verdict(hold([["Ben"]], judges=1).debate).cautions
    assert "Not heard: Ben did not argue for its position, says the judge." in cautions


def test_a_judge_says_so_in_every_reading_or_not_at_all() -> None:
    def script(call: Call) -> ScriptAnswer:
        listed = ["Ben"] if call.reading == 1 else []
        return render_finding("A1", 3, unargued=listed) if call.reading else default_script(call)

    setup = build_setup(debaters=SIDES, options={"judges": {"models": [MODELS[0]]}})
    assert list_unargued(simulate(setup, script).play().debate) == ()


def test_a_model_too_small_to_judge_says_nothing_of_it() -> None:
    def script(call: Call) -> ScriptAnswer:
        text = render_finding("A1", 3, unargued=["Ada"])
        is_judge = call.task == "judgment"
        return Reply(text, build_usage("local"), informative=False) if is_judge else default_script(call)

    assert list_unargued(simulate(build_setup(debaters=SIDES), script).play().debate) == ()


def test_who_defends_no_side_cannot_fail_to_argue_for_it() -> None:
    debaters = [*SIDES, {"name": "Cy", "stance": "neutral", "model": "x/three"}]
    script = task_script({"judgment": json.loads(render_finding("A1", 3, unargued=["Cy", "Ben"]))})
    at = simulate(build_setup(debaters=debaters), script).play()
    assert [one.name for one in list_unargued(at.debate)] == ["Ben"]


def test_a_moderator_says_so_where_it_decides() -> None:
    closing = {
        "summary": "Ada has the floor.",
        "status": "SETTLED",
        "decision": "Keep it.",
        "unargued": ["b1"],
    }
    at = simulate(build_setup(format="settle", debaters=SIDES), task_script({"closing": closing})).play()
    found = build_verdict(at.debate)
    assert found.outcome == "leaning"
    assert "Not heard: Ben did not argue for its position, says the moderator." in found.headline


@pytest.mark.parametrize(
    ("name", "options", "voters"),
    [
        ("oxford", {}, 3),
        ("verdict", {"phases": ["opening", "voting"]}, 2),
        ("round_robin", {"ballots": "blind"}, 2),
        ("round_robin", {"ballots": "rounds"}, 2),
    ],
)
def test_voters_say_so_where_nobody_else_decides(name: str, options: dict[str, Any], voters: int) -> None:
    ballot = {**build_ballot("A1"), "unargued": ["B1"]}
    at = simulate(build_setup(format=name, debaters=SIDES, options=options), task_script({"ballot": ballot}))
    at.play()
    found = build_verdict(at.debate)
    told = f"Not heard: Ben did not argue for its position, say {voters} of {voters} voters."
    assert told in found.cautions
    assert told in found.headline
    prompts = [prompt for call, prompt in at.calls_made if call.task == "ballot"]
    asking = ["unargued" in (prompt.schema or {})["properties"] for prompt in prompts]
    assert asking == sorted(asking)  # nobody before the talk, and everybody after it
    assert [*{*asking}] == ([True] if name == "verdict" else [False, True])
    assert ["never argued" in render_prompt_text(prompt) for prompt in prompts] == asking


@pytest.mark.parametrize("name", ["advocates", "settle"])
def test_voters_are_not_asked_where_judges_or_a_moderator_say_so(name: str) -> None:
    at = simulate(build_setup(format=name, debaters=SIDES, options={"ballots": "blind"})).play()
    prompts = [render_prompt_text(prompt) for call, prompt in at.calls_made if call.task == "ballot"]
    assert len(prompts) == 4
    assert not [prompt for prompt in prompts if "never argued" in prompt]


def test_before_the_verdict_is_recorded_the_debate_can_be_held_for_it() -> None:
    at = hold([["Ben"]] * 3, pause_when=["unheard"])
    assert at.debate.paused is not None
    assert at.debate.paused.seats == ("Ben",)
    assert NOT_HEARD.format("3 of 3") in at.debate.paused.reason
    at.intervene("resume")
    assert at.play().status == "concluded"


@pytest.mark.parametrize("name", ["Zoe", ""])
def test_a_record_cannot_say_so_of_somebody_who_is_not_there(name: str) -> None:
    at = simulate(build_setup(format="settle", debaters=SIDES)).play_to_round(1)
    at.play(lambda debate: len(debate.turns) == 2)
    closing = RoundClosed(
        round=1, seen=1, usage=build_usage(), summary="So.", settled=False, unargued=(name,)
    )
    with pytest.raises(IllegalEvent, match=f"nobody here is called {name!r}"):
        apply(at.debate, closing)
