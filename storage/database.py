"""What the stores ask of a database, whichever kind it is.

Their statements are written as PostgreSQL reads them; `storage.sqlite` translates them.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from math import inf
from typing import Any, Literal, Protocol, TypeVar

T = TypeVar("T")

LockName = Literal["sums", "all sums", "ledger", "cache", "reservations"]
"""What a transaction holds until its end. SQLite has one writer at a time anyway."""


class Session(Protocol):
    """The statements of one transaction."""

    async def fetch(self, sql: str, *values: Any) -> list[Any]:
        """The rows that a statement finds."""

    async def fetch_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""

    async def lock(self, name: LockName) -> None: ...

    async def try_lock(self, name: LockName) -> bool:
        """False where another transaction holds it."""


class Database(ABC):
    """Runs the statements of the stores. Every method may raise StorageError.

    A list among the values is one of texts or numbers. A function among them is called before each attempt.
    """

    is_read_only = False
    lost_at = -inf  # when the server was last found away, as `anyio.current_time`

    @abstractmethod
    async def read(self, sql: str, *values: Any, is_long: bool = False) -> list[Any]:
        """Run a statement that reads. `is_long`: it goes through all there is, and may take minutes."""

    @abstractmethod
    async def write(self, sql: str, *values: Any, is_durable: bool = True) -> list[Any]:
        """Run a statement that may be run twice, and commit it. It is finished even if the caller is cancelled.

        `is_durable`: it survives a power failure.
        """

    @abstractmethod
    async def transact(
        self, body: Callable[[Session], Awaitable[T]], *, is_durable: bool = True, is_long: bool = False
    ) -> T:
        """Run `body` in a transaction: commit on success, else roll back. It may be begun again."""

    def find_time(self, now: float | None) -> float | None:
        """The time to pass to a statement; None where the database has a clock of its own, which all share."""
        return now

    def erase_freed_space(self) -> AbstractAsyncContextManager[None]:
        """While this is open, what a deletion frees is overwritten, as far as the database can."""
        return nullcontext()
