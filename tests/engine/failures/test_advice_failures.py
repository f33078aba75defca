"""Each call of a second opinion failing in each way, at a provider: what comes out, and what is said of it."""

import json
from itertools import cycle
from typing import Any

import pytest

from server.compose import open_manager
from server.debate.commands.requests import DebateRequest
from server.debate.views.verdict import build_verdict
from server.engine.database.snapshots import DebateSnapshot
from server.settings import Settings
from server.upkeep.check import check_database
from tests.support.provider.stub import Stub

pytestmark = [pytest.mark.anyio, pytest.mark.full, pytest.mark.requirement("N10", "D3")]

CHINESE = "我建议保留现有的队列、因为迁移的成本太高、而且目前的负载并不大。请先测量一个月、然后再决定是否需要更换系统。"

FAILURES = ("400", "503", "reset", "malformed", "stopped", "empty", "hang")
"""Scenarios of the stub, that are of one kind to each task; so is "401", but for what follows of it."""
REPLIES = {
    "prose": "I would rather not say.",
    "another language": CHINESE,
    "null": "null",
    "a list": "[]",
    "thinks for ever": "thinks-99999",
    "nested": "[" * 5_000,
    "numbers": json.dumps({"follows": 7}),
}
WAYS = {**{name: name for name in (*FAILURES, "401")}, **REPLIES}

TOLD = {
    "review": "gave no review: ",
    "exchange": "gave no exchange (what it advised before counts): ",
    "report": "Writer gave no report (the server composed the answer of the reviews, and nobody checked it): ",
    "check": "Checker gave no check (nobody has checked the answer): ",
}


async def hold(
    database: str, monkeypatch: pytest.MonkeyPatch, task: str, way: str, model: str
) -> DebateSnapshot:
    """A second opinion of two who differ, in which this task goes wrong for those whose model ends so."""
    async with Stub(retry_after="0.01") as stub:
        stub.script = lambda asked, by, _: WAYS[way] if asked == task and by.endswith(model) else ""
        for name in ("ALPHA_API_BASE", "BETA_API_BASE"):
            monkeypatch.setenv(name, stub.url)
        options = {"effort": "assured", "limits": {"turn_timeout": 1 if way == "hang" else 300}}
        asked: dict[str, Any] = {"question": "Keep the queue?", "options": options, "run": True}
        settings = Settings(db=database, models=("alpha/side-a", "beta/side-b"))
        async with open_manager(settings, environ={}) as manager:
            opened = await manager.start(DebateRequest.model_validate(asked), actor="test")
            held = await manager.follow(opened.id, wait=60)
            assert not (await check_database(manager, rebuild=False)).problems
    return held


@pytest.mark.parametrize(
    ("way", "task"),
    [
        *zip(FAILURES, cycle(TOLD)),
        *(("401", task) for task in TOLD),
        *zip(REPLIES, cycle(TOLD)),
    ],
)
async def test_what_goes_wrong_after_the_answers_is_said_and_stops_nothing(
    database: str, monkeypatch: pytest.MonkeyPatch, way: str, task: str
) -> None:
    held = await hold(database, monkeypatch, task, way, "")

    verdict = build_verdict(held.debate)
    assert held.status == "concluded"
    assert verdict.verdict
    assert any(TOLD[task] in caution for caution in verdict.cautions)
    has_writer = task in ("exchange", "check") and (way, task) != ("401", "exchange")  # whose key is refused
    assert verdict.answer.written_by == ("writer" if has_writer else "server")
    assert verdict.answer.head == ("Open" if task == "review" else "Divided")


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("prose", "another language")])
async def test_an_answer_that_is_none_pauses_it_with_the_cause(
    database: str, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    held = await hold(database, monkeypatch, "advice", way, "side-b")

    assert held.status == "paused"
    assert held.debate.paused
    assert held.debate.paused.reason.startswith("1 of 2 answered in round 1 (answer), 2 needed. Advisor 2: ")


@pytest.mark.parametrize("way", ["prose", "another language"])
async def test_an_answer_in_prose_is_one(database: str, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    held = await hold(database, monkeypatch, "advice", way, "side-b")

    assert held.status == "concluded"
    assert [answer.recommendation for answer in held.debate.advice if answer.kind == "advised"].count(
        WAYS[way]
    )
