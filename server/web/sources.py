"""Debates and lists of the database as data of the page."""

from server.debate.views.catalog import ViewSource
from server.debate.views.provenance import describe_provenance
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import Family, build_source, list_debates, load_family, mark_family
from server.engine.receipts import find_receipts
from server.web.record import Data, build_data, build_debate

MOST_RELATIVES = 24
"""Debates of a family beside a debate in its page."""


async def load_debate_data(
    manager: DebateManager, debate_id: str, *, since_seq: int = 0, with_family: bool = True
) -> Data:
    """A debate with the entries after one that the page has. `with_family`: and its relatives, in a row each.

    Raises as `DebateManager.load`.
    """
    snapshot = await manager.load(debate_id)
    family = Family([snapshot], 0)
    if with_family:
        family = await load_family(manager, snapshot, MOST_RELATIVES)
    return build_data(await load_members(manager, family, 1, since_seq))


async def mark_relatives(manager: DebateManager, snapshot: DebateSnapshot) -> str:
    """What the rows of a debate's relatives depend on."""
    return await mark_family(manager, snapshot, MOST_RELATIVES)


async def load_family_data(manager: DebateManager, debate_id: str) -> Data:
    """A debate, then whole all that it is related to by forks. Raises as `DebateManager.load`."""
    family = await load_family(manager, await manager.load(debate_id), MOST_RELATIVES)
    return build_data(await load_members(manager, family, len(family.members)))


async def load_members(manager: DebateManager, family: Family, count: int, since_seq: int = 0) -> list[Data]:
    """The first debates of a family, each with all others as its relatives."""
    runs, shown = await manager.find_runs(), family.members[:count]
    sources: list[ViewSource] = [build_source(member, runs) for member in family.members]
    entries = await manager.store.read_many_entries(shown)
    receipts = await find_receipts(manager, shown)
    return [
        build_debate(
            source,
            entries[source.id],
            envelope=receipts[source.id].envelope,
            since_seq=since_seq,
            relatives=[other for other in sources if other is not source],
            relatives_left_out=family.left_out,
        )
        for source in sources[:count]
    ]


async def load_list_data(manager: DebateManager, query: str = "", status: str = "", cursor: str = "") -> Data:
    """A page of the list of debates, newest first. Raises InvalidRequestError for a cursor of no page."""
    rows, following = await list_debates(manager, query, status, cursor)
    listed = {
        "rows": [row.model_dump() | {"recorded": describe_provenance(row.provenance)} for row in rows],
        "cursor": following,
        "query": query,
        "status": status,
    }
    return build_data(listed=listed)
