"""Journals that a release has written can be read by every later one.

`tests/golden/journal_<release>….jsonl` hold whole debates, with every kind of event: one entry a line, with
its stream. The files of a release never change once it is out. Write those of a new release at the root of
the repository with

    python -m tests.support.golden_debates X_Y

`expected.json` says what the debates came to.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest
from pydantic import ValidationError

from server.debate.facts.events import Recorded
from server.debate.facts.setup.opened import Opened
from server.debate.machine.decide import Over, decide, status
from server.debate.machine.kinds import KINDS, UnknownKindError, load
from server.debate.machine.transitions import change_setup, replay
from server.debate.state.debate import Debate
from server.debate.views.events import build_receipt
from server.debate.views.markdown import render_transcript
from server.debate.views.state import StoredDebate, build_state, status_reason, sum_usage
from server.debate.views.verdict import build_verdict
from server.debate.views.warnings import failure_lines
from storage.canonical import encode_canonical
from storage.chain import verify_chain
from tests.support.golden_debates import JOURNALS as WRITTEN
from tests.support.golden_debates import render_journal
from tests.support.paths import GOLDEN

pytestmark = pytest.mark.requirement("N8")

JOURNALS = sorted(GOLDEN.glob("journal_*.jsonl"))

EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))


def read(text: str) -> dict[str, list[dict[str, Any]]]:
    """The entries of each stream."""
    streams: dict[str, list[dict[str, Any]]] = {}
    for line in text.split("\n")[:-1]:
        entry = json.loads(line)
        streams.setdefault(entry.pop("stream"), []).append(entry)
    return streams


def golden() -> list[tuple[str, str, list[dict[str, Any]]]]:
    return [
        (path.name, stream, kept)
        for path in JOURNALS
        for stream, kept in read(path.read_text(encoding="utf-8")).items()
    ]


def came_to(debate: Debate) -> dict[str, Any]:
    found = build_verdict(debate)
    return {
        "status": status(debate),
        "reason": status_reason(debate),
        "rounds": [[entered.phase, entered.because] for entered in debate.rounds],
        "outcome": found.outcome,
        "winner": found.winner,
        "votes": found.votes,
        # The oldest journals do not say which model it was that failed.
        "failures": [re.sub(r"^([^:]+?) \([^)]*\): ", r"\1: ", line) for line in failure_lines(debate)],
        "turns": [len(debate.round_turns(entered.round)) for entered in debate.rounds],
        "notes": [note.text for note in debate.notes],
        "cost": sum_usage(debate.usage).cost_usd,
    }


def kinds(bodies: Iterable[dict[str, Any]]) -> set[str]:
    return {body["kind"] for body in bodies}


KEPT = golden()
each_debate = pytest.mark.parametrize(
    ("stream", "kept"), [row[1:] for row in KEPT], ids=[f"{name} {stream}" for name, stream, _ in KEPT]
)


@each_debate
def test_a_debate_of_any_release_is_what_it_was(stream: str, kept: list[dict[str, Any]]) -> None:
    debate = replay(load(entry["body"]) for entry in kept)
    assert came_to(debate) == EXPECTED[stream]
    assert isinstance(decide(debate), Over)


@each_debate
def test_what_it_was_opened_with_never_changes_and_its_facts_alone_make_what_is_in_force(
    stream: str, kept: list[dict[str, Any]]
) -> None:
    opened, *later = (load(entry["body"]) for entry in kept)
    assert isinstance(opened, Opened)
    debate, in_force = Debate(opened), opened
    for event in later:
        debate = replay([event], debate)
        in_force = change_setup(in_force, event)
        assert (debate.opened, debate.setup) == (opened, in_force), (stream, event.kind)


@each_debate
def test_its_chain_still_holds(stream: str, kept: list[dict[str, Any]]) -> None:
    stored = {
        entry["seq"]: (
            encode_canonical(entry["seq"], entry["at"], entry["actor"], entry["body"]),
            entry["hash"],
        )
        for entry in kept
    }
    verified = verify_chain(stream, stored, len(kept), kept[-1]["hash"])
    assert [entry.hash for entry in verified] == [e["hash"] for e in kept]


@each_debate
def test_nothing_of_it_is_lost_when_it_is_read(stream: str, kept: list[dict[str, Any]]) -> None:
    for entry in kept:
        read_back = load(entry["body"]).model_dump(mode="json")
        assert without_new_fields(read_back, entry["body"]) == entry["body"], (stream, entry["seq"])


def without_new_fields(read_back: Any, body: Any) -> Any:
    """What was read, less the fields that did not exist when it was written."""
    if isinstance(body, dict):
        return {name: without_new_fields(read_back[name], value) for name, value in body.items()}
    if isinstance(body, list):
        return [without_new_fields(one, was) for one, was in zip(read_back, body, strict=True)]
    return read_back


@each_debate
def test_it_can_be_shown(stream: str, kept: list[dict[str, Any]]) -> None:
    log = tuple(Recorded(e["seq"], e["at"], e["actor"], e["hash"], load(e["body"])) for e in kept)
    debate = replay(entry.event for entry in log)
    stored = StoredDebate(stream, debate, log)
    assert build_state(stored)["entries"] == len(kept)
    assert build_receipt(stored)["head"] == kept[-1]["hash"]
    _, _, verdict = render_transcript(debate, log).partition("\n## Verdict\n")
    assert f"**{build_verdict(debate).answer.head}**: " in verdict


def test_every_kind_of_event_is_in_a_journal_that_is_kept() -> None:
    known = KINDS.keys()
    assert kinds(entry["body"] for _, _, kept in KEPT for entry in kept) == known


@pytest.mark.full
def test_what_this_release_writes_it_can_read() -> None:
    for stream, kept in read("".join(map(render_journal, WRITTEN))).items():
        assert came_to(replay(load(entry["body"]) for entry in kept)) == EXPECTED[stream]


@pytest.mark.parametrize("changed", [{"kind": "sung"}, {"colour": "red"}, {"round": None}])
def test_what_no_release_has_written_is_not_read(changed: dict[str, Any]) -> None:
    body = next(entry["body"] for _, _, kept in KEPT for entry in kept if entry["body"]["kind"] == "spoke")
    with pytest.raises((UnknownKindError, ValidationError)):
        load({**body, **changed})
