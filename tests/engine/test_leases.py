"""What a process knows of its leases and of who runs debates: never that a lease holds for longer than it does."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from server.engine.database.leases import HOOK_PREFIX, LEASE_SECONDS, Leases
from storage.storage import Storage
from tests.contract.journal_helpers import open_any_storage
from tests.engine.test_leases_and_conflicts import ended_holder

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8")]

BEGINNING = datetime(2026, 12, 1, tzinfo=UTC)


class SlowLeases:
    """A store that takes two seconds to give a lease, by a clock of its own."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.now, self.asked = storage, BEGINNING, 0

    async def acquire(self, *values: Any, **options: Any) -> str:
        self.asked += 1
        self.now += timedelta(seconds=2)
        return await self.storage.leases.acquire(*values, **options)


async def test_a_lease_is_counted_from_when_it_was_asked_for_and_renewed_from_half_its_time_on() -> None:
    async with open_any_storage(":memory:") as storage:
        slow: Any = SlowLeases(storage)
        leases = Leases(slow, lambda: slow.now)
        assert await leases.keep("d-1", 10)
        assert leases.expires_at == {"d-1": (BEGINNING + timedelta(seconds=10)).timestamp()}
        slow.now = BEGINNING + timedelta(seconds=4.9)
        assert await leases.keep("d-1", 10)
        assert slow.asked == 1
        slow.now = BEGINNING + timedelta(seconds=5)
        assert await leases.keep("d-1", 10)
        assert slow.asked == 2


async def test_processes_that_have_ended_and_those_that_deliver_for_hooks_run_no_debate() -> None:
    async with open_any_storage(":memory:") as storage:
        leases = Leases(storage.leases, lambda: BEGINNING)
        for name, holder in (
            ("d-1", "elsewhere:1:ab"),
            ("d-2", ended_holder()),
            (f"{HOOK_PREFIX}ops 0", "elsewhere:2:ab"),
        ):
            await storage.leases.acquire(name, holder, seconds=LEASE_SECONDS)
        assert {*await leases.find_holders()} == {"d-1", f"{HOOK_PREFIX}ops 0"}
        assert await leases.find_runners() == sorted(["elsewhere:1:ab", leases.holder])
