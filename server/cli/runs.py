"""Run a debate in the foreground of a command: show it, handle interruption, set the exit code."""

import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from server.cli import session
from server.debate.facts.text import clean_line
from server.debate.views import state, verdict
from server.models.fakes.chaos import Chaos
from server.settings import Settings

if TYPE_CHECKING:
    from server.cli.live.background import Background

CONTINUE_HINT = " Continue with: counterpoint debate --continue {}"


def run_debate(
    settings: Settings,
    starter: session.DebateStarter,
    chaos: Chaos | None = None,
    *,
    as_json: bool = False,
    quiet: bool = False,
    makes_database: bool = False,
) -> None:
    """Run a debate and print it. Exits with 1 if it is not concluded. `makes_database`: create a missing one."""
    from server.cli.live import display as live  # noqa: PLC0415  (imports rich, which other commands need not)
    from server.cli.live import result, run  # noqa: PLC0415

    if chaos:
        click.echo(f"Chaos: {chaos}. Faults are injected; results mean nothing.", err=as_json)
    display = live.LiveDisplay.for_streams(show_turns=not (as_json or quiet), show_bar=not quiet)
    background = fork_for_keys() if display.has_board else None
    with session.sigterm_as_interrupt() as signals:
        try:
            operation = partial(run.run_and_display, starter, display, background=background)
            snapshot = session.run_with_manager(settings, operation, chaos, makes_database=makes_database)
        except KeyboardInterrupt:
            hint = CONTINUE_HINT.format(display.snapshot.id) if display.snapshot else ""
            click.echo(f"\nStopped.{hint}", err=True)
            sys.exit(128 + (signals or [signal.SIGINT])[0])
    debate = snapshot.debate
    if as_json:
        summary = {
            "debate_id": snapshot.id,
            "state": state.build_state(snapshot),
            "result": verdict.build_result(debate),
            "verdict": verdict.build_verdict(debate).model_dump(),
            "provenance": snapshot.provenance.model_dump(),
        }
        click.echo(session.format_json(summary))
    else:
        result.print_summary(snapshot, display.out)
    if snapshot.status != "concluded":
        is_reason_shown = display.show_turns and display.out.is_terminal and debate.paused
        reason = "" if is_reason_shown else f": {state.status_reason(debate).removesuffix('.')}"
        text = f"The debate is {snapshot.status}{reason}."
        if snapshot.status in ("paused", "waiting"):
            text += CONTINUE_HINT.format(snapshot.id)
        raise click.ClickException(clean_line(text))


def fork_for_keys() -> "Background | None":
    """Fork a process for the debate if keys can be read, so that `q` can leave the debate running."""
    from server.cli.live import background, keyboard  # noqa: PLC0415  (imports rich)

    terminal_keyboard = keyboard.Keyboard.find()
    return background.fork(terminal_keyboard.descriptor) if terminal_keyboard else None
