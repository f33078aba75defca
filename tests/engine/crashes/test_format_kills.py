"""kill -9 in the middle of a debate of every format: each goes on from the step at which it was."""

from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from benchmarks.crashes.kills import KillableServer
from server.debate.commands.setup.formats import FORMATS
from server.debate.facts.events import RoundClosed, RoundOpened
from server.debate.rules.calls import pending_calls
from server.debate.seats.observer import Observed
from server.debate.seats.referee import Audited
from server.engine.database.snapshots import DebateSnapshot
from tests.support.client_calls import call
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.full, pytest.mark.requirement("M3", "N8")]

Led = RoundOpened | RoundClosed | Audited | Observed

OPTIONS: dict[str, dict[str, Any]] = {
    "verdict": {"moderator": {"opens": True}},
    "round_robin": {
        "referee": True,
        "observer": True,
        "output_schema": {"type": "object", "required": ["x"]},
    },
}
CHANGES = 4
"""After so many answers of the longest debate the process is killed, again and again."""


class Lives:
    """A debate of every format in one process, and what stood on the disk when it was killed."""

    def __init__(self, folder: Path) -> None:
        self.victim = KillableServer(folder, delay=0.2)
        self.debates: dict[str, str] = {}  # id by format
        self.before: dict[str, DebateSnapshot] = {}
        self.in_flight = 0
        self.kills = 0

    async def begin(self, client: Client) -> None:
        for name in FORMATS:
            asked = {"question": "Ship it?", "format": name, "options": OPTIONS.get(name, {}), "run": True}
            started = await call(client, "start_debate", **asked, wait_seconds=0)
            self.debates[name] = started["debate_id"]

    async def live(self) -> bool:
        """One life of the process. False when it was not killed, since everything was done."""
        killed, changes = False, 0

        async def killing(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
            nonlocal killed, changes
            changes += 1
            if changes > CHANGES and not killed:
                killed = True
                self.victim.kill()

        with anyio.CancelScope() as life:
            try:
                async with Client(self.victim.parameters()) as client:
                    if not self.debates:
                        await self.begin(client)
                    for debate_id in self.debates.values():  # each goes on where somebody asks for it
                        await call(client, "get_verdict", debate_id=debate_id, wait_seconds=0)
                    following = {"debate_id": self.debates["full"]}
                    await client.call_tool("get_verdict", following, progress_callback=killing)
                    for debate_id in self.debates.values():
                        await call(client, "get_verdict", debate_id=debate_id)
            except BaseException:
                if not killed:
                    raise
                life.cancel()
        return killed

    async def check(self) -> None:
        """Nothing that was recorded is gone, changed or there twice."""
        for debate_id in self.debates.values():
            snapshot = await self.victim.load_snapshot(debate_id)
            if past := self.before.get(debate_id):
                assert snapshot.entries[: len(past.entries)] == past.entries
            assert not repeated(snapshot)
            self.in_flight += 0 if snapshot.debate.ended else len(pending_calls(snapshot.debate))
            self.before[debate_id] = snapshot


def repeated(snapshot: DebateSnapshot) -> list[Any]:
    """Answers of which there are two."""
    debate = snapshot.debate
    spoken = [(turn.round, turn.seat, turn.slot_index) for turn in debate.turns]
    judged = [(found.round, found.seat, found.slot_index) for found in debate.judgments]
    voted = [(ballot.round, ballot.seat, "ballot") for ballot in debate.ballots]
    led = [(fact.round, fact.seat, fact.kind) for fact in debate.answers if isinstance(fact, Led)]
    handed = [(made.round, made.seat, made.kind) for made in debate.handoffs]
    return [key for key, times in Counter([*spoken, *judged, *voted, *led, *handed]).items() if times > 1]


async def test_a_debate_of_every_format_survives_kills(tmp_path: Path) -> None:
    lives = Lives(tmp_path)
    with anyio.fail_after(PATIENCE):
        while await lives.live():
            lives.kills += 1
            await lives.check()
        await lives.check()

    snapshots = {name: lives.before[debate_id] for name, debate_id in lives.debates.items()}
    assert {name: snapshot.status for name, snapshot in snapshots.items()} == dict.fromkeys(
        FORMATS, "concluded"
    )
    assert all(not snapshot.debate.failures for snapshot in snapshots.values())
    asked = len(lives.victim.ledger.read_text().splitlines())
    recorded = sum(len(snapshot.debate.usage) for snapshot in snapshots.values())
    assert lives.kills >= 1
    assert recorded <= asked <= recorded + lives.in_flight
