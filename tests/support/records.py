"""Records as a file brings them: entries with times, and what they come to."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import pytest

from server.debate.facts.errors import InvalidRequestError
from server.debate.facts.events import Event, Recorded
from server.debate.facts.fact import Fact
from server.debate.records.verify import parse_event, verify_record
from server.debate.state.debate import Debate
from server.debate.views.names import list_facts
from storage.canonical import encode_canonical, genesis_hash, link_hash
from tests.support.event_strategies import SETUPS
from tests.support.golden_debates import JOURNALS
from tests.support.simulation import (
    DebateSimulation,
    Script,
    build_setup,
    default_script,
    label_positions,
    simulate,
)

Bodies = list[dict[str, Any]]


def build_bodies(events: Sequence[Event]) -> Bodies:
    return [event.model_dump(mode="json") for event in events]


def list_parts(kind: type[Fact]) -> Iterator[type[Fact]]:
    """A fact, and the facts that it consists of."""
    yield kind
    for field in kind.model_fields.values():
        for part in list_facts(field.annotation):
            yield from list_parts(part)


def verify_bodies(bodies: Bodies, actor: str = "counterpoint", ages: Sequence[float] = ()) -> Debate:
    """The debate that these bodies make, one entry a second where no ages are given."""
    entries = [(seq, parse_event(seq, body)) for seq, body in enumerate(bodies, start=1)]
    history = [Recorded(seq, "2026-11-01T10:00:00.000Z", actor, "0" * 64, event) for seq, event in entries]
    return verify_record(history, ages or [float(seq) for seq, _ in entries])


def play_record(script: Script = default_script, **asked: Any) -> Bodies:
    return build_bodies(simulate(label_positions(build_setup(**asked)), script).play().events)


def build_export(
    debate_id: str, bodies: Bodies, *, at: str = "2026-11-01T10:00:00.000Z", last_at: str = ""
) -> dict[str, Any]:
    """A file with these entries, all of one time but the last, with a chain that holds."""
    entries, head = list[dict[str, Any]](), genesis_hash(debate_id)
    for seq, body in enumerate(bodies, start=1):
        at = last_at if last_at and seq == len(bodies) else at
        head = link_hash(head, encode_canonical(seq, at, "counterpoint", body))
        entries.append({"seq": seq, "at": at, "actor": "counterpoint", "hash": head.hex(), "body": body})
    receipt = {"entries": len(entries), "head": head.hex()}
    return {"counterpoint": "debate/1", "debate_id": debate_id, "entries": entries, "receipt": receipt}


KEPT = {name: play for storage in JOURNALS.values() for name, play in storage.items()}
RECORDS = tuple({**SETUPS, **KEPT})
"""The names of records: one of every format, and those of the golden journals."""


def play_named(name: str) -> Bodies:
    return build_bodies(play_events(name))


@cache
def play_events(name: str) -> Sequence[Event]:
    return KEPT[name]() if name in KEPT else simulate(label_positions(SETUPS[name])).play_on().events


Change = Callable[[Bodies], object]


def play(script: Any = None, **asked: Any) -> DebateSimulation:
    opened = label_positions(build_setup(**asked))
    return simulate(opened, script) if script else simulate(opened)


def record(**asked: Any) -> Bodies:
    """A record to be changed: each kind is played once."""
    return json.loads(dump_record(json.dumps(asked, sort_keys=True)))  # type: ignore[no-any-return]


@cache
def dump_record(asked: str) -> str:
    return json.dumps(build_bodies(play(**json.loads(asked)).play().events))


def refusal(change: Change, bodies: Bodies) -> str:
    change(bodies)
    with pytest.raises(InvalidRequestError) as caught:
        verify_bodies(bodies)
    return str(caught.value)
