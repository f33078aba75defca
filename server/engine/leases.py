"""The leases of this process: which debates it is putting questions for, so that no other pays for them."""

import logging
import os
import platform
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from server.engine.errors import translate_storage_errors
from storage.journal import Journal


def new_owner() -> str:
    """A name for this process: machine, process number, and something nobody else has."""
    return f"{machine_name()}:{os.getpid()}:{secrets.token_hex(6)}"


def is_gone(owner: str) -> bool:
    """Whether a process of this machine certainly does not exist any more.

    False wherever that cannot be told: for another machine or container, and on Windows, where asking
    after a process the POSIX way would interrupt it. Such a lease runs out by itself.
    """
    where, _, rest = owner.rpartition(":")[0].rpartition(":")
    if os.name != "posix" or where != machine_name() or not rest.isdigit():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def machine_name() -> str:
    """This machine's name; two containers on one machine are two machines, for they count processes apart."""
    namespace = ""
    with suppress(OSError):  # only Linux has it
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{platform.node()}/{namespace}"


LEASE_SECONDS = 3.0
"""Seconds after which a debate can be taken over whose process is gone, or hangs, out of sight."""

HEARTBEAT_INTERVAL = 1.0
"""Seconds between renewals of the leases, and the longest a dead one is waited for on top of LEASE."""

logger = logging.getLogger(__name__)


class Leases:
    def __init__(self, journal: Journal, clock: Callable[[], datetime]) -> None:
        self.journal = journal
        self.clock = clock
        self.owner = new_owner()
        self.expires_at: dict[str, float] = {}  # when each of ours runs out, unless it is renewed

    async def acquire(self, debate_id: str) -> bool:
        """Whether the debate is this process's now. That of a process that is gone is taken over."""
        while True:
            now = self.clock().timestamp()
            holder = await self.journal.acquire_lease(debate_id, self.owner, now=now, seconds=LEASE_SECONDS)
            if holder == self.owner:
                self.expires_at[debate_id] = now + LEASE_SECONDS
                return True
            if not is_gone(holder):
                return False
            await self.journal.release_lease(debate_id, holder)

    async def has_lease(self, debate_id: str) -> bool:
        """Whether the debate is still this process's. The journal is asked only where that is not certain.

        A process that was asleep for longer than a lease lasts does not know that another has taken over.
        """
        certain = self.clock().timestamp() < self.expires_at.get(debate_id, 0.0)
        return certain or debate_id in await self.renew([debate_id])

    async def renew(self, debate_ids: Iterable[str]) -> set[str]:
        """Renew these, and say which of them are still held."""
        asked = list(debate_ids)
        try:
            now = self.clock().timestamp()
            held = set(await self.journal.renew_leases(self.owner, asked, now=now, seconds=LEASE_SECONDS))
        except Exception:  # the next beat tries again; without a lease, answers may be paid for twice
            logger.exception("The leases could not be renewed")
            return set(asked)
        self.expires_at |= dict.fromkeys(held, now + LEASE_SECONDS)
        return held

    async def find_leased_debates(self) -> set[str]:
        """The debates that are being driven, here or by another process that is still there.

        Raises:
            Unreadable: the database cannot be read.
        """
        with translate_storage_errors():
            leases = await self.journal.active_leases(now=self.clock().timestamp())
        return {debate_id for debate_id, owner in leases.items() if not is_gone(owner)}

    async def release(self, debate_id: str) -> None:
        self.expires_at.pop(debate_id, None)
        try:
            await self.journal.release_lease(debate_id, self.owner)
        except Exception:  # it runs out by itself: nobody renews it any more
            logger.exception("The lease of %s could not be released", debate_id)
