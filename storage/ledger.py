"""The ledger: judgments of items whose right answer is known, imported or of debates whose outcome was recorded.

Rows of debates follow from entries: they are written with them (`StreamSummary.judgments`), and can be written again.
Imported rows belong to no stream. Each row has an owner, whose ledger it is in, and a few numbers that can be summed
without reading it. Methods with an `owner` tell only of that owner's rows; None: of all.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from storage import LOCAL_OWNER
from storage.canonical import encode_json
from storage.database import Database, Session

NO_STREAM = ""
"""The stream of imported rows."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A judgment. `body`: JSON, returned unchanged. There is one for each stream, item and judge.

    `role`: as what the judge said it, by which rows can be read.
    """

    item: str
    judge: str
    role: str
    body: Mapping[str, Any]
    asked: int = 0  # 0 or 1, as the other counts
    consistent: int = 0
    right: int = 0
    percent: int | None = None  # belief in the side held likeliest; None where there is none
    likeliest_right: int = 0
    credit: int = 1  # 2: the vote was right, 0: wrong, 1: there was none, or its readings differ
    topics: Sequence[str] = ()  # each once; never ""
    stream: str = NO_STREAM
    owner: str = LOCAL_OWNER  # whose ledger it is in; for imported rows `Ledger.change` sets it


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


COLUMNS = "owner, stream, item, judge, role, body, asked, consistent, correct, percent, likeliest_right, credit, topics"
SELECT_JUDGMENTS = f"select {COLUMNS} from judgment"

SUMMED = ("items", "credit", "told", "percents", "likeliest_right", "asked", "consistent", "correct")
"""Of the rows of a judge: columns of `answer_sum`."""

MISSED = ("items", "one_missed", "other_missed", "both_missed")
"""Of the rows of two judges: columns of `pair_sum`."""

LEDGER_TABLES = (
    # `number` grows with every change: the position of the ledger. `credit`: 2 for a vote that was right, 0 for a wrong
    # one, 1 for none. `topics`: a list as JSON.
    """
    create table judgment (
        number {number},
        owner {text} not null default 'local',
        stream {text} not null,
        item {text} not null,
        judge {text} not null,
        role {text} not null,
        body {text} not null,
        asked {integer} not null,
        consistent {integer} not null,
        correct {integer} not null,
        percent {integer},
        likeliest_right {integer} not null,
        credit {integer} not null default 1,
        topics {text} not null default '[]',
        unique (owner, stream, item, judge)
    ) {large}
    """,
    "create index judgment_by_owner on judgment (owner, number)",
    "create index judgment_by_stream on judgment (stream)",
    "create index judgment_by_judge on judgment (owner, judge, stream, item)",
    # The sums of all rows of a judge have the topic ''.
    f"""
    create table answer_sum (
        owner {{text}} not null, judge {{text}} not null, topic {{text}} not null,
        {", ".join(f"{name} {{integer}} not null" for name in SUMMED)}, primary key (owner, judge, topic)
    ) {{small}}
    """,
    f"""
    create table pair_sum (
        owner {{text}} not null, one {{text}} not null, other {{text}} not null,
        {", ".join(f"{name} {{integer}} not null" for name in MISSED)}, primary key (owner, one, other)
    ) {{small}}
    """,
    """
    create table belief_sum (
        owner {text} not null, judge {text} not null, percent {integer} not null, correct {integer} not null,
        number {integer} not null, primary key (owner, judge, percent)
    ) {small}
    """,
    # The items with a belief.
    "create table belief_item (owner {text} primary key, number {integer} not null) {small}",
)
"""Triggers of each database keep the sums."""

# In the following `{own}` is a condition for the rows of an owner, who is the first value. With an owner a statement
# goes through the sums of that owner; without, through all. The judges are the second value, where they are named.
SUM_JUDGES = """
select judge, sum(asked)::bigint, sum(consistent)::bigint, sum(correct)::bigint from answer_sum
where {own} and judge = any($2::text[]) and topic = '' and items > 0 group by judge order by judge
"""

SUM_BELIEFS = """
select judge, percent, sum(correct)::bigint, sum(number)::bigint from belief_sum
where {own} and number > 0 group by judge, percent order by judge, percent
"""

COUNT_BELIEVED = "select coalesce(sum(number), 0)::bigint from belief_item where {own}"

SUM_ANSWERS = """
select judge, topic, sum(items)::bigint, sum(credit)::bigint, sum(told)::bigint, sum(percents)::bigint,
    sum(likeliest_right)::bigint
from answer_sum where {own} and judge = any($2::text[]) and topic in ('', $3) and items > 0
group by judge, topic order by judge, topic
"""

SUM_PAIRS = """
select one, other, sum(items)::bigint, sum(one_missed)::bigint, sum(other_missed)::bigint, sum(both_missed)::bigint
from pair_sum where {own} and one = any($2::text[]) and other = any($2::text[]) and items > 0
group by one, other order by one, other
"""

# Whoever judged as many items alone spares the rows: to tell items apart all of them would be read.
COUNT_ITEMS = """
select case
    when exists (
        select 1 from answer_sum where {own} and judge = any($2::text[]) and topic = '' and items >= $3::bigint
    ) then $3::bigint
    else (
        select count(*) from (
            select distinct owner, stream, item from judgment where {own} and judge = any($2::text[]) limit $3::bigint
        ) as item
    )
