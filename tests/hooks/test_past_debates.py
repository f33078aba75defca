"""Debates as they were: whoever asks, in whatever order, is shown what replaying the first entries gives."""

import random

import pytest

from server.debate.machine.transitions import replay
from server.engine.database.snapshots import DebateSnapshot
from server.hooks.scanner import MAX_REACHED, PastDebates
from tests.support.simulation import build_setup, simulate

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D9")]


async def test_a_past_debate_is_that_of_its_first_entries() -> None:
    rng = random.Random(7)  # noqa: S311  (an order of questions)
    at = simulate(build_setup()).play()
    snapshot = DebateSnapshot("d-1", at.debate, at.log)

    async def load_past(_debate_id: str, _version: int) -> DebateSnapshot:
        return snapshot

    past = PastDebates(load_past)
    assert await past.load("d-1", 3) is snapshot
    numbers = range(1, len(at.log) + 1)
    expected = {seq: replay(entry.event for entry in at.log[:seq]) for seq in numbers}
    mixed = rng.choices(numbers, k=100)
    for orders in (numbers, reversed(numbers), mixed):
        for seq in orders:
            for reader in ("one", rng.choice(("two", "three")), str(seq)):
                assert past.find(reader, snapshot, seq) == expected[seq]
    assert past.find("one", snapshot, 4) is past.find("one", snapshot, 4)
    for number in range(2 * MAX_REACHED):
        past.find(str(number), snapshot, 2)
    past.clear()
    assert past.find("one", snapshot, 5) == expected[5]
