"""Debates with the entries that they were replayed from, as this process knows them."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from server.debate.facts.events import Event, Recorded, load_recorded
from server.debate.views.state import StoredDebate
from server.debate.views.warnings import describe_unknown
from server.engine.database.daily_budget import DaySum
from server.engine.database.errors import NewerRecordError
from storage.contract import LOCAL_OWNER
from storage.contract.streams import Entry

ID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class DebateSnapshot(StoredDebate):
    """A stored debate as this process knows it."""

    days: Mapping[str, DaySum] = field(default_factory=dict)  # what its entries took, by day
    is_foreign: bool = False  # its last entry was not recorded by this installation
    owner: str = LOCAL_OWNER  # whose it is

    @property
    def is_unattended(self) -> bool:
        """As of every debate; one that is foreign is stepped, until somebody here asks for more."""
        return self.is_own and super(DebateSnapshot, self).is_unattended

    @property
    def is_whole(self) -> bool:
        """Whether this release can read all of it. What a later one recorded in is shown, and not continued."""
        return not self.debate.unknown

    @property
    def is_own(self) -> bool:
        return self.is_whole and not self.is_foreign

    def require_whole(self) -> Self:
        """Itself. Raises NewerRecordError: what this release adds might not fit to what it cannot read."""
        if not self.is_whole:
            raise NewerRecordError(f"Debate {self.id}: {describe_unknown(self.debate)}")
        return self

    def ends_with(self, event: Event) -> bool:
        """Whether this very object was recorded last, and not an event that another writer recorded."""
        return self.entries[-1].event is event


def build_debate_id() -> str:
    """Twelve letters and digits that are not mistaken for each other: 59 random bits."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(12))


def format_time(time: datetime) -> str:
    """As entries have it: UTC, ISO 8601 with milliseconds; sorts as text."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_entry(entry: Entry) -> Recorded:
    return Recorded(entry.seq, entry.at, entry.actor, entry.hash, load_recorded(entry.body), entry.restored)
