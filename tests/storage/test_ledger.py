"""Labelled judgments in the database: written once, with the entries they follow from, and summed without reading."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from storage.errors import ConflictError
from storage.ledger import AnswerSums, BeliefSums, JudgeSums, LedgerRow, PairSums
from storage.storage import Storage
from storage.streams import StreamSummary
from tests.contract.journal_helpers import append_entries, open_storage

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N21")]

ONE = LedgerRow(
    "i1", "m1", "judge", {"gold": "a"}, asked=1, consistent=1, right=1, percent=90, likeliest_right=1
)
TWO = LedgerRow("i1", "m2", "judge", {"gold": "a"}, asked=1, percent=90)
THREE = LedgerRow("i2", "m1", "judge", {"gold": "b"}, asked=1, consistent=1)


async def add(storage: Storage, *rows: LedgerRow) -> list[LedgerRow]:
    """Add rows as an import does, whatever is there. Returns what was."""
    seen: list[LedgerRow] = []

    def change(stored: Sequence[LedgerRow]) -> Sequence[LedgerRow]:
        seen.extend(stored)
        return [row for row in rows if row not in stored]

    await storage.ledger.change(change)
    return seen


async def test_an_empty_ledger_is_at_position_0(storage: Storage) -> None:
    assert await storage.ledger.find_position() == 0
    assert await storage.ledger.read() == []
    assert await storage.ledger.sum_judges(["m1"]) == []
    assert await storage.ledger.sum_beliefs() == (0, [])


async def test_the_same_rows_again_add_nothing_and_others_replace_them(storage: Storage) -> None:
    assert await add(storage, ONE, TWO) == []
    position = await storage.ledger.find_position()
    assert await add(storage, TWO, ONE) == [ONE, TWO]
    assert await storage.ledger.find_position() == position > 0
    changed = LedgerRow("i1", "m2", "judge", {"gold": "b"}, asked=1)
    await add(storage, changed, THREE)
    assert await storage.ledger.find_position() > position
    assert await storage.ledger.read() == [ONE, changed, THREE]


async def test_counts_are_summed_by_judge_and_by_belief(storage: Storage) -> None:
    await add(storage, ONE, TWO, THREE)
    assert await storage.ledger.sum_judges(["m2", "m1", "unknown"]) == [
        JudgeSums("m1", 2, 2, 1),
        JudgeSums("m2", 1, 0, 0),
    ]
    assert await storage.ledger.sum_beliefs() == (1, [BeliefSums("m1", 90, 1, 1), BeliefSums("m2", 90, 0, 1)])


async def test_rows_of_a_stream_are_written_with_its_entries_or_not_at_all(storage: Storage) -> None:
    summary = StreamSummary("s", "concluded", {}, judgments=[ONE])
    await append_entries(storage, "s", 0, {"n": 1}, summary=summary)
    assert [(row.stream, row.judge) for row in await storage.ledger.read()] == [("s", "m1")]
    await append_entries(storage, "s", 1, {"n": 2}, summary=StreamSummary("s", "concluded", {}))
    assert len(await storage.ledger.read()) == 1  # nothing was said of them
    with pytest.raises(ConflictError):
        await append_entries(
            storage, "s", 1, {"n": 2}, summary=StreamSummary("s", "", {}, judgments=[ONE, TWO])
        )
    assert len(await storage.ledger.read()) == 1
    await append_entries(storage, "s", 2, {"n": 3}, summary=StreamSummary("s", "", {}, judgments=[TWO]))
    assert [row.judge for row in await storage.ledger.read()] == ["m2"]
    await append_entries(storage, "s", 3, {"n": 4}, summary=StreamSummary("s", "", {}, judgments=[]))
    assert await storage.ledger.read() == []


async def test_imported_rows_and_those_of_streams_are_apart(storage: Storage) -> None:
    await add(storage, ONE)
    await append_entries(storage, "s", 0, {}, summary=StreamSummary("s", "", {}, judgments=[ONE]))
    assert len(await storage.ledger.read()) == 2
    assert (await storage.summaries.read("s")).judgments == [
        LedgerRow("i1", "m1", "judge", {"gold": "a"}, 1, 1, 1, 90, 1, stream="s")
    ]
    assert await storage.summaries.rewrite("s", 1, StreamSummary("s", "", {}, judgments=[TWO]))
    assert [(row.stream, row.judge) for row in await storage.ledger.read()] == [("", "m1"), ("s", "m2")]
    assert await storage.ledger.sum_beliefs() == (2, [BeliefSums("m1", 90, 1, 1), BeliefSums("m2", 90, 0, 1)])


def vote(item: str, judge: str, credit: int, percent: int | None = None, *topics: str) -> LedgerRow:
    right = int(credit == 2 and percent is not None)
    return LedgerRow(
        item,
        judge,
        "judge",
        {"gold": "a"},
        asked=1,
        percent=percent,
        likeliest_right=right,
        credit=credit,
        topics=topics,
    )


async def test_answers_are_summed_by_topic_and_in_all(storage: Storage) -> None:
    rows = vote("i1", "m1", 2, 90, "art"), vote("i2", "m1", 0, 70, "art", "law"), vote("i3", "m1", 1)
    await add(storage, *rows, vote("i1", "m2", 2, None, "law"))
    every = AnswerSums("m1", "", 3, 3, 2, 160, 1)
    assert await storage.ledger.sum_answers(["m1", "nobody"], "") == [every]
    assert await storage.ledger.sum_answers(["m1"], "art") == [
        every,
        AnswerSums("m1", "art", 2, 2, 2, 160, 1),
    ]
    assert await storage.ledger.sum_answers(["m2", "m1"], "law") == [
        every,
        AnswerSums("m1", "law", 1, 0, 1, 70, 0),
        AnswerSums("m2", "", 1, 2, 0, 0, 0),
        AnswerSums("m2", "law", 1, 2, 0, 0, 0),
    ]
    assert [row.topics for row in await storage.ledger.read()] == [
        ("art",),
        ("law",),
        ("art", "law"),
        (),
    ]


async def test_two_judges_of_an_item_are_a_pair_and_others_are_none(storage: Storage) -> None:
    await add(storage, vote("i1", "b", 0), vote("i1", "a", 1), vote("i1", "c", 2))
    await add(storage, vote("i2", "a", 2))
    await add(storage, vote("i2", "b", 0), vote("i3", "c", 0))
    pairs = [PairSums("a", "b", 2, 1, 2, 1), PairSums("a", "c", 1, 1, 0, 0), PairSums("b", "c", 1, 1, 0, 0)]
    assert await storage.ledger.sum_pairs(["a", "b", "c", "d"]) == pairs
    assert await storage.ledger.sum_pairs(["c", "a"]) == [pairs[1]]
    assert await storage.ledger.sum_pairs(["c"]) == []


async def test_items_are_counted_once_and_no_further_than_asked(storage: Storage) -> None:
    await add(storage, vote("i1", "a", 0), vote("i1", "b", 1), vote("i2", "b", 2), vote("i3", "c", 2))
    assert await storage.ledger.count_items(["a", "b"], 20) == 2
    assert await storage.ledger.count_items(["a", "b", "c"], 2) == 2
    assert await storage.ledger.count_items(["nobody"], 20) == 0


async def read_sums(storage: Storage, *judges: str) -> tuple[object, ...]:
    answers = [await storage.ledger.sum_answers(judges, topic) for topic in ("", "art")]
    return (
        answers,
        await storage.ledger.sum_pairs(judges),
        await storage.ledger.sum_judges(judges),
        await storage.ledger.sum_beliefs(),
    )


async def test_sums_follow_every_change_of_the_rows(storage: Storage, tmp_path: Path) -> None:
    """Whatever was replaced or removed, they are those of a ledger that never had it."""
    first = [vote("i1", "a", 0, 80, "art"), vote("i1", "b", 0, 60), vote("i1", "c", 2, 55, "art")]
    await add(storage, *first)
    await append_entries(storage, "s", 0, {}, summary=StreamSummary("s", "", {}, judgments=first))
    await append_entries(storage, "t", 0, {}, summary=StreamSummary("t", "", {}, judgments=first))
    await add(storage, vote("i1", "a", 2, 90), vote("i1", "b", 1, None, "art"))
    last = [vote("i1", "b", 2, 70, "art"), vote("i1", "a", 2)]
    await append_entries(storage, "s", 1, {}, summary=StreamSummary("s", "", {}, judgments=last))
    await storage.tombstones.delete("t", at="2026-01-01T00:00:00.000Z", actor="a")

    async with open_storage(tmp_path / "fresh.db") as fresh:
        await add(
            fresh, vote("i1", "c", 2, 55, "art"), vote("i1", "a", 2, 90), vote("i1", "b", 1, None, "art")
        )
        await append_entries(fresh, "s", 0, {}, summary=StreamSummary("s", "", {}, judgments=last))
        assert await read_sums(storage, "a", "b", "c") == await read_sums(fresh, "a", "b", "c")


async def test_the_sums_of_an_owner_are_apart_from_those_of_others(storage: Storage) -> None:
    rows = [vote("i1", "a", 2, 90, "art"), vote("i1", "b", 0)]
    found: list[int] = []

    def add_rows(stored: Sequence[LedgerRow]) -> list[LedgerRow]:
        found.append(len(stored))
        return rows

    for owner in ("kim", "lee", "kim"):
        await storage.ledger.change(add_rows, owner=owner)
    assert found == [0, 0, 2]
    assert await storage.ledger.sum_answers(["a"], "", owner="kim") == [AnswerSums("a", "", 1, 2, 1, 90, 1)]
    assert await storage.ledger.sum_answers(["a"], "art") == [
        AnswerSums("a", "", 2, 4, 2, 180, 2),
        AnswerSums("a", "art", 2, 4, 2, 180, 2),
    ]
    assert await storage.ledger.sum_pairs(["a", "b"], owner="lee") == [PairSums("a", "b", 1, 0, 1, 0)]
    assert await storage.ledger.sum_pairs(["a", "b"]) == [PairSums("a", "b", 2, 0, 2, 0)]
    assert [await storage.ledger.count_items(["a"], 20, owner=one) for one in ("kim", "ada", None)] == [
        1,
        0,
        2,
    ]
    assert await storage.ledger.sum_beliefs(owner="kim") == (1, [BeliefSums("a", 90, 1, 1)])
    assert (await storage.ledger.sum_beliefs())[0] == 2
    assert await storage.ledger.sum_beliefs(owner="ada") == (0, [])
    assert await storage.ledger.sum_judges(["a"], owner="lee") == [JudgeSums("a", 1, 0, 0)]
    assert {row.owner for row in await storage.ledger.read(owner="kim")} == {"kim"}
    assert await storage.ledger.find_position(owner="ada") == 0
    assert 0 < await storage.ledger.find_position(owner="lee") < await storage.ledger.find_position()
