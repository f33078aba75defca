"""Judges who take a place in the list and not an argument, with weights, and on positions that a model named."""

import json
from collections.abc import AsyncIterator, Callable

import pytest

from server.models import Request
from tests.support.client_calls import call
from tests.support.scripted_debates import THREE, ScriptedDebates, open_scripted_debates
from tests.support.servers import OpenClient

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C8", "N2")]

NOBODY = {("undecided", ""), ("contested", "")}


@pytest.fixture
async def debates(open_modern: OpenClient) -> AsyncIterator[ScriptedDebates]:
    async with open_scripted_debates(open_modern) as debates:
        yield debates


def choose_place(place: int) -> Callable[[Request], str]:
    def judge(request: Request) -> str:
        labels = [label for label, _ in request.prompt.summary.positions]
        winner = labels[place]
        beliefs = {**dict.fromkeys(labels, 3), winner: 91, "none": 9 - 3 * (len(labels) - 1)}
        found = {"winner": winner, "verdict": "It is best.", "reasoning": "It is so.", "margin": 3}
        return json.dumps({**found, "beliefs": beliefs})

    return judge


@pytest.mark.parametrize(("place", "count"), [(0, 3), (-1, 1)], ids=["first", "last"])
async def test_they_find_for_nobody_whatever_they_weigh(
    debates: ScriptedDebates, place: int, count: int
) -> None:
    ran = await debates.hold(
        "second_opinion",
        debaters=THREE,
        judgment=choose_place(place),
        run=False,
        options={"judges": {"count": count}, "fallback_models": ["other"]},
    )
    this = {"debate_id": ran["debate_id"]}
    await call(
        debates.client,
        "intervene",
        **this,
        action="weights",
        weights=[{"voter": "judge 1", "weight": "5"}],
    )
    while ran["status"] != "concluded":
        ran = await call(debates.client, "step_round", **this)

    assert (ran["outcome"], ran["winner"]) in NOBODY


@pytest.mark.parametrize("place", [0, -1], ids=["first", "last"])
async def test_they_find_for_nobody_among_positions_that_were_named_for_the_question(
    debates: ScriptedDebates, place: int
) -> None:
    ran = await debates.hold(
        "second_opinion", question="Which database?", debaters=[], judgment=choose_place(place)
    )

    assert len(ran["positions"]) > 1
    assert (ran["outcome"], ran["winner"]) in NOBODY
