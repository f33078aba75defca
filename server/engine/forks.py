"""Forks: opening them, and comparing the debates of one family."""

from server.debate.commands.fork import fork as build_fork
from server.debate.commands.open import add_prices
from server.debate.commands.requests import ChangesInput
from server.debate.rules.decide import TerminateWhen
from server.debate.views.compare import Comparison, DebateFamily, build_comparison
from server.engine.debates import DebateManager
from server.engine.errors import DebateNotFoundError, StorageUnavailableError
from server.engine.store import DebateSnapshot

MAX_RELATIVES = 20
"""Of each debate whose forks are looked up."""


async def fork(
    manager: DebateManager,
    debate_id: str,
    at_round: int,
    changes: ChangesInput | None = None,
    *,
    actor: str,
    terminate_when: TerminateWhen | None = None,
) -> DebateSnapshot:
    """Open a new debate with the first rounds of this one; run it if `changes.run` is set.

    Raises:
        DebateNotFoundError: nothing is stored under this id.
        InvalidRequestError: that round is not over, nothing could follow it, or a change is not possible.
    """
    snapshot = await manager.load(debate_id)
    setup, inherited = build_fork(
        snapshot.id, snapshot.debate, snapshot.entries, at_round, changes or ChangesInput()
    )
    return await manager.create(
        add_prices(setup, manager.prices.find_price), inherited, actor, terminate_when
    )


async def compare(manager: DebateManager, one: str, other: str) -> Comparison:
    """Two debates side by side.

    Raises:
        DebateNotFoundError: nothing is stored under one of the ids.
    """
    return build_comparison(await manager.load(one), await manager.load(other))


async def load_debate_family(manager: DebateManager, snapshot: DebateSnapshot) -> DebateFamily:
    """A debate compared with its parent, its forks and its parent's other forks, newest first."""
    parent = snapshot.debate.setup.forked_from
    ids = [parent] if parent else []
    ids += [found for root in (snapshot.id, parent) if root for found in await find_forks(manager, root)]
    family = DebateFamily(debate_id=snapshot.id, relatives=[], unavailable=[])
    for debate_id in dict.fromkeys(found for found in ids if found != snapshot.id):
        try:
            comparison = build_comparison(snapshot, await manager.load(debate_id))
        except (DebateNotFoundError, StorageUnavailableError):
            family.unavailable.append(debate_id)
        else:
            family.relatives.append(comparison)
    return family


async def find_forks(manager: DebateManager, debate_id: str) -> list[str]:
    """The search index holds the parent's id of every fork."""
    found = await manager.find(debate_id, limit=MAX_RELATIVES)
    return [listing.stream for listing in found if listing.details.get("forked_from") == debate_id]
