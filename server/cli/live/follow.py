"""A debate that any process runs, shown in a terminal: with the board and its keys where there is room for them."""

from contextlib import ExitStack

import anyio

from server.cli.live.display import LiveDisplay
from server.cli.live.events import print_note
from server.cli.live.keyboard import Keyboard
from server.cli.live.run import redraw
from server.cli.live.steering import Steering
from server.debate.views.state import status_reason
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager

RUNNER_POLL_INTERVAL = 1.0  # seconds between looks at whether anybody runs the debate
NOT_RUN = "No process runs it. To go on: counterpoint debate --continue {}"


async def follow_debate(
    manager: DebateManager, debate_id: str, display: LiveDisplay, since_seq: int = 0
) -> tuple[DebateSnapshot, bool]:
    """Show a debate until it ends, or q is pressed. Returns its latest state, and whether that was its end."""
    display.shown_count = since_seq
    keyboard = Keyboard.find() if display.has_board else None
    steering = Steering(manager, display, runs=False)
    snapshot = await manager.load(debate_id)
    with ExitStack() as cleanup:
        cleanup.callback(display.close)
        if keyboard:
            keyboard.on_return = display.redraw_below
            cleanup.enter_context(keyboard)
        display.on_commit(snapshot)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(redraw, display)
            tasks.start_soon(watch_runner, manager, display)
            if keyboard:
                tasks.start_soon(steering.read, keyboard)
                tasks.start_soon(cancel_when_left, steering, tasks.cancel_scope)
            async for snapshot in manager.watch_states(debate_id):
                display.on_commit(snapshot)
            tasks.cancel_scope.cancel()
        display.draw()
    return snapshot, not steering.has_left.is_set()


async def cancel_when_left(steering: Steering, scope: anyio.CancelScope) -> None:
    await steering.has_left.wait()
    scope.cancel()


async def watch_runner(manager: DebateManager, display: LiveDisplay) -> None:
    """Report when no process runs an unfinished debate; without a board also what the debate waits for."""
    last_news = ""
    while True:
        await anyio.sleep(RUNNER_POLL_INTERVAL)
        snapshot = display.snapshot
        if snapshot is None:
            continue
        is_stopped = snapshot.status == "running" and not await manager.is_run(snapshot.id)
        display.activity = NOT_RUN.format(snapshot.id) if is_stopped else ""
        news = display.activity
        if snapshot.status in ("waiting", "paused"):
            news = f"{snapshot.status.capitalize()}: {status_reason(snapshot.debate)}"
        if news and news != last_news and not display.has_board:
            print_note(display.out, news, "")
        last_news = news
