"""Labelled judgments in the database: written once, with the entries they follow from, and summed without reading."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from storage.journal import ConflictError, StreamSummary
from storage.ledger import BeliefSums, JudgeSums, LedgerRow
from storage.sqlite import SqliteJournal
from tests.contract.journal_helpers import append_entries, open_journal

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N21")]

ONE = LedgerRow("i1", "m1", {"gold": "a"}, asked=1, consistent=1, right=1, percent=90, likeliest_right=1)
TWO = LedgerRow("i1", "m2", {"gold": "a"}, asked=1, percent=90)
THREE = LedgerRow("i2", "m1", {"gold": "b"}, asked=1, consistent=1)


async def add(journal: SqliteJournal, *rows: LedgerRow) -> list[LedgerRow]:
    """Add rows as an import does, whatever is there. Returns what was."""
    seen: list[LedgerRow] = []

    def change(stored: Sequence[LedgerRow]) -> Sequence[LedgerRow]:
        seen.extend(stored)
        return [row for row in rows if row not in stored]

    await journal.change_judgments(change)
    return seen


async def test_an_empty_ledger_is_at_position_0(journal: SqliteJournal) -> None:
    assert await journal.read_ledger_position() == 0
    assert await journal.read_judgments() == []
    assert await journal.sum_judges(["m1"]) == []
    assert await journal.sum_beliefs() == (0, [])


async def test_the_same_rows_again_add_nothing_and_others_replace_them(journal: SqliteJournal) -> None:
    assert await add(journal, ONE, TWO) == []
    position = await journal.read_ledger_position()
    assert await add(journal, TWO, ONE) == [ONE, TWO]
    assert await journal.read_ledger_position() == position > 0
    changed = LedgerRow("i1", "m2", {"gold": "b"}, asked=1)
    await add(journal, changed, THREE)
    assert await journal.read_ledger_position() > position
    assert await journal.read_judgments() == [ONE, changed, THREE]


async def test_counts_are_summed_by_judge_and_by_belief(journal: SqliteJournal) -> None:
    await add(journal, ONE, TWO, THREE)
    assert await journal.sum_judges(["m2", "m1", "unknown"]) == [
        JudgeSums("m1", 2, 2, 1),
        JudgeSums("m2", 1, 0, 0),
    ]
    assert await journal.sum_beliefs() == (1, [BeliefSums("m1", 90, 1, 1), BeliefSums("m2", 90, 0, 1)])


async def test_rows_of_a_stream_are_written_with_its_entries_or_not_at_all(journal: SqliteJournal) -> None:
    summary = StreamSummary("s", "concluded", {}, judgments=[ONE])
    await append_entries(journal, "s", 0, {"n": 1}, summary=summary)
    assert [(row.stream, row.judge) for row in await journal.read_judgments()] == [("s", "m1")]
    await append_entries(journal, "s", 1, {"n": 2}, summary=StreamSummary("s", "concluded", {}))
    assert len(await journal.read_judgments()) == 1  # nothing was said of them
    with pytest.raises(ConflictError):
        await append_entries(
            journal, "s", 1, {"n": 2}, summary=StreamSummary("s", "", {}, judgments=[ONE, TWO])
        )
    assert len(await journal.read_judgments()) == 1
    await append_entries(journal, "s", 2, {"n": 3}, summary=StreamSummary("s", "", {}, judgments=[TWO]))
    assert [row.judge for row in await journal.read_judgments()] == ["m2"]
    await append_entries(journal, "s", 3, {"n": 4}, summary=StreamSummary("s", "", {}, judgments=[]))
    assert await journal.read_judgments() == []


async def test_imported_rows_and_those_of_streams_are_apart(journal: SqliteJournal) -> None:
    await add(journal, ONE)
    await append_entries(journal, "s", 0, {}, summary=StreamSummary("s", "", {}, judgments=[ONE]))
    assert len(await journal.read_judgments()) == 2
    assert (await journal.read_summary("s")).judgments == [
        LedgerRow("i1", "m1", {"gold": "a"}, 1, 1, 1, 90, 1, "s")
    ]
    assert await journal.rewrite_summary("s", 1, StreamSummary("s", "", {}, judgments=[TWO]))
    assert [(row.stream, row.judge) for row in await journal.read_judgments()] == [("", "m1"), ("s", "m2")]
    assert await journal.sum_beliefs() == (2, [BeliefSums("m1", 90, 1, 1), BeliefSums("m2", 90, 0, 1)])


async def test_two_processes_add_rows_once(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "a.db") as one, open_journal(tmp_path / "a.db") as other:
        assert await add(one, ONE) == []
        assert await add(other, ONE, TWO) == [ONE]
        assert await one.read_judgments() == [ONE, TWO]


async def test_a_search_for_judges_reads_no_other_rows(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "a.db") as journal:
        await add(journal, ONE)
    with closing(sqlite3.connect(tmp_path / "a.db")) as raw:
        plan = raw.execute(
            "explain query plan select judge, sum(asked), sum(consistent), sum(correct) from judgment "
            "where owner = 'local' and judge in (select value from json_each('[]')) group by judge"
        ).fetchall()
    assert any("judgment_by_judge" in row[-1] and "SEARCH" in row[-1] for row in plan)
