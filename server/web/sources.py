"""Debates and lists of the database as data of the page."""

from collections.abc import Sequence

from server.debate.views.catalog import ViewSource
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager
from server.engine.queries import build_source, list_debates, load_family
from server.engine.receipts import find_receipt
from server.web.record import Data, build_data, build_debate

MOST_RELATIVES = 24
"""Debates of a family in one page."""

HASH_LENGTH = 12  # characters of the hash of a last entry, to tell it from others


async def load_debate_data(
    manager: DebateManager, debate_id: str, *, since_seq: int = 0, with_family: bool = True
) -> Data:
    """A debate with the entries after one that the page has. `with_family`: and its relatives, in a row each.

    Raises as `DebateManager.load`.
    """
    snapshot = await manager.load(debate_id)
    family = await load_family(manager, snapshot, MOST_RELATIVES) if with_family else [snapshot]
    return build_data([await load_member(manager, family, 0, since_seq)])


async def mark_family(manager: DebateManager, snapshot: DebateSnapshot) -> str:
    """What the rows of a debate's relatives depend on."""
    relatives = (await load_family(manager, snapshot, MOST_RELATIVES))[1:]
    return ".".join(other.entries[-1].hash[:HASH_LENGTH] for other in relatives)


async def load_family_data(manager: DebateManager, debate_id: str) -> Data:
    """A debate, then whole all that it is related to by forks. Raises as `DebateManager.load`."""
    snapshot = await manager.load(debate_id)
    family = await load_family(manager, snapshot, MOST_RELATIVES)
    return build_data([await load_member(manager, family, index, 0) for index in range(len(family))])


async def load_member(
    manager: DebateManager, family: Sequence[DebateSnapshot], index: int, since_seq: int
) -> Data:
    """One debate of a family, with the others as its relatives."""
    snapshot, runs = family[index], await manager.find_runs()
    sources: list[ViewSource] = [build_source(member, runs) for member in family]
    receipt = await find_receipt(manager, snapshot)
    return build_debate(
        sources[index],
        await manager.store.read_entries(snapshot),
        envelope=receipt.envelope,
        since_seq=since_seq,
        relatives=[source for source in sources if source.id != snapshot.id],
    )


async def load_list_data(manager: DebateManager, query: str = "", status: str = "", cursor: str = "") -> Data:
    """A page of the list of debates, newest first. Raises InvalidRequestError for a cursor of no page."""
    rows, following = await list_debates(manager, query, status, cursor)
    listed = {
        "rows": [row.model_dump() for row in rows],
        "cursor": following,
        "query": query,
        "status": status,
    }
    return build_data(listed=listed)
