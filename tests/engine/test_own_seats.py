"""Seats of one's own: an object in code, or a model and a prompt over MCP, in place of any of them."""

import json
from typing import Any

import anyio
import pytest

from server.compose import open_manager
from server.debate.seats.referee import Audited
from server.debate.views.verdict import build_moderator_decision
from server.models import OnText, Reply, Request, Usage
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from server.settings import Settings
from tests.support.client_calls import call
from tests.support.engines import open_engine, run_debate
from tests.support.mcp_debates import read_view

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("C13")]

SAYS = {
    "opening": json.dumps({"next_speakers": ["Ada", "Ben"], "briefing": "Mine.", "done": True}),
    "argument": "My own argument.",
    "closing": json.dumps({"summary": "My own summary.", "status": "CONTINUE"}),
    "audit": "My own audit.",
    "judgment": json.dumps({"verdict": "My own.", "winner": "Ada", "reasoning": "Mine.", "margin": 3}),
    "deliverable": "My own result.",
}


class Mine:
    """A seat in code: nothing of Counterpoint's but the seam."""

    def __init__(self) -> None:
        self.seats: set[str] = set()

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        self.seats.add(request.seat)
        if on_text:
            on_text("…")
        return Reply(SAYS[request.prompt.summary.task], Usage(model="mine", cost_usd="0"))


@pytest.mark.requirement("A4")
async def test_an_object_in_code_may_be_any_seat(database: str) -> None:
    mine = Mine()
    officer = {"model": "mine"}
    asked = {
        "format": "verdict",
        "models": ["scripted"],
        "debaters": [{"name": "Ada", "stance": "now", "model": "mine"}, {"name": "Ben", "stance": "later"}],
        "options": {
            "moderator": {**officer, "opens": True, "closes": True},
            "referee": officer,
            "judges": {"models": ["mine"]},
            "synthesizer": officer,
        },
    }
    async with open_manager(Settings(db=database), {"mine": mine}) as manager:
        snapshot = await run_debate(manager, **asked)

    assert mine.seats == {"Ada", "moderator", "referee", "judge 1", "synthesizer"}
    assert build_moderator_decision(snapshot.debate.round_plans[0])["briefing"] == "Mine."
    assert snapshot.debate.round_summaries[0].summary == "My own summary."
    assert snapshot.debate.find_readings(Audited)[0].text == "My own audit."
    assert snapshot.debate.verdict is not None
    assert (snapshot.debate.verdict.winner, snapshot.debate.verdict.verdict) == ("Ada", "My own.")
    assert snapshot.debate.deliverable is not None
    assert snapshot.debate.deliverable.text == "My own result."
    assert [turn.text for turn in snapshot.debate.turns if turn.seat == "Ada"] == ["My own argument."]


@pytest.mark.requirement("A1", "C14")
async def test_a_prompt_and_a_model_over_mcp_make_any_seat_one_s_own(open_modern: Any) -> None:
    models = {name: ScriptedModel() for name in ("ada", "ben", "led", "audited", "judged", "made")}
    options = {
        "instructions": "For all who have none.",
        "moderator": {"model": "led", "prompt": "Lead mine.", "opens": True},
        "referee": {"model": "audited", "prompt": "Audit mine."},
        "judges": {"models": ["judged"], "prompt": "Judge mine."},
        "synthesizer": {"model": "made", "prompt": "Make mine."},
        "limits": {"max_turn_tokens": 900, "turn_timeout": 60},
    }
    debaters = [
        {"name": "Ada", "stance": "now", "model": "ada", "system_prompt": "Argue mine.", "role": "pilot"},
        {"name": "Ben", "stance": "later", "model": "ben", "max_turn_tokens": 50, "turn_timeout": 9},
    ]
    async with open_modern(models) as client:
        asked = {"question": "Ship it?", "format": "verdict", "debaters": debaters, "options": options}
        ran = await call(client, "start_debate", **asked, run=True)
        state = await read_view(client, ran, "state")

    own = {"ada": "Argue mine.", "led": "Lead mine.", "audited": "Audit mine.", "judged": "Judge mine."}
    own["made"] = "Make mine."
    told = {name: model.requests[0].prompt.messages[-1].content for name, model in models.items()}
    assert all(prompt in told[name] for name, prompt in own.items())
    assert ["For all who have none." in text for text in told.values()] == [name == "ben" for name in told]
    assert "Your role: pilot" in told["ada"]
    assert [(r.max_tokens, r.timeout) for r in models["ada"].requests] == [(8_900, 60)] * 2
    assert [(r.max_tokens, r.timeout) for r in models["ben"].requests] == [(8_050, 9)] * 2
    assert [(seat["model"], seat["role"]) for seat in state["debaters"]] == [("ada", "pilot"), ("ben", "")]
    assert ran["status"] == "concluded"


class Slow:
    """A model that does not say how long it took."""

    async def reply(self, request: Request, on_text: OnText | None = None) -> Reply:
        await anyio.sleep(0.01)  # time itself is what is measured here
        if on_text:
            on_text("…")
        return Reply(build_reply_text(request), Usage(model="slow", cost_usd="0"))


async def test_the_time_of_an_answer_is_measured_where_its_model_does_not_tell_it(database: str) -> None:
    async with open_engine(database, Slow()) as manager:
        snapshot = await run_debate(manager, max_rounds=1)

    assert all(10 <= turn.usage.milliseconds < 5000 for turn in snapshot.debate.turns)
