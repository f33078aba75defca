"""Debates with the entries that they were replayed from, as this process knows them."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from server.debate.facts.events import Event, Recorded
from server.debate.machine.kinds import load
from server.debate.views.state import StoredDebate
from server.engine.database.daily_budget import DaySum
from server.signing import Origin
from storage import LOCAL_OWNER
from storage.streams import Entry

ID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class DebateSnapshot(StoredDebate):
    """A stored debate as this process knows it."""

    days: Mapping[str, DaySum] = field(default_factory=dict)  # what its entries took, by day
    is_foreign: bool = False  # others recorded it, and nobody here goes on with it
    owner: str = LOCAL_OWNER  # whose it is
    ledger: str = ""  # the ledger that its judgments are in; "" for none

    @property
    def is_unattended(self) -> bool:
        """As of every debate; one that is foreign is stepped, until somebody here asks for more."""
        return self.is_own and super(DebateSnapshot, self).is_unattended

    @property
    def is_own(self) -> bool:
        return not self.is_foreign

    @property
    def origin(self) -> Origin:
        """What its seal tells, or is to tell."""
        provenance = self.provenance
        return Origin(provenance.entries_elsewhere, provenance.adopted, self.is_foreign)

    def ends_with(self, event: Event) -> bool:
        """Whether this very object was recorded last, and not an event that another writer recorded."""
        return self.entries[-1].event is event


def build_debate_id() -> str:
    """Twelve letters and digits that are not mistaken for each other: 59 random bits."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(12))


def parse_entry(entry: Entry) -> Recorded:
    return Recorded(entry.seq, entry.at, entry.actor, entry.hash, load(entry.body), entry.restored)
