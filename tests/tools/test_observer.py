"""The benchmark of observers: how much of what is there a model sees, and how much that is not."""

import json

import anyio
import pytest

from benchmarks.recorded.rhetoric import measure
from benchmarks.recorded.rhetoric_cases import CASES
from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.requirement("D14"), pytest.mark.anyio]


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
