"""Events of a newer release: this one does not pass them by, and leaves them to that release."""

from typing import Any

import pytest

from server.engine.debates import DebateManager, utc_now
from server.hooks.scanner import READ_AGAIN_SECONDS, UNREAD, build_delivery_id
from storage.contract.outbox import OutboxItem
from tests.contract.journal_helpers import open_any_journal
from tests.support.engines import start_debate
from tests.support.hook_debates import LogLines, hook, open_hooks
from tests.support.polling import wait_before_next_poll
from tests.support.raw_sql import run_raw

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N14", "D6")]

APPLAUDED = {"kind": "applauded", "round": 1}
TELL = hook("tell", "*", {"log": "{kind} {seq}"}, {"log": "again {kind} {seq}"})
SELECT_ITEMS = "select queue, seq, event, attempts, due from outbox order by number"


async def append(manager: DebateManager, debate_id: str, *bodies: dict[str, Any]) -> None:
    journal = manager.store.journal
    after = (await journal.head(debate_id))[0]
    at = utc_now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
    await journal.append(debate_id, after=after, at=at, actor="newer", bodies=bodies)


async def wait_for_items(database: str, *expected: tuple[str, ...]) -> None:
    """Wait until the outbox holds these: queue, seq, event, attempts."""
    while [tuple(map(str, row[:4])) for row in run_raw(database, SELECT_ITEMS)] != list(expected):
        await wait_before_next_poll()


async def test_what_it_cannot_read_waits_for_a_newer_release(database: str, log_lines: LogLines) -> None:
    async with open_hooks(database, TELL) as manager:
        snapshot = await start_debate(manager)
        await append(manager, snapshot.id, APPLAUDED, {"kind": "tagged", "round": 0, "tags": ["x"]})
        await log_lines.wait_for("again opened 1")
        other = await start_debate(manager, question="And this?")
        await log_lines.wait_for("again opened 1", count=2)
        await wait_for_items(database, ("-1", "2", "", "1"), ("-1", "3", "", "1"))
        dues = [float(str(row[4])) for row in run_raw(database, SELECT_ITEMS)]
        assert other.id != snapshot.id

    now = manager.clock().timestamp()
    assert all(now < due <= now + READ_AGAIN_SECONDS for due in dues)
    assert not [line for line in log_lines.messages if "applauded" in line or "tagged" in line]


async def test_what_an_older_release_left_is_matched_and_delivered_once(
    database: str, log_lines: LogLines
) -> None:
    """A whole entry, and the second of two deliveries."""
    async with open_hooks(database, TELL):
        pass
    async with open_hooks(database) as bare, open_any_journal(database) as journal:
        for number, event in ((1, ""), (2, "1 debate_start")):
            snapshot = await start_debate(bare)
            now = bare.clock().timestamp()
            left = OutboxItem(f"left {number}", "tell", UNREAD, snapshot.id, 1, number, event, now)
            await journal.outbox.put(["tell"], number, [left])
    async with open_hooks(database, TELL):
        await log_lines.wait_for("again opened 1", count=2)
        await wait_for_items(database)
    assert sorted(log_lines.messages) == ["again opened 1", "again opened 1", "opened 1"]


async def test_a_delivery_that_it_cannot_read_goes_back(database: str, log_lines: LogLines) -> None:
    async with open_hooks(database, TELL) as manager:
        snapshot = await start_debate(manager)
        await log_lines.wait_for("again opened 1")
        await append(manager, snapshot.id, APPLAUDED)
        await wait_for_items(database, ("-1", "2", "", "1"))
        run_raw(database, "delete from outbox")
        matched = build_delivery_id("tell", snapshot.id, 2, "applause", 1)
        run_raw(
            database,
            "insert into outbox (id, reader, queue, stream, seq, position, event, due, attempts) "
            "values (?, 'tell', 1, ?, 2, 2, 'applause', 1, 0)",
            matched,
            snapshot.id,
        )
        await wait_for_items(database, ("-1", "2", "1 applause", "1"))
