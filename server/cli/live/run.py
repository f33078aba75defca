"""A debate in a terminal: runs it, or follows one that any process runs; keys steer it, and turns come from stdin."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, suppress

import anyio

from server.cli.live.background import Background
from server.cli.live.display import REDRAW_INTERVAL, LiveDisplay
from server.cli.live.events import print_note
from server.cli.live.keyboard import Keyboard
from server.cli.live.steering import Steering
from server.cli.session import ACTOR, DebateStarter
from server.cli.terminal import Terminal
from server.debate.facts.errors import DebateError
from server.debate.views.awaited import TURN_HEADING, awaited_turns, describe_task
from server.debate.views.state import status_reason
from server.engine.database.snapshots import DebateSnapshot
from server.engine.debates import DebateManager

PAUSE_POLL_INTERVAL = 0.2  # seconds between looks at a paused debate
LEFT_POLL_INTERVAL = 1.0  # the same, of one that was left
MAX_LEFT_PAUSE = 24 * 3600.0  # seconds that the process of a debate that was left waits for it to be resumed


class LiveRun:
    """A debate in a terminal. `background`: lets it go on without the terminal; without one keys do nothing."""

    def __init__(
        self, manager: DebateManager, display: LiveDisplay, background: Background | None = None
    ) -> None:
        self.manager, self.display, self.background = manager, display, background
        self.is_left = False

    async def watch(self, snapshot: DebateSnapshot) -> DebateSnapshot:
        """Show a debate until it ends, is paused, or waits for the caller's turn."""
        keyboard = Keyboard.find() if self.background and not self.is_left else None
        steering = Steering(self.manager, self.display, runs=True)
        with ExitStack() as cleanup:
            cleanup.callback(self.display.close)
            if keyboard:
                keyboard.on_return = self.display.redraw_below
                cleanup.enter_context(keyboard)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(redraw, self.display, self.background)
                if keyboard:
                    tasks.start_soon(steering.read, keyboard)
                snapshot = await self.follow(snapshot, steering if keyboard else None, cleanup.close)
                tasks.cancel_scope.cancel()
            self.display.on_commit(snapshot)
            self.display.draw()
        return snapshot

    async def follow(
        self, snapshot: DebateSnapshot, steering: Steering | None, restore: Callable[[], None]
    ) -> DebateSnapshot:
        """Wait for the end of the debate. A pause ends the wait, unless a key or another process may end the pause."""
        left_since = 0.0
        async with anyio.create_task_group() as tasks:
            if steering:
                tasks.start_soon(self.detach_when_left, steering, restore)
            while True:
                # Again after each wait: another process may have stopped it meanwhile.
                self.manager.run_to_end(snapshot)
                snapshot = await self.manager.follow(snapshot.id, wait=60)
                if snapshot.status != "paused":
                    left_since = 0.0
                    if snapshot.status != "running":
                        break
                elif self.is_left:
                    left_since = left_since or anyio.current_time()
                    if anyio.current_time() > left_since + MAX_LEFT_PAUSE:
                        break
                    await anyio.sleep(LEFT_POLL_INTERVAL)
                elif steering:
                    self.display.on_commit(snapshot)
                    steering.show_keys()
                    await anyio.sleep(PAUSE_POLL_INTERVAL)
                else:
                    break
            tasks.cancel_scope.cancel()
        return snapshot

    async def detach_when_left(self, steering: Steering, restore: Callable[[], None]) -> None:
        """Go on without the terminal."""
        await steering.has_left.wait()
        snapshot = self.display.snapshot
        if self.background and snapshot:
            self.is_left = True
            restore()
            self.display.detach()
            self.background.leave(is_paused=snapshot.debate.paused is not None)


async def redraw(display: LiveDisplay, background: Background | None = None) -> None:
    """Draw the display at intervals. Stops the process, as Ctrl-C does, if the parent process is gone."""
    while True:
        if background and background.is_orphaned:
            os.kill(os.getpid(), signal.SIGINT)
            return
        display.draw()
        await anyio.sleep(REDRAW_INTERVAL)


async def run_and_display(
    starter: DebateStarter,
    display: LiveDisplay,
    manager: DebateManager,
    background: Background | None = None,
) -> DebateSnapshot:
    """Start a debate and show it until it ends, is paused, or waits for a turn and stdin has ended."""
    manager.store.subscribe(display.on_commit)
    display.find_holdup = manager.find_holdup
    if display.has_board:  # streaming takes time for every piece
        manager.subscribe_to_text(display.on_text)
    snapshot = await starter(manager)
    if background:
        background.tell(snapshot.id.encode())
    if snapshot.debate.version > 1:
        display.continue_from(snapshot)
    run = LiveRun(manager, display, background)
    stdin = read_stdin()
    while not snapshot.debate.ended:
        snapshot = await run.watch(snapshot)
        if snapshot.status != "waiting" or not awaited_turns(snapshot.debate):
            break
        submitted = await submit_caller_turn(manager, snapshot, display.out, stdin)
        if submitted is None:
            break
        snapshot = submitted
    return snapshot


async def read_stdin() -> AsyncIterator[str]:
    """The lines of stdin. No thread is used: one that waits for input would delay the exit."""
    try:
        stdin = sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):  # replaced by a program that runs commands in process
        for line in sys.stdin or ():
            yield line
        return
    piece, unfinished_line = b"x", b""
    while piece:
        with suppress(OSError, NotImplementedError):  # raised for a file, which is always readable
            await anyio.wait_readable(stdin)
        piece = os.read(stdin, 4096)
        *lines, unfinished_line = (unfinished_line + piece).split(b"\n")
        for whole in lines if piece else [unfinished_line]:
            yield whole.decode("utf-8", "replace")


async def read_paragraph(lines: AsyncIterator[str]) -> str:
    """The lines up to an empty one or the last; "" if there are none."""
    paragraph: list[str] = []
    async for line in lines:
        if line.strip():
            paragraph.append(line.rstrip("\r\n"))
        elif paragraph:
            break
    return "\n".join(paragraph)


async def submit_caller_turn(
    manager: DebateManager, snapshot: DebateSnapshot, out: Terminal, stdin: AsyncIterator[str]
) -> DebateSnapshot | None:
    """The debate with the awaited turn in it, as the person writes it; None if stdin ends before."""
    turn = awaited_turns(snapshot.debate)[0]
    out.print_line()
    task = describe_task(turn)
    out.print_wrapped(f"Your turn: {turn.speaker}, round {snapshot.debate.round} ({task})", style="bold")
    for line in turn.prompt.rpartition(f"{TURN_HEADING}\n")[2].splitlines():
        if line:
            out.print_wrapped(line, "  ")
    out.print_line("End it with an empty line.")
    while text := await read_paragraph(stdin):
        try:
            snapshot, problem = await manager.submit(snapshot.id, turn.speaker, text, actor=ACTOR)
        except DebateError as error:
            problem = str(error)
        if not problem:
            return snapshot
        out.print_wrapped(problem, "! ")
    return None


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
