"""Records as a file brings them: entries with times, and what they come to."""

from collections.abc import Sequence
from typing import Any

from server.debate.facts.events import Event, Recorded
from server.debate.facts.state import Debate
from server.debate.records.verify import parse_event, verify_record
from tests.support.event_strategies import SETUPS
from tests.support.golden_debates import JOURNALS
from tests.support.simulation import label_positions, simulate

Bodies = list[dict[str, Any]]


def build_bodies(events: Sequence[Event]) -> Bodies:
    return [event.model_dump(mode="json") for event in events]


def verify_bodies(bodies: Bodies, actor: str = "counterpoint", ages: Sequence[float] = ()) -> Debate:
    """The debate that these bodies make, one entry a second where no ages are given."""
    entries = [(seq, parse_event(seq, body)) for seq, body in enumerate(bodies, start=1)]
    history = [Recorded(seq, "2026-11-01T10:00:00.000Z", actor, "0" * 64, event) for seq, event in entries]
    return verify_record(history, ages or [float(seq) for seq, _ in entries])


def play_records() -> dict[str, Bodies]:
    """Records of every format, and those of the golden journals."""
    played = {name: simulate(label_positions(setup)).play_on().events for name, setup in SETUPS.items()}
    kept = {name: play() for journal in JOURNALS.values() for name, play in journal.items()}
    return {name: build_bodies(events) for name, events in {**played, **kept}.items()}
