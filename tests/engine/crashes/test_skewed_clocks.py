"""Servers whose clocks differ: whose turn it is goes by the clock of their database, where it has one."""

from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from server.engine.database.leases import machine_name
from server.engine.debates import utc_now
from server.models.fakes.scripted import ScriptedModel
from tests.support.engines import open_engine, start_debate
from tests.support.gated_model import Gate
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("N8", "N14")]

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@pytest.mark.full
@pytest.mark.parametrize("seconds", [-60, 60])
async def test_a_server_whose_clock_is_wrong_takes_over_from_nobody(
    postgres_database: str, seconds: int
) -> None:
    working, other = Gate(), ScriptedModel()
    skew = timedelta(seconds=seconds)
    async with open_engine(postgres_database, working.model) as one:
        snapshot = await start_debate(one, format="verdict", max_rounds=2, run=True)
        with anyio.fail_after(PATIENCE):
            await working.wait_for_call()  # before that it is nobody's, and anybody may run it
        async with open_engine(postgres_database, other, clock=lambda: utc_now() + skew, recover=True) as two:
            await two.follow(snapshot.id, wait=0.5)
            assert other.requests == []
            working.release.set()
            with anyio.fail_after(PATIENCE):
                ended = await two.follow(snapshot.id, wait=PATIENCE)
                assert (await one.follow(snapshot.id, wait=PATIENCE)).debate == ended.debate
    assert ended.status != "running"
    assert len(ended.debate.turns) == 4  # of two rounds
    assert other.requests == []


@pytest.mark.skipif(not BOOT_ID.exists(), reason="Linux only")
def test_hosts_of_one_name_are_told_apart() -> None:
    assert BOOT_ID.read_text(encoding="ascii").strip() in machine_name()
