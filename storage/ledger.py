"""The ledger, as far as it is the same in every database: rows as columns and back, and what is read of them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from storage.canonical import encode_json
from storage.contract.ledger import AnswerSums, BeliefSums, JudgeSums, LedgerRow, PairSums

JUDGMENT_COLUMNS = (
    "owner, stream, item, judge, body, asked, consistent, correct, percent, likeliest_right, credit, topics"
)
SELECT_JUDGMENTS = f"select {JUDGMENT_COLUMNS} from judgment"

SUMMED = ("items", "credit", "told", "percents", "likeliest_right", "asked", "consistent", "correct")
"""Of the rows of a judge: columns of `answer_sum`."""

MISSED = ("items", "one_missed", "other_missed", "both_missed")
"""Of the rows of two judges: columns of `pair_sum`."""


class LedgerStatements(NamedTuple):
    """What sums up the rows, in the language of a database.

    `{own}`: a condition for the rows of an owner, who is the first value. The judges are the second, where they are
    named; a topic or a number of items is the third.
    """

    judges: str
    beliefs: str
    believed: str
    answers: str
    pairs: str
    items: str


class LedgerReader(ABC):
    """What is read of a ledger, of an owner or of all."""

    _sums: ClassVar[LedgerStatements]

    @abstractmethod
    async def _read_ledger(self, sql: str, owner: str | None, *values: Any) -> Sequence[Sequence[Any]]:
        """The rows that a statement finds. A list among the values is of texts."""

    async def read_judgments(self, *, owner: str | None = None) -> list[LedgerRow]:
        sql = f"{SELECT_JUDGMENTS} where {{own}} order by owner, stream, item, judge"
        return list(map(parse_judgment, await self._read_ledger(sql, owner)))

    async def read_ledger_position(self, *, owner: str | None = None) -> int:
        sql = "select coalesce(max(number), 0) from judgment where {own}"
        [(position,)] = await self._read_ledger(sql, owner)
        return int(position)

    async def sum_judges(self, judges: Collection[str], *, owner: str | None = None) -> list[JudgeSums]:
        return [JudgeSums(*row) for row in await self._read_ledger(self._sums.judges, owner, sorted(judges))]

    async def sum_beliefs(self, *, owner: str | None = None) -> tuple[int, list[BeliefSums]]:
        [(items,)] = await self._read_ledger(self._sums.believed, owner)
        return items, [BeliefSums(*row) for row in await self._read_ledger(self._sums.beliefs, owner)]

    async def sum_answers(
        self, judges: Collection[str], topic: str, *, owner: str | None = None
    ) -> list[AnswerSums]:
        return [
            AnswerSums(*row)
            for row in await self._read_ledger(self._sums.answers, owner, sorted(judges), topic)
        ]

    async def sum_pairs(self, judges: Collection[str], *, owner: str | None = None) -> list[PairSums]:
        return [PairSums(*row) for row in await self._read_ledger(self._sums.pairs, owner, sorted(judges))]

    async def count_items(self, judges: Collection[str], most: int, *, owner: str | None = None) -> int:
        [(items,)] = await self._read_ledger(self._sums.items, owner, sorted(judges), most)
        return int(items)


def encode_judgments(rows: Sequence[LedgerRow]) -> str:
    """The rows of a stream as JSON, their owners last. Raises ValueError for invalid JSON or Unicode."""
    return json.dumps(
        [
            [
                row.item,
                row.judge,
                encode_json(dict(row.body)).decode(),
                *(row.asked, row.consistent, row.right, row.percent, row.likeliest_right, row.credit),
                json.dumps(list(row.topics)),
                row.owner,
            ]
            for row in rows
        ]
    )


def parse_judgment(row: Sequence[Any]) -> LedgerRow:
    """`row`: owner, stream, item, judge, body, then the numbers and topics in the order of `LedgerRow`."""
    owner, stream, item, judge, body, *numbers = row[:-1]
    topics = tuple(json.loads(row[-1]))
    known = LedgerRow(item, judge, json.loads(body), *numbers)
    return replace(known, topics=topics, stream=stream, owner=owner)
