"""What debaters held before anybody spoke: counted for the choice of teams, and for nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from server.debate.interventions.action import InterventionRequest
from server.engine.database.ledger import add_ledger, read_calibration, read_judgments
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from tests.support.engines import open_engine, run_debate
from tests.support.upkeep import check_database, needs_upkeep

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D17")]

SHIP, WAIT = "Ship it", "Wait a week"
RIGHT, WRONG, UNSURE, JUDGE = "acme/right", "beta/wrong", "gamma/unsure", "delta/judge"


def hold(stance: str) -> Any:
    """A model that holds a position as likely as 80 %; "" for one that holds all alike."""

    def answer(request: Request) -> str:
        summary = request.prompt.summary
        if summary.task not in ("ballot", "judgment"):
            return build_reply_text(request)
        rest = 20 / (len(summary.positions) - 1) if stance else 100 / len(summary.positions)
        beliefs = {label: 80 if own == stance else rest for label, own in summary.positions}
        winner = max(beliefs, key=lambda label: beliefs[label]) if stance else None
        found = {"beliefs": {**beliefs, "none": 0}, "position": "So."}
        return json.dumps({**found, "winner": winner, "verdict": "So.", "reasoning": "."})

    return answer


def open_debaters(database: str | Path = ":memory:") -> Any:
    told = {RIGHT: SHIP, WRONG: WAIT, UNSURE: "", JUDGE: SHIP}
    models = {name: ScriptedModel(hold(stance), name=name) for name, stance in told.items()}
    return open_engine(database, {"mine": ScriptedModel(), **models})


async def run(manager: DebateManager, *models: str, judge: str = JUDGE, **options: Any) -> DebateSnapshot:
    stances = [SHIP, WAIT, *(f"Ask {number}" for number in range(9))]
    rows = [
        {"name": f"N{number}", "stance": stances[number], "model": model}
        for number, model in enumerate(models)
    ]
    asked = {"ballots": "blind", "judges": {"models": [judge]}, **options}
    return await run_debate(manager, debaters=rows, options=asked)


async def settle(manager: DebateManager, debate_id: str, truth: str = SHIP) -> DebateSnapshot:
    settled, _ = await manager.intervene(debate_id, "outcome", InterventionRequest(to=truth), actor="Kim")
    return settled


async def list_ballots(manager: DebateManager) -> list[tuple[str, str, str]]:
    rows = await read_judgments(manager.store.storage.ledger, manager.store.name_ledger())
    return [(row.judge, row.vote, row.gold) for row in rows if row.role == "debater"]


@needs_upkeep
async def test_a_settled_debate_has_a_row_for_each_debater_who_said_what_it_held(database: str) -> None:
    async with open_debaters(database) as manager:
        ended = await run(manager, WRONG, RIGHT, UNSURE, RIGHT)
        assert await list_ballots(manager) == []
        await settle(manager, ended.id)
        assert await list_ballots(manager) == [(RIGHT, "N0", "N0"), (WRONG, "N1", "N0"), (UNSURE, "", "N0")]
        await settle(manager, ended.id, WAIT)
        assert {gold for *_, gold in await list_ballots(manager)} == {"N1"}
        sums = {
            one.judge: one
            for one in await manager.store.storage.ledger.sum_answers({RIGHT, WRONG, UNSURE}, "")
        }
        assert {name: (of.items, of.credit, of.told) for name, of in sums.items()} == {
            RIGHT: (1, 0, 0),
            WRONG: (1, 2, 0),
            UNSURE: (1, 1, 0),
        }
        pairs = await manager.store.storage.ledger.sum_pairs({RIGHT, JUDGE})
        assert [(pair.items, pair.both_missed) for pair in pairs] == [(1, 1)]
        assert (await check_database(manager)).problems == ()


async def test_ballots_weigh_no_judge_and_calibrate_no_belief() -> None:
    async with open_debaters() as manager:
        for _ in range(3):
            await settle(manager, (await run(manager, RIGHT, WRONG)).id)
        judged = await run(manager, RIGHT, WRONG, judge=WRONG)
        ledger = (manager.store.storage.ledger, manager.store.name_ledger())
        extract = (await add_ledger(judged.debate.setup, *ledger)).ledger
        assert extract is not None
        assert extract.standings == ()
        calibration = await read_calibration(*ledger)
        assert calibration.items == 0
        items, sums = await manager.store.storage.ledger.sum_beliefs()
        assert items == 3
        assert {one.judge for one in sums} == {JUDGE}


async def test_callers_fakes_and_debates_without_blind_ballots_have_no_rows_of_debaters() -> None:
    async with open_debaters() as manager:
        await settle(manager, (await run(manager, RIGHT, WRONG, ballots="none")).id)
        await settle(manager, (await run(manager, "scripted", "scripted")).id)
        assert await list_ballots(manager) == []
