"""What others recorded is marked, and changes neither the ledger nor what debates are told until it is adopted."""

import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from server.debate.commands.requests import ChangesInput
from server.debate.facts.errors import InvalidRequestError
from server.debate.interventions.action import InterventionRequest
from server.debate.views.catalog import VIEWS
from server.debate.views.compare import build_comparison, render_comparison
from server.debate.views.state import build_state
from server.debate.views.verdict import build_verdict
from server.engine.database.memory import recall
from server.engine.database.snapshots import DebateSnapshot, build_debate_id
from server.engine.debates import DebateManager
from server.engine.queries import find_same_question, list_debates, load_view_source
from server.engine.receipts import find_receipt
from server.engine.transfer import export_debate, restore_debate
from server.signing import SigningKey, find_key_id
from server.upkeep.adoption import adopt_debates, find_influence
from server.upkeep.check import check_database
from tests.engine.test_ledger import BAD, DEBATERS, GOOD, SHIP, build_models, settle
from tests.support.engines import open_engine, run_debate, run_round
from tests.support.patience import PATIENCE
from tests.support.raw_sql import run_raw
from tests.support.records import build_export

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N34", "N21", "D18")]

OTHER_KEY = "22" * 32
OTHER_ID = find_key_id(SigningKey(bytes.fromhex(OTHER_KEY)).public_key)
QUESTION = "Should we rewrite the billing service in Rust?"
TEXT_VIEWS = [name for name, view in VIEWS.items() if view.render and name != "prompt"]

Sums = list[tuple[str, int, int]]


async def hold(manager: DebateManager, question: str = QUESTION) -> DebateSnapshot:
    """A debate whose outcome is known, in which one judge was right and another wrong."""
    asked = {"models": [GOOD, BAD]}
    ended = await run_debate(manager, question=question, debaters=DEBATERS, options={"judges": asked})
    return (await settle(manager, ended.id, SHIP, "It went well."))[0]


async def export(manager: DebateManager, debate_id: str) -> Any:
    return json.loads(json.dumps(await export_debate(manager, debate_id)))


async def poison(manager: DebateManager, file: Any, number: int) -> list[str]:
    """Import copies of a debate under other ids."""
    bodies = [entry["body"] for entry in file["entries"]]
    copies = [build_export(build_debate_id(), bodies) for _ in range(number)]
    return [(await restore_debate(manager, copy))[0].id for copy in copies]


async def sum_judges(manager: DebateManager) -> Sums:
    ledger = manager.store.name_ledger()
    found = await manager.store.storage.ledger.sum_judges({GOOD, BAD}, owner=ledger)
    return [(one.judge, one.consistent, one.right) for one in found]


async def recall_ids(manager: DebateManager) -> set[str]:
    return {one.recalled.debate_id for one in await recall(manager.store, QUESTION, limit=9)}


async def open_two(stack: AsyncExitStack, here: str, elsewhere: Path) -> tuple[DebateManager, DebateManager]:
    one = await stack.enter_async_context(open_engine(here, build_models()))
    other = await stack.enter_async_context(open_engine(elsewhere, build_models(), signing_key=OTHER_KEY))
    return one, other


