"""`counterpoint demo`: a recorded debate, its page, and then one that is held live on the embedded model."""

import gzip
import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from server.cli import runs
from server.cli.debates.debate import start_debate
from server.cli.files import write_atomically
from server.debate.commands.requests import DebateRequest, OptionsInput
from server.debate.facts.events import Recorded, Spoke
from server.debate.machine.transitions import replay as replay_events
from server.engine import queries, transfer
from server.engine.database.snapshots import DebateSnapshot
from server.models.local import model as local
from server.models.local import weights
from server.settings import Settings
from storage.contract.streams import Entry

if TYPE_CHECKING:
    from server.cli.live.display import LiveDisplay

RECORDING = Path(__file__).with_name("demo.json.gz")
"""The export of a debate, which `packaging/record_demo.py` held."""

LONGEST = 30.0  # seconds of the replay
LONGEST_UNSEEN = 2.0  # likewise, where it is not shown on a terminal
FRAME = 0.05  # seconds between two steps


class Recording(NamedTuple):
    snapshot: DebateSnapshot
    entries: tuple[Entry, ...]
    times: tuple[float, ...]  # seconds from the first entry to each

    @property
    def date(self) -> str:
        return self.snapshot.entries[0].at[:10]


@click.command()
@click.argument("question", default="Smartphones should be allowed in classrooms.")
@click.option("--live", "only_live", is_flag=True, help="Only the live debate, without the recorded one.")
@click.pass_obj
def demo(settings: Settings, question: str, *, only_live: bool) -> None:
    """Show a recorded debate, then run one on the embedded model: no key, no network, no cost.

    The recorded debate is replayed in its own time, and written as a page beside the database; it is not in the list of
    debates. The live one is. The embedded model's weights (93 MB) are downloaded first if they are missing. QUESTION
    is for the live debate, and best put as a motion.

    Example: counterpoint demo "Cities should ban cars from their centres."
    """
    if not only_live:
        show_recording(read_recording(), Path(settings.database).with_name("demo.html"))
        click.echo("\n== Live: the embedded model debates on this machine ==\n")
    if find_spec("xllamacpp") is None:
        raise click.ClickException(f"The embedded model's runtime is not installed: {local.INSTALL_COMMAND}")
    if not local.is_available():
        weights.install(None, partial(click.echo, err=True))
    options = OptionsInput(framing=False)  # the question is a motion
    request = DebateRequest(question=question, models=["local"], max_rounds=2, run=True, options=options)
    runs.run_debate(settings, partial(start_debate, request), makes_database=True)


def read_recording() -> Recording:
    """Checked as any debate from elsewhere is."""
    data = transfer.validate_export(json.loads(gzip.decompress(RECORDING.read_bytes())))
    entries = tuple(Entry(**dict(entry)) for entry in data.entries)
    times = [datetime.fromisoformat(entry.at) for entry in entries]
    snapshot = transfer.verify_entries(data.debate_id, entries, times[-1])
    return Recording(snapshot, entries, tuple((at - times[0]).total_seconds() for at in times))


def show_recording(recording: Recording, page: Path) -> None:
    """Replay it, print its verdict, and write its page."""
    from server.cli.live.display import LiveDisplay  # noqa: PLC0415  (imports rich)
    from server.cli.live.result import print_verdict  # noqa: PLC0415
    from server.web.page import build_page  # noqa: PLC0415  (other commands need none of it)
    from server.web.record import build_data, build_debate  # noqa: PLC0415

    display = LiveDisplay.for_streams(show_turns=True, show_bar=True)
    limit = LONGEST if display.out.is_terminal else LONGEST_UNSEEN
    length = recording.times[-1]
    pace = f"{limit:.0f} s in place of {length:.0f}" if length > limit else f"its own time, {length:.0f} s"
    display.out.print_wrapped(
        f"== Recorded: this debate was held by Counterpoint on {recording.date}. Its turns and judgments were written "
        f"beforehand, no model was asked. It is replayed in {pace}. =="
    )
    display.out.print_line()
    try:
        replay(recording, display, limit, time.sleep)
    finally:
        display.close()
    display.out.print_line()
    print_verdict(display.out, recording.snapshot.debate)
    source = queries.build_source(recording.snapshot, frozenset())
    text = build_page(build_data([build_debate(source, recording.entries, envelope=None)]))
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(page, text)
    except OSError as error:
        display.out.print_line(f"\nThe page of this debate cannot be written: {page}: {error.strerror}")
        return
    display.out.print_line(f"\nThe page of this debate, to be opened in a browser:\n{page}")


def replay(
    recording: Recording, display: "LiveDisplay", limit: float, sleep: Callable[[float], None]
) -> None:
    """Show the entries at their times, and what debaters wrote until then; the whole in `limit` seconds at most."""
    entries, times = recording.snapshot.entries, recording.times
    speed = max(times[-1] / limit, 1.0)
    writers = list_writers(entries, times)
    written: dict[tuple[str, float], int] = {}  # characters, by seat and begin
    shown, now = 0, 0.0
    while shown < len(entries):
        while shown < len(entries) and times[shown] <= now:
            shown += 1
        history = entries[:shown]
        debate = replay_events(entry.event for entry in history)
        display.on_commit(DebateSnapshot(recording.snapshot.id, debate, history, is_foreign=True))
        for seat, text, begin, end in writers:
            if begin <= now < end:
                length = int(len(text) * (now - begin) / (end - begin))
                done = written.get((seat, begin), 0)
                display.on_text(recording.snapshot.id, seat, text[done:length])
                written[seat, begin] = length
        display.draw()
        sleep(FRAME)
        now += FRAME * speed


def list_writers(
    entries: tuple[Recorded, ...], times: tuple[float, ...]
) -> list[tuple[str, str, float, float]]:
    """(seat, text, begin, end) of each turn, in seconds: it began when the last other thing was recorded."""

    def find() -> Iterator[tuple[str, str, float, float]]:
        begin = 0.0
        for entry, at in zip(entries, times, strict=True):
            if isinstance(entry.event, Spoke):
                yield entry.event.seat, entry.event.text, begin, at
            else:
                begin = at

    return list(find())
