"""Outcomes recorded after the end: what the ledger learns from them, and what later debates use of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from server.debate.analysis.judgments import Judgment, Reading
from server.debate.facts.errors import InvalidRequestError
from server.debate.interventions.action import InterventionRequest
from server.debate.records.setup import check_opened
from server.debate.views.verdict import build_report
from server.engine.database.ledger import import_judgments, read_judgments
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.transfer import export_debate, restore_debate
from server.models import Request
from server.models.fakes.scripted import ScriptedModel, build_reply_text
from tests.support.engines import open_engine, run_debate, start_debate
from tests.support.patience import PATIENCE
from tests.support.upkeep import check_database, needs_upkeep

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N21")]

SHIP, WAIT = "Ship it", "Wait a week"
DEBATERS = [{"name": "Ada", "stance": SHIP}, {"name": "Ben", "stance": WAIT}]
GOOD, BAD = "vendor/good", "other/bad"


def judge_for(stance: str, percent: int = 90) -> Any:
    def answer(request: Request) -> str:
        summary = request.prompt.summary
        if summary.task != "judgment":
            return build_reply_text(request)
        beliefs = {label: percent if own == stance else 100 - percent for label, own in summary.positions}
        winner = max(beliefs, key=lambda label: beliefs[label])
        return json.dumps(
            {"beliefs": {**beliefs, "none": 0}, "winner": winner, "verdict": "So.", "reasoning": "."}
        )

    return answer


def build_models() -> dict[str, ScriptedModel]:
    models = {GOOD: judge_for(SHIP), BAD: judge_for(WAIT)}
    return {
        "mine": ScriptedModel(),
        **{name: ScriptedModel(told, name=name) for name, told in models.items()},
    }


def open_judged(database: str | Path) -> Any:
    return open_engine(database, build_models())


async def run_judged(manager: DebateManager, *judges: str, **options: Any) -> DebateSnapshot:
    asked = {"models": list(judges or (GOOD, BAD))}
    return await run_debate(manager, debaters=DEBATERS, options={"judges": asked, **options})


async def settle(
    manager: DebateManager, debate_id: str, truth: str, why: str = "", request_id: str = ""
) -> tuple[DebateSnapshot, str]:
    request = InterventionRequest(to=truth, reason=why, request_id=request_id)
    return await manager.intervene(debate_id, "outcome", request, actor="Kim")


def label(number: int, judge: str, choice: str) -> Judgment:
    readings = Reading(1, choice), Reading(2, choice)
    return Judgment(f"item {number}", judge, "right", readings)


async def teach(manager: DebateManager, number: int = 30) -> None:
    """Import a record: one judge that is always right, and one that never is."""
    judgments = [label(n, GOOD, "right") for n in range(number)]
    judgments += [label(n, BAD, "wrong") for n in range(number)]
    await import_judgments(manager.store.storage.ledger, judgments, manager.store.name_ledger())


async def list_votes(manager: DebateManager) -> list[tuple[str, str, str]]:
    return [
        (one.judge, one.vote, one.gold)
        for one in await read_judgments(manager.store.storage.ledger, manager.store.name_ledger())
    ]


@needs_upkeep
async def test_an_outcome_is_a_fact_after_the_end_and_a_row_for_each_judge(database: str) -> None:
    async with open_judged(database) as manager:
        ended = await run_judged(manager)
        assert await list_votes(manager) == []
        settled, effect = await settle(manager, ended.id, SHIP, "It went well.")

        assert (settled.status, settled.debate.version) == ("concluded", ended.debate.version + 1)
        assert settled.entries[-1].actor == "Kim"
        assert "ledger" in effect
        assert await list_votes(manager) == [(BAD, "Ben", "Ada"), (GOOD, "Ada", "Ada")]
        assert build_report(settled.debate).settled == f'Turned out right: {SHIP} (Ada). "It went well."'
        assert (await check_database(manager)).problems == ()
        row = (await read_judgments(manager.store.storage.ledger, manager.store.name_ledger()))[1]
        assert [reading.first for reading in row.readings] in (["Ada", "Ben"], ["Ben", "Ada"])


async def test_a_correction_replaces_the_rows_and_keeps_the_earlier_word(database: str) -> None:
    async with open_judged(database) as manager:
        ended = await run_judged(manager)
        await settle(manager, ended.id, "Ada")
        corrected, effect = await settle(manager, ended.id, "wait a week.")
        assert effect.startswith("It replaces the one recorded before;")
        assert [gold for *_, gold in await list_votes(manager)] == ["Ben", "Ben"]
        none, _ = await settle(manager, ended.id, "None")
        assert [gold for *_, gold in await list_votes(manager)] == ["", ""]
        kinds = [entry.event.kind for entry in none.entries[-4:]]
        assert kinds == ["ended", "outcome_recorded", "outcome_recorded", "outcome_recorded"]
        assert build_report(none.debate).settled == "Turned out right: no position."
        assert corrected.debate.verdict == ended.debate.verdict


async def test_an_outcome_that_is_said_again_is_recorded_once(database: str) -> None:
    async with open_judged(database) as manager:
        ended = await run_judged(manager)
        once, effect = await settle(manager, ended.id, "Ada", request_id="r1")
        again, same = await settle(manager, ended.id, "Ada", request_id="r1")
        assert (again.debate.version, same) == (once.debate.version, effect)
        repeated, told = await settle(manager, ended.id, "Ada")
        assert (repeated.debate.version, told) == (once.debate.version, "That outcome is recorded already.")


async def test_a_debate_uses_what_was_known_of_its_judges_when_it_began(database: str) -> None:
    async with open_judged(database) as manager:
        before = await run_judged(manager)
        assert before.debate.setup.ledger is None
        assert build_report(before.debate).outcome == "contested"
        assert "Not measured" in build_report(before.debate).confidence.basis

        waiting = await start_debate(manager, debaters=DEBATERS, options={"judges": {"models": [GOOD, BAD]}})
        await teach(manager)
        after = await run_judged(manager)
        report = build_report(after.debate)
        assert (report.outcome, report.winner, report.panel.proven) == ("decided", "Ada", ["judge 1"])
        assert report.confidence.value is None
        assert report.confidence.basis.endswith(
            "Weights from 60 settled votes; too few settled items to calibrate."
        )
        while not waiting.debate.ended:
            waiting = await manager.step(waiting.id, wait=PATIENCE)
        assert build_report(waiting.debate).outcome == "contested"  # what was learnt since does not count
        data = json.loads(json.dumps(await export_debate(manager, after.id)))
    async with open_judged(":memory:") as elsewhere:  # no ledger is needed to count the votes again
        restored, _ = await restore_debate(elsewhere, data)
        assert build_report(restored.debate) == report


async def test_a_file_in_which_weights_do_not_follow_from_records_is_refused(database: str) -> None:
    async with open_judged(database) as manager:
        await teach(manager)
        setup = (await run_judged(manager)).debate.setup
        ledger = setup.ledger
        assert ledger is not None
        assert [(one.judge, one.weight) for one in ledger.standings] == [(BAD, "0/100"), (GOOD, "289/100")]
        check_opened(setup)
        bad, good = ledger.standings
        for wrong in (
            {"standings": (bad, good.model_copy(update={"weight": "290/100"}))},
            {"standings": (good.model_copy(update={"is_proven": False}),)},
            {"standings": (good.model_copy(update={"wrong": 1}),)},
            {"standings": (good.model_copy(update={"judge": "somebody/else"}),)},
            {"standings": (good, good)},
        ):
            changed = setup.model_copy(update={"ledger": ledger.model_copy(update=wrong)})
            with pytest.raises(InvalidRequestError, match="ledger: "):
                check_opened(changed)


@pytest.mark.both_databases
async def test_two_processes_that_import_both_readings_at_once_lose_none(database: str) -> None:
    whole = [label(n, GOOD, "right") for n in range(50)]
    async with (
        open_judged(database) as one,
        open_judged(database) as other,
        anyio.create_task_group() as tasks,
    ):
        for manager, reading in ((one, 0), (other, 1)):
            half = [replace(judgment, readings=judgment.readings[reading:][:1]) for judgment in whole]
            tasks.start_soon(
                import_judgments, manager.store.storage.ledger, half, manager.store.name_ledger()
            )
    async with open_judged(database) as manager:
        stored = await read_judgments(manager.store.storage.ledger, manager.store.name_ledger())
        assert sorted(stored, key=lambda one: int(one.item.split()[1])) == whole


async def test_advice_that_turned_out_right_is_known_when_the_same_models_advise_again(database: str) -> None:
    models = {name: ScriptedModel(name=name) for name in (GOOD, BAD)}
    asked = {"format": "second_opinion", "models": [GOOD, BAD], "options": {"effort": "standard"}}
    async with open_engine(database, models) as manager:
        first = await run_debate(manager, **asked)
        assert first.debate.setup.ledger is None
        await settle(manager, first.id, "right")
        rows = await read_judgments(manager.store.storage.ledger, manager.store.name_ledger())
        assert [(row.judge, row.role, [one.number for one in row.readings]) for row in rows] == [
            (BAD, "advisor", [1, 2]),
            (GOOD, "advisor", [1, 2]),
        ]
        again = await run_debate(manager, **asked)
        ledger = again.debate.setup.ledger
        assert ledger is not None
        assert [(one.judge, one.asked) for one in ledger.standings] == [(BAD, 1), (GOOD, 1)]
        assert "Not measured on your questions yet." in build_report(again.debate).confidence.basis
        data = json.loads(json.dumps(await export_debate(manager, again.id)))
    async with open_engine(":memory:", models) as elsewhere:
        restored, _ = await restore_debate(elsewhere, data)
        assert build_report(restored.debate) == build_report(again.debate)


@pytest.mark.both_databases
@needs_upkeep
async def test_rows_are_written_again_where_they_do_not_follow_from_the_entries(database: str) -> None:
    async with open_judged(database) as manager:
        ended = await run_judged(manager)
        await settle(manager, ended.id, "Ada")
        await teach(manager, 1)
        rows = await list_votes(manager)
        version = ended.debate.version + 1
        stored = await manager.store.storage.summaries.read(ended.id)
        assert await manager.store.storage.summaries.rewrite(ended.id, version, replace(stored, judgments=[]))
        assert len(await list_votes(manager)) == len(rows) - 2
        (problem,) = (await check_database(manager)).problems
        assert (problem.text, problem.is_rebuilt) == ("the ledger did not follow from the entries", True)
        assert await list_votes(manager) == rows