@pytest.mark.both_databases
async def test_an_imported_debate_counts_once_it_is_adopted_and_never_before(
    database: str, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await open_two(stack, database, tmp_path / "elsewhere.db")
        file = await export(elsewhere, (await hold(elsewhere)).id)
        restored, _ = await restore_debate(here, file)
        told = restored.provenance
        assert (told.recorded_here, told.signed_by, told.adopted) == (False, OTHER_ID, False)
        assert told.entries_elsewhere == len(file["entries"])
        assert (await sum_judges(here), await recall_ids(here)) == ([], set())

        await here.intervene(restored.id, "tag", InterventionRequest(text="billing"), actor="Kim")
        settled, _ = await settle(here, restored.id, SHIP, "Seen here, too.")
        assert settled.provenance == (await here.store.read(restored.id)).provenance == told
        [row], _ = await list_debates(here)
        assert row.provenance == told
        assert (await sum_judges(here), await recall_ids(here)) == ([], set())
        assert (await check_database(here)).problems == ()

        before = await find_influence(here, [restored.id])
        assert [(one.judge, one.added, one.after.right) for one in before.judges] == [
            (BAD, 1, 0),
            (GOOD, 1, 1),
        ]
        assert (before.recalled, await sum_judges(here)) == ([restored.id], [])
        assert before.their_outcomes == []
        for already in ([], [restored.id]):
            done = await adopt_debates(here, [restored.id])
            assert done.already == already
            assert (await sum_judges(here), await recall_ids(here)) == (
                [(BAD, 1, 0), (GOOD, 1, 1)],
                {restored.id},
            )
        assert [(one.judge, one.after.right) for one in done.judges] == [(BAD, 0), (GOOD, 1)]
        later = await run_debate(here, question=QUESTION, debaters=DEBATERS, options={"memory": "own"})
        [row] = build_state(later)["recalled"]
        assert (row["recorded_elsewhere"], row["signed_by"]) == (True, OTHER_ID)
        caution = f"Recorded elsewhere, and adopted here: {restored.id} (signed by the key {OTHER_ID[:16]})."
        assert caution in build_verdict(later.debate).cautions
        await here.intervene(later.id, "tag", InterventionRequest(text="retracted"), actor="Kim")
        assert (await check_database(here)).problems == ()

        tagged, _ = await here.intervene(restored.id, "tag", InterventionRequest(text="kept"), actor="Kim")
        assert tagged.provenance.adopted
        assert not tagged.provenance.recorded_here
        assert tagged.provenance.entries_elsewhere == len(file["entries"])
        await here.intervene(restored.id, "tag", InterventionRequest(text="retracted"), actor="Kim")
        assert await recall_ids(here) == set()


async def test_an_adoption_travels_with_no_export_and_lets_this_installation_sign_nothing(
    database: str, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await open_two(stack, database, tmp_path / "elsewhere.db")
        [copied] = await poison(here, await export(elsewhere, (await hold(elsewhere)).id), 1)
        await adopt_debates(here, [copied])
        snapshot = await here.load(copied)
        assert snapshot.provenance.signed_by == ""
        receipt = await find_receipt(here, snapshot)
        assert (receipt.envelope, "signs only what it has recorded" in receipt.problem) == (None, True)
        file = await export(here, copied)
        assert "provenance" not in json.dumps(file)
        third = await stack.enter_async_context(open_engine(tmp_path / "third.db", build_models()))
        restored, _ = await restore_debate(third, file)  # of the same key, and still not adopted
        assert (restored.provenance.recorded_here, restored.provenance.adopted) == (False, False)
        assert await sum_judges(third) == []


async def test_a_fork_of_what_others_recorded_counts_no_more_than_that(database: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await open_two(stack, database, tmp_path / "elsewhere.db")
        restored, _ = await restore_debate(here, await export(elsewhere, (await hold(elsewhere)).id))

        async def fork() -> DebateSnapshot:
            made = await here.fork(restored.id, 0, ChangesInput(run=True), actor="Kim")
            ended = await here.follow(made.id, wait=PATIENCE)
            await settle(here, ended.id, SHIP)
            return await here.load(ended.id)

        early = await fork()
        assert (early.provenance.recorded_here, early.provenance.entries_elsewhere) == (False, 1)
        assert early.provenance.signed_by not in ("", OTHER_ID)  # this installation recorded its end
        run_raw(database, "delete from kept_text")
        rows, _ = await list_debates(here)
        assert {row.debate_id: row.provenance for row in rows}[early.id] == early.provenance
        assert (await sum_judges(here), await recall_ids(here)) == ([], set())
        await adopt_debates(here, [restored.id])
        late = await fork()
        assert late.provenance.adopted
        assert await sum_judges(here) == [(BAD, 2, 0), (GOOD, 2, 2)]
        assert early.id not in await recall_ids(here)


async def test_what_ends_here_after_it_began_elsewhere_says_which_part_is_whose(
    database: str, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await open_two(stack, database, tmp_path / "elsewhere.db")
        opened = await run_round(elsewhere, question=QUESTION, debaters=DEBATERS)
        restored, _ = await restore_debate(here, await export(elsewhere, opened.id))
        count = restored.debate.version
        with pytest.raises(InvalidRequestError, match="has not ended"):
            await adopt_debates(here, [opened.id])
        while not (snapshot := await here.step(opened.id, wait=PATIENCE)).debate.ended:
            pass
        assert (snapshot.provenance.recorded_here, snapshot.provenance.entries_elsewhere) == (False, count)
        assert snapshot.provenance == (await here.store.read(opened.id)).provenance
        assert snapshot.provenance.signed_by == here.store.signer.key.key_id  # type: ignore[union-attr]
        assert await recall_ids(here) == set()


async def test_every_view_and_every_list_says_who_recorded_a_debate(database: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await open_two(stack, database, tmp_path / "elsewhere.db")
        own = await hold(here)
        file = await export(elsewhere, (await hold(elsewhere)).id)
        signed, _ = await restore_debate(here, file)
        [unsigned] = await poison(here, file, 1)
        rows, _ = await list_debates(here)
        known = {row.debate_id: row.provenance for row in rows}
        assert [known[each].recorded_here for each in (own.id, signed.id, unsigned)] == [True, False, False]
        assert [known[each].signed_by for each in (signed.id, unsigned)] == [OTHER_ID, ""]
        assert known[own.id] == (await here.store.read(own.id)).provenance
        for debate_id, signer in ((signed.id, f"the key {OTHER_ID[:16]}"), (unsigned, "nobody")):
            for name, view in VIEWS.items():
                source = await load_view_source(here, debate_id, view)
                assert view.build(source)["provenance"] == known[debate_id].model_dump(), name
                if name in TEXT_VIEWS:
                    first = view.render_text(source).partition("\n")[0]
                    assert f"ecorded elsewhere, signed by {signer}; not adopted" in first, name
        compared = build_comparison(await here.load(own.id), await here.load(signed.id))
        assert render_comparison(compared).count("Recorded elsewhere, signed by the key") == 1
        own_text = VIEWS["transcript"].render_text(await load_view_source(here, own.id, VIEWS["transcript"]))
        assert "elsewhere" not in own_text
        same = await find_same_question(here, signed)
        assert [(row.debate_id, row.provenance.recorded_here) for row in same] == [
            (own.id, True),  # before what others recorded, though it is older
            (unsigned, False),
        ]


async def test_a_database_from_elsewhere_brings_no_ledger_and_no_memory_and_claims_no_signature(
    tmp_path: Path,
) -> None:
    path = tmp_path / "given.db"
    async with open_engine(path, build_models(), signing_key=OTHER_KEY) as elsewhere:
        given = await hold(elsewhere)
        assert len(await sum_judges(elsewhere)) == 2
        other = await run_debate(elsewhere, question="Tea?")
        receipt = (await find_receipt(elsewhere, other)).envelope
    run_raw(str(path), "update kept_text set text = ? where stream = ?", json.dumps(receipt), given.id)
    async with open_engine(path, build_models()) as here:
        snapshot = await here.load(given.id)
        assert (snapshot.provenance.recorded_here, snapshot.provenance.signed_by) == (False, "")
        assert (await here.load(other.id)).provenance.signed_by == OTHER_ID
        rows, _ = await list_debates(here)
        assert {row.debate_id: row.provenance.signed_by for row in rows} == {given.id: "", other.id: OTHER_ID}
        assert (await sum_judges(here), await recall_ids(here)) == ([], set())
        assert (await check_database(here)).problems == ()
        own = await hold(here)
        assert (await sum_judges(here), await recall_ids(here)) == ([(BAD, 1, 0), (GOOD, 1, 1)], {own.id})
        with pytest.raises(InvalidRequestError, match="was recorded here"):
            await adopt_debates(here, [given.id, own.id])
        assert not (await here.load(given.id)).provenance.adopted
        await adopt_debates(here, [given.id])
        assert await sum_judges(here) == [(BAD, 2, 0), (GOOD, 2, 2)]
    async with open_engine(path, build_models(), signing_key=OTHER_KEY) as elsewhere:
        assert (await elsewhere.load(own.id)).is_foreign  # an adoption is of one installation
        assert not (await elsewhere.load(given.id)).provenance.adopted


@pytest.mark.full
async def test_thirty_copies_prove_no_judge_and_are_told_to_no_debate(database: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        here, elsewhere = await open_two(stack, database, tmp_path / "elsewhere.db")
        ids = await poison(here, await export(elsewhere, (await hold(elsewhere)).id), 30)

        async def run() -> tuple[Any, int]:
            options = {"judges": {"models": [GOOD, BAD]}, "memory": 5}
            ended = await run_debate(here, question=QUESTION, debaters=DEBATERS, options=options)
            setup = ended.debate.setup
            return setup.ledger, len(setup.memory.recalled) if setup.memory else 0

        assert await run() == (None, 0)
        influence = await find_influence(here, ids)
        [ids_together] = influence.repeated.values()
        assert len(ids_together) == len(influence.their_outcomes) == 30
        judge = influence.judges[-1]
        assert (judge.judge, judge.before.is_proven, judge.after.is_proven) == (GOOD, False, True)
        await adopt_debates(here, ids)
        ledger, recalled = await run()
        assert ledger
        assert recalled == 5
