"""The observer over the whole path: asked for with a tool, answered by a model, read in views and by subscribers."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from benchmarks.recorded.rhetoric import measure
from benchmarks.recorded.rhetoric_cases import CASES, Case
from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.patience import PATIENCE
from tests.support.scripted_debates import ScriptedDebates, find_for, open_scripted_debates

pytestmark = [pytest.mark.requirement("D14"), pytest.mark.anyio]


@pytest.fixture
async def debates(open_modern: Any) -> AsyncIterator[ScriptedDebates]:
    async with open_scripted_debates(open_modern) as opened:
        yield opened


def speak_case(case: Case) -> Any:
    return lambda request: case.before if request.seat == "Ada" else case.turn


def see_case(case: Case) -> Any:
    """A model that copies the words of the case, with the labels that its prompt has."""

    def see(request: Request) -> str:
        ada, bob = [label for label, _ in request.prompt.summary.positions]
        mark = {"pattern": case.pattern, "speaker": bob, "words": case.words, "why": "So it is."}
        other = {"of": ada if case.original else None, "original_words": case.original or None}
        return json.dumps({"marks": [mark | other]})

    return see


async def test_a_mark_is_in_every_view_and_in_no_prompt_of_a_judge(debates: ScriptedDebates) -> None:
    case = next(one for one in CASES if one.original)
    ran = await debates.hold(
        argument=speak_case(case),
        observation=see_case(case),
        judgment=find_for("Buy now"),
        max_rounds=1,
        options={"observer": True},
    )
    assert ran["status"] == "concluded"
    name = case.pattern.replace("_", " ")
    assert ran["rhetoric"] == [f"Bob, of 1 turns, as the observer alleges: {name} in 1"]
    analysis = await debates.view(ran, "analysis")
    (mark,) = analysis["rhetoric"]["marks"]
    assert case.turn[mark["said"]["start"] : mark["said"]["end"]] == mark["said"]["quote"] == case.words
    assert (mark["original"] or {"quote": ""})["quote"] == case.original
    events = (await debates.view(ran, "events"))["events"]
    (row,) = [row for row in events if "rhetorical_pattern" in row["names"]]
    assert row["marks"][0]["pattern"] == case.pattern
    assert not any("observer" in prompt.lower() for prompt in debates.prompts("judgment"))


async def test_the_benchmark_counts_what_a_model_sees() -> None:
    def see_all(request: Request) -> str:
        text = request.prompt.messages[-1].content
        bob, ada = [label for label, _ in request.prompt.summary.positions]
        case = next(c for c in CASES if f"> {c.turn}" in text.replace(bob, "Bob").replace(ada, "Ada"))
        mark = {"pattern": case.pattern, "speaker": ada, "words": case.words.replace("Bob", bob), "why": ""}
        return json.dumps({"marks": [mark | {"of": bob, "original_words": case.original or None}]})

    rows = await measure(ScriptedModel(see_all))
    assert [(row.counts["seen"], row.counts["false"]) for row in rows] == [(4, 4)] * 8
    assert {(row.precision, row.recall) for row in rows} == {("0.50", "1.00")}
    blind = await measure(ScriptedModel(), CASES[:8])
    assert (blind[0].counts["missed"], blind[0].counts["left"]) == (4, 4)
    assert (blind[0].precision, blind[0].recall) == ("-", "0.00")
    with anyio.fail_after(PATIENCE):
        failed = await measure(ScriptedModel(lambda _: "No."), CASES[:1])
    assert failed[0].counts == {"failed": 1}


async def test_true_a_model_or_an_object_ask_for_an_observer(debates: ScriptedDebates) -> None:
    for given in (True, "other", {"model": "other", "prompt": "Be strict.", "shown": True}):
        ran = await debates.hold(options={"observer": given}, max_rounds=1)
        assert debates.prompts("observation")
    assert "Be strict." in debates.prompts("observation")[0]
    tasks = await debates.view(ran, "tasks")
    assert [row["state"] for row in tasks["tasks"] if row["task"] == "observation"] == ["done"]
    assert "options.observer.show" in await debates.refuse(options={"observer": {"show": 1}})
