"""Opening debates: with what memory and the ledger know then."""

from collections.abc import Sequence

from server.debate.facts.events import Event
from server.debate.facts.setup.opened import Opened
from server.engine.database.ledger import add_ledger
from server.engine.database.memory import add_memory, withdraw_gone
from server.engine.database.repeats import RequestIdentity
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import DebateStore
from storage import LOCAL_OWNER


async def open_debate(
    store: DebateStore,
    events: Sequence[Event],
    actor: str,
    identity: RequestIdentity | None = None,
    *,
    debate_id: str = "",
    made_from: DebateSnapshot | None = None,
) -> DebateSnapshot:
    """As `DebateStore.open`. A fork begins with the events it inherits."""
    setup, *inherited = events
    assert isinstance(setup, Opened)
    own = store.of(store.owner or (made_from.owner if made_from else LOCAL_OWNER))
    setup = await add_memory(setup, own)
    async with store.opening:
        setup = await add_ledger(setup, store.storage.ledger, store.name_ledger(own.owner or LOCAL_OWNER))
        snapshot = await own.open(
            (setup, *inherited), actor, identity, debate_id=debate_id, made_from=made_from
        )
    return await withdraw_gone(snapshot, own)
