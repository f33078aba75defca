"""A manager as one owner sees it hears of nothing that concerns others."""

import pytest

from tests.contract.journal_helpers import open_storage
from tests.support.engines import open_engine, run_debate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14")]


@pytest.mark.both_databases
async def test_commits_texts_and_changes_are_those_of_the_owner(database: str) -> None:
    committed, said = set[str](), set[str]()
    async with open_engine(database, default="scripted") as manager:
        ann, ben = manager.of("ann"), manager.of("ben")
        position, _ = await manager.store.find_changes(-1)
        end_commits = ben.store.subscribe(lambda snapshot: committed.add(snapshot.id))
        end_texts = ben.subscribe_to_text(lambda debate_id, _seat, _chunk: said.add(debate_id))
        theirs, own = (await run_debate(ann)).id, (await run_debate(ben)).id
        end_commits()
        end_texts()
        await run_debate(ben)

        changed = (await ben.store.find_changes(position))[1]
        assert theirs not in changed
        assert own in changed
        latest, nothing = await ben.store.find_changes(-1)
        assert (latest, nothing) == (await manager.store.find_changes(-1))
        assert await ben.find_runs() == set()
    assert committed == said == {own}


async def test_what_stands_in_place_of_a_tombstone_and_is_none_belongs_to_nobody() -> None:
    async with open_storage(":memory:") as storage:
        sql = "insert into journal (stream, seq, entry, hash, restored) values ('s', 0, 'x', x'', 0)"
        await storage.database.writer.fetch_all(sql)
        assert await storage.lists.find_owners(["s"]) == {}
