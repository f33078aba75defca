"""Holds the mirror of a debate: opens it, has it run to its end, and records what its judges found.

The mirror is a debate of its own, which runs only as long as the debate that it mirrors asks for it: pausing that one
pauses it, and what is left of that one's budget is all it has. Its id is recorded before it is opened: whenever a
process is killed, the next one goes on with the same mirror.
"""

from collections.abc import Callable
from dataclasses import dataclass

import anyio

from server.debate.facts.causes import PAUSED_ON_REQUEST
from server.debate.facts.escalation import MirrorOpened, MirrorSkipped
from server.debate.facts.events import Event, Paused, Resumed
from server.debate.rules.budget import ElapsedTime
from server.debate.rules.escalation import (
    Mirror,
    build_mirror_held,
    build_mirror_setup,
    build_spent,
    find_escalation,
    is_concluded_on_request,
)
from server.engine.database.errors import DebateDeletedError, DebateNotFoundError
from server.engine.database.opening import open_debate
from server.engine.database.snapshots import DebateSnapshot, build_debate_id
from server.engine.database.store import DebateStore
from server.engine.runner import TO_END, Run
from storage.errors import ConflictError

POLL_INTERVAL = 0.5  # seconds between looks at what other processes have recorded

WAITS = "the debate that it mirrors waits"
"""Why a mirror pauses whose debate has paused, or goes on without it."""


@dataclass
class MirrorHolder:
    """One for each process. `ensure_running`: as that of the driver, which runs the mirror like any debate."""

    store: DebateStore
    compute_elapsed: Callable[[Run], ElapsedTime]
    ensure_running: Callable[[DebateSnapshot, float], Run]

    async def hold(self, run: Run) -> None:
        """Take the next step with the mirror of a debate that asks for it; nothing where none does."""
        debate = run.snapshot.debate
        is_over = debate.ended or debate.paused
        step = None if is_over else find_escalation(debate, self.compute_elapsed(run))
        if not isinstance(step, Mirror):
            return
        if not step.debate_id:
            opening = MirrorOpened(round=debate.round, debate_id=build_debate_id(), because=step.because)
            run.update(await self.store.record(run.snapshot, (opening,)))
            return
        try:
            mirror = await self.open(run, step.debate_id)
        except DebateDeletedError:
            obstacle = MirrorSkipped(round=debate.round, cause="failed", reason="it was deleted")
            run.update(await self.store.record(run.snapshot, (obstacle,)))
            return
        if mirror.debate.paused and mirror.debate.paused.cause in ("request", "daily_budget"):
            mirror = await self.store.record(mirror, (Resumed(),))
        mirror = await self.wait(run, mirror)
        if ending := describe_end(run.snapshot, mirror):
            run.update(await self.store.record(run.snapshot, (ending,)))
        else:
            await self.pause(mirror)

    async def open(self, run: Run, debate_id: str) -> DebateSnapshot:
        """The mirror as it is stored, opened now if it is not."""
        entries, store = run.snapshot.entries, self.store
        try:
            return await store.load(debate_id)
        except DebateDeletedError:
            raise
        except DebateNotFoundError:
            pass  # it is opened now
        elapsed = self.compute_elapsed(run)
        setup = build_mirror_setup(run.snapshot.debate, run.snapshot.id, elapsed)
        try:
            return await open_debate(
                store, (setup,), entries[0].actor, debate_id=debate_id, made_from=run.snapshot
            )
        except ConflictError:  # another process was first
            return await store.load(debate_id)

    async def wait(self, run: Run, mirror: DebateSnapshot) -> DebateSnapshot:
        """Run the mirror until it ends or stops, or its debate asks no more for it; return its latest state.

        Raises whatever stops its run: the debate is tried again then, as if its own calls had failed so.
        """
        mirror_run = self.ensure_running(mirror, TO_END)
        while not mirror_run.done and not is_left(run):
            change = mirror_run.changed
            with anyio.move_on_after(POLL_INTERVAL):
                await change.wait()
            run.update(await self.store.refresh(run.snapshot))
        if mirror_run.error:
            raise mirror_run.error
        return await self.store.refresh(mirror_run.snapshot)

    async def pause(self, mirror: DebateSnapshot) -> None:
        """Pause a mirror whose debate no longer waits for it, so that it makes no more calls."""
        while not (mirror.debate.ended or mirror.debate.paused):
            mirror = await self.store.record(mirror, (Paused(reason=WAITS),))


def is_left(run: Run) -> bool:
    """Whether a debate waits for its mirror no more: it has paused, or somebody concluded it."""
    return run.snapshot.status != "running" or is_concluded_on_request(run.snapshot.debate)


def describe_end(original: DebateSnapshot, mirror: DebateSnapshot) -> Event | None:
    """What a debate records of its mirror, which has ended or stopped; None while it is held."""
    debate, mirrored = original.debate, mirror.debate
    is_asked_for = original.status == "running" and not is_concluded_on_request(debate)
    if not is_asked_for or mirror.status == "running":
        return None
    if mirrored.verdict and mirrored.ended:
        head = next(entry.hash for entry in mirror.entries if entry.event is mirrored.ended)
        return build_mirror_held(debate, mirror.id, head, mirrored)
    pause = mirrored.paused
    if pause and pause.cause == "daily_budget":
        return Paused(cause="daily_budget", reason=pause.reason, until=pause.until)
    if pause and pause.cause == "request":
        return Paused(reason=PAUSED_ON_REQUEST)
    reason = "a seat of it waits for its caller"
    if pause:
        reason = pause.reason
    elif mirrored.ended:
        reason = f"it ended without a verdict: {mirrored.ended.reason}"
    return MirrorSkipped(round=debate.round, cause="failed", reason=reason, spent=build_spent(mirrored))
