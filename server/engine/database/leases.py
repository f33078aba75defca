"""Leases: at most one process at a time calls models for a debate, or works on a queue of a hook.

Correctness does not depend on them; cost does. A lease expires unless its holder renews it. The lease of a
process of this machine that no longer exists is taken over at once.
"""

import os
import platform
import secrets
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path

import anyio

from server.engine.database.errors import translate_storage_errors
from storage.errors import StorageError
from storage.leases import Leases as LeaseStore

LEASE_SECONDS = 3.0  # until a debate is taken over whose holder hangs, or died on another machine
HEARTBEAT_INTERVAL = 1.0  # seconds between renewals
HOOK_PREFIX = "hook "  # of the names of leases that are no debate's


class LeaseLostError(Exception):
    """Another process runs this debate now: no more calls may be made here."""


def is_gone(holder: str) -> bool:
    """Whether the holder was a process of this machine that no longer exists.

    False where that cannot be known: for other machines and containers, and on Windows, where signal 0 would
    interrupt the process.
    """
    machine, _, process_id = holder.rpartition(":")[0].rpartition(":")
    if os.name == "posix" and machine == machine_name() and process_id.isdigit():
        try:
            os.kill(int(process_id), 0)
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):  # a process of another user, or not a process id
            pass
    return False


@cache
def machine_name() -> str:
    """The host name, the running kernel and the PID namespace.

    Two containers on one host number their processes separately, and many hosts have the same name and the same
    namespace.
    """
    parts = [platform.node()]
    with suppress(OSError):  # Linux only
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return "/".join(parts)


class Leases:
    """The leases of this process. `acquire` and `find_holders` may raise StorageUnavailableError."""

    def __init__(self, store: LeaseStore, clock: Callable[[], datetime]) -> None:
        self.store = store
        self.clock = clock
        self.holder = f"{machine_name()}:{os.getpid()}:{secrets.token_hex(6)}"
        # By debate id or queue, in the time of this process: from the moment it asked, hence never too late.
        self.expires_at: dict[str, float] = {}
        self._releases: dict[str, anyio.Event] = {}  # under way, by name

    async def acquire(self, name: str, seconds: float = LEASE_SECONDS) -> bool:
        """Whether this process has the lease of a debate or a queue now, for so many seconds.

        It is asked for only when an earlier one of the same name has been released: on a connection of its own, the
        release could arrive after it, and another process would have the lease as well.
        """
        while release := self._releases.get(name):
            await release.wait()
        with translate_storage_errors():
            while True:
                asked_at = self.clock().timestamp()
                holder = await self.store.acquire(name, self.holder, seconds=seconds)
                if holder == self.holder:
                    self.expires_at[name] = asked_at + seconds
                    return True
                if not is_gone(holder):
                    return False
                await self.store.release(name, holder)

    async def keep(self, name: str, seconds: float = LEASE_SECONDS) -> bool:
        """As `acquire`. A lease that this process has is renewed only when half of its time is over."""
        seconds_left = self.expires_at.get(name, 0.0) - self.clock().timestamp()
        return seconds_left > seconds / 2 or await self.acquire(name, seconds)

    async def has_lease(self, debate_id: str) -> bool:
        """Whether this process still has the lease. Reads the database only after the lease has expired.

        A process that was suspended for longer than that does not know whether another has taken over.
        """
        is_valid = self.clock().timestamp() < self.expires_at.get(debate_id, 0.0)
        return is_valid or debate_id in await self.renew([debate_id])

    async def renew(self, names: Collection[str], seconds: float = LEASE_SECONDS) -> set[str]:
        """Renew these leases; returns those that this process still has."""
        asked_at = self.clock().timestamp()
        try:
            own_names = await self.store.renew(self.holder, names, seconds=seconds)
        except StorageError:  # the journal logs it; the next heartbeat tries again
            return set(names)
        self.expires_at |= dict.fromkeys(own_names, asked_at + seconds)
        return own_names

    async def find_holders(self, owner: str | None = None) -> dict[str, str]:
        """{debate id or queue: holder} of the leases whose holder may still be alive; of debates of an owner."""
        with translate_storage_errors():
            leases = await self.store.find_holders(owner=owner)
        return {name: holder for name, holder in leases.items() if not is_gone(holder)}

    async def find_runners(self) -> list[str]:
        """The processes that run debates now, this one among them, in the same order for all of them."""
        holders = await self.find_holders()
        running = {holder for name, holder in holders.items() if not name.startswith(HOOK_PREFIX)}
        return sorted(running | {self.holder})

    async def release(self, name: str) -> None:
        self.expires_at.pop(name, None)
        release = self._releases[name] = anyio.Event()
        try:
            with suppress(StorageError):  # it expires: nobody renews it any more
                await self.store.release(name, self.holder)
        finally:
            self._releases.pop(name, None)
            release.set()
