"""Loads debates and lists from the database as data of the page."""

from collections.abc import Mapping

from server.debate.views.catalog import ViewSource
from server.debate.views.provenance import describe_provenance
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.values import choose_values
from server.engine.debates import DebateManager
from server.engine.queries import Family, build_source, list_debates, load_family, mark_family
from server.engine.receipts import find_receipts
from server.web.record import Data, build_data, build_debate

MAX_RELATIVES = 24  # of a debate, in its page


async def load_debate_data(
    manager: DebateManager, debate_id: str, *, since_seq: int = 0, with_family: bool = True
) -> Data:
    """A debate with its entries after `since_seq`, and with a row for each relative if `with_family`.

    Raises as `DebateManager.load`.
    """
    snapshot = await manager.load(debate_id)
    family = Family([snapshot], 0)
    if with_family:
        family = await load_family(manager, snapshot, MAX_RELATIVES)
    return build_data(await load_members(manager, family, 1, since_seq))


async def mark_relatives(manager: DebateManager, snapshot: DebateSnapshot) -> str:
    """A mark that changes when the rows of a debate's relatives change."""
    return await mark_family(manager, snapshot, MAX_RELATIVES)


async def load_family_data(manager: DebateManager, debate_id: str) -> Data:
    """A debate and its relatives by forks, all in full. Raises as `DebateManager.load`."""
    family = await load_family(manager, await manager.load(debate_id), MAX_RELATIVES)
    return build_data(await load_members(manager, family, len(family.members)))


async def load_members(manager: DebateManager, family: Family, count: int, since_seq: int = 0) -> list[Data]:
    """The first debates of a family, each with all others as its relatives."""
    runs, members = await manager.find_runs(), family.members[:count]
    sources: list[ViewSource] = [build_source(member, runs) for member in family.members]
    entries = await manager.store.read_entries(*members)
    receipts = await find_receipts(manager, members)
    return [
        build_debate(
            source,
            entries[source.id],
            envelope=receipts[source.id].envelope,
            since_seq=since_seq,
            relatives=[relative for relative in sources if relative is not source],
            relatives_left_out=family.left_out,
        )
        for source in sources[:count]
    ]


async def load_list_data(manager: DebateManager, search: Mapping[str, str]) -> Data:
    """A page of the list of debates, newest first. Raises InvalidRequestError for a cursor of no page.

    `search`: words (`query`), `status`, `cursor`, and values by kind.
    """
    query, status, cursor = (search.get(name, "") for name in ("query", "status", "cursor"))
    rows, next_cursor = await list_debates(manager, query, status, cursor, values=choose_values(search))
    list_page = {
        "rows": [row.model_dump() | {"recorded": describe_provenance(row.provenance)} for row in rows],
        "cursor": next_cursor,
    }
    return build_data(list_page=list_page)
