"""The ledger: judgments of items whose right answer is known, imported or of debates whose outcome was recorded.

Rows of debates are a projection: they are written with the entries they follow from (`StreamSummary.judgments`), and
can be written again. Imported rows belong to no stream. Each has an owner, whose ledger it is in, and a few numbers
that can be summed without reading it. Methods with an `owner` tell only of that owner's rows; None: of all.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from storage.contract import LOCAL_OWNER

NO_STREAM = ""
"""The stream of imported rows."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A judgment. `body`: JSON, returned unchanged. There is one for each stream, item and judge."""

    item: str
    judge: str
    body: Mapping[str, Any]
    asked: int = 0  # 0 or 1, as the other counts
    consistent: int = 0
    right: int = 0
    percent: int | None = None  # belief in the side held likeliest; None where there is none
    likeliest_right: int = 0
    credit: int = 1  # 2: the vote was right, 0: wrong, 1: there was none, or its readings differ
    topics: Sequence[str] = ()  # each once; never ""
    stream: str = NO_STREAM
    owner: str = (
        LOCAL_OWNER  # whose ledger it is in; of an imported row that is written, `change_judgments` says it
    )


class JudgeSums(NamedTuple):
    """The counts of a judge over all its rows."""

    judge: str
    asked: int
    consistent: int
    right: int


class BeliefSums(NamedTuple):
    """How often rows of a judge with this percentage were right."""

    judge: str
    percent: int
    right: int
    number: int


class AnswerSums(NamedTuple):
    """What the rows of a judge about a topic come to; "" is the topic of all its rows."""

    judge: str
    topic: str
    items: int
    credit: int  # 0 to twice the items
    told: int  # items with a belief
    percents: int  # the sum of these beliefs
    likeliest_right: int  # how often the side held likeliest was right


class PairSums(NamedTuple):
    """How often two judges of the same items were not right: the first, the second, both. `one` < `other`."""

    one: str
    other: str
    items: int
    one_missed: int
    other_missed: int
    both_missed: int


class Ledger(Protocol):
    async def change_judgments(
        self, change: Callable[[Sequence[LedgerRow]], Sequence[LedgerRow]], *, owner: str = LOCAL_OWNER
    ) -> None:
        """Write what `change` makes of the rows that this owner has imported, in one transaction.

        What it returns is added, or takes the place of the row of the same item and judge. No other process changes
        them meanwhile.

        Raises StorageError: the database cannot be written.
        """

    async def read_judgments(self, *, owner: str | None = None) -> list[LedgerRow]:
        """Every row, by owner, stream, item and judge."""

    async def read_ledger_position(self, *, owner: str | None = None) -> int:
        """The number of the last row written, of those that are there; 0 for an empty ledger. Cheap."""

    async def sum_judges(self, judges: Collection[str], *, owner: str | None = None) -> list[JudgeSums]:
        """The counts of these judges, as far as they have rows, by name: one query for any number."""

    async def sum_beliefs(self, *, owner: str | None = None) -> tuple[int, list[BeliefSums]]:
        """(items with a belief, the sums by judge and percentage)."""

    async def sum_answers(
        self, judges: Collection[str], topic: str, *, owner: str | None = None
    ) -> list[AnswerSums]:
        """What these judges have been worth in all, and about this topic, as far as they have rows, by name."""

    async def sum_pairs(self, judges: Collection[str], *, owner: str | None = None) -> list[PairSums]:
        """What each two of these judges missed, as far as they judged the same items, by name."""

    async def count_items(self, judges: Collection[str], most: int, *, owner: str | None = None) -> int:
        """How many different items these judges judged; `most` where there are as many or more."""
