"""kill -9 right after a digest, an extraction, a passage, an alert, a challenge, a measurement: the debate goes on."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from server.debate.records.verify import verify_record
from server.debate.rules.transitions import replay
from server.engine.database.snapshots import DebateSnapshot
from server.engine.database.store import DebateStore
from server.engine.debates import utc_now
from storage.sqlite import SqliteJournal
from tests.support.paths import ROOT
from tests.support.patience import PATIENCE

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.full,
    pytest.mark.requirement("M3", "N8", "D12", "D13", "D28"),
]

KINDS = (
    "digested",
    "extracted",
    "alerted",
    "challenged",
    "passage_read",
    "measured",
    "extracted",
    "converged",
)
"""What is recorded right before each kill, in the order in which it comes. A transaction is there whole: passages
with the alert after them."""

MOST_IN_FLIGHT = 4
"""Calls of a group, which a kill may lose."""


def live(folder: Path, kind: str, debate_id: str) -> tuple[str, int]:
    """(the debate's id, the exit code) of one process."""
    arguments = [str(folder / "debates.db"), str(folder / "ledger"), kind, debate_id or "new"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.doomed_debate", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert done.returncode in (0, -9), done.stderr[-2000:]
    return debate_id or done.stdout.strip(), done.returncode


async def load(folder: Path, debate_id: str) -> DebateSnapshot:
    journal = await SqliteJournal.open(folder / "debates.db")
    try:
        return await DebateStore(journal, utc_now).load(debate_id)
    finally:
        await journal.close()


async def test_a_debate_goes_on_from_each_fact_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    debate_id, before = "", None
    for kind in KINDS:
        debate_id, code = live(tmp_path, kind, debate_id)
        assert code == -9, kind
        snapshot = await load(tmp_path, debate_id)
        if before:
            assert snapshot.entries[: len(before.entries)] == before.entries
        added = snapshot.entries[len(before.entries) if before else 0 :]
        assert kind in {entry.event.kind for entry in added}
        before = snapshot
    _, code = live(tmp_path, "none", debate_id)
    assert code == 0

    ended = await load(tmp_path, debate_id)
    assert ended.status == "concluded"
    debate = ended.debate
    assert not debate.failures
    assert {entry.event.kind for entry in ended.entries} >= set(KINDS)
    asked = Counter((answer.round, answer.seat, answer.slot_index) for answer in debate.answers)
    assert max(asked.values()) == 1
    paid = len((tmp_path / "ledger").read_text().splitlines())
    recorded = len(debate.usage) - len(debate.measurements)  # which the stand-in for embeddings makes
    assert recorded <= paid <= recorded + MOST_IN_FLIGHT * len(KINDS)
    assert replay(entry.event for entry in ended.entries) == debate
    verify_record(ended.entries, range(len(ended.entries)))