end
"""


class Ledger(ABC):
    """What judges were worth. Serves who rates judges, chooses teams, and weighs beliefs by it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @abstractmethod
    async def add(self, session: Session, stream: str, judgments: str) -> None:
        """Add rows of a stream, as `encode_judgments` gives them. They replace those of the same judges and owners."""

    async def replace(self, session: Session, stream: str, judgments: str) -> None:
        """The ledger has these rows of a stream, and no others."""
        await session.fetch("delete from judgment where stream = $1", stream)
        await self.add(session, stream, judgments)

    async def change(
        self, change: Callable[[Sequence[LedgerRow]], Sequence[LedgerRow]], *, owner: str = LOCAL_OWNER
    ) -> None:
        """Write what `change` makes of the rows that this owner has imported, in one transaction.

        What it returns is added, or takes the place of the row of the same item and judge. No other process changes
        them meanwhile.
        """

        async def write(session: Session) -> None:
            await session.lock("ledger")
            sql = f"{SELECT_JUDGMENTS} where owner = $1 and stream = $2"
            rows = await session.fetch(sql, owner, NO_STREAM)
            new_rows = [replace(row, owner=owner) for row in change(list(map(parse_judgment, rows)))]
            await self.add(session, NO_STREAM, encode_judgments(new_rows))

        await self._database.transact(write, is_long=True)

    async def read(self, *, owner: str | None = None) -> list[LedgerRow]:
        """Every row, by owner, stream, item and judge."""
        sql = f"{SELECT_JUDGMENTS} where {{own}} order by owner, stream, item, judge"
        return list(map(parse_judgment, await self._read(sql, owner)))

    async def read_of(
        self, judges: Collection[str], role: str, most: int, *, owner: str | None = None
    ) -> list[LedgerRow]:
        """The rows of debates that these judges have in a role, the last ones first: one query for any number."""
        sql = (
            f"{SELECT_JUDGMENTS} where {{own}} and judge = any($2::text[]) and stream <> '' and role = $3 "
            "order by number desc limit $4"
        )
        return list(map(parse_judgment, await self._read(sql, owner, sorted(judges), role, most)))

    async def find_position(self, *, owner: str | None = None) -> int:
        """The number of the last row written, of those that are there; 0 for an empty ledger. Cheap."""
        sql = "select coalesce(max(number), 0) from judgment where {own}"
        [(position,)] = await self._read(sql, owner)
        return int(position)

    async def sum_judges(self, judges: Collection[str], *, owner: str | None = None) -> list[JudgeSums]:
        """The counts of these judges, as far as they have rows, by name: one query for any number."""
        return [JudgeSums(*row) for row in await self._read(SUM_JUDGES, owner, sorted(judges))]

    async def sum_beliefs(self, *, owner: str | None = None) -> tuple[int, list[BeliefSums]]:
        """(items with a belief, the sums by judge and percentage)."""
        [(items,)] = await self._read(COUNT_BELIEVED, owner)
        return items, [BeliefSums(*row) for row in await self._read(SUM_BELIEFS, owner)]

    async def sum_answers(
        self, judges: Collection[str], topic: str, *, owner: str | None = None
    ) -> list[AnswerSums]:
        """What these judges have been worth in all, and about this topic, as far as they have rows, by name."""
        return [AnswerSums(*row) for row in await self._read(SUM_ANSWERS, owner, sorted(judges), topic)]

    async def sum_pairs(self, judges: Collection[str], *, owner: str | None = None) -> list[PairSums]:
        """What each two of these judges missed, as far as they judged the same items, by name."""
        return [PairSums(*row) for row in await self._read(SUM_PAIRS, owner, sorted(judges))]

    async def count_items(self, judges: Collection[str], limit: int, *, owner: str | None = None) -> int:
        """How many different items these judges judged; `limit` where there are as many or more."""
        [(items,)] = await self._read(COUNT_ITEMS, owner, sorted(judges), limit)
        return int(items)

    async def _read(self, sql: str, owner: str | None, *values: Any) -> list[Any]:
        own = "$1::text is null" if owner is None else "owner = $1"
        return await self._database.read(sql.replace("{own}", own), owner, *values)


def encode_judgments(rows: Sequence[LedgerRow]) -> str:
    """The rows of a stream as JSON, their owners last. Raises ValueError for invalid JSON or Unicode."""
    return json.dumps(
        [
            [
                row.item,
                row.judge,
                row.role,
                encode_json(dict(row.body)).decode(),
                *(row.asked, row.consistent, row.right, row.percent, row.likeliest_right, row.credit),
                json.dumps(list(row.topics)),
                row.owner,
            ]
            for row in rows
        ]
    )


def parse_judgment(row: Sequence[Any]) -> LedgerRow:
    """`row`: `COLUMNS`."""
    owner, stream, item, judge, role, body, *numbers, topics = row
    judgment = LedgerRow(item, judge, role, json.loads(body), *numbers)
    return replace(judgment, topics=tuple(json.loads(topics)), stream=stream, owner=owner)
