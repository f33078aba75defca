"""A database of debates with all its stores."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from storage.cache import Cache
from storage.database import Database
from storage.journal import Journal
from storage.keys import OpeningKeys
from storage.leases import Leases
from storage.ledger import Ledger
from storage.lists import Lists
from storage.outbox import Outbox
from storage.rates import Rates
from storage.search import SearchIndex
from storage.spending import DailySpending
from storage.summaries import Summaries
from storage.texts import Texts
from storage.tokens import PageSessionStore, Tokens
from storage.tombstones import Tombstones


class Storage(ABC):
    """Serves every command and server: it is opened once, and closed at the end."""

    def __init__(self, database: Database, journal: Journal, index: SearchIndex, ledger: Ledger) -> None:
        self.database, self.journal, self.index, self.ledger = database, journal, index, ledger
        self.lists = Lists(database, index)
        self.texts = Texts(database)
        self.keys = OpeningKeys(database)
        self.leases = Leases(database)
        self.spending = DailySpending(database)
        self.summaries = Summaries(database, index, ledger)
        self.tombstones = Tombstones(database, journal, index, ledger)
        self.outbox = Outbox(database)
        self.cache = Cache(database)
        self.tokens = Tokens(database)
        self.page_sessions = PageSessionStore(database)
        self.rates = Rates(database)

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be written here, as on read-only media."""
        return self.database.is_read_only

    def check_presence(self) -> None:  # noqa: B027  (a server is not replaced like a file)
        """Raise StorageLostError if what was opened is gone, or another is in its place. Cheap enough for polling.

        A server that cannot be reached is an outage, not a loss: what it has committed is still there.
        """

    @abstractmethod
    async def probe(self, seconds: float) -> None:
        """Ask the database whether this process can use it, for about so many seconds.

        Raises:
            BusyError: it answers others, and had no turn for this: it can be used.
            OutageError: it has not answered.
            StorageError: it is lost, or answers that it cannot be used, as one that a newer release has changed.
        """

    async def reopen(self, before_another: Callable[[], Awaitable[None]]) -> bool:  # noqa: ARG002
        """After a loss: open what is in the place of the old database now, or begin a new one.

        Returns whether it is another one than before: entries that were read have nothing to do with it.
        `before_another` is awaited before that is opened.

        Raises:
            StorageError: it cannot be opened. Until it can, the database counts as lost.
        """
        return False

    def checkpoint_soon(self) -> None:  # noqa: B027  (a server does so by itself)
        """Bring the files into a state in which a plain copy is whole, in the background; `close` waits for it."""

    @abstractmethod
    async def find_problems(self) -> list[str]:
        """What is wrong with the database as a whole; [] where nothing is."""

    @abstractmethod
    async def close(self) -> None:
        """Finish what is being written, then close. A second call does nothing."""
