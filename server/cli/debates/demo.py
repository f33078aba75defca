"""`counterpoint demo`: a debate on the embedded model, and then a recorded answer with its page."""

import gzip
import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from server.cli import session
from server.cli.debates.debate import start_debate
from server.cli.debates.watch import open_browser
from server.debate.commands.requests import DebateRequest
from server.debate.facts.events import Recorded, Spoke
from server.debate.machine.transitions import replay as replay_events
from server.debate.views.state import describe_costs, tell_standing
from server.engine import queries, transfer
from server.engine.database.snapshots import DebateSnapshot
from server.files import write_atomically
from server.models.local import model as local
from server.models.local import weights
from server.settings import Settings
from storage.streams import Entry

if TYPE_CHECKING:
    from server.cli.live.display import LiveDisplay
    from server.cli.live.keyboard import Keyboard

RECORDING = Path(__file__).with_name("demo.json.gz")
"""An exported debate, made by `packaging/record_demo.py`."""

LOCAL_DEBATE = {
    "question": "Should smartphones be allowed in classrooms?",
    "format": "advocates",
    "debaters": [{"name": "Ada", "stance": "allow them"}, {"name": "Ben", "stance": "keep them out"}],
    "models": ["local"],
    "max_rounds": 1,
    "run": True,
}
MISSING_RUNTIME = f"The embedded model's runtime is not installed: {local.INSTALL_COMMAND}"
NEXT_STEP = (
    "\nNext: counterpoint keys set anthropic   (or openai, gemini …). Without a key: counterpoint models list"
)

MAX_REPLAY_SECONDS = 30.0
MAX_PIPED_REPLAY_SECONDS = 2.0  # where stdout is no terminal
FRAME_SECONDS = 0.05


class Recording(NamedTuple):
    snapshot: DebateSnapshot
    entries: tuple[Entry, ...]
    times: tuple[float, ...]  # seconds from the first entry to each

    @property
    def date(self) -> str:
        return self.snapshot.entries[0].at[:10]


@click.command()
@click.option(
    "--local", "only_local", is_flag=True, help="Only the debate on this machine, without the recorded one."
)
@click.option("--no-open", is_flag=True, help="Do not open the page in a browser.")
@click.pass_obj
def demo(settings: Settings, *, only_local: bool, no_open: bool) -> None:
    """Run a debate here, then replay a recorded answer. It needs no key and costs nothing.

    The embedded model debates first. It is small (135 million parameters, a download of 93 MB), so its words mean
    little. The debate is stored like any other. The recorded answer is then replayed in its own time and written as a
    page beside the database.

    Example: counterpoint demo
    """
    try:
        run_local_debate(settings)
    except weights.WeightsError as error:
        if only_local:
            raise
        click.echo(f"{error}\nThe recorded answer needs none of it.")
    if not only_local:
        click.echo()
        page = Path(settings.database).with_name("demo.html")
        show_recording(read_recording(), page)
        if not no_open and sys.stdout.isatty():
            open_browser(page.as_uri())
        click.echo(NEXT_STEP)


def run_local_debate(settings: Settings) -> None:
    """Hold a debate on the embedded model, and say what it took. Its words are not shown: they mean nothing."""
    if not find_spec("xllamacpp"):
        raise weights.WeightsError(MISSING_RUNTIME)
    if not local.is_available():
        weights.install(None, partial(click.echo, err=True))
    from server.cli.live.display import LiveDisplay  # noqa: PLC0415  (imports rich)
    from server.cli.live.run import run_and_display  # noqa: PLC0415

    request = DebateRequest.model_validate(LOCAL_DEBATE)
    display = LiveDisplay.for_streams(show_turns=False, show_bar=True)
    display.out.print_wrapped(
        "== On this machine: a small model debates, to show that everything runs here. =="
    )
    display.out.print_line(f"\n{request.question} Two sides, and a judge who reads them twice:")
    with session.sigterm_as_interrupt():
        operation = partial(run_and_display, partial(start_debate, request), display)
        snapshot = session.run_with_manager(settings, operation, makes_database=True)
    ending = "It concluded" if snapshot.status == "concluded" else f"It is {tell_standing(snapshot.status)}"
    spent = describe_costs(snapshot.debate)[0].removesuffix(".")
    display.out.print_wrapped(
        f"{ending}: {spent}. A model this small knows little, so its words are not shown here. To "
        f"read them: counterpoint show {snapshot.id}"
    )


