"""What lists are narrowed by beside words and status: outcome, models, cost and tags."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from server.debate.interventions.action import InterventionRequest
from server.debate.views.verdict import build_report
from server.engine.database.values import choose_values
from server.engine.debates import DebateManager
from server.engine.queries import find_known_values, list_debates
from server.models import Request
from server.models.fakes.scripted import ScriptedModel
from server.upkeep.check import check_database
from tests.support.engines import open_engine, run_debate, run_round, start_debate
from tests.support.patience import PATIENCE
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N19")]


class Paid(ScriptedModel):
    """Each answer costs two cents."""

    async def reply(self, request: Request, *rest: Any) -> Any:
        reply = await super().reply(request, *rest)
        return replace(reply, usage=reply.usage.model_copy(update={"cost_usd": "0.02"}))


@pytest.fixture
async def manager(database: str) -> AsyncIterator[DebateManager]:
    async with open_engine(database, {"mine": ScriptedModel(), "router/acme/Big-1": Paid()}) as opened:
        yield opened


async def find(manager: DebateManager, query: str = "", status: str = "", **wanted: str) -> list[str]:
    rows, _ = await list_debates(manager, query, status, values=choose_values(wanted))
    return [row.question for row in rows]


@pytest.mark.both_databases
async def test_debates_are_found_by_model_outcome_cost_and_tag_and_by_all_of_them(
    manager: DebateManager,
) -> None:
    await run_debate(manager, question="Dear?", models=["router/acme/Big-1"], options={"tags": ["Q3 plan"]})
    await run_debate(manager, question="Free?", options={"tags": ["plan"]})
    await start_debate(manager, question="Open?", options={"tags": ["plan"]})
    for model in ("router/acme/Big-1", "ROUTER", "acme", " big-1 "):
        assert await find(manager, model=model) == ["Dear?"], model
    assert await find(manager, model="mine") == ["Open?", "Free?"]
    assert await find(manager, model="big") == []
    assert await find(manager, tag="plan") == ["Open?", "Free?"]
    assert await find(manager, tag="q3 PLAN") == ["Dear?"]
    assert await find(manager, outcome="leaning") == ["Free?", "Dear?"]
    assert await find(manager, cost="0.01") == await find(manager, cost="0.10") == ["Dear?"]
    assert await find(manager, cost="1") == []
    assert await find(manager, tag="plan", outcome="leaning") == ["Free?"]
    assert await find(manager, "open", tag="plan") == ["Open?"]
    assert await find(manager, status="ready", tag="plan") == ["Open?"]
    assert await find(manager, status="concluded", tag="plan") == ["Free?"]
    assert await find(manager, tag=" ", shape="round") == ["Open?", "Free?", "Dear?"]
    assert await find_known_values(manager) == {
        "model": ["mine", "router/acme/Big-1"],
        "tag": ["Q3 plan", "plan"],
    }


async def test_tags_that_come_and_go_are_found_as_they_are_now(manager: DebateManager) -> None:
    debate_id = (await start_debate(manager, options={"tags": ["a"]})).id
    for action, text, found in (
        ("tag", "b", "ab"),
        ("untag", "a", "b"),
        ("tag", "a", "ab"),
        ("untag", "b", "a"),
    ):
        await manager.intervene(debate_id, action, InterventionRequest(text=text), actor="test")
        assert [tag for tag in "ab" if await find(manager, tag=tag)] == [*found]
    assert (await check_database(manager)).problems == ()


async def test_a_model_that_took_over_a_seat_is_found_from_the_end_on(manager: DebateManager) -> None:
    debate_id = (await run_round(manager, format="verdict")).id
    other = InterventionRequest(to="Proponent", model="router/acme/Big-1")
    await manager.intervene(debate_id, "replace_model", other, actor="test")
    assert await find(manager, model="acme") == []
    await manager.intervene(debate_id, "conclude", InterventionRequest(), actor="test")
    await manager.follow(debate_id, wait=PATIENCE)
    assert await find(manager, model="acme") == await find(manager, model="mine") == ["Ship it?"]
    assert (await check_database(manager)).problems == ()


async def test_damaged_details_have_no_values(manager: DebateManager, database: str) -> None:
    await start_debate(manager, options={"tags": ["a"]})
    run_raw(database, "update stream set details = ?", json.dumps({"models": 7, "tags": None}))
    assert await find_known_values(manager) == {"model": [], "tag": []}
    [row], _ = await list_debates(manager)
    assert (row.models, row.tags) == ([], [])


async def test_a_list_shows_the_answer_of_a_second_opinion_once_it_is_checked(
    manager: DebateManager,
) -> None:
    asked = {"format": "second_opinion", "models": ["mine"], "options": {"effort": "standard"}}
    await run_round(manager, question="Why?", **asked)
    assert [row.position for row in (await list_debates(manager))[0]] == [""]
    over = await run_debate(manager, question="How?", **asked)
    answer = build_report(over.debate).answer.recommendation
    assert answer
    assert [row.position for row in (await list_debates(manager))[0]] == [answer, ""]
