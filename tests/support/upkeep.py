"""What tests of other rooms ask of upkeep, which may be missing: they are marked with `needs_upkeep`."""

from typing import TYPE_CHECKING, Any

import pytest

from server.engine.debates import DebateManager
from storage.storage import Storage

if TYPE_CHECKING:
    from server.upkeep.check import CheckResult
    from server.upkeep.copy import CopyResult

needs_upkeep = pytest.mark.needs("server.upkeep")


async def delete_debate(manager: DebateManager, debate_id: str, *, actor: str) -> None:
    from server.upkeep import deletion  # noqa: PLC0415

    await deletion.delete_debate(manager, debate_id, actor=actor)


async def check_database(manager: DebateManager, **options: Any) -> "CheckResult":
    from server.upkeep import check  # noqa: PLC0415

    return await check.check_database(manager, **options)


async def copy_debates(manager: DebateManager, storage: Storage) -> "CopyResult":
    from server.upkeep import copy  # noqa: PLC0415

    return await copy.copy_debates(manager, storage)
