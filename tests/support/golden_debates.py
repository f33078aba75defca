"""The debates of `tests/golden`, written by this release; `golden_plays` holds how each is played."""

import json
import sys
from collections.abc import Callable, Iterable

from server.debate.facts.events import Event, Paused, Resumed
from server.debate.facts.interventions import InterventionFact
from server.debate.facts.setup.opened import Opened
from storage.canonical import encode_canonical, genesis_hash, link_hash
from tests.support.golden_plays.advice import play_advice
from tests.support.golden_plays.ballots import play_alike, play_ballots, play_hollow
from tests.support.golden_plays.earlier import play_recalled
from tests.support.golden_plays.evidence import play_digested, play_extracted, play_observed, play_read
from tests.support.golden_plays.formats import (
    play_blocks,
    play_default_plan,
    play_handoff,
    play_messages,
    play_moderated,
    play_oxford,
)
from tests.support.golden_plays.interventions import play_breakpoints, play_fork, play_interventions
from tests.support.golden_plays.mirrors import play_mirrored, play_without_mirror
from tests.support.golden_plays.opinions import (
    play_opinion,
    play_positions,
    play_verdict,
)
from tests.support.paths import GOLDEN


def render_entries(stream: str, events: Iterable[Event]) -> list[str]:
    head = genesis_hash(stream)
    lines = []
    for seq, event in enumerate(events, start=1):
        at = f"2026-12-01T10:{seq // 60:02}:{seq % 60:02}.{seq:03}Z"
        actor = "alice" if isinstance(event, Opened | InterventionFact | Paused | Resumed) else "counterpoint"
        body = event.model_dump(mode="json")
        head = link_hash(head, encode_canonical(seq, at, actor, body))
        entry = {"stream": stream, "seq": seq, "at": at, "actor": actor, "body": body, "hash": head.hex()}
        lines.append(json.dumps(entry, ensure_ascii=False))
    return lines


JOURNALS: dict[str, dict[str, Callable[[], list[Event]]]] = {
    "": {"opinion": play_opinion, "verdict": play_verdict},
    "_formats": {
        "led": play_moderated,
        "handoff": play_handoff,
        "without a plan": play_default_plan,
        "oxford": play_oxford,
        "blocks": play_blocks,
        "observed": play_observed,
        "read": play_read,
        "extracted": play_extracted,
        "digested": play_digested,
        "messages": play_messages,
        "hollow": play_hollow,
        "ballots": play_ballots,
        "alike": play_alike,
        "mirrored": play_mirrored,
        "without_mirror": play_without_mirror,
        "recalled": play_recalled,
        "advice": play_advice,
        "positions": play_positions,
    },
    "_interventions": {"steered": play_interventions, "held": play_breakpoints, "forked": play_fork},
}
"""The debates of each file, by its suffix and the stream."""


def render_journal(suffix: str) -> str:
    """A file of debates as this release writes them."""
    lines = [line for stream, play in JOURNALS[suffix].items() for line in render_entries(stream, play())]
    return "".join(line + "\n" for line in lines)


def write_journals(release: str) -> None:
    for suffix in JOURNALS:
        (GOLDEN / f"journal_{release}{suffix}.jsonl").write_text(render_journal(suffix), encoding="utf-8")


if __name__ == "__main__":
    write_journals(sys.argv[1])
