"""Forks of the debates in a hall, and how debates of one family compare."""

from typing import Any

from pydantic import BaseModel

from server.debate.commands import fork as forking
from server.debate.commands.requests import ChangesAsked
from server.debate.facts.errors import Refused
from server.debate.rules.decide import TerminateWhen
from server.debate.rules.schedule import seated
from server.debate.views.compare import Comparison, Side, compared
from server.engine.debates import Hall
from server.engine.errors import NoSuchDebate, Unreadable, storage_translated
from server.engine.runner import Case

MOST_RELATIVES = 20


async def fork(
    hall: Hall,
    debate_id: str,
    at_round: int,
    changes: ChangesAsked | None = None,
    *,
    actor: str,
    terminate_when: TerminateWhen | None = None,
) -> Case:
    """A new debate with the first rounds of this one, and set going if it is to run by itself.

    Raises:
        NoSuchDebate: the id names none.
        Refused: that round is not over, nothing would come after it, or a change cannot be made.
    """
    case = await hall.case(debate_id)
    setup, past = forking.fork(case.id, case.debate, case.log, at_round, changes or ChangesAsked())
    names = dict.fromkeys([*seated(setup).values(), *setup.fallback_models])
    prices = tuple(map(hall.prices.of, names))
    unknown = [price.model for price in prices if not price.input]
    if setup.limits.max_cost_usd and unknown:
        raise Refused(f"max_cost_usd cannot be held: the price of {', '.join(unknown)} is unknown.")
    priced = setup.model_copy(update={"prices": prices})
    return await hall.begin(priced, past, actor, terminate_when)


async def compare(hall: Hall, one: str, other: str) -> Comparison:
    """Two debates side by side.

    Raises:
        NoSuchDebate: one of the ids names none.
    """
    return compared(side_of(await hall.case(one)), side_of(await hall.case(other)))


def side_of(case: Case) -> Side:
    return case.id, case.debate, case.log


class Family(BaseModel):
    debate_id: str
    relatives: list[Comparison]
    not_here: list[str]  # named by a fork, and not in this database, or not readable

    def as_data(self) -> dict[str, Any]:
        """Without the debate itself, which would stand beside each of the others."""
        return self.model_dump(exclude={"relatives": {"__all__": {"one"}}})


async def family(hall: Hall, case: Case) -> Family:
    """A debate beside what it was forked from, its forks and the other forks of that, newest first."""
    parent = case.debate.setup.forked_from
    ids = [parent] if parent else []
    ids += [name for root in (case.id, parent) if root for name in await forks_of(hall, root)]
    relatives, absent = [], []
    for name in dict.fromkeys(name for name in ids if name != case.id):
        try:
            found = compared(side_of(case), side_of(await hall.case(name)))
        except (NoSuchDebate, Unreadable):
            absent.append(name)
        else:
            relatives.append(found)
    return Family(debate_id=case.id, relatives=relatives, not_here=absent)


async def forks_of(hall: Hall, debate_id: str) -> list[str]:
    """Found through the index: the id of what a debate was forked from is among its words."""
    with storage_translated():
        found = await hall.journal.find(debate_id, limit=MOST_RELATIVES)
    return [listed.stream for listed in found if listed.details.get("forked_from") == debate_id]
