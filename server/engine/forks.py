"""Forks of the debates in a hall, and how debates of one family compare."""

from server.debate.commands import fork as forking
from server.debate.commands.requests import ChangesInput
from server.debate.facts.errors import InvalidRequestError
from server.debate.rules.decide import TerminateWhen
from server.debate.rules.schedule import seat_models
from server.debate.views.compare import Comparison, DebateFamily, build_comparison
from server.engine.debates import DebateManager
from server.engine.errors import DebateNotFoundError, StorageUnavailableError, translate_storage_errors
from server.engine.runner import DebateSnapshot

MAX_RELATIVES = 20


async def fork(
    manager: DebateManager,
    debate_id: str,
    at_round: int,
    changes: ChangesInput | None = None,
    *,
    actor: str,
    terminate_when: TerminateWhen | None = None,
) -> DebateSnapshot:
    """A new debate with the first rounds of this one, and set going if it is to run by itself.

    Raises:
        NoSuchDebate: the id names none.
        Refused: that round is not over, nothing would come after it, or a change cannot be made.
    """
    case = await manager.load(debate_id)
    setup, past = forking.fork(case.id, case.debate, case.entries, at_round, changes or ChangesInput())
    names = dict.fromkeys([*seat_models(setup).values(), *setup.fallback_models])
    prices = tuple(map(manager.prices.find_price, names))
    unknown = [price.model for price in prices if not price.input]
    if setup.limits.max_cost_usd and unknown:
        raise InvalidRequestError(
            f"max_cost_usd cannot be held: the price of {', '.join(unknown)} is unknown."
        )
    priced = setup.model_copy(update={"prices": prices})
    return await manager.create(priced, past, actor, terminate_when)


async def compare(manager: DebateManager, one: str, other: str) -> Comparison:
    """Two debates side by side.

    Raises:
        NoSuchDebate: one of the ids names none.
    """
    return build_comparison(await manager.load(one), await manager.load(other))


async def load_debate_family(manager: DebateManager, snapshot: DebateSnapshot) -> DebateFamily:
    """A debate beside what it was forked from, its forks and the other forks of that, newest first."""
    parent = snapshot.debate.setup.forked_from
    ids = [parent] if parent else []
    ids += [name for root in (snapshot.id, parent) if root for name in await find_forks(manager, root)]
    relatives, absent = [], []
    for name in dict.fromkeys(name for name in ids if name != snapshot.id):
        try:
            found = build_comparison(snapshot, await manager.load(name))
        except (DebateNotFoundError, StorageUnavailableError):
            absent.append(name)
        else:
            relatives.append(found)
    return DebateFamily(debate_id=snapshot.id, relatives=relatives, unavailable=absent)


async def find_forks(manager: DebateManager, debate_id: str) -> list[str]:
    """Found through the index: the id of what a debate was forked from is among its words."""
    with translate_storage_errors():
        found = await manager.journal.find(debate_id, limit=MAX_RELATIVES)
    return [listed.stream for listed in found if listed.details.get("forked_from") == debate_id]