def read_recording() -> Recording:
    """Load the recorded debate, with the checks of any import."""
    data = transfer.validate_export(json.loads(gzip.decompress(RECORDING.read_bytes())))
    entries = tuple(Entry(**dict(entry)) for entry in data.entries)
    times = [datetime.fromisoformat(entry.at) for entry in entries]
    snapshot = transfer.verify_entries(data.debate_id, entries, times[-1])
    return Recording(snapshot, entries, tuple((at - times[0]).total_seconds() for at in times))


def show_recording(recording: Recording, page: Path) -> None:
    """Replay it, print its verdict, and write its page."""
    from server.cli.live.display import LiveDisplay  # noqa: PLC0415  (imports rich)
    from server.cli.live.keyboard import Keyboard  # noqa: PLC0415
    from server.cli.live.result import print_verdict  # noqa: PLC0415
    from server.web.page import build_page  # noqa: PLC0415  (other commands need none of it)
    from server.web.record import build_data, build_debate  # noqa: PLC0415

    display = LiveDisplay.for_streams(show_turns=True, show_bar=True)
    keyboard = Keyboard.find() if display.out.is_terminal else None
    limit = MAX_REPLAY_SECONDS if display.out.is_terminal else MAX_PIPED_REPLAY_SECONDS
    length = recording.times[-1]
    pace = f"{limit:.0f} s instead of {length:.0f}" if length > limit else f"its own time, {length:.0f} s"
    display.out.print_wrapped(
        f"== Recorded: what an answer looks like. Counterpoint held this debate on {recording.date}; its answers and "
        f"reviews were written beforehand, no model was asked. It is replayed in {pace}"
        f"{'; a key shows it at once' if keyboard else ''}. =="
    )
    display.out.print_line()
    try:
        with keyboard or nullcontext():
            replay(recording, display, limit, partial(wait_or_key, keyboard, []) if keyboard else time.sleep)
    finally:
        display.close()
    display.out.print_line()
    print_verdict(display.out, recording.snapshot)
    source = queries.build_source(recording.snapshot, frozenset())
    text = build_page(build_data([build_debate(source, recording.entries, envelope=None)]))
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(page, text)
    except OSError as error:
        display.out.print_line(f"\nThe page of this debate cannot be written: {page}: {error.strerror}")
        return
    display.out.print_line(f"\nThis debate as a page, for your browser:\n{page}")


def wait_or_key(keyboard: "Keyboard", keys: list[bool], seconds: float) -> None:
    """Wait this long, unless a key was pressed, now or at an earlier call. `keys` remembers it."""
    if not keys and keyboard.wait(seconds):
        keys.append(True)


def replay(
    recording: Recording, display: "LiveDisplay", limit: float, sleep: Callable[[float], None]
) -> None:
    """Show each entry at its time, and turns while they are written. Takes `limit` seconds at most."""
    entries, times = recording.snapshot.entries, recording.times
    speed = max(times[-1] / limit, 1.0)
    writers = list_writers(entries, times)
    lengths: dict[tuple[str, float], int] = {}  # characters, by seat and begin
    shown_count, now = 0, 0.0
    while shown_count < len(entries):
        while shown_count < len(entries) and times[shown_count] <= now:
            shown_count += 1
        history = entries[:shown_count]
        debate = replay_events(entry.event for entry in history)
        display.on_commit(DebateSnapshot(recording.snapshot.id, debate, history, is_foreign=True))
        for seat, text, begin, end in writers:
            if begin <= now < end:
                length = int(len(text) * (now - begin) / (end - begin))
                old_length = lengths.get((seat, begin), 0)
                display.on_text(recording.snapshot.id, seat, text[old_length:length])
                lengths[seat, begin] = length
        display.draw()
        sleep(FRAME_SECONDS)
        now += FRAME_SECONDS * speed


def list_writers(
    entries: tuple[Recorded, ...], times: tuple[float, ...]
) -> list[tuple[str, str, float, float]]:
    """(seat, text, begin, end) of each turn, in seconds. A turn begins when the last entry that is no turn came."""
    writers, begin = [], 0.0
    for entry, at in zip(entries, times, strict=True):
        if isinstance(entry.event, Spoke):
            writers.append((entry.event.seat, entry.event.text, begin, at))
        else:
            begin = at
    return writers
